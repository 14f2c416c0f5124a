"""Sections of an item: shown, opened for editing, saved. What cannot be saved comes back with all its text."""

from dataclasses import asdict
from typing import Any

from django.http import Http404, HttpResponse, JsonResponse, QueryDict
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import reverse
from django.utils.translation import gettext as _
from django.views.decorators.http import require_http_methods, require_POST

from annotation import actions, drafts, graph, steps, struck_actions
from annotation.benchmarks import get_item_for
from annotation.blurring import blurs, names_of
from annotation.candidates import read_strikes, strike_steps
from annotation.diff import diff_documents
from annotation.document import DocumentError, canonical_hash, read_document
from annotation.draft_queries import draft_of, form_base, section_base
from annotation.drawing import draw_checklist, with_numbers
from annotation.finding_queries import current_findings
from annotation.forms.clashes import clash_choices
from annotation.forms.pasted import COLUMNS, read_pasted
from annotation.forms.sections import (
    ROW_LISTS,
    SectionForm,
    add_problems,
    carry_strikes,
    form_of,
    form_of_post,
    read_section,
    refuse_problems,
)
from annotation.merging import Merged, merge_both
from annotation.models import Item, StruckStep
from annotation.node_drawing import draw_graph
from annotation.permissions import may_edit_item
from annotation.presence import changed_sections
from annotation.queries import AFFECTED, ItemPage, breaks_of, item_page, used_anchors
from annotation.relations import RelationNote, relation_notes
from lhdr_site.shared.errors import Conflict, DomainError, Invalid
from lhdr_site.shared.markdown import render_markdown
from lhdr_site.shared.numbers import read_whole

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
    if request.GET.get("with") == "page":  # somebody else changed it: so does the rest that depends on it
        return section_reply(request, item, section)
    return render(request, "annotation/_section.html", {"page": item_page(item, request.user), "section": section})


@require_http_methods(["GET", "HEAD", "POST"])
def section_edit(request: Request, slug: str, number: int, section: str) -> HttpResponse:
    """The section's form, with one's own unsaved text where there is some: the draft, or what a POST brings.

    Unsaved text is shown to its writer even when the item may not be edited any more.
    """
    item = get_item_for(request.user, slug, number)
    page = item_page(item, request.user)
    draft = draft_of(item, section, request.user)
    taken, base = used_anchors(item), item.section_hashes[section]
    if request.method == "POST":
        form = form_of_post(request.POST, page.document, section, request.POST.get("base_hash") or base, taken)
    elif draft is not None:
        form = form_of_post(draft.fields, page.document, section, draft.base_hash or base, taken)
        form.draft_at = draft.updated
    else:
        page.may_edit.require()
        form = form_of(page.document, section, base, taken)
    return _form(request, page, form)


@require_POST
def markdown_preview(request: Request, slug: str, number: int) -> HttpResponse:
    """Markdown as typed, with the item's elements in it; also for comments."""
    page = ItemPage(get_item_for(request.user, slug, number), request.user)
    return HttpResponse(render_markdown(request.POST.get("design", ""), links=page.targets))


@require_POST
def checklist_drawing(request: Request, slug: str, number: int) -> HttpResponse:
    """The graph of the steps that a save would keep, numbered like the rows of the form; and a circle in them."""
    document = read_document(get_item_for(request.user, slug, number).document)
    posted = read_section("checklist", request.POST, document)
    try:
        changed = document.with_section("checklist", posted.content)
        changed = strike_steps(changed, read_strikes(posted.struck))
    except DocumentError:
        return HttpResponse(status=204)  # half typed: the drawing before it stays
    steps_and_places = zip(posted.content["checklist"], posted.places["checklist"], strict=True)
    numbers = {step["key"]: place + 1 for step, place in steps_and_places}
    drawable, in_circle = graph.without_cycles(changed)
    context = {
        "cycle": graph.cycle_text(changed),
        "drawing": with_numbers(draw_checklist(drawable, dict.fromkeys(in_circle, "error")), numbers),
        "breaks": breaks_of(drawable, numbers),
    }
    return render(request, "annotation/_section_drawing.html", context)


@require_POST
def rows_paste(request: Request, slug: str, number: int, name: str) -> JsonResponse:
    """Pasted text as rows of a form: JSON, as the page asks while one edits. Saves nothing."""
    get_item_for(request.user, slug, number)
    if name not in COLUMNS:
        raise Http404
    before = read_whole(request.POST.get("before", "")) or 0
    pasted = read_pasted(name, request.POST.get("text", ""), min(before, 9999))
    return JsonResponse(asdict(pasted))


@require_POST
def step_take_back(request: Request, slug: str, number: int, pk: int) -> HttpResponse:
    """A struck step becomes a step again."""
    item = get_item_for(request.user, slug, number)
    struck = get_object_or_404(StruckStep, pk=pk, item=item)
    problems = None
    try:
        item = struck_actions.take_back(struck, actor=request.user)
    except Conflict as conflict:
        problems = [{"path": "", "message": conflict.message}]
    return section_reply(request, item, "checklist", problems)


@require_POST
def question_blurs(request: Request, slug: str, number: int) -> HttpResponse:
    """What of the question as it is typed could be said coarser. Changes nothing."""
    document = read_document(get_item_for(request.user, slug, number).document)
    # offsets count a line end as one, as the field in the page does
    question = request.POST.get("question", "").replace("\r\n", "\n")
    answers = [request.POST.get("answer", ""), *request.POST.get("answer_aliases", "").splitlines()]
    found = blurs(question, request.POST.get("language", ""), names_of(document), answers)
    return render(request, "annotation/_section_blurs.html", {"blurs": found})


