"""Runs that asked every item several times: every sample counts, and those of a run and item weigh as much as one."""

from typing import Any

import numpy as np
import pytest

from evaluation.analyses import breaks, health, judge_changes, judging, two_runs
from evaluation.analyses.base import Options
from evaluation.analyses.data import Results
from evaluation.analyses.modes import Labelled, tabulate
from evaluation.failure_modes import Mode
from tests.evaluation.planting import CHAIN, make_items, make_results, rows_of

SYSTEMS = [{"group": "tool_free_vlm"}, {"group": "deep_research"}, {"group": "deep_research"}]
COMPUTE = {
    "levels": breaks.compute_levels,
    "causes": breaks.compute_causes,
    "sensitivity": breaks.compute_sensitivity,
    "judges": judging.compute,
    "judge-changes": judge_changes.compute,
    "health": health.compute,
    "two_runs": two_runs.compute,
}


def drawn(repeated: dict[int, int]) -> Results:
    """Three systems under three judges, always the same verdicts; repeated: run -> how often its samples come again."""
    rng = np.random.default_rng(11)
    items = make_items([CHAIN, [[], [0]], [[], [0], [0], [1, 2]]] * 8)
    answers = rng.integers(-1, 2, (3, 3, len(items)))
    stated = np.where(answers[..., None] < 0, -1, rng.integers(0, 2, (*answers.shape, 4)))
    for at, item in enumerate(items):
        stated[:, :, at, len(item.prerequisites) :] = -1
    rows = [0, 1, 2, *(run for run, times in repeated.items() for _ in range(times - 1))]
    return make_results(answers[:, rows], stated[:, rows], items, SYSTEMS, [{"prompt_version": "p1"}] * 3, run_of=rows)


def figures(result: Any) -> dict[tuple[str, int, str], Any]:
    """Every share, score and p of an analysis, which do not count responses."""
    return {
        (table.key, place, key): row[key]
        for table in result.tables
        for place, row in enumerate(table.rows)
        for column in table.columns
        if column.kind in ("percent", "number", "p", "flag")
        for key in (column.key, column.low, column.high)
        if key
    }


@pytest.mark.parametrize("key", COMPUTE)
@pytest.mark.parametrize("repeated", [{0: 3}, {0: 2, 1: 4, 2: 3}], ids=["one run", "all runs"])
def test_samples_that_say_the_same_change_no_figure(db: None, key: str, repeated: dict[int, int]) -> None:
    once, often = (figures(COMPUTE[key](drawn(times), Options(resamples=300))) for times in ({}, repeated))
    assert len(once) > 10 and once.keys() == often.keys()
    for name, value in once.items():
        assert often[name] == (value if value is None else pytest.approx(value, abs=1e-9)), name


def two_samples(first: list[int | None], *further: list[int], second_run: list[int]) -> Results:
    """One item, a chain of three; the first run has some samples, the second one."""
    vectors = [first, second_run, *further]
    answers = [[[-1 if vector is None else int(all(vector))] for vector in vectors]]
    return make_results(answers, [[[vector] for vector in vectors]], run_of=[0, 1, *[0] * len(further)])


def test_samples_that_differ_are_averaged_within_their_run() -> None:
    results = two_samples([1, 1, 1], [0, 1, 1], [0, 0, 0], [1, 0, 0], second_run=[0, 1, 1])
    [item] = breaks.item_costs(results)
    # the first run breaks first at step 1 in two of its four samples, the second run always
    assert (item.judged, item.runs, item.worst, item.first) == (5, 2, 0, 3)
    assert item.share == pytest.approx((2 / 4 + 1) / 2)
    assert item.steps[0].loss == pytest.approx((2 / 3 / 4 + 2 / 3) / 2)
    causes = breaks.compute_causes(results, Options())
    [shared] = rows_of(causes, "shared")
    assert (shared["systems"], shared["first"], shared["judged"]) == (2, 3, 5)
    systems = rows_of(causes, "systems")
    gaps = (results.scores["CS"] - results.scores["DACS"]).mean(axis=1)
    assert [row["loss"] for row in systems] == pytest.approx(gaps.tolist())
    assert (systems[0]["judged"], systems[0]["broken"], systems[0]["worst"]) == (4, 3, pytest.approx(2 / 3 / 4))
    levels = rows_of(breaks.compute_levels(results, Options()), "levels")
    assert [(row["steps"], row["failed"]) for row in levels] == [(5, 3), (5, 2), (5, 2)]
    assert [row["rate"] for row in levels] == pytest.approx([(2 / 4 + 1) / 2, 2 / 4 / 2, 2 / 4 / 2])
    dacs = [row["DACS"] for row in rows_of(breaks.compute_sensitivity(results, Options()), "sensitivity")]
    assert dacs == pytest.approx([4 / 3 / 4, 0]) and dacs == pytest.approx(results.scores["DACS"][:, 0].tolist())


