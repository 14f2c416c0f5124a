"""What the choice of judge, of its prompt, of flagged cells and of the scoring profile does to the same responses."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from evaluation.flags import FLAG_NAMES, FLAG_WORDS
from evaluation.models import Response, Verdict
from evaluation.scoring.bootstrap import ratios
from evaluation.scoring.health import ranks
from evaluation.scoring.metrics import METRICS, Profile

from .base import Analysis, Options
from .data import load
from .tables import Column, Picture, Result, Table, percent_column
from .words import lacking, step_name

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from .data import Results

MOST = 20  # items named
RANKED = ("OA", "DACS")


def compute(results: Results, options: Options) -> Result:
    import numpy as np

    values = [results.values(at) for at in range(len(results.judges))]
    others = [at for at in range(len(results.judges)) if at != results.main]
    common = {at: (results.all_answers[results.main] >= 0) & (results.all_answers[at] >= 0) for at in others}
    main, missing = results.judges[results.main].name, lacking(results)
    for at in others:
        if not common[at].any():
            text = _("%(other)s and %(main)s have judged no response in common.")
            missing.append(text % {"other": results.judges[at].name, "main": main})
    met = [at for at in others if common[at].any()]
    tables = [
        Table(
            "moved",
            _("The same responses under another judge than %s") % main,
            _moved_columns(),
            _moved(results, met, common, options),
            _("Over responses that both judged; a change above 0 is a higher score under the other judge."),
        ),
        _moved_items(results, met, common),
        *(_ranks(results, metric, values) for metric in RANKED),
    ]
    used = np.any([common[at] for at in met], axis=0).sum() if met else 0
    return Result(tables, int(used), missing)


def _moved_columns() -> tuple[Column, ...]:
    return (
        Column("judge", _("judge")),
        Column("prompt", _("prompt")),
        Column("cells", _("responses of both"), "count"),
        Column("to_right", _("answers now right"), "count"),
        Column("to_wrong", _("answers now wrong"), "count"),
        Column("to_stated", _("steps now stated"), "count"),
        Column("to_missing", _("steps now missing"), "count"),
        *(percent_column(metric, _("change of %s") % metric, interval=True) for metric in METRICS),
    )


def _moved(
    results: Results,
    others: list[int],
    common: dict[int, NDArray[np.bool_]],
    options: Options,
) -> list[dict[str, Any]]:
    """Items are resampled, each with all its responses of both judges; the same resamples for all judges."""
    import numpy as np

    if not others:
        return []
    main, old = results.all_answers[results.main], results.all_stated[results.main]
    mine, weights = results.of_samples(results.main), {at: results.weights(common[at]) for at in others}
    gains: list[NDArray[np.float64]] = []
    for at in others:
        theirs = results.of_samples(at)
        gains += [((theirs[metric] - mine[metric]) * weights[at]).sum(axis=0) for metric in METRICS]
    cells = [weights[at].sum(axis=0) for at in others for _metric in METRICS]
    draws = {"seed": options.seed, "resamples": options.resamples}
    changes = iter(ratios(np.stack(gains, axis=1), np.stack(cells, axis=1), **draws))
    rows = []
    for at in others:
        judge, both, new = results.judges[at], common[at], results.all_stated[at]
        row: dict[str, Any] = {
            "judge": judge.name,
            "prompt": judge.prompt_version,
            "cells": int(both.sum()),
            "to_right": int((both & (main == 0) & (results.all_answers[at] == 1)).sum()),
            "to_wrong": int((both & (main == 1) & (results.all_answers[at] == 0)).sum()),
            "to_stated": int((both[..., None] & (old == 0) & (new == 1)).sum()),
            "to_missing": int((both[..., None] & (old == 1) & (new == 0)).sum()),
        }
        for metric in METRICS:
            change = next(changes)
            row |= {metric: change.estimate, f"{metric}_low": change.low, f"{metric}_high": change.high}
        rows.append(row)
    return rows


def _moved_items(results: Results, others: list[int], common: dict[int, NDArray[np.bool_]]) -> Table:
    """Where the verdicts moved: the items with most moved steps and answers, and the step that moved most often."""
    import numpy as np

    answers = np.zeros(len(results.items), dtype=np.int64)
    steps = np.zeros((len(results.items), results.all_stated.shape[3]), dtype=np.int64)
    for at in others:
        answers += ((results.all_answers[at] != results.all_answers[results.main]) & common[at]).sum(axis=0)
        moved = (results.all_stated[at] != results.all_stated[results.main]) & common[at][:, :, None]
        steps += moved.sum(axis=0)
    total = answers + steps.sum(axis=1)
    rows = []
    for item in np.argsort(-total, kind="stable")[:MOST].tolist():
        if total[item]:
            step = int(steps[item].argmax())
            moved_step = step_name(results, item, step) if steps[item, step] else None
            row = {"item": results.items[item].uid, "answers": int(answers[item]), "steps": int(steps[item].sum())}
            rows.append(row | {"step": moved_step, "times": int(steps[item, step])})
    columns = (
        Column("item", _("item")),
        Column("answers", _("answer verdicts that differ"), "count"),
        Column("steps", _("step verdicts that differ"), "count"),
        Column("step", _("the step that differs most")),
        Column("times", _("times"), "count"),
    )
    note = _("The %d items with most.") % MOST if (total > 0).sum() > MOST else ""
    return Table("items", _("Where verdicts differ"), columns, rows, note or ("" if rows else _("None differs.")))


def _ranks(results: Results, metric: str, values: list[dict[str, NDArray[np.float64]]]) -> Table:
    """Ranks under each judge; None for a run of which a judge judged nothing."""
    keys = [f"j{at + 1}" for at in range(len(results.judges))]
    places: list[dict[int, int]] = []
    for at in range(len(results.judges)):
        runs = [run for run in range(len(results.runs)) if values[at]["judged"][run].any()]
        places.append(
            dict(zip(runs, ranks([round(float(values[at][metric][r].mean()), 12) for r in runs]), strict=True))
        )
    rows = []
    for run, label in enumerate(results.labels):
        mine = [place.get(run) for place in places]
        known = [rank for rank in mine if rank is not None]
        best, worst = (min(known), max(known)) if known else (None, None)
        rows.append({"system": label, **dict(zip(keys, mine, strict=True)), "best": best, "worst": worst})
    columns = (
        Column("system", _("system")),
        *(Column(key, judge.name, "count") for key, judge in zip(keys, results.judges, strict=True)),
        Column("best", _("best"), "count"),
        Column("worst", _("worst"), "count"),
    )
    note = _("A judge ranks the runs that it judged; equal scores share the better rank.")
    picture = Picture("matrix", "system", tuple(keys))
    return Table(f"ranks-{metric}", _("Ranks by %s under each judge") % metric, columns, rows, note, picture)


def compute_variants(results: Results, options: Options) -> Result:
    """Each run's scores without its flagged cells, and under the other profile, beside those that are reported."""
    flagged, kinds = _flagged(results)
    of_samples = results.of_samples(results.main)
    weights = results.weights(~flagged)
    left = results.by_run(~flagged) > 0
    main = results.judges[results.main]
    profiles = {
        profile: results.scores
        if profile is options.profile
        else load(results.release, results.runs, [main], main, profile).scores
        for profile in Profile
    }
    without, both = [], []
    for run, label in enumerate(results.labels):
        its, kept = results.run_of == run, left[run]
        row: dict[str, Any] = {"system": label, "flagged": int(flagged[its].sum()), "kept": int(kept.sum())}
        other: dict[str, Any] = {"system": label}
        for metric in METRICS:
            row[metric] = float(results.scores[metric][run].mean())
            without_flagged = (of_samples[metric] * weights)[its].sum(axis=0)[kept]
            row[f"{metric}_without"] = float(without_flagged.mean()) if kept.any() else None
            other |= {f"{metric}_{p}": float(scores[metric][run].mean()) for p, scores in profiles.items()}
        without.append(row)
        both.append(other)
    pairs = [(metric, _("%s without") % metric) for metric in METRICS]
    tables = [
        Table(
            "flagged",
            _("With and without flagged cells"),
            (
                Column("system", _("system")),
                Column("flagged", _("flagged"), "count"),
                Column("kept", _("items left"), "count"),
                *(percent_column(k, t) for m, text in pairs for k, t in ((m, m), (f"{m}_without", text))),
            ),
            without,
            _("Without flagged cells the means are over the items that are left, so they are of other items."),
        ),
        Table(
            "flags",
            _("What is flagged"),
            (Column("flag", _("flag")), Column("means", _("what it means")), Column("cells", _("cells"), "count")),
            [
                {"flag": str(FLAG_NAMES.get(flag, flag)), "means": str(FLAG_WORDS.get(flag, "")), "cells": count}
                for flag, count in sorted(kinds.items())
            ],
            "" if kinds else _("Nothing is flagged."),
        ),
        Table(
            "profiles",
            _("Both scoring profiles"),
            (
                Column("system", _("system")),
                *(percent_column(f"{m}_{p}", f"{m}, {p}") for m in METRICS for p in Profile),
            ),
            both,
            _("as-published counts each readable half of a verdict, fills short vectors and cuts long ones."),
        ),
    ]
    return Result(tables, int(results.scores["judged"].sum()), lacking(results))


