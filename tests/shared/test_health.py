"""/healthz names the part that is not up, and needs no log-in."""

from datetime import timedelta
from typing import Any

import pytest
from django.test import Client
from django.utils import timezone

from lhdr_site.shared import health
from lhdr_site.shared.models import Heartbeat


def test_healthz_when_all_is_up_is_200(db: None, client: Client) -> None:
    health.beat("worker@test")
    reply = client.get("/healthz")
    assert (reply.status_code, reply.json()) == (
        200,
        {"healthy": True, "database": "ok", "queue": "ok", "worker": "ok"},
    )


def test_healthz_without_a_worker_is_503_and_says_so(db: None, client: Client) -> None:
    reply = client.get("/healthz")
    assert reply.status_code == 503
    assert "no worker has ever reported" in reply.json()["worker"]
    Heartbeat.objects.create(worker="w", beaten=timezone.now() - timedelta(minutes=5))
    assert "no worker has reported since" in client.get("/healthz").json()["worker"]


def test_healthz_when_the_queue_is_down_names_it(db: None, client: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    from lhdr_site.celery import app

    health.beat("worker@test")
    plain = app.connection_for_write
    monkeypatch.setattr(app, "connection_for_write", lambda *a, **k: plain("redis://127.0.0.1:1/0"))
    reply = client.get("/healthz")
    assert reply.status_code == 503
    assert reply.json()["queue"] != "ok" and reply.json()["database"] == "ok"


def test_healthz_when_the_database_is_down_names_it(db: None, client: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken() -> Any:
        raise OSError("no such server")

    monkeypatch.setattr(health, "_database", broken)
    reply = client.get("/healthz")
    assert reply.status_code == 503
    assert reply.json()["database"] == "OSError: no such server"
