"""The queue in a real browser: next by key, rows by j and k, giving back; a pilot batch by two raters."""

from typing import Any

from playwright.sync_api import Page, expect

from audit import actions
from audit.models import ReviewClaim
from audit.pilot_actions import make_batch
from audit.plan_actions import set_plan
from tests.audit.judging import submit
from tests.factories import Team


def test_auditor_takes_the_next_item_by_key_and_gives_it_back(team: Team, visit: Any) -> None:
    actions.set_calibration(team.benchmark, team.ann, True, actor=team.core)
    first, second = (submit(team.item()) for _n in range(2))
    visitor = visit(team.aud)
    page = visitor.open("/b/bench/audit/")
    page.keyboard.press("j")
    page.keyboard.press("j")
    page.keyboard.press("k")
    expect(page.locator("tbody tr").nth(0).locator("a").first).to_be_focused()
    assert visitor.axe() == []
    page.keyboard.press("n")
    page.wait_for_url(f"**/items/{first.number}/audit/")
    expect(page.get_by_text("Yours until")).to_be_visible()
    core = visit(team.core)
    other = core.open("/b/bench/audit/?list=waiting")
    expect(other.locator("tbody tr").nth(0)).to_contain_text("bench-aud has it until")
    assert core.axe() == []
    page.get_by_role("button", name="Give back").click()
    page.wait_for_url("**/audit/")
    assert not ReviewClaim.objects.exists()
    page.keyboard.press("n")  # not the one that was given back
    page.wait_for_url(f"**/items/{second.number}/audit/")
    narrow = visit(team.aud, width=400, dark=True)
    narrow.open("/b/bench/audit/?list=mine")
    assert narrow.page.evaluate("document.documentElement.scrollWidth") <= 400
    assert narrow.axe() == []
    narrow.open("/b/bench/audit/?list=people")
    assert narrow.axe() == []
    for one in (visitor, core, narrow):
        assert one.unexpected_errors() == []


def rate(page: Page, ratings: str) -> None:
    """Click a rating and a verdict for each criterion, as a person does, and keep them."""
    for row, digit in zip(page.locator(".is-pilot > li").all(), ratings, strict=True):
        row.locator(".wb-rate label").nth(int(digit) - 1).click()
        row.locator(".wb-pf label").nth(0 if digit > "2" else 1).click()
        if digit < "3":
            row.locator("textarea").fill("The link is made up")
    page.get_by_role("button", name="Keep ratings").click()


def test_two_raters_rate_a_pilot_batch_without_seeing_each_other(team: Team, visit: Any) -> None:
    set_plan(team.benchmark, {"pilot_items": 1, "pilot_raters": 2}, actor=team.admin)
    submit(team.item())
    address = f"/b/bench/audit/pilot/{make_batch(team.benchmark, team.ann, actor=team.core).pk}/"
    core, admin = visit(team.core), visit(team.admin)
    one, two = core.open(address), admin.open(address)
    rate(one, "544445")
    expect(one.get_by_text("6 of 6 ratings")).to_be_visible()
    two.reload()
    expect(two.locator(".is-pilot")).not_to_contain_text("bench-core:")
    assert two.locator(".is-pilot input:checked").count() == 0
    assert admin.axe() == []
    rate(two, "244445")
    expect(two.locator("#agreement")).to_contain_text("n = 6, small")
    expect(two.locator(".is-pilot > li").first).to_contain_text("The link is made up")
    assert admin.axe() == []
    one.reload()
    one.get_by_label("Note to the annotator").fill("Use links that people speak of")
    one.get_by_role("button", name="Another batch").click()
    one.wait_for_url("**/audit/pilot/")
    expect(one.locator("tbody")).to_contain_text("1: another batch")
    assert core.axe() == []
    for visitor in (core, admin):
        assert visitor.unexpected_errors() == []
