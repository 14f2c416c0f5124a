"""What another judge, flagged cells and the other profile change, by hand and on a real run."""

import json

import pytest

from evaluation.analyses import judge_changes
from evaluation.analyses.base import Options
from evaluation.analyses.data import load
from evaluation.flags import FLAG_WORDS
from evaluation.models import Verdict
from evaluation.scoring.metrics import METRICS
from tests.evaluation.planting import make_results, rows_of
from tests.evaluation.setting import work_through


def test_what_moves_between_two_judges_is_counted_over_common_responses():
    answers = [[[1, 1, 0], [0, 0, 0]], [[1, 0, 1], [0, 0, -1]]]
    vectors = [[[[1, 1, 1]] * 3, [[1, 0, 0]] * 3], [[[1, 1, 1], [1, 0, 0], [1, 1, 1]], [[1, 1, 0], [0, 0, 0], None]]]
    result = judge_changes.compute(make_results(answers, vectors), Options(resamples=500))
    (row,) = rows_of(result, "moved")
    assert (row["cells"], row["to_right"], row["to_wrong"]) == (5, 1, 1)
    assert (row["to_stated"], row["to_missing"]) == (1, 3)
    assert row["OA"] == 0 and row["CS"] == pytest.approx((0 - 2 / 3 + 0 + 1 / 3 - 1 / 3) / 5)
    assert row["CS_low"] <= row["CS"] <= row["CS_high"]
    second = rows_of(result, "items")[0]
    assert (second["item"], second["answers"], second["steps"]) == ("item-2", 1, 3)
    assert second["times"] == 1 and second["step"].startswith("1. ")
    # under the first judge system 1 leads; under the second too
    assert [(r["j1"], r["j2"], r["best"], r["worst"]) for r in rows_of(result, "ranks-OA")] == [
        (1, 1, 1, 1),
        (2, 2, 2, 2),
    ]
    json.dumps(result.to_json(), allow_nan=False)


def test_judges_without_a_response_in_common_are_named_and_rank_what_they_judged():
    result = judge_changes.compute(make_results([[[1], [-1]], [[-1], [0]]]), Options(resamples=50))
    assert rows_of(result, "moved") == [] and rows_of(result, "items") == []
    assert "judge 2 and judge 1 have judged no response in common." in result.missing
    assert [(row["j1"], row["j2"]) for row in rows_of(result, "ranks-DACS")] == [(1, None), (None, 1)]


def test_scores_without_flagged_cells_and_under_both_profiles(setting):
    run = work_through(setting.launch())
    first, second, third = run.responses.order_by("release_item__position")
    steps = len(first.release_item.document["checklist"])
    Verdict.objects.filter(run=run).update(answer_correct=True, vector=[1] * steps, output="", flags=[])
    Verdict.objects.filter(response=second).update(answer_correct=False, flags=["inconsistent"])
    run.responses.filter(pk=second.pk).update(flags=["distinctive_absent"])
    # a vector without an answer: no verdict under strict, stated steps as published
    output = f"CHECKLIST_RESULT: {[1] * steps}"
    Verdict.objects.filter(response=third).update(
        answer_correct=None, vector=None, unparseable="no answer", output=output
    )
    results = load(setting.release, [run], [setting.judge], setting.judge)
    result = judge_changes.compute_variants(results, Options())
    (row,) = rows_of(result, "flagged")
    assert (row["flagged"], row["kept"]) == (1, 2)
    assert row["OA"] == pytest.approx(1 / 3) and row["OA_without"] == 0.5
    assert row["CS"] == pytest.approx(2 / 3) and row["CS_without"] == 0.5
    assert rows_of(result, "flags") == [
        {"flag": "Names absent", "means": str(FLAG_WORDS["distinctive_absent"]), "cells": 1},
        {"flag": "Score disagrees", "means": str(FLAG_WORDS["inconsistent"]), "cells": 1},
    ]
    (both,) = rows_of(result, "profiles")
    assert both["CS_strict"] == pytest.approx(2 / 3) and both["CS_as-published"] == 1
    assert both["OA_strict"] == both["OA_as-published"] == pytest.approx(1 / 3)
    assert "missing on answers: 1." in result.missing[0]
    run.responses.update(flags=["x"])
    (row,) = rows_of(judge_changes.compute_variants(results, Options()), "flagged")
    assert row["kept"] == 0 and [row[f"{m}_without"] for m in METRICS] == [None] * 4
