"""Every provider behaviour over real HTTP, against the real demo server."""

import socket
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from decimal import Decimal

import pytest

from lhdr_site.endpoints import client
from lhdr_site.endpoints.bodies import chat_body, without_image_bytes
from lhdr_site.endpoints.client import Handle, call, parse_retry_after
from lhdr_site.endpoints.demo_replies import BACKGROUND
from lhdr_site.endpoints.demo_server import BEHAVIOURS
from lhdr_site.endpoints.errors import CallError, ErrorKind
from lhdr_site.endpoints.replies import Reply, read_reply, with_figures

PNG = b"\x89PNG demo"


def ask(target, behaviour="ok", *, stream=False, handle=None, text="What is it?", **wish):
    extra = {"demo": {"behaviour": behaviour, **wish}}
    if stream:
        extra["stream"] = True
    return call(target, chat_body(target.wire, "demo", text, extra=extra), handle=handle)


def failure(*args, **kwargs):
    with pytest.raises(CallError) as caught:
        ask(*args, **kwargs)
    return caught.value


def test_call_when_all_is_well_returns_everything_reported(target):
    reply = ask(target)
    assert reply.text.startswith("Demo answer")
    # 11 characters: 11 // 4 + 1 = 3 tokens at a millionth of a dollar each
    assert (reply.prompt_tokens, reply.completion_tokens, reply.cost) == (3, 60, Decimal("0.000003"))
    assert reply.model == "demo (demo)" and "not a model" in reply.provider
    assert reply.fingerprint == "demo" and reply.generation.startswith("gen-demo-")
    assert (reply.http_status, reply.finish_reason, reply.truncated) == (200, "stop", False)
    assert '"choices"' in reply.body and reply.content_type == "application/json"


@pytest.mark.parametrize("behaviour", ["ok", "comments"])
def test_call_when_streamed_returns_the_same_text_and_usage(target, behaviour):
    plain, streamed = ask(target), ask(target, behaviour, stream=True)
    assert streamed.text == plain.text
    assert (streamed.cost, streamed.prompt_tokens, streamed.finish_reason) == (plain.cost, plain.prompt_tokens, "stop")
    assert "chat.completion" in streamed.body


FAILURES = [
    # behaviour, kind, another try is worth it, HTTP status
    ("rate_limited", "rate_limited", True, 429),
    ("rate_limited_date", "rate_limited", True, 429),
    ("rate_limited_bare", "rate_limited", True, 429),
    ("overloaded", "overloaded", True, 503),
    ("error", "overloaded", True, 500),
    ("html_502", "overloaded", True, 502),
    ("error_in_200", "overloaded", True, 200),
    ("finish_error", "overloaded", True, 200),
    ("choices_null", "empty", True, 200),
    ("choices_empty", "empty", True, 200),
    ("null_content", "empty", True, 200),
    ("empty", "empty", True, 200),
    ("reasoning_only", "reasoning_only", True, 200),
    ("length_without_text", "reasoning_only", False, 200),
    ("content_filter", "refused", False, 200),
    ("refusal", "refused", False, 200),
    ("refused", "refused", False, 400),
    ("forbidden", "refused", False, 403),
    ("bad_request", "bad_request", False, 400),
    ("auth", "auth", False, 401),
    ("payment", "payment", False, 402),
    ("out_of_quota", "payment", False, 429),
    ("not_found", "not_found", False, 404),
    ("too_large", "too_large", False, 413),
    ("redirect", "bad_request", False, 302),
    ("plain_text", "invalid_body", True, 200),
    ("reset", "network", True, None),
    ("short", "network", True, None),
    ("slow_drip", "timeout", True, None),
    ("slow_headers", "timeout", True, None),
    ("silence", "timeout", True, None),
    ("keep_alive", "timeout", True, None),
]


