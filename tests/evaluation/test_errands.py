"""Probes and grade checks by the real engine, over HTTP with the demo server: what is sent, kept and retried."""

from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest
from django.db import connection
from django.utils import timezone

from annotation.states import State
from audit.models import GradeCheck, Probe
from evaluation import attempts, claims, errands
from evaluation.models import Attempt
from evaluation.probe_actions import ask_again, check_gradeability, check_gradeability_again, launch_probes
from evaluation.requests import has_web, refusing_collection
from lhdr_site.endpoints.models import Endpoint
from tests.documents import good_document
from tests.evaluation.probing import insert, item_with_picture, work
from tests.evaluation.test_requests import hidden_strings, texts_sent


@pytest.fixture
def item(setting: Any) -> Any:
    return item_with_picture(setting)


def launch(setting: Any, item: Any, **data: Any) -> list[Probe]:
    data = {"systems": [setting.system], "conditions": [True], "actor": setting.team.aud, **data}
    return launch_probes(item, **data)


def systems_requests(setting: Any) -> list[dict[str, Any]]:
    return [r["body"] for r in setting.server.requests if r["body"]["model"] == "demo-system"]


# --- what is sent and kept


def test_probe_sends_exactly_what_a_run_would(setting, item) -> None:
    """The same bytes but for the picture under the other condition; nothing hidden in either."""
    launch(setting, item, conditions=[True, False])
    work()
    with_image, without = sorted(systems_requests(setting), key=lambda body: -len(str(body)))
    run_would = attempts.system_body(
        "openai", "demo-system", good_document(), images=[image_of(item)], extra=setting.system.extra_body
    )
    assert with_image == run_would
    assert without == attempts.system_body("openai", "demo-system", good_document())
    for body in (with_image, without):
        sent = "\n".join(texts_sent(body)).casefold()
        assert not [text for text in hidden_strings(good_document()) if text.casefold() in sent]


def image_of(item: Any) -> tuple[str, bytes]:
    from annotation.document import read_document
    from evaluation.images import image_part

    return image_part(item.benchmark_id, read_document(item.document).images[0], None)


def test_probe_keeps_the_answer_and_its_attempt(setting, item) -> None:
    setting.system = setting.misbehaving("citations")
    [probe] = launch(setting, item)
    work()
    probe.refresh_from_db()
    assert (probe.status, probe.error_kind, probe.owner, probe.tries) == ("completed", "", None, 1)
    assert "Final answer" in probe.text and probe.returned_model == "demo-system (demo)" and probe.ended
    assert probe.citations == [{"url": "https://example.org/page", "title": "A page"}]
    attempt = probe.attempts.get()
    assert attempt.request["messages"][0]["content"][1]["image_url"]["url"].startswith("sha256:")
    assert (attempt.judge, attempt.http_status, probe.cost) == (None, 200, attempt.cost) and attempt.body


def test_probe_asks_each_system_under_each_condition_so_often(setting, item) -> None:
    other = setting.new_system()
    probes = launch(setting, item, systems=[setting.system, other], conditions=[True, False], times=2)
    work()
    assert len(probes) == 8 == Probe.objects.filter(status="completed").count()
    assert len(systems_requests(setting)) == 8


# --- the judge's word


def test_probe_with_a_judge_is_judged_after_its_answer(setting, item) -> None:
    [probe] = launch(setting, item, judge=setting.judge)
    assert errands.run_errands(0) and Probe.objects.get().status == "pending", "it waits for the judge"
    assert Probe.objects.get().endpoint_id == setting.judge.endpoint_id and Probe.objects.get().tries == 0
    work()
    probe.refresh_from_db()
    assert probe.status == "completed" and probe.judge_recovered is not None
    assert [a.judge for a in probe.attempts.all()] == [None, setting.judge]
    assert probe.cost == sum(a.cost for a in probe.attempts.all())


