"""Stored pictures for members, and what is done to the images of an item one by one.

Who asks for JSON (`Accept: application/json`) gets it; `html` in it is the fragment that htmx would get.
"""

from collections.abc import Callable
from functools import wraps
from typing import Any

from django.db.models.fields.files import FieldFile
from django.http import FileResponse, Http404, HttpResponse, HttpResponseBase, JsonResponse, QueryDict
from django.shortcuts import render
from django.urls import reverse
from django.utils.translation import gettext as _
from django.views.decorators.http import require_GET, require_POST

from annotation import fetching, image_actions
from annotation.benchmarks import get_benchmark_for, get_item_for
from annotation.models import ImageFetch, Item, StoredImage
from annotation.queries import item_page
from lhdr_site.shared import pictures
from lhdr_site.shared.errors import DomainError, Gone, Invalid

from . import Request
from .sections import section_reply

FILES_AT_ONCE = 50
CUT_SIDE = 320


# --- pictures -----------------------------------------------------------------------------------------------------


def _stored(request: Request, slug: str, sha256: str) -> StoredImage:
    benchmark = get_benchmark_for(request.user, slug)
    image = StoredImage.objects.filter(benchmark=benchmark, sha256=sha256).first()
    if image is None:
        raise Http404
    return image


def _only_a_picture(response: HttpResponseBase) -> HttpResponseBase:
    """Bytes of a picture that can only ever be a picture."""
    response["X-Content-Type-Options"] = "nosniff"
    response["Content-Security-Policy"] = "default-src 'none'; sandbox"
    response["Cache-Control"] = "private, max-age=31536000, immutable"
    return response


def picture_response(file: FieldFile, media_type: str) -> HttpResponseBase:
    try:
        return _only_a_picture(FileResponse(file.open("rb"), content_type=media_type))
    except FileNotFoundError:
        raise Http404 from None


def _tombstone() -> HttpResponseBase:
    """What stands in small for a picture that was taken down; the page beside it says why."""
    drawing = (
        '<svg xmlns="http://www.w3.org/2000/svg" width="480" height="360" viewBox="0 0 480 360">'
        '<rect width="480" height="360" fill="#d8dde3"/>'
        '<path d="M180 120h120v120H180zM180 240l120-120" fill="none" stroke="#5b6673" stroke-width="8"/></svg>'
    )
    response = _only_a_picture(HttpResponse(drawing, content_type="image/svg+xml"))
    response["Cache-Control"] = "private, no-store"
    return response


@require_GET
def image_file(request: Request, slug: str, sha256: str) -> HttpResponseBase:
    image = _stored(request, slug, sha256)
    if image.tombstone:
        raise Gone(_("This picture was taken down: %(reason)s") % {"reason": image.tombstone})
    return picture_response(image.file, image.media_type)


@require_GET
def image_thumbnail(request: Request, slug: str, sha256: str) -> HttpResponseBase:
    image = _stored(request, slug, sha256)
    return _tombstone() if image.tombstone else picture_response(image.thumbnail, "image/webp")


@require_GET
def image_cut(request: Request, slug: str, sha256: str, x: int, y: int, width: int, height: int) -> HttpResponseBase:
    """A region of a picture, small; in ten-thousandths."""
    image = _stored(request, slug, sha256)
    if image.tombstone:
        return _tombstone()
    if max(x, y, width, height) > 10_000 or not width or not height:
        raise Http404
    try:
        with image.file.open("rb") as file:
            data = pictures.cut(file.read(), x, y, width, height, CUT_SIDE)
    except FileNotFoundError:
        raise Http404 from None
    return _only_a_picture(HttpResponse(data, content_type="image/webp"))


# --- changes ------------------------------------------------------------------------------------------------------


def wants_json(request: Request) -> bool:
    return request.headers.get("Accept", "").startswith("application/json")


def _or_json(view: Callable[..., HttpResponse]) -> Callable[..., HttpResponse]:
    """POST only; a refusal is JSON for who asks for JSON: error, code, problems."""

    @wraps(view)
    def wrapped(request: Request, *args: Any, **kwargs: Any) -> HttpResponse:
        try:
            return view(request, *args, **kwargs)
        except DomainError as error:
            if not wants_json(request):
                raise
            details = {"error": error.message, "code": error.code, "problems": error.details.get("problems", [])}
            return JsonResponse(details, status=error.status)

    return require_POST(wrapped)


