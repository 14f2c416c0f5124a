"""Separability, image ablation and two runs recover what was planted; the page of two responses keeps people blind."""

import numpy as np
import pytest

from evaluation.analyses.base import Options
from evaluation.analyses.registry import ANALYSES
from evaluation.scoring.pairs import items_needed
from tests.evaluation.planting import planted, rows_of
from tests.evaluation.setting import Setting
from tests.evaluation.test_views_results import judged_run

OPTIONS = Options(resamples=2000)


def test_separability_finds_who_is_apart_and_who_is_not():
    rng = np.random.default_rng(3)
    right = (rng.random((1, 4, 200)) < np.array([0.9, 0.5, 0.5, 0.1])[:, None]).astype(int)
    right[0, 2] = right[0, 1]  # the same on every item
    flags = np.repeat(right[..., None], 3, axis=-1)
    result = ANALYSES["separability"].compute(planted(right, flags), OPTIONS)
    tiers = {row["system"]: (row["tier"], row["alike"]) for row in rows_of(result, "tiers-oa")}
    assert tiers == {"S0": (1, "1"), "S1": (2, "2"), "S2": (2, "2"), "S3": (3, "3")}
    matrix = {row["system"]: row for row in rows_of(result, "order-oa")}
    assert matrix["S0"]["s3"] == 1 and matrix["S3"]["s0"] == 0 and matrix["S1"]["s2"] == 0
    assert matrix["S0"]["s0"] is None
    pairs = {(row["better"], row["other"]): row for row in rows_of(result, "pairs-oa")}
    assert len(pairs) == 6
    same, apart = pairs["S1", "S2"], pairs["S0", "S1"]
    assert (same["difference"], same["p"], same["adjusted"], same["needed"]) == (0, 1, 1, None)
    assert apart["needed"] == items_needed(right[0, 0] - right[0, 1]) and apart["difference_low"] > 0
    assert apart["adjusted"] >= apart["p"]


def test_separability_of_many_systems_lists_neighbours_only():
    right = np.random.default_rng(1).integers(0, 2, (1, 31, 8))
    result = ANALYSES["separability"].compute(planted(right, right[..., None]), Options(resamples=50))
    assert len(rows_of(result, "pairs-dacs")) == 30


def test_image_ablation_finds_the_planted_gain_under_every_judge():
    # A is right on 80 of 100 items with the image and on 50 of them without; the second judge sees 10 fewer in both
    right = np.zeros((2, 3, 100), dtype=int)
    right[0, 0, :80], right[0, 1, :50], right[0, 2] = 1, 1, 1
    right[1] = right[0]
    right[1, :2, :10] = 0
    results = planted(
        right, right[..., None], systems=["A", "A", "B"], conditions=["with_image", "without_image", "with_image"]
    )
    results.judges[1].family = results.runs[0].system.family = "mine"
    result = ANALYSES["image_ablation"].compute(results, OPTIONS)
    [row] = rows_of(result, "gains")
    assert row["system"] == "A" and row["OA"] == pytest.approx(0.3)
    assert row["OA_low"] < 0.3 < row["OA_high"] and row["OA_low"] > 0.2
    assert any("B" in sentence and "both conditions" in sentence for sentence in result.missing)
    judges = {(row["judge"], row["metric"]): row for row in rows_of(result, "judges")}
    assert judges["J1", "OA"]["with"] == pytest.approx(0.7) and judges["J1", "OA"]["own"]
    assert judges["J1", "OA"]["positive"] == 1 and not judges["J0", "OA"]["own"]
    families = {row["metric"]: row for row in rows_of(result, "families")}
    assert families["OA"]["judges"] == 1 and families["OA"]["median"] == pytest.approx(0.3)


def test_image_ablation_without_a_pair_says_so():
    results = planted(np.ones((1, 2, 3)), np.ones((1, 2, 3, 2)))
    result = ANALYSES["image_ablation"].compute(results, OPTIONS)
    assert not result.tables and "with and without image" in result.missing[-1]


def test_two_runs_by_hand():
    # items: both right; only the first; only the second; the same but for one step
    right = [[[1, 1, 0, 0], [1, 0, 1, 0]]]
    flags = [[[[1, 1], [1, 1], [0, 0], [1, 0]], [[1, 1], [0, 0], [1, 1], [0, 0]]]]
    result = ANALYSES["two_runs"].compute(planted(right, flags), OPTIONS)
    [answers] = rows_of(result, "answers")
    assert answers == {"both": 1, "only_a": 1, "only_b": 1, "neither": 1, "p": 1.0}
    items = {row["item"]: row for row in rows_of(result, "items")}
    assert set(items) == {"#2", "#3", "#4"}
    assert (items["#2"]["answer"], items["#2"]["gained"], items["#2"]["dacs"]) == ("only the first", 2, 1)
    assert (items["#4"]["answer"], items["#4"]["gained"], items["#4"]["lost"]) == ("same", 1, 0)
    scores = {row["metric"]: row for row in rows_of(result, "scores")}
    assert scores["OA"]["difference"] == 0 and scores["DACS"]["difference"] == pytest.approx(0.125)
    assert items["#2"]["address"] == "items/2/?run=1&run=2&judge=1"


ROLES = [("ann", 200), ("aud", 200), ("core", 200), ("admin", 200), ("stranger", 404)]


def test_two_responses_by_role_and_blind_for_those_who_may_judge(setting: Setting) -> None:
    runs = [judged_run(setting, name, [True] * 3, [steps] * 3) for name, steps in (("A", 10), ("B", 5))]
    page = "/b/bench/results/two_runs/"
    query = f"?run={runs[0].number}&run={runs[1].number}"
    listing = setting.team.client("ann").get(page + query).content.decode()
    number = runs[0].responses.first().release_item.item.number
    assert f'href="items/{number}/?run={runs[0].number}&amp;run={runs[1].number}' in listing
    for who, expected in ROLES:
        reply = setting.team.client(who).get(f"{page}items/{number}/{query}")
        assert reply.status_code == expected
        if expected == 200:
            text = reply.content.decode()
            assert "A, with image" in text and "B, with image" in text
            assert ("stays hidden" in text) == (who != "ann") == ("Answer right" not in text)
    client = setting.team.client("ann")
    assert client.get(f"{page}items/{number}/?run={runs[0].number}").status_code == 404
    assert client.get(f"{page}items/99999/{query}").status_code == 404
