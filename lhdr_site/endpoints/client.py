"""One call to an endpoint: OpenAI chat completions or Anthropic messages over HTTP, with deadlines, size limits and a
closed list of failures. Opens no transaction, reads no table, retries nothing: that is the caller's policy.
"""

import base64
import binascii
import hashlib
import json
import os
import re
import socket
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from decimal import Decimal, InvalidOperation
from email.utils import parsedate_to_datetime
from typing import Any, Protocol
from urllib.parse import urlsplit

import urllib3
from urllib3.connection import HTTPConnection, HTTPSConnection

from .errors import CallError, ErrorKind, classify

MAX_REPLY_BYTES = 32 * 1024 * 1024
MAX_REQUEST_BYTES = 50 * 1024 * 1024
KEPT_OF_STRANGE_BODIES = 2048
MAX_RETRY_AFTER = 24 * 3600.0
ANTHROPIC_VERSION = "2023-06-01"
ANTHROPIC_MAX_TOKENS = 32_000  # this wire format demands a number

_CHUNK = 1 << 16
_CONNECTIONS_KEPT = 128
_WATCH_SECONDS = 0.2


class Target(Protocol):
    """What a call needs to know of an Endpoint."""

    base_url: str
    wire: str
    key_variable: str
    connect_timeout: int
    read_timeout: int
    total_timeout: int


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
    model: str = ""
    provider: str = ""
    fingerprint: str = ""
    generation: str = ""
    http_status: int | None = None
    body: str = ""  # as it came; the first 2 kB of what is not JSON
    content_type: str = ""


# --- requests -----------------------------------------------------------------------------------------------------


def chat_body(
    wire: str, model: str, text: str, images: Sequence[tuple[str, bytes]] = (), extra: Mapping[str, Any] | None = None
) -> dict[str, Any]:
    """One user message, the text first and then each image (media type, bytes); nothing else but `extra`.

    `extra` may set any field but `model` and `messages`.
    """
    content: Any = text
    if wire == "anthropic":
        parts: list[dict[str, Any]] = [{"type": "text", "text": text}]
        parts += [
            {"type": "image", "source": {"type": "base64", "media_type": kind, "data": base64.b64encode(data).decode()}}
            for kind, data in images
        ]
        content = parts
    elif images:
        content = [{"type": "text", "text": text}]
        content += [
            {"type": "image_url", "image_url": {"url": f"data:{kind};base64,{base64.b64encode(data).decode()}"}}
            for kind, data in images
        ]
    body: dict[str, Any] = {"model": model, "messages": [{"role": "user", "content": content}]}
    if wire == "anthropic":
        body["max_tokens"] = ANTHROPIC_MAX_TOKENS
    return {**body, **{name: value for name, value in (extra or {}).items() if name not in ("model", "messages")}}


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


def _path(target: Target) -> str:
    return "/v1/messages" if target.wire == "anthropic" else "/chat/completions"


def _key(target: Target) -> str:
    """The key, read anew at each call. Raises CallError; the message never holds the key."""
    name = target.key_variable
    if not name:
        return ""
    if not re.fullmatch(r"LHDR_KEY_[A-Z0-9_]+", name):
        raise CallError(ErrorKind.AUTH, "The endpoint's key variable must start with LHDR_KEY_.")
    key = os.environ.get(name, "").strip()
    if not key:
        raise CallError(ErrorKind.AUTH, f"The environment variable {name} is not set where the worker runs.")
    if not key.isascii() or not key.isprintable() or " " in key:
        raise CallError(ErrorKind.AUTH, f"The environment variable {name} holds characters that no key has.")
    return key


# --- ending a call from another thread ----------------------------------------------------------------------------


class Handle:
    """With it another thread ends a call: `end` shuts its socket, and the call raises a CallError of that kind."""

    def __init__(self) -> None:
        self.ended: ErrorKind | None = None
        self.deadline = 0.0
        self.sock: socket.socket | None = None

    def end(self, kind: ErrorKind) -> None:
        self.ended = self.ended or kind
        if self.sock is not None:
            try:
                # not SSLSocket.shutdown, which would pull the TLS state from under the reading thread
                socket.socket.shutdown(self.sock, socket.SHUT_RDWR)
            except OSError:
                pass  # already gone


_now = threading.local()  # .handle: of the call this thread makes
_running: set[Handle] = set()
_watcher_lock = threading.Lock()
_watcher: threading.Thread | None = None


def _watch() -> None:
    """Ends calls that passed their total deadline, whatever they wait for."""
    while True:
        time.sleep(_WATCH_SECONDS)
        now = time.monotonic()
        for handle in list(_running):
            if now > handle.deadline:
                handle.end(ErrorKind.TIMEOUT)


