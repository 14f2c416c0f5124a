"""A section as a form and back: what a browser posts becomes the section's content, keyed rows in their order.

Rows are named `<list>-<n>-<field>`; their order is the order in which they stand in the form, and prerequisites name
rows by that order. What the form does not show (regions, `extra`) is kept by key. Every text comes back with errors.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Final
from uuid import uuid4

from django.http import QueryDict
from django.utils.translation import gettext as _

from annotation.addresses import detect_kind
from annotation.candidates import LONGEST_NOTE, REASONS
from annotation.document import Document, elements
from lhdr_site.shared.errors import Invalid
from lhdr_site.shared.numbers import read_whole

from .pasted import read_pasted
from .properties import property_fields, property_rows, read_properties, split_keys

Row = dict[str, str]
Problems = list[dict[str, str]]

KEY_LETTER: Final = {"nodes": "n", "relations": "r", "checklist": "c", "sources": "s", "images": "i"}
# The fields each form shows. Lists of keys are one text, separated by commas; aliases one a line. Properties are rows
# in the row (`properties.py`).
ROW_FIELDS: Final[dict[str, tuple[str, ...]]] = {
    "nodes": ("entity", "aliases", "kind", "sources", "properties"),
    "relations": ("from", "to", "kind", "via", "description", "sources"),
    "checklist": (
        "conclusion", "prerequisites", "modality", "effect", "nodes", "relations", "sources", "images", "why_needed",
        "volatility",
    ),
    "sources": ("url", "title", "claim", "quote", "locator", "kind", "accessed", "captures"),
    "images": ("role", "alt", "caption", "credit", "license", "url"),
    "rivals": ("answer", "excluded_by", "sources"),
}  # fmt: skip
ROW_LISTS: Final[dict[str, tuple[str, ...]]] = {
    "question": ("rivals",),
    "design": (),
    "graph": ("nodes", "relations"),
    "checklist": ("checklist",),
    "sources": ("sources",),
    "images": ("images",),
    "metadata": (),
}
# What a row of the checklist says when it is struck.
STRIKE_FIELDS: Final = ("strike", "merged_into", "strike_note")
BLANK_ROWS: Final = 3
_KEY_LISTS: Final = frozenset({"sources", "captures", "nodes", "relations", "images", "prerequisites"})
_CHOICES: Final = frozenset({"kind", "role", "modality", "effect", "volatility"})
# Alone these do not make a row worth keeping.
_IDLE: Final = _CHOICES | {"accessed", "key", "newkey", "remove", *STRIKE_FIELDS}


def split_lines(text: str) -> list[str]:
    return [line.strip() for line in text.splitlines() if line.strip()]


# --- form -> section ----------------------------------------------------------------------------------------------


def posted_rows(post: QueryDict, name: str) -> list[Row]:
    """Rows of one list in the order of the form, the empty and the removed ones too, then those of pasted lines."""
    result = list(rows_by_index(post, name).values())
    if (text := post.get(f"{name}-paste", "")).strip():
        while result and is_blank(result[-1]):  # pasted rows follow the last one that says something
            result.pop()
        pasted = read_pasted(name, text, len(result))
        result += [*pasted.rows, *({"url": line} for line in pasted.skipped)]  # what cannot be read is not lost
    return result


def rows_by_index(post: QueryDict, name: str) -> dict[str, Row]:
    """Rows of one list by the index in their fields' names, in the order of the form."""
    rows: dict[str, Row] = {}
    pattern = re.compile(rf"{name}-([a-z0-9]{{1,12}})-((?:prop-[a-z0-9]{{1,12}}-)?[a-z_]{{1,30}})")
    for posted in post:
        if match := pattern.fullmatch(posted):
            rows.setdefault(match[1], {})[match[2]] = post.get(posted, "")
    return rows


def is_blank(row: Row) -> bool:
    """Whether nobody wrote anything into a new row."""
    return not row.get("key") and not any(
        text.strip() for name, text in row.items() if name.rpartition("-")[2] not in _IDLE
    )


class KeyMaker:
    """Fresh keys for new elements: never one that the document, its comments or the form already use."""

    def __init__(self, document: Document, taken: Iterable[str] = ()):
        self.taken = {element.key for _list, element in elements(document)} | set(taken)

    def make(self, name: str, wish: str = "") -> str:
        """The wished key if it is free and of the list's form, else the next one."""
        letter = KEY_LETTER[name]
        if wish in self.taken or not re.fullmatch(rf"{letter}[1-9]\d{{0,5}}", wish):
            numbers = [int(key[1:]) for key in self.taken if re.fullmatch(rf"{letter}\d{{1,6}}", key)]
            wish = f"{letter}{max(numbers, default=0) + 1}"
        self.taken.add(wish)
        return wish


