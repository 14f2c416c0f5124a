"""The import page: check, then import; all rows or none; and pictures that did not come along."""

import io
import json
from pathlib import Path
from typing import Any

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.core.management import CommandError, call_command
from PIL import Image

from annotation import images
from annotation.interchange import LocalImage
from annotation.models import Item, Revision
from tests.documents import good_data
from tests.factories import Team

PAGE = "/b/bench/items/import/"


def plain(**changes: Any) -> dict[str, Any]:
    """A good item that names no picture."""
    data = good_data(images=[], **changes)
    for step in data["checklist"]:
        step["images"] = []
    return data


def upload(*rows: Any, action: str = "check", name: str = "items.jsonl", **fields: Any) -> dict[str, Any]:
    content = rows[0] if rows and isinstance(rows[0], bytes) else "".join(json.dumps(r) + "\n" for r in rows).encode()
    return {"file": SimpleUploadedFile(name, content), "format": "auto", "action": action, **fields}


@pytest.mark.parametrize(
    ("who", "status"), [("ann", 403), ("aud", 403), ("core", 403), ("admin", 200), ("stranger", 404)]
)
def test_import_by_role(team: Team, who: str, status: int) -> None:
    client = team.client(who)
    assert client.get(PAGE).status_code == status
    reply = client.post(PAGE, upload(plain(), action="import"))
    assert reply.status_code == (302 if status == 200 else status)
    assert Item.objects.exists() is (status == 200)


def test_check_reports_and_writes_nothing_then_import_writes(team: Team) -> None:
    client = team.client("admin")
    text = client.post(PAGE, upload(plain(), plain(id="two"))).content.decode()
    assert "2 rows were read as lhdr" in text and "makes 2 new items" in text and "Import these rows" in text
    assert not Item.objects.exists()
    reply = client.post(PAGE, upload(plain(), plain(id="two"), action="import"))
    assert reply["Location"] == "/b/bench/items/"
    assert "2 items were imported" in client.get("/b/bench/items/").content.decode()
    assert set(Item.objects.values_list("uid", "author")) == {("good-item", team.admin.pk), ("two", team.admin.pk)}
    again = client.post(PAGE, upload(plain(), plain(id="two"), action="import"), follow=True)
    assert "Every row was here already" in again.content.decode()
    assert Revision.objects.count() == 2


def test_import_by_htmx_answers_with_the_report_alone_and_leads_on(team: Team) -> None:
    client, htmx = team.client("admin"), {"HX-Request": "true"}
    part = client.post(PAGE, upload(plain()), headers=htmx).content.decode()
    assert part.lstrip().startswith('<div id="import-report">') and "<html" not in part
    assert client.post(PAGE, upload(plain(), action="import"), headers=htmx)["HX-Redirect"] == "/b/bench/items/"


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"{not json}\n", "row 1: is no JSON"),
        (b"PK\x03\x04", "ZIP archive"),
        ('{"id": "a", "question": "Q"}\n'.encode("utf-16"), "UTF-16"),
        (b'{"schema": "lhdr.item/1", "id": "a", "question": "x\\u0000y"}\n', "U+0000"),
        (b'{"schema": "lhdr.item/1", "id": "a", "checklist": [{"key": "c1", "prerequisites": ["c9"]}]}\n', "c9"),
        (b'{"a": 1}\n', "format cannot be told"),
        (b"\n", "the file is empty"),
    ],
)
@pytest.mark.parametrize("action", ["check", "import"])
def test_import_of_a_bad_file_names_row_and_remedy_and_writes_nothing(
    team: Team, content: bytes, words: str, action: str
) -> None:
    reply = team.client("admin").post(PAGE, upload(content, action=action))
    assert reply.status_code == 422
    assert words in reply.content.decode() and "Nothing was imported" in reply.content.decode()
    assert not Item.objects.exists()


def test_import_shows_at_most_fifty_problems_and_counts_the_rest(team: Team) -> None:
    rows = [{"schema": "lhdr.item/1", "id": f"i{n}", "template": "odd"} for n in range(60)]
    text = team.client("admin").post(PAGE, upload(*rows)).content.decode()
    assert "60 problems" in text and "10 more are not shown" in text
    assert "row 50, template" in text and "row 51, template" not in text


