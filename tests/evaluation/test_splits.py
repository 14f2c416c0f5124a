"""Scores by kind of item, by hand; small and empty groups are said, not guessed."""

import json

import numpy as np
import pytest

from evaluation.analyses import splits
from evaluation.analyses.base import Options
from evaluation.scoring.bootstrap import intervals
from tests.evaluation.planting import CHAIN, make_items, make_results, rows_of


def test_scores_by_group_are_means_over_its_items():
    items = make_items(
        [CHAIN, CHAIN, CHAIN],
        category=["media", "media", "sports"],
        operation_tags=[["temporal", "numerical"], ["temporal"], []],
        sources=[[{}] * 3, [], [{}] * 7],
    )
    results = make_results([[[1, 0, 1]]], [[[[1, 1, 1], [0, 1, 1], [1, 1, 0]]]], items)
    result = splits.compute(results, Options())
    media, sports = rows_of(result, "category")
    assert (media["group"], media["n"], media["small"]) == ("media", 2, True)
    assert [media[m] for m in ("OA", "SA", "CS", "DACS")] == pytest.approx([0.5, 0.5, 5 / 6, 0.5])
    assert [sports[m] for m in ("OA", "SA", "CS", "DACS")] == pytest.approx([1, 0, 2 / 3, 2 / 3])
    assert [(row["group"], row["n"]) for row in rows_of(result, "tag")] == [("numerical", 1), ("temporal", 2)]
    assert [row["group"] for row in rows_of(result, "sources")] == ["0", "1-6", "7-8"]
    assert "1 of 3 items have no operation tag and are in no row by tag." in result.missing
    steps = next(table for table in result.tables if table.key == "steps")
    assert "19+" in steps.note and [row["n"] for row in steps.rows] == [3]
    assert "are marked" in result.warnings[0]
    json.dumps(result.to_json(), allow_nan=False)


def test_intervals_are_those_of_the_leaderboard_over_the_items_of_the_group():
    rng = np.random.default_rng(3)
    right, flags = (rng.random((1, 2, 30)) < 0.5).astype(int), (rng.random((1, 2, 30, 3)) < 0.6).astype(int)
    categories = ["media"] * 24 + ["sports"] * 5 + ["society"]
    results = make_results(right, flags, make_items([CHAIN] * 30, category=categories))
    options = Options(resamples=500)
    rows = {(row["group"], row["system"]): row for row in rows_of(splits.compute(results, options), "category")}
    whole = intervals(results.scores["DACS"][1, :24], resamples=500, seed=options.seed)
    media = rows["media", "system 2"]
    assert (media["DACS_low"], media["DACS_high"]) == (float(whole.low[0]), float(whole.high[0]))
    assert media["DACS_low"] < media["DACS"] < media["DACS_high"] and not media["small"]
    assert rows["sports", "system 1"]["small"] and rows["sports", "system 1"]["OA_low"] is not None
    alone = rows["society", "system 1"]
    assert alone["n"] == 1 and alone["DACS"] is not None and alone["DACS_low"] is None and alone["OA_high"] is None
    lengths = rows_of(splits.compute_length(results, options), "length")
    assert all(row["SA_low"] <= row["SA"] <= row["SA_high"] for row in lengths)


def test_scores_that_fall_with_length_are_said_to_fall_over_ranges_with_enough_items():
    lengths = [5] * 20 + [10] * 20 + [12] * 20 + [15] * 3
    items = make_items([[[]] * length for length in lengths])
    parts = [1.0] * 20 + [0.8] * 20 + [0.5] * 20 + [1.0] * 3
    vectors = [[1] * round(m * part) + [0] * (m - round(m * part)) for m, part in zip(lengths, parts, strict=True)]
    results = make_results([[[1] * 63]], [[vectors]], items)
    result = splits.compute_length(results, Options())
    (row,) = rows_of(result, "change")
    assert row["ranges"] == 3 and row["DACS_falls"] is True and row["DACS_change"] == pytest.approx(-0.5)
    assert row["SA_falls"] is False and row["SA_change"] == -1  # 1, 0, 0
    assert [line["n"] for line in rows_of(result, "length")] == [20, 20, 20, 3]


def test_one_item_gives_no_trend_and_says_so():
    result = splits.compute_length(make_results([[[-1]]], completed=[[False]]), Options())
    (row,) = rows_of(result, "change")
    assert row["SA_falls"] is None and row["DACS_change"] is None
    assert "it takes two" in result.missing[-1]
    assert any("of 1 items: answers missing: 1" in text for text in result.missing) and result.used == 0
