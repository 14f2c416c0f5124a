"""One call to an endpoint over HTTP, with deadlines, size limits and a closed list of failures.

Opens no transaction, reads no table, asks for nothing twice: that is the caller's policy. Only a generation that goes
on at the endpoint is looked after until it ends.
"""

import ipaddress
import json
import os
import re
import socket
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import Any, Protocol
from urllib.parse import quote, urlsplit

import urllib3
from urllib3.connection import HTTPConnection, HTTPSConnection

from .errors import CallError, ErrorKind
from .replies import Reply, first_text, objects, parsed_json, read_reply, text_of

MAX_REPLY_BYTES = 32 * 1024 * 1024
MAX_REQUEST_BYTES = 50 * 1024 * 1024
MAX_RETRY_AFTER = 24 * 3600.0
ANTHROPIC_VERSION = "2023-06-01"
# How long to wait before asking after a generation that goes on at the endpoint: grows from the first to the last.
FIRST_POLL = 1.0
LAST_POLL = 15.0
CANCEL_SECONDS = 10.0

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


def is_local(base_url: str) -> bool:
    """Whether an address leads to this machine or its network: nobody charges for calls there."""
    host = urlsplit(base_url).hostname or ""
    try:
        return ipaddress.ip_address(host).is_private
    except ValueError:
        return host == "localhost" or "." not in host or host.endswith((".localhost", ".local", ".internal"))


_PATHS = {"anthropic": "/v1/messages", "openai-responses": "/responses"}


def path_of(target: Target) -> str:
    return _PATHS.get(target.wire, "/chat/completions")


def read_key(target: Target) -> str:
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
        self.over = threading.Event()

    def end(self, kind: ErrorKind) -> None:
        self.ended = self.ended or kind
        if (sock := self.sock) is not None:
            try:
                # not SSLSocket.shutdown, which would pull the TLS state from under the reading thread
                socket.socket.shutdown(sock, socket.SHUT_RDWR)
            except OSError:
                pass  # already gone
        self.over.set()  # last: whoever waits goes on to cancel the generation, and must not do so on this socket


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


def encoded(body: Mapping[str, Any]) -> bytes:
    """A request's bytes, as they are sent and as its size is measured."""
    return json.dumps(body, ensure_ascii=False, separators=(",", ":")).encode()


# --- the call -----------------------------------------------------------------------------------------------------


def call(
    target: Target,
    body: Mapping[str, Any],
    *,
    handle: Handle | None = None,
    max_bytes: int = MAX_REQUEST_BYTES,
    generation: str = "",
    started: Callable[[str], None] | None = None,
) -> Reply:
    """Send one request and read the whole reply. Raises CallError, and nothing else, for whatever goes wrong.

    Deadlines are the target's: to connect, the longest silence, and the whole call. Redirects are not followed.
    max_bytes: a larger encoded request is not sent (too_large). started: called with the id of a generation that goes
    on at the endpoint, before it is waited for. generation: such an id from before; nothing is sent, only waited for.
    """
    handle = handle or Handle()
    payload = encoded(body)
    if len(payload) > max_bytes and not generation:
        size = f"{len(payload) / 1e6:.1f} MB, more than the {max_bytes / 1e6:.1f} MB allowed"
        raise CallError(ErrorKind.TOO_LARGE, f"The request has {size}; it was not sent.")
    try:
        key = read_key(target)
    except CallError as error:
        error.unfinished = bool(generation)
        raise
    send = _sender(target, key, handle, streamed=bool(body.get("stream")))
    _ensure_watcher()
    handle.deadline = time.monotonic() + target.total_timeout
    _now.handle = handle
    _running.add(handle)
    try:
        if not generation:
            reply = send("POST", path_of(target), payload)
            if not reply.unfinished:
                return reply
            generation = reply.generation
            if started:
                started(generation)
        return _await(generation, send, handle, target)
    except CallError as error:
        if handle.ended and error.kind is not handle.ended:
            raise _ended(handle, target) from error
        raise
    finally:
        _running.discard(handle)
        _now.handle = handle.sock = None


