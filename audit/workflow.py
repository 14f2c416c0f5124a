"""The workflow as tables: moves, transitions, phases, criteria and the gates they feed. The rule book is its test.

PURE: imports no Django, only `annotation.states` and `annotation.document`. Texts are English; the Django side
translates them.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Any, Final

from annotation.document import SECTIONS
from annotation.states import GATE_SECTIONS, Gate, GateStatus, Role, State, gate_status


class Move(StrEnum):
    """What can be done to an item's state. Which state it leads to stands in TRANSITIONS."""

    SUBMIT = "submit"
    WITHDRAW = "withdraw"
    PASS = "pass"
    RETURN = "return"
    REJECT = "reject"
    LOCK = "lock"
    LOCK_IMPORTED = "lock_imported"  # for trying out, without an audit
    UNLOCK = "unlock"
    REOPEN = "reopen"


GIVEN_BACK: Final = "given_back"  # outcome of a review that its auditor gave up
JUDGING: Final = (Move.PASS, Move.RETURN, Move.REJECT)  # what a review ends with


class Rule(StrEnum):
    """What an admin can set aside for one item, with a reason; the first two for one person each."""

    OWN_ITEM = "own_item"
    SAME_AUDITOR = "same_auditor"
    GRADEABILITY = "gradeability"
    PROBES = "probes"


RULES_OF_PEOPLE: Final = frozenset({Rule.OWN_ITEM, Rule.SAME_AUDITOR})
APART: Final = {2: 4, 4: 2}  # phase -> the one that somebody else judges, where the plan wants so

_JUDGED: Final = (
    State.SUBMITTED,
    State.SECONDARY_AUDIT,
    State.MULTIMODAL_AUDIT,
    State.FACTUAL_AUDIT,
    State.APPROVED,
)

TRANSITIONS: Final[dict[tuple[State, Move], State]] = {
    (State.DRAFT, Move.SUBMIT): State.SUBMITTED,
    (State.RETURNED, Move.SUBMIT): State.SUBMITTED,
    (State.SUBMITTED, Move.WITHDRAW): State.DRAFT,
    (State.SUBMITTED, Move.PASS): State.SECONDARY_AUDIT,
    (State.SECONDARY_AUDIT, Move.PASS): State.MULTIMODAL_AUDIT,
    (State.MULTIMODAL_AUDIT, Move.PASS): State.FACTUAL_AUDIT,
    (State.FACTUAL_AUDIT, Move.PASS): State.APPROVED,
    **{(state, Move.RETURN): State.RETURNED for state in _JUDGED},
    **{(state, Move.REJECT): State.REJECTED for state in _JUDGED},
    (State.APPROVED, Move.LOCK): State.LOCKED,
    (State.DRAFT, Move.LOCK_IMPORTED): State.LOCKED,
    (State.LOCKED, Move.UNLOCK): State.RETURNED,
    (State.REJECTED, Move.REOPEN): State.RETURNED,
}

REFUSED: Final = frozenset((state, move) for state in State for move in Move) - TRANSITIONS.keys()

NEEDS_REASON: Final = frozenset({Move.RETURN, Move.REJECT, Move.UNLOCK, Move.REOPEN})


@dataclass(frozen=True, slots=True)
class Criterion:
    """One question an auditor answers. `gate` is what its answer feeds; the pilot's feed none."""

    code: str
    gate: Gate | None
    title: str
    help: str
    ticks: bool = False  # passes only when every element it is about was ticked by a person

    @property
    def sections(self) -> tuple[str, ...]:
        """The sections an answer depends on: those of its gate; for the pilot everything a system or judge meets."""
        return GATE_SECTIONS[self.gate] if self.gate else tuple(name for name in SECTIONS if name != "design")


@dataclass(frozen=True, slots=True)
class Phase:
    number: int
    state: State
    role: Role
    title: str
    criteria: tuple[Criterion, ...]

    @property
    def gates(self) -> tuple[Gate, ...]:
        """The gates this phase feeds, in the fixed order of gates."""
        fed = {criterion.gate for criterion in self.criteria}
        return tuple(gate for gate in Gate if gate in fed)


