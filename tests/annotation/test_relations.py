"""What is amiss with relations, worked by hand."""

from annotation.document import Document, read_document
from annotation.relations import RelationNote, relation_notes


def graph(*relations: tuple[str, str, str]) -> Document:
    """n1 has the properties Ship and first ruler, n2 has none; relations are (from, to, via)."""
    nodes = [
        {"key": "n1", "entity": "A", "properties": [{"name": "Ship"}, {"name": "first  ruler"}, {"name": ""}]},
        {"key": "n2", "entity": "B"},
    ]
    rows = [{"key": f"r{n}", "from": a, "to": b, "via": via} for n, (a, b, via) in enumerate(relations, 1)]
    return read_document({"id": "x", "nodes": nodes, "relations": rows})


def notes(*relations: tuple[str, str, str]) -> list[RelationNote]:
    return list(relation_notes(graph(*relations)))


def test_whole_relations_have_no_note() -> None:
    # case and spaces do not count; two relations of the same ends on different properties are two
    assert notes(("n1", "n2", "ship"), ("n1", "n2", "First ruler ")) == []
    assert notes() == []


def test_end_that_is_no_node_is_named_once() -> None:
    assert notes(("n1", "n9", "ship")) == [RelationNote("r1", "no_end", "n9")]
    assert notes(("n9", "n9", "ship")) == [RelationNote("r1", "no_end", "n9")]  # then nothing is known of its start


def test_relation_to_itself_is_a_loop() -> None:
    assert notes(("n1", "n1", "ship")) == [RelationNote("r1", "loop", "n1")]


def test_same_ends_and_property_are_a_duplicate_of_the_first() -> None:
    assert notes(("n1", "n2", "ship"), ("n1", "n2", " SHIP"), ("n1", "n2", "ship")) == [
        RelationNote("r2", "duplicate", "r1"),
        RelationNote("r3", "duplicate", "r1"),
    ]
    # the other way round it is another relation, on a property that n2 does not have
    assert notes(("n1", "n2", "ship"), ("n2", "n1", "ship")) == [RelationNote("r2", "no_property", "n2", "ship")]


def test_via_without_a_property_is_noted() -> None:
    assert notes(("n1", "n2", "cargo"), ("n1", "n2", " ")) == [
        RelationNote("r1", "no_property", "n1", "cargo"),
        RelationNote("r2", "no_via", "n1"),
    ]