_Send = Callable[[str, str, bytes | None], Reply]


def _sender(target: Target, key: str, handle: Handle, *, streamed: bool) -> _Send:
    """A function (method, path, payload) that makes one exchange: its reply, or CallError."""
    headers = {"Accept": "text/event-stream" if streamed else "application/json", "User-Agent": "lhdr-workbench"}
    if key:
        headers["Authorization"] = f"Bearer {key}"
    if target.wire == "anthropic":
        headers["anthropic-version"] = ANTHROPIC_VERSION
    pool, prefix = _pool(target.base_url)

    def send(method: str, path: str, payload: bytes | None) -> Reply:
        with_type = headers if payload is None else {**headers, "Content-Type": "application/json"}
        try:
            status, kind, retry_after, data = _exchange(pool, method, prefix + path, payload, with_type, target)
        except (urllib3.exceptions.HTTPError, OSError, ValueError) as error:
            raise (_ended(handle, target) if handle.ended else _transport_error(error, target)) from error
        if handle.ended:
            raise _ended(handle, target)
        return read_reply(status, kind, retry_after, data, target.wire, key)

    return send


def _await(generation: str, send: _Send, handle: Handle, target: Target) -> Reply:
    """The reply of a generation, once it has ended. What goes wrong in asking after it is no end of it: it is asked
    after again, until the whole call's deadline. Only a key that is refused is left to a person; and what the endpoint
    does not know is lost."""
    path, pause = f"{path_of(target)}/{quote(generation, safe='')}", FIRST_POLL
    wait = 0.0
    while True:
        if handle.over.wait(wait):
            raise _ended(handle, target)
        wait, pause = pause, min(pause * 1.5, LAST_POLL)
        try:
            reply = send("GET", path, None)
            if not reply.unfinished:
                return reply
        except CallError as error:
            if error.reply is not None and error.reply.generation == generation:
                raise  # how the generation itself ended
            if error.kind in (ErrorKind.NOT_FOUND, ErrorKind.BAD_REQUEST):
                text = f"The endpoint does not know the generation {generation} any more."
                raise CallError(ErrorKind.LOST, text) from error  # without that reply: what it cost is unknown
            if error.kind in (ErrorKind.AUTH, ErrorKind.PAYMENT):
                error.unfinished = True
                raise
            wait = max(wait, error.retry_after or 0.0)


def cancel(target: Target, generation: str) -> None:
    """Have a generation that goes on at the endpoint ended. Raises CallError."""
    handle = Handle()
    handle.deadline = time.monotonic() + CANCEL_SECONDS
    send = _sender(target, read_key(target), handle, streamed=False)
    _ensure_watcher()
    _now.handle = handle
    _running.add(handle)
    try:
        send("POST", f"{path_of(target)}/{quote(generation, safe='')}/cancel", b"{}")
    except CallError as error:
        if error.status != 200:
            raise
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
    pool: urllib3.HTTPConnectionPool,
    method: str,
    path: str,
    payload: bytes | None,
    headers: dict[str, str],
    target: Target,
) -> tuple[int, str, float | None, bytes | dict[str, Any]]:
    """Status, content type, Retry-After in seconds, and the body: bytes, or the object a stream added up to."""
    response = pool.urlopen(
        method,
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
            event = parsed_json(data)
            if not isinstance(event, dict):
                continue
            whole.update({name: value for name, value in event.items() if name != "choices" and value is not None})
            for part in objects(event.get("choices")):
                delta = part["delta"] if isinstance(part.get("delta"), dict) else {}
                plain, reasoned = text_of(delta.get("content"))
                text.append(plain)
                thinking += [reasoned, first_text(delta, "reasoning", "reasoning_content")]
                annotations += objects(delta.get("annotations"))
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
