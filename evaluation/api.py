"""Runs over HTTP: the same permissions, actions and errors as the pages.

Rows are named as people name them: a release, system or judge by its name, an item by its number and id.
"""

from collections.abc import Iterable, Mapping, Sequence
from decimal import Decimal
from typing import Any

from django.urls import reverse
from django.utils.translation import gettext as _
from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response as Reply
from rest_framework.views import APIView

from annotation.benchmarks import Benchmark, get_benchmark_for
from lhdr_site.endpoints.errors import ErrorKind
from lhdr_site.shared.api import NOT_FOUND, PAGING, REFUSED, error, page_of, person, read_body
from lhdr_site.shared.errors import Invalid

from . import actions
from .models import MOST_TIMES, Condition, Judge, Run, RunState, System, Work
from .preflight import LEVELS, Check, check_launch
from .queries import (
    get_run_for,
    releases_of,
    runs_of,
    status_counts,
)

# --- what is sent and received, for the schema --------------------------------------------------------------------


class LaunchIn(serializers.Serializer[Any]):
    release = serializers.CharField(max_length=50, help_text="Name.")
    system = serializers.CharField(max_length=80, help_text="Name.")
    judges = serializers.ListField(child=serializers.CharField(max_length=80), allow_empty=False, max_length=50)
    main_judge = serializers.CharField(max_length=80, required=False, help_text="The first of judges if left out.")
    condition = serializers.ChoiceField(choices=Condition.values, default=Condition.WITH_IMAGE)
    samples = serializers.IntegerField(min_value=1, max_value=MOST_TIMES, default=1, help_text="Per item.")
    repeats = serializers.IntegerField(
        min_value=1, max_value=MOST_TIMES, default=1, help_text="Verdicts per judge on each response."
    )
    items = serializers.ListField(
        child=serializers.CharField(max_length=200),
        required=False,
        help_text="Ids of the items to ask; then the run is a trial. All of the release if left out.",
    )
    carry_over = serializers.BooleanField(
        default=True, help_text="Copy answers to the very same request, and equal verdicts, from earlier releases."
    )
    is_trial = serializers.BooleanField(default=False, help_text="Keeps the run out of the leaderboard.")
    concurrency = serializers.IntegerField(min_value=1, max_value=1000, default=8)
    budget = serializers.DecimalField(
        max_digits=10, decimal_places=2, min_value=Decimal("0.01"), required=False, allow_null=True, help_text="USD."
    )
    token_budget = serializers.IntegerField(min_value=1, max_value=2**53, required=False, allow_null=True)
    note = serializers.CharField(required=False, allow_blank=True, max_length=10_000, default="")


class ResumeIn(serializers.Serializer[Any]):
    budget = serializers.DecimalField(
        max_digits=10, decimal_places=2, min_value=Decimal("0.01"), required=False, allow_null=True
    )
    token_budget = serializers.IntegerField(min_value=1, max_value=2**53, required=False, allow_null=True)


class AcceptModelIn(serializers.Serializer[Any]):
    model = serializers.CharField(max_length=200, help_text="As the replies named it.")


class RetryIn(serializers.Serializer[Any]):
    kinds = serializers.ListField(
        child=serializers.ChoiceField(choices=list(ErrorKind)), required=False, help_text="All kinds if left out."
    )


class RerunIn(serializers.Serializer[Any]):
    items = serializers.ListField(
        child=serializers.IntegerField(min_value=1, max_value=2**31 - 1),
        max_length=10_000,
        help_text="Numbers of the items to ask anew.",
    )


class RunOut(serializers.Serializer[Any]):
    number = serializers.IntegerField()
    state = serializers.CharField(help_text=", ".join(RunState.values))
    stop_reason = serializers.CharField()
    release = serializers.CharField()
    audited = serializers.BooleanField(help_text="Of the release.")
    system = serializers.CharField()
    is_demo = serializers.BooleanField()
    condition = serializers.ChoiceField(choices=Condition.values)
    study = serializers.IntegerField(allow_null=True, help_text="Number of the study it belongs to.")
    main_judge = serializers.CharField()
    items = serializers.IntegerField(help_text="The denominator.")
    responses = serializers.DictField(child=serializers.IntegerField(), help_text="How many stand in which status.")
    samples = serializers.IntegerField()
    repeats = serializers.IntegerField()
    is_trial = serializers.BooleanField()
    concurrency = serializers.IntegerField()
    budget = serializers.DecimalField(max_digits=10, decimal_places=2, allow_null=True)
    token_budget = serializers.IntegerField(allow_null=True)
    spent = serializers.DecimalField(max_digits=12, decimal_places=6, help_text="The known costs, USD.")
    tokens = serializers.IntegerField(help_text="The known ones of all calls.")
    unpriced = serializers.IntegerField(help_text="Calls of unknown cost, which `spent` does not hold.")
    priced = serializers.IntegerField(help_text="Calls whose cost is by the price table, not reported.")
    zero_cost = serializers.IntegerField(help_text="Calls reported as free though a paid service used tokens.")
    note = serializers.CharField()
    launched_by = serializers.CharField()
    created = serializers.DateTimeField()
    started = serializers.DateTimeField(allow_null=True)
    ended = serializers.DateTimeField(allow_null=True)
    url = serializers.CharField()


