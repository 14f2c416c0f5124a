"""Runs: the list, launching one, watching it, and what can be done to it."""

from typing import Any
from urllib.parse import urlencode

from django.contrib import messages
from django.core.paginator import Page, Paginator
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils.translation import gettext as _
from django.utils.translation import ngettext
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from annotation.benchmarks import get_benchmark_for
from evaluation import actions
from evaluation.forms import BudgetForm, LaunchForm, RejudgeForm, RerunForm, same_family
from evaluation.models import Run, RunState
from evaluation.permissions import may_manage_runs
from evaluation.preflight import Check, check_launch
from evaluation.progress import UNKNOWN, Progress, read_cells
from evaluation.queries import ACTIVE, endpoints_of, get_run_for, run_events, runs_of, status_counts, systems_of
from evaluation.stops import Stop

from .common import carry_out, person, run_tabs

RUNS_A_PAGE = 50
ROWS_A_PAGE = 100
CELLS_A_PAGE = 1000


@require_safe
def run_list(request: HttpRequest, slug: str) -> HttpResponse:
    benchmark = get_benchmark_for(request.user, slug)
    page = Paginator(runs_of(benchmark), RUNS_A_PAGE).get_page(request.GET.get("page"))
    shown = list(page.object_list)
    counts = status_counts(shown)
    context: dict[str, Any] = {
        "nav": "runs",
        "tabs": run_tabs(benchmark),
        "page": page,
        "rows": [{"run": run, "counts": counts.get(run.pk, {})} for run in shown],
        "may": may_manage_runs(request.user, benchmark),
        "demo": any(run.system.is_demo for run in shown),
    }
    if not shown:
        context["has_systems"] = systems_of(benchmark).exists()
    return render(request, "evaluation/run_list.html", context)


@require_http_methods(["GET", "HEAD", "POST"])
def run_launch(request: HttpRequest, slug: str) -> HttpResponse:
    """The form; once it is valid and something should be thought about, the form again with that said."""
    benchmark = get_benchmark_for(request.user, slug)
    may_manage_runs(request.user, benchmark).require()
    posted = request.POST if request.method == "POST" else None
    form = LaunchForm(benchmark, posted, initial={"system": request.GET.get("system")})
    warnings: list[str] = []
    checks: list[Check] = []
    if request.method == "POST" and form.is_valid():
        warnings = form.warnings
        if "check" in request.POST:
            data = form.cleaned_data
            checks = carry_out(form, lambda: check_launch(benchmark, data, actor=person(request))) or []
        elif not warnings or "anyway" in request.POST:
            run = carry_out(form, lambda: actions.launch_run(benchmark, form.cleaned_data, actor=person(request)))
            if run is not None:
                return redirect("evaluation:run-page", slug=slug, number=run.number)
    context = {
        "nav": "runs",
        "tabs": run_tabs(benchmark),
        "form": form,
        "warnings": warnings,
        "checks": checks,
        "lacking": [name for name in ("release", "system", "judges") if not form.fields[name].queryset.exists()],  # type: ignore[attr-defined]
    }
    return render(request, "evaluation/run_launch.html", context, status=422 if form.errors else 200)


@require_safe
def run_page(request: HttpRequest, slug: str, number: int) -> HttpResponse:
    return _page(request, get_run_for(request.user, slug, number))


def _page(request: HttpRequest, run: Run, budget_form: BudgetForm | None = None) -> HttpResponse:
    """The page of a run; with 422 when the form that was posted from it has errors."""
    progress = Progress(run)
    context = {
        **_progress(run, progress),
        **_cells(request, run, progress),
        "nav": "runs",
        "demo": run.system.is_demo,
        "budget_form": budget_form or BudgetForm(),
        "over_budget": budget_form or run.stop.get("why") in (Stop.BUDGET, Stop.TOO_LITTLE),
        "held_back": endpoints_of(run).exclude(broken="") if run.state == RunState.STOPPED else (),
        "can": {
            "pause": run.state in (RunState.QUEUED, RunState.RUNNING),
            "resume": run.state in (RunState.PAUSED, RunState.STOPPED),
            "cancel": run.state in (*ACTIVE, RunState.STOPPED),
        },
    }
    return render(request, "evaluation/run_page.html", context, status=422 if budget_form else 200)


