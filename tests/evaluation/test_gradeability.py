"""Solutions written out of the key, and what a verdict on each must say. The good item is a graph with two branches."""

import pytest

from annotation.graph import descendants, positions
from evaluation.gradeability import expected_credit, middle_step, new_cases, outcome, solution
from tests.documents import good_document

# Four steps: c1 -> c2 -> c4, c1 -> c3 -> c4.
DIAMOND = good_document(
    answer="1588",
    answer_aliases=[],
    checklist=[
        {"key": f"c{n}", "conclusion": text, "prerequisites": needs}
        for n, text, needs in [(1, "One.", []), (2, "Two.", ["c1"]), (3, "Three.", ["c1"]), (4, "Four.", ["c2", "c3"])]
    ],
)


def test_solution_states_every_conclusion_and_the_answer() -> None:
    assert solution(DIAMOND, "full") == "One.\n\nTwo.\n\nThree.\n\nFour.\n\nFinal answer: 1588"
    assert solution(DIAMOND, "without", "c2") == "One.\n\nThree.\n\nFour.\n\nFinal answer: 1588"
    assert solution(DIAMOND, "empty") == ""


@pytest.mark.parametrize(
    ("case", "key", "credit"),
    [
        ("full", "", (1, 1, 1, 1)),
        ("without", "c1", (0, 0, 0, 0)),  # everything needs it
        ("without", "c2", (1, 0, 1, 0)),  # c4 needs it
        ("without", "c4", (1, 1, 1, 0)),
        ("empty", "", (0, 0, 0, 0)),
    ],
)
def test_expected_credit_loses_the_step_and_what_needs_it(case: str, key: str, credit: tuple[int, ...]) -> None:
    assert expected_credit(DIAMOND, case, key) == credit


def test_middle_step_is_one_that_others_need() -> None:
    assert middle_step(DIAMOND) == "c2"  # of c1, c2, c3
    document = good_document()
    below = descendants(document.prerequisite_positions())
    assert positions(below[document.step_positions[middle_step(document)]])


def test_middle_step_of_unconnected_steps_and_of_none() -> None:
    loose = good_document(checklist=[{"key": f"c{n}", "conclusion": str(n)} for n in (1, 2, 3)])
    assert (middle_step(loose), middle_step(good_document(checklist=[]))) == ("c2", "")


def test_new_cases_leave_out_the_middle_or_each() -> None:
    assert [(c["case"], c["without"]) for c in new_cases(DIAMOND)] == [("full", ""), ("without", "c2"), ("empty", "")]
    assert [c["without"] for c in new_cases(DIAMOND, every_step=True)] == ["", "c1", "c2", "c3", "c4", ""]


def case(name: str, key: str = "") -> dict:
    return {"case": name, "without": key, "expected": list(expected_credit(DIAMOND, name, key))}


@pytest.mark.parametrize(
    ("name", "key", "vector", "answer", "ok", "gained", "lost"),
    [
        ("full", "", [1, 1, 1, 1], True, True, (), ()),
        ("full", "", [1, 1, 1, 1], False, False, (), ()),  # the answer is not seen
        ("full", "", [1, 0, 1, 1], True, False, (), (1, 3)),  # a step is not seen, and blocks the last
        ("without", "c2", [1, 0, 1, 1], True, True, (), ()),
        ("without", "c2", [1, 0, 1, 0], False, True, (), ()),  # the last was lost either way
        ("without", "c2", [1, 1, 1, 1], True, False, (1, 3), ()),  # what is not there is marked as stated
        ("without", "c2", [1, 0, 0, 1], True, False, (), (2,)),  # a step beside it is lost
        ("empty", "", [0, 0, 0, 0], False, True, (), ()),
        ("empty", "", [0, 0, 0, 0], True, False, (), ()),
        ("empty", "", [1, 0, 0, 0], False, False, (0,), ()),
    ],
)
def test_outcome_compares_credit_step_by_step(name, key, vector, answer, ok, gained, lost) -> None:
    found = outcome(DIAMOND, case(name, key), vector, answer)
    assert (found.ok, found.gained, found.lost) == (ok, gained, lost)
