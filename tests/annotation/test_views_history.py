"""History beside an item: revisions by person and day, who wrote what, comparing and restoring."""

from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from annotation import actions
from annotation.document import read_document
from annotation.models import Item, StoredImage
from annotation.states import State
from tests.annotation.pages import HTMX, texts, url
from tests.documents import good_data
from tests.factories import Team


def edited(team: Team) -> Item:
    item = team.item()
    content = read_document(item.document).section("question") | {"question": "A quite different question?"}
    base = item.section_hashes["question"]
    return actions.save_section(item, "question", content, base, actor=team.ann, message="Shorter")


def test_history_lists_who_when_and_what(team: Team) -> None:
    item = edited(team)
    words = texts(team.client("aud").get(url(item, "history/"), **HTMX).content.decode())
    assert "bench-ann · " in words and "r2 edited · Question and answer, just now Shorter" in words
    assert "r1 created" in words


def test_history_when_long_comes_in_pages(team: Team) -> None:
    item = team.item()
    for n in range(60):
        item = actions.save_section(
            item, "design", {"design": f"Version {n}"}, item.section_hashes["design"], actor=team.ann
        )
    first = team.client("ann").get(url(item, "history/"), **HTMX).content.decode()
    assert first.count("<li>") == 50 and "before=12" in first
    rest = team.client("ann").get(url(item, "history/?before=12"), **HTMX).content.decode()
    assert rest.count("<li>") == 11 and "Older revisions" not in rest


@pytest.mark.parametrize("query", ["", "?from=1&to=2", "?from=x&to=y", "?from=&to="])
def test_compare_shows_the_words_that_changed(team: Team, query: str) -> None:
    item = edited(team)
    response = team.client("aud").get(url(item, f"history/compare/{query}"))
    assert response.status_code == 200
    assert "<del>" in response.content.decode() and "<ins>" in response.content.decode()


@pytest.mark.parametrize("query", ["?from=1&to=3", "?from=0&to=1", "?from=7&to=7", "?from=99999999999999999999&to=1"])
def test_compare_with_a_revision_that_is_not_there_is_not_found(team: Team, query: str) -> None:
    assert team.client("ann").get(url(edited(team), f"history/compare/{query}")).status_code == 404


def test_compare_for_strangers_is_not_found(team: Team) -> None:
    assert team.client("stranger").get(url(edited(team), "history/compare/")).status_code == 404


def test_restore_makes_the_old_document_the_newest_revision(team: Team) -> None:
    item = edited(team)
    response = team.client("ann").post(url(item, "history/restore/"), {"number": "1", "base_hash": item.document_hash})
    assert response.status_code == 302
    item.refresh_from_db()
    assert item.revision_number == 3
    assert item.document_hash == item.revisions.get(number=1).document_hash


@pytest.mark.parametrize(
    ("who", "fields", "status"),
    [
        ("ann", {"number": "1", "base_hash": "old"}, 409),
        ("ann", {"number": "77"}, 422),
        ("ann", {"number": "x"}, 422),
        ("ann", {}, 422),
        ("ann2", {"number": "1"}, 403),
        ("stranger", {"number": "1"}, 404),
    ],
)
def test_restore_when_refused_changes_nothing(team: Team, who: str, fields: dict[str, str], status: int) -> None:
    item = edited(team)
    data = {"base_hash": item.document_hash} | fields
    assert team.client(who).post(url(item, "history/restore/"), data).status_code == status
    item.refresh_from_db()
    assert item.revision_number == 2


def test_restore_shows_first_what_it_would_change(team: Team) -> None:
    item = edited(team)
    page = team.client("ann").get(url(item, "history/restore/?number=1"))
    assert page.status_code == 200
    words = texts(page.content.decode())
    assert "The item takes on what r1 says, as a new revision; r2 and all others stay" in words
    assert "1 changed" in words and 'class="wb-ch-changed"' in page.content.decode()
    nothing = texts(team.client("ann").get(url(item, "history/restore/?number=2")).content.decode())
    assert "there is nothing to restore" in nothing


