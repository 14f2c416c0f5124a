"""One thing done to many items: what it would do to each, starting it, and going through the rows.

Kinds stand in one registry: this app's are in `bulk_kinds`; `audit` registers its own, as this app knows nothing of it.
Each item is changed by the kind's own action, which asks, checks and records anew: what the preview said is for the
person only.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from django.contrib.auth.models import User
from django.db import transaction
from django.db.models import Count
from django.utils.functional import Promise
from django.utils.translation import gettext as _

from lhdr_site.shared.errors import DomainError, Invalid
from lhdr_site.shared.queue import send
from lhdr_site.shared.results import Answer, Denied

from .benchmarks import may_act_as
from .models import Benchmark, BulkChange, BulkRow, Item
from .states import Role

MOST = 10_000  # items of one change
AT_ONCE = 50  # done while the person waits; the worker does the rest
_COLUMNS = ["pk", "number", "state", "author_id", "auditor_id", "benchmark_id", "errors", "checked_hash"]
Reasons = dict[int, str]  # key of an item -> why not


@dataclass(frozen=True)
class Need:
    """The value that a kind asks for: one of `choices`, or what is typed into an `input` and is `taken`."""

    label: str | Promise
    problem: str | Promise  # said of a value that cannot be taken
    choices: Callable[[Benchmark], list[tuple[str, str]]] | None = None
    input: str = "text"
    taken: Callable[[str], bool] = bool


@dataclass(frozen=True)
class Kind:
    """refusals: what would be refused, told from columns. act: does it and says whether anything changed."""

    code: str
    label: str | Promise
    need: Need | None
    refusals: Callable[[User, Sequence[Item], Mapping[str, Any]], Reasons]
    act: Callable[[Item, Mapping[str, Any], User], bool]
    role: Role = Role.ANNOTATOR  # offered from this role on


KINDS: dict[str, Kind] = {}


def register(*kinds: Kind) -> None:
    KINDS.update({kind.code: kind for kind in kinds})


def by_standing(user: User, items: Sequence[Item], ask: Callable[[User, Item], Answer]) -> Reasons:
    """Why a permission is refused, asked once for items of one state that are one's own, and once for others'."""
    shared = set(Item.coeditors.through.objects.filter(user_id=user.pk).values_list("item_id", flat=True))
    answers: dict[Any, Answer] = {}
    reasons = {}
    for item in items:
        key = (item.state, item.author_id == user.pk, item.pk in shared)
        if key not in answers:
            answers[key] = ask(user, item)
        if isinstance(answers[key], Denied):
            reasons[item.pk] = str(answers[key].reason)
    return reasons


# --- looking ahead --------------------------------------------------------------------------------------------------


@dataclass
class Preview:
    """What would become of the selected items. `refused`: reason -> the items it holds for."""

    able: list[int] = field(default_factory=list)
    refused: dict[str, list[Item]] = field(default_factory=dict)
    more: bool = False  # than one change may hold

    @property
    def refused_count(self) -> int:
        return sum(map(len, self.refused.values()))


def preview(kind: Kind, benchmark: Benchmark, found: Any, data: Mapping[str, Any], user: User) -> Preview:
    """Of a query of items. Two queries, whatever the number of items, and what the kind asks."""
    items = list(found.only(*_COLUMNS, "document_hash").order_by("number")[: MOST + 1])
    result = Preview(more=len(items) > MOST)
    items = items[:MOST]
    for item in items:
        item.benchmark = benchmark
    reasons = kind.refusals(user, items, data)
    for item in items:
        if item.pk in reasons:
            result.refused.setdefault(reasons[item.pk], []).append(item)
        else:
            result.able.append(item.pk)
    return result


def value_problem(kind: Kind, benchmark: Benchmark, value: str) -> str:
    """What is wrong with the value that was chosen or typed, or ""."""
    need = kind.need
    if need is None:
        return ""
    fine = value in dict(need.choices(benchmark)) if need.choices else need.taken(value)
    return "" if fine else str(need.problem)


def value_words(kind: Kind, benchmark: Benchmark, value: str) -> str:
    """The value as people know it, such as a person's name."""
    choices = kind.need.choices if kind.need else None
    return dict(choices(benchmark)).get(value, value) if choices else value


# --- doing ----------------------------------------------------------------------------------------------------------


@transaction.atomic
def start_change(
    benchmark: Benchmark, kind: Kind, pks: Sequence[int], data: Mapping[str, Any], *, actor: User
) -> BulkChange:
    """Write down what is to be done to which items. The worker is told; `run_rows` does it."""
    from . import tasks

    may_act_as(actor, benchmark, kind.role).require()
    if problem := value_problem(kind, benchmark, data.get("value", "")):
        raise Invalid.at("value", problem, code="bad_value")
    if not pks or len(pks) > MOST:
        raise Invalid(_("Select from 1 to %(most)d items.") % {"most": MOST}, code="bad_selection")
    known = set(Item.objects.filter(benchmark=benchmark, pk__in=pks).values_list("pk", flat=True))
    change = BulkChange.objects.create(benchmark=benchmark, actor=actor, kind=kind.code, data=dict(data))
    rows = (BulkRow(change=change, item_id=pk) for pk in dict.fromkeys(pks) if pk in known)
    BulkRow.objects.bulk_create(rows, batch_size=2000)
    if len(pks) > AT_ONCE:
        transaction.on_commit(partial(send, tasks.run_bulk_change, change.pk))
    return change


def run_rows(change_pk: int, limit: int | None = None) -> int:
    """Go through the next rows that wait, each in a transaction of its own; how many were looked at. Safe twice."""
    change = BulkChange.objects.select_related("actor").get(pk=change_pk)
    kind = KINDS[change.kind]
    waiting = change.rows.filter(status=BulkRow.Status.WAITING).order_by("pk").values_list("pk", "item_id")
    rows = list(waiting if limit is None else waiting[:limit])
    for pk, item_pk in rows:
        _run_row(kind, change, pk, item_pk)
    return len(rows)


@transaction.atomic
def _run_row(kind: Kind, change: BulkChange, pk: int, item_pk: int) -> None:
    row = BulkRow.objects.filter(pk=pk)
    # Whoever sets it first does it; another worker finds it taken.
    if not row.filter(status=BulkRow.Status.WAITING).update(status=BulkRow.Status.DONE):
        return
    item = Item.objects.select_related("benchmark", "author").get(pk=item_pk)
    try:
        with transaction.atomic():
            changed = kind.act(item, change.data, change.actor)
    except DomainError as error:
        row.update(status=BulkRow.Status.REFUSED, message=error.message)
    else:
        if not changed:
            row.update(status=BulkRow.Status.SAME)


def unfinished(limit: int = 20) -> list[int]:
    """Changes with rows that still wait."""
    waiting = BulkRow.objects.filter(status=BulkRow.Status.WAITING).values_list("change", flat=True)
    return list(waiting.distinct().order_by("change")[:limit])


def counts_of(change: BulkChange) -> dict[str, int]:
    """Status -> number of rows, every status named."""
    counts = {str(status): 0 for status in BulkRow.Status}
    counts.update(change.rows.order_by().values_list("status").annotate(n=Count("pk")))
    return counts
