"""Checks, comments and history beside an item."""

from typing import Any

import pytest

from annotation import actions
from annotation.document import read_document
from annotation.models import Comment, Dismissal, Item
from annotation.queries import current_findings
from annotation.states import State
from tests.annotation.pages import HTMX, PLAIN_AND_HTMX, texts, url
from tests.documents import good_data
from tests.factories import Team


def item_with_warning(team: Team) -> tuple[Item, Any]:
    data = good_data(id="warn")
    data["checklist"][9]["prerequisites"] = ["c9", "c8"]  # c8 is implied by c9
    item = team.item(read_document(data))
    return item, next(f for f in current_findings(item) if f.code == "redundant_edge")


PANELS = ["checks/", "comments/", "history/"]


@pytest.mark.parametrize("panel", PANELS)
@pytest.mark.parametrize(
    ("who", "status"), [("ann", 200), ("ann2", 200), ("aud", 200), ("admin", 200), ("stranger", 404)]
)
def test_panels_by_role(team: Team, panel: str, who: str, status: int) -> None:
    item = team.item()
    part = team.client(who).get(url(item, panel), **HTMX)
    page = team.client(who).get(url(item, panel))
    assert (part.status_code, page.status_code) == (status, status)
    if status == 200:
        assert "<!DOCTYPE" not in part.content.decode()
        assert "<!DOCTYPE" in page.content.decode()


# --- checks -------------------------------------------------------------------------------------------------------


def test_checks_say_what_is_wrong_why_and_how_to_mend(team: Team) -> None:
    item, finding = item_with_warning(team)
    words = texts(team.client("ann").get(url(item, "checks/"), **HTMX).content.decode())
    assert finding.message in words and finding.remedy in words and finding.check.why[:30] in words


def dismiss(
    team: Team, item: Item, finding: Any, who: str = "ann", reason: str = "It helps readers.", **kind: Any
) -> Any:
    fields = {"subject": finding.subject, "fingerprint": finding.fingerprint, "reason": reason}
    return team.client(who).post(url(item, "checks/dismiss/"), fields, **kind)


def test_warning_when_dismissed_shows_the_reason_and_can_be_taken_back(team: Team) -> None:
    item, finding = item_with_warning(team)
    html = dismiss(team, item, finding, **HTMX).content.decode()
    assert "bench-ann: It helps readers." in texts(html)
    assert 'id="count-checks" hx-swap-oob="true"' in html
    html = team.client("ann").post(url(item, "checks/recall/"), {"subject": finding.subject}, **HTMX).content.decode()
    assert "It helps readers." not in html
    assert not Dismissal.objects.exists()


def test_dismissal_when_its_content_changes_lapses(team: Team) -> None:
    item, finding = item_with_warning(team)
    assert dismiss(team, item, finding).status_code == 302
    item.refresh_from_db()
    content = read_document(item.document).section("checklist")
    content["checklist"][9]["prerequisites"] = ["c9", "c8", "c7"]
    item = actions.save_section(item, "checklist", content, item.section_hashes["checklist"], actor=team.ann)
    assert [f.shown_level for f in current_findings(item) if f.code == "redundant_edge"] == ["warning", "warning"]


@pytest.mark.parametrize(
    ("reason", "fields", "status", "sentence"),
    [
        ("  ", {}, 422, "Say why this warning does not apply."),
        ("ok", {"subject": "unknown"}, 409, "ran anew"),
    ],
)
def test_dismissal_when_refused_keeps_the_text(
    team: Team, reason: str, fields: dict[str, str], status: int, sentence: str
) -> None:
    item, finding = item_with_warning(team)
    data = {"subject": finding.subject, "fingerprint": finding.fingerprint, "reason": reason} | fields
    for kind in PLAIN_AND_HTMX:
        response = team.client("ann").post(url(item, "checks/dismiss/"), data, **kind)
        assert response.status_code == status
        assert sentence in response.content.decode()
    assert not Dismissal.objects.exists()


def test_error_cannot_be_dismissed(team: Team) -> None:
    item = team.item(read_document(good_data(id="err", answer="")))
    finding = next(f for f in current_findings(item) if f.level == "error")
    assert dismiss(team, item, finding).status_code == 422
    assert f'value="{finding.subject}"' not in team.client("ann").get(url(item, "checks/"), **HTMX).content.decode()


@pytest.mark.parametrize(("who", "status"), [("ann2", 403), ("core", 403), ("stranger", 404)])
def test_dismissal_by_others_is_refused(team: Team, who: str, status: int) -> None:
    item, finding = item_with_warning(team)
    assert dismiss(team, item, finding, who=who).status_code == status
    assert team.client(who).post(url(item, "checks/recall/"), {"subject": finding.subject}).status_code == status
    assert not Dismissal.objects.exists()


# --- comments -----------------------------------------------------------------------------------------------------


