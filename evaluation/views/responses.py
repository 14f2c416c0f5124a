"""One response: what came, how the judges marked it and what that earns, and the reader's own verdict.

An auditor who has not given a verdict yet marks first; the other verdicts stay hidden until then, or until the person
asks for them, after which a verdict of theirs is no longer blind.
"""

import re
from typing import Any

from django.contrib import messages
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils.safestring import SafeString, mark_safe
from django.utils.translation import gettext as _
from django.utils.translation import ngettext
from django.views.decorators.http import require_POST, require_safe

from annotation.document import Document
from evaluation import actions
from evaluation.forms import read_marks, same_family
from evaluation.models import Response, Run, Work
from evaluation.permissions import may_record_verdict
from evaluation.queries import (
    ShownVerdict,
    attempts_of,
    compare_verdicts,
    document_of,
    get_response,
    get_run_for,
    has_seen_verdicts,
    last_attempt_of,
    neighbours_of,
    prompt_of,
    verdicts_on,
)
from evaluation.requests import question_images
from evaluation.templatetags.runs import money, tokens
from lhdr_site.shared.errors import Invalid
from lhdr_site.shared.markdown import render_markdown

from .common import person

TABS = ("text", "raw", "request", "attempts")


@require_safe
def response_page(request: HttpRequest, slug: str, number: int, pk: int) -> HttpResponse:
    run = get_run_for(request.user, slug, number)
    return _page(request, run, get_response(run, pk))


def _page(request: HttpRequest, run: Run, response: Response, error: Invalid | None = None) -> HttpResponse:
    document = document_of(response.release_item)
    verdicts = verdicts_on(response, document, run.main_judge_id)
    own = [v for v in verdicts if v.judge.person_id == request.user.pk]
    may_judge = may_record_verdict(request.user, run.benchmark)
    can_judge = bool(may_judge) and response.status == Work.Status.COMPLETED
    blind = can_judge and not own and not has_seen_verdicts(request.user, run, response)
    selected = _selected(request, verdicts)
    tab = request.GET.get("tab", "")
    tab = tab if tab in TABS else "text"
    address = reverse("evaluation:response-page", args=[run.benchmark.slug, run.number, response.pk])
    context: dict[str, Any] = {
        "nav": "runs",
        "demo": run.system.endpoint.is_demo or any(v.judge.endpoint and v.judge.endpoint.is_demo for v in verdicts),
        "run": run,
        "response": response,
        "document": document,
        "images": question_images(document, run.system.image_mode, run.condition),
        "facts": _facts(response),
        "near": neighbours_of(response),
        "tabs": _tabs(address, request.GET.get("judge", "")),
        "tab": tab,
        "blind": blind,
        "can_judge": can_judge,
        "own": own,
        "hidden": sum(v.outcome in ("correct", "wrong", "unparseable") for v in verdicts),
        "error": error,
        "marks": _marks(request, document),
        "answer_mark": request.POST.get("answer", ""),
        "note": request.POST.get("note", own[0].verdict.note if own else ""),
    }
    if tab == "text":
        citations = _citations(response, document)
        known = sum(bool(citation["known"]) for citation in citations)
        context |= {"html": _prose(response.text), "citations": citations, "known_citations": known}
    elif tab == "request":
        context["last"] = last_attempt_of(response)
    elif tab == "attempts":
        context["attempts"] = attempts_of(response)
    if not blind:
        context |= {
            "verdicts": verdicts,
            "shown": selected,
            "comparison": compare_verdicts(verdicts, selected),
            "kin": same_family(run.system, [selected.judge]) if selected else [],
        }
        if selected:
            wants_prompt = request.GET.get("output") == "prompt"
            here = f"{address}?tab={tab}&judge={selected.verdict.pk}"
            context |= {
                "judge_tab": "prompt" if wants_prompt else "output",
                "judge_tabs": [
                    {"name": "output", "label": _("Judge output"), "url": here},
                    {"name": "prompt", "label": _("Prompt"), "url": f"{here}&output=prompt"},
                ],
                "prompt": prompt_of(selected.verdict) if wants_prompt else "",
            }
    return render(request, "evaluation/response_page.html", context, status=error.status if error else 200)


