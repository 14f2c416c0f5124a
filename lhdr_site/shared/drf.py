"""The API's JSON and errors: bodies are read strictly, and every error is {code, message, details…} with its status."""

import json
import math
import re
from typing import Any, NoReturn

from django.conf import settings
from django.utils.translation import gettext as _
from drf_spectacular import authentication
from rest_framework.exceptions import APIException, ParseError, ValidationError
from rest_framework.parsers import BaseParser
from rest_framework.response import Response
from rest_framework.views import exception_handler as default_handler

from .errors import DomainError, Invalid

_UNSTORABLE = re.compile("[\x00\ud800-\udfff]")
DEEPEST = 100


class BasicScheme(authentication.BasicScheme):
    """How the schema describes our way of asking with a name and a password: like the one it builds on."""

    target_class = "lhdr_site.shared.authentication.BasicAuthentication"


class TooLarge(APIException):
    status_code, default_code = 413, "too_large"


class JSONParser(BaseParser):
    """JSON in UTF-8 that can be stored: no NaN, no NUL or lone surrogate in any text, nested at most 100 deep."""

    media_type = "application/json"

    def parse(self, stream: Any, media_type: str | None = None, parser_context: Any = None) -> Any:
        most = settings.DATA_UPLOAD_MAX_MEMORY_SIZE
        data = stream.read(most + 1)
        if len(data) > most:
            text = _("The body has over %(limit)d MB. Send less at a time, or import a file.")
            raise TooLarge(text % {"limit": most // 1024 // 1024})
        try:
            value = json.loads(data.decode("utf-8-sig"), parse_constant=_no_constant)
        except UnicodeDecodeError as error:
            raise ParseError(_("The body is not UTF-8.")) from error
        except RecursionError as error:
            raise ParseError(_("The JSON is nested too deep; flatten it.")) from error
        except ValueError as error:
            raise ParseError(_("The body is no JSON: %(why)s.") % {"why": str(error)[:200]}) from error
        _refuse_unstorable(value)
        return value


def _no_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is no JSON number")


def _refuse_unstorable(value: Any) -> None:
    """Raises for a text that no database stores, naming where it stands, and for nesting that nothing here needs."""
    open_ones: list[tuple[Any, str, int]] = [(value, "", 0)]
    while open_ones:
        inner, path, depth = open_ones.pop()
        if depth > DEEPEST:
            raise ParseError(_("The JSON is nested too deep; flatten it."))
        if isinstance(inner, float) and not math.isfinite(inner):
            raise ParseError(_("The number at %(place)s is too large; write a smaller one.") % {"place": path or "$"})
        if isinstance(inner, str) and (found := _UNSTORABLE.search(inner)):
            text = _("holds the character U+%(code)04X, which cannot be stored; remove it") % {"code": ord(found[0])}
            place = _UNSTORABLE.sub("?", path)
            raise Invalid(f"{place}: {text}" if place else text, problems=[{"path": place, "message": text}])
        if isinstance(inner, dict):
            open_ones += [(name, path, depth) for name in inner]
            open_ones += [(v, f"{path}.{name}" if path else name, depth + 1) for name, v in inner.items()]
        elif isinstance(inner, list):
            open_ones += [(v, f"{path}[{n}]", depth + 1) for n, v in enumerate(inner)]


def exception_handler(error: Exception, context: dict[str, Any]) -> Response | None:
    if isinstance(error, ValidationError):
        error = _as_invalid(error)
    if isinstance(error, DomainError):
        return Response({"code": error.code, "message": error.message, **error.details}, status=error.status)
    response = default_handler(error, context)
    if response is not None and isinstance(response.data, dict) and "detail" in response.data:
        detail = response.data["detail"]
        response.data = {"code": getattr(detail, "code", "error"), "message": str(detail)}
    return response


def _as_invalid(error: ValidationError) -> Invalid:
    """A serializer's errors as problems by path."""
    problems: list[dict[str, str]] = []

    def collect(detail: Any, path: str) -> None:
        if isinstance(detail, dict):
            for name, inner in detail.items():
                at = f"[{name}]" if isinstance(name, int) else f".{name}" if path else str(name)
                at = "" if path and name == "non_field_errors" else at
                collect(inner, f"{path}{at}")
        elif isinstance(detail, list):
            for inner in detail:
                collect(inner, path)
        else:
            problems.append({"path": path, "message": str(detail)})

    collect(error.detail, "")
    return Invalid.of(problems)
