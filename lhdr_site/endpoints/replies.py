"""What an endpoint answered, read: text, reasoning, citations, figures; or which failure it is. PURE."""

import json
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from decimal import Decimal, InvalidOperation
from typing import Any

from lhdr_site.shared.numbers import read_whole

from .errors import CallError, ErrorKind, classify

KEPT_OF_STRANGE_BODIES = 2048


@dataclass(frozen=True, slots=True)
class Reply:
    """What an endpoint answered. Numbers it did not report are None: unknown, never zero."""

    text: str = ""
    thinking: str = ""
    citations: tuple[dict[str, str], ...] = ()  # {"url", "title"}, http and https only
    finish_reason: str = ""
    truncated: bool = False
    prompt_tokens: int | None = None
    completion_tokens: int | None = None
    cost: Decimal | None = None
    priced: bool = False  # the cost is by a price table, not reported
    model: str = ""
    provider: str = ""
    fingerprint: str = ""
    generation: str = ""
    http_status: int | None = None
    body: str = ""  # as it came; the first 2 kB of what is not JSON
    content_type: str = ""
    unfinished: bool = False  # the generation goes on at the endpoint, under the id `generation`


_UNSTORABLE = re.compile("[\x00\ud800-\udfff]")


def _clean(value: Any, limit: int | None = None) -> str:
    """Text as the database can hold it; what is no text becomes ""."""
    if not isinstance(value, str):
        return ""
    value = _UNSTORABLE.sub("\ufffd", value) if _UNSTORABLE.search(value) else value
    return value[:limit]


def parsed_json(data: bytes | str) -> Any:
    """What stands in it as JSON; None where it is none, or nested without end."""
    try:
        return json.loads(data)
    except (ValueError, RecursionError):
        return None


def first_text(mapping: Mapping[str, Any], *names: str) -> str:
    return next((mapping[name] for name in names if isinstance(mapping.get(name), str) and mapping[name]), "")


def text_of(content: Any) -> tuple[str, str]:
    """Text and thinking of a message's content: a string, or a list of parts of which unknown ones are passed over."""
    if isinstance(content, str):
        return content, ""
    text, thinking = [], []
    for part in content if isinstance(content, list) else []:
        if isinstance(part, str):
            text.append(part)
        elif isinstance(part, dict):
            if part.get("type") in ("text", "output_text"):
                text.append(first_text(part, "text"))
            elif part.get("type") in ("thinking", "reasoning"):
                inner = part.get("thinking") or part.get("text") or part.get("reasoning")
                thinking.append(text_of(inner)[0])
    return "".join(text), "".join(thinking)


def _citations(found: Any) -> tuple[dict[str, str], ...]:
    citations = []
    for entry in found if isinstance(found, list) else []:
        if not isinstance(entry, dict):
            continue
        inner = entry.get("url_citation")
        inner = inner if isinstance(inner, dict) else entry
        url = _clean(inner.get("url"), 2000)
        if url.lower().startswith(("http://", "https://")):
            citations.append({"url": url, "title": _clean(inner.get("title"), 500)})
    return tuple({c["url"]: c for c in citations}.values())


def _count(value: Any) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) and 0 <= value < 2**31 else None


def _cost(value: Any) -> Decimal | None:
    """A price in USD, to the millionth; None when it is missing or no number."""
    if value is None or isinstance(value, bool):
        return None
    try:
        cost = Decimal(str(value))
        return cost.quantize(Decimal("0.000001")) if 0 <= cost < 100_000 else None
    except InvalidOperation:
        return None


def read_reply(
    status: int, content_type: str, retry_after: float | None, data: bytes | dict[str, Any], wire: str, key: str
) -> Reply:
    """The reply, or CallError when it is none."""
    hide: Callable[[str], str] = lambda text: text.replace(key, "[key]") if key else text  # noqa: E731
    seen = Reply(http_status=status, content_type=_clean(content_type, 100))
    if isinstance(data, bytes):
        parsed = parsed_json(data)
        raw = hide(_clean(data.decode("utf-8", "replace")))
    else:
        raw = hide(_clean(data.pop("_raw")))
        parsed = data
    if not isinstance(parsed, dict):
        seen = replace(seen, body=raw[:KEPT_OF_STRANGE_BODIES])
        if status >= 300:
            raise CallError(classify(status), _status_message(status, seen), reply=seen, retry_after=retry_after)
        what = "is empty" if not data else f"is no JSON object (content type {seen.content_type or 'unknown'})"
        raise CallError(ErrorKind.INVALID_BODY, f"The reply {what}.", reply=seen)
    reply = with_figures(replace(seen, body=raw), parsed)
    error = parsed.get("error")
    if not error and wire == "openai":
        choices = parsed.get("choices")
        first = choices[0] if isinstance(choices, list) and choices and isinstance(choices[0], dict) else {}
        error = first.get("error") or (first.get("finish_reason") == "error" and {"message": "The generation failed."})
    if wire == "openai-responses" and parsed.get("status") == "failed":
        error = error or {"message": "The generation failed."}
    if error or status >= 300:
        raise _service_error(status, error, reply, retry_after, hide)
    reply = _READERS.get(wire, _openai)(reply, parsed)
    return reply if reply.unfinished else _usable(reply)


def _status_message(status: int, reply: Reply) -> str:
    if 300 <= status < 400:
        return f"The endpoint redirects (HTTP {status}); redirects are not followed. Enter the address it leads to."
    return f"The endpoint answered HTTP {status} ({reply.content_type or 'no content type'})."


