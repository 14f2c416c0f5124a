"""`lhdr compare_releases BENCHMARK OLD NEW`: what came, went and changed between two releases."""

import json
from typing import Any

from django.core.management import BaseCommand

from annotation.management.arguments import benchmark_named
from audit.management.arguments import release_named
from audit.release_api import comparison_json
from audit.release_queries import compare_releases, what_changed


class Command(BaseCommand):
    help = "Say what came, went and changed from one release to another, with the reasons of errata."

    def add_arguments(self, parser: Any) -> None:
        parser.add_argument("benchmark")
        parser.add_argument("old")
        parser.add_argument("new")
        parser.add_argument("--json", action="store_true", help="as JSON, as the API gives it")

    def handle(self, *args: Any, **options: Any) -> None:
        benchmark = benchmark_named(options["benchmark"])
        beside = compare_releases(release_named(benchmark, options["old"]), release_named(benchmark, options["new"]))
        if options["json"]:
            self.stdout.write(json.dumps(comparison_json(beside), ensure_ascii=False, indent=1))
        else:
            self.stdout.write(what_changed(beside).rstrip())
            self.stdout.write(f"\n{beside.comparison.same} items are the same.")