@dataclass
class Posted:
    """What a form posted for a section. `places`: for each list, the row of the form that each element stands in.

    struck: the steps of `content` that go, as `actions.save_section` takes them.
    """

    content: dict[str, Any]
    problems: Problems = field(default_factory=list)
    places: dict[str, list[int]] = field(default_factory=dict)
    struck: list[dict[str, str]] = field(default_factory=list)


def read_section(section: str, post: QueryDict, document: Document, taken: Iterable[str] = ()) -> Posted:
    """The content of a section. `document` is the present one: what the form does not show is kept from it.

    taken: keys that new elements may not get although the document does not hold them (any more).
    """
    posted = Posted(document.section(section))
    content = posted.content
    if section == "design":
        content["design"] = post.get("design", "")
    elif section == "metadata":
        content |= {
            "category": post.get("category") or None,
            "template": post.get("template") or None,
            "operation_tags": post.getlist("operation_tags"),
            "subtask": post.get("subtask", ""),
        }
    elif section == "question":
        content |= {name: post.get(name, "") for name in ("language", "question", "answer", "as_of")}
        content |= {
            "answer_aliases": split_lines(post.get("answer_aliases", "")),
            "answer_sources": split_keys(post.get("answer_sources", "")),
        }
    rows = {name: posted_rows(post, name) for name in ROW_LISTS[section]}
    maker = KeyMaker(document, {*taken, *(row["key"] for each in rows.values() for row in each if row.get("key"))})
    renamed: dict[str, str] = {}
    for name, each in rows.items():
        old = content[name]
        by_key = {element["key"]: element for element in old} if name in KEY_LETTER else {}
        content[name], posted.places[name] = [], []
        for place, row in enumerate(each):
            if row.get("remove") or is_blank(row):
                continue
            if name in KEY_LETTER:
                key = row.get("key") or maker.make(name, row.get("newkey", ""))
                if not row.get("key") and row.get("newkey"):
                    renamed[row["newkey"]] = key
                element = {**by_key.get(key, {}), "key": key}
            else:  # a rival has no key: the rest of it is kept by its place while its answer is the same
                same = place < len(old) and old[place]["answer"] == row.get("answer")
                element = dict(old[place]) if same else {}
            path = f"{name}[{len(content[name])}]"
            for part in ROW_FIELDS[name]:
                if part == "properties" and (part in row or property_rows(row)):
                    old_ones = element.get(part, [])
                    element[part] = read_properties(row, f"{path}.{part}", old_ones, posted.problems)
                elif part in row:
                    element[part] = _read(part, row[part])
            if name == "sources" and not element.get("kind"):
                element["kind"] = detect_kind(element.get("url", ""))
            content[name].append(element)
            posted.places[name].append(place)
    if section == "checklist":
        _number_prerequisites(rows["checklist"], posted)
        _read_strikes(rows["checklist"], posted)
    _rename_links(content, {old: new for old, new in renamed.items() if old != new})
    return posted


def _read(name: str, text: str) -> Any:
    if name == "aliases":
        return split_lines(text)
    if name in _KEY_LISTS:
        return split_keys(text)
    return (text or None) if name in _CHOICES else text


def _numbered_keys(rows: Sequence[Row], posted: Posted) -> dict[int, str]:
    """Row number -> key. A removed row keeps both: the save says who still needs it."""
    removed = {n: row["key"] for n, row in enumerate(rows, 1) if row.get("remove") and row.get("key")}
    steps = zip(posted.places["checklist"], posted.content["checklist"], strict=True)
    return {place + 1: step["key"] for place, step in steps} | removed


def _number_prerequisites(rows: Sequence[Row], posted: Posted) -> None:
    """Row numbers typed as prerequisites become keys; keys stay."""
    steps, places = posted.content["checklist"], posted.places["checklist"]
    keys = _numbered_keys(rows, posted)
    known = {step["key"] for step in steps}
    for index, (place, step) in enumerate(zip(places, steps, strict=True)):
        needed = []
        for part in step.get("prerequisites", []):
            if part.isascii() and part.isdigit() and part not in known:
                number = int(part[:6])
                if number not in keys:
                    message = _("Step %(step)s needs step %(number)s, and there is no step with this number.")
                    values = {"step": place + 1, "number": part[:6]}
                    posted.problems.append({"path": f"checklist[{index}].prerequisites", "message": message % values})
                part = keys.get(number, part)
            needed.append(part)
        step["prerequisites"] = list(dict.fromkeys(needed))


