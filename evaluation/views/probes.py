"""Shortcut probes and gradeability of one item: pages of their own, and fragments on the pages of item and audit."""

from typing import Any

from django import forms
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.views.decorators.http import require_POST, require_safe

from annotation.benchmarks import Item, get_item_for
from audit import probes
from audit.probes import Probe
from evaluation import probe_actions
from evaluation.models import System
from evaluation.probe_forms import GradeForm, JudgeChoice, PastedForm, ProbeForm, WordForm
from evaluation.probe_panel import GradePanel, ProbePanel
from evaluation.queries import attempts_of, last_attempt_of

from .common import carry_out, person
from .responses import citations_of, prose


def _is_fragment(request: Any) -> bool:
    return bool(request.htmx) and not request.htmx.history_restore_request


def _item_of(request: HttpRequest, slug: str, number: int) -> Item:
    """Who audits the item blind sees what systems answered there, and not what others made of it."""
    item = get_item_for(request.user, slug, number)
    probes.require_not_blind(request.user, item)
    return item


@require_safe
def probe_panel(request: HttpRequest, slug: str, number: int) -> HttpResponse:
    panel = ProbePanel(_item_of(request, slug, number), request.user)
    return _show(request, panel)


@require_POST
def probe_ask(request: HttpRequest, slug: str, number: int) -> HttpResponse:
    panel = ProbePanel(_item_of(request, slug, number), request.user)
    panel.may_ask.require()
    form = ProbeForm(panel, request.POST)
    made = None
    if form.is_valid():
        data = form.cleaned_data
        made = carry_out(
            form,
            lambda: probe_actions.launch_probes(
                panel.item,
                systems=list(data["systems"]),
                conditions=[condition == "with" for condition in data["conditions"]],
                times=data["times"],
                judge=data["judge"],
                actor=person(request),
            ),
        )
    if made is None:
        return _show(request, panel, ask=form, only="evaluation/_probe_ask.html")
    return _made(request, panel.item, made)


@require_POST
def probe_paste(request: HttpRequest, slug: str, number: int) -> HttpResponse:
    panel = ProbePanel(_item_of(request, slug, number), request.user)
    panel.may_give_word.require()
    form = PastedForm(request.POST)
    made = None
    if form.is_valid():
        data = {**form.cleaned_data, "with_image": form.cleaned_data["condition"] == "with"}
        made = carry_out(form, lambda: probes.paste_probe(panel.item, data, actor=person(request)))
    if made is None:
        return _show(request, panel, paste=form, only="evaluation/_probe_paste.html")
    return _made(request, panel.item, [made])


@require_safe
def probe_page(request: HttpRequest, slug: str, number: int, pk: int) -> HttpResponse:
    """One probe with what was sent and what came; for htmx its entry in the list."""
    item = _item_of(request, slug, number)
    probe = probes.get_probe(item, pk)
    if _is_fragment(request):
        return _entry(request, item, probe)
    context = {
        **_context(ProbePanel(item, request.user)),
        "row": _row(ProbePanel(item, request.user), probe),
        "last": last_attempt_of(probe),
        "attempts": attempts_of(probe),
    }
    return render(request, "evaluation/probe_page.html", context)


@require_POST
def probe_word(request: HttpRequest, slug: str, number: int, pk: int) -> HttpResponse:
    item = _item_of(request, slug, number)
    probe = probes.get_probe(item, pk)
    form = WordForm(probe, request.POST)
    done = None
    if form.is_valid():
        data = form.cleaned_data
        recovered = data["recovered"] == "yes"
        done = carry_out(
            form,
            lambda: probes.judge_probe(
                probe, recovered=recovered, path=data["path"], comment=data["comment"], actor=person(request)
            ),
        )
    else:
        probes.may_give_word(request.user, item).require()
    return _entry(request, item, probe, word=None if done else form)


@require_POST
def probe_again(request: HttpRequest, slug: str, number: int, pk: int) -> HttpResponse:
    """Ask the system again, or, where an answer is there, a judge about it."""
    item = _item_of(request, slug, number)
    probe = probes.get_probe(item, pk)
    if not probe.text:
        probe_actions.ask_again(probe, actor=person(request))
        return _entry(request, item, probe)
    probes.may_give_word(request.user, item).require()
    form = JudgeChoice(ProbePanel(item, request.user).judges, request.POST, auto_id=f"judge{pk}_%s")
    done = None
    if form.is_valid():
        judge = form.cleaned_data["judge"]
        done = carry_out(form, lambda: probe_actions.ask_again(probe, judge=judge, actor=person(request)))
    return _entry(request, item, probe, judge=None if done else form)


@require_POST
def probe_cancel(request: HttpRequest, slug: str, number: int, pk: int) -> HttpResponse:
    item = _item_of(request, slug, number)
    probe = probes.get_probe(item, pk)
    probes.cancel_probe(probe, actor=person(request))
    return _entry(request, item, probe)


# --- gradeability -------------------------------------------------------------------------------------------------


@require_safe
def gradeability(request: HttpRequest, slug: str, number: int) -> HttpResponse:
    return _graded(request, GradePanel(get_item_for(request.user, slug, number), request.user))


