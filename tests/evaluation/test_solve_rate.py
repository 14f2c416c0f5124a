"""The upper bound of a solve rate: worked by hand where that is possible, else as scipy 1.17's beta.ppf gives it."""

import pytest

from evaluation.scoring.solve_rate import rule_of_three, upper_bound


@pytest.mark.parametrize("tries", [1, 2, 3, 5, 20, 100])
def test_upper_bound_when_none_was_solved_is_the_root_of_a_twentieth(tries: int) -> None:
    """No success in n tries has the probability (1 - p)^n, which is 0.05 at p = 1 - 0.05^(1/n)."""
    assert upper_bound(0, tries) == pytest.approx(1 - 0.05 ** (1 / tries), abs=1e-12)


@pytest.mark.parametrize(
    ("solved", "tries", "bound"),
    [  # scipy.stats.beta.ppf(0.95, solved + 1, tries - solved)
        (0, 5, 0.4507197283), (1, 5, 0.6574083180), (2, 10, 0.5069013011), (4, 5, 0.9897937817),
        (19, 20, 0.9974386212), (3, 40, 0.1825868500),
    ],
)  # fmt: skip
def test_upper_bound_equals_the_quantile_of_the_beta_distribution(solved: int, tries: int, bound: float) -> None:
    assert upper_bound(solved, tries) == pytest.approx(bound, abs=1e-9)


def test_upper_bound_by_hand_for_one_of_two() -> None:
    """At most one of two: 1 - p² = 0.05, so p = sqrt(0.95)."""
    assert upper_bound(1, 2) == pytest.approx(0.95**0.5, abs=1e-12)


def test_upper_bound_of_nothing_and_of_everything_is_one() -> None:
    assert (upper_bound(0, 0), upper_bound(3, 3)) == (1.0, 1.0)


@pytest.mark.parametrize(("solved", "tries", "confidence"), [(-1, 3, 0.95), (4, 3, 0.95), (1, 3, 0.0), (1, 3, 1.0)])
def test_upper_bound_of_impossible_counts_is_refused(solved: int, tries: int, confidence: float) -> None:
    with pytest.raises(ValueError):
        upper_bound(solved, tries, confidence)


def test_rule_of_three_is_never_above_one() -> None:
    assert [rule_of_three(n) for n in (0, 1, 3, 30)] == [1.0, 1.0, 1.0, 0.1]
