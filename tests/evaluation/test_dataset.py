"""What a release is made of, and the same systems on two releases, by hand."""

import json

import pytest

from audit.release_actions import cut_release
from evaluation.analyses import dataset
from evaluation.analyses.base import Options
from evaluation.analyses.data import load
from evaluation.analyses.registry import analyse
from evaluation.models import Report, Verdict
from tests.evaluation.planting import CHAIN, make_items, make_results, rows_of
from tests.evaluation.setting import work_through


def test_dataset_figures_by_hand():
    source = {"url": "https://en.wikipedia.org/wiki/X", "kind": "wikipedia"}
    items = make_items(
        [CHAIN, [[]] * 5, [[]] * 5],
        sources=[[source], [], [{"url": "https://a.org/x.pdf", "kind": "pdf"}]],
        operation_tags=[["temporal"], [], ["temporal", "numerical"]],
    )
    result = dataset.compute(make_results([[[1, 1, 1]]], items=items), Options())
    steps = rows_of(result, "lengths")[0]
    assert (steps["total"], steps["mean"], steps["median"], steps["min"], steps["max"]) == (13, 4.33, 5, 3, 5)
    assert [row["count"] for row in rows_of(result, "coverage")] == [1, 1, 1]
    assert rows_of(result, "coverage")[2]["share"] == 0.5
    tags = {row["group"]: row["items"] for row in rows_of(result, "splits") if row["scope"] == "operation tag"}
    assert tags == {"numerical": 1, "temporal": 2}
    assert rows_of(result, "steps-distribution") == [
        {"value": 3, "items": 1}, {"value": 4, "items": 0}, {"value": 5, "items": 2},
    ]  # fmt: skip
    json.dumps(result.to_json(), allow_nan=False)


def test_dataset_needs_no_run(setting):
    found = analyse(setting.release, [], [], None, "dataset")
    assert found.result.used == 3 and found.result.missing == []


def all_right(run, right):
    for verdict, flag in zip(run.verdicts.order_by("response__release_item__position"), right, strict=True):
        steps = len(verdict.vector)
        Verdict.objects.filter(pk=verdict.pk).update(answer_correct=bool(flag), vector=[int(flag)] * steps)


def test_same_system_on_two_releases_is_compared_on_unchanged_items_with_changed_ones_apart(setting):
    old_run = work_through(setting.launch())
    all_right(old_run, [1, 0, 1])
    release = cut_release(setting.benchmark, "r2", actor=setting.team.admin)
    run = work_through(setting.launch(release=release))
    all_right(run, [0, 1, 1])
    who = release, [run], [setting.judge], setting.judge
    result = dataset.compute_releases(load(*who), Options(resamples=200))
    (same,) = rows_of(result, "same")
    assert (same["n"], same["OA_old"], same["OA_new"], same["OA_change"]) == (
        3,
        pytest.approx(2 / 3),
        pytest.approx(2 / 3),
        0,
    )
    assert rows_of(result, "changed") == []
    results = load(*who)
    results.items[0].document["answer"] = "another"  # in memory: what is released never changes
    result = dataset.compute_releases(results, Options(resamples=200))
    (same,), (apart,) = rows_of(result, "same"), rows_of(result, "changed")
    assert (same["n"], same["OA_old"], same["OA_new"], same["OA_change"]) == (2, 0.5, 1, 0.5)
    assert (apart["n"], apart["OA_old"], apart["OA_new"]) == (1, 1, 0)
    assert [row["count"] for row in rows_of(result, "items")] == [2, 0, 1, 0, 0]
    json.dumps(result.to_json(), allow_nan=False)


def test_release_without_an_earlier_run_says_so_and_an_earlier_run_that_comes_is_seen(setting):
    release = cut_release(setting.benchmark, "r2", actor=setting.team.admin)
    who = release, [work_through(setting.launch(release=release))], [setting.judge], setting.judge
    assert "earlier release" in analyse(*who, "releases").result.missing[0]
    work_through(setting.launch())
    assert rows_of(analyse(*who, "releases").result, "same")
    assert Report.objects.filter(kind="analysis:releases").count() == 2
