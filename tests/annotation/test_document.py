"""The item document: reading with named problems, canonical form, hashes, sections and links."""

import hashlib
import json
from dataclasses import fields, replace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from annotation import document as documents_module
from annotation.document import (
    MAX_INT,
    SECTIONS,
    Document,
    DocumentError,
    Link,
    Problem,
    canonical_bytes,
    canonical_hash,
    clean_text,
    dangling_links,
    elements,
    empty_document,
    images_of_pictures,
    links,
    read_document,
    unlink,
)
from tests.documents import good_document
from tests.strategies import documents, json_values, raw_documents


def problems_of(data: Any) -> dict[str, str]:
    """Path -> message of each problem of the data."""
    with pytest.raises(DocumentError) as error:
        read_document(data)
    return {problem.path: problem.message for problem in error.value.problems}


def item(**fields: Any) -> Document:
    return read_document({"id": "x", **fields})


# --- reading: every kind of problem names its path and what to do -------------------------------------------------


@pytest.mark.parametrize(
    ("data", "path", "message"),
    [
        ({"question": 5}, "question", "must be text, not a whole number"),
        ({"question": ["a"]}, "question", "must be text, not a list"),
        ({"answer": True}, "answer", "must be text, not true or false"),
        ({"design": {"a": 1}}, "design", "must be text, not an object"),
        ({"category": 3}, "category", "must be text, not a whole number"),
        ({"template": "loop"}, "template", "must be one of linear, multi_branch, not 'loop'"),
        ({"template": ["linear"]}, "template", "must be one of linear, multi_branch"),
        ({"as_of": "30.11.2026"}, "as_of", "must be a day like 2026-11-30, not '30.11.2026'"),
        ({"as_of": "2026-13-01"}, "as_of", "must be a day like 2026-11-30"),
        ({"as_of": "2026-02-30"}, "as_of", "must be a day like 2026-11-30"),
        ({"as_of": "２０２６-11-30"}, "as_of", "must be a day like 2026-11-30"),
        ({"answer_aliases": "337"}, "answer_aliases", "must be a list, not text"),
        ({"answer_aliases": [7]}, "answer_aliases[0]", "must be text, not a whole number"),
        ({"answer_sources": ["s 1"]}, "answer_sources[0]", "must be a key of up to 40 letters, digits, - and _"),
        ({"nodes": {"key": "n1"}}, "nodes", "must be a list, not an object"),
        ({"nodes": ["n1"]}, "nodes[0]", "must be an object, not text"),
        ({"nodes": [None]}, "nodes[0]", "must be an object, not nothing (null)"),
        ({"nodes": [{"entity": "A"}]}, "nodes[0].key", "must be a key"),
        ({"nodes": [{"key": "n" * 41}]}, "nodes[0].key", "must be a key of up to 40"),
        ({"nodes": [{"key": "-n"}]}, "nodes[0].key", "must be a key"),
        ({"nodes": [{"key": "n1\n"}]}, "nodes[0].key", "must be a key"),
        ({"nodes": [{"key": "n1", "kind": "thing"}]}, "nodes[0].kind", "must be one of person, organization"),
        (
            {"nodes": [{"key": "n1", "properties": [{"modality": "smell"}]}]},
            "nodes[0].properties[0].modality",
            "must be one of text, image",
        ),
        ({"relations": [{"key": "r1", "to": "n1"}]}, "relations[0].from", "must be a key"),
        (
            {"checklist": [{"key": "c1"}, {"key": "c2", "effect": 1}]},
            "checklist[1].effect",
            "must be one of identifies",
        ),
        ({"checklist": [{"key": "c1", "conclusion": 1.5}]}, "checklist[0].conclusion", "must be text"),
        ({"sources": [{"key": "s1", "accessed": "today"}]}, "sources[0].accessed", "must be a day like 2026-11-30"),
        ({"images": [{"key": "i1", "sha256": "ABC"}]}, "images[0].sha256", "must be 64 lower-case hexadecimal digits"),
        ({"images": [{"key": "i1", "width": 0}]}, "images[0].width", "must be a whole number from 1 to 1000000, not 0"),
        ({"images": [{"key": "i1", "width": 1.0}]}, "images[0].width", "must be a whole number"),
        ({"images": [{"key": "i1", "height": True}]}, "images[0].height", "must be a whole number"),
        ({"images": [{"key": "i1", "role": "logo"}]}, "images[0].role", "must be one of question, evidence"),
        (
            {"images": [{"key": "i1", "regions": [{"key": "g1", "x": 10_001, "y": 0, "width": 1, "height": 1}]}]},
            "images[0].regions[0].x",
            "must be a whole number from 0 to 10000, not 10001",
        ),
        ({"extra": []}, "extra", "must be an object, not a list"),
        ({"extra": {"a": 0.5}}, "extra.a", "write it as text"),
        ({"extra": {"a": float("nan")}}, "extra.a", "write it as text"),
        ({"extra": {"a": [1, 2**53]}}, "extra.a[1]", "beyond 2^53; write it as text"),
        ({"extra": {"a": -(2**53)}}, "extra.a", "beyond 2^53"),
        ({"extra": {"a": {1, 2}}}, "extra.a", "must be JSON, not a set"),
        ({"schema": "lhdr.item/9"}, "schema", "'lhdr.item/9' is not known here; this version reads lhdr.item/1"),
        ({"id": ""}, "id", "is missing; give each item an id of its own"),
        ({"id": " "}, "id", "is missing"),
        ({"id": "i" * 201}, "id", "is longer than 200 characters; shorten it"),
        ({"id": 12}, "id", "must be text, not a whole number"),
        ({"level": 2, "extra": {"level": 1}}, "extra", "holds level also given beside it; keep one"),
    ],
)
def test_read_names_path_and_remedy(data: dict[str, Any], path: str, message: str) -> None:
    found = problems_of({"id": "x", **data})
    assert message in found[path]


