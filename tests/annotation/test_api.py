"""Items over HTTP: every endpoint by role, saving by section hash, and bodies that cannot be taken."""

import base64
import json
from dataclasses import replace
from typing import Any

import pytest
from django.test import Client
from drf_spectacular.drainage import GENERATOR_STATS
from drf_spectacular.generators import SchemaGenerator

from annotation import actions
from annotation.document import read_document
from annotation.models import Item
from annotation.states import State
from annotation.steps import check_item
from tests.documents import good_data, good_document
from tests.factories import PASSWORD, Team

ITEMS = "/api/benchmarks/bench/items/"
BODY = {"id": "by-api", "question": "Which ferry?", "checklist": [{"key": "c1", "conclusion": "It is the Vesta."}]}


def send(client: Client, method: str, path: str, body: Any, **extra: Any) -> Any:
    data = body if isinstance(body, (bytes, str)) else json.dumps(body)
    return getattr(client, method)(path, data, content_type="application/json", **extra)


def section_body(item: Item, section: str = "design", **content: Any) -> dict[str, Any]:
    return {"content": content or {"design": "New."}, "base_hash": item.section_hashes[section]}


@pytest.mark.parametrize("path", ["", "?state=draft&q=forth", "1/", "1/revisions/", "1/checks/"])
@pytest.mark.parametrize(
    ("who", "status"), [("ann", 200), ("ann2", 200), ("aud", 200), ("core", 200), ("admin", 200), ("stranger", 404)]
)
def test_reading_by_role(team: Team, path: str, who: str, status: int) -> None:
    team.item()
    assert team.client(who).get(ITEMS + path).status_code == status


@pytest.mark.parametrize("path", ["/api/benchmarks/", ITEMS, f"{ITEMS}1/", "/api/schema/"])
def test_reading_without_log_in_is_refused_as_json(team: Team, path: str) -> None:
    team.item()
    reply = Client().get(path)
    assert reply.status_code == 403
    if path != "/api/schema/":
        assert reply.json()["code"] == "not_authenticated"


def test_reading_with_basic_authentication_works(team: Team) -> None:
    token = base64.b64encode(f"{team.ann.username}:{PASSWORD}".encode()).decode()
    assert Client().get("/api/benchmarks/", headers={"Authorization": f"Basic {token}"}).json()[0]["slug"] == "bench"


def test_list_benchmarks_names_only_ones_own(team: Team) -> None:
    assert [(b["slug"], b["role"]) for b in team.client("core").get("/api/benchmarks/").json()] == [("bench", "core")]
    assert team.client("stranger").get("/api/benchmarks/").json() == []


def test_list_items_pages_by_cursor(team: Team) -> None:
    for n in range(3):
        team.item(replace(good_document(), id=f"item-{n}"))
    client = team.client("ann")
    first = client.get(ITEMS, {"limit": 2}).json()
    assert first["count"] == 3 and [r["number"] for r in first["results"]] == [3, 2]
    second = client.get(first["next"]).json()
    assert [r["number"] for r in second["results"]] == [1] and second["next"] is None
    assert "document" not in first["results"][0]


@pytest.mark.parametrize(
    ("query", "path"),
    [
        ("limit=0", "limit"),
        ("limit=x", "limit"),
        ("limit=9999", "limit"),
        ("state=odd", "state"),
        ("sort=size", "sort"),
    ],
)
def test_list_items_with_a_value_that_cannot_be_read_names_it(team: Team, query: str, path: str) -> None:
    reply = team.client("ann").get(f"{ITEMS}?{query}")
    assert reply.status_code == 422 and reply.json()["problems"][0]["path"] == path


def test_read_item_gives_document_hashes_and_state(team: Team) -> None:
    item = team.item()
    data = team.client("ann").get(f"{ITEMS}1/").json()
    assert read_document(data["document"]).hash == item.document_hash == data["document_hash"]
    assert (data["state"], data["may_edit"], data["gates"]["shortcut"]) == ("draft", True, "open")
    assert team.client("ann2").get(f"{ITEMS}1/").json()["may_edit"] is False


