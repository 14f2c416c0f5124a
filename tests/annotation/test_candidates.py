"""Striking candidates and taking them back: worked by hand on small checklists, over HTTP and through the action."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from annotation import actions, graph, struck_actions
from annotation.candidates import Strike, read_strikes, strike_steps, take_back_step
from annotation.document import Document, DocumentError, dangling_links, read_document
from annotation.models import Item, ItemEvent, StruckStep
from annotation.queries import used_anchors
from annotation.states import State
from lhdr_site.shared.errors import Conflict, Invalid, NotAllowed
from tests.annotation.pages import HTMX, form_fields, open_form, texts, url
from tests.documents import good_data
from tests.factories import Team


def chain(*needs: str) -> Document:
    """Steps c1, c2, … with their prerequisites as "1 3"."""
    steps = [{"key": f"c{n}", "prerequisites": [f"c{p}" for p in text.split()]} for n, text in enumerate(needs, 1)]
    return read_document({**good_data(), "checklist": steps, "nodes": [], "relations": []})


def needs(document: Document) -> dict[str, str]:
    return {step.key: " ".join(step.prerequisites) for step in document.checklist}


# --- pure ---------------------------------------------------------------------------------------------------------


def test_dependents_of_a_struck_step_inherit_its_prerequisites() -> None:
    # c4 needs c3 and c1; c3 goes, and it needed c2: c4 needs c2 and c1.
    struck = strike_steps(chain("", "", "2", "3 1"), [Strike("c3", "background")])
    assert needs(struck) == {"c1": "", "c2": "", "c4": "c2 c1"}


def test_dependents_inherit_through_several_struck_steps_once() -> None:
    # c5 needs c4 and c3, which both end in c1 when c2, c3 and c4 go.
    strikes = [Strike(key, "redundant") for key in ("c2", "c3", "c4")]
    assert needs(strike_steps(chain("", "1", "2", "2", "4 3"), strikes)) == {"c1": "", "c5": "c1"}


def test_dependents_of_a_merged_step_need_the_one_it_is_merged_into() -> None:
    struck = strike_steps(chain("", "1", "1", "2"), [Strike("c2", "merged", "c3")])
    assert needs(struck) == {"c1": "", "c3": "c1", "c4": "c3"}


def test_merge_that_would_close_a_circle_hands_the_prerequisites_on() -> None:
    # c2 is merged into c4. c4 needs c3, which needs c2: were c3 to need c4, that were a circle; so c3 needs c1.
    struck = strike_steps(chain("", "1", "2", "3 2"), [Strike("c2", "merged", "c4")])
    assert needs(struck) == {"c1": "", "c3": "c1", "c4": "c3 c1"}


def test_striking_nothing_changes_nothing() -> None:
    document = chain("", "1")
    assert strike_steps(document, []).hash == document.hash


@pytest.mark.parametrize(
    ("strikes", "path"),
    [
        ([Strike("c9", "background")], "struck[0].key"),
        ([Strike("c1", "background"), Strike("c1", "redundant")], "struck[1].key"),
        ([Strike("c1", "merged", "c9")], "struck[0].merged_into"),
        ([Strike("c1", "merged", "c1")], "struck[0].merged_into"),
        ([Strike("c1", "merged", "c2"), Strike("c2", "background")], "struck[0].merged_into"),
    ],
)
def test_strike_that_cannot_be_is_named(strikes: list[Strike], path: str) -> None:
    with pytest.raises(DocumentError) as error:
        strike_steps(chain("", "1"), strikes)
    assert [problem.path for problem in error.value.problems] == [path]


@pytest.mark.parametrize(
    ("row", "path"),
    [
        ({"reason": "background"}, "struck[0].key"),
        ({"key": "c1", "reason": "dull"}, "struck[0].reason"),
        ({"key": "c1", "reason": "merged"}, "struck[0].merged_into"),
        ({"key": "c1", "reason": "redundant", "merged_into": "c2"}, "struck[0].merged_into"),
        ({"key": "c1", "reason": "redundant", "note": "x" * 301}, "struck[0].note"),
        ({"key": "c1", "reason": "redundant", "note": "a\0"}, "struck[0].note"),
        ({"key": "c1", "reason": "redundant", "note": "\ud800"}, "struck[0].note"),
        ({"key": ["c1"], "reason": "redundant"}, "struck[0].key"),
        ({"key": "c1", "reason": "redundant", "why": ""}, "struck[0]"),
        ("c1", "struck[0]"),
    ],
)
def test_strike_that_cannot_be_read_is_named(row: Any, path: str) -> None:
    with pytest.raises(DocumentError) as error:
        read_strikes([row])
    assert path in [problem.path for problem in error.value.problems]


def test_strikes_that_are_no_list_are_refused() -> None:
    for data in ("c1", {"key": "c1"}, 3):
        with pytest.raises(DocumentError):
            read_strikes(data)


@given(st.data())
def test_struck_checklists_stay_acyclic_and_keep_what_rests_on_what(data: st.DataObject) -> None:
    """Without merges, what is kept rests on exactly what is kept of what it rested on before."""
    count = data.draw(st.integers(1, 8))
    document = chain(*(" ".join(map(str, data.draw(st.sets(st.integers(1, n))))) if n else "" for n in range(count)))
    keys = [step.key for step in document.checklist]
    gone = data.draw(st.sets(st.sampled_from(keys)))
    struck = strike_steps(document, [Strike(key, "redundant") for key in gone])
    assert [step.key for step in struck.checklist] == [key for key in keys if key not in gone]
    assert not dangling_links(struck)

    def above(each: Document) -> dict[str, set[str]]:
        names = [step.key for step in each.checklist]
        masks = graph.ancestors(each.prerequisite_positions())
        return {name: {names[p] for p in graph.positions(m)} for name, m in zip(names, masks, strict=True)}

    before = above(document)
    assert above(struck) == {key: before[key] - gone for key in keys if key not in gone}


def test_taken_back_step_stands_before_the_last_with_its_key_and_live_links() -> None:
    step = {"key": "c9", "conclusion": "Back", "prerequisites": ["c1", "c7"], "sources": ["s1", "s99"]}
    changed, key = take_back_step(chain("", "1"), step)
    assert (key, [s.key for s in changed.checklist]) == ("c9", ["c1", "c9", "c2"])
    assert (changed.checklist[1].prerequisites, changed.checklist[1].sources) == (("c1",), ("s1",))


def test_taken_back_step_when_its_key_is_used_gets_the_next_free_one() -> None:
    changed, key = take_back_step(chain("", "1"), {"key": "c1", "conclusion": "Back"}, {"c5"})
    assert (key, [s.key for s in changed.checklist]) == ("c6", ["c1", "c6", "c2"])
    assert take_back_step(chain(), {"key": "c1"})[0].checklist[0].key == "c1"


# --- saved --------------------------------------------------------------------------------------------------------


def strike(item: Item, actor: Any, *strikes: dict[str, str], checklist: Any = None, **options: Any) -> Item:
    item.refresh_from_db()
    content = {"checklist": checklist if checklist is not None else item.document["checklist"]}
    base = item.section_hashes["checklist"]
    return actions.save_section(item, "checklist", content, base, actor=actor, struck=strikes, **options)


def test_struck_steps_leave_in_the_same_save_and_are_kept(team: Team) -> None:
    item = team.item()
    strike(
        item, team.ann, {"key": "c4", "reason": "merged", "merged_into": "c2"}, {"key": "c7", "reason": "unsupported"}
    )
    item.refresh_from_db()
    found = needs(read_document(item.document))
    assert "c4" not in found and found["c5"] == "c2" and found["c8"] == "c6"
    rows = list(item.struck_steps.values_list("key", "reason", "merged_into", "revision_number", "by"))
    assert rows == [("c4", "merged", "c2", 2, team.ann.pk), ("c7", "unsupported", "", 2, team.ann.pk)]
    assert item.struck_steps.first().step["conclusion"].startswith("The Cleopatra brought")  # type: ignore[union-attr]
    assert item.revision_number == 2
    event = ItemEvent.objects.get(item=item, kind="item.edited")
    assert event.data["struck"] == ["c4", "c7"]
    assert {"c4", "c7"} <= used_anchors(item)


def test_step_when_struck_before_it_was_saved_is_kept_with_an_event(team: Team) -> None:
    item = team.item()
    new = [*item.document["checklist"], {"key": "c11", "conclusion": "Rome is in Italy."}]
    strike(item, team.ann, {"key": "c11", "reason": "background"}, checklist=new)
    item.refresh_from_db()
    assert item.revision_number == 1
    assert item.struck_steps.get().step["conclusion"] == "Rome is in Italy."
    assert ItemEvent.objects.get(item=item, kind="step.struck").data["struck"] == ["c11"]


def test_steps_may_be_struck_that_the_content_left_out(team: Team) -> None:
    item = team.item()
    kept = [step for step in item.document["checklist"] if step["key"] != "c9"]
    strike(item, team.ann, {"key": "c9", "reason": "background"}, checklist=kept)
    item.refresh_from_db()
    assert needs(read_document(item.document))["c10"] == "c8"


def test_strike_when_the_save_is_refused_leaves_nothing(team: Team) -> None:
    item = team.item()
    circle = [dict(step) for step in item.document["checklist"]]
    circle[0]["prerequisites"] = ["c10"]
    with pytest.raises(Invalid):
        strike(item, team.ann, {"key": "c7", "reason": "background"}, checklist=circle)
    with pytest.raises(Invalid):
        actions.save_section(
            item,
            "design",
            {"design": "x"},
            item.section_hashes["design"],
            actor=team.ann,
            struck=[{"key": "c7", "reason": "background"}],
        )
    with pytest.raises(Conflict):
        actions.save_section(
            item,
            "checklist",
            {"checklist": item.document["checklist"]},
            "0" * 64,
            actor=team.ann,
            struck=[{"key": "c7", "reason": "background"}],
        )
    assert not StruckStep.objects.exists()


def test_strike_sent_twice_with_one_key_is_kept_once(team: Team) -> None:
    item = team.item()
    for _time in range(2):
        content, base = {"checklist": item.document["checklist"]}, item.section_hashes["checklist"]
        actions.save_section(
            item,
            "checklist",
            content,
            base,
            actor=team.ann,
            save_key="k",
            struck=[{"key": "c7", "reason": "redundant"}],
        )
    assert item.struck_steps.count() == 1


@pytest.mark.parametrize(("who", "allowed"), [("ann", True), ("ann2", False), ("aud", False), ("core", False)])
def test_who_may_strike_and_take_back_a_draft(team: Team, who: str, allowed: bool) -> None:
    item, actor = team.item(), getattr(team, who)
    if not allowed:
        with pytest.raises(NotAllowed):
            strike(item, actor, {"key": "c7", "reason": "redundant"})
    strike(item, team.ann, {"key": "c7", "reason": "redundant"})
    struck = item.struck_steps.get()
    address = url(item, f"checklist/struck/{struck.pk}/take-back/")
    reply = team.client(who).post(address, **HTMX)
    assert reply.status_code == (200 if allowed else 403)
    assert bool(StruckStep.objects.get().restored) is allowed
    assert team.client("stranger").post(address).status_code == 404
    Item.objects.update(state=State.LOCKED)
    with pytest.raises(NotAllowed):
        struck_actions.take_back(struck, actor=team.admin)


def test_taken_back_step_is_a_step_again_once(team: Team) -> None:
    item = team.item()
    strike(item, team.ann, {"key": "c7", "reason": "redundant"})
    struck = item.struck_steps.get()
    struck_actions.take_back(struck, actor=team.ann)
    item.refresh_from_db()
    assert [s["key"] for s in item.document["checklist"]][-2:] == ["c7", "c10"]
    assert item.revision_number == 3 and item.revisions.get(number=3).message == "Took back c7"
    with pytest.raises(Conflict, match="already"):
        struck_actions.take_back(struck, actor=team.ann)
    reply = team.client("ann").post(url(item, f"checklist/struck/{struck.pk}/take-back/"), **HTMX)
    assert reply.status_code == 422 and b"taken back already" in reply.content


def test_restored_revision_that_holds_a_struck_step_takes_it_back(team: Team) -> None:
    item = team.item()
    strike(item, team.ann, {"key": "c7", "reason": "redundant"})
    item.refresh_from_db()
    actions.restore_revision(item, 1, item.document_hash, actor=team.ann)
    assert item.struck_steps.get().restored is not None


# --- pages and API ------------------------------------------------------------------------------------------------


def test_form_strikes_steps_by_row_number_and_lists_them(team: Team) -> None:
    item, client = team.item(), team.client("ann")
    fields = open_form(client, item, "checklist") | {
        "checklist-4-strike": "merged",
        "checklist-4-merged_into": "2",
        "checklist-4-strike_note": "Said <there>.",
        "checklist-11-conclusion": "Obelisks are tall.",
        "checklist-11-strike": "background",
    }
    assert client.post(url(item, "checklist/"), fields).status_code == 302
    page = texts(client.get(url(item)).content.decode())
    assert "Struck (2)" in page and "merged into another step: step 2 . Said &lt;there&gt;." in page
    assert "9 steps, depth 7, 2 struck" in page
    assert "Take back" not in texts(team.client("ann2").get(url(item)).content.decode())
    # the key of what was struck stays its own
    assert open_form(client, item, "checklist")["checklist-10-newkey"] == "c12"


@pytest.mark.parametrize(
    ("changes", "beside"),
    [
        ({"checklist-4-strike": "dull"}, "checklist-4-strike"),
        ({"checklist-4-strike": "merged"}, "checklist-4-merged_into"),
        ({"checklist-4-strike": "merged", "checklist-4-merged_into": "4"}, "checklist-4-merged_into"),
        ({"checklist-4-strike": "merged", "checklist-4-merged_into": "٣"}, "checklist-4-merged_into"),
        ({"checklist-4-strike": "redundant", "checklist-4-strike_note": "x" * 301}, "checklist-4-strike_note"),
    ],
)
def test_strike_that_says_too_little_is_422_beside_its_control(team: Team, changes: Any, beside: str) -> None:
    item, client = team.item(), team.client("ann")
    fields = open_form(client, item, "checklist") | changes
    response = client.post(url(item, "checklist/"), fields)
    assert response.status_code == 422
    assert f'id="f-{beside}-e"' in response.content.decode()
    assert form_fields(response.content.decode()) | {"save_key": ""} == fields | {"save_key": ""}
    assert not StruckStep.objects.exists()


def test_conflict_that_merges_keeps_what_was_struck(team: Team) -> None:
    item, client = team.item(), team.client("ann")
    fields = open_form(client, item, "checklist") | {"checklist-7-strike": "redundant"}
    theirs = [dict(step) for step in item.document["checklist"]]
    theirs[0]["conclusion"] = "Theirs."
    base = item.section_hashes["checklist"]
    actions.save_section(item, "checklist", {"checklist": theirs}, base, actor=team.ann)
    response = client.post(url(item, "checklist/"), fields)
    assert response.status_code == 409
    merged = form_fields(response.content.decode())
    assert (merged["checklist-7-strike"], merged["checklist-1-conclusion"]) == ("redundant", "Theirs.")


def test_api_strikes_with_a_reason(team: Team) -> None:
    item = team.item()
    body = {
        "content": {"checklist": item.document["checklist"]},
        "base_hash": item.section_hashes["checklist"],
        "struck": [{"key": "c7", "reason": "unsupported", "note": "No map."}],
    }
    address = f"/api/benchmarks/bench/items/{item.number}/sections/checklist/"
    client = team.client("ann")
    bad = client.put(address, {**body, "struck": [{"key": "c7", "reason": "dull"}]}, "application/json")
    assert bad.status_code == 422 and "reason" in bad.json()["problems"][0]["path"]
    good = client.put(address, body, "application/json")
    assert good.status_code == 200 and len(good.json()["content"]["checklist"]) == 9
    assert item.struck_steps.get().note == "No map."
    [row] = team.client("ann2").get(f"/api/benchmarks/bench/items/{item.number}/struck/").json()
    assert (row["key"], row["reason"], row["by"], row["revision"]) == ("c7", "unsupported", "bench-ann", 2)
    assert row["step"]["conclusion"].startswith("Of all Egyptian") and row["restored"] is None
    assert team.client("stranger").get(f"/api/benchmarks/bench/items/{item.number}/struck/").status_code == 404
