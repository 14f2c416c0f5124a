"""The analyses as pure functions, against the field's libraries and values worked by hand."""

import math
from itertools import product

import numpy as np
import ppi_py
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats
from sklearn.metrics import cohen_kappa_score, precision_score, recall_score
from statsmodels.stats.contingency_tables import mcnemar as mcnemar_oracle
from statsmodels.stats.inter_rater import aggregate_raters
from statsmodels.stats.inter_rater import fleiss_kappa as fleiss_oracle
from statsmodels.stats.multitest import multipletests

from evaluation.scoring import calibration, chains, health, judges, pairs
from evaluation.scoring.metrics import item_scores
from tests.strategies import dags

rng = np.random.default_rng(20261130)


@pytest.fixture(autouse=True)
def _own_numbers(monkeypatch):
    """Each test draws the same, whatever ran before it in its process."""
    monkeypatch.setitem(globals(), "rng", np.random.default_rng(20261130))


# --- judges


def noisy(count, cells, flip=0.1, share=0.4):
    truth = rng.random(cells) < share
    return np.array([truth ^ (rng.random(cells) < flip) for _ in range(count)]).astype(np.int8)


def test_fleiss_and_cohen_agree_with_the_libraries():
    table = noisy(5, 300)
    found = judges.agreement(table, resamples=200)
    assert found.fleiss.value == pytest.approx(fleiss_oracle(aggregate_raters(table.T)[0]))
    assert found.fleiss.low < found.fleiss.value < found.fleiss.high
    assert len(found.pairs) == 10
    for pair in found.pairs:
        assert pair.kappa == pytest.approx(cohen_kappa_score(table[pair.a], table[pair.b]))
        assert pair.raw == pytest.approx((table[pair.a] == table[pair.b]).mean())
    assert found.unanimous == pytest.approx((table == table[0]).all(axis=0).mean())
    assert found.leniency == pytest.approx(table.mean(axis=1))


def test_agreement_leaves_out_whole_cells_that_a_judge_did_not_judge():
    # two responses of two and one steps; the second judge gave the second response no verdict
    table = [[1, 0, 1], [1, 0, -1]]
    found = judges.agreement(table, cells=[7, 7, 9])
    assert (found.n, found.left_out, found.ratings) == (1, 1, 2)
    assert found.pairs[0].raw == 1 and found.fleiss.value == 1
    assert found.fleiss.low is None  # no resample has a disagreement


def test_agreement_without_a_common_cell_or_with_one_word_only_is_undefined_and_no_number():
    none = judges.agreement([[1, -1], [-1, 1]])
    assert (none.n, none.left_out, none.fleiss.value, none.unanimous, none.leniency) == (0, 2, None, None, (None, None))
    one_word = judges.agreement([[1, 1], [1, 1]])
    assert one_word.fleiss.value is None and one_word.pairs[0].kappa is None and one_word.unanimous == 1
    with pytest.raises(ValueError, match="two judges"):
        judges.agreement([[1, 0]])
    with pytest.raises(ValueError, match="1, 0 and -1"):
        judges.agreement([[1, 2], [0, 1]])


def test_interval_of_fleiss_covers_what_was_planted_and_keeps_steps_with_their_response():
    loose = judges.agreement(noisy(4, 400, flip=0.15), resamples=500, seed=1)
    table = np.repeat(noisy(4, 100, flip=0.15), 4, axis=1)  # each response four times the same step
    tied = judges.agreement(table, cells=np.repeat(np.arange(100), 4), resamples=500, seed=1)
    assert tied.fleiss.high - tied.fleiss.low > 1.5 * (loose.fleiss.high - loose.fleiss.low)


