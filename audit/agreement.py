"""Agreement of two auditors on pass or fail, and shares of small samples, with intervals.

PURE: imports no Django. NumPy is imported inside the function that needs it.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from math import sqrt
from typing import Final

RESAMPLES: Final = 4_000
Z: Final = 1.959963984540054  # 97.5% point of the standard normal distribution
_TIE: Final = 1e-12

Cell = tuple[bool, bool]  # what the first and the second auditor said: passed or not


@dataclass(frozen=True, slots=True)
class Estimate:
    """A figure with its 95% interval. `value` is None where it is undefined, the ends where there is no interval."""

    value: float | None
    low: float | None = None
    high: float | None = None


@dataclass(frozen=True, slots=True)
class Agreement:
    """`n` cells of `items` items. left_out: resamples in which kappa was undefined; its interval is over the others."""

    items: int
    n: int
    disagreements: int
    raw: Estimate
    kappa: Estimate
    ac1: Estimate
    left_out: int


def counts(cells: Sequence[Cell]) -> tuple[int, int, int, int]:
    """How often (both passed, only the first did, only the second did, neither)."""
    return tuple(sum(cell == kind for cell in cells) for kind in _KINDS)  # type: ignore[return-value]


_KINDS: Final = ((True, True), (True, False), (False, True), (False, False))


def raw_agreement(both: int, first: int, second: int, neither: int) -> float:
    """Share of cells on which the two say the same. Raises ValueError without cells."""
    n = _total(both, first, second, neither)
    return (both + neither) / n


def cohen_kappa(both: int, first: int, second: int, neither: int) -> float | None:
    """(p - e) / (1 - e) with e = p1 p2 + (1 - p1)(1 - p2): agreement beyond what the shares of passes give by chance.

    Source: Cohen 1960, "A coefficient of agreement for nominal scales". p1, p2: each auditor's share of passes.
    None where e = 1, when both used one and the same word only: 0 / 0. Raises ValueError without cells.
    """
    n = _total(both, first, second, neither)
    p1, p2 = (both + first) / n, (both + second) / n
    chance = p1 * p2 + (1 - p1) * (1 - p2)
    if 1 - chance < _TIE:
        return None
    return ((both + neither) / n - chance) / (1 - chance)


def gwet_ac1(both: int, first: int, second: int, neither: int) -> float:
    """(p - e) / (1 - e) with e = 2 q (1 - q), q the mean share of passes.

    Source: Gwet 2008, "Computing inter-rater reliability and its variance in the presence of high agreement", for two
    raters and two categories. e is at most 1/2, so it is always defined; 1.0 where both used one word only.
    It stays high where nearly everything passes, where kappa falls though the auditors agree. Raises ValueError without
    cells.
    """
    n = _total(both, first, second, neither)
    q = (2 * both + first + second) / (2 * n)
    chance = 2 * q * (1 - q)
    return ((both + neither) / n - chance) / (1 - chance)


def wilson(hits: int, n: int, population: int | None = None) -> tuple[float, float]:
    """95% interval of a share, hits of n (Wilson 1927); inside [0, 1], and not empty where hits is 0 or n.

    population: of which the n were drawn without putting back. The variance is then smaller by (N - n) / (N - 1)
    (Cochran, "Sampling Techniques", 2.6), taken in as a larger n; the whole population gives its exact share.
    Raises ValueError unless 0 <= hits <= n <= population and n > 0.
    """
    if not 0 <= hits <= n or n < 1 or (population is not None and population < n):
        raise ValueError(f"{hits} of {n}, out of {population}, is no sample")
    share = hits / n
    size = float(n)
    if population is not None:
        if population == n:
            return share, share
        size = n * (population - 1) / (population - n)
    middle = (share + Z * Z / (2 * size)) / (1 + Z * Z / size)
    half = Z / (1 + Z * Z / size) * sqrt(share * (1 - share) / size + Z * Z / (4 * size * size))
    return max(0.0, min(middle - half, share)), min(1.0, max(middle + half, share))


def agreement(items: Sequence[Sequence[Cell]], *, seed: int = 0, resamples: int = RESAMPLES) -> Agreement:
    """The figures over all cells. items: for each item the cells of its criteria, at least one.

    Intervals: Wilson for raw agreement where each item has one cell; else the percentiles 2.5 and 97.5 of `resamples`
    resamples of the items, so that cells of one item stay together (NumPy PCG64 with the seed). Without a
    disagreement no resample has one, and of one item all are the same, so kappa and AC1, and raw over several criteria,
    get no interval.
    Raises ValueError without items, or for an item without cells.
    """
    import numpy as np

    if not items or not all(items):
        raise ValueError("there are no cells")
    table = np.array([counts(cells) for cells in items], dtype=np.int64)
    both, first, second, neither = (int(total) for total in table.sum(axis=0))
    n = both + first + second + neither
    raw, kappa = raw_agreement(both, first, second, neither), cohen_kappa(both, first, second, neither)
    ac1 = gwet_ac1(both, first, second, neither)
    single = n == len(items)
    if first + second == 0:
        ends = wilson(n, n) if single else (None, None)
        return Agreement(len(items), n, 0, Estimate(raw, *ends), Estimate(kappa), Estimate(ac1), 0)
    draws = np.random.Generator(np.random.PCG64(seed)).multinomial(
        n=len(items), pvals=[1 / len(items)] * len(items), size=resamples
    )
    a, b, c, d = (draws @ table).T.astype(np.float64)
    size = a + b + c + d
    agreed, p1, p2 = (a + d) / size, (a + b) / size, (a + c) / size
    chance = p1 * p2 + (1 - p1) * (1 - p2)
    defined = 1 - chance > _TIE
    kappas = (agreed[defined] - chance[defined]) / (1 - chance[defined])
    q = (p1 + p2) / 2
    ac1s = (agreed - 2 * q * (1 - q)) / (1 - 2 * q * (1 - q))

    def of(value: float | None, values: "np.ndarray") -> Estimate:
        if value is None or not len(values) or len(items) == 1:
            return Estimate(value)
        low, high = np.percentile(values, (2.5, 97.5))
        return Estimate(value, float(low), float(high))

    return Agreement(
        items=len(items),
        n=n,
        disagreements=first + second,
        raw=Estimate(raw, *wilson(both + neither, n)) if single else of(raw, agreed),
        kappa=of(kappa, kappas),
        ac1=of(ac1, ac1s),
        left_out=int(resamples - defined.sum()),
    )


def _total(both: int, first: int, second: int, neither: int) -> int:
    n = both + first + second + neither
    if n < 1 or min(both, first, second, neither) < 0:
        raise ValueError("there are no cells")
    return n


def weighted_kappa(pairs: Sequence[tuple[int, int]]) -> float | None:
    """1 - observed / expected disagreement of two raters' ratings, each disagreement weighted by its squared distance.

    Source: Cohen 1968, "Weighted kappa", with quadratic weights; expected from each rater's own ratings. None without
    pairs, and where both gave one and the same rating only: 0 / 0.
    """
    n = len(pairs)
    observed = sum((a - b) ** 2 for a, b in pairs) * n
    expected = sum((a - b) ** 2 for a, _b in pairs for _a, b in pairs)
    return 1 - observed / expected if expected else None
