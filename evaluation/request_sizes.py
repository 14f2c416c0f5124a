"""Whether each item of a release can be sent to a system, worked out without making the requests.

A stored picture's size is known, and base64 makes four bytes of three. Of smaller copies, which are made when they are
sent, only those are made here of which it is in doubt whether they fit.
"""

import time
from collections.abc import Mapping
from dataclasses import dataclass, field

from annotation.benchmarks import Stored
from annotation.document import Document, Image
from lhdr_site.endpoints.client import encoded

from .images import image_part
from .models import ImageMode, System
from .requests import question_images, refusing_collection, system_body


@dataclass
class Sizes:
    """What was found of one system under one condition; items by their numbers."""

    system: System
    condition: str
    largest: int = 0  # bytes of the largest request of known size
    too_large: list[int] = field(default_factory=list)
    doubtful: list[int] = field(default_factory=list)
    unfetched: list[int] = field(default_factory=list)  # with a picture that is not stored, so nothing can be sent
    taken_down: list[int] = field(default_factory=list)
    _in_doubt: list[tuple[int, int, list[Image]]] = field(default_factory=list)

    @property
    def limit(self) -> int:
        return self.system.max_request_mb * 1_000_000

    def add(self, number: int, document: Document, stored: Mapping[str, Stored]) -> None:
        images = question_images(document, self.system.image_mode, self.condition)
        if any(image.sha256 not in stored for image in images):
            self.unfetched.append(number)
            return
        if any(stored[image.sha256].tombstone for image in images):
            self.taken_down.append(number)
            return
        if self.system.image_mode != ImageMode.INLINE:
            images = []
        without = self._bytes_without(document, images)
        scaled = [image for image in images if self._is_scaled(image)]
        known = without + sum(_base64(stored[image.sha256].size) for image in images if image not in scaled)
        if not scaled or known > self.limit:
            self._note(number, known)
        elif known + sum(_base64(self._most(image)) for image in scaled) > self.limit:
            self._in_doubt.append((number, known, scaled))

    def settle(self, until: float, made: dict[tuple[str, int | None], int]) -> None:
        """Make the smaller copies that are in doubt, as long as the time (of `time.monotonic`) allows.

        made: the bytes of those made so far, for further systems.
        """
        for number, known, scaled in self._in_doubt:
            for image in scaled:
                key = (image.sha256, self.system.image_max_side)
                if key not in made and time.monotonic() < until:
                    try:
                        made[key] = len(image_part(self.system.benchmark_id, image, key[1])[1])
                    except LookupError:  # the file is missing
                        self.unfetched.append(number)
                        break
                if key not in made:
                    self.doubtful.append(number)
                    break
                known += _base64(made[key])
            else:
                self._note(number, known)

    def _note(self, number: int, size: int) -> None:
        self.largest = max(self.largest, size)
        if size > self.limit:
            self.too_large.append(number)

    def _bytes_without(self, document: Document, images: list[Image]) -> int:
        """Of the request, but for the pictures' bytes."""
        endpoint = self.system.endpoint
        assert endpoint is not None  # what has none is never asked
        parts = [(image.media_type, b"") for image in images]
        body = system_body(endpoint.wire, self.system.model, document, images=parts, extra=self.system.extra_body)
        return len(encoded(refusing_collection(endpoint.base_url, body)))

    def _is_scaled(self, image: Image) -> bool:
        longest = self.system.image_max_side
        return longest is not None and max(image.width or 0, image.height or 0) > longest

    def _most(self, image: Image) -> int:
        """Bytes that no smaller copy exceeds: those of its bare pixels."""
        width, height, side = image.width or 1, image.height or 1, self.system.image_max_side or 0
        pixels = side * max(1, side * min(width, height) // max(width, height) + 1)
        return pixels * (3 if image.media_type == "image/jpeg" else 4) * 101 // 100 + 10_000


def _base64(size: int) -> int:
    return (size + 2) // 3 * 4
