"""Drafts and presence: who may, what is kept, and that nobody else ever sees it."""

import datetime as dt
import re
from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from annotation import actions, drafts, steps
from annotation.document import read_document
from annotation.models import Draft, Item, ItemEvent, Presence, Revision
from annotation.states import State
from lhdr_site.shared.errors import Invalid
from tests.annotation.pages import HTMX, form_fields, open_form, texts, url
from tests.factories import Team


def keep(team: Team, item: Item, who: str = "ann", section: str = "design", **fields: Any) -> Any:
    fields = {"design": "Half", "base_hash": item.section_hashes[section]} | fields
    return team.client(who).post(url(item, f"{section}/draft/"), fields)


def fresh(item: Item) -> Item:
    return Item.objects.select_related("benchmark").get(pk=item.pk)


# --- keeping ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("who", "status"), [("ann", 200), ("ann2", 200), ("aud", 200), ("core", 200), ("admin", 200), ("stranger", 404)]
)
def test_draft_by_role(team: Team, who: str, status: int) -> None:
    item = team.item()
    assert keep(team, item, who).status_code == status
    assert Draft.objects.filter(user=getattr(team, who)).count() == (status == 200)
    assert team.client(who).post(url(item, "design/draft/drop/")).status_code == status
    assert Draft.objects.count() == 0
    assert team.client(who).get(url(item, "design/draft/")).status_code == 405


def test_draft_is_one_a_section_and_neither_revision_nor_event(team: Team) -> None:
    item = team.item()
    events = ItemEvent.objects.count()
    for text in ("Half", "Half a"):
        assert keep(team, item, design=text, csrfmiddlewaretoken="t", save_key="k").json()["kept"]
    draft = Draft.objects.get()
    assert (draft.body, draft.base_hash) == ("design=Half+a", item.section_hashes["design"])
    assert (Revision.objects.count(), ItemEvent.objects.count()) == (1, events)
    assert fresh(item).document == item.document


def test_draft_is_offered_to_its_writer_alone(team: Team) -> None:
    item = team.item()
    actions.set_coeditors(item, [team.ann2], actor=team.ann)
    keep(team, item, design="Secrethalf")
    for path in ("", "design/", "design/edit/"):
        assert "Secrethalf" in team.client("ann").get(url(item, path), **HTMX).content.decode()
        assert "Secrethalf" not in team.client("ann2").get(url(item, path), **HTMX).content.decode()
    assert "Unsaved text of mine" in team.client("ann").get("/").content.decode()
    assert "Unsaved text of mine" not in team.client("ann2").get("/").content.decode()


def test_draft_opens_on_the_version_it_started_from(team: Team) -> None:
    item, client = team.item(), team.client("ann")
    actions.set_coeditors(item, [team.ann2], actor=team.ann)
    keep(team, item, design="Mine")
    actions.save_section(item, "design", {"design": "Theirs"}, item.section_hashes["design"], actor=team.ann2)
    fields = open_form(client, item, "design")
    assert (fields["design"], fields["base_hash"]) == ("Mine", item.section_hashes["design"])
    response = client.post(url(item, "design/"), fields, **HTMX)
    assert response.status_code == 409
    assert Draft.objects.count() == 1  # until it is saved


def test_draft_goes_when_it_is_saved_and_does_not_come_back_late(team: Team) -> None:
    item, client = team.item(), team.client("ann")
    fields = open_form(client, item, "design") | {"design": "Whole"}
    assert keep(team, item, **fields).json()["kept"]
    assert client.post(url(item, "design/"), fields).status_code == 302
    assert Draft.objects.count() == 0
    assert keep(team, item, **fields | {"design": "Who"}).json() == {"kept": None}
    assert Draft.objects.count() == 0


def test_draft_when_dropped_can_be_had_again(team: Team) -> None:
    item, client = team.item(), team.client("ann")
    keep(team, item, design="Dropped by mistake")
    html = client.post(url(item, "design/draft/drop/"), **HTMX).content.decode()
    assert Draft.objects.count() == 0
    assert 'value="Dropped by mistake"' in html
    page = client.post(url(item, "design/draft/drop/"), {"design": "Typed", "base_hash": "x"}).content.decode()
    assert "<!DOCTYPE" in page and 'value="Typed"' in page
    undo = client.post(url(item, "design/edit/"), {"design": "Typed", "base_hash": "x"}, **HTMX).content.decode()
    assert form_fields(undo)["design"] == "Typed"
    unchanged = open_form(client, item, "design")
    assert "data-dropped" not in client.post(url(item, "design/draft/drop/"), unchanged, **HTMX).content.decode()


