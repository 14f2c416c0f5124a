"""Each action: allowed, refused by role, own item and state, stale hash; what it writes and what it leaves."""

import threading
from collections.abc import Callable
from typing import Any

import pytest
from django.db import DatabaseError, connection, transaction

from annotation.actions import save_section, set_coeditors
from annotation.comment_actions import add_comment, resolve_comment
from annotation.models import Item, ItemEvent, Revision
from annotation.states import Gate, GateStatus, State, gate_status
from audit import actions, release_actions
from audit.evidence import elements_to_tick
from audit.models import Calibration, CriterionResult, ElementTick, Release, ReleaseItem, Review, Transition
from audit.queries import is_calibrated, latest_ticks
from audit.workflow import CRITERIA, PHASES, Move
from lhdr_site.shared.errors import Conflict, Invalid, NotAllowed
from tests.documents import good_document
from tests.factories import Team, make_team

from .judging import answer, answer_phase, bring_to, finish, fresh, open_links, submit, tick, tick_all

PAPER_ROLES = ["ann2", "aud", "core", "admin", "stranger"]


@pytest.fixture
def submitted(team: Team) -> Item:
    return submit(team.item())


@pytest.fixture
def secondary(team: Team) -> Item:
    return bring_to(team, team.item(), State.SECONDARY_AUDIT)


@pytest.fixture
def approved(team: Team) -> Item:
    return bring_to(team, team.item(), State.APPROVED)


@pytest.fixture
def locked(team: Team) -> Item:
    return bring_to(team, team.item(), State.LOCKED)


def edit(team: Team, item: Item, section: str, change: Callable[[dict[str, Any]], None], who: str = "core") -> Item:
    """Save a changed section; core may in every audit state."""
    from annotation.document import read_document

    item = fresh(item)
    content = read_document(item.document).section(section)
    change(content)
    return save_section(item, section, content, item.section_hashes[section], actor=getattr(team, who))


def reword(content: dict[str, Any]) -> None:
    content["checklist"][2]["conclusion"] += " It was built in 1877."


def moves(item: Item) -> list[tuple[str, str, str, bool]]:
    """(move, from, to, by a person) of every transition, oldest first."""
    rows = Transition.objects.filter(item=item).order_by("pk")
    return [(t.move, t.from_state, t.to_state, t.actor_id is not None) for t in rows]


# --- submitting ---------------------------------------------------------------------------------------------------


def test_submit_by_the_author_writes_state_transition_and_event(team: Team) -> None:
    item = submit(team.item())
    assert fresh(item).state == State.SUBMITTED
    row = Transition.objects.get(item=item)
    assert (row.move, row.from_state, row.to_state, row.actor) == ("submit", "draft", "submitted", team.ann)
    assert row.revision.number == item.revision_number == 1
    assert ItemEvent.objects.filter(item=item, kind="item.submitted", actor=team.ann).count() == 1


def test_submit_by_a_coeditor_is_allowed(team: Team) -> None:
    item = team.item()
    set_coeditors(item, [team.ann2], actor=team.ann)
    assert submit(item, team.ann2).state == State.SUBMITTED


@pytest.mark.parametrize("who", PAPER_ROLES)
def test_submit_by_anybody_else_is_refused(team: Team, who: str) -> None:
    item = team.item()
    with pytest.raises(NotAllowed):
        submit(item, getattr(team, who))
    assert fresh(item).state == State.DRAFT


def test_submit_with_errors_lists_them_and_changes_nothing(team: Team) -> None:
    item = team.item(good_document(id="no-question", question="", answer=""))
    with pytest.raises(Invalid) as caught:
        submit(item)
    paths = [problem["path"] for problem in caught.value.details["problems"]]
    assert caught.value.code == "errors_found" and len(paths) >= 2
    assert fresh(item).state == State.DRAFT and not Transition.objects.exists()


def test_submit_checks_the_present_document_when_the_worker_has_not(team: Team) -> None:
    item = team.item()
    assert fresh(item).checked_hash == ""
    submit(item)
    assert fresh(item).checked_hash == item.document_hash


