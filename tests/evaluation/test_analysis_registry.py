"""Analyses: stored and read again, computed anew when what they rest on changed, in words where something is missing;
no figure that is not a number."""

import json

import numpy as np
import pytest

from evaluation.analyses import registry
from evaluation.analyses.base import Options
from evaluation.analyses.data import load
from evaluation.analyses.registry import ANALYSES, analyse
from evaluation.models import Report
from evaluation.reports import score_runs
from evaluation.scoring.metrics import METRICS, Profile
from tests.evaluation.planting import planted
from tests.evaluation.setting import work_through


def test_analysis_is_computed_once_until_its_inputs_change(setting, monkeypatch):
    run = work_through(setting.launch())
    who = setting.release, [run], [setting.judge], setting.judge, "gaps"
    first = analyse(*who)
    assert Report.objects.filter(kind="analysis:gaps").count() == 1

    def forbidden(*_args):
        raise AssertionError("computed again")

    with monkeypatch.context() as patch:
        patch.setattr(registry, "load", forbidden)
        assert analyse(*who) == first
        with pytest.raises(AssertionError, match="again"):
            analyse(*who, seed=1)
    assert analyse(*who, profile=Profile.AS_PUBLISHED).hash != first.hash
    run.state = "stopped"
    assert analyse(*who).hash != first.hash


def test_analysis_without_runs_says_what_is_missing_and_stores_nothing(setting):
    found = analyse(setting.release, [], [], None, "gaps")
    assert found.result.missing == [
        "This needs a finished run; 0 is chosen.",
        "This needs verdicts of a judge; there is none.",
    ]
    assert not Report.objects.filter(kind="analysis:gaps").exists()


def test_analysis_under_the_published_profile_rests_on_what_its_leaderboard_rests_on(setting):
    run = work_through(setting.launch())
    run.verdicts.filter(response__release_item__position=1).update(
        output="OVERALL_CORRECTNESS: YES", answer_correct=None, vector=None, unparseable="no vector"
    )
    found = load(setting.release, [run], [setting.judge], setting.judge, Profile.AS_PUBLISHED)
    expected = score_runs(setting.release, [run], setting.judge, Profile.AS_PUBLISHED)
    for metric in METRICS:
        assert np.array_equal(found.scores[metric], expected.values[metric])
    assert found.all_answers[0, 0, 1] == 1  # half a verdict counts


CASES = {
    "one item": planted([[[1]]], [[[[1, 1]]]]),
    "one step": planted([[[1, 0]]], [[[[1], [0]]]]),
    "all equal": planted(np.ones((2, 3, 4)), np.ones((2, 3, 4, 3))),
    "nothing right": planted(np.zeros((2, 3, 4)), np.zeros((2, 3, 4, 3))),
    "no verdicts": planted(np.full((2, 3, 4), -1), np.zeros((2, 3, 4, 3))),
    "one item in two runs": planted(
        [[[1], [0]]], [[[[1, 0]], [[0, 0]]]], systems=["A", "A"], conditions=["with_image", "without_image"]
    ),
}


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("key", ANALYSES)
def test_every_analysis_of_degenerate_results_is_plain_numbers_or_words(db, key, case):
    analysis, results = ANALYSES[key], CASES[case]
    if key == "variants":  # loads the release once more, under the other profile
        return
    if len(results.runs) < analysis.runs or len(results.judges) < analysis.judges:
        return
    result = analysis.compute(results, Options(resamples=200))
    json.dumps(result.to_json(), allow_nan=False)  # raises ValueError for what is no number
    assert result.tables or result.missing
    for table in result.tables:
        keys = {column.key for column in table.columns}
        keys |= {end for column in table.columns for end in (column.low, column.high) if end}
        assert all(keys <= set(row) for row in table.rows), table.key
        if table.picture:
            assert {table.picture.x, *table.picture.y} <= keys
    assert len({table.key for table in result.tables}) == len(result.tables)


def test_gaps_by_hand():
    # A is right on 3 of 4 items, once with the whole chain; B on 1 of 40 and so below 5% of OA.
    right, flags = np.zeros((1, 2, 40)), np.zeros((1, 2, 40, 2))
    right[0, 0, :30], flags[0, 0, :10], flags[0, 0, 10:20, 1] = 1, 1, 1
    right[0, 1, 0] = 1
    answers, shown, steps = ANALYSES["gaps"].compute(planted(right, flags), Options()).tables
    row = answers.rows[0]
    assert (row["system"], row["OA"], row["SA"], row["answer_gap"]) == ("S0", 0.75, 0.25, 0.5)
    assert row["share"] == pytest.approx(2 / 3) and row["left_out"] == 0
    assert row["answer_gap_low"] < 0.5 < row["answer_gap_high"]
    assert [row["system"] for row in shown.rows] == ["S0"] and "S1" in shown.note
    # 10 items with both steps, 10 with the second step alone, which rests on the first
    assert steps.rows[0]["CS"] == pytest.approx(0.375) and steps.rows[0]["step_gap"] == pytest.approx(0.125)
    assert answers.rows[1]["left_out"] > 1000  # resamples without B's one right answer