def test_probe_whose_judge_fails_keeps_its_answer(setting, item) -> None:
    judge = setting.new_judge(extra_body={"demo": {"behaviour": "auth"}})
    launch(setting, item, judge=judge)
    work()
    probe = Probe.objects.get()
    assert (probe.status, probe.error_kind, probe.judge_recovered) == ("completed", "auth", None) and probe.text
    ask_again(probe, judge=setting.judge, actor=setting.team.aud)
    work()
    probe.refresh_from_db()
    assert probe.judge_recovered is not None and probe.error_kind == "" and probe.judge_name == setting.judge.name


# --- failures and limits


def test_probe_that_fails_says_so_and_is_asked_again(setting, item) -> None:
    setting.system = setting.misbehaving("auth")
    [probe] = launch(setting, item)
    work()
    probe.refresh_from_db()
    assert (probe.status, probe.error_kind, probe.text, probe.has_word) == ("failed", "auth", "", False)
    setting.system.extra_body = {}
    setting.system.save()
    ask_again(probe, actor=setting.team.aud)
    work()
    probe.refresh_from_db()
    assert (probe.status, probe.error_kind) == ("completed", "") and probe.attempts.count() == 2


def test_probe_is_retried_like_a_response(setting, item) -> None:
    setting.system = setting.misbehaving("rate_limited", times=2, retry_after=30)
    [probe] = launch(setting, item)
    errands.run_errands(5)
    probe.refresh_from_db()
    assert probe.status == "pending" and probe.due and probe.error_kind == "rate_limited"
    assert Endpoint.objects.get().blocked_until > timezone.now() + timedelta(seconds=20), "everybody holds back"
    assert claims.claim_errand() is None
    work()
    probe.refresh_from_db()
    assert (probe.status, probe.tries) == ("completed", 3)


def test_probes_and_runs_share_the_calls_at_once_of_their_endpoint(setting, item) -> None:
    Endpoint.objects.update(slots=2)
    launch(setting, item, times=3)
    run = setting.launch()
    held = [claims.claim_errand(), claims.claim_errand()]
    assert all(held) and claims.claim_errand() is None
    assert claims.claim_next(run.pk) is None, "the run waits for the probes"
    Probe.objects.filter(status="running").update(lease_until=timezone.now() - timedelta(seconds=1))
    assert claims.claim_next(run.pk) and claims.claim_next(run.pk)
    assert claims.claim_errand() is None, "and the probes for the run"


# --- leases


def test_probe_of_a_dead_worker_is_taken_back_and_its_late_answer_dropped(setting, item) -> None:
    [probe] = launch(setting, item)
    dead = claims.claim_errand()
    Attempt.objects.create(probe=probe, owner=dead.owner, request={}, requested_model="m")
    assert errands.sweep_errands() == 0, "it still holds its lease"
    Probe.objects.update(lease_until=timezone.now() - timedelta(seconds=1))
    assert errands.sweep_errands() == 1
    probe.refresh_from_db()
    assert (probe.status, probe.error_kind) == ("pending", "lost") and probe.attempts.get().error_kind == "lost"
    work()
    assert dead.write(text="late") == 0
    probe.refresh_from_db()
    assert probe.status == "completed" and "Final answer" in probe.text


def test_every_probe_is_claimed_once(setting, item) -> None:
    launch(setting, item, times=3)
    held = [claims.claim_errand() for _ in range(4)]
    assert len({claim.pk for claim in held if claim}) == 3 and held[3] is None


# --- gradeability


def test_good_item_is_gradeable_by_the_demo_judge(setting, item) -> None:
    check_gradeability(item, setting.judge, actor=setting.team.core)
    work()
    check = GradeCheck.objects.get()
    assert check.status == "passed", check.cases
    assert [(c["case"], c["ok"]) for c in check.cases] == [("full", True), ("without", True), ("empty", True)]
    assert check.attempts.count() == 3 and {a.judge for a in check.attempts.all()} == {setting.judge}


def test_every_step_is_left_out_when_asked_for(setting, item) -> None:
    check_gradeability(item, setting.judge, every_step=True, actor=setting.team.core)
    work()
    check = GradeCheck.objects.get()
    assert check.status == "passed" and len(check.cases) == len(item.document["checklist"]) + 2


