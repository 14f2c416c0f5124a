"""The audit in a real browser: keys rate, pass and tick; what was typed elsewhere stays; axe finds nothing."""

import re
from typing import Any

import pytest
from playwright.sync_api import Page, expect

from annotation.models import Item
from annotation.states import State
from audit import actions, release_actions
from audit.evidence import elements_to_tick
from audit.workflow import PHASES, Move
from tests.audit.judging import REVIEWERS, answer, answer_phase, bring_to, finish, fresh, open_links, submit, tick_all
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
    # the rest by keys alone
    page.evaluate("document.activeElement.blur()")
    page.keyboard.press("j")
    expect(page.locator("#k-minimal")).to_have_class(re.compile("is-now"))
    page.keyboard.press("k")
    for code in ("path", "minimal", "support", "unique", "public"):
        expect(page.locator(f"#k-{code}")).to_have_class(re.compile("is-now"))
        page.keyboard.press("4")
        page.keyboard.press("p")
        page.keyboard.press("Control+Enter")
        expect(page.locator(f"#k-{code}")).to_contain_text("passed 4/5")
    page.get_by_role("button", name="Pass to phase 3").click()
    expect(page.locator("#messages")).to_contain_text("#1 is now: multimodal audit.")
    assert fresh(secondary).state == State.MULTIMODAL_AUDIT
    assert visitor.unexpected_errors() == []


def test_every_phase_is_passed_by_keys_and_tells_what_others_do(team: Team, visit: Any) -> None:
    item = submit(team.item())
    visitors = {"core": visit(team.core), "aud": visit(team.aud)}
    for phase in PHASES:
        who = REVIEWERS[phase.number]
        page = visitors[who].open(address(item))
        page.evaluate("htmx.trigger('#audit-news', 'look')")
        for criterion in phase.criteria:
            if criterion.ticks:
                tick_all(item, getattr(team, who), criterion.code)
            if criterion.code == "urls":
                open_links(item, team.core)
            expect(page.locator(f"#k-{criterion.code}")).to_have_class("wb-crit is-now")
            for key in ("5", "p", "Control+Enter"):
                page.keyboard.press(key)
            expect(page.locator(f"#k-{criterion.code}")).to_contain_text("passed 5/5")
        expect(page.locator("#audit-news")).to_be_empty()
        page.get_by_role("button", name="Pass", exact=False).last.click()
        expect(page.locator("#messages")).to_contain_text("is now")
    page = visitors["aud"].open(address(item))
    assert actions.lock_item(fresh(item), item.document_hash, actor=team.core).state == State.LOCKED
    page.evaluate("htmx.trigger('#audit-news', 'look')")
    expect(page.locator("#audit-news")).to_contain_text("bench-core moved this item")
    assert visitors["core"].unexpected_errors() == visitors["aud"].unexpected_errors() == []


def test_return_with_points_is_answered_by_the_author_and_judged_by_the_auditor(
    team: Team, secondary: Item, visit: Any
) -> None:
    answer(secondary, team.aud, "minimal", passed=False, comment="Steps 6 and 7 say the same")
    auditor = visit(team.aud)
    page = auditor.open(address(secondary))
    page.locator("summary", has_text="Return").click()
    expect(page.get_by_label("Point 1", exact=True)).to_have_value("Steps 6 and 7 say the same")
    expect(page.get_by_label("Where, point 1")).to_have_value("checklist")
    page.get_by_role("button", name="Another point").click()
    page.keyboard.type("Step 3 names no year")
    page.get_by_label("Where, point 3").select_option("c3")
    page.get_by_role("button", name="Return").click()
    expect(page.locator("#messages")).to_contain_text("is now: returned")

    author = visit(team.ann)
    page = author.open(f"/b/{secondary.benchmark.slug}/items/{secondary.number}/")
    expect(page.locator("#points")).to_contain_text("2 things to mend")
    page.get_by_label("Answer to point 1").fill("6 names the bridge, 7 its year")
    page.locator("#points li").nth(0).get_by_role("button", name="Dispute").click()
    expect(page.locator("#points")).to_contain_text("1 of 2 answered")
    page.get_by_role("button", name="Submit for audit").click()
    expect(page.locator("[role=alert]:visible")).to_contain_text("Step 3 names no year")
    page.locator("#points li").nth(1).get_by_role("button", name="Mended").click()
    expect(page.locator("#points")).to_contain_text("2 of 2 answered")
    expect(page.locator("#points")).to_contain_text("Nothing changed there since the return.")
    assert author.axe() == []
    page.get_by_role("button", name="Submit for audit").click()
    expect(page.locator("#messages")).to_contain_text("is now: secondary audit")

    page = auditor.open(address(secondary))
    for number in (0, 1):
        page.locator("#points li").nth(number).get_by_role("button", name="Accept").click()
        expect(page.locator("#points")).to_contain_text(f"{number + 1} of 2 accepted")
    assert auditor.axe() == []
    assert auditor.unexpected_errors() == author.unexpected_errors() == []


