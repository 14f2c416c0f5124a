"""What this app can do to many items at once: tags, category; for the core team auditor, due date, author, examples.

Imported when the app is ready, so that each kind stands in the registry of `bulk`.
"""

import datetime as dt
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

from django.contrib.auth.models import User
from django.utils.translation import gettext_lazy as _

from lhdr_site.shared.errors import Invalid

from .actions import locked_item, save_section
from .assignment_actions import LONGEST_NOTE, assign_item, auditor_of_own, hand_over_item, mark_golden, to_audit_it
from .benchmarks import Role
from .bulk import Kind, Need, Reasons, by_standing, register
from .document import SECTIONS
from .models import Benchmark, Item, ItemTag, ItemWriter
from .permissions import may_assign, may_edit_item, may_mark_golden

Data = Mapping[str, Any]


# --- tags and category ----------------------------------------------------------------------------------------------


def _tags(benchmark: Benchmark) -> list[tuple[str, str]]:
    return list(benchmark.operation_tags.values_list("slug", "name"))


def _tags_in_use(benchmark: Benchmark) -> list[tuple[str, str]]:
    """Also those that only items name."""
    known = dict(_tags(benchmark))
    slugs = ItemTag.objects.filter(item__benchmark=benchmark).order_by("slug").values_list("slug", flat=True).distinct()
    return list((known | {slug: known.get(slug, slug) for slug in slugs[:200]}).items())


def _categories(benchmark: Benchmark) -> list[tuple[str, str]]:
    return list(benchmark.categories.values_list("slug", "name"))


def _may_edit(user: User, items: Sequence[Item], data: Data) -> Reasons:
    return by_standing(user, items, may_edit_item)


def _set_metadata(change: Callable[[dict[str, Any], str], None], item: Item, data: Data, actor: User) -> bool:
    may_edit_item(actor, item).require()
    content = {name: item.document[name] for name in SECTIONS["metadata"]}
    change(content, data["value"])
    before = item.document_hash
    return save_section(item, "metadata", content, item.section_hashes["metadata"], actor=actor).document_hash != before


def _add_tag(content: dict[str, Any], tag: str) -> None:
    content["operation_tags"] = [*content["operation_tags"], tag]


def _remove_tag(content: dict[str, Any], tag: str) -> None:
    content["operation_tags"] = [t for t in content["operation_tags"] if t != tag]


def _set_category(content: dict[str, Any], category: str) -> None:
    content["category"] = category


_NO_TAG = _("Choose a tag of this benchmark.")
register(
    Kind("add_tag", _("Add a tag"), Need(_("Tag"), _NO_TAG, _tags), _may_edit, partial(_set_metadata, _add_tag)),
    Kind(
        "remove_tag",
        _("Remove a tag"),
        Need(_("Tag"), _NO_TAG, _tags_in_use),
        _may_edit,
        partial(_set_metadata, _remove_tag),
    ),
    Kind(
        "set_category",
        _("Set the category"),
        Need(_("Category"), _("Choose a category of this benchmark."), _categories),
        _may_edit,
        partial(_set_metadata, _set_category),
    ),
)


# --- auditor, due date and author -----------------------------------------------------------------------------------


def _members(role: Role, benchmark: Benchmark) -> list[tuple[str, str]]:
    """User name and shown name of the active members of this role or above."""
    rows = benchmark.memberships.select_related("user").filter(user__is_active=True, role__gte=role)
    return [(m.user.username, m.user.get_full_name() or m.user.username) for m in rows.order_by("user__username")]


def _person(data: Data) -> User:
    user = User.objects.filter(username=data["value"]).first()
    if user is None:
        raise Invalid.at("value", str(_("Nobody has this user name any more.")), code="unknown_person")
    return user


def _may_assign(user: User, items: Sequence[Item], data: Data) -> Reasons:
    return by_standing(user, items, may_assign)


