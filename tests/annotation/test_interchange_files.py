"""Opening files: encodings, lines, arrays, detection of the format, repeated ids, pictures beside the file."""

import base64
import hashlib
import io
import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from PIL import Image

from annotation.interchange import FORMATS, files, mr_lhdr, read_items, write_mr_lhdr
from annotation.interchange.files import ImageFolder, picture_in_data_url
from tests.documents import good_data, good_document

ROW = {"schema": "lhdr.item/1", "id": "a", "question": "¿Où? 何処"}


def line(**changes: Any) -> bytes:
    return json.dumps({**ROW, **changes}, ensure_ascii=False).encode()


def read(data: bytes, **options: Any) -> Any:
    return read_items(io.BytesIO(data), **options)


def messages(result: Any) -> list[str]:
    return [str(problem) for problem in result.problems]


@pytest.mark.parametrize(
    "data",
    [
        line() + b"\n" + line(id="b") + b"\n",
        b"\xef\xbb\xbf" + line() + b"\r\n\r\n" + line(id="b"),  # mark, CRLF, a blank line, no end of line
        b"\n\n  \n" + line() + b"\n" + line(id="b") + b"\n\n",
        b" [" + line() + b",\n" + line(id="b") + b"]\n",
        b"\xef\xbb\xbf\n[\n" + line() + b",\n" + line(id="b") + b"\n]",
    ],
    ids=["lines", "mark and CRLF", "blank lines", "array", "array with mark"],
)
def test_rows_when_written_in_any_usual_way_are_read_alike(data: bytes) -> None:
    result = read(data)
    assert messages(result) == []
    assert [(row.document.id, row.document.question) for row in result.rows] == [("a", "¿Où? 何処"), ("b", "¿Où? 何処")]
    assert result.format == "lhdr"


def test_row_numbers_count_blank_lines_and_places_in_an_array() -> None:
    assert [row.row_number for row in read(b"\n" + line() + b"\n\n" + line(id="b")).rows] == [2, 4]
    assert [row.row_number for row in read(b"[" + line() + b", 7," + line(id="b") + b"]").rows] == [1, 3]


def test_one_object_over_several_lines_is_one_row() -> None:
    result = read(json.dumps(ROW, indent=2).encode())
    assert messages(result) == []
    assert len(result.rows) == 1


@pytest.mark.parametrize(
    ("encoding", "named"),
    [
        ("utf-16", "UTF-16"),
        ("utf-16-le", "UTF-16"),
        ("utf-16-be", "UTF-16"),
        ("utf-32", "UTF-32"),
        ("utf-32-be", "UTF-32"),
        ("gb18030", "GB18030"),
        ("latin-1", "Latin-1"),
    ],
)
def test_other_encodings_give_one_problem_that_names_them(encoding: str, named: str) -> None:
    question = "Où était le café à côté ?" if encoding == "latin-1" else "哪座桥的设计者还设计了一艘铁船？"
    text = "\n".join(json.dumps({**ROW, "id": f"i{n}", "question": question}, ensure_ascii=False) for n in range(3))
    result = read(text.encode(encoding))
    assert len(result.problems) == 1
    assert named in messages(result)[0]
    assert "as UTF-8" in messages(result)[0]
    assert result.rows == []


@pytest.mark.parametrize(("start", "named"), [(b"PK\x03\x04", "ZIP"), (b"\x1f\x8b\x08", "gzip"), (b"PAR1", "Parquet")])
def test_containers_are_named(start: bytes, named: str) -> None:
    assert named in messages(read(start + b"\0\1\2\xff"))[0]


@pytest.mark.parametrize(
    ("bad", "said"),
    [
        (b'{"id": "b",}', "row 2: is no JSON (column 12"),
        (b'{"id": "b", "x": NaN}', "NaN is no JSON number"),
        (b'{"id": "b", "id": "c"}', "'id' is given twice"),
        (b'{"id": "b", "x": ' + b"[" * 100_000 + b"]" * 100_000 + b"}", "nested too deep"),
        (b'{"id": "b", "x": ' + b"[" * 900 + b"]" * 900 + b"}", "nested"),
        (b'["id"]', "row 2: must be a JSON object"),
        (b"null", "not null"),
        (b'"text"', "not text"),
    ],
    ids=["comma", "NaN", "twice", "too deep for JSON", "too deep for an item", "array", "null", "text"],
)
def test_a_bad_line_names_row_and_place_and_the_others_are_read(bad: bytes, said: str) -> None:
    result = read(line() + b"\n" + bad + b"\n" + line(id="z"))
    assert [problem.row for problem in result.problems] == [2]
    assert said in messages(result)[0]
    assert [row.document.id for row in result.rows] == ["a", "z"]


