"""Difference of documents and three-way merge of a section."""

import copy
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from annotation.diff import CONTEXT, Change, Run, diff_documents, merge_section, text_runs
from annotation.document import SECTIONS, Document, DocumentError, read_document
from tests.documents import good_document
from tests.strategies import documents, texts


def item(**fields: Any) -> Document:
    return read_document({"id": "x", **fields})


def changes(old: dict[str, Any], new: dict[str, Any]) -> list[Change]:
    return diff_documents(item(**old), item(**new))


def only(old: dict[str, Any], new: dict[str, Any]) -> Change:
    (change,) = changes(old, new)
    return change


def old_of(runs: tuple[Run, ...]) -> str:
    return "".join(run.text for run in runs if run.kind != "insert")


def new_of(runs: tuple[Run, ...]) -> str:
    return "".join(run.text for run in runs if run.kind != "delete")


# --- words --------------------------------------------------------------------------------------------------------


def test_text_runs_mark_whole_words() -> None:
    assert text_runs("the publisher's penguin emblem", "the publisher's bird emblem") == (
        Run("equal", "the publisher's "),
        Run("delete", "penguin"),
        Run("insert", "bird"),
        Run("equal", " emblem"),
    )


def test_text_runs_in_chinese_mark_characters() -> None:
    # No spaces: the one character that changed is marked, not the sentence.
    assert text_runs("他出生于北京市", "他出生于南京市") == (
        Run("equal", "他出生于"),
        Run("delete", "北"),
        Run("insert", "南"),
        Run("equal", "京市"),
    )


def test_text_runs_keep_combining_characters_with_their_letter() -> None:
    assert text_runs("cafe\u0301 noir", "cafe noir")[0] == Run("delete", "cafe\u0301")


def test_text_runs_of_empty_texts() -> None:
    assert text_runs("", "") == ()
    assert text_runs("", "new") == (Run("insert", "new"),)
    assert text_runs("old", "") == (Run("delete", "old"),)


def test_text_runs_after_the_deadline_are_coarse_but_right() -> None:
    old = " ".join(f"a{n} b{n}" for n in range(200))
    new = " ".join(f"a{n} c{n}" for n in range(200))
    coarse = text_runs(old, new, deadline=0.0)
    assert len(coarse) < len(text_runs(old, new))
    assert (old_of(coarse), new_of(coarse)) == (old, new)


def test_text_runs_of_huge_unlike_texts_end_soon() -> None:
    old, new = ("ab " * 400_000, "cb d " * 200_000)
    runs = text_runs(old, new)  # without bounds it takes hours
    assert (old_of(runs), new_of(runs)) == (old, new)


@given(texts, texts)
def test_text_runs_give_both_texts_back(old: str, new: str) -> None:
    runs = text_runs(old, new)
    assert (old_of(runs), new_of(runs)) == (old, new)
    assert all(run.text for run in runs)


def test_shown_cuts_long_unchanged_stretches() -> None:
    stretch = "word " * 500
    change = only({"question": f"{stretch}old {stretch}"}, {"question": f"{stretch}new {stretch}"})
    assert [run.kind for run in change.shown] == ["gap", "equal", "delete", "insert", "equal", "gap"]
    assert len(change.shown[1].text) == CONTEXT
    assert new_of(change.runs) == f"{stretch}new {stretch}"


def test_shown_makes_line_ends_visible() -> None:
    change = only({"question": "one two"}, {"question": "one\ntwo"})
    assert Run("insert", "¶\n") in change.shown


# --- fields -------------------------------------------------------------------------------------------------------


def test_diff_names_section_path_and_label() -> None:
    old = {"checklist": [{"key": "c3", "conclusion": "It opened in 1890."}]}
    change = only(old, {"checklist": [{"key": "c3", "conclusion": "It opened in 1891."}]})
    assert (change.section, change.path, change.label) == (
        "checklist", "checklist.c3.conclusion", "Step c3: conclusion",
    )  # fmt: skip
    assert change.kind == "changed"
    assert Run("delete", "1890") in change.runs


def test_diff_of_a_nested_element_names_both() -> None:
    def nodes(value: str) -> dict[str, Any]:
        return {"nodes": [{"key": "n1", "properties": [{"name": "logo", "value": value}]}]}

    change = only(nodes("a bird"), nodes("a fish"))
    assert change.label == "Node n1, property logo: value"
    assert change.path == "nodes.n1.properties.logo.value"


def test_diff_of_a_choice_has_old_and_new_and_no_words() -> None:
    change = only({"template": "linear"}, {"template": "multi_branch"})
    assert (change.old, change.new, change.runs, change.label) == ("linear", "multi_branch", (), "Template")


