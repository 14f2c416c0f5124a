"""Phase 1 by pilot batches: who makes, rates and closes them, what each rater sees, agreement, and what follows."""

from typing import Any

import pytest
from django.urls import reverse

from annotation import actions as items
from annotation.assignment_actions import hand_over_item
from annotation.models import Comment, Item, ItemEvent
from annotation.states import State
from audit.agreement import weighted_kappa
from audit.models import Calibration, CriterionResult, PilotBatch, PilotRating
from audit.pilot import CRITERIA, board, pilot_of
from audit.pilot_actions import close_batch, make_batch, rate_pilot
from audit.plan_actions import set_plan
from audit.queries import is_calibrated
from lhdr_site.shared.errors import Conflict, Invalid, NotAllowed
from tests.factories import Team, make_team

from .judging import fresh, submit

CODES = [criterion.code for criterion in CRITERIA]


@pytest.fixture
def batch(team: Team) -> PilotBatch:
    """Of two items of `ann`, rated by two."""
    set_plan(team.benchmark, {"pilot_items": 2, "pilot_raters": 2}, actor=team.admin)
    for _n in range(3):
        submit(team.item())
    return make_batch(team.benchmark, team.ann, actor=team.core)


def words(rating: int = 4, **others: int) -> dict[str, dict[str, Any]]:
    """A rating for every criterion; under 3 it fails, with a comment."""
    given = {code: others.get(code, rating) for code in CODES}
    return {c: {"rating": r, "passed": r >= 3, "comment": "" if r >= 3 else "Mend it"} for c, r in given.items()}


def rate(batch: PilotBatch, item: Item, actor: Any, ratings: dict[str, dict[str, Any]] | None = None) -> None:
    rate_pilot(batch, item, fresh(item).document_hash, ratings or words(), actor=actor)


def rate_all(batch: PilotBatch, *actors: Any) -> None:
    for actor in actors:
        for item in batch.items.all():
            rate(batch, item, actor)


# --- making -------------------------------------------------------------------------------------------------------


def test_make_batch_takes_the_longest_waiting_submitted_items_and_each_once(team: Team, batch: PilotBatch) -> None:
    assert [item.number for item in batch.items.order_by("number")] == [1, 2]
    with pytest.raises(Conflict, match="being rated"):
        make_batch(team.benchmark, team.ann, actor=team.core)
    rate_all(batch, team.core, team.admin)
    close_batch(batch, "again", "Shorter chains", actor=team.core)
    second = make_batch(team.benchmark, team.ann, actor=team.core)
    assert (second.number, [item.number for item in second.items.all()]) == (2, [3])


def test_make_batch_without_submitted_items_by_others_or_for_oneself_is_refused(team: Team) -> None:
    with pytest.raises(Invalid, match="no submitted item"):
        make_batch(team.benchmark, team.ann, actor=team.core)
    with pytest.raises(NotAllowed, match="themselves"):
        make_batch(team.benchmark, team.core, actor=team.core)
    with pytest.raises(Invalid, match="not a member"):
        make_batch(team.benchmark, team.stranger, actor=team.core)
    for who in ("ann", "aud", "stranger"):
        with pytest.raises(NotAllowed):
            make_batch(team.benchmark, team.ann2, actor=getattr(team, who))


# --- rating -------------------------------------------------------------------------------------------------------


def test_raters_see_only_their_own_until_both_are_done(team: Team, batch: PilotBatch) -> None:
    first, second = batch.items.order_by("number")
    rate(batch, first, team.core)
    rate(batch, first, team.core, words(5))  # theirs to change
    mine, theirs = pilot_of(batch, team.core), pilot_of(batch, team.admin)
    assert [r.rating for r in mine.ratings_of(first, CODES[0])] == [5]
    assert theirs.ratings_of(first, CODES[0]) == [] and theirs.means == [None] * 6 and theirs.agreed is None
    rate_all(batch, team.admin)
    assert pilot_of(batch, team.admin).agreed is None
    rate(batch, second, team.core)
    done = pilot_of(batch, team.admin)
    assert done.is_complete and len(done.ratings_of(first, CODES[0])) == 2
    assert done.means == [4.25] * 6
    with pytest.raises(Conflict, match="can be rated any more"):
        rate(batch, first, team.admin)


