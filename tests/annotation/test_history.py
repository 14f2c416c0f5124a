"""Who wrote each element: by hand for every way an element can come, change, go and come back."""

from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from annotation import actions, history
from annotation.document import canonical_hash, read_document
from annotation.history import Lineage, lineages
from annotation.history_queries import written_by
from annotation.models import Item, Revision
from tests.documents import good_data
from tests.factories import Team


def of(*versions: Any) -> Lineage | None:
    """The lineage of step c1 after revisions 1, 2, …: each its conclusion, or None where it is not there."""
    documents = (
        {"checklist": [] if text is None else [{"key": "c1", "conclusion": text}], "nodes": [{"key": "n1"}]}
        for text in versions
    )
    return lineages(enumerate(documents, 1)).get("c1")


@pytest.mark.parametrize(
    ("versions", "lineage"),
    [
        (["a"], Lineage(1)),
        (["a", "a", "a"], Lineage(1)),
        ([None, None, "a"], Lineage(3)),
        (["a", "a", "b", "b", "c"], Lineage(1, (3, 5))),
        (["a", None], None),
        # undone by hand or restored: the text is that of revision 1 again, and 3 brought it back
        (["a", "b", "a"], Lineage(1, (), returned=3)),
        (["a", "b", "c", "b"], Lineage(1, (2,), returned=4)),
        # removed and brought back as it was
        (["a", "b", None, "b"], Lineage(1, (2,), returned=4)),
        # … and changed after that
        (["a", "b", None, "b", "c"], Lineage(1, (2, 5))),
        # the key given up and used for something else: a new element
        (["a", None, "z"], Lineage(3)),
        (["a", None, "z", "y"], Lineage(3, (4,))),
        # and then the first one restored
        (["a", None, "z", "a"], Lineage(1, (), returned=4)),
    ],
)
def test_lineage_of_an_element(versions: list[Any], lineage: Lineage | None) -> None:
    assert of(*versions) == lineage


def test_lineages_of_nothing_are_none_and_lists_are_told_apart() -> None:
    assert lineages([]) == {}
    one = {"nodes": [{"key": "n1", "entity": "a"}], "sources": []}
    two = {"nodes": [{"key": "n1", "entity": "a"}], "sources": [{"key": "s1", "url": "a"}]}
    assert lineages([(1, one), (4, two)]) == {"n1": Lineage(1), "s1": Lineage(4)}


def test_lineage_when_only_the_order_changes_stays() -> None:
    a, b = {"key": "c1", "conclusion": "a"}, {"key": "c2", "conclusion": "b"}
    found = lineages([(1, {"checklist": [a, b]}), (2, {"checklist": [b, a]})])
    assert found == {"c1": Lineage(1), "c2": Lineage(1)}


# --- read from the database ---------------------------------------------------------------------------------------


def conclude(team: Team, item: Item, text: str, actor: Any) -> Item:
    content = read_document(item.document).section("checklist")
    content["checklist"][0]["conclusion"] = text
    return actions.save_section(item, "checklist", content, item.section_hashes["checklist"], actor=actor)


def test_written_by_names_the_people(team: Team) -> None:
    item = team.item(read_document(good_data(id="who")))
    actions.set_coeditors(item, [team.ann2], actor=team.ann)
    item = conclude(team, item, "The bridge is the Tay Bridge.", team.ann2)
    item = conclude(team, item, "The bridge is the Menai Bridge.", team.ann)
    written = written_by(item, "c1")
    assert written is not None
    assert (written.created.author, [(r.number, r.author) for r in written.changed], written.returned) == (
        team.ann, [(2, team.ann2), (3, team.ann)], None,
    )  # fmt: skip
    item = actions.restore_revision(item, 2, item.document_hash, actor=team.ann)
    written = written_by(item, "c1")
    assert written is not None and written.returned is not None
    assert ([r.number for r in written.changed], written.returned.number) == ([2], 4)
    assert written_by(item, "c99") is None


def test_written_by_of_two_hundred_revisions_takes_two_queries_and_hashes_what_changed(
    team: Team, monkeypatch: pytest.MonkeyPatch
) -> None:
    item = team.item(read_document(good_data(id="long")))
    document = item.document
    rows = []
    for number in range(2, 201):
        steps = [step | {"why_needed": f"Version {number}."} if n == number % 10 else step
                 for n, step in enumerate(document["checklist"])]  # fmt: skip
        document = document | {"checklist": steps}
        rows.append(
            Revision(item=item, number=number, kind="edit", author=team.ann, document_hash="", document=document)
        )
    Revision.objects.bulk_create(rows)
    hashed = []
    monkeypatch.setattr(history, "canonical_hash", lambda element: hashed.append(element) or canonical_hash(element))
    with CaptureQueriesContext(connection) as queries:
        written = written_by(item, "c1")
    assert written is not None and len(written.changed) == 20  # 10, 20, … 200
    assert len(queries) == 2
    first = sum(len(item.document[name]) for name in history.LISTS)
    changed = sum(number % 10 < len(document["checklist"]) for number in range(2, 201))
    assert len(hashed) == first + changed
