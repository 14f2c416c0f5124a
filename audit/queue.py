"""Reads of the queue: whom what waits for, what is next for somebody, the lists, who audits how much. Writes nothing.

Never loads documents. The lists go by `Item.moved`, along the index (benchmark, state, moved) of one state after the
other, so that a page costs the same among 1,000 and 100,000 items.
"""

import datetime as dt
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from statistics import median
from typing import Any, Final

from django.db.models import Exists, F, OuterRef, Q, QuerySet
from django.utils import timezone

from annotation.benchmarks import Benchmark, Item, Membership, Role
from annotation.gates import is_blind_to, judged_blind
from annotation.listing import Count, Counted, has_gate
from annotation.models import ItemWriter
from annotation.paging import Along, cursor_of, page_of
from annotation.states import IN_AUDIT, GateStatus, State

from .models import AuditPlan, Override, Review, ReviewClaim
from .permissions import judged_reviews
from .plans import plan_of
from .workflow import APART, GIVEN_BACK, JUDGING, PHASES, Move, Rule, phase_of

PAGE = 50
COUNTED = 1_000  # where counting stops
LISTS: Final = ("waiting", "unassigned", "mine", "returned", "stale", "stuck")
OPEN_STATES: Final = (*(phase.state for phase in PHASES), State.APPROVED)
RECENT_DAYS, WEEK_DAYS = 90, 7


def states_for(role: Role | None) -> list[State]:
    """The states in which a role judges or locks, in the order of the phases."""
    if role is None or role < Role.AUDITOR:
        return []
    if role < Role.CORE:
        return [phase.state for phase in PHASES if phase.role <= role]
    return list(OPEN_STATES)


def not_own(items: QuerySet[Item], user: Any, benchmark: Benchmark) -> QuerySet[Item]:
    """Without what the person created or co-edits, or once wrote, unless it is a sandbox or an admin let them."""
    if benchmark.is_sandbox:
        return items
    coedited = Item.coeditors.through._default_manager.filter(item=OuterRef("pk"), user=user)
    wrote = ItemWriter.objects.filter(item=OuterRef("pk"), user=user)
    lifted = Override.objects.filter(item=OuterRef("pk"), person=user, rule=Rule.OWN_ITEM)
    return items.filter(~(Q(author=user) | Exists(coedited) | Exists(wrote)) | Exists(lifted))


def _apart(items: QuerySet[Item], user: Any, benchmark: Benchmark, state: State) -> QuerySet[Item]:
    """Without what the person judged in the phase that the plan wants somebody else for."""
    phase = phase_of(state)
    other = APART.get(phase.number) if phase else None
    if other is None or benchmark.is_sandbox:
        return items
    wanted = AuditPlan.objects.filter(benchmark=benchmark, different_auditors=True)
    judged = judged_reviews(user.pk).filter(item=OuterRef("pk"), phase=other)
    lifted = Override.objects.filter(item=OuterRef("pk"), person=user, rule=Rule.SAME_AUDITOR)
    return items.filter(~(Exists(wanted) & Exists(judged)) | Exists(lifted))


def _live_claims() -> QuerySet[ReviewClaim]:
    return ReviewClaim.objects.filter(item=OuterRef("pk"), expires__gt=timezone.now())


# --- what is next -------------------------------------------------------------------------------------------------


def next_for(user: Any, benchmark: Benchmark, role: Role) -> Iterator[int]:
    """Keys of items to judge, the first to take first: what the person has, what they were asked for, what they
    returned before, then what waits longest and nobody was asked for.

    Without their own, what somebody else has now, and what they gave back since it came into its phase.
    """
    gave_back = Review.objects.filter(
        item=OuterRef("pk"), auditor=user, outcome=GIVEN_BACK, ended__gte=OuterRef("moved")
    )
    free = []
    for state in states_for(role):
        if state in IN_AUDIT:
            items = not_own(Item.objects.filter(benchmark=benchmark, state=state), user, benchmark)
            items = _apart(items, user, benchmark, state)
            items = items.exclude(Exists(_live_claims().exclude(auditor=user))).exclude(Exists(gave_back))
            free.append(items.order_by("moved", "pk"))
    # keys, not subqueries: these few are looked up, while what waits is walked through in its order
    claims = ReviewClaim.objects.filter(auditor=user, expires__gt=timezone.now())
    held = list(claims.values_list("item", flat=True))
    asked = list(Item.objects.filter(auditor=user, benchmark=benchmark).values_list("pk", flat=True)[:COUNTED])
    returns = Review.objects.filter(auditor=user, outcome=Move.RETURN).order_by("-pk")
    returned = list(returns.values_list("item", flat=True)[:COUNTED])
    seen = set()
    for step in (Q(pk__in=held), Q(pk__in=asked), Q(pk__in=returned), Q(auditor=None)):
        found = [row for items in free for row in items.filter(step).values_list("moved", "pk")[:PAGE]]
        for _moved, pk in sorted(found):
            if pk not in seen:
                seen.add(pk)
                yield pk


# --- the lists ----------------------------------------------------------------------------------------------------


@dataclass
class QueuePage:
    items: list[Item]
    before: str = ""
    after: str = ""