def test_restore_after_somebody_saved_says_so_and_shows_the_difference_of_now(team: Team) -> None:
    item = edited(team)
    seen = item.document_hash
    content = read_document(item.document).section("design") | {"design": "Written meanwhile."}
    actions.save_section(item, "design", content, item.section_hashes["design"], actor=team.ann)
    reply = team.client("ann").post(url(item, "history/restore/"), {"number": "1", "base_hash": seen})
    words = texts(reply.content.decode())
    assert reply.status_code == 409
    assert "The item changed since you opened its history." in words and "2 changed" in words
    item.refresh_from_db()
    assert f'value="{item.document_hash}"' in reply.content.decode()
    again = team.client("ann").post(url(item, "history/restore/"), {"number": "1", "base_hash": item.document_hash})
    assert again.status_code == 302


@pytest.mark.parametrize(("who", "status"), [("ann", 200), ("ann2", 200), ("aud", 200), ("stranger", 404)])
def test_restore_preview_by_role(team: Team, who: str, status: int) -> None:
    item = edited(team)
    reply = team.client(who).get(url(item, "history/restore/?number=1"))
    assert reply.status_code == status
    if status == 200:
        assert ('name="base_hash"' in reply.content.decode()) is (who == "ann")


@pytest.mark.parametrize("number", ["0", "77", "x", "", "9" * 30, "\u0661"])
def test_restore_preview_of_a_revision_that_is_not_there_is_not_found(team: Team, number: str) -> None:
    assert team.client("ann").get(url(edited(team), "history/restore/"), {"number": number}).status_code == 404


def test_restore_of_a_locked_item_is_refused(team: Team) -> None:
    item = edited(team)
    Item.objects.filter(pk=item.pk).update(state=State.APPROVED.value)
    data = {"number": "1", "base_hash": item.document_hash}
    assert team.client("ann").post(url(item, "history/restore/"), data).status_code == 403
    assert "Restore" not in team.client("ann").get(url(item, "history/compare/")).content.decode()


# --- filter and groups ------------------------------------------------------------------------------------------------


def change(team: Team, item: Item, section: str, actor: Any, **fields: Any) -> Item:
    content = read_document(item.document).section(section) | fields
    return actions.save_section(item, section, content, item.section_hashes[section], actor=actor)


def test_history_stands_under_each_person_and_day(team: Team) -> None:
    item = team.item()
    actions.set_coeditors(item, [team.ann2], actor=team.ann)
    for number, actor in enumerate((team.ann, team.ann2, team.ann2, team.ann)):
        item = change(team, item, "design", actor, design=f"Version {number}")
    html = team.client("ann").get(url(item, "history/"), **HTMX).content.decode()
    heads = [texts(part).split(" · ")[0].strip() for part in html.split('<h3 class="wb-pgroup">')[1:]]
    assert heads == ["bench-ann", "bench-ann2", "bench-ann"]  # r5; r4, r3; r2, r1


def test_history_of_one_section_leaves_out_the_others(team: Team) -> None:
    item = change(team, team.item(), "design", team.ann, design="New")
    item = change(team, item, "metadata", team.ann, subtask="x")
    for query, shown in (("design", ["r2", "r1"]), ("metadata", ["r3", "r1"]), ("nonsense", ["r3", "r2", "r1"])):
        html = team.client("aud").get(url(item, f"history/?section={query}"), **HTMX).content.decode()
        assert [part.split("<")[0] for part in html.split('">r')[1:]] == [name[1:] for name in shown]


# --- who wrote it ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("who", "status"), [("ann", 200), ("aud", 200), ("stranger", 404)])
def test_who_wrote_an_element_by_role(team: Team, who: str, status: int) -> None:
    assert team.client(who).get(url(team.item(), "history/element/?key=c1"), **HTMX).status_code == status


