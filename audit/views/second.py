"""Blind second audits: the list, the blind page, drawing; agreement with its disagreements, as page and CSV."""

import re
from typing import Any

from django.contrib import messages
from django.http import Http404, HttpResponse, StreamingHttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils.translation import gettext as _
from django.utils.translation import ngettext
from django.views.decorators.http import require_POST, require_safe

from annotation.benchmarks import Benchmark, Role, get_benchmark_for, may_act_as
from audit import second_actions
from audit.blind_panel import BlindPanel, blind_panel_of, own_blind_audit
from audit.models import BlindAudit
from audit.permissions import may_draw_audits
from audit.plans import plan_of
from audit.second_queries import (
    disagreements,
    get_blind_audit,
    my_blind_audits,
    quality_of,
    waiting_blind_audits,
)
from audit.workflow import CRITERIA
from lhdr_site.shared.downloads import csv_response
from lhdr_site.shared.errors import Conflict, DomainError, Invalid
from lhdr_site.shared.numbers import read_whole

from . import Request

SHOWN = 50


@require_safe
def second_list(request: Request, slug: str) -> HttpResponse:
    benchmark = get_benchmark_for(request.user, slug)
    may_act_as(request.user, benchmark, Role.AUDITOR).require()
    return _list(request, benchmark)


def _list(request: Request, benchmark: Benchmark, error: DomainError | None = None) -> HttpResponse:
    waiting = waiting_blind_audits(request.user, benchmark)
    context = {
        "nav": "audit",
        "benchmark": benchmark,
        "mine": list(my_blind_audits(request.user, benchmark)[:SHOWN]),
        "waiting": list(waiting[:SHOWN]),
        "count": waiting.count(),
        "may_draw": may_draw_audits(request.user, benchmark),
        "plan": plan_of(benchmark),
        "error": error,
        "typed": request.POST if error else {},
    }
    return render(request, "audit/second_list.html", context, status=error.status if error else 200)


@require_POST
def draw(request: Request, slug: str) -> HttpResponse:
    """`what`: `double` with `numbers` of items, or `residual` with `size` and perhaps `seed`."""
    benchmark = get_benchmark_for(request.user, slug)
    may_draw_audits(request.user, benchmark).require()
    posted = request.POST
    try:
        if posted.get("what") == "residual":
            seed = posted.get("seed", "").strip()
            rows = second_actions.draw_residual_sample(
                benchmark, _whole(posted.get("size", "")), seed=_whole(seed) if seed else None, actor=request.user
            )
        else:
            words = [word for word in re.split(r"[\s,;#]+", posted.get("numbers", "")) if word]
            rows = second_actions.ask_double_audits(benchmark, [_whole(w) for w in words[:500]], actor=request.user)
    except (Conflict, Invalid) as error:
        return _list(request, benchmark, error)
    text = ngettext("%(n)d item is to be audited blind.", "%(n)d items are to be audited blind.", len(rows))
    messages.success(request, text % {"n": len(rows)})
    return redirect("audit:second-list", slug=slug)


@require_POST
def take(request: Request, slug: str, pk: int) -> HttpResponse:
    audit = get_blind_audit(get_benchmark_for(request.user, slug), pk)
    second_actions.take_blind_audit(audit, actor=request.user)
    return redirect("audit:second-audit", slug=slug, pk=pk)


@require_POST
def give_back(request: Request, slug: str, pk: int) -> HttpResponse:
    audit = get_blind_audit(get_benchmark_for(request.user, slug), pk)
    second_actions.give_back_blind_audit(audit, actor=request.user)
    return redirect("audit:second-list", slug=slug)


@require_safe
def second_audit(request: Request, slug: str, pk: int) -> HttpResponse:
    return _page(request, _panel(request, slug, pk))


@require_POST
def record(request: Request, slug: str, pk: int, criterion: str) -> HttpResponse:
    panel = _panel(request, slug, pk)
    if criterion not in {row.criterion.code for row in panel.all_rows}:
        raise Http404
    posted = request.POST
    try:
        second_actions.record_blind_result(_audit(panel), criterion, **_answer(request), actor=request.user)
    except DomainError as error:
        panel.error = error
        panel.typed = {name: str(value) for name, value in posted.items()} | {"criterion": criterion}
        if not request.htmx:
            return _page(request, panel)
    else:
        if not request.htmx:
            return redirect(f"{reverse('audit:second-audit', args=[slug, pk])}#k-{criterion}")
        panel = _panel(request, slug, pk)
    row = next(row for row in panel.all_rows if row.criterion.code == criterion)
    status = panel.error.status if panel.error else 200
    return render(request, "audit/_blind_criterion.html", {"panel": panel, "row": row, "alone": True}, status=status)


