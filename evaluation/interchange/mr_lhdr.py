"""The paper's evaluator: its response rows and its verdict rows.

PURE: imports no Django. Its repairs (padding, cutting, halves) are none of an import: see `lhdr score --profile`.
"""

from collections.abc import Mapping
from typing import Any

from .rows import ResponseRow, VerdictRow, flag_of, id_of, text_of, vector_of


def read_response(number: int, row: Mapping[str, Any]) -> ResponseRow:
    """{"item_id", "model", "text", "error", "with_images"}. Raises RowError."""
    with_images = flag_of(row, "with_images")
    condition = "" if with_images is None else "with_image" if with_images else "without_image"
    return ResponseRow(
        row=number,
        id=id_of(row, "item_id"),
        text=text_of(row, "text"),
        error=text_of(row, "error", 10_000),
        model=text_of(row, "model", 200),
        condition=condition,
    )


def read_verdict(number: int, row: Mapping[str, Any]) -> VerdictRow:
    """{"item_id", "judge_id", "is_correct", "checklist_completion", "error"}. Raises RowError."""
    answer, vector = flag_of(row, "is_correct"), vector_of(row, "checklist_completion")
    unparseable = text_of(row, "error", 1000)
    if not unparseable and (answer is None or vector is None):
        unparseable = "the file holds no whole verdict"
    return VerdictRow(
        row=number,
        id=id_of(row, "item_id"),
        judge=text_of(row, "judge_id", 80).strip(),
        answer_correct=None if unparseable else answer,
        vector=None if unparseable else vector,
        unparseable=unparseable,
        as_exported=True,
    )
