"""What is known of the URLs of items: the latest words of machine and people, what is asked for, what to mend."""

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from django.db.models import Count, Exists, F, OuterRef, Q, QuerySet

from annotation.benchmarks import Benchmark, Item
from annotation.models import ItemSource

from .models import LinkCheck, LinkJob

Status = LinkCheck.Status
#: What the list of links can be narrowed to; `problems` is what it shows at first.
SHOWN: Final[Mapping[str, Q]] = {
    "problems": Q(status=Status.DEAD) | Q(changed=True) | Q(quote_found=False),
    "dead": Q(status=Status.DEAD),
    "changed": Q(changed=True),
    "quote": Q(quote_found=False),
    "unverifiable": Q(status=Status.UNVERIFIABLE),
    "refused": Q(status=Status.REFUSED),
    "ok": Q(status=Status.OK),
    "all": Q(),
}


def url_hash(url: str) -> str:
    return hashlib.sha256(url.encode()).hexdigest()


@dataclass(frozen=True, slots=True)
class Link:
    """A source's URL with the latest words on it as it stands now."""

    source: str
    url: str
    quote: str
    machine: LinkCheck | None
    person: LinkCheck | None
    job: LinkJob | None  # what the worker is still to do

    @property
    def check(self) -> LinkCheck | None:
        """The word that counts: the later one; but that a machine cannot tell takes nothing from a person's word."""
        if self.machine is None or self.person is None:
            return self.machine or self.person
        tells = self.machine.status in (Status.OK, Status.DEAD)
        return self.machine if tells and self.machine.pk > self.person.pk else self.person

    @property
    def status(self) -> str:
        """A status of LinkCheck, or "" when nobody looked."""
        return self.check.status if self.check else ""

    @property
    def url_hash(self) -> str:
        return url_hash(self.url)


def links_of(item: Item) -> dict[str, Link]:
    """Every source's link, by the source's key in the order of the document. Two queries."""
    machine: dict[tuple[str, str], LinkCheck] = {}
    person: dict[tuple[str, str], LinkCheck] = {}
    for row in LinkCheck.objects.filter(item=item).defer("extract").select_related("by").order_by("pk"):
        (machine if row.by_id is None else person)[row.source, row.url] = row
    jobs = {(job.source, job.url): job for job in LinkJob.objects.filter(item=item)}
    links = {}
    for source in item.document["sources"]:
        key, url = source["key"], source["url"]
        at = key, url
        links[key] = Link(key, url, source["quote"], machine.get(at), person.get(at), jobs.get(at))
    return links


def open_links(item: Item, links: Mapping[str, Link] | None = None) -> list[str]:
    """Sources whose URL neither the machine nor a person opened as it stands. A sandbox waits for none."""
    if item.benchmark.is_sandbox:
        return []
    links = links_of(item) if links is None else links
    return [key for key, link in links.items() if link.status != Status.OK]


def checked_links(benchmark: Benchmark, *, number: int | None = None) -> QuerySet[LinkCheck]:
    """The machine's latest word on every present source, the newest first; `vouched`: a person opened it since."""
    later = LinkCheck.objects.filter(item=OuterRef("item"), source=OuterRef("source"), pk__gt=OuterRef("pk"))
    present = ItemSource.objects.filter(item=OuterRef("item"), key=OuterRef("source"), url=OuterRef("url"))
    rows = LinkCheck.objects.filter(~Exists(later.filter(by=None)), Exists(present), item__benchmark=benchmark, by=None)
    if number is not None:
        rows = rows.filter(item__number=number)
    opened = later.filter(by__isnull=False, url=OuterRef("url"), status=Status.OK)
    rows = rows.annotate(vouched=Exists(opened), item_number=F("item__number"), item_state=F("item__state"))
    rows = rows.select_related("item").defer("extract", "item__document", "item__findings")
    return rows.order_by("-pk")


def link_counts(benchmark: Benchmark, *, number: int | None = None) -> dict[str, int]:
    """How many links each narrowing of the list shows."""
    wanted: dict[str, Any] = {name: Count("pk", filter=narrowed) for name, narrowed in SHOWN.items() if name != "all"}
    return checked_links(benchmark, number=number).order_by().aggregate(all=Count("pk"), **wanted)


def open_jobs(benchmark: Benchmark) -> int:
    return LinkJob.objects.filter(item__benchmark=benchmark).count()
