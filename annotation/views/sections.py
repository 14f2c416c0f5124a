"""Sections of an item: shown, opened for editing, saved. What cannot be saved comes back with all its text."""

from dataclasses import replace
from typing import Any

from django.http import HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils.translation import gettext as _
from django.views.decorators.http import require_http_methods, require_POST

from annotation import actions, graph, steps
from annotation.benchmarks import get_item_for
from annotation.diff import Conflict as Clash
from annotation.diff import diff_documents, merge_section
from annotation.document import Document, DocumentError, read_document
from annotation.drawing import draw_checklist
from annotation.forms.sections import SectionForm, add_problems, form_of, form_of_post, read_section, refuse_problems
from annotation.models import Item
from annotation.queries import AFFECTED, ItemPage, item_page, section_base, used_anchors
from lhdr_site.shared.errors import DomainError, Invalid
from lhdr_site.shared.markdown import render_markdown

from . import Request
from .item import workbench


@require_http_methods(["GET", "HEAD", "POST"])
def section(request: Request, slug: str, number: int, section: str) -> HttpResponse:
    """GET shows the section as it is saved, POST saves it."""
    item = get_item_for(request.user, slug, number)
    if request.method == "POST":
        return _save(request, item, section)
    if not request.htmx:
        return redirect(f"{reverse('annotation:item-page', args=[slug, number])}#{section}")
    return render(request, "annotation/_section.html", {"page": item_page(item, request.user), "section": section})


@require_http_methods(["GET", "HEAD", "POST"])
def section_edit(request: Request, slug: str, number: int, section: str) -> HttpResponse:
    """The section's form; a POST fills it with what was typed before (a draft that the browser kept)."""
    item = get_item_for(request.user, slug, number)
    page = item_page(item, request.user)
    page.may_edit.require()
    taken = used_anchors(item)
    if request.method == "POST":
        base = request.POST.get("base_hash") or item.section_hashes[section]
        form = form_of_post(request.POST, page.document, section, base, taken)
    else:
        form = form_of(page.document, section, item.section_hashes[section], taken)
    return _form(request, page, form)


@require_POST
def markdown_preview(request: Request, slug: str, number: int) -> HttpResponse:
    get_item_for(request.user, slug, number)
    return HttpResponse(render_markdown(request.POST.get("design", "")))


@require_POST
def checklist_drawing(request: Request, slug: str, number: int) -> HttpResponse:
    """The graph of the steps as they are typed, numbered like the rows of the form; or the circle in them."""
    document = read_document(get_item_for(request.user, slug, number).document)
    posted = read_section("checklist", request.POST, document)
    try:
        changed = document.with_section("checklist", posted.content)
    except DocumentError:
        return HttpResponse(status=204)  # half typed: the drawing before it stays
    context: dict[str, Any] = {"cycle": graph.cycle_text(changed)}
    if not context["cycle"]:
        drawing = draw_checklist(changed)
        rows = [place + 1 for place in posted.places["checklist"]]
        nodes = (replace(n, number=row, label=str(row)) for n, row in zip(drawing.nodes, rows, strict=True))
        context["drawing"] = replace(drawing, nodes=tuple(nodes))
    return render(request, "annotation/_section_drawing.html", context)


def section_reply(
    request: Request, item: Item, section: str, problems: list[dict[str, str]] | None = None
) -> HttpResponse:
    """The saved section, with every other part of the page that it may have changed; `problems` stand in it."""
    steps.check_item(item.pk)  # now, as the reply shows the findings; the worker then has nothing left to do
    item = get_item_for(request.user, item.benchmark.slug, item.number)
    page = item_page(item, request.user)
    others = page.order if request.POST.get("unlink_removed") else AFFECTED.get(section, ())
    context: dict[str, Any] = {"page": page, "section": section, "problems": problems or [], "saved": True}
    context["others"] = [name for name in others if name != section]
    status = 422 if problems else 200
    if not request.htmx:
        if problems:
            return workbench(request, item, status=status, **context)
        return redirect(f"{page.url}#{section}")
    response = render(request, "annotation/_section_saved.html", context, status=status)
    response["HX-Trigger-After-Settle"] = "item-saved"
    return response


