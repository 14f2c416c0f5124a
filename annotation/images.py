"""Pictures: verified, turned upright, stripped of metadata, re-encoded, with a thumbnail; stored once by content.

One pipeline, so that page, thumbnail, export and request show the same upright pixels. Imports bring bytes whose hash
is already named by a document: these are verified and kept as they are, and turned upright wherever they are shown.
"""

import hashlib
import io
import warnings
from dataclasses import dataclass
from typing import Any

from django.conf import settings
from django.core.files.base import ContentFile
from django.db import transaction
from django.utils.translation import gettext as _
from PIL import Image, UnidentifiedImageError

from lhdr_site.shared import pictures
from lhdr_site.shared.errors import Invalid

from .models import Benchmark, StoredImage

EXTENSIONS = {"image/png": "png", "image/jpeg": "jpg", "image/webp": "webp", "image/gif": "gif"}
THUMBNAIL = (480, 360)
BANDS = ("band0", "band1", "band2", "band3")

# Our own check of the pixel count speaks first; Pillow's would raise before it.
Image.MAX_IMAGE_PIXELS = None


@dataclass(frozen=True, slots=True)
class Picture:
    """A verified picture, ready to store."""

    data: bytes
    thumbnail: bytes
    media_type: str
    width: int
    height: int
    phash: str

    @property
    def sha256(self) -> str:
        return hashlib.sha256(self.data).hexdigest()


def _refuse(name: str, code: str, text: str) -> Invalid:
    message = f"{name}: {text}" if name else text
    return Invalid(message, code=code, problems=[{"path": name or "image", "message": text}])


def _open(data: bytes, name: str) -> Image.Image:
    limit = settings.UPLOAD_MAX_MB
    if not data:
        raise _refuse(name, "image_empty", _("The file is empty."))
    if len(data) > limit * 1024 * 1024:
        size = len(data) / 1024 / 1024
        text = _("The file has %(size).1f MB; the limit is %(limit)d MB. Save it smaller.")
        raise _refuse(name, "image_too_large", text % {"size": size, "limit": limit})
    head = data[:1024].lstrip(b"\xef\xbb\xbf \t\r\n").lower()
    if head.startswith((b"<svg", b"<?xml", b"<!doctype svg")) or b"<svg" in head:
        raise _refuse(name, "image_svg", _("SVG can hold scripts and is not accepted. Export it as PNG."))
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            picture = Image.open(io.BytesIO(data), formats=list(pictures.MEDIA_TYPES))
    except (UnidentifiedImageError, OSError, ValueError, SyntaxError) as error:
        raise _refuse(name, "image_unknown", _("This is not a PNG, JPEG, WebP or GIF picture.")) from error
    megapixels = picture.width * picture.height / 1_000_000
    if megapixels > settings.IMAGE_MAX_MEGAPIXELS:
        text = _("The picture has %(size).0f megapixels; the limit is %(limit)d. Scale it down.")
        values = {"size": megapixels, "limit": settings.IMAGE_MAX_MEGAPIXELS}
        raise _refuse(name, "image_too_many_pixels", text % values)
    try:
        picture.load()
    except Exception as error:  # decoders raise whatever they like on damaged data
        raise _refuse(name, "image_damaged", _("The picture is damaged and cannot be read to its end.")) from error
    return picture


def _finished(data: bytes, plain: Image.Image, media_type: str) -> Picture:
    small = plain.copy()
    small.thumbnail(THUMBNAIL, Image.Resampling.LANCZOS)
    thumbnail = pictures.encode(small, "image/webp")
    return Picture(data, thumbnail, media_type, plain.width, plain.height, pictures.perceptual_hash(plain))


