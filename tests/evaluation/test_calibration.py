"""Judges against people, by hand and on real verdicts; partial samples are said."""

import json

import numpy as np
import pytest
from django.contrib.auth import get_user_model

from evaluation import marking_actions
from evaluation.analyses import calibration
from evaluation.analyses.base import Options
from evaluation.analyses.data import load
from evaluation.models import Judge
from evaluation.scoring.calibration import prediction_powered
from tests.evaluation.planting import make_results, rows_of
from tests.evaluation.setting import work_through


def people(*names):
    return [{"name": name, "person": get_user_model()(pk=at + 1, username=name)} for at, name in enumerate(names)]


def test_marks_and_corrected_metrics_by_hand(db):
    judge = [[1, 1, 0, 1, 0, 1]]
    ada = [[1, 0, 0, -1, -1, -1]]
    result = calibration.compute(make_results([judge, ada], judges=[{}, *people("Ada")]), Options())
    answers, steps = rows_of(result, "marks")
    assert (answers["n"], answers["responses"], answers["judge_only"], answers["people_only"]) == (3, 3, 1, 0)
    assert (answers["precision"], answers["recall"], answers["raw"]) == (0.5, 1, pytest.approx(2 / 3))
    assert (steps["n"], steps["raw"], steps["kappa"]) == (9, 1, None)  # all stated, by both
    oa = rows_of(result, "corrected")[0]
    expected = prediction_powered([1, 1, 0, 1, 0, 1], [1, 0, 0, np.nan, np.nan, np.nan])
    assert (oa["metric"], oa["judge"], oa["people"]) == ("OA", pytest.approx(4 / 6), pytest.approx(1 / 3))
    assert (oa["value"], oa["value_low"], oa["value_high"]) == (expected.value, expected.low, expected.high)
    assert "3 of 6 items" in result.warnings[0] and result.used == 3
    json.dumps(result.to_json(), allow_nan=False)


def test_of_several_people_half_make_a_yes_and_systems_that_nobody_judged_are_named(db):
    answers = [[[1, 0], [1, 1]], [[1, 0], [-1, -1]], [[0, -1], [-1, -1]]]
    vectors = [[[[1, 1, 1]] * 2] * 2, [[[1, 0, 0], [1, 1, 1]], [None] * 2], [[[1, 1, 0], None], [None] * 2]]
    result = calibration.compute(make_results(answers, vectors, judges=[{}, *people("Ada", "Bo")]), Options())
    of_answers, of_steps = rows_of(result, "marks")
    assert (of_answers["n"], of_answers["raw"]) == (2, 1)  # 1 and 0 make a yes
    assert (of_steps["n"], of_steps["judge_only"]) == (6, 1)  # only the last step is denied by both
    assert {row["system"] for row in rows_of(result, "corrected")} == {"system 1"}
    assert "No person has judged a response of system 2." in result.missing


def test_one_marked_item_has_no_interval_and_no_person_no_table(db):
    one = calibration.compute(make_results([[[1, 0]], [[1, -1]]], judges=[{}, *people("Ada")]), Options())
    assert rows_of(one, "corrected")[0]["value_low"] is None and rows_of(one, "marks")[0]["kappa"] is None
    none = calibration.compute(make_results([[[1, 0]]]), Options())
    assert none.tables == [] and none.missing[0].startswith("There is no verdict by a person. ")


def test_verdict_of_a_person_who_had_seen_the_others_is_counted(setting):
    run = work_through(setting.launch())
    first, second, _third = run.responses.order_by("pk")
    steps = len(first.release_item.document["checklist"])
    marking_actions.record_human_verdict(first, True, [1] * steps, actor=setting.team.aud)
    marking_actions.reveal_verdicts(run, actor=setting.team.aud)
    marking_actions.record_human_verdict(second, False, [0] * steps, actor=setting.team.aud)
    person = Judge.objects.get(person=setting.team.aud)
    results = load(setting.release, [run], [setting.judge, person], setting.judge)
    result = calibration.compute(results, Options())
    assert result.used == 2 and "Verdicts by people who had seen the judges' before: 1." in result.warnings
