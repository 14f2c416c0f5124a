"""Marking plans over HTTP: by role, drawing, progress, and bodies that cannot be meant."""

from typing import Any

import pytest
from django.test import Client

from evaluation import marking_actions, study_actions
from evaluation.models import MarkingPlan, Run
from tests.evaluation.setting import Setting, work_through
from tests.evaluation.test_api import READ, WRITE, send

MARKING = "/api/benchmarks/bench/marking/"


@pytest.fixture
def run(setting: Setting) -> Run:
    return work_through(setting.launch())


def drawn(setting: Setting, **body: Any) -> Any:
    reply = send(setting.team.client("admin"), MARKING, {"run": 1, **body})
    assert reply.status_code == 201, reply.content
    return reply.json()


@pytest.mark.parametrize("path", ["", "1/"])
@pytest.mark.parametrize(("who", "expected"), READ)
def test_plans_by_role_are_read_by_members_only(run: Run, setting: Setting, path: str, who: str, expected: int) -> None:
    drawn(setting)
    assert setting.team.client(who).get(MARKING + path).status_code == expected


def test_plans_without_log_in_are_refused(setting: Setting, client: Client) -> None:
    assert client.get(MARKING).status_code in (401, 403)


@pytest.mark.parametrize(("who", "expected"), [*WRITE, ("admin", 201)])
def test_plans_are_drawn_by_admins_only(run: Run, setting: Setting, who: str, expected: int) -> None:
    assert send(setting.team.client(who), MARKING, {"run": 1}).status_code == expected
    assert MarkingPlan.objects.exists() is (expected == 201)


def test_plan_of_a_run_shows_who_marked_how_many(run: Run, setting: Setting) -> None:
    made = drawn(setting, size=2, seed=5)
    assert {name: made[name] for name in ("number", "run", "study", "method", "size", "seed", "responses")} == {
        "number": 1, "run": 1, "study": None, "method": "random", "size": 2, "seed": 5, "responses": 2,
    }  # fmt: skip
    assert made["progress"] == [] and made["created_by"] == setting.team.admin.username
    task = MarkingPlan.objects.get().tasks.get(position=1)
    verdict = marking_actions.record_human_verdict(task.response, True, [1] * 10, actor=setting.team.aud)
    read = setting.team.client("ann").get(f"{MARKING}1/").json()
    assert read["progress"] == [{"judge": verdict.judge.name, "person": setting.team.aud.username, "done": 1}]
    assert setting.team.client("ann").get(MARKING).json()["results"] == [read]


def test_plan_without_a_seed_says_which_it_took(run: Run, setting: Setting) -> None:
    first = drawn(setting, size=1)
    assert MarkingPlan.objects.get().seed == first["seed"]
    again = drawn(setting, size=1, seed=first["seed"])
    one, other = (MarkingPlan.objects.get(number=n).tasks.get().response_id for n in (1, again["number"]))
    assert one == other


def test_plan_of_a_study(run: Run, setting: Setting) -> None:
    data = {"name": "Spring", "release": setting.release, "systems": [setting.system], "judges": [setting.judge]}
    study = study_actions.create_study(setting.benchmark, data, actor=setting.team.admin)
    study_actions.adopt_run(study, run, actor=setting.team.admin)
    reply = send(setting.team.client("admin"), MARKING, {"study": 1, "method": "stratified"})
    made = reply.json()
    assert (made["study"], made["run"], made["responses"]) == (1, None, 3)


@pytest.mark.parametrize(
    ("body", "path"),
    [
        ({}, "run"),
        ({"run": 1, "study": 1}, "run"),
        ({"run": 9}, "run"),
        ({"run": "x"}, "run"),
        ({"run": 10**30}, "run"),
        ({"study": 9}, "study"),
        ({"run": 1, "method": "handed"}, "method"),
        ({"run": 1, "method": "disagreement"}, "method"),  # one judge cannot disagree
        ({"run": 1, "size": 0}, "size"),
        ({"run": 1, "size": 10**10}, "size"),
        ({"run": 1, "seed": -1}, "seed"),
        ({"run": 1, "seed": 2**53 + 1}, "seed"),
    ],
)
def test_plan_with_a_wrong_field_names_it(run: Run, setting: Setting, body: dict[str, Any], path: str) -> None:
    reply = send(setting.team.client("admin"), MARKING, body)
    assert (reply.status_code, reply.json()["problems"][0]["path"]) == (422, path)
    assert not MarkingPlan.objects.exists()


def test_plan_of_a_run_without_an_answer_is_refused(setting: Setting) -> None:
    setting.launch()
    reply = send(setting.team.client("admin"), MARKING, {"run": 1})
    assert reply.status_code == 422 and "no completed response yet" in reply.json()["message"]


def test_plans_come_newest_first_in_pages_by_few_queries(
    run: Run, setting: Setting, django_assert_max_num_queries: Any
) -> None:
    for _ in range(3):
        drawn(setting)
    client = setting.team.client("ann")
    with django_assert_max_num_queries(7):
        page = client.get(MARKING, {"limit": 2}).json()
    assert [row["number"] for row in page["results"]] == [3, 2]
    assert [row["number"] for row in client.get(page["next"]).json()["results"]] == [1]
    assert client.get(f"{MARKING}9/").status_code == 404