def _service_error(
    status: int, error: Any, reply: Reply, retry_after: float | None, hide: Callable[[str], str]
) -> CallError:
    fields = error if isinstance(error, dict) else {"message": str(error or "")}
    names = tuple(str(fields[name]) for name in ("code", "type") if isinstance(fields.get(name), str))
    code = _clean(str(fields.get("code") or ""), 60)
    own = read_whole(code) or 0
    kind = classify(status if status >= 300 else own if 400 <= own < 600 else 0, names, json.dumps(fields))
    message = hide(_clean(fields.get("message"), 500)) or _status_message(status, reply)
    number = f"HTTP {status}" if status >= 300 else f"HTTP 200 with error {code}" if code else "HTTP 200 with an error"
    return CallError(kind, f"{number}: {message}", reply=reply, retry_after=retry_after)


def with_figures(reply: Reply, data: Mapping[str, Any]) -> Reply:
    usage = data.get("usage")
    usage = usage if isinstance(usage, dict) else {}

    def count(*names: str) -> int | None:
        return next((n for n in (_count(usage.get(name)) for name in names) if n is not None), None)

    return replace(
        reply,
        prompt_tokens=count("prompt_tokens", "input_tokens"),
        completion_tokens=count("completion_tokens", "output_tokens"),
        cost=_cost(usage.get("cost")),
        model=_clean(data.get("model"), 200),
        provider=_clean(data.get("provider"), 200),
        fingerprint=_clean(data.get("system_fingerprint"), 200),
        generation=_clean(data.get("id"), 200),
    )


def _openai(reply: Reply, data: Mapping[str, Any]) -> Reply:
    choices = data.get("choices")
    choice = choices[0] if isinstance(choices, list) and choices and isinstance(choices[0], dict) else {}
    message = choice.get("message")
    message = message if isinstance(message, dict) else {}
    text, thought = text_of(message.get("content"))
    finish = _clean(choice.get("finish_reason"), 40)
    if finish == "content_filter" or (not text.strip() and first_text(message, "refusal")):
        why = first_text(message, "refusal") or text
        raise CallError(
            ErrorKind.REFUSED,
            f"Refused by the model or its filter: {_clean(why, 300) or 'no reason given'}",
            reply=replace(reply, text=_clean(text), finish_reason=finish),
        )
    return replace(
        reply,
        text=_clean(text),
        thinking=_clean(first_text(message, "reasoning", "reasoning_content") or thought),
        citations=_citations(message.get("annotations")),
        finish_reason=finish,
        truncated=finish == "length",
    )


def _anthropic(reply: Reply, data: Mapping[str, Any]) -> Reply:
    text, thought = text_of(data.get("content"))
    finish = _clean(data.get("stop_reason"), 40)
    if finish == "refusal":
        raise CallError(ErrorKind.REFUSED, "Refused by the model.", reply=replace(reply, finish_reason=finish))
    blocks = data.get("content")
    cited = [c for block in (blocks if isinstance(blocks, list) else []) if isinstance(block, dict)
             for c in block.get("citations") or []]  # fmt: skip
    return replace(
        reply,
        text=_clean(text),
        thinking=_clean(thought),
        citations=_citations(cited),
        finish_reason=finish,
        truncated=finish == "max_tokens",
    )


def _responses(reply: Reply, data: Mapping[str, Any]) -> Reply:
    """The Responses API: a list of output items; messages make the text, the items of tools are passed over."""
    status = _clean(data.get("status"), 40)
    if status in ("queued", "in_progress") and reply.generation:
        return replace(reply, unfinished=True, finish_reason=status)
    if status == "cancelled":
        raise CallError(ErrorKind.OVERLOADED, "The generation was cancelled at the endpoint.", reply=reply)
    text, thinking, refusals = [], [], []
    cited: list[Any] = []
    for item in objects(data.get("output")):
        if item.get("type") == "reasoning":
            thinking += [_joined(item.get("summary")), _joined(item.get("content"))]
        elif item.get("type") == "message":
            for part in objects(item.get("content")):
                if part.get("type") == "output_text":
                    text.append(first_text(part, "text"))
                    cited += objects(part.get("annotations"))
                elif part.get("type") == "refusal":
                    refusals.append(first_text(part, "refusal"))
    details = data.get("incomplete_details")
    why = _clean(details.get("reason"), 40) if isinstance(details, dict) else ""
    reply = replace(
        reply,
        text=_clean("".join(text)),
        thinking=_clean("\n\n".join(filter(None, thinking))),
        citations=_citations(cited),
        finish_reason=why or status,
        truncated=status == "incomplete" and why != "content_filter",
    )
    if why == "content_filter" or (refusals and not reply.text.strip()):
        said = _clean("".join(refusals) or reply.text, 300) or "no reason given"
        raise CallError(ErrorKind.REFUSED, f"Refused by the model or its filter: {said}", reply=reply)
    return reply


def objects(value: Any) -> list[dict[str, Any]]:
    return [part for part in value if isinstance(part, dict)] if isinstance(value, list) else []


def _joined(parts: Any) -> str:
    return "\n\n".join(filter(None, (first_text(part, "text") for part in objects(parts))))


_READERS: dict[str, Callable[[Reply, Mapping[str, Any]], Reply]] = {
    "anthropic": _anthropic,
    "openai-responses": _responses,
}


def _usable(reply: Reply) -> Reply:
    if reply.text.strip():
        return reply
    if reply.truncated:
        raise CallError(
            ErrorKind.REASONING_ONLY,
            "The token limit was reached before any answer text.",
            reply=reply,
            retryable=False,
        )
    if reply.thinking.strip():
        raise CallError(ErrorKind.REASONING_ONLY, "The reply holds reasoning but no answer text.", reply=reply)
    raise CallError(ErrorKind.EMPTY, "The reply is empty: it holds no answer text.", reply=reply)
