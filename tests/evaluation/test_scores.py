"""The leaderboard as an analysis: the same figures as the page's, and strict accuracy by category."""

import pytest

from evaluation.analyses.base import Options
from evaluation.analyses.exports import shown
from evaluation.analyses.scores import compute
from evaluation.reports import leaderboard
from evaluation.scoring.metrics import METRICS
from tests.evaluation.planting import CHAIN, make_items, make_results, rows_of
from tests.evaluation.setting import Setting
from tests.evaluation.test_views_results import judged_run


def test_scores_are_those_of_the_leaderboard(setting: Setting) -> None:
    for name, right in (("A", [True, False, False]), ("B", [True, True, False])):
        judged_run(setting, name, right, [10, 5, 0])
    page = setting.team.client("ann").get("/b/bench/results/leaderboard/")
    rows = rows_of(page.context["result"], "scores")
    expected = leaderboard(setting.release)["runs"]
    assert [row["system"] for row in rows] == [row["system"] for row in expected]
    for row, its in zip(rows, expected, strict=True):
        for metric in METRICS:
            assert row[metric] == pytest.approx(its[metric])
            assert [row[f"{metric}_low"], row[f"{metric}_high"]] == pytest.approx(its["ci"][metric])
    assert "overlap in DACS" in page.context["result"].warnings[0]
    link = '<a class="btn" href="/b/bench/results/leaderboard/?release=r1'
    assert link in setting.team.client("ann").get("/b/bench/results/").content.decode()


def test_categories_stand_in_columns_with_their_items() -> None:
    items = make_items([CHAIN] * 3, category=["media", "fine_arts", "media"])
    stated = [[[[1, 1, 1], [1, 1, 1], [1, 0, 1]], [[1, 1, 1], None, [1, 1, 1]]]]
    result = compute(make_results([[[1, 1, 1], [1, -1, 1]]], stated, items), Options(resamples=100))
    table = next(table for table in result.tables if table.key == "categories")
    assert [column.label for column in table.columns] == ["system", "all", "fine arts, n = 1", "media, n = 2"]
    assert [(row["system"], row["SA_fine_arts"], row["SA_media"]) for row in table.rows] == [
        ("system 1", 1, 0.5),
        ("system 2", 0, 1),
    ]
    first, second = rows_of(result, "scores")
    assert (first["rank"], second["rank"], second["unjudged"], second["unanswered"]) == (1, 2, 1, 0)
    assert "2 of 2 categories" in table.note


def test_equal_scores_share_a_rank_and_rounded_numbers_keep_their_digits() -> None:
    rows = rows_of(compute(make_results([[[1, 0], [0, 1]]]), Options(resamples=100)), "scores")
    assert [row["rank"] for row in rows] == [1, 1]
    assert [shown(value, "rounded") for value in (8.62, 11.0, 10.7)] == ["8.62", "11", "10.7"]


def test_long_list_of_what_is_missing_is_folded(setting: Setting) -> None:
    for at in range(7):
        run = judged_run(setting, f"System {at}", [True] * 3, [10] * 3)
        run.verdicts.filter(response__release_item__position=0).update(
            unparseable="no vector", vector=None, answer_correct=None
        )
    text = setting.team.client("ann").get("/b/bench/results/leaderboard/").content.decode()
    assert "<summary>3 more</summary>" in text and text.count("verdicts by") == 7
