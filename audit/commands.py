"""What the commands share: the benchmark and the person that their arguments name."""

from django.contrib.auth.models import User
from django.core.management import CommandError

from annotation.benchmarks import Benchmark, Role


def benchmark_of(slug: str) -> Benchmark:
    benchmark = Benchmark.objects.filter(slug=slug).first()
    if benchmark is None:
        known = ", ".join(Benchmark.objects.values_list("slug", flat=True)) or "none yet"
        raise CommandError(f"There is no benchmark {slug!r}; there are: {known}.")
    return benchmark


def actor_for(benchmark: Benchmark, username: str | None) -> User:
    """The person named, or the benchmark's first admin."""
    if username:
        user = User.objects.filter(username=username).first()
        if user is None:
            raise CommandError(f"There is no user {username!r}.")
        return user
    admins = User.objects.filter(
        memberships__benchmark=benchmark, memberships__role=Role.ADMIN.value, is_active=True
    ).order_by("pk")
    first = admins.first()
    if first is None:
        raise CommandError(f"{benchmark.slug} has no active admin; name one with --user.")
    return first
