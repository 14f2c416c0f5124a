"""Pages of studies: who may, the list, the plan, the matrix, filling, freezing, and the results of a study."""

import re
from typing import Any

import pytest
from django.db import transaction
from django.urls import reverse

from evaluation import study_actions
from evaluation.claims import stop_run
from evaluation.models import Run, RunState, Study
from evaluation.stops import Stop
from evaluation.study_queries import Matrix
from lhdr_site.endpoints.errors import ErrorKind
from lhdr_site.endpoints.models import Endpoint
from tests.evaluation.setting import Setting, make_setting, work_through

ADMINS = [("ann", 403), ("aud", 403), ("core", 403), ("admin", 200), ("stranger", 404)]
POSTS = [("ann", 403), ("aud", 403), ("core", 403), ("admin", 302), ("stranger", 404)]


def url(name: str, study: Study) -> str:
    return reverse(f"evaluation:study-{name}", args=[study.benchmark.slug, study.number])


def plan(setting: Setting, **changes: Any) -> dict[str, Any]:
    return {
        "name": "Spring",
        "release": setting.release.pk,
        "systems": [setting.system.pk],
        "conditions": ["without_image"],
        "judges": [setting.judge.pk],
        "samples": 1,
        "repeats": 1,
        "concurrency": 4,
        "anyway": "yes",
        **changes,
    }


def make_study(setting: Setting, **changes: Any) -> Study:
    data = {"name": "Spring", "release": setting.release, "systems": [setting.system], "judges": [setting.judge]}
    return study_actions.create_study(setting.benchmark, {**data, **changes}, actor=setting.team.admin)


def work_all(study: Study) -> None:
    for run in study.runs.order_by("pk"):
        work_through(run)


def words(reply: Any) -> str:
    text = re.sub(r"<(script|style|svg)\b.*?</\1>", "", reply.content.decode(), flags=re.DOTALL)
    return re.sub(r"\s+", " ", re.sub(r"<[^>]+>", " ", text))


# --- who


@pytest.mark.parametrize("name", ["page", "progress"])
@pytest.mark.parametrize("who, status", [("ann", 200), ("aud", 200), ("core", 200), ("stranger", 404)])
def test_study_is_read_by_every_member(setting: Setting, name: str, who: str, status: int) -> None:
    address = url(name, make_study(setting))
    assert setting.team.client(who).get(address, {"state": "planned"}).status_code == status


@pytest.mark.parametrize("name", ["change", "cancel", "freeze"])
@pytest.mark.parametrize("who, status", ADMINS)
def test_forms_of_a_study_are_for_admins(setting: Setting, name: str, who: str, status: int) -> None:
    assert setting.team.client(who).get(url(name, make_study(setting))).status_code == status


@pytest.mark.parametrize("who, status", POSTS)
def test_study_is_planned_by_admins_and_nothing_is_asked_yet(setting: Setting, who: str, status: int) -> None:
    reply = setting.team.client(who).post(reverse("evaluation:study-create", args=["bench"]), plan(setting))
    assert reply.status_code == status
    assert Study.objects.count() == (status == 302) and not Run.objects.exists()


@pytest.mark.parametrize("who, status", POSTS)
@pytest.mark.parametrize("name", ["fill", "pause", "resume", "cancel"])
def test_what_is_done_to_all_runs_is_done_by_admins(setting: Setting, name: str, who: str, status: int) -> None:
    study = make_study(setting)
    assert setting.team.client(who).post(url(name, study)).status_code == status
    assert study.runs.count() == (status == 302 and name == "fill")


# --- the plan


def test_plan_when_posted_is_kept_and_shown(setting: Setting) -> None:
    other = setting.new_judge(name="Second judge")
    client: Any = setting.team.client("admin")
    data = plan(
        setting, judges=[setting.judge.pk, other.pk], main_judge=other.pk, budget="3", token_budget=9000, note="why"
    )
    reply = client.post(reverse("evaluation:study-create", args=["bench"]), data)
    study = Study.objects.get()
    assert reply.url == url("page", study)
    assert (study.main_judge, study.conditions, str(study.budget)) == (other, ["without_image"], "3.00")
    text = words(client.get(reply.url))
    for part in (
        "Spring",
        "Second judge",
        "not launched",
        "of $3.00",
        "of 9,000",
        "why",
        "What that costs is not known",
    ):
        assert part in text
    assert "launches 1 run and asks for 3 responses and 6 verdicts" in text


