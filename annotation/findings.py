"""From a document to its findings as stored and as shown. Reads only; the checks themselves are pure."""

from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

from django.utils.translation import gettext as _

from .checks import CheckContext, Finding, Thresholds, run_checks
from .document import Document
from .models import Benchmark, Item, StoredImage


def thresholds_of(benchmark: Benchmark) -> Thresholds:
    return Thresholds(
        min_steps=benchmark.min_steps,
        min_nodes=benchmark.min_nodes,
        max_answer_words=benchmark.max_answer_words,
        wikipedia_percent=benchmark.wikipedia_percent,
    )


def find(document: Document, benchmark: Benchmark, item_pk: int = 0) -> list[Finding]:
    """Run every check on a document of a benchmark."""
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
    """What is stored of a finding: its template and figures (see `message_of`) and the English message."""
    return {
        **asdict(finding),
        "message": finding.message,
        "subject": finding.subject,
        "fingerprint": finding.fingerprint(document),
    }


def message_of(finding: Mapping[str, Any]) -> str:
    """A stored finding's sentence in the reader's language; in English where a translation does not fit the figures."""
    try:
        return _(finding["template"]).format(**finding["params"])
    except (LookupError, ValueError):
        return str(finding["message"])
