"""What a return asked for: the list beside the item, the author's answers, the auditor's word on them."""

from django.http import HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.views.decorators.http import require_POST, require_safe

from annotation.benchmarks import Item, get_item_for
from audit import return_actions
from audit.panel import panel_of
from lhdr_site.shared.errors import DomainError

from . import Request


@require_safe
def show(request: Request, slug: str, number: int) -> HttpResponse:
    """The list as a part of the item's page; elsewhere it stands on the audit page."""
    item = get_item_for(request.user, slug, number)
    return _list(request, item) if request.htmx else redirect(_address(item))


@require_POST
def answer(request: Request, slug: str, number: int, pk: int) -> HttpResponse:
    """`answer` is mended, disputed or open; `text` says what was done, or why not."""
    item = get_item_for(request.user, slug, number)
    posted = request.POST
    try:
        return_actions.answer_point(item, pk, posted.get("answer", ""), posted.get("text", ""), actor=request.user)
    except DomainError as error:
        return _list(request, item, error, pk)
    return _list(request, item) if request.htmx else redirect(_address(item))


@require_POST
def judge(request: Request, slug: str, number: int, pk: int) -> HttpResponse:
    """`accepted` is yes, or no to open the point again."""
    item = get_item_for(request.user, slug, number)
    try:
        return_actions.judge_point(item, pk, request.POST.get("accepted") == "yes", actor=request.user)
    except DomainError as error:
        return _list(request, item, error, pk)
    return _list(request, item) if request.htmx else redirect(_address(item))


def _list(request: Request, item: Item, error: DomainError | None = None, pk: int = 0) -> HttpResponse:
    """The list as it is now; without script an error comes on the whole page. The text that was typed stays."""
    panel = panel_of(get_item_for(request.user, item.benchmark.slug, item.number), request.user)
    if error is not None:
        panel.error, panel.typed = error, {"point": str(pk), "text": request.POST.get("text", "")}
    status = error.status if error else 200
    if not request.htmx:
        return render(request, "audit/item.html", {"panel": panel, "nav": "audit"}, status=status)
    on_audit = request.POST.get("on", request.GET.get("on", "")) == "audit"
    return render(request, "audit/_points.html", {"panel": panel, "alone": on_audit}, status=status)


def _address(item: Item) -> str:
    return reverse("audit:panel", args=[item.benchmark.slug, item.number]) + "#points"