@pytest.mark.parametrize(
    ("data", "words"),
    [
        ({"format": "auto"}, "required"),
        ({"file": SimpleUploadedFile("x.jsonl", b""), "format": "auto"}, "The file is empty"),
        ({"file": SimpleUploadedFile("x.jsonl", b"{}"), "format": "odd"}, "valid choice"),
    ],
)
def test_import_without_a_file_or_format_says_so(team: Team, data: dict[str, Any], words: str) -> None:
    reply = team.client("admin").post(PAGE, data)
    assert reply.status_code == 422 and words in reply.content.decode()


def test_import_of_a_file_over_the_limit_names_the_command(team: Team, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("annotation.forms.settings.IMPORT_MAX_MB", 0)
    reply = team.client("admin").post(PAGE, upload(plain()))
    assert reply.status_code == 422 and "lhdr import_items" in reply.content.decode()


def test_import_of_rows_that_name_another_benchmark_says_where_they_go(team: Team) -> None:
    text = team.client("admin").post(PAGE, upload(plain(benchmark="elsewhere"))).content.decode()
    assert "The rows name the benchmark elsewhere. They will go into bench." in text


def test_import_of_an_id_of_another_benchmark_is_refused_and_possible_with_new_ids(team: Team) -> None:
    from annotation.document import read_document
    from tests.factories import make_team

    make_team("other").item(read_document(plain()))
    client = team.client("admin")
    refused = client.post(PAGE, upload(plain(), action="import"))
    assert refused.status_code == 422 and "another benchmark" in refused.content.decode()
    client.post(PAGE, upload(plain(), action="import", new_ids="on"))
    item = Item.objects.get(benchmark=team.benchmark)
    assert item.document["extra"]["imported_id"] == "good-item"


def test_import_of_a_picture_that_did_not_come_needs_it_in_store(team: Team) -> None:
    out = io.BytesIO()
    Image.new("RGB", (8, 6), "navy").save(out, "PNG")
    picture = images.verify_bytes(out.getvalue())
    image = {"key": "i1", "file": f"images/{picture.sha256}.png", "sha256": picture.sha256, "role": "question"}
    row = plain()
    row["images"] = [image]
    client = team.client("admin")
    refused = client.post(PAGE, upload(row, action="import"))
    text = refused.content.decode()
    assert refused.status_code == 422 and "row 1, i1" in text and "import from its folder" in text
    assert not Item.objects.exists()
    images.store(team.benchmark, picture)
    assert client.post(PAGE, upload(row, action="import")).status_code == 302
    assert Item.objects.get().images == 1


@pytest.mark.parametrize("error", [FileNotFoundError("gone"), PermissionError(13, "Permission denied")])
def test_import_items_when_a_picture_vanishes_meanwhile_names_it(
    team: Team, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, error: OSError
) -> None:
    (tmp_path / "images").mkdir()
    Image.new("RGB", (8, 6), "navy").save(tmp_path / "images" / "map.png")
    row = plain()
    row["images"] = [{"key": "i1", "file": "images/map.png", "role": "question"}]
    (tmp_path / "items.jsonl").write_text(json.dumps(row) + "\n")

    def read(self: LocalImage) -> bytes:
        raise error

    monkeypatch.setattr(LocalImage, "read", read)
    err = io.StringIO()
    with pytest.raises(CommandError, match="Nothing was imported"):
        call_command("import_items", str(tmp_path / "items.jsonl"), benchmark="bench", stdout=io.StringIO(), stderr=err)
    assert "row 1, i1" in err.getvalue() and not Item.objects.exists()


def test_import_items_names_the_benchmarks_of_the_rows(team: Team, tmp_path: Path) -> None:
    file = tmp_path / "items.jsonl"
    file.write_text(json.dumps(plain(benchmark="elsewhere")) + "\n")
    out = io.StringIO()
    call_command("import_items", str(file), benchmark="bench", stdout=out, stderr=io.StringIO())
    assert "The rows name elsewhere; they go into bench." in out.getvalue()


def test_import_of_mm_browsecomp_by_page_takes_all_rows(team: Team, cases: Path) -> None:
    content = (cases / "mm_browsecomp.jsonl").read_bytes()
    reply = team.client("admin").post(PAGE, upload(content, action="import", linear_prerequisites="on"))
    assert reply.status_code == 302 and Item.objects.count() == 224
