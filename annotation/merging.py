"""Both sides' changes to one section in one document, also where they clash, with what each clash is about.

PURE: imports no Django, only `annotation.diff` and `annotation.document`.
"""

import re
from collections.abc import Mapping
from copy import deepcopy
from dataclasses import dataclass
from typing import Any, Final

from annotation.diff import Conflict, merge_section
from annotation.document import Document, DocumentError, elements

_LETTER: Final = {"nodes": "n", "relations": "r", "checklist": "c", "sources": "s", "images": "i"}
_NAME_OF: Final = {"properties": "name", "regions": "key", "rivals": "answer"}


@dataclass(frozen=True)
class Merged:
    """document: theirs with mine, None where that cannot be told apart; clashes: where mine was taken instead.

    An element that one side removed and the other changed stays, as it was changed; an order that both changed is
    theirs.
    """

    document: Document | None
    clashes: tuple[Conflict, ...] = ()


def merge_both(base: Document, mine: Document, theirs: Document, section: str) -> Merged:
    """Every change of both sides; where they meet, mine. Links of the result may dangle, like those of any form."""
    old, ours, other = (deepcopy(side.section(section)) for side in (base, mine, theirs))
    try:
        _part_new_keys(old, ours, other, theirs)
        clashes: list[Conflict] = []
        for _round in range(3):  # what is settled may bring a clash to light inside an element, or of the order
            sides = [side.with_section(section, content) for side, content in ((base, old), (theirs, other))]
            merged, found = merge_section(sides[0], theirs.with_section(section, ours), sides[1], section)
            if merged is not None:
                return Merged(merged, tuple(clashes))
            clashes += found
            for clash in found:
                _settle(clash, old, ours, other)
    except (DocumentError, LookupError, ValueError, StopIteration):
        pass
    return Merged(None, tuple(clashes))


def _settle(clash: Conflict, old: dict[str, Any], ours: dict[str, Any], other: dict[str, Any]) -> None:
    """Change the three contents so that this clash is none any more. Raises LookupError when its place is not found."""
    name = clash.path.split(".")[0]
    if clash.field == "order":
        if "." in clash.path:
            raise LookupError(clash.path)
        place = {_label(name, element): n for n, element in enumerate(old[name])}
        known = sorted((e for e in ours[name] if _label(name, e) in place), key=lambda e: place[_label(name, e)])
        ours[name] = known + [e for e in ours[name] if _label(name, e) not in place]
    elif clash.field == "":
        if len(clash.where) != 1 or name == "rivals":
            raise LookupError(clash.path)
        side = ours if clash.mine is None else other
        at = [_label(name, e) for e in old[name]].index(clash.where[0][1])
        side[name].insert(min(at, len(side[name])), old[name][at])
    else:
        owner: Any = old
        parts = [name, "properties"]
        for part, (_noun, label) in zip(parts, clash.where, strict=False):
            if part == "rivals":  # told apart by their answers, named by their places
                label = other[part][int(label) - 1]["answer"]
            owner = next(e for e in owner[part] if _label(part, e) == label)
        *_rest, last = clash.path.split(".")
        if last not in owner and "extra" not in clash.path:
            raise LookupError(clash.path)
        owner[last] = clash.theirs  # only mine is a change then


def _label(name: str, element: Mapping[str, Any]) -> str:
    return str(element.get(_NAME_OF.get(name, "key"), ""))


def _part_new_keys(old: Mapping[str, Any], ours: dict[str, Any], other: Mapping[str, Any], theirs: Document) -> None:
    """New elements that both sides gave one key are two elements: mine get fresh keys, and links among them follow."""
    taken = {element.key for _name, element in elements(theirs)}
    renamed: dict[str, str] = {}
    for name, letter in _LETTER.items():
        was = {element["key"] for element in old.get(name, ())}
        there = {element["key"]: element for element in other.get(name, ())}
        taken |= {element["key"] for element in ours.get(name, ())}
        for element in ours.get(name, ()):
            key = element["key"]
            if key in was or key not in there or there[key] == element:
                continue
            numbers = [int(k[1:]) for k in taken if re.fullmatch(rf"{letter}\d{{1,6}}", k)]
            renamed[key] = element["key"] = f"{letter}{max(numbers, default=0) + 1}"
            taken.add(element["key"])
    for relation in ours.get("relations", ()) if renamed else ():
        for end in ("from", "to"):
            relation[end] = renamed.get(relation[end], relation[end])
    for step in ours.get("checklist", ()) if renamed else ():
        step["prerequisites"] = [renamed.get(key, key) for key in step["prerequisites"]]
