"""Releases: the list, choosing items and cutting one, one with its items, two compared, and exports as downloads."""

from typing import Any

from django.contrib import messages
from django.core.paginator import Paginator
from django.http import HttpResponse, QueryDict
from django.http.response import HttpResponseBase
from django.shortcuts import redirect, render
from django.utils.translation import gettext as _
from django.views.decorators.http import require_http_methods, require_safe

from annotation.benchmarks import get_benchmark_for
from annotation.diff import diff_documents
from annotation.document import read_document
from annotation.forms.listing import FilterForm
from annotation.gates import judged_blind, mark_blind
from annotation.listing import authors_of, matching
from audit import exports, release_actions, release_queries
from audit.comparison import next_version
from audit.models import Redaction, Release, ReleaseItem
from audit.permissions import may_cut_release, may_export_release
from audit.picks import write_numbers
from audit.release_forms import SPLIT_WORDS, PickForm, ReleaseForm, picked
from audit.releases import get_release
from audit.splits import SPLITS
from lhdr_site.shared.errors import Invalid

from . import Request

PAGE = 100
CHANGED_PAGE = 20
POSTED = ["GET", "HEAD", "POST"]


@require_safe
def release_list(request: Request, slug: str) -> HttpResponse:
    benchmark = get_benchmark_for(request.user, slug)
    page = Paginator(release_queries.releases_of(benchmark), PAGE).get_page(request.GET.get("page"))
    context = {
        "nav": "releases",
        "benchmark": benchmark,
        "page": page,
        "may_cut": may_cut_release(request.user, benchmark),
        "redactions": Redaction.objects.filter(benchmark=benchmark).count(),
    }
    return render(request, "audit/release_list.html", context)


# --- cutting ------------------------------------------------------------------------------------------------------


@require_http_methods(POSTED)
def cut(request: Request, slug: str) -> HttpResponse:
    """First: which items. What is chosen travels with the form, so that a page, a filter and a tick keep it."""
    benchmark = get_benchmark_for(request.user, slug)
    may_cut_release(request.user, benchmark).require()
    data = request.POST if request.method == "POST" else request.GET
    locked = release_queries.locked_items(benchmark)
    form = PickForm(data, benchmark, authors_of(benchmark))
    shown = locked.filter(pk__in=matching(benchmark, form.filters()).values("pk"))
    proposed = set(locked.exclude(release_queries.is_retired()).values_list("number", flat=True))
    there = set(locked.values_list("number", flat=True))
    chosen = picked(data, proposed) & there
    step = data.get("do", "")
    listed = None
    if "list" in data:  # the item list's address: what of it is locked is chosen at first
        filters = FilterForm(QueryDict(data["list"]), benchmark, []).filters()
        listed = set(matching(benchmark, filters).values_list("number", flat=True))
        chosen = listed & proposed
    if step in ("take", "leave", "only"):
        all_shown = set(shown.values_list("number", flat=True))
        chosen = {"take": chosen | all_shown, "leave": chosen - all_shown, "only": all_shown}[step]
    shown = shown.select_related("author").annotate(**judged_blind(request.user))
    page = Paginator(shown, PAGE).get_page(step.removeprefix("page-"))
    retired = there - proposed
    context = {
        "nav": "releases",
        "benchmark": benchmark,
        "form": form,
        "page": page,
        "chosen": chosen,
        "items": write_numbers(chosen),
        "shown": write_numbers(item.number for item in page),
        "listed": None if listed is None else len(listed),
        "locked": len(there),
        "retired": retired,
        "without_audit": set(release_queries.locked_without_audit(locked).values_list("number", flat=True)),
        "states": release_queries.states_outside(benchmark),
        "categories": dict(benchmark.categories.values_list("slug", "name")),
    }
    return render(request, "audit/release_cut.html", context)