def test_sums_of_very_many_cells_are_drawn_from_the_normal_distribution_with_the_same_ends():
    rng = np.random.default_rng(3)
    said = rng.binomial(24, rng.choice([0.1, 0.8], size=judges.NORMAL_FROM)).astype(float)
    values = np.stack([said, 24 - said, np.full_like(said, 24)], axis=1)  # one column never varies

    def ends(rows):
        sums = judges._resampled_sums(rows, 4_000, np.random.Generator(np.random.PCG64(1)))
        assert np.allclose(sums[:, 2], 24 * len(rows)) and np.allclose(sums[:, 0] + sums[:, 1], 24 * len(rows))
        return np.percentile(sums[:, 0] / len(rows), [2.5, 97.5])

    normal, drawn = ends(values), ends(values[1:])
    width = drawn[1] - drawn[0]
    assert width > 0 and np.abs(normal - drawn).max() < 0.1 * width


def test_pool_says_yes_where_half_do_and_who_is_in_it_is_stated():
    answers = [[1, 1, 0, 0], [1, 0, 0, 0], [0, 1, 1, -1]]
    found = judges.against_pool(answers, pool=[0, 1])
    assert judges.pooled([[1, 1, 0], [1, 0, 0]]).tolist() == [True, True, False]
    assert [(row.judge, row.in_pool, row.raw) for row in found] == [
        (0, True, 1.0),
        (1, True, pytest.approx(2 / 3)),
        (2, False, pytest.approx(1 / 3)),
    ]
    with pytest.raises(ValueError, match="no judges"):
        judges.against_pool(answers, pool=[])


def test_family_grid_takes_the_representative_or_the_weakest_member():
    families = ["B", "A", "B", "", "A"]
    represents = [False, False, True, True, False]
    oa = [0.1, 0.5, 0.4, 0.0, 0.2]
    assert judges.family_grid(families, represents, oa) == [1, 2]
    assert judges.family_grid(families, represents, oa, weakest=True) == [4, 0]


# --- pairs


def test_order_of_systems_is_kept_as_often_as_the_resamples_say():
    values = np.column_stack([np.ones(40), rng.random(40) < 0.5, rng.random(40) < 0.5, np.zeros(40)]).astype(float)
    ahead = pairs.order_kept(values, resamples=2000)
    assert ahead[0, 3] == 1 and ahead[3, 0] == 0 and ahead.diagonal().tolist() == [0] * 4
    assert 0 < ahead[1, 2] < 1 and ahead[1, 2] + ahead[2, 1] <= 1
    groups = pairs.indistinct_groups(ahead, [0, 1, 2, 3])
    assert groups == [[0], [1, 2], [3]]


@pytest.mark.parametrize("only_a, only_b", [(0, 0), (3, 1), (9, 9), (20, 2), (40, 60), (26, 0)])
def test_mcnemar_agrees_with_the_library(only_a, only_b):
    a = [1] * only_a + [0] * only_b + [1] * 5 + [0] * 5
    b = [0] * only_a + [1] * only_b + [1] * 5 + [0] * 5
    found = pairs.mcnemar(a, b)
    assert (found.only_a, found.only_b) == (only_a, only_b)
    exact = only_a + only_b <= 25
    oracle = mcnemar_oracle([[5, only_a], [only_b, 5]], exact=exact, correction=True).pvalue if only_a + only_b else 1
    assert found.p == pytest.approx(oracle)


def test_holm_agrees_with_the_library():
    assert pairs.holm([]) == []
    for size in (1, 2, 5, 12, 66):
        p_values = rng.random(size).round(1).tolist()  # with ties
        assert pairs.holm(p_values) == pytest.approx(multipletests(p_values, method="holm")[1].tolist())


def test_tiers_begin_where_a_system_differs_from_the_best_of_its_tier():
    p = np.array([[1, 0.2, 0.01, 0.01], [0.2, 1, 0.06, 0.01], [0.01, 0.06, 1, 0.3], [0.01, 0.01, 0.3, 1]])
    assert pairs.tiers([0.9, 0.8, 0.5, 0.4], p) == [1, 1, 2, 2]
    assert pairs.tiers([0.4, 0.9], np.ones((2, 2))) == [1, 1]
    adjusted = pairs.adjusted_pairs(p)
    assert adjusted[0, 2] == pytest.approx(0.06) and adjusted[2, 0] == adjusted[0, 2] and adjusted[0, 0] == 1


