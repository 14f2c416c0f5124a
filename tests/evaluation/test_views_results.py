"""The leaderboard: who reads it, what stands in it, ranks and overlaps, CSV, empty states."""

import csv
from typing import Any

import pytest
from django.http import QueryDict
from django.urls import reverse
from django.utils import timezone

from audit.models import Release
from audit.release_actions import cut_release
from evaluation.models import Report, Run, Verdict
from evaluation.reports import store_leaderboards
from evaluation.views.results import Results, csv_rows, read_results
from tests.evaluation.setting import Setting, work_through
from tests.factories import Team

RESULTS = "/b/bench/results/"
CSV = "/b/bench/results/leaderboard.csv"


def touch(run: Run) -> None:
    """What was changed behind the actions' back counts: a finished run's verdicts otherwise stay as they are."""
    run.ended = timezone.now()
    run.save(update_fields=["ended"])


def judged_run(setting: Setting, name: str, correct: list[bool], stated: list[int], **system: Any) -> Run:
    """A finished run with given verdicts: per item the answer, and how many of the ten steps, from the first, hold."""
    run = work_through(setting.launch(system=setting.new_system(name=name, **system)))
    verdicts = run.verdicts.order_by("response__release_item__position")
    for verdict, answer, count in zip(verdicts, correct, stated, strict=True):
        Verdict.objects.filter(pk=verdict.pk).update(
            answer_correct=answer, vector=[1] * count + [0] * (10 - count), unparseable=""
        )
    touch(run)
    return run


@pytest.mark.parametrize("path", [RESULTS, CSV, "/api/benchmarks/bench/results/"])
@pytest.mark.parametrize(
    ("who", "expected"), [("ann", 200), ("aud", 200), ("core", 200), ("admin", 200), ("stranger", 404)]
)
def test_results_by_role_answer_members_only(setting: Setting, path: str, who: str, expected: int) -> None:
    assert setting.team.client(who).get(path).status_code == expected


def test_leaderboard_shows_scores_worked_out_by_hand(setting: Setting) -> None:
    # Answers right on 2 of 3; steps stated 10, 5 and 0 of 10. The first five steps need nothing but each other, so all
    # that is stated counts.
    # OA = 2/3, SA = 1/3 (item 1 alone), CS = DACS = (1 + .5 + 0)/3 = .5
    judged_run(setting, "Northlight", [True, True, False], [10, 5, 0])
    text = setting.team.client("ann").get(RESULTS).content.decode()
    assert "66.7%" in text and "33.3%" in text and "50.0%" in text
    assert "n = 3 for every score" in text
    assert "demo: recorded answers" in text
    assert "not audited" in text  # the release holds imported items


def test_leaderboard_ranks_by_the_chosen_metric_and_ties_share_a_rank(setting: Setting) -> None:
    judged_run(setting, "A", [True, True, True], [5, 5, 5])  # OA 1, CS .5
    judged_run(setting, "B", [False, False, False], [10, 10, 10])  # OA 0, CS 1
    judged_run(setting, "C", [False, False, False], [10, 10, 10])
    client = setting.team.client("ann")
    by_dacs = client.get(RESULTS).context["results"]
    assert [(row["system"], row["rank"]) for row in by_dacs.rows] == [("B", 1), ("C", 1), ("A", 3)]
    by_oa = client.get(RESULTS, {"sort": "OA"}).context["results"]
    assert [row["system"] for row in by_oa.rows] == ["A", "B", "C"]


def test_leaderboard_groups_systems_and_lists_them_flat(setting: Setting) -> None:
    judged_run(setting, "A", [True] * 3, [5] * 3)
    judged_run(setting, "B", [True] * 3, [10] * 3, group="deep_research")
    client = setting.team.client("ann")
    grouped = client.get(RESULTS).context["results"].groups
    assert [(name, len(rows)) for name, rows in grouped] == [("Deep-research system", 1), ("Tool-free VLM", 1)]
    flat = client.get(RESULTS, {"view": "flat"}).context["results"].groups
    assert [(name, len(rows)) for name, rows in flat] == [("", 2)]


def test_leaderboard_warns_only_where_neighbouring_intervals_overlap(setting: Setting) -> None:
    # Constant scores have no width: 1 against .5 do not overlap; [1, 0, 0] spreads over both.
    judged_run(setting, "A", [True] * 3, [10] * 3)
    judged_run(setting, "B", [True] * 3, [5] * 3)
    client = setting.team.client("ann")
    assert "nobody can say" not in client.get(RESULTS).content.decode()
    judged_run(setting, "C", [True] * 3, [10, 1, 1])
    results = client.get(RESULTS).context["results"]
    assert results.overlapping == [("B", "C")]
    assert "nobody can say" in client.get(RESULTS).content.decode()


