"""People's writes: who may, what is refused with which remedy, and what is left behind."""

from decimal import Decimal

import pytest

from audit.models import ReleaseItem
from evaluation import actions, attempts, marking_actions, steps
from evaluation.endpoint_actions import try_endpoint_again
from evaluation.models import RunState
from evaluation.reports import leaderboard
from lhdr_site.endpoints.models import Endpoint
from lhdr_site.shared.errors import Conflict, Invalid, NotAllowed
from tests.documents import good_document
from tests.evaluation.setting import documents, make_setting, work_through

ALL = [1] * 10


def refused(error, path):
    return [p["path"] for p in error.value.details["problems"]] == [path]


# --- who may


@pytest.mark.parametrize("who, allowed", [("ann", False), ("aud", False), ("core", False), ("admin", True)])
def test_runs_are_managed_by_admins_alone(setting, who, allowed):
    run, person = setting.launch(), getattr(setting.team, who)
    launch = {"release": setting.release, "system": setting.system, "judges": [setting.judge]}
    attempts = [
        lambda: actions.pause_run(run, actor=person),
        lambda: actions.resume_run(run, actor=person),
        lambda: actions.retry_failed(run, actor=person),
        lambda: actions.rejudge(run, setting.judge, actor=person),
        lambda: actions.cancel_run(run, actor=person),
        lambda: actions.launch_run(setting.benchmark, launch, actor=person),
        lambda: actions.create_system(setting.benchmark, {}, actor=person) if not allowed else None,
        lambda: actions.create_judge(setting.benchmark, {}, actor=person) if not allowed else None,
    ]
    for attempt in attempts:
        if allowed:
            attempt()
        else:
            with pytest.raises(NotAllowed, match="admin"):
                attempt()


@pytest.mark.parametrize("who, allowed", [("ann", False), ("aud", True), ("core", True), ("stranger", False)])
def test_verdicts_of_people_are_given_by_auditors_and_above(setting, who, allowed):
    run = work_through(setting.launch())
    response, person = run.responses.first(), getattr(setting.team, who)
    if not allowed:
        with pytest.raises(NotAllowed):
            marking_actions.record_human_verdict(response, True, ALL, actor=person)
        return
    verdict = marking_actions.record_human_verdict(response, True, ALL, actor=person, note=" Close. ")
    assert verdict.note == "Close."
    assert verdict.judge.person == person and verdict.blind and verdict.vector == ALL
    # again: replaced, and no longer blind
    marking_actions.record_human_verdict(response, False, [0] * 10, actor=person)
    verdict.refresh_from_db()
    assert (verdict.answer_correct, verdict.blind) == (False, False)
    assert run.verdicts.filter(judge__person=person).count() == 1
    event = run.events.filter(kind="verdict.recorded").first()
    assert event.data["old"]["answer_correct"] is True and event.data["new"]["answer_correct"] is False


@pytest.mark.parametrize("whole_run", [True, False])
def test_reveal_is_recorded_once_and_ends_blindness_for_that_person_alone(setting, whole_run):
    run = work_through(setting.launch())
    first, second, _third = run.responses.order_by("pk")
    for _ in range(2):
        marking_actions.reveal_verdicts(run, None if whole_run else first, actor=setting.team.aud)
    [event] = run.events.filter(kind="verdicts.revealed")
    assert (event.actor, event.data) == (setting.team.aud, {"response": None if whole_run else first.pk})

    def blind(response, person):
        return marking_actions.record_human_verdict(response, True, ALL, actor=person).blind

    assert not blind(first, setting.team.aud)
    assert blind(second, setting.team.aud) is not whole_run
    assert blind(first, setting.team.core)


def test_reveal_by_a_stranger_is_refused(setting):
    with pytest.raises(NotAllowed):
        marking_actions.reveal_verdicts(setting.launch(), actor=setting.team.stranger)


@pytest.mark.parametrize("vector", [[], [1] * 9, [1] * 11, [2] + [1] * 9])
def test_verdict_of_a_person_with_a_wrong_vector_is_refused(setting, vector):
    run = work_through(setting.launch())
    with pytest.raises(Invalid) as error:
        marking_actions.record_human_verdict(run.responses.first(), True, vector, actor=setting.team.aud)
    assert refused(error, "vector")


