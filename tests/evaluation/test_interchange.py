"""Files of responses and verdicts: every format as its makers write it, and what is refused, row by row."""

import io
import json
import random
import zipfile
from decimal import Decimal

import pytest

from evaluation.interchange import inspect_log, match_responses, match_verdicts, read_responses, read_verdicts
from evaluation.interchange import reporting_to as reporting
from evaluation.interchange.rows import KnownItem, by_id


def lines(*rows):
    return io.BytesIO("\n".join(json.dumps(row) for row in rows).encode())


def log(*samples, **more):
    return {"version": 2, "status": "success", "eval": {"task": "t", "model": "openai/m"}, "samples": samples, **more}


def sample(id="a", epoch=1, text="337", **more):
    message = {
        "role": "assistant",
        "content": [{"type": "reasoning", "reasoning": "Hm."}, {"type": "text", "text": text}],
    }
    return {
        "id": id, "epoch": epoch, "target": "x", "scores": {"s": {"value": float("nan")}},
        "input": [
            {"role": "user", "content": [{"type": "text", "text": "Which?"}, {"type": "image", "image": "x.png"}]}
        ],
        "output": {
            "model": "m-2026", "completion": text, "choices": [{"message": message, "stop_reason": "stop"}],
            "usage": {"input_tokens": 10, "output_tokens": 4},
        },
        **more,
    }  # fmt: skip


def packed(*samples, header=True, method=zipfile.ZIP_DEFLATED):
    data = io.BytesIO()
    with zipfile.ZipFile(data, "w", method) as archive:
        if header:
            archive.writestr("header.json", json.dumps({k: v for k, v in log().items() if k != "samples"}))
        for row in samples:
            archive.writestr(f"samples/{row['id']}_epoch_{row['epoch']}.json", json.dumps(row))
        archive.writestr("summaries.json", "[]")
    data.seek(0)
    return data


# --- responses ----------------------------------------------------------------------------------------------------


def test_own_rows_are_read_with_all_they_hold():
    row = {
        "id": "a", "question": "Which?", "sample": 2, "condition": "without_image", "model": "m", "text": "337",
        "thinking": "Hm.", "citations": [{"url": "https://example.org", "title": "T"}], "truncated": True,
        "finish_reason": "length", "prompt_tokens": 1, "completion_tokens": 2, "cost": "0.25", "anything": [1],
    }  # fmt: skip
    read = read_responses(lines(row, {"id": "b", "error": "no", "error_kind": "timeout"}))
    assert (read.format, read.problems) == ("lhdr", [])
    first, second = read.rows
    assert (first.sample, first.condition, first.cost, first.failed) == (2, "without_image", Decimal("0.25"), False)
    assert (first.citations, first.truncated) == (({"url": "https://example.org", "title": "T"},), True)
    assert second.failed and (second.error_kind, second.question) == ("timeout", None)


def test_rows_of_the_papers_evaluator_are_read():
    read = read_responses(lines(
        {"item_id": "a", "model": "m", "text": "337", "error": None, "with_images": False},
        {"item_id": "b", "model": "m", "text": None, "error": "timed out", "with_images": False},
    ))  # fmt: skip
    assert (read.format, read.problems) == ("mr-lhdr", [])
    assert [(r.id, r.text, r.error, r.condition, r.failed) for r in read.rows] == [
        ("a", "337", "", "without_image", False), ("b", "", "timed out", "without_image", True),
    ]  # fmt: skip


def test_answer_files_of_mm_browsecomp_are_read_with_repeats_as_samples():
    read = read_responses(lines(
        {"id": "17_run_1", "question": "Which?", "image_urls": [], "model_name": "m", "generated_answer_text": "337"},
        {"id": "17_run_2", "question": "Which?", "model_name": "m", "error": {"code": 429}, "error_details": "x"},
        {"id": 18, "question": "Which?", "model_name": "m", "generated_answer_text": "1"},
    ))  # fmt: skip
    assert (read.format, read.problems) == ("mm-browsecomp", [])
    assert [(r.id, r.sample, r.failed) for r in read.rows] == [("17", 1, False), ("17", 2, True), ("18", 1, False)]
    assert "429" in read.rows[1].error


@pytest.mark.parametrize("make", [lambda *s: io.BytesIO(json.dumps(log(*s)).encode()), packed])
def test_logs_of_inspect_are_read_as_json_and_packed(make):
    read = read_responses(make(
        sample(), sample(epoch=2, text=""), sample("b", error={"message": "crashed"}),
        sample("c", text="attachment://abc1", attachments={"abc1": "A long answer."}),
        sample("d", output={"choices": [{"message": {"content": "Yes."}, "stop_reason": "max_tokens"}]}),
        sample("e", input="Which?", output={"error": "overloaded", "choices": []}),
    ))  # fmt: skip
    assert (read.format, read.problems) == ("inspect", [])
    rows = {(r.id, r.sample): r for r in read.rows}
    first = rows["a", 1]
    assert (first.text, first.thinking, first.model, first.question) == ("337", "Hm.", "m-2026", "Which?")
    assert (first.prompt_tokens, first.completion_tokens, first.truncated) == (10, 4, False)
    assert rows["a", 2].failed and rows["b", 1].error == "crashed" and rows["e", 1].error == "overloaded"
    assert rows["c", 1].text == "A long answer."
    assert (rows["d", 1].text, rows["d", 1].truncated, rows["d", 1].model) == ("Yes.", True, "openai/m")