def test_draft_of_an_item_that_was_locked_is_still_kept_and_shown(team: Team) -> None:
    item, client = team.item(), team.client("ann")
    Item.objects.filter(pk=item.pk).update(state=State.SUBMITTED)
    assert client.get(url(item, "design/edit/")).status_code == 403
    assert keep(team, item, design="Typed meanwhile").status_code == 200
    html = client.get(url(item, "design/edit/")).content.decode()
    assert "Typed meanwhile" in html and "Your text is kept; it cannot be saved now." in html


@pytest.mark.parametrize(
    ("fields", "status"),
    [({"base_hash": "x" * 5000}, 200), ({"design": "x\x00"}, 400), ({"save_key": "k" * 5000}, 200), ({}, 200)],
)
def test_draft_of_odd_fields_never_fails(team: Team, fields: dict[str, str], status: int) -> None:
    assert keep(team, team.item(), **fields).status_code == status


def test_draft_that_is_too_long_is_refused_with_its_length(team: Team) -> None:
    item = team.item()
    with pytest.raises(Invalid, match="2000001 characters"):
        drafts.keep_draft(item, "design", "", "x" * 2_000_001, actor=team.ann)
    assert Draft.objects.count() == 0


# --- saving -------------------------------------------------------------------------------------------------------


def test_form_sent_twice_makes_one_revision_and_with_more_text_another(team: Team) -> None:
    item, client = team.item(), team.client("ann")
    fields = open_form(client, item, "checklist") | {"checklist-11-conclusion": "A new step."}
    for _click in range(2):
        assert client.post(url(item, "checklist/"), fields).status_code == 302
    assert fresh(item).revision_number == 2
    # The Back button brings the form back as it was: its text goes on from what it saved, not from before it.
    fields["checklist-1-conclusion"] = "Reworded after going back."
    assert client.post(url(item, "checklist/"), fields).status_code == 302
    steps_now = read_document(fresh(item).document).checklist
    assert (fresh(item).revision_number, steps_now[0].conclusion) == (3, "Reworded after going back.")
    assert [s.conclusion for s in steps_now[10:]] == ["A new step."]


def test_form_sent_again_after_others_changed_the_section_shows_both(team: Team) -> None:
    item, client = team.item(), team.client("ann")
    actions.set_coeditors(item, [team.ann2], actor=team.ann)
    fields = open_form(client, item, "design") | {"design": "Mine"}
    client.post(url(item, "design/"), fields)
    now = fresh(item)
    actions.save_section(now, "design", {"design": "Theirs"}, now.section_hashes["design"], actor=team.ann2)
    assert client.post(url(item, "design/"), fields).status_code == 302  # the retry of a save that was made
    assert client.post(url(item, "design/"), fields | {"design": "More of mine"}).status_code == 409
    assert fresh(item).document["design"] == "Theirs"


def test_text_typed_by_another_person_is_not_saved_unawares(team: Team) -> None:
    item = team.item()
    actions.set_coeditors(item, [team.ann2], actor=team.ann)
    fields = open_form(team.client("ann"), item, "design") | {"design": "Typed by ann"}
    other = team.client("ann2")
    response = other.post(url(item, "design/"), fields, **HTMX)
    assert response.status_code == 422
    assert "You are logged in as bench-ann2 now" in response.content.decode()
    again = form_fields(response.content.decode())
    assert (again["design"], fresh(item).revision_number) == ("Typed by ann", 1)
    assert keep(team, item, "ann2", **fields).status_code == 422
    assert Draft.objects.count() == 0
    assert other.post(url(item, "design/"), again).status_code == 302
    assert item.revisions.first().author == team.ann2


def test_save_that_stays_answers_with_a_fresh_form(team: Team) -> None:
    item, client = team.item(), team.client("ann")
    fields = open_form(client, item, "checklist") | {"checklist-11-conclusion": "A new step.", "stay": "1"}
    html = client.post(url(item, "checklist/"), fields, **HTMX).content.decode()
    again = form_fields(html)
    assert again["base_hash"] == fresh(item).section_hashes["checklist"] != fields["base_hash"]
    assert again["checklist-11-key"] == "c11"
    assert 'id="item-head" hx-swap-oob="true"' in html


def test_conflict_with_oneself_says_so(team: Team) -> None:
    item, client = team.item(), team.client("ann")
    fields = open_form(client, item, "design") | {"design": "Here"}
    actions.save_section(item, "design", {"design": "There"}, item.section_hashes["design"], actor=team.ann)
    html = client.post(url(item, "design/"), fields, **HTMX).content.decode()
    assert "You saved this section as revision 2 in another window while you wrote here." in texts(html)


def test_conflict_in_a_row_offers_both_texts(team: Team) -> None:
    item, client = team.item(), team.client("ann")
    fields = open_form(client, item, "checklist") | {"checklist-1-conclusion": "Mine."}
    content = read_document(item.document).section("checklist")
    content["checklist"][0]["conclusion"] = "Theirs."
    actions.save_section(item, "checklist", content, item.section_hashes["checklist"], actor=team.ann)
    response = client.post(url(item, "checklist/"), fields, **HTMX)
    assert response.status_code == 409
    assert 'data-clash="checklist-1-conclusion" data-mine="Mine." data-theirs="Theirs."' in response.content.decode()


