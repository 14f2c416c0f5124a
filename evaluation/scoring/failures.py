"""How responses fail: shares of failure modes among failed steps, and how far two labellers agree.

Pure: imports no Django. Everything here is conditioned on failure: a share says how failures are composed, never how
often a system fails.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from .bootstrap import RESAMPLES, Ratio, ratios

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

SURE = 1e-12


@dataclass(frozen=True, slots=True)
class ModeShares:
    """failed: steps found missing. labelled: those of them with a label. items: on which any is labelled.

    counts: (K,) labelled steps by mode; they add up to `labelled`. shares: (K,) of the labelled steps, each with its
    interval; their estimates add up to 1. All shares are None where nothing is labelled.
    """

    failed: int
    labelled: int
    items: int
    counts: list[int]
    shares: list[Ratio]


@dataclass(frozen=True, slots=True)
class Agreement:
    """Two labellers on the n things that both labelled. raw: share labelled alike, None without any. kappa: None, too,
    where chance alone would make them agree always, as both used one and the same mode only."""

    n: int
    raw: float | None
    kappa: float | None


def mode_shares(
    labels: ArrayLike,
    failed: ArrayLike,
    modes: int,
    weights: ArrayLike | None = None,
    *,
    resamples: int = RESAMPLES,
    seed: int = 0,
) -> ModeShares:
    """labels: (S, n, M) of S responses to each of n items with M steps, the mode from 0, -1 without a label. failed:
    (S, n, M) flags.  weights: (S, n) of the responses in the shares; alike without them.

    A label of a step that did not fail is left out: what failed was found anew since. The interval is an item
    bootstrap of the ratio of sums, as failed steps of one item stand and fall together; resamples in which nothing is
    labelled are left out and counted.
    Degenerate: without items, failed steps or labels every share is None and every count 0.
    Raises ValueError for unequal shapes, labels beyond `modes`, or modes < 1.
    """
    import numpy as np

    table, flags = np.asarray(labels), np.asarray(failed, dtype=bool)
    if table.shape != flags.shape or table.ndim != 3:
        raise ValueError(f"labels of shape {table.shape} and flags of shape {flags.shape} are not (S, n, M) both")
    if modes < 1 or (table.size and (table.max() >= modes or table.min() < -1)):
        raise ValueError(f"labels are -1, or 0 up to the number of modes, {modes}")
    kept = np.where(flags, table, -1)
    each = np.ones(table.shape[:2]) if weights is None else np.asarray(weights, dtype=np.float64)
    cells = np.stack([(kept == mode).sum(axis=2) for mode in range(modes)], axis=2)  # (S, n, modes)
    by_item = (cells * each[..., None]).sum(axis=0)
    totals = by_item.sum(axis=1)
    labelled = int(cells.sum())
    if labelled:
        shares = ratios(by_item, np.repeat(totals[:, None], modes, axis=1), resamples=resamples, seed=seed)
    else:
        shares = [Ratio(None, None, None, resamples)] * modes
    counts = [int(count) for count in cells.sum(axis=(0, 1))]
    return ModeShares(int(flags.sum()), labelled, int((totals > 0).sum()), counts, shares)


def label_agreement(first: ArrayLike, second: ArrayLike, weights: ArrayLike | None = None) -> Agreement:
    """Cohen's kappa of two labellers over the same things: (P - E) / (1 - E), P the share labelled alike, E the sum
    over modes of the product of their shares.

    first, second: the same shape, modes from 0, -1 without a label; a thing that either left out is left out.
    weights: of the things, of the same shape; alike without them.
    Source: Cohen 1960, "A coefficient of agreement for nominal scales". Raises ValueError for unequal shapes.
    """
    import numpy as np

    a, b = np.asarray(first), np.asarray(second)
    if a.shape != b.shape:
        raise ValueError(f"labels of shapes {a.shape} and {b.shape} are not of the same things")
    both = (a >= 0) & (b >= 0)
    left, right = a[both].astype(np.int64), b[both].astype(np.int64)
    n = len(left)
    if n == 0:
        return Agreement(0, None, None)
    each = np.ones(n) if weights is None else np.asarray(weights, dtype=np.float64)[both]
    raw = float(np.average(left == right, weights=each))
    modes = int(max(left.max(), right.max())) + 1
    shares = [np.bincount(labels, each, minlength=modes) / each.sum() for labels in (left, right)]
    chance = float((shares[0] * shares[1]).sum())
    return Agreement(n, raw, None if 1 - chance < SURE else (raw - chance) / (1 - chance))
