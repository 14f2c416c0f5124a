"""What the arguments of this app's commands name."""

from django.core.management import CommandError

from annotation.benchmarks import Benchmark
from evaluation.models import Run
from evaluation.queries import runs_of


def run_numbered(benchmark: Benchmark, number: int) -> Run:
    run = runs_of(benchmark).filter(number=number).first() if 0 < number < 2**31 else None
    if run is None:
        raise CommandError(f"{benchmark.slug} has no run {number}.")
    return run
