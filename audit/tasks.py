"""Thin tasks: call a step. A message is a wake-up; what is due stands in the database."""

from functools import partial

from celery import shared_task
from django.db import transaction

from lhdr_site.shared.queue import send


def check_host_later(host: str) -> None:
    """After the commit, have the worker ask a host for the links that are due."""
    transaction.on_commit(partial(send, check_host, host))


@shared_task(name="audit.check_host")
def check_host(host: str) -> None:
    from . import link_steps

    link_steps.check_host(host)


@shared_task(name="audit.sweep_links")
def sweep_links() -> None:
    """What no message woke a worker for: links that are due, or whose worker died."""
    from . import link_steps

    for host in link_steps.waiting_hosts(link_steps.AT_ONCE):
        check_host_later(host)


@shared_task(name="audit.recheck_links")
def recheck_links() -> None:
    from annotation.benchmarks import Benchmark

    from . import link_steps

    for benchmark in Benchmark.objects.order_by("pk"):
        link_steps.ask_rechecks(benchmark)
