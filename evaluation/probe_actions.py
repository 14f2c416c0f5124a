"""People's writes to probes and grade checks that need to know systems and judges; the rows themselves are the audit's.

Raises NotAllowed (403), Conflict (409) and Invalid (422) with nothing written.
"""

from collections.abc import Sequence
from typing import TypeVar

from django.conf import settings
from django.contrib.auth.models import User
from django.db import transaction
from django.utils.translation import gettext as _

from annotation.benchmarks import Item
from annotation.document import Document, read_document
from audit import probes
from audit.probes import GradeCheck, JudgeAsked, Probe, SystemAsked
from lhdr_site.shared.errors import Conflict, Invalid

from . import tasks
from .actions import require_endpoint
from .gradeability import new_cases
from .models import Condition, ImageMode, Judge, System
from .requests import question_images

_Row = TypeVar("_Row", System, Judge)


@transaction.atomic
def launch_probes(
    item: Item,
    *,
    systems: Sequence[System],
    conditions: Sequence[bool],
    times: int = 1,
    judge: Judge | None = None,
    actor: User,
) -> list[Probe]:
    """Ask systems of the benchmark, with images (True) and without; workers start after the commit."""
    document = read_document(item.document)
    asked = []
    for system in _held(systems):
        if system.benchmark_id != item.benchmark_id:
            raise Invalid.at("systems", _("%s belongs to another benchmark.") % system)
        endpoint = require_endpoint(item.benchmark, system, "systems")
        if True in conditions:
            require_images(system, document)
        asked.append(SystemAsked(system.pk, system.name, system.family, system.model, endpoint.pk))
    made = probes.add_probes(item, asked, conditions, times, _judge(item, judge) if judge else None, actor=actor)
    tasks.wake_errands_later(min(len(made), tasks.MOST_LANES))
    return made


def _held(rows: Sequence[_Row]) -> list[_Row]:
    """Systems or judges as they are now, in this order; nobody changes or deletes them until the commit."""
    if not rows:
        return []
    found = type(rows[0])._default_manager.select_for_update(of=("self",)).select_related("endpoint")
    now = {row.pk: row for row in found.filter(pk__in=[row.pk for row in rows]).order_by("pk")}
    if gone := [row.name for row in rows if row.pk not in now]:
        raise Conflict(_("“%s” was deleted meanwhile; choose another.") % gone[0])
    return [now[row.pk] for row in rows]


def require_images(
    system: System, document: Document, *, system_path: str = "systems", path: str = "conditions"
) -> None:
    """The system can be sent the question's images."""
    if system.image_mode == ImageMode.NONE:
        text = _("%s withholds images: ask it without images, or choose another.")
        raise Invalid.at(system_path, text % system.name)
    images = question_images(document, system.image_mode, Condition.WITH_IMAGE)
    if any(not image.sha256 for image in images):
        text = _("A question image is only known by its address; have it fetched first, or ask without images.")
        raise Invalid.at(path, text, code="images_missing")
    if images and system.image_mode == ImageMode.URL_IN_PROMPT and not settings.PUBLIC_URL:
        text = _("%s fetches images by their address, and this installation has none: set LHDR_PUBLIC_URL.")
        raise Invalid.at(system_path, text % system.name, code="no_public_url")


def _judge(item: Item, judge: Judge) -> JudgeAsked:
    (judge,) = _held([judge])
    if judge.benchmark_id != item.benchmark_id:
        raise Invalid.at("judge", _("%s belongs to another benchmark.") % judge)
    return JudgeAsked(judge.pk, judge.name, require_endpoint(item.benchmark, judge, "judge").pk)


@transaction.atomic
def ask_again(probe: Probe, *, judge: Judge | None = None, actor: User) -> Probe:
    """The system where it brought no answer; where there is one, a judge about it."""
    endpoint_id = None
    if not probe.text:
        system = System.objects.filter(pk=probe.system or 0).first()
        if system is None:
            raise Invalid(_("This answer was asked for elsewhere; it cannot be asked for again from here."))
        (system,) = _held([system])
        endpoint_id = require_endpoint(probe.item.benchmark, system, "systems").pk
    asked = _judge(probe.item, judge) if judge and probe.text else None
    again = probes.ask_probe_again(probe, asked, endpoint_id=endpoint_id, actor=actor)
    tasks.wake_errands_later(1)
    return again


@transaction.atomic
def check_gradeability(item: Item, judge: Judge, *, every_step: bool = False, actor: User) -> GradeCheck:
    """Have a judge mark the written-out solution: full, without the middle step (or each), and nothing."""
    cases = new_cases(read_document(item.document), every_step=every_step)
    check = probes.add_grade_check(item, _judge(item, judge), cases, actor=actor)
    tasks.wake_errands_later(1)
    return check


@transaction.atomic
def check_gradeability_again(check: GradeCheck, *, actor: User) -> GradeCheck:
    again = probes.ask_grade_check_again(check, actor=actor)
    tasks.wake_errands_later(1)
    return again
