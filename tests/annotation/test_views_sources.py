"""Sources: what the form is told while one types, captures, what has no support, and the reuse radar."""

from dataclasses import replace
from typing import Any
from uuid import uuid4

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.db import connection
from django.test.utils import CaptureQueriesContext

from annotation import listing
from annotation.document import Document, read_document
from annotation.models import Item
from annotation.queries import item_page
from annotation.reuse import SHOWN, entities_elsewhere, sources_elsewhere
from annotation.states import State
from tests.annotation.pages import HTMX, open_form, texts, url
from tests.annotation.test_images import png
from tests.documents import good_document
from tests.factories import Team, make_team

ROLES = [("ann", 200), ("ann2", 200), ("aud", 200), ("core", 200), ("stranger", 404)]


@pytest.fixture
def team(db: Any) -> Team:
    return make_team()


def with_urls(*urls: str, entity: str = "") -> Document:
    """The good document with these URLs in its first sources, and perhaps another first entity."""
    document, own = good_document(), uuid4().hex
    sources = [
        replace(source, url=urls[n] if n < len(urls) else f"https://other.example/{own}/{n}")
        for n, source in enumerate(document.sources)
    ]
    first, *nodes = document.nodes
    others = [replace(node, entity=f"{node.entity} {own}") for node in nodes]
    return replace(
        document,
        id=f"source-{own}",
        sources=tuple(sources),
        nodes=(replace(first, entity=entity or first.entity), *others),
    )


def fresh(item: Item) -> Item:
    return Item.objects.select_related("benchmark", "author").get(pk=item.pk)


def rows(*given: dict[str, str]) -> dict[str, str]:
    return {f"sources-{n}-{name}": text for n, row in enumerate(given, 1) for name, text in row.items()}


# --- while one types ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("who", "status"), ROLES)
def test_look_and_read_by_role(team: Team, who: str, status: int) -> None:
    item, client = team.item(), team.client(who)
    assert client.post(url(item, "sources/look/")).status_code == status
    assert client.post(url(item, "sources/read/"), {"text": "https://a.org"}).status_code == status
    assert client.get(url(item, "sources/look/")).status_code == 405


def test_look_says_kind_problem_place_and_sameness(team: Team) -> None:
    posted = rows(
        {"url": "https://youtu.be/dQw4w9WgXcQ", "newkey": "s9", "locator": "03:41"},
        {"url": "https://www.youtube.com/watch?v=dQw4w9WgXcQ", "newkey": "s10", "locator": "03:41"},
        {"url": "https://m.youtube.com/watch?v=dQw4w9WgXcQ", "newkey": "s11", "locator": "third scene"},
        {"url": "javascript:alert(1)", "newkey": "s12"},
        {"url": "https://u:p@example.org/a b#c%", "newkey": "s13"},
        {"url": "https://example.org/a.pdf", "kind": "web", "newkey": "s14", "locator": "p. 12"},
        {"url": "  ", "newkey": "s15"},
        {"url": "https://en.wikipedia.org/wiki/A", "newkey": "s16", "remove": "1"},
        {"url": "https://de.m.wikipedia.org/wiki/A", "newkey": "s17"},
    )
    html = team.client("ann").post(url(team.item(), "sources/look/"), posted, **HTMX).content.decode()
    assert html.count("data-look=") == 7
    assert 'href="https://youtu.be/dQw4w9WgXcQ?t=221s"' in html
    assert html.count('data-detected="video"') == 3
    text = texts(html)
    assert "The same page as s9: remove one" in text
    assert "Another place on the page of s9." in text
    assert "No time can be read in the place" in text
    assert "The address does not begin with http:// or https://." in text
    assert "holds a space" in text
    assert 'href="javascript' not in html and 'href="https://u:p@' not in html
    assert 'data-detected="pdf"' in html and "#page=12" not in html  # it was said to be a web page
    assert "Wikipedia 14%, at most 50%" in text


def test_look_when_nonsense_is_posted_answers_all_the_same(team: Team) -> None:
    posted = rows({"url": "https://a.org/\x00\ud800"}, {"url": "x" * 5000, "kind": "nonsense", "locator": "9" * 500})
    data = "&".join(f"{name}=%00%ED%A0%80" for name in posted)
    client, item = team.client("ann"), team.item()
    for path in ("look", "read"):
        reply = client.post(url(item, f"sources/{path}/"), data, content_type="application/x-www-form-urlencoded")
        assert reply.status_code in (200, 400, 422)


