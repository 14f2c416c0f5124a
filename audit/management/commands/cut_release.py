"""`lhdr cut_release BENCHMARK NAME`: freeze locked items into a release."""

from pathlib import Path
from typing import Any

from django.core.management import BaseCommand, CommandError, CommandParser

from annotation.management.arguments import actor_for, benchmark_named
from audit import release_actions
from audit.picks import read_numbers
from audit.splits import SplitPlan, read_list, read_shares
from lhdr_site.shared.errors import DomainError


class Command(BaseCommand):
    help = "Freeze locked items of a benchmark into a release: all that are not retired, or those that are named."

    def create_parser(self, prog_name: str, subcommand: str, **options: Any) -> CommandParser:
        """Here `--version` is the release's, not Django's."""
        return super().create_parser(prog_name, subcommand, conflict_handler="resolve", **options)

    def add_arguments(self, parser: Any) -> None:
        parser.add_argument("benchmark")
        parser.add_argument("name")
        parser.add_argument("--note", default="", help="what is in it and what it is for; Markdown")
        parser.add_argument("--version", dest="number", default="", metavar="1.2.0", help="semantic")
        parser.add_argument("--items", metavar="1-40,43", help="numbers of the items")
        parser.add_argument(
            "--splits", metavar="SHARES|FILE", help="dev=10,test=60,held_out=30, or a CSV of item,split"
        )
        parser.add_argument("--seed", type=int, default=0, help="draws the splits by share; recorded")
        parser.add_argument(
            "--license-note", default="", metavar="REASON", help="why pictures without a licence may go"
        )
        parser.add_argument("--user", metavar="NAME", help="who does it: an admin; the first admin without it")

    def handle(self, *args: Any, **options: Any) -> None:
        benchmark = benchmark_named(options["benchmark"])
        actor = actor_for(benchmark, options["user"])
        try:
            release = release_actions.cut_release(
                benchmark,
                options["name"],
                options["note"],
                actor=actor,
                version=options["number"],
                items=None if options["items"] is None else read_numbers(options["items"]),
                splits=_plan(options["splits"], options["seed"]),
                license_note=options["license_note"],
            )
        except DomainError as error:
            raise CommandError(error.message) from error
        except (OSError, ValueError) as error:
            raise CommandError(f"{error}.") from error
        marked = "" if release.audited else " It is marked “not audited”."
        named = f"{release.name} ({release.version})" if release.version else release.name
        self.stdout.write(f"Release {named}: {release.item_count} items, hash {release.hash}.{marked}")


def _plan(text: str | None, seed: int) -> SplitPlan | None:
    """Shares where it looks like them, else the file of that name. Raises ValueError and OSError."""
    if text is None:
        return None
    if "=" in text:
        return SplitPlan(shares=read_shares(text), seed=seed)
    return SplitPlan(named=read_list(Path(text).read_text(encoding="utf-8-sig")))
