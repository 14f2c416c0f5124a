"""What the image gives: one system asked with and without it, on the same items, under every judge."""

from __future__ import annotations

from statistics import median
from typing import TYPE_CHECKING, Any

from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from evaluation.models import Condition
from evaluation.scoring.bootstrap import Difference, differences
from evaluation.scoring.metrics import METRICS

from .base import Analysis, Options
from .tables import Column, Picture, Result, Table, percent_column
from .words import lacking

if TYPE_CHECKING:
    from .data import Results


def compute(results: Results, options: Options) -> Result:
    import numpy as np

    pairs = _pairs(results)
    alone = sorted({run.system.name for run in results.runs} - {name for name, _with, _without in pairs})
    missing = lacking(results)
    if alone:
        missing.append(_("Without a finished run under both conditions, so left out: %s.") % ", ".join(alone))
    if not pairs:
        return Result([], 0, [*missing, _("This needs runs of one system with and without image.")])
    gains: dict[tuple[int, int], dict[str, Difference]] = {}
    rows = []
    judged = [results.by_run(answers >= 0).sum(axis=1) for answers in results.all_answers]
    for judge in range(len(results.judges)):
        both = [at for at, (_name, a, b) in enumerate(pairs) if all(judged[judge][run] for run in (a, b))]
        rows += _rows(results, options, pairs, judge, both, gains)
    main = [row for row in rows if row["judge"] == results.judges[results.main].name]
    if not rows:
        text = _("No judge has judged both runs of a system, so there is no gain to tell.")
        return Result([], 0, [*missing, text])
    any_judge = results.by_run(np.any(results.all_answers >= 0, axis=0)).sum(axis=1)
    used = sum(int(any_judge[run]) for _name, a, b in pairs for run in (a, b))
    return Result([_wide(main), _long(main), _judges(results, rows), _families(results, pairs, gains)], used, missing)


def _pairs(results: Results) -> list[tuple[str, int, int]]:
    """(system, position of its run with image, without); of several runs the newest."""
    newest: dict[tuple[str, str], int] = {}
    for at in sorted(range(len(results.runs)), key=lambda at: results.runs[at].number):
        newest[results.runs[at].system.name, results.runs[at].condition] = at
    names = dict.fromkeys(name for name, _condition in newest)
    both = (Condition.WITH_IMAGE.value, Condition.WITHOUT_IMAGE.value)
    return [
        (name, newest[name, both[0]], newest[name, both[1]])
        for name in names
        if all((name, condition) in newest for condition in both)
    ]


def _rows(
    results: Results,
    options: Options,
    pairs: list[tuple[str, int, int]],
    judge: int,
    judged: list[int],
    gains: dict[tuple[int, int], dict[str, Difference]],
) -> list[dict[str, Any]]:
    """One row per pair and metric under one judge. `gains` takes (pair, judge) -> metric -> difference."""
    import numpy as np

    if not judged:
        return []
    values = results.scores if judge == results.main else results.values(judge)
    seen = [pairs[at][1] for at in judged]
    unseen = [pairs[at][2] for at in judged]
    found = differences(
        np.vstack([values[m][seen] - values[m][unseen] for m in METRICS]).T,
        seed=options.seed,
        resamples=options.resamples,
    )
    rows = []
    for place, at in enumerate(judged):
        name, a, b = pairs[at]
        for which, metric in enumerate(METRICS):
            gain = found[which * len(judged) + place]
            gains.setdefault((at, judge), {})[metric] = gain
            rows.append(
                {
                    "system": name,
                    "judge": results.judges[judge].name,
                    "own": bool(results.judges[judge].family)
                    and results.judges[judge].family == results.runs[a].system.family,
                    "metric": metric,
                    "with": float(values[metric][a].mean()),
                    "without": float(values[metric][b].mean()),
                    "gain": gain.estimate,
                    "gain_low": gain.low,
                    "gain_high": gain.high,
                    "positive": gain.share_positive,
                    "tied": gain.share_tied,
                }
            )
    return rows


def _wide(main: list[dict[str, Any]]) -> Table:
    by_system: dict[str, dict[str, Any]] = {}
    for row in main:
        wide = by_system.setdefault(row["system"], {"system": row["system"]})
        wide |= {row["metric"] + tail: row[f"gain{tail}"] for tail in ("", "_low", "_high")}
    return Table(
        "gains",
        _("Gain by the image under the main judge"),
        (Column("system", _("system")), *(percent_column(metric, metric, interval=True) for metric in METRICS)),
        sorted(by_system.values(), key=lambda row: -row["DACS"]),
        _("With image minus without, in percentage points over the same items."),
        Picture("intervals", "system", METRICS),
    )


def _columns(*more: Column) -> tuple[Column, ...]:
    return (
        Column("system", _("system")),
        *more,
        Column("metric", _("metric")),
        percent_column("with", _("with image")),
        percent_column("without", _("without")),
        percent_column("gain", _("gain"), interval=True),
        percent_column("positive", _("gain above 0")),
        percent_column("tied", _("no difference")),
    )


def _long(main: list[dict[str, Any]]) -> Table:
    note = _("The last two columns are shares of the resamples.")
    return Table("scores", _("Scores with and without image under the main judge"), _columns(), main, note)


def _judges(results: Results, rows: list[dict[str, Any]]) -> Table:
    columns = _columns(Column("judge", _("judge")), Column("own", _("own family"), "flag"))
    note = _("Own family: judge and system come from one maker, so that the judge may favour it.")
    return Table("judges", _("The same gains under every judge"), columns, rows, note)


def _families(
    results: Results, pairs: list[tuple[str, int, int]], gains: dict[tuple[int, int], dict[str, Difference]]
) -> Table:
    rows = []
    for at, (name, seen, _unseen) in enumerate(pairs):
        family = results.runs[seen].system.family
        strangers = [j for j in range(len(results.judges)) if (at, j) in gains and results.judges[j].family != family]
        for metric in METRICS:
            others = [gains[at, judge][metric].estimate for judge in strangers]
            rows.append(
                {
                    "system": name,
                    "metric": metric,
                    "main": gains[at, results.main][metric].estimate if (at, results.main) in gains else None,
                    "median": median(others) if others else None,
                    "judges": len(others),
                }
            )
    columns = (
        Column("system", _("system")),
        Column("metric", _("metric")),
        percent_column("main", _("gain, main judge")),
        percent_column("median", _("median gain, judges of other families")),
        Column("judges", _("such judges"), "count"),
    )
    return Table("families", _("Gains under judges of other families"), columns, rows)


IMAGE_ABLATION = Analysis(
    "image_ablation",
    gettext_lazy("Image ablation"),
    gettext_lazy(
        "What each system gains by the image: paired differences over the same items between its runs with and "
        "without, with intervals and the share of resamples in which there is a gain, under every judge."
    ),
    compute,
    runs=2,
    conditions=True,
    unjudged=True,
)
