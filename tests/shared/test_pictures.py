"""Pixels: what is nearly the same and what is not, every orientation, turning without loss, cutting."""

import io
import random
from typing import Any

import pytest
from PIL import Image, ImageDraw

from lhdr_site.shared import pictures
from lhdr_site.shared.pictures import (
    NEAR,
    bands,
    cut,
    distance,
    is_turned,
    near_bands,
    perceptual_hash,
    turned,
    upright,
)


def drawing(seed: int, size: tuple[int, int] = (640, 480)) -> Image.Image:
    """Shapes at random places, the same for the same seed."""
    chance = random.Random(seed)
    image = Image.new("RGB", size, tuple(chance.randrange(256) for _c in range(3)))
    draw = ImageDraw.Draw(image)
    for _n in range(14):
        x, y = chance.randrange(size[0]), chance.randrange(size[1])
        w, h = chance.randrange(40, 260), chance.randrange(40, 200)
        color = tuple(chance.randrange(256) for _c in range(3))
        (draw.ellipse if chance.random() < 0.5 else draw.rectangle)((x, y, x + w, y + h), fill=color)
    return image


def saved(image: Image.Image, kind: str, **options: Any) -> bytes:
    out = io.BytesIO()
    image.save(out, kind, **options)
    return out.getvalue()


def opened(data: bytes) -> Image.Image:
    return upright(Image.open(io.BytesIO(data)))


def hash_apart(one: Image.Image, other: Image.Image) -> int:
    return distance(perceptual_hash(one), perceptual_hash(other))


