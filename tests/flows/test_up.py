"""`lhdr up`, as a person starts it: all comes up, the demo is there, Ctrl-C ends all, a second start keeps the data."""

import json
import os
import signal
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from django.apps import apps

from annotation import search

ROOT = Path(__file__).resolve().parents[2]
pytestmark = [pytest.mark.worker, pytest.mark.timeout(900)]


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def get(url: str) -> tuple[int, str]:
    try:
        with urllib.request.urlopen(url, timeout=5) as reply:
            return reply.status, reply.read().decode()
    except urllib.error.HTTPError as error:
        return error.code, error.read().decode()
    except OSError:
        return 0, ""


def wait_for(condition: Callable[[], Any], seconds: float = 60) -> Any:
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        if result := condition():
            return result
        time.sleep(0.2)
    pytest.fail("did not happen in time")


class Installation:
    """A data folder of its own and the processes over it."""

    def __init__(self, folder: Path):
        self.folder, self.port = folder, free_port()
        clean = {k: v for k, v in os.environ.items() if not k.startswith(("LHDR_", "DATABASE_", "CELERY_", "DJANGO_"))}
        self.env = {
            **clean,
            "LHDR_DATA": str(folder),
            "PORT": str(self.port),
            "LHDR_DEMO_PORT": str(free_port()),
            "LHDR_WORKER_THREADS": "8",
        }
        self.process: subprocess.Popen[str] | None = None

    def start(self) -> None:
        self.log = open(self.folder.parent / "log", "a+")  # noqa: SIM115  read after the process ends
        command = [sys.executable, str(ROOT / "manage.py"), "up"]
        self.process = subprocess.Popen(
            command, env=self.env, stdout=self.log, stderr=subprocess.STDOUT, text=True, start_new_session=True
        )
        wait_for(lambda: self.healthy() or self.process.poll() is not None, 240)  # with the demo, on a busy machine
        assert self.process.poll() is None, self.output()

    def healthy(self) -> bool:
        return get(f"http://127.0.0.1:{self.port}/healthz")[0] == 200

    def output(self) -> str:
        self.log.flush()
        return (self.folder.parent / "log").read_text()

    def children(self) -> list[int]:
        """Every live process with this installation's data folder in its environment."""
        found = []
        for entry in Path("/proc").iterdir():
            if entry.name.isdigit():
                try:
                    environment = (entry / "environ").read_bytes()
                    state = (entry / "stat").read_text().rsplit(")", 1)[1].split()[0]
                except OSError:
                    continue
                if f"LHDR_DATA={self.folder}".encode() in environment and state != "Z":
                    found.append(int(entry.name))
        return found

    def interrupt(self) -> None:
        assert self.process is not None
        self.process.send_signal(signal.SIGINT)
        self.process.wait(30)

    def lhdr(self, *arguments: str) -> str:
        result = subprocess.run(
            [sys.executable, str(ROOT / "manage.py"), *arguments], env=self.env, capture_output=True, text=True
        )
        assert result.returncode == 0, result.stderr
        return result.stdout


@pytest.fixture
def installation(tmp_path: Path) -> Iterator[Installation]:
    folder = tmp_path / "data"
    folder.mkdir()
    installation = Installation(folder)
    yield installation
    for pid in installation.children():
        os.kill(pid, signal.SIGKILL)


def test_up_starts_everything_and_ctrl_c_ends_it_and_data_stays(installation: Installation) -> None:
    installation.start()
    assert json.loads(get(f"http://127.0.0.1:{installation.port}/healthz")[1])["healthy"]
    wait_for(lambda: f"http://localhost:{installation.port}/" in installation.output())
    for name in ("ada", "bela", "cora", "dana"):
        assert name in installation.output()
    status, page = get(f"http://127.0.0.1:{installation.port}/login/")
    assert status == 200 and "Ada Annotator" in page
    # The demo's runs are answered by the demo endpoint through the real worker.
    count = (
        "from evaluation.models import Run; print(sorted(set(Run.objects.values_list('state', flat=True))), "
        "Run.objects.count())"
    )
    wait_for(lambda: "['finished'] 5" in installation.lhdr("shell", "-v", "0", "-c", count), 240)
    assert "all documents, hashes" in installation.lhdr("verify")
    made = "import json; from django.db import connection as c; print(json.dumps(c.introspection.table_names()))"
    models = {model._meta.db_table for model in apps.get_models(include_auto_created=True)}
    assert {*models, search.TABLE} <= set(json.loads(installation.lhdr("shell", "-v", "0", "-c", made)))
    assert "ok" in installation.lhdr("doctor").split("guards")[1].splitlines()[0]
    installation.interrupt()
    wait_for(lambda: not installation.children(), 15)

    installation.start()
    assert "['finished'] 5" in installation.lhdr("shell", "-v", "0", "-c", count)
    installation.interrupt()
    wait_for(lambda: not installation.children(), 15)


def test_up_when_the_port_is_taken_says_what_to_set(installation: Installation) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", installation.port))
        taken.listen()
        result = subprocess.run(
            [sys.executable, str(ROOT / "manage.py"), "up"], env=installation.env, capture_output=True, text=True
        )
    assert result.returncode != 0
    assert f"Port {installation.port} is in use" in result.stderr and "PORT" in result.stderr
