"""Nothing typed is lost: two people on one item, closed tabs, expired log-ins, a dead server, the Back button."""

import os
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from django.conf import settings
from playwright.sync_api import Page, expect

from annotation import actions
from annotation.document import read_document
from annotation.models import Draft, Item, Presence
from annotation.states import State
from tests.browser.test_workbench import address, edit, fill, row, save, until
from tests.factories import PASSWORD, Team
from tests.flows.processes import ROOT, database_url, kill, wait_until


@pytest.fixture
def team(transactional_db: Any) -> Team:
    from tests.factories import make_team

    return make_team()


@pytest.fixture
def item(team: Team) -> Item:
    """An item of `ann` that `ann2` edits as well."""
    item = team.item()
    actions.set_coeditors(item, [team.ann2], actor=team.ann)
    return item


def change(item: Item, section: str, actor: Any, **fields: Any) -> None:
    """What somebody saves elsewhere meanwhile."""
    item = Item.objects.get(pk=item.pk)
    content = read_document(item.document).section(section) | fields
    actions.save_section(item, section, content, item.section_hashes[section], actor=actor)


def fresh(item: Item) -> Item:
    return Item.objects.get(pk=item.pk)


def chip(page: Page, section: str, state: str) -> None:
    expect(page.locator(f"#{section} [data-save-state]")).to_have_attribute("data-state", state)


def beat(page: Page) -> None:
    """Do not wait for the next heartbeat."""
    page.evaluate("document.dispatchEvent(new Event('logged-in-again'))")


# --- drafts -------------------------------------------------------------------------------------------------------


def test_text_is_kept_on_the_server_and_offered_on_another_machine(team: Team, item: Item, visit: Any) -> None:
    visitor = visit(team.ann)
    page = visitor.open(address(item))
    edit(page, "question")
    page.fill("#f-question-question", "Half a question")
    chip(page, "question", "unsaved")
    expect(page.locator("#page-save")).to_have_attribute("data-state", "unsaved")
    chip(page, "question", "draft")
    expect(page.locator("#page-save")).to_contain_text("Draft kept")
    assert fresh(item).revision_number == 1

    other = visit(team.ann)  # another browser: nothing in its storage
    elsewhere = other.open("/")
    expect(elsewhere.locator("#work-unsaved")).to_be_visible()
    elsewhere = other.open(address(item))
    expect(elsewhere.locator("#question .wb-draftnote")).to_contain_text("not saved")
    assert other.axe() == []
    edit(elsewhere, "question")  # goes on where one was
    expect(elsewhere.locator("#f-question-question")).to_have_value("Half a question")
    elsewhere.click("#question [data-cancel]")
    elsewhere.click("#question [data-dropped] button")  # dropped, and taken back
    expect(elsewhere.locator("#f-question-question")).to_have_value("Half a question")
    elsewhere.fill("#f-question-question", "The whole question?")
    save(elsewhere, "question")
    assert (fresh(item).question, Draft.objects.count()) == ("The whole question?", 0)
    elsewhere.reload()
    expect(elsewhere.locator(".wb-draftnote")).to_have_count(0)

    # nobody else sees any of it
    page.fill("#f-question-question", "Another half")
    chip(page, "question", "draft")
    theirs = visit(team.ann2).open(address(item))
    expect(theirs.locator(".wb-draftnote")).to_have_count(0)
    assert "Another half" not in theirs.content()
    assert visitor.unexpected_errors() == other.unexpected_errors() == []


def test_drafts_of_two_machines_that_differ_are_both_offered(team: Team, item: Item, visit: Any) -> None:
    visitor = visit(team.ann)
    page = visitor.open(address(item))
    edit(page, "design")
    visitor.context.route("**/draft/", lambda route: route.abort())
    page.fill("#f-design-design", "Typed where the server could not be reached")
    chip(page, "design", "offline")
    page.close()
    time.sleep(0.5)  # what the closed tab still sent comes before what the other machine sends
    there = {"base_hash": item.section_hashes["design"], "body": "design=Typed+on+the+other+machine"}
    Draft.objects.update_or_create(item=item, user=team.ann, section="design", defaults=there)
    visitor.context.unroute("**/draft/")
    page = visitor.page = visitor.new_page()
    visitor.open(address(item))
    expect(page.locator("#design .wb-draftnote")).to_have_count(2)
    page.locator("#design [data-local-draft] >> text=Go on writing").click()
    expect(page.locator("#f-design-design")).to_have_value("Typed where the server could not be reached")
    # the other one is still there to be had
    page.locator("#design [data-local-draft] >> text=Go on writing").click()
    expect(page.locator("#f-design-design")).to_have_value("Typed on the other machine")


