"""Importing a file of items into a benchmark: read, verify pictures, write all rows or none.

The command and the page both use it. `import_documents` is a write like those of `actions`.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import BinaryIO
from uuid import NAMESPACE_URL, uuid5

from django.contrib.auth.models import User
from django.db import transaction
from django.utils.translation import gettext as _

from lhdr_site.shared.errors import DomainError, Invalid

from . import images
from .actions import insert_items, refuse_broken, write_document
from .document import Document
from .interchange import Import, collector_paused, read_items
from .models import Benchmark, Item, ItemEvent, Revision, StoredImage
from .permissions import may_administer, may_edit_item

_INSERTED_AT_ONCE = 500  # what stands beside a document is let go before the next ones are derived


@dataclass(frozen=True, slots=True)
class ImportReport:
    """How many items an import made, changed and found equal."""

    created: int
    changed: int
    unchanged: int


@dataclass
class Outcome:
    """What became of a file. With problems nothing was written, and `report` is None."""

    format: str
    rows: int
    report: ImportReport | None = None
    problems: list[str] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)
    benchmarks: list[str] = field(default_factory=list)  # names of benchmarks that rows carry; the option decides


def import_file(
    benchmark: Benchmark,
    source: str | Path | BinaryIO,
    format: str = "auto",
    *,
    actor: User,
    linear_prerequisites: bool = False,
    new_ids: bool = False,
    dry_run: bool = False,
) -> Outcome:
    """Import all rows or none. A path's folder holds its pictures; a stream's must be in store already.

    Raises NotAllowed for who is no admin of the benchmark; everything else that is wrong is among the problems.
    """
    read = read_items(source, format, benchmark=benchmark.slug, linear_prerequisites=linear_prerequisites)
    outcome = Outcome(read.format, len(read.rows), benchmarks=read.benchmarks)
    outcome.problems = [str(problem) for problem in read.problems]
    outcome.warnings = [f"row {row.row_number}: {warning}" for row in read.rows for warning in row.warnings[:5]]
    pictures = {} if outcome.problems else _pictures(benchmark, read, outcome)
    if outcome.problems:
        return outcome
    documents = [_with_new_id(r.document, benchmark) if new_ids else r.document for r in read.rows]
    numbers = [row.row_number for row in read.rows]
    try:
        outcome.report = import_documents(
            benchmark, documents, pictures, actor=actor, row_numbers=numbers, dry_run=dry_run
        )
    except DomainError as error:
        if error.code != "import_refused":
            raise
        outcome.problems = [f"{p['path']}: {p['message']}" for p in error.details["problems"]]
    return outcome


def _pictures(benchmark: Benchmark, read: Import, outcome: Outcome) -> dict[str, images.Picture]:
    """The verified bytes of the rows' pictures, by hash; those in store already are left out."""
    problems = outcome.problems
    pictures: dict[str, images.Picture] = {}
    stored = dict(StoredImage.objects.filter(benchmark=benchmark).values_list("sha256", "tombstone"))
    for row in read.rows:
        for local in row.images:
            if reason := stored.get(local.sha256):
                text = _("%(file)s was taken down here and stays away: %(reason)s")
                said = text % {"file": local.name, "reason": reason}
                outcome.warnings.append(f"row {row.row_number}, {local.key}: {said}")
            if local.sha256 in pictures or local.sha256 in stored:
                continue
            try:
                pictures[local.sha256] = images.verify_bytes(local.read(), Path(local.name).name)
            except DomainError as error:
                problems.append(f"row {row.row_number}: {error.message}")
            except FileNotFoundError:
                text = _("%(file)s did not come with the file and is not in store; import from its folder.")
                problems.append(f"row {row.row_number}, {local.key}: {text % {'file': local.name}}")
            except OSError as error:
                text = _("%(file)s cannot be read (%(why)s).")
                values = {"file": local.name, "why": error.strerror or error}
                problems.append(f"row {row.row_number}, {local.key}: {text % values}")
    return pictures


def _with_new_id(document: Document, benchmark: Benchmark) -> Document:
    new = str(uuid5(NAMESPACE_URL, f"{benchmark.slug}/{document.id}"))
    return replace(document, id=new, extra={**document.extra, "imported_id": document.id})


@collector_paused()
@transaction.atomic
def import_documents(
    benchmark: Benchmark,
    documents: Sequence[Document],
    pictures: Mapping[str, images.Picture],
    *,
    actor: User,
    row_numbers: Sequence[int] = (),
    dry_run: bool = False,
) -> ImportReport:
    """All or nothing: new ids become items, known ids with other content get a revision, equal ones stay untouched.

    pictures: sha256 -> verified bytes. Raises Invalid naming every row that cannot be imported: its item is locked or
    in audit, belongs to another benchmark, has dangling links or a cycle.
    """
    may_administer(actor, benchmark).require()
    numbers = dict(zip((d.id for d in documents), row_numbers or range(1, len(documents) + 1), strict=False))
    known: dict[str, Item] = {}
    uids = [document.id for document in documents]
    for start in range(0, len(uids), 500):
        chunk = Item.objects.select_for_update(of=("self",)).select_related("benchmark")
        known.update({item.uid: item for item in chunk.filter(uid__in=uids[start : start + 500])})
    problems: list[dict[str, str]] = []
    new: list[Document] = []
    changed: list[tuple[Item, Document]] = []
    unchanged = 0
    for document in documents:
        where = _("row %(row)s, item %(id)s") % {"row": numbers[document.id], "id": document.id}
        item = known.get(document.id)
        try:
            refuse_broken(document)
            if item is None:
                new.append(document)
            elif item.benchmark_id != benchmark.pk:
                raise Invalid(
                    _("this id is already used in another benchmark; give the row another id, or import with new ids.")
                )
            elif item.document_hash == document.hash:
                unchanged += 1
            else:
                may_edit_item(actor, item).require()
                changed.append((item, document))
        except DomainError as error:
            problems.append({"path": where, "message": error.message})
    if problems:
        raise Invalid(
            _("Nothing was imported: %(count)s of %(all)s rows cannot be.")
            % {"count": len(problems), "all": len(documents)},
            code="import_refused",
            problems=problems,
        )
    report = ImportReport(created=len(new), changed=len(changed), unchanged=unchanged)
    if dry_run:
        return report
    for picture in pictures.values():
        images.store(benchmark, picture)
    for start in range(0, len(new), _INSERTED_AT_ONCE):
        insert_items(benchmark, new[start : start + _INSERTED_AT_ONCE], author=actor, kind=Revision.Kind.IMPORT)
    for item, document in changed:
        write_document(item, document, actor=actor, kind=Revision.Kind.IMPORT)
    data = {"created": report.created, "changed": report.changed, "unchanged": report.unchanged}
    ItemEvent.objects.create(benchmark=benchmark, actor=actor, kind="items.imported", data=data)
    return report
