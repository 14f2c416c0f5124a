"""Responses and verdicts from files: one entry for every format read. docs/formats.md describes them for their users.

PURE: imports no Django and no database.
"""

import re
from collections.abc import Callable, Mapping
from itertools import chain
from pathlib import Path
from typing import Any, BinaryIO, Final

from annotation.interchange.files import RowProblem, open_source, printable, read_rows

from . import lhdr, mm_browsecomp, mr_lhdr
from .inspect_log import read_log
from .rows import MAX_TIMES, ReadFile, Report, ResponseRow, RowError, VerdictRow, match_responses, match_verdicts

__all__ = [
    "FORMATS",
    "MAX_TIMES",
    "VERDICT_FORMATS",
    "ReadFile",
    "ResponseRow",
    "VerdictRow",
    "match_responses",
    "match_verdicts",
    "read_responses",
    "read_verdicts",
    "reporting_to",
]

RowReader = Callable[[int, Mapping[str, Any]], Any]
_RESPONSES: Final[dict[str, RowReader]] = {
    "lhdr": lhdr.read_response,
    "mr-lhdr": mr_lhdr.read_response,
    "mm-browsecomp": mm_browsecomp.read_response,
}
_VERDICTS: Final[dict[str, RowReader]] = {"lhdr": lhdr.read_verdict, "mr-lhdr": mr_lhdr.read_verdict}
FORMATS: Final = ("auto", *_RESPONSES, "inspect")
VERDICT_FORMATS: Final = ("auto", *_VERDICTS)
_LOG = re.compile(rb'(\xef\xbb\xbf)?\s*\{\s*"version"\s*:\s*\d+\s*,')
_LOOK_AT = 20  # rows that auto-detection looks at


def reporting_to(problems: list[str]) -> Report:
    """What readers say problems to: each becomes one line that names row and field."""

    def report(row: int | None, name: str, message: str) -> None:
        problems.append(str(RowProblem(row, printable(name), printable(message))))

    return report


def read_responses(source: str | Path | BinaryIO, format: str = "auto") -> ReadFile:
    """Every response of a file, and every row that is none, with row, field and what to do.

    source: a path, or a binary stream that can seek, whose `name`, if any, says what is expected. Raises ValueError for
    an unknown format, and nothing for what the file holds.
    """
    return _read(source, format, _RESPONSES, FORMATS)


def read_verdicts(source: str | Path | BinaryIO, format: str = "auto") -> ReadFile:
    """The same for verdicts."""
    return _read(source, format, _VERDICTS, VERDICT_FORMATS)


def _read(
    source: str | Path | BinaryIO, format: str, readers: Mapping[str, RowReader], formats: tuple[str, ...]
) -> ReadFile:
    if format not in formats:
        raise ValueError(f"format must be one of {', '.join(formats)}, not {format!r}")
    result = ReadFile()
    report = reporting_to(result.problems)
    stream = open_source(source, report)
    if stream is None:
        return result
    try:
        head = stream.read(200)
        stream.seek(0)
        may_be_log = "inspect" in formats and format in ("auto", "inspect")
        if may_be_log and _is_named_packed(source) and not _is_log(head) and not head.startswith(b"PK"):
            report(None, "", "the file is no ZIP archive, as a .eval log of Inspect is; copy the log again")
            return result
        if may_be_log and (format == "inspect" or _is_log(head)):
            result.format = "inspect"
            result.rows = list(read_log(stream, report))
            return result
        rows = read_rows(stream, report)
        if format == "auto":
            first = [row for _, row in zip(range(_LOOK_AT), rows, strict=False)]
            format = next((found for _, row in first if (found := _format_of(row)) in readers), "")
            if not format:
                if first:
                    names = ", ".join(list(first[0][1])[:12])[:300] or "none"
                    text = f"the format cannot be told from the fields of the first rows ({names}); name it yourself"
                    report(None, "", text)
                return result
            rows = chain(first, rows)
        result.format = format
        for number, row in rows:
            try:
                result.rows.append(readers[format](number, row))
            except RowError as error:
                report(number, error.name, error.message)
    except OSError as error:
        report(None, "", f"the file cannot be read ({error.strerror or error})")
    finally:
        if stream is not source:
            stream.close()
    return result


def _is_named_packed(source: str | Path | BinaryIO) -> bool:
    return str(getattr(source, "name", source)).lower().endswith(".eval")


def _is_log(head: bytes) -> bool:
    return head.startswith(b"PK\x03\x04") or bool(_LOG.match(head))


def _format_of(row: Mapping[str, Any]) -> str:
    """The format that the fields of a row point to, or ""."""
    if "item_id" in row:
        return "mr-lhdr"
    if "generated_answer_text" in row or "model_name" in row:
        return "mm-browsecomp"
    return "lhdr" if "id" in row else ""
