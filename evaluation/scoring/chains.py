"""Where chains break: first missing steps, what each costs downstream, failure by dependency level, and how much DACS
hangs on the edges as annotated.

Pure: imports no Django. NumPy is imported inside the functions that need it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

from .metrics import ReleaseGraph, closures, compile_graphs, score_matrix

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import ArrayLike, NDArray

THIRDS: Final = 3
SHARES: Final = (0.1, 0.25, 0.5)  # of the edges, left out at random
Prerequisites = Sequence[Sequence[int]]


def levels(prerequisites: Prerequisites) -> list[int]:
    """The level of each step: 0 without prerequisites, else one more than the highest of its direct prerequisites.

    Errors as for `closures`.
    """
    need = closures(prerequisites)
    result = [0] * len(need)
    for step in sorted(range(len(need)), key=lambda at: need[at].bit_count()):  # ancestors have smaller closures
        result[step] = max((result[k] + 1 for k in prerequisites[step]), default=0)
    return result


def third_of(level: int, count: int) -> int | None:
    """0, 1 or 2: the third of an item's `count` levels that a level lies in, floor(3 level / levels).

    None for an item of fewer than three levels, which has no thirds.
    """
    return None if count < THIRDS else THIRDS * level // count


def first_missing(stated: Sequence[int], prerequisites: Prerequisites) -> tuple[int, ...]:
    """The root causes of a response: steps not stated of which all transitive prerequisites are; in checklist order.

    () where everything is stated. Errors as for `credits`.
    """
    need = closures(prerequisites)
    if len(stated) != len(need):
        raise ValueError(f"the vector has length {len(stated)}, expected {len(need)}")
    missing = sum(1 << at for at, flag in enumerate(stated) if not flag)
    return tuple(at for at, ancestors in enumerate(need) if ancestors & missing == 1 << at)


def cascade_loss(stated: Sequence[int], prerequisites: Prerequisites) -> list[float]:
    """What each missing step costs downstream: the credit of stated steps that it blocks, as a share of the checklist.

    A stated step that k missing ancestors block gives each of them 1/k, so that the sum over the steps is CS - DACS of
    the item, exactly. 0 for steps that are stated.  Errors as for `credits`.
    """
    need = closures(prerequisites)
    if len(stated) != len(need):
        raise ValueError(f"the vector has length {len(stated)}, expected {len(need)}")
    loss = [0.0] * len(need)
    for step, ancestors in enumerate(need):
        blocking = [at for at in range(len(need)) if ancestors >> at & 1 and not stated[at]]
        if stated[step]:
            for at in blocking:
                loss[at] += 1 / len(blocking) / len(need)
    return loss


def breaks(stated: ArrayLike, prerequisites: Prerequisites) -> tuple[NDArray[np.bool_], NDArray[np.float64]]:
    """`first_missing` as flags and `cascade_loss`, of many responses to one item at once: (R, m) each.

    stated: (R, m) of 0 and 1, R may be 0.  Errors as for `closures`.
    """
    import numpy as np

    need = closures(prerequisites)
    above = np.array([[ancestors >> k & 1 for k in range(len(need))] for ancestors in need], dtype=np.float64)
    flags = np.asarray(stated) == 1
    lacking = ~flags @ above.T  # (R, m) how many of a step and its ancestors are missing
    share = np.divide(flags, lacking * len(need), out=np.zeros(flags.shape), where=lacking > 0)
    return ~flags & (lacking == 1), ~flags * (share @ above)


@dataclass(frozen=True, slots=True)
class StepCost:
    """One step over the R responses that were judged. missing: how many do not state it. first: how many break first
    there; share: what these weigh, of all.  loss: mean credit that it costs downstream, as a share of the checklist.
    Both are 0 where R = 0."""

    missing: int
    first: int
    share: float
    loss: float


def step_costs(
    stated: ArrayLike, prerequisites: Prerequisites, weights: Sequence[float] | ArrayLike | None = None
) -> list[StepCost]:
    """What each step of an item costs, in checklist order; the losses add up to the mean of CS - DACS.

    stated: (R, m) of 0 and 1, R may be 0.  weights: (R,) of the responses in the means; alike without them.
    Errors as for `closures`.
    """
    import numpy as np

    first, loss = breaks(stated, prerequisites)
    each = np.ones(len(first)) if weights is None else np.asarray(weights, dtype=np.float64)
    total = each.sum() or 1.0
    missing = (np.asarray(stated) != 1).reshape(first.shape).sum(axis=0)
    columns = missing, first.sum(axis=0), each @ first / total, each @ loss / total
    return [StepCost(*its) for its in zip(*(column.tolist() for column in columns), strict=True)]


@dataclass(frozen=True, slots=True)
class LevelFailure:
    """Steps judged and failed in each third of the levels, first to last, and of items under three levels last.

    rates: weighted share that failed; None where there is no step.
    """

    steps: tuple[int, ...]
    failed: tuple[int, ...]
    rates: tuple[float | None, ...]


def failure_by_level(
    stated: NDArray[np.int8], graphs: Sequence[Prerequisites], weights: NDArray[np.float64] | None = None
) -> LevelFailure:
    """Failure by dependency level over responses with a verdict.

    stated: (R, n, M) of 1 and 0, -1 beyond a checklist and without a verdict.  graphs: of the n items.
    weights: (R, n) of the responses in the rates; alike without them.
    """
    import numpy as np

    each = np.ones(stated.shape[:2]) if weights is None else weights
    steps, failed = np.zeros(THIRDS + 1, dtype=np.int64), np.zeros(THIRDS + 1, dtype=np.int64)
    weight, lost = np.zeros(THIRDS + 1), np.zeros(THIRDS + 1)
    for item, prerequisites in enumerate(graphs):
        level = levels(prerequisites)
        count = max(level) + 1
        thirds = [third_of(each, count) for each in level]
        place = [THIRDS if third is None else third for third in thirds]  # the last is that of short items
        flags = stated[:, item, : len(level)]
        np.add.at(steps, place, (flags >= 0).sum(axis=0))
        np.add.at(failed, place, (flags == 0).sum(axis=0))
        np.add.at(weight, place, each[:, item] @ (flags >= 0))
        np.add.at(lost, place, each[:, item] @ (flags == 0))
    rates = tuple(float(part) / float(whole) if whole else None for part, whole in zip(lost, weight, strict=True))
    return LevelFailure(tuple(steps.tolist()), tuple(failed.tolist()), rates)


@dataclass(frozen=True, slots=True)
class Sensitivity:
    """DACS as annotated, and its range when the graph is another: each edge left out in turn, random edges left out,
    and every step depending on all its transitive prerequisites directly (closure: the same DACS by definition).

    one_edge: lowest and highest mean over single edges left out; edges: how many there are.
    deleted: share of edges left out -> (lowest, mean, highest) of the mean DACS over draws.
    """

    dacs: float
    cs: float
    edges: int
    one_edge: tuple[float, float]
    closure: float
    deleted: dict[float, tuple[float, float, float]]


def sensitivity(
    stated: NDArray[np.int8],
    graphs: Sequence[Prerequisites],
    *,
    run_of: Sequence[int] | ArrayLike | None = None,
    shares: Sequence[float] = SHARES,
    draws: int = 100,
    seed: int = 0,
) -> list[Sensitivity]:
    """How much the mean DACS of each run hangs on the edges. Leaving edges out can only raise it, up to CS.

    stated: (S, n, M) of 1 and 0, -1 beyond a checklist and without a verdict, which scores zero whatever the graph.
    graphs: of the n items.  run_of: (S,) the run that each row is a sample of; without it each row is a run.
    All runs meet the same draws (PCG64 with the seed).
    Raises ValueError without items, and as `closures` does.
    """
    import numpy as np

    n = len(graphs)
    place = np.arange(len(stated)) if run_of is None else np.asarray(run_of)
    alone = np.array_equal(place, np.arange(len(place)))  # one row for each run: there is no mean to take
    mean = (np.arange(place.max() + 1)[:, None] == place) / np.bincount(place)[:, None]  # (R, S): over the samples
    whole = compile_graphs(graphs)
    packed = whole.pack_array(stated)  # once, as every variant meets the same answers

    def dacs(said: NDArray[np.uint64], graph: ReleaseGraph) -> NDArray[np.float64]:
        found = _dacs(said, graph)
        return found if alone else np.asarray(mean @ found)

    base = dacs(packed, whole)
    total = base.mean(axis=1)
    edges = [(item, step, k) for item, graph in enumerate(graphs) for step, d in enumerate(graph) for k in set(d)]
    of = [item for item, _step, _k in edges]
    variants = [
        [[j for j in d if (at, j) != (step, k)] for at, d in enumerate(graphs[item])] for item, step, k in edges
    ]
    gains = [np.zeros((len(mean), 1))]  # where there is no edge, nothing is gained
    if of:
        blocks = range(0, len(of), _BLOCK)
        parts = [dacs(packed[:, of[at : at + _BLOCK]], compile_graphs(variants[at : at + _BLOCK])) for at in blocks]
        gains = [(np.hstack(parts) - base[:, of]) / n]
    generator = np.random.Generator(np.random.PCG64(seed))
    deleted = {}
    for share in shares:
        means = []
        for _draw in range(draws):
            kept = generator.random(len(edges)) >= share
            means.append(dacs(packed, _with_edges(whole, edges, kept)).mean(axis=1))
        deleted[share] = np.array(means)
    closed = [[[k for k in range(len(need)) if need[at] >> k & 1 and k != at] for at in range(len(need))]
              for need in map(closures, graphs)]  # fmt: skip
    with_all = dacs(packed, compile_graphs(closed)).mean(axis=1)
    lengths = np.array([len(graph) for graph in graphs])
    cs = (mean @ ((stated == 1).sum(axis=2) / lengths)).mean(axis=1)
    return [
        Sensitivity(
            float(total[run]),
            float(cs[run]),
            len(of),
            (float(total[run] + gains[0][run].min()), float(total[run] + gains[0][run].max())),
            float(with_all[run]),
            {s: (float(m[:, run].min()), float(m[:, run].mean()), float(m[:, run].max())) for s, m in deleted.items()},
        )
        for run in range(len(mean))
    ]


_BLOCK: Final = 1_000  # graphs scored at once


def _with_edges(whole: ReleaseGraph, edges: Sequence[tuple[int, int, int]], kept: NDArray[np.bool_]) -> ReleaseGraph:
    """The graphs with those of their edges (item, step, prerequisite) alone that are kept.

    All items at once, step by step, where prerequisites stand before their steps and 64 bits hold a checklist.
    """
    import numpy as np

    items, steps, needed = np.array(edges, dtype=np.intp).reshape(-1, 3)[kept].T
    longest = int(whole.steps.max())
    if len(whole.full) > 1 or (needed >= steps).any():
        lists: list[list[list[int]]] = [[[] for _step in range(length)] for length in whole.steps.tolist()]
        for item, step, k in zip(items.tolist(), steps.tolist(), needed.tolist(), strict=True):
            lists[item][step].append(k)
        return compile_graphs(lists)
    direct = np.zeros((len(whole.steps), longest, longest), dtype=bool)
    direct[items, steps, needed] = True
    need = np.zeros((len(whole.steps), longest), dtype=np.uint64)
    for step in range(longest):
        below = np.where(direct[:, step, :step], need[:, :step], 0)
        need[:, step] = np.bitwise_or.reduce(below, axis=1) | np.uint64(1 << step)
    return replace(whole, need=need[np.arange(longest) < whole.steps[:, None]][None, :, None])


def _dacs(packed: NDArray[np.uint64], graph: ReleaseGraph) -> NDArray[np.float64]:
    """(R, items) DACS of every run. packed: (R, items, W)."""
    import numpy as np

    said = packed[..., : len(graph.full)]
    return score_matrix(graph, np.zeros(said.shape[:2], dtype=bool), said).dacs
