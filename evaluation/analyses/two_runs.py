"""Two runs item by item: what one gets right and the other does not, and which steps come and go."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from evaluation.scoring.bootstrap import TIE, differences
from evaluation.scoring.metrics import METRICS
from evaluation.scoring.pairs import mcnemar

from .base import Analysis, Options
from .tables import Column, Picture, Result, Table, percent_column
from .words import lacking

if TYPE_CHECKING:
    from .data import Results


def compute(results: Results, options: Options) -> Result:
    used = int(results.scores["judged"][:2].sum())
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
    a, b = results.scores["OA"][:2]
    test = mcnemar(a - b > TIE, b - a > TIE)
    alike = abs(a - b) <= TIE
    row = {
        "both": int((alike & (a > 0)).sum()),
        "only_a": test.only_a,
        "only_b": test.only_b,
        "neither": int((alike & (a == 0)).sum()),
        "p": test.p,
    }
    columns = (
        Column("both", _sampled(results, _("both right"), _("both as often")), "count"),
        Column("only_a", _sampled(results, _("only the first"), _("the first more often")), "count"),
        Column("only_b", _sampled(results, _("only the second"), _("the second more often")), "count"),
        Column("neither", _("neither"), "count"),
        Column("p", _("p, McNemar"), "p"),
    )
    note = _(
        "McNemar's test (1947) on right answers: exact up to 25 items of difference, else with Edwards' correction."
    )
    note += _sampled(results, "", " " + _("An item counts for the run of which more samples are right."))
    return Table("answers", _("Right answers"), columns, [row], note)


def _sampled(results: Results, once: str, often: str) -> str:
    """The words for runs that asked every item once, or for others."""
    return once if (results.samples[:2] == 1).all() else often


def _items(results: Results) -> Table:
    rows = []
    right = results.scores["OA"]
    stated = results.by_run(results.all_stated[results.main] == 1) / results.samples[:, None, None]
    words = {
        1: _sampled(results, _("only the first"), _("the first more often")),
        -1: _sampled(results, _("only the second"), _("the second more often")),
        0: _("same"),
    }
    address = f"?run={results.runs[0].number}&run={results.runs[1].number}&judge={results.judges[results.main].pk}"
    for at, item in enumerate(results.items):
        a, b = stated[:2, at]
        gained, lost = int((a - b > TIE).sum()), int((b - a > TIE).sum())
        lead = float(right[0, at] - right[1, at])
        answer = int(lead > TIE) - int(lead < -TIE)
        if not (answer or gained or lost):
            continue
        row: dict[str, Any] = {
            "item": f"#{item.number}",
            "address": f"items/{item.number}/{address}",
            "answer": words[answer],
            "gained": gained,
            "lost": lost,
            "both": int(((abs(a - b) <= TIE) & (a > 0)).sum()),
            "steps": results.lengths[at],
            "dacs": float(results.scores["DACS"][0, at] - results.scores["DACS"][1, at]),
        }
        rows.append(row)
    rows.sort(key=lambda row: -abs(row["dacs"]))
    gained_word = _sampled(results, _("steps only the first states"), _("steps the first states more often"))
    lost_word = _sampled(results, _("steps only the second states"), _("steps the second states more often"))
    columns = (
        Column("item", _("item"), link="address"),
        Column("answer", _("right answer")),
        Column("gained", gained_word, "count"),
        Column("lost", lost_word, "count"),
        Column("both", _sampled(results, _("steps both state"), _("steps both state as often")), "count"),
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
