"""Marking by people: plans, the blind queue, progress, history, and a person as a judge of the results."""

from typing import Any

import pytest
from django.urls import reverse

from evaluation import marking_actions
from evaluation.marking import people_done
from evaluation.marking_actions import hand_over, plan_marking
from evaluation.models import MarkingPlan, Run, Verdict
from evaluation.queries import judges_on
from evaluation.reports import leaderboard, store_leaderboards
from lhdr_site.shared.errors import Invalid
from tests.evaluation.setting import Setting, work_through

MARKING = "/b/bench/marking/"
ADMINS = [("ann", 403), ("aud", 403), ("core", 403), ("admin", 302), ("stranger", 404)]


@pytest.fixture
def run(setting: Setting) -> Run:
    return work_through(setting.launch())


@pytest.fixture
def plan(run: Run, setting: Setting) -> MarkingPlan:
    return plan_marking(run, "random", 2, 5, actor=setting.team.admin)


def marks(answer: str = "pass", stated: int = 1) -> dict[str, str]:
    return {"answer": answer, "note": "", **{f"step-{n}": "yes" if stated else "no" for n in range(1, 11)}}


def ticked(reply: Any) -> int:
    return int(reply.content.decode().split('id="verdict-form"')[1].split("</form>")[0].count(" checked"))


def mark_all(plan: MarkingPlan, who: Any) -> None:
    for task in plan.tasks.all():
        marking_actions.record_human_verdict(task.response, True, [1] * 10, actor=who)


# --- plans


@pytest.mark.parametrize(("who", "expected"), ADMINS)
def test_plan_is_made_by_admins_alone(run: Run, setting: Setting, who: str, expected: int) -> None:
    data = {"of": "run-1", "method": "random", "size": 2, "seed": 5}
    assert setting.team.client(who).post(f"{MARKING}new/", data).status_code == expected
    assert MarkingPlan.objects.exists() is (expected == 302)
    if expected == 302:
        made = MarkingPlan.objects.get()
        assert (made.seed, made.tasks.count(), made.run) == (5, 2, run)
        assert run.events.filter(kind="marking.planned").count() == 1


@pytest.mark.parametrize(
    ("data", "field"),
    [({"size": 0}, "size"), ({"seed": -1}, "seed"), ({"method": "handed"}, "method"), ({"of": "run-9"}, "of"),
     ({"method": "disagreement"}, "method"), ({"seed": 2**60}, "seed")],
)  # fmt: skip
def test_plan_with_a_wrong_field_names_it(run: Run, setting: Setting, data: dict[str, Any], field: str) -> None:
    post = {"of": "run-1", "method": "random", "size": 2, "seed": 5, **data}
    reply = setting.team.client("admin").post(f"{MARKING}new/", post)
    assert reply.status_code == 422 and field in reply.context["form"].errors
    assert not MarkingPlan.objects.exists()


def test_plan_of_a_run_without_answers_is_refused(setting: Setting) -> None:
    with pytest.raises(Invalid, match="no completed response"):
        plan_marking(setting.launch(), "random", 2, 5, actor=setting.team.admin)


def test_plan_where_judges_disagree_draws_only_those(setting: Setting) -> None:
    run = work_through(setting.launch(judges=[setting.judge, setting.new_judge()]))
    run.verdicts.update(answer_correct=True, vector=[1] * 10, unparseable="", flags=[])
    disputed = run.responses.order_by("pk")[1]
    Verdict.objects.filter(response=disputed, judge=setting.judge).update(vector=[0] * 10)
    plan = plan_marking(run, "disagreement", 9, 1, actor=setting.team.admin)
    assert [task.response_id for task in plan.tasks.all()] == [disputed.pk]


@pytest.mark.parametrize(("who", "expected"), [("ann", 200), ("aud", 200), ("stranger", 404)])
def test_plans_are_seen_by_all_members(plan: MarkingPlan, setting: Setting, who: str, expected: int) -> None:
    for path in (MARKING, f"{MARKING}{plan.number}/"):
        assert setting.team.client(who).get(path).status_code == expected


# --- the queue


@pytest.mark.parametrize(("who", "expected"), [("ann", 403), ("aud", 200), ("core", 200), ("stranger", 404)])
def test_queue_by_role(plan: MarkingPlan, setting: Setting, who: str, expected: int) -> None:
    client = setting.team.client(who)
    assert client.get(f"{MARKING}1/1/").status_code == expected
    posted = client.post(f"{MARKING}1/1/", marks())
    assert posted.status_code == (302 if expected == 200 else expected)
    assert Verdict.objects.filter(judge__person__isnull=False).count() == (expected == 200)


def test_queue_leads_through_the_plan_and_says_when_it_is_done(plan: MarkingPlan, setting: Setting) -> None:
    client = setting.team.client("aud")
    first = client.get(f"{MARKING}1/next/")
    assert first.url == f"{MARKING}1/1/"
    after = client.post(first.url, marks())
    assert client.get(after.url).url == f"{MARKING}1/2/"
    assert client.get(f"{MARKING}1/next/?after=2").url == f"{MARKING}1/2/"  # skipped ones come again
    after = client.post(f"{MARKING}1/2/", marks("fail", 0))
    assert client.get(after.url).url == f"{MARKING}1/"
    page = client.get(f"{MARKING}1/")
    [row] = page.context["people"]
    assert (row.done, row.total, row.judge.person) == (2, 2, setting.team.aud)
    assert "You have marked everything" in page.content.decode()


