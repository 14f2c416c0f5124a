"""Thin tasks: a message wakes a lane that works for a while on a run, or on probes and grade checks; what is due stands
in the database."""

from typing import Any

from celery import shared_task
from celery.signals import worker_ready
from django.db import transaction

from lhdr_site.shared.queue import send

LANE_SECONDS = 5.0  # then back to the end of the queue, so that runs take turns and a stopping worker is soon done
WAKE_EXPIRES = 15  # the next sweep sends others
MOST_LANES = 16  # calls at once that one wake-up asks for


def wake_later(run_pk: int, lanes: int) -> None:
    """After the commit, have the workers make up to `lanes` calls at once for a run."""
    transaction.on_commit(lambda: _wake(run_pk, lanes))


def _wake(run_pk: int, lanes: int, **options: Any) -> None:
    message = work_on_run.s().set(**options)
    for _ in range(lanes):
        if not send(message, run_pk):
            return


@shared_task(name="evaluation.work_on_run")
def work_on_run(run_pk: int) -> None:
    from . import steps

    if steps.work_on(run_pk, LANE_SECONDS):
        _wake(run_pk, 1)


def wake_errands_later(lanes: int) -> None:
    """After the commit, have the workers make up to `lanes` calls at once for probes and grade checks."""
    transaction.on_commit(lambda: _wake_errands(lanes))


def _wake_errands(lanes: int, **options: Any) -> None:
    message = run_errands.s().set(**options)
    for _ in range(lanes):
        if not send(message):
            return


@shared_task(name="evaluation.run_errands")
def run_errands() -> None:
    from . import errands

    if errands.run_errands(LANE_SECONDS):
        _wake_errands(1)


@shared_task(name="evaluation.sweep_runs")
def sweep_runs() -> None:
    from . import errands, generations, steps

    _wake_errands(errands.sweep_errands(), expires=WAKE_EXPIRES)
    for run_pk, lanes in steps.sweep().items():
        _wake(run_pk, lanes, expires=WAKE_EXPIRES)
    generations.cancel_unwanted()


@worker_ready.connect
def sweep_at_start(**kwargs: Any) -> None:
    """What a worker left behind that was killed is taken up as soon as the next one is there."""
    send(sweep_runs)
