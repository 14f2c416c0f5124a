"""Blind second audits: who is drawn, who may audit, what the two said, adjudication, residual error."""

from datetime import timedelta
from random import Random
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.utils import timezone

from annotation.models import Item, ItemEvent
from annotation.states import State
from audit import second_actions as second
from audit.models import AuditPlan, BlindAudit, BlindResult
from audit.second_queries import (
    ended_audits,
    open_blind_audit,
    pairs_of,
    quality_of,
    required_of,
    residual_of,
    waiting_blind_audits,
)
from audit.workflow import Move
from lhdr_site.shared.errors import Conflict, Invalid, NotAllowed
from tests.factories import Team

from .judging import answer, bring_to, finish, fresh, submit
from .test_errata import locked_item


@pytest.fixture
def locked(team: Team) -> Item:
    return bring_to(team, team.item(), State.LOCKED)


def audit_blind(audit: BlindAudit, actor: User, *failed: str) -> BlindAudit:
    """Take, answer and end a blind audit; the named criteria fail."""
    second.take_blind_audit(audit, actor=actor)
    for code in required_of(audit.benchmark):
        passed = code not in failed
        second.record_blind_result(
            audit, code, rating=4 if passed else 2, passed=passed, comment="" if passed else "No", actor=actor
        )
    return second.finish_blind_audit(audit, actor=actor)


# --- drawing ------------------------------------------------------------------------------------------------------


def test_share_of_the_plan_is_drawn_by_a_recorded_seed_when_items_enter_phase_2(team: Team) -> None:
    AuditPlan.objects.create(benchmark=team.benchmark, double_audit_percent=100)
    item = bring_to(team, team.item(), State.SECONDARY_AUDIT)
    [row] = BlindAudit.objects.all()
    seed = AuditPlan.objects.get().double_audit_seed
    assert (row.item, row.kind, row.sample, row.created_by) == (item, "double", f"seed {seed}, 100%", None)
    finish(item, team.aud, Move.RETURN, "Again")
    submit(item)
    assert fresh(item).state == State.SECONDARY_AUDIT and BlindAudit.objects.count() == 1


def test_draw_is_fixed_by_seed_and_item_and_takes_about_its_share() -> None:
    drawn = [n for n in range(4000) if second.is_drawn(17, f"item-{n}", 20)]
    assert drawn == [n for n in range(4000) if second.is_drawn(17, f"item-{n}", 20)]
    assert 700 < len(drawn) < 900
    assert not any(second.is_drawn(17, f"item-{n}", 0) for n in range(100))
    assert all(second.is_drawn(17, f"item-{n}", 100) for n in range(100))


def test_without_a_share_nothing_is_drawn(team: Team) -> None:
    bring_to(team, team.item(), State.SECONDARY_AUDIT)
    assert not BlindAudit.objects.exists()


def test_core_asks_by_hand_for_all_or_none(team: Team) -> None:
    item, draft = locked_item(team), team.item()
    with pytest.raises(Invalid, match=f"#{draft.number} is in state “draft”.*no item #99"):
        second.ask_double_audits(team.benchmark, [item.number, draft.number, 99], actor=team.core)
    assert not BlindAudit.objects.exists()
    [row] = second.ask_double_audits(team.benchmark, [item.number, item.number], actor=team.core)
    assert (row.sample, row.created_by) == ("by hand", team.core)
    with pytest.raises(Invalid, match="audited twice already"):
        second.ask_double_audits(team.benchmark, [item.number], actor=team.core)
    with pytest.raises(Invalid, match="numbers"):
        second.ask_double_audits(team.benchmark, [], actor=team.core)
    with pytest.raises(NotAllowed):
        second.ask_double_audits(team.benchmark, [item.number], actor=team.aud)