def test_diff_of_a_number() -> None:
    def region(x: int) -> dict[str, Any]:
        return {"images": [{"key": "i1", "regions": [{"key": "g1", "x": x, "y": 0, "width": 5, "height": 5}]}]}

    change = only(region(10), region(20))
    assert (change.old, change.new, change.label) == (10, 20, "Image i1, region g1: x")


def test_diff_of_a_set_has_added_and_removed_values() -> None:
    change = only({"answer_aliases": ["a", "b"]}, {"answer_aliases": ["b", "c"]})
    assert (change.removed, change.added, change.is_list) == (("a",), ("c",), True)


def test_diff_of_prerequisites_in_another_order_says_so_by_adding_nothing() -> None:
    steps = [{"key": "c1"}, {"key": "c2"}]
    old = {"checklist": [*steps, {"key": "c3", "prerequisites": ["c1", "c2"]}]}
    change = only(old, {"checklist": [*steps, {"key": "c3", "prerequisites": ["c2", "c1"]}]})
    assert (change.added, change.removed, change.field) == ((), (), "needs")


def test_diff_of_extra_tells_true_from_one() -> None:
    change = only({"extra": {"seen": True, "same": 1}}, {"extra": {"seen": 1, "same": 1}})
    assert (change.path, change.old, change.new) == ("extra.seen", "true", "1")
    assert only({}, {"extra": {"level": 2}}).kind == "added"
    assert only({"extra": {"level": None}}, {}).kind == "removed"


# --- elements -----------------------------------------------------------------------------------------------------


def test_diff_of_elements_added_and_removed_stand_in_order() -> None:
    def steps(*keys: str) -> dict[str, Any]:
        return {"checklist": [{"key": key, "conclusion": f"says {key}"} for key in keys]}

    found = changes(steps("c1", "c2", "c3"), steps("c4", "c1", "c3", "c5"))
    assert [(change.kind, change.path) for change in found] == [
        ("added", "checklist.c4"), ("removed", "checklist.c2"), ("added", "checklist.c5"),
    ]  # fmt: skip
    assert found[1].runs == (Run("delete", "says c2"),)
    assert found[2].runs == (Run("insert", "says c5"),)


def test_diff_of_an_added_step_has_its_details() -> None:
    step = {"key": "c1", "conclusion": "It is so.", "modality": "image", "sources": ["s1", "s2"]}
    assert only({}, {"checklist": [step]}).details == (("modality", "image"), ("sources", "s1, s2"))


def test_diff_of_order_reports_the_fewest_moved() -> None:
    def nodes(*keys: str) -> dict[str, Any]:
        return {"nodes": [{"key": key} for key in keys]}

    # n4 went to the front; the others kept their order among themselves.
    change = only(nodes("n1", "n2", "n3", "n4"), nodes("n4", "n1", "n2", "n3"))
    assert (change.kind, change.path, change.old, change.new) == ("moved", "nodes.n4", 4, 1)


def test_diff_of_a_moved_and_changed_element_reports_both() -> None:
    old = {"nodes": [{"key": "n1", "entity": "One"}, {"key": "n2"}, {"key": "n3"}]}
    found = changes(old, {"nodes": [{"key": "n2"}, {"key": "n3"}, {"key": "n1", "entity": "Two"}]})
    assert [(change.kind, change.field) for change in found] == [("moved", ""), ("changed", "entity")]


def test_diff_of_a_rival_with_another_answer_is_a_change_of_its_answer() -> None:
    old = {"rivals": [{"answer": "319", "excluded_by": "a"}, {"answer": "320", "excluded_by": "b"}]}
    new = {"rivals": [{"answer": "319", "excluded_by": "a"}, {"answer": "321", "excluded_by": "b"}]}
    change = only(old, new)
    assert (change.label, change.old, change.new) == ("Rival 2: answer", "320", "321")


def test_diff_of_properties_with_one_name_are_told_apart_by_number() -> None:
    def nodes(*values: str) -> dict[str, Any]:
        return {"nodes": [{"key": "n1", "properties": [{"name": "year", "value": value} for value in values]}]}

    change = only(nodes("1890", "1891"), nodes("1890", "1892"))
    assert (change.label, change.old, change.new) == ("Node n1, property 2: value", "1891", "1892")


# --- all of it ----------------------------------------------------------------------------------------------------


@settings(max_examples=40)
@given(documents())
def test_diff_of_a_document_with_itself_is_empty(document: Document) -> None:
    assert diff_documents(document, read_document(document.to_json())) == []


