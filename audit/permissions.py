"""Who may judge, move, lock and release, with the reason when not. Page, API and action ask the same functions."""

from dataclasses import dataclass
from typing import Any

from django.utils.translation import gettext as _

from annotation.benchmarks import Benchmark, Item, Role, may_act_as, role_of
from annotation.permissions import is_author_or_coeditor
from annotation.states import State
from lhdr_site.shared.results import Allowed, Answer, Denied

from .workflow import Move, Phase, next_state, phase_of, role_for


@dataclass(frozen=True, slots=True)
class Standing:
    """What a person is to an item: read once, asked often."""

    role: Role | None
    is_author: bool
    is_own: bool  # author or co-editor
    sandbox: bool


def standing_of(user: Any, item: Item) -> Standing:
    return Standing(
        role=role_of(user, item.benchmark),
        is_author=item.author_id == user.pk,
        is_own=is_author_or_coeditor(user, item),
        sandbox=item.benchmark.is_sandbox,
    )


def may_make_move(user: Any, item: Item, move: Move, *, standing: Standing | None = None) -> Answer:
    """Whether the person may make a move from the item's present state. Whether the state allows it is the table's."""
    who = standing or standing_of(user, item)
    if who.role is None:
        return Denied(_("You are not a member of this benchmark."))
    state = State(item.state)
    if move is Move.SUBMIT:
        return Allowed() if who.is_own else Denied(_("Its author and co-editors submit it."))
    if move is Move.WITHDRAW:
        return Allowed() if who.is_author else Denied(_("Only its author withdraws it."))
    needed = role_for(state, move)
    if needed is not None and (answer := _has_role(who.role, needed)) is not None:
        return answer
    if who.is_own and not who.sandbox and move not in (Move.UNLOCK, Move.LOCK_IMPORTED):
        return Denied(_("Nobody judges or locks an item that they created or co-edit."))
    return Allowed()


def may_review(user: Any, item: Item, *, phase: Phase | None = None, standing: Standing | None = None) -> Answer:
    """Whether the person may judge the item in the phase it is in."""
    who = standing or standing_of(user, item)
    phase = phase or phase_of(State(item.state))
    if who.role is None:
        return Denied(_("You are not a member of this benchmark."))
    if phase is None:
        return Denied(_("The item is in no audit phase now."))
    if (answer := _has_role(who.role, phase.role)) is not None:
        return answer
    if who.is_own and not who.sandbox:
        return Denied(_("Nobody judges or locks an item that they created or co-edit."))
    return Allowed()


def _has_role(role: Role, needed: Role) -> Denied | None:
    if role >= needed:
        return None
    return Denied(_("This needs the role %(needed)s or above.") % {"needed": role_name(needed)})


def role_name(role: Role) -> str:
    return {
        Role.ANNOTATOR: _("annotator"),
        Role.AUDITOR: _("auditor"),
        Role.CORE: _("core team"),
        Role.ADMIN: _("admin"),
    }[role]


def is_possible(user: Any, item: Item, move: Move, *, standing: Standing | None = None) -> bool:
    """Whether a page offers the move at all: the state allows it and so does the person's role."""
    return next_state(State(item.state), move) is not None and bool(may_make_move(user, item, move, standing=standing))


def may_set_calibration(user: Any, benchmark: Benchmark, annotator: Any) -> Answer:
    if annotator.pk == user.pk and not benchmark.is_sandbox:
        return Denied(_("Nobody calibrates themselves."))
    return may_act_as(user, benchmark, Role.CORE)


def may_lock_imported(user: Any, benchmark: Benchmark) -> Answer:
    return may_act_as(user, benchmark, Role.ADMIN)


def may_see_releases(user: Any, benchmark: Benchmark) -> Answer:
    return may_act_as(user, benchmark, Role.ANNOTATOR)


def may_cut_release(user: Any, benchmark: Benchmark) -> Answer:
    return may_act_as(user, benchmark, Role.ADMIN)


def may_export_release(user: Any, benchmark: Benchmark) -> Answer:
    return may_act_as(user, benchmark, Role.ADMIN)
