"""Worker side of items, each step safe to run twice: the quality checks of the present document."""

from dataclasses import asdict
from typing import Any

from django.db.models import F

from .checks import CheckContext, Finding, Thresholds, run_checks
from .document import Document, read_document
from .models import Benchmark, Item, StoredImage


def thresholds_of(benchmark: Benchmark) -> Thresholds:
    return Thresholds(
        min_steps=benchmark.min_steps,
        min_nodes=benchmark.min_nodes,
        max_answer_words=benchmark.max_answer_words,
        wikipedia_percent=benchmark.wikipedia_percent,
    )


def find(document: Document, benchmark: Benchmark, item_pk: int = 0) -> list[Finding]:
    """Run every check on a document of a benchmark. Reads, writes nothing."""
    digests = [image.sha256 for image in document.images if image.sha256]
    stored = StoredImage.objects.filter(benchmark=benchmark, sha256__in=digests).values_list("sha256", flat=True)
    others = Item.objects.filter(benchmark=benchmark).exclude(pk=item_pk).exclude(question="")
    context = CheckContext(
        document=document,
        thresholds=thresholds_of(benchmark),
        preset=benchmark.preset,
        stored_images=frozenset(stored),
        other_questions=[(f"#{number}", text) for number, text in others.values_list("number", "question").iterator()],
        categories=frozenset(benchmark.categories.values_list("slug", flat=True)),
        operation_tags=frozenset(benchmark.operation_tags.values_list("slug", flat=True)),
    )
    return run_checks(context)


def finding_json(finding: Finding, document: Document) -> dict[str, Any]:
    """What is stored of a finding: its template and figures (pages translate them) and the English message."""
    return {
        **asdict(finding),
        "message": finding.message,
        "subject": finding.subject,
        "fingerprint": finding.fingerprint(document),
    }


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
