"""What belongs to the item list: named views, one's columns, a spreadsheet of it, and a copy of an item."""

from collections.abc import Iterator
from typing import Any

from django.contrib import messages
from django.db.models import Q
from django.http import Http404, HttpRequest, HttpResponse, QueryDict, StreamingHttpResponse
from django.shortcuts import redirect
from django.urls import reverse
from django.utils.translation import gettext as _
from django.views.decorators.http import require_GET, require_POST

from annotation import list_actions, listing
from annotation.benchmarks import get_benchmark_for, get_item_for
from annotation.columns import chosen, columns_of
from annotation.forms.listing import FilterForm, view_query
from annotation.models import Benchmark, SavedView
from lhdr_site.shared.downloads import csv_response, dated
from lhdr_site.shared.errors import DomainError
from lhdr_site.shared.numbers import read_whole


def _view(request: HttpRequest, slug: str, pk: int) -> SavedView:
    """A view of one's own or a shared one. Raises Http404 for others."""
    benchmark = get_benchmark_for(request.user, slug)
    visible = Q(owner=request.user) | Q(is_shared=True)
    view = SavedView.objects.select_related("benchmark").filter(visible, benchmark=benchmark, pk=pk).first()
    if view is None:
        raise Http404
    return view


def view_url(view: SavedView) -> str:
    query = f"{view.query}&" if view.query else ""
    return f"{reverse('annotation:item-list', args=[view.benchmark.slug])}?{query}view={view.pk}"


@require_POST
def view_save(request: HttpRequest, slug: str) -> HttpResponse:
    """A new view of the list that stands in `query`."""
    benchmark = get_benchmark_for(request.user, slug)
    posted = request.POST
    query = view_query(QueryDict(posted.get("query", "")))
    try:
        view = list_actions.save_view(
            benchmark,
            posted.get("name", ""),
            query,
            shared=posted.get("shared") == "on",
            actor=request.user,  # type: ignore[arg-type]
        )
    except DomainError as error:
        messages.error(request, error.message)
        return redirect(f"{reverse('annotation:item-list', args=[slug])}?{query}")
    messages.success(request, _("The view “%(name)s” was saved.") % {"name": view.name})
    return redirect(view_url(view))


@require_POST
def view_change(request: HttpRequest, slug: str, pk: int) -> HttpResponse:
    """Rename, share or take back, put the present list in it, or delete: by `action`."""
    view = _view(request, slug, pk)
    posted, actor = request.POST, request.user
    query = view_query(QueryDict(posted.get("query", "")))
    action = posted.get("action", "")
    try:
        if action == "delete":
            list_actions.delete_view(view, actor=actor)  # type: ignore[arg-type]
            messages.success(request, _("The view “%(name)s” was deleted.") % {"name": view.name})
            return redirect("annotation:item-list", slug=slug)
        change: dict[str, Any] = {"query": query} if action == "overwrite" else {}
        if action == "rename":
            change = {"name": posted.get("name", "")}
            if "share" in posted:
                change["shared"] = posted.get("shared") == "on"
        view = list_actions.change_view(view, actor=actor, **change)  # type: ignore[arg-type]
    except DomainError as error:
        messages.error(request, error.message)
    else:
        messages.success(request, _("The view “%(name)s” was saved.") % {"name": view.name})
    return redirect(view_url(view))


@require_GET
def view_count(request: HttpRequest, slug: str, pk: int) -> HttpResponse:
    """How many items a view holds, for its tab."""
    view = _view(request, slug, pk)
    form = FilterForm(QueryDict(view.query), view.benchmark, [])
    return HttpResponse(listing.item_list(view.benchmark, form.filters(), request.user, size=1).total.words)


@require_POST
def columns_save(request: HttpRequest, slug: str) -> HttpResponse:
    """One's own columns: those that are ticked, by their place; or ours again."""
    get_benchmark_for(request.user, slug)
    posted = request.POST
    codes = [] if posted.get("action") == "reset" else sorted(posted.getlist("column"), key=lambda c: _place(posted, c))
    query = QueryDict(posted.get("query", ""), mutable=True)
    query.pop("columns", None)
    if "view" in query and codes:
        query["columns"] = ",".join(codes)
    try:
        list_actions.set_columns(codes, actor=request.user)  # type: ignore[arg-type]
    except DomainError as error:
        messages.error(request, error.message)
    return redirect(f"{reverse('annotation:item-list', args=[slug])}?{query.urlencode()}")


def _place(posted: QueryDict, code: str) -> int:
    place = read_whole(posted.get(f"place-{code}", ""))
    return 999 if place is None else place


@require_POST
def item_copy(request: HttpRequest, slug: str, number: int) -> HttpResponse:
    item = get_item_for(request.user, slug, number)
    copy = list_actions.copy_item(item, actor=request.user)  # type: ignore[arg-type]
    text = _("This is a copy of #%(from)d, a new draft of yours.") % {"from": item.number}
    messages.success(request, text)
    return redirect("annotation:item-page", slug=slug, number=copy.number)


@require_GET
def list_csv(request: HttpRequest, slug: str) -> StreamingHttpResponse:
    """The whole list with its columns, as a spreadsheet reads it."""
    benchmark = get_benchmark_for(request.user, slug)
    form = FilterForm(request.GET, benchmark, [])
    filters = form.filters()
    columns = chosen(request.GET.get("columns", "").split(","), columns_of(request.user))
    rows = ([column.value(item) for column in columns] for item in _rows(benchmark, filters, request.user))
    return csv_response(dated(f"{slug}-items"), [column.label for column in columns], rows)


def _rows(benchmark: Benchmark, filters: listing.Filters, viewer: Any) -> Iterator[Any]:
    """All pages of a list, one after the other."""
    after, more = "", True
    while more:
        page = listing.item_list(benchmark, filters, viewer, after=after, size=1000)
        yield from page.items
        after, more = page.after, bool(page.after)
