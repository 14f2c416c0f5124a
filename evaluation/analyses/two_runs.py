"""Two runs item by item: what one gets right and the other does not, and which steps come and go."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from evaluation.scoring.bootstrap import differences
from evaluation.scoring.metrics import METRICS
from evaluation.scoring.pairs import mcnemar

from .base import Analysis, Options
from .tables import Column, Picture, Result, Table, percent_column
from .words import lacking

if TYPE_CHECKING:
    from .data import Results


def compute(results: Results, options: Options) -> Result:
    used = int((results.answers[results.main, :2] >= 0).sum())
    return Result([_scores(results, options), _answers(results), _items(results)], used, lacking(results))


def _scores(results: Results, options: Options) -> Table:
    import numpy as np

    first, second = results.labels[:2]
    columns = np.stack([results.scores[m][0] - results.scores[m][1] for m in METRICS], axis=1)
    rows = [
        {
            "metric": metric,
            "first": float(results.scores[metric][0].mean()),
            "second": float(results.scores[metric][1].mean()),
            "difference": gain.estimate,
            "difference_low": gain.low,
            "difference_high": gain.high,
            "positive": gain.share_positive,
            "tied": gain.share_tied,
        }
        for metric, gain in zip(
            METRICS, differences(columns, seed=options.seed, resamples=options.resamples), strict=True
        )
    ]
    head = (
        Column("metric", _("metric")),
        percent_column("first", first),
        percent_column("second", second),
        percent_column("difference", _("first − second"), interval=True),
        percent_column("positive", _("first ahead")),
        percent_column("tied", _("tied")),
    )
    note = _("The last two columns are shares of the resamples, which are the same items for both runs.")
    return Table("scores", _("Scores"), head, rows, note, Picture("intervals", "metric", ("difference",)))


def _answers(results: Results) -> Table:
    a, b = (results.answers[results.main] == 1)[:2]
    test = mcnemar(a, b)
    row = {
        "both": int((a & b).sum()),
        "only_a": test.only_a,
        "only_b": test.only_b,
        "neither": int((~a & ~b).sum()),
        "p": test.p,
    }
    columns = (
        Column("both", _("both right"), "count"),
        Column("only_a", _("only the first"), "count"),
        Column("only_b", _("only the second"), "count"),
        Column("neither", _("neither"), "count"),
        Column("p", _("p, McNemar"), "p"),
    )
    note = _(
        "McNemar's test (1947) on right answers: exact up to 25 items of difference, else with Edwards' correction."
    )
    return Table("answers", _("Right answers"), columns, [row], note)


def _items(results: Results) -> Table:
    rows = []
    right = results.answers[results.main] == 1
    stated = results.stated[results.main] == 1
    address = f"?run={results.runs[0].number}&run={results.runs[1].number}&judge={results.judges[results.main].pk}"
    for at, item in enumerate(results.items):
        a, b = stated[:2, at]
        gained, lost = int((a & ~b).sum()), int((b & ~a).sum())
        answer = int(right[0, at]) - int(right[1, at])
        if not (answer or gained or lost):
            continue
        row: dict[str, Any] = {
            "item": f"#{item.number}",
            "address": f"items/{item.number}/{address}",
            "answer": {1: _("only the first"), -1: _("only the second"), 0: _("same")}[answer],
            "gained": gained,
            "lost": lost,
            "both": int((a & b).sum()),
            "steps": results.lengths[at],
            "dacs": float(results.scores["DACS"][0, at] - results.scores["DACS"][1, at]),
        }
        rows.append(row)
    rows.sort(key=lambda row: (-abs(row["dacs"]), row["item"]))
    columns = (
        Column("item", _("item"), link="address"),
        Column("answer", _("right answer")),
        Column("gained", _("steps only the first states"), "count"),
        Column("lost", _("steps only the second states"), "count"),
        Column("both", _("steps both state"), "count"),
        Column("steps", _("steps"), "count"),
        percent_column("dacs", _("DACS, first − second")),
    )
    note = _("Items on which the runs agree in answer and steps are left out: %d.") % (len(results.items) - len(rows))
    return Table("items", _("Items that differ"), columns, rows, note)


TWO_RUNS = Analysis(
    "two_runs",
    gettext_lazy("Two runs"),
    gettext_lazy(
        "Two runs beside each other on the same items: scores with paired intervals, McNemar's test on right answers, "
        "and the items and steps that only one of them has; each item opens both responses."
    ),
    compute,
    runs=2,
    pair=True,
)
