"""What is said about an item: threads and suggested edits in one panel, beside the item and on the audit page."""

from typing import Any

from django.http import Http404, HttpResponse
from django.shortcuts import redirect, render
from django.utils.translation import gettext as _
from django.views.decorators.http import require_http_methods, require_POST

from annotation import comment_actions, suggestion_actions
from annotation.anchors import find_place
from annotation.benchmarks import get_item_for
from annotation.models import Comment, Item, Suggestion
from annotation.queries import item_page
from annotation.threads import talk_of
from lhdr_site.shared.errors import DomainError, Invalid
from lhdr_site.shared.numbers import read_whole

from . import Request
from .item import panel_context, workbench


def _panel(request: Request, item: Item, status: int = 200, **context: Any) -> HttpResponse:
    """The panel alone for htmx, else the page with it."""
    page = item_page(item, request.user)
    if request.htmx:
        context = {"page": page, **panel_context(request, page, "comments"), **context}
        return render(request, "annotation/_comments.html", context, status=status)
    return workbench(request, item, page=page, panel="comments", status=status, **context)


def _done(request: Request, item: Item, at: str = "panel", section: str = "") -> HttpResponse:
    """After a write: the panel as it is now, with the section that it changed, or back to where it was asked from."""
    if request.htmx:
        fresh = get_item_for(request.user, item.benchmark.slug, item.number)
        reply = _panel(request, fresh, changed=True, section=section, suggest=None, asked=False)
        if section and request.POST.get("on"):
            reply["HX-Refresh"] = "true"  # what another page shows was read before the change
        return reply
    show = request.POST.get("show", "")
    return redirect(f"{item_page(item, request.user).url}?panel=comments{'&show=' + show if show else ''}#{at}")


def _refused(request: Request, item: Item, error: DomainError) -> HttpResponse:
    """The panel with the reason and what was typed; an answer to what is gone is kept as a new comment."""
    fresh = get_item_for(request.user, item.benchmark.slug, item.number)
    typed = request.POST.dict()
    for name in ("parent", "edit"):
        if name in typed and not fresh.comments.filter(pk=read_whole(str(typed[name])) or 0, deleted=None).exists():
            del typed[name]
    return _panel(request, fresh, status=error.status, error=error, typed=typed)


def _comment(item: Item, pk: int, **narrowed: Any) -> Comment:
    comment = item.comments.filter(pk=pk, **narrowed).first()
    if comment is None:
        raise Http404
    return comment


@require_http_methods(["GET", "HEAD", "POST"])
def comments(request: Request, slug: str, number: int) -> HttpResponse:
    item = get_item_for(request.user, slug, number)
    if request.method != "POST":
        return _panel(request, item)
    posted = request.POST
    parent = None
    try:
        if posted.get("parent"):
            parent = item.comments.filter(pk=read_whole(posted["parent"]) or 0).first()
            if parent is None:
                raise Invalid(_("The comment you answer is not here any more. Write a new one."), code="no_parent")
        made = comment_actions.add_comment(
            item,
            posted.get("body", ""),
            actor=request.user,
            anchor=posted.get("anchor", ""),
            blocking=posted.get("blocking") == "on",
            parent=parent,
        )
    except DomainError as error:
        return _refused(request, item, error)
    return _done(request, item, f"comment-{made.pk}")


@require_POST
def comment_edit(request: Request, slug: str, number: int, pk: int) -> HttpResponse:
    item = get_item_for(request.user, slug, number)
    try:
        comment_actions.edit_comment(_comment(item, pk), request.POST.get("body", ""), actor=request.user)
    except DomainError as error:
        return _refused(request, item, error)
    return _done(request, item, f"comment-{pk}")


@require_POST
def comment_delete(request: Request, slug: str, number: int, pk: int) -> HttpResponse:
    item = get_item_for(request.user, slug, number)
    try:
        comment_actions.delete_comment(_comment(item, pk), actor=request.user)
    except DomainError as error:
        return _refused(request, item, error)
    return _done(request, item)


@require_POST
def resolve(request: Request, slug: str, number: int, pk: int) -> HttpResponse:
    item = get_item_for(request.user, slug, number)
    comment = _comment(item, pk, parent=None)
    try:
        comment_actions.resolve_comment(comment, actor=request.user, resolved=request.POST.get("resolved") != "no")
    except DomainError as error:
        return _refused(request, item, error)
    return _done(request, item)


@require_POST
def comment_block(request: Request, slug: str, number: int, pk: int) -> HttpResponse:
    item = get_item_for(request.user, slug, number)
    comment = _comment(item, pk, parent=None)
    try:
        comment_actions.set_blocking(comment, request.POST.get("blocking") == "yes", actor=request.user)
    except DomainError as error:
        return _refused(request, item, error)
    return _done(request, item, f"comment-{pk}")


@require_POST
def comment_preview(request: Request, slug: str, number: int) -> HttpResponse:
    item = get_item_for(request.user, slug, number)
    return HttpResponse(talk_of(item_page(item, request.user)).html(request.POST.get("body", "")))


# --- suggested edits ----------------------------------------------------------------------------------------------


@require_POST
def suggestion_make(request: Request, slug: str, number: int) -> HttpResponse:
    item = get_item_for(request.user, slug, number)
    posted = request.POST
    try:
        made = suggestion_actions.suggest_edit(
            item,
            posted.get("path", ""),
            posted.get("after", ""),
            before=posted.get("before"),
            note=posted.get("note", ""),
            actor=request.user,
        )
    except DomainError as error:
        return _refused(request, item, error)
    return _done(request, item, f"suggestion-{made.pk}")


@require_POST
def suggestion_decide(request: Request, slug: str, number: int, pk: int) -> HttpResponse:
    item = get_item_for(request.user, slug, number)
    suggestion = Suggestion.objects.filter(item=item, pk=pk).select_related("item__benchmark").first()
    if suggestion is None:
        raise Http404
    posted = request.POST
    try:
        match posted.get("decision"):
            case "accept":
                suggestion_actions.accept_suggestion(suggestion, actor=request.user, over=posted.get("over"))
                place = find_place(item.document, suggestion.path)
                return _done(request, item, section=place.section if place else "")
            case "decline":
                suggestion_actions.decline_suggestion(suggestion, posted.get("reason", ""), actor=request.user)
            case "withdraw":
                suggestion_actions.withdraw_suggestion(suggestion, actor=request.user)
            case _:
                raise Invalid.at("decision", _("Say accept, decline or withdraw."))
    except DomainError as error:
        return _refused(request, item, error)
    return _done(request, item)
