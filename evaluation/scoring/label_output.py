"""Reads labels of failed steps out of what a model printed: text -> Labels | Unparseable. Never guesses or fills up.

Pure: imports no Django.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass

from .judge_output import Unparseable, outside_thinking

WHOLE = 0
MOST_NOTE = 500
_LINE = re.compile(
    r"^[ \t>*_`#|-]*+LABEL[ _-]{0,3}(\d{1,4}|OVERALL)[*_` \t]*+[:=][*_`\"' \t]*+([A-Za-z][\w-]{0,60})[*_`\"'.]*+(.*)$",
    re.IGNORECASE | re.MULTILINE,
)


@dataclass(frozen=True, slots=True)
class Labels:
    """modes: step number, or WHOLE for the response -> key of a mode. notes: the same numbers -> why, where said.

    flags: `several` where one thing was labelled twice differently; the last counts.
    """

    modes: dict[int, str]
    notes: dict[int, str]
    flags: tuple[str, ...] = ()


def parse_labels(text: str, steps: Sequence[int], modes: Collection[str]) -> Labels | Unparseable:
    """The labels of these steps and of the response as a whole, each the key of a mode.

    Only text outside think blocks counts. A step that was not asked about, a key that is none, or a label that is not
    there make the whole output unparseable: what is left of it would be a choice that nobody made.
    """
    if not text.strip():
        return Unparseable("empty output")
    readable = outside_thinking(text)
    if readable is None:
        return Unparseable("unclosed think block")
    wanted = {*steps, WHOLE}
    found: dict[int, str] = {}
    notes: dict[int, str] = {}
    several = False
    for line in _LINE.finditer(readable):
        number = WHOLE if line[1].upper() == "OVERALL" else int(line[1])
        what = line[1].upper() if number == WHOLE else f"step {number}"
        if number not in wanted or (number == WHOLE and line[1].upper() != "OVERALL"):
            return Unparseable(f"step {line[1]} was not asked about")
        key = line[2].lower().replace("-", "_")
        if key not in modes:
            return Unparseable(f"{what}: “{line[2]}” is no mode")
        several |= found.get(number, key) != key
        found[number] = key
        notes[number] = text[line.start(3) : line.end(3)].strip(" \t|:–—-*_`\r")[:MOST_NOTE]
    missing = sorted(wanted - set(found))
    if missing:
        named = ", ".join("OVERALL" if number == WHOLE else f"step {number}" for number in missing)
        return Unparseable(f"no label for {named}")
    return Labels(found, {number: note for number, note in notes.items() if note}, ("several",) if several else ())
