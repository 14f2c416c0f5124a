"""What a release is made of, and how the same systems did on the release before it."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any

from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from annotation.document import canonical_hash
from audit.comparison import changed_ids, compare
from audit.figures import SMALL, Summary, lengths_of
from audit.releases import Release
from evaluation.models import Judge, Run, RunState
from evaluation.scoring.bootstrap import differences
from evaluation.scoring.metrics import METRICS

from .base import Analysis, Options
from .data import load
from .tables import Column, Picture, Result, Table, percent_column
from .words import lacking

if TYPE_CHECKING:
    from collections.abc import Sequence

    from .data import Results


def compute(results: Results, options: Options) -> Result:
    summary = Summary()
    for item in results.items:
        summary.add(item.document)
    figures, n = summary.to_json(), len(results.items)
    lengths = {"steps": _("steps"), "depth": _("depth"), "sources": _("sources")}
    spread = [{"what": label, **figures[name]} for name, label in lengths.items()]
    kinds = sum(figures["kinds"].values())
    shares = [
        (_("items with an image, PDF, video or map"), figures["with"]["non_text"], n),
        (_("items with a PDF, video or map"), figures["with"]["pdf_video_map"], n),
        (_("sources on Wikipedia"), figures["kinds"].get("wikipedia", 0), kinds),
    ]
    columns = (
        Column("what", _("per item")),
        *(Column(key, label, "rounded") for key, label in (("mean", _("mean")), ("median", _("median")))),
        *(Column(key, label, "count") for key, label in (("min", _("least")), ("max", _("most")), ("total", _("all")))),
    )
    scopes = {"category": _("category"), "template": _("template"), "tag": _("operation tag")} | lengths
    groups = [
        {
            "scope": scopes[row["scope"]],
            "group": row["group"].replace("_", " ") or _("(none)"),
            "items": row["items"],
            "share": row["items"] / n,
            "steps": row["steps"],
            "sources": row["sources"],
            "small": row["items"] < SMALL,
        }
        for row in figures["table"]
    ]
    split = (
        Column("scope", _("split by")),
        Column("group", _("items that are")),
        Column("items", _("items"), "count"),
        percent_column("share", _("share")),
        Column("steps", _("mean steps"), "rounded"),
        Column("sources", _("mean sources"), "rounded"),
        Column("small", _("under %d items") % SMALL, "flag"),
    )
    tables = [
        Table("lengths", _("%d items") % n, columns, spread, _("Different URLs: %d.") % figures["urls"]),
        Table(
            "coverage",
            _("What is not text"),
            (Column("what", _("what")), Column("count", _("count"), "count"), percent_column("share", _("share"))),
            [{"what": what, "count": part, "share": part / all_ if all_ else None} for what, part, all_ in shares],
        ),
        Table("splits", _("Splits"), split, groups, _("An item may have several operation tags.")),
        *(_distribution(results, name, label) for name, label in lengths.items()),
    ]
    return Result(tables, n)


def _distribution(results: Results, name: str, label: str) -> Table:
    counts = Counter(lengths_of(item.document)[name] for item in results.items)
    rows = [{"value": value, "items": counts[value]} for value in range(min(counts), max(counts) + 1)]
    columns = (Column("value", label, "count"), Column("items", _("items"), "count"))
    return Table(
        f"{name}-distribution", _("Items by %s") % label, columns, rows, picture=Picture("bars", "value", ("items",))
    )


def earlier_runs(release: Release, runs: Sequence[Run], main: Judge | None) -> list[Run]:
    """The newest finished run of each of these systems, in its condition, on the newest earlier release with any that
    the judge judged; [] without."""
    wanted = {(run.system_id, run.condition) for run in runs}
    rows = Run.objects.filter(
        benchmark=release.benchmark_id,
        release__lt=release.pk,
        system__in={system for system, _condition in wanted},
        judges=main,
        state=RunState.FINISHED,
        is_trial=False,
    )
    newest: dict[tuple[int, str], Run] = {}
    for run in rows.select_related("system", "release").order_by("-release", "-number"):
        key = run.system_id, run.condition
        if (
            key in wanted
            and key not in newest
            and (not newest or run.release_id == next(iter(newest.values())).release_id)
        ):
            newest[key] = run
    return list(newest.values())


def compute_releases(results: Results, options: Options) -> Result:
    """Only items that ask and grade the same are compared; the others stand apart, and nothing is ranked across."""
    import numpy as np

    main = results.judges[results.main]
    runs = earlier_runs(results.release, results.runs, main)
    if not runs:
        text = _("None of these systems has a finished run on an earlier release that %s judged.")
        return Result([], 0, [text % main.name])
    before = load(runs[0].release, runs, [main], main, options.profile)
    documents = [{item.uid: item.document for item in each.items} for each in (before, results)]
    old, new = ({uid: canonical_hash(document) for uid, document in each.items()} for each in documents)
    found = compare(old, new, ((uid, documents[0][uid], documents[1][uid]) for uid in changed_ids(old, new)))
    graded = {change.uid for change in found.changed if change.graded}
    place_old = {item.uid: at for at, item in enumerate(before.items)}
    place_new = {item.uid: at for at, item in enumerate(results.items)}
    both = [uid for uid in place_new if uid in place_old]
    parts = {"same": [uid for uid in both if uid not in graded], "changed": [uid for uid in both if uid in graded]}
    rows: dict[str, list[dict[str, Any]]] = {"same": [], "changed": []}
    missing = lacking(results) + [f"{before.release.name}: {sentence}" for sentence in lacking(before)]
    row_of = {(run.system_id, run.condition): at for at, run in enumerate(before.runs)}
    for at, (run, label) in enumerate(zip(results.runs, results.labels, strict=True)):
        was = row_of.get((run.system_id, run.condition))
        if was is None:
            missing.append(_("%(run)s has no run on %(release)s.") % {"run": label, "release": before.release.name})
            continue
        for part, uids in parts.items():
            if not uids:
                continue
            here, there = [place_new[uid] for uid in uids], [place_old[uid] for uid in uids]
            now = np.stack([results.scores[metric][at, here] for metric in METRICS], axis=1)
            then = np.stack([before.scores[metric][was, there] for metric in METRICS], axis=1)
            row: dict[str, Any] = {"system": label, "n": len(uids)}
            changes = differences(now - then, seed=options.seed, resamples=options.resamples)
            for metric, change, a, b in zip(METRICS, changes, then.mean(axis=0), now.mean(axis=0), strict=True):
                row |= {f"{metric}_old": float(a), f"{metric}_new": float(b), f"{metric}_change": change.estimate}
                row |= {f"{metric}_change_low": change.low, f"{metric}_change_high": change.high}
            rows[part].append(row)
    names = {"old": before.release.name, "new": results.release.name}
    columns = (
        Column("system", _("system")),
        Column("n", _("items"), "count"),
        *(
            column
            for m in METRICS
            for column in (
                percent_column(f"{m}_old", f"{m}, {names['old']}"),
                percent_column(f"{m}_new", f"{m}, {names['new']}"),
                percent_column(f"{m}_change", _("change of %s") % m, interval=True),
            )
        ),
    )
    counts = [
        (_("ask and grade the same"), len(parts["same"])),
        (_("of these, changed elsewhere"), len(found.changed) - len(graded)),
        (_("changed in what is asked or graded"), len(graded)),
        (_("new in %(new)s") % names, len(found.added)),
        (_("no longer in %(new)s") % names, len(found.removed)),
    ]
    same = _("Items that ask and grade the same")
    changed = _("Items changed in what is asked or graded: the scores are of different tasks")
    tables = [
        Table("same", same, columns, rows["same"], picture=Picture("intervals", "system", ("DACS_change",))),
        Table("changed", changed, columns, rows["changed"], "" if rows["changed"] else _("None.")),
        Table(
            "items",
            _("From %(old)s to %(new)s") % names,
            (Column("what", _("items")), Column("count", _("count"), "count")),
            [{"what": what, "count": count} for what, count in counts],
        ),
    ]
    if not parts["same"]:
        missing.append(_("No item asks and grades the same in both releases."))
    return Result(tables, int(results.scores["judged"].sum()), missing)


def _earlier(release: Release, runs: Sequence[Run], main: Judge | None) -> list[list[Any]]:
    return [[run.pk, str(run.ended)] for run in earlier_runs(release, runs, main)]


DATASET = Analysis(
    "dataset",
    gettext_lazy("Dataset"),
    gettext_lazy(
        "What the release is made of: lengths, depth, sources, coverage, and how many items each split holds."
    ),
    compute,
    runs=0,
    judges=0,
    unjudged=True,
    draws="",
)
RELEASES = Analysis(
    "releases",
    gettext_lazy("Release to release"),
    gettext_lazy(
        "The same systems on this release and the one before it, over the items that ask and grade the same; changed "
        "items apart, as scores across them are of different tasks."
    ),
    compute_releases,
    besides=_earlier,
)
