"""What happened to an item while somebody looked at its audit: for a conflict's sentence and for the page's notice."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from django.utils import timezone
from django.utils.formats import date_format
from django.utils.translation import gettext as _

from annotation.benchmarks import Item
from annotation.gates import gate_statuses
from annotation.models import Revision
from annotation.states import Gate, GateStatus

from .models import Transition
from .text import gate_title, move_name
from .workflow import Move

MOST = 5  # revisions that a notice names


def name_of(user: Any) -> str:
    return (user.get_full_name() or user.get_username()) if user else _("the system")


def clock(moment: Any) -> str:
    return date_format(timezone.localtime(moment), "DATETIME_FORMAT")


def last_move(item: Item) -> str:
    """Who moved the item last, how and when, as a sentence; "" when nobody did."""
    row = Transition.objects.filter(item=item).select_related("actor").order_by("-pk").first()
    if row is None:
        return ""
    values = {"who": name_of(row.actor), "move": move_name(Move(row.move)), "when": clock(row.created)}
    return _("%(who)s decided “%(move)s”, %(when)s.") % values


def last_edit(item: Item) -> str:
    """Who saved the present revision and when, as words."""
    row = Revision.objects.select_related("author").defer("document").get(item=item, number=item.revision_number)
    values = {"who": name_of(row.author), "number": row.number, "when": clock(row.created)}
    return _("%(who)s saved r%(number)d, %(when)s") % values


@dataclass(frozen=True, slots=True)
class News:
    """Revisions since the one that a page shows, gates that are stale now, and the move when the state changed."""

    revisions: Sequence[Revision]
    stale: Sequence[str]
    moved: Transition | None


def news_since(item: Item, revision: int, state: str) -> News | None:
    """What a page that shows this revision and state has missed; None when nothing."""
    if item.revision_number == revision and item.state == state:
        return None
    rows = Revision.objects.filter(item=item, number__gt=revision).select_related("author").defer("document")
    moves = Transition.objects.filter(item=item).select_related("actor").order_by("-pk")
    stale = [gate for gate, status in gate_statuses(item).items() if status == GateStatus.STALE]
    return News(
        revisions=list(rows.order_by("-number")[:MOST]),
        stale=[gate_title(Gate(gate)) for gate in stale],
        moved=moves.first() if item.state != state else None,
    )