def prepare_upload(data: bytes, name: str = "") -> Picture:
    """An upload as it will be kept: upright, without metadata, re-encoded. GIF becomes PNG (its first frame).

    Raises Invalid with a message of its own for: empty, over the size limit, SVG, no picture, too many pixels, damaged.
    """
    opened = _open(data, name)
    media_type = pictures.MEDIA_TYPES[opened.format or "PNG"]
    if media_type == "image/gif":
        media_type = "image/png"
    plain = pictures.upright(opened)
    encoded = pictures.encode(plain, media_type, lossless=pictures.is_lossless(data))
    return _finished(encoded, plain, media_type)


def verify_bytes(data: bytes, name: str = "") -> Picture:
    """Imported bytes kept as they are, after the same verification as an upload; the size is that of upright pixels."""
    opened = _open(data, name)
    return _finished(data, pictures.upright(opened), pictures.MEDIA_TYPES[opened.format or "PNG"])


def turn(data: bytes, turns: int) -> Picture:
    """Stored bytes as a new picture, upright and then turned clockwise by quarter turns."""
    media_type, turned = pictures.turned(data, turns)
    return _finished(turned, pictures.upright(Image.open(io.BytesIO(turned))), media_type)


def store(benchmark: Benchmark, picture: Picture) -> StoredImage:
    """Keep the bytes once per benchmark. Inside the caller's permission. Raises Invalid for ones taken down."""
    digest = picture.sha256
    found = StoredImage.objects.filter(benchmark=benchmark, sha256=digest).first()
    if found is not None:
        if found.tombstone:
            text = _("This picture was taken down and may not come back: %(reason)s")
            raise Invalid(text % {"reason": found.tombstone}, code="image_taken_down")
        return found
    image = StoredImage(
        benchmark=benchmark,
        sha256=digest,
        media_type=picture.media_type,
        width=picture.width,
        height=picture.height,
        size=len(picture.data),
        phash=picture.phash,
        **_bands(picture.phash),
    )
    image.file.save(f"{digest}.{EXTENSIONS[picture.media_type]}", ContentFile(picture.data), save=False)
    image.thumbnail.save(f"{digest}.webp", ContentFile(picture.thumbnail), save=False)
    stored, _created = StoredImage.objects.get_or_create(
        benchmark=benchmark,
        sha256=digest,
        defaults={
            field.name: getattr(image, field.name)
            for field in StoredImage._meta.concrete_fields
            if field.name not in ("id", "benchmark", "sha256", "created")
        },
    )
    return stored


def _bands(phash: str) -> dict[str, int | None]:
    return dict(zip(BANDS, pictures.bands(phash) if phash else (None,) * 4, strict=True))


def bury(image: StoredImage, reason: str) -> None:
    """Take the bytes and everything made of them away for good, and keep hash, size and the reason.

    The files go once the transaction is committed: before, all of it could still be undone. Safe to run again, for
    files that a storage did not let go. Inside the caller's permission.
    """
    image.tombstone, image.phash = reason, ""
    bands = _bands("")
    for name, band in bands.items():
        setattr(image, name, band)
    image.save(update_fields=["tombstone", "phash", *bands])

    def remove() -> None:
        for file in (image.file, image.thumbnail):
            file.storage.delete(file.name or "")

    transaction.on_commit(remove)


def hash_stored(image: StoredImage) -> bool:
    """Give a stored picture the perceptual hash it should have; says whether it had another one. Safe to run twice."""
    try:
        with image.file.open("rb") as file, Image.open(file) as opened:
            phash = pictures.perceptual_hash(pictures.upright(opened))
    except (OSError, ValueError):  # its file is missing or damaged: `lhdr verify` says so
        return False
    values = {"phash": phash, **_bands(phash)}
    if all(getattr(image, name) == value for name, value in values.items()):
        return False
    StoredImage.objects.filter(pk=image.pk).update(**values)
    return True


def document_fields(image: StoredImage) -> dict[str, Any]:
    """What a document says about a stored image."""
    return {
        "file": f"images/{image.sha256}.{EXTENSIONS[image.media_type]}",
        "sha256": image.sha256,
        "media_type": image.media_type,
        "width": image.width,
        "height": image.height,
    }