def test_submit_with_an_old_hash_is_a_conflict(team: Team) -> None:
    item = team.item()
    with pytest.raises(Conflict) as caught:
        actions.submit_item(item, "0" * 64, actor=team.ann)
    assert caught.value.code == "stale_hash"
    assert caught.value.details["hash"] == item.document_hash


def test_submit_twice_is_a_conflict_of_state(submitted: Item) -> None:
    with pytest.raises(Conflict) as caught:
        submit(submitted)
    assert caught.value.code == "wrong_state"


def test_withdraw_by_the_author_gives_a_draft_and_by_others_is_refused(team: Team, submitted: Item) -> None:
    for who in PAPER_ROLES:
        with pytest.raises(NotAllowed):
            actions.withdraw_item(submitted, actor=getattr(team, who))
    actions.withdraw_item(submitted, actor=team.ann)
    assert fresh(submitted).state == State.DRAFT


def test_withdraw_from_the_secondary_audit_is_a_conflict(team: Team, secondary: Item) -> None:
    with pytest.raises(Conflict):
        actions.withdraw_item(secondary, actor=team.ann)


def test_withdraw_ends_the_open_reviews(team: Team, submitted: Item) -> None:
    review = actions.start_review(submitted, actor=team.core)
    actions.withdraw_item(submitted, actor=team.ann)
    review.refresh_from_db()
    assert review.ended is not None and review.outcome == actions.SUPERSEDED


# --- calibration --------------------------------------------------------------------------------------------------


def test_submit_by_a_calibrated_author_enters_phase_2_by_itself(team: Team) -> None:
    actions.set_calibration(team.benchmark, team.ann, True, actor=team.core)
    item = submit(team.item())
    assert moves(item) == [
        ("submit", "draft", "submitted", True),
        ("pass", "submitted", "secondary_audit", False),
    ]
    assert "calibrated" in Transition.objects.get(item=item, move="pass").reason


def test_submit_after_calibration_was_taken_back_waits_for_core(team: Team) -> None:
    actions.set_calibration(team.benchmark, team.ann, True, actor=team.core)
    actions.set_calibration(team.benchmark, team.ann, False, actor=team.core)
    assert submit(team.item()).state == State.SUBMITTED


def test_calibration_lets_waiting_items_of_that_author_enter_phase_2(team: Team, submitted: Item) -> None:
    other = submit(team.item(author=team.ann2), team.ann2)
    actions.set_calibration(team.benchmark, team.ann, True, actor=team.core)
    assert fresh(submitted).state == State.SECONDARY_AUDIT
    assert fresh(other).state == State.SUBMITTED


@pytest.mark.parametrize("who", ["ann", "ann2", "aud", "stranger"])
def test_calibration_by_less_than_core_is_refused(team: Team, who: str) -> None:
    with pytest.raises(NotAllowed):
        actions.set_calibration(team.benchmark, team.ann, True, actor=getattr(team, who))
    assert not Calibration.objects.exists()


def test_calibration_of_oneself_or_a_stranger_is_refused(team: Team) -> None:
    with pytest.raises(NotAllowed):
        actions.set_calibration(team.benchmark, team.core, True, actor=team.core)
    with pytest.raises(Invalid):
        actions.set_calibration(team.benchmark, team.stranger, True, actor=team.core)


def test_passing_phase_1_calibrates_the_author_and_frees_what_waits(team: Team, submitted: Item) -> None:
    waiting = submit(team.item())
    answer_phase(submitted, team.core)
    finish(submitted, team.core)
    assert is_calibrated(team.ann, team.benchmark)
    assert fresh(submitted).state == fresh(waiting).state == State.SECONDARY_AUDIT


def test_passing_phase_1_without_calibrating_leaves_the_author_uncalibrated(team: Team, submitted: Item) -> None:
    waiting = submit(team.item())
    answer_phase(submitted, team.core)
    finish(submitted, team.core, calibrate=False)
    assert not is_calibrated(team.ann, team.benchmark)
    assert fresh(waiting).state == State.SUBMITTED


def test_phase_1_feeds_no_gate(team: Team, submitted: Item) -> None:
    answer_phase(submitted, team.core)
    assert fresh(submitted).gates == {}


