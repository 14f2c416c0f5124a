"""What is locked stays as it is, whichever way one comes: page, API, admin site, import, ORM."""

import io
import json
from collections.abc import Callable
from typing import Any
from urllib.parse import urlencode

import pytest
from django.core.management import CommandError, call_command
from django.db import DatabaseError, models, transaction
from django.urls import get_resolver

from annotation.document import read_document
from annotation.models import Benchmark, Item, ItemEvent, Revision
from annotation.states import State
from audit import actions as audit
from audit import release_actions
from audit.models import CriterionResult, Release, ReleaseItem, Transition
from tests.annotation.test_images import png
from tests.audit.judging import bring_to
from tests.evaluation.setting import documents
from tests.factories import Team
from tests.flows.test_every_address import ROLES, World, _browser, _fill, _patterns, make_world


@pytest.fixture
def locked(team: Team) -> Item:
    [document] = documents(1, "locked")
    return bring_to(team, team.item(document), State.LOCKED)


def facts(item: Item) -> tuple[Any, ...]:
    item = Item.objects.get(pk=item.pk)
    return item.state, item.document_hash, read_document(item.document).hash, item.revision_number, item.gates


@pytest.mark.parametrize("who", ["ann", "core", "admin", "root"])
def test_locked_item_by_page_and_api_is_refused_with_a_sentence(team: Team, locked: Item, who: str) -> None:
    before, client = facts(locked), team.client(who)
    page, api = f"/b/bench/items/{locked.number}/", f"/api/benchmarks/bench/items/{locked.number}/"
    hashes = locked.section_hashes
    tries: list[Callable[[], Any]] = [
        lambda: client.post(page + "question/", {"base_hash": hashes["question"], "question": "x", "save_key": "k"}),
        lambda: client.post(page + "images/add/", {"images": io.BytesIO(png())}),
        lambda: client.post(page + "history/restore/", {"number": "1", "base_hash": locked.document_hash}),
        lambda: client.put(
            api + "sections/question/",
            json.dumps({"content": {"question": "x"}, "base_hash": hashes["question"]}),
            content_type="application/json",
        ),
        *(
            lambda name=name: client.post(
                api + "moves/",
                json.dumps({"move": name, "reason": "why", "hash": locked.document_hash}),
                content_type="application/json",
            )
            for name in ("submit", "pass", "return", "reject", "withdraw", "lock", "reopen")
        ),
    ]
    for attempt in tries:
        reply = attempt()
        assert reply.status_code in (403, 404, 409, 422), reply
        if reply.status_code != 404:
            assert len(reply.content.decode()) > 20
    assert facts(locked) == before


# What may be written beside a locked item: talk, one's own text and presence.
BESIDE = {
    "comments-panel", "comment-preview", "presence", "draft-keep", "draft-drop", "checks-quiet", "review-draft",
    "item-copy", "golden-save", "api-comments", "links-check", "api-item-links", "api-draft",
}  # fmt: skip
# What only shows what was sent in another way, and writes nothing.
SHOWN = {
    "section-edit", "source-look", "source-read", "question-blurs", "graph-drawing", "checklist-drawing", "rows-paste",
    "markdown-preview",
}  # fmt: skip
# Everything that any form or API call of an item asks for, so that what refuses is the lock and not a missing field.
BODY = {
    "move": "pass", "reason": "why", "rating": "4", "verdict": "pass", "passed": True, "supported": "yes",
    "element": "c1", "criterion": "chain", "comment": "x", "answer": "mended", "text": "x", "accepted": "yes",
    "candidate": "x", "why": "x", "number": "1", "question": "x", "content": {"question": "x"}, "body": "x",
    "forms": "{}", "section": "question", "save_key": "k", "name": "x", "points": [],
}  # fmt: skip


def test_every_write_address_of_a_locked_item_refuses_with_a_reason(db: Any) -> None:
    """Each address of the resolver that names an item, as every role; a new address is swept by itself."""
    world: World = make_world()
    item = Item.objects.get(benchmark=world.team.benchmark, state=State.LOCKED)
    before = facts(item)
    parts = {start: {**values} for start, values in world.parts.items()}
    parts[""]["number"] = item.number
    body = BODY | {"hash": item.document_hash, "base_hash": item.section_hashes["question"]}
    wrong, tried = [], 0
    for who in ROLES:
        client = _browser(getattr(world.team, who))
        for route, pattern in _patterns(get_resolver()):
            if "items/<int:number>/" not in route:
                continue
            path, is_api = _fill(route, parts), route.startswith("api/")
            for method in ("POST", "PUT", "PATCH", "DELETE") if is_api else ("POST",):
                sent: dict[str, Any] = {"data": json.dumps(body), "content_type": "application/json"}
                if not is_api:
                    form = urlencode({name: value for name, value in body.items() if isinstance(value, str)})
                    sent = {"data": form, "content_type": "application/x-www-form-urlencoded"}
                with transaction.atomic():
                    reply = client.generic(method, path, **sent)
                    after = facts(item)
                    transaction.set_rollback(True)
                tried += 1
                refused = reply.status_code in (403, 404, 405, 409, 422)
                if after != before:
                    wrong.append(f"{who} {method} {path}: changed the item")
                elif not refused and pattern.name not in BESIDE | SHOWN:
                    wrong.append(f"{who} {method} {path} ({pattern.name}): {reply.status_code}")
                elif refused and reply.status_code in (403, 409, 422) and len(reply.content) < 20:
                    wrong.append(f"{who} {method} {path}: refused without a reason")
    assert not wrong, "\n".join(wrong)
    assert tried > 300


