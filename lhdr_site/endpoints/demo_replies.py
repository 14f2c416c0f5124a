"""What the demo server says, in the shape of each wire format, and its generations that go on in the background.
Imports no Django."""

import time
from dataclasses import dataclass, field
from typing import Any

PROVIDER = "LHDR demo endpoint (recorded, not a model)"
USAGE = {"prompt_tokens": 100, "completion_tokens": 50, "cost": 0.0005}


@dataclass(frozen=True, slots=True)
class Answer:
    """What the server is going to say."""

    text: str = ""
    reasoning: str = ""
    behaviour: str = "ok"
    status: int = 0
    usage: dict[str, Any] | None = field(default_factory=lambda: dict(USAGE))  # None: the reply says nothing of it
    annotations: list[dict[str, str]] = field(default_factory=list)


# What can be switched on for a generation in the background besides the behaviours of the demo server.
BACKGROUND = {
    "expired": "the endpoint does not know it any more when asked",
    "never_done": "it never ends by itself",
    "cancelled": "it was cancelled at the endpoint",
    "failed": "it failed on the endpoint's side",
    "flagged": "it failed because the prompt was flagged",
    "poll_error": "asking after it fails twice with HTTP 503",
    "poll_auth": "asking after it is refused with HTTP 401",
}
_FAILURES = {
    "failed": {"code": "server_error", "message": "The model produced an error."},
    "finish_error": {"code": "server_error", "message": "The model produced an error."},
    "flagged": {"code": "invalid_prompt", "message": "Your prompt was flagged as violating the usage policy."},
}


@dataclass
class Generation:
    """One that goes on in the background: done after a moment and a number of polls."""

    whole: dict[str, Any]
    behaviour: str
    done_at: float
    polls: int
    asked: int = 0
    cancelled: bool = False

    def opening(self) -> dict[str, Any]:
        return {**self.whole, "status": "queued", "output": [], "usage": None, "error": None}

    def state(self) -> tuple[int, dict[str, Any]]:
        """HTTP status and body for one who asks."""
        self.asked += 1
        if self.cancelled or self.behaviour == "cancelled":
            return 200, {**self.opening(), "status": "cancelled"}
        if self.behaviour == "poll_error" and self.asked <= 2:
            return 503, {"error": {"code": "server_error", "message": "Demo of poll_error."}}
        if self.behaviour == "poll_auth":
            return 401, {"error": {"code": "invalid_api_key", "message": "Demo of poll_auth."}}
        if self.behaviour == "never_done" or time.monotonic() < self.done_at or self.asked <= self.polls:
            return 200, {**self.opening(), "status": "in_progress"}
        return 200, self.whole


def as_response(completion: dict[str, Any], behaviour: str) -> dict[str, Any]:
    """A chat completion in the shape of the Responses API."""
    choice = (completion["choices"] or [{}])[0]
    message, finish = choice.get("message") or {}, choice.get("finish_reason")
    output: list[dict[str, Any]] = []
    content = message.get("content") or ""
    parts = content if isinstance(content, list) else [{"type": "text", "text": content}]
    thinking = [str(part["thinking"]) for part in parts if part.get("type") == "thinking"]
    if thinking or message.get("reasoning"):
        said = message.get("reasoning") or "".join(thinking)
        output.append({"type": "reasoning", "summary": [{"type": "summary_text", "text": said}]})
    output.append({"type": "web_search_call", "status": "completed", "action": {"type": "search", "query": "demo"}})
    cited = [{"type": "url_citation", **note["url_citation"]} for note in message.get("annotations") or []]
    written: list[dict[str, Any]] = [
        {"type": "output_text", "text": part["text"], "annotations": []} if part.get("type") == "text" else part
        for part in parts
        if part.get("type") != "thinking"
    ]
    if written:
        written[-1]["annotations"] = cited
    if message.get("refusal"):
        written = [{"type": "refusal", "refusal": message["refusal"]}]
    if content or message.get("refusal"):
        output.append({"type": "message", "role": "assistant", "content": written})
    why = {"length": "max_output_tokens", "content_filter": "content_filter"}.get(finish or "")
    usage = completion.get("usage")
    error = _FAILURES.get(behaviour)
    return {
        "id": completion["id"].replace("gen-", "resp_"),
        "object": "response",
        "created_at": completion["created"],
        "status": "failed" if error else "incomplete" if why else "completed",
        "incomplete_details": {"reason": why} if why else None,
        "error": error,
        "model": completion["model"],
        "provider": completion["provider"],
        "output": None if behaviour == "choices_null" else output,
        "usage": usage and {"input_tokens": usage.get("prompt_tokens", usage.get("input_tokens")),
                            "output_tokens": usage.get("completion_tokens", usage.get("output_tokens")),
                            **({"cost": usage["cost"]} if "cost" in usage else {})},
    }  # fmt: skip