@pytest.mark.parametrize("behaviour, kind, retryable, status", FAILURES)
def test_call_when_the_endpoint_misbehaves_raises_the_right_kind(target, behaviour, kind, retryable, status):
    started = time.monotonic()
    error = failure(replace(target, total_timeout=2), behaviour, stream=behaviour == "keep_alive")
    assert (error.kind, error.retryable, error.status) == (kind, retryable, status)
    assert time.monotonic() - started < 4
    assert error.message


def test_behaviours_of_the_demo_server_are_all_tested():
    as_failures = {row[0] for row in FAILURES}
    answered = {"ok", "length", "citations", "list_content", "no_usage", "no_cost", "comments"}
    assert as_failures | answered == set(BEHAVIOURS)


# --- the Responses API, in the background and at once

SLOW = ("slow_drip", "slow_headers", "silence", "keep_alive")  # the transport is the same


@pytest.fixture
def responses(target, monkeypatch):
    monkeypatch.setattr(client, "FIRST_POLL", 0.01)
    return replace(target, wire="openai-responses")


@pytest.mark.parametrize("background", [True, False])
@pytest.mark.parametrize("behaviour, kind, retryable, status", [row for row in FAILURES if row[0] not in SLOW])
def test_responses_call_when_the_endpoint_misbehaves_raises_the_right_kind(
    responses, behaviour, kind, retryable, status, background
):
    with pytest.raises(CallError) as caught:
        extra = {"demo": {"behaviour": behaviour}, "background": background}
        call(responses, chat_body("openai-responses", "demo", "What?", extra=extra))
    error = caught.value
    assert (error.kind, error.retryable, error.status) == (kind, retryable, status)
    assert error.message and not error.unfinished


IN_BACKGROUND = [
    ("expired", "lost", True, None),
    ("never_done", "timeout", True, None),
    ("cancelled", "overloaded", True, 200),
    ("failed", "overloaded", True, 200),
    ("flagged", "refused", False, 200),
    ("poll_auth", "auth", False, 401),
]


@pytest.mark.parametrize("behaviour, kind, retryable, status", IN_BACKGROUND)
def test_generation_in_the_background_that_goes_wrong_raises_the_right_kind(
    responses, behaviour, kind, retryable, status
):
    error = failure(replace(responses, total_timeout=0.4), behaviour)
    assert (error.kind, error.retryable, error.status) == (kind, retryable, status)
    assert error.unfinished == (behaviour == "poll_auth")
    assert {row[0] for row in IN_BACKGROUND} | {"poll_error"} == set(BACKGROUND)


def test_responses_call_sends_text_and_images_in_its_own_shape(responses, server):
    server.requests = []
    call(responses, chat_body("openai-responses", "demo", "What?", [("image/png", PNG)], {"input": "x", "tools": []}))
    (request,) = server.requests
    server.requests = None
    (message,) = request["body"]["input"]
    assert request["path"] == "/v1/responses" and request["body"]["background"] is True
    assert [part["type"] for part in message["content"]] == ["input_text", "input_image"]
    assert message["content"][1]["image_url"].startswith("data:image/png;base64,")
    assert list(request["body"]) == ["model", "input", "background", "tools"]


@pytest.mark.parametrize("background", [True, False])
def test_responses_call_reads_text_reasoning_citations_and_figures(responses, background):
    def say(behaviour):
        extra = {"demo": {"behaviour": behaviour}, "background": background}
        return call(responses, chat_body("openai-responses", "demo", "What is it?", extra=extra))

    reply = say("ok")
    assert reply.text.startswith("Demo answer") and reply.model == "demo (demo)"
    assert (reply.prompt_tokens, reply.completion_tokens, reply.cost) == (3, 60, Decimal("0.000003"))
    assert (reply.finish_reason, reply.truncated, reply.unfinished) == ("completed", False, False)
    assert reply.generation.startswith("resp_")
    assert say("citations").citations == ({"url": "https://example.org/page", "title": "A page"},)
    assert (say("list_content").text, say("list_content").thinking) == (reply.text, "A thought.")
    assert (say("length").truncated, say("length").finish_reason) == (True, "max_output_tokens")
    assert (say("no_usage").cost, say("no_usage").prompt_tokens, say("no_cost").cost) == (None, None, None)