@require_POST
def grade_ask(request: HttpRequest, slug: str, number: int) -> HttpResponse:
    panel = GradePanel(get_item_for(request.user, slug, number), request.user)
    panel.may.require()
    form = GradeForm(panel, request.POST)
    made = None
    if form.is_valid():
        judge, each = form.cleaned_data["judge"], form.cleaned_data["scope"] == "each"
        made = carry_out(
            form,
            lambda: probe_actions.check_gradeability(panel.item, judge, every_step=each, actor=person(request)),
        )
    return _graded(request, panel, None if made else form, changed=made is not None)


@require_POST
def grade_again(request: HttpRequest, slug: str, number: int, pk: int) -> HttpResponse:
    panel = GradePanel(get_item_for(request.user, slug, number), request.user)
    check = probes.get_grade_check(panel.item, pk)
    probe_actions.check_gradeability_again(check, actor=person(request))
    return _graded(request, panel, changed=True)


def _graded(request: HttpRequest, panel: GradePanel, form: Any = None, *, changed: bool = False) -> HttpResponse:
    address = reverse("evaluation:gradeability", args=[panel.item.benchmark.slug, panel.item.number])
    if changed:
        if not _is_fragment(request):
            return redirect(address)
        panel = GradePanel(panel.item, panel.user)
    context = {"nav": "audit", "panel": panel, "item": panel.item, "form": form or GradeForm(panel)}
    template = "evaluation/_gradeability.html" if _is_fragment(request) else "evaluation/gradeability.html"
    return render(request, template, context, status=422 if form is not None and form.errors else 200)


# --- what they answer with ----------------------------------------------------------------------------------------


def _context(panel: ProbePanel) -> dict[str, Any]:
    return {"nav": "audit", "panel": panel, "item": panel.item}


def _row(panel: ProbePanel, probe: Probe, word: Any = None, judge: Any = None) -> dict[str, Any]:
    """A probe with its answer as HTML, and the forms that the person may fill in."""
    may = bool(panel.may_give_word)
    system = next((s for s in panel.systems if s.pk == probe.system), None)
    return {
        "probe": probe,
        "condition": probes.condition_name(probe.with_image),
        "demo": _is_demo(system),
        "html": prose(probe.text) if probe.text else "",
        "citations": citations_of(probe, panel.document),
        "word": word or WordForm(probe) if may and probe.text else None,
        "judge": (judge or JudgeChoice(panel.judges, auto_id=f"judge{probe.pk}_%s"))
        if may and probe.text and panel.judges and not probe.is_open
        else None,
        "may_cancel": probe.status == Probe.Status.PENDING and bool(probes.may_cancel_probe(panel.user, probe)),
        "may_again": probe.status in (Probe.Status.FAILED, Probe.Status.CANCELLED)
        and bool(panel.may_give_word or panel.may_ask),
    }


def _is_demo(system: System | None) -> bool:
    return system is not None and system.is_demo


def _show(
    request: HttpRequest,
    panel: ProbePanel,
    *,
    ask: forms.Form | None = None,
    paste: forms.Form | None = None,
    word: tuple[Probe, forms.Form | None, forms.Form | None] | None = None,
    only: str = "",
) -> HttpResponse:
    """The page, or its part for htmx; `only`: the one form that was refused."""
    wrong = any(form is not None and form.errors for form in (ask, paste, *(word[1:] if word else ())))
    status = 422 if wrong else 200
    context = {
        **_context(panel),
        "ask": ask or ProbeForm(panel),
        "paste": paste or PastedForm(),
    }
    if only and _is_fragment(request):
        reply = render(request, only, context, status=status)
        reply["HX-Retarget"], reply["HX-Reswap"] = f"#{_FORM_IDS[only]}", "outerHTML"
        return reply
    context["rows"] = [
        _row(panel, probe, *(word[1:] if word and probe.pk == word[0].pk else ())) for probe in panel.probes
    ]
    template = "evaluation/_probes.html" if _is_fragment(request) else "evaluation/probes.html"
    return render(request, template, context, status=status)


_FORM_IDS = {"evaluation/_probe_ask.html": "probe-ask", "evaluation/_probe_paste.html": "probe-paste"}


def _made(request: HttpRequest, item: Item, made: list[Probe]) -> HttpResponse:
    """New entries for the top of the list, with the summary and the forms as they are now; or back to the page."""
    if not _is_fragment(request):
        return redirect(_address(item, made[0].pk))
    panel = ProbePanel(item, request.user)
    new = {probe.pk for probe in made}
    context = {**_context(panel), "ask": ProbeForm(panel), "paste": PastedForm(), "oob": True}
    context["rows"] = [_row(panel, probe) for probe in panel.probes if probe.pk in new]
    return render(request, "evaluation/_probes_made.html", context)


def _entry(request: HttpRequest, item: Item, probe: Probe, **refused: Any) -> HttpResponse:
    """One entry with the summary as they are now; or the page."""
    wrong = [form for form in refused.values() if form is not None]
    panel = ProbePanel(item, request.user)
    if not _is_fragment(request):
        if not wrong:
            return redirect(_address(item, probe.pk))
        return _show(request, panel, word=(probe, refused.get("word"), refused.get("judge")))
    again = next(row for row in panel.probes if row.pk == probe.pk)
    context = {**_context(panel), "row": _row(panel, again, **refused), "oob": True}
    return render(request, "evaluation/_probe_changed.html", context, status=422 if wrong else 200)


def _address(item: Item, pk: int) -> str:
    return reverse("evaluation:probe-panel", args=[item.benchmark.slug, item.number]) + f"#probe-{pk}"
