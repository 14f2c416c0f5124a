"""Asking chosen items of a run again, and trying again what failed by one kind of error."""

from typing import Any

import pytest
from django.urls import reverse

from evaluation import actions, marking_actions
from evaluation.models import Attempt, Response, Run, Verdict
from lhdr_site.shared.errors import Conflict, Invalid, NotAllowed
from tests.evaluation.setting import Setting, work_through

ROLES = [("ann", 403), ("aud", 403), ("core", 403), ("admin", 302), ("stranger", 404)]


def url(name: str, run: Run) -> str:
    return reverse(f"evaluation:{name}", args=[run.benchmark.slug, run.number])


@pytest.fixture
def run(setting: Setting) -> Run:
    return work_through(setting.launch(repeats=2))


def test_rerun_asks_and_judges_anew_and_keeps_every_attempt(setting: Setting, run: Run) -> None:
    first, second, _third = run.responses.order_by("pk")
    marking_actions.record_human_verdict(first, True, [1] * 10, actor=setting.team.aud)
    others = list(second.verdicts.order_by("pk").values())
    before = Attempt.objects.count()
    setting.server.requests = []
    assert actions.rerun_items(run, [1], actor=setting.team.admin) == 1
    first.refresh_from_db()
    assert (first.status, first.text, first.cost) == ("pending", "", None)
    assert set(first.verdicts.values_list("status", "answer_correct", "output")) == {("cancelled", None, "")}
    assert len(setting.server.requests) == 0
    run.refresh_from_db()
    assert work_through(run).state == "finished"
    first.refresh_from_db()
    assert first.status == "completed" and first.text and first.attempts.count() == 2
    assert list(first.verdicts.values_list("status", "judge")) == [("completed", setting.judge.pk)] * 2
    assert (len(setting.server.requests), Attempt.objects.count()) == (3, before + 3)
    assert list(second.verdicts.order_by("pk").values()) == others
    event = run.events.get(kind="run.rerun")
    assert (event.data["items"], event.data["verdicts_of_people"]) == ([1], 1)


def test_judge_again_leaves_what_waits_for_a_new_answer(setting: Setting, run: Run) -> None:
    actions.rerun_items(run, [1, 2], actor=setting.team.admin)
    assert actions.rejudge(run, setting.judge, actor=setting.team.admin) == 0
    assert not Verdict.objects.filter(status="pending").exists()


@pytest.mark.parametrize(("numbers", "said"), [([], "at least one"), ([1, 77], "no item 77")])
def test_rerun_of_what_is_not_there_changes_nothing(setting: Setting, run: Run, numbers: list[int], said: str) -> None:
    with pytest.raises(Invalid, match=said):
        actions.rerun_items(run, numbers, actor=setting.team.admin)
    assert run.responses.filter(status="completed").count() == 3


def test_rerun_when_under_way_cancelled_or_carried_over_is_refused(setting: Setting, run: Run) -> None:
    first, second, third = run.responses.order_by("pk")
    Response.objects.filter(pk=first.pk).update(status="running")
    with pytest.raises(Conflict, match="being asked"):
        actions.rerun_items(run, [1], actor=setting.team.admin)
    Response.objects.filter(pk=third.pk).update(carried_from=second)
    with pytest.raises(Conflict, match="carried over"):
        actions.rerun_items(run, [2], actor=setting.team.admin)
    Run.objects.update(state="cancelled")
    with pytest.raises(Conflict):
        actions.rerun_items(run, [3], actor=setting.team.admin)
    with pytest.raises(NotAllowed):
        actions.rerun_items(run, [3], actor=setting.team.core)


def test_items_that_the_grid_shows_are_chosen(setting: Setting, run: Run) -> None:
    Response.objects.filter(run=run, release_item__position__in=[0, 2]).update(truncated=True)
    admin = setting.team.client("admin")
    grid = admin.get(url("run-page", run), {"show": "truncated"}).content.decode()
    link = f"{url('run-rerun', run)}?show=truncated"
    assert link in grid
    assert admin.get(link).context["form"]["items"].value() == "1, 3"
    everything = admin.get(url("run-page", run)).content.decode()
    as_member = setting.team.client("ann").get(url("run-page", run), {"show": "truncated"}).content.decode()
    assert "ask-shown" in grid and "ask-shown" not in everything + as_member
    response = run.responses.first()
    page = admin.get(reverse("evaluation:response-page", args=["bench", run.number, response.pk])).content.decode()
    assert f"{url('run-rerun', run)}?items={response.release_item.item.number}" in page


