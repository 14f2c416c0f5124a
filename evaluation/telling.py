"""Telling people that a run or a study is done or has stopped by itself. Called in the transaction that says so, by the
one caller that gets to say it, so that nobody is told twice.

A notice refers to its benchmark while its run is locked: so who locks a benchmark before runs does it with `no_key`."""

from django.db.models import Exists, OuterRef, Q
from django.urls import reverse
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from annotation.benchmarks import tell_of_end

from .models import Labelling, Response, Run, RunEvent, RunState, Study, Verdict, Work

Status = Work.Status
CENTS = 0.1  # USD; below, two more digits are said
_ENDS = ("run.finished", "run.stopped", "run.cancelled")


def _tell_of_run(run: Run, title: str) -> None:
    """Who launched it, and who had it go on last."""
    address = reverse("evaluation:run-page", args=[run.benchmark.slug, run.number])
    users = [pk for pk in (run.launched_by_id, run.resumed_by_id) if pk]
    tell_of_end(run.benchmark, users, _("run %(n)d") % {"n": run.number}, title, address)


def _named(run: Run) -> dict[str, object]:
    return {"n": run.number, "system": run.system.name, "release": run.release.name}


def tell_run_done(run: Run, answered: int) -> None:
    """Unless it is of a study: that tells when all its runs have ended."""
    if run.study_id:
        return
    total = run.responses.count()
    failed = sum(rows.filter(status=Status.FAILED).count() for rows in (run.responses, run.verdicts, run.labellings))
    cost = f"{run.spent:,.{4 if 0 < run.spent < CENTS else 2}f} USD"
    if run.unpriced:
        text = ngettext(
            "%(cost)s and %(n)d call of unknown cost", "%(cost)s and %(n)d calls of unknown cost", run.unpriced
        )
        cost = text % {"cost": cost, "n": run.unpriced}
    title = _(
        "Run %(n)d (%(system)s on %(release)s) is done: %(answered)d of %(total)d answered, %(failed)d failed, %(cost)s"
    )
    figures = {"answered": answered, "total": total, "failed": failed, "cost": cost}
    _tell_of_run(run, title % {**_named(run), **figures})


def tell_run_stopped(run_pk: int, reason: str) -> None:
    """It stopped, or pauses, by itself; of a study too, since somebody has to see to it."""
    run = Run.objects.select_related("benchmark", "system", "release").get(pk=run_pk)
    title = _("Run %(n)d (%(system)s on %(release)s) stopped: %(reason)s")
    if run.state == RunState.PAUSED:
        title = _("Run %(n)d (%(system)s on %(release)s) pauses: %(reason)s")
    _tell_of_run(run, title % {**_named(run), "reason": reason})


def tell_study_ended(study: Study, ended: int, stopped: int) -> None:
    """Who planned it; unless a person cancelled the last run that went on."""
    ends = RunEvent.objects.filter(run__study=study, kind__in=_ENDS).order_by("-pk")
    if ends.values_list("kind", flat=True).first() == "run.cancelled":
        return
    failures = Q()
    for model in (Response, Verdict, Labelling):
        failures |= Q(Exists(model._default_manager.filter(run=OuterRef("pk"), status=Status.FAILED)))
    failed = study.runs.filter(failures).count()
    values = {"name": study.name, "n": ended, "stopped": stopped, "failed": failed}
    if stopped:
        title = ngettext(
            "Study “%(name)s” stopped: %(stopped)d of %(n)d run stopped by itself",
            "Study “%(name)s” stopped: %(stopped)d of %(n)d runs stopped by themselves",
            ended,
        )
    else:
        title = ngettext(
            "Study “%(name)s” is done: %(n)d run, %(failed)d with failures",
            "Study “%(name)s” is done: %(n)d runs, %(failed)d with failures",
            ended,
        )
    address = reverse("evaluation:study-page", args=[study.benchmark.slug, study.number])
    tell_of_end(study.benchmark, [study.created_by_id], _("study %(n)d") % {"n": study.number}, title % values, address)
