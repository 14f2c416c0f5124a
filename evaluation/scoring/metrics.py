"""OA, SA, CS and DACS: for one item in plain Python, for many systems and items as NumPy bit sets.

Pure: imports no Django. NumPy is imported inside the functions that need it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, Literal, NamedTuple

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import ArrayLike, NDArray

METRICS = ("OA", "SA", "CS", "DACS")
_WORD = 64


class Profile(StrEnum):
    """How verdicts and graphs that break the rules are treated: rejected, or repaired as the paper's evaluator does."""

    STRICT = "strict"
    AS_PUBLISHED = "as-published"


@dataclass(frozen=True, slots=True)
class ItemScores:
    """The four metrics of one item, as fractions between 0 and 1."""

    oa: float
    sa: float
    cs: float
    dacs: float


@dataclass(frozen=True, slots=True)
class StepCredit:
    """What one step earned, and why.

    satisfied: stated, and so are all its transitive prerequisites.  missing: not stated.
    blocked: stated, but `blocked_by` (indices in checklist order) are transitive prerequisites that were not stated.
    """

    status: Literal["satisfied", "blocked", "missing"]
    blocked_by: tuple[int, ...] = ()


class Inputs(NamedTuple):
    """What the metrics are computed from, after a profile was applied."""

    answer_correct: bool
    stated: tuple[int, ...]
    prerequisites: list[list[int]]


def closures(prerequisites: Sequence[Sequence[int]]) -> list[int]:
    """For each step the bit set (bit k = step k) of itself and all its transitive prerequisites.

    prerequisites: for each of the m steps the 0-based indices of its direct prerequisites, in any order and also
    later in the list than the step; duplicates do no harm.
    Raises ValueError when m == 0, an index is out of range, or there is a cycle (spelled out, prerequisite first).
    """
    steps = len(prerequisites)
    if steps == 0:
        raise ValueError("the checklist is empty")
    in_order = True
    for step, direct in enumerate(prerequisites):
        for index in direct:
            if not 0 <= index < steps:
                raise ValueError(f"step {step} has the prerequisite {index}, but steps are numbered 0 to {steps - 1}")
            in_order = in_order and index < step
    need = [0] * steps  # 0: not visited yet
    if in_order:  # as most checklists are: one pass will do
        for step, direct in enumerate(prerequisites):
            need[step] = 1 << step
            for k in direct:
                need[step] |= need[k]
        return need
    for root in range(steps):
        path = [] if need[root] else [root]  # a depth-first walk without recursion: chains may be long
        walks = [iter(prerequisites[root])] if path else []
        on_path = set(path)
        while path:
            below = next((k for k in walks[-1] if not need[k]), None)
            if below is None:
                step = path.pop()
                walks.pop()
                on_path.discard(step)
                need[step] = 1 << step
                for k in prerequisites[step]:
                    need[step] |= need[k]
            elif below in on_path:
                cycle = [*path[path.index(below) :], below][::-1]
                raise ValueError("the prerequisites form a cycle: " + " -> ".join(map(str, cycle)))
            else:
                path.append(below)
                walks.append(iter(prerequisites[below]))
                on_path.add(below)
    return need


def credits(stated: Sequence[int], prerequisites: Sequence[Sequence[int]]) -> list[StepCredit]:
    """The credit of each step, in checklist order, with the missing ancestors that block it.

    stated: m flags, 0/1 or bool.  prerequisites: as for `closures`.
    `blocked_by` holds ALL missing transitive prerequisites in checklist order, also those behind another missing one.
    Raises ValueError as `closures` does, when `stated` has another length, or holds anything but 0 and 1.
    """
    need = closures(prerequisites)
    missing = ~_bits(stated, len(need))
    result = []
    for step, ancestors in enumerate(need):
        lacking = ancestors & missing
        if not lacking:
            result.append(StepCredit("satisfied"))
        elif lacking >> step & 1:
            result.append(StepCredit("missing"))
        else:
            result.append(StepCredit("blocked", tuple(k for k in range(len(need)) if lacking >> k & 1)))
    return result


