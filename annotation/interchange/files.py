"""Opening files of items: bytes to numbered rows, and the picture files beside them, with problems that name a remedy.

PURE: imports no Django and no other app.
"""

import base64
import binascii
import hashlib
import io
import json
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path, PurePosixPath
from typing import Any, BinaryIO, Final, NoReturn
from urllib.parse import unquote_to_bytes

from annotation.document import MAX_INT, Document

MAX_LINE: Final = 20 * 1024 * 1024  # bytes of one row
MAX_ARRAY: Final = 256 * 1024 * 1024  # bytes of a file that is one JSON array, which must be read as a whole

_UNICODE_MARKS: Final = (
    (b"\xff\xfe\x00\x00", "UTF-32"),
    (b"\x00\x00\xfe\xff", "UTF-32"),
    (b"\xff\xfe", "UTF-16"),
    (b"\xfe\xff", "UTF-16"),
)
_CONTAINERS: Final = ((b"PK\x03\x04", "a ZIP archive"), (b"\x1f\x8b", "gzip data"), (b"PAR1", "a Parquet file"))
_HIGH_BYTES: Final = re.compile(rb"[\x80-\xff]+")
_DATA_URL: Final = re.compile(r"data:[^,;]*(?:;[^,;]*)*,", re.IGNORECASE)
_IMAGE_TYPES: Final = {
    "PNG": ("image/png", "png"),
    "JPEG": ("image/jpeg", "jpg"),
    "MPO": ("image/jpeg", "jpg"),  # a JPEG with more pictures behind the first, as some cameras write
    "WEBP": ("image/webp", "webp"),
    "GIF": ("image/gif", "gif"),
}


@dataclass(frozen=True, slots=True)
class RowProblem:
    """One thing that keeps a file from being imported. `row` is the line (or place in the array), None the file."""

    row: int | None
    field: str
    message: str

    def __str__(self) -> str:
        place = ", ".join(([f"row {self.row}"] if self.row else []) + ([self.field] if self.field else []))
        return f"{place}: {self.message}" if place else self.message


@dataclass(frozen=True, slots=True)
class LocalImage:
    """Bytes that came with a row for the image `key` of its document: in `path`, or else in `data`.

    With neither, the file was read as a stream without its folder: the bytes must be in store already.
    name: the image's `file` in the document, `images/<sha256>.<ending>`.
    """

    key: str
    name: str
    sha256: str
    media_type: str = ""
    width: int | None = None
    height: int | None = None
    path: Path | None = None
    data: bytes | None = field(default=None, repr=False)

    def read(self) -> bytes:
        """The bytes. Raises FileNotFoundError if they did not come with the row, OSError if they cannot be read."""
        if self.path is not None:
            return self.path.read_bytes()
        if self.data is None:
            raise FileNotFoundError(self.name)
        return self.data


@dataclass(frozen=True, slots=True)
class ImportedRow:
    """A row that was read: its number in the file, the item, the pictures to store, and what to tell the person."""

    row_number: int
    document: Document
    warnings: list[str]
    images: list[LocalImage]


@dataclass(slots=True)
class Import:
    """What a file held. Nothing of it should be stored while there are problems.

    format: the format that was read, "" if none was found. benchmarks: the benchmarks that rows name, sorted; the
    documents do not carry them.
    """

    format: str = ""
    rows: list[ImportedRow] = field(default_factory=list)
    problems: list[RowProblem] = field(default_factory=list)
    benchmarks: list[str] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class Reading:
    """What the reader of a format needs besides the row."""

    images: "ImageFolder"
    benchmark: str = ""
    linear_prerequisites: bool = False


Report = Callable[[int | None, str, str], None]


def printable(text: str) -> str:
    """The text with lone surrogates spelled out, so that it can be printed and stored."""
    return text.encode("utf-8", "backslashreplace").decode()


# --- rows ---------------------------------------------------------------------------------------------------------


def open_source(source: str | Path | BinaryIO, report: Report) -> BinaryIO | None:
    """The open binary file, or None after reporting why there is none. A stream is returned as it is."""
    if not isinstance(source, (str, Path)):
        return source
    path = Path(source)
    try:
        if path.is_dir():
            inside = next((name for name in ("metadata.jsonl", "items.jsonl") if (path / name).is_file()), None)
            report(None, "", f"{path} is a folder; give the file in it{f': {path / inside}' if inside else ''}")
            return None
        return path.open("rb")
    except FileNotFoundError:
        report(None, "", f"{path} does not exist; check the name and the folder")
    except (OSError, ValueError) as error:
        report(None, "", f"{printable(str(path))} cannot be read ({getattr(error, 'strerror', None) or error})")
    return None


