"""Over HTTP what is a person's own, before and beside saving: drafts, notices, ideas for items, striking steps."""

from typing import Any
from urllib.parse import urlencode

from django.http import Http404
from django.urls import reverse
from django.utils.translation import gettext as _
from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from lhdr_site.shared.api import (
    CHANGED,
    NOT_FOUND,
    PAGING,
    REFUSED,
    choice_of,
    page_out,
    page_reply,
    person,
    read_body,
)
from lhdr_site.shared.errors import Invalid

from . import actions, drafts, notice_actions, notices, planning, seed_actions, struck_actions
from .api import SectionOut, StrikeIn, StruckOut, section_json
from .benchmarks import get_benchmark_for, get_item_for
from .document import SECTIONS
from .models import Benchmark, Draft, Item, Notice, Seed

SECTION = [OpenApiParameter("section", str, OpenApiParameter.PATH, enum=list(SECTIONS))]
VIEWS = ("open", "mine", "all")
NOTICES = ("open", "all")
ACTS = ("claim", "give_back", "drop", "start")


# --- drafts -------------------------------------------------------------------------------------------------------


class DraftOut(serializers.Serializer[Any]):
    section = serializers.CharField()
    base_hash = serializers.CharField(help_text="Of the section that the text started from.")
    form = serializers.SerializerMethodField(help_text="Name -> texts, as the form of the page has them.")
    updated = serializers.DateTimeField()

    def get_form(self, draft: Draft) -> dict[str, list[str]]:
        return dict(draft.fields.lists())


class DraftIn(serializers.Serializer[Any]):
    base_hash = serializers.CharField(max_length=64, help_text="The section's hash when you read it.")
    form = serializers.DictField(
        child=serializers.ListField(child=serializers.CharField(allow_blank=True, trim_whitespace=False)),
        help_text="Name -> texts, as the form of the page has them.",
    )
    save_key = serializers.CharField(
        required=False, default="", allow_blank=True, max_length=64, help_text="Key of the form's saves."
    )


class DraftList(APIView):
    """Your own unsaved texts of an item, by section. Nobody else reads them."""

    @extend_schema(operation_id="list_drafts", parameters=PAGING, responses={200: page_out(DraftOut), **NOT_FOUND})
    def get(self, request: Request, slug: str, number: int) -> Response:
        item = get_item_for(person(request), slug, number, with_document=False)
        return page_reply(request, item.drafts.filter(user=person(request), section__in=SECTIONS), DraftOut)


class DraftDetail(APIView):
    """Keeping unsaved text of a section, in place of what was kept before; forgetting it."""

    def _item(self, request: Request, slug: str, number: int, section: str) -> Item:
        item = get_item_for(person(request), slug, number, with_document=False)
        if section not in SECTIONS:
            raise Http404
        return item

    @extend_schema(
        operation_id="keep_draft",
        parameters=SECTION,
        request=DraftIn,
        responses={200: DraftOut, 204: None, **NOT_FOUND, **REFUSED},
    )
    def put(self, request: Request, slug: str, number: int, section: str) -> Response:
        """204, and nothing is kept, when the form with this `save_key` was saved already."""
        item = self._item(request, slug, number, section)
        data = read_body(DraftIn, request)
        body = urlencode(data["form"], doseq=True)
        draft = drafts.keep_draft(
            item, section, data["base_hash"], body, actor=person(request), form_key=data["save_key"]
        )
        return Response(status=204) if draft is None else Response(DraftOut(draft).data)

    @extend_schema(operation_id="drop_draft", parameters=SECTION, responses={204: None, **NOT_FOUND})
    def delete(self, request: Request, slug: str, number: int, section: str) -> Response:
        drafts.drop_draft(self._item(request, slug, number, section), section, actor=person(request))
        return Response(status=204)


# --- notices ------------------------------------------------------------------------------------------------------