@pytest.mark.parametrize("data", [None, [], "text", 5])
def test_read_refuses_what_is_no_object(data: Any) -> None:
    assert "an item must be a JSON object" in problems_of(data)[""]


def test_read_reports_all_problems_at_once() -> None:
    found = problems_of({"question": 1, "template": "loop", "nodes": [{"key": "n 1"}]})
    assert set(found) == {"question", "template", "nodes[0].key", "id"}


def test_problem_and_error_read_as_sentences() -> None:
    problems = [Problem("id", "is missing"), Problem("", "must be an object")]
    assert str(DocumentError(problems)) == "id: is missing; must be an object"


@pytest.mark.parametrize(
    ("first", "second", "path"),
    [("nodes", "nodes", "nodes.a"), ("nodes", "sources", "sources.a"), ("relations", "images", "images.a")],
)
def test_read_refuses_a_key_that_is_used_twice_anywhere(first: str, second: str, path: str) -> None:
    rows = {"nodes": {"key": "a"}, "relations": {"key": "a", "from": "n", "to": "n"}}
    data: dict[str, Any] = {"id": "x", first: [rows.get(first, {"key": "a"})]}
    data[second] = [*data.get(second, []), {"key": "a"}]
    assert f"already used in {first}" in problems_of(data)[path]


BAD_TEXTS = {"NUL": "a\0b", "high surrogate": "a\ud83d", "low surrogate": "\udc00b"}
TEXT_PLACES: dict[str, Any] = {
    "id": lambda text: {"id": text},
    "question": lambda text: {"question": text},
    "answer_aliases[0]": lambda text: {"answer_aliases": [text]},
    "operation_tags[0]": lambda text: {"operation_tags": [text]},
    "category": lambda text: {"category": text},
    "as_of": lambda text: {"as_of": text},
    "rivals[0].excluded_by": lambda text: {"rivals": [{"excluded_by": text}]},
    "nodes[0].key": lambda text: {"nodes": [{"key": text}]},
    "nodes[0].properties[0].value": lambda text: {"nodes": [{"key": "n1", "properties": [{"value": text}]}]},
    "checklist[0].conclusion": lambda text: {"checklist": [{"key": "c1", "conclusion": text}]},
    "checklist[0].sources[0]": lambda text: {"checklist": [{"key": "c1", "sources": [text]}]},
    "sources[0].url": lambda text: {"sources": [{"key": "s1", "url": text}]},
    "images[0].sha256": lambda text: {"images": [{"key": "i1", "sha256": text}]},
    "extra.deep.list[0]": lambda text: {"extra": {"deep": {"list": [text]}}},
    "document.unknown": lambda text: {"unknown": text},
}