def test_read_returns_rows_and_says_what_was_left_out(team: Team) -> None:
    text = "[A](https://a.org/1)\nhttps://www.a.org/1/\nno address"
    answer = team.client("ann").post(url(team.item(), "sources/read/"), {"text": text}).json()
    assert answer["rows"] == [{"url": "https://a.org/1", "title": "A"}, {"url": "https://www.a.org/1/"}]
    assert answer["said"] == ("2 sources added. 1 address stands twice in it. 1 line without an address was left out.")


def test_pasted_text_without_script_becomes_rows_and_loses_nothing(team: Team) -> None:
    item, client = team.item(), team.client("ann")
    text = "See [The film](https://youtu.be/x) and\nthe page https://b.example/2.\nno address here"
    client.post(url(item, "sources/"), open_form(client, item, "sources") | {"sources-paste": text})
    added = read_document(fresh(item).document).sources[8:]
    assert [(s.url, s.title, s.kind) for s in added] == [
        ("https://youtu.be/x", "The film", "video"),
        ("https://b.example/2", "", "web"),
        ("no address here", "", "web"),
    ]


# --- captures -----------------------------------------------------------------------------------------------------


def upload() -> dict[str, Any]:
    return {"capture": SimpleUploadedFile("shot.png", png(), "image/png")}


@pytest.mark.parametrize(("who", "status"), [("ann", 200), ("ann2", 403), ("core", 403), ("stranger", 404)])
def test_capture_by_role(team: Team, who: str, status: int) -> None:
    item = team.item()
    before = len(read_document(item.document).images)
    reply = team.client(who).post(url(item, "sources/capture/"), upload(), **HTMX)
    assert reply.status_code == status
    images = read_document(fresh(item).document).images
    assert len(images) == before + (status == 200)
    if status == 200:
        assert images[-1].role == "evidence" and reply["X-Image-Key"] == images[-1].key
        assert f'data-capture="{images[-1].key}"' in reply.content.decode()


def test_capture_leaves_the_open_form_of_sources_without_conflict(team: Team) -> None:
    item, client = team.item(), team.client("ann")
    fields = open_form(client, item, "sources")
    key = client.post(url(item, "sources/capture/"), upload(), **HTMX)["X-Image-Key"]
    assert client.post(url(item, "sources/"), fields | {"sources-1-captures": key}).status_code == 302
    assert read_document(fresh(item).document).sources[0].captures == (key,)
    page = client.get(url(item)).content.decode()
    assert f'data-capture="{key}"' in page


@pytest.mark.parametrize("data", [{}, {"capture": "text"}, {"capture": SimpleUploadedFile("a.png", b"no picture")}])
def test_capture_when_it_is_no_picture_is_refused_with_nothing_saved(team: Team, data: dict[str, Any]) -> None:
    item = team.item()
    reply = team.client("ann").post(url(item, "sources/capture/"), data, **HTMX)
    assert reply.status_code == 422
    assert fresh(item).document_hash == item.document_hash


def test_capture_on_a_locked_item_is_refused(team: Team) -> None:
    item = team.item()
    Item.objects.filter(pk=item.pk).update(state=State.LOCKED)
    assert team.client("ann").post(url(item, "sources/capture/"), upload(), **HTMX).status_code == 403


# --- support ------------------------------------------------------------------------------------------------------


def test_page_names_what_no_source_supports_and_links_to_it(team: Team) -> None:
    document = good_document()
    step = replace(document.checklist[3], sources=())
    steps = (*document.checklist[:3], step, *document.checklist[4:])
    item = team.item(replace(document, id="unsupported", answer_sources=(), checklist=steps))
    html = team.client("aud").get(url(item)).content.decode()
    assert "Nothing supports" in html
    assert f'href="#step-{step.key}" title="Name a source there">step 4</a>' in html
    assert '">the answer</a>' in html
    assert "Every element and the answer has a source" in texts(
        team.client("aud").get(url(team.item())).content.decode()
    )


def test_unsound_address_is_shown_inert(team: Team) -> None:
    item = team.item(with_urls("javascript:alert(1)", "https://u:p@example.org/", "http://192.168.0.1/x"))
    html = team.client("ann").get(url(item)).content.decode()
    for part in ("javascript:alert(1)", "https://u:p@example.org/", "http://192.168.0.1/x"):
        assert part in html and f'href="{part}' not in html


