"""Another model than the one asked for answered: the run pauses, a person accepts it, nothing is mixed unseen."""

from typing import Any

import pytest
from django.urls import reverse

from evaluation import actions
from evaluation.model_queries import models_of
from evaluation.models import RunState
from lhdr_site.endpoints import demo_server
from lhdr_site.endpoints.model_names import same_model
from lhdr_site.shared.errors import Conflict, Invalid, NotAllowed
from tests.evaluation.setting import Setting, work_through


@pytest.mark.parametrize(
    ("requested", "returned", "same"),
    [
        ("gpt-x", "gpt-x", True),
        ("gpt-x", "", True),
        ("GPT-X", "gpt-x", True),
        ("demo-system", "demo-system (demo)", True),
        ("gpt-x", "gpt-x-2026-01-01", True),
        ("claude-x", "claude-x-20260101", True),
        ("claude-x-latest", "claude-x-20260101", True),
        ("claude-x", "claude-x@20260101", True),
        ("mistral-large", "mistral-large-2407", True),
        ("gpt-4", "gpt-4-0613", True),
        ("gemini-x-pro", "gemini-x-pro-002", True),
        ("gpt-x", "openai/gpt-x", True),
        ("openai/gpt-x", "gpt-x-2026-01-01", True),
        ("openai/gpt-x", "openai/gpt-x-2026-01-01", True),
        ("vendor/x:free", "vendor/x", True),
        ("vendor/x:online", "vendor/x:nitro", True),
        # others
        ("gpt-x", "gpt-y", False),
        ("gpt-x", "gpt-x-mini", False),
        ("gpt-4", "gpt-4-32k", False),
        ("gpt-4", "gpt-4-9999", False),
        ("gpt-x-mini", "gpt-x", False),
        ("gpt-x-2026-01-01", "gpt-x-2026-02-02", False),
        ("gpt-x-2026-01-01", "gpt-x", False),
        ("one/x", "two/x", False),
        ("llama3:8b", "llama3:70b", False),
        ("vendor/x:thinking", "vendor/x", False),
    ],
)
def test_same_model_knows_variants_from_other_models(requested: str, returned: str, same: bool) -> None:
    assert same_model(requested, returned) is same


@pytest.fixture
def swapped(setting: Setting, monkeypatch: pytest.MonkeyPatch) -> Any:
    """Has the demo server answer as another model, where one is named."""
    swaps: dict[str, str] = {}
    plain = demo_server.completion_of

    def completion(answer: Any, key: str, model: str) -> Any:
        return plain(answer, key, model) | ({"model": swaps[model]} if model in swaps else {})

    monkeypatch.setattr(demo_server, "completion_of", completion)
    return swaps


def test_run_pauses_when_another_model_answers_until_it_is_accepted(setting: Setting, swapped: Any) -> None:
    swapped["demo-system"] = "cheaper-system"
    admin = setting.team.admin
    run = work_through(setting.launch())
    assert run.state == RunState.PAUSED
    assert "demo-system" in run.stop_reason and "cheaper-system answered" in run.stop_reason
    assert run.responses.filter(status="completed").count() == 1 and run.verdicts.get().status == "pending"
    event = run.events.first()
    assert (event.kind, event.data["requested"], event.data["returned"]) == (
        "run.model_differs", "demo-system", "cheaper-system",
    )  # fmt: skip
    with pytest.raises(Conflict, match="cheaper-system"):
        actions.resume_run(run, actor=admin)
    with pytest.raises(Invalid):
        actions.accept_model(run, "another", actor=admin)
    with pytest.raises(NotAllowed):
        actions.accept_model(run, "cheaper-system", actor=setting.team.core)
    run = actions.accept_model(run, "cheaper-system", actor=admin)
    assert [e.kind for e in run.events.order_by("-pk")[:2]] == ["run.resumed", "run.model_accepted"]
    run = work_through(run)
    assert run.state == RunState.FINISHED and run.stop_reason == ""
    assert set(run.responses.values_list("returned_model", flat=True)) == {"cheaper-system"}
    assert [(row.returned, row.calls, row.is_strange) for row in models_of(run)] == [
        ("cheaper-system", 3, False),
        ("demo-judge (demo)", 3, False),
    ]


def test_run_pauses_when_another_judge_answers(setting: Setting, swapped: Any) -> None:
    swapped["demo-judge"] = "other-judge"
    run = work_through(setting.launch())
    assert run.state == RunState.PAUSED and "other-judge answered" in run.stop_reason
    actions.cancel_run(run, actor=setting.team.admin)
    with pytest.raises(Conflict):
        actions.accept_model(run, "other-judge", actor=setting.team.admin)


@pytest.mark.parametrize(
    ("who", "expected"), [("ann", 403), ("aud", 403), ("core", 403), ("admin", 302), ("stranger", 404)]
)
def test_page_shows_the_models_apart_and_admins_accept(setting: Setting, swapped: Any, who: str, expected: int) -> None:
    swapped["demo-system"] = 'cheaper <"system">'
    run = work_through(setting.launch())
    address = reverse("evaluation:run-page", args=[setting.benchmark.slug, run.number])
    client = setting.team.client(who)
    if who != "stranger":
        page = client.get(address).content.decode()
        assert "Another model answered." in page and "cheaper &lt;" in page
        assert (f"{address}model/" in page) == (expected == 302)
        shown = client.get(address, {"show": f"model:{swapped['demo-system']}", "view": "table"}).content.decode()
        assert shown.count('data-label="Response"') == 1
    assert client.post(f"{address}model/", {"model": swapped["demo-system"]}).status_code == expected
    run.refresh_from_db()
    assert (run.state == RunState.RUNNING) == (expected == 302)
    if expected == 302:
        assert client.post(f"{address}model/", {"model": "none"}).status_code == 422


def test_model_is_accepted_over_http(setting: Setting, swapped: Any) -> None:
    swapped["demo-system"] = "cheaper"
    run = work_through(setting.launch())
    address = reverse("api-run-model", args=[setting.benchmark.slug, run.number])
    reply = setting.team.client("admin").post(address, {"model": "cheaper"}, content_type="application/json")
    assert (reply.status_code, reply.json()["state"]) == (200, "running")
