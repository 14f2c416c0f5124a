"""Blind second audits over HTTP: who takes which, blindness, answers, adjudication, agreement, and query counts."""

from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from annotation.states import State
from audit import second_actions as second
from audit.models import BlindAudit, BlindResult
from audit.second_queries import required_of
from tests.factories import Team, make_user

from .judging import bring_to
from .test_api import post
from .test_errata import locked_item
from .test_second import audit_blind
from .test_work_api import AUDIT

SECOND = f"{AUDIT}second/"
ANSWER = {"criterion": "chain", "rating": 4, "passed": True}


@pytest.fixture
def asked(team: Team) -> BlindAudit:
    """Of an item that nobody but `ann` and `admin` touched."""
    [audit] = second.ask_double_audits(team.benchmark, [locked_item(team).number], actor=team.core)
    return audit


def test_list_by_role_offers_what_one_did_not_touch(team: Team, asked: BlindAudit) -> None:
    for who, status, found in (
        ("aud", 200, 1),
        ("core", 200, 1),
        ("admin", 200, 0),
        ("ann", 403, 0),
        ("stranger", 404, 0),
    ):
        reply = team.client(who).get(SECOND)
        assert reply.status_code == status
        assert status != 200 or len(reply.json()["results"]) == found
    [row] = team.client("aud").get(SECOND).json()["results"]
    assert (row["id"], row["item"], row["kind"], row["answered"]) == (asked.pk, asked.item.number, "double", 0)
    assert not {"auditor", "sample", "state"} & row.keys()


def test_list_pages_in_the_same_queries_whatever_the_number(team: Team, asked: BlindAudit) -> None:
    client, counts = team.client("aud"), []
    for n in range(2):
        with CaptureQueriesContext(connection) as found:
            client.get(SECOND)
        counts.append(len(found))
        numbers = [locked_item(team, f"more-{n}-{m}").number for m in range(2)]
        second.ask_double_audits(team.benchmark, numbers, actor=team.core)
    assert counts[0] == counts[1] <= 6
    first = client.get(SECOND, {"limit": 4}).json()
    assert len(client.get(first["next"]).json()["results"]) == 1
    assert client.get(SECOND, {"list": "theirs"}).json()["problems"][0]["path"] == "list"


@pytest.mark.parametrize(("who", "status"), [("ann", 403), ("aud", 403), ("core", 201), ("stranger", 404)])
def test_draw_by_role_says_how_many_and_not_which(team: Team, who: str, status: int) -> None:
    item = locked_item(team)
    for body in ({"what": "double", "numbers": [item.number]}, {"what": "residual", "size": 1, "seed": 7}):
        reply = post(team, who, SECOND, body)
        assert reply.status_code == status
        if status == 201:
            assert reply.json().keys() == {"count", "sample"} and reply.json()["count"] == 1
    assert BlindAudit.objects.count() == (2 if status == 201 else 0)
    if status == 201:
        assert post(team, who, SECOND, {"what": "residual", "size": 1, "seed": 7}).status_code == 409


@pytest.mark.parametrize(
    ("body", "path"),
    [
        ({"what": "all"}, "what"),
        ({"what": "double"}, "numbers"),
        ({"what": "double", "numbers": [99]}, "numbers"),
        ({"what": "residual"}, "size"),
        ({"what": "residual", "size": 2}, "size"),
        ({"what": "residual", "size": 1, "seed": -1}, "seed"),
    ],
)
def test_draw_refused_names_the_field(team: Team, body: dict[str, Any], path: str) -> None:
    locked_item(team)
    reply = post(team, "core", SECOND, body)
    assert reply.status_code == 422 and reply.json()["problems"][0]["path"] == path
    assert not BlindAudit.objects.exists()


def test_audit_is_its_auditors_alone(team: Team, asked: BlindAudit) -> None:
    address = f"{SECOND}{asked.pk}/"
    assert team.client("aud").get(address).json()["code"] == "not_taken"
    for who, status in (("ann", 403), ("admin", 403), ("stranger", 404), ("aud", 200)):
        assert post(team, who, f"{address}take/", {}).status_code == status
    assert post(team, "aud", f"{address}take/", {}).status_code == 200  # again is as good
    taken = post(team, "core", f"{address}take/", {})
    assert (taken.status_code, taken.json()["code"]) == (409, "taken")
    for who, status in (("core", 403), ("admin", 403), ("ann", 403), ("stranger", 404)):
        assert team.client(who).get(address).status_code == status
        assert post(team, who, f"{address}criteria/", ANSWER).status_code == status
        assert post(team, who, f"{address}finish/", {}).status_code == status
    assert not BlindResult.objects.exists()
    assert post(team, "aud", f"{address}give-back/", {}).status_code == 204
    assert post(team, "aud", f"{address}give-back/", {}).status_code == 409


