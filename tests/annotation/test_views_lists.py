"""The item list: filters, search, sorting, paging, and that it never loads a document."""

from dataclasses import replace
from itertools import product
from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from annotation import actions, benchmark_actions, listing
from annotation.listing import Filters, item_list
from annotation.models import Item
from annotation.states import GATE_SECTIONS, Gate, GateStatus, Role, State, gate_status
from tests.documents import good_document
from tests.factories import Team, make_team

BUDGET = 16


def numbers(page: listing.Page) -> list[int]:
    return [item.number for item in page.items]


def put(item: Item, **columns: Any) -> None:
    Item.objects.filter(pk=item.pk).update(**columns)


def items(team: Team, count: int) -> list[Item]:
    return [
        actions.create_item(team.benchmark, actor=team.ann, document=replace(good_document(), id=f"item-{n}"))
        for n in range(count)
    ]


def test_item_list_shows_a_row_for_each_item_and_its_address(team: Team) -> None:
    item = team.item()
    reply = team.client("ann2").get("/b/bench/items/")
    assert reply.status_code == 200
    assert f'href="/b/bench/items/{item.number}/"' in reply.content.decode()
    assert "The picture shows a railway crossing" in reply.content.decode()


def test_item_list_names_a_category_in_words_and_a_foreign_one_as_it_is(team: Team) -> None:
    put(team.item(), category="media")
    put(team.item(), category="cookery")  # not a category of the benchmark
    team.benchmark.categories.filter(slug="media").update(name="Films and books")
    html = team.client("ann").get("/b/bench/items/").content.decode()
    assert "<div>Films and books</div>" in html and "<div>cookery</div>" in html


def test_item_list_for_a_stranger_does_not_exist(team: Team) -> None:
    assert team.client("stranger").get("/b/bench/items/").status_code == 404


def test_item_list_when_empty_teaches(team: Team) -> None:
    text = team.client("ann").get("/b/bench/items/").content.decode()
    assert "No items yet" in text and "Import a file" not in text
    assert "Import a file" in team.client("admin").get("/b/bench/items/").content.decode()


@pytest.mark.parametrize("query", ["", "?q=bridge&state=draft&category=media&tag=temporal&gate=stale&days=7"])
def test_item_list_of_a_full_page_keeps_to_its_budget_and_reads_no_document(team: Team, query: str) -> None:
    items(team, 51)
    client = team.client("ann2")
    with CaptureQueriesContext(
        connection,
    ) as queries:
        assert client.get(f"/b/bench/items/{query}").status_code == 200
    assert len(queries) <= BUDGET, [q["sql"][:80] for q in queries]
    assert not [q["sql"] for q in queries if '."document"' in q["sql"] or '."findings"' in q["sql"]]


def test_item_list_pages_follow_each_other_without_gap_or_repeat(team: Team) -> None:
    items(team, 7)
    first = item_list(team.benchmark, Filters(), team.ann, size=3)
    second = item_list(team.benchmark, Filters(), team.ann, after=first.after, size=3)
    third = item_list(team.benchmark, Filters(), team.ann, after=second.after, size=3)
    assert (numbers(first), numbers(second), numbers(third)) == ([7, 6, 5], [4, 3, 2], [1])
    assert (first.before, third.after, third.total) == ("", "", 7)
    back = item_list(team.benchmark, Filters(), team.ann, before=third.before, size=3)
    assert numbers(back) == [4, 3, 2] and back.before and back.after
    assert numbers(item_list(team.benchmark, Filters(), team.ann, before=back.before, size=3)) == [7, 6, 5]


