"""The item list, a new item, and the import of a file."""

from collections.abc import Mapping
from typing import Any

from django.contrib import messages
from django.db.models import Q
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils.translation import gettext as _
from django.utils.translation import ngettext
from django.views.decorators.http import require_GET, require_http_methods, require_POST
from django_htmx.http import HttpResponseClientRedirect

from annotation import actions, listing
from annotation.benchmarks import get_benchmark_for
from annotation.bulk import KINDS
from annotation.columns import COLUMNS, Column, chosen, columns_of
from annotation.forms.listing import FilterForm, changed, chips_of, view_query
from annotation.forms.settings import ImportForm
from annotation.importing import Outcome, import_file
from annotation.models import Benchmark, Item, SavedView
from annotation.permissions import may_administer, may_share_views
from annotation.search import parts_found
from annotation.states import IN_AUDIT
from annotation.templatetags.item_rows import Look
from annotation.tokens import phrases
from lhdr_site.shared.errors import Invalid

SHOWN_PROBLEMS = 50


@require_GET
def item_list(request: HttpRequest, slug: str) -> HttpResponse:
    benchmark = get_benchmark_for(request.user, slug)
    form = FilterForm(request.GET, benchmark, listing.authors_of(benchmark, request.GET.get("author", "")))
    filters = form.filters()
    page = listing.item_list(
        benchmark, filters, request.user, after=request.GET.get("after", ""), before=request.GET.get("before", "")
    )
    counts = listing.tab_counts(benchmark, request.user)
    tabs, current = _tabs(request, counts)
    columns = chosen(request.GET.get("columns", "").split(","), columns_of(request.user))
    views = list(SavedView.objects.filter(Q(owner=request.user) | Q(is_shared=True), benchmark=benchmark))
    context = {
        "nav": "items",
        "benchmark": benchmark,
        "form": form,
        "items": page.items,
        "views": [(view, f"?{view.query}{'&' if view.query else ''}view={view.pk}") for view in views],
        **_shown_view(request, views),
        "here": request.GET.urlencode(),
        "kinds": list(KINDS.values()),
        "all_columns": [*columns, *(c for c in COLUMNS.values() if c not in columns)],
        "columns": columns,
        "look": _look(benchmark, form, page.items),
        "page": page,
        "chips": chips_of(form, request.GET),
        "counts": counts,
        "tabs": tabs,
        "tab": current,
        "unread": form.unread(),
        "kept": [(n, v) for n, vs in request.GET.lists() if n not in ("q", "after", "before") for v in vs],
        "heads": _heads(request, filters, columns),
        "previous_url": _at(request, before=page.before),
        "next_url": _at(request, after=page.after),
    }
    return render(request, "annotation/item_list.html", context)


def _shown_view(request: HttpRequest, views: list[SavedView]) -> dict[str, Any]:
    """The named view that the address names, and whether the list is still what it holds."""
    view = next((view for view in views if str(view.pk) == request.GET.get("view")), None)
    if view is None:
        return {"view": None}
    own = view.owner_id == request.user.pk
    return {
        "view": view,
        "view_changed": view_query(request.GET) != view.query,
        "may_change_view": own or bool(may_share_views(request.user, view.benchmark)),
    }


def _look(benchmark: Benchmark, form: FilterForm, items: list[Item]) -> Look:
    wanted = phrases(form.cleaned_data.get("q", ""))
    return Look(
        address=reverse("annotation:item-list", args=[benchmark.slug]),
        min_steps=benchmark.min_steps,
        categories=dict(form.fields["category"].choices),  # type: ignore[attr-defined]
        wanted=wanted,
        found_in=parts_found([item.pk for item in items], wanted),
    )


def _at(request: HttpRequest, **cursor: str) -> str:
    return changed(request.GET, **cursor) if any(cursor.values()) else ""


