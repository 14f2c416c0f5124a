"""Checks and history in a real browser: new findings open, quiet mode, dismissing, comparing by keys, restoring."""

import os
from typing import Any

from playwright.sync_api import Page, expect

from annotation import actions, steps
from annotation.document import read_document
from annotation.models import Item
from tests.browser.test_workbench import address, edit, save
from tests.documents import good_data
from tests.factories import Team


def picture(page: Page, name: str) -> None:
    """A picture for whoever looks: LHDR_PICTURES=FOLDER."""
    if folder := os.environ.get("LHDR_PICTURES"):
        page.screenshot(path=f"{folder}/{name}.png")


def checked(team: Team, **changes: Any) -> Item:
    data = good_data(**changes)
    data["checklist"][9]["prerequisites"] = ["c9", "c8"]
    item = team.item(read_document(data))
    steps.check_item(item.pk)
    return item


def test_new_findings_open_by_themselves_and_are_announced(team: Team, visit: Any) -> None:
    item = checked(team, id="news")
    visitor = visit(team.ann)
    page = visitor.open(address(item))
    expect(page.locator("#checks details.wb-check").first).to_be_visible()
    assert page.locator("#checks details.wb-check[open]").count() == 0
    edit(page, "question")
    page.fill(
        "#f-question-question", "Where did Cleopatra's Needle stand first, and who put up the bridge in the picture?"
    )
    save(page, "question")
    expect(page.locator("#checks-said")).to_contain_text("new")
    opened = page.locator("#checks details.wb-check[open]")
    expect(opened.first).to_contain_text("Cleopatra")
    expect(page.locator("#question .wb-new").first).to_be_visible()
    expect(page.locator(".wb-since")).to_contain_text("With the last save (r2)")
    picture(page, "new-1280")
    assert visitor.axe() == []
    finding = opened.first
    finding.locator("summary", has_text="Give a reason").click()
    finding.locator("textarea").fill("The picture shows it anyway.")
    finding.locator("button[type=submit]").click()
    expect(page.locator("#checks")).to_contain_text("The picture shows it anyway.")
    edit(page, "question")
    page.fill("#f-question-question", good_data()["question"])
    save(page, "question")
    expect(page.locator("#checks-said")).to_contain_text("mended")
    assert visitor.unexpected_errors() == []


def test_quiet_mode_hides_findings_until_asked(team: Team, visit: Any) -> None:
    item = checked(team, id="quiet", answer_sources=[], question="Where does Cleopatra's Needle stand?")
    visitor = visit(team.ann)
    page = visitor.open(address(item))
    flag, mark = page.locator("#step-c10 .wb-rowflag"), page.locator("#outline .wb-marks").first
    expect(flag).to_be_visible()
    page.locator("#checks").get_by_role("button", name="Quiet").click()
    expect(flag).to_be_hidden()
    expect(mark).to_be_hidden()
    expect(page.locator("#checks .wb-check").first).to_be_hidden()
    expect(page.locator("#checks")).to_contain_text("Submitting waits all the same: 1 error to mend first.")
    expect(page.locator("#item-head")).to_contain_text("1 error to mend first")
    picture(page, "quiet-1280")
    assert visitor.axe() == []
    page.keyboard.press("x")
    expect(flag).to_be_visible()
    expect(page.locator("#checks .wb-check").first).to_be_visible()
    page.keyboard.press("x")
    expect(flag).to_be_hidden()
    page.reload()
    expect(page.locator("#step-c10 .wb-rowflag")).to_be_hidden()
    edit(page, "design")
    page.fill("#f-design-design", "The letter x types and shows nothing: x.")
    page.locator("#f-design-design").press("x")
    expect(page.locator("#checks .wb-check").first).to_be_hidden()
    save(page, "design")
    expect(page.locator("#step-c10 .wb-rowflag")).to_be_hidden()
    page.locator("#checks").get_by_role("button", name="Quiet").click()
    expect(page.locator("#step-c10 .wb-rowflag")).to_be_visible()
    plain = visit(team.ann, width=400, dark=True, java_script_enabled=False)
    page = plain.open(address(item) + "?panel=checks")
    page.locator("#checks").get_by_role("button", name="Quiet").click()
    expect(page.locator("#checks .wb-check").first).to_be_hidden()
    page.click("text=Show all")
    expect(page.locator("#checks .wb-check").first).to_be_visible()
    page.locator("#checks .wb-check > summary").first.click()
    picture(page, "quiet-400-dark")


