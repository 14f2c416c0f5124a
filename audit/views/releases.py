"""Releases: the list, cutting one, one with its items, and its exports as downloads."""

from django.contrib import messages
from django.core.paginator import Paginator
from django.http import HttpResponse
from django.http.response import HttpResponseBase
from django.shortcuts import redirect, render
from django.utils.translation import gettext as _
from django.views.decorators.http import require_http_methods, require_safe

from annotation.benchmarks import get_benchmark_for
from audit import actions, releases
from audit.forms import ReleaseForm
from audit.permissions import may_cut_release, may_export_release
from audit.queries import release_preview, release_rows, releases_of
from lhdr_site.shared.errors import Invalid

from . import Request

PAGE = 100


@require_safe
def release_list(request: Request, slug: str) -> HttpResponse:
    benchmark = get_benchmark_for(request.user, slug)
    page = Paginator(releases_of(benchmark), PAGE).get_page(request.GET.get("page"))
    context = {
        "nav": "releases",
        "benchmark": benchmark,
        "page": page,
        "may_cut": may_cut_release(request.user, benchmark),
    }
    return render(request, "audit/release_list.html", context)


@require_http_methods(["GET", "HEAD", "POST"])
def cut(request: Request, slug: str) -> HttpResponse:
    """What would go in and what would not; and cutting it."""
    benchmark = get_benchmark_for(request.user, slug)
    may_cut_release(request.user, benchmark).require()
    form = ReleaseForm(request.POST if request.method == "POST" else None)
    status = 200
    if request.method == "POST":
        status = 422
        if form.is_valid():
            try:
                release = actions.cut_release(benchmark, **form.cleaned_data, actor=request.user)
            except Invalid as error:
                form.add_error("name" if error.code == "name_taken" else None, error.message)
            else:
                messages.success(request, _("Release %(name)s is cut.") % {"name": release.name})
                return redirect("audit:release", slug=slug, name=release.name)
    context = {"nav": "releases", "benchmark": benchmark, "form": form, "preview": release_preview(benchmark)}
    return render(request, "audit/release_cut.html", context, status=status)


@require_safe
def release(request: Request, slug: str, name: str) -> HttpResponse:
    benchmark = get_benchmark_for(request.user, slug)
    found = releases.get_release(benchmark, name)
    page = Paginator(release_rows(found), PAGE).get_page(request.GET.get("page"))
    context = {
        "nav": "releases",
        "release": found,
        "page": page,
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
def export(request: Request, slug: str, name: str) -> HttpResponseBase:
    """`?variant=full|public|mr-lhdr`, as JSONL; with `&images=1` as a ZIP with the images beside it."""
    benchmark = get_benchmark_for(request.user, slug)
    found = releases.get_release(benchmark, name)
    may_export_release(request.user, benchmark).require()
    variant = releases.require_variant(request.GET.get("variant", ""))
    return releases.export_response(found, variant, images=request.GET.get("images") == "1")
