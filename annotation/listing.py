"""Reads for lists and home pages: items filtered, sorted and paged by key; one's work; progress; activity.

Never loads documents and opens no write transaction.
"""

import datetime as dt
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from django.db import connection
from django.db.models import Count as CountOf
from django.db.models import Exists, F, IntegerField, OuterRef, Q, QuerySet, Subquery
from django.db.models.functions import TruncWeek
from django.utils import timezone
from django.utils.formats import number_format

from lhdr_site.shared.numbers import read_whole

from . import search
from .gates import is_blind_to, judged_blind
from .models import Benchmark, Draft, Item, ItemEntity, ItemEvent, ItemSource, ItemTag, Membership
from .paging import Along, Positive, page_of
from .reuse import entity_form, source_digest
from .states import IN_AUDIT, GateStatus, State
from .tokens import phrases

PAGE = 50
SHOWN = 8  # of each kind of work on a home page
RECENT_DAYS = 7
WEEKS = 12
#: What a list can be sorted by: the column, and whether it starts with the highest.
SORTS = {
    "updated": ("updated", True),
    "number": ("number", True),
    "steps": ("steps", True),
    "depth": ("depth", True),
    "comments": ("open_comments", True),
    "errors": ("errors", True),
    "created": ("created", True),
    "due": ("due", False),  # lists only what has a date
}
FOUND = 1_000  # up to so many items are gathered and then sorted; more are met soon on the way along the sorted index
COUNTED = 10_000  # where counting stops
COLUMNS = [
    *["number", "uid", "question", "answer", "language", "state", "gates", "section_hashes", "category", "template"],
    *["steps", "depth", "nodes", "sources", "images", "open_comments", "blocking_comments", "errors", "warnings"],
    *["checked_hash", "document_hash", "revision_number", "created", "updated", "due", "is_golden", "benchmark_id"],
    *[f"{who}__{name}" for who in ("author", "auditor") for name in ("username", "first_name", "last_name")],
]


class Count(int):
    """A number of items; `more`: counting stopped there."""

    more = False

    @classmethod
    def up_to(cls, counted: int, limit: int) -> "Count":
        count = cls(min(counted, limit))
        count.more = counted > limit
        return count

    @property
    def words(self) -> str:
        return number_format(int(self), force_grouping=True) + ("+" if self.more else "")


@dataclass(frozen=True)
class Filters:
    """What a list is narrowed to; empty values narrow nothing."""

    q: str = ""
    state: Sequence[str] = ()
    category: Sequence[str] = ()
    template: str = ""
    tag: Sequence[str] = ()
    author: str = ""  # a user name
    auditor: str = ""
    gate: str = ""  # a gate status: at least one gate has it
    has_errors: bool = False
    days: int | None = None  # updated within so many days
    due: str = ""  # overdue, or soon: overdue or within a week
    source: str = ""  # a URL: items with a source of the same page
    entity: str = ""  # items with a node of this name
    sort: str = "updated"
    ascending: bool = False


@dataclass
class Page:
    """One page of a keyset-paged list. `before` and `after` are the cursors of its neighbours, "" where none is."""

    items: list[Item]
    before: str = ""
    after: str = ""
    total: Count = Count(0)


def has_gate(status: str) -> Positive:
    """Items with at least one gate of that status: open, failed or stale."""
    return Positive(f"{GateStatus(status)}_gates")


def _search(benchmark: Benchmark, q: str) -> tuple[Q, bool]:
    """What `folding.phrases` reads in it; or the number (#12), or the document's id. And whether many match."""
    text = q.strip()
    number = read_whole(text.removeprefix("#"))
    named = Q(number=number) if number is not None else Q()
    if text.startswith("#") and number is not None:
        return named, False
    direct = list(Item.objects.filter(named | Q(uid=text), benchmark=benchmark).values_list("pk", flat=True))
    wanted = phrases(text)
    if not wanted:
        return Q(pk__in=direct), False
    pks = search.first_found(benchmark.pk, wanted, FOUND + 1)
    if len(pks) <= FOUND:
        return Q(pk__in=[*direct, *pks]), False
    return search.among_all(benchmark.pk, wanted) | Q(pk__in=direct), True


def _tagged(slug: str) -> Q:
    rows = ItemTag.objects.filter(slug=slug)
    pks = list(rows.values_list("item_id", flat=True)[: FOUND + 1])
    return Q(pk__in=pks) if len(pks) <= FOUND else Q(Exists(rows.filter(item=OuterRef("pk"))))


