"""`lhdr import_items FILE --benchmark SLUG`: all or nothing, with a report by row."""

from dataclasses import replace
from pathlib import Path
from typing import Any
from uuid import NAMESPACE_URL, uuid5

from django.contrib.auth.models import User
from django.core.management import BaseCommand, CommandError

from annotation import actions, images
from annotation.document import Document
from annotation.interchange import FORMATS, Import, read_items
from annotation.models import Benchmark
from annotation.states import Role
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
        benchmark = Benchmark.objects.filter(slug=options["benchmark"]).first()
        if benchmark is None:
            raise CommandError(f"There is no benchmark {options['benchmark']!r}; make it with `lhdr create_benchmark`.")
        actor = _admin(benchmark, options["user"])
        result = read_items(
            options["file"],
            options["format"],
            benchmark=benchmark.slug,
            linear_prerequisites=options["linear_prerequisites"],
        )
        problems = [str(problem) for problem in result.problems]
        pictures = {} if problems else _pictures(result, problems)
        if problems:
            self._refuse(problems)
        documents = [row.document for row in result.rows]
        if options["new_ids"]:
            documents = [_with_new_id(document, benchmark) for document in documents]
        for row in result.rows:
            for warning in row.warnings[:5]:
                self.stderr.write(f"row {row.row_number}: {warning}")
        try:
            report = actions.import_documents(
                benchmark,
                documents,
                pictures,
                actor=actor,
                row_numbers=[row.row_number for row in result.rows],
                dry_run=options["dry_run"],
            )
        except DomainError as error:
            self._refuse([f"{p['path']}: {p['message']}" for p in error.details.get("problems", [])] or [error.message])
        would = "would be " if options["dry_run"] else ""
        self.stdout.write(
            f"{len(documents)} rows read as {result.format}: {report.created} {would}created,"
            f" {report.changed} {would}changed, {report.unchanged} unchanged."
        )

    def _refuse(self, problems: list[str]) -> None:
        for problem in problems[:SHOWN]:
            self.stderr.write(problem)
        more = f" ({len(problems) - SHOWN} more not shown)" if len(problems) > SHOWN else ""
        raise CommandError(
            f"Nothing was imported: {len(problems)} problem(s){more}. Mend the file and import it again."
        )


def _admin(benchmark: Benchmark, name: str | None) -> User:
    admins = User.objects.filter(memberships__benchmark=benchmark, memberships__role=Role.ADMIN, is_active=True)
    user = admins.filter(username=name).first() if name else admins.order_by("pk").first()
    if user is None:
        raise CommandError(
            f"{name or 'Nobody'} is an active admin of benchmark {benchmark.slug}; name one with --user."
        )
    return user


def _pictures(result: Import, problems: list[str]) -> dict[str, images.Picture]:
    """The verified bytes of the rows' local images, by hash."""
    pictures: dict[str, images.Picture] = {}
    for row in result.rows:
        for local in row.images:
            if local.sha256 not in pictures:
                try:
                    pictures[local.sha256] = images.verify_bytes(local.read(), Path(local.name).name)
                except DomainError as error:
                    problems.append(f"row {row.row_number}: {error.message}")
    return pictures


def _with_new_id(document: Document, benchmark: Benchmark) -> Document:
    new = str(uuid5(NAMESPACE_URL, f"{benchmark.slug}/{document.id}"))
    return replace(document, id=new, extra={**document.extra, "imported_id": document.id})
