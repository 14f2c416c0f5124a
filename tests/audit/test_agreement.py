"""Agreement and shares: worked out by hand, degenerate cases, ranges for all inputs."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from audit.agreement import agreement, cohen_kappa, counts, gwet_ac1, raw_agreement, wilson

TABLES = st.tuples(*[st.integers(0, 60)] * 4).filter(lambda table: sum(table) > 0)


def cells(both: int, first: int, second: int, neither: int) -> list[tuple[bool, bool]]:
    return [(True, True)] * both + [(True, False)] * first + [(False, True)] * second + [(False, False)] * neither


def test_figures_of_a_table_of_fifty() -> None:
    # p = 35/50 = 0.7; p1 = 25/50, p2 = 30/50; e = 0.5*0.6 + 0.5*0.4 = 0.5; kappa = 0.2/0.5
    # q = 0.55; e = 2*0.55*0.45 = 0.495; AC1 = 0.205/0.505
    assert raw_agreement(20, 5, 10, 15) == pytest.approx(0.7)
    assert cohen_kappa(20, 5, 10, 15) == pytest.approx(0.4)
    assert gwet_ac1(20, 5, 10, 15) == pytest.approx(0.405941, abs=1e-6)


def test_where_nearly_all_pass_kappa_falls_below_zero_and_ac1_does_not() -> None:
    # p = 118/125 = 0.944; p1 = 0.984, p2 = 0.96; e = 0.94464 + 0.00064 = 0.94528; kappa = -0.00128/0.05472
    # q = 0.972; e = 2*0.972*0.028 = 0.054432; AC1 = 0.889568/0.945568
    assert cohen_kappa(118, 5, 2, 0) == pytest.approx(-0.023392, abs=1e-6)
    assert gwet_ac1(118, 5, 2, 0) == pytest.approx(0.940776, abs=1e-6)


@pytest.mark.parametrize("table", [(9, 0, 0, 0), (0, 0, 0, 9)])
def test_one_word_only_leaves_kappa_undefined_and_ac1_one(table: tuple[int, int, int, int]) -> None:
    assert cohen_kappa(*table) is None and gwet_ac1(*table) == 1.0
    found = agreement([[cell] for cell in cells(*table)])
    assert (found.kappa.value, found.ac1.value, found.ac1.low, found.raw.value) == (None, 1.0, None, 1.0)
    assert found.raw.low == pytest.approx(9 / (9 + 3.841459), abs=1e-6)  # Wilson at n of n: n / (n + z^2)


def test_total_disagreement_is_minus_one_by_ac1() -> None:
    # p = 0; q = 1/2; e = 1/2; AC1 = -0.5/0.5; kappa: p1 = 1, p2 = 0, e = 0, so 0
    assert gwet_ac1(0, 4, 4, 0) == -1.0 and cohen_kappa(0, 8, 0, 0) == 0.0


def test_without_cells_there_is_nothing_to_say() -> None:
    for call in (raw_agreement, cohen_kappa, gwet_ac1):
        with pytest.raises(ValueError, match="no cells"):
            call(0, 0, 0, 0)
    for items in ([], [[]]):
        with pytest.raises(ValueError, match="no cells"):
            agreement(items)


@given(TABLES)
def test_figures_stay_in_their_ranges_and_do_not_depend_on_who_is_first(table: tuple[int, int, int, int]) -> None:
    both, first, second, neither = table
    raw, kappa, ac1 = raw_agreement(*table), cohen_kappa(*table), gwet_ac1(*table)
    assert 0 <= raw <= 1 and -1 <= ac1 <= raw + 1e-12
    assert kappa is None or -1 - 1e-9 <= kappa <= raw + 1e-9
    assert gwet_ac1(both, second, first, neither) == pytest.approx(ac1)
    assert gwet_ac1(neither, first, second, both) == pytest.approx(ac1)
    assert counts(cells(*table)) == table


@given(st.integers(1, 400), st.data())
def test_interval_of_a_share_holds_it_and_narrows_with_the_share_of_the_population(n: int, data: st.DataObject) -> None:
    hits = data.draw(st.integers(0, n))
    low, high = wilson(hits, n)
    assert 0 <= low <= hits / n <= high <= 1 and low < high
    population = data.draw(st.integers(n, 3 * n))
    inner = wilson(hits, n, population)
    assert low - 1e-12 <= inner[0] <= hits / n <= inner[1] <= high + 1e-12
    assert wilson(hits, n, n) == (hits / n, hits / n)


def test_interval_of_a_share_by_hand() -> None:
    # 0 of 20: middle = half = (z^2/40) / (1 + z^2/20), so from 0 to z^2/(20 + z^2) = 3.841459/23.841459
    assert wilson(0, 20) == (0.0, pytest.approx(0.161125, abs=1e-6))
    # of 39: size = 20*38/19 = 40: from 0 to 3.841459/43.841459
    assert wilson(0, 20, 39) == (0.0, pytest.approx(0.087622, abs=1e-6))
    for wrong in [(1, 0), (3, 2), (-1, 2)]:
        with pytest.raises(ValueError, match="no sample"):
            wilson(*wrong)
    with pytest.raises(ValueError, match="no sample"):
        wilson(1, 5, 4)


def test_intervals_come_from_whole_items_and_are_the_same_for_the_same_seed() -> None:
    items = [cells(3, 0, 0, 0), cells(2, 1, 0, 0), cells(1, 0, 1, 1), cells(3, 0, 0, 0)] * 5
    found = agreement(items, seed=7)
    assert found == agreement(items, seed=7) != agreement(items, seed=8)
    assert (found.items, found.n, found.disagreements, found.left_out) == (20, 60, 10, 0)
    for figure in (found.raw, found.kappa, found.ac1):
        assert figure.low is not None and figure.value is not None and figure.high is not None
        assert figure.low < figure.value < figure.high
    # the same cells one an item are independent: a narrower interval of the raw agreement
    single = agreement([[cell] for item in items for cell in item], seed=7)
    assert single.raw.value == found.raw.value and single.raw != found.raw


def test_one_item_alone_gives_figures_and_no_interval() -> None:
    found = agreement([cells(12, 1, 0, 0)])
    assert found.raw.value == pytest.approx(12 / 13) and found.disagreements == 1
    assert {end for figure in (found.raw, found.kappa, found.ac1) for end in (figure.low, figure.high)} == {None}


def test_resamples_without_a_second_word_are_left_out_of_kappa_and_counted() -> None:
    # with one disagreement in three items, a resample lacks it with chance (2/3)^3 = 8/27
    found = agreement([[cell] for cell in cells(2, 1, 0, 0)], resamples=4000)
    assert found.left_out == pytest.approx(4000 * 8 / 27, rel=0.1)
