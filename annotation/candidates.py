"""Candidates of an over-complete checklist: struck with a reason, and taken back.

PURE: imports no Django, only `annotation.document`.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

from annotation.document import Document, DocumentError, Problem, clean_text, dangling_links, elements, unlink

REASONS: Final = ("background", "redundant", "merged", "unsupported")
LONGEST_NOTE: Final = 300
_FIELDS: Final = ("key", "reason", "merged_into", "note")


@dataclass(frozen=True, slots=True)
class Strike:
    """A step to take out, and why. `merged_into`: key of the step that says it too, with the reason `merged` only."""

    key: str
    reason: str
    merged_into: str = ""
    note: str = ""


def read_strikes(data: Any) -> list[Strike]:
    """Strikes from plain JSON. Raises DocumentError with a path like `struck[0].reason` for each problem."""
    if not isinstance(data, Sequence) or isinstance(data, str | bytes):
        raise DocumentError([Problem("struck", "must be a list of strikes")])
    problems: list[Problem] = []
    strikes = []
    for number, row in enumerate(data):
        path = f"struck[{number}]"
        if not isinstance(row, Mapping):
            problems.append(Problem(path, "must be an object with the key and the reason"))
            continue
        if strange := sorted(map(str, set(row) - set(_FIELDS))):
            problems.append(Problem(path, f"has no field {strange[0][:60]!r}; it has {', '.join(_FIELDS)}"))
        texts = {}
        for name in _FIELDS:
            value = row.get(name) or ""
            if not isinstance(value, str):
                problems.append(Problem(f"{path}.{name}", "must be text"))
                value = ""
            try:
                texts[name] = clean_text(value)
            except ValueError as error:
                problems.append(Problem(f"{path}.{name}", str(error)))
                texts[name] = ""
        strike = Strike(**texts)
        if not strike.key:
            problems.append(Problem(f"{path}.key", "is missing; name the step"))
        if strike.reason not in REASONS:
            problems.append(Problem(f"{path}.reason", f"must be one of {', '.join(REASONS)}"))
        if bool(strike.merged_into) != (strike.reason == "merged"):
            needed = "name the step it is merged into" if strike.reason == "merged" else "belongs to the reason merged"
            problems.append(Problem(f"{path}.merged_into", needed))
        if len(strike.note) > LONGEST_NOTE:
            problems.append(Problem(f"{path}.note", f"must have at most {LONGEST_NOTE} characters"))
        strikes.append(strike)
    if problems:
        raise DocumentError(problems)
    return strikes


def strike_steps(document: Document, strikes: Sequence[Strike]) -> Document:
    """The document without the struck steps.

    A step that needed a struck one needs its prerequisites instead, or the step it was merged into; but a step that
    the latter rests on itself would close a circle with it, and takes the prerequisites too.
    Raises DocumentError for a step that is not there or struck twice, and for a merge into such a one or into a struck
    one. May leave a circle where several merges cross, or where there was one before: the caller looks for it.
    """
    needs = {step.key: step.prerequisites for step in document.checklist}
    into = {strike.key: strike.merged_into for strike in strikes}
    problems = []
    for number, strike in enumerate(strikes):
        path = f"struck[{number}]"
        if strike.key not in needs:
            problems.append(Problem(f"{path}.key", f"there is no step {strike.key[:60]!r}"))
        if any(other.key == strike.key for other in strikes[:number]):
            problems.append(Problem(f"{path}.key", f"{strike.key} is struck twice"))
        if (target := strike.merged_into) and (target not in needs or target in into):
            what = "is struck itself" if target in into else "is no step"
            problems.append(Problem(f"{path}.merged_into", f"{target[:60]} {what}; name one that stays"))
    if problems:
        raise DocumentError(problems)
    rests = {target: _below(needs, target) for target in into.values() if target}

    def resolved(step: str) -> tuple[str, ...]:
        result: list[str] = []
        seen = {step}
        stack = list(reversed(needs[step]))
        while stack:
            key = stack.pop()
            if key in seen:
                continue
            seen.add(key)
            if key not in into:
                result.append(key)
            elif (target := into[key]) and target != step and step not in rests[target]:
                stack.append(target)
            else:
                stack.extend(reversed(needs.get(key, ())))
        return tuple(result)

    kept = (step for step in document.checklist if step.key not in into)
    return replace(
        document,
        checklist=tuple(
            replace(step, prerequisites=resolved(step.key)) if into.keys() & set(step.prerequisites) else step
            for step in kept
        ),
    )


def _below(needs: Mapping[str, Sequence[str]], key: str) -> set[str]:
    """Everything that a step needs, directly or not; circles do no harm."""
    seen: set[str] = set()
    stack = [key]
    while stack:
        for needed in needs.get(stack.pop(), ()):
            if needed not in seen:
                seen.add(needed)
                stack.append(needed)
    return seen


def take_back_step(document: Document, data: Mapping[str, Any], taken: Iterable[str] = ()) -> tuple[Document, str]:
    """The document with a struck step again, before the final one, and the step's key.

    It keeps its key unless the document uses it; else it gets the next one that neither the document nor `taken` holds.
    Links to what is gone are left out.
    """
    used = {element.key for _name, element in elements(document)}
    key = str(data["key"])
    if key in used:
        numbers = [int(each[1:]) for each in {*used, *taken} if re.fullmatch(r"c\d{1,6}", each)]
        key = f"c{max(numbers, default=0) + 1}"
    section = document.section("checklist")
    at = max(len(section["checklist"]) - 1, 0)
    section["checklist"].insert(at, {**data, "key": key})
    changed = document.with_section("checklist", section)
    return unlink(changed, {link.target for link in dangling_links(changed) if link.referrer == key}), key
