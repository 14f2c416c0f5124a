"""How far judges agree: pairs, all together, each against the pool, and how lenient each is.

Pure: imports no Django. NumPy is imported inside the functions that need it.

Cells are responses that were judged. Ratings are int8 with 1 yes, 0 no and -1 no verdict; a cell that any of the judges
left without a verdict is out of every figure of these judges, and counted.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations
from typing import TYPE_CHECKING, Final

from audit.agreement import Estimate, cohen_kappa, raw_agreement

from .bootstrap import PERCENTILES, TIE

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy as np
    from numpy.typing import ArrayLike, NDArray

RESAMPLES: Final = 4_000
NORMAL_FROM: Final = 5_000  # cells: resampled sums of so many are as good as normal
_COUNTS: Final = 1 << 20  # held in memory at a time


@dataclass(frozen=True, slots=True)
class Pair:
    """Two judges, as positions, on the common cells. kappa is None where both gave one and the same word only."""

    a: int
    b: int
    raw: float
    kappa: float | None


@dataclass(frozen=True, slots=True)
class JudgeAgreement:
    """Agreement of J judges on one thing (answers, or steps).

    n: cells that all judged.  left_out: cells that some judge left without a verdict.  ratings: things rated in them,
    as many as cells for answers.  pairs: every pair, in order.  fleiss: with its interval over resampled clusters.
    unanimous: share of ratings on which all say the same.  leniency: (J,) share of yes by judge.
    All figures are None where there is no common cell, and fleiss where all judges gave one word only.
    """

    n: int
    left_out: int
    ratings: int
    pairs: tuple[Pair, ...]
    fleiss: Estimate
    unanimous: float | None
    leniency: tuple[float | None, ...]


@dataclass(frozen=True, slots=True)
class AgainstPool:
    """One judge against the pooled word of others. in_pool: its own word is among those pooled."""

    judge: int
    in_pool: bool
    raw: float
    kappa: float | None


def common_cells(answers: ArrayLike) -> NDArray[np.bool_]:
    """(cells,) flags: every judge gave a verdict. answers: (J, cells) of 1, 0, -1. Raises ValueError for fewer than
    two judges, or other values."""
    import numpy as np

    table = np.asarray(answers)
    if table.ndim != 2 or len(table) < 2:
        raise ValueError(f"ratings of shape {table.shape}: two judges or more over the same cells are needed")
    if table.size and (table.min() < -1 or table.max() > 1):
        raise ValueError("ratings are 1, 0 and -1")
    return np.asarray((table >= 0).all(axis=0))


def fleiss_kappa(ratings: ArrayLike) -> float | None:
    """(P - E) / (1 - E): P the mean share of agreeing pairs of judges per subject, E = p^2 + (1 - p)^2.

    ratings: (J, subjects) of 0 and 1, J >= 2.  Source: Fleiss 1971, "Measuring nominal scale agreement among many
    raters", for two categories.  None without subjects, and where E = 1: one word only.
    """
    import numpy as np

    table = np.asarray(ratings, dtype=np.float64)
    if table.shape[1] == 0:
        return None
    agreeing, yes = _subject_sums(table)
    return _fleiss(agreeing.sum(), yes.sum(), table.shape[1], len(table))


def _subject_sums(table: NDArray[np.float64]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Per subject: the share of pairs of judges that agree, and how many judges say yes."""
    judges = len(table)
    yes = table.sum(axis=0)
    no = judges - yes
    return (yes * (yes - 1) + no * (no - 1)) / (judges * (judges - 1)), yes


def _fleiss(agreeing: float, yes: float, subjects: float, judges: int) -> float | None:
    share = yes / (subjects * judges)
    chance = share**2 + (1 - share) ** 2
    return None if 1 - chance < TIE else float((agreeing / subjects - chance) / (1 - chance))


def agreement(
    ratings: ArrayLike,
    cells: Sequence[int] | None = None,
    *,
    clusters: ArrayLike | None = None,
    weights: ArrayLike | None = None,
    resamples: int = RESAMPLES,
    seed: int = 0,
) -> JudgeAgreement:
    """Agreement of judges with one another.

    ratings: (J, R) of 1, 0, -1.  cells: (R,) the cell that each rating belongs to, for steps of a response; None where
    each is a cell of its own.  A cell with a missing rating is left out whole.
    clusters: (R,) what is resampled together, such as all responses of a run to one item; the cells without them.
    weights: (R,) of the ratings, above 0 in whole cells; alike without them.
    The interval of Fleiss' kappa: percentiles 2.5 and 97.5 over resampled clusters (PCG64 with the seed; see
    `_resampled_sums`), steps staying with their response; resamples in which it is undefined are left out; None without
    a disagreement.
    Raises ValueError as `common_cells` does, and when `cells`, `clusters` or `weights` has another length.
    """
    import numpy as np

    table = np.asarray(ratings)
    present = common_cells(table)
    of = np.arange(table.shape[1]) if cells is None else np.asarray(cells, dtype=np.intp)
    if of.shape != present.shape:
        raise ValueError(f"{of.size} cells are named for {present.size} ratings")
    names, place = np.unique(of, return_inverse=True)
    group = of if clusters is None else np.asarray(clusters, dtype=np.intp)
    each = None if weights is None else np.asarray(weights, dtype=np.float64)
    if len(group) != len(of) or (each is not None and len(each) != len(of)):
        raise ValueError(f"there are clusters or weights for other than {len(of)} ratings")
    whole = np.ones(len(names), dtype=bool)
    whole[place[~present]] = False
    kept = whole[place]
    table, each = table[:, kept].astype(np.float64), None if each is None else each[kept]
    _clusters, cluster = np.unique(group[kept], return_inverse=True)
    judges, count = table.shape
    if count == 0:
        return JudgeAgreement(0, len(names), 0, (), Estimate(None), None, (None,) * judges)
    agreeing, yes = _subject_sums(table)
    return JudgeAgreement(
        int(whole.sum()),
        int((~whole).sum()),
        count,
        pairs_of(table, each),
        _fleiss_interval(agreeing, yes, each, cluster, judges, resamples, seed),
        float(np.average((yes == 0) | (yes == judges), weights=each)),
        tuple(float(share) for share in np.average(table, axis=1, weights=each)),
    )


