"""Two people talk about an item in a real browser: mention, reply, resolve; an edit suggested, accepted, declined."""

from typing import Any

import pytest
from playwright.sync_api import expect

from annotation.models import Item, Suggestion
from tests.factories import Team


@pytest.fixture
def team(transactional_db: Any) -> Team:
    from tests.factories import make_team

    return make_team()


def address(item: Item) -> str:
    return f"/b/{item.benchmark.slug}/items/{item.number}/"


def test_two_people_talk_and_mend_a_text_by_keyboard(team: Team, visit: Any) -> None:
    item = team.item()
    auditor = visit(team.aud)
    page = auditor.open(address(item))

    # c opens the box at the step that has the focus; @ offers members; nothing acts while an input method composes
    page.focus("#step-c3")
    page.keyboard.press("c")
    expect(page.locator("#comment-anchor")).to_have_value("c3")
    expect(page.locator("#comments textarea[name=body]").first).to_be_focused()
    page.keyboard.type("Iron, @bench-an")
    expect(page.locator("#people-list li")).to_have_count(2)
    page.keyboard.press("ArrowDown")
    page.keyboard.press("ArrowUp")
    box = page.locator("#comments form[data-keep=new] textarea")
    box.evaluate("e => e.dispatchEvent(new KeyboardEvent('keydown', {key: 'Enter', bubbles: true, isComposing: true}))")
    expect(box).to_have_value("Iron, @bench-an")
    page.keyboard.press("Enter")
    expect(box).to_have_value("Iron, @bench-ann ")
    page.keyboard.type("?")

    # what is not sent is kept, also in another panel and after a reload
    page.click("[data-panel-tabs] >> text=History")
    page.click("[data-panel-tabs] >> text=Comments")
    expect(box).to_have_value("Iron, @bench-ann ?")
    page.locator("#comments details[data-preview] summary").first.click()
    expect(page.locator("#preview-new .wb-mention")).to_have_text("@bench-ann")
    page.select_option("#comment-anchor", "c3")
    box.focus()
    page.keyboard.press("Control+Enter")
    expect(page.locator(".wb-thread")).to_contain_text("Step 3")
    expect(box).to_have_value("")
    expect(page.locator("#step-c3 [data-talk] .wb-count")).to_have_text("1")
    assert auditor.axe() == []

    # the pencil of a step suggests an edit
    page.focus("#step-c3 [data-suggest]")
    page.keyboard.press("Enter")
    text = page.locator("#comments textarea[name=after]")
    expect(text).to_be_focused()
    expect(text).to_have_value("Baker also designed the cylinder ship Cleopatra.")
    assert auditor.axe() == []
    text.fill("Baker also designed the iron cylinder ship Cleopatra.")
    page.keyboard.press("Control+Enter")
    expect(page.locator(".wb-suggestion ins")).to_have_text("iron ")
    expect(page.locator("#step-c3 [data-talk] .wb-count")).to_have_text("2")

    # the author sees what is addressed to them, answers, and accepts
    author = visit(team.ann)
    page = author.open("/")
    expect(page.locator(".wb-bell .wb-count")).to_have_text("2")
    page.click("#work-addressed >> xpath=ancestor::section >> text=mentioned you")
    expect(page.locator(".wb-thread .wb-mention")).to_have_text("@bench-ann")
    thread = page.locator("article.wb-thread:not(.wb-suggestion)")
    thread.locator("summary", has_text="Reply").focus()
    page.keyboard.press("Enter")
    thread.locator("form[data-keep^=reply] textarea").fill("Yes, iron.")
    page.keyboard.press("Control+Enter")
    expect(page.locator(".wb-reply")).to_contain_text("Yes, iron.")
    page.locator(".wb-suggestion button", has_text="Accept").focus()
    page.keyboard.press("Enter")
    expect(page.locator("#step-c3")).to_contain_text("the iron cylinder ship")
    expect(page.locator("#count-history")).to_have_text("2")
    page.locator("article.wb-thread button", has_text="Resolve").focus()
    page.keyboard.press("Enter")
    expect(page.locator("#count-comments")).to_have_text("0")
    expect(page.locator("#step-c3 .wb-talk.has-talk")).to_have_count(0)
    assert author.axe() == []
    page.reload()
    expect(page.locator(".wb-bell .wb-count")).to_have_count(0)
    assert Item.objects.get().revisions.get(number=2).author == team.ann
    assert auditor.unexpected_errors() == author.unexpected_errors() == []


def test_an_edit_is_suggested_on_the_audit_page_and_declined_with_a_reason(team: Team, visit: Any) -> None:
    from audit import actions as audit

    item = team.item()
    audit.submit_item(item, item.document_hash, actor=team.ann)
    auditor = visit(team.aud)
    page = auditor.open(f"{address(item)}audit/")
    expect(page.locator("#comments")).to_be_visible()
    page.click("#talk .wb-sec-h [data-suggest]")
    text = page.locator("#comments textarea[name=after]")
    expect(text).to_be_focused()  # it is, once the form has come to life
    page.select_option("#suggest-path", "c3.conclusion")
    expect(text).to_have_value("Baker also designed the cylinder ship Cleopatra.")
    text.fill("Baker designed it.")
    page.keyboard.press("Control+Enter")
    expect(page.locator(".wb-suggestion del").first).to_be_visible()
    assert auditor.axe() == []

    core = visit(team.core, width=400)
    page = core.open(f"{address(item)}?panel=comments")
    page.locator(".wb-suggestion summary", has_text="Decline").focus()
    page.keyboard.press("Enter")
    page.fill(".wb-suggestion textarea[name=reason]", "It loses the ship.")
    page.locator(".wb-suggestion form[data-keep^=decline] button").focus()
    page.keyboard.press("Enter")
    expect(page.locator(".wb-suggestion")).to_have_count(0)
    page.click(".wb-talkshow >> text=Resolved")
    expect(page.locator(".wb-suggestion")).to_contain_text("It loses the ship.")
    assert core.axe() == []
    assert Suggestion.objects.get().status == "declined"
    for where in ("/inbox/", "/my-settings/"):
        auditor.open(where)
        assert auditor.axe() == []
    assert auditor.unexpected_errors() == core.unexpected_errors() == []
