"""Both sides' changes to a section in one: worked out by hand on the good document."""

from typing import Any

from annotation.document import Document
from annotation.merging import merge_both
from tests.documents import good_document


def with_step(document: Document, number: int, **fields: Any) -> Document:
    content = document.section("checklist")
    content["checklist"] = [dict(step) for step in content["checklist"]]
    content["checklist"][number - 1] |= fields
    return document.with_section("checklist", content)


def without_step(document: Document, number: int) -> Document:
    content = document.section("checklist")
    content["checklist"] = [s for n, s in enumerate(content["checklist"], 1) if n != number]
    return document.with_section("checklist", content)


def with_new(document: Document, conclusion: str, prerequisites: list[str]) -> Document:
    content = document.section("checklist")
    step = {"key": "c11", "conclusion": conclusion, "prerequisites": prerequisites}
    return document.with_section("checklist", {"checklist": [*content["checklist"], step]})


def test_changes_of_different_fields_are_both_there() -> None:
    base = good_document()
    merged = merge_both(base, with_step(base, 1, conclusion="Mine."), with_step(base, 1, effect="bridges"), "checklist")
    assert merged.document is not None and merged.clashes == ()
    assert (merged.document.checklist[0].conclusion, merged.document.checklist[0].effect) == ("Mine.", "bridges")


def test_one_field_changed_by_both_is_mine_and_named() -> None:
    base = good_document()
    mine, theirs = with_step(base, 1, conclusion="Mine."), with_step(base, 1, conclusion="Theirs.")
    merged = merge_both(base, mine, with_step(theirs, 2, conclusion="Also theirs."), "checklist")
    assert merged.document is not None
    assert [s.conclusion for s in merged.document.checklist[:2]] == ["Mine.", "Also theirs."]
    [clash] = merged.clashes
    assert (clash.path, clash.mine, clash.theirs) == ("checklist.c1.conclusion", "Mine.", "Theirs.")


def test_a_step_removed_by_one_and_changed_by_the_other_stays() -> None:
    base = good_document()
    changed, removed = with_step(base, 10, conclusion="Reworded."), without_step(base, 10)
    for mine, theirs in ((changed, removed), (removed, changed)):
        merged = merge_both(base, mine, theirs, "checklist")
        assert merged.document is not None and len(merged.clashes) == 1
        assert merged.document.checklist[9].conclusion == "Reworded."
        assert merged.document.checklist[9].key == "c10"


def test_new_steps_with_one_key_are_two_steps_and_links_follow() -> None:
    base = good_document()
    mine = with_new(base, "Mine.", ["c1"])
    content = mine.section("checklist")
    content["checklist"].append({"key": "c12", "conclusion": "After mine.", "prerequisites": ["c11"]})
    mine = base.with_section("checklist", content)
    merged = merge_both(base, mine, with_new(base, "Theirs.", ["c2"]), "checklist")
    assert merged.document is not None and merged.clashes == ()
    added = {s.key: (s.conclusion, s.prerequisites) for s in merged.document.checklist[10:]}
    assert added == {"c11": ("Theirs.", ("c2",)), "c13": ("Mine.", ("c1",)), "c12": ("After mine.", ("c13",))}


def test_an_order_changed_by_both_is_theirs() -> None:
    base = good_document()
    steps = base.section("checklist")["checklist"]
    mine = base.with_section("checklist", {"checklist": [steps[1], steps[0], *steps[2:]]})
    theirs = base.with_section("checklist", {"checklist": [steps[2], *steps[:2], *steps[3:]]})
    merged = merge_both(base, mine, theirs, "checklist")
    assert merged.document == theirs
    assert [clash.field for clash in merged.clashes] == ["order"]


def test_a_rival_and_a_property_changed_by_both_are_mine() -> None:
    base = good_document()
    sides = []
    for word in ("Mine", "Theirs"):
        question = base.section("question")
        question["rivals"] = [{**question["rivals"][0], "excluded_by": word}, *question["rivals"][1:]]
        graph = base.section("graph")
        graph["nodes"] = [dict(node) for node in graph["nodes"]]
        graph["nodes"][0]["properties"] = [{**graph["nodes"][0]["properties"][0], "value": word}]
        sides.append(base.with_section("question", question).with_section("graph", graph))
    for section in ("question", "graph"):
        merged = merge_both(base, *sides, section)
        assert merged.document is not None and len(merged.clashes) == 1
        assert merged.document.section(section) == sides[0].section(section)
    assert merge_both(base, base, base, "design").document == base
