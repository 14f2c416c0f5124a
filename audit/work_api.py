"""Auditors' work over HTTP: the queue, claims, rules set aside, candidate answers. The actions and errors of pages."""

from typing import Any

from django.contrib.auth.models import User
from django.http import Http404
from django.utils import timezone
from django.utils.translation import gettext as _
from drf_spectacular.utils import OpenApiParameter, extend_schema, extend_schema_field
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from annotation.benchmarks import Item, Role, get_benchmark_for, get_item_for, may_act_as, role_of
from lhdr_site.shared.api import (
    CHANGED,
    NOT_FOUND,
    PAGING,
    REFUSED,
    choice_of,
    next_address,
    page_of,
    page_out,
    page_reply,
    person,
    read_body,
)
from lhdr_site.shared.errors import Invalid

from .candidate_actions import add_candidate, withdraw_candidate
from .claim_actions import claim_item, claim_next, give_back
from .models import ReviewClaim
from .override_actions import override_rule
from .overrides import override_rows
from .permissions import may_review, require_not_blind
from .queries import candidate_rows
from .queue import LISTS, OPEN_STATES, next_for, queue_counts, queue_page
from .workflow import Rule

# --- the queue ----------------------------------------------------------------------------------------------------


class ClaimOut(serializers.Serializer[Any]):
    auditor = serializers.CharField(source="auditor.username")
    phase = serializers.IntegerField()
    since = serializers.DateTimeField(source="created")
    until = serializers.DateTimeField(source="expires", help_text="It lapses then; PUT again to keep it.")


class QueueRowOut(serializers.Serializer[Any]):
    number = serializers.IntegerField()
    state = serializers.CharField()
    question = serializers.CharField()
    author = serializers.CharField(source="author.username")
    auditor = serializers.CharField(source="auditor.username", allow_null=True, help_text="Who was asked to audit it.")
    claim = serializers.SerializerMethodField(help_text="Who took it from the queue.")
    moved = serializers.DateTimeField(help_text="When it came into its state.")
    due = serializers.DateField(allow_null=True)

    @extend_schema_field(ClaimOut(allow_null=True))
    def get_claim(self, item: Item) -> dict[str, Any] | None:
        claim = getattr(item, "review_claim", None)
        return ClaimOut(claim).data if claim and claim.expires > timezone.now() else None


class QueueView(APIView):
    """The lists of the audit queue, for auditors and above."""

    @extend_schema(
        operation_id="list_queue",
        parameters=[
            OpenApiParameter("list", str, enum=LISTS, description="`waiting` without it."),
            OpenApiParameter("state", str, enum=[str(s) for s in OPEN_STATES]),
            OpenApiParameter("after", str, description="Cursor of the page; take it from `next`."),
        ],
        responses={
            200: page_out(QueueRowOut, counts=serializers.DictField(child=serializers.CharField())),
            **NOT_FOUND,
            **REFUSED,
        },
    )
    def get(self, request: Request, slug: str) -> Response:
        benchmark = get_benchmark_for(request.user, slug)
        may_act_as(request.user, benchmark, Role.AUDITOR).require()
        role = role_of(request.user, benchmark)
        assert role is not None
        name = choice_of(request, "list", LISTS, "waiting")
        state = choice_of(request, "state", [str(s) for s in OPEN_STATES])
        after = request.query_params.get("after", "")
        page = queue_page(request.user, benchmark, role, name, state, after=after)
        counts = queue_counts(request.user, benchmark, role)
        return Response(
            {
                "counts": {each: counts[each].words for each in LISTS},
                "next": next_address(request, after=page.after) if page.after else None,
                "results": QueueRowOut(page.items, many=True).data,
            }
        )


class NextView(APIView):
    """What is next for you, by the order of the queue; 204 when nothing waits."""

    @extend_schema(operation_id="next_item", responses={200: QueueRowOut, 204: None, **NOT_FOUND, **REFUSED})
    def get(self, request: Request, slug: str) -> Response:
        benchmark = get_benchmark_for(request.user, slug)
        may_act_as(request.user, benchmark, Role.AUDITOR).require()
        role = role_of(request.user, benchmark)
        assert role is not None
        items = (_queued(pk) for pk in next_for(request.user, benchmark, role))
        item = next((item for item in items if may_review(request.user, item)), None)
        return Response(status=204) if item is None else Response(QueueRowOut(item).data)

    @extend_schema(
        operation_id="claim_next_item", request=None, responses={200: QueueRowOut, 204: None, **NOT_FOUND, **REFUSED}
    )
    def post(self, request: Request, slug: str) -> Response:
        """Take it, or get what you have already."""
        item = claim_next(get_benchmark_for(request.user, slug), actor=person(request))
        return Response(status=204) if item is None else Response(QueueRowOut(_queued(item.pk)).data)


def _queued(pk: int) -> Item:
    rows = Item.objects.select_related("benchmark", "author", "auditor", "review_claim__auditor")
    return rows.defer("document", "findings").get(pk=pk)


