"""Errata over HTTP: the same permissions, actions and errors as the pages."""

from typing import Any

from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from annotation.benchmarks import get_benchmark_for, get_item_for
from lhdr_site.shared.api import person, read_body
from lhdr_site.shared.errors import Invalid
from lhdr_site.shared.numbers import read_whole

from . import errata_actions
from .errata_queries import errata_of, errata_since, get_erratum
from .models import Errata
from .releases import get_release

PAGE = 100


class FlagInput(serializers.Serializer[Any]):
    kind = serializers.ChoiceField(choices=Errata.Kind.choices)
    anchor = serializers.CharField(
        required=False, default="", allow_blank=True, max_length=40, help_text="The step's or source's key."
    )
    grounds = serializers.CharField(max_length=errata_actions.LONGEST)
    release = serializers.CharField(
        required=False, default="", allow_blank=True, help_text="Its frozen copy is meant, not the present item."
    )
    evidence = serializers.DictField(required=False, default=dict)


class DecisionInput(serializers.Serializer[Any]):
    status = serializers.ChoiceField(choices=[s for s in Errata.Status.choices if s[0] != Errata.Status.OPEN])
    reason = serializers.CharField(max_length=errata_actions.LONGEST)
    seen = serializers.ChoiceField(
        choices=Errata.Status.choices, default=Errata.Status.OPEN, help_text="The status it had when you looked."
    )
    unlock = serializers.BooleanField(required=False, default=False)


def _erratum(row: Errata) -> dict[str, Any]:
    return {
        "id": row.pk,
        "item": row.item.number,
        "kind": row.kind,
        "anchor": row.anchor,
        "grounds": row.grounds,
        "status": row.status,
        "reason": row.reason,
        "author": row.author.get_username(),
        "created": row.created,
        "decided_by": row.decided_by.get_username() if row.decided_by else None,
        "decided": row.decided,
    }


class ErrataView(APIView):
    """A benchmark's errata, open ones first, 100 a page; or what was decided since a release was cut."""

    @extend_schema(
        operation_id="errata",
        parameters=[
            OpenApiParameter("status", enum=Errata.Status.values),
            OpenApiParameter("since", description="Name of a release."),
            OpenApiParameter("page", int),
        ],
        responses=OpenApiTypes.OBJECT,
    )
    def get(self, request: Request, slug: str) -> Response:
        benchmark = get_benchmark_for(request.user, slug)
        since, status = request.query_params.get("since", ""), request.query_params.get("status", "")
        rows = (
            errata_since(get_release(benchmark, since), request.user) if since else errata_of(benchmark, request.user)
        )
        if status and status not in Errata.Status.values:
            raise Invalid.at("status", f"Use one of {', '.join(Errata.Status.values)}.")
        rows = rows.filter(status=status) if status else rows
        page = min(max(1, read_whole(request.query_params.get("page", "1")) or 1), 1_000_000)
        found = list(rows[(page - 1) * PAGE : page * PAGE + 1])
        return Response({"errata": [_erratum(row) for row in found[:PAGE]], "more": len(found) > PAGE})


class ItemErrataView(APIView):
    """The errata of one item, and flagging it."""

    @extend_schema(operation_id="item_errata", responses=OpenApiTypes.OBJECT)
    def get(self, request: Request, slug: str, number: int) -> Response:
        item = get_item_for(request.user, slug, number, with_document=False)
        rows = errata_of(item.benchmark, request.user).filter(item=item)
        return Response({"errata": [_erratum(row) for row in rows]})

    @extend_schema(operation_id="flag_item", request=FlagInput, responses={201: OpenApiTypes.OBJECT})
    def post(self, request: Request, slug: str, number: int) -> Response:
        item = get_item_for(request.user, slug, number, with_document=False)
        row = errata_actions.flag_item(item, **read_body(FlagInput, request), actor=person(request))
        return Response(_erratum(row), status=201)


class ErratumView(APIView):
    """One erratum with its evidence, and core's decision on it."""

    @extend_schema(operation_id="erratum", responses=OpenApiTypes.OBJECT)
    def get(self, request: Request, slug: str, pk: int) -> Response:
        row = get_erratum(get_benchmark_for(request.user, slug), pk, request.user)
        return Response({**_erratum(row), "evidence": row.evidence, "revision": row.revision.number})

    @extend_schema(operation_id="decide_erratum", request=DecisionInput, responses=OpenApiTypes.OBJECT)
    def post(self, request: Request, slug: str, pk: int) -> Response:
        row = get_erratum(get_benchmark_for(request.user, slug), pk, request.user)
        data = read_body(DecisionInput, request)
        return Response(_erratum(errata_actions.decide_erratum(row, **data, actor=person(request))))
