"""`lhdr create_benchmark SLUG --name N [--preset paper|sandbox]`."""

from typing import Any

from django.contrib.auth.models import User
from django.core.management import BaseCommand, CommandError

from annotation import actions
from annotation.models import Preset
from lhdr_site.shared.errors import DomainError


class Command(BaseCommand):
    help = "Create a benchmark with the default categories and operation tags."

    def add_arguments(self, parser: Any) -> None:
        parser.add_argument("slug", help="short name in addresses; never changes")
        parser.add_argument("--name", required=True)
        parser.add_argument("--preset", choices=[str(p) for p in Preset], default=str(Preset.PAPER))
        parser.add_argument("--user", help="who becomes its admin; the first superuser without it")

    def handle(self, *args: Any, **options: Any) -> None:
        actor = _superuser(options["user"])
        try:
            benchmark = actions.create_benchmark(options["slug"], options["name"], options["preset"], actor=actor)
        except DomainError as error:
            raise CommandError(error.message) from error
        self.stdout.write(f"Created benchmark {benchmark.slug} ({benchmark.preset}); its admin is {actor.username}.")


def _superuser(name: str | None) -> User:
    superusers = User.objects.filter(is_superuser=True, is_active=True)
    if name:
        user = superusers.filter(username=name).first()
        if user is None:
            raise CommandError(f"There is no active superuser {name!r}; make one with `lhdr createsuperuser`.")
        return user
    # A fresh installation has nobody yet: commands then act as the installation itself, which cannot log in.
    return superusers.order_by("pk").first() or User.objects.create(username="lhdr", is_superuser=True, password="!")
