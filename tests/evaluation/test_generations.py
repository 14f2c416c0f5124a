"""Hour-long generations that go on at the endpoint: taken up by their id, whoever waited for them before."""

import threading
from datetime import timedelta
from typing import Any
from uuid import uuid4

import pytest
from django.db import connection
from django.utils import timezone

from evaluation import actions, claims, errands, generations, steps
from evaluation.models import Attempt, Response
from lhdr_site.endpoints import client
from lhdr_site.endpoints.errors import CallError, ErrorKind
from lhdr_site.endpoints.models import Endpoint
from tests.evaluation.setting import Setting, make_setting, work_through


@pytest.fixture(autouse=True)
def _quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(client, "FIRST_POLL", 0.01)


@pytest.fixture
def background(setting: Setting) -> Setting:
    return _in_background(setting)


def _in_background(setting: Setting) -> Setting:
    Endpoint.objects.update(wire="openai-responses")
    setting.endpoint.refresh_from_db()
    return setting


class Killed(BaseException):
    """What a killed process does: nothing more."""


def killed_while_waiting(response: Response) -> claims.Claim:
    """A worker that asks, writes the generation's id down and is killed while it waits; its lease has run out."""
    held = claims.claim(Response, response.pk)
    assert held is not None

    def die(*args: Any) -> None:
        raise Killed

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(client, "_await", die)
        with pytest.raises(Killed):
            steps._answer(held)
    Response.objects.filter(pk=response.pk).update(lease_until=timezone.now() - timedelta(seconds=1))
    return held


def posts(setting: Setting) -> int:
    assert setting.server.requests is not None
    return sum(request["path"] == "/v1/responses" for request in setting.server.requests)


def first(run: Any) -> Response:
    return run.responses.order_by("pk").first()


def test_killed_worker_leaves_its_generation_to_the_next_claim_and_nothing_is_asked_anew(background: Setting) -> None:
    run = background.launch(system=background.misbehaving("ok", polls=1))
    killed_while_waiting(first(run))
    attempt = Attempt.objects.get()
    assert attempt.awaited and attempt.ended is None and posts(background) == 1
    steps.sweep()
    response = first(run)
    assert (response.status, response.tries, response.error) == ("pending", 0, "")
    assert steps.answer(response.pk) and posts(background) == 1
    response, attempt = first(run), Attempt.objects.get()
    assert (response.status, response.tries) == ("completed", 1) and response.text.startswith("Demo answer")
    assert (attempt.taken_up, attempt.awaited, attempt.error_kind) == (1, "", "") and attempt.ended
    assert attempt.generation == f"resp_demo_{len(background.server.generations) - 1}"
    run.refresh_from_db()
    assert (run.spent, run.unpriced) == (attempt.cost, 0)


def test_killed_after_the_claim_and_again_still_asks_once(background: Setting) -> None:
    run = background.launch(system=background.misbehaving("ok"))
    for times in range(2):
        killed_while_waiting(first(run))
        # one that died between its claim and taking the generation up
        steps.sweep()
        assert claims.claim(Response, first(run).pk)
        Response.objects.filter(pk=first(run).pk).update(lease_until=timezone.now() - timedelta(seconds=1))
        steps.sweep()
        assert Attempt.objects.get().taken_up == times
    work_through(run)
    assert posts(background) == 3 + 3, "three answers, three verdicts"


def test_worker_that_only_seemed_dead_closes_and_counts_nothing_of_what_another_took_up(background: Setting) -> None:
    run = background.launch(system=background.misbehaving("ok"))
    stalled = killed_while_waiting(first(run))
    steps.sweep()
    assert steps.answer(first(run).pk)
    run.refresh_from_db()
    spent, text = run.spent, first(run).text
    steps._fail(stalled, CallError(ErrorKind.NETWORK, "late"), 4)
    run.refresh_from_db()
    assert (run.spent, run.unpriced, first(run).text) == (spent, 0, text)
    assert Attempt.objects.get().error_kind == ""


def test_generation_the_endpoint_has_forgotten_is_asked_for_anew_and_its_cost_is_unknown(background: Setting) -> None:
    run = background.launch(system=background.misbehaving("expired", times=1))
    killed_while_waiting(first(run))
    steps.sweep()
    assert steps.answer(first(run).pk)
    assert first(run).status == "pending" and Attempt.objects.get().error_kind == "lost"
    work_through(run)
    assert first(run).status == "completed" and first(run).cost is None
    run.refresh_from_db()
    assert run.unpriced >= 1


def test_generation_is_taken_up_after_its_key_was_refused_and_put_right(background: Setting) -> None:
    run = background.launch(system=background.misbehaving("poll_auth", times=1))
    steps.answer(first(run).pk)
    assert (first(run).status, first(run).error_kind) == ("failed", "auth")
    assert Attempt.objects.get().awaited
    background.server.generations[Attempt.objects.get().awaited].behaviour = "ok"
    Response.objects.filter(pk=first(run).pk).update(status="pending", tries=0)
    steps.answer(first(run).pk)
    assert first(run).status == "completed" and posts(background) == 1


