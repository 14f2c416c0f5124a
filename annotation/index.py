"""The columns and index rows derived from a document: one pure function, one writer. Nothing else sets them."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Any

from . import graph, search
from .checks.text import fold as fold_for_comparison
from .document import Document
from .folding import fold
from .models import Item, ItemEntity, ItemImage, ItemQuestion, ItemSource, ItemTag
from .reuse import entity_form, source_digest
from .states import GateStatus, gate_counts

_SEARCHED = {"question", "graph", "checklist", "sources"}


@dataclass(frozen=True, slots=True)
class Derived:
    columns: dict[str, Any]
    tags: list[str]
    sources: list[tuple[str, str, str]]  # key, url, hash of the normalised URL
    entities: list[tuple[str, str]]  # key, folded entity
    question: str  # folded for comparison
    images: list[tuple[str, str]]  # key, sha256
    tokens: search.Tokens


def derive(document: Document) -> Derived:
    """Everything that stands beside a document in the database."""
    figures = graph.item_figures(document)
    searched = {
        "question": [document.question],
        "entities": [
            *(document.answer, *document.answer_aliases),
            *(text for node in document.nodes for text in (node.entity, *node.aliases)),
        ],
        "steps": [step.conclusion for step in document.checklist],
        "sources": [text for source in document.sources for text in (source.url, source.title, source.claim)],
    }
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
        },
        tags=[tag[:200] for tag in document.operation_tags],
        sources=[(s.key, s.url, source_digest(s.url)) for s in document.sources],
        entities=[(node.key, entity_form(node.entity)) for node in document.nodes],
        question=fold_for_comparison(document.question),
        images=[(image.key, image.sha256) for image in document.images],
        tokens=search.tokens_of({part: fold("\n".join(texts)) for part, texts in searched.items()}),
    )


def gate_columns(item: Item) -> dict[str, int]:
    """How many gates are open, failed and stale: they follow from the recorded gates and the section hashes."""
    counts = gate_counts(item.gates, item.section_hashes)
    return {f"{status}_gates": counts[status] for status in (GateStatus.OPEN, GateStatus.FAILED, GateStatus.STALE)}


def apply(item: Item, derived: Derived) -> list[str]:
    """Set the derived columns and return their names; the caller saves."""
    for name, value in derived.columns.items():
        setattr(item, name, value)
    gates = gate_columns(item)
    for name, count in gates.items():
        setattr(item, name, count)
    return [*derived.columns, *gates]


Rows = tuple[list[ItemTag], list[ItemSource], list[ItemEntity], list[ItemImage], list[ItemQuestion]]


def index_rows(item: Item, derived: Derived) -> Rows:
    """Tags, sources, entities, images, and the question where there is one."""
    folded = derived.question
    question = ItemQuestion(item=item, benchmark_id=item.benchmark_id, folded=folded, length=len(folded))
    return (
        [ItemTag(item=item, slug=slug) for slug in dict.fromkeys(derived.tags)],
        [ItemSource(item=item, key=key, url=url, normalized=digest) for key, url, digest in derived.sources],
        [ItemEntity(item=item, key=key, folded=folded) for key, folded in derived.entities],
        [ItemImage(item=item, key=key, sha256=sha256) for key, sha256 in derived.images],
        [question] if folded else [],
    )


def create_rows(items: Sequence[tuple[Item, Derived]]) -> None:
    """Insert the index rows of new items."""
    groups = [index_rows(item, derived) for item, derived in items]
    for place, model in enumerate((ItemTag, ItemSource, ItemEntity, ItemImage, ItemQuestion)):
        model._default_manager.bulk_create((row for rows in groups for row in rows[place]), batch_size=2000)
    search.write([(item.pk, item.benchmark_id, derived.tokens) for item, derived in items])


def write_rows(item: Item, derived: Derived, sections: Collection[str] = ("metadata", "images", *_SEARCHED)) -> None:
    """Replace the index rows of an item that come from these sections."""
    tags, sources, entities, images, questions = index_rows(item, derived)
    if "metadata" in sections:
        ItemTag.objects.filter(item=item).delete()
        ItemTag.objects.bulk_create(tags)
    if "sources" in sections:
        ItemSource.objects.filter(item=item).delete()
        ItemSource.objects.bulk_create(sources)
    if "graph" in sections:
        ItemEntity.objects.filter(item=item).delete()
        ItemEntity.objects.bulk_create(entities)
    if "images" in sections:
        ItemImage.objects.filter(item=item).delete()
        ItemImage.objects.bulk_create(images)
    if "question" in sections:
        ItemQuestion.objects.filter(item=item).delete()
        ItemQuestion.objects.bulk_create(questions)
    if _SEARCHED.intersection(sections):
        search.write([(item.pk, item.benchmark_id, derived.tokens)])
