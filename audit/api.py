"""The audit over HTTP: moves, answers and ticks. The same actions and errors as the pages."""

from typing import Any

from django.utils.translation import gettext as _
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from annotation.benchmarks import Item, get_item_for
from annotation.states import State
from lhdr_site.shared.api import person, read_body
from lhdr_site.shared.errors import Invalid

from . import actions
from .models import CriterionResult, ReturnPoint
from .permissions import is_possible, require_not_blind, standing_of
from .queries import gate_statuses, latest_results, latest_ticks, transitions_of
from .return_actions import answer_point, judge_point
from .return_queries import points_of
from .workflow import CRITERIA, PHASE_OF_CRITERION, Move, is_fresh

MOVES = [move.value for move in Move if move is not Move.LOCK_IMPORTED]


class PointInput(serializers.Serializer[Any]):
    text = serializers.CharField(max_length=4000)
    anchor = serializers.CharField(
        required=False, default="", allow_blank=True, max_length=100, help_text="A section or an element; “” is all."
    )
    criterion = serializers.CharField(required=False, default="", allow_blank=True, max_length=40)


class MoveInput(serializers.Serializer[Any]):
    move = serializers.ChoiceField(choices=MOVES)
    hash = serializers.CharField(required=False, default="", help_text="The document's hash that was seen.")
    reason = serializers.CharField(required=False, default="", allow_blank=True)
    points = PointInput(many=True, required=False, default=list, help_text="What to mend, when it is returned.")
    calibrate = serializers.BooleanField(required=False, default=True, help_text="When phase 1 is passed.")


class CriterionInput(serializers.Serializer[Any]):
    criterion = serializers.CharField(max_length=40)
    rating = serializers.IntegerField(min_value=1, max_value=5)
    passed = serializers.BooleanField()
    comment = serializers.CharField(required=False, default="", allow_blank=True)
    hash = serializers.CharField()


class TickInput(serializers.Serializer[Any]):
    element = serializers.CharField(max_length=40, help_text="A key of the document, or “answer”.")
    supported = serializers.BooleanField()
    comment = serializers.CharField(required=False, default="", allow_blank=True)
    hash = serializers.CharField()


def _standing(item: Item, user: Any) -> dict[str, Any]:
    standing = standing_of(user, item)
    return {
        "number": item.number,
        "state": item.state,
        "hash": item.document_hash,
        "revision": item.revision_number,
        "gates": gate_statuses(item),
        "moves": [name for name in MOVES if is_possible(user, item, Move(name), standing=standing)],
    }


class MoveView(APIView):
    """What may be done with an item, what was done, and doing it."""

    @extend_schema(operation_id="item_moves", responses=OpenApiTypes.OBJECT)
    def get(self, request: Request, slug: str, number: int) -> Response:
        item = get_item_for(request.user, slug, number)
        require_not_blind(request.user, item)
        history = [
            {
                "move": row.move,
                "from": row.from_state,
                "to": row.to_state,
                "actor": row.actor.get_username() if row.actor else None,
                "reason": row.reason,
                "revision": row.revision_number,  # type: ignore[attr-defined]
                "at": row.created,
            }
            for row in transitions_of(item)
        ]
        return Response({**_standing(item, request.user), "history": history})

    @extend_schema(operation_id="move_item", request=MoveInput, responses=OpenApiTypes.OBJECT)
    def post(self, request: Request, slug: str, number: int) -> Response:
        item = get_item_for(request.user, slug, number)
        data = read_body(MoveInput, request)
        after = actions.make_move(
            item,
            data["move"],
            document_hash=data["hash"],
            reason=data["reason"],
            points=data["points"],
            calibrate=data["calibrate"],
            actor=person(request),
        )
        return Response({**_standing(after, request.user), "state": State(after.state).value})


