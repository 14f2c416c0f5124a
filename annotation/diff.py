"""Difference of two item documents, field by field with words marked, and a three-way merge of one section.

PURE: imports no Django, only `annotation.document`. Labels are English templates with parameters ("Step {key}:
conclusion"), which the Django side translates; `Change.label` is the English text.
"""

from dataclasses import dataclass
from typing import Any, Final, Literal

Kind = Literal["added", "removed", "changed", "moved"]
RunKind = Literal["equal", "insert", "delete"]

DEADLINE: Final = 0.2  # seconds for the words of one field; beyond it the rest is one deletion and one insertion
MARKED: Final = 200_000  # characters; longer texts are not marked by word

# section field -> what one element of it is called
_ELEMENTS: Final = {
    "nodes": "Node",
    "relations": "Relation",
    "checklist": "Step",
    "sources": "Source",
    "images": "Image",
    "rivals": "Rival",
    "properties": "property",
    "regions": "region",
}
_WORDS: Final = {"from_node": "from", "to_node": "to", "excluded_by": "excluded by", "url": "URL", "sha256": "SHA-256"}


@dataclass(frozen=True, slots=True)
class Run:
    """A piece of text that both sides share, or that one of them has."""

    kind: RunKind
    text: str


@dataclass(frozen=True, slots=True)
class Change:
    """One field that differs, or one element that came, went or moved.

    kind: added, removed, moved (an element; `old` and `new` are then its place among the elements that both sides
    have, from 1), changed (a field). A changed text has `runs`; a changed list has `added` and `removed` values, both
    empty where only the order changed; `old` and `new` are there in any case.
    """

    section: str
    path: str  # e.g. checklist.c3.conclusion
    label: str  # e.g. Step c3: conclusion
    kind: Kind
    old: Any = None
    new: Any = None
    runs: tuple[Run, ...] = ()
    added: tuple[str, ...] = ()
    removed: tuple[str, ...] = ()