@settings(max_examples=40)
@given(documents(), documents())
def test_diff_reports_every_section_that_differs_and_each_thing_once(old: Document, new: Document) -> None:
    found = diff_documents(old, new)
    assert {change.section for change in found} == {
        name for name in SECTIONS if old.section_hashes[name] != new.section_hashes[name]
    }
    told = [(change.where, change.field, change.kind == "moved") for change in found if change.field]
    assert len(told) == len(set(told))
    order = list(SECTIONS)
    assert [order.index(change.section) for change in found] == sorted(order.index(change.section) for change in found)
    for change in found:
        assert change.label
        if change.runs and change.field:
            assert (old_of(change.runs), new_of(change.runs)) == (change.old, change.new)


def leaves(data: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """Paths of all values of a document that can be edited alone: texts, choices, numbers, and lists of texts."""
    if isinstance(data, dict):
        return [leaf for name, value in data.items() if name != "key" for leaf in leaves(value, (*path, name))]
    if isinstance(data, list) and data and isinstance(data[0], dict):
        return [leaf for number, value in enumerate(data) for leaf in leaves(value, (*path, number))]
    return [path]


def edited(value: Any, name: str) -> Any:
    """Another value that the field can hold."""
    if isinstance(value, list):
        return [*value, "zz9"]
    others = {
        "modality": "audio", "effect": "bridges", "template": "linear", "volatility": "volatile", "category": "sports",
        "accessed": "2001-02-03", "as_of": "2001-02-03", "sha256": "0" * 64, "width": 7, "height": 7,
        "from": "n9", "to": "n9",
    }  # fmt: skip
    if name in ("kind", "role"):
        return {None: "other", "evidence": "question", "question": "evidence"}.get(value)
    return others.get(name, f"{value} more")


def test_diff_reports_exactly_the_one_field_that_was_edited() -> None:
    data = good_document().to_json()
    paths = [path for path in leaves(data) if path[0] not in ("schema", "id") and "extra" not in path]
    assert len(paths) > 200
    for path in paths:
        changed = copy.deepcopy(data)
        target = changed
        for part in path[:-1]:
            target = target[part]
        if path[-1] in ("rivals", "properties", "regions"):  # an empty list of elements
            continue
        target[path[-1]] = edited(target[path[-1]], path[-1])
        assert changed != data, path
        (change,) = diff_documents(read_document(data), read_document(changed))
        assert change.kind == "changed", path
        assert change.path.split(".")[0] == path[0]


# --- merge --------------------------------------------------------------------------------------------------------

BASE = item(
    question="Which year?",
    answer="1890",
    answer_aliases=["a", "b"],
    checklist=[
        {"key": "c1", "conclusion": "one", "sources": ["s1"]},
        {"key": "c2", "conclusion": "two", "prerequisites": ["c1"]},
        {"key": "c3", "conclusion": "three", "prerequisites": ["c2"]},
    ],
    sources=[{"key": "s1"}],
)


def with_steps(document: Document, **steps: dict[str, Any] | None) -> Document:
    """The document with steps changed or added (given fields) or removed (None)."""
    rows = {row["key"]: row for row in document.section("checklist")["checklist"]}
    for key, fields in steps.items():
        if fields is None:
            del rows[key]
        else:
            rows[key] = {**rows.get(key, {"key": key}), **fields}
    return document.with_section("checklist", {"checklist": list(rows.values())})


def conclusions(document: Document | None) -> dict[str, str]:
    assert document is not None
    return {step.key: step.conclusion for step in document.checklist}


def test_merge_takes_both_sides_of_different_fields() -> None:
    mine = replace(BASE, question="Which year exactly?")
    theirs = replace(BASE, answer="1891", design="Other section")
    merged, conflicts = merge_section(BASE, mine, theirs, "question")
    assert merged is not None
    assert conflicts == []
    assert (merged.question, merged.answer, merged.design) == ("Which year exactly?", "1891", "Other section")


def test_merge_of_a_text_that_both_changed_is_a_conflict() -> None:
    merged, (conflict,) = merge_section(
        BASE, replace(BASE, question="Mine?"), replace(BASE, question="Theirs?"), "question"
    )
    assert merged is None
    assert (conflict.path, conflict.base, conflict.mine, conflict.theirs) == (
        "question", "Which year?", "Mine?", "Theirs?",
    )  # fmt: skip


def test_merge_of_the_same_change_on_both_sides_is_no_conflict() -> None:
    both = replace(BASE, question="Same?")
    merged, conflicts = merge_section(BASE, both, both, "question")
    assert conflicts == []
    assert merged == both


def test_merge_of_sets_takes_additions_and_removals_of_both() -> None:
    mine, theirs = replace(BASE, answer_aliases=("b", "c")), replace(BASE, answer_aliases=("a", "b", "d"))
    merged, _ = merge_section(BASE, mine, theirs, "question")
    assert merged is not None
    assert merged.answer_aliases == ("b", "c", "d")


def test_merge_of_steps_by_key_and_field() -> None:
    mine = with_steps(BASE, c1={"conclusion": "one, better"}, c4={"conclusion": "mine"})
    theirs = with_steps(BASE, c1={"sources": ["s1", "s2"]}, c2=None, c5={"conclusion": "theirs"})
    merged, conflicts = merge_section(BASE, mine, theirs, "checklist")
    assert conflicts == []
    assert merged is not None
    assert conclusions(merged) == {"c1": "one, better", "c3": "three", "c4": "mine", "c5": "theirs"}
    assert merged.checklist[0].sources == ("s1", "s2")


def test_merge_of_a_step_that_one_removed_and_one_changed_is_a_conflict() -> None:
    mine, theirs = with_steps(BASE, c2=None), with_steps(BASE, c2={"conclusion": "two, better"})
    for sides in ((mine, theirs), (theirs, mine)):
        merged, (conflict,) = merge_section(BASE, *sides, "checklist")
        assert merged is None
        assert (conflict.path, conflict.where, conflict.field) == ("checklist.c2", (("Step", "c2"),), "")
        assert (conflict.mine is None) == (sides[0] is mine)


def test_merge_of_one_new_key_on_both_sides_is_a_conflict_unless_alike() -> None:
    mine, theirs = with_steps(BASE, c4={"conclusion": "mine"}), with_steps(BASE, c4={"conclusion": "theirs"})
    merged, (conflict,) = merge_section(BASE, mine, theirs, "checklist")
    assert merged is None
    assert (conflict.path, conflict.base) == ("checklist.c4", None)
    assert merge_section(BASE, mine, mine, "checklist") == (mine, [])


def order(document: Document, *keys: str) -> Document:
    steps = {step.key: step for step in document.checklist}
    return replace(document, checklist=tuple(steps[key] for key in keys))


def test_merge_of_an_order_that_one_side_changed() -> None:
    mine, theirs = order(BASE, "c3", "c1", "c2"), with_steps(BASE, c2={"conclusion": "two, better"})
    for sides in ((mine, theirs), (theirs, mine)):
        merged, conflicts = merge_section(BASE, *sides, "checklist")
        assert conflicts == []
        assert list(conclusions(merged).items()) == [("c3", "three"), ("c1", "one"), ("c2", "two, better")]


def test_merge_of_two_orders_is_a_conflict() -> None:
    merged, (conflict,) = merge_section(BASE, order(BASE, "c3", "c1", "c2"), order(BASE, "c2", "c1", "c3"), "checklist")
    assert merged is None
    assert (conflict.path, conflict.field, conflict.mine) == ("checklist", "order", ["c3", "c1", "c2"])


def test_merge_puts_an_added_step_after_the_one_before_it() -> None:
    mine = order(with_steps(BASE, c4={}), "c1", "c4", "c2", "c3")
    theirs = order(with_steps(BASE, c5={}), "c5", "c1", "c2", "c3")
    merged, _ = merge_section(BASE, mine, theirs, "checklist")
    assert list(conclusions(merged)) == ["c5", "c1", "c4", "c2", "c3"]


def test_merge_of_extra_by_name_even_when_it_is_called_like_a_list() -> None:
    base = replace(BASE, extra={"nodes": [1], "a": 1})
    mine, theirs = replace(base, extra={"nodes": [1, True], "a": 1}), replace(base, extra={"nodes": [1], "b": 2})
    merged, conflicts = merge_section(base, mine, theirs, "metadata")
    assert conflicts == []
    assert merged is not None
    assert merged.extra == {"nodes": [1, True], "b": 2}
    clash = replace(base, extra={"nodes": [1, 3], "a": 1})
    assert [c.path for c in merge_section(base, mine, clash, "metadata")[1]] == ["extra.nodes"]


def test_merge_refuses_a_key_that_the_other_used_in_another_section() -> None:
    theirs = replace(BASE, sources=(*BASE.sources, replace(BASE.sources[0], key="c4")))
    with pytest.raises(DocumentError, match=r"sources\.c4"):
        merge_section(BASE, with_steps(BASE, c4={}), theirs, "checklist")


@settings(max_examples=30)
@given(documents(), documents(), documents(), st.sampled_from(list(SECTIONS)))
def test_merge_of_any_three_gives_a_document_or_conflicts_and_one_side_alone_wins(
    base: Document, mine: Document, theirs: Document, name: str
) -> None:  # fmt: skip
    merged, conflicts = merge_section(base, mine, theirs, name)
    assert (merged is None) == bool(conflicts)
    assert merge_section(base, base, theirs, name) == (theirs, [])
    mine_only, none = merge_section(theirs, mine, theirs, name)
    assert none == []
    assert mine_only is not None
    assert mine_only.section_hashes[name] == mine.section_hashes[name]
