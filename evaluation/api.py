"""Runs and results over HTTP: the same permissions, actions and errors as the pages.

Rows are named as people name them: a release, system or judge by its name, an item by its number and id.
"""

from collections.abc import Iterable, Mapping, Sequence
from decimal import Decimal
from typing import Any, TypeVar, cast

from django.contrib.auth.models import User
from django.db.models import F, Model, QuerySet
from django.urls import reverse
from django.utils.translation import gettext as _
from drf_spectacular.utils import OpenApiParameter, OpenApiResponse, extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response as Reply
from rest_framework.views import APIView

from annotation.benchmarks import Benchmark, get_benchmark_for
from lhdr_site.shared.errors import Invalid, NotAllowed

from . import actions
from .models import Condition, Group, ImageMode, Judge, Response, Run, RunState, System, Verdict, Work
from .permissions import may_record_verdict
from .queries import (
    get_response,
    get_run_for,
    has_seen_verdicts,
    judges_of,
    judges_on,
    releases_of,
    runs_of,
    status_counts,
    systems_of,
)
from .reports import leaderboard
from .scoring.metrics import Profile

PAGE = 50
LARGEST_PAGE = 200
Row = TypeVar("Row", bound=Model)


# --- what is sent and received, for the schema --------------------------------------------------------------------


class SystemOut(serializers.Serializer[Any]):
    name = serializers.CharField()
    group = serializers.ChoiceField(choices=Group.values)
    family = serializers.CharField()
    endpoint = serializers.CharField()
    model = serializers.CharField()
    release_date = serializers.DateField(allow_null=True)
    represents_family = serializers.BooleanField()
    image_mode = serializers.ChoiceField(choices=ImageMode.values)
    extra_body = serializers.DictField()
    runs = serializers.IntegerField()
    is_demo = serializers.BooleanField(help_text="Recorded answers, not a real service.")


class JudgeOut(serializers.Serializer[Any]):
    name = serializers.CharField()
    person = serializers.CharField(allow_null=True, help_text="The user name, where the judge is a person.")
    family = serializers.CharField()
    endpoint = serializers.CharField(allow_null=True)
    model = serializers.CharField()
    prompt_version = serializers.CharField()
    extra_body = serializers.DictField()
    runs = serializers.IntegerField()
    is_demo = serializers.BooleanField()


class LaunchIn(serializers.Serializer[Any]):
    release = serializers.CharField(max_length=50, help_text="Name.")
    system = serializers.CharField(max_length=80, help_text="Name.")
    judges = serializers.ListField(child=serializers.CharField(max_length=80), allow_empty=False, max_length=50)
    main_judge = serializers.CharField(max_length=80, required=False, help_text="The first of judges if left out.")
    condition = serializers.ChoiceField(choices=Condition.values, default=Condition.WITH_IMAGE)
    concurrency = serializers.IntegerField(min_value=1, max_value=1000, default=8)
    budget = serializers.DecimalField(
        max_digits=10, decimal_places=2, min_value=Decimal("0.01"), required=False, allow_null=True, help_text="USD."
    )
    note = serializers.CharField(required=False, allow_blank=True, max_length=10_000, default="")


