"""Pages of annotation."""

from django.contrib.auth.models import User
from django.http import HttpRequest
from django_htmx.middleware import HtmxDetails


class Request(HttpRequest):
    """A request as the middleware leaves it: logged in, with what htmx says."""

    user: User
    htmx: HtmxDetails
