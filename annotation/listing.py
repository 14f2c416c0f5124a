"""Reads for lists and home pages: items filtered, sorted and paged by key; one's work; progress; activity.

Never loads documents and opens no write transaction.
"""

import datetime as dt
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from django.core.exceptions import ValidationError
from django.db.models import Count, F, OuterRef, Q, QuerySet, Subquery, TextField, Value
from django.db.models.fields.json import KT
from django.db.models.functions import Coalesce, TruncWeek
from django.db.models.lookups import Exact
from django.utils import timezone

from lhdr_site.shared.numbers import read_whole

from .folding import fold
from .models import Benchmark, Comment, Item, ItemEvent, Membership
from .states import GATE_SECTIONS, IN_AUDIT, Gate, GateStatus, State, gate_status

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
}
COLUMNS = [
    *["number", "uid", "question", "state", "gates", "section_hashes", "category", "template", "steps", "depth"],
    *["sources", "images", "open_comments", "blocking_comments", "errors", "warnings", "checked_hash"],
    *["document_hash", "revision_number", "updated", "benchmark_id"],
    *["author__username", "author__first_name", "author__last_name"],
]


@dataclass(frozen=True)
class Filters:
    """What a list is narrowed to; empty values narrow nothing."""

    q: str = ""
    state: Sequence[str] = ()
    category: Sequence[str] = ()
    template: str = ""
    tag: Sequence[str] = ()
    author: str = ""  # a user name
    gate: str = ""  # a gate status: at least one gate has it
    has_errors: bool = False
    days: int | None = None  # updated within so many days
    sort: str = "updated"
    ascending: bool = False


@dataclass
class Page:
    """One page of a keyset-paged list. `before` and `after` are the cursors of its neighbours, "" where none is."""

    items: list[Item]
    before: str = ""
    after: str = ""
    total: int = 0


def _text(path: str) -> Coalesce:
    """A text inside a JSON column; "" where there is none."""
    return Coalesce(KT(path), Value(""), output_field=TextField())


def _status_of_gate(gate: Gate) -> tuple[Q, Q]:
    """Conditions under which a gate is judged, and judged but stale. `states.gate_status` in SQL; a test compares."""
    judged = Q(**{f"gates__{gate}__status__in": [GateStatus.PASSED.value, GateStatus.FAILED.value]})
    fresh = Q()
    for section in GATE_SECTIONS[gate]:
        fresh &= Q(Exact(_text(f"gates__{gate}__hashes__{section}"), _text(f"section_hashes__{section}")))
    return judged, ~fresh


def has_gate(status: str) -> Q:
    """Items with at least one gate of that status."""
    wanted = Q()
    for gate in Gate:
        judged, stale = _status_of_gate(gate)
        if status == GateStatus.OPEN:
            wanted |= Q(**{f"gates__{gate}__status__isnull": True}) | ~judged
        elif status == GateStatus.STALE:
            wanted |= judged & stale
        else:
            wanted |= Q(**{f"gates__{gate}__status": status}) & ~stale
    return wanted


def _search(q: str) -> Q:
    """Every word of `q` in the folded text; or the number (#12), or the document's id."""
    text = q.strip()
    if text.startswith("#") and (number := read_whole(text[1:])) is not None:
        return Q(number=number)
    words = Q()
    for word in fold(text).split():
        words &= Q(search_text__contains=word)
    words |= Q(uid=text)
    number = read_whole(text)
    return words if number is None else words | Q(number=number)


def narrow(items: QuerySet[Item], filters: Filters) -> QuerySet[Item]:
    """The items that pass every filter."""
    if filters.q.strip():
        items = items.filter(_search(filters.q))
    if filters.state:
        items = items.filter(state__in=filters.state)
    if filters.category:
        items = items.filter(category__in=filters.category)
    if filters.template:
        items = items.filter(template="" if filters.template == "none" else filters.template)
    for tag in filters.tag:
        items = items.filter(tag_rows__slug=tag)
    if filters.author:
        items = items.filter(author__username=filters.author)
    if filters.gate:
        items = items.filter(has_gate(filters.gate))
    if filters.has_errors:
        items = items.filter(errors__gt=0)
    if filters.days:
        items = items.filter(updated__gte=timezone.now() - dt.timedelta(days=filters.days))
    return items


