"""One judge with how it drifted over dates, and the anchors by which that is measured."""

import secrets

from django.contrib import messages
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils.translation import gettext as _
from django.utils.translation import ngettext
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from annotation.benchmarks import get_benchmark_for
from evaluation.actions import measure_drift
from evaluation.configuration_actions import has_run
from evaluation.drift import anchors_of, drift_anchors, drift_of
from evaluation.forms import AnchorForm
from evaluation.judging_actions import draw_anchors, set_anchor
from evaluation.models import Judge
from evaluation.permissions import may_manage_runs
from evaluation.queries import get_response, get_run_for, judges_of

from .common import carry_out, person


def _judge(request: HttpRequest, slug: str, pk: int) -> Judge:
    benchmark = get_benchmark_for(request.user, slug)
    judge = judges_of(benchmark).filter(pk=pk).first()
    if judge is None:
        raise Http404
    judge.benchmark = benchmark
    return judge


@require_safe
def judge_page(request: HttpRequest, slug: str, pk: int) -> HttpResponse:
    judge = _judge(request, slug, pk)
    context = {
        "nav": "runs",
        "judge": judge,
        "may_change": not judge.person_id and not has_run(judge),
        "rows": drift_of(judge),
        "anchor_count": sum(map(len, drift_anchors(judge).values())),
        "may": may_manage_runs(request.user, judge.benchmark),
        "demo": bool(judge.endpoint and judge.endpoint.is_demo),
    }
    return render(request, "evaluation/judge_page.html", context)


@require_POST
def drift_measure(request: HttpRequest, slug: str, pk: int) -> HttpResponse:
    measurement = measure_drift(_judge(request, slug, pk), actor=person(request))
    count = measurement.verdicts.count()
    text = ngettext("%(n)d anchor is judged again.", "%(n)d anchors are judged again.", count)
    messages.success(request, text % {"n": count})
    return redirect("evaluation:judge-page", slug=slug, pk=pk)


@require_http_methods(["GET", "HEAD", "POST"])
def anchor_list(request: HttpRequest, slug: str) -> HttpResponse:
    """The anchors, and a form that draws some from a run."""
    benchmark = get_benchmark_for(request.user, slug)
    may = may_manage_runs(request.user, benchmark)
    form = AnchorForm(benchmark, request.POST if request.method == "POST" else None)
    if request.method == "POST":
        may.require()
        if form.is_valid():
            seed = secrets.randbelow(10**6)
            run, size = form.cleaned_data["run"], form.cleaned_data["size"]
            count = carry_out(form, lambda: draw_anchors(run, size, seed, actor=person(request)))
            if count is not None:
                text = ngettext("%(n)d response is an anchor now.", "%(n)d responses are anchors now.", count)
                messages.success(request, text % {"n": count})
                return redirect("evaluation:anchor-list", slug=slug)
    context = {"nav": "runs", "anchors": list(anchors_of(benchmark)), "form": form, "may": may}
    return render(request, "evaluation/anchor_list.html", context, status=422 if form.errors else 200)


@require_POST
def anchor_set(request: HttpRequest, slug: str, number: int, pk: int) -> HttpResponse:
    """Make a response an anchor, or none (`anchor` is empty)."""
    response = get_response(get_run_for(request.user, slug, number), pk)
    is_anchor = bool(request.POST.get("anchor"))
    set_anchor(response, is_anchor, actor=person(request))
    messages.success(request, _("It is an anchor now.") if is_anchor else _("It is no anchor any more."))
    if request.POST.get("back") == "anchors":
        return redirect("evaluation:anchor-list", slug=slug)
    return redirect("evaluation:response-page", slug=slug, number=number, pk=pk)
