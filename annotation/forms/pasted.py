"""Pasted text as rows of a form: one a line, or one a row of cells from a spreadsheet. Imports no models."""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from annotation.addresses import read_addresses
from annotation.document import EFFECTS, MODALITIES, NODE_KINDS, RELATION_KINDS, SOURCE_KINDS, VOLATILITIES

# What the cells are without headings, by their place.
COLUMNS: Final[dict[str, tuple[str, ...]]] = {
    "checklist": ("conclusion", "prerequisites", "why_needed"),
    "sources": ("url", "title", "claim", "quote"),
    "nodes": ("entity", "aliases", "kind", "sources"),
    "relations": ("from", "to", "kind", "via", "description"),
}
# Headings that say which column it is; compared without case, spaces and marks.
_HEADINGS: Final[dict[str, dict[str, str]]] = {
    "checklist": {
        "number": "#|no|nr|number|step no|序号|编号",
        "conclusion": "conclusion|conclusions|step|statement|checklist|结论|步骤|中间结论",
        "prerequisites": "prerequisites|prerequisite|needs|depends on|dependencies|requires|前提|前置|依赖|前置步骤",
        "why_needed": "why needed|why|reason|necessity|理由|原因|必要性",
        "modality": "modality|evidence|evidence type|模态|证据类型",
        "effect": "effect|作用",
        "nodes": "nodes|node|节点",
        "relations": "relations|relation|关系",
        "sources": "sources|source|来源",
        "images": "images|image|图片",
        "volatility": "volatility|稳定性",
    },
    "sources": {
        "number": "#|no|nr|number|key|序号|编号",
        "url": "url|address|link|网址|链接",
        "title": "title|标题",
        "claim": "claim|supports|支持",
        "quote": "quote|引文",
        "locator": "locator|place|page|位置",
        "kind": "kind|type|类型",
        "accessed": "accessed|date|访问日期",
    },
    "nodes": {
        "number": "#|no|nr|number|key|序号|编号",
        "entity": "entity|node|name|实体|节点|名称",
        "aliases": "aliases|alias|also known as|别名",
        "kind": "kind|type|类型",
        "sources": "sources|source|来源",
    },
    "relations": {
        "number": "#|no|nr|number|key|序号|编号",
        "from": "from|从",
        "to": "to|到",
        "kind": "kind|type|类型",
        "via": "via|property|属性",
        "description": "description|描述",
        "sources": "sources|source|来源",
    },
}
_CHOICES: Final[dict[str, tuple[str, ...]]] = {
    "modality": MODALITIES, "effect": EFFECTS, "volatility": VOLATILITIES, "nodes.kind": NODE_KINDS,
    "relations.kind": RELATION_KINDS, "sources.kind": SOURCE_KINDS,
}  # fmt: skip
_BULLET = re.compile(r"^\s*(?:(?:[-*•·]|\d{1,3}[.):]|[cC]\d{1,3}[.:)])\s+|\d{1,3}、\s*)")
# A spreadsheet quotes a cell only where it holds a tab, a line end or a quote; other quotes are the text's own.
_CELL = re.compile(r'"((?:[^"]|"")*)"(?=[\t\n]|\Z)|([^\t\n]*)')


@dataclass(frozen=True)
class Pasted:
    """Rows of texts by field. `columns`: the fields in the order of the cells, "" for one that was left out.

    skipped: lines of pasted sources that hold no address.
    """

    rows: list[dict[str, str]] = field(default_factory=list)
    columns: tuple[str, ...] = ("",)
    headings: bool = False
    unread: tuple[str, ...] = ()  # cells that are no choice of their field
    skipped: tuple[str, ...] = ()


