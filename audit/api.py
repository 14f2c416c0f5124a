"""The audit over HTTP: moves, answers, ticks and releases. The same actions and errors as the pages."""

from typing import Any, cast

from django.contrib.auth.models import User
from django.http import StreamingHttpResponse
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from annotation.benchmarks import Item, get_benchmark_for, get_item_for
from annotation.states import State
from lhdr_site.shared.errors import Invalid

from . import actions, releases
from .models import CriterionResult, Release
from .permissions import is_possible, may_export_release, standing_of
from .queries import gate_statuses, latest_results, latest_ticks, release_rows, releases_of, transitions_of
from .workflow import CRITERIA, PHASE_OF_CRITERION, Move, is_fresh

MOVES = [move.value for move in Move if move is not Move.LOCK_IMPORTED]


class MoveInput(serializers.Serializer[Any]):
    move = serializers.ChoiceField(choices=MOVES)
    hash = serializers.CharField(required=False, default="", help_text="The document's hash that was seen.")
    reason = serializers.CharField(required=False, default="", allow_blank=True)
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


class ReleaseInput(serializers.Serializer[Any]):
    name = serializers.CharField(max_length=50)
    note = serializers.CharField(required=False, default="", allow_blank=True)


def _read(serializer: type[serializers.Serializer[Any]], request: Request) -> dict[str, Any]:
    """The body's values; Invalid (422) naming each field that is wrong."""
    given = serializer(data=request.data)
    if given.is_valid():
        return dict(given.validated_data)
    problems = [
        {"path": str(path), "message": str(message)}
        for path, found in given.errors.items()
        for message in (found if isinstance(found, list) else [found])
    ]
    raise Invalid.of(problems)


def _person(request: Request) -> User:
    """The default permission class lets in nobody who is not logged in."""
    return cast(User, request.user)


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
        data = _read(MoveInput, request)
        after = actions.make_move(
            item,
            data["move"],
            document_hash=data["hash"],
            reason=data["reason"],
            calibrate=data["calibrate"],
            actor=_person(request),
        )
        return Response({**_standing(after, request.user), "state": State(after.state).value})


class CriteriaView(APIView):
    """The latest answer to each criterion, and giving one."""

    @extend_schema(operation_id="item_criteria", responses=OpenApiTypes.OBJECT)
    def get(self, request: Request, slug: str, number: int) -> Response:
        item = get_item_for(request.user, slug, number)
        rows = latest_results(item)
        return Response(
            {"hash": item.document_hash, "criteria": [_result(rows[c], item) for c in CRITERIA if c in rows]}
        )

    @extend_schema(operation_id="record_criterion", request=CriterionInput, responses={201: OpenApiTypes.OBJECT})
    def post(self, request: Request, slug: str, number: int) -> Response:
        item = get_item_for(request.user, slug, number)
        data = _read(CriterionInput, request)
        actions.record_criterion(
            item,
            data["criterion"],
            data["hash"],
            rating=data["rating"],
            passed=data["passed"],
            comment=data["comment"],
            actor=_person(request),
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
        data = _read(TickInput, request)
        row = actions.tick_element(
            item,
            data["element"],
            data["hash"],
            supported=data["supported"],
            comment=data["comment"],
            actor=_person(request),
        )
        return Response({"element": row.element, "supported": row.supported}, status=201)


def _release(release: Release) -> dict[str, Any]:
    return {
        "name": release.name,
        "note": release.note,
        "audited": release.audited,
        "items": release.item_count,
        "hash": release.hash,
        "canary": release.canary,
        "created_by": release.created_by.get_username(),
        "created": release.created,
    }


class ReleaseListView(APIView):
    """A benchmark's releases, the newest first, and cutting one."""

    @extend_schema(operation_id="releases", responses=OpenApiTypes.OBJECT)
    def get(self, request: Request, slug: str) -> Response:
        benchmark = get_benchmark_for(request.user, slug)
        return Response({"releases": [_release(release) for release in releases_of(benchmark)]})

    @extend_schema(operation_id="cut_release", request=ReleaseInput, responses={201: OpenApiTypes.OBJECT})
    def post(self, request: Request, slug: str) -> Response:
        benchmark = get_benchmark_for(request.user, slug)
        data = _read(ReleaseInput, request)
        release = actions.cut_release(benchmark, data["name"], data["note"], actor=_person(request))
        return Response(_release(release), status=201)


class ReleaseView(APIView):
    """One release with its items, without their documents."""

    @extend_schema(operation_id="release", responses=OpenApiTypes.OBJECT)
    def get(self, request: Request, slug: str, name: str) -> Response:
        release = releases.get_release(get_benchmark_for(request.user, slug), name)
        rows = [
            {
                "position": row.position,
                "id": row.uid,
                "number": row.item.number,
                "revision": row.revision_number,  # type: ignore[attr-defined]
                "hash": row.document_hash,
            }
            for row in release_rows(release)
        ]
        return Response({**_release(release), "rows": rows})


class ExportView(APIView):
    """The release as a file: one line per item."""

    @extend_schema(
        operation_id="export_release",
        parameters=[OpenApiParameter("variant", enum=releases.VARIANTS, required=True)],
        responses={(200, "application/x-ndjson"): OpenApiTypes.BINARY},
    )
    def get(self, request: Request, slug: str, name: str) -> StreamingHttpResponse:
        benchmark = get_benchmark_for(request.user, slug)
        release = releases.get_release(benchmark, name)
        may_export_release(request.user, benchmark).require()
        variant = releases.require_variant(request.query_params.get("variant", ""))
        return releases.export_response(release, variant, images=request.query_params.get("images") == "1")
