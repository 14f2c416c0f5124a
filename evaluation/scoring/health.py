"""Items that do not measure: never or always solved, at odds with the rest, and keys that many systems contradict.

Pure: imports no Django. NumPy is imported inside the functions that need it.
"""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from .bootstrap import TIE

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

FEW_SYSTEMS: Final = 3  # fewer agreeing systems are no consensus


@dataclass(frozen=True, slots=True)
class ItemHealth:
    """One item over k systems. solved: how many got the answer, of several samples in any.  share: mean over the
    systems.  total_correlation: of the item's answer with the systems' mean on the other items; None where either does
    not vary, or fewer than three systems."""

    systems: int
    solved: int
    share: float
    always_solved: bool
    total_correlation: float | None

    @property
    def never_solved(self) -> bool:
        return self.solved == 0


def item_health(answers: ArrayLike) -> list[ItemHealth]:
    """One per item. answers: (k, n) of k systems on n items, the share of samples with a right answer; k >= 1.

    The corrected item-total correlation: the item is not part of the total it is held against. With one item there is
    no rest, and no correlation.  Raises ValueError for another shape or without systems.
    """
    import numpy as np

    right = np.asarray(answers, dtype=np.float64)
    if right.ndim != 2 or len(right) == 0:
        raise ValueError(f"the shape {right.shape} is not that of systems by items")
    systems, items = right.shape
    rest = right.sum(axis=1, keepdims=True) - right
    rows = []
    for at in range(items):
        own, other = right[:, at], rest[:, at]
        correlation = None
        if systems >= FEW_SYSTEMS and items > 1 and own.std() > 0 and other.std() > 0:
            correlation = float(np.corrcoef(own, other)[0, 1])
        rows.append(
            ItemHealth(
                systems,
                int((own > 0).sum()),
                float(own.mean()),
                bool((own > 1 - TIE).all()),
                correlation,
            )
        )
    return rows


_MARKERS: Final = re.compile(
    r"(?:final answer|the answer is|answer|最终答案|答案)\s*(?:is|:|：|为|是)?\s*[:：]?\s*(.+)", re.IGNORECASE
)
_LEADING: Final = re.compile(r"^(?:the|an|a)\s+", re.IGNORECASE)


def final_answer(text: str) -> str:
    """What a response gives as its answer: the rest of the last line that says so, else its last line; "" for none.

    A guess by form alone, good enough to see whether several systems say the same.
    """
    lines = [line.strip(" \t*_#>`-") for line in text.splitlines()]
    lines = [line for line in lines if line]
    for line in reversed(lines):
        if found := _MARKERS.search(line):
            return found[1].strip(" *_`.\"'“”")
    return lines[-1].strip(" *_`.\"'“”") if lines else ""


def normal_answer(text: str) -> str:
    """An answer for comparison: NFKC, case folded, without marks, punctuation, a leading article or extra spaces."""
    plain = unicodedata.normalize("NFKD", unicodedata.normalize("NFKC", text).casefold())
    kept = "".join(c if c.isalnum() else " " for c in plain if not unicodedata.combining(c))
    return _LEADING.sub("", " ".join(kept.split()))


def usual_answer(given: Sequence[str]) -> str | None:
    """Of the answers in the samples of one system, the one given most often, as it was put first; None without any."""
    forms = {answer: normal_answer(answer) for answer in given}
    often = Counter(forms[answer] for answer in given if forms[answer])
    return max((answer for answer in given if forms[answer]), key=lambda answer: often[forms[answer]], default=None)


@dataclass(frozen=True, slots=True)
class Consensus:
    """Systems, by position, that agree on an answer the key does not know; `answer` as the first of them put it."""

    answer: str
    systems: tuple[int, ...]


def consensus_against(given: Sequence[str | None], key: Sequence[str], *, least: int = FEW_SYSTEMS) -> Consensus | None:
    """The most frequent answer that differs from the key, where at least `least` systems and more than give any form of
    the key agree on it; None otherwise.

    given: one final answer per system, None or "" for none.  key: the reference answer and its aliases.
    Compared as `normal_answer`; an answer that contains a form of the key, or is contained in one, counts as the key.
    """
    known = [form for form in map(normal_answer, key) if form]
    wrong: dict[str, list[int]] = {}
    right = 0
    for at, answer in enumerate(given):
        form = normal_answer(answer or "")
        if not form:
            continue
        if any(f" {k} " in f" {form} " or f" {form} " in f" {k} " for k in known):
            right += 1
        else:
            wrong.setdefault(form, []).append(at)
    if not wrong:
        return None
    form, systems = max(wrong.items(), key=lambda pair: (len(pair[1]), -pair[1][0]))
    if len(systems) < least or len(systems) <= right:
        return None
    return Consensus(str(given[systems[0]]).strip(), tuple(systems))


def ranks(values: Sequence[float]) -> list[int]:
    """Competition ranks from 1, the highest value first; equal values share the better rank."""
    below = Counter(values)
    place, result = 1, {}
    for value in sorted(below, reverse=True):
        result[value] = place
        place += below[value]
    return [result[value] for value in values]
