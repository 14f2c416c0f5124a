"""Items over HTTP: the same permissions, actions and errors as the pages. docs/api.md describes it for its users."""

from collections.abc import Mapping
from typing import Any
from uuid import uuid4

from django.db import IntegrityError
from django.http import Http404, QueryDict
from django.urls import reverse
from django.utils.translation import gettext as _
from drf_spectacular.utils import OpenApiParameter, OpenApiTypes, extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from lhdr_site.shared.api import LARGEST_PAGE, NOT_FOUND, REFUSED, error, person, read_body, whole_of
from lhdr_site.shared.errors import Conflict, Invalid

from . import actions, listing
from .benchmarks import get_benchmark_for, get_item_for
from .candidates import LONGEST_NOTE, REASONS
from .document import SECTIONS, DocumentError, read_document
from .finding_queries import current_findings
from .forms.listing import FilterForm
from .gates import HIDDEN, gate_statuses
from .history_queries import revisions_of
from .models import Item, Membership
from .permissions import may_edit_item
from .states import GateStatus, Role, State

# --- what is sent and received, for the schema ----------------------------------------------------------------------


class BenchmarkOut(serializers.Serializer[Any]):
    slug = serializers.CharField()
    name = serializers.CharField()
    preset = serializers.CharField()
    language = serializers.CharField()
    role = serializers.CharField(help_text="The caller's: annotator, auditor, core or admin.")
    items_url = serializers.CharField()


class ItemRow(serializers.Serializer[Any]):
    number = serializers.IntegerField()
    id = serializers.CharField(help_text="The document's id.")
    state = serializers.ChoiceField(choices=[str(s) for s in State])
    gates = serializers.DictField(
        child=serializers.ChoiceField(choices=[*(str(s) for s in GateStatus), HIDDEN]),
        help_text="“hidden” while you audit the item blind.",
    )
    question = serializers.CharField()
    category = serializers.CharField()
    template = serializers.CharField()
    steps = serializers.IntegerField()
    depth = serializers.IntegerField()
    sources = serializers.IntegerField()
    images = serializers.IntegerField()
    open_comments = serializers.IntegerField()
    errors = serializers.IntegerField(  # type: ignore[assignment]
        allow_null=True, help_text="null until the checks of this document have run."
    )
    warnings = serializers.IntegerField(allow_null=True)
    author = serializers.CharField()
    updated = serializers.DateTimeField()
    revision = serializers.IntegerField()
    document_hash = serializers.CharField()
    url = serializers.CharField()


class ItemPage(serializers.Serializer[Any]):
    count = serializers.IntegerField(help_text="Items that match, on all pages; counting stops at a limit.")
    count_more = serializers.BooleanField(help_text="Counting stopped there: more match.")
    next = serializers.CharField(allow_null=True, help_text="Address of the next page.")
    results = ItemRow(many=True)


class ItemOut(ItemRow):
    section_hashes = serializers.DictField(child=serializers.CharField())
    may_edit = serializers.BooleanField()
    document = serializers.DictField(help_text="The whole item; see docs/formats.md.")


class StrikeIn(serializers.Serializer[Any]):
    key = serializers.CharField(help_text="Of the step to strike.")
    reason = serializers.ChoiceField(choices=list(REASONS))
    merged_into = serializers.CharField(required=False, help_text="Key of the step that says it too; for `merged`.")
    note = serializers.CharField(required=False, max_length=LONGEST_NOTE)


class SectionIn(serializers.Serializer[Any]):
    content = serializers.DictField(help_text="The fields of the section; those left out become empty.")
    base_hash = serializers.CharField(help_text="The section's hash when you read it.")
    message = serializers.CharField(required=False, default="", allow_blank=True, max_length=300)
    unlink_removed = serializers.ChoiceField(choices=["", "lose", "inherit"], required=False, default="")
    save_key = serializers.CharField(required=False, default="", allow_blank=True, max_length=64)
    struck = StrikeIn(many=True, required=False, help_text="Steps to strike from the checklist, each with its reason.")


class SectionOut(serializers.Serializer[Any]):
    section = serializers.CharField()
    hash = serializers.CharField()
    content = serializers.DictField()
    revision = serializers.IntegerField()
    document_hash = serializers.CharField()


class RevisionOut(serializers.Serializer[Any]):
    number = serializers.IntegerField()
    kind = serializers.CharField()
    section = serializers.CharField(help_text="The section that was edited; empty for the whole item.")
    author = serializers.CharField()
    message = serializers.CharField()
    document_hash = serializers.CharField()
    created = serializers.DateTimeField()


