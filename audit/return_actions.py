"""Writes of a return's list of points: what to mend, the author's answer to each, the auditor's word on the answer.

One function, one transaction, one event; the item's row is locked first, as everywhere in the audit.
"""

from collections.abc import Iterable, Mapping
from typing import Any

from django.contrib.auth.models import User
from django.db import transaction
from django.utils import timezone
from django.utils.translation import gettext as _

from annotation.actions import locked_item, record_event
from annotation.anchors import find_place
from annotation.benchmarks import Item
from annotation.queries import present_revision
from lhdr_site.shared.errors import Conflict, Invalid

from .models import ReturnPoint, Transition
from .permissions import may_answer_point, may_judge_point
from .return_queries import points_of, words_of
from .workflow import CRITERIA

MOST = 100  # points of one return
LONGEST = 4_000  # characters of a point or of an answer


def read_points(item: Item, given: Iterable[Mapping[str, Any]]) -> list[dict[str, str]]:
    """The points as they are stored; those without text are left out. Raises Invalid naming the point and the field."""
    points: list[dict[str, str]] = []
    for number, row in enumerate(given, 1):
        text, anchor, criterion = (str(row.get(name, "")).strip() for name in ("text", "anchor", "criterion"))
        if not text:
            continue
        if len(text) > LONGEST:
            message = _("Point %(n)d has %(long)d characters; %(most)d are the most. Make two points of it.")
            raise Invalid.at(f"points.{number}.text", message % {"n": number, "long": len(text), "most": LONGEST})
        if len(anchor) > 100 or find_place(item.document, anchor) is None:
            message = _("Point %(n)d hangs on “%(anchor)s”, which this item does not have. Choose another place.")
            raise Invalid.at(f"points.{number}.anchor", message % {"n": number, "anchor": anchor[:60]})
        if criterion and criterion not in CRITERIA:
            message = _("Point %(n)d names a criterion “%(code)s” that does not exist.")
            raise Invalid.at(f"points.{number}.criterion", message % {"n": number, "code": criterion[:60]})
        points.append({"text": text, "anchor": anchor, "criterion": criterion})
    if len(points) > MOST:
        raise Invalid.at("points", _("A return has at most %(most)d points.") % {"most": MOST})
    return points


def in_words(item: Item, points: Iterable[Mapping[str, str]]) -> str:
    """The points as the reason of a move, one a line, for the history and for mails."""
    lines = []
    for number, point in enumerate(points, 1):
        place = words_of(item.document, point["anchor"])
        lines.append(f"{number}. {place}: {point['text']}" if place else f"{number}. {point['text']}")
    return "\n".join(lines)


def record_points(sent: Transition, points: Iterable[Mapping[str, str]]) -> None:
    """Part of the return, in its transaction."""
    ReturnPoint.objects.bulk_create(ReturnPoint(item_id=sent.item_id, transition=sent, **point) for point in points)


@transaction.atomic
def answer_point(item: Item, pk: int, answer: str, text: str = "", *, actor: User) -> ReturnPoint:
    """The author's word on a point: mended, or disputed with the reason; open takes the answer back."""
    item, point = _point(item, pk)
    may_answer_point(actor, item).require()
    text = text.strip()
    if answer not in ReturnPoint.Answer.values:
        raise Invalid.at("answer", _("Say whether the point is mended or disputed."))
    if answer == ReturnPoint.Answer.DISPUTED and not text:
        raise Invalid.at("text", _("Say why you dispute this point: the auditor decides by it."))
    if len(text) > LONGEST:
        raise Invalid.at("text", _("An answer has at most %(most)d characters.") % {"most": LONGEST})
    point.answer, point.answer_text, point.accepted = answer, text, None
    given = answer != ReturnPoint.Answer.OPEN
    point.answered_by, point.answered = (actor, timezone.now()) if given else (None, None)
    point.revision = present_revision(item) if given else None
    point.save(update_fields=["answer", "answer_text", "accepted", "answered_by", "answered", "revision"])
    _event(item, actor, "point.answered", point, answer=answer, text=text)
    return point


@transaction.atomic
def judge_point(item: Item, pk: int, accepted: bool, *, actor: User) -> ReturnPoint:
    """The auditor's word on an answer: accepted, or open again."""
    item, point = _point(item, pk)
    may_judge_point(actor, item).require()
    point.accepted = accepted
    point.save(update_fields=["accepted"])
    _event(item, actor, "point.accepted" if accepted else "point.reopened", point)
    return point


def _point(item: Item, pk: int) -> tuple[Item, ReturnPoint]:
    """The item and one point of its latest return, both locked."""
    item = locked_item(item)
    if pk not in {point.pk for point in points_of(item)}:
        raise Conflict(_("This point belongs to an earlier return. Reload the page."), code="old_point")
    return item, ReturnPoint.objects.select_for_update().get(pk=pk)


def _event(item: Item, actor: User, kind: str, point: ReturnPoint, **data: Any) -> None:
    record_event(item, actor, kind, point=point.pk, anchor=point.anchor, **data)
