"""Input that no honest form sends: never an error of ours, always a sentence with the field and the remedy."""

import base64
import json
from collections.abc import Iterator
from typing import Any

import pytest
from django.test import Client
from django.urls import reverse

from annotation import steps
from annotation.models import Item, Membership
from tests.factories import PASSWORD, Team

LONG_NUMBER = "9" * 5000  # Python refuses to read as many digits
pytestmark = pytest.mark.django_db


def short(value: Any) -> str | None:
    """Long values make no good names of tests."""
    return f"{value[:12]!r}…{len(value)}" if isinstance(value, str | bytes) and len(value) > 40 else None


@pytest.fixture
def client(team: Team) -> Iterator[Client]:
    """The admin's browser; an error of ours is a reply with 500, as for people."""
    client = Client(raise_request_exception=False)
    client.force_login(team.admin)
    yield client


def basic(name: str, password: str) -> dict[str, str]:
    return {"Authorization": "Basic " + base64.b64encode(f"{name}:{password}".encode()).decode()}


@pytest.mark.parametrize(
    "number", ["0", "-1", "99999999999999999999", LONG_NUMBER, "x", "1.5", "٣", "１", "²"], ids=short
)
@pytest.mark.parametrize(
    ("method", "path", "field"),
    [
        ("get", "items/", "q"),
        ("get", "items/", "after"),
        ("get", "items/", "before"),
        ("get", "items/", "days"),
        ("get", "items/1/?panel=history", "before"),
        ("get", "audit/trail/", "before"),
        ("get", "audit/trail/", "item"),
        ("get", "items/1/audit/trail/", "since"),
        ("get", "items/1/history/compare/", "from"),
        ("get", "items/1/history/compare/", "to"),
        ("get", "releases/", "page"),
        ("get", "runs/", "page"),
        ("get", "runs/new/", "system"),
        ("get", "studies/", "page"),
        ("get", "results/", "study"),
        ("get", "systems/new/", "copy"),
        ("get", "judges/new/", "copy"),
        ("get", "prompts/lhdr-1/", "run"),
        ("get", "marking/", "page"),
        ("post", "judges/anchors/", "run"),
        ("post", "judges/anchors/", "size"),
        ("post", "marking/new/", "size"),
        ("post", "marking/new/", "seed"),
        ("get", "prompts/lhdr-1/", "item"),
        ("post", "items/1/comments/", "parent"),
        ("post", "items/1/coeditors/", "coeditors"),
        ("post", "items/1/history/restore/", "number"),
        ("post", "settings/members/", "remove"),
        ("post", "settings/members/", "role"),
        ("post", "settings/?form=category", "label"),
        ("post", "settings/?form=fields", "target"),
        ("post", "settings/?form=fields", "min_steps"),
        ("post", "settings/?form=endpoints", "endpoints"),
        ("post", "systems/new/", "endpoint"),
        ("post", "systems/new/", "max_tries"),
        ("post", "judges/new/", "max_response_chars"),
        ("post", "runs/new/", "judges"),
        ("post", "runs/new/", "budget"),
        ("post", "runs/new/", "concurrency"),
        ("post", "studies/new/", "systems"),
        ("post", "studies/new/", "samples"),
        ("post", "studies/new/", "token_budget"),
    ],
)
def test_numbers_when_none_of_ours_are_refused_and_never_fail(
    team: Team, client: Client, method: str, path: str, field: str, number: str
) -> None:
    team.item(author=team.admin)
    address, _mark, query = path.partition("?")
    data = {name: value for name, _is, value in (part.partition("=") for part in query.split("&") if part)}
    reply = getattr(client, method)(f"/b/bench/{address}", {**data, field: number})
    assert reply.status_code < 500


LIMITS = ["-1", "201", LONG_NUMBER, "0000000019999", "000000001" + LONG_NUMBER, "٣", "x"]


@pytest.mark.parametrize("limit", LIMITS, ids=short)
@pytest.mark.parametrize(
    "name", ["api-items", "api-runs", "api-links", "api-second", "api-ideas", "api-marking", "api-anchors"]
)
def test_limit_when_out_of_range_is_refused(team: Team, client: Client, name: str, limit: str) -> None:
    reply = client.get(reverse(name, args=["bench"]), {"limit": limit})
    assert reply.status_code == 422
    assert "limit" in reply.json()["message"]


@pytest.mark.parametrize(
    "after", ["0001-01-01T00:00:00+14:00,1", "9999-12-31T23:59:59-14:00,1", "2026-01-01,1", "x,1", ",", "1", "1,1"]
)
@pytest.mark.parametrize("sort", ["", "steps"])
def test_cursor_when_none_of_ours_gives_a_page(team: Team, client: Client, after: str, sort: str) -> None:
    team.item()
    assert client.get("/b/bench/items/", {"after": after, "sort": sort}).status_code == 200
    assert client.get(reverse("api-items", args=["bench"]), {"after": after}).status_code == 200


