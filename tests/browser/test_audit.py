"""The audit in a real browser: keys rate, pass and tick; what was typed elsewhere stays; axe finds nothing."""

from typing import Any

import pytest
from playwright.sync_api import Page, expect

from annotation.models import Item
from annotation.states import State
from audit import actions
from audit.evidence import elements_to_tick
from audit.workflow import Move
from tests.audit.judging import answer, answer_phase, bring_to, finish, fresh
from tests.factories import Team


@pytest.fixture
def secondary(team: Team) -> Item:
    return bring_to(team, team.item(), State.SECONDARY_AUDIT)


def address(item: Item) -> str:
    return f"/b/{item.benchmark.slug}/items/{item.number}/audit/"


def rate(page: Page, code: str, rating: int = 4, verdict: str = "pass") -> None:
    """Click a rating and a verdict, as a person does, and save."""
    criterion = page.locator(f"#k-{code}")
    criterion.locator(".wb-rate label").nth(rating - 1).click()
    criterion.locator(".wb-pf label").nth(0 if verdict == "pass" else 1).click()
    criterion.get_by_role("button", name="Save").click()


def test_auditor_with_keys_and_mouse_passes_phase_2(team: Team, secondary: Item, visit: Any) -> None:
    visitor = visit(team.aud)
    page = visitor.open(address(secondary))
    expect(page.locator("#k-chain")).to_have_class("wb-crit is-now")
    # text typed beside another criterion stays when this one is answered
    page.locator("#k-minimal h3").click()
    page.locator("#k-minimal textarea").fill("typed and kept")
    page.locator("#k-chain h3").click()
    page.keyboard.press("2")
    page.keyboard.press("p")
    page.locator("#k-chain").get_by_role("button", name="Save").click()
    expect(page.locator("#k-chain [role=alert]")).to_have_text("A pass needs a rating of 3 or more.")
    expect(page.locator("#k-chain [data-shortcut='5']")).to_be_attached()
    page.evaluate("document.activeElement.blur()")
    page.keyboard.press("5")
    page.locator("#k-chain").get_by_role("button", name="Save").click()
    expect(page.locator("#k-chain")).to_contain_text("passed 5/5")
    expect(page.locator("#k-path")).to_have_class("wb-crit is-now")
    expect(page.locator("#audit-count")).to_have_text("1 of 6 answered")
    expect(page.locator("#k-minimal textarea")).to_have_value("typed and kept")
    # y ticks the first open row, then the next
    page.evaluate("document.activeElement.blur()")
    for element in elements_to_tick(secondary.document, "support"):
        expect(page.locator("[data-judge=tick] .is-now")).to_have_id(f"t-{element}")
        page.keyboard.press("y")
    expect(page.locator("#support-ticks")).to_have_text("20 of 20 ticked")
    for code in ("path", "minimal", "support", "unique", "public"):
        rate(page, code)
        expect(page.locator(f"#k-{code}")).to_contain_text("passed 4/5")
    page.get_by_role("button", name="Pass to phase 3").click()
    expect(page.locator("#messages")).to_contain_text("#1 is now: multimodal audit.")
    assert fresh(secondary).state == State.MULTIMODAL_AUDIT
    assert visitor.unexpected_errors() == []


def test_return_asks_for_a_reason_filled_with_what_failed(team: Team, secondary: Item, visit: Any) -> None:
    answer(secondary, team.aud, "minimal", passed=False, comment="Steps 6 and 7 say the same")
    page = visit(team.aud).open(address(secondary))
    page.locator("summary", has_text="Return").click()
    expect(page.get_by_label("What to mend")).to_have_value("The checklist is minimal: Steps 6 and 7 say the same\n")
    page.get_by_role("button", name="Return").click()
    expect(page.locator("#messages")).to_contain_text("is now: returned")


def test_reject_asks_first_and_does_nothing_when_cancelled(team: Team, secondary: Item, visit: Any) -> None:
    page = visit(team.aud).open(address(secondary))
    page.locator("summary", has_text="Reject").click()
    page.get_by_label("Reason").fill("One query finds it")
    page.get_by_role("button", name="Reject").click()
    page.locator("#confirm").get_by_role("button", name="Cancel").click()
    assert fresh(secondary).state == State.SECONDARY_AUDIT
    page.get_by_role("button", name="Reject").click()
    page.locator("#confirm [data-confirm-yes]").click()
    expect(page.locator("#messages")).to_contain_text("is now: rejected")


def test_without_script_an_auditor_answers_ticks_and_returns(team: Team, secondary: Item, visit: Any) -> None:
    page = visit(team.aud, java_script_enabled=False).open(address(secondary))
    rate(page, "public", rating=1, verdict="fail")
    expect(page.locator("#k-public [role=alert]")).to_contain_text("A fail needs a comment")
    page.locator("#k-public textarea").fill("Names a private person")
    page.locator("#k-public").get_by_role("button", name="Save").click()
    expect(page.locator("#k-public")).to_contain_text("failed 1/5")
    page.get_by_role("button", name="n1 is supported").click()
    expect(page.locator("#support-ticks")).to_have_text("1 of 20 ticked")
    page.locator("summary", has_text="Return").click()
    page.get_by_role("button", name="Return").click()
    assert fresh(secondary).state == State.RETURNED


@pytest.mark.parametrize(("width", "dark"), [(1280, False), (1280, True), (400, False), (400, True)])
def test_audit_pages_looked_at_by_axe_have_no_finding(team: Team, visit: Any, width: int, dark: bool) -> None:
    locked = bring_to(team, team.item(), State.LOCKED)
    waiting = {state: bring_to(team, team.item(), state) for state in (State.FACTUAL_AUDIT, State.APPROVED)}
    returned = bring_to(team, team.item(), State.MULTIMODAL_AUDIT)
    answer_phase(returned, team.aud)
    finish(returned, team.aud, Move.RETURN, "Mend the picture")
    actions.cut_release(team.benchmark, "v1", "First", actor=team.admin)
    visitor = visit(team.admin, width=width, dark=dark)
    base = f"/b/{team.benchmark.slug}"
    pages = [address(item) for item in (locked, returned, *waiting.values())]
    for path in [*pages, f"{base}/audit/", f"{base}/releases/", f"{base}/releases/cut/", f"{base}/releases/v1/"]:
        page = visitor.open(path)
        assert visitor.axe() == [], path
        assert page.evaluate("document.documentElement.scrollWidth") <= width, path
    assert visitor.unexpected_errors() == []