def read_pasted(name: str, text: str, before: int = 0) -> Pasted:
    """Rows for the list `name` from lines or cells; empty lines make none.

    Sources are read from any text with addresses; from cells by their columns where each row begins with an address.
    Prerequisites are numbers of the pasted rows themselves (of their own number column, if they bring one); they come
    back as row numbers of a form in which `before` rows stand above. Numbers that no pasted row has, and keys, stay.
    """
    fields = COLUMNS[name]
    rows: list[dict[str, str]] = []
    table = [row for row in _cells(text.replace("\r\n", "\n").replace("\r", "\n")) if any(cell.strip() for cell in row)]
    if not table:
        return Pasted()
    if name == "sources" and not (_headings(name, table[0]) or all(_is_address_first(row) for row in table)):
        found = read_addresses(text)
        rows = [{"url": url} | ({"title": title} if title else {}) for url, title in found.found]
        return Pasted(rows, ("url", "title"), skipped=tuple(found.skipped))
    if max(map(len, table)) == 1:
        return Pasted([{fields[0]: _BULLET.sub("", cell).strip()} for (cell,) in table], fields[:1])
    columns = _headings(name, table[0])
    headings = bool(columns)
    if headings:
        table = table[1:]
    else:
        width = max(map(len, table))
        numbered = width > 1 and all(re.fullmatch(r"[cC]?\d{1,4}[.):]?", row[0].strip()) for row in table)
        columns = (("number",) if numbered else ()) + fields
        columns = (*columns, *[""] * width)[:width]
    numbers: dict[str, str] = {}
    unread: list[str] = []
    for cells in table:
        row: dict[str, str] = {}
        for column, cell in zip(columns, (*cells, *[""] * len(columns)), strict=False):
            value = cell.strip()
            if column == "number":
                numbers[re.sub(r"\D", "", value)] = str(before + len(rows) + 1)
            elif column and value and (choices := _CHOICES.get(column) or _CHOICES.get(f"{name}.{column}")):
                if (code := re.sub(r"[\s-]+", "_", value.lower())) in choices:
                    row[column] = code
                else:
                    unread.append(value)
            elif column:
                row[column] = value
        if any(row.values()):
            rows.append(row)
    if name == "checklist":
        numbers = numbers or {str(n): str(before + n) for n in range(1, len(rows) + 1)}
        for row in rows:
            if "prerequisites" in row:
                row["prerequisites"] = _renumbered(row["prerequisites"], numbers)
    return Pasted(rows, columns, headings, tuple(dict.fromkeys(unread)))


def _is_address_first(cells: Sequence[str]) -> bool:
    """Whether a row of several cells begins with an address and nothing else."""
    return len(cells) > 1 and re.fullmatch(r"https?://\S+", cells[0].strip()) is not None


def _renumbered(text: str, numbers: Mapping[str, str]) -> str:
    parts = [part for part in re.split(r"[\s,;，；、]+", text) if part and part not in ("-", "–", "—")]
    return ", ".join(numbers.get(part, part) for part in parts)


def _cells(text: str) -> Iterator[list[str]]:
    row: list[str] = []
    at = 0
    while True:
        match = _CELL.match(text, at)
        assert match is not None  # the second half matches anything
        quoted, plain = match.groups()
        if quoted is None:
            row.append(plain)
        else:
            inside = quoted.replace('""', '"')
            row.append(inside if re.search(r'[\t\n"]', inside) else match.group())
        at = match.end()
        if at == len(text):
            yield row
            return
        if text[at] == "\n":
            yield row
            row = []
        at += 1


def _headings(name: str, cells: Sequence[str]) -> tuple[str, ...]:
    """The fields of a row of headings; () when it is none: one that is known is not enough, two are."""
    known = {_plain(word): column for column, words in _HEADINGS[name].items() for word in words.split("|")}
    columns = [known.get(_plain(cell), "") for cell in cells]
    found = [column for column in columns if column]
    if len(found) < 2 or len(found) != len(set(found)):
        return ()
    return tuple(columns)


def _plain(text: str) -> str:
    return re.sub(r"[\s_.:：-]+", "", text).lower()
