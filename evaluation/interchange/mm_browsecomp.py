"""Answer files of MM-BrowseComp: one line per answer, the id with the number of the repeat.

PURE: imports no Django.
"""

import json
import re
from collections.abc import Mapping
from typing import Any

from .rows import MAX_TIMES, ResponseRow, RowError, id_of, text_of

_REPEATED = re.compile(r"(.+)_run_([1-9][0-9]{0,3})")


def read_response(number: int, row: Mapping[str, Any]) -> ResponseRow:
    """{"id": "17_run_1", "question", "model_name", "generated_answer_text" or "error", …}. Raises RowError."""
    id, sample = id_of(row, "id"), 1
    if found := _REPEATED.fullmatch(id):
        id, sample = found[1], int(found[2])
    if sample > MAX_TIMES:
        raise RowError("id", f"is repeat {sample}; at most {MAX_TIMES} are taken")
    error = row.get("error")
    # what a service reported stands there as it came, an object as often as a text
    said = error if error is None or isinstance(error, str) else json.dumps(error)[:10_000]
    return ResponseRow(
        row=number,
        id=id,
        question=text_of(row, "question") if row.get("question") is not None else None,
        sample=sample,
        text=text_of(row, "generated_answer_text"),
        error=text_of({"error": said}, "error", 10_000),
        model=text_of(row, "model_name", 200),
    )