def _save(request: Request, item: Item, section: str) -> HttpResponse:
    document = read_document(item.document)
    base_hash = request.POST.get("base_hash", "")
    posted = read_section(section, request.POST, document, used_anchors(item))
    try:
        refuse_problems(posted.problems)
        if not base_hash:
            text = _("The form came without the version it started from. Look at your text and save it again.")
            raise Invalid(text, code="no_base_hash")
        item = actions.save_section(
            item,
            section,
            posted.content,
            base_hash,
            actor=request.user,
            message=request.POST.get("message", "").strip(),
            unlink_removed=request.POST.get("unlink_removed", ""),
            save_key=request.POST.get("save_key", ""),
        )
    except actions.SectionConflict as conflict:
        return _conflict(request, item, section, base_hash, conflict)
    except DomainError as error:
        page = item_page(item, request.user)
        form = form_of_post(request.POST, document, section, base_hash or item.section_hashes[section])
        add_problems(form, posted, error.details.get("problems") or [{"path": "", "message": error.message}])
        if error.code == "still_referred_to":
            form.refusal = error.details
        if error.code in ("still_referred_to", "cycle"):
            form.general = [error.message]
        return _form(request, page, form, status=error.status)
    return section_reply(request, item, section)


def _conflict(
    request: Request, item: Item, section: str, base_hash: str, conflict: actions.SectionConflict
) -> HttpResponse:
    """Theirs, yours, what each changed, and a form with both changes in it where they do not meet."""
    item = get_item_for(request.user, item.benchmark.slug, item.number)
    page = item_page(item, request.user)
    theirs, now = page.document, item.section_hashes[section]
    yours = theirs.with_section(section, conflict.details["yours"])
    base = section_base(item, section, base_hash)
    merged, clashes = _merge(base, yours, theirs, section) if base is not None else (None, [])
    form = form_of_post(request.POST, theirs, section, now)
    if merged is not None:
        message = form.message
        form = form_of(merged, section, now)
        form.message, form.dirty = message, True
    context = {
        "clashes": clashes,
        "merged": merged is not None,
        "their_changes": [c for c in diff_documents(base, theirs) if c.section == section] if base else None,
        "differences": diff_documents(theirs, yours),
        "typed": [
            (name, value)
            for name, values in request.POST.lists()
            if name not in ("csrfmiddlewaretoken", "base_hash", "save_key")
            for value in values
        ],
    }
    return _form(request, page, form, status=409, conflict=context)


def _merge(base: Document, yours: Document, theirs: Document, section: str) -> tuple[Document | None, list[Clash]]:
    """Both changes in one, your side where they clash; None where that cannot be told apart. With the clashes."""
    mine = base.with_section(section, yours.section(section))
    try:
        merged, clashes = merge_section(base, mine, theirs, section)
        if not clashes:
            return merged, []
        # From a base that already has their side of each clash, only yours is a change there.
        content = base.section(section)
        for clash in clashes:
            place, *rest = clash.path.split(".")
            if clash.field in ("", "order") or len(rest) not in (0, 2):
                return None, clashes
            owner = next((e for e in content[place] if e.get("key") == rest[0]), None) if rest else content
            if owner is None:
                return None, clashes
            owner[rest[1] if rest else place] = clash.theirs
        return merge_section(base.with_section(section, content), mine, theirs, section)[0], clashes
    except DocumentError:
        return None, []


def _form(
    request: Request, page: ItemPage, form: SectionForm, status: int = 200, conflict: dict[str, Any] | None = None
) -> HttpResponse:
    """The form alone for htmx, else the whole page with the form in its place."""
    context: dict[str, Any] = {"page": page, "form": form, "section": form.section, "conflict": conflict}
    if request.htmx:
        return render(request, "annotation/_section_form.html", context, status=status)
    return workbench(request, page.item, status=status, **context)
