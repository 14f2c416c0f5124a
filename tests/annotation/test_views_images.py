"""Pictures over HTTP: uploads each with its own message, files for members only and never as anything but pictures."""

import io
from typing import Any

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from PIL import Image

from annotation.document import read_document
from annotation.models import Item, StoredImage
from tests.annotation.pages import HTMX, texts, url
from tests.factories import Team


def picture(color: str = "red", name: str = "a.png", kind: str = "PNG") -> SimpleUploadedFile:
    out = io.BytesIO()
    Image.new("RGB", (40, 30), color).save(out, kind)
    return SimpleUploadedFile(name, out.getvalue())


def images_of(item: Item) -> list[dict[str, object]]:
    images: list[dict[str, object]] = read_document(Item.objects.get(pk=item.pk).document).section("images")["images"]
    return images


def test_upload_of_many_adds_each(team: Team) -> None:
    item = team.item()
    files = [picture("red"), picture("blue", "b.jpg", "JPEG")]
    response = team.client("ann").post(url(item, "images/add/"), {"images": files, "role": "question"})
    assert response.status_code == 302
    added = images_of(item)[2:]
    assert [(i["key"], i["role"], i["media_type"], i["width"]) for i in added] == [
        ("i3", "question", "image/png", 40),
        ("i4", "question", "image/jpeg", 40),
    ]


@pytest.mark.parametrize("kind", [{}, HTMX], ids=["page", "htmx"])
def test_upload_with_bad_files_keeps_the_good_and_names_the_bad(team: Team, kind: Any) -> None:
    item = team.item()
    files = [
        SimpleUploadedFile("notes.txt", b"hello"),
        picture("green", "good.png"),
        SimpleUploadedFile("drawing.svg", b"<svg xmlns='http://www.w3.org/2000/svg'/>"),
        SimpleUploadedFile("empty.png", b""),
    ]
    response = team.client("ann").post(url(item, "images/add/"), {"images": files}, **kind)
    words = texts(response.content.decode())
    assert response.status_code == 422
    assert "notes.txt" in words and "drawing.svg: SVG can hold scripts" in words and "empty.png" in words
    assert len(images_of(item)) == 3


def test_upload_asked_for_as_json_tells_what_became_of_each_file(team: Team) -> None:
    item = team.item()
    files = [SimpleUploadedFile("notes.txt", b"hello"), picture("green", "good.png")]
    response = team.client("ann").post(url(item, "images/add/"), {"images": files}, HTTP_ACCEPT="application/json")
    assert response.status_code == 200
    data = response.json()
    assert [(f["file"], f.get("key")) for f in data["files"]] == [("notes.txt", None), ("good.png", "i3")]
    assert data["files"][0]["error"].startswith("notes.txt: This is not a PNG")
    assert team.client("ann").get(data["files"][1]["thumbnail"]).status_code == 200
    assert data["revision"] == 2 and 'id="images"' in data["html"]
    none = team.client("ann").post(url(item, "images/add/"), {"images": files[:1]}, HTTP_ACCEPT="application/json")
    assert none.status_code == 422 and none.json()["files"][0]["file"] == "notes.txt"
    refused = team.client("aud").post(url(item, "images/add/"), {"images": [picture()]}, HTTP_ACCEPT="application/json")
    assert refused.status_code == 403 and refused.json()["error"]


def test_cut_of_a_picture_is_its_region_for_members_only(team: Team) -> None:
    item = team.item()
    team.client("ann").post(url(item, "images/add/"), {"images": [picture()]})
    address = f"/b/{team.benchmark.slug}/images/{StoredImage.objects.get().sha256}/"
    response = team.client("aud").get(f"{address}0/5000/2500/5000/")
    assert response["Content-Type"] == "image/webp" and "sandbox" in response["Content-Security-Policy"]
    assert Image.open(io.BytesIO(response.content)).size == (10, 15)
    assert Image.open(io.BytesIO(team.client("aud").get(f"{address}9999/9999/9999/9999/").content)).size == (1, 1)
    assert team.client("stranger").get(f"{address}0/0/10/10/").status_code == 404
    for wrong in ("0/0/0/10/", "0/0/10001/10/", "99999999999999999999/0/1/1/"):
        assert team.client("aud").get(f"{address}{wrong}").status_code == 404


def test_upload_without_a_file_says_so(team: Team) -> None:
    response = team.client("ann").post(url(team.item(), "images/add/"), {})
    assert response.status_code == 422
    assert "Choose at least one picture." in response.content.decode()


@pytest.mark.parametrize(("who", "status"), [("ann2", 403), ("core", 403), ("stranger", 404)])
def test_upload_by_others_is_refused(team: Team, who: str, status: int) -> None:
    item = team.item()
    assert team.client(who).post(url(item, "images/add/"), {"images": [picture()]}).status_code == status
    assert len(images_of(item)) == 2 and not StoredImage.objects.exists()


@pytest.mark.parametrize("rest", ["", "thumbnail/"])
def test_file_is_a_picture_for_members_only(team: Team, rest: str) -> None:
    item = team.item()
    team.client("ann").post(url(item, "images/add/"), {"images": [picture()]})
    stored = StoredImage.objects.get()
    address = f"/b/{team.benchmark.slug}/images/{stored.sha256}/{rest}"
    response = team.client("aud").get(address)
    assert response.status_code == 200
    assert response["Content-Type"] == ("image/webp" if rest else "image/png")
    assert response["X-Content-Type-Options"] == "nosniff"
    assert (
        "sandbox" in response["Content-Security-Policy"] and "default-src 'none'" in response["Content-Security-Policy"]
    )
    assert response["Cache-Control"] == "private, max-age=31536000, immutable"
    assert Image.open(io.BytesIO(response.getvalue())).size == (40, 30)
    assert team.client("stranger").get(address).status_code == 404
    assert team.client("aud").get(f"/b/{team.benchmark.slug}/images/{'0' * 64}/{rest}").status_code == 404


def test_file_of_another_benchmark_is_not_found(team: Team) -> None:
    from tests.factories import make_team

    other = make_team("other")
    item = team.item()
    team.client("ann").post(url(item, "images/add/"), {"images": [picture()]})
    digest = StoredImage.objects.get().sha256
    assert other.client("ann").get(f"/b/other/images/{digest}/").status_code == 404
    assert other.client("ann").get(f"/b/bench/images/{digest}/").status_code == 404


def test_image_when_removed_leaves_the_section(team: Team) -> None:
    from tests.annotation.pages import open_form

    item, client = team.item(), team.client("ann")
    client.post(url(item, "images/add/"), {"images": [picture()]})
    fields = open_form(client, item, "images") | {"images-3-remove": "1"}
    assert client.post(url(item, "images/"), fields).status_code == 302
    assert [i["key"] for i in images_of(item)] == ["i1", "i2"]
    assert StoredImage.objects.count() == 1  # earlier revisions still show it