def _tabs(request: HttpRequest, counts: Mapping[str, listing.Count]) -> tuple[list[dict[str, Any]], str]:
    """The views of the list, and which of them is shown: the one whose filters are exactly those of the address."""
    user = request.user.get_username()
    views: list[tuple[str, str, dict[str, Any], listing.Count]] = [
        ("all", _("All"), {}, counts["all"]),
        ("recent", _("Recent"), {"days": str(listing.RECENT_DAYS)}, counts["recent"]),
        ("mine", _("Mine"), {"author": user}, counts["mine"]),
        ("audit", _("In audit"), {"state": sorted(IN_AUDIT)}, counts["audit"]),
        ("errors", _("With errors"), {"has_errors": "on"}, counts["errors"]),
        ("stale", _("Stale gates"), {"gate": "stale"}, counts["stale"]),
    ]
    given = {
        k: v for k, v in request.GET.lists() if k not in ("after", "before", "sort", "ascending", "columns") and any(v)
    }
    tabs, current = [], ""
    for name, label, query, count in views:
        wanted = {k: v if isinstance(v, list) else [v] for k, v in query.items()}
        if {k: sorted(v) for k, v in given.items()} == wanted:
            current = name
        address = request.GET.copy()
        address.clear()
        for key, values in wanted.items():
            address.setlist(key, values)
        tabs.append({"name": name, "label": label, "url": f"?{address.urlencode()}", "count": count.words})
    return tabs, current


def _heads(request: HttpRequest, filters: listing.Filters, columns: list[Column]) -> list[dict[str, Any]]:
    """The heads of the columns: where a sortable one leads, and how the list is sorted by it now."""
    heads = []
    for column in columns:
        head: dict[str, Any] = {"column": column, "url": "", "order": ""}
        if column.sort:
            now = filters.sort == column.sort
            turn = "on" if now and not filters.ascending else ""
            head["url"] = changed(request.GET, sort="" if column.sort == "updated" else column.sort, ascending=turn)
            lowest_first = filters.ascending != (not listing.SORTS[column.sort][1])
            head["order"] = ("ascending" if lowest_first else "descending") if now else ""
        heads.append(head)
    return heads


@require_POST
def item_create(request: HttpRequest, slug: str) -> HttpResponse:
    benchmark = get_benchmark_for(request.user, slug)
    category = request.POST.get("category", "")
    if category and not benchmark.categories.filter(slug=category).exists():
        raise Invalid.at("category", _("This benchmark has no category “%s”.") % category[:50], code="category")
    item = actions.create_item(benchmark, actor=request.user, category=category)  # type: ignore[arg-type]
    return redirect("annotation:item-page", slug=slug, number=item.number)


@require_http_methods(["GET", "POST"])
def item_import(request: HttpRequest, slug: str) -> HttpResponse:
    """Check a file, then import it. Checking writes nothing; importing is all or nothing."""
    benchmark = get_benchmark_for(request.user, slug)
    may_administer(request.user, benchmark).require()
    if request.method == "GET":
        return _import_page(request, benchmark, ImportForm())
    form = ImportForm(request.POST, request.FILES)
    if not form.is_valid():
        return _import_page(request, benchmark, form, status=422)
    dry_run = request.POST.get("action") != "import"
    outcome = import_file(
        benchmark,
        form.cleaned_data["file"].file,
        form.cleaned_data["format"],
        actor=request.user,  # type: ignore[arg-type]
        linear_prerequisites=form.cleaned_data["linear_prerequisites"],
        new_ids=form.cleaned_data["new_ids"],
        dry_run=dry_run,
    )
    if outcome.report is None or dry_run:
        return _import_page(request, benchmark, form, outcome, status=200 if outcome.report else 422)
    done = outcome.report.created + outcome.report.changed
    text = ngettext("%(count)d item was imported.", "%(count)d items were imported.", done) % {"count": done}
    messages.success(request, text if done else _("Every row was here already; nothing changed."))
    url = reverse("annotation:item-list", args=[slug])
    return HttpResponseClientRedirect(url) if request.htmx else redirect(url)  # type: ignore[attr-defined]


def _import_page(
    request: HttpRequest, benchmark: Benchmark, form: ImportForm, outcome: Outcome | None = None, status: int = 200
) -> HttpResponse:
    context: dict[str, Any] = {"nav": "items", "benchmark": benchmark, "form": form, "outcome": outcome}
    if outcome is not None:
        context["problems"] = outcome.problems[:SHOWN_PROBLEMS]
        context["more_problems"] = max(len(outcome.problems) - SHOWN_PROBLEMS, 0)
        context["warnings"] = outcome.warnings[:SHOWN_PROBLEMS]
        context["more_warnings"] = max(len(outcome.warnings) - SHOWN_PROBLEMS, 0)
        context["other_benchmarks"] = [name for name in outcome.benchmarks if name != benchmark.slug]
    template = "annotation/_import_report.html" if request.htmx else "annotation/item_import.html"  # type: ignore[attr-defined]
    return render(request, template, context, status=status)
