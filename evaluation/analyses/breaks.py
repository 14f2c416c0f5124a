"""Where chains break: failure by level, the first missing steps and what they cost, and how much hangs on the edges."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from evaluation.scoring.chains import SHARES, StepCost, breaks, failure_by_level, sensitivity, step_costs

from .base import Analysis, Options
from .tables import Column, Picture, Result, Table, percent_column
from .words import address_of, groups_of_systems, lacking, step_name

if TYPE_CHECKING:
    from .data import Results

MOST = 50  # steps named
DRAWS = 20  # of each share of edges: the spread is narrow, as a draw touches all items


def compute_levels(results: Results, options: Options) -> Result:
    """Counted over judged responses: a response without a verdict states nothing and denies nothing."""
    import numpy as np

    stated, graphs = results.all_stated[results.main], [item.prerequisites for item in results.items]
    weights = results.weights(results.all_answers[results.main] >= 0)
    thirds = [_("first third"), _("middle third"), _("last third")]
    rows, short = [], []
    for label, runs in groups_of_systems(results):
        at = np.isin(results.run_of, runs)
        found = failure_by_level(stated[at], graphs, weights[at])
        parts = zip(found.steps, found.failed, found.rates, strict=True)
        *of_thirds, of_short = ({"steps": steps, "failed": failed, "rate": rate} for steps, failed, rate in parts)
        head = {"group": label, "systems": len(runs)}
        rows += [{**head, "third": third, **its} for third, its in zip(thirds, of_thirds, strict=True)]
        if of_short["steps"]:
            short.append({**head, **of_short})
    group_columns = (Column("group", _("group")), Column("systems", _("systems"), "count"))
    figures = (
        Column("steps", _("steps judged"), "count"),
        Column("failed", _("not stated"), "count"),
        percent_column("rate", _("failure rate")),
    )
    note = _("The third is floor(3 level / levels) of the item. That later steps fail more often does not say why.")
    columns = (*group_columns, Column("third", _("levels")), *figures)
    picture = Picture("lines", "third", ("rate",), "group")
    tables = [Table("levels", _("Failure by dependency level"), columns, rows, note, picture)]
    if short:
        title = _("Items of fewer than three levels, which have no thirds")
        tables.append(Table("short", title, (*group_columns, *figures), short))
    return Result(tables, int((results.all_answers[results.main] >= 0).sum()), lacking(results))


@dataclass(frozen=True, slots=True)
class ItemCosts:
    """Where responses to one item break. place: among the items. judged: responses. steps: of its checklist. worst:
    position of the step at which the most responses break first, those of a run together weighing 1; None where none
    breaks. runs: with a judged response."""

    place: int
    judged: int
    runs: int
    steps: list[StepCost]
    worst: int | None

    @property
    def first(self) -> int:
        return self.steps[self.worst].first if self.worst is not None else 0

    @property
    def share(self) -> float | None:
        """Of the responses, that break first at the worst step; None where none was judged."""
        if not self.judged:
            return None
        return self.steps[self.worst].share if self.worst is not None else 0.0

    @property
    def loss(self) -> float | None:
        """Mean credit lost to missing steps; None where none was judged."""
        return sum(step.loss for step in self.steps) if self.judged else None


def item_costs(results: Results) -> list[ItemCosts]:
    """Every item under the main judge: first those at one step of which the most responses break, then by what is
    lost."""
    found = []
    judged = results.all_answers[results.main] >= 0
    weights, runs = results.weights(judged), (results.by_run(judged) > 0).sum(axis=0).tolist()
    for place, item in enumerate(results.items):
        at, needs = judged[:, place], item.prerequisites
        steps = step_costs(results.all_stated[results.main, at, place, : len(needs)], needs, weights[at, place])
        order = [(_even(step.share), _even(step.loss)) for step in steps]
        worst = order.index(max(order)) if order else None
        if worst is not None and not steps[worst].first:
            worst = None
        found.append(ItemCosts(place, int(at.sum()), runs[place], steps, worst))
    return sorted(found, key=lambda its: (-_even((its.share or 0) * its.runs), -_even(its.loss or 0), its.place))


def _even(value: float) -> float:
    """For an order in which sums of the same fractions are equal, whatever their order was."""
    return round(value, 9)


def _cause_items(results: Results, options: Options) -> Table:
    """The items, each with the step where the most break; a link leads to its drawn checklist."""
    query = address_of(results, options)
    rows = [
        {
            "item": f"#{results.items[its.place].number}",
            "address": f"items/{results.items[its.place].number}/?{query}",
            "id": results.items[its.place].uid,
            "step": step_name(results, its.place, its.worst) if its.worst is not None else "",
            "first": its.first,
            "judged": its.judged,
            "share": its.share,
            "loss": its.loss,
        }
        for its in item_costs(results)
    ]
    columns = (
        Column("item", _("item"), link="address"),
        Column("id", _("id")),
        Column("step", _("step where the most break first")),
        Column("first", _("responses that first break there"), "count"),
        Column("judged", _("responses judged"), "count"),
        percent_column("share", _("share")),
        percent_column("loss", _("credit lost in the item, CS − DACS")),
    )
    note = _("Each item opens its checklist, drawn, with what every step costs.")
    return Table("items", _("Items, those first at one step of which the most responses break"), columns, rows, note)


def compute_causes(results: Results, options: Options) -> Result:
    import numpy as np

    stated, judged = results.all_stated[results.main], results.all_answers[results.main] >= 0
    weights = results.weights(judged)
    rows: list[dict[str, Any]] = []
    of_runs: list[dict[str, Any]] = [
        {"system": label, "broken": 0, "judged": 0, "loss": 0.0, "item": None, "step": None, "worst": None}
        for label in results.labels
    ]
    for place, item in enumerate(results.items):
        at = np.flatnonzero(judged[:, place])
        run_of, each = results.run_of[at], weights[at, place]
        first, loss = breaks(stated[at, place, : len(item.prerequisites)], item.prerequisites)
        for run in np.unique(run_of).tolist():
            mine, its = of_runs[run], run_of == run
            mine["judged"] += int(its.sum())
            mine["broken"] += int(first[its].any(axis=1).sum())
            of_item = loss[its].sum(axis=0) / int(results.samples[run])  # what has no verdict loses nothing
            mine["loss"] += float(of_item.sum()) / len(results.items)
            step = int(of_item.round(9).argmax())
            if _even(of_item[step]) > _even(mine["worst"] or 0):
                mine |= {"worst": float(of_item[step]), "item": item.uid, "step": step_name(results, place, step)}
        total = each @ loss
        for step in np.flatnonzero(first.any(axis=0) | loss.any(axis=0)).tolist():
            rows.append(
                {
                    "item": item.uid,
                    "step": step_name(results, place, step),
                    "systems": len(np.unique(run_of[first[:, step]])),
                    "first": int(first[:, step].sum()),
                    "judged": len(at),
                    "share": float(each @ first[:, step] / each.sum()),
                    "loss": float(total[step] / each.sum()),
                    "total": float(total[step]),
                }
            )
    everything = sum(row["total"] for row in rows)
    for row in rows:
        row["of_all"] = row["total"] / everything if everything else None
    costly = sorted(
        (row for row in rows if row["total"]), key=lambda row: (-_even(row["total"]), row["item"], row["step"])
    )
    shared = [row for row in rows if row["systems"] > 1]
    shared.sort(key=lambda row: (-row["systems"], -_even(row["share"]), row["item"], row["step"]))
    step_columns = (Column("item", _("item")), Column("step", _("step")))
    counts = (
        Column("first", _("responses that first break here"), "count"),
        Column("judged", _("responses judged"), "count"),
        percent_column("share", _("share")),
    )
    tables = [
        _cause_items(results, options),
        Table(
            "costly",
            _("Steps that cost the most credit downstream"),
            (
                *step_columns,
                percent_column("loss", _("credit lost downstream, of the item")),
                percent_column("of_all", _("of all that is lost")),
                *counts,
            ),
            costly[:MOST],
            _shown(len(costly)) or _("A stated step that misses several prerequisites is lost to each in equal parts."),
        ),
        Table(
            "shared",
            _("Steps at which several systems break first"),
            (*step_columns, Column("systems", _("systems that break first here"), "count"), *counts),
            shared[:MOST],
            _shown(len(shared)) if shared else _("No two systems break first at one step."),
        ),
        Table(
            "systems",
            _("What missing steps cost each system"),
            (
                Column("system", _("system")),
                Column("judged", _("responses judged"), "count"),
                Column("broken", _("with a missing step"), "count"),
                percent_column("loss", _("CS − DACS")),
                Column("item", _("costliest in item")),
                Column("step", _("step")),
                percent_column("worst", _("lost there, of the item")),
            ),
            of_runs,
        ),
    ]
    return Result(tables, int(judged.sum()), lacking(results))


def _shown(count: int) -> str:
    return _("%(shown)d of %(count)d steps are shown.") % {"shown": MOST, "count": count} if count > MOST else ""


def compute_sensitivity(results: Results, options: Options) -> Result:
    graphs = [item.prerequisites for item in results.items]
    stated, run_of = results.all_stated[results.main], results.run_of
    found = sensitivity(stated, graphs, run_of=run_of, draws=DRAWS, seed=options.seed)
    rows = []
    for label, its in zip(results.labels, found, strict=True):
        row: dict[str, Any] = {"system": label, "DACS": its.dacs, "DACS_low": its.one_edge[0]}
        row |= {"DACS_high": its.one_edge[1], "closure": its.closure, "CS": its.cs}
        for share, (low, mean, high) in its.deleted.items():
            key = f"without_{share:.0%}".rstrip("%")
            row |= {key: mean, f"{key}_low": low, f"{key}_high": high}
        rows.append(row)
    shares = [(f"without_{share:.0%}".rstrip("%"), share) for share in SHARES]
    columns = (
        Column("system", _("system")),
        percent_column("DACS", _("DACS, and its range with any one edge left out"), interval=True),
        percent_column("closure", _("with all indirect edges drawn")),
        *(percent_column(key, _("%d%% of edges left out") % round(100 * s), interval=True) for key, s in shares),
        percent_column("CS", _("CS: no edges")),
    )
    text = _("%(edges)d edges; %(draws)d draws of each share, the range is that of the draws. Ranges are no intervals.")
    note = text % {"edges": found[0].edges, "draws": DRAWS}
    picture = Picture("intervals", "system", ("DACS", *(key for key, _share in shares)))
    table = Table("sensitivity", _("DACS when edges are left out"), columns, rows, note, picture)
    return Result([table], int((results.all_answers[results.main] >= 0).sum()), lacking(results))


LEVELS = Analysis(
    "levels",
    gettext_lazy("Failure by level"),
    gettext_lazy("How often steps are not stated, by the third of their item's dependency levels they lie in."),
    compute_levels,
    draws="",
)
CAUSES = Analysis(
    "causes",
    gettext_lazy("Root causes"),
    gettext_lazy(
        "The first steps that responses miss, and the credit that stated steps lose for it downstream; the losses of a "
        "system add up to its CS − DACS."
    ),
    compute_causes,
    draws="",
    version=2,
)
SENSITIVITY = Analysis(
    "sensitivity",
    gettext_lazy("Sensitivity to the graph"),
    gettext_lazy("How much DACS hangs on the edges as annotated: with edges left out it can only rise, up to CS."),
    compute_sensitivity,
    draws=gettext_lazy("20 draws of edges for each share, seed %(seed)d."),
)