def _reply(request: Request, item: Item, report: list[dict[str, str]] | None = None) -> HttpResponse:
    """The section as it is now. report: what became of each file."""
    report = report or []
    problems = [{"path": r["file"], "message": r["error"]} for r in report if "error" in r]
    if not wants_json(request):
        return section_reply(request, item, "images", problems=problems)
    for entry in report:
        if "key" in entry:
            image = next(image for image in item.document["images"] if image["key"] == entry["key"])
            args = [item.benchmark.slug, image["sha256"]]
            entry["thumbnail"] = reverse("annotation:image-thumbnail", args=args)
    request.htmx = True  # type: ignore[assignment]  # the fragment, not the page
    html = section_reply(request, item, "images", problems=problems).content.decode()
    status = 422 if problems and len(problems) == len(report) else 200
    return JsonResponse({"files": report, "revision": item.revision_number, "html": html}, status=status)


@_or_json
def image_add(request: Request, slug: str, number: int) -> HttpResponse:
    """Many files at once (field `images`): each that cannot be taken says why, the others are kept, in one revision."""
    item = get_item_for(request.user, slug, number)
    files = request.FILES.getlist("images")
    if not files:
        raise Invalid(_("Choose at least one picture."), code="no_file")
    if len(files) > FILES_AT_ONCE:
        text = _("These are %(count)d files; send at most %(limit)d at once.")
        raise Invalid(text % {"count": len(files), "limit": FILES_AT_ONCE}, code="too_many_files")
    role = "question" if request.POST.get("role") == "question" else "evidence"
    uploads = ((file.name or "", file.read()) for file in files)
    item, report = image_actions.add_images(item, uploads, actor=request.user, role=role)
    return _reply(request, item, report)


@_or_json
def image_replace(request: Request, slug: str, number: int, key: str) -> HttpResponse:
    item = get_item_for(request.user, slug, number)
    file = request.FILES.get("image")
    if file is None:
        raise Invalid(_("Choose the picture that is to take its place."), code="no_file")
    data, name, base = file.read(), file.name or "", request.POST.get("base", "")
    return _reply(request, image_actions.replace_image(item, key, data, name, base, actor=request.user))


@_or_json
def image_rotate(request: Request, slug: str, number: int, key: str) -> HttpResponse:
    item = get_item_for(request.user, slug, number)
    turns = _whole(request.POST, "turns")
    item = image_actions.rotate_image(item, key, turns, request.POST.get("base", ""), actor=request.user)
    return _reply(request, item)


@_or_json
def region_save(request: Request, slug: str, number: int, key: str) -> HttpResponse:
    """A new region of the image, or a changed one (`region` is its key)."""
    item = get_item_for(request.user, slug, number)
    post = request.POST
    region: dict[str, Any] = {name: _whole(post, name) for name in ("x", "y", "width", "height")}
    region |= {"key": post.get("region", ""), "note": post.get("note", "").strip()}
    return _reply(request, image_actions.save_region(item, key, region, post.get("base", ""), actor=request.user))


@_or_json
def image_remove(request: Request, slug: str, number: int, key: str) -> HttpResponse:
    """Take out an image, or a region; `unlink` names, separated by commas, who loses the link to it."""
    item = get_item_for(request.user, slug, number)
    who = [name for name in request.POST.get("unlink", "").split(",") if name]
    base = request.POST.get("base", "")
    return _reply(request, image_actions.remove_image(item, key, base, actor=request.user, unlink_from=who))


@_or_json
def image_order(request: Request, slug: str, number: int) -> HttpResponse:
    """All keys in their new order (`keys`, separated by commas), or one (`key`) moved `by` places."""
    item = get_item_for(request.user, slug, number)
    keys = [name for name in request.POST.get("keys", "").split(",") if name]
    if not keys:
        keys = [image["key"] for image in item.document["images"]]
        key = request.POST.get("key", "")
        if key in keys:
            place = keys.index(key)
            keys.insert(max(0, place + _whole(request.POST, "by")), keys.pop(place))
    return _reply(request, image_actions.order_images(item, keys, actor=request.user))


@_or_json
def image_fetch(request: Request, slug: str, number: int, key: str) -> HttpResponse:
    """Have the worker fetch the image's address; the section shows that it waits."""
    item = get_item_for(request.user, slug, number)
    return _reply(request, fetching.ask_fetch(item, key, actor=request.user))


@require_GET
def image_fetches(request: Request, slug: str, number: int) -> HttpResponse:
    """Asked again and again while images wait: nothing new, or the section. `waiting` names those it shows so."""
    item = get_item_for(request.user, slug, number)
    waiting = item.image_fetches.filter(status=ImageFetch.Status.WAITING).order_by("key")
    if ",".join(waiting.values_list("key", flat=True)) == request.GET.get("waiting", ""):
        return HttpResponse(status=204)
    page = item_page(item, request.user)
    context = {"page": page, "section": "images", "others": ["checklist"]}
    return render(request, "annotation/_section_saved.html", context)


def _whole(post: QueryDict, name: str) -> int:
    text = post.get(name, "")
    if not text.removeprefix("-").isdecimal() or len(text) > 8:
        raise Invalid.at(name, _("must be a whole number, not “%s”") % text[:40])
    return int(text)
