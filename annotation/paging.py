"""Pages of a list by key: each begins after the last row of the one before, found in the index of the sorted column."""

import datetime as dt
from typing import Any

from django.core.exceptions import ValidationError
from django.db.models import BooleanField, DateTimeField, F, Func, QuerySet, Value
from django.utils import timezone

from .models import Item


class Positive(Func):
    """Whether a number is over 0, as SQLite needs it written to use an index with this condition."""

    template = "(%(expressions)s > 0)"
    output_field = BooleanField()


class Along(Func):
    """A column that SQLite must not use an index for: for filters that many rows pass, while another index sorts."""

    template = "%(expressions)s"

    def as_sqlite(self, compiler: Any, connection: Any, **context: Any) -> Any:
        return self.as_sql(compiler, connection, template="+%(expressions)s", **context)


class _Beyond(Func):
    """(column, id) < (value, key) or >, which both databases look up in an index, also where many values are equal."""

    output_field = BooleanField()

    def __init__(self, column: str, value: Any, key: int, sign: str):
        output = DateTimeField() if isinstance(value, dt.datetime) else None
        super().__init__(F(column), F("pk"), Value(value, output_field=output), Value(key))
        self.sign = sign

    def as_sql(self, compiler: Any, connection: Any, *args: Any, **context: Any) -> Any:
        parts = [compiler.compile(source) for source in self.get_source_expressions()]
        (a, _1), (b, _2), (c, _3), (d, _4) = parts
        return f"(({a}, {b}) {self.sign} ({c}, {d}))", [p for _sql, params in parts for p in params]


def cursor_of(item: Item, column: str) -> str:
    value = getattr(item, column)
    return f"{value.isoformat() if isinstance(value, dt.date) else value},{item.pk}"


def read_cursor(column: str, text: str) -> tuple[Any, int] | None:
    """The value and key that a cursor names, or None for what is none."""
    value, _comma, pk = text.rpartition(",")
    try:
        read = Item._meta.get_field(column).to_python(value)  # type: ignore[union-attr]
        if isinstance(read, dt.datetime):
            read = read.astimezone(dt.UTC) if timezone.is_aware(read) else None
        number = int(pk)
    except (ValueError, ValidationError, OverflowError):  # the year 1 in one zone is none in another
        return None
    if read is None or abs(number) > 2**62 or (isinstance(read, int) and abs(read) > 2**62):
        return None
    return read, number


def page_of(
    found: QuerySet[Item], column: str, *, descending: bool, after: str = "", before: str = "", size: int
) -> tuple[list[Item], str, str]:
    """Rows after or before a cursor, and the cursors of the pages before and after them, "" where there is none.

    A cursor that cannot be read gives the first page.
    """
    cursor = read_cursor(column, after or before)
    backwards = bool(cursor and before and not after)
    down = descending != backwards
    if cursor:
        found = found.filter(_Beyond(column, *cursor, "<" if down else ">"))
    sign = "-" if down else ""
    rows = list(found.order_by(f"{sign}{column}", f"{sign}pk")[: size + 1])
    more = len(rows) > size
    rows = rows[:size]
    if backwards:
        rows.reverse()
    if not rows:
        return rows, "", ""
    has_before = more if backwards else cursor is not None
    has_after = backwards or more
    first, last = cursor_of(rows[0], column), cursor_of(rows[-1], column)
    return rows, first if has_before else "", last if has_after else ""
