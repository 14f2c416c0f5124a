"""`lhdr score` and `lhdr parse_verdict` without the console script: files in, figures or one line of error out."""

import json
import subprocess
import sys

import numpy as np
import pytest

from evaluation.scoring.commands import parse_verdict_main, score_main
from evaluation.scoring.files import ScoreError, score_files
from lhdr_site.shared.cipher import encrypt

# a: c1 -> c2 -> c3, and c4 alone.  b: c2 needs c1, which stands after it.
RELEASE = [
    {
        "schema": "lhdr.item/1",
        "id": "a",
        "checklist": [
            {"key": "c1", "prerequisites": []},
            {"key": "c2", "prerequisites": ["c1"]},
            {"key": "c3", "prerequisites": ["c2"]},
            {"key": "c4", "prerequisites": []},
        ],
    },
    {
        "schema": "lhdr.item/1",
        "id": "b",
        "checklist": [{"key": "c2", "prerequisites": ["c1"]}, {"key": "c1", "prerequisites": []}],
    },
]
PAPER = [
    {"id": "a", "question": "?", "answer": ["x"], "checklist": list("pqrs"), "checklist_parents": [[], [0], [1], []]},
    {"id": "b", "question": "?", "answer": ["x"], "checklist": list("pq"), "checklist_parents": [[], [0]]},
]
VERDICTS = [
    {"id": "a", "answer_correct": True, "vector": [1, 0, 1, 1]},
    {"id": "b", "answer_correct": True, "vector": [1, 1]},
]


@pytest.fixture
def write(tmp_path):
    def write(name, rows):
        path = tmp_path / name
        text = rows if isinstance(rows, str) else "".join(json.dumps(row) + "\n" for row in rows)
        path.write_text(text, encoding="utf-8")
        return path

    return write


@pytest.fixture
def score(write):
    def score(release=RELEASE, verdicts=VERDICTS, responses=None, **options):
        return score_files(
            write("release.jsonl", release),
            write("verdicts.jsonl", verdicts),
            None if responses is None else write("responses.jsonl", responses),
            **{"bootstrap": 0, **options},
        )

    return score


def figures(result):
    return [result[name] for name in ("OA", "SA", "CS", "DACS")]


def test_score_gives_hand_worked_figures(score):
    # a: right, 3 of 4 stated, c3 blocked: OA 1, SA 0, CS 3/4, DACS 2/4.  b: all: 1, 1, 1, 1.
    assert score() == {
        "profile": "strict",
        "seed": 0,
        "bootstrap": 0,
        "n": 2,
        "OA": 1.0,
        "SA": 0.5,
        "CS": 0.875,
        "DACS": 0.75,
        "ci": {},
        "zero": {"no_verdict": 0, "unparseable": 0, "failed_response": 0},
        "items": [
            {"id": "a", "stated": [1, 0, 1, 1], "credited": [1, 0, 0, 1]},
            {"id": "b", "stated": [1, 1], "credited": [1, 1]},
        ],
    }


def test_score_follows_a_prerequisite_that_stands_later(score):
    # b: c2 stated, its prerequisite c1 not: blocked.
    result = score(verdicts=[VERDICTS[0], {"id": "b", "answer_correct": False, "vector": [1, 0]}])
    assert result["items"][1] == {"id": "b", "stated": [1, 0], "credited": [0, 0]}


def test_score_keeps_the_order_of_the_release(score):
    assert score(verdicts=VERDICTS[::-1]) == score()


def test_score_counts_a_missing_row_as_zero_in_the_same_denominator(score):
    result = score(verdicts=VERDICTS[1:])
    assert (result["n"], figures(result)) == (2, [0.5, 0.5, 0.5, 0.5])
    assert result["zero"] == {"no_verdict": 1, "unparseable": 0, "failed_response": 0}
    assert result["items"][0] == {"id": "a", "stated": [0, 0, 0, 0], "credited": [0, 0, 0, 0]}


def test_score_of_no_verdicts_is_zero(score):
    assert figures(score(verdicts="")) == [0, 0, 0, 0]


