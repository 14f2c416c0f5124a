"""Marking by people: plans with their progress, and the queue in which a person marks one response after the other."""

import secrets
from typing import Any

from django.contrib import messages
from django.core.paginator import Paginator
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils.translation import gettext as _
from django.views.decorators.http import require_http_methods, require_safe

from annotation.benchmarks import get_benchmark_for
from evaluation import marking_actions
from evaluation.forms import PlanForm, read_marks
from evaluation.marking import get_plan, get_task, marked_by, next_task, plans_of, progress_of
from evaluation.marking_actions import plan_marking
from evaluation.models import Verdict
from evaluation.permissions import may_manage_runs, may_record_verdict
from evaluation.queries import document_of, has_seen_verdicts
from evaluation.requests import question_images
from lhdr_site.shared.errors import Invalid
from lhdr_site.shared.numbers import read_whole

from .common import carry_out, person, run_tabs
from .responses import marks_posted, prose

PLANS_A_PAGE = 50


@require_safe
def plan_list(request: HttpRequest, slug: str) -> HttpResponse:
    benchmark = get_benchmark_for(request.user, slug)
    page = Paginator(plans_of(benchmark), PLANS_A_PAGE).get_page(request.GET.get("page"))
    progress = progress_of(page.object_list)
    context = {
        "nav": "runs",
        "tabs": run_tabs(benchmark),
        "page": page,
        "rows": [(plan, progress.get(plan.pk, [])) for plan in page.object_list],
        "may": may_manage_runs(request.user, benchmark),
        "may_mark": may_record_verdict(request.user, benchmark),
    }
    return render(request, "evaluation/plan_list.html", context)


@require_http_methods(["GET", "HEAD", "POST"])
def plan_create(request: HttpRequest, slug: str) -> HttpResponse:
    benchmark = get_benchmark_for(request.user, slug)
    may_manage_runs(request.user, benchmark).require()
    start = {"of": request.GET.get("of", ""), "seed": secrets.randbelow(10**6)}
    form = PlanForm(benchmark, request.POST if request.method == "POST" else None, initial=start)
    if request.method == "POST" and form.is_valid():
        data = {name: form.cleaned_data[name] for name in ("method", "size", "seed")}
        plan = carry_out(form, lambda: plan_marking(form.target, **data, actor=person(request)))
        if plan is not None:
            return redirect("evaluation:plan-page", slug=slug, number=plan.number)
    return render(
        request, "evaluation/plan_form.html", {"nav": "runs", "form": form}, status=422 if form.errors else 200
    )


@require_safe
def plan_page(request: HttpRequest, slug: str, number: int) -> HttpResponse:
    benchmark = get_benchmark_for(request.user, slug)
    plan = get_plan(benchmark, number)
    context = {
        "nav": "runs",
        "plan": plan,
        "people": progress_of([plan]).get(plan.pk, []),
        "mine": marked_by(plan, request.user),
        "may_mark": may_record_verdict(request.user, benchmark),
    }
    return render(request, "evaluation/plan_page.html", context)


@require_safe
def mark_next(request: HttpRequest, slug: str, number: int) -> HttpResponse:
    """To the next response that the person has not marked."""
    benchmark = get_benchmark_for(request.user, slug)
    may_record_verdict(request.user, benchmark).require()
    plan = get_plan(benchmark, number)
    task = next_task(plan, request.user, read_whole(request.GET.get("after", "")) or 0)
    if task is None:
        messages.success(request, _("You have marked everything of this plan."))
        return redirect("evaluation:plan-page", slug=slug, number=number)
    return redirect("evaluation:mark", slug=slug, number=number, position=task.position)


@require_http_methods(["GET", "HEAD", "POST"])
def mark(request: HttpRequest, slug: str, number: int, position: int) -> HttpResponse:
    """One response with the key, without anybody's verdict and without the system's name; then the next one."""
    benchmark = get_benchmark_for(request.user, slug)
    may_record_verdict(request.user, benchmark).require()
    plan = get_plan(benchmark, number)
    task = get_task(plan, position)
    response, run = task.response, task.response.run
    document = document_of(response.release_item)
    error = None
    if request.method == "POST":
        try:
            correct, vector = read_marks(request.POST, len(document.checklist))
            note = request.POST.get("note", "")
            marking_actions.record_human_verdict(response, correct, vector, note=note, actor=person(request))
            address = redirect("evaluation:mark-next", slug=slug, number=number)
            address["Location"] += f"?after={position}"
            return address
        except Invalid as refused:
            error = refused
    own = Verdict.objects.filter(response=response, judge__person=request.user.pk, repeat=1).first()
    posted: Any = request.POST if request.method == "POST" else _marks_of(own)
    context = {
        "nav": "runs",
        "plan": plan,
        "task": task,
        "run": run,
        "response": response,
        "document": document,
        "images": question_images(document, run.system.image_mode, run.condition),
        "html": prose(response.text),
        "mine": marked_by(plan, request.user),
        "own": own,
        "seen": has_seen_verdicts(request.user, run, response),
        "marks": marks_posted(posted, document),
        "answer_mark": posted.get("answer", ""),
        "note": posted.get("note", ""),
        "error": error,
    }
    return render(request, "evaluation/mark.html", context, status=error.status if error else 200)


def _marks_of(verdict: Verdict | None) -> dict[str, str]:
    """A verdict as its form posts it."""
    if verdict is None or verdict.vector is None:
        return {}
    marks = {f"step-{n}": "yes" if mark else "no" for n, mark in enumerate(verdict.vector, 1)}
    return {"answer": "pass" if verdict.answer_correct else "fail", "note": verdict.note, **marks}
