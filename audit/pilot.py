"""Reads of phase 1: pilot batches with their ratings, how far two raters agree, and the board of annotators.

Writes nothing. Who rates sees only their own ratings before every rater is done.
"""

import datetime as dt
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from django.db.models import Avg, Count, Q, QuerySet
from django.http import Http404

from annotation.benchmarks import Benchmark, Item, Membership, Role
from annotation.states import State

from .agreement import raw_agreement, weighted_kappa
from .models import Calibration, PilotBatch, PilotRating
from .plans import plan_of
from .workflow import PHASES, Criterion

CRITERIA: tuple[Criterion, ...] = PHASES[0].criteria
SMALL = 30  # pairs of ratings under which a coefficient says little


@dataclass(frozen=True)
class Agreed:
    """Two raters over every item and criterion. kappa: quadratic weights over ratings; None where it is undefined."""

    n: int
    verdicts: float  # share with the same verdict
    ratings: float  # share with the same rating
    kappa: float | None

    @property
    def is_small(self) -> bool:
        return self.n < SMALL


@dataclass
class Pilot:
    """A batch as somebody sees it."""

    batch: PilotBatch
    user: Any
    items: Sequence[Item]
    rows: Sequence[PilotRating]
    wanted: int  # raters

    @cached_property
    def by_rater(self) -> dict[int, dict[tuple[int, str], PilotRating]]:
        found: dict[int, dict[tuple[int, str], PilotRating]] = defaultdict(dict)
        for row in self.rows:
            found[row.rater_id][row.item_id, row.criterion] = row
        return dict(found)

    @property
    def size(self) -> int:
        return len(self.items) * len(CRITERIA)

    @cached_property
    def raters(self) -> list[tuple[Any, int]]:
        """(who, how many ratings they gave), who came first first."""
        people = {row.rater_id: row.rater for row in self.rows}
        return [(people[pk], len(cells)) for pk, cells in self.by_rater.items()]

    @cached_property
    def is_complete(self) -> bool:
        return sum(count == self.size for _who, count in self.raters) >= self.wanted

    @property
    def is_open(self) -> bool:
        return self.batch.status == PilotBatch.Status.OPEN

    @property
    def is_shown(self) -> bool:
        """Whether everybody's ratings are shown."""
        return self.is_complete or not self.is_open

    @property
    def has_room(self) -> bool:
        """Whether this person rates, or could still begin to."""
        return not self.is_complete and (self.user.pk in self.by_rater or len(self.by_rater) < self.wanted)

    def ratings_of(self, item: Item, criterion: str) -> list[PilotRating]:
        """What this person may see of one cell."""
        shown = self.by_rater if self.is_shown else {self.user.pk: self.by_rater.get(self.user.pk, {})}
        return [cells[item.pk, criterion] for cells in shown.values() if (item.pk, criterion) in cells]

    @cached_property
    def means(self) -> list[float | None]:
        """Mean rating per criterion, in their order; None before all may be seen."""
        if not self.is_shown:
            return [None] * len(CRITERIA)
        given: dict[str, list[int]] = defaultdict(list)
        for row in self.rows:
            given[row.criterion].append(row.rating)
        return [sum(given[c.code]) / len(given[c.code]) if given[c.code] else None for c in CRITERIA]

    @cached_property
    def agreed(self) -> Agreed | None:
        """Of the first two raters, once both may be seen."""
        if not self.is_shown or len(self.by_rater) < 2:
            return None
        first, second = list(self.by_rater.values())[:2]
        pairs = [(first[cell], second[cell]) for cell in first if cell in second]
        if not pairs:
            return None
        both = sum(a.passed and b.passed for a, b in pairs)
        one, two = sum(a.passed and not b.passed for a, b in pairs), sum(b.passed and not a.passed for a, b in pairs)
        return Agreed(
            n=len(pairs),
            verdicts=raw_agreement(both, one, two, len(pairs) - both - one - two),
            ratings=sum(a.rating == b.rating for a, b in pairs) / len(pairs),
            kappa=weighted_kappa([(a.rating, b.rating) for a, b in pairs]),
        )

    def passes(self, item: Item) -> bool:
        """Whether every criterion of the item has passing ratings only, all of its present content."""
        cells = [row for row in self.rows if row.item_id == item.pk]
        return bool(cells) and all(r.passed and r.revision.document_hash == item.document_hash for r in cells)


def pilot_of(batch: PilotBatch, user: Any) -> Pilot:
    items = batch.items.select_related("benchmark", "author").defer("document", "findings", "twins").order_by("pk")
    rows = batch.ratings.select_related("rater", "revision").defer("revision__document").order_by("pk")
    return Pilot(batch, user, list(items), list(rows), plan_of(batch.benchmark).pilot_raters)


def get_batch(benchmark: Benchmark, pk: int) -> PilotBatch:
    """Raises Http404 for what is none of the benchmark's."""
    found = PilotBatch.objects.filter(benchmark=benchmark, pk=pk).select_related("annotator", "created_by", "closed_by")
    batch = found.first() if pk < 2**31 else None
    if batch is None:
        raise Http404
    return batch


def ready_items(benchmark: Benchmark, annotator: Any) -> QuerySet[Item]:
    """What a next batch would be made from: submitted and in no batch of the person, the longest waiting first."""
    items = Item.objects.filter(benchmark=benchmark, author=annotator, state=State.SUBMITTED)
    return items.exclude(pilot_batches__annotator=annotator).order_by("moved", "pk")


@dataclass(frozen=True)
class BoardRow:
    """An annotator on the board. means: of the latest batch that is closed."""

    member: Membership
    items: int
    waiting: int
    batches: Sequence[PilotBatch]
    means: Sequence[tuple[Criterion, float | None]]
    calibration: Calibration | None

    @property
    def open(self) -> PilotBatch | None:
        return next((batch for batch in self.batches if batch.status == PilotBatch.Status.OPEN), None)

    @property
    def since(self) -> dt.datetime | None:
        return self.calibration.created if self.calibration else None


def board(benchmark: Benchmark) -> list[BoardRow]:
    """Every member by name, in five queries."""
    members = Membership.objects.filter(benchmark=benchmark, user__is_active=True).select_related("user")
    latest = {c.annotator_id: c for c in Calibration.objects.filter(benchmark=benchmark).order_by("pk")}
    waiting = Count("pk", filter=Q(state=State.SUBMITTED))
    written = Item.objects.filter(benchmark=benchmark).order_by().values("author")
    counts: Mapping[int, Any] = {row["author"]: row for row in written.annotate(n=Count("pk"), waiting=waiting)}
    batches: dict[int, list[PilotBatch]] = defaultdict(list)
    for batch in PilotBatch.objects.filter(benchmark=benchmark):
        batches[batch.annotator_id].append(batch)
    closed = {pk: [b for b in rows if b.status != PilotBatch.Status.OPEN][:1] for pk, rows in batches.items()}
    given = PilotRating.objects.filter(batch__in=[b.pk for rows in closed.values() for b in rows]).order_by()
    means = {(b, c): mean for b, c, mean in given.values_list("batch", "criterion").annotate(mean=Avg("rating"))}
    return [
        BoardRow(
            member,
            counts.get(member.user_id, {}).get("n", 0),
            counts.get(member.user_id, {}).get("waiting", 0),
            batches.get(member.user_id, []),
            [(c, means.get((b.pk, c.code))) for b in closed.get(member.user_id, []) for c in CRITERIA],
            latest.get(member.user_id),
        )
        for member in members.order_by("user__username")
        if member.role == Role.ANNOTATOR or member.user_id in counts or member.user_id in latest
    ]
