"""Whether an item can be graded: solutions written out of its key, and what a judge must make of each.

PURE: imports no Django.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from annotation.document import Document
from annotation.graph import descendants

from .scoring.metrics import credited_steps

FULL, WITHOUT, EMPTY = "full", "without", "empty"


def solution(document: Document, case: str, without: str = "") -> str:
    """The response of a case: every conclusion and the answer; the same without one step (a key); or nothing.

    The answer stays when a step is left out, and so do the steps that need it: what they lose, they lose by the graph.
    """
    if case == EMPTY:
        return ""
    told = [step.conclusion for step in document.checklist if case == FULL or step.key != without]
    return "\n\n".join([*told, f"Final answer: {document.answer}"])


def middle_step(document: Document) -> str:
    """Key of the middle one of the steps that others need; of all, where none needs another. "" without steps."""
    below = descendants(document.prerequisite_positions())
    keys = [step.key for step, mask in zip(document.checklist, below, strict=True) if mask]
    keys = keys or [step.key for step in document.checklist]
    return keys[len(keys) // 2] if keys else ""


def new_cases(document: Document, *, every_step: bool = False) -> list[dict[str, Any]]:
    """The cases of a check, none judged yet: full, without the middle step (or without each), empty."""
    left_out = [step.key for step in document.checklist] if every_step else [middle_step(document)]
    cases = [(FULL, ""), *((WITHOUT, key) for key in left_out), (EMPTY, "")]
    return [
        {
            "case": case, "without": key, "expected": list(expected_credit(document, case, key)), "vector": None,
            "answer": None, "output": "", "unparseable": "", "ok": None,
        }
        for case, key in cases
    ]  # fmt: skip


def expected_credit(document: Document, case: str, without: str = "") -> tuple[int, ...]:
    """The credit of each step (0 or 1) that a solution of this case must earn."""
    stated = [int(case == FULL or (case == WITHOUT and step.key != without)) for step in document.checklist]
    return credited_steps(stated, document.prerequisite_positions())


@dataclass(frozen=True, slots=True)
class Outcome:
    """What a judge's verdict on a case says: `ok`, and which steps (0-based) got credit wrongly or lost it."""

    ok: bool
    gained: tuple[int, ...]
    lost: tuple[int, ...]


def outcome(document: Document, case: dict[str, Any], vector: Sequence[int], answer_correct: bool) -> Outcome:
    """Compare a verdict with what the case must earn: credit by step, and the answer for full (yes) and empty (no).

    Without a step the answer may be judged either way: the step may be the one that states it.
    """
    credit = credited_steps(vector, document.prerequisite_positions())
    pairs = list(enumerate(zip(credit, case["expected"], strict=True)))
    gained = tuple(n for n, (got, due) in pairs if got > due)
    lost = tuple(n for n, (got, due) in pairs if got < due)
    answer_ok = {FULL: answer_correct, EMPTY: not answer_correct}.get(case["case"], True)
    return Outcome(not gained and not lost and answer_ok, gained, lost)
