"""Scores by what items are: category, template, operation tag, length, depth and sources."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING, Any

from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from audit.figures import RANGES, SMALL, groups_of
from evaluation.scoring.bootstrap import intervals
from evaluation.scoring.metrics import METRICS

from .base import Analysis, Options
from .tables import Column, Picture, Result, Table, percent_column
from .words import lacking

if TYPE_CHECKING:
    from .data import Results

Group = tuple[str, list[int]]  # its name, and the positions of its items


def compute(results: Results, options: Options) -> Result:
    titles = {
        "category": _("By category"),
        "template": _("By template"),
        "tag": _("By operation tag"),
        "steps": _("By checklist length"),
        "depth": _("By depth of the checklist's graph"),
        "sources": _("By number of sources"),
    }
    tables = []
    for scope, title in titles.items():
        groups = items_by(results, scope)
        if not groups:
            continue
        shape = "lines" if scope in RANGES else "intervals"
        picture = Picture(shape, "group", ("DACS",), "system")  # type: ignore[arg-type]  # one of its literals
        tables.append(
            Table(scope, title, _columns(METRICS), _rows(results, groups, options), _note(scope, groups), picture)
        )
    untagged = sum(not item.document["operation_tags"] for item in results.items)
    missing = lacking(results)
    if untagged:
        text = _("%(count)d of %(n)d items have no operation tag and are in no row by tag.")
        missing.append(text % {"count": untagged, "n": len(results.items)})
    return Result(tables, _used(results), missing, _warnings(tables))


def compute_length(results: Results, options: Options) -> Result:
    """Whether SA and DACS fall as checklists grow, over the ranges that hold enough items to say so."""
    groups = items_by(results, "steps")
    large = [(name, at) for name, at in groups if len(at) >= SMALL]
    rows = []
    for run, label in enumerate(results.labels):
        row: dict[str, Any] = {"system": label, "ranges": len(large)}
        for metric in ("SA", "DACS"):
            means = [float(results.scores[metric][run, at].mean()) for _name, at in large]
            enough = len(means) > 1
            row[f"{metric}_change"] = means[-1] - means[0] if enough else None
            row[f"{metric}_falls"] = all(a > b for a, b in pairwise(means)) if enough else None
        rows.append(row)
    columns = (
        Column("system", _("system")),
        Column("ranges", _("ranges with %d items or more") % SMALL, "count"),
        percent_column("SA_change", _("SA, longest less shortest")),
        Column("SA_falls", _("SA falls at every step"), "flag"),
        percent_column("DACS_change", _("DACS, longest less shortest")),
        Column("DACS_falls", _("DACS falls at every step"), "flag"),
    )
    picture = Picture("lines", "group", ("DACS", "SA"), "system")
    lines = Table(
        "length",
        _("DACS and SA by checklist length"),
        _columns(("DACS", "SA")),
        _rows(results, groups, options, ("DACS", "SA")),
        _note("steps", groups),
        picture,
    )
    missing = lacking(results)
    if len(large) < 2:
        text = _("%(count)d ranges hold %(small)d items or more; it takes two to say whether scores fall.")
        missing.append(text % {"count": len(large), "small": SMALL})
    change = Table("change", _("From the shortest to the longest checklists"), columns, rows)
    return Result([lines, change], _used(results), missing, _warnings([lines]))


def items_by(results: Results, scope: str) -> list[Group]:
    """The groups of a scope that hold items: ranges in their order, the others by name."""
    found: dict[str, list[int]] = {}
    for at, item in enumerate(results.items):
        for its_scope, name in groups_of(item.document):
            if its_scope == scope:
                found.setdefault(name, []).append(at)
    order = [name for name, _low, _high in RANGES.get(scope, ())]
    return sorted(found.items(), key=lambda group: (order.index(group[0]) if order else 0, group[0]))


def _rows(
    results: Results, groups: list[Group], options: Options, metrics: tuple[str, ...] = METRICS
) -> list[dict[str, Any]]:
    """A row per system and group. Intervals resample the items of the group, the same for all systems; one item alone
    has none, as it could not have been another one."""
    ends = [_ends(results, at, options, metrics) for _name, at in groups]
    return [
        {
            "system": label,
            "group": name.replace("_", " ") or _("(none)"),
            "n": len(at),
            "small": len(at) < SMALL,
            **{metric: float(results.scores[metric][run, at].mean()) for metric in metrics},
            **{
                f"{metric}_{end}": its[end][run][place] if its else None
                for place, metric in enumerate(metrics)
                for end in ("low", "high")
            },
        }
        for run, label in enumerate(results.labels)
        for (name, at), its in zip(groups, ends, strict=True)
    ]


def _ends(
    results: Results, at: list[int], options: Options, metrics: tuple[str, ...]
) -> dict[str, list[list[float]]] | None:
    """low, high -> [run][metric] over these items; None for a single item."""
    import numpy as np

    if len(at) < 2:
        return None
    values = np.stack([results.scores[metric][:, at] for metric in metrics], axis=1)  # (R, metrics, n)
    found = intervals(values.reshape(-1, len(at)).T, resamples=options.resamples, seed=options.seed)
    runs = len(values)
    return {
        "low": [row.tolist() for row in np.split(found.low, runs)],
        "high": [row.tolist() for row in np.split(found.high, runs)],
    }


def _columns(metrics: tuple[str, ...]) -> tuple[Column, ...]:
    return (
        Column("system", _("system")),
        Column("group", _("items")),
        Column("n", _("n"), "count"),
        *(percent_column(metric, metric, interval=True) for metric in metrics),
        Column("small", _("under %d items") % SMALL, "flag"),
    )


def _note(scope: str, groups: list[Group]) -> str:
    if scope == "tag":
        return _("An item may have several tags and then counts in several rows: these are no parts of a whole.")
    held = {name for name, _at in groups}
    empty = [name for name, _low, _high in RANGES.get(scope, ()) if name not in held]
    return _("No items: %s.") % ", ".join(empty) if empty else ""


def _warnings(tables: list[Table]) -> list[str]:
    small = {(table.key, row["group"]) for table in tables for row in table.rows if row["small"]}
    text = _("%(count)d groups hold fewer than %(small)d items and are marked: one item moves their scores far.")
    return [text % {"count": len(small), "small": SMALL}] if small else []


def _used(results: Results) -> int:
    return int(results.scores["judged"].sum())


SPLITS = Analysis(
    "splits",
    gettext_lazy("Scores by kind of item"),
    gettext_lazy(
        "The four metrics over the items of each category, template, operation tag and range of lengths, depths and "
        "sources, with 95% intervals over these items."
    ),
    compute,
    version=2,
)
LENGTH = Analysis(
    "length",
    gettext_lazy("Scores by checklist length"),
    gettext_lazy("Whether strict accuracy and chain scores fall as the chain of evidence grows."),
    compute_length,
    version=2,
)
