"""A choice of items written as numbers and ranges, "1-40, 43": short enough for a form, a shell and a record.

PURE: imports no Django.
"""

import re
from collections.abc import Iterable
from typing import Final

MOST: Final = 1_000_000  # numbers that a text may name
_PART: Final = re.compile(r"#?([0-9]{1,7})(?:\s*[-–]\s*#?([0-9]{1,7}))?")


def read_numbers(text: str) -> set[int]:
    """The numbers that a text names; commas, semicolons, spaces and line ends part them. Nothing names nothing.

    Raises ValueError, naming the part that is no number or range, and for a range that runs backwards or is too long.
    """
    numbers: set[int] = set()
    spaced = re.sub(r"\s*([-–])\s*", r"\1", text)
    for part in re.split(r"[,;\s]+", spaced.strip(" ,;\n\t")):
        if not part:
            continue
        found = _PART.fullmatch(part)
        if found is None:
            raise ValueError(f"{part[:40]!r} is no item number; write numbers and ranges, like 1-40, 43")
        first, last = int(found[1]), int(found[2] or found[1])
        if last < first:
            raise ValueError(f"{part[:40]!r} runs backwards; write {last}-{first}")
        if last - first >= MOST:
            raise ValueError(f"{part[:40]!r} names too many items; at most {MOST:,}")
        numbers.update(range(first, last + 1))
    return numbers


def write_numbers(numbers: Iterable[int]) -> str:
    """The shortest text for numbers; `read_numbers` reads it back."""
    parts: list[list[int]] = []
    for number in sorted(set(numbers)):
        if parts and parts[-1][1] == number - 1:
            parts[-1][1] = number
        else:
            parts.append([number, number])
    return ", ".join(str(first) if first == last else f"{first}-{last}" for first, last in parts)