def test_leaderboard_counts_failed_and_unreadable_in_the_denominator(setting: Setting) -> None:
    run = judged_run(setting, "A", [True] * 3, [10] * 3)
    first, second, _third = run.responses.order_by("release_item__position")
    first.verdicts.all().delete()
    run.responses.filter(pk=first.pk).update(status="failed")
    second.verdicts.update(answer_correct=None, vector=None, unparseable="vector missing")
    touch(run)
    [row] = setting.team.client("ann").get(RESULTS).context["results"].rows
    assert (row["n"], row["counts"]["not_completed"], row["counts"]["without_verdict"]) == (3, 1, 1)
    assert row["OA"] == pytest.approx(1 / 3)
    assert (row["attempted"]["n"], row["attempted"]["OA"]) == (2, pytest.approx(1 / 2))


def test_leaderboard_keeps_conditions_apart(setting: Setting) -> None:
    run = work_through(setting.launch(condition="without_image"))
    client = setting.team.client("ann")
    reply = client.get(RESULTS)
    assert reply.context["results"].rows == []
    assert "No finished run under this condition" in reply.content.decode()
    rows = client.get(RESULTS, {"condition": "without_image"}).context["results"].rows
    assert [row["run"] for row in rows] == [run.pk]


def test_leaderboard_by_another_judge_names_what_it_did_not_judge(setting: Setting) -> None:
    judged_run(setting, "A", [True] * 3, [10] * 3)
    other = setting.new_judge(name="Second")
    work_through(setting.launch(system=setting.new_system(name="B"), judges=[other]))
    reply = setting.team.client("ann").get(RESULTS, {"judge": other.pk})
    assert [row["system"] for row in reply.context["results"].rows] == ["B"]
    assert "Not judged by this judge" in reply.content.decode()


@pytest.mark.parametrize(
    ("query", "words"),
    [
        ({"release": "nowhere"}, "no such release"),
        ({"judge": "0"}, "judged by such a judge"),
        ({"judge": "x"}, "judged by such a judge"),
        ({"release": "r1", "judge": "999999"}, "judged by such a judge"),
        ({"study": "7"}, "no such study"),
        ({"condition": "x"}, "with_image or without_image"),
        ({"profile": "x"}, "strict or as-published"),
        ({"sort": "x"}, "by one of: OA, SA, CS, DACS"),
    ],
)
@pytest.mark.parametrize("path", [RESULTS, CSV])
def test_results_of_what_is_not_there_say_what(setting: Setting, path: str, query: dict[str, str], words: str) -> None:
    judged_run(setting, "A", [True] * 3, [10] * 3)
    reply = setting.team.client("ann").get(path, query)
    assert reply.status_code == 404 and words in reply.content.decode()


def test_results_take_a_judge_by_name(setting: Setting) -> None:
    judged_run(setting, "A", [True] * 3, [10] * 3)
    reply = setting.team.client("ann").get(RESULTS, {"judge": setting.judge.name})
    assert reply.context["results"].judge == setting.judge


@pytest.mark.parametrize("query", [{"sort": ""}, {"view": "x"}, {"release": ""}, {"judge": ""}])
def test_results_with_other_odd_values_show_the_usual(setting: Setting, query: dict[str, str]) -> None:
    judged_run(setting, "A", [True] * 3, [10] * 3)
    assert len(setting.team.client("ann").get(RESULTS, query).context["results"].rows) == 1


def test_results_without_a_finished_run_teach(setting: Setting) -> None:
    assert "No finished run on this release" in setting.team.client("ann").get(RESULTS).content.decode()


def test_results_of_a_benchmark_without_release_teach(new_team: Team) -> None:
    assert "No results yet" in new_team.client("ann").get(RESULTS.replace("/bench/", "/apart/")).content.decode()
    assert new_team.client("ann").get("/api/benchmarks/apart/results/").json()["runs"] == []
    assert new_team.client("ann").get(CSV.replace("/bench/", "/apart/")).getvalue().decode().startswith("rank,system")


def test_results_show_the_newest_release_first_and_older_ones_on_request(setting: Setting) -> None:
    judged_run(setting, "A", [True] * 3, [10] * 3)
    newer = cut_release(setting.benchmark, "r2", actor=setting.team.admin)
    client = setting.team.client("ann")
    assert client.get(RESULTS).context["results"].release == newer
    assert len(client.get(RESULTS, {"release": "r1"}).context["results"].rows) == 1


# --- CSV ----------------------------------------------------------------------------------------------------------


def test_csv_holds_the_rows_of_the_page_as_fractions(setting: Setting) -> None:
    judged_run(setting, "A", [True, True, False], [10, 5, 0])
    reply = setting.team.client("ann").get(CSV)
    assert reply["Content-Type"].startswith("text/csv")
    assert 'filename="leaderboard-bench-r1-with_image-strict.csv"' in reply["Content-Disposition"]
    [row] = csv.DictReader(reply.getvalue().decode().splitlines())
    assert (row["system"], row["rank"], row["n"], row["profile"], row["audited"]) == ("A", "1", "3", "strict", "False")
    assert float(row["OA"]) == pytest.approx(2 / 3)
    assert float(row["DACS_low"]) <= float(row["DACS"]) <= float(row["DACS_high"])
    assert (row["judge"], row["prompt"], row["resamples"]) == (setting.judge.name, "lhdr-1", "10000")


