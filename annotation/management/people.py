"""Who a command acts as: a superuser of the installation, or an admin of a benchmark."""

from django.contrib.auth.models import User
from django.core.management import CommandError

from annotation.models import Benchmark
from annotation.states import Role


def superuser(name: str | None) -> User:
    """The active superuser of that name, or the first. A fresh installation has none: then the installation itself."""
    superusers = User.objects.filter(is_superuser=True, is_active=True)
    if name:
        user = superusers.filter(username=name).first()
        if user is None:
            raise CommandError(f"There is no active superuser {name!r}; make one with `lhdr createsuperuser`.")
        return user
    # The password "!" opens nothing: nobody can log in as the installation.
    return superusers.order_by("pk").first() or User.objects.create(username="lhdr", is_superuser=True, password="!")


def benchmark_admin(benchmark: Benchmark, name: str | None) -> User:
    """The benchmark's active admin of that name, or its first."""
    admins = User.objects.filter(memberships__benchmark=benchmark, memberships__role=Role.ADMIN, is_active=True)
    user = admins.filter(username=name).first() if name else admins.order_by("pk").first()
    if user is None:
        raise CommandError(
            f"{name or 'Nobody'} is an active admin of benchmark {benchmark.slug}; name one with --user."
        )
    return user
