"""Locked items with stored pictures, for tests of releases. Not a test itself."""

import io
from dataclasses import replace

from django.db import transaction
from PIL import Image as Pillow

from annotation import images
from annotation.actions import insert_items
from annotation.document import Document
from annotation.models import Item, Revision
from tests.factories import Team


def picture(colour: str) -> bytes:
    buffer = io.BytesIO()
    Pillow.new("RGB", (40, 25), colour).save(buffer, "PNG")
    return buffer.getvalue()


def with_stored_images(team: Team, document: Document) -> Document:
    """The document with its two images drawn and stored."""
    stored = [images.store(team.benchmark, images.prepare_upload(picture(colour))) for colour in ("red", "blue")]
    changed = [
        replace(image, **images.document_fields(found)) for image, found in zip(document.images, stored, strict=True)
    ]
    return replace(document, images=tuple(changed))


def imported(team: Team, *documents: Document) -> list[Item]:
    with transaction.atomic():
        return insert_items(team.benchmark, documents, author=team.admin, kind=Revision.Kind.IMPORT)
