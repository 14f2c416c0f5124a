"""An item built, quarrelled over and looked at in a real browser."""

import io
import re
from pathlib import Path
from typing import Any

import pytest
from PIL import Image, ImageDraw
from playwright.sync_api import Page, expect

from annotation import actions, comment_actions, image_actions, steps
from annotation.document import empty_document, read_document
from annotation.models import Item
from tests.documents import good_data
from tests.factories import Team


@pytest.fixture
def team(transactional_db: Any) -> Team:
    from tests.factories import make_team

    return make_team()


def address(item: Item) -> str:
    return f"/b/{item.benchmark.slug}/items/{item.number}/"


def picture(path: Path, color: str = "steelblue") -> Path:
    image = Image.new("RGB", (1200, 800), color)
    ImageDraw.Draw(image).ellipse((300, 150, 900, 650), fill="orange")
    image.save(path)
    return path


def until(page: Page, script: str) -> None:
    """Wait for an expression to hold; Playwright's own way needs eval, which the pages' policy forbids."""
    for _attempt in range(100):
        if page.evaluate(script):
            return
        page.wait_for_timeout(50)
    raise AssertionError(script)


def edit(page: Page, section: str) -> None:
    page.click(f"#{section} [data-edit]")
    page.wait_for_selector(f"#{section}.is-editing")


def save(page: Page, section: str) -> None:
    page.click(f"#{section} [data-section-form] button[type=submit]")
    page.wait_for_selector(f"#{section}:not(.is-editing)")


def row(page: Page, name: str, number: int) -> Any:
    return page.locator(f"[data-rows={name}] > [data-row]").nth(number - 1)


def fill(row: Any, **fields: str) -> None:
    for name, text in fields.items():
        control = row.locator(f"[name$='-{name}']").first  # a node's own, before those of its properties
        if not control.is_visible():
            row.locator("details > summary").first.click()
        if control.evaluate("e => e.tagName") == "SELECT":
            control.select_option(text)
        else:
            control.fill(text)


def test_item_from_empty_to_complete(team: Team, visit: Any, tmp_path: Path) -> None:
    item = actions.create_item(team.benchmark, actor=team.ann, document=empty_document("built"))
    visitor = visit(team.ann)
    page = visitor.open(address(item))
    data = good_data()
    expect(page.locator("#why-submit")).to_have_text("3 errors to mend first")

    edit(page, "sources")
    page.locator("#sources summary", has_text="Paste many").click()
    page.fill("[name=sources-paste]", "\n".join(s["url"] for s in data["sources"]))
    save(page, "sources")
    expect(page.locator("#source-s8")).to_contain_text("turismoroma.it")
    expect(page.locator("#source-s3")).to_contain_text("wikipedia")

    # two pictures, one file that is none: it is named, the others are kept
    broken = tmp_path / "broken.png"
    broken.write_bytes(b"no picture")
    files = [picture(tmp_path / "bridge.png"), picture(tmp_path / "map.png", "darkgreen"), broken]
    page.set_input_files("#add-images", files)
    expect(page.locator("#images [data-files]")).to_contain_text("broken.png")
    expect(page.locator("#images figure")).to_have_count(2)
    edit(page, "images")
    for n, role in ((1, "question"), (2, "evidence")):
        fill(row(page, "images", n), role=role, alt="A drawing", credit="Drawn for tests", license="CC0-1.0")
    save(page, "images")
    page.click("#image-i1 a[data-zoom]")
    expect(page.locator("#zoom[open] [data-zoom-image]")).to_be_visible()
    until(page, "document.querySelector('[data-zoom-image]').naturalWidth === 1200")
    page.keyboard.press("Escape")

    edit(page, "graph")
    for n, node in enumerate(data["nodes"], 1):
        page.click("[data-rows=nodes] [data-add]")
        fill(row(page, "nodes", n), entity=node["entity"], kind=node["kind"], sources=node["sources"][0])
    for n, relation in enumerate(data["relations"], 1):
        page.click("[data-rows=relations] [data-add]")
        fill(row(page, "relations", n), **{k: relation[k] for k in ("from", "to", "kind", "via")}, sources="s2")
    save(page, "graph")
    expect(page.locator("#node-n5")).to_contain_text("Lateran Obelisk")
    expect(page.locator("#relation-r4")).to_contain_text("n4 → n5")

    edit(page, "checklist")
    page.click("[data-rows=checklist] [data-add]")
    page.evaluate(
        """lines => {
          const data = new DataTransfer();
          data.setData("text/plain", lines);
          const field = document.querySelector("[data-rows=checklist] [data-row] textarea");
          field.dispatchEvent(new ClipboardEvent("paste", {clipboardData: data, bubbles: true, cancelable: true}));
        }""",
        "\n".join(f"{n}. {s['conclusion']}" for n, s in enumerate(data["checklist"], 1)),
    )
    for n, step in enumerate(data["checklist"], 1):
        needs = ", ".join(key[1:] for key in step["prerequisites"])
        fields = {"prerequisites": needs, "sources": ", ".join(step["sources"]), "nodes": ", ".join(step["nodes"])}
        fill(row(page, "checklist", n), **fields, relations=", ".join(step["relations"]), modality=step["modality"])
        if step["effect"]:
            fill(row(page, "checklist", n), effect=step["effect"], images=", ".join(step["images"]))
    page.keyboard.press("Control+s")
    page.wait_for_selector("#checklist:not(.is-editing)")
    expect(page.locator("#step-c10")).to_contain_text("Domenico Fontana")
    expect(page.locator("#checklist svg [data-key=c8]")).to_have_count(1)

    edit(page, "question")
    page.fill("#f-question-question", data["question"])
    page.fill("#f-question-answer", "1588")
    page.fill("#f-question-answer_sources", "s8")
    save(page, "question")
    edit(page, "design")
    page.fill("#f-design-design", "The **bridge** leads to its engineer.")
    expect(page.locator("#design-preview strong")).to_have_text("bridge")
    save(page, "design")
    edit(page, "metadata")
    page.select_option("#f-metadata-category", "geography")
    page.select_option("#f-metadata-template", "multi_branch")
    page.check("#metadata [value=temporal]")
    save(page, "metadata")

    expect(page.get_by_role("button", name="Submit for audit")).to_be_visible()
    expect(page.locator("#why-submit")).to_have_count(0)
    document = read_document(Item.objects.get(pk=item.pk).document)
    assert [(s.conclusion, s.prerequisites) for s in document.checklist] == [
        (s["conclusion"], tuple(s["prerequisites"])) for s in data["checklist"]
    ]
    assert visitor.unexpected_errors() == []


