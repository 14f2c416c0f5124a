"""The engine over real HTTP against the real demo server: every outcome of a response and a verdict."""

from datetime import timedelta
from decimal import Decimal

import pytest
from django.utils import timezone

from evaluation import attempts, steps
from evaluation.models import Attempt, RunState
from lhdr_site.endpoints.demo_server import Answer
from lhdr_site.endpoints.errors import ErrorKind
from lhdr_site.endpoints.models import Endpoint
from tests.evaluation.setting import work_through


def first(run):
    return run.responses.order_by("pk").first()


def test_run_when_all_is_well_completes_every_response_and_verdict(setting):
    run = work_through(setting.launch())
    assert run.state == RunState.FINISHED and run.ended
    assert [r.status for r in run.responses.all()] == ["completed"] * 3
    verdicts = list(run.verdicts.all())
    assert [(v.status, len(v.vector), v.unparseable) for v in verdicts] == [("completed", 10, "")] * 3
    assert all(len(v.identity) == 64 and v.output for v in verdicts)
    # one attempt each, closed, with what was asked and what answered
    attempts = Attempt.objects.all()
    assert len(attempts) == 6
    assert {(a.requested_model, a.model) for a in attempts} == {
        ("demo-system", "demo-system (demo)"),
        ("demo-judge", "demo-judge (demo)"),
    }
    assert all(a.ended and a.http_status == 200 and a.generation and a.provider and a.fingerprint for a in attempts)
    assert run.spent == sum(a.cost for a in attempts) > 0 and run.unpriced == 0
    assert [e.kind for e in run.events.order_by("pk")] == ["run.launched", "run.finished"]


def test_step_when_called_twice_asks_once(setting):
    run = setting.launch()
    response = first(run)
    assert steps.answer(response.pk)
    assert not steps.answer(response.pk)
    verdict = response.verdicts.get()
    assert steps.judge(verdict.pk)
    assert not steps.judge(verdict.pk)
    assert len(setting.server.requests) == 2


@pytest.mark.parametrize(
    "behaviour, kind, tries",
    [
        # as often as the system allows: 2
        ("html_502", "overloaded", 2), ("reset", "network", 2), ("error_in_200", "overloaded", 2),
        ("plain_text", "invalid_body", 2), ("empty", "empty", 2),
        # no use in asking again
        ("refused", "refused", 1), ("content_filter", "refused", 1), ("length_without_text", "reasoning_only", 1),
        ("too_large", "too_large", 1), ("bad_request", "bad_request", 1),
    ],
)  # fmt: skip
def test_response_when_it_keeps_failing_is_failed_with_its_kind(setting, behaviour, kind, tries):
    setting.system = setting.new_system(max_tries=2, extra_body={"demo": {"behaviour": behaviour}})
    run = work_through(setting.launch())
    assert run.state == RunState.FINISHED
    for response in run.responses.all():
        assert (response.status, response.error_kind, response.tries) == ("failed", kind, tries)
        assert response.error and response.attempts.count() == tries
    assert run.verdicts.count() == 0


def test_response_when_empty_is_asked_for_again_at_most_twice(setting):
    setting.system = setting.new_system(max_tries=9, extra_body={"demo": {"behaviour": "null_content"}})
    run = work_through(setting.launch())
    assert {r.tries for r in run.responses.all()} == {3}


@pytest.mark.parametrize("behaviour", ["html_502", "rate_limited", "reset", "empty", "error_in_200"])
def test_response_when_it_fails_twice_and_then_answers_is_completed(setting, behaviour):
    setting.system = setting.misbehaving(behaviour, times=2, retry_after=0)
    run = work_through(setting.launch())
    response = first(run)
    assert (response.status, response.tries, response.error_kind, response.error) == ("completed", 3, "", "")
    assert [a.error_kind != "" for a in response.attempts.all()] == [True, True, False]
    # a reset may have cost something, nobody knows what; an HTTP error did not
    assert (response.cost is None) == (behaviour in ("reset", "error_in_200"))
    assert run.unpriced == {"reset": 6, "error_in_200": 6}.get(behaviour, 0)


