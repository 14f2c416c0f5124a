"""Middleware: /healthz before everything that needs a session, refusal of unstorable text, domain errors as pages."""

import re
from collections.abc import Callable

from django.http import HttpRequest, HttpResponse, JsonResponse
from django.shortcuts import render
from django.utils.http import url_has_allowed_host_and_scheme
from django.utils.translation import gettext as _

from .errors import DomainError
from .health import check_health

GetResponse = Callable[[HttpRequest], HttpResponse]
_UNSTORABLE = re.compile("[\x00\ud800-\udfff]")


class HealthMiddleware:
    """Answers /healthz without a log-in, a session or a host check: load balancers ask by address."""

    def __init__(self, get_response: GetResponse):
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        if request.path_info != "/healthz":
            return self.get_response(request)
        parts = check_health()
        healthy = all(word == "ok" for word in parts.values())
        return JsonResponse({"healthy": healthy, **parts}, status=200 if healthy else 503)


class CleanCookiesMiddleware:
    """Drops cookies with NUL or a lone surrogate before the session asks the database for one: none of ours has any."""

    def __init__(self, get_response: GetResponse):
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        for name in [name for name, value in request.COOKIES.items() if _UNSTORABLE.search(name + value)]:
            del request.COOKIES[name]
        return self.get_response(request)


class CleanInputMiddleware:
    """Refuses NUL and lone surrogates in paths, queries and forms: one database stores them, the other does not."""

    def __init__(self, get_response: GetResponse):
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        for name, values in [("address", [request.path_info]), *request.GET.lists(), *request.POST.lists()]:
            if any(_UNSTORABLE.search(part) for part in (name, *map(str, values))):
                where = _UNSTORABLE.sub("?", name)
                text = _("The field “%(field)s” holds a character that cannot be stored (NUL or a lone surrogate).")
                text = text % {"field": where} + " " + _("Remove it and send again.")
                if request.path_info.startswith("/api/"):
                    return JsonResponse({"code": "invalid", "message": text}, status=400)
                return render(request, "error.html", {"title": _("Unreadable character"), "text": text}, status=400)
        return self.get_response(request)


class DomainErrorMiddleware:
    """A refused action becomes a page (or, for htmx, a fragment) that says why and what to do."""

    def __init__(self, get_response: GetResponse):
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        return self.get_response(request)

    def process_exception(self, request: HttpRequest, error: Exception) -> HttpResponse | None:
        if not isinstance(error, DomainError):
            return None
        template = "_error.html" if getattr(request, "htmx", False) else "error.html"
        context = {"error": error, "title": _TITLES[error.status](), "text": error.message, "back": _came_from(request)}
        return render(request, template, context, status=error.status)


def _came_from(request: HttpRequest) -> str:
    """The page of ours whose form was refused, to go back to; "" where none was, or it is not known."""
    page = request.headers.get("Referer", "") if request.method == "POST" else ""
    allowed = url_has_allowed_host_and_scheme(page, {request.get_host()}, require_https=request.is_secure())
    return page if page and allowed else ""


_TITLES: dict[int, Callable[[], str]] = {
    400: lambda: _("That did not work"),
    403: lambda: _("Not allowed"),
    404: lambda: _("The address asks for something that is not there"),
    409: lambda: _("Not possible as it stands now"),
    410: lambda: _("Taken down"),
    422: lambda: _("Please correct this"),
}
