"""The seven gates of an item as pages, lists, files and the API show them. Reads the item's row, no query.

Who is to judge an item without knowing how others judged it does not see them: its row is read with
`.annotate(**judged_blind(person))`, and every gate then shows as hidden.
"""

from collections.abc import Callable, Iterable
from typing import Any, Final

from django.db.models import BooleanField, ExpressionWrapper, Q, QuerySet
from django.utils.translation import gettext as _

from .models import Item
from .states import Gate, gate_status

HIDDEN: Final = "hidden"
_blind: list[Callable[[Any], QuerySet[Any]]] = []


def register_blind(items_of: Callable[[Any], QuerySet[Any]]) -> None:
    """An app above says, as keys of items, which a person is to judge without knowing others' judgement."""
    _blind.append(items_of)


def is_blind_to(user: Any, key: str = "pk") -> Q:
    """Of rows whose `key` is an item's key: those that the person is to judge so."""
    found = Q(pk__in=[])
    for items_of in _blind:
        found |= Q(**{f"{key}__in": items_of(user)})
    return found


def judged_blind(user: Any) -> dict[str, Any]:
    """The same as a column of that name."""
    return {"judged_blind": ExpressionWrapper(is_blind_to(user), output_field=BooleanField())}


def mark_blind(items: Iterable[Item], user: Any) -> None:
    """The same for items that came along with other rows: one query."""
    found = list(items)
    blind = set(Item.objects.filter(is_blind_to(user), pk__in=[item.pk for item in found]).values_list("pk", flat=True))
    for item in found:
        item.judged_blind = item.pk in blind


def gate_statuses(item: Item) -> dict[str, str]:
    """Gate -> status for the item's present content, or hidden."""
    if item.judged_blind:
        return {str(gate): HIDDEN for gate in Gate}
    return {str(gate): str(gate_status(item.gates.get(gate), gate, item.section_hashes)) for gate in Gate}


def gates_shown(item: Item) -> dict[str, dict[str, Any]]:
    """Gate -> its status, and who decided it, when (ISO 8601) and on which revision, as pages show the seven."""
    if item.judged_blind:
        return {str(gate): {"status": HIDDEN, "title": _("hidden while you audit it blind")} for gate in Gate}
    return {
        gate: {"status": status} | {k: v for k, v in item.gates.get(gate, {}).items() if k in ("by", "at", "revision")}
        for gate, status in gate_statuses(item).items()
    }


def heard(rows: Any, item: Item, user: Any) -> Any:
    """Comments or suggestions of an item without what others said, where the person is to judge it blind."""
    return rows.filter(author=user) if item.judged_blind else rows
