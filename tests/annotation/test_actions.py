"""Writes to items: what they write, what they refuse, and that nothing is half-saved."""

import threading
from dataclasses import replace
from typing import Any

import pytest
from django.db import connection

from annotation import actions, benchmark_actions, comment_actions, importing
from annotation.document import read_document
from annotation.models import Comment, Item, ItemEvent, Membership, Revision
from annotation.states import Role, State
from annotation.verify import item_problems
from lhdr_site.shared.errors import Conflict, Invalid, NotAllowed
from tests.documents import good_document
from tests.factories import Team, make_team


def save(item: Item, section: str, change: dict[str, Any], team: Team, **options: Any) -> Item:
    content = read_document(item.document).section(section) | change
    options.setdefault("actor", team.ann)
    return actions.save_section(item, section, content, options.pop("base", item.section_hashes[section]), **options)


def test_save_section_when_unchanged_since_writes_document_revision_and_event(team: Team) -> None:
    item = team.item()
    saved = save(item, "question", {"question": "What is it?"}, team, message="reworded")
    assert (saved.question, saved.revision_number) == ("What is it?", 2)
    revision = saved.revisions.get(number=2)
    assert (revision.section, revision.message, revision.document["question"]) == (
        "question",
        "reworded",
        "What is it?",
    )
    assert revision.document_hash == saved.document_hash == read_document(saved.document).hash
    event = ItemEvent.objects.filter(item=item).latest("pk")
    assert (event.kind, event.actor) == ("item.edited", team.ann)


def test_save_section_when_nothing_changed_writes_no_revision(team: Team) -> None:
    item = team.item()
    assert save(item, "question", {}, team).revision_number == 1
    assert item.revisions.count() == 1


def test_save_section_with_crlf_changes_no_hash(team: Team) -> None:
    item = team.item()
    text = read_document(item.document).design.replace("\n", "\r\n")
    assert save(item, "design", {"design": text}, team).document_hash == item.document_hash


def test_save_section_when_another_section_changed_succeeds(team: Team) -> None:
    item = team.item()
    save(item, "design", {"design": "other"}, team)
    assert save(item, "question", {"question": "New?"}, team).revision_number == 3


@pytest.mark.parametrize("section", ["metadata", "sources", "graph", "design"])
def test_save_section_when_saved_leaves_index_rows_that_are_those_of_the_document(section: str, team: Team) -> None:
    item = team.item()
    data = read_document(item.document).section(section)
    change: dict[str, Any] = {
        "metadata": {"operation_tags": ["symbolic"]},
        "sources": {"sources": [{**source, "url": f"{source['url']}?x=1"} for source in data.get("sources", [])]},
        "graph": {"nodes": [{**node, "entity": f"{node['entity']} II"} for node in data.get("nodes", [])]},
        "design": {"design": "other"},
    }
    assert save(item, section, change[section], team).revision_number == 2
    assert list(item_problems(Item.objects.get(pk=item.pk))) == []


def test_save_section_when_it_changed_meanwhile_raises_with_both_texts(team: Team) -> None:
    item = team.item()
    save(item, "question", {"question": "Theirs?"}, team)
    with pytest.raises(actions.SectionConflict) as caught:
        save(item, "question", {"question": "Mine?"}, team)
    assert caught.value.details["theirs"]["question"] == "Theirs?"
    assert caught.value.details["yours"]["question"] == "Mine?"
    assert Item.objects.get(pk=item.pk).question == "Theirs?"


def test_save_section_with_a_used_key_changes_nothing(team: Team) -> None:
    item = team.item()
    save(item, "question", {"question": "Once?"}, team, save_key="k1")
    again = save(item, "question", {"question": "Once?"}, team, save_key="k1")
    assert again.revision_number == 2


@pytest.mark.parametrize("who", ["aud", "core", "admin", "ann2", "stranger"])
def test_save_section_of_a_draft_by_others_is_refused(team: Team, who: str) -> None:
    item = team.item()
    with pytest.raises(NotAllowed):
        save(item, "question", {"question": "x"}, team, actor=getattr(team, who))
    assert item.revisions.count() == 1


def test_save_section_by_a_coeditor_is_allowed(team: Team) -> None:
    item = team.item()
    actions.set_coeditors(item, [team.ann2], actor=team.ann)
    assert save(item, "question", {"question": "x"}, team, actor=team.ann2).question == "x"


