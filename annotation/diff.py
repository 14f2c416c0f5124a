"""Difference of two item documents, field by field with words marked, and a three-way merge of one section.

PURE: imports no Django, only `annotation.document`. Nouns and field names are English words that templates translate.
"""

import re
import time
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, Literal

from diff_match_patch import diff_match_patch

from annotation.document import SECTIONS, Document, canonical_bytes

RunKind = Literal["equal", "insert", "delete", "gap"]
Where = tuple[tuple[str, str], ...]  # (noun, key) of the element and of the element within it

SECONDS: Final = 0.5  # for marking the words of a whole document; what is left then is one deletion and one insertion
CONTEXT: Final = 160  # characters shown of an unchanged stretch on each side of a change
PIECE: Final = 4_000  # characters shown of one inserted or deleted piece

# Lists of elements: noun, attribute that tells one from another, attribute that says what it is about.
_LISTS: Final = {
    "nodes": ("Node", "key", "entity"),
    "relations": ("Relation", "key", "via"),
    "checklist": ("Step", "key", "conclusion"),
    "sources": ("Source", "key", "url"),
    "images": ("Image", "key", "alt"),
    "rivals": ("Rival", "answer", "excluded_by"),
    "properties": ("property", "name", "value"),
    "regions": ("region", "key", "note"),
}
# Text that is a choice, a key or a code: replaced as a whole, no words are marked.
_CODES: Final = frozenset(
    (
        "accessed", "as_of", "category", "effect", "file", "from_node", "kind", "language", "media_type", "modality",
        "role", "sha256", "template", "to_node", "volatility",
    )
)  # fmt: skip
_FIELD_WORDS: Final = {
    "from_node": "from",
    "to_node": "to",
    "url": "URL",
    "sha256": "SHA-256",
    "prerequisites": "needs",
}


@dataclass(frozen=True, slots=True)
class Run:
    """A piece of text that both sides share (equal), that one of them has, or that is not shown (gap)."""

    kind: RunKind
    text: str


@dataclass(frozen=True, slots=True)
class Change:
    """One field that differs, or one element that came, went or moved."""

    section: str
    path: str  # e.g. checklist.c3.conclusion
    where: Where  # e.g. (("Step", "c3"),); () for a field of the document itself
    field: str  # e.g. conclusion; "" when the element itself was added, removed or moved
    kind: Literal["added", "removed", "changed", "moved"]
    old: Any = None  # value of the field; what the element is about; its place in the list, from 1
    new: Any = None
    runs: tuple[Run, ...] = ()  # texts and elements
    added: tuple[str, ...] = ()  # lists of texts and keys; none added and none removed: only the order changed
    removed: tuple[str, ...] = ()
    details: tuple[tuple[str, str], ...] = ()  # further fields of an added or removed element, as text

    @property
    def is_list(self) -> bool:
        return isinstance(self.new, tuple)

    @property
    def is_cut(self) -> bool:
        """Whether `shown` leaves something out."""
        return any(run.kind == "gap" for run in self.shown)

    @property
    def label(self) -> str:
        """Where it is in English, e.g. "Node n1, property logo: value"."""
        place = ", ".join(f"{noun} {key}" for noun, key in self.where)
        return f"{place}: {self.field}" if place and self.field else place or self.field.capitalize()

    @property
    def shown(self) -> tuple[Run, ...]:
        """The runs for a page: long stretches cut, line ends that came or went made visible."""
        shown: list[Run] = []
        for number, run in enumerate(self.runs):
            if run.kind == "equal":
                before = run.text[:CONTEXT] if number else ""
                after = run.text[-CONTEXT:] if number < len(self.runs) - 1 else ""
                if len(run.text) <= 2 * CONTEXT:
                    shown.append(run)
                else:
                    shown += [piece for piece in (Run("equal", before), Run("gap", ""), Run("equal", after))
                              if piece.text or piece.kind == "gap"]  # fmt: skip
            else:
                shown.append(Run(run.kind, run.text[:PIECE].replace("\n", "¶\n")))
                if len(run.text) > PIECE:
                    shown.append(Run("gap", ""))
        return tuple(shown)


# --- words --------------------------------------------------------------------------------------------------------

_CJK = "\u3005-\u3007\u3040-\u30ff\u31f0-\u31ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff"
_MARKS = "!-&(-/:-@\\[-^`{-~\u00a1-\u00bf\u2010-\u2018\u201a-\u205e\u3000-\u3004\u3008-\u303f\uff01-\uff0f\uff1a-\uff20"
# A character of Chinese or Japanese, a space of any length, a punctuation mark, or a word of anything else.
_TOKEN = re.compile(rf"[{_CJK}]|\s+|[{_MARKS}]|[^\s{_CJK}{_MARKS}]+|.", re.DOTALL)
_RUN_KINDS: Final[dict[int, RunKind]] = {0: "equal", 1: "insert", -1: "delete"}


