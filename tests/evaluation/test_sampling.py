"""Which responses people mark: the same for the same seed, and of the kind that was asked for."""

from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evaluation.scoring.sampling import Candidate, draw

ROWS = [Candidate(n, "abc"[n % 3], n % 4 == 0, n % 5 == 0) for n in range(60)]


@pytest.mark.parametrize("method", ["random", "stratified", "disagreement", "flagged"])
def test_draw_is_repeatable_whatever_the_order_and_another_seed_draws_others(method):
    once = draw(ROWS, method, 12, 7)
    assert once == draw(ROWS[::-1], method, 12, 7) and len(set(once)) == 12
    assert once != draw(ROWS, method, 12, 8)


def test_stratified_gives_each_category_its_share():
    rows = [Candidate(n, "large" if n < 70 else "small" if n < 95 else "") for n in range(100)]
    drawn = Counter(rows[pk].category for pk in draw(rows, "stratified", 20, 1))
    assert drawn == {"large": 14, "small": 5, "": 1}


def test_disagreement_takes_disputed_ones_only_and_maybe_fewer():
    drawn = draw(ROWS, "disagreement", 40, 3)
    assert sorted(drawn) == list(range(0, 60, 4))


def test_flagged_ones_come_first():
    drawn = draw(ROWS, "flagged", 20, 3)
    assert sorted(drawn[:12]) == list(range(0, 60, 5)) and len(drawn) == 20


def test_another_way_is_refused():
    with pytest.raises(ValueError, match="no way"):
        draw(ROWS, "handed", 3, 1)


@given(st.lists(st.sampled_from("abcd"), max_size=40), st.integers(1, 50), st.integers(0, 99))
def test_stratified_is_never_more_than_one_off(categories, size, seed):
    rows = [Candidate(n, category) for n, category in enumerate(categories)]
    drawn = Counter(rows[pk].category for pk in draw(rows, "stratified", size, seed))
    size = min(size, len(rows))
    assert sum(drawn.values()) == size
    assert all(abs(drawn[c] - size * n / len(rows)) < 1 for c, n in Counter(categories).items())
