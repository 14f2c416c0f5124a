"""What the benchmarks share: rows, timing in turn with a baseline, items, scratch installations, servers, clients."""

from __future__ import annotations

import http.client
import json
import os
import random
import socket
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit
from uuid import uuid4

ROOT = Path(__file__).resolve().parents[1]
BIN = Path(sys.executable).parent
Row = dict[str, Any]


def row(name: str, ours: Sequence[float], baseline: Sequence[float], unit: str = "ms", aim: str = "") -> Row:
    """One line of the table. ratio: median of ours / median of the baseline. aim: such as "≤ 40 ms, ≤ 4x"."""
    median, beside = statistics.median(ours), statistics.median(baseline)
    return {
        "name": name,
        "median": median,
        "low": min(ours),
        "high": max(ours),
        "unit": unit,
        "baseline": beside,
        "ratio": median / beside,
        "aim": aim,
    }


def milliseconds(work: Callable[[], Any]) -> float:
    start = time.perf_counter()
    work()
    return (time.perf_counter() - start) * 1000


def in_turn(ours: Callable[[], Any], baseline: Callable[[], Any], repeats: int) -> tuple[list[float], list[float]]:
    """Milliseconds of each, one after the other, so that a slow moment of the machine meets both; once to warm up."""
    ours(), baseline()
    times = [(milliseconds(ours), milliseconds(baseline)) for _ in range(repeats)]
    return [t[0] for t in times], [t[1] for t in times]


def print_rows(rows: Sequence[Row]) -> None:
    """The table: the baseline is the same work in its plainest form, measured in turn with ours."""
    width = max(len(r["name"]) for r in rows)
    print(f"{'':{width}}  {'median':>9} {'range':>19}         {'baseline':>9} {'ratio':>7}  aim")
    for r in rows:
        low_high = f"{_figure(r['low'])} - {_figure(r['high'])}"
        print(
            f"{r['name']:{width}}  {_figure(r['median']):>9} {low_high:>19} {r['unit']:7}"
            f" {_figure(r['baseline']):>9} {r['ratio']:>7.2f}  {_aim(r)}"
        )


def _figure(value: float) -> str:
    return f"{value:,.0f}" if value >= 100 else f"{value:.3g}"


def _aim(r: Row) -> str:
    aim = r.get("aim", "")
    return f"{aim}  {'met' if met(r) else 'MISSED'}" if aim else ""


def met(r: Row) -> bool:
    """Whether a row keeps every part of its aim: "≤ 4x" is about the ratio, the others about the median."""
    for part in r["aim"].split(", "):
        sign, limit = part.split()[:2]
        value = r["ratio"] if limit.endswith("x") else r["median"]
        if (value > float(limit.rstrip("x"))) if sign == "≤" else (value < float(limit.rstrip("x"))):
            return False
    return True


# --- items --------------------------------------------------------------------------------------------------------

_WORDS = """
harbour ledger violin copper meadow archive lantern senate glacier printer orchard minister canal pamphlet bishop
comet tramway treaty quarry sculptor beacon regatta botanist foundry census dialect viaduct almanac garrison weaver
""".split()


def item_data(number: int, slug: str = "bench") -> dict[str, Any]:
    """An item of 5 nodes, 12 steps and 8 URLs, 4.4 KB as it stands in a file; no two ask the same."""
    words = random.Random(number)

    def some(count: int) -> str:
        return " ".join(words.choice(_WORDS) for _ in range(count))

    def step(n: int) -> dict[str, Any]:
        return {
            "key": f"c{n}",
            "conclusion": f"The {some(3)} is {some(2)}.",
            "prerequisites": [f"c{n - 1}"] if n > 1 else [],
            "modality": "image",
            "nodes": [f"n{(n - 1) % 5 + 1}"],
            "sources": [f"s{(n - 1) % 8 + 1}"],
        }

    return {
        "schema": "lhdr.item/1",
        "id": f"{slug}-{number}",
        "language": "en",
        "question": f"Which {some(5)} beside the {some(5)} in the picture came to the {some(5)}, and in what year?",
        "answer": str(1000 + number % 1000),
        "answer_sources": ["s8"],
        "as_of": "2026-11-30",
        "category": ("media", "people", "geography", "society")[number % 4],
        "template": "linear",
        "operation_tags": ["constraint", "temporal"],
        "design": f"From the {some(4)} to the {some(4)}.",
        "nodes": [
            {"key": f"n{n}", "entity": f"{some(2)} {number}-{n}", "kind": "place", "sources": [f"s{n}"],
             "properties": [{"name": "founder", "value": some(1)}]}
            for n in range(1, 6)
        ],
        "relations": [
            {"key": f"r{n}", "from": f"n{n}", "to": f"n{n + 1}", "kind": "shared_attribute", "via": "founder"}
            for n in range(1, 5)
        ],
        "checklist": [step(n) for n in range(1, 13)],
        "sources": [
            {"key": f"s{n}", "url": f"https://example.org/{words.choice(_WORDS)}/{number}/{n}", "title": some(1),
             "claim": f"The {some(2)}.", "kind": "web"}
            for n in range(1, 9)
        ],
    }  # fmt: skip


# --- installations ------------------------------------------------------------------------------------------------


