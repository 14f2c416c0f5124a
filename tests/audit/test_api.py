"""The audit's API: the same actions and errors as the pages, per role."""

from typing import Any

import pytest

from annotation.models import Item
from annotation.states import State
from audit.models import CriterionResult, ElementTick, Release
from tests.factories import Team

from .judging import answer_phase, bring_to, fresh


def address(item: Item, what: str) -> str:
    return f"/api/benchmarks/{item.benchmark.slug}/items/{item.number}/{what}/"


def post(team: Team, who: str, path: str, data: Any) -> Any:
    return team.client(who).post(path, data, content_type="application/json")


@pytest.fixture
def secondary(team: Team) -> Item:
    return bring_to(team, team.item(), State.SECONDARY_AUDIT)


def test_moves_take_an_item_through_and_say_where_it_is(team: Team) -> None:
    item = team.item()
    answer = post(team, "ann", address(item, "moves"), {"move": "submit", "hash": item.document_hash})
    assert answer.status_code == 200
    assert (answer.json()["state"], answer.json()["moves"]) == ("submitted", ["withdraw"])
    answer_phase(item, team.core)
    answer = post(team, "core", address(item, "moves"), {"move": "pass", "hash": item.document_hash})
    assert answer.json()["state"] == "secondary_audit"
    history = team.client("aud").get(address(item, "moves")).json()
    assert [row["move"] for row in history["history"]] == ["pass", "submit"]
    assert history["moves"] == ["pass", "return", "reject"] and history["gates"]["uniqueness"] == "open"


@pytest.mark.parametrize(
    ("who", "data", "status", "code"),
    [
        ("aud", {"move": "pass", "hash": "present"}, 422, "criteria_missing"),
        ("aud", {"move": "return", "hash": "present"}, 422, "reason_missing"),
        ("aud", {"move": "return", "hash": "old", "reason": "No"}, 409, "stale_hash"),
        ("aud", {"move": "lock", "hash": "present"}, 409, "wrong_state"),
        ("aud", {"move": "fly"}, 422, "invalid"),
        ("aud", {"move": "lock_imported"}, 422, "invalid"),
        ("aud", [], 422, "invalid"),
        ("ann2", {"move": "return", "hash": "present", "reason": "No"}, 403, "not_allowed"),
        ("ann", {"move": "reject", "hash": "present", "reason": "No"}, 403, "not_allowed"),
    ],
)
def test_move_refused_answers_with_status_code_and_sentence(
    team: Team, secondary: Item, who: str, data: Any, status: int, code: str
) -> None:
    if isinstance(data, dict) and "hash" in data:
        data = {**data, "hash": secondary.document_hash if data["hash"] == "present" else "0" * 64}
    answer = post(team, who, address(secondary, "moves"), data)
    assert (answer.status_code, answer.json()["code"]) == (status, code)
    assert answer.json()["message"]
    assert fresh(secondary).state == State.SECONDARY_AUDIT


def test_criterion_is_recorded_and_listed(team: Team, secondary: Item) -> None:
    data = {"criterion": "chain", "rating": 5, "passed": True, "hash": secondary.document_hash}
    answer = post(team, "aud", address(secondary, "criteria"), data)
    assert answer.status_code == 201 and answer.json()["fresh"] is True
    listed = team.client("ann").get(address(secondary, "criteria")).json()["criteria"]
    chain = next(row for row in listed if row["criterion"] == "chain")
    assert (chain["phase"], chain["rating"], chain["auditor"]) == (2, 5, "bench-aud")


@pytest.mark.parametrize(
    ("who", "changes", "status", "path"),
    [
        ("aud", {"rating": 9}, 422, "rating"),
        ("aud", {"rating": 2}, 422, "rating"),
        ("aud", {"passed": False, "rating": 1}, 422, "comment"),
        ("aud", {"criterion": "nothing"}, 422, "criterion"),
        ("aud", {"comment": "a\x00b"}, 422, "comment"),
        ("aud", {"hash": "0" * 64}, 409, ""),
        ("ann2", {}, 403, ""),
    ],
)
def test_criterion_refused_names_the_field(
    team: Team, secondary: Item, who: str, changes: dict[str, Any], status: int, path: str
) -> None:
    data = {"criterion": "chain", "rating": 4, "passed": True, "hash": secondary.document_hash, **changes}
    answer = post(team, who, address(secondary, "criteria"), data)
    assert answer.status_code == status
    if path:
        assert answer.json()["problems"][0]["path"] == path
    assert not CriterionResult.objects.filter(criterion="chain").exists()


def test_tick_is_recorded_and_listed(team: Team, secondary: Item) -> None:
    data = {"element": "n1", "supported": True, "hash": secondary.document_hash}
    assert post(team, "ann2", address(secondary, "ticks"), data).status_code == 403
    assert not ElementTick.objects.exists()
    assert post(team, "aud", address(secondary, "ticks"), data).status_code == 201
    ticks = team.client("aud").get(address(secondary, "ticks")).json()["ticks"]
    assert [(t["element"], t["supported"], t["fresh"]) for t in ticks] == [("n1", True, True)]


@pytest.mark.parametrize("what", ["moves", "criteria", "ticks"])
def test_strangers_and_people_without_log_in_find_nothing(team: Team, secondary: Item, what: str) -> None:
    from django.test import Client

    assert team.client("stranger").get(address(secondary, what)).status_code == 404
    assert post(team, "stranger", address(secondary, what), {}).status_code == 404
    assert Client().get(address(secondary, what)).status_code in (401, 403)


def test_releases_are_cut_listed_and_exported_by_role(team: Team) -> None:
    item = bring_to(team, team.item(), State.LOCKED)
    base = f"/api/benchmarks/{team.benchmark.slug}/releases/"
    for who, status in [("ann", 403), ("aud", 403), ("core", 403), ("stranger", 404)]:
        assert post(team, who, base, {"name": "v1"}).status_code == status
    assert not Release.objects.exists()
    cut = post(team, "admin", base, {"name": "v1", "note": "First"})
    assert cut.status_code == 201 and cut.json()["audited"] is True
    again = post(team, "admin", base, {"name": "v1"})
    assert (again.status_code, again.json()["code"]) == (422, "name_taken")
    assert [r["name"] for r in team.client("ann").get(base).json()["releases"]] == ["v1"]
    one = team.client("ann").get(base + "v1/").json()
    assert [(row["number"], row["hash"]) for row in one["rows"]] == [(item.number, item.document_hash)]
    assert team.client("ann").get(base + "v2/").status_code == 404
    assert team.client("stranger").get(base + "v1/").status_code == 404
    export = base + "v1/export/"
    for who, status in [("ann", 403), ("core", 403), ("stranger", 404)]:
        assert team.client(who).get(export, {"variant": "public"}).status_code == status
    wrong = team.client("admin").get(export, {"variant": "all"})
    assert (wrong.status_code, wrong.json()["code"]) == (422, "unknown_variant")
    right: Any = team.client("admin").get(export, {"variant": "full"})
    assert right.streaming and b"".join(right.streaming_content).count(b"\n") == 1
