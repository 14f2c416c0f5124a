"""The queue: what is next for whom, claims and their end, the lists and their pages, who audits how much."""

from datetime import timedelta
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.db import connection
from django.urls import reverse
from django.utils import timezone

from annotation.assignment_actions import assign_item
from annotation.benchmark_actions import set_membership
from annotation.models import Item, ItemEvent
from annotation.states import Role, State
from audit import actions, queue
from audit.claim_actions import claim_item, claim_next, give_back, renew_claim
from audit.models import Review, ReviewClaim
from audit.plan_actions import set_plan
from audit.workflow import Move
from lhdr_site.shared.errors import Conflict, NotAllowed
from tests.factories import Team, make_user

from .judging import answer, answer_phase, bring_to, finish, submit


@pytest.fixture
def waiting(team: Team) -> list[Item]:
    """Three items in phase 2, the one that waits longest first."""
    actions.set_calibration(team.benchmark, team.ann, True, actor=team.core)
    return [submit(team.item()) for _ in range(3)]


@pytest.fixture
def second(team: Team) -> User:
    person = make_user("second", first_name="Mei", last_name="Second")
    set_membership(team.benchmark, person, Role.AUDITOR, actor=team.admin)
    return person


def lapse() -> None:
    ReviewClaim.objects.update(expires=timezone.now() - timedelta(seconds=1))


def ages(item: Item, days: int) -> None:
    Item.objects.filter(pk=item.pk).update(moved=timezone.now() - timedelta(days=days))


# --- what is next -------------------------------------------------------------------------------------------------


def test_next_is_asked_of_me_then_returned_by_me_then_the_longest_waiting(
    team: Team, second: User, waiting: list[Item]
) -> None:
    first, returned, asked = waiting
    finish(returned, team.aud, Move.RETURN, "Mend it")
    submit(returned, team.ann)
    elsewhere = submit(team.item())
    ages(elsewhere, 30)
    assign_item(asked, team.aud, None, actor=team.core)
    assign_item(elsewhere, second, None, actor=team.core)  # somebody else was asked
    got = []
    while item := claim_next(team.benchmark, actor=team.aud):
        got.append(item.pk)
        finish(item, team.aud, Move.REJECT, "No")
    assert got == [asked.pk, returned.pk, first.pk]


def test_next_gives_back_what_one_has_and_never_what_another_has(team: Team, second: User, waiting: list[Item]) -> None:
    mine = claim_next(team.benchmark, actor=team.aud)
    again = claim_next(team.benchmark, actor=team.aud)
    theirs = claim_next(team.benchmark, actor=second)
    assert mine == again == waiting[0] and theirs == waiting[1]
    assert ItemEvent.objects.filter(kind="item.claimed").count() == 2
    lapse()
    assert claim_next(team.benchmark, actor=second) == waiting[0]


def test_next_is_never_ones_own_and_keeps_phases_2_and_4_apart(team: Team) -> None:
    set_plan(team.benchmark, {"different_auditors": True}, actor=team.admin)
    own = bring_to(team, team.item(author=team.aud), State.SECONDARY_AUDIT, author=team.aud)
    assert claim_next(team.benchmark, actor=team.aud) is None
    item = claim_next(team.benchmark, actor=team.core)
    assert item == own
    answer_phase(own, team.core)
    finish(own, team.core)
    answer_phase(own, team.admin)
    finish(own, team.admin)
    assert claim_next(team.benchmark, actor=team.core) is None  # judged phase 2 of it
    assert claim_next(team.benchmark, actor=team.admin) == own


def test_next_covers_the_phases_of_the_role(team: Team) -> None:
    item = bring_to(team, team.item(), State.SUBMITTED)
    assert claim_next(team.benchmark, actor=team.aud) is None
    assert claim_next(team.benchmark, actor=team.core) == item
    for who in ("ann", "stranger"):
        with pytest.raises(NotAllowed):
            claim_next(team.benchmark, actor=getattr(team, who))


# --- claims -------------------------------------------------------------------------------------------------------


def test_claim_when_given_back_goes_to_others_and_not_at_once_to_oneself(
    team: Team, second: User, waiting: list[Item]
) -> None:
    claim_next(team.benchmark, actor=team.aud)
    give_back(waiting[0], actor=team.aud)
    assert claim_next(team.benchmark, actor=team.aud) == waiting[1]
    assert claim_next(team.benchmark, actor=second) == waiting[0]
    with pytest.raises(Conflict, match="do not have"):
        give_back(waiting[2], actor=team.aud)


