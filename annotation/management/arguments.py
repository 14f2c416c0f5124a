"""What the arguments of commands name: a benchmark, and the person as whom the command acts."""

from django.contrib.auth.models import User
from django.core.management import CommandError

from annotation.models import Benchmark
from annotation.states import Role


def benchmark_named(slug: str) -> Benchmark:
    benchmark = Benchmark.objects.filter(slug=slug).first()
    if benchmark is None:
        known = ", ".join(Benchmark.objects.values_list("slug", flat=True))
        known = f"there are: {known}" if known else "make it with `lhdr create_benchmark`"
        raise CommandError(f"There is no benchmark {slug!r}; {known}.")
    return benchmark


def actor_for(benchmark: Benchmark, username: str | None) -> User:
    """The person of that name, or the benchmark's first active admin. Whether they may is the action's question."""
    if username:
        user = User.objects.filter(username=username).first()
        if user is None:
            raise CommandError(f"There is no user {username!r}.")
        return user
    admins = User.objects.filter(memberships__benchmark=benchmark, memberships__role=Role.ADMIN, is_active=True)
    first = admins.order_by("pk").first()
    if first is None:
        raise CommandError(f"{benchmark.slug} has no active admin; name one with --user.")
    return first


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