def _ensure_watcher() -> None:
    global _watcher
    if _watcher is None or not _watcher.is_alive():  # not alive: this process was forked
        with _watcher_lock:
            if _watcher is None or not _watcher.is_alive():
                _watcher = threading.Thread(target=_watch, daemon=True, name="call-deadlines")
                _watcher.start()


class _Watched:
    """Gives the calling thread's handle the socket. A connection forgets it when the reply is the last one on it."""

    def request(self, *args: Any, **kwargs: Any) -> None:
        handle: Handle = _now.handle
        handle.sock = self.sock  # type: ignore[attr-defined]
        super().request(*args, **kwargs)  # type: ignore[misc]
        handle.sock = self.sock  # type: ignore[attr-defined]
        if handle.ended:
            raise TimeoutError


class _Plain(_Watched, HTTPConnection):
    pass


class _Secure(_Watched, HTTPSConnection):
    pass


_pools: dict[tuple[int, str], tuple[urllib3.HTTPConnectionPool, str]] = {}


def _pool(base_url: str) -> tuple[urllib3.HTTPConnectionPool, str]:
    """The connection pool of this process for an address, and the address's path."""
    key = (os.getpid(), base_url)
    if key not in _pools:
        try:
            pool = urllib3.connection_from_url(base_url, maxsize=_CONNECTIONS_KEPT, retries=False)
        except (urllib3.exceptions.LocationValueError, urllib3.exceptions.HTTPError, KeyError) as error:
            raise CallError(ErrorKind.NOT_FOUND, f"The base URL cannot be used: {error}") from error
        pool.ConnectionCls = _Secure if pool.scheme == "https" else _Plain
        _pools[key] = pool, urlsplit(base_url).path.rstrip("/")
    return _pools[key]


# --- the call -----------------------------------------------------------------------------------------------------


def call(
    target: Target, body: Mapping[str, Any], *, handle: Handle | None = None, max_bytes: int = MAX_REQUEST_BYTES
) -> Reply:
    """Send one request and read the whole reply. Raises CallError, and nothing else, for whatever goes wrong.

    Deadlines are the target's: to connect, the longest silence, and the whole call. Redirects are not followed.
    max_bytes: a larger encoded request is not sent (too_large).
    """
    handle = handle or Handle()
    payload = json.dumps(body, ensure_ascii=False, separators=(",", ":")).encode()
    if len(payload) > max_bytes:
        size = f"{len(payload) / 1e6:.1f} MB, more than the {max_bytes / 1e6:.1f} MB allowed"
        raise CallError(ErrorKind.TOO_LARGE, f"The request has {size}; it was not sent.")
    key = _key(target)
    headers = {"Content-Type": "application/json", "Accept": "application/json", "User-Agent": "lhdr-workbench"}
    if key:
        headers["Authorization"] = f"Bearer {key}"
    if target.wire == "anthropic":
        headers["anthropic-version"] = ANTHROPIC_VERSION
    streamed = bool(body.get("stream"))
    if streamed:
        headers["Accept"] = "text/event-stream"
    _ensure_watcher()
    pool, prefix = _pool(target.base_url)
    handle.deadline = time.monotonic() + target.total_timeout
    _now.handle = handle
    _running.add(handle)
    try:
        status, kind, retry_after, data = _exchange(pool, prefix + _path(target), payload, headers, target)
        if handle.ended:
            raise _ended(handle, target)
        return _read(status, kind, retry_after, data, target.wire, key)
    except CallError as error:
        if handle.ended and error.kind is not handle.ended:
            raise _ended(handle, target) from error
        raise
    except (urllib3.exceptions.HTTPError, OSError, ValueError) as error:
        if handle.ended:
            raise _ended(handle, target) from error
        raise _transport_error(error, target) from error
    finally:
        _running.discard(handle)
        _now.handle = handle.sock = None


def _ended(handle: Handle, target: Target) -> CallError:
    if handle.ended is ErrorKind.TIMEOUT:
        return CallError(ErrorKind.TIMEOUT, f"The call took longer than {target.total_timeout} s in all.")
    return CallError(handle.ended or ErrorKind.CANCELLED, "The call was ended before its reply was there.")