def test_id_that_comes_when_the_claim_is_gone_is_not_kept_and_its_generation_cancelled(background: Setting) -> None:
    run = background.launch(system=background.misbehaving("never_done"))
    held = claims.claim(Response, first(run).pk)
    assert held
    Response.objects.filter(pk=held.pk).update(owner=uuid4())
    steps._answer(held)
    assert Attempt.objects.get().awaited == "" and first(run).status == "running"
    assert list(background.server.generations.values())[-1].cancelled


def test_cancelled_run_cancels_the_generation_that_no_worker_waits_for(background: Setting) -> None:
    run = background.launch(system=background.misbehaving("never_done"))
    killed_while_waiting(first(run))
    generation = background.server.generations[Attempt.objects.get().awaited]
    assert generations.cancel_unwanted() == 0, "it is wanted"
    actions.cancel_run(run, actor=background.team.admin)
    assert generations.cancel_unwanted() == 1 and generation.cancelled
    attempt = Attempt.objects.get()
    assert (attempt.awaited, attempt.error_kind) == ("", "cancelled") and attempt.ended
    run.refresh_from_db()
    assert run.unpriced == 1 and generations.cancel_unwanted() == 0


def test_generation_that_takes_too_long_is_cancelled_and_asked_for_again(background: Setting) -> None:
    Endpoint.objects.update(total_timeout=0)
    run = background.launch(system=background.misbehaving("never_done"))
    steps.answer(first(run).pk)
    assert (first(run).status, first(run).error_kind) == ("pending", "timeout")
    assert Attempt.objects.get().awaited == ""
    assert list(background.server.generations.values())[-1].cancelled


def test_worker_killed_too_often_by_one_generation_gives_it_up(background: Setting) -> None:
    run = background.launch(system=background.misbehaving("ok"))
    killed_while_waiting(first(run))
    Attempt.objects.update(taken_up=generations.MOST_TAKEN_UP)
    steps.sweep()
    assert Attempt.objects.get().error_kind == "lost"
    assert generations.cancel_unwanted() == 1
    assert steps.answer(first(run).pk) and posts(background) == 2


def test_verdict_on_a_replaced_response_is_asked_for_anew(background: Setting) -> None:
    run = background.launch()
    steps.answer(first(run).pk)
    verdict = first(run).verdicts.get()
    held = claims.claim(type(verdict), verdict.pk)
    assert held
    Attempt.objects.create(
        verdict=verdict, owner=uuid4(), request={"input": "another"}, requested_model="demo-judge", awaited="resp_old"
    )
    steps._judge(held)
    old, new = Attempt.objects.filter(verdict=verdict).order_by("pk")
    assert (old.error_kind, new.error_kind, new.taken_up) == ("lost", "", 0)
    assert posts(background) == 2


def test_grade_check_is_taken_up_at_the_case_it_was_at(background: Setting) -> None:
    from evaluation.probe_actions import check_gradeability
    from tests.evaluation.probing import item_with_picture

    item = item_with_picture(background)
    check = check_gradeability(item, background.judge, actor=background.team.admin)
    with pytest.MonkeyPatch.context() as patch:

        def die(*args: Any) -> None:
            raise Killed

        patch.setattr(client, "_await", die)
        with pytest.raises(Killed):
            errands.run_errands(60)
    type(check).objects.update(lease_until=timezone.now() - timedelta(seconds=1))
    errands.sweep_errands()
    errands.run_errands(60)
    check.refresh_from_db()
    assert check.status in ("passed", "failed") and posts(background) == len(check.cases)


@pytest.mark.django_db(transaction=True)
def test_cancelled_run_ends_the_wait_and_the_generation_within_moments(
    demo_server: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(claims, "LEASE", timedelta(seconds=10))
    monkeypatch.setattr(claims, "RENEW_SECONDS", 0.1)
    monkeypatch.setattr(claims, "_renewer", None)
    monkeypatch.setattr(client, "FIRST_POLL", 0.05)
    demo_server.requests = []
    setting = _in_background(make_setting(demo_server, 1))
    run = setting.launch(system=setting.misbehaving("never_done"))

    def work() -> None:
        steps.answer(run.responses.get().pk)
        connection.close()

    thread = threading.Thread(target=work)
    thread.start()
    while not Attempt.objects.exclude(awaited="").exists():
        thread.join(0.02)
    generation = demo_server.generations[Attempt.objects.get().awaited]
    lease = run.responses.get().lease_until
    while run.responses.get().lease_until == lease:
        thread.join(0.02)  # it is renewed while the generation goes on
    actions.cancel_run(run, actor=setting.team.admin)
    thread.join(10)
    assert not thread.is_alive() and generation.cancelled
    assert run.responses.get().status == "cancelled" and Attempt.objects.get().awaited == ""
