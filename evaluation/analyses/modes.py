"""Failure modes: what failed steps were labelled as, by group of systems, each labeller apart, and their agreement."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import TYPE_CHECKING, Any

from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from audit.figures import SMALL
from evaluation.failure_modes import Mode
from evaluation.labels import modes_of
from evaluation.models import Labelling, Work
from evaluation.scoring.failures import ModeShares, label_agreement, mode_shares
from evaluation.scoring.label_output import WHOLE

from .base import Analysis, Options
from .tables import Column, Picture, Result, Table, percent_column
from .words import groups_of_systems, lacking

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from audit.releases import Release
    from evaluation.models import Judge, Run

    from .data import Results


@dataclass(frozen=True)
class Labelled:
    """What one labeller said by one taxonomy. steps: (S, n, M) and whole: (S, n) int16, positions among `modes`, -1
    without a label. unread: responses whose labels could not be read."""

    name: str
    is_person: bool
    taxonomy: str
    modes: tuple[Mode, ...]
    steps: NDArray[np.int16]
    whole: NDArray[np.int16]
    unread: int = 0

    @property
    def title(self) -> str:
        return f"{self.name}, {self.taxonomy}"


def compute(results: Results, options: Options) -> Result:
    return tabulate(results, read_labels(results), options)


def read_labels(results: Results) -> list[Labelled]:
    """Labels of what the main judge finds missing: models first, then people, by name; two queries besides one for
    each taxonomy of the team's own."""
    import numpy as np

    main = results.judges[results.main]
    item_of = {item.pk: at for at, item in enumerate(results.items)}
    given = Labelling.objects.filter(run__in=results.runs, basis=main.pk, status=Work.Status.COMPLETED)
    who = "labeller__name", "labeller__person", "taxonomy"
    where = "run_id", "response__sample", "response__release_item_id"
    rows = given.values_list(*who, *where, "labels", "unparseable")
    found: dict[tuple[bool, str, str], Labelled] = {}
    for name, person, taxonomy, run, sample, item, labels, unparseable in rows.order_by("pk"):
        key = person is not None, name, taxonomy
        if key not in found:
            modes = modes_of(results.release.benchmark, taxonomy)
            shape = results.all_stated.shape[1:]
            nothing = np.full(shape, -1, dtype=np.int16), np.full(shape[:2], -1, dtype=np.int16)
            found[key] = Labelled(name, person is not None, taxonomy, modes, *nothing)
        its = found[key]
        if unparseable:
            found[key] = Labelled(name, its.is_person, taxonomy, its.modes, its.steps, its.whole, its.unread + 1)
        place, cell = {mode.key: at for at, mode in enumerate(its.modes)}, (results.row_of[run, sample], item_of[item])
        for label in labels:
            if label["step"] == WHOLE:
                its.whole[cell] = place[label["mode"]]
            else:
                its.steps[*cell, label["step"] - 1] = place[label["mode"]]
    return [found[key] for key in sorted(found)]


def tabulate(results: Results, labelled: Sequence[Labelled], options: Options) -> Result:
    """Everything that the page shows, from labels that were read."""
    import numpy as np

    judged = results.all_answers[results.main] >= 0
    weights = results.weights(judged)
    failed = (results.all_stated[results.main] == 0) & judged[..., None]
    silent = int(sum(results.lengths) * len(judged) - (results.all_stated[results.main] >= 0).sum())
    missing, warnings = lacking(results), []
    judge = results.judges[results.main].name
    if not failed.any():
        missing.append(_("No step of an answer was found missing by %s, so there is nothing to label.") % judge)
    elif not labelled:
        text = _(
            "No failed step is labelled yet under %(judge)s: %(n)d wait. An admin has a model label them from a run's "
            "page (“Label failures”), and auditors label them on the page of a response."
        )
        missing.append(text % {"judge": judge, "n": int(failed.sum())})
    if silent:
        text = _(
            "%(n)d steps have no verdict, as there was no answer or it could not be judged: they count as failed in "
            "the metrics, and are no part of this analysis."
        )
        missing.append(text % {"n": silent})
    if not failed.any() or not labelled:
        return Result([], int(judged.sum()), missing)
    groups = [(name, runs, np.isin(results.run_of, runs)) for name, runs in groups_of_systems(results)]
    draws = {"resamples": options.resamples, "seed": options.seed}
    tables = [_coverage(results, labelled, groups, failed)]
    for number, its in enumerate(labelled, 1):
        shares = [
            (name, mode_shares(its.steps[at], failed[at], len(its.modes), weights[at], **draws))
            for name, _runs, at in groups
        ]
        tables += [_pictured(its, number, shares), _counted(its, number, shares)]
        if its.unread:
            text = _("Labels by %(who)s on %(n)d responses could not be read; their steps are not labelled.")
            missing.append(text % {"who": its.title, "n": its.unread})
    wholes = [row for its in labelled for row in _wholes(its, judged, weights)]
    if wholes:
        tables.append(_whole_table(wholes))
    tables.append(_agreement(labelled, failed, judged, weights))
    warnings.append(
        _(
            "Shares are conditioned on failed steps: they say what failures are made of, not how often a system fails. "
            "A system that fails seldom may still have any share of one mode."
        )
    )
    if not any(its.is_person for its in labelled):
        missing.append(_("No person has labelled anything here, so how far models label as people do is not known."))
    if any(row["small"] for table in tables for row in table.rows):
        text = _("Rows that rest on fewer than %d items are marked: one item moves their shares far.")
        warnings.append(text % SMALL)
    return Result(tables, int(judged.sum()), missing, warnings)


