"""Figures of a run's progress and judges side by side, worked out by hand."""

from datetime import timedelta
from decimal import Decimal
from typing import Any

import pytest
from django.utils import timezone

from annotation.document import Document
from evaluation.models import Attempt, Judge, Response, Run, Verdict
from evaluation.progress import Progress, read_cells
from evaluation.queries import (
    ShownVerdict,
    compare_verdicts,
    prompt_of,
    verdict_outcome,
    verdicts_on,
)
from tests.documents import good_document
from tests.evaluation.setting import Setting

NOW = timezone.now()


@pytest.mark.parametrize(
    ("status", "correct", "unparseable", "expected"),
    [
        ("completed", True, "", "correct"),
        ("completed", False, "", "wrong"),
        ("completed", None, "vector missing", "unparseable"),
        ("failed", None, "", "judge_failed"),
        ("failed", None, "vector missing", "unparseable"),
        ("pending", None, "", "unjudged"),
        ("running", None, "", "unjudged"),
        ("cancelled", None, "", "unjudged"),
    ],
)
def test_verdict_outcome(status: str, correct: bool | None, unparseable: str, expected: str) -> None:
    assert verdict_outcome(status, correct, unparseable) == expected


# --- progress -----------------------------------------------------------------------------------------------------


def responses(run: Run, *changes: dict[str, Any]) -> list[Response]:
    rows = list(run.responses.order_by("release_item__position"))
    for row, fields in zip(rows, changes, strict=False):
        Response.objects.filter(pk=row.pk).update(**fields)
    return rows


def test_progress_of_a_new_run_knows_nothing_yet(setting: Setting) -> None:
    progress = Progress(setting.launch())
    assert (progress.done, progress.open, progress.total, progress.done_share) == (0, 3, 3, 0.0)
    assert progress.outcomes == {"pending": 3}
    assert (progress.per_minute, progress.time_left, progress.expected, progress.median_cost) == (None,) * 4
    assert progress.is_active


def test_progress_counts_outcomes_by_the_main_judge_alone(setting: Setting) -> None:
    other = setting.new_judge()
    run = setting.launch(judges=[setting.judge, other])
    first, second, _third = responses(
        run,
        {"status": "completed"},
        {"status": "completed", "truncated": True},
        {"status": "failed", "error_kind": "timeout"},
    )
    for judge, correct in ((setting.judge, True), (other, False)):
        Verdict.objects.create(
            run=run, response=first, judge=judge, status="completed", answer_correct=correct, vector=[1, 0, 1]
        )
    progress = Progress(run)
    assert progress.outcomes == {"correct": 1, "unjudged": 1, "failed": 1}
    assert (progress.correct, progress.judged, progress.stated, progress.truncated) == (1, 1, (2, 3), 1)
    assert [cell.pk for cell in read_cells(Progress(run).cells("unjudged"))] == [second.pk]
    assert [cell.pk for cell in read_cells(Progress(run).cells("truncated"))] == [second.pk]
    cells = read_cells(Progress(run).cells("anything"))
    assert [(cell.outcome, cell.stated, cell.steps) for cell in cells] == [
        ("correct", 2, 3), ("unjudged", 0, 0), ("failed", 0, 0)
    ]  # fmt: skip
    assert [(row.judge, row.is_main, row.done, row.open) for row in progress.judges] == [
        (setting.judge, True, 1, 0),
        (other, False, 1, 0),
    ]
    assert progress.judged_by_main == 1


def test_progress_rate_counts_the_last_ten_minutes(setting: Setting) -> None:
    # Started 20 minutes ago; two ended within ten minutes, one before: 2 / 10 = 0.2 a minute, nothing is left.
    run = setting.launch()
    Run.objects.filter(pk=run.pk).update(state="running", started=NOW - timedelta(minutes=20))
    run.refresh_from_db()
    responses(
        run,
        {"status": "completed", "ended": NOW - timedelta(minutes=1)},
        {"status": "failed", "ended": NOW - timedelta(minutes=9)},
        {"status": "completed", "ended": NOW - timedelta(minutes=15)},
    )
    progress = Progress(run, NOW)
    assert progress.per_minute == pytest.approx(0.2)
    assert progress.time_left is None


def test_progress_time_left_follows_from_rate_and_what_is_open(setting: Setting) -> None:
    # Started 4 minutes ago, two done: half a minute's worth each... 0.5 a minute, one open: 2 minutes.
    run = setting.launch()
    Run.objects.filter(pk=run.pk).update(state="running", started=NOW - timedelta(minutes=4))
    run.refresh_from_db()
    ended = {"status": "completed", "ended": NOW - timedelta(minutes=1)}
    responses(run, ended, ended)
    progress = Progress(run, NOW)
    assert progress.time_left == timedelta(minutes=2)
    assert progress.ends_near == timezone.localtime(NOW + timedelta(minutes=2))
    run.state = "paused"
    assert Progress(run, NOW).time_left is None


