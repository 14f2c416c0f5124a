"""`lhdr create_benchmark SLUG --name N [--preset paper|sandbox]`."""

from typing import Any

from django.core.management import BaseCommand, CommandError

from annotation import benchmark_actions
from annotation.management.arguments import superuser
from annotation.models import Preset
from lhdr_site.shared.errors import DomainError


class Command(BaseCommand):
    help = "Create a benchmark with the default categories and operation tags."

    def add_arguments(self, parser: Any) -> None:
        parser.add_argument("slug", help="short name in addresses; never changes")
        parser.add_argument("--name", required=True)
        parser.add_argument("--preset", choices=[str(p) for p in Preset], default=str(Preset.PAPER))
        parser.add_argument("--user", help="who becomes its admin; the first superuser without it")

    def handle(self, *args: Any, **options: Any) -> None:
        actor = superuser(options["user"])
        try:
            benchmark = benchmark_actions.create_benchmark(
                options["slug"], options["name"], options["preset"], actor=actor
            )
        except DomainError as error:
            raise CommandError(error.message) from error
        self.stdout.write(f"Created benchmark {benchmark.slug} ({benchmark.preset}); its admin is {actor.username}.")
