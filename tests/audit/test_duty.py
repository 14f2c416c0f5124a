"""Separation of duty: who may do what with an item of their own, once their own, or judged before; and overrides."""

from datetime import timedelta
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.db import IntegrityError, transaction
from django.urls import reverse
from django.utils import timezone

from annotation import actions as items
from annotation.assignment_actions import assign_item, hand_over_item
from annotation.benchmark_actions import set_membership
from annotation.document import read_document
from annotation.models import Item, ItemEvent
from annotation.states import Role, State
from audit import actions
from audit.models import Override, ReviewClaim
from audit.override_actions import override_rule
from audit.permissions import may_make_move, may_review, standing_of
from audit.plan_actions import set_plan
from audit.release_actions import cut_release
from audit.workflow import Move, Rule, next_state, phase_of, role_for
from lhdr_site.shared.errors import Invalid, NotAllowed
from tests.factories import Team, make_team, make_user

from .judging import answer, answer_phase, bring_to, finish, fresh, submit

MOVES = [move for move in Move if move is not Move.LOCK_IMPORTED]
NAMES = ("ann", "aud", "core", "admin")
ROLES = dict(zip(NAMES, Role, strict=True))


def write(item: Item, actor: User, text: str = "Another design") -> Item:
    item = fresh(item)
    return items.save_section(item, "design", {"design": text}, item.section_hashes["design"], actor=actor)


def put(item: Item, state: State) -> Item:
    Item.objects.filter(pk=item.pk).update(state=state)
    return fresh(item)


# --- the matrix ---------------------------------------------------------------------------------------------------

OWNERSHIP = ("other", "author", "coeditor", "former author", "former coeditor")


def owned(team: Team, person: User, how: str) -> Item:
    """An item of `ann2`, to which the person is what `how` says."""
    if how == "other":
        return team.item(author=team.ann2)
    item = team.item(author=person if "author" in how else team.ann2)
    if how == "former author":
        hand_over_item(item, team.ann2, actor=team.root)
        item.coeditors.clear()
    if "coeditor" in how:
        items.set_coeditors(item, [person], actor=team.ann2)
    if how == "former coeditor":
        write(item, person)
        items.set_coeditors(fresh(item), [], actor=team.ann2)
    return item


@pytest.mark.parametrize("how", OWNERSHIP)
@pytest.mark.parametrize("name", NAMES)
def test_matrix_of_role_move_ownership_and_state_is_as_the_design_says(team: Team, name: str, how: str) -> None:
    """Every move the state allows and every phase's judging, for each role on an item own, once own, or not."""
    person, role = getattr(team, name), ROLES[name]
    item = owned(team, person, how)
    own = how != "other"
    for state in State:
        item.state = state
        standing = standing_of(person, item)
        for move in MOVES:
            if next_state(state, move) is None:
                continue
            needed = role_for(state, move)
            if move is Move.SUBMIT:
                expected = how in ("author", "coeditor")
            elif move is Move.WITHDRAW:
                expected = how == "author"
            else:
                assert needed is not None
                expected = role >= needed and (not own or move is Move.UNLOCK)
                if move is Move.REOPEN and own:
                    expected = False
            got = bool(may_make_move(person, item, move, standing=standing))
            assert got == expected, (name, how, state, move)
        phase = phase_of(state)
        expected = phase is not None and role >= phase.role and not own
        assert bool(may_review(person, item, standing=standing)) == expected, (name, how, state)


def test_matrix_in_a_sandbox_lets_everybody_judge_their_own(db: Any) -> None:
    team = make_team("alone", "sandbox")
    for name in NAMES[1:]:
        item = put(team.item(author=getattr(team, name)), State.SECONDARY_AUDIT)
        assert may_review(getattr(team, name), item)
    assert not may_review(team.ann, put(team.item(), State.SECONDARY_AUDIT))


