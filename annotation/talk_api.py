"""Comments and suggested edits over HTTP: the same permissions, actions and errors as the pages."""

from typing import Any

from django.http import Http404
from django.utils.translation import gettext as _
from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from lhdr_site.shared.api import NOT_FOUND, REFUSED, error, person, read_body
from lhdr_site.shared.errors import Invalid

from . import comment_actions, suggestion_actions
from .benchmarks import get_item_for
from .gates import heard
from .models import Comment, Item, Suggestion


class CommentOut(serializers.Serializer[Any]):
    id = serializers.IntegerField()
    parent = serializers.IntegerField(allow_null=True)  # type: ignore[assignment]
    anchor = serializers.CharField(help_text="A section, a field or an element's key; empty for the whole item.")
    body = serializers.CharField(help_text="Markdown; empty where it was deleted.")
    author = serializers.CharField()
    created = serializers.DateTimeField()
    edited = serializers.DateTimeField(allow_null=True)
    deleted = serializers.DateTimeField(allow_null=True)
    blocking = serializers.BooleanField()
    resolved = serializers.DateTimeField(allow_null=True)
    resolved_by = serializers.CharField(allow_null=True)
    mentions = serializers.ListField(child=serializers.CharField())


class CommentIn(serializers.Serializer[Any]):
    body = serializers.CharField(trim_whitespace=False)
    anchor = serializers.CharField(required=False, default="", allow_blank=True, max_length=60)
    blocking = serializers.BooleanField(required=False, default=False)
    parent = serializers.IntegerField(required=False, allow_null=True, default=None)  # type: ignore[assignment]


class CommentChange(serializers.Serializer[Any]):
    body = serializers.CharField(required=False, trim_whitespace=False)
    resolved = serializers.BooleanField(required=False)
    blocking = serializers.BooleanField(required=False)


class SuggestionOut(serializers.Serializer[Any]):
    id = serializers.IntegerField()
    path = serializers.CharField()
    before = serializers.CharField(help_text="The text it was made for.")
    after = serializers.CharField()
    note = serializers.CharField()
    status = serializers.ChoiceField(choices=Suggestion.Status.choices)
    author = serializers.CharField()
    created = serializers.DateTimeField()
    decided = serializers.DateTimeField(allow_null=True)
    decided_by = serializers.CharField(allow_null=True)
    reason = serializers.CharField()
    revision = serializers.IntegerField(allow_null=True)


class SuggestionIn(serializers.Serializer[Any]):
    path = serializers.CharField(max_length=100, help_text="question, c3.conclusion, …")
    after = serializers.CharField(allow_blank=True, trim_whitespace=False)
    before = serializers.CharField(
        required=False,
        allow_blank=True,
        allow_null=True,
        default=None,
        trim_whitespace=False,
        help_text="The text that you saw; 409 when it is another one now.",
    )
    note = serializers.CharField(required=False, default="", allow_blank=True)


class DecisionIn(serializers.Serializer[Any]):
    decision = serializers.ChoiceField(choices=["accept", "decline", "withdraw"])
    reason = serializers.CharField(required=False, default="", allow_blank=True)
    over = serializers.CharField(
        required=False,
        allow_blank=True,
        allow_null=True,
        default=None,
        trim_whitespace=False,
        help_text="The present text that the suggested one may replace when they cannot be merged.",
    )


_CHANGED = {409: error("Decided already, or the text changed since; `now` is the present one.")}


def _comment(row: Comment) -> dict[str, Any]:
    return {
        "id": row.pk,
        "parent": row.parent_id,
        "anchor": row.anchor,
        "body": row.body,
        "author": row.author.get_username(),
        "created": row.created,
        "edited": row.edited,
        "deleted": row.deleted,
        "blocking": row.blocking,
        "resolved": row.resolved,
        "resolved_by": row.resolved_by.get_username() if row.resolved_by else None,
        "mentions": sorted(m.user.get_username() for m in row.mentions.all()),
    }


def _suggestion(row: Suggestion) -> dict[str, Any]:
    return {
        "id": row.pk,
        "path": row.path,
        "before": row.before,
        "after": row.after,
        "note": row.note,
        "status": row.status,
        "author": row.author.get_username(),
        "created": row.created,
        "decided": row.decided,
        "decided_by": row.decided_by.get_username() if row.decided_by else None,
        "reason": row.reason,
        "revision": row.revision_number,
    }


def _comments(item: Item) -> Any:
    return item.comments.select_related("author", "resolved_by").prefetch_related("mentions__user").order_by("pk")