@pytest.mark.parametrize(
    "half",
    [
        {"answer_correct": None, "vector": [1, 1]},
        {"answer_correct": True, "vector": None},
        {"answer_correct": None, "vector": None},
        {"unparseable": "vector length 1, expected 2"},
    ],
)
def test_score_strict_counts_an_unparseable_verdict_as_zero(score, half):
    result = score(verdicts=[VERDICTS[0], {"id": "b", **half}])
    assert result["zero"]["unparseable"] == 1
    assert figures(result) == [0.5, 0.0, 0.375, 0.25]


def test_score_reads_the_papers_rows_encrypted_or_not(score):
    verdicts = [
        {
            "item_id": "a",
            "judge_id": "j",
            "is_correct": 1,
            "checklist_completion": [True, False, True, True],
            "error": None,
        },
        {"item_id": "b", "judge_id": "j", "is_correct": 1, "checklist_completion": [True, True], "error": None},
    ]
    hidden = [
        {**row, "canary": "k", "question": encrypt("?", "k"), "checklist": [encrypt(s, "k") for s in row["checklist"]]}
        for row in PAPER
    ]
    assert score(PAPER, verdicts) == score(hidden, verdicts) == score()


@pytest.mark.parametrize("response", [{"text": None, "error": "Timeout"}, {"text": "x", "error": "cut"}, {"text": " "}])
def test_score_counts_a_failed_response_as_zero(score, response):
    result = score(responses=[{"item_id": "a", "text": "x", "error": None}, {"item_id": "b", **response}])
    assert figures(result) == [0.5, 0.0, 0.375, 0.25]
    assert result["zero"] == {"no_verdict": 0, "unparseable": 0, "failed_response": 1}


def test_score_counts_an_item_without_response_row_as_zero(score):
    assert figures(score(responses=[{"item_id": "a", "text": "x"}])) == [0.5, 0.0, 0.375, 0.25]


def test_score_intervals_are_those_of_the_definition(score):
    result = score(bootstrap=4, seed=3)
    draws = np.random.Generator(np.random.PCG64(3)).integers(0, 2, (4, 2))
    for metric, values in {"OA": [1, 1], "SA": [0, 1], "CS": [0.75, 1], "DACS": [0.5, 1]}.items():
        means = np.array(values)[draws].mean(axis=1)
        assert result["ci"][metric] == pytest.approx(np.percentile(means, [2.5, 97.5]), abs=1e-12)
    assert (result["bootstrap"], result["seed"], list(result["ci"])) == (4, 3, ["OA", "SA", "CS", "DACS"])


def test_score_as_published_gives_the_figures_of_the_published_evaluator(cases, score):
    rows = [json.loads(line) for line in (cases / "reference_scores.jsonl").read_text(encoding="utf-8").splitlines()]
    verdicts = [{"item_id": row["item"]["id"], **row["verdict"]} for row in rows if row["verdict"]]
    responses = [{"item_id": row["item"]["id"], **row["response"]} for row in rows]
    result = score([row["item"] for row in rows], verdicts, responses, profile="as-published")
    for name in ("oa", "sa", "cs", "dacs"):
        mean = sum(row["expected"][name] for row in rows) / 40
        assert result[name.upper()] == pytest.approx(mean, abs=1e-12)
    for row, item in zip(rows, result["items"], strict=True):
        steps = len(row["item"]["checklist"])
        assert sum(item["stated"]) / steps == row["expected"]["cs"], row["item"]["id"]
        assert sum(item["credited"]) / steps == row["expected"]["dacs"], row["item"]["id"]


def test_score_as_published_repairs_what_strict_rejects(score):
    # a: one short: padded; b: c2's prerequisite stands later: dropped, so c2 alone is credited; unknown id: ignored.
    verdicts = [
        {"id": "a", "answer_correct": None, "vector": [1, 1, 1]},
        {"id": "b", "answer_correct": True, "vector": [1, 0, 1]},
        {"id": "zz", "answer_correct": True, "vector": [1]},
    ]
    result = score(verdicts=verdicts, profile="as-published")
    assert [item["credited"] for item in result["items"]] == [[1, 1, 1, 0], [1, 0]]
    assert figures(result) == [0.5, 0.0, 0.625, 0.625]
    assert (result["profile"], result["zero"]["unparseable"]) == ("as-published", 0)