# --- who may judge ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("number", "allowed"), [(1, "core admin"), (2, "aud core admin"), (3, "aud core admin"), (4, "core admin")]
)
def test_each_phase_is_judged_by_its_role_and_above(team: Team, number: int, allowed: str) -> None:
    item = bring_to(team, team.item(), PHASES[number - 1].state)
    code = PHASES[number - 1].criteria[-1].code
    for who in ["ann", *PAPER_ROLES]:
        if who in allowed.split():
            answer(item, getattr(team, who), code)
        else:
            with pytest.raises(NotAllowed):
                answer(item, getattr(team, who), code)
            with pytest.raises(NotAllowed):
                finish(item, getattr(team, who), Move.RETURN, "No")
            with pytest.raises(NotAllowed):
                actions.start_review(item, actor=getattr(team, who))
    judges = set(CriterionResult.objects.filter(item=item, criterion=code).values_list("auditor", flat=True))
    assert judges == {getattr(team, who).pk for who in allowed.split()}


@pytest.mark.parametrize("as_author", [True, False])
def test_nobody_judges_or_locks_what_they_wrote_or_coedit(team: Team, as_author: bool) -> None:
    item = team.item(author=team.core if as_author else team.ann)
    if not as_author:
        set_coeditors(item, [team.core], actor=team.ann)
    actions.set_calibration(team.benchmark, item.author, True, actor=team.admin)
    submit(item)
    for call in (
        lambda: answer(item, team.core, "chain"),
        lambda: tick(item, team.core, "n1"),
        lambda: actions.start_review(item, actor=team.core),
        lambda: finish(item, team.core, Move.RETURN, "No"),
        lambda: finish(item, team.core, Move.REJECT, "No"),
    ):
        with pytest.raises(NotAllowed, match="Nobody judges"):
            call()
    answer_phase(item, team.aud)
    finish(item, team.aud)
    answer_phase(item, team.aud)
    finish(item, team.aud)
    answer_phase(item, team.admin)
    finish(item, team.admin)
    with pytest.raises(NotAllowed, match="Nobody judges"):
        actions.lock_item(fresh(item), fresh(item).document_hash, actor=team.core)
    assert actions.lock_item(fresh(item), fresh(item).document_hash, actor=team.admin).state == State.LOCKED


# --- criteria and ticks -------------------------------------------------------------------------------------------


def test_criterion_is_bound_to_the_revision_and_hashes_it_saw(team: Team, secondary: Item) -> None:
    row = answer(secondary, team.aud, "chain")
    assert row.revision.number == 1 and row.section_hashes == secondary.section_hashes
    assert row.review.auditor == team.aud and row.review.phase == 2
    assert ItemEvent.objects.filter(item=secondary, kind="criterion.recorded", actor=team.aud).count() == 1


@pytest.mark.parametrize(
    ("data", "path"),
    [
        ({"rating": 2, "passed": True}, "rating"),
        ({"rating": 0, "passed": False, "comment": "x"}, "rating"),
        ({"rating": 6, "passed": True}, "rating"),
        ({"rating": True, "passed": True}, "rating"),
        ({"rating": 2, "passed": False}, "comment"),
        ({"rating": 2, "passed": False, "comment": "  "}, "comment"),
    ],
)
def test_criterion_with_a_wrong_answer_names_the_field(
    team: Team, secondary: Item, data: dict[str, Any], path: str
) -> None:
    with pytest.raises(Invalid) as caught:
        actions.record_criterion(secondary, "chain", secondary.document_hash, actor=team.aud, **data)
    assert caught.value.details["problems"][0]["path"] == path
    assert not CriterionResult.objects.filter(criterion="chain").exists()


def test_criterion_with_rating_3_passes_and_a_fail_may_be_rated_5(team: Team, secondary: Item) -> None:
    h = secondary.document_hash
    actions.record_criterion(secondary, "chain", h, rating=3, passed=True, actor=team.aud)
    actions.record_criterion(secondary, "path", h, rating=5, passed=False, comment="Even so", actor=team.aud)
    assert gate_of(secondary, Gate.LEAKAGE) is GateStatus.FAILED


