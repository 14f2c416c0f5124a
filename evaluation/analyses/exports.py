"""A table as CSV lines and as LaTeX, and every number of an analysis as a LaTeX macro.

Pure: imports no Django.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import Any

from .tables import Column, Result, Table

DASH = "–"
_NAMES = {
    "-": "Minus",
    "+": "Plus",
    **dict(zip("0123456789", "Zero One Two Three Four Five Six Seven Eight Nine".split(), strict=True)),
}
_TEX = {
    "\\": r"\textbackslash{}", "{": r"\{", "}": r"\}", "$": r"\$", "&": r"\&", "#": r"\#", "_": r"\_", "%": r"\%",
    "~": r"\textasciitilde{}", "^": r"\textasciicircum{}", "−": "$-$", "–": "--", "≥": r"$\geq$", "κ": r"$\kappa$",
    "≤": r"$\leq$", "×": r"$\times$", "λ": r"$\lambda$", "→": r"$\rightarrow$",
}  # fmt: skip


def shown(value: Any, kind: str) -> str:
    """A value in words: percent with one decimal, p with three, undefined as a dash."""
    if value is None or value == "":
        return DASH
    if kind == "percent":
        return f"{100 * value:.1f}%".replace("-0.0%", "0.0%")
    if kind == "number":
        return f"{value:.3f}".replace("-0.000", "0.000")
    if kind == "rounded":
        return f"{value:g}"
    if kind == "p":
        return "< 0.001" if value < 0.001 else f"{value:.3f}"
    if kind == "money":
        return f"${value:.4f}"
    if kind == "flag":
        return "yes" if value else "no"
    return str(value)


def interval_of(row: Any, column: Column) -> str:
    """The interval of a value in words; "" where there is none."""
    if not column.low or row[column.low] is None or row[column.high] is None:
        return ""
    low, high = (shown(row[key], column.kind).rstrip("%") for key in (column.low, column.high))
    return f"{low} to {high}"


def csv_head(table: Table) -> list[str]:
    """The keys of the columns, each with those of its interval."""
    return [key for column in table.figures for key in (column.key, column.low, column.high) if key]


def csv_rows(table: Table) -> Iterator[list[Any]]:
    """The values under `csv_head`, fractions as they are; None is undefined."""
    head = csv_head(table)
    return ([row[key] for key in head] for row in table.rows)


def tex(text: str) -> str:
    """Text that LaTeX prints as it is."""
    return "".join(_TEX.get(character, character) for character in text)


def latex(table: Table, source: str) -> str:
    """A booktabs table.  source: what it was computed from, as a comment."""
    left = [column.kind in ("text", "flag") for column in table.figures]
    lines = [
        *(f"% {line}" for line in source.splitlines()),
        r"% \usepackage{booktabs}",
        rf"\begin{{tabular}}{{{''.join('l' if text else 'r' for text in left)}}}",
        r"\toprule",
        " & ".join(tex(column.label) for column in table.figures) + r" \\",
        r"\midrule",
    ]
    for row in table.rows:
        cells = []
        for column in table.figures:
            interval = interval_of(row, column)
            value = tex(shown(row[column.key], column.kind))
            cells.append(f"{value} [{tex(interval)}]" if interval else value)
        lines.append(" & ".join(cells) + r" \\")
    return "\n".join([*lines, r"\bottomrule", r"\end{tabular}", ""])


def macros(key: str, result: Result, taken: set[str]) -> Iterator[str]:
    r"""`\newcommand` lines for every number: \lhdr, analysis, table, the row's first text, column; letters only.

    taken: names that are given already, which this adds to; a name that comes again gets a letter more.
    """
    for table in result.tables:
        first = next((column.key for column in table.figures if column.kind == "text"), "")
        for place, row in enumerate(table.rows, 1):
            who = row[first] if first else place
            for column in table.figures:
                for name, write in _parts(column):
                    value = write(row)
                    if value is not None:
                        macro = _free(
                            "lhdr" + "".join(_camel(str(part)) for part in (key, table.key, who, name)), taken
                        )
                        yield rf"\newcommand{{\{macro}}}{{{tex(value)}}}"


def _parts(column: Column) -> Iterator[tuple[str, Callable[[Any], str | None]]]:
    if column.kind in ("text", "flag"):
        return

    def writer(key: str) -> Callable[[Any], str | None]:
        return lambda row: None if row[key] is None else shown(row[key], column.kind)

    for key in (column.key, column.low, column.high):
        if key:
            yield key, writer(key)


def _camel(text: str) -> str:
    spelt = "".join(f" {_NAMES[c]} " if c in _NAMES and not (c in "-+" and len(text) > 1) else c for c in text)
    words = re.findall("[A-Za-z]+", spelt)
    return "".join(word[0].upper() + word[1:] for word in words)


def _free(name: str, taken: set[str]) -> str:
    tried, letter = name, 0
    while tried in taken:
        letter += 1
        tried = name + "x" * letter
    taken.add(tried)
    return tried
