"""Changing and deleting systems and judges that never ran; what has run is only copied.

Raises NotAllowed (403), Conflict (409) and Invalid (422) with nothing written.
"""

from collections.abc import Mapping
from typing import Any, TypeVar

from django.contrib.auth.models import User
from django.db import transaction
from django.db.models import Q
from django.utils.translation import gettext as _

from annotation.benchmarks import Benchmark
from audit.probes import GradeCheck, Probe
from lhdr_site.shared.errors import Conflict

from .actions import check_configuration, check_judge
from .models import Attempt, ConfigurationEvent, Judge, Run, Study, System, Verdict, Work
from .permissions import may_manage_runs

_OPEN = (Work.Status.PENDING, Work.Status.RUNNING)
Row = TypeVar("Row", System, Judge)


def has_run(row: System | Judge) -> bool:
    """Whether anything rests on it: a run or a study, a verdict, a probe, a grade check, a call that goes on."""
    if isinstance(row, System):
        rows: list[Any] = [
            row.runs, row.studies, Probe.objects.filter(system=row.pk), row.tryouts.filter(status__in=_OPEN),
        ]  # fmt: skip
    else:
        rows = [
            Run.objects.filter(Q(judges=row) | Q(main_judge=row)),
            Study.objects.filter(Q(judges=row) | Q(main_judge=row)),
            Verdict.objects.filter(judge=row),
            Probe.objects.filter(judge=row.pk),
            GradeCheck.objects.filter(judge=row.pk),
            Attempt.objects.filter(judge=row),
        ]
    return any(found.exists() for found in rows)


def _locked(row: System | Judge, actor: User) -> Any:
    """The row, which nobody launches, plans or tries out meanwhile: they lock its benchmark, or the row."""
    Benchmark.objects.select_for_update(no_key=True).get(pk=row.benchmark_id)
    found = type(row)._default_manager.select_for_update(of=("self",)).select_related("benchmark").filter(pk=row.pk)
    mine = found.first()
    if mine is None:
        raise Conflict(_("It was deleted meanwhile."))
    may_manage_runs(actor, mine.benchmark).require()
    if isinstance(mine, Judge) and mine.person_id:
        raise Conflict(_("A person is no configuration that could be changed."))
    if has_run(mine):
        raise Conflict(_("“%s” has run, so that results rest on it: copy it, and change the copy.") % mine.name)
    return mine


def _facts(row: System | Judge) -> dict[str, str]:
    return {
        field.name: str(getattr(row, field.name) or "")
        for field in row._meta.concrete_fields
        if field.name not in ("id", "benchmark", "created", "created_by", "person")
    }


def _record(row: System | Judge, what: str, actor: User, **data: Any) -> None:
    kind = f"{row._meta.model_name}.{what}"
    ConfigurationEvent.objects.create(
        benchmark_id=row.benchmark_id, actor=actor, kind=kind, data={"id": row.pk, "name": row.name, **data}
    )


@transaction.atomic
def change_configuration(row: Row, data: Mapping[str, Any], *, actor: User) -> Row:
    """Other values for a system or judge that never ran."""
    mine: Row = _locked(row, actor)
    before = _facts(mine)
    for name, value in data.items():
        setattr(mine, name, value)
    if isinstance(mine, Judge):
        check_judge(mine)
    check_configuration(mine, mine.benchmark)
    mine.save()
    after = _facts(mine)
    changes = {name: [before[name], after[name]] for name in after if before[name] != after[name]}
    if changes:
        _record(mine, "changed", actor, changes=changes)
    return mine


@transaction.atomic
def delete_configuration(row: System | Judge, *, actor: User) -> None:
    """A system or judge that never ran goes; calls to try it out stay in the exposure ledger."""
    mine = _locked(row, actor)
    _record(mine, "deleted", actor, was=_facts(mine))
    mine.delete()
