"""Systems and judges: their lists, and the form that makes a new one or copies one. None is ever edited."""

from typing import Any

from django.contrib import messages
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils.translation import gettext as _
from django.views.decorators.http import require_http_methods, require_safe

from annotation.benchmarks import Benchmark, get_benchmark_for
from evaluation import actions
from evaluation.forms import ConfigurationForm, JudgeForm, SystemForm
from evaluation.models import Judge, System
from evaluation.permissions import may_manage_runs
from evaluation.prompts import DEFAULT_VERSION, TEMPLATES
from evaluation.queries import judges_of, systems_of

from .common import carry_out, person, run_tabs


@require_safe
def system_list(request: HttpRequest, slug: str) -> HttpResponse:
    benchmark = get_benchmark_for(request.user, slug)
    return render(request, "evaluation/system_list.html", _listed(request, benchmark, "systems", systems_of(benchmark)))


@require_safe
def judge_list(request: HttpRequest, slug: str) -> HttpResponse:
    benchmark = get_benchmark_for(request.user, slug)
    return render(request, "evaluation/judge_list.html", _listed(request, benchmark, "judges", judges_of(benchmark)))


def _listed(request: HttpRequest, benchmark: Benchmark, tab: str, rows: Any) -> dict[str, Any]:
    shown = list(rows)
    return {
        "nav": "runs",
        "tabs": run_tabs(benchmark),
        "tab": tab,
        "rows": shown,
        "may": may_manage_runs(request.user, benchmark),
        "demo": any(row.endpoint and row.endpoint.is_demo for row in shown),
    }


@require_http_methods(["GET", "HEAD", "POST"])
def system_create(request: HttpRequest, slug: str) -> HttpResponse:
    benchmark = get_benchmark_for(request.user, slug)
    may_manage_runs(request.user, benchmark).require()
    start = _copied(request, System.objects.filter(benchmark=benchmark), SystemForm)
    posted = request.POST if request.method == "POST" else None
    form = SystemForm(benchmark, posted, initial=start)
    if request.method == "POST" and form.is_valid():
        system = carry_out(form, lambda: actions.create_system(benchmark, form.cleaned_data, actor=person(request)))
        if system is not None:
            messages.success(request, _("Made the system “%(name)s”.") % {"name": system.name})
            return redirect("evaluation:system-list", slug=slug)
    return _form(request, benchmark, form, "systems")


@require_http_methods(["GET", "HEAD", "POST"])
def judge_create(request: HttpRequest, slug: str) -> HttpResponse:
    benchmark = get_benchmark_for(request.user, slug)
    may_manage_runs(request.user, benchmark).require()
    start = {"prompt_version": DEFAULT_VERSION}
    start |= _copied(request, Judge.objects.filter(benchmark=benchmark, person=None), JudgeForm)
    posted = request.POST if request.method == "POST" else None
    form = JudgeForm(benchmark, posted, initial=start, prompts=[(name, name) for name in TEMPLATES])
    if request.method == "POST" and form.is_valid():
        judge = carry_out(form, lambda: actions.create_judge(benchmark, form.cleaned_data, actor=person(request)))
        if judge is not None:
            messages.success(request, _("Made the judge “%(name)s”.") % {"name": judge.name})
            return redirect("evaluation:judge-list", slug=slug)
    return _form(request, benchmark, form, "judges")


def _form(request: HttpRequest, benchmark: Benchmark, form: ConfigurationForm, tab: str) -> HttpResponse:
    context = {
        "nav": "runs",
        "tabs": run_tabs(benchmark),
        "tab": tab,
        "form": form,
        "copied": request.GET.get("copy"),
        "has_endpoints": benchmark.endpoints.exists(),
        "prompts": TEMPLATES.items() if tab == "judges" else [],
    }
    return render(request, "evaluation/configuration_form.html", context, status=422 if form.errors else 200)


def _copied(request: HttpRequest, rows: Any, form: type[ConfigurationForm]) -> dict[str, Any]:
    """Initial values out of `?copy=<pk>`, under a name that is not taken. Raises Http404 for one that is not there."""
    copy = request.GET.get("copy")
    if not copy:
        return {}
    source = rows.filter(pk=copy).first() if copy.isascii() and copy.isdigit() and len(copy) < 19 else None
    if source is None:
        raise Http404
    start = {name: getattr(source, name) for name in form.Meta.fields}  # type: ignore[attr-defined]
    taken = set(rows.model.objects.filter(benchmark=source.benchmark_id).values_list("name", flat=True))
    base, number = source.name[:74], 2
    while f"{base} ({number})" in taken:
        number += 1
    return {**start, "name": f"{base} ({number})"}
