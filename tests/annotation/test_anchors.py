"""Paths of places and texts in an item."""

import pytest

from annotation.anchors import find_place, text_at, text_paths, with_text
from annotation.diff import merge_words
from annotation.document import DocumentError
from tests.documents import good_data, good_document

DATA = good_document(
    images=[
        {
            **good_data()["images"][0],
            "regions": [{"key": "k1", "x": 1, "y": 1, "width": 9, "height": 9, "note": "A pier"}],
        }
    ]
).to_json()


@pytest.mark.parametrize(
    ("anchor", "section", "number", "field"),
    [
        ("", "", 0, ""),
        ("checklist", "checklist", 0, ""),
        ("answer", "question", 0, "answer"),
        ("c3", "checklist", 3, ""),
        ("c3.why_needed", "checklist", 3, "why_needed"),
        ("n2.aliases", "graph", 2, "aliases"),
        ("r1.from", "graph", 1, "from"),
        ("s4.quote", "sources", 4, "quote"),
        ("i1.k1", "images", 1, "k1"),
        ("i1.k1.note", "images", 1, "k1.note"),
        ("n1.properties.1.value", "graph", 1, "properties.1.value"),
        ("rivals.1", "question", 1, ""),
        ("rivals.1.excluded_by", "question", 1, "excluded_by"),
    ],
)
def test_a_place_is_found_with_its_section_and_number(anchor: str, section: str, number: int, field: str) -> None:
    place = find_place(DATA, anchor)
    assert place is not None
    assert (place.section, place.number, place.field) == (section, number, field)


@pytest.mark.parametrize(
    "anchor",
    ["c99", "c3.colour", "c3.", "c3.why_needed.x", "i1.k9", "i1.k1.colour", "n1.properties.9", "n1.properties.0.value",
     "rivals", "rivals.0", "rivals.9.answer", "rivals.1.answer.x", "x" * 500, "c3.conclusion.\x00", "²", "rivals.²"],
)  # fmt: skip
def test_a_place_that_is_none_is_none(anchor: str) -> None:
    assert (find_place(DATA, anchor) is None) == (anchor != "rivals")
    assert text_at(DATA, anchor) is None


def test_texts_are_read_and_written_by_the_same_path() -> None:
    document = good_document(images=DATA["images"])
    for path in text_paths(DATA, ""):
        before = text_at(DATA, path)
        assert before is not None, path
        _section, same = with_text(document, path, before)
        assert same.hash == document.hash, path
        section, changed = with_text(document, path, f"{before}!".strip())
        assert changed.section_hashes[section] != document.section_hashes[section], path


def test_aliases_are_lines() -> None:
    document = good_document()
    assert text_at(document.to_json(), "n1.aliases") == "Firth of Forth rail bridge"
    _section, changed = with_text(document, "n1.aliases", "Rail bridge\n\n Forth Rail Bridge ")
    assert len(changed.nodes[0].aliases) == 2


@pytest.mark.parametrize("path", ["c3", "c3.sources", "c3.key", "i1.sha256", "as_of", "category", "nodes", "r1.from"])
def test_what_is_no_text_cannot_be_written(path: str) -> None:
    with pytest.raises(KeyError):
        with_text(good_document(), path, "x")


def test_a_text_that_no_document_holds_is_refused() -> None:
    with pytest.raises(DocumentError):
        with_text(good_document(), "question", "a\x00b")


def test_texts_of_a_place_are_those_under_it() -> None:
    assert text_paths(DATA, "c3") == ["c3.conclusion", "c3.why_needed"]
    assert text_paths(DATA, "c3.why_needed") == ["c3.why_needed"]
    assert text_paths(DATA, "question") == ["question"]
    assert "s1.claim" in text_paths(DATA, "sources") and "c1.conclusion" not in text_paths(DATA, "sources")
    assert text_paths(DATA, "c99") == []


# base, mine, theirs, merged (worked out by hand)
@pytest.mark.parametrize(
    ("base", "mine", "theirs", "merged"),
    [
        ("The red bridge is old.", "The red bridge is very old.", "The long red bridge is old.",
         "The long red bridge is very old."),
        ("one two three", "one 2 three", "one two 3", "one 2 3"),
        ("one two three", "one 2 three", "one zwei three", None),
        ("one two three", "one 2 three", "one 2 three", "one 2 three"),
        ("one two three", "one three", "one two three four", "one three four"),
        ("one", "one two", "one three", None),
        ("", "new", "", "new"),
        ("", "new", "other", None),
        ("桥是红的。", "桥是旧的。", "这桥是红的。", "这桥是旧的。"),
        ("same", "same", "other", "other"),
    ],
)  # fmt: skip
def test_words_merge_unless_both_changed_the_same(base: str, mine: str, theirs: str, merged: str | None) -> None:
    assert merge_words(base, mine, theirs) == merged
    assert merge_words(base, theirs, mine) == merged