@pytest.mark.parametrize("text", BAD_TEXTS.values(), ids=BAD_TEXTS)
@pytest.mark.parametrize("path", TEXT_PLACES)
def test_read_refuses_characters_that_cannot_be_stored_everywhere(path: str, text: str) -> None:
    with pytest.raises(DocumentError) as error:
        read_document({"id": "x", **TEXT_PLACES[path](text)})
    messages = [problem.message for problem in error.value.problems if problem.path == path]
    assert any("which cannot be stored; remove it" in message for message in messages)


@pytest.mark.parametrize("where", ["extra", "document", "nodes[0]"])
def test_read_refuses_bad_characters_in_names_too(where: str) -> None:
    data: dict[str, Any] = {
        "extra": {"extra": {"a\0": 1}},
        "document": {"a\0": 1},
        "nodes[0]": {"nodes": [{"key": "n1", "a\0": 1}]},
    }
    assert any("U+0000" in message for message in problems_of({"id": "x", **data[where]}).values())


def test_read_accepts_a_whole_surrogate_pair_that_json_joined() -> None:
    assert item(**json.loads('{"question": "\\ud83d\\ude00"}')).question == "😀"


@pytest.mark.parametrize(
    "data",
    [
        {"template": "\ud800", "nodes": [{"key": "\udfff"}]},
        {"schema": "\ud800"},
        {"extra": {"a\ud800": {"b\0": "\0"}}},
        {"nodes": [{"key": "n1", "a\ud800": 0.5}]},
        {"a\ud800": 1, "extra": {"a\ud800": 1}},
    ],
)
def test_problems_can_be_printed_whatever_the_data_holds(data: dict[str, Any]) -> None:
    with pytest.raises(DocumentError) as error:
        read_document({"id": "x", **data})
    assert "\0" not in str(error.value)
    str(error.value).encode()  # a lone surrogate would raise


def test_with_section_problems_can_be_printed_when_a_name_cannot() -> None:
    with pytest.raises(DocumentError) as error:
        item().with_section("design", {"a\ud800": 1})
    str(error.value).encode()


def test_read_says_of_a_broken_element_nothing_more_than_that() -> None:
    assert problems_of({"id": "x", "nodes": ["n1", "n2"]}) == {
        "nodes[0]": "must be an object, not text",
        "nodes[1]": "must be an object, not text",
    }
    assert problems_of({"id": 12}) == {"id": "must be text, not a whole number"}


def test_read_refuses_nesting_without_a_recursion_error() -> None:
    deep: Any = 1
    for _ in range(5_000):
        deep = [deep]
    (path,) = problems_of({"id": "x", "extra": {"a": deep}})
    assert path.startswith("extra.a[0][0]")
    assert "is nested more than 20 deep; flatten it" in problems_of({"id": "x", "unknown": deep})[
        f"document.unknown{'[0]' * 20}"
    ]  # fmt: skip


def test_read_accepts_nulls_and_missing_fields() -> None:
    nothing = {f.name: None for f in fields(Document) if f.name not in ("id", "schema")}
    assert read_document({"id": "x", **nothing}) == replace(empty_document("x"), language="")
    assert read_document({"id": "x"}) == replace(empty_document("x"), language="")


def test_read_keeps_what_it_has_no_field_for_at_every_level() -> None:
    document = item(
        level=2,
        rivals=[{"answer": "a", "why": "w"}],
        nodes=[{"key": "n1", "note": [1], "properties": [{"name": "p", "unit": "m"}]}],
        relations=[{"key": "r1", "from": "n1", "to": "n1", "weight": 3}],
        checklist=[{"key": "c1", "extra": {"a": 1}, "b": 2}],
        sources=[{"key": "s1", "archive": None}],
        images=[{"key": "i1", "regions": [{"key": "g1", "x": 0, "y": 0, "width": 1, "height": 1, "color": "red"}]}],
    )
    assert document.extra == {"level": 2}
    assert document.rivals[0].extra == {"why": "w"}
    assert document.nodes[0].extra == {"note": [1]}
    assert document.nodes[0].properties[0].extra == {"unit": "m"}
    assert document.relations[0].extra == {"weight": 3}
    assert document.checklist[0].extra == {"a": 1, "b": 2}
    assert document.sources[0].extra == {"archive": None}
    assert document.images[0].regions[0].extra == {"color": "red"}