def test_criterion_unknown_or_of_another_phase_is_refused(team: Team, secondary: Item) -> None:
    with pytest.raises(Invalid, match="no criterion"):
        answer(secondary, team.aud, "no_such")
    with pytest.raises(Conflict, match="phase 3"):
        answer(secondary, team.aud, "probes")


def test_criterion_and_tick_with_an_old_hash_are_conflicts(team: Team, secondary: Item) -> None:
    old = secondary.document_hash
    edit(team, secondary, "checklist", reword)
    with pytest.raises(Conflict, match="r2"):
        actions.record_criterion(secondary, "chain", old, rating=4, passed=True, actor=team.aud)
    with pytest.raises(Conflict, match="r2"):
        actions.tick_element(secondary, "n1", old, supported=True, actor=team.aud)


def test_support_passes_only_when_every_element_is_ticked_as_supported(team: Team, secondary: Item) -> None:
    elements = elements_to_tick(secondary.document, "support")
    for element in elements[:-1]:
        tick(secondary, team.aud, element)
    with pytest.raises(Invalid) as caught:
        answer(secondary, team.aud, "support")
    assert caught.value.details["elements"] == ["answer"]
    tick(secondary, team.aud, "answer", supported=False)
    with pytest.raises(Invalid):
        answer(secondary, team.aud, "support")
    tick(secondary, team.aud, "answer")
    assert answer(secondary, team.aud, "support").passed


def test_support_may_fail_without_ticks(team: Team, secondary: Item) -> None:
    answer(secondary, team.aud, "support", passed=False)
    assert gate_of(secondary, Gate.SOURCE_SUPPORT) is GateStatus.FAILED


def test_tick_lapses_when_its_element_changes_and_only_then(team: Team, secondary: Item) -> None:
    tick_all(secondary, team.aud)
    edit(team, secondary, "checklist", reword)  # c3 alone
    lapsed = [key for key, t in latest_ticks(fresh(secondary)).items() if not t.holds]
    assert lapsed == ["c3"]
    tick(secondary, team.aud, "c3")
    assert answer(secondary, team.aud, "support").passed


def test_tick_of_an_unknown_element_is_invalid_and_of_a_source_belongs_to_phase_4(team: Team, secondary: Item) -> None:
    with pytest.raises(Invalid, match="no element"):
        tick(secondary, team.aud, "x9")
    with pytest.raises(NotAllowed):
        tick(secondary, team.aud, "s1")  # phase 4 is core's
    with pytest.raises(Conflict, match="phase 4"):
        tick(secondary, team.core, "s1")
    assert not ElementTick.objects.exists()


def test_urls_pass_only_when_every_source_is_ticked_and_opened(team: Team) -> None:
    item = bring_to(team, team.item(), State.FACTUAL_AUDIT)
    with pytest.raises(Invalid) as caught:
        answer(item, team.core, "urls")
    assert caught.value.details["elements"] == [f"s{n}" for n in range(1, 9)]
    tick_all(item, team.core, "urls")
    with pytest.raises(Invalid, match="opened every URL") as caught:
        answer(item, team.core, "urls")
    assert caught.value.details["elements"] == [f"s{n}" for n in range(1, 9)]
    open_links(item, team.core)
    assert answer(item, team.core, "urls").passed


# --- gates --------------------------------------------------------------------------------------------------------


def gate_of(item: Item, gate: Gate) -> GateStatus:
    item = fresh(item)
    return gate_status(item.gates.get(gate.value), gate, item.section_hashes)


def test_gates_follow_the_latest_answers(team: Team, secondary: Item) -> None:
    answer(secondary, team.aud, "chain")
    assert gate_of(secondary, Gate.IRREDUCIBILITY) is GateStatus.OPEN  # minimal is still missing
    answer(secondary, team.aud, "minimal", passed=False)
    assert gate_of(secondary, Gate.IRREDUCIBILITY) is GateStatus.FAILED
    answer(secondary, team.aud, "minimal")
    assert gate_of(secondary, Gate.IRREDUCIBILITY) is GateStatus.PASSED
    edit(team, secondary, "checklist", reword)
    assert gate_of(secondary, Gate.IRREDUCIBILITY) is GateStatus.STALE


