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


@shared_task(name="annotation.run_bulk_change")
def run_bulk_change(change_pk: int) -> None:
    from . import bulk

    while bulk.run_rows(change_pk, bulk.AT_ONCE):
        pass


@shared_task(name="annotation.sweep_checks")
def sweep_checks() -> None:
    """What no message woke a worker for: checks, and rows of bulk changes."""
    from . import bulk, steps

    for pk in steps.unchecked_items(limit=500):
        steps.check_item(pk)
    for pk in bulk.unfinished():
        bulk.run_rows(pk, bulk.AT_ONCE)


@shared_task(name="annotation.send_mails")
def send_mails() -> None:
    """Send what is due. After a failure the rest waits for the next time: the mail server may be away."""
    from . import mail_steps

    for pk in mail_steps.people_to_mail(limit=200):
        if not mail_steps.send_mail(pk):
            break


@shared_task(name="annotation.sweep_presences")
def sweep_presences() -> None:
    from . import steps

    steps.sweep_presences()


def fetch_later(fetch_pk: int) -> None:
    """After the commit, have the worker fetch an image's address."""
    transaction.on_commit(partial(send, fetch_image, fetch_pk))


@shared_task(name="annotation.fetch_image")
def fetch_image(fetch_pk: int) -> None:
    from . import fetching

    fetching.fetch_image(fetch_pk)


@shared_task(name="annotation.sweep_fetches")
def sweep_fetches() -> None:
    from . import fetching

    for pk in fetching.overdue_fetches(limit=20):
        fetching.fetch_image(pk)