def _selected(request: HttpRequest, verdicts: list[ShownVerdict]) -> ShownVerdict | None:
    wanted = request.GET.get("judge", "")
    chosen = next((v for v in verdicts if str(v.verdict.pk) == wanted), None)
    if wanted and chosen is None:
        raise Http404
    return chosen or (verdicts[0] if verdicts else None)


def _tabs(address: str, judge: str) -> list[dict[str, Any]]:
    keep = f"&judge={judge}" if judge.isdigit() else ""
    words = {"text": _("Response"), "raw": _("Raw"), "request": _("Request sent"), "attempts": _("Attempts")}
    return [{"name": name, "label": words[name], "url": f"{address}?tab={name}{keep}"} for name in TABS]


def _marks(request: HttpRequest, document: Document) -> list[dict[str, Any]]:
    """The steps with what was posted for them: nothing that was marked is lost when something is refused."""
    return [
        {"number": n, "conclusion": step.conclusion, "mark": request.POST.get(f"step-{n}", "")}
        for n, step in enumerate(document.checklist, 1)
    ]


def _prose(text: str) -> SafeString:
    """A response as safe HTML. Its headings look like headings, but are none of this page's outline."""
    html = re.sub(r"<h[1-6]>", '<p class="ev-head">', render_markdown(text))
    return mark_safe(re.sub(r"</h[1-6]>", "</p>", html))


def _facts(response: Response) -> str:
    parts = []
    if response.prompt_tokens is not None or response.completion_tokens is not None:
        count = (response.prompt_tokens or 0) + (response.completion_tokens or 0)
        parts.append(_("%(n)s tokens") % {"n": tokens(count)})
    if not response.is_open:
        parts.append(_("cost unknown") if response.cost is None else money(response.cost))
    parts.append(ngettext("%(n)d try", "%(n)d tries", response.tries) % {"n": response.tries})
    return " · ".join(parts)


def _citations(response: Response, document: Document) -> list[dict[str, str]]:
    """The cited pages, each with its host and, where it is one, the key of the item's source."""
    sources = {_bare(source.url): source.key for source in document.sources}
    shown = []
    for citation in response.citations:
        url = str(citation.get("url", ""))
        if not url.startswith(("http://", "https://")):
            continue
        host = _bare(url).partition("/")[0]
        known = sources.get(_bare(url), "")
        shown.append({"url": url, "title": str(citation.get("title") or ""), "host": host, "known": known})
    return shown


def _bare(url: str) -> str:
    """A URL without what does not tell pages apart."""
    return url.partition("#")[0].removeprefix("https://").removeprefix("http://").removeprefix("www.").rstrip("/")


@require_POST
def verdict_reveal(request: HttpRequest, slug: str, number: int, pk: int) -> HttpResponse:
    """Show the others' verdicts, on this response or on the whole run."""
    run = get_run_for(request.user, slug, number)
    response = get_response(run, pk)
    whole_run = request.POST.get("scope") == "run"
    actions.reveal_verdicts(run, None if whole_run else response, actor=person(request))
    return redirect("evaluation:response-page", slug=slug, number=number, pk=pk)


@require_POST
def verdict_give(request: HttpRequest, slug: str, number: int, pk: int) -> HttpResponse:
    run = get_run_for(request.user, slug, number)
    response = get_response(run, pk)
    may_record_verdict(request.user, run.benchmark).require()
    document = document_of(response.release_item)
    try:
        correct, vector = read_marks(request.POST, len(document.checklist))
        note = request.POST.get("note", "")
        actions.record_human_verdict(response, correct, vector, note=note, actor=person(request))
    except Invalid as error:
        return _page(request, run, response, error)
    messages.success(request, _("Your verdict is kept."))
    return redirect("evaluation:response-page", slug=slug, number=number, pk=pk)
