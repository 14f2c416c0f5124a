"""One system: what shapes its answers, and trying it out with one item of a release."""

from typing import Any

from django.contrib import messages
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.utils.translation import gettext as _
from django.views.decorators.http import require_POST, require_safe

from annotation.benchmarks import get_benchmark_for
from evaluation import try_actions
from evaluation.configuration_actions import has_run
from evaluation.forms import TryForm, warnings_of
from evaluation.models import System, Tryout
from evaluation.permissions import may_manage_runs
from evaluation.queries import attempts_of, last_attempt_of, systems_of, tryouts_of
from evaluation.request_part import kin_warnings
from lhdr_site.shared.errors import Conflict

from .common import carry_out, person


def get_system(request: HttpRequest, slug: str, pk: int) -> System:
    """A system of a benchmark that the person may see; it also has `run_count`."""
    benchmark = get_benchmark_for(request.user, slug)
    system = systems_of(benchmark).filter(pk=pk).first()
    if system is None:
        raise Http404
    system.benchmark = benchmark
    return system


@require_safe
def system_page(request: HttpRequest, slug: str, pk: int) -> HttpResponse:
    system = get_system(request, slug, pk)
    return _show(request, system, TryForm(system.benchmark))


def _show(request: HttpRequest, system: System, form: TryForm) -> HttpResponse:
    tryouts = list(tryouts_of(system)[:10])
    context = {
        "nav": "runs",
        "benchmark": system.benchmark,
        "system": system,
        "form": form,
        "tryouts": tryouts,
        "may_change": not has_run(system),
        "has_release": form.fields["release"].queryset.exists(),  # type: ignore[attr-defined]
        "may": may_manage_runs(request.user, system.benchmark),
        "demo": system.is_demo,
        "warnings": [str(warning) for warning in warnings_of(system)]
        + kin_warnings(system.benchmark, system.family.strip(), "systems"),
    }
    if tryouts:
        context |= _of_tryout(tryouts[0])
    return render(request, "evaluation/system_page.html", context, status=422 if form.errors else 200)


@require_POST
def system_try(request: HttpRequest, slug: str, pk: int) -> HttpResponse:
    system = get_system(request, slug, pk)
    may_manage_runs(request.user, system.benchmark).require()
    form = TryForm(system.benchmark, request.POST)
    made = None
    if form.is_valid():
        try:
            made = carry_out(form, lambda: try_actions.try_system(system, **form.cleaned_data, actor=person(request)))
        except Conflict as error:
            form.add_error(None, str(error))
    if made is None:
        return _show(request, system, form)
    return redirect("evaluation:tryout-page", slug=slug, pk=pk, tryout=made.pk)


@require_safe
def tryout_page(request: HttpRequest, slug: str, pk: int, tryout: int) -> HttpResponse:
    """One call with what was sent and what came; for htmx its card alone, which asks again until it has ended."""
    system = get_system(request, slug, pk)
    row = get_object_or_404(tryouts_of(system), pk=tryout)
    may = may_manage_runs(request.user, system.benchmark)
    context = {
        "nav": "runs",
        "benchmark": system.benchmark,
        "system": system,
        "may": may,
        "demo": system.is_demo,
        **_of_tryout(row),
    }
    is_fragment = request.htmx and not request.htmx.history_restore_request  # type: ignore[attr-defined]
    return render(request, f"evaluation/{'_tryout' if is_fragment else 'tryout_page'}.html", context)


def _of_tryout(tryout: Tryout) -> dict[str, Any]:
    return {"tryout": tryout, "last": last_attempt_of(tryout), "attempts": attempts_of(tryout)}


@require_POST
def tryout_cancel(request: HttpRequest, slug: str, pk: int, tryout: int) -> HttpResponse:
    system = get_system(request, slug, pk)
    row = get_object_or_404(tryouts_of(system), pk=tryout)
    try_actions.cancel_tryout(row, actor=person(request))
    messages.success(request, _("The call is cancelled."))
    return redirect("evaluation:tryout-page", slug=slug, pk=pk, tryout=row.pk)
