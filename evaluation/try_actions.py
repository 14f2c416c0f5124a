"""Trying a system out: one request with one item of a release, through the same client and limits as a run's.

Raises NotAllowed (403), Conflict (409) and Invalid (422) with nothing written.
"""

from django.contrib.auth.models import User
from django.db import transaction
from django.utils import timezone
from django.utils.translation import gettext as _

from annotation.benchmarks import Benchmark
from annotation.document import read_document
from audit.releases import Release, ReleaseItem
from lhdr_site.endpoints.errors import ErrorKind
from lhdr_site.shared.errors import Conflict, Invalid

from . import tasks
from .actions import require_endpoint
from .models import Condition, ImageMode, System, Tryout
from .permissions import may_manage_runs
from .probe_actions import require_images

_OPEN = (Tryout.Status.PENDING, Tryout.Status.RUNNING)


@transaction.atomic
def try_system(
    system: System,
    *,
    release: Release,
    item: int | None = None,
    condition: str = Condition.WITH_IMAGE,
    actor: User,
) -> Tryout:
    """Ask a system one item of a release (its number; the first one without), once; a worker does it after the commit.

    One at a time for each system.
    """
    system = System.objects.select_for_update(of=("self",)).select_related("endpoint", "benchmark").get(pk=system.pk)
    benchmark: Benchmark = system.benchmark
    may_manage_runs(actor, benchmark).require()
    endpoint = require_endpoint(benchmark, system, "system")
    if release.benchmark_id != benchmark.pk:
        raise Invalid.at("release", _("%s belongs to another benchmark.") % release)
    rows = ReleaseItem.objects.filter(release=release).order_by("position")
    row = rows.first() if item is None else rows.filter(item__number=item).first()
    if row is None and item is not None:
        raise Invalid.at("item", _("The release holds no item #%d; leave this empty for its first one.") % item)
    if row is None:
        raise Invalid.at("release", _("The release holds no items."))
    if condition not in Condition.values:
        raise Invalid.at("condition", _("The condition is with_image or without_image."))
    if condition == Condition.WITH_IMAGE and system.image_mode != ImageMode.NONE:
        require_images(system, read_document(row.document), system_path="system", path="condition")
    if endpoint.broken:
        text = _("No call is made to %(name)s: %(why)s Let it try again in the list of endpoints first.")
        raise Conflict(text % {"name": endpoint, "why": endpoint.broken})
    if system.tryouts.filter(status__in=_OPEN).exists():
        raise Conflict(_("This system is being tried out already; wait for the answer, or cancel that call."))
    made = Tryout.objects.create(
        benchmark=benchmark,
        system=system,
        system_name=system.name,
        vendor=system.family,
        endpoint=endpoint,
        release_item=row,
        condition=condition,
        requested_by=actor,
    )
    tasks.wake_errands_later(1)
    return made


@transaction.atomic
def cancel_tryout(tryout: Tryout, *, actor: User) -> Tryout:
    """The call is ended, and its result dropped."""
    row = Tryout.objects.select_for_update(of=("self",)).select_related("benchmark").get(pk=tryout.pk)
    may_manage_runs(actor, row.benchmark).require()
    if not row.is_open:
        raise Conflict(_("This call has ended already."))
    row.status, row.error_kind, row.lease_until, row.ended = (
        Tryout.Status.CANCELLED, ErrorKind.CANCELLED, None, timezone.now(),
    )  # fmt: skip
    row.save(update_fields=["status", "error_kind", "lease_until", "ended"])
    return row
