"""Which systems can be told apart on these items, and how many items it would take for those that cannot."""

from __future__ import annotations

from itertools import combinations, pairwise
from typing import TYPE_CHECKING, Any

from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from evaluation.scoring.bootstrap import differences
from evaluation.scoring.pairs import (
    adjusted_pairs,
    indistinct_groups,
    items_needed,
    order_kept,
    pair_p_values,
    tiers,
)

from .base import Analysis, Options
from .tables import Column, Picture, Result, Table, percent_column
from .words import lacking

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from .data import Results

RANKED_BY = ("DACS", "OA")
ALL_PAIRS = 30  # systems up to which every pair is listed; of more, the neighbours in the ranking


def compute(results: Results, options: Options) -> Result:
    found = [table for metric in RANKED_BY for table in _tables(results, metric, options)]
    return Result(found, int(results.scores["judged"].sum()), lacking(results))


def _tables(results: Results, metric: str, options: Options) -> list[Table]:
    draws: dict[str, Any] = {"seed": options.seed, "resamples": options.resamples}
    values = results.scores[metric].T
    means = values.mean(axis=0).tolist()
    labels = results.labels
    order = sorted(range(len(means)), key=lambda at: (-means[at], labels[at]))
    ahead = order_kept(values, **draws)
    p = pair_p_values(values, **draws)
    adjusted = adjusted_pairs(p)
    tier = tiers(means, adjusted)
    groups = indistinct_groups(ahead, order)
    ranked = [
        {
            "system": labels[at],
            metric: means[at],
            "tier": tier[at],
            "alike": ", ".join(str(place) for place, group in enumerate(groups, 1) if at in group),
        }
        for at in order
    ]
    matrix = [{"system": labels[a]} | {f"s{b}": None if a == b else float(ahead[a, b]) for b in order} for a in order]
    head = Column("system", _("system"))
    return [
        Table(
            f"tiers-{metric.lower()}",
            _("Tiers by %s") % metric,
            (head, percent_column(metric, metric), Column("tier", _("tier"), "count"), Column("alike", _("group"))),
            ranked,
            _(
                "A tier begins where a system differs from the best of the tier above (Holm over all pairs, 5%). "
                "Systems that share the number of a group are ahead of one another in fewer than 95% of the resamples. "
                "To stand in one tier or group is not to be equal."
            ),
        ),
        Table(
            f"order-{metric.lower()}",
            _("In which share of the resamples the row's system is ahead of the column's, by %s") % metric,
            (head, *(percent_column(f"s{at}", labels[at]) for at in order)),
            matrix,
            _("Ties count for neither."),
            Picture("matrix", "system", tuple(f"s{at}" for at in order)),
        ),
        _pairs(metric, labels, order, values, ahead, p, adjusted, draws),
    ]


def _pairs(
    metric: str,
    labels: list[str],
    order: list[int],
    values: NDArray[np.float64],
    ahead: NDArray[np.float64],
    p: NDArray[np.float64],
    adjusted: NDArray[np.float64],
    draws: dict[str, Any],
) -> Table:
    pairs = list(combinations(order, 2) if len(order) <= ALL_PAIRS else pairwise(order))
    gains = values[:, [a for a, _b in pairs]] - values[:, [b for _a, b in pairs]]
    rows = [
        {
            "better": labels[a],
            "other": labels[b],
            "difference": gain.estimate,
            "difference_low": gain.low,
            "difference_high": gain.high,
            "kept": float(ahead[a, b]),
            "p": float(p[a, b]),
            "adjusted": float(adjusted[a, b]),
            "needed": items_needed(gains[:, at]) if len(values) > 1 else None,
        }
        for at, ((a, b), gain) in enumerate(zip(pairs, differences(gains, **draws), strict=True))
    ]
    columns = (
        Column("better", _("system")),
        Column("other", _("against")),
        percent_column("difference", _("difference"), interval=True),
        percent_column("kept", _("order kept")),
        Column("p", "p", "p"),
        Column("adjusted", _("p, Holm"), "p"),
        Column("needed", _("items needed"), "count"),
    )
    note = _(
        "Items needed: to find this difference at this spread with a power of 80% at 5% (normal approximation of the "
        "paired test); a dash where there is no difference to find."
    )
    if len(order) > ALL_PAIRS:
        note += " " + _("Of more than %d systems only the neighbours in the ranking are listed.") % ALL_PAIRS
    return Table(f"pairs-{metric.lower()}", _("Pairs by %s") % metric, columns, rows, note)


SEPARABILITY = Analysis(
    "separability",
    gettext_lazy("Separability"),
    gettext_lazy(
        "How often the order of two systems holds under other items of this kind, which systems cannot be told apart, "
        "and how many items would tell them apart: paired item bootstrap, tiers with Holm's procedure (1979)."
    ),
    compute,
    runs=2,
)
