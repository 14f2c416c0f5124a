"""Phase 1: the board of annotators, pilot batches, rating and closing one. Plain forms."""

from typing import Any

from django.contrib import messages
from django.contrib.auth.models import User
from django.http import Http404, HttpResponse
from django.shortcuts import redirect, render
from django.utils.translation import gettext as _
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from annotation.benchmarks import Role, get_benchmark_for, get_item_for, may_act_as
from annotation.planning import golden_items
from audit.models import PilotBatch
from audit.permissions import may_rate_pilot, may_see_batch, may_set_calibration
from audit.pilot import CRITERIA, Pilot, board, get_batch, pilot_of
from audit.pilot_actions import close_batch, make_batch, rate_pilot
from audit.plans import plan_of
from lhdr_site.shared.errors import DomainError
from lhdr_site.shared.numbers import read_whole

from . import Request

FIELDS = ("rating", "verdict", "comment")
GOLDEN = 12  # examples shown beside a batch


@require_http_methods(["GET", "HEAD", "POST"])
def pilot_list(request: Request, slug: str) -> HttpResponse:
    """The board; POST makes a batch of `annotator`."""
    benchmark = get_benchmark_for(request.user, slug)
    may_act_as(request.user, benchmark, Role.CORE).require()
    error = None
    if request.method == "POST":
        name = request.POST.get("annotator", "")
        annotator = User.objects.filter(username=name, memberships__benchmark=benchmark).first()
        if annotator is None:
            raise Http404
        try:
            batch = make_batch(benchmark, annotator, actor=request.user)
            return redirect("audit:pilot", slug=slug, pk=batch.pk)
        except DomainError as found:
            error = found
    context = {
        "nav": "audit",
        "benchmark": benchmark,
        "rows": board(benchmark),
        "plan": plan_of(benchmark),
        "criteria": _titles(),
        "error": error,
    }
    return render(request, "audit/pilot_list.html", context, status=error.status if error else 200)


@require_safe
def pilot(request: Request, slug: str, pk: int) -> HttpResponse:
    """A batch: for the core team, and for its annotator once it is closed."""
    return _page(request, get_batch(get_benchmark_for(request.user, slug), pk))


@require_POST
def pilot_rate(request: Request, slug: str, pk: int, number: int) -> HttpResponse:
    """One item: for each criterion `rating-CODE`, `verdict-CODE` (pass or fail) and `comment-CODE`; empty ones wait."""
    benchmark = get_benchmark_for(request.user, slug)
    batch, item = get_batch(benchmark, pk), get_item_for(request.user, slug, number)
    posted = request.POST
    ratings = {}
    for criterion in CRITERIA:
        given = [posted.get(f"{name}-{criterion.code}", "") for name in FIELDS]
        if any(value.strip() for value in given):
            rating, verdict, comment = given
            passed = {"pass": True, "fail": False}.get(verdict)
            ratings[criterion.code] = {"rating": read_whole(rating), "passed": passed, "comment": comment}
    try:
        rate_pilot(batch, item, posted.get("hash", ""), ratings, actor=request.user)
    except DomainError as error:
        return _page(request, batch, error, item.number)
    messages.success(request, _("Your ratings of %(item)s are kept.") % {"item": item})
    return redirect("audit:pilot", slug=slug, pk=pk)


@require_POST
def pilot_close(request: Request, slug: str, pk: int) -> HttpResponse:
    """`outcome`: calibrated or again; `note` to the annotator."""
    batch = get_batch(get_benchmark_for(request.user, slug), pk)
    try:
        close_batch(batch, request.POST.get("outcome", ""), request.POST.get("note", ""), actor=request.user)
    except DomainError as error:
        return _page(request, batch, error)
    messages.success(request, _("The batch is closed."))
    return redirect("audit:pilot-list", slug=slug)


def _page(request: Request, batch: PilotBatch, error: DomainError | None = None, wrong: int = 0) -> HttpResponse:
    """The batch; `wrong` is the number of the item whose ratings were refused, as they were typed."""
    may_see_batch(request.user, batch).require()
    shown = pilot_of(batch, request.user)
    context = {
        "nav": "audit",
        "benchmark": batch.benchmark,
        "pilot": shown,
        "batch": batch,
        "cards": [_card(request, shown, item, item.number == wrong) for item in shown.items],
        "means": list(zip(_titles(), shown.means, strict=True)),
        "golden": golden_items(batch.benchmark)[:GOLDEN],
        "may_close": may_set_calibration(request.user, batch.benchmark, batch.annotator),
        "error": error,
        "wrong": wrong,
        "typed": request.POST if error else {},
    }
    return render(request, "audit/pilot.html", context, status=error.status if error else 200)


def _card(request: Request, shown: Pilot, item: Any, typed: bool) -> dict[str, Any]:
    """An item with what this person may see of its ratings, and their own to change."""
    mine = shown.by_rater.get(request.user.pk, {})
    rows = []
    for number, criterion in enumerate(CRITERIA, 1):
        own = mine.get((item.pk, criterion.code))
        values = (
            {"rating": own.rating, "verdict": "pass" if own.passed else "fail", "comment": own.comment} if own else {}
        )
        if typed:
            values = {
                name: request.POST.get(f"{name}-{criterion.code}", "") for name in ("rating", "verdict", "comment")
            }
        rows.append(
            {
                "number": number,
                "code": criterion.code,
                "title": _(criterion.title),
                "help": _(criterion.help),
                "values": {name: str(value) for name, value in values.items()},
                "given": shown.ratings_of(item, criterion.code),
            }
        )
    may = may_rate_pilot(request.user, item)
    rates = bool(may) and shown.is_open and shown.has_room
    return {"item": item, "rows": rows, "rates": rates, "denied": "" if may else may.reason}


def _titles() -> list[str]:
    return [_(criterion.title) for criterion in CRITERIA]