def test_locked_item_in_the_admin_site_cannot_be_changed_or_deleted(team: Team, locked: Item) -> None:
    before, client = facts(locked), team.client("root")
    for action in ("change", "delete"):
        assert client.post(f"/admin/annotation/item/{locked.pk}/{action}/", {"post": "yes"}).status_code == 403
    assert client.post(f"/admin/annotation/benchmark/{team.benchmark.pk}/delete/", {"post": "yes"}).status_code == 403
    assert client.post(f"/admin/auth/user/{team.ann.pk}/delete/", {"post": "yes"}).status_code == 403
    assert facts(locked) == before


def test_locked_item_by_import_is_refused_and_names_the_row(team: Team, locked: Item, tmp_path: Any) -> None:
    before = facts(locked)
    file = tmp_path / "items.jsonl"
    file.write_text(json.dumps({**locked.document, "answer": "another"}) + "\n")
    err = io.StringIO()
    with pytest.raises(CommandError, match="Nothing was imported"):
        call_command("import_items", str(file), "--benchmark", "bench", stdout=io.StringIO(), stderr=err)
    assert "row 1" in err.getvalue() and "locked" in err.getvalue()
    assert facts(locked) == before


def test_locked_item_by_orm_is_refused_by_the_database(team: Team, locked: Item) -> None:
    before = facts(locked)
    rows = Item.objects.filter(pk=locked.pk)
    changed = Item.objects.get(pk=locked.pk)
    changed.question = "x"
    tries: list[Callable[[], Any]] = [
        lambda: rows.update(question="x"),
        lambda: rows.update(state=State.DRAFT),
        lambda: rows.update(state=State.RETURNED),
        lambda: Item.objects.bulk_update([changed], ["question"]),
        lambda: changed.save(),
        lambda: rows._raw_delete(rows.db),
    ]
    for attempt in tries:
        with pytest.raises(DatabaseError), transaction.atomic():
            attempt()
    with pytest.raises(models.ProtectedError):
        team.ann.delete()
    with pytest.raises(models.ProtectedError):
        Benchmark.objects.filter(pk=team.benchmark.pk).delete()
    assert facts(locked) == before


def test_what_is_recorded_cannot_be_changed_by_orm(team: Team, locked: Item) -> None:
    release_actions.cut_release(team.benchmark, "r1", actor=team.admin)
    for model in (Revision, Transition, CriterionResult, Release, ReleaseItem, ItemEvent):
        rows = model._default_manager.all()
        assert rows.exists()
        field = next(f.name for f in model._meta.fields if isinstance(f, models.CharField | models.TextField))
        for attempt in (
            lambda rows=rows, field=field: rows.update(**{field: "x"}),
            lambda rows=rows: rows._raw_delete("default"),
        ):
            with pytest.raises(DatabaseError, match="guarded"), transaction.atomic():
                attempt()


def test_release_after_unlock_edit_and_lock_again_holds_what_it_held(team: Team, locked: Item) -> None:
    release = release_actions.cut_release(team.benchmark, "r1", actor=team.admin)
    audit.unlock_item(locked, "The date is wrong.", actor=team.core)
    item = Item.objects.get(pk=locked.pk)
    assert item.state == State.RETURNED
    content = read_document(item.document).section("question") | {"as_of": "2026-11-29"}
    from annotation.actions import save_section

    save_section(item, "question", content, item.section_hashes["question"], actor=team.ann)
    again = bring_to(team, Item.objects.get(pk=item.pk), State.LOCKED)
    assert again.document_hash != locked.document_hash
    row = release.release_items.get()
    assert (row.document_hash, read_document(row.document).hash) == (locked.document_hash, locked.document_hash)
    assert release_actions.cut_release(team.benchmark, "r2", actor=team.admin).hash != release.hash
