"""Launching, watching and steering a run: who may, what is shown, what is refused."""

from datetime import timedelta
from decimal import Decimal
from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.urls import reverse
from django.utils import timezone

from evaluation import actions, study_actions
from evaluation.models import Response, Run, Verdict
from tests.evaluation.setting import Setting, work_through
from tests.factories import make_team

ROLES = [("ann", 403), ("aud", 403), ("core", 403), ("admin", 302), ("stranger", 404)]


def url(name: str, run: Run) -> str:
    return reverse(f"evaluation:{name}", args=[run.benchmark.slug, run.number])


def launch_data(setting: Setting, **changes: Any) -> dict[str, Any]:
    return {
        "release": setting.release.pk,
        "system": setting.system.pk,
        "condition": "without_image",
        "judges": [setting.judge.pk],
        "main_judge": setting.judge.pk,
        "concurrency": 4,
        "budget": "1.50",
        "note": "first try",
        **changes,
    }


def post_launch(setting: Setting, who: str = "admin", **changes: Any) -> Any:
    data = launch_data(setting, anyway="yes", **changes)
    return setting.team.client(who).post(reverse("evaluation:run-launch", args=["bench"]), data)


# --- launching ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("who", "expected"), ROLES)
def test_launch_when_posted_by_role_starts_for_admins_only(setting: Setting, who: str, expected: int) -> None:
    assert post_launch(setting, who).status_code == expected
    assert Run.objects.count() == (expected == 302)


def test_launch_when_posted_keeps_what_was_chosen_and_leads_to_the_run(setting: Setting) -> None:
    other = setting.new_judge()
    reply = post_launch(setting, judges=[setting.judge.pk, other.pk], main_judge=other.pk)
    run = Run.objects.get()
    assert reply.url == url("run-page", run)
    assert (run.main_judge, run.condition, run.concurrency, str(run.budget)) == (other, "without_image", 4, "1.50")
    assert set(run.judges.all()) == {setting.judge, other}
    assert (run.note, run.launched_by, run.responses.count()) == ("first try", setting.team.admin, 3)


@pytest.mark.parametrize("written", ["#2, {uid}", "2 {uid}"])
def test_trial_on_chosen_items_takes_their_numbers_and_ids(setting: Setting, written: str) -> None:
    first, second = setting.release.release_items.order_by("item__number")[:2]
    assert second.item.number == 2
    assert post_launch(setting, items=written.format(uid=first.uid)).status_code == 302
    assert set(Run.objects.get().responses.values_list("release_item", flat=True)) == {first.pk, second.pk}
    reply = post_launch(setting, items="2, 777")
    assert reply.context["form"].errors == {"items": ["The release holds no item 777."]}


def test_launch_form_says_what_an_empty_choice_means_and_whose_benchmark_it_is(setting: Setting) -> None:
    address = reverse("evaluation:run-launch", args=[setting.benchmark.slug])
    text = setting.team.client("admin").get(address).content.decode()
    assert text.count(">choose …</option>") == 2 and ">the first one ticked</option>" in text and "-----" not in text
    assert f"<title>Launch a run · {setting.benchmark.slug} · LHDR Workbench</title>" in text


def test_launch_without_a_main_judge_takes_one_of_the_judges(setting: Setting) -> None:
    post_launch(setting, main_judge="")
    assert Run.objects.get().main_judge == setting.judge


@pytest.mark.parametrize(
    ("changes", "field"),
    [
        ({"judges": []}, "judges"),
        ({"release": ""}, "release"),
        ({"system": ""}, "system"),
        ({"condition": "sideways"}, "condition"),
        ({"concurrency": 0}, "concurrency"),
        ({"concurrency": "many"}, "concurrency"),
        ({"budget": "-1"}, "budget"),
        ({"budget": "NaN"}, "budget"),
        ({"system": 10**30}, "system"),
        ({"judges": ["x"]}, "judges"),
    ],
)
def test_launch_with_a_wrong_field_names_it_and_starts_nothing(
    setting: Setting, changes: dict[str, Any], field: str
) -> None:
    reply = post_launch(setting, **changes)
    assert reply.status_code == 422
    assert field in reply.context["form"].errors
    assert not Run.objects.exists()


