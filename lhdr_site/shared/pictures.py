"""Pixels: upright, encoded, turned by quarters, cut out, and hashed by what they look like.

PURE: Pillow and NumPy, no Django. Everything that shows, exports or sends a picture goes through `upright`, so that
all see the same pixels.
"""

import io
from typing import Final

from PIL import Image, ImageOps

MEDIA_TYPES: Final = {"PNG": "image/png", "JPEG": "image/jpeg", "WEBP": "image/webp", "GIF": "image/gif"}
ORIENTATION: Final = 0x0112
# Two pictures whose perceptual hashes differ in at most this many of 64 bits are nearly the same. The same picture,
# re-encoded or scaled, differs in 0 to 4 bits, cropped by some percent in up to 10; unrelated ones in about 32.
NEAR: Final = 10
PLAIN: Final = 4  # a hash with fewer bits set says nothing
_TURN: Final = {1: Image.Transpose.ROTATE_270, 2: Image.Transpose.ROTATE_180, 3: Image.Transpose.ROTATE_90}


def upright(picture: Image.Image) -> Image.Image:
    """The first frame as it is meant to be seen, in mode L, LA, RGB or RGBA, with nothing but pixels."""
    turned = ImageOps.exif_transpose(picture)
    if turned.mode in ("P", "PA"):
        turned = turned.convert("RGBA" if turned.mode == "PA" or "transparency" in turned.info else "RGB")
    elif turned.mode in ("L", "RGB") and "transparency" in turned.info:
        turned = turned.convert("LA" if turned.mode == "L" else "RGBA")
    elif turned.mode not in ("L", "LA", "RGB", "RGBA"):
        turned = turned.convert("RGB")
    plain = Image.new(turned.mode, turned.size)  # no EXIF, no text chunks, no colour profile, no comments
    plain.paste(turned)
    return plain


def encode(picture: Image.Image, media_type: str, *, like: Image.Image | None = None, lossless: bool = False) -> bytes:
    """The picture as PNG, JPEG or WebP. like: a JPEG, opened, whose quantisation is used again.

    lossless: of WebP; PNG always is. GIF is written as PNG.
    """
    out = io.BytesIO()
    if media_type == "image/jpeg":
        tables = getattr(like, "quantization", None)
        if picture.mode not in ("L", "RGB"):
            picture = picture.convert("L" if picture.mode == "LA" else "RGB")
        if tables:
            picture.save(out, "JPEG", qtables=tables, subsampling=0, optimize=True)
        else:
            picture.save(out, "JPEG", quality=92, subsampling=0, optimize=True)
    elif media_type == "image/webp":
        picture.save(out, "WEBP", quality=92, method=4, lossless=lossless, exact=lossless)
    else:
        picture.save(out, "PNG", optimize=True)
    return out.getvalue()


def is_lossless(data: bytes) -> bool:
    """Whether a WebP keeps every pixel as it was."""
    return data[:4] == b"RIFF" and b"VP8L" in data[12:64]


def is_turned(data: bytes) -> bool:
    """Whether the bytes say that their pixels are to be turned before they are shown."""
    with Image.open(io.BytesIO(data)) as picture:
        return picture.getexif().get(ORIENTATION, 1) in range(2, 9)


