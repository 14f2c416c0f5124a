"""Reads for planning: coverage against targets, what is due, golden examples, ideas, the guideline's versions.

Never loads documents and opens no write transaction.
"""

import datetime as dt
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from django.db.models import Count, Exists, OuterRef, Q, QuerySet
from django.utils import timezone
from django.utils.translation import gettext_lazy as _

from .document import TEMPLATES
from .gates import judged_blind
from .listing import COLUMNS, Work, work
from .models import Benchmark, Item, Seed
from .permissions import may_assign, may_mark_golden
from .states import EDITABLE_BY_AUTHORS, IN_AUDIT, Role, State

PAGE = 50
SOON_DAYS = 7
TEMPLATE_NAMES = {"linear": _("Linear"), "multi_branch": _("Multi-branch")}

# --- coverage -----------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Coverage:
    """Items of one category, template or tag by how far they are, against the target."""

    group: str  # category, template, tag
    slug: str
    name: str
    locked: int
    coming: int
    drafts: int
    target: int | None

    @property
    def missing(self) -> int:
        """How many the target lacks even when all that is on the way gets there."""
        return max((self.target or 0) - self.locked - self.coming, 0)

    @property
    def short(self) -> int:
        return max((self.target or 0) - self.locked, 0)

    def _share(self, value: int) -> str:
        return f"{min(value / self.target, 1) * 100:.1f}%" if self.target else "0%"

    @property
    def locked_width(self) -> str:
        return self._share(self.locked)

    @property
    def coming_width(self) -> str:
        return self._share(min(self.coming, self.short))


_FAR: dict[str, Any] = {
    "locked": Count("pk", filter=Q(state=State.LOCKED)),
    "coming": Count("pk", filter=Q(state__in=[str(s) for s in (*IN_AUDIT, State.APPROVED)])),
    "drafts": Count("pk", filter=Q(state__in=[str(s) for s in EDITABLE_BY_AUTHORS])),
}


def coverage(benchmark: Benchmark) -> dict[str, list[Coverage]]:
    """Group (category, template, tag) -> rows in the benchmark's order. Tags overlap; rejected items are left out."""
    items = Item.objects.filter(benchmark=benchmark).exclude(state=State.REJECTED).order_by()

    def counts(column: str) -> dict[str, dict[str, int]]:
        rows = items.exclude(**{column: None}).values(column).annotate(**_FAR)
        return {row.pop(column): row for row in rows}

    template_targets = benchmark.template_targets
    none = {"locked": 0, "coming": 0, "drafts": 0}
    by_category, by_template, by_tag = counts("category"), counts("template"), counts("tag_rows__slug")
    return {
        "category": [
            Coverage("category", c.slug, c.name, **by_category.get(c.slug, none), target=c.target)
            for c in benchmark.categories.all()
        ],
        "template": [
            Coverage("template", t, str(TEMPLATE_NAMES[t]), **by_template.get(t, none), target=template_targets.get(t))
            for t in TEMPLATES
        ],
        "tag": [
            Coverage("tag", t.slug, t.name, **by_tag.get(t.slug, none), target=t.target)
            for t in benchmark.operation_tags.all()
        ],
    }  # fmt: skip


def missing_most(rows: Sequence[Coverage]) -> list[Coverage]:
    """Up to three rows that lack most, the largest lack first."""
    return sorted((row for row in rows if row.missing), key=lambda row: -row.missing)[:3]


# --- due ----------------------------------------------------------------------------------------------------------


def due_soon(user: Any, benchmarks: Sequence[Benchmark]) -> Work:
    """What one is to audit, write or mend by a day that is past or near, the earliest first."""
    until = timezone.localdate() + dt.timedelta(days=SOON_DAYS)
    coedited = Item.coeditors.through.objects.filter(item=OuterRef("pk"), user_id=user.pk)
    to_audit = Q(auditor=user, state__in=[str(s) for s in IN_AUDIT])
    to_write = Q(state__in=[str(s) for s in EDITABLE_BY_AUTHORS]) & (Q(author=user) | Exists(coedited))
    found = Item.objects.filter(to_audit | to_write, benchmark__in=benchmarks, due__lte=until)
    columns = [*COLUMNS, "due", "auditor_id", "benchmark__slug", "benchmark__min_steps"]
    found = found.select_related("author", "auditor", "benchmark").only(*columns)
    return work(found.annotate(**judged_blind(user)).order_by("due", "pk"))


@dataclass
class People:
    """Who may set whom on an item's card of people, asked when the card is shown."""

    item: Item
    user: Any

    @cached_property
    def may_assign(self) -> Any:
        return may_assign(self.user, self.item)

    @cached_property
    def may_mark_golden(self) -> Any:
        return may_mark_golden(self.user, self.item, not self.item.is_golden)

    @cached_property
    def _members(self) -> list[Any]:
        rows = self.item.benchmark.memberships.select_related("user").filter(user__is_active=True)
        return list(rows.order_by("user__username"))

    @cached_property
    def auditors(self) -> list[Any]:
        """Who may be asked to audit it: nobody who writes or ever wrote it, but in a sandbox everybody."""
        writers = self.item.writers.values_list("user", flat=True)
        own = {self.item.author_id, *self.item.coeditors.values_list("pk", flat=True), *writers}
        free = self.item.benchmark.is_sandbox
        return [m.user for m in self._members if m.role >= Role.AUDITOR and (free or m.user_id not in own)]

    @cached_property
    def other_members(self) -> list[Any]:
        return [m.user for m in self._members if m.user_id != self.item.author_id]


# --- golden examples ----------------------------------------------------------------------------------------------


def golden_items(benchmark: Benchmark) -> QuerySet[Item]:
    """The examples, newest first, with the columns of lists and their notes."""
    items = Item.objects.filter(benchmark=benchmark, is_golden=True).select_related("author", "auditor")
    return items.only(*COLUMNS, "golden_note").order_by("-number")


# --- ideas --------------------------------------------------------------------------------------------------------


def seeds_of(benchmark: Benchmark, user: Any, view: str) -> QuerySet[Seed]:
    """Ideas, the newest first. view: open, mine (claimed or added by the person), all."""
    seeds = benchmark.seeds.select_related("author", "claimed_by", "item")
    seeds = seeds.defer("item__document", "item__findings", "item__gates", "item__twins")
    if view == "mine":
        return seeds.filter(Q(claimed_by=user) | Q(author=user))
    return seeds if view == "all" else seeds.filter(status=Seed.Status.OPEN)


def seed_counts(benchmark: Benchmark, user: Any) -> dict[str, int]:
    """How many each view holds, in one query."""
    return benchmark.seeds.aggregate(
        open=Count("pk", filter=Q(status=Seed.Status.OPEN)),
        mine=Count("pk", filter=Q(claimed_by=user) | Q(author=user)),
        all=Count("pk"),
    )


@dataclass
class SeedPage:
    rows: list[Seed]
    older: int = 0  # the key below which the next page begins, 0 where there is none
    is_first: bool = True


def seed_page(seeds: QuerySet[Seed], before: int | None) -> SeedPage:
    """One page by key."""
    found = list((seeds.filter(pk__lt=before) if before else seeds).order_by("-pk")[: PAGE + 1])
    return SeedPage(found[:PAGE], found[PAGE - 1].pk if len(found) > PAGE else 0, not before)
