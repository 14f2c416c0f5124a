"""Judges held against people: agreement on the cells that people marked, and the four metrics corrected by them.

Pure: imports no Django. NumPy is imported inside the functions that need it.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import sqrt
from typing import TYPE_CHECKING

from audit.agreement import Z, cohen_kappa, raw_agreement

if TYPE_CHECKING:
    from numpy.typing import ArrayLike


@dataclass(frozen=True, slots=True)
class Marks:
    """A judge against people on n marks. precision: of what the judge credits, the share that people credit; recall:
    of what people credit, the share that the judge does. None where there is nothing to divide by."""

    n: int
    both: int
    judge_only: int
    people_only: int
    neither: int

    @property
    def raw(self) -> float | None:
        return raw_agreement(self.both, self.judge_only, self.people_only, self.neither) if self.n else None

    @property
    def kappa(self) -> float | None:
        return cohen_kappa(self.both, self.judge_only, self.people_only, self.neither) if self.n else None

    @property
    def precision(self) -> float | None:
        credited = self.both + self.judge_only
        return self.both / credited if credited else None

    @property
    def recall(self) -> float | None:
        real = self.both + self.people_only
        return self.both / real if real else None


def compare_marks(judge: ArrayLike, people: ArrayLike) -> Marks:
    """judge, people: (n,) flags of the same answers, or of the same steps. Raises ValueError for unequal lengths."""
    import numpy as np

    a, b = np.asarray(judge, dtype=bool), np.asarray(people, dtype=bool)
    if a.shape != b.shape or a.ndim != 1:
        raise ValueError(f"the shapes {a.shape} and {b.shape} are not those of two lists of as many marks")
    return Marks(a.size, int((a & b).sum()), int((a & ~b).sum()), int((b & ~a).sum()), int((~a & ~b).sum()))


@dataclass(frozen=True, slots=True)
class Corrected:
    """A mean corrected by a human sample, with its 95% interval, beside the judge's own.

    n: items that people marked.  total: items in all.  weight: how much of the judge's figures was used (0: people
    alone).  low, high: None where n < 2, for which there is no spread.
    """

    judge: float
    people: float | None
    value: float | None
    low: float | None
    high: float | None
    n: int
    total: int
    weight: float


def prediction_powered(judge: ArrayLike, people: ArrayLike) -> Corrected:
    """The prediction-powered mean over N items of which people marked some.

    judge: (N,) values by the judge, of every item.  people: (N,) values by people, NaN where nobody marked.
    value = w mean(judge, all) + mean(people - w judge, marked); the marked items must be a random sample of all.
    w minimises the variance: cov(people, judge) / ((1 + n / N) var(judge)), kept in [0, 1].  Variance:
    w^2 var(judge) / N + var(people - w judge) / n, with divisors n and N.
    Sources: Angelopoulos et al. 2023, "Prediction-powered inference", for the mean (w = 1); "PPI++" 2023 for w.
    Every item marked gives the people's mean with the interval of their sampling alone; none gives None.
    Raises ValueError for unequal lengths, without items, or NaN in judge.
    """
    import numpy as np

    predicted, real = np.asarray(judge, dtype=np.float64), np.asarray(people, dtype=np.float64)
    if predicted.shape != real.shape or predicted.ndim != 1 or predicted.size == 0:
        raise ValueError(f"the shapes {predicted.shape} and {real.shape} are not those of two lists of as many items")
    if np.isnan(predicted).any():
        raise ValueError("the judge has no value for some items")
    marked = ~np.isnan(real)
    n, total = int(marked.sum()), predicted.size
    own = float(predicted.mean())
    if n == 0:
        return Corrected(own, None, None, None, None, 0, total, 0.0)
    y, f = real[marked], predicted[marked]
    spread = float(predicted.var())
    weight = 0.0
    if spread > 0 and n > 1:
        together = float(((y - y.mean()) * (f - f.mean())).mean())
        weight = min(1.0, max(0.0, together / ((1 + n / total) * spread)))
    value = weight * own + float((y - weight * f).mean())
    if n < 2:
        return Corrected(own, float(y.mean()), value, None, None, n, total, weight)
    half = Z * sqrt(weight**2 * spread / total + float((y - weight * f).var()) / n)
    return Corrected(own, float(y.mean()), value, value - half, value + half, n, total, weight)
