"""The database itself refuses to change what is frozen, on both databases."""

import pytest
from django.db import DatabaseError, connection, transaction

from annotation.models import Item
from annotation.states import State
from lhdr_site.shared.guards import GUARDS, InstallGuards, install_guards, missing_guards
from tests.factories import Team


@pytest.fixture
def locked(team: Team) -> Item:
    item = team.item()
    Item.objects.filter(pk=item.pk).update(state=State.LOCKED)
    return item


def refused(sql: str, parameters: list[object] | None = None) -> None:
    with pytest.raises(DatabaseError, match="guarded"), transaction.atomic(), connection.cursor() as cursor:
        cursor.execute(sql, parameters or [])


def test_guards_after_migrating_are_all_there(db: None) -> None:
    assert missing_guards() == []
    names = set(connection.introspection.table_names())
    assert {guard.table for guard in GUARDS} <= names


@pytest.mark.parametrize("table", ["annotation_revision", "annotation_itemevent"])
def test_append_only_tables_refuse_update_and_delete(team: Team, table: str) -> None:
    team.item()
    refused(f"UPDATE {table} SET created = created")
    refused(f"DELETE FROM {table}")


def test_locked_item_refuses_changes_of_content_and_state(locked: Item) -> None:
    refused("UPDATE annotation_item SET question = 'x' WHERE id = %s", [locked.pk])
    refused("UPDATE annotation_item SET document = '{}' WHERE id = %s", [locked.pk])
    refused("UPDATE annotation_item SET gates = '{\"a\": 1}' WHERE id = %s", [locked.pk])
    refused("UPDATE annotation_item SET state = 'draft' WHERE id = %s", [locked.pk])
    refused("UPDATE annotation_item SET state = 'returned' WHERE id = %s", [locked.pk])
    refused("DELETE FROM annotation_item WHERE id = %s", [locked.pk])


def test_locked_item_lets_comment_counts_move(locked: Item) -> None:
    assert Item.objects.filter(pk=locked.pk).update(open_comments=3) == 1


@pytest.mark.skipif(connection.vendor != "sqlite", reason="INSERT OR REPLACE is SQLite's")
def test_locked_item_refuses_insert_or_replace(locked: Item) -> None:
    columns = ", ".join(f'"{f.column}"' for f in Item._meta.concrete_fields)
    refused(f"INSERT OR REPLACE INTO annotation_item ({columns}) SELECT {columns} FROM annotation_item")


@pytest.mark.skipif(connection.vendor != "postgresql", reason="TRUNCATE is PostgreSQL's")
@pytest.mark.parametrize("table", [guard.table for guard in GUARDS])
def test_guarded_tables_refuse_truncate(db: None, table: str) -> None:
    refused(f"TRUNCATE {table} CASCADE")


def test_guards_when_a_trigger_is_dropped_are_reported_and_renewed(db: None) -> None:
    on = "" if connection.vendor == "sqlite" else " ON annotation_revision"
    with connection.cursor() as cursor:
        cursor.execute(f"DROP TRIGGER guard_annotation_revision_update{on}")
    assert missing_guards() == ["guard_annotation_revision_update"]
    install_guards()
    assert missing_guards() == []


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("table", ["item", "revision"])
def test_guards_after_a_migration_that_alters_the_table_hold_again(table: str) -> None:
    from django.apps import apps
    from django.db import migrations, models
    from django.db.migrations.state import ProjectState

    state = ProjectState.from_apps(apps)
    field = models.TextField(default="")
    add = migrations.AddField(table, "note_for_test", models.CharField(max_length=10, default=""))
    alter = migrations.AlterField(table, "note_for_test", field)
    remove = migrations.RemoveField(table, "note_for_test")

    def apply(*operations: object) -> None:
        nonlocal state
        migration = migrations.Migration("try_it", "annotation")
        migration.operations = list(operations)  # type: ignore[arg-type]
        with connection.schema_editor() as editor:
            state = migration.apply(state, editor)

    try:
        apply(add, alter)
        if connection.vendor == "sqlite":  # the table was remade and its triggers are gone
            assert f"guard_annotation_{table}_update" in missing_guards()
        apply(InstallGuards())
        assert missing_guards() == []
    finally:
        apply(remove, InstallGuards())
    assert missing_guards() == []
