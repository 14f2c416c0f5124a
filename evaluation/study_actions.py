"""People's writes to studies: one plan for many runs, filled as often as needed, frozen once.

Rows are locked in the order benchmark, study, run. Raises NotAllowed (403), Conflict (409) and Invalid (422).
"""

from collections.abc import Callable, Iterable, Mapping
from itertools import product
from typing import Any, NamedTuple

from django.contrib.auth.models import User
from django.db import transaction
from django.db.models import Exists, Max, OuterRef, Sum
from django.utils import timezone
from django.utils.translation import gettext as _

from annotation.benchmarks import Benchmark
from lhdr_site.shared.errors import Conflict, Invalid
from lhdr_site.shared.validation import validate

from .actions import (
    cancel_run,
    check_budgets,
    fill_run,
    launch_run,
    pause_run,
    require_endpoint,
    require_thawed,
    resume_run,
)
from .models import Condition, Judge, Run, RunState, Study, StudyEvent, System, Verdict
from .permissions import may_manage_runs

PLAN = ("name", "main_judge", "conditions", "samples", "repeats", "concurrency", "budget", "token_budget", "note")
ENDED = (RunState.FINISHED, RunState.CANCELLED)


class Filled(NamedTuple):
    """What filling the holes set going, and what could not be done: (system, condition, why)."""

    launched: list[int]  # numbers of runs
    resumed: int  # runs that had stopped
    responses: int  # asked again, or for the first time in runs that were there
    verdicts: int
    refused: list[tuple[str, str, str]]


@transaction.atomic
def create_study(benchmark: Benchmark, data: Mapping[str, Any], *, actor: User) -> Study:
    """A plan; nothing is asked before its holes are filled.

    data: name, release, systems, judges (at least one model), and optionally main_judge (the first of judges),
    conditions, samples, repeats, concurrency, budget, token_budget, note.
    """
    benchmark = Benchmark.objects.select_for_update(no_key=True).get(pk=benchmark.pk)
    may_manage_runs(actor, benchmark).require()
    number = (benchmark.studies.aggregate(last=Max("number"))["last"] or 0) + 1
    study = Study(benchmark=benchmark, number=number, release=data["release"], created_by=actor)
    if study.release.benchmark_id != benchmark.pk:
        raise Invalid.at("release", _("%s belongs to another benchmark.") % study.release)
    if not study.release.item_count:
        raise Invalid.at("release", _("The release holds no items."))
    systems, judges = list(data["systems"]), list(data["judges"])
    study.conditions = [Condition.WITH_IMAGE]
    _set_plan(study, data, systems, judges)
    study.save()
    study.systems.set(systems)
    study.judges.set(judges)
    _event(study, actor, "study.created", systems=_names(systems), judges=_names(judges))
    return study


@transaction.atomic
def change_study(study: Study, data: Mapping[str, Any], *, actor: User) -> Study:
    """Another plan, or another budget. What has been asked or judged stays in it; the release stays too."""
    study = _locked(study, actor)
    old = _plan(study)
    if data.get("release") not in (None, study.release):
        raise Invalid.at("release", _("A study stays on its release; make another one for another release."))
    systems, judges = list(data.get("systems", study.systems.all())), list(data.get("judges", study.judges.all()))
    _keep_what_ran(study, data, systems, judges)
    _set_plan(study, data, systems, judges)
    study.save()
    study.systems.set(systems)
    study.judges.set(judges)
    new = _plan(study)
    changes = {name: [old[name], new[name]] for name in new if new[name] != old[name]}
    if changes:
        _event(study, actor, "study.changed", changes=changes)
    return study


def _set_plan(study: Study, data: Mapping[str, Any], systems: list[System], judges: list[Judge]) -> None:
    for name in PLAN:
        if name in data and (data[name] is not None or name in ("budget", "token_budget")):
            setattr(study, name, data[name])
    if not systems:
        raise Invalid.at("systems", _("Choose at least one system."))
    if not judges:
        raise Invalid.at("judges", _("Choose at least one judge."))
    if study.main_judge_id is None:
        study.main_judge = judges[0]
    for path, rows in (("systems", systems), ("judges", judges)):
        if strange := [row.name for row in rows if row.benchmark_id != study.benchmark_id]:
            raise Invalid.at(path, _("%s belongs to another benchmark.") % ", ".join(strange))
        for row in rows:
            require_endpoint(study.benchmark, row, path)
    if study.main_judge not in judges:
        raise Invalid.at("main_judge", _("The main judge must be one of the judges."))
    if not study.conditions or set(study.conditions) - set(Condition.values):
        raise Invalid.at("conditions", _("The conditions are with_image, without_image or both."))
    study.conditions = [condition for condition in Condition.values if condition in study.conditions]
    check_budgets(study)
    validate(study, exclude=["frozen"])


