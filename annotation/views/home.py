"""My work over all my benchmarks, and one benchmark's progress."""

from typing import Any

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_GET

from annotation import listing, notices, planning
from annotation.activity import worded
from annotation.benchmarks import get_benchmark_for, my_benchmarks, role_of
from annotation.models import Membership
from annotation.states import IN_AUDIT, Role, State
from lhdr_site.shared.markdown import render_markdown


def _work(user: Any, benchmarks: list[Any]) -> dict[str, Any]:
    return {
        "unsaved": listing.unsaved_of(user, benchmarks),
        "returned": listing.returned_to(user, benchmarks),
        "addressed": notices.worded(notices.addressed_to(user, benchmarks).filter(done=None)[: listing.SHOWN]),
        "due": planning.due_soon(user, benchmarks),
        "drafts": listing.drafts_of(user, benchmarks),
        "events": worded(listing.activity(benchmarks, user)),
    }


@require_GET
def home(request: HttpRequest) -> HttpResponse:
    benchmarks = list(my_benchmarks(request.user))
    states = listing.states_of(benchmarks)
    roles = dict(Membership.objects.filter(user=request.user).values_list("benchmark", "role"))  # type: ignore[misc]
    rows = [
        {
            "benchmark": b,
            "states": states[b.pk],
            "total": sum(states[b.pk].values()),
            "waiting": sum(states[b.pk][state] for state in IN_AUDIT),
            "role": Role(roles[b.pk]),
            "may_audit": roles[b.pk] >= Role.AUDITOR,
        }
        for b in benchmarks
    ]
    return render(request, "annotation/home.html", {"benchmarks": rows, **_work(request.user, benchmarks)})


@require_GET
def benchmark_home(request: HttpRequest, slug: str) -> HttpResponse:
    benchmark = get_benchmark_for(request.user, slug)
    states = listing.states_of([benchmark])[benchmark.pk]
    weeks = listing.weekly_locked(benchmark)
    role = role_of(request.user, benchmark)
    context = {
        "nav": "home",
        "benchmark": benchmark,
        "states": states,
        "total": sum(states.values()),
        "guideline": render_markdown(benchmark.guideline),
        "locked": states[State.LOCKED],
        "waiting": sum(states[state] for state in IN_AUDIT),
        "categories": listing.category_progress(benchmark),
        "weeks": weeks,
        "weekly_total": sum(week.locked for week in weeks),
        "may_administer": role is Role.ADMIN,
        "may_audit": role is not None and role >= Role.AUDITOR,
        **_work(request.user, [benchmark]),
    }
    return render(request, "annotation/benchmark_home.html", context)
