"""The inbox of ideas for items: listed, added, claimed, given back, dropped, started."""

from typing import Any

from django.contrib import messages
from django.http import Http404, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils.translation import gettext as _
from django.utils.translation import ngettext
from django.views.decorators.http import require_http_methods, require_POST

from annotation import planning, seed_actions
from annotation.benchmarks import get_benchmark_for, role_of
from annotation.models import Benchmark, Seed
from annotation.states import Role
from lhdr_site.shared.errors import Conflict, Invalid
from lhdr_site.shared.numbers import read_whole

from . import Request
from .planning import frame

VIEWS = ("open", "mine", "all")


@require_http_methods(["GET", "HEAD", "POST"])
def seed_list(request: Request, slug: str) -> HttpResponse:
    """GET lists them, POST adds one (`title`) or many (`lines`)."""
    benchmark = get_benchmark_for(request.user, slug)
    if request.method != "POST":
        return _page(request, benchmark)
    lines = request.POST.get("lines", "")
    one = {name: request.POST.get(name, "").strip() for name in ("title", "body", "url", "category")}
    seeds = seed_actions.seeds_in(lines) if lines.strip() else [one] if any(one.values()) else []
    for seed in seeds:
        seed.setdefault("category", one["category"])
    try:
        added = seed_actions.add_seeds(benchmark, seeds, actor=request.user)
    except Invalid as error:
        return _page(request, benchmark, error=error, typed=request.POST, status=error.status)
    text = ngettext("%(n)d idea added.", "%(n)d ideas added.", len(added)) % {"n": len(added)}
    messages.success(request, text)
    return redirect("annotation:seed-list", slug=slug)


def _page(request: Request, benchmark: Benchmark, status: int = 200, **context: Any) -> HttpResponse:
    view = request.GET.get("view", "")
    view = view if view in VIEWS else "open"
    counts = planning.seed_counts(benchmark, request.user)
    before = read_whole(request.GET.get("before", ""))
    seeds = planning.seeds_of(benchmark, request.user, view)
    words = {"open": _("Open"), "mine": _("Mine"), "all": _("All")}
    role = role_of(request.user, benchmark)
    context = frame(
        benchmark,
        "seeds",
        page=planning.seed_page(seeds, min(before, 2**62) if before else None),
        views=[{"name": v, "label": words[v], "url": f"?view={v}", "count": counts[v]} for v in VIEWS],
        view=view,
        counts=counts,
        categories=list(benchmark.categories.all()),
        names=dict(benchmark.categories.values_list("slug", "name")),
        may_drop_all=role is not None and role >= Role.CORE,
        **context,
    )
    return render(request, "annotation/seed_list.html", context, status=status)


@require_POST
def seed_act(request: Request, slug: str, pk: int) -> HttpResponse:
    """`act`: claim, give_back, drop (with `reason`), start. Who comes too late is told who has it."""
    benchmark = get_benchmark_for(request.user, slug)
    seed = Seed.objects.filter(benchmark=benchmark, pk=min(pk, 2**62)).first()
    if seed is None:
        raise Http404
    act = request.POST.get("act", "")
    try:
        if act == "start":
            item = seed_actions.start_item(seed, actor=request.user)
            return redirect("annotation:item-page", slug=slug, number=item.number)
        if act == "claim":
            seed_actions.claim_seed(seed, actor=request.user)
        elif act == "give_back":
            seed_actions.give_back_seed(seed, actor=request.user)
        elif act == "drop":
            seed_actions.drop_seed(seed, request.POST.get("reason", ""), actor=request.user)
        else:
            raise Invalid(_("This is nothing one does to an idea. Reload the page."), code="unknown_act")
    except (Conflict, Invalid) as error:
        return _page(request, benchmark, error=error, status=error.status)
    said = {
        "claim": _("“%s” is yours now: start its item, or give it back."),
        "give_back": _("“%s” is open again."),
        "drop": _("“%s” was dropped."),
    }
    messages.success(request, said[act] % seed.title)
    view = request.POST.get("view", "")
    return redirect(reverse("annotation:seed-list", args=[slug]) + (f"?view={view}" if view in VIEWS else ""))