@pytest.mark.parametrize("number", ["2", "0", "9" * 30])
def test_read_item_that_is_not_there_is_404_as_json(team: Team, number: str) -> None:
    reply = team.client("ann").get(f"{ITEMS}{number}/")
    assert reply.status_code == 404 and reply.json()["code"] == "not_found"


@pytest.mark.parametrize(
    ("who", "status"), [("ann", 201), ("aud", 201), ("core", 201), ("admin", 201), ("stranger", 404)]
)
def test_create_item_by_role(team: Team, who: str, status: int) -> None:
    reply = send(team.client(who), "post", ITEMS, BODY)
    assert reply.status_code == status
    assert Item.objects.filter(uid="by-api").exists() is (status == 201)


def test_create_item_fills_in_id_language_and_canary(team: Team) -> None:
    reply = send(team.client("ann"), "post", ITEMS, {"question": "Which ferry?"})
    document = reply.json()["document"]
    assert reply.status_code == 201 and len(document["id"]) == 36
    assert (document["language"], document["canary"]) == ("en", team.benchmark.canary)
    assert reply["Location"] == reply.json()["url"] == f"{ITEMS}1/"
    assert Item.objects.get().author == team.ann


def test_create_item_with_a_taken_id_is_a_conflict(team: Team) -> None:
    team.item(replace(good_document(), id="by-api"))
    reply = send(team.client("ann"), "post", ITEMS, BODY)
    assert reply.status_code == 409 and reply.json()["code"] == "id_taken"
    assert Item.objects.count() == 1


@pytest.mark.parametrize(
    ("change", "path"),
    [
        ({"question": 5}, "question"),
        ({"schema": "lhdr.item/9"}, "schema"),
        ({"checklist": [{"key": "c1", "prerequisites": ["c9"]}]}, "checklist.c1.prerequisites"),
        ({"checklist": "none"}, "checklist"),
        ({"extra": {"n": 10**30}}, "extra.n"),
        ({"extra": {"n": 0.5}}, "extra.n"),
        ({"id": "x" * 201}, "id"),
    ],
)
def test_create_item_from_a_bad_document_names_the_field(team: Team, change: dict[str, Any], path: str) -> None:
    reply = send(team.client("ann"), "post", ITEMS, {**BODY, **change})
    assert reply.status_code == 422, reply.content
    assert any(p["path"].startswith(path) for p in reply.json()["problems"]), reply.json()
    assert not Item.objects.exists()


def test_create_item_with_a_cycle_spells_it_out(team: Team) -> None:
    steps = [{"key": "c1", "prerequisites": ["c2"]}, {"key": "c2", "prerequisites": ["c1"]}]
    reply = send(team.client("ann"), "post", ITEMS, {**BODY, "checklist": steps})
    assert reply.status_code == 422 and "c1 -> c2 -> c1" in reply.json()["message"]


@pytest.mark.parametrize(
    ("body", "status", "code"),
    [
        (b"{not json", 400, "parse_error"),
        (b'{"question": "\xff"}', 400, "parse_error"),
        (b'{"extra": {"n": NaN}}', 400, "parse_error"),
        (b'{"extra": {"n": -Infinity}}', 400, "parse_error"),
        (b'{"extra": {"n": ' + b"9" * 5000 + b"}}", 400, "parse_error"),
        (b"[" * 100_000, 400, "parse_error"),
        (b'{"extra":' * 150 + b"1" + b"}" * 150, 400, "parse_error"),
        (b'{"question": "a\\u0000b"}', 422, "invalid"),
        (b'{"question": "a\\ud800b"}', 422, "invalid"),
        (b'{"extra": {"a\\ud800b": 1}}', 422, "invalid"),
        (b"[]", 422, "not_an_object"),
        (b"null", 422, "not_an_object"),
        (b'"text"', 422, "not_an_object"),
    ],
)
def test_a_body_that_cannot_be_read_is_refused_and_nothing_is_written(
    team: Team, body: bytes, status: int, code: str
) -> None:
    item = team.item()
    for method, path in (("post", ITEMS), ("put", f"{ITEMS}{item.number}/sections/design/")):
        reply = send(team.client("ann"), method, path, body)
        assert (reply.status_code, reply.json()["code"]) == (status, code), (path, reply.content)
        assert reply.json()["message"]
    item.refresh_from_db()
    assert Item.objects.count() == 1 and item.revision_number == 1


