"""`lhdr cut_release BENCHMARK NAME`: freeze every locked item into a release."""

from typing import Any

from django.core.management import BaseCommand, CommandError

from annotation.management.arguments import actor_for, benchmark_named
from audit import actions
from lhdr_site.shared.errors import DomainError


class Command(BaseCommand):
    help = "Freeze every locked item of a benchmark into a release."

    def add_arguments(self, parser: Any) -> None:
        parser.add_argument("benchmark")
        parser.add_argument("name")
        parser.add_argument("--note", default="", help="what is in it and what it is for")
        parser.add_argument("--user", metavar="NAME", help="who does it: an admin; the first admin without it")

    def handle(self, *args: Any, **options: Any) -> None:
        benchmark = benchmark_named(options["benchmark"])
        actor = actor_for(benchmark, options["user"])
        try:
            release = actions.cut_release(benchmark, options["name"], options["note"], actor=actor)
        except DomainError as error:
            raise CommandError(error.message) from error
        marked = "" if release.audited else " It is marked “not audited”."
        self.stdout.write(f"Release {release.name}: {release.item_count} items, hash {release.hash}.{marked}")
