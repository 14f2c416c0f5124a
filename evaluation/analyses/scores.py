"""The leaderboard as a table to cite: the four metrics with intervals, and strict accuracy by category."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING, Any

from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, ngettext

from audit.figures import SMALL
from evaluation.models import Group
from evaluation.scoring.bootstrap import intervals
from evaluation.scoring.health import ranks
from evaluation.scoring.metrics import METRICS

from .base import Analysis, Options
from .splits import items_by
from .tables import Column, Picture, Result, Table, percent_column
from .words import lacking

if TYPE_CHECKING:
    from .data import Results


def compute(results: Results, options: Options) -> Result:
    rows = _rows(results, options)
    columns = (
        Column("system", _("system")),
        Column("rank", _("rank"), "count"),
        Column("group", _("group")),
        *(percent_column(metric, metric, interval=True) for metric in METRICS),
        Column("unanswered", _("without answer"), "count"),
        Column("unjudged", _("without verdict"), "count"),
    )
    note = _("By DACS. An interval of one point says that these items gave no variety, and not that the score is sure.")
    picture = Picture("intervals", "system", ("OA", "DACS"))
    tables = [Table("scores", _("Scores"), columns, rows, note, picture), _categories(results, rows)]
    overlaps = sum(above["DACS_low"] <= below["DACS_high"] for above, below in pairwise(rows))
    text = ngettext(
        "The intervals of one pair of neighbours overlap in DACS: from them nobody can say that one beats the other.",
        "The intervals of %(n)d pairs of neighbours overlap in DACS: from them nobody can say that one beats another.",
        overlaps,
    )
    return Result(
        tables, int(results.scores["judged"].sum()), lacking(results), [text % {"n": overlaps}] if overlaps else []
    )


def _rows(results: Results, options: Options) -> list[dict[str, Any]]:
    """By DACS, then OA, then name. Counts are of responses."""
    import numpy as np

    values = np.concatenate([results.scores[metric] for metric in METRICS]).T
    ends = intervals(values, seed=options.seed, resamples=options.resamples)
    mean, low, high = (column.reshape(len(METRICS), -1) for column in (values.mean(axis=0), ends.low, ends.high))
    answered = results.by_run(results.all_completed).sum(axis=1)
    judged = results.scores["judged"].sum(axis=1)
    places = ranks(mean[METRICS.index("DACS")].round(12).tolist())
    rows = []
    for at, (run, label) in enumerate(zip(results.runs, results.labels, strict=True)):
        row: dict[str, Any] = {
            "place": at,
            "rank": places[at],
            "system": label,
            "group": str(Group(run.system.group).label),
            "unanswered": len(results.items) * int(results.samples[at]) - int(answered[at]),
            "unjudged": int(answered[at] - judged[at]),
        }
        for which, metric in enumerate(METRICS):
            figures = (float(column[which, at]) for column in (mean, low, high))
            row |= dict(zip((metric, f"{metric}_low", f"{metric}_high"), figures, strict=True))
        rows.append(row)
    return sorted(rows, key=lambda row: (row["rank"], -row["OA"], row["system"]))


def _categories(results: Results, rows: list[dict[str, Any]]) -> Table:
    groups = items_by(results, "category")
    sa = results.scores["SA"]
    table = [
        {"system": row["system"], "SA": row["SA"]}
        | {f"SA_{name}": float(sa[row["place"], at].mean()) for name, at in groups}
        for row in rows
    ]
    heads = [
        percent_column(f"SA_{name}", f"{name.replace('_', ' ') or _('(none)')}, n = {len(at)}") for name, at in groups
    ]
    small = sum(len(at) < SMALL for _name, at in groups)
    note = _("%(count)d of %(n)d categories hold fewer than %(small)d items: one item moves their scores far.")
    return Table(
        "categories",
        _("SA by category"),
        (Column("system", _("system")), percent_column("SA", _("all")), *heads),
        table,
        note % {"count": small, "n": len(groups), "small": SMALL} if small else "",
        Picture("matrix", "system", tuple(head.key for head in heads)),
    )


SCORES = Analysis(
    "leaderboard",
    gettext_lazy("Scores and categories"),
    gettext_lazy(
        "The four metrics of each run under one judge, with 95% intervals over the items, and strict accuracy in each "
        "category: the leaderboard with the runs named, to cite and to typeset."
    ),
    compute,
)
