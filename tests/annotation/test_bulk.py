"""Many items at once: the preview, what is done, what is refused; named views, columns, copies, CSV. By role."""

import io
import json
import zipfile
from dataclasses import replace
from typing import Any

import pytest
from django.contrib.auth.models import User

from annotation import bulk, image_actions, list_actions
from annotation.columns import COLUMNS
from annotation.models import BulkChange, BulkRow, Item, ItemEvent, Notice, Preferences, SavedView
from annotation.states import State
from lhdr_site.shared.errors import Invalid, NotAllowed
from tests.annotation.test_images import png
from tests.documents import good_document
from tests.factories import Team

BULK = "/b/bench/items/bulk/"


def items(team: Team, count: int) -> list[Item]:
    return [team.item(replace(good_document(), id=f"item-{n}")) for n in range(count)]


def do(team: Team, who: str, what: str, value: str, *chosen: Item) -> tuple[int, dict[str, int]]:
    pks = ",".join(str(item.pk) for item in chosen)
    reply = team.client(who).post(BULK, {"do": what, "value": value, "items": pks})
    change = BulkChange.objects.order_by("-pk").first()
    return reply.status_code, bulk.counts_of(change) if change else {}


def test_bulk_preview_says_what_is_refused_and_why_and_changes_nothing(team: Team) -> None:
    one, two, three = items(team, 3)
    Item.objects.filter(pk=two.pk).update(author=team.ann2)
    Item.objects.filter(pk=three.pk).update(state=State.LOCKED)
    reply = team.client("ann").get(BULK, {"do": "add_tag", "value": "symbolic", "n": [1, 2, 3]})
    text = reply.content.decode()
    assert "Do it for the 1 that can" in text
    assert "Its author and co-editors edit it" in text and "This item is locked" in text
    assert f'name="items" value="{one.pk}"' in text
    assert not BulkChange.objects.exists()


def test_bulk_tags_and_category_are_changed_by_one_event_each(team: Team) -> None:
    one, two = items(team, 2)
    before = ItemEvent.objects.filter(kind="item.edited").count()
    assert do(team, "ann", "add_tag", "symbolic", one, two) == (302, {"waiting": 0, "done": 2, "same": 0, "refused": 0})
    assert do(team, "ann", "add_tag", "symbolic", one)[1]["same"] == 1
    assert do(team, "ann", "remove_tag", "symbolic", one)[1]["done"] == 1
    assert do(team, "ann", "set_category", "people", two)[1]["done"] == 1
    one.refresh_from_db(), two.refresh_from_db()
    assert "symbolic" not in one.document["operation_tags"] and "symbolic" in two.document["operation_tags"]
    assert two.category == "people"
    assert ItemEvent.objects.filter(kind="item.edited").count() == before + 4


def test_bulk_asks_again_when_it_is_done(team: Team) -> None:
    mine, theirs = items(team, 2)
    Item.objects.filter(pk=theirs.pk).update(author=team.ann2)
    _status, counts = do(team, "ann", "set_category", "people", mine, theirs)
    assert (counts["done"], counts["refused"]) == (1, 1)
    change = BulkChange.objects.get()
    text = team.client("ann").get(f"{BULK}{change.pk}/").content.decode()
    assert "Its author and co-editors edit it" in text and "All 2 items gone through" in text
    theirs.refresh_from_db()
    assert theirs.category != "people"


def test_bulk_submit_hands_in_what_can_be(team: Team) -> None:
    good, wrong, done = items(team, 3)
    Item.objects.update(checked_hash="")
    for item in (good, done):
        from annotation.steps import check_item

        check_item(item.pk)
    wrong.refresh_from_db()
    Item.objects.filter(pk=wrong.pk).update(checked_hash=wrong.document_hash, errors=2)
    Item.objects.filter(pk=done.pk).update(state=State.SUBMITTED)
    text = team.client("ann").get(BULK, {"do": "submit", "all": "on"}).content.decode()
    assert "It has 2 errors to mend" in text and "It is in state" in text and "Do it for the 1 that can" in text
    assert do(team, "ann", "submit", "", good)[1]["done"] == 1
    good.refresh_from_db()
    assert good.state == State.SUBMITTED