def test_launch_with_a_main_judge_that_is_not_ticked_is_refused(setting: Setting) -> None:
    reply = post_launch(setting, main_judge=setting.new_judge().pk)
    assert reply.status_code == 422
    assert list(reply.context["form"].errors) == ["main_judge"]


def test_launch_with_rows_of_another_benchmark_is_refused(setting: Setting) -> None:
    other = make_team("other")
    other.benchmark.endpoints.add(setting.endpoint)
    strange = actions.create_judge(
        other.benchmark, {"name": "strange", "endpoint": setting.endpoint, "model": "m"}, actor=other.admin
    )
    reply = post_launch(setting, judges=[strange.pk], main_judge=strange.pk)
    assert reply.status_code == 422
    assert not Run.objects.exists()


def test_launch_with_a_judge_of_the_systems_family_warns_first(setting: Setting) -> None:
    kin = setting.new_judge(name="Kin", family="DEMO ")  # the system's family is "demo"
    client, address = setting.team.client("admin"), reverse("evaluation:run-launch", args=["bench"])
    data = launch_data(setting, judges=[kin.pk], main_judge=kin.pk)
    reply = client.post(address, data)
    assert reply.status_code == 200
    assert any("Kin and the system are of one family" in text for text in reply.context["warnings"])
    assert not Run.objects.exists()
    assert client.post(address, {**data, "anyway": "yes"}).status_code == 302


def test_launch_form_without_a_release_leads_to_what_is_lacking(setting: Setting) -> None:
    other = make_team("other")
    text = other.client("admin").get(reverse("evaluation:run-launch", args=["other"])).content.decode()
    assert "There is no release yet." in text
    assert "There is no system yet." in text
    assert "There is no judge yet." in text


# --- watching -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["run-page", "run-progress"])
@pytest.mark.parametrize(
    ("who", "expected"), [("ann", {200, 204}), ("aud", {200, 204}), ("admin", {200, 204}), ("stranger", {404})]
)
def test_run_when_asked_by_role_answers_members_only(setting: Setting, name: str, who: str, expected: set[int]) -> None:
    run = setting.launch()
    assert setting.team.client(who).get(url(name, run)).status_code in expected


def test_run_with_an_unknown_number_is_not_found(setting: Setting) -> None:
    for number in (0, 7, 10**30):
        assert setting.team.client("admin").get(f"/b/bench/runs/{number}/").status_code == 404


def test_run_page_offers_its_buttons_to_admins_only(setting: Setting) -> None:
    run = setting.launch()
    for who, seen in (("ann", False), ("core", False), ("admin", True)):
        text = setting.team.client(who).get(url("run-page", run)).content.decode()
        assert (url("run-pause", run) in text) == seen
        assert (url("run-cancel", run) in text) == seen


def test_run_page_of_a_finished_run_shows_outcomes_and_stops_asking(setting: Setting) -> None:
    run = work_through(setting.launch())
    assert run.state == "finished"
    reply = setting.team.client("ann").get(url("run-page", run))
    text = reply.content.decode()
    assert "every 2s" not in text
    assert reply.context["progress"].done == 3
    assert text.count('class="wb-cell o-') == 3
    assert "demo: recorded answers" in text
    assert "not audited" in text  # the release holds imported items


def test_run_page_while_it_runs_asks_again_and_says_where_it_stands(setting: Setting) -> None:
    run = setting.launch()
    text = setting.team.client("ann").get(url("run-page", run)).content.decode()
    assert 'hx-trigger="every 2s"' in text
    assert "0 of 3 items done" in text
    assert "noscript" in text


def test_progress_while_nothing_else_changed_is_the_fragment(setting: Setting) -> None:
    run = setting.launch()
    client = setting.team.client("ann")
    seen = client.get(url("run-page", run)).context["seen"]
    reply = client.get(url("run-progress", run), {"state": seen})
    assert reply.status_code == 200
    assert reply.content.decode().lstrip().startswith('<div class="wb-col" id="run-progress"')


def test_progress_when_the_run_ended_reloads_the_page(setting: Setting) -> None:
    run = setting.launch()
    client = setting.team.client("ann")
    seen = client.get(url("run-page", run)).context["seen"]
    work_through(run)
    reply = client.get(url("run-progress", run), {"state": seen})
    assert (reply.status_code, reply["HX-Refresh"]) == (204, "true")