def test_p_values_of_pairs_are_one_for_equal_systems_and_small_for_ones_far_apart():
    same = rng.random(50)
    p = pairs.pair_p_values(np.column_stack([same, same, same + 0.5]), resamples=1000)
    assert p[0, 1] == 1 and p[0, 2] == pytest.approx(1 / 1000) and p[2, 0] == p[0, 2]
    # against a paired t test where the difference is moderate
    a, b = rng.normal(0.1, 1, 200), rng.normal(0, 1, 200)
    found = pairs.pair_p_values(np.column_stack([a, b]), resamples=10_000)[0, 1]
    assert found == pytest.approx(stats.ttest_rel(a, b).pvalue, abs=0.03)


def test_items_needed_is_what_the_normal_power_formula_gives():
    values = np.concatenate([np.ones(30), -np.ones(20), np.zeros(50)])
    needed = pairs.items_needed(values)
    sd, mean = values.std(ddof=1), values.mean()
    assert needed == math.ceil(((stats.norm.ppf(0.975) + stats.norm.ppf(0.8)) * sd / mean) ** 2)
    assert pairs.items_needed([1, -1]) is None and pairs.items_needed([0, 0, 0]) is None
    assert pairs.items_needed([1, 1, 1]) == 2
    with pytest.raises(ValueError, match="two items"):
        pairs.items_needed([1])
    with pytest.raises(ValueError, match="between 0 and 1"):
        pairs.items_needed([1, 0], power=1)


# --- chains

DIAMOND = [[], [0], [0], [1, 2], [3]]


def test_chain_of_a_response_by_hand():
    stated = [1, 0, 0, 1, 1]
    assert chains.levels(DIAMOND) == [0, 1, 1, 2, 3]
    assert chains.first_missing(stated, DIAMOND) == (1, 2)
    # steps 3 and 4 are stated and blocked by 1 and 2, half to each
    assert chains.cascade_loss(stated, DIAMOND) == pytest.approx([0, 0.2, 0.2, 0, 0])
    assert chains.first_missing([0] * 5, DIAMOND) == (0,)
    assert chains.cascade_loss([1] * 5, DIAMOND) == [0] * 5
    with pytest.raises(ValueError, match="length 1"):
        chains.first_missing([1], DIAMOND)


@given(
    dags()
    .filter(bool)
    .flatmap(lambda dag: st.tuples(st.just(dag), st.lists(st.integers(0, 1), min_size=len(dag), max_size=len(dag))))
)
def test_cascade_losses_sum_to_what_dependencies_take(case):
    dag, stated = case
    score = item_scores(stated, dag, False)
    assert sum(chains.cascade_loss(stated, dag)) == pytest.approx(score.cs - score.dacs)
    assert (not chains.first_missing(stated, dag)) == all(stated)
    first, loss = chains.breaks([stated, stated], dag)  # many responses at once
    assert np.flatnonzero(first[1]).tolist() == list(chains.first_missing(stated, dag))
    assert loss[1].tolist() == pytest.approx(chains.cascade_loss(stated, dag))


def padded(vectors):
    """One run's vectors as (1, n, 5)."""
    return np.array([[[*(vector or []), *[-1] * (5 - len(vector or []))] for vector in vectors]], dtype=np.int8)


def test_thirds_of_levels():
    assert [chains.third_of(level, 4) for level in range(4)] == [0, 0, 1, 2]
    assert [chains.third_of(level, 3) for level in range(3)] == [0, 1, 2]
    assert chains.third_of(0, 2) is None
    found = chains.failure_by_level(padded([[1, 0, 0, 1, 0], None, [1, 0]]), [DIAMOND, DIAMOND, [[], [0]]])
    assert (found.steps, found.failed) == ((3, 1, 1, 2), (2, 0, 1, 1))
    assert found.rates == (pytest.approx(2 / 3), 0, 1, 0.5)
    assert chains.failure_by_level(padded([None]), [DIAMOND]).rates == (None,) * 4


