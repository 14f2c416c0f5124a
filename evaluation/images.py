"""The bytes of question images for requests: upright, or a smaller copy, and addresses that expire."""

from collections.abc import Sequence
from typing import Any

from django.conf import settings
from django.core import signing
from django.urls import reverse

from annotation.benchmarks import TakenDown, image_bytes, taken_down
from annotation.document import Image
from lhdr_site.shared import pictures

SALT = "evaluation.signed-image"
VALID_SECONDS = 3 * 24 * 3600  # a deep-research call may take hours and look at the image late


def signed_image_url(benchmark_pk: int, image: Image) -> str:
    """An absolute address for one stored image, valid for three days, that says nothing about what it shows."""
    value = {"b": benchmark_pk, "s": image.sha256, "t": image.media_type}
    return settings.PUBLIC_URL + reverse("evaluation:signed-image", args=[signing.dumps(value, salt=SALT)])


def require_shown(benchmark_pk: int, images: Sequence[Image]) -> None:
    """Raises TakenDown when one of them was: an endpoint would find nothing at its address."""
    for sha256, reason in sorted(taken_down(benchmark_pk, [image.sha256 for image in images]).items()):
        raise TakenDown(f"image {sha256[:12]}… was taken down: {reason}")


def read_signed_image(token: str) -> tuple[str, bytes] | None:
    """Media type and bytes, or None when the token is not ours, too old, or its image is gone."""
    try:
        value: dict[str, Any] = signing.loads(token, salt=SALT, max_age=VALID_SECONDS)
        return upright_part(value["t"], image_bytes(value["b"], value["s"]))
    except (signing.BadSignature, LookupError):
        return None


def image_part(benchmark_pk: int, image: Image, longest_side: int | None) -> tuple[str, bytes]:
    """Media type and bytes of a stored image, upright; a smaller copy when a side is longer than allowed.

    Raises LookupError when it is not stored.
    """
    data = image_bytes(benchmark_pk, image.sha256)
    if longest_side is not None and max(image.width or 0, image.height or 0) > longest_side:
        return pictures.smaller(data, longest_side)
    return upright_part(image.media_type, data)


def upright_part(media_type: str, data: bytes) -> tuple[str, bytes]:
    """The bytes as stored; where they only say that they are to be turned, turned: not every system looks at that."""
    return pictures.turned(data, 0) if pictures.is_turned(data) else (media_type, data)
