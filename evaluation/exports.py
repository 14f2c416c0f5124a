"""A run as files: our own rows of responses and verdicts, and those of the paper's evaluator. Read row by row.

import(export(run)) gives the same rows: see docs/formats.md.
"""

from collections.abc import Iterator
from typing import Any

from annotation.interchange import export_order

from .models import Judge, Run, Work

Status = Work.Status
FORMATS = ("lhdr", "mr-lhdr")


def response_rows(run: Run, format: str = "lhdr") -> Iterator[dict[str, Any]]:
    """What was answered or failed, in the order of the release. The paper's layout knows one sample."""
    rows = run.responses.filter(status__in=(Status.COMPLETED, Status.FAILED)).select_related("release_item")
    if format == "mr-lhdr":
        rows = rows.filter(sample=1)
    for row in rows.order_by("release_item__position", "sample").iterator(chunk_size=200):
        item = row.release_item
        model = row.returned_model or run.system.model
        if format == "mr-lhdr":
            answered = row.status == Status.COMPLETED
            yield {
                "item_id": item.uid,
                "model": model,
                "text": row.text if answered else None,
                "error": None if answered else row.error or row.error_kind or "failed",
                "with_images": run.condition == "with_image",
            }
            continue
        yield {
            "id": item.uid,
            "question": item.document["question"],
            "sample": row.sample,
            "condition": run.condition,
            "model": model,
            "text": row.text,
            "error": row.error if row.status == Status.FAILED else "",
            "error_kind": row.error_kind,
            "thinking": row.thinking,
            "citations": row.citations,
            "truncated": row.truncated,
            "finish_reason": row.finish_reason,
            "prompt_tokens": row.prompt_tokens,
            "completion_tokens": row.completion_tokens,
            "cost": None if row.cost is None else str(row.cost),
        }


def verdict_rows(run: Run, format: str = "lhdr", judge: Judge | None = None) -> Iterator[dict[str, Any]]:
    """Verdicts that were given, of one judge or of all; in the paper's layout of one (the main judge without `judge`),
    the first on the first sample, its marks in the order that the layout has the steps in."""
    rows = run.verdicts.filter(status=Status.COMPLETED, drift=None).select_related("judge", "response__release_item")
    if format == "mr-lhdr":
        rows = rows.filter(judge=judge or run.main_judge, response__sample=1, repeat=1)
    elif judge is not None:
        rows = rows.filter(judge=judge)
    order = ("response__release_item__position", "response__sample", "judge__name", "repeat")
    for row in rows.order_by(*order).iterator(chunk_size=200):
        item = row.response.release_item
        if format == "mr-lhdr":
            marks = row.vector and [bool(row.vector[step]) for step in export_order(item.document)]
            yield {
                "item_id": item.uid,
                "judge_id": row.judge.name,
                "is_correct": None if row.answer_correct is None else int(row.answer_correct),
                "checklist_completion": marks,
                "error": row.unparseable or None,
            }
            continue
        yield {
            "id": item.uid,
            "sample": row.response.sample,
            "judge": row.judge.name,
            "repeat": row.repeat,
            "answer_correct": row.answer_correct,
            "vector": row.vector,
            "unparseable": row.unparseable,
            "flags": row.flags,
            "note": row.note,
            "blind": row.blind,
            "output": row.output,
        }
