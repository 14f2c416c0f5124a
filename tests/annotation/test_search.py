"""Search: what a text is cut into, what a search asks for, and what it finds. The same on SQLite and PostgreSQL."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from annotation import actions, search
from annotation.folding import fold
from annotation.listing import Filters, item_list
from annotation.models import Item
from annotation.tokens import Phrase, matches_in, phrases, tokens
from annotation.verify import item_problems, reindex
from tests.documents import good_document
from tests.factories import Team, make_team


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("", []),
        ("Forth Bridge, 1890", ["forth", "bridge", "1890"]),
        ("https://example.org/a_b?c=1", ["https", "example", "org", "a", "b", "c", "1"]),
        ("武汉桥", ["武汉", "汉桥", "桥"]),  # each character begins one: with the next, or alone at the end
        ("武", ["武"]),
        ("第3座iPhone手机", ["第", "3", "座", "iphone", "手机", "机"]),
        ("東京タワー", ["东京", "京た", "たわ", "わー", "ー"]),  # folded: simplified, hiragana
        ("서울 역", ["서울", "울", "역"]),
        ("x" * 50, ["x" * 40]),
        ("—…!", []),
    ],
)
def test_tokens_of_words_and_runs(text: str, found: list[str]) -> None:
    assert tokens(fold(text)) == found


@pytest.mark.parametrize(
    ("query", "asked"),
    [
        ("", []),
        ("- \" ' …", []),
        ("Forth brid", [Phrase(("forth",), True), Phrase(("brid",), True)]),
        ("-kestrel", [Phrase(("kestrel",), True, without=True)]),
        ("well-known", [Phrase(("well", "known"), True)]),
        ('"Forth Bridge" -"red kite"', [Phrase(("forth", "bridge"), False), Phrase(("red", "kite"), False, True)]),
        ("“Forth Bridge", [Phrase(("forth", "bridge"), False)]),  # typed quotes, not yet closed
        ("桥", [Phrase(("桥",), True)]),
        ("长江大桥", [Phrase(("长江", "江大", "大桥"), False)]),
        ("长江iPhone", [Phrase(("长江", "江", "iphone"), True)]),
    ],
)
def test_phrases_of_a_search(query: str, asked: list[Phrase]) -> None:
    assert phrases(query) == asked


@given(st.text(max_size=60), st.text(alphabet="ab武汉長 \"'-\\*:&|!()\0", max_size=20))
def test_whatever_is_typed_has_tokens_that_need_no_escape(text: str, query: str) -> None:
    for token in [*tokens(fold(text)), *(t for p in phrases(query) for t in p.tokens)]:
        assert token.isalnum() or not token.isascii()
        assert not set(token) & set("'\"\\ \0")


def test_matches_in_mark_what_was_found() -> None:
    text = "Which Bridge, near 武汉长江大桥, is the ÉCLAIR's?"
    cut = [text[a:b] for a, b in matches_in(text, phrases("brid eclair 长江大"))]
    assert cut == ["Bridge", "长江大", "ÉCLAIR"]
    assert matches_in(text, phrases("-bridge")) == []
    assert [text[a:b] for a, b in matches_in(text, phrases("桥"))] == ["桥"]


QUESTIONS = [
    "Which bridge over the Forth is painted red?",
    "Which kestrel nests under the Forth Road Bridge of Édimbourg?",
    "图中的武汉长江大桥建于哪一年？",
    "武昌的汉口东站在哪里？",
    "東京タワーの高さは iPhone手机 何メートル？",
]


@pytest.fixture
def five(team: Team) -> Team:
    blank = {"checklist": [], "nodes": [], "relations": [], "sources": [], "answer": "", "answer_aliases": []}
    blank |= {"rivals": [], "answer_sources": [], "images": []}
    for number, question in enumerate(QUESTIONS, 1):
        team.item(good_document(id=f"q-{number}", question=question, **blank))
    return team


@pytest.mark.parametrize(
    ("q", "found"),
    [
        ("bridge", [1, 2]),
        ("bridge red", [1]),
        ("BRÏD", [1, 2]),  # the beginning of a word, folded
        ("ridge", []),  # not its end
        ("edimbourg", [2]),
        ('"forth bridge"', []),
        ('"over the forth"', [1]),
        ('"over the fort"', []),  # quotes ask for whole words
        ("bridge -kestrel", [1]),
        ("-bridge", [3, 4, 5]),
        ('-"forth road" bridge', [1]),
        ("武汉", [3]),  # not 武…汉
        ("汉", [3, 4]),
        ("桥", [3]),
        ("站", [4]),
        ("大桥建", [3]),
        ("长江大桥", [3]),
        ("长大", []),
        ("手机", [5]),
        ("iphone手", [5]),
        ("タワ", [5]),
        ("武漢", [3]),  # the traditional form of what stands there
        ("东", [4, 5]),
        ("' OR 1=1 --", []),
        ("bridge:*", [1, 2]),
        ("NOT", []),
        ("*", []),
    ],
)
def test_search_finds(five: Team, q: str, found: list[int]) -> None:
    assert sorted(i.number for i in item_list(five.benchmark, Filters(q=q), five.ann).items) == found


def test_search_stays_within_the_benchmark(five: Team) -> None:
    other = make_team("other")
    other.item(good_document(id="elsewhere", question="A bridge elsewhere"))
    assert [i.number for i in item_list(other.benchmark, Filters(q="bridge"), other.ann).items] == [1]
    assert len(item_list(five.benchmark, Filters(q="bridge"), five.ann).items) == 2


def test_search_for_what_most_items_hold_pages_along_the_sorted_index(
    five: Team, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("annotation.listing.FOUND", 1)
    page = item_list(five.benchmark, Filters(q="bridge", sort="number", ascending=True), five.ann)
    assert [i.number for i in page.items] == [1, 2]
    assert (int(page.total), page.total.more, page.total.words) == (1, True, "1+")


def test_search_looks_into_every_part_and_says_which(team: Team) -> None:
    item = team.item()
    document = good_document()
    for q, part in [
        (document.nodes[0].entity, "entities"),
        (document.checklist[0].conclusion, "steps"),
        (document.sources[0].url, "sources"),
    ]:
        assert [i.pk for i in item_list(team.benchmark, Filters(q=q), team.ann).items] == [item.pk], q
        assert part in search.parts_found([item.pk], phrases(q))[item.pk]
    assert search.parts_found([item.pk], phrases("railway"))[item.pk][0] == "question"


def test_search_follows_a_save(team: Team) -> None:
    item = team.item()
    content = {**item.document, "question": "Which kestrel?"}
    fields = {name: content[name] for name in ("question", "answer", "answer_aliases", "answer_sources", "as_of")}
    fields |= {"language": content["language"], "rivals": content["rivals"]}
    actions.save_section(item, "question", fields, item.section_hashes["question"], actor=team.ann)
    assert item_list(team.benchmark, Filters(q="kestrel"), team.ann).items
    assert not item_list(team.benchmark, Filters(q='"railway crossing"'), team.ann).items


def test_verify_misses_a_lost_index_and_reindex_mends_it(team: Team) -> None:
    from django.db import connection

    item = Item.objects.get(pk=team.item(replace(good_document(), id="x")).pk)
    assert not list(item_problems(item))
    with connection.cursor() as cursor:
        cursor.execute(f"DELETE FROM {search.TABLE}")
    assert list(item_problems(item)) == ["the search index differs from the document"]
    assert reindex(item.pk)
    assert not list(item_problems(item))


def test_search_of_a_huge_item_is_cut_and_not_refused(team: Team) -> None:
    words = " ".join(f"w{n}é" for n in range(30_000))
    item = team.item(good_document(id="huge", question=words))
    assert [i.pk for i in item_list(team.benchmark, Filters(q="w9999"), team.ann).items] == [item.pk]
