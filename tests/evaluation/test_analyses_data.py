"""Results as arrays: what is loaded is what reports score, whatever is missing; tables survive JSON."""

import json

import numpy as np
import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from evaluation import marking_actions
from evaluation.analyses import tables
from evaluation.analyses.base import Options
from evaluation.analyses.costs import ATTEMPTED
from evaluation.analyses.data import inputs_hash, load
from evaluation.analyses.words import lacking
from evaluation.models import Response, Verdict, Work
from evaluation.reports import run_scores, score_runs
from evaluation.scoring.metrics import METRICS, Profile
from tests.evaluation.setting import work_through


def test_loaded_arrays_score_as_reports_do_and_missing_verdicts_are_none(setting):
    second = setting.new_judge()
    runs = [work_through(setting.launch(judges=[setting.judge, second])), work_through(setting.launch())]
    Verdict.objects.filter(run=runs[0], judge=setting.judge, response__release_item__position=1).update(
        unparseable="no vector", vector=None, answer_correct=None
    )
    with CaptureQueriesContext(
        connection,
    ) as queries:
        found = load(setting.release, runs, [setting.judge, second], setting.judge)
    assert len(queries) == 3
    expected = score_runs(setting.release, runs, setting.judge)
    for metric in METRICS:
        assert np.array_equal(found.scores[metric], expected.values[metric])
    assert found.all_answers[0, 0, 1] < 0 <= found.all_answers[1, 0, 1]
    assert found.all_answers[1, 1].tolist() == [-1] * len(found.items)  # the second run has no second judge
    assert found.all_completed.all() and found.scores["judged"][0].tolist().count(0) == 1
    assert [item.uid for item in found.items] == expected.uids
    with pytest.raises(ValueError, match="not among"):
        load(setting.release, runs, [second], setting.judge)


def test_samples_score_as_the_leaderboard_does_and_those_judged_weigh_as_one(setting):
    runs = [work_through(setting.launch()), work_through(setting.launch(samples=3))]
    verdicts = Verdict.objects.filter(run=runs[1], response__release_item__position=0)
    verdicts.update(answer_correct=True)
    verdicts.filter(response__sample=2).update(answer_correct=False)
    verdicts.filter(response__sample=3).update(unparseable="no vector", vector=None, answer_correct=None)
    results = load(setting.release, runs, [setting.judge], setting.judge)
    expected = score_runs(setting.release, runs, setting.judge)
    for metric in METRICS:
        assert np.allclose(results.scores[metric], expected.values[metric])
    assert results.scores["OA"][1, 0] == pytest.approx(1 / 3)
    assert results.samples.tolist() == [1, 3]
    rows = [results.row_of[runs[1].pk, sample] for sample in (1, 2, 3)]
    assert results.all_answers[0, rows, 0].tolist() == [1, 0, -1] and results.run_of[rows].tolist() == [1] * 3
    weights = results.weights(results.all_answers[0] >= 0)
    assert weights[rows, 0].tolist() == [0.5, 0.5, 0] and results.by_run(weights).tolist() == [[1] * 3] * 2
    assert results.scores["judged"][1, 0] == 2
    sentences = lacking(results)
    assert any("responses: verdicts by" in sentence and sentence.endswith("no step stated.") for sentence in sentences)
    assert any("means over the samples" in sentence for sentence in sentences)
    Verdict.objects.filter(run=runs[1], response__sample=3).delete()
    Response.objects.filter(run=runs[1], sample=3).update(status=Work.Status.FAILED)
    results = load(setting.release, runs, [setting.judge], setting.judge)
    row = ATTEMPTED.compute(results, Options()).tables[0].rows[1]
    report = run_scores(runs[1], setting.judge)
    count = len(results.items)
    assert (row["n"], row["attempted"]) == (3 * count, 2 * count)
    assert row["OA_attempted"] == pytest.approx(report["attempted"]["OA"]) and row["OA_attempted"] > row["OA"]


def test_hash_of_inputs_changes_with_what_a_person_says(setting):
    run = work_through(setting.launch())
    who = setting.release, [run], [setting.judge], setting.judge, Profile.STRICT
    before = inputs_hash(*who)
    assert inputs_hash(*who) == before
    steps = len(run.responses.first().release_item.document["checklist"])
    marking_actions.record_human_verdict(run.responses.first(), True, [1] * steps, actor=setting.team.aud)
    assert inputs_hash(*who) != before


def test_tables_survive_json():
    table = tables.Table(
        "t", "A table", (tables.Column("a", "A"), tables.percent_column("b", "B", interval=True)),
        [{"a": "x", "b": 0.5, "b_low": None, "b_high": 1}], picture=tables.Picture("bars", "a", ("b",)),
    )  # fmt: skip
    result = tables.Result([table], 3, ["one judge"], ["few items"])
    assert tables.from_json(json.loads(json.dumps(result.to_json()))) == result
