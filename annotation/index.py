"""The columns and index rows derived from a document: one pure function, one writer. Nothing else sets them."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Any

from . import graph
from .document import Document, canonical_hash
from .folding import fold, normalize_url
from .models import Item, ItemEntity, ItemSource, ItemTag


@dataclass(frozen=True, slots=True)
class Derived:
    columns: dict[str, Any]
    tags: list[str]
    sources: list[tuple[str, str, str]]  # key, url, hash of the normalised URL
    entities: list[tuple[str, str]]  # key, folded entity


def derive(document: Document) -> Derived:
    """Everything that stands beside a document in the database."""
    figures = graph.item_figures(document)
    texts = [
        document.question,
        document.answer,
        *document.answer_aliases,
        *(text for node in document.nodes for text in (node.entity, *node.aliases)),
        *(step.conclusion for step in document.checklist),
        *(text for source in document.sources for text in (source.url, source.title, source.claim)),
    ]
    return Derived(
        columns={
            "document": document.to_json(),
            "document_hash": document.hash,
            "section_hashes": document.section_hashes,
            "uid": document.id,
            "language": document.language[:20],
            "question": document.question,
            "answer": document.answer,
            "category": (document.category or "")[:200],
            "template": document.template or "",
            "steps": figures.steps,
            "depth": figures.depth,
            "nodes": figures.nodes,
            "sources": figures.sources,
            "images": figures.images,
            "search_text": fold("\n".join(text for text in texts if text)),
        },
        tags=[tag[:200] for tag in document.operation_tags],
        sources=[(s.key, s.url, canonical_hash(normalize_url(s.url))) for s in document.sources],
        entities=[(node.key, fold(node.entity)[:200]) for node in document.nodes],
    )


def apply(item: Item, derived: Derived) -> None:
    """Set the derived columns; the caller saves."""
    for name, value in derived.columns.items():
        setattr(item, name, value)


def index_rows(item: Item, derived: Derived) -> tuple[list[ItemTag], list[ItemSource], list[ItemEntity]]:
    return (
        [ItemTag(item=item, slug=slug) for slug in dict.fromkeys(derived.tags)],
        [ItemSource(item=item, key=key, url=url, normalized=digest) for key, url, digest in derived.sources],
        [ItemEntity(item=item, key=key, folded=folded) for key, folded in derived.entities],
    )


def create_rows(groups: Sequence[tuple[list[ItemTag], list[ItemSource], list[ItemEntity]]]) -> None:
    """Insert the index rows of new items."""
    ItemTag.objects.bulk_create((row for tags, _, _ in groups for row in tags), batch_size=2000)
    ItemSource.objects.bulk_create((row for _, sources, _ in groups for row in sources), batch_size=2000)
    ItemEntity.objects.bulk_create((row for _, _, entities in groups for row in entities), batch_size=2000)


def write_rows(item: Item, derived: Derived, sections: Collection[str] = ("metadata", "sources", "graph")) -> None:
    """Replace the index rows of an item that come from these sections."""
    tags, sources, entities = index_rows(item, derived)
    if "metadata" in sections:
        ItemTag.objects.filter(item=item).delete()
        ItemTag.objects.bulk_create(tags)
    if "sources" in sections:
        ItemSource.objects.filter(item=item).delete()
        ItemSource.objects.bulk_create(sources)
    if "graph" in sections:
        ItemEntity.objects.filter(item=item).delete()
        ItemEntity.objects.bulk_create(entities)