@pytest.mark.parametrize(
    ("state", "who", "allowed"),
    [
        (State.RETURNED, "ann", True),
        (State.SUBMITTED, "ann", False),
        (State.SECONDARY_AUDIT, "aud", False),
        (State.FACTUAL_AUDIT, "core", True),
        (State.APPROVED, "core", False),
        (State.REJECTED, "ann", False),
        (State.LOCKED, "admin", False),
    ],
)
def test_save_section_by_state_follows_the_table(team: Team, state: State, who: str, allowed: bool) -> None:
    item = team.item()
    Item.objects.filter(pk=item.pk).update(state=state)
    if allowed:
        assert save(item, "question", {"question": "x"}, team, actor=getattr(team, who)).question == "x"
    else:
        with pytest.raises(NotAllowed):
            save(item, "question", {"question": "x"}, team, actor=getattr(team, who))


def test_save_section_removing_what_others_refer_to_names_the_referrers(team: Team) -> None:
    item = team.item()
    sources = [s for s in item.document["sources"] if s["key"] != "s3"]
    with pytest.raises(Invalid, match="s3 cannot be removed") as caught:
        save(item, "sources", {"sources": sources}, team)
    assert caught.value.code == "still_referred_to"
    assert {"c3", "c4"} <= set(caught.value.details["referrers"])
    saved = save(item, "sources", {"sources": sources}, team, unlink_removed="lose")
    assert "s3" not in str(saved.document["checklist"])


def test_save_section_removing_a_step_inherits_or_loses_its_prerequisites(team: Team) -> None:
    item = team.item()  # c3 needs c2, c4 needs c3
    steps = [s for s in item.document["checklist"] if s["key"] != "c3"]
    with pytest.raises(Invalid, match="c3"):
        save(item, "checklist", {"checklist": steps}, team)
    saved = save(item, "checklist", {"checklist": steps}, team, unlink_removed="inherit")
    assert next(s for s in saved.document["checklist"] if s["key"] == "c4")["prerequisites"] == ["c2"]
    other = team.item()
    saved = save(other, "checklist", {"checklist": steps}, team, unlink_removed="lose")
    assert next(s for s in saved.document["checklist"] if s["key"] == "c4")["prerequisites"] == []


def test_save_section_removing_a_node_takes_its_relations_along(team: Team) -> None:
    item = team.item()
    nodes = [n for n in item.document["nodes"] if n["key"] != "n1"]
    saved = save(item, "graph", {"nodes": nodes}, team, unlink_removed="lose")
    assert not [r for r in saved.document["relations"] if "n1" in (r["from"], r["to"])]
    assert "n1" not in str(saved.document["checklist"])


def test_save_section_with_a_cycle_spells_it_out(team: Team) -> None:
    item = team.item()
    steps = [dict(s) for s in item.document["checklist"]]
    steps[1]["prerequisites"] = ["c4"]  # c2 -> c4 -> c3 -> c2
    with pytest.raises(Invalid, match=r"c\d -> c\d -> c\d -> c\d"):
        save(item, "checklist", {"checklist": steps}, team)


@pytest.mark.parametrize("text", ["a\x00b", "a\ud800b"])
def test_save_section_with_unstorable_text_names_field_and_character(team: Team, text: str) -> None:
    item = team.item()
    with pytest.raises(Invalid, match=r"question: holds the character U\+"):
        save(item, "question", {"question": text}, team)


def test_restore_revision_makes_the_old_document_the_newest(team: Team) -> None:
    item = team.item()
    first = item.document_hash
    saved = save(item, "question", {"question": "x"}, team)
    restored = actions.restore_revision(saved, 1, saved.document_hash, actor=team.ann)
    assert (restored.document_hash, restored.revision_number) == (first, 3)
    with pytest.raises(Conflict):
        actions.restore_revision(saved, 1, "0" * 64, actor=team.ann)
    with pytest.raises(Invalid, match="no revision 99"):
        actions.restore_revision(restored, 99, restored.document_hash, actor=team.ann)
    with pytest.raises(NotAllowed):
        actions.restore_revision(restored, 2, restored.document_hash, actor=team.ann2)


def test_import_documents_twice_changes_nothing_the_second_time(team: Team) -> None:
    documents = [replace(good_document(), id=f"x{n}") for n in range(3)]
    report = importing.import_documents(team.benchmark, documents, {}, actor=team.admin)
    assert (report.created, report.changed, report.unchanged) == (3, 0, 0)
    assert Revision.objects.filter(item__benchmark=team.benchmark).count() == 3
    report = importing.import_documents(team.benchmark, documents, {}, actor=team.admin)
    assert (report.created, report.changed, report.unchanged) == (0, 0, 3)
    assert Revision.objects.filter(item__benchmark=team.benchmark).count() == 3


