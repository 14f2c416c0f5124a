"""Candidate answers: who raises them, what they hold up, what rules them out; and unsent text of a review."""

import json
from typing import Any

import pytest
from django.urls import reverse

from annotation.actions import save_section
from annotation.document import read_document
from annotation.models import Draft, Item
from annotation.states import State
from audit import actions
from audit.candidate_actions import add_candidate, withdraw_candidate
from audit.evidence import ruling_out
from audit.models import Candidate
from audit.queries import open_candidates
from lhdr_site.shared.errors import Conflict, Invalid, NotAllowed
from tests.factories import Team

from .judging import answer, answer_phase, bring_to, finish, fresh

HTMX: dict[str, Any] = {"HTTP_HX_REQUEST": "true"}


@pytest.fixture
def secondary(team: Team) -> Item:
    return bring_to(team, team.item(), State.SECONDARY_AUDIT)


def url(name: str, item: Item, *more: Any) -> str:
    return reverse(f"audit:{name}", args=[item.benchmark.slug, item.number, *more])


def rule_out(team: Team, item: Item, answer: str, by: str = "It was built later") -> Item:
    item = fresh(item)
    content = read_document(item.document).section("question")
    content["rivals"] = [*content["rivals"], {"answer": answer, "excluded_by": by, "sources": ["s1"]}]
    return save_section(item, "question", content, item.section_hashes["question"], actor=team.core)


def test_ruling_out_compares_folded_and_needs_a_constraint() -> None:
    document = {"rivals": [{"answer": "Café  X", "excluded_by": " "}, {"answer": "CAFE x", "excluded_by": " older "}]}
    assert ruling_out(document, "cafe X") == "older"
    assert ruling_out(document, "another") == "" == ruling_out({"rivals": []}, "cafe")


def test_uniqueness_is_not_passed_while_a_candidate_is_open(team: Team, secondary: Item) -> None:
    add_candidate(secondary, " Forth  Bridge ", "Also crosses a firth", actor=team.aud)
    with pytest.raises(Invalid) as caught:
        answer(secondary, team.aud, "unique")
    assert caught.value.code == "candidates_open" and "Forth Bridge" in caught.value.message
    rule_out(team, secondary, "FORTH bridge", by="")
    assert open_candidates(fresh(secondary)) == ["Forth Bridge"]
    rule_out(team, secondary, "forth bridge")
    assert open_candidates(fresh(secondary)) == []
    answer(secondary, team.aud, "unique")


def test_candidate_raised_after_the_answer_holds_up_pass_and_lock(team: Team, secondary: Item) -> None:
    answer_phase(secondary, team.aud)
    candidate = add_candidate(secondary, "Forth Bridge", "Fits as well", actor=team.aud)
    with pytest.raises(Invalid) as caught:
        finish(secondary, team.aud)
    assert [p["path"] for p in caught.value.details["problems"]] == ["unique"]
    withdraw_candidate(secondary, candidate.pk, actor=team.core)
    with pytest.raises(Conflict):
        withdraw_candidate(secondary, candidate.pk, actor=team.core)
    finish(secondary, team.aud)
    item = bring_to_approved(team, secondary)
    add_candidate(item, "Tay Bridge", "Fits as well", actor=team.core)
    with pytest.raises(Invalid) as refused:
        actions.lock_item(fresh(item), item.document_hash, actor=team.core)
    assert refused.value.code == "candidates_open"


def bring_to_approved(team: Team, item: Item) -> Item:
    for who in (team.aud, team.core):
        answer_phase(item, who)
        finish(item, who)
    return fresh(item)


@pytest.mark.parametrize(
    ("answer", "why", "path"),
    [("", "x", "candidate"), ("x", " ", "why"), ("y" * 501, "x", "answer")],
)
def test_candidate_incomplete_is_refused_naming_the_field(
    team: Team, secondary: Item, answer: str, why: str, path: str
) -> None:
    with pytest.raises(Invalid) as caught:
        add_candidate(secondary, answer, why, actor=team.aud)
    assert caught.value.details["problems"][0]["path"] == path
    assert not Candidate.objects.exists()


def test_candidate_that_is_the_answer_a_rival_or_raised_already_is_refused(team: Team, secondary: Item) -> None:
    add_candidate(secondary, "Forth Bridge", "x", actor=team.aud)
    item = rule_out(team, secondary, "Tay Bridge")
    for text in (secondary.document["answer"].upper(), "tay bridge", "FORTH BRIDGE"):
        with pytest.raises(Invalid):
            add_candidate(item, text, "x", actor=team.aud)
    assert Candidate.objects.count() == 1


@pytest.mark.parametrize("who", ["ann", "ann2", "stranger"])
def test_candidate_is_raised_by_reviewers_alone(team: Team, secondary: Item, who: str) -> None:
    with pytest.raises(NotAllowed):
        add_candidate(secondary, "x", "y", actor=getattr(team, who))
    with pytest.raises(NotAllowed):
        add_candidate(team.item(), "x", "y", actor=team.core)  # a draft is in no audit


def test_candidates_by_page(team: Team, secondary: Item) -> None:
    client = team.client("aud")
    data = {"candidate": "Forth Bridge", "why": "It fits"}
    refused = client.post(url("candidate-add", secondary), {"candidate": "Forth Bridge"}, **HTMX)
    assert refused.status_code == 422 and b'value="Forth Bridge"' in refused.content
    plain = client.post(url("candidate-add", secondary), {"why": "Kept words"})
    assert plain.status_code == 422 and b"Kept words" in plain.content
    assert client.post(url("candidate-add", secondary), data).status_code == 302
    page = client.get(url("panel", secondary)).content.decode()
    assert "not ruled out" in page and "Rule out “Forth Bridge”: It fits</textarea>" in page
    pk = Candidate.objects.get().pk
    part = client.post(url("candidate-drop", secondary, pk), **HTMX).content.decode()
    assert "taken back by" in part and 'id="audit-decide"' in part
    for who, status in [("ann2", 403), ("stranger", 404)]:
        assert team.client(who).post(url("candidate-add", secondary), data).status_code == status
        assert team.client(who).post(url("candidate-drop", secondary, pk)).status_code in (status, 409)


# --- unsent text of a review --------------------------------------------------------------------------------------


def test_review_draft_is_kept_offered_back_and_dropped(team: Team, secondary: Item) -> None:
    client = team.client("aud")
    forms = {"chain": "rating=4&comment=Half+a+thought"}
    kept = client.post(url("review-draft", secondary), {"forms": json.dumps(forms), "hash": secondary.document_hash})
    assert kept.json() == {"kept": 1}
    page = client.get(url("panel", secondary)).content.decode()
    assert "Half+a+thought" in page and "Half+a+thought" not in team.client("core").get(
        url("panel", secondary)
    ).content.decode()  # fmt: skip
    assert f'href="{url("panel", secondary)}"' in client.get("/").content.decode()  # unsaved text of mine
    assert client.post(url("review-draft", secondary), {"forms": "{}"}).json() == {"kept": 0}
    assert not Draft.objects.exists()


@pytest.mark.parametrize("forms", ["", "[]", "{", '{"a": 1}', "[" * 10000])
def test_review_draft_of_something_else_is_refused(team: Team, secondary: Item, forms: str) -> None:
    assert team.client("aud").post(url("review-draft", secondary), {"forms": forms}).status_code == 422
    assert team.client("stranger").post(url("review-draft", secondary), {"forms": forms}).status_code == 404
