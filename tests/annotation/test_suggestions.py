"""Suggested edits: who makes them, who decides, what becomes of the text, and what happens when it moved on."""

from typing import Any

import pytest

from annotation import actions
from annotation.document import read_document
from annotation.models import Item, ItemEvent, Notice, Revision, Suggestion
from annotation.permissions import is_author_or_coeditor
from annotation.states import State
from annotation.suggestion_actions import accept_suggestion, decline_suggestion, suggest_edit, withdraw_suggestion
from audit.permissions import may_review
from lhdr_site.shared.errors import Conflict, DomainError, Invalid, NotAllowed
from tests.annotation.pages import HTMX, PLAIN_AND_HTMX, texts, url
from tests.factories import Team

PATH = "c3.conclusion"
BEFORE = "Baker also designed the cylinder ship Cleopatra."
AFTER = "Baker also designed the iron cylinder ship Cleopatra."


def suggested(team: Team, item: Item | None = None, after: str = AFTER, who: str = "aud") -> Suggestion:
    return suggest_edit(item or team.item(), PATH, after, actor=getattr(team, who), note="Of what it was made")


def conclusion(item: Item) -> str:
    item.refresh_from_db()
    return str(item.document["checklist"][2]["conclusion"])


def edit(team: Team, item: Item, text: str) -> Item:
    item.refresh_from_db()
    content = read_document(item.document).section("checklist")
    content["checklist"][2]["conclusion"] = text
    return actions.save_section(item, "checklist", content, item.section_hashes["checklist"], actor=team.ann)


# --- making -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("who", ["ann", "ann2", "aud", "core", "admin"])
def test_every_member_suggests_and_the_author_is_told(team: Team, who: str) -> None:
    suggestion = suggested(team, who=who)
    assert (suggestion.before, suggestion.after, suggestion.status) == (BEFORE, AFTER, "open")
    told = Notice.objects.filter(user=team.ann, kind=Notice.Kind.SUGGESTION).count()
    assert told == (0 if who == "ann" else 1)
    assert ItemEvent.objects.filter(kind="suggestion.made", data__path=PATH).count() == 1
    assert conclusion(suggestion.item) == BEFORE


def test_strangers_do_not_suggest(team: Team) -> None:
    item = team.item()
    with pytest.raises(NotAllowed):
        suggested(team, item, who="stranger")
    data = {"path": PATH, "after": AFTER}
    assert team.client("stranger").post(url(item, "suggestions/"), data).status_code == 404


@pytest.mark.parametrize("state", State)
def test_suggesting_follows_the_state(team: Team, state: State) -> None:
    item = team.item()
    Item.objects.filter(pk=item.pk).update(state=state.value)
    if state in (State.LOCKED, State.APPROVED, State.REJECTED):
        with pytest.raises(NotAllowed, match=r"locked|read-only"):
            suggested(team, item)
        html = texts(team.client("aud").get(url(item, f"comments/?suggest={PATH}"), **HTMX).content.decode())
        assert "This item is" in html and "Whoever may edit" not in html
    else:
        assert suggested(team, item).pk


@pytest.mark.parametrize(
    ("path", "after", "code"),
    [
        ("c99.conclusion", "x", "unknown_path"),
        ("c3", "x", "unknown_path"),
        ("c3.sources", "x", "unknown_path"),
        ("", "x", "unknown_path"),
        ("x" * 5000, "x", "unknown_path"),
        (PATH, BEFORE, "same_text"),
        (PATH, "x" * 60_000, "long_text"),
        (PATH, "a\x00b", "invalid"),
        (PATH, "a\ud800b", "invalid"),
    ],
)
def test_a_suggestion_that_cannot_be_is_refused(team: Team, path: str, after: str, code: str) -> None:
    with pytest.raises(Invalid) as refused:
        suggest_edit(team.item(), path, after, actor=team.aud)
    assert refused.value.code == code
    assert not Suggestion.objects.exists() and not Notice.objects.exists()


def test_a_suggestion_for_a_text_that_changed_shows_the_present_one_and_keeps_the_typed(team: Team) -> None:
    item = team.item()
    edit(team, item, "Baker designed a ship.")
    data = {"path": PATH, "before": BEFORE, "after": AFTER, "suggest": "c3"}
    for kind in PLAIN_AND_HTMX:
        reply = team.client("aud").post(url(item, "suggestions/"), data, **kind)
        html = reply.content.decode()
        assert reply.status_code == 409 and AFTER in html
        assert '<input type="hidden" name="before" value="Baker designed a ship.">' in html
    assert not Suggestion.objects.exists()


