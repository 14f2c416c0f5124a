"""Reads of releases: the list, one with its items, what a new one would hold, and two beside each other.

Writes nothing. Documents are read where figures are made of them and for items that differ, never for a list.
"""

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from django.db.models import Count, Exists, F, Max, OuterRef, Q, QuerySet, Subquery, Sum
from django.db.models.fields.json import KT
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from annotation.benchmarks import Benchmark, Item
from annotation.document import canonical_bytes
from annotation.models import Revision, StoredImage
from annotation.states import State
from lhdr_site.shared.errors import Invalid

from .comparison import Comparison, changed_ids, compare, next_version
from .figures import Summary
from .models import (
    CriterionResult,
    Errata,
    LinkCheck,
    Override,
    Redaction,
    Release,
    ReleaseImage,
    ReleaseItem,
    Transition,
)
from .workflow import Move

CHUNK = 200


def releases_of(benchmark: Benchmark) -> QuerySet[Release]:
    return Release.objects.filter(benchmark=benchmark).select_related("created_by").defer("statistics", "quality")


def release_rows(release: Release, split: str = "") -> QuerySet[ReleaseItem]:
    """The items of a release without their documents; each row has `revision_number` and the frozen `question`
    and `category`."""
    rows = ReleaseItem.objects.filter(release=release).select_related("item").order_by("position")
    if split:
        rows = rows.filter(split=split)
    return rows.defer("document", "item__document", "item__findings").annotate(
        revision_number=F("revision__number"), question=KT("document__question"), category=KT("document__category")
    )


def overrides_in(release: Release) -> QuerySet[Override]:
    """Rules that were set aside for its items before it was cut; each row has the item's `number`."""
    items = ReleaseItem.objects.filter(release=release).values("item")
    rows = Override.objects.filter(item__in=items, created__lte=release.created)
    return rows.select_related("by", "person").annotate(number=F("item__number")).order_by("pk")


def pictures_in(release: Release) -> dict[str, int]:
    """How many different pictures are in store for it, and their bytes."""
    held = ReleaseImage.objects.filter(release_item__release=release)
    rows = StoredImage.objects.filter(benchmark=release.benchmark_id, sha256__in=held.values("sha256"), tombstone="")
    return rows.aggregate(count=Count("pk"), bytes=Sum("size", default=0))


def redactions_in(release: Release) -> QuerySet[Redaction]:
    """Pictures of the release that were taken down."""
    held = ReleaseImage.objects.filter(release_item__release=release)
    rows = Redaction.objects.filter(benchmark=release.benchmark_id, sha256__in=held.values("sha256"))
    return rows.select_related("by").order_by("pk")


def redaction_problems() -> Iterator[str]:
    """Takedowns and tombstones that do not match, for `lhdr verify`."""
    recorded = set(Redaction.objects.values_list("benchmark_id", "sha256"))
    buried = set(StoredImage.objects.exclude(tombstone="").values_list("benchmark_id", "sha256"))
    for _benchmark, sha256 in sorted(recorded ^ buried):
        yield f"image {sha256}: its takedown is recorded in one place only"


def releases_with(benchmark: Benchmark, sha256: str) -> list[str]:
    """The names of the releases that name a picture, the newest first."""
    held = ReleaseImage.objects.filter(sha256=sha256, release_item__release__benchmark=benchmark)
    rows = Release.objects.filter(pk__in=held.values("release_item__release"))
    return list(rows.values_list("name", flat=True))


def items_with(benchmark: Benchmark, sha256: str) -> list[int]:
    """The numbers of the items that show a picture now."""
    rows = Item.objects.filter(benchmark=benchmark, image_rows__sha256=sha256).distinct().order_by("number")
    return list(rows.values_list("number", flat=True))


# --- what a new one would hold ------------------------------------------------------------------------------------


def locked_items(benchmark: Benchmark) -> QuerySet[Item]:
    """Locked items by number, without their documents."""
    return Item.objects.filter(benchmark=benchmark, state=State.LOCKED).defer("document", "findings").order_by("number")


def states_outside(benchmark: Benchmark) -> dict[str, int]:
    """How many items are in each other state, in the order of the workflow."""
    rows = Item.objects.filter(benchmark=benchmark).exclude(state=State.LOCKED).order_by()
    counts = dict(rows.values_list("state").annotate(n=Count("pk")))
    return {state.value: counts[state.value] for state in State if state.value in counts}


def is_retired() -> Exists:
    """Items whose present content an erratum retired."""
    return Exists(
        Errata.objects.filter(
            item=OuterRef("pk"), status=Errata.Status.RETIRED, revision__number=OuterRef("revision_number")
        )
    )


