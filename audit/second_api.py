"""Blind second audits over HTTP: taking, answering, ending, adjudicating; agreement. As blind as the pages."""

from typing import Any

from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from annotation.benchmarks import Role, get_benchmark_for, may_act_as
from lhdr_site.shared.api import (
    CHANGED,
    NOT_FOUND,
    PAGING,
    REFUSED,
    choice_of,
    next_address,
    page_out,
    page_reply,
    person,
    read_body,
    whole_of,
)

from . import second_actions
from .blind_panel import blind_panel_of, own_blind_audit
from .models import BlindAudit
from .permissions import may_draw_audits
from .second_queries import disagreements, get_blind_audit, my_blind_audits, quality_of, waiting_blind_audits

PAGE = 50


class BlindAuditOut(serializers.Serializer[Any]):
    id = serializers.IntegerField(source="pk")
    item = serializers.IntegerField(source="item.number")
    question = serializers.CharField(source="item.question")
    kind = serializers.CharField(help_text=", ".join(BlindAudit.Kind.values))
    answered = serializers.IntegerField(help_text="Criteria that you answered.")
    created = serializers.DateTimeField()
    ended = serializers.DateTimeField(allow_null=True)


class BlindResultOut(serializers.Serializer[Any]):
    rating = serializers.IntegerField()
    passed = serializers.BooleanField()
    comment = serializers.CharField()
    at = serializers.DateTimeField(source="created")


class BlindCriterionOut(serializers.Serializer[Any]):
    criterion = serializers.CharField(source="criterion.code")
    title = serializers.CharField()
    help = serializers.CharField()
    optional = serializers.BooleanField()
    answer = BlindResultOut(source="result", allow_null=True, help_text="Your latest.")


class BlindProbeOut(serializers.Serializer[Any]):
    system = serializers.CharField(source="system_name")
    with_image = serializers.BooleanField()
    text = serializers.CharField()


class BlindPanelOut(serializers.Serializer[Any]):
    id = serializers.IntegerField(source="audit.pk")
    item = serializers.IntegerField(source="item.number")
    kind = serializers.CharField(source="audit.kind")
    ended = serializers.DateTimeField(source="audit.ended", allow_null=True)
    revision = serializers.IntegerField(source="item.revision_number", help_text="The one that is audited.")
    document = serializers.DictField(source="item.document", help_text="As it was then.")
    criteria = BlindCriterionOut(source="all_rows", many=True)
    probes = BlindProbeOut(many=True, help_text="What systems answered when they were probed.")


class DrawIn(serializers.Serializer[Any]):
    what = serializers.ChoiceField(choices=["double", "residual"])
    numbers = serializers.ListField(
        child=serializers.IntegerField(min_value=1, max_value=2**31 - 1),
        required=False,
        default=list,
        max_length=500,
        help_text="Of items to audit twice.",
    )
    size = serializers.IntegerField(
        required=False, default=0, min_value=0, max_value=2**31 - 1, help_text="Of the residual sample."
    )
    seed = serializers.IntegerField(
        required=False, allow_null=True, default=None, min_value=0, max_value=second_actions.LARGEST_SEED
    )


class DrawnOut(serializers.Serializer[Any]):
    count = serializers.IntegerField()
    sample = serializers.CharField(help_text="Names the draw: day, seed, size and population.")


class WordIn(serializers.Serializer[Any]):
    criterion = serializers.CharField(max_length=40)
    rating = serializers.IntegerField(min_value=1, max_value=5)
    passed = serializers.BooleanField()
    comment = serializers.CharField(required=False, default="", allow_blank=True, max_length=10_000)


class SaidOut(BlindResultOut):
    by = serializers.SerializerMethodField()

    def get_by(self, row: Any) -> str:
        return str((row.auditor if hasattr(row, "auditor") else row.by).get_username())


class DisagreementOut(serializers.Serializer[Any]):
    audit = serializers.IntegerField(source="audit.pk")
    item = serializers.IntegerField(source="audit.item.number")
    kind = serializers.CharField(source="audit.kind")
    criterion = serializers.CharField()
    first = SaidOut(allow_null=True, help_text="null: the item was locked without audit, which is a pass.")
    second = SaidOut()
    third = SaidOut(allow_null=True, help_text="The adjudication.")


class SecondListView(APIView):
    """Blind audits that are yours, or that you may take; and asking for more, as the core team."""

    @extend_schema(
        operation_id="list_second_audits",
        parameters=[
            OpenApiParameter("list", str, enum=["waiting", "mine"], description="`waiting` without it."),
            *PAGING,
        ],
        responses={200: page_out(BlindAuditOut), **NOT_FOUND, **REFUSED},
    )
    def get(self, request: Request, slug: str) -> Response:
        benchmark = get_benchmark_for(request.user, slug)
        may_act_as(request.user, benchmark, Role.AUDITOR).require()
        which = choice_of(request, "list", ["waiting", "mine"], "waiting")
        rows = (my_blind_audits if which == "mine" else waiting_blind_audits)(request.user, benchmark)
        return page_reply(request, rows, BlindAuditOut)

    @extend_schema(
        operation_id="draw_second_audits",
        request=DrawIn,
        responses={201: DrawnOut, **NOT_FOUND, **REFUSED, **CHANGED},
    )
    def post(self, request: Request, slug: str) -> Response:
        """`double` with `numbers`, or `residual` with `size` and perhaps `seed`. It is not told what was drawn."""
        benchmark = get_benchmark_for(request.user, slug)
        may_draw_audits(request.user, benchmark).require()
        data = read_body(DrawIn, request)
        if data["what"] == "residual":
            rows = second_actions.draw_residual_sample(
                benchmark, data["size"], seed=data["seed"], actor=person(request)
            )
        else:
            rows = second_actions.ask_double_audits(benchmark, data["numbers"], actor=person(request))
        return Response(DrawnOut({"count": len(rows), "sample": rows[0].sample}).data, status=201)


