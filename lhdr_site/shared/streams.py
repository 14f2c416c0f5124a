"""Downloads as streams of bytes, a piece at a time, so that they never stand in memory whole.

The first piece comes at once: whoever waits, or a proxy between, sees that it works.
"""

import zipfile
from collections.abc import Iterable, Iterator
from typing import Any, Final

CHUNK: Final = 256 * 1024


def in_pieces(chunks: Iterable[bytes]) -> Iterator[bytes]:
    """The same bytes in pieces worth sending."""
    waiting: list[bytes] = []
    size = limit = 0
    for chunk in chunks:
        waiting.append(chunk)
        size += len(chunk)
        if size > limit:
            yield b"".join(waiting)
            waiting, size, limit = [], 0, CHUNK
    yield b"".join(waiting)


def zipped(members: Iterable[tuple[zipfile.ZipInfo, Iterable[bytes]]]) -> Iterator[bytes]:
    """The members as a ZIP file; the head of the first comes before any of its bytes were asked for."""
    sink = _Sink()
    first = True
    with zipfile.ZipFile(sink, "w") as archive:  # type: ignore[call-overload]
        for info, chunks in members:
            with archive.open(info, "w", force_zip64=True) as member:
                if first:
                    yield sink.take()
                    first = False
                for chunk in chunks:
                    member.write(chunk)
                    if sink.size >= CHUNK:
                        yield sink.take()
    yield sink.take()


class _Sink:
    """What a ZipFile writes to, without a position to seek: taken away as it grows."""

    def __init__(self) -> None:
        self.pieces: list[bytes] = []
        self.size = 0

    def write(self, data: bytes) -> int:
        self.pieces.append(bytes(data))
        self.size += len(data)
        return len(data)

    def flush(self) -> None:
        pass

    def take(self) -> bytes:
        taken = b"".join(self.pieces)
        self.pieces, self.size = [], 0
        return taken


def bytes_of(image: Any) -> Iterator[bytes]:
    """The bytes of a stored image."""
    with image.file.open("rb") as file:
        yield from file.chunks(CHUNK)
