"""Reads of an item's revisions: by person and day, and who wrote an element. Opens no write transaction."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Any

from django.db.models import QuerySet
from django.utils import timezone

from .history import Lineage, lineages
from .models import Item, Revision


@dataclass(frozen=True)
class Written:
    """Who wrote an element: revisions without their documents. changed: oldest first; returned: None or where it came
    back as it once was."""

    key: str
    created: Revision
    changed: Sequence[Revision]
    returned: Revision | None


def revisions_of(item: Item, *, section: str = "", before: int | None = None) -> QuerySet[Revision]:
    """Newest first, without the documents. section: those that edited it, or may have with the whole item."""
    revisions = item.revisions.select_related("author").defer("document").order_by("-number")
    if section:
        revisions = revisions.filter(section__in=(section, ""))
    return revisions if before is None else revisions.filter(number__lt=before)


def days_of(revisions: Sequence[Revision]) -> list[tuple[Any, Any, list[Revision]]]:
    """(person, day, revisions): neighbours of one person on one day together."""
    groups = groupby(revisions, key=lambda r: (r.author_id, timezone.localdate(r.created)))
    found = [(day, list(rows)) for (_author, day), rows in groups]
    return [(rows[0].author, day, rows) for day, rows in found]


def lineage_of(item: Item, key: str) -> Lineage | None:
    """From all revisions, read one at a time; None for a key that the item does not have now."""
    documents = item.revisions.order_by("number").values_list("number", "document")
    return lineages(documents.iterator(chunk_size=20)).get(key)


def written_by(item: Item, key: str) -> Written | None:
    """Who wrote an element of the present document; None where there is none of that key."""
    lineage = lineage_of(item, key)
    if lineage is None:
        return None
    numbers = {lineage.created, *lineage.changed, lineage.returned}
    found = {r.number: r for r in revisions_of(item).filter(number__in=numbers)}
    changed = [found[number] for number in lineage.changed]
    return Written(key, found[lineage.created], changed, found.get(lineage.returned))
