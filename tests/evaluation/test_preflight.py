"""What is looked at before a launch, against the real demo server."""

import threading
from concurrent.futures import ThreadPoolExecutor
from decimal import Decimal
from typing import Any

import pytest
from django.db.models import Avg
from django.urls import reverse
from django.utils import timezone

from evaluation import marking_actions, preflight, study_actions
from evaluation.models import Run, Study, Verdict
from evaluation.preflight import Check, check_launch, check_study
from lhdr_site.endpoints.demo_server import Answer
from lhdr_site.endpoints.models import Endpoint
from lhdr_site.shared.errors import Invalid, NotAllowed
from lhdr_site.shared.health import beat
from lhdr_site.shared.models import Heartbeat
from tests.evaluation.setting import Setting, next_release, work_through
from tests.evaluation.test_api import WRITE, launch_body, send


def checked(setting: Setting, **data: Any) -> dict[str, Check]:
    for row in (setting.system, setting.judge):
        row.endpoint = Endpoint.objects.get(pk=setting.endpoint.pk)
    plan = {"release": setting.release, "system": setting.system, "judges": [setting.judge], **data}
    return {check.title: check for check in check_launch(setting.benchmark, plan, actor=setting.team.admin)}


def test_all_is_well(setting: Setting) -> None:
    found = checked(setting)
    assert found[f"Key of {setting.endpoint}"].level == "ok"
    assert found[setting.judge.name] == Check("ok", setting.judge.name, "Its verdict on the first item can be read.")
    # the server without recordings lists one model only
    assert found[str(setting.endpoint)].level == "warning" and "demo-system" in found[str(setting.endpoint)].text
    assert "Not known beforehand" in found["Cost"].text
    assert Run.objects.count() == 0


def test_key_must_be_set_where_the_workers_run(setting: Setting, monkeypatch: pytest.MonkeyPatch) -> None:
    Endpoint.objects.update(key_variable="LHDR_KEY_DEMO")
    title = f"Key of {setting.endpoint}"
    assert checked(setting)[title].level == "warning", "no worker runs"
    beat("w1")
    assert checked(setting)[title].level == "error" and "w1" in checked(setting)[title].text
    monkeypatch.setenv("LHDR_KEY_DEMO", "secret")
    beat("w1")
    assert Heartbeat.objects.get().keys.count("LHDR_KEY_DEMO") == 1
    found = checked(setting)
    assert found[title].level == "ok" and "secret" not in str(found)


def test_endpoint_that_is_away_or_held_back_is_an_error(setting: Setting) -> None:
    Endpoint.objects.update(base_url="http://127.0.0.1:9/v1")
    found = checked(setting)
    assert found[str(setting.endpoint)].level == found[setting.judge.name].level == "error"
    Endpoint.objects.update(base_url=setting.server.address, broken="It said no.")
    setting.server.requests = []
    found = checked(setting)
    assert setting.judge.name not in found and setting.server.requests == [], "nobody calls it"


