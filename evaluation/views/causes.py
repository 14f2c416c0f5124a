"""What analyses say of one item: its checklist, drawn, with where responses break and what each missing step costs
downstream; and the way from a finding of its health to flagging it."""

from collections.abc import Mapping
from typing import Any
from urllib.parse import urlencode

from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils.translation import gettext as _
from django.utils.translation import ngettext
from django.views.decorators.http import require_safe

from annotation.benchmarks import get_benchmark_for
from annotation.document import read_document
from annotation.drawing import Heat, draw_checklist, with_heat
from evaluation.analyses.breaks import CAUSES, ItemCosts, item_costs
from evaluation.analyses.data import load
from evaluation.analyses.exports import shown
from evaluation.analyses.health import HEALTH
from evaluation.scoring.chains import StepCost
from lhdr_site.shared.findings import sign_finding
from lhdr_site.shared.numbers import read_whole

from .analyses import chosen, navigation

WHAT = ("items", "steps", "consensus")
BOUNDS = (0.0, 0.02, 0.05, 0.1)  # of the item's credit: above each a step is one shade darker


@require_safe
def cause_item(request: HttpRequest, slug: str, number: int) -> HttpResponse:
    """The item of the release with this number, under the runs and the judge that an analysis' address chooses."""
    benchmark = get_benchmark_for(request.user, slug)
    choice = chosen(benchmark, CAUSES.key, request.GET)
    if choice.release is None or choice.judge is None or not choice.runs:
        raise Http404
    results = load(choice.release, choice.runs, [choice.judge], choice.judge, choice.profile)
    ordered = item_costs(results)
    at = next((at for at, its in enumerate(ordered) if results.items[its.place].number == number), None)
    if at is None:
        raise Http404
    its = ordered[at]
    document = read_document(results.items[its.place].document)
    heat = {step.key: _heat(cost, its) for step, cost in zip(document.checklist, its.steps, strict=True)}
    query = choice.query()

    def address(place: int) -> str:
        if not 0 <= place < len(ordered):
            return ""
        item = results.items[ordered[place].place]
        return reverse("evaluation:cause-item", args=[slug, item.number]) + f"?{query}"

    context = {
        "nav": "results",
        "choice": choice,
        "number": number,
        "document": document,
        "its": its,
        "place": at + 1,
        "total": len(ordered),
        "previous": address(at - 1),
        "following": address(at + 1),
        "worst": its.worst + 1 if its.worst is not None else None,
        "drawing": with_heat(draw_checklist(document, link=True), heat),
        "rows": [
            (n, step, cost, heat[step.key].level)
            for n, (step, cost) in enumerate(zip(document.checklist, its.steps, strict=True), 1)
        ],
        "shades": _shades(),
        "entries": navigation(benchmark, CAUSES.key, request.GET.urlencode()),
        "back": reverse("evaluation:analysis", args=[slug, CAUSES.key]) + f"?{query}",
        "demo": any(run.system.is_demo for run in choice.runs),
    }
    return render(request, "evaluation/cause_item.html", context)


def _heat(cost: StepCost, its: ItemCosts) -> Heat:
    level = sum(cost.loss > bound for bound in BOUNDS)
    label = "" if not level else "<1%" if cost.loss < 0.01 else f"{100 * cost.loss:.0f}%"
    breaks = ngettext(
        "%(n)d of %(of)d response first breaks here", "%(n)d of %(of)d responses first break here", cost.first
    )
    words = _("costs %(loss).1f%% of the item's credit downstream") % {"loss": 100 * cost.loss}
    return Heat(level, label, f"{breaks % {'n': cost.first, 'of': its.judged}}; {words}")


def _shades() -> list[tuple[int, str]]:
    ends = [f"{100 * bound:.0f}%" for bound in BOUNDS]
    between = [_("up to %s") % ends[1], f"{ends[1]}–{ends[2]}", f"{ends[2]}–{ends[3]}", _("over %s") % ends[3]]
    return [(0, _("nothing")), *enumerate(between, 1)]


# --- from a finding to an erratum ---------------------------------------------------------------------------------


@require_safe
def health_flag(request: HttpRequest, slug: str, number: int) -> HttpResponse:
    """To the page that flags the item, filled in with what the analysis of health found: `what` and `step`."""
    benchmark = get_benchmark_for(request.user, slug)
    choice = chosen(benchmark, HEALTH.key, request.GET)
    what, step = request.GET.get("what", ""), read_whole(request.GET.get("step", "0"))
    held = choice.release and choice.release.release_items.filter(item__number=number).first()
    if what not in WHAT or step is None or not held:
        raise Http404
    analysed = choice.analysed()
    table = next((table for table in analysed.result.tables if table.key == what), None)
    rows = [row for row in table.rows if row["item"] == held.uid and row["flag"]] if table else []
    if what == "steps":
        rows = [row for row in rows if row["step"].startswith(f"{step}. ")]
    if table is None or not rows:
        raise Http404
    [row] = rows
    source = reverse("evaluation:analysis", args=[slug, HEALTH.key]) + f"?{choice.query()}#{what}"
    evidence = {_("analysis"): f"{HEALTH.title}: {table.title}", _("address"): request.build_absolute_uri(source)}
    evidence |= {
        column.label: shown(row[column.key], column.kind)
        for column in table.figures
        if row[column.key] not in (None, "") and column.key != "item"
    }
    evidence[_("computed from")] = choice.source(analysed)
    key = held.document["checklist"][step - 1]["key"] if what == "steps" else ""
    finding = {
        "kind": {"items": "problem", "steps": "step", "consensus": "answer"}[what],
        "anchor": key,
        "grounds": _grounds(what, row),
        "evidence": evidence,
    }
    flag = reverse("audit:item-flag", args=[slug, number])
    query = {"release": choice.release.name, "finding": sign_finding(slug, number, finding)}  # type: ignore[union-attr]
    return redirect(f"{flag}?{urlencode(query)}")


def _grounds(what: str, row: Mapping[str, Any]) -> str:
    """The finding in a sentence or two, for the person to complete."""
    if what == "consensus":
        text = _(
            "%(agree)d of %(given)d systems that answered end on “%(answer)s”, and the key says “%(key)s”: %(systems)s."
            " Either the key is wrong, or the question admits both."
        )
        return text % row
    if what == "steps":
        text = _("Of %(judged)d systems, this step is stated by: %(by)s. It tells no system from another: %(step)s")
        return text % row
    sentences = []
    if row["never"]:
        sentences.append(_("None of %(judged)d systems solves it.") % row)
    if (row["correlation"] or 0) < 0:
        text = _("Systems that are better on the other items are worse on this one (correlation %s).")
        sentences.append(text % shown(row["correlation"], "number"))
    return " ".join([*sentences, _("The key or the question may be wrong.")])