@require_http_methods(POSTED)
def check(request: Request, slug: str) -> HttpResponse:
    """Then: what is in it, what to know, what changed since the last; its name, version and splits; and cutting it."""
    benchmark = get_benchmark_for(request.user, slug)
    may_cut_release(request.user, benchmark).require()
    data = request.POST if request.method == "POST" else request.GET
    locked = release_queries.locked_items(benchmark)
    proposed = locked.exclude(release_queries.is_retired()).values_list("number", flat=True)
    numbers = picked(data, set(proposed))
    items = release_queries.chosen_items(benchmark, numbers)
    last = Release.objects.filter(benchmark=benchmark).first()
    beside = release_queries.compare_with_next(last, items) if last else None
    version = next_version(last.version, beside.comparison.level) if last and beside else "1.0.0"
    cutting = request.method == "POST" and data.get("do") == "cut"
    note = release_queries.what_changed(beside) if beside else ""
    proposal = {"version": version, "name": f"v{version}", "note": note, "test": 100, "seed": 0}
    form = ReleaseForm(data if cutting else None, initial=proposal)
    if cutting and form.is_valid():
        try:
            release = release_actions.cut_release(benchmark, **form.values(), items=numbers, actor=request.user)
        except Invalid as error:
            path = next((p["path"] for p in error.details.get("problems", [])), None)
            path = {"splits": "split_list"}.get(path or "", path)
            form.add_error(path if path in form.fields else None, error.message)
        else:
            messages.success(request, _("Release %(name)s is cut.") % {"name": release.name})
            return redirect("audit:release", slug=slug, name=release.name)
    contents = release_queries.contents_of(items)
    context = {
        "nav": "releases",
        "benchmark": benchmark,
        "form": form,
        "items": write_numbers(numbers),
        "count": contents.statistics["items"],
        "statistics": contents.statistics,
        "groups": release_queries.groups_of(benchmark, contents.statistics),
        "warnings": release_queries.warnings_for(benchmark, items, contents),
        "unlicensed": len(contents.unlicensed),
        "last": last,
        "beside": beside,
        "suggested": version,
    }
    return render(request, "audit/release_check.html", context, status=422 if cutting else 200)


# --- one ----------------------------------------------------------------------------------------------------------


@require_safe
def release(request: Request, slug: str, name: str) -> HttpResponse:
    benchmark = get_benchmark_for(request.user, slug)
    found = get_release(benchmark, name)
    split = request.GET.get("split", "")
    split = split if split in SPLITS else ""
    page = Paginator(release_queries.release_rows(found, split), PAGE).get_page(request.GET.get("page"))
    mark_blind([row.item for row in page], request.user)
    statistics = release_queries.statistics_of(found)
    context = {
        "nav": "releases",
        "release": found,
        "page": page,
        "split": split,
        "statistics": statistics,
        "groups": release_queries.groups_of(benchmark, statistics),
        "overrides": release_queries.overrides_in(found),
        "earlier": Release.objects.filter(benchmark=benchmark, pk__lt=found.pk).defer("statistics")[:20],
        "redactions": release_queries.redactions_in(found),
        "pictures": release_queries.pictures_in(found),
        "split_words": SPLIT_WORDS,
        "categories": dict(benchmark.categories.values_list("slug", "name")),
        "may_export": may_export_release(request.user, benchmark),
        "variants": [
            ("full", _("Full"), _("Everything, with answers and hidden evidence. For backup and your own evaluation.")),
            ("public", _("Public"), _("Questions and their images only; nothing that leads to an answer.")),
            ("mr-lhdr", _("Mr-LHDR"), _("Layout of the published evaluator, texts encrypted with the canary.")),
        ],
    }
    return render(request, "audit/release.html", context)


@require_safe
def compare(request: Request, slug: str, name: str) -> HttpResponse:
    """This release against another (`with`), by default the one before it."""
    benchmark = get_benchmark_for(request.user, slug)
    new = get_release(benchmark, name)
    others = Release.objects.filter(benchmark=benchmark).exclude(pk=new.pk).defer("statistics", "quality")
    wanted = request.GET.get("with", "")
    before = others.filter(pk__lt=new.pk).first() or others.first() or new
    old = get_release(benchmark, wanted) if wanted else before
    beside = release_queries.compare_releases(old, new)
    page = Paginator(beside.comparison.changed, CHANGED_PAGE).get_page(request.GET.get("page"))
    context = {
        "nav": "releases",
        "benchmark": benchmark,
        "old": old,
        "new": new,
        "others": others,
        "beside": beside,
        "page": page,
        "changes": _differences(beside, [change.uid for change in page]),
        "splits": sorted(beside.comparison.moved.items(), key=lambda moved: beside.numbers[moved[0]]),
    }
    return render(request, "audit/release_compare.html", context)


def _differences(beside: release_queries.Beside, uids: list[str]) -> dict[str, Any]:
    """Of each id, the differences field by field."""
    assert beside.new is not None
    sides = [
        dict(ReleaseItem.objects.filter(release=side, uid__in=uids).values_list("uid", "document"))
        for side in (beside.old, beside.new)
    ]
    return {uid: diff_documents(read_document(sides[0][uid]), read_document(sides[1][uid])) for uid in uids}


@require_safe
def export(request: Request, slug: str, name: str) -> HttpResponseBase:
    """`?variant=full|public|mr-lhdr`, as JSONL; `&images=1`: a ZIP with images; `&manifest=1`: what is in it.

    `&split=…`: only these items. `&answers=1`: also the answers of held-out ones.
    """
    benchmark = get_benchmark_for(request.user, slug)
    found = get_release(benchmark, name)
    may_export_release(request.user, benchmark).require()
    return exports.response_for(found, request.GET)
