"""Worker side of items, each step safe to run twice: checks of the present document, its twins, old presences."""

import datetime as dt

from django.db import transaction
from django.db.models import F
from django.utils import timezone

from .checks import Thresholds
from .checks.text import lengths_alike, nearly_same
from .document import Document, read_document
from .findings import aged, find, finding_json
from .models import Item, ItemQuestion, Presence

TWINS = 5  # as many are named of an item


def check_item(pk: int) -> None:
    """`check`, where the findings of the item's present document are not stored yet."""
    item = Item.objects.select_related("benchmark").filter(pk=pk).exclude(checked_hash=F("document_hash")).first()
    if item is not None:
        check(item)


def check(item: Item, document: Document | None = None) -> None:
    """Store the findings of an item's document, in the row at hand too, and of the items that it now concerns.

    document: the item's, where it has been read already.
    """
    if item.checked_hash == item.document_hash:
        return
    others = _meet_twins(item) if item.twins_hash != item.section_hashes["question"] else []
    _store_findings(item, document or read_document(item.document))
    for other in Item.objects.select_related("benchmark").filter(pk__in=others):
        _store_findings(other, read_document(other.document))


def _store_findings(item: Item, document: Document) -> None:
    findings, mended = aged([finding_json(f, document) for f in find(document, item.benchmark, item.twins)], item)
    stored = {
        "checked_hash": item.document_hash,
        "checked_revision": item.revision_number,
        "mended": mended,
        "findings": findings,
        "errors": sum(f["level"] == "error" for f in findings),
        "warnings": sum(f["level"] == "warning" for f in findings),
    }
    # Only where the document is still the one that was checked.
    Item.objects.filter(pk=item.pk, document_hash=item.document_hash).update(**stored)
    for name, value in stored.items():
        setattr(item, name, value)


def _meet_twins(item: Item) -> list[int]:
    """Look for items that ask nearly the same, and note each with the other; ids of the others that this changed.

    Nothing is lost between two that do so at once: what others noted here since this began stays.
    """
    key, before = item.section_hashes["question"], {number for number, _ in item.twins}
    found = _twins_of(item)
    with transaction.atomic():
        numbers = {item.number, *before, *found}
        rows = Item.objects.select_for_update().filter(benchmark=item.benchmark_id, number__in=numbers).order_by("pk")
        others = {row.number: row for row in rows.only("number", "twins", "twins_hash", "section_hashes")}
        mine = others.pop(item.number)
        if mine.section_hashes["question"] != key:
            return []  # changed meanwhile: the check of that text follows
        item.twins_hash = key
        told = {number: percent for number, percent in mine.twins if number not in before}
        item.twins = _likest(told | found)
        Item.objects.filter(pk=item.pk).update(twins=item.twins, twins_hash=key)
        changed = []
        for number, other in others.items():
            twins = {n: percent for n, percent in other.twins if n != item.number}
            if number in found:
                twins[item.number] = found[number]
            if (now := _likest(twins)) != other.twins:
                # Without its checked hash the sweep comes to it, whatever becomes of this process.
                Item.objects.filter(pk=other.pk).update(twins=now, checked_hash="")
                changed.append(other.pk)
    return changed


def _twins_of(item: Item) -> dict[int, int]:
    """Number -> percent of the items of the benchmark whose questions are nearly this one's."""
    mine = ItemQuestion.objects.filter(item=item).first()
    if mine is None:
        return {}
    least = Thresholds().near_duplicate_percent
    near = ItemQuestion.objects.filter(benchmark=item.benchmark_id, length__range=lengths_alike(mine.length, least))
    rows = list(near.exclude(item=item).values_list("item_id", "folded"))
    alike = {rows[n][0]: percent for n, percent in nearly_same(mine.folded, [r[1] for r in rows], least, TWINS)}
    return {number: alike[pk] for pk, number in Item.objects.filter(pk__in=alike).values_list("pk", "number")}


def _likest(twins: dict[int, int]) -> list[list[int]]:
    return [[number, percent] for number, percent in sorted(twins.items(), key=lambda t: (-t[1], t[0]))[:TWINS]]


def unchecked_items(limit: int) -> list[int]:
    return list(Item.objects.exclude(checked_hash=F("document_hash")).values_list("pk", flat=True)[:limit])


def sweep_presences() -> int:
    """Delete what says that somebody was here a while ago; returns how many."""
    return Presence.objects.filter(seen__lt=timezone.now() - dt.timedelta(minutes=5)).delete()[0]