def test_run_page_filters_by_outcome(setting: Setting) -> None:
    run = work_through(setting.launch(system=setting.misbehaving("refused")))
    client = setting.team.client("ann")
    failed = client.get(url("run-page", run), {"show": "failed"})
    assert len(failed.context["cells"]) == 3
    assert client.get(url("run-page", run), {"show": "correct"}).context["cells"] == []
    assert len(client.get(url("run-page", run), {"show": "no such thing"}).context["cells"]) == 3


def test_run_page_counts_error_kinds_and_says_what_to_do(setting: Setting) -> None:
    run = work_through(setting.launch(system=setting.misbehaving("refused")))
    reply = setting.team.client("ann").get(url("run-page", run))
    [row] = reply.context["progress"].errors
    assert (row.kind, row.attempts, row.failed) == ("refused", 3, 3)
    assert "it counts as wrong" in reply.content.decode()


@pytest.mark.parametrize("page", ["1", "2", "99", "x", "-1"])
def test_run_table_answers_every_page_number(setting: Setting, page: str) -> None:
    run = setting.launch()
    reply = setting.team.client("ann").get(url("run-page", run), {"view": "table", "page": page})
    assert reply.status_code == 200
    assert len(reply.context["page"].object_list) == 3


def test_run_of_unknown_cost_says_so_and_does_not_show_zero(setting: Setting) -> None:
    run = work_through(setting.launch(system=setting.misbehaving("no_usage")))
    assert run.unpriced >= 3
    text = setting.team.client("ann").get(url("run-page", run)).content.decode()
    assert "of unknown cost" in text


def test_run_page_of_a_thousand_responses_takes_few_queries_and_no_texts(setting: Setting) -> None:
    run = setting.launch()
    item = run.responses.order_by("pk")[0].release_item_id
    now = timezone.now()
    Response.objects.bulk_create(
        Response(
            run=run,
            release_item_id=item,
            sample=n,
            endpoint=setting.endpoint,
            status="completed",
            text="long " * 100,
            ended=now - timedelta(minutes=n % 20),
            tries=1,
        )
        for n in range(2, 1002)
    )
    Verdict.objects.bulk_create(
        Verdict(run=run, response=r, judge=setting.judge, status="completed", answer_correct=True, vector=[1] * 10)
        for r in run.responses.filter(status="completed")
    )
    client = setting.team.client("admin")
    with CaptureQueriesContext(
        connection,
    ) as queries:
        reply = client.get(url("run-page", run))
    assert reply.status_code == 200
    assert len(queries) <= 21, [query["sql"][:120] for query in queries]
    for query in queries:
        assert '"evaluation_response"."text"' not in query["sql"]
        assert '"evaluation_verdict"."output"' not in query["sql"]
        assert '"audit_releaseitem"."document"' not in query["sql"]
        assert '"annotation_item"."document"' not in query["sql"]


# --- steering -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["run-pause", "run-cancel", "run-retry"])
@pytest.mark.parametrize(("who", "expected"), ROLES)
def test_run_when_steered_by_role_obeys_admins_only(setting: Setting, name: str, who: str, expected: int) -> None:
    run = setting.launch()
    assert setting.team.client(who).post(url(name, run)).status_code == expected
    run.refresh_from_db()
    changed = {"run-pause": "paused", "run-cancel": "cancelled", "run-retry": "queued"}[name]
    assert run.state == (changed if expected == 302 else "queued")


@pytest.mark.parametrize("name", ["run-pause", "run-resume", "run-retry"])
def test_steering_by_get_is_not_possible(setting: Setting, name: str) -> None:
    run = setting.launch()
    assert setting.team.client("admin").get(url(name, run)).status_code == 405


def test_run_when_resumed_goes_on(setting: Setting) -> None:
    run = setting.launch()
    client = setting.team.client("admin")
    client.post(url("run-pause", run))
    assert client.post(url("run-resume", run)).status_code == 302
    run.refresh_from_db()
    assert run.state == "queued"


def test_run_when_resumed_while_it_runs_is_a_conflict_in_words(setting: Setting) -> None:
    run = setting.launch()
    reply = setting.team.client("admin").post(url("run-resume", run))
    assert reply.status_code == 409
    assert "The run is queued by now" in reply.content.decode()


