"""The audit page of an item and what is posted from it: answers, ticks, moves. Plain forms work without script."""

from django.contrib import messages
from django.http import Http404, HttpResponse
from django.shortcuts import redirect, render
from django.urls import NoReverseMatch, reverse
from django.utils.translation import gettext as _
from django.views.decorators.http import require_POST, require_safe

from annotation.benchmarks import Item, get_item_for
from annotation.states import State
from audit import actions
from audit.panel import Panel, panel_of
from audit.text import state_name
from audit.workflow import CRITERIA, PHASE_OF_CRITERION, Move
from lhdr_site.shared.errors import DomainError, Invalid

from . import Request


@require_safe
def show(request: Request, slug: str, number: int) -> HttpResponse:
    """The audit screen; for htmx the panel alone, as the workbench shows it."""
    panel = panel_of(get_item_for(request.user, slug, number), request.user)
    if request.htmx and not request.htmx.history_restore_request:
        return render(request, "audit/_panel.html", {"panel": panel, "beside": True})
    return _page(request, panel)


@require_POST
def record(request: Request, slug: str, number: int, criterion: str) -> HttpResponse:
    item = get_item_for(request.user, slug, number)
    if criterion not in CRITERIA:
        raise Http404
    posted = request.POST
    try:
        if posted.get("verdict") not in ("pass", "fail"):
            raise Invalid(_("Say whether it passes or fails."), problems=[{"path": "verdict", "message": ""}])
        actions.record_criterion(
            item,
            criterion,
            posted.get("hash", ""),
            rating=_whole(posted.get("rating", "")),
            passed=posted["verdict"] == "pass",
            comment=posted.get("comment", ""),
            actor=request.user,
        )
    except DomainError as error:
        return _again(request, item, error, criterion)
    if not request.htmx:
        return redirect(_address(item, f"k-{criterion}"))
    return _criterion(request, _fresh(request, item), criterion)


@require_POST
def tick(request: Request, slug: str, number: int, element: str) -> HttpResponse:
    item = get_item_for(request.user, slug, number)
    posted = request.POST
    try:
        if posted.get("supported") not in ("yes", "no"):
            raise Invalid(_("Say yes or no."))
        actions.tick_element(
            item,
            element,
            posted.get("hash", ""),
            supported=posted["supported"] == "yes",
            comment=posted.get("comment", ""),
            actor=request.user,
        )
    except DomainError as error:
        if request.htmx:
            return _tick(request, _fresh(request, item, error), element)
        return _page(request, _fresh(request, item, error))
    if not request.htmx:
        return redirect(_address(item, f"t-{element}"))
    return _tick(request, _fresh(request, item), element)


@require_POST
def start(request: Request, slug: str, number: int) -> HttpResponse:
    """Say that one works on the item, so that others see it."""
    item = get_item_for(request.user, slug, number)
    actions.start_review(item, actor=request.user)
    return redirect(_address(item))


@require_POST
def move(request: Request, slug: str, number: int) -> HttpResponse:
    """Any move: `move`, `hash` of the document that was seen, `reason`, and `calibrate` for a pass of phase 1."""
    item = get_item_for(request.user, slug, number)
    posted = request.POST
    try:
        after = actions.make_move(
            item,
            posted.get("move", ""),
            document_hash=posted.get("hash", ""),
            reason=posted.get("reason", ""),
            calibrate=posted.get("calibrate") == "on",
            actor=request.user,
        )
    except DomainError as error:
        if request.htmx:
            raise
        return _again(request, item, error)
    state = state_name(State(after.state))
    messages.success(request, _("%(item)s is now: %(state)s.") % {"item": item, "state": state})
    return redirect(_address_after(posted.get("move", ""), item))


# --- what they answer with ----------------------------------------------------------------------------------------


def _fresh(request: Request, item: Item, error: DomainError | None = None) -> Panel:
    """The panel as it is now, with the error of what was tried and what was typed."""
    again = get_item_for(request.user, item.benchmark.slug, item.number)
    panel = panel_of(again, request.user)
    panel.error = error
    if error is not None:
        panel.typed = {name: str(value) for name, value in request.POST.items()}
    return panel


def _page(request: Request, panel: Panel) -> HttpResponse:
    status = panel.error.status if panel.error else 200
    return render(request, "audit/item.html", {"panel": panel, "nav": "audit"}, status=status)


def _again(request: Request, item: Item, error: DomainError, criterion: str = "") -> HttpResponse:
    """The page, or for htmx the criterion, with the error and everything that was typed."""
    panel = _fresh(request, item, error)
    if criterion:
        panel.typed = {**panel.typed, "criterion": criterion}
    if criterion and request.htmx and panel.phase is PHASE_OF_CRITERION[criterion]:
        return _criterion(request, panel, criterion)
    if request.htmx:
        raise error
    return _page(request, panel)


def _criterion(request: Request, panel: Panel, code: str) -> HttpResponse:
    row = next(row for row in panel.rows if row.criterion.code == code)
    context = {"panel": panel, "row": row, "alone": True, "beside": "beside" in request.POST}
    return render(request, "audit/_criterion.html", context, status=panel.error.status if panel.error else 200)


def _tick(request: Request, panel: Panel, element: str) -> HttpResponse:
    row = panel.tick_row(element)
    if row is None:
        raise panel.error or Http404
    context = {"panel": panel, "row": row, "alone": True}
    return render(request, "audit/_tick.html", context, status=panel.error.status if panel.error else 200)


def _address(item: Item, anchor: str = "") -> str:
    address = reverse("audit:panel", args=[item.benchmark.slug, item.number])
    return f"{address}#{anchor}" if anchor else address


def _address_after(name: str, item: Item) -> str:
    """Authors go back to their item, auditors stay on the audit page."""
    if name in (Move.SUBMIT, Move.WITHDRAW):
        try:
            return reverse("annotation:item-page", args=[item.benchmark.slug, item.number])
        except NoReverseMatch:
            pass
    return _address(item)


def _whole(text: str) -> int:
    return int(text) if text.isascii() and text.isdecimal() and len(text) < 4 else 0
