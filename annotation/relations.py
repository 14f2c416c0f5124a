"""What is amiss with the relations of a Node-Relation graph: ends that are missing, circles of one, twins, no property.

PURE: imports no Django, only `annotation.document`.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

from annotation.document import Document

Flaw = Literal["no_end", "loop", "duplicate", "no_via", "no_property"]


@dataclass(frozen=True, slots=True)
class RelationNote:
    """One flaw of one relation.

    subject: the missing node's key ("" when none is named), the earlier twin's key, or the node whose property `via`
    should be. `via` as it was typed.
    """

    key: str
    flaw: Flaw
    subject: str = ""
    via: str = ""


def _plain(text: str) -> str:
    return " ".join(text.split()).casefold()


def relation_notes(document: Document) -> Iterator[RelationNote]:
    """The flaws of each relation, in document order; none for relations that are whole.

    no_end: an end that is no node. loop: from a node to itself. duplicate: the ends and the property of an earlier one.
    no_via, no_property: travels on nothing, or on something that is no property of the node it starts from. Names are
    compared without regard to case and spaces.
    """
    properties = {node.key: {_plain(p.name) for p in node.properties if p.name.strip()} for node in document.nodes}
    earlier: dict[tuple[str, str, str], str] = {}
    for relation in document.relations:
        start, end, via = relation.from_node, relation.to_node, _plain(relation.via)
        for key in dict.fromkeys((start, end)):
            if key not in properties:
                yield RelationNote(relation.key, "no_end", key)
        if start == end and start in properties:
            yield RelationNote(relation.key, "loop", start)
        twin = earlier.setdefault((start, end, via), relation.key)
        if twin != relation.key:
            yield RelationNote(relation.key, "duplicate", twin)
        if not via:
            yield RelationNote(relation.key, "no_via", start)
        elif start in properties and via not in properties[start]:
            yield RelationNote(relation.key, "no_property", start, relation.via)