def test_queue_shows_neither_system_nor_any_verdict_and_the_mark_is_blind(
    plan: MarkingPlan, run: Run, setting: Setting
) -> None:
    response = plan.tasks.get(position=1).response
    run.verdicts.update(output="SECRET OUTPUT", note="SECRET NOTE")
    marking_actions.record_human_verdict(response, False, [0] * 10, actor=setting.team.core, note="SECRET OPINION")
    client = setting.team.client("aud")
    text = client.get(f"{MARKING}1/1/").content.decode()
    assert "SECRET" not in text and setting.system.name not in text and setting.judge.name not in text
    client.post(f"{MARKING}1/1/", marks())
    assert Verdict.objects.get(judge__person=setting.team.aud).blind
    assert ticked(client.get(f"{MARKING}1/1/")) == 11


def test_queue_with_a_mark_missing_keeps_the_others(plan: MarkingPlan, setting: Setting) -> None:
    reply = setting.team.client("aud").post(f"{MARKING}1/1/", marks() | {"step-4": ""})
    assert reply.status_code == 422
    assert "Step 4 has no mark." in reply.content.decode() and ticked(reply) == 10


def test_queue_takes_few_queries(plan: MarkingPlan, setting: Setting, django_assert_max_num_queries: Any) -> None:
    mark_all(plan, setting.team.core)
    client = setting.team.client("aud")
    for path, most in ((f"{MARKING}1/1/", 14), (MARKING, 12), (f"{MARKING}1/", 12)):
        with django_assert_max_num_queries(most):
            client.get(path)


# --- given to a person


@pytest.mark.parametrize(("who", "expected"), ADMINS)
def test_unread_output_is_given_to_a_person_by_admins_once(run: Run, setting: Setting, who: str, expected: int) -> None:
    verdict = run.verdicts.first()
    assert verdict
    run.verdicts.update(unparseable="vector missing", answer_correct=None, vector=None)
    client = setting.team.client(who)
    address = reverse("evaluation:unparseable-give", args=["bench", run.number])
    assert client.post(address, {"verdict": verdict.pk}).status_code == expected
    assert MarkingPlan.objects.count() == (expected == 302)
    if expected == 302:
        client.post(address, {"verdict": verdict.pk})
        client.post(address)
        plan = MarkingPlan.objects.get()
        assert (plan.method, plan.size, plan.tasks.count()) == ("handed", 3, 3)
        assert plan.tasks.get(position=1).response_id == verdict.response_id
        assert hand_over(run, actor=setting.team.admin) == 0


# --- a person as a judge


def test_person_who_marked_a_whole_plan_judges_the_results_and_a_part_is_said_so(
    plan: MarkingPlan, run: Run, setting: Setting
) -> None:
    aud, task = setting.team.aud, plan.tasks.get(position=1)
    marking_actions.record_human_verdict(task.response, True, [1] * 10, actor=aud)
    assert people_done(setting.release) == [] and list(judges_on(setting.release)) == [setting.judge]
    mark_all(plan, aud)
    [person] = [judge for judge in judges_on(setting.release) if judge.person_id]
    assert person.person == aud
    reply = setting.team.client("ann").get("/b/bench/results/", {"judge": person.pk})
    assert "is a person who marked a part of the answers" in reply.content.decode()
    [row] = reply.context["results"].partial
    assert (row["marked"], row["counts"]["completed"]) == (2, 3)
    assert round(leaderboard(setting.release, person)["runs"][0]["OA"], 3) == round(2 / 3, 3)
    last = run.responses.exclude(marking_tasks__plan=plan).get()
    marking_actions.record_human_verdict(last, True, [1] * 10, actor=aud)
    assert leaderboard(setting.release, person)["runs"][0]["OA"] == 1
    reply = setting.team.client("ann").get("/b/bench/results/", {"judge": person.pk})
    assert reply.context["results"].partial == []


def test_stored_leaderboard_of_a_person_is_not_shown_once_they_marked_more(
    plan: MarkingPlan, run: Run, setting: Setting
) -> None:
    mark_all(plan, setting.team.aud)
    person = next(judge for judge in judges_on(setting.release) if judge.person_id)
    store_leaderboards(setting.release)
    before = leaderboard(setting.release, person)["runs"][0]["OA"]
    marking_actions.record_human_verdict(plan.tasks.get(position=1).response, False, [0] * 10, actor=setting.team.aud)
    assert leaderboard(setting.release, person)["runs"][0]["OA"] < before


def test_history_of_a_verdict_is_shown_once_the_others_are(plan: MarkingPlan, setting: Setting) -> None:
    response = plan.tasks.get(position=1).response
    marking_actions.record_human_verdict(response, True, [1, 1] + [0] * 8, actor=setting.team.core)
    marking_actions.record_human_verdict(response, False, [0] * 10, actor=setting.team.core)
    address = reverse("evaluation:response-page", args=["bench", response.run.number, response.pk])
    text = setting.team.client("ann").get(address).content.decode()
    assert "changed “answer correct; stated 1 and 2” to “answer wrong; no step stated”" in text
    assert "answer correct; stated 1" not in setting.team.client("aud").get(address).content.decode()