class CriteriaView(APIView):
    """The latest answer to each criterion, and giving one."""

    @extend_schema(operation_id="item_criteria", responses=OpenApiTypes.OBJECT)
    def get(self, request: Request, slug: str, number: int) -> Response:
        item = get_item_for(request.user, slug, number)
        require_not_blind(request.user, item)
        rows = latest_results(item)
        return Response(
            {"hash": item.document_hash, "criteria": [_result(rows[c], item) for c in CRITERIA if c in rows]}
        )

    @extend_schema(operation_id="record_criterion", request=CriterionInput, responses={201: OpenApiTypes.OBJECT})
    def post(self, request: Request, slug: str, number: int) -> Response:
        item = get_item_for(request.user, slug, number)
        data = read_body(CriterionInput, request)
        actions.record_criterion(
            item,
            data["criterion"],
            data["hash"],
            rating=data["rating"],
            passed=data["passed"],
            comment=data["comment"],
            actor=person(request),
        )
        item = get_item_for(request.user, slug, number)
        answer = _result(latest_results(item)[data["criterion"]], item)
        return Response({**answer, "gates": gate_statuses(item)}, status=201)


def _result(row: CriterionResult, item: Item) -> dict[str, Any]:
    return {
        "criterion": row.criterion,
        "phase": PHASE_OF_CRITERION[row.criterion].number,
        "rating": row.rating,
        "passed": row.passed,
        "comment": row.comment,
        "auditor": row.auditor.get_username(),
        "revision": row.revision_number,  # type: ignore[attr-defined]
        "fresh": is_fresh(CRITERIA[row.criterion], row.section_hashes, item.section_hashes),
        "at": row.created,
    }


class TicksView(APIView):
    """The latest word on each element, and giving one."""

    @extend_schema(operation_id="item_ticks", responses=OpenApiTypes.OBJECT)
    def get(self, request: Request, slug: str, number: int) -> Response:
        item = get_item_for(request.user, slug, number)
        require_not_blind(request.user, item)
        ticks = [
            {
                "element": tick.element,
                "supported": tick.supported,
                "comment": tick.comment,
                "auditor": tick.by.get_username(),
                "revision": tick.revision_number,
                "fresh": tick.holds,
                "at": tick.at,
            }
            for tick in latest_ticks(item).values()
        ]
        return Response({"hash": item.document_hash, "ticks": ticks})

    @extend_schema(operation_id="tick_element", request=TickInput, responses={201: OpenApiTypes.OBJECT})
    def post(self, request: Request, slug: str, number: int) -> Response:
        item = get_item_for(request.user, slug, number)
        data = read_body(TickInput, request)
        row = actions.tick_element(
            item,
            data["element"],
            data["hash"],
            supported=data["supported"],
            comment=data["comment"],
            actor=person(request),
        )
        return Response({"element": row.element, "supported": row.supported}, status=201)


class PointAnswerInput(serializers.Serializer[Any]):
    answer = serializers.ChoiceField(choices=ReturnPoint.Answer.values, required=False)
    text = serializers.CharField(required=False, default="", allow_blank=True)
    accepted = serializers.BooleanField(required=False, allow_null=True, default=None)


class PointsView(APIView):
    """What the latest return asked for, with the answers."""

    @extend_schema(operation_id="return_points", responses=OpenApiTypes.OBJECT)
    def get(self, request: Request, slug: str, number: int) -> Response:
        item = get_item_for(request.user, slug, number)
        require_not_blind(request.user, item)
        return Response({"hash": item.document_hash, "points": [_point(point) for point in points_of(item)]})


class PointView(APIView):
    """Answering a point as its author (`answer`, `text`), or judging the answer (`accepted`)."""

    @extend_schema(operation_id="answer_point", request=PointAnswerInput, responses=OpenApiTypes.OBJECT)
    def post(self, request: Request, slug: str, number: int, pk: int) -> Response:
        item = get_item_for(request.user, slug, number)
        data = read_body(PointAnswerInput, request)
        if ("answer" in data) == (data["accepted"] is not None):
            raise Invalid.at("answer", _("Send either “answer” or “accepted”."))
        if "answer" in data:
            return Response(_point(answer_point(item, pk, data["answer"], data["text"], actor=person(request))))
        return Response(_point(judge_point(item, pk, data["accepted"], actor=person(request))))


def _point(point: ReturnPoint) -> dict[str, Any]:
    return {
        "id": point.pk,
        "text": point.text,
        "anchor": point.anchor,
        "criterion": point.criterion,
        "answer": point.answer,
        "answer_text": point.answer_text,
        "answered_by": point.answered_by.get_username() if point.answered_by else None,
        "accepted": point.accepted,
    }