def test_item_list_when_every_filter_is_junk_and_repeated_names_them(team: Team, client: Client) -> None:
    names = ("q", "state", "category", "template", "tag", "author", "gate", "has_errors", "days", "sort", "ascending")
    query = {name: ["'; --", "\u202e<b>😀\u0301", "a" * 5000] for name in names}
    assert client.get("/b/bench/items/", query).status_code == 200
    assert client.get(reverse("api-items", args=["bench"]), query).status_code == 422


def test_dismissal_when_the_fingerprint_is_none_is_refused(team: Team) -> None:
    """The database has 64 characters for it; what the page sends is the finding's own."""
    item = team.item()
    steps.check_item(item.pk)
    item.refresh_from_db()
    finding = next(f for f in item.findings if f["level"] != "error")
    reply = team.client("ann").post(
        f"/b/bench/items/{item.number}/checks/dismiss/",
        {"subject": finding["subject"], "fingerprint": "f" * 1000, "reason": "it is meant so"},
    )
    assert reply.status_code == 409
    assert not item.dismissals.exists()


@pytest.mark.parametrize("number", ["1e999", "-1e999", "NaN", "Infinity"])
def test_numbers_when_not_finite_are_refused_everywhere(team: Team, client: Client, number: str) -> None:
    item = team.item(author=team.admin)
    body = f'{{"id": "x", "question": "?", "extra": {{"x": {number}}}}}'
    reply = client.post(reverse("api-items", args=["bench"]), body, content_type="application/json")
    assert reply.status_code in (400, 422)
    reply = client.post("/b/bench/systems/new/", {"extra_body": f'{{"temperature": {number}}}'})
    assert reply.status_code == 422
    assert "NaN, infinity and very deep nesting" in reply.content.decode()
    assert Item.objects.get() == item


@pytest.mark.parametrize("name", ["a\x00b", "n" * 300, "\u202e😀"])
def test_basic_log_in_when_the_name_cannot_be_one_is_refused(team: Team, settings: Any, name: str) -> None:
    settings.AXES_ENABLED = True
    client = Client(raise_request_exception=False)
    for path in ("/api/benchmarks/", "/b/bench/"):
        reply = client.get(path, headers=basic(name, "x"))
        assert reply.status_code in (302, 401, 403)
    reply = client.post("/login/", {"username": name, "password": "x"})
    assert reply.status_code in (200, 400)


def test_cookies_when_they_hold_nul_mean_nobody(team: Team) -> None:
    client = Client(
        raise_request_exception=False, headers={"Cookie": 'sessionid="abcdefgh\\000ijk"; csrftoken="\\000"'}
    )
    assert client.get("/b/bench/").status_code == 302
    assert client.get("/login/").status_code == 200


BODIES: dict[str, bytes] = {
    "nothing": b"",
    "null": b"null",
    "a list": b"[]",
    "a number": b"1",
    "NUL": b'{"question": "a\\u0000b"}',
    "a lone surrogate": b'{"question": "\\ud800"}',
    "a lone surrogate as a name": b'{"\\ud800": 1}',
    "bytes of one": b'{"question": "\xed\xa0\x80"}',
    "deep": b'{"extra": ' + b"[" * 50_000 + b"]" * 50_000 + b"}",
    "rather deep": b'{"extra": ' + b"[" * 99 + b"]" * 99 + b"}",
    "wrong types": json.dumps({n: {"a": [1]} for n in ("question", "answer", "nodes", "checklist", "extra")}).encode(),
    "huge numbers": b'{"rating": 1' + b"0" * 400 + b', "vector": [1e30], "budget": 1e30, "concurrency": -1}',
    "digits without end": b'{"rating": ' + b"9" * 10_000 + b"}",
    "doubled names": b'{"question": "a", "question": ["b"]}',
}


@pytest.mark.parametrize("kind", BODIES)
def test_api_when_the_body_is_junk_says_what_is_wrong(team: Team, client: Client, kind: str) -> None:
    item = team.item(author=team.admin)
    before = Item.objects.values_list("document_hash", "state").get(), item.comments.count()
    base = f"/api/benchmarks/bench/items/{item.number}/"
    of_item = ("moves", "criteria", "ticks", "overrides", "candidates", "links/s1", "struck", "probes", "probes/paste")
    of_benchmark = (
        "releases",
        "ideas",
        "audit/pilot",
        "audit/calibration",
        "audit/second",
        "marking",
        "anchors",
        "runs/check",
    )
    paths = [f"{base}{each}/" for each in (*of_item, "gradeability")]
    for path in (*paths, *(f"/api/benchmarks/bench/{each}/" for each in of_benchmark)):
        _is_refused(client.post(path, BODIES[kind], content_type="application/json"))
    for path in ("sections/question", "drafts/question"):
        _is_refused(client.put(f"{base}{path}/", BODIES[kind], content_type="application/json"))
    _is_refused(client.post("/api/benchmarks/bench/runs/", BODIES[kind], content_type="application/json"))
    _is_refused(client.post("/api/benchmarks/bench/items/", b"{" + BODIES[kind], content_type="application/json"))
    assert (Item.objects.values_list("document_hash", "state").get(), item.comments.count()) == before