class RunDetailOut(RunOut):
    judges = serializers.ListField(child=serializers.CharField())
    responses_url = serializers.CharField()
    verdicts_url = serializers.CharField()


class LaunchCheckOut(serializers.Serializer[Any]):
    level = serializers.ChoiceField(choices=LEVELS)
    title = serializers.CharField()
    text = serializers.CharField(help_text="What was found, and what to do about it.")
    concerns = serializers.ListField(child=serializers.CharField(), help_text="Names of systems and judges.")


class LaunchChecksOut(serializers.Serializer[Any]):
    level = serializers.ChoiceField(choices=LEVELS, help_text="The worst of all.")
    checks = LaunchCheckOut(many=True)


class RunPageOut(serializers.Serializer[Any]):
    next = serializers.CharField(allow_null=True)
    results = RunOut(many=True)


RUN_REFUSED = {**REFUSED, 409: error("The run is in another state by now.")}


# --- rows ---------------------------------------------------------------------------------------------------------


def _run(run: Run, counts: Mapping[str, int]) -> dict[str, Any]:
    return {
        "number": run.number,
        "state": run.state,
        "stop_reason": run.stop_reason,
        "release": run.release.name,
        "audited": run.release.audited,
        "system": run.system.name,
        "is_demo": run.system.is_demo,
        "condition": run.condition,
        "study": run.study.number if run.study else None,
        "main_judge": run.main_judge.name,
        "items": run.item_count,
        "responses": {status: counts.get(status, 0) for status in Work.Status.values},
        "samples": run.samples,
        "repeats": run.repeats,
        "is_trial": run.is_trial,
        "concurrency": run.concurrency,
        "budget": run.budget,
        "token_budget": run.token_budget,
        "spent": run.spent,
        "tokens": run.tokens,
        "unpriced": run.unpriced,
        "priced": run.priced,
        "zero_cost": run.zero_cost,
        "note": run.note,
        "launched_by": run.launched_by.get_username(),
        "created": run.created,
        "started": run.started,
        "ended": run.ended,
        "url": reverse("api-run", args=[run.benchmark.slug, run.number]),
    }


def _run_detail(run: Run) -> dict[str, Any]:
    address = [run.benchmark.slug, run.number]
    return {
        **_run(run, status_counts([run]).get(run.pk, {})),
        "judges": [judge.name for judge in run.judges.all()],
        "responses_url": reverse("api-responses", args=address),
        "verdicts_url": reverse("api-verdicts", args=address),
    }


def named_rows(rows: Iterable[Any], names: Sequence[str], path: str, problems: list[dict[str, str]]) -> list[Any]:
    """The rows with these names, in this order; what is not there is a problem that lists what is."""
    known = {row.name: row for row in rows}
    if missing := [name for name in names if name not in known]:
        text = _("There is no %(names)s here; there is: %(known)s.")
        shown = ", ".join(list(known)[:20]) or _("nothing yet")
        problems.append({"path": path, "message": text % {"names": ", ".join(missing), "known": shown}})
    return [known[name] for name in names if name in known]


def checked(checks: Sequence[Check]) -> Reply:
    worst = max((check.level for check in checks), key=LEVELS.index)
    return Reply({"level": worst, "checks": [check._asdict() for check in checks]})


# --- addresses ----------------------------------------------------------------------------------------------------


class RunList(APIView):
    """The runs, the newest first; and launching one."""

    @extend_schema(operation_id="list_runs", parameters=PAGING, responses={200: RunPageOut, **NOT_FOUND})
    def get(self, request: Request, slug: str) -> Reply:
        benchmark = get_benchmark_for(request.user, slug)
        rows, following = page_of(request, runs_of(benchmark), newest_first=True)
        for run in rows:
            run.benchmark = benchmark
        counts = status_counts(rows)
        return Reply({"next": following, "results": [_run(run, counts.get(run.pk, {})) for run in rows]})

    @extend_schema(
        operation_id="launch_run", request=LaunchIn, responses={201: RunDetailOut, **NOT_FOUND, **RUN_REFUSED}
    )
    def post(self, request: Request, slug: str) -> Reply:
        benchmark = get_benchmark_for(request.user, slug)
        data = _launch(benchmark, read_body(LaunchIn, request))
        run = actions.launch_run(benchmark, data, actor=person(request))
        return Reply(_run_detail(run), status=201)