def _fleiss_interval(
    agreeing: NDArray[np.float64],
    yes: NDArray[np.float64],
    weights: NDArray[np.float64] | None,
    cluster: NDArray[np.intp],
    judges: int,
    resamples: int,
    seed: int,
) -> Estimate:
    import numpy as np

    ratings = np.ones(len(yes)) if weights is None else weights
    parts = (agreeing, yes) if weights is None else (agreeing * weights, yes * weights)
    sums = np.stack([np.bincount(cluster, part).astype(float) for part in (*parts, ratings)], axis=1)
    same, said, size = sums.sum(axis=0).tolist()
    value = _fleiss(same, said, size, judges)
    if value is None or np.all(agreeing == 1):
        return Estimate(value)
    drawn = _resampled_sums(sums, resamples, np.random.Generator(np.random.PCG64(seed)))
    agreed, passed, rated = drawn.T
    share = passed / (rated * judges)
    chance = share**2 + (1 - share) ** 2
    defined = 1 - chance > TIE
    values = (agreed[defined] / rated[defined] - chance[defined]) / (1 - chance[defined])
    low, high = np.percentile(values, PERCENTILES)
    return Estimate(value, float(low), float(high))


def _resampled_sums(values: NDArray[np.float64], resamples: int, generator: np.random.Generator) -> NDArray[np.float64]:
    """(B, k) sums over as many rows of (N, k) values as there are, drawn with replacement.

    Of NORMAL_FROM rows or more the sums are drawn from the normal distribution with their mean and covariance, to which
    they converge: what that moves is far below what another seed does.
    """
    import numpy as np

    count = len(values)
    if count >= NORMAL_FROM:
        spread = np.cov(values, rowvar=False, bias=True) * count
        return generator.multivariate_normal(values.sum(axis=0), spread, size=resamples)
    # rows that are the same are drawn together: of the same distribution, with far fewer draws
    kinds, often = np.unique(values.round(9), axis=0, return_counts=True)
    rows = max(1, _COUNTS // len(kinds))
    blocks = [min(rows, resamples - start) for start in range(0, resamples, rows)]
    return np.concatenate([generator.multinomial(count, often / count, size=block) @ kinds for block in blocks])


def pairs_of(ratings: ArrayLike, weights: NDArray[np.float64] | None = None) -> tuple[Pair, ...]:
    """Raw agreement and Cohen's kappa of every pair, in order.

    ratings: (J, R) of 0 and 1, R >= 1.  weights: (R,) of the ratings; alike without them.
    """
    import numpy as np

    table = np.asarray(ratings, dtype=np.float64)
    weighed = table if weights is None else table * weights
    both = (weighed @ table.T).tolist()  # [a][b]: how often both say yes; [a][a]: how often a does
    total = table.shape[1] if weights is None else float(weights.sum())
    found = []
    for a, b in combinations(range(len(table)), 2):
        yes, first, second = both[a][b], both[a][a], both[b][b]
        counts = yes, first - yes, second - yes, total - first - second + yes
        found.append(Pair(a, b, raw_agreement(*counts), cohen_kappa(*counts)))
    return tuple(found)


def pooled(answers: ArrayLike) -> NDArray[np.bool_]:
    """(cells,) the pool's word: yes where at least half of the judges say so. answers: (J, cells) of 0 and 1."""
    import numpy as np

    table = np.asarray(answers, dtype=np.float64)
    return np.asarray(2 * table.sum(axis=0) >= len(table))


def against_pool(answers: ArrayLike, pool: Sequence[int], weights: ArrayLike | None = None) -> list[AgainstPool]:
    """Every judge against the pool, on the cells that all judged. answers: (J, cells); pool: positions of its judges.
    weights: of the cells; alike without them.

    A judge of the pool agrees with it in part by construction, so whether it is in is stated. [] without a common cell.
    Raises ValueError for an empty pool, and as `common_cells` does.
    """
    import numpy as np

    if not pool:
        raise ValueError("the pool has no judges")
    table = np.asarray(answers)
    common = common_cells(table)
    each = None if weights is None else np.asarray(weights)[common]
    table = table[:, common].astype(np.float64)
    if table.shape[1] == 0:
        return []
    word = pooled(table[list(pool)]).astype(np.float64)
    pairs = (pairs_of(np.stack((row, word)), each)[0] for row in table)
    return [AgainstPool(judge, judge in pool, pair.raw, pair.kappa) for judge, pair in enumerate(pairs)]


def family_grid(
    families: Sequence[str], represents: Sequence[bool], oa: Sequence[float], *, weakest: bool = False
) -> list[int]:
    """Positions of one system per family, in order of the families' names: the one that represents it.

    Where several or none do, the first of them. weakest: in place of the representative, the member with the lowest OA
    under the main judge. families, represents, oa: one per system, in the same order. Systems without family are left
    out.
    """
    members: dict[str, list[int]] = {}
    for at, family in enumerate(families):
        if family:
            members.setdefault(family, []).append(at)
    chosen = []
    for family in sorted(members):
        rows = members[family]
        if weakest:
            chosen.append(min(rows, key=lambda at: (oa[at], at)))
        else:
            chosen.append(next((at for at in rows if represents[at]), rows[0]))
    return chosen