def _transport_error(error: Exception, target: Target) -> CallError:
    if isinstance(error, urllib3.exceptions.ConnectTimeoutError) and not isinstance(
        error, urllib3.exceptions.NewConnectionError
    ):
        return CallError(ErrorKind.TIMEOUT, f"No connection within {target.connect_timeout} s.")
    if isinstance(error, urllib3.exceptions.ReadTimeoutError | TimeoutError):
        return CallError(ErrorKind.TIMEOUT, f"Nothing was heard for {target.read_timeout} s.")
    if isinstance(error, urllib3.exceptions.ProtocolError | ConnectionError):
        return CallError(ErrorKind.NETWORK, "The connection was cut before the reply was complete.")
    if isinstance(error, urllib3.exceptions.DecodeError):
        return CallError(ErrorKind.INVALID_BODY, "The reply's compression is broken.")
    reason = type(error).__name__ if isinstance(error, ValueError) else str(error).split(": ", 1)[-1][:200]
    return CallError(ErrorKind.NETWORK, f"No connection to the endpoint: {reason}")


def _exchange(
    pool: urllib3.HTTPConnectionPool, path: str, payload: bytes, headers: dict[str, str], target: Target
) -> tuple[int, str, float | None, bytes | dict[str, Any]]:
    """Status, content type, Retry-After in seconds, and the body: bytes, or the object a stream added up to."""
    response = pool.urlopen(
        "POST",
        path,
        body=payload,
        headers=headers,
        timeout=urllib3.Timeout(connect=target.connect_timeout, read=target.read_timeout),
        retries=False,
        redirect=False,
        preload_content=False,
    )
    try:
        kind = response.headers.get("Content-Type", "")
        retry_after = parse_retry_after(response.headers.get("Retry-After", ""))
        if kind.startswith("text/event-stream") and response.status < 300:
            return response.status, kind, retry_after, _read_stream(response, target.read_timeout)
        return response.status, kind, retry_after, b"".join(_chunks(response))
    finally:
        # Read to its end, the connection is back in the pool already; else it is of no use to the next call.
        response.close()


def _chunks(response: urllib3.BaseHTTPResponse) -> Iterator[bytes]:
    size = 0
    while chunk := response.read1(_CHUNK):
        size += len(chunk)
        if size > MAX_REPLY_BYTES:
            limit = MAX_REPLY_BYTES // 2**20
            raise CallError(ErrorKind.INVALID_BODY, f"The reply is larger than {limit} MB; it was not read to its end.")
        yield chunk


def _read_stream(response: urllib3.BaseHTTPResponse, longest_silence: float) -> dict[str, Any]:
    """Server-sent chunks of a chat completion, added up to one. Comment lines are no progress."""
    raw: list[str] = []
    text: list[str] = []
    thinking: list[str] = []
    annotations: list[Any] = []
    choice: dict[str, Any] = {}
    whole: dict[str, Any] = {}
    rest = b""
    progress = time.monotonic()
    for chunk in _chunks(response):
        *lines, rest = (rest + chunk).split(b"\n")
        for line in lines:
            if not line.startswith(b"data:"):
                continue
            progress = time.monotonic()
            data = line[5:].strip().decode("utf-8", "replace")
            if data == "[DONE]":
                return _added_up(whole, choice, text, thinking, annotations, raw)
            raw.append(data)
            try:
                event = json.loads(data)
            except ValueError:
                continue
            if not isinstance(event, dict):
                continue
            whole.update({name: value for name, value in event.items() if name != "choices" and value is not None})
            for part in event.get("choices") or []:
                delta = part.get("delta") or {}
                plain, reasoned = _text_of(delta.get("content"))
                text.append(plain)
                thinking += [reasoned, _first_text(delta, "reasoning", "reasoning_content")]
                annotations += delta.get("annotations") or []
                choice.update({n: v for n, v in part.items() if n in ("finish_reason", "error") and v is not None})
            if "error" in event:
                return _added_up(whole, choice, text, thinking, annotations, raw)
        if time.monotonic() - progress > longest_silence:
            raise CallError(ErrorKind.TIMEOUT, f"Nothing but keep-alive comments for {longest_silence} s.")
    if not choice.get("finish_reason"):
        raise ConnectionError("the stream ended without an end")
    return _added_up(whole, choice, text, thinking, annotations, raw)


def _added_up(
    whole: dict[str, Any],
    choice: dict[str, Any],
    text: list[str],
    thinking: list[str],
    annotations: list[Any],
    raw: list[str],
) -> dict[str, Any]:
    message = {"content": "".join(text), "reasoning": "".join(thinking), "annotations": annotations}
    return {**whole, "choices": [{**choice, "message": message}], "_raw": "\n".join(raw)}


def parse_retry_after(value: str) -> float | None:
    """Seconds to wait by a Retry-After header (a number, or an HTTP date), at most a day; None when it says nothing."""
    value = value.strip()
    if not value:
        return None
    try:
        seconds = float(value)
    except ValueError:
        try:
            when = parsedate_to_datetime(value)
        except ValueError:
            return None
        seconds = ((when if when.tzinfo else when.replace(tzinfo=UTC)) - datetime.now(UTC)).total_seconds()
    return min(max(seconds, 0.0), MAX_RETRY_AFTER) if seconds == seconds else None


