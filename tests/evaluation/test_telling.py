"""Who is told that a run or a study is done or has stopped: once for each end, on the site and by mail."""

import threading
from datetime import timedelta
from decimal import Decimal
from typing import Any

import pytest
from django.core import mail as outbox
from django.db import IntegrityError, connection, transaction
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from annotation import benchmark_actions, comment_actions, notice_actions, notices, tasks
from annotation.models import Comment, Notice
from annotation.states import Role
from evaluation import actions, steps, stops, study_actions, telling
from evaluation.events import words_of
from evaluation.models import Run, RunState, Study
from evaluation.study_steps import end_studies
from lhdr_site.endpoints import demo_server as server
from tests.evaluation.setting import Setting, make_setting, work_through
from tests.factories import make_user

STOP = {"n": 1, "system": "s", "release": "r1", "stop": {"why": "errors", "error": "no\n\nkey"}}


def told(user: Any) -> list[str]:
    """Sentences of all that a person was told of runs, the oldest first."""
    rows = Notice.objects.filter(user=user, kind=Notice.Kind.RUN).order_by("pk")
    return [notice.sentence for notice in notices.worded(notices.with_rows(rows))]  # type: ignore[attr-defined]


def second_admin(setting: Setting) -> Any:
    person = make_user("bench-admin2")
    benchmark_actions.set_membership(setting.benchmark, person, Role.ADMIN, actor=setting.team.root)
    return person


def done(run: Run, setting: Setting, answered: int = 3, failed: int = 0, cost: str = "") -> str:
    run.refresh_from_db()
    head = f"Run {run.number} ({setting.system.name} on r1) is done: {answered} of 3 answered, {failed} failed, "
    return head + (cost or f"{run.spent:.4f} USD")


# --- runs


def test_run_that_is_done_tells_who_launched_it_and_nobody_else(setting: Setting) -> None:
    run = work_through(setting.launch())
    assert run.state == RunState.FINISHED
    assert 0 < run.spent < Decimal("0.1")  # so the sentence has four digits
    assert told(setting.team.admin) == [done(run, setting)]
    assert Notice.objects.get().address == f"/b/bench/runs/{run.number}/"


def test_what_failed_and_what_nobody_knows_the_cost_of_is_said(setting: Setting) -> None:
    setting.system = setting.misbehaving("empty")
    run = work_through(setting.launch())
    assert run.responses.filter(status="failed").count() == 3
    Notice.objects.all().delete()
    Run.objects.filter(pk=run.pk).update(state=RunState.RUNNING, spent=Decimal("1234.5"), unpriced=2)
    assert steps.finish(run.pk)
    cost = "1,234.50 USD and 2 calls of unknown cost"
    assert told(setting.team.admin) == [done(run, setting, answered=0, failed=3, cost=cost)]


def test_another_end_is_told_anew_and_also_to_who_had_it_go_on(setting: Setting) -> None:
    other = second_admin(setting)
    run = work_through(setting.launch())
    assert told(other) == []
    assert actions.rejudge(run, setting.new_judge(), actor=other)
    run = work_through(run)
    assert len(told(setting.team.admin)) == 2 and told(other) == told(setting.team.admin)[1:]


def test_run_that_stops_by_an_error_tells_why(db: Any, demo_server: Any) -> None:
    setting = make_setting(demo_server, 6)
    setting.system = setting.misbehaving("payment")
    run = work_through(setting.launch())
    assert run.state == RunState.STOPPED
    assert told(setting.team.admin) == [f"Run 1 ({setting.system.name} on r1) stopped: {run.stop_reason}"]
    assert "402" in run.stop_reason


def test_run_that_stops_at_its_budget_tells_once_each_time(setting: Setting) -> None:
    run = setting.launch(budget=Decimal("0.01"))
    Run.objects.filter(pk=run.pk).update(spent=run.budget)
    assert work_through(run).state == RunState.STOPPED
    steps.sweep()
    work_through(run)
    [sentence] = told(setting.team.admin)
    assert "stopped: The budget is used up." in sentence
    run = actions.resume_run(run, actor=setting.team.admin, budget=Decimal(5))
    assert work_through(run).state == RunState.FINISHED
    assert len(told(setting.team.admin)) == 2


