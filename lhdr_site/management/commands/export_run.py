"""`lhdr export_run BENCHMARK RUN --out FOLDER`: a run's responses and verdicts as two files."""

import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from django.core.management import BaseCommand, CommandError

from annotation.management.arguments import benchmark_named
from evaluation.exports import FORMATS, response_rows, verdict_rows
from evaluation.management.arguments import run_numbered
from evaluation.models import Judge


class Command(BaseCommand):
    help = "Write responses.jsonl and verdicts.jsonl of a run into a folder."

    def add_arguments(self, parser: Any) -> None:
        parser.add_argument("benchmark")
        parser.add_argument("run", type=int, help="its number")
        parser.add_argument("--out", required=True, metavar="FOLDER")
        parser.add_argument("--format", choices=FORMATS, default="lhdr")
        parser.add_argument("--judge", metavar="NAME", help="only this judge's verdicts")

    def handle(self, *args: Any, **options: Any) -> None:
        benchmark = benchmark_named(options["benchmark"])
        run, judge = run_numbered(benchmark, options["run"]), None
        if options["judge"]:
            judges = Judge.objects.filter(verdicts__run=run).distinct()
            judge = judges.filter(name=options["judge"]).first()
            if judge is None:
                known = ", ".join(judges.values_list("name", flat=True)) or "nobody"
                raise CommandError(f"{options['judge']!r} judged nothing of run {run.number}; judged by {known}.")
        folder = Path(options["out"])
        try:
            folder.mkdir(parents=True, exist_ok=True)
            for name, rows in (
                ("responses.jsonl", response_rows(run, options["format"])),
                ("verdicts.jsonl", verdict_rows(run, options["format"], judge)),
            ):
                self.stdout.write(f"{folder / name}: {_write(folder / name, rows)} rows.")
        except OSError as error:
            raise CommandError(f"{folder} cannot be written: {error.strerror or error}.") from error


def _write(path: Path, rows: Iterable[Mapping[str, Any]]) -> int:
    count = 0
    with path.open("w", encoding="utf-8") as file:
        for row in rows:
            file.write(json.dumps(row, ensure_ascii=False) + "\n")
            count += 1
    return count
