"""Agreement of judges as tables, by hand: common cells only, one prompt only, and what is undefined left empty."""

import json

import numpy as np
import pytest
from sklearn.metrics import cohen_kappa_score

from evaluation.analyses import judging
from evaluation.analyses.base import Options
from tests.evaluation.planting import make_results, rows_of

FOUR = [[1, 1, 0, 0]]


def test_matrix_holds_raw_agreement_below_and_kappa_above_the_diagonal():
    second = [[1, 0, 0, 0]]
    result = judging.compute(make_results([FOUR, second]), Options())
    first_row, second_row = rows_of(result, "answers")
    assert first_row == {"judge": "judge 1", "j1": None, "j2": pytest.approx(cohen_kappa_score(FOUR[0], second[0]))}
    assert second_row == {"judge": "judge 2", "j1": 0.75, "j2": None}
    answers, _steps = rows_of(result, "overall")[:2]
    assert (answers["cells"], answers["left_out"], answers["ratings"], answers["unanimous"]) == (4, 0, 4, 0.75)
    assert answers["fleiss_low"] <= answers["fleiss"] <= answers["fleiss_high"]
    (pair,) = rows_of(result, "pairs")
    assert pair["across"] is True and pair["answers_raw"] == 0.75
    assert pair["steps_raw"] == 1 and pair["steps_kappa"] is None  # all steps are stated for both
    json.dumps(result.to_json(), allow_nan=False)


def test_cells_that_a_judge_did_not_judge_are_left_out_and_counted():
    result = judging.compute(make_results([[[1, 1, 0, 0]], [[1, 0, -1, 0]]]), Options())
    assert rows_of(result, "overall")[1]["ratings"] == 9  # three responses of three steps
    assert result.used == 3
    assert result.missing == ["1 of 4 responses lack the verdict of some judge and are left out."]
    # a failed response is no cell at all
    failed = make_results([[[1, 1, 0, -1]], [[1, 0, 0, -1]]], completed=[[True, True, True, False]])
    assert judging.compute(failed, Options()).missing == []


def test_judges_of_another_prompt_and_people_are_left_out_and_named():
    from django.contrib.auth import get_user_model

    person = get_user_model()(pk=5, username="ada")
    judges = [{}, {"prompt_version": "p2"}, {"name": "Ada", "person": person, "prompt_version": ""}, {}]
    result = judging.compute(make_results([FOUR] * 4, judges=judges), Options())
    assert [row["judge"] for row in rows_of(result, "each")] == ["judge 1", "judge 4"]
    assert "judge 2, Ada" in result.missing[0]
    alone = judging.compute(make_results([FOUR] * 2, judges=judges[:2]), Options())
    assert alone.tables == [] and "Two judges with the same prompt are needed." in alone.missing


def test_no_common_response_gives_no_figure_and_says_so():
    result = judging.compute(make_results([[[1, -1]], [[-1, 1]]]), Options())
    assert result.tables == [] and result.used == 0
    assert result.missing[-1] == "There is no response that all of these judges have judged."


def test_pool_is_everyone_but_the_main_judge_and_leniency_counts_what_passes():
    answers = [[[1, 1, 1, 0]], [[1, 0, 0, 0]], [[1, 1, 0, 0]]]
    result = judging.compute(make_results(answers), Options())
    rows = rows_of(result, "each")
    assert [row["answers"] for row in rows] == [0.75, 0.25, 0.5]
    assert [row["in_pool"] for row in rows] == [False, True, True]
    assert [row["answers_raw"] for row in rows] == [0.75, 0.75, 1]  # the pool: 1, 1, 0, 0


def test_grid_takes_one_system_per_family_and_its_weakest_member():
    systems = [{"family": "A", "represents_family": True}, {"family": "A"}, {"family": "B"}]
    answers = np.array([[[1, 1, 1], [0, 0, 0], [1, 0, 1]], [[1, 0, 1], [1, 1, 1], [1, 0, 1]]])
    result = judging.compute(make_results(answers, systems=systems), Options())
    found = {(row["systems"], row["what"]): row for row in rows_of(result, "overall")}
    assert found["all", "answers"]["cells"] == 9
    assert found["one per family", "answers"]["unanimous"] == pytest.approx(5 / 6)
    assert found["the weakest of each family", "answers"]["unanimous"] == pytest.approx(3 / 6)
