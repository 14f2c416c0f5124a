"""Worker side of items, each step safe to run twice: the quality checks of the present document."""

from django.db.models import F

from .document import read_document
from .findings import find, finding_json
from .models import Item


def check_item(pk: int) -> None:
    """Store the findings of an item's present document, if they are not there yet."""
    item = Item.objects.select_related("benchmark").filter(pk=pk).exclude(checked_hash=F("document_hash")).first()
    if item is None:
        return
    document = read_document(item.document)
    findings = [finding_json(f, document) for f in find(document, item.benchmark, item.pk)]
    # Only where the document is still the one that was checked.
    Item.objects.filter(pk=pk, document_hash=item.document_hash).update(
        checked_hash=item.document_hash,
        findings=findings,
        errors=sum(f["level"] == "error" for f in findings),
        warnings=sum(f["level"] == "warning" for f in findings),
    )


def unchecked_items(limit: int) -> list[int]:
    return list(Item.objects.exclude(checked_hash=F("document_hash")).values_list("pk", flat=True)[:limit])
