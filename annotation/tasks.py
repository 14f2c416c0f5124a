"""Thin tasks: call a step. A message is a wake-up; what is due stands in the database."""

from collections.abc import Sequence
from functools import partial

from celery import shared_task
from django.db import transaction

from lhdr_site.shared.queue import send

BATCH = 100


def check_later(item_pks: Sequence[int]) -> None:
    """After the commit, have the worker run the checks of these items."""
    for start in range(0, len(item_pks), BATCH):
        batch = list(item_pks[start : start + BATCH])
        transaction.on_commit(partial(send, check_items, batch))


@shared_task(name="annotation.check_items")
def check_items(item_pks: list[int]) -> None:
    from . import steps

    for pk in item_pks:
        steps.check_item(pk)


@shared_task(name="annotation.sweep_checks")
def sweep_checks() -> None:
    from . import steps

    for pk in steps.unchecked_items(limit=500):
        steps.check_item(pk)
