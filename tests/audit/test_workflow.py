"""The rule book of the workflow: every state and move, who, which criteria feed what, what an edit makes stale."""

from datetime import UTC, datetime

import pytest

from annotation.document import SECTIONS
from annotation.states import GATE_SECTIONS, Gate, GateStatus, Role, State, gate_status
from audit.workflow import (
    CRITERIA,
    FEEDS,
    PHASES,
    REFUSED,
    TRANSITIONS,
    Move,
    Result,
    gate_entries,
    gates_in_the_way,
    holds,
    next_state,
    phase_of,
    required_criteria,
    role_for,
)

D, S, P2, P3, P4, A, L, RET, REJ = (
    State.DRAFT,
    State.SUBMITTED,
    State.SECONDARY_AUDIT,
    State.MULTIMODAL_AUDIT,
    State.FACTUAL_AUDIT,
    State.APPROVED,
    State.LOCKED,
    State.RETURNED,
    State.REJECTED,
)

# One row a state, one column a move, in the order of Move; "." is refused.
#        submit withdraw pass return reject lock lock_imported unlock reopen
TABLE: dict[State, str] = {
    D: "submitted . . . . . locked . .",
    S: ". draft secondary_audit returned rejected . . . .",
    P2: ". . multimodal_audit returned rejected . . . .",
    P3: ". . factual_audit returned rejected . . . .",
    P4: ". . approved returned rejected . . . .",
    A: ". . . returned rejected locked . . .",
    L: ". . . . . . . returned .",
    RET: "submitted . . . . . . . .",
    REJ: ". . . . . . . . returned",
}
PILOT = "pilot_graph pilot_convergence pilot_leakage pilot_checklist pilot_multimodal pilot_answer"
RULES = [(state, move, word) for state in State for move, word in zip(Move, TABLE[state].split(), strict=True)]


@pytest.mark.parametrize(("state", "move", "word"), RULES)
def test_every_state_and_move_is_decided(state: State, move: Move, word: str) -> None:
    assert ((state, move) in TRANSITIONS) != ((state, move) in REFUSED)
    assert next_state(state, move) == (None if word == "." else State(word))


def test_tables_together_hold_nothing_else() -> None:
    assert len(TRANSITIONS) + len(REFUSED) == len(State) * len(Move) == len(RULES)


@pytest.mark.parametrize(
    ("state", "move", "role"),
    [
        (D, Move.SUBMIT, None),
        (RET, Move.SUBMIT, None),
        (S, Move.WITHDRAW, None),
        (S, Move.PASS, Role.CORE),
        (P2, Move.PASS, Role.AUDITOR),
        (P3, Move.PASS, Role.AUDITOR),
        (P4, Move.PASS, Role.CORE),
        (P2, Move.RETURN, Role.AUDITOR),
        (P4, Move.REJECT, Role.CORE),
        (A, Move.RETURN, Role.CORE),
        (A, Move.LOCK, Role.CORE),
        (L, Move.UNLOCK, Role.CORE),
        (REJ, Move.REOPEN, Role.CORE),
        (D, Move.LOCK_IMPORTED, Role.ADMIN),
    ],
)
def test_role_for_each_move_is_the_least_that_may(state: State, move: Move, role: Role | None) -> None:
    assert role_for(state, move) is role


@pytest.mark.parametrize(
    ("number", "state", "role", "criteria", "gates"),
    [
        (1, S, Role.CORE, PILOT, ""),
        (
            2,
            P2,
            Role.AUDITOR,
            "chain path minimal support unique public",
            "uniqueness leakage irreducibility source_support metadata",
        ),
        (3, P3, Role.AUDITOR, "non_text changes_state probes", "multimodal shortcut"),
        (4, P4, Role.CORE, "urls breadth inspectable metadata", "source_support multimodal metadata"),
    ],
)  # fmt: skip
def test_phases_have_their_criteria_in_the_fixed_order(
    number: int, state: State, role: Role, criteria: str, gates: str
) -> None:
    phase = PHASES[number - 1]
    assert (phase.number, phase.state, phase.role) == (number, state, role)
    assert [criterion.code for criterion in phase.criteria] == criteria.split()
    assert [gate.value for gate in phase.gates] == gates.split()
    assert phase_of(state) is phase


@pytest.mark.parametrize("state", [D, A, L, RET, REJ])
def test_states_outside_the_audit_have_no_phase(state: State) -> None:
    assert phase_of(state) is None


@pytest.mark.parametrize(
    ("gate", "codes"),
    [
        (Gate.UNIQUENESS, "unique"),
        (Gate.LEAKAGE, "path"),
        (Gate.IRREDUCIBILITY, "chain minimal"),
        (Gate.SOURCE_SUPPORT, "support urls breadth"),
        (Gate.MULTIMODAL, "non_text changes_state inspectable"),
        (Gate.SHORTCUT, "probes"),
        (Gate.METADATA, "public metadata"),
    ],
)
def test_each_gate_is_fed_by_its_criteria(gate: Gate, codes: str) -> None:
    assert FEEDS[gate] == tuple(codes.split())


def test_criteria_that_are_ticked_are_support_and_urls() -> None:
    assert [code for code, criterion in CRITERIA.items() if criterion.ticks] == ["support", "urls"]


@pytest.mark.parametrize(
    ("section", "stale"),
    [
        ("question", "uniqueness leakage source_support shortcut"),
        ("design", ""),
        ("graph", "uniqueness leakage irreducibility source_support"),
        ("checklist", "uniqueness irreducibility source_support multimodal"),
        ("sources", "uniqueness source_support multimodal metadata"),
        ("images", "multimodal shortcut metadata"),
        ("metadata", "metadata"),
    ],
)
def test_edit_of_a_section_makes_exactly_these_gates_stale(section: str, stale: str) -> None:
    entries = gate_entries(results(at(1)))
    present = {**at(1), section: "edited"}
    found = [gate.value for gate in Gate if gate_status(entries[gate.value], gate, present) is GateStatus.STALE]
    assert found == stale.split()