def test_score_as_published_takes_the_later_row_but_no_failed_one_over_a_good_one(score):
    good = {"id": "b", "answer_correct": False, "vector": [0, 1]}
    failed = {"id": "b", "answer_correct": None, "vector": None}
    for rows, stated in [
        ([VERDICTS[1], good], [0, 1]),
        ([good, failed], [0, 1]),
        ([failed, good], [0, 1]),
        ([good, {**VERDICTS[1], "error": "judge failed"}], [0, 1]),
        ([failed, failed], [0, 0]),
    ]:
        assert score(verdicts=rows, profile="as-published")["items"][1]["stated"] == stated


def test_score_reads_a_byte_order_mark_crlf_and_blank_lines(score):
    text = "\ufeff" + "\r\n\r\n".join(json.dumps(row) for row in RELEASE) + "\r\n\r\n"
    assert score(release=text) == score()


def test_score_does_not_split_a_row_at_a_line_separator_inside_text(score):
    rows = [{**RELEASE[0], "question": "one\u2028two\x85three"}, RELEASE[1]]
    assert score(release="\n".join(json.dumps(row, ensure_ascii=False) for row in rows)) == score()


def changed(row, **fields):
    return {key: value for key, value in {**row, **fields}.items() if value is not ...}


A, B = RELEASE
VA, VB = VERDICTS
LOOP = [{"key": "c3", "prerequisites": ["c5"]}, {"key": "c5", "prerequisites": ["c3"]}]


@pytest.mark.parametrize(
    ("release", "parts"),
    [
        ("", ["release.jsonl", "no items"]),
        ("\n \n", ["no items"]),
        ([A, {**B, "id": "a"}], ["row 2", "id", '"a"', "row 1", "remove"]),
        ([A, changed(B, id=...)], ["row 2", "field id", "missing"]),
        ([A, {**B, "id": 7}], ["row 2", "field id"]),
        ([A, {**B, "id": "x\0"}], ["row 2", "field id", "NUL"]),
        ([A, {**B, "id": "\ud800"}], ["row 2", "field id"]),
        ([A, changed(B, checklist=...)], ["row 2", "checklist", "full or mr-lhdr"]),
        ([A, {**B, "checklist": []}], ["row 2", "checklist", "empty"]),
        ([A, {**B, "checklist": {}}], ["row 2", "checklist"]),
        ([A, {**B, "checklist": LOOP}], ["row 2", "cycle: c3 -> c5 -> c3|cycle: c5 -> c3 -> c5", "remove"]),
        ([A, {**B, "checklist": [{"key": "c1", "prerequisites": ["c9"]}]}], ["row 2", "checklist[0]", '"c9"']),
        ([A, {**B, "checklist": [{"key": "c1", "prerequisites": "c1"}]}], ["checklist[0].prerequisites", "list"]),
        ([A, {**B, "checklist": [{"key": "c1"}, {"key": "c1"}]}], ["checklist[1].key", "repeated"]),
        ([A, {**B, "checklist": [{"key": "c1"}, "text"]}], ["checklist[1].key", "missing"]),
        ([A, {**B, "schema": "lhdr.item/9"}], ["row 2", "schema", "lhdr.item/1"]),
        ([changed(PAPER[0], checklist_parents=...)], ["row 1", "checklist_parents", "missing"]),
        ([{**PAPER[0], "checklist_parents": [[]]}], ["row 1", "checklist_parents", "1 entries", "4 steps"]),
        ([{**PAPER[1], "checklist_parents": [[], ["0"]]}], ["row 1", "checklist_parents[1]", "whole numbers"]),
        ([{**PAPER[1], "checklist_parents": [[1], []]}], ["row 1", "checklist_parents[0]", "earlier", "as-published"]),
        ("{", ["row 1", "not JSON"]),
        (json.dumps(A) + "\n[1]", ["row 2", "not a JSON object"]),
        pytest.param("[" * 100_000, ["row 1", "nesting"], id="deep"),
        pytest.param('{"id": ' + "9" * 5000 + "}", ["row 1", "too large"], id="long number"),
    ],
)
def test_score_of_a_broken_release_names_row_field_and_remedy(score, release, parts):
    with pytest.raises(ScoreError) as error:
        score(release=release, verdicts="")
    for part in parts:
        assert any(alternative in str(error.value) for alternative in part.split("|")), str(error.value)


