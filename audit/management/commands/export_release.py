"""`lhdr export_release BENCHMARK RELEASE --out FILE`: a release as a file, with its images beside it."""

from pathlib import Path
from typing import Any

from django.core.management import BaseCommand, CommandError

from annotation.management.arguments import benchmark_named
from audit.exports import VARIANTS, Export, write_export
from audit.management.arguments import release_named
from audit.splits import SPLITS
from lhdr_site.shared.errors import DomainError


class Command(BaseCommand):
    help = "Write a release to a file of one line per item, with its images in images/ and a manifest beside it."

    def add_arguments(self, parser: Any) -> None:
        parser.add_argument("benchmark")
        parser.add_argument("release")
        parser.add_argument("--out", required=True, metavar="FILE")
        parser.add_argument("--variant", choices=VARIANTS, default="full")
        parser.add_argument("--split", choices=SPLITS, default="", help="only the items of this split")
        parser.add_argument("--answers", action="store_true", help="also the answers of held-out items")

    def handle(self, *args: Any, **options: Any) -> None:
        release = release_named(benchmark_named(options["benchmark"]), options["release"])
        out = Path(options["out"])
        if out.is_dir():
            raise CommandError(f"{out} is a folder; name a file in it, such as {out / 'items.jsonl'}.")
        try:
            export = Export(release, options["variant"], options["split"], options["answers"])
            images = write_export(export, out)
        except DomainError as error:
            raise CommandError(error.message) from error
        except OSError as error:
            raise CommandError(f"{out} cannot be written: {error.strerror or error}.") from error
        self.stdout.write(f"{out}: {export.rows.count()} items, {images} images.")
