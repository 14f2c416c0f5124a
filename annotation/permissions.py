"""Who may do what to an item, with the reason when not. Page, API and action ask the same functions."""

from typing import Any

from lhdr_site.shared.results import Allowed, Answer, Denied

from .benchmarks import may_act_as, role_of
from .models import Benchmark, Item, SavedView, Seed
from .states import EDITABLE_BY_AUTHORS, IN_AUDIT, Role, State


def is_author_or_coeditor(user: Any, item: Item) -> bool:
    return item.author_id == user.pk or item.coeditors.filter(pk=user.pk).exists()


def ever_wrote(user: Any, item: Item) -> bool:
    """Author, co-editor, or anybody who once wrote it as such: they judge it neither now nor later."""
    return is_author_or_coeditor(user, item) or item.writers.filter(user=user).exists()


def may_create_item(user: Any, benchmark: Benchmark) -> Answer:
    return may_act_as(user, benchmark, Role.ANNOTATOR)


def may_edit_item(user: Any, item: Item) -> Answer:
    role = role_of(user, item.benchmark)
    if role is None:
        return Denied("You are not a member of this benchmark.")
    state = State(item.state)
    if (closed := _closed(state)) is not None:
        return closed
    if state in EDITABLE_BY_AUTHORS and is_author_or_coeditor(user, item):
        return Allowed()
    if state in IN_AUDIT:
        if role >= Role.CORE:
            return Allowed()
        return Denied("This item is being audited; only core members edit it now.")
    return Denied("Its author and co-editors edit it while it is a draft or returned.")


def _closed(state: State) -> Denied | None:
    """Why nobody edits an item in this state; None where somebody may."""
    if state is State.LOCKED:
        return Denied("This item is locked. A core member can reopen it with a reason.")
    if state in (State.APPROVED, State.REJECTED):
        return Denied(f"This item is {state.value} and read-only. It can be returned to its author with a reason.")
    return None


def may_suggest_edit(user: Any, item: Item) -> Answer:
    """Whoever may comment, wherever somebody may edit."""
    closed = _closed(State(item.state))
    member = may_comment(user, item)
    return closed if member and closed is not None else member


def may_comment(user: Any, item: Item) -> Answer:
    return may_act_as(user, item.benchmark, Role.ANNOTATOR)


def may_keep_draft(user: Any, item: Item) -> Answer:
    """Members: a draft is read by nobody else, and what was typed before an item was locked must not get lost."""
    return may_act_as(user, item.benchmark, Role.ANNOTATOR)


def may_change_coeditors(user: Any, item: Item) -> Answer:
    if item.state == State.LOCKED:
        return Denied("This item is locked; its co-editors stay as they are until a core member unlocks it.")
    if item.author_id == user.pk:
        return Allowed()
    return may_act_as(user, item.benchmark, Role.CORE)


def may_administer(user: Any, benchmark: Benchmark) -> Answer:
    return may_act_as(user, benchmark, Role.ADMIN)


def may_assign(user: Any, item: Item) -> Answer:
    """Auditor, due date and author: the core team's, until nothing is left to do."""
    if item.state in (State.LOCKED, State.REJECTED):
        return Denied(f"This item is {item.state}; nobody is asked to work on it any more.")
    return may_act_as(user, item.benchmark, Role.CORE)


def may_mark_golden(user: Any, item: Item, golden: bool = True) -> Answer:
    """An example has been through the audit. What is returned later may be taken off the examples."""
    if golden and item.state not in (State.APPROVED, State.LOCKED):
        return Denied("Only approved and locked items are examples for others.")
    return may_act_as(user, item.benchmark, Role.CORE)


def may_drop_seed(user: Any, seed: Seed) -> Answer:
    """Who had the idea, and the core team."""
    if seed.author_id == user.pk:
        return may_act_as(user, seed.benchmark, Role.ANNOTATOR)
    return may_act_as(user, seed.benchmark, Role.CORE)


def may_share_views(user: Any, benchmark: Benchmark) -> Answer:
    return may_act_as(user, benchmark, Role.CORE)


def may_change_view(user: Any, view: SavedView) -> Answer:
    """One's own; and what is shared, as the core team."""
    if view.owner_id == user.pk:
        return may_act_as(user, view.benchmark, Role.ANNOTATOR)
    return may_share_views(user, view.benchmark) if view.is_shared else Denied("This view is somebody else's.")
