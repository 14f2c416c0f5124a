"""Leases with real threads: a call longer than its lease keeps it, and a cancelled one is ended."""

import threading
import time
from datetime import timedelta
from typing import Any

import pytest
from django.db import connection

from evaluation import actions, claims, steps
from lhdr_site.endpoints.models import Endpoint
from tests.evaluation.setting import make_setting

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def short_lease(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(claims, "LEASE", timedelta(seconds=0.8))
    monkeypatch.setattr(claims, "RENEW_SECONDS", 0.2)
    monkeypatch.setattr(claims, "_renewer", None)  # the one of other tests sleeps for longer


def in_thread(response: Any) -> threading.Thread:
    def work() -> None:
        steps.answer(response.pk)
        connection.close()

    thread = threading.Thread(target=work)
    thread.start()
    return thread


def test_call_that_takes_longer_than_its_lease_keeps_it(demo_server: Any, short_lease: None) -> None:
    setting = make_setting(demo_server, 1)
    run = setting.launch(system=setting.new_system(extra_body={"demo": {"delay_ms": 1600}}))
    thread = in_thread(run.responses.get())
    time.sleep(1.2)
    assert steps.sweep() == {} and run.responses.get().status == "running"
    thread.join(10)
    response = run.responses.get()
    assert (response.status, response.tries, response.attempts.count()) == ("completed", 1, 1)


def test_renewal_outlives_an_error_that_is_none_of_the_database(
    demo_server: Any, short_lease: None, django_db_blocker: Any
) -> None:
    setting = make_setting(demo_server, 1)
    run = setting.launch(system=setting.new_system(extra_body={"demo": {"delay_ms": 1800}}))
    thread = in_thread(run.responses.get())
    time.sleep(0.4)
    with django_db_blocker.block():  # a RuntimeError for each query: of the renewal alone by now
        time.sleep(0.5)
    time.sleep(0.4)
    assert steps.sweep() == {} and run.responses.get().status == "running"
    thread.join(10)
    assert (run.responses.get().status, run.responses.get().attempts.count()) == ("completed", 1)


def test_call_of_a_cancelled_run_is_ended_within_moments(demo_server: Any, short_lease: None) -> None:
    setting = make_setting(demo_server, 1)
    Endpoint.objects.update(read_timeout=30)
    run = setting.launch(system=setting.new_system(extra_body={"demo": {"delay_ms": 20_000}}))
    thread = in_thread(run.responses.get())
    time.sleep(0.3)
    started = time.monotonic()
    actions.cancel_run(run, actor=setting.team.admin)
    thread.join(30)
    assert time.monotonic() - started < 10, "long before the reply would be there"
    response = run.responses.get()
    assert (response.status, response.error_kind) == ("cancelled", "cancelled")
    assert response.attempts.get().ended


def test_many_threads_claim_each_piece_of_work_once(demo_server: Any) -> None:
    setting = make_setting(demo_server, 12)
    run = setting.launch(concurrency=20)
    found: list[int] = []

    def claim() -> None:
        while held := steps.claim_next(run.pk):
            found.append(held.pk)
        connection.close()

    threads = [threading.Thread(target=claim) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(20)
    assert sorted(found) == sorted(run.responses.values_list("pk", flat=True))
