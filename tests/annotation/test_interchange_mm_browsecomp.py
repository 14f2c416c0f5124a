"""MM-BrowseComp: the published file comes in whole; rows made here show each rule."""

import io
import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from annotation.interchange import read_items, write_mr_lhdr
from lhdr_site.shared.cipher import decrypt, encrypt

CANARY = "mm:test"
ROW: dict[str, Any] = {
    "id": 7,
    "images": ["https://example.org/7.png"],
    "question": encrypt("Please answer. Question: Which?", CANARY),
    "answer": encrypt("That one", CANARY),
    "checklist": [encrypt(text, CANARY) for text in ("First.", "Second.", "Third.")],
    "checklist_property": "1,0,2",
    "source": ["1.https://example.org/a", "https://example.org/b", "https://example.org/b"],
    "category": "Academics",
    "subtask": "Papers",
    "level": 2,
    "canary": CANARY,
}


def read(*rows: dict[str, Any], **options: Any) -> Any:
    data = b"\n".join(json.dumps(row).encode() for row in rows)
    return read_items(io.BytesIO(data), "mm-browsecomp", benchmark="trial", **options)


def test_a_row_is_deciphered_and_everything_kept() -> None:
    [row] = read(ROW).rows
    document = row.document
    assert (document.question, document.answer) == ("Please answer. Question: Which?", "That one")
    assert [(step.key, step.conclusion, step.prerequisites) for step in document.checklist] == [
        ("c1", "First.", ()),
        ("c2", "Second.", ()),
        ("c3", "Third.", ()),
    ]
    assert (document.category, document.subtask, document.canary) == ("academia", "Papers", CANARY)
    assert [(source.url, source.extra) for source in document.sources] == [
        ("https://example.org/a", {"original": "1.https://example.org/a"}),
        ("https://example.org/b", {}),
        ("https://example.org/b", {}),
    ]
    assert [(image.url, image.role, image.file) for image in document.images] == [
        ("https://example.org/7.png", "question", "")
    ]
    assert document.extra == {
        "mm_browsecomp": {
            "id": 7,
            "level": 2,
            "checklist_property": "1,0,2",
            "category": "Academics",
            "subtask": "Papers",
        }
    }


@pytest.mark.parametrize(
    ("text", "url", "locator"),
    [
        ("2.https://example.org/622", "https://example.org/622", ""),
        ("[1] https://example.org/1802.07876", "https://example.org/1802.07876", ""),
        ("3 https://example.org/c?a=1&b=2", "https://example.org/c?a=1&b=2", ""),
        ("1.英文版：https://example.org/videos/1/", "https://example.org/videos/1/", ""),
        (" http://example.org/2373.html", "http://example.org/2373.html", ""),
        ("https://example.org/v?i=6 2:17", "https://example.org/v?i=6", "2:17"),
        ("https://example.org/v （17:59）", "https://example.org/v", "17:59"),
        ("https://example.org/1.https://x", "https://example.org/1.https://x", ""),
        ("a book, page 3", "a book, page 3", ""),
    ],
)
def test_addresses_are_cleaned_and_the_original_kept(text: str, url: str, locator: str) -> None:
    [source] = read({**ROW, "source": [text]}).rows[0].document.sources
    assert (source.url, source.locator) == (url, locator)
    assert source.extra == ({} if text == url else {"original": text})


def test_the_id_is_stable_and_differs_by_benchmark_and_row() -> None:
    ids = [row.document.id for row in read(ROW, {**ROW, "id": 8}).rows]
    data = io.BytesIO(json.dumps(ROW).encode())
    other = read_items(data, "mm-browsecomp", benchmark="other").rows[0].document.id
    assert ids[0] == read(ROW).rows[0].document.id
    assert len({*ids, other}) == 3


def test_linear_prerequisites_make_a_chain() -> None:
    document = read(ROW, linear_prerequisites=True).rows[0].document
    assert document.prerequisite_positions() == [[], [0], [1]]


@pytest.mark.parametrize(
    ("change", "fields"),
    [
        ({"canary": "other"}, ["question", "answer", "checklist[0]", "checklist[1]", "checklist[2]"]),
        ({"canary": None}, ["canary"]),
        ({"checklist": "First."}, ["checklist"]),
        ({"source": [1], "answer": 8}, ["answer", "source"]),
        ({"id": True}, ["id"]),
    ],
)
def test_what_is_wrong_is_named_by_row_and_field(change: dict[str, Any], fields: list[str]) -> None:
    result = read({**ROW, "id": 1}, {**ROW, **change})
    assert {problem.row for problem in result.problems} == {2}
    assert sorted(problem.field for problem in result.problems) == sorted(fields)


def test_the_published_file_comes_in_whole(cases: Path) -> None:
    path = cases / "mm_browsecomp.jsonl"
    originals = [json.loads(line) for line in path.read_text().splitlines()]
    result = read_items(path, benchmark="trial")
    assert (result.format, result.problems, len(result.rows)) == ("mm-browsecomp", [], 224)
    documents = [row.document for row in result.rows]
    assert len({document.id for document in documents}) == 224
    assert Counter(document.category for document in documents) == {
        "media": 65,
        "technology": 59,
        "geography": 40,
        "academia": 32,
        "society": 28,
    }
    for document, row in zip(documents, originals, strict=True):
        kept = document.extra["mm_browsecomp"]
        assert {name: kept[name] for name in ("id", "level", "checklist_property", "subtask", "category")} == {
            name: row[name] for name in ("id", "level", "checklist_property", "subtask", "category")
        }
        assert document.question == decrypt(row["question"], row["canary"])
        assert "Question: " in document.question
        assert document.answer == decrypt(row["answer"], row["canary"])
        assert [step.conclusion for step in document.checklist] == [
            decrypt(step, row["canary"]) for step in row["checklist"]
        ]
        assert [source.extra.get("original", source.url) for source in document.sources] == row["source"]
        assert all(source.url.startswith("http") and " " not in source.url for source in document.sources)
        assert [image.url for image in document.images] == row["images"]
    assert Counter(len(document.images) for document in documents) == {0: 94, 1: 122, 2: 8}


def test_the_published_file_survives_the_layout_of_the_evaluator(cases: Path) -> None:
    documents = [row.document for row in read_items(cases / "mm_browsecomp.jsonl", benchmark="trial").rows]
    again = read_items(io.BytesIO(b"".join(write_mr_lhdr(documents))))
    assert again.problems == []
    assert [row.document.hash for row in again.rows] == [document.hash for document in documents]
