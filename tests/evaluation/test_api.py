"""Runs over HTTP: every address by role, launching by names, paging, and bodies that cannot be taken."""

import json
from typing import Any

import pytest
from django.test import Client

from evaluation.models import Run, Verdict
from tests.evaluation.setting import Setting, work_through

RUNS = "/api/benchmarks/bench/runs/"
READ = [("ann", 200), ("aud", 200), ("core", 200), ("admin", 200), ("stranger", 404)]
WRITE = [("ann", 403), ("aud", 403), ("core", 403), ("stranger", 404)]


def send(client: Client, path: str, body: Any = None, method: str = "post") -> Any:
    data = body if isinstance(body, (str, bytes)) else json.dumps({} if body is None else body)
    return getattr(client, method)(path, data, content_type="application/json")


def launch_body(setting: Setting, **changes: Any) -> dict[str, Any]:
    return {"release": "r1", "system": setting.system.name, "judges": [setting.judge.name], **changes}


@pytest.mark.parametrize("path", ["systems/", "judges/", "runs/", "runs/1/", "runs/1/responses/"])
@pytest.mark.parametrize(("who", "expected"), READ)
def test_reads_by_role_answer_members_only(setting: Setting, path: str, who: str, expected: int) -> None:
    setting.launch()
    assert setting.team.client(who).get(f"/api/benchmarks/bench/{path}").status_code == expected


def configuration(setting: Setting, path: str, **changes: Any) -> dict[str, Any]:
    data = {"name": "new", "endpoint": setting.endpoint.name, "model": "demo-system", **changes}
    return {"group": "deep_research", "family": "demo", **data} if path == "systems/" else data


@pytest.mark.parametrize("path", ["systems/", "judges/"])
@pytest.mark.parametrize(("who", "expected"), [*WRITE, ("admin", 201)])
def test_configurations_by_role_are_made_by_admins_only(setting: Setting, path: str, who: str, expected: int) -> None:
    address = f"/api/benchmarks/bench/{path}"
    reply = send(setting.team.client(who), address, configuration(setting, path))
    assert reply.status_code == expected, reply.content
    names = [row["name"] for row in setting.team.client("admin").get(address).json()]
    assert ("new" in names) == (expected == 201)


def test_system_and_judge_that_are_made_have_every_field_and_can_be_run(setting: Setting) -> None:
    client, base = setting.team.client("admin"), "/api/benchmarks/bench/"
    fields = {
        "extra_body": {"seed": 1}, "max_tries": 2, "prompt_price": "3.0000", "completion_price": "15.0000",
    }  # fmt: skip
    of_system = {
        "release_date": "2026-05-01", "represents_family": True, "image_mode": "none", "image_max_side": 800,
        "max_request_mb": 5,
    }  # fmt: skip
    of_judge = {"family": "other", "prompt_version": "lhdr-quote-1", "max_response_chars": 2000}
    for path, more in (("systems/", of_system), ("judges/", of_judge)):
        asked = configuration(setting, path, **fields, **more)
        made = send(client, f"{base}{path}", asked).json()
        assert {name: made[name] for name in asked} == asked
        assert made in client.get(f"{base}{path}").json() and made["runs"] == 0
    assert send(client, RUNS, {"release": "r1", "system": "new", "judges": ["new"]}).status_code == 201


@pytest.mark.parametrize(
    ("path", "changes", "field", "says"),
    [
        ("systems/", {"endpoint": "nowhere"}, "endpoint", "it may use: demo bench"),
        ("systems/", {"group": "cars"}, "group", "not a valid choice"),
        ("systems/", {"extra_body": {"model": "x"}}, "extra_body", "The Workbench sets model itself"),
        ("systems/", {"extra_body": [1]}, "extra_body", "dictionary"),
        ("systems/", {"prompt_price": 3}, "completion_price", "give both"),
        ("systems/", {"temperature": 0}, "temperature", "There is no such field"),
        ("judges/", {"prompt_version": "mine"}, "prompt_version", "There is no such prompt version"),
        ("judges/", {"model": " "}, "model", "blank"),
    ],
)
def test_configuration_with_a_wrong_field_names_it(
    setting: Setting, path: str, changes: dict[str, Any], field: str, says: str
) -> None:
    reply = send(setting.team.client("admin"), f"/api/benchmarks/bench/{path}", configuration(setting, path, **changes))
    [problem] = reply.json()["problems"]
    assert (reply.status_code, problem["path"]) == (422, field) and says in problem["message"]


@pytest.mark.parametrize("path", ["systems/", "runs/", "runs/1/responses/"])
def test_reads_without_log_in_are_refused(setting: Setting, client: Client, path: str) -> None:
    setting.launch()
    assert client.get(f"/api/benchmarks/bench/{path}").status_code in (401, 403)