# --- presence -----------------------------------------------------------------------------------------------------


def hashes(item: Item) -> str:
    return " ".join(f"{name}:{digest[:12]}" for name, digest in item.section_hashes.items())


def beat(team: Team, item: Item, who: str, **fields: str) -> str:
    fields = {"hashes": hashes(item), "state": item.state} | fields
    response = team.client(who).post(url(item, "presence/"), fields)
    assert response.status_code == 200
    return texts(response.content.decode())


@pytest.mark.parametrize("who", ["ann", "ann2", "aud", "core", "admin"])
def test_presence_of_members_is_told_to_others(team: Team, who: str) -> None:
    item = team.item()
    assert "Also here" not in beat(team, item, who, section="sources")
    other = "ann2" if who == "ann" else "ann"
    assert re.search(rf"Also here: bench-{who}, in\s+Sources", beat(team, item, other))


def test_presence_for_strangers_does_not_exist(team: Team) -> None:
    assert team.client("stranger").post(url(team.item(), "presence/")).status_code == 404
    assert Presence.objects.count() == 0
    assert team.client("ann").get(url(team.item(), "presence/")).status_code == 405


def test_presence_ends_with_a_goodbye_and_after_a_minute(team: Team) -> None:
    item = team.item()
    beat(team, item, "ann2")
    assert "bench-ann2" in beat(team, item, "ann")
    Presence.objects.filter(user=team.ann2).update(seen=timezone.now() - dt.timedelta(seconds=61))
    assert "bench-ann2" not in beat(team, item, "ann")
    Presence.objects.filter(user=team.ann2).update(seen=timezone.now() - dt.timedelta(minutes=6))
    assert steps.sweep_presences() == 1
    assert team.client("ann").post(url(item, "presence/"), {"leave": "1"}).status_code == 204
    assert Presence.objects.count() == 0


def test_presence_of_a_tab_that_only_reads_leaves_the_section_of_another(team: Team) -> None:
    item = team.item()
    beat(team, item, "ann", section="sources")
    beat(team, item, "ann")
    assert Presence.objects.get().section == "sources"
    beat(team, item, "ann", was="sources")
    assert Presence.objects.get().section == ""


def test_presence_tells_what_others_saved_and_that_the_state_changed(team: Team) -> None:
    item = team.item()
    actions.set_coeditors(item, [team.ann2], actor=team.ann)
    actions.save_section(item, "design", {"design": "New"}, item.section_hashes["design"], actor=team.ann2)
    told = beat(team, item, "ann")
    assert "bench-ann2 saved Design notes" in told and told.count("Show it") == 1
    assert "You saved Design notes in another window" in beat(team, item, "ann2")
    assert "saved" not in beat(team, fresh(item), "ann")
    Item.objects.filter(pk=item.pk).update(state=State.LOCKED)
    told = beat(team, item, "ann")
    assert "The state of this item changed: Locked" in told and "kept as a draft" in told
    shown = team.client("ann").get(url(item, "design/") + "?with=page", **HTMX).content.decode()
    assert 'id="item-head" hx-swap-oob="true"' in shown


@pytest.mark.parametrize("odd", ["question", "question: :x", "nothing:1 question:", "a:b" * 2000])
def test_presence_of_odd_fields_never_fails(team: Team, odd: str) -> None:
    beat(team, team.item(), "ann", hashes=odd, section=odd, was=odd, state="odd")


def test_heartbeat_takes_four_queries_and_reads_no_document(team: Team) -> None:
    item, client = team.item(), team.client("ann")
    for other in ("ann2", "aud", "core", "admin"):
        beat(team, item, other, section="sources")
    fields = {"hashes": hashes(item), "state": item.state, "section": "design"}
    client.post(url(item, "presence/"), fields)
    with CaptureQueriesContext(connection) as queries:
        client.post(url(item, "presence/"), fields)
    assert len(queries) <= 4, [q["sql"][:90] for q in queries]
    assert not [q["sql"] for q in queries if '"document"' in q["sql"]]


def test_reading_writes_nothing(team: Team) -> None:
    item, client = team.item(), team.client("ann")
    keep(team, item)
    with CaptureQueriesContext(connection) as queries:
        for path in (
            "",
            "design/",
            "design/?with=page",
            "design/edit/",
            "question/edit/",
            "checks/",
            "comments/",
            "history/",
        ):
            assert client.get(url(item, path), **HTMX).status_code == 200
    assert not [q["sql"] for q in queries if re.match(r"(INSERT|UPDATE|DELETE)", q["sql"])]
