"""Analyses on pages: who reads them, what they say, CSV and LaTeX, what is missing in words, budgets."""

import csv
import re
from dataclasses import replace

import pytest
from django.db import connection
from django.template.loader import render_to_string
from django.test.utils import CaptureQueriesContext

from audit.release_actions import cut_release
from evaluation.analyses.registry import ANALYSES
from evaluation.analyses.tables import Column, Table
from evaluation.models import Report, Study
from tests.evaluation.setting import Setting, work_through
from tests.evaluation.test_views_results import judged_run
from tests.factories import Team

PAGE = "/b/bench/results/gaps/"
CSV, TEX = f"{PAGE}answer-gap.csv", f"{PAGE}answer-gap.tex"
API = "/api/benchmarks/bench/results/gaps/"


@pytest.mark.parametrize("path", [PAGE, CSV, TEX, API])
@pytest.mark.parametrize(
    ("who", "expected"), [("ann", 200), ("aud", 200), ("core", 200), ("admin", 200), ("stranger", 404)]
)
def test_analysis_by_role_answers_members_only(setting: Setting, path: str, who: str, expected: int) -> None:
    judged_run(setting, "A", [True] * 3, [10] * 3)
    assert setting.team.client(who).get(path).status_code == expected


def test_analysis_page_shows_figures_worked_out_by_hand_and_what_they_rest_on(setting: Setting) -> None:
    # OA 2/3, SA 1/3, so the gap is 33.3 points and half of the right answers
    run = judged_run(setting, "Northlight", [True, True, False], [10, 5, 0])
    reply = setting.team.client("ann").get(PAGE)
    text = reply.content.decode()
    assert "66.7%" in text and "33.3%" in text and "50.0%" in text
    assert f"Computed from 3 judged responses of runs {run.number} on release r1" in text
    assert "seed 20260911" in text and "not audited" in text and "demo: recorded answers" in text
    assert text.count('aria-current="page"') >= 1 and f'href="{PAGE}"' in text
    assert Report.objects.filter(kind="analysis:gaps").count() == 1
    setting.team.client("aud").get(PAGE)
    assert Report.objects.filter(kind="analysis:gaps").count() == 1


def test_permalink_names_all_that_was_chosen_and_brings_it_back(setting: Setting) -> None:
    old = judged_run(setting, "A", [True, True, False], [10, 5, 0])
    client = setting.team.client("ann")
    before = client.get(PAGE)
    judged_run(setting, "B", [True] * 3, [10] * 3)
    kept = client.get(f"{PAGE}?{before.context['query']}")
    assert [run.pk for run in kept.context["choice"].runs] == [old.pk]
    assert kept.context["result"] == before.context["result"]
    assert len(client.get(PAGE).context["choice"].runs) == 2


def test_source_of_the_data_set_is_its_items_and_nothing_that_was_judged(setting: Setting) -> None:
    judged_run(setting, "A", [True] * 3, [10] * 3)
    text = setting.team.client("ann").get("/b/bench/results/dataset/").content.decode()
    assert "Computed from 3 items of release r1. Code " in text and "bootstrap" not in text


def test_csv_holds_fractions_and_latex_what_it_rests_on(setting: Setting) -> None:
    judged_run(setting, "A_1 & co", [True, True, False], [10, 5, 0])
    client = setting.team.client("ann")
    [row] = csv.DictReader(client.get(CSV).getvalue().decode().splitlines())
    assert row["system"] == "A_1 & co" and float(row["answer_gap"]) == pytest.approx(1 / 3)
    text = client.get(TEX).content.decode()
    assert (
        r"A\_1 \& co & 66.7\%" in text and text.startswith("% Computed from 3 judged responses") and r"\toprule" in text
    )


@pytest.mark.parametrize("key", ANALYSES)
def test_every_analysis_with_one_run_and_one_judge_answers(setting: Setting, key: str) -> None:
    judged_run(setting, "A", [True, True, False], [10, 5, 0])
    text = setting.team.client("ann").get(f"/b/bench/results/{key}/").content.decode()
    assert not re.search(r"\bnan\b", text.split("<main")[1], re.IGNORECASE)
    assert "Computed from" in text or "This needs" in text


@pytest.mark.parametrize("key", [key for key, analysis in ANALYSES.items() if analysis.runs])
def test_every_analysis_without_run_or_release_teaches(setting: Setting, key: str) -> None:
    client = setting.team.client("ann")
    assert "No finished run on this release" in client.get(f"/b/bench/results/{key}/").content.decode()
    assert client.get(f"/api/benchmarks/bench/results/{key}/").json()["missing"]


def test_analysis_of_a_benchmark_without_release_teaches(new_team: Team) -> None:
    client = new_team.client("ann")
    assert "No results yet" in client.get(PAGE.replace("/bench/", "/apart/")).content.decode()
    assert client.get(CSV.replace("/bench/", "/apart/")).status_code == 404
    assert client.get(API.replace("/bench/", "/apart/")).json()["release"] is None


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("release", "x"),
        ("study", "9"),
        ("judge", "x"),
        ("run", "99"),
        ("run", "x"),
        ("condition", "x"),
        ("profile", "x"),
    ],
)
def test_what_is_not_there_is_not_found_and_named_by_the_api(setting: Setting, name: str, value: str) -> None:
    judged_run(setting, "A", [True] * 3, [10] * 3)
    client = setting.team.client("ann")
    reply = client.get(API, {name: value})
    problem = reply.json()["problems"][0]
    assert (reply.status_code, problem["path"]) == (422, name)
    for path in (PAGE, CSV, TEX):
        reply = client.get(path, {name: value})
        assert reply.status_code == 404 and problem["message"] in reply.content.decode()


