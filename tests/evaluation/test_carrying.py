"""Carry-over: on a new release only what changed is asked again, and what is copied was paid for once."""

from dataclasses import replace
from decimal import Decimal
from io import BytesIO

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.urls import reverse
from PIL import Image

from annotation.document import read_document
from annotation.images import prepare_upload, store
from evaluation import carrying, marking_actions
from evaluation.models import Attempt, Run, RunState
from evaluation.progress import Progress
from tests.evaluation.setting import make_setting, next_release, work_through
from tests.evaluation.test_requests import with_picture


def asked(setting):
    """(responses, verdicts) asked since the last look."""
    models = [request["body"]["model"] for request in setting.server.requests]
    setting.server.requests.clear()
    return models.count("demo-system"), models.count("demo-judge")


@pytest.fixture
def before(setting):
    """A finished run on the first release, of which nothing is counted any more."""
    run = work_through(setting.launch())
    assert asked(setting) == (3, 3)
    return run


def test_carry_over_when_nothing_changed_asks_nothing_and_counts_no_cost(setting, before):
    next_release(setting)
    run = work_through(setting.launch())
    assert asked(setting) == (0, 0)
    assert run.state == RunState.FINISHED and (run.spent, run.tokens, run.unpriced) == (0, 0, 0)
    for new, old in zip(run.responses.order_by("pk"), before.responses.order_by("pk"), strict=True):
        assert new.carried_from == old and new.status == "completed" and not new.attempts.exists()
        names = ("text", "cost", "prompt_tokens", "returned_model", "request_hash", "ended", "finish_reason")
        assert [getattr(new, name) for name in names] == [getattr(old, name) for name in names]
        judged, source = new.verdicts.get(), old.verdicts.get()
        assert judged.carried_from == source and judged.identity == source.identity
        assert (judged.answer_correct, judged.vector, judged.output) == (
            source.answer_correct, source.vector, source.output
        )  # fmt: skip
    progress = Progress(run)
    assert (progress.carried, progress.carried_verdicts) == (3, 3)
    assert progress.carried_cost == before.spent > 0 and progress.all_tokens == 0
    assert run.events.get(kind="run.launched").data["carried"] == 3


@pytest.mark.parametrize(
    ("changed", "expected"),
    [
        ({"question": "Another question?"}, (1, 1)),
        ({"answer_aliases": ("337 yrs",)}, (0, 1)),
        ({"answer": "338"}, (0, 1)),
        ({"design": "Other words."}, (0, 0)),
    ],
)
def test_carry_over_asks_only_what_changed(setting, before, changed, expected):
    next_release(setting, **changed)
    run = work_through(setting.launch())
    assert asked(setting) == expected
    assert run.state == RunState.FINISHED
    assert run.responses.filter(carried_from=None).count() == expected[0]
    assert run.verdicts.filter(carried_from=None).count() == expected[1]
    assert run.verdicts.filter(status="completed").count() == 3


def test_carry_over_when_a_step_changed_keeps_the_answer_and_judges_it_again(setting, before):
    document = read_document(setting.release.release_items.order_by("position").first().document)
    steps = (replace(document.checklist[0], conclusion="Another conclusion."), *document.checklist[1:])
    next_release(setting, checklist=steps)
    work_through(setting.launch())
    assert asked(setting) == (0, 1)


@pytest.mark.parametrize("mode", ["inline", "url_in_prompt"])
@pytest.mark.parametrize(("other_picture", "expected"), [(False, 0), (True, 1)])
def test_carry_over_of_a_question_with_a_picture_goes_by_its_bytes(
    db, demo_server, settings, mode, other_picture, expected
):
    settings.PUBLIC_URL = "https://lhdr.example.org"
    demo_server.requests = []
    setting = make_setting(demo_server, 1, "apart")
    document, _sha256 = with_picture(setting, demo_server)
    setting.system = setting.new_system(image_mode=mode)
    first = work_through(setting.launch())
    assert first.responses.filter(status="completed").count() == 2
    asked(setting)
    changed = {}
    if other_picture:
        buffer = BytesIO()
        Image.new("RGB", (400, 200), "teal").save(buffer, "PNG")
        picture = store(setting.benchmark, prepare_upload(buffer.getvalue(), "other.png"))
        changed = {"images": (replace(document.images[0], sha256=picture.sha256),)}
    next_release(setting, "r3", uid="pictured", **changed)
    run = setting.launch()
    assert run.responses.filter(status="pending").count() == expected


def test_carry_over_is_of_the_same_system_condition_sample_and_parameters(setting, before):
    next_release(setting)
    for launch, left in (
        ({"system": setting.new_system()}, 3),
        ({"condition": "without_image"}, 3),
        ({"samples": 2}, 3),
        ({"carry_over": False}, 3),
        ({}, 0),
    ):
        assert setting.launch(**launch).responses.filter(status="pending").count() == left, launch