class ClaimView(APIView):
    """Who has an item from the queue: taking it, keeping it, giving it back."""

    @extend_schema(operation_id="item_claim", responses={200: ClaimOut, 204: None, **NOT_FOUND})
    def get(self, request: Request, slug: str, number: int) -> Response:
        """204 when nobody has it."""
        return self._answer(get_item_for(request.user, slug, number, with_document=False))

    @extend_schema(
        operation_id="claim_item", request=None, responses={200: ClaimOut, **NOT_FOUND, **REFUSED, **CHANGED}
    )
    def put(self, request: Request, slug: str, number: int) -> Response:
        """Take it. Where you have it, the time begins anew."""
        item = get_item_for(request.user, slug, number, with_document=False)
        claim_item(item, actor=person(request))
        return self._answer(item)

    @extend_schema(operation_id="give_back_item", responses={204: None, **NOT_FOUND, **CHANGED})
    def delete(self, request: Request, slug: str, number: int) -> Response:
        """What you answered stays; it is not the next for you again in this phase."""
        give_back(get_item_for(request.user, slug, number, with_document=False), actor=person(request))
        return Response(status=204)

    def _answer(self, item: Item) -> Response:
        live = ReviewClaim.objects.filter(item=item, expires__gt=timezone.now()).select_related("auditor").first()
        return Response(status=204) if live is None else Response(ClaimOut(live).data)


# --- rules set aside ----------------------------------------------------------------------------------------------


class OverrideOut(serializers.Serializer[Any]):
    id = serializers.IntegerField(source="pk")
    rule = serializers.CharField()
    person = serializers.CharField(source="person.username", allow_null=True, help_text="For whom, if for one alone.")
    reason = serializers.CharField()
    by = serializers.CharField(source="by.username")
    created = serializers.DateTimeField()
    revision = serializers.IntegerField(source="revision_number")


class OverrideIn(serializers.Serializer[Any]):
    rule = serializers.CharField(max_length=40, help_text=", ".join(Rule))
    reason = serializers.CharField()
    person = serializers.CharField(
        required=False, default="", allow_blank=True, help_text="User name; for the rules about one person."
    )


class OverridesView(APIView):
    """Rules that admins set aside for an item, oldest first; and setting one aside, for ever."""

    @extend_schema(
        operation_id="item_overrides",
        parameters=PAGING,
        responses={200: page_out(OverrideOut), 403: REFUSED[403], **NOT_FOUND},
    )
    def get(self, request: Request, slug: str, number: int) -> Response:
        item = get_item_for(request.user, slug, number, with_document=False)
        require_not_blind(request.user, item)
        return page_reply(request, override_rows(item), OverrideOut)

    @extend_schema(
        operation_id="override_rule", request=OverrideIn, responses={201: OverrideOut, **NOT_FOUND, **REFUSED}
    )
    def post(self, request: Request, slug: str, number: int) -> Response:
        item = get_item_for(request.user, slug, number, with_document=False)
        data = read_body(OverrideIn, request)
        name, who = data["person"], None
        if name:
            who = User.objects.filter(username=name, memberships__benchmark=item.benchmark).first()
            if who is None:
                raise Invalid.at("person", _("This person is not a member of the benchmark."))
        row = override_rule(item, data["rule"], data["reason"], person=who, actor=person(request))
        return Response(OverrideOut(override_rows(item).get(pk=row.pk)).data, status=201)


# --- candidate answers --------------------------------------------------------------------------------------------


class CandidateOut(serializers.Serializer[Any]):
    id = serializers.IntegerField(source="candidate.pk")
    candidate = serializers.CharField(source="candidate.answer")
    why = serializers.CharField(source="candidate.why")
    by = serializers.CharField(source="candidate.by.username")
    created = serializers.DateTimeField(source="candidate.created")
    ruled_out_by = serializers.CharField(help_text="The constraint of the rival that rules it out, or empty.")
    withdrawn = serializers.DateTimeField(source="candidate.withdrawn", allow_null=True)
    withdrawn_by = serializers.CharField(source="candidate.withdrawn_by.username", allow_null=True)
    is_open = serializers.BooleanField(help_text="It keeps the item from passing.")


class CandidateIn(serializers.Serializer[Any]):
    candidate = serializers.CharField(max_length=500, help_text="The answer that might fit as well.")
    why = serializers.CharField(help_text="Why it might: the author has to rule it out.")


class CandidatesView(APIView):
    """Other answers that auditors think might fit, oldest first; a rival with a constraint rules one out."""

    @extend_schema(
        operation_id="item_candidates",
        parameters=PAGING,
        responses={200: page_out(CandidateOut), 403: REFUSED[403], **NOT_FOUND},
    )
    def get(self, request: Request, slug: str, number: int) -> Response:
        item = get_item_for(request.user, slug, number)
        require_not_blind(request.user, item)
        page, following = page_of(request, item.candidates.select_related("by", "withdrawn_by"))
        rows = candidate_rows(item, page)
        return Response({"next": following, "results": CandidateOut(rows, many=True).data})

    @extend_schema(
        operation_id="raise_candidate", request=CandidateIn, responses={201: CandidateOut, **NOT_FOUND, **REFUSED}
    )
    def post(self, request: Request, slug: str, number: int) -> Response:
        item = get_item_for(request.user, slug, number)
        data = read_body(CandidateIn, request)
        row = add_candidate(item, data["candidate"], data["why"], actor=person(request))
        [made] = candidate_rows(item, [row])
        return Response(CandidateOut(made).data, status=201)


class CandidateView(APIView):
    """Taking a candidate back; it stays on the list, with who did it and when."""

    @extend_schema(operation_id="withdraw_candidate", responses={204: None, **NOT_FOUND, **REFUSED, **CHANGED})
    def delete(self, request: Request, slug: str, number: int, pk: int) -> Response:
        item = get_item_for(request.user, slug, number)
        if not item.candidates.filter(pk=pk).exists():
            raise Http404
        withdraw_candidate(item, pk, actor=person(request))
        return Response(status=204)
