"""The database goes away during a call: what came is kept as soon as it is back, and nothing is asked twice."""

from typing import Any

import pytest
from django.db import connection

from evaluation import attempts, steps
from evaluation.models import Attempt
from lhdr_site.endpoints import client
from tests.evaluation.setting import make_setting

pytestmark = pytest.mark.django_db(transaction=True)


def break_connection() -> None:
    """For this connection only, so that a new one works: as after a restart, or a disk that was full."""
    with connection.cursor() as cursor:
        if connection.vendor == "sqlite":
            cursor.execute("PRAGMA query_only=ON")
        else:
            cursor.execute("SELECT pg_backend_pid()")
            pid = cursor.fetchone()[0]
            other = connection.copy()
            with other.cursor() as killer:
                killer.execute("SELECT pg_terminate_backend(%s)", [pid])
            other.close()


@pytest.fixture
def breaking(monkeypatch: pytest.MonkeyPatch) -> None:
    """The database is gone when a call comes back."""

    def call(*args: Any, **kwargs: Any) -> Any:
        try:
            return client.call(*args, **kwargs)
        finally:
            break_connection()

    monkeypatch.setattr(attempts, "call", call)
    monkeypatch.setattr(attempts.time, "sleep", lambda seconds: None)


def test_answer_and_verdict_are_kept_although_the_database_was_gone(demo_server: Any, breaking: None) -> None:
    demo_server.requests = []
    run = make_setting(demo_server, 1).launch()
    assert steps.answer(run.responses.get().pk)
    assert run.responses.get().status == "completed"
    assert steps.judge(run.verdicts.get().pk)
    assert run.verdicts.get().status == "completed"
    assert len(demo_server.requests) == Attempt.objects.count() == 2
    run.refresh_from_db()
    assert run.spent == sum(attempt.cost for attempt in Attempt.objects.all())


def test_failure_is_kept_although_the_database_was_gone(demo_server: Any, breaking: None) -> None:
    setting = make_setting(demo_server, 1)
    run = setting.launch(system=setting.misbehaving("refused"))
    steps.answer(run.responses.get().pk)
    assert (run.responses.get().status, run.responses.get().error_kind) == ("failed", "refused")


def test_commit_that_went_through_unseen_is_not_made_twice(demo_server: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    run = make_setting(demo_server, 1).launch()
    plain, made = steps._keep_answer.__wrapped__, []

    def keep(held: Any, *args: Any) -> None:
        made.append(plain(held, *args))
        break_connection()
        Attempt.objects.filter(pk=held.attempt_pk).update(content_type="x")  # fails, as the answer to the commit would

    monkeypatch.setattr(attempts.time, "sleep", lambda seconds: None)
    monkeypatch.setattr(steps, "_keep_answer", attempts.outlasting(keep))
    steps.answer(run.responses.get().pk)
    assert len(made) == 1 and run.responses.get().status == "completed" and run.verdicts.count() == 1
    run.refresh_from_db()
    assert run.spent == Attempt.objects.get().cost
