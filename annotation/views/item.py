"""The item workbench: one page for reading, editing and judging an item."""

from typing import Any

from django.contrib.auth.models import User
from django.http import HttpResponse, QueryDict
from django.shortcuts import redirect, render
from django.utils.translation import gettext as _
from django.views.decorators.http import require_POST, require_safe

from annotation import actions
from annotation.anchors import find_place
from annotation.benchmarks import get_item_for, may_act_as
from annotation.document import SECTIONS
from annotation.history_queries import days_of, revisions_of, written_by
from annotation.models import Item
from annotation.permissions import may_suggest_edit
from annotation.queries import ItemPage
from annotation.queries import item_page as page_of
from annotation.states import Role
from annotation.threads import choices_of, place_words, talk_of, texts_of
from annotation.views import Request
from lhdr_site.shared.errors import DomainError, Invalid
from lhdr_site.shared.numbers import read_whole

PANELS = ("checks", "comments", "history")
REVISIONS = 50  # on one page of the history


def workbench(
    request: Request, item: Item, *, panel: str = "checks", status: int = 200, **context: Any
) -> HttpResponse:
    """The whole page, with a panel and perhaps one section open (`form`)."""
    page = context.pop("page", None) or page_of(item, request.user)
    context |= {"page": page, "panel": panel, "nav": "items"} | panel_context(request, page, panel)
    return render(request, "annotation/item.html", context, status=status)


def panel_context(request: Request, page: ItemPage, panel: str) -> dict[str, Any]:
    """What a panel needs besides the page."""
    if panel == "comments":
        return _comments_context(request, page)
    if panel == "history":
        section = request.GET.get("section", "")
        section = section if section in SECTIONS else ""
        before = read_whole(request.GET.get("before", ""))
        found = list(revisions_of(page.item, section=section, before=before)[: REVISIONS + 1])
        revisions = found[:REVISIONS]
        written = written_by(page.item, request.GET["element"]) if request.GET.get("element") else None
        return {
            "days": days_of(revisions),
            "last": revisions[-1] if len(found) > REVISIONS else None,
            "picks": [r.number for r in revisions[:2]],
            "section_wanted": section,
            "written": written,
        }
    return {}


def _comments_context(request: Request, page: ItemPage) -> dict[str, Any]:
    """All that the panel needs. `anchor`: what a new comment is about; `suggest`: whose text to suggest an edit of."""
    asked: QueryDict = request.POST if request.method == "POST" else request.GET
    anchor, suggest = asked.get("anchor", "")[:100], asked.get("suggest")
    document = page.item.document
    place = find_place(document, anchor)
    choices = choices_of(page)
    if anchor and place and anchor not in {*page.order, *(key for key, _label in choices)}:
        choices = [(anchor, place_words(place)), *choices]
    context: dict[str, Any] = {
        "talk": talk_of(page, asked.get("show", "open")),
        "anchor": anchor if place else "",
        "choices": choices,
        "may_block": bool(may_act_as(request.user, page.item.benchmark, Role.AUDITOR)),
        "may_suggest": may_suggest_edit(request.user, page.item),
        "beside": asked.get("on", ""),
        "asked": "anchor" in request.GET or "suggest" in request.GET,
    }
    if suggest is not None:
        texts = texts_of(page, suggest[:100]) or texts_of(page, "")
        path = asked.get("path", "")
        chosen = next((t for t in texts if t[0] == path), texts[0])
        context |= {"suggest": suggest[:100], "texts": texts, "chosen": chosen}
    return context


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