def test_run_that_pauses_by_itself_tells_why(setting: Setting, monkeypatch: pytest.MonkeyPatch) -> None:
    plain = server.completion_of
    monkeypatch.setattr(server, "completion_of", lambda *args: plain(*args) | {"model": "cheaper-system"})
    assert work_through(setting.launch()).state == RunState.PAUSED
    [sentence] = told(setting.team.admin)
    assert "pauses: " in sentence and sentence.endswith("cheaper-system answered.")


def test_who_pauses_or_cancels_a_run_is_not_told(setting: Setting) -> None:
    run = setting.launch()
    actions.pause_run(run, actor=setting.team.admin)
    work_through(run)
    actions.cancel_run(run, actor=setting.team.admin)
    steps.sweep()
    assert told(setting.team.admin) == []


def test_who_left_the_benchmark_is_neither_told_nor_shown_what_was_told(setting: Setting) -> None:
    other = second_admin(setting)
    setting.team.admin, first = other, setting.team.admin
    earlier = work_through(setting.launch())
    later = setting.launch()
    benchmark_actions.set_membership(setting.benchmark, other, None, actor=setting.team.root)
    assert work_through(later).state == RunState.FINISHED
    assert told(other) == [done(earlier, setting)] and told(first) == []
    setting.team.admin = other
    assert "is done" not in setting.team.client("admin").get("/inbox/").content.decode()
    assert notices.open_count(other) == 0
    assert send_all() == []