def test_steps_when_moved_take_their_prerequisites_along(team: Team, visit: Any) -> None:
    item = team.item()
    page = visit(team.ann).open(address(item))
    edit(page, "checklist")
    for _time in range(6):
        row(page, "checklist", 7).locator("[data-move='-1']").click() if _time == 0 else page.keyboard.press("Enter")
    expect(row(page, "checklist", 1).locator("textarea").first).to_have_value(re.compile("Of all Egyptian"))
    expect(row(page, "checklist", 8).locator("[name$=-prerequisites]")).to_have_value("7, 1")
    save(page, "checklist")
    after = read_document(Item.objects.get(pk=item.pk).document)
    assert [s.key for s in after.checklist] == ["c7", "c1", "c2", "c3", "c4", "c5", "c6", "c8", "c9", "c10"]
    before = {s.key: s.prerequisites for s in read_document(item.document).checklist}
    assert {s.key: s.prerequisites for s in after.checklist} == before


def test_prerequisites_can_be_picked_in_the_drawing(team: Team, visit: Any) -> None:
    page = visit(team.ann).open(address(team.item()))
    edit(page, "checklist")
    needs = row(page, "checklist", 10).locator("[name$=-prerequisites]")
    needs.focus()
    expect(page.locator("[data-drawing] .is-picked")).to_have_attribute("data-key", "c10")
    page.click("[data-drawing] svg [data-key=c4]")
    expect(needs).to_have_value("9, 4")
    expect(page.locator("[data-drawing] path[data-from=c4][data-to=c10]")).to_have_count(1)
    page.click("[data-drawing] svg [data-key=c9]")
    expect(needs).to_have_value("4")
    fill(row(page, "checklist", 4), prerequisites="3, 10")
    expect(page.locator("[data-drawing]")).to_contain_text("A circle: c4 -> c10 -> c4")


def test_cycle_when_saved_is_spelled_out_and_nothing_is_lost(team: Team, visit: Any) -> None:
    item = team.item()
    visitor = visit(team.ann)
    page = visitor.open(address(item))
    edit(page, "checklist")
    fill(row(page, "checklist", 3), prerequisites="2, 5", conclusion="Reworded and kept.")
    page.keyboard.press("Control+s")
    expect(page.locator("#checklist [role=alert]")).to_contain_text("c3 -> c5 -> c4 -> c3")
    expect(row(page, "checklist", 3).locator("[name$=-prerequisites]")).to_have_value("2, 5")
    assert visitor.axe() == []
    fill(row(page, "checklist", 3), prerequisites="2")
    save(page, "checklist")
    expect(page.locator("#step-c3")).to_contain_text("Reworded and kept.")
    assert visitor.unexpected_errors() == []


