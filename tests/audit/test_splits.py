"""Splits, choices written as numbers, differences and versions: the pure parts of releases."""

from collections import Counter
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from audit.comparison import changed_ids, compare, is_version, next_version
from audit.picks import read_numbers, write_numbers
from audit.splits import SPLITS, SplitPlan, assign, read_list, read_shares
from tests.documents import good_document

ITEMS = [(f"item-{n}", n, "media" if n <= 30 else "sports") for n in range(1, 41)]


# --- splits -------------------------------------------------------------------------------------------------------


def test_assign_by_share_keeps_the_shares_as_a_whole_and_within_each_category() -> None:
    # 40 items at 10/60/30 %: 4, 24, 12; of 30 media: 3, 18, 9; of 10 sports: 1, 6, 3.
    splits = assign(SplitPlan(shares={"dev": 10, "test": 60, "held_out": 30}, seed=7), ITEMS)
    assert Counter(splits.values()) == {"dev": 4, "test": 24, "held_out": 12}
    media = Counter(splits[uid] for uid, _number, category in ITEMS if category == "media")
    assert media == {"dev": 3, "test": 18, "held_out": 9}


def test_assign_depends_on_the_seed_and_not_on_the_order_of_the_items() -> None:
    shares = {"dev": 50, "test": 50}
    one = assign(SplitPlan(shares=shares, seed=1), ITEMS)
    assert one == assign(SplitPlan(shares=shares, seed=1), ITEMS[::-1])
    assert one != assign(SplitPlan(shares=shares, seed=2), ITEMS)


@given(st.integers(0, 100), st.integers(0, 100), st.integers(1, 60), st.integers(0, 99))
def test_assign_by_share_is_off_by_less_than_one_item_per_category(one: int, two: int, size: int, seed: int) -> None:
    low, high = sorted((one, two))
    shares = {"dev": low, "test": high - low, "held_out": 100 - high}
    items = [(f"i{n}", n, str(n % 3)) for n in range(size)]
    splits = assign(SplitPlan(shares=shares, seed=seed), items)
    assert set(splits) == {uid for uid, _n, _c in items}
    for category in {category for _u, _n, category in items}:
        members = [uid for uid, _n, c in items if c == category]
        found = Counter(splits[uid] for uid in members)
        for name in SPLITS:
            assert abs(found[name] - len(members) * shares[name] / 100) < 1.01
            assert shares[name] or not found[name]


@pytest.mark.parametrize(
    ("plan", "said"),
    [
        (SplitPlan(shares={"dev": 50, "test": 40}), "they make 90 %"),
        (SplitPlan(shares={"dev": 150, "test": -50}), "0 or more"),
        (SplitPlan(shares={"train": 100}), "no split 'train'"),
        (SplitPlan(shares={"test": 100}, seed=-1), "seed"),
        (SplitPlan(named={"item-1": "dev"}), r"leaves out #2, #3, #4, #5, #6 and 34 more"),
        (SplitPlan(named={**{str(n): "test" for n in range(1, 41)}, "99": "dev"}), "names 99, not among"),
    ],
)
def test_assign_says_what_cannot_be(plan: SplitPlan, said: str) -> None:
    with pytest.raises(ValueError, match=said):
        assign(plan, ITEMS)


def test_list_of_splits_names_items_by_id_or_number() -> None:
    named = read_list("\ufeffitem,split\nitem-1, dev\n#2,held-out\r\n\n3,TEST\n")
    assert named == {"item-1": "dev", "#2": "held_out", "3": "test"}
    assert assign(SplitPlan(named=named), ITEMS[:3]) == {"item-1": "dev", "item-2": "held_out", "item-3": "test"}


@pytest.mark.parametrize(
    ("text", "said"),
    [("1;dev", "line 1"), ("1,dev\n2,train", "line 2.*no split 'train'"), ("1,dev\n1,test", "line 2.*in two splits")],
)
def test_list_of_splits_says_which_line_is_wrong(text: str, said: str) -> None:
    with pytest.raises(ValueError, match=said):
        read_list(text)


def test_shares_are_read_from_a_shells_argument() -> None:
    assert read_shares("dev=10, test=60,held-out=30") == {"dev": 10, "test": 60, "held_out": 30}
    with pytest.raises(ValueError, match="no share"):
        read_shares("dev=ten")


# --- numbers ------------------------------------------------------------------------------------------------------


@given(st.sets(st.integers(1, 2000)))
def test_numbers_are_read_back_as_they_were_written(numbers: set[int]) -> None:
    assert read_numbers(write_numbers(numbers)) == numbers


def test_numbers_are_written_as_ranges_and_read_in_any_layout() -> None:
    assert write_numbers([3, 1, 2, 7, 9, 10]) == "1-3, 7, 9-10"
    assert read_numbers(" #1 – 3;7\n9-10, ") == {1, 2, 3, 7, 9, 10}
    assert read_numbers("") == set()


@pytest.mark.parametrize("text", ["x", "3-1", "1-9999999", "1.5", "-4"])
def test_numbers_that_are_none_are_refused(text: str) -> None:
    with pytest.raises(ValueError):
        read_numbers(text)


# --- differences and versions -------------------------------------------------------------------------------------


def changed(**fields: Any) -> dict[str, Any]:
    return {**good_document().to_json(), **fields}


@pytest.mark.parametrize(
    ("change", "level", "graded"),
    [
        ({"answer": "another"}, "major", True),
        ({"question": "another?"}, "major", True),
        ({"answer_aliases": ["more"]}, "major", True),
        ({"checklist": []}, "major", True),
        ({"category": "sports"}, "patch", False),
        ({"design": "written out"}, "patch", False),
    ],
)
def test_level_of_a_changed_item(change: dict[str, Any], level: str, graded: bool) -> None:
    found = compare({"a": "1"}, {"a": "2"}, [("a", changed(), changed(**change))])
    assert (found.level, found.changed[0].graded, found.changed[0].sections) == (level, graded, tuple(change))


def test_level_of_items_that_come_and_go() -> None:
    assert compare({"a": "1"}, {"a": "1", "b": "1"}, []).level == "minor"
    assert compare({"a": "1", "b": "1"}, {"a": "1"}, []).level == "major"
    assert compare({"a": "1"}, {"a": "1"}, []).level == "none"
    assert compare({"a": "1"}, {"a": "1"}, [], {"a": ("dev", "test")}).level == "patch"
    assert changed_ids({"a": "1", "b": "1", "c": "1"}, {"b": "2", "a": "1", "d": "1"}) == ["b"]


@pytest.mark.parametrize(
    ("before", "level", "after"),
    [
        ("", "minor", "1.0.0"),
        ("1.4.2", "major", "2.0.0"),
        ("1.4.2", "minor", "1.5.0"),
        ("1.4.2", "patch", "1.4.3"),
        ("1.4.2", "none", "1.4.3"),
        ("2.0.0-rc.1", "major", "2.0.0"),
    ],
)
def test_next_version(before: str, level: Any, after: str) -> None:
    assert next_version(before, level) == after


def test_versions_are_semantic() -> None:
    assert all(map(is_version, ["0.1.0", "1.2.3-rc.1+build.5", "10.20.30"]))
    assert not any(map(is_version, ["1.2", "v1.2.3", "01.2.3", "1.2.3-", "1.2.3\n", "1.2.3-" + "a" * 40]))
