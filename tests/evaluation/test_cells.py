"""What a run holds as arrays is the same from its rows and from its packed copy, until it is open again."""

from typing import Any

import numpy as np
import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from evaluation import cells, marking_actions
from evaluation.models import Judge, Report, Run, Verdict
from evaluation.reports import _graph, leaderboard, store_leaderboards
from evaluation.scoring.metrics import Profile

from .setting import Setting, work_through

NAMES = ("answers", "stated", "completed")


@pytest.fixture
def runs(setting: Setting) -> list[Run]:
    """One run of three samples under two judges, one failed response, one unreadable verdict, one half that can be
    read, and a person's verdict; and a run under one of the judges."""
    first = work_through(setting.launch(judges=[setting.judge, setting.new_judge()], samples=3))
    second = work_through(setting.launch(system=setting.new_system()))
    first.responses.filter(release_item__position=2, sample=2).update(status="failed")
    of_main = Verdict.objects.filter(run=first, judge=setting.judge)
    of_main.filter(response__sample=1, response__release_item__position=0).update(unparseable="x", vector=None)
    half = "CHECKLIST_RESULT: [1, 1, 1, 0]\nOVERALL_CORRECTNESS: maybe"
    of_main.filter(response__sample=3, response__release_item__position=1).update(
        unparseable="x", vector=None, answer_correct=None, output=half
    )
    marking_actions.record_human_verdict(second.responses.order_by("pk")[0], True, [1] * 10, actor=setting.team.aud)
    return [first, second]


def read(setting: Setting, runs: list[Run], profile: Profile) -> cells.Cells:
    judges = list(Judge.objects.order_by("-pk"))  # a person among them
    assert [judge.person_id for judge in judges].count(None) == len(judges) - 1 == 2
    return cells.read_cells(_graph(setting.release, profile)[1], runs, judges, profile)


@pytest.mark.parametrize("profile", Profile)
def test_cells_are_the_same_from_rows_and_from_packed_copies(
    setting: Setting, runs: list[Run], profile: Profile, monkeypatch: pytest.MonkeyPatch
) -> None:
    from_rows = read(setting, runs, profile)
    assert {-1, 0, 1} == set(from_rows.stated.ravel().tolist()) and not from_rows.completed.all()
    monkeypatch.setattr(cells, "PACKED_FROM", 1)
    grid = _graph(setting.release, profile)[1]
    for _ in range(2):
        cells.store_cells(grid, runs, 2, profile)
    assert sorted(Report.objects.filter(kind__startswith="cells").values_list("kind", flat=True)) == sorted(
        f"cells:{run.pk}:{profile}" for run in runs
    )
    with CaptureQueriesContext(
        connection,
    ) as queries:
        packed = read(setting, runs, profile)
    asked = [query["sql"] for query in queries if "evaluation_verdict" in query["sql"]]
    assert len(asked) <= 2  # of the runs without a copy, there is none; and what people said
    for name in NAMES:
        assert np.array_equal(getattr(packed, name), getattr(from_rows, name)), name
    # one of several judges, and the runs the other way round
    turned = cells.read_cells(grid, runs[::-1], [setting.judge], profile)
    at = list(Judge.objects.order_by("-pk")).index(setting.judge)
    assert np.array_equal(turned.answers[0][[1, 0, 2, 3]], from_rows.answers[at])


def test_copy_of_a_run_that_was_open_again_is_replaced(
    setting: Setting, runs: list[Run], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(cells, "PACKED_FROM", 1)
    store_leaderboards(setting.release)
    before = leaderboard(setting.release)
    assert Report.objects.filter(kind__startswith="cells").count() == 4
    second = runs[1]
    Verdict.objects.filter(run=second).update(answer_correct=True, vector=[1] * 10)
    second.ended = timezone.now()  # as every change leaves it
    second.save()
    fresh = read(setting, runs, Profile.STRICT)
    store_leaderboards(setting.release)
    assert Report.objects.filter(kind__startswith="cells").count() == 4
    again = read(setting, runs, Profile.STRICT)
    assert all(np.array_equal(getattr(fresh, name), getattr(again, name)) for name in NAMES)
    rows: list[dict[str, Any]] = leaderboard(setting.release)["runs"]
    assert [row["OA"] for row in rows if row["run"] == second.pk] == [1.0]
    assert rows != before["runs"]


def test_small_runs_and_open_ones_are_read_from_their_rows(setting: Setting, runs: list[Run]) -> None:
    store_leaderboards(setting.release)
    assert not Report.objects.filter(kind__startswith="cells").exists()
    assert not cells._is_packed(setting.launch(samples=20), 100)
