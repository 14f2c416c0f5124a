"""Every analysis where there is next to nothing to analyse: nothing is NaN, and nothing is zero in silence."""

import json
from collections.abc import Callable

import numpy as np
import pytest

from evaluation.analyses.base import Options
from evaluation.analyses.data import Results
from evaluation.analyses.exports import shown
from evaluation.analyses.registry import ANALYSES, compute_judged
from evaluation.models import Condition
from tests.evaluation.planting import CHAIN, make_items, make_results

BOTH = [Condition.WITH_IMAGE.value, Condition.WITHOUT_IMAGE.value]
FLAT = [[], []]


def pair(answers: object, stated: object = None, graph: list[list[int]] = CHAIN) -> Results:
    """Runs of one system with and without image."""
    count = np.array(answers).shape[2]
    systems = [{"name": "S"}, {"name": "S"}]
    judges = [{}] * np.array(answers).shape[0]
    return make_results(answers, stated, make_items([graph] * count), systems, judges, conditions=BOTH)


CASES: dict[str, Callable[[], Results]] = {
    "one item": lambda: pair([[[1], [0]], [[1], [1]]]),
    "one item, one judge": lambda: pair([[[1], [1]]]),
    "no verdicts": lambda: pair(np.full((2, 2, 3), -1)),
    "no verdicts of the main judge": lambda: pair([np.full((2, 3), -1), np.ones((2, 3))]),
    "no verdicts of the second run": lambda: pair([[[1, 0, 1], [-1, -1, -1]]] * 2),
    "judges of other items": lambda: pair([[[1, -1, 0], [1, -1, 0]], [[-1, 1, -1], [-1, 1, -1]]]),
    "all right": lambda: pair(np.ones((2, 2, 4))),
    "all wrong": lambda: pair(np.zeros((2, 2, 4)), np.zeros((2, 2, 4, 3))),
    "no edges": lambda: pair([[[1, 0], [0, 1]]] * 2, np.ones((2, 2, 2, 2)), FLAT),
    "nothing answered": lambda: make_results(
        np.full((1, 2, 2), -1), completed=np.zeros((2, 2)), systems=[{"name": "S"}] * 2, conditions=BOTH
    ),
    "one run": lambda: make_results([[[1, 0, 1]]] * 2),
}


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize(
    "key", sorted(ANALYSES.keys() - {"variants"})
)  # which reads the other profile from the database
def test_next_to_nothing_gives_figures_or_says_what_is_missing(db: None, key: str, case: str) -> None:
    analysis, results = ANALYSES[key], CASES[case]()
    if len(results.runs) < analysis.runs or len(results.judges) < analysis.judges:
        pytest.skip("the registry says so before")
    result = analysis.compute(results, Options(resamples=50))
    json.dumps(result.to_json(), allow_nan=False, default=float)
    assert result.tables or result.missing
    for table in result.tables:
        for row in table.rows:
            assert all("nan" not in shown(row[column.key], column.kind) for column in table.figures), (table.key, row)


def rows(key: str, case: str, table: str) -> tuple[list[dict[str, object]], list[str]]:
    result = compute_judged(ANALYSES[key], CASES[case](), Options(resamples=50))
    return next((list(t.rows) for t in result.tables if t.key == table), []), result.missing


def test_one_item_tells_no_systems_apart() -> None:
    tiers, missing = rows("separability", "one item", "tiers-oa")
    [pair_of_runs] = rows("separability", "one item", "pairs-oa")[0]
    assert [row["tier"] for row in tiers] == [1, 1] and pair_of_runs["p"] == 1
    assert any("One item cannot be resampled" in sentence for sentence in missing)


@pytest.mark.parametrize("key", ["gaps", "levels", "causes", "sensitivity", "splits"])
def test_run_that_the_judge_has_not_judged_has_no_score_of_zero(key: str) -> None:
    result = compute_judged(ANALYSES[key], CASES["no verdicts of the second run"](), Options(resamples=50))
    assert result.missing[0] == "judge 1 has judged no answer of these, so they are left out: S, without image."
    for table in result.tables:
        assert {row["system"] for row in table.rows if "system" in row} <= {"S"}


def test_two_runs_of_which_one_is_not_judged_are_not_compared() -> None:
    result = compute_judged(ANALYSES["two_runs"], CASES["no verdicts of the second run"](), Options())
    assert result.tables == [] and "needs 2 finished runs; 1 is" in result.missing[1]


def test_run_that_answered_nothing_scores_nothing() -> None:
    scores, missing = rows("gaps", "nothing answered", "step-gap")
    assert [row["DACS"] for row in scores] == [0, 0] and "answers missing: 2" in missing[0]


def test_item_that_was_not_judged_loses_nothing_known() -> None:
    [row] = [row for row in rows("causes", "judges of other items", "items")[0] if row["item"] == "#2"]
    assert (row["judged"], row["share"], row["loss"]) == (0, None, None)
