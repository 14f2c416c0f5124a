"""Unsaved text that the page's script keeps on the server, and the heartbeat that says who is here and what changed."""

from typing import Any

from django.http import HttpResponse, JsonResponse
from django.shortcuts import render
from django.template.loader import render_to_string
from django.views.decorators.http import require_POST

from annotation import drafts
from annotation.benchmarks import get_item_for
from annotation.document import SECTIONS, DocumentError, read_document
from annotation.forms.sections import read_section
from annotation.models import Item
from annotation.permissions import may_edit_item
from annotation.presence import beat_of, changed_sections
from annotation.queries import item_page

from . import Request
from .item import workbench
from .sections import refuse_other_writer, typed_fields


@require_POST
def draft_keep(request: Request, slug: str, number: int, section: str) -> JsonResponse:
    """Keep what is typed; replies when, or null when this very form was saved already."""
    item = get_item_for(request.user, slug, number, with_document=False)
    refuse_other_writer(request, item)
    posted = request.POST.copy()
    for name in ("csrfmiddlewaretoken", "base_hash", "save_key", "writer"):
        posted.pop(name, None)
    draft = drafts.keep_draft(
        item,
        section,
        request.POST.get("base_hash", ""),
        posted.urlencode(),
        actor=request.user,
        form_key=request.POST.get("save_key", ""),
    )
    return JsonResponse({"kept": draft.updated.isoformat() if draft else None})


@require_POST
def draft_drop(request: Request, slug: str, number: int, section: str) -> HttpResponse:
    """Forget what was typed: the section as it is saved, which offers the text once more, to undo this."""
    item = get_item_for(request.user, slug, number)
    draft = drafts.drop_draft(item, section, actor=request.user)
    page = item_page(item, request.user)
    dropped: list[tuple[str, str]] = []
    if request.POST.get("base_hash") and _differs(request, item, section):
        dropped = [*typed_fields(request.POST), ("base_hash", request.POST["base_hash"])]
    elif draft is not None:
        dropped = [*typed_fields(draft.fields), ("base_hash", draft.base_hash)]
    context: dict[str, Any] = {"page": page, "section": section, "dropped": dropped, "dropped_in": section}
    context["saved"] = True
    if not request.htmx:
        return workbench(request, item, **context)
    return render(request, "annotation/_section.html", context)


def _differs(request: Request, item: Item, section: str) -> bool:
    """Whether the posted form says anything else than what is saved."""
    document = read_document(item.document)
    posted = read_section(section, request.POST, document)
    try:
        changed = document.with_section(section, posted.content)
    except DocumentError:
        return True
    return bool(posted.problems) or changed.section_hashes[section] != document.section_hashes[section]


@require_POST
def presence(request: Request, slug: str, number: int) -> HttpResponse:
    """A page says that it is open, on which section, and what it shows; the reply: who else is here, what is new.

    `hashes` are the beginnings of the section hashes that the page shows, as "question:1f9a… graph:…".
    """
    beat = beat_of(request.user, slug, number)
    if request.POST.get("leave"):
        drafts.end_presence(beat.item_pk, actor=request.user)
        return HttpResponse(status=204)
    section, was = request.POST.get("section", ""), request.POST.get("was", "")
    section = section if section in SECTIONS else ""
    drafts.note_presence(beat.item_pk, section if section or was else None, actor=request.user)
    shown = dict(pair.split(":", 1) for pair in request.POST.get("hashes", "")[:1000].split() if ":" in pair)
    changed = [n for n in SECTIONS if n in shown and not beat.section_hashes[n].startswith(shown[n] or "-")]
    context: dict[str, Any] = {"here": beat.here, "slug": slug, "number": number}
    if changed:
        context["changes"] = changed_sections(beat.item_pk, changed, request.user)
    if request.POST.get("state", beat.state) != beat.state:
        item = get_item_for(request.user, slug, number, with_document=False)
        context |= {"state": beat.state, "may_edit": may_edit_item(request.user, item)}
    return HttpResponse(render_to_string("annotation/_presence.html", context))  # without the page's frame