class StruckOut(serializers.Serializer[Any]):
    id = serializers.IntegerField(source="pk")
    key = serializers.CharField()
    step = serializers.DictField(help_text="The step as it was.")
    reason = serializers.ChoiceField(choices=list(REASONS))
    merged_into = serializers.CharField(help_text="Key of the step that says it too, or empty.")
    note = serializers.CharField()
    by = serializers.CharField(source="by.username")
    created = serializers.DateTimeField()
    revision = serializers.IntegerField(source="revision_number", help_text="The first without it.")
    restored = serializers.DateTimeField(allow_null=True, help_text="When it was taken back.")


class ChecksOut(serializers.Serializer[Any]):
    document_hash = serializers.CharField()
    errors = serializers.IntegerField()  # type: ignore[assignment]
    warnings = serializers.IntegerField(help_text="Without those that were set aside.")
    findings = serializers.ListField(child=serializers.DictField())


_LIST_PARAMETERS = [
    OpenApiParameter("limit", int, description=f"Rows a page, at most {LARGEST_PAGE}; {listing.PAGE} without it."),
    OpenApiParameter("after", str, description="Cursor of the page; take it from `next`."),
    OpenApiParameter(
        "q", str, description='Words that must all occur, "phrases", -words that must not, #number, or an id.'
    ),
    OpenApiParameter("state", str, many=True, enum=[str(s) for s in State]),
    OpenApiParameter("category", str, many=True),
    OpenApiParameter("template", str, enum=["linear", "multi_branch", "none"]),
    OpenApiParameter("tag", str, many=True, description="All of them."),
    OpenApiParameter("author", str, description="A user name."),
    OpenApiParameter("auditor", str, description="A user name."),
    OpenApiParameter("gate", str, enum=["open", "failed", "stale"], description="At least one gate has this status."),
    OpenApiParameter("has_errors", bool, description="Only items whose checks found errors."),
    OpenApiParameter("days", int, description="Updated within so many days: 1, 3, 7, 30 or 90."),
    OpenApiParameter("sort", str, enum=list(listing.SORTS)),
    OpenApiParameter("ascending", bool),
]


# --- rows -----------------------------------------------------------------------------------------------------------


def _row(item: Item, slug: str) -> dict[str, Any]:
    checked = item.checked_hash == item.document_hash
    return {
        "number": item.number,
        "id": item.uid,
        "state": item.state,
        "gates": gate_statuses(item),
        "question": item.question,
        "category": item.category,
        "template": item.template,
        "steps": item.steps,
        "depth": item.depth,
        "sources": item.sources,
        "images": item.images,
        "open_comments": item.open_comments,
        "errors": item.errors if checked else None,
        "warnings": item.warnings if checked else None,
        "author": item.author.get_username(),
        "updated": item.updated,
        "revision": item.revision_number,
        "document_hash": item.document_hash,
        "url": reverse("api-item", args=[slug, item.number]),
    }


def _whole(item: Item, user: Any, slug: str) -> dict[str, Any]:
    return {
        **_row(item, slug),
        "section_hashes": item.section_hashes,
        "may_edit": bool(may_edit_item(user, item)),
        "document": item.document,
    }


def section_json(item: Item, section: str) -> dict[str, Any]:
    return {
        "section": section,
        "hash": item.section_hashes[section],
        "content": {name: item.document[name] for name in SECTIONS[section]},
        "revision": item.revision_number,
        "document_hash": item.document_hash,
    }


def _object(data: Any) -> Mapping[str, Any]:
    if isinstance(data, Mapping) and not isinstance(data, QueryDict):
        return data
    raise Invalid(_("The body must be a JSON object."), code="not_an_object")


# --- addresses ------------------------------------------------------------------------------------------------------


class BenchmarkList(APIView):
    """The benchmarks you are a member of."""

    @extend_schema(operation_id="list_benchmarks", responses=BenchmarkOut(many=True))
    def get(self, request: Request) -> Response:
        rows = Membership.objects.filter(user=person(request)).select_related("benchmark").order_by("benchmark__name")
        return Response(
            [
                {
                    "slug": m.benchmark.slug,
                    "name": m.benchmark.name,
                    "preset": m.benchmark.preset,
                    "language": m.benchmark.language,
                    "role": Role(m.role).name.lower(),
                    "items_url": reverse("api-items", args=[m.benchmark.slug]),
                }
                for m in rows
            ]
        )


