"""Pictures: verified, turned upright, stripped of metadata, re-encoded, with a thumbnail; stored once by content.

One pipeline, so that page, thumbnail, export and request show the same upright pixels. Imports bring bytes whose hash
is already named by a document: these are verified and kept as they are.
"""

import hashlib
import io
import warnings
from dataclasses import dataclass
from typing import Any

from django.conf import settings
from django.core.files.base import ContentFile
from django.utils.translation import gettext as _
from PIL import Image, ImageOps, UnidentifiedImageError

from lhdr_site.shared.errors import Invalid

from .models import Benchmark, StoredImage

FORMATS = {"PNG": "image/png", "JPEG": "image/jpeg", "WEBP": "image/webp", "GIF": "image/gif"}
EXTENSIONS = {"image/png": "png", "image/jpeg": "jpg", "image/webp": "webp", "image/gif": "gif"}
THUMBNAIL = (480, 360)

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
            picture = Image.open(io.BytesIO(data), formats=list(FORMATS))
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


def _encode(picture: Image.Image, media_type: str) -> bytes:
    out = io.BytesIO()
    if media_type == "image/jpeg":
        picture.convert("RGB").save(out, "JPEG", quality=92, subsampling=0, optimize=True)
    elif media_type == "image/webp":
        picture.save(out, "WEBP", quality=92, method=4)
    else:
        picture.save(out, "PNG", optimize=True)
    return out.getvalue()


def _thumbnail(upright: Image.Image) -> bytes:
    small = upright.convert("RGBA" if "A" in upright.getbands() or upright.mode == "P" else "RGB")
    small.thumbnail(THUMBNAIL, Image.Resampling.LANCZOS)
    return _encode(small, "image/webp")


def prepare_upload(data: bytes, name: str = "") -> Picture:
    """An upload as it will be kept: upright, without metadata, re-encoded. GIF becomes PNG (its first frame).

    Raises Invalid with a message of its own for: empty, over the size limit, SVG, no picture, too many pixels, damaged.
    """
    opened = _open(data, name)
    media_type = FORMATS[opened.format or "PNG"]
    if media_type == "image/gif":
        media_type = "image/png"
    upright = ImageOps.exif_transpose(opened)
    if upright.mode not in ("RGB", "RGBA", "L", "P", "LA"):
        upright = upright.convert("RGB")
    plain = Image.new(upright.mode, upright.size)  # pixels only: no EXIF, no text chunks, no comments
    if upright.mode == "P":
        upright = upright.convert("RGBA" if "transparency" in upright.info else "RGB")
        plain = Image.new(upright.mode, upright.size)
    plain.paste(upright)
    return Picture(_encode(plain, media_type), _thumbnail(plain), media_type, plain.width, plain.height)


def verify_bytes(data: bytes, name: str = "") -> Picture:
    """Imported bytes kept as they are, after the same verification as an upload."""
    opened = _open(data, name)
    upright = ImageOps.exif_transpose(opened)
    media_type = FORMATS[opened.format or "PNG"]
    return Picture(data, _thumbnail(upright), media_type, opened.width, opened.height)


def store(benchmark: Benchmark, picture: Picture) -> StoredImage:
    """Keep the bytes once per benchmark. Inside the caller's permission."""
    digest = picture.sha256
    found = StoredImage.objects.filter(benchmark=benchmark, sha256=digest).first()
    if found is not None:
        return found
    image = StoredImage(
        benchmark=benchmark,
        sha256=digest,
        media_type=picture.media_type,
        width=picture.width,
        height=picture.height,
        size=len(picture.data),
    )
    image.file.save(f"{digest}.{EXTENSIONS[picture.media_type]}", ContentFile(picture.data), save=False)
    image.thumbnail.save(f"{digest}.webp", ContentFile(picture.thumbnail), save=False)
    stored, _created = StoredImage.objects.get_or_create(
        benchmark=benchmark,
        sha256=digest,
        defaults={
            field: getattr(image, field) for field in ("media_type", "width", "height", "size", "file", "thumbnail")
        },
    )
    return stored


def document_fields(image: StoredImage) -> dict[str, Any]:
    """What a document says about a stored image."""
    return {
        "file": f"images/{image.sha256}.{EXTENSIONS[image.media_type]}",
        "sha256": image.sha256,
        "media_type": image.media_type,
        "width": image.width,
        "height": image.height,
    }
