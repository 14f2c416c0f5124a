"""Anchors and judge drift over HTTP: by role, drawing, setting, releasing, measuring, and what cannot be meant."""

from typing import Any

import pytest
from django.test import Client
from django.utils import timezone

from evaluation import actions, marking_actions, study_actions
from evaluation.models import Anchor, DriftMeasurement, Judge, Run, Study
from tests.evaluation.setting import Setting, work_through
from tests.evaluation.test_api import READ, WRITE, send

BASE = "/api/benchmarks/bench/"
ANCHORS = f"{BASE}anchors/"


@pytest.fixture
def run(setting: Setting) -> Run:
    return work_through(setting.launch())


def drift(judge: Judge) -> str:
    return f"{BASE}judges/{judge.pk}/drift/"


def anchor(run: Run) -> str:
    return f"{BASE}runs/{run.number}/responses/{run.responses.order_by('pk')[0].pk}/anchor/"


def draw(setting: Setting, **body: Any) -> Any:
    return send(setting.team.client("admin"), ANCHORS, {"run": 1, **body})


@pytest.mark.parametrize(("who", "expected"), READ)
def test_anchors_and_drift_by_role_are_read_by_members_only(
    run: Run, setting: Setting, who: str, expected: int
) -> None:
    for address in (ANCHORS, drift(setting.judge)):
        assert setting.team.client(who).get(address).status_code == expected


def test_anchors_and_drift_without_log_in_are_refused(run: Run, setting: Setting, client: Client) -> None:
    for address in (ANCHORS, drift(setting.judge)):
        assert client.get(address).status_code in (401, 403)


@pytest.mark.parametrize(("who", "expected"), WRITE)
def test_anchors_and_drift_are_written_by_admins_only(run: Run, setting: Setting, who: str, expected: int) -> None:
    assert draw(setting, size=1).status_code == 201
    client = setting.team.client(who)
    assert send(client, ANCHORS, {"run": 1}).status_code == expected
    for method in ("put", "delete"):
        assert send(client, anchor(run), method=method).status_code == expected
    assert send(client, drift(setting.judge)).status_code == expected
    assert Anchor.objects.count() == 1 and not DriftMeasurement.objects.exists()


def test_anchors_are_drawn_with_a_seed_and_listed_in_pages(
    run: Run, setting: Setting, django_assert_max_num_queries: Any
) -> None:
    assert draw(setting, size=2, seed=7).json() == {"drawn": 2, "seed": 7}
    rest = draw(setting).json()
    assert rest["drawn"] == 1 and run.events.filter(kind="anchors.changed")[0].data["seed"] == rest["seed"]
    assert draw(setting).json()["drawn"] == 0
    client = setting.team.client("ann")
    with django_assert_max_num_queries(5):
        page = client.get(ANCHORS, {"limit": 2}).json()
    rows = [*page["results"], *client.get(page["next"]).json()["results"]]
    assert sorted(row["response"] for row in rows) == sorted(run.responses.values_list("pk", flat=True))
    numbers = set(setting.release.release_items.values_list("item__number", flat=True))
    assert {row["item"] for row in rows} == numbers
    assert {(row["run"], row["system"], row["sample"], row["added_by"]) for row in rows} == {
        (1, setting.system.name, 1, setting.team.admin.username)
    }


def test_one_response_is_made_an_anchor_and_released(run: Run, setting: Setting) -> None:
    client, pk = setting.team.client("admin"), run.responses.order_by("pk")[0].pk
    for method, is_anchor in (("put", True), ("put", True), ("delete", False), ("delete", False)):
        reply = send(client, anchor(run), method=method)
        assert (reply.status_code, reply.json()) == (200, {"response": pk, "is_anchor": is_anchor})
        assert Anchor.objects.filter(response=pk).exists() is is_anchor
    assert run.events.filter(kind="anchors.changed").count() == 2


def test_drift_is_measured_and_its_rows_are_read(run: Run, setting: Setting) -> None:
    draw(setting, size=2)
    client = setting.team.client("admin")
    assert client.get(drift(setting.judge)).json() == {"judge": setting.judge.name, "anchors": 2, "rows": []}
    run.verdicts.update(answer_correct=True, vector=[1] * 10, unparseable="")
    reply = send(client, drift(setting.judge))
    assert reply.status_code == 202 and [row["open"] for row in reply.json()["rows"]] == [0, 2]
    work_through(run)
    measurement = DriftMeasurement.objects.get()
    measurement.verdicts.update(answer_correct=False, vector=[1] * 10, unparseable="")
    first, row = setting.team.client("ann").get(drift(setting.judge)).json()["rows"]
    assert (first["measurement"], first["created_by"], first["answers"]) == (None, None, 1)
    assert (row["measurement"], row["created_by"]) == (measurement.pk, setting.team.admin.username)
    assert {name: row[name] for name in ("asked", "read", "open", "answers", "steps", "flips", "answer_flips")} == {
        "asked": 2, "read": 2, "open": 0, "answers": 0, "steps": 1, "flips": 2, "answer_flips": 2,
    }  # fmt: skip
    ids = {row["name"]: row["id"] for row in client.get(f"{BASE}judges/").json()}
    assert ids[setting.judge.name] == setting.judge.pk  # the address of its drift is found by name


@pytest.mark.parametrize(
    ("body", "path"),
    [
        ({"run": 9}, "run"),
        ({"run": None}, "run"),
        ({"run": 10**30}, "run"),
        ({"size": 0}, "size"),
        ({"size": 501}, "size"),
        ({"seed": -1}, "seed"),
        ({"seed": "x"}, "seed"),
    ],
)
def test_drawing_with_a_wrong_field_names_it(run: Run, setting: Setting, body: dict[str, Any], path: str) -> None:
    reply = draw(setting, **body)
    assert (reply.status_code, reply.json()["problems"][0]["path"]) == (422, path)
    assert not Anchor.objects.exists()


def test_what_cannot_be_an_anchor_or_measured_is_refused(run: Run, setting: Setting) -> None:
    client = setting.team.client("admin")
    assert send(client, drift(setting.judge)).status_code == 409  # no anchor that it judged
    aud = marking_actions.record_human_verdict(run.responses.all()[0], True, [1] * 10, actor=setting.team.aud).judge
    reply = send(client, drift(aud))
    assert (reply.status_code, reply.json()["problems"][0]["path"]) == (422, "judge")
    waiting = setting.launch()
    assert send(client, anchor(waiting), method="put").status_code == 409
    actions.cancel_run(waiting, actor=setting.team.admin)
    assert draw(setting, run=waiting.number).status_code == 409
    data = {"name": "Spring", "release": setting.release, "systems": [setting.system], "judges": [setting.judge]}
    study = study_actions.create_study(setting.benchmark, data, actor=setting.team.admin)
    study_actions.adopt_run(study, run, actor=setting.team.admin)
    Study.objects.update(frozen=timezone.now())
    assert send(client, anchor(run), method="put").json()["code"] == "study_frozen"
    assert not Anchor.objects.exists()


def test_what_is_not_there_is_not_found(run: Run, setting: Setting) -> None:
    client = setting.team.client("admin")
    for path in (f"runs/1/responses/{10**9}/anchor/", f"runs/9/responses/{run.responses.all()[0].pk}/anchor/"):
        assert send(client, BASE + path, method="put").status_code == 404
    assert client.get(f"{BASE}judges/{10**9}/drift/").status_code == 404
    assert send(client, f"{BASE}judges/{10**30}/drift/").status_code == 404