def _who(its: Labelled) -> str:
    return _("person") if its.is_person else _("model")


def _coverage(
    results: Results,
    labelled: Sequence[Labelled],
    groups: list[tuple[str, list[int], NDArray[np.bool_]]],
    failed: NDArray[np.bool_],
) -> Table:
    rows = []
    within = results.all_stated[results.main] >= 0
    for its in labelled:
        for name, runs, at in groups:
            lost, n = failed[at], int(failed[at].sum())
            done = int((lost & (its.steps[at] >= 0)).sum())
            stale = int((~lost & (its.steps[at] >= 0)).sum())
            rows.append(
                {
                    "labeller": its.title,
                    "who": _who(its),
                    "group": name,
                    "systems": len(runs),
                    "steps": int(within[at].sum()),
                    "failed": n,
                    "labelled": done,
                    "share": done / n if n else None,
                    "stale": stale,
                    "small": int(lost.any(axis=(0, 2)).sum()) < SMALL,
                }
            )
    columns = (
        Column("labeller", _("labeller, taxonomy")),
        Column("who", _("who")),
        Column("group", _("group")),
        Column("systems", _("systems"), "count"),
        Column("steps", _("steps judged"), "count"),
        Column("failed", _("failed"), "count"),
        Column("labelled", _("of these labelled"), "count"),
        percent_column("share", _("labelled share")),
        Column("stale", _("labels of steps that do not fail now"), "count"),
        Column("small", _("under %d items") % SMALL, "flag"),
    )
    note = _("Failed as a share of judged steps weighs each step alike; it is not comparable with 1 − CS.")
    return Table("coverage", _("What is labelled"), columns, rows, note)


def _pictured(its: Labelled, number: int, shares: list[tuple[str, ModeShares]]) -> Table:
    """Groups in rows and modes in columns: what the picture stacks."""
    rows = [
        {
            "group": name,
            "n": found.labelled,
            "small": found.items < SMALL,
            **{f"mode_{mode.key}": found.shares[at].estimate for at, mode in enumerate(its.modes)},
        }
        for name, found in shares
    ]
    columns = (
        Column("group", _("group")),
        Column("n", _("failed steps labelled"), "count"),
        *(percent_column(f"mode_{mode.key}", mode.name) for mode in its.modes),
        Column("small", _("under %d items") % SMALL, "flag"),
    )
    title = _("Failure modes of failed steps, by %(labeller)s (%(who)s)")
    note = _("Of the failed steps that are labelled; steps that were stated are left out.")
    picture = Picture("bars", "group", tuple(f"mode_{mode.key}" for mode in its.modes), stacked=True)
    return Table(f"modes-{number}", title % {"labeller": its.title, "who": _who(its)}, columns, rows, note, picture)


