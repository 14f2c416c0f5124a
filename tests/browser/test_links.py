"""The link check in a real browser: beside each source in phase 4, on the item page, as a list; without script, too."""

from typing import Any

import pytest
from django.utils import timezone
from playwright.sync_api import expect

from annotation.models import Item
from annotation.states import State
from audit import link_steps
from audit.link_queries import links_of
from audit.models import LinkCheck, LinkJob
from tests.audit.judging import answer, bring_to, fresh, tick_all
from tests.factories import Team

GONE = {"status": "dead", "reason": "Answers 404: it is gone.", "http_status": 404}
NEAR = {
    "status": "ok",
    "reason": "Opens.",
    "quote_found": True,
    "quote_score": 93,
    "changed": True,
    "title": "A bridge",
}
NEAR |= {"redirects": ["http://a.example/old"], "final_url": "http://a.example/new", "extract": "What it said.",
         "content_hash": "a" * 64, "content_type": "text/html", "milliseconds": 140}  # fmt: skip


def answered(item: Item, key: str, **values: Any) -> None:
    """As the worker would write it."""
    link = links_of(fresh(item))[key]
    LinkCheck.objects.create(item=item, source=key, url=link.url, url_hash=link.url_hash, **values)
    LinkJob.objects.filter(item=item, source=key).delete()


@pytest.fixture
def factual(team: Team) -> Item:
    return bring_to(team, team.item(), State.FACTUAL_AUDIT)


def test_core_checks_all_links_opens_the_rest_and_passes_the_criterion(team: Team, factual: Item, visit: Any) -> None:
    visitor = visit(team.core)
    page = visitor.open(f"/b/{team.benchmark.slug}/items/{factual.number}/audit/")
    page.get_by_role("button", name="Check all links").click()
    expect(page.locator("#links")).to_contain_text("0 of 8 checked")
    expect(page.locator("#link-s1")).to_contain_text("being checked")
    keys = list(links_of(factual))
    for key in keys[:-2]:
        answered(factual, key, status="ok", reason="Opens.")
    answered(factual, "s7", **NEAR)
    answered(factual, "s8", **GONE)
    expect(page.locator("#links")).to_contain_text("dead 1")  # by itself, without a reload
    expect(page.locator("#link-s8")).to_contain_text("dead")
    expect(page.locator("#link-s7")).to_contain_text("quote nearly found, 93% alike")
    page.get_by_label("Details: s7").click()
    expect(page.locator("#link-s7 dl")).to_contain_text("http://a.example/new")
    tick_all(factual, team.core, "urls")
    opened = page.locator("#link-s8")
    page.get_by_label("I opened it myself: s8").click()
    opened.get_by_role("button", name="It opens").click()
    expect(opened.get_by_role("alert")).to_contain_text("Say what you saw")
    opened.get_by_label("What you saw at s8").fill("Opens after the consent page")
    opened.get_by_role("button", name="It opens").click()
    expect(opened).to_contain_text("said")
    expect(opened).to_contain_text("opens")
    assert answer(factual, team.core, "urls").passed
    page.get_by_role("button", name="Check now: s1").click()
    expect(page.locator("#link-s1")).to_contain_text("being checked")
    assert LinkJob.objects.get().anew
    assert visitor.axe() == [] and visitor.unexpected_errors() == []


def test_item_page_shows_the_words_and_has_the_links_checked(team: Team, visit: Any) -> None:
    item = team.item()
    visitor = visit(team.ann)
    page = visitor.open(f"/b/{team.benchmark.slug}/items/{item.number}/")
    page.locator("#links").scroll_into_view_if_needed()
    expect(page.locator("#links")).to_contain_text("not checked 8")
    page.locator("#links").get_by_role("button", name="Check all links").click()
    expect(page.locator("#links")).to_contain_text("0 of 8 checked")
    assert LinkJob.objects.filter(item=item, by=team.ann).count() == 8
    assert visitor.unexpected_errors() == []


def test_without_script_links_are_checked_and_opened(team: Team, factual: Item, visit: Any) -> None:
    page = visit(team.core, java_script_enabled=False).open(
        f"/b/{team.benchmark.slug}/items/{factual.number}/audit/links/"
    )
    page.get_by_role("button", name="Check all links").click()
    expect(page.locator("#messages")).to_contain_text("8 links are being checked")
    page.get_by_label("I opened it myself: s1").click()
    page.get_by_label("What you saw at s1").fill("It says so")
    page.locator("#link-s1").get_by_role("button", name="It opens").click()
    expect(page.locator("#link-s1")).to_contain_text("said")


@pytest.mark.parametrize(("width", "dark"), [(1280, False), (400, True)])
def test_pages_looked_at_by_axe_have_no_finding(team: Team, factual: Item, visit: Any, width: int, dark: bool) -> None:
    answered(factual, "s1", status="unverifiable", reason="It refuses machines (403).", http_status=403)
    answered(factual, "s2", **GONE)
    answered(factual, "s3", **NEAR)
    link_steps.write_jobs(factual, {"s4": links_of(factual)["s4"].url}, by=None)
    LinkJob.objects.update(tries=1, note="The host fails: it answers 503.", due=timezone.now())
    visitor = visit(team.core, width=width, dark=dark)
    base = f"/b/{team.benchmark.slug}"
    item = f"{base}/items/{factual.number}/audit/"
    for path in (
        item,
        f"{item}links/",
        f"{item}links/s3/",
        f"{base}/audit/links/",
        f"{base}/audit/links/?show=refused",
    ):
        page = visitor.open(path)
        page.wait_for_load_state("networkidle")
        for part in page.locator(".wb-link summary").all()[:8]:
            part.click()
        assert visitor.axe() == [], path
        assert page.evaluate("document.documentElement.scrollWidth") <= width, path
    assert visitor.unexpected_errors() == []
