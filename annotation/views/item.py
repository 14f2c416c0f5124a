"""The item workbench: one page for reading, editing and judging an item."""

from typing import Any

from django.contrib.auth.models import User
from django.http import HttpResponse
from django.shortcuts import redirect, render
from django.utils.translation import gettext as _
from django.views.decorators.http import require_POST, require_safe

from annotation import actions
from annotation.benchmarks import get_item_for, may_act_as
from annotation.models import Item
from annotation.queries import item_page as page_of
from annotation.queries import revisions_of, threads_of
from annotation.states import Role
from annotation.views import Request
from lhdr_site.shared.errors import DomainError, Invalid

PANELS = ("checks", "comments", "history")
REVISIONS = 50  # on one page of the history


def workbench(
    request: Request, item: Item, *, panel: str = "checks", status: int = 200, **context: Any
) -> HttpResponse:
    """The whole page, with a panel and perhaps one section open (`form`)."""
    page = context.pop("page", None) or page_of(item, request.user)
    context |= {"page": page, "panel": panel, "nav": "items"} | panel_context(request, item, panel)
    return render(request, "annotation/item.html", context, status=status)


def panel_context(request: Request, item: Item, panel: str) -> dict[str, Any]:
    """What a panel needs besides the page."""
    if panel == "comments":
        return {
            "threads": threads_of(item),
            "anchor": request.POST.get("anchor") or request.GET.get("anchor", ""),
            "may_block": bool(may_act_as(request.user, item.benchmark, Role.AUDITOR)),
        }
    if panel == "history":
        before = request.GET.get("before", "")
        revisions = revisions_of(item)
        if before.isascii() and before.isdecimal():
            revisions = revisions.filter(number__lt=int(before[:9]))
        found = list(revisions[: REVISIONS + 1])
        return {"revisions": found[:REVISIONS], "older": len(found) > REVISIONS}
    return {}


@require_safe
def item_page(request: Request, slug: str, number: int) -> HttpResponse:
    item = get_item_for(request.user, slug, number)
    wanted = request.GET.get("panel", "")
    return workbench(request, item, panel=wanted if wanted in PANELS else "checks")


@require_POST
def save_coeditors(request: Request, slug: str, number: int) -> HttpResponse:
    item = get_item_for(request.user, slug, number)
    posted = request.POST.getlist("coeditors")
    try:
        users = list(User.objects.filter(pk__in=[int(pk[:12]) for pk in posted if pk.isascii() and pk.isdecimal()]))
        if len(users) != len(set(posted)):
            raise Invalid(_("Choose co-editors among the members of this benchmark."), code="unknown_person")
        actions.set_coeditors(item, users, actor=request.user)
    except DomainError as error:
        context: dict[str, Any] = {"page": page_of(item, request.user), "error": error}
        if request.htmx:
            return render(request, "annotation/_page_people.html", context, status=error.status)
        return workbench(request, item, status=error.status, **context)
    if not request.htmx:
        return redirect(f"{page_of(item, request.user).url}#people")
    item = get_item_for(request.user, slug, number)
    return render(request, "annotation/_page_people.html", {"page": page_of(item, request.user)})
