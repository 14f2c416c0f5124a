"""The exposure ledger: which vendor's model was sent which item, and when. Reads only.

Every request is an attempt: of a run's response, verdict or labels, of a probe, a grade check, a tryout. What was
pasted into the Workbench was sent from elsewhere and stands among them. A request counts as soon as it may have left
this machine.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final

from django.db.models import Case, CharField, F, Q, QuerySet, Value, When
from django.db.models.functions import Coalesce
from django.utils.translation import gettext as _

from annotation.benchmarks import Benchmark
from audit.probes import Probe

from .models import Attempt

PAGE: Final = 100
HOW: Final = {
    "run": lambda: _("run"),
    "judge": lambda: _("judge of a run"),
    "labels": lambda: _("labels of failures"),
    "probe": lambda: _("probe"),
    "probe_judge": lambda: _("judge of a probe"),
    "grade": lambda: _("gradeability"),
    "tryout": lambda: _("tried out"),
    "pasted": lambda: _("pasted from elsewhere"),
}


@dataclass(frozen=True, slots=True)
class Exposure:
    """One request, or one pasted answer."""

    when: datetime
    item: int  # its number
    how: str  # a key of HOW
    name: str  # of the system or judge
    vendor: str
    model: str
    provider: str
    result: str  # "", or the kind of error
    run: int | None
    probe: int | None

    @property
    def how_word(self) -> str:
        return HOW[self.how]()


def _attempts(benchmark: Benchmark, item: int | None, vendor: str) -> QuerySet[Any, dict[str, Any]]:
    """The attempts of a benchmark's items, newest first, without what was sent and what came."""
    runs = Q(response__run__benchmark=benchmark) | Q(verdict__run__benchmark=benchmark)
    runs |= Q(labelling__run__benchmark=benchmark)
    rows = Attempt.objects.filter(
        runs
        | Q(probe__item__benchmark=benchmark)
        | Q(grade_check__item__benchmark=benchmark)
        | Q(tryout__benchmark=benchmark)
    ).annotate(
        how=Case(
            When(response__isnull=False, then=Value("run")),
            When(verdict__isnull=False, then=Value("judge")),
            When(labelling__isnull=False, then=Value("labels")),
            When(grade_check__isnull=False, then=Value("grade")),
            When(tryout__isnull=False, then=Value("tryout")),
            When(judge__isnull=False, then=Value("probe_judge")),
            default=Value("probe"),
            output_field=CharField(),
        ),
        item_number=Coalesce(
            "response__release_item__item__number",
            "verdict__response__release_item__item__number",
            "labelling__response__release_item__item__number",
            "probe__item__number",
            "grade_check__item__number",
            "tryout__release_item__item__number",
        ),
        name=Coalesce(
            "response__run__system__name",
            "verdict__judge__name",
            "labelling__labeller__name",
            "judge__name",
            "probe__system_name",
            "tryout__system_name",
        ),
        vendor=Coalesce(
            "response__run__system__family",
            "verdict__judge__family",
            "labelling__labeller__family",
            "judge__family",
            "probe__vendor",
            "tryout__vendor",
        ),
        run_number=Coalesce("response__run__number", "verdict__run__number", "labelling__run__number"),
    )
    if item is not None:
        rows = rows.filter(item_number=item)
    if vendor:
        rows = rows.filter(vendor__iexact=vendor)
    columns = ["pk", "started", "item_number", "how", "name", "vendor", "requested_model", "model", "provider"]
    return rows.order_by("-pk").values(*columns, "error_kind", "run_number", "probe_id")


def _pasted(benchmark: Benchmark, item: int | None, vendor: str) -> QuerySet[Any, dict[str, Any]]:
    rows = Probe.objects.filter(item__benchmark=benchmark, origin=Probe.Origin.PASTED)
    if item is not None:
        rows = rows.filter(item__number=item)
    if vendor:
        rows = rows.filter(vendor__iexact=vendor)
    columns = ["pk", "created", "ended", "system_name", "vendor", "model"]
    return rows.order_by("-created").values(*columns, item_number=F("item__number"))


def _of_attempt(row: dict[str, Any]) -> Exposure:
    return Exposure(
        when=row["started"],
        item=row["item_number"],
        how=row["how"],
        name=row["name"],
        vendor=row["vendor"] or "",
        model=row["model"] or row["requested_model"],
        provider=row["provider"],
        result=row["error_kind"],
        run=row["run_number"],
        probe=row["probe_id"],
    )


def _of_pasted(row: dict[str, Any]) -> Exposure:
    when = row["ended"] or row["created"]
    return Exposure(
        when, row["item_number"], "pasted", row["system_name"], row["vendor"], row["model"], "", "", None, row["pk"]
    )


def ledger_page(
    benchmark: Benchmark, *, item: int | None = None, vendor: str = "", before: int | None = None, size: int = PAGE
) -> tuple[list[Exposure], int | None]:
    """One page, newest first, and where the next one starts (None: there is none).

    before: the key of an attempt; the page holds what is older. Pasted answers stand where they were kept.
    """
    rows = _attempts(benchmark, item, vendor)
    newest = None
    if before is not None:
        newest = Attempt.objects.filter(pk=before).values_list("started", flat=True).first()
        rows = rows.filter(pk__lt=before)
    found = list(rows[: size + 1])
    more = len(found) > size
    found = found[:size]
    pasted = _pasted(benchmark, item, vendor)
    if newest is not None:
        pasted = pasted.filter(created__lte=newest)
    if more:
        pasted = pasted.filter(created__gt=found[-1]["started"])
    entries = [(row["started"], _of_attempt(row)) for row in found]
    entries += [(row["created"], _of_pasted(row)) for row in pasted]
    entries.sort(key=lambda entry: entry[0], reverse=True)
    return [exposure for _kept, exposure in entries], found[-1]["pk"] if more else None


def all_exposures(benchmark: Benchmark, *, item: int | None = None, vendor: str = "") -> Iterator[Exposure]:
    """Every entry, newest first, a page at a time."""
    before: int | None = None
    while True:
        page, before = ledger_page(benchmark, item=item, vendor=vendor, before=before, size=1000)
        yield from page
        if before is None:
            return


def vendors_of(benchmark: Benchmark) -> list[str]:
    """Vendor families of the benchmark's systems, judges and pasted answers, by name."""
    named = [
        *benchmark.systems.values_list("family", flat=True),
        *benchmark.judges.values_list("family", flat=True),
        *benchmark.tryouts.values_list("vendor", flat=True).distinct(),
        *Probe.objects.filter(item__benchmark=benchmark).values_list("vendor", flat=True).distinct(),
    ]
    return sorted({name for name in named if name}, key=str.casefold)
