"""Writes of single rows with the statement built once: a run makes thousands of them, and the ORM's query building
would cost more than the rest of the call. Values pass through the model's fields, as the ORM's do.
"""

from functools import cache
from typing import Any

from django.db import DEFAULT_DB_ALIAS, connection, connections, models

# Values of these types pass through these fields as they are, as None does through every field.
_PLAIN: tuple[tuple[Any, type], ...] = (
    ((models.CharField, models.TextField), str),
    ((models.IntegerField, models.ForeignKey), int),
    (models.BooleanField, bool),
)


@cache
def _columns(model: type[models.Model], names: tuple[str, ...]) -> list[tuple[str, type | None, Any]]:
    """Column, the type of values that are written as they are, and how others are prepared."""
    fields: list[Any] = [model._meta.get_field(name) for name in names]
    plain = [next((kind for classes, kind in _PLAIN if isinstance(field, classes)), None) for field in fields]
    return [(field.column, kind, field.get_db_prep_save) for field, kind in zip(fields, plain, strict=True)]


def _values(model: type[models.Model], fields: dict[str, Any]) -> list[Any]:
    prepared = zip(_columns(model, tuple(fields)), fields.values(), strict=True)
    database = connections[DEFAULT_DB_ALIAS]  # found once, not at each look through the proxy
    return [
        value if value is None or type(value) is plain else prepare(value, database)
        for (_column, plain, prepare), value in prepared
    ]


def insert_row(model: type[models.Model], /, **fields: Any) -> int:
    """A new row's primary key. Every column without a database default must be given."""
    with connection.cursor() as cursor:
        cursor.execute(_insert(model, tuple(fields)), _values(model, fields))
        return int(cursor.fetchone()[0])


@cache
def _insert(model: type[models.Model], names: tuple[str, ...]) -> str:
    columns = ", ".join(f'"{column}"' for column, *_ in _columns(model, names))
    marks = ", ".join(["%s"] * len(names))
    return f'INSERT INTO "{model._meta.db_table}" ({columns}) VALUES ({marks}) RETURNING id'


def update_row(model: type[models.Model], where: dict[str, Any], /, **fields: Any) -> int:
    """How many rows were changed: those where every field of `where` has this value."""
    with connection.cursor() as cursor:
        cursor.execute(_update(model, tuple(fields), tuple(where)), _values(model, fields) + _values(model, where))
        return int(cursor.rowcount)


@cache
def _update(model: type[models.Model], names: tuple[str, ...], where: tuple[str, ...]) -> str:
    changes = ", ".join(f'"{column}" = %s' for column, *_ in _columns(model, names))
    conditions = " AND ".join(f'"{column}" = %s' for column, *_ in _columns(model, where))
    return f'UPDATE "{model._meta.db_table}" SET {changes} WHERE {conditions}'


def fetch_row(sql: str, parameters: list[Any]) -> Any:
    """The first row of a query, or None."""
    with connection.cursor() as cursor:
        cursor.execute(sql, parameters)
        return cursor.fetchone()
