"""`lhdr install_guards`: create or renew the triggers that keep frozen rows frozen."""

from typing import Any

from django.core.management import BaseCommand

from lhdr_site.shared.guards import install_guards, missing_guards


class Command(BaseCommand):
    help = "Create or renew the triggers that keep locked items, revisions, transitions and releases frozen."

    def handle(self, *args: Any, **options: Any) -> None:
        missing = missing_guards()
        install_guards()
        self.stdout.write(f"All guards are in place; {len(missing)} had been missing.")
