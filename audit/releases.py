"""Releases: the face of this app for evaluation."""

from collections.abc import Iterator
from typing import Any

from django.http import Http404

from annotation.benchmarks import Benchmark
from annotation.document import Document, read_document

from .models import Release, ReleaseItem

__all__ = ["Release", "ReleaseItem", "get_release", "numbered_documents", "read_release", "release_documents"]


def get_release(benchmark: Benchmark, name: str) -> Release:
    """Raises Http404 when the benchmark has no such release."""
    release = Release.objects.filter(benchmark=benchmark, name=name).select_related("created_by").first()
    if release is None:
        raise Http404
    return release


def release_documents(release: Release) -> Iterator[dict[str, Any]]:
    """The frozen documents as plain JSON, in order, without holding them all."""
    rows = ReleaseItem.objects.filter(release=release).order_by("position")
    yield from rows.values_list("document", flat=True).iterator(chunk_size=200)


def numbered_documents(release: Release) -> Iterator[tuple[int, dict[str, Any]]]:
    """The items' numbers with their documents as plain JSON, in order, without holding them all."""
    rows = ReleaseItem.objects.filter(release=release).order_by("position")
    yield from rows.values_list("item__number", "document").iterator(chunk_size=200)


def read_release(release: Release) -> Iterator[tuple[ReleaseItem, Document]]:
    """The release's rows with their documents, in order."""
    for row in ReleaseItem.objects.filter(release=release).order_by("position").iterator(chunk_size=200):
        yield row, read_document(row.document)