def test_conflict_between_two_tabs_shows_both_and_merges(team: Team, visit: Any) -> None:
    item = team.item()
    actions.set_coeditors(item, [team.ann2], actor=team.ann)
    mine, theirs = visit(team.ann), visit(team.ann2)
    for visitor in (mine, theirs):
        edit(visitor.open(address(item)), "question")
    theirs.page.fill("#f-question-answer", "The year 1588")
    save(theirs.page, "question")
    page = mine.page
    page.fill("#f-question-question", "My question, typed meanwhile?")
    page.keyboard.press("Control+s")
    expect(page.locator("#question.wb-conflict")).to_contain_text("The form below holds both")
    expect(page.locator("#question del").first).to_be_visible()
    assert mine.axe() == []
    page.get_by_role("button", name="Save this version").click()
    page.wait_for_selector("#question:not(.is-editing)")
    document = read_document(Item.objects.get(pk=item.pk).document)
    assert (document.question, document.answer) == ("My question, typed meanwhile?", "The year 1588")
    assert mine.unexpected_errors() == []


def test_conflict_can_be_left_by_keeping_mine_or_taking_theirs(team: Team, visit: Any) -> None:
    for button, kept in (("Keep mine", "Mine?"), ("Take theirs", "Theirs?")):
        item = team.item()
        actions.set_coeditors(item, [team.ann2], actor=team.ann)
        visitor = visit(team.ann)
        page = visitor.open(address(item))
        edit(page, "question")
        content = read_document(item.document).section("question") | {"question": "Theirs?"}
        actions.save_section(item, "question", content, item.section_hashes["question"], actor=team.ann2)
        page.fill("#f-question-question", "Mine?")
        page.keyboard.press("Control+s")
        page.locator("#question .btn", has_text=button).click()
        expect(page.locator("#question:not(.is-editing) .wb-read")).to_contain_text(kept)
        assert Item.objects.get(pk=item.pk).question == kept


def test_text_when_the_tab_is_closed_is_offered_back(team: Team, visit: Any) -> None:
    item = team.item()
    visitor = visit(team.ann)
    page = visitor.open(address(item))
    edit(page, "checklist")
    fill(row(page, "checklist", 2), conclusion="Typed before the tab closed")
    page.click("[data-rows=checklist] [data-add]")
    fill(row(page, "checklist", 11), conclusion="A new row")
    expect(page.locator("#checklist [data-save-state]")).to_have_attribute("data-state", "unsaved")
    until(page, "Object.keys(localStorage).some(k => k.startsWith('draft:'))")
    page.close()
    page = visitor.page = visitor.new_page()
    visitor.open(address(item))
    page.click(".wb-draftnote >> text=Go on writing")
    expect(row(page, "checklist", 2).locator("textarea").first).to_have_value("Typed before the tab closed")
    expect(row(page, "checklist", 11).locator("textarea").first).to_have_value("A new row")
    save(page, "checklist")
    page.reload()
    expect(page.locator(".wb-draftnote")).to_have_count(0)
    expect(page.locator("#step-c11")).to_contain_text("A new row")


def test_text_when_logged_out_meanwhile_stays_in_the_form(team: Team, visit: Any) -> None:
    item = team.item()
    visitor = visit(team.ann)
    page = visitor.open(address(item))
    edit(page, "design")
    page.fill("#f-design-design", "Typed, then the log-in ran out")
    visitor.context.clear_cookies(name="sessionid")
    page.keyboard.press("Control+s")
    expect(page.locator("#login-again")).to_be_visible()
    expect(page.locator("#f-design-design")).to_have_value("Typed, then the log-in ran out")
    expect(page.locator("#design [data-save-state]")).to_have_attribute("data-state", "failed")


def test_other_open_forms_survive_a_save(team: Team, visit: Any) -> None:
    page = visit(team.ann).open(address(team.item()))
    edit(page, "checklist")
    edit(page, "question")
    fill(row(page, "checklist", 3), prerequisites="5", conclusion="Not saved yet")  # a circle: it cannot be saved
    page.fill("#f-question-answer", "1589")
    expect(page.locator("#checklist [role=alert]")).to_contain_text("circle")
    page.focus("#f-question-answer")
    page.keyboard.press("Control+s")
    page.wait_for_selector("#question:not(.is-editing)")
    expect(row(page, "checklist", 3).locator("textarea").first).to_have_value("Not saved yet")
    page.click("#checklist [data-cancel]")
    page.wait_for_selector("#checklist:not(.is-editing)")
    expect(page.locator("#page-save")).to_contain_text("by you")


