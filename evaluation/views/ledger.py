"""The exposure ledger of a benchmark: a page, filtered by item and vendor, and the same as CSV."""

from typing import Any
from urllib.parse import urlencode

from django.http import HttpRequest, HttpResponse, StreamingHttpResponse
from django.shortcuts import render
from django.urls import reverse
from django.views.decorators.http import require_safe

from annotation.benchmarks import get_benchmark_for
from evaluation.ledger import all_exposures, vendors_of
from evaluation.ledger import ledger_page as read_page
from lhdr_site.shared.downloads import csv_response
from lhdr_site.shared.numbers import read_whole

from .common import run_tabs

HEAD = ["when", "item", "how", "name", "vendor", "model", "provider", "error", "run", "probe"]


def _filters(request: HttpRequest) -> dict[str, Any]:
    """`item` (its number) and `vendor`; what is no number finds nothing."""
    item = request.GET.get("item", "").strip().removeprefix("#")
    number = read_whole(item) if item else None
    return {"item": -1 if item and number is None else number, "vendor": request.GET.get("vendor", "")[:80].strip()}


@require_safe
def ledger_page(request: HttpRequest, slug: str) -> HttpResponse:
    benchmark = get_benchmark_for(request.user, slug)
    filters = _filters(request)
    rows, after = read_page(benchmark, **filters, before=read_whole(request.GET.get("before", "")))
    kept = {name: request.GET[name] for name in ("item", "vendor") if request.GET.get(name)}
    context = {
        "nav": "runs",
        "tabs": run_tabs(benchmark),
        "rows": rows,
        "vendors": vendors_of(benchmark),
        "item": request.GET.get("item", "")[:20],
        "vendor": filters["vendor"],
        "filtered": bool(kept),
        "next_url": f"?{urlencode({**kept, 'before': after})}" if after else "",
        "first_url": f"?{urlencode(kept)}" if request.GET.get("before") else "",
        "csv_url": f"{reverse('evaluation:ledger-csv', args=[slug])}?{urlencode(kept)}",
    }
    return render(request, "evaluation/ledger.html", context)


@require_safe
def ledger_csv(request: HttpRequest, slug: str) -> StreamingHttpResponse:
    exposures = all_exposures(get_benchmark_for(request.user, slug), **_filters(request))
    rows = (
        [
            e.when.isoformat(timespec="seconds"),
            *(e.item, e.how, e.name, e.vendor, e.model, e.provider, e.result, e.run, e.probe),
        ]
        for e in exposures
    )
    return csv_response(f"exposure-{slug}", HEAD, rows, mark=False)
