"""Scores files against files: a release export, verdict rows and, where wanted, response rows.

Pure: imports no Django, and takes no command-line arguments (commands.py does).
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

from evaluation.scoring.metrics import METRICS, Inputs, Profile, apply_profile, closures, credited_steps, item_scores

MAX_RESAMPLES = 1_000_000
SCHEMA = "lhdr.item/1"
Row = dict[str, Any]


class ScoreError(ValueError):
    """Input that cannot be scored; the message is one line that names file, row, field and remedy."""


class _Item(NamedTuple):
    id: str
    prerequisites: list[list[int]]


class _Verdict(NamedTuple):
    """Either half is None where the judge's output could not be read."""

    answer_correct: bool | None
    vector: list[int] | None
    failed: bool
    where: str


def score_files(
    release_path: str | Path,
    verdicts_path: str | Path,
    responses_path: str | Path | None = None,
    profile: Profile | str = Profile.STRICT,
    bootstrap: int = 10_000,
    seed: int = 0,
) -> dict[str, Any]:
    """Metrics of one system's verdicts on a release, as fractions.

    Release: one item document per line, or the paper's metadata.jsonl (encrypted or not: no text is read).
    Verdicts: {"id", "answer_correct", "vector"}, or the paper's {"item_id", "is_correct", "checklist_completion"}.
    Responses: the paper's {"item_id", "text", "error"}; with them, an item whose response failed, is empty or is not
    there scores zero. Files are UTF-8, one JSON object per line; a byte-order mark, CRLF and blank lines do no harm.

    The denominator is the number of items in the release, always. strict: a wrong length, a value other than 0/1, an
    unknown or repeated id, and a parent in metadata.jsonl that is not an earlier step are errors; a row with a null
    half is an unparseable verdict and scores zero. as-published repairs as `apply_profile` says, ignores unknown ids,
    and of several rows of one id takes the later, but never a failed one (with an error) over a good one.

    Returns {"profile", "seed", "bootstrap", "n", "OA", "SA", "CS", "DACS", "ci": {metric: [low, high]}, "zero":
    {"no_verdict", "unparseable", "failed_response"} (number of items that score zero for that reason), "items": [{"id",
    "stated", "credited"}] in release order}. With bootstrap = 0 no interval is computed and "ci" is empty.
    Raises ScoreError; OSError never.
    """
    profile = _profile(profile)
    if not 0 <= bootstrap <= MAX_RESAMPLES:
        raise ScoreError(
            f"bootstrap is {bootstrap}: give a number of resamples from 0 (no intervals) to {MAX_RESAMPLES}"
        )
    if seed < 0:
        raise ScoreError(f"seed is {seed}: give a number that is 0 or more")
    release = _read_release(Path(release_path), profile)
    known = {item.id: len(item.prerequisites) for item in release}
    verdicts = _read_verdicts(Path(verdicts_path), known, profile)
    answered = None if responses_path is None else _read_responses(Path(responses_path), known, profile)

    zero = {"no_verdict": 0, "unparseable": 0, "failed_response": 0}
    inputs = [_inputs(item, verdicts.get(item.id), answered, profile, zero) for item in release]
    scores = [item_scores(i.stated, i.prerequisites, i.answer_correct) for i in inputs]
    columns = {metric: [getattr(score, metric.lower()) for score in scores] for metric in METRICS}
    return {
        "profile": profile.value,
        "seed": seed,
        "bootstrap": bootstrap,
        "n": len(release),
        **{metric: math.fsum(column) / len(release) for metric, column in columns.items()},
        "ci": _intervals(columns, bootstrap, seed),
        "zero": zero,
        "items": [
            {"id": item.id, "stated": list(i.stated), "credited": list(credited_steps(i.stated, i.prerequisites))}
            for item, i in zip(release, inputs, strict=True)
        ],
    }


def read_text(path: str | Path) -> str:
    """A UTF-8 file's text without its byte-order mark.  Raises ScoreError that names the file and the remedy."""
    path = Path(path)
    if path.is_dir():
        raise ScoreError(f"{path}: is a folder; give a file")
    try:
        data = path.read_bytes()
    except FileNotFoundError:
        raise ScoreError(f"{path}: there is no such file; check the path") from None
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or error
        raise ScoreError(f"{path}: cannot be read ({reason}); check the path and its permissions") from None
    return decode_text(data, str(path))


def decode_text(data: bytes, name: str) -> str:
    """UTF-8 bytes as text, without a byte-order mark.  Raises ScoreError that says `name` and the remedy."""
    if data.startswith((b"\xff\xfe", b"\xfe\xff")) or b"\0" in data[:4]:
        raise ScoreError(f"{name}: is UTF-16 or UTF-32, not UTF-8; save it again as UTF-8")
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        row = data.count(b"\n", 0, error.start) + 1
        raise ScoreError(
            f"{name}, row {row}: is not UTF-8 (byte {error.start}); save the file again as UTF-8"
        ) from None


