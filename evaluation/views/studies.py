"""Studies: the list, the plan, the matrix of what is done, and what can be done to all of it at once."""

from collections.abc import Sequence
from typing import Any

from django.contrib import messages
from django.core.paginator import Paginator
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils.translation import gettext as _
from django.utils.translation import ngettext
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from annotation.benchmarks import get_benchmark_for
from evaluation import study_actions
from evaluation.models import Study
from evaluation.permissions import may_manage_runs
from evaluation.preflight import Check, check_study
from evaluation.study_forms import AdoptForm, StudyForm
from evaluation.study_queries import Matrix, adoptable_runs, get_study_for, lines_of, studies_of, study_events
from lhdr_site.shared.errors import Invalid
from lhdr_site.shared.templatetags.workbench import STUDY_STATES

from .common import carry_out, person, run_tabs

STUDIES_A_PAGE = 50


@require_safe
def study_list(request: HttpRequest, slug: str) -> HttpResponse:
    benchmark = get_benchmark_for(request.user, slug)
    page = Paginator(studies_of(benchmark), STUDIES_A_PAGE).get_page(request.GET.get("page"))
    context = {
        "nav": "runs",
        "tabs": run_tabs(benchmark),
        "page": page,
        "lines": lines_of(page.object_list),
        "may": may_manage_runs(request.user, benchmark),
    }
    return render(request, "evaluation/study_list.html", context)


@require_http_methods(["GET", "HEAD", "POST"])
def study_create(request: HttpRequest, slug: str) -> HttpResponse:
    benchmark = get_benchmark_for(request.user, slug)
    may_manage_runs(request.user, benchmark).require()
    form = StudyForm(benchmark, request.POST if request.method == "POST" else None)
    return _form(
        request, form, slug, lambda: study_actions.create_study(benchmark, form.cleaned_data, actor=person(request))
    )


@require_http_methods(["GET", "HEAD", "POST"])
def study_change(request: HttpRequest, slug: str, number: int) -> HttpResponse:
    study = get_study_for(request.user, slug, number)
    may_manage_runs(request.user, study.benchmark).require()
    form = StudyForm(study.benchmark, request.POST if request.method == "POST" else None, instance=study)
    return _form(
        request,
        form,
        slug,
        lambda: study_actions.change_study(study, form.cleaned_data, actor=person(request)),
        study=study,
    )


def _form(request: HttpRequest, form: StudyForm, slug: str, act: Any, study: Study | None = None) -> HttpResponse:
    """The plan's form; once it is valid and something should be thought about, the form again with that said."""
    warnings: list[str] = []
    if request.method == "POST" and form.is_valid():
        warnings = form.warnings if study is None else []
        if not warnings or "anyway" in request.POST:
            kept = carry_out(form, act)
            if kept is not None:
                return redirect("evaluation:study-page", slug=slug, number=kept.number)
    context = {
        "nav": "runs",
        "form": form,
        "study": study,
        "warnings": warnings,
        "lacking": [name for name in ("release", "systems", "judges") if not form.fields[name].queryset.exists()],  # type: ignore[attr-defined]
    }
    return render(request, "evaluation/study_form.html", context, status=422 if form.errors else 200)


@require_safe
def study_page(request: HttpRequest, slug: str, number: int) -> HttpResponse:
    return _page(request, get_study_for(request.user, slug, number))


def _page(
    request: HttpRequest,
    study: Study,
    refusal: str = "",
    adopt_form: AdoptForm | None = None,
    checks: Sequence[Check] = (),
) -> HttpResponse:
    """The page of a study; with 422 when what was asked from it was refused."""
    context = _progress(request, study)
    matrix, may = context["matrix"], context["may"]
    states = {run.state for run in matrix.runs}
    if may and not study.frozen and adoptable_runs(study).exists():
        context["adopt_form"] = adopt_form or AdoptForm(study)
    context |= {
        "nav": "runs",
        "demo": any(row.system.is_demo for row in matrix.rows),
        "state_word": STUDY_STATES[matrix.state].word,  # in the title: a tab in the background tells when it is done
        "refusal": refusal,
        "checks": checks,
        "can": {
            "pause": bool(states & {"queued", "running"}),
            "resume": bool(states & {"paused", "stopped"}),
            "cancel": bool(states - {"finished"}),
            "freeze": states == {"finished"},
        },
    }
    return render(request, "evaluation/study_page.html", context, status=422 if refusal or adopt_form else 200)


@require_safe
def study_progress(request: HttpRequest, slug: str, number: int) -> HttpResponse:
    """The part of the page that moves. When a run came into another state, the whole page is loaded again, since its
    buttons change with it."""
    context = _progress(request, get_study_for(request.user, slug, number))
    if request.GET.get("state") != context["seen"]:
        response = HttpResponse(status=204)
        response["HX-Refresh"] = "true"
        return response
    return render(request, "evaluation/_study_progress.html", context)