@contextmanager
def scratch() -> Iterator[dict[str, str]]:
    """The environment of an empty installation in a folder that goes away, or in a database beside."""
    ours = ("LHDR_ENV", "LHDR_DEBUG", "CELERY_BROKER_URL", "DATABASE_URL")
    env = {name: value for name, value in os.environ.items() if name not in ours}
    env |= {"DJANGO_SETTINGS_MODULE": "lhdr_site.settings", "PATH": f"{BIN}{os.pathsep}{os.environ.get('PATH', '')}"}
    with tempfile.TemporaryDirectory(prefix="lhdr-bench-") as folder, _database() as address:
        yield {**env, "LHDR_DATA": folder, **({"DATABASE_URL": address} if address else {})}


@contextmanager
def _database() -> Iterator[str]:
    address = os.environ.get("DATABASE_URL", "")
    if not address.startswith("postgres"):
        yield ""
        return
    import psycopg

    name = f"lhdr_bench_{uuid4().hex[:12]}"
    with psycopg.connect(address, autocommit=True) as connection:
        connection.execute(f'CREATE DATABASE "{name}"')
        try:
            yield urlsplit(address)._replace(path=f"/{name}").geturl()
        finally:
            connection.execute(f'DROP DATABASE "{name}" WITH (FORCE)')


def measure(module: str, **options: Any) -> list[Row]:
    """The rows that `_measure(**options)` of a module returns in a process and an installation of its own."""
    with scratch() as env:
        command = [sys.executable, "-m", module, json.dumps(options)]
        done = subprocess.run(command, cwd=ROOT, env=env, stdout=subprocess.PIPE, check=True)
    rows: list[Row] = json.loads(done.stdout)
    return rows


def set_up() -> Any:
    """Django and an empty database, with a benchmark and its people. See `tests.factories.Team`."""
    import django
    from django.conf import settings
    from django.core.management import call_command

    django.setup()
    settings.PASSWORD_HASHERS = ["django.contrib.auth.hashers.MD5PasswordHasher"]  # nobody logs in by password
    call_command("migrate", verbosity=0)
    from tests.factories import make_team

    return make_team("bench")


# --- servers and clients ------------------------------------------------------------------------------------------


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


@contextmanager
def serving(application: str, env: Mapping[str, str] = os.environ) -> Iterator[tuple[int, int]]:
    """(port, process id) of a web server as the Procfile starts it."""
    line = next(p for p in (ROOT / "Procfile").read_text().splitlines() if p.startswith("web:"))
    command = line.partition(":")[2].replace("lhdr_site.wsgi:application", application)
    env = {**env, "HOST": "127.0.0.1", "PORT": str(free_port())}
    server = subprocess.Popen(["sh", "-c", f"exec {command}"], cwd=ROOT, env=env, stdout=sys.stderr)
    try:
        yield int(env["PORT"]), server.pid
    finally:
        server.terminate()
        try:
            server.wait(10)
        except subprocess.TimeoutExpired:  # granian does not hear it while it starts its second process
            server.kill()
            server.wait()


class Client:
    """One person's browser: a connection that stays open, a session, and the token that forms carry."""

    def __init__(self, port: int, session: str = ""):
        self.connection = http.client.HTTPConnection("127.0.0.1", port, timeout=120)
        self.used = time.monotonic()
        token = "b" * 32
        self.headers = {"Cookie": f"sessionid={session}; csrftoken={token}", "X-CSRFToken": token}

    def wait(self, path: str, seconds: float = 60) -> None:
        """Until the server answers."""
        end = time.monotonic() + seconds
        while True:
            try:
                self.get(path)
                return
            except OSError:
                self.connection.close()
                if time.monotonic() > end:
                    raise
                time.sleep(0.02)

    def get(self, path: str) -> bytes:
        return self.send("GET", path)

    def send(self, method: str, path: str, body: bytes | None = None, **headers: str) -> bytes:
        """The body of the answer. Raises RuntimeError when it is not the one that was hoped for."""
        more = {name.replace("_", "-"): value for name, value in headers.items()}
        if time.monotonic() - self.used > 20:
            self.connection.close()  # the server gives up one that was silent for half a minute
        self.used = time.monotonic()
        self.connection.request(method, path, body, {**self.headers, **more})
        answer = self.connection.getresponse()
        text = answer.read()
        if answer.status >= 300:
            raise RuntimeError(f"{method} {path}: {answer.status} {text[:300]!r}")
        return text


def memory_of(pid: int) -> float:
    """Resident MB of the largest process among this one and its children."""
    children = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
    return max(_status(child, "VmRSS") for child in (str(pid), *children))


class PeakMemory:
    """`used`: MB that this process held at its peak beyond what it held before."""

    used = 0.0

    def __enter__(self) -> PeakMemory:
        Path("/proc/self/clear_refs").write_text("5")  # the peak starts anew
        self.before = _status("self", "VmRSS")
        return self

    def __exit__(self, *error: object) -> None:
        self.used = max(_status("self", "VmHWM") - self.before, 0.1)


def _status(pid: str, field: str) -> float:
    text = Path(f"/proc/{pid}/status").read_text()
    return int(text.partition(f"{field}:")[2].split()[0]) / 1024