def test_approved_item_has_seven_passed_gates(approved: Item) -> None:
    assert {gate_of(approved, gate) for gate in Gate} == {GateStatus.PASSED}


# --- ending a phase -----------------------------------------------------------------------------------------------


def test_pass_walks_through_the_phases_to_locked(team: Team, locked: Item) -> None:
    assert [(move, to) for move, _, to, by_person in moves(locked) if by_person] == [
        ("submit", "submitted"),
        ("pass", "secondary_audit"),
        ("pass", "multimodal_audit"),
        ("pass", "factual_audit"),
        ("pass", "approved"),
        ("lock", "locked"),
    ]


def test_pass_with_criteria_missing_failed_or_stale_lists_them(team: Team, secondary: Item) -> None:
    answer_phase(secondary, team.aud)
    answer(secondary, team.aud, "unique", passed=False)
    edit(team, secondary, "graph", lambda content: content["nodes"][0].update(entity="Forth Rail Bridge"))
    with pytest.raises(Invalid) as caught:
        finish(secondary, team.aud)
    # all but `public` (metadata, images, sources) depend on the graph, and `minimal` through irreducibility
    assert [p["path"] for p in caught.value.details["problems"]] == ["chain", "path", "minimal", "support", "unique"]
    assert fresh(secondary).state == State.SECONDARY_AUDIT


def test_pass_with_a_tick_taken_back_is_refused(team: Team, secondary: Item) -> None:
    answer_phase(secondary, team.aud)
    tick(secondary, team.aud, "n2", supported=False)
    with pytest.raises(Invalid) as caught:
        finish(secondary, team.aud)
    assert [p["path"] for p in caught.value.details["problems"]] == ["support"]


def test_pass_ends_the_review_and_others_reviews(team: Team, secondary: Item) -> None:
    actions.start_review(secondary, actor=team.aud)
    actions.start_review(secondary, actor=team.admin)  # who took it first does not hinder the core team
    answer_phase(secondary, team.aud)
    finish(secondary, team.aud)
    outcomes = {r.auditor_id: r.outcome for r in Review.objects.filter(item=secondary, phase=2)}
    assert outcomes == {team.aud.pk: "pass", team.admin.pk: "superseded"}
    assert not Review.objects.filter(item=secondary, ended=None).exists()


def test_start_review_twice_is_one_review(team: Team, secondary: Item) -> None:
    assert actions.start_review(secondary, actor=team.aud) == actions.start_review(secondary, actor=team.aud)


@pytest.mark.parametrize("move", [Move.RETURN, Move.REJECT])
def test_return_and_reject_need_a_reason_and_the_present_hash(team: Team, secondary: Item, move: Move) -> None:
    with pytest.raises(Invalid) as caught:
        finish(secondary, team.aud, move, "  ")
    assert caught.value.code == "reason_missing"
    with pytest.raises(Conflict):
        actions.finish_review(secondary, move, "0" * 64, actor=team.aud, reason="Why")
    item = finish(secondary, team.aud, move, "Step 3 has no source")
    assert item.state == (State.RETURNED if move is Move.RETURN else State.REJECTED)
    assert Transition.objects.filter(item=item).last().reason == "Step 3 has no source"  # type: ignore[union-attr]


def test_other_moves_do_not_end_a_review(team: Team, secondary: Item) -> None:
    with pytest.raises(Invalid):
        finish(secondary, team.aud, Move.LOCK)


def test_approved_is_returned_by_core_and_not_by_an_auditor(team: Team, approved: Item) -> None:
    with pytest.raises(NotAllowed):
        finish(approved, team.aud, Move.RETURN, "No")
    assert finish(approved, team.core, Move.RETURN, "The source moved").state == State.RETURNED


def test_reopen_by_core_with_a_reason_returns_a_rejected_item(team: Team, secondary: Item) -> None:
    finish(secondary, team.aud, Move.REJECT, "Recovered by one query")
    for who in ["ann", "ann2", "aud", "stranger"]:
        with pytest.raises(NotAllowed):
            actions.reopen_item(secondary, "Please", actor=getattr(team, who))
    with pytest.raises(Invalid):
        actions.reopen_item(secondary, "", actor=team.core)
    assert actions.reopen_item(secondary, "Worth another try", actor=team.core).state == State.RETURNED


