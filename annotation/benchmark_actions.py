"""Writes to what belongs to a benchmark beside its items: endpoints, categories, tags, and its name and preset.

One function, one transaction, one event; like `actions`, which holds its creation, fields and members.
"""

from collections.abc import Sequence

from django.contrib.auth.models import User
from django.db import transaction
from django.db.models import Max
from django.utils.translation import gettext as _

from lhdr_site.endpoints.models import Endpoint
from lhdr_site.shared.errors import Invalid, NotAllowed

from .actions import _benchmark_event, _clean
from .models import Benchmark, Category, OperationTag
from .permissions import may_administer

LabelModel = type[Category] | type[OperationTag]
_KINDS: dict[LabelModel, str] = {Category: "category", OperationTag: "operation_tag"}


@transaction.atomic
def set_endpoints(benchmark: Benchmark, endpoints: Sequence[Endpoint], *, actor: User) -> None:
    """Which of the installation's endpoints the benchmark may use."""
    benchmark = Benchmark.objects.select_for_update().get(pk=benchmark.pk)
    may_administer(actor, benchmark).require()
    old = sorted(benchmark.endpoints.values_list("name", flat=True))
    new = sorted(endpoint.name for endpoint in endpoints)
    if old != new:
        benchmark.endpoints.set(endpoints)
        _benchmark_event(benchmark, actor, "benchmark.changed", changed={"endpoints": [", ".join(old), ", ".join(new)]})


@transaction.atomic
def add_label(
    benchmark: Benchmark, model: LabelModel, slug: str, name: str, target: int | None = None, *, actor: User
) -> Category | OperationTag:
    """A new category or operation tag at the end of the list. Its slug never changes."""
    benchmark = Benchmark.objects.select_for_update().get(pk=benchmark.pk)
    may_administer(actor, benchmark).require()
    labels = model._default_manager.filter(benchmark=benchmark)
    if labels.filter(slug=slug).exists():
        text = _("There is “%(slug)s” already; change its name or target in its row.") % {"slug": slug}
        raise Invalid(text, code="label_exists", problems=[{"path": "slug", "message": text}])
    last = labels.aggregate(last=Max("position"))["last"]
    label = model(
        benchmark=benchmark, slug=slug, name=name.strip(), target=target, position=0 if last is None else last + 1
    )
    _clean(label)
    label.save()
    _benchmark_event(benchmark, actor, f"{_KINDS[model]}.added", slug=slug, name=label.name, target=target)
    return label


@transaction.atomic
def change_label(label: Category | OperationTag, name: str, target: int | None, *, actor: User) -> None:
    """Rename a category or operation tag, or set its target."""
    label = type(label)._default_manager.select_for_update(of=("self",)).select_related("benchmark").get(pk=label.pk)
    may_administer(actor, label.benchmark).require()
    old = [label.name, label.target]
    label.name, label.target = name.strip(), target
    _clean(label)
    if old != [label.name, label.target]:
        label.save(update_fields=["name", "target"])
        kind = f"{_KINDS[type(label)]}.changed"
        _benchmark_event(label.benchmark, actor, kind, slug=label.slug, old=old, new=[label.name, label.target])


@transaction.atomic
def rename_benchmark(benchmark: Benchmark, name: str, preset: str, *, actor: User) -> Benchmark:
    """Change a benchmark's name or preset, for the installation's superusers, members or not."""
    if not actor.is_superuser:
        raise NotAllowed(_("Only a superuser of this installation changes a benchmark's preset."))
    benchmark = Benchmark.objects.select_for_update().get(pk=benchmark.pk)
    old = {"name": benchmark.name, "preset": benchmark.preset}
    benchmark.name, benchmark.preset = name.strip(), preset
    _clean(benchmark)
    changed = {f: [old[f], str(getattr(benchmark, f))] for f in old if old[f] != getattr(benchmark, f)}
    if changed:
        benchmark.save(update_fields=["name", "preset"])
        _benchmark_event(benchmark, actor, "benchmark.changed", changed=changed)
    return benchmark