PHASES: Final = (
    Phase(
        1,
        State.SUBMITTED,
        Role.CORE,
        "Pilot and calibration",
        (
            Criterion(
                "pilot_graph",
                None,
                "The graph is natural",
                "Entities and relations that people would speak of; no link made up only to lengthen the chain.",
            ),
            Criterion(
                "pilot_convergence",
                None,
                "All branches end in one answer",
                "Following every constraint leads to exactly one entity and one answer.",
            ),
            Criterion(
                "pilot_leakage",
                None,
                "The question keeps the path hidden",
                "No hidden entity, alias or value is named or easily guessed from the question.",
            ),
            Criterion(
                "pilot_checklist",
                None,
                "The checklist has the right form",
                "Necessary conclusions as statements, one each, with direct prerequisites; no browsing actions.",
            ),
            Criterion(
                "pilot_multimodal",
                None,
                "Non-text evidence is needed",
                "At least one key conclusion cannot be reached from text alone.",
            ),
            Criterion(
                "pilot_answer",
                None,
                "The answer has the right format",
                "Short, unambiguous, with the aliases and units a judge needs.",
            ),
        ),
    ),
    Phase(
        2,
        State.SECONDARY_AUDIT,
        Role.AUDITOR,
        "Secondary audit",
        (
            Criterion(
                "chain",
                Gate.IRREDUCIBILITY,
                "The hidden chain cannot be skipped",
                "Try to reach the answer directly, or from the middle of the chain.",
            ),
            Criterion(
                "path",
                Gate.LEAKAGE,
                "The question does not reveal the path",
                "Read the question as a system sees it; look at every marked span.",
            ),
            Criterion(
                "minimal",
                Gate.IRREDUCIBILITY,
                "The checklist is minimal",
                "Every step is needed for the answer, and no two say the same.",
            ),
            Criterion(
                "support",
                Gate.SOURCE_SUPPORT,
                "Sources support every element",
                "Every key node, relation, conclusion and the answer: one tick each.",
                ticks=True,
            ),
            Criterion(
                "unique",
                Gate.UNIQUENESS,
                "Only one answer, short and stable",
                "Rivals are ruled out by a constraint, and the answer holds in the question's time frame.",
            ),
            Criterion(
                "public",
                Gate.METADATA,
                "Public matters only",
                "Nothing about private persons: no e-mail, phone number, home address or the like.",
            ),
        ),
    ),
    Phase(
        3,
        State.MULTIMODAL_AUDIT,
        Role.AUDITOR,
        "Multimodal audit and shortcuts",
        (
            Criterion(
                "non_text",
                Gate.MULTIMODAL,
                "A key conclusion depends on non-text evidence",
                "Cover the picture, map, PDF or video: the conclusion is out of reach.",
            ),
            Criterion(
                "changes_state",
                Gate.MULTIMODAL,
                "That evidence changes the reasoning",
                "It takes part in the chain: what follows rests on what it showed.",
            ),
            Criterion(
                "probes",
                Gate.SHORTCUT,
                "No shortcut recovers the answer",
                "Ask a web-enabled system the question with its images, and without: no direct answer, no single "
                "query, no single page and no text-only way leads there. If one does: rewrite, constrain, or reject.",
            ),
        ),
    ),
    Phase(
        4,
        State.FACTUAL_AUDIT,
        Role.CORE,
        "Factual audit and metadata",
        (
            Criterion(
                "urls",
                Gate.SOURCE_SUPPORT,
                "Every URL opens and says what is claimed",
                "Open each one and compare it with its claim: one tick each.",
                ticks=True,
            ),
            Criterion(
                "breadth",
                Gate.SOURCE_SUPPORT,
                "No single kind of source dominates",
                "Neither Wikipedia nor one text-only page carries the item.",
            ),
            Criterion(
                "inspectable",
                Gate.MULTIMODAL,
                "Non-text evidence can be inspected",
                "Images, maps, PDFs and videos are there, legible, and show what the step says.",
            ),
            Criterion(
                "metadata",
                Gate.METADATA,
                "Metadata is right and complete",
                "Category, template, tags; credit and licence of images; title, kind and date of sources.",
            ),
        ),
    ),
)

