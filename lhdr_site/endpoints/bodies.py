"""The body of a request in each wire format, and as it may be stored. PURE: imports no Django."""

import base64
import binascii
import hashlib
from collections.abc import Mapping, Sequence
from typing import Any

ANTHROPIC_MAX_TOKENS = 32_000  # this wire format demands a number
SET_BY_US = ("model", "messages", "input")  # no extra field replaces them


def chat_body(
    wire: str, model: str, text: str, images: Sequence[tuple[str, bytes]] = (), extra: Mapping[str, Any] | None = None
) -> dict[str, Any]:
    """One user message, the text first and then each image (media type, bytes); nothing else but `extra`.

    `extra` may set any field but those of SET_BY_US. The Responses API is asked to generate in the background, which
    `extra` may switch off: only then has a lost connection, or a worker that dies, not lost the answer.
    """
    pictures = [(kind, base64.b64encode(data).decode()) for kind, data in images]
    more = {name: value for name, value in (extra or {}).items() if name not in SET_BY_US}
    content: Any = text
    if wire == "anthropic":
        content = [{"type": "text", "text": text}]
        content += [
            {"type": "image", "source": {"type": "base64", "media_type": kind, "data": data}} for kind, data in pictures
        ]
        message = {"role": "user", "content": content}
        return {"model": model, "messages": [message], "max_tokens": ANTHROPIC_MAX_TOKENS, **more}
    if wire == "openai-responses":
        content = [{"type": "input_text", "text": text}]
        content += [{"type": "input_image", "image_url": f"data:{kind};base64,{data}"} for kind, data in pictures]
        return {"model": model, "input": [{"role": "user", "content": content}], "background": True, **more}
    if pictures:
        content = [{"type": "text", "text": text}]
        content += [
            {"type": "image_url", "image_url": {"url": f"data:{kind};base64,{data}"}} for kind, data in pictures
        ]
    return {"model": model, "messages": [{"role": "user", "content": content}], **more}


def text_of_request(body: Mapping[str, Any]) -> str:
    """The text of the message that a request holds, in whichever wire format."""
    messages = body.get("messages") or body.get("input")
    content = messages[0].get("content") if isinstance(messages, list) and messages else ""
    if isinstance(content, str):
        return content
    return "\n\n".join(part["text"] for part in content if isinstance(part, dict) and "text" in part)


def without_image_bytes(value: Any) -> Any:
    """A request as it may be stored: the bytes of inline images replaced by their SHA-256."""
    if isinstance(value, str):
        return _digest(value.split(",", 1)[1]) if value.startswith("data:") and ";base64," in value[:100] else value
    if isinstance(value, Mapping):
        if value.get("type") == "base64" and isinstance(value.get("data"), str):
            return {**value, "data": _digest(value["data"])}
        return {name: without_image_bytes(inner) for name, inner in value.items()}
    if isinstance(value, list):
        return [without_image_bytes(inner) for inner in value]
    return value


def _digest(encoded: str) -> str:
    try:
        return "sha256:" + hashlib.sha256(base64.b64decode(encoded)).hexdigest()
    except binascii.Error:
        return "sha256 of text:" + hashlib.sha256(encoded.encode()).hexdigest()