def _keep_what_ran(study: Study, data: Mapping[str, Any], systems: list[System], judges: list[Judge]) -> None:
    """Raises Invalid where the plan would leave out what has a run, or ask for less than was asked."""
    runs = list(study.runs.exclude(state=RunState.CANCELLED).select_related("system"))
    theirs = Verdict.objects.filter(judge=OuterRef("pk"), run__in=runs)
    judged = Judge.objects.filter(Exists(theirs), studies=study)
    for path, kept, planned in (
        ("systems", (run.system for run in runs), systems),
        ("judges", judged, judges),
    ):
        if missing := {row.name for row in kept} - set(_names(planned)):
            text = _("%s has worked in this study and stays in its plan.")
            raise Invalid.at(path, text % ", ".join(sorted(missing)))
    if missing := {run.condition for run in runs} - set(data.get("conditions", study.conditions)):
        words = ", ".join(str(Condition(condition).label) for condition in sorted(missing))
        raise Invalid.at("conditions", _("%s has runs in this study and stays in its plan.") % words)
    for path in ("samples", "repeats"):
        if runs and (data.get(path) or getattr(study, path)) < getattr(study, path):
            text = _("There are runs with %d already; more can be asked for, not fewer.")
            raise Invalid.at(path, text % getattr(study, path))


def _plan(study: Study) -> dict[str, Any]:
    """The plan as plain JSON, for its history."""
    values = {name: getattr(study, name) for name in PLAN if name != "main_judge"}
    for name in ("budget", "token_budget"):
        values[name] = None if values[name] is None else str(values[name])
    rows = {"systems": _names(study.systems.all()), "judges": _names(study.judges.all())}
    return {**values, **rows, "main_judge": study.main_judge.name}


@transaction.atomic
def adopt_run(study: Study, run: Run, *, actor: User) -> Run:
    """Take a finished run into the study in place of asking anew; what it lacks of the plan is filled later."""
    study = _locked(study, actor)
    run = Run.objects.select_for_update(of=("self",)).select_related("system", "study").get(pk=run.pk)
    if run.benchmark_id != study.benchmark_id or run.release_id != study.release_id:
        raise Invalid.at("run", _("Run %d is on another release.") % run.number)
    if run.study is not None:
        raise Conflict(_("Run %(n)d belongs to the study “%(name)s”.") % {"n": run.number, "name": run.study})
    if run.state != RunState.FINISHED or run.is_trial:
        raise Conflict(_("Only a finished run of the whole release can be taken in."))
    if run.imported:
        text = _("The answers of run %d came from a file: what the plan lacks of them could not be asked for.")
        raise Conflict(text % run.number)
    if not study.systems.filter(pk=run.system_id).exists() or run.condition not in study.conditions:
        text = _("%(system)s, %(condition)s, is not in the plan; add it first.")
        raise Invalid.at("run", text % {"system": run.system, "condition": run.get_condition_display()})
    if study.runs.filter(system=run.system, condition=run.condition).exclude(state=RunState.CANCELLED).exists():
        text = _("The study has a run of %(system)s, %(condition)s, already.")
        raise Conflict(text % {"system": run.system, "condition": run.get_condition_display()})
    for path in ("samples", "repeats"):
        if getattr(run, path) > getattr(study, path):
            text = _("Run %(n)d was made with %(has)d of these, the plan says %(plan)d; change the plan first.")
            values = {"n": run.number, "has": getattr(run, path), "plan": getattr(study, path)}
            raise Invalid.at(path, text % values)
    run.study = study
    run.save(update_fields=["study"])
    _event(study, actor, "study.adopted", run=run.number)
    return run


