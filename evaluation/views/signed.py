"""Question images for endpoints that fetch them by address: a signed token is the only key, and it expires."""

from django.contrib.auth.decorators import login_not_required
from django.http import Http404, HttpRequest, HttpResponse
from django.views.decorators.http import require_safe

from evaluation.images import read_signed_image


@login_not_required
@require_safe
def signed_image(request: HttpRequest, token: str) -> HttpResponse:
    found = read_signed_image(token)
    if found is None:
        raise Http404
    media_type, data = found
    return HttpResponse(data, content_type=media_type, headers={"Cache-Control": "private, max-age=3600"})