def text_runs(old: str, new: str, deadline: float | None = None) -> tuple[Run, ...]:
    """What became of a text: runs that give `old` without the inserted ones and `new` without the deleted ones.

    Words are compared where text has spaces, characters in Chinese and Japanese. deadline: a `time.time()` after which
    the rest is taken as one deletion and one insertion; by default SECONDS from now. Two empty texts give ().
    """
    numbers: dict[str, int] = {}
    encoded = [
        "".join(chr(numbers.setdefault(token, len(numbers)) + 1) for token in _TOKEN.findall(text))
        for text in (old, new)
    ]
    tokens = ["", *numbers]
    machine = diff_match_patch()
    machine.Diff_Timeout = 0  # our own deadline holds; and the half-match shortcut, which has none, is off
    pieces = machine.diff_main(*encoded, False, time.time() + SECONDS if deadline is None else deadline)
    machine.diff_cleanupSemantic(pieces)
    return tuple(Run(_RUN_KINDS[kind], "".join(tokens[ord(c)] for c in piece)) for kind, piece in pieces)


# --- difference ---------------------------------------------------------------------------------------------------


def diff_documents(old: Document, new: Document) -> list[Change]:
    """Every difference, by section and in document order; equal documents give [].

    Elements are matched by key, rivals by answer and properties by name (those left over in order). The schema and the
    id of an item never change and are not compared.
    """
    deadline = time.time() + SECONDS
    return [
        change
        for section, names in SECTIONS.items()
        for name in names
        for change in _diff_field(section, name, (), name, getattr(old, name), getattr(new, name), deadline)
    ]


def _word(name: str) -> str:
    return _FIELD_WORDS.get(name, name.replace("_", " "))


def _diff_field(
    section: str, path: str, where: Where, name: str, old: Any, new: Any, deadline: float
) -> Iterator[Change]:
    if name == "extra":
        for key in dict.fromkeys([*old, *new]):
            before, after = (canonical_bytes(v[key]).decode() if key in v else None for v in (old, new))
            if before != after:
                kind: Literal["added", "removed", "changed"] = (
                    "added" if before is None else "removed" if after is None else "changed"
                )
                yield Change(section, f"{path}.{key}", where, f"extra {key}", kind, before, after)
    elif _holds_elements(name, where):
        yield from _diff_elements(section, path, where, name, old, new, deadline)
    elif old == new:
        return
    elif isinstance(new, tuple):
        added = tuple(value for value in new if value not in old)
        removed = tuple(value for value in old if value not in new)
        yield Change(section, path, where, _word(name), "changed", old, new, added=added, removed=removed)
    else:
        texts = isinstance(old, str) and isinstance(new, str) and name not in _CODES
        yield Change(
            section, path, where, _word(name), "changed", old, new, text_runs(old, new, deadline) if texts else ()
        )


def _holds_elements(name: str, where: Where) -> bool:
    """Whether a field is a list of elements; a step's `nodes`, say, are keys of elements."""
    return name in ("properties", "regions") if where else name in _LISTS


def _names(element: Any) -> Iterable[str]:
    return element.__dataclass_fields__


def _identities(keys: Sequence[str], elements: Sequence[Any]) -> dict[tuple[str, int], Any]:
    """What tells the elements of a list apart -> element: key, answer or name, and how many alike stand before it."""
    seen: Counter[str] = Counter()
    result = {}
    for key, element in zip(keys, elements, strict=True):
        result[key, seen[key]] = element
        seen[key] += 1
    return result


