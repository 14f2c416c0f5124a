"""What is ticked, and when a tick stops holding."""

from typing import Any

import pytest

from annotation.document import read_document
from audit.evidence import content_hashes, elements_to_tick
from tests.documents import good_data


def document(**changes: Any) -> dict[str, Any]:
    return read_document(good_data(**changes)).to_json()


def test_elements_to_tick_for_support_are_nodes_relations_steps_and_the_answer() -> None:
    # 5 nodes, 4 relations, 10 steps
    expected = [*(f"n{n}" for n in range(1, 6)), *(f"r{n}" for n in range(1, 5)), *(f"c{n}" for n in range(1, 11))]
    assert elements_to_tick(document(), "support") == [*expected, "answer"]


def test_elements_to_tick_for_urls_are_the_sources_and_for_others_nothing() -> None:
    assert elements_to_tick(document(), "urls") == [f"s{n}" for n in range(1, 9)]
    assert elements_to_tick(document(), "chain") == []


def changed(before: dict[str, Any], after: dict[str, Any]) -> set[str]:
    old, new = content_hashes(before), content_hashes(after)
    return {key for key in old if old[key] != new.get(key)}


def test_content_hashes_after_an_edit_of_a_step_change_for_that_step_alone() -> None:
    edited = document()
    edited["checklist"][2]["conclusion"] = "Another one"
    assert changed(document(), edited) == {"c3"}


def test_content_hashes_after_an_edit_of_a_source_change_for_all_that_name_it() -> None:
    edited = document()
    edited["sources"][0]["claim"] = "Another claim"  # s1: of n1 and its property, and of c1
    assert changed(document(), edited) == {"s1", "n1", "c1"}


@pytest.mark.parametrize("field", ["question", "answer", "as_of"])
def test_content_hashes_after_an_edit_of_the_question_change_for_the_answer_alone(field: str) -> None:
    edited = document()
    edited[field] = "2025-01-01"
    assert changed(document(), edited) == {"answer"}