def test_item_list_sorted_by_a_column_with_equal_values_pages_by_key(team: Team) -> None:
    made = items(team, 5)
    for item, steps in zip(made, [10, 10, 12, 10, 9], strict=True):
        put(item, steps=steps)
    # Highest first; among equals the newest first: 3 (12), then 4, 2, 1 (10), then 5 (9).
    seen, after = [], ""
    for _page in range(3):
        page = item_list(team.benchmark, Filters(sort="steps"), team.ann, after=after, size=2)
        seen += numbers(page)
        after = page.after
    assert seen == [3, 4, 2, 1, 5]
    assert numbers(item_list(team.benchmark, Filters(sort="steps", ascending=True), team.ann)) == [5, 1, 2, 4, 3]


@pytest.mark.parametrize(
    "cursor", ["x", "2026-01-01T00:00:00,1", "9,9", ",", "2026-13-99T00:00:00+00:00,1", "1," + "9" * 40]
)
def test_item_list_with_a_cursor_that_cannot_be_read_shows_the_first_page(team: Team, cursor: str) -> None:
    team.item()
    assert team.client("ann").get("/b/bench/items/", {"after": cursor}).status_code == 200
    assert numbers(item_list(team.benchmark, Filters(), team.ann, after=cursor)) == [1]


@pytest.mark.parametrize(
    ("q", "found"),
    [
        ("", [2, 1]),
        ("forth", [2, 1]),
        ("FÖRTH bridge", [2, 1]),  # folded as the text is
        ("kestrel", [2]),  # only in the second question
        ("forth kestrel", [2]),  # every word
        ("forth nowhere", []),
        ("#1", [1]),
        ("2", [2, 1]),  # the number, and "32.18 m" or "1588" in the text of both
        ("item-b", [2]),  # the id
        ("#99999999999999999999", []),
        ("f_rth", []),  # no wildcard
    ],
)
def test_item_list_searched_finds_items_with_every_word_or_number_or_id(team: Team, q: str, found: list[int]) -> None:
    team.item(replace(good_document(), id="item-a"))
    team.item(replace(good_document(question="Which kestrel?"), id="item-b"))
    assert numbers(item_list(team.benchmark, Filters(q=q), team.ann)) == found


def test_item_list_filters_narrow_to_what_they_name(team: Team) -> None:
    one, two, three = items(team, 3)
    put(one, state=State.LOCKED, category="media", template="linear", errors=2)
    put(two, state=State.RETURNED, author=team.ann2)
    two.tag_rows.filter(slug="temporal").delete()

    def found(**filters: Any) -> list[int]:
        return numbers(item_list(team.benchmark, Filters(**filters), team.ann))

    assert found(state=["locked", "returned"]) == [2, 1]
    assert found(category=["media"]) == [1]
    assert found(template="linear") == [1]
    assert found(tag=["temporal"]) == [3, 1]
    assert found(tag=["temporal", "constraint"]) == [3, 1]  # both of them
    assert found(author="bench-ann2") == [2]
    assert found(has_errors=True) == [1]
    assert found(days=1) == [3, 2, 1]
    assert three.number == 3


def test_has_gate_agrees_with_gate_status_whatever_was_recorded(team: Team) -> None:
    """Every gate: nothing recorded, passed, failed, and judged before one of its sections changed or was known."""
    item = team.item()
    plain = item.section_hashes
    for gate, kind in product(Gate, ["none", "passed", "failed", "stale", "hashless"]):
        entry: dict[str, Any] | None = {"status": "failed" if kind == "failed" else "passed", "hashes": dict(plain)}
        if kind == "stale":
            last = GATE_SECTIONS[gate][-1]
            entry["hashes"][last] = "0" * 64  # type: ignore[index]
        elif kind == "hashless":
            del entry["hashes"]  # type: ignore[union-attr]
        # The other gates are all passed, so that only this one decides.
        gates: dict[str, Any] = {str(g): {"status": "passed", "hashes": dict(plain)} for g in Gate}
        if kind == "none":
            entry = None
            del gates[str(gate)]
        else:
            gates[str(gate)] = entry
        actions.record_gates(item, gates)
        status = gate_status(entry, gate, plain)
        for asked in (GateStatus.OPEN, GateStatus.FAILED, GateStatus.STALE):
            here = Item.objects.filter(listing.has_gate(asked), pk=item.pk).exists()
            assert here is (status is asked), (gate, kind, asked)


