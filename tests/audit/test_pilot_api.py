"""Pilot batches over HTTP: who makes, reads, rates and closes them, what a rater sees, and refusals by field."""

from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from audit.models import Calibration, PilotBatch, PilotRating
from audit.pilot_actions import close_batch, make_batch
from audit.plan_actions import set_plan
from tests.factories import Team

from .judging import fresh, submit
from .test_api import post
from .test_pilot import batch as batch  # the fixture
from .test_pilot import rate_all, words
from .test_work_api import AUDIT, put

PILOT = f"{AUDIT}pilot/"
CORE_ONLY = [("ann", 403), ("aud", 403), ("stranger", 404)]


def body(batch: PilotBatch, **changes: Any) -> dict[str, Any]:
    return {"hash": fresh(batch.items.order_by("pk")[0]).document_hash, "ratings": words(), **changes}


@pytest.mark.parametrize(("who", "status"), [*CORE_ONLY, ("core", 201), ("admin", 201)])
def test_board_and_making_a_batch_by_role(team: Team, who: str, status: int) -> None:
    set_plan(team.benchmark, {"pilot_items": 2, "pilot_raters": 2}, actor=team.admin)
    submit(team.item())
    assert team.client(who).get(PILOT).status_code == (200 if status == 201 else status)
    made = post(team, who, PILOT, {"annotator": "bench-ann"})
    assert made.status_code == status
    assert PilotBatch.objects.count() == (status == 201)
    if status == 201:
        row = next(row for row in team.client(who).get(PILOT).json() if row["annotator"] == "bench-ann")
        assert (row["items"], row["calibrated"], row["batches"][0]["outcome"]) == (1, False, "open")
        assert made.json()["batch"]["id"] == row["batches"][0]["id"]
        assert post(team, who, PILOT, {"annotator": "bench-ann"}).status_code == 409


def test_batch_for_nobody_names_the_field(team: Team) -> None:
    for name in ("bench-stranger", "nobody", "bench-ann"):  # who has nothing submitted
        reply = post(team, "core", PILOT, {"annotator": name})
        assert reply.status_code == 422 and reply.json()["problems"][0]["path"] == "annotator"


@pytest.mark.parametrize(("who", "status"), [*CORE_ONLY, ("core", 200), ("admin", 200)])
def test_batch_is_read_and_rated_by_role(team: Team, batch: PilotBatch, who: str, status: int) -> None:
    address = f"{PILOT}{batch.pk}/"
    assert team.client(who).get(address).status_code == status
    rated = put(team, who, f"{address}items/1/", body(batch))
    assert rated.status_code == status
    assert PilotRating.objects.exists() == (status == 200)
    if status == 200:
        again = put(
            team, who, f"{address}items/1/", body(batch, ratings={"pilot_graph": {"rating": 5, "passed": True}})
        )
        assert PilotRating.objects.count() == len(words())
        ratings = again.json()["items"][0]["ratings"]
        assert {row["rating"] for row in ratings if row["criterion"] == "pilot_graph"} == {5}


def test_rater_sees_only_their_own_until_every_rater_is_done(team: Team, batch: PilotBatch) -> None:
    address = f"{PILOT}{batch.pk}/"
    rate_all(batch, team.core)
    shown = team.client("admin").get(address).json()
    assert [item["ratings"] for item in shown["items"]] == [[], []] and shown["agreed"] is None
    assert set(shown["means"].values()) == {None}
    rate_all(batch, team.admin)
    shown = team.client("admin").get(address).json()
    assert shown["is_complete"] and shown["agreed"]["verdicts"] == 1 and set(shown["means"].values()) == {4.0}
    assert {row["rater"] for row in shown["items"][0]["ratings"]} == {"bench-core", "bench-admin"}
    assert put(team, "core", f"{address}items/1/", body(batch)).status_code == 409


@pytest.mark.parametrize(
    ("changes", "status", "path"),
    [
        ({"hash": "0" * 64}, 409, ""),
        ({"ratings": {}}, 422, "ratings"),
        ({"ratings": {"none": {"rating": 4, "passed": True}}}, 422, "ratings.none"),
        ({"ratings": {"pilot_graph": {"rating": 9, "passed": True}}}, 422, "ratings.pilot_graph.rating"),
        ({"ratings": {"pilot_graph": {"rating": 2, "passed": True}}}, 422, "ratings.pilot_graph"),
        ({"ratings": {"pilot_graph": {"rating": 2, "passed": False}}}, 422, "ratings.pilot_graph"),
    ],
)
def test_rating_refused_names_the_criterion(
    team: Team, batch: PilotBatch, changes: dict[str, Any], status: int, path: str
) -> None:
    reply = put(team, "core", f"{PILOT}{batch.pk}/items/1/", body(batch, **changes))
    assert reply.status_code == status, reply.content
    assert not path or reply.json()["problems"][0]["path"] == path
    assert not PilotRating.objects.exists()


@pytest.mark.parametrize(("who", "status"), [*CORE_ONLY, ("core", 200)])
def test_close_by_role_and_then_the_annotator_reads_it(team: Team, batch: PilotBatch, who: str, status: int) -> None:
    address = f"{PILOT}{batch.pk}/"
    closing = {"outcome": "again", "note": "Shorter chains"}
    if status == 200:
        assert post(team, who, f"{address}close/", closing).status_code == 409  # nobody has rated
    rate_all(batch, team.core, team.admin)
    assert post(team, who, f"{address}close/", closing).status_code == status
    assert PilotBatch.objects.get().status == ("again" if status == 200 else "open")
    assert team.client("ann").get(address).status_code == (200 if status == 200 else 403)
    assert team.client("ann2").get(address).status_code == 403


@pytest.mark.parametrize(("changes", "path"), [({"outcome": "open"}, "outcome"), ({"note": ""}, "note")])
def test_close_refused_names_the_field(team: Team, batch: PilotBatch, changes: dict[str, Any], path: str) -> None:
    rate_all(batch, team.core, team.admin)
    reply = post(team, "core", f"{PILOT}{batch.pk}/close/", {"outcome": "again", "note": "x", **changes})
    assert reply.status_code == 422 and reply.json()["problems"][0]["path"] == path


@pytest.mark.parametrize(("who", "status"), [*CORE_ONLY, ("core", 204)])
def test_calibration_by_role(team: Team, who: str, status: int) -> None:
    data = {"annotator": "bench-ann", "calibrated": True, "note": "Known from before"}
    assert post(team, who, f"{AUDIT}calibration/", data).status_code == status
    assert Calibration.objects.filter(calibrated=True).count() == (status == 204)


def test_board_asks_the_same_queries_whatever_the_number_of_batches(team: Team, batch: PilotBatch) -> None:
    client, counts = team.client("core"), []
    for _n in range(2):
        rate_all(batch, team.core, team.admin)
        close_batch(batch, "again", "More", actor=team.core)
        submit(team.item())
        batch = make_batch(team.benchmark, team.ann, actor=team.core)
        with CaptureQueriesContext(connection) as found:
            assert client.get(PILOT).status_code == 200
        counts.append(len(found))
    assert counts[0] == counts[1] <= 12
