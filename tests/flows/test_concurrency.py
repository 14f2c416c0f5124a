"""Two at once: one wins, the other hears why, and nothing is lost or doubled."""

import threading
from collections.abc import Callable
from typing import Any

import pytest
from django.db import connection

from annotation import actions as items
from annotation import benchmark_actions, comment_actions
from annotation.document import read_document
from annotation.models import Item, ItemEvent, Membership
from annotation.states import Role, State
from audit import actions as audit
from audit import release_actions
from audit.claim_actions import claim_next
from audit.models import Release, ReviewClaim, Transition
from evaluation.models import Run
from lhdr_site.shared.errors import DomainError
from tests.audit.judging import bring_to
from tests.evaluation.setting import documents, make_setting
from tests.factories import Team, make_team, make_user

pytestmark = pytest.mark.django_db(transaction=True)


def at_once(*calls: Callable[[], Any]) -> list[str]:
    """What became of each call, sorted: "done", or the code of its domain error. Anything else fails the test."""
    barrier, outcomes, failures = threading.Barrier(len(calls)), [], []

    def work(call: Callable[[], Any]) -> None:
        barrier.wait()
        try:
            call()
            outcomes.append("done")
        except DomainError as error:
            outcomes.append(error.code)
        except BaseException as error:
            failures.append(error)
        finally:
            connection.close()

    threads = [threading.Thread(target=work, args=(call,)) for call in calls]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failures == []
    return sorted(outcomes)


@pytest.fixture
def two() -> Team:
    return make_team("two")


def test_lock_and_save_at_once_never_lock_what_was_not_seen(two: Team) -> None:
    [document] = documents(1, "two")
    item = bring_to(two, two.item(document), State.APPROVED)
    outcomes = at_once(
        lambda: audit.lock_item(item, item.document_hash, actor=two.core),
        lambda: items.save_section(
            item,
            "design",
            {"design": "other"},
            item.section_hashes["design"],
            actor=two.core,
        ),
    )
    assert outcomes == ["done", "not_allowed"]
    after = Item.objects.get(pk=item.pk)
    assert (after.state, after.document_hash) == (State.LOCKED, item.document_hash)


def test_submit_twice_at_once_moves_once(two: Team) -> None:
    item = two.item()
    outcomes = at_once(*[lambda: audit.submit_item(item, item.document_hash, actor=two.ann)] * 2)
    assert outcomes.count("done") == 1
    assert Transition.objects.filter(item=item, move="submit").count() == 1


def test_two_people_who_take_the_next_item_at_once_get_different_ones(two: Team) -> None:
    audit.set_calibration(two.benchmark, two.ann, True, actor=two.core)
    for _n in range(4):
        item = two.item()
        audit.submit_item(item, item.document_hash, actor=two.ann)
    people = [two.aud, two.core, two.admin, make_user("two-more")]
    benchmark_actions.set_membership(two.benchmark, people[3], Role.AUDITOR, actor=two.admin)
    taken: list[Item | None] = []
    at_once(*[lambda who=who: taken.append(claim_next(two.benchmark, actor=who)) for who in people])
    assert len({item.pk for item in taken if item is not None}) == 4
    assert sorted(ReviewClaim.objects.values_list("auditor", flat=True)) == sorted(person.pk for person in people)


def test_two_releases_of_one_name_at_once_give_one(two: Team) -> None:
    [document] = documents(1, "two")
    bring_to(two, two.item(document), State.LOCKED)
    cuts = [lambda: release_actions.cut_release(two.benchmark, "v1", actor=two.admin)] * 2
    assert at_once(*cuts) == ["done", "name_taken"]
    assert Release.objects.count() == 1


def test_items_created_at_once_have_numbers_of_their_own(two: Team) -> None:
    assert at_once(*[lambda: items.create_item(two.benchmark, actor=two.ann)] * 6) == ["done"] * 6
    assert sorted(Item.objects.values_list("number", flat=True)) == [1, 2, 3, 4, 5, 6]


def test_one_save_key_at_once_makes_one_revision(two: Team) -> None:
    item = two.item()
    content = read_document(item.document).section("question") | {"question": "Once?"}
    base = item.section_hashes["question"]
    calls = [lambda: items.save_section(item, "question", content, base, actor=two.ann, save_key="k")] * 3
    assert at_once(*calls) == ["done"] * 3
    assert item.revisions.count() == 2


def test_two_admins_who_remove_each_other_leave_one(two: Team) -> None:
    benchmark_actions.set_membership(two.benchmark, two.core, Role.ADMIN, actor=two.admin)
    benchmark_actions.set_membership(two.benchmark, two.root, None, actor=two.admin)
    outcomes = at_once(
        lambda: benchmark_actions.set_membership(two.benchmark, two.core, None, actor=two.admin),
        lambda: benchmark_actions.set_membership(two.benchmark, two.admin, None, actor=two.core),
    )
    assert outcomes.count("done") == 1
    assert Membership.objects.filter(benchmark=two.benchmark, role=Role.ADMIN).count() == 1


def test_one_comment_resolved_twice_at_once_is_counted_once(two: Team) -> None:
    item = two.item()
    comment = comment_actions.add_comment(item, "wrong", actor=two.aud, blocking=True)
    at_once(
        lambda: comment_actions.resolve_comment(comment, actor=two.aud),
        lambda: comment_actions.resolve_comment(comment, actor=two.core),
    )
    item.refresh_from_db()
    assert (item.open_comments, item.blocking_comments) == (0, 0)
    assert ItemEvent.objects.filter(item=item, kind="comment.resolved").exists()


def test_runs_launched_at_once_have_numbers_of_their_own(demo_server: Any) -> None:
    setting = make_setting(demo_server, 2, slug="launch")
    assert at_once(setting.launch, setting.launch) == ["done", "done"]
    assert sorted(Run.objects.values_list("number", flat=True)) == [1, 2]