# --- reading the reply --------------------------------------------------------------------------------------------

_UNSTORABLE = re.compile("[\x00\ud800-\udfff]")


def _clean(value: Any, limit: int | None = None) -> str:
    """Text as the database can hold it; what is no text becomes ""."""
    if not isinstance(value, str):
        return ""
    value = _UNSTORABLE.sub("\ufffd", value) if _UNSTORABLE.search(value) else value
    return value[:limit]


def _first_text(mapping: Mapping[str, Any], *names: str) -> str:
    return next((mapping[name] for name in names if isinstance(mapping.get(name), str) and mapping[name]), "")


def _text_of(content: Any) -> tuple[str, str]:
    """Text and thinking of a message's content: a string, or a list of parts of which unknown ones are passed over."""
    if isinstance(content, str):
        return content, ""
    text, thinking = [], []
    for part in content if isinstance(content, list) else []:
        if isinstance(part, str):
            text.append(part)
        elif isinstance(part, dict):
            if part.get("type") in ("text", "output_text"):
                text.append(_first_text(part, "text"))
            elif part.get("type") in ("thinking", "reasoning"):
                inner = part.get("thinking") or part.get("text") or part.get("reasoning")
                thinking.append(_text_of(inner)[0])
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


def _read(
    status: int, content_type: str, retry_after: float | None, data: bytes | dict[str, Any], wire: str, key: str
) -> Reply:
    """The reply, or CallError when it is none."""
    hide: Callable[[str], str] = lambda text: text.replace(key, "[key]") if key else text  # noqa: E731
    seen = Reply(http_status=status, content_type=_clean(content_type, 100))
    if isinstance(data, bytes):
        try:
            parsed = json.loads(data)
        except ValueError:
            parsed = None
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
    reply = _with_figures(replace(seen, body=raw), parsed)
    error = parsed.get("error")
    if not error and wire == "openai":
        choices = parsed.get("choices")
        first = choices[0] if isinstance(choices, list) and choices and isinstance(choices[0], dict) else {}
        error = first.get("error") or (first.get("finish_reason") == "error" and {"message": "The generation failed."})
    if error or status >= 300:
        raise _service_error(status, error, reply, retry_after, hide)
    reply = _anthropic(reply, parsed) if wire == "anthropic" else _openai(reply, parsed)
    return _usable(reply)


def _status_message(status: int, reply: Reply) -> str:
    if 300 <= status < 400:
        return f"The endpoint redirects (HTTP {status}); redirects are not followed. Enter the address it leads to."
    return f"The endpoint answered HTTP {status} ({reply.content_type or 'no content type'})."


def _service_error(
    status: int, error: Any, reply: Reply, retry_after: float | None, hide: Callable[[str], str]
) -> CallError:
    fields = error if isinstance(error, dict) else {"message": str(error or "")}
    names = tuple(str(fields[name]) for name in ("code", "type") if isinstance(fields.get(name), str))
    code = fields.get("code")
    own = int(code) if isinstance(code, int | str) and str(code).isdigit() and 400 <= int(code) < 600 else 0
    kind = classify(status if status >= 300 else own, names, json.dumps(fields))
    message = hide(_clean(fields.get("message"), 500)) or _status_message(status, reply)
    number = f"HTTP {status}" if status >= 300 else f"HTTP 200 with error {code}" if code else "HTTP 200 with an error"
    return CallError(kind, f"{number}: {message}", reply=reply, retry_after=retry_after)


def _with_figures(reply: Reply, data: Mapping[str, Any]) -> Reply:
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
    text, thought = _text_of(message.get("content"))
    finish = _clean(choice.get("finish_reason"), 40)
    if finish == "content_filter" or (not text.strip() and _first_text(message, "refusal")):
        why = _first_text(message, "refusal") or text
        raise CallError(
            ErrorKind.REFUSED,
            f"Refused by the model or its filter: {_clean(why, 300) or 'no reason given'}",
            reply=replace(reply, text=_clean(text), finish_reason=finish),
        )
    return replace(
        reply,
        text=_clean(text),
        thinking=_clean(_first_text(message, "reasoning", "reasoning_content") or thought),
        citations=_citations(message.get("annotations")),
        finish_reason=finish,
        truncated=finish == "length",
    )


def _anthropic(reply: Reply, data: Mapping[str, Any]) -> Reply:
    text, thought = _text_of(data.get("content"))
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
