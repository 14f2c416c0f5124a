"""Studies over HTTP: every address by role, planning by names, what lacks, filling, freezing."""

import re
from typing import Any

import pytest
from django.test import Client

from evaluation.models import Run, Study
from tests.evaluation.setting import Setting, work_through
from tests.evaluation.test_api import READ, WRITE, send

STUDIES = "/api/benchmarks/bench/studies/"
ADMIN = "admin"


def body(setting: Setting, **changes: Any) -> dict[str, Any]:
    names = {"systems": [setting.system.name], "judges": [setting.judge.name]}
    return {"name": "Spring", "release": "r1", **names, **changes}


def plan(setting: Setting, **changes: Any) -> Any:
    reply = send(setting.team.client(ADMIN), STUDIES, body(setting, **changes))
    assert reply.status_code == 201, reply.content
    return reply.json()


@pytest.mark.parametrize("path", ["", "1/"])
@pytest.mark.parametrize(("who", "expected"), READ)
def test_studies_by_role_are_read_by_members_only(setting: Setting, path: str, who: str, expected: int) -> None:
    plan(setting)
    assert setting.team.client(who).get(STUDIES + path).status_code == expected


def test_studies_without_log_in_are_refused(setting: Setting, client: Client) -> None:
    assert client.get(STUDIES).status_code in (401, 403)


@pytest.mark.parametrize(("who", "expected"), WRITE)
def test_studies_are_written_by_admins_only(setting: Setting, who: str, expected: int) -> None:
    plan(setting)
    client = setting.team.client(who)
    assert send(client, STUDIES, body(setting, name="Other")).status_code == expected
    assert send(client, f"{STUDIES}1/", {"note": "x"}, "patch").status_code == expected
    for act in ("fill", "pause", "resume", "cancel", "freeze"):
        assert send(client, f"{STUDIES}1/{act}/").status_code == expected
    assert Study.objects.count() == 1 and not Run.objects.exists()


def test_study_from_plan_to_freeze(setting: Setting) -> None:
    second = setting.new_judge(name="second")
    client = setting.team.client(ADMIN)
    made = plan(setting, judges=[setting.judge.name, "second"], main_judge="second", budget="2.50", note="why")
    assert (made["state"], made["budget"], made["main_judge"], made["judges"]) == (
        "planned",
        2.5,
        "second",
        ["second", setting.judge.name],
    )
    assert made["to_fill"] == {"runs": 1, "responses": 3, "verdicts": 6, "cost": 0, "unknown": 9}
    assert send(client, f"{STUDIES}1/freeze/").status_code == 409
    filled = send(client, f"{STUDIES}1/fill/").json()
    assert filled == {"launched": [1], "resumed": 0, "responses": 0, "verdicts": 0, "refused": []}
    study = client.get(f"{STUDIES}1/").json()
    assert (study["state"], study["is_complete"]) == ("running", False)
    assert study["responses"] == {"total": 3, "done": 0, "holes": [{"why": "pending", "count": 3, "kind": ""}]}
    work_through(Run.objects.get())
    study = client.get(f"{STUDIES}1/").json()
    [row] = study["matrix"]
    assert (study["state"], row["run"], row["run_state"]) == ("complete", 1, "finished")
    assert row["verdicts"]["second"] == {"total": 3, "done": 3, "holes": []}
    assert client.get("/api/benchmarks/bench/runs/1/").json()["study"] == 1
    board = client.get("/api/benchmarks/bench/results/", {"study": 1}).json()
    assert board["judge"]["name"] == second.name and len(board["runs"]) == 1
    changed = send(client, f"{STUDIES}1/", {"samples": 2, "budget": None}, "patch").json()
    assert (changed["state"], changed["samples"], changed["budget"]) == ("holes", 2, None)
    assert changed["to_fill"]["responses"] == 3
    frozen = send(client, f"{STUDIES}1/freeze/").json()
    assert frozen["state"] == "frozen" and frozen["frozen"]
    reply = send(client, f"{STUDIES}1/fill/")
    assert (reply.status_code, reply.json()["code"]) == (409, "study_frozen")


