"""Our own format: one item document per line, pictures in `images/` beside the file; and what may be published of it.

PURE: imports no Django and no other app.
"""

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from typing import Any

from annotation.document import Document, DocumentError, Problem, canonical_bytes, read_document
from annotation.interchange.files import LocalImage, Reading

_SHOWN = ("id", "language", "question", "category", "template", "operation_tags")


def read_row(row: Mapping[str, Any], reading: Reading) -> tuple[Document, list[LocalImage], list[str]]:
    """The document of a row with the pictures it needs. A field `benchmark` beside the document's is left out.

    Raises DocumentError with every problem of the row.
    """
    document = read_document({name: value for name, value in row.items() if name != "benchmark"})
    return take_pictures(document, reading)


def take_pictures(document: Document, reading: Reading) -> tuple[Document, list[LocalImage], list[str]]:
    """The document with its pictures found beside the file, and warnings.

    A picture without a hash, or not named after it, gets both; type and size are filled in where they were left out.
    In place of one that was taken down an export holds a note: the item comes without it.
    Raises DocumentError: a picture that is missing, differs from its hash, or is none.
    """
    problems: list[Problem] = []
    taken: list[LocalImage] = []
    warnings: list[str] = []
    images = list(document.images)
    for position, image in enumerate(images):
        if not image.file:
            continue
        path = f"images[{position}].file"
        named = is_named_after_hash(image.file, image.sha256)
        if reading.images.folder is None and named:
            warnings.append(f"{path}: {image.file} did not come with the file; it must be in store already")
            taken.append(LocalImage(image.key, image.file, image.sha256))
            continue
        try:
            picture = reading.images.take(image.file, image.key)
        except ValueError as error:
            note = reading.images.taken_down(image.sha256) if named else None
            if note is not None:
                warnings.append(f"{path}: the item comes without {image.file}: {note}")
                continue
            problems.append(Problem(path, str(error)))
            continue
        if image.sha256 not in ("", picture.sha256):
            message = f"{image.file} is not the picture this row was written with (its SHA-256 differs); restore it"
            problems.append(Problem(path, message))
        elif not named:
            images[position] = replace(
                image,
                file=picture.name,
                sha256=picture.sha256,
                media_type=image.media_type or picture.media_type,
                width=image.width or picture.width,
                height=image.height or picture.height,
            )
        taken.append(replace(picture, name=images[position].file))
    if problems:
        raise DocumentError(problems)
    return replace(document, images=tuple(images)) if taken else document, taken, warnings


def is_named_after_hash(file: str, sha256: str) -> bool:
    """Whether a path is `images/<sha256>.<ending>`: any other could lead anywhere."""
    return re.fullmatch(r"images/([0-9a-f]{64})\.[a-z0-9]{1,5}", file) is not None and file[7:71] == sha256


def plain(document: Document | Mapping[str, Any]) -> Mapping[str, Any]:
    """The document as plain JSON values."""
    return document.to_json() if isinstance(document, Document) else document


def write_full(documents: Iterable[Document | Mapping[str, Any]]) -> Iterator[bytes]:
    """One line of canonical JSON per document."""
    for document in documents:
        yield canonical_bytes(plain(document)) + b"\n"


def write_public(documents: Iterable[Document | Mapping[str, Any]]) -> Iterator[bytes]:
    """One line per document: `public_row`."""
    for document in map(plain, documents):
        yield canonical_bytes(public_row(document)) + b"\n"


def public_row(document: Mapping[str, Any]) -> dict[str, Any]:
    """What a system may see of a document and how it is filed; nothing that leads to the answer."""
    row = {name: document[name] for name in _SHOWN}
    row["images"] = [
        {name: image[name] for name in ("file", "media_type", "width", "height")}
        for image in document["images"]
        if image["role"] == "question"
    ]
    return row


def image_files(document: Document | Mapping[str, Any], *, public: bool = False) -> Iterator[tuple[str, str]]:
    """(path beside the export, SHA-256) of each stored picture that an export of the document must bring along.

    Raises ValueError, naming item and image, where the path is not `images/<sha256>.<ending>`: it could lead anywhere.
    """
    data = plain(document)
    for image in data["images"]:
        if image["file"] and (image["role"] == "question" or not public):
            if not is_named_after_hash(image["file"], image["sha256"]):
                raise ValueError(f"item {data['id']}, image {image['key']}: file must be images/<sha256>.<ending>")
            yield image["file"], image["sha256"]
