"""Planning in a real browser: targets, the guideline, ideas, and who has which item."""

from typing import Any

import pytest
from playwright.sync_api import expect

from annotation.models import Item
from annotation.states import State
from tests.browser.test_workbench import address
from tests.factories import Team


@pytest.fixture
def team(transactional_db: Any) -> Team:
    from tests.factories import make_team

    return make_team()


def test_plan_from_target_to_assigned_item(team: Team, visit: Any) -> None:
    admin = visit(team.admin)
    page = admin.open("/b/bench/coverage/")
    page.get_by_label("Target of Media").fill("3")
    assert admin.axe() == []
    page.get_by_role("button", name="Save targets").click()
    expect(page.get_by_text("Missing most:")).to_contain_text("Media (3 more to write)")

    page.get_by_role("link", name="Guideline", exact=True).click()
    page.get_by_role("link", name="Write it").click()
    for text in ("# Rules\n\nBe *short*.", "# Rules\n\nBe *brief*."):
        page.get_by_label("Text, as Markdown").fill(text)
        page.get_by_role("button", name="Save as a new version").click()
        expect(page.locator(".wb-doc h1")).to_have_text("Rules")
        page.get_by_role("link", name="Edit").click()
    page.get_by_role("link", name="Cancel").click()
    page.get_by_role("link", name="changes").click()
    expect(page.locator("ins")).to_contain_text("brief")
    assert admin.axe() == []

    annotator = visit(team.ann)
    page = annotator.open("/b/bench/ideas/")
    expect(page.get_by_text("No idea yet")).to_be_visible()
    page.get_by_label("Idea, in a line").fill("A strange logo")
    page.get_by_label("Starting point (URL)").fill("https://en.wikipedia.org/wiki/Logo")
    page.get_by_label("Category").select_option("media")
    page.get_by_role("button", name="Add").click()
    page.get_by_role("button", name="Claim: A strange logo").click()
    expect(page.get_by_text("is yours now")).to_be_visible()
    page.goto(annotator.base + "/b/bench/ideas/?view=mine")
    assert annotator.axe() == []
    page.get_by_role("button", name="Start its item: A strange logo").click()
    expect(page.locator("#design")).to_contain_text("A strange logo")
    expect(page.locator("#source-s1")).to_contain_text("en.wikipedia.org/wiki/Logo")
    assert annotator.axe() == []

    item = Item.objects.get()
    core = visit(team.core)
    page = core.open(address(item))
    people = page.locator("#people")
    people.get_by_text("Ask for an audit").click()
    people.get_by_label("Auditor").select_option(team.aud.username)
    people.get_by_label("Due").fill("2020-01-01")
    people.get_by_role("button", name="Save", exact=True).click()
    expect(people).to_contain_text("overdue by")
    expect(people).to_contain_text(f"Auditor: {team.aud.username}")
    people.get_by_text("Hand it over").click()
    people.get_by_label("New author").select_option(team.aud.username)
    people.get_by_role("button", name="Hand over").click()
    expect(people.get_by_role("alert")).to_contain_text("is to audit this item")
    Item.objects.update(state=State.LOCKED.value)
    page.reload()
    people.get_by_text("Make it a golden example").click()
    people.get_by_label("What it is a good example of").fill("starting from a logo")
    people.get_by_role("button", name="Make it golden").click()
    expect(people).to_contain_text("golden example")
    assert core.axe() == []
    page = annotator.open("/b/bench/golden/")
    expect(page.get_by_text("starting from a logo")).to_be_visible()
    for visitor in (admin, annotator, core):
        assert visitor.unexpected_errors() == []


@pytest.mark.parametrize("place", ["coverage", "guideline", "golden", "ideas"])
def test_planning_at_400_px_in_the_dark(team: Team, visit: Any, place: str) -> None:
    visitor = visit(team.admin, width=400, dark=True)
    page = visitor.open(f"/b/bench/{place}/")
    assert visitor.axe() == []
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