def test_a_bad_array_names_line_and_column() -> None:
    assert "line 3, column 1" in messages(read(b'[\n{"id": "a"}\n{"id": "b"}]'))[0]


@pytest.mark.parametrize("data", [b"", b"\xef\xbb\xbf", b"\n \r\n", b"[]"])
def test_nothing_in_the_file_is_said(data: bytes) -> None:
    assert "is empty" in messages(read(data))[0]
    assert len(read(data).problems) == 1


def test_a_line_over_the_limit_is_skipped_and_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(files, "MAX_LINE", 200)
    result = read(line() + b"\n" + line(id="b", design="x" * 1000) + b"\n" + line(id="c"))
    assert [(problem.row, problem.field) for problem in result.problems] == [(2, "")]
    assert "is longer than" in messages(result)[0]
    assert [row.row_number for row in result.rows] == [1, 3]


def test_an_array_over_the_limit_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(files, "MAX_ARRAY", 200)
    assert "one JSON object per line" in messages(read(b"[\n" + b",\n".join([line()] * 9) + b"]"))[0]


def test_a_path_that_is_no_file_is_said(tmp_path: Path) -> None:
    (tmp_path / "metadata.jsonl").write_bytes(line())
    assert "does not exist" in messages(read_items(tmp_path / "none.jsonl"))[0]
    assert "metadata.jsonl" in messages(read_items(tmp_path))[0]
    assert "cannot be read" in messages(read_items("a\0b"))[0]
    assert messages(read_items(str(tmp_path / "metadata.jsonl"))) == []


def test_a_repeated_id_names_both_rows() -> None:
    result = read(line() + b"\n" + line(id="b") + b"\n" + line())
    assert [(problem.row, problem.field) for problem in result.problems] == [(3, "id")]
    assert "row 1" in messages(result)[0]


@pytest.mark.parametrize("other", ["A", " a", "ａ"])
def test_a_nearly_repeated_id_is_a_warning(other: str) -> None:
    result = read(line() + b"\n" + line(id=other))
    assert messages(result) == []
    assert "row 1" in result.rows[1].warnings[0]
    assert result.rows[0].warnings == []


@pytest.mark.parametrize(
    ("row", "found"),
    [
        ({"schema": "lhdr.item/1"}, "lhdr"),
        ({"schema": "lhdr.item/9"}, "lhdr"),
        ({"checklist": [{"key": "c1", "conclusion": "…"}]}, "lhdr"),
        ({"answer": ["…"], "checklist": ["…"]}, "mr-lhdr"),
        ({"checklist_parents": []}, "mr-lhdr"),
        ({"checklist_property": "1,2"}, "mm-browsecomp"),
        ({"question": "…", "answer": "…"}, ""),
    ],
)
def test_the_format_is_told_by_the_fields(row: dict[str, Any], found: str) -> None:
    result = read(json.dumps({"id": "a", **row}).encode())
    assert result.format == found
    if not found:
        assert "(id, question, answer)" in messages(result)[0]
        assert all(name in messages(result)[0] for name in ("schema", "checklist_parents", "checklist_property"))


def test_an_unknown_format_is_a_mistake_of_the_caller() -> None:
    with pytest.raises(ValueError, match="auto, lhdr, mr-lhdr, mm-browsecomp"):
        read(line(), format="csv")


def test_every_problem_of_every_row_is_collected() -> None:
    result = read(
        line(answer=1, template="round") + b"\n{\n" + line(id="b", nodes=3, question="a\0b") + b"\n" + line(id="")
    )
    assert [(problem.row, problem.field) for problem in result.problems] == [
        (1, "answer"),
        (1, "template"),
        (2, ""),
        (3, "question"),
        (3, "nodes"),
        (4, "id"),
    ]


def test_lone_surrogates_are_refused_in_words_that_can_be_printed() -> None:
    result = read(b'{"schema": "lhdr.item/1", "id": "a", "question": "\\ud800", "x\\udc00": {"y": "\\udfff"}}')
    assert len(result.problems) >= 2
    assert "U+D800" in "\n".join(messages(result))
    "\n".join(messages(result)).encode()


