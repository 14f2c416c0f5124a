"""`lhdr fetch_images`: fetch and store the images of a benchmark that are only known by their address."""

from typing import Any

from django.core.management import BaseCommand, CommandError, CommandParser

from annotation.fetching import fetch_items
from annotation.management.arguments import actor_for, benchmark_named
from annotation.models import ItemImage


class Command(BaseCommand):
    help = "Fetch the images that are only known by their address, through the address guard, and store them."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("benchmark", help="short name of the benchmark")
        parser.add_argument(
            "--as", "--user", dest="user", required=True, metavar="USER", help="in whose name items are changed"
        )
        parser.add_argument("--item", dest="numbers", type=int, action="append", help="only this item (repeatable)")

    def handle(self, *args: Any, **options: Any) -> None:
        benchmark = benchmark_named(options["benchmark"])
        actor = actor_for(benchmark, options["user"])
        waiting = ItemImage.objects.filter(item__benchmark=benchmark, sha256="").count()
        self.stdout.write(f"{waiting} images have no picture yet.")
        fetched = failed = skipped = 0
        for outcome in fetch_items(benchmark, actor=actor, numbers=options["numbers"]):
            if outcome.skipped:
                skipped += 1
                self.stdout.write(f"#{outcome.number} skipped: {outcome.skipped}")
                continue
            fetched += len(outcome.fetched)
            failed += len(outcome.failed)
            if outcome.fetched:
                self.stdout.write(f"#{outcome.number} fetched {', '.join(outcome.fetched)} ({fetched} so far)")
            for key, reason in outcome.failed.items():
                self.stderr.write(f"#{outcome.number} {key} failed: {reason}")
        self.stdout.write(f"{fetched} fetched, {failed} failed, {skipped} items skipped.")
        if failed:
            raise CommandError("Some could not be fetched; run it again to try them again.", returncode=1)
