"""Exports of a release: its lines, its pictures, what is in it; streamed, or as files.

Everything is written piece by piece, and the same release gives the same bytes every time: no moment of the export is
in it. A picture that was taken down leaves a note in its place.
"""

import hashlib
import json
import os
import zipfile
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, Final

from django.db.models import QuerySet, TextField
from django.db.models.functions import Cast
from django.http import HttpResponse, StreamingHttpResponse
from django.utils.translation import gettext as _

from annotation.document import canonical_bytes
from annotation.interchange.lhdr import is_named_after_hash, public_row
from annotation.interchange.mr_lhdr import to_row
from annotation.models import StoredImage
from lhdr_site.shared.errors import Invalid
from lhdr_site.shared.streams import bytes_of, in_pieces, zipped

from .models import Redaction, Release, ReleaseImage, ReleaseItem
from .splits import HELD_OUT, SPLITS

VARIANTS: Final = ("full", "public", "mr-lhdr")
# Fields of an Mr-LHDR row that tell nothing of the answer.
_ASKED: Final = ("id", "language", "question", "images", "category", "type", "canary")


@dataclass(frozen=True)
class Export:
    """What of a release is written, and how. `split` is "" for all; `answers`: also those of held-out items."""

    release: Release
    variant: str
    split: str = ""
    answers: bool = False

    def __post_init__(self) -> None:
        """Raises Invalid for a variant or a split that is not there."""
        if self.variant not in VARIANTS:
            text = _("There is no variant “%(variant)s”; use one of %(known)s.")
            text = text % {"variant": self.variant[:40], "known": ", ".join(VARIANTS)}
            raise Invalid.at("variant", text, code="unknown_variant")
        if self.split and (self.split not in SPLITS or not self.release.splits):
            known = ", ".join(SPLITS) if self.release.splits else _("none, it was not split")
            text = _("The release has no split “%(split)s”; it has: %(known)s.")
            raise Invalid.at("split", text % {"split": self.split[:40], "known": known}, code="unknown_split")

    @property
    def name(self) -> str:
        parts = [self.release.benchmark.slug, self.release.name, self.split.replace("_", "-"), self.variant]
        return "-".join(part for part in parts if part)

    @property
    def rows(self) -> QuerySet[ReleaseItem]:
        rows = ReleaseItem.objects.filter(release=self.release).order_by("position")
        return rows.filter(split=self.split) if self.split else rows

    def hides(self, split: str) -> bool:
        """Whether the answer of an item of that split is left out."""
        return split == HELD_OUT and not self.answers and self.variant != "public"

    def lines(self) -> Iterator[bytes]:
        """One line per item. `public` tells nothing that leads to an answer; `mr-lhdr` is under the canary's cipher."""
        canary = self.release.canary
        text = Cast("document", TextField())  # the column's own: what is canonical already need not be read
        for raw, digest, split in self.rows.values_list(text, "document_hash", "split").iterator(chunk_size=200):
            if self.variant == "full" and not self.hides(split):
                data = raw.encode()
                if hashlib.sha256(data).hexdigest() != digest:
                    data = canonical_bytes(json.loads(raw))
                yield data + b"\n"
            elif self.variant == "mr-lhdr":
                row = to_row(json.loads(raw), canary)
                if self.hides(split):
                    row = {name: row[name] for name in _ASKED if name in row}
                yield canonical_bytes(row) + b"\n"
            else:
                yield canonical_bytes(public_row(json.loads(raw))) + b"\n"

    @cached_property
    def images(self) -> list["Picture"]:
        """Each picture that belongs beside the lines, once, by its path.

        Raises Invalid for a name that could lead anywhere.
        """
        rows = ReleaseImage.objects.filter(release_item__in=self.rows.values("pk"))
        if self.variant == "public":
            rows = rows.filter(is_shown=True)
        elif self.release.splits and not self.answers:
            rows = rows.exclude(release_item__split=HELD_OUT, is_shown=False)
        wanted = dict(rows.order_by().values_list("file", "sha256").distinct())
        if bad := sorted(file for file, sha256 in wanted.items() if not is_named_after_hash(file, sha256)):
            text = _("A picture is named “%(file)s”; its name must be images/<sha256>.<ending>.")
            raise Invalid(text % {"file": bad[0][:80]}, code="bad_image_path")
        benchmark = self.release.benchmark
        stored = {image.sha256: image for image in StoredImage.objects.filter(benchmark=benchmark)}
        gone = {row.sha256: row for row in Redaction.objects.filter(benchmark=benchmark)}
        return [Picture(f, sha256, stored.get(sha256), gone.get(sha256)) for f, sha256 in sorted(wanted.items())]

    def require_images(self) -> list["Picture"]:
        """`images`. Raises Invalid, naming them, for pictures that were not taken down and are not in store."""
        if missing := [p.file for p in self.images if p.stored is None and p.redaction is None]:
            raise Invalid(
                _("Images of this release are not in store: %(paths)s. Export it without images, or store them first.")
                % {"paths": ", ".join(missing[:5]) + (" …" if len(missing) > 5 else "")},
                code="images_missing",
                images=missing,
            )
        return self.images

    def manifest(self) -> dict[str, Any]:
        """What the export is: facts of the release, hash and split of each item, and each picture with its hash."""
        release = self.release
        rows = self.rows.values_list("uid", "document_hash", "split", "item__number", "revision__number")
        return {
            "benchmark": release.benchmark.slug,
            "release": release.name,
            "version": release.version,
            "hash": release.hash,
            "canary": release.canary,
            "cut": release.created.isoformat(),
            "note": release.note,
            "audited": release.audited,
            "quality": release.quality,
            "license_note": release.license_note,
            "splits": release.splits,
            "statistics": release.statistics,
            "variant": self.variant,
            "split": self.split,
            "answers_of_held_out": self.answers or not release.splits,
            "items": [
                {"id": uid, "hash": digest, "number": number, "revision": revision}
                | ({"split": split} if split else {})
                for uid, digest, split, number, revision in rows.iterator(chunk_size=2000)
            ],
            "images": [picture.entry() for picture in self.images],
        }

    def manifest_bytes(self) -> bytes:
        return json.dumps(self.manifest(), ensure_ascii=False, indent=1, sort_keys=True).encode() + b"\n"


