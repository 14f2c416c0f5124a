"""Reads of errata: the list, one with the element it is about, what stands against an item. Writes nothing."""

from dataclasses import dataclass
from typing import Any

from django.db.models import Case, Count, F, IntegerField, QuerySet, When
from django.http import Http404

from annotation.anchors import Place, find_place
from annotation.benchmarks import Benchmark, Item

from .models import Errata, Release

Status = Errata.Status
#: Words on an item that users of a benchmark must know of, and what a release leaves out or explains.
AGAINST = (Status.OPEN, Status.UNCERTAIN, Status.REVISED, Status.RETIRED)


def errata_of(benchmark: Benchmark) -> QuerySet[Errata]:
    """A benchmark's errata, open ones first, each part newest first; without documents. `revision_number` is theirs."""
    order = Case(When(status=Status.OPEN, then=0), default=1, output_field=IntegerField())
    rows = Errata.objects.filter(item__benchmark=benchmark).select_related("item", "author", "decided_by")
    rows = rows.defer("item__document", "item__findings", "evidence")
    return rows.annotate(revision_number=F("revision__number"), benchmark_slug=F("item__benchmark__slug")).order_by(
        order, "-pk"
    )


def errata_since(release: Release) -> QuerySet[Errata]:
    """What core decided against items after the release was cut: what the next release changes for, and why."""
    decided = errata_of(release.benchmark).filter(decided__gt=release.created, status__in=AGAINST)
    return decided.exclude(status=Status.OPEN).order_by("decided", "pk")


def errata_counts(benchmark: Benchmark) -> dict[str, int]:
    """How many errata have each status; every status is there."""
    rows = Errata.objects.filter(item__benchmark=benchmark).order_by().values_list("status").annotate(n=Count("pk"))
    found = dict(rows)
    return {status.value: found.get(status.value, 0) for status in Status}


def errata_on(item: Item) -> QuerySet[Errata]:
    """All errata of an item, the newest first; each row also has `revision_number`."""
    rows = Errata.objects.filter(item=item).select_related("author", "decided_by").defer("evidence")
    return rows.annotate(revision_number=F("revision__number"))


def get_erratum(benchmark: Benchmark, pk: int) -> Errata:
    """Raises Http404 when the benchmark has no such erratum."""
    rows = Errata.objects.select_related("item__benchmark", "item__author", "author", "decided_by", "revision")
    row = rows.filter(item__benchmark=benchmark, pk=pk).defer("item__document", "item__findings").first()
    if row is None:
        raise Http404
    return row


@dataclass(frozen=True, slots=True)
class Flagged:
    """What an erratum is about, in the revision that was flagged."""

    question: str
    answer: str
    place: Place | None  # of the step or source; None for the question and the answer


def flagged_part(erratum: Errata) -> Flagged:
    document: dict[str, Any] = erratum.revision.document
    place = find_place(document, erratum.anchor) if erratum.anchor else None
    return Flagged(document["question"], document["answer"], place)


def releases_with(erratum: Errata) -> list[str]:
    """Names of the releases that hold the flagged revision."""
    found = Release.objects.filter(release_items__revision=erratum.revision_id).order_by("pk")
    return list(found.values_list("name", flat=True))