def test_who_wrote_an_element_names_people_and_differences(team: Team) -> None:
    item = team.item()
    actions.set_coeditors(item, [team.ann2], actor=team.ann)
    steps = read_document(item.document).section("checklist")["checklist"]
    steps[2]["why_needed"] = "Because."
    item = change(team, item, "checklist", team.ann2, checklist=steps)
    client = team.client("aud")
    with CaptureQueriesContext(connection) as queries:
        words = texts(client.get(url(item, "history/element/?key=c3"), **HTMX).content.decode())
    assert "Written by bench-ann, r1, just now" in words and "changed by bench-ann2, r2" in words
    assert len(queries) <= 15
    assert client.get(url(item, "history/element/?key=c3"))["Location"] == url(item) + "?panel=history&element=c3#panel"
    page = texts(client.get(url(item) + "?panel=history&element=c3").content.decode())
    assert "changed by bench-ann2, r2" in page and "All revisions" in page
    assert "Who wrote c3" in page and "Who wrote s1" in page and "Who wrote n1" in page and "Who wrote i1" in page


@pytest.mark.parametrize("key", ["c99", "", "question", "<b>", "x" * 500])
def test_who_wrote_what_is_not_there_is_not_found(team: Team, key: str) -> None:
    item = team.item()
    assert team.client("ann").get(url(item, "history/element/"), {"key": key}, **HTMX).status_code == 404
    assert team.client("ann").get(url(item), {"panel": "history", "element": key}).status_code == 200


# --- what a comparison shows -----------------------------------------------------------------------------------------


def test_compare_shows_rows_added_removed_moved_steps_by_number_and_both_drawings(team: Team) -> None:
    item = team.item()
    steps = read_document(item.document).section("checklist")["checklist"]
    steps[0], steps[1] = steps[1], steps[0]
    steps[9]["prerequisites"] = ["c9", "c2"]
    steps.insert(3, {"key": "c11", "conclusion": "The diamonds are red.", "prerequisites": ["c1"], "sources": ["s1"]})
    item = change(team, item, "checklist", team.ann, checklist=steps)
    html = team.client("aud").get(url(item, "history/compare/")).content.decode()
    words = texts(html)
    assert "1 added" in words and "1 moved" in words and "1 changed" in words
    assert html.count('class="wb-ch-added"') == 1 and html.count('class="wb-ch-moved"') == 1
    assert "needs: 2 (c1)" in words  # c1 stands second now
    assert "<ins>1 (c2)</ins>" in html
    assert html.count('aria-label="Checklist graph: ') == 2 and 'id="old-crit"' in html and 'id="new-crit"' in html


def test_compare_shows_pictures_and_whole_texts(team: Team) -> None:
    data = good_data(id="pictures", design="word " * 400 + "end")
    item = team.item(read_document(data))
    for digit in "13":
        StoredImage.objects.create(
            benchmark=team.benchmark, sha256=digit * 64, media_type="image/png", width=1, height=1, size=1,
            file="images/x.png", thumbnail="thumbnails/x.webp",
        )  # fmt: skip
    images = read_document(item.document).section("images")["images"]
    images[0] |= {"sha256": "3" * 64, "file": f"images/{'3' * 64}.png"}
    item = change(team, item, "images", team.ann, images=images)
    item = change(team, item, "design", team.ann, design="word " * 400 + "finish")
    html = team.client("aud").get(url(item, "history/compare/?from=1&to=3")).content.decode()
    assert f"{'1' * 64}/thumbnail/" in html and f"{'3' * 64}/thumbnail/" in html
    assert "Whole text" in html and "[…]" in html


def test_compare_leads_to_the_revisions_before_and_after(team: Team) -> None:
    item = team.item()
    for number in range(3):
        item = change(team, item, "design", team.ann, design=f"Version {number}")
    html = team.client("aud").get(url(item, "history/compare/?from=2&to=3")).content.decode()
    assert "?from=1&amp;to=2" in html and "?from=3&amp;to=4" in html
    html = team.client("aud").get(url(item, "history/compare/?from=4&to=1")).content.decode()
    assert "<ins>" in html and "data-shortcut=&quot;[" not in html and "r0" not in html


def test_compare_takes_few_queries_whatever_the_length(team: Team) -> None:
    item = team.item()
    counts = []
    client = team.client("aud")
    for number in range(4):
        item = change(team, item, "design", team.ann, design=f"Version {number}")
        with CaptureQueriesContext(connection) as queries:
            client.get(url(item, "history/compare/"))
        counts.append(len(queries))
    assert len(set(counts[1:])) == 1 and counts[-1] <= 18
