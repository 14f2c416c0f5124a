"""Threads about an item: written, edited, deleted, resolved, filtered; by page, by htmx and by the API."""

from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from annotation import actions, comment_actions
from annotation.document import read_document
from annotation.models import Comment, Item, ItemEvent
from lhdr_site.shared.errors import DomainError
from tests.annotation.pages import HTMX, PLAIN_AND_HTMX, texts, url
from tests.factories import Team


def panel(team: Team, item: Item, who: str = "ann", query: str = "") -> str:
    return texts(team.client(who).get(url(item, f"comments/{query}"), **HTMX).content.decode())


def test_comment_reply_resolve_and_reopen(team: Team) -> None:
    item, client = team.item(), team.client("aud")
    fields = {"body": "Is **this** so? <script>x</script>", "anchor": "c3", "blocking": "on"}
    html = client.post(url(item, "comments/"), fields, **HTMX).content.decode()
    assert "<strong>this</strong>" in html and "<script>x" not in html
    assert "blocks locking" in html and 'href="#step-c3"' in html
    assert "data-focus" in html and "data-focus" not in client.get(url(item, "comments/"), **HTMX).content.decode()
    thread = item.comments.get()
    reply = team.client("ann").post(url(item, "comments/"), {"body": "Yes.", "parent": thread.pk})
    assert reply["Location"] == url(item) + f"?panel=comments#comment-{thread.replies.get().pk}"
    assert [r.body for r in thread.replies.all()] == ["Yes."]
    item.refresh_from_db()
    assert (item.open_comments, item.blocking_comments) == (1, 1)
    assert team.client("ann").post(url(item, f"comments/{thread.pk}/resolve/"), **HTMX).status_code == 403
    assert (
        "Reopen" in client.post(url(item, f"comments/{thread.pk}/resolve/"), {"show": "all"}, **HTMX).content.decode()
    )
    assert (
        "Resolve"
        in client.post(url(item, f"comments/{thread.pk}/resolve/"), {"resolved": "no"}, **HTMX).content.decode()
    )
    item.refresh_from_db()
    assert item.open_comments == 1


@pytest.mark.parametrize(
    ("who", "fields", "status", "sentence"),
    [
        ("ann", {"body": "  "}, 422, "Write something first."),
        ("ann", {"body": "Kept words", "blocking": "on"}, 403, "auditor"),
        ("ann", {"body": "Kept words", "anchor": "c99"}, 422, "was called “c99”"),
        ("ann", {"body": "x" * 20_001}, 422, "at most 20000 characters"),
        ("ann", {"body": "Kept words", "parent": "12345"}, 422, "not here any more"),
        ("ann", {"body": "Kept words", "parent": "²"}, 422, "not here any more"),
        ("ann", {"body": "Kept words", "parent": "9" * 40}, 422, "not here any more"),
    ],
)
def test_comment_when_refused_says_why(
    team: Team, who: str, fields: dict[str, str], status: int, sentence: str
) -> None:
    item = team.item()
    for kind in PLAIN_AND_HTMX:
        response = team.client(who).post(url(item, "comments/"), fields, **kind)
        assert response.status_code == status
        assert sentence in texts(response.content.decode())
        assert fields["body"].strip() in response.content.decode()
    assert not Comment.objects.exists()


def test_comments_of_strangers_and_of_other_items_are_not_found(team: Team) -> None:
    item, other = team.item(), team.item()
    thread = comment_actions.add_comment(other, "There", actor=team.ann)
    assert team.client("stranger").post(url(item, "comments/"), {"body": "x"}).status_code == 404
    assert team.client("ann").post(url(item, f"comments/{thread.pk}/resolve/")).status_code == 404
    assert team.client("ann").post(url(item, "comments/"), {"body": "x", "parent": thread.pk}).status_code == 422


def test_comment_when_its_element_is_removed_still_shows(team: Team) -> None:
    item = team.item()
    comment_actions.add_comment(item, "About a step", actor=team.aud, anchor="c10")
    content = read_document(item.document).section("checklist")
    content["checklist"].pop()
    actions.save_section(item, "checklist", content, item.section_hashes["checklist"], actor=team.ann)
    assert "the step c10 was removed in r2" in team.client("ann").get(url(item, "comments/"), **HTMX).content.decode()


# --- anchors ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("anchor", "words"),
    [
        ("question", "Question"),
        ("c3", "Step 3 : Baker also designed the"),
        ("c3.why_needed", "Step 3, why needed"),
        ("n2", "Node n2 : Benjamin Baker"),
        ("s4.quote", "Source s4, quote"),
        ("rivals.1", "Rival 1 : 1586"),
    ],
)
def test_a_thread_says_in_words_what_it_is_about(team: Team, anchor: str, words: str) -> None:
    item = team.item()
    comment_actions.add_comment(item, "Hm.", actor=team.aud, anchor=anchor)
    assert words in panel(team, item)


