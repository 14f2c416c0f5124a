"""A benchmark's settings, its members, and a new benchmark."""

from typing import Any

from django.contrib import messages
from django.contrib.auth.models import User
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils.translation import gettext as _
from django.views.decorators.http import require_http_methods, require_POST

from annotation import benchmark_actions, listing
from annotation.benchmarks import get_benchmark_for
from annotation.forms.settings import BenchmarkCreateForm, BenchmarkForm, EndpointsForm, LabelForm, MemberForm
from annotation.models import Benchmark, Category, OperationTag
from annotation.permissions import may_administer
from annotation.states import Role
from lhdr_site.endpoints.models import Endpoint
from lhdr_site.shared.errors import Invalid, NotAllowed
from lhdr_site.shared.numbers import read_whole

LABELS: dict[str, benchmark_actions.LabelModel] = {"category": Category, "tag": OperationTag}


@require_http_methods(["GET", "POST"])
def benchmark_create(request: HttpRequest) -> HttpResponse:
    if not request.user.is_superuser:
        raise NotAllowed(_("Only a superuser of this installation creates benchmarks."))
    form = BenchmarkCreateForm(request.POST if request.method == "POST" else None)
    if request.method == "POST" and form.is_valid():
        benchmark = benchmark_actions.create_benchmark(**form.cleaned_data, actor=request.user)
        messages.success(request, _("The benchmark is there, and you are its admin. Add its members next."))
        return redirect("annotation:benchmark-settings", slug=benchmark.slug)
    return render(request, "annotation/benchmark_form.html", {"form": form}, status=422 if form.errors else 200)


@require_http_methods(["GET", "POST"])
def benchmark_settings(request: HttpRequest, slug: str) -> HttpResponse:
    """Every card of the page posts here; `form` names it."""
    benchmark = get_benchmark_for(request.user, slug)
    may_administer(request.user, benchmark).require()
    if request.method == "GET":
        return _page(request, benchmark)
    # A form's instance is not the one that the page's frame shows.
    stored = Benchmark.objects.get(pk=benchmark.pk)
    name = request.POST.get("form", "")
    if name == "fields":
        fields = BenchmarkForm(request.POST, instance=stored, auto_id="fields_%s")
        if not fields.is_valid():
            return _page(request, benchmark, fields=fields)
        benchmark_actions.change_benchmark(benchmark, fields.cleaned_data, actor=request.user)  # type: ignore[arg-type]
    elif name == "endpoints":
        endpoints = EndpointsForm(request.POST, instance=stored, auto_id="endpoints_%s")
        if not endpoints.is_valid():
            return _page(request, benchmark, endpoints=endpoints)
        benchmark_actions.set_endpoints(benchmark, endpoints.cleaned_data["endpoints"], actor=request.user)  # type: ignore[arg-type]
    elif name in LABELS:
        refused = _save_label(request, benchmark, name)
        if refused is not None:
            return refused
    else:
        raise Invalid(_("This form is not known. Reload the page."), code="unknown_form")
    messages.success(request, _("Saved."))
    return redirect("annotation:benchmark-settings", slug=slug)


def _save_label(request: HttpRequest, benchmark: Benchmark, kind: str) -> HttpResponse | None:
    """Add or change a category or tag; the page again when the form cannot be taken."""
    model, pk = LABELS[kind], request.POST.get("label", "")
    if not pk:
        form = LabelForm(request.POST, auto_id=f"new_{kind}_%s")
        if form.is_valid():
            try:
                benchmark_actions.add_label(benchmark, model, **form.cleaned_data, actor=request.user)  # type: ignore[arg-type]
                return None
            except Invalid as error:
                form.add_error("slug", error.message)
        return _page(request, benchmark, **{f"new_{kind}": form})
    label = model._default_manager.filter(benchmark=benchmark, pk=read_whole(pk) or 0).first()
    if label is None:
        raise Http404
    form = LabelForm(request.POST, existing=label, auto_id=f"{kind}_{label.pk}_%s")
    if not form.is_valid():
        return _page(request, benchmark, wrong_label=(label, form))
    benchmark_actions.change_label(label, **form.cleaned_data, actor=request.user)  # type: ignore[arg-type]
    return None


@require_POST
def member_save(request: HttpRequest, slug: str) -> HttpResponse:
    """Add a person, change a role, or (`remove`) take the membership away."""
    benchmark = get_benchmark_for(request.user, slug)
    may_administer(request.user, benchmark).require()
    if pk := request.POST.get("remove", ""):
        person = User.objects.filter(memberships__benchmark=benchmark, pk=read_whole(pk) or 0).first()
        if person is None:
            raise Http404
        benchmark_actions.set_membership(benchmark, person, None, actor=request.user)  # type: ignore[arg-type]
        messages.success(request, _("%(name)s is no longer a member.") % {"name": person.get_username()})
    else:
        form = MemberForm(request.POST, auto_id="member_%s")
        if not form.is_valid():
            return _page(request, benchmark, member=form)
        person, role = form.cleaned_data["username"], Role(form.cleaned_data["role"])
        benchmark_actions.set_membership(benchmark, person, role, actor=request.user)  # type: ignore[arg-type]
        messages.success(request, _("%(name)s is a member now.") % {"name": person.get_username()})
    if person == request.user:  # may have given the role away
        return redirect("annotation:home")
    return redirect("annotation:benchmark-settings", slug=slug)


def _page(request: HttpRequest, benchmark: Benchmark, **refused: Any) -> HttpResponse:
    """The settings page; `refused` holds the form that was not taken, as it was sent."""
    wrong_label, wrong_form = refused.pop("wrong_label", (None, None))
    members = list(listing.members_of(benchmark))
    admins = [m for m in members if m.role == Role.ADMIN and m.user.is_active]
    labels = {}
    for kind, model in LABELS.items():
        rows = model._default_manager.filter(benchmark=benchmark)
        labels[kind] = [
            (
                row,
                wrong_form
                if wrong_label == row
                else LabelForm(
                    initial={"name": row.name, "target": row.target}, existing=row, auto_id=f"{kind}_{row.pk}_%s"
                ),
            )
            for row in rows
        ]
    context = {
        "nav": "settings",
        "benchmark": benchmark,
        "fields": BenchmarkForm(instance=benchmark, auto_id="fields_%s"),
        "endpoints": EndpointsForm(instance=benchmark, auto_id="endpoints_%s"),
        "endpoint_count": Endpoint.objects.count(),
        "member": MemberForm(auto_id="member_%s"),
        "members": members,
        "only_admin": admins[0].pk if len(admins) == 1 else None,
        "categories": labels["category"],
        "tags": labels["tag"],
        "new_category": LabelForm(auto_id="new_category_%s"),
        "new_tag": LabelForm(auto_id="new_tag_%s"),
        **refused,
    }
    status = 422 if refused or wrong_label else 200
    return render(request, "annotation/benchmark_settings.html", context, status=status)
