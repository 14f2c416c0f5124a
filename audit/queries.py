"""Reads of the audit: latest answers and ticks, what waits for what, the queue, releases. Writes nothing."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.db.models import Count, Exists, F, OuterRef, Q, QuerySet, Subquery
from django.db.models.fields.json import KT
from django.utils.translation import gettext as _

from annotation.benchmarks import Benchmark, Item, Membership, Role, role_of
from annotation.models import Revision
from annotation.states import IN_AUDIT, Gate, State, gate_status

from .evidence import content_hashes, elements_to_tick
from .models import Calibration, CriterionResult, ElementTick, Release, ReleaseItem, Review, Transition
from .workflow import Criterion, Move, Phase, Result, holds, is_fresh, required_criteria

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


def what_pass_waits_for(
    item: Item,
    phase: Phase,
    results: Mapping[str, CriterionResult] | None = None,
    ticks: Mapping[str, Tick] | None = None,
) -> list[tuple[str, str]]:
    """What a pass of the phase still needs: (criterion code, sentence) each; empty when it can be passed."""
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
        elif criterion.ticks and open_ticks(item, criterion.code, ticks):
            waiting.append((criterion.code, _("“%(title)s” has elements that are not ticked as supported.")))
    titles = {criterion.code: _(criterion.title) for criterion in phase.criteria}
    return [(code, text % {"title": titles[code]}) for code, text in waiting]


def criterion_holds(criterion: Criterion, row: CriterionResult | None, item: Item) -> bool:
    return holds(criterion, as_result(row) if row else None, item.section_hashes)


def last_review_of(user: Any, item: Item) -> Review | None:
    """The person's latest finished review of the item."""
    return Review.objects.filter(item=item, auditor=user, ended__isnull=False).order_by("-ended").first()


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


def gate_statuses(item: Item) -> dict[str, str]:
    """What each gate shows for the item's present content."""
    return {g.value: gate_status(item.gates.get(g.value), g, item.section_hashes).value for g in Gate}


# --- the queue ----------------------------------------------------------------------------------------------------


def _listed(benchmark: Benchmark) -> QuerySet[Item]:
    """Items as the queue shows them, without their documents; `waiting_since` is the latest transition's moment."""
    last = Transition.objects.filter(item=OuterRef("pk")).order_by("-pk").values("created")[:1]
    return (
        Item.objects.filter(benchmark=benchmark)
        .annotate(waiting_since=Subquery(last))
        .select_related("author")
        .defer("document", "search_text", "findings")
        .order_by("waiting_since", "pk")
    )


def not_own(items: QuerySet[Item], user: Any, benchmark: Benchmark) -> QuerySet[Item]:
    """Without what the person created or co-edits, unless it is a sandbox."""
    if benchmark.is_sandbox:
        return items
    coedited = Item.coeditors.through._default_manager.filter(item=OuterRef("pk"), user=user)
    return items.exclude(Q(author=user) | Exists(coedited))


def my_open_reviews(user: Any, benchmark: Benchmark) -> QuerySet[Item]:
    """Items on which the person has an open review."""
    mine = Review.objects.filter(item=OuterRef("pk"), auditor=user, ended=None)
    return _listed(benchmark).filter(Exists(mine), state__in=IN_AUDIT)


def waiting_items(user: Any, benchmark: Benchmark, state: State) -> QuerySet[Item]:
    """Items in a state that the person may judge or lock, longest waiting first."""
    return not_own(_listed(benchmark).filter(state=state), user, benchmark)


def waiting_counts(user: Any, benchmark: Benchmark) -> dict[State, int]:
    """How many items wait for the person in each state; states that the role does not reach are left out."""
    states = states_for(role_of(user, benchmark))
    rows = not_own(Item.objects.filter(benchmark=benchmark, state__in=states), user, benchmark)
    counts = dict(rows.order_by().values_list("state").annotate(n=Count("pk")))
    return {state: counts.get(state.value, 0) for state in states}


def states_for(role: Role | None) -> list[State]:
    """The states in which a role judges or locks, in the order of the phases."""
    if role is None or role < Role.AUDITOR:
        return []
    if role < Role.CORE:
        return [State.SECONDARY_AUDIT, State.MULTIMODAL_AUDIT]
    return [
        State.SUBMITTED,
        State.SECONDARY_AUDIT,
        State.MULTIMODAL_AUDIT,
        State.FACTUAL_AUDIT,
        State.APPROVED,
    ]


def annotators(benchmark: Benchmark) -> list[tuple[Membership, Calibration | None]]:
    """Members with their latest calibration, by name."""
    members = Membership.objects.filter(benchmark=benchmark).select_related("user").order_by("user__username")
    latest = {c.annotator_id: c for c in Calibration.objects.filter(benchmark=benchmark).order_by("pk")}
    return [(member, latest.get(member.user_id)) for member in members]


# --- releases -----------------------------------------------------------------------------------------------------


def releases_of(benchmark: Benchmark) -> QuerySet[Release]:
    return Release.objects.filter(benchmark=benchmark).select_related("created_by")


def release_rows(release: Release) -> QuerySet[ReleaseItem]:
    """The items of a release without their documents; each row has `revision_number` and the frozen `question`
    and `category`."""
    rows = ReleaseItem.objects.filter(release=release).select_related("item").order_by("position")
    return rows.defer("document", "item__document", "item__search_text", "item__findings").annotate(
        revision_number=F("revision__number"), question=KT("document__question"), category=KT("document__category")
    )


@dataclass(frozen=True, slots=True)
class ReleasePreview:
    """What a release would hold if it were cut now, and what stays out."""

    locked: int
    without_audit: int
    states: Mapping[str, int]  # of the items that stay out


def release_preview(benchmark: Benchmark) -> ReleasePreview:
    counts = dict(Item.objects.filter(benchmark=benchmark).order_by().values_list("state").annotate(n=Count("pk")))
    locked = counts.pop(State.LOCKED.value, 0)
    without = locked_without_audit(benchmark).count()
    ordered = {state.value: counts[state.value] for state in State if state.value in counts}
    return ReleasePreview(locked=locked, without_audit=without, states=ordered)


def locked_without_audit(benchmark: Benchmark) -> QuerySet[Item]:
    """Locked items whose latest transition is not a lock that followed an audit."""
    last = Transition.objects.filter(item=OuterRef("pk")).order_by("-pk").values("move")[:1]
    locked = Item.objects.filter(benchmark=benchmark, state=State.LOCKED)
    return locked.annotate(last_move=Subquery(last)).exclude(last_move=Move.LOCK)
