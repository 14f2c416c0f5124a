"""The evaluator's layout: read with and without cipher, written so that its rules hold and nothing is lost."""

import base64
import io
import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from PIL import Image

from annotation.document import Document, read_document
from annotation.interchange import export_order, read_items, write_mr_lhdr
from lhdr_site.shared.cipher import decrypt, encrypt
from tests.annotation.test_interchange_lhdr import storable, with_pictures
from tests.documents import good_document
from tests.strategies import documents

PLAIN: dict[str, Any] = {
    "id": "p1",
    "question": "Which year?",
    "answer": ["1588", "in August"],
    "checklist": ["First.", "Second.", "Third."],
    "checklist_parents": [[], [0], [0, 1]],
    "images": [],
    "category": "Media",
    "type": "Multi-branch",
    "sources": ["https://example.org/a", {"url": "https://example.org/b", "title": "B", "lang": "fr", "weight": 0.5}],
    "subtasks": [{"q": "…"}],
    "question_zh": "哪一年？",
}
CANARY = "paper:0001"
HIDDEN = {
    **PLAIN,
    "question": encrypt(PLAIN["question"], CANARY),
    "answer": [encrypt(line, CANARY) for line in PLAIN["answer"]],
    "checklist": [encrypt(step, CANARY) for step in PLAIN["checklist"]],
    "canary": CANARY,
}


def read(*rows: dict[str, Any], **options: Any) -> Any:
    return read_items(io.BytesIO(b"\n".join(json.dumps(row).encode() for row in rows)), "mr-lhdr", **options)


def problems(*rows: dict[str, Any]) -> list[tuple[int | None, str]]:
    return [(problem.row, problem.field) for problem in read(*rows).problems]


@pytest.mark.parametrize("row", [PLAIN, HIDDEN])
def test_a_row_of_the_paper_is_read_with_nothing_dropped(row: dict[str, Any]) -> None:
    result = read(row)
    assert result.problems == []
    document = result.rows[0].document
    assert (document.id, document.question, document.answer) == ("p1", "Which year?", "1588\nin August")
    assert [(step.key, step.conclusion, step.prerequisites) for step in document.checklist] == [
        ("c1", "First.", ()),
        ("c2", "Second.", ("c1",)),
        ("c3", "Third.", ("c1", "c2")),
    ]
    assert (document.category, document.template, document.canary) == ("media", "multi_branch", row.get("canary", ""))
    assert [(source.key, source.url, source.title, source.extra) for source in document.sources] == [
        ("s1", "https://example.org/a", "", {}),
        ("s2", "https://example.org/b", "B", {"lang": "fr", "weight": "0.5"}),
    ]
    assert document.extra == {
        "mr_lhdr": {"category": "Media", "type": "Multi-branch", "subtasks": [{"q": "…"}], "question_zh": "哪一年？"}
    }


@pytest.mark.parametrize(
    ("change", "field", "said"),
    [
        ({"checklist_parents": [[], [1], []]}, "checklist_parents[1]", "1 is no earlier step (0 to 0)"),
        ({"checklist_parents": [[], [0], [-1]]}, "checklist_parents[2]", "-1 is no earlier step"),
        ({"checklist_parents": [[0], [0], []]}, "checklist_parents[0]", "none, as this is the first"),
        ({"checklist_parents": [[], [0]]}, "checklist_parents", "one list per step (3), not 2 lists"),
        ({"checklist_parents": None}, "checklist_parents", "not none"),
        ({"checklist_parents": [[], ["0"], []]}, "checklist_parents[1]", "whole numbers"),
        ({"checklist_parents": [[], [True], []]}, "checklist_parents[1]", "whole numbers"),
        ({"answer": "1588"}, "answer", "list of texts"),
        ({"answer": None}, "answer", "list of texts"),
        ({"checklist": ["a", 1, "b"], "checklist_parents": []}, "checklist", "list of texts"),
        ({"question": ""}, "question", "text of the question"),
        ({"id": 7}, "id", "quotes"),
        ({"sources": [3]}, "sources[0]", "URL or an object"),
        ({"sources": "https://x"}, "sources", "list of URLs"),
        ({"images": ["../x.png"]}, "images[0]", "not read from a folder"),
        ({"images": ["data:image/png;base64,AAAA"]}, "images[0]", "PNG"),
        ({"canary": 3}, "canary", "text"),
    ],
)
def test_what_is_wrong_is_named_by_row_and_field(change: dict[str, Any], field: str, said: str) -> None:
    result = read({**PLAIN, "id": "ok"}, {**PLAIN, **change})
    assert [(problem.row, problem.field) for problem in result.problems] == [(2, field)]
    assert said in result.problems[0].message