def test_read_leaves_its_input_alone() -> None:
    data = {"id": "x", "level": 2, "extra": {"a": [1]}, "nodes": [{"key": "n1", "b": 1}]}
    before = json.dumps(data)
    document = read_document(data)
    document.extra["a"].append(2)
    assert json.dumps(data) == before


# --- canonical form -----------------------------------------------------------------------------------------------


def test_canonical_form_of_a_small_document() -> None:
    # Keys by code point (not as the fields stand), no spaces, UTF-8 as it is, every field present.
    assert (
        canonical_bytes(item(question="Où?").to_json())
        == (
            '{"answer":"","answer_aliases":[],"answer_sources":[],"as_of":"","canary":"","category":null,"checklist":[],'
            '"design":"","extra":{},"id":"x","images":[],"language":"","nodes":[],"operation_tags":[],"question":"Où?",'
            '"relations":[],"rivals":[],"schema":"lhdr.item/1","sources":[],"subtask":"","template":null}'
        ).encode()
    )


def test_hash_is_the_sha256_of_the_canonical_form() -> None:
    document = item(question="Où?")
    assert document.hash == hashlib.sha256(canonical_bytes(document.to_json())).hexdigest()


@pytest.mark.parametrize("cls", ["Rival", "Property", "Node", "Relation", "Step", "Source", "Region", "Image"])
def test_canonical_form_has_every_field_of_every_element(cls: str) -> None:
    document = item(
        rivals=[{}],
        nodes=[{"key": "n1", "properties": [{}]}],
        relations=[{"key": "r1", "from": "n1", "to": "n1"}],
        checklist=[{"key": "c1"}],
        sources=[{"key": "s1"}],
        images=[{"key": "i1", "regions": [{"key": "g1", "x": 0, "y": 0, "width": 0, "height": 0}]}],
    )
    data = document.to_json()
    element = {
        "Rival": data["rivals"], "Property": data["nodes"][0]["properties"], "Node": data["nodes"],
        "Relation": data["relations"], "Step": data["checklist"], "Source": data["sources"], "Image": data["images"],
        "Region": data["images"][0]["regions"],
    }[cls][0]  # fmt: skip
    names = {"from_node": "from", "to_node": "to"}
    assert set(element) == {names.get(f.name, f.name) for f in fields(getattr(documents_module, cls))}


def test_line_ends_change_no_hash() -> None:
    def version(end: str) -> Document:
        text = f"one{end}two{end}"
        return item(
            question=text, design=text, checklist=[{"key": "c1", "conclusion": text}], extra={"a": [text]}, unknown=text
        )

    assert version("\n").question == version("\r\n").question == version("\r").question == "one\ntwo\n"
    assert version("\n").hash == version("\r\n").hash == version("\r").hash


def test_order_of_fields_changes_no_hash_and_order_of_steps_does() -> None:
    steps = [{"key": "c1", "conclusion": "a"}, {"conclusion": "b", "key": "c2"}]
    one = read_document({"id": "x", "question": "q", "checklist": steps})
    other = read_document({"checklist": [dict(reversed(step.items())) for step in steps], "question": "q", "id": "x"})
    assert one.hash == other.hash
    assert one.hash != read_document({"id": "x", "question": "q", "checklist": steps[::-1]}).hash


def test_sets_are_sorted_and_deduplicated_and_links_keep_their_order() -> None:
    document = item(
        answer_aliases=["b", "a", "", "b"],
        operation_tags=["z", "y", "z"],
        answer_sources=["s2", "s1", "s2"],
    )
    assert document.answer_aliases == ("a", "b")
    assert document.operation_tags == ("y", "z")
    assert document.answer_sources == ("s2", "s1")


