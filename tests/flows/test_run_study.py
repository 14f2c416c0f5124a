"""`lhdr run_study` as a process of its own: with workers and without, to the end, to holes, to a stop, interrupted."""

import signal
import subprocess
import sys
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from django.conf import settings
from django.core.management import CommandError, call_command

from evaluation import study_actions
from evaluation.models import Run, Study
from evaluation.reports import leaderboard
from evaluation.study_queries import Matrix
from tests.evaluation.setting import Setting, make_setting
from tests.flows.processes import ROOT, environment, wait_until

pytestmark = [pytest.mark.worker, pytest.mark.django_db(transaction=True)]


def make_study(setting: Setting, **changes: Any) -> Study:
    data = {"name": "Spring", "release": setting.release, "systems": [setting.system], "judges": [setting.judge]}
    return study_actions.create_study(setting.benchmark, {**data, **changes}, actor=setting.team.admin)


def command(*arguments: str) -> list[str]:
    return [sys.executable, str(ROOT / "manage.py"), "run_study", *arguments]


def run_study(*arguments: str) -> "subprocess.CompletedProcess[str]":
    return subprocess.run(
        command(*arguments), cwd=ROOT, env=environment(), capture_output=True, text=True, timeout=120, check=False
    )


def test_four_systems_by_two_judges_are_done_by_the_workers(demo_server: Any, start: Any) -> None:
    demo_server.requests = []
    setting = make_setting(demo_server, 3)
    study = make_study(
        setting,
        systems=[setting.system, *(setting.new_system() for _ in range(3))],
        judges=[setting.judge, setting.new_judge()],
    )
    start("worker", "-P", "threads", "-c", "8", "-l", "WARNING")
    start("beat", "-l", "WARNING", "-s", str(Path(settings.DATA) / "beat-of-study"))
    done = run_study("bench", "Spring")
    assert done.returncode == 0, done.stdout + done.stderr
    assert "Runs launched: #1, #2, #3, #4" in done.stdout
    assert "12/12 responses, 24/24 verdicts, 0 failed" in done.stdout
    assert "\r" not in done.stdout and done.stdout.endswith("Complete: everything that was planned is there.\n")
    assert Matrix(study).is_complete
    assert len(leaderboard(setting.release, study=study)["runs"]) == 4
    # again: nothing is asked
    asked = len(demo_server.requests)
    again = run_study("bench", "1")
    assert (again.returncode, len(demo_server.requests)) == (0, asked)
    assert "Runs launched: none; resumed: 0; asked again: 0 responses, 0 verdicts" in again.stdout


def test_without_a_worker_it_works_itself_and_says_what_is_left(demo_server: Any) -> None:
    setting = make_setting(demo_server, 2)
    bad = setting.misbehaving("refused")
    study = make_study(setting, systems=[setting.system, bad])
    done = run_study("bench", "1", "--work", "--lanes", "4")
    assert done.returncode == 1, done.stdout + done.stderr
    assert "2/4 responses, 2/4 verdicts, 2 failed" in done.stdout
    assert f"{bad.name}, with image, responses: 2 failed (refused)" in done.stderr
    assert done.stderr.count("\n") == 1  # that there is nothing to judge goes without saying
    assert not Matrix(study).is_complete


def test_budget_that_is_used_up_is_a_stop(demo_server: Any) -> None:
    demo_server.requests = []
    setting = make_setting(demo_server, 2)
    study = make_study(setting, systems=[setting.system, setting.new_system()], token_budget=1, concurrency=1)
    done = run_study("bench", "1", "--work", "--lanes", "1")
    assert done.returncode == 2, done.stdout + done.stderr
    assert "The budget of its study is used up." in done.stderr and " budget\n" in done.stderr
    # nothing is left of it: the second time nothing is tried
    asked = len(demo_server.requests)
    again = run_study("bench", "1", "--work")
    assert again.returncode == 2 and "raise it in the plan" in again.stderr
    assert len(demo_server.requests) == asked
    study_actions.change_study(study, {"token_budget": None, "budget": Decimal(5)}, actor=setting.team.admin)
    assert run_study("bench", "1", "--work").returncode == 0


def test_interrupted_it_ends_its_calls_and_the_rest_waits(demo_server: Any) -> None:
    demo_server.requests = []
    setting = make_setting(demo_server, 40)
    setting.system = setting.new_system(extra_body={"demo": {"behaviour": "ok", "delay_ms": 200}})
    study = make_study(setting)
    process = subprocess.Popen(
        command("bench", "1", "--work", "--lanes", "2"),
        cwd=ROOT,
        env=environment(),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),  # a suite in the background ignores it
    )
    wait_until(lambda: Matrix(study).responses.done >= 2, 60, "two responses")
    process.send_signal(signal.SIGINT)
    _out, errors = process.communicate(timeout=30)
    assert process.returncode == 130 and "Interrupted." in errors
    matrix = Matrix(study)
    assert 2 <= matrix.responses.done < 40 and not matrix.responses.lacking("running")
    assert run_study("bench", "1", "--work").returncode == 0
    assert len(demo_server.requests) == 80  # nothing was asked twice


@pytest.mark.parametrize("name", ["7", "Autumn", "²", "9" * 5000])
def test_study_that_is_not_there_is_named_with_those_that_are(demo_server: Any, name: str) -> None:
    make_study(make_setting(demo_server, 1))
    with pytest.raises(CommandError, match=r"there is: 1 \(Spring\)"):
        call_command("run_study", "bench", name)


def test_frozen_study_is_reported_and_not_touched(demo_server: Any, capsys: Any) -> None:
    setting = make_setting(demo_server, 1)
    study = make_study(setting)
    assert run_study("bench", "1", "--work").returncode == 0
    study_actions.freeze_study(study, actor=setting.team.admin)
    Run.objects.get().verdicts.all().delete()
    with pytest.raises(SystemExit) as end:
        call_command("run_study", "bench", "1")
    assert end.value.code == 1
    said = capsys.readouterr()
    assert "Runs launched" not in said.out and "not asked" in said.err