@require_safe
def run_progress(request: HttpRequest, slug: str, number: int) -> HttpResponse:
    """The parts of the page that move, but for the grid. When the run came into another state, the whole page is loaded
    again, since its buttons change with it."""
    run = get_run_for(request.user, slug, number)
    context = _progress(run, Progress(run)) | {"may": may_manage_runs(request.user, run.benchmark)}
    if request.GET.get("state") != context["seen"]:
        response = HttpResponse(status=204)
        response["HX-Refresh"] = "true"
        return response
    return render(request, "evaluation/_run_live.html", context)


@require_safe
def run_cells(request: HttpRequest, slug: str, number: int) -> HttpResponse:
    """A page of the grid, or of the table."""
    run = get_run_for(request.user, slug, number)
    return render(request, "evaluation/_run_cells.html", _cells(request, run, Progress(run)))


def _progress(run: Run, progress: Progress) -> dict[str, Any]:
    address = reverse("evaluation:run-page", args=[run.benchmark.slug, run.number])
    return {
        "run": run,
        "progress": progress,
        "seen": f"{run.state}-{'moving' if progress.is_active else 'still'}",
        "kin": same_family(run.system, [row.judge for row in progress.judges]),
        "events": run_events(run),
        "responses_url": f"{address}responses/",
    }


def _cells(request: HttpRequest, run: Run, progress: Progress) -> dict[str, Any]:
    show = request.GET.get("show", "")
    as_table = request.GET.get("view") == "table"
    paginator = Paginator(progress.cells(show), ROWS_A_PAGE if as_table else CELLS_A_PAGE)
    if (count := progress.count_of(show)) is not None:
        paginator.count = count
    page = paginator.get_page(request.GET.get("page"))
    address = reverse("evaluation:run-page", args=[run.benchmark.slug, run.number])
    return {
        "run": run,
        "may": may_manage_runs(request.user, run.benchmark) and not (run.study and run.study.frozen),
        "progress": progress,
        "show": show,
        "shown_flag": show.removeprefix("flag-") if show.startswith("flag-") else "",
        "shown_flips": next((row for row in progress.judges if show == f"flips-{row.judge.pk}"), None),
        "as_table": as_table,
        "page": page,
        "cells": read_cells(page.object_list),
        "responses_url": f"{address}responses/",
        **_paging(page, address, {"view": "table" if as_table else "", "show": show}),
    }


def _paging(page: Page[Any], address: str, chosen: dict[str, str]) -> dict[str, str]:
    """Links to the pages before and after, that also hold in the fragment."""

    def url_of(number: int) -> str:
        return f"{address}?{urlencode({**chosen, 'page': number})}"

    place = {"first": page.start_index(), "last": page.end_index(), "total": page.paginator.count}
    return {
        "query": urlencode({**chosen, "page": page.number}),
        "previous_url": url_of(page.previous_page_number()) if page.has_previous() else "",
        "next_url": url_of(page.next_page_number()) if page.has_next() else "",
        "page_summary": _("%(first)d to %(last)d of %(total)d") % place,
    }


# --- what can be done ---------------------------------------------------------------------------------------------


@require_POST
def run_pause(request: HttpRequest, slug: str, number: int) -> HttpResponse:
    run = get_run_for(request.user, slug, number)
    actions.pause_run(run, actor=person(request))
    messages.success(request, _("Paused. Calls under way come to their end; no new one starts."))
    return redirect("evaluation:run-page", slug=slug, number=number)


@require_POST
def run_resume(request: HttpRequest, slug: str, number: int) -> HttpResponse:
    """Also with a higher budget, where the old one is used up."""
    run = get_run_for(request.user, slug, number)
    form = BudgetForm(request.POST)
    if form.is_valid():
        resumed = carry_out(form, lambda: actions.resume_run(run, actor=person(request), **form.cleaned_data))
        if resumed is not None:
            messages.success(request, _("The run goes on."))
            return redirect("evaluation:run-page", slug=slug, number=number)
    return _page(request, run, form)


@require_POST
def run_accept_model(request: HttpRequest, slug: str, number: int) -> HttpResponse:
    run = actions.accept_model(
        get_run_for(request.user, slug, number), request.POST.get("model", ""), actor=person(request)
    )
    if run.state == RunState.PAUSED:
        messages.success(request, _("Accepted. There is another model to look at."))
    else:
        messages.success(request, _("Accepted."))
    return redirect("evaluation:run-page", slug=slug, number=number)


