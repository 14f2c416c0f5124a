"""What every format of responses and verdicts is read into, and how its fields are taken: with a sentence when not.

PURE: imports no Django.
"""

import math
import re
import unicodedata
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any, Final, NamedTuple

MAX_TEXT: Final = 2_000_000  # characters of one response or one judge's output
MAX_TIMES: Final = 20  # samples of an item, verdicts of a judge on a response
MAX_COUNT: Final = 2**31 - 1
MAX_COST: Final = Decimal(100_000)

_UNSTORABLE = re.compile("[\x00\ud800-\udfff]")

Report = Callable[[int | None, str, str], None]


class RowError(ValueError):
    """A row that cannot be taken: the field, and what is wrong with it and what to do."""

    def __init__(self, name: str, message: str):
        super().__init__(message)
        self.name, self.message = name, message


@dataclass(frozen=True, slots=True)
class ResponseRow:
    """One system's answer to one item as a file gives it. Without text, or with an error, it failed.

    question: None where the format does not carry it. condition: with_image, without_image, or "" where it is not said.
    """

    row: int
    id: str
    question: str | None = None
    sample: int = 1
    text: str = ""
    error: str = ""
    error_kind: str = ""
    model: str = ""
    condition: str = ""
    thinking: str = ""
    citations: Sequence[Mapping[str, str]] = ()
    truncated: bool = False
    finish_reason: str = ""
    prompt_tokens: int | None = None
    completion_tokens: int | None = None
    cost: Decimal | None = None

    @property
    def failed(self) -> bool:
        return bool(self.error) or not self.text.strip()


@dataclass(frozen=True, slots=True)
class VerdictRow:
    """One judge's verdict on one answer. `unparseable` says why there is none; then both halves are None.

    as_exported: the vector follows the order of the steps in the layout `mr-lhdr`, else that of the document.
    """

    row: int
    id: str
    judge: str = ""
    sample: int = 1
    repeat: int = 1
    answer_correct: bool | None = None
    vector: tuple[int, ...] | None = None
    unparseable: str = ""
    output: str = ""
    flags: tuple[str, ...] = ()
    note: str = ""
    blind: bool = False
    as_exported: bool = False


@dataclass(slots=True)
class ReadFile:
    """What a file held: its format ("" when none was found), its rows, and what was refused, row by row."""

    format: str = ""
    rows: list[Any] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)


# --- fields -------------------------------------------------------------------------------------------------------


def text_of(row: Mapping[str, Any], name: str, limit: int = MAX_TEXT) -> str:
    """The text; "" for null and where there is none. Raises RowError."""
    value = row.get(name)
    if value is None:
        return ""
    if not isinstance(value, str):
        raise RowError(name, "is no text; write it in quotes, or null")
    if len(value) > limit:
        raise RowError(name, f"has {len(value)} characters; at most {limit} are taken")
    if _UNSTORABLE.search(value):
        raise RowError(name, "holds NUL or half a character (a lone surrogate); remove it")
    return value


def id_of(row: Mapping[str, Any], name: str) -> str:
    """An item's id; a whole number is taken as its digits. Raises RowError."""
    value = row.get(name)
    if type(value) is int and abs(value) < 10**18:
        return str(value)
    found = text_of(row, name, 200)
    if not found.strip():
        raise RowError(name, "is missing; give the item's id")
    return found


def count_of(row: Mapping[str, Any], name: str) -> int | None:
    value = row.get(name)
    if value is None:
        return None
    if type(value) is not int or not 0 <= value <= MAX_COUNT:
        raise RowError(name, "is no whole number from 0; correct it, or leave it out where it is not known")
    return value


def times_of(row: Mapping[str, Any], name: str) -> int:
    """A sample's or repeat's number, 1 where it is not given. Raises RowError."""
    value = row.get(name, 1)
    if type(value) is not int or not 1 <= value <= MAX_TIMES:
        raise RowError(name, f"must be a number from 1 to {MAX_TIMES}")
    return value


def flag_of(row: Mapping[str, Any], name: str) -> bool | None:
    """true, false, 1 or 0; None for null. Raises RowError."""
    value = row.get(name)
    if value is None:
        return None
    if type(value) not in (bool, int) or value not in (0, 1):
        raise RowError(name, "is neither true nor false; correct it, or give null")
    return bool(value)


def vector_of(row: Mapping[str, Any], name: str) -> tuple[int, ...] | None:
    """0 or 1 for each step; None for null. Raises RowError."""
    value = row.get(name)
    if value is None:
        return None
    if not isinstance(value, list) or len(value) > 1000:
        raise RowError(name, "is no list of marks; give 0 or 1 for each step, or null")
    if any(type(mark) not in (bool, int) or mark not in (0, 1) for mark in value):
        raise RowError(name, "holds something other than 0 and 1; nothing is repaired")
    return tuple(int(mark) for mark in value)


