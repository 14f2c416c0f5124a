"""`lhdr verify`: documents, hashes, indexes, releases, images and guards; exit code 1 when anything is wrong."""

from typing import Any

from django.core.management import BaseCommand, CommandError

from annotation.document import canonical_hash
from annotation.models import StoredImage
from annotation.verify import item_problems, items_with_rows, revision_problems
from audit.models import ReleaseItem
from audit.release_queries import redaction_problems
from lhdr_site.shared.guards import missing_guards


class Command(BaseCommand):
    help = "Check documents, hashes, derived columns, releases, stored images and guards."

    def handle(self, *args: Any, **options: Any) -> None:
        problems: list[str] = []
        items = 0
        for item in items_with_rows():
            items += 1
            problems += [f"item {item.uid}: {problem}" for problem in item_problems(item)]
        problems += revision_problems()
        for row in ReleaseItem.objects.select_related("release").iterator(chunk_size=200):
            if canonical_hash(row.document) != row.document_hash:
                problems.append(f"release {row.release.name}, {row.uid}: its document does not have the recorded hash")
        for image in StoredImage.objects.iterator():
            for file in (image.file, image.thumbnail):
                there = file.storage.exists(file.name or "")
                if image.tombstone and there:
                    text = f"was taken down, and the file {file.name} is still there; run `lhdr redact` again"
                    problems.append(f"image {image.sha256}: {text}")
                elif not image.tombstone and not there:
                    problems.append(f"image {image.sha256}: the file {file.name} is missing")
        problems += redaction_problems()
        problems += [
            f"guard {name} is missing; run `lhdr migrate`, then `lhdr install_guards`" for name in missing_guards()
        ]
        for problem in problems:
            self.stderr.write(problem)
        if problems:
            raise CommandError(f"{len(problems)} problem(s) found. `lhdr reindex` renews derived columns and rows.")
        if redacted := StoredImage.objects.exclude(tombstone="").count():
            self.stdout.write(f"{redacted} image(s) were taken down; releases keep their hashes.")
        self.stdout.write(f"{items} items, all documents, hashes, indexes, images and guards are as they should be.")
