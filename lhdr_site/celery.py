"""The Celery application, the file transport's name, and the worker's heartbeat that /healthz reads."""

import os
import threading

from celery import Celery
from celery.signals import worker_ready, worker_shutting_down
from kombu.transport import TRANSPORT_ALIASES

TRANSPORT_ALIASES["lhdrfile"] = "lhdr_site.shared.filequeue:Transport"
os.environ.setdefault("DJANGO_SETTINGS_MODULE", "lhdr_site.settings")

app = Celery("lhdr")
app.config_from_object("django.conf:settings", namespace="CELERY")
app.autodiscover_tasks()

_stopping = threading.Event()


def _beat_heart(name: str) -> None:
    from lhdr_site.shared.health import HEARTBEAT_SECONDS, beat

    while True:
        beat(name)
        if _stopping.wait(HEARTBEAT_SECONDS):
            return


@worker_ready.connect
def start_heartbeat(sender, **kwargs) -> None:
    # A thread of its own: a worker whose slots are all waiting for a provider is still alive.
    threading.Thread(target=_beat_heart, args=(sender.hostname,), daemon=True, name="heartbeat").start()


@worker_shutting_down.connect
def stop_heartbeat(**kwargs) -> None:
    _stopping.set()