def test_carry_over_never_takes_from_the_same_release_nor_what_failed(setting, before):
    assert setting.launch().responses.filter(status="pending").count() == 3
    before.responses.update(status="failed")
    next_release(setting)
    assert setting.launch().responses.filter(status="pending").count() == 3


def test_carry_over_with_another_judge_asks_that_judge_alone(setting, before):
    other = setting.new_judge(model="demo-judge-2")
    next_release(setting)
    run = work_through(setting.launch(judges=[setting.judge, other]))
    assert asked(setting) == (0, 0)
    assert run.verdicts.filter(judge=other, status="completed", carried_from=None).count() == 3
    assert run.verdicts.filter(judge=setting.judge).exclude(carried_from=None).count() == 3
    assert run.spent == sum(a.cost for a in Attempt.objects.filter(verdict__judge=other)) > Decimal(0)


def test_carry_over_again_names_the_row_that_was_paid_for(setting, before):
    for name in ("r2", "r3"):
        next_release(setting, name)
        run = work_through(setting.launch())
    assert {r.carried_from.run for r in run.responses.all()} == {before}
    assert {v.carried_from.run for v in run.verdicts.all()} == {before}
    assert asked(setting) == (0, 0)


def test_carry_over_keeps_a_persons_verdict_until_the_person_gives_another(setting, before):
    first = before.responses.order_by("pk").first()
    marking_actions.record_human_verdict(first, True, [1] * 10, actor=setting.team.aud, note="Right.")
    next_release(setting)
    run = work_through(setting.launch())
    own = run.verdicts.get(judge__person=setting.team.aud)
    assert (own.note, own.blind, own.carried_from.response) == ("Right.", True, first)
    marking_actions.record_human_verdict(own.response, False, [0] * 10, actor=setting.team.aud)
    own.refresh_from_db()
    assert own.carried_from is None


def test_run_page_says_what_was_carried_and_leads_to_where_from(setting, before):
    next_release(setting)
    run = work_through(setting.launch())
    client = setting.team.client("ann")
    page = reverse("evaluation:run-page", args=["bench", run.number])
    text = client.get(page).content.decode()
    assert "Carried over" in text and "paid before" in text and text.count("is-carried") == 3
    assert client.get(page, {"view": "table", "show": "carried"}).content.decode().count("carried over</span>") >= 3
    response = run.responses.first()
    text = client.get(reverse("evaluation:response-page", args=["bench", run.number, response.pk])).content.decode()
    assert f"carried over from run {before.number}, release r1" in text
    listed = client.get(f"/api/benchmarks/bench/runs/{run.number}/responses/").json()["results"]
    assert [row["carried_from"] for row in listed] == [r.pk for r in before.responses.order_by("pk")]


def test_launch_form_and_api_carry_over_unless_told_not_to(setting, before):
    next_release(setting)
    client = setting.team.client("admin")
    address = reverse("evaluation:run-launch", args=["bench"])
    assert 'name="carry_over"' in client.get(address).content.decode()
    data = {
        "release": setting.release.pk, "system": setting.system.pk, "condition": "with_image", "anyway": "yes",
        "judges": [setting.judge.pk], "concurrency": 4, "samples": 1, "repeats": 1,
    }  # fmt: skip
    body = {"release": "r2", "system": setting.system.name, "judges": [setting.judge.name]}
    api = "/api/benchmarks/bench/runs/"
    expected = []
    for carry in (True, False):
        client.post(address, {**data, **({"carry_over": "on"} if carry else {})})
        client.post(api, body if carry else {**body, "carry_over": False}, content_type="application/json")
        expected += [0 if carry else 3] * 2
    runs = setting.benchmark.runs.order_by("number")[1:]
    assert [run.responses.filter(status="pending").count() for run in runs] == expected


def test_carry_over_reads_as_much_for_many_items_as_for_few(db, demo_server, monkeypatch):
    """What a launch would copy is looked for in queries of many items, never item by item."""
    monkeypatch.setattr(carrying, "_AT_ONCE", 12)
    setting = make_setting(demo_server, 12, "several")
    work_through(setting.launch())
    next_release(setting)
    items = list(setting.release.release_items.values_list("pk", flat=True))
    draft = Run(release=setting.release, system=setting.system)
    counts = []
    for part in (items[:3], items):
        with CaptureQueriesContext(connection) as queries:
            found = carrying.count_carried(draft, part, [setting.judge])
        assert found == (len(part), {setting.judge.pk: len(part)})
        counts.append(len(queries))
    assert counts == [5, 5]
