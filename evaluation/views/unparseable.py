"""What judges printed that could not be read: all of a run, raw, to ask again or to give to a person."""

from django.contrib import messages
from django.core.paginator import Paginator
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils.translation import gettext as _
from django.utils.translation import ngettext
from django.views.decorators.http import require_POST, require_safe

from evaluation import actions
from evaluation.judging import unparseable_verdicts
from evaluation.marking_actions import hand_over
from evaluation.permissions import may_manage_runs
from evaluation.queries import get_run_for
from lhdr_site.shared.numbers import read_whole

from .common import person

OUTPUTS_A_PAGE = 20


@require_safe
def unparseable_list(request: HttpRequest, slug: str, number: int) -> HttpResponse:
    run = get_run_for(request.user, slug, number)
    context = {
        "nav": "runs",
        "run": run,
        "page": Paginator(unparseable_verdicts(run), OUTPUTS_A_PAGE).get_page(request.GET.get("page")),
        "may": may_manage_runs(request.user, run.benchmark),
        "demo": run.system.is_demo,
    }
    return render(request, "evaluation/unparseable_list.html", context)


def _chosen(request: HttpRequest) -> list[int] | None:
    """The verdict that was named, or None for all."""
    text = request.POST.get("verdict", "")
    return None if not text else [read_whole(text) or 0]


@require_POST
def unparseable_retry(request: HttpRequest, slug: str, number: int) -> HttpResponse:
    run = get_run_for(request.user, slug, number)
    count = actions.retry_unparseable(run, _chosen(request), actor=person(request))
    if count:
        text = ngettext("%(n)d verdict is asked for again.", "%(n)d verdicts are asked for again.", count)
        messages.success(request, text % {"n": count})
    else:
        messages.info(request, _("Nothing is unreadable any more, so nothing is asked again."))
    return redirect("evaluation:run-unparseable", slug=slug, number=number)


@require_POST
def unparseable_give(request: HttpRequest, slug: str, number: int) -> HttpResponse:
    """Into the run's queue for people."""
    run = get_run_for(request.user, slug, number)
    count = hand_over(run, _chosen(request), actor=person(request))
    if count:
        text = ngettext("%(n)d response waits for a person.", "%(n)d responses wait for a person.", count)
        messages.success(request, text % {"n": count})
    else:
        messages.info(request, _("They wait for a person already."))
    return redirect("evaluation:run-unparseable", slug=slug, number=number)
