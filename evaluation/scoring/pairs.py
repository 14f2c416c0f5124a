"""Systems against one another on the same items: whose order holds, which cannot be told apart, and how many items it
would take.

Pure: imports no Django. NumPy is imported inside the functions that need it.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import ceil, comb, erfc, sqrt
from statistics import NormalDist
from typing import TYPE_CHECKING, Final

from .bootstrap import RESAMPLES, TIE, bootstrap_means

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy as np
    from numpy.typing import ArrayLike, NDArray

ALPHA: Final = 0.05
_EXACT: Final = 25  # discordant items up to which McNemar's test is the exact one


@dataclass(frozen=True, slots=True)
class McNemar:
    """Items that only A got right, and only B; the two-sided p value, 1.0 where there are none."""

    only_a: int
    only_b: int
    p: float


def order_kept(values: ArrayLike, *, resamples: int = RESAMPLES, seed: int = 0) -> NDArray[np.float64]:
    """(k, k): in which share of the resamples of items system i is strictly ahead of system j; ties count for neither.

    values: (n, k) one row per item, one column per system.  The diagonal is 0.
    Errors as for `bootstrap_means`.
    """
    import numpy as np

    means = bootstrap_means(values, resamples=resamples, seed=seed)
    ahead = np.zeros((len(means), len(means)))
    for row, mine in enumerate(means):
        ahead[row] = (mine > means + TIE).mean(axis=1)
    return ahead


def pair_p_values(values: ArrayLike, *, resamples: int = RESAMPLES, seed: int = 0) -> NDArray[np.float64]:
    """(k, k) two-sided p values of every paired difference of means, by the bootstrap: twice the smaller share of
    resamples on either side of no difference, ties counted on both, at least 1 / resamples.

    values: (n, k).  Two systems that are equal on every item have p = 1, as has the diagonal, and as have all where
    there is one item, which no resample can change.
    """
    import numpy as np

    means = bootstrap_means(values, resamples=resamples, seed=seed)
    p = np.ones((len(means), len(means)))
    if len(np.asarray(values)) == 1:
        return p
    for row, mine in enumerate(means):
        gain = mine - means
        side = np.minimum((gain >= -TIE).mean(axis=1), (gain <= TIE).mean(axis=1))
        p[row] = np.minimum(1.0, np.maximum(2 * side, 1 / resamples))
    return p


def holm(p_values: Sequence[float]) -> list[float]:
    """Holm's step-down adjusted p values, in the given order; at most 1, and in the order of the raw ones.

    Source: Holm 1979, "A simple sequentially rejective multiple test procedure". [] for none.
    """
    order = sorted(range(len(p_values)), key=lambda at: p_values[at])
    adjusted, largest = [0.0] * len(p_values), 0.0
    for rank, at in enumerate(order):
        largest = max(largest, min(1.0, (len(p_values) - rank) * p_values[at]))
        adjusted[at] = largest
    return adjusted


def tiers(means: Sequence[float], adjusted: ArrayLike, alpha: float = ALPHA) -> list[int]:
    """The tier of each system, from 1: a new one begins where a system differs from the best of the present tier.

    means: (k,).  adjusted: (k, k) p values adjusted for all pairs.  Systems in one tier are not told apart from its
    best one, which does not say that they are equal.
    """
    import numpy as np

    p = np.asarray(adjusted, dtype=np.float64)
    order = sorted(range(len(means)), key=lambda at: -means[at])
    result, tier, best = [0] * len(means), 0, -1
    for at in order:
        if best < 0 or p[best, at] < alpha:
            tier, best = tier + 1, at
        result[at] = tier
    return result


def adjusted_pairs(p: NDArray[np.float64]) -> NDArray[np.float64]:
    """(k, k) Holm-adjusted p values over all pairs of a symmetric matrix; 1 on the diagonal."""
    import numpy as np

    result = np.ones_like(p)
    upper = np.triu_indices(len(p), 1)
    result[upper] = holm(p[upper].tolist())
    return np.minimum(result, result.T)


def mcnemar(a: Sequence[bool] | ArrayLike, b: Sequence[bool] | ArrayLike) -> McNemar:
    """McNemar's test on paired right or wrong: exact binomial up to 25 discordant items, else chi-square with Edwards'
    continuity correction.

    a, b: (n,) flags of the same items.  Source: McNemar 1947; Edwards 1948.  Raises ValueError for unequal lengths.
    """
    import numpy as np

    first, second = np.asarray(a, dtype=bool), np.asarray(b, dtype=bool)
    if first.shape != second.shape or first.ndim != 1:
        raise ValueError(f"the shapes {first.shape} and {second.shape} are not those of two lists of as many items")
    only_a, only_b = int((first & ~second).sum()), int((second & ~first).sum())
    n = only_a + only_b
    if n == 0:
        return McNemar(0, 0, 1.0)
    if n <= _EXACT:
        tail = sum(comb(n, k) for k in range(min(only_a, only_b) + 1)) / 2**n
        return McNemar(only_a, only_b, min(1.0, 2 * tail))
    statistic = max(0.0, abs(only_a - only_b) - 1) ** 2 / n
    return McNemar(only_a, only_b, erfc(sqrt(statistic / 2)))


def items_needed(differences: ArrayLike, *, power: float = 0.8, alpha: float = ALPHA) -> int | None:
    """How many items it takes to separate two systems at the observed mean and spread of their per-item difference.

    differences: (n,) A minus B per item, n >= 2.  Normal approximation of the paired test:
    n = ((z_{1-alpha/2} + z_power) sd / mean)^2, sd with n - 1, rounded up, at least 2.
    None where the mean difference is 0 (no number is enough) or nothing varies and it is 0; 2 where it is constant.
    Raises ValueError for fewer than two items, or power or alpha outside (0, 1).
    """
    import numpy as np

    if not (0 < power < 1 and 0 < alpha < 1):
        raise ValueError("power and alpha lie between 0 and 1")
    values = np.asarray(differences, dtype=np.float64)
    if values.size < 2:
        raise ValueError("two items or more are needed")
    mean, spread = float(values.mean()), float(values.std(ddof=1))
    if abs(mean) <= TIE:
        return None
    normal = NormalDist()
    z = normal.inv_cdf(1 - alpha / 2) + normal.inv_cdf(power)
    return max(2, ceil((z * spread / mean) ** 2))


def indistinct_groups(ahead: ArrayLike, order: Sequence[int], share: float = 0.95) -> list[list[int]]:
    """Largest runs of systems, in `order`, of which no one is ahead of another in `share` of the resamples.

    ahead: (k, k) of `order_kept`.  order: positions from best to worst.  Runs within another run are left out; a
    system that is apart from its neighbours makes a run of its own.
    """
    import numpy as np

    table = np.asarray(ahead)
    groups: list[list[int]] = []
    for start in range(len(order)):
        stop = start + 1
        while stop < len(order) and all(table[at, order[stop]] < share for at in order[start:stop]):
            stop += 1
        group = list(order[start:stop])
        if not groups or not set(group) <= set(groups[-1]):
            groups.append(group)
    return groups