class ResumeIn(serializers.Serializer[Any]):
    budget = serializers.DecimalField(
        max_digits=10, decimal_places=2, min_value=Decimal("0.01"), required=False, allow_null=True
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
    main_judge = serializers.CharField()
    items = serializers.IntegerField(help_text="The denominator.")
    responses = serializers.DictField(child=serializers.IntegerField(), help_text="How many stand in which status.")
    concurrency = serializers.IntegerField()
    budget = serializers.DecimalField(max_digits=10, decimal_places=2, allow_null=True)
    spent = serializers.DecimalField(max_digits=12, decimal_places=6, help_text="The known costs, USD.")
    unpriced = serializers.IntegerField(help_text="Calls of unknown cost, which `spent` does not hold.")
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


class RunPageOut(serializers.Serializer[Any]):
    next = serializers.CharField(allow_null=True)
    results = RunOut(many=True)


class ResponseOut(serializers.Serializer[Any]):
    pk = serializers.IntegerField()
    item = serializers.IntegerField(help_text="Number in the benchmark.")
    id = serializers.CharField(help_text="The item document's id.")
    sample = serializers.IntegerField()
    status = serializers.ChoiceField(choices=Work.Status.values)
    text = serializers.CharField()
    thinking = serializers.CharField()
    citations = serializers.ListField(child=serializers.DictField())
    truncated = serializers.BooleanField()
    finish_reason = serializers.CharField()
    error_kind = serializers.CharField()
    error = serializers.CharField()
    tries = serializers.IntegerField()
    prompt_tokens = serializers.IntegerField(allow_null=True)
    completion_tokens = serializers.IntegerField(allow_null=True)
    cost = serializers.DecimalField(max_digits=12, decimal_places=6, allow_null=True, help_text="null is unknown.")
    ended = serializers.DateTimeField(allow_null=True)


class ResponsePageOut(serializers.Serializer[Any]):
    next = serializers.CharField(allow_null=True)
    results = ResponseOut(many=True)


class VerdictOut(serializers.Serializer[Any]):
    pk = serializers.IntegerField()
    response = serializers.IntegerField()
    item = serializers.IntegerField()
    id = serializers.CharField()
    judge = serializers.CharField()
    person = serializers.BooleanField()
    blind = serializers.BooleanField()
    note = serializers.CharField(help_text="A person's, on why.")
    status = serializers.ChoiceField(choices=Work.Status.values)
    answer_correct = serializers.BooleanField(allow_null=True)
    vector = serializers.ListField(child=serializers.IntegerField(), allow_null=True)
    flags = serializers.ListField(child=serializers.CharField())
    unparseable = serializers.CharField(help_text="Why no verdict could be read; empty where one was.")
    output = serializers.CharField(help_text="What the judge printed.")
    identity = serializers.CharField(help_text="Hash of everything the verdict depends on.")
    error_kind = serializers.CharField()
    cost = serializers.DecimalField(max_digits=12, decimal_places=6, allow_null=True)
    ended = serializers.DateTimeField(allow_null=True)


class VerdictPageOut(serializers.Serializer[Any]):
    next = serializers.CharField(allow_null=True)
    results = VerdictOut(many=True)


class VerdictIn(serializers.Serializer[Any]):
    answer_correct = serializers.BooleanField()
    vector = serializers.ListField(
        child=serializers.IntegerField(min_value=0, max_value=1), max_length=1000, help_text="1 or 0 for each step."
    )
    note = serializers.CharField(required=False, allow_blank=True, max_length=10_000, default="")


class LeaderboardOut(serializers.Serializer[Any]):
    release = serializers.CharField(allow_null=True)
    audited = serializers.BooleanField(allow_null=True)
    profile = serializers.ChoiceField(
        choices=list(Profile), help_text="How verdicts that break the rules are treated: rejected or repaired."
    )
    n = serializers.IntegerField(help_text="The denominator of every score: the items of the release.")
    judge = serializers.DictField(allow_null=True)
    runs = serializers.ListField(
        child=serializers.DictField(),
        help_text="system, group, condition, demo, OA, SA, CS, DACS (fractions), ci, gaps, counts, attempted, …",
    )


class ProblemOut(serializers.Serializer[Any]):
    path = serializers.CharField()
    message = serializers.CharField()


class RefusalOut(serializers.Serializer[Any]):
    code = serializers.CharField(help_text="For programs.")
    message = serializers.CharField(help_text="For people: what is wrong, and what to do.")
    problems = ProblemOut(many=True, required=False)


_NOT_FOUND = {404: OpenApiResponse(RefusalOut, "No such thing, or you are no member of the benchmark.")}
_REFUSED = {
    403: OpenApiResponse(RefusalOut, "Not allowed; the message says why."),
    409: OpenApiResponse(RefusalOut, "The run is in another state by now."),
    422: OpenApiResponse(RefusalOut, "What is wrong, by path."),
}
_PAGING = [
    OpenApiParameter("limit", int, description=f"Rows a page, at most {LARGEST_PAGE}; {PAGE} without it."),
    OpenApiParameter("after", int, description="Cursor of the page; take it from `next`."),
]


# --- rows ---------------------------------------------------------------------------------------------------------


def _person(request: Request) -> User:
    return cast(User, request.user)  # the default permission lets nobody else in


def _read(serializer: type[serializers.Serializer[Any]], request: Request) -> dict[str, Any]:
    given = serializer(data=request.data)
    given.is_valid(raise_exception=True)
    return dict(given.validated_data)


def _whole(request: Request, name: str, default: int, largest: int) -> int:
    text = request.query_params.get(name, "")
    if not text:
        return default
    if not (text.isascii() and text.isdigit() and len(text) < 19 and int(text) <= largest):
        message = _("Give a whole number, at most %(largest)d.") % {"largest": largest}
        raise Invalid(f"{name}: {message}", problems=[{"path": name, "message": message}])
    return int(text)


def _page(request: Request, rows: QuerySet[Row], newest_first: bool = False) -> tuple[list[Row], str | None]:
    """A page of rows in the order of their keys, and the address of the next one."""
    after, limit = _whole(request, "after", 0, 10**18 - 1), max(1, _whole(request, "limit", PAGE, LARGEST_PAGE))
    rows = rows.order_by("-pk" if newest_first else "pk")
    if after:
        rows = rows.filter(pk__lt=after) if newest_first else rows.filter(pk__gt=after)
    page = list(rows[: limit + 1])
    if len(page) <= limit:
        return page, None
    return page[:limit], f"{request.path}?after={page[limit - 1].pk}&limit={limit}"


def _run(run: Run, counts: Mapping[str, int]) -> dict[str, Any]:
    return {
        "number": run.number,
        "state": run.state,
        "stop_reason": run.stop_reason,
        "release": run.release.name,
        "audited": run.release.audited,
        "system": run.system.name,
        "is_demo": run.system.endpoint.is_demo,
        "condition": run.condition,
        "main_judge": run.main_judge.name,
        "items": run.item_count,
        "responses": {status: counts.get(status, 0) for status in Work.Status.values},
        "concurrency": run.concurrency,
        "budget": run.budget,
        "spent": run.spent,
        "unpriced": run.unpriced,
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


def _response(row: Response) -> dict[str, Any]:
    plain: tuple[str, ...] = (
        "pk",
        "sample",
        "status",
        "text",
        "thinking",
        "citations",
        "truncated",
        "finish_reason",
        "error_kind",
    )
    plain += ("error", "tries", "prompt_tokens", "completion_tokens", "cost", "ended")
    values = {name: getattr(row, name) for name in plain}
    return {**values, "item": row.item_number, "id": row.uid}  # type: ignore[attr-defined]


def _verdict(row: Verdict) -> dict[str, Any]:
    plain: tuple[str, ...] = (
        "pk",
        "blind",
        "note",
        "status",
        "answer_correct",
        "vector",
        "flags",
        "unparseable",
        "output",
        "identity",
    )
    plain += ("error_kind", "cost", "ended")
    return {
        **{name: getattr(row, name) for name in plain},
        "response": row.response_id,
        "item": row.item_number,  # type: ignore[attr-defined]
        "id": row.uid,  # type: ignore[attr-defined]
        "judge": row.judge.name,
        "person": row.judge.person_id is not None,
    }


def _named(rows: Iterable[Any], names: Sequence[str], path: str, problems: list[dict[str, str]]) -> list[Any]:
    """The rows with these names, in this order; what is not there is a problem that lists what is."""
    known = {row.name: row for row in rows}
    if missing := [name for name in names if name not in known]:
        text = _("There is no %(names)s here; there is: %(known)s.")
        shown = ", ".join(list(known)[:20]) or _("nothing yet")
        problems.append({"path": path, "message": text % {"names": ", ".join(missing), "known": shown}})
    return [known[name] for name in names if name in known]


# --- addresses ----------------------------------------------------------------------------------------------------


class SystemList(APIView):
    """The systems under evaluation."""

    @extend_schema(operation_id="list_systems", responses={200: SystemOut(many=True), **_NOT_FOUND})
    def get(self, request: Request, slug: str) -> Reply:
        plain = ("name", "group", "family", "model", "release_date", "represents_family", "image_mode", "extra_body")
        rows = systems_of(get_benchmark_for(request.user, slug))
        return Reply(
            [
                {
                    **{name: getattr(row, name) for name in plain},
                    "endpoint": row.endpoint.name,
                    "runs": row.run_count,  # type: ignore[attr-defined]
                    "is_demo": row.endpoint.is_demo,
                }
                for row in rows
            ]
        )


class JudgeList(APIView):
    """The judges: models with one prompt version, and people."""

    @extend_schema(operation_id="list_judges", responses={200: JudgeOut(many=True), **_NOT_FOUND})
    def get(self, request: Request, slug: str) -> Reply:
        rows = judges_of(get_benchmark_for(request.user, slug))
        return Reply(
            [
                {
                    **{n: getattr(row, n) for n in ("name", "family", "model", "prompt_version", "extra_body")},
                    "person": row.person.get_username() if row.person else None,
                    "endpoint": row.endpoint.name if row.endpoint else None,
                    "runs": row.run_count,  # type: ignore[attr-defined]
                    "is_demo": bool(row.endpoint and row.endpoint.is_demo),
                }
                for row in rows
            ]
        )


class RunList(APIView):
    """The runs, the newest first; and launching one."""

    @extend_schema(operation_id="list_runs", parameters=_PAGING, responses={200: RunPageOut, **_NOT_FOUND})
    def get(self, request: Request, slug: str) -> Reply:
        benchmark = get_benchmark_for(request.user, slug)
        rows, following = _page(request, runs_of(benchmark), newest_first=True)
        for run in rows:
            run.benchmark = benchmark
        counts = status_counts(rows)
        return Reply({"next": following, "results": [_run(run, counts.get(run.pk, {})) for run in rows]})

    @extend_schema(operation_id="launch_run", request=LaunchIn, responses={201: RunDetailOut, **_NOT_FOUND, **_REFUSED})
    def post(self, request: Request, slug: str) -> Reply:
        benchmark = get_benchmark_for(request.user, slug)
        data = _launch(benchmark, _read(LaunchIn, request))
        run = actions.launch_run(benchmark, data, actor=_person(request))
        return Reply(_run_detail(run), status=201)


def _launch(benchmark: Benchmark, data: dict[str, Any]) -> dict[str, Any]:
    problems: list[dict[str, str]] = []
    judges = Judge.objects.filter(benchmark=benchmark).select_related("endpoint")
    systems = System.objects.filter(benchmark=benchmark).select_related("endpoint")
    found = {
        "release": _named(releases_of(benchmark), [data["release"]], "release", problems),
        "system": _named(systems, [data["system"]], "system", problems),
        "judges": _named(judges, list(dict.fromkeys(data["judges"])), "judges", problems),
        "main_judge": _named(judges, [data["main_judge"]] if "main_judge" in data else [], "main_judge", problems),
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

    @extend_schema(operation_id="get_run", responses={200: RunDetailOut, **_NOT_FOUND})
    def get(self, request: Request, slug: str, number: int) -> Reply:
        return Reply(_run_detail(get_run_for(request.user, slug, number)))


class RunMove(APIView):
    """What a POST does to the run; the reply is where it stands then."""

    def _answer(self, request: Request, slug: str, number: int) -> Reply:
        return Reply(_run_detail(get_run_for(request.user, slug, number)))


class RunPause(RunMove):
    @extend_schema(operation_id="pause_run", request=None, responses={200: RunDetailOut, **_NOT_FOUND, **_REFUSED})
    def post(self, request: Request, slug: str, number: int) -> Reply:
        """No new call starts; calls under way end and are kept."""
        actions.pause_run(get_run_for(request.user, slug, number), actor=_person(request))
        return self._answer(request, slug, number)


class RunResume(RunMove):
    @extend_schema(operation_id="resume_run", request=ResumeIn, responses={200: RunDetailOut, **_NOT_FOUND, **_REFUSED})
    def post(self, request: Request, slug: str, number: int) -> Reply:
        """Go on after a pause or a stop, with a higher budget where the old one is used up."""
        run = get_run_for(request.user, slug, number)
        actions.resume_run(run, actor=_person(request), budget=_read(ResumeIn, request).get("budget"))
        return self._answer(request, slug, number)


class RunCancel(RunMove):
    @extend_schema(operation_id="cancel_run", request=None, responses={200: RunDetailOut, **_NOT_FOUND, **_REFUSED})
    def post(self, request: Request, slug: str, number: int) -> Reply:
        """For good: what is open is cancelled, what is done stays."""
        actions.cancel_run(get_run_for(request.user, slug, number), actor=_person(request))
        return self._answer(request, slug, number)


class RunRetry(RunMove):
    @extend_schema(operation_id="retry_run", request=None, responses={200: RunDetailOut, **_NOT_FOUND, **_REFUSED})
    def post(self, request: Request, slug: str, number: int) -> Reply:
        """Try failed responses and verdicts again."""
        actions.retry_failed(get_run_for(request.user, slug, number), actor=_person(request))
        return self._answer(request, slug, number)


class ResponseList(APIView):
    """A run's responses with their texts."""

    @extend_schema(operation_id="list_responses", parameters=_PAGING, responses={200: ResponsePageOut, **_NOT_FOUND})
    def get(self, request: Request, slug: str, number: int) -> Reply:
        run = get_run_for(request.user, slug, number)
        rows = run.responses.annotate(item_number=F("release_item__item__number"), uid=F("release_item__uid"))
        page, following = _page(request, rows)
        return Reply({"next": following, "results": [_response(row) for row in page]})


class VerdictList(APIView):
    """A run's verdicts, of models and of people.

    Whoever may give verdicts is refused (403, `verdicts_hidden`) until they had them shown for the whole run: POST to
    `reveal/` below this address, after which verdicts of theirs are no longer blind.
    """

    @extend_schema(
        operation_id="list_verdicts",
        parameters=_PAGING,
        responses={200: VerdictPageOut, 403: _REFUSED[403], **_NOT_FOUND},
    )
    def get(self, request: Request, slug: str, number: int) -> Reply:
        run = get_run_for(request.user, slug, number)
        if may_record_verdict(request.user, run.benchmark) and not has_seen_verdicts(request.user, run):
            text = _(
                "You may give verdicts yourself, and reading the others' would make yours no longer blind. To read "
                "them all the same, POST to %s first."
            )
            address = reverse("api-reveal", args=[slug, number])
            raise NotAllowed(text % address, code="verdicts_hidden")
        page, following = _page(request, _verdicts(run))
        return Reply({"next": following, "results": [_verdict(row) for row in page]})


def _verdicts(run: Run) -> QuerySet[Verdict]:
    rows = run.verdicts.select_related("judge")
    return rows.annotate(item_number=F("response__release_item__item__number"), uid=F("response__release_item__uid"))


class VerdictReveal(APIView):
    """Have all verdicts of a run shown."""

    @extend_schema(operation_id="reveal_verdicts", request=None, responses={204: None, **_NOT_FOUND})
    def post(self, request: Request, slug: str, number: int) -> Reply:
        """It is recorded, once per person; verdicts that the person gives on this run later are not blind."""
        actions.reveal_verdicts(get_run_for(request.user, slug, number), actor=_person(request))
        return Reply(status=204)


class OwnVerdict(APIView):
    """The caller's own verdict on one response."""

    @extend_schema(
        operation_id="record_verdict", request=VerdictIn, responses={200: VerdictOut, **_NOT_FOUND, **_REFUSED}
    )
    def put(self, request: Request, slug: str, number: int, pk: int) -> Reply:
        """Give or replace it. It is blind when it is the first and the person had not the others' shown."""
        run = get_run_for(request.user, slug, number)
        response = get_response(run, pk)
        data = _read(VerdictIn, request)
        verdict = actions.record_human_verdict(
            response, data["answer_correct"], data["vector"], note=data["note"], actor=_person(request)
        )
        return Reply(_verdict(_verdicts(run).get(pk=verdict.pk)))


class Leaderboard(APIView):
    """The newest finished run of each system and condition on a release, by DACS, with 95% intervals."""

    @extend_schema(
        operation_id="get_leaderboard",
        parameters=[
            OpenApiParameter("release", str, description="Name; the newest without it."),
            OpenApiParameter("judge", str, description="Name; the main judge of most runs without it."),
            OpenApiParameter("condition", str, enum=Condition.values, description="Both without it."),
            OpenApiParameter("profile", str, enum=list(Profile), description="strict without it."),
        ],
        responses={200: LeaderboardOut, **_NOT_FOUND},
    )
    def get(self, request: Request, slug: str) -> Reply:
        benchmark = get_benchmark_for(request.user, slug)
        problems: list[dict[str, str]] = []
        releases, query = releases_of(benchmark), request.query_params
        named = _named(releases, [query["release"]], "release", problems) if query.get("release") else releases[:1]
        release = next(iter(named), None)
        judges = judges_on(release) if release else ()
        named = _named(judges, [query["judge"]], "judge", problems) if query.get("judge") else []
        if query.get("condition") and query["condition"] not in Condition.values:
            text = _("The condition is with_image or without_image.")
            problems.append({"path": "condition", "message": text})
        profile = query.get("profile") or Profile.STRICT
        if profile not in list(Profile):
            problems.append({"path": "profile", "message": _("The profile is strict or as-published.")})
        if problems:
            raise Invalid.of(problems)
        if release is None:
            return Reply({"release": None, "audited": None, "profile": profile, "n": 0, "judge": None, "runs": []})
        report = leaderboard(release, next(iter(named), None), Profile(profile))
        runs = [row for row in report["runs"] if query.get("condition") in (None, "", row["condition"])]
        head = {"release": release.name, "audited": release.audited, "profile": profile}
        return Reply({**head, "n": report["n"], "judge": report["judge"], "runs": runs})
