"""Blind second audits and errata in a real browser: by keys and by mouse, wide and narrow; axe finds nothing."""

from typing import Any

from playwright.sync_api import expect

from audit import second_actions as second
from audit.models import BlindAudit, BlindResult, Errata
from audit.second_queries import BLIND
from tests.audit.judging import fresh
from tests.audit.test_errata import locked_item
from tests.audit.test_second import audit_blind
from tests.factories import Team


def test_auditor_takes_a_second_audit_answers_by_keys_and_finishes(team: Team, visit: Any) -> None:
    [audit] = second.ask_double_audits(team.benchmark, [locked_item(team).number], actor=team.core)
    visitor = visit(team.aud)
    page = visitor.open("/b/bench/audit/second/")
    assert visitor.axe() == []
    page.get_by_role("button", name="Audit it").click()
    expect(page.locator("#k-chain")).to_have_class("wb-crit is-now")
    assert visitor.axe() == []
    page.keyboard.press("2")
    page.keyboard.press("f")
    page.locator("#k-chain").get_by_role("button", name="Save").click()
    expect(page.locator("#k-chain [role=alert]")).to_contain_text("A fail needs a comment")
    page.locator("#k-chain textarea").fill("The third step can be guessed")
    page.locator("#k-chain").get_by_role("button", name="Save").click()
    for number, criterion in enumerate(BLIND[1:], 2):
        current = page.locator(f"#k-{criterion.code}")
        expect(current).to_have_class("wb-crit is-now")
        page.evaluate("document.activeElement.blur()")
        page.keyboard.press("4")
        page.keyboard.press("p")
        current.get_by_role("button", name="Save").click()
        expect(page.locator("#blind-count")).to_have_text(f"{number} of 13 answered")
    page.get_by_role("button", name="Finish the audit").click()
    page.get_by_role("dialog").get_by_role("button", name="Finish").click()
    expect(page.locator("#messages")).to_contain_text("compared now")
    assert BlindAudit.objects.get().ended and BlindResult.objects.filter(passed=False).get().criterion == "chain"
    assert audit.results.count() == 13 and visitor.unexpected_errors() == []


def test_core_decides_where_two_disagree_on_a_narrow_dark_screen(team: Team, visit: Any) -> None:
    locked_item(team)
    [audit] = second.draw_residual_sample(team.benchmark, 1, seed=1, actor=team.core)
    audit_blind(audit, team.aud, "unique")
    visitor = visit(team.core, width=400, dark=True)
    page = visitor.open("/b/bench/audit/agreement/")
    assert visitor.axe() == []
    row = page.locator(f"#a-{audit.pk}-unique")
    row.get_by_text("Decide").first.click()
    row.locator(".wb-rate label").nth(3).click()
    row.locator(".wb-pf label").first.click()
    row.get_by_role("button", name="Decide").click()
    expect(page.locator(f"#a-{audit.pk}-unique")).to_contain_text("decided: passes")
    assert visitor.axe() == [] and visitor.unexpected_errors() == []


def test_a_fault_is_flagged_from_the_item_and_core_unlocks_it(team: Team, visit: Any) -> None:
    item = locked_item(team)
    visitor = visit(team.ann2)
    page = visitor.open(f"/b/bench/items/{item.number}/")
    page.get_by_role("link", name="Flag a fault").click()
    assert visitor.axe() == []
    page.get_by_label("a step", exact=True).check()
    page.get_by_label("Which step or source").select_option("c3")
    page.get_by_label("Grounds").fill("The page says 1890.")
    page.get_by_role("button", name="Flag it").click()
    expect(page.locator("#messages")).to_contain_text("The core team was told")
    assert visitor.axe() == []
    page.get_by_role("link", name="Open the item").click()
    expect(page.locator("#h-against")).to_have_text("A fault was seen in this item")
    assert visitor.axe() == []
    core = visit(team.core)
    page = core.open("/b/bench/errata/")
    assert core.axe() == []
    page.get_by_role("link", name="The page says 1890.").click()
    page.get_by_label("To be revised").check()
    page.get_by_role("textbox", name="Reason").fill("Step 3 is wrong")
    page.get_by_label("Unlock the item now").check()
    assert core.axe() == []
    page.get_by_role("button", name="Decide").click()
    expect(page.locator("#h-decided")).to_be_visible()
    assert fresh(item).state == "returned" and Errata.objects.get().status == "revised"
    assert visitor.unexpected_errors() == [] and core.unexpected_errors() == []