def test_import_documents_altering_a_locked_item_imports_nothing_and_names_the_row(team: Team) -> None:
    locked = replace(good_document(), id="locked-one")
    importing.import_documents(team.benchmark, [locked], {}, actor=team.admin)
    Item.objects.filter(uid="locked-one").update(state=State.LOCKED)
    rows = [replace(good_document(), id="new-one"), replace(locked, answer="other")]
    with pytest.raises(Invalid) as caught:
        importing.import_documents(team.benchmark, rows, {}, actor=team.admin, row_numbers=[4, 7])
    assert "row 7, item locked-one" in caught.value.details["problems"][0]["path"]
    assert not Item.objects.filter(uid="new-one").exists()


def test_import_documents_with_an_id_of_another_benchmark_is_refused(team: Team) -> None:
    other = make_team("other")
    document = replace(good_document(), id="shared-id")
    importing.import_documents(other.benchmark, [document], {}, actor=other.admin)
    with pytest.raises(Invalid) as caught:
        importing.import_documents(team.benchmark, [document], {}, actor=team.admin)
    assert "another benchmark" in caught.value.details["problems"][0]["message"]


@pytest.mark.parametrize("who", ["ann", "aud", "core", "stranger"])
def test_import_documents_by_others_than_admins_is_refused(team: Team, who: str) -> None:
    with pytest.raises(NotAllowed):
        importing.import_documents(team.benchmark, [good_document()], {}, actor=getattr(team, who))


def test_comments_keep_the_items_counts(team: Team) -> None:
    item = team.item()
    blocker = comment_actions.add_comment(item, "wrong year", actor=team.aud, anchor="c3", blocking=True)
    comment_actions.add_comment(item, "which one?", actor=team.ann, parent=blocker)
    item.refresh_from_db()
    assert (item.open_comments, item.blocking_comments) == (1, 1)
    with pytest.raises(NotAllowed):  # an annotator does not clear somebody's blocker
        comment_actions.resolve_comment(blocker, actor=team.ann)
    comment_actions.resolve_comment(blocker, actor=team.aud)
    item.refresh_from_db()
    assert (item.open_comments, item.blocking_comments) == (0, 0)
    with pytest.raises(NotAllowed):
        comment_actions.add_comment(item, "hello", actor=team.stranger)
    with pytest.raises(Invalid):
        comment_actions.add_comment(item, "  \n", actor=team.ann)
    assert Comment.objects.count() == 2


def test_set_membership_keeps_the_last_admin(team: Team) -> None:
    benchmark_actions.set_membership(team.benchmark, team.root, None, actor=team.admin)
    with pytest.raises(Invalid, match="needs an admin"):
        benchmark_actions.set_membership(team.benchmark, team.admin, Role.CORE, actor=team.admin)
    with pytest.raises(NotAllowed):
        benchmark_actions.set_membership(team.benchmark, team.ann, Role.ADMIN, actor=team.core)
    assert Membership.objects.get(benchmark=team.benchmark, user=team.admin).role == Role.ADMIN


@pytest.mark.parametrize("slug", ["", "Upper", "sp ace", "-x", "a" * 51, "bench", "a/b"])
def test_create_benchmark_with_a_bad_or_taken_slug_is_refused(team: Team, slug: str) -> None:
    with pytest.raises(Invalid, match="slug"):
        benchmark_actions.create_benchmark(slug, "Name", actor=team.root)


def test_create_benchmark_by_others_than_superusers_is_refused(team: Team) -> None:
    with pytest.raises(NotAllowed):
        benchmark_actions.create_benchmark("another", "Name", actor=team.admin)


@pytest.mark.django_db(transaction=True)
def test_eight_writers_at_once_lose_nothing() -> None:
    team = make_team()
    items = [team.item() for _ in range(8)]
    failures: list[BaseException] = []

    def write(item: Item) -> None:
        try:
            for n in range(5):
                item = save(item, "question", {"question": f"Question {n}?"}, team)
        except BaseException as error:
            failures.append(error)
        finally:
            connection.close()

    threads = [threading.Thread(target=write, args=(item,)) for item in items]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failures == []
    assert set(Item.objects.values_list("question", "revision_number")) == {("Question 4?", 6)}
    assert Revision.objects.count() == 8 * 6


@pytest.mark.django_db(transaction=True)
def test_two_writers_of_one_section_one_wins_one_conflicts() -> None:
    team = make_team()
    item = team.item()
    outcomes: list[str] = []
    barrier = threading.Barrier(2)

    def write(text: str) -> None:
        barrier.wait()
        try:
            save(item, "question", {"question": text}, team)
            outcomes.append("saved")
        except actions.SectionConflict:
            outcomes.append("conflict")
        finally:
            connection.close()

    threads = [threading.Thread(target=write, args=(text,)) for text in ("One?", "Two?")]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(outcomes) == ["conflict", "saved"]
    assert Item.objects.get(pk=item.pk).revision_number == 2
