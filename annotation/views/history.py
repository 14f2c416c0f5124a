"""The history of an item: its panel, who wrote an element, two revisions compared, an earlier one restored."""

from typing import Any

from django.http import Http404, HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.http import require_http_methods, require_safe

from annotation import actions
from annotation.benchmarks import get_item_for
from annotation.diff import Change, diff_documents
from annotation.document import Document, read_document
from annotation.drawing import draw_checklist
from annotation.history_queries import written_by
from annotation.models import Item, StoredImage
from annotation.queries import item_page
from lhdr_site.shared.errors import DomainError, Invalid

from . import Request
from .panels import show_panel


@require_safe
def history(request: Request, slug: str, number: int) -> HttpResponse:
    return show_panel(request, get_item_for(request.user, slug, number), "history")


@require_safe
def element(request: Request, slug: str, number: int) -> HttpResponse:
    """Who wrote an element; without htmx the panel says it."""
    item = get_item_for(request.user, slug, number)
    key = request.GET.get("key", "")
    page = item_page(item, request.user)
    if not request.htmx:
        return redirect(f"{page.url}?panel=history&element={key}#panel" if key in page.anchors else page.url)
    written = written_by(item, key)
    if written is None:
        raise Http404
    return render(request, "annotation/_written.html", {"page": page, "written": written})


@require_safe
def compare(request: Request, slug: str, number: int) -> HttpResponse:
    """Two revisions, field by field."""
    item = get_item_for(request.user, slug, number)
    newest = item.revision_number
    to = _number(request.GET.get("to", ""), newest)
    start = _number(request.GET.get("from", ""), max(to - 1, 1))
    found = {r.number: r for r in item.revisions.select_related("author").filter(number__in=(start, to))}
    if len(found) < len({start, to}):
        raise Http404
    old, new = (read_document(found[n].document) for n in (start, to))
    context = {
        "page": item_page(item, request.user),
        "old": found[start],
        "new": found[to],
        "both": [found[start], found[to]] if start != to else [found[to]],
        "numbers": range(newest, 0, -1),
        "earlier": (start - 1, to - 1) if min(start, to) > 1 else None,
        "later": (start + 1, to + 1) if max(start, to) < newest else None,
        "nav": "items",
        **_difference(item, old, new),
    }
    return render(request, "annotation/compare.html", context)


@require_http_methods(["GET", "HEAD", "POST"])
def restore(request: Request, slug: str, number: int) -> HttpResponse:
    """GET shows what an earlier revision would change, POST makes it the present one; refused, it says why."""
    item = get_item_for(request.user, slug, number)
    wanted = _number((request.POST if request.method == "POST" else request.GET).get("number", ""), 0)
    error = None
    if request.method == "POST":
        try:
            actions.restore_revision(item, wanted, request.POST.get("base_hash", ""), actor=request.user)
            return redirect(f"{item_page(item, request.user).url}?panel=history#panel")
        except Invalid:
            raise
        except DomainError as refused:
            error = refused
            item = get_item_for(request.user, slug, number)
    revision = item.revisions.select_related("author").filter(number=wanted).first()
    if revision is None:
        raise Http404
    context = {
        "page": item_page(item, request.user),
        "revision": revision,
        "error": error,
        "nav": "items",
        **_difference(item, read_document(item.document), read_document(revision.document)),
    }
    return render(request, "annotation/restore.html", context, status=error.status if error else 200)


def _difference(item: Item, old: Document, new: Document) -> dict[str, Any]:
    """What the templates show of a difference: changes, counted; steps by number; pictures; both drawings."""
    changes = diff_documents(old, new)
    kinds = [kind for kind in ("added", "removed", "changed", "moved") if any(c.kind == kind for c in changes)]
    steps = [{key: place + 1 for key, place in side.step_positions.items()} for side in (old, new)]
    sides = {"old": old, "new": new} if any(c.section == "checklist" for c in changes) else {}
    return {
        "changes": changes,
        "kinds": [(kind, len({_place(c) for c in changes if c.kind == kind})) for kind in kinds],
        "step_numbers": steps[0] | steps[1],
        "pictures": _pictures(item, old, new) if any(c.section == "images" for c in changes) else {},
        "drawings": [(side, draw_checklist(document)) for side, document in sides.items()],
    }


def _place(change: Change) -> Any:
    """Fields of one element are one thing that changed."""
    return (change.section, change.where[0]) if change.where else change.path


def _pictures(item: Item, old: Document, new: Document) -> dict[str, list[str]]:
    """Image key -> the hashes of its picture before and after that are stored, once where it is the same."""
    digests: dict[str, list[str]] = {image.key: [] for side in (old, new) for image in side.images}
    for side in (old, new):
        for image in side.images:
            if image.sha256 and image.sha256 not in digests[image.key]:
                digests[image.key].append(image.sha256)
    wanted = [digest for found in digests.values() for digest in found]
    stored = set(
        StoredImage.objects.filter(benchmark=item.benchmark_id, sha256__in=wanted).values_list("sha256", flat=True)
    )
    return {key: [digest for digest in found if digest in stored] for key, found in digests.items()}


def _number(text: str, default: int) -> int:
    return int(text[:9]) if text.isascii() and text.isdecimal() else default
