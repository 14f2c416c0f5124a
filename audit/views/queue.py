"""The audit queue: its lists, taking the next item, giving one back, who audits how much; calibrating by hand."""

from typing import Any
from urllib.parse import urlencode

from django.contrib import messages
from django.contrib.auth.models import User
from django.http import Http404, HttpResponse
from django.shortcuts import redirect, render
from django.utils import timezone
from django.utils.translation import gettext as _
from django.views.decorators.http import require_POST, require_safe

from annotation.benchmarks import Role, get_benchmark_for, get_item_for, role_of
from audit import actions, claim_actions
from audit.plans import plan_of
from audit.queue import LISTS, OPEN_STATES, queue_counts, queue_page, workload
from audit.text import state_name

from . import Request


@require_safe
def queue(request: Request, slug: str) -> HttpResponse:
    """`list`: one of LISTS, or people; `state` narrows it; `after` and `before` turn its pages."""
    benchmark = get_benchmark_for(request.user, slug)
    role = role_of(request.user, benchmark)
    context: dict[str, Any] = {"nav": "audit", "role": role, "judges": role is not None and role >= Role.AUDITOR}
    if role is None or role < Role.AUDITOR:
        return render(request, "audit/queue.html", context)
    asked = request.GET
    name = asked.get("list", "waiting")
    name = name if name in (*LISTS, "people") else "waiting"
    state = asked.get("state", "")
    state = state if state in [str(each) for each in OPEN_STATES] and name not in ("returned", "people") else ""
    counts = queue_counts(request.user, benchmark, role)
    titles = {
        "waiting": _("Waiting longest"),
        "unassigned": _("Unassigned"),
        "mine": _("Mine"),
        "returned": _("Returned by me"),
        "stale": _("Stale gates"),
        "stuck": _("Stuck"),
        "people": _("People"),
    }
    context |= {
        "list": name,
        "title": titles[name],
        "state": state,
        "tabs": [
            {"name": n, "label": titles[n], "url": f"?list={n}", "count": counts[n].words if n in counts else ""}
            for n in titles
        ],
        "counts": counts,
        "plan": plan_of(benchmark),
        "now": timezone.now(),
        "calibrates": role >= Role.CORE and not benchmark.is_sandbox,
    }
    if name == "people":
        context["loads"] = workload(benchmark)
        return render(request, "audit/queue.html", context)
    page = queue_page(
        request.user, benchmark, role, name, state, after=asked.get("after", ""), before=asked.get("before", "")
    )
    chosen = {"list": name, **({"state": state} if state else {})}
    context |= {
        "rows": page.items,
        "states": [
            (each.value, state_name(each), counts.get(str(each)) if name == "waiting" else None)
            for each in OPEN_STATES
            if name in ("stale", "stuck") or str(each) in counts
        ],
        "previous_url": "?" + urlencode({**chosen, "before": page.before}) if page.before else "",
        "next_url": "?" + urlencode({**chosen, "after": page.after}) if page.after else "",
    }
    return render(request, "audit/queue.html", context)


@require_POST
def claim_next(request: Request, slug: str) -> HttpResponse:
    """Take the next item for me, and open it."""
    benchmark = get_benchmark_for(request.user, slug)
    item = claim_actions.claim_next(benchmark, actor=request.user)
    if item is None:
        messages.info(request, _("Nothing waits for you now. What others took comes back when they let go of it."))
        return redirect("audit:queue", slug=slug)
    return redirect("audit:panel", slug=slug, number=item.number)


@require_POST
def claim(request: Request, slug: str, number: int) -> HttpResponse:
    """`what`: take the item, give it back, or (by script, while its page is open) renew the claim."""
    item = get_item_for(request.user, slug, number, with_document=False)
    what = request.POST.get("what", "take")
    if what == "renew":
        kept = claim_actions.renew_claim(item, actor=request.user)
        return HttpResponse(status=204 if kept else 286)  # 286: the page stops asking
    if what == "give_back":
        claim_actions.give_back(item, actor=request.user)
        messages.success(request, _("%(item)s is back in the queue.") % {"item": item})
        return redirect("audit:queue", slug=slug)
    claim_actions.claim_item(item, actor=request.user)
    return redirect("audit:panel", slug=slug, number=number)


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
    return redirect("audit:pilot-list", slug=slug)