class ItemList(APIView):
    """A benchmark's items, without their documents; and a new one from a document."""

    @extend_schema(operation_id="list_items", parameters=_LIST_PARAMETERS, responses={200: ItemPage, **NOT_FOUND})
    def get(self, request: Request, slug: str) -> Response:
        benchmark = get_benchmark_for(person(request), slug)
        form = FilterForm(request.query_params, benchmark, [])
        filters = form.filters()
        if form.errors:
            problems = [{"path": n, "message": str(e)} for n, errors in form.errors.items() for e in errors]
            raise Invalid.of(problems)
        size = whole_of(request, "limit", listing.PAGE, least=1, largest=LARGEST_PAGE)
        after = request.query_params.get("after", "")
        page = listing.item_list(benchmark, filters, request.user, after=after, size=size)
        query = request.query_params.copy()
        query["after"] = page.after
        following = f"{reverse('api-items', args=[slug])}?{query.urlencode()}" if page.after else None
        rows = [_row(item, slug) for item in page.items]
        return Response({"count": int(page.total), "count_more": page.total.more, "next": following, "results": rows})

    @extend_schema(
        operation_id="create_item",
        request=OpenApiTypes.OBJECT,
        responses={201: ItemOut, **REFUSED, **NOT_FOUND, 409: error("The id is taken.")},
    )
    def post(self, request: Request, slug: str) -> Response:
        benchmark = get_benchmark_for(person(request), slug)
        data = {"language": benchmark.language, "canary": benchmark.canary, **_object(request.data)}
        if not data.get("id"):
            data["id"] = str(uuid4())
        try:
            document = read_document(data)
        except DocumentError as error:
            problems = [{"path": p.path, "message": p.message} for p in error.problems]
            raise Invalid(str(error), problems=problems) from error
        try:
            item = actions.create_item(benchmark, actor=person(request), document=document)
        except IntegrityError as error:  # the only thing that can clash is the id
            text = _("An item with this id exists already; leave the id out, or change it.")
            raise Conflict(text, code="id_taken") from error
        item = get_item_for(person(request), slug, item.number)
        url = reverse("api-item", args=[slug, item.number])
        return Response(_whole(item, request.user, slug), status=201, headers={"Location": url})


class ItemDetail(APIView):
    """One item with its document and the hashes that a save starts from."""

    @extend_schema(operation_id="read_item", responses={200: ItemOut, **NOT_FOUND})
    def get(self, request: Request, slug: str, number: int) -> Response:
        return Response(_whole(get_item_for(person(request), slug, number), request.user, slug))


class SectionDetail(APIView):
    """Replace one section, if it is still the one that you read."""

    @extend_schema(
        operation_id="save_section",
        parameters=[OpenApiParameter("section", str, OpenApiParameter.PATH, enum=list(SECTIONS))],
        request=SectionIn,
        responses={
            200: SectionOut,
            **REFUSED,
            **NOT_FOUND,
            409: error("Somebody changed it meanwhile: `theirs`, `yours`, and the `hash` to start from next."),
        },
    )
    def put(self, request: Request, slug: str, number: int, section: str) -> Response:
        item = get_item_for(person(request), slug, number)
        if section not in SECTIONS:
            raise Http404
        sent = _object(request.data)
        data = read_body(SectionIn, request)
        # The document reads the content as it was sent; the serializer's copy is not exactly that.
        content, base_hash = sent["content"], data.pop("base_hash")
        data.pop("content")
        item = actions.save_section(item, section, content, base_hash, actor=person(request), **data)
        return Response(section_json(item, section))


class RevisionList(APIView):
    """An item's revisions, newest first, without their documents."""

    @extend_schema(operation_id="list_revisions", responses={200: RevisionOut(many=True), **NOT_FOUND})
    def get(self, request: Request, slug: str, number: int) -> Response:
        item = get_item_for(person(request), slug, number)
        return Response(
            [
                {
                    "number": r.number,
                    "kind": r.kind,
                    "section": r.section,
                    "author": r.author.get_username(),
                    "message": r.message,
                    "document_hash": r.document_hash,
                    "created": r.created,
                }
                for r in revisions_of(item)
            ]
        )


class CheckList(APIView):
    """What the checks find in the present document."""

    @extend_schema(operation_id="list_findings", responses={200: ChecksOut, **NOT_FOUND})
    def get(self, request: Request, slug: str, number: int) -> Response:
        item = get_item_for(person(request), slug, number)
        found = current_findings(item)
        standing = [f for f in found if not f.dismissed]
        return Response(
            {
                "document_hash": item.document_hash,
                "errors": sum(f.level == "error" for f in standing),
                "warnings": sum(f.level == "warning" for f in standing),
                "findings": [{**f.data, "dismissed": f.dismissed.reason if f.dismissed else None} for f in found],
            }
        )