@pytest.mark.parametrize(("who", "expected"), [*WRITE, ("admin", 201)])
def test_launch_by_role_starts_for_admins_only(setting: Setting, who: str, expected: int) -> None:
    reply = send(setting.team.client(who), RUNS, launch_body(setting))
    assert reply.status_code == expected, reply.content
    assert Run.objects.count() == (expected == 201)


@pytest.mark.parametrize("move", ["pause", "resume", "cancel", "retry"])
@pytest.mark.parametrize(("who", "expected"), [*WRITE, ("admin", 200)])
def test_moves_by_role_obey_admins_only(setting: Setting, move: str, who: str, expected: int) -> None:
    run = setting.launch()
    if move == "resume":
        Run.objects.filter(pk=run.pk).update(state="paused")
    before = Run.objects.get(pk=run.pk).state
    reply = send(setting.team.client(who), f"{RUNS}1/{move}/")
    assert reply.status_code == expected, reply.content
    if expected != 200:
        assert Run.objects.get(pk=run.pk).state == before
    else:
        assert reply.json()["state"] == {"pause": "paused", "cancel": "cancelled"}.get(move, "queued")


def test_launch_by_names_takes_everything(setting: Setting) -> None:
    other = setting.new_judge(name="second")
    body = launch_body(
        setting,
        judges=[setting.judge.name, "second"],
        main_judge="second",
        condition="without_image",
        concurrency=3,
        budget="2.50",
        note="by program",
    )
    reply = send(setting.team.client("admin"), RUNS, body).json()
    run = Run.objects.get()
    assert (run.main_judge, run.condition, run.concurrency, str(run.budget)) == (other, "without_image", 3, "2.50")
    assert (reply["items"], reply["responses"]["pending"], reply["is_demo"], reply["audited"]) == (3, 3, True, False)


@pytest.mark.parametrize(
    ("changes", "path"),
    [
        ({"release": "r9"}, "release"),
        ({"system": "nobody"}, "system"),
        ({"judges": ["nobody"]}, "judges"),
        ({"judges": []}, "judges"),
        ({"judges": "x"}, "judges"),
        ({"main_judge": "nobody"}, "main_judge"),
        ({"condition": "sideways"}, "condition"),
        ({"concurrency": 0}, "concurrency"),
        ({"concurrency": 10**30}, "concurrency"),
        ({"budget": -1}, "budget"),
        ({"budget": "NaN"}, "budget"),
        ({"release": None}, "release"),
        ({"note": 5 * [1]}, "note"),
        ({"budgt": 5}, "budgt"),  # a run without a budget is not what was meant
    ],
)
def test_launch_with_a_wrong_field_names_it(setting: Setting, changes: dict[str, Any], path: str) -> None:
    reply = send(setting.team.client("admin"), RUNS, launch_body(setting, **changes))
    assert reply.status_code == 422, reply.content
    assert path in {p["path"].split(".")[0] for p in reply.json()["problems"]}
    assert not Run.objects.exists()


def test_launch_with_a_field_that_there_is_not_says_which_there_are(setting: Setting) -> None:
    reply = send(setting.team.client("admin"), RUNS, launch_body(setting, budgt=5, concurrency=0))
    told = {problem["path"]: problem["message"] for problem in reply.json()["problems"]}
    assert set(told) == {"budgt", "concurrency"}
    assert told["budgt"].startswith("There is no such field; there is: release, system, judges,")


@pytest.mark.parametrize("method", ["get", "post", "delete"])
def test_address_that_there_is_not_answers_in_json(setting: Setting, method: str) -> None:
    for client in (setting.team.client("admin"), Client()):
        reply = getattr(client, method)(f"{RUNS}1/judge/")
        assert (reply.status_code, reply.json()["code"]) == (404, "not_found")
    assert setting.team.client("admin").get(RUNS[:-1]).status_code == 301
    assert "<html" in setting.team.client("admin").get("/b/bench/nothing/").content.decode()


@pytest.mark.parametrize("body", ["{", "[]", '"x"', "null", '{"system": "\\ud800"}', '{"system": "\\u0000"}', "NaN"])
def test_launch_with_a_body_that_is_no_object_is_a_4xx(setting: Setting, body: str) -> None:
    reply = send(setting.team.client("admin"), RUNS, body)
    assert 400 <= reply.status_code < 500
    assert reply.json()["message"]


def test_move_in_the_wrong_state_is_a_conflict(setting: Setting) -> None:
    setting.launch()
    reply = send(setting.team.client("admin"), f"{RUNS}1/resume/")
    assert (reply.status_code, reply.json()["state"]) == (409, "queued")


def test_run_that_is_not_there_is_not_found(setting: Setting) -> None:
    assert setting.team.client("admin").get(f"{RUNS}7/").status_code == 404
    assert setting.team.client("admin").get(f"{RUNS}{10**30}/").status_code == 404


