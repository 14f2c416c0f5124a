"""What a system is sent: the question as it stands and its question images, and nothing else.

PURE: imports no Django. Alt text, captions, credits and file names stay here: they may name the entity.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from annotation.document import Document, Image, canonical_hash
from lhdr_site.endpoints.bodies import chat_body

from .routes import is_router


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


def request_hash(
    base_url: str,
    wire: str,
    model: str,
    document: Document,
    *,
    images: Sequence[Image] = (),
    image_mode: str = "inline",
    longest_side: int | None = None,
    extra: Mapping[str, Any] | None = None,
) -> str:
    """SHA-256 that is the same for two requests exactly when the same would be sent to the same address.

    An image stands there as the hash of its stored bytes, with what is done to it before it is sent: its bytes need not
    be read, and a signed address, which is another one each time, counts as what it leads to.
    """
    body = refusing_collection(base_url, system_body(wire, model, document, extra=extra))
    pictures = [[image.sha256 or image.url, image.media_type] for image in images]
    how = [image_mode, longest_side] if pictures else []
    return canonical_hash({"address": base_url, "wire": wire, "body": body, "images": pictures, "how": how})


def refusing_collection(base_url: str, body: Mapping[str, Any]) -> dict[str, Any]:
    """A request in which the service is told to keep nothing of it, where it offers that; what is said already stands.

    OpenRouter passes a request on only to providers that do not store prompts when asked so.
    """
    provider = body.get("provider", {})
    if not is_router(base_url) or not isinstance(provider, Mapping):
        return dict(body)
    return {**body, "provider": {"data_collection": "deny", **provider}}


def has_web(model: str, extra: Mapping[str, Any] | None) -> bool:
    """Whether a system's model id or its extra fields ask for web search, in one of the usual ways."""
    fields = extra or {}
    named = [tool.get("type") for tool in _objects(fields.get("tools"))]
    named += [plugin.get("id") for plugin in _objects(fields.get("plugins"))]
    return "web_search_options" in fields or ":online" in model or any("web" in str(name) for name in named)


def _objects(value: Any) -> list[Mapping[str, Any]]:
    return [part for part in value if isinstance(part, Mapping)] if isinstance(value, list) else []
