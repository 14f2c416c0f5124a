"""Stored pictures for members, and uploads to an item."""

from django.db.models.fields.files import FieldFile
from django.http import FileResponse, Http404, HttpResponse, HttpResponseBase
from django.shortcuts import redirect
from django.utils.translation import gettext as _
from django.views.decorators.http import require_GET, require_POST

from annotation import actions
from annotation.benchmarks import get_benchmark_for, get_item_for
from annotation.models import StoredImage
from lhdr_site.shared.errors import Invalid

from . import Request
from .sections import section_reply


def _stored(request: Request, slug: str, sha256: str) -> StoredImage:
    benchmark = get_benchmark_for(request.user, slug)
    image = StoredImage.objects.filter(benchmark=benchmark, sha256=sha256).first()
    if image is None:
        raise Http404
    return image


def picture_response(file: FieldFile, media_type: str) -> HttpResponseBase:
    """Bytes of a picture that can only ever be a picture."""
    try:
        response = FileResponse(file.open("rb"), content_type=media_type)
    except FileNotFoundError:
        raise Http404 from None
    response["X-Content-Type-Options"] = "nosniff"
    response["Content-Security-Policy"] = "default-src 'none'; sandbox"
    response["Cache-Control"] = "private, max-age=31536000, immutable"
    return response


@require_GET
def image_file(request: Request, slug: str, sha256: str) -> HttpResponseBase:
    image = _stored(request, slug, sha256)
    return picture_response(image.file, image.media_type)


@require_GET
def image_thumbnail(request: Request, slug: str, sha256: str) -> HttpResponseBase:
    return picture_response(_stored(request, slug, sha256).thumbnail, "image/webp")


@require_POST
def image_add(request: Request, slug: str, number: int) -> HttpResponse:
    """Many files at once; each that cannot be taken says why, the others are kept."""
    item = get_item_for(request.user, slug, number)
    files = request.FILES.getlist("images")
    if not files:
        raise Invalid(_("Choose at least one picture."), code="no_file")
    role = "question" if request.POST.get("role") == "question" else "evidence"
    problems = []
    for file in files:
        try:
            item = actions.add_image(item, file.read(), file.name or "", actor=request.user, role=role)
        except Invalid as error:
            problems.append({"path": file.name or "", "message": error.message})
    if not request.htmx and not problems:
        return redirect("annotation:item-page", slug=slug, number=number)
    return section_reply(request, item, "images", problems=problems)