def _own(request: Request, slug: str, pk: int) -> BlindAudit:
    return own_blind_audit(request.user, get_benchmark_for(request.user, slug), pk)


def _panel(request: Request, slug: str, pk: int, status: int = 200) -> Response:
    panel = blind_panel_of(_own(request, slug, pk), request.user)
    return Response(BlindPanelOut(panel).data, status=status)


class SecondView(APIView):
    """The evidence and the criteria of phases 2 to 4, for who audits it alone; nothing that the first audit said."""

    @extend_schema(
        operation_id="second_audit", responses={200: BlindPanelOut, 403: REFUSED[403], **NOT_FOUND, **CHANGED}
    )
    def get(self, request: Request, slug: str, pk: int) -> Response:
        """409 while nobody has taken it."""
        return _panel(request, slug, pk)


class SecondTakeView(APIView):
    """Making a blind audit your own."""

    @extend_schema(
        operation_id="take_second_audit",
        request=None,
        responses={200: BlindPanelOut, 403: REFUSED[403], **NOT_FOUND, **CHANGED},
    )
    def post(self, request: Request, slug: str, pk: int) -> Response:
        audit = get_blind_audit(get_benchmark_for(request.user, slug), pk)
        second_actions.take_blind_audit(audit, actor=person(request))
        return _panel(request, slug, pk)


class SecondGiveBackView(APIView):
    """Leaving a blind audit to somebody else."""

    @extend_schema(
        operation_id="give_back_second_audit",
        request=None,
        responses={204: None, 403: REFUSED[403], **NOT_FOUND, **CHANGED},
    )
    def post(self, request: Request, slug: str, pk: int) -> Response:
        """As long as you answered nothing."""
        audit = get_blind_audit(get_benchmark_for(request.user, slug), pk)
        second_actions.give_back_blind_audit(audit, actor=person(request))
        return Response(status=204)


class SecondFinishView(APIView):
    """Ending a blind audit."""

    @extend_schema(
        operation_id="finish_second_audit",
        request=None,
        responses={200: BlindPanelOut, **NOT_FOUND, **REFUSED, **CHANGED},
    )
    def post(self, request: Request, slug: str, pk: int) -> Response:
        """Once every criterion is answered; the answers stay."""
        second_actions.finish_blind_audit(_own(request, slug, pk), actor=person(request))
        return _panel(request, slug, pk)


class SecondCriteriaView(APIView):
    """Answering a criterion blind."""

    @extend_schema(
        operation_id="record_blind_criterion",
        request=WordIn,
        responses={201: BlindResultOut, **NOT_FOUND, **REFUSED, **CHANGED},
    )
    def post(self, request: Request, slug: str, pk: int) -> Response:
        """The latest answer counts, until you finish."""
        audit = _own(request, slug, pk)
        row = second_actions.record_blind_result(audit, **read_body(WordIn, request), actor=person(request))
        return Response(BlindResultOut(row).data, status=201)


class AdjudicateView(APIView):
    """A third person's word where the two disagree."""

    @extend_schema(
        operation_id="adjudicate", request=WordIn, responses={201: SaidOut, **NOT_FOUND, **REFUSED, **CHANGED}
    )
    def post(self, request: Request, slug: str, pk: int) -> Response:
        benchmark = get_benchmark_for(request.user, slug)
        audit = get_blind_audit(benchmark, pk)
        may_act_as(request.user, benchmark, Role.CORE).require()
        row = second_actions.adjudicate(audit, **read_body(WordIn, request), actor=person(request))
        return Response(SaidOut(row).data, status=201)


class AgreementView(APIView):
    """How far two audits agree, by criterion, and the residual error; `{}` while nothing was measured."""

    @extend_schema(operation_id="agreement", responses={200: OpenApiTypes.OBJECT, **NOT_FOUND})
    def get(self, request: Request, slug: str) -> Response:
        return Response(quality_of(get_benchmark_for(request.user, slug)))


class DisagreementsView(APIView):
    """Where the two disagree, for the core team; those without a third person's word first."""

    @extend_schema(
        operation_id="list_disagreements",
        parameters=[OpenApiParameter("page", int, description=f"{PAGE} a page.")],
        responses={200: page_out(DisagreementOut), **NOT_FOUND, **REFUSED},
    )
    def get(self, request: Request, slug: str) -> Response:
        benchmark = get_benchmark_for(request.user, slug)
        may_draw_audits(request.user, benchmark).require()
        page = whole_of(request, "page", 1, least=1, largest=1_000_000)
        found = disagreements(benchmark)
        following = next_address(request, page=page + 1) if len(found) > page * PAGE else None
        rows = DisagreementOut(found[(page - 1) * PAGE : page * PAGE], many=True).data
        return Response({"next": following, "results": rows})