def _read_strikes(rows: Sequence[Row], posted: Posted) -> None:
    keys = _numbered_keys(rows, posted)
    known = set(keys.values())
    for index, (place, step) in enumerate(zip(posted.places["checklist"], posted.content["checklist"], strict=True)):
        reason = rows[place].get("strike", "")
        if not reason:
            continue
        target = rows[place].get("merged_into", "").strip() if reason == "merged" else ""
        if target not in known and target.isascii() and target.isdigit():
            target = keys.get(int(target[:6]), target)
        path = f"checklist[{index}]."
        if reason not in REASONS:
            message = _("Choose why this step goes.")
            posted.problems.append({"path": path + "strike", "message": message})
        if reason == "merged" and (target not in known or target == step["key"]):
            message = _("Say which other step this one is merged into, by its number.")
            posted.problems.append({"path": path + "merged_into", "message": message})
        note = rows[place].get("strike_note", "").strip()
        if len(note) > LONGEST_NOTE:
            message = _("At most %(n)d characters, please.") % {"n": LONGEST_NOTE}
            posted.problems.append({"path": path + "strike_note", "message": message})
        posted.struck.append({"key": step["key"], "reason": reason, "merged_into": target, "note": note})


def _rename_links(content: Mapping[str, Any], renamed: Mapping[str, str]) -> None:
    """Links among the rows of one form follow when a new row could not have the key it was shown with."""
    if not renamed:
        return
    for relation in content.get("relations", []):
        for end in ("from", "to"):
            relation[end] = renamed.get(relation.get(end), relation.get(end))
    for step in content.get("checklist", []):
        step["prerequisites"] = [renamed.get(key, key) for key in step["prerequisites"]]


# --- section -> form ----------------------------------------------------------------------------------------------


@dataclass
class FormRow:
    """One row of a form as texts, with what is wrong with each."""

    list_name: str
    index: str
    number: int
    values: Row
    errors: dict[str, list[str]] = field(default_factory=dict)

    @property
    def key(self) -> str:
        return self.values.get("key", "")

    @property
    def shown_key(self) -> str:
        return self.key or self.values.get("newkey", "")

    @property
    def properties(self) -> "list[FormRow]":
        """The rows of a node's properties, and an empty one."""
        rows = property_rows(self.values)
        free = next(str(number) for number in range(1, len(rows) + 2) if str(number) not in rows)
        name = f"{self.list_name}-{self.index}-prop"
        each = [*rows.items(), (free, {})]
        return [FormRow(name, index, number, values) for number, (index, values) in enumerate(each, 1)]

    @property
    def removed(self) -> bool:
        return bool(self.values.get("remove"))

    @property
    def struck(self) -> bool:
        return bool(self.values.get("strike"))

    @property
    def blank(self) -> bool:
        return is_blank(self.values)


@dataclass
class SectionForm:
    """A section's form: texts as they are in the document or as they were typed, and what is wrong with them."""

    section: str
    base_hash: str
    values: dict[str, Any]
    rows: dict[str, list[FormRow]]
    next_keys: dict[str, str] = field(default_factory=dict)
    errors: dict[str, list[str]] = field(default_factory=dict)
    general: list[str] = field(default_factory=list)
    message: str = ""
    dirty: bool = False  # holds text that is not saved
    draft_at: datetime | None = None  # when its text was kept as a draft
    refusal: Mapping[str, Any] = field(default_factory=dict)  # details of what a removal would break
    save_key: str = field(default_factory=lambda: str(uuid4()))

    @property
    def kept(self) -> int:
        """How many steps a save would keep."""
        return sum(not (row.blank or row.removed or row.struck) for row in self.rows.get("checklist", ()))

    @property
    def candidates(self) -> int:
        return sum(not (row.blank or row.removed) for row in self.rows.get("checklist", ()))

    @property
    def blank(self) -> dict[str, FormRow]:
        """For each list a row to copy."""
        return {name: FormRow(name, "new", 0, {}) for name in ROW_LISTS[self.section]}


def form_of(document: Document, section: str, base_hash: str, taken: Iterable[str] = ()) -> SectionForm:
    """The form of a document's section, with empty rows at the end of each list that takes new ones."""
    content = document.section(section)
    values = {name: _text_of(name, value) for name, value in content.items() if name not in ROW_FIELDS}
    numbers = {key: str(position + 1) for key, position in document.step_positions.items()}
    rows = {
        name: [
            {"key": element.get("key", "")}
            | {part: _text_of(part, element.get(part), numbers) for part in ROW_FIELDS[name]}
            | property_fields(element.get("properties", []))
            for element in content[name]
        ]
        for name in ROW_LISTS[section]
    }
    return _with_rows(SectionForm(section, base_hash, values, {}), rows, KeyMaker(document, taken))


