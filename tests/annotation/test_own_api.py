"""Drafts, ideas and struck steps over HTTP: per role, what is refused with which field, and what a retry does."""

from dataclasses import replace
from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from annotation import actions, seed_actions
from annotation.models import Draft, Item, Seed, StruckStep
from tests.annotation.test_api import ITEMS, send
from tests.documents import good_document
from tests.factories import Team

IDEAS = "/api/benchmarks/bench/ideas/"
EVERYBODY = [("ann", 200), ("ann2", 200), ("aud", 200), ("core", 200), ("admin", 200), ("stranger", 404)]


def fresh(item: Item) -> Item:
    return Item.objects.select_related("benchmark", "author").get(pk=item.pk)


# --- drafts -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("who", "status"), EVERYBODY)
def test_draft_by_role_is_kept_read_and_dropped_as_ones_own(team: Team, who: str, status: int) -> None:
    item, client = team.item(), team.client(who)
    body = {"base_hash": item.section_hashes["design"], "form": {"design": ["Half a"], "tag": ["x", "y"]}}
    kept = send(client, "put", f"{ITEMS}1/drafts/design/", body)
    assert kept.status_code == status
    assert client.get(f"{ITEMS}1/drafts/").status_code == status
    if status == 200:
        assert kept.json()["form"] == body["form"]
        assert [row["section"] for row in client.get(f"{ITEMS}1/drafts/").json()["results"]] == ["design"]
        other = team.client("admin" if who != "admin" else "ann")
        assert other.get(f"{ITEMS}1/drafts/").json()["results"] == []
    assert Draft.objects.count() == (status == 200)
    assert client.delete(f"{ITEMS}1/drafts/design/").status_code == (204 if status == 200 else 404)
    assert not Draft.objects.exists()


def test_draft_of_the_api_is_offered_by_the_page(team: Team) -> None:
    item = team.item()
    body = {"base_hash": item.section_hashes["design"], "form": {"design": ["Typed by program"]}}
    send(team.client("ann"), "put", f"{ITEMS}1/drafts/design/", body)
    assert "Typed by program" in team.client("ann").get(f"/b/bench/items/{item.number}/design/edit/").content.decode()


def test_draft_that_comes_after_its_save_is_not_kept(team: Team) -> None:
    item = team.item()
    base = item.section_hashes["design"]
    actions.save_section(item, "design", {"design": "Whole"}, base, actor=team.ann, save_key="form1:1")
    body = {"base_hash": base, "form": {"design": ["Who"]}, "save_key": "form1"}
    assert send(team.client("ann"), "put", f"{ITEMS}1/drafts/design/", body).status_code == 204
    assert not Draft.objects.exists()


@pytest.mark.parametrize(
    ("changes", "path"),
    [
        ({"base_hash": "x" * 65}, "base_hash"),
        ({"form": "design=x"}, "form"),
        ({"form": {"design": "x"}}, "form.design"),
        ({"form": {"design": [{}]}}, "form.design"),
    ],
)
def test_draft_with_a_wrong_field_names_it(team: Team, changes: dict[str, Any], path: str) -> None:
    team.item()
    reply = send(team.client("ann"), "put", f"{ITEMS}1/drafts/design/", {"base_hash": "x", "form": {}, **changes})
    assert reply.status_code == 422
    assert reply.json()["problems"][0]["path"].startswith(path)


def test_draft_of_no_section_is_not_found(team: Team) -> None:
    team.item()
    body = {"base_hash": "x", "form": {}}
    assert send(team.client("ann"), "put", f"{ITEMS}1/drafts/nothing/", body).status_code == 404


# --- ideas --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("who", "status"), EVERYBODY)
def test_ideas_by_role_are_listed_and_added(team: Team, who: str, status: int) -> None:
    client = team.client(who)
    assert client.get(IDEAS).status_code == status
    added = send(client, "post", IDEAS, {"title": "A ferry", "body": "Notes", "url": "https://example.org/f"})
    assert added.status_code == (201 if status == 200 else 404)
    assert Seed.objects.count() == (status == 200)
    if status == 200:
        [row] = client.get(IDEAS).json()["results"]
        assert (row["title"], row["author"], row["status"]) == ("A ferry", f"bench-{who}", "open")
        assert client.get(f"{IDEAS}{row['id']}/").json() == row


