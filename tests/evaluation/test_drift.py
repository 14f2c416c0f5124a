"""Judge drift: anchors, asking a judge again about them, and what the judge's page says of it."""

from typing import Any

import pytest
from django.urls import reverse
from django.utils import timezone

from evaluation import actions, marking_actions
from evaluation.drift import drift_anchors, drift_of
from evaluation.judging_actions import draw_anchors, set_anchor
from evaluation.models import Anchor, Run, Study, Verdict
from evaluation.progress import Progress
from evaluation.reports import leaderboard
from lhdr_site.shared.errors import Conflict, Invalid
from tests.evaluation.setting import Setting, work_through

ADMINS = [("ann", 403), ("aud", 403), ("core", 403), ("admin", 302), ("stranger", 404)]
ANCHORS = "/b/bench/judges/anchors/"


@pytest.fixture
def run(setting: Setting) -> Run:
    return work_through(setting.launch())


def judge_url(setting: Setting, name: str = "judge-page") -> str:
    return reverse(f"evaluation:{name}", args=["bench", setting.judge.pk])


@pytest.mark.parametrize(("who", "expected"), ADMINS)
def test_anchors_are_chosen_by_admins_alone(run: Run, setting: Setting, who: str, expected: int) -> None:
    client = setting.team.client(who)
    assert client.post(ANCHORS, {"run": run.number, "size": 2}).status_code == expected
    assert Anchor.objects.count() == (2 if expected == 302 else 0)
    left = run.responses.filter(anchor=None)[0]
    address = reverse("evaluation:anchor-set", args=["bench", run.number, left.pk])
    assert client.post(address, {"anchor": "yes"}).status_code == expected
    assert Anchor.objects.filter(response=left).exists() is (expected == 302)
    assert client.post(address, {"anchor": "", "back": "anchors"}).status_code == expected
    assert not Anchor.objects.filter(response=left).exists()


@pytest.mark.parametrize(("who", "expected"), [("ann", 200), ("admin", 200), ("stranger", 404)])
def test_judge_and_anchors_are_seen_by_all_members(run: Run, setting: Setting, who: str, expected: int) -> None:
    draw_anchors(run, 2, 1, actor=setting.team.admin)
    for path in (ANCHORS, judge_url(setting)):
        assert setting.team.client(who).get(path).status_code == expected


def test_drawing_takes_what_is_none_yet_and_no_more_than_there_are(run: Run, setting: Setting) -> None:
    admin = setting.team.admin
    assert [draw_anchors(run, 2, 1, actor=admin) for _ in range(3)] == [2, 1, 0]
    assert run.events.filter(kind="anchors.changed").count() == 2


def test_what_cannot_be_an_anchor_is_refused(run: Run, setting: Setting) -> None:
    waiting = setting.launch()
    with pytest.raises(Conflict, match="completed"):
        set_anchor(waiting.responses.all()[0], True, actor=setting.team.admin)
    actions.cancel_run(waiting, actor=setting.team.admin)
    with pytest.raises(Conflict, match="cancelled"):
        draw_anchors(waiting, 1, 1, actor=setting.team.admin)
    reply = setting.team.client("admin").post(ANCHORS, {"run": 99, "size": 0})
    assert reply.status_code == 422 and set(reply.context["form"].errors) == {"run", "size"}


def test_a_frozen_study_keeps_its_anchors_and_is_not_measured(run: Run, setting: Setting) -> None:
    admin = setting.team.admin
    draw_anchors(run, 1, 1, actor=admin)
    study = Study.objects.create(
        benchmark=run.benchmark,
        number=1,
        name="Closed",
        release=run.release,
        created_by=admin,
        frozen=timezone.now(),
        main_judge=setting.judge,
    )
    Run.objects.filter(pk=run.pk).update(study=study)
    anchor, left = run.responses.get(anchor__isnull=False), run.responses.filter(anchor=None)[0]
    for refused in (
        lambda: draw_anchors(run, 1, 1, actor=admin),
        lambda: set_anchor(left, True, actor=admin),
        lambda: set_anchor(anchor, False, actor=admin),
    ):
        with pytest.raises(Conflict, match="frozen"):
            refused()
    assert drift_anchors(setting.judge) == {}
    page = setting.team.client("admin").post(ANCHORS, {"run": run.number, "size": 1})
    assert page.status_code == 422
    assert Anchor.objects.count() == 1