PEOPLE = {"assign": "bench-aud", "hand_over": "bench-ann2", "set_due": "2030-01-02", "golden": "A clear chain"}
TAKEN_BACK = ("unassign", "clear_due", "not_golden")


@pytest.mark.parametrize(("who", "may"), [("ann", False), ("aud", False), ("core", True), ("admin", True)])
def test_bulk_of_people_days_and_examples_is_the_core_teams(team: Team, who: str, may: bool) -> None:
    [item] = items(team, 1)
    offered = team.client(who).get("/b/bench/items/").content.decode()
    for what in (*PEOPLE, *TAKEN_BACK):
        assert (f'<option value="{what}">' in offered) == may
        Item.objects.update(state=State.APPROVED)
        status, _counts = do(team, who, what, PEOPLE.get(what, ""), item)
        assert status == (302 if may else 403), what
    assert BulkChange.objects.exists() == may


def test_bulk_asks_an_auditor_by_a_day_and_takes_both_back(team: Team) -> None:
    one, two, own = items(team, 3)
    Item.objects.filter(pk=own.pk).update(author=team.aud)
    two.coeditors.add(team.aud)
    text = team.client("core").get(BULK, {"do": "assign", "n": [1, 2, 3]}).content.decode()
    assert '<option value="bench-aud">' in text and '<option value="bench-ann">' not in text
    text = team.client("core").get(BULK, {"do": "assign", "value": "bench-aud", "n": [1, 2, 3]}).content.decode()
    assert "Do it for the 1 that can" in text and "nobody audits their own" in text and "2 are refused" in text
    assert do(team, "core", "set_due", "2030-01-02", one)[1]["done"] == 1
    assert do(team, "core", "assign", "bench-aud", one, two, own)[1] == {
        "waiting": 0, "done": 1, "same": 0, "refused": 2,
    }  # fmt: skip
    assert do(team, "core", "assign", "bench-aud", one)[1]["same"] == 1
    one.refresh_from_db()
    assert (one.auditor, str(one.due)) == (team.aud, "2030-01-02")
    assert Notice.objects.filter(user=team.aud, item=one, kind=Notice.Kind.ASSIGNED).count() == 1
    assert do(team, "core", "clear_due", "", one)[1]["done"] == 1
    one.refresh_from_db()
    assert (one.auditor, one.due) == (team.aud, None)
    assert do(team, "core", "unassign", "", one, two)[1] == {"waiting": 0, "done": 1, "same": 1, "refused": 0}
    assert ItemEvent.objects.filter(kind="item.assigned", item=one).count() == 4


def test_bulk_hand_over_makes_an_author_and_passes_over_whom_is_to_audit(team: Team) -> None:
    one, two, locked = items(team, 3)
    Item.objects.filter(pk=two.pk).update(auditor=team.ann2)
    Item.objects.filter(pk=locked.pk).update(state=State.LOCKED)
    asked = {"do": "hand_over", "value": "bench-ann2", "all": "on", "state": ["draft", "locked"], "sort": "steps"}
    text = team.client("core").get(BULK, asked).content.decode()
    assert "is to audit this item" in text and "This item is locked" in text and "Do it for the 1 that can" in text
    assert 'action="/b/bench/items/bulk/?state=draft&amp;state=locked&amp;sort=steps"' in text
    assert do(team, "core", "hand_over", "bench-ann2", one, two, locked)[1]["refused"] == 2
    one.refresh_from_db()
    assert one.author == team.ann2 and list(one.coeditors.all()) == [team.ann]
    assert do(team, "core", "hand_over", "bench-ann2", one)[1]["same"] == 1


def test_bulk_marks_examples_of_what_was_audited(team: Team) -> None:
    draft, locked = items(team, 2)
    Item.objects.filter(pk=locked.pk).update(state=State.LOCKED)
    text = team.client("core").get(BULK, {"do": "golden", "value": "Short", "n": [1, 2]}).content.decode()
    assert "Only approved and locked items are examples" in text and "Do it for the 1 that can" in text
    assert do(team, "core", "golden", "Short  chain", draft, locked)[1]["refused"] == 1
    locked.refresh_from_db()
    assert (locked.is_golden, locked.golden_note) == (True, "Short chain")
    assert do(team, "core", "golden", "Short chain", locked)[1]["same"] == 1
    assert do(team, "core", "not_golden", "", draft, locked)[1] == {"waiting": 0, "done": 1, "same": 1, "refused": 0}


