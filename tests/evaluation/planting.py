"""Results with planted verdicts, without a database: what an analysis must find is known."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from audit.releases import Release
from evaluation.analyses.data import Item, Results
from evaluation.models import Condition, Judge, Run, System

CHAIN = [[], [0], [1]]


def make_items(graphs: Sequence[list[list[int]]], **fields: Sequence[Any]) -> list[Item]:
    """Items with these prerequisites. fields: of the documents, one value per item."""
    items = []
    for at, graph in enumerate(graphs):
        checklist = [
            {"key": f"c{k + 1}", "conclusion": f"step {k + 1}", "prerequisites": [f"c{j + 1}" for j in needs]}
            for k, needs in enumerate(graph)
        ]
        document = {
            "question": f"question {at}", "answer": f"answer {at}", "answer_aliases": [], "category": "media",
            "template": "linear", "operation_tags": [], "sources": [], "images": [], "language": "en",
            "checklist": checklist,
        } | {name: values[at] for name, values in fields.items()}  # fmt: skip
        items.append(Item(at + 1, f"item-{at + 1}", at + 1, document, graph))
    return items


def make_results(
    answers: Any,
    stated: Sequence[Sequence[Sequence[Sequence[int] | None]]] | np.ndarray | None = None,
    items: Sequence[Item] | None = None,
    systems: Sequence[dict[str, Any]] = (),
    judges: Sequence[dict[str, Any]] = (),
    completed: Any = None,
    main: int = 0,
    conditions: Sequence[str] = (),
    run_of: Sequence[int] = (),
) -> Results:
    """answers: (J, R, n) of 1, 0 and -1. stated: [judge][run][item] vectors, or an array padded with -1; by default
    everything is stated where there is a verdict. items: chains of three steps by default.
    run_of: the run of each row of these, where a run has several samples; the first R rows are the first samples."""
    right = np.array(answers, dtype=np.int8)
    count = right.shape[2]
    rows = list(items) if items is not None else make_items([CHAIN] * count)
    lengths = np.array([len(item.prerequisites) for item in rows])
    if isinstance(stated, np.ndarray):
        flags = stated.astype(np.int8)
    else:
        flags = np.full((*right.shape, int(lengths.max())), -1, dtype=np.int8)
        for at in np.argwhere(right >= 0):
            judge, run, item = at.tolist()
            vector = [1] * lengths[item] if stated is None else stated[judge][run][item]
            flags[judge, run, item, : lengths[item]] = vector
    runs = []
    release = Release(pk=1, name="r1", item_count=count)
    place = np.array(run_of) if len(run_of) else np.arange(right.shape[1])
    for at in range(int(place.max()) + 1):
        known = {"name": f"system {at + 1}", "group": "tool_free_vlm", "family": f"family {at + 1}"}
        system = System(pk=at + 1, **known | (dict(systems[at]) if systems else {}))
        condition = conditions[at] if conditions else Condition.WITH_IMAGE
        samples = int((place == at).sum())
        known = {"release": release, "system": system, "condition": condition, "item_count": count, "samples": samples}
        runs.append(Run(pk=at + 1, number=at + 1, **known))
    people = []
    for at in range(right.shape[0]):
        known = {"name": f"judge {at + 1}", "prompt_version": "p1", "family": f"maker {at + 1}"}
        people.append(Judge(pk=at + 1, **known | (dict(judges[at]) if judges else {})))
    done = np.ones(right.shape[1:], dtype=bool) if completed is None else np.array(completed, dtype=bool)
    return Results(release, rows, runs, people, main, right, flags, done, place)


def planted(
    answers: ArrayLike,
    stated: ArrayLike,
    *,
    conditions: Sequence[str] = (),
    systems: Sequence[str] = (),
    prerequisites: Sequence[Sequence[int]] | None = None,
) -> Results:
    """answers: (J, R, n) 1, 0 or -1.  stated: (J, R, n, M) flags.  prerequisites: of every item; a chain without it.

    Systems are called S0, S1, …; judges J0, J1, …; the first judge is the main one.
    """
    right, flags = np.asarray(answers, dtype=np.int8), np.asarray(stated, dtype=np.int8)
    judges, runs, items = right.shape
    needs = prerequisites or [[step - 1] if step else [] for step in range(flags.shape[-1])]
    return make_results(
        right,
        np.where(right[..., None] < 0, -1, flags),
        make_items([[list(step) for step in needs]] * items),
        systems=[{"name": name} for name in systems or [f"S{at}" for at in range(runs)]],
        judges=[{"name": f"J{at}", "family": f"F{at}"} for at in range(judges)],
        conditions=conditions,
    )


def rows_of(result: Any, key: str) -> list[dict[str, Any]]:
    """The rows of a result's table."""
    return next(table.rows for table in result.tables if table.key == key)
