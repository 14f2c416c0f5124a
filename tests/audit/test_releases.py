"""Exports of a release: what each variant holds, images beside it, streamed, and the commands that write them."""

import io
import json
import zipfile
from pathlib import Path
from typing import Any

import pytest
from django.core.management import CommandError, call_command
from django.urls import reverse

from annotation.document import read_document
from annotation.interchange import read_items
from audit import actions, release_actions
from audit.exports import VARIANTS, Export, write_export, zip_pieces
from audit.models import Release
from lhdr_site.shared import streams
from lhdr_site.shared.errors import Invalid
from tests.audit.releasing import imported, with_stored_images
from tests.documents import good_document
from tests.factories import Team

pytestmark = pytest.mark.usefixtures("media")


def rows(data: bytes) -> list[dict[str, Any]]:
    return [json.loads(line) for line in data.decode().splitlines()]


def test_full_export_is_the_documents_in_order(release: Release) -> None:
    found = rows(b"".join(Export(release, "full").lines()))
    assert [row["id"] for row in found] == ["item-0", "item-1", "item-2"]
    assert [read_document(row).hash for row in found] == list(
        release.release_items.values_list("document_hash", flat=True)
    )


def test_public_export_holds_nothing_that_leads_to_an_answer(release: Release) -> None:
    data = b"".join(Export(release, "public").lines())
    assert set(rows(data)[0]) == {"id", "language", "question", "category", "template", "operation_tags", "images"}
    for hidden in (b"1588", b"Forth Bridge", b"Baker", b"wikipedia", b"Sixtus"):
        assert hidden not in data


def test_mr_lhdr_export_is_encrypted_with_the_benchmarks_canary(release: Release) -> None:
    data = b"".join(Export(release, "mr-lhdr").lines())
    assert release.canary.encode() in data and b"railway crossing" not in data and b"Sixtus" not in data


def test_zip_holds_the_lines_and_each_image_once(release: Release) -> None:
    pieces = list(zip_pieces(Export(release, "full")))
    archive = zipfile.ZipFile(io.BytesIO(b"".join(pieces)))
    assert archive.testzip() is None
    names = archive.namelist()
    assert names[:2] == ["items.jsonl", "manifest.json"] and len(names) == 4  # two images, though three items show them
    assert archive.read("items.jsonl") == b"".join(Export(release, "full").lines())
    assert sorted(names[2:]) == sorted(image["file"] for image in rows(archive.read("items.jsonl"))[0]["images"])


def test_zip_of_the_public_variant_holds_question_images_alone(release: Release) -> None:
    archive = zipfile.ZipFile(io.BytesIO(b"".join(zip_pieces(Export(release, "public")))))
    assert len(archive.namelist()) == 3


def test_zip_comes_in_pieces_and_not_as_a_whole(release: Release, monkeypatch: Any) -> None:
    monkeypatch.setattr(streams, "CHUNK", 100)
    assert len(list(zip_pieces(Export(release, "full")))) >= 3


def test_images_that_are_not_stored_are_named_and_the_lines_still_export(team: Team) -> None:
    imported(team, good_document(id="without"))
    actions.lock_imported(team.benchmark, actor=team.admin)
    release = release_actions.cut_release(team.benchmark, "v1", actor=team.admin)
    with pytest.raises(Invalid) as caught:
        zip_pieces(Export(release, "full"))
    assert caught.value.code == "images_missing" and "images/1111" in caught.value.message
    assert len(rows(b"".join(Export(release, "full").lines()))) == 1


def test_export_reads_back_with_nothing_changed(release: Release, tmp_path: Path) -> None:
    write_export(Export(release, "full"), tmp_path / "out" / "items.jsonl")
    back = read_items(tmp_path / "out" / "items.jsonl")
    assert not back.problems
    assert [row.document.hash for row in back.rows] == list(
        release.release_items.values_list("document_hash", flat=True)
    )


def test_write_export_leaves_the_old_file_when_it_fails(release: Release, tmp_path: Path, monkeypatch: Any) -> None:
    out = tmp_path / "items.jsonl"
    out.write_text("old\n")

    def broken(*args: Any) -> Any:
        yield b"new\n"
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Export, "lines", broken)
    with pytest.raises(OSError, match="space"):
        write_export(Export(release, "full"), out)
    assert out.read_text() == "old\n"
    assert [path.name for path in tmp_path.iterdir() if path.name.endswith(".part")] == []


# --- downloads ----------------------------------------------------------------------------------------------------


def download(team: Team, who: str, **query: str) -> Any:
    return team.client(who).get(reverse("audit:release-export", args=[team.benchmark.slug, "v1"]), query)


@pytest.mark.parametrize("variant", VARIANTS)
def test_download_streams_a_file_named_after_the_release(team: Team, release: Release, variant: str) -> None:
    answer = download(team, "admin", variant=variant)
    assert answer.streaming
    assert answer["Content-Disposition"] == f'attachment; filename="bench-v1-{variant}.jsonl"'
    assert b"".join(answer.streaming_content) == b"".join(Export(release, variant).lines())