class CommentList(APIView):
    """An item's comments, oldest first; and a new one, or a reply. Only your own while you audit it blind."""

    @extend_schema(operation_id="list_comments", responses={200: CommentOut(many=True), **NOT_FOUND})
    def get(self, request: Request, slug: str, number: int) -> Response:
        item = get_item_for(person(request), slug, number)
        return Response([_comment(row) for row in heard(_comments(item), item, request.user)])

    @extend_schema(operation_id="add_comment", request=CommentIn, responses={201: CommentOut, **REFUSED, **NOT_FOUND})
    def post(self, request: Request, slug: str, number: int) -> Response:
        item = get_item_for(person(request), slug, number)
        data = read_body(CommentIn, request)
        parent_pk, parent = data.pop("parent"), None
        if parent_pk is not None:
            parent = item.comments.filter(pk=parent_pk).first() if 0 < parent_pk < 2**62 else None
            if parent is None:
                raise Invalid.at("parent", _("There is no such comment on this item."), code="no_parent")
        made = comment_actions.add_comment(item, data.pop("body"), actor=person(request), parent=parent, **data)
        return Response(_comment(_comments(item).get(pk=made.pk)), status=201)


class CommentDetail(APIView):
    """Change one's own text, resolve or reopen a thread, let it block or not; delete one's own."""

    def _row(self, request: Request, slug: str, number: int, pk: int) -> tuple[Item, Comment]:
        item = get_item_for(person(request), slug, number)
        row = item.comments.filter(pk=pk).first() if pk < 2**62 else None
        if row is None:
            raise Http404
        return item, row

    @extend_schema(
        operation_id="change_comment", request=CommentChange, responses={200: CommentOut, **REFUSED, **NOT_FOUND}
    )
    def patch(self, request: Request, slug: str, number: int, pk: int) -> Response:
        item, row = self._row(request, slug, number, pk)
        data = read_body(CommentChange, request)
        if len(data) != 1:
            raise Invalid(_("Send one of body, resolved or blocking."), code="one_change")
        if "body" in data:
            comment_actions.edit_comment(row, data["body"], actor=person(request))
        elif row.parent_id is not None:
            raise Invalid(_("Only the first comment of a thread is resolved or blocks."), code="reply")
        elif "resolved" in data:
            comment_actions.resolve_comment(row, actor=person(request), resolved=data["resolved"])
        else:
            comment_actions.set_blocking(row, data["blocking"], actor=person(request))
        return Response(_comment(_comments(item).get(pk=pk)))

    @extend_schema(operation_id="delete_comment", responses={204: None, **REFUSED, **NOT_FOUND})
    def delete(self, request: Request, slug: str, number: int, pk: int) -> Response:
        _item, row = self._row(request, slug, number, pk)
        comment_actions.delete_comment(row, actor=person(request))
        return Response(status=204)


class SuggestionList(APIView):
    """Edits that were suggested for an item, oldest first; and a new one. Only your own while you audit it blind."""

    @extend_schema(operation_id="list_suggestions", responses={200: SuggestionOut(many=True), **NOT_FOUND})
    def get(self, request: Request, slug: str, number: int) -> Response:
        item = get_item_for(person(request), slug, number)
        rows = item.suggestions.select_related("author", "decided_by")
        return Response([_suggestion(row) for row in heard(rows, item, request.user)])

    @extend_schema(
        operation_id="suggest_edit",
        request=SuggestionIn,
        responses={201: SuggestionOut, **REFUSED, **NOT_FOUND, **_CHANGED},
    )
    def post(self, request: Request, slug: str, number: int) -> Response:
        item = get_item_for(person(request), slug, number)
        data = read_body(SuggestionIn, request)
        made = suggestion_actions.suggest_edit(
            item, data["path"], data["after"], before=data["before"], note=data["note"], actor=person(request)
        )
        return Response(_suggestion(made), status=201)


class SuggestionDetail(APIView):
    """Accept, decline (with a reason) or withdraw a suggested edit."""

    @extend_schema(
        operation_id="decide_suggestion",
        request=DecisionIn,
        responses={200: SuggestionOut, **REFUSED, **NOT_FOUND, **_CHANGED},
    )
    def post(self, request: Request, slug: str, number: int, pk: int) -> Response:
        item = get_item_for(person(request), slug, number)
        row = item.suggestions.filter(pk=pk).select_related("item__benchmark").first() if pk < 2**62 else None
        if row is None:
            raise Http404
        data = read_body(DecisionIn, request)
        if data["decision"] == "accept":
            suggestion_actions.accept_suggestion(row, actor=person(request), over=data["over"])
        elif data["decision"] == "decline":
            suggestion_actions.decline_suggestion(row, data["reason"], actor=person(request))
        else:
            suggestion_actions.withdraw_suggestion(row, actor=person(request))
        return Response(_suggestion(item.suggestions.select_related("author", "decided_by").get(pk=pk)))