def test_rating_by_a_third_or_of_ones_own_or_by_others_is_refused(team: Team, batch: PilotBatch) -> None:
    first, second = batch.items.order_by("number")
    rate(batch, first, team.core)
    rate(batch, first, team.admin)
    with pytest.raises(Conflict, match="2 raters already"):
        rate(batch, first, team.root)
    for who in ("ann", "aud", "stranger"):
        with pytest.raises(NotAllowed):
            rate(batch, second, getattr(team, who))
    hand_over_item(fresh(second), team.core, actor=team.admin)
    hand_over_item(fresh(second), team.ann2, actor=team.admin)
    second.coeditors.clear()
    items.set_coeditors(fresh(second), [team.core], actor=team.admin)
    with pytest.raises(NotAllowed, match="created or co-edit"):
        rate(batch, second, team.core)


@pytest.mark.parametrize(
    ("given", "text"),
    [
        ({"rating": 0, "passed": True}, "from 1 to 5"),
        ({"rating": True, "passed": True}, "from 1 to 5"),
        ({"rating": None, "passed": True}, "from 1 to 5"),
        ({"rating": 4, "passed": None}, "passes or fails"),
        ({"rating": 2, "passed": True}, "3 or more"),
        ({"rating": 2, "passed": False, "comment": " "}, "needs a comment"),
        ({"rating": 2, "passed": False, "comment": "x" * 5001}, "at most 5000"),
    ],
)
def test_rating_when_it_cannot_be_taken_keeps_none_of_the_item(
    team: Team, batch: PilotBatch, given: dict[str, Any], text: str
) -> None:
    item = batch.items.first()
    assert item is not None
    with pytest.raises(Invalid, match=text):
        rate(batch, item, team.core, words() | {CODES[2]: given})
    assert not PilotRating.objects.exists()


def test_rating_of_changed_content_or_another_item_or_nothing_is_refused(team: Team, batch: PilotBatch) -> None:
    item = batch.items.first()
    assert item is not None
    with pytest.raises(Conflict, match="changed"):
        rate_pilot(batch, item, "old", words(), actor=team.core)
    with pytest.raises(Invalid, match="not in this batch"):
        rate(batch, Item.objects.get(number=3), team.core)
    with pytest.raises(Invalid, match="at least one"):
        rate_pilot(batch, item, item.document_hash, {}, actor=team.core)
    with pytest.raises(Invalid, match="no such criterion"):
        rate_pilot(batch, item, item.document_hash, {"chain": {"rating": 4, "passed": True}}, actor=team.core)


# --- closing ------------------------------------------------------------------------------------------------------


def test_close_calibrated_passes_what_passed_and_the_rest_but_not_what_failed(team: Team, batch: PilotBatch) -> None:
    first, second = batch.items.order_by("number")
    rate_all(batch, team.core)
    rate(batch, first, team.admin)
    rate(batch, second, team.admin, words(4, pilot_graph=2))
    close_batch(batch, "calibrated", "", actor=team.core)
    states = dict(Item.objects.values_list("number", "state"))
    assert states == {1: State.SECONDARY_AUDIT, 2: State.SUBMITTED, 3: State.SECONDARY_AUDIT}
    assert is_calibrated(team.ann, team.benchmark)
    latest = CriterionResult.objects.filter(item=second, criterion="pilot_graph").order_by("pk").last()
    assert latest is not None and (latest.passed, latest.auditor, latest.comment) == (False, team.admin, "Mend it")
    assert Calibration.objects.get().note == "Pilot batch 1"
    assert ItemEvent.objects.filter(kind="pilot.closed").count() == 1
    with pytest.raises(Conflict, match="closed"):
        close_batch(batch, "again", "No", actor=team.core)
    with pytest.raises(Conflict, match="closed"):
        rate(batch, first, team.core)


def test_close_with_another_batch_tells_the_annotator_and_moves_nothing(team: Team, batch: PilotBatch) -> None:
    rate_all(batch, team.core, team.admin)
    with pytest.raises(Invalid, match="Write a note"):
        close_batch(batch, "again", " ", actor=team.core)
    close_batch(batch, "again", "Shorter chains, please", actor=team.core)
    assert set(Item.objects.values_list("state", flat=True)) == {State.SUBMITTED}
    assert not is_calibrated(team.ann, team.benchmark)
    assert "Shorter chains, please" in Comment.objects.get().body


def test_close_before_all_is_rated_or_by_others_is_refused(team: Team, batch: PilotBatch) -> None:
    rate_all(batch, team.core)
    with pytest.raises(Conflict, match="Not every rater"):
        close_batch(batch, "calibrated", actor=team.core)
    rate_all(batch, team.admin)
    with pytest.raises(Invalid):
        close_batch(batch, "perhaps", actor=team.core)
    for who in ("ann", "aud", "stranger"):
        with pytest.raises(NotAllowed):
            close_batch(batch, "calibrated", actor=getattr(team, who))


