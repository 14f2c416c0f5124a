"""The checks beside an item, and what all panels beside it share. The others are in `comments` and `history`."""

from typing import Any

from django.http import HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.http import require_POST, require_safe

from annotation import actions, steps
from annotation.benchmarks import get_item_for
from annotation.models import Item
from annotation.queries import item_page
from lhdr_site.shared.errors import DomainError

from . import Request
from .item import panel_context, workbench


def show_panel(request: Request, item: Item, name: str, status: int = 200, **context: Any) -> HttpResponse:
    """The panel alone for htmx, else the page with it."""
    context |= {"page": item_page(item, request.user), "panel": name}
    if request.htmx:
        return render(
            request, f"annotation/_{name}.html", context | panel_context(request, context["page"], name), status=status
        )
    return workbench(request, item, status=status, **context)


def _fresh(request: Request, item: Item) -> Item:
    return get_item_for(request.user, item.benchmark.slug, item.number)


def _done(request: Request, item: Item, name: str) -> HttpResponse:
    """After a write: the panel as it is now, or back to the page with it."""
    if request.htmx:
        return show_panel(request, _fresh(request, item), name, changed=True)
    return redirect(f"{item_page(item, request.user).url}?panel={name}#panel")


def _refused(request: Request, item: Item, name: str, error: DomainError) -> HttpResponse:
    """The panel with the reason and what was typed."""
    return show_panel(request, _fresh(request, item), name, status=error.status, error=error, typed=request.POST)


# --- checks -------------------------------------------------------------------------------------------------------


@require_safe
def checks(request: Request, slug: str, number: int) -> HttpResponse:
    return show_panel(request, get_item_for(request.user, slug, number), "checks")


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


@require_POST
def quiet(request: Request, slug: str, number: int) -> HttpResponse:
    """Have findings wait until one asks for them, in all of one's drafts; or no longer."""
    item = get_item_for(request.user, slug, number)
    actions.set_quiet_checks(request.POST.get("quiet") == "on", actor=request.user)
    response = _done(request, item, "checks")
    response["HX-Trigger-After-Settle"] = "quiet-changed"
    return response
