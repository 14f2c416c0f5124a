"""Phase 1 over HTTP: the board, pilot batches, rating and closing them, calibrating by hand. The core team's."""

from typing import Any

from django.contrib.auth.models import User
from django.utils.translation import gettext as _
from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from annotation.benchmarks import Benchmark, Role, get_benchmark_for, get_item_for, may_act_as
from lhdr_site.shared.api import CHANGED, NOT_FOUND, REFUSED, person, read_body
from lhdr_site.shared.errors import Invalid

from .actions import set_calibration
from .models import PilotBatch
from .permissions import may_see_batch
from .pilot import CRITERIA, board, get_batch, pilot_of
from .pilot_actions import close_batch, make_batch, rate_pilot


class RatingOut(serializers.Serializer[Any]):
    rater = serializers.CharField(source="rater.username")
    criterion = serializers.CharField()
    rating = serializers.IntegerField()
    passed = serializers.BooleanField()
    comment = serializers.CharField()
    revision = serializers.IntegerField(source="revision.number")


class RatedItemOut(serializers.Serializer[Any]):
    number = serializers.IntegerField()
    hash = serializers.CharField(help_text="Of the document; send it with your ratings.")
    state = serializers.CharField()
    ratings = RatingOut(many=True, help_text="Your own alone until every rater is done.")


class AgreedOut(serializers.Serializer[Any]):
    n = serializers.IntegerField(help_text="Pairs of ratings.")
    verdicts = serializers.FloatField(help_text="Share with the same verdict.")
    ratings = serializers.FloatField(help_text="Share with the same rating.")
    kappa = serializers.FloatField(allow_null=True, help_text="Quadratic weights; null where it is undefined.")


class BatchRowOut(serializers.Serializer[Any]):
    id = serializers.IntegerField(source="pk")
    number = serializers.IntegerField()
    outcome = serializers.CharField(source="status", help_text=", ".join(PilotBatch.Status.values))
    created = serializers.DateTimeField()
    closed = serializers.DateTimeField(allow_null=True)
    note = serializers.CharField()


class BatchOut(BatchRowOut):
    annotator = serializers.CharField(source="annotator.username")
    created_by = serializers.CharField(source="created_by.username")
    closed_by = serializers.CharField(source="closed_by.username", allow_null=True)


class PilotOut(serializers.Serializer[Any]):
    batch = BatchOut()
    raters_wanted = serializers.IntegerField(source="wanted")
    is_complete = serializers.BooleanField(help_text="Every rater is done with every item.")
    items = RatedItemOut(many=True)
    means = serializers.DictField(
        child=serializers.FloatField(allow_null=True), help_text="By criterion; null until all may be seen."
    )
    agreed = AgreedOut(allow_null=True, help_text="Of the first two raters, once both may be seen.")


class BoardRowOut(serializers.Serializer[Any]):
    annotator = serializers.CharField(source="member.user.username")
    items = serializers.IntegerField()
    waiting = serializers.IntegerField(help_text="Submitted ones.")
    calibrated = serializers.BooleanField(source="calibration.calibrated", default=False)
    since = serializers.DateTimeField(allow_null=True)
    batches = BatchRowOut(many=True, help_text="The newest first.")


class MakeBatchIn(serializers.Serializer[Any]):
    annotator = serializers.CharField(max_length=150, help_text="User name.")


class CalibrationIn(MakeBatchIn):
    calibrated = serializers.BooleanField()
    note = serializers.CharField(required=False, default="", allow_blank=True, max_length=5_000)


class RatingIn(serializers.Serializer[Any]):
    rating = serializers.IntegerField(min_value=1, max_value=5)
    passed = serializers.BooleanField(help_text="A pass needs 3 or more.")
    comment = serializers.CharField(required=False, default="", allow_blank=True, help_text="A fail needs one.")


class RateIn(serializers.Serializer[Any]):
    hash = serializers.CharField(max_length=64, help_text="The item's hash that you saw.")
    ratings = serializers.DictField(child=RatingIn(), help_text=", ".join(c.code for c in CRITERIA))


class CloseIn(serializers.Serializer[Any]):
    outcome = serializers.ChoiceField(choices=[PilotBatch.Status.CALIBRATED.value, PilotBatch.Status.AGAIN.value])
    note = serializers.CharField(required=False, default="", allow_blank=True, help_text="To the annotator.")