def test_verdict_of_a_person_needs_a_completed_response(setting):
    with pytest.raises(Conflict):
        marking_actions.record_human_verdict(setting.launch().responses.first(), True, ALL, actor=setting.team.aud)


# --- systems and judges


@pytest.mark.parametrize(
    "data, path",
    [
        ({"extra_body": {"model": "x"}}, "extra_body"), ({"extra_body": {"messages": []}}, "extra_body"),
        ({"extra_body": [1]}, "extra_body"), ({"name": ""}, "name"), ({"group": "other"}, "group"),
        ({"max_tries": 0}, "max_tries"), ({"image_max_side": 1}, "image_max_side"),
    ],
)  # fmt: skip
def test_system_with_bad_data_is_refused_naming_the_field(setting, data, path):
    with pytest.raises(Invalid) as error:
        setting.new_system(**data)
    assert refused(error, path)


def test_system_with_a_name_that_is_taken_is_refused(setting):
    with pytest.raises(Invalid):
        setting.new_system(name=setting.system.name)


def test_system_and_judge_at_an_endpoint_of_others_are_refused(setting):
    other = Endpoint.objects.create(name="other", base_url="https://example.org/v1")
    for make in (setting.new_system, setting.new_judge):
        with pytest.raises(Invalid, match="superuser") as error:
            make(endpoint=other)
        assert refused(error, "endpoint")


@pytest.mark.parametrize(
    "data, path",
    [({"endpoint": None}, "endpoint"), ({"model": " "}, "model"), ({"prompt_version": "x"}, "prompt_version")],
)
def test_judge_with_bad_data_is_refused_naming_the_field(setting, data, path):
    with pytest.raises(Invalid) as error:
        setting.new_judge(**data)
    assert refused(error, path)


def test_streaming_at_an_anthropic_endpoint_is_refused(setting):
    Endpoint.objects.update(wire="anthropic")
    setting.endpoint.refresh_from_db()
    with pytest.raises(Invalid, match="Streaming"):
        setting.new_system(extra_body={"stream": True})


# --- launching


def test_launch_makes_one_pending_response_per_item_and_wakes_workers(setting, django_capture_on_commit_callbacks):
    with django_capture_on_commit_callbacks() as callbacks:
        run = setting.launch(concurrency=2)
    assert len(callbacks) == 1
    assert (run.number, run.state, run.item_count, run.main_judge) == (1, RunState.QUEUED, 3, setting.judge)
    assert list(run.responses.values_list("status", flat=True)) == ["pending"] * 3
    assert run.events.get().actor == setting.team.admin
    assert setting.launch().number == 2


def test_launch_with_bad_data_is_refused_naming_the_field_and_leaves_nothing(setting, demo_server):
    stranger = make_setting(demo_server, 1, slug="other")
    marking_actions.record_human_verdict(
        work_through(setting.launch()).responses.first(), True, ALL, actor=setting.team.aud
    )
    person = setting.benchmark.judges.get(person=setting.team.aud)
    runs = setting.benchmark.runs.count()
    for data, path in [
        ({"judges": []}, "judges"),
        ({"judges": [person]}, "judges"),
        ({"judges": [stranger.judge]}, "judges"),
        ({"release": stranger.release}, "release"),
        ({"system": stranger.system}, "system"),
        ({"main_judge": setting.new_judge()}, "main_judge"),
        ({"condition": "sideways"}, "condition"),
        ({"budget": Decimal(0)}, "budget"),
    ]:
        with pytest.raises(Invalid) as error:
            setting.launch(**data)
        assert refused(error, path), (data, error.value)
    assert setting.benchmark.runs.count() == runs


def test_launch_with_samples_and_repeats_asks_and_judges_that_often(setting):
    run = work_through(setting.launch(samples=2, repeats=3))
    items = run.item_count
    assert run.responses.filter(status="completed").count() == 2 * items
    assert set(run.responses.values_list("sample", flat=True)) == {1, 2}
    assert run.verdicts.filter(status="completed").count() == 6 * items
    assert set(run.verdicts.values_list("repeat", flat=True)) == {1, 2, 3}
    assert set(run.responses.values_list("returned_model", flat=True)) == {"demo-system (demo)"}
    assert run.tokens > 0
    assert run.tokens == sum(
        (row.prompt_tokens or 0) + (row.completion_tokens or 0) for row in [*run.responses.all(), *run.verdicts.all()]
    )