# --- after a resubmission -----------------------------------------------------------------------------------------


def test_resubmission_skips_phases_that_still_hold_and_says_so(team: Team, secondary: Item) -> None:
    answer_phase(secondary, team.aud)
    finish(secondary, team.aud)
    finish(secondary, team.aud, Move.RETURN, "The probe found it")  # from phase 3
    edit(team, secondary, "design", lambda content: content.update(design="Other plan"), who="ann")
    item = submit(secondary)
    assert item.state == State.MULTIMODAL_AUDIT
    system = Transition.objects.filter(item=item, actor=None)
    assert [(t.from_state, t.to_state) for t in system] == [
        ("submitted", "secondary_audit"),
        ("secondary_audit", "multimodal_audit"),
    ]
    assert "phase 2" in system.last().reason  # type: ignore[union-attr]


def test_resubmission_with_a_stale_gate_stops_at_the_first_phase_it_concerns(team: Team, approved: Item) -> None:
    finish(approved, team.core, Move.RETURN, "Wrong tag")
    edit(team, approved, "images", lambda content: content["images"][1].update(caption="A map"), who="ann")
    # images: multimodal, shortcut and metadata are stale; phase 2 feeds metadata
    assert submit(approved).state == State.SECONDARY_AUDIT


def test_resubmission_of_an_approved_item_with_nothing_stale_is_approved_by_the_system(
    team: Team, approved: Item
) -> None:
    finish(approved, team.core, Move.RETURN, "Say more in the design")
    edit(team, approved, "design", lambda content: content.update(design="More words"), who="ann")
    assert submit(approved).state == State.APPROVED
    assert fresh(approved).state == State.APPROVED


def test_resubmission_without_change_goes_back_to_who_returned_it(team: Team, secondary: Item) -> None:
    answer_phase(secondary, team.aud)
    finish(secondary, team.aud, Move.RETURN, "All rated, but look again at step 3")
    assert submit(secondary).state == State.SECONDARY_AUDIT


def test_later_phases_that_still_hold_are_passed_after_the_stale_one(team: Team, approved: Item) -> None:
    finish(approved, team.core, Move.RETURN, "Name the bridge rightly")
    edit(team, approved, "graph", lambda c: c["nodes"][0]["aliases"].append("The Bridge"), who="ann")
    assert submit(approved).state == State.SECONDARY_AUDIT  # graph: uniqueness, leakage, irreducibility, support
    answer_phase(approved, team.aud)
    finish(approved, team.aud)
    # phase 3 (images, checklist, sources, question) still holds; phase 4 feeds source support, which the graph staled
    assert fresh(approved).state == State.FACTUAL_AUDIT


# --- locking ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("who", ["ann", "ann2", "aud", "stranger"])
def test_lock_and_unlock_by_less_than_core_are_refused(team: Team, approved: Item, who: str) -> None:
    with pytest.raises(NotAllowed):
        actions.lock_item(approved, approved.document_hash, actor=getattr(team, who))
    actions.lock_item(approved, approved.document_hash, actor=team.core)
    with pytest.raises(NotAllowed):
        actions.unlock_item(approved, "Why not", actor=getattr(team, who))
    assert fresh(approved).state == State.LOCKED


def test_lock_with_an_old_hash_or_from_another_state_is_a_conflict(team: Team, approved: Item, submitted: Item) -> None:
    with pytest.raises(Conflict) as caught:
        actions.lock_item(approved, "0" * 64, actor=team.core)
    assert caught.value.code == "stale_hash"
    with pytest.raises(Conflict) as caught:
        actions.lock_item(submitted, submitted.document_hash, actor=team.core)
    assert caught.value.code == "wrong_state"


def test_lock_with_a_stale_gate_names_it(team: Team) -> None:
    item = bring_to(team, team.item(), State.FACTUAL_AUDIT)
    edit(team, item, "graph", lambda content: content["nodes"][0].update(aliases=["Another name"]))
    answer_phase(item, team.core)
    item = finish(item, team.core)
    with pytest.raises(Invalid) as caught:
        actions.lock_item(item, item.document_hash, actor=team.core)
    assert caught.value.code == "gates_not_passed"
    stale = {p["path"]: p["message"] for p in caught.value.details["problems"]}
    assert list(stale) == ["uniqueness", "leakage", "irreducibility", "source_support"]
    assert stale["leakage"] == "No path leakage: stale, judged for other content"


