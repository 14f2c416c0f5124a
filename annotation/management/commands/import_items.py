"""`lhdr import_items FILE --benchmark SLUG`: all or nothing, with a report by row."""

from typing import Any, NoReturn

from django.core.management import BaseCommand, CommandError

from annotation.importing import import_file
from annotation.interchange import FORMATS
from annotation.management.arguments import actor_for, benchmark_named
from lhdr_site.shared.errors import DomainError

SHOWN = 50


class Command(BaseCommand):
    help = "Import items from a file of our own, the Mr-LHDR or the MM-BrowseComp layout; all or nothing."

    def add_arguments(self, parser: Any) -> None:
        parser.add_argument("file")
        parser.add_argument("--benchmark", required=True, metavar="SLUG")
        parser.add_argument("--format", choices=FORMATS, default="auto")
        parser.add_argument("--dry-run", action="store_true", help="check everything, write nothing")
        parser.add_argument(
            "--linear-prerequisites", action="store_true", help="chain steps that name no prerequisites"
        )
        parser.add_argument(
            "--new-ids", action="store_true", help="give items ids of this benchmark, keeping the old in extra"
        )
        parser.add_argument("--user", help="who imports: an admin of the benchmark; its first admin without it")

    def handle(self, *args: Any, **options: Any) -> None:
        benchmark = benchmark_named(options["benchmark"])
        actor = actor_for(benchmark, options["user"])
        try:
            outcome = import_file(
                benchmark,
                options["file"],
                options["format"],
                actor=actor,
                linear_prerequisites=options["linear_prerequisites"],
                new_ids=options["new_ids"],
                dry_run=options["dry_run"],
            )
        except DomainError as error:
            raise CommandError(error.message) from error
        if outcome.report is None:
            self._refuse(outcome.problems)
        for warning in outcome.warnings:
            self.stderr.write(warning)
        if others := [name for name in outcome.benchmarks if name != benchmark.slug]:
            self.stdout.write(f"The rows name {', '.join(others)}; they go into {benchmark.slug}.")
        report, would = outcome.report, "would be " if options["dry_run"] else ""
        self.stdout.write(
            f"{outcome.rows} rows read as {outcome.format}: {report.created} {would}created,"
            f" {report.changed} {would}changed, {report.unchanged} unchanged."
        )

    def _refuse(self, problems: list[str]) -> NoReturn:
        for problem in problems[:SHOWN]:
            self.stderr.write(problem)
        more = f" ({len(problems) - SHOWN} more not shown)" if len(problems) > SHOWN else ""
        raise CommandError(
            f"Nothing was imported: {len(problems)} problem(s){more}. Mend the file and import it again."
        )