def test_sensitivity_lies_between_dacs_and_cs_and_closure_changes_nothing():
    vectors = [[1, 0, 1, 1, 1], None, [1, 1, 1, 0, 1]]
    graphs = [DIAMOND] * 3
    (found,) = chains.sensitivity(padded(vectors), graphs, draws=30)
    assert found.closure == pytest.approx(found.dacs) == pytest.approx((0.4 + 0 + 0.6) / 3)
    assert found.cs == pytest.approx(1.6 / 3) and found.edges == 15
    low, high = found.one_edge
    assert low == pytest.approx(found.dacs) and found.dacs <= high <= found.cs
    # without the edge 1 -> 3 of the first item, steps 3 and 4 count there
    assert high == pytest.approx(found.dacs + 0.4 / 3)
    for low, mean, high in found.deleted.values():
        assert found.dacs - 1e-12 <= low <= mean <= high <= found.cs + 1e-12
    assert found.deleted[0.5][1] > found.deleted[0.1][1]
    (free,) = chains.sensitivity(padded([[1, 0]]), [[[], []]])
    assert (free.edges, free.one_edge) == (0, (0.5, 0.5))
    with pytest.raises(ValueError, match="no items"):
        chains.sensitivity(padded([]).reshape(1, 0, 5), [])


# --- health


@pytest.mark.parametrize(
    "graphs",
    [
        [DIAMOND, [[], [0]], [[]]],
        [[[2], [], [1]], DIAMOND],  # a prerequisite that stands after its step
        [[[step - 1] if step else [] for step in range(70)], DIAMOND],  # two words of bits
    ],
)
def test_graphs_with_some_of_their_edges_are_those_without_the_others(graphs):
    edges = [(item, step, k) for item, graph in enumerate(graphs) for step, d in enumerate(graph) for k in d]
    for kept in (rng.random(len(edges)) < 0.6, np.ones(len(edges), dtype=bool), np.zeros(len(edges), dtype=bool)):
        found = chains._with_edges(chains.compile_graphs(graphs), edges, kept)
        left = {edge for edge, stays in zip(edges, kept, strict=True) if stays}
        lists = [
            [[k for k in d if (item, step, k) in left] for step, d in enumerate(graph)]
            for item, graph in enumerate(graphs)
        ]
        expected = chains.compile_graphs(lists)
        for name in ("steps", "starts", "full", "need"):
            assert np.array_equal(getattr(found, name), getattr(expected, name)), name


def test_item_health_by_hand_and_against_the_correlation_of_scipy():
    answers = (rng.random((12, 8)) < 0.5).astype(float)
    answers[:, 0], answers[:, 1] = 0, 1
    rows = health.item_health(answers)
    assert rows[0].never_solved and not rows[0].always_solved and rows[1].always_solved
    assert rows[0].total_correlation is None
    oracle = stats.pearsonr(answers[:, 3], answers.sum(axis=1) - answers[:, 3]).statistic
    assert rows[3].total_correlation == pytest.approx(oracle)
    assert health.item_health([[1], [0], [1]])[0].total_correlation is None  # no rest
    [part] = health.item_health([[1 / 3], [0], [1]])
    assert (part.solved, part.share, part.never_solved, part.always_solved) == (2, pytest.approx(4 / 9), False, False)
    with pytest.raises(ValueError, match="systems by items"):
        health.item_health([1, 0])


@pytest.mark.parametrize(
    "text, answer",
    [
        ("I looked.\n\n**Final answer:** Domenico Fontana.", "Domenico Fontana"),
        ("The answer is 1588", "1588"),
        ("So it follows.\n- 1588", "1588"),
        ("最终答案：兰州", "兰州"),
        ("", ""),
    ],
)
def test_final_answer_is_what_the_response_ends_on(text, answer):
    assert health.normal_answer(health.final_answer(text)) == health.normal_answer(answer)