def _diff_elements(
    section: str, path: str, where: Where, name: str, old: Sequence[Any], new: Sequence[Any], deadline: float
) -> Iterator[Change]:
    noun, identity, _ = _LISTS[name]
    before, after = (_identities([getattr(e, identity) for e in side], side) for side in (old, new))
    old_places, new_places = list(before), list(after)
    if identity != "key":  # pair what was renamed
        left = [key for key in old_places if key not in after]
        came = [key for key in new_places if key not in before]
        renamed = dict(zip(left, came, strict=False))
        before = {renamed.get(key, key): element for key, element in before.items()}
        old_places = list(before)
    place = {key: number for number, key in enumerate(new_places)}
    moved = _moved([place[key] for key in old_places if key in place])

    removed_after: dict[int, list[tuple[str, int]]] = {}  # place in `new` of the element before -> removed ones
    last = -1
    for key in old_places:
        if key in place:
            last = place[key]
        else:
            removed_after.setdefault(last, []).append(key)

    def element_change(kind: Literal["added", "removed"], element: Any, key: str) -> Change:
        about = _about(name, element)
        added, spot = kind == "added", (*where, (noun, key))
        runs = (Run("insert" if added else "delete", about),) if about else ()
        old, new = (None, about) if added else (about, None)
        return Change(section, f"{path}.{key}", spot, "", kind, old, new, runs, details=_details(name, element))

    for number in range(-1, len(new_places)):
        if number >= 0:
            key = new_places[number]
            element = after[key]
            label = _name_of(name, key, number)
            if key not in before:
                yield element_change("added", element, label)
            else:
                spot = (*where, (noun, label))
                if number in moved:
                    at = old_places.index(key) + 1
                    yield Change(section, f"{path}.{label}", spot, "", "moved", at, number + 1)
                for field in _names(element):
                    yield from _diff_field(
                        section, f"{path}.{label}.{field}", spot, field,
                        getattr(before[key], field), getattr(element, field), deadline,
                    )  # fmt: skip
        for key in removed_after.get(number, ()):
            yield element_change("removed", before[key], _name_of(name, key, old_places.index(key)))


def _name_of(name: str, identity: tuple[str, int], place: int) -> str:
    """What a person calls the element: its key or name; rivals and the nameless by their number in the list."""
    return identity[0] if name != "rivals" and identity[0] and not identity[1] else str(place + 1)


def _about(name: str, element: Any) -> str:
    """What an element is about, in one text."""
    if name == "rivals":
        return str(element.answer)
    if name == "relations":
        return f"{element.from_node} → {element.to_node}" + (f": {element.via}" if element.via else "")
    return str(getattr(element, _LISTS[name][2]))


def _details(name: str, element: Any) -> tuple[tuple[str, str], ...]:
    """Fields of an element that say something further, as text."""
    told = {"key", "extra", *_LISTS[name][1:]} | ({"from_node", "to_node"} if name == "relations" else set())
    told -= {"excluded_by"}
    result = []
    for field in _names(element):
        value = getattr(element, field)
        if field in told or value in ("", None, ()):
            continue
        if field in ("properties", "regions"):
            value = "; ".join(f"{getattr(e, _LISTS[field][1])}: {_about(field, e)}" for e in value)
        elif isinstance(value, tuple):
            value = ", ".join(value)
        result.append((_word(field), str(value)))
    return tuple(result)


def _moved(places: Sequence[int]) -> set[int]:
    """Of new places in old order, those outside one longest ascending chain: the fewest that were moved."""
    best: list[list[int]] = []  # the longest chain that ends at each
    for number, place in enumerate(places):
        before = max((best[n] for n in range(number) if places[n] < place), key=lambda chain: len(chain), default=[])
        best.append([*before, place])
    stay: list[int] = max(best, key=lambda chain: len(chain), default=[])
    return set(places) - set(stay)


# --- merge --------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Conflict:
    """Something that both sides changed, each in its own way. None: not there (removed, or not yet there)."""

    path: str
    where: Where
    field: str  # "" for a whole element; "order" for the order of a list
    base: Any
    mine: Any
    theirs: Any


_ABSENT: Final = object()


def merge_section(
    base: Document, mine: Document, theirs: Document, name: str
) -> tuple[Document | None, list[Conflict]]:
    """`theirs` with what `mine` changed in one section since `base`, and no conflict; or None and the conflicts.

    A text is merged only when one side changed it; lists of keys and sets take the additions and removals of both.
    The links of the result are not looked at, nor cycles: two harmless changes can make either.
    Raises KeyError for an unknown section, DocumentError when an added key is used elsewhere in `theirs`.
    """
    conflicts: list[Conflict] = []
    sides = [side.section(name) for side in (base, mine, theirs)]
    merged = {
        field: _merge(field, (), field, *(side[field] for side in sides), conflicts=conflicts)
        for field in SECTIONS[name]
    }
    return (None, conflicts) if conflicts else (theirs.with_section(name, merged), [])


def _same(one: Any, other: Any) -> bool:
    return one is other or (
        one is not _ABSENT and other is not _ABSENT and canonical_bytes(one) == canonical_bytes(other)
    )