@pytest.mark.parametrize(
    ("verdicts", "parts"),
    [
        ([VA, {**VB, "vector": [1]}], ["row 2", "field vector", "length 1, expected 2", "as-published"]),
        ([VA, {**VB, "vector": [1, 1, 1]}], ["row 2", "length 3, expected 2"]),
        ([VA, {**VB, "vector": [1, 2]}], ["row 2", "field vector[1]", "2 is not 0 or 1"]),
        ([VA, {**VB, "vector": [1, "1"]}], ["field vector[1]", '"1"']),
        ([VA, {**VB, "vector": [1, 1.0]}], ["field vector[1]"]),
        ([VA, {**VB, "vector": "11"}], ["row 2", "field vector", "not a list"]),
        ([VA, {**VB, "answer_correct": "yes"}], ["row 2", "field answer_correct", '"yes"']),
        ([VA, {**VB, "answer_correct": 2}], ["row 2", "field answer_correct", "2"]),
        ([VA, {**VB, "id": "zz"}], ["row 2", "field id", '"zz"', "no item"]),
        ([VA, VB, VA], ["row 3", "field id", '"a"', "row 1", "one judge"]),
        ([VA, changed(VB, id=...)], ["row 2", "field id"]),
        ([VA, changed(VB, vector=...)], ["row 2", "field vector", "missing"]),
        ([VA, changed(VB, answer_correct=...)], ["row 2", "field answer_correct", "missing"]),
        ([{"item_id": "a", "is_correct": 1}], ["row 1", "field checklist_completion", "missing"]),
        (
            [{"item_id": "a", "is_correct": 1, "checklist_completion": [True]}],
            ["field checklist_completion", "length 1"],
        ),
        ('{"id": "a"', ["verdicts.jsonl", "row 1", "not JSON"]),
    ],
)
def test_score_of_broken_verdicts_names_row_field_and_remedy(score, verdicts, parts):
    with pytest.raises(ScoreError) as error:
        score(verdicts=verdicts)
    assert all(part in str(error.value) for part in parts), str(error.value)


def test_score_strict_refuses_a_wrong_length_also_where_the_response_failed(score):
    with pytest.raises(ScoreError, match="row 2, field vector"):
        score(verdicts=[VA, {**VB, "vector": [1]}], responses=[{"item_id": "b", "text": None, "error": "x"}])


@pytest.mark.parametrize(
    ("responses", "parts"),
    [
        ([{"item_id": "zz", "text": "x"}], ["responses.jsonl, row 1", "field item_id", "no item"]),
        ([{"item_id": "a", "text": "x"}] * 2, ["row 2", "field item_id", "row 1", "one model"]),
        ([{"item_id": "a", "text": 5}], ["row 1", "field text"]),
        ([{"id": "a", "text": "x"}], ["row 1", "field item_id", "missing"]),
    ],
)
def test_score_of_broken_responses_names_row_field_and_remedy(score, responses, parts):
    with pytest.raises(ScoreError) as error:
        score(responses=responses)
    assert all(part in str(error.value) for part in parts), str(error.value)


@pytest.mark.parametrize(
    ("options", "word"),
    [
        ({"bootstrap": -1}, "bootstrap"),
        ({"bootstrap": 10**9}, "bootstrap"),
        ({"seed": -1}, "seed"),
        ({"profile": "x"}, "profile"),
    ],
)
def test_score_of_an_impossible_option_names_it(score, options, word):
    with pytest.raises(ScoreError, match=word):
        score(**options)


