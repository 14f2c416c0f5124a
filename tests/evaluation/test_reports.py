"""Figures from stored verdicts, worked out by hand, with the release's item count as the denominator."""

import pytest
from django.utils import timezone

from evaluation import actions, reports
from evaluation.models import Report, Run, RunState, Study
from evaluation.scoring.metrics import METRICS, Profile
from tests.documents import STEPS
from tests.evaluation.setting import documents, make_setting, work_through

# The checklist of the test items: c1 -> c2 -> c3 -> c4 -> c5 -> c6, c7 alone, c6 and c7 -> c8 -> c9 -> c10.
ALL = [1] * 10
WITHOUT_C2 = [1, 0, 1, 1, 1, 1, 1, 1, 1, 1]  # c3-c6 and c8-c10 are blocked: c1 and c7 are credited


@pytest.fixture
def setting(db, demo_server):
    return make_setting(demo_server, documents(4))


def judged(setting, verdicts, **launch):
    """A finished run whose responses got these: (answer, vector), "unparseable", "failed" or "missing"."""
    run = setting.launch(**launch)
    for response, verdict in zip(run.responses.order_by("pk"), verdicts, strict=True):
        if verdict in ("failed", "missing"):
            run.responses.filter(pk=response.pk).update(status="failed" if verdict == "failed" else "cancelled")
            continue
        run.responses.filter(pk=response.pk).update(status="completed", text="…")
        row = {"judge": setting.judge, "response": response, "status": "completed"}
        if verdict == "unparseable":
            run.verdicts.create(**row, unparseable="no verdict")
        else:
            run.verdicts.create(**row, answer_correct=verdict[0], vector=verdict[1])
    run.state = RunState.FINISHED
    run.save()
    return run


def test_run_scores_count_failed_missing_and_unparseable_as_nothing(setting):
    assert len(STEPS) == 10
    run = judged(setting, [(True, ALL), (True, WITHOUT_C2), "unparseable", "failed"])
    scores = reports.run_scores(run, setting.judge)
    # four items, whatever failed: OA 2/4; SA 1/4; CS (1 + 0.9)/4; DACS (1 + 2/10)/4
    assert [scores[metric] for metric in METRICS] == pytest.approx([0.5, 0.25, 0.475, 0.3])
    assert scores["n"] == 4
    assert scores["counts"] == {"completed": 3, "not_completed": 1, "without_verdict": 1}
    # over the three that were answered
    assert [scores["attempted"][m] for m in METRICS] == pytest.approx([2 / 3, 1 / 3, 1.9 / 3, 1.2 / 3])
    assert [item["DACS"] for item in scores["items"]] == pytest.approx([1, 0.2, 0, 0])
    assert scores["gaps"]["OA-SA"]["value"] == pytest.approx(0.25)
    for metric in METRICS:
        low, high = scores["ci"][metric]
        assert 0 <= low <= scores[metric] <= high <= 1


def test_run_scores_of_a_run_without_any_answer_are_zero_with_no_attempted_mean(setting):
    scores = reports.run_scores(judged(setting, ["failed", "missing", "failed", "missing"]), setting.judge)
    assert [scores[metric] for metric in METRICS] == [0, 0, 0, 0]
    assert scores["attempted"] == {"n": 0, **dict.fromkeys(METRICS)}
    assert scores["ci"]["OA"] == [0, 0]


def test_run_scores_of_several_samples_are_means_over_samples_then_items(setting):
    """Two samples of four items, the samples of an item beside each other."""
    run = judged(
        setting,
        [
            (True, ALL), (True, WITHOUT_C2),
            (True, ALL), "failed",
            "unparseable", (False, WITHOUT_C2),
            "missing", "failed",
        ],
        samples=2,
    )  # fmt: skip
    scores = reports.run_scores(run, setting.judge)
    # items: OA 1, 1/2, 0, 0; SA 1/2, 1/2, 0, 0; CS .95, .5, .45, 0; DACS .6, .5, .1, 0; always over four items
    assert [scores[metric] for metric in METRICS] == pytest.approx([1.5 / 4, 1 / 4, 1.9 / 4, 1.2 / 4])
    assert [item["DACS"] for item in scores["items"]] == pytest.approx([0.6, 0.5, 0.1, 0])
    assert (scores["n"], scores["samples"]) == (4, 2)
    assert scores["counts"] == {"completed": 5, "not_completed": 3, "without_verdict": 1}
    # three items were answered at all, the second of them once: OA 1, 1, 0; CS .95, 1, .45; DACS .6, 1, .1
    assert scores["attempted"]["n"] == 3
    assert [scores["attempted"][m] for m in METRICS] == pytest.approx([2 / 3, 1.5 / 3, 2.4 / 3, 1.7 / 3])