# --- the reuse radar ----------------------------------------------------------------------------------------------


def test_radar_finds_the_same_page_and_entity_in_other_items_of_the_benchmark_only(team: Team) -> None:
    mine = team.item(with_urls("https://youtu.be/dQw4w9WgXcQ", "https://b.example/", entity="Forth Bridge"))
    same = team.item(with_urls("https://www.youtube.com/watch?v=dQw4w9WgXcQ&t=3", entity="FORTH  bridge"))
    foreign = make_team("foreign")
    foreign.item(with_urls("https://youtu.be/dQw4w9WgXcQ", entity="Forth Bridge"))
    page = item_page(fresh(mine), team.ann)
    assert {k: v.numbers for k, v in page.sources_elsewhere.items()} == {"s1": (same.number,)}
    assert {k: v.numbers for k, v in page.nodes_elsewhere.items()} == {"n1": (same.number,)}
    html = team.client("aud").get(url(mine)).content.decode()
    assert "1 source and 1 entity also in other items." in texts(html)
    assert html.count(f'href="{url(same)}">#{same.number}</a>') == 2


def test_radar_shows_five_and_leads_to_the_rest(team: Team) -> None:
    items = [team.item(with_urls("https://a.example/x?utm_source=1", entity="Ä & B")) for _n in range(SHOWN + 3)]
    # an item that has the page twice counts once
    twice = team.item(with_urls("https://a.example/x", "http://www.a.example/x/", entity="ä & b"))
    page = item_page(fresh(items[0]), team.ann)
    found = page.sources_elsewhere["s1"]
    assert found.numbers == (twice.number, *(i.number for i in reversed(items[-4:])))
    assert found.more == page.nodes_elsewhere["n1"].more == SHOWN + 3 - SHOWN
    client = team.client("ann")
    html = client.get(url(items[0])).content.decode()
    for query in ("source=https%3A%2F%2Fa.example%2Fx%3Futm_source%3D1", "entity=%C3%84%20%26%20B"):
        assert f"?{query}" in html
        listed = client.get(f"/b/bench/items/?{query}")
        assert listed.context["page"].total == SHOWN + 4
        assert "Remove filter" in listed.content.decode()
    assert client.get("/b/bench/items/?source=https://nowhere.example/").context["page"].total == 0


@pytest.mark.parametrize("count", [1, 40])
def test_radar_takes_two_queries_however_many_sources_there_are(team: Team, count: int) -> None:
    urls = [f"https://a.example/{n}" for n in range(count)]
    team.item(with_urls(*urls))
    with CaptureQueriesContext(
        connection,
    ) as queries:
        sources_elsewhere(team.benchmark, urls)
        entities_elsewhere(team.benchmark, urls)
    assert len(queries) == 2


def test_radar_reads_the_rows_it_looks_for_and_not_all_items_of_the_benchmark(team: Team) -> None:
    urls = [f"https://a.example/{n}" for n in range(8)]
    with CaptureQueriesContext(connection) as queries:
        sources_elsewhere(team.benchmark, urls)
        entities_elsewhere(team.benchmark, urls)
    explain = "EXPLAIN" if connection.vendor == "postgresql" else "EXPLAIN QUERY PLAN"
    with connection.cursor() as cursor:
        for query in queries.captured_queries:
            cursor.execute(f"{explain} {query['sql']}")
            plan = str(cursor.fetchall())
            assert "(benchmark_id=?)" not in plan and "SCAN annotation_item" not in plan


def test_look_says_where_a_pasted_address_stands_already(team: Team) -> None:
    there, item = team.item(with_urls("https://a.example/x")), team.item(with_urls("https://b.example/"))
    posted = rows({"url": "http://www.a.example/x#top", "newkey": "s9"})
    html = team.client("ann").post(url(item, "sources/look/"), posted, **HTMX).content.decode()
    assert f"also in #{there.number}" in texts(html).replace("  ", " ")


def test_filters_by_source_and_entity_narrow_nothing_when_empty(team: Team) -> None:
    team.item()
    assert listing.item_list(team.benchmark, listing.Filters(source="", entity=""), team.ann).total == 1