def test_links_to_nothing_and_cycles_are_refused() -> None:
    steps = [
        {"key": "c1", "conclusion": "…", "prerequisites": ["c2"]},
        {"key": "c2", "conclusion": "…", "prerequisites": ["c1"], "sources": ["s9"]},
    ]
    result = read(line(checklist=steps))
    assert [problem.field for problem in result.problems] == ["checklist.c2.sources", "checklist"]
    assert "c1 -> c2 -> c1" in messages(result)[1]


# --- pictures -----------------------------------------------------------------------------------------------------


def png(width: int = 3, height: int = 2, form: str = "PNG") -> bytes:
    out = io.BytesIO()
    Image.new("RGB", (width, height)).save(out, form)
    return out.getvalue()


@pytest.mark.parametrize(
    "name", ["../secret.png", "images/../../secret.png", "/etc/passwd", "C:\\x.png", "a\\b", "", "\ud800"]
)
def test_paths_that_leave_the_folder_are_refused(tmp_path: Path, name: str) -> None:
    (tmp_path / "secret.png").write_bytes(png())
    (tmp_path / "in").mkdir()
    with pytest.raises(ValueError, match="inside the folder"):
        ImageFolder(tmp_path / "in").take(name, "i1")


def test_a_link_that_leaves_the_folder_is_refused(tmp_path: Path) -> None:
    (tmp_path / "secret.png").write_bytes(png())
    (tmp_path / "in").mkdir()
    (tmp_path / "in/x.png").symlink_to(tmp_path / "secret.png")
    (tmp_path / "in/round.png").symlink_to(tmp_path / "in/round.png")
    with pytest.raises(ValueError, match="leads out"):
        ImageFolder(tmp_path / "in").take("x.png", "i1")
    with pytest.raises(ValueError, match=r"round\.png"):
        ImageFolder(tmp_path / "in").take("round.png", "i1")


@pytest.mark.parametrize("content", [b"<svg xmlns='http://www.w3.org/2000/svg'/>", b"<html>", b"", png()[:20]])
def test_what_is_no_picture_is_refused(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "x.png").write_bytes(content)
    with pytest.raises(ValueError, match="no PNG, JPEG, WebP or GIF"):
        ImageFolder(tmp_path).take("x.png", "i1")


def test_a_picture_is_hashed_measured_and_named_by_what_it_is(tmp_path: Path) -> None:
    data = png(form="JPEG")
    (tmp_path / "a b#%.png").write_bytes(data)
    picture = ImageFolder(tmp_path).take("a b#%.png", "i7")
    digest = hashlib.sha256(data).hexdigest()
    assert (picture.key, picture.name, picture.sha256) == ("i7", f"images/{digest}.jpg", digest)
    assert (picture.media_type, picture.width, picture.height) == ("image/jpeg", 3, 2)
    assert picture.read() == data


def test_a_data_url_gives_its_bytes() -> None:
    picture = picture_in_data_url("data:image/png;base64," + base64.b64encode(png()).decode(), "i1")
    assert (picture.read(), picture.width) == (png(), 3)
    with pytest.raises(ValueError, match="base64"):
        picture_in_data_url("data:image/png;base64,%%%", "i1")


# --- whatever comes -----------------------------------------------------------------------------------------------

FIELDS = sorted(
    mr_lhdr.FIELDS | {"schema", "checklist_property", "source", "subtask", "level", "nodes", "extra", "subtasks"}
)
anything = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(FIELDS), inner, max_size=4),
    max_leaves=8,
)


@settings(max_examples=300, deadline=None)
@given(
    st.sampled_from(
        [{}, good_data(), *(json.loads(next(write_mr_lhdr([good_document(canary=c)]))) for c in ("", "x"))]
    ),
    st.dictionaries(st.sampled_from(FIELDS), anything, max_size=12),
    st.sampled_from(FORMATS),
)
def test_a_row_of_any_values_is_read_or_gives_problems(good: dict[str, Any], row: dict[str, Any], format: str) -> None:
    result = read(json.dumps({**good, **row}).encode(), format=format)
    assert bool(result.rows) != bool(result.problems)
    "\n".join(messages(result)).encode()


@settings(max_examples=200, deadline=None)
@given(st.binary(max_size=60))
def test_a_file_of_any_bytes_gives_problems(data: bytes) -> None:
    assert read(data).problems
