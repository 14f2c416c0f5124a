"""Locking lists every condition; two people at once; and what a page is told of what happened meanwhile."""

from typing import Any

import pytest
from django.urls import reverse

from annotation.actions import save_section
from annotation.comment_actions import add_comment
from annotation.document import read_document
from annotation.models import Item, ItemEvent
from annotation.states import State
from audit import actions
from audit.candidate_actions import add_candidate
from audit.locking import lock_conditions
from audit.workflow import Move
from lhdr_site.shared.errors import Conflict, Invalid
from tests.factories import Team

from .judging import answer, answer_phase, bring_to, finish, fresh


def url(name: str, item: Item) -> str:
    return reverse(f"audit:{name}", args=[item.benchmark.slug, item.number])


def test_lock_conditions_list_met_and_unmet_each_with_a_link(team: Team) -> None:
    item = bring_to(team, team.item(), State.APPROVED)
    conditions = lock_conditions(item)
    assert len(conditions) == 13 and all(c.met and c.href.startswith("#") for c in conditions)
    add_comment(item, "Wait", blocking=True, actor=team.aud)
    add_candidate(item, "Tay Bridge", "It fits", actor=team.core)
    unmet = [c.code for c in lock_conditions(fresh(item)) if not c.met]
    assert unmet == ["blocking_comments", "candidates_open"]
    with pytest.raises(Invalid) as caught:
        actions.lock_item(fresh(item), item.document_hash, actor=team.core)
    assert [p["path"] for p in caught.value.details["problems"]] == ["comments", "candidates"]
    page = team.client("core").get(url("panel", item)).content.decode()
    assert "1 blocking comment is open" in page and "Answer uniqueness: passed" in page
    assert item.document_hash in page


def test_lock_says_which_gate_is_stale(team: Team) -> None:
    item = bring_to(team, team.item(), State.FACTUAL_AUDIT)
    answer_phase(item, team.core)
    content = read_document(item.document).section("graph")
    content["nodes"][0]["entity"] += " II"
    save_section(item, "graph", content, item.section_hashes["graph"], actor=team.core)
    answer_phase(item, team.core)
    finish(item, team.core)
    unmet = {c.path: c.text for c in lock_conditions(fresh(item)) if not c.met}
    assert set(unmet) == {"uniqueness", "leakage", "irreducibility", "source_support"}
    assert unmet["leakage"] == "No path leakage: stale, judged for other content"


def test_lock_event_keeps_the_hash_and_unlock_starts_a_new_round(team: Team) -> None:
    item = bring_to(team, team.item(), State.LOCKED)
    event = ItemEvent.objects.get(item=item, kind="item.locked")
    assert event.data["hash"] == item.document_hash
    assert item.document_hash in team.client("ann").get(url("panel", item)).content.decode()
    actions.unlock_item(item, "The year is wrong", actor=team.core)
    assert fresh(item).state == State.RETURNED


def test_second_decision_is_refused_with_who_did_what_when(team: Team) -> None:
    item = bring_to(team, team.item(), State.SECONDARY_AUDIT)
    seen = fresh(item)
    finish(item, team.core, Move.RETURN, "Mend it")
    with pytest.raises(Conflict) as caught:
        actions.finish_review(seen, Move.REJECT, seen.document_hash, actor=team.aud, reason="No")
    assert "bench-core decided “Return”" in caught.value.message


def test_answer_to_what_changed_says_who_saved_it(team: Team) -> None:
    item = bring_to(team, team.item(), State.SECONDARY_AUDIT)
    content = read_document(item.document).section("question") | {"as_of": "2026-11-28"}
    save_section(item, "question", content, item.section_hashes["question"], actor=team.core)
    with pytest.raises(Conflict) as caught:
        actions.record_criterion(item, "chain", item.document_hash, rating=4, passed=True, actor=team.aud)
    assert "bench-core saved r2" in caught.value.message


def test_news_tells_edits_with_their_stale_gates_and_moves(team: Team) -> None:
    item = bring_to(team, team.item(), State.SECONDARY_AUDIT)
    answer(item, team.aud, "path")
    client, address = team.client("aud"), f"{url('news', item)}?revision=1&state=secondary_audit"
    assert client.get(address).status_code == 204
    content = read_document(item.document).section("question") | {"as_of": "2026-11-28"}
    save_section(item, "question", content, item.section_hashes["question"], actor=team.core)
    text = client.get(address).content.decode()
    assert "r2, bench-core: Question and answer" in text and "Stale now: No path leakage" in text
    finish(item, team.core, Move.RETURN, "Mend it")
    text = client.get(address).content.decode()
    assert "bench-core moved this item" in text and "Mend it" in text
    assert team.client("stranger").get(address).status_code == 404
    assert client.get(url("news", item) + "?revision=x&state=" + "y" * 3000).status_code == 200


@pytest.mark.parametrize("who", ["ann", "ann2", "core", "admin"])
def test_news_is_for_every_member(team: Team, who: str) -> None:
    item: Any = bring_to(team, team.item(), State.SUBMITTED)
    assert team.client(who).get(f"{url('news', item)}?revision=1&state=submitted").status_code == 204
