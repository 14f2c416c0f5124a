"""`lhdr export_release BENCHMARK RELEASE --out FILE`: a release as a file, with its images beside it."""

from pathlib import Path
from typing import Any

from django.core.management import BaseCommand, CommandError

from annotation.management.arguments import benchmark_named
from audit.models import Release
from audit.releases import VARIANTS, write_export
from lhdr_site.shared.errors import DomainError


class Command(BaseCommand):
    help = "Write a release to a file of one line per item, and its images to images/ beside it."

    def add_arguments(self, parser: Any) -> None:
        parser.add_argument("benchmark")
        parser.add_argument("release")
        parser.add_argument("--out", required=True, metavar="FILE")
        parser.add_argument("--variant", choices=VARIANTS, default="full")

    def handle(self, *args: Any, **options: Any) -> None:
        benchmark = benchmark_named(options["benchmark"])
        release = Release.objects.filter(benchmark=benchmark, name=options["release"]).first()
        if release is None:
            names = ", ".join(Release.objects.filter(benchmark=benchmark).values_list("name", flat=True)) or "none yet"
            raise CommandError(f"{benchmark.slug} has no release {options['release']!r}; it has: {names}.")
        out = Path(options["out"])
        if out.is_dir():
            raise CommandError(f"{out} is a folder; name a file in it, such as {out / 'items.jsonl'}.")
        try:
            images = write_export(release, options["variant"], out)
        except DomainError as error:
            raise CommandError(error.message) from error
        except OSError as error:
            raise CommandError(f"{out} cannot be written: {error.strerror or error}.") from error
        self.stdout.write(f"{out}: {release.item_count} items, {images} images.")
