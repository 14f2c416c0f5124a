"""Faults on purpose: while a run goes on, every part of an installation is killed at random moments and started again.

`python -m bench.chaos [sqlite] [postgres] [--items 500] [--seconds 180] [--seed N]`. With SQLite the queue is the file
broker, whose messages are cut and removed, and the disk is filled up (on a small file system of its own, where the
machine lets us make one). With PostgreSQL both the cluster and Redis are our own, and die too. Everything lives in a
folder that goes away. What must hold: every response and verdict ends exactly once, every attempt says what happened,
and no more requests are repeated than were under way when something was killed. Exits with 1 where it does not.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import random
import shutil
import signal
import socket
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Sequence
from glob import glob
from pathlib import Path
from typing import Any

from bench.bench_web import _session
from bench.common import ROOT, Client, free_port, scratch, set_up

DATABASES = ("sqlite", "postgres")
THREADS, LEASE_SECONDS = 8, 5
DISK_MB = 192
PATIENCE = 180  # seconds from the last fault to the end of the run


def storm(database: str, *, items: int = 500, seconds: float = 180, seed: int = 1, delay_ms: int = 1500) -> Any:
    """Run it in an installation of its own. Returns what `_storm` does.

    seconds: how long things are killed at least; each part once in any case, as long as the run goes on.
    """
    options = {"database": database, "items": items, "seconds": seconds, "seed": seed, "delay_ms": delay_ms}
    with scratch() as env:
        env.pop("DATABASE_URL", None)
        command = [sys.executable, "-m", "bench.chaos", json.dumps(options)]
        alone = ["unshare", "--mount"] if os.geteuid() == 0 else ["unshare", "--map-root-user", "--mount"]
        disk = f"mount -t tmpfs -o size={DISK_MB}m tmpfs {env['LHDR_DATA']}"
        if database == "sqlite" and _works([*alone, "sh", "-c", disk]):
            command = [*alone, "sh", "-c", f'{disk} && exec "$@"', "sh", *command]
            env["LHDR_CHAOS_DISK"] = "1"
        log = Path(env["LHDR_DATA"]).with_suffix(".log")
        try:
            with (
                open(log, "wb") as errors,
                subprocess.Popen(command, cwd=ROOT, env=env, stdout=subprocess.PIPE, stderr=errors) as process,
            ):
                try:
                    output, _ = process.communicate()
                except BaseException:
                    process.terminate()  # it stops its parts first
                    raise
            if process.returncode:
                raise RuntimeError(f"the storm over {database} broke off:\n{log.read_text()[-5000:]}")
            found = json.loads(output.splitlines()[-1])
            if found["broken"]:
                found["log"] = log.read_text()[-5000:]
            return found
        finally:
            log.unlink(missing_ok=True)


def _works(command: Sequence[str]) -> bool:
    with contextlib.suppress(OSError):
        return subprocess.run(command, capture_output=True).returncode == 0
    return False


# --- the parts of an installation -----------------------------------------------------------------------------------


class Part:
    """A process that is killed and started again. port: of what answers there once it is up."""

    sign = signal.SIGKILL
    process: subprocess.Popen[bytes] | None = None

    def __init__(self, name: str, command: Sequence[str], *, port: int = 0, **options: Any):
        self.name, self.command, self.port, self.options = name, command, port, options

    def start(self) -> None:
        self.process = subprocess.Popen(
            self.command, cwd=ROOT, stdout=sys.stderr, stderr=sys.stderr, start_new_session=True, **self.options
        )

    def strike(self) -> None:
        assert self.process
        os.kill(self.process.pid, self.sign)
        self.process.wait()

    def mend(self) -> None:
        self.stop()
        self.start()
        self.wait()

    def wait(self) -> None:
        end = time.monotonic() + 60
        while self.port and not _answers(self.port):
            if time.monotonic() > end:
                raise TimeoutError(f"{self.name} does not come up")
            time.sleep(0.05)

    def stop(self) -> None:
        """With what it started: a web server's own workers outlive it."""
        if self.process:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(self.process.pid, signal.SIGKILL)


class Cluster(Part):
    """PostgreSQL, made by initdb; struck as `pg_ctl stop -m immediate` does: no checkpoint, recovery at the start."""

    sign = signal.SIGQUIT

    def __init__(self, folder: Path):
        tools = shutil.which("initdb") or next(iter(sorted(glob("/usr/lib/postgresql/*/bin/initdb"))[::-1]), "")
        if not tools:
            raise RuntimeError("initdb is not here: install PostgreSQL's server programs.")
        tools = str(Path(tools).resolve())
        user = {"user": "postgres"} if os.geteuid() == 0 else {}  # it refuses to be root's
        data = folder / "cluster"
        folder.chmod(0o755)
        data.mkdir()
        if user:
            shutil.chown(data, "postgres")
        init = [tools, "-D", str(data), "-U", "lhdr", "-A", "trust", "-E", "UTF8", "--no-sync"]
        subprocess.run(init, check=True, stdout=sys.stderr, cwd="/", **user)
        port = free_port()
        command = [str(Path(tools).with_name("postgres")), "-D", str(data), "-p", str(port), "-k", str(data)]
        super().__init__("database", command, port=port, **user)
        self.url = f"postgres://lhdr@127.0.0.1:{port}/postgres"

    def wait(self) -> None:
        """A server that recovers already listens."""
        import psycopg

        end = time.monotonic() + 60
        while True:
            try:
                psycopg.connect(self.url).close()
                return
            except psycopg.OperationalError:
                if time.monotonic() > end:
                    raise
                time.sleep(0.1)


