"""What the addresses of the API share: who asks, bodies, pages of rows, and the errors of the schema."""

from collections.abc import Mapping, Sequence
from typing import Any, TypeVar, cast

from django.contrib.auth.models import User
from django.db.models import Model, QuerySet
from django.utils.translation import gettext as _
from drf_spectacular.utils import OpenApiParameter, OpenApiResponse, inline_serializer
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from .errors import Invalid
from .numbers import read_whole

PAGE = 50
LARGEST_PAGE = 200
LARGEST_KEY = 10**18 - 1
Row = TypeVar("Row", bound=Model)


# --- for the schema -----------------------------------------------------------------------------------------------


class ProblemOut(serializers.Serializer[Any]):
    path = serializers.CharField()
    message = serializers.CharField()


class ErrorOut(serializers.Serializer[Any]):
    code = serializers.CharField(help_text="For programs.")
    message = serializers.CharField(help_text="For people: what is wrong, and what to do.")
    problems = ProblemOut(many=True, required=False)


def error(text: str) -> OpenApiResponse:
    return OpenApiResponse(ErrorOut, text)


NOT_FOUND = {404: error("No such thing, or you are no member of the benchmark.")}
REFUSED = {403: error("Not logged in, or not allowed; the message says why."), 422: error("What is wrong, by path.")}
CHANGED = {409: error("It changed meanwhile, or is in another state by now.")}
PAGING = [
    OpenApiParameter("limit", int, description=f"Rows a page, at most {LARGEST_PAGE}; {PAGE} without it."),
    OpenApiParameter("after", int, description="Cursor of the page; take it from `next`."),
]


def page_out(row: type[serializers.Serializer[Any]], **more: serializers.Field[Any, Any, Any, Any]) -> Any:
    """The shape of a page of rows, and of what else stands beside them."""
    following = serializers.CharField(allow_null=True, help_text="Address of the next page.")
    name = row.__name__.removesuffix("Out") + "Page"
    return inline_serializer(name, {**more, "next": following, "results": row(many=True)})


# --- asking and answering -----------------------------------------------------------------------------------------


def person(request: Request) -> User:
    """Who asks: the default permission lets in nobody who is not logged in."""
    return cast(User, request.user)


def read_body(
    serializer: type[serializers.Serializer[Any]], request: Request, *, partial: bool = False
) -> dict[str, Any]:
    """The body's values; 422 naming each field that is wrong, and each that there is none of: who misspells a budget
    must not get a run without one. partial: fields may be left out."""
    given = serializer(data=request.data, partial=partial)
    errors: dict[str, Any] = {} if given.is_valid() else dict(given.errors)
    if isinstance(request.data, Mapping):
        text = _("There is no such field; there is: %s.") % (", ".join(given.fields) or _("none"))
        errors |= {name: [text] for name in request.data if name not in given.fields}
    if errors:
        raise serializers.ValidationError(errors)
    return dict(given.validated_data)


def whole_of(request: Request, name: str, default: int, *, least: int = 0, largest: int) -> int:
    """A whole number of the query, in its bounds. Raises Invalid."""
    text = request.query_params.get(name, "")
    if not text:
        return default
    number = read_whole(text)
    if number is None or not least <= number <= largest:
        message = _("Give a whole number from %(least)d to %(largest)d.") % {"least": least, "largest": largest}
        raise Invalid(f"{name}: {message}", problems=[{"path": name, "message": message}])
    return number


def choice_of(request: Request, name: str, choices: Sequence[str], default: str = "") -> str:
    """One of the words that the query may say. Raises Invalid."""
    value = request.query_params.get(name, "")
    if value and value not in choices:
        message = _("Use one of %(choices)s.") % {"choices": ", ".join(choices)}
        raise Invalid(f"{name}: {message}", problems=[{"path": name, "message": message}])
    return value or default


def next_address(request: Request, **changes: Any) -> str:
    """The address that was asked for, with a query changed."""
    query = request.query_params.copy()
    for name, value in changes.items():
        query[name] = str(value)
    return f"{request.path}?{query.urlencode()}"


def page_of(request: Request, rows: QuerySet[Row], *, newest_first: bool = False) -> tuple[list[Row], str | None]:
    """A page of rows in the order of their keys, and the address of the next one."""
    after = whole_of(request, "after", 0, largest=LARGEST_KEY)
    limit = whole_of(request, "limit", PAGE, least=1, largest=LARGEST_PAGE)
    rows = rows.order_by("-pk" if newest_first else "pk")
    if after:
        rows = rows.filter(pk__lt=after) if newest_first else rows.filter(pk__gt=after)
    page = list(rows[: limit + 1])
    if len(page) <= limit:
        return page, None
    return page[:limit], next_address(request, after=page[limit - 1].pk)


def page_reply(
    request: Request, rows: QuerySet[Any], out: type[serializers.Serializer[Any]], *, newest_first: bool = False
) -> Response:
    page, following = page_of(request, rows, newest_first=newest_first)
    return Response({"next": following, "results": out(page, many=True).data})
