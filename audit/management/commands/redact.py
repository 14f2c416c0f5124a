"""`lhdr redact BENCHMARK SHA256 --reason TEXT --as USER`: take a picture down for good."""

from typing import Any

from django.core.management import BaseCommand, CommandError

from annotation.management.arguments import actor_for, benchmark_named
from annotation.models import StoredImage
from audit.redaction_actions import redact_image
from audit.release_queries import releases_with
from lhdr_site.shared.errors import DomainError


class Command(BaseCommand):
    help = "Take a stored picture's bytes away for good; its hash stays in documents and releases. Cannot be undone."

    def add_arguments(self, parser: Any) -> None:
        parser.add_argument("benchmark")
        parser.add_argument("sha256")
        parser.add_argument("--reason", required=True, help="shown wherever the picture was, and in every export")
        parser.add_argument("--as", dest="user", required=True, metavar="USER", help="who does it: an admin")
        parser.add_argument("--yes", action="store_true", help="do not ask")

    def handle(self, *args: Any, **options: Any) -> None:
        benchmark = benchmark_named(options["benchmark"])
        actor = actor_for(benchmark, options["user"])
        if not options["yes"]:
            question = f"Take {options['sha256'][:12]}… down for good? It cannot be undone. Type yes: "
            if input(question).strip().lower() != "yes":
                raise CommandError("Nothing was changed.")
        try:
            redaction = redact_image(benchmark, options["sha256"], options["reason"], actor=actor)
        except DomainError as error:
            raise CommandError(error.message) from error
        names = ", ".join(releases_with(benchmark, redaction.sha256)) or "none"
        self.stdout.write(f"{redaction.sha256} is taken down. Releases that name it: {names}.")
        others = StoredImage.objects.filter(sha256=redaction.sha256, tombstone="").exclude(benchmark=benchmark)
        if slugs := sorted(others.values_list("benchmark__slug", flat=True)):
            self.stdout.write(f"The same picture is still stored in: {', '.join(slugs)}.")