@transaction.atomic
def fill_holes(study: Study, *, actor: User) -> Filled:
    """Ask for all that the plan lacks: launch what was never launched, try again what failed or could not be read, add
    the judges, samples and repeats that are new. Nothing that was answered and judged is asked again.

    What cannot be done is in `refused`. Raises Invalid where nothing else was left to do, or no budget is.
    """
    Benchmark.objects.select_for_update(no_key=True).get(pk=study.benchmark_id)
    study = _locked(study, actor)
    _require_budget(study)
    systems = list(study.systems.select_related("endpoint"))
    judges = sorted(study.judges.select_related("endpoint"), key=lambda judge: judge.pk != study.main_judge_id)
    runs = {(run.system_id, run.condition): run for run in study.runs.exclude(state=RunState.CANCELLED)}
    shared = {name: getattr(study, name) for name in ("release", "main_judge", "samples", "repeats", "concurrency")}
    launched, again = [], {"resumed": 0, "responses": 0, "verdicts": 0}
    refused: list[tuple[str, str, str]] = []
    for system, condition in product(systems, study.conditions):
        run = runs.get((system.pk, condition))
        try:
            if run is None:
                data = {**shared, "study": study, "system": system, "condition": condition, "judges": judges}
                launched.append(launch_run(study.benchmark, data, actor=actor).number)
            else:
                for name, count in fill_run(run, judges, study.samples, study.repeats, actor=actor).items():
                    again[name] += count
        except Invalid as error:
            refused.append((system.name, str(Condition(condition).label), error.message))
    filled = Filled(launched, **again, refused=refused)
    if launched or any(again.values()):
        _event(study, actor, "study.filled", launched=launched, **again, refused=len(refused))
    elif refused:
        raise Invalid(" ".join(f"{system}, {condition}: {why}" for system, condition, why in refused))
    return filled


@transaction.atomic
def pause_study(study: Study, *, actor: User) -> int:
    """Pause every run that goes on; how many."""
    study = _locked(study, actor)
    return _each(study, pause_run, (RunState.QUEUED, RunState.RUNNING), actor, "study.paused")


@transaction.atomic
def resume_study(study: Study, *, actor: User) -> int:
    """Let every run that is paused or stopped go on; how many."""
    study = _locked(study, actor)
    _require_budget(study)
    return _each(study, resume_run, (RunState.PAUSED, RunState.STOPPED), actor, "study.resumed")


@transaction.atomic
def cancel_study(study: Study, *, actor: User) -> int:
    """Cancel every run that has not ended, for good; how many."""
    study = _locked(study, actor)
    return _each(study, cancel_run, [s for s in RunState if s not in ENDED], actor, "study.cancelled")


@transaction.atomic
def freeze_study(study: Study, *, actor: User) -> Study:
    """From now on nothing of the study changes: neither its plan nor a response or verdict of its runs. For good."""
    study = _locked(study, actor)
    runs = list(study.runs.select_for_update().order_by("pk"))
    if not any(run.state == RunState.FINISHED for run in runs):
        raise Conflict(_("No run of the study has finished, so there is nothing to freeze yet."))
    if still := [run.number for run in runs if run.state not in ENDED]:
        text = _("These runs have not ended: %s. Wait for them, or cancel them, then freeze.")
        raise Conflict(text % ", ".join(map(str, still)))
    study.frozen = timezone.now()
    study.save(update_fields=["frozen"])
    _event(study, actor, "study.frozen", runs=[run.number for run in runs])
    return study


def _each(study: Study, act: Callable[..., Any], states: Iterable[str], actor: User, kind: str) -> int:
    runs = list(study.runs.filter(state__in=states).order_by("pk"))
    for run in runs:
        act(run, actor=actor)
    if runs:
        _event(study, actor, kind, runs=[run.number for run in runs])
    return len(runs)


def _locked(study: Study, actor: User) -> Study:
    rows = Study.objects.select_for_update(no_key=True, of=("self",))
    study = rows.select_related("benchmark", "release", "main_judge").get(pk=study.pk)
    may_manage_runs(actor, study.benchmark).require()
    require_thawed(study)
    return study


def _require_budget(study: Study) -> None:
    used = study.runs.aggregate(budget=Sum("spent"), token_budget=Sum("tokens"))
    for path, spent in used.items():
        most = getattr(study, path)
        if most is not None and (spent or 0) >= most:
            text = _("The study's budget of %(budget)s is used up (%(spent)s spent): raise it in the plan to go on.")
            raise Invalid.at(path, text % {"budget": most, "spent": spent}, code="budget_used_up")


def _names(rows: Iterable[Any]) -> list[str]:
    return [row.name for row in rows]


def _event(study: Study, actor: User, kind: str, **data: Any) -> None:
    StudyEvent.objects.create(study=study, actor=actor, kind=kind, data=data)