def _inputs(
    item: _Item, verdict: _Verdict | None, answered: set[str] | None, profile: Profile, zero: dict[str, int]
) -> Inputs:
    answer, vector = (verdict.answer_correct, verdict.vector) if verdict else (None, None)
    halves = (answer is None, vector is None)
    if answered is not None and item.id not in answered:
        zero["failed_response"] += 1
        answer = vector = None
    elif verdict is None:
        zero["no_verdict"] += 1
    elif all(halves) or (any(halves) and profile is Profile.STRICT):
        zero["unparseable"] += 1
    return apply_profile(profile, item.prerequisites, answer, vector)


def _intervals(columns: dict[str, list[float]], resamples: int, seed: int) -> dict[str, list[float]]:
    if not resamples:
        return {}
    from evaluation.scoring.bootstrap import intervals

    values = list(zip(*columns.values(), strict=True))
    low, high = intervals(values, resamples=resamples, seed=seed)
    return {metric: [float(a), float(b)] for metric, a, b in zip(columns, low, high, strict=True)}


def _profile(name: Profile | str) -> Profile:
    try:
        return Profile(name)
    except ValueError:
        raise ScoreError(f"profile {_shown(name)} is not known: choose {' or '.join(Profile)}") from None


def _rows(path: Path) -> Iterator[tuple[str, Row]]:
    """(place for messages, object) for each line that is not blank.  Only LF ends a line: JSON may hold U+2028."""
    for number, line in enumerate(read_text(path).split("\n"), start=1):
        if not line.strip():
            continue
        where = f"{path}, row {number}"
        try:
            row = json.loads(line)
        except json.JSONDecodeError as error:
            raise ScoreError(
                f"{where}: is not JSON ({error.msg}, column {error.colno}); write one JSON object per line"
            ) from None
        except (ValueError, RecursionError):
            raise ScoreError(f"{where}: holds a number or nesting too large to read; correct the row") from None
        if not isinstance(row, dict):
            raise ScoreError(f"{where}: is not a JSON object; write one JSON object per line")
        yield where, row


def _read_release(path: Path, profile: Profile) -> list[_Item]:
    items: list[_Item] = []
    places: dict[str, str] = {}
    for where, row in _rows(path):
        key = _id(where, row, "id")
        if key in places:
            raise ScoreError(f"{where}, field id: {_shown(key)} stands already on {places[key]}; remove one of the two")
        places[key] = where.removeprefix(f"{path}, ")
        checklist = row.get("checklist")
        if not isinstance(checklist, list) or not checklist:
            raise ScoreError(
                f"{where}, field checklist: is missing or empty; score needs an export that holds the checklists"
                " (variant full or mr-lhdr), with at least one step per item"
            )
        ours = "schema" in row or isinstance(checklist[0], dict)
        item = _Item(key, _own_steps(where, row, checklist) if ours else _paper_steps(where, row, checklist, profile))
        items.append(item)
    if not items:
        raise ScoreError(f"{path}: holds no items; give a release export with one item per line")
    return items


def _own_steps(where: str, row: Row, checklist: list[Any]) -> list[list[int]]:
    """Direct prerequisites as indices, from a document's steps, which name each other by key."""
    if row.get("schema", SCHEMA) != SCHEMA:
        raise ScoreError(f"{where}, field schema: {_shown(row['schema'])} is not known; export the release as {SCHEMA}")
    index: dict[str, int] = {}
    for position, step in enumerate(checklist):
        key = step.get("key") if isinstance(step, dict) else None
        if not isinstance(key, str) or not key or key in index:
            raise ScoreError(
                f"{where}, field checklist[{position}].key: is missing or repeated; give each step its own key"
            )
        index[key] = position
    prerequisites = []
    for position, step in enumerate(checklist):
        direct = step.get("prerequisites", [])
        if not isinstance(direct, list):
            raise ScoreError(
                f"{where}, field checklist[{position}].prerequisites: is not a list; give the keys of steps"
            )
        for key in direct:
            if not isinstance(key, str) or key not in index:
                raise ScoreError(
                    f"{where}, field checklist[{position}].prerequisites: {_shown(key)} is no step of the item;"
                    " correct the key or remove it"
                )
        prerequisites.append([index[key] for key in direct])
    try:
        closures(prerequisites)
    except ValueError as error:
        head, _, cycle = str(error).rpartition(": ")
        named = " -> ".join(checklist[int(k)]["key"] for k in cycle.split(" -> "))
        raise ScoreError(f"{where}, field checklist: {head}: {named}; remove one of them") from None
    return prerequisites


