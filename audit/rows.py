"""The rows of the audit page as templates show them, and the wording of marked spans and numbers. No queries."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

from django.utils.translation import gettext as _

from annotation.diff import Change
from annotation.document import Image, Source, Step
from annotation.findings import message_of
from annotation.image_queries import Part, regions_json
from annotation.models import Revision

from .models import CriterionResult, Review
from .queries import Tick
from .workflow import Criterion, Move


@dataclass(frozen=True, slots=True)
class CriterionRow:
    """One criterion with its latest answer."""

    number: int
    criterion: Criterion
    title: str
    help: str
    status: str  # passed, failed, stale, open
    result: CriterionResult | None
    optional: bool
    evidence: str
    ticked: int = 0
    to_tick: int = 0

    @property
    def is_open(self) -> bool:
        return self.status in ("open", "stale")


@dataclass(frozen=True, slots=True)
class Wait:
    """One thing that a move waits for, and where on the page it is seen to."""

    text: str
    href: str
    title: str = ""


@dataclass(frozen=True, slots=True)
class Offer:
    """A move that the item's state allows: who may make it and what it waits for."""

    move: Move
    label: str
    denied: str  # why this person may not; "" when they may
    waits: Sequence[Wait]  # what is still missing; empty when it can be made now
    needs_reason: bool

    @property
    def is_open(self) -> bool:
        return not self.denied and not self.waits


@dataclass(frozen=True, slots=True)
class TickRow:
    """One element to tick: what must be supported, by which sources, and the latest word on it."""

    key: str
    text: str
    more: str
    sources: Sequence[Source]
    missing: Sequence[str]  # keys of sources it names that do not exist
    tick: Tick | None

    @property
    def word(self) -> str:
        """yes, no, or "" when nobody said so of the present content."""
        if self.tick is None or not self.tick.holds:
            return ""
        return "yes" if self.tick.supported else "no"


@dataclass(frozen=True, slots=True)
class TickGroup:
    title: str
    rows: Sequence[TickRow]

    @property
    def done(self) -> int:
        return sum(row.word == "yes" for row in self.rows)


@dataclass(frozen=True, slots=True)
class Piece:
    """A stretch of the question; `number` counts the marked ones from 1, 0 is plain text."""

    text: str
    number: int = 0
    title: str = ""


@dataclass(frozen=True, slots=True)
class Picture:
    image: Image
    is_stored: bool
    tombstone: str = ""  # why it was taken down

    @property
    def regions(self) -> str:
        return regions_json(self.image)


@dataclass(frozen=True, slots=True)
class StepRow:
    """A step and what would not hold without it."""

    number: int
    step: Step
    loses: str
    needed: bool
    parts: list[Part]  # the images and regions it rests on


@dataclass(frozen=True, slots=True)
class GateChanges:
    """What changed of the sections of stale gates since the revision at which they were judged."""

    titles: list[str]
    revision: int
    changes: Sequence[Change]


@dataclass(frozen=True, slots=True)
class Changes:
    """What changed since the person last judged the item."""

    review: Review
    seen: Revision
    asked: str
    changes: Sequence[Change]


def marked(text: str, findings: Sequence[Mapping[str, Any]]) -> list[Piece]:
    """The text in pieces, with the spans of findings marked and numbered; overlapping ones count as one piece each."""
    cuts = {0, len(text)}
    for finding in findings:
        for start, end in finding["spans"]:
            cuts |= {min(start, len(text)), min(end, len(text))}
    return [_piece(text, start, end, findings) for start, end in pairwise(sorted(cuts))]


def _piece(text: str, start: int, end: int, findings: Sequence[Mapping[str, Any]]) -> Piece:
    for number, finding in enumerate(findings, 1):
        if any(low <= start and end <= high for low, high in finding["spans"]):
            return Piece(text[start:end], number, message_of(finding))
    return Piece(text[start:end])


def ranges(numbers: Sequence[int]) -> str:
    """Ascending numbers in words: [3, 4, 5, 7] is "3 to 5, 7"; two in a row stay apart."""
    return ", ".join(_spelled(first, last) for first, last in _runs(numbers))


def _runs(numbers: Sequence[int]) -> Iterator[tuple[int, int]]:
    first = last = None
    for number in numbers:
        if last is not None and number == last + 1:
            last = number
            continue
        if first is not None and last is not None:
            yield first, last
        first = last = number
    if first is not None and last is not None:
        yield first, last


def _spelled(first: int, last: int) -> str:
    if last - first < 2:
        return ", ".join(map(str, range(first, last + 1)))
    return _("%(first)d to %(last)d") % {"first": first, "last": last}
