"""A real worker on a real queue, killed in the middle of a run: nothing is lost, nothing is asked twice but what was
under way.
"""

import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from django.conf import settings
from django.db import connection

from evaluation.models import Attempt, RunState
from lhdr_site.endpoints.models import Endpoint
from tests.evaluation.setting import make_setting

ROOT = Path(__file__).resolve().parents[2]
LEASE_SECONDS = 2
THREADS = 8

pytestmark = [pytest.mark.worker, pytest.mark.django_db(transaction=True)]


def database_url() -> str:
    """The test database, as another process finds it."""
    parts = connection.settings_dict
    if connection.vendor == "sqlite":
        return f"sqlite:///{parts['NAME']}"
    user = f"{parts['USER']}:{parts['PASSWORD']}@" if parts["USER"] else ""
    return f"postgres://{user}{parts['HOST']}:{parts['PORT'] or 5432}/{parts['NAME']}"


@pytest.fixture
def start(tmp_path):
    """Start a Celery process as the Procfile does; all are killed at the end."""
    folder = Path(settings.DATA) / "queue"
    shutil.rmtree(folder, ignore_errors=True)  # messages of other tests
    folder.mkdir()
    env = {
        **os.environ,
        "DJANGO_SETTINGS_MODULE": "lhdr_site.settings",
        "LHDR_DATA": str(settings.DATA),
        "DATABASE_URL": database_url(),
        "LHDR_LEASE_SECONDS": str(LEASE_SECONDS),
    }
    started: list[subprocess.Popen[bytes]] = []

    def run(*arguments: str) -> subprocess.Popen[bytes]:
        command = [sys.executable, "-m", "celery", "-A", "lhdr_site", *arguments]
        with open(tmp_path / f"{len(started)}.log", "wb") as log:
            process = subprocess.Popen(command, cwd=ROOT, env=env, stdout=log, stderr=log, start_new_session=True)
        started.append(process)
        return process

    yield run
    for process in started:
        kill(process)
    for log in sorted(tmp_path.glob("*.log")):
        print(log.name, log.read_text()[-3000:])


def kill(process: subprocess.Popen[bytes]) -> None:
    if process.poll() is None:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait(5)


def wait_until(condition: Callable[[], bool], seconds: float, what: str) -> None:
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, f"{what} did not happen within {seconds} s"
        time.sleep(0.1)


def test_worker_killed_in_the_middle_of_a_run_loses_nothing(demo_server, start):
    demo_server.requests = []
    setting = make_setting(demo_server, 200, slug="kill")
    Endpoint.objects.update(slots=THREADS)
    setting.system = setting.new_system(extra_body={"demo": {"behaviour": "ok", "delay_ms": 60}})
    run = setting.launch(concurrency=THREADS)
    worker = ("worker", "-P", "threads", "-c", str(THREADS), "-l", "WARNING")
    start("beat", "-l", "WARNING", "-s", str(Path(settings.DATA) / "beat-of-kill-test"))
    first = start(*worker)
    wait_until(lambda: run.responses.filter(status="completed").count() >= 60, 30, "60 of 200 responses")

    kill(first)
    time.sleep(0.2)  # what the dead worker had sent arrives
    under_way = Attempt.objects.filter(ended=None).count()
    assert run.responses.filter(status="completed").count() < 200, "it was killed too late to show anything"
    assert under_way > 0

    start(*worker)
    wait_until(lambda: type(run).objects.get(pk=run.pk).state == RunState.FINISHED, 40, "the end of the run")
    assert list(run.responses.values_list("status", flat=True)) == ["completed"] * 200
    assert run.responses.values("release_item").distinct().count() == 200
    assert list(run.verdicts.values_list("status", flat=True)) == ["completed"] * 200
    assert run.verdicts.values("response").distinct().count() == 200
    # every request that was not under way when the worker died was made once
    assert len(demo_server.requests) <= 400 + under_way
    lost = Attempt.objects.filter(error_kind="lost")
    assert lost.count() == under_way <= THREADS
    assert Attempt.objects.exclude(pk__in=lost).values("response", "verdict").distinct().count() == 400
    assert not Attempt.objects.filter(ended=None).exists()