def test_lock_with_a_blocking_comment_waits_until_it_is_resolved(team: Team, approved: Item) -> None:
    add_comment(approved, "A question first", actor=team.aud, blocking=False)
    comment = add_comment(approved, "Not like this", actor=team.aud, blocking=True)
    with pytest.raises(Invalid) as caught:
        actions.lock_item(fresh(approved), approved.document_hash, actor=team.core)
    assert caught.value.code == "blocking_comments"
    resolve_comment(comment, actor=team.aud)
    assert actions.lock_item(fresh(approved), approved.document_hash, actor=team.core).state == State.LOCKED


def test_lock_with_an_error_found_is_refused(team: Team, approved: Item) -> None:
    team.benchmark.min_steps = 11  # the item has 10
    team.benchmark.save()
    Item.objects.filter(pk=approved.pk).update(checked_hash="")
    with pytest.raises(Invalid) as caught:
        actions.lock_item(approved, approved.document_hash, actor=team.core)
    assert caught.value.code == "errors_found"


def test_unlock_needs_a_reason_returns_the_item_and_leaves_releases(team: Team, locked: Item) -> None:
    release = release_actions.cut_release(team.benchmark, "v1", actor=team.admin)
    with pytest.raises(Invalid):
        actions.unlock_item(locked, " ", actor=team.core)
    assert actions.unlock_item(locked, "The answer changed", actor=team.core).state == State.RETURNED
    assert ReleaseItem.objects.get(release=release).document_hash == locked.document_hash


def test_locked_item_refuses_raw_changes_also_with_an_old_transition(team: Team, locked: Item) -> None:
    with pytest.raises(DatabaseError, match="guarded"), transaction.atomic(), connection.cursor() as cursor:
        cursor.execute("UPDATE annotation_item SET state = 'returned' WHERE id = %s", [locked.pk])


@pytest.mark.parametrize("table", ["transition", "criterionresult", "elementtick", "release", "releaseitem"])
def test_what_the_audit_recorded_refuses_update_and_delete(team: Team, locked: Item, table: str) -> None:
    release_actions.cut_release(team.benchmark, "v1", actor=team.admin)
    for sql in (f"UPDATE audit_{table} SET id = id", f"DELETE FROM audit_{table}"):
        with pytest.raises(DatabaseError, match="guarded"), transaction.atomic(), connection.cursor() as cursor:
            cursor.execute(sql)


# --- imported items -----------------------------------------------------------------------------------------------


def import_two(team: Team) -> list[Item]:
    from annotation.actions import insert_items

    documents = [good_document(id=f"imported-{n}") for n in (1, 2)]
    with transaction.atomic():
        return insert_items(team.benchmark, documents, author=team.admin, kind=Revision.Kind.IMPORT)


def test_lock_imported_locks_imported_drafts_alone_and_says_so(team: Team) -> None:
    mine = team.item()
    imported = import_two(team)
    assert actions.lock_imported(team.benchmark, actor=team.admin) == 2
    assert [fresh(item).state for item in [mine, *imported]] == ["draft", "locked", "locked"]
    row = Transition.objects.get(item=imported[0])
    assert row.move == "lock_imported" and "without an audit" in row.reason and row.actor == team.admin
    assert actions.lock_imported(team.benchmark, actor=team.admin) == 0


@pytest.mark.parametrize("who", ["ann", "aud", "core", "stranger"])
def test_lock_imported_by_less_than_admin_is_refused(team: Team, who: str) -> None:
    import_two(team)
    with pytest.raises(NotAllowed):
        actions.lock_imported(team.benchmark, actor=getattr(team, who))
    assert not Transition.objects.exists()


# --- releases -----------------------------------------------------------------------------------------------------


