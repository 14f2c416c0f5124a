"""Writes of single rows with the statement built once: a run makes thousands of them, and the ORM's query building
would cost more than the rest of the call. Values pass through the model's fields, as the ORM's do.
"""

from functools import cache
from typing import Any

from django.db import connection, models


@cache
def _columns(model: type[models.Model], names: tuple[str, ...]) -> list[tuple[str, Any]]:
    fields: list[Any] = [model._meta.get_field(name) for name in names]
    return [(field.column, field.get_db_prep_save) for field in fields]


def _values(model: type[models.Model], fields: dict[str, Any]) -> list[Any]:
    prepared = zip(_columns(model, tuple(fields)), fields.values(), strict=True)
    return [prepare(value, connection) for (_column, prepare), value in prepared]


def insert_row(model: type[models.Model], /, **fields: Any) -> int:
    """A new row's primary key. Every column without a database default must be given."""
    with connection.cursor() as cursor:
        cursor.execute(_insert(model, tuple(fields)), _values(model, fields))
        return int(cursor.fetchone()[0])


@cache
def _insert(model: type[models.Model], names: tuple[str, ...]) -> str:
    columns = ", ".join(f'"{column}"' for column, _prepare in _columns(model, names))
    marks = ", ".join(["%s"] * len(names))
    return f'INSERT INTO "{model._meta.db_table}" ({columns}) VALUES ({marks}) RETURNING id'


def update_row(model: type[models.Model], where: dict[str, Any], /, **fields: Any) -> int:
    """How many rows were changed: those where every field of `where` has this value."""
    with connection.cursor() as cursor:
        cursor.execute(_update(model, tuple(fields), tuple(where)), _values(model, fields) + _values(model, where))
        return int(cursor.rowcount)


@cache
def _update(model: type[models.Model], names: tuple[str, ...], where: tuple[str, ...]) -> str:
    changes = ", ".join(f'"{column}" = %s' for column, _prepare in _columns(model, names))
    conditions = " AND ".join(f'"{column}" = %s' for column, _prepare in _columns(model, where))
    return f'UPDATE "{model._meta.db_table}" SET {changes} WHERE {conditions}'


def fetch_row(sql: str, parameters: list[Any]) -> Any:
    """The first row of a query, or None."""
    with connection.cursor() as cursor:
        cursor.execute(sql, parameters)
        return cursor.fetchone()