def test_standing_is_read_in_one_query(team: Team, django_assert_num_queries: Any) -> None:
    item = fresh(team.item())
    with django_assert_num_queries(1):
        standing_of(team.aud, item)


def test_standing_of_a_stranger_has_no_role(team: Team) -> None:
    assert standing_of(team.stranger, fresh(team.item())).role is None


# --- who ever wrote it --------------------------------------------------------------------------------------------


def test_judging_what_one_once_wrote_is_refused_by_the_actions(team: Team) -> None:
    item = team.item()
    items.set_coeditors(item, [team.aud], actor=team.ann)
    write(item, team.aud)
    items.set_coeditors(fresh(item), [], actor=team.ann)
    item = bring_to_secondary(team, item)
    with pytest.raises(NotAllowed, match="once did"):
        answer(item, team.aud, "chain")
    with pytest.raises(NotAllowed):
        finish(item, team.aud, Move.RETURN, "No")
    with pytest.raises(Invalid, match="once did"):
        assign_item(item, team.aud, None, actor=team.core)


def bring_to_secondary(team: Team, item: Item) -> Item:
    submit(item)
    answer_phase(item, team.core)
    return finish(item, team.core)


def test_an_edit_by_core_during_the_audit_makes_no_author(team: Team) -> None:
    item = bring_to(team, team.item(), State.FACTUAL_AUDIT)
    write(item, team.core)
    assert may_review(team.core, fresh(item))
    assert not item.writers.filter(user=team.core).exists()


def test_writers_when_somebody_writes_twice_are_kept_once(team: Team) -> None:
    item = team.item()
    write(item, team.ann)
    assert [row.user for row in item.writers.all()] == [team.ann]
    assert read_document(fresh(item).document).design == "Another design"


# --- different people for phases 2 and 4 --------------------------------------------------------------------------


def test_phases_2_and_4_by_one_person_are_refused_where_the_plan_says_so(team: Team) -> None:
    other = make_user("second-core")
    set_membership(team.benchmark, other, Role.CORE, actor=team.admin)
    item = bring_to_secondary(team, team.item())
    answer_phase(item, team.core)
    finish(item, team.core)
    answer_phase(item, team.aud)
    item = finish(item, team.aud)
    assert item.state == State.FACTUAL_AUDIT and may_review(team.core, item)
    set_plan(team.benchmark, {"different_auditors": True}, actor=team.admin)
    with pytest.raises(NotAllowed, match="phase 2"):
        answer(item, team.core, "breadth")
    assert may_review(other, fresh(item))
    answer_phase(item, other)
    item = finish(item, other)
    actions.lock_item(item, item.document_hash, actor=team.core)  # locking is no judging of a phase


def test_phase_2_after_phase_4_by_the_same_person_is_refused_as_well(team: Team) -> None:
    set_plan(team.benchmark, {"different_auditors": True}, actor=team.admin)
    item = bring_to(team, team.item(), State.FACTUAL_AUDIT)
    finish(item, team.core, Move.RETURN, "The sources")
    item = put(item, State.SECONDARY_AUDIT)
    assert not may_review(team.core, item) and may_review(team.admin, item)
    override_rule(item, Rule.SAME_AUDITOR, "Nobody else reads Latin", person=team.core, actor=team.admin)
    assert may_review(team.core, item)


# --- somebody has it ----------------------------------------------------------------------------------------------


def test_a_claim_keeps_other_auditors_off_but_not_core_until_it_lapses(team: Team) -> None:
    second = make_user("second-aud", first_name="Mei")
    set_membership(team.benchmark, second, Role.AUDITOR, actor=team.admin)
    item = bring_to_secondary(team, team.item())
    until = timezone.now() + timedelta(minutes=5)
    claim = ReviewClaim.objects.create(item=item, auditor=second, phase=2, expires=until)
    refused = may_review(team.aud, item)
    assert not refused and "Mei has it until" in refused.reason
    assert may_review(second, item) and may_review(team.core, item)
    claim.expires = timezone.now() - timedelta(seconds=1)
    claim.save()
    assert may_review(team.aud, item)


