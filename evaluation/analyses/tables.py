"""What an analysis gives: tables with typed columns, pictures drawn from them, and notes on what the figures rest on.

Pure: imports no Django. Everything here is plain data and survives JSON, so that it can be stored as a Report.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any, Literal

# action: a link to something to do about the row; on pages alone, and no figure.
# rounded: a number that was rounded before.
Kind = Literal["text", "count", "percent", "number", "rounded", "p", "money", "flag", "action"]
# How a picture shows its table: points with intervals, a square matrix, lines over an ordered column, bars, points of
# two columns.
Shape = Literal["intervals", "matrix", "lines", "bars", "scatter"]


@dataclass(frozen=True, slots=True)
class Column:
    """percent: a fraction, shown as a percentage. low, high: keys of the columns that hold its interval. link: key of
    the value that holds an address, relative to the analysis' page."""

    key: str
    label: str
    kind: Kind = "text"
    low: str = ""
    high: str = ""
    link: str = ""


@dataclass(frozen=True, slots=True)
class Picture:
    """shape: how. x, y: keys of columns; `series`: the column whose values are the series, "" for one. stacked: bars
    that add up."""

    shape: Shape
    x: str
    y: tuple[str, ...]
    series: str = ""
    stacked: bool = False


@dataclass(frozen=True, slots=True)
class Table:
    """rows: one mapping per row from column keys to values; None is undefined, never zero, and is shown as a dash.

    A row whose value of `small` is true rests on few items and is marked.
    """

    key: str
    title: str
    columns: tuple[Column, ...]
    rows: Sequence[Mapping[str, Any]]
    note: str = ""
    picture: Picture | None = None

    @property
    def figures(self) -> tuple[Column, ...]:
        """The columns of files and of pages without links."""
        return tuple(column for column in self.columns if column.kind != "action")


@dataclass(frozen=True, slots=True)
class Result:
    """tables: none only where something is missing. used: cells the figures rest on. missing: what is lacking, in
    sentences, [] when nothing.
    warnings: what not to read into the figures."""

    tables: list[Table]
    used: int
    missing: list[str] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)

    def to_json(self) -> dict[str, Any]:
        return asdict(self)


def from_json(data: Mapping[str, Any]) -> Result:
    """What `to_json` gave."""
    return Result(
        [
            Table(
                table["key"],
                table["title"],
                tuple(Column(**column) for column in table["columns"]),
                list(table["rows"]),
                table["note"],
                _picture(table["picture"]),
            )
            for table in data["tables"]
        ],
        data["used"],
        list(data["missing"]),
        list(data["warnings"]),
    )


def _picture(data: Mapping[str, Any] | None) -> Picture | None:
    return None if data is None else Picture(**{**data, "y": tuple(data["y"])})


def percent_column(key: str, label: str, interval: bool = False) -> Column:
    ends: Sequence[str] = (f"{key}_low", f"{key}_high") if interval else ("", "")
    return Column(key, label, "percent", *ends)