@dataclass(frozen=True)
class Picture:
    """One picture of an export: stored, taken down, or not here."""

    file: str
    sha256: str
    stored: StoredImage | None
    redaction: Redaction | None

    @property
    def path(self) -> str:
        """Where it is written; a note about one that was taken down has a name of its own."""
        return f"images/{self.sha256}.taken-down.txt" if self.redaction else self.file

    def entry(self) -> dict[str, Any]:
        """Its line in the manifest."""
        if self.redaction is None:
            known = {"file": self.file, "sha256": self.sha256}
            return known | ({} if self.stored else {"missing": True})
        about = {"on": self.redaction.created.date().isoformat(), "reason": self.redaction.reason}
        return {"file": self.file, "sha256": self.sha256, "taken_down": about, "note": self.path}

    def chunks(self) -> Iterator[bytes]:
        if self.redaction is not None:
            day = self.redaction.created.date().isoformat()
            text = f"This picture was taken down on {day}.\nSHA-256: {self.sha256}\nReason: {self.redaction.reason}\n"
            yield text.encode()
            return
        assert self.stored is not None
        yield from bytes_of(self.stored)


# --- streamed -----------------------------------------------------------------------------------------------------


def zip_pieces(export: Export) -> Iterator[bytes]:
    """The export as `items.jsonl`, `images/` and `manifest.json`, as the bytes of a ZIP file, a piece at a time.

    Raises as `require_images` does, before the first piece; reads no document before it.
    """
    images = export.require_images()
    moment = export.release.created.timetuple()[:6]

    def members() -> Iterator[tuple[zipfile.ZipInfo, Iterable[bytes]]]:
        for name, chunks in (("items.jsonl", export.lines()), ("manifest.json", _manifest(export))):
            info = zipfile.ZipInfo(name, moment)
            info.compress_type = zipfile.ZIP_DEFLATED
            yield info, chunks
        for picture in images:
            yield zipfile.ZipInfo(picture.path, moment), picture.chunks()

    return zipped(members())


def _manifest(export: Export) -> Iterator[bytes]:
    yield export.manifest_bytes()


def response_for(release: Release, query: Mapping[str, Any]) -> StreamingHttpResponse | HttpResponse:
    """The download that a query asks for: variant, split, answers=1, and images=1 (a ZIP) or manifest=1."""
    export = Export(
        release, query.get("variant", ""), split=query.get("split", ""), answers=query.get("answers") == "1"
    )
    headers = {"Cache-Control": "private, no-store"}
    if query.get("manifest") == "1":
        headers["Content-Disposition"] = f'attachment; filename="{export.name}.manifest.json"'
        return HttpResponse(export.manifest_bytes(), content_type="application/json", headers=headers)
    if query.get("images") == "1":
        body, kind, ending = zip_pieces(export), "application/zip", "zip"
    else:
        body, kind, ending = in_pieces(export.lines()), "application/x-ndjson", "jsonl"
    headers["Content-Disposition"] = f'attachment; filename="{export.name}.{ending}"'
    return StreamingHttpResponse(body, content_type=kind, headers=headers)


# --- files --------------------------------------------------------------------------------------------------------


def write_export(export: Export, out: Path) -> int:
    """Write the export to a file with `images/` and its manifest beside it; returns the number of images.

    All are written under another name first, so that a file that is there is a whole one. A picture that was taken down
    and is still there from an earlier export is removed. Raises Invalid and OSError.
    """
    images = export.require_images()
    out.parent.mkdir(parents=True, exist_ok=True)
    if images:
        (out.parent / "images").mkdir(exist_ok=True)
    for picture in images:
        _write_whole(out.parent / picture.path, picture.chunks())
        if picture.redaction is not None:
            (out.parent / picture.file).unlink(missing_ok=True)
    _write_whole(out, export.lines())
    _write_whole(out.with_suffix(".manifest.json"), _manifest(export))
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
