"""A small server that answers from recordings, for the demo and for tests: OpenAI chat completions and responses (also
in the background), and Anthropic messages.

Not a model: every reply says so. A request may ask it to misbehave by a field
`"demo": {"behaviour": "html_502", "times": 2, "delay_ms": 50}`; see BEHAVIOURS. Imports no Django.
"""

import hashlib
import json
import re
import socket
import struct
import threading
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

from .demo_replies import USAGE, Answer, Generation, as_anthropic, as_response, completion_of

NOTICE = "Demo answer, recorded or made up from a hash; no model was asked."

# What can be switched on for a request, and what it shows.
BEHAVIOURS = {
    "ok": "the ordinary answer",
    "length": "cut off at the token limit, with text",
    "length_without_text": "cut off at the token limit before any text",
    "citations": "with annotations, one of them no web address",
    "list_content": "content as a list of parts, one of them unknown",
    "reasoning_only": "reasoning and no text",
    "no_usage": "without usage",
    "no_cost": "with token counts under their other names, and without a price",
    "empty": "empty text",
    "null_content": "content null",
    "choices_null": "200 with choices null",
    "choices_empty": "200 with no choice",
    "error_in_200": "200 with an error body of code 503",
    "finish_error": "a choice that ends in an error",
    "content_filter": "finish_reason content_filter",
    "refusal": "a refusal in place of text",
    "refused": "400 by moderation",
    "forbidden": "403 by moderation",
    "rate_limited": "429 with Retry-After in seconds",
    "rate_limited_date": "429 with Retry-After as an HTTP date",
    "rate_limited_bare": "429 without Retry-After",
    "overloaded": "503 with Retry-After in seconds",
    "error": "500, or the status given",
    "html_502": "502 with an HTML page",
    "plain_text": "200 with plain text",
    "bad_request": "400",
    "auth": "401",
    "payment": "402",
    "out_of_quota": "429 that says the quota is used up",
    "not_found": "404",
    "too_large": "413",
    "redirect": "302 to elsewhere",
    "reset": "the connection is reset in the middle of the body",
    "short": "the connection is closed in the middle of the body",
    "slow_drip": "one byte every tenth of a second, without an end",
    "slow_headers": "the same, already in the headers",
    "silence": "headers, then nothing",
    "keep_alive": "a stream of nothing but keep-alive comments",
    "comments": "a stream with keep-alive comments between its chunks",
}
_STATUS = {"error": 500, "refused": 400, "forbidden": 403, "bad_request": 400, "auth": 401, "payment": 402,
           "not_found": 404, "too_large": 413, "overloaded": 503, "rate_limited": 429, "rate_limited_date": 429,
           "rate_limited_bare": 429, "out_of_quota": 429}  # fmt: skip
_MESSAGES = {"refused": "Your input was flagged by moderation.", "forbidden": "Your input was flagged by moderation."}
_URL = re.compile(r"https?://\S+")
_PROMPT = re.compile(
    r"^Reference answer: (?P<answer>.*?)^Other forms.*?^# The checklist$.*?:\n\n(?P<checklist>.*?)"
    r"^# The response to mark$.*?<response>(?P<response>.*)</response>",
    re.DOTALL | re.MULTILINE,
)
_ASKS_FOR_QUOTES = re.compile(r"^QUOTE \S{1,10}: ", re.MULTILINE)
_LABELS = re.compile(r"^LABEL (\d+|OVERALL): key", re.MULTILINE)
_MODES = re.compile(r"^- (\w+): ", re.MULTILINE)
_NUMBERED = re.compile(r"^\d+\. ", re.MULTILINE)
_STEPS = re.compile(r"CHECKLIST_SCORE\W{1,6}\w{1,6}\s*/\s*(\d{1,4})", re.IGNORECASE)


