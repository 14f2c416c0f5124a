"""Judge prompts: ours and those that the team pasted, each with a preview on a real case. None is ever edited."""

from typing import Any

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils.translation import gettext as _
from django.views.decorators.http import require_http_methods, require_safe

from annotation.benchmarks import get_benchmark_for
from evaluation.forms import PromptForm
from evaluation.judging import completed_response, get_prompt, preview_prompt, prompts_of
from evaluation.judging_actions import paste_prompt
from evaluation.permissions import may_manage_runs
from evaluation.prompts import OUTPUT_KEYS, PLACEHOLDERS, REQUIRED, demands_quotes
from evaluation.queries import runs_of
from lhdr_site.shared.errors import Invalid
from lhdr_site.shared.numbers import read_whole

from .common import carry_out, person, run_tabs

RUNS_TO_CHOOSE = 100


@require_safe
def prompt_list(request: HttpRequest, slug: str) -> HttpResponse:
    benchmark = get_benchmark_for(request.user, slug)
    context = {
        "nav": "runs",
        "tabs": run_tabs(benchmark),
        "tab": "prompts",
        "rows": [(row, demands_quotes(row.text)) for row in prompts_of(benchmark)],
        "may": may_manage_runs(request.user, benchmark),
    }
    return render(request, "evaluation/prompt_list.html", context)


@require_safe
def prompt_page(request: HttpRequest, slug: str, version: str) -> HttpResponse:
    """The text, and the text filled in for a completed response that one chooses."""
    benchmark = get_benchmark_for(request.user, slug)
    prompt = get_prompt(benchmark, version)
    wanted = {name: request.GET.get(name, "").strip() for name in ("run", "item")}
    numbers = {name: read_whole(text) for name, text in wanted.items()}
    problem, filled = "", ""
    bad = any(text and numbers[name] is None for name, text in wanted.items())
    response = None if bad else completed_response(benchmark, **numbers)
    if response is None and any(wanted.values()):
        problem = _("There is no completed response to this item in this run. Choose another item or run.")
    elif response is not None:
        try:
            filled = preview_prompt(prompt.text, response)
        except Invalid as error:
            problem = error.message
    context: dict[str, Any] = {
        "nav": "runs",
        "prompt": prompt,
        "quotes": demands_quotes(prompt.text),
        "response": response,
        "filled": filled,
        "problem": problem,
        "wanted_item": wanted["item"] or getattr(response, "item_number", ""),
        "wanted_run": numbers["run"] or (response.run.number if response else None),
        "runs": runs_of(benchmark)[:RUNS_TO_CHOOSE],
        "may": may_manage_runs(request.user, benchmark),
    }
    return render(request, "evaluation/prompt_page.html", context)


@require_http_methods(["GET", "HEAD", "POST"])
def prompt_create(request: HttpRequest, slug: str) -> HttpResponse:
    benchmark = get_benchmark_for(request.user, slug)
    may_manage_runs(request.user, benchmark).require()
    copied = request.GET.get("copy", "")
    start = {"text": get_prompt(benchmark, copied).text} if copied else {}
    form = PromptForm(request.POST if request.method == "POST" else None, initial=start)
    if request.method == "POST" and form.is_valid():
        prompt = carry_out(form, lambda: paste_prompt(benchmark, **form.cleaned_data, actor=person(request)))
        if prompt is not None:
            messages.success(request, _("Kept the prompt “%(name)s”.") % {"name": prompt.version})
            return redirect("evaluation:prompt-page", slug=slug, version=prompt.version)
    context = {
        "nav": "runs",
        "form": form,
        "copied": copied,
        "placeholders": [("{" + name + "}", name in REQUIRED) for name in PLACEHOLDERS],
        "keys": OUTPUT_KEYS,
    }
    return render(request, "evaluation/prompt_form.html", context, status=422 if form.errors else 200)