@pytest.mark.parametrize(("who", "expected"), WRITE)
def test_study_is_steered_by_admins_only(setting: Setting, who: str, expected: int) -> None:
    plan(setting)
    send(setting.team.client(ADMIN), f"{STUDIES}1/fill/")
    for before, act in (("queued", "pause"), ("paused", "resume"), ("queued", "cancel")):
        Run.objects.update(state=before)
        assert send(setting.team.client(who), f"{STUDIES}1/{act}/").status_code == expected
        assert Run.objects.get().state == before


def test_study_is_paused_resumed_and_cancelled(setting: Setting) -> None:
    plan(setting, systems=[setting.system.name, setting.new_system().name])
    client = setting.team.client(ADMIN)
    send(client, f"{STUDIES}1/fill/")
    first, second = Run.objects.order_by("pk")
    work_through(first)

    def states_after(act: str, expected: int = 200, body: Any = None) -> list[str]:
        reply = send(client, f"{STUDIES}1/{act}/", body)
        assert reply.status_code == expected, reply.content
        if expected == 200:
            assert reply.json()["matrix"][0]["run_state"] == "finished"
        return list(Run.objects.order_by("pk").values_list("state", flat=True))

    assert states_after("pause", 422, {"reason": "x"}) == ["finished", "queued"]
    assert states_after("pause") == states_after("pause") == ["finished", "paused"]
    assert states_after("resume", 422, {"budget": 5}) == ["finished", "paused"]
    assert states_after("resume", body=b"") == ["finished", "queued"]
    Run.objects.filter(pk=second.pk).update(state="stopped", spent="9")
    Study.objects.update(budget="1")
    assert states_after("resume", 422) == ["finished", "stopped"]
    assert "used up" in send(client, f"{STUDIES}1/resume/").json()["problems"][0]["message"]
    assert states_after("cancel") == states_after("cancel") == ["finished", "cancelled"]
    assert Study.objects.get().events.filter(kind="study.cancelled").count() == 1
    send(client, f"{STUDIES}1/freeze/")
    for act in ("pause", "resume", "cancel"):
        assert send(client, f"{STUDIES}1/{act}/").json()["code"] == "study_frozen"


@pytest.mark.parametrize(
    ("changes", "path"),
    [
        ({"name": ""}, "name"),
        ({"release": "r9"}, "release"),
        ({"systems": ["nobody"]}, "systems"),
        ({"systems": []}, "systems"),
        ({"judges": "x"}, "judges"),
        ({"main_judge": "nobody"}, "main_judge"),
        ({"conditions": ["sideways"]}, "conditions"),
        ({"conditions": []}, "conditions"),
        ({"samples": 21}, "samples"),
        ({"budget": "NaN"}, "budget"),
        ({"token_budget": 0}, "token_budget"),
        ({"concurrency": 10**30}, "concurrency"),
    ],
)
def test_plan_with_a_wrong_field_names_it(setting: Setting, changes: dict[str, Any], path: str) -> None:
    client = setting.team.client(ADMIN)
    reply = send(client, STUDIES, body(setting, **changes))
    assert reply.status_code == 422, reply.content
    assert path in {re.split(r"[.\[]", problem["path"])[0] for problem in reply.json()["problems"]}
    assert not Study.objects.exists()
    if path != "release":
        plan(setting)
        assert send(client, f"{STUDIES}1/", changes, "patch").status_code == 422


def test_studies_are_listed_newest_first_in_pages(setting: Setting, django_assert_max_num_queries: Any) -> None:
    for number in range(3):
        plan(setting, name=f"Study {number}")
    client = setting.team.client("ann")
    with django_assert_max_num_queries(12):
        page = client.get(STUDIES, {"limit": 2}).json()
    assert [row["name"] for row in page["results"]] == ["Study 2", "Study 1"]
    assert [row["name"] for row in client.get(page["next"]).json()["results"]] == ["Study 0"]


def test_study_that_is_not_there_is_not_found(setting: Setting) -> None:
    client = setting.team.client(ADMIN)
    assert client.get(f"{STUDIES}7/").status_code == 404
    assert send(client, f"{STUDIES}{10**30}/fill/").status_code == 404
    reply = client.get("/api/benchmarks/bench/results/", {"study": 7})
    assert (reply.status_code, reply.json()["problems"][0]["path"]) == (422, "study")