def test_response_when_cut_off_is_completed_and_flagged(setting):
    setting.system = setting.misbehaving("length")
    run = work_through(setting.launch())
    assert all(r.status == "completed" and r.truncated and r.finish_reason == "length" for r in run.responses.all())
    assert run.verdicts.filter(status="completed").count() == 3


def test_usage_when_missing_is_unknown_and_counted(setting):
    setting.system = setting.misbehaving("no_usage")
    run = work_through(setting.launch())
    response = first(run)
    assert (response.cost, response.prompt_tokens) == (None, None)
    assert run.unpriced == 3  # the judge's three calls had a price
    assert run.spent > 0


def test_citations_and_thinking_are_kept_apart_from_the_text(setting):
    setting.system = setting.misbehaving("list_content")
    response = first(work_through(setting.launch()))
    assert response.thinking == "A thought." and "thought" not in response.text
    setting.system = setting.misbehaving("citations")
    response = first(work_through(setting.launch()))
    assert response.citations == [{"url": "https://example.org/page", "title": "A page"}]


# --- holding back


def test_retry_after_holds_back_every_worker_of_the_endpoint(setting):
    setting.system = setting.misbehaving("rate_limited", times=1, retry_after=60)
    run = setting.launch()
    before = timezone.now()
    assert steps.answer(first(run).pk)
    blocked = Endpoint.objects.get(pk=setting.endpoint.pk).blocked_until
    assert timedelta(seconds=60) <= blocked - before < timedelta(seconds=62)
    response = first(run)
    # with jitter, so that not all come back at the same moment
    assert response.status == "pending" and response.due > blocked
    assert steps.claim_next(run.pk) is None, "the others wait as well"
    assert setting.server.requests[1:] == []


def test_hold_back_only_ever_moves_later(setting):
    from lhdr_site.endpoints.limits import hold_back

    later = timezone.now() + timedelta(seconds=90)
    hold_back(setting.endpoint.pk, later)
    hold_back(setting.endpoint.pk, timezone.now() + timedelta(seconds=5))
    assert Endpoint.objects.get(pk=setting.endpoint.pk).blocked_until == later


def test_claims_never_exceed_the_calls_at_once_of_run_and_endpoint(setting):
    run, other = setting.launch(concurrency=2), setting.launch(concurrency=9)
    assert steps.claim_next(run.pk) and steps.claim_next(run.pk)
    assert steps.claim_next(run.pk) is None, "two at once for this run"
    Endpoint.objects.update(slots=3)
    assert steps.claim_next(other.pk)
    assert steps.claim_next(other.pk) is None, "three at once for the endpoint"


def test_claim_skips_an_endpoint_without_room_for_one_with_room(setting):
    run = setting.launch()
    other = Endpoint.objects.create(name="other", base_url=setting.endpoint.base_url, slots=1)
    last = run.responses.order_by("-pk").first()
    run.responses.filter(pk=last.pk).update(endpoint=other)
    Endpoint.objects.filter(pk=setting.endpoint.pk).update(slots=0)
    assert steps.claim_next(run.pk).pk == last.pk
    assert steps.claim_next(run.pk) is None


# --- stopping


def test_permanent_errors_in_a_row_stop_the_run_and_keep_what_is_done(db, demo_server):
    from tests.evaluation.setting import make_setting

    setting = make_setting(demo_server, 8, "apart")
    setting.system = setting.misbehaving("payment")
    run = work_through(setting.launch())
    assert run.state == RunState.STOPPED
    assert "402" in run.stop_reason and "credit" in run.stop_reason
    assert run.responses.filter(status="failed", error_kind="payment").count() == 5
    assert run.responses.filter(status="pending").count() == 3
    assert run.events.filter(kind="run.stopped").count() == 1