def test_sample_of_locked_items_can_be_drawn_again_from_its_record(team: Team) -> None:
    items = [locked_item(team, f"item-{n}") for n in range(6)]
    rows = second.draw_residual_sample(team.benchmark, 3, seed=7, actor=team.core)
    assert [row.item for row in rows] == [items[n] for n in sorted(Random(7).sample(range(6), 3))]
    assert rows[0].sample.endswith(", seed 7, 3 of 6")
    assert ItemEvent.objects.get(kind="residual.drawn").data["seed"] == 7
    with pytest.raises(Conflict, match="another seed"):
        second.draw_residual_sample(team.benchmark, 3, seed=7, actor=team.core)
    for size, seed in [(0, 1), (7, 1), (10**30, 1), (1, -1), (1, 10**30)]:
        with pytest.raises(Invalid):
            second.draw_residual_sample(team.benchmark, size, seed=seed, actor=team.core)
    assert BlindAudit.objects.count() == 3


# --- auditing -----------------------------------------------------------------------------------------------------


def test_who_wrote_judged_moved_or_edited_an_item_does_not_audit_it_again(team: Team, locked: Item) -> None:
    [audit] = second.ask_double_audits(team.benchmark, [locked.number], actor=team.core)
    for who in ("ann", "ann2", "aud", "core", "stranger"):
        with pytest.raises(NotAllowed):
            second.take_blind_audit(audit, actor=getattr(team, who))
        assert who in ("ann2", "stranger") or not waiting_blind_audits(getattr(team, who), team.benchmark).exists()
    assert list(waiting_blind_audits(team.admin, team.benchmark)) == [audit]
    second.take_blind_audit(audit, actor=team.admin)
    with pytest.raises(Conflict, match="bench-admin took it meanwhile"):
        second.take_blind_audit(audit, actor=team.root)
    assert open_blind_audit(team.admin, locked) == audit
    second.give_back_blind_audit(audit, actor=team.admin)
    second.take_blind_audit(audit, actor=team.root)
    with pytest.raises(Conflict, match="take it first"):
        second.record_blind_result(audit, "chain", rating=4, passed=True, actor=team.admin)


def test_answers_keep_the_rules_of_every_answer_and_feed_no_gate(team: Team) -> None:
    item = locked_item(team)
    [audit] = second.ask_double_audits(team.benchmark, [item.number], actor=team.core)
    second.take_blind_audit(audit, actor=team.aud)

    def record(code: str = "chain", rating: Any = 4, passed: bool = True, comment: str = "") -> Any:
        return second.record_blind_result(audit, code, rating=rating, passed=passed, comment=comment, actor=team.aud)

    for wrong in [{"code": "pilot_graph"}, {"rating": 2}, {"rating": 6}, {"rating": True}, {"passed": False}]:
        with pytest.raises(Invalid):
            record(**wrong)
    with pytest.raises(Invalid, match="every criterion"):
        second.finish_blind_audit(audit, actor=team.aud)
    record(rating=2, passed=False, comment="Skips")
    with pytest.raises(Conflict, match="answers stay"):
        second.give_back_blind_audit(audit, actor=team.aud)
    audit_blind(audit, team.aud, "chain")
    with pytest.raises(Conflict, match="ended"):
        record()
    assert fresh(item).gates == item.gates and fresh(item).state == State.LOCKED


# --- comparing ----------------------------------------------------------------------------------------------------


def test_two_audits_are_compared_on_the_same_content_and_a_third_person_decides(team: Team, locked: Item) -> None:
    [audit] = second.ask_double_audits(team.benchmark, [locked.number], actor=team.core)
    assert quality_of(team.benchmark) == {}
    audit_blind(audit, team.admin, "unique", "metadata")
    pairs = {pair.criterion: pair for pair in pairs_of(ended_audits(team.benchmark, "double"))}
    assert len(pairs) == 13 and [c for c, pair in pairs.items() if not pair.agrees] == ["unique", "metadata"]
    assert pairs["unique"].first.auditor == team.aud and pairs["metadata"].first.auditor == team.core
    every = quality_of(team.benchmark)["agreement"]["rows"][0]
    assert (every["n"], every["disagreements"], every["first_passed"]) == (13, 2, 13)
    assert (every["adjudicated_passed"], every["undecided"]) == (11, 2)
    assert every["raw"]["value"] == pytest.approx(11 / 13, abs=1e-6)
    # neither of the two, nor an author, nor anybody below core
    for who, criterion in [("aud", "unique"), ("core", "metadata"), ("admin", "unique"), ("ann", "unique")]:
        with pytest.raises(NotAllowed):
            second.adjudicate(audit, criterion, rating=4, passed=True, actor=getattr(team, who))
    second.adjudicate(audit, "unique", rating=4, passed=True, actor=team.core)
    second.adjudicate(audit, "metadata", rating=2, passed=False, comment="No licence", actor=team.root)
    with pytest.raises(Conflict, match="bench-core decided meanwhile"):
        second.adjudicate(audit, "unique", rating=4, passed=True, actor=team.root)
    with pytest.raises(Conflict, match="do not disagree"):
        second.adjudicate(audit, "chain", rating=4, passed=True, actor=team.root)
    every = quality_of(team.benchmark)["agreement"]["rows"][0]
    assert (every["adjudicated_passed"], every["undecided"], every["disagreements"]) == (12, 0, 2)