def _flagged(results: Results) -> tuple[NDArray[np.bool_], dict[str, int]]:
    """(S, n) whether a response, or the main judge's verdict on it, has a flag; and how many cells have each."""
    import numpy as np

    column_of = {item.pk: at for at, item in enumerate(results.items)}
    cells: dict[str, set[tuple[int, int]]] = {}
    responses = Response.objects.filter(run__in=results.runs).exclude(flags=[])
    main = results.judges[results.main]
    verdicts = Verdict.objects.filter(run__in=results.runs, judge=main, repeat=1).exclude(flags=[])
    for rows, of in (responses, ""), (verdicts, "response__"):
        places = rows.values_list("run_id", f"{of}sample", f"{of}release_item_id", "flags")
        for run_pk, sample, item_pk, flags in places.iterator(chunk_size=5000):
            for flag in flags:
                cells.setdefault(flag, set()).add((results.row_of[run_pk, sample], column_of[item_pk]))
    flagged = np.zeros(results.all_completed.shape, dtype=bool)
    for at in set().union(*cells.values()):
        flagged[at] = True
    return flagged, {flag: len(places) for flag, places in cells.items()}


JUDGE_CHANGES = Analysis(
    "judge-changes",
    gettext_lazy("Change of judge or prompt"),
    gettext_lazy("The same responses under the main judge and each other one: what moved, where, and the ranks."),
    compute,
    judges=2,
    people=True,
    unjudged=True,
)
VARIANTS = Analysis(
    "variants",
    gettext_lazy("Flags and profiles"),
    gettext_lazy("Scores with and without flagged cells, and under both scoring profiles, side by side."),
    compute_variants,
    draws="",
    version=2,
)