def test_a_body_over_the_limit_is_refused(team: Team, settings: Any) -> None:
    settings.DATA_UPLOAD_MAX_MEMORY_SIZE = 1000
    reply = send(team.client("ann"), "post", ITEMS, {**BODY, "design": "x" * 1000})
    assert (reply.status_code, reply.json()["code"]) == (413, "too_large")


@pytest.mark.parametrize(
    ("content_type", "status", "code"),
    [
        ("text/plain", 415, "unsupported_media_type"),
        ("application/x-www-form-urlencoded", 415, "unsupported_media_type"),
        ("multipart/form-data; boundary=x", 422, "not_an_object"),
    ],
)
def test_another_content_type_is_refused(team: Team, content_type: str, status: int, code: str) -> None:
    form = b'--x\r\nContent-Disposition: form-data; name="a"\r\n\r\n1\r\n--x--\r\n'
    reply = team.client("ann").post(ITEMS, form, content_type=content_type)
    assert (reply.status_code, reply.json()["code"]) == (status, code)
    assert not Item.objects.exists()


@pytest.mark.parametrize("method", ["delete", "patch", "put"])
def test_another_method_is_refused(team: Team, method: str) -> None:
    team.item()
    reply = send(team.client("admin"), method, f"{ITEMS}1/", {})
    assert (reply.status_code, reply.json()["code"]) == (405, "method_not_allowed")


@pytest.mark.parametrize(
    ("who", "status"), [("ann", 200), ("ann2", 403), ("aud", 403), ("core", 403), ("admin", 403), ("stranger", 404)]
)
def test_save_section_of_a_draft_by_role(team: Team, who: str, status: int) -> None:
    item = team.item()
    reply = send(team.client(who), "put", f"{ITEMS}1/sections/design/", section_body(item))
    assert reply.status_code == status
    item.refresh_from_db()
    assert (item.document["design"] == "New.") is (status == 200)
    if status == 200:
        data = reply.json()
        assert (data["hash"], data["revision"]) == (item.section_hashes["design"], 2)
        assert data["content"] == {"design": "New."} and data["document_hash"] == item.document_hash


def test_save_section_that_changed_meanwhile_gives_theirs_yours_and_the_hash(team: Team) -> None:
    item = team.item()
    stale = section_body(item)
    actions.save_section(item, "design", {"design": "Theirs."}, item.section_hashes["design"], actor=team.ann)
    reply = send(team.client("ann"), "put", f"{ITEMS}1/sections/design/", stale)
    data = reply.json()
    item.refresh_from_db()
    assert (reply.status_code, data["code"]) == (409, "section_conflict")
    assert (data["theirs"], data["yours"]) == ({"design": "Theirs."}, {"design": "New."})
    assert data["hash"] == item.section_hashes["design"]
    again = send(team.client("ann"), "put", f"{ITEMS}1/sections/design/", {**stale, "base_hash": data["hash"]})
    assert again.status_code == 200


def test_save_section_with_the_same_key_twice_saves_once(team: Team) -> None:
    item = team.item()
    body = {**section_body(item), "save_key": "k1"}
    for _try in range(2):
        assert send(team.client("ann"), "put", f"{ITEMS}1/sections/design/", body).json()["revision"] == 2