class RunCheck(APIView):
    """Looking before a launch."""

    @extend_schema(
        operation_id="check_launch", request=LaunchIn, responses={200: LaunchChecksOut, **NOT_FOUND, **REFUSED}
    )
    def post(self, request: Request, slug: str) -> Reply:
        """What stands in the way of a run with this body. Launches nothing; each judge is called once."""
        benchmark = get_benchmark_for(request.user, slug)
        data = _launch(benchmark, read_body(LaunchIn, request))
        return checked(check_launch(benchmark, data, actor=person(request)))


def _launch(benchmark: Benchmark, data: dict[str, Any]) -> dict[str, Any]:
    problems: list[dict[str, str]] = []
    judges = Judge.objects.filter(benchmark=benchmark).select_related("endpoint")
    systems = System.objects.filter(benchmark=benchmark).select_related("endpoint")
    found = {
        "release": named_rows(releases_of(benchmark), [data["release"]], "release", problems),
        "system": named_rows(systems, [data["system"]], "system", problems),
        "judges": named_rows(judges, list(dict.fromkeys(data["judges"])), "judges", problems),
        "main_judge": named_rows(judges, [data["main_judge"]] if "main_judge" in data else [], "main_judge", problems),
    }
    if problems:
        raise Invalid.of(problems)
    main = found["main_judge"][0] if found["main_judge"] else None
    return {
        **data,
        "release": found["release"][0],
        "system": found["system"][0],
        "judges": found["judges"],
        "main_judge": main,
    }


class RunDetail(APIView):
    """One run: where it stands."""

    @extend_schema(operation_id="get_run", responses={200: RunDetailOut, **NOT_FOUND})
    def get(self, request: Request, slug: str, number: int) -> Reply:
        return Reply(_run_detail(get_run_for(request.user, slug, number)))


class RunMove(APIView):
    """What a POST does to the run; the reply is where it stands then."""

    def _answer(self, request: Request, slug: str, number: int) -> Reply:
        return Reply(_run_detail(get_run_for(request.user, slug, number)))


class RunPause(RunMove):
    @extend_schema(operation_id="pause_run", request=None, responses={200: RunDetailOut, **NOT_FOUND, **RUN_REFUSED})
    def post(self, request: Request, slug: str, number: int) -> Reply:
        """No new call starts; calls under way end and are kept."""
        actions.pause_run(get_run_for(request.user, slug, number), actor=person(request))
        return self._answer(request, slug, number)


class RunAcceptModel(RunMove):
    @extend_schema(
        operation_id="accept_model", request=AcceptModelIn, responses={200: RunDetailOut, **NOT_FOUND, **RUN_REFUSED}
    )
    def post(self, request: Request, slug: str, number: int) -> Reply:
        """Take a returned model for the one that was asked for; the run goes on when no other is open."""
        run = get_run_for(request.user, slug, number)
        actions.accept_model(run, actor=person(request), **read_body(AcceptModelIn, request))
        return self._answer(request, slug, number)


class RunResume(RunMove):
    @extend_schema(
        operation_id="resume_run", request=ResumeIn, responses={200: RunDetailOut, **NOT_FOUND, **RUN_REFUSED}
    )
    def post(self, request: Request, slug: str, number: int) -> Reply:
        """Go on after a pause or a stop, with a higher budget where the old one is used up."""
        run = get_run_for(request.user, slug, number)
        actions.resume_run(run, actor=person(request), **read_body(ResumeIn, request))
        return self._answer(request, slug, number)


class RunCancel(RunMove):
    @extend_schema(operation_id="cancel_run", request=None, responses={200: RunDetailOut, **NOT_FOUND, **RUN_REFUSED})
    def post(self, request: Request, slug: str, number: int) -> Reply:
        """For good: what is open is cancelled, what is done stays."""
        actions.cancel_run(get_run_for(request.user, slug, number), actor=person(request))
        return self._answer(request, slug, number)


class RunRetry(RunMove):
    @extend_schema(operation_id="retry_run", request=RetryIn, responses={200: RunDetailOut, **NOT_FOUND, **RUN_REFUSED})
    def post(self, request: Request, slug: str, number: int) -> Reply:
        """Try failed responses and verdicts again, all or those of some error kinds."""
        run = get_run_for(request.user, slug, number)
        actions.retry_failed(run, read_body(RetryIn, request).get("kinds"), actor=person(request))
        return self._answer(request, slug, number)


class RunRerun(RunMove):
    @extend_schema(
        operation_id="rerun_items", request=RerunIn, responses={200: RunDetailOut, **NOT_FOUND, **RUN_REFUSED}
    )
    def post(self, request: Request, slug: str, number: int) -> Reply:
        """Ask the system anew for chosen items: their answers and verdicts go, their attempts stay."""
        run = get_run_for(request.user, slug, number)
        actions.rerun_items(run, read_body(RerunIn, request)["items"], actor=person(request))
        return self._answer(request, slug, number)