def test_text_is_kept_exactly_as_typed() -> None:
    typed = "  e\u0301 \u00e9 \u200f\tx  "  # neither normalised nor stripped
    assert item(question=typed).question == typed
    assert clean_text(typed) == typed


def test_canonical_hash_tells_true_from_one() -> None:
    assert canonical_hash({"a": True}) != canonical_hash({"a": 1})


def test_whole_numbers_up_to_the_limit_are_kept() -> None:
    assert item(extra={"a": MAX_INT, "b": -MAX_INT}).extra == {"a": MAX_INT, "b": -MAX_INT}


@given(documents())
def test_reading_what_was_written_gives_the_same_bytes(document: Document) -> None:
    written = canonical_bytes(document.to_json())
    again = read_document(json.loads(written))
    assert canonical_bytes(again.to_json()) == written
    assert again == document
    assert again.hash == document.hash


@settings(max_examples=50)
@given(raw_documents(), st.dictionaries(st.sampled_from(["x-a", "x-b", "level"]), json_values))
def test_unknown_fields_survive_a_round_trip(data: dict[str, Any], unknown: dict[str, Any]) -> None:
    data["extra"] = {}
    document = read_document({**data, **unknown})
    assert set(document.extra) == set(unknown)
    assert read_document(document.to_json()).hash == document.hash


# --- sections -----------------------------------------------------------------------------------------------------


def test_sections_hold_every_field_but_schema_and_id_once() -> None:
    names = [name for section in SECTIONS.values() for name in section]
    assert len(names) == len(set(names))
    assert set(names) == {f.name for f in fields(Document)} - {"schema", "id"}


CHANGES: dict[str, dict[str, Any]] = {
    "question": {"answer": "another"},
    "design": {"design": "another"},
    "graph": {"relations": ()},
    "checklist": {"checklist": ()},
    "sources": {"sources": ()},
    "images": {"images": ()},
    "metadata": {"extra": {"another": 1}},
}


@pytest.mark.parametrize("name", SECTIONS)
def test_section_hash_changes_only_with_its_section(name: str) -> None:
    before = good_document()
    after = replace(before, **CHANGES[name])
    assert {n for n in SECTIONS if before.section_hashes[n] != after.section_hashes[n]} == {name}
    assert before.hash != after.hash


def test_section_hash_is_that_of_the_section_alone() -> None:
    document = good_document()
    for name in SECTIONS:
        assert document.section_hashes[name] == canonical_hash(document.section(name))
    with pytest.raises(KeyError):
        document.section("all")


@given(documents(), documents())
def test_with_section_replaces_that_section_and_nothing_else(one: Document, other: Document) -> None:
    for name in SECTIONS:
        changed = one.with_section(name, other.section(name))
        assert changed.id == one.id
        for n in SECTIONS:
            assert changed.section_hashes[n] == (other if n == name else one).section_hashes[n]


def test_with_section_empties_what_is_missing() -> None:
    changed = good_document().with_section("question", {"question": "Why?"})
    assert (changed.question, changed.answer, changed.rivals) == ("Why?", "", ())


@pytest.mark.parametrize(
    ("name", "content", "path", "message"),
    [
        ("all", {}, "section", "must be one of question, design, graph"),
        ("design", {"question": "q"}, "question", "is no field of section design; it has design"),
        ("design", {"design": 1}, "design", "must be text"),
        ("design", ["text"], "design", "must be an object, not a list"),
        ("sources", {"sources": [{"key": "c1"}]}, "sources.c1", "already used in checklist"),
        ("graph", {"nodes": [{"key": "n1"}, {"key": "n1"}]}, "nodes.n1", "already used in nodes"),
        ("checklist", {"checklist": [{"key": "c1", "conclusion": "\0"}]}, "checklist[0].conclusion", "U+0000"),
    ],
)
def test_with_section_names_what_is_wrong(name: str, content: Any, path: str, message: str) -> None:
    with pytest.raises(DocumentError) as error:
        item(checklist=[{"key": "c1"}]).with_section(name, content)
    assert message in {problem.path: problem.message for problem in error.value.problems}[path]


def test_hashes_of_a_changed_copy_are_its_own() -> None:
    before = good_document()
    old = before.hash  # cached
    assert replace(before, question="another").hash != old
    assert before.with_section("design", {"design": "x"}).hash != old