def test_save_section_that_removes_what_others_need_lists_them(team: Team) -> None:
    item = team.item()
    kept = [s for s in good_data()["sources"] if s["key"] != "s3"]
    body = section_body(item, "sources", sources=kept)
    reply = send(team.client("ann"), "put", f"{ITEMS}1/sections/sources/", body)
    assert (reply.status_code, reply.json()["code"]) == (422, "still_referred_to")
    assert reply.json()["referrers"] == ["c3", "c4", "r2"]
    unlinked = send(team.client("ann"), "put", f"{ITEMS}1/sections/sources/", {**body, "unlink_removed": "lose"})
    assert unlinked.status_code == 200


@pytest.mark.parametrize(
    ("change", "path"),
    [
        ({"content": None}, "content"),
        ({"content": "text"}, "content"),
        ({"base_hash": None}, "base_hash"),
        ({"base_hash": ["a"]}, "base_hash"),
        ({"unlink_removed": "all"}, "unlink_removed"),
        ({"message": "x" * 301}, "message"),
        ({"save_key": "x" * 65}, "save_key"),
        ({"content": {"question": "of another section"}}, "question"),
        ({"content": {"design": 5}}, "design"),
    ],
)
def test_save_section_with_a_bad_field_names_it(team: Team, change: dict[str, Any], path: str) -> None:
    item = team.item()
    reply = send(team.client("ann"), "put", f"{ITEMS}1/sections/design/", {**section_body(item), **change})
    assert reply.status_code == 422 and reply.json()["problems"][0]["path"] == path, reply.content
    item.refresh_from_db()
    assert item.revision_number == 1


def test_save_section_of_a_section_that_does_not_exist_is_404(team: Team) -> None:
    item = team.item()
    assert send(team.client("ann"), "put", f"{ITEMS}1/sections/odd/", section_body(item)).status_code == 404


def test_save_section_of_a_locked_item_is_refused_for_all(team: Team) -> None:
    item = team.item()
    Item.objects.filter(pk=item.pk).update(state=State.LOCKED)
    for who in ("ann", "core", "admin"):
        reply = send(team.client(who), "put", f"{ITEMS}1/sections/design/", section_body(item))
        assert reply.status_code == 403 and "locked" in reply.json()["message"]


def test_save_section_by_session_without_csrf_token_is_refused(team: Team) -> None:
    item = team.item()
    client = Client(enforce_csrf_checks=True)
    client.force_login(team.ann)
    assert send(client, "put", f"{ITEMS}1/sections/design/", section_body(item)).status_code == 403


def test_list_revisions_newest_first_without_documents(team: Team) -> None:
    item = team.item()
    actions.save_section(
        item, "design", {"design": "x"}, item.section_hashes["design"], actor=team.ann, message="Shorter"
    )
    rows = team.client("aud").get(f"{ITEMS}1/revisions/").json()
    assert [(r["number"], r["kind"], r["section"], r["message"]) for r in rows] == [
        (2, "edit", "design", "Shorter"),
        (1, "create", "", ""),
    ]
    assert "document" not in rows[0]


def test_list_findings_are_those_of_the_present_document(team: Team) -> None:
    item = team.item(replace(good_document(), id="bare", question="", checklist=()))
    data = team.client("ann").get(f"{ITEMS}{item.number}/checks/").json()
    check_item(item.pk)
    item.refresh_from_db()
    assert data["errors"] == item.errors > 0 and data["document_hash"] == item.document_hash
    assert {"empty_question", "empty_checklist"} & {f["code"] for f in data["findings"]} or data["findings"]


def test_schema_is_made_without_a_warning_and_names_every_address(db: None) -> None:
    GENERATOR_STATS.reset()
    with GENERATOR_STATS.silence():
        schema = SchemaGenerator().get_schema(request=None, public=True)
    assert not GENERATOR_STATS
    assert f"{ITEMS}{{number}}/sections/{{section}}/".replace("bench/", "{slug}/") in schema["paths"]


def test_schema_is_served_to_members(team: Team) -> None:
    assert team.client("ann").get("/api/schema/").status_code == 200