def matching(benchmark: Benchmark, filters: Filters) -> QuerySet[Item]:
    """A benchmark's items that pass every filter, in no order."""
    items = _narrowed(Item.objects.filter(benchmark=benchmark), filters)
    return items.filter(_search(benchmark, filters.q)[0]) if filters.q.strip() else items


def _narrowed(items: QuerySet[Item], filters: Filters, *, along: bool = False) -> QuerySet[Item]:
    """The items that pass every filter but the search. along: no index but that of the sorted column may be used."""
    column = {name: name for name in ("state", "category", "template", "author_id", "auditor_id", "updated")}
    if along:
        column = {name: f"along_{name}" for name in column}
        output = {"author_id": IntegerField(), "auditor_id": IntegerField()}
        items = items.alias(**{alias: Along(name, output_field=output.get(name)) for name, alias in column.items()})
    wanted: dict[str, Any] = {
        f"{column['state']}__in": filters.state,
        f"{column['category']}__in": filters.category,
        f"{column['template']}__in": ["" if filters.template == "none" else filters.template] * bool(filters.template),
    }
    items = items.filter(**{condition: values for condition, values in wanted.items() if values})
    for name, person in (("author_id", filters.author), ("auditor_id", filters.auditor)):
        if person:
            items = items.filter(**{f"{column[name]}__in": _people(person)})
    for tag in filters.tag:
        items = items.filter(_tagged(tag))
    numbers = [f"{filters.gate}_gates"] * bool(filters.gate) + ["errors"] * filters.has_errors
    for name in numbers:
        items = items.filter(Positive(Along(name) if along else name))
    if filters.due:
        today = timezone.localdate()
        until = today - dt.timedelta(days=1) if filters.due == "overdue" else today + dt.timedelta(days=7)
        items = items.exclude(state__in=[State.LOCKED, State.REJECTED]).filter(due__lte=until)
    if filters.source:
        items = items.filter(pk__in=ItemSource.objects.filter(normalized=source_digest(filters.source)).values("item"))
    if filters.entity:
        items = items.filter(pk__in=ItemEntity.objects.filter(folded=entity_form(filters.entity)).values("item"))
    if filters.days:
        since = timezone.now() - dt.timedelta(days=filters.days)
        items = items.filter(**{f"{column['updated']}__gte": since})
    return items.filter(due__isnull=False) if filters.sort == "due" else items


def _people(username: str) -> list[int]:
    from django.contrib.auth.models import User

    return list(User.objects.filter(username=username).values_list("pk", flat=True))


def item_list(
    benchmark: Benchmark, filters: Filters, viewer: Any, *, after: str = "", before: str = "", size: int = PAGE
) -> Page:
    """One page of items after or before a cursor; a cursor that cannot be read gives the first page.

    The gates of what the viewer audits blind are hidden, and no list by gate holds it.

    Where few items pass the filters, these are found first and then sorted; where many do, the index of the sorted
    column is gone through until a page is full.
    """
    column, highest_first = SORTS[filters.sort]
    items = Item.objects.filter(benchmark=benchmark)
    if filters.gate:
        items = items.exclude(is_blind_to(viewer))
    narrowing = (filters.state, filters.category, filters.author, filters.template)  # by columns of one index
    others = (
        filters.auditor,
        filters.tag,
        filters.gate,
        filters.has_errors,
        filters.days,
        filters.sort == "due",
        filters.due,
        filters.source,
        filters.entity,
    )
    searched, many = _search(benchmark, filters.q) if filters.q.strip() else (Q(), False)
    if not any((*narrowing, *others)) and (many or not searched):
        total = Count.up_to(FOUND + 1, FOUND) if many else count_of(items)
        found = items.filter(searched)
    else:
        together = bool(filters.template) or sum(map(bool, narrowing)) > 1
        few = _narrowed(items.filter(searched), filters, along=together)
        pks = list(few.values_list("pk", flat=True)[: FOUND + 1])
        total = Count.up_to(len(pks), FOUND)
        found = _narrowed(items.filter(searched), filters, along=True) if total.more else items.filter(pk__in=pks)
    found = found.select_related("author", "auditor").only(*COLUMNS).annotate(**judged_blind(viewer))
    rows, earlier, later = page_of(
        found, column, descending=highest_first != filters.ascending, after=after, before=before, size=size
    )
    return Page(rows, earlier, later, total)


def count_of(found: QuerySet[Item], limit: int = COUNTED) -> Count:
    """How many there are, without looking at more than the limit."""
    return Count.up_to(found.order_by()[: limit + 1].count(), limit)


