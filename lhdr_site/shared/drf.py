"""Domain errors as JSON: {code, message, details…} with the error's status."""

from typing import Any

from rest_framework.response import Response
from rest_framework.views import exception_handler as default_handler

from .errors import DomainError


def exception_handler(error: Exception, context: dict[str, Any]) -> Response | None:
    if isinstance(error, DomainError):
        return Response({"code": error.code, "message": error.message, **error.details}, status=error.status)
    response = default_handler(error, context)
    if response is not None and isinstance(response.data, dict) and "detail" in response.data:
        detail = response.data["detail"]
        response.data = {"code": getattr(detail, "code", "error"), "message": str(detail)}
    return response