def test_bulk_value_of_another_kind_is_not_taken(team: Team) -> None:
    items(team, 1)
    text = team.client("core").get(BULK, {"do": "golden", "of": "set_due", "value": "2030-01-02", "n": 1}).content
    assert b"that can" not in text and b"Say in at most" not in text


def test_bulk_result_leads_back_to_the_list_and_names_the_value(team: Team) -> None:
    [item] = items(team, 1)
    User.objects.filter(pk=team.aud.pk).update(first_name="Aude", last_name="Tor")
    data = {"do": "assign", "value": "bench-aud", "items": str(item.pk)}
    reply = team.client("core").post(f"{BULK}?state=draft&view=7&n=1", data, follow=True)
    text = reply.content.decode()
    assert "Ask for an audit: Aude Tor" in text and 'href="/b/bench/items/?state=draft&amp;view=7"' in text


def test_bulk_person_who_left_is_refused_in_words(team: Team) -> None:
    [item] = items(team, 1)
    change = bulk.start_change(team.benchmark, bulk.KINDS["assign"], [item.pk], {"value": "bench-aud"}, actor=team.core)
    team.benchmark.memberships.filter(user=team.aud).delete()
    bulk.run_rows(change.pk)
    assert "is no auditor of this benchmark" in BulkRow.objects.get().message


def test_bulk_of_many_is_left_to_the_worker_and_goes_on_where_it_stopped(
    team: Team, monkeypatch: pytest.MonkeyPatch, django_capture_on_commit_callbacks: Any
) -> None:
    monkeypatch.setattr(bulk, "AT_ONCE", 2)
    sent: list[Any] = []
    monkeypatch.setattr(bulk, "send", lambda *args: sent.append(args))
    with django_capture_on_commit_callbacks(execute=True):
        _status, counts = do(team, "ann", "set_category", "people", *items(team, 5))
    assert (counts["done"], counts["waiting"], len(sent)) == (2, 3, 1)
    change = BulkChange.objects.get()
    assert "2 of 5 items gone through" in team.client("ann").get(f"{BULK}{change.pk}/").content.decode()
    assert bulk.unfinished() == [change.pk]
    from annotation.tasks import sweep_checks

    sweep_checks()
    sweep_checks()
    assert bulk.counts_of(change)["done"] == 5 and bulk.unfinished() == []


def test_bulk_row_that_somebody_took_is_not_done_twice(team: Team) -> None:
    [item] = items(team, 1)
    change = bulk.start_change(
        team.benchmark, bulk.KINDS["set_category"], [item.pk], {"value": "people"}, actor=team.ann
    )
    assert bulk.run_rows(change.pk) == 1 and bulk.run_rows(change.pk) == 0
    assert BulkRow.objects.get().status == "done"


@pytest.mark.parametrize(("who", "status"), [("ann", 200), ("aud", 200), ("admin", 200), ("stranger", 404)])
def test_bulk_page_by_role(team: Team, who: str, status: int) -> None:
    items(team, 1)
    assert team.client(who).get(BULK, {"n": 1}).status_code == status
    assert team.client(who).get("/b/bench/items/csv/").status_code == status
    assert team.client(who).get(BULK, {"n": 1, "do": "export"}).status_code == status


def test_bulk_result_is_its_makers_alone(team: Team) -> None:
    [item] = items(team, 1)
    do(team, "ann", "set_category", "people", item)
    address = f"{BULK}{BulkChange.objects.get().pk}/"
    assert [team.client(who).get(address).status_code for who in ("ann", "ann2", "stranger")] == [200, 404, 404]


@pytest.mark.parametrize(
    "data",
    [
        {"do": "add_tag", "value": "nowhere", "items": "1"},
        {"do": "set_category", "value": "", "items": "1"},
        {"do": "assign", "value": "bench-ann2", "items": "1"},
        {"do": "hand_over", "value": "nobody", "items": "1"},
        {"do": "set_due", "value": "2030-13-41", "items": "1"},
        {"do": "golden", "value": "x" * 301, "items": "1"},
        {"do": "golden", "value": " ", "items": "1"},
        {"do": "set_category", "value": "people", "items": ""},
        {"do": "set_category", "value": "people", "items": "x,99999999999999999999"},
    ],
)
def test_bulk_of_what_cannot_be_is_refused_in_words(team: Team, data: dict[str, str]) -> None:
    items(team, 1)
    assert team.client("core").post(BULK, data).status_code == 422
    assert not BulkChange.objects.exists()


