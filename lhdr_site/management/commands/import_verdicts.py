"""`lhdr import_verdicts BENCHMARK RUN FILE`: verdicts of a judge elsewhere on the responses of a finished run."""

from pathlib import Path
from typing import Any

from django.core.management import BaseCommand, CommandError

from annotation.management.arguments import actor_for, benchmark_named
from evaluation.importing import import_verdicts, read_verdict_file
from evaluation.interchange import VERDICT_FORMATS
from evaluation.management.arguments import run_numbered
from lhdr_site.shared.errors import DomainError

SHOWN = 50


class Command(BaseCommand):
    help = "Import verdicts on a run's responses from a file. Nothing is padded, cut or overwritten."

    def add_arguments(self, parser: Any) -> None:
        parser.add_argument("benchmark")
        parser.add_argument("run", type=int, help="its number")
        parser.add_argument("file")
        parser.add_argument("--judge", metavar="NAME", default="", help="whose they are, whatever the rows say")
        parser.add_argument("--format", choices=VERDICT_FORMATS, default="auto")
        parser.add_argument("--skip-refused", action="store_true", help="import the other rows all the same")
        parser.add_argument("--dry-run", action="store_true", help="check everything, write nothing")
        parser.add_argument("--user", help="who imports: an admin of the benchmark; its first admin without it")

    def handle(self, *args: Any, **options: Any) -> None:
        benchmark = benchmark_named(options["benchmark"])
        run, actor = run_numbered(benchmark, options["run"]), actor_for(benchmark, options["user"])
        incoming = read_verdict_file(run, options["file"], options["format"], options["judge"])
        for problem in incoming.problems[:SHOWN]:
            self.stderr.write(problem)
        self.stdout.write(
            f"{len(incoming.rows)} new verdicts of {', '.join(incoming.judges) or 'nobody'}, {incoming.known} there"
            f" already, {len(incoming.problems)} rows refused."
        )
        if incoming.problems and not options["skip_refused"]:
            raise CommandError("Nothing was imported. Mend the file, or leave these rows out with --skip-refused.")
        if options["dry_run"]:
            return
        try:
            import_verdicts(incoming, actor=actor, file_name=Path(options["file"]).name)
        except DomainError as error:
            raise CommandError(error.message) from error
