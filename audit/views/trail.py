"""The audit trail of an item and of a benchmark: a page, and all of it as CSV or JSON Lines."""

from typing import Any
from urllib.parse import urlencode

from django.contrib.auth.models import User
from django.http import HttpResponse
from django.http.response import HttpResponseBase
from django.shortcuts import render
from django.urls import reverse
from django.views.decorators.http import require_safe

from annotation.benchmarks import get_benchmark_for, get_item_for
from audit.permissions import require_not_blind
from audit.trail import SYSTEM, Filters, Trail, groups, read_filters
from lhdr_site.shared.downloads import csv_response, dated, jsonl_response
from lhdr_site.shared.errors import Invalid

from . import Request

FIELDS = ("group", "person", "since", "until", "item")
HEAD = ["id", "at", "kind", "group", "actor", "item", "about", "revision", "words", "details"]


@require_safe
def trail(request: Request, slug: str, number: int | None = None) -> HttpResponse:
    """A page, narrowed by `group`, `person`, `since`, `until` and `item`; `before` goes on."""
    error = None
    try:
        found = _trail(request, slug, number, read_filters(request.GET.dict()))
        rows, after = found.page(request.GET.get("before", ""))
    except Invalid as refused:
        error = refused
        found, rows, after = _trail(request, slug, number, Filters()), [], ""
    kept = {name: request.GET[name] for name in FIELDS if request.GET.get(name)}
    context = {
        "nav": "items" if found.item else "audit",
        "benchmark": found.benchmark,
        "item": found.item,
        "rows": rows,
        "error": error,
        "typed": kept,
        "hidden": found.hidden,
        "groups": groups(),
        "people": _people(found, kept.get("person", "")),
        "next_url": f"?{urlencode({**kept, 'before': after})}" if after else "",
        "first_url": f"?{urlencode(kept)}" if request.GET.get("before") else "",
        "address": _address(found, ""),
        "csv_url": f"{_address(found, '-csv')}?{urlencode(kept)}",
        "jsonl_url": f"{_address(found, '-jsonl')}?{urlencode(kept)}",
    }
    return render(request, "audit/trail.html", context, status=error.status if error else 200)


@require_safe
def trail_csv(request: Request, slug: str, number: int | None = None) -> HttpResponseBase:
    found = _trail(request, slug, number, read_filters(request.GET.dict()))

    def rows() -> Any:
        for entry in found.everything():
            values = entry.to_json() | {"details": "; ".join(f"{name}: {text}" for name, text in entry.details)}
            yield [values[name] for name in HEAD]

    return csv_response(_name(found), HEAD, rows())


@require_safe
def trail_jsonl(request: Request, slug: str, number: int | None = None) -> HttpResponseBase:
    found = _trail(request, slug, number, read_filters(request.GET.dict()))
    return jsonl_response(_name(found), (entry.to_json() for entry in found.everything()))


def _trail(request: Request, slug: str, number: int | None, filters: Filters) -> Trail:
    if number is None:
        return Trail(request.user, get_benchmark_for(request.user, slug), filters)
    item = get_item_for(request.user, slug, number, with_document=False)
    require_not_blind(request.user, item)
    return Trail(request.user, item.benchmark, filters, item)


def _people(found: Trail, chosen: str) -> list[tuple[str, str]]:
    """Members as (user name, name); also whom the address names, who may have left."""
    members = User.objects.filter(memberships__benchmark=found.benchmark).order_by("username")
    people = [(user.username, user.get_full_name() or user.username) for user in members]
    known = {SYSTEM, "", *(name for name, _full in people)}
    return people if chosen in known else [*people, (chosen, chosen)]


def _address(found: Trail, form: str) -> str:
    if found.item:
        return reverse(f"audit:item-trail{form}", args=[found.benchmark.slug, found.item.number])
    return reverse(f"audit:trail{form}", args=[found.benchmark.slug])


def _name(found: Trail) -> str:
    item = f"-{found.item.number}" if found.item else ""
    return dated(f"{found.benchmark.slug}{item}-trail")