def test_permanent_errors_that_are_not_in_a_row_do_not_stop_the_run(db, demo_server):
    from tests.evaluation.setting import make_setting

    setting = make_setting(demo_server, 8, "apart")
    bad = setting.misbehaving("bad_request")
    run = setting.launch()
    for n, response in enumerate(run.responses.order_by("pk")):
        system = bad if n != 4 else setting.system
        run.system = system
        run.save()
        steps._plans.clear()
        steps.answer(response.pk)
        run.refresh_from_db()
    # four failed, one answered, three failed
    assert run.state == RunState.RUNNING
    assert run.responses.filter(status="failed").count() == 7


def test_run_stops_when_the_known_costs_reach_the_budget(setting):
    run = setting.launch(budget=Decimal("0.01"))
    steps.answer(first(run).pk)
    run.refresh_from_db()
    assert 0 < run.spent < run.budget
    type(run).objects.filter(pk=run.pk).update(spent=run.budget)
    run = work_through(run)
    assert run.state == RunState.STOPPED and "budget" in run.stop_reason
    assert run.responses.filter(status="pending").count() == 2


# --- leases


@pytest.mark.parametrize("behaviour", ["ok", "html_502", "refused"])
def test_late_writer_is_fenced_when_its_lease_was_taken_over(setting, monkeypatch, behaviour):
    """The call of the first holder ends while a second one is at it: its result is dropped, its attempt kept."""
    setting.system = setting.misbehaving(behaviour)
    run = setting.launch()
    response = first(run)
    held, plain, second = steps.claim(type(response), response.pk), attempts.call, []

    def slow(endpoint, body, **kwargs):
        run.responses.filter(pk=response.pk).update(lease_until=timezone.now() - timedelta(seconds=1))
        steps.sweep()
        second.append(steps.claim(type(response), response.pk))
        return plain(endpoint, body, **kwargs)

    monkeypatch.setattr(attempts, "call", slow)
    steps._perform(held)
    response.refresh_from_db()
    assert (response.status, response.owner, response.text) == ("running", second[0].owner, "")
    assert response.verdicts.count() == 0
    late = response.attempts.get()
    assert late.ended and late.http_status, "what the late one brought is still on record"
    # the second one writes
    setting.system.extra_body = {}
    setting.system.save()
    steps._plans.clear()
    monkeypatch.setattr(attempts, "call", plain)
    steps._perform(second[0])
    response.refresh_from_db()
    assert response.status == "completed" and response.verdicts.count() == 1


def test_sweep_takes_back_work_of_dead_workers_only(setting):
    run = setting.launch()
    dead, alive = (steps.claim_next(run.pk) for _ in range(2))
    Attempt.objects.create(response_id=dead.pk, owner=dead.owner, request={}, requested_model="m")
    run.responses.filter(pk=dead.pk).update(lease_until=timezone.now() - timedelta(seconds=1))
    assert steps.sweep() == {run.pk: 2}, "the one taken back and the third"
    assert run.responses.get(pk=dead.pk).status == "pending"
    assert run.responses.get(pk=alive.pk).status == "running"
    attempt = Attempt.objects.get()
    assert (attempt.error_kind, attempt.ended is None) == (ErrorKind.LOST, False)
    run.refresh_from_db()
    assert run.unpriced == 1


def test_work_that_keeps_killing_its_worker_fails_in_the_end(setting):
    run = setting.launch()
    held = steps.claim_next(run.pk)
    run.responses.filter(pk=held.pk).update(lease_until=timezone.now() - timedelta(seconds=1), tries=20)
    steps.sweep()  # 4 tries times 5
    assert run.responses.get(pk=held.pk).error_kind == ErrorKind.LOST
    assert run.responses.get(pk=held.pk).status == "failed"


