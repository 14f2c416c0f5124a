"""Analyses in a real browser: clean for axe in light and dark, pictures drawn and saved, tables sorted by keys."""

from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import expect

from lhdr_site.endpoints.demo_server import DemoServer
from tests.evaluation.setting import Setting, make_setting
from tests.evaluation.test_views_results import judged_run

PAGES = ["", "leaderboard/", "costs/", "gaps/", "separability/", "image_ablation/", "two_runs/"]

WIDE_TABLES = "[...document.querySelectorAll('.ev-sortable')].some((t) => t.offsetWidth > t.parentElement.clientWidth)"


@pytest.fixture
def judged(transactional_db: Any, demo_server: DemoServer) -> Setting:
    setting = make_setting(demo_server)
    judged_run(setting, "Ann", [True, True, False], [10, 5, 0])
    judged_run(setting, "Bea", [True, False, False], [5, 5, 0])
    return setting


@pytest.mark.parametrize(("dark", "width"), [(False, 1280), (True, 1280), (False, 400)])
def test_analyses_are_clean_for_axe_and_the_console_and_fit(
    visit: Any, judged: Setting, dark: bool, width: int
) -> None:
    visitor = visit(judged.team.ann, dark=dark, width=width)
    wrong = []
    for path in PAGES:
        page = visitor.open(f"/b/bench/results/{path}")
        pictures = page.locator("[data-picture]")
        for at in range(pictures.count()):
            expect(pictures.nth(at).locator("canvas").first).to_be_visible()
        wrong += [f"{path}: {finding}" for finding in visitor.axe()]
        if page.evaluate("document.documentElement.scrollWidth > document.documentElement.clientWidth"):
            wrong.append(f"{path}: too wide")
        if width == 1280 and page.evaluate(WIDE_TABLES):
            wrong.append(f"{path}: a table is cut off")
    page = visitor.open("/b/bench/results/two_runs/")
    page.get_by_role("link", name="#").first.click()
    expect(page.get_by_role("heading", name="in two runs")).to_be_visible()
    wrong += visitor.axe()
    assert wrong == [], "\n".join(wrong)
    assert visitor.unexpected_errors() == []


def test_pictures_are_saved_and_tables_sorted_by_keys(visit: Any, judged: Setting, tmp_path: Path) -> None:
    visitor = visit(judged.team.ann)
    page = visitor.open("/b/bench/results/separability/")
    for kind, start in (("PNG", b"\x89PNG"), ("SVG", b"<svg")):
        with page.expect_download() as download:
            page.get_by_role("button", name=f"{kind} of").first.click()
        assert download.value.suggested_filename == f"order-dacs.{kind.lower()}"
        assert Path(download.value.path()).read_bytes().startswith(start)
    table = page.locator("#tiers-dacs table")
    assert table.locator("tbody th").all_inner_texts() == ["Ann", "Bea"]
    page.locator("#tiers-dacs").get_by_role("button", name="DACS").focus()
    for expected, order in (("descending", ["Ann", "Bea"]), ("ascending", ["Bea", "Ann"])):
        page.keyboard.press("Enter")
        expect(table.get_by_role("columnheader", name="DACS")).to_have_attribute("aria-sort", expected)
        assert table.locator("tbody th").all_inner_texts() == order
    assert visitor.unexpected_errors() == []