def test_judge_that_mumbles_is_an_error(setting: Setting, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(setting.server.recordings, "find", lambda *_: Answer("Perhaps."))
    assert checked(setting)[setting.judge.name].level == "error"


def test_cost_is_compared_with_the_budget(setting: Setting) -> None:
    setting.system = setting.new_system(prompt_price=0, completion_price=250)  # 1 USD an answer
    assert "3.00 USD" in checked(setting)["Cost"].text
    assert checked(setting, budget=Decimal(2))["Cost"].level == "warning"
    assert checked(setting, budget=Decimal(4))["Cost"].level == "ok"


def test_public_address_must_answer(setting: Setting, settings: Any) -> None:
    setting.system = setting.new_system(image_mode="url_in_prompt")
    settings.PUBLIC_URL = "http://127.0.0.1:9"
    assert checked(setting)["Public address"].level == "error"


def test_button_checks_and_launches_nothing(setting: Setting) -> None:
    beat("w1")
    Heartbeat.objects.update(beaten=timezone.now())
    data = {
        "release": setting.release.pk, "system": setting.system.pk, "condition": "with_image", "samples": 1,
        "repeats": 1, "judges": [setting.judge.pk], "main_judge": setting.judge.pk, "concurrency": 8, "check": "yes",
    }  # fmt: skip
    address = reverse("evaluation:run-launch", args=[setting.benchmark.slug])
    page = setting.team.client("admin").post(address, data).content.decode()
    assert "Its verdict on the first item can be read." in page and Run.objects.count() == 0
    assert setting.team.client("core").post(address, data).status_code == 403
    assert setting.team.client("stranger").post(address, data).status_code == 404


def test_wrong_data_is_refused_as_by_the_launch(setting: Setting) -> None:
    data = {"release": setting.release, "system": setting.system, "judges": [setting.judge], "items": ["nothing"]}
    with pytest.raises(Invalid, match="holds no item nothing"):
        check_launch(setting.benchmark, data, actor=setting.team.admin)
    with pytest.raises(NotAllowed):
        check_launch(setting.benchmark, {**data, "items": []}, actor=setting.team.core)


def cost_of(setting: Setting, **data: Any) -> str:
    return checked(setting, **data)["Cost"].text


def test_cost_leaves_out_what_would_be_carried_over_and_counts_it(setting: Setting) -> None:
    setting.system = setting.new_system(prompt_price=0, completion_price=250)  # 1 USD an answer
    work_through(setting.launch())
    next_release(setting, question="Another question?")
    assert "1.00 USD by the price tables, for 1 answer and 1 verdict." in cost_of(setting)
    assert "Carried over from earlier releases, at no cost: 2 answers and 2 verdicts." in cost_of(setting)
    assert checked(setting, budget=Decimal(1))["Cost"].level == "ok"
    text = cost_of(setting, carry_over=False)
    assert "3.00 USD by the price tables, for 3 answers and 3 verdicts." in text and "Carried" not in text
    text = cost_of(setting, judges=[setting.judge, setting.new_judge()], samples=2)
    assert "for 4 answers and 10 verdicts." in text and "no cost: 2 answers and 2 verdicts." in text
    assert Run.objects.count() == 1


def test_cost_of_a_run_that_asks_nothing_is_none(setting: Setting) -> None:
    work_through(setting.launch())
    next_release(setting)
    assert cost_of(setting) == (
        "Nothing is left to ask, so it costs nothing. Carried over from earlier releases, at no cost: 3 answers and 3 "
        "verdicts."
    )


# --- of a study


def make_study(setting: Setting, **plan: Any) -> Study:
    rows = {"release": setting.release, "systems": [setting.system, setting.new_system()], "judges": [setting.judge]}
    return study_actions.create_study(setting.benchmark, {"name": "Spring", **rows, **plan}, actor=setting.team.admin)


def of_study(study: Study, setting: Setting) -> list[Check]:
    return check_study(study, actor=setting.team.admin)


def test_study_says_each_thing_once_with_whom_it_concerns(setting: Setting) -> None:
    study = make_study(setting, judges=[setting.judge, setting.new_judge()])
    systems = tuple(study.systems.values_list("name", flat=True))
    judges = tuple(study.judges.values_list("name", flat=True))
    found = of_study(study, setting)
    assert [check.title for check in found] == [
        f"Key of {setting.endpoint}", str(setting.endpoint), *judges, "Requests", "Cost",
    ]  # fmt: skip
    key, endpoint, *_judges, requests, _cost = found
    assert key.concerns == endpoint.concerns == (*systems, *judges) and requests.concerns == systems
    assert not Run.objects.exists()


def test_systems_with_limits_of_their_own_are_told_apart(setting: Setting) -> None:
    study = make_study(setting, systems=[setting.system, large := setting.new_system(max_request_mb=30)])
    told = {check.concerns: check.text for check in of_study(study, setting) if check.title == "Requests"}
    assert "of the 20 MB" in told[(setting.system.name,)] and "of the 30 MB" in told[(large.name,)]


def test_cost_of_the_whole_matrix_stands_beside_the_budget(setting: Setting) -> None:
    dear = [setting.new_system(prompt_price=0, completion_price=250) for _ in range(2)]  # 1 USD an answer
    plan = {"systems": dear, "conditions": ["with_image", "without_image"], "samples": 2}
    study = make_study(setting, **plan, budget=Decimal(20))
    cost = of_study(study, setting)[-1]
    assert cost.level == "warning" and "24.00 USD" in cost.text and "for 24 answers and 24 verdicts" in cost.text
    assert "The budget is 20.00 USD." in cost.text and setting.judge.name in cost.text  # which has no prices
    Study.objects.update(budget=25)
    study.refresh_from_db()
    assert of_study(study, setting)[-1].level == "ok"


def test_cost_of_what_lacks_is_by_what_such_calls_have_cost(setting: Setting) -> None:
    study = make_study(setting, systems=[setting.system], budget=Decimal(5))
    assert of_study(study, setting)[-1].title == "Cost"
    run = work_through(setting.launch())
    run.responses.update(cost=2)
    run.verdicts.update(cost=None)
    cost = of_study(study, setting)[-1]
    assert (cost.level, cost.title) == ("warning", "Cost so far")
    assert cost.text.startswith("0.00 USD are spent. What lacks costs about 6.00 USD")
    assert "3 calls of unknown cost" in cost.text and "The budget is 5.00 USD." in cost.text
    Study.objects.update(budget=6)
    study.refresh_from_db()
    assert of_study(study, setting)[-1].level == "ok"


def test_study_leaves_out_what_is_there_and_what_would_be_carried_over(setting: Setting) -> None:
    dear = [setting.new_system(prompt_price=0, completion_price=250) for _ in range(3)]  # 1 USD an answer
    setting.system = dear[0]
    run = work_through(setting.launch())
    run.responses.update(cost=2)
    run.verdicts.update(cost=1)
    next_release(setting, question="Another question?")
    setting.system = dear[1]
    finished = work_through(setting.launch())
    finished.responses.update(cost=2)
    study = make_study(setting, systems=dear)
    study_actions.adopt_run(study, finished, actor=setting.team.admin)
    cost, so_far = of_study(study, setting)[-2:]
    assert cost.text.startswith("At most about 4.00 USD by the price tables, for 4 answers and 4 verdicts.")
    assert "Carried over from earlier releases, at no cost: 2 answers and 2 verdicts." in cost.text
    assert "There already or under way, and not in it: 3 answers and 3 verdicts." in cost.text
    # one answer of the first system for 2 USD, and four verdicts; what the third answers cost is unknown
    verdict = Verdict.objects.aggregate(mean=Avg("cost"))["mean"]
    assert f"What lacks costs about {2 + 4 * verdict:.2f} USD" in so_far.text
    assert "3 calls of unknown cost are not in it." in so_far.text
    page = setting.team.client("admin").get(f"/b/bench/studies/{study.number}/").content.decode()
    assert "is carried over instead; the check counts it." in page
    study_actions.fill_holes(study, actor=setting.team.admin)
    for left in study.runs.all():
        work_through(left)
    cost = of_study(study, setting)[-2]
    assert cost.text.startswith("Nothing is left to ask, so it costs nothing.")
    assert "and not in it: 9 answers and 9 verdicts." in cost.text and "Carried" not in cost.text


def test_system_that_may_not_be_asked_any_more_is_named_beside_the_rest(setting: Setting) -> None:
    other = Endpoint.objects.create(name="other", base_url="http://127.0.0.1:9/v1")
    setting.benchmark.endpoints.add(other)
    study = make_study(setting, systems=[setting.system, lost := setting.new_system(endpoint=other)])
    setting.benchmark.endpoints.remove(other)
    found = of_study(study, setting)
    assert found[0].level == "error" and found[0].title == lost.name and "may not use the endpoint" in found[0].text
    assert [check.concerns for check in found if check.title == "Requests"] == [(setting.system.name,)]
    setting.benchmark.endpoints.clear()
    assert {check.level for check in of_study(study, setting)} == {"error"}


@pytest.mark.parametrize(("who", "expected"), [*WRITE, ("admin", 200)])
def test_study_is_looked_at_from_its_page_by_admins_alone(setting: Setting, who: str, expected: int) -> None:
    study = make_study(setting)
    address = reverse("evaluation:study-check", args=["bench", study.number])
    page = setting.team.client(who).get(address.removesuffix("check/")).content.decode()
    assert (f'action="{address}"' in page) is (expected == 200)
    reply = setting.team.client(who).post(address)
    assert reply.status_code == expected and not Run.objects.exists()
    if expected == 200:
        assert "Its verdict on the first item can be read." in reply.content.decode()
        Study.objects.update(frozen=timezone.now())
        assert setting.team.client(who).post(address).status_code == 409


# --- over HTTP


@pytest.mark.parametrize(("who", "expected"), [*WRITE, ("admin", 200)])
def test_looking_over_http_is_for_who_may_launch_and_launches_nothing(
    setting: Setting, who: str, expected: int
) -> None:
    make_study(setting)
    client = setting.team.client(who)
    for path, body in (("runs/check/", launch_body(setting)), ("studies/1/check/", {})):
        reply = send(client, f"/api/benchmarks/bench/{path}", body)
        assert reply.status_code == expected, reply.content
        if expected == 200:
            found = reply.json()
            assert found["level"] == "warning"  # no worker runs, and the server lists one model
            judge = next(check for check in found["checks"] if check["title"] == setting.judge.name)
            assert (judge["level"], judge["text"]) == ("ok", "Its verdict on the first item can be read.")
            assert setting.system.name in found["checks"][0]["concerns"]
    assert not Run.objects.exists()


@pytest.mark.parametrize(
    ("changes", "path"),
    [
        ({"release": "r9"}, "release"),
        ({"judges": []}, "judges"),
        ({"items": ["x"]}, "items"),
        ({"budget": 0}, "budget"),
    ],
)
def test_looking_with_a_wrong_field_names_it(setting: Setting, changes: dict[str, Any], path: str) -> None:
    reply = send(setting.team.client("admin"), "/api/benchmarks/bench/runs/check/", launch_body(setting, **changes))
    assert (reply.status_code, reply.json()["problems"][0]["path"]) == (422, path)


def test_judge_without_an_endpoint_is_a_wrong_field(setting: Setting) -> None:
    person = marking_actions.person_judge(setting.benchmark, setting.team.aud)
    body = launch_body(setting, judges=[person.name])
    reply = send(setting.team.client("admin"), "/api/benchmarks/bench/runs/check/", body)
    assert (reply.status_code, reply.json()["problems"][0]["path"]) == (422, "judges")


def test_study_that_is_frozen_or_not_there_is_not_looked_at(setting: Setting) -> None:
    make_study(setting)
    Study.objects.update(frozen=timezone.now())
    client = setting.team.client("admin")
    assert send(client, "/api/benchmarks/bench/studies/1/check/").status_code == 409
    assert send(client, "/api/benchmarks/bench/studies/7/check/").status_code == 404


def test_check_that_had_not_begun_in_time_is_late_and_nothing_worse(monkeypatch: pytest.MonkeyPatch) -> None:
    over = threading.Event()
    monkeypatch.setattr(preflight, "DEADLINE", 0.05)
    monkeypatch.setattr(preflight, "ThreadPoolExecutor", lambda max_workers: ThreadPoolExecutor(1))
    asked = [("slow", lambda: [Check("ok", "slow", str(over.wait(10)))]), ("next", list)]
    found = preflight._at_once(asked, meanwhile=lambda: None)
    over.set()
    assert [(check.level, check.title) for check in found] == [("warning", "slow"), ("warning", "next")]
