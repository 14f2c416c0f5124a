"""Where else an item's sources and entities stand in its benchmark. One query each, however many."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from django.db.models import F, Window
from django.db.models.functions import DenseRank

from .addresses import normalize_url
from .document import canonical_hash
from .folding import fold
from .models import Benchmark, ItemEntity, ItemSource

SHOWN = 5


@dataclass(frozen=True)
class Elsewhere:
    """The newest items in which something stands, and how many older ones there are."""

    numbers: tuple[int, ...]
    more: int = 0


def source_digest(url: str) -> str:
    """What `ItemSource.normalized` holds for a URL."""
    return canonical_hash(normalize_url(url))


def entity_form(entity: str) -> str:
    """What `ItemEntity.folded` holds for an entity."""
    return fold(entity)[:200]


def sources_elsewhere(benchmark: Benchmark, urls: Iterable[str], without: int | None = None) -> dict[str, Elsewhere]:
    """URL -> the other items of the benchmark with a source of the same page. `without`: an item's pk to leave out."""
    digests = {url: source_digest(url) for url in urls if url.strip()}
    return _elsewhere(ItemSource, "normalized", benchmark, digests, without)


def entities_elsewhere(
    benchmark: Benchmark, entities: Iterable[str], without: int | None = None
) -> dict[str, Elsewhere]:
    """Entity -> the other items of the benchmark with a node of that name."""
    forms = {entity: form for entity in entities if (form := entity_form(entity))}
    return _elsewhere(ItemEntity, "folded", benchmark, forms, without)


def _elsewhere(
    model: Any, column: str, benchmark: Benchmark, wanted: Mapping[str, str], without: int | None
) -> dict[str, Elsewhere]:
    if not wanted:
        return {}

    def rank(order: Any) -> Window:
        return Window(DenseRank(), partition_by=[F(column)], order_by=order)

    rows = (
        model.objects.filter(**{f"{column}__in": set(wanted.values())})
        # as an expression: SQLite is not to begin with all items of the benchmark
        .alias(benchmark=F("item__benchmark_id") + 0)
        .filter(benchmark=benchmark.pk)
        .exclude(item=without)
        # counted from both ends, an item with two such rows counts once
        .annotate(newest=rank(F("item__number").desc()), oldest=rank(F("item__number").asc()))
        .filter(newest__lte=SHOWN)
        .values_list(column, "item__number", "newest", "oldest")
    )
    found: dict[str, dict[int, int]] = {}
    for value, number, newest, oldest in rows:
        found.setdefault(value, {})[number] = newest + oldest - 1
    shown = {
        value: Elsewhere(tuple(sorted(numbers, reverse=True)), max(numbers.values()) - len(numbers))
        for value, numbers in found.items()
    }
    return {text: shown[value] for text, value in wanted.items() if value in shown}
