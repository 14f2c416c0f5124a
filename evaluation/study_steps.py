"""The worker's part in studies: note when all that was set going has ended, and tell who planned it."""

from django.db.models import Case, Exists, F, OuterRef, QuerySet, Subquery, When

from .claims import write
from .models import Run, RunState, Study, StudyEvent
from .telling import tell_study_ended

OPEN = (RunState.QUEUED, RunState.RUNNING, RunState.PAUSED)
ENDS = ("study.finished", "study.stopped")


def _untold() -> QuerySet[Study]:
    """Studies that have runs, none of which goes on or pauses, and nobody has noted it since one was set going or
    cancelled."""
    runs = Run.objects.filter(study=OuterRef("pk"))
    studies = Study.objects.filter(
        Exists(runs),
        ~Exists(runs.filter(state__in=OPEN)),
        frozen=None,
    )
    moved = Case(When(state=RunState.CANCELLED, then=F("ended")), default=F("resumed"))
    since = runs.order_by(moved.desc(nulls_last=True)).values(moved=moved)[:1]
    told = StudyEvent.objects.filter(study=OuterRef("pk"), kind__in=ENDS, created__gte=OuterRef("since"))
    return studies.annotate(since=Subquery(since)).filter(~Exists(told))


def end_studies(study_pk: int | None = None) -> None:
    """Note of each study (or of this one) that it ended, or stopped where one of its runs stopped by itself; once each
    time that one of its runs was set going or cancelled."""
    studies = _untold() if study_pk is None else _untold().filter(pk=study_pk)
    for pk in list(studies.values_list("pk", flat=True)):
        with write():
            Study.objects.select_for_update(no_key=True).get(pk=pk)
            study = _untold().filter(pk=pk).first()
            if study is None:
                continue
            states = list(study.runs.values_list("state", flat=True))
            stopped = states.count(RunState.STOPPED)
            finished = states.count(RunState.FINISHED)
            data = {"finished": finished, "stopped": stopped}
            StudyEvent.objects.create(study=study, kind=ENDS[bool(stopped)], data=data)
            tell_study_ended(study, finished, stopped)