@pytest.mark.parametrize(
    "changes, field",
    [
        ({"name": ""}, "name"),
        ({"release": ""}, "release"),
        ({"systems": []}, "systems"),
        ({"systems": [10**30]}, "systems"),
        ({"judges": ["x"]}, "judges"),
        ({"conditions": []}, "conditions"),
        ({"conditions": ["sideways"]}, "conditions"),
        ({"samples": 21}, "samples"),
        ({"repeats": 0}, "repeats"),
        ({"budget": "-1"}, "budget"),
        ({"token_budget": "0"}, "token_budget"),
        ({"concurrency": "0"}, "concurrency"),
    ],
)
def test_plan_with_a_wrong_field_names_it_and_keeps_nothing(
    setting: Setting, changes: dict[str, Any], field: str
) -> None:
    client = setting.team.client("admin")
    reply = client.post(reverse("evaluation:study-create", args=["bench"]), plan(setting, **changes))
    assert reply.status_code == 422
    assert field in reply.context["form"].errors
    assert not Study.objects.exists()


def test_plan_that_needs_thought_says_so_first(setting: Setting) -> None:
    kin = setting.new_judge(name="Kin", family="Demo")
    data = plan(setting, judges=[kin.pk])
    del data["anyway"]
    client, address = setting.team.client("admin"), reverse("evaluation:study-create", args=["bench"])
    reply = client.post(address, data)
    assert reply.status_code == 200 and not Study.objects.exists()
    assert "Kin and" in words(reply) and "not audited" in words(reply)
    assert client.post(address, {**data, "anyway": "yes"}).status_code == 302


def test_plan_when_changed_keeps_its_release(setting: Setting) -> None:
    study = make_study(setting)
    client = setting.team.client("admin")
    form = client.get(url("change", study)).context["form"]
    assert form.initial["conditions"] == ["with_image"] and form.fields["release"].disabled
    data = plan(setting, name="Summer", conditions=["with_image", "without_image"], release="")
    assert client.post(url("change", study), data).status_code == 302
    study.refresh_from_db()
    assert (study.name, study.conditions, study.release) == ("Summer", ["with_image", "without_image"], setting.release)
    assert "name: Spring → Summer" in words(client.get(url("page", study)))


# --- the list


def test_list_without_studies_teaches_and_offers_a_plan_to_admins(setting: Setting) -> None:
    address = reverse("evaluation:study-list", args=["bench"])
    assert "Plan a study" in words(setting.team.client("admin").get(address))
    for who in ("ann", "admin"):
        reply = setting.team.client(who).get(address)
        assert "No studies yet" in words(reply)
        assert (reverse("evaluation:study-create", args=["bench"]) in reply.content.decode()) == (who == "admin")
    assert setting.team.client("stranger").get(address).status_code == 404


def test_list_is_paged_with_few_queries(setting: Setting, django_assert_max_num_queries: Any) -> None:
    client, address = setting.team.client("ann"), reverse("evaluation:study-list", args=["bench"])
    for number in range(52):
        make_study(setting, name=f"Study {number}")
    with django_assert_max_num_queries(18):
        reply = client.get(address)
    assert len(reply.context["lines"]) == 50 and "Study 51" in words(reply) and "Study 1 " not in words(reply)
    assert "Study 1 " in words(client.get(address, {"page": 2}))


# --- the matrix, filling


def test_four_systems_by_two_judges_are_asked_judged_and_ranked_by_page(db: Any, demo_server: Any) -> None:
    setting = make_setting(demo_server, 2, "apart")
    systems = [setting.system, *(setting.new_system() for _ in range(3))]
    second = setting.new_judge(name="Second judge")
    client = setting.team.client("admin")
    data = plan(
        setting,
        systems=[system.pk for system in systems],
        judges=[setting.judge.pk, second.pk],
        main_judge=setting.judge.pk,
    )
    client.post(reverse("evaluation:study-create", args=["apart"]), data)
    study = Study.objects.get()
    page = url("page", study)
    assert "launches 4 runs and asks for 8 responses and 16 verdicts" in words(client.get(page))
    reply = client.post(url("fill", study), follow=True)
    assert "4 runs launched." in words(reply) and "The rest is under way" in words(reply)
    work_all(study)
    text = words(client.get(page))
    assert "Everything that was planned is there." in text and "Complete" in text
    assert text.count("2 /2") == 4 * 3  # responses and two judges, of each system
    results = client.get(reverse("evaluation:leaderboard", args=["apart"]), {"study": 1})
    assert len(results.context["results"].rows) == 4
    assert results.context["results"].judge == setting.judge
    assert "Study Spring" in words(results)


