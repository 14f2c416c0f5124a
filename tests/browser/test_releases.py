"""Releases in the browser: choosing by ticks, cutting with splits, comparing, downloading, taking a picture down."""

import json
from dataclasses import replace
from typing import Any

import pytest
from playwright.sync_api import expect

from audit import actions
from audit.models import Redaction, Release
from tests.audit.conftest import media  # noqa: F401 (a fixture)
from tests.audit.releasing import imported, with_stored_images
from tests.audit.test_release_cut import change
from tests.documents import good_document
from tests.factories import Team


def locked(team: Team, count: int) -> list[Any]:
    good = with_stored_images(team, good_document())
    made = imported(team, *(replace(good, id=f"item-{n}", question=f"Question {n}?") for n in range(1, count + 1)))
    actions.lock_imported(team.benchmark, actor=team.admin)
    return made


@pytest.mark.usefixtures("media")
def test_release_is_chosen_cut_compared_downloaded_and_a_picture_taken_down(team: Team, visit: Any) -> None:
    items = locked(team, 5)
    visitor = visit(team.admin)
    page = visitor.open("/b/bench/releases/")
    page.get_by_role("link", name="Cut a release").first.click()
    chosen = page.get_by_role("status").filter(has_text="chosen")
    expect(chosen).to_have_text("5 of 5 chosen")
    page.get_by_label("Take #2").uncheck()
    page.get_by_label("Take #4").click(modifiers=["Shift"])
    expect(chosen).to_have_text("2 of 5 chosen")  # 2 to 4 in one go
    page.get_by_role("textbox", name="Search").fill("Question 3")
    page.get_by_role("button", name="Show").click()
    expect(page.locator(".wb-picks tbody tr")).to_have_count(1)
    page.get_by_role("button", name="Take all").click()
    expect(chosen).to_have_text("3 of 5 chosen")
    page.get_by_role("button", name="Go on").click()
    expect(page.get_by_role("heading", name="What is in it")).to_be_visible()
    expect(page.get_by_role("textbox", name="Version")).to_have_value("1.0.0")
    page.get_by_role("radio", name="by share").check()
    page.get_by_role("spinbutton", name="test, %").fill("67")
    page.get_by_role("spinbutton", name="held out, %").fill("33")
    page.get_by_role("spinbutton", name="Seed").fill("5")
    page.get_by_role("button", name="Cut the release").click()
    page.get_by_role("button", name="Cut", exact=True).click()
    expect(page.get_by_role("heading", name="v1.0.0")).to_be_visible()
    release = Release.objects.get()
    assert sorted(row.item.number for row in release.release_items.select_related("item")) == [1, 3, 5]
    assert release.splits["seed"] == 5

    with page.expect_download() as started:
        page.get_by_role("link", name="JSONL Full").click()
    lines = started.value.path().read_text().splitlines()
    assert sorted("answer" in json.loads(line) for line in lines) == [False, True, True]

    change(team, items[0], "question", answer="quite another answer")
    visitor.open("/b/bench/releases/cut/")
    page.get_by_role("button", name="Go on").click()
    expect(page.get_by_role("textbox", name="Version")).to_have_value("2.0.0")
    expect(page.get_by_role("textbox", name="Note")).to_have_value("## Changes since v1.0.0\n\n- Added: #2, #4\n"
                                                    "- Changed in what is asked or graded: #1\n")  # fmt: skip
    page.get_by_role("button", name="Cut the release").click()
    page.get_by_role("button", name="Cut", exact=True).click()
    page.get_by_role("link", name="What changed").click()
    expect(page.get_by_text("quite another answer")).to_be_visible()
    assert visitor.axe() == []

    sha256 = items[0].document["images"][0]["sha256"]
    visitor.open(f"/b/bench/takedowns/?sha256={sha256}")
    expect(page.get_by_role("img", name="The picture")).to_be_visible()
    page.get_by_role("textbox", name="Reason").fill("Asked for by its owner")
    page.get_by_label("I know that this cannot be undone").check()
    page.locator("form").get_by_role("button", name="Take it down").click()
    page.get_by_role("dialog").get_by_role("button", name="Take it down").click()
    expect(page.get_by_text("The picture is taken down.")).to_be_visible()
    assert Redaction.objects.get().sha256 == sha256
    visitor.open("/b/bench/releases/v1.0.0/")
    expect(page.get_by_text("Asked for by its owner")).to_be_visible()
    visitor.open("/b/bench/items/1/")
    expect(page.get_by_text("This picture was taken down: Asked for by its owner")).to_be_visible()
    assert visitor.unexpected_errors() == []


@pytest.mark.usefixtures("media")
@pytest.mark.parametrize(("width", "dark"), [(1280, False), (400, True)])
def test_release_pages_looked_at_by_axe_have_no_finding(team: Team, visit: Any, width: int, dark: bool) -> None:
    locked(team, 3)
    visitor = visit(team.admin, width=width, dark=dark)
    for path in ("releases/cut/", "releases/cut/check/", "takedowns/"):
        page = visitor.open(f"/b/bench/{path}")
        assert visitor.axe() == [], path
        assert page.evaluate("document.documentElement.scrollWidth") <= width, path
    assert visitor.unexpected_errors() == []
