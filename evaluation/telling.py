"""Telling people that a run or a study is done, has stopped by itself or was cancelled by somebody else. Called in the
transaction that says so, by the one caller that gets to say it, so that nobody is told twice. What goes on again takes
back what was told of its end.

A notice refers to its benchmark while its run is locked: so who locks a benchmark before runs does it with `no_key`."""

from collections.abc import Mapping
from decimal import Decimal
from typing import Any

from django.contrib.auth.models import User
from django.db.models import Exists, OuterRef, Q
from django.urls import reverse
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from annotation.benchmarks import ENDS, tell_of_end, withdraw_end

from .models import Labelling, Response, Run, RunEvent, RunState, Study, Verdict, Work
from .stops import words_of_stop

Status = Work.Status
CENTS = Decimal("0.1")  # USD; below, two more digits are said
_ENDS = ("run.finished", "run.stopped", "run.cancelled")


def _address(row: Run | Study) -> str:
    page = "run-page" if isinstance(row, Run) else "study-page"
    return reverse(f"evaluation:{page}", args=[row.benchmark.slug, row.number])


def _name(user: User) -> str:
    return user.get_full_name() or user.get_username()


def _tell_of_run(run: Run, kind: str, facts: Mapping[str, Any], but: User | None = None) -> None:
    """Who launched it, and who had it go on last."""
    users = {pk for pk in (run.launched_by_id, run.resumed_by_id) if pk} - ({but.pk} if but else set())
    names = {"n": run.number, "system": run.system.name, "release": run.release.name}
    tell_of_end(run.benchmark, users, kind, {**names, **facts}, _address(run))


def tell_run_done(run: Run, answered: int) -> None:
    """Unless it is of a study: that tells when all its runs have ended."""
    if run.study_id:
        return
    failed = sum(rows.filter(status=Status.FAILED).count() for rows in (run.responses, run.verdicts, run.labellings))
    counts = {"answered": answered, "total": run.responses.count(), "failed": failed}
    _tell_of_run(run, "run.finished", {**counts, "spent": str(run.spent), "unpriced": run.unpriced})


def tell_run_stopped(run_pk: int) -> None:
    """It stopped, or pauses, by itself; of a study too, since somebody has to see to it."""
    run = Run.objects.select_related("benchmark", "system", "release").get(pk=run_pk)
    _tell_of_run(run, "run.paused" if run.state == RunState.PAUSED else "run.stopped", {"stop": run.stop})


def tell_run_cancelled(run: Run, actor: User) -> None:
    """Those whose run another person cancelled; unless it is of a study, which tells when all its runs have ended."""
    if run.study_id:
        return
    answered = run.responses.filter(status=Status.COMPLETED).count()
    counts = {"answered": answered, "total": run.responses.count()}
    _tell_of_run(run, "run.cancelled", {"who": _name(actor), **counts}, but=actor)


def tell_study_ended(study: Study, finished: int, stopped: int) -> None:
    """Who planned it, unless they cancelled what went on last."""
    last = RunEvent.objects.filter(run__study=study, kind__in=_ENDS).select_related("actor").order_by("-pk").first()
    canceller = last.actor if last and last.kind == "run.cancelled" else None
    failures = Q()
    for model in (Response, Verdict, Labelling):
        failures |= Q(Exists(model._default_manager.filter(run=OuterRef("pk"), status=Status.FAILED)))
    failed = study.runs.filter(failures).exclude(state=RunState.CANCELLED).count()
    kind = "study.stopped" if stopped else "study.cancelled" if canceller else "study.finished"
    users = {study.created_by_id} - ({canceller.pk} if canceller else set())
    facts = {"number": study.number, "name": study.name, "who": canceller and _name(canceller)}
    facts |= {"n": finished + stopped, "stopped": stopped, "failed": failed}
    tell_of_end(study.benchmark, users, kind, facts, _address(study))


def take_back(*rows: Run | Study | None) -> None:
    """What was told of the end of these is no longer so: they go on, or ended in another way."""
    for row in rows:
        if row:
            withdraw_end(row.benchmark, _address(row))


# --- in words, when they are shown ----------------------------------------------------------------------------------


def _words_of_run(title: str, facts: Mapping[str, Any]) -> tuple[str, str]:
    return _("run %(n)d") % facts, title % facts


def _run_done(facts: Mapping[str, Any]) -> tuple[str, str]:
    spent = Decimal(facts["spent"])
    cost = f"{spent:,.{4 if 0 < spent < CENTS else 2}f} USD"
    if n := facts["unpriced"]:
        text = ngettext("%(cost)s and %(n)d call of unknown cost", "%(cost)s and %(n)d calls of unknown cost", n)
        cost = text % {"cost": cost, "n": n}
    title = _(
        "Run %(n)d (%(system)s on %(release)s) is done: %(answered)d of %(total)d answered, %(failed)d failed, %(cost)s"
    )
    return _words_of_run(title, {**facts, "cost": cost})


def _run_stopped(facts: Mapping[str, Any]) -> tuple[str, str]:
    title = _("Run %(n)d (%(system)s on %(release)s) stopped: %(reason)s")
    return _words_of_run(title, {**facts, "reason": words_of_stop(facts["stop"])})


def _run_paused(facts: Mapping[str, Any]) -> tuple[str, str]:
    title = _("Run %(n)d (%(system)s on %(release)s) pauses: %(reason)s")
    return _words_of_run(title, {**facts, "reason": words_of_stop(facts["stop"])})


def _run_cancelled(facts: Mapping[str, Any]) -> tuple[str, str]:
    title = _("%(who)s cancelled run %(n)d (%(system)s on %(release)s): %(answered)d of %(total)d answered")
    return _words_of_run(title, facts)


def _words_of_study(title: str, facts: Mapping[str, Any]) -> tuple[str, str]:
    return _("study %(number)d") % facts, title % facts


def _study_stopped(facts: Mapping[str, Any]) -> tuple[str, str]:
    title = ngettext(
        "Study “%(name)s” stopped: %(stopped)d of %(n)d run stopped by itself",
        "Study “%(name)s” stopped: %(stopped)d of %(n)d runs stopped by themselves",
        facts["n"],
    )
    return _words_of_study(title, facts)


def _study_done(facts: Mapping[str, Any]) -> tuple[str, str]:
    title = ngettext(
        "Study “%(name)s” is done: %(n)d run, %(failed)d with failures",
        "Study “%(name)s” is done: %(n)d runs, %(failed)d with failures",
        facts["n"],
    )
    return _words_of_study(title, facts)


def _study_cancelled(facts: Mapping[str, Any]) -> tuple[str, str]:
    title = ngettext(
        "Study “%(name)s” ended, as %(who)s cancelled the rest: %(n)d run is done, %(failed)d with failures",
        "Study “%(name)s” ended, as %(who)s cancelled the rest: %(n)d runs are done, %(failed)d with failures",
        facts["n"],
    )
    return _words_of_study(title, facts)


ENDS.update(
    {
        "run.finished": _run_done,
        "run.stopped": _run_stopped,
        "run.paused": _run_paused,
        "run.cancelled": _run_cancelled,
        "study.stopped": _study_stopped,
        "study.finished": _study_done,
        "study.cancelled": _study_cancelled,
    }
)