# --- accepting ----------------------------------------------------------------------------------------------------


def test_accepting_makes_a_revision_of_the_acceptor_that_names_the_suggester(team: Team) -> None:
    suggestion = suggested(team)
    item = suggestion.item
    accept_suggestion(suggestion, actor=team.ann)
    assert conclusion(item) == AFTER
    revision = Revision.objects.get(item=item, number=2)
    assert (revision.author, revision.section) == (team.ann, "checklist")
    assert revision.message == "Suggested by bench-aud: Of what it was made"
    suggestion.refresh_from_db()
    assert (suggestion.status, suggestion.decided_by, suggestion.revision_number) == ("accepted", team.ann, 2)
    [notice] = Notice.objects.filter(user=team.aud)
    assert (notice.kind, notice.about) == (Notice.Kind.DECISION, "accepted")
    assert not Notice.objects.filter(user=team.ann, done=None).exists()


def test_the_suggester_may_audit_the_item_afterwards(team: Team) -> None:
    suggestion = suggested(team)
    item = accept_suggestion(suggestion, actor=team.ann)
    assert not is_author_or_coeditor(team.aud, item)
    Item.objects.filter(pk=item.pk).update(state=State.SECONDARY_AUDIT.value)
    item.refresh_from_db()
    from audit.workflow import phase_of

    assert may_review(team.aud, item, phase=phase_of(State.SECONDARY_AUDIT))


@pytest.mark.parametrize(
    ("state", "who", "allowed"),
    [
        (State.DRAFT, "ann", True),
        (State.DRAFT, "ann2", False),
        (State.DRAFT, "aud", False),
        (State.DRAFT, "core", False),
        (State.RETURNED, "ann", True),
        (State.SECONDARY_AUDIT, "ann", False),
        (State.SECONDARY_AUDIT, "aud", False),
        (State.SECONDARY_AUDIT, "core", True),
        (State.LOCKED, "core", False),
    ],
)
def test_whoever_may_edit_now_decides(team: Team, state: State, who: str, allowed: bool) -> None:
    suggestion = suggested(team, who="ann2")
    item = suggestion.item
    Item.objects.filter(pk=item.pk).update(state=state.value)
    address = url(item, f"suggestions/{suggestion.pk}/")
    assert team.client("stranger").post(address, {"decision": "accept"}).status_code == 404
    reply = team.client(who).post(address, {"decision": "decline", "reason": "No"}, **HTMX)
    assert reply.status_code == (200 if allowed else 403)
    html = team.client(who).get(url(item, "comments/"), **HTMX).content.decode()
    assert ("Accept" in texts(html)) is False  # decided, or not theirs
    suggestion.refresh_from_db()
    assert (suggestion.status == "declined") is allowed


def test_an_edit_elsewhere_in_the_text_is_merged_by_words(team: Team) -> None:
    suggestion = suggested(team)
    edit(team, suggestion.item, "Benjamin Baker also designed the cylinder ship Cleopatra.")
    accept_suggestion(suggestion, actor=team.ann)
    assert conclusion(suggestion.item) == "Benjamin Baker also designed the iron cylinder ship Cleopatra."


@pytest.mark.parametrize("kind", PLAIN_AND_HTMX)
def test_an_edit_of_the_same_words_is_a_conflict_until_one_lets_it_replace_them(team: Team, kind: Any) -> None:
    suggestion = suggested(team)
    item = suggestion.item
    edit(team, item, "Baker also designed the steel cylinder ship Cleopatra.")
    client, address = team.client("ann"), url(item, f"suggestions/{suggestion.pk}/")
    reply = client.post(address, {"decision": "accept", "suggestion": suggestion.pk}, **kind)
    assert reply.status_code == 409 and "Take the suggested text" in reply.content.decode()
    assert "steel" in conclusion(item)
    over = {"decision": "accept", "over": "Another text that nobody saw"}
    assert client.post(address, over, **kind).status_code == 409
    over["over"] = conclusion(item)
    assert client.post(address, over, **kind).status_code in (200, 302)
    assert conclusion(item) == AFTER