def texts_of(row: Mapping[str, Any], name: str) -> tuple[str, ...]:
    value = row.get(name) or ()
    if not isinstance(value, list | tuple) or len(value) > 100:
        raise RowError(name, "is no list of texts")
    return tuple(text_of({name: part}, name, 200) for part in value)


def cost_of(row: Mapping[str, Any], name: str) -> Decimal | None:
    """US dollars, as a number or as text; None where it is not known. Raises RowError."""
    value = row.get(name)
    if value is None or (isinstance(value, float) and not math.isfinite(value)):
        return None
    try:
        amount = Decimal(str(value)) if not isinstance(value, bool) else Decimal("NaN")
    except ArithmeticError:
        amount = Decimal("NaN")
    if not amount.is_finite() or not 0 <= amount < MAX_COST:
        raise RowError(name, "is no sum of money in US dollars; correct it, or give null where it is not known")
    return amount.quantize(Decimal("0.000001"))


def citations_of(row: Mapping[str, Any], name: str) -> tuple[dict[str, str], ...]:
    """[{"url", "title"}]. Raises RowError."""
    value = row.get(name) or []
    if not isinstance(value, list) or len(value) > 10_000 or not all(isinstance(part, dict) for part in value):
        raise RowError(name, 'is no list of pages like {"url": …, "title": …}')
    return tuple({"url": text_of(part, "url", 4000), "title": text_of(part, "title", 1000)} for part in value)


# --- against a release --------------------------------------------------------------------------------------------


class KnownItem(NamedTuple):
    """An item of the release: where its row is (any key), its question, and its steps.

    order: positions of the steps in the order in which the layout `mr-lhdr` has them. aliases: other ids of it.
    """

    key: Any
    uid: str
    question: str
    order: Sequence[int]
    aliases: Sequence[str] = ()


def folded(text: str) -> str:
    """For comparing questions: NFC, and any white space as one space."""
    return " ".join(unicodedata.normalize("NFC", text).split())


def by_id(items: Iterable[KnownItem]) -> dict[str, KnownItem]:
    """Items by id, and by other ids where one item alone has them."""
    known: dict[str, KnownItem] = {}
    others: dict[str, list[KnownItem]] = {}
    for item in items:
        known[item.uid] = item
        for alias in item.aliases:
            others.setdefault(alias, []).append(item)
    return {alias: found[0] for alias, found in others.items() if len(found) == 1} | known


def match_responses(
    rows: Iterable[ResponseRow], items: Mapping[str, KnownItem], report: Report
) -> list[tuple[ResponseRow, KnownItem]]:
    """The rows that answer an item of the release, each item and sample once; the others are reported by row."""
    taken: dict[tuple[str, int], int] = {}
    matched = []
    for row in rows:
        item = items.get(row.id)
        if item is None:
            report(row.row, "id", f"{row.id[:80]!r} is no item of the release")
        elif row.question is not None and folded(row.question) != folded(item.question):
            report(row.row, "question", f"is not the question that {row.id[:80]!r} has in the release")
        elif first := taken.get((item.uid, row.sample)):
            report(row.row, "id", f"{row.id[:80]!r} (sample {row.sample}) stands already in row {first}; keep one")
        else:
            taken[item.uid, row.sample] = row.row
            matched.append((row, item))
    return matched


def match_verdicts(
    rows: Iterable[VerdictRow], items: Mapping[str, KnownItem], report: Report
) -> list[tuple[VerdictRow, KnownItem, list[int] | None]]:
    """Verdicts on items of the release with their marks in the document's order; the others are reported by row.

    A vector of another length than the checklist is refused, never padded or cut.
    """
    taken: dict[tuple[str, int, str, int], int] = {}
    matched = []
    for row in rows:
        item = items.get(row.id)
        if item is None:
            report(row.row, "id", f"{row.id[:80]!r} is no item of the release")
            continue
        key = (item.uid, row.sample, row.judge, row.repeat)
        steps = len(item.order)
        if first := taken.get(key):
            report(row.row, "id", f"{row.id[:80]!r} stands already in row {first}; keep one verdict of each judge")
        elif row.vector is not None and len(row.vector) != steps:
            text = f"has {len(row.vector)} marks, the checklist {steps} steps; nothing is padded or cut"
            report(row.row, "vector", text)
        else:
            taken[key] = row.row
            marks = list(row.vector) if row.vector is not None else None
            if marks and row.as_exported:
                for place, step in enumerate(item.order):
                    marks[step] = row.vector[place]  # type: ignore[index]
            matched.append((row, item, marks))
    return matched