def items_of(benchmark: Benchmark) -> QuerySet[Item]:
    """A benchmark's items with the columns that lists show, and no document."""
    return Item.objects.filter(benchmark=benchmark).select_related("author").only(*COLUMNS)


def item_list(benchmark: Benchmark, filters: Filters, *, after: str = "", before: str = "", size: int = PAGE) -> Page:
    """One page of items after or before a cursor; a cursor that cannot be read gives the first page."""
    found = narrow(items_of(benchmark), filters)
    total = found.count()
    column, highest_first = SORTS[filters.sort]
    descending = highest_first != filters.ascending
    cursor = _read_cursor(column, after or before)
    backwards = bool(cursor and before and not after)
    if cursor:
        value, pk = cursor
        way = "lt" if descending != backwards else "gt"
        found = found.filter(Q(**{f"{column}__{way}": value}) | Q(**{column: value, f"pk__{way}": pk}))
    sign = "-" if descending != backwards else ""
    rows = list(found.order_by(f"{sign}{column}", f"{sign}pk")[: size + 1])
    more = len(rows) > size
    rows = rows[:size]
    if backwards:
        rows.reverse()
    page = Page(rows, total=total)
    if rows:
        page.before = _cursor(rows[0], column) if (more if backwards else cursor) else ""
        page.after = _cursor(rows[-1], column) if (backwards or more) else ""
    return page


def _cursor(item: Item, column: str) -> str:
    value = getattr(item, column)
    return f"{value.isoformat() if isinstance(value, dt.datetime) else value},{item.pk}"


def _read_cursor(column: str, text: str) -> tuple[Any, int] | None:
    value, _comma, pk = text.rpartition(",")
    try:
        read = Item._meta.get_field(column).to_python(value)  # type: ignore[union-attr]
        if isinstance(read, dt.datetime):
            read = read.astimezone(dt.UTC) if timezone.is_aware(read) else None
        number = int(pk)
    except (ValueError, ValidationError, OverflowError):  # the year 1 in one zone is none in another
        return None
    if read is None or abs(number) > 2**62 or (isinstance(read, int) and abs(read) > 2**62):
        return None
    return read, number


def gates_shown(item: Item) -> dict[str, str]:
    """Gate -> status, as the seven dots show it."""
    return {str(gate): str(gate_status(item.gates.get(gate), gate, item.section_hashes)) for gate in Gate}


def tab_counts(benchmark: Benchmark, user: Any) -> dict[str, int]:
    """How many items each view of the list holds: one query, each count from an index and not from the wide rows."""
    since = timezone.now() - dt.timedelta(days=RECENT_DAYS)
    views = {
        "all": Q(),
        "recent": Q(updated__gte=since),
        "mine": Q(author=user),
        "audit": Q(state__in=[str(s) for s in IN_AUDIT]),
        "locked": Q(state=State.LOCKED),
    }
    columns: dict[str, Any] = {name: _count(view) for name, view in views.items()}
    counts: Any = Benchmark.objects.filter(pk=benchmark.pk).values(**columns).get()
    return dict(counts)


def _count(narrowed: Q) -> Coalesce:
    """The number of a benchmark's items that pass, as a column of a query of benchmarks."""
    items = Item.objects.filter(narrowed, benchmark=OuterRef("pk")).order_by().values("benchmark")
    return Coalesce(Subquery(items.annotate(n=Count("*")).values("n")), 0)


def authors_of(benchmark: Benchmark) -> QuerySet[Any]:
    """The people who wrote items of a benchmark."""
    from django.contrib.auth.models import User

    return User.objects.filter(authored_items__benchmark=benchmark).distinct().order_by("username")


