"""The audit's pages over real requests: who sees what, plain posts, htmx parts, errors that keep what was typed."""

from typing import Any

import pytest
from django.urls import reverse

from annotation.models import Item
from annotation.states import State
from audit import actions, release_actions
from audit.models import Calibration, CriterionResult, ElementTick
from audit.workflow import Move
from tests.factories import Team

from .judging import answer, answer_phase, bring_to, finish, fresh, submit, tick_all

HTMX: dict[str, Any] = {"HTTP_HX_REQUEST": "true"}


def url(name: str, item: Item, *more: Any) -> str:
    return reverse(f"audit:{name}", args=[item.benchmark.slug, item.number, *more])


@pytest.fixture
def secondary(team: Team) -> Item:
    return bring_to(team, team.item(), State.SECONDARY_AUDIT)


# --- the page -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("state", [s for s in State if s not in (State.RETURNED, State.REJECTED)])
def test_page_in_every_state_shows_to_members_and_hides_from_strangers(team: Team, state: State) -> None:
    item = team.item()
    if state is not State.DRAFT:
        item = bring_to(team, item, state)
    for who in ("ann", "ann2", "aud", "core", "admin"):
        page = team.client(who).get(url("panel", item))
        assert page.status_code == 200
        assert b"What a system sees" in page.content
    assert team.client("stranger").get(url("panel", item)).status_code == 404


def test_page_for_htmx_is_the_panel_alone(team: Team, secondary: Item) -> None:
    page = team.client("aud").get(url("panel", secondary), **HTMX)
    assert b"<!DOCTYPE" not in page.content and b"Phase 2 of 4" in page.content


def test_page_shows_the_criteria_of_the_phase_in_order_with_ratings_for_who_may(team: Team, secondary: Item) -> None:
    text = team.client("aud").get(url("panel", secondary)).content.decode()
    places = [text.index(f'id="k-{code}"') for code in "chain path minimal support unique public".split()]
    assert places == sorted(places)
    assert text.count('name="rating"') == 6 * 5
    other = team.client("ann2").get(url("panel", secondary)).content.decode()
    assert 'name="rating"' not in other and "needs the role auditor" in other


def test_page_of_ones_own_item_says_that_nobody_judges_their_own(team: Team) -> None:
    item = team.item(author=team.aud)
    actions.set_calibration(team.benchmark, team.aud, True, actor=team.core)
    submit(item)
    text = team.client("aud").get(url("panel", item)).content.decode()
    assert 'name="rating"' not in text and "Nobody judges or locks an item" in text


def test_page_marks_leaks_in_the_question(team: Team) -> None:
    from dataclasses import replace

    from tests.documents import good_document

    document = good_document(id="leaky")
    document = replace(document, question=document.question + " Think of Thutmose III.")
    item = submit(team.item(document))
    text = team.client("core").get(url("panel", item)).content.decode()
    assert '<mark class="wb-leak"' in text and "Thutmose III<sup>1</sup>" in text


def test_page_stays_within_its_queries(team: Team, secondary: Item, django_assert_max_num_queries: Any) -> None:
    answer_phase(secondary, team.aud)
    client = team.client("aud")
    with django_assert_max_num_queries(25):
        client.get(url("panel", secondary))


def test_page_shows_what_changed_since_my_review(team: Team, secondary: Item) -> None:
    from annotation.actions import save_section
    from annotation.document import read_document

    answer(secondary, team.aud, "path", passed=False, comment="Names the bridge")
    finish(secondary, team.aud, Move.RETURN, "Reword the question")
    item = fresh(secondary)
    content = read_document(item.document).section("question")
    content["question"] = content["question"].replace("railway crossing", "crossing for trains")
    save_section(item, "question", content, item.section_hashes["question"], actor=team.ann)
    text = team.client("aud").get(url("panel", item)).content.decode()
    assert "Changed since your review" in text and "Reword the question" in text
    assert "<ins>crossing for trains</ins>" in text or "<ins>" in text
    assert "Changed since your review" not in team.client("admin").get(url("panel", item)).content.decode()


