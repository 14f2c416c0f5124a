"""Who may do what to an item, with the reason when not. Page, API and action ask the same functions."""

from typing import Any

from lhdr_site.shared.results import Allowed, Answer, Denied

from .benchmarks import may_act_as, role_of
from .models import Benchmark, Item
from .states import EDITABLE_BY_AUTHORS, IN_AUDIT, Role, State


def is_author_or_coeditor(user: Any, item: Item) -> bool:
    return item.author_id == user.pk or item.coeditors.filter(pk=user.pk).exists()


def may_create_item(user: Any, benchmark: Benchmark) -> Answer:
    return may_act_as(user, benchmark, Role.ANNOTATOR)


def may_edit_item(user: Any, item: Item) -> Answer:
    role = role_of(user, item.benchmark)
    if role is None:
        return Denied("You are not a member of this benchmark.")
    state = State(item.state)
    if state is State.LOCKED:
        return Denied("This item is locked. A core member can reopen it with a reason.")
    if state in (State.APPROVED, State.REJECTED):
        return Denied(f"This item is {state.value} and read-only. It can be returned to its author with a reason.")
    if state in EDITABLE_BY_AUTHORS and is_author_or_coeditor(user, item):
        return Allowed()
    if state in IN_AUDIT:
        if role >= Role.CORE:
            return Allowed()
        return Denied("This item is being audited; only core members edit it now.")
    return Denied("Its author and co-editors edit it while it is a draft or returned.")


def may_comment(user: Any, item: Item) -> Answer:
    return may_act_as(user, item.benchmark, Role.ANNOTATOR)


def may_change_coeditors(user: Any, item: Item) -> Answer:
    if item.author_id == user.pk:
        return Allowed()
    return may_act_as(user, item.benchmark, Role.CORE)


def may_administer(user: Any, benchmark: Benchmark) -> Answer:
    return may_act_as(user, benchmark, Role.ADMIN)
