"""Writes around the item list: named views, one's columns, and an item copied as a start. See `actions`."""

from collections.abc import Sequence
from dataclasses import replace
from uuid import uuid4

from django.contrib.auth.models import User
from django.db import transaction
from django.utils.translation import gettext as _

from lhdr_site.shared.errors import Invalid

from .actions import insert_items
from .columns import COLUMNS
from .document import read_document
from .models import Benchmark, Item, ItemEvent, Preferences, Revision, SavedView
from .permissions import may_change_view, may_create_item, may_share_views

MOST_VIEWS = 50  # of one person in one benchmark
LONGEST_QUERY = 4000


@transaction.atomic
def save_view(benchmark: Benchmark, name: str, query: str, *, shared: bool = False, actor: User) -> SavedView:
    """A new view of one's own under a name that one has not used yet; shared with everybody by the core team only."""
    may_create_item(actor, benchmark).require()
    if shared:
        may_share_views(actor, benchmark).require()
    mine = SavedView.objects.select_for_update().filter(benchmark=benchmark, owner=actor)
    if len(mine) >= MOST_VIEWS:
        raise Invalid(_("You have %(n)d views here; delete one first.") % {"n": MOST_VIEWS}, code="too_many_views")
    view = SavedView(benchmark=benchmark, owner=actor, query=_query(query), is_shared=shared)
    view.name = _free_name(view, name)
    view.save()
    if shared:
        _tell(view, actor, "view.shared")
    return view


@transaction.atomic
def change_view(
    view: SavedView, *, actor: User, name: str | None = None, query: str | None = None, shared: bool | None = None
) -> SavedView:
    """Rename it, put another list in it, share it or take it back; what is None stays."""
    view = SavedView.objects.select_for_update(of=("self",)).select_related("benchmark").get(pk=view.pk)
    may_change_view(actor, view).require()
    if shared:
        may_share_views(actor, view.benchmark).require()
    was_shared = view.is_shared
    view.name = view.name if name is None else _free_name(view, name)
    view.query = view.query if query is None else _query(query)
    view.is_shared = view.is_shared if shared is None else shared
    view.save()
    if was_shared or view.is_shared:
        _tell(view, actor, "view.changed")
    return view


@transaction.atomic
def delete_view(view: SavedView, *, actor: User) -> None:
    view = SavedView.objects.select_for_update(of=("self",)).select_related("benchmark").get(pk=view.pk)
    may_change_view(actor, view).require()
    if view.is_shared:
        _tell(view, actor, "view.deleted")
    view.delete()


def _tell(view: SavedView, actor: User, kind: str) -> None:
    ItemEvent.objects.create(benchmark_id=view.benchmark_id, actor=actor, kind=kind, data={"name": view.name})


def _free_name(view: SavedView, name: str) -> str:
    name = " ".join(name.split())
    if not name or len(name) > 60:
        raise Invalid.at("name", _("Give the view a name of at most 60 characters."), code="bad_name")
    same = SavedView.objects.filter(benchmark=view.benchmark_id, owner=view.owner_id, name=name).exclude(pk=view.pk)
    if same.exists():
        raise Invalid.at("name", _("You have a view of this name here; choose another."), code="name_taken")
    return name


def _query(query: str) -> str:
    if len(query) > LONGEST_QUERY:
        raise Invalid.at("query", _("This list has too many filters to be kept; take some away."), code="long_query")
    return query


@transaction.atomic
def set_columns(codes: Sequence[str], *, actor: User) -> None:
    """The columns that one's lists show, in this order; none for ours."""
    if unknown := [code for code in codes if code not in COLUMNS]:
        raise Invalid.at("columns", _("There is no column “%(code)s”.") % {"code": unknown[0][:40]})
    Preferences.objects.update_or_create(user=actor, defaults={"columns": list(dict.fromkeys(codes))})


@transaction.atomic
def copy_item(item: Item, *, actor: User) -> Item:
    """A new draft of one's own that starts as a copy: the document with another id, and nothing of its history.

    Keys are kept; stored pictures are shared, as they are by content. Comments, gates and verdicts stay behind.
    """
    may_create_item(actor, item.benchmark).require()
    document = replace(read_document(item.document), id=str(uuid4()), canary=item.benchmark.canary)
    message = _("Copied from #%(number)d") % {"number": item.number}
    copy = insert_items(item.benchmark, [document], author=actor, kind=Revision.Kind.CREATE, message=message)[0]
    Item.objects.filter(pk=copy.pk).update(copied_from=item)
    copy.copied_from = item
    return copy
