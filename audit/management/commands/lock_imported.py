"""`lhdr lock_imported BENCHMARK`: lock imported drafts without an audit, for trying out."""

from typing import Any

from django.core.management import BaseCommand, CommandError

from annotation.management.arguments import actor_for, benchmark_named
from audit import actions
from lhdr_site.shared.errors import DomainError


class Command(BaseCommand):
    help = "Lock every imported draft of a benchmark without an audit; its releases are marked “not audited”."

    def add_arguments(self, parser: Any) -> None:
        parser.add_argument("benchmark")
        parser.add_argument("--user", metavar="NAME", help="who does it: an admin; the first admin without it")

    def handle(self, *args: Any, **options: Any) -> None:
        benchmark = benchmark_named(options["benchmark"])
        try:
            count = actions.lock_imported(benchmark, actor=actor_for(benchmark, options["user"]))
        except DomainError as error:
            raise CommandError(error.message) from error
        self.stdout.write(f"{count} imported items are locked now, without an audit.")