def test_one_rater_is_enough_where_the_plan_says_so(team: Team) -> None:
    submit(team.item())
    batch = make_batch(team.benchmark, team.ann, actor=team.core)
    rate_all(batch, team.core)
    close_batch(batch, "calibrated", actor=team.core)
    assert Item.objects.get().state == State.SECONDARY_AUDIT


# --- agreement ----------------------------------------------------------------------------------------------------


def test_weighted_kappa_by_hand() -> None:
    # (1,1) (2,4): observed (0 + 4) * 2 = 8; expected over all four pairs 0 + 9 + 1 + 4 = 14; 1 - 8/14
    assert weighted_kappa([(1, 1), (2, 4)]) == pytest.approx(3 / 7)
    assert weighted_kappa([(1, 1), (5, 5)]) == 1
    assert weighted_kappa([(1, 5), (5, 1)]) == -1  # observed 32 * 2, expected 32
    assert weighted_kappa([(4, 4), (4, 4)]) is None and weighted_kappa([]) is None


def test_agreement_of_a_batch_names_its_n_and_that_it_is_small(team: Team, batch: PilotBatch) -> None:
    first, second = batch.items.order_by("number")
    rate_all(batch, team.core)
    rate(batch, first, team.admin, words(4, pilot_graph=5))
    rate(batch, second, team.admin, words(4, pilot_graph=2))
    agreed = pilot_of(batch, team.core).agreed
    assert agreed is not None
    assert (agreed.n, agreed.verdicts, agreed.ratings, agreed.is_small) == (12, 11 / 12, 10 / 12, True)
    assert agreed.kappa == 0  # one rater gave 4 throughout: observed as much as expected


# --- pages --------------------------------------------------------------------------------------------------------


def test_board_counts_items_batches_ratings_and_calibration(
    team: Team, batch: PilotBatch, django_assert_num_queries: Any
) -> None:
    rate_all(batch, team.core, team.admin)
    close_batch(batch, "calibrated", actor=team.core)
    with django_assert_num_queries(5):
        rows = {row.member.user_id: row for row in board(team.benchmark)}
    row = rows[team.ann.pk]
    assert (row.items, row.waiting, row.open, [mean for _c, mean in row.means]) == (3, 0, None, [4.0] * 6)
    assert row.calibration is not None and row.calibration.calibrated and row.since is not None
    assert rows[team.ann2.pk].calibration is None and team.aud.pk not in rows


def test_pages_per_role_from_making_to_closing(team: Team, batch: PilotBatch) -> None:
    slug = team.benchmark.slug
    board_url, page = reverse("audit:pilot-list", args=[slug]), reverse("audit:pilot", args=[slug, batch.pk])
    close = reverse("audit:pilot-close", args=[slug, batch.pk])
    for who, status in (("ann", 403), ("aud", 403), ("stranger", 404)):
        for address in (board_url, page):
            assert team.client(who).get(address).status_code == status
        assert team.client(who).post(close, {"outcome": "calibrated"}).status_code == status
        assert team.client(who).post(board_url, {"annotator": "bench-ann2"}).status_code == status
    core = team.client("core")
    assert core.post(board_url, {"annotator": "bench-ann"}).status_code == 409
    assert core.post(board_url, {"annotator": "nobody"}).status_code == 404
    for client in (core, team.client("admin")):
        for item in batch.items.all():
            form = {"hash": item.document_hash}
            form |= {f"rating-{code}": "4" for code in CODES} | {f"verdict-{code}": "pass" for code in CODES}
            address = reverse("audit:pilot-rate", args=[slug, batch.pk, item.number])
            refused = client.post(address, {**form, "verdict-pilot_graph": "fail"})
            assert refused.status_code == 422 and "needs a comment" in refused.content.decode()
            assert 'value="fail" checked' in refused.content.decode()
            assert client.post(address, form).status_code == 302
    assert "Agreement of the two" in core.get(page).content.decode()
    assert core.post(close, {"outcome": "again"}).status_code == 422
    assert core.post(close, {"outcome": "calibrated", "note": "Well done"}).status_code == 302
    assert "Well done" in team.client("ann").get(page).content.decode()
    assert team.client("ann2").get(page).status_code == 403
    assert "calibrated" in core.get(board_url).content.decode()


def test_batch_of_another_benchmark_is_no_such_page(team: Team, batch: PilotBatch) -> None:
    other = make_team("elsewhere")
    address = reverse("audit:pilot", args=[other.benchmark.slug, batch.pk])
    assert other.client("core").get(address).status_code == 404