def chosen_items(benchmark: Benchmark, numbers: Collection[int] | None) -> QuerySet[Item]:
    """The locked items of these numbers; without any given, all that are not retired.

    Raises Invalid, naming them, for numbers that are no locked items, and when nothing is left.
    """
    locked = locked_items(benchmark)
    if numbers is None:
        chosen = locked.filter(~is_retired())
    else:
        there = set(locked.values_list("number", flat=True))
        if wrong := sorted(set(numbers) - there):
            some = ", ".join(f"#{number}" for number in wrong[:8]) + (" …" if len(wrong) > 8 else "")
            text = _("These are no locked items: %(items)s. Lock them first, or leave them out.") % {"items": some}
            raise Invalid.at("items", text, code="not_locked")
        left_out = there - set(numbers)  # whichever list is shorter: a database takes only so many values
        few = len(left_out) < len(there) // 2
        chosen = locked.exclude(number__in=left_out) if few else locked.filter(number__in=numbers)
    if not chosen.exists():
        if locked.exists():
            raise Invalid.at("items", _("No item is chosen. Choose at least one."), code="none_chosen")
        raise Invalid(_("No item is locked yet, so there is nothing to release. Lock items first."), code="none_locked")
    return chosen


def locked_without_audit(items: QuerySet[Item]) -> QuerySet[Item]:
    """Those whose latest transition is not a lock that followed an audit."""
    last = Transition.objects.filter(item=OuterRef("pk")).order_by("-pk").values("move")[:1]
    return items.annotate(last_move=Subquery(last)).exclude(last_move=Move.LOCK)


@dataclass(frozen=True, slots=True)
class Warning:
    """Something to know before cutting; it stops nothing."""

    code: str
    text: str
    numbers: tuple[int, ...] = ()


@dataclass
class Contents:
    """What is in a choice of items: figures of their documents, and the pictures without a licence."""

    statistics: dict[str, Any]
    unlicensed: list[tuple[int, str]] = field(default_factory=list)  # item's number, image's key


def documents_of(items: QuerySet[Item]) -> Iterator[Revision]:
    """The present revision of each, by number; each row has the item's `number` and `category`."""
    rows = Revision.objects.filter(item__in=items.values("pk"), number=F("item__revision_number"))
    rows = rows.order_by("item__number").annotate(item_number=F("item__number"), uid=F("item__uid"))
    yield from rows.only("document", "document_hash", "item_id").iterator(CHUNK)


def contents_of(items: QuerySet[Item], splits: Mapping[str, str] | None = None) -> Contents:
    """Reads every document once."""
    figures = Summary()
    unlicensed = []
    size = 0
    for row in documents_of(items):
        document = row.document
        figures.add(document, (splits or {}).get(document["id"], ""))
        size += len(canonical_bytes(document)) + 1
        number = row.item_number  # type: ignore[attr-defined]
        unlicensed += [(number, image["key"]) for image in document["images"] if not image["license"].strip()]
    statistics = figures.to_json() | {"bytes": size, "unlicensed": len(unlicensed), "audit": _audit_of(items)}
    return Contents(statistics, unlicensed)


def _audit_of(items: QuerySet[Item]) -> dict[str, int]:
    """How the items were audited, in numbers."""
    pks = items.values("pk")
    judged = CriterionResult.objects.filter(item__in=pks).aggregate(
        answers=Count("pk"), auditors=Count("auditor", distinct=True)
    )
    return {
        **judged,
        "authors": items.order_by().values("author").distinct().count(),
        "without": locked_without_audit(items).count(),
        "overrides": Override.objects.filter(item__in=pks).count(),
    }


