"""Items from and to files: one entry for every format read, and the writers of a release export.

PURE: imports no Django and no database. docs/formats.md describes the formats for their users.
"""

import gc
import unicodedata
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from itertools import chain
from pathlib import Path
from typing import Any, BinaryIO, Final

from annotation.document import Document, DocumentError, Problem, dangling_links
from annotation.graph import find_cycle
from annotation.interchange import lhdr, mm_browsecomp, mr_lhdr
from annotation.interchange.files import (
    ImageFolder,
    Import,
    ImportedRow,
    LocalImage,
    Reading,
    RowProblem,
    open_source,
    printable,
    read_rows,
)
from annotation.interchange.lhdr import image_files, write_full, write_public
from annotation.interchange.mr_lhdr import export_order, write_mr_lhdr

__all__ = [
    "FORMATS",
    "Import",
    "ImportedRow",
    "LocalImage",
    "RowProblem",
    "collector_paused",
    "export_order",
    "image_files",
    "read_items",
    "write_full",
    "write_mr_lhdr",
    "write_public",
]

RowReader = Callable[[Mapping[str, Any], Reading], tuple[Document, list[LocalImage], list[str]]]

_READERS: Final[dict[str, RowReader]] = {
    "lhdr": lhdr.read_row,
    "mr-lhdr": mr_lhdr.read_row,
    "mm-browsecomp": mm_browsecomp.read_row,
}
FORMATS: Final = ("auto", *_READERS)
_LOOK_AT = 20  # rows that auto-detection looks at


def read_items(
    source: str | Path | BinaryIO, format: str = "auto", *, benchmark: str = "", linear_prerequisites: bool = False
) -> Import:
    """Every row of a file of items, and every problem, each with its row, its field and what to do.

    source: a path, whose folder holds the pictures, or a binary stream, which has no folder.
    benchmark: slug that ids derived from foreign ids are made with. linear_prerequisites: a foreign checklist without
    prerequisites becomes a chain. Raises ValueError for an unknown format, and nothing for what the file holds.
    """
    if format not in FORMATS:
        raise ValueError(f"format must be one of {', '.join(FORMATS)}, not {format!r}")
    result = Import()

    def report(row: int | None, field: str, message: str) -> None:
        result.problems.append(RowProblem(row, printable(field), printable(message)))

    stream = open_source(source, report)
    if stream is None:
        return result
    try:
        rows = read_rows(stream, report)
        if format == "auto":
            first = [row for _, row in zip(range(_LOOK_AT), rows, strict=False)]
            format = next((found for _, row in first if (found := _format_of(row))), "")
            if not format:
                if first:
                    report(None, "", _unknown(first[0][1]))
                return result
            rows = chain(first, rows)
        result.format = format
        folder = None if stream is source else Path(source).parent  # type: ignore[arg-type]
        reading = Reading(ImageFolder(folder), benchmark, linear_prerequisites)
        with collector_paused():
            _read_into(result, rows, _READERS[format], reading, report)
    except OSError as error:
        report(None, "", f"the file cannot be read ({error.strerror or error})")
    finally:
        if stream is not source:
            stream.close()
    return result


@contextmanager
def collector_paused() -> Iterator[None]:
    """Documents hold no reference cycles; walking all those in hand again and again costs a third of an import."""
    running = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if running:
            gc.enable()


def _format_of(row: Mapping[str, Any]) -> str:
    """The format that the fields of a row point to, or ""."""
    checklist = row.get("checklist")
    if str(row.get("schema", "")).startswith("lhdr.item/"):
        return "lhdr"
    if "checklist_parents" in row or isinstance(row.get("answer"), list):
        return "mr-lhdr"
    if "checklist_property" in row:
        return "mm-browsecomp"
    return "lhdr" if isinstance(checklist, list) and checklist and isinstance(checklist[0], dict) else ""


def _unknown(row: Mapping[str, Any]) -> str:
    fields = ", ".join(list(row)[:12]) or "none"
    return (
        f"the format cannot be told from the fields of the first rows ({fields[:300]}); looked for schema (lhdr), "
        "checklist_parents or a list as answer (mr-lhdr), checklist_property (mm-browsecomp); name the format yourself"
    )


def _read_into(
    result: Import,
    rows: Iterator[tuple[int, dict[str, Any]]],
    read_row: RowReader,
    reading: Reading,
    report: Callable[[int | None, str, str], None],
) -> None:
    seen: dict[str, int] = {}
    alike: dict[str, int] = {}
    benchmarks: set[str] = set()
    for number, row in rows:
        warnings: list[str] = []
        id = str(row.get("id", ""))
        folded = unicodedata.normalize("NFKC", id).casefold().strip()
        if id in seen:
            report(number, "id", f"{id[:100]!r} is also the id of row {seen[id]}; give each item an id of its own")
        elif id and folded in alike:
            warnings.append(f"id: {id[:100]!r} is nearly the id of row {alike[folded]}; check that they are two items")
        if id:
            seen.setdefault(id, number)
            alike.setdefault(folded, number)
        if result.format == "lhdr" and isinstance(row.get("benchmark"), str):
            benchmarks.add(row["benchmark"])
        try:
            document, images, notes = read_row(row, reading)
            _require_structure(document)
        except DocumentError as error:
            for problem in error.problems:
                report(number, problem.path, problem.message)
        except RecursionError:
            report(number, "", "is nested too deep; flatten it")
        else:
            result.rows.append(ImportedRow(number, document, [*warnings, *notes], images))
    result.benchmarks = sorted(benchmarks)
    result.problems.sort(key=lambda problem: problem.row or 0)  # detection had looked ahead


def _require_structure(document: Document) -> None:
    """Raises DocumentError for links to nothing and for a cycle, which no item may have."""
    problems = [
        Problem(link.path, f"there is no {link.target!r} in {link.target_list}; add it or take the link out")
        for link in dangling_links(document)
    ]
    if cycle := find_cycle(document.prerequisite_positions()):
        way = " -> ".join(document.checklist[position].key for position in cycle)
        problems.append(Problem("checklist", f"the prerequisites form a cycle: {way}; take one of them out"))
    if problems:
        raise DocumentError(problems)
