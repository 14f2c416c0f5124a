"""Systems and judges: their lists, and the form that makes a new one, copies one, or changes one that never ran. And
the endpoints at which they answer, as a benchmark sees them."""

from typing import Any

from django.contrib import messages
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.utils import timezone
from django.utils.translation import gettext as _
from django.utils.translation import ngettext
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from annotation.benchmarks import Benchmark, get_benchmark_for
from evaluation import actions, configuration_actions, endpoint_actions
from evaluation.forms import ConfigurationForm, JudgeForm, SystemForm
from evaluation.judging import prompts_of
from evaluation.models import Judge, System
from evaluation.permissions import may_manage_runs
from evaluation.prompts import DEFAULT_VERSION
from evaluation.queries import calls_under_way, judges_of, runs_held_back, systems_of
from evaluation.request_part import read_extra, request_part
from evaluation.routes import PRESETS, apply_preset, domains_of
from lhdr_site.shared.numbers import read_whole

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
    if "preset" in request.POST:
        return _filled_in(request, benchmark, SystemForm, "systems")
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
    prompts = [(row.version,) * 2 for row in prompts_of(benchmark)]
    if "preset" in request.POST:
        return _filled_in(request, benchmark, JudgeForm, "judges", prompts=prompts)
    start = {"prompt_version": DEFAULT_VERSION}
    start |= _copied(request, Judge.objects.filter(benchmark=benchmark, person=None), JudgeForm)
    posted = request.POST if request.method == "POST" else None
    form = JudgeForm(benchmark, posted, initial=start, prompts=prompts)
    if request.method == "POST" and form.is_valid():
        judge = carry_out(form, lambda: actions.create_judge(benchmark, form.cleaned_data, actor=person(request)))
        if judge is not None:
            messages.success(request, _("Made the judge “%(name)s”.") % {"name": judge.name})
            return redirect("evaluation:judge-list", slug=slug)
    return _form(request, benchmark, form, "judges")


# --- those that never ran -----------------------------------------------------------------------------------------


@require_http_methods(["GET", "HEAD", "POST"])
def system_edit(request: HttpRequest, slug: str, pk: int) -> HttpResponse:
    return _edit(request, get_benchmark_for(request.user, slug), pk, System, SystemForm, "systems")


@require_http_methods(["GET", "HEAD", "POST"])
def judge_edit(request: HttpRequest, slug: str, pk: int) -> HttpResponse:
    benchmark = get_benchmark_for(request.user, slug)
    prompts = [(row.version,) * 2 for row in prompts_of(benchmark)]
    return _edit(request, benchmark, pk, Judge, JudgeForm, "judges", prompts=prompts)


def _edit(
    request: HttpRequest,
    benchmark: Benchmark,
    pk: int,
    model: type[System] | type[Judge],
    form_class: type[ConfigurationForm],
    tab: str,
    **more: Any,
) -> HttpResponse:
    row: Any = get_object_or_404(model, benchmark=benchmark, pk=pk)
    may_manage_runs(request.user, benchmark).require()
    if configuration_actions.has_run(row):
        messages.error(request, _("“%(name)s” has run: copy it, and change the copy.") % {"name": row.name})
        return redirect(_page(row), slug=benchmark.slug, pk=pk)
    if "preset" in request.POST:
        return _filled_in(request, benchmark, form_class, tab, row, **more)
    start = {name: getattr(row, name) for name in form_class.Meta.fields}  # type: ignore[attr-defined]
    form = form_class(benchmark, request.POST if request.method == "POST" else None, initial=start, **more)
    if request.method == "POST" and form.is_valid():
        done = carry_out(
            form,
            lambda: configuration_actions.change_configuration(row, form.cleaned_data, actor=person(request)),
        )
        if done is not None:
            messages.success(request, _("Changed “%(name)s”.") % {"name": done.name})
            return redirect(_page(row), slug=benchmark.slug, pk=pk)
    return _form(request, benchmark, form, tab, row)


def _page(row: System | Judge) -> str:
    return "evaluation:system-page" if isinstance(row, System) else "evaluation:judge-page"


@require_POST
def system_delete(request: HttpRequest, slug: str, pk: int) -> HttpResponse:
    return _delete(request, get_benchmark_for(request.user, slug), pk, System, "evaluation:system-list")


@require_POST
def judge_delete(request: HttpRequest, slug: str, pk: int) -> HttpResponse:
    return _delete(request, get_benchmark_for(request.user, slug), pk, Judge, "evaluation:judge-list")


