"""Queries compiled once. Django spends ten times as long on writing a query of many joins as a database on it."""

import copy
from collections.abc import Callable, Collection
from types import SimpleNamespace
from typing import Any

from django.db import connection
from django.db.models import QuerySet
from django.db.models.query import ModelIterable

_FIRST = 2_147_000_000  # the last numbers of a 32-bit key stand for those to come


class Prepared:
    """A query with values in it, such as keys, of which nothing but these changes from one call to the next.

    build: makes the queryset, from as many values as there are `names`: whole numbers, or strings for those that are
    also in `texts`. It must not compute with them. What else the query compares with is fixed when it is first asked:
    for the present time use `Now()`.
    """

    def __init__(self, build: Callable[..., QuerySet[Any, Any]], *names: str, texts: Collection[str] = ()):
        self.build = build
        self.stand_ins = {name: str(_FIRST + at) if name in texts else _FIRST + at for at, name in enumerate(names)}
        self.compiled: dict[str, tuple[Any, str, list[Any]]] = {}

    def get(self, **values: int | str) -> dict[str, Any] | None:
        """The first row by name, of a queryset that ends in `.values(…)`; None without any."""
        compiler, sql, params = self._filled(values)
        with connection.cursor() as cursor:
            cursor.execute(sql, params)
            rows = cursor.fetchmany(1)
        names = [*compiler.query.values_select, *compiler.query.annotation_select]
        return next((dict(zip(names, row, strict=True)) for row in compiler.results_iter(results=[rows])), None)

    def objects(self, **values: int | str) -> list[Any]:
        """All rows as the queryset gives them, with their related rows and annotations."""
        compiler, sql, params = self._filled(values)
        ready = copy.copy(compiler)
        ready.connection, ready.as_sql = connection, lambda: (sql, params)
        query = SimpleNamespace(get_compiler=lambda using: ready)
        queryset: Any = SimpleNamespace(db=connection.alias, query=query, _known_related_objects={})
        return list(ModelIterable(queryset))

    def _filled(self, values: dict[str, int | str]) -> tuple[Any, str, list[Any]]:
        if (known := self.compiled.get(connection.vendor)) is None:
            compiler = self.build(*self.stand_ins.values()).query.get_compiler(connection=connection)
            sql, params = compiler.as_sql()
            known = self.compiled[connection.vendor] = compiler, sql, list(params)
        compiler, sql, params = known
        wanted = {stand_in: values[name] for name, stand_in in self.stand_ins.items()}
        # as the type of the stand-in: PostgreSQL's adapter tells the sizes of numbers apart
        filled = [type(p)(wanted[p]) if isinstance(p, int | str) and p in wanted else p for p in params]
        return compiler, sql, filled
