"""Scoring against plain NumPy on the same arrays in the same run: metrics, intervals and kappas.

Run `python -m bench.bench_scoring`. Prints the median and range of each row, and its ratio to the baseline.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable
from typing import Any

import numpy as np

from evaluation.scoring.bootstrap import intervals
from evaluation.scoring.judges import pairs_of
from evaluation.scoring.metrics import ReleaseGraph, compile_graphs, score_matrix

SYSTEMS, ITEMS, COLUMNS, RESAMPLES = 25, 102, 100, 10_000
JUDGES, RATINGS = 12, 8_417
LARGE_SYSTEMS, LARGE_ITEMS = 100, 1_000


def run() -> list[dict[str, Any]]:
    """Rows {name, median, low, high, unit, baseline, ratio}; baseline is the plain form's median in the same unit."""
    rng = np.random.default_rng(7)
    lengths = rng.integers(10, 15, ITEMS)
    graph = compile_graphs(
        [[sorted({int(k) for k in rng.integers(0, j, 2)}) if j else [] for j in range(m)] for m in lengths]
    )
    answers = rng.random((SYSTEMS, ITEMS)) < 0.3
    stated = graph.pack([[(rng.random(m) < 0.7).astype(int).tolist() for m in lengths] for _ in range(SYSTEMS)])
    values = rng.random((ITEMS, COLUMNS))
    ratings = (rng.random((JUDGES, RATINGS)) < 0.4).astype(np.float64)
    large = compile_graphs([[[step - 1] if step else [] for step in range(12)]] * LARGE_ITEMS)
    flags = (rng.random((JUDGES, LARGE_SYSTEMS, LARGE_ITEMS, 12)) < 0.7).astype(np.int8)
    right = rng.random((JUDGES, LARGE_SYSTEMS, LARGE_ITEMS)) < 0.3
    return [
        _row(
            f"metrics for {SYSTEMS} systems x {ITEMS} items",
            lambda: score_matrix(graph, answers, stated),
            lambda: _plain_metrics(graph, answers, stated[:, :, 0]),
            repeats=200,
        ),
        _row(
            f"{COLUMNS} intervals, B = {RESAMPLES}, {ITEMS} items",
            lambda: intervals(values, resamples=RESAMPLES),
            lambda: _plain_intervals(values),
            repeats=10,
        ),
        _row(
            f"{JUDGES * (JUDGES - 1) // 2} kappas, {JUDGES} judges x {RATINGS:,} steps",
            lambda: pairs_of(ratings),
            lambda: _plain_kappas(ratings),
            repeats=50,
        ),
        _row(
            f"metrics for {LARGE_SYSTEMS} systems x {LARGE_ITEMS:,} items x {JUDGES} judges, from flags",
            lambda: [score_matrix(large, r, large.pack_array(f)) for r, f in zip(right, flags, strict=True)],
            lambda: [np.cumprod(f, axis=-1).mean(axis=-1) for f in flags],
            repeats=3,
        ),
    ]


def _plain_metrics(graph: ReleaseGraph, answers: np.ndarray, bits: np.ndarray) -> list[np.ndarray]:
    """Bit sets as one would write them down: every step asks whether its item's bits hold all that it needs."""
    need = graph.need[0, :, 0]
    item_of_step = np.repeat(np.arange(len(graph.steps)), graph.steps)
    credited = (bits[:, item_of_step] & need) == need
    complete = bits == graph.full[0, :, 0]
    return [
        answers.astype(float),
        (answers & complete).astype(float),
        np.bitwise_count(bits) / graph.steps,
        np.add.reduceat(credited, graph.starts, axis=1, dtype=int) / graph.steps,
    ]


def _plain_intervals(values: np.ndarray) -> np.ndarray:
    """A counts matrix (one `bincount` row per resample) times the values."""
    draws = np.random.Generator(np.random.PCG64(0)).integers(0, ITEMS, (RESAMPLES, ITEMS))
    draws += np.arange(RESAMPLES)[:, None] * ITEMS
    counts = np.bincount(draws.ravel(), minlength=RESAMPLES * ITEMS).reshape(RESAMPLES, ITEMS)
    return np.percentile(counts @ values / ITEMS, [2.5, 97.5], axis=0)


def _plain_kappas(ratings: np.ndarray) -> np.ndarray:
    """Matrix products, and the formula on whole matrices."""
    count = ratings.shape[1]
    both = ratings @ ratings.T
    yes = ratings.mean(axis=1)
    same = (2 * both - count * (yes[:, None] + yes)) / count + 1
    chance = np.outer(yes, yes) + np.outer(1 - yes, 1 - yes)
    return (same - chance) / (1 - chance)


def _row(name: str, ours: Callable[[], Any], plain: Callable[[], Any], repeats: int) -> dict[str, Any]:
    """Both forms in turn, so that a slow moment of the machine meets both."""
    ours(), plain()
    times = [(_milliseconds(ours), _milliseconds(plain)) for _ in range(repeats)]
    mine, theirs = ([pair[k] for pair in times] for k in (0, 1))
    median, baseline = statistics.median(mine), statistics.median(theirs)
    return {
        "name": name,
        "median": median,
        "low": min(mine),
        "high": max(mine),
        "unit": "ms",
        "baseline": baseline,
        "ratio": median / baseline,
    }


def _milliseconds(work: Callable[[], Any]) -> float:
    start = time.perf_counter()
    work()
    return 1000 * (time.perf_counter() - start)


if __name__ == "__main__":
    for row in run():
        print(
            "{name}: {median:.3f} {unit} ({low:.3f}-{high:.3f}), plain NumPy {baseline:.3f}, ratio {ratio:.2f}".format(
                **row
            )
        )
