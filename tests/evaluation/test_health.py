"""Item health, by hand, and consensus against the key from the texts of real responses."""

import json

import numpy as np
import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from evaluation.analyses import health
from evaluation.analyses.base import Options
from evaluation.analyses.data import load
from tests.evaluation.planting import make_results, rows_of
from tests.evaluation.setting import work_through


def test_items_and_steps_that_tell_nothing_are_found(db):
    answers = np.array([[[1, 0, 1, -1], [1, 0, 0, -1], [1, 0, 1, -1]], [[1, 0, 0, -1], [1, 0, 0, -1], [1, 0, 1, -1]]])
    full, none = [1, 1, 1], [0, 0, 0]
    vectors = [
        [[full, [0, 0, 1], [1, 0, 0], None], [full, [0, 1, 0], full, None], [full, none, [1, 0, 1], None]],
        [[full, [0, 0, 1], [1, 0, 0], None], [full, [0, 1, 0], full, None], [full, none, full, None]],
    ]
    result = health.compute(make_results(answers, vectors), Options())
    first, second, third, fourth = rows_of(result, "items")
    assert (first["always"], first["never"], first["solved"], first["dacs_one"]) == (True, False, 3, 1)
    assert (second["never"], second["dacs_zero"], second["correlation"]) == (True, 1, None)
    assert third["answers"] == pytest.approx(1 / 3) and third["steps"] == pytest.approx(1 / 9)
    assert fourth == {**dict.fromkeys(fourth), "item": "item-4", "judged": 0, "flag": ""}  # nothing is said of it
    assert "Items without any verdict: 1 of 4" in result.missing[-1]
    told = {(row["item"], row["step"][0], row["by"]) for row in rows_of(result, "steps")}
    assert told == {
        ("item-1", "1", "everyone"), ("item-1", "2", "everyone"), ("item-1", "3", "everyone"),
        ("item-2", "1", "no one"), ("item-3", "1", "everyone"),
    }  # fmt: skip
    assert rows_of(result, "systems")[0] == {"system": "system 1", "judged": 3, "zero": 0.5, "one": 0.25}
    json.dumps(result.to_json(), allow_nan=False)


def test_one_judge_and_one_system_leave_open_what_takes_more(db):
    result = health.compute(make_results([[[1, 0]]]), Options())
    rows = rows_of(result, "items")
    assert [row["answers"] for row in rows] == [None, None] and [row["correlation"] for row in rows] == [None, None]
    assert rows_of(result, "steps") == [] and "take 3 systems; there are 1" in result.missing[-1]


def test_answer_that_several_systems_give_against_the_key_is_named_with_who_gave_it(setting):
    runs = [work_through(setting.launch(system=setting.new_system(name=f"S{n}"))) for n in range(4)]
    texts = ["The answer is 1590.", "Final answer: **1590**", "So it was 1590\n1590", "Answer: 1588"]
    for run, text in zip(runs, texts, strict=True):
        run.responses.filter(release_item__position=1).update(text=text)
        run.responses.exclude(release_item__position=1).update(text="1588")
    results = load(setting.release, runs, [setting.judge], setting.judge)
    assert results.labels[0] == "S0"
    with CaptureQueriesContext(connection) as queries:
        result = health.compute(results, Options())
    assert len(queries) == 1
    (row,) = rows_of(result, "consensus")
    assert (row["answer"], row["key"], row["agree"], row["given"]) == ("1590", "1588", 3, 4)
    assert row["systems"] == "S0, S1, S2" and row["item"] == results.items[1].uid