def test_release_holds_every_locked_document_and_a_hash_over_theirs(team: Team, locked: Item) -> None:
    from annotation.document import canonical_hash

    second = bring_to(team, team.item(), State.LOCKED)
    team.item()
    release = release_actions.cut_release(team.benchmark, "v1", "First", actor=team.admin)
    rows = list(ReleaseItem.objects.filter(release=release))
    assert [(row.position, row.item_id, row.uid) for row in rows] == [
        (0, locked.pk, locked.uid),
        (1, second.pk, second.uid),
    ]
    assert rows[0].document == fresh(locked).document and rows[0].revision.number == locked.revision_number
    assert release.hash == canonical_hash([locked.document_hash, second.document_hash])
    assert (release.item_count, release.audited, release.canary) == (2, True, team.benchmark.canary)
    assert ItemEvent.objects.filter(kind="release.cut", benchmark=team.benchmark).count() == 1


def test_release_with_an_item_locked_without_audit_is_not_audited(team: Team, locked: Item) -> None:
    import_two(team)
    actions.lock_imported(team.benchmark, actor=team.admin)
    assert release_actions.cut_release(team.benchmark, "v1", actor=team.admin).audited is False


@pytest.mark.parametrize("who", ["ann", "aud", "core", "stranger"])
def test_release_by_less_than_admin_is_refused(team: Team, locked: Item, who: str) -> None:
    with pytest.raises(NotAllowed):
        release_actions.cut_release(team.benchmark, "v1", actor=getattr(team, who))
    assert not Release.objects.exists()


def test_release_without_locked_items_or_with_a_bad_or_taken_name_is_invalid(team: Team) -> None:
    with pytest.raises(Invalid) as caught:
        release_actions.cut_release(team.benchmark, "v1", actor=team.admin)
    assert caught.value.code == "none_locked"
    bring_to(team, team.item(), State.LOCKED)
    with pytest.raises(Invalid) as caught:
        release_actions.cut_release(team.benchmark, "not a name!", actor=team.admin)
    assert caught.value.details["problems"][0]["path"] == "name"
    release_actions.cut_release(team.benchmark, "v1", actor=team.admin)
    with pytest.raises(Invalid) as caught:
        release_actions.cut_release(team.benchmark, "v1", actor=team.admin)
    assert caught.value.code == "name_taken"
    assert Release.objects.count() == 1


# --- sandbox ------------------------------------------------------------------------------------------------------


def test_sandbox_lets_one_person_do_all_of_it_without_probes(db: None) -> None:
    team = make_team("alone", "sandbox")
    item = team.item(author=team.admin)
    assert submit(item, team.admin).state == State.SECONDARY_AUDIT
    for _ in range(3):
        answer_phase(item, team.admin)
        finish(item, team.admin)
    item = fresh(item)
    assert item.state == State.APPROVED
    assert not CriterionResult.objects.filter(criterion="probes").exists()
    actions.lock_item(item, item.document_hash, actor=team.admin)
    assert release_actions.cut_release(team.benchmark, "try", actor=team.admin).audited is False


def test_sandbox_still_refuses_strangers(db: None) -> None:
    team = make_team("alone", "sandbox")
    item = submit(team.item(author=team.admin), team.admin)
    with pytest.raises(NotAllowed):
        answer(item, team.stranger, "chain")


# --- two at once --------------------------------------------------------------------------------------------------


@pytest.mark.django_db(transaction=True)
def test_lock_by_two_at_once_locks_once_and_tells_the_other() -> None:
    team = make_team()
    item = bring_to(team, team.item(), State.APPROVED)
    outcomes: list[str] = []
    start = threading.Barrier(2)

    def lock(who: str) -> None:
        try:
            start.wait(10)
            actions.lock_item(item, item.document_hash, actor=getattr(team, who))
            outcomes.append("locked")
        except Conflict as error:
            outcomes.append(error.code)
        finally:
            connection.close()

    threads = [threading.Thread(target=lock, args=(who,)) for who in ("core", "admin")]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(30)
    assert sorted(outcomes) == ["locked", "wrong_state"]
    assert Transition.objects.filter(item=item, move=Move.LOCK).count() == 1


def test_every_criterion_has_a_code_that_fits_its_column() -> None:
    assert max(map(len, CRITERIA)) <= 40
    assert max(len(move) for move in Move) <= 20
