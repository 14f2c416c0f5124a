"""The item list, a new item, and the import of a file."""

from typing import Any

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils.safestring import SafeString
from django.utils.translation import gettext as _
from django.utils.translation import ngettext
from django.views.decorators.http import require_GET, require_http_methods, require_POST
from django_htmx.http import HttpResponseClientRedirect

from annotation import actions, listing
from annotation.benchmarks import get_benchmark_for
from annotation.forms.listing import SORT_WORDS, FilterForm, changed, chips_of
from annotation.forms.settings import ImportForm
from annotation.importing import Outcome, import_file
from annotation.models import Benchmark, Item
from annotation.permissions import may_administer
from annotation.states import IN_AUDIT
from lhdr_site.shared.templatetags.workbench import gate_dots

SHOWN_PROBLEMS = 50


@require_GET
def item_list(request: HttpRequest, slug: str) -> HttpResponse:
    benchmark = get_benchmark_for(request.user, slug)
    form = FilterForm(request.GET, benchmark, list(listing.authors_of(benchmark)))
    filters = form.filters()
    page = listing.item_list(
        benchmark, filters, after=request.GET.get("after", ""), before=request.GET.get("before", "")
    )
    counts = listing.tab_counts(benchmark, request.user)
    chips = chips_of(form, request.GET)
    tabs, current = _tabs(request, counts)
    context = {
        "nav": "items",
        "benchmark": benchmark,
        "form": form,
        "items": _with_dots(page.items),
        "categories": dict(form.fields["category"].choices),  # type: ignore[attr-defined]
        "page": page,
        "chips": chips,
        "counts": counts,
        "tabs": tabs,
        "tab": current,
        "unread": form.unread(),
        "kept": [(n, v) for n, vs in request.GET.lists() if n not in ("q", "after", "before") for v in vs],
        "heads": _heads(request, filters),
        "previous_url": _at(request, before=page.before),
        "next_url": _at(request, after=page.after),
    }
    return render(request, "annotation/item_list.html", context)


def _with_dots(items: list[Item]) -> list[Item]:
    """The items, each with its gates drawn as `dots`; most rows of a page share one of a few drawings."""
    drawn: dict[tuple[str, ...], SafeString] = {}
    for item in items:
        statuses = listing.gates_shown(item)
        key = tuple(statuses.values())
        item.dots = drawn.get(key) or drawn.setdefault(key, gate_dots(statuses))  # type: ignore[attr-defined]
    return items


def _at(request: HttpRequest, **cursor: str) -> str:
    return changed(request.GET, **cursor) if any(cursor.values()) else ""


def _tabs(request: HttpRequest, counts: dict[str, int]) -> tuple[list[dict[str, Any]], str]:
    """The views of the list, and which of them is shown: the one whose filters are exactly those of the address."""
    user = request.user.get_username()
    views: list[tuple[str, str, dict[str, Any], int | None]] = [
        ("all", _("All"), {}, counts["all"]),
        ("recent", _("Recent"), {"days": str(listing.RECENT_DAYS)}, counts["recent"]),
        ("mine", _("Mine"), {"author": user}, counts["mine"]),
        ("audit", _("In audit"), {"state": sorted(IN_AUDIT)}, counts["audit"]),
        ("errors", _("With errors"), {"has_errors": "on"}, None),
        ("stale", _("Stale gates"), {"gate": "stale"}, None),
    ]
    given = {k: v for k, v in request.GET.lists() if k not in ("after", "before", "sort", "ascending") and any(v)}
    tabs, current = [], ""
    for name, label, query, count in views:
        wanted = {k: v if isinstance(v, list) else [v] for k, v in query.items()}
        if {k: sorted(v) for k, v in given.items()} == wanted:
            current = name
        address = request.GET.copy()
        address.clear()
        for key, values in wanted.items():
            address.setlist(key, values)
        tabs.append({"name": name, "label": label, "url": f"?{address.urlencode()}", "count": count})
    return tabs, current


def _heads(request: HttpRequest, filters: listing.Filters) -> dict[str, dict[str, str]]:
    """Sortable heads: the address each leads to, and how the list is sorted by it now."""
    heads = {}
    for name, label in SORT_WORDS.items():
        now = filters.sort == name
        turn = "on" if now and not filters.ascending else ""
        sort = "" if name == "updated" else name
        heads[name] = {
            "label": str(label),
            "url": changed(request.GET, sort=sort, ascending=turn),
            "order": ("ascending" if filters.ascending else "descending") if now else "",
        }
    return heads


@require_POST
def item_create(request: HttpRequest, slug: str) -> HttpResponse:
    benchmark = get_benchmark_for(request.user, slug)
    item = actions.create_item(benchmark, actor=request.user)  # type: ignore[arg-type]
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