@require_POST
def finish(request: Request, slug: str, pk: int) -> HttpResponse:
    panel = _panel(request, slug, pk)
    try:
        second_actions.finish_blind_audit(_audit(panel), actor=request.user)
    except (Conflict, Invalid) as error:
        panel.error = error
        return _page(request, panel)
    messages.success(request, _("Finished. Thank you: the two audits are compared now."))
    return redirect("audit:second-list", slug=slug)


@require_safe
def agreement(request: Request, slug: str) -> HttpResponse:
    return _agreement(request, get_benchmark_for(request.user, slug))


def _agreement(
    request: Request, benchmark: Benchmark, error: DomainError | None = None, refused: str = ""
) -> HttpResponse:
    """`refused`: the key of the pair whose form comes back, with what was typed."""
    is_core = bool(may_draw_audits(request.user, benchmark))
    apart = disagreements(benchmark) if is_core else []
    shown = [(pair, f"{pair.audit.pk}-{pair.criterion}") for pair in apart[: 2 * SHOWN]]
    context = {
        "nav": "audit",
        "benchmark": benchmark,
        "quality": quality_of(benchmark),
        "titles": {code: _(criterion.title) for code, criterion in CRITERIA.items()},
        "apart": shown,
        "refused": refused,
        "lost": bool(error) and refused not in [key for pair, key in shown if not pair.third],
        "more": max(0, len(apart) - 2 * SHOWN),
        "undecided": sum(pair.third is None for pair in apart),
        "is_core": is_core,
        "me": request.user.pk,
        "error": error,
        "typed": request.POST if error else {},
    }
    return render(request, "audit/agreement.html", context, status=error.status if error else 200)


@require_safe
def agreement_csv(request: Request, slug: str) -> StreamingHttpResponse:
    """The figures of the page, one line a criterion; the first is of all."""
    benchmark = get_benchmark_for(request.user, slug)
    names = [f"{figure}{end}" for figure in ("raw", "kappa", "ac1") for end in ("", "_low", "_high")]
    plain = ["criterion", "n", "disagreements", "first_passed", "adjudicated_passed", "undecided"]
    rows = []
    for row in quality_of(benchmark).get("agreement", {}).get("rows", []):
        figures = [row[figure][end] for figure in ("raw", "kappa", "ac1") for end in ("value", "low", "high")]
        rows.append([row["criterion"] or "all", *(row[name] for name in plain[1:]), *figures])
    return csv_response(f"{slug}-agreement", [*plain, *names], rows, mark=False)


@require_POST
def adjudicate(request: Request, slug: str, pk: int, criterion: str) -> HttpResponse:
    benchmark = get_benchmark_for(request.user, slug)
    audit = get_blind_audit(benchmark, pk)
    try:
        second_actions.adjudicate(audit, criterion, **_answer(request), actor=request.user)
    except (Conflict, Invalid) as error:
        may_draw_audits(request.user, benchmark).require()
        return _agreement(request, benchmark, error, f"{pk}-{criterion}")
    messages.success(request, _("Decided."))
    return redirect(f"{reverse('audit:agreement', args=[slug])}#h-apart")


# --- parts of the above -------------------------------------------------------------------------------------------


def _panel(request: Request, slug: str, pk: int) -> BlindPanel:
    return blind_panel_of(own_blind_audit(request.user, get_benchmark_for(request.user, slug), pk), request.user)


def _audit(panel: BlindPanel) -> BlindAudit:
    assert panel.audit is not None
    return panel.audit


def _page(request: Request, panel: BlindPanel) -> HttpResponse:
    context = {"nav": "audit", "panel": panel, "audit": panel.audit}
    return render(request, "audit/second_audit.html", context, status=panel.error.status if panel.error else 200)


def _answer(request: Request) -> dict[str, Any]:
    """Rating, verdict and comment as they were posted. Raises Invalid without a verdict."""
    verdict = request.POST.get("verdict")
    if verdict not in ("pass", "fail"):
        raise Invalid(_("Say whether it passes or fails."), problems=[{"path": "verdict", "message": ""}])
    rating = request.POST.get("rating", "")
    return {
        "rating": int(rating) if rating in set("12345") else 0,
        "passed": verdict == "pass",
        "comment": request.POST.get("comment", ""),
    }


def _whole(text: str) -> int:
    """-1 for what is no number: the action says what is one."""
    number = read_whole(text.strip())
    return -1 if number is None else number
