"""Real Celery processes on the test database, and waiting for what they do."""

import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from django.conf import settings
from django.db import connection

ROOT = Path(__file__).resolve().parents[2]
LEASE_SECONDS = 2


def database_url() -> str:
    """The test database, as another process finds it."""
    parts = connection.settings_dict
    if connection.vendor == "sqlite":
        return f"sqlite:///{parts['NAME']}"
    user = f"{parts['USER']}:{parts['PASSWORD']}@" if parts["USER"] else ""
    return f"postgres://{user}{parts['HOST']}:{parts['PORT'] or 5432}/{parts['NAME']}"


def environment() -> dict[str, str]:
    """That of a process which works on the test database."""
    return {
        **os.environ,
        "DJANGO_SETTINGS_MODULE": "lhdr_site.settings",
        "LHDR_DATA": str(settings.DATA),
        "DATABASE_URL": database_url(),
        "LHDR_LEASE_SECONDS": str(LEASE_SECONDS),
    }


@pytest.fixture
def start(tmp_path: Path) -> Iterator[Any]:
    """Start a Celery process as the Procfile does; all are killed at the end."""
    folder = Path(settings.DATA) / "queue"
    shutil.rmtree(folder, ignore_errors=True)  # messages of other tests
    folder.mkdir()
    env = environment()
    started: list[subprocess.Popen[bytes]] = []

    def run(*arguments: str, **more: str) -> subprocess.Popen[bytes]:
        command = [sys.executable, "-m", "celery", "-A", "lhdr_site", *arguments]
        with open(tmp_path / f"{len(started)}.log", "wb") as log:
            process = subprocess.Popen(
                command, cwd=ROOT, env=env | more, stdout=log, stderr=log, start_new_session=True
            )
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
