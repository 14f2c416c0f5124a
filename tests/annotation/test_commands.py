"""The commands on real input: what they write, what they refuse, and how they say it."""

import io
import json
from pathlib import Path
from typing import Any

import pytest
from django.core.management import CommandError, call_command
from django.db import connection

from annotation.models import Benchmark, Item, Membership, Revision
from annotation.states import Role, State
from lhdr_site.shared.guards import without_guards
from tests.documents import good_data
from tests.factories import Team


def run(*arguments: Any, **options: Any) -> tuple[str, str]:
    out, err = io.StringIO(), io.StringIO()
    call_command(*arguments, stdout=out, stderr=err, **options)
    return out.getvalue(), err.getvalue()


def write(path: Path, *rows: Any) -> Path:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


def test_create_benchmark_on_a_fresh_installation_makes_an_admin(db: None) -> None:
    out, _ = run("create_benchmark", "fresh", "--name", "Fresh", "--preset", "sandbox")
    benchmark = Benchmark.objects.get(slug="fresh")
    assert "fresh" in out and benchmark.is_sandbox
    assert (benchmark.min_steps, benchmark.categories.count(), benchmark.operation_tags.count()) == (1, 8, 4)
    member = Membership.objects.get(benchmark=benchmark)
    assert member.role == Role.ADMIN and not member.user.has_usable_password()


@pytest.mark.parametrize("slug", ["Has Space", "fresh"])
def test_create_benchmark_with_a_bad_or_taken_slug_says_so(db: None, slug: str) -> None:
    run("create_benchmark", "fresh", "--name", "Fresh")
    with pytest.raises(CommandError, match="slug"):
        run("create_benchmark", slug, "--name", "X")
    assert Benchmark.objects.count() == 1


def test_import_items_of_mm_browsecomp_gives_224_items_and_twice_changes_nothing(team: Team, cases: Path) -> None:
    file = cases / "mm_browsecomp.jsonl"
    out, _ = run("import_items", str(file), "--benchmark", "bench")
    assert "224 rows read as mm-browsecomp: 224 created, 0 changed, 0 unchanged" in out
    items = Item.objects.filter(benchmark=team.benchmark)
    assert items.count() == 224
    assert Revision.objects.filter(item__benchmark=team.benchmark, number=1).count() == 224
    assert set(items.values_list("revision_number", flat=True)) == {1}
    # 40 rows of geography and 32 of academics; no step names a prerequisite, so each is a level of its own
    assert items.filter(category="geography").count() == 40
    assert items.filter(category="academia").count() == 32
    assert set(items.values_list("depth", flat=True)) == {1}
    out, _ = run("import_items", str(file), "--benchmark", "bench")
    assert "0 created, 0 changed, 224 unchanged" in out
    assert Revision.objects.filter(item__benchmark=team.benchmark).count() == 224
    assert run("verify")[0].startswith("224 items")


def test_import_items_with_linear_prerequisites_chains_the_steps(team: Team, cases: Path) -> None:
    run("import_items", str(cases / "mm_browsecomp.jsonl"), "--benchmark", "bench", "--linear-prerequisites")
    assert all(steps == depth for steps, depth in Item.objects.values_list("steps", "depth"))


def test_import_items_dry_run_writes_nothing(team: Team, tmp_path: Path) -> None:
    data = good_data(id="one")
    data["images"] = []
    for step in data["checklist"]:
        step["images"] = []
    file = write(tmp_path / "x.jsonl", data)
    out, _ = run("import_items", str(file), "--benchmark", "bench", "--dry-run")
    assert "1 would be created" in out
    assert not Item.objects.exists()


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"", "empty"),
        (b"{not json}\n", "row 1"),
        ('{"id": "a", "question": "Q"}\n'.encode("utf-16"), "UTF-8"),
        (b'{"id": "a", "schema": "lhdr.item/1"}\n{"id": "a", "schema": "lhdr.item/1"}\n', "row"),
        (b'{"schema": "lhdr.item/1", "id": "a", "checklist": [{"key": "c1", "prerequisites": ["c9"]}]}\n', "c9"),
        (
            b'{"schema": "lhdr.item/1", "id": "a", "checklist": [{"key": "c1", "prerequisites": ["c2"]},'
            b' {"key": "c2", "prerequisites": ["c1"]}]}\n',
            "c1 -> c2 -> c1",
        ),
        (b'{"schema": "lhdr.item/1", "id": "a", "question": "x\\u0000y"}\n', "U+0000"),
        (b'{"schema": "lhdr.item/1", "id": "a", "question": "x\\ud800y"}\n', "U+D800"),
        (b'{"schema": "lhdr.item/9", "id": "a"}\n', "lhdr.item/9"),
    ],
)
def test_import_items_of_a_bad_file_names_the_trouble_and_writes_nothing(
    team: Team, tmp_path: Path, content: bytes, words: str
) -> None:
    file = tmp_path / "bad.jsonl"
    file.write_bytes(content)
    err = io.StringIO()
    with pytest.raises(CommandError, match="Nothing was imported") as caught:
        call_command("import_items", str(file), "--benchmark", "bench", stdout=io.StringIO(), stderr=err)
    assert words in err.getvalue() + str(caught.value)
    assert not Item.objects.exists()


def test_import_items_of_no_file_or_benchmark_says_so(team: Team, tmp_path: Path) -> None:
    with pytest.raises(CommandError):
        run("import_items", str(tmp_path / "none.jsonl"), "--benchmark", "bench")
    with pytest.raises(CommandError, match="no benchmark 'nowhere'"):
        run("import_items", str(tmp_path / "none.jsonl"), "--benchmark", "nowhere")


@pytest.mark.parametrize(
    ("sql", "words"),
    [
        ("UPDATE annotation_item SET document_hash = 'x'", "document_hash"),
        ("UPDATE annotation_item SET steps = 99", "steps"),
        ("DELETE FROM annotation_itemsource", "sources"),
        ("UPDATE annotation_itementity SET folded = 'x'", "entities"),
        ("UPDATE annotation_revision SET document_hash = 'x'", "recorded hash"),
    ],
)
def test_verify_when_something_was_changed_behind_its_back_names_it(team: Team, sql: str, words: str) -> None:
    team.item()
    assert "1 items" in run("verify")[0]
    with without_guards(), connection.cursor() as cursor:
        cursor.execute(sql)
    err = io.StringIO()
    with pytest.raises(CommandError):
        call_command("verify", stdout=io.StringIO(), stderr=err)
    assert words in err.getvalue()


def test_verify_when_a_guard_is_missing_names_it(team: Team) -> None:
    on = "" if connection.vendor == "sqlite" else " ON audit_transition"
    connection.check_constraints()
    with connection.cursor() as cursor:
        cursor.execute(f"DROP TRIGGER guard_audit_transition_delete{on}")
    err = io.StringIO()
    with pytest.raises(CommandError):
        call_command("verify", stdout=io.StringIO(), stderr=err)
    assert "guard_audit_transition_delete" in err.getvalue()
    run("install_guards")
    run("verify")


def test_reindex_renews_what_is_derived(team: Team) -> None:
    item = team.item()
    Item.objects.filter(pk=item.pk).update(steps=99, stale_gates=3)
    item.source_rows.all().delete()
    out, _ = run("reindex")
    assert "1 items looked at, 1 renewed" in out
    run("verify")


def test_reindex_of_a_locked_item_mends_its_rows(team: Team) -> None:
    item = team.item()
    Item.objects.filter(pk=item.pk).update(state=State.LOCKED)
    item.entity_rows.all().delete()
    run("reindex")
    run("verify")
