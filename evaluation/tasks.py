"""Thin tasks: a message wakes a lane that works on a run for a while; what is due stands in the database."""

from typing import Any

from celery import shared_task
from celery.signals import worker_ready
from django.db import transaction

from lhdr_site.shared.queue import send

LANE_SECONDS = 5.0  # then back to the end of the queue, so that runs take turns and a stopping worker is soon done
WAKE_EXPIRES = 15  # the next sweep sends others


def wake_later(run_pk: int, lanes: int) -> None:
    """After the commit, have the workers make up to `lanes` calls at once for a run."""
    transaction.on_commit(lambda: _wake(run_pk, lanes))


def _wake(run_pk: int, lanes: int, **options: Any) -> None:
    message = work_on_run.s().set(**options)
    for _ in range(lanes):
        send(message, run_pk)


@shared_task(name="evaluation.work_on_run")
def work_on_run(run_pk: int) -> None:
    from . import steps

    if steps.work_on(run_pk, LANE_SECONDS):
        _wake(run_pk, 1)


@shared_task(name="evaluation.sweep_runs")
def sweep_runs() -> None:
    from . import steps

    for run_pk, lanes in steps.sweep().items():
        _wake(run_pk, lanes, expires=WAKE_EXPIRES)


@worker_ready.connect
def sweep_at_start(**kwargs: Any) -> None:
    """What a worker left behind that was killed is taken up as soon as the next one is there."""
    send(sweep_runs)
