"""The link check: of one item, of one of its sources, and the benchmark's list of what to look at."""

from collections.abc import Iterator
from typing import Any

from django.contrib import messages
from django.http import Http404, HttpResponse
from django.http.response import HttpResponseBase
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils.translation import gettext as _
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from annotation.benchmarks import Item, get_benchmark_for, get_item_for
from annotation.gates import mark_blind
from audit import link_actions
from audit.link_queries import SHOWN, Link, checked_links, link_counts, links_of, open_jobs
from audit.models import LinkCheck
from audit.permissions import may_check_links, may_vouch_link
from lhdr_site.shared.downloads import csv_response, dated
from lhdr_site.shared.errors import DomainError

from . import Request

PAGE = 50


# --- one item -----------------------------------------------------------------------------------------------------


@require_safe
def item_links(request: Request, slug: str, number: int) -> HttpResponse:
    """Every source with what is known of its URL; for htmx the summary alone, as other pages show it."""
    item = get_item_for(request.user, slug, number)
    template = "audit/_links.html" if request.htmx else "audit/links.html"
    return render(request, template, _of_item(request, item))


@require_POST
def check(request: Request, slug: str, number: int) -> HttpResponse:
    """Have the worker check one `source`, or all of the item's."""
    item = get_item_for(request.user, slug, number)
    source = request.POST.get("source", "")
    jobs = link_actions.ask_checks(item, [source] if source else [], actor=request.user)
    if request.htmx and source:
        return _one(request, item, source)
    if request.htmx:
        response = render(request, "audit/_links.html", _of_item(request, item))
        response["HX-Trigger"] = "links-asked"
        return response
    messages.success(request, _("%(n)d links are being checked. Reload the page to see what came.") % {"n": len(jobs)})
    return redirect(_address(item, source))


@require_http_methods(["GET", "HEAD", "POST"])
def link(request: Request, slug: str, number: int, source: str) -> HttpResponse:
    """One source's link with the text that was kept; POST: a person's word that it opens, or that it is dead."""
    item = get_item_for(request.user, slug, number)
    if request.method != "POST":
        return _one(request, item, source)
    posted = request.POST
    try:
        link_actions.vouch_link(
            item,
            source,
            posted.get("seen", ""),
            posted.get("note", ""),
            opens=posted.get("opens") != "no",
            actor=request.user,
        )
    except DomainError as error:
        return _one(request, item, source, error=error, typed=posted)
    if request.htmx:
        return _one(request, item, source)
    return redirect(_address(item, source))


def _of_item(request: Request, item: Item, **context: Any) -> dict[str, Any]:
    links = links_of(item)
    words = [found.status for found in links.values()]
    waiting = sum(found.job is not None for found in links.values())
    return {
        "nav": "items",
        "item": item,
        "titles": {s["key"]: s["title"] or s["url"] for s in item.document["sources"]},
        "links": links,
        "waiting": waiting,
        "running": sum(found.job is not None and not found.job.tries for found in links.values()),
        "progress": {
            "completed": sum(f.check is not None and f.job is None for f in links.values()),
            "pending": waiting,
        },
        "words": [(status, words.count(status)) for status in [*LinkCheck.Status.values, ""] if status in words],
        "may_check": may_check_links(request.user, item),
        "may_vouch": may_vouch_link(request.user, item),
    } | context


def _one(request: Request, item: Item, source: str, error: DomainError | None = None, **context: Any) -> HttpResponse:
    found: Link | None = links_of(item).get(source)
    if found is None:
        raise error or Http404
    context |= {"item": item, "link": found, "error": error, "nav": "items"}
    context |= {"may_check": may_check_links(request.user, item), "may_vouch": may_vouch_link(request.user, item)}
    status = error.status if error else 200
    if request.htmx:
        return render(request, "audit/_link.html", context, status=status)
    context["checks"] = LinkCheck.objects.filter(item=item, source=source).select_related("by").order_by("-pk")[:PAGE]
    context["title"] = next(s["title"] or s["url"] for s in item.document["sources"] if s["key"] == source)
    return render(request, "audit/link.html", context, status=status)


def _address(item: Item, source: str = "") -> str:
    address = reverse("audit:item-links", args=[item.benchmark.slug, item.number])
    return f"{address}#link-{source}" if source else address


# --- the benchmark ------------------------------------------------------------------------------------------------


def _names() -> dict[str, str]:
    return {
        "problems": _("To look at"),
        "dead": _("Dead"),
        "changed": _("Changed"),
        "quote": _("Quote not found"),
        "unverifiable": _("Unverifiable"),
        "refused": _("Not fetched"),
        "ok": _("Open"),
        "all": _("All"),
    }


@require_safe
def link_list(request: Request, slug: str) -> HttpResponse:
    """The machine's latest word on every source: `?show=` narrows it, `?item=` to one item, `?before=` goes on."""
    benchmark = get_benchmark_for(request.user, slug)
    show, number = _narrowed(request)
    counts = link_counts(benchmark, number=number)
    before = request.GET.get("before", "")
    rows = checked_links(benchmark, number=number).filter(SHOWN[show])
    if before.isascii() and before.isdecimal() and len(before) < 19:
        rows = rows.filter(pk__lt=int(before))
    page = list(rows[: PAGE + 1])
    mark_blind([row.item for row in page], request.user)
    item = f"&item={number}" if number is not None else ""
    context = {
        "nav": "audit",
        "benchmark": benchmark,
        "rows": page[:PAGE],
        "older": page[PAGE - 1].pk if len(page) > PAGE else None,
        "is_first": "before" not in request.GET,
        "show": show,
        "number": number,
        "item_query": item,
        "counts": counts,
        "waiting": open_jobs(benchmark),
        "tabs": [
            {"name": name, "label": label, "url": f"?show={name}{item}", "count": counts[name]}
            for name, label in _names().items()
        ],
    }
    return render(request, "audit/link_list.html", context)


@require_safe
def link_csv(request: Request, slug: str) -> HttpResponseBase:
    """The list as it is narrowed, whole."""
    benchmark = get_benchmark_for(request.user, slug)
    show, number = _narrowed(request)
    head = ["item", "state", "source", "url", "status", "reason", "http_status", "final_url", "content_type", "title"]
    head += ["quote_found", "quote_score", "changed", "opened_by_a_person", "checked"]

    def rows() -> Iterator[list[Any]]:
        for row in checked_links(benchmark, number=number).filter(SHOWN[show]).iterator(chunk_size=1000):
            values: Any = row
            known = [values.item_number, values.item_state, row.source, row.url, row.status, row.reason]
            known += [row.http_status, row.final_url, row.content_type, row.title]
            told = [None if value is None else "yes" if value else "no" for value in (row.quote_found, row.changed)]
            yield [
                *known,
                told[0],
                row.quote_score,
                told[1],
                "yes" if values.vouched else "no",
                row.created.isoformat(timespec="seconds"),
            ]

    return csv_response(dated(f"{slug}-links"), head, rows())


def _narrowed(request: Request) -> tuple[str, int | None]:
    """What the query asks for; what it cannot mean is passed over."""
    show, number = request.GET.get("show", ""), request.GET.get("item", "").lstrip("#")
    is_number = number.isascii() and number.isdecimal() and len(number) < 10
    return show if show in SHOWN else "problems", int(number) if is_number else None
