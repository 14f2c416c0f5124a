"""The link check over HTTP: what is known of URLs, asking for a check, a person's dated word on one."""

from typing import Any

from django.http import Http404
from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from annotation.benchmarks import Item, get_benchmark_for, get_item_for
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
    whole_of,
)

from .link_actions import ask_checks, vouch_link
from .link_queries import SHOWN, Link, checked_links, links_of
from .models import LinkCheck


class LinkCheckOut(serializers.Serializer[Any]):
    id = serializers.IntegerField(source="pk")
    source = serializers.CharField(help_text="The source's key.")  # type: ignore[assignment]
    url = serializers.CharField()
    status = serializers.CharField(help_text=", ".join(LinkCheck.Status.values))
    reason = serializers.CharField(help_text="Why; a person's note.")
    by = serializers.CharField(source="by.username", allow_null=True, help_text="null: the machine.")
    http_status = serializers.IntegerField(allow_null=True)
    final_url = serializers.CharField()
    content_type = serializers.CharField()
    title = serializers.CharField()
    quote_found = serializers.BooleanField(allow_null=True)
    quote_score = serializers.IntegerField(allow_null=True, help_text="Likeness of the text to the quote, %.")
    changed = serializers.BooleanField(allow_null=True, help_text="Against the check before it.")
    created = serializers.DateTimeField()


class ListedLinkOut(LinkCheckOut):
    item = serializers.IntegerField(source="item_number")
    state = serializers.CharField(source="item_state")
    vouched = serializers.BooleanField(help_text="A person opened it since.")


class LinkOut(serializers.Serializer[Any]):
    source = serializers.CharField(help_text="The source's key.")  # type: ignore[assignment]
    url = serializers.CharField()
    url_hash = serializers.CharField(help_text="Send it as `seen` with your word.")
    status = serializers.CharField(help_text="What counts now; empty when nobody looked.")
    waiting = serializers.SerializerMethodField(help_text="A check is asked for.")
    machine = LinkCheckOut(allow_null=True)
    person = LinkCheckOut(allow_null=True)

    def get_waiting(self, link: Link) -> bool:
        return link.job is not None


class LinksOut(serializers.Serializer[Any]):
    hash = serializers.CharField(help_text="Of the document.")
    links = LinkOut(many=True)


class AskIn(serializers.Serializer[Any]):
    source = serializers.CharField(  # type: ignore[assignment]
        required=False,
        default="",
        allow_blank=True,
        help_text="A key: ask for this one anew. Without it all are asked for that were not within a day.",
    )


class VouchIn(serializers.Serializer[Any]):
    seen = serializers.CharField(max_length=64, help_text="`url_hash` of the URL that you opened.")
    note = serializers.CharField(help_text="What you saw.")
    opens = serializers.BooleanField(required=False, default=True, help_text="false: it is dead.")


def _links(item: Item) -> Response:
    links = links_of(item).values()
    return Response(LinksOut({"hash": item.document_hash, "links": list(links)}).data)


class ItemLinksView(APIView):
    """Every source's URL with the latest words of machine and people."""

    @extend_schema(operation_id="item_links", responses={200: LinksOut, **NOT_FOUND})
    def get(self, request: Request, slug: str, number: int) -> Response:
        return _links(get_item_for(request.user, slug, number))

    @extend_schema(operation_id="check_links", request=AskIn, responses={202: LinksOut, **NOT_FOUND, **REFUSED})
    def post(self, request: Request, slug: str, number: int) -> Response:
        """Have the worker ask for the URLs, all or that of one source."""
        item = get_item_for(request.user, slug, number)
        source = read_body(AskIn, request)["source"]
        ask_checks(item, [source] if source else [], actor=person(request))
        reply = _links(item)
        reply.status_code = 202
        return reply


class LinkView(APIView):
    """Every check of one source's URL, the newest first; and a person's word on it."""

    @extend_schema(operation_id="link_checks", parameters=PAGING, responses={200: page_out(LinkCheckOut), **NOT_FOUND})
    def get(self, request: Request, slug: str, number: int, source: str) -> Response:
        item = get_item_for(request.user, slug, number)
        if source not in {each["key"] for each in item.document["sources"]}:
            raise Http404
        rows = item.link_checks.filter(source=source).select_related("by").defer("extract")
        return page_reply(request, rows, LinkCheckOut, newest_first=True)

    @extend_schema(
        operation_id="vouch_link",
        request=VouchIn,
        responses={201: LinkCheckOut, **NOT_FOUND, **REFUSED, **CHANGED},
    )
    def post(self, request: Request, slug: str, number: int, source: str) -> Response:
        """That you opened the URL yourself, or found it dead. 409 where the source changed since you read it."""
        item = get_item_for(request.user, slug, number)
        row = vouch_link(item, source, **read_body(VouchIn, request), actor=person(request))
        return Response(LinkCheckOut(row).data, status=201)


class LinkListView(APIView):
    """The machine's latest word on every source of a benchmark, the newest first."""

    @extend_schema(
        operation_id="list_links",
        parameters=[
            OpenApiParameter("show", str, enum=list(SHOWN), description="`problems` without it."),
            OpenApiParameter("item", int, description="Number of one item."),
            *PAGING,
        ],
        responses={200: page_out(ListedLinkOut), 422: REFUSED[422], **NOT_FOUND},
    )
    def get(self, request: Request, slug: str) -> Response:
        benchmark = get_benchmark_for(request.user, slug)
        number = whole_of(request, "item", 0, least=1, largest=2**31 - 1) or None
        show = choice_of(request, "show", list(SHOWN), "problems")
        rows = checked_links(benchmark, number=number).filter(SHOWN[show])
        return page_reply(request, rows, ListedLinkOut, newest_first=True)