def test_launch_on_chosen_items_is_a_trial_and_stays_out_of_the_leaderboard(db, demo_server):
    setting = make_setting(demo_server, documents(3, "apart"), "apart")
    uid = ReleaseItem.objects.filter(release=setting.release, position=1).get().uid
    run = work_through(setting.launch(items=[uid]))
    assert (run.is_trial, run.state, run.item_count) == (True, RunState.FINISHED, 3)
    assert [row.release_item.uid for row in run.responses.all()] == [uid]
    assert leaderboard(setting.release)["runs"] == []
    with pytest.raises(Invalid, match="no-such") as error:
        setting.launch(items=[uid, "no-such"])
    assert refused(error, "items")


def test_launch_at_an_endpoint_that_was_taken_away_is_refused(setting):
    setting.benchmark.endpoints.clear()
    with pytest.raises(Invalid) as error:
        setting.launch()
    assert refused(error, "system")


def test_launch_with_images_by_address_needs_a_public_address(db, demo_server, settings):
    setting = make_setting(demo_server, [good_document()], "apart")
    system = setting.new_system(image_mode="url_in_prompt")
    with pytest.raises(Invalid, match="LHDR_PUBLIC_URL") as error:
        setting.launch(system=system)
    assert error.value.code == "no_public_url"
    assert setting.launch(system=system, condition="without_image")
    settings.PUBLIC_URL = "https://lhdr.example.org"
    assert setting.launch(system=system)


def test_launch_with_images_that_were_never_fetched_is_refused_with_the_items(db, demo_server):
    image = {"key": "i1", "url": "https://example.org/a.png", "role": "question", "license": "CC0-1.0"}
    checklist = [{"key": "c1", "conclusion": "It is so."}]
    unfetched = good_document(images=[image], checklist=checklist, sources=[], nodes=[], relations=[], rivals=[],
                              answer_sources=[])  # fmt: skip
    setting = make_setting(demo_server, [unfetched], "apart")
    with pytest.raises(Invalid, match="good-item") as error:
        setting.launch()
    assert error.value.code == "images_missing"
    assert setting.launch(condition="without_image")
    assert setting.launch(system=setting.new_system(image_mode="none"))


# --- pausing, resuming, cancelling


def test_paused_run_starts_nothing_new_and_goes_on_when_resumed(setting):
    run = setting.launch()
    steps.answer(run.responses.first().pk)
    actions.pause_run(run, actor=setting.team.admin)
    assert steps.claim_next(run.pk) is None and steps.sweep() == {}
    run = actions.resume_run(run, actor=setting.team.admin)
    assert run.state == RunState.RUNNING
    assert work_through(run).state == RunState.FINISHED
    assert [e.kind for e in run.events.order_by("pk")] == ["run.launched", "run.paused", "run.resumed", "run.finished"]


def test_cancelled_run_keeps_what_is_done_and_drops_what_is_under_way(setting, monkeypatch):
    run = setting.launch()
    done, under_way, _waiting = run.responses.order_by("pk")
    steps.answer(done.pk)
    held, plain = steps.claim(type(done), under_way.pk), attempts.call

    def cancelled_meanwhile(endpoint, body, **kwargs):
        actions.cancel_run(run, actor=setting.team.admin)
        return plain(endpoint, body, **kwargs)

    monkeypatch.setattr(attempts, "call", cancelled_meanwhile)
    steps._perform(held)
    states = list(run.responses.order_by("pk").values_list("status", "text"))
    assert [status for status, _ in states] == ["completed", "cancelled", "cancelled"]
    assert states[1][1] == "", "the late result is dropped"
    assert under_way.attempts.get().cost is not None, "but its cost is on record"
    assert run.verdicts.get().status == "cancelled"
    with pytest.raises(Conflict):
        actions.resume_run(run, actor=setting.team.admin)
    assert steps.sweep() == {}


def test_run_stopped_by_permanent_errors_tries_them_again_when_resumed(db, demo_server):
    setting = make_setting(demo_server, 6, "apart")
    demo_server.seen.clear()
    setting.system = setting.misbehaving("auth", times=1)
    run = work_through(setting.launch())
    assert run.state == RunState.STOPPED
    try_endpoint_again(setting.endpoint, actor=setting.team.admin)
    run = actions.resume_run(run, actor=setting.team.admin)
    assert run.responses.filter(status="pending").count() == 6 and run.stop_reason == ""
    assert run.events.first().data == {"tried_again": 5}
    # the sixth meets its one 401 now, which is not five in a row since the resume
    run = work_through(run)
    assert run.state == RunState.FINISHED
    assert run.responses.filter(status="completed").count() == 5