class NoticeOut(serializers.Serializer[Any]):
    id = serializers.IntegerField(source="pk")
    kind = serializers.CharField(help_text=", ".join(notices.INBOX))
    benchmark = serializers.CharField(source="benchmark.slug")
    item = serializers.IntegerField(source="item.number", allow_null=True, default=None)
    sentence = serializers.SerializerMethodField(help_text="Who did what, or what ended and how.")
    said = serializers.SerializerMethodField(help_text="The comment, the note or the reason.")
    path = serializers.SerializerMethodField(help_text="The page that it leads to.")
    created = serializers.DateTimeField()
    done = serializers.DateTimeField(allow_null=True)

    def get_sentence(self, notice: Notice) -> str:
        return notices.sentence(notice)

    def get_said(self, notice: Notice) -> str:
        return notices.said(notice)

    def get_path(self, notice: Notice) -> str:
        return notices.path_of(notice)


class NoticeList(APIView):
    """What is addressed to you in all your benchmarks, the newest first."""

    @extend_schema(
        operation_id="list_notices",
        parameters=[OpenApiParameter("view", str, enum=NOTICES, description="`open` without it."), *PAGING],
        responses={200: page_out(NoticeOut), 422: REFUSED[422]},
    )
    def get(self, request: Request) -> Response:
        rows = notices.addressed_to(request.user)
        if choice_of(request, "view", NOTICES, "open") == "open":
            rows = rows.filter(done=None)
        return page_reply(request, rows, NoticeOut, newest_first=True)


class NoticeDone(APIView):
    """Setting aside what is addressed to you."""

    @extend_schema(operation_id="finish_notice", request=None, responses={204: None, **NOT_FOUND})
    def post(self, request: Request, pk: int) -> Response:
        if not notices.addressed_to(request.user).filter(pk=pk).exists():
            raise Http404
        notice_actions.finish_notices(actor=person(request), pk=pk)
        return Response(status=204)


# --- ideas --------------------------------------------------------------------------------------------------------


class IdeaOut(serializers.Serializer[Any]):
    id = serializers.IntegerField(source="pk")
    title = serializers.CharField()
    body = serializers.CharField(help_text="Notes.")
    url = serializers.CharField(help_text="The starting point.")
    category = serializers.CharField()
    status = serializers.CharField(help_text=", ".join(Seed.Status.values))
    author = serializers.CharField(source="author.username")
    created = serializers.DateTimeField()
    claimed_by = serializers.CharField(source="claimed_by.username", allow_null=True)
    claimed = serializers.DateTimeField(allow_null=True)
    item = serializers.IntegerField(source="item.number", allow_null=True, help_text="What became of it.")
    reason = serializers.CharField(help_text="Why it was dropped.")


class IdeaIn(serializers.Serializer[Any]):
    title = serializers.CharField(required=False, default="", allow_blank=True, max_length=200)
    body = serializers.CharField(required=False, default="", allow_blank=True)
    url = serializers.CharField(required=False, default="", allow_blank=True)
    category = serializers.CharField(required=False, default="", allow_blank=True, max_length=200)
    lines = serializers.CharField(
        required=False, default="", allow_blank=True, help_text="Instead of a title: one idea a line."
    )


class IdeaActIn(serializers.Serializer[Any]):
    act = serializers.ChoiceField(choices=ACTS)
    reason = serializers.CharField(
        required=False, default="", allow_blank=True, max_length=300, help_text="Why it is dropped."
    )


class IdeaStartedOut(IdeaOut):
    item_url = serializers.CharField(required=False, help_text="After `start`.")


def _idea(benchmark: Benchmark, request: Request, pk: int) -> Seed:
    seed = planning.seeds_of(benchmark, request.user, "all").filter(pk=pk).first()
    if seed is None:
        raise Http404
    return seed


class IdeaList(APIView):
    """Ideas for items, the newest first; and adding one, or many at once."""

    @extend_schema(
        operation_id="list_ideas",
        parameters=[OpenApiParameter("view", str, enum=VIEWS, description="`open` without it."), *PAGING],
        responses={200: page_out(IdeaOut), 422: REFUSED[422], **NOT_FOUND},
    )
    def get(self, request: Request, slug: str) -> Response:
        benchmark = get_benchmark_for(person(request), slug)
        view = choice_of(request, "view", VIEWS, "open")
        return page_reply(request, planning.seeds_of(benchmark, request.user, view), IdeaOut, newest_first=True)

    @extend_schema(
        operation_id="add_ideas", request=IdeaIn, responses={201: IdeaOut(many=True), **NOT_FOUND, **REFUSED}
    )
    def post(self, request: Request, slug: str) -> Response:
        """All of them or none."""
        benchmark = get_benchmark_for(person(request), slug)
        one = read_body(IdeaIn, request)
        lines = one.pop("lines")
        if lines and one["title"]:
            raise Invalid.at("lines", _("Send either a title or lines."))
        seeds = seed_actions.seeds_in(lines) if lines else [one] if any(one.values()) else []
        seeds = [{**seed, "category": one["category"]} for seed in seeds]
        added = seed_actions.add_seeds(benchmark, seeds, actor=person(request))
        return Response(IdeaOut(added, many=True).data, status=201)