def test_scores_of_runs_with_different_samples_stand_side_by_side(setting):
    judged(setting, [(True, ALL), (False, ALL)] * 4, samples=2)
    judged(setting, [(True, ALL), (True, ALL), "failed", "failed"], system=setting.new_system(name="once"))
    rows = {row["system"]: row for row in reports.leaderboard(setting.release)["runs"]}
    assert [(row["OA"], row["samples"]) for row in rows.values()] == [(0.5, 2), (0.5, 1)]
    assert rows["once"]["counts"]["not_completed"] == 2
    # each item alike in one, half of them right in the other: only the second has an interval to speak of
    assert rows[setting.system.name]["ci"]["OA"] == [0.5, 0.5] and rows["once"]["ci"]["OA"] == [0, 1]


def test_leaderboard_of_a_study_holds_its_runs_under_its_main_judge(setting):
    study = Study.objects.create(
        benchmark=setting.benchmark,
        number=1,
        name="s",
        release=setting.release,
        main_judge=setting.judge,
        created_by=setting.team.admin,
        conditions=["with_image"],
    )
    run = judged(setting, [(True, ALL)] * 4)
    Run.objects.filter(pk=run.pk).update(study=study)
    other = setting.new_judge()
    for _ in range(2):
        judged(setting, [(False, ALL)] * 4, system=setting.new_system(), judges=[other])
    board = reports.leaderboard(setting.release, study=study)
    assert [row["number"] for row in board["runs"]] == [run.number]
    assert board["judge"]["pk"] == setting.judge.pk
    assert len(reports.leaderboard(setting.release, other)["not_judged"]) == 3
    reports.store_leaderboards(setting.release)
    assert Report.objects.count() == 8  # the release's and the study's, under two judges and two profiles


def test_leaderboard_shows_the_newest_finished_run_of_each_system_by_dacs(setting):
    judged(setting, [(True, ALL)] * 4)
    newest = judged(setting, [(False, WITHOUT_C2)] * 4)
    better = judged(setting, [(True, ALL)] * 4, system=setting.new_system(name="better"))
    setting.launch(system=setting.new_system(name="still running"))
    board = reports.leaderboard(setting.release)
    assert [(row["system"], row["number"]) for row in board["runs"]] == [
        ("better", better.number),
        (setting.system.name, newest.number),
    ]
    assert [row["DACS"] for row in board["runs"]] == pytest.approx([1, 0.2])
    assert board["judge"]["pk"] == setting.judge.pk and board["n"] == 4
    assert all(row["demo"] for row in board["runs"])


def test_leaderboard_names_runs_that_its_judge_did_not_judge(setting):
    judged(setting, [(True, ALL)] * 4)
    board = reports.leaderboard(setting.release, setting.new_judge())
    assert board["runs"] == [] and [row["system"] for row in board["not_judged"]] == [setting.system.name]


def test_leaderboard_of_a_release_without_runs_is_empty(setting):
    assert reports.leaderboard(setting.release)["runs"] == []


def test_leaderboards_are_stored_for_every_profile_and_read_without_computing(setting, monkeypatch):
    run = judged(setting, [(True, ALL)] * 4)
    computed = reports.leaderboard(setting.release)
    assert Report.objects.count() == 0
    for _ in range(2):
        reports.store_leaderboards(setting.release)
    assert Report.objects.count() == 2
    monkeypatch.delattr(reports, "_compute")
    assert reports.leaderboard(setting.release) == computed
    assert reports.leaderboard(setting.release, setting.judge, Profile.AS_PUBLISHED)["runs"][0]["OA"] == 1
    monkeypatch.undo()
    run.verdicts.first().delete()
    run.ended = timezone.now()  # whatever changes verdicts of a finished run opens it again
    run.save()
    assert reports.leaderboard(setting.release)["runs"][0]["OA"] == 0.75


def test_run_when_it_finishes_stores_its_leaderboards_and_again_after_judging_again(setting):
    run = work_through(setting.launch())
    assert Report.objects.count() == 2
    actions.rejudge(run, setting.new_judge(), actor=setting.team.admin)
    work_through(run)
    assert Report.objects.count() == 6  # two profiles each of two judges, beside those of before


def test_run_scores_of_a_run_that_goes_on_are_not_stored(setting):
    run = judged(setting, [(True, ALL), "missing", "missing", "missing"])
    run.state = RunState.RUNNING
    run.save()
    assert reports.run_scores(run, setting.judge)["OA"] == 0.25
    assert Report.objects.count() == 0