@pytest.mark.parametrize(
    ("data", "parts"),
    [
        ('{"id": "a"}'.encode("utf-16"), ["UTF-16", "UTF-8"]),
        ('{"id": "a"}'.encode("utf-16-le"), ["UTF-16", "UTF-8"]),
        ('{}\n{"id": "标"}'.encode("gb18030"), ["row 2", "UTF-8"]),
    ],
)
def test_score_of_another_encoding_names_the_file_and_the_remedy(tmp_path, data, parts):
    path = tmp_path / "odd.jsonl"
    path.write_bytes(data)
    with pytest.raises(ScoreError) as error:
        score_files(path, path)
    assert all(part in str(error.value) for part in ["odd.jsonl", "save", *parts]), str(error.value)


@pytest.fixture
def files(write):
    return [str(write("release.jsonl", RELEASE)), str(write("verdicts.jsonl", VERDICTS))]


def test_score_command_prints_json_alone(files, capsys):
    assert score_main([*files, "--json", "--bootstrap", "50", "--seed", "4"]) == 0
    out = capsys.readouterr()
    result = json.loads(out.out)
    assert (result["DACS"], result["bootstrap"], result["seed"], out.err) == (0.75, 50, 4, "")


def test_score_command_prints_a_table(files, capsys):
    assert score_main([*files, "--bootstrap", "50"]) == 0
    out = capsys.readouterr().out
    assert "2 items, profile strict" in out and "DACS  75.0 %" in out and "50 resamples" in out and len(out) < 400


@pytest.mark.parametrize(
    "arguments",
    [
        [],
        ["release.jsonl"],
        ["nowhere.jsonl", "nowhere.jsonl"],
        ["no\0where", "."],
        ["no\nwhere", "."],
        [".", "."],
        ["{release}", "{verdicts}", "--profile", "lenient"],
        ["{release}", "{verdicts}", "--bootstrap", "many"],
        ["{release}", "{verdicts}", "--seed", "-1"],
        ["{release}", "{release}"],
        ["{verdicts}", "{verdicts}"],
        ["{release}", "{verdicts}", "--responses", "nowhere"],
    ],
)
def test_score_command_of_bad_input_prints_one_line_and_ends_with_2(files, capsys, arguments):
    names = dict(zip(("release", "verdicts"), files, strict=True))
    assert score_main([argument.format(**names) for argument in arguments]) == 2
    out = capsys.readouterr()
    assert out.out == "" and out.err.startswith("lhdr score: ") and out.err.count("\n") == 1


def test_parse_verdict_command_prints_the_verdict_or_the_reason(write, capsys):
    path = write("out.txt", "CHECKLIST_RESULT: [1,0]\nOVERALL_CORRECTNESS: NO")
    assert parse_verdict_main(["--steps", "2", str(path)]) == 0
    assert json.loads(capsys.readouterr().out) == {"answer_correct": False, "vector": [1, 0], "flags": []}
    assert parse_verdict_main(["--steps", "3", str(path)]) == 0
    assert json.loads(capsys.readouterr().out) == {"unparseable": "vector length 2, expected 3"}


@pytest.mark.parametrize(
    "arguments", [["--steps", "0", "-"], ["--steps", "x", "-"], ["-"], ["--steps", "1", "nowhere"]]
)
def test_parse_verdict_command_of_bad_input_prints_one_line_and_ends_with_2(capsys, arguments):
    assert parse_verdict_main(arguments) == 2
    out = capsys.readouterr()
    assert out.out == "" and out.err.startswith("lhdr parse_verdict: ") and out.err.count("\n") == 1


def test_parse_verdict_command_reads_standard_input_without_loading_numpy_or_django():
    program = (
        "import sys; from evaluation.scoring.commands import parse_verdict_main as main;"
        "code = main(['--steps', '1', '-']); assert not {'numpy', 'django'} & set(sys.modules); sys.exit(code)"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], input="CHECKLIST_RESULT：[1]\nOVERALL_CORRECTNESS: YES", capture_output=True,
        encoding="utf-8", check=False,
    )  # fmt: skip
    assert (done.returncode, done.stderr) == (0, "")
    assert json.loads(done.stdout) == {"answer_correct": True, "vector": [1], "flags": []}
