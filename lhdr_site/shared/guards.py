"""Triggers with which the database itself refuses to change what is frozen (PostgreSQL and SQLite).

One list of rules, one idempotent `install_guards()`; every migration that touches a guarded table ends with
`InstallGuards()`, because SQLite drops triggers when Django remakes a table. Table names stand here as text: this
module imports no app.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from django.db import connection as default_connection
from django.db.migrations.operations.base import Operation


@dataclass(frozen=True, slots=True)
class Guard:
    """Refuses TRUNCATE of a table, and UPDATE and DELETE where a condition over OLD and NEW holds ("" is always)."""

    table: str
    update_when: str = ""
    delete_when: str = ""
    needs: tuple[str, ...] = ()  # other tables the conditions read

    @property
    def tables(self) -> tuple[str, ...]:
        return (self.table, *self.needs)


def _differs(*columns: str) -> str:
    return "(" + " OR ".join(f"NEW.{column} IS DISTINCT FROM OLD.{column}" for column in columns) + ")"


# Content of a locked item. Its comment counts and the like may still move.
_ITEM_CONTENT = [
    "document",
    "document_hash",
    "section_hashes",
    "gates",
    "revision_number",
    "uid",
    "number",
    "author_id",
    "benchmark_id",
    "question",
    "answer",
    "language",
    "category",
    "template",
    "steps",
    "depth",
]
_UNLOCKED_BESIDE_TRANSITION = (
    "(NEW.state = 'returned' AND EXISTS (SELECT 1 FROM audit_transition t WHERE t.item_id = OLD.id"
    " AND t.from_state = 'locked' AND t.to_state = 'returned'"
    " AND t.id = (SELECT MAX(u.id) FROM audit_transition u WHERE u.item_id = OLD.id)))"
)

GUARDS = (
    Guard("annotation_revision"),
    Guard("annotation_itemevent"),
    Guard(
        "annotation_item",
        update_when=f"OLD.state = 'locked' AND ({_differs(*_ITEM_CONTENT, 'id')}"
        f" OR (NEW.state <> 'locked' AND NOT {_UNLOCKED_BESIDE_TRANSITION}))",
        delete_when="OLD.state = 'locked'",
        needs=("audit_transition",),
    ),
    Guard("audit_transition"),
    Guard("audit_criterionresult"),
    Guard("audit_elementtick"),
    Guard("audit_override"),
    Guard("audit_linkcheck"),
    Guard("audit_blindresult"),
    Guard("audit_redaction"),
    Guard("audit_release"),
    Guard("audit_releaseitem"),
    Guard("audit_releaseimage"),
    Guard("evaluation_runevent"),
    Guard("evaluation_studyevent"),
    Guard("evaluation_configurationevent"),
    Guard("evaluation_study", update_when="OLD.frozen IS NOT NULL", delete_when="OLD.frozen IS NOT NULL"),
    Guard("endpoints_endpointevent"),
    Guard("evaluation_prompt"),
    Guard("evaluation_taxonomy"),
)


def _refusal(table: str, verb: str) -> str:
    return f"{table} is guarded: {verb} is refused"


def _statements(guard: Guard, vendor: str) -> dict[str, str]:
    """Trigger name -> CREATE statement(s) for one guard."""
    update = guard.update_when or "TRUE"
    delete = guard.delete_when or "TRUE"
    t = guard.table
    if vendor == "sqlite":

        def trigger(verb: str, when: str) -> str:
            name = f"guard_{t}_{verb.lower()}"
            body = f"SELECT RAISE(ABORT, '{_refusal(t, verb)}');"
            return f'CREATE TRIGGER "{name}" BEFORE {verb} ON "{t}" WHEN {when} BEGIN {body} END'

        # SQLite before 3.39 knows IS, not IS DISTINCT FROM
        update = update.replace("IS DISTINCT FROM", "IS NOT")
        return {
            f"guard_{t}_update": trigger("UPDATE", update),
            f"guard_{t}_delete": trigger("DELETE", delete),
        }

    def function(verb: str) -> str:
        return (
            f"CREATE OR REPLACE FUNCTION guard_{t}_{verb.lower()}() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN"
            f" RAISE EXCEPTION '{_refusal(t, verb)}' USING ERRCODE = 'integrity_constraint_violation'; END $$;"
        )

    def row_trigger(verb: str, when: str) -> str:
        # A WHEN clause may hold no subquery in PostgreSQL, so the condition stands in the function.
        name = f"guard_{t}_{verb.lower()}"
        result = "NEW" if verb == "UPDATE" else "OLD"
        return (
            f"CREATE OR REPLACE FUNCTION {name}() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN IF {when} THEN"
            f" RAISE EXCEPTION '{_refusal(t, verb)}' USING ERRCODE = 'integrity_constraint_violation';"
            f" END IF; RETURN {result}; END $$;"
            f' CREATE TRIGGER "{name}" BEFORE {verb} ON "{t}" FOR EACH ROW EXECUTE FUNCTION {name}();'
            f' ALTER TABLE "{t}" ENABLE ALWAYS TRIGGER "{name}"'
        )

    return {
        f"guard_{t}_update": row_trigger("UPDATE", update),
        f"guard_{t}_delete": row_trigger("DELETE", delete),
        f"guard_{t}_truncate": function("TRUNCATE")
        + f' CREATE TRIGGER "guard_{t}_truncate" BEFORE TRUNCATE ON "{t}" FOR EACH STATEMENT'
        f" EXECUTE FUNCTION guard_{t}_truncate()",
    }


def _installed(connection: Any) -> dict[str, str]:
    """Trigger name -> table, for the guards the database has."""
    with connection.cursor() as cursor:
        if connection.vendor == "sqlite":
            cursor.execute(
                "SELECT name, tbl_name FROM sqlite_master WHERE type = 'trigger' AND name LIKE 'guard\\_%' ESCAPE '\\'"
            )
        else:
            cursor.execute(
                "SELECT t.tgname, c.relname FROM pg_trigger t JOIN pg_class c ON c.oid = t.tgrelid"
                " WHERE NOT t.tgisinternal AND t.tgname LIKE 'guard\\_%' AND t.tgenabled <> 'D'"
                " AND pg_table_is_visible(c.oid)"
            )
        return dict(cursor.fetchall())


def _expected(connection: Any) -> dict[str, Guard]:
    tables = set(connection.introspection.table_names())
    return {
        name: guard
        for guard in GUARDS
        if tables.issuperset(guard.tables)
        for name in _statements(guard, connection.vendor)
    }


def missing_guards(connection: Any = default_connection) -> list[str]:
    """Names of triggers that should be there and are not; empty when all is well."""
    installed = _installed(connection)
    return [name for name in _expected(connection) if name not in installed]


def install_guards(connection: Any = default_connection) -> None:
    """Create or renew every trigger whose tables exist. Safe to run at any time."""
    remove_guards(connection)
    tables = set(connection.introspection.table_names())
    with connection.cursor() as cursor:
        for guard in GUARDS:
            if tables.issuperset(guard.tables):
                for statement in _statements(guard, connection.vendor).values():
                    cursor.execute(statement)


def remove_guards(connection: Any = default_connection) -> None:
    if connection.vendor == "postgresql":
        connection.check_constraints()  # deferred checks that still wait would refuse the change of a table
    with connection.cursor() as cursor:
        for name, table in _installed(connection).items():
            on = "" if connection.vendor == "sqlite" else f' ON "{table}"'
            cursor.execute(f'DROP TRIGGER IF EXISTS "{name}"{on}')


@contextmanager
def without_guards(connection: Any = default_connection) -> Iterator[None]:
    """For restore, demo reset and test flush only; no web code imports this."""
    remove_guards(connection)
    try:
        yield
    finally:
        install_guards(connection)


class InstallGuards(Operation):
    """Migration operation: the last one of every migration that touches a guarded table."""

    reversible = True
    reduces_to_sql = False

    def state_forwards(self, app_label: str, state: Any) -> None:
        pass

    def database_forwards(self, app_label: str, schema_editor: Any, from_state: Any, to_state: Any) -> None:
        for statement in schema_editor.deferred_sql:
            schema_editor.execute(statement)
        schema_editor.deferred_sql.clear()
        install_guards(schema_editor.connection)

    def database_backwards(self, app_label: str, schema_editor: Any, from_state: Any, to_state: Any) -> None:
        remove_guards(schema_editor.connection)

    def describe(self) -> str:
        return "Install the guards"
