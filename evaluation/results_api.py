"""Responses, verdicts and the leaderboard over HTTP."""

from typing import Any

from django.db.models import F, QuerySet
from django.http import Http404
from django.urls import reverse
from django.utils.translation import gettext as _
from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response as Reply
from rest_framework.views import APIView

from annotation.benchmarks import get_benchmark_for
from lhdr_site.shared.api import LARGEST_KEY, NOT_FOUND, PAGING, page_of, person, read_body, whole_of
from lhdr_site.shared.errors import Invalid, NotAllowed

from . import marking_actions
from .analyses.choice import choose
from .analyses.registry import ANALYSES
from .api import RUN_REFUSED, named_rows
from .models import Condition, Response, Run, Verdict, Work
from .permissions import may_record_verdict
from .queries import get_response, get_run_for, has_seen_verdicts, judges_on, releases_of
from .reports import leaderboard
from .scoring.bootstrap import RESAMPLES, SEED
from .scoring.metrics import Profile
from .study_queries import studies_of

# --- what is sent and received, for the schema --------------------------------------------------------------------


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
    flags = serializers.ListField(child=serializers.CharField(), help_text="Signs that the system saw the data set.")
    finish_reason = serializers.CharField()
    error_kind = serializers.CharField()
    error = serializers.CharField()
    tries = serializers.IntegerField()
    carried_from = serializers.IntegerField(
        allow_null=True,
        help_text="pk of the response of an earlier release that it is a copy of; `cost` was paid then.",
    )
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
    flagged_steps = serializers.DictField(help_text="Flag -> numbers of the credited steps it is about.")
    repeat = serializers.IntegerField()
    unparseable = serializers.CharField(help_text="Why no verdict could be read; empty where one was.")
    output = serializers.CharField(help_text="What the judge printed.")
    identity = serializers.CharField(help_text="Hash of everything the verdict depends on.")
    carried_from = serializers.IntegerField(allow_null=True, help_text="pk of the verdict that it is a copy of.")
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
        help_text="system, group, condition, demo, samples, OA, SA, CS, DACS (fractions), ci, gaps, counts, attempted",
    )


# --- rows ---------------------------------------------------------------------------------------------------------


def _response(row: Response) -> dict[str, Any]:
    plain: tuple[str, ...] = (
        "pk",
        "sample",
        "status",
        "text",
        "thinking",
        "citations",
        "truncated",
        "flags",
        "finish_reason",
        "error_kind",
    )
    plain += ("error", "tries", "prompt_tokens", "completion_tokens", "cost", "ended")
    values = {name: getattr(row, name) for name in plain} | {"carried_from": row.carried_from_id}
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
        "flagged_steps",
        "repeat",
        "unparseable",
        "output",
        "identity",
    )
    plain += ("error_kind", "cost", "ended")
    return {
        **{name: getattr(row, name) for name in plain},
        "response": row.response_id,
        "carried_from": row.carried_from_id,
        "item": row.item_number,  # type: ignore[attr-defined]
        "id": row.uid,  # type: ignore[attr-defined]
        "judge": row.judge.name,
        "person": row.judge.person_id is not None,
    }


# --- addresses ----------------------------------------------------------------------------------------------------


class ResponseList(APIView):
    """A run's responses with their texts."""

    @extend_schema(operation_id="list_responses", parameters=PAGING, responses={200: ResponsePageOut, **NOT_FOUND})
    def get(self, request: Request, slug: str, number: int) -> Reply:
        run = get_run_for(request.user, slug, number)
        rows = run.responses.annotate(item_number=F("release_item__item__number"), uid=F("release_item__uid"))
        page, following = page_of(request, rows)
        return Reply({"next": following, "results": [_response(row) for row in page]})