@require_POST
def run_retry(request: HttpRequest, slug: str, number: int) -> HttpResponse:
    """All that failed, or what failed by one kind of error."""
    run = get_run_for(request.user, slug, number)
    kind = request.POST.get("kind")
    kinds = None if kind is None else ["" if kind == UNKNOWN else kind]
    count = actions.retry_failed(run, kinds, actor=person(request))
    if count:
        text = ngettext("%(n)d failed call is tried again.", "%(n)d failed calls are tried again.", count)
        messages.success(request, text % {"n": count})
    else:
        messages.info(request, _("Nothing has failed, so there is nothing to try again."))
    return redirect("evaluation:run-page", slug=slug, number=number)


@require_http_methods(["GET", "HEAD", "POST"])
def run_cancel(request: HttpRequest, slug: str, number: int) -> HttpResponse:
    """Asks first: what is cancelled does not come back."""
    run = get_run_for(request.user, slug, number)
    may_manage_runs(request.user, run.benchmark).require()
    if request.method == "POST":
        actions.cancel_run(run, actor=person(request))
        messages.success(request, _("Cancelled. What was answered and judged stays."))
        return redirect("evaluation:run-page", slug=slug, number=number)
    context = {"nav": "runs", "run": run, "progress": Progress(run), "can": run.state in (*ACTIVE, RunState.STOPPED)}
    return render(request, "evaluation/run_cancel.html", context | {"demo": run.system.is_demo})


@require_http_methods(["GET", "HEAD", "POST"])
def run_rerun(request: HttpRequest, slug: str, number: int) -> HttpResponse:
    """Choose items to ask anew, perhaps starting with those that the grid shows; says first what goes."""
    run = get_run_for(request.user, slug, number)
    may_manage_runs(request.user, run.benchmark).require()
    items = request.GET.get("items", "")
    if show := request.GET.get("show"):
        numbers = Progress(run).cells(show).values_list("release_item__item__number", flat=True)
        items = ", ".join(map(str, dict.fromkeys(numbers)))
    form = RerunForm(request.POST if request.method == "POST" else None, initial={"items": items})
    if request.method == "POST" and form.is_valid():
        chosen = form.cleaned_data["items"]
        count = carry_out(form, lambda: actions.rerun_items(run, chosen, actor=person(request)))
        if count is not None:
            text = ngettext("%(n)d answer is asked for anew.", "%(n)d answers are asked for anew.", count)
            messages.success(request, text % {"n": count})
            return redirect("evaluation:run-page", slug=slug, number=number)
    context = {"nav": "runs", "run": run, "form": form, "demo": run.system.is_demo}
    return render(request, "evaluation/run_rerun.html", context, status=422 if form.errors else 200)


@require_http_methods(["GET", "HEAD", "POST"])
def run_rejudge(request: HttpRequest, slug: str, number: int) -> HttpResponse:
    """Have the stored responses judged, by judges of this run again or by others. No system is asked."""
    run = get_run_for(request.user, slug, number)
    may_manage_runs(request.user, run.benchmark).require()
    posted = request.POST if request.method == "POST" else None
    form = RejudgeForm(run.benchmark, posted, initial={"judge": run.main_judge_id})
    if request.method == "POST" and form.is_valid():
        count = carry_out(form, lambda: actions.rejudge(run, form.cleaned_data["judge"], actor=person(request)))
        if count:
            text = ngettext("%(n)d verdict is being given.", "%(n)d verdicts are being given.", count)
            messages.success(request, text % {"n": count} + " " + _("No system is asked again."))
        elif count == 0:
            messages.info(request, _("This judge has given a readable verdict on every response already."))
        if count is not None:
            return redirect("evaluation:run-page", slug=slug, number=number)
    context = {
        "nav": "runs",
        "run": run,
        "form": form,
        "progress": Progress(run),
        "kin": same_family(run.system, form.fields["judge"].queryset),  # type: ignore[attr-defined]
        "demo": run.system.is_demo,
    }
    return render(request, "evaluation/run_rejudge.html", context, status=422 if form.errors else 200)
