"""Marking by people over HTTP: the plans with their progress, and drawing one."""

import secrets
from typing import Any

from django.utils.translation import gettext as _
from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response as Reply
from rest_framework.views import APIView

from annotation.benchmarks import Benchmark, get_benchmark_for
from lhdr_site.shared.api import NOT_FOUND, PAGING, REFUSED, page_of, page_out, person, read_body
from lhdr_site.shared.errors import Invalid

from .marking import PersonProgress, get_plan, plans_of, progress_of
from .marking_actions import LARGEST_SEED, plan_marking
from .models import MarkingPlan, Run, Study

LARGEST_NUMBER = 2**31 - 1
METHODS = [method for method in MarkingPlan.Method.values if method != MarkingPlan.Method.HANDED]


class MarkingIn(serializers.Serializer[Any]):
    run = serializers.IntegerField(min_value=1, max_value=LARGEST_NUMBER, required=False, help_text="Its number; or:")
    study = serializers.IntegerField(min_value=1, max_value=LARGEST_NUMBER, required=False, help_text="Its number.")
    method = serializers.ChoiceField(choices=METHODS, default=MarkingPlan.Method.RANDOM)
    size = serializers.IntegerField(
        min_value=1, max_value=LARGEST_NUMBER, default=30, help_text="At most; fewer where there are fewer of the kind."
    )
    seed = serializers.IntegerField(
        min_value=0, max_value=LARGEST_SEED, required=False, help_text="By chance if left out; it is in the answer."
    )


class MarkedOut(serializers.Serializer[Any]):
    judge = serializers.CharField(help_text="Who stands for the person in verdicts and results.")
    person = serializers.CharField(help_text="User name.")
    done = serializers.IntegerField()


class MarkingOut(serializers.Serializer[Any]):
    number = serializers.IntegerField()
    run = serializers.IntegerField(allow_null=True)
    study = serializers.IntegerField(allow_null=True)
    method = serializers.ChoiceField(choices=MarkingPlan.Method.values)
    size = serializers.IntegerField(help_text="As asked for.")
    seed = serializers.IntegerField()
    responses = serializers.IntegerField(help_text="To mark.")
    progress = MarkedOut(many=True, help_text="Who marked how many of them, the most first.")
    created_by = serializers.CharField()
    created = serializers.DateTimeField()


def _plan(plan: MarkingPlan, progress: list[PersonProgress]) -> dict[str, Any]:
    people = [(row.judge, row.judge.person, row.done) for row in progress]
    return {
        **{name: getattr(plan, name) for name in ("number", "method", "size", "seed", "created")},
        "run": plan.run.number if plan.run else None,
        "study": plan.study.number if plan.study else None,
        "responses": plan.task_count,  # type: ignore[attr-defined]  # annotated
        "progress": [
            {"judge": judge.name, "person": who.get_username(), "done": done} for judge, who, done in people if who
        ],
        "created_by": plan.created_by.get_username(),
    }


def _target(benchmark: Benchmark, data: dict[str, Any]) -> Run | Study:
    """The run or study that a body names, and takes out of it. Raises Invalid unless it is one that is there."""
    given = {path: data.pop(path) for path in ("run", "study") if path in data}
    if len(given) != 1:
        raise Invalid.at("run", _("Give the number of a run or that of a study, and not both."))
    [(path, number)] = given.items()
    rows: Any = benchmark.runs if path == "run" else benchmark.studies
    target: Run | Study | None = rows.filter(number=number).select_related("benchmark").first()
    if target is None:
        raise Invalid.at(path, _("There is none with the number %d here.") % number)
    return target


class MarkingList(APIView):
    """The plans of what people mark, the newest first; and drawing one."""

    @extend_schema(
        operation_id="list_marking_plans", parameters=PAGING, responses={200: page_out(MarkingOut), **NOT_FOUND}
    )
    def get(self, request: Request, slug: str) -> Reply:
        plans, following = page_of(request, plans_of(get_benchmark_for(request.user, slug)), newest_first=True)
        progress = progress_of(plans)
        return Reply({"next": following, "results": [_plan(plan, progress.get(plan.pk, [])) for plan in plans]})

    @extend_schema(operation_id="plan_marking", request=MarkingIn, responses={201: MarkingOut, **NOT_FOUND, **REFUSED})
    def post(self, request: Request, slug: str) -> Reply:
        """Draw completed responses of a run or a study; every person marks the same, in this order."""
        benchmark = get_benchmark_for(request.user, slug)
        data = {"seed": secrets.randbelow(10**6), **read_body(MarkingIn, request)}
        plan = plan_marking(_target(benchmark, data), **data, actor=person(request))
        return Reply(_plan(get_plan(benchmark, plan.number), []), status=201)


class MarkingDetail(APIView):
    """One plan, and who marked how many of its responses."""

    @extend_schema(operation_id="get_marking_plan", responses={200: MarkingOut, **NOT_FOUND})
    def get(self, request: Request, slug: str, number: int) -> Reply:
        plan = get_plan(get_benchmark_for(request.user, slug), number)
        return Reply(_plan(plan, progress_of([plan]).get(plan.pk, [])))
