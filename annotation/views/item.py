"""The item workbench: one page for reading, editing and judging an item."""

from typing import Any

from django.contrib.auth.models import User
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils.translation import gettext as _
from django.views.decorators.http import require_POST, require_safe

from annotation import actions
from annotation.benchmarks import get_item_for
from annotation.models import Item
from annotation.queries import ItemPage
from annotation.queries import item_page as page_of
from lhdr_site.shared.errors import DomainError, Invalid

PANELS = ("checks", "comments", "history")


def workbench(
    request: HttpRequest, item: Item, *, panel: str = "checks", status: int = 200, **context: Any
) -> HttpResponse:
    """The whole page, with a panel and perhaps one section open (`form`)."""
    page = context.pop("page", None) or page_of(item, request.user)
    context |= {"page": page, "panel": panel, "nav": "items"}
    return render(request, "annotation/item.html", context, status=status)


@require_safe
def item_page(request: HttpRequest, slug: str, number: int) -> HttpResponse:
    item = get_item_for(request.user, slug, number)
    wanted = request.GET.get("panel", "")
    return workbench(request, item, panel=wanted if wanted in PANELS else "checks")


@require_POST
def save_coeditors(request: HttpRequest, slug: str, number: int) -> HttpResponse:
    item = get_item_for(request.user, slug, number)
    posted = request.POST.getlist("coeditors")
    try:
        users = list(User.objects.filter(pk__in=[int(pk[:12]) for pk in posted if pk.isascii() and pk.isdecimal()]))
        if len(users) != len(set(posted)):
            raise Invalid(_("Choose co-editors among the members of this benchmark."), code="unknown_person")
        actions.set_coeditors(item, users, actor=request.user)
    except DomainError as error:
        page: ItemPage = page_of(item, request.user)
        context = {"page": page, "error": error}
        if request.htmx:  # type: ignore[attr-defined]
            return render(request, "annotation/_item_people.html", context, status=error.status)
        return workbench(request, item, status=error.status, **context)
    if not request.htmx:  # type: ignore[attr-defined]
        return redirect(f"{page_of(item, request.user).url}#people")
    item = get_item_for(request.user, slug, number)
    return render(request, "annotation/_item_people.html", {"page": page_of(item, request.user)})