def test_consensus_against_the_key_needs_several_systems_and_more_than_the_key_has():
    key = ["1588", "A.D. 1588"]
    assert health.consensus_against(["1590", "1590.", "**1590**", "1588"], key).systems == (0, 1, 2)
    assert health.consensus_against(["1590", "1590", "1588"], key) is None  # two are no consensus
    assert health.consensus_against(["1590"] * 3 + ["1588"] * 3, key) is None
    assert health.consensus_against(["in 1588, in Rome"] * 4, key) is None  # holds the key
    assert health.consensus_against([None, "", "1590"], key) is None
    assert health.consensus_against(["The Bridge", "bridge", "Brïdge"], ["tower"]).answer == "The Bridge"


def test_ranks_share_places():
    assert health.ranks([0.5, 0.9, 0.5, 0.1]) == [2, 1, 2, 4]
    assert health.ranks([]) == []


# --- calibration


def test_marks_agree_with_the_library():
    judge, people = rng.random(80) < 0.5, rng.random(80) < 0.5
    found = calibration.compare_marks(judge, people)
    assert found.kappa == pytest.approx(cohen_kappa_score(judge, people))
    assert found.precision == pytest.approx(precision_score(people, judge))
    assert found.recall == pytest.approx(recall_score(people, judge))
    nothing = calibration.compare_marks([], [])
    assert (nothing.raw, nothing.kappa, nothing.precision, nothing.recall) == (None,) * 4
    assert calibration.compare_marks([0, 0], [1, 0]).precision is None


def test_prediction_powered_mean_is_the_library_s():
    truth = (rng.random(400) < 0.4).astype(float)
    judge = np.where(rng.random(400) < 0.1, 1 - truth, truth)
    people = np.full(400, np.nan)
    people[:60] = truth[:60]
    found = calibration.prediction_powered(judge, people)
    # the library keeps the two samples apart; ours has the marked items among all of them, as its estimator allows
    estimate = ppi_py.ppi_mean_pointestimate(truth[:60], judge[:60], judge, lam=found.weight)
    low, high = ppi_py.ppi_mean_ci(truth[:60], judge[:60], judge, alpha=0.05, lam=found.weight)
    assert found.value == pytest.approx(float(np.ravel(estimate)[0]))
    assert (found.low, found.high) == (pytest.approx(float(np.ravel(low)[0])), pytest.approx(float(np.ravel(high)[0])))
    assert (found.judge, found.people, found.n, found.total) == (judge.mean(), truth[:60].mean(), 60, 400)
    alone = 1.96 * truth[:60].std() / math.sqrt(60)
    assert (found.high - found.low) / 2 < alone  # the judge helps


def test_prediction_powered_mean_covers_the_truth_about_as_often_as_it_says():
    hits = 0
    for _ in range(300):
        truth = (rng.random(200) < 0.3).astype(float)
        judge = np.where(rng.random(200) < 0.2, 1 - truth, truth)
        people = np.full(200, np.nan)
        chosen = rng.choice(200, 50, replace=False)
        people[chosen] = truth[chosen]
        found = calibration.prediction_powered(judge, people)
        hits += found.low <= 0.3 <= found.high
    assert hits / 300 > 0.88


def test_prediction_powered_mean_where_there_is_little_to_go_on():
    none = calibration.prediction_powered([1, 0], [math.nan, math.nan])
    assert (none.judge, none.value, none.people, none.n) == (0.5, None, None, 0)
    one = calibration.prediction_powered([1, 0], [0, math.nan])
    assert (one.value, one.low) == (0, None)
    flat = calibration.prediction_powered([1, 1, 1], [1, 0, math.nan])
    assert (flat.weight, flat.value) == (0, 0.5)
    for judge, people in ([], []), ([1], [1, 2]), ([math.nan], [1]):
        with pytest.raises(ValueError, match=r"shapes|no value"):
            calibration.prediction_powered(judge, people)


def test_every_pair_of_two_and_two_flags_is_counted_once():
    cells = list(product((0, 1), repeat=2))
    found = calibration.compare_marks(*zip(*cells, strict=True))
    assert (found.both, found.judge_only, found.people_only, found.neither) == (1, 1, 1, 1)