class IdeaDetail(APIView):
    """One idea; claiming it, giving it back, dropping it, starting its item."""

    @extend_schema(operation_id="read_idea", responses={200: IdeaOut, **NOT_FOUND})
    def get(self, request: Request, slug: str, pk: int) -> Response:
        return Response(IdeaOut(_idea(get_benchmark_for(person(request), slug), request, pk)).data)

    @extend_schema(
        operation_id="act_on_idea",
        request=IdeaActIn,
        responses={200: IdeaStartedOut, **NOT_FOUND, **REFUSED, **CHANGED},
    )
    def post(self, request: Request, slug: str, pk: int) -> Response:
        """Who comes too late gets 409 with who has it."""
        benchmark = get_benchmark_for(person(request), slug)
        seed = _idea(benchmark, request, pk)
        data = read_body(IdeaActIn, request)
        more = {}
        if data["act"] == "start":
            item = seed_actions.start_item(seed, actor=person(request))
            more["item_url"] = reverse("api-item", args=[slug, item.number])
        elif data["act"] == "claim":
            seed_actions.claim_seed(seed, actor=person(request))
        elif data["act"] == "give_back":
            seed_actions.give_back_seed(seed, actor=person(request))
        else:
            seed_actions.drop_seed(seed, data["reason"], actor=person(request))
        return Response({**IdeaOut(_idea(benchmark, request, pk)).data, **more})


# --- struck steps -------------------------------------------------------------------------------------------------


class StrikesIn(serializers.Serializer[Any]):
    struck = StrikeIn(many=True, allow_empty=False)
    base_hash = serializers.CharField(max_length=64, help_text="The checklist's hash when you read it.")
    message = serializers.CharField(required=False, default="", allow_blank=True, max_length=300)
    save_key = serializers.CharField(required=False, default="", allow_blank=True, max_length=64)


class StruckList(APIView):
    """Steps that were struck from an item's checklist, oldest first, with those that were taken back."""

    @extend_schema(operation_id="list_struck_steps", responses={200: StruckOut(many=True), **NOT_FOUND})
    def get(self, request: Request, slug: str, number: int) -> Response:
        item = get_item_for(person(request), slug, number, with_document=False)
        return Response(StruckOut(item.struck_steps.select_related("by"), many=True).data)

    @extend_schema(
        operation_id="strike_steps",
        request=StrikesIn,
        responses={200: SectionOut, **NOT_FOUND, **REFUSED, **CHANGED},
    )
    def post(self, request: Request, slug: str, number: int) -> Response:
        """Strike steps of the checklist as it is. Their dependents go on with what they needed."""
        item = get_item_for(person(request), slug, number)
        data = read_body(StrikesIn, request)
        content = {name: item.document[name] for name in SECTIONS["checklist"]}
        item = actions.save_section(item, "checklist", content, data.pop("base_hash"), actor=person(request), **data)
        return Response(section_json(item, "checklist"))


class StruckTakeBack(APIView):
    """A struck step becomes a step again, before the final one."""

    @extend_schema(
        operation_id="take_back_step",
        request=None,
        responses={200: SectionOut, **NOT_FOUND, **REFUSED, **CHANGED},
    )
    def post(self, request: Request, slug: str, number: int, pk: int) -> Response:
        """It keeps its key, if that is free."""
        item = get_item_for(person(request), slug, number)
        struck = item.struck_steps.filter(pk=pk).first()
        if struck is None:
            raise Http404
        return Response(section_json(struck_actions.take_back(struck, actor=person(request)), "checklist"))
