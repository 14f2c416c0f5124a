"""Lists as spreadsheets and as JSON Lines, written row by row while they are read."""

import csv
import datetime as dt
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from django.http import StreamingHttpResponse


class _Echo:
    """For csv.writer: what is written comes back."""

    def write(self, line: str) -> str:
        return line


def csv_cell(value: Any) -> Any:
    """A value as a spreadsheet may read it: what it would take for a formula begins with an apostrophe."""
    if isinstance(value, dt.date):
        return value.isoformat()
    if not isinstance(value, str):
        return "" if value is None else value
    return f"'{value}" if value.startswith(("=", "+", "-", "@", "\t", "\r", "\n")) else value


def dated(name: str) -> str:
    return f"{name}-{dt.date.today().isoformat()}"


def csv_response(
    name: str, head: Iterable[object], rows: Iterable[Sequence[Any]], *, mark: bool = True
) -> StreamingHttpResponse:
    """The file `name`.csv. `mark`: begin with the byte order mark by which Excel knows UTF-8; none for programs."""

    def lines() -> Iterator[str]:
        write = csv.writer(_Echo()).writerow
        yield ("\ufeff" if mark else "") + write([csv_cell(str(title)) for title in head])
        for row in rows:
            yield write([csv_cell(value) for value in row])

    return _streamed(lines(), f"{name}.csv", "text/csv; charset=utf-8")


def jsonl_response(name: str, rows: Iterable[Mapping[str, Any]]) -> StreamingHttpResponse:
    """The file `name`.jsonl, one object a line."""
    lines = (json.dumps(row, ensure_ascii=False) + "\n" for row in rows)
    return _streamed(lines, f"{name}.jsonl", "application/x-ndjson")


def _streamed(lines: Iterator[str], name: str, content_type: str) -> StreamingHttpResponse:
    headers = {"Content-Disposition": f'attachment; filename="{name}"', "Cache-Control": "private, no-store"}
    return StreamingHttpResponse(lines, content_type=content_type, headers=headers)
