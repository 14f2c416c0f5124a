"""The audit trail in a real browser: found from the item, filtered, taken along; narrow and dark; axe finds nothing."""

from typing import Any

import pytest
from playwright.sync_api import expect

from annotation.states import State
from tests.audit.judging import bring_to, tick
from tests.factories import Team


def test_member_follows_an_item_from_its_history_and_takes_the_ticks_along(team: Team, visit: Any) -> None:
    item = bring_to(team, team.item(), State.SECONDARY_AUDIT)
    tick(item, team.aud, "c1", supported=False)
    visitor = visit(team.ann)
    page = visitor.open(f"/b/bench/items/{item.number}/?panel=history")
    page.get_by_role("link", name="Audit trail: all that happened to it").click()
    rows = page.locator("tbody tr")
    expect(rows.first).to_contain_text(f"bench-aud ticked c1 of #{item.number}")
    expect(rows.first).to_contain_text("supported: no")
    expect(rows.last).to_contain_text("created")
    page.get_by_label("What", exact=True).select_option("judging")
    page.get_by_label("Who", exact=True).select_option("bench-aud")
    page.get_by_role("button", name="Filter").click()
    expect(rows).to_have_count(2)
    assert "group=judging" in page.url and "person=bench-aud" in page.url
    with page.expect_download() as download:
        page.get_by_role("link", name="CSV").click()
    assert download.value.suggested_filename.startswith(f"bench-{item.number}-trail-")
    assert len(download.value.path().read_text().splitlines()) == 3
    page.get_by_label("What", exact=True).select_option("errata")
    page.get_by_role("button", name="Filter").click()
    expect(page.get_by_text("No event of this kind")).to_be_visible()
    page.get_by_role("link", name="Show all").click()
    expect(rows.last).to_contain_text("created")
    assert visitor.unexpected_errors() == []


@pytest.mark.parametrize(("width", "dark"), [(1280, False), (400, True)])
def test_pages_looked_at_by_axe_have_no_finding(team: Team, visit: Any, width: int, dark: bool) -> None:
    item = bring_to(team, team.item(), State.SECONDARY_AUDIT)
    visitor = visit(team.core, width=width, dark=dark)
    trail = "/b/bench/audit/trail/"
    for path in (trail, f"/b/bench/items/{item.number}/audit/trail/", f"{trail}?since=x", f"{trail}?group=errata"):
        page = visitor.open(path)
        assert visitor.axe() == [], path
        assert page.evaluate("document.documentElement.scrollWidth") <= width, path
    assert visitor.unexpected_errors() == []
