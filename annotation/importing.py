"""Importing a file of items into a benchmark: read, verify pictures, write. The command and the page both use it."""

from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, BinaryIO
from uuid import NAMESPACE_URL, uuid5

from django.utils.translation import gettext as _

from lhdr_site.shared.errors import DomainError

from . import actions, images
from .document import Document
from .interchange import Import, read_items
from .models import Benchmark, StoredImage


@dataclass
class Outcome:
    """What became of a file. With problems nothing was written, and `report` is None."""

    format: str
    rows: int
    report: actions.ImportReport | None = None
    problems: list[str] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)
    benchmarks: list[str] = field(default_factory=list)  # names of benchmarks that rows carry; the option decides


def import_file(
    benchmark: Benchmark,
    source: str | Path | BinaryIO,
    format: str = "auto",
    *,
    actor: Any,
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
    pictures = {} if outcome.problems else _pictures(benchmark, read, outcome.problems)
    if outcome.problems:
        return outcome
    documents = [_with_new_id(r.document, benchmark) if new_ids else r.document for r in read.rows]
    numbers = [row.row_number for row in read.rows]
    try:
        outcome.report = actions.import_documents(
            benchmark, documents, pictures, actor=actor, row_numbers=numbers, dry_run=dry_run
        )
    except DomainError as error:
        if error.code != "import_refused":
            raise
        outcome.problems = [f"{p['path']}: {p['message']}" for p in error.details["problems"]]
    return outcome


def _pictures(benchmark: Benchmark, read: Import, problems: list[str]) -> dict[str, images.Picture]:
    """The verified bytes of the rows' pictures, by hash; those in store already are left out."""
    pictures: dict[str, images.Picture] = {}
    stored = set(StoredImage.objects.filter(benchmark=benchmark).values_list("sha256", flat=True))
    for row in read.rows:
        for local in row.images:
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
