"""Items that ask nearly the same: both learn of it, and both forget, whatever is saved in between."""

from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from annotation import actions, steps
from annotation.document import read_document
from annotation.finding_queries import current_findings
from annotation.models import Item, ItemQuestion
from tests.documents import QUESTION, good_data
from tests.factories import Team

OTHER = "Which river runs under the oldest of the bridges that the poet of the second picture crossed in spring?"


def asking(team: Team, name: str, question: str) -> Item:
    item = team.item(read_document(good_data(id=name, question=question)))
    steps.check_item(item.pk)
    return item


def ask(team: Team, item: Item, question: str) -> None:
    item.refresh_from_db()
    content = read_document(item.document).section("question") | {"question": question}
    actions.save_section(item, "question", content, item.section_hashes["question"], actor=team.ann)


def twins(item: Item) -> list[str]:
    item.refresh_from_db()
    assert item.checked_hash == item.document_hash
    return [f.params["name"] for f in current_findings(item) if f.code == "near_duplicate_question"]


def test_items_that_come_to_ask_the_same_are_named_with_each_other(team: Team) -> None:
    one, two, three = asking(team, "one", QUESTION), asking(team, "two", OTHER), asking(team, "three", OTHER + " Why?")
    assert (twins(one), twins(two), twins(three)) == ([], ["#3"], ["#2"])
    ask(team, two, QUESTION.upper())
    steps.check_item(two.pk)
    assert (twins(one), twins(two), twins(three)) == (["#2"], ["#1"], [])
    ask(team, one, "")
    steps.check_item(one.pk)
    assert (twins(one), twins(two)) == ([], [])


def test_another_benchmark_and_ones_own_revisions_are_no_twins(team: Team) -> None:
    one = asking(team, "one", QUESTION)
    ask(team, one, QUESTION + " Really?")
    steps.check_item(one.pk)
    assert twins(one) == []


def test_a_save_of_another_section_looks_at_no_other_question(team: Team) -> None:
    one, _two = asking(team, "one", QUESTION), asking(team, "two", QUESTION)
    one.refresh_from_db()
    actions.save_section(one, "design", {"design": "New."}, one.section_hashes["design"], actor=team.ann)
    with CaptureQueriesContext(
        connection,
    ) as queries:
        steps.check_item(one.pk)
    assert not [q for q in queries if "itemquestion" in q["sql"]]
    assert twins(one) == ["#2"]


def test_what_another_notes_while_one_looks_is_kept(team: Team, monkeypatch: pytest.MonkeyPatch) -> None:
    one, two = asking(team, "one", OTHER), asking(team, "two", QUESTION)
    ask(team, one, QUESTION)
    real = steps._twins_of

    def blind(item: Item) -> Any:
        if item.pk != one.pk:
            return real(item)
        # The first read came before the other was there; the other checks itself before the first writes.
        Item.objects.filter(pk=two.pk).update(checked_hash="", twins_hash="")
        steps.check_item(two.pk)
        return {}

    monkeypatch.setattr(steps, "_twins_of", blind)
    steps.check_item(one.pk)
    assert (twins(one), twins(two)) == (["#2"], ["#1"])


def test_twins_of_many_are_five_and_the_likest(team: Team) -> None:
    items = [asking(team, f"i{n}", QUESTION + " now" * (n % 3)) for n in range(8)]
    assert len(twins(items[7])) == 5 and twins(items[7])[:2] == ["#2", "#5"]
    assert all(len(twins(item)) == 5 for item in items)


def test_question_rows_follow_the_document(team: Team) -> None:
    item = asking(team, "one", "")
    assert not ItemQuestion.objects.exists()
    ask(team, item, "Qué?  ¿QUÉ?")
    assert list(ItemQuestion.objects.values_list("folded", "length", "benchmark")) == [
        ("que que", 7, item.benchmark_id)
    ]
