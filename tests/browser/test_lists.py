"""Lists, home, settings, import and help in a real browser: clean for axe, and working with and without script."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import expect

from annotation import benchmark_actions, comment_actions
from annotation.models import Benchmark, Item
from annotation.states import State
from tests.documents import good_data, good_document
from tests.factories import Team, make_team

PAGES = [
    "/",
    "/b/bench/",
    "/b/bench/items/",
    "/b/bench/items/?q=nowhere&state=draft",
    "/b/bench/items/import/",
    "/b/bench/settings/",
    "/benchmarks/new/",
    "/help/",
    "/help/commands/",
    "/help/audit/",
    "/help/formats/",
]


@pytest.fixture
def full(transactional_db: Any) -> Team:
    """A benchmark with 53 items in several states, a comment, and an admin who is a superuser."""
    team = make_team()
    team.admin.is_superuser = True
    team.admin.save()
    states = [State.DRAFT, State.RETURNED, State.SUBMITTED, State.LOCKED, State.APPROVED]
    for n in range(53):
        item = team.item(replace(good_document(question=f"Which ferry is number {n}?"), id=f"item-{n}"))
        if n < 10:
            Item.objects.filter(pk=item.pk).update(state=states[n % 5], errors=n % 2, category="media")
    comment_actions.add_comment(item, "Is this the ferry?", actor=team.aud, blocking=True)
    benchmark_actions.change_benchmark(
        team.benchmark, {"guideline": "# Rules\n\n- Be short.", "target": 60}, actor=team.admin
    )
    return team


def file_of(tmp_path: Path, *rows: dict[str, Any]) -> Path:
    path = tmp_path / "items.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


def plain(**changes: Any) -> dict[str, Any]:
    data = good_data(images=[], **changes)
    for step in data["checklist"]:
        step["images"] = []
    return data


@pytest.mark.parametrize(("width", "dark"), [(1280, False), (1280, True), (400, False)])
def test_pages_are_clean_and_as_wide_as_the_window(full: Team, visit: Any, width: int, dark: bool) -> None:
    visitor = visit(full.admin, width=width, dark=dark)
    for path in PAGES:
        page = visitor.open(path)
        assert visitor.axe() == [], path
        assert page.evaluate("document.documentElement.scrollWidth") <= width, path
    assert visitor.unexpected_errors() == []


def test_empty_pages_are_clean(transactional_db: Any, visit: Any) -> None:
    team = make_team()
    for person in (team.admin, team.stranger):
        visitor = visit(person)
        for path in ["/"] + (["/b/bench/", "/b/bench/items/"] if person is team.admin else []):
            visitor.open(path)
            assert visitor.axe() == [], path
        assert visitor.unexpected_errors() == []


@pytest.mark.parametrize("script", [True, False])
def test_list_is_filtered_paged_and_freed_again(full: Team, visit: Any, script: bool) -> None:
    visitor = visit(full.ann, java_script_enabled=script)
    page = visitor.open("/b/bench/items/")
    rows = page.locator("table.wb-items tbody tr")
    expect(rows).to_have_count(50)
    page.get_by_role("link", name="Next").click()
    expect(rows).to_have_count(3)
    page.get_by_role("link", name="Previous").click()
    expect(rows).to_have_count(50)
    page.locator("summary", has_text="Filter").click()
    page.get_by_label("Locked").check()
    page.get_by_label("Returned").check()
    page.get_by_label("A gate is").select_option("open")
    page.get_by_role("button", name="Show these").click()
    expect(rows).to_have_count(4)
    page.get_by_role("link", name="Remove filter State: Locked").click()
    expect(rows).to_have_count(2)
    page.get_by_label("Question, answer, entity, source, #number or id").fill("ferry 1")
    page.keyboard.press("Enter")
    expect(page.get_by_text("“ferry 1”")).to_be_visible()
    expect(page.get_by_role("link", name="Remove filter State: Returned")).to_be_visible()
    page.get_by_role("link", name="Clear").click()
    expect(rows).to_have_count(50)
    page.get_by_role("link", name="Steps", exact=True).click()
    expect(page.locator("th[aria-sort=descending]")).to_contain_text("Steps")


@pytest.mark.parametrize(("width", "dark"), [(1280, False), (1280, True), (400, False), (400, True)])
def test_menus_and_pages_of_many_items_are_clean_and_inside_the_window(
    full: Team, visit: Any, width: int, dark: bool
) -> None:
    visitor = visit(full.core, width=width, dark=dark)
    page = visitor.open("/b/bench/items/?state=draft")
    for word, bar in (("Filter", ".wb-filterbar"), ("Views", ".wb-viewbar"), ("Columns", ".wb-viewbar")):
        page.locator(f"{bar} summary", has_text=word).click()
        menu = page.locator(f"{bar} details[open] .wb-menu-b")
        expect(menu).to_be_visible()
        assert visitor.axe() == [], word
        box = menu.bounding_box()
        assert box and box["x"] >= 0 and box["x"] + box["width"] <= width, word
        page.keyboard.press("Escape")
    page.locator("input[name=n]").first.check()
    assert visitor.axe() == []
    for path in ("?all=on", "?all=on&do=set_due", "?all=on&do=assign&value=bench-aud", "?all=on&do=golden&value=x"):
        page = visitor.open(f"/b/bench/items/bulk/{path}")
        assert visitor.axe() == [], path
        assert page.evaluate("document.documentElement.scrollWidth") <= width, path
    assert visitor.unexpected_errors() == []


def test_columns_are_chosen_and_put_in_order(full: Team, visit: Any) -> None:
    visitor = visit(full.ann)
    page = visitor.open("/b/bench/items/")
    page.locator("summary", has_text="Columns").click()
    page.get_by_label("Answer", exact=True).check()
    page.get_by_label("Gates", exact=True).uncheck()
    for _ in range(10):
        page.get_by_role("button", name="Move Answer up").click()
    page.locator(".wb-columns").get_by_role("button", name="Show these").click()
    heads = page.locator("table.wb-items thead th")
    expect(heads.nth(4)).to_have_text("Answer")
    expect(heads.filter(has_text="Gates")).to_have_count(0)
    assert visitor.unexpected_errors() == []


def test_view_is_saved_opened_changed_and_deleted(full: Team, visit: Any) -> None:
    visitor = visit(full.core)
    page = visitor.open("/b/bench/items/?state=returned&sort=steps")
    rows = page.locator("table.wb-items tbody tr")
    expect(rows).to_have_count(2)
    page.locator("summary", has_text="Views").click()
    page.get_by_label("Save this list as").fill("Came back")
    page.get_by_label("for everybody in the benchmark").check()
    page.keyboard.press("Enter")
    expect(page.get_by_text("The view “Came back” was saved.")).to_be_visible()
    page = visit(full.ann).open("/b/bench/items/")
    page.locator("summary", has_text="Views").click()
    one = page.get_by_role("link", name="Came back")
    expect(one.locator(".wb-count")).to_have_text("2")
    one.click()
    expect(page.locator("table.wb-items tbody tr")).to_have_count(2)
    expect(page.locator("th[aria-sort=descending]")).to_contain_text("Steps")
    page = visitor.page
    page.get_by_role("link", name="Remove filter State: Returned").click()
    expect(page.get_by_text("Came back: changed")).to_be_visible()
    page.get_by_role("button", name="Save", exact=True).click()
    expect(page.get_by_text("Came back: changed")).to_have_count(0)
    page.locator("summary", has_text="Came back").click()
    page.locator(".wb-viewmenu").get_by_role("button", name="Delete").click()
    page.locator("#confirm").get_by_role("button", name="Delete").click()
    expect(page.get_by_text("The view “Came back” was deleted.")).to_be_visible()
    assert visitor.unexpected_errors() == []


def test_rows_are_walked_ticked_and_changed_by_key_and_going_back_keeps_the_place(full: Team, visit: Any) -> None:
    visitor = visit(full.core)
    page = visitor.open("/b/bench/items/?sort=number")
    ticks = page.locator("input[name=n]")
    said = page.locator("[data-selected]")
    for key in "jjxjx":
        page.keyboard.press(key)
    expect(said).to_have_text("2 selected")
    expect(ticks.nth(1)).to_be_checked()
    page.keyboard.press("k")
    page.keyboard.press("Enter")
    page.wait_for_url("**/b/bench/items/52/")
    page.go_back()
    expect(page.locator("tr:nth-child(2) a.wb-q")).to_be_focused()
    ticks.nth(3).check()
    ticks.nth(7).click(modifiers=["Shift"])
    expect(page.locator("tr.is-picked")).to_have_count(int((said.text_content() or "0").split()[0]))
    assert all(ticks.nth(n).is_checked() for n in range(3, 8))
    page.get_by_label("What to do").select_option("assign")
    page.get_by_role("button", name="Continue").press("Enter")
    expect(page.get_by_label("Auditor")).to_be_focused()
    page.keyboard.type("bench-aud")
    page.get_by_role("button", name="Look at what it would do").press("Enter")
    page.get_by_role("button", name="Do it for the").press("Enter")
    expect(page.get_by_role("heading", level=1)).to_have_text("Ask for an audit: bench-aud")
    assert visitor.axe() == []
    assert Item.objects.filter(auditor=full.aud).count() >= 5
    page.get_by_role("link", name="Back to the list").click()
    page.wait_for_url("**/b/bench/items/?sort=number")
    page.get_by_role("button", name="Start a new item as a copy of #53").click()
    page.wait_for_url("**/b/bench/items/54/")
    assert visitor.unexpected_errors() == []


def test_import_is_checked_and_then_done_without_choosing_the_file_again(
    full: Team, visit: Any, tmp_path: Path
) -> None:
    visitor = visit(full.admin)
    page = visitor.open("/b/bench/items/import/")
    page.get_by_label("File of items").set_input_files(file_of(tmp_path, plain(id="a"), plain(id="b", template="odd")))
    page.get_by_role("button", name="Check the file").click()
    expect(page.get_by_text("Nothing was imported: 1 problem.")).to_be_visible()
    expect(page.get_by_text("row 2, template")).to_be_visible()
    assert visitor.axe() == []
    page.get_by_label("File of items").set_input_files(file_of(tmp_path, plain(id="a"), plain(id="b")))
    page.get_by_role("button", name="Check the file").click()
    expect(page.get_by_text("Importing makes 2 new items")).to_be_visible()
    assert Item.objects.count() == 53
    page.get_by_role("button", name="Import these rows").click()
    page.wait_for_url("**/b/bench/items/")
    expect(page.get_by_text("2 items were imported.")).to_be_visible()
    assert Item.objects.count() == 55
    assert visitor.unexpected_errors() == []


def test_import_without_script_asks_for_the_file_again(full: Team, visit: Any, tmp_path: Path) -> None:
    page = visit(full.admin, java_script_enabled=False).open("/b/bench/items/import/")
    file = file_of(tmp_path, plain(id="a"))
    page.get_by_label("File of items").set_input_files(file)
    page.get_by_role("button", name="Check the file").click()
    expect(page.get_by_text("Choose the file again before importing.")).to_be_visible()
    page.get_by_label("File of items").set_input_files(file)
    page.get_by_role("button", name="Import these rows").click()
    expect(page.get_by_text("1 item was imported.")).to_be_visible()


def test_settings_add_a_member_and_ask_before_removing(full: Team, visit: Any) -> None:
    visitor = visit(full.admin)
    page = visitor.open("/b/bench/settings/")
    page.get_by_label("User name").fill("bench-stranger")
    page.get_by_label("Role", exact=True).select_option("2")
    page.get_by_role("button", name="Add member").click()
    expect(page.get_by_text("bench-stranger is a member now.")).to_be_visible()
    page.get_by_role("button", name="Remove bench-stranger").click()
    page.get_by_role("button", name="Cancel").click()
    expect(page.get_by_role("button", name="Remove bench-stranger")).to_be_visible()
    page.get_by_role("button", name="Remove bench-stranger").click()
    page.locator("#confirm").get_by_role("button", name="Remove").click()
    expect(page.get_by_text("bench-stranger is no longer a member.")).to_be_visible()
    page.get_by_label("Name", exact=True).first.fill("Winter set")
    page.keyboard.press("Control+s")
    expect(page.get_by_text("Winter set, Paper: strict")).to_be_visible()
    assert Benchmark.objects.get().name == "Winter set"
    assert visitor.unexpected_errors() == []


def test_help_is_reached_from_the_bar_and_leads_on(full: Team, visit: Any) -> None:
    page = visit(full.ann).open("/b/bench/")
    page.get_by_role("link", name="Guide").click()
    page.get_by_role("navigation", name="Contents").get_by_role("link", name="Items").click()
    expect(page.get_by_role("heading", level=1)).to_have_text("Items")
    page.locator("article").get_by_role("link", name="lhdr import_items").click()
    expect(page.get_by_role("heading", level=1)).to_have_text("Commands")
