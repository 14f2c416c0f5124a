"""The audit queue: what is open for me, what waits in each phase, and who is calibrated."""

from typing import Any

from django.contrib import messages
from django.contrib.auth.models import User
from django.http import Http404, HttpResponse
from django.shortcuts import redirect, render
from django.utils.translation import gettext as _
from django.views.decorators.http import require_POST, require_safe

from annotation.benchmarks import Role, get_benchmark_for, role_of
from audit import actions
from audit.queries import annotators, gate_statuses, my_open_reviews, states_for, waiting_counts, waiting_items
from audit.workflow import phase_of

from . import Request

SHOWN = 50


@require_safe
def queue(request: Request, slug: str) -> HttpResponse:
    benchmark = get_benchmark_for(request.user, slug)
    role = role_of(request.user, benchmark)
    counts = waiting_counts(request.user, benchmark)
    wanted = request.GET.get("state", "")
    shown = [state for state in states_for(role) if not wanted or state.value == wanted]
    groups: list[dict[str, Any]] = []
    for state in shown:
        items = list(waiting_items(request.user, benchmark, state)[:SHOWN]) if counts[state] else []
        phase = phase_of(state)
        groups.append(
            {
                "state": state.value,
                "title": _(phase.title) if phase else _("Approved, to lock"),
                "number": phase.number if phase else 0,
                "rows": [(item, gate_statuses(item)) for item in items],
                "count": counts[state],
                "more": counts[state] - len(items),
            }
        )
    context = {
        "nav": "audit",
        "mine": [(item, gate_statuses(item)) for item in my_open_reviews(request.user, benchmark)[:SHOWN]],
        "groups": groups,
        "wanted": wanted,
        "total": sum(counts.values()),
        "next": next((group["rows"][0][0] for group in groups if group["rows"]), None),
        "role": role,
        "judges": role is not None and role >= Role.AUDITOR,
        "calibrates": role is not None and role >= Role.CORE and not benchmark.is_sandbox,
    }
    if context["calibrates"]:
        context["annotators"] = annotators(benchmark)
    return render(request, "audit/queue.html", context)


@require_POST
def calibration(request: Request, slug: str) -> HttpResponse:
    """Mark an annotator as calibrated, or take it back."""
    benchmark = get_benchmark_for(request.user, slug)
    name = request.POST.get("annotator", "")
    annotator = User.objects.filter(username=name, memberships__benchmark=benchmark).first()
    if annotator is None:
        raise Http404
    calibrated = request.POST.get("calibrated") == "yes"
    actions.set_calibration(benchmark, annotator, calibrated, actor=request.user, note=request.POST.get("note", ""))
    text = _("%(name)s is calibrated now.") if calibrated else _("%(name)s is not calibrated any more.")
    messages.success(request, text % {"name": annotator.get_full_name() or annotator.get_username()})
    return redirect("audit:queue", slug=slug)