def test_progress_money_and_tokens_add_up_and_unknown_is_no_zero(setting: Setting) -> None:
    # 0.30 spent for 2 of 3 items: 0.45 expected. Costs 0.10, unknown and 0.20: the median of the known ones is 0.15.
    run = setting.launch()
    Run.objects.filter(pk=run.pk).update(spent=Decimal("0.30"), unpriced=1, state="running")
    run.refresh_from_db()
    first, _second, _third = responses(
        run,
        {"status": "completed", "cost": Decimal("0.10"), "prompt_tokens": 100, "completion_tokens": 7},
        {"status": "completed", "cost": None},
        {"status": "pending", "cost": Decimal("0.20")},
    )
    Verdict.objects.create(
        run=run, response=first, judge=setting.judge, status="completed", prompt_tokens=50, completion_tokens=3
    )
    progress = Progress(run)
    assert progress.expected == Decimal("0.45")
    assert progress.median_cost == Decimal("0.15")
    assert (progress.prompt_tokens, progress.completion_tokens, progress.all_tokens) == (150, 10, 160)


def test_progress_errors_count_calls_and_what_stayed_failed(setting: Setting) -> None:
    run = setting.launch()
    first, second, _third = responses(
        run,
        {"status": "failed", "error_kind": "timeout"},
        {"status": "completed"},
        {"status": "failed", "error_kind": ""},
    )
    verdict = Verdict.objects.create(run=run, response=second, judge=setting.judge)
    plain: dict[str, Any] = {"owner": "00000000-0000-0000-0000-000000000000", "request": {}, "requested_model": "m"}
    for _ in range(3):
        Attempt.objects.create(response=first, error_kind="timeout", **plain)
    Attempt.objects.create(response=second, error_kind="rate_limited", **plain)
    Attempt.objects.create(verdict=verdict, error_kind="rate_limited", **plain)
    Attempt.objects.create(response=second, **plain)
    other = Verdict.objects.create(run=run, response=first, judge=setting.judge, status="failed", error_kind="auth")
    shown = [(row.kind, row.attempts, row.judge_attempts, row.failed, row.judge_failed) for row in Progress(run).errors]
    assert shown == [
        ("timeout", 3, 0, 1, 0),
        ("rate_limited", 1, 1, 0, 0),
        ("unknown", 0, 0, 1, 0),
        ("auth", 0, 0, 0, 1),
    ]
    assert other.run == run and Progress(run).errors[0].named == ((first.pk, 1),)


def test_progress_when_there_are_many_responses_takes_as_few_queries(
    setting: Setting, django_assert_num_queries: Any
) -> None:
    run = setting.launch(samples=20)
    run.responses.filter(sample__gt=1).update(status="failed", error_kind="timeout")
    with django_assert_num_queries(10):
        progress = Progress(run)
        assert progress.statuses == {"completed": 0, "failed": 57, "running": 0, "pending": 3, "cancelled": 0}
        assert len(progress.errors[0].named) == 8 and progress.errors[0].again == 57
        assert (progress.failures, progress.median_cost, progress.all_tokens, progress.carried_cost) == (57, None, 0, 0)
        assert len(read_cells(progress.cells()[:10])) == 10


def test_progress_of_a_stopped_run_moves_while_a_call_is_under_way(setting: Setting) -> None:
    run = setting.launch()
    run.state = "stopped"
    assert not Progress(run).is_active
    responses(run, {"status": "running"})
    assert Progress(run).is_active


# --- judges side by side ------------------------------------------------------------------------------------------


def shown(document: Document, answer: bool | None, vector: list[int] | None, name: str = "j") -> ShownVerdict:
    verdict = Verdict(judge=Judge(name=name), status="completed", answer_correct=answer, vector=vector)
    return ShownVerdict(verdict, document, False)


def test_compare_frames_what_differs_from_most() -> None:
    document = good_document()
    one, two, three = (shown(document, True, [1] * 10) for _ in range(3))
    three.verdict.vector = [1, 0, *[1] * 8]
    three.verdict.answer_correct = False
    found = compare_verdicts([one, two, three], one)
    assert (found.unanimous_answer, found.unanimous_steps, found.readable) == (False, 9, 3)
    assert [row.answer for row in found.rows] == [(True, False), (True, False), (False, True)]
    assert found.rows[2].steps[1] == (False, True)
    assert not any(differs for row in found.rows[:2] for _mark, differs in row.steps)