def credited_steps(stated: Sequence[int], prerequisites: Sequence[Sequence[int]]) -> tuple[int, ...]:
    """s_j of DACS for each step, 0 or 1: stated together with all its transitive prerequisites.

    Arguments and errors as for `credits`.  Source: Eq. 4 of the paper; the product of 0/1 factors is an AND.
    """
    need = closures(prerequisites)
    missing = ~_bits(stated, len(need))
    return tuple(int(not ancestors & missing) for ancestors in need)


def item_scores(stated: Sequence[int], prerequisites: Sequence[Sequence[int]], answer_correct: bool) -> ItemScores:
    """OA, SA, CS and DACS of one item, as fractions.

    stated: m flags, 0/1 or bool, m >= 1.  prerequisites: as for `closures`.
    Raises ValueError as `credits` does.  Source: Eq. 1-5 of the paper, for one item.
    """
    credited = credited_steps(stated, prerequisites)
    steps, said = len(credited), sum(stated)
    oa = float(bool(answer_correct))
    return ItemScores(oa, oa * (said == steps), said / steps, sum(credited) / steps)


def apply_profile(
    profile: Profile | str,
    prerequisites: Sequence[Sequence[int]],
    answer_correct: bool | None,
    vector: Sequence[int] | None,
) -> Inputs:
    """The inputs of the metrics for one item under a profile.  None stands for a half that could not be read.

    strict: a verdict of which either half is None is no verdict (wrong answer, nothing stated); a vector of another
    length raises ValueError; prerequisites are taken as they are.
    as-published: each readable half counts by itself; a short vector is padded with 0, a long one cut; prerequisites
    that are not earlier steps are dropped.
    No verdict at all (missing, failed or empty response) is None, None in both.
    """
    steps = len(prerequisites)
    if Profile(profile) is Profile.AS_PUBLISHED:
        flags = [int(bool(flag)) for flag in (vector or ())][:steps]
        earlier = [[k for k in direct if 0 <= k < step] for step, direct in enumerate(prerequisites)]
        return Inputs(bool(answer_correct), (*flags, *[0] * (steps - len(flags))), earlier)
    same = [list(direct) for direct in prerequisites]
    if answer_correct is None or vector is None:
        return Inputs(False, (0,) * steps, same)
    _bits(vector, steps)
    return Inputs(bool(answer_correct), tuple(int(flag) for flag in vector), same)


def _bits(flags: Sequence[int], steps: int) -> int:
    if len(flags) != steps:
        raise ValueError(f"the vector has length {len(flags)}, expected {steps}")
    bits = 0
    for step, flag in enumerate(flags):
        if flag not in (0, 1):
            raise ValueError(f"the vector holds {flag!r} for step {step}, expected 0 or 1")
        bits |= int(flag) << step
    return bits


@dataclass(frozen=True, slots=True)
class MatrixScores:
    """The four metrics of every system on every item: float arrays (systems, items), fractions."""

    oa: NDArray[np.float64]
    sa: NDArray[np.float64]
    cs: NDArray[np.float64]
    dacs: NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class ReleaseGraph:
    """The checklist graphs of n items with T steps in all, laid out for `score_matrix`. Made by `compile_graphs`.

    steps: (n,) checklist lengths.  starts: (n,) index of each item's first step among the T.
    full: (W, n, 1) the bits of all steps of an item.  need: (W, T, 1) each step with its transitive prerequisites.
    W is the number of 64-bit words that the longest checklist takes.
    """

    steps: NDArray[np.int64]
    starts: NDArray[np.int64]
    full: NDArray[np.uint64]
    need: NDArray[np.uint64]

    def pack(self, vectors: Sequence[Sequence[Sequence[int] | None]]) -> NDArray[np.uint64]:
        """Checklist vectors, vectors[system][item], as the bit sets (systems, n, W) that `score_matrix` takes.

        None is no verdict: nothing stated.
        Raises ValueError when a system has another number of items, or as `credits` does for a vector.
        """
        lengths = self.steps.tolist()
        rows = []
        for system in vectors:
            if len(system) != len(lengths):
                raise ValueError(f"a system has {len(system)} vectors, the release has {len(lengths)} items")
            rows.append([0 if v is None else _bits(v, m) for v, m in zip(system, lengths, strict=True)])
        return _words(rows, len(self.full))

    def pack_array(self, stated: NDArray[np.int8]) -> NDArray[np.uint64]:
        """As `pack`, of an array (systems, n, M), 1 stated; other values, as beyond a checklist's length, are not."""
        import numpy as np

        said = np.packbits(stated == 1, axis=-1, bitorder="little")[..., : len(self.full) * 8]
        bits = np.zeros((*said.shape[:2], len(self.full) * 8), dtype=np.uint8)
        bits[..., : said.shape[2]] = said
        return bits.view("<u8").astype(np.uint64)