def warnings_for(benchmark: Benchmark, items: QuerySet[Item], contents: Contents) -> list[Warning]:
    """What somebody who is about to cut a release of the items should know."""
    found: list[Warning] = []

    def warn(code: str, numbers: Sequence[int], one: str, many: str) -> None:
        if numbers:
            text = ngettext(one, many, len(numbers)) % {"n": len(numbers)}
            found.append(Warning(code, text, tuple(sorted(numbers))))

    def numbers_of(rows: QuerySet[Item]) -> list[int]:
        return list(rows.order_by("number").values_list("number", flat=True))

    if benchmark.is_sandbox:
        found.append(Warning("sandbox", _("This is a sandbox: the release is marked “not audited”.")))
    else:
        warn(
            "without_audit",
            numbers_of(locked_without_audit(items)),
            "%(n)d item was locked without an audit, so the release is marked “not audited”.",
            "%(n)d items were locked without an audit, so the release is marked “not audited”.",
        )
    latest = LinkCheck.objects.filter(item__in=items.values("pk")).values("item", "source").annotate(newest=Max("pk"))
    dead = LinkCheck.objects.filter(pk__in=latest.values("newest"), status=LinkCheck.Status.DEAD)
    warn(
        "links",
        numbers_of(items.filter(pk__in=dead.values("item"))),
        "%(n)d item has a source whose link is dead.",
        "%(n)d items have a source whose link is dead.",
    )
    opened = Errata.objects.filter(item=OuterRef("pk"), status=Errata.Status.OPEN)
    warn(
        "errata",
        numbers_of(items.filter(Exists(opened))),
        "%(n)d item is flagged as faulty, and nobody has decided yet.",
        "%(n)d items are flagged as faulty, and nobody has decided yet.",
    )
    warn(
        "retired",
        numbers_of(items.filter(is_retired())),
        "%(n)d item was retired after a fault was found.",
        "%(n)d items were retired after a fault was found.",
    )
    if not benchmark.is_sandbox:
        warn(
            "stale",
            numbers_of(items.filter(Q(stale_gates__gt=0) | Q(open_gates__gt=0) | Q(failed_gates__gt=0))),
            "%(n)d item has a gate that is not passed and fresh.",
            "%(n)d items have a gate that is not passed and fresh.",
        )
    stored = StoredImage.objects.filter(benchmark=benchmark, sha256=OuterRef("image_rows__sha256"))
    shown = items.filter(image_rows__isnull=False)
    warn(
        "missing",
        numbers_of(shown.filter(~Exists(stored)).distinct()),
        "%(n)d item names a picture that is not in store.",
        "%(n)d items name a picture that is not in store.",
    )
    warn(
        "taken_down",
        numbers_of(shown.filter(Exists(stored.exclude(tombstone=""))).distinct()),
        "%(n)d item holds a picture that was taken down.",
        "%(n)d items hold a picture that was taken down.",
    )
    warn(
        "licence",
        sorted({number for number, _key in contents.unlicensed}),
        "%(n)d item has a picture without a licence.",
        "%(n)d items have a picture without a licence.",
    )
    return found


@dataclass(frozen=True)
class Group:
    """A row of the table of groups, with its name for people and its target."""

    scope: str
    slug: str
    name: str
    items: int
    percent: int
    steps: float
    sources: float
    target: int | None = None

    @property
    def short(self) -> int:
        return max((self.target or 0) - self.items, 0)


def groups_of(benchmark: Benchmark, statistics: Mapping[str, Any]) -> dict[str, list[Group]]:
    """Scope -> rows of the table; categories, tags and templates with a target also where nothing is in them."""
    names: dict[tuple[str, str], str] = {
        ("template", "linear"): _("Linear"),
        ("template", "multi_branch"): _("Multi-branch"),
    }
    names |= {("split", "dev"): _("dev"), ("split", "test"): _("test"), ("split", "held_out"): _("held out")}
    targets = {("template", name): target for name, target in benchmark.template_targets.items()}
    for scope, labels in (("category", benchmark.categories.all()), ("tag", benchmark.operation_tags.all())):
        for label in labels:
            names[scope, label.slug] = label.name
            if label.target:
                targets[scope, label.slug] = label.target
    whole = statistics["items"] or 1
    groups: dict[str, list[Group]] = {}
    seen = set()
    for row in statistics["table"]:
        place = row["scope"], row["group"]
        seen.add(place)
        groups.setdefault(row["scope"], []).append(
            Group(
                row["scope"],
                row["group"],
                names.get(place, row["group"]) or _("none"),
                row["items"],
                (200 * row["items"] + whole) // (2 * whole),
                row["steps"],
                row["sources"],
                targets.get(place),
            )
        )
    for (scope, slug), target in targets.items():
        if (scope, slug) not in seen and target:
            groups.setdefault(scope, []).append(Group(scope, slug, names.get((scope, slug), slug), 0, 0, 0, 0, target))
    return groups


def statistics_of(release: Release) -> dict[str, Any]:
    """As recorded when it was cut; made anew from the documents for a release from before they were recorded."""
    if release.statistics:
        recorded: dict[str, Any] = release.statistics
        return recorded
    figures = Summary()
    rows = ReleaseItem.objects.filter(release=release).order_by("position").values_list("document", "split")
    size = 0
    for document, split in rows.iterator(CHUNK):
        figures.add(document, split)
        size += len(canonical_bytes(document)) + 1
    return figures.to_json() | {"bytes": size}


# --- two beside each other ----------------------------------------------------------------------------------------


@dataclass
class Beside:
    """Two releases, or one and what would be cut next. `numbers`: id -> the item's number."""

    old: Release
    new: Release | None
    comparison: Comparison
    numbers: Mapping[str, int]
    errata: Mapping[str, list[Errata]]  # id -> what core decided about the old content

    @cached_property
    def suggested(self) -> str:
        return next_version(self.old.version, self.comparison.level)