def test_a_suggestion_whose_text_stands_already_makes_no_revision(team: Team) -> None:
    suggestion = suggested(team)
    edit(team, suggestion.item, AFTER)
    accept_suggestion(suggestion, actor=team.ann)
    suggestion.refresh_from_db()
    assert (suggestion.status, suggestion.revision_number) == ("accepted", None)
    assert Revision.objects.filter(item=suggestion.item).count() == 2


def test_a_suggestion_for_what_was_removed_says_so(team: Team) -> None:
    item = team.item()
    suggestion = suggest_edit(item, "rivals.1.answer", "1587", actor=team.aud)
    content = read_document(item.document).section("question") | {"rivals": []}
    actions.save_section(item, "question", content, item.section_hashes["question"], actor=team.ann)
    with pytest.raises(Conflict, match="not in the item any more"):
        accept_suggestion(suggestion, actor=team.ann)
    html = texts(team.client("ann").get(url(item, "comments/"), **HTMX).content.decode())
    assert "What it is for is not in the item any more." in html


def test_only_one_of_two_decisions_holds(team: Team) -> None:
    suggestion = suggested(team)
    stale = Suggestion.objects.get(pk=suggestion.pk)
    accept_suggestion(suggestion, actor=team.ann)
    for again in (
        lambda: accept_suggestion(stale, actor=team.ann),
        lambda: decline_suggestion(stale, "No", actor=team.ann),
        lambda: withdraw_suggestion(stale, actor=team.aud),
    ):
        with pytest.raises(Conflict) as refused:
            again()
        assert refused.value.code == "decided"
    assert Revision.objects.filter(item=suggestion.item).count() == 2


def test_several_suggestions_for_one_text_are_merged_one_after_the_other(team: Team) -> None:
    item = team.item()
    first, second = suggested(team, item), suggested(team, item, "Baker also designed the cylinder vessel Cleopatra.")
    accept_suggestion(first, actor=team.ann)
    accept_suggestion(second, actor=team.ann)
    assert conclusion(item) == "Baker also designed the iron cylinder vessel Cleopatra."


@pytest.mark.django_db(transaction=True)
def test_two_who_accept_at_once_make_one_revision(transactional_db: Any) -> None:
    from concurrent.futures import ThreadPoolExecutor

    from django.db import connection

    from tests.factories import make_team

    team = make_team()
    suggestion = suggested(team)

    def accept(_n: int) -> str:
        try:
            accept_suggestion(Suggestion.objects.get(pk=suggestion.pk), actor=team.ann)
        except DomainError as error:
            return error.code
        finally:
            connection.close()
        return "accepted"

    with ThreadPoolExecutor(4) as pool:
        outcomes = sorted(pool.map(accept, range(4)))
    assert outcomes == ["accepted", "decided", "decided", "decided"]
    assert Revision.objects.filter(item=suggestion.item).count() == 2


# --- declining and withdrawing ------------------------------------------------------------------------------------


def test_declining_needs_a_reason_which_the_suggester_reads(team: Team) -> None:
    suggestion = suggested(team)
    with pytest.raises(Invalid):
        decline_suggestion(suggestion, "  ", actor=team.ann)
    decline_suggestion(suggestion, "It was wood, too.", actor=team.ann)
    [notice] = Notice.objects.filter(user=team.aud)
    assert (notice.about, notice.text) == ("declined", "It was wood, too.")
    html = texts(team.client("aud").get(url(suggestion.item, "comments/?show=resolved"), **HTMX).content.decode())
    assert "Declined by bench-ann" in html and "It was wood, too." in html
    assert conclusion(suggestion.item) == BEFORE


@pytest.mark.parametrize(("who", "status"), [("aud", 302), ("ann", 403), ("core", 403), ("stranger", 404)])
def test_only_the_suggester_withdraws_and_in_every_state(team: Team, who: str, status: int) -> None:
    suggestion = suggested(team)
    Item.objects.filter(pk=suggestion.item.pk).update(state=State.APPROVED.value)
    reply = team.client(who).post(url(suggestion.item, f"suggestions/{suggestion.pk}/"), {"decision": "withdraw"})
    assert reply.status_code == status
    suggestion.refresh_from_db()
    assert suggestion.status == ("withdrawn" if status == 302 else "open")


