"""The audit trail over HTTP: what the pages show, with the same filters."""

from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from annotation.benchmarks import get_benchmark_for, get_item_for

from .permissions import require_not_blind
from .trail import GROUPS, Trail, read_filters

PAGE = 100
_FILTERS = [
    OpenApiParameter("group", description=f"One of {', '.join(GROUPS)}, or of a benchmark's trail `runs`."),
    OpenApiParameter("person", description="A user name; `*` is the Workbench itself."),
    OpenApiParameter("since", OpenApiTypes.DATE),
    OpenApiParameter("until", OpenApiTypes.DATE, description="That day included."),
    OpenApiParameter("before", description="From `next` of the page before."),
]


def _page(request: Request, trail: Trail) -> Response:
    entries, after = trail.page(request.query_params.get("before", ""), PAGE)
    query = request.query_params.copy()
    query["before"] = after
    address = request.build_absolute_uri(f"?{query.urlencode()}") if after else None
    return Response({"events": [entry.to_json() for entry in entries], "next": address, "left_out": trail.hidden})


class TrailView(APIView):
    """Every event of a benchmark, newest first, 100 a page. `left_out`: items that you audit blind at the moment."""

    @extend_schema(
        operation_id="trail", parameters=[*_FILTERS, OpenApiParameter("item", int)], responses=OpenApiTypes.OBJECT
    )
    def get(self, request: Request, slug: str) -> Response:
        benchmark = get_benchmark_for(request.user, slug)
        return _page(request, Trail(request.user, benchmark, read_filters(request.query_params.dict())))


class ItemTrailView(APIView):
    """Every event of an item, newest first, 100 a page."""

    @extend_schema(operation_id="item_trail", parameters=_FILTERS, responses=OpenApiTypes.OBJECT)
    def get(self, request: Request, slug: str, number: int) -> Response:
        item = get_item_for(request.user, slug, number, with_document=False)
        require_not_blind(request.user, item)
        filters = read_filters(request.query_params.dict())
        return _page(request, Trail(request.user, item.benchmark, filters, item))