@pytest.mark.parametrize("wish", [{"polls": 2}, {"behaviour": "poll_error"}])
def test_generation_in_the_background_is_asked_for_once_and_waited_for(responses, server, wish):
    server.requests, ids = [], []
    reply = call(responses, chat_body("openai-responses", "demo", "Q?", extra={"demo": wish}), started=ids.append)
    posts, server.requests = len(server.requests), None
    assert posts == 1 and ids == [reply.generation]
    assert server.generations[ids[0]].asked == 3


def test_generation_known_by_its_id_is_taken_up_without_asking_anew(responses, server):
    body = chat_body("openai-responses", "demo", "Long?", extra={"demo": {"delay_ms": 300}})
    with pytest.raises(CallError):
        ids = []
        call(replace(responses, total_timeout=0.1), body, started=ids.append)
    server.requests = []
    reply = call(responses, body, generation=ids[0], max_bytes=1)
    assert (reply.generation, server.requests) == (ids[0], [])
    server.requests = None


def test_generation_that_is_cancelled_ends_at_the_endpoint(responses, server):
    ids = []
    body = chat_body("openai-responses", "demo", "Cancelled?", extra={"demo": {"behaviour": "never_done"}})
    with pytest.raises(CallError):
        call(replace(responses, total_timeout=0.1), body, started=ids.append)
    client.cancel(responses, ids[0])
    assert server.generations[ids[0]].cancelled
    with pytest.raises(CallError) as caught:
        client.cancel(responses, "resp/../unknown")
    assert caught.value.kind is ErrorKind.NOT_FOUND


def test_call_that_waits_for_a_generation_is_ended_from_another_thread(responses, monkeypatch):
    monkeypatch.setattr(client, "FIRST_POLL", 30.0)
    handle = Handle()
    threading.Timer(0.1, handle.end, [ErrorKind.CANCELLED]).start()
    started = time.monotonic()
    assert failure(responses, "never_done", handle=handle).kind is ErrorKind.CANCELLED
    assert time.monotonic() - started < 2


# --- what comes back


def test_call_when_cut_off_with_text_is_flagged_truncated(target):
    reply = ask(target, "length")
    assert reply.truncated and reply.text


def test_call_when_content_is_a_list_joins_text_and_keeps_thinking_apart(target):
    reply = ask(target, "list_content")
    assert reply.text == ask(target).text
    assert reply.thinking == "A thought."
    assert '"strange"' in reply.body


def test_call_when_usage_is_missing_reports_unknown_not_zero(target):
    reply = ask(target, "no_usage")
    assert (reply.prompt_tokens, reply.completion_tokens, reply.cost) == (None, None, None)


def test_call_when_usage_has_the_other_names_reads_them(target):
    reply = ask(target, "no_cost")
    assert (reply.prompt_tokens, reply.completion_tokens, reply.cost) == (3, 60, None)


def test_call_when_cited_keeps_web_addresses_only(target):
    assert ask(target, "citations").citations == ({"url": "https://example.org/page", "title": "A page"},)
    assert ask(target, "citations", stream=True).citations == ask(target, "citations").citations


def test_call_when_html_comes_back_keeps_two_kilobytes_and_the_type(target):
    error = failure(target, "html_502")
    assert len(error.body) == 2048 and error.body.startswith("<html>")
    assert error.content_type == "text/html; charset=utf-8"


def test_call_when_a_reply_with_usage_fails_keeps_the_usage(target):
    assert failure(target, "empty").reply.cost == Decimal("0.000003")


@pytest.mark.parametrize(
    "behaviour, expected", [("rate_limited", 7.0), ("overloaded", 7.0), ("rate_limited_bare", None)]
)
def test_call_when_told_to_wait_says_for_how_long(target, behaviour, expected):
    assert failure(target, behaviour, retry_after=7).retry_after == expected


def test_call_when_told_to_wait_until_a_date_says_for_how_long(target):
    # an HTTP date has whole seconds, so up to one is lost
    assert 18 <= failure(target, "rate_limited_date", retry_after=20).retry_after <= 20


