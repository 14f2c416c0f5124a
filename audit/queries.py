"""Reads of the audit: latest answers and ticks, what waits for what, the queue, releases. Writes nothing."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.db.models import F, QuerySet
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from annotation.benchmarks import Benchmark, Item
from annotation.gates import gate_statuses as gate_statuses
from annotation.models import Revision

from .evidence import content_hashes, elements_to_tick, ruling_out
from .link_queries import open_links
from .models import Calibration, Candidate, CriterionResult, ElementTick, Review, Transition
from .probe_queries import probe_gaps
from .return_queries import not_accepted
from .workflow import GIVEN_BACK, Phase, Result, is_fresh, required_criteria

# --- one item -----------------------------------------------------------------------------------------------------


def latest_results(item: Item) -> dict[str, CriterionResult]:
    """The latest answer per criterion code; each row also has `revision_number`."""
    rows = CriterionResult.objects.filter(item=item).select_related("auditor").order_by("pk")
    return {row.criterion: row for row in rows.annotate(revision_number=F("revision__number"))}


def as_result(row: CriterionResult) -> Result:
    return Result(
        criterion=row.criterion,
        passed=row.passed,
        section_hashes=row.section_hashes,
        by=row.auditor.get_username(),
        at=row.created,
        revision=row.revision_number,  # type: ignore[attr-defined]
    )


@dataclass(frozen=True, slots=True)
class Tick:
    """The latest word on one element. `holds` is false when the element or its sources changed since."""

    element: str
    supported: bool
    comment: str
    by: Any
    at: datetime
    revision_number: int
    holds: bool


def latest_ticks(item: Item) -> dict[str, Tick]:
    """The latest tick per element. Revisions are read only where a section changed since the tick."""
    rows = ElementTick.objects.filter(item=item).select_related("auditor").order_by("pk")
    latest = {row.element: row for row in rows.annotate(revision_number=F("revision__number"))}
    changed = {row.revision_id for row in latest.values() if row.section_hashes != item.section_hashes}
    then = {pk: content_hashes(document) for pk, document in _documents(changed)}
    present = content_hashes(item.document) if changed else {}
    return {
        key: Tick(
            element=key,
            supported=row.supported,
            comment=row.comment,
            by=row.auditor,
            at=row.created,
            revision_number=row.revision_number,
            holds=row.revision_id not in changed or then[row.revision_id].get(key) == present.get(key),
        )
        for key, row in latest.items()
    }


def _documents(revisions: set[int]) -> QuerySet[Revision, tuple[int, Any]]:
    return Revision.objects.filter(pk__in=revisions).values_list("pk", "document")


def open_ticks(item: Item, criterion: str, ticks: Mapping[str, Tick] | None = None) -> list[str]:
    """Elements that the criterion still waits for: not ticked, ticked at other content, or not supported."""
    ticks = latest_ticks(item) if ticks is None else ticks
    keys = elements_to_tick(item.document, criterion)
    return [key for key in keys if not (key in ticks and ticks[key].holds and ticks[key].supported)]


@dataclass(frozen=True, slots=True)
class CandidateRow:
    """A candidate answer with the constraint that rules it out, "" while none does."""

    candidate: Candidate
    ruled_out_by: str

    @property
    def is_open(self) -> bool:
        return not self.candidate.withdrawn and not self.ruled_out_by


def candidate_rows(item: Item, rows: Iterable[Candidate] | None = None) -> list[CandidateRow]:
    """Of some candidates of an item, or of all."""
    if rows is None:
        rows = Candidate.objects.filter(item=item).select_related("by", "withdrawn_by")
    return [CandidateRow(row, "" if row.withdrawn else ruling_out(item.document, row.answer)) for row in rows]


def open_candidates(item: Item) -> list[str]:
    """Answers that nothing rules out yet."""
    return [row.candidate.answer for row in candidate_rows(item) if row.is_open]


def what_pass_waits_for(
    item: Item,
    phase: Phase,
    results: Mapping[str, CriterionResult] | None = None,
    ticks: Mapping[str, Tick] | None = None,
) -> list[tuple[str, str]]:
    """What a pass of the phase still needs: (criterion code or "points", sentence) each; empty when it can pass."""
    results = latest_results(item) if results is None else results
    waiting = []
    for criterion in required_criteria(phase, sandbox=item.benchmark.is_sandbox):
        row = results.get(criterion.code)
        if row is None:
            waiting.append((criterion.code, _("“%(title)s” has no answer yet.")))
        elif not is_fresh(criterion, row.section_hashes, item.section_hashes):
            waiting.append((criterion.code, _("“%(title)s” was answered for other content; answer it anew.")))
        elif not row.passed:
            waiting.append((criterion.code, _("“%(title)s” failed.")))
        elif criterion.code == "probes" and probe_gaps(item):
            waiting.append((criterion.code, _("“%(title)s” passed, and the probes say otherwise now.")))
        elif criterion.ticks and open_ticks(item, criterion.code, ticks):
            waiting.append((criterion.code, _("“%(title)s” has elements that are not ticked as supported.")))
        elif criterion.code == "unique" and open_candidates(item):
            waiting.append((criterion.code, _("“%(title)s” has candidate answers that nothing rules out.")))
        elif criterion.code == "urls" and open_links(item):
            waiting.append((criterion.code, _("“%(title)s” has links that neither machine nor person opened.")))
    titles = {criterion.code: _(criterion.title) for criterion in phase.criteria}
    found = [(code, text % {"title": titles[code]}) for code, text in waiting]
    if count := len(not_accepted(item, state=phase.state)):
        text = ngettext(
            "%(n)d answer to a point of the return is not accepted yet.",
            "%(n)d answers to points of the return are not accepted yet.",
            count,
        )
        found.append(("points", text % {"n": count}))
    return found


def last_review_of(user: Any, item: Item) -> Review | None:
    """The person's latest finished review of the item."""
    ended = Review.objects.filter(item=item, auditor=user, ended__isnull=False).exclude(outcome=GIVEN_BACK)
    return ended.order_by("-ended").first()


def revision_seen_in(review: Review) -> Revision | None:
    """The newest revision that the review judged; None when it judged nothing."""
    rows: list[Any] = [
        model._default_manager.filter(review=review)
        .order_by("-revision__number")
        .values_list("revision", flat=True)[:1]
        for model in (CriterionResult, ElementTick)
    ]
    return Revision.objects.filter(pk__in=[pk for row in rows for pk in row]).order_by("-number").first()


def transitions_of(item: Item) -> QuerySet[Transition]:
    """All of an item's transitions, the newest first; each row also has `revision_number`."""
    rows = Transition.objects.filter(item=item).select_related("actor").order_by("-pk")
    return rows.annotate(revision_number=F("revision__number"))


def is_calibrated(user: Any, benchmark: Benchmark) -> bool:
    """Whether the latest calibration of the person says so."""
    latest = Calibration.objects.filter(benchmark=benchmark, annotator=user).order_by("-pk").first()
    return latest is not None and latest.calibrated
