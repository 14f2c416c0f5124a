"""A section as a form and back: what a browser posts becomes the section's content, keyed rows in their order.

Rows are named `<list>-<n>-<field>`; their order is the order in which they stand in the form, and prerequisites name
rows by that order. What the form does not show (regions, `extra`) is kept by key. Every text comes back with errors.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final
from urllib.parse import urlsplit
from uuid import uuid4

from django.http import QueryDict
from django.utils.translation import gettext as _

from annotation.document import Document, elements
from annotation.graph import is_wikipedia_url
from lhdr_site.shared.errors import Invalid

Row = dict[str, str]
Problems = list[dict[str, str]]

KEY_LETTER: Final = {"nodes": "n", "relations": "r", "checklist": "c", "sources": "s", "images": "i"}
# The fields each form shows. Lists of keys are one text, separated by commas; aliases and properties one a line.
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
# The first is filled from pasted lines, one row a line.
PASTE_FIELD: Final = {"checklist": "conclusion", "sources": "url", "nodes": "entity"}
BLANK_ROWS: Final = 3
_KEY_LISTS: Final = frozenset({"sources", "captures", "nodes", "relations", "images", "prerequisites"})
_CHOICES: Final = frozenset({"kind", "role", "modality", "effect", "volatility"})
# Alone these do not make a row worth keeping.
_IDLE: Final = _CHOICES | {"accessed", "key", "newkey", "remove"}
_BULLET = re.compile(r"^\s*(?:[-*•·]|\d{1,3}[.):、]|[cC]\d{1,3}[.:)])\s+")


def split_keys(text: str) -> list[str]:
    """Keys or numbers separated by commas, semicolons, spaces or their East Asian forms."""
    return [part for part in re.split(r"[\s,;，；、]+", text) if part]


def split_lines(text: str) -> list[str]:
    return [line.strip() for line in text.splitlines() if line.strip()]


def detect_kind(url: str) -> str:
    """The kind of source that a URL looks like."""
    try:
        parts = urlsplit(url.strip().lower())
        host, path = parts.hostname or "", parts.path
    except ValueError:
        return "web"
    if is_wikipedia_url(url.strip()):
        return "wikipedia"
    if path.endswith(".pdf"):
        return "pdf"
    if re.search(r"(^|\.)(youtube\.com|youtu\.be|vimeo\.com|bilibili\.com)$", host) or path.endswith((".mp4", ".webm")):
        return "video"
    if host.startswith("maps.") or path.startswith("/maps") or re.search(r"(^|\.)openstreetmap\.org$", host):
        return "map"
    if path.endswith((".mp3", ".ogg", ".wav", ".flac")):
        return "audio"
    if path.endswith((".csv", ".xlsx", ".xls", ".ods", ".tsv")):
        return "table"
    return "web"


# --- form -> section ----------------------------------------------------------------------------------------------


def posted_rows(post: QueryDict, name: str) -> list[Row]:
    """Rows of one list in the order of the form, the empty and the removed ones too, then those of pasted lines."""
    rows: dict[str, Row] = {}
    pattern = re.compile(rf"{name}-([a-z0-9]{{1,12}})-([a-z_]{{1,30}})")
    for posted in post:
        if match := pattern.fullmatch(posted):
            rows.setdefault(match[1], {})[match[2]] = post.get(posted, "")
    result = list(rows.values())
    if target := PASTE_FIELD.get(name):
        lines = [_BULLET.sub("", line) for line in split_lines(post.get(f"{name}-paste", ""))]
        while result and lines and is_blank(result[-1]):  # pasted rows follow the last one that says something
            result.pop()
        result += [{target: line} for line in lines]
    return result


def is_blank(row: Row) -> bool:
    """Whether nobody wrote anything into a new row."""
    return not row.get("key") and not any(text.strip() for name, text in row.items() if name not in _IDLE)


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
    """What a form posted for a section. `places`: for each list, the row of the form that each element stands in."""

    content: dict[str, Any]
    problems: Problems = field(default_factory=list)
    places: dict[str, list[int]] = field(default_factory=dict)


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
                if part in row:
                    element[part] = _read(part, row[part], f"{path}.{part}", element, posted.problems)
            if name == "sources" and not element.get("kind"):
                element["kind"] = detect_kind(element.get("url", ""))
            content[name].append(element)
            posted.places[name].append(place)
    if section == "checklist":
        _number_prerequisites(rows["checklist"], posted)
    _rename_links(content, {old: new for old, new in renamed.items() if old != new})
    return posted


def _read(name: str, text: str, path: str, element: Mapping[str, Any], problems: Problems) -> Any:
    if name == "properties":
        return _properties(text, path, element.get("properties", []), problems)
    if name == "aliases":
        return split_lines(text)
    if name in _KEY_LISTS:
        return split_keys(text)
    return (text or None) if name in _CHOICES else text


def _properties(text: str, path: str, old: Sequence[Mapping[str, Any]], problems: Problems) -> list[dict[str, Any]]:
    kept = {p["name"]: p for p in old}
    result = []
    for line in split_lines(text):
        parts = [part.strip() for part in line.split("|")]
        if len(parts) > 4:
            message = _("“%(line)s” has more than four parts; write: name | value | modality | sources.")
            problems.append({"path": path, "message": message % {"line": line[:60]}})
        name, value, modality, sources, *_more = parts + [""] * 4
        result.append(
            {**kept.get(name, {}), "name": name, "value": value, "modality": modality or None,
             "sources": split_keys(sources)}
        )  # fmt: skip
    return result


def _number_prerequisites(rows: Sequence[Row], posted: Posted) -> None:
    """Row numbers typed as prerequisites become keys; keys stay."""
    steps, places = posted.content["checklist"], posted.places["checklist"]
    keys = {place + 1: step["key"] for place, step in zip(places, steps, strict=True)}
    # A removed row keeps its number and key: the save says who still needs it.
    keys |= {n: row["key"] for n, row in enumerate(rows, 1) if row.get("remove") and row.get("key")}
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
    def removed(self) -> bool:
        return bool(self.values.get("remove"))

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
    refusal: Mapping[str, Any] = field(default_factory=dict)  # details of what a removal would break
    save_key: str = field(default_factory=lambda: str(uuid4()))

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
    if name == "properties":
        parts = ([p["name"], p["value"], p["modality"] or "", ", ".join(p["sources"])] for p in value or [])
        return "\n".join(re.sub(r"[ |]+$", "", " | ".join(each)) for each in parts)
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
            index = int(where) - 1 if where.isdigit() else -1
        else:
            index = next((n for n, e in enumerate(posted.content[name]) if e.get("key") == where), -1)
        if 0 <= index < len(posted.places[name]):
            row = form.rows[name][posted.places[name][index]]
            return row, part if part in ROW_FIELDS[name] else ROW_FIELDS[name][0]
    return None


def refuse_problems(problems: Problems) -> None:
    """Raises Invalid when a form could not be read."""
    if problems:
        raise Invalid("; ".join(problem["message"] for problem in problems), problems=problems)
