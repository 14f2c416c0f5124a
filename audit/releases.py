"""Releases: the face of this app for evaluation, and the exports."""

import os
import zipfile
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, Final

from django.http import Http404, StreamingHttpResponse
from django.utils.translation import gettext as _

from annotation.benchmarks import Benchmark
from annotation.document import Document, read_document
from annotation.interchange.lhdr import image_files, write_full, write_public
from annotation.interchange.mr_lhdr import write_mr_lhdr
from annotation.models import StoredImage
from lhdr_site.shared.errors import Invalid

from .models import Release, ReleaseItem

__all__ = [
    "VARIANTS",
    "Release",
    "ReleaseItem",
    "export_lines",
    "export_name",
    "export_response",
    "export_zip",
    "get_release",
    "read_release",
    "release_documents",
    "require_variant",
    "stored_images",
    "write_export",
]

VARIANTS: Final = ("full", "public", "mr-lhdr")
CHUNK: Final = 256 * 1024


def get_release(benchmark: Benchmark, name: str) -> Release:
    """Raises Http404 when the benchmark has no such release."""
    release = Release.objects.filter(benchmark=benchmark, name=name).first()
    if release is None:
        raise Http404
    return release


def release_documents(release: Release) -> Iterator[dict[str, Any]]:
    """The frozen documents as plain JSON, in order, without holding them all."""
    rows = ReleaseItem.objects.filter(release=release).order_by("position")
    yield from rows.values_list("document", flat=True).iterator(chunk_size=200)


def read_release(release: Release) -> Iterator[tuple[ReleaseItem, Document]]:
    """The release's rows with their documents, in order."""
    for row in ReleaseItem.objects.filter(release=release).order_by("position").iterator(chunk_size=200):
        yield row, read_document(row.document)


# --- exports ------------------------------------------------------------------------------------------------------


def require_variant(variant: str) -> str:
    if variant not in VARIANTS:
        text = _("There is no variant “%(variant)s”; use one of %(known)s.")
        text = text % {"variant": variant[:40], "known": ", ".join(VARIANTS)}
        raise Invalid.at("variant", text, code="unknown_variant")
    return variant


def export_lines(release: Release, variant: str) -> Iterator[bytes]:
    """One line per item. `public` tells nothing that leads to an answer; `mr-lhdr` is encrypted with the canary."""
    documents = release_documents(release)
    if variant == "public":
        return write_public(documents)
    return write_full(documents) if variant == "full" else write_mr_lhdr(documents, release.canary)


def export_name(release: Release, variant: str) -> str:
    return f"{release.benchmark.slug}-{release.name}-{variant}"


def stored_images(release: Release, variant: str) -> list[tuple[str, StoredImage]]:
    """(path beside the export, stored image) of each picture that belongs to an export, once each.

    Raises Invalid, naming them, when a document refers to pictures that are not in store.
    """
    wanted: dict[str, str] = {}
    for document in release_documents(release):
        try:
            wanted.update(image_files(document, public=variant == "public"))
        except ValueError as error:
            raise Invalid(str(error), code="bad_image_path") from error
    stored = {image.sha256: image for image in StoredImage.objects.filter(benchmark=release.benchmark)}
    if missing := sorted(path for path, sha256 in wanted.items() if sha256 not in stored):
        raise Invalid(
            _("Images of this release are not in store: %(paths)s. Export it without images, or store them first.")
            % {"paths": ", ".join(missing[:5]) + (" …" if len(missing) > 5 else "")},
            code="images_missing",
            images=missing,
        )
    return [(path, stored[sha256]) for path, sha256 in sorted(wanted.items())]


def export_zip(release: Release, variant: str) -> Iterator[bytes]:
    """The export as `items.jsonl` with `images/`, as the bytes of a ZIP file, a piece at a time.

    Raises as `stored_images` does, before the first piece.
    """
    images = stored_images(release, variant)
    moment = release.created.timetuple()[:6]

    def members() -> Iterator[tuple[zipfile.ZipInfo, Iterable[bytes]]]:
        items = zipfile.ZipInfo("items.jsonl", moment)
        items.compress_type = zipfile.ZIP_DEFLATED
        yield items, export_lines(release, variant)
        for path, image in images:
            yield zipfile.ZipInfo(path, moment), _bytes_of(image)

    return _zipped(members())


def export_response(release: Release, variant: str, *, images: bool) -> StreamingHttpResponse:
    """The export as a download: JSONL, or with images a ZIP."""
    if images:
        body, kind, ending = export_zip(release, variant), "application/zip", "zip"
    else:
        body, kind, ending = export_lines(release, variant), "application/x-ndjson", "jsonl"
    file = f"{export_name(release, variant)}.{ending}"
    return StreamingHttpResponse(
        body,
        content_type=kind,
        headers={"Content-Disposition": f'attachment; filename="{file}"', "Cache-Control": "private, no-store"},
    )


def _zipped(members: Iterable[tuple[zipfile.ZipInfo, Iterable[bytes]]]) -> Iterator[bytes]:
    sink = _Sink()
    with zipfile.ZipFile(sink, "w") as archive:  # type: ignore[call-overload]
        for info, chunks in members:
            with archive.open(info, "w", force_zip64=True) as member:
                for chunk in chunks:
                    member.write(chunk)
                    if sink.size >= CHUNK:
                        yield sink.take()
    yield sink.take()


class _Sink:
    """What a ZipFile writes to, without a position to seek: taken away as it grows."""

    def __init__(self) -> None:
        self.pieces: list[bytes] = []
        self.size = 0

    def write(self, data: bytes) -> int:
        self.pieces.append(bytes(data))
        self.size += len(data)
        return len(data)

    def flush(self) -> None:
        pass

    def take(self) -> bytes:
        taken = b"".join(self.pieces)
        self.pieces, self.size = [], 0
        return taken


def _bytes_of(image: StoredImage) -> Iterator[bytes]:
    with image.file.open("rb") as file:
        yield from file.chunks(CHUNK)


def write_export(release: Release, variant: str, out: Path) -> int:
    """Write the export to a file with `images/` beside it; returns the number of images.

    Both are written under another name first, so that a file that is there is a whole one. Raises Invalid and OSError.
    """
    images = stored_images(release, variant)
    out.parent.mkdir(parents=True, exist_ok=True)
    if images:
        (out.parent / "images").mkdir(exist_ok=True)
    for path, image in images:
        _write_whole(out.parent / path, _bytes_of(image))
    _write_whole(out, export_lines(release, variant))
    return len(images)


def _write_whole(path: Path, chunks: Iterable[bytes]) -> None:
    partial = path.with_name(f".{path.name}.{os.getpid()}.part")
    try:
        with open(partial, "wb") as file:
            file.writelines(chunks)
            file.flush()
            os.fsync(file.fileno())
        partial.replace(path)
    finally:
        partial.unlink(missing_ok=True)