# --- answering ----------------------------------------------------------------------------------------------------


def criterion(item: Item, **changes: str) -> dict[str, str]:
    return {"hash": fresh(item).document_hash, "rating": "4", "verdict": "pass", "comment": "", **changes}


def test_criterion_posted_plainly_is_recorded_and_leads_back_to_it(team: Team, secondary: Item) -> None:
    answered = team.client("aud").post(url("criterion-record", secondary, "chain"), criterion(secondary))
    assert answered.status_code == 302 and answered.url.endswith("#k-chain")  # type: ignore[attr-defined]
    row = CriterionResult.objects.get(criterion="chain")
    assert (row.rating, row.passed, row.auditor) == (4, True, team.aud)


def test_criterion_posted_by_htmx_renews_itself_and_what_passing_waits_for(team: Team, secondary: Item) -> None:
    answered = team.client("aud").post(url("criterion-record", secondary, "chain"), criterion(secondary), **HTMX)
    text = answered.content.decode()
    assert answered.status_code == 200 and 'id="k-chain"' in text and 'id="k-path"' not in text
    assert 'id="audit-decide" hx-swap-oob="true"' in text and 'id="audit-gates"' in text


def test_criterion_posted_beside_the_item_renews_only_what_stands_there(team: Team, secondary: Item) -> None:
    data = criterion(secondary, beside="1")
    answered = team.client("aud").post(url("criterion-record", secondary, "chain"), data, **HTMX)
    assert b'id="audit-decide"' in answered.content
    for elsewhere in (b"audit-gates", b"outline-ticks", b"support-ticks", b'href="#seen"'):
        assert elsewhere not in answered.content


@pytest.mark.parametrize("htmx", [False, True])
@pytest.mark.parametrize(
    ("changes", "status", "said"),
    [
        ({"rating": "2"}, 422, "A pass needs a rating of 3 or more"),
        ({"rating": ""}, 422, "Give a rating from 1 to 5"),
        ({"rating": "x²"}, 422, "Give a rating from 1 to 5"),
        ({"verdict": "fail"}, 422, "A fail needs a comment"),
        ({"verdict": ""}, 422, "Say whether it passes or fails"),
        ({"hash": "0" * 64, "comment": "Kept words"}, 409, "The item changed since you opened it"),
    ],
)
def test_criterion_refused_says_why_and_keeps_what_was_typed(
    team: Team, secondary: Item, htmx: bool, changes: dict[str, str], status: int, said: str
) -> None:
    data = criterion(secondary, **{"comment": "" if "verdict" in changes else "Kept words", **changes})
    extra: dict[str, Any] = HTMX if htmx else {}
    answered = team.client("aud").post(url("criterion-record", secondary, "chain"), data, **extra)
    text = answered.content.decode()
    assert answered.status_code == status and said in text
    assert not data["comment"] or "Kept words" in text
    assert not CriterionResult.objects.filter(criterion="chain").exists()


@pytest.mark.parametrize(("who", "status"), [("ann2", 403), ("ann", 403), ("stranger", 404)])
def test_criterion_by_who_may_not_is_refused(team: Team, secondary: Item, who: str, status: int) -> None:
    answered = team.client(who).post(url("criterion-record", secondary, "chain"), criterion(secondary))
    assert answered.status_code == status
    assert not CriterionResult.objects.filter(criterion="chain").exists()


def test_criterion_unknown_is_not_found(team: Team, secondary: Item) -> None:
    assert team.client("aud").post(url("criterion-record", secondary, "nothing"), {}).status_code == 404


def test_tick_posted_plainly_and_by_htmx(team: Team, secondary: Item) -> None:
    client = team.client("aud")
    data = {"hash": secondary.document_hash, "supported": "yes"}
    assert client.post(url("element-tick", secondary, "n1"), data).status_code == 302
    text = client.post(url("element-tick", secondary, "answer"), data, **HTMX).content.decode()
    assert 'id="t-answer"' in text and "2 of 20 ticked" in text
    assert ElementTick.objects.filter(supported=True).count() == 2


