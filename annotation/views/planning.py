"""Planning a benchmark: coverage and targets, the guideline and its versions, golden examples; who has which item."""

import datetime as dt
from collections.abc import Callable
from typing import Any

from django.contrib import messages
from django.contrib.auth.models import User
from django.http import Http404, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils.translation import gettext as _
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from annotation import assignment_actions, benchmark_actions, planning
from annotation.benchmarks import get_benchmark_for, get_item_for
from annotation.diff import text_runs
from annotation.models import Benchmark, Item
from annotation.permissions import may_administer
from annotation.queries import item_page
from lhdr_site.shared.errors import DomainError, Invalid
from lhdr_site.shared.markdown import render_markdown
from lhdr_site.shared.numbers import read_whole

from . import Request
from .item import workbench

MOST_TARGET = 1_000_000


def frame(benchmark: Benchmark, tab: str, **context: Any) -> dict[str, Any]:
    """What every page of planning shows: the tabs."""
    tabs = [
        {"name": name, "label": label, "url": reverse(f"annotation:{url}", args=[benchmark.slug])}
        for name, label, url in (
            ("coverage", _("Coverage"), "coverage"),
            ("seeds", _("Ideas"), "seed-list"),
            ("guideline", _("Guideline"), "guideline"),
            ("golden", _("Golden examples"), "golden-list"),
        )
    ]
    return {"nav": "plan", "benchmark": benchmark, "tabs": tabs, "tab": tab, **context}


# --- coverage -----------------------------------------------------------------------------------------------------


@require_http_methods(["GET", "HEAD", "POST"])
def coverage(request: Request, slug: str) -> HttpResponse:
    """GET shows it, POST sets targets."""
    benchmark = get_benchmark_for(request.user, slug)
    errors: dict[str, str] = {}
    may_set = may_administer(request.user, benchmark)
    if request.method == "POST":
        may_set.require()
        targets, errors = _targets(request, benchmark)
        if not errors:
            benchmark_actions.set_targets(benchmark, targets, actor=request.user)
            messages.success(request, _("The targets are set."))
            return redirect("annotation:coverage", slug=slug)
    groups = planning.coverage(benchmark)
    titles = {"category": _("By category"), "template": _("By template"), "tag": _("By operation tag")}
    context = frame(
        benchmark,
        "coverage",
        groups=[(name, titles[name], rows) for name, rows in groups.items()],
        missing=planning.missing_most([row for rows in groups.values() for row in rows]),
        has_targets=any(row.target for rows in groups.values() for row in rows),
        may_set=bool(may_set),
        errors=errors,
        typed=request.POST if errors else {},
    )
    return render(request, "annotation/coverage.html", context, status=422 if errors else 200)


def _targets(request: Request, benchmark: Benchmark) -> tuple[dict[tuple[str, str], int | None], dict[str, str]]:
    """Targets by (group, slug), and by the field's name what is wrong with those that cannot be read."""
    targets: dict[tuple[str, str], int | None] = {}
    errors = {}
    for group, rows in planning.coverage(benchmark).items():
        for row in rows:
            name = f"target-{group}-{row.slug}"
            if (text := request.POST.get(name)) is None:
                continue
            number = read_whole(text.strip())
            if text.strip() and (number is None or number > MOST_TARGET):
                words = _("The target of %(name)s must be a whole number up to %(most)s, or empty.")
                errors[name] = words % {"name": row.name, "most": f"{MOST_TARGET:,}"}
            targets[group, row.slug] = number
    return targets, errors


# --- guideline ----------------------------------------------------------------------------------------------------


@require_http_methods(["GET", "HEAD", "POST"])
def guideline(request: Request, slug: str) -> HttpResponse:
    """The newest version or another one; `from` and `to` compare two; `edit` opens the form; POST saves a version."""
    benchmark = get_benchmark_for(request.user, slug)
    may_edit = may_administer(request.user, benchmark)
    versions = list(benchmark.guideline_versions.select_related("author").defer("text")[:200])
    newest = versions[0].number if versions else 0
    context = frame(benchmark, "guideline", versions=versions, newest=newest, may_edit=bool(may_edit))
    if request.method == "POST":
        may_edit.require()
        text, message = request.POST.get("text", ""), request.POST.get("message", "")
        base = read_whole(request.POST.get("base", ""))
        try:
            if base is None:
                raise Invalid(_("The form came without the version it started from. Look at your text and save again."))
            benchmark_actions.save_guideline(benchmark, text, base, actor=request.user, message=message)
        except DomainError as error:
            if error.status not in (409, 422):
                raise
            context |= {"editing": True, "text": text, "message": message, "error": error}
            return render(request, "annotation/guideline.html", context, status=error.status)
        messages.success(request, _("The guideline is saved."))
        return redirect("annotation:guideline", slug=slug)
    if "edit" in request.GET:
        may_edit.require()
        context |= {"editing": True, "text": benchmark.guideline, "message": ""}
    elif "from" in request.GET or "to" in request.GET:
        old, new = (_version(benchmark, request.GET.get(end, "")) for end in ("from", "to"))
        context |= {"old": old, "new": new, "runs": text_runs(old.text, new.text)}
    elif "version" in request.GET:
        version = _version(benchmark, request.GET["version"])
        context |= {"version": version, "html": render_markdown(version.text)}
    else:
        context |= {"html": render_markdown(benchmark.guideline)}
    return render(request, "annotation/guideline.html", context)