@pytest.mark.parametrize(("who", "expected"), ADMINS)
def test_drift_is_measured_by_admins_alone(run: Run, setting: Setting, who: str, expected: int) -> None:
    draw_anchors(run, 2, 1, actor=setting.team.admin)
    assert setting.team.client(who).post(judge_url(setting, "drift-measure")).status_code == expected
    assert Verdict.objects.filter(drift__isnull=False).count() == (2 if expected == 302 else 0)


def test_drift_without_an_anchor_that_the_judge_judged_is_refused(run: Run, setting: Setting) -> None:
    draw_anchors(run, 2, 1, actor=setting.team.admin)
    with pytest.raises(Conflict, match="judged no anchor"):
        actions.measure_drift(setting.new_judge(), actor=setting.team.admin)
    person = marking_actions.record_human_verdict(run.responses.all()[0], True, [1] * 10, actor=setting.team.aud).judge
    with pytest.raises(Invalid, match="person"):
        actions.measure_drift(person, actor=setting.team.admin)
    assert setting.team.client("admin").post(judge_url(setting, "drift-measure")).status_code == 302


def test_drift_asks_the_judge_again_and_leaves_the_results_as_they_were(run: Run, setting: Setting) -> None:
    run.verdicts.update(flags=[])
    before = leaderboard(setting.release, setting.judge)["runs"]
    shown = Progress(run).judges
    draw_anchors(run, 2, 1, actor=setting.team.admin)
    measurement = actions.measure_drift(setting.judge, actor=setting.team.admin)
    run = work_through(run)
    again = measurement.verdicts.order_by("pk")
    assert run.state == "finished" and [v.status for v in again] == ["completed"] * 2
    assert {v.repeat for v in again} == {1001}
    sent = {v.pk: v.attempts.count() for v in again}
    assert set(sent.values()) == {1}
    assert leaderboard(setting.release, setting.judge)["runs"] == before
    now = Progress(run)
    assert (now.judges, now.flips) == (shown, {})


def test_drift_compares_with_the_first_verdicts(run: Run, setting: Setting) -> None:
    draw_anchors(run, 3, 1, actor=setting.team.admin)
    run.verdicts.update(answer_correct=True, vector=[1] * 10, unparseable="")
    assert drift_of(setting.judge) == []
    measurement = actions.measure_drift(setting.judge, actor=setting.team.admin)
    work_through(run)
    first, second, third = measurement.verdicts.order_by("pk")
    for verdict, correct, vector in ((first, True, [1] * 10), (second, False, [1] * 10), (third, None, None)):
        Verdict.objects.filter(pk=verdict.pk).update(answer_correct=correct, vector=vector)
    base, row = drift_of(setting.judge)
    assert (base.measurement, base.asked, base.read, base.answers, base.steps, base.flips) == (None, 3, 3, 1, 1, 0)
    assert (row.asked, row.read, row.open, row.answers, row.steps) == (3, 2, 0, 0.5, 1)
    assert (row.flips, row.answer_flips, row.flip_rate) == (1, 1, 0.5)
    text = setting.team.client("ann").get(judge_url(setting)).content.decode()
    assert "first verdicts" in text and "2 of 3" in text
    [(known, anchors)] = drift_anchors(setting.judge).items()
    assert known == run.pk and sorted(anchors) == sorted(v.response_id for v in run.verdicts.filter(repeat=1))


def test_judge_page_takes_few_queries(run: Run, setting: Setting, django_assert_max_num_queries: Any) -> None:
    draw_anchors(run, 3, 1, actor=setting.team.admin)
    for _ in range(3):
        actions.measure_drift(setting.judge, actor=setting.team.admin)
    client = setting.team.client("ann")
    for path in (judge_url(setting), ANCHORS):
        with django_assert_max_num_queries(12):
            client.get(path)