@require_POST
def graph_drawing(request: Request, slug: str, number: int) -> HttpResponse:
    """The Node-Relation graph as it is typed, and what is amiss with its relations. Half a relation is only noted."""
    page = ItemPage(get_item_for(request.user, slug, number), request.user)
    content = read_section("graph", request.POST, page.document).content
    half = [r for r in content["relations"] if not (r.get("from") and r.get("to"))]
    content["relations"] = [r for r in content["relations"] if r not in half]
    try:
        changed = page.document.with_section("graph", content)
    except DocumentError:
        return HttpResponse(status=204)  # half typed: the drawing before it stays
    context = {
        "page": page,
        "drawing": draw_graph(changed),
        "coverage": graph.coverage(changed),
        "relation_notes": [*(RelationNote(r["key"], "no_end") for r in half), *relation_notes(changed)],
    }
    return render(request, "annotation/_section_graph_drawing.html", context)


def section_reply(
    request: Request, item: Item, section: str, problems: list[dict[str, str]] | None = None
) -> HttpResponse:
    """The saved section, with every other part of the page that it may have changed; `problems` stand in it.

    item: the row as its action left it.
    """
    page = ItemPage(item, request.user)
    if request.method == "POST":  # reading writes nothing
        steps.check(item, page.document)  # now, as the reply shows the findings; the worker has nothing left to do
    page.findings = current_findings(item)
    others = page.order if request.POST.get("unlink_removed") else AFFECTED.get(section, ())
    context: dict[str, Any] = {"page": page, "section": section, "problems": problems or [], "saved": True}
    context["others"] = [name for name in others if name != section]
    if request.POST.get("stay") and not problems:  # saved while it stays open
        context["form"] = form_of(page.document, section, item.section_hashes[section], used_anchors(item))
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
    form_key = request.POST.get("save_key", "")[:36]
    base_hash = form_base(item, section, request.POST.get("base_hash", ""), form_key)
    posted = read_section(section, request.POST, document, used_anchors(item) if ROW_LISTS[section] else ())
    try:
        refuse_other_writer(request, item)
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
            save_key=_save_key(request, form_key),
            struck=posted.struck,
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
    if draft_of(item, section, request.user):
        drafts.drop_draft(item, section, actor=request.user)
    return section_reply(request, item, section)


def refuse_other_writer(request: Request, item: Item) -> None:
    """Raises Invalid for text that somebody else typed into this browser: nobody saves it as theirs unawares."""
    writer = request.POST.get("writer", "")
    if writer not in ("", str(request.user.pk)):
        may_edit_item(request.user, item).require()
        name = request.user.get_full_name() or request.user.get_username()
        text = _("You are logged in as %(name)s now; this was typed by another person. Save again to save it as yours.")
        raise Invalid(text % {"name": name}, code="other_writer")


def typed_fields(post: QueryDict) -> list[tuple[str, str]]:
    """What a form says, without what only one save of it needs."""
    transient = ("csrfmiddlewaretoken", "base_hash", "save_key", "stay", "writer")
    return [(name, value) for name, values in post.lists() if name not in transient for value in values]


def _save_key(request: Request, form_key: str) -> str:
    """One form with one text: a double click or a retry saves once, and what was typed since is another save."""
    if not form_key:
        return ""
    typed = sorted(typed_fields(request.POST))
    return f"{form_key}:{canonical_hash(typed)[:24]}"


def _conflict(
    request: Request, item: Item, section: str, base_hash: str, conflict: actions.SectionConflict
) -> HttpResponse:
    """Theirs, yours, what each changed, and a form with both changes in it where they do not meet."""
    item = get_item_for(request.user, item.benchmark.slug, item.number)
    page = item_page(item, request.user)
    theirs, now = page.document, item.section_hashes[section]
    yours = theirs.with_section(section, conflict.details["yours"])
    base = section_base(item, section, base_hash)
    mine = base.with_section(section, yours.section(section)) if base else None
    merged = merge_both(base, mine, theirs, section) if base and mine else Merged(None)
    form = form_of_post(request.POST, theirs, section, now)
    if merged.document is not None:
        typed, form = form, form_of(merged.document, section, now)
        form.message, form.dirty = typed.message, True
        carry_strikes(typed, form)
    context = {
        "clashes": clash_choices(merged.clashes, form, form_of(theirs, section, now)) if merged.document else [],
        "unsettled": [] if merged.document else merged.clashes,
        "merged": merged.document is not None,
        "change": changed_sections(item.pk, [section], request.user)[0],
        "their_changes": [c for c in diff_documents(base, theirs) if c.section == section] if base else None,
        "differences": diff_documents(theirs, yours),
        "typed": typed_fields(request.POST),
    }
    return _form(request, page, form, status=409, conflict=context)


def _form(
    request: Request, page: ItemPage, form: SectionForm, status: int = 200, conflict: dict[str, Any] | None = None
) -> HttpResponse:
    """The form alone for htmx, else the whole page with the form in its place."""
    context: dict[str, Any] = {"page": page, "form": form, "section": form.section, "conflict": conflict}
    if request.htmx:
        return render(request, "annotation/_section_form.html", context, status=status)
    return workbench(request, page.item, status=status, **context)