@pytest.mark.parametrize(
    ("came_from", "leads_back"),
    [("http://testserver/b/bench/runs/1/", True), ("http://elsewhere.example/", False), ("javascript:alert(1)", False)],
)
def test_refused_form_leads_back_to_its_page_and_nowhere_else(
    setting: Setting, came_from: str, leads_back: bool
) -> None:
    run = setting.launch()
    page = setting.team.client("admin").post(url("run-resume", run), HTTP_REFERER=came_from).content.decode()
    assert (f'href="{came_from}"' in page) == ("Back to the page" in page) == leads_back


def test_run_that_stopped_for_its_budget_is_resumed_with_a_higher_one(setting: Setting) -> None:
    run = setting.launch(budget=Decimal("0.01"))
    Run.objects.filter(pk=run.pk).update(state="stopped", spent="0.02", stop={"why": "budget"})
    client = setting.team.client("admin")
    assert "The budget is used up." in client.get(url("run-page", run)).content.decode()
    refused = client.post(url("run-resume", run))
    assert refused.status_code == 422
    assert "raise it to go on" in refused.content.decode()
    for wrong in ("x", "-1", "NaN"):
        assert client.post(url("run-resume", run), {"budget": wrong}).status_code == 422
    assert client.post(url("run-resume", run), {"budget": "5"}).status_code == 302
    run.refresh_from_db()
    assert (run.state, str(run.budget)) == ("queued", "5.00")


@pytest.mark.parametrize(
    ("stop", "form", "plan"),
    [
        ({"why": "budget"}, True, False),
        ({"why": "too_little"}, True, False),
        ({"why": "study_budget"}, False, True),
        ({"why": "errors", "error_kind": "payment", "error": "402"}, False, False),
        ({"why": "held_back", "endpoint_id": 1, "endpoint": "demo", "reason": "401"}, False, False),
    ],
)
def test_new_budget_is_asked_for_where_the_old_one_stopped_the_run(
    setting: Setting, stop: dict[str, Any], form: bool, plan: bool
) -> None:
    data = {"release": setting.release, "name": "S", "systems": [setting.system], "judges": [setting.judge]}
    study = study_actions.create_study(setting.benchmark, data, actor=setting.team.admin)
    run = setting.launch(budget=Decimal("1.50"))
    Run.objects.filter(pk=run.pk).update(state="stopped", stop=stop, study=study)
    client = setting.team.client("admin")
    page = client.get(url("run-page", run)).content.decode()
    assert ('name="budget"' in page, "in the plan of its study" in page) == (form, plan)
    assert f'action="{url("run-resume", run)}"' in page
    Run.objects.filter(pk=run.pk).update(spent="1.50")
    if not plan:  # whatever stopped it: a budget that is used up by now keeps it from going on
        assert 'name="budget"' in client.post(url("run-resume", run)).content.decode()


def test_cancel_asks_first_and_then_cancels(setting: Setting) -> None:
    run = setting.launch()
    client = setting.team.client("admin")
    assert "Cancel it for good" in client.get(url("run-cancel", run)).content.decode()
    run.refresh_from_db()
    assert run.state == "queued"
    client.post(url("run-cancel", run))
    run.refresh_from_db()
    assert run.state == "cancelled"
    assert "nothing left to cancel" in client.get(url("run-cancel", run)).content.decode()
    assert client.post(url("run-cancel", run)).status_code == 409


@pytest.mark.parametrize(("who", "expected"), ROLES)
def test_judging_again_by_role_is_for_admins_only(setting: Setting, who: str, expected: int) -> None:
    run = work_through(setting.launch())
    other = setting.new_judge()
    reply = setting.team.client(who).post(url("run-rejudge", run), {"judge": other.pk})
    assert reply.status_code == expected
    assert run.verdicts.filter(judge=other).count() == (3 if expected == 302 else 0)


@pytest.mark.parametrize("judge", ["", "x", "999999"])
def test_judging_again_by_nobody_is_refused(setting: Setting, judge: str) -> None:
    run = work_through(setting.launch())
    reply = setting.team.client("admin").post(url("run-rejudge", run), {"judge": judge})
    assert reply.status_code == 422
    assert list(reply.context["form"].errors) == ["judge"]


def test_retry_of_failed_responses_asks_them_again(setting: Setting) -> None:
    run = work_through(setting.launch(system=setting.misbehaving("refused")))
    assert run.responses.filter(status="failed").count() == 3
    setting.team.client("admin").post(url("run-retry", run))
    assert run.responses.filter(status="pending").count() == 3