def test_a_comment_may_be_about_what_was_there_once(team: Team) -> None:
    item = team.item()
    content = read_document(item.document).section("checklist")
    content["checklist"].pop()
    item = actions.save_section(item, "checklist", content, item.section_hashes["checklist"], actor=team.ann)
    comment_actions.add_comment(item, "Where did it go?", actor=team.aud, anchor="c10")
    assert "the step c10 was removed in r2" in panel(team, item)


def test_the_page_marks_what_is_talked_about(team: Team) -> None:
    item = team.item()
    comment_actions.add_comment(item, "Hm.", actor=team.aud, anchor="c3.why_needed")
    html = team.client("ann").get(url(item)).content.decode()
    assert html.count('class="wb-talk has-talk"') == 2  # the step and its section
    assert 'href="/b/bench/items/1/?panel=comments&amp;anchor=c3#panel"' in html
    assert 'href="/b/bench/items/1/?panel=comments&amp;suggest=c3#panel"' in html


def test_the_panel_opens_at_an_anchor_and_at_a_field_too(team: Team) -> None:
    item = team.item()
    for anchor in ("c3", "c3.why_needed", "checklist"):
        html = team.client("ann").get(url(item, f"comments/?anchor={anchor}"), **HTMX).content.decode()
        assert f'<option value="{anchor}" selected>' in html
    html = team.client("ann").get(url(item, "comments/?anchor=c99"), **HTMX).content.decode()
    assert "c99" not in html


# --- editing and deleting -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", PLAIN_AND_HTMX)
def test_own_comment_is_edited_with_its_history_in_the_event(team: Team, kind: Any) -> None:
    item = team.item()
    thread = comment_actions.add_comment(item, "Frist", actor=team.aud)
    client = team.client("aud")
    assert client.post(url(item, f"comments/{thread.pk}/edit/"), {"body": "First"}, **kind).status_code in (200, 302)
    thread.refresh_from_db()
    assert thread.body == "First" and thread.edited
    assert ItemEvent.objects.get(kind="comment.edited").data["before"] == "Frist"
    assert "edited" in panel(team, item)


def test_editing_mentions_whom_it_newly_names(team: Team) -> None:
    thread = comment_actions.add_comment(team.item(), "@bench-ann2", actor=team.aud)
    comment_actions.edit_comment(thread, "@bench-core", actor=team.aud)
    assert [m.user for m in thread.mentions.all()] == [team.core]
    assert {n.user for n in thread.notices.filter(kind="mention")} == {team.core}


@pytest.mark.parametrize(("who", "status"), [("ann", 403), ("core", 403), ("admin", 403), ("stranger", 404)])
@pytest.mark.parametrize("what", ["edit", "delete"])
def test_a_comment_of_somebody_else_is_left_alone(team: Team, what: str, who: str, status: int) -> None:
    item = team.item()
    thread = comment_actions.add_comment(item, "Mine", actor=team.aud)
    reply = team.client(who).post(url(item, f"comments/{thread.pk}/{what}/"), {"body": "Yours"})
    assert reply.status_code == status
    assert Comment.objects.get().body == "Mine"


def test_a_comment_without_replies_is_gone_and_one_with_them_says_so(team: Team) -> None:
    item = team.item()
    lone = comment_actions.add_comment(item, "Alone", actor=team.aud)
    thread = comment_actions.add_comment(item, "Answered @bench-core", actor=team.aud)
    reply = comment_actions.add_comment(item, "Yes", actor=team.ann, parent=thread)
    client = team.client("aud")
    for comment in (lone, thread):
        client.post(url(item, f"comments/{comment.pk}/delete/"), **HTMX)
    assert not Comment.objects.filter(pk=lone.pk).exists()
    thread.refresh_from_db()
    assert (thread.body, thread.mentions.count(), thread.notices.count()) == ("", 0, 0) and thread.deleted
    assert "deleted" in panel(team, item) and "Answered" not in panel(team, item)
    assert client.post(url(item, f"comments/{thread.pk}/edit/"), {"body": "Kept"}, **HTMX).status_code == 409
    comment_actions.delete_comment(reply, actor=team.ann)
    assert not Comment.objects.exists()
    item.refresh_from_db()
    assert item.open_comments == 0


# --- resolving, blocking, filters -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("who", "status"), [("ann", 403), ("ann2", 403), ("aud", 302), ("core", 302), ("stranger", 404)]
)
def test_blocking_is_set_and_cleared_by_auditors_and_above(team: Team, who: str, status: int) -> None:
    item = team.item()
    thread = comment_actions.add_comment(item, "Hm.", actor=team.ann)
    client = team.client(who)
    assert client.post(url(item, f"comments/{thread.pk}/block/"), {"blocking": "yes"}).status_code == status
    item.refresh_from_db()
    assert item.blocking_comments == (status == 302)
    client.post(url(item, f"comments/{thread.pk}/block/"), {"blocking": "no"})
    item.refresh_from_db()
    assert item.blocking_comments == 0


def test_a_resolved_thread_says_who_and_when(team: Team) -> None:
    item = team.item()
    thread = comment_actions.add_comment(item, "Hm.", actor=team.ann)
    comment_actions.resolve_comment(thread, actor=team.aud)
    comment_actions.resolve_comment(thread, actor=team.core)  # once is enough: the first one stands
    assert "Resolved by bench-aud" in panel(team, item, query="?show=resolved")
    assert ItemEvent.objects.filter(kind="comment.resolved").count() == 1