def test_a_wrong_canary_is_said_for_every_text() -> None:
    assert problems({**HIDDEN, "canary": "other"}) == [
        (1, "question"),
        *[(1, f"answer[{n}]") for n in range(2)],
        *[(1, f"checklist[{n}]") for n in range(3)],
    ]


def test_a_repeated_id_names_both_rows() -> None:
    [problem] = read(PLAIN, HIDDEN).problems
    assert (problem.row, problem.field) == (2, "id")
    assert "row 1" in problem.message


def test_pictures_come_as_paths_urls_and_data(tmp_path: Path) -> None:
    (tmp_path / "images").mkdir()
    Image.new("RGB", (6, 5)).save(tmp_path / "images/one.png")
    data = (tmp_path / "images/one.png").read_bytes()
    embedded = "data:image/png;base64," + base64.b64encode(data).decode()
    row = {**PLAIN, "images": ["images/one.png", "https://example.org/x.png", embedded]}
    (tmp_path / "metadata.jsonl").write_text(json.dumps(row))
    [found] = read_items(tmp_path / "metadata.jsonl").rows
    first, second, third = found.document.images
    assert (first.file, first.width, first.role) == (f"images/{first.sha256}.png", 6, "question")
    assert first.extra == {"original": "images/one.png"}
    assert (second.url, second.file, second.sha256) == ("https://example.org/x.png", "", "")
    assert (third.file, third.extra) == (first.file, {})
    assert [image.read() for image in found.images] == [data, data]


def test_linear_prerequisites_chain_only_what_has_none() -> None:
    alone = {**PLAIN, "checklist_parents": [[], [], []]}
    chained = read(alone, linear_prerequisites=True).rows[0].document
    assert [step.prerequisites for step in chained.checklist] == [(), ("c1",), ("c2",)]
    assert read(alone).rows[0].document.prerequisite_positions() == [[], [], []]
    assert read(PLAIN, linear_prerequisites=True).rows[0].document.prerequisite_positions() == [[], [0], [0, 1]]


# --- writing ------------------------------------------------------------------------------------------------------


@settings(max_examples=60, deadline=None)
@given(documents().map(storable), st.sampled_from(["", "benchmark:1"]))
def test_our_rows_read_back_are_the_same_documents(document: Document, canary: str) -> None:
    [line] = write_mr_lhdr([document], canary)
    result = read_items(io.BytesIO(line))
    assert result.problems == []
    assert result.format == "mr-lhdr"
    assert result.rows[0].document.hash == document.hash


@settings(max_examples=60, deadline=None)
@given(documents())
def test_our_rows_keep_the_rules_of_the_evaluator(document: Document) -> None:
    row = json.loads(next(write_mr_lhdr([document])))
    assert isinstance(row["id"], str)
    assert isinstance(row["question"], str)
    for name in ("answer", "checklist", "images", "sources"):
        assert all(isinstance(element, str) for element in row[name])
    assert row["answer"]
    assert len(row["checklist_parents"]) == len(row["checklist"]) == len(document.checklist)
    for step, parents in enumerate(row["checklist_parents"]):
        assert all(type(parent) is int and 0 <= parent < step for parent in parents)
    assert ("canary" in row) == bool(document.canary)
    # The text and the edges are those of the document, in another order.
    order = export_order(document.to_json())
    needs = document.prerequisite_positions()
    assert [[order[parent] for parent in parents] for parents in row["checklist_parents"]] == [
        sorted(needs[position], key=order.index) for position in order
    ]
    if not document.canary:
        assert "\n".join(row["answer"]) == document.answer
        assert row["checklist"] == [document.checklist[position].conclusion for position in order]


def steps(**needs: str) -> Document:
    checklist = [{"key": key, "conclusion": key.upper(), "prerequisites": text.split()} for key, text in needs.items()]
    return read_document({"id": "x", "checklist": checklist})