class Recordings:
    """The recorded answers, found by model and question (systems), or by model and response text (judges)."""

    def __init__(self, folder: Path | None = None):
        self.questions: dict[str, str] = {}  # item id -> question
        self.systems: dict[tuple[str, str, str], Answer] = {}  # model, item, condition
        self.judges: dict[str, list[tuple[str, Answer]]] = {}  # model -> (response text, verdict), longest text first
        if folder is None:
            return
        for row in _rows(folder / "items.jsonl"):
            self.questions[row["id"]] = row["question"]
        rows = [*_rows(folder / "recordings.jsonl"), *_rows(folder / "probes.jsonl")]
        for row in rows:
            if row["role"] == "system":
                self.systems[row["model"], row["item"], row["condition"]] = _recorded(row)
        for row in rows:
            if row["role"] == "judge":
                judged = self.systems.get((row["system"], row["item"], row["condition"]))
                if judged and judged.text.strip():
                    self.judges.setdefault(row["model"], []).append((judged.text.strip(), _recorded(row)))
        for answers in self.judges.values():
            answers.sort(key=lambda pair: -len(pair[0]))

    @property
    def models(self) -> list[str]:
        return sorted({model for model, _, _ in self.systems} | set(self.judges))

    def find(self, model: str, text: str, with_image: bool) -> Answer:
        if labelled := _LABELS.findall(text):
            return made_up_labels(model, text, labelled)
        steps = _STEPS.search(text)
        if steps or model in self.judges:
            for response, verdict in self.judges.get(model, ()):
                if response in text:
                    return verdict
            return literal_verdict(text) or made_up_verdict(model, text, int(steps[1]) if steps else 1)
        condition = "with_image" if with_image else "without_image"
        for item, question in self.questions.items():
            if question in text and (model, item, condition) in self.systems:
                return self.systems[model, item, condition]
        return made_up_answer(model, text)


def _rows(path: Path) -> Iterator[dict[str, Any]]:
    if path.exists():
        with open(path, encoding="utf-8") as file:
            yield from (json.loads(line) for line in file if line.strip())


def _recorded(row: dict[str, Any]) -> Answer:
    return Answer(
        text=row.get("text") or "",
        reasoning=row.get("reasoning") or "",
        behaviour=row.get("behaviour") or "ok",
        status=row.get("status") or 0,
        usage=row.get("usage", USAGE),
        annotations=row.get("annotations") or [],
    )


def _draw(*parts: str) -> Iterator[int]:
    """An endless, repeatable row of bytes."""
    seed, block = "\n".join(parts), 0
    while True:
        yield from hashlib.sha256(f"{block}\n{seed}".encode()).digest()
        block += 1


def made_up_answer(model: str, text: str) -> Answer:
    """For a question without a recording: always the same for the same model and question."""
    draw = _draw(model, _URL.sub("", text).strip())
    number, topic = next(draw) * 256 + next(draw), " ".join(text.split()[-6:])[:80]
    words = (
        f"{NOTICE}\n\nThe question ends with “{topic}”. Following it step by step would take a real system; "
        f"this one only says a number.\n\nFinal answer: {number}"
    )
    tokens = len(text) // 4 + 1
    return Answer(words, usage={"prompt_tokens": tokens, "completion_tokens": 60, "cost": tokens / 1e6})


def literal_verdict(text: str) -> Answer | None:
    """For a response that states conclusions word for word, or nothing at all: the verdict that follows from it.

    None for a prompt that is laid out otherwise, and for a response that states none of them so.
    """
    laid_out = _PROMPT.search(text)
    if laid_out is None:
        return None
    said = " ".join(laid_out["response"].split())
    conclusions = [" ".join(line.split()) for line in _NUMBERED.split(laid_out["checklist"])[1:]]
    vector = [int(conclusion in said) for conclusion in conclusions]
    if said and not any(vector):
        return None
    correct = "YES" if said and " ".join(laid_out["answer"].split()) in said.rpartition("Final answer:")[2] else "NO"
    quotes = [f'QUOTE {n}: "{said}"' for n, said in enumerate(conclusions, 1) if vector[n - 1]]
    shown = "".join(f"{line}\n" for line in quotes) + "\n" if _ASKS_FOR_QUOTES.search(text) else ""
    words = (
        f"{NOTICE} The conclusions were looked for word for word.\n\n{shown}"
        f"CHECKLIST_SCORE: {sum(vector)}/{len(vector)}\n"
        f"CHECKLIST_RESULT: {vector}\nOVERALL_CORRECTNESS: {correct}"
    )
    tokens = len(text) // 4 + 1
    return Answer(words, usage={"prompt_tokens": tokens, "completion_tokens": 60, "cost": tokens / 1e6})


