"""Import, export and verification of many items, beside the same rows read and written with nothing around them.

Run `python -m bench.bench_data`. Each round imports into a benchmark of its own; export and verification are measured
on the first.
"""

from __future__ import annotations

import hashlib
import io
import json
import subprocess
import sys
import tempfile
from functools import partial
from pathlib import Path
from typing import Any

from bench.common import ROOT, PeakMemory, Row, in_turn, item_data, measure, milliseconds, print_rows, row, set_up


def run(size: int = 10_000, repeats: int = 3) -> list[Row]:
    """Time and memory of the import, export and verification of so many items."""
    return measure("bench.bench_data", size=size, repeats=repeats)


def _measure(size: int, repeats: int) -> list[Row]:
    team = set_up()
    from audit.actions import lock_imported

    ours: list[float] = []
    bare: list[float] = []
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for number in range(repeats):
            file = folder / f"{number}.jsonl"
            with open(file, "w") as lines:
                lines.writelines(json.dumps(item_data(n, f"bench{number}")) + "\n" for n in range(size))
            with PeakMemory() as memory:
                ours.append(milliseconds(partial(_import, team, number, file)) / 1000)
            with PeakMemory() as bare_memory:
                bare.append(milliseconds(partial(_bare_import, number, file)) / 1000)
            if number == 0:  # what the process held before later rounds is room that they use again
                rows = [row(f"import {size:,}: memory on top", [memory.used], [bare_memory.used], "MB")]
                lock_imported(team.benchmark, actor=team.admin)
                rows += [*_cut(team, size), *_export(size, folder, repeats), *_verify(size)]
    return [row(f"import {size:,}", ours, bare, "s", _at_most(size, 10, "s")), *rows]


def _at_most(size: int, limit: float, unit: str) -> str:
    """The aim of 10,000 items."""
    return f"≤ {limit * size / 10_000:g} {unit}"


def _import(team: Any, number: int, file: Path) -> None:
    from annotation.benchmark_actions import create_benchmark
    from annotation.importing import import_file

    benchmark = team.benchmark if not number else create_benchmark(f"b{number}", "b", actor=team.root)
    outcome = import_file(benchmark, file, actor=team.admin if not number else team.root)
    if outcome.problems:
        raise RuntimeError(outcome.problems[0])


def _bare_import(number: int, file: Path) -> None:
    """Each line parsed, written out in full once for the item and once for its revision, in one transaction."""
    from django.db import connection, transaction

    with transaction.atomic(), connection.cursor() as cursor, open(file) as lines:
        for table in ("item", "revision"):
            cursor.execute(f"CREATE TABLE bare_{table}{number} (id integer PRIMARY KEY, document text NOT NULL)")
        documents = [(n, json.dumps(json.loads(line))) for n, line in enumerate(lines)]
        for table in ("item", "revision"):
            cursor.executemany(f"INSERT INTO bare_{table}{number} VALUES (%s, %s)", documents)


def _cut(team: Any, size: int) -> list[Row]:
    """`cut_release` of every item, drawn into splits, beside copying the documents into a table."""
    from django.db import connection, transaction

    from annotation.models import Item
    from audit.release_actions import cut_release
    from audit.splits import SplitPlan

    def bare() -> None:
        with transaction.atomic(), connection.cursor() as cursor:
            cursor.execute("CREATE TABLE bare_release (id integer PRIMARY KEY, document text NOT NULL)")
            documents = Item.objects.filter(benchmark=team.benchmark).order_by("number").values_list("pk", "document")
            rows = ((pk, json.dumps(document)) for pk, document in documents.iterator(200))
            cursor.executemany("INSERT INTO bare_release VALUES (%s, %s)", rows)

    plan = SplitPlan(shares={"dev": 20, "test": 80}, seed=1)
    ours = partial(cut_release, team.benchmark, "r1", actor=team.admin, version="1.0.0", splits=plan)
    times = [milliseconds(ours) / 1000], [milliseconds(bare) / 1000]  # once: what comes after wants one release
    return [row(f"cut {size:,}, with figures and splits", *times, "s")]


def _export(size: int, folder: Path, repeats: int) -> list[Row]:
    """`write_export`, beside a loop of json.dumps over the rows."""
    out = folder / "export.jsonl"
    times = in_turn(lambda: _write_export(out), lambda: _bare_export(out), repeats)
    memory = [_in_fresh_process(name, out) for name in ("_write_export", "_bare_export")]
    return [
        row(f"export {size:,} as JSONL", *_seconds(times), "s", _at_most(size, 1, "s")),
        row(f"export {size:,}: memory on top", memory[:1], memory[1:], "MB"),
    ]


def _write_export(out: Path) -> None:
    from audit.exports import Export, write_export
    from audit.models import Release

    write_export(Export(Release.objects.get(), "full"), out)


def _bare_export(out: Path) -> None:
    from audit.models import ReleaseItem

    documents = ReleaseItem.objects.order_by("position").values_list("document", flat=True)
    with open(out, "w") as file:
        for document in documents.iterator(200):
            file.write(json.dumps(document, ensure_ascii=False) + "\n")


def _in_fresh_process(name: str, out: Path) -> float:
    """MB on top; the process that imported has room to spare, which hides what an export takes."""
    code = (
        "import django, pathlib, sys; django.setup(); from bench import bench_data, common\n"
        "import audit.exports\n"
        "with common.PeakMemory() as memory: getattr(bench_data, sys.argv[1])(pathlib.Path(sys.argv[2]))\n"
        "print(memory.used)"
    )
    command = [sys.executable, "-c", code, name, str(out)]
    return float(subprocess.run(command, cwd=ROOT, stdout=subprocess.PIPE, check=True).stdout)


def _seconds(times: tuple[list[float], list[float]]) -> tuple[list[float], list[float]]:
    return [t / 1000 for t in times[0]], [t / 1000 for t in times[1]]


def _verify(size: int) -> list[Row]:
    """`lhdr verify`, beside hashing every document that is stored."""
    from django.core.management import call_command

    from annotation.models import Item, Revision
    from audit.models import ReleaseItem

    def bare() -> None:
        for model in (Item, Revision, ReleaseItem):
            for document in model.objects.values_list("document", flat=True).iterator(200):
                hashlib.sha256(json.dumps(document, sort_keys=True).encode()).hexdigest()

    ours = partial(call_command, "verify", stdout=io.StringIO())
    return [row(f"verify {size:,}, released", *_seconds(in_turn(ours, bare, 1)), "s")]


if __name__ == "__main__":
    if len(sys.argv) > 1:
        print(json.dumps(_measure(**json.loads(sys.argv[1]))))
    else:
        print_rows(run())