def _progress(request: HttpRequest, study: Study) -> dict[str, Any]:
    matrix = Matrix(study)
    return {
        "study": study,
        "matrix": matrix,
        "seen": "-".join([matrix.state, *sorted({run.state for run in matrix.runs})]),
        "events": study_events(study),
        "may": may_manage_runs(request.user, study.benchmark),
    }


# --- what can be done ---------------------------------------------------------------------------------------------


@require_POST
def study_check(request: HttpRequest, slug: str, number: int) -> HttpResponse:
    """Look before filling; nothing is launched."""
    study = get_study_for(request.user, slug, number)
    return _page(request, study, checks=check_study(study, actor=person(request)))


@require_POST
def study_fill(request: HttpRequest, slug: str, number: int) -> HttpResponse:
    study = get_study_for(request.user, slug, number)
    try:
        filled = study_actions.fill_holes(study, actor=person(request))
    except Invalid as error:
        return _page(request, study, error.message)
    parts = []
    if n := len(filled.launched):
        parts.append(ngettext("%(n)d run launched", "%(n)d runs launched", n) % {"n": n})
    if n := filled.resumed:
        parts.append(ngettext("%(n)d run goes on", "%(n)d runs go on", n) % {"n": n})
    if n := filled.responses:
        parts.append(ngettext("%(n)d response asked for", "%(n)d responses asked for", n) % {"n": n})
    if n := filled.verdicts:
        parts.append(ngettext("%(n)d verdict asked for", "%(n)d verdicts asked for", n) % {"n": n})
    if parts:
        messages.success(request, ", ".join(parts) + ".")
    else:
        messages.info(request, _("There is no hole to fill: all is done or under way."))
    for system, condition, why in filled.refused:
        messages.warning(request, f"{system}, {condition}: {why}")
    return redirect("evaluation:study-page", slug=slug, number=number)


@require_POST
def study_adopt(request: HttpRequest, slug: str, number: int) -> HttpResponse:
    study = get_study_for(request.user, slug, number)
    form = AdoptForm(study, request.POST)
    may_manage_runs(request.user, study.benchmark).require()
    if form.is_valid():
        run = carry_out(form, lambda: study_actions.adopt_run(study, form.cleaned_data["run"], actor=person(request)))
        if run is not None:
            text = _("Run %(n)d belongs to the study now. What it lacks of the plan is asked for by filling the holes.")
            messages.success(request, text % {"n": run.number})
            return redirect("evaluation:study-page", slug=slug, number=number)
    return _page(request, study, adopt_form=form)


@require_POST
def study_pause(request: HttpRequest, slug: str, number: int) -> HttpResponse:
    study = get_study_for(request.user, slug, number)
    if study_actions.pause_study(study, actor=person(request)):
        messages.success(request, _("Paused. Calls under way come to their end; no new one starts."))
    else:
        messages.info(request, _("No run goes on, so there is nothing to pause."))
    return redirect("evaluation:study-page", slug=slug, number=number)


@require_POST
def study_resume(request: HttpRequest, slug: str, number: int) -> HttpResponse:
    study = get_study_for(request.user, slug, number)
    try:
        count = study_actions.resume_study(study, actor=person(request))
    except Invalid as error:
        return _page(request, study, error.message)
    if count:
        messages.success(request, ngettext("%(n)d run goes on.", "%(n)d runs go on.", count) % {"n": count})
    else:
        messages.info(request, _("No run is paused or stopped."))
    return redirect("evaluation:study-page", slug=slug, number=number)


@require_http_methods(["GET", "HEAD", "POST"])
def study_cancel(request: HttpRequest, slug: str, number: int) -> HttpResponse:
    """Asks first: what is cancelled does not come back."""
    study = get_study_for(request.user, slug, number)
    may_manage_runs(request.user, study.benchmark).require()
    if request.method == "POST":
        study_actions.cancel_study(study, actor=person(request))
        messages.success(request, _("Cancelled. What was answered and judged stays."))
        return redirect("evaluation:study-page", slug=slug, number=number)
    return _confirm(request, study, "cancel")


@require_http_methods(["GET", "HEAD", "POST"])
def study_freeze(request: HttpRequest, slug: str, number: int) -> HttpResponse:
    """Asks first: nothing thaws a study again."""
    study = get_study_for(request.user, slug, number)
    may_manage_runs(request.user, study.benchmark).require()
    if request.method == "POST":
        study_actions.freeze_study(study, actor=person(request))
        messages.success(request, _("Frozen. Nothing of the study changes any more."))
        return redirect("evaluation:study-page", slug=slug, number=number)
    return _confirm(request, study, "freeze")


def _confirm(request: HttpRequest, study: Study, what: str) -> HttpResponse:
    matrix = Matrix(study)
    open_runs = [run for run in matrix.runs if run.state != "finished"]
    context = {"nav": "runs", "study": study, "matrix": matrix, "what": what, "open_runs": open_runs}
    return render(request, "evaluation/study_confirm.html", context)
