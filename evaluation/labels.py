"""Reads about labels of failed steps: taxonomies, who labels a run, what was labelled on a response."""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

from django.db.models import Count, F, QuerySet
from django.http import Http404

from annotation.benchmarks import Benchmark
from annotation.document import Document

from .failure_modes import OWN_VERSION, TAXONOMIES, Mode, failed_steps
from .models import Judge, Labelling, LabelPlan, Response, Run, Taxonomy, Verdict, Work
from .scoring.label_output import WHOLE

Status = Work.Status


class TaxonomyRow(NamedTuple):
    """A version of the failure modes: ours, or one that the team brought (then with its row)."""

    version: str
    modes: tuple[Mode, ...]
    brought: Taxonomy | None
    used: int  # responses labelled by it


def taxonomies_of(benchmark: Benchmark) -> list[TaxonomyRow]:
    """Ours first, then the team's, the newest first."""
    given = Labelling.objects.filter(run__benchmark=benchmark).order_by().values_list("taxonomy")
    used: dict[str, int] = dict(given.annotate(n=Count("pk")))
    rows = [TaxonomyRow(version, modes, None, used.get(version, 0)) for version, modes in TAXONOMIES.items()]
    brought = Taxonomy.objects.filter(benchmark=benchmark).select_related("created_by").order_by("-pk")
    return rows + [TaxonomyRow(row.version, _modes(row), row, used.get(row.version, 0)) for row in brought]


def get_taxonomy(benchmark: Benchmark, version: str) -> TaxonomyRow:
    """Raises Http404 where there is no such version."""
    found = next((row for row in taxonomies_of(benchmark) if row.version == version), None)
    if found is None:
        raise Http404
    return found


def modes_of(benchmark: Benchmark, version: str) -> tuple[Mode, ...]:
    """Raises Taxonomy.DoesNotExist."""
    return TAXONOMIES.get(version) or _modes(Taxonomy.objects.get(benchmark=benchmark, version=version))


def _modes(row: Taxonomy) -> tuple[Mode, ...]:
    return tuple(Mode(**mode) for mode in row.modes)


def usual_taxonomy(run: Run) -> str:
    """The version that the run's plans use, the newest plan first; ours without one."""
    plan = run.label_plans.order_by("-pk").first()
    return plan.taxonomy if plan else OWN_VERSION


class Basis(NamedTuple):
    """What a judge's first verdict says."""

    correct: bool
    vector: list[int]


def basis_of(response: Response, basis: int) -> Basis | None:
    """What the first verdict of a judge says failed; None where it cannot be read, or is not there."""
    rows = Verdict.objects.filter(response=response, judge=basis, repeat=1, status=Status.COMPLETED, unparseable="")
    verdict = rows.filter(vector__isnull=False).first()
    return Basis(bool(verdict.answer_correct), verdict.vector) if verdict and verdict.vector else None


# --- a run --------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class LabellerProgress:
    """What one labeller came to on a run. open: waiting or under way."""

    plan: LabelPlan
    done: int
    open: int
    failed: int
    unparseable: int


def label_progress(run: Run) -> list[LabellerProgress]:
    """Every plan of the run, in the order in which they were made."""
    plans = list(run.label_plans.select_related("labeller__endpoint", "basis").order_by("pk"))
    if not plans:
        return []
    counts: dict[tuple[Any, ...], Counter[str]] = {}
    rows = run.labellings.order_by().values_list("labeller", "basis", "taxonomy", "status", "unparseable")
    for *key, status, unparseable, n in rows.annotate(n=Count("pk")):
        counts.setdefault(tuple(key), Counter())["unparseable" if unparseable else status] += n
    shown = []
    for plan in plans:
        its = counts.get((plan.labeller_id, plan.basis_id, plan.taxonomy), Counter())
        waiting = its[Status.PENDING] + its[Status.RUNNING]
        shown.append(LabellerProgress(plan, its[Status.COMPLETED], waiting, its[Status.FAILED], its["unparseable"]))
    return shown


def unparseable_labellings(run: Run) -> QuerySet[Labelling]:
    """Labellings given up on, with item and labeller, in the order of the release."""
    rows = run.labellings.filter(status=Status.COMPLETED).exclude(unparseable="")
    rows = rows.select_related("labeller__endpoint", "response")
    return rows.annotate(item_number=F("response__release_item__item__number")).order_by(
        "response__release_item__position", "response__sample", "labeller__name"
    )


# --- a response ---------------------------------------------------------------------------------------------------


class StepLabel(NamedTuple):
    """One thing that can be labelled on a response: a failed step, or the whole (number 0). chosen, note: one's own."""

    number: int
    conclusion: str
    chosen: str
    note: str
    others: list[tuple[Judge, str, str]]  # who labelled it, the mode's name, and why


@dataclass(frozen=True, slots=True)
class ShownLabels:
    """What was labelled on a response under one judge's verdict. own: the reader's labelling, where there is one."""

    basis: Judge
    taxonomy: str
    modes: tuple[Mode, ...]
    rows: list[StepLabel]
    own: Labelling | None
    others: list[Labelling]

    def with_posted(self, posted: Mapping[str, Any]) -> "ShownLabels":
        """With what was posted in place of what is kept: nothing typed is lost when something is refused."""
        rows = [
            row._replace(chosen=posted.get(f"step-{row.number}", ""), note=posted.get(f"note-{row.number}", ""))
            for row in self.rows
        ]
        return replace(self, rows=rows)


def labels_on(run: Run, response: Response, document: Document, verdict: Verdict, user: Any) -> ShownLabels | None:
    """None where the verdict finds nothing missing and the answer right, or cannot be read."""
    if verdict.vector is None or verdict.unparseable or verdict.repeat != 1:
        return None
    failed = failed_steps(verdict.vector)
    if not failed and verdict.answer_correct:
        return None
    taxonomy = usual_taxonomy(run)
    given = response.labellings.filter(basis=verdict.judge_id, taxonomy=taxonomy, status=Status.COMPLETED)
    all_given = list(given.select_related("labeller__person", "labeller__endpoint").order_by("labeller__name"))
    own = next((row for row in all_given if row.labeller.person_id == user.pk), None)
    others = [row for row in all_given if row is not own]
    modes = modes_of(run.benchmark, taxonomy)
    names = {mode.key: mode.name for mode in modes}
    mine = {label["step"]: label for label in own.labels} if own else {}
    rows = []
    for number in [*failed, WHOLE]:
        said = [
            (row.labeller, names.get(label["mode"], label["mode"]), label["note"])
            for row in others
            for label in row.labels
            if label["step"] == number
        ]
        conclusion = document.checklist[number - 1].conclusion if number else ""
        label = mine.get(number, {})
        rows.append(StepLabel(number, conclusion, label.get("mode", ""), label.get("note", ""), said))
    return ShownLabels(verdict.judge, taxonomy, modes, rows, own, others)
