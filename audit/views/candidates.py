"""Candidate answers on the audit page: raising one, taking one back."""

from django.http import HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.views.decorators.http import require_POST

from annotation.benchmarks import Item, get_item_for
from audit import candidate_actions
from audit.panel import panel_of
from lhdr_site.shared.errors import DomainError

from . import Request


@require_POST
def add(request: Request, slug: str, number: int) -> HttpResponse:
    """`candidate` is the answer that might fit, `why` the reason."""
    item = get_item_for(request.user, slug, number)
    posted = request.POST
    try:
        candidate_actions.add_candidate(item, posted.get("candidate", ""), posted.get("why", ""), actor=request.user)
    except DomainError as error:
        return _list(request, item, error)
    return _list(request, item)


@require_POST
def withdraw(request: Request, slug: str, number: int, pk: int) -> HttpResponse:
    item = get_item_for(request.user, slug, number)
    try:
        candidate_actions.withdraw_candidate(item, pk, actor=request.user)
    except DomainError as error:
        return _list(request, item, error)
    return _list(request, item)


def _list(request: Request, item: Item, error: DomainError | None = None) -> HttpResponse:
    """The candidates as they are now, with what was typed where it was refused."""
    if error is None and not request.htmx:
        address = reverse("audit:panel", args=[item.benchmark.slug, item.number])
        return redirect(f"{address}#candidates")
    panel = panel_of(get_item_for(request.user, item.benchmark.slug, item.number), request.user)
    if error is not None:
        panel.error = error
        panel.typed = {"candidate": request.POST.get("candidate", ""), "why": request.POST.get("why", "")}
    status = error.status if error else 200
    if not request.htmx:
        return render(request, "audit/item.html", {"panel": panel, "nav": "audit"}, status=status)
    return render(request, "audit/_candidates.html", {"panel": panel, "alone": True}, status=status)