def test_audit_shows_nothing_of_the_first(team: Team) -> None:
    item = bring_to(team, team.item(), State.LOCKED)
    [audit] = second.ask_double_audits(team.benchmark, [item.number], actor=team.core)
    shown = post(team, "admin", f"{SECOND}{audit.pk}/take/", {})
    assert shown.status_code == 200
    panel = shown.json()
    assert panel["document"] == item.document and {row["answer"] for row in panel["criteria"]} == {None}
    assert not {"bench-aud", "bench-core"} & set(shown.content.decode().split('"'))
    for what in ("criteria", "ticks", "moves", "points", "candidates", "overrides", "probes"):
        reply = team.client("admin").get(f"/api/benchmarks/bench/items/{item.number}/{what}/")
        assert (reply.status_code, reply.json()["code"]) == (403, "blind"), what
    assert team.client("admin").get(f"/b/bench/items/{item.number}/probes/").status_code == 403


def test_audit_is_answered_and_ended_and_then_stays(team: Team, asked: BlindAudit) -> None:
    address = f"{SECOND}{asked.pk}/"
    post(team, "aud", f"{address}take/", {})
    early = post(team, "aud", f"{address}finish/", {})
    assert (early.status_code, early.json()["code"]) == (422, "criteria_missing")
    assert "chain" in [problem["path"] for problem in early.json()["problems"]]
    for code in required_of(team.benchmark):
        assert post(team, "aud", f"{address}criteria/", {**ANSWER, "criterion": code}).status_code == 201
    shown = team.client("aud").get(address).json()
    assert {row["answer"]["rating"] for row in shown["criteria"] if not row["optional"]} == {4}
    assert post(team, "aud", f"{address}finish/", {}).json()["ended"]
    assert post(team, "aud", f"{address}criteria/", ANSWER).json()["code"] == "ended"
    [mine] = team.client("aud").get(SECOND, {"list": "mine"}).json()["results"]
    assert mine["ended"] and mine["answered"] == len(required_of(team.benchmark))


@pytest.mark.parametrize(
    ("changes", "path"),
    [
        ({"criterion": "none"}, "criterion"),
        ({"rating": 9}, "rating"),
        ({"rating": 2}, "rating"),
        ({"passed": False, "rating": 1}, "comment"),
        ({"passed": "perhaps"}, "passed"),
    ],
)
def test_answer_refused_names_the_field(team: Team, asked: BlindAudit, changes: dict[str, Any], path: str) -> None:
    second.take_blind_audit(asked, actor=team.aud)
    reply = post(team, "aud", f"{SECOND}{asked.pk}/criteria/", {**ANSWER, **changes})
    assert reply.status_code == 422 and reply.json()["problems"][0]["path"] == path
    assert not BlindResult.objects.exists()


def test_disagreement_is_the_core_teams_to_read_and_a_third_persons_to_decide(team: Team) -> None:
    item = bring_to(team, team.item(), State.LOCKED)
    [audit] = second.ask_double_audits(team.benchmark, [item.number], actor=team.core)
    audit_blind(audit, team.admin, "chain")
    listed, address = f"{AUDIT}agreement/disagreements/", f"{SECOND}{audit.pk}/adjudicate/"
    word = {"criterion": "chain", "rating": 4, "passed": True, "comment": "The chain holds"}
    for who, status in (("ann", 403), ("aud", 403), ("stranger", 404)):
        assert team.client(who).get(listed).status_code == status
        assert post(team, who, address, word).status_code == status
        assert team.client(who).get(f"{AUDIT}agreement/").status_code == (404 if who == "stranger" else 200)
    [row] = team.client("core").get(listed).json()["results"]
    assert (row["item"], row["criterion"], row["first"]["by"], row["second"]["by"], row["third"]) == (
        item.number,
        "chain",
        "bench-aud",
        "bench-admin",
        None,
    )
    assert post(team, "admin", address, word).status_code == 403  # the second auditor
    assert post(team, "core", address, {**word, "criterion": "path"}).json()["code"] == "no_disagreement"
    assert post(team, "core", address, {**word, "rating": 1}).json()["problems"][0]["path"] == "rating"
    assert post(team, "core", address, word).json()["by"] == "bench-core"
    assert post(team, "core", address, word).json()["code"] == "decided_meanwhile"
    assert team.client("core").get(listed).json()["results"][0]["third"]["comment"] == "The chain holds"
    overall = team.client("ann").get(f"{AUDIT}agreement/").json()["agreement"]["rows"][0]
    assert (overall["disagreements"], overall["undecided"]) == (1, 0)


def test_people_outside_see_no_trace(team: Team, asked: BlindAudit) -> None:
    from django.test import Client

    stranger = make_user()
    client = Client()
    client.force_login(stranger)
    absent = f"/api/benchmarks/none/audit/second/{asked.pk}/"
    assert client.get(f"{SECOND}{asked.pk}/").json() == client.get(absent).json()