def queue_page(
    user: Any, benchmark: Benchmark, role: Role, name: str, state: str = "", *, after: str = "", before: str = ""
) -> QueuePage:
    """One page of a list of `LISTS`; `state` narrows it to one. A cursor that cannot be read gives the first page."""
    if name == "stale":
        stale = _shown(_stale(user, benchmark, state), user)
        return QueuePage(*page_of(stale, "updated", descending=True, after=after, before=before, size=PAGE))
    parts = [_shown(part, user) for part in _parts(user, benchmark, role, name, state)]
    pages = [page_of(part, "moved", descending=False, after=after, before=before, size=PAGE) for part in parts]
    rows = sorted((row for page in pages for row in page[0]), key=lambda row: (row.moved, row.pk))
    backwards = bool(before and not after)
    items = rows[-PAGE:] if backwards else rows[:PAGE]
    if not items:
        return QueuePage([])
    left = len(rows) > PAGE
    has_before = any(page[1] for page in pages) or (left and backwards)
    has_after = any(page[2] for page in pages) or (left and not backwards)
    return QueuePage(
        items,
        cursor_of(items[0], "moved") if has_before else "",
        cursor_of(items[-1], "moved") if has_after else "",
    )


def queue_counts(user: Any, benchmark: Benchmark, role: Role) -> dict[str, Count]:
    """How many items each list holds, and (by its name) each state that the role judges: one query."""
    parts = {name: _parts(user, benchmark, role, name) for name in LISTS if name != "stale"}
    parts["stale"] = [_stale(user, benchmark)]
    waiting = dict(zip(states_for(role), parts["waiting"], strict=True))
    columns: dict[str, Any] = {}
    for name, queries in {**parts, **{str(state): [part] for state, part in waiting.items()}}.items():
        for n, part in enumerate(queries):
            columns[f"{name}__{n}".replace("__", "_of_")] = Counted(part.order_by().values("pk")[: COUNTED + 1])
    found: Any = Benchmark.objects.filter(pk=benchmark.pk).values(**columns).get()
    sums: dict[str, int] = {}
    for column, number in found.items():
        name = column.rpartition("_of_")[0]
        sums[name] = sums.get(name, 0) + (number or 0)  # a list that is known to be empty gives none
    return {name: Count.up_to(number, COUNTED) for name, number in sums.items()}


def _parts(user: Any, benchmark: Benchmark, role: Role, name: str, state: str = "") -> list[QuerySet[Item]]:
    """A list as one query for each of its states."""
    items = Item.objects.filter(benchmark=benchmark)
    states: Sequence[State] = states_for(role)
    if name == "returned":
        mine = Review.objects.filter(item=OuterRef("pk"), auditor=user, outcome=Move.RETURN)
        return [items.filter(Exists(mine), state=State.RETURNED)]
    if name == "stuck":
        late = timezone.now() - dt.timedelta(days=plan_of(benchmark).stuck_days)
        items = items.filter(moved__lt=late)
        states = (*OPEN_STATES, State.RETURNED)
    elif name == "mine":
        # the benchmark as an expression: SQLite is to begin with the person's items, not with all of the benchmark
        assigned = Item.objects.filter(auditor=user).alias(of=F("benchmark_id") + 0).filter(of=benchmark.pk)
        rows: list[Any] = [
            ReviewClaim.objects.filter(auditor=user, expires__gt=timezone.now()).values_list("item", flat=True),
            Review.objects.filter(auditor=user, ended=None).values_list("item", flat=True),
            assigned.values_list("pk", flat=True),
        ]  # fmt: skip
        items = items.filter(pk__in={pk for found in rows for pk in found[:COUNTED]})
    else:
        items = not_own(items, user, benchmark)
        if name == "unassigned":
            items = items.filter(~Exists(_live_claims()), auditor=None)
    return [
        _apart(items.filter(state=each), user, benchmark, each) if name in ("waiting", "unassigned") else
        items.filter(state=each)
        for each in states
        if not state or each == state
    ]  # fmt: skip


def _stale(user: Any, benchmark: Benchmark, state: str = "") -> QuerySet[Item]:
    items = Item.objects.filter(has_gate(GateStatus.STALE), benchmark=benchmark)
    items = items.exclude(is_blind_to(user)).alias(along=Along("state"))
    return items.filter(along__in=[state] if state else [str(s) for s in OPEN_STATES])


def _shown(items: QuerySet[Item], user: Any) -> QuerySet[Item]:
    items = items.annotate(**judged_blind(user))
    return items.select_related("author", "auditor", "review_claim__auditor").defer("document", "findings", "twins")


# --- who audits how much ------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Load:
    """One auditor's work: items they have open or were asked for, reviews ended, days from taking one to its end."""

    member: Membership
    open: int
    week: int
    median_days: float | None  # of the last 90 days; None where none ended


def workload(benchmark: Benchmark) -> list[Load]:
    """Members who judge, by name: three queries, whatever the number of items."""
    members = Membership.objects.filter(benchmark=benchmark, role__gte=Role.AUDITOR, user__is_active=True)
    members = members.select_related("user").order_by("user__username")
    now = timezone.now()
    people = [member.user_id for member in members]
    reviews = Review.objects.filter(auditor__in=people, item__benchmark=benchmark)
    has: dict[int, set[int]] = {pk: set() for pk in people}
    for person, item in reviews.filter(ended=None).values_list("auditor", "item"):
        has[person].add(item)
    asked = Item.objects.filter(benchmark=benchmark, auditor__in=people, state__in=[str(s) for s in IN_AUDIT])
    for person, item in asked.values_list("auditor", "pk"):
        has[person or 0].add(item)
    done = reviews.filter(ended__gte=now - dt.timedelta(days=RECENT_DAYS), outcome__in=JUDGING)
    spans: dict[int, list[tuple[dt.datetime, float]]] = {pk: [] for pk in people}
    for person, started, ended in done.values_list("auditor", "started", "ended"):
        assert ended is not None
        spans[person].append((ended, (ended - started).total_seconds() / 86_400))
    week = now - dt.timedelta(days=WEEK_DAYS)
    return [
        Load(
            member,
            len(has[member.user_id]),
            sum(ended >= week for ended, _days in spans[member.user_id]),
            median(days for _ended, days in spans[member.user_id]) if spans[member.user_id] else None,
        )
        for member in members
    ]