def test_leaving_a_section_saves_it_and_so_do_idle_minutes(team: Team, item: Item, visit: Any) -> None:
    visitor = visit(team.ann)
    page = visitor.open(address(item))
    edit(page, "design")
    page.fill("#f-design-design", "Left for another section")
    edit(page, "question")
    page.wait_for_selector("#design:not(.is-editing)")
    expect(page.locator("#f-question-question")).to_be_focused()
    assert fresh(item).document["design"] == "Left for another section"
    assert fresh(item).revisions.first().message == ""

    page = visitor.open(address(item))  # clean forms: no question asked
    edit(page, "design")
    page.evaluate("document.querySelector('#workbench').dataset.idleSeconds")
    page.close()
    page = visitor.page = visitor.new_page()
    page.route("**/items/*/", lambda route: _with_idle(route))
    visitor.open(address(item))
    edit(page, "question")
    page.fill("#f-question-answer", "1588 or so")
    page.locator("[data-rows=rivals] [data-add]").click()
    page.focus("#f-question-answer")
    chip(page, "question", "saved")
    expect(page.locator("#f-question-answer")).to_be_focused()
    assert fresh(item).document["answer"] == "1588 or so"
    number = fresh(item).revision_number
    page.keyboard.type("!")
    chip(page, "question", "unsaved")
    save(page, "question")
    assert (fresh(item).revision_number, fresh(item).document["answer"][-1]) == (number + 1, "!")
    assert visitor.unexpected_errors() == []


def _with_idle(route: Any) -> None:
    reply = route.fetch()
    route.fulfill(response=reply, body=reply.text().replace('id="workbench"', 'id="workbench" data-idle-seconds="2"'))


# --- conflicts ----------------------------------------------------------------------------------------------------


def test_section_opens_while_the_one_that_changes_it_is_saved(team: Team, item: Item, visit: Any) -> None:
    """A saved checklist brings the sources along, whose form is on the way: it is the form that stays."""
    visitor = visit(team.ann)
    page = visitor.open(address(item))
    edit(page, "checklist")
    page.fill("#checklist textarea >> nth=0", "Another conclusion")
    page.click("#sources [data-edit]")
    expect(page.locator("#sources.is-editing")).to_be_visible()
    expect(page.locator("#checklist.is-editing")).to_have_count(0)
    assert fresh(item).revision_number == 2
    expect(page.locator("#sources.is-editing")).to_be_visible()
    assert visitor.unexpected_errors() == []


def test_clash_is_settled_choice_by_choice(team: Team, item: Item, visit: Any) -> None:
    visitor = visit(team.ann)
    page = visitor.open(address(item))
    edit(page, "checklist")
    steps = read_document(item.document).section("checklist")["checklist"]
    theirs = [{**s, "conclusion": f"Theirs {n}"} if n < 4 else s for n, s in enumerate(steps, 1)]
    theirs[4] = {**theirs[4], "effect": "confirms"}
    change(item, "checklist", team.ann2, checklist=theirs)
    for n in (1, 2, 3):
        fill(row(page, "checklist", n), conclusion=f"Mine {n}")
    page.keyboard.press("Control+s")
    clashes = page.locator("#checklist [data-clash]")
    expect(clashes).to_have_count(3)
    expect(page.locator("#checklist [role=alert]")).to_contain_text("bench-ann2 saved revision 2 while you wrote.")
    chip(page, "checklist", "conflict")
    expect(page.locator("#page-save")).to_have_attribute("data-state", "conflict")
    assert visitor.axe() == []
    clashes.nth(1).get_by_role("button", name="Theirs").click()
    expect(row(page, "checklist", 2).locator("textarea").first).to_have_value("Theirs 2")
    clashes.nth(2).get_by_role("button", name="Edit").click()
    page.keyboard.press("Control+a")
    page.keyboard.type("Ours 3")
    expect(clashes.nth(2).locator("[aria-pressed=true]")).to_have_count(0)
    page.get_by_role("button", name="Save this version").click()
    page.wait_for_selector("#checklist:not(.is-editing)")
    after = read_document(fresh(item).document).checklist
    assert [s.conclusion for s in after[:3]] == ["Mine 1", "Theirs 2", "Ours 3"]
    assert after[4].effect == "confirms"
    assert visitor.unexpected_errors() == []