def test_item_whose_steps_repeat_each_other_is_not_gradeable(setting) -> None:
    """The judge still finds the conclusion that was left out, for another step says it too."""
    document = good_document(checklist=[
        {"key": "c1", "conclusion": "The ship was Cleopatra.", "prerequisites": []},
        {"key": "c2", "conclusion": "Baker drew it, and The ship was Cleopatra.", "prerequisites": ["c1"]},
    ])  # fmt: skip
    item = insert(setting, replace(document, id="twice", images=()), State.APPROVED)
    check_gradeability(item, setting.judge, actor=setting.team.core)
    work()
    check = GradeCheck.objects.get()
    assert check.status == "failed"
    assert [c["ok"] for c in check.cases] == [True, False, True] and check.cases[1]["vector"] == [1, 1]


def test_grade_check_goes_on_where_a_dead_worker_left_it(setting, item) -> None:
    check = check_gradeability(item, setting.judge, actor=setting.team.core)
    cases = check.cases
    cases[0] |= {"ok": True, "vector": [1] * len(item.document["checklist"]), "answer": True}
    held = claims.claim_errand()
    held.write(cases=cases)
    GradeCheck.objects.update(lease_until=timezone.now() - timedelta(seconds=1))
    errands.sweep_errands()
    work()
    check.refresh_from_db()
    assert check.status == "passed" and check.attempts.count() == 2


def test_grade_check_that_cannot_be_made_is_no_verdict_on_the_item(setting, item) -> None:
    judge = setting.new_judge(extra_body={"demo": {"behaviour": "plain_text"}}, max_tries=2)
    check = check_gradeability(item, judge, actor=setting.team.core)
    work()
    check.refresh_from_db()
    assert (check.status, check.error_kind) == ("broken", "invalid_body")
    judge.extra_body = {}
    judge.save()
    check_gradeability_again(check, actor=setting.team.core)
    work()
    check.refresh_from_db()
    assert check.status == "passed"


def test_unreadable_verdicts_break_a_check_after_the_judges_tries(setting, item, monkeypatch) -> None:
    from lhdr_site.endpoints import demo_server

    monkeypatch.setattr(demo_server, "literal_verdict", lambda text: demo_server.Answer("I cannot say."))
    check = check_gradeability(item, setting.judge, actor=setting.team.core)
    work()
    check.refresh_from_db()
    assert check.status == "broken" and all(c["unparseable"] for c in check.cases)
    assert check.attempts.count() == 3 * setting.judge.max_tries


# --- data collection, web search


def test_collection_is_refused_where_the_service_offers_it_unless_said_otherwise() -> None:
    body = {"model": "m"}
    assert refusing_collection("https://openrouter.ai/api/v1", body) == {
        **body,
        "provider": {"data_collection": "deny"},
    }
    assert refusing_collection("https://api.example.org/v1", body) == body
    assert refusing_collection("https://notopenrouter.ai/v1", body) == body
    ordered = {**body, "provider": {"order": ["a"]}}
    assert refusing_collection("https://openrouter.ai/api/v1", ordered)["provider"] == {
        "data_collection": "deny", "order": ["a"],
    }  # fmt: skip
    allowed = {**body, "provider": {"data_collection": "allow"}}
    assert refusing_collection("https://openrouter.ai/api/v1", allowed) == allowed


@pytest.mark.parametrize(
    ("model", "extra", "web"),
    [
        ("m", {}, False),
        ("m", None, False),
        ("m", {"tools": [{"type": "function"}, 3]}, False),
        ("m", {"tools": [{"type": "openrouter:web_search"}]}, True),
        ("m", {"tools": [{"type": "web_search_20250305"}]}, True),
        ("m", {"plugins": [{"id": "web"}]}, True),
        ("m", {"web_search_options": {}}, True),
        ("m:online", {}, True),
    ],
)
def test_has_web_knows_the_usual_ways(model: str, extra: Any, web: bool) -> None:
    assert has_web(model, extra) is web


def test_claiming_takes_few_statements(setting, item, django_assert_max_num_queries) -> None:
    launch(setting, item, times=3)
    with django_assert_max_num_queries(9 if connection.vendor == "postgresql" else 8):
        assert claims.claim_errand()
