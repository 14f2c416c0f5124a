"""A study whose structure is known: 25 systems, 102 items and 12 judges, and what the analyses must find in it.

An example of how to read them: each test plants one thing, says what follows from it, and looks for it in the tables.
"""

import numpy as np
import pytest

from evaluation.analyses.base import Options
from evaluation.analyses.data import Results
from evaluation.analyses.modes import Labelled, tabulate
from evaluation.analyses.registry import ANALYSES
from evaluation.failure_modes import OWN_VERSION, TAXONOMIES
from tests.evaluation.planting import make_items, make_results, rows_of

SYSTEMS, ITEMS, JUDGES, STEPS = 25, 102, 12, 12
GROUPS = ("tool_augmented_vlm", "tool_free_vlm", "deep_research", "framework_agent")
CHAIN = [[step - 1] if step else [] for step in range(STEPS)]
MISTAKES = {"answers": 0.04, "steps": 0.07}  # how often a judge says the opposite
FAILURES = (0.1, 0.2, 0.4)  # by thirds of the chain
BROKEN, AT = 41, 3  # the item at which everyone misses one step and states all others
OPTIONS = Options(resamples=2_000)


def plant() -> tuple[Results, np.ndarray, np.ndarray]:
    """The results, and the truth behind them: answers (systems, items) and steps (systems, items, steps)."""
    rng = np.random.default_rng(20261130)
    ability = np.linspace(0.1, 0.6, SYSTEMS)
    answers = rng.random((SYSTEMS, ITEMS)) < ability[:, None]
    steps = rng.random((SYSTEMS, ITEMS, STEPS)) >= np.repeat(FAILURES, STEPS // 3)
    steps[:, BROKEN] = True
    steps[:, BROKEN, AT] = False
    judged = answers ^ (rng.random((JUDGES, *answers.shape)) < MISTAKES["answers"])
    stated = steps ^ (rng.random((JUDGES, *steps.shape)) < MISTAKES["steps"])
    stated[:, :, BROKEN] = steps[:, BROKEN]
    systems = [{"name": f"S{n:02}", "group": GROUPS[n % 4], "family": f"F{n % 8}"} for n in range(SYSTEMS)]
    results = make_results(judged, stated, make_items([CHAIN] * ITEMS), systems)
    return results, answers, steps


@pytest.fixture(scope="module")
def study():
    return plant()


def kappa_of(share: float, mistake: float) -> float:
    """What Fleiss' kappa tends to where judges err independently: two agree when both or neither err, and by chance at
    their rate of yes."""
    agree = mistake**2 + (1 - mistake) ** 2
    yes = share * (1 - mistake) + (1 - share) * mistake
    chance = yes**2 + (1 - yes) ** 2
    return (agree - chance) / (1 - chance)


def test_agreement_of_judges_who_err_independently_is_the_planted_kappa(study):
    results, answers, steps = study
    rows = {row["what"]: row for row in rows_of(ANALYSES["judges"].compute(results, OPTIONS), "overall")[:2]}
    kept = np.delete(steps, BROKEN, axis=1)
    for what, share in (("answers", answers.mean()), ("steps", kept.mean())):
        planted = kappa_of(share, MISTAKES[what])
        row = rows[what]
        slack = 0.01 if what == "steps" else 0  # one item in 102 was judged without a mistake
        assert row["fleiss_low"] - slack <= planted <= row["fleiss_high"] + slack
        assert row["left_out"] == 0
    assert rows["answers"]["cells"] == SYSTEMS * ITEMS and rows["steps"]["ratings"] == SYSTEMS * ITEMS * STEPS
    assert rows["answers"]["unanimous"] == pytest.approx(0.96**12 + 0.04**12, abs=0.03)


def test_failure_rises_with_the_level_as_planted_in_every_group(study):
    results, _answers, _steps = study
    rows = rows_of(ANALYSES["levels"].compute(results, OPTIONS), "levels")
    assert len(rows) == 3 * 5
    for row, planted in zip(rows, FAILURES * 5, strict=True):
        seen = planted * (1 - MISTAKES["steps"]) + (1 - planted) * MISTAKES["steps"]  # as a judge who errs sees it
        spread = 4 * np.sqrt(seen * (1 - seen) / row["steps"])
        assert row["rate"] == pytest.approx(seen, abs=spread + 0.01)  # and one item in 102 is planted otherwise


def test_step_that_everyone_misses_is_the_costliest_and_the_one_where_all_break(study):
    results, _answers, _steps = study
    result = ANALYSES["causes"].compute(results, OPTIONS)
    costly, shared = rows_of(result, "costly")[0], rows_of(result, "shared")[0]
    for row in (costly, shared):
        assert row["item"] == f"item-{BROKEN + 1}" and row["step"].startswith(f"{AT + 1}. ")
    assert costly["loss"] == pytest.approx((STEPS - AT - 1) / STEPS)
    assert (shared["first"], shared["share"]) == (SYSTEMS, 1)
    gaps = (results.scores["CS"] - results.scores["DACS"]).mean(axis=1)
    assert [row["loss"] for row in rows_of(result, "systems")] == pytest.approx(gaps.tolist())


def test_shares_of_failure_modes_are_the_planted_ones_in_every_group(study):
    results, _answers, _steps = study
    rng = np.random.default_rng(7)
    failed = results.all_stated[0] == 0
    of_group = np.array([[0.6, 0.1, 0.3], [0.2, 0.7, 0.1], [0.1, 0.1, 0.8], [1 / 3, 1 / 3, 1 / 3]])
    truth = np.stack([rng.choice(3, size=failed.shape[1:], p=of_group[n % 4]) for n in range(SYSTEMS)])
    modes = TAXONOMIES[OWN_VERSION][:3]
    erring = rng.random(failed.shape) < 0.1  # a model that names any mode then
    said = np.where(erring, rng.integers(0, 3, failed.shape), truth).astype(np.int16)
    sample = np.where(rng.random(failed.shape) < 0.2, truth, -1).astype(np.int16)  # a person who sees it as it is
    whole = np.full(failed.shape[:2], -1, dtype=np.int16)
    labelled = [
        Labelled("M", False, "t", modes, said, whole),
        Labelled("Ada", True, "t", modes, sample, whole),
    ]
    result = tabulate(results, labelled, OPTIONS)
    rows = rows_of(result, "counts-1")
    assert len(rows) == 3 * 5 and sum(row["count"] for row in rows[:3]) == failed.sum()
    for n, group in enumerate(of_group):
        for row, planted in zip(rows[3 * n + 3 : 3 * n + 6], group, strict=True):
            seen = 0.9 * planted + 0.1 / 3
            assert (
                row["share"] == pytest.approx(seen, abs=0.04)
                and row["share_low"] < seen + 0.02 < row["share_high"] + 0.04
            )
    people = rows_of(result, "counts-2")[3]
    assert people["share"] == pytest.approx(0.6, abs=0.08) and people["n"] < rows[3]["n"]
    (pair,) = [row for row in rows_of(result, "agreement") if row["what"] == "failed steps"]
    assert pair["pair"] == "model and person" and pair["raw"] == pytest.approx(0.9 + 0.1 / 3, abs=0.02)
    assert 0.85 < pair["kappa"] < pair["raw"]
    coverage = rows_of(result, "coverage")
    assert coverage[0]["labelled"] == coverage[0]["failed"] == failed.sum() and coverage[0]["stale"] == (~failed).sum()


def test_dacs_without_edges_rises_towards_cs(study):
    results, _answers, _steps = study
    for row in rows_of(ANALYSES["sensitivity"].compute(results, OPTIONS), "sensitivity")[:5]:
        assert row["DACS"] == pytest.approx(row["closure"])
        assert row["DACS"] < row["without_10"] < row["without_25"] < row["without_50"] < row["CS"]


def test_people_on_a_random_sample_take_a_judge_s_bias_off(study, db):
    results, answers, steps = study
    from django.contrib.auth import get_user_model

    rng = np.random.default_rng(4)
    lenient = (answers | (rng.random(answers.shape) < 0.15)).astype(np.int8)  # passes some wrong answers
    marked = rng.random(answers.shape) < 0.5
    person = np.where(marked, answers, -1).astype(np.int8)
    stated = np.stack([steps.astype(np.int8), np.where(marked[..., None], steps, -1).astype(np.int8)])
    judges = [{}, {"name": "Ada", "person": get_user_model()(pk=1, username="ada")}]
    study_of_people = make_results([lenient, person], stated, results.items, judges=judges)
    result = ANALYSES["calibration"].compute(study_of_people, OPTIONS)
    rows = [row for row in rows_of(result, "corrected") if row["metric"] == "OA"]
    truth = answers.mean(axis=1)
    biased = np.array([row["judge"] for row in rows]) - truth
    corrected = np.array([row["value"] for row in rows]) - truth
    assert biased.mean() > 0.08 and abs(corrected.mean()) < 0.02
    held = [row["value_low"] <= real <= row["value_high"] for row, real in zip(rows, truth, strict=True)]
    assert np.mean(held) > 0.85  # 25 intervals of 95%
    precision = next(row for row in rows_of(result, "marks") if row["what"] == "answers")["precision"]
    assert precision == pytest.approx(answers.mean() / lenient.mean(), abs=0.03)
    # people saw every step as it is, and so did the judge
    assert next(row for row in rows_of(result, "marks") if row["what"] == "steps")["kappa"] == 1


def test_judge_that_passes_what_others_fail_moves_scores_by_as_much(study):
    results, _answers, steps = study
    rng = np.random.default_rng(5)
    strict = np.ones((2, *steps.shape[:2]), dtype=np.int8)
    stated = np.stack([steps, steps | (rng.random(steps.shape) < 0.2)]).astype(np.int8)
    two = make_results(strict, stated, results.items)
    (row,) = rows_of(ANALYSES["judge-changes"].compute(two, OPTIONS), "moved")
    planted = 0.2 * (1 - steps.mean())
    assert row["CS_low"] <= planted <= row["CS_high"] and row["OA"] == 0
    assert row["to_missing"] == 0 and row["to_stated"] == int((stated[1] > stated[0]).sum())


def test_gain_of_the_image_is_the_planted_one_under_every_judge():
    rng = np.random.default_rng(6)
    latent = rng.random(ITEMS)
    truth = np.stack([latent < 0.55, latent < 0.35])  # what is right without the image is right with it
    judged = truth ^ (rng.random((JUDGES, 2, ITEMS)) < 0.02)
    results = make_results(
        judged,
        np.ones((JUDGES, 2, ITEMS, 3), dtype=np.int8),
        systems=[{"name": "S"}] * 2,
        conditions=["with_image", "without_image"],
    )
    result = ANALYSES["image_ablation"].compute(results, OPTIONS)
    rows = [row for row in rows_of(result, "judges") if row["metric"] == "OA"]
    planted = (truth[0].mean() - truth[1].mean()) * (1 - 2 * 0.02)  # a mistake takes from either side
    assert len(rows) == JUDGES and planted > 0.1
    assert all(row["gain_low"] <= planted <= row["gain_high"] and row["gain"] > 0 for row in rows)
