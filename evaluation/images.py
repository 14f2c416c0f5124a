"""The bytes of question images for requests: as stored or as a smaller copy, and addresses that expire."""

from io import BytesIO
from typing import Any

from django.conf import settings
from django.core import signing
from django.urls import reverse

from annotation.benchmarks import image_bytes
from annotation.document import Image

SALT = "evaluation.signed-image"
VALID_SECONDS = 3 * 24 * 3600  # a deep-research call may take hours and look at the image late


def signed_image_url(benchmark_pk: int, image: Image) -> str:
    """An absolute address for one stored image, valid for three days, that says nothing about what it shows."""
    value = {"b": benchmark_pk, "s": image.sha256, "t": image.media_type}
    return settings.PUBLIC_URL + reverse("evaluation:signed-image", args=[signing.dumps(value, salt=SALT)])


def read_signed_image(token: str) -> tuple[str, bytes] | None:
    """Media type and bytes, or None when the token is not ours, too old, or its image is gone."""
    try:
        value: dict[str, Any] = signing.loads(token, salt=SALT, max_age=VALID_SECONDS)
        return value["t"], image_bytes(value["b"], value["s"])
    except (signing.BadSignature, LookupError):
        return None


def image_part(benchmark_pk: int, image: Image, longest_side: int | None) -> tuple[str, bytes]:
    """Media type and bytes of a stored image; a smaller copy when a side is longer than allowed.

    Raises LookupError when it is not stored.
    """
    data = image_bytes(benchmark_pk, image.sha256)
    if longest_side is None or max(image.width or 0, image.height or 0) <= longest_side:
        return image.media_type, data
    from PIL import Image as Pillow

    with Pillow.open(BytesIO(data)) as picture:
        kind = picture.format or "PNG"
        if picture.mode == "P":
            picture = picture.convert("RGBA" if "transparency" in picture.info else "RGB")  # type: ignore[assignment]
        picture.thumbnail((longest_side, longest_side))
        smaller = BytesIO()
        picture.save(smaller, format=kind)
    return image.media_type, smaller.getvalue()