@pytest.mark.parametrize("data", [{}, {"decision": "bless"}, {"decision": "decline"}])
def test_a_decision_that_is_none_changes_nothing(team: Team, data: dict[str, str]) -> None:
    suggestion = suggested(team)
    reply = team.client("ann").post(url(suggestion.item, f"suggestions/{suggestion.pk}/"), data)
    assert reply.status_code == 422
    assert Suggestion.objects.get().status == "open"
    other = team.item()
    assert team.client("ann").post(url(other, f"suggestions/{suggestion.pk}/"), data).status_code == 404


# --- pages --------------------------------------------------------------------------------------------------------


def test_a_suggestion_is_made_on_the_page_without_script(team: Team) -> None:
    item, client = team.item(), team.client("aud")
    page = client.get(url(item, "?panel=comments&suggest=c3&path=c3.why_needed")).content.decode()
    assert '<option value="c3.why_needed" selected>' in page
    assert "The next conclusion starts from it.</textarea>" in page
    data = {"path": PATH, "before": BEFORE, "after": AFTER, "note": "<b>why</b>"}
    reply = client.post(url(item, "suggestions/"), data)
    assert reply["Location"].startswith(url(item) + "?panel=comments")
    html = team.client("ann").get(reply["Location"].split("#")[0]).content.decode()
    assert "<ins>iron </ins>" in html and "&lt;b&gt;why&lt;/b&gt;" in html
    team.client("ann").post(url(item, f"suggestions/{Suggestion.objects.get().pk}/"), {"decision": "accept"})
    assert conclusion(item) == AFTER


def test_accepting_beside_the_item_renews_its_section(team: Team) -> None:
    suggestion = suggested(team)
    address = url(suggestion.item, f"suggestions/{suggestion.pk}/")
    html = team.client("ann").post(address, {"decision": "accept"}, **HTMX).content.decode()
    assert '<section class="wb-card" id="checklist"' in html and AFTER in html
    assert 'id="count-history" hx-swap-oob="true"' in html


def test_audit_page_shows_the_panel_and_is_read_anew_after_an_accepted_edit(team: Team) -> None:
    suggestion = suggested(team)
    item = suggestion.item
    Item.objects.filter(pk=item.pk).update(state=State.SECONDARY_AUDIT.value)
    page = team.client("aud").get(url(item, "audit/")).content.decode()
    assert f'hx-get="{url(item, "comments/")}?on=audit"' in page and "Suggest an edit" in page
    data = {"decision": "accept", "on": "audit"}
    reply = team.client("core").post(url(item, f"suggestions/{suggestion.pk}/"), data, **HTMX)
    assert reply["HX-Refresh"] == "true" and "hx-swap-oob" not in reply.content.decode()


# --- API ----------------------------------------------------------------------------------------------------------


def test_api_suggestions_from_made_to_accepted(team: Team) -> None:
    item = team.item()
    address = f"/api/benchmarks/bench/items/{item.number}/suggestions/"
    made = team.client("aud").post(address, {"path": PATH, "after": AFTER, "before": BEFORE}, "application/json")
    assert made.status_code == 201 and made.json()["status"] == "open"
    one = f"{address}{made.json()['id']}/"
    assert team.client("ann2").post(one, {"decision": "accept"}, "application/json").status_code == 403
    assert team.client("ann").post(one, {"decision": "accept"}, "application/json").json()["revision"] == 2
    assert team.client("ann").post(one, {"decision": "accept"}, "application/json").status_code == 409
    assert [row["status"] for row in team.client("ann").get(address).json()] == ["accepted"]


@pytest.mark.parametrize(
    ("who", "body", "status"),
    [
        ("aud", {}, 422),
        ("aud", {"path": PATH}, 422),
        ("aud", {"path": "nowhere", "after": "x"}, 422),
        ("aud", {"path": PATH, "after": "x", "before": "another"}, 409),
        ("aud", {"path": PATH, "after": "a\u0000b"}, 422),
        ("aud", [], 422),
        ("stranger", {"path": PATH, "after": "x"}, 404),
    ],
)
def test_api_suggestion_when_refused_writes_nothing(team: Team, who: str, body: Any, status: int) -> None:
    item = team.item()
    address = f"/api/benchmarks/bench/items/{item.number}/suggestions/"
    assert team.client(who).post(address, body, "application/json").status_code == status
    assert not Suggestion.objects.exists()
