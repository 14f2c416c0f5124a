"""Releases over HTTP. The same actions and errors as the pages."""

from typing import Any

from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from annotation.benchmarks import get_benchmark_for
from lhdr_site.shared.api import person, read_body

from . import exports, release_actions
from .models import Release
from .permissions import may_export_release
from .release_queries import Beside, compare_releases, release_rows, releases_of, statistics_of
from .releases import get_release
from .splits import LARGEST_SEED, SPLITS, SplitPlan


class ReleaseInput(serializers.Serializer[Any]):
    name = serializers.CharField(max_length=50)
    note = serializers.CharField(required=False, default="", allow_blank=True)
    version = serializers.CharField(required=False, default="", allow_blank=True, help_text="Semantic, like 1.2.0.")
    items = serializers.ListField(
        child=serializers.IntegerField(min_value=1, max_value=2**31 - 1),
        required=False,
        help_text="Numbers of locked items; without them all that are not retired.",
    )
    shares = serializers.DictField(
        child=serializers.IntegerField(min_value=0, max_value=100),
        required=False,
        help_text='Percent of each split, 100 together, like {"dev": 20, "test": 80}.',
    )
    seed = serializers.IntegerField(required=False, default=0, min_value=0, max_value=LARGEST_SEED)
    splits = serializers.DictField(
        child=serializers.ChoiceField(choices=SPLITS), required=False, help_text="The split of each item, by id."
    )
    license_note = serializers.CharField(required=False, default="", allow_blank=True)


def release_json(release: Release) -> dict[str, Any]:
    return {
        "name": release.name,
        "version": release.version,
        "note": release.note,
        "audited": release.audited,
        "items": release.item_count,
        "hash": release.hash,
        "splits": release.splits,
        "license_note": release.license_note,
        "canary": release.canary,
        "created_by": release.created_by.get_username(),
        "created": release.created,
    }


class ReleaseListView(APIView):
    """A benchmark's releases, the newest first, and cutting one."""

    @extend_schema(operation_id="releases", responses=OpenApiTypes.OBJECT)
    def get(self, request: Request, slug: str) -> Response:
        benchmark = get_benchmark_for(request.user, slug)
        return Response({"releases": [release_json(release) for release in releases_of(benchmark)]})

    @extend_schema(operation_id="cut_release", request=ReleaseInput, responses={201: OpenApiTypes.OBJECT})
    def post(self, request: Request, slug: str) -> Response:
        benchmark = get_benchmark_for(request.user, slug)
        data = read_body(ReleaseInput, request)
        shares, seed, named = data.pop("shares", {}), data.pop("seed"), data.pop("splits", {})
        plan = SplitPlan(shares=shares, seed=seed, named=named)
        release = release_actions.cut_release(benchmark, **data, splits=plan, actor=person(request))
        return Response(release_json(release), status=201)


class ReleaseView(APIView):
    """One release with its figures and its items, without their documents."""

    @extend_schema(operation_id="release", responses=OpenApiTypes.OBJECT)
    def get(self, request: Request, slug: str, name: str) -> Response:
        release = get_release(get_benchmark_for(request.user, slug), name)
        rows = [
            {
                "position": row.position,
                "id": row.uid,
                "number": row.item.number,
                "revision": row.revision_number,  # type: ignore[attr-defined]
                "hash": row.document_hash,
                "split": row.split,
            }
            for row in release_rows(release)
        ]
        about = {"statistics": statistics_of(release), "quality": release.quality}
        return Response({**release_json(release), **about, "rows": rows})


def comparison_json(beside: Beside) -> dict[str, Any]:
    """Two releases beside each other; page, API and command say the same."""
    assert beside.new is not None
    found, numbers = beside.comparison, beside.numbers
    return {
        "old": {"name": beside.old.name, "version": beside.old.version, "hash": beside.old.hash},
        "new": {"name": beside.new.name, "version": beside.new.version, "hash": beside.new.hash},
        "level": found.level,
        "same": found.same,
        "added": [{"id": uid, "number": numbers[uid]} for uid in found.added],
        "removed": [{"id": uid, "number": numbers[uid], "errata": _errata(beside, uid)} for uid in found.removed],
        "changed": [
            {
                "id": change.uid,
                "number": numbers[change.uid],
                "fields": list(change.sections),
                "graded": change.graded,
                "errata": _errata(beside, change.uid),
            }
            for change in found.changed
        ],
        "splits": [
            {"id": uid, "number": numbers[uid], "old": before, "new": after}
            for uid, (before, after) in found.moved.items()
        ],
    }


def _errata(beside: Beside, uid: str) -> list[dict[str, str]]:
    return [
        {"kind": row.kind, "status": row.status, "grounds": row.grounds, "reason": row.reason}
        for row in beside.errata.get(uid, [])
    ]


class CompareView(APIView):
    """A release against another one: what came, went and changed, and why."""

    @extend_schema(operation_id="compare_releases", responses=OpenApiTypes.OBJECT)
    def get(self, request: Request, slug: str, name: str, other: str) -> Response:
        benchmark = get_benchmark_for(request.user, slug)
        return Response(comparison_json(compare_releases(get_release(benchmark, other), get_release(benchmark, name))))


class ExportView(APIView):
    """The release as a file: one line per item, a ZIP with images, or the manifest."""

    @extend_schema(
        operation_id="export_release",
        parameters=[
            OpenApiParameter("variant", enum=exports.VARIANTS, required=True),
            OpenApiParameter("split", enum=SPLITS),
            OpenApiParameter("answers", enum=["1"], description="Also the answers of held-out items."),
            OpenApiParameter("images", enum=["1"], description="A ZIP with the images."),
            OpenApiParameter("manifest", enum=["1"], description="What is in the export, as JSON."),
        ],
        responses={(200, "application/x-ndjson"): OpenApiTypes.BINARY},
    )
    def get(self, request: Request, slug: str, name: str) -> Any:
        benchmark = get_benchmark_for(request.user, slug)
        release = get_release(benchmark, name)
        may_export_release(request.user, benchmark).require()
        return exports.response_for(release, request.query_params)
