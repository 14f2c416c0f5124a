"""Responses and verdicts from files and to files. Checking a file writes nothing; what is refused is listed by row."""

from typing import Any

from django.contrib import messages
from django.db.models import QuerySet
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils.translation import gettext as _
from django.utils.translation import ngettext
from django.views.decorators.http import require_http_methods, require_safe
from django_htmx.http import HttpResponseClientRedirect

from annotation.benchmarks import get_benchmark_for
from evaluation.exchange_forms import ImportResponsesForm, ImportVerdictsForm
from evaluation.exports import FORMATS, response_rows, verdict_rows
from evaluation.importing import import_responses, import_verdicts, read_response_file, read_verdict_file
from evaluation.models import Judge, Run
from evaluation.permissions import may_manage_runs, may_record_verdict
from evaluation.queries import get_run_for, has_seen_verdicts
from lhdr_site.shared.downloads import jsonl_response
from lhdr_site.shared.errors import NotAllowed

from .common import carry_out, person, run_tabs

SHOWN_PROBLEMS = 50


@require_http_methods(["GET", "HEAD", "POST"])
def response_import(request: HttpRequest, slug: str) -> HttpResponse:
    benchmark = get_benchmark_for(request.user, slug)
    may_manage_runs(request.user, benchmark).require()
    posted = (request.POST, request.FILES) if request.method == "POST" else ()
    form = ImportResponsesForm(benchmark, *posted)
    context: dict[str, Any] = {"nav": "runs", "tabs": run_tabs(benchmark), "form": form}
    valid = request.method == "POST" and form.is_valid()
    # What is wrong with the file is said at once, not after all that is asked about the system.
    if request.method == "POST" and {"file", "release", "format", "condition"} <= form.cleaned_data.keys():
        data, file = form.cleaned_data, form.cleaned_data["file"]
        incoming = read_response_file(data["release"], file, data["format"], data["condition"])
        context |= {"incoming": incoming, **_refused(incoming.problems)}
        if valid and request.POST.get("action") == "import":
            done = carry_out(
                form,
                lambda: import_responses(
                    incoming,
                    form.whose,
                    actor=person(request),
                    judge=data["judge"],
                    judge_elsewhere=data["judge_elsewhere"],
                    note=data["note"],
                    file_name=file.name,
                ),
            )
            if done is not None:
                run, new = done
                messages.success(request, _said(len(incoming.matched)) if new else _("This file is this run already."))
                return _go(request, reverse("evaluation:run-page", args=[slug, run.number]))
    return _page(request, "response_import", context, form)


@require_http_methods(["GET", "HEAD", "POST"])
def verdict_import(request: HttpRequest, slug: str, number: int) -> HttpResponse:
    run = get_run_for(request.user, slug, number)
    may_manage_runs(request.user, run.benchmark).require()
    posted = (request.POST, request.FILES) if request.method == "POST" else ()
    form = ImportVerdictsForm(*posted)
    context: dict[str, Any] = {"nav": "runs", "run": run, "form": form}
    if request.method == "POST" and form.is_valid():
        data, file = form.cleaned_data, form.cleaned_data["file"]
        incoming = read_verdict_file(run, file, data["format"], data["judge"])
        context |= {"incoming": incoming, **_refused(incoming.problems)}
        if request.POST.get("action") == "import":
            count = carry_out(form, lambda: import_verdicts(incoming, actor=person(request), file_name=file.name))
            if count is not None:
                text = ngettext("%(n)d verdict was imported.", "%(n)d verdicts were imported.", count) % {"n": count}
                messages.success(request, text if count else _("Every verdict was here already; nothing changed."))
                return _go(request, reverse("evaluation:run-page", args=[slug, number]))
    return _page(request, "verdict_import", context, form)


def _said(count: int) -> str:
    return ngettext("%(n)d answer was imported.", "%(n)d answers were imported.", count) % {"n": count}


def _refused(problems: list[str]) -> dict[str, Any]:
    return {"problems": problems[:SHOWN_PROBLEMS], "more_problems": max(len(problems) - SHOWN_PROBLEMS, 0)}


def _go(request: HttpRequest, url: str) -> HttpResponse:
    return HttpResponseClientRedirect(url) if request.htmx else redirect(url)  # type: ignore[attr-defined]


def _page(request: HttpRequest, name: str, context: dict[str, Any], form: Any) -> HttpResponse:
    template = "_import_report" if request.htmx else name  # type: ignore[attr-defined]
    return render(request, f"evaluation/{template}.html", context, status=422 if form.errors else 200)


# --- to files -----------------------------------------------------------------------------------------------------


@require_safe
def responses_file(request: HttpRequest, slug: str, number: int) -> HttpResponse:
    run, format = _asked(request, slug, number)
    return jsonl_response(f"{slug}-run-{number}-responses", response_rows(run, format))  # type: ignore[return-value]


@require_safe
def verdicts_file(request: HttpRequest, slug: str, number: int) -> HttpResponse:
    """Refused to whoever may judge blind until they had the verdicts of the run shown."""
    run, format = _asked(request, slug, number)
    if may_record_verdict(request.user, run.benchmark) and not has_seen_verdicts(request.user, run):
        text = _(
            "Reading the verdicts would make yours no longer blind. Have them shown first: “Show the others” for the "
            "whole run, on the page of a response."
        )
        raise NotAllowed(text, code="verdicts_hidden")
    judges: QuerySet[Judge] = Judge.objects.filter(verdicts__run=run).distinct()
    name = request.GET.get("judge", "")
    judge = judges.filter(name=name).first() if name and "\x00" not in name else None
    if name and judge is None:
        raise Http404
    return jsonl_response(f"{slug}-run-{number}-verdicts", verdict_rows(run, format, judge))  # type: ignore[return-value]


def _asked(request: HttpRequest, slug: str, number: int) -> tuple[Run, str]:
    run = get_run_for(request.user, slug, number)
    may_manage_runs(request.user, run.benchmark).require()
    format = request.GET.get("format", "lhdr")
    if format not in FORMATS:
        raise Http404
    return run, format
