"""What a system is sent: the question as it stands and its question images, and nothing else.

PURE: imports no Django. Alt text, captions, credits and file names stay here: they may name the entity.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from annotation.document import Document, Image
from lhdr_site.endpoints.client import chat_body


def question_images(document: Document, image_mode: str, condition: str) -> list[Image]:
    """The images that go with the question under a mode (inline, url_in_prompt, none) and a condition, in order."""
    if image_mode == "none" or condition == "without_image":
        return []
    return [image for image in document.images if image.role == "question"]


def system_body(
    wire: str,
    model: str,
    document: Document,
    *,
    images: Sequence[tuple[str, bytes]] = (),
    urls: Sequence[str] = (),
    extra: Mapping[str, Any] | None = None,
) -> dict[str, Any]:
    """One user message: the question verbatim, then inline images (media type, bytes), or addresses after the text."""
    text = "\n\n".join([document.question, *urls])
    return chat_body(wire, model, text, images, extra)
