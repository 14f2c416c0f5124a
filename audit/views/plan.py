"""The settings of a benchmark's audit, for its admins."""

from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import redirect, render
from django.utils.translation import gettext as _
from django.views.decorators.http import require_http_methods

from annotation.benchmarks import get_benchmark_for
from audit.forms import PlanForm
from audit.permissions import may_set_plan
from audit.plan_actions import set_plan
from audit.plans import plan_of

from . import Request


@require_http_methods(["GET", "HEAD", "POST"])
def plan(request: Request, slug: str) -> HttpResponse:
    benchmark = get_benchmark_for(request.user, slug)
    may_set_plan(request.user, benchmark).require()
    form = PlanForm(request.POST if request.method == "POST" else None, instance=plan_of(benchmark))
    if request.method == "POST" and form.is_valid():
        set_plan(benchmark, form.cleaned_data, actor=request.user)
        messages.success(request, _("Saved."))
        return redirect("audit:plan", slug=slug)
    context = {"nav": "settings", "benchmark": benchmark, "form": form}
    return render(request, "audit/plan.html", context, status=422 if form.errors else 200)
