"""Rows of our own: one response or one verdict a line, as a run is exported.

PURE: imports no Django.
"""

from collections.abc import Mapping
from typing import Any

from .rows import (
    ResponseRow,
    RowError,
    VerdictRow,
    citations_of,
    cost_of,
    count_of,
    flag_of,
    id_of,
    text_of,
    texts_of,
    times_of,
    vector_of,
)

CONDITIONS = ("", "with_image", "without_image")


def read_response(number: int, row: Mapping[str, Any]) -> ResponseRow:
    """Raises RowError."""
    condition = text_of(row, "condition")
    if condition not in CONDITIONS:
        raise RowError("condition", "must be with_image or without_image")
    return ResponseRow(
        row=number,
        id=id_of(row, "id"),
        question=text_of(row, "question") if row.get("question") is not None else None,
        sample=times_of(row, "sample"),
        text=text_of(row, "text"),
        error=text_of(row, "error", 10_000),
        error_kind=text_of(row, "error_kind", 20),
        model=text_of(row, "model", 200),
        condition=condition,
        thinking=text_of(row, "thinking"),
        citations=citations_of(row, "citations"),
        truncated=bool(flag_of(row, "truncated")),
        finish_reason=text_of(row, "finish_reason", 40),
        prompt_tokens=count_of(row, "prompt_tokens"),
        completion_tokens=count_of(row, "completion_tokens"),
        cost=cost_of(row, "cost"),
    )


def read_verdict(number: int, row: Mapping[str, Any]) -> VerdictRow:
    """Raises RowError. A verdict of which one half is missing is none."""
    answer, vector = flag_of(row, "answer_correct"), vector_of(row, "vector")
    unparseable = text_of(row, "unparseable", 1000)
    if not unparseable and (answer is None or vector is None):
        unparseable = "the file holds no whole verdict"
    if unparseable:
        answer = vector = None
    return VerdictRow(
        row=number,
        id=id_of(row, "id"),
        judge=text_of(row, "judge", 80).strip(),
        sample=times_of(row, "sample"),
        repeat=times_of(row, "repeat"),
        answer_correct=answer,
        vector=vector,
        unparseable=unparseable,
        output=text_of(row, "output"),
        flags=texts_of(row, "flags"),
        note=text_of(row, "note", 10_000),
        blind=bool(flag_of(row, "blind")),
    )
