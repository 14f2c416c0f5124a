"""Reads of the rules that admins set aside: of one item. Writes nothing."""

from django.db.models import F, QuerySet

from annotation.benchmarks import Item

from .models import Override
from .text import rule_name
from .workflow import Rule


def override_rows(item: Item) -> QuerySet[Override]:
    """Rules set aside for the item, the oldest first; each also has `revision_number`."""
    rows = Override.objects.filter(item=item).select_related("person", "by")
    return rows.annotate(revision_number=F("revision__number"))


def overrides_of(item: Item) -> list[Override]:
    """The same, each also with `words`."""
    found = list(override_rows(item))
    for row in found:
        row.words = rule_name(Rule(row.rule))  # type: ignore[attr-defined]
    return found
