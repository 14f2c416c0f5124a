"""Our own format: what goes out comes back byte for byte, pictures are verified, the public form hides everything."""

import hashlib
import io
import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from PIL import Image

from annotation.document import Document, canonical_bytes, read_document
from annotation.interchange import image_files, read_items, write_full, write_public
from tests.documents import good_data, good_document
from tests.strategies import documents


def storable(document: Document) -> Document:
    """The document as it can be in store: an image has a file if it has a hash, and is named after it."""
    images = tuple(
        replace(image, file=f"images/{image.sha256}.png" if image.sha256 else "") for image in document.images
    )
    return replace(document, images=images)


def with_pictures(folder: Path) -> Document:
    """The good item with two real pictures in `folder`/images."""
    (folder / "images").mkdir()
    data = good_data()
    for number, image in enumerate(data["images"]):
        out = io.BytesIO()
        Image.new("RGB", (30 + number, 20)).save(out, "PNG")
        digest = hashlib.sha256(out.getvalue()).hexdigest()
        (folder / f"images/{digest}.png").write_bytes(out.getvalue())
        image |= {"file": f"images/{digest}.png", "sha256": digest, "width": 30 + number, "height": 20}
    return read_document(data)


def written(path: Path, rows: list[dict[str, Any]]) -> Path:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


@settings(max_examples=60, deadline=None)
@given(documents().map(storable))
def test_a_full_export_read_back_is_the_same_byte_for_byte(document: Document) -> None:
    [line] = write_full([document])
    result = read_items(io.BytesIO(line), "lhdr")
    assert result.problems == []
    assert list(write_full([result.rows[0].document])) == [line]


def test_a_release_row_is_written_the_same_from_json_as_from_a_document() -> None:
    assert list(write_full([good_document().to_json()])) == list(write_full([good_document()]))


def test_unknown_fields_come_back_where_the_document_keeps_them() -> None:
    row = good_data(images=[], checklist=[], difficulty={"level": 3})
    [found] = read_items(io.BytesIO(json.dumps(row).encode())).rows
    assert found.document.extra == {"difficulty": {"level": 3}}


def test_the_benchmark_of_a_wrapper_row_is_told_and_changes_nothing(tmp_path: Path) -> None:
    document = with_pictures(tmp_path)
    result = read_items(written(tmp_path / "x.jsonl", [{"benchmark": "demo", **document.to_json()}]))
    assert result.benchmarks == ["demo"]
    assert result.rows[0].document.hash == document.hash


def test_pictures_are_found_and_listed(tmp_path: Path) -> None:
    document = with_pictures(tmp_path)
    [row] = read_items(written(tmp_path / "x.jsonl", [document.to_json()])).rows
    assert row.document.hash == document.hash
    assert [(image.key, image.path) for image in row.images] == [
        (image.key, tmp_path / image.file) for image in document.images
    ]
    assert row.images[1].width == 31


def test_a_missing_or_changed_picture_is_a_problem_of_its_row(tmp_path: Path) -> None:
    document = with_pictures(tmp_path)
    first, second = (tmp_path / image.file for image in document.images)
    first.unlink()
    Image.new("RGB", (1, 1)).save(second)
    result = read_items(written(tmp_path / "x.jsonl", [document.to_json()]))
    assert [(problem.row, problem.field) for problem in result.problems] == [
        (1, "images[0].file"),
        (1, "images[1].file"),
    ]
    assert first.name in result.problems[0].message
    assert "SHA-256 differs" in result.problems[1].message
    assert result.rows == []


def test_a_picture_without_a_hash_gets_hash_name_and_size(tmp_path: Path) -> None:
    Image.new("RGB", (5, 4)).save(tmp_path / "map.png")
    image = {"key": "i1", "file": "map.png", "role": "question"}
    [row] = read_items(written(tmp_path / "x.jsonl", [{"schema": "lhdr.item/1", "id": "a", "images": [image]}])).rows
    [found] = row.document.images
    digest = hashlib.sha256((tmp_path / "map.png").read_bytes()).hexdigest()
    assert (found.file, found.sha256, found.width, found.height) == (f"images/{digest}.png", digest, 5, 4)
    assert found.media_type == "image/png"


def test_a_picture_not_named_after_its_hash_is_renamed(tmp_path: Path) -> None:
    # Two files of others may both call their picture images/1.png; in an export they would meet.
    document = with_pictures(tmp_path)
    (tmp_path / document.images[0].file).rename(tmp_path / "images/1.png")
    data = document.to_json()
    data["images"][0]["file"] = "images/1.png"
    [row] = read_items(written(tmp_path / "x.jsonl", [data])).rows
    assert row.document.hash == document.hash
    assert (row.images[0].name, row.images[0].path) == (document.images[0].file, tmp_path / "images/1.png")


@pytest.mark.parametrize(
    "file", ["../../etc/x.png", f"images/../{'1' * 64}.png", f"images/{'2' * 64}.png", "images/1.png"]
)
def test_a_name_that_could_lead_elsewhere_is_neither_read_nor_written(file: str) -> None:
    data = good_data()
    data["images"][0]["file"] = file
    result = read_items(io.BytesIO(canonical_bytes(data)))
    assert [(problem.row, problem.field) for problem in result.problems] == [(1, "images[0].file")]
    with pytest.raises(ValueError, match="item good-item, image i1"):
        list(image_files(data))


def test_a_stream_has_no_pictures_and_says_so() -> None:
    [row] = read_items(io.BytesIO(canonical_bytes(good_data()))).rows
    assert len(row.warnings) == 2
    assert "in store already" in row.warnings[0]
    with pytest.raises(FileNotFoundError):
        row.images[0].read()


def test_the_public_form_holds_what_systems_see_and_nothing_else() -> None:
    [line] = write_public([good_document()])
    data = good_data()
    assert json.loads(line) == {
        **{name: data[name] for name in ("id", "language", "question", "category", "template", "operation_tags")},
        "images": [{"file": f"images/{'1' * 64}.png", "media_type": "image/png", "width": 1200, "height": 800}],
    }


@settings(max_examples=60, deadline=None)
@given(documents())
def test_the_public_form_never_has_other_fields(document: Document) -> None:
    row = json.loads(next(write_public([document])))
    assert set(row) == {"id", "language", "question", "category", "template", "operation_tags", "images"}
    assert all(set(image) == {"file", "media_type", "width", "height"} for image in row["images"])
    assert len(row["images"]) == sum(image.role == "question" for image in document.images)


def test_files_that_an_export_brings_along() -> None:
    one, two = ((f"images/{digit * 64}.png", digit * 64) for digit in "12")
    assert list(image_files(good_document())) == [one, two]
    assert list(image_files(good_document(), public=True)) == [one]
