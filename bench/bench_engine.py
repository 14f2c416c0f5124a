"""A run of 1,000 items with two calls each against an endpoint that answers in 50 ms: a real worker on the real queue,
beside a raw asyncio client that only sends and reads.

Run `python -m bench.bench_engine`. Needs about a minute; everything lives in a folder that goes away.
"""

from __future__ import annotations

import asyncio
import json
import os
import resource
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

from bench.common import ROOT, Row, measure, print_rows, row, set_up

ITEMS, CALLS, DELAY = 1000, 2, 0.05
STEPS = 10
VERDICT = f"CHECKLIST_SCORE: 5/{STEPS}\nCHECKLIST_RESULT: {[1, 0] * (STEPS // 2)}\nOVERALL_CORRECTNESS: YES"


def run() -> list[Row]:
    """One measurement each, so low and high are the median."""
    return measure("bench.bench_engine")


# --- the endpoint: as cheap as Python makes it, so that it does not take the worker's share of the machine


async def _serve() -> None:
    text = json.dumps(
        {
            "id": "gen-1",
            "model": "bench",
            "provider": "bench",
            "choices": [{"index": 0, "message": {"role": "assistant", "content": VERDICT}, "finish_reason": "stop"}],
            "usage": {"prompt_tokens": 500, "completion_tokens": 200, "cost": 0.001},
        }
    ).encode()
    reply = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%s" % (len(text), text)

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while True:
                head = await reader.readuntil(b"\r\n\r\n")
                if head.startswith(b"GET"):  # what the key was used for: it does not tell
                    writer.write(b"HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n")
                    continue
                length = int(head.lower().split(b"content-length:")[1].split(b"\r\n")[0])
                await reader.readexactly(length)
                await asyncio.sleep(DELAY)
                writer.write(reply)
        except (asyncio.IncompleteReadError, ConnectionError):
            writer.close()

    server = await asyncio.start_server(answer, "127.0.0.1", 0, backlog=256)
    print(server.sockets[0].getsockname()[1], flush=True)
    await server.serve_forever()


async def _raw_client(port: int, connections: int, body: bytes) -> None:
    head = b"POST /v1/chat/completions HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n"
    request = head + b"Content-Length: %d\r\n\r\n%s" % (len(body), body)
    left = iter(range(ITEMS * CALLS))

    async def lane() -> None:
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        for _ in left:
            writer.write(request)
            answer = await reader.readuntil(b"\r\n\r\n")
            length = int(answer.lower().split(b"content-length:")[1].split(b"\r\n")[0])
            json.loads(await reader.readexactly(length))
        writer.close()

    await asyncio.gather(*(lane() for _ in range(connections)))


# --- measuring


def _measure() -> list[Row]:
    set_up()
    server = subprocess.Popen(
        [sys.executable, "-m", "bench.bench_engine", "serve"], cwd=ROOT, stdout=subprocess.PIPE, text=True
    )
    try:
        assert server.stdout is not None
        port = int(server.stdout.readline())
        return [r for connections in (20, 100) for r in _rows(port, connections)]
    finally:
        server.kill()


def _rows(port: int, connections: int) -> list[Row]:
    from django.conf import settings

    from evaluation.models import Run
    from lhdr_site.shared.models import Heartbeat

    run, body = _launch(port, connections)
    for message in Path(settings.QUEUE_FOLDER).glob("*.msg"):
        message.unlink()  # checks of the new items are another row
    worker = subprocess.Popen(
        [sys.executable, "-m", "celery", "-A", "lhdr_site", "worker", "-P", "threads", "-c", str(connections)],
        cwd=ROOT,
        env={**os.environ, "LHDR_WORKER_THREADS": str(connections)},
        stdout=sys.stderr,
    )
    try:
        while not Heartbeat.objects.filter(beaten__gte=run.created).exists():
            time.sleep(0.05)
        time.sleep(1)  # it is up; its first sweep is over
        cpu, start = _cpu(worker.pid), time.perf_counter()
        _go(run)
        while Run.objects.values_list("state", flat=True).get(pk=run.pk) != "finished":
            time.sleep(0.02)
        seconds = time.perf_counter() - start
        per_call = (_cpu(worker.pid) - cpu) / (ITEMS * CALLS) * 1000
    finally:
        worker.kill()
        worker.wait()
    run.refresh_from_db()
    assert run.verdicts.filter(status="completed", vector__isnull=False).count() == ITEMS
    used = resource.getrusage(resource.RUSAGE_SELF)
    start = time.perf_counter()
    asyncio.run(_raw_client(port, connections, body))
    raw = time.perf_counter() - start
    after = resource.getrusage(resource.RUSAGE_SELF)
    raw_cpu = (after.ru_utime + after.ru_stime - used.ru_utime - used.ru_stime) / (ITEMS * CALLS) * 1000
    name = f"a run of {ITEMS} items x {CALLS} calls of {DELAY * 1000:.0f} ms, {connections} connections"
    return [row(name, [seconds], [raw], "s"), row(f"{name}: CPU per call", [per_call], [raw_cpu])]


def _cpu(pid: int) -> float:
    fields = Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def _launch(port: int, connections: int) -> tuple[Any, bytes]:
    """A paused run, so that the worker's start is not measured; and a body like those it sends."""
    from django.db import transaction

    from annotation.actions import insert_items
    from annotation.models import Revision
    from audit.actions import lock_imported
    from audit.release_actions import cut_release
    from evaluation import actions
    from evaluation.requests import system_body
    from lhdr_site.endpoints.models import Endpoint
    from tests.evaluation.setting import documents
    from tests.factories import make_team

    slug = f"bench{connections}"
    team = make_team(slug)
    endpoint = Endpoint.objects.create(name=slug, base_url=f"http://127.0.0.1:{port}/v1", slots=connections)
    team.benchmark.endpoints.add(endpoint)
    rows = documents(ITEMS, slug)
    with transaction.atomic():
        insert_items(team.benchmark, rows, author=team.ann, kind=Revision.Kind.IMPORT)
    lock_imported(team.benchmark, actor=team.admin)
    release = cut_release(team.benchmark, "r1", actor=team.admin)
    base = {"endpoint": endpoint, "model": "bench", "family": "bench"}
    system = actions.create_system(team.benchmark, {**base, "name": "s", "group": "tool_free_vlm"}, actor=team.admin)
    judge = actions.create_judge(team.benchmark, {**base, "name": "j"}, actor=team.admin)
    launch = {"release": release, "system": system, "judges": [judge], "concurrency": connections}
    run = actions.launch_run(team.benchmark, launch, actor=team.admin)
    actions.pause_run(run, actor=team.admin)
    run.refresh_from_db()
    return run, json.dumps(system_body("openai", "bench", rows[0])).encode()


def _go(run: Any) -> None:
    from evaluation import actions

    actions.resume_run(run, actor=run.launched_by)


if __name__ == "__main__":
    if sys.argv[1:] == ["serve"]:
        asyncio.run(_serve())
    elif len(sys.argv) > 1:
        print(json.dumps(_measure()))
    else:
        print_rows(run())
