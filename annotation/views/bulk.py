"""One thing done to many items: what would be refused and why, then doing it, then what became of each; and exports."""

import datetime as dt
from collections.abc import Iterator
from typing import Any

from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse, QueryDict, StreamingHttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import reverse
from django.utils.translation import gettext as _
from django.views.decorators.http import require_GET, require_http_methods

from annotation import bulk, listing
from annotation.benchmarks import get_benchmark_for
from annotation.exports import export_chunks
from annotation.forms.listing import FilterForm, view_query
from annotation.list_actions import LONGEST_QUERY
from annotation.models import Benchmark, BulkChange, BulkRow, Item
from lhdr_site.shared.errors import Invalid
from lhdr_site.shared.numbers import read_whole

SHOWN = 50  # items listed under one reason, and outcomes of one kind on the page of a change


def selected(benchmark: Benchmark, asked: QueryDict) -> QuerySet[Item]:
    """The items that were ticked (`n`), or with `all` those that the filters of the address let through."""
    if asked.get("all") == "on":
        return listing.matching(benchmark, FilterForm(asked, benchmark, []).filters())
    numbers = [n for text in asked.getlist("n")[:500] if (n := read_whole(text)) is not None and n < 2**31]
    return Item.objects.filter(benchmark=benchmark, number__in=numbers)


@require_http_methods(["GET", "POST"])
def bulk_change(request: HttpRequest, slug: str) -> HttpResponse | StreamingHttpResponse:
    benchmark = get_benchmark_for(request.user, slug)
    asked = request.GET if request.method == "GET" else request.POST
    if request.method == "GET" and asked.get("do") in ("export", "export_images"):
        return _export(request, benchmark)
    kind = bulk.KINDS.get(asked.get("do", ""))
    # A value that was chosen for another kind is none of this one.
    given = kind is not None and kind.need is not None and asked.get("of", kind.code) == kind.code
    value = asked.get("value", "").strip() if given else ""
    query = _list_shown(request.GET)
    if kind is not None and request.method == "POST":
        pks = [
            pk for text in asked.get("items", "").split(",")[: bulk.MOST + 1] if (pk := read_whole(text)) is not None
        ]
        change = bulk.start_change(benchmark, kind, pks, {"value": value, "list": query}, actor=request.user)  # type: ignore[arg-type]
        bulk.run_rows(change.pk, bulk.AT_ONCE)
        return redirect("annotation:bulk-result", slug=slug, pk=change.pk)
    found = selected(benchmark, asked)
    problem = bulk.value_problem(kind, benchmark, value) if kind and (value or not kind.need) else ""
    ready = kind is not None and (not kind.need or (value and not problem))
    data = {"value": value}
    shown = bulk.preview(kind, benchmark, found, data, request.user) if kind and ready else None  # type: ignore[arg-type]
    context = {
        "nav": "items",
        "benchmark": benchmark,
        "kind": kind,
        "kinds": list(bulk.KINDS.values()),
        "value": value,
        "value_words": bulk.value_words(kind, benchmark, value) if kind and ready else "",
        "choices": kind.need.choices(benchmark) if kind and kind.need and kind.need.choices else None,
        "list_query": query,
        "list_url": _list_url(benchmark, query),
        "problem": problem,
        "count": listing.count_of(found, bulk.MOST),
        "preview": shown,
        "refused": [(reason, items[:SHOWN], len(items) - SHOWN) for reason, items in shown.refused.items()]
        if shown
        else [],
        "items": ",".join(map(str, shown.able)) if shown else "",
        "kept": [
            (n, v) for n, vs in asked.lists() if n not in ("do", "of", "value", "csrfmiddlewaretoken") for v in vs
        ],
    }
    return render(request, "annotation/bulk.html", context)


def _list_shown(asked: QueryDict) -> str:
    """The query of the list that one came from, to lead back to it."""
    query = view_query(asked)
    view = read_whole(asked.get("view", ""))
    shown = query if view is None else f"{query}{'&' if query else ''}view={view}"
    return shown if len(shown) <= LONGEST_QUERY else ""


def _list_url(benchmark: Benchmark, query: str) -> str:
    return f"{reverse('annotation:item-list', args=[benchmark.slug])}{'?' if query else ''}{query}"


@require_GET
def bulk_result(request: HttpRequest, slug: str, pk: int) -> HttpResponse:
    """What became of each item; while some wait the page asks again by itself."""
    benchmark = get_benchmark_for(request.user, slug)
    change = get_object_or_404(BulkChange, benchmark=benchmark, actor=request.user, pk=pk)
    kind = bulk.KINDS.get(change.kind)
    counts = bulk.counts_of(change)
    groups = []
    for status in (BulkRow.Status.REFUSED, BulkRow.Status.DONE, BulkRow.Status.SAME):
        rows = change.rows.filter(status=status).select_related("item").only("message", "status", "item__number")
        if counts[status]:
            groups.append((status, counts[status], list(rows[:SHOWN]), max(counts[status] - SHOWN, 0)))
    total = sum(counts.values())
    context = {
        "nav": "items",
        "benchmark": benchmark,
        "change": change,
        "kind": kind,
        "value_words": bulk.value_words(kind, benchmark, change.data.get("value", "")) if kind else "",
        "list_url": _list_url(benchmark, change.data.get("list", "")),
        "counts": counts,
        "total": total,
        "gone_through": total - counts[BulkRow.Status.WAITING],
        "waiting": counts[BulkRow.Status.WAITING],
        "groups": groups,
    }
    part = request.htmx and not request.htmx.history_restore_request  # type: ignore[attr-defined]
    return render(request, "annotation/_bulk_result.html" if part else "annotation/bulk_result.html", context)


def _export(request: HttpRequest, benchmark: Benchmark) -> StreamingHttpResponse:
    """The selected items' documents: JSON Lines, or with images a ZIP file."""
    found = selected(benchmark, request.GET).order_by("number")
    images = request.GET["do"] == "export_images"
    if not found.exists():
        raise Invalid(_("Select at least one item."), code="bad_selection")
    body: Iterator[bytes] = export_chunks(benchmark, found, images=images)
    name = f"{benchmark.slug}-items-{dt.date.today().isoformat()}.{'zip' if images else 'jsonl'}"
    headers: dict[str, Any] = {
        "Content-Disposition": f'attachment; filename="{name}"',
        "Cache-Control": "private, no-store",
    }
    kind = "application/zip" if images else "application/x-ndjson"
    return StreamingHttpResponse(body, content_type=kind, headers=headers)
