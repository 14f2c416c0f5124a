"""The audit page of an item and what is posted from it: answers, ticks, moves. Plain forms work without script."""

import json
from itertools import zip_longest

from django.contrib import messages
from django.contrib.auth.models import User
from django.http import Http404, HttpResponse, JsonResponse, QueryDict
from django.shortcuts import redirect, render
from django.urls import NoReverseMatch, reverse
from django.utils.translation import gettext as _
from django.views.decorators.http import require_POST, require_safe

from annotation.benchmarks import Item, get_item_for
from annotation.drafts import drop_draft, keep_draft
from annotation.states import State
from audit import actions
from audit.news import news_since
from audit.override_actions import override_rule
from audit.panel import REVIEW_DRAFT, Panel, panel_of
from audit.permissions import require_not_blind
from audit.second_queries import open_blind_audit
from audit.text import state_name
from audit.workflow import CRITERIA, PHASE_OF_CRITERION, Move
from lhdr_site.shared.errors import DomainError, Invalid, NotAllowed
from lhdr_site.shared.numbers import read_whole

from . import Request


@require_safe
def show(request: Request, slug: str, number: int) -> HttpResponse:
    """The audit screen; for htmx the panel alone, as the workbench shows it."""
    item = get_item_for(request.user, slug, number)
    try:
        panel = panel_of(item, request.user)
    except NotAllowed:
        blind = open_blind_audit(request.user, item)
        if request.htmx or blind is None:
            raise
        return redirect("audit:second-audit", slug=slug, pk=blind.pk)
    if request.htmx and not request.htmx.history_restore_request:
        return render(request, "audit/_panel.html", {"panel": panel, "beside": True})
    return _page(request, panel)


@require_safe
def news(request: Request, slug: str, number: int) -> HttpResponse:
    """What happened since the `revision` and `state` that a page shows; 204 when nothing did."""
    item = get_item_for(request.user, slug, number, with_document=False)
    require_not_blind(request.user, item)
    since = read_whole(request.GET.get("revision", ""))
    found = news_since(item, since or 0, request.GET.get("state", ""))
    if found is None:
        return HttpResponse(status=204)
    return render(request, "audit/_news.html", {"item": item, "news": found})


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
def draft(request: Request, slug: str, number: int) -> JsonResponse:
    """Keep what was typed and not sent: `forms` is a JSON object, name of a form -> its fields as a form posts them."""
    item = get_item_for(request.user, slug, number, with_document=False)
    text = request.POST.get("forms", "")
    try:
        forms = json.loads(text)
    except (ValueError, RecursionError):
        forms = None
    if not isinstance(forms, dict) or not all(isinstance(body, str) for body in forms.values()):
        raise Invalid.at("forms", _("Send a JSON object of texts."))
    if forms:
        keep_draft(item, REVIEW_DRAFT, request.POST.get("hash", ""), text, actor=request.user)
    else:
        drop_draft(item, REVIEW_DRAFT, actor=request.user)
    return JsonResponse({"kept": len(forms)})


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
            points=posted_points(posted),
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


def posted_points(posted: QueryDict) -> list[dict[str, str]]:
    """The rows of the list of what to mend; a field that a row lacks is empty."""
    lists = [posted.getlist(f"point_{name}") for name in ("text", "anchor", "criterion")]
    rows = zip_longest(*lists, fillvalue="")
    return [dict(zip(("text", "anchor", "criterion"), row, strict=True)) for row in rows]


@require_POST
def override(request: Request, slug: str, number: int) -> HttpResponse:
    """Set a rule aside: `rule`, `reason`, and the user name of `person` where it is about one."""
    item = get_item_for(request.user, slug, number)
    name = request.POST.get("person", "")
    try:
        person = User.objects.filter(username=name, memberships__benchmark=item.benchmark).first() if name else None
        if name and person is None:
            raise Invalid.at("person", _("This person is not a member; choose one of the list."))
        rule, reason = request.POST.get("rule", ""), request.POST.get("reason", "")
        override_rule(item, rule, reason, person=person, actor=request.user)
    except DomainError as error:
        return _again(request, item, error)
    messages.success(request, _("The rule is set aside for %(item)s.") % {"item": item})
    return redirect(_address(item, "rules-aside"))


# --- what they answer with ----------------------------------------------------------------------------------------


def _fresh(request: Request, item: Item, error: DomainError | None = None) -> Panel:
    """The panel as it is now, with the error of what was tried and what was typed."""
    again = get_item_for(request.user, item.benchmark.slug, item.number)
    panel = panel_of(again, request.user)
    panel.error = error
    if error is not None:
        panel.typed = {name: str(value) for name, value in request.POST.items()}
        panel.typed_points = posted_points(request.POST)
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