def test_comment_reply_resolve_and_reopen(team: Team) -> None:
    item, client = team.item(), team.client("aud")
    fields = {"body": "Is **this** so? <script>x</script>", "anchor": "c3", "blocking": "on"}
    html = client.post(url(item, "comments/"), fields, **HTMX).content.decode()
    assert "<strong>this</strong>" in html and "<script>x" not in html
    assert "blocks locking" in html and 'href="#step-c3"' in html
    assert "data-focus" in html and "data-focus" not in client.get(url(item, "comments/"), **HTMX).content.decode()
    thread = item.comments.get()
    reply = team.client("ann").post(url(item, "comments/"), {"body": "Yes.", "parent": thread.pk})
    assert reply["Location"] == url(item) + "?panel=comments#panel"
    assert [r.body for r in thread.replies.all()] == ["Yes."]
    item.refresh_from_db()
    assert (item.open_comments, item.blocking_comments) == (1, 1)
    assert team.client("ann").post(url(item, f"comments/{thread.pk}/resolve/"), **HTMX).status_code == 403
    assert "Reopen" in client.post(url(item, f"comments/{thread.pk}/resolve/"), **HTMX).content.decode()
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
        if "parent" not in fields:
            assert fields["body"].strip() in response.content.decode()
    assert not Comment.objects.exists()


def test_comments_of_strangers_and_of_other_items_are_not_found(team: Team) -> None:
    item, other = team.item(), team.item()
    thread = actions.add_comment(other, "There", actor=team.ann)
    assert team.client("stranger").post(url(item, "comments/"), {"body": "x"}).status_code == 404
    assert team.client("ann").post(url(item, f"comments/{thread.pk}/resolve/")).status_code == 404
    assert team.client("ann").post(url(item, "comments/"), {"body": "x", "parent": thread.pk}).status_code == 422


def test_comment_when_its_element_is_removed_still_shows(team: Team) -> None:
    item = team.item()
    actions.add_comment(item, "About nothing", actor=team.aud, anchor="c99")
    assert "c99, removed since" in team.client("ann").get(url(item, "comments/"), **HTMX).content.decode()


# --- history ------------------------------------------------------------------------------------------------------


def edited(team: Team) -> Item:
    item = team.item()
    content = read_document(item.document).section("question") | {"question": "A quite different question?"}
    base = item.section_hashes["question"]
    return actions.save_section(item, "question", content, base, actor=team.ann, message="Shorter")


def test_history_lists_who_when_and_what(team: Team) -> None:
    item = edited(team)
    words = texts(team.client("aud").get(url(item, "history/"), **HTMX).content.decode())
    assert "r2 edited · Question and answer Shorter bench-ann" in words and "r1 created" in words


def test_history_when_long_comes_in_pages(team: Team) -> None:
    item = team.item()
    for n in range(60):
        item = actions.save_section(
            item, "design", {"design": f"Version {n}"}, item.section_hashes["design"], actor=team.ann
        )
    first = team.client("ann").get(url(item, "history/"), **HTMX).content.decode()
    assert first.count("<li>") == 50 and "before=12" in first
    rest = team.client("ann").get(url(item, "history/?before=12"), **HTMX).content.decode()
    assert rest.count("<li>") == 11 and "Older revisions" not in rest


@pytest.mark.parametrize("query", ["", "?from=1&to=2", "?from=x&to=y", "?from=&to="])
def test_compare_shows_the_words_that_changed(team: Team, query: str) -> None:
    item = edited(team)
    response = team.client("aud").get(url(item, f"history/compare/{query}"))
    assert response.status_code == 200
    assert "<del>" in response.content.decode() and "<ins>" in response.content.decode()


@pytest.mark.parametrize("query", ["?from=1&to=3", "?from=0&to=1", "?from=7&to=7", "?from=99999999999999999999&to=1"])
def test_compare_with_a_revision_that_is_not_there_is_not_found(team: Team, query: str) -> None:
    assert team.client("ann").get(url(edited(team), f"history/compare/{query}")).status_code == 404


def test_compare_for_strangers_is_not_found(team: Team) -> None:
    assert team.client("stranger").get(url(edited(team), "history/compare/")).status_code == 404


def test_restore_makes_the_old_document_the_newest_revision(team: Team) -> None:
    item = edited(team)
    response = team.client("ann").post(url(item, "history/restore/"), {"number": "1", "base_hash": item.document_hash})
    assert response.status_code == 302
    item.refresh_from_db()
    assert item.revision_number == 3
    assert item.document_hash == item.revisions.get(number=1).document_hash


@pytest.mark.parametrize(
    ("who", "fields", "status"),
    [
        ("ann", {"number": "1", "base_hash": "old"}, 409),
        ("ann", {"number": "77"}, 422),
        ("ann", {"number": "x"}, 422),
        ("ann", {}, 422),
        ("ann2", {"number": "1"}, 403),
        ("stranger", {"number": "1"}, 404),
    ],
)
def test_restore_when_refused_changes_nothing(team: Team, who: str, fields: dict[str, str], status: int) -> None:
    item = edited(team)
    data = {"base_hash": item.document_hash} | fields
    assert team.client(who).post(url(item, "history/restore/"), data).status_code == status
    item.refresh_from_db()
    assert item.revision_number == 2


def test_restore_of_a_locked_item_is_refused(team: Team) -> None:
    item = edited(team)
    Item.objects.filter(pk=item.pk).update(state=State.APPROVED.value)
    data = {"number": "1", "base_hash": item.document_hash}
    assert team.client("ann").post(url(item, "history/restore/"), data).status_code == 403
    assert "Restore" not in team.client("ann").get(url(item, "history/compare/")).content.decode()