def test_steps_at_which_one_system_breaks_in_all_its_samples_are_not_shared() -> None:
    results = two_samples([0, 1, 1], [0, 1, 1], second_run=[1, 1, 1])
    assert rows_of(breaks.compute_causes(results, Options()), "shared") == []


def test_sample_without_a_verdict_leaves_the_weight_to_the_others(db: None) -> None:
    results = two_samples(None, [0, 1, 1], [1, 1, 1], second_run=[1, 1, 1])
    [item] = breaks.item_costs(results)
    assert (item.judged, item.share) == (3, pytest.approx(1 / 4))
    [row] = rows_of(health.compute(results, Options()), "items")
    assert (row["judged"], row["solved"], row["share"]) == (2, 2, pytest.approx((1 / 3 + 1) / 2))
    assert (row["never"], row["always"]) == (False, False)
    # without a verdict the sample has DACS 0, as in the score
    assert (row["dacs_zero"], row["dacs_one"]) == (pytest.approx(2 / 3 / 2), pytest.approx((1 / 3 + 1) / 2))


def test_failure_modes_of_further_samples_are_counted_and_weighed() -> None:
    results = two_samples([0, 1, 1], [0, 0, 1], second_run=[0, 1, 1])
    labels = np.full((3, 1, 3), -1, dtype=np.int16)
    labels[0, 0, 0], labels[1, 0, 0], labels[2, 0, :2] = 0, 1, [1, 1]
    whole = np.array([[0], [1], [1]], dtype=np.int16)
    modes = (Mode("a", "A", "", ""), Mode("b", "B", "", ""))
    result = tabulate(results, [Labelled("M", False, "t", modes, labels, whole)], Options(resamples=50))
    [coverage] = rows_of(result, "coverage")
    assert (coverage["failed"], coverage["labelled"]) == (4, 4)
    first, second = rows_of(result, "counts-1")
    # of the first run a weighs 1/2 and b 2/2, of the second b weighs 1
    assert (first["count"], first["share"]) == (1, pytest.approx(0.5 / 2.5))
    assert (second["count"], second["share"]) == (3, pytest.approx(2 / 2.5))
    assert [row["share"] for row in rows_of(result, "whole")] == pytest.approx([0.5 / 2, 1.5 / 2])


def test_two_runs_compare_how_often_their_samples_are_right() -> None:
    results = two_samples([1, 1, 1], [1, 0, 0], second_run=[0, 1, 1])
    result = two_runs.compute(results, Options(resamples=50))
    [answers] = rows_of(result, "answers")
    assert (answers["only_a"], answers["only_b"], answers["both"], answers["neither"]) == (1, 0, 0, 0)
    [item] = rows_of(result, "items")
    assert item["answer"] == "the first more often"
    assert (item["gained"], item["lost"], item["both"]) == (1, 2, 0)


def test_page_says_what_samples_mean() -> None:
    results = two_samples([1, 1, 1], [1, 0, 0], second_run=[0, 1, 1])
    for compute in (breaks.compute_levels, two_runs.compute):
        assert any("system 1 (2)" in sentence for sentence in compute(results, Options(resamples=50)).missing)