def test_tick_with_an_old_hash_or_without_a_word_is_refused_with_a_sentence(team: Team, secondary: Item) -> None:
    client = team.client("aud")
    old = client.post(url("element-tick", secondary, "n1"), {"hash": "0" * 64, "supported": "yes"}, **HTMX)
    assert old.status_code == 409 and b"changed since you opened it" in old.content
    plain = client.post(url("element-tick", secondary, "n1"), {"hash": secondary.document_hash})
    assert plain.status_code == 422 and b"Say yes or no." in plain.content
    assert not ElementTick.objects.exists()


def test_reason_to_return_is_filled_with_what_failed(team: Team, secondary: Item) -> None:
    answer(secondary, team.aud, "minimal", passed=False, comment="Steps 6 and 7 say the same")
    text = team.client("aud").get(url("panel", secondary)).content.decode()
    assert "Steps 6 and 7 say the same</textarea>" in text
    assert '<input type="hidden" name="point_criterion" value="minimal">' in text


# --- moves --------------------------------------------------------------------------------------------------------


def post_move(team: Team, who: str, item: Item, name: str, **more: str) -> Any:
    data = {"move": name, "hash": fresh(item).document_hash, **more}
    return team.client(who).post(url("item-move", item), data)


def test_moves_by_page_take_an_item_from_draft_to_locked_and_back(team: Team) -> None:
    item = team.item()
    assert post_move(team, "ann", item, "submit").status_code == 302
    answer_phase(item, team.core)
    assert post_move(team, "core", item, "pass").status_code == 302
    assert not Calibration.objects.exists()  # the box was not ticked
    answer_phase(item, team.aud)
    assert post_move(team, "aud", item, "pass").status_code == 302
    answer_phase(item, team.aud)
    assert post_move(team, "aud", item, "pass").status_code == 302
    answer_phase(item, team.core)
    assert post_move(team, "core", item, "pass").status_code == 302
    assert post_move(team, "core", item, "lock").status_code == 302
    assert fresh(item).state == State.LOCKED
    assert post_move(team, "core", item, "unlock", reason="The source moved").status_code == 302
    assert fresh(item).state == State.RETURNED


def test_pass_of_phase_1_with_the_box_ticked_calibrates(team: Team) -> None:
    item = submit(team.item())
    answer_phase(item, team.core)
    post_move(team, "core", item, "pass", calibrate="on")
    assert Calibration.objects.get().annotator == team.ann


def test_move_refused_lists_what_is_missing_and_keeps_the_reason(team: Team, secondary: Item) -> None:
    refused = post_move(team, "aud", secondary, "pass")
    text = refused.content.decode()
    assert refused.status_code == 422 and "<li>“Sources support every element” has no answer yet.</li>" in text
    data = {"move": "reject", "hash": "0" * 64, "reason": "One query finds it"}
    stale = team.client("aud").post(url("item-move", secondary), data)
    assert stale.status_code == 409 and b"One query finds it</textarea>" in stale.content
    assert post_move(team, "aud", secondary, "return").status_code == 422
    assert post_move(team, "aud", secondary, "no such move").status_code == 422
    assert fresh(secondary).state == State.SECONDARY_AUDIT


@pytest.mark.parametrize(("who", "status"), [("ann2", 403), ("stranger", 404)])
def test_move_by_who_may_not_is_refused(team: Team, secondary: Item, who: str, status: int) -> None:
    assert post_move(team, who, secondary, "return", reason="No").status_code == status
    assert fresh(secondary).state == State.SECONDARY_AUDIT


def test_disabled_pass_and_submit_say_what_they_wait_for(team: Team, secondary: Item) -> None:
    text = team.client("aud").get(url("panel", secondary)).content.decode()
    assert 'aria-disabled="true" aria-describedby="why-pass"' in text and 'id="why-pass"' in text


