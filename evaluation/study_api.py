"""Studies over HTTP: planning, what is done and what lacks, filling, steering, freezing."""

from collections.abc import Callable
from decimal import Decimal
from typing import Any

from django.urls import reverse
from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response as Reply
from rest_framework.views import APIView

from annotation.benchmarks import Benchmark, get_benchmark_for
from lhdr_site.shared.api import NOT_FOUND, PAGING, REFUSED, error, page_of, page_out, person, read_body
from lhdr_site.shared.errors import Invalid

from . import study_actions
from .api import LaunchChecksOut, checked, named_rows
from .models import MOST_TIMES, Condition, Judge, RunState, Study, System
from .preflight import check_study
from .queries import releases_of
from .study_queries import TO_ASK, UNDER_WAY, Cell, Line, Matrix, get_study_for, lines_of, studies_of

STATES = "frozen, running, paused, stopped, planned, complete, holes"


class PlanIn(serializers.Serializer[Any]):
    """Everything is optional where a plan is changed."""

    name = serializers.CharField(max_length=120)
    systems = serializers.ListField(
        child=serializers.CharField(max_length=80), allow_empty=False, max_length=200, help_text="Names."
    )
    judges = serializers.ListField(
        child=serializers.CharField(max_length=80), allow_empty=False, max_length=50, help_text="Names."
    )
    main_judge = serializers.CharField(max_length=80, required=False, help_text="The first of judges if left out.")
    conditions = serializers.ListField(
        child=serializers.ChoiceField(choices=Condition.values), allow_empty=False, max_length=2, required=False
    )
    samples = serializers.IntegerField(min_value=1, max_value=MOST_TIMES, required=False, help_text="Per item.")
    repeats = serializers.IntegerField(
        min_value=1, max_value=MOST_TIMES, required=False, help_text="Verdicts per judge on each response."
    )
    concurrency = serializers.IntegerField(min_value=1, max_value=1000, required=False, help_text="Per run.")
    budget = serializers.DecimalField(
        max_digits=10,
        decimal_places=2,
        min_value=Decimal("0.01"),
        required=False,
        allow_null=True,
        help_text="USD, over all runs together; null for none.",
    )
    token_budget = serializers.IntegerField(min_value=1, max_value=2**53, required=False, allow_null=True)
    note = serializers.CharField(required=False, allow_blank=True, max_length=10_000)


class StudyIn(PlanIn):
    release = serializers.CharField(max_length=50, help_text="Name.")


class StudyOut(serializers.Serializer[Any]):
    number = serializers.IntegerField()
    name = serializers.CharField()
    release = serializers.CharField()
    audited = serializers.BooleanField(help_text="Of the release.")
    state = serializers.CharField(help_text=f"{STATES}; in the list, ended stands for complete and holes.")
    main_judge = serializers.CharField()
    conditions = serializers.ListField(child=serializers.CharField())
    samples = serializers.IntegerField()
    repeats = serializers.IntegerField()
    concurrency = serializers.IntegerField()
    budget = serializers.DecimalField(max_digits=10, decimal_places=2, allow_null=True)
    token_budget = serializers.IntegerField(allow_null=True)
    spent = serializers.DecimalField(max_digits=12, decimal_places=6, help_text="The known costs of its runs, USD.")
    note = serializers.CharField()
    created_by = serializers.CharField()
    created = serializers.DateTimeField()
    frozen = serializers.DateTimeField(allow_null=True)
    url = serializers.CharField()


class HoleOut(serializers.Serializer[Any]):
    why = serializers.ChoiceField(choices=[*TO_ASK, *UNDER_WAY])
    count = serializers.IntegerField()
    kind = serializers.CharField(help_text="Of error, where they failed.")


class CellOut(serializers.Serializer[Any]):
    total = serializers.IntegerField(help_text="Planned.")
    done = serializers.IntegerField()
    holes = HoleOut(many=True)


class RowOut(serializers.Serializer[Any]):
    system = serializers.CharField()
    condition = serializers.ChoiceField(choices=Condition.values)
    run = serializers.IntegerField(allow_null=True, help_text="Number; null before it is launched.")
    run_state = serializers.ChoiceField(choices=RunState.values, allow_null=True)
    responses = CellOut()
    verdicts = serializers.DictField(child=CellOut(), help_text="By judge.")


class EstimateOut(serializers.Serializer[Any]):
    runs = serializers.IntegerField(help_text="To launch.")
    responses = serializers.IntegerField()
    verdicts = serializers.IntegerField()
    cost = serializers.DecimalField(
        max_digits=12, decimal_places=6, help_text="As such calls have cost, USD; carry-over aside."
    )
    unknown = serializers.IntegerField(help_text="Calls whose like has no known cost; `cost` does not hold them.")