# --- perceptual hash ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(6))
def test_same_picture_encoded_anew_scaled_or_slightly_cropped_is_near(seed: int) -> None:
    image = drawing(seed)
    w, h = image.size
    others = {
        "jpeg": opened(saved(image, "JPEG", quality=50)),
        "webp": opened(saved(image, "WEBP", quality=60)),
        "palette": opened(saved(image.quantize(64), "PNG")),
        "half": image.resize((w // 2, h // 2)),
        "tiny": image.resize((w // 8, h // 8)),
        "grey": image.convert("L"),
        "transparent": opened(saved(image.convert("RGBA"), "PNG")),
        "cropped": image.crop((w // 100, h // 100, w - w // 100, h - h // 100)),
    }
    far = {name: hash_apart(image, other) for name, other in others.items()}
    assert max(far.values()) <= NEAR, far
    assert max(far[name] for name in far if name != "cropped") <= 4, far


def test_different_pictures_are_far_apart() -> None:
    hashes = [perceptual_hash(drawing(seed)) for seed in range(30)]
    assert min(distance(a, b) for n, a in enumerate(hashes) for b in hashes[:n]) > NEAR


def test_picture_turned_on_its_side_is_another_one() -> None:
    image = drawing(1)
    assert hash_apart(image, image.transpose(Image.Transpose.ROTATE_90)) > NEAR


@pytest.mark.parametrize("color", ["white", "black", "teal"])
def test_plain_picture_has_no_hash(color: str) -> None:
    assert perceptual_hash(Image.new("RGB", (50, 40), color)) == ""
    assert perceptual_hash(Image.new("RGBA", (1, 1), color)) == ""


def test_distance_counts_bits() -> None:
    assert distance("0" * 16, "f" * 16) == 64
    assert distance("8000000000000001", "0000000000000000") == 2


def test_bands_are_the_quarters() -> None:
    assert bands("0001000200030004") == (1, 2, 3, 4)
    assert [len(set(values)) for values in near_bands("0001000200030004")] == [137] * 4  # 1 + 16 + 16*15/2


def test_hashes_that_differ_in_up_to_eleven_bits_share_a_near_band() -> None:
    chance = random.Random(7)
    for _n in range(300):
        value = chance.getrandbits(64)
        other = value
        for bit in chance.sample(range(64), 11):
            other ^= 1 << bit
        pairs = zip(near_bands(f"{value:016x}"), bands(f"{other:016x}"), strict=True)
        assert any(band in near for near, band in pairs)


# --- orientation --------------------------------------------------------------------------------------------------

# How a picture that is upright must be stored so that the orientation makes it upright again.
STORED = {
    1: None,
    2: Image.Transpose.FLIP_LEFT_RIGHT,
    3: Image.Transpose.ROTATE_180,
    4: Image.Transpose.FLIP_TOP_BOTTOM,
    5: Image.Transpose.TRANSPOSE,
    6: Image.Transpose.ROTATE_90,
    7: Image.Transpose.TRANSVERSE,
    8: Image.Transpose.ROTATE_270,
}


def photograph(orientation: int, kind: str = "JPEG") -> tuple[Image.Image, bytes]:
    """An upright picture, and bytes that are to be turned to show it."""
    image = drawing(3, (64, 48))
    way = STORED[orientation]
    stored = image.transpose(way) if way is not None else image
    exif = Image.Exif()
    exif[pictures.ORIENTATION] = orientation
    options = {"quality": 95, "subsampling": 0} if kind == "JPEG" else {"lossless": True} if kind == "WEBP" else {}
    return image, saved(stored, kind, exif=exif, **options)


def apart(one: Image.Image, other: Image.Image) -> float:
    """Mean difference of two pictures' values, 0 to 255."""
    assert one.size == other.size
    pairs = list(zip(one.convert("RGB").tobytes(), other.convert("RGB").tobytes(), strict=True))
    return sum(abs(a - b) for a, b in pairs) / len(pairs)


@pytest.mark.parametrize("kind", ["JPEG", "PNG", "WEBP"])
@pytest.mark.parametrize("orientation", range(1, 9))
def test_every_orientation_becomes_the_same_upright_pixels(orientation: int, kind: str) -> None:
    image, data = photograph(orientation, kind)
    assert is_turned(data) == (orientation > 1)
    shown = opened(data)
    assert apart(shown, image) < (3 if kind == "JPEG" else 0.001)
    media_type, bare = turned(data, 0)
    again = Image.open(io.BytesIO(bare))
    assert media_type == f"image/{kind.lower()}" and not is_turned(bare) and dict(again.getexif()) == {}
    # JPEG is written with the tables it had, turned with it: no pixel changes by more than rounding
    assert apart(again, shown) < (1 if kind == "JPEG" else 0.001)
    small = Image.open(io.BytesIO(pictures.smaller(data, 32)[1]))
    assert small.size == (32, 24)
    part = Image.open(io.BytesIO(cut(data, 0, 0, 5000, 10_000, 400)))
    assert part.size == (32, 48) and apart(part, shown.crop((0, 0, 32, 48))) < 8


@pytest.mark.parametrize("subsampling", [0, 1, 2])
def test_jpeg_turned_four_times_stays_as_it_was_but_for_rounding(subsampling: int) -> None:
    data = saved(drawing(4, (64, 64)), "JPEG", quality=80, subsampling=subsampling)
    before = opened(data)
    for _turn in range(4):
        _type, data = turned(data, 1)
    assert apart(opened(data), before) < 1.5


@pytest.mark.parametrize(
    ("mode", "expected"), [("1", "RGB"), ("L", "L"), ("LA", "LA"), ("P", "RGB"), ("RGBA", "RGBA"), ("I;16", "RGB")]
)
def test_upright_knows_every_mode(mode: str, expected: str) -> None:
    assert upright(Image.new(mode, (4, 3))).mode == expected


def test_cut_holds_at_least_one_pixel_and_stays_inside() -> None:
    data = saved(drawing(1, (10, 10)), "PNG")
    for box in ((0, 0, 1, 1), (10_000, 10_000, 1, 1), (9_999, 0, 10_000, 10_000)):
        part = Image.open(io.BytesIO(cut(data, *box, 100)))
        assert part.width >= 1 and part.height >= 1