def test_an_answer_on_other_content_is_no_pair(team: Team) -> None:
    from annotation.actions import save_section
    from annotation.document import read_document

    item = bring_to(team, team.item(), State.SECONDARY_AUDIT)
    answer(item, team.aud, "path")
    answer(item, team.aud, "minimal")
    [audit] = second.ask_double_audits(team.benchmark, [item.number], actor=team.core)
    item = fresh(item)
    content = read_document(item.document).section("question")
    content["question"] += " Give the number alone."
    save_section(item, "question", content, item.section_hashes["question"], actor=team.core)
    audit_blind(audit, team.admin)
    assert audit.__class__.objects.get().revision.number == fresh(item).revision_number
    # path depends on the question, minimal does not
    assert [pair.criterion for pair in pairs_of(ended_audits(team.benchmark, "double"))] == ["minimal"]


def test_residual_error_is_the_share_of_verified_items_with_a_failed_criterion(team: Team) -> None:
    for n in range(4):
        locked_item(team, f"item-{n}")
    rows = second.draw_residual_sample(team.benchmark, 3, seed=1, actor=team.core)
    assert residual_of(team.benchmark) is None
    audit_blind(rows[0], team.aud, "urls", "unique")
    audit_blind(rows[1], team.aud)
    found = residual_of(team.benchmark)
    assert found is not None
    assert (found.population, found.drawn, found.verified, found.failed) == (4, 3, 2, 1)
    assert found.rate.value == 0.5 and found.adjudicated.value is None and found.undecided == 1
    second.adjudicate(rows[0], "urls", rating=4, passed=True, actor=team.core)
    assert residual_of(team.benchmark).undecided == 1  # type: ignore[union-attr]
    second.adjudicate(rows[0], "unique", rating=4, passed=True, actor=team.core)
    found = residual_of(team.benchmark)
    assert found is not None and (found.failed, found.adjudicated_failed, found.adjudicated.value) == (1, 0, 0.0)
    kept = quality_of(team.benchmark)["residual"]
    assert (kept["verified"], kept["failed"], kept["rate"]["value"]) == (2, 1, 0.5) and kept["rate"]["high"] < 1
    # a later sample takes its place once an item of it was verified
    BlindAudit.objects.update(created=timezone.now() - timedelta(days=1))
    [later] = second.draw_residual_sample(team.benchmark, 1, seed=2, actor=team.core)
    assert residual_of(team.benchmark).sample == found.sample  # type: ignore[union-attr]
    audit_blind(later, team.aud)
    assert residual_of(team.benchmark).sample == later.sample  # type: ignore[union-attr]


def test_answers_of_blind_audits_cannot_be_changed_even_in_the_database(team: Team) -> None:
    from django.db import DatabaseError, transaction

    item = locked_item(team)
    [audit] = second.ask_double_audits(team.benchmark, [item.number], actor=team.core)
    second.take_blind_audit(audit, actor=team.aud)
    second.record_blind_result(audit, "chain", rating=4, passed=True, actor=team.aud)
    for attempt in (lambda: BlindResult.objects.update(passed=False), lambda: BlindResult.objects.all().delete()):
        with pytest.raises(DatabaseError), transaction.atomic():
            attempt()
