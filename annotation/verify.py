"""Does everything that is derived still agree with the documents? For `lhdr verify`; `lhdr reindex` mends."""

from collections.abc import Iterable, Iterator
from typing import Any

from django.db import transaction

from . import graph, index, search
from .document import DocumentError, canonical_hash, dangling_links, read_document
from .models import Item, Revision


def item_problems(item: Item) -> Iterator[str]:
    """What is wrong with one item's document, hashes, columns and index rows."""
    try:
        document = read_document(item.document)
    except DocumentError as error:
        yield f"its document cannot be read: {error}"
        return
    if document.to_json() != item.document:
        yield "its document is not in canonical form"
    if links := dangling_links(document):
        yield f"dangling links: {', '.join(f'{link.path} -> {link.target}' for link in links)}"
    if cycle := graph.cycle_text(document):
        yield f"a cycle of prerequisites: {cycle}"
        return
    derived = index.derive(document)
    for column, value in derived.columns.items():
        if column != "document" and getattr(item, column) != value:
            yield f"column {column} differs from the document"
    rows: Iterable[tuple[str, Any, Any]] = (
        ("tags", sorted(derived.tags), sorted(row.slug for row in item.tag_rows.all())),
        ("sources", sorted(derived.sources), sorted((r.key, r.url, r.normalized) for r in item.source_rows.all())),
        ("entities", sorted(derived.entities), sorted((r.key, r.folded) for r in item.entity_rows.all())),
        ("the question", derived.question, getattr(getattr(item, "question_row", None), "folded", "")),
        ("images", sorted(derived.images), sorted((r.key, r.sha256) for r in item.image_rows.all())),
    )
    for name, expected, found in rows:
        if expected != found:
            yield f"index rows of {name} differ from the document"
    if any(getattr(item, column) != count for column, count in index.gate_columns(item).items()):
        yield "the numbers of its gates differ from the gates"
    if search.differs(item.pk, item.benchmark_id, derived.tokens):
        yield "the search index differs from the document"
    newest = item.revisions.order_by("-number").values_list("number", "document_hash").first()
    if newest != (item.revision_number, item.document_hash):
        yield "its newest revision is not its document"


def revision_problems() -> Iterator[str]:
    """Revisions whose document no longer has the hash that was recorded."""
    for revision in Revision.objects.select_related("item").order_by("pk").iterator(chunk_size=200):
        if canonical_hash(revision.document) != revision.document_hash:
            yield f"{revision.item.uid} {revision}: its document does not have the recorded hash"


def items_with_rows() -> Iterator[Item]:
    yield from (
        Item.objects.order_by("pk")
        .select_related("question_row")
        .prefetch_related("tag_rows", "source_rows", "entity_rows", "image_rows")
        .iterator(chunk_size=200)
    )


@transaction.atomic
def reindex(item_pk: int) -> bool:
    """Derive columns and rows of one item anew; says whether anything was off."""
    item = Item.objects.select_for_update().get(pk=item_pk)
    if not list(item_problems(item)):
        return False
    derived = index.derive(read_document(item.document))
    wanted = derived.columns | index.gate_columns(item)
    columns = {name: value for name, value in wanted.items() if getattr(item, name) != value}
    for name, value in columns.items():
        setattr(item, name, value)
    if columns:
        item.save(update_fields=list(columns))
    index.write_rows(item, derived)
    return True