def test_matrix_names_holes_with_their_reason(setting: Setting) -> None:
    study = make_study(setting)
    study_actions.fill_holes(study, actor=setting.team.admin)
    work_all(study)
    run = study.runs.get()
    first, second, _third = run.responses.order_by("pk")
    run.responses.filter(pk=first.pk).update(status="failed", error_kind="timeout")
    first.verdicts.all().delete()
    second.verdicts.update(answer_correct=None, vector=None, unparseable="nothing")
    text = words(setting.team.client("ann").get(url("page", study)))
    assert "1 failed: Timeout" in text and "1 not readable" in text and "1 without a response" in text
    assert "asks for 1 responses and 2 verdicts" in text
    assert "Fill the holes" not in setting.team.client("ann").get(url("page", study)).content.decode()


def test_matrix_says_where_runs_stopped_and_where_an_endpoint_is_broken(setting: Setting) -> None:
    study = make_study(setting)
    study_actions.fill_holes(study, actor=setting.team.admin)
    run = study.runs.get()
    client = setting.team.client("admin")
    with transaction.atomic():
        stop_run(run.pk, Stop.ERRORS, error_kind=ErrorKind.AUTH, error="401")
    text = words(client.get(url("page", study)))
    assert "3 wait: the run stopped: Key missing or not accepted" in text and "Fill the holes" in text
    Endpoint.objects.update(broken="401 again and again")
    text = words(client.get(url("page", study)))
    assert "3 wait: the endpoint is broken" in text and "refuses every call" in text


def test_page_is_loaded_again_when_a_run_came_into_another_state(setting: Setting) -> None:
    study = make_study(setting)
    study_actions.fill_holes(study, actor=setting.team.admin)
    client = setting.team.client("ann")
    page = client.get(url("page", study)).content.decode()
    assert 'hx-trigger="every 3s"' in page and "progress/?state=running-queued" in page
    reply = client.get(url("progress", study), {"state": "running-queued"})
    assert reply.status_code == 200 and "<html" not in reply.content.decode()
    work_all(study)
    reply = client.get(url("progress", study), {"state": "running-queued"})
    assert (reply.status_code, reply["HX-Refresh"]) == (204, "true")
    assert "every 3s" not in client.get(url("page", study)).content.decode()


def test_page_takes_as_many_queries_for_many_runs(setting: Setting, django_assert_max_num_queries: Any) -> None:
    client = setting.team.client("admin")
    small = make_study(setting)
    large = make_study(
        setting,
        name="Large",
        systems=[setting.system, *(setting.new_system() for _ in range(5))],
        conditions=["with_image", "without_image"],
    )
    for study in (small, large):
        study_actions.fill_holes(study, actor=setting.team.admin)
        with django_assert_max_num_queries(24):
            assert client.get(url("page", study)).status_code == 200


def test_filling_without_budget_or_system_is_refused_on_the_page(setting: Setting) -> None:
    study = make_study(setting)
    setting.benchmark.endpoints.clear()
    client = setting.team.client("admin")
    reply = client.post(url("fill", study))
    assert reply.status_code == 422 and "may not use the endpoint" in words(reply)
    setting.benchmark.endpoints.add(setting.endpoint)
    study_actions.change_study(study, {"budget": 1}, actor=setting.team.admin)
    study_actions.fill_holes(study, actor=setting.team.admin)
    study.runs.update(spent=2, state=RunState.STOPPED)
    for name in ("fill", "resume"):
        reply = client.post(url(name, study))
        assert reply.status_code == 422 and "raise it in the plan" in words(reply)


def test_filling_a_part_says_what_could_not_be_done(setting: Setting) -> None:
    elsewhere = Endpoint.objects.create(name="elsewhere", base_url="http://127.0.0.1:9/v1")
    setting.benchmark.endpoints.add(elsewhere)
    study = make_study(setting, systems=[setting.system, setting.new_system(name="far", endpoint=elsewhere)])
    setting.benchmark.endpoints.remove(elsewhere)
    client = setting.team.client("admin")
    text = words(client.post(url("fill", study), follow=True))
    assert "1 run launched." in text and "far, with image: This benchmark may not use" in text