def test_responses_are_paged_without_gap_or_repeat(setting: Setting) -> None:
    run = work_through(setting.launch())
    client = setting.team.client("ann")
    path, seen = f"{RUNS}1/responses/?limit=2", []
    while path:
        page = client.get(path).json()
        seen += [row["pk"] for row in page["results"]]
        path = page["next"]
    assert seen == list(run.responses.order_by("pk").values_list("pk", flat=True))
    row = client.get(f"{RUNS}1/responses/").json()["results"][0]
    assert (row["id"], row["item"], row["status"]) == ("bench-0", 1, "completed")
    assert row["text"]


@pytest.mark.parametrize("query", ["after=x", "limit=x", "limit=100000", "after=-1", "after=" + "9" * 40])
def test_paging_with_a_wrong_number_names_it(setting: Setting, query: str) -> None:
    setting.launch()
    reply = setting.team.client("ann").get(f"{RUNS}1/responses/?{query}")
    assert reply.status_code == 422
    assert reply.json()["problems"][0]["path"] == query.split("=")[0]


def test_verdicts_say_who_judged_what(setting: Setting) -> None:
    run = work_through(setting.launch())
    rows = setting.team.client("ann").get(f"{RUNS}1/verdicts/").json()["results"]
    assert len(rows) == run.verdicts.count() == 3
    assert {row["judge"] for row in rows} == {setting.judge.name}
    assert all(len(row["vector"]) == 10 and row["output"] and row["identity"] for row in rows)


@pytest.mark.parametrize(
    ("who", "expected"), [("ann", 403), ("aud", 200), ("core", 200), ("admin", 200), ("stranger", 404)]
)
def test_own_verdict_by_role_is_for_auditors_and_above(setting: Setting, who: str, expected: int) -> None:
    run = work_through(setting.launch())
    response = run.responses.order_by("pk")[0]
    body = {"answer_correct": True, "vector": [1] * 9 + [0], "note": "The year is off."}
    reply = send(setting.team.client(who), f"{RUNS}1/responses/{response.pk}/verdict/", body, method="put")
    assert reply.status_code == expected, reply.content
    given = Verdict.objects.filter(judge__person__isnull=False)
    assert given.count() == (expected == 200)
    if expected == 200:
        assert reply.json()["vector"] == body["vector"]
        assert (reply.json()["blind"], reply.json()["person"]) == (True, True)
        assert reply.json()["note"] == "The year is off."


@pytest.mark.parametrize(
    ("who", "before", "posted", "after"),
    [("ann", 200, 204, 200), ("aud", 403, 204, 200), ("admin", 403, 204, 200), ("stranger", 404, 404, 404)],
)
def test_verdicts_by_role_are_hidden_from_who_may_give_them_until_revealed(
    setting: Setting, who: str, before: int, posted: int, after: int
) -> None:
    run = work_through(setting.launch())
    client = setting.team.client(who)
    hidden = client.get(f"{RUNS}1/verdicts/")
    assert hidden.status_code == before
    if before == 403:
        assert hidden.json()["code"] == "verdicts_hidden"
        assert f"{RUNS}1/verdicts/reveal/" in hidden.json()["message"]
    assert not run.events.filter(kind="verdicts.revealed").exists()  # reading records nothing
    assert send(client, f"{RUNS}1/verdicts/reveal/").status_code == posted
    assert client.get(f"{RUNS}1/verdicts/").status_code == after
    if who == "aud":
        path = f"{RUNS}1/responses/{run.responses.order_by('pk')[0].pk}/verdict/"
        body = {"answer_correct": True, "vector": [1] * 10}
        assert send(client, path, body, method="put").json()["blind"] is False


@pytest.mark.parametrize(
    "body",
    [
        {"answer_correct": True, "vector": [1] * 9},
        {"answer_correct": True, "vector": [2] * 10},
        {"answer_correct": "maybe", "vector": [1] * 10},
        {"vector": [1] * 10},
        {"answer_correct": True},
    ],
)
def test_own_verdict_that_does_not_fit_is_refused(setting: Setting, body: dict[str, Any]) -> None:
    run = work_through(setting.launch())
    path = f"{RUNS}1/responses/{run.responses.order_by('pk')[0].pk}/verdict/"
    reply = send(setting.team.client("aud"), path, body, method="put")
    assert reply.status_code == 422
    assert not Verdict.objects.filter(judge__person__isnull=False).exists()


@pytest.mark.parametrize("path", ["systems/", "judges/", "runs/", "runs/1/responses/", "runs/1/verdicts/"])
def test_lists_ask_the_database_as_often_for_many_rows(
    setting: Setting, path: str, django_assert_max_num_queries: Any
) -> None:
    for _ in range(4):
        work_through(setting.launch(system=setting.new_system(), judges=[setting.new_judge(), setting.new_judge()]))
    client = setting.team.client("ann")
    with django_assert_max_num_queries(6):
        client.get(f"/api/benchmarks/bench/{path}")
