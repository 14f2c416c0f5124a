"""Bootstrap intervals: degenerate cases by hand, pairing, ties, zero denominators, and the plain NumPy form."""

import numpy as np
import pytest

from evaluation.scoring import bootstrap
from evaluation.scoring.bootstrap import bootstrap_means, intervals, paired_difference, ratio


def plain_means(values, resamples, seed):
    """The definition, one resample at a time."""
    draws = np.random.Generator(np.random.PCG64(seed)).integers(0, len(values), (resamples, len(values)))
    return np.array([np.asarray(values)[row].mean(axis=0) for row in draws]).T


def test_means_equal_the_definition():
    values = np.random.default_rng(1).random((7, 3))
    np.testing.assert_allclose(bootstrap_means(values, resamples=200, seed=5), plain_means(values, 200, 5), atol=1e-12)


def test_means_do_not_depend_on_the_size_of_the_blocks(monkeypatch):
    values = np.random.default_rng(2).random((11, 2))
    whole = bootstrap_means(values, resamples=500, seed=3)
    monkeypatch.setattr(bootstrap, "_CELLS", 11 * 7)  # 71 blocks of 7 resamples and one of 3
    np.testing.assert_allclose(bootstrap_means(values, resamples=500, seed=3), whole, atol=1e-12)


def test_intervals_are_linear_percentiles_of_the_means():
    values = np.random.default_rng(3).random((9, 2))
    low, high = intervals(values, resamples=101, seed=8)
    # 101 means: the 2.5th percentile lies at rank 2.5 from 0, half way between the third and the fourth smallest.
    ordered = np.sort(plain_means(values, 101, 8), axis=1)
    np.testing.assert_allclose(low, (ordered[:, 2] + ordered[:, 3]) / 2, atol=1e-12)
    np.testing.assert_allclose(high, (ordered[:, 97] + ordered[:, 98]) / 2, atol=1e-12)


def test_intervals_are_the_same_for_the_same_seed_and_differ_for_another():
    values = np.random.default_rng(4).random(20)
    assert intervals(values, resamples=300, seed=1) == intervals(values, resamples=300, seed=1)
    assert intervals(values, resamples=300, seed=1) != intervals(values, resamples=300, seed=2)


def test_interval_of_two_items_spans_both():
    # Means of two draws from {0, 1} are 0, 1/2, 1 with odds 1:2:1, so both outer quarters reach the ends.
    low, high = intervals([0, 1], resamples=1000)
    assert (low.tolist(), high.tolist()) == ([0.0], [1.0])


@pytest.mark.parametrize("value", [0.0, 1.0, 0.6, 1 / 3])
def test_interval_of_equal_values_is_that_value_exactly(value):
    low, high = intervals([value] * 7, resamples=50)
    assert (low.tolist(), high.tolist()) == ([value], [value])


def test_interval_of_one_item_is_its_value():
    low, high = intervals([[0.25, 1.0]], resamples=10)
    assert (low.tolist(), high.tolist()) == ([0.25, 1.0], [0.25, 1.0])


def test_columns_are_resampled_together():
    # b = 1 - a item by item, so in every resample its mean is 1 - the mean of a.
    a = np.random.default_rng(5).random(13)
    means = bootstrap_means(np.stack((a, 1 - a), axis=1), resamples=100)
    np.testing.assert_allclose(means[0] + means[1], 1, atol=1e-12)


def test_systems_scored_apart_are_paired_too():
    a, b = np.random.default_rng(6).random((2, 10))
    together = bootstrap_means(np.stack((a, b), axis=1), resamples=50, seed=9)
    np.testing.assert_allclose(bootstrap_means(b, resamples=50, seed=9)[0], together[1], atol=1e-12)


def test_difference_of_a_constant_shift_has_no_width():
    found = paired_difference([0.5, 0.75, 1.0], [0.25, 0.5, 0.75], resamples=100)
    assert found == bootstrap.Difference(0.25, 0.25, 0.25, share_positive=1.0, share_tied=0.0)


def test_difference_of_equal_systems_is_all_ties_and_not_positive():
    found = paired_difference([0.1, 0.7], [0.1, 0.7], resamples=100)
    assert found == bootstrap.Difference(0.0, 0.0, 0.0, share_positive=0.0, share_tied=1.0)


def test_difference_counts_a_rounding_residue_as_a_tie():
    # Item by item +0.2, -0.3, +0.1: the sum of one of each is a hair over 0 in floating point, and 0 in truth.
    # Of the 27 equally likely resamples just the 6 with each item once sum to 0.
    found = paired_difference([0.2, 0.0, 0.1], [0.0, 0.3, 0.0], resamples=20_000)
    assert found.share_tied == pytest.approx(6 / 27, abs=0.01)
    # positive: the second item not drawn (8 of 27), or once beside the first twice (3 of 27)
    assert found.share_positive == pytest.approx(11 / 27, abs=0.01)


def test_ratio_leaves_out_and_counts_resamples_without_denominator():
    # Two items, denominators 0 and 1: a quarter of the resamples draw the first twice. The ratio is 1/2 in the others.
    found = ratio([0, 0.5], [0, 1], resamples=10_000)
    assert (found.estimate, found.low, found.high) == (0.5, 0.5, 0.5)
    draws = np.random.Generator(np.random.PCG64(0)).integers(0, 2, (10_000, 2))
    assert found.left_out == (draws.sum(axis=1) == 0).sum() > 2000


def test_ratio_of_a_denominator_that_is_always_zero_has_no_value():
    assert ratio([0, 0], [0, 0], resamples=30) == bootstrap.Ratio(None, None, None, 30)


@pytest.mark.parametrize(
    ("values", "options", "message"),
    [
        ([], {}, "no items"),
        ([1.0], {"resamples": 0}, "resamples must be 1 or more"),
        ([1.0], {"seed": -1}, "seed 0 or more"),
    ],
)
def test_broken_input_raises(values, options, message):
    with pytest.raises(ValueError, match=message):
        intervals(values, **options)


def test_difference_of_unequal_lists_raises():
    with pytest.raises(ValueError, match="as many items"):
        paired_difference([1, 0], [1])