def test_ideas_pasted_as_lines_are_one_each(team: Team) -> None:
    added = send(team.client("ann"), "post", IDEAS, {"lines": "A ferry\nA mill https://example.org/m"}).json()
    assert [(row["title"], row["url"]) for row in added] == [("A ferry", ""), ("A mill", "https://example.org/m")]


@pytest.mark.parametrize(
    ("body", "path"),
    [
        ({}, "title"),
        ({"title": "x" * 201}, "title"),
        ({"title": "x", "category": "none"}, "category"),
        ({"title": "x", "body": "x" * 20_001}, "body"),
        ({"title": "x", "lines": "y"}, "lines"),
        ({"lines": "x\n" * 201}, "lines"),
    ],
)
def test_idea_with_a_wrong_field_names_it(team: Team, body: dict[str, Any], path: str) -> None:
    reply = send(team.client("ann"), "post", IDEAS, body)
    assert reply.status_code == 422 and reply.json()["problems"][0]["path"] == path
    assert not Seed.objects.exists()


def test_idea_is_claimed_once_given_back_and_started(team: Team) -> None:
    [seed] = seed_actions.add_seeds(team.benchmark, seed_actions.seeds_in("A ferry"), actor=team.ann)
    address = f"{IDEAS}{seed.pk}/"
    claim = {"act": "claim"}
    assert send(team.client("ann2"), "post", address, claim).json()["claimed_by"] == "bench-ann2"
    assert send(team.client("ann2"), "post", address, claim).status_code == 200  # again is as good
    late = send(team.client("ann"), "post", address, claim)
    assert (late.status_code, late.json()["code"]) == (409, "claimed")
    assert send(team.client("ann"), "post", address, {"act": "give_back"}).status_code == 200  # had the idea
    started = send(team.client("aud"), "post", address, {"act": "start"}).json()
    item = Item.objects.get()
    assert (started["item"], started["item_url"]) == (item.number, f"{ITEMS}{item.number}/")
    assert send(team.client("aud"), "post", address, {"act": "start"}).status_code == 409


@pytest.mark.parametrize(
    ("who", "body", "status"),
    [
        ("ann2", {"act": "drop", "reason": "No"}, 403),
        ("ann", {"act": "drop"}, 422),
        ("ann", {"act": "eat"}, 422),
        ("core", {"act": "give_back"}, 409),
        ("core", {"act": "drop", "reason": "Too easy"}, 200),
        ("stranger", {"act": "claim"}, 404),
    ],
)
def test_act_on_idea_by_role_and_state(team: Team, who: str, body: dict[str, Any], status: int) -> None:
    [seed] = seed_actions.add_seeds(team.benchmark, seed_actions.seeds_in("A ferry"), actor=team.ann)
    assert send(team.client(who), "post", f"{IDEAS}{seed.pk}/", body).status_code == status
    assert (Seed.objects.get().status == "dropped") == (status == 200)


def test_ideas_page_by_cursor_in_the_same_queries_whatever_their_number(team: Team) -> None:
    client, counts = team.client("ann"), []
    for lines in ("one", "two\nthree\nfour"):
        seed_actions.add_seeds(team.benchmark, seed_actions.seeds_in(lines), actor=team.ann2)
        with CaptureQueriesContext(connection) as found:
            rows = client.get(IDEAS, {"view": "all"}).json()
        counts.append(len(found))
    assert counts[0] == counts[1] <= 5
    first = client.get(IDEAS, {"view": "all", "limit": 3}).json()
    assert [r["title"] for r in first["results"]] == ["four", "three", "two"]
    assert [r["title"] for r in client.get(first["next"]).json()["results"]] == ["one"]
    assert len(rows["results"]) == 4 and rows["next"] is None