def test_bulk_export_holds_the_selected_documents_and_their_pictures(team: Team) -> None:
    one, two = items(team, 2)
    Item.objects.filter(pk=one.pk).update(state=State.DRAFT)
    image_actions.add_images(two, [("a.png", png())], actor=team.ann)
    reply = team.client("aud").get(BULK, {"do": "export", "n": [1]})
    lines = b"".join(reply.streaming_content).splitlines()  # type: ignore[attr-defined]
    assert [json.loads(line)["id"] for line in lines] == ["item-0"]
    reply = team.client("aud").get(BULK, {"do": "export_images", "all": "on"})
    with zipfile.ZipFile(io.BytesIO(b"".join(reply.streaming_content))) as archive:  # type: ignore[attr-defined]
        names = archive.namelist()
        assert names[0] == "items.jsonl" and len(archive.read("items.jsonl").splitlines()) == 2
    assert sum(name.startswith("images/") for name in names) == 1


# --- CSV, columns ---------------------------------------------------------------------------------------------------


def test_csv_has_the_columns_of_the_list_and_its_rows(team: Team) -> None:
    team.item(good_document(id="a", question="=HYPERLINK(1) first"))
    team.item(good_document(id="b", question="Second kestrel"))
    reply = team.client("ann").get("/b/bench/items/csv/?columns=number,question&q=kestrel")
    text = b"".join(reply.streaming_content).decode()  # type: ignore[attr-defined]
    assert text == "\ufeffNumber,Question\r\n2,Second kestrel\r\n"
    text = b"".join(team.client("ann").get("/b/bench/items/csv/").streaming_content).decode()  # type: ignore[attr-defined]
    assert ",'=HYPERLINK(1) first," in text


def test_columns_are_kept_for_a_person_in_their_order(team: Team) -> None:
    items(team, 1)
    client = team.client("ann")
    posted = {"column": ["number", "question", "answer", "due"], "place-answer": "1", "place-question": "3"}
    assert client.post("/b/bench/items/columns/", {**posted, "place-number": "2", "place-due": "9"}).status_code == 302
    assert Preferences.objects.get(user=team.ann).columns == ["answer", "number", "question", "due"]
    text = client.get("/b/bench/items/").content.decode()
    assert 'formaction="/b/bench/items/1/copy/"' in text
    assert "Sort by Due" in text and "Sort by Steps" not in text
    assert "Sort by Steps" in team.client("ann2").get("/b/bench/items/").content.decode()
    client.post("/b/bench/items/columns/", {"action": "reset"})
    assert "Sort by Steps" in client.get("/b/bench/items/").content.decode()


def test_list_shows_every_column_and_sorts_by_those_that_have_an_index(team: Team) -> None:
    one, _two = items(team, 2)
    Item.objects.filter(pk=one.pk).update(auditor=team.aud, due="2020-01-02", is_golden=True)
    text = team.client("ann").get(f"/b/bench/items/?columns={','.join(COLUMNS)}").content.decode()
    assert "overdue" in text and "golden example" in text and "bench-aud" in text
    for column in COLUMNS.values():
        if column.sort:
            assert team.client("ann").get(f"/b/bench/items/?sort={column.sort}").status_code == 200
    text = team.client("ann").get("/b/bench/items/?sort=due").content.decode()
    assert "has a date" in text and 'href="/b/bench/items/2/"' not in text


# --- named views ----------------------------------------------------------------------------------------------------


def save(team: Team, who: str, **data: Any) -> Any:
    return team.client(who).post("/b/bench/items/views/", {"query": "state=draft&sort=steps", "name": "Mine", **data})