def test_the_list_is_narrowed(team: Team) -> None:
    item = team.item()
    comment_actions.add_comment(item, "blocker", actor=team.aud, blocking=True)
    done = comment_actions.add_comment(item, "settled", actor=team.aud)
    comment_actions.resolve_comment(done, actor=team.aud)
    comment_actions.add_comment(item, "for @bench-ann2", actor=team.aud)
    shown = {
        "open": {"blocker", "for"},
        "mine": {"for"},
        "blocking": {"blocker"},
        "resolved": {"settled"},
        "all": {"blocker", "settled", "for"},
        "nonsense": {"blocker", "for"},
    }
    for show, wanted in shown.items():
        html = team.client("ann2").get(url(item, f"comments/?show={show}"), **HTMX).content.decode()
        assert {word for word in ("blocker", "settled", "for") if f"<p>{word}" in html} == wanted, show


def test_the_panel_keeps_to_its_budget(team: Team) -> None:
    client = team.client("ann")

    def cost(item: Item) -> int:
        with CaptureQueriesContext(connection) as queries:
            assert client.get(url(item, "comments/"), **HTMX).status_code == 200
        return len(queries)

    few, many = team.item(), team.item()
    for item, count in ((few, 1), (many, 15)):
        for n in range(count):
            thread = comment_actions.add_comment(item, f"Look {n} @bench-ann2", actor=team.aud, anchor="c3")
            comment_actions.add_comment(item, "Yes", actor=team.ann, parent=thread)
    assert cost(many) == cost(few) <= 18


def test_preview_shows_chips_and_nothing_active(team: Team) -> None:
    item = team.item()
    reply = team.client("ann").post(url(item, "comments/preview/"), {"body": "**a** @bench-aud <script>x</script>"})
    html = reply.content.decode()
    assert "<strong>a</strong>" in html and "wb-mention" in html and "<script>" not in html
    assert team.client("stranger").post(url(item, "comments/preview/"), {"body": "a"}).status_code == 404


# --- API ----------------------------------------------------------------------------------------------------------


def api(item: Item, rest: str = "") -> str:
    return f"/api/benchmarks/bench/items/{item.number}/comments/{rest}"


def test_api_comments_from_first_to_resolved(team: Team) -> None:
    item, client = team.item(), team.client("aud")
    made = client.post(api(item), {"body": "Hm @bench-ann", "anchor": "c3", "blocking": True}, "application/json")
    assert made.status_code == 201 and made.json()["mentions"] == ["bench-ann"]
    pk = made.json()["id"]
    answer = team.client("ann").post(api(item), {"body": "Yes", "parent": pk}, "application/json")
    assert answer.json()["parent"] == pk and answer.json()["anchor"] == "c3"
    for change in ({"body": "Hm"}, {"blocking": False}, {"resolved": True}):
        assert client.patch(api(item, f"{pk}/"), change, "application/json").status_code == 200
    [first, second] = client.get(api(item)).json()
    assert (first["body"], first["blocking"], first["resolved_by"]) == ("Hm", False, "bench-aud")
    assert team.client("ann").delete(api(item, f"{second['id']}/")).status_code == 204


@pytest.mark.parametrize(
    ("who", "body", "status"),
    [
        ("ann", {}, 422),
        ("ann", {"body": ""}, 422),
        ("ann", {"body": "x", "anchor": "c99"}, 422),
        ("ann", {"body": "x", "blocking": True}, 403),
        ("ann", {"body": "x", "parent": 77}, 422),
        ("ann", {"body": "x", "parent": 10**30}, 422),
        ("ann", {"body": "x", "parent": -1}, 422),
        ("ann", {"body": 5, "parent": "x"}, 422),
        ("stranger", {"body": "x"}, 404),
    ],
)
def test_api_comment_when_refused_writes_nothing(team: Team, who: str, body: Any, status: int) -> None:
    item = team.item()
    assert team.client(who).post(api(item), body, "application/json").status_code == status
    assert not Comment.objects.exists()


@pytest.mark.parametrize(
    ("change", "status"), [({}, 422), ({"body": "x", "resolved": True}, 422), ({"body": "x"}, 403)]
)
def test_api_change_when_refused_writes_nothing(team: Team, change: Any, status: int) -> None:
    item = team.item()
    thread = comment_actions.add_comment(item, "Hm.", actor=team.aud)
    assert team.client("ann").patch(api(item, f"{thread.pk}/"), change, "application/json").status_code == status
    assert team.client("stranger").delete(api(item, f"{thread.pk}/")).status_code == 404
    thread.refresh_from_db()
    assert thread.body == "Hm." and thread.resolved is None


def test_a_thread_on_another_item_is_no_parent(team: Team) -> None:
    with pytest.raises(DomainError):
        other = comment_actions.add_comment(team.item(), "Hm.", actor=team.aud)
        comment_actions.add_comment(team.item(), "Yes", actor=team.ann, parent=other)