@pytest.mark.parametrize("query", [{"view": "none"}, {"limit": "0"}, {"after": "x"}])
def test_ideas_with_a_wrong_query_name_it(team: Team, query: dict[str, str]) -> None:
    reply = team.client("ann").get(IDEAS, query)
    assert reply.status_code == 422 and reply.json()["problems"][0]["path"] in query


# --- struck steps -------------------------------------------------------------------------------------------------


def strike(item: Item, **changes: Any) -> dict[str, Any]:
    struck = [{"key": "c99", "reason": "redundant", "note": "Said twice"}]
    return {"struck": struck, "base_hash": item.section_hashes["checklist"], **changes}


@pytest.fixture
def long(team: Team) -> Item:
    """An item of `ann` with a step too many, c99."""
    item = team.item(replace(good_document(), id="long"))
    rows = item.document["checklist"]
    content = {"checklist": [{"key": "c99", "conclusion": "Also so."}, *rows]}
    return actions.save_section(item, "checklist", content, item.section_hashes["checklist"], actor=team.ann)


@pytest.mark.parametrize(
    ("who", "status"), [("ann", 200), ("ann2", 403), ("aud", 403), ("core", 403), ("admin", 403), ("stranger", 404)]
)
def test_strike_and_take_back_by_role(team: Team, long: Item, who: str, status: int) -> None:
    client = team.client(who)
    assert send(client, "post", f"{ITEMS}1/struck/", strike(long)).status_code == status
    assert StruckStep.objects.count() == (status == 200)
    if status != 200:
        after = fresh(long)
        body = strike(after)
        assert send(team.client("ann"), "post", f"{ITEMS}1/struck/", body).status_code == 200
    pk = StruckStep.objects.get().pk
    assert "c99" not in [step["key"] for step in fresh(long).document["checklist"]]
    [row] = team.client("ann").get(f"{ITEMS}1/struck/").json()
    assert (row["id"], row["key"], row["note"], row["by"], row["restored"]) == (
        pk,
        "c99",
        "Said twice",
        "bench-ann",
        None,
    )
    reply = send(client, "post", f"{ITEMS}1/struck/{pk}/take-back/", {})
    assert reply.status_code == status
    assert ("c99" in [step["key"] for step in fresh(long).document["checklist"]]) == (status == 200)
    if status == 200:
        again = send(client, "post", f"{ITEMS}1/struck/{pk}/take-back/", {})
        assert (again.status_code, again.json()["code"]) == (409, "taken_back")


@pytest.mark.parametrize(
    ("changes", "status", "path"),
    [
        ({"struck": []}, 422, "struck"),
        ({"struck": [{"key": "c98", "reason": "redundant"}]}, 422, "struck[0].key"),
        ({"struck": [{"key": "c99", "reason": "merged"}]}, 422, "struck[0].merged_into"),
        ({"struck": [{"key": "c99", "reason": "odd"}]}, 422, "struck[0].reason"),
        ({"base_hash": "0" * 64}, 409, ""),
    ],
)
def test_strike_refused_names_the_field(
    team: Team, long: Item, changes: dict[str, Any], status: int, path: str
) -> None:
    reply = send(team.client("ann"), "post", f"{ITEMS}1/struck/", strike(long, **changes))
    assert reply.status_code == status, reply.content
    if path:
        assert reply.json()["problems"][0]["path"] == path
    else:
        assert reply.json()["hash"] == long.section_hashes["checklist"]
    assert not StruckStep.objects.exists()


def test_strike_sent_again_with_its_key_strikes_once(team: Team, long: Item) -> None:
    for _n in range(2):
        body = strike(long, save_key="once")
        assert send(team.client("ann"), "post", f"{ITEMS}1/struck/", body).status_code == 200
    assert StruckStep.objects.count() == 1


def test_take_back_of_another_items_step_is_not_found(team: Team, long: Item) -> None:
    send(team.client("ann"), "post", f"{ITEMS}1/struck/", strike(long))
    other = team.item()
    pk = StruckStep.objects.get().pk
    reply = send(team.client("ann"), "post", f"{ITEMS}{other.number}/struck/{pk}/take-back/", {})
    assert reply.status_code == 404