def test_claim_is_taken_by_the_first_answer_renewed_by_its_holder_and_ends_with_a_move(
    team: Team, second: User, waiting: list[Item]
) -> None:
    item = waiting[0]
    answer(item, team.aud, "chain")
    claim = ReviewClaim.objects.get(item=item)
    assert (claim.auditor, claim.phase) == (team.aud, 2)
    assert not renew_claim(item, actor=second)
    set_plan(team.benchmark, {"claim_minutes": 600}, actor=team.admin)
    assert renew_claim(item, actor=team.aud)
    assert ReviewClaim.objects.get(item=item).expires > claim.expires + timedelta(hours=7)
    with pytest.raises(NotAllowed, match="has it until"):
        answer(item, second, "chain")
    with pytest.raises(Conflict, match="has it now"):
        claim_item(item, actor=team.core)
    answer(item, team.core, "path")  # core is not hindered, and takes nothing away
    assert ReviewClaim.objects.get(item=item).auditor == team.aud
    finish(item, team.aud, Move.RETURN, "No")
    assert not ReviewClaim.objects.exists()


def test_claim_when_lapsed_is_gone_for_its_holder(team: Team, second: User, waiting: list[Item]) -> None:
    claim_item(waiting[0], actor=team.aud)
    lapse()
    assert not renew_claim(waiting[0], actor=team.aud)
    claim_item(waiting[0], actor=second)
    with pytest.raises(NotAllowed):
        claim_item(waiting[0], actor=team.aud)


def test_claim_pages_take_renew_and_give_back_per_role(team: Team, waiting: list[Item]) -> None:
    address = reverse("audit:claim-next", args=[team.benchmark.slug])
    panel = reverse("audit:panel", args=[team.benchmark.slug, waiting[0].number])
    of_item = reverse("audit:item-claim", args=[team.benchmark.slug, waiting[0].number])
    for who, status in (("ann", 403), ("stranger", 404)):
        assert team.client(who).post(address).status_code == status
        assert team.client(who).post(of_item).status_code == status
    client = team.client("aud")
    assert client.get(address).status_code == 405
    assert client.post(address)["Location"] == panel
    assert "Yours until" in client.get(panel).content.decode()
    assert "has it until" in team.client("core").get(panel).content.decode()
    assert client.post(of_item, {"what": "renew"}).status_code == 204
    assert client.post(of_item, {"what": "give_back"}).status_code == 302
    assert client.post(of_item, {"what": "renew"}).status_code == 286
    assert client.post(of_item, {"what": "give_back"}).status_code == 409
    assert client.post(of_item, {"what": "x"}).status_code == 302 and ReviewClaim.objects.get().auditor == team.aud


# --- lists --------------------------------------------------------------------------------------------------------


def listed(team: Team, who: str, name: str, **more: str) -> list[int]:
    page = team.client(who).get(reverse("audit:queue", args=[team.benchmark.slug]), {"list": name, **more})
    return [item.pk for item in page.context["rows"]]


def test_lists_show_what_they_say(team: Team, waiting: list[Item]) -> None:
    first, middle, last = waiting
    own = submit(team.item(author=team.aud), team.aud)
    assert listed(team, "aud", "waiting") == [first.pk, middle.pk, last.pk]
    assert listed(team, "core", "waiting") == [first.pk, middle.pk, last.pk, own.pk]
    assert listed(team, "core", "waiting", state="submitted") == [own.pk]
    claim_item(middle, actor=team.core)
    assign_item(last, team.aud, None, actor=team.core)
    assert listed(team, "aud", "unassigned") == [first.pk]
    assert listed(team, "aud", "mine") == [last.pk]
    assert listed(team, "core", "mine") == [middle.pk]
    ages(first, 15)
    assert listed(team, "aud", "stuck") == [first.pk]
    finish(first, team.aud, Move.RETURN, "Mend it")
    assert listed(team, "aud", "returned") == [first.pk] and listed(team, "core", "returned") == []
    Item.objects.filter(pk=last.pk).update(stale_gates=1)
    assert listed(team, "aud", "stale") == [last.pk]
    assert listed(team, "aud", "stale", state="factual_audit") == []
    assert listed(team, "aud", "no such list", state="no such state", after="x") == [middle.pk, last.pk]
    text = team.client("aud").get(reverse("audit:queue", args=[team.benchmark.slug])).content.decode()
    assert "bench-core has it until" in text and "asked of you" in text


