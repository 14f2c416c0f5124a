"""Reads of errata: the list, one with the element it is about, what stands against an item. Writes nothing."""

from dataclasses import dataclass
from typing import Any

from django.db.models import Case, Count, F, IntegerField, Q, QuerySet, When
from django.http import Http404

from annotation.anchors import Place, find_place
from annotation.benchmarks import Benchmark, Item
from annotation.gates import is_blind_to

from .models import Errata, Release
from .permissions import require_not_blind

Status = Errata.Status
#: Words on an item that users of a benchmark must know of, and what a release leaves out or explains.
AGAINST = (Status.OPEN, Status.UNCERTAIN, Status.REVISED, Status.RETIRED)


def _heard(rows: QuerySet[Errata], viewer: Any) -> QuerySet[Errata]:
    """Without what others hold against items that the viewer audits blind."""
    return rows.filter(Q(author=viewer) | ~is_blind_to(viewer, "item"))


def errata_of(benchmark: Benchmark, viewer: Any) -> QuerySet[Errata]:
    """A benchmark's errata that one may see, open ones first, each part newest first; without documents.

    `revision_number` is that of the flagged revision.
    """
    order = Case(When(status=Status.OPEN, then=0), default=1, output_field=IntegerField())
    rows = _heard(Errata.objects.filter(item__benchmark=benchmark), viewer)
    rows = rows.select_related("item", "author", "decided_by").defer("item__document", "item__findings", "evidence")
    return rows.annotate(revision_number=F("revision__number"), benchmark_slug=F("item__benchmark__slug")).order_by(
        order, "-pk"
    )


def errata_since(release: Release, viewer: Any) -> QuerySet[Errata]:
    """What core decided against items after the release was cut: what the next release changes for, and why."""
    decided = errata_of(release.benchmark, viewer).filter(decided__gt=release.created, status__in=AGAINST)
    return decided.exclude(status=Status.OPEN).order_by("decided", "pk")


def errata_counts(benchmark: Benchmark, viewer: Any) -> dict[str, int]:
    """How many of the errata that one may see have each status; every status is there."""
    rows = (
        _heard(Errata.objects.filter(item__benchmark=benchmark), viewer)
        .order_by()
        .values_list("status")
        .annotate(n=Count("pk"))
    )
    found = dict(rows)
    return {status.value: found.get(status.value, 0) for status in Status}


def errata_on(item: Item, viewer: Any) -> QuerySet[Errata]:
    """The errata of an item that one may see, the newest first; each row also has `revision_number`."""
    rows = _heard(Errata.objects.filter(item=item), viewer).select_related("author", "decided_by").defer("evidence")
    return rows.annotate(revision_number=F("revision__number"))


def get_erratum(benchmark: Benchmark, pk: int, viewer: Any) -> Errata:
    """Raises Http404 when the benchmark has no such erratum, and NotAllowed when the viewer is to judge without it."""
    rows = Errata.objects.select_related("item__benchmark", "item__author", "author", "decided_by", "revision")
    row = rows.filter(item__benchmark=benchmark, pk=pk).defer("item__document", "item__findings").first()
    if row is None:
        raise Http404
    if row.author_id != viewer.pk:
        require_not_blind(viewer, row.item)
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
