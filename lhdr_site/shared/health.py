"""Is everything up? Database, queue and worker heartbeat, for /healthz and `lhdr doctor`."""

import os
from datetime import timedelta

from django.db import connection
from django.utils import timezone

from .models import Heartbeat

HEARTBEAT_SECONDS = 5
STALE_SECONDS = 20


def beat(worker: str) -> None:
    """Say that a worker is alive; a busy or absent database is not the worker's death."""
    from django.db import DatabaseError

    keys = sorted(name for name, value in os.environ.items() if name.startswith("LHDR_KEY_") and value)
    try:
        Heartbeat.objects.update_or_create(worker=worker, defaults={"beaten": timezone.now(), "keys": keys})
    except DatabaseError:
        connection.close()


def _database() -> str:
    with connection.cursor() as cursor:
        cursor.execute("SELECT 1")
    return "ok"


def _queue() -> str:
    from lhdr_site.celery import app

    with app.connection_for_write() as broker:
        broker.ensure_connection(max_retries=1, timeout=2)
        broker.default_channel  # noqa: B018  opening it is the test
    return "ok"


def _worker() -> str:
    newest = Heartbeat.objects.order_by("-beaten").values_list("beaten", flat=True).first()
    if newest is None:
        return "no worker has ever reported; start one with `lhdr worker`"
    if newest < timezone.now() - timedelta(seconds=STALE_SECONDS):
        return f"no worker has reported since {newest:%Y-%m-%d %H:%M:%S} UTC"
    return "ok"


def check_health() -> dict[str, str]:
    """Part -> "ok" or what is wrong with it."""
    parts = {}
    for name, check in (("database", _database), ("queue", _queue), ("worker", _worker)):
        try:
            parts[name] = check()
        except Exception as error:  # whatever is wrong with a part is what this page is there to say
            parts[name] = f"{type(error).__name__}: {error}".splitlines()[0][:200]
    return parts
