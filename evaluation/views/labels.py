"""Labels of failed steps: the taxonomies, having a model label a run, what it printed that could not be read, and the
reader's own labels on a response."""

from typing import Any

from django.contrib import messages
from django.core.paginator import Paginator
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils.translation import gettext as _
from django.utils.translation import ngettext
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from annotation.benchmarks import get_benchmark_for
from evaluation.failure_modes import LABEL_TEMPLATES, PROMPT_VERSION, write_modes
from evaluation.forms import LabelForm, TaxonomyForm, same_family
from evaluation.label_actions import bring_taxonomy, label_failures, record_labels, retry_unparseable_labels
from evaluation.labels import get_taxonomy, label_progress, taxonomies_of, unparseable_labellings, usual_taxonomy
from evaluation.permissions import may_manage_runs, may_record_verdict
from evaluation.queries import get_response, get_run_for
from lhdr_site.shared.errors import Invalid, NotAllowed
from lhdr_site.shared.numbers import read_whole

from .common import carry_out, person, run_tabs
from .responses import is_blind, show_response

OUTPUTS_A_PAGE = 20


@require_safe
def taxonomy_list(request: HttpRequest, slug: str) -> HttpResponse:
    benchmark = get_benchmark_for(request.user, slug)
    context = {
        "nav": "runs",
        "tabs": run_tabs(benchmark),
        "tab": "modes",
        "rows": taxonomies_of(benchmark),
        "prompt": LABEL_TEMPLATES[PROMPT_VERSION],
        "prompt_version": PROMPT_VERSION,
        "may": may_manage_runs(request.user, benchmark),
    }
    return render(request, "evaluation/taxonomy_list.html", context)


@require_http_methods(["GET", "HEAD", "POST"])
def taxonomy_create(request: HttpRequest, slug: str) -> HttpResponse:
    benchmark = get_benchmark_for(request.user, slug)
    may_manage_runs(request.user, benchmark).require()
    copied = request.GET.get("copy", "")
    start = {"text": write_modes(get_taxonomy(benchmark, copied).modes)} if copied else {}
    form = TaxonomyForm(request.POST if request.method == "POST" else None, initial=start)
    if request.method == "POST" and form.is_valid():
        row = carry_out(form, lambda: bring_taxonomy(benchmark, **form.cleaned_data, actor=person(request)))
        if row is not None:
            messages.success(request, _("Kept the taxonomy “%(name)s”.") % {"name": row.version})
            return redirect(f"{reverse('evaluation:taxonomy-list', args=[slug])}#{row.version}")
    context = {"nav": "runs", "form": form, "copied": copied}
    return render(request, "evaluation/taxonomy_form.html", context, status=422 if form.errors else 200)


@require_http_methods(["GET", "HEAD", "POST"])
def run_label(request: HttpRequest, slug: str, number: int) -> HttpResponse:
    """Have a model label the steps of a run that a judge finds missing."""
    run = get_run_for(request.user, slug, number)
    may_manage_runs(request.user, run.benchmark).require()
    versions = [row.version for row in taxonomies_of(run.benchmark)]
    start = {"labeller": run.main_judge_id, "basis": run.main_judge_id, "taxonomy": usual_taxonomy(run)}
    form = LabelForm(run, versions, request.POST if request.method == "POST" else None, initial=start)
    if request.method == "POST" and form.is_valid():
        count = carry_out(form, lambda: label_failures(run, **form.cleaned_data, actor=person(request)))
        if count:
            text = ngettext("%(n)d response is being labelled.", "%(n)d responses are being labelled.", count)
            messages.success(request, text % {"n": count} + " " + _("No system and no judge is asked again."))
        elif count == 0:
            messages.info(
                request, _("Nothing waits for labels now; verdicts that come later are labelled as they come.")
            )
        if count is not None:
            return redirect("evaluation:run-page", slug=slug, number=number)
    context = {
        "nav": "runs",
        "run": run,
        "form": form,
        "plans": label_progress(run),
        "kin": same_family(run.system, form.fields["labeller"].queryset),  # type: ignore[attr-defined]
    }
    return render(request, "evaluation/run_label.html", context, status=422 if form.errors else 200)


@require_safe
def unread_labels(request: HttpRequest, slug: str, number: int) -> HttpResponse:
    run = get_run_for(request.user, slug, number)
    context = {
        "nav": "runs",
        "run": run,
        "page": Paginator(unparseable_labellings(run), OUTPUTS_A_PAGE).get_page(request.GET.get("page")),
        "may": may_manage_runs(request.user, run.benchmark),
    }
    return render(request, "evaluation/unread_labels.html", context)


@require_POST
def unread_retry(request: HttpRequest, slug: str, number: int) -> HttpResponse:
    run = get_run_for(request.user, slug, number)
    named = request.POST.get("labelling", "")
    count = retry_unparseable_labels(run, [read_whole(named) or 0] if named else None, actor=person(request))
    if count:
        text = ngettext("%(n)d response is labelled again.", "%(n)d responses are labelled again.", count)
        messages.success(request, text % {"n": count})
    else:
        messages.info(request, _("Nothing is unreadable any more, so nothing is asked again."))
    return redirect("evaluation:run-unread-labels", slug=slug, number=number)


@require_POST
def label_give(request: HttpRequest, slug: str, number: int, pk: int) -> HttpResponse:
    """One's own labels, under the verdict that the address names as `judge`."""
    run = get_run_for(request.user, slug, number)
    response = get_response(run, pk)
    may_record_verdict(request.user, run.benchmark).require()
    if is_blind(request.user, run.benchmark, run, response):
        raise NotAllowed(_("Give your own verdict first, or have the others' shown: labels rest on one of them."))
    wanted = read_whole(request.GET.get("judge", "")) or 0
    verdict = response.verdicts.select_related("judge").filter(pk=wanted).first()
    if verdict is None:
        raise Http404
    labels: list[dict[str, Any]] = [
        {"step": read_whole(name[5:]), "mode": mode, "note": request.POST.get(f"note-{name[5:]}", "")}
        for name, mode in request.POST.items()
        if name.startswith("step-") and mode
    ]
    try:
        record_labels(response, verdict.judge, request.POST.get("taxonomy", ""), labels, actor=person(request))
    except Invalid as error:
        return show_response(request, run, response, label_error=error)
    messages.success(request, _("Your labels are kept."))
    address = reverse("evaluation:response-page", args=[slug, number, pk])
    return redirect(f"{address}?judge={verdict.pk}#labels-title")