@pytest.mark.parametrize(("who", "expected"), ROLES)
def test_rerun_page_by_role(setting: Setting, run: Run, who: str, expected: int) -> None:
    client = setting.team.client(who)
    assert client.get(url("run-rerun", run), {"items": "2"}).status_code == (200 if expected == 302 else expected)
    assert client.post(url("run-rerun", run), {"items": "1, 2"}).status_code == expected
    assert run.responses.filter(status="pending").count() == (2 if expected == 302 else 0)


@pytest.mark.parametrize("items", ["", "x", "1 -2", "99", "²", "9" * 30])
def test_rerun_page_when_items_are_wrong_says_so(setting: Setting, run: Run, items: str) -> None:
    assert setting.team.client("admin").post(url("run-rerun", run), {"items": items}).status_code == 422


@pytest.mark.parametrize(("who", "expected"), [("core", 403), ("admin", 200), ("stranger", 404)])
def test_rerun_over_http_by_role(setting: Setting, run: Run, who: str, expected: int) -> None:
    address = reverse("api-run-rerun", args=["bench", run.number])
    reply = setting.team.client(who).post(address, {"items": [1]}, content_type="application/json")
    assert reply.status_code == expected


def failed(setting: Setting) -> Run:
    run = setting.launch()
    first, second, _third = run.responses.order_by("pk")
    Response.objects.filter(pk=first.pk).update(status="failed", error_kind="timeout")
    Response.objects.filter(pk=second.pk).update(status="failed", error_kind="refused")
    return run


def test_retry_by_kind_leaves_other_kinds(setting: Setting) -> None:
    run = failed(setting)
    client = setting.team.client("admin")
    page = client.get(url("run-page", run)).content.decode()
    assert page.count('name="kind"') == 2
    assert client.post(url("run-retry", run), {"kind": "timeout"}).status_code == 302
    assert list(run.responses.order_by("pk").values_list("status", flat=True)) == ["pending", "failed", "pending"]
    address = reverse("api-run-retry", args=["bench", run.number])
    assert client.post(address, {"kinds": ["odd"]}, content_type="application/json").status_code == 400 + 22
    assert client.post(address, {"kinds": ["refused"]}, content_type="application/json").status_code == 200
    assert not run.responses.filter(status="failed").exists()
    assert 'name="kind"' not in setting.team.client("core").get(url("run-page", run)).content.decode()


@pytest.mark.parametrize(("who", "expected"), [("ann", 200), ("admin", 200), ("stranger", 404)])
def test_parts_that_move_by_role(setting: Setting, run: Run, who: str, expected: int) -> None:
    client = setting.team.client(who)
    assert client.get(url("run-cells", run)).status_code == expected
    seen = setting.team.client("ann").get(url("run-page", run)).context["seen"]
    assert client.get(url("run-progress", run), {"state": seen}).status_code == expected


def test_part_that_moves_holds_no_cell_and_the_grid_comes_by_pages(
    setting: Setting, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("evaluation.views.runs.CELLS_A_PAGE", 2)
    client = setting.team.client("ann")
    moving = client.get(url("run-progress", run), {"state": "finished-still"}).content.decode()
    assert "wb-cell" not in moving and all(f'id="run-{part}"' in moving for part in ("progress", "side", "events"))
    first, second = (client.get(url("run-cells", run), {"page": page}).content.decode() for page in (1, 2))
    assert (first.count('id="cell-'), second.count('id="cell-')) == (2, 1)
    assert "page=2" in first


def cells(client: Any, run: Run, show: str) -> int:
    return len(client.get(url("run-cells", run), {"show": show}).context["cells"])


def test_grid_of_one_outcome_has_as_many_cells_as_counted(setting: Setting, run: Run) -> None:
    client = setting.team.client("ann")
    counted = client.get(url("run-page", run)).context["progress"].outcomes
    assert sum(counted.values()) == 3
    for outcome, count in counted.items():
        assert cells(client, run, outcome) == count
    assert (cells(client, run, "failed"), cells(client, run, "truncated"), cells(client, run, "")) == (0, 0, 3)