def test_download_with_images_is_a_zip(team: Team, release: Release) -> None:
    answer = download(team, "admin", variant="full", images="1")
    assert answer["Content-Type"] == "application/zip" and answer["Content-Disposition"].endswith('-full.zip"')
    assert zipfile.ZipFile(io.BytesIO(b"".join(answer.streaming_content))).testzip() is None


# --- commands -----------------------------------------------------------------------------------------------------


def run(*args: str) -> str:
    out = io.StringIO()
    call_command(*args, stdout=out)
    return out.getvalue()


def test_commands_lock_cut_and_export(team: Team, tmp_path: Path) -> None:
    imported(team, *(with_stored_images(team, good_document(id=f"item-{n}")) for n in range(2)))
    assert run("lock_imported", "bench", "--user", "bench-admin").startswith("2 imported items")
    assert "2 items" in run("cut_release", "bench", "v1", "--user", "bench-admin")
    assert "not audited" in run("cut_release", "bench", "v2")  # its first admin
    out = tmp_path / "export" / "items.jsonl"
    assert "2 items, 2 images" in run("export_release", "bench", "v1", "--out", str(out))
    assert len(out.read_text().splitlines()) == 2
    assert sorted(p.name for p in out.parent.iterdir()) == ["images", "items.jsonl", "items.manifest.json"]
    assert len(list((out.parent / "images").iterdir())) == 2


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["lock_imported", "nowhere"], "There is no benchmark 'nowhere'; there are: bench."),
        (["lock_imported", "bench", "--user", "nobody"], "There is no user 'nobody'."),
        (["lock_imported", "bench", "--user", "bench-core"], "This needs the role"),
        (["cut_release", "bench", "v1"], "No item is locked yet"),
        (["export_release", "bench", "v9", "--out", "x.jsonl"], "has no release 'v9'; it has: none yet."),
    ],
)
def test_commands_with_bad_arguments_say_what_is_there(team: Team, arguments: list[str], said: str) -> None:
    with pytest.raises(CommandError, match=said.replace("(", r"\(")):
        run(*arguments)


def test_export_command_into_a_folder_or_onto_a_file_as_folder_is_refused(release: Release, tmp_path: Path) -> None:
    with pytest.raises(CommandError, match="is a folder"):
        run("export_release", "bench", "v1", "--out", str(tmp_path))
    (tmp_path / "file").write_text("")
    with pytest.raises(CommandError, match="cannot be written"):
        run("export_release", "bench", "v1", "--out", str(tmp_path / "file" / "items.jsonl"))


def test_lock_imported_cut_and_read_back_real_input(team: Team, cases: Path, tmp_path: Path) -> None:
    found = read_items(cases / "mm_browsecomp.jsonl", "mm-browsecomp")
    items = imported(team, *(row.document for row in found.rows))
    assert actions.lock_imported(team.benchmark, actor=team.admin) == len(items) == 224
    release = release_actions.cut_release(team.benchmark, "real", license_note="For a test", actor=team.admin)
    assert (release.item_count, release.audited) == (224, False)
    lines = rows(b"".join(Export(release, "full").lines()))
    assert [read_document(row).hash for row in lines] == [row.document.hash for row in found.rows]


# --- the same bytes, at once --------------------------------------------------------------------------------------


@pytest.mark.parametrize("variant", VARIANTS)
def test_two_exports_are_the_same_byte_for_byte(release: Release, tmp_path: Path, variant: str) -> None:
    zips = [b"".join(zip_pieces(Export(release, variant))) for _ in range(2)]
    assert zips[0] == zips[1]
    folders = [tmp_path / name for name in ("one", "two")]
    for folder in folders:
        write_export(Export(release, variant), folder / "items.jsonl")
    files = [{p.relative_to(f): p.read_bytes() for p in f.rglob("*") if p.is_file()} for f in folders]
    assert files[0] == files[1] and len(files[0]) >= 3


@pytest.mark.parametrize("images", ["0", "1"])
def test_first_bytes_come_before_most_documents_are_read(
    team: Team, release: Release, images: str, monkeypatch: Any
) -> None:
    asked: list[int] = []
    real = Export.lines

    def counted(self: Export) -> Any:
        for number, line in enumerate(real(self)):
            asked.append(number)
            yield line

    monkeypatch.setattr(Export, "lines", counted)
    answer = download(team, "admin", variant="full", images=images)
    pieces = iter(answer.streaming_content)
    assert next(pieces) and len(asked) <= 1
    assert b"".join(pieces) and len(asked) == 3


def test_full_export_is_canonical_whatever_the_database_keeps(release: Release) -> None:
    from django.db import connection

    from lhdr_site.shared.guards import without_guards

    before = b"".join(Export(release, "full").lines())
    with without_guards(), connection.cursor() as cursor:  # as a release from before, or another database, has it
        row = release.release_items.get(position=1)
        cursor.execute(
            "UPDATE audit_releaseitem SET document = %s WHERE id = %s", [json.dumps(row.document, indent=1), row.pk]
        )
    assert b"".join(Export(release, "full").lines()) == before
