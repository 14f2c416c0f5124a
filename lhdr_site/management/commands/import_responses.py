"""`lhdr import_responses BENCHMARK RELEASE FILE --system NAME`: answers from a file as a finished run of their own."""

from pathlib import Path
from typing import Any

from django.core.management import BaseCommand, CommandError

from annotation.benchmarks import Benchmark
from annotation.management.arguments import actor_for, benchmark_named
from audit.management.arguments import release_named
from evaluation.importing import Incoming, import_responses, read_response_file
from evaluation.interchange import FORMATS
from evaluation.models import Condition, Group, Judge, System
from lhdr_site.shared.errors import DomainError

SHOWN = 50


class Command(BaseCommand):
    help = (
        "Import a system's answers to a release from a file, as a run that asks nobody; rows that differ are refused."
    )

    def add_arguments(self, parser: Any) -> None:
        parser.add_argument("benchmark")
        parser.add_argument("release")
        parser.add_argument("file")
        parser.add_argument("--system", required=True, metavar="NAME", help="whose answers they are; made where new")
        parser.add_argument("--group", choices=Group.values, help="of a new system")
        parser.add_argument("--family", help="vendor family of a new system")
        parser.add_argument("--format", choices=FORMATS, default="auto")
        parser.add_argument("--condition", choices=Condition.values, default="", help="where the file does not say it")
        parser.add_argument("--judge", metavar="NAME", help="whose verdicts the results show first")
        parser.add_argument("--judge-elsewhere", metavar="NAME", default="", help="the same, of verdicts from files")
        parser.add_argument("--skip-refused", action="store_true", help="import the other rows all the same")
        parser.add_argument("--dry-run", action="store_true", help="check everything, write nothing")
        parser.add_argument("--user", help="who imports: an admin of the benchmark; its first admin without it")

    def handle(self, *args: Any, **options: Any) -> None:
        benchmark = benchmark_named(options["benchmark"])
        release = release_named(benchmark, options["release"])
        actor = actor_for(benchmark, options["user"])
        incoming = read_response_file(release, options["file"], options["format"], options["condition"])
        self._tell(incoming)
        if incoming.problems and not options["skip_refused"]:
            raise CommandError("Nothing was imported. Mend the file, or leave these rows out with --skip-refused.")
        if options["dry_run"]:
            return
        try:
            run, new = import_responses(
                incoming,
                self._system(benchmark, options),
                actor=actor,
                judge=self._judge(benchmark, options["judge"]),
                judge_elsewhere=options["judge_elsewhere"],
                file_name=Path(options["file"]).name,
            )
        except DomainError as error:
            raise CommandError(error.message) from error
        self.stdout.write(f"run {run.number}" if new else f"These rows are run {run.number} already; nothing changed.")

    def _tell(self, incoming: Incoming) -> None:
        for problem in incoming.problems[:SHOWN]:
            self.stderr.write(problem)
        if len(incoming.problems) > SHOWN:
            self.stderr.write(f"{len(incoming.problems) - SHOWN} more are not shown.")
        if not incoming.matched:
            raise CommandError("Nothing was imported: no row of the file answers an item of the release.")
        self.stdout.write(
            f"{len(incoming.matched)} rows read as {incoming.format}, {incoming.condition}:"
            f" {incoming.items} of {incoming.release.item_count} items, {incoming.failed} of the answers failed,"
            f" {len(incoming.problems)} refused."
        )
        if incoming.lacking:
            self.stdout.write(f"{incoming.lacking} items have no row, so the run is a trial.")

    def _system(self, benchmark: Benchmark, options: dict[str, Any]) -> System | dict[str, Any]:
        found = System.objects.filter(benchmark=benchmark, name=options["system"]).first()
        if found is None and not (options["group"] and options["family"]):
            known = ", ".join(System.objects.filter(benchmark=benchmark).values_list("name", flat=True)) or "none yet"
            raise CommandError(f"{options['system']!r} is new here (there is: {known}); give its --group and --family.")
        return found or {"name": options["system"], "group": options["group"], "family": options["family"]}

    def _judge(self, benchmark: Benchmark, name: str | None) -> Judge | None:
        judges = Judge.objects.filter(benchmark=benchmark, person=None)
        found = judges.filter(name=name).first() if name else None
        if name and found is None:
            known = ", ".join(judges.values_list("name", flat=True)) or "none yet"
            raise CommandError(f"There is no judge {name!r} here; there is: {known}. See also --judge-elsewhere.")
        return found
