"""Every write to a benchmark itself: creation, fields, members, endpoints, categories, operation tags.

One function, one transaction, one event, as in `actions`. Raises NotAllowed (403) and Invalid (422).
"""

import secrets
from collections.abc import Mapping, Sequence
from typing import Any

from django.contrib.auth.models import User
from django.db import transaction
from django.db.models import Max
from django.utils.translation import gettext as _

from lhdr_site.endpoints.models import Endpoint
from lhdr_site.shared.errors import Conflict, Invalid, NotAllowed
from lhdr_site.shared.validation import validate

from .document import TEMPLATES
from .models import Benchmark, Category, GuidelineVersion, ItemEvent, Membership, OperationTag, Preset
from .permissions import may_administer
from .states import Role

DEFAULT_CATEGORIES = ["media", "people", "organizations", "geography", "society", "academia", "technology", "sports"]
DEFAULT_TAGS = ["constraint", "symbolic", "temporal", "numerical"]
LONGEST_GUIDELINE = 200_000  # characters
LabelModel = type[Category] | type[OperationTag]
_KINDS: dict[LabelModel, str] = {Category: "category", OperationTag: "operation_tag"}


@transaction.atomic
def create_benchmark(
    slug: str, name: str, preset: str = Preset.PAPER, *, actor: User, is_demo: bool = False
) -> Benchmark:
    """A benchmark with the default categories and tags; `actor` becomes its admin. Superusers only."""
    if not actor.is_superuser:
        raise NotAllowed(_("Only a superuser of this installation creates benchmarks."))
    benchmark = Benchmark(
        slug=slug, name=name.strip(), preset=preset, canary=f"lhdr:{slug}:{secrets.token_hex(16)}", is_demo=is_demo
    )
    if preset == Preset.SANDBOX:
        benchmark.min_steps, benchmark.min_nodes = 1, 1
    validate(benchmark)
    benchmark.save()
    Category.objects.bulk_create(
        Category(benchmark=benchmark, slug=s, name=s.capitalize(), position=n) for n, s in enumerate(DEFAULT_CATEGORIES)
    )
    OperationTag.objects.bulk_create(
        OperationTag(benchmark=benchmark, slug=s, name=s.capitalize(), position=n) for n, s in enumerate(DEFAULT_TAGS)
    )
    Membership.objects.create(benchmark=benchmark, user=actor, role=Role.ADMIN.value)
    _benchmark_event(benchmark, actor, "benchmark.created", preset=str(preset))
    return benchmark


@transaction.atomic
def change_benchmark(benchmark: Benchmark, changes: Mapping[str, Any], *, actor: User) -> Benchmark:
    """Set some of a benchmark's fields (never its slug or preset)."""
    benchmark = Benchmark.objects.select_for_update().get(pk=benchmark.pk)
    may_administer(actor, benchmark).require()
    old = {field: getattr(benchmark, field) for field in changes}
    for field, value in changes.items():
        setattr(benchmark, field, value)
    validate(benchmark)
    benchmark.save(update_fields=list(changes))
    if "guideline" in changes and old["guideline"] != benchmark.guideline:
        _add_version(benchmark, old["guideline"], actor, "")
    changed = {f: [str(old[f]), str(v)] for f, v in changes.items() if old[f] != v}
    if changed:
        _benchmark_event(benchmark, actor, "benchmark.changed", changed=changed)
    return benchmark


@transaction.atomic
def set_membership(benchmark: Benchmark, user: User, role: Role | None, *, actor: User) -> None:
    """Give a person a role in the benchmark, or take it away (None). The last admin stays."""
    benchmark = Benchmark.objects.select_for_update().get(pk=benchmark.pk)
    may_administer(actor, benchmark).require()
    admins = Membership.objects.filter(benchmark=benchmark, role=Role.ADMIN.value, user__is_active=True)
    if role is not Role.ADMIN and not admins.exclude(user=user).exists() and admins.exists():
        raise Invalid(_("A benchmark needs an admin. Make somebody else an admin first."), code="last_admin")
    old = Membership.objects.filter(benchmark=benchmark, user=user).values_list("role", flat=True).first()
    if role is None:
        Membership.objects.filter(benchmark=benchmark, user=user).delete()
    else:
        Membership.objects.update_or_create(benchmark=benchmark, user=user, defaults={"role": role.value})
    _benchmark_event(
        benchmark, actor, "membership.set", user=user.get_username(), old=old, new=role.value if role else None
    )


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
        raise Invalid.at("slug", text, code="label_exists")
    last = labels.aggregate(last=Max("position"))["last"]
    label = model(
        benchmark=benchmark, slug=slug, name=name.strip(), target=target, position=0 if last is None else last + 1
    )
    validate(label)
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
    validate(label)
    if old != [label.name, label.target]:
        label.save(update_fields=["name", "target"])
        kind = f"{_KINDS[type(label)]}.changed"
        _benchmark_event(label.benchmark, actor, kind, slug=label.slug, old=old, new=[label.name, label.target])