def _may_ask(user: User, items: Sequence[Item], data: Data) -> Reasons:
    """Nobody audits their own."""
    reasons, auditor = _may_assign(user, items, data), _person(data)
    own = set(Item.coeditors.through.objects.filter(user_id=auditor.pk).values_list("item_id", flat=True))
    own |= set(ItemWriter.objects.filter(user=auditor, item__in=items).values_list("item_id", flat=True))
    for item in items:
        is_own = item.author_id == auditor.pk or item.pk in own
        if is_own and not item.benchmark.is_sandbox and item.auditor_id != auditor.pk:
            reasons.setdefault(item.pk, auditor_of_own(auditor))
    return reasons


def _may_hand_over(user: User, items: Sequence[Item], data: Data) -> Reasons:
    """Whoever is to audit an item does not become its author."""
    reasons, author = _may_assign(user, items, data), _person(data)
    for item in items:
        if item.auditor_id == author.pk and item.author_id != author.pk and not item.benchmark.is_sandbox:
            reasons.setdefault(item.pk, to_audit_it(author))
    return reasons


def _assign(read: Callable[[Item, Data], tuple[User | None, dt.date | None]], item: Item, data: Data, by: User) -> bool:
    """read: the auditor and the day that the item gets. What it does not change is read where nobody else writes."""
    item = locked_item(item)
    before = (item.auditor_id, item.due)
    item = assign_item(item, *read(item, data), actor=by)
    return (item.auditor_id, item.due) != before


def _hand_over(item: Item, data: Data, by: User) -> bool:
    before = item.author_id
    return hand_over_item(item, _person(data), actor=by).author_id != before


def _is_day(text: str) -> bool:
    try:
        return bool(dt.date.fromisoformat(text))
    except ValueError:
        return False


_DAY = Need(_("Due"), _("Choose a day, written like 2026-12-31."), input="date", taken=_is_day)
_AUDITOR = Need(_("Auditor"), _("Choose an auditor or a member of the core team."), partial(_members, Role.AUDITOR))
_AUTHOR = Need(_("New author"), _("Choose a member of this benchmark."), partial(_members, Role.ANNOTATOR))
register(
    Kind(
        "assign",
        _("Ask for an audit"),
        _AUDITOR,
        _may_ask,
        partial(_assign, lambda item, data: (_person(data), item.due)),
        Role.CORE,
    ),
    Kind(
        "unassign",
        _("Ask nobody for an audit"),
        None,
        _may_assign,
        partial(_assign, lambda item, data: (None, item.due)),
        Role.CORE,
    ),
    Kind(
        "set_due",
        _("Set the due date"),
        _DAY,
        _may_assign,
        partial(_assign, lambda item, data: (item.auditor, dt.date.fromisoformat(data["value"]))),
        Role.CORE,
    ),
    Kind(
        "clear_due",
        _("Take the due date away"),
        None,
        _may_assign,
        partial(_assign, lambda item, data: (item.auditor, None)),
        Role.CORE,
    ),
    Kind("hand_over", _("Hand over to another author"), _AUTHOR, _may_hand_over, _hand_over, Role.CORE),
)


# --- examples -------------------------------------------------------------------------------------------------------


def _may_mark(golden: bool, user: User, items: Sequence[Item], data: Data) -> Reasons:
    return by_standing(user, items, partial(_may_be, golden))


def _may_be(golden: bool, user: User, item: Item) -> Any:
    return may_mark_golden(user, item, golden)


def _mark(golden: bool, item: Item, data: Data, by: User) -> bool:
    item = locked_item(item)
    note = " ".join(data["value"].split())
    if (item.is_golden, item.golden_note) == (golden, note):
        return False
    mark_golden(item, golden, note, actor=by)
    return True


_NOTE = Need(
    _("What they are good examples of"),
    _("Say in at most 300 characters what they are good examples of."),
    taken=lambda text: 0 < len(" ".join(text.split())) <= LONGEST_NOTE,
)
register(
    Kind("golden", _("Mark as golden examples"), _NOTE, partial(_may_mark, True), partial(_mark, True), Role.CORE),
    Kind(
        "not_golden",
        _("Take off the golden examples"),
        None,
        partial(_may_mark, False),
        partial(_mark, False),
        Role.CORE,
    ),
)
