"""Replies as no honest endpoint sends them: a failure of a kind, and text that every database can hold."""

import io
import json

import pytest

from lhdr_site.endpoints.client import _read_stream
from lhdr_site.endpoints.errors import CallError
from lhdr_site.endpoints.replies import read_reply


@pytest.mark.parametrize("code", ["²", "٣", "4" * 5000, "\x00", "\ud800", -1, 7, 503.5, [], {"a": 1}, True, None])
def test_error_code_of_any_shape_is_a_failure_that_can_be_stored(code: object) -> None:
    body = json.dumps({"error": {"code": code, "message": "No."}}).encode()
    with pytest.raises(CallError) as caught:
        read_reply(200, "application/json", None, body, "openai", "")
    text = str(caught.value)
    assert len(text) < 200 and "\x00" not in text
    text.encode()


@pytest.mark.parametrize("body", [b"[" * 100_000, b'{"error":' * 100_000, b"4" * 5000])
def test_body_nested_without_end_is_an_invalid_one(body: bytes) -> None:
    with pytest.raises(CallError) as caught:
        read_reply(200, "application/json", None, body, "openai", "")
    assert caught.value.kind == "invalid_body"


@pytest.mark.parametrize(
    "event",
    [
        *({"choices": choices} for choices in (1, "x", {"a": 1}, [1], [None], [{"delta": 1}], [{"delta": [1]}])),
        *({"choices": [{"delta": {"annotations": odd, "content": 1, "reasoning": []}}]} for odd in (1, "x", {}, [1])),
    ],
)
def test_chunk_of_a_stream_of_any_shape_is_passed_over(event: object) -> None:
    good = {"choices": [{"delta": {"content": "Fine."}, "finish_reason": "stop"}]}
    lines = [json.dumps(event), "[" * 100_000, json.dumps(good), "[DONE]"]
    whole = _read_stream(io.BytesIO("".join(f"data: {line}\n\n" for line in lines).encode()), 9)  # type: ignore[arg-type]
    reply = read_reply(200, "text/event-stream", None, whole, "openai", "")
    assert (reply.text, reply.finish_reason, reply.citations) == ("Fine.", "stop", ())
