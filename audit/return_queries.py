"""Reads of what a return asked for: the points, the author's answers, and what changed where each point hangs."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from django.utils.translation import gettext as _

from annotation.anchors import find_place
from annotation.benchmarks import Item
from annotation.diff import Change, diff_documents
from annotation.document import SECTIONS, Document, read_document
from annotation.states import State
from annotation.threads import place_words

from .models import ReturnPoint, Transition
from .workflow import CRITERIA

# Where a point about a criterion hangs when nothing narrower is known.
PLACE = {
    "pilot_graph": "graph",
    "pilot_convergence": "question",
    "pilot_leakage": "question",
    "pilot_checklist": "checklist",
    "pilot_multimodal": "checklist",
    "pilot_answer": "question",
    "chain": "graph",
    "path": "question",
    "minimal": "checklist",
    "support": "sources",
    "unique": "question",
    "non_text": "checklist",
    "changes_state": "checklist",
    "probes": "question",
    "urls": "sources",
    "breadth": "sources",
    "inspectable": "images",
    "metadata": "metadata",
}


def points_of(item: Item) -> list[ReturnPoint]:
    """What the latest return asked for; earlier returns' points are history."""
    last = Transition.objects.filter(item=item, to_state=State.RETURNED).order_by("-pk").values("pk")[:1]
    rows = ReturnPoint.objects.filter(item=item, transition__in=list(last.values_list("pk", flat=True)))
    return list(rows.select_related("transition", "answered_by", "revision").defer("revision__document"))


def unanswered(item: Item) -> list[ReturnPoint]:
    return [point for point in points_of(item) if point.answer == ReturnPoint.Answer.OPEN]


def not_accepted(item: Item, *, state: State | None = None) -> list[ReturnPoint]:
    """Points whose answer nobody accepted yet; with `state` those of a return from it only."""
    points = [point for point in points_of(item) if not point.accepted]
    return [point for point in points if state is None or point.transition.from_state == state]


@dataclass(frozen=True)
class PointRow:
    """A point as a page shows it, with what changed at its place since the return."""

    number: int
    point: ReturnPoint
    place: str  # in words; "" for the whole item
    section: str
    criterion: str  # title
    changes: Sequence[Change]


@dataclass(frozen=True)
class Points:
    """The list of a return: what to mend, and what was answered."""

    item: Item
    sent: Transition
    rows: Sequence[PointRow]

    @property
    def answered(self) -> int:
        return sum(row.point.answer != ReturnPoint.Answer.OPEN for row in self.rows)

    @property
    def accepted(self) -> int:
        return sum(bool(row.point.accepted) for row in self.rows)


def point_rows(item: Item, document: Document | None = None) -> Points | None:
    """The points of the latest return; None when it named none."""
    points = points_of(item)
    if not points:
        return None
    sent = points[0].transition
    now = document or read_document(item.document)
    then = read_document(sent.revision.document)
    changes = diff_documents(then, now)
    rows = []
    for number, point in enumerate(points, 1):
        place = find_place(item.document, point.anchor) or find_place(sent.revision.document, point.anchor)
        criterion = CRITERIA.get(point.criterion)
        rows.append(
            PointRow(
                number=number,
                point=point,
                place=words_of(item.document, point.anchor),
                section=place.section if place else "",
                criterion=_(criterion.title) if criterion else "",
                changes=changes_at(changes, point.anchor, place.section if place else ""),
            )
        )
    return Points(item, sent, rows)


def changes_at(changes: Sequence[Change], anchor: str, section: str) -> list[Change]:
    """Those of a section, of one element of it where the anchor names one, or all for the whole item."""
    if not anchor:
        return list(changes)
    if anchor in SECTIONS:
        return [change for change in changes if change.section == section]
    start = anchor.split(".")[0]
    return [
        change
        for change in changes
        if change.section == section
        and (start in change.path.split(".") or any(start == key for _, key in change.where))
    ]


def words_of(document: Any, anchor: str) -> str:
    """A place in words; the anchor itself when it is gone."""
    if not anchor:
        return ""
    place = find_place(document, anchor)
    if place is None:
        return anchor
    return place_words(place) or anchor.capitalize()