def test_view_is_saved_opened_and_known_as_changed(team: Team) -> None:
    items(team, 1)
    address = save(team, "ann")["Location"]
    view = SavedView.objects.get()
    assert (view.name, view.query, view.owner) == ("Mine", "state=draft&sort=steps", team.ann)
    client = team.client("ann")
    text = client.get(address).content.decode()
    assert "Mine: changed" not in text and "Remove filter State: Draft" in text
    assert "Mine: changed" in client.get(f"{address}&q=forth").content.decode()
    posted = {"action": "overwrite", "query": f"{address.partition('?')[2]}&q=forth"}
    client.post(f"/b/bench/items/views/{view.pk}/", posted)
    view.refresh_from_db()
    assert view.query == "q=forth&state=draft&sort=steps"
    assert client.get(f"/b/bench/items/views/{view.pk}/count/").content == b"1"


@pytest.mark.parametrize(("who", "status"), [("ann", 302), ("aud", 302), ("core", 302), ("stranger", 404)])
def test_view_of_ones_own_by_role(team: Team, who: str, status: int) -> None:
    assert save(team, who).status_code == status
    assert SavedView.objects.count() == (status == 302)


@pytest.mark.parametrize(("who", "may"), [("ann", False), ("aud", False), ("core", True), ("admin", True)])
def test_view_is_shared_by_the_core_team_alone(team: Team, who: str, may: bool) -> None:
    save(team, who, shared="on")
    assert SavedView.objects.count() == may
    if may:
        items(team, 1)
        assert "shared" in team.client("ann").get("/b/bench/items/").content.decode()
        view = SavedView.objects.get()
        with pytest.raises(NotAllowed):
            list_actions.change_view(view, actor=team.ann, name="x")
        list_actions.delete_view(view, actor=team.core)
        kinds = ItemEvent.objects.filter(kind__startswith="view.").values_list("kind", flat=True)
        assert sorted(kinds) == ["view.deleted", "view.shared"]


def test_view_of_another_person_is_not_there(team: Team) -> None:
    save(team, "ann")
    pk = SavedView.objects.get().pk
    for who in ("ann2", "core", "stranger"):
        assert team.client(who).post(f"/b/bench/items/views/{pk}/", {"action": "delete"}).status_code == 404
    assert team.client("ann").post(f"/b/bench/items/views/{pk}/", {"action": "delete"}).status_code == 302
    assert not SavedView.objects.exists()


def test_view_with_a_name_that_is_taken_empty_or_long_is_refused(team: Team) -> None:
    list_actions.save_view(team.benchmark, "Mine", "", actor=team.ann)
    for name in ("Mine", " Mine ", "", "x" * 61):
        with pytest.raises(Invalid):
            list_actions.save_view(team.benchmark, name, "", actor=team.ann)
    list_actions.save_view(team.benchmark, "Mine", "", actor=team.ann2)
    items(team, 1)
    reply = team.client("ann").post("/b/bench/items/views/", {"name": "Mine", "query": ""}, follow=True)
    assert "You have a view of this name here" in reply.content.decode()


# --- copies ---------------------------------------------------------------------------------------------------------


def test_copy_is_a_draft_of_ones_own_with_the_content_and_none_of_the_history(team: Team) -> None:
    item = team.item()
    Item.objects.filter(pk=item.pk).update(state=State.LOCKED)
    reply = team.client("ann2").post(f"/b/bench/items/{item.number}/copy/")
    copy = Item.objects.get(copied_from=item)
    assert reply["Location"] == f"/b/bench/items/{copy.number}/"
    assert (copy.author, copy.state, copy.revision_number, copy.gates) == (team.ann2, State.DRAFT, 1, {})
    assert copy.uid != item.uid and copy.document["canary"] == team.benchmark.canary
    same = {name: value for name, value in item.document.items() if name not in ("id", "canary")}
    assert {name: copy.document[name] for name in same} == same
    assert copy.revisions.get().message == f"Copied from #{item.number}"
    assert "This item began as a copy of" in team.client("ann2").get(reply["Location"]).content.decode()


@pytest.mark.parametrize(("who", "status"), [("aud", 302), ("admin", 302), ("stranger", 404)])
def test_copy_by_role(team: Team, who: str, status: int) -> None:
    item = team.item()
    assert team.client(who).post(f"/b/bench/items/{item.number}/copy/").status_code == status
    assert Item.objects.count() == 1 + (status == 302)