@pytest.mark.parametrize("name", ["=1+1", "+1", "-1", "@cmd", "\tx"])
def test_csv_disarms_what_a_spreadsheet_would_compute(setting: Setting, name: str) -> None:
    run = judged_run(setting, "A", [True] * 3, [10] * 3)
    type(run.system).objects.filter(pk=run.system_id).update(name=name)
    reply = setting.team.client("ann").get(CSV)
    [row] = csv.DictReader(reply.getvalue().decode().splitlines())
    assert row["system"] == f"'{name}"


def test_csv_has_as_many_cells_in_each_line_as_in_its_head(setting: Setting) -> None:
    judged_run(setting, "A", [True] * 3, [10] * 3)
    results: Results = read_results(setting.benchmark, QueryDict())
    head, *rows = csv_rows(results)
    assert len(set(head)) == len(head)
    assert {len(row) for row in rows} == {len(head)}


# --- API and budget -----------------------------------------------------------------------------------------------


def test_api_leaderboard_says_what_the_figures_are(setting: Setting) -> None:
    judged_run(setting, "A", [True, True, False], [10, 5, 0])
    reply = setting.team.client("ann").get("/api/benchmarks/bench/results/").json()
    assert (reply["release"], reply["audited"], reply["profile"], reply["n"]) == ("r1", False, "strict", 3)
    assert reply["judge"]["name"] == setting.judge.name
    assert reply["runs"][0]["CS"] == pytest.approx(0.5)
    assert reply["runs"][0]["demo"] is True


@pytest.mark.parametrize(
    ("query", "path"),
    [
        ({"release": "x"}, "release"),
        ({"judge": "x"}, "judge"),
        ({"condition": "x"}, "condition"),
        ({"profile": "x"}, "profile"),
    ],
)
def test_api_leaderboard_of_what_is_not_there_names_it(setting: Setting, query: dict[str, str], path: str) -> None:
    reply = setting.team.client("ann").get("/api/benchmarks/bench/results/", query)
    assert (reply.status_code, reply.json()["problems"][0]["path"]) == (422, path)


def test_results_page_takes_few_queries_once_computed(setting: Setting, django_assert_max_num_queries: Any) -> None:
    for name in "ABCDE":
        judged_run(setting, name, [True] * 3, [10] * 3)
    client = setting.team.client("ann")
    store_leaderboards(setting.release)
    with django_assert_max_num_queries(13):
        client.get(RESULTS)
    assert Release.objects.count() == 1 and reverse("evaluation:leaderboard", args=["bench"]) == RESULTS


def test_results_under_the_published_profile_are_read_from_what_the_judge_printed(setting: Setting) -> None:
    run = judged_run(setting, "A", [True] * 3, [10] * 3)
    for verdict, output in zip(
        run.verdicts.order_by("pk"),
        # half of a verdict; a short list, and a second one that is not read; a long list
        ["OVERALL_CORRECTNESS: YES", "CHECKLIST_RESULT: [1,1]\nOVERALL_CORRECTNESS: NO\nOVERALL_CORRECTNESS: YES",
         f"CHECKLIST_RESULT: {[1] * 12}\nOVERALL_CORRECTNESS: YES"],
        strict=True,
    ):  # fmt: skip
        Verdict.objects.filter(pk=verdict.pk).update(
            output=output, answer_correct=None, vector=None, unparseable="broken"
        )
    touch(run)
    client = setting.team.client("ann")
    # OA (1 + 0 + 1)/3, CS (0 + 2/10 + 1)/3; strict takes none of the three
    for profile, oa, cs in (("as-published", 2 / 3, 0.4), ("strict", 0, 0)):
        reply = client.get("/api/benchmarks/bench/results/", {"profile": profile}).json()
        assert reply["profile"] == profile
        assert [reply["runs"][0][m] for m in ("OA", "CS")] == pytest.approx([oa, cs])
        page = client.get(RESULTS, {"profile": profile})
        assert page.context["results"].rows[0]["CS"] == pytest.approx(cs)
        assert f"Profile {profile}." in page.content.decode()
        [row] = csv.DictReader(client.get(CSV, {"profile": profile}).getvalue().decode().splitlines())
        assert (row["profile"], float(row["OA"])) == (profile, pytest.approx(oa))


def test_results_when_read_write_nothing(setting: Setting) -> None:
    run = judged_run(setting, "A", [True] * 3, [10] * 3)
    before = Report.objects.count()
    client = setting.team.client("ann")
    for path in (RESULTS, CSV, "/api/benchmarks/bench/results/"):
        assert client.get(path).status_code == 200
    assert Report.objects.count() == before and run.state == "finished"
