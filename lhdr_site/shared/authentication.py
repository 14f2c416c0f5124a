"""Names that people log in with, on pages and in the API. Not in `drf`, which needs the views that need this."""

from typing import Any

from django.contrib.auth import get_user_model
from django.utils.translation import gettext as _
from rest_framework import authentication
from rest_framework.exceptions import AuthenticationFailed


def recorded_name(request: Any, credentials: dict[str, Any] | None = None) -> str | None:
    """The name under which a failed log-in is counted, cut to what the table of failures holds."""
    given = credentials.get("username") if credentials else request.POST.get("username")
    return None if given is None else str(given)[:255]


class BasicAuthentication(authentication.BasicAuthentication):
    """A name that can be nobody's is refused before a database looks for it, and before its failure is recorded."""

    def authenticate_credentials(self, userid: str, password: str, request: Any = None) -> Any:
        longest = get_user_model()._meta.get_field("username").max_length or 0
        if len(userid) > longest or "\x00" in userid:
            raise AuthenticationFailed(_("There is no such user name."))
        return super().authenticate_credentials(userid, password, request)
