"""The panels beside an item: checks, comments, history, and the comparison of two revisions."""

from typing import Any

from django.http import Http404, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.utils.translation import gettext as _
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from annotation import actions, steps
from annotation.benchmarks import get_item_for, may_act_as
from annotation.diff import diff_documents
from annotation.document import read_document
from annotation.models import Comment, Item
from annotation.queries import item_page
from annotation.states import Role
from lhdr_site.shared.errors import DomainError, Invalid
from lhdr_site.shared.numbers import read_whole

from . import Request
from .item import panel_context, workbench


def _panel(request: Request, item: Item, name: str, status: int = 200, **context: Any) -> HttpResponse:
    """The panel alone for htmx, else the page with it."""
    context |= {"page": item_page(item, request.user), "panel": name}
    if request.htmx:
        return render(request, f"annotation/_{name}.html", context | panel_context(request, item, name), status=status)
    return workbench(request, item, status=status, **context)


def _fresh(request: Request, item: Item) -> Item:
    return get_item_for(request.user, item.benchmark.slug, item.number)


def _done(request: Request, item: Item, name: str) -> HttpResponse:
    """After a write: the panel as it is now, or back to the page with it."""
    if request.htmx:
        return _panel(request, _fresh(request, item), name, changed=True)
    return redirect(f"{item_page(item, request.user).url}?panel={name}#panel")


def _refused(request: Request, item: Item, name: str, error: DomainError) -> HttpResponse:
    """The panel with the reason and what was typed."""
    return _panel(request, _fresh(request, item), name, status=error.status, error=error, typed=request.POST)


# --- checks -------------------------------------------------------------------------------------------------------


@require_safe
def checks(request: Request, slug: str, number: int) -> HttpResponse:
    return _panel(request, get_item_for(request.user, slug, number), "checks")


@require_POST
def dismiss(request: Request, slug: str, number: int) -> HttpResponse:
    item = get_item_for(request.user, slug, number)
    steps.check_item(item.pk)  # the worker may not have come to it yet
    subject, fingerprint = request.POST.get("subject", ""), request.POST.get("fingerprint", "")
    try:
        actions.dismiss_finding(item, subject, fingerprint, request.POST.get("reason", ""), actor=request.user)
    except DomainError as error:
        return _refused(request, item, "checks", error)
    return _done(request, item, "checks")


@require_POST
def recall(request: Request, slug: str, number: int) -> HttpResponse:
    item = get_item_for(request.user, slug, number)
    actions.recall_dismissal(item, request.POST.get("subject", ""), actor=request.user)
    return _done(request, item, "checks")


# --- comments -----------------------------------------------------------------------------------------------------


@require_http_methods(["GET", "HEAD", "POST"])
def comments(request: Request, slug: str, number: int) -> HttpResponse:
    item = get_item_for(request.user, slug, number)
    if request.method != "POST":
        return _panel(request, item, "comments")
    posted = request.POST
    parent = None
    try:
        if posted.get("parent"):
            parent = item.comments.filter(pk=read_whole(posted["parent"]) or 0).first()
            if parent is None:
                raise Invalid(_("The comment you answer is not here any more. Write a new one."), code="no_parent")
        blocking = posted.get("blocking") == "on"
        if blocking:
            may_act_as(request.user, item.benchmark, Role.AUDITOR).require()
        actions.add_comment(
            item,
            posted.get("body", ""),
            actor=request.user,
            anchor=posted.get("anchor", ""),
            blocking=blocking,
            parent=parent,
        )
    except DomainError as error:
        return _refused(request, item, "comments", error)
    return _done(request, item, "comments")


@require_POST
def resolve(request: Request, slug: str, number: int, pk: int) -> HttpResponse:
    item = get_item_for(request.user, slug, number)
    comment = get_object_or_404(Comment, pk=pk, item=item, parent=None)
    try:
        actions.resolve_comment(comment, actor=request.user, resolved=request.POST.get("resolved") != "no")
    except DomainError as error:
        return _refused(request, item, "comments", error)
    return _done(request, item, "comments")


# --- history ------------------------------------------------------------------------------------------------------


@require_safe
def history(request: Request, slug: str, number: int) -> HttpResponse:
    return _panel(request, get_item_for(request.user, slug, number), "history")


@require_safe
def compare(request: Request, slug: str, number: int) -> HttpResponse:
    """Two revisions, field by field."""
    item = get_item_for(request.user, slug, number)
    newest = item.revision_number
    to = _revision_number(request.GET.get("to", ""), newest)
    start = _revision_number(request.GET.get("from", ""), max(to - 1, 1))
    found = {r.number: r for r in item.revisions.select_related("author").filter(number__in=(start, to))}
    if len(found) < len({start, to}):
        raise Http404
    changes = diff_documents(read_document(found[start].document), read_document(found[to].document))
    context = {
        "page": item_page(item, request.user),
        "old": found[start],
        "new": found[to],
        "both": [found[start], found[to]] if start != to else [found[to]],
        "changes": changes,
        "numbers": range(newest, 0, -1),
        "nav": "items",
    }
    return render(request, "annotation/compare.html", context)


def _revision_number(text: str, default: int) -> int:
    return int(text[:9]) if text.isascii() and text.isdecimal() else default


@require_POST
def restore(request: Request, slug: str, number: int) -> HttpResponse:
    item = get_item_for(request.user, slug, number)
    wanted = _revision_number(request.POST.get("number", ""), 0)
    actions.restore_revision(item, wanted, request.POST.get("base_hash", ""), actor=request.user)
    return redirect(f"{item_page(item, request.user).url}?panel=history#panel")