def test_log_of_inspect_without_header_is_read_all_the_same():
    assert [r.id for r in read_responses(packed(sample(output={}), header=False)).rows] == ["a"]


def test_log_that_is_packed_with_zstandard_is_refused_with_the_remedy():
    data = packed(sample()).getvalue()
    marked = bytearray(data)
    for mark, place in ((b"PK\x03\x04", 8), (b"PK\x01\x02", 10)):
        at = marked.find(mark)
        while at >= 0:
            marked[at + place : at + place + 2] = (93).to_bytes(2, "little")
            at = marked.find(mark, at + 4)
    [problem] = read_responses(io.BytesIO(bytes(marked))).problems
    assert "inspect log convert --to json" in problem


def test_sample_that_unpacks_to_too_much_is_not_read(monkeypatch):
    monkeypatch.setattr(inspect_log, "MAX_SAMPLE", 10_000)
    read = read_responses(packed(sample(), sample("b", text="x" * 1_000_000)))
    assert [r.id for r in read.rows] == ["a"] and "unpacked" in read.problems[0]


@pytest.mark.parametrize(
    ("row", "says"),
    [
        ({"text": "x"}, "id"), ({"id": ""}, "id"), ({"id": None}, "id"), ({"id": 1.5}, "id"), ({"id": ["a"]}, "id"),
        ({"id": "a", "text": 5}, "text"), ({"id": "a", "text": "a\x00b"}, "NUL"),
        ({"id": "a", "text": "\ud800"}, "text"), ({"id": "a", "sample": 0}, "sample"),
        ({"id": "a", "sample": 21}, "sample"), ({"id": "a", "sample": True}, "sample"),
        ({"id": "a", "cost": -1}, "cost"), ({"id": "a", "cost": "much"}, "cost"), ({"id": "a", "cost": True}, "cost"),
        ({"id": "a", "prompt_tokens": -1}, "prompt_tokens"), ({"id": "a", "prompt_tokens": 10**30}, "prompt_tokens"),
        ({"id": "a", "condition": "sideways"}, "condition"), ({"id": "a", "citations": "x"}, "citations"),
        ({"id": "a", "citations": [1]}, "citations"), ({"id": "a", "question": 5}, "question"),
        ({"id": "a", "truncated": "yes"}, "truncated"), ({"item_id": "a", "with_images": "yes"}, "with_images"),
        ({"id": "17_run_99", "model_name": "m"}, "repeat"),
    ],
)  # fmt: skip
def test_row_that_cannot_be_taken_is_refused_by_row_and_field(row, says):
    format = "mr-lhdr" if "item_id" in row else "mm-browsecomp" if "model_name" in row else "lhdr"
    read = read_responses(lines({"id": "good", "item_id": "good"}, row), format)
    assert len(read.rows) == 1
    assert any("row 2" in problem and says in problem for problem in read.problems), read.problems


@pytest.mark.parametrize(
    "data",
    [
        b"", b"\n\n", b"\x00", b"PK\x03\x04junk", b"{", b"[]", b"[1, 2]", b"nonsense", '{"id": "ü"}'.encode("utf-16"),
        '{"id": "中文"}'.encode("gb18030"), b'{"version": 2, "samples": 3}', b'{"version": 2, "x": ', b"5",
        b'{"a": 1}', b'{"id": NaN}', b"[" * 100_000, b'{"version": 2, "samples": [3, null, {}, {"id": {}}]}',
        b'{"version": 2, "samples": [{"id": "a", "epoch": 1e9}, {"id": "a", "output": {"choices": {"x": 1}}}]}',
        b'{"version": 2, "a": ' + b"[" * 50_000,
    ],
)  # fmt: skip
@pytest.mark.parametrize("read", [read_responses, read_verdicts])
def test_file_that_is_no_such_file_says_so_and_raises_nothing(data, read):
    found = read(io.BytesIO(data))
    assert found.problems or not [row for row in found.rows if not getattr(row, "failed", False)]
    for format in ("lhdr", "mr-lhdr"):
        assert read(io.BytesIO(data), format).rows == [] or read is read_responses