class StudyDetailOut(StudyOut):
    systems = serializers.ListField(child=serializers.CharField())
    judges = serializers.ListField(child=serializers.CharField())
    tokens = serializers.IntegerField()
    unpriced = serializers.IntegerField(help_text="Calls of unknown cost, which `spent` does not hold.")
    is_complete = serializers.BooleanField()
    responses = CellOut()
    verdicts = CellOut()
    matrix = RowOut(many=True)
    to_fill = EstimateOut(help_text="What filling the holes would ask for.")


class NothingIn(serializers.Serializer[Any]):
    """No field: a budget, say, that is sent along is refused instead of overlooked."""


class FilledOut(serializers.Serializer[Any]):
    launched = serializers.ListField(child=serializers.IntegerField(), help_text="Numbers of runs.")
    resumed = serializers.IntegerField()
    responses = serializers.IntegerField(help_text="Asked for in runs that were there.")
    verdicts = serializers.IntegerField()
    refused = serializers.ListField(child=serializers.DictField(), help_text="system, condition and why.")


STUDY_REFUSED = {**REFUSED, 409: error("Its runs are in other states by now, or it is frozen.")}
STUDY_MOVED = {200: StudyDetailOut, **NOT_FOUND, **STUDY_REFUSED}


# --- rows ---------------------------------------------------------------------------------------------------------


def _study(study: Study, state: str, spent: Decimal) -> dict[str, Any]:
    plain = ("number", "name", "conditions", "samples", "repeats", "concurrency", "budget", "token_budget", "note")
    return {
        **{name: getattr(study, name) for name in (*plain, "created", "frozen")},
        "release": study.release.name,
        "audited": study.release.audited,
        "state": state,
        "main_judge": study.main_judge.name,
        "spent": spent,
        "created_by": study.created_by.get_username(),
        "url": reverse("api-study", args=[study.benchmark.slug, study.number]),
    }


def _line(line: Line, benchmark: Benchmark) -> dict[str, Any]:
    line.study.benchmark = benchmark
    return _study(line.study, line.state, line.spent)


def _cell(cell: Cell) -> dict[str, Any]:
    holes = [{"why": hole.why, "count": hole.count, "kind": hole.kind} for hole in cell.holes]
    return {"total": cell.total, "done": cell.done, "holes": holes}


def _detail(study: Study) -> dict[str, Any]:
    matrix = Matrix(study)
    return {
        **_study(study, matrix.state, matrix.spent),
        "systems": list(dict.fromkeys(row.system.name for row in matrix.rows)),
        "judges": [judge.name for judge in matrix.judges],
        "tokens": matrix.tokens,
        "unpriced": matrix.unpriced,
        "is_complete": matrix.is_complete,
        "responses": _cell(matrix.responses),
        "verdicts": _cell(matrix.verdicts),
        "matrix": [
            {
                "system": row.system.name,
                "condition": row.condition,
                "run": row.run.number if row.run else None,
                "run_state": row.run.state if row.run else None,
                "responses": _cell(row.responses),
                "verdicts": {judge.name: _cell(cell) for judge, cell in row.named_cells},
            }
            for row in matrix.rows
        ],
        "to_fill": matrix.estimate._asdict(),
    }


def _plan(benchmark: Benchmark, data: dict[str, Any]) -> dict[str, Any]:
    """The body with rows in place of names."""
    problems: list[dict[str, str]] = []
    judges = Judge.objects.filter(benchmark=benchmark).select_related("endpoint")
    systems = System.objects.filter(benchmark=benchmark).select_related("endpoint")
    plan = dict(data)
    for name, rows in (("systems", systems), ("judges", judges)):
        if name in data:
            plan[name] = named_rows(rows, list(dict.fromkeys(data[name])), name, problems)
    for name, one_of in (("release", releases_of(benchmark)), ("main_judge", judges)):
        if name in data:
            plan[name] = next(iter(named_rows(one_of, [data[name]], name, problems)), None)
    if problems:
        raise Invalid.of(problems)
    return plan


# --- addresses ----------------------------------------------------------------------------------------------------


