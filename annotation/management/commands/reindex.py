"""`lhdr reindex`: derive columns and index rows of every item anew, and what stored pictures look like."""

from typing import Any

from django.core.management import BaseCommand

from annotation.images import hash_stored
from annotation.models import Item, StoredImage
from annotation.search import forget_the_gone
from annotation.verify import reindex


class Command(BaseCommand):
    help = "Derive columns and index rows of every item, and the perceptual hashes of stored pictures, anew."

    def handle(self, *args: Any, **options: Any) -> None:
        pks = list(Item.objects.order_by("pk").values_list("pk", flat=True))
        mended = sum(reindex(pk) for pk in pks)
        forget_the_gone()
        self.stdout.write(f"{len(pks)} items looked at, {mended} renewed.")
        images = StoredImage.objects.order_by("pk")
        hashed = sum(hash_stored(image) for image in images.iterator(chunk_size=200))
        self.stdout.write(f"{images.count()} pictures looked at, {hashed} hashed anew.")