def _hashes(release: Release) -> tuple[dict[str, str], dict[str, str], dict[str, int], dict[str, int]]:
    """Of each id: hash, split, item's number, revision."""
    rows = ReleaseItem.objects.filter(release=release).order_by("position")
    found = list(rows.values_list("uid", "document_hash", "split", "item__number", "revision_id"))
    return (
        {row[0]: row[1] for row in found},
        {row[0]: row[2] for row in found},
        {row[0]: row[3] for row in found},
        {row[0]: row[4] for row in found},
    )


def compare_releases(old: Release, new: Release) -> Beside:
    """What the new release has, lacks and changed against the old one."""
    hashes, splits, numbers, revisions = _hashes(new)
    before, splits_before, numbers_before, revisions_before = _hashes(old)
    moved = {}
    if old.splits and new.splits:
        moved = {uid: (splits_before[uid], splits[uid]) for uid in splits if uid in before}
    changed = changed_ids(before, hashes)
    pairs = documents_beside([revisions_before[uid] for uid in changed], [revisions[uid] for uid in changed])
    found = compare(before, hashes, ((uid, *pair) for uid, pair in zip(changed, pairs, strict=True)), moved)
    return Beside(old, new, found, numbers_before | numbers, _errata(old, found, revisions_before))


def compare_with_next(old: Release, items: QuerySet[Item]) -> Beside:
    """What a release of these items would have, lack and change against an old one."""
    rows = list(items.values_list("uid", "document_hash", "number", "pk"))
    hashes = {uid: digest for uid, digest, _number, _pk in rows}
    before, _splits, numbers_before, revisions_before = _hashes(old)
    changed = changed_ids(before, hashes)
    pks = {uid: pk for uid, _digest, _number, pk in rows}
    present = dict(
        Revision.objects.filter(item__in=[pks[uid] for uid in changed], number=F("item__revision_number"))
        .values_list("item__uid", "pk")
    )  # fmt: skip
    pairs = documents_beside([revisions_before[uid] for uid in changed], [present[uid] for uid in changed])
    found = compare(before, hashes, ((uid, *pair) for uid, pair in zip(changed, pairs, strict=True)))
    numbers = numbers_before | {uid: number for uid, _digest, number, _pk in rows}
    return Beside(old, None, found, numbers, _errata(old, found, revisions_before))


def documents_beside(old: Sequence[int], new: Sequence[int]) -> Iterator[tuple[Any, Any]]:
    """The documents of revisions, pair by pair, a few at a time."""
    for start in range(0, len(old), CHUNK):
        before, after = old[start : start + CHUNK], new[start : start + CHUNK]
        found = dict(Revision.objects.filter(pk__in={*before, *after}).values_list("pk", "document"))
        yield from ((found[one], found[other]) for one, other in zip(before, after, strict=True))


def _errata(old: Release, found: Comparison, revisions: Mapping[str, int]) -> dict[str, list[Errata]]:
    """What core decided about the old content of items that changed or went."""
    pks = {revisions[uid] for uid in (*found.removed, *(change.uid for change in found.changed))}
    decided = Errata.objects.filter(
        revision__in=Revision.objects.filter(pk__in=ReleaseItem.objects.filter(release=old).values("revision")),
        status__in=(Errata.Status.REVISED, Errata.Status.RETIRED, Errata.Status.UNCERTAIN),
    )
    by_id: dict[str, list[Errata]] = {}
    for row in decided.annotate(uid=F("item__uid")).order_by("pk"):
        if row.revision_id in pks:
            by_id.setdefault(row.uid, []).append(row)
    return by_id


def what_changed(beside: Beside) -> str:
    """A draft of release notes in Markdown, from the difference."""
    found = beside.comparison

    def items(uids: Sequence[str]) -> str:
        some = ", ".join(f"#{beside.numbers[uid]}" for uid in uids[:40])
        return some + (f" … ({len(uids)})" if len(uids) > 40 else "")

    lines = ["## " + _("Changes since %(name)s") % {"name": beside.old.name}, ""]
    if found.added:
        lines.append("- " + _("Added: %(items)s") % {"items": items(found.added)})
    if found.removed:
        lines.append("- " + _("Removed: %(items)s") % {"items": items(found.removed)})
    if graded := [change.uid for change in found.changed if change.graded]:
        lines.append("- " + _("Changed in what is asked or graded: %(items)s") % {"items": items(graded)})
    if others := [change.uid for change in found.changed if not change.graded]:
        lines.append("- " + _("Changed otherwise: %(items)s") % {"items": items(others)})
    lines += [
        "- " + f"#{beside.numbers[uid]}: {row.reason.strip() or row.get_status_display()}"
        for uid, rows in beside.errata.items()
        for row in rows
    ]
    if len(lines) == 2:
        lines.append("- " + _("The same items with the same content."))
    return "\n".join(lines) + "\n"