def test_errors_from_before_a_resume_do_not_stop_the_run_again(db, demo_server):
    setting = make_setting(demo_server, 6, "apart")
    demo_server.seen.clear()
    setting.system = setting.misbehaving("auth")
    run = work_through(setting.launch())
    try_endpoint_again(setting.endpoint, actor=setting.team.admin)
    run = work_through(actions.resume_run(run, actor=setting.team.admin))
    assert run.state == RunState.STOPPED
    # five before and five after, not five and one
    assert sum(response.attempts.count() for response in run.responses.all()) == 10


def test_run_stopped_by_its_budget_needs_a_higher_one(setting):
    run = setting.launch(budget=Decimal("0.01"))
    type(run).objects.filter(pk=run.pk).update(spent=Decimal("0.02"))
    run = work_through(run)
    assert run.state == RunState.STOPPED
    for budget in (None, Decimal("0.02")):
        with pytest.raises(Invalid) as error:
            actions.resume_run(run, actor=setting.team.admin, budget=budget)
        assert refused(error, "budget")
    run = actions.resume_run(run, actor=setting.team.admin, budget=Decimal(1))
    assert work_through(run).state == RunState.FINISHED


# --- trying again


def test_retry_failed_takes_up_the_kinds_that_were_asked_for(setting):
    setting.system = setting.misbehaving("refused", times=1)
    run = work_through(setting.launch())
    assert {r.error_kind for r in run.responses.all()} == {"refused"} and run.state == RunState.FINISHED
    assert actions.retry_failed(run, ["timeout"], actor=setting.team.admin) == 0
    run.refresh_from_db()
    assert run.state == RunState.FINISHED
    assert actions.retry_failed(run, ["refused"], actor=setting.team.admin) == 3
    run = work_through(run)
    assert run.state == RunState.FINISHED and run.responses.filter(status="completed", tries=1).count() == 3
    assert run.verdicts.filter(status="completed").count() == 3


def test_rejudge_with_another_judge_asks_no_system_again(setting):
    run = work_through(setting.launch())
    asked = len(setting.server.requests)
    other = setting.new_judge(model="another")
    assert actions.rejudge(run, other, actor=setting.team.admin) == 3
    run = work_through(run)
    assert run.state == RunState.FINISHED
    assert run.verdicts.filter(judge=other, status="completed").count() == 3
    assert {r["body"]["model"] for r in setting.server.requests[asked:]} == {"another"}


def test_rejudge_with_the_same_judge_repeats_only_what_is_no_verdict(setting):
    run = work_through(setting.launch())
    good, mumbled, failed = run.verdicts.order_by("pk")
    run.verdicts.filter(pk=mumbled.pk).update(unparseable="no verdict", vector=None, answer_correct=None)
    run.verdicts.filter(pk=failed.pk).update(status="failed", error_kind="timeout")
    assert actions.rejudge(run, setting.judge, actor=setting.team.admin) == 2
    run = work_through(run)
    assert [(v.status, v.unparseable) for v in run.verdicts.all()] == [("completed", "")] * 3
    assert good.attempts.count() == 1
    assert actions.rejudge(run, setting.judge, actor=setting.team.admin) == 0
    run.refresh_from_db()
    assert run.state == RunState.FINISHED


def test_rejudge_by_a_person_or_a_strange_judge_is_refused(setting, demo_server):
    run = work_through(setting.launch())
    marking_actions.record_human_verdict(run.responses.first(), True, ALL, actor=setting.team.aud)
    person = setting.benchmark.judges.get(person=setting.team.aud)
    for judge in (person, make_setting(demo_server, documents(1, "x"), slug="other").judge):
        with pytest.raises(Invalid) as error:
            actions.rejudge(run, judge, actor=setting.team.admin)
        assert refused(error, "judge")


def test_actions_on_a_finished_run_that_need_a_running_one_are_refused(setting):
    run = work_through(setting.launch())
    for action in (actions.pause_run, actions.resume_run, actions.cancel_run):
        with pytest.raises(Conflict, match="finished"):
            action(run, actor=setting.team.admin)
