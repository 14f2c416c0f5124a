"""What the arguments of this app's commands name."""

from django.core.management import CommandError

from annotation.benchmarks import Benchmark
from audit.models import Release


def release_named(benchmark: Benchmark, name: str) -> Release:
    release = Release.objects.filter(benchmark=benchmark, name=name).select_related("benchmark").first()
    if release is None:
        names = ", ".join(Release.objects.filter(benchmark=benchmark).values_list("name", flat=True)) or "none yet"
        raise CommandError(f"{benchmark.slug} has no release {name!r}; it has: {names}.")
    return release