@pytest.mark.parametrize(
    "value, expected",
    [("", None), ("5", 5.0), ("0.5", 0.5), ("-3", 0.0), ("soon", None), ("nan", None), ("1e12", 86400.0),
     ("Wed, 21 Oct 2015 07:28:00 GMT", 0.0)],
)  # fmt: skip
def test_retry_after_of_each_form_is_read(value, expected):
    assert parse_retry_after(value) == expected


def test_call_when_slow_is_ended_at_its_total_deadline(target):
    started = time.monotonic()
    # a byte every tenth of a second never breaks the silence limit of one second
    error = failure(replace(target, total_timeout=1), "slow_drip")
    assert error.kind is ErrorKind.TIMEOUT and "1 s in all" in error.message
    assert 0.9 < time.monotonic() - started < 2.5


def test_call_when_a_stream_only_keeps_alive_counts_it_as_silence(target):
    error = failure(replace(target, total_timeout=30), "keep_alive", stream=True)
    assert error.kind is ErrorKind.TIMEOUT and "keep-alive" in error.message


def test_call_when_nobody_listens_is_a_network_error(target):
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        error = failure(replace(target, base_url=f"http://127.0.0.1:{free.getsockname()[1]}/v1"))
    assert error.kind is ErrorKind.NETWORK and "refused" in error.message


@pytest.mark.parametrize("base_url", ["nonsense://x/v1", "http://", "http://[::1/v1"])
def test_call_when_the_base_url_is_wrong_says_so(target, base_url):
    assert failure(replace(target, base_url=base_url)).kind in (ErrorKind.NOT_FOUND, ErrorKind.NETWORK)


def test_call_when_ended_from_another_thread_stops_at_once(target):
    handle = Handle()
    threading.Timer(0.3, handle.end, [ErrorKind.CANCELLED]).start()
    started = time.monotonic()
    error = failure(replace(target, read_timeout=30, total_timeout=30), "silence", handle=handle)
    assert error.kind is ErrorKind.CANCELLED
    assert time.monotonic() - started < 2


def test_call_when_the_request_is_too_large_sends_nothing(target, server):
    server.requests = []
    body = chat_body("openai", "demo", "Look.", [("image/png", b"x" * 3000)])
    with pytest.raises(CallError) as caught:
        call(target, body, max_bytes=2000)
    assert caught.value.kind is ErrorKind.TOO_LARGE and server.requests == []
    server.requests = None


def test_call_when_the_reply_is_too_large_stops_reading(target, monkeypatch):
    monkeypatch.setattr(client, "MAX_REPLY_BYTES", 100)
    assert failure(target).kind is ErrorKind.INVALID_BODY


def test_call_uses_connections_again_and_serves_a_hundred_at_once(target, server):
    with ThreadPoolExecutor(100) as threads:
        replies = list(threads.map(lambda n: ask(target, delay_ms=100, text=f"Question {n}?"), range(200)))
    assert len({reply.text for reply in replies}) == 200
    pool, _ = client._pool(target.base_url)
    assert pool.num_requests > pool.num_connections


def test_key_is_sent_and_never_shown(target, server, monkeypatch):
    monkeypatch.setenv("LHDR_KEY_TEST", "secret-key-123")
    server.requests = []
    ask(replace(target, key_variable="LHDR_KEY_TEST"))
    assert server.requests[0]["headers"]["Authorization"] == "Bearer secret-key-123"
    server.requests = None


@pytest.mark.parametrize("name, value", [("LHDR_KEY_GONE", None), ("LHDR_KEY_X", "a\nb: c"), ("HOME", "/root")])
def test_key_when_it_cannot_be_used_is_an_auth_error_without_the_key(target, monkeypatch, name, value):
    if value:
        monkeypatch.setenv(name, value)
    error = failure(replace(target, key_variable=name))
    assert error.kind is ErrorKind.AUTH
    assert not value or value not in error.message