def turned(data: bytes, turns: int) -> tuple[str, bytes]:
    """Media type and bytes of the upright picture turned clockwise by quarter turns; 0 makes it upright only.

    Pixels of PNG, GIF (as PNG) and lossless WebP stay exactly the same. A JPEG is written with the tables it had,
    turned with it, which changes hardly any pixel by more than rounding.
    """
    with Image.open(io.BytesIO(data)) as opened:
        media_type = MEDIA_TYPES[opened.format or "PNG"]
        quarter = (turns + (1 if opened.getexif().get(ORIENTATION, 1) > 4 else 0)) % 2
        picture = upright(opened)
        if turns % 4:
            picture = picture.transpose(_TURN[turns % 4])
        tables = getattr(opened, "quantization", None)
        if tables and quarter:  # rows and columns of each block have changed places
            tables = {number: [t[8 * (n % 8) + n // 8] for n in range(64)] for number, t in tables.items()}
        if tables:
            opened.quantization = tables  # type: ignore[attr-defined]
        if media_type == "image/gif":
            media_type = "image/png"
        return media_type, encode(picture, media_type, like=opened, lossless=is_lossless(data))


def smaller(data: bytes, longest_side: int) -> tuple[str, bytes]:
    """Media type and bytes of an upright copy, in the same format (GIF as PNG), with no side longer than that."""
    with Image.open(io.BytesIO(data)) as opened:
        media_type = MEDIA_TYPES[opened.format or "PNG"]
        picture = upright(opened)
    picture.thumbnail((longest_side, longest_side), Image.Resampling.LANCZOS)
    media_type = "image/png" if media_type == "image/gif" else media_type
    return media_type, encode(picture, media_type)


def cut(data: bytes, x: int, y: int, width: int, height: int, longest_side: int) -> bytes:
    """A rectangle of the upright picture as WebP. x, y, width, height in ten-thousandths; at least one pixel."""
    with Image.open(io.BytesIO(data)) as opened:
        picture = upright(opened)
    left, top = (
        min(x * picture.width // 10_000, picture.width - 1),
        min(y * picture.height // 10_000, picture.height - 1),
    )
    right = min(max(-(-(x + width) * picture.width // 10_000), left + 1), picture.width)
    bottom = min(max(-(-(y + height) * picture.height // 10_000), top + 1), picture.height)
    part = picture.crop((left, top, right, bottom))
    part.thumbnail((longest_side, longest_side), Image.Resampling.LANCZOS)
    return encode(part, "image/webp")


def perceptual_hash(picture: Image.Image) -> str:
    """64 bits, in 16 hexadecimal digits, of what an upright picture looks like; "" for one too plain to tell apart.

    Which of the 8 x 8 lowest frequencies of a 32 x 32 grey copy (a type-II cosine transform) lie above their median by
    more than noise, 0.5% of the strongest; the mean brightness counts as 0. Transparent parts count as white.
    """
    import numpy as np

    if "A" in picture.getbands():
        picture = Image.alpha_composite(Image.new("RGBA", picture.size, "white"), picture.convert("RGBA"))
    grey = np.asarray(picture.convert("L").resize((32, 32), Image.Resampling.LANCZOS), dtype=float)
    n = np.arange(32)
    cosines = np.cos(np.pi * np.outer(np.arange(8), 2 * n + 1) / 64)
    low = (cosines @ grey @ cosines.T).ravel().round(3)
    low[0] = 0
    bits = low > np.median(low) + 0.005 * np.abs(low).max()
    value = int("".join("1" if bit else "0" for bit in bits), 2)
    return f"{value:016x}" if value.bit_count() >= PLAIN else ""


def distance(one: str, other: str) -> int:
    """In how many of their 64 bits two perceptual hashes differ."""
    return (int(one, 16) ^ int(other, 16)).bit_count()


def bands(phash: str) -> tuple[int, int, int, int]:
    """The four quarters of a perceptual hash, 16 bits each."""
    value = int(phash, 16)
    return value >> 48, value >> 32 & 0xFFFF, value >> 16 & 0xFFFF, value & 0xFFFF


def near_bands(phash: str) -> list[list[int]]:
    """For each quarter its own value and those that differ from it in one or two bits: 137 values.

    Hashes that differ in at most 11 bits, more than NEAR, share one of them: some quarter has at most two of the bits.
    """
    flips = [0, *(1 << a for a in range(16)), *(1 << a | 1 << b for a in range(16) for b in range(a))]
    return [[band ^ flip for flip in flips] for band in bands(phash)]
