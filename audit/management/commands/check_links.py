"""`lhdr check_links`: ask for the URLs of a benchmark's sources, here and now, and say what they answer."""

import time
from collections import Counter
from typing import Any

from django.core.management import BaseCommand, CommandError, CommandParser

from annotation.benchmarks import Item
from annotation.management.arguments import actor_for, benchmark_named
from audit import link_actions, link_steps
from audit.models import LinkCheck, LinkJob


class Command(BaseCommand):
    help = "Check the links of a benchmark's items through the address guard, one request per host at a time."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("benchmark", help="short name of the benchmark")
        parser.add_argument("--item", dest="numbers", type=int, action="append", help="only this item (repeatable)")
        parser.add_argument("--user", help="who asks; the first admin without it")

    def handle(self, *args: Any, **options: Any) -> None:
        benchmark = benchmark_named(options["benchmark"])
        actor = actor_for(benchmark, options["user"])
        items = Item.objects.filter(benchmark=benchmark, source_rows__isnull=False).distinct().order_by("number")
        if options["numbers"]:
            items = items.filter(number__in=options["numbers"])
            if missing := set(options["numbers"]) - set(items.values_list("number", flat=True)):
                raise CommandError(f"No such item with sources: {', '.join(f'#{n}' for n in sorted(missing))}.")
        last = LinkCheck.objects.order_by("-pk").values_list("pk", flat=True).first() or 0
        for item in items.only("pk"):
            link_actions.ask_checks(item, actor=actor)
        jobs = LinkJob.objects.filter(item__in=items.values("pk"))
        self.stdout.write(f"{jobs.count()} links to check.")
        told: Counter[str] = Counter()
        while hosts := list(jobs.filter(tries=0).order_by().values_list("host", flat=True).distinct()):
            worked = sum(link_steps.check_host(host) for host in hosts)
            last = self._say(items, last, told)
            if not worked:
                time.sleep(1)  # a worker is at these hosts
        self._say(items, last, told)
        for job in jobs.select_related("item"):
            self.stdout.write(f"#{job.item.number} {job.source} later: {job.note} ({job.url})")
        words = ", ".join(f"{told[status]} {status}" for status in LinkCheck.Status.values)
        self.stdout.write(f"{words}, {jobs.count()} to be tried again by the worker.")

    def _say(self, items: Any, last: int, told: "Counter[str]") -> int:
        """What came since check `last`; returns the newest."""
        rows = LinkCheck.objects.filter(item__in=items.values("pk"), by=None, pk__gt=last).defer("extract")
        for row in rows.select_related("item").order_by("pk"):
            told[row.status] += 1
            last = row.pk
            self.stdout.write(f"#{row.item.number} {row.source} {row.status}: {row.reason} ({row.url})")
        return last