def tab_counts(benchmark: Benchmark, user: Any) -> dict[str, Count]:
    """How many items each view of the list holds: one query, each count from an index and none beyond the limit."""
    since = timezone.now() - dt.timedelta(days=RECENT_DAYS)
    views = {
        "all": Q(),
        "recent": Q(updated__gte=since),
        "mine": Q(author=user),
        "audit": Q(state__in=[str(s) for s in IN_AUDIT]),
        "locked": Q(state=State.LOCKED),
        "errors": Q(Positive("errors")),
        "stale": Q(has_gate(GateStatus.STALE)),
    }
    items = Item.objects.filter(benchmark=benchmark).order_by().values("pk")
    limits = {name: COUNTED if name in ("all", "locked") else FOUND for name in views}
    columns: dict[str, Any] = {name: Counted(items.filter(view)[: limits[name] + 1]) for name, view in views.items()}
    counts: Any = Benchmark.objects.filter(pk=benchmark.pk).values(**columns).get()
    return {name: Count.up_to(number, limits[name]) for name, number in counts.items()}


class Counted(Subquery):
    """The number of rows that a query gives, as a column of another query."""

    template = "(SELECT COUNT(*) FROM (%(subquery)s) AS counted)"
    output_field = IntegerField()


def authors_of(benchmark: Benchmark, named: str = "") -> list[Any]:
    """Who may have written items of a benchmark: its members, and whom an address names."""
    from django.contrib.auth.models import User

    people = User.objects.filter(Q(memberships__benchmark=benchmark) | Q(username=named)).distinct()
    return list(people.order_by("username").only("username", "first_name", "last_name"))


# Asks the index for the next larger category, again and again, and not every item for its own.
_CATEGORIES = """
WITH RECURSIVE found(category) AS (
  SELECT MIN(category) FROM annotation_item WHERE benchmark_id = %s AND category > ''
  UNION ALL
  SELECT (SELECT MIN(category) FROM annotation_item WHERE benchmark_id = %s AND category > found.category)
  FROM found WHERE found.category IS NOT NULL
)
SELECT category FROM found WHERE category IS NOT NULL LIMIT 200
"""


def categories_in(benchmark: Benchmark) -> dict[str, str]:
    """Slug -> name of the benchmark's categories, and of those that only its items name (the first 200 of them)."""
    names = {category.slug: category.name for category in benchmark.categories.all()}
    with connection.cursor() as cursor:
        cursor.execute(_CATEGORIES, [benchmark.pk, benchmark.pk])
        return names | {slug: slug for (slug,) in cursor.fetchall() if slug not in names}


# --- home ---------------------------------------------------------------------------------------------------------


@dataclass
class Work:
    """Some of what waits for a person, and how much there is."""

    total: int = 0
    rows: list[Any] = field(default_factory=list)


def work(found: QuerySet[Any]) -> Work:
    rows = list(found[: SHOWN + 1])
    return Work(len(rows) if len(rows) <= SHOWN else found.count(), rows[:SHOWN])


def _of_mine(user: Any, benchmarks: Sequence[Benchmark]) -> QuerySet[Item]:
    mine = Q(author=user) | Q(pk__in=Item.coeditors.through.objects.filter(user_id=user.pk).values("item_id"))
    items = Item.objects.filter(mine, benchmark__in=benchmarks).select_related("author", "benchmark")
    return items.only(*COLUMNS, "benchmark__slug", "benchmark__min_steps", "benchmark__name").order_by("-updated")


def returned_to(user: Any, benchmarks: Sequence[Benchmark]) -> Work:
    """Items that were returned to their author or co-editor."""
    return work(_of_mine(user, benchmarks).filter(state=State.RETURNED))


def drafts_of(user: Any, benchmarks: Sequence[Benchmark]) -> Work:
    return work(_of_mine(user, benchmarks).filter(state=State.DRAFT))


def unsaved_of(user: Any, benchmarks: Sequence[Benchmark]) -> Work:
    """Sections that hold text of one's own which is not saved, newest first."""
    found = Draft.objects.filter(user=user, item__benchmark__in=benchmarks).select_related("item__benchmark")
    columns = ["section", "updated", "item__number", "item__question", "item__benchmark__slug"]
    return work(found.only(*columns).order_by("-updated"))


#: Kinds that one person makes many of in a row; a summary tells them, or their outcome does.
_NOISE = ["item.imported", "membership.set", "criterion.recorded", "element.ticked", "review.started"]