# --- overrides ----------------------------------------------------------------------------------------------------


def test_override_by_an_admin_lets_one_person_judge_one_item_and_stays_for_ever(team: Team) -> None:
    item, other = (bring_to_secondary(team, team.item(author=team.aud)) for _n in range(2))
    row = override_rule(item, Rule.OWN_ITEM, " Only one of us reads Kanji ", person=team.aud, actor=team.admin)
    assert row.reason == "Only one of us reads Kanji"
    assert may_review(team.aud, item) and not may_review(team.aud, other)
    event = ItemEvent.objects.get(kind="rule.overridden")
    assert (event.item, event.data["person"]) == (item, "bench-aud")
    for change in (lambda: Override.objects.update(reason="x"), lambda: Override.objects.all().delete()):
        with pytest.raises(IntegrityError), transaction.atomic():
            change()


def test_override_for_oneself_is_for_the_only_admin(team: Team) -> None:
    item = team.item(author=team.admin)
    with pytest.raises(NotAllowed, match="ask another admin"):
        override_rule(item, Rule.OWN_ITEM, "I know it", person=team.admin, actor=team.admin)
    set_membership(team.benchmark, team.root, None, actor=team.admin)
    override_rule(item, Rule.OWN_ITEM, "There is nobody else", person=team.admin, actor=team.admin)
    assert Override.objects.count() == 1


@pytest.mark.parametrize(
    ("rule", "who", "reason", "field"),
    [
        ("own_item", "aud", " ", "reason"),
        ("own_item", "aud", "x" * 2001, "reason"),
        ("own_item", None, "Why", "person"),
        ("probes", "aud", "Why", "person"),
        ("own_item", "stranger", "Why", "person"),
        ("gravity", "aud", "Why", "rule"),
    ],
)
def test_override_when_it_cannot_be_taken_names_the_field(
    team: Team, rule: str, who: str | None, reason: str, field: str
) -> None:
    person = getattr(team, who) if who else None
    with pytest.raises(Invalid) as refused:
        override_rule(team.item(), rule, reason, person=person, actor=team.admin)
    assert refused.value.details["problems"][0]["path"] == field
    assert not Override.objects.exists()


def test_override_page_posts_for_admins_shows_to_all_and_refuses_the_others(team: Team) -> None:
    item = bring_to(team, team.item(author=team.aud), State.SUBMITTED, author=team.aud)
    address = reverse("audit:rule-override", args=[team.benchmark.slug, item.number])
    data = {"rule": "own_item", "person": "bench-aud", "reason": "The only reader of Kanji"}
    for who, status in (("ann", 403), ("aud", 403), ("core", 403), ("stranger", 404)):
        assert team.client(who).post(address, data).status_code == status
    again = team.client("admin").post(address, {**data, "reason": ""})
    assert again.status_code == 422 and "stands with the item for ever" in again.content.decode()
    assert team.client("admin").post(address, {**data, "person": "nobody"}).status_code == 422
    assert team.client("admin").post(address, data).status_code == 302
    page = reverse("audit:panel", args=[team.benchmark.slug, item.number])
    for who in ("ann", "aud", "admin"):
        text = team.client(who).get(page).content.decode()
        assert "The only reader of Kanji" in text
        assert ("Set a rule aside" in text) == (who == "admin")


def test_release_page_lists_the_rules_set_aside_for_its_items(team: Team) -> None:
    item = bring_to(team, team.item(), State.LOCKED)
    override_rule(item, Rule.OWN_ITEM, "Because", person=team.core, actor=team.admin)
    release = cut_release(team.benchmark, "v1", actor=team.admin)
    override_rule(item, Rule.OWN_ITEM, "Too late", person=team.aud, actor=team.admin)
    text = team.client("ann").get(reverse("audit:release", args=[team.benchmark.slug, release.name])).content.decode()
    assert "Because" in text and "Too late" not in text