class Messages:
    """The file broker's waiting messages: every second one is cut in the middle, the others are removed."""

    name = "messages"

    def __init__(self, folder: Path):
        self.folder = folder

    def strike(self) -> None:
        for number, path in enumerate(sorted(self.folder.glob("*.msg"))):
            with contextlib.suppress(FileNotFoundError):
                os.truncate(path, path.stat().st_size // 2) if number % 2 else path.unlink()

    def mend(self) -> None:
        pass

    def stop(self) -> None:
        pass


class Disk(Messages):
    """The disk on which everything lives, filled up to the last byte."""

    name = "disk"

    def strike(self) -> None:
        with contextlib.suppress(OSError), open(self.folder / "ballast", "wb", buffering=0) as file:
            while True:
                file.write(bytes(4096))

    def mend(self) -> None:
        (self.folder / "ballast").unlink()


def _answers(port: int) -> bool:
    with socket.socket() as probe:
        probe.settimeout(0.5)
        return probe.connect_ex(("127.0.0.1", port)) == 0


def _of_procfile(name: str) -> list[str]:
    line = next(p for p in (ROOT / "Procfile").read_text().splitlines() if p.startswith(f"{name}:"))
    return ["sh", "-c", f"exec {line.partition(':')[2]}"]


# --- one storm ------------------------------------------------------------------------------------------------------


def _storm(database: str, items: int, seconds: float, seed: int, delay_ms: int) -> dict[str, Any]:
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
    folder = Path(os.environ["LHDR_DATA"])
    web_port = free_port()
    os.environ |= {
        "LHDR_LEASE_SECONDS": str(LEASE_SECONDS),
        "LHDR_WORKER_THREADS": str(THREADS),
        "HOST": "127.0.0.1",
        "PORT": str(web_port),
        "LHDR_SECRET_KEY": "only for this storm",
    }
    around: list[Any] = []  # what the processes of the Workbench stand on
    try:
        if database == "postgres":
            redis_port = free_port()
            plain = ["--bind", "127.0.0.1", "--save", "", "--appendonly", "no", "--dir", str(folder)]
            redis = Part("broker", ["redis-server", "--port", str(redis_port), *plain], port=redis_port)
            cluster = Cluster(folder)
            around = [cluster, redis]
            os.environ |= {"DATABASE_URL": cluster.url, "CELERY_BROKER_URL": f"redis://127.0.0.1:{redis_port}/0"}
        for part in around:
            part.mend()
        return _run_through(around, folder, web_port, items, seconds, seed, delay_ms)
    finally:
        for part in around:
            part.stop()


def _run_through(
    around: list[Any], folder: Path, web_port: int, items: int, seconds: float, seed: int, delay_ms: int
) -> dict[str, Any]:
    set_up()
    from django.urls import reverse

    from lhdr_site.endpoints.demo_server import DemoServer
    from lhdr_site.endpoints.models import Endpoint
    from tests.evaluation.setting import make_setting

    server = DemoServer(delay_ms=delay_ms)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    setting = make_setting(server, items, slug="chaos")
    Endpoint.objects.update(slots=THREADS)
    broken = around or [Messages(folder / "queue")]
    if not around and "LHDR_CHAOS_DISK" in os.environ:
        broken.append(Disk(folder))
    ours = [
        Part("worker", _of_procfile("worker")),
        Part("beat", _of_procfile("beat")),
        Part("web", _of_procfile("web"), port=web_port),
    ]
    try:
        for part in ours:
            part.mend()
        run = setting.launch(concurrency=THREADS)
        page = reverse("evaluation:run-page", args=["chaos", run.number])
        client = Client(web_port, _session(setting.team.admin))
        start = time.monotonic()
        kills, at_risk = _strike(run, [*ours, *broken], client, page, random.Random(seed), seconds)
        last = time.monotonic()
        while _again(lambda: _state(run)) != "finished" and time.monotonic() < last + PATIENCE:
            time.sleep(0.2)
        took = time.monotonic() - start
        client.wait(page)
        wrong = _wrong(run, items, Counter(server.seen), at_risk)
    finally:
        for part in ours:
            part.stop()
    repeats = sum(server.seen.values()) - len(server.seen)
    return {
        "seed": seed,
        "items": items,
        "kills": kills,
        "requests": sum(server.seen.values()),
        "repeats": repeats,
        "at_risk": len(at_risk),
        "lost": 2 * items - len(server.seen),
        "seconds": round(took, 1),
        "broken": wrong,
    }


def _strike(
    run: Any, parts: list[Any], client: Client, page: str, luck: random.Random, seconds: float
) -> tuple[dict[str, int], set[int]]:
    """Kill one part after the other in random order. Returns how often each, and the attempts under way at a kill that
    may have taken them with it."""
    kills: Counter[str] = Counter()
    at_risk: set[int] = set()
    end = time.monotonic() + seconds
    while time.monotonic() < end or len(kills) < len(parts):
        for part in luck.sample(parts, len(parts)):
            time.sleep(luck.uniform(0.3, 2.5))
            if _again(lambda: _state(run)) not in ("queued", "running"):
                return dict(kills), at_risk
            is_storage = part.name in ("database", "disk")
            if is_storage:
                at_risk |= _under_way()
            part.strike()
            kills[part.name] += 1
            if part.name == "worker":
                at_risk |= _under_way()
            time.sleep(luck.uniform(0.2, 2.0))
            part.mend()
            if is_storage:
                at_risk |= _again(_under_way)
            if part.name == "web":
                client.connection.close()
                client.wait(page)
    return dict(kills), at_risk


def _again(read: Any, seconds: float = 60) -> Any:
    """What `read` returns, once the database answers."""
    from django.db import Error, connection

    end = time.monotonic() + seconds
    while True:
        try:
            return read()
        except Error:
            connection.close()
            if time.monotonic() > end:
                raise
            time.sleep(0.1)


def _state(run: Any) -> str:
    return str(type(run).objects.values_list("state", flat=True).get(pk=run.pk))


def _under_way() -> set[int]:
    from evaluation.models import Attempt

    return set(Attempt.objects.filter(ended=None).values_list("pk", flat=True))


def _wrong(run: Any, items: int, seen: Counter[str], at_risk: set[int]) -> list[str]:
    """What does not hold, in words."""
    from evaluation.models import Attempt
    from lhdr_site.endpoints.errors import ErrorKind

    requests, repeats = sum(seen.values()), sum(seen.values()) - len(seen)
    attempts = Attempt.objects.all()
    answered = attempts.filter(error_kind="", http_status=200)
    whole = {"completed": items}
    found = {
        "the run ended": _state(run) == "finished",
        "every response ended once": _counted(run.responses) == whole,
        "every item has one response": run.responses.values("release_item").distinct().count() == items,
        "every verdict ended once": _counted(run.verdicts) == whole,
        "every response has one verdict": run.verdicts.values("response").distinct().count() == items,
        "everything was asked": len(seen) == 2 * items,
        f"repeated requests ({repeats}) are at most those under way at a kill ({len(at_risk)})": repeats
        <= len(at_risk),
        f"every request ({requests}) has its attempt ({attempts.count()})": requests <= attempts.count(),
        "every attempt ended": not attempts.filter(ended=None).exists(),
        "every attempt says what happened": not attempts.exclude(pk__in=answered)
        .exclude(error_kind__in=list(ErrorKind))
        .exists(),
        "every response and verdict rests on an answer": answered.values("response", "verdict").distinct().count()
        == 2 * items,
    }
    return [what for what, holds in found.items() if not holds]


def _counted(rows: Any) -> dict[str, int]:
    from django.db.models import Count

    return dict(rows.order_by().values_list("status").annotate(n=Count("pk")))


# --- the table ------------------------------------------------------------------------------------------------------


def main(argv: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(prog="python -m bench.chaos", description=__doc__)
    parser.add_argument("databases", nargs="*", metavar="database", help=f"{' or '.join(DATABASES)}; both without any")
    parser.add_argument("--items", type=int, default=500)
    parser.add_argument("--seconds", type=float, default=180, help="how long things are killed")
    parser.add_argument("--seed", type=int, default=int(time.time()) % 100_000)
    options = parser.parse_args(argv)
    if unknown := sorted(set(options.databases) - set(DATABASES)):
        parser.error(f"there is no {', '.join(unknown)}; choose from {', '.join(DATABASES)}")
    whole = True
    head = ("database", "seed", "items", "requests", "repeats", "under way at a kill", "lost", "seconds", "kills")
    print("  ".join(head), flush=True)
    for database in options.databases or DATABASES:
        found = storm(database, items=options.items, seconds=options.seconds, seed=options.seed)
        kills = ", ".join(f"{name} {count}" for name, count in sorted(found["kills"].items()))
        names = ("seed", "items", "requests", "repeats", "at_risk", "lost", "seconds")
        cells = [database, *(str(found[name]) for name in names), kills]
        print("  ".join(f"{cell:>{len(name)}}" for name, cell in zip(head, cells, strict=True)), flush=True)
        for broken in found["broken"]:
            print(f"  does not hold: {broken}", flush=True)
        whole = whole and not found["broken"]
    return 0 if whole else 1


if __name__ == "__main__":
    if len(sys.argv) == 2 and sys.argv[1].startswith("{"):
        print(json.dumps(_storm(**json.loads(sys.argv[1]))))
    else:
        sys.exit(main(sys.argv[1:]))