def test_two_tabs_of_one_person_and_the_back_button_overwrite_nothing(team: Team, item: Item, visit: Any) -> None:
    visitor = visit(team.ann)
    first = visitor.open(address(item))
    edit(first, "question")
    first.fill("#f-question-question", "From the first tab?")
    chip(first, "question", "draft")
    second = visitor.new_page()
    second.goto(visitor.base + address(item))
    edit(second, "question")  # the draft of the first tab
    expect(second.locator("#f-question-question")).to_have_value("From the first tab?")
    second.fill("#f-question-question", "From the second tab?")
    save(second, "question")
    first.bring_to_front()
    first.fill("#f-question-question", "From the first tab, once more?")
    first.keyboard.press("Control+s")
    expect(first.locator("#question [role=alert]")).to_contain_text("You saved this section as revision 2")
    first.get_by_role("button", name="Take theirs").click()
    expect(first.locator("#question .wb-read")).to_contain_text("From the second tab?")
    first.click("#question [data-dropped] button")
    expect(first.locator("#f-question-question")).to_have_value("From the first tab, once more?")
    first.click("#question [data-cancel]")

    # away, changed elsewhere, and back
    edit(first, "design")
    first.goto(visitor.base + "/")
    change(item, "design", team.ann2, design="Theirs meanwhile")
    first.go_back()
    if first.locator("#design.is-editing").count() == 0:
        edit(first, "design")
    else:
        first.fill("#f-design-design", "From a page out of the cache")
        first.keyboard.press("Control+s")
        expect(first.locator("#design [role=alert]")).to_contain_text("bench-ann2 saved")
    assert fresh(item).document["design"] == "Theirs meanwhile"
    assert visitor.unexpected_errors() == []


def test_leaving_with_unsaved_text_asks_first(team: Team, item: Item, visit: Any) -> None:
    page = visit(team.ann).open(address(item))
    edit(page, "design")
    page.fill("#f-design-design", "Not saved")
    asked: list[str] = []

    def stay(dialog: Any) -> None:
        asked.append(dialog.type)
        dialog.dismiss()

    page.on("dialog", stay)
    page.evaluate("location.href = '/'")
    wait_until(lambda: bool(asked) or page.wait_for_timeout(50) is not None, 5, "asking")
    expect(page.locator("#f-design-design")).to_have_value("Not saved")
    assert asked == ["beforeunload"]


# --- two people ---------------------------------------------------------------------------------------------------


def test_two_people_see_each_other_and_what_the_other_saved(team: Team, item: Item, visit: Any) -> None:
    mine, theirs = visit(team.ann), visit(team.ann2)
    page, other = mine.open(address(item)), theirs.open(address(item))
    edit(other, "sources")
    wait_until(lambda: Presence.objects.filter(section="sources").exists() or other.wait_for_timeout(50), 5, "a beat")
    beat(page)
    expect(page.locator("#also-here")).to_contain_text("bench-ann2, in Sources")
    expect(page.locator("#sources .wb-here")).to_contain_text("bench-ann2 edits this")
    assert mine.axe() == []
    fill(row(other, "sources", 1), title="A title of theirs")
    save(other, "sources")
    edit(page, "design")
    beat(page)
    expect(page.locator("#sources .wb-changed")).to_contain_text("bench-ann2 saved Sources")
    expect(page.locator("#sources .wb-here")).to_have_count(0)
    page.click("#sources .wb-changed a")
    expect(page.locator("#sources")).to_contain_text("A title of theirs")
    expect(page.locator("#sources .wb-changed")).to_have_count(0)
    expect(page.locator("#design.is-editing")).to_have_count(1)

    # a section that one is writing is not replaced
    change(item, "design", team.ann2, design="Theirs")
    beat(page)
    expect(page.locator("#design .wb-changed")).to_contain_text("you will see both versions")
    page.fill("#f-design-design", "Mine")

    # locked in between: said, and the text stays
    Item.objects.filter(pk=item.pk).update(state=State.SUBMITTED)
    beat(page)
    expect(page.locator("#design form [data-state-now]")).to_contain_text("kept as a draft")
    expect(page.locator("#design button.btn-primary")).to_have_attribute("aria-disabled", "true")
    expect(page.locator("#f-design-design")).to_have_value("Mine")
    chip(page, "design", "draft")
    page.reload()
    page.click("#design .wb-draftnote >> text=Show it")
    expect(page.locator("#f-design-design")).to_have_value("Mine")
    other.close()
    wait_until(lambda: not Presence.objects.filter(user=team.ann2).exists() or page.wait_for_timeout(50), 5, "goodbye")
    assert mine.unexpected_errors() == theirs.unexpected_errors() == []


# --- the log-in and the server ------------------------------------------------------------------------------------


def log_in_again(page: Page, name: str, password: str = PASSWORD) -> None:
    page.fill("#again-username", name)
    page.fill("#again-password", password)
    page.click("#login-again button[type=submit]")