def _version(benchmark: Benchmark, number: str) -> Any:
    found = benchmark.guideline_versions.select_related("author").filter(number=min(read_whole(number) or 0, 2**31 - 1))
    if (version := found.first()) is None:
        raise Http404
    return version


@require_POST
def guideline_restore(request: Request, slug: str) -> HttpResponse:
    """An earlier version becomes the newest one."""
    benchmark = get_benchmark_for(request.user, slug)
    may_administer(request.user, benchmark).require()
    version = _version(benchmark, request.POST.get("number", ""))
    base = read_whole(request.POST.get("base", "")) or 0
    message = _("Restored version %(number)s") % {"number": version.number}
    benchmark_actions.save_guideline(benchmark, version.text, base, actor=request.user, message=message)
    messages.success(request, _("Version %(number)s is the guideline again.") % {"number": version.number})
    return redirect("annotation:guideline", slug=slug)


# --- golden examples ----------------------------------------------------------------------------------------------


@require_safe
def golden_list(request: Request, slug: str) -> HttpResponse:
    benchmark = get_benchmark_for(request.user, slug)
    items = list(planning.golden_items(benchmark)[:200])
    return render(request, "annotation/golden_list.html", frame(benchmark, "golden", items=items))


# --- people of an item --------------------------------------------------------------------------------------------


def _change(request: Request, slug: str, number: int, write: Callable[[Item], object]) -> HttpResponse:
    """Write, and show the card of people again; with the reason when it was refused."""
    item = get_item_for(request.user, slug, number)
    try:
        write(item)
    except DomainError as error:
        item = get_item_for(request.user, slug, number)
        context: dict[str, Any] = {"page": item_page(item, request.user), "error": error, "typed": request.POST}
        if request.htmx:
            return render(request, "annotation/_page_people.html", context, status=error.status)
        return workbench(request, item, status=error.status, **context)
    item = get_item_for(request.user, slug, number)
    page = item_page(item, request.user)
    if not request.htmx:
        return redirect(f"{page.url}#people")
    return render(request, "annotation/_page_people.html", {"page": page})


def _person(name: str, field: str) -> User | None:
    if not name:
        return None
    user = User.objects.filter(username=name[:150]).first()
    if user is None:
        raise Invalid.at(field, _("Choose somebody from the list."), code="unknown_person")
    return user


@require_POST
def assignment_save(request: Request, slug: str, number: int) -> HttpResponse:
    """Auditor and due date; empty takes each back."""

    def write(item: Item) -> None:
        text = request.POST.get("due", "").strip()
        try:
            due = dt.date.fromisoformat(text) if text else None
        except ValueError:
            words = _("“%s” is no day; write it like 2026-12-31, or leave it empty.")
            raise Invalid.at("due", words % text[:30], code="bad_day") from None
        auditor = _person(request.POST.get("auditor", ""), "auditor")
        assignment_actions.assign_item(item, auditor, due, actor=request.user)

    return _change(request, slug, number, write)


@require_POST
def hand_over(request: Request, slug: str, number: int) -> HttpResponse:
    def write(item: Item) -> None:
        author = _person(request.POST.get("author", ""), "author")
        if author is None:
            raise Invalid.at("author", _("Choose who takes it over."), code="nobody")
        assignment_actions.hand_over_item(item, author, actor=request.user)

    return _change(request, slug, number, write)


@require_POST
def golden_save(request: Request, slug: str, number: int) -> HttpResponse:
    def write(item: Item) -> None:
        golden = request.POST.get("golden") == "on"
        assignment_actions.mark_golden(item, golden, request.POST.get("note", ""), actor=request.user)

    return _change(request, slug, number, write)
