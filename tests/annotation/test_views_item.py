"""The item workbench as a whole: who sees what, what it says, and how many queries it takes."""

import re

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from annotation import actions, comment_actions, steps
from annotation.document import SECTIONS, empty_document, read_document
from annotation.models import Item
from annotation.states import State
from tests.annotation.pages import HTMX, PLAIN_AND_HTMX, texts, url
from tests.documents import good_data
from tests.factories import Team


@pytest.mark.parametrize("who", ["ann", "ann2", "aud", "core", "admin"])
def test_item_page_for_members_shows_every_section(team: Team, who: str) -> None:
    item = team.item()
    response = team.client(who).get(url(item))
    html = response.content.decode()
    assert response.status_code == 200
    for section in SECTIONS:
        assert f'id="{section}"' in html
    assert html.count("data-edit") == (len(SECTIONS) if who == "ann" else 0)
    assert ("You read this item." in html) is (who != "ann")


def test_item_page_for_strangers_does_not_exist(team: Team) -> None:
    item = team.item()
    assert team.client("stranger").get(url(item)).status_code == 404
    assert team.client("root").get(f"/b/{team.benchmark.slug}/items/999/").status_code == 404


def test_item_page_without_log_in_leads_to_it(team: Team, client: object) -> None:
    from django.test import Client

    response = Client().get(url(team.item()))
    assert (response.status_code, response["Location"].split("?")[0]) == (302, "/login/")


def test_item_page_when_opened_writes_nothing(team: Team) -> None:
    item = team.item()
    for panel in ("checks", "comments", "history"):
        with CaptureQueriesContext(
            connection,
        ) as queries:
            assert team.client("ann").get(url(item, f"?panel={panel}")).status_code == 200
        writes = [q["sql"] for q in queries if re.match(r"(INSERT|UPDATE|DELETE)", q["sql"])]
        assert [sql for sql in writes if "session" not in sql and "last_login" not in sql] == []
    assert Item.objects.get(pk=item.pk).checked_hash == ""


@pytest.mark.parametrize(("panel", "most"), [("checks", 26), ("comments", 32), ("history", 26)])
def test_item_page_keeps_to_its_queries_whatever_its_size(team: Team, panel: str, most: int) -> None:
    data = good_data(id="large")
    data["checklist"] += [
        {"key": f"c{n}", "conclusion": f"Conclusion number {n} of the long chain.", "prerequisites": [f"c{n - 1}"]}
        for n in range(11, 61)
    ]
    small, large = team.item(), team.item(read_document(data))
    for item in (small, large):
        for n in range(8):
            comment = comment_actions.add_comment(item, f"Comment {n}", actor=team.aud, anchor="c1")
            comment_actions.add_comment(item, "Reply", actor=team.ann, parent=comment)
        steps.check_item(item.pk)
    counts = []
    for item in (small, large):
        client = team.client("ann")
        client.get(url(item))
        with CaptureQueriesContext(connection) as queries:
            client.get(url(item, f"?panel={panel}"))
        counts.append(len(queries))
    assert counts[0] == counts[1] <= most


def test_item_page_marks_what_the_question_gives_away(team: Team) -> None:
    # Two findings mark "Cleopatra" and "Cleopatra's Needle" in one place: one mark, and both notes name it.
    question = "Where does Cleopatra's Needle stand, and was Thutmose III there?"
    item = team.item(read_document(good_data(id="leak", question=question)))
    html = team.client("ann").get(url(item)).content.decode()
    marks = re.findall(r'<mark class="wb-leak">(.*?)<sup>(\d)</sup></mark>', html)
    assert marks == [("Cleopatra&#x27;s Needle", "1"), ("Thutmose III", "2")]
    notes = html.split('id="question"')[1].split("</section>")[0]
    assert notes.count("<b>1</b>") == 2 and notes.count("<b>2</b>") == 1


def test_item_page_of_an_empty_item_says_what_each_section_is_for(team: Team) -> None:
    item = actions.create_item(team.benchmark, actor=team.ann, document=empty_document("empty"))
    html = team.client("ann").get(url(item)).content.decode()
    assert "No question yet" in html and "Statements, not actions." in html
    assert "3 errors to mend first" in html and 'aria-disabled="true"' in html


def test_item_page_refuses_links_that_run_script(team: Team) -> None:
    data = good_data(id="links")
    data["sources"][0]["url"] = "javascript:alert(1)"
    data["sources"][1]["url"] = 'https://a.example/"><script>alert(1)</script>'
    data["images"][0] |= {"sha256": "", "file": "", "url": "javascript:alert(2)"}
    html = team.client("ann").get(url(team.item(read_document(data)))).content.decode()
    assert 'href="javascript:' not in html and "<script>alert" not in html


def test_item_page_shows_gates_figures_and_findings(team: Team) -> None:
    item = team.item()
    words = texts(team.client("aud").get(url(item)).content.decode())
    assert "Answer uniqueness" in words
    assert "Steps 10 Depth 9 Nodes 5 Sources 8 Wikipedia 38% Non-text steps 2" in words
    assert "Image i1" in words or "The file of image i1 is missing here." in words


@pytest.mark.parametrize(("who", "shown"), [("ann", True), ("ann2", False), ("core", False)])
def test_submit_is_offered_to_those_whose_item_it_is(team: Team, who: str, shown: bool) -> None:
    item = team.item()
    html = team.client(who).get(url(item)).content.decode()
    assert ("Submit for audit" in html) is shown
    if shown:
        assert f'name="hash" value="{item.document_hash}"' in html
    Item.objects.filter(pk=item.pk).update(state=State.APPROVED.value)
    assert "Submit for audit" not in team.client(who).get(url(item)).content.decode()


# --- people -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("who", "status"), [("ann", 302), ("core", 302), ("ann2", 403), ("aud", 403), ("stranger", 404)]
)
def test_coeditors_by_role(team: Team, who: str, status: int) -> None:
    item = team.item()
    response = team.client(who).post(url(item, "coeditors/"), {"coeditors": [team.ann2.pk]})
    assert response.status_code == status
    assert list(item.coeditors.all()) == ([team.ann2] if status == 302 else [])


@pytest.mark.parametrize("posted", [["999999999999"], ["x"], ["-1"], ["9" * 50], [""]])
def test_coeditors_when_unknown_are_422_and_nothing_changes(team: Team, posted: list[str]) -> None:
    item = team.item()
    actions.set_coeditors(item, [team.aud], actor=team.ann)
    for kind in PLAIN_AND_HTMX:
        response = team.client("ann").post(url(item, "coeditors/"), {"coeditors": posted}, **kind)
        assert response.status_code == 422
        assert "Choose co-editors among the members" in response.content.decode()
    assert list(item.coeditors.all()) == [team.aud]


def test_coeditors_who_are_no_members_are_refused_by_name(team: Team) -> None:
    item = team.item()
    response = team.client("ann").post(url(item, "coeditors/"), {"coeditors": [team.stranger.pk]}, **HTMX)
    assert response.status_code == 422
    assert "bench-stranger" in response.content.decode()


def test_coeditors_for_htmx_is_the_card(team: Team) -> None:
    item = team.item()
    html = team.client("ann").post(url(item, "coeditors/"), {"coeditors": [team.ann2.pk]}, **HTMX).content.decode()
    assert html.lstrip().startswith('<section class="wb-card" id="people"')
    assert "bench-ann2" in texts(html)
    assert team.client("ann").post(url(item, "coeditors/"), {}, **HTMX).status_code == 200
    assert list(item.coeditors.all()) == []