def test_compare_frames_the_one_that_says_yes_where_most_say_no() -> None:
    document = good_document()
    one, two, three = (shown(document, False, [0] * 10) for _ in range(3))
    three.verdict.vector = [1, *[0] * 9]
    rows = compare_verdicts([one, two, three], three).rows
    assert [row.steps[0] for row in rows] == [(False, False), (False, False), (True, True)]


def test_compare_of_two_frames_the_one_that_is_not_selected() -> None:
    document = good_document()
    one, two = shown(document, True, [1] * 10), shown(document, True, [0, *[1] * 9])
    assert [row.steps[0] for row in compare_verdicts([one, two], one).rows] == [(True, False), (False, True)]
    assert [row.steps[0] for row in compare_verdicts([one, two], two).rows] == [(True, True), (False, False)]


def test_compare_leaves_out_what_cannot_be_read() -> None:
    document = good_document()
    one, none = shown(document, True, [1] * 10), shown(document, None, None)
    short = shown(document, True, [1] * 9)
    found = compare_verdicts([one, none, short], one)
    assert [row.answer is None for row in found.rows] == [False, True, True]
    assert (found.readable, found.unanimous_steps, len(found.numbers)) == (1, 10, 10)


def test_compare_of_nothing_is_nothing() -> None:
    found = compare_verdicts([], None)
    assert (found.rows, found.numbers, found.unanimous_answer, found.unanimous_steps) == ([], [], False, 0)


def test_shown_verdict_explains_each_step() -> None:
    # c8 needs c6 and c7; c6 hangs on c5 ... c1. Without c7: 8, 9 and 10 are blocked by 7, the first six hold.
    verdict = shown(good_document(), True, [1, 1, 1, 1, 1, 1, 0, 1, 1, 1])
    assert (verdict.missing, verdict.blocked) == ([7], [8, 9, 10])
    assert [row.blocked_by for row in verdict.steps[7:]] == [(7,), (7,), (7,)]
    assert (verdict.stated_count, verdict.credited_count) == (9, 6)
    assert verdict.scores.dacs == pytest.approx(0.6)
    assert [node.status for node in verdict.drawing.nodes].count("blocked") == 3


def test_shown_verdict_cuts_the_output_where_it_was_read() -> None:
    text = "So.\nCHECKLIST_RESULT: [1, 1, 1, 1, 1, 1, 1, 1, 1, 1]\nOVERALL_CORRECTNESS: NO\nDone."
    verdict = shown(good_document(), False, [1] * 10)
    verdict.verdict.output = text
    assert "".join(piece.text for piece in verdict.pieces) == text
    assert [piece.text for piece in verdict.pieces if piece.read] == [
        "CHECKLIST_RESULT: [1, 1, 1, 1, 1, 1, 1, 1, 1, 1]",
        "OVERALL_CORRECTNESS: NO",
    ]
    verdict = shown(good_document(), None, None)
    verdict.verdict.output = "no verdict at all"
    assert [tuple(piece) for piece in verdict.pieces] == [("no verdict at all", False)]


def test_verdicts_come_main_judge_first_and_people_last(setting: Setting) -> None:
    main, other = setting.new_judge(name="Z main"), setting.new_judge(name="A other")
    run = setting.launch(judges=[other, main], main_judge=main)
    response = responses(run, {"status": "completed"})[0]
    person = Judge.objects.create(
        benchmark=setting.benchmark, name="0 person", person=setting.team.aud, created_by=setting.team.aud
    )
    for judge in (person, other, main):
        Verdict.objects.create(run=run, response=response, judge=judge, status="completed")
    names = [v.judge.name for v in verdicts_on(response, good_document(), main.pk)]
    assert names == ["Z main", "A other", "0 person"]


@pytest.mark.parametrize(
    ("request_sent", "expected"),
    [
        ({"messages": [{"role": "user", "content": "Mark it."}]}, "Mark it."),
        ({"messages": [{"content": [{"type": "text", "text": "a"}, {"type": "image"}, {"text": "b"}]}]}, "a\n\nb"),
        ({"input": [{"role": "user", "content": [{"type": "input_text", "text": "Mark it."}]}]}, "Mark it."),
        ({"messages": []}, ""),
        ({}, ""),
        ([], ""),
    ],
)
def test_prompt_is_read_out_of_the_request(setting: Setting, request_sent: Any, expected: str) -> None:
    run = setting.launch()
    verdict = Verdict.objects.create(run=run, response=run.responses.order_by("pk")[0], judge=setting.judge)
    assert prompt_of(verdict) == ""
    Attempt.objects.create(
        verdict=verdict, owner="00000000-0000-0000-0000-000000000000", request=request_sent, requested_model="m"
    )
    assert prompt_of(verdict) == expected