def compile_graphs(prerequisites_per_item: Sequence[Sequence[Sequence[int]]]) -> ReleaseGraph:
    """Lay out the checklist graphs of a release once, for any number of calls of `score_matrix`.

    prerequisites_per_item: for each item what `closures` takes.
    Raises ValueError as `closures` does, and for a release without items.
    """
    import numpy as np

    if not prerequisites_per_item:
        raise ValueError("the release has no items")
    need = [closures(prerequisites) for prerequisites in prerequisites_per_item]
    steps = np.array([len(item) for item in need])
    words = -(-int(steps.max()) // _WORD)
    full = _words([[(1 << len(item)) - 1] for item in need], words)
    flat = _words([[ancestors for item in need for ancestors in item]], words)
    # (W, rows, 1): one contiguous array per word, with a last axis that broadcasts over the systems
    return ReleaseGraph(
        steps,
        np.concatenate(([0], np.cumsum(steps)[:-1])),
        np.ascontiguousarray(full.transpose(2, 0, 1)),
        np.ascontiguousarray(flat.transpose(2, 1, 0)),
    )


def score_matrix(graph: ReleaseGraph, answers: ArrayLike, stated: NDArray[np.uint64]) -> MatrixScores:
    """OA, SA, CS and DACS of every system on every item.

    answers: (systems, n) flags.  stated: (systems, n, W) uint64 bit sets, bit k of word w = step 64 w + k, as
    `ReleaseGraph.pack` gives them; bits beyond a checklist's length must be 0.  A cell without a verdict is 0 in both.
    Raises ValueError when a shape or type does not fit the graph.
    """
    import numpy as np

    flags = np.asarray(answers, dtype=bool)
    words, items, _ = graph.full.shape
    if flags.ndim != 2 or flags.shape[1] != items:
        raise ValueError(f"answers have the shape {flags.shape}, expected (systems, {items})")
    if stated.shape != (*flags.shape, words) or stated.dtype != np.uint64:
        raise ValueError(f"bit sets are {stated.dtype}{stated.shape}, expected uint64{(*flags.shape, words)}")

    said = np.zeros((items, len(flags)), dtype=np.int64)
    complete = np.ones(said.shape, dtype=bool)
    credited = np.ones((graph.need.shape[1], len(flags)), dtype=bool)
    for word in range(words):
        # items along the rows: repeating a row for each step of its item copies whole rows
        have = np.ascontiguousarray(stated[:, :, word].T)
        said += np.bitwise_count(have)
        complete &= have == graph.full[word]
        per_step = np.repeat(have, graph.steps, axis=0)
        per_step &= graph.need[word]
        credited &= per_step == graph.need[word]
    grounded = np.add.reduceat(credited, graph.starts, axis=0, dtype=np.int64)
    return MatrixScores(
        flags.astype(np.float64),
        (flags & complete.T).astype(np.float64),
        said.T / graph.steps,
        grounded.T / graph.steps,
    )


def _words(rows: Sequence[Sequence[int]], words: int) -> NDArray[np.uint64]:
    """Python integers (r, c) as little-endian 64-bit words (r, c, words)."""
    import numpy as np

    columns = len(rows[0]) if rows else 0
    if words == 1:
        return np.array(rows, dtype=np.uint64).reshape(len(rows), columns, 1)
    data = b"".join(bits.to_bytes(words * 8, "little") for row in rows for bits in row)
    return np.frombuffer(data, dtype="<u8").astype(np.uint64).reshape(len(rows), columns, words)