def test_what_is_not_there_leaves_the_form_to_choose_again(setting: Setting) -> None:
    judged_run(setting, "A", [True] * 3, [10] * 3)
    text = setting.team.client("ann").get(PAGE, {"run": "99", "judge": "x"}).content.decode()
    assert "so nothing is shown" in text and 'id="choose-release"' in text and "Computed from" not in text
    assert "judge=x" not in text  # the list of analyses leads out of it


def test_named_runs_and_the_condition_agree_or_are_refused(setting: Setting) -> None:
    with_image = judged_run(setting, "A", [True] * 3, [10] * 3)
    without = work_through(setting.launch(system=with_image.system, condition="without_image"))
    client = setting.team.client("ann")
    asked = {"run": [without.number], "condition": "with_image"}
    assert client.get(API, asked).json()["problems"][0]["path"] == "condition"
    assert "Choose theirs" in client.get(PAGE, asked).content.decode()
    assert client.get(PAGE, {"run": without.number}).context["choice"].condition == "without_image"
    both = client.get(PAGE, {"run": [with_image.number, without.number]})
    assert "of the chosen runs" in both.content.decode()
    again = client.get(both.context["permalink"])
    assert again.context["choice"].runs == both.context["choice"].runs == [with_image, without]


def test_two_runs_of_three_are_not_picked_silently(setting: Setting) -> None:
    numbers = [judged_run(setting, name, [True] * 3, [10] * 3).number for name in "ABC"]
    client = setting.team.client("ann")
    assert (
        client.get("/api/benchmarks/bench/results/two_runs/", {"run": numbers}).json()["problems"][0]["path"] == "run"
    )
    assert "name two" in client.get("/b/bench/results/two_runs/", {"run": numbers}).content.decode()


@pytest.mark.parametrize("path", [API, "/api/benchmarks/bench/results/"])
def test_api_refuses_parameters_that_are_not_there(setting: Setting, path: str) -> None:
    judged_run(setting, "A", [True] * 3, [10] * 3)
    reply = setting.team.client("ann").get(path, {"jugde": setting.judge.name})
    assert (reply.status_code, reply.json()["problems"][0]["path"]) == (422, "jugde")
    reply = setting.team.client("ann").get(path, {"judge": "\0"})
    assert (reply.status_code, reply.json()["code"]) == (400, "invalid")


def test_study_of_another_release_is_left_aside_on_pages_and_said_so(setting: Setting) -> None:
    judged_run(setting, "A", [True] * 3, [10] * 3)
    study = Study.objects.create(
        benchmark=setting.benchmark,
        number=1,
        name="S",
        release=setting.release,
        created_by=setting.team.admin,
        main_judge=setting.judge,
    )
    other = cut_release(setting.benchmark, "r2", actor=setting.team.admin)
    client, asked = setting.team.client("ann"), {"release": other.name, "study": study.number}
    for path in (PAGE, "/b/bench/results/"):
        assert "so it was left aside" in client.get(path, asked).content.decode()
    assert client.get(API, asked).json()["problems"][0]["path"] == "release"


@pytest.mark.parametrize("path", ["nothing/", "gaps/nothing.csv", "gaps/nothing.tex"])
def test_unknown_analysis_or_table_is_not_found(setting: Setting, path: str) -> None:
    judged_run(setting, "A", [True] * 3, [10] * 3)
    assert setting.team.client("ann").get(f"/b/bench/results/{path}").status_code == 404


def test_run_of_another_state_cannot_be_analysed(setting: Setting) -> None:
    run = setting.launch()
    assert setting.team.client("ann").get(PAGE, {"run": run.number}).status_code == 404


def test_api_gives_what_the_page_shows(setting: Setting) -> None:
    judged_run(setting, "A", [True, True, False], [10, 5, 0])
    client = setting.team.client("ann")
    reply = client.get(API, {"judge": setting.judge.name}).json()
    assert (reply["release"], reply["judge"], reply["profile"], reply["seed"]) == (
        "r1", setting.judge.name, "strict", 20260911,
    )  # fmt: skip
    assert reply["tables"][0]["rows"][0]["answer_gap"] == pytest.approx(1 / 3)
    assert reply["hash"] and reply["runs"]


def test_analysis_page_takes_as_many_queries_for_many_runs_as_for_one(setting: Setting) -> None:
    client = setting.team.client("ann")

    def queries(path: str) -> int:
        client.get(path)
        with CaptureQueriesContext(connection) as found:
            client.get(path)
        return len(found)

    judged_run(setting, "A", [True] * 3, [10] * 3)
    one = queries(PAGE)
    for name in "BCDE":
        judged_run(setting, name, [True] * 3, [10] * 3)
    assert queries(PAGE) == one <= 20


def test_each_condition_is_analysed_by_itself(setting: Setting) -> None:
    judged_run(setting, "A", [True] * 3, [10] * 3)
    run = work_through(setting.launch(condition="without_image"))
    client = setting.team.client("ann")
    assert run not in client.get(PAGE).context["choice"].runs
    assert client.get(PAGE, {"condition": "without_image"}).context["choice"].runs == [run]


def test_page_shows_the_first_rows_of_a_very_long_table_and_says_so() -> None:
    rows = [{"name": f"row-{n}."} for n in range(501)]
    table = Table("t", "A table", (Column("name", "name"),), rows)
    page = render_to_string("evaluation/_analysis_table.html", {"table": table, "id": "t", "linked": False})
    assert "row-499." in page and "row-500." not in page
    assert "The first 500 of 501 rows. The CSV holds all." in page
    short = render_to_string("evaluation/_analysis_table.html", {"table": replace(table, rows=rows[1:]), "id": "t"})
    assert "row-500." in short and "The first" not in short