class StudyList(APIView):
    """The studies, the newest first; and planning one."""

    @extend_schema(operation_id="list_studies", parameters=PAGING, responses={200: page_out(StudyOut), **NOT_FOUND})
    def get(self, request: Request, slug: str) -> Reply:
        benchmark = get_benchmark_for(request.user, slug)
        rows, following = page_of(request, studies_of(benchmark), newest_first=True)
        return Reply({"next": following, "results": [_line(line, benchmark) for line in lines_of(rows)]})

    @extend_schema(
        operation_id="create_study", request=StudyIn, responses={201: StudyDetailOut, **NOT_FOUND, **STUDY_REFUSED}
    )
    def post(self, request: Request, slug: str) -> Reply:
        """Nothing is asked before its holes are filled."""
        benchmark = get_benchmark_for(request.user, slug)
        data = _plan(benchmark, read_body(StudyIn, request))
        return Reply(_detail(study_actions.create_study(benchmark, data, actor=person(request))), status=201)


class StudyDetail(APIView):
    """One study: its plan, what is done of it, what lacks and why."""

    @extend_schema(operation_id="get_study", responses={200: StudyDetailOut, **NOT_FOUND})
    def get(self, request: Request, slug: str, number: int) -> Reply:
        return Reply(_detail(get_study_for(request.user, slug, number)))

    @extend_schema(
        operation_id="change_study", request=PlanIn, responses={200: StudyDetailOut, **NOT_FOUND, **STUDY_REFUSED}
    )
    def patch(self, request: Request, slug: str, number: int) -> Reply:
        """Change what the body names of the plan; what has worked in the study stays in it."""
        study = get_study_for(request.user, slug, number)
        data = _plan(study.benchmark, read_body(PlanIn, request, partial=True))
        return Reply(_detail(study_actions.change_study(study, data, actor=person(request))))


class StudyCheck(APIView):
    """Looking before a study is filled."""

    @extend_schema(
        operation_id="check_study", request=None, responses={200: LaunchChecksOut, **NOT_FOUND, **STUDY_REFUSED}
    )
    def post(self, request: Request, slug: str, number: int) -> Reply:
        """What stands in the way of its whole plan. Launches nothing; each judge is called once."""
        return checked(check_study(get_study_for(request.user, slug, number), actor=person(request)))


class StudyFill(APIView):
    """Filling the holes of a study."""

    @extend_schema(operation_id="fill_study", request=None, responses={200: FilledOut, **NOT_FOUND, **STUDY_REFUSED})
    def post(self, request: Request, slug: str, number: int) -> Reply:
        """Launch what was never launched, ask again for what failed or could not be read; nothing that is there."""
        filled = study_actions.fill_holes(get_study_for(request.user, slug, number), actor=person(request))
        refused = [{"system": system, "condition": condition, "why": why} for system, condition, why in filled.refused]
        return Reply({**filled._asdict(), "refused": refused})


class StudyMove(APIView):
    """What a POST does to all runs of a study; the reply is where it stands then."""

    def _move(self, request: Request, slug: str, number: int, act: Callable[..., Any]) -> Reply:
        study = get_study_for(request.user, slug, number)
        read_body(NothingIn, request)
        act(study, actor=person(request))
        return Reply(_detail(get_study_for(request.user, slug, number)))


class StudyPause(StudyMove):
    @extend_schema(operation_id="pause_study", request=None, responses=STUDY_MOVED)
    def post(self, request: Request, slug: str, number: int) -> Reply:
        """No new call starts in any of its runs; calls under way end and are kept."""
        return self._move(request, slug, number, study_actions.pause_study)


class StudyResume(StudyMove):
    @extend_schema(operation_id="resume_study", request=None, responses=STUDY_MOVED)
    def post(self, request: Request, slug: str, number: int) -> Reply:
        """Every run that is paused or stopped goes on, or none where one of them may not; 422 where the study's budget
        is used up, which changing its plan raises."""
        return self._move(request, slug, number, study_actions.resume_study)


class StudyCancel(StudyMove):
    @extend_schema(operation_id="cancel_study", request=None, responses=STUDY_MOVED)
    def post(self, request: Request, slug: str, number: int) -> Reply:
        """For good: what is open in any of its runs is cancelled, what is done stays."""
        return self._move(request, slug, number, study_actions.cancel_study)


class StudyFreeze(APIView):
    """Freezing a study."""

    @extend_schema(
        operation_id="freeze_study", request=None, responses={200: StudyDetailOut, **NOT_FOUND, **STUDY_REFUSED}
    )
    def post(self, request: Request, slug: str, number: int) -> Reply:
        """For good: nothing of the study or its runs changes any more."""
        study_actions.freeze_study(get_study_for(request.user, slug, number), actor=person(request))
        return Reply(_detail(get_study_for(request.user, slug, number)))