def _paper_steps(where: str, row: Row, checklist: list[Any], profile: Profile) -> list[list[int]]:
    """Direct prerequisites from `checklist_parents`, where strict accepts only indices of earlier steps."""
    parents, field = row.get("checklist_parents"), f"{where}, field checklist_parents"
    if not isinstance(parents, list) or len(parents) != len(checklist):
        found = f"has {len(parents)} entries" if isinstance(parents, list) else "is missing"
        raise ScoreError(
            f"{field}: {found}, the checklist has {len(checklist)} steps; give one list of indices per step"
        )
    for step, direct in enumerate(parents):
        if not isinstance(direct, list) or not all(type(k) is int for k in direct):
            raise ScoreError(f"{field}[{step}]: is not a list of whole numbers; give 0-based indices of earlier steps")
        later = next((k for k in direct if not 0 <= k < step), None)
        if later is not None and profile is Profile.STRICT:
            raise ScoreError(
                f"{field}[{step}]: {later} is not an earlier step; correct it, or score with --profile"
                f" {Profile.AS_PUBLISHED}, which drops it"
            )
    return parents


def _read_verdicts(path: Path, known: dict[str, int], profile: Profile) -> dict[str, _Verdict]:
    verdicts: dict[str, _Verdict] = {}
    for where, row in _rows(path):
        paper = "item_id" in row
        names = ("item_id", "is_correct", "checklist_completion") if paper else ("id", "answer_correct", "vector")
        key = _id(where, row, names[0])
        for name in names[1:]:
            if name not in row and "unparseable" not in row:
                raise ScoreError(f"{where}, field {name}: is missing; a verdict has {', '.join(names)}")
        answer, vector = _answer(where, row, names[1]), _vector(where, row, names[2])
        failed = bool(row.get("error")) or (answer is None and vector is None)
        if not _accept(where, names[0], key, verdicts, known, failed, profile, "one judge's verdicts"):
            continue
        if profile is Profile.STRICT and vector is not None and len(vector) != known[key]:
            raise ScoreError(
                f"{where}, field {names[2]}: has length {len(vector)}, expected {known[key]}; correct it, or score with"
                f" --profile {Profile.AS_PUBLISHED}, which pads or cuts it"
            )
        verdicts[key] = _Verdict(answer, vector, failed, where)
    return verdicts


def _read_responses(path: Path, known: dict[str, int], profile: Profile) -> set[str]:
    """The ids of the items that were answered: no error and some text."""
    answered: dict[str, _Verdict] = {}
    for where, row in _rows(path):
        key = _id(where, row, "item_id")
        text = row.get("text")
        if text is not None and not isinstance(text, str):
            raise ScoreError(f"{where}, field text: is not text; give the response, or null for a failed one")
        failed = bool(row.get("error")) or not (text or "").strip()
        if _accept(where, "item_id", key, answered, known, failed, profile, "one model's responses of one condition"):
            answered[key] = _Verdict(None, None, failed, where)
    return {key for key, row in answered.items() if not row.failed}


def _accept(
    where: str,
    field: str,
    key: str,
    seen: dict[str, _Verdict],
    known: dict[str, int],
    failed: bool,
    profile: Profile,
    remedy: str,
) -> bool:
    """Whether a row counts: in strict always or an error, as published when its id is known and it is no worse."""
    if profile is Profile.AS_PUBLISHED:
        return key in known and not (key in seen and failed and not seen[key].failed)
    if key not in known:
        raise ScoreError(f"{where}, field {field}: {_shown(key)} is no item of the release; correct or remove the row")
    if key in seen:
        first = seen[key].where.rpartition(", ")[2]
        raise ScoreError(f"{where}, field {field}: {_shown(key)} stands already on {first}; keep {remedy} only")
    return True


def _id(where: str, row: Row, field: str) -> str:
    value = row.get(field)
    if not isinstance(value, str) or not value.strip():
        raise ScoreError(f"{where}, field {field}: is missing or no text; give the item's id as text")
    if any(c == "\0" or "\ud800" <= c <= "\udfff" for c in value):
        raise ScoreError(f"{where}, field {field}: holds NUL or half a character; correct the id")
    return value


def _answer(where: str, row: Row, field: str) -> bool | None:
    value = row.get(field)
    if value is not None and not _is_flag(value):
        raise ScoreError(f"{where}, field {field}: {_shown(value)} is not true or false; correct it, or give null")
    return None if value is None else bool(value)


def _vector(where: str, row: Row, field: str) -> list[int] | None:
    value = row.get(field)
    if value is None:
        return None
    if not isinstance(value, list):
        raise ScoreError(f"{where}, field {field}: is not a list; give 0 or 1 for each step, or null")
    for position, flag in enumerate(value):
        if not _is_flag(flag):
            raise ScoreError(f"{where}, field {field}[{position}]: {_shown(flag)} is not 0 or 1; correct it")
    return [int(flag) for flag in value]


def _is_flag(value: object) -> bool:
    return type(value) in (bool, int) and value in (0, 1)


def _shown(value: object) -> str:
    text = json.dumps(value, ensure_ascii=True, default=str)
    return text if len(text) <= 60 else text[:57] + "..."
