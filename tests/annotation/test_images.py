"""Pictures: what is refused and how, and that what is kept is upright and bare."""

import io
import struct
import zlib

import pytest
from PIL import Image

from annotation import image_actions, images
from annotation.models import StoredImage
from annotation.states import State
from lhdr_site.shared.errors import Invalid, NotAllowed
from tests.factories import Team


def png(width: int = 40, height: int = 20, **save: object) -> bytes:
    out = io.BytesIO()
    Image.new("RGB", (width, height), "teal").save(out, "PNG", **save)
    return out.getvalue()


def bomb() -> bytes:
    """A small PNG that claims 20,000 x 20,000 pixels."""

    def chunk(kind: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    header = struct.pack(">IIBBBBB", 20_000, 20_000, 8, 0, 0, 0, 0)
    return (
        b"\x89PNG\r\n\x1a\n"
        + chunk(b"IHDR", header)
        + chunk(b"IDAT", zlib.compress(b"\0" * 1000))
        + chunk(b"IEND", b"")
    )


@pytest.mark.parametrize(
    ("data", "code"),
    [
        (b"", "image_empty"),
        (b"<html><script>alert(1)</script>", "image_unknown"),
        (b"%PDF-1.7", "image_unknown"),
        (b'<?xml version="1.0"?><svg xmlns="http://www.w3.org/2000/svg"/>', "image_svg"),
        (b"\xef\xbb\xbf <svg/>", "image_svg"),
        (bomb(), "image_too_many_pixels"),
        (png()[:60], "image_damaged"),
        (b"x" * (21 * 1024 * 1024), "image_too_large"),
    ],
)
def test_prepare_upload_of_no_good_picture_says_why(data: bytes, code: str) -> None:
    with pytest.raises(Invalid) as caught:
        images.prepare_upload(data, "photo.png")
    assert caught.value.code == code
    assert caught.value.message.startswith("photo.png: ")


def test_prepare_upload_with_rotation_and_gps_is_upright_and_bare() -> None:
    picture = Image.new("RGB", (40, 20), "white")
    picture.paste("red", (0, 0, 10, 20))  # red at the left; turned by 90 degrees clockwise it is at the top
    exif = Image.Exif()
    exif[0x0112] = 6
    exif[0x010E] = "secret place"
    out = io.BytesIO()
    picture.save(out, "JPEG", exif=exif, quality=95)
    kept = images.prepare_upload(out.getvalue(), "x.jpg")
    assert (kept.width, kept.height, kept.media_type) == (20, 40, "image/jpeg")
    again = Image.open(io.BytesIO(kept.data))
    assert dict(again.getexif()) == {}
    assert b"secret" not in kept.data
    red, _green, blue = again.convert("RGB").getpixel((10, 2))  # type: ignore[misc]
    assert red > 200 and blue < 80
    thumbnail = Image.open(io.BytesIO(kept.thumbnail))
    assert thumbnail.height > thumbnail.width


def test_prepare_upload_with_trailing_html_drops_it() -> None:
    kept = images.prepare_upload(png() + b"<script>alert(1)</script>", "x.png")
    assert b"script" not in kept.data


def test_add_image_stores_once_and_appends_to_the_document(team: Team) -> None:
    item = team.item()
    before = len(item.document["images"])
    item, _report = image_actions.add_images(item, [("a.png", png())], actor=team.ann, role="question")
    item, _report = image_actions.add_images(item, [("b.png", png())], actor=team.ann)
    added = item.document["images"][before:]
    assert [image["role"] for image in added] == ["question", "evidence"]
    assert added[0]["sha256"] == added[1]["sha256"]
    assert len({image["key"] for image in item.document["images"]}) == before + 2
    stored = StoredImage.objects.get(sha256=added[0]["sha256"])
    with stored.file.open() as file:
        assert Image.open(file).size == (40, 20)


@pytest.mark.parametrize("who", ["ann2", "aud", "stranger"])
def test_add_image_by_others_is_refused_and_changes_nothing(team: Team, who: str) -> None:
    item = team.item()
    with pytest.raises(NotAllowed):
        image_actions.add_images(item, [("a.png", png())], actor=getattr(team, who))
    assert item.revisions.count() == 1


def test_add_image_to_a_locked_item_is_refused(team: Team) -> None:
    item = team.item()
    type(item).objects.filter(pk=item.pk).update(state=State.LOCKED)
    with pytest.raises(NotAllowed):
        image_actions.add_images(item, [("a.png", png())], actor=team.ann)