def test_prerequisite_positions_leave_out_missing_steps() -> None:
    document = item(checklist=[{"key": "c1", "prerequisites": ["c2", "c9"]}, {"key": "c2"}])
    assert document.step_positions == {"c1": 0, "c2": 1}
    assert document.prerequisite_positions() == [[1], []]


# --- links --------------------------------------------------------------------------------------------------------

LINKED = item(
    answer_sources=["s1"],
    rivals=[{"answer": "a", "sources": ["s2"]}],
    nodes=[{"key": "n1", "sources": ["s1"], "properties": [{"name": "logo", "sources": ["s2"]}]}, {"key": "n2"}],
    relations=[{"key": "r1", "from": "n1", "to": "n2", "sources": ["s2"]}],
    checklist=[
        {"key": "c1"},
        {"key": "c2", "prerequisites": ["c1"]},
        {"key": "c3", "prerequisites": ["c2", "c1"], "nodes": ["n1"], "relations": ["r1"], "sources": ["s1"],
         "images": ["i1"]},
    ],
    sources=[{"key": "s1", "captures": ["i1"]}, {"key": "s2"}],
    images=[{"key": "i1"}],
)  # fmt: skip


def test_links_are_all_listed_in_document_order() -> None:
    assert list(links(LINKED)) == [
        Link("answer_sources", "answer", "sources", "s1"),
        Link("rivals.1.sources", "rival 1", "sources", "s2"),
        Link("nodes.n1.sources", "n1", "sources", "s1"),
        Link("nodes.n1.properties.logo.sources", "n1", "sources", "s2"),
        Link("relations.r1", "r1", "nodes", "n1"),
        Link("relations.r1", "r1", "nodes", "n2"),
        Link("relations.r1.sources", "r1", "sources", "s2"),
        Link("checklist.c2.prerequisites", "c2", "checklist", "c1"),
        Link("checklist.c3.prerequisites", "c3", "checklist", "c2"),
        Link("checklist.c3.prerequisites", "c3", "checklist", "c1"),
        Link("checklist.c3.nodes", "c3", "nodes", "n1"),
        Link("checklist.c3.relations", "c3", "relations", "r1"),
        Link("checklist.c3.sources", "c3", "sources", "s1"),
        Link("checklist.c3.images", "c3", "images or regions", "i1"),
        Link("sources.s1.captures", "s1", "images", "i1"),
    ]
    assert dangling_links(LINKED) == []


def test_dangling_links_name_the_referrer_when_a_target_is_gone() -> None:
    without = replace(LINKED, images=())
    assert dangling_links(without) == [
        Link("checklist.c3.images", "c3", "images or regions", "i1"),
        Link("sources.s1.captures", "s1", "images", "i1"),
    ]


def test_dangling_links_when_the_key_belongs_to_another_list() -> None:
    document = item(checklist=[{"key": "c1", "sources": ["i1"]}], images=[{"key": "i1"}])
    assert dangling_links(document) == [Link("checklist.c1.sources", "c1", "sources", "i1")]


def test_unlink_of_a_source_takes_it_out_everywhere() -> None:
    without = unlink(LINKED, {"s2"})
    assert [link for link in links(without) if link.target == "s2"] == []
    assert [link for link in links(LINKED) if link.target != "s2"] == list(links(without))


def test_unlink_of_a_step_lets_its_dependents_lose_the_edge() -> None:
    assert unlink(LINKED, {"c2"}).checklist[2].prerequisites == ("c1",)
    document = item(
        checklist=[{"key": "c1"}, {"key": "c2", "prerequisites": ["c1"]}, {"key": "c3", "prerequisites": ["c2"]}]
    )
    assert unlink(document, {"c2"}).checklist[2].prerequisites == ()


def test_unlink_of_steps_lets_their_dependents_inherit() -> None:
    # c5 needs c4 needs c3 and c2, c3 needs c1. Without c3 and c4, c5 needs what they needed: c1 and c2.
    document = item(
        checklist=[
            {"key": "c1"},
            {"key": "c2"},
            {"key": "c3", "prerequisites": ["c1"]},
            {"key": "c4", "prerequisites": ["c3", "c2"]},
            {"key": "c5", "prerequisites": ["c4", "c2"]},
        ]
    )
    assert unlink(document, {"c3", "c4"}, inherit_prerequisites=True).checklist[4].prerequisites == ("c1", "c2")
    assert unlink(document, {"c3", "c4"}).checklist[4].prerequisites == ("c2",)


