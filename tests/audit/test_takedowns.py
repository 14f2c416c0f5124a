"""A picture taken down: its bytes are gone, hashes stay, and pages, exports, runs and `lhdr verify` say so."""

import io
import zipfile
from pathlib import Path
from typing import Any

import pytest
from django.core.management import CommandError, call_command
from django.db import IntegrityError, transaction
from django.urls import reverse

from annotation import images
from annotation.benchmarks import TakenDown, image_bytes
from annotation.importing import import_file
from annotation.models import StoredImage
from audit.exports import Export, write_export, zip_pieces
from audit.models import Redaction, Release
from audit.redaction_actions import redact_image
from audit.releases import read_release
from evaluation.images import read_signed_image, signed_image_url
from lhdr_site.shared.errors import Invalid, NotAllowed
from tests.audit.releasing import picture
from tests.factories import Team, make_team

pytestmark = pytest.mark.django_db


@pytest.fixture
def red(team: Team, release: Release) -> StoredImage:
    """The question image of the three released items."""
    return StoredImage.objects.order_by("pk").first()  # type: ignore[return-value]


def take_down(team: Team, image: StoredImage, django_capture_on_commit_callbacks: Any) -> Redaction:
    with django_capture_on_commit_callbacks(execute=True):
        return redact_image(team.benchmark, image.sha256, "Asked for by its owner", actor=team.admin)


def test_bytes_and_thumbnail_go_and_hashes_stay(
    team: Team, release: Release, red: StoredImage, django_capture_on_commit_callbacks: Any
) -> None:
    documents = list(release.release_items.values_list("document_hash", flat=True))
    files = [Path(red.file.path), Path(red.thumbnail.path)]
    assert all(file.exists() for file in files)
    take_down(team, red, django_capture_on_commit_callbacks)
    assert not any(file.exists() for file in files)
    red.refresh_from_db()
    assert red.tombstone == "Asked for by its owner" and red.phash == "" and red.band0 is None
    assert list(release.release_items.values_list("document_hash", flat=True)) == documents
    assert Release.objects.get().hash == release.hash
    with pytest.raises(TakenDown, match="Asked for by its owner"):
        image_bytes(team.benchmark.pk, red.sha256)


def test_the_same_bytes_do_not_come_back(team: Team, red: StoredImage, django_capture_on_commit_callbacks: Any) -> None:
    take_down(team, red, django_capture_on_commit_callbacks)
    with pytest.raises(Invalid, match="taken down") as caught:
        images.store(team.benchmark, images.prepare_upload(picture("red")))
    assert caught.value.code == "image_taken_down"


def test_again_changes_nothing_and_tries_the_files_once_more(
    team: Team, red: StoredImage, django_capture_on_commit_callbacks: Any
) -> None:
    first = take_down(team, red, django_capture_on_commit_callbacks)
    Path(red.file.path).write_bytes(b"left over")
    with pytest.raises(CommandError):
        call_command("verify", stdout=io.StringIO(), stderr=(said := io.StringIO()))
    assert "is still there" in said.getvalue()
    with django_capture_on_commit_callbacks(execute=True):
        again = redact_image(team.benchmark, red.sha256.upper(), "Another reason", actor=team.admin)
    assert again == first and again.reason == "Asked for by its owner" and not Path(red.file.path).exists()
    call_command("verify", stdout=(out := io.StringIO()))
    assert "1 image(s) were taken down" in out.getvalue()


def test_nothing_goes_when_the_transaction_fails(team: Team, red: StoredImage) -> None:
    with pytest.raises(ZeroDivisionError), transaction.atomic():
        redact_image(team.benchmark, red.sha256, "Gone", actor=team.admin)
        raise ZeroDivisionError
    red.refresh_from_db()
    assert red.tombstone == "" and Path(red.file.path).exists() and not Redaction.objects.exists()


def test_takedown_is_for_good(team: Team, red: StoredImage, django_capture_on_commit_callbacks: Any) -> None:
    row = take_down(team, red, django_capture_on_commit_callbacks)
    for change in (lambda: Redaction.objects.filter(pk=row.pk).update(reason="x"), lambda: row.delete()):
        with pytest.raises(IntegrityError), transaction.atomic():
            change()


@pytest.mark.parametrize("who", ["ann", "aud", "core"])
def test_only_admins_take_down(team: Team, red: StoredImage, who: str) -> None:
    with pytest.raises(NotAllowed):
        redact_image(team.benchmark, red.sha256, "No", actor=getattr(team, who))
    assert team.client(who).post(reverse("audit:takedowns", args=["bench"]), {}).status_code == 403


@pytest.mark.parametrize(
    ("data", "said"),
    [
        ({"sha256": "abc", "reason": "r", "sure": "on"}, "64 hexadecimal digits"),
        ({"sha256": "0" * 64, "reason": "r", "sure": "on"}, "is stored in this benchmark"),
        ({"sha256": "0" * 64, "reason": "", "sure": "on"}, "This field is required"),
        ({"sha256": "0" * 64, "reason": "r"}, "This field is required"),
    ],
)
def test_page_says_what_is_missing(team: Team, red: StoredImage, data: dict[str, str], said: str) -> None:
    answer = team.client("admin").post(reverse("audit:takedowns", args=["bench"]), data)
    assert answer.status_code == 422 and said in answer.content.decode() and not Redaction.objects.exists()