def test_queue_per_role(team: Team) -> None:
    address = reverse("audit:queue", args=[team.benchmark.slug])
    assert b"Auditors work here" in team.client("ann").get(address).content
    assert team.client("stranger").get(address).status_code == 404
    board = reverse("audit:pilot-list", args=[team.benchmark.slug]).encode()
    assert board in team.client("core").get(address).content
    assert board not in team.client("aud").get(address).content


def test_pages_of_a_list_over_several_states_show_each_item_once_both_ways(team: Team, monkeypatch: Any) -> None:
    monkeypatch.setattr(queue, "PAGE", 2)
    wanted = []
    for n, state in enumerate(
        [State.FACTUAL_AUDIT, State.SUBMITTED, State.SECONDARY_AUDIT, State.SUBMITTED, State.APPROVED]
    ):
        item = team.item()
        Item.objects.filter(pk=item.pk).update(state=state, moved=timezone.now() - timedelta(days=9 - n))
        wanted.append(item.pk)

    def page(**cursor: str) -> queue.QueuePage:
        return queue.queue_page(team.core, team.benchmark, Role.CORE, "waiting", **cursor)

    pages = [page()]
    while pages[-1].after:
        pages.append(page(after=pages[-1].after))
    assert [[i.pk for i in p.items] for p in pages] == [wanted[:2], wanted[2:4], wanted[4:]]
    assert pages[0].before == ""
    back = page(before=pages[2].before)
    assert [i.pk for i in back.items] == wanted[2:4] and back.after
    first = page(before=back.before)
    assert [i.pk for i in first.items] == wanted[:2] and first.before == ""


@pytest.mark.parametrize("name", [*queue.LISTS, "people"])
def test_list_stays_within_its_queries_whatever_waits(
    team: Team, waiting: list[Item], name: str, django_assert_max_num_queries: Any
) -> None:
    client = team.client("core")
    with django_assert_max_num_queries(22) as queries:
        client.get(reverse("audit:queue", args=[team.benchmark.slug]), {"list": name})
    assert not any('"annotation_item"."document"' in query["sql"] for query in queries)


def test_lists_walk_the_index_of_waiting_items(team: Team, waiting: list[Item]) -> None:
    """The plan of a page, on either database: no sort, and the index by state and moment."""
    part = queue._parts(team.aud, team.benchmark, Role.AUDITOR, "waiting")[0].order_by("moved", "pk")[:51]
    if connection.vendor == "postgresql":
        with connection.cursor() as cursor:  # a handful of rows is read without an index otherwise
            cursor.execute(
                "SET LOCAL enable_seqscan = off; SET LOCAL enable_bitmapscan = off; SET LOCAL enable_sort = off"
            )
    plan = part.explain()
    assert "item_by_wait" in plan
    assert "TEMP B-TREE FOR ORDER BY" not in plan


# --- who audits how much ------------------------------------------------------------------------------------------


def test_workload_counts_open_ended_and_median_days(team: Team, waiting: list[Item]) -> None:
    first, middle, last = waiting
    for item, days in ((first, 4), (middle, 1)):
        actions.start_review(item, actor=team.aud)
        Review.objects.filter(item=item).update(started=timezone.now() - timedelta(days=days))
        finish(item, team.aud, Move.RETURN, "No")
    assign_item(last, team.aud, None, actor=team.core)
    claim_item(last, actor=team.aud)
    loads = {load.member.user_id: load for load in queue.workload(team.benchmark)}
    assert team.ann.pk not in loads
    mine = loads[team.aud.pk]
    assert (mine.open, mine.week, round(mine.median_days or 0, 2)) == (1, 2, 2.5)
    assert loads[team.core.pk].median_days is None
    Review.objects.update(ended=timezone.now() - timedelta(days=8))
    assert {load.member.user_id: load.week for load in queue.workload(team.benchmark)}[team.aud.pk] == 0