CRITERIA: Final[dict[str, Criterion]] = {c.code: c for phase in PHASES for c in phase.criteria}
PHASE_OF_CRITERION: Final[dict[str, Phase]] = {c.code: phase for phase in PHASES for c in phase.criteria}
FEEDS: Final[dict[Gate, tuple[str, ...]]] = {
    gate: tuple(code for code, criterion in CRITERIA.items() if criterion.gate is gate) for gate in Gate
}
OPTIONAL_IN_SANDBOX: Final = frozenset({"probes"})

_PHASE_OF_STATE: Final = {phase.state: phase for phase in PHASES}


def phase_of(state: State) -> Phase | None:
    """The phase an item is in; None when it is in none."""
    return _PHASE_OF_STATE.get(state)


def next_state(state: State, move: Move) -> State | None:
    """Where a move leads; None when it is refused in this state."""
    return TRANSITIONS.get((state, move))


def required_criteria(phase: Phase, *, sandbox: bool) -> tuple[Criterion, ...]:
    """What must be answered before the phase can be passed."""
    return tuple(c for c in phase.criteria if not (sandbox and c.code in OPTIONAL_IN_SANDBOX))


def role_for(state: State, move: Move) -> Role | None:
    """The least role for a move out of a state; None where it belongs to the author and co-editors."""
    if move in (Move.SUBMIT, Move.WITHDRAW):
        return None
    if move is Move.LOCK_IMPORTED:
        return Role.ADMIN
    phase = phase_of(state)
    return phase.role if phase else Role.CORE


# --- results and gates --------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Result:
    """The latest answer to one criterion, with the section hashes of the revision it looked at."""

    criterion: str
    passed: bool
    section_hashes: Mapping[str, str]
    by: str
    at: datetime
    revision: int


def is_fresh(criterion: Criterion, judged: Mapping[str, str], present: Mapping[str, str]) -> bool:
    """Whether every section that the criterion depends on is still the one that was judged."""
    return all(judged.get(section) == present.get(section) for section in criterion.sections)


def holds(criterion: Criterion, result: Result | None, present: Mapping[str, str]) -> bool:
    """Whether a criterion has a passing answer for the present content."""
    return result is not None and result.passed and is_fresh(criterion, result.section_hashes, present)


def gate_entries(results: Iterable[Result]) -> dict[str, dict[str, Any]]:
    """The summary kept on an item, from the latest result of each criterion (at most one each).

    A gate failed when a criterion that feeds it failed, and passed when all of them passed; else it has no entry and is
    open. `hashes` are those of the results that decided (all for passed, the failing ones for failed). Where they
    disagree on a section, no content satisfies all of them: its hash is "", so that `annotation.states.gate_status`
    gives stale. `by`, `at` (ISO 8601) and `revision` are the newest deciding result's.
    """
    latest = {result.criterion: result for result in results}
    entries: dict[str, dict[str, Any]] = {}
    for gate, codes in FEEDS.items():
        answered = [latest[code] for code in codes if code in latest]
        deciding = [result for result in answered if not result.passed]
        status = GateStatus.FAILED
        if not deciding:
            if len(answered) < len(codes):
                continue
            deciding, status = answered, GateStatus.PASSED
        newest = max(deciding, key=lambda result: result.at)
        hashes = {}
        for section in GATE_SECTIONS[gate]:
            seen = {result.section_hashes.get(section, "") for result in deciding}
            hashes[section] = seen.pop() if len(seen) == 1 else ""
        entries[gate.value] = {
            "status": status.value,
            "hashes": hashes,
            "by": newest.by,
            "at": newest.at.isoformat(timespec="seconds"),
            "revision": newest.revision,
        }
    return entries


def gates_in_the_way(
    gates: Mapping[str, Any], present: Mapping[str, str], *, sandbox: bool
) -> list[tuple[Gate, GateStatus]]:
    """The gates that keep an item from being locked. In a sandbox one that only optional criteria feed may be open."""
    found = [(gate, gate_status(gates.get(gate.value), gate, present)) for gate in Gate]
    return [
        (gate, status)
        for gate, status in found
        if status is not GateStatus.PASSED
        and not (sandbox and status is not GateStatus.FAILED and OPTIONAL_IN_SANDBOX.issuperset(FEEDS[gate]))
    ]
