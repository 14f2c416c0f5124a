"""From a document to its findings as stored and as shown. Reads only; the checks themselves are pure."""

from collections.abc import Iterable, Mapping
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


def find(document: Document, benchmark: Benchmark, twins: Iterable[tuple[int, int]] = ()) -> list[Finding]:
    """Run every check on a document of a benchmark. twins: as items hold them."""
    digests = [image.sha256 for image in document.images if image.sha256]
    images = StoredImage.objects.filter(benchmark=benchmark, sha256__in=digests, tombstone="")
    stored = images.values_list("sha256", flat=True)
    context = CheckContext(
        document=document,
        thresholds=thresholds_of(benchmark),
        preset=benchmark.preset,
        stored_images=frozenset(stored),
        twins=[(f"#{number}", percent) for number, percent in twins],
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


def aged(findings: list[dict[str, Any]], item: Item) -> tuple[list[dict[str, Any]], int]:
    """New findings of an item, each with the revision it showed in first; and how many errors and warnings the present
    revision took away. What the first check finds was there from the first revision.
    """
    first = {f["subject"]: f.get("since", 1) for f in item.findings}
    default = item.revision_number if item.checked_revision else 1
    dated = [f | {"since": first.get(f["subject"], default)} for f in findings]
    there = {f["subject"] for f in findings}
    gone = sum(f["level"] in ("error", "warning") and f["subject"] not in there for f in item.findings)
    return dated, gone + (item.mended if item.checked_revision == item.revision_number else 0)


def message_of(finding: Mapping[str, Any]) -> str:
    """A stored finding's sentence in the reader's language; in English where a translation does not fit the figures."""
    try:
        return _(finding["template"]).format(**finding["params"])
    except (LookupError, ValueError):
        return str(finding["message"])
