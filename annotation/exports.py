"""Some items of a benchmark as JSON Lines, or as a ZIP file with their pictures, as bytes a piece at a time."""

import zipfile
from collections.abc import Iterable, Iterator
from typing import Any

from django.db.models import QuerySet
from django.utils import timezone

from lhdr_site.shared.streams import bytes_of, zipped

from .interchange.lhdr import image_files, write_full
from .models import Benchmark, Item, StoredImage


def export_chunks(benchmark: Benchmark, items: QuerySet[Item], *, images: bool) -> Iterator[bytes]:
    """What an import reads again. Pictures that are not in store are left out; a check of their items says so."""
    moment = timezone.now().timetuple()[:6]

    def documents() -> Iterator[dict[str, Any]]:
        yield from items.values_list("document", flat=True).iterator(chunk_size=200)

    def members() -> Iterator[tuple[zipfile.ZipInfo, Iterable[bytes]]]:
        wanted: dict[str, str] = {}

        def noted() -> Iterator[dict[str, Any]]:
            for document in documents():
                wanted.update(image_files(document))
                yield document

        info = zipfile.ZipInfo("items.jsonl", moment)
        info.compress_type = zipfile.ZIP_DEFLATED
        yield info, write_full(noted())
        stored = StoredImage.objects.filter(benchmark=benchmark, tombstone="").only("sha256", "file")
        files = {image.sha256: image for image in stored.iterator()}
        for path, sha256 in sorted(wanted.items()):
            if sha256 in files:
                yield zipfile.ZipInfo(path, moment), bytes_of(files[sha256])

    return zipped(members()) if images else write_full(documents())