def _annotator(benchmark: Benchmark, name: str) -> User:
    found = User.objects.filter(username=name, memberships__benchmark=benchmark).first()
    if found is None:
        raise Invalid.at("annotator", _("This person is not a member of the benchmark."))
    return found


def _shown(batch: PilotBatch, user: User) -> dict[str, Any]:
    pilot = pilot_of(batch, user)
    items = [
        {
            "number": item.number,
            "hash": item.document_hash,
            "state": item.state,
            "ratings": [row for criterion in CRITERIA for row in pilot.ratings_of(item, criterion.code)],
        }
        for item in pilot.items
    ]
    shown = {"batch": batch, "wanted": pilot.wanted, "is_complete": pilot.is_complete, "items": items}
    means = {criterion.code: mean for criterion, mean in zip(CRITERIA, pilot.means, strict=True)}
    return dict(PilotOut({**shown, "means": means, "agreed": pilot.agreed}).data)


class BoardView(APIView):
    """The board of annotators; and a batch of somebody's submitted items, those that wait longest."""

    @extend_schema(operation_id="pilot_board", responses={200: BoardRowOut(many=True), 403: REFUSED[403], **NOT_FOUND})
    def get(self, request: Request, slug: str) -> Response:
        benchmark = get_benchmark_for(request.user, slug)
        may_act_as(request.user, benchmark, Role.CORE).require()
        return Response(BoardRowOut(board(benchmark), many=True).data)

    @extend_schema(
        operation_id="make_pilot_batch",
        request=MakeBatchIn,
        responses={201: PilotOut, **NOT_FOUND, **REFUSED, **CHANGED},
    )
    def post(self, request: Request, slug: str) -> Response:
        benchmark = get_benchmark_for(request.user, slug)
        may_act_as(request.user, benchmark, Role.CORE).require()
        annotator = _annotator(benchmark, read_body(MakeBatchIn, request)["annotator"])
        batch = make_batch(benchmark, annotator, actor=person(request))
        return Response(_shown(batch, person(request)), status=201)


class BatchView(APIView):
    """A batch with its ratings: for the core team, and for its annotator once it is closed."""

    @extend_schema(operation_id="pilot_batch", responses={200: PilotOut, 403: REFUSED[403], **NOT_FOUND})
    def get(self, request: Request, slug: str, pk: int) -> Response:
        batch = get_batch(get_benchmark_for(request.user, slug), pk)
        may_see_batch(request.user, batch).require()
        return Response(_shown(batch, person(request)))


class RateView(APIView):
    """Your ratings of one item of a batch; yours to change until every rater is done."""

    @extend_schema(
        operation_id="rate_pilot", request=RateIn, responses={200: PilotOut, **NOT_FOUND, **REFUSED, **CHANGED}
    )
    def put(self, request: Request, slug: str, pk: int, number: int) -> Response:
        """Criteria that are left out stay as you rated them."""
        batch = get_batch(get_benchmark_for(request.user, slug), pk)
        item = get_item_for(request.user, slug, number)
        data = read_body(RateIn, request)
        rate_pilot(batch, item, data["hash"], data["ratings"], actor=person(request))
        return Response(_shown(batch, person(request)))


class CloseView(APIView):
    """Closing a batch: calibrated, or another one with a note to the annotator."""

    @extend_schema(
        operation_id="close_pilot_batch",
        request=CloseIn,
        responses={200: PilotOut, **NOT_FOUND, **REFUSED, **CHANGED},
    )
    def post(self, request: Request, slug: str, pk: int) -> Response:
        batch = get_batch(get_benchmark_for(request.user, slug), pk)
        data = read_body(CloseIn, request)
        close_batch(batch, data["outcome"], data["note"], actor=person(request))
        return Response(_shown(get_batch(batch.benchmark, pk), person(request)))


class CalibrationView(APIView):
    """Marking an annotator as calibrated by hand, or taking it back."""

    @extend_schema(operation_id="set_calibration", request=CalibrationIn, responses={204: None, **NOT_FOUND, **REFUSED})
    def post(self, request: Request, slug: str) -> Response:
        benchmark = get_benchmark_for(request.user, slug)
        may_act_as(request.user, benchmark, Role.CORE).require()
        data = read_body(CalibrationIn, request)
        annotator = _annotator(benchmark, data["annotator"])
        set_calibration(benchmark, annotator, data["calibrated"], actor=person(request), note=data["note"])
        return Response(status=204)