def test_renewal_moves_the_lease_and_ends_calls_whose_claim_is_gone(setting):
    from evaluation import claims

    run = setting.launch()
    kept, lost = (steps.claim_next(run.pk) for _ in range(2))
    soon = timezone.now() + timedelta(seconds=2)
    run.responses.update(lease_until=soon)
    with claims.holding(kept), claims.holding(lost):
        run.responses.filter(pk=lost.pk).update(status="cancelled")
        claims.renew_leases()
    assert run.responses.get(pk=kept.pk).lease_until > soon
    assert kept.handle.ended is None
    assert lost.handle.ended is ErrorKind.CANCELLED


# --- verdicts


def test_unparseable_verdict_is_asked_for_to_the_limit_and_then_kept_as_it_is(setting, monkeypatch):
    setting.judge = setting.new_judge(max_tries=2)
    recordings = setting.server.recordings
    plain = recordings.find
    mumbled = Answer("I'd say yes.")
    monkeypatch.setattr(recordings, "find", lambda m, *rest: mumbled if m == "demo-judge" else plain(m, *rest))
    run = work_through(setting.launch())
    assert run.state == RunState.FINISHED
    for verdict in run.verdicts.all():
        assert (verdict.status, verdict.tries, verdict.attempts.count()) == ("completed", 2, 2)
        assert (verdict.answer_correct, verdict.vector, verdict.output) == (None, None, "I'd say yes.")
        assert "no verdict" in verdict.unparseable
        assert all(a.error == f"unparseable: {verdict.unparseable}" for a in verdict.attempts.all())


def test_judge_setting_cuts_long_responses_and_flags_the_verdict(setting):
    setting.judge = setting.new_judge(max_response_chars=1000)
    run = setting.launch()
    steps.answer(first(run).pk)
    response = first(run)
    run.responses.filter(pk=response.pk).update(text="x" * 5000 + "THE END")
    verdict = response.verdicts.get()
    assert steps.judge(verdict.pk)
    verdict.refresh_from_db()
    assert "response_cut" in verdict.flags
    prompt = verdict.attempts.get().request["messages"][0]["content"]
    assert "THE END" in prompt and "x" * 1001 not in prompt


def test_two_judges_give_a_verdict_each(setting):
    run = work_through(setting.launch(judges=[setting.judge, setting.new_judge(model="another-judge")]))
    assert run.verdicts.filter(status="completed").count() == 6
    assert len({v.identity for v in run.verdicts.all()}) == 6


def test_finish_adds_the_verdicts_of_a_judge_that_came_late(setting):
    run = setting.launch()
    late = setting.new_judge()
    steps.answer(first(run).pk)
    run.judges.add(late)
    run = work_through(run)
    assert run.state == RunState.FINISHED
    assert run.verdicts.filter(judge=late, status="completed").count() == 3


def test_wait_after_failures_doubles_up_to_five_minutes_and_keeps_to_retry_after():
    from lhdr_site.endpoints.limits import wait_seconds

    assert [wait_seconds(n, luck=0.5) for n in (1, 2, 3)] == [1, 2, 4]
    assert wait_seconds(40, luck=0.5) == 300
    assert wait_seconds(1, retry_after=30, luck=0) == 30
    assert 30 < wait_seconds(1, retry_after=30, luck=0.9) < 40


@pytest.mark.parametrize(
    "kinds, again",
    [
        (["network"], True), (["network", "timeout"], True), (["network", "timeout", "network"], False),
        (["empty", "empty"], True), (["empty", "reasoning_only", "empty"], False),
        # being told to wait is not the request's fault, but has its end too: 3 tries times 5
        (["rate_limited"] * 10 + ["network"], True), (["rate_limited"] * 14, True), (["rate_limited"] * 15, False),
    ],
)  # fmt: skip
def test_may_try_again_follows_the_kinds_of_failure(kinds, again):
    assert attempts.may_try_again(kinds, max_tries=3) is again