class VerdictList(APIView):
    """A run's verdicts, of models and of people.

    Whoever may give verdicts is refused (403, `verdicts_hidden`) until they had them shown for the whole run: POST to
    `reveal/` below this address, after which verdicts of theirs are no longer blind.
    """

    @extend_schema(
        operation_id="list_verdicts",
        parameters=PAGING,
        responses={200: VerdictPageOut, 403: RUN_REFUSED[403], **NOT_FOUND},
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
        page, following = page_of(request, _verdicts(run))
        return Reply({"next": following, "results": [_verdict(row) for row in page]})


def _verdicts(run: Run) -> QuerySet[Verdict]:
    rows = run.verdicts.select_related("judge")
    return rows.annotate(item_number=F("response__release_item__item__number"), uid=F("response__release_item__uid"))


class VerdictReveal(APIView):
    """Have all verdicts of a run shown."""

    @extend_schema(operation_id="reveal_verdicts", request=None, responses={204: None, **NOT_FOUND})
    def post(self, request: Request, slug: str, number: int) -> Reply:
        """It is recorded, once per person; verdicts that the person gives on this run later are not blind."""
        marking_actions.reveal_verdicts(get_run_for(request.user, slug, number), actor=person(request))
        return Reply(status=204)


class OwnVerdict(APIView):
    """The caller's own verdict on one response."""

    @extend_schema(
        operation_id="record_verdict", request=VerdictIn, responses={200: VerdictOut, **NOT_FOUND, **RUN_REFUSED}
    )
    def put(self, request: Request, slug: str, number: int, pk: int) -> Reply:
        """Give or replace it. It is blind when it is the first and the person had not the others' shown."""
        run = get_run_for(request.user, slug, number)
        response = get_response(run, pk)
        data = read_body(VerdictIn, request)
        verdict = marking_actions.record_human_verdict(
            response, data["answer_correct"], data["vector"], note=data["note"], actor=person(request)
        )
        return Reply(_verdict(_verdicts(run).get(pk=verdict.pk)))


def _known(request: Request, *names: str) -> None:
    """Raises Invalid for a query with other names: figures must not rest on what a misspelt one did not say."""
    text = _("There is no such parameter; there are: %s.") % ", ".join(names)
    problems = [{"path": name, "message": text} for name in request.query_params if name not in (*names, "format")]
    if problems:
        raise Invalid.of(problems)


class Leaderboard(APIView):
    """The newest finished run of each system and condition on a release, or in a study, by DACS, with 95% intervals."""

    @extend_schema(
        operation_id="get_leaderboard",
        parameters=[
            OpenApiParameter("release", str, description="Name; the newest without it."),
            OpenApiParameter("study", int, description="Number; its runs alone, under its main judge, on its release."),
            OpenApiParameter("judge", str, description="Name; the main judge of most runs without it."),
            OpenApiParameter("condition", str, enum=Condition.values, description="Both without it."),
            OpenApiParameter("profile", str, enum=list(Profile), description="strict without it."),
        ],
        responses={200: LeaderboardOut, **NOT_FOUND},
    )
    def get(self, request: Request, slug: str) -> Reply:
        benchmark = get_benchmark_for(request.user, slug)
        _known(request, "release", "study", "judge", "condition", "profile")
        problems: list[dict[str, str]] = []
        releases, query = releases_of(benchmark), request.query_params
        number = whole_of(request, "study", 0, largest=LARGEST_KEY)
        study = studies_of(benchmark).filter(number=number).first() if number else None
        if number and study is None:
            problems.append({"path": "study", "message": _("There is no study %d here.") % number})
        named = named_rows(releases, [query["release"]], "release", problems) if query.get("release") else releases[:1]
        release = next(iter(named), None)
        if study and query.get("release") and release != study.release:
            problems.append({"path": "release", "message": _("The study is on release %s.") % study.release.name})
        release = study.release if study else release
        judges = judges_on(release) if release else ()
        named = named_rows(judges, [query["judge"]], "judge", problems) if query.get("judge") else []
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
        report = leaderboard(release, next(iter(named), None), Profile(profile), study)
        runs = [row for row in report["runs"] if query.get("condition") in (None, "", row["condition"])]
        head = {"release": release.name, "audited": release.audited, "profile": profile}
        return Reply({**head, "n": report["n"], "judge": report["judge"], "runs": runs})


class AnalysisOut(serializers.Serializer[Any]):
    release = serializers.CharField(allow_null=True)
    judge = serializers.CharField(allow_null=True)
    profile = serializers.ChoiceField(choices=list(Profile))
    runs = serializers.ListField(child=serializers.IntegerField(), help_text="Numbers of the runs it rests on.")
    tables = serializers.ListField(
        child=serializers.DictField(), help_text="key, title, columns, rows (null is undefined), note, picture."
    )
    used = serializers.IntegerField(help_text="Judged responses that the figures rest on; of the data set, items.")
    missing = serializers.ListField(child=serializers.CharField(), help_text="What is lacking, in sentences.")
    warnings = serializers.ListField(child=serializers.CharField())
    seed = serializers.IntegerField()
    resamples = serializers.IntegerField()
    version = serializers.CharField(help_text="Of the code.")
    hash = serializers.CharField(help_text="Of everything the figures rest on.")


class AnalysisDetail(APIView):
    """One analysis of results, as its page shows it."""

    @extend_schema(
        operation_id="get_analysis",
        parameters=[
            OpenApiParameter("release", str, description="Name; the newest without it."),
            OpenApiParameter("study", int, description="Number: only its runs."),
            OpenApiParameter("judge", str, description="Name; the main judge of most runs without it."),
            OpenApiParameter("condition", str, enum=Condition.values, description="with_image without it."),
            OpenApiParameter("profile", str, enum=list(Profile), description="strict without it."),
            OpenApiParameter("run", int, many=True, description="Numbers; the newest of each system without them."),
        ],
        responses={200: AnalysisOut, **NOT_FOUND},
    )
    def get(self, request: Request, slug: str, key: str) -> Reply:
        benchmark = get_benchmark_for(request.user, slug)
        if key not in ANALYSES:
            raise Http404
        _known(request, "release", "study", "judge", "condition", "profile", "run")
        choice = choose(benchmark, ANALYSES[key], request.query_params)
        if choice.left_aside:
            text = _("The study is on release %s.") % choice.left_aside.release.name
            choice.problems.append({"path": "release", "message": text})
        if choice.problems:
            raise Invalid.of(choice.problems)
        head = {
            "release": choice.release.name if choice.release else None,
            "judge": choice.judge.name if choice.judge else None,
            "profile": choice.profile,
            "runs": [run.number for run in choice.runs],
        }
        if choice.release is None:
            nothing = {"tables": [], "used": 0, "missing": [_("There is no release yet.")], "warnings": []}
            return Reply({**head, **nothing, "seed": SEED, "resamples": RESAMPLES, "version": "", "hash": ""})
        analysed = choice.analysed()
        options = {"seed": analysed.options.seed, "resamples": analysed.options.resamples}
        return Reply(
            {**head, **analysed.result.to_json(), **options, "version": analysed.version, "hash": analysed.hash}
        )
