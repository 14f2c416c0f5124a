"""Logs of Inspect AI, as `.json` (one object) and as `.eval` (a ZIP of one file per sample and epoch).

PURE: imports no Django. NaN stands bare in these files and counts as not given.
"""

import json
import re
import zipfile
import zlib
from collections.abc import Iterator, Mapping
from typing import Any, BinaryIO, Final

from .rows import MAX_TIMES, Report, ResponseRow, RowError, count_of, id_of, text_of

MAX_LOG: Final = 256 * 1024 * 1024  # bytes of a .json log, which is read as a whole
MAX_SAMPLE: Final = 64 * 1024 * 1024  # bytes of one sample, unpacked
MAX_SAMPLES: Final = 100_000
_ZSTANDARD: Final = 93  # compression method of ZIP
_LINK = re.compile(r"attachment://([0-9a-zA-Z]+)")
_SAMPLE = re.compile(r"samples/.+\.json")


def read_log(stream: BinaryIO, report: Report) -> Iterator[ResponseRow]:
    """The samples of a log as responses, in its order; what cannot be read is reported."""
    packed = stream.read(4) == b"PK\x03\x04"
    stream.seek(0)
    for number, sample, model in _packed(stream, report) if packed else _plain(stream, report):
        try:
            if not isinstance(sample, dict):
                raise RowError("", "is no sample of a log")
            yield _row(number, sample, model)
        except RowError as error:
            report(number, error.name, error.message)
        except RecursionError:
            report(number, "", "is nested too deep")


def _load(data: bytes) -> Any:
    return json.loads(data.decode("utf-8-sig"), parse_constant=lambda name: None)


def _plain(stream: BinaryIO, report: Report) -> Iterator[tuple[int, Any, str]]:
    data = stream.read(MAX_LOG + 1)
    if len(data) > MAX_LOG:
        report(None, "", f"the log has over {MAX_LOG >> 20} MB; convert it with `inspect log convert --to eval`")
        return
    try:
        log = _load(data)
    except (ValueError, RecursionError) as error:
        report(None, "", f"the file is no log of Inspect: no JSON ({error})"[:300])
        return
    samples = log.get("samples") if isinstance(log, dict) else None
    if not isinstance(samples, list):
        report(None, "", "the log holds no samples; convert it with them")
        return
    for number, sample in enumerate(samples, 1):
        yield number, sample, _model(log)


def _packed(stream: BinaryIO, report: Report) -> Iterator[tuple[int, Any, str]]:
    try:
        archive = zipfile.ZipFile(stream)
    except (zipfile.BadZipFile, OSError, ValueError, NotImplementedError):
        report(None, "", "the archive is damaged; copy the log again")
        return
    with archive:
        names = sorted(name for name in archive.namelist() if _SAMPLE.fullmatch(name))
        if not names:
            report(None, "", "the archive holds no samples; is it a log of Inspect?")
        if len(names) > MAX_SAMPLES:
            report(None, "", f"the log holds {len(names)} samples; at most {MAX_SAMPLES} are taken")
            return
        if any(archive.getinfo(name).compress_type == _ZSTANDARD for name in names):
            text = "the log is packed with Zstandard, which is not read; run `inspect log convert --to json` on it"
            report(None, "", text)
            return
        model = _model(_entry(archive, "header.json", None, report)) if "header.json" in archive.namelist() else ""
        for number, name in enumerate(names, 1):
            sample = _entry(archive, name, number, report)
            if sample is not None:
                yield number, sample, model


def _entry(archive: zipfile.ZipFile, name: str, number: int | None, report: Report) -> Any:
    """One JSON file of the archive; None after reporting why it cannot be read."""
    try:
        with archive.open(name) as file:
            data = file.read(MAX_SAMPLE + 1)
        if len(data) > MAX_SAMPLE:
            report(number, "", f"{name[:100]} has over {MAX_SAMPLE >> 20} MB unpacked; it is not read")
            return None
        return _load(data)
    except (zipfile.BadZipFile, zlib.error, EOFError, OSError, NotImplementedError, RuntimeError, ValueError):
        report(number, "", f"{name[:100]} is damaged, encrypted or no JSON")
        return None


def _model(header: Any) -> str:
    spec = header.get("eval") if isinstance(header, dict) else None
    model = spec.get("model") if isinstance(spec, dict) else None
    return model[:200] if isinstance(model, str) else ""


def _row(number: int, sample: Mapping[str, Any], model: str) -> ResponseRow:
    epoch = sample.get("epoch", 1)
    if type(epoch) is not int or not 1 <= epoch <= MAX_TIMES:
        raise RowError("epoch", f"must be a number from 1 to {MAX_TIMES}")
    attachments = _object(sample.get("attachments"))
    output = _object(sample.get("output"))
    choices = output.get("choices")
    choice = _object(choices[0]) if isinstance(choices, list) and choices else {}
    content = _object(choice.get("message")).get("content")
    text = output.get("completion")
    if not isinstance(text, str) or not text:
        text = _texts(content)
    usage = _object(output.get("usage"))
    stop = choice.get("stop_reason")
    stop = stop[:40] if isinstance(stop, str) else ""
    fields = {
        "question": _linked(_question(sample.get("input")), attachments),
        "text": _linked(text, attachments),
        "thinking": _linked(_texts(content, "reasoning"), attachments),
        "model": output.get("model") or model,
        "error": _error(sample, output),
    }
    return ResponseRow(
        row=number,
        id=id_of(sample, "id"),
        sample=epoch,
        question=text_of(fields, "question") or None,
        text=text_of(fields, "text"),
        thinking=text_of(fields, "thinking"),
        model=text_of(fields, "model", 200),
        error=text_of(fields, "error", 10_000),
        truncated=stop in ("max_tokens", "model_length"),
        finish_reason=stop,
        prompt_tokens=count_of(usage, "input_tokens"),
        completion_tokens=count_of(usage, "output_tokens"),
    )


def _error(sample: Mapping[str, Any], output: Mapping[str, Any]) -> str:
    for found in (sample.get("error"), output.get("error")):
        message = found.get("message") if isinstance(found, dict) else found
        if message:
            return str(message)[:10_000]
    return ""


def _question(given: Any) -> str:
    """The text of the last message of the user, or the input itself."""
    if isinstance(given, str):
        return given
    messages = [part for part in given if isinstance(part, dict)] if isinstance(given, list) else []
    asked = [message for message in messages if message.get("role") == "user"]
    return _texts(asked[-1].get("content")) if asked else ""


def _texts(content: Any, kind: str = "text") -> str:
    """The parts of one kind of a message's content, joined; a plain text is one part of text."""
    if isinstance(content, str):
        return content if kind == "text" else ""
    parts = [part for part in content if isinstance(part, dict)] if isinstance(content, list) else []
    found = [part.get(kind) for part in parts if part.get("type") == kind]
    return "\n".join(part for part in found if isinstance(part, str))


def _linked(text: str, attachments: Mapping[str, Any]) -> str:
    """The text with what it keeps apart as attachments in its place."""

    def attachment(link: re.Match[str]) -> str:
        found = attachments.get(link[1])
        return found if isinstance(found, str) else link[0]

    return _LINK.sub(attachment, text)


def _object(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, dict) else {}