def categories_in(benchmark: Benchmark) -> dict[str, str]:
    """Slug -> name of the benchmark's categories, and of those that only its items name."""
    names = {category.slug: category.name for category in benchmark.categories.all()}
    named = Item.objects.filter(benchmark=benchmark).exclude(category="").values_list("category", flat=True)
    return names | {slug: slug for slug in named.distinct().order_by("category") if slug not in names}


# --- home ---------------------------------------------------------------------------------------------------------


@dataclass
class Work:
    """Some of what waits for a person, and how much there is."""

    total: int = 0
    rows: list[Any] = field(default_factory=list)


def _work(found: QuerySet[Any]) -> Work:
    rows = list(found[: SHOWN + 1])
    return Work(len(rows) if len(rows) <= SHOWN else found.count(), rows[:SHOWN])


def _of_mine(user: Any, benchmarks: Sequence[Benchmark]) -> QuerySet[Item]:
    mine = Q(author=user) | Q(pk__in=Item.coeditors.through.objects.filter(user_id=user.pk).values("item_id"))
    items = Item.objects.filter(mine, benchmark__in=benchmarks).select_related("author", "benchmark")
    return items.only(*COLUMNS, "benchmark__slug", "benchmark__min_steps", "benchmark__name").order_by("-updated")


def returned_to(user: Any, benchmarks: Sequence[Benchmark]) -> Work:
    """Items that were returned to their author or co-editor."""
    return _work(_of_mine(user, benchmarks).filter(state=State.RETURNED))


def drafts_of(user: Any, benchmarks: Sequence[Benchmark]) -> Work:
    return _work(_of_mine(user, benchmarks).filter(state=State.DRAFT))


def comments_to(user: Any, benchmarks: Sequence[Benchmark]) -> Work:
    """What others said on one's items and in threads that are still open, newest first."""
    open_ones = Q(parent=None, resolved=None) | Q(parent__isnull=False, parent__resolved=None)
    about_mine = Q(item__author=user) | Q(parent__author=user)
    found = Comment.objects.filter(open_ones, about_mine, item__benchmark__in=benchmarks).exclude(author=user)
    columns = ["body", "anchor", "blocking", "created", "item__number", "item__benchmark__slug"]
    people = ["author__username", "author__first_name", "author__last_name"]
    return _work(found.select_related("author", "item__benchmark").only(*columns, *people).order_by("-pk"))


#: Kinds that one person makes many of in a row; a summary tells them, or their outcome does.
_NOISE = ["item.imported", "membership.set", "criterion.recorded", "element.ticked", "review.started"]


def activity(benchmarks: Sequence[Benchmark], count: int = 12) -> list[ItemEvent]:
    """The latest events of the benchmarks, newest first."""
    found = ItemEvent.objects.filter(benchmark__in=benchmarks).exclude(kind__in=_NOISE)
    columns = ["kind", "data", "created", "item__number", "benchmark__slug"]
    people = ["actor__username", "actor__first_name", "actor__last_name"]
    return list(found.select_related("actor", "item", "benchmark").only(*columns, *people).order_by("-pk")[:count])


def states_of(benchmarks: Sequence[Benchmark]) -> dict[int, dict[str, int]]:
    """Benchmark -> state -> number of items, every state named, in the order of the workflow."""
    counts = {b.pk: {str(state): 0 for state in State} for b in benchmarks}
    rows = Item.objects.filter(benchmark__in=benchmarks).values_list("benchmark", "state").annotate(n=Count("pk"))
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
            locked=Count("pk", filter=Q(state=State.LOCKED)),
            coming=Count("pk", filter=Q(state__in=coming)),
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
        .annotate(n=Count("pk"))
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
    return benchmark.memberships.select_related("user").annotate(written=Count("user__authored_items", filter=theirs))