def test_unlink_of_a_node_removes_its_relations_and_the_links_to_them() -> None:
    without = unlink(LINKED, {"n2"})
    assert without.relations == ()
    assert without.checklist[2].relations == ()
    assert without.checklist[2].nodes == ("n1",)


@given(documents(), st.data())
def test_removing_elements_after_unlinking_them_leaves_no_dangling_link(
    document: Document, data: st.DataObject
) -> None:
    keys = [element.key for _, element in elements(document)]
    targets = set(data.draw(st.lists(st.sampled_from(keys), unique=True))) if keys else set()
    targets |= {r.key for image in document.images if image.key in targets for r in image.regions}
    inherit = data.draw(st.booleans())
    unlinked = unlink(document, targets, inherit_prerequisites=inherit)
    lists = {name: getattr(unlinked, name) for name in ("nodes", "relations", "checklist", "sources", "images")}
    left: dict[str, Any] = {
        name: tuple(e for e in elements if e.key not in targets) for name, elements in lists.items()
    }
    left["images"] = tuple(
        replace(image, regions=tuple(r for r in image.regions if r.key not in targets)) for image in left["images"]
    )
    assert dangling_links(replace(unlinked, **left)) == []


# --- pure ---------------------------------------------------------------------------------------------------------


def test_empty_document_is_valid() -> None:
    document = empty_document("x", "zh")
    assert read_document(document.to_json()) == document
    assert (document.language, document.hash) == ("zh", item(language="zh").hash)


@pytest.mark.parametrize("name", ["nodes", "relations", "checklist", "sources", "images"])
def test_elements_yield_every_list(name: str) -> None:
    document = good_document()
    assert [e for n, e in elements(document) if n == name] == list(getattr(document, name))


# --- regions ------------------------------------------------------------------------------------------------------

REGION = {"key": "g1", "x": 100, "y": 200, "width": 300, "height": 400, "note": "the clock"}


def with_region(**step: Any) -> Document:
    """Two images, the first with a region; one step."""
    return read_document(
        {
            "id": "x",
            "checklist": [{"key": "c1", "conclusion": "It shows noon.", **step}],
            "images": [{"key": "i1", "regions": [REGION]}, {"key": "i2"}],
            "sources": [{"key": "s1", "captures": ["i2"]}],
        }
    )


def test_step_may_refer_to_an_image_or_a_region() -> None:
    document = with_region(images=["i2", "g1"])
    assert dangling_links(document) == []
    assert [(e.key, name) for name, e in elements(document)][-3:] == [
        ("i1", "images"),
        ("g1", "regions"),
        ("i2", "images"),
    ]
    assert read_document(json.loads(canonical_bytes(document.to_json()))) == document


def test_captures_of_a_source_are_whole_images() -> None:
    document = with_region()
    source = replace(document.sources[0], captures=("g1",))
    assert [link.path for link in dangling_links(replace(document, sources=(source,)))] == ["sources.s1.captures"]


def test_link_to_a_missing_region_dangles_and_unlink_drops_it() -> None:
    document = with_region(images=["g1", "g2"])
    (link,) = dangling_links(document)
    assert (link.path, link.target, link.target_list) == ("checklist.c1.images", "g2", "images or regions")
    assert unlink(document, {"g2"}).checklist[0].images == ("g1",)


@pytest.mark.parametrize("key", ["i1", "i2", "c1", "s1"])
def test_key_of_a_region_used_elsewhere_is_named(key: str) -> None:
    data = with_region().to_json()
    data["images"][0]["regions"][0]["key"] = key
    with pytest.raises(DocumentError, match="already used"):
        read_document(data)


def test_images_of_pictures_tells_image_and_region() -> None:
    document = with_region()
    first, second = document.images
    assert images_of_pictures(document) == {"i1": (first, None), "g1": (first, first.regions[0]), "i2": (second, None)}
