"""Where chains break, by hand: levels in thirds, first missing steps and their cost, and the edges' weight."""

import numpy as np
import pytest

from evaluation.analyses import breaks
from evaluation.analyses.base import Options
from evaluation.scoring.chains import step_costs
from tests.evaluation.planting import CHAIN, make_items, make_results, rows_of

DIAMOND = [[], [0], [0], [1, 2], [3]]


def test_failure_by_level_stands_by_group_with_short_items_apart():
    items = make_items([CHAIN, [[], [0]]])
    vectors = [[[[1, 0, 0], [1, 0]], [[0, 0, 0], [0, 0]], [[1, 1, 1], None]]]
    systems = [{"group": "tool_free_vlm"}, {"group": "deep_research"}, {"group": "tool_free_vlm"}]
    results = make_results([[[1, 1], [0, 0], [1, -1]]], vectors, items, systems)
    result = breaks.compute_levels(results, Options())
    rates = {(row["group"], row["third"]): row["rate"] for row in rows_of(result, "levels")}
    assert [rates["Tool-free VLM", f"{third} third"] for third in ("first", "middle", "last")] == [0, 0.5, 0.5]
    assert [rates["all", f"{third} third"] for third in ("first", "middle", "last")] == pytest.approx(
        [1 / 3, 2 / 3, 2 / 3]
    )
    assert rates["Deep-research system", "last third"] == 1
    short = {row["group"]: (row["steps"], row["failed"]) for row in rows_of(result, "short")}
    assert short == {"all": (4, 3), "Tool-free VLM": (2, 1), "Deep-research system": (2, 2)}
    assert result.used == 5 and "system 3, of 2 items" in result.missing[0]


def test_root_causes_name_the_steps_that_cost_most_and_that_many_share():
    vectors = [[[[1, 0, 0, 1, 1]], [[1, 0, 1, 1, 1]], [[1, 1, 1, 1, 1]]]]
    results = make_results([[[1], [0], [1]]], vectors, make_items([DIAMOND]))
    result = breaks.compute_causes(results, Options())
    second, third = rows_of(result, "costly")
    # step 2 costs 0.2 in the first response (shared with step 3) and 0.4 in the second
    assert second["step"].startswith("2. ") and second["loss"] == pytest.approx(0.6 / 3)
    assert second["of_all"] == pytest.approx(0.75) and third["of_all"] == pytest.approx(0.25)
    (shared,) = rows_of(result, "shared")
    assert (shared["first"], shared["judged"], shared["share"]) == (2, 3, pytest.approx(2 / 3))
    systems = rows_of(result, "systems")
    gaps = results.scores["CS"] - results.scores["DACS"]
    assert [row["loss"] for row in systems] == pytest.approx(gaps.mean(axis=1).tolist())
    assert [row["broken"] for row in systems] == [1, 1, 0]
    assert systems[1]["worst"] == pytest.approx(0.4) and systems[2]["step"] is None


def test_sensitivity_spans_from_dacs_to_cs():
    vectors = [[[[1, 0, 1, 1, 1]], [[1, 1, 1, 1, 1]]]]
    result = breaks.compute_sensitivity(make_results([[[1], [0]]], vectors, make_items([DIAMOND])), Options())
    first, second = rows_of(result, "sensitivity")
    # without the edge from step 2 to step 4 the last two steps count
    assert (first["DACS"], first["DACS_low"], first["DACS_high"]) == pytest.approx((0.4, 0.4, 0.8))
    assert first["closure"] == pytest.approx(0.4) and first["CS"] == pytest.approx(0.8)
    assert 0.4 <= first["without_10_low"] <= first["without_10"] <= first["without_50"] <= 0.8 + 1e-9
    assert second["DACS_low"] == second["DACS_high"] == second["without_50"] == 1


def test_no_verdicts_give_no_rates_and_say_so():
    results = make_results([[[-1, -1]]])
    levels = breaks.compute_levels(results, Options())
    assert [row["rate"] for row in rows_of(levels, "levels")] == [None] * 3 and levels.used == 0
    causes = breaks.compute_causes(results, Options())
    assert rows_of(causes, "costly") == [] and rows_of(causes, "systems")[0]["judged"] == 0
    assert "verdicts by judge 1 missing on answers: 2" in causes.missing[0]


def test_costs_of_an_item_s_steps_add_up_and_order_items_by_the_break_that_most_share():
    # 1 <- 2 <- 3: the first response misses 1 and states the rest, which loses both; the second misses all
    costs = step_costs([[0, 1, 1], [0, 0, 0]], CHAIN)
    assert [(c.missing, c.first, c.loss) for c in costs] == [(2, 2, pytest.approx(1 / 3)), (1, 0, 0), (1, 0, 0)]
    assert [(c.missing, c.first, c.loss) for c in step_costs(np.zeros((0, 2)), [[], [0]])] == [(0, 0, 0)] * 2
    vectors = [[[[1, 1, 1], [0, 1, 1], [1, 1, 0]], [[1, 1, 1], [0, 1, 1], [1, 0, 1]], [[1, 1, 1], None, [0, 1, 1]]]]
    results = make_results([[[1, 1, 1], [1, 1, 1], [1, -1, 1]]], vectors)
    first, second, last = breaks.item_costs(results)
    assert (first.place, first.worst, first.first, first.judged) == (1, 0, 2, 2)
    assert (second.place, second.worst, second.first) == (2, 0, 1), "of three steps where one breaks, the dearest"
    assert (last.place, last.worst, last.first, last.loss) == (0, None, 0, 0)
    table = next(t for t in breaks.compute_causes(results, Options()).tables if t.key == "items")
    assert [row["item"] for row in table.rows] == ["#2", "#3", "#1"] and table.rows[0]["share"] == 1
    gaps = (results.scores["CS"] - results.scores["DACS"]).sum(axis=0)
    assert [row["loss"] * row["judged"] for row in table.rows] == pytest.approx([gaps[1], gaps[2], gaps[0]])