@pytest.mark.django_db(transaction=True)
def test_workers_at_once_tell_of_an_end_once(demo_server: Any) -> None:
    setting = make_setting(demo_server)
    study = make_study(setting, 1)
    runs = [setting.launch(), study.runs.get()]
    for run in runs:
        work_through(run)
    Notice.objects.all().delete()
    for run in runs:
        Run.objects.filter(pk=run.pk).update(state=RunState.RUNNING, resumed=timezone.now())
    gate = threading.Barrier(6)

    def end() -> None:
        gate.wait(20)
        for run in runs:
            steps.finish(run.pk)
        end_studies()
        connection.close()

    threads = [threading.Thread(target=end) for _ in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert sorted(text.split(" (")[0] for text in told(setting.team.admin)) == [
        f"Run {runs[0].number}",
        "Study “Main” is done: 1 run, 0 with failures",
    ]


# --- studies


def make_study(setting: Setting, systems: int, actor: Any = None, **plan: Any) -> Study:
    """Planned by the admin, and filled by the actor."""
    of = [setting.system, *(setting.new_system() for _ in range(systems - 1))]
    plan = {"name": "Main", "release": setting.release, "systems": of, "judges": [setting.judge], **plan}
    study = study_actions.create_study(setting.benchmark, plan, actor=setting.team.admin)
    study_actions.fill_holes(study, actor=actor or setting.team.admin)
    return study


def test_study_tells_who_planned_it_once_when_its_last_run_ends(setting: Setting) -> None:
    other = second_admin(setting)
    setting.system = setting.misbehaving("empty")
    study = make_study(setting, 2, actor=other)
    first, second = study.runs.order_by("pk")
    work_through(first)
    steps.sweep()
    assert told(setting.team.admin) == []
    work_through(second)
    steps.sweep()
    assert told(setting.team.admin) == ["Study “Main” is done: 2 runs, 1 with failures"]
    assert told(other) == []
    assert Notice.objects.get().address == f"/b/bench/studies/{study.number}/"


def test_run_of_a_study_that_stops_tells_who_launched_it_and_the_study_who_planned_it(setting: Setting) -> None:
    other = second_admin(setting)
    study = make_study(setting, 2, actor=other)
    first, second = study.runs.order_by("pk")
    work_through(first)
    Run.objects.filter(pk=second.pk).update(budget=Decimal(1), spent=Decimal(1))
    work_through(second)
    steps.sweep()
    [sentence] = told(other)
    assert sentence.startswith(f"Run {second.number} (") and "budget" in sentence
    assert told(setting.team.admin) == ["Study “Main” stopped: 1 of 2 runs stopped by themselves"]


def test_study_whose_planner_cancelled_the_rest_tells_nobody(setting: Setting) -> None:
    study = make_study(setting, 2)
    work_through(study.runs.order_by("pk")[0])
    study_actions.cancel_study(study, actor=setting.team.admin)
    steps.sweep()
    assert study.events.filter(kind="study.finished").exists()
    assert told(setting.team.admin) == []


@pytest.mark.parametrize(("done_before", "words"), [(0, "0 runs are done"), (1, "1 run is done")])
def test_study_of_which_another_person_cancelled_the_rest_tells_who_planned_it(
    setting: Setting, done_before: int, words: str
) -> None:
    other = second_admin(setting)
    study = make_study(setting, 2)
    for run in study.runs.order_by("pk")[:done_before]:
        work_through(run)
    study_actions.cancel_study(study, actor=other)
    steps.sweep()
    steps.sweep()
    name = other.get_full_name() or other.username
    ended = f"Study “Main” ended, as {name} cancelled the rest: {words}, 0 with failures"
    assert told(setting.team.admin) == [ended]
    assert told(other) == []


def test_study_that_stopped_and_was_cancelled_by_another_person_tells_both(setting: Setting) -> None:
    other = second_admin(setting)
    study = make_study(setting, 1)
    Run.objects.update(budget=Decimal(1), spent=Decimal(1))
    work_through(study.runs.get())
    steps.sweep()
    study_actions.cancel_study(study, actor=other)
    steps.sweep()
    assert [text.split(" ")[2] for text in told(setting.team.admin) if text.startswith("Study")] == [
        "stopped:",
        "ended,",
    ]
    assert notices.open_count(setting.team.admin) == 1  # the stop is no longer so


def test_run_that_another_person_cancels_tells_who_launched_it(setting: Setting) -> None:
    other = second_admin(setting)
    run = setting.launch()
    actions.cancel_run(run, actor=other)
    name = other.get_full_name() or other.username
    assert told(setting.team.admin) == [f"{name} cancelled run 1 ({setting.system.name} on r1): 0 of 3 answered"]
    assert told(other) == []


# --- what goes on again


def test_run_that_goes_on_takes_its_stop_back_and_mails_nobody_of_it(setting: Setting) -> None:
    run = setting.launch(budget=Decimal("0.01"))
    Run.objects.filter(pk=run.pk).update(spent=run.budget)
    run = work_through(run)
    assert notices.open_count(setting.team.admin) == 1
    run = actions.resume_run(run, actor=setting.team.admin, budget=Decimal(5))
    assert notices.open_count(setting.team.admin) == 0
    work_through(run)
    assert notices.open_count(setting.team.admin) == 1
    [mail] = send_all()
    assert "is done" in mail.subject


def test_run_that_is_judged_again_takes_its_end_back_and_those_of_other_runs_stay(setting: Setting) -> None:
    first, second = work_through(setting.launch()), work_through(setting.launch())
    actions.rejudge(first, setting.new_judge(), actor=setting.team.admin)
    [left] = Notice.objects.filter(done=None)
    assert left.facts is not None and left.facts["n"] == second.number


def test_run_paused_for_another_model_takes_that_back_when_it_is_accepted(
    setting: Setting, monkeypatch: pytest.MonkeyPatch
) -> None:
    plain = server.completion_of
    monkeypatch.setattr(server, "completion_of", lambda *args: plain(*args) | {"model": "cheaper-system"})
    run = work_through(setting.launch())
    actions.accept_model(run, "cheaper-system", actor=setting.team.admin)
    assert notices.open_count(setting.team.admin) == 0


def test_study_that_goes_on_takes_its_end_back(setting: Setting) -> None:
    study = make_study(setting, 1)
    work_through(study.runs.get())
    steps.sweep()
    assert notices.open_count(setting.team.admin) == 1
    study_actions.change_study(study, {"systems": [setting.system, setting.new_system()]}, actor=setting.team.admin)
    assert notices.open_count(setting.team.admin) == 1
    study_actions.fill_holes(study, actor=setting.team.admin)
    assert notices.open_count(setting.team.admin) == 0
    work_through(study.runs.order_by("pk")[1])
    steps.sweep()
    assert told(setting.team.admin)[-1] == "Study “Main” is done: 2 runs, 0 with failures"
    run = study.runs.order_by("pk")[0]
    actions.rejudge(run, setting.new_judge(), actor=setting.team.admin)
    assert notices.open_count(setting.team.admin) == 0


def test_end_is_worded_when_it_is_shown(setting: Setting, monkeypatch: pytest.MonkeyPatch) -> None:
    """In the language of who reads it, not of the worker that told of it."""
    work_through(setting.launch())
    monkeypatch.setattr(telling, "_", lambda text: text.replace("is done", "ist fertig"))
    [sentence] = told(setting.team.admin)
    assert "ist fertig" in sentence


def test_why_a_run_stopped_is_worded_wherever_and_whenever_it_is_shown(
    setting: Setting, monkeypatch: pytest.MonkeyPatch
) -> None:
    """On its page, in its events, over the API and in what is told of it: the row holds facts alone."""
    run = setting.launch(budget=Decimal("0.01"))
    Run.objects.filter(pk=run.pk).update(spent=run.budget)
    run = work_through(run)
    assert run.stop == run.events.first().data == {"why": "budget"}
    assert run.stop_reason == "The budget is used up. Raise the budget, then resume."
    monkeypatch.setattr(stops, "_SENTENCES", {stops.Stop.BUDGET: "Alle."})
    monkeypatch.setattr(stops, "_", lambda text: "Mehr her.")
    assert words_of(run.events.first()) == "The run stopped by itself: Alle. Mehr her."
    assert told(setting.team.admin) == [f"Run 1 ({setting.system.name} on r1) stopped: Alle. Mehr her."]
    client = setting.team.client("ann")
    assert "</b> Alle. Mehr her." in client.get(f"/b/bench/runs/{run.number}/").content.decode()
    assert client.get(f"/api/benchmarks/bench/runs/{run.number}/").json()["stop_reason"] == "Alle. Mehr her."


# --- where it is shown


def send_all() -> list[Any]:
    Notice.objects.filter(mail=Notice.Mail.WAITING).update(due=timezone.now() - timedelta(seconds=1))
    tasks.send_mails()
    return list(getattr(outbox, "outbox", []))


def test_inbox_home_and_benchmark_show_it_until_it_is_done(setting: Setting) -> None:
    run = work_through(setting.launch())
    client = setting.team.client("admin")
    for page in ("/", "/b/bench/", "/inbox/"):
        text = client.get(page).content.decode()
        assert f'href="/b/bench/runs/{run.number}/">{done(run, setting)}</a>' in text
        assert '<span class="wb-count">1</span>' in text
    assert done(run, setting) not in setting.team.client("core").get("/inbox/").content.decode()
    client.post("/inbox/done/", {"notice": Notice.objects.get().pk})
    assert notices.open_count(setting.team.admin) == 0
    assert done(run, setting) not in client.get("/").content.decode()


def test_inbox_reads_as_much_for_many_of_both_kinds_as_for_few(setting: Setting) -> None:
    item = setting.benchmark.items.get(number=1)

    def tell(times: int) -> None:
        for n in range(times):
            comment_actions.add_comment(item, f"@bench-admin, look ({n})", actor=setting.team.aud)
            notice_actions.tell_of_end(
                setting.benchmark, [setting.team.admin.pk], "run.stopped", STOP | {"n": n}, "/x/"
            )

    tell(1)
    client = setting.team.client("admin")
    with CaptureQueriesContext(connection) as few:
        client.get("/inbox/")
    tell(20)
    with CaptureQueriesContext(connection) as many:
        assert client.get("/inbox/").content.decode().count("wb-sub") == 42
    assert len(many) == len(few) <= 9
    assert not [q for q in many if '"document"' in q["sql"]]
    with CaptureQueriesContext(connection) as queries:
        assert notices.open_count(setting.team.admin) == 42
    assert len(queries) == 1


def test_notice_is_of_an_item_or_has_facts_and_an_address(setting: Setting) -> None:
    of = {"user": setting.team.admin, "benchmark": setting.benchmark, "kind": Notice.Kind.RUN, "due": timezone.now()}
    item = setting.benchmark.items.get(number=1)
    Notice.objects.create(**of, facts={}, address="/")
    Notice.objects.create(**of, item=item)
    for wrong in ({}, {"facts": {}}, {"address": "/"}, {"item": item, "facts": {}, "address": "/"}):
        with pytest.raises(IntegrityError), transaction.atomic():
            Notice.objects.create(**of, **wrong)


def test_mail_says_it_and_leads_to_the_run(setting: Setting, settings: Any) -> None:
    settings.SITE_URL = "https://lhdr.example.org"
    run = work_through(setting.launch())
    [mail] = send_all()
    assert mail.to == ["bench-admin@example.org"]
    assert mail.subject == f"[bench] {done(run, setting)}"
    assert f"https://lhdr.example.org/b/bench/runs/{run.number}/" in mail.body
    assert f'href="https://lhdr.example.org/b/bench/runs/{run.number}/"' in mail.alternatives[0][0]


def test_mail_about_items_and_runs_names_both(setting: Setting) -> None:
    run = work_through(setting.launch())
    item = setting.benchmark.items.get(number=2)
    comment_actions.add_comment(item, "@bench-admin, look", actor=setting.team.aud)
    [mail] = [mail for mail in send_all() if mail.to == ["bench-admin@example.org"]]  # the item's author gets one too
    assert mail.subject == f"2 things for you: run {run.number}, #2"
    assert done(run, setting) in mail.body and "mentioned you on #2" in mail.body


def test_mail_of_a_reason_of_many_lines_has_a_subject_of_one(setting: Setting) -> None:
    notice_actions.tell_of_end(setting.benchmark, [setting.team.admin.pk], "run.stopped", STOP, "/x/")
    assert [mail.subject for mail in send_all()] == ["[bench] Run 1 (s on r1) stopped: no key"]


def test_mail_about_runs_is_switched_off_in_my_settings(setting: Setting) -> None:
    client = setting.team.client("admin")
    assert 'name="mail_runs"' in client.get("/my-settings/").content.decode()
    client.post("/my-settings/", {"mail_mentions": "on"})
    work_through(setting.launch())
    assert send_all() == []
    assert Notice.objects.get().mail == Notice.Mail.UNWANTED and notices.open_count(setting.team.admin) == 1


@pytest.mark.parametrize("who", ["ann", "core", "stranger"])
def test_api_lists_nobody_elses_notices_and_sets_none_of_them_aside(setting: Setting, who: str) -> None:
    work_through(setting.launch())
    client = setting.team.client(who)
    assert client.get("/api/notices/").json() == {"next": None, "results": []}
    assert client.post(f"/api/notices/{Notice.objects.get().pk}/done/").status_code == 404
    assert notices.open_count(setting.team.admin) == 1
    assert Client().get("/api/notices/").status_code in (401, 403)


def test_api_lists_both_kinds_until_they_are_done(setting: Setting, django_assert_max_num_queries: Any) -> None:
    run = work_through(setting.launch())
    item = setting.benchmark.items.get(number=2)
    comment_actions.add_comment(item, "@bench-admin, look", actor=setting.team.aud)
    client = setting.team.client("admin")
    with django_assert_max_num_queries(4):
        mention, ended = client.get("/api/notices/").json()["results"]
    assert (ended["kind"], ended["benchmark"], ended["item"], ended["said"]) == ("run", "bench", None, "")
    assert (ended["sentence"], ended["path"]) == (done(run, setting), f"/b/bench/runs/{run.number}/")
    assert (mention["kind"], mention["item"], mention["said"]) == ("mention", 2, "@bench-admin, look")
    assert mention["path"].endswith(f"#comment-{Comment.objects.get().pk}")
    reply = client.post(f"/api/notices/{ended['id']}/done/")
    assert (reply.status_code, notices.open_count(setting.team.admin)) == (204, 1)
    assert [row["id"] for row in client.get("/api/notices/").json()["results"]] == [mention["id"]]
    every = client.get("/api/notices/", {"view": "all"}).json()["results"]
    assert [bool(row["done"]) for row in every] == [False, True]
    assert client.get("/api/notices/", {"view": "some"}).status_code == 422
    assert client.post("/api/notices/999999/done/").status_code == 404


# --- the page of the run


def test_title_of_the_run_page_says_how_it_stands(setting: Setting) -> None:
    run = setting.launch()
    client = setting.team.client("ann")
    page = f"/b/bench/runs/{run.number}/"
    assert f"<title>Queued: run {run.number}, {setting.system.name}" in client.get(page).content.decode()
    work_through(run)
    assert client.get(f"{page}progress/", {"state": "queued-moving"})["HX-Refresh"] == "true"
    assert f"<title>Finished: run {run.number}, {setting.system.name}" in client.get(page).content.decode()