def _counted(its: Labelled, number: int, shares: list[tuple[str, ModeShares]]) -> Table:
    rows = [
        {
            "group": name,
            "mode": mode.name,
            "count": found.counts[at],
            "n": found.labelled,
            "items": found.items,
            "share": found.shares[at].estimate,
            "share_low": found.shares[at].low,
            "share_high": found.shares[at].high,
            "small": found.items < SMALL,
        }
        for name, found in shares
        for at, mode in enumerate(its.modes)
    ]
    columns = (
        Column("group", _("group")),
        Column("mode", _("mode")),
        Column("count", _("steps"), "count"),
        Column("n", _("of labelled"), "count"),
        Column("items", _("items"), "count"),
        percent_column("share", _("share of labelled failed steps"), interval=True),
        Column("small", _("under %d items") % SMALL, "flag"),
    )
    note = _("The interval is over items, as failed steps of one item are not independent.")
    return Table(f"counts-{number}", _("The same in numbers, with intervals: %s") % its.title, columns, rows, note)


def _wholes(its: Labelled, judged: NDArray[np.bool_], weights: NDArray[np.float64]) -> list[dict[str, Any]]:
    """What responses as a whole were labelled as: only where there is a verdict."""
    import numpy as np

    given = (its.whole >= 0) & judged
    kept, each = its.whole[given], weights[given]
    items = int(given.any(axis=0).sum())
    if not len(kept):
        return []
    return [
        {
            "labeller": its.title,
            "who": _who(its),
            "mode": mode.name,
            "count": int((kept == at).sum()),
            "n": len(kept),
            "share": float(np.average(kept == at, weights=each)),
            "small": items < SMALL,
        }
        for at, mode in enumerate(its.modes)
    ]


def _whole_table(rows: list[dict[str, Any]]) -> Table:
    columns = (
        Column("labeller", _("labeller, taxonomy")),
        Column("who", _("who")),
        Column("mode", _("mode")),
        Column("count", _("responses"), "count"),
        Column("n", _("of labelled"), "count"),
        percent_column("share", _("share of labelled responses")),
        Column("small", _("under %d items") % SMALL, "flag"),
    )
    note = _("The mode that accounts best for a response with a failed step or a wrong answer.")
    return Table("whole", _("Responses as a whole"), columns, rows, note)


def _agreement(
    labelled: Sequence[Labelled], failed: NDArray[np.bool_], judged: NDArray[np.bool_], weights: NDArray[np.float64]
) -> Table:
    import numpy as np

    rows = []
    each = np.broadcast_to(weights[..., None], failed.shape)
    for one, other in combinations(labelled, 2):
        if one.taxonomy != other.taxonomy:
            continue
        steps = label_agreement(np.where(failed, one.steps, -1), np.where(failed, other.steps, -1), each)
        whole = label_agreement(np.where(judged, one.whole, -1), np.where(judged, other.whole, -1), weights)
        kinds = {one.is_person, other.is_person}
        pair = _("model and person") if len(kinds) > 1 else _("two people") if True in kinds else _("two models")
        for what, found in ((_("failed steps"), steps), (_("responses"), whole)):
            rows.append(
                {
                    "first": one.name,
                    "second": other.name,
                    "pair": pair,
                    "what": what,
                    "n": found.n,
                    "raw": found.raw,
                    "kappa": found.kappa,
                    "small": found.n < SMALL,
                }
            )
    columns = (
        Column("first", _("labeller")),
        Column("second", _("and")),
        Column("pair", _("who")),
        Column("what", _("labelled")),
        Column("n", _("by both"), "count"),
        percent_column("raw", _("alike")),
        Column("kappa", _("Cohen's kappa"), "number"),
        Column("small", _("under %d of them") % SMALL, "flag"),
    )
    note = _("On what both labelled by one taxonomy. Kappa takes off the agreement that chance would give.")
    return Table("agreement", _("How far labellers agree"), columns, rows, note)


def _besides(release: Release, runs: Sequence[Run], main: Judge | None) -> Any:
    given = Labelling.objects.filter(run__in=runs, basis=main, status=Work.Status.COMPLETED).order_by("pk")
    return [[pk, revision, str(ended)] for pk, revision, ended in given.values_list("pk", "revision", "ended")]


MODES = Analysis(
    "modes",
    gettext_lazy("Failure modes"),
    gettext_lazy(
        "What the steps that the judge finds missing were labelled as, by group of systems: shares of failed steps, "
        "each labeller by itself."
    ),
    compute,
    besides=_besides,
)
