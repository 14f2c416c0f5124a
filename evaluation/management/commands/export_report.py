"""`lhdr export_report BENCHMARK (STUDY|--release R) --out DIR`: every analysis as one page without a server."""

from pathlib import Path
from typing import Any

from django.core.management import BaseCommand, CommandError
from django.http import QueryDict

from annotation.benchmarks import Benchmark
from evaluation.analyses.static_report import report_files, write_report
from evaluation.models import Condition
from evaluation.scoring.metrics import Profile


class Command(BaseCommand):
    help = "Write the analyses of a study, or of a release, as one page with tables as CSV and LaTeX, and macros."

    def add_arguments(self, parser: Any) -> None:
        parser.add_argument("benchmark")
        parser.add_argument("study", nargs="?", default="", help="its number")
        parser.add_argument("--release", default="", help="name of the release; the newest without it")
        parser.add_argument("--judge", default="", help="name; the main judge without it")
        parser.add_argument("--condition", default="", choices=Condition.values)
        parser.add_argument("--profile", default="", choices=list(Profile))
        parser.add_argument("--out", required=True, type=Path, help="folder; files of the same names are replaced")

    def handle(self, *args: Any, **options: Any) -> None:
        benchmark = Benchmark.objects.filter(slug=options["benchmark"]).first()
        if benchmark is None:
            raise CommandError(f"There is no benchmark {options['benchmark']!r}.")
        query = QueryDict(mutable=True)
        query.update({name: options[name] for name in ("study", "release", "judge", "condition", "profile")})
        problems, files = report_files(benchmark, query)
        if problems:
            raise CommandError(" ".join(f"{problem['path']}: {problem['message']}" for problem in problems))
        write_report(files, options["out"])
        self.stdout.write(f"{len(files)} files in {options['out']}; open {options['out'] / 'index.html'}.")