def read_rows(stream: BinaryIO, report: Report) -> Iterator[tuple[int, dict[str, Any]]]:
    """Every row of JSON Lines, or of one JSON array, that is an object, with its number; the rest is reported.

    A number is the line in the file (blank lines count) or the place in the array, from 1. UTF-8 only, with or
    without a byte-order mark.
    """
    line = stream.readline(MAX_LINE + 1)
    if trouble := _foreign(line):
        report(None, "", trouble)
        return
    line = line.removeprefix(b"\xef\xbb\xbf")
    number, empty, encoding_reported = 1, True, False
    while line:
        text = line.strip()
        if empty and (text.startswith(b"[") or text == b"{"):
            yield from _read_whole(b"\n" * (number - 1) + line, stream, report)
            return
        if len(line) > MAX_LINE and not line.endswith(b"\n"):
            limit = MAX_LINE // 1024 // 1024
            report(number, "", f"is longer than {limit} MB; put pictures into files beside it instead of into the row")
            while line and not line.endswith(b"\n"):
                line = stream.readline(MAX_LINE)
            empty = False
        elif text:
            empty = False
            try:
                row = load_json(text)
            except UnicodeDecodeError:
                # One report is enough: the whole file was saved that way.
                if not encoding_reported:
                    report(number, "", _not_utf8(text))
                encoding_reported = True
            except (ValueError, RecursionError) as error:
                report(number, "", f"is no JSON ({_json_trouble(error)}); each line must hold one JSON object")
            else:
                if isinstance(row, dict):
                    yield number, row
                else:
                    report(number, "", f'must be a JSON object like {{"id": …}}, not {_name_of(row)}')
        line = stream.readline(MAX_LINE + 1)
        number += 1
    if empty:
        report(None, "", "the file is empty; it must hold one JSON object per line")


def _read_whole(start: bytes, stream: BinaryIO, report: Report) -> Iterator[tuple[int, dict[str, Any]]]:
    data = start + stream.read(MAX_ARRAY + 1 - len(start))
    if len(data) > MAX_ARRAY:
        limit = MAX_ARRAY // 1024 // 1024
        report(None, "", f"is one JSON value of more than {limit} MB; write one JSON object per line instead")
        return
    try:
        rows = load_json(data)
    except UnicodeDecodeError:
        report(None, "", _not_utf8(data))
        return
    except (ValueError, RecursionError) as error:
        line = f"line {error.lineno}, " if isinstance(error, json.JSONDecodeError) else ""
        report(None, "", f"is no JSON ({line}{_json_trouble(error)}); give one JSON object per line, or one array")
        return
    rows = [rows] if isinstance(rows, dict) else rows
    if not rows:
        report(None, "", "the array is empty; it must hold the items as JSON objects")
    for number, row in enumerate(rows, 1):
        if isinstance(row, dict):
            yield number, row
        else:
            report(number, "", f'must be a JSON object like {{"id": …}}, not {_name_of(row)}')


def _no_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is no JSON number")