def test_candidate_holds_up_uniqueness_and_unsent_text_comes_back(team: Team, secondary: Item, visit: Any) -> None:
    visitor = visit(team.aud)
    page = visitor.open(address(secondary))
    page.get_by_label("Candidate answer", exact=True).fill("Forth Bridge")
    page.get_by_label("Why it might fit").fill("Crosses a firth as well")
    page.keyboard.press("Control+Enter")
    expect(page.locator("#candidates")).to_contain_text("not ruled out")
    rate(page, "unique")
    expect(page.locator("#k-unique [role=alert]")).to_contain_text("Still open: Forth Bridge")
    page.locator("#k-minimal h3").click()
    page.locator("#k-minimal label").nth(1).click()
    with page.expect_response(lambda reply: reply.url.endswith("/audit/draft/")):
        page.locator("#k-minimal textarea").fill("Half a thought")
    page.once("dialog", lambda dialog: dialog.accept())
    page.evaluate("localStorage.clear()")  # as another browser would find it
    page = visitor.page = visitor.new_page()
    visitor.open(address(secondary))
    expect(page.locator("#k-minimal textarea")).to_have_value("Half a thought")
    expect(page.locator("#k-minimal [name=rating]").nth(1)).to_be_checked()
    expect(page.locator("#review-kept")).to_be_visible()
    # the server is away: the browser keeps it
    page.route("**/audit/draft/", lambda route: route.abort())
    page.locator("#k-minimal textarea").fill("A whole thought")
    page = visitor.page = visitor.new_page()
    visitor.open(address(secondary))
    expect(page.locator("#k-minimal textarea")).to_have_value("A whole thought")
    assert visitor.axe() == []
    page.get_by_role("button", name="Drop it").click()
    expect(page.locator("#review-kept")).to_be_hidden()
    expect(page.locator("#k-minimal textarea")).to_have_value("")


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
    expect(page.get_by_label("Point 1", exact=True)).to_have_value("Names a private person")
    page.get_by_role("button", name="Return").click()
    assert fresh(secondary).state == State.RETURNED


@pytest.mark.parametrize(("width", "dark"), [(1280, False), (1280, True), (400, False), (400, True)])
def test_audit_pages_looked_at_by_axe_have_no_finding(team: Team, visit: Any, width: int, dark: bool) -> None:
    locked = bring_to(team, team.item(), State.LOCKED)
    waiting = {state: bring_to(team, team.item(), state) for state in (State.FACTUAL_AUDIT, State.APPROVED)}
    returned = bring_to(team, team.item(), State.MULTIMODAL_AUDIT)
    answer_phase(returned, team.aud)
    finish(returned, team.aud, Move.RETURN, "Mend the picture")
    release_actions.cut_release(team.benchmark, "v1", "First", actor=team.admin)
    visitor = visit(team.admin, width=width, dark=dark)
    base = f"/b/{team.benchmark.slug}"
    pages = [address(item) for item in (locked, returned, *waiting.values())]
    for path in [*pages, f"{base}/audit/", f"{base}/releases/", f"{base}/releases/cut/", f"{base}/releases/v1/"]:
        page = visitor.open(path)
        assert visitor.axe() == [], path
        assert page.evaluate("document.documentElement.scrollWidth") <= width, path
    assert visitor.unexpected_errors() == []
