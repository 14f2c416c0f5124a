"""One response: what came, how the judges marked it and what that earns, and the reader's own verdict.

An auditor who has not given a verdict yet marks first; the other verdicts stay hidden until then, or until the person
asks for them, after which a verdict of theirs is no longer blind.
"""

import re
from collections.abc import Mapping
from typing import Any

from django.contrib import messages
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils.safestring import SafeString, mark_safe
from django.utils.translation import gettext as _
from django.utils.translation import ngettext
from django.views.decorators.http import require_POST, require_safe

from annotation.benchmarks import Benchmark, taken_down
from annotation.document import Document
from evaluation import marking_actions
from evaluation.forms import read_marks, same_family
from evaluation.labels import labels_on
from evaluation.marking import verdict_history
from evaluation.models import Response, Run, Work
from evaluation.permissions import may_manage_runs, may_record_verdict
from evaluation.queries import (
    ShownVerdict,
    attempts_of,
    carried_from,
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
    return show_response(request, run, get_response(run, pk))


def show_response(
    request: HttpRequest,
    run: Run,
    response: Response,
    error: Invalid | None = None,
    label_error: Invalid | None = None,
) -> HttpResponse:
    document = document_of(response.release_item)
    verdicts = verdicts_on(response, document, run.main_judge_id)
    own = [v for v in verdicts if v.judge.person_id == request.user.pk]
    may_judge = may_record_verdict(request.user, run.benchmark)
    can_judge = bool(may_judge) and _takes_verdicts(run, response)
    blind = can_judge and not own and not has_seen_verdicts(request.user, run, response)
    selected = _selected(request, verdicts)
    tab = request.GET.get("tab", "")
    tab = tab if tab in TABS else "text"
    address = reverse("evaluation:response-page", args=[run.benchmark.slug, run.number, response.pk])
    images = question_images(document, run.system.image_mode, run.condition)
    gone = taken_down(run.benchmark_id, [image.sha256 for image in images]) if images else {}
    context: dict[str, Any] = {
        "nav": "runs",
        "demo": run.system.is_demo or any(v.judge.endpoint and v.judge.endpoint.is_demo for v in verdicts),
        "run": run,
        "response": response,
        "document": document,
        "images": [(image, gone.get(image.sha256, "")) for image in images],
        "facts": _facts(response),
        "carried": carried_from(response),
        "near": neighbours_of(response),
        "tabs": _tabs(address, request.GET.get("judge", "")),
        "tab": tab,
        "blind": blind,
        "can_judge": can_judge,
        "may_manage": may_judge and may_manage_runs(request.user, run.benchmark),
        "is_anchor": hasattr(response, "anchor"),
        "own": own,
        "hidden": sum(v.outcome in ("correct", "wrong", "unparseable") for v in verdicts),
        "error": error,
        "marks": marks_posted(request.POST, document),
        "answer_mark": request.POST.get("answer", ""),
        "note": request.POST.get("note", own[0].verdict.note if own else ""),
    }
    if tab == "text":
        citations = citations_of(response, document)
        known = sum(bool(citation["known"]) for citation in citations)
        context |= {"html": prose(response.text), "citations": citations, "known_citations": known}
    elif tab == "request":
        context["last"] = last_attempt_of(response)
    elif tab == "attempts":
        context["attempts"] = attempts_of(response)
    if not blind:
        context |= {
            "verdicts": verdicts,
            "shown": selected,
            "comparison": compare_verdicts(verdicts, selected),
            "history": verdict_history(response) if any(v.judge.person_id for v in verdicts) else [],
            "kin": same_family(run.system, [selected.judge]) if selected else [],
        }
        if selected and selected.is_readable:
            labels = labels_on(run, response, document, selected.verdict, request.user)
            context |= {
                "labels": labels and labels.with_posted(request.POST) if label_error else labels,
                "labels_hidden": bool(can_judge and labels and not labels.own),
                "label_error": label_error,
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
    refused = error or label_error
    return render(request, "evaluation/response_page.html", context, status=refused.status if refused else 200)


def _takes_verdicts(run: Run, response: Response) -> bool:
    return response.status == Work.Status.COMPLETED and not (run.study and run.study.frozen)


def is_blind(user: Any, benchmark: Benchmark, run: Run, response: Response) -> bool:
    """Whether the verdicts of others are still to be hidden from a person who may give one."""
    if not (may_record_verdict(user, benchmark) and _takes_verdicts(run, response)):
        return False
    if has_seen_verdicts(user, run, response):
        return False
    return not response.verdicts.filter(judge__person=user).exists()


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


def marks_posted(posted: Mapping[str, Any], document: Document) -> list[dict[str, Any]]:
    """The steps with what was posted for them: nothing that was marked is lost when something is refused."""
    return [
        {"number": n, "conclusion": step.conclusion, "mark": posted.get(f"step-{n}", "")}
        for n, step in enumerate(document.checklist, 1)
    ]


def prose(text: str) -> SafeString:
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
    if response.carried_from_id:
        parts.append(_("paid before"))
    else:
        parts.append(ngettext("%(n)d try", "%(n)d tries", response.tries) % {"n": response.tries})
    return " · ".join(parts)


def citations_of(response: Any, document: Document) -> list[dict[str, str]]:
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
    marking_actions.reveal_verdicts(run, None if whole_run else response, actor=person(request))
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
        marking_actions.record_human_verdict(response, correct, vector, note=note, actor=person(request))
    except Invalid as error:
        return show_response(request, run, response, error)
    messages.success(request, _("Your verdict is kept."))
    return redirect("evaluation:response-page", slug=slug, number=number, pk=pk)
