"""Errata: flagging a fault of a locked item, the list, one with core's decision, and the notice on the item's page."""

from typing import Any

from django.contrib import messages
from django.core.paginator import Paginator
from django.http import HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils.text import capfirst
from django.utils.translation import gettext as _
from django.views.decorators.http import require_http_methods, require_safe

from annotation.benchmarks import get_benchmark_for, get_item_for
from annotation.gates import mark_blind
from annotation.states import State
from audit import errata_actions
from audit.errata_forms import DecisionForm, FlagForm
from audit.errata_queries import (
    errata_counts,
    errata_of,
    errata_on,
    errata_since,
    flagged_part,
    get_erratum,
    releases_with,
)
from audit.models import Errata, ReleaseItem
from audit.permissions import may_decide_erratum
from audit.release_queries import releases_of
from audit.releases import get_release
from lhdr_site.shared.errors import Conflict, DomainError, Invalid
from lhdr_site.shared.findings import read_finding

from . import Request

PAGE = 50


@require_safe
def errata_list(request: Request, slug: str) -> HttpResponse:
    """`?status=` narrows it; `?since=RELEASE` gives what was decided against items after that release was cut."""
    benchmark = get_benchmark_for(request.user, slug)
    status, since = request.GET.get("status", ""), request.GET.get("since", "")
    rows = errata_since(get_release(benchmark, since), request.user) if since else errata_of(benchmark, request.user)
    if status in Errata.Status.values:
        rows = rows.filter(status=status)
    page = Paginator(rows, PAGE).get_page(request.GET.get("page"))
    mark_blind([row.item for row in page], request.user)
    counts = errata_counts(benchmark, request.user)
    address = reverse("audit:errata-list", args=[slug])
    tabs = [{"name": "", "label": _("All"), "url": address, "count": sum(counts.values())}]
    tabs += [
        {"name": s.value, "label": capfirst(s.label), "url": f"{address}?status={s.value}", "count": counts[s.value]}
        for s in Errata.Status
    ]
    context = {
        "nav": "releases",
        "page": page,
        "tabs": tabs,
        "status": status,
        "since": since,
        "releases": list(releases_of(benchmark).values_list("name", flat=True)[:20]),
    }
    return render(request, "audit/errata_list.html", context)


@require_http_methods(["GET", "HEAD", "POST"])
def flag(request: Request, slug: str, number: int) -> HttpResponse:
    """`?release=NAME`: the copy in that release is meant; `?kind=` and `?anchor=` choose beforehand, and `?finding=` is
    what an analysis found: it fills the form in, and its evidence is kept with what the person then says."""
    item = get_item_for(request.user, slug, number)
    name = request.GET.get("release", "")
    held = ReleaseItem.objects.filter(release__benchmark=item.benchmark_id, release__name=name, item=item).first()
    document = held.document if held else item.document
    token = request.GET.get("finding", "")
    finding = read_finding(token, slug, number) if token else None
    initial = finding or {key: request.GET.get(key, "") for key in ("kind", "anchor")}
    evidence = finding["evidence"] if finding else {}
    form = FlagForm(document, request.POST if request.method == "POST" else None, initial=initial)
    status = 200
    if request.method == "POST":
        status = 422
        if form.is_valid():
            try:
                row = errata_actions.flag_item(
                    item, **form.cleaned_data, release=name, evidence=evidence, actor=request.user
                )
            except (Conflict, Invalid) as error:
                _say(form, error)
                status = error.status
            else:
                messages.success(request, _("%(item)s is flagged. The core team was told.") % {"item": item})
                return redirect("audit:erratum", slug=slug, pk=row.pk)
    context = {
        "nav": "items",
        "benchmark": item.benchmark,
        "item": item,
        "document": document,
        "release": held and name,
        "form": form,
        "evidence": evidence,
        "stale": bool(token) and finding is None,
        "can_flag": item.state == State.LOCKED or held is not None,
    }
    return render(request, "audit/item_flag.html", context, status=status)


@require_http_methods(["GET", "HEAD", "POST"])
def erratum(request: Request, slug: str, pk: int) -> HttpResponse:
    benchmark = get_benchmark_for(request.user, slug)
    row = get_erratum(benchmark, pk, request.user)
    posted = request.POST if request.method == "POST" else None
    form = DecisionForm(posted, initial={"seen": row.status, "status": "" if row.status == "open" else row.status})
    status = 200
    if posted is not None:
        may_decide_erratum(request.user, row.item).require()
        status = 422
        if form.is_valid():
            try:
                errata_actions.decide_erratum(row, **form.cleaned_data, actor=request.user)
            except (Conflict, Invalid) as error:
                row = get_erratum(benchmark, pk, request.user)
                form = DecisionForm({**posted.dict(), "seen": row.status})
                _say(form, error)
                status = error.status
            else:
                messages.success(request, _("Decided."))
                return redirect("audit:erratum", slug=slug, pk=pk)
    context = {
        "nav": "releases",
        "benchmark": row.item.benchmark,
        "row": row,
        "part": flagged_part(row),
        "in_releases": releases_with(row),
        "may_decide": may_decide_erratum(request.user, row.item),
        "may_unlock": row.item.state == State.LOCKED,
        "form": form,
    }
    return render(request, "audit/erratum.html", context, status=status)


@require_safe
def on_item(request: Request, slug: str, number: int) -> HttpResponse:
    """What stands against an item, as the item's page shows it; as a page of its own without script."""
    item = get_item_for(request.user, slug, number, with_document=False)
    rows = list(errata_on(item, request.user))
    present = [row for row in rows if row.revision_number == item.revision_number]  # type: ignore[attr-defined]
    context: dict[str, Any] = {
        "nav": "items",
        "item": item,
        "rows": rows,
        "against": [row for row in present if row.status != Errata.Status.VALID],
        "others": len(rows) - sum(row.status != Errata.Status.VALID for row in present),
        "can_flag": item.state == State.LOCKED,
    }
    fragment = request.htmx and not request.htmx.history_restore_request
    return render(request, "audit/_item_errata.html" if fragment else "audit/item_errata.html", context)


def _say(form: Any, error: DomainError) -> None:
    """The action's refusal at its field, or at the head of the form."""
    form.is_valid()
    for problem in error.details.get("problems") or [{"path": "", "message": error.message}]:
        form.add_error(problem["path"] if problem["path"] in form.fields else None, problem["message"])
