"""Queries compiled once. Django spends ten times as long on writing a query of many subqueries as a database on it."""

from collections.abc import Callable
from typing import Any

from django.db import connection
from django.db.models import QuerySet

_FIRST = 2_147_000_000  # the last numbers of a 32-bit key stand for those to come


class Prepared:
    """A query with whole numbers in it, such as keys, of which nothing but these changes from one call to the next.

    build: makes the queryset, ending in `.values(…)`, from as many numbers as there are `names`; it must not compute
    with them. What else the query compares with is fixed when it is first asked: for the present time use `Now()`.
    """

    def __init__(self, build: Callable[..., QuerySet[Any, Any]], *names: str):
        self.build, self.names = build, names
        self.compiled: dict[str, tuple[Any, list[str], str, list[Any]]] = {}

    def get(self, **numbers: int) -> dict[str, Any] | None:
        """The first row by name, or None without any."""
        if (known := self.compiled.get(connection.vendor)) is None:
            known = self.compiled[connection.vendor] = self._compile()
        compiler, columns, sql, params = known
        wanted = {_FIRST + place: numbers[name] for place, name in enumerate(self.names)}
        with connection.cursor() as cursor:
            cursor.execute(sql, [wanted.get(p, p) if type(p) is int else p for p in params])
            rows = cursor.fetchmany(1)
        return next((dict(zip(columns, row, strict=True)) for row in compiler.results_iter(results=[rows])), None)

    def _compile(self) -> tuple[Any, list[str], str, list[Any]]:
        query = self.build(*(_FIRST + place for place in range(len(self.names)))).query
        compiler = query.get_compiler(connection=connection)
        sql, params = compiler.as_sql()
        return compiler, [*query.values_select, *query.annotation_select], sql, list(params)
