"""Places of an item that people talk about: sections, fields, elements and fields of elements, by a short path.

PURE: imports no Django, only `annotation.document`. Paths: `question`, `checklist`, `c3`, `c3.why_needed`, `i1.k1` (a
region of an image), `i1.k1.note`, `n2.properties.1.value` and `rivals.2.answer` (by number, from 1). `data` is a
document as plain JSON with every field present, as `Item.document` and `Document.to_json` have it.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from annotation.document import SECTIONS, Document

SECTION_OF: Final = {field: section for section, fields in SECTIONS.items() for field in fields}
#: List of elements -> its fields that are plain text, which an edit can be suggested for; "" is the document itself.
#: Lists of texts (aliases) are edited as lines.
TEXT_FIELDS: Final[dict[str, tuple[str, ...]]] = {
    "": ("question", "answer", "answer_aliases", "design", "subtask"),
    "nodes": ("entity", "aliases"),
    "properties": ("name", "value"),
    "relations": ("via", "description"),
    "checklist": ("conclusion", "why_needed"),
    "sources": ("title", "claim", "quote", "locator", "url"),
    "images": ("alt", "caption", "credit", "license"),
    "regions": ("note",),
    "rivals": ("answer", "excluded_by"),
}
_ABOUT: Final = {"nodes": "entity", "relations": "via", "checklist": "conclusion", "sources": "title", "images": "alt"}
_INNER: Final = {"nodes": "properties", "images": "regions"}

Data = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Place:
    """Where an anchor points in a document."""

    anchor: str
    section: str  # "" for the whole item
    list_name: str = ""  # of the element; "" for a section or a field of the document
    key: str = ""
    number: int = 0  # of the element in its list, from 1
    field: str = ""  # what stands behind the element's key, or the document's field
    about: str = ""  # the element in its own words


def _elements(data: Data) -> Iterator[tuple[str, int, Data]]:
    """Every keyed element with its list and its number there, from 1."""
    for list_name in _ABOUT:
        for number, element in enumerate(data[list_name], 1):
            yield list_name, number, element


def _numbered(text: str, rows: Sequence[Any]) -> Any:
    """The row of a number from 1, written in digits; None when there is none."""
    good = text.isascii() and text.isdecimal() and len(text) < 6 and 1 <= int(text) <= len(rows)
    return rows[int(text) - 1] if good else None


def _reach(data: Data, path: str) -> tuple[Place, str, Any, str] | None:
    """The place of a path behind an element, with the list, the object and the field that it ends at."""
    key, dot, rest = path.partition(".")
    way = rest.split(".") if dot else []
    if key == "rivals":
        rival = _numbered(way[0], data["rivals"]) if way else None
        if rival is None or len(way) > 2 or (len(way) == 2 and way[1] not in rival):
            return None
        number, field = int(way[0]), "".join(way[1:])
        about = rival["answer"]
        return Place(path, "question", "rivals", f"rivals.{number}", number, field, about), "rivals", rival, field
    for list_name, number, element in _elements(data):
        if element["key"] != key:
            continue
        place = Place(path, SECTION_OF[list_name], list_name, key, number, rest, element[_ABOUT[list_name]])
        if not way or (len(way) == 1 and way[0] in element):
            return place, list_name, element, rest
        inner = _INNER.get(list_name, "")
        if way[0] == inner:
            way = way[1:]
        if not inner or not 1 <= len(way) <= 2:
            return None
        by_key = {e["key"]: e for e in element[inner]} if inner == "regions" else {}
        found = by_key.get(way[0]) or (_numbered(way[0], element[inner]) if inner == "properties" else None)
        if found is None or (len(way) == 2 and way[1] not in found):
            return None
        return place, inner, found, "".join(way[1:])
    return None


def find_place(data: Data, anchor: str) -> Place | None:
    """The place of an anchor; None when the document has no such place. "" is the whole item."""
    if anchor == "" or anchor in SECTIONS:
        return Place(anchor, anchor)
    if anchor in SECTION_OF:
        return Place(anchor, SECTION_OF[anchor], field=anchor)
    reached = _reach(data, anchor)
    return reached[0] if reached else None


def _holder(data: Data, path: str) -> tuple[str, Any, str] | None:
    """(section, object, field) of a text that an edit can be suggested for; None where there is none."""
    if path in TEXT_FIELDS[""]:
        return SECTION_OF[path], data, path
    reached = _reach(data, path)
    if reached is None or reached[3] not in TEXT_FIELDS[reached[1]]:
        return None
    return reached[0].section, reached[2], reached[3]


def text_at(data: Data, path: str) -> str | None:
    """The text at a path, a list of texts as lines; None when there is none that an edit can be suggested for."""
    held = _holder(data, path)
    if held is None:
        return None
    value = held[1][held[2]]
    return "\n".join(value) if isinstance(value, list) else str(value)


def with_text(document: Document, path: str, text: str) -> tuple[str, Document]:
    """The section that a path is in, and the document with that text there.

    Raises KeyError when there is no such text, DocumentError when the text cannot stand there.
    """
    data = document.to_json()
    held = _holder(data, path)
    if held is None:
        raise KeyError(path)
    section, holder, field = held
    holder[field] = [line for line in text.splitlines() if line.strip()] if isinstance(holder[field], list) else text
    return section, document.with_section(section, {name: data[name] for name in SECTIONS[section]})


def text_paths(data: Data, anchor: str) -> list[str]:
    """Paths of the texts at and under an anchor, in the order of the document; "" for all."""
    paths = [(name, SECTION_OF[name]) for name in TEXT_FIELDS[""]]
    for number, _rival in enumerate(data["rivals"], 1):
        paths += [(f"rivals.{number}.{name}", "question") for name in TEXT_FIELDS["rivals"]]
    for list_name, _number, element in _elements(data):
        key, section, inner = element["key"], SECTION_OF[list_name], _INNER.get(list_name, "")
        paths += [(f"{key}.{name}", section) for name in TEXT_FIELDS[list_name]]
        for number, part in enumerate(element[inner] if inner else (), 1):
            start = f"{key}.{part['key']}" if inner == "regions" else f"{key}.properties.{number}"
            paths += [(f"{start}.{name}", section) for name in TEXT_FIELDS[inner]]
    if anchor in SECTIONS and anchor not in TEXT_FIELDS[""]:
        return [path for path, section in paths if section == anchor]
    return [path for path, _section in paths if not anchor or path == anchor or path.startswith(f"{anchor}.")]