@pytest.mark.parametrize(
    ("document", "keys"),
    [
        # Already in order: kept, although b could stand first.
        (steps(a="", b="", c="a", d="b c"), ["a", "b", "c", "d"]),
        # a needs the later c: c moves before it, the rest stays.
        (steps(a="c", b="", c="", d="a b"), ["c", "a", "b", "d"]),
        (steps(), []),
    ],
)
def test_steps_are_moved_only_where_they_must(document: Document, keys: list[str]) -> None:
    row = json.loads(next(write_mr_lhdr([document])))
    assert row["lhdr"]["steps"] == keys
    assert row["checklist"] == [key.upper() for key in keys]


def test_a_cycle_is_refused_with_the_item_named() -> None:
    with pytest.raises(ValueError, match=r"item x: .*cycle"):
        list(write_mr_lhdr([steps(a="b", b="a")]))


def test_no_hidden_text_stands_in_an_encrypted_row() -> None:
    document = good_document()
    line = next(write_mr_lhdr([document])).decode()
    row = json.loads(line)
    hidden = [document.question, *(step.conclusion for step in document.checklist), *(n.entity for n in document.nodes)]
    hidden += [document.design, *(source.claim for source in document.sources), document.rivals[0].excluded_by]
    assert not [text for text in hidden if text in line]
    assert decrypt(row["question"], "lhdr:test") == document.question
    assert [decrypt(line, "lhdr:test") for line in row["answer"]] == ["1588"]
    assert row["sources"] == [source.url for source in document.sources]
    assert (row["type"], row["category"], row["canary"]) == ("multi_branch", "geography", "lhdr:test")


def test_pictures_of_our_rows_are_found_again(tmp_path: Path) -> None:
    document = with_pictures(tmp_path)
    (tmp_path / "metadata.jsonl").write_bytes(b"".join(write_mr_lhdr([document])))
    [row] = read_items(tmp_path / "metadata.jsonl").rows
    assert row.document.hash == document.hash
    assert [image.key for image in row.images] == ["i1", "i2"]


@pytest.mark.parametrize(
    ("change", "field"),
    [
        ({"checklist_parents": [[] for _ in range(10)]}, "checklist_parents"),
        ({"question": encrypt("Another?", "lhdr:test")}, "question"),
        ({"note": "new"}, "note"),
        ({"canary": "other"}, "canary"),
        ({"canary": 5}, "canary"),
        ({"lhdr": {}}, "lhdr.document"),
        ({"lhdr": None}, "lhdr.document"),
        ({"lhdr": {"document": encrypt("no JSON", "lhdr:test")}}, "lhdr.document"),
    ],
)
def test_a_row_of_ours_that_was_changed_is_not_taken_for_the_document_within(
    change: dict[str, Any], field: str
) -> None:
    row = json.loads(next(write_mr_lhdr([good_document(images=[], checklist=[])])))
    assert problems({**row, **change}) == [(1, field)]


def test_without_our_field_a_row_of_ours_gives_what_the_layout_holds(tmp_path: Path) -> None:
    document = with_pictures(tmp_path)
    row = json.loads(next(write_mr_lhdr([document])))
    del row["lhdr"]
    (tmp_path / "metadata.jsonl").write_text(json.dumps(row))
    [found] = read_items(tmp_path / "metadata.jsonl").rows
    assert found.document.question == document.question
    assert found.document.prerequisite_positions() == document.prerequisite_positions()
    assert found.document.images[0].sha256 == document.images[0].sha256


def test_fields_of_the_paper_that_we_have_no_place_for_are_written_again() -> None:
    [row] = read(HIDDEN).rows
    again = json.loads(next(write_mr_lhdr([row.document])))
    assert (again["subtasks"], again["question_zh"]) == (HIDDEN["subtasks"], HIDDEN["question_zh"])
    assert [again[name] for name in ("question", "answer", "checklist", "checklist_parents", "canary")] == [
        HIDDEN[name] for name in ("question", "answer", "checklist", "checklist_parents", "canary")
    ]


def test_kept_fields_never_stand_in_for_those_of_the_layout() -> None:
    document = good_document(canary="", images=[], checklist=[], extra={"mr_lhdr": {"canary": "x", "note": 1}})
    line = next(write_mr_lhdr([document]))
    assert "canary" not in json.loads(line)
    assert json.loads(line)["note"] == 1
    assert read_items(io.BytesIO(line)).rows[0].document.hash == document.hash
