"""`lhdr reindex`: derive columns and index rows of every item anew from its document."""

from typing import Any

from django.core.management import BaseCommand

from annotation.models import Item
from annotation.verify import reindex


class Command(BaseCommand):
    help = "Derive columns and index rows of every item anew from its document."

    def handle(self, *args: Any, **options: Any) -> None:
        pks = list(Item.objects.order_by("pk").values_list("pk", flat=True))
        mended = sum(reindex(pk) for pk in pks)
        self.stdout.write(f"{len(pks)} items looked at, {mended} renewed.")