def test_log_in_that_ran_out_is_renewed_in_place(team: Team, item: Item, visit: Any) -> None:
    visitor = visit(team.ann)
    page = visitor.open(address(item))
    edit(page, "design")
    page.fill("#f-design-design", "Typed before the log-in ran out")
    visitor.context.clear_cookies()
    page.keyboard.press("Control+s")
    expect(page.locator("#login-again")).to_be_visible()
    assert visitor.axe() == []
    log_in_again(page, "bench-ann", "wrong")
    expect(page.locator("[data-login-problem]")).to_be_visible()
    log_in_again(page, "bench-ann")
    page.wait_for_selector("#design:not(.is-editing)")
    assert fresh(item).document["design"] == "Typed before the log-in ran out"
    assert fresh(item).revision_number == 2

    # somebody else logs in: nothing is saved as theirs before they say so
    edit(page, "design")
    page.fill("#f-design-design", "Typed by ann")
    visitor.context.clear_cookies()
    page.keyboard.press("Control+s")
    log_in_again(page, "bench-ann2")
    expect(page.locator("#design [role=alert]")).to_contain_text("You are logged in as bench-ann2 now")
    expect(page.locator("#f-design-design")).to_have_value("Typed by ann")
    assert fresh(item).revision_number == 2
    page.keyboard.press("Control+s")
    page.wait_for_selector("#design:not(.is-editing)")
    assert fresh(item).revisions.first().author == team.ann2
    assert visitor.unexpected_errors() == []


@pytest.fixture
def server(transactional_db: Any, tmp_path: Path) -> Iterator[Any]:
    """The web process as the Procfile starts it, on the test database; started and killed by the test."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    environment = {**os.environ, "DJANGO_SETTINGS_MODULE": "lhdr_site.settings", "DATABASE_URL": database_url()}
    environment |= {"LHDR_DATA": str(settings.DATA), "LHDR_SECRET_KEY": settings.SECRET_KEY}
    running: list[subprocess.Popen[bytes]] = []

    def start() -> str:
        command = [sys.executable, "-m", "granian", "--interface", "wsgi", "--host", "127.0.0.1", "--port", str(port),
                   "--blocking-threads", "4", "lhdr_site.wsgi:application"]  # fmt: skip
        with open(tmp_path / "server.log", "ab") as log:
            process = subprocess.Popen(
                command, cwd=ROOT, env=environment, stdout=log, stderr=log, start_new_session=True
            )
        running.append(process)
        wait_until(lambda: _answers(port), 20, "the server")
        return f"http://127.0.0.1:{port}"

    def stop() -> None:
        for process in running:
            kill(process)
        wait_until(lambda: not _answers(port), 5, "the end of the server")

    yield start, stop
    stop()


def _answers(port: int) -> bool:
    with socket.socket() as probe:
        probe.settimeout(0.2)
        return probe.connect_ex(("127.0.0.1", port)) == 0


def test_server_killed_between_typing_and_saving_loses_nothing(team: Team, item: Item, server: Any, visit: Any) -> None:
    start, stop = server
    visitor = visit()
    visitor.base = start()
    session = team.client("ann").cookies["sessionid"].value
    visitor.context.add_cookies([{"name": "sessionid", "value": session, "url": visitor.base}])
    page = visitor.open(address(item))
    edit(page, "question")
    page.fill("#f-question-question", "Typed before the server died?")
    stop()
    page.keyboard.press("Control+s")
    expect(page.locator("#question .wb-retry")).to_contain_text("The server cannot be reached")
    chip(page, "question", "offline")
    expect(page.locator("#page-save")).to_contain_text("Not reachable")
    page.locator("#f-question-answer").press_sequentially(" or later")  # one goes on writing
    start()
    expect(page.locator("#question [data-save-state]")).to_have_attribute("data-state", "saved", timeout=20_000)
    expect(page.locator("#f-question-answer")).to_be_focused()
    after = fresh(item)
    assert after.question == "Typed before the server died?"
    assert " or later" in after.document["answer"]
    assert after.revision_number == 2

    # the reply gets lost after the save: the retry makes no second revision
    lost: list[str] = []

    def lose(route: Any) -> None:
        if lost:
            route.continue_()
        else:
            lost.append(route.request.post_data)
            route.fetch()
            route.abort()

    page.route("**/items/*/question/", lambda r: lose(r) if r.request.method == "POST" else r.continue_())
    page.fill("#f-question-answer", "1588")
    page.keyboard.press("Control+s")
    page.wait_for_selector("#question:not(.is-editing)")
    assert len(lost) == 1
    assert (fresh(item).document["answer"], fresh(item).revision_number) == ("1588", 3)

    # the tab is closed while the server is away
    edit(page, "design")
    stop()
    page.fill("#f-design-design", "Typed into a page without a server")
    page.close()
    start()
    page = visitor.page = visitor.new_page()
    visitor.open(address(item))
    edit(page, "design")
    expect(page.locator("#f-design-design")).to_have_value("Typed into a page without a server")
    save(page, "design")
    until(page, "!Object.keys(localStorage).some(k => k.startsWith('draft:'))")
    assert [e for e in visitor.unexpected_errors() if not e.startswith("htmx:")] == []  # its notes on a dead server