def revised(team: Team) -> Item:
    """Five revisions by two people."""
    item = checked(team, id="history")
    actions.set_coeditors(item, [team.ann2], actor=team.ann)

    def save_steps(actor: Any, change: Any) -> Item:
        steps_now = read_document(item.document).section("checklist")["checklist"]
        change(steps_now)
        base = item.section_hashes["checklist"]
        return actions.save_section(item, "checklist", {"checklist": steps_now}, base, actor=actor)

    item = save_steps(team.ann2, lambda s: s[0].update(conclusion="The bridge in the picture is the Tay Bridge."))
    item = save_steps(team.ann, lambda s: s[2].update(conclusion="贝克设计了运送方尖碑的圆筒形船。"))
    item = save_steps(team.ann, lambda s: s.insert(0, s.pop(1)))
    content = read_document(item.document).section("design") | {"design": "Another way to the same end."}
    return actions.save_section(item, "design", content, item.section_hashes["design"], actor=team.ann2)


def test_comparing_by_keys_and_restoring(team: Team, visit: Any) -> None:
    item = revised(team)
    visitor = visit(team.ann)
    page = visitor.open(address(item) + "?panel=history")
    expect(page.locator("#history .wb-pgroup")).to_have_count(4)
    picture(page, "history-1280")
    page.select_option("#history-section", "design")
    expect(page.locator("#history .wb-revs li")).to_have_count(2)
    page.select_option("#history-section", "")
    expect(page.locator("#history .wb-revs li")).to_have_count(5)
    assert visitor.axe() == []
    page.get_by_role("radio", name="from revision 1").focus()
    page.keyboard.press("Space")
    page.keyboard.press("Enter")
    page.wait_for_url("**/history/compare/?to=5&from=1")
    expect(page.locator("tr[data-change]").first).to_be_visible()
    page.keyboard.press("j")
    expect(page.locator("#change-place")).to_contain_text("1 / ")
    page.keyboard.press("j")
    expect(page.locator("#change-place")).to_contain_text("2 / ")
    expect(page.locator("tr[data-change]").nth(1)).to_be_focused()
    page.keyboard.press("k")
    expect(page.locator("tr[data-change]").first).to_be_focused()
    picture(page, "compare-1280")
    assert visitor.axe() == []
    visitor.open(address(item) + "history/compare/?from=3&to=4")
    page.keyboard.press("[")
    page.wait_for_url("**/?from=2&to=3")
    page.get_by_role("link", name="Restore…").first.click()
    expect(page.get_by_role("heading", name="Restore r2")).to_be_visible()
    picture(page, "restore-1280")
    assert visitor.axe() == []
    page.get_by_role("button", name="Restore r2").click()
    page.wait_for_url("**panel=history#panel")
    expect(page.locator("#history")).to_contain_text("Restored revision 2")
    assert visitor.unexpected_errors() == []


def test_who_wrote_an_element_is_told_on_demand(team: Team, visit: Any) -> None:
    item = revised(team)
    visitor = visit(team.ann)
    page = visitor.open(address(item))
    row = page.locator("#step-c1")
    row.locator(".wb-who > summary").click()
    expect(row.locator(".wb-written")).to_contain_text("Written by bench-ann, r1")
    expect(row.locator(".wb-written")).to_contain_text("changed by bench-ann2, r2")
    row.scroll_into_view_if_needed()
    picture(page, "who-1280")
    assert visitor.axe() == []
    row.locator(".wb-written a").first.click()
    page.wait_for_url("**/history/compare/?from=1&to=2")
    narrow = visit(team.ann2, width=400, dark=True)
    page = narrow.open(address(item) + "history/compare/?from=1&to=5")
    picture(page, "compare-400-dark")
    assert narrow.axe() == []
    page = narrow.open(address(item) + "?panel=history&element=c1#panel")
    expect(page.locator("#history .wb-written")).to_contain_text("changed by bench-ann2, r2")
    picture(page, "history-400-dark")
    assert narrow.axe() == []