# --- gate entries -------------------------------------------------------------------------------------------------


def at(revision: int) -> dict[str, str]:
    """Section hashes of a revision in which everything changed."""
    return {section: f"{section}-{revision}" for section in SECTIONS}


def result(code: str, hashes: dict[str, str], *, passed: bool = True, revision: int = 1) -> Result:
    return Result(code, passed, hashes, f"by-{code}", datetime(2026, 1, revision, tzinfo=UTC), revision)


def results(hashes: dict[str, str], *codes: str) -> list[Result]:
    return [result(code, hashes) for code in codes or CRITERIA]


def test_gate_entries_when_all_criteria_pass_is_seven_passed_gates() -> None:
    entries = gate_entries(results(at(1)))
    assert list(entries) == [gate.value for gate in Gate]
    assert all(gate_status(entries[gate.value], gate, at(1)) is GateStatus.PASSED for gate in Gate)


def test_gate_entries_without_results_is_empty() -> None:
    assert gate_entries([]) == {}


def test_gate_entries_when_the_pilot_alone_was_answered_is_empty() -> None:
    assert gate_entries(results(at(1), *(c.code for c in PHASES[0].criteria))) == {}


def test_gate_with_one_criterion_unanswered_stays_open() -> None:
    entries = gate_entries(results(at(1), "support", "urls"))  # breadth is missing
    assert Gate.SOURCE_SUPPORT.value not in entries


def test_gate_with_one_failed_criterion_is_failed_though_others_are_unanswered() -> None:
    entries = gate_entries([result("support", at(1), passed=False)])
    assert gate_status(entries["source_support"], Gate.SOURCE_SUPPORT, at(1)) is GateStatus.FAILED


def test_gate_that_failed_at_the_present_content_is_failed_whatever_the_others_saw() -> None:
    entries = gate_entries([result("chain", at(1)), result("minimal", at(2), passed=False, revision=2)])
    assert gate_status(entries["irreducibility"], Gate.IRREDUCIBILITY, at(2)) is GateStatus.FAILED
    assert gate_status(entries["irreducibility"], Gate.IRREDUCIBILITY, at(3)) is GateStatus.STALE


def test_gate_whose_criteria_saw_different_content_is_stale_for_both() -> None:
    edited = {**at(1), "graph": "edited"}
    entries = gate_entries([result("chain", at(1)), result("minimal", edited, revision=2)])
    for present in (at(1), edited):
        assert gate_status(entries["irreducibility"], Gate.IRREDUCIBILITY, present) is GateStatus.STALE


def test_gate_whose_criteria_saw_different_sections_it_does_not_depend_on_passes() -> None:
    later = {**at(1), "metadata": "edited"}  # irreducibility depends on graph and checklist alone
    entries = gate_entries([result("chain", at(1)), result("minimal", later, revision=2)])
    assert gate_status(entries["irreducibility"], Gate.IRREDUCIBILITY, later) is GateStatus.PASSED


def test_gate_entry_says_who_when_and_which_revision_decided() -> None:
    entry = gate_entries([result("chain", at(1)), result("minimal", at(1), revision=3)])["irreducibility"]
    assert (entry["by"], entry["at"], entry["revision"]) == ("by-minimal", "2026-01-03T00:00:00+00:00", 3)
    assert set(entry["hashes"]) == set(GATE_SECTIONS[Gate.IRREDUCIBILITY])


@pytest.mark.parametrize(
    ("passed", "hashes", "expected"), [(True, at(1), True), (True, at(2), False), (False, at(1), False)]
)
def test_criterion_holds_when_it_passed_at_the_present_content(
    passed: bool, hashes: dict[str, str], expected: bool
) -> None:
    assert holds(CRITERIA["chain"], result("chain", hashes, passed=passed), at(1)) is expected
    assert holds(CRITERIA["chain"], None, at(1)) is False


def test_pilot_criterion_depends_on_everything_but_the_design() -> None:
    assert set(CRITERIA["pilot_graph"].sections) == set(SECTIONS) - {"design"}


# --- sandbox ------------------------------------------------------------------------------------------------------


def test_probes_are_required_on_paper_and_optional_in_a_sandbox() -> None:
    assert [c.code for c in required_criteria(PHASES[2], sandbox=False)] == ["non_text", "changes_state", "probes"]
    assert [c.code for c in required_criteria(PHASES[2], sandbox=True)] == ["non_text", "changes_state"]


def test_gates_in_the_way_when_probes_are_unanswered_blocks_on_paper_only() -> None:
    entries = gate_entries(results(at(1), *(code for code in CRITERIA if code != "probes")))
    assert gates_in_the_way(entries, at(1), sandbox=False) == [(Gate.SHORTCUT, GateStatus.OPEN)]
    assert gates_in_the_way(entries, at(1), sandbox=True) == []


def test_gates_in_the_way_when_probes_failed_blocks_in_a_sandbox_too() -> None:
    answers = [result(code, at(1), passed=code != "probes") for code in CRITERIA]
    assert gates_in_the_way(gate_entries(answers), at(1), sandbox=True) == [(Gate.SHORTCUT, GateStatus.FAILED)]


def test_gates_in_the_way_when_one_is_stale_names_it() -> None:
    edited = {**at(1), "metadata": "edited"}
    found = gates_in_the_way(gate_entries(results(at(1))), edited, sandbox=True)
    assert found == [(Gate.METADATA, GateStatus.STALE)]