def test_moves_are_refused_by_get(team: Team, secondary: Item) -> None:
    for name in ("item-move", "item-claim"):
        assert team.client("aud").get(url(name, secondary)).status_code == 405


# --- queue --------------------------------------------------------------------------------------------------------


def test_calibration_by_page_is_core_s(team: Team) -> None:
    address = reverse("audit:calibration", args=[team.benchmark.slug])
    data = {"annotator": team.ann.username, "calibrated": "yes"}
    assert team.client("aud").post(address, data).status_code == 403
    assert team.client("stranger").post(address, data).status_code == 404
    assert team.client("core").post(address, {**data, "annotator": team.stranger.username}).status_code == 404
    assert team.client("core").post(address, data).status_code == 302
    assert Calibration.objects.get().calibrated


# --- releases -----------------------------------------------------------------------------------------------------


@pytest.fixture
def locked(team: Team) -> Item:
    return bring_to(team, team.item(), State.LOCKED)


def page_of(team: Team, who: str, name: str, *more: str) -> Any:
    return team.client(who).get(reverse(f"audit:{name}", args=[team.benchmark.slug, *more]))


def test_release_pages_show_to_members_and_hide_from_strangers(team: Team, locked: Item) -> None:
    release_actions.cut_release(team.benchmark, "v1", "First set", actor=team.admin)
    for who, status in [("ann", 200), ("aud", 200), ("core", 200), ("admin", 200), ("stranger", 404)]:
        assert page_of(team, who, "release-list").status_code == status
        assert page_of(team, who, "release", "v1").status_code == status
    assert page_of(team, "admin", "release", "v2").status_code == 404


def test_queue_says_how_items_come_while_none_waits(team: Team) -> None:
    assert b"when their authors submit them" in page_of(team, "core", "queue").content
    bring_to(team, team.item(), State.SUBMITTED)
    assert b"when their authors submit them" not in page_of(team, "core", "queue").content


def test_release_page_names_the_category_in_words(team: Team, locked: Item) -> None:
    slug = locked.category
    team.benchmark.categories.filter(slug=slug).update(name="Renamed kind")
    release_actions.cut_release(team.benchmark, "v1", actor=team.admin)
    assert "Renamed kind" in page_of(team, "core", "release", "v1").content.decode()


def test_release_page_shows_hash_canary_and_exports_to_admins_alone(team: Team, locked: Item) -> None:
    release = release_actions.cut_release(team.benchmark, "v1", actor=team.admin)
    text = page_of(team, "admin", "release", "v1").content.decode()
    assert release.hash in text and release.canary in text and "?variant=mr-lhdr" in text
    assert "?variant=" not in page_of(team, "core", "release", "v1").content.decode()


@pytest.mark.parametrize(("who", "status"), [("ann", 403), ("aud", 403), ("core", 403), ("stranger", 404)])
def test_release_is_cut_and_exported_by_admins_alone(team: Team, locked: Item, who: str, status: int) -> None:
    release_actions.cut_release(team.benchmark, "v1", actor=team.admin)
    assert page_of(team, who, "release-cut").status_code == status
    assert page_of(team, who, "release-check").status_code == status
    export = reverse("audit:release-export", args=[team.benchmark.slug, "v1"])
    assert team.client(who).get(export, {"variant": "public"}).status_code == status


def test_ticks_of_phase_4_are_the_sources(team: Team) -> None:
    item = bring_to(team, team.item(), State.FACTUAL_AUDIT)
    tick_all(item, team.core, "urls")
    text = team.client("core").get(url("panel", item)).content.decode()
    assert "Every URL with its claim" in text and "8 of 8 ticked" in text


def test_page_names_category_and_tags_in_words(team: Team, secondary: Item) -> None:
    team.benchmark.operation_tags.update(name="A tag in words")
    team.benchmark.categories.update(name="A category in words")
    page = team.client("aud").get(f"/b/bench/items/{secondary.number}/audit/").content.decode()
    assert "A tag in words" in page and "A category in words" in page