def _delete(
    request: HttpRequest, benchmark: Benchmark, pk: int, model: type[System] | type[Judge], after: str
) -> HttpResponse:
    row: Any = get_object_or_404(model, benchmark=benchmark, pk=pk)
    configuration_actions.delete_configuration(row, actor=person(request))
    messages.success(request, _("Deleted “%(name)s”.") % {"name": row.name})
    return redirect(after, slug=benchmark.slug)


def _form(
    request: HttpRequest,
    benchmark: Benchmark,
    form: ConfigurationForm,
    tab: str,
    row: System | Judge | None = None,
) -> HttpResponse:
    """row: the one that is changed; a new one without."""
    context = {
        "row": row,
        "nav": "runs",
        "tabs": run_tabs(benchmark),
        "tab": tab,
        "form": form,
        "copied": request.GET.get("copy"),
        **request_part(benchmark, form, tab),
        "has_endpoints": benchmark.endpoints.exists(),
        "prompts": prompts_of(benchmark) if tab == "judges" else [],
    }
    return render(request, "evaluation/configuration_form.html", context, status=422 if form.errors else 200)


def _filled_in(
    request: HttpRequest,
    benchmark: Benchmark,
    form: type[ConfigurationForm],
    tab: str,
    row: System | Judge | None = None,
    **more: Any,
) -> HttpResponse:
    """The form as it was sent, with a preset in its extra request fields; nothing is stored. "" only looks at it."""
    start: dict[str, Any] = {name: request.POST.get(name, "") for name in form.base_fields}
    fields, _problem = read_extra(start["extra_body"])
    preset = next((preset for preset in PRESETS if preset.key == request.POST["preset"]), None)
    if fields is not None and preset:
        start["extra_body"] = apply_preset(fields, preset, domains_of(benchmark.dataset_urls.split()))
    filled = form(benchmark, initial=start, **more)
    if request.htmx:  # type: ignore[attr-defined]
        context = {"form": filled, "oob": True, **request_part(benchmark, filled, tab)}
        return render(request, "evaluation/_extra_part.html", context)
    return _form(request, benchmark, filled, tab, row)


def _copied(request: HttpRequest, rows: Any, form: type[ConfigurationForm]) -> dict[str, Any]:
    """Initial values out of `?copy=<pk>`, under a name that is not taken. Raises Http404 for one that is not there."""
    copy = request.GET.get("copy")
    if not copy:
        return {}
    source = rows.filter(pk=read_whole(copy)).first()
    if source is None:
        raise Http404
    start = {name: getattr(source, name) for name in form.Meta.fields}  # type: ignore[attr-defined]
    taken = set(rows.model.objects.filter(benchmark=source.benchmark_id).values_list("name", flat=True))
    base, number = source.name[:74], 2
    while f"{base} ({number})" in taken:
        number += 1
    return {**start, "name": f"{base} ({number})"}


# --- endpoints ----------------------------------------------------------------------------------------------------


@require_safe
def endpoint_list(request: HttpRequest, slug: str) -> HttpResponse:
    benchmark = get_benchmark_for(request.user, slug)
    context = _listed(request, benchmark, "endpoints", [])
    rows = list(benchmark.endpoints.all())
    busy = calls_under_way(rows)
    context["rows"] = [
        {
            "endpoint": row,
            "busy": busy.get(row.pk, 0),
            "stopped": runs_held_back(row, person(request)) if row.broken and context["may"] else [],
        }
        for row in rows
    ]
    context["demo"], context["now"] = any(row.is_demo for row in rows), timezone.now()
    return render(request, "evaluation/endpoint_list.html", context)


@require_POST
def endpoint_again(request: HttpRequest, slug: str, pk: int) -> HttpResponse:
    benchmark = get_benchmark_for(request.user, slug)
    endpoint = get_object_or_404(benchmark.endpoints, pk=pk)
    endpoint_actions.try_endpoint_again(endpoint, actor=person(request))
    text = _("Calls are made to “%s” again.") % endpoint
    if "resume" not in request.POST:
        messages.success(request, f"{text} {_('The runs that it stopped wait until they are resumed.')}")
        return redirect("evaluation:endpoint-list", slug=slug)
    resumed = endpoint_actions.resume_held_back(endpoint, actor=person(request))
    n = len(resumed.runs)
    messages.success(request, f"{text} {ngettext('%(n)d run goes on.', '%(n)d runs go on.', n) % {'n': n}}")
    for run, why in resumed.refused:
        facts = {"n": run.number, "benchmark": run.benchmark.name, "why": why}
        messages.warning(request, _("Run %(n)d of %(benchmark)s does not go on: %(why)s") % facts)
    return redirect("evaluation:endpoint-list", slug=slug)