def form_of_post(
    post: QueryDict, document: Document, section: str, base_hash: str, taken: Iterable[str] = ()
) -> SectionForm:
    """The form as it was posted, text by text; nothing of it is saved."""
    values: dict[str, Any] = {name: post.get(name, "") for name in post if "-" not in name}
    values["operation_tags"] = post.getlist("operation_tags")
    rows = {name: posted_rows(post, name) for name in ROW_LISTS[section]}
    for each in rows.values():
        while each and is_blank(each[-1]) and not each[-1].get("remove"):
            each.pop()
    form = SectionForm(section, base_hash, values, {}, message=post.get("message", ""), dirty=True)
    known = {row["key"] for each in rows.values() for row in each if row.get("key")}
    return _with_rows(form, rows, KeyMaker(document, known.union(taken)))


def carry_strikes(typed: SectionForm, form: SectionForm) -> None:
    """What was struck in one form is struck in the other, where the step is still there."""
    struck = {row.shown_key: row.values for row in typed.rows.get("checklist", ()) if row.struck}
    for row in form.rows.get("checklist", ()):
        row.values |= {name: struck[row.key].get(name, "") for name in STRIKE_FIELDS if row.key in struck}


def _with_rows(form: SectionForm, rows: Mapping[str, list[Row]], maker: KeyMaker) -> SectionForm:
    """The form with its rows, numbered, new ones with the key they would get, and empty ones after them."""
    for name, each in rows.items():
        blanks: list[Row] = [] if name == "images" else [{} for _n in range(BLANK_ROWS)]
        form.rows[name] = [FormRow(name, str(number), number, row) for number, row in enumerate([*each, *blanks], 1)]
        if name in KEY_LETTER:
            for row in form.rows[name]:
                if not row.key:
                    row.values["newkey"] = maker.make(name, row.values.get("newkey", ""))
            form.next_keys[name] = maker.make(name)
    return form


def _text_of(name: str, value: Any, numbers: Mapping[str, str] | None = None) -> Any:
    """A field's value as the text of its control."""
    if name == "operation_tags":
        return list(value)
    if name == "properties":  # rows of their own
        return ""
    if name == "prerequisites" and numbers is not None:
        return ", ".join(numbers.get(key, key) for key in value or [])
    if isinstance(value, list):
        return ("\n" if name in ("aliases", "answer_aliases") else ", ").join(value)
    return "" if value is None else str(value)


# --- what is wrong ------------------------------------------------------------------------------------------------

_ROW_PATH = re.compile(r"(\w+)\[(\d+)\](?:\.(\w+))?")
_KEY_PATH = re.compile(r"(\w+)\.([\w-]+)(?:\.(\w+))?")


def add_problems(form: SectionForm, posted: Posted, problems: Iterable[Mapping[str, str]]) -> None:
    """Put each problem beside the control it is about; what belongs to none of them goes to the form's head."""
    for problem in problems:
        path, message = problem["path"], problem["message"]
        found = _row_at(form, posted, path)
        if found:
            row, name = found
            row.errors.setdefault(name, []).append(message)
        elif (name := re.split(r"[.\[]", path)[0]) in form.values:
            form.errors.setdefault(name, []).append(message)
        elif message not in form.general:
            form.general.append(message)


def _row_at(form: SectionForm, posted: Posted, path: str) -> tuple[FormRow, str] | None:
    for pattern in (_ROW_PATH, _KEY_PATH):
        match = pattern.match(path)
        if not match or match[1] not in posted.places:
            continue
        name, where, part = match[1], match[2], match[3] or ""
        if pattern is _ROW_PATH:
            index = int(where)
        elif name == "rivals":
            index = (read_whole(where) or 0) - 1
        else:
            index = next((n for n, e in enumerate(posted.content[name]) if e.get("key") == where), -1)
        if 0 <= index < len(posted.places[name]):
            row = form.rows[name][posted.places[name][index]]
            known = (*ROW_FIELDS[name], *STRIKE_FIELDS)
            return row, part if part in known else ROW_FIELDS[name][0]
    return None


def refuse_problems(problems: Problems) -> None:
    """Raises Invalid when a form could not be read."""
    if problems:
        raise Invalid("; ".join(problem["message"] for problem in problems), problems=problems)