@pytest.mark.parametrize("format", ["auto", "inspect"])
@pytest.mark.parametrize("data", [b"", b"\xde\xad\xbe\xef", b"[{"])
def test_file_named_as_a_packed_log_is_said_to_be_no_archive(tmp_path, data, format):
    path = tmp_path / "run.EVAL"
    path.write_bytes(data)
    for source in (path, str(path), path.open("rb")):
        [problem] = read_responses(source, format).problems
        assert "no ZIP archive" in problem and "UTF-8" not in problem
    assert "no ZIP archive" not in str(read_responses(path, "lhdr").problems)


def test_log_in_plain_text_is_read_whatever_its_name(tmp_path):
    path = tmp_path / "run.eval"
    path.write_text(json.dumps(log(sample())))
    assert len(read_responses(path).rows) == 1


def test_damaged_archives_raise_nothing():
    whole, chance = packed(sample(), sample("b")).getvalue(), random.Random(7)
    for _ in range(200):
        data = bytearray(whole)
        for _ in range(chance.randint(1, 6)):
            data[chance.randrange(4, len(data))] = chance.randrange(256)
        read_responses(io.BytesIO(bytes(data[: chance.randrange(10, len(data) + 1)])))


def test_format_that_is_not_known_is_an_error_of_the_caller():
    with pytest.raises(ValueError, match="format"):
        read_responses(lines({"id": "a"}), "xml")


def test_file_that_is_not_there_is_a_problem(tmp_path):
    assert "does not exist" in read_responses(tmp_path / "none.jsonl").problems[0]


# --- against a release --------------------------------------------------------------------------------------------

ITEMS = by_id([
    KnownItem(1, "a", "Which  one?\n", [0, 1, 2], ["17"]), KnownItem(2, "b", "Who?", [2, 0, 1], ["x", "a"]),
    KnownItem(3, "c", "When?", [0, 1, 2], ["x"]),
])  # fmt: skip


def matched(*rows):
    problems = []
    found = match_responses(read_responses(lines(*rows), "lhdr").rows, ITEMS, reporting(problems))
    return [(row.row, item.key) for row, item in found], problems


def test_rows_are_matched_by_id_and_by_another_id_that_one_item_alone_has():
    assert matched({"id": "a"}, {"id": 17, "sample": 2})[0] == [(1, 1), (2, 1)]
    found, problems = matched({"id": "x"}, {"id": "nowhere"})
    assert found == [] and all("no item of the release" in problem for problem in problems)


def test_question_is_compared_without_white_space_and_a_difference_is_refused_by_row():
    assert matched({"id": "a", "question": " Which one?"})[0] == [(1, 1)]
    found, problems = matched({"id": "a", "question": "Which two?"}, {"id": "b", "question": "Who?"})
    assert found == [(2, 2)] and problems[0].startswith("row 1, question")


def test_row_that_stands_twice_is_refused_with_the_first_ones_place():
    found, problems = matched({"id": "a"}, {"id": "a"}, {"id": "a", "sample": 2}, {"id": 17})
    assert found == [(1, 1), (3, 1)] and [p.split(":")[0] for p in problems] == ["row 2, id", "row 4, id"]


# --- verdicts -----------------------------------------------------------------------------------------------------


def verdicts(*rows):
    problems = []
    read = read_verdicts(lines(*rows))
    found = match_verdicts(read.rows, ITEMS, reporting(read.problems))
    return [(row.answer_correct, marks, row.unparseable != "") for row, _item, marks in found], read.problems + problems


def test_own_verdicts_and_those_of_lhdr_score_are_read():
    assert verdicts({"id": "a", "answer_correct": True, "vector": [1, 0, True]}) == ([(True, [1, 0, 1], False)], [])
    assert verdicts({"id": "a", "answer_correct": 0, "vector": None}) == ([(None, None, True)], [])


def test_marks_of_the_papers_evaluator_go_back_to_the_documents_order():
    row = {"item_id": "b", "judge_id": "j", "is_correct": 1, "checklist_completion": [True, False, True], "error": None}
    assert verdicts(row) == ([(True, [0, 1, 1], False)], [])  # its rows hold the steps 2, 0, 1


@pytest.mark.parametrize(
    ("row", "says"),
    [
        ({"id": "a", "answer_correct": 1, "vector": [1, 1]}, "2 marks"),
        ({"id": "a", "answer_correct": 1, "vector": [1, 1, 1, 1]}, "4 marks"),
        ({"id": "a", "answer_correct": 1, "vector": [1, 1, 2]}, "vector"),
        ({"id": "a", "answer_correct": "yes", "vector": [1, 1, 1]}, "answer_correct"),
        ({"id": "a", "answer_correct": 1, "vector": "111"}, "vector"),
        ({"id": "zz", "answer_correct": 1, "vector": [1, 1, 1]}, "no item"),
    ],
)
def test_verdict_is_never_repaired(row, says):
    found, problems = verdicts(row)
    assert found == [] and says in problems[0] and problems[0].startswith("row 1")
