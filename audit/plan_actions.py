"""Writing a benchmark's audit plan: one transaction, one event. Raises NotAllowed (403) and Invalid (422)."""

from collections.abc import Mapping
from typing import Any

from django.contrib.auth.models import User
from django.db import transaction
from django.utils.translation import gettext as _

from annotation.benchmarks import Benchmark
from annotation.models import ItemEvent
from lhdr_site.shared.errors import Invalid
from lhdr_site.shared.validation import validate

from .models import AuditPlan
from .permissions import may_set_plan
from .plans import LIMITS, plan_of


@transaction.atomic
def set_plan(benchmark: Benchmark, changes: Mapping[str, Any], *, actor: User) -> AuditPlan:
    """Set some fields of the plan. What is under way goes on; the new plan holds for what is judged from now on."""
    benchmark = Benchmark.objects.select_for_update().get(pk=benchmark.pk)
    may_set_plan(actor, benchmark).require()
    plan = plan_of(benchmark)
    changed = {f: [str(getattr(plan, f)), str(v)] for f, v in changes.items() if getattr(plan, f) != v}
    for field, value in changes.items():
        setattr(plan, field, value)
    validate(plan, exclude=["double_audit_seed"])  # drawn by itself, not set here
    text = _("Give a whole number from %(least)d to %(most)d.")
    problems = [
        {"path": field, "message": text % {"least": least, "most": most}}
        for field, (least, most) in LIMITS.items()
        if not least <= getattr(plan, field) <= most
    ]
    if problems:
        raise Invalid.of(problems)
    if changed:
        plan.save()
        data = {"changed": changed}
        ItemEvent.objects.create(benchmark=benchmark, actor=actor, kind="audit_plan.changed", data=data)
    return plan
