"""Handing in many items at once, as a kind of bulk change of the item list."""

from collections.abc import Mapping, Sequence
from typing import Any

from django.contrib.auth.models import User
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, ngettext

from annotation.benchmarks import Item
from annotation.bulk import Kind, Reasons, by_standing, register
from annotation.states import State

from .actions import submit_item
from .permissions import may_make_move
from .text import state_name
from .workflow import Move, next_state


def _refusals(user: User, items: Sequence[Item], data: Mapping[str, Any]) -> Reasons:
    reasons = by_standing(user, items, lambda user, item: may_make_move(user, item, Move.SUBMIT))
    for item in items:
        state = State(item.state)
        if next_state(state, Move.SUBMIT) is None:
            reasons[item.pk] = _("It is in state “%(state)s” now.") % {"state": state_name(state)}
        elif item.pk not in reasons and item.errors and item.checked_hash == item.document_hash:
            text = ngettext("It has %(n)d error to mend.", "It has %(n)d errors to mend.", item.errors)
            reasons[item.pk] = text % {"n": item.errors}
    return reasons


def _submit(item: Item, data: Mapping[str, Any], actor: User) -> bool:
    submit_item(item, item.document_hash, actor=actor)
    return True


register(Kind("submit", gettext_lazy("Submit for audit"), None, _refusals, _submit))
