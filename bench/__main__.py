"""`python -m bench [names] [--sizes 1000,10000] [--quick]`: measure, print the table, write bench/results.json."""

from __future__ import annotations

import argparse
import json
import os
import platform
from collections.abc import Callable, Sequence
from pathlib import Path

from bench import bench_data, bench_engine, bench_evaluation, bench_scoring, bench_web
from bench.common import Row, print_rows

RESULTS = Path(__file__).parent / "results.json"
# Aims of rows that come without one, by how their names begin.
AIMS = {
    "metrics for": "≤ 2x",
    "100 intervals": "≤ 2x",
    "66 kappas": "≤ 2x",
    "a run of 1000 items x 2 calls of 50 ms, 20 connections: CPU": "≤ 3 ms",
    "a run of 1000 items x 2 calls of 50 ms, 100 connections: CPU": "≤ 3 ms",
    "a run of 1000 items x 2 calls of 50 ms, 20 connections": "≤ 8 s",
    "a run of 1000 items x 2 calls of 50 ms, 100 connections": "≤ 6 s",
}


def main(argv: Sequence[str] | None = None, results: Path = RESULTS) -> None:
    parser = argparse.ArgumentParser(prog="python -m bench", description=__doc__)
    names = ("start", "web", "data", "scoring", "engine", "evaluation")
    parser.add_argument(
        "names", nargs="*", metavar="name", help=f"what to measure: {', '.join(names)}; all without any"
    )
    parser.add_argument("--sizes", type=_sizes, help="numbers of items, such as 1000,10000")
    parser.add_argument("--quick", action="store_true", help="few items and repeats: whether it runs, not how fast")
    options = parser.parse_args(argv)
    if unknown := sorted(set(options.names) - set(names)):
        parser.error(f"there is no {', '.join(unknown)}; choose from {', '.join(names)}")
    quick = options.quick
    sizes = options.sizes or ([100] if quick else [1_000, 10_000])
    benches: dict[str, Callable[[], list[Row]]] = {
        "start": lambda: bench_web.run_start(1 if quick else 3),
        "web": lambda: bench_web.run(sizes, 3 if quick else 30),
        "data": lambda: bench_data.run(max(sizes), 1 if quick else 3),
        "scoring": bench_scoring.run,
        "engine": bench_engine.run,
        "evaluation": lambda: bench_evaluation.run(*((9, 2, 2) if quick else (1_000, 20))),
    }
    found: dict[str, list[Row]] = {}
    for name in options.names or names:
        rows = [{**r, "aim": r.get("aim") or _aim_of(r["name"])} for r in benches[name]()]
        found[name] = rows
        print(f"\n{name}", flush=True)
        print_rows(rows)
    machine = {
        "python": platform.python_version(),
        "cores": os.cpu_count(),
        "load": os.getloadavg()[0],
        "database": os.environ.get("DATABASE_URL", "sqlite").partition(":")[0],
    }
    results.write_text(json.dumps({"machine": machine, "rows": found}, indent=1, ensure_ascii=False) + "\n")
    print(f"\nWritten to {results}. Ratios count: they are against a baseline of the same minutes on the same machine.")


def _sizes(text: str) -> list[int]:
    sizes = [int(part) for part in text.split(",")]
    if min(sizes) < 1:
        raise ValueError
    return sizes


def _aim_of(name: str) -> str:
    return next((aim for start, aim in AIMS.items() if name.startswith(start)), "")


if __name__ == "__main__":
    main()
