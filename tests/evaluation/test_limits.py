"""Pace, breaker and budgets: held over all workers, by real threads against the real demo server."""

import threading
import time
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import Any

import pytest
from django.db import connection
from django.utils import timezone

from evaluation import actions, claims, errands, money, steps
from evaluation.endpoint_actions import try_endpoint_again
from evaluation.events import words_of
from evaluation.models import Attempt, Run, RunState, Study
from lhdr_site.endpoints import limits
from lhdr_site.endpoints.demo_server import Answer
from lhdr_site.endpoints.errors import ErrorKind
from lhdr_site.endpoints.models import Endpoint, EndpointEvent
from lhdr_site.shared.errors import Conflict, Invalid, NotAllowed
from tests.evaluation.setting import Setting, make_setting, work_through
from tests.factories import make_user

NOON = datetime(2026, 1, 1, 12, tzinfo=UTC)


def lanes(number: int, *runs: Run) -> None:
    """So many worker threads at once on each run, each until it finds nothing to do."""

    def work(run: Run) -> None:
        steps.work_on(run.pk, 60)
        connection.close()

    threads = [threading.Thread(target=work, args=(run,)) for run in runs for _ in range(number)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    for run in runs:
        run.refresh_from_db()


def answers(setting: Setting, monkeypatch: pytest.MonkeyPatch, usage: Any) -> None:
    """Every call brings this usage; judges mumble, so that they are asked once only."""
    monkeypatch.setattr(setting.server.recordings, "find", lambda *_: Answer("An answer.", usage=usage))


# --- calls per minute


def test_turns_are_a_share_of_a_minute_apart_and_one_second_may_be_made_up_for(setting: Setting) -> None:
    Endpoint.objects.update(calls_per_minute=120)
    pk = setting.endpoint.pk
    assert [limits.take_turn(pk, NOON) for _ in range(4)] == [0, 0, 0, 0.5], "three at once: its own and a second's"
    assert limits.take_turn(pk, NOON + timedelta(seconds=0.4)) == pytest.approx(0.1)
    assert limits.take_turn(pk, NOON + timedelta(seconds=0.5)) == 0
    # a long pause brings no more than that
    later = NOON + timedelta(hours=1)
    assert [limits.take_turn(pk, later) for _ in range(4)] == [0, 0, 0, 0.5]


def test_turns_without_a_pace_are_free(setting: Setting) -> None:
    assert [limits.take_turn(setting.endpoint.pk, NOON) for _ in range(3)] == [0, 0, 0]
    assert Endpoint.objects.get(pk=setting.endpoint.pk).next_call is None


@pytest.mark.django_db(transaction=True)
def test_lanes_keep_the_pace_together_and_wait_for_it(demo_server: Any) -> None:
    setting = make_setting(demo_server, 12)
    Endpoint.objects.update(calls_per_minute=600)
    run, started, before = setting.launch(concurrency=20), timezone.now(), time.monotonic()
    lanes(2, run)
    assert run.state == RunState.FINISHED, "no lane gave up because of the pace"
    # 24 calls, a tenth of a second each, of which a second may be made up for
    turn = Endpoint.objects.get(pk=setting.endpoint.pk).next_call
    assert turn is not None and turn >= started + timedelta(seconds=2.4)
    assert time.monotonic() - before >= 2.3 - 1


def test_lane_does_not_wait_where_enough_others_of_its_process_do(setting: Setting, monkeypatch: Any) -> None:
    Endpoint.objects.update(calls_per_minute=1, next_call=timezone.now() + timedelta(minutes=1))
    run = setting.launch()
    monkeypatch.setitem(claims._waiting, setting.endpoint.pk, claims.MOST_WAITING - 1)
    assert steps.work_on(run.pk, 0.01), "waits to the end of its time, and another lane is to follow"
    monkeypatch.setitem(claims._waiting, setting.endpoint.pk, claims.MOST_WAITING)
    assert not steps.work_on(run.pk, 60)
    assert run.responses.filter(status="pending").count() == 3


def test_claim_says_how_long_the_pace_is_in_the_way(setting: Setting) -> None:
    run = setting.launch()
    Endpoint.objects.update(calls_per_minute=60, next_call=timezone.now() + timedelta(seconds=31))
    wait = steps.claim_next(run.pk)
    assert isinstance(wait, claims.Wait) and 29 < wait.seconds <= 30
    assert run.responses.filter(status="running").count() == 0
    Endpoint.objects.update(slots=0)
    assert steps.claim_next(run.pk) is None, "the pace is not the only thing in the way"


# --- the breaker


def fail(setting: Setting, *errors: tuple[ErrorKind, str]) -> Endpoint:
    for kind, model in errors:
        limits.note_failure(setting.endpoint.pk, kind, model, f"It said {kind}.")
    return Endpoint.objects.get(pk=setting.endpoint.pk)


@pytest.mark.parametrize(
    ("errors", "broken"),
    [
        ([(ErrorKind.AUTH, "a")] * 4, False),
        ([(ErrorKind.AUTH, "a")] * 5, True),
        ([(ErrorKind.PAYMENT, "a")] * 3 + [(ErrorKind.AUTH, "b")] * 2, True),
        # a wrong model id of one system is its own affair, however often it is asked
        ([(ErrorKind.NOT_FOUND, "a")] * 40, False),
        ([(ErrorKind.NOT_FOUND, "a")] * 40 + [(ErrorKind.BAD_REQUEST, "b")], False),
        ([(ErrorKind.NOT_FOUND, "a")] * 3 + [(ErrorKind.NOT_FOUND, "b")] * 2, True),
    ],
)
def test_permanent_errors_in_a_row_break_the_endpoint(setting: Setting, errors: Any, broken: bool) -> None:
    endpoint = fail(setting, *errors)
    assert bool(endpoint.broken) is broken
    assert EndpointEvent.objects.filter(kind="endpoint.broken").count() == broken
    if broken:
        kind = errors[-1][0]
        assert endpoint.broken == f"It said {kind}. {kind.remedy}"


def test_success_in_between_starts_the_count_again(setting: Setting) -> None:
    fail(setting, *[(ErrorKind.AUTH, "a")] * 4)
    limits.note_success(setting.endpoint.pk)
    endpoint = fail(setting, *[(ErrorKind.AUTH, "a")] * 4)
    assert (endpoint.failures, endpoint.broken) == (4, "")


def test_broken_endpoint_is_called_by_nobody_and_stops_the_runs_at_it(db: Any, demo_server: Any) -> None:
    setting = make_setting(demo_server, 6)
    other = setting.launch()
    demo_server.seen.clear()
    demo_server.requests = []
    run = work_through(setting.launch(system=setting.misbehaving("auth")))
    assert run.state == RunState.STOPPED and len(demo_server.requests) == 5
    endpoint = Endpoint.objects.get(pk=setting.endpoint.pk)
    assert "401" in endpoint.broken and endpoint.failures == 5
    other = work_through(other)
    assert other.state == RunState.STOPPED and endpoint.broken in other.stop_reason
    assert other.stop_reason in words_of(other.events.first())
    assert len(demo_server.requests) == 5 and not errands.run_errands(0)
    # both of them for the endpoint, also the one whose errors broke it
    assert [row.stop["endpoint_id"] for row in (run, other)] == [endpoint.pk] * 2
    assert run.stop_reason == other.stop_reason
    # not resumed before somebody let it try again
    with pytest.raises(Conflict, match="let it try again"):
        actions.resume_run(other, actor=setting.team.admin)
    try_endpoint_again(endpoint, actor=setting.team.admin)
    other = work_through(actions.resume_run(other, actor=setting.team.admin))
    assert other.state == RunState.FINISHED


def test_bad_model_id_of_one_system_leaves_the_endpoint_to_the_others(db: Any, demo_server: Any) -> None:
    setting = make_setting(demo_server, 8)
    demo_server.seen.clear()
    assert work_through(setting.launch(system=setting.misbehaving("not_found"))).state == RunState.STOPPED
    assert Endpoint.objects.get(pk=setting.endpoint.pk).broken == ""
    run = work_through(setting.launch(system=setting.new_system(model="another")))
    assert run.state == RunState.FINISHED
    endpoint = Endpoint.objects.get(pk=setting.endpoint.pk)
    assert (endpoint.failures, endpoint.failing_models) == (0, {})


def test_endpoint_is_let_try_again_by_admins_of_its_benchmarks_and_superusers_only(setting: Setting) -> None:
    endpoint = fail(setting, *[(ErrorKind.AUTH, "a")] * 5)
    elsewhere = make_setting(setting.server, 1, slug="elsewhere")
    for person in (setting.team.core, elsewhere.team.admin, make_user("nobody")):
        with pytest.raises(NotAllowed):
            try_endpoint_again(endpoint, actor=person)
    for person in (setting.team.admin, make_user("root2", is_superuser=True)):
        endpoint = try_endpoint_again(endpoint, actor=person)
        assert (endpoint.broken, endpoint.failures) == ("", 0)
        event = endpoint.events.first()
        assert (event.kind, event.actor) == ("endpoint.tried_again", person) and "auth" in event.data["reason"]
        with pytest.raises(Conflict):
            try_endpoint_again(endpoint, actor=person)
        endpoint = fail(setting, *[(ErrorKind.AUTH, "a")] * 5)


# --- budgets


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("table", [False, True], ids=["nothing known", "price table"])
def test_many_lanes_at_once_never_exceed_the_budget(demo_server: Any, monkeypatch: Any, table: bool) -> None:
    setting = make_setting(demo_server, 30)
    answers(setting, monkeypatch, {"prompt_tokens": 10, "completion_tokens": 10, "cost": 1})
    if table:
        setting.system = setting.new_system(prompt_price=0, completion_price=250)  # 4,000 tokens for 1 USD
    run = setting.launch(budget=Decimal(10), concurrency=20)
    for _ in range(3):
        lanes(20, run)
    assert run.state == RunState.STOPPED and "budget" in run.stop_reason
    assert run.spent == 10 and Attempt.objects.exclude(cost=None).count() == 10
    assert set(run.responses.values_list("reserved", flat=True)) == {0}
    assert not run.responses.filter(status="running").exists()


@pytest.mark.django_db(transaction=True)
def test_many_lanes_at_once_never_exceed_the_token_budget(demo_server: Any, monkeypatch: Any) -> None:
    setting = make_setting(demo_server, 30)
    answers(setting, monkeypatch, {"prompt_tokens": 60, "completion_tokens": 40})
    run = setting.launch(token_budget=1050, concurrency=20)
    for _ in range(3):
        lanes(20, run)
    assert run.state == RunState.STOPPED and "does not pay for one more call" in run.stop_reason
    assert run.tokens == 1000
    with pytest.raises(Invalid, match="tokens is used up"):
        actions.resume_run(run, actor=setting.team.admin, token_budget=900)
    run = actions.resume_run(run, actor=setting.team.admin, token_budget=1200)
    lanes(2, run)
    assert run.tokens == 1200


def test_nothing_else_starts_while_a_call_of_unknown_cost_is_under_way(setting: Setting, monkeypatch: Any) -> None:
    answers(setting, monkeypatch, {"cost": 2})
    run = setting.launch(budget=Decimal(4))
    first, second, _third = run.responses.order_by("pk")
    assert steps.answer(first.pk)
    verdict = first.verdicts.get()
    assert steps.claim(type(verdict), verdict.pk) is not None
    assert steps.claim(type(first), second.pk) is None, "2 spent and 2 more are 4, but the verdict may cost as much"
    type(verdict).objects.filter(pk=verdict.pk).update(status="failed")
    assert steps.claim(type(first), second.pk) is not None


def test_claim_reserves_the_dearest_call_so_far_and_settles_it(setting: Setting, monkeypatch: Any) -> None:
    answers(setting, monkeypatch, {"cost": 2})
    run = setting.launch(budget=Decimal(5))
    first, second, third = run.responses.order_by("pk")
    assert steps.answer(first.pk)
    held = steps.claim(type(first), second.pk)
    assert held is not None
    second.refresh_from_db()
    assert second.reserved == 2
    assert steps.claim(type(first), third.pk) is None, "2 spent, 2 reserved, 2 more would be 6 of 5"
    run.refresh_from_db()
    assert run.state == RunState.RUNNING, "what is reserved may come back"
    # the worker died: what it had reserved is free again
    run.responses.filter(pk=second.pk).update(lease_until=timezone.now() - timedelta(seconds=1))
    steps.sweep()
    second.refresh_from_db()
    assert (second.status, second.reserved) == ("pending", 0)
    assert steps.claim(type(first), third.pk)
    actions.cancel_run(run, actor=setting.team.admin)
    assert set(run.responses.values_list("reserved", flat=True)) == {0}


def test_first_call_goes_alone_where_nothing_is_known_of_its_cost(setting: Setting) -> None:
    run, free = setting.launch(budget=Decimal(5)), setting.launch()
    assert steps.claim_next(run.pk) and steps.claim_next(run.pk) is None
    assert steps.claim_next(free.pk) and steps.claim_next(free.pk), "without a budget there is no need to"


def test_cost_of_unknown_calls_does_not_hold_the_others_up(setting: Setting, monkeypatch: Any) -> None:
    answers(setting, monkeypatch, None)
    run = setting.launch(budget=Decimal(5))
    first = run.responses.order_by("pk")[0]
    assert steps.answer(first.pk)
    run.refresh_from_db()
    assert (run.spent, run.unpriced, run.answer_cost) == (0, 1, None)
    assert all(steps.claim(type(first), pk) for pk in run.responses.exclude(pk=first.pk).values_list("pk", flat=True))


def test_price_table_counts_where_tokens_are_known_and_no_cost_is_reported(setting: Setting, monkeypatch: Any) -> None:
    setting.system = setting.new_system(prompt_price=3, completion_price=15)
    answers(setting, monkeypatch, {"prompt_tokens": 1000, "completion_tokens": 200})
    run = setting.launch()
    assert steps.answer(run.responses.order_by("pk")[0].pk)
    response = run.responses.order_by("pk")[0]
    run.refresh_from_db()
    assert response.cost == run.spent == Decimal("0.006") and (run.priced, run.unpriced) == (1, 0)
    assert response.attempts.get().priced
    # a reported cost goes before the table
    answers(setting, monkeypatch, {"prompt_tokens": 1000, "completion_tokens": 200, "cost": 0.5})
    assert steps.answer(run.responses.order_by("pk")[1].pk)
    run.refresh_from_db()
    assert (run.spent, run.priced) == (Decimal("0.506"), 1)


@pytest.mark.parametrize(
    ("address", "is_demo", "flagged"),
    [
        ("https://api.example.com/v1", False, 1),
        ("https://api.example.com/v1", True, 0),
        ("http://10.0.0.4/v1", False, 0),
    ],
)
def test_reported_zero_is_suspicious_at_a_paid_service_only(
    setting: Setting, monkeypatch: Any, address: str, is_demo: bool, flagged: int
) -> None:
    from evaluation import attempts
    from lhdr_site.endpoints.replies import Reply

    Endpoint.objects.update(base_url=address, is_demo=is_demo)
    free = Reply("Yes.", prompt_tokens=5, completion_tokens=5, cost=Decimal(0), http_status=200)
    monkeypatch.setattr(attempts, "call", lambda *_, **__: free)
    run = setting.launch(system=setting.new_system(endpoint=Endpoint.objects.get(pk=setting.endpoint.pk)))
    assert steps.answer(run.responses.order_by("pk")[0].pk)
    run.refresh_from_db()
    assert (run.zero_cost, run.spent, run.unpriced) == (flagged, 0, 0)


def test_guess_is_by_the_prompt_and_the_token_limit(setting: Setting) -> None:
    setting.system = setting.new_system(prompt_price=1, completion_price=10, extra_body={"max_tokens": 100_000})
    run = setting.launch(budget=Decimal(5))
    assert Decimal(1) < run.answer_guess < Decimal("1.001")
    assert run.verdict_guess == 0, "its judge has no price table"
    assert setting.launch().answer_guess == 0, "nothing to reserve without a budget"


@pytest.mark.parametrize(
    ("given", "cost"),
    [
        ((1_000_000, 0, Decimal(3), Decimal(15)), Decimal(3)),
        ((10, 20, Decimal(3), Decimal(15)), Decimal("0.00033")),
        ((None, 20, Decimal(3), Decimal(15)), None),
        ((10, 20, None, Decimal(15)), None),
        ((10, 20, Decimal(0), Decimal(0)), Decimal(0)),
    ],
)
def test_price_is_by_the_million_tokens_or_unknown(given: Any, cost: Decimal | None) -> None:
    assert money.price(*given) == cost


def test_most_answer_tokens_is_the_limit_of_the_request() -> None:
    assert money.most_answer_tokens({}) == money.most_answer_tokens({"max_tokens": True}) == 4000
    assert money.most_answer_tokens({"max_completion_tokens": 9}) == 9


@pytest.mark.django_db(transaction=True)
def test_runs_of_a_study_never_exceed_its_budget_together(demo_server: Any, monkeypatch: Any) -> None:
    setting = make_setting(demo_server, 20)
    answers(setting, monkeypatch, {"prompt_tokens": 10, "completion_tokens": 10, "cost": 1})
    setting.system = setting.new_system(prompt_price=0, completion_price=250)  # 4,000 tokens for 1 USD
    setting.judge = setting.new_judge(prompt_price=0, completion_price=250)
    study = Study.objects.create(
        benchmark=setting.benchmark,
        number=1,
        name="Both",
        release=setting.release,
        main_judge=setting.judge,
        budget=10,
        created_by=setting.team.admin,
    )
    runs = [setting.launch(study=study, budget=100, concurrency=20) for _ in range(2)]
    for _ in range(3):
        lanes(8, *runs)
    assert sum(run.spent for run in runs) == 10
    assert [run.state for run in runs] == [RunState.STOPPED] * 2
