"""Costs, times and failures of real runs, by hand; what is unknown is counted and has no place at the front."""

import json
from datetime import timedelta

import pytest
from django.db.models import F

from evaluation.analyses import costs
from evaluation.analyses.base import Options
from evaluation.analyses.data import load
from evaluation.models import Attempt, Verdict
from tests.evaluation.planting import rows_of
from tests.evaluation.setting import work_through


@pytest.fixture
def two(setting):
    """A dear run that is right on two of three items, and a cheap one that is right on none; calls of 2 and 4 s."""
    runs = [work_through(setting.launch(system=setting.new_system(name=name))) for name in ("dear", "cheap")]
    steps = len(runs[0].responses.first().release_item.document["checklist"])
    for run, price, seconds, right in zip(runs, ("0.30", "0.10"), (2, 4), (2, 0), strict=True):
        run.responses.update(cost=price, prompt_tokens=10, completion_tokens=5)
        Attempt.objects.filter(response__run=run).update(ended=F("started") + timedelta(seconds=seconds))
        Verdict.objects.filter(run=run).update(answer_correct=False, vector=[0] * steps, cost="0.01")
        good = list(run.verdicts.order_by("pk").values_list("pk", flat=True)[:right])
        Verdict.objects.filter(pk__in=good).update(answer_correct=True, vector=[1] * steps)
    return runs


def loaded(setting, runs):
    return load(setting.release, runs, [setting.judge], setting.judge)


def test_price_of_a_right_answer_time_and_front_by_hand(setting, two):
    result = costs.compute(loaded(setting, two), Options())
    dear, cheap = rows_of(result, "cost")
    assert (dear["cost"], dear["per_item"], dear["per_solved"]) == pytest.approx((0.9, 0.3, 0.45))
    assert (dear["judging"], dear["prompt_tokens"], dear["completion_tokens"]) == (pytest.approx(0.03), 30, 15)
    assert cheap["solved"] == 0 and cheap["per_solved"] is None
    assert (dear["cheapest"], cheap["cheapest"]) == (True, True)  # better and dearer, worse and cheaper
    assert (dear["median"], cheap["median"], dear["slowest"]) == (2, 4, 2)
    assert (dear["fastest"], cheap["fastest"]) == (True, False)
    assert result.missing == []
    json.dumps(result.to_json(), allow_nan=False)


def test_unknown_cost_is_counted_said_and_keeps_a_system_from_the_front(setting, two):
    first = two[0].responses.order_by("pk").first()
    two[0].responses.filter(pk=first.pk).update(cost=None)
    two[1].responses.update(cost=None)
    result = costs.compute(loaded(setting, two), Options())
    dear, cheap = rows_of(result, "cost")
    assert (dear["unknown"], dear["cost"], dear["cheapest"]) == (1, pytest.approx(0.6), None)
    assert (cheap["unknown"], cheap["cost"], cheap["per_item"]) == (3, None, None)
    assert "too low" in result.missing[0] and "dear, cheap" in result.missing[0]


def test_answered_only_figures_stand_beside_with_failures_by_kind(setting, two):
    first, second, _third = two[0].responses.order_by("pk")
    two[0].responses.filter(pk=second.pk).update(status="failed", error_kind="rate_limited")
    Verdict.objects.filter(response=first).update(unparseable="no vector", vector=None, answer_correct=None)
    result = costs.compute_attempted(loaded(setting, two), Options())
    dear, _cheap = rows_of(result, "attempted")
    assert (dear["n"], dear["attempted"], dear["OA"], dear["OA_attempted"]) == (3, 2, 0, 0)
    assert rows_of(result, "failures") == [
        {"system": "dear", "what": "no verdict", "why": "could not be read", "count": 1},
        {"system": "dear", "what": "no answer", "why": "rate limited", "count": 1},
    ]
    assert "answers missing: 1; verdicts by" in result.missing[0]
    Verdict.objects.filter(response=first).update(unparseable="", vector=[1] * 10, answer_correct=True)
    dear, _cheap = rows_of(costs.compute_attempted(loaded(setting, two), Options()), "attempted")
    assert (dear["OA"], dear["OA_attempted"]) == (pytest.approx(1 / 3), 0.5)
    two[0].responses.update(status="failed")
    (row,) = rows_of(costs.compute_attempted(loaded(setting, two[:1]), Options()), "attempted")
    assert row["attempted"] == 0 and row["DACS_attempted"] is None
