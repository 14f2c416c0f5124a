"""Judge drift over HTTP: the anchors of a benchmark, and having a judge asked again about them."""

import secrets
from typing import Any

from django.shortcuts import get_object_or_404
from django.utils.translation import gettext as _
from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response as Reply
from rest_framework.views import APIView

from annotation.benchmarks import get_benchmark_for
from lhdr_site.shared.api import NOT_FOUND, PAGING, page_of, page_out, person, read_body
from lhdr_site.shared.errors import Invalid

from .actions import measure_drift
from .api import RUN_REFUSED
from .drift import DriftRow, anchors_of, drift_anchors, drift_of
from .judging_actions import draw_anchors, set_anchor
from .marking_actions import LARGEST_SEED
from .models import Anchor, Judge
from .queries import get_response, get_run_for, judges_of

MOST_DRAWN = 500


class AnchorOut(serializers.Serializer[Any]):
    response = serializers.IntegerField()
    run = serializers.IntegerField(help_text="Number of the run.")
    system = serializers.CharField()
    item = serializers.IntegerField(help_text="Number of the item.")
    sample = serializers.IntegerField()
    added_by = serializers.CharField()
    created = serializers.DateTimeField()


class AnchorDrawIn(serializers.Serializer[Any]):
    run = serializers.IntegerField(min_value=1, max_value=2**31 - 1, help_text="Its number.")
    size = serializers.IntegerField(min_value=1, max_value=MOST_DRAWN, default=20)
    seed = serializers.IntegerField(
        min_value=0, max_value=LARGEST_SEED, required=False, help_text="By chance if left out; it is in the answer."
    )


class AnchorsDrawnOut(serializers.Serializer[Any]):
    drawn = serializers.IntegerField(help_text="Responses that are anchors now and were none.")
    seed = serializers.IntegerField()


class AnchorSetOut(serializers.Serializer[Any]):
    response = serializers.IntegerField()
    is_anchor = serializers.BooleanField()


class DriftRowOut(serializers.Serializer[Any]):
    measurement = serializers.IntegerField(allow_null=True, help_text="null: the first verdicts, compared with.")
    when = serializers.DateTimeField(allow_null=True)
    created_by = serializers.CharField(allow_null=True)
    asked = serializers.IntegerField()
    read = serializers.IntegerField(help_text="Verdicts that could be read.")
    open = serializers.IntegerField(help_text="Still to come.")
    answers = serializers.FloatField(allow_null=True, help_text="Share of answers marked correct.")
    steps = serializers.FloatField(allow_null=True, help_text="Share of steps marked stated.")
    flips = serializers.IntegerField(help_text="Responses whose verdict differs from the first one.")
    answer_flips = serializers.IntegerField(help_text="Of these, those whose answer is marked otherwise.")


class DriftOut(serializers.Serializer[Any]):
    judge = serializers.CharField()
    anchors = serializers.IntegerField(help_text="Those that the judge would be asked about again now.")
    rows = DriftRowOut(many=True, help_text="In order of time; the first verdicts come first.")


def _anchor(anchor: Anchor) -> dict[str, Any]:
    response = anchor.response
    return {
        "response": response.pk,
        "run": response.run.number,
        "system": response.run.system.name,
        "item": anchor.item_number,  # type: ignore[attr-defined]  # annotated
        "sample": response.sample,
        "added_by": anchor.added_by.get_username(),
        "created": anchor.created,
    }


def _row(row: DriftRow) -> dict[str, Any]:
    made = row.measurement
    names = ("when", "asked", "read", "open", "answers", "steps", "flips", "answer_flips")
    return {
        "measurement": made.pk if made else None,
        "created_by": made.created_by.get_username() if made else None,
        **{name: getattr(row, name) for name in names},
    }


class AnchorList(APIView):
    """The responses that judges are shown again to see whether they changed; and drawing some."""

    @extend_schema(operation_id="list_anchors", parameters=PAGING, responses={200: page_out(AnchorOut), **NOT_FOUND})
    def get(self, request: Request, slug: str) -> Reply:
        page, following = page_of(request, anchors_of(get_benchmark_for(request.user, slug)))
        return Reply({"next": following, "results": [_anchor(anchor) for anchor in page]})

    @extend_schema(
        operation_id="draw_anchors", request=AnchorDrawIn, responses={201: AnchorsDrawnOut, **NOT_FOUND, **RUN_REFUSED}
    )
    def post(self, request: Request, slug: str) -> Reply:
        """Make completed responses of a run anchors, drawn among those that are none yet."""
        benchmark = get_benchmark_for(request.user, slug)
        data = {"seed": secrets.randbelow(10**6), **read_body(AnchorDrawIn, request)}
        run = benchmark.runs.filter(number=data["run"]).first()
        if run is None:
            raise Invalid.at("run", _("There is none with the number %d here.") % data["run"])
        drawn = draw_anchors(run, data["size"], data["seed"], actor=person(request))
        return Reply({"drawn": drawn, "seed": data["seed"]}, status=201)


class AnchorSet(APIView):
    """Whether one response is an anchor."""

    @extend_schema(operation_id="set_anchor", request=None, responses={200: AnchorSetOut, **NOT_FOUND, **RUN_REFUSED})
    def put(self, request: Request, slug: str, number: int, pk: int) -> Reply:
        """Make a completed response an anchor; harmless where it is one."""
        return self._set(request, slug, number, pk, True)

    @extend_schema(
        operation_id="release_anchor", request=None, responses={200: AnchorSetOut, **NOT_FOUND, **RUN_REFUSED}
    )
    def delete(self, request: Request, slug: str, number: int, pk: int) -> Reply:
        """It is no anchor any more; verdicts of earlier measurements stay."""
        return self._set(request, slug, number, pk, False)

    def _set(self, request: Request, slug: str, number: int, pk: int, is_anchor: bool) -> Reply:
        set_anchor(get_response(get_run_for(request.user, slug, number), pk), is_anchor, actor=person(request))
        return Reply({"response": pk, "is_anchor": is_anchor})


class JudgeDrift(APIView):
    """How a judge's verdicts on the anchors moved, and measuring it once more."""

    @extend_schema(operation_id="get_drift", responses={200: DriftOut, **NOT_FOUND})
    def get(self, request: Request, slug: str, pk: int) -> Reply:
        return Reply(_drift(_judge(request, slug, pk)))

    @extend_schema(operation_id="measure_drift", request=None, responses={202: DriftOut, **NOT_FOUND, **RUN_REFUSED})
    def post(self, request: Request, slug: str, pk: int) -> Reply:
        """Have it judge the anchors again that it judged before. No system is asked; no result changes."""
        judge = _judge(request, slug, pk)
        measure_drift(judge, actor=person(request))
        return Reply(_drift(judge), status=202)


def _judge(request: Request, slug: str, pk: int) -> Judge:
    benchmark = get_benchmark_for(request.user, slug)
    judge = get_object_or_404(judges_of(benchmark), pk=pk)
    judge.benchmark = benchmark
    return judge


def _drift(judge: Judge) -> dict[str, Any]:
    anchors = sum(map(len, drift_anchors(judge).values()))
    return {"judge": judge.name, "anchors": anchors, "rows": [_row(row) for row in drift_of(judge)]}