def test_keys_edit_and_move(team: Team, visit: Any) -> None:
    page = visit(team.ann).open(address(team.item()))
    page.keyboard.press("j")
    page.keyboard.press("j")
    assert page.evaluate("document.activeElement.id") == "design"
    page.keyboard.press("k")
    assert page.evaluate("document.activeElement.id") == "images"
    page.keyboard.press("e")
    page.wait_for_selector("#images.is-editing")
    page.keyboard.press("Escape")
    page.click("#images [data-cancel]")  # nothing typed: no question asked
    page.wait_for_selector("#images:not(.is-editing)")


def test_checks_comments_and_history_in_the_panel(team: Team, visit: Any) -> None:
    data = good_data(id="panel")
    data["checklist"][9]["prerequisites"] = ["c9", "c8"]
    item = team.item(read_document(data))
    steps.check_item(item.pk)
    visitor = visit(team.ann)
    page = visitor.open(address(item))
    finding = page.locator("#checks .wb-check", has_text="Step 10 need not name step 8")
    finding.locator("summary").first.click()
    finding.locator("summary", has_text="Give a reason").click()
    finding.locator("textarea").fill("Readers see the merge.")
    finding.locator("button[type=submit]").click()
    expect(page.locator("#checks")).to_contain_text("Readers see the merge.")
    page.click("[data-panel-tabs] >> text=Comments")
    page.select_option("#comment-anchor", "c3")
    page.fill("#comments textarea[name=body]", "Is *this* the one?")
    page.click("#comments button:has-text('Comment')")
    expect(page.locator(".wb-thread em")).to_have_text("this")
    expect(page.locator("#count-comments")).to_have_text("1")
    assert visitor.axe() == []
    page.click("[data-panel-tabs] >> text=History")
    edit(page, "question")
    page.fill("#f-question-question", "A shorter question?")
    save(page, "question")
    expect(page.locator(".wb-revs li")).to_have_count(2)
    page.click("#history button:has-text('Compare')")
    expect(page.locator("ins").first).to_be_visible()
    assert visitor.axe() == []
    page.locator("section", has_text="r1").get_by_role("link", name="Restore").first.click()
    page.get_by_role("button", name="Restore r1").click()
    expect(page.locator("#question")).to_contain_text("railway crossing")
    assert visitor.unexpected_errors() == []


def test_workbench_without_script_is_edited_by_plain_forms(team: Team, visit: Any) -> None:
    item = team.item()
    page = visit(team.ann, java_script_enabled=False).open(address(item))
    page.click("#checklist [data-edit]")
    expect(page.locator("[data-rows=checklist] > [data-row]:visible")).to_have_count(13)
    fill(row(page, "checklist", 11), conclusion="Added without script", prerequisites="10")
    page.click("#checklist [data-section-form] button[type=submit]")
    expect(page.locator("#step-c11")).to_contain_text("Added without script")
    page.click("[data-panel-tabs] >> text=Comments")
    page.fill("#comments textarea[name=body]", "Without script")
    page.click("#comments button:has-text('Comment')")
    expect(page.locator(".wb-thread")).to_contain_text("Without script")
    page.click("[data-panel-tabs] >> text=History")
    expect(page.locator(".wb-revs li")).to_have_count(2)


@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
@pytest.mark.parametrize("width", [1280, 400])
def test_workbench_looked_at_by_axe_has_no_finding(team: Team, visit: Any, width: int, dark: bool) -> None:
    data = good_data(id="axe")
    data["checklist"][9] |= {"prerequisites": ["c9", "c8"], "sources": []}
    item = team.item(read_document(data))
    out = io.BytesIO()
    Image.new("RGB", (300, 200), "teal").save(out, "PNG")
    item, _report = image_actions.add_images(item, [("teal.png", out.getvalue())], actor=team.ann)
    comment_actions.add_comment(item, "A remark", actor=team.aud, anchor="c3", blocking=True)
    visitor = visit(team.ann, width=width, dark=dark)
    page = visitor.open(address(item))
    assert visitor.axe() == []
    for section in ("question", "images", "design", "graph", "checklist", "sources", "metadata"):
        edit(page, section)
    assert visitor.axe() == []
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    for panel in ("comments", "history"):
        visitor.open(f"{address(item)}?panel={panel}")
        assert visitor.axe() == []
    assert visitor.unexpected_errors() == []