@transaction.atomic
def save_guideline(benchmark: Benchmark, text: str, base: int, *, actor: User, message: str = "") -> Benchmark:
    """A new version of the guideline. `base`: the number of the version it started from, 0 for none.

    Raises Conflict when somebody saved another version since.
    """
    benchmark = Benchmark.objects.select_for_update().get(pk=benchmark.pk)
    may_administer(actor, benchmark).require()
    text = text.replace("\r\n", "\n")
    if len(text) > LONGEST_GUIDELINE:
        words = _("A guideline has at most %(most)d characters; this one has %(n)d.")
        raise Invalid.at("text", words % {"most": LONGEST_GUIDELINE, "n": len(text)}, code="long_guideline")
    if len(message) > 300:
        raise Invalid.at("message", _("Say what changed in at most 300 characters."), code="long_message")
    if text == benchmark.guideline:
        return benchmark
    newest = benchmark.guideline_versions.first()
    if (newest.number if newest else 0) != base:
        raise Conflict(_("Somebody saved another version since you opened this one. Compare, then save yours again."))
    old, benchmark.guideline = benchmark.guideline, text
    benchmark.save(update_fields=["guideline"])
    version = _add_version(benchmark, old, actor, message)
    _benchmark_event(benchmark, actor, "guideline.saved", number=version.number, message=version.message)
    return benchmark


def _add_version(benchmark: Benchmark, old: str, actor: User, message: str) -> GuidelineVersion:
    """The guideline as it is now as a version; one that was never kept as such becomes the first."""
    newest = benchmark.guideline_versions.first()
    number = newest.number if newest else 0
    if newest is None and old:
        number = 1
        GuidelineVersion.objects.create(
            benchmark=benchmark, number=1, text=old, author=actor, message=_("As it was before versions were kept")
        )
    return GuidelineVersion.objects.create(
        benchmark=benchmark, number=number + 1, text=benchmark.guideline, author=actor, message=message.strip()
    )


@transaction.atomic
def set_targets(benchmark: Benchmark, targets: Mapping[tuple[str, str], int | None], *, actor: User) -> None:
    """Targets by (group, slug): group is category, template or tag. What is not named stays."""
    benchmark = Benchmark.objects.select_for_update().get(pk=benchmark.pk)
    may_administer(actor, benchmark).require()
    changed: dict[str, list[int | None]] = {}
    groups: dict[str, LabelModel] = {"category": Category, "tag": OperationTag}
    for group, model in groups.items():
        for label in model._default_manager.filter(benchmark=benchmark):
            wanted = targets.get((group, label.slug), label.target)
            if wanted != label.target:
                changed[f"{group} {label.slug}"] = [label.target, wanted]
                label.target = wanted
                label.save(update_fields=["target"])
    wanted_templates = dict(benchmark.template_targets)
    for template in TEMPLATES:
        wanted = targets.get(("template", template), wanted_templates.get(template))
        if wanted != wanted_templates.get(template):
            changed[f"template {template}"] = [wanted_templates.get(template), wanted]
            wanted_templates[template] = wanted
    if changed:
        benchmark.template_targets = {name: n for name, n in wanted_templates.items() if n is not None}
        benchmark.save(update_fields=["template_targets"])
        _benchmark_event(benchmark, actor, "benchmark.targeted", changed=changed)


@transaction.atomic
def rename_benchmark(benchmark: Benchmark, name: str, preset: str, *, actor: User) -> Benchmark:
    """Change a benchmark's name or preset, for the installation's superusers, members or not."""
    if not actor.is_superuser:
        raise NotAllowed(_("Only a superuser of this installation changes a benchmark's preset."))
    benchmark = Benchmark.objects.select_for_update().get(pk=benchmark.pk)
    old = {"name": benchmark.name, "preset": benchmark.preset}
    benchmark.name, benchmark.preset = name.strip(), preset
    validate(benchmark)
    changed = {f: [old[f], str(getattr(benchmark, f))] for f in old if old[f] != getattr(benchmark, f)}
    if changed:
        benchmark.save(update_fields=["name", "preset"])
        _benchmark_event(benchmark, actor, "benchmark.changed", changed=changed)
    return benchmark


def _benchmark_event(benchmark: Benchmark, actor: User, kind: str, **data: Any) -> None:
    ItemEvent.objects.create(benchmark=benchmark, actor=actor, kind=kind, data=data)