def completion_of(answer: Answer, key: str, model: str) -> dict[str, Any]:
    behaviour, text = answer.behaviour, answer.text
    usage = answer.usage
    if behaviour == "no_cost" and usage:
        usage = {"input_tokens": usage.get("prompt_tokens"), "output_tokens": usage.get("completion_tokens")}
    message: dict[str, Any] = {"role": "assistant", "content": text}
    if answer.reasoning:
        message["reasoning"] = answer.reasoning
    if answer.annotations:
        message["annotations"] = [{"type": "url_citation", "url_citation": a} for a in answer.annotations]
    finish: str | None = "stop"
    if behaviour in BACKGROUND:
        pass
    elif behaviour == "length":
        finish = "length"
    elif behaviour == "length_without_text":
        finish, message["content"] = "length", ""
    elif behaviour == "citations":
        message["annotations"] = [
            {"type": "url_citation", "url_citation": {"url": "https://example.org/page", "title": "A page"}},
            {"type": "url_citation", "url_citation": {"url": "javascript:alert(1)", "title": "No page"}},
        ]
    elif behaviour == "list_content":
        message["content"] = [
            {"type": "thinking", "thinking": "A thought."},
            {"type": "text", "text": text[:10]},
            {"type": "strange", "value": 1},
            {"type": "text", "text": text[10:]},
        ]
    elif behaviour == "reasoning_only":
        message.update(content="", reasoning="A thought without an end.")
    elif behaviour == "empty":
        message["content"] = ""
    elif behaviour == "null_content":
        message["content"] = None
    elif behaviour == "content_filter":
        finish = "content_filter"
    elif behaviour == "refusal":
        message.update(content=None, refusal="I cannot help with that.")
    elif behaviour == "finish_error":
        finish, message["content"] = "error", text[:20]
    completion: dict[str, Any] = {
        "id": f"gen-demo-{key[:16]}",
        "object": "chat.completion",
        "created": int(time.time()),
        "model": f"{model} (demo)",
        "provider": PROVIDER,
        "system_fingerprint": "demo",
        "choices": [{"index": 0, "message": message, "finish_reason": finish}],
    }
    if behaviour != "no_usage" and usage is not None:
        completion["usage"] = usage
    if behaviour == "choices_null":
        completion["choices"] = None
    elif behaviour == "choices_empty":
        completion["choices"] = []
    return completion


def as_anthropic(completion: dict[str, Any]) -> dict[str, Any]:
    choice = (completion["choices"] or [{}])[0]
    message = choice.get("message") or {}
    content = message.get("content") or ""
    blocks = content if isinstance(content, list) else [{"type": "text", "text": content}]
    if message.get("reasoning"):
        blocks = [{"type": "thinking", "thinking": message["reasoning"]}, *blocks]
    usage = completion.get("usage") or {}
    stops = {"stop": "end_turn", "length": "max_tokens", "content_filter": "refusal"}
    return {
        "id": completion["id"],
        "type": "message",
        "role": "assistant",
        "model": completion["model"],
        "provider": completion["provider"],
        "content": blocks,
        "stop_reason": stops.get(choice.get("finish_reason") or "", "end_turn"),
        "usage": {"input_tokens": usage.get("prompt_tokens"), "output_tokens": usage.get("completion_tokens")},
    }
