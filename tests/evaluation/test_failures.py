"""Shares of failure modes and the agreement of labellers, worked out by hand; what the analysis says where there is
nothing."""

import numpy as np
import pytest

from evaluation.analyses.base import Options
from evaluation.analyses.data import load
from evaluation.analyses.modes import Labelled, compute, tabulate
from evaluation.analyses.registry import analyse
from evaluation.failure_modes import OWN_VERSION, TAXONOMIES
from evaluation.label_actions import label_failures, record_labels
from evaluation.scoring.failures import label_agreement, mode_shares
from tests.evaluation.planting import planted, rows_of
from tests.evaluation.setting import work_through

MODES = TAXONOMIES[OWN_VERSION][:2]
FEW = Options(resamples=200)


def test_shares_are_of_failed_and_labelled_steps_alone():
    # one run, two items: the first fails in steps 2 and 3, the second in 1; the last label is of a step that is stated
    failed = [[[0, 1, 1], [1, 0, 0]]]
    labels = [[[-1, 0, 1], [0, 1, -1]]]
    found = mode_shares(labels, failed, 2, resamples=500)
    assert (found.failed, found.labelled, found.items, found.counts) == (3, 3, 2, [2, 1])
    assert [share.estimate for share in found.shares] == pytest.approx([2 / 3, 1 / 3])
    # resamples hold item 1 twice (1/2), item 2 twice (1), or both (2/3)
    assert (found.shares[0].low, found.shares[0].high) == (0.5, 1)
    partly = mode_shares([[[-1, 0, -1], [-1, -1, -1]]], failed, 2, resamples=500)
    assert (partly.failed, partly.labelled, partly.items) == (3, 1, 1)
    assert partly.shares[0].left_out > 50  # those without the first item


def test_shares_without_labels_failures_or_items_are_undefined():
    for shape in ((1, 2, 3), (0, 2, 3), (1, 0, 3)):
        found = mode_shares(np.full(shape, -1), np.ones(shape), 2)
        assert (found.labelled, found.counts) == (0, [0, 0])
        assert {(s.estimate, s.low, s.high) for s in found.shares} == {(None, None, None)}
    for labels, flags, modes in (([[[2]]], [[[1]]], 2), ([[[0]]], [[1]], 2), ([[[0]]], [[[1]]], 0)):
        with pytest.raises(ValueError, match="labels"):
            mode_shares(labels, flags, modes)


def test_kappa_of_labellers_by_hand():
    # alike on 3 of 4; shares 2/4, 1/4, 1/4 and 1/4, 2/4, 1/4: chance (2 + 2 + 1) / 16
    found = label_agreement([0, 0, 1, 2, -1, 1], [0, 1, 1, 2, 0, -1])
    assert (found.n, found.raw) == (4, 0.75) and found.kappa == pytest.approx((0.75 - 5 / 16) / (11 / 16))
    assert label_agreement([1, 1], [1, 1]).kappa is None and label_agreement([-1], [0]).raw is None
    with pytest.raises(ValueError, match="shapes"):
        label_agreement([0], [0, 1])


def test_page_says_what_is_missing_where_nothing_failed_or_is_labelled(db):
    whole = compute(planted([[[1, 1]]], np.ones((1, 1, 2, 2))), FEW)
    assert whole.tables == [] and "nothing to label" in whole.missing[0]
    results = planted([[[0, -1]]], np.zeros((1, 1, 2, 2)))
    unlabelled = compute(results, FEW)
    assert unlabelled.tables == [] and any(
        "No failed step is labelled yet under J0: 2 wait" in m for m in unlabelled.missing
    )
    assert any("2 steps have no verdict" in m for m in unlabelled.missing)
    one = Labelled("M", False, "t", MODES, np.array([[[0, -1], [-1, -1]]]), np.full((1, 2), -1))
    result = tabulate(results, [one], FEW)
    assert all(row["small"] for row in rows_of(result, "counts-1"))
    assert rows_of(result, "agreement") == [] and any("No person" in m for m in result.missing)
    assert any("conditioned on failed steps" in w for w in result.warnings)


def test_labels_of_models_and_people_stand_apart_and_change_the_stored_result(setting):
    run = work_through(setting.launch())
    label_failures(run, setting.judge, setting.judge, OWN_VERSION, actor=setting.team.admin)
    run = work_through(run)
    who = setting.release, [run], [setting.judge], setting.judge, "modes"
    first = analyse(*who)
    assert first.result.tables[0].rows[0]["share"] == 1
    response = run.responses.order_by("pk").first()
    failed = response.labellings.get().labels
    mode = failed[1]["mode"]
    labels = [{"step": failed[1]["step"], "mode": mode}, {"step": 0, "mode": mode}]
    record_labels(response, setting.judge, OWN_VERSION, labels, actor=setting.team.aud)
    second = analyse(*who)
    assert second.hash != first.hash
    by_people = rows_of(second.result, "counts-2")
    assert sum(row["count"] for row in by_people) == 1 and by_people[0]["n"] == 1
    pair = rows_of(second.result, "agreement")
    assert (pair[0]["pair"], pair[0]["n"], pair[0]["raw"]) == ("model and person", 1, 1)
    assert pair[0]["kappa"] is None
    results = load(*who[:4])
    assert sum(row["count"] for row in rows_of(compute(results, FEW), "counts-1")) == int(
        (results.all_stated[0] == 0).sum()
    )