def test_item_list_filters_live_in_the_address_as_chips(team: Team) -> None:
    put(team.item(), state=State.LOCKED)
    text = team.client("ann").get("/b/bench/items/?state=locked&state=draft&q=forth").content.decode()
    assert "Remove filter State: Locked" in text and "Remove filter State: Draft" in text
    # Taking one state away keeps the other and the search.
    assert 'href="?q=forth&amp;state=draft"' in text.replace("state=draft&amp;q=forth", "q=forth&amp;state=draft")
    assert "“forth”" in text


def test_item_list_of_an_unknown_value_says_so_and_shows_the_rest(team: Team) -> None:
    team.item()
    reply = team.client("ann").get("/b/bench/items/?category=nowhere&state=draft&sort=size&days=x&gate=odd")
    text = reply.content.decode()
    assert reply.status_code == 200
    assert "left out: Category, A gate is, Updated, Sort by" in text


def test_item_list_without_a_match_offers_all_items(team: Team) -> None:
    team.item()
    assert "Nothing matches" in team.client("ann").get("/b/bench/items/?q=nowhere").content.decode()


def test_item_list_filters_by_a_category_that_only_an_item_names(team: Team) -> None:
    put(team.item(), category="odd-one")
    text = team.client("ann").get("/b/bench/items/?category=odd-one").content.decode()
    assert "Remove filter Category: odd-one" in text


def test_item_list_shows_gates_and_what_is_short(team: Team) -> None:
    item = team.item()
    put(item, steps=3, gates={"uniqueness": {"status": "passed", "hashes": {}}}, blocking_comments=2, open_comments=3)
    text = team.client("ann").get("/b/bench/items/").content.decode()
    assert "Answer uniqueness: stale" in text and "below the minimum of 10" in text and "2 blocking" in text


def test_item_create_makes_a_draft_and_opens_it(team: Team) -> None:
    reply = team.client("ann").post("/b/bench/items/new/")
    item = Item.objects.get()
    assert reply.status_code == 302 and reply["Location"] == f"/b/bench/items/{item.number}/"
    assert (item.author, item.state, item.revision_number) == (team.ann, State.DRAFT, 1)


@pytest.mark.parametrize(
    ("who", "status"), [("ann", 302), ("aud", 302), ("core", 302), ("admin", 302), ("stranger", 404)]
)
def test_item_create_by_role(team: Team, who: str, status: int) -> None:
    assert team.client(who).post("/b/bench/items/new/").status_code == status
    assert Item.objects.count() == (status == 302)


def test_item_create_by_get_makes_nothing(team: Team) -> None:
    assert team.client("ann").get("/b/bench/items/new/").status_code == 405
    assert not Item.objects.exists()


def test_tab_counts_of_another_benchmark_are_not_counted(team: Team) -> None:
    team.item()
    other = make_team("other")
    benchmark_actions.set_membership(other.benchmark, team.ann, Role.ANNOTATOR, actor=other.root)
    other.item(author=team.ann)
    counts = listing.tab_counts(team.benchmark, team.ann)
    assert (counts["all"], counts["mine"], counts["recent"], counts["locked"]) == (1, 1, 1, 0)


def test_item_list_asked_for_a_character_that_cannot_be_stored_says_so(team: Team) -> None:
    reply = team.client("ann").get("/b/bench/items/?q=a%00b")
    assert reply.status_code == 400 and "cannot be stored" in reply.content.decode()


def test_item_list_asked_for_too_long_a_text_leaves_it_out(team: Team) -> None:
    team.item()
    reply = team.client("ann").get("/b/bench/items/", {"q": "x" * 201})
    assert reply.status_code == 200 and "left out: Search" in reply.content.decode()