def test_reply_that_repeats_the_key_is_kept_without_it():
    with pytest.raises(CallError) as caught:
        read_reply(401, "application/json", None, b'{"error": {"message": "wrong key sk-1"}}', "openai", "sk-1")
    assert "sk-1" not in caught.value.message + caught.value.body


def test_reply_with_characters_no_database_holds_is_cleaned():
    data = b'{"choices": [{"message": {"content": "a\\u0000b\\ud800c"}, "finish_reason": "stop"}]}'
    assert read_reply(200, "application/json", None, data, "openai", "").text == "a\ufffdb\ufffdc"


@pytest.mark.parametrize(
    "usage, cost",
    [({"cost": "x"}, None), ({"cost": -1}, None), ({"cost": True}, None), ({"cost": 0}, Decimal(0)), ([], None),
     ({"cost": float("inf")}, None), ({"prompt_tokens": -1}, None)],
)  # fmt: skip
def test_usage_that_is_no_usage_is_unknown(usage, cost):
    reply = with_figures(Reply(), {"usage": usage})
    assert (reply.cost, reply.prompt_tokens) == (cost, None)


# --- Anthropic messages


@pytest.fixture
def anthropic(target):
    return replace(target, base_url=target.base_url.removesuffix("/v1"), wire="anthropic")


def test_anthropic_call_sends_its_headers_and_blocks_and_reads_them(anthropic, server):
    server.requests = []
    reply = call(anthropic, chat_body("anthropic", "demo", "What is it?", [("image/png", PNG)]))
    request = server.requests[0]
    server.requests = None
    assert request["path"] == "/v1/messages"
    assert request["headers"]["anthropic-version"] == "2023-06-01"
    assert [part["type"] for part in request["body"]["messages"][0]["content"]] == ["text", "image"]
    assert reply.text.startswith("Demo answer") and (reply.prompt_tokens, reply.cost) == (3, None)
    assert reply.finish_reason == "end_turn"


@pytest.mark.parametrize(
    "behaviour, kind", [("rate_limited", "rate_limited"), ("content_filter", "refused"), ("empty", "empty")]
)
def test_anthropic_call_when_it_misbehaves_raises_the_right_kind(anthropic, behaviour, kind):
    assert failure(anthropic, behaviour).kind == kind


def test_anthropic_call_when_cut_off_is_flagged_truncated(anthropic):
    assert ask(anthropic, "length").truncated


# --- requests


def test_chat_body_with_images_puts_them_after_the_text():
    body = chat_body("openai", "m", "Question?", [("image/png", PNG)], {"tools": [1], "model": "other", "messages": []})
    assert body["model"] == "m" and body["tools"] == [1]
    assert [part["type"] for part in body["messages"][0]["content"]] == ["text", "image_url"]
    assert list(body) == ["model", "messages", "tools"]


def test_chat_body_without_images_is_plain_text_alone():
    assert chat_body("openai", "m", "Q?") == {"model": "m", "messages": [{"role": "user", "content": "Q?"}]}


@pytest.mark.parametrize("wire", ["openai", "anthropic", "openai-responses"])
def test_stored_request_holds_the_hash_in_place_of_image_bytes(wire):
    import hashlib

    stored = str(without_image_bytes(chat_body(wire, "m", "Q?", [("image/png", PNG)])))
    assert hashlib.sha256(PNG).hexdigest() in stored
    assert "base64," not in stored and "iVBOR" not in stored


def test_ended_call_is_cut_off_before_whoever_waits_goes_on() -> None:
    """The one who waits cancels the generation next, and would do so on the connection that is then cut off."""
    ours, theirs = socket.socketpair()
    theirs.setblocking(False)
    seen: list[bytes] = []

    class Over(threading.Event):
        def set(self) -> None:
            seen.append(theirs.recv(1))  # nothing to read as long as the connection stands
            super().set()

    handle = Handle()
    handle.sock, handle.over = ours, Over()
    handle.end(ErrorKind.CANCELLED)
    assert seen == [b""] and handle.over.is_set()
    ours.close()
    theirs.close()