def made_up_verdict(model: str, text: str, steps: int) -> Answer:
    """A well-formed verdict of the length that the prompt asks for: always the same for the same model and prompt."""
    draw = _draw(model, _URL.sub("", text))
    vector = [int(next(draw) < 128) for _ in range(steps)]
    correct = "YES" if next(draw) < 96 else "NO"
    words = (
        f"{NOTICE}\n\nCHECKLIST_SCORE: {sum(vector)}/{steps}\n"
        f"CHECKLIST_RESULT: {vector}\nOVERALL_CORRECTNESS: {correct}"
    )
    tokens = len(text) // 4 + 1
    return Answer(words, usage={"prompt_tokens": tokens, "completion_tokens": 40 + steps, "cost": tokens / 1e6})


def made_up_labels(model: str, text: str, which: list[str]) -> Answer:
    """A mode for each step that the prompt asks about: the first ones listed come more often, and two models agree on
    most; always the same for the same model and prompt."""
    modes = _MODES.findall(text.partition("# The modes")[2].partition("# The response")[0])
    own, common = _draw(model, text), _draw(text)
    lines = []
    for number in which:
        usual, other = next(common), next(own)
        drawn = usual if next(own) < 192 else other
        mode = modes[drawn * drawn * len(modes) // 65_536]
        lines.append(f"LABEL {number}: {mode} | drawn for the demo")
    tokens = len(text) // 4 + 1
    usage = {"prompt_tokens": tokens, "completion_tokens": 12 * len(lines), "cost": tokens / 1e6}
    return Answer("\n".join([NOTICE, "", *lines]), usage=usage)


def read_request(body: dict[str, Any]) -> tuple[str, bool]:
    """Text of the last user message, and whether a picture comes with it (as a part, or as an address in the text)."""
    users = [
        m for m in body.get("messages") or body.get("input") or [] if isinstance(m, dict) and m.get("role") == "user"
    ]
    content = users[-1].get("content") if users else ""
    if isinstance(content, str):
        text, pictures = content, False
    else:
        parts = [part for part in content or [] if isinstance(part, dict)]
        text = "".join(str(part.get("text") or "") for part in parts if part.get("type") in ("text", "input_text"))
        pictures = any(part.get("type") in ("image_url", "image", "input_image") for part in parts)
    return text, pictures or bool(re.search(r"https?://\S+\s*$", text))


class DemoServer(ThreadingHTTPServer):
    """Serves until `shutdown`; `address` is the base URL for an Endpoint of the OpenAI wire format."""

    daemon_threads = True
    block_on_close = False
    request_queue_size = 256
    allow_reuse_address = True

    def __init__(self, port: int = 0, folder: Path | None = None, delay_ms: int = 0, host: str = "127.0.0.1"):
        self.recordings = Recordings(folder)
        self.delay_ms = delay_ms
        self.seen: Counter[str] = Counter()  # requests by key
        self.usage = 0.0  # USD, the sum of the costs it reported
        self.requests: list[dict[str, Any]] | None = None  # a test sets a list to see what was asked
        self.generations: dict[str, Generation] = {}  # in the background, by id
        self.lock = threading.Lock()
        self.stopping = threading.Event()
        super().__init__((host, port), _Handler)

    @property
    def address(self) -> str:
        return f"http://{self.server_address[0]!s}:{self.server_address[1]}/v1"

    def handle_error(self, request: Any, client_address: Any) -> None:
        pass  # clients that hang up are part of what it is for

    def shutdown(self) -> None:
        self.stopping.set()
        super().shutdown()


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server_version = "lhdr-demo"
    disable_nagle_algorithm = True
    wbufsize = -1  # one packet for headers and body
    server: DemoServer

    def log_message(self, *args: Any) -> None:
        pass

    def do_GET(self) -> None:
        path = self.path.split("?")[0]
        if path == "/v1/models":
            models = self.server.recordings.models or ["demo"]
            self._json(200, {"object": "list", "data": [{"id": m, "object": "model"} for m in models]})
        elif path == "/v1/key":
            usage = {"usage": round(self.server.usage, 6), "limit": None, "limit_remaining": None}
            self._json(200, {"data": {"label": "demo", **usage}})
        elif path.startswith("/v1/responses/"):
            self._json(*self._generation(path.removeprefix("/v1/responses/")))
        else:
            self._json(404, {"error": {"code": 404, "message": f"There is no {path} here."}})

    def do_POST(self) -> None:
        try:
            body = json.loads(self.rfile.read(int(self.headers.get("Content-Length") or 0)))
            if not isinstance(body, dict):
                raise ValueError
        except ValueError:
            self._json(400, {"error": {"code": 400, "message": "The request is no JSON object."}})
            return
        path = self.path.split("?")[0]
        if path.startswith("/v1/responses/") and path.endswith("/cancel"):
            self._json(*self._generation(path[len("/v1/responses/") : -len("/cancel")], cancel=True))
            return
        if path not in ("/v1/chat/completions", "/v1/messages", "/v1/responses"):
            self._json(404, {"error": {"code": 404, "message": f"There is no {path} here."}})
            return
        if self.server.requests is not None:
            self.server.requests.append({"path": path, "headers": dict(self.headers), "body": body})
        model, (text, with_image) = str(body.get("model") or ""), read_request(body)
        wish = body.get("demo")
        wish = wish if isinstance(wish, dict) else {}
        key = hashlib.sha256(f"{model}\n{with_image}\n{_URL.sub('', text).strip()}".encode()).hexdigest()
        with self.server.lock:
            self.server.seen[key] += 1
            count = self.server.seen[key]
        answer = self.server.recordings.find(model, text, with_image)
        behaviour = str(wish.get("behaviour") or "")
        if behaviour and count <= int(wish.get("times") or 1_000_000_000):
            answer = replace(answer, behaviour=behaviour, status=int(wish.get("status") or 0))
        delay = float(wish.get("delay_ms", self.server.delay_ms)) / 1000
        background = path == "/v1/responses" and bool(body.get("background"))
        if delay and not background and self.server.stopping.wait(delay):
            return
        self._misbehave_or_answer(answer, body, wish, path=path, key=key, delay=delay if background else None)

    def _generation(self, name: str, *, cancel: bool = False) -> tuple[int, dict[str, Any]]:
        with self.server.lock:
            found = self.server.generations.get(name)
            if found is None or found.behaviour == "expired":
                return 404, {"error": {"code": None, "message": f"Response with id '{name}' not found."}}
            if cancel:
                found.cancelled = True
            return found.state()

    # --- replies

    def _misbehave_or_answer(
        self,
        answer: Answer,
        body: dict[str, Any],
        wish: dict[str, Any],
        *,
        path: str,
        key: str,
        delay: float | None,
    ) -> None:
        behaviour = answer.behaviour
        wait = wish.get("retry_after", 1)
        if behaviour in _STATUS:
            status = answer.status or _STATUS[behaviour]
            said = _MESSAGES.get(behaviour, f"Demo of {behaviour}.")
            recorded = answer.status and answer.text and not wish.get("behaviour")
            error: dict[str, Any] = {"code": status, "message": answer.text if recorded else said}
            if behaviour in _MESSAGES:
                error["metadata"] = {"reasons": ["policy"], "flagged_input": ""}
            elif behaviour == "out_of_quota":
                error = {"code": "insufficient_quota", "message": "You exceeded your current quota."}
            headers = {}
            if behaviour in ("rate_limited", "overloaded"):
                headers["Retry-After"] = str(wait)
            elif behaviour == "rate_limited_date":
                headers["Retry-After"] = format_datetime(datetime.now(UTC) + timedelta(seconds=wait), usegmt=True)
            self._json(status, {"error": error}, headers)
        elif behaviour == "html_502":
            page = "<html><head><title>502 Bad Gateway</title></head><body><h1>502 Bad Gateway</h1>" + "<p>…</p>" * 500
            self._send(502, page.encode(), "text/html; charset=utf-8")
        elif behaviour == "plain_text":
            self._send(200, b"upstream connect error or disconnect before headers", "text/plain")
        elif behaviour == "redirect":
            self._send(302, b"", "text/plain", {"Location": "/v1/models"})
        elif behaviour == "error_in_200":
            self._json(200, {"id": "gen-demo", "error": {"code": 503, "message": "Provider returned error"}})
        elif behaviour in ("reset", "short"):
            self._break_off(reset=behaviour == "reset")
        elif behaviour in ("slow_drip", "slow_headers", "silence", "keep_alive"):
            self._never_end(behaviour)
        else:
            completion = completion_of(answer, key, str(body.get("model") or ""))
            with self.server.lock:
                self.server.usage += (completion.get("usage") or {}).get("cost") or 0
            if path == "/v1/responses":
                self._respond(completion, behaviour, wish, delay)
            elif body.get("stream") and path != "/v1/messages":
                self._stream(completion, comments=behaviour == "comments")
            else:
                self._json(200, as_anthropic(completion) if path == "/v1/messages" else completion)

    def _respond(self, completion: dict[str, Any], behaviour: str, wish: dict[str, Any], delay: float | None) -> None:
        """At once, or (with a delay, which may be none) as a generation that goes on in the background."""
        whole = as_response(completion, behaviour)
        if delay is None:
            self._json(200, whole)
            return
        with self.server.lock:
            whole["id"] = f"resp_demo_{len(self.server.generations)}"
            made = Generation(whole, behaviour, time.monotonic() + delay, int(wish.get("polls") or 0))
            self.server.generations[whole["id"]] = made
        self._json(200, made.opening())

    def _json(self, status: int, data: Any, headers: dict[str, str] | None = None) -> None:
        self._send(status, json.dumps(data, ensure_ascii=False).encode(), "application/json", headers)

    def _send(self, status: int, body: bytes, content_type: str, headers: dict[str, str] | None = None) -> None:
        self.send_response(status)
        self.send_header("Content-Type", content_type)
        self.send_header("Content-Length", str(len(body)))
        self.send_header("X-LHDR-Demo", "recorded, not a model")
        for name, value in (headers or {}).items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(body)
        self.wfile.flush()

    def _stream(self, completion: dict[str, Any], *, comments: bool) -> None:
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream")
        self.send_header("Transfer-Encoding", "chunked")
        self.send_header("X-LHDR-Demo", "recorded, not a model")
        self.end_headers()
        choice = (completion.pop("choices") or [{}])[0]
        usage = completion.pop("usage", None)
        message = choice.get("message") or {}
        text = message.get("content") or ""
        deltas = [{"content": text[at : at + 40]} for at in range(0, len(text), 40)] if isinstance(text, str) else [
            {"content": text}]  # fmt: skip
        deltas += [{name: message[name]} for name in ("reasoning", "annotations") if message.get(name)]
        for delta in deltas:
            if comments:
                self._chunk(b": OPENROUTER PROCESSING\n\n")
            self._event({**completion, "choices": [{"index": 0, "delta": delta, "finish_reason": None}]})
        end = {"index": 0, "delta": {}, "finish_reason": choice.get("finish_reason")}
        self._event({**completion, "choices": [end]})
        if usage is not None:
            self._event({**completion, "choices": [], "usage": usage})
        self._chunk(b"data: [DONE]\n\n")
        self.wfile.write(b"0\r\n\r\n")
        self.wfile.flush()

    def _event(self, data: dict[str, Any]) -> None:
        self._chunk(b"data: " + json.dumps(data).encode() + b"\n\n")

    def _chunk(self, data: bytes) -> None:
        self.wfile.write(f"{len(data):x}\r\n".encode() + data + b"\r\n")
        self.wfile.flush()

    def _break_off(self, *, reset: bool) -> None:
        self.wfile.write(b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 5000\r\n\r\n")
        self.wfile.write(b'{"id": "gen-demo", "choices": [{"message": {"content": "The ans')
        self.wfile.flush()
        self.close_connection = True
        if reset:
            time.sleep(0.05)  # the half must be read before the reset throws it away
            self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            self.connection.close()

    def _never_end(self, behaviour: str) -> None:
        self.close_connection = True
        kind = "text/event-stream" if behaviour == "keep_alive" else "application/json"
        head = f"HTTP/1.1 200 OK\r\nContent-Type: {kind}\r\n".encode()
        self.wfile.write(head if behaviour == "slow_headers" else head + b"Connection: close\r\n\r\n")
        self.wfile.flush()
        drip = {"slow_headers": b"x", "slow_drip": b" ", "keep_alive": b": OPENROUTER PROCESSING\n\n"}.get(behaviour)
        while not self.server.stopping.wait(0.1):
            if drip:
                self.wfile.write(drip)
                self.wfile.flush()
            else:
                self.connection.settimeout(0.1)
                try:
                    if not self.connection.recv(1, socket.MSG_PEEK):
                        return
                except TimeoutError:
                    pass