def test_pages_say_that_it_was_taken_down(
    team: Team, red: StoredImage, django_capture_on_commit_callbacks: Any
) -> None:
    address = reverse("audit:takedowns", args=["bench"])
    before = team.client("admin").get(address, {"sha256": red.sha256}).content.decode()
    assert "#1" in before and "v1" in before and "<img" in before
    with django_capture_on_commit_callbacks(execute=True):
        form = {"sha256": red.sha256, "reason": "Asked for by its owner", "sure": "on"}
        assert team.client("admin").post(address, form).status_code == 302
    client = team.client("ann")
    for page in (address, "/b/bench/releases/v1/", "/b/bench/items/1/"):
        text = client.get(page).content.decode()
        assert "taken down" in text and "Asked for by its owner" in text, page
    assert client.get(reverse("annotation:image-file", args=["bench", red.sha256])).status_code == 410
    small = client.get(reverse("annotation:image-thumbnail", args=["bench", red.sha256]))
    assert small["Content-Type"] == "image/svg+xml" and small["Cache-Control"] == "private, no-store"
    assert team.client("stranger").get(address).status_code == 404


def test_menu_of_a_picture_leads_admins_to_taking_it_down(team: Team, red: StoredImage) -> None:
    address = f"{reverse('audit:takedowns', args=['bench'])}?sha256={red.sha256}"
    assert address in team.client("admin").get("/b/bench/items/1/").content.decode()
    assert "takedowns/?sha256" not in team.client("core").get("/b/bench/items/1/").content.decode()


def test_exports_hold_a_note_in_its_place(
    team: Team, release: Release, red: StoredImage, tmp_path: Path, django_capture_on_commit_callbacks: Any
) -> None:
    out = tmp_path / "out" / "items.jsonl"
    write_export(Export(release, "full"), out)
    lines = out.read_bytes()
    take_down(team, red, django_capture_on_commit_callbacks)
    export = Export(release, "full")
    archive = zipfile.ZipFile(io.BytesIO(b"".join(zip_pieces(export))))
    note = f"images/{red.sha256}.taken-down.txt"
    assert archive.read("items.jsonl") == lines and note in archive.namelist()
    assert b"Asked for by its owner" in archive.read(note) and f"images/{red.sha256}.png" not in archive.namelist()
    [line] = [entry for entry in export.manifest()["images"] if "taken_down" in entry]
    assert line["sha256"] == red.sha256 and line["taken_down"]["reason"] == "Asked for by its owner"
    write_export(Export(release, "full"), out)
    assert (out.parent / note).exists() and not (out.parent / f"images/{red.sha256}.png").exists()


def test_export_with_a_note_is_imported_without_the_picture_and_says_so(
    team: Team, release: Release, red: StoredImage, tmp_path: Path, django_capture_on_commit_callbacks: Any
) -> None:
    take_down(team, red, django_capture_on_commit_callbacks)
    out = tmp_path / "out" / "items.jsonl"
    write_export(Export(release, "full"), out)
    other = make_team("elsewhere")
    outcome = import_file(other.benchmark, out, actor=other.admin, new_ids=True)
    assert outcome.report is not None and outcome.report.created == 3 and not outcome.problems
    assert len(outcome.warnings) == 3
    assert all("Asked for by its owner" in warning and red.sha256 in warning for warning in outcome.warnings)
    stored = StoredImage.objects.filter(benchmark=other.benchmark)
    assert stored.count() == 1 and not stored.filter(sha256=red.sha256).exists()
    item = other.benchmark.items.first()
    assert red.sha256 in {image["sha256"] for image in item.document["images"]}  # type: ignore[union-attr]
    assert "taken down" in str(import_file(team.benchmark, out, actor=team.admin).warnings)
    (out.parent / f"images/{red.sha256}.taken-down.txt").unlink()
    refused = import_file(other.benchmark, out, actor=other.admin, new_ids=True)
    assert refused.report is None and "there is no file" in refused.problems[0]


def test_signed_address_shows_nothing_any_more(
    team: Team, release: Release, red: StoredImage, settings: Any, django_capture_on_commit_callbacks: Any
) -> None:
    _row, document = next(iter(read_release(release)))
    settings.PUBLIC_URL = "https://example.org"
    token = signed_image_url(team.benchmark.pk, document.images[0]).rstrip("/").rsplit("/", 1)[-1]
    assert read_signed_image(token) is not None
    take_down(team, red, django_capture_on_commit_callbacks)
    assert read_signed_image(token) is None


def test_command_asks_first_and_names_releases(team: Team, red: StoredImage, monkeypatch: Any) -> None:
    arguments = ["redact", "bench", red.sha256, "--reason", "Gone", "--as", "bench-admin"]
    monkeypatch.setattr("builtins.input", lambda _question: "no")
    with pytest.raises(CommandError, match="Nothing was changed"):
        call_command(*arguments)
    with pytest.raises(CommandError, match="This needs the role"):
        call_command(*arguments[:-1], "bench-core", "--yes")
    call_command(*arguments, "--yes", stdout=(out := io.StringIO()))
    assert "Releases that name it: v1." in out.getvalue()