def _merge(path: str, where: Where, name: str, base: Any, mine: Any, theirs: Any, *, conflicts: list[Conflict]) -> Any:
    """The merged plain JSON value, or _ABSENT; conflicts are appended."""
    if _same(mine, base) or _same(mine, theirs):
        return theirs
    if _same(theirs, base):
        return mine
    if _holds_elements(name, where):
        return _merge_elements(path, where, name, base, mine, theirs, conflicts)
    if name == "extra":
        return _merge_fields(path, where, base, mine, theirs, conflicts, prefix="extra ")
    if isinstance(theirs, list) and not name.startswith("extra "):
        kept = [value for value in theirs if value in mine or value not in base]
        return kept + [value for value in mine if value not in base and value not in kept]
    conflicts.append(Conflict(path, where, _word(name), *map(_present, (base, mine, theirs))))
    return theirs


def _present(value: Any) -> Any:
    return None if value is _ABSENT else value


def _merge_fields(
    path: str, where: Where, base: Mapping[str, Any], mine: Mapping[str, Any], theirs: Mapping[str, Any],
    conflicts: list[Conflict], prefix: str = "",
) -> dict[str, Any]:  # fmt: skip
    """Objects, field by field. prefix: of the names, so that those in `extra` are not taken for ours."""
    merged = {}
    for field in dict.fromkeys([*theirs, *mine, *base]):
        sides = (side.get(field, _ABSENT) for side in (base, mine, theirs))
        merged[field] = _merge(f"{path}.{field}", where, prefix + field, *sides, conflicts=conflicts)
    return {field: value for field, value in merged.items() if value is not _ABSENT}


def _merge_elements(
    path: str, where: Where, name: str, base: Sequence[Any], mine: Sequence[Any], theirs: Sequence[Any],
    conflicts: list[Conflict],
) -> list[Any]:  # fmt: skip
    """Lists of elements, element by element, and then their order."""
    noun, identity, _ = _LISTS[name]
    sides = [_identities([element[identity] for element in side], side) for side in (base, mine, theirs)]
    was, ours, other = sides
    merged: dict[tuple[str, int], Any] = {}
    for key in dict.fromkeys([*other, *ours, *was]):
        one, two, three = (side.get(key, _ABSENT) for side in (was, ours, other))
        place = next(list(side).index(key) for side in (other, ours, was) if key in side)
        label = _name_of(name, key, place)
        spot = (*where, (noun, label))
        if one is not _ABSENT and two is not _ABSENT and three is not _ABSENT:
            merged[key] = _merge_fields(f"{path}.{label}", spot, one, two, three, conflicts)
        elif _same(two, three) or _same(two, one):
            merged[key] = three
        elif _same(three, one):
            merged[key] = two
        else:
            conflicts.append(Conflict(f"{path}.{label}", spot, "", *map(_present, (one, two, three))))
    merged = {key: element for key, element in merged.items() if element is not _ABSENT}

    def ranks(side: Mapping[Any, Any]) -> list[Any]:
        return [key for key in side if key in was and key in ours and key in other]

    if ranks(ours) == ranks(was) or ranks(ours) == ranks(other):
        leading, following = list(other), list(ours)
    elif ranks(other) == ranks(was):
        leading, following = list(ours), list(other)
    else:
        orders = ([_name_of(name, key, n) for n, key in enumerate(side)] for side in sides)
        conflicts.append(Conflict(path, where, "order", *orders))
        return []
    # What only one side has comes after whatever stands before it there.
    order = [key for key in leading if key in merged]
    for place, key in enumerate(following):
        if key in merged and key not in order:
            before = [k for k in following[:place] if k in order]
            order.insert(order.index(before[-1]) + 1 if before else 0, key)
    return [merged[key] for key in order]


def merge_words(base: str, mine: str, theirs: str) -> str | None:
    """`theirs` with what `mine` changed since `base`, by words; None where both changed the same place differently.

    Changes that touch each other count as the same place. Equal changes of both are taken once.
    """
    edits = sorted({*_edits(base, mine), *_edits(base, theirs)})
    merged, at = [], 0
    for number, (start, end, text) in enumerate(edits):
        if number and start <= edits[number - 1][1]:
            return None
        merged += [base[at:start], text]
        at = end
    return "".join(merged) + base[at:]


def _edits(base: str, changed: str) -> list[tuple[int, int, str]]:
    """What became of `base`: (start, end, text that stands there instead), in order."""
    result: list[tuple[int, int, str]] = []
    at = 0
    for run in text_runs(base, changed):
        if run.kind == "equal":
            at += len(run.text)
            continue
        start, _end, text = result.pop() if result and result[-1][1] == at else (at, at, "")
        if run.kind == "delete":
            at += len(run.text)
        else:
            text += run.text
        result.append((start, at, text))
    return result
