"""Our own format: one item document per line, pictures in `images/` beside the file; and what may be published of it.

PURE: imports no Django and no other app.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from typing import Any

from annotation.document import Document, DocumentError, Image, Problem, canonical_bytes, read_document
from annotation.interchange.files import LocalImage, Reading


def read_row(row: Mapping[str, Any], reading: Reading) -> tuple[Document, list[LocalImage], list[str]]:
    """The document of a row with the pictures it needs. A field `benchmark` beside the document's is left out.

    Raises DocumentError with every problem of the row.
    """
    document = read_document({name: value for name, value in row.items() if name != "benchmark"})
    return take_pictures(document, reading)


def take_pictures(document: Document, reading: Reading) -> tuple[Document, list[LocalImage], list[str]]:
    """The document with its pictures found beside the file; name, hash, type and size are filled in if it has no hash.

    Raises DocumentError: a picture that is missing, differs from its hash, or is none.
    """
    problems: list[Problem] = []
    taken: list[LocalImage] = []
    warnings: list[str] = []
    images: list[Image] = []
    for position, image in enumerate(document.images):
        images.append(image)
        if not image.file:
            continue
        path = f"images[{position}].file"
        if reading.images.folder is None and image.sha256:
            warnings.append(f"{path}: {image.file} did not come with the file; it must be in store already")
            taken.append(LocalImage(image.key, image.file, image.sha256))
            continue
        try:
            picture = reading.images.take(image.file, image.key)
        except ValueError as error:
            problems.append(Problem(path, str(error)))
            continue
        if not image.sha256:
            images[-1] = replace(
                image,
                file=picture.file,
                sha256=picture.sha256,
                media_type=picture.media_type,
                width=picture.width,
                height=picture.height,
            )
        elif image.sha256 != picture.sha256:
            message = f"{image.file} is not the picture this row was written with (its SHA-256 differs); restore it"
            problems.append(Problem(path, message))
        taken.append(picture)
    if problems:
        raise DocumentError(problems)
    return (
        (document if tuple(images) == document.images else replace(document, images=tuple(images))),
        taken,
        warnings,
    )


def plain(document: Document | Mapping[str, Any]) -> Mapping[str, Any]:
    """The document as plain JSON values."""
    return document.to_json() if isinstance(document, Document) else document


def write_full(documents: Iterable[Document | Mapping[str, Any]]) -> Iterator[bytes]:
    """One line of canonical JSON per document."""
    for document in documents:
        yield canonical_bytes(plain(document)) + b"\n"


def write_public(documents: Iterable[Document | Mapping[str, Any]]) -> Iterator[bytes]:
    """One line per document with what a system may see of it and how it is filed; nothing that leads to the answer."""
    shown = ("id", "language", "question", "category", "template", "operation_tags")
    for document in map(plain, documents):
        row = {name: document[name] for name in shown}
        row["images"] = [
            {name: image[name] for name in ("file", "media_type", "width", "height")}
            for image in document["images"]
            if image["role"] == "question"
        ]
        yield canonical_bytes(row) + b"\n"


def image_files(document: Document | Mapping[str, Any], *, public: bool = False) -> Iterator[tuple[str, str]]:
    """(path beside the export, SHA-256) of each stored picture that an export of the document must bring along."""
    for image in plain(document)["images"]:
        if image["file"] and (image["role"] == "question" or not public):
            yield image["file"], image["sha256"]