def activity(benchmarks: Sequence[Benchmark], viewer: Any, count: int = 12) -> list[ItemEvent]:
    """The latest events of the benchmarks, newest first, without those of items that the viewer audits blind."""
    found = ItemEvent.objects.filter(benchmark__in=benchmarks).exclude(
        Q(kind__in=_NOISE) | Q(kind__startswith="blind_audit.")
    )
    found = found.filter(Q(item=None) | ~is_blind_to(viewer, "item"))
    columns = ["kind", "data", "created", "item__number", "benchmark__slug"]
    people = ["actor__username", "actor__first_name", "actor__last_name"]
    return list(found.select_related("actor", "item", "benchmark").only(*columns, *people).order_by("-pk")[:count])


def states_of(benchmarks: Sequence[Benchmark]) -> dict[int, dict[str, int]]:
    """Benchmark -> state -> number of items, every state named, in the order of the workflow."""
    counts = {b.pk: {str(state): 0 for state in State} for b in benchmarks}
    rows = Item.objects.filter(benchmark__in=benchmarks).values_list("benchmark", "state").annotate(n=CountOf("pk"))
    for benchmark, state, number in rows.order_by():
        counts[benchmark][state] = number
    return counts


@dataclass
class LabelProgress:
    """A category's locked items and those on their way, against its target. Shares are of the widest bar."""

    slug: str
    name: str
    locked: int
    coming: int
    target: int | None
    widest: int = 1

    @property
    def short(self) -> int:
        return max((self.target or 0) - self.locked, 0)

    def _share(self, value: int) -> str:
        return f"{min(value / self.widest, 1) * 100:.2f}%"

    @property
    def locked_width(self) -> str:
        return self._share(self.locked)

    @property
    def coming_width(self) -> str:
        return self._share(self.coming)

    @property
    def target_at(self) -> str:
        """Where the mark of the target stands; it has a width of its own, so never quite at the end."""
        return f"{min((self.target or 0) / self.widest, 0.985) * 100:.2f}%"


def category_progress(benchmark: Benchmark) -> list[LabelProgress]:
    """Each category of the benchmark, and what items name besides, by number of locked items."""
    coming = [str(s) for s in (*IN_AUDIT, State.APPROVED)]
    counted = {
        row["category"]: row
        for row in Item.objects.filter(benchmark=benchmark)
        .exclude(state=State.REJECTED)
        .values("category")
        .annotate(
            locked=CountOf("pk", filter=Q(state=State.LOCKED)),
            coming=CountOf("pk", filter=Q(state__in=coming)),
        )
        .order_by()
    }
    rows = []
    for category in benchmark.categories.all():
        row = counted.pop(category.slug, {"locked": 0, "coming": 0})
        rows.append(LabelProgress(category.slug, category.name, row["locked"], row["coming"], category.target))
    for slug, row in counted.items():
        if slug and row["locked"] + row["coming"]:
            rows.append(LabelProgress(slug, slug, row["locked"], row["coming"], None))
    widest = max((max(r.locked + r.coming, r.target or 0) for r in rows), default=0) or 1
    for r in rows:
        r.widest = widest
    return rows


@dataclass
class Week:
    """Items locked in the seven days from `monday`; the drawing's places are in its own units."""

    monday: dt.date
    locked: int
    x: int
    y: int
    height: int

    @property
    def middle(self) -> int:
        return self.x + 9


def weekly_locked(benchmark: Benchmark, weeks: int = WEEKS) -> list[Week]:
    """How many items were locked in each of the last weeks, oldest first, this week included."""
    today = timezone.localdate()
    this = today - dt.timedelta(days=today.weekday())
    first = this - dt.timedelta(weeks=weeks - 1)
    midnight = timezone.make_aware(dt.datetime.combine(first, dt.time()))
    rows = (
        ItemEvent.objects.filter(benchmark=benchmark, kind="item.locked", created__gte=midnight)
        .annotate(week=TruncWeek("created"))
        .values_list("week")
        .annotate(n=CountOf("pk"))
        .order_by()
    )
    counts = {moment.date(): number for moment, number in rows}
    mondays = [first + dt.timedelta(weeks=n) for n in range(weeks)]
    most = max(counts.values(), default=0) or 1
    drawn = []
    for n, monday in enumerate(mondays):
        locked = counts.get(monday, 0)
        height = round(60 * locked / most)
        drawn.append(Week(monday, locked, x=8 + n * 29, y=80 - height, height=height))
    return drawn


def members_of(benchmark: Benchmark) -> QuerySet[Membership]:
    """Members with `written`, the number of items that each is the author of here."""
    theirs = Q(user__authored_items__benchmark=F("benchmark"))
    return benchmark.memberships.select_related("user").annotate(written=CountOf("user__authored_items", filter=theirs))