def test_pause_resume_and_cancel_act_on_all_runs(setting: Setting) -> None:
    study = make_study(setting, systems=[setting.system, setting.new_system()])
    client = setting.team.client("admin")
    assert "nothing to pause" in words(client.post(url("pause", study), follow=True))
    study_actions.fill_holes(study, actor=setting.team.admin)
    for name, state in (("pause", "paused"), ("resume", "queued"), ("cancel", "cancelled")):
        assert client.post(url(name, study)).status_code == 302
        assert set(study.runs.values_list("state", flat=True)) == {state}


def test_adopting_takes_a_finished_run_from_the_list(setting: Setting) -> None:
    run = work_through(setting.launch())
    study = make_study(setting)
    client = setting.team.client("admin")
    assert f"#{run.number} {run.system.name}" in words(client.get(url("page", study)))
    assert "Take in" not in words(setting.team.client("ann").get(url("page", study)))
    for headers in ({}, {"HX-Request": "true"}):
        assert client.post(url("adopt", study), {"run": "x"}, headers=headers).status_code == 422
    assert setting.team.client("core").post(url("adopt", study), {"run": run.pk}).status_code == 403
    assert client.post(url("adopt", study), {"run": run.pk}).status_code == 302
    assert Matrix(study).is_complete and "Take in" not in words(client.get(url("page", study)))


# --- freezing


def test_freezing_asks_first_and_ends_every_button(setting: Setting) -> None:
    study = make_study(setting)
    client = setting.team.client("admin")
    assert "once its runs have ended" in words(client.get(url("freeze", study)))
    assert client.post(url("freeze", study)).status_code == 409
    study_actions.fill_holes(study, actor=setting.team.admin)
    work_all(study)
    assert "Everything that was planned is there" in words(client.get(url("freeze", study)))
    assert client.post(url("freeze", study)).status_code == 302
    text = words(client.get(url("page", study)))
    assert "Frozen" in text
    for gone in ("Fill the holes", "Change the plan", "Freeze ", "Pause all"):
        assert gone not in text
    run = study.runs.get()
    run_url = reverse("evaluation:run-page", args=["bench", run.number])
    text = words(client.get(run_url))
    assert "frozen: nothing of it changes any more" in text and "Judge again" not in text
    assert client.post(f"{run_url}retry/").status_code == 409
    response = run.responses.order_by("pk")[0]
    assert client.post(f"{run_url}responses/{response.pk}/verdict/", {"answer": "pass"}).status_code in (409, 422)
    assert client.post(url("change", study), plan(setting)).status_code == 409


def test_freezing_with_holes_says_what_counts_as_wrong(setting: Setting) -> None:
    study = make_study(setting)
    study_actions.fill_holes(study, actor=setting.team.admin)
    work_all(study)
    study.runs.get().verdicts.order_by("pk")[0].delete()
    text = words(setting.team.client("admin").get(url("freeze", study)))
    assert "3 of 3 responses, 2 of 3 verdicts" in text


# --- results


def test_results_of_a_study_hold_its_runs_and_judges_alone(setting: Setting) -> None:
    study = make_study(setting)
    study_actions.fill_holes(study, actor=setting.team.admin)
    work_all(study)
    work_through(setting.launch(system=setting.new_system(name="Outside"), judges=[setting.new_judge(name="Other")]))
    client, address = setting.team.client("ann"), reverse("evaluation:leaderboard", args=["bench"])
    results = client.get(address, {"study": study.number}).context["results"]
    assert [row["system"] for row in results.rows] == [setting.system.name]
    assert results.judges == [setting.judge] and "study=1" in results.query()
    assert len(client.get(address, {"judge": setting.judge.pk}).context["results"].rows) == 1
    for strange in ("7", "x", "9" * 5000):
        assert client.get(address, {"study": strange}).status_code == 404
    line = b"".join(client.get(address + "leaderboard.csv", {"study": 1})).decode().splitlines()
    assert len(line) == 2 and ",samples," in line[0]


def test_results_of_several_samples_say_that_scores_are_means(setting: Setting) -> None:
    study = make_study(setting, samples=2)
    study_actions.fill_holes(study, actor=setting.team.admin)
    work_all(study)
    reply = setting.team.client("ann").get(reverse("evaluation:leaderboard", args=["bench"]), {"study": 1})
    assert "Items were asked several times (2)" in words(reply)