def _is_refused(reply: Any) -> None:
    assert reply.status_code in (400, 403, 409, 413, 422), reply.content[:300]
    assert len(reply.json()["message"]) > 10


@pytest.mark.parametrize("kind", ["text/plain", "multipart/form-data", "application/x-www-form-urlencoded", "x", ""])
def test_api_when_the_content_type_is_another_is_refused(team: Team, client: Client, kind: str) -> None:
    reply = client.generic("POST", "/api/benchmarks/bench/items/", b"{}", content_type=kind)
    assert 400 <= reply.status_code < 500


@pytest.mark.parametrize(
    ("kind", "body"),
    [
        ("multipart/form-data", b"x"),
        ("multipart/form-data; boundary=", b"x"),
        ("multipart/form-data; boundary=b", b"--b\r\nContent-Disposition: form-data"),
        ("multipart/form-data; boundary=b", b"--b\r\nContent-Disposition: form-data; name*=x''%ff\r\n\r\nv\r\n--b--"),
        (
            "multipart/form-data; boundary=b",
            b"--b\r\nContent-Disposition: form-data; name=images; filename*=utf-8''%00%ED%A0%80.png\r\n\r\nv\r\n--b--",
        ),
        ("application/x-www-form-urlencoded; charset=nothing", b"a=b"),
        ("application/x-www-form-urlencoded; charset=utf-7", b"a=b"),
        ("application/x-www-form-urlencoded", b"design=%00"),
        ("application/x-www-form-urlencoded", b"design=%ED%A0%80&%ED%A0%80=1"),
        ("application/x-www-form-urlencoded", b"design=" + b"a" * (11 * 1024 * 1024)),
        ("application/x-www-form-urlencoded", b"a=b&" * 20_001),
        ("application/json", b"{}"),
    ],
)
def test_pages_when_the_form_is_malformed_never_fail(team: Team, client: Client, kind: str, body: bytes) -> None:
    item = team.item(author=team.admin)
    for path in ("preview", "images/add", "comments", "design", "checks/dismiss"):
        reply = client.generic("POST", f"/b/bench/items/{item.number}/{path}/", body, content_type=kind)
        assert reply.status_code < 500, path
        if reply.status_code == 400:
            assert "wb-" in reply.content.decode(), path
    assert client.generic("POST", "/login/", body, content_type=kind).status_code < 500


def test_pages_without_the_form_token_are_refused(team: Team) -> None:
    client = Client(enforce_csrf_checks=True, raise_request_exception=False)
    client.force_login(team.admin)
    item = team.item(author=team.admin)
    for path in (f"items/{item.number}/comments/", "items/new/", "releases/cut/", "settings/members/"):
        assert client.post(f"/b/bench/{path}", {"body": "x"}).status_code == 403
    assert client.post("/api/benchmarks/bench/items/", b"{}", content_type="application/json").status_code == 403
    assert not item.comments.exists() and Item.objects.count() == 1


@pytest.mark.parametrize(
    "text", ["a" * 1_000_000, "\u202eabc\u202c", "e\u0301\u0301\u0301" * 500, "\u200b\u200d😀👩‍👩‍👧"]
)
def test_texts_when_odd_are_kept_as_they_are(team: Team, client: Client, text: str) -> None:
    item = team.item(author=team.admin)
    data = {"question": text, "answer": text, "base_hash": item.section_hashes["question"]}
    assert client.post(f"/b/bench/items/{item.number}/question/", data).status_code == 302
    item.refresh_from_db()
    assert item.document["question"] == text
    comments = f"/b/bench/items/{item.number}/comments/"
    assert client.post(comments, {"body": text[:20_000], "anchor": "question"}).status_code == 302
    assert client.post(comments, {"body": "x", "anchor": text}).status_code == 422  # no such place
    assert client.get(f"/b/bench/items/{item.number}/?panel=comments").status_code == 200
    assert client.get("/b/bench/items/").status_code == 200


def test_deactivated_people_when_they_were_logged_in_are_nobody(team: Team) -> None:
    item = team.item()
    client = team.client("core")
    team.core.is_active = False
    team.core.save()
    assert client.get("/b/bench/").status_code == 302
    assert client.post(f"/b/bench/items/{item.number}/comments/", {"body": "x"}).status_code == 302
    assert Client().get("/api/benchmarks/", headers=basic(team.core.username, PASSWORD)).status_code in (401, 403)
    assert not Client().login(username=team.core.username, password=PASSWORD)
    assert not item.comments.exists()
    assert Membership.objects.filter(user=team.core).exists()