def _no_repeats(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    result = dict(pairs)
    if len(result) != len(pairs):
        names = [name for name, _ in pairs]
        twice = next(name for name in names if names.count(name) > 1)
        raise ValueError(f"the field {printable(twice)!r} is given twice in one object; keep one")
    return result


def load_json(data: bytes) -> Any:
    """JSON from UTF-8. Raises UnicodeDecodeError, and ValueError also for NaN and for a name repeated in an object."""
    return json.loads(data.decode(), parse_constant=_no_constant, object_pairs_hook=_no_repeats)


def _json_trouble(error: Exception) -> str:
    if isinstance(error, json.JSONDecodeError):
        return f"column {error.colno}: {error.msg}"
    return "nested too deep" if isinstance(error, RecursionError) else str(error)


def _name_of(value: Any) -> str:
    if value is None:
        return "null"
    names: dict[type, str] = {list: "a list", str: "text", bool: "true or false"}
    return names.get(type(value), "a number")


def _foreign(start: bytes) -> str:
    """Why a file that starts so is no UTF-8 text, or ""."""
    for mark, what in _CONTAINERS:
        if start.startswith(mark):
            return f"the file is {what}; unpack or convert it to JSON Lines first"
    # JSON starts with an ASCII character, so a NUL among the first four bytes is a wide encoding without its mark.
    wide = next((name for mark, name in _UNICODE_MARKS if start.startswith(mark)), "")
    if not wide and b"\0" in start[:4]:
        wide = "UTF-32" if b"\0\0" in start[:4] else "UTF-16"
    return f"the file looks like {wide}; save it as UTF-8" if wide else ""


def _not_utf8(data: bytes) -> str:
    runs = _HIGH_BYTES.findall(data[:100_000])
    # Chinese text comes in pairs of high bytes; accented letters mostly stand alone between ASCII letters.
    paired = sum(len(run) for run in runs) >= 2 * len(runs)
    try:
        data.decode("gb18030")
    except UnicodeDecodeError:
        paired = False
    suspected = "GB18030 (or GBK)" if paired else "Latin-1 (or Windows-1252)"
    return f"is no UTF-8; it looks like {suspected}. Save the file as UTF-8; nothing is converted by guess"


# --- pictures -----------------------------------------------------------------------------------------------------


class ImageFolder:
    """The folder beside the file of items, from which rows take pictures. None: a stream, which has no folder."""

    def __init__(self, folder: Path | None):
        self.folder = folder
        self._seen: dict[str, LocalImage] = {}

    def take(self, name: str, key: str) -> LocalImage:
        """The picture at a relative path as an image of that key, hashed and measured.

        Raises ValueError with a sentence: a path that leaves the folder, no file, no picture. Not for a stream.
        """
        if name not in self._seen:
            try:
                path = self._locate(name)
                with path.open("rb") as file:
                    digest = hashlib.file_digest(file, "sha256").hexdigest()
                    file.seek(0)
                    self._seen[name] = replace(_measured(file, digest), path=path)
            except (OSError, RuntimeError) as error:  # RuntimeError: links that lead in a circle
                raise ValueError(f"{name[:100]!r} cannot be read ({getattr(error, 'strerror', error)})") from None
        return replace(self._seen[name], key=key)

    def taken_down(self, sha256: str) -> str | None:
        """What the note says that an export leaves in place of a picture which was taken down; None without one."""
        try:
            path = self._locate(f"images/{sha256}.taken-down.txt")
            with path.open(encoding="utf-8", errors="replace") as file:
                return printable(" ".join(file.read(2000).split()))
        except (ValueError, OSError, RuntimeError):
            return None

    def _locate(self, name: str) -> Path:
        if self.folder is None:
            raise ValueError(f"{name[:100]!r} cannot be found, as the file was not read from a folder")
        parts = PurePosixPath(name).parts
        if not parts or name.startswith("/") or ".." in parts or re.search("[\\\\\0\ud800-\udfff]|^[A-Za-z]:", name):
            raise ValueError(f"{name[:100]!r} must be a path inside the folder of the file, like images/map.png")
        path = (self.folder / name).resolve()
        if not path.is_relative_to(self.folder.resolve()):
            raise ValueError(f"{name[:100]!r} leads out of the folder of the file; put the picture itself there")
        if not path.is_file():
            raise ValueError(f"there is no file {name[:200]!r} in {self.folder}; put the picture there")
        return path


def picture_in_data_url(url: str, key: str) -> LocalImage:
    """The picture that a `data:` URL holds, as an image of that key. Raises ValueError with a sentence."""
    head = _DATA_URL.match(url)
    if not head:
        raise ValueError("is no data URL; write it like data:image/png;base64,…")
    try:
        payload = unquote_to_bytes(url[head.end() :])
        data = base64.b64decode(payload, validate=True) if ";base64," in head.group().lower() else payload
    except (binascii.Error, ValueError):
        raise ValueError("holds damaged base64; write the picture to images/ and give its path") from None
    return replace(_measured(io.BytesIO(data), hashlib.sha256(data).hexdigest()), key=key, data=data)


def _measured(file: BinaryIO, sha256: str) -> LocalImage:
    from PIL import Image  # only files with pictures need it

    try:
        with Image.open(file, formats=tuple(_IMAGE_TYPES)) as picture:
            width, height = picture.size
            media_type, ending = _IMAGE_TYPES[picture.format or ""]
    except Image.DecompressionBombError:
        raise ValueError("has more pixels than can be handled; scale it down") from None
    except Exception:  # what Pillow raises on damaged headers is not limited to a few classes
        raise ValueError("is no PNG, JPEG, WebP or GIF picture; convert it") from None
    return LocalImage("", f"images/{sha256}.{ending}", sha256, media_type, width, height)


# --- shared by the formats of others ------------------------------------------------------------------------------


def slug_of(text: str) -> str:
    """`text` in the form of a slug: lower case, what is neither letter nor digit as one hyphen."""
    return re.sub(r"[\W_]+", "-", text.lower()).strip("-")


def without_fractions(value: Any) -> Any:
    """JSON with the numbers that a document does not hold (fractions, beyond 2^53) written as text."""
    if isinstance(value, float) or (isinstance(value, int) and abs(value) > MAX_INT):
        return repr(value)
    if isinstance(value, Mapping):
        return {name: without_fractions(inner) for name, inner in value.items()}
    return [without_fractions(inner) for inner in value] if isinstance(value, list) else value


def chained(steps: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Steps in which each needs the one before it. Unchanged if any has prerequisites of its own."""
    if any(step["prerequisites"] for step in steps):
        return steps
    needs: list[list[str]] = [[]] + [[step["key"]] for step in steps]
    return [{**step, "prerequisites": need} for step, need in zip(steps, needs, strict=False)]
