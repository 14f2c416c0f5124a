"""Taking an item through the audit in tests, by the real actions. Not a test itself."""

from typing import Any

from django.contrib.auth.models import User

from annotation.models import Item
from annotation.states import State
from audit import actions
from audit.evidence import elements_to_tick
from audit.link_actions import vouch_link
from audit.link_queries import links_of
from audit.workflow import Move, phase_of, required_criteria
from tests.factories import Team

REVIEWERS = {1: "core", 2: "aud", 3: "aud", 4: "core"}


def fresh(item: Item) -> Item:
    return Item.objects.select_related("benchmark", "author").get(pk=item.pk)


def submit(item: Item, actor: User | None = None) -> Item:
    item = fresh(item)
    return actions.submit_item(item, item.document_hash, actor=actor or item.author)


def answer(item: Item, actor: User, criterion: str, *, passed: bool = True, comment: str = "") -> Any:
    item = fresh(item)
    rating = 4 if passed else 2
    comment = comment or ("" if passed else "Mend it")
    return actions.record_criterion(
        item, criterion, item.document_hash, rating=rating, passed=passed, comment=comment, actor=actor
    )


def tick(item: Item, actor: User, element: str, *, supported: bool = True) -> Any:
    item = fresh(item)
    return actions.tick_element(item, element, item.document_hash, supported=supported, actor=actor)


def tick_all(item: Item, actor: User, criterion: str = "support") -> None:
    for element in elements_to_tick(fresh(item).document, criterion):
        tick(item, actor, element)


def open_links(item: Item, actor: User) -> None:
    """Say of every source that one opened it."""
    for key, link in links_of(fresh(item)).items():
        vouch_link(item, key, link.url_hash, "Opened; it says so", actor=actor)


def answer_phase(item: Item, actor: User) -> None:
    """A passing answer to every required criterion of the present phase, with the ticks they need."""
    item = fresh(item)
    phase = phase_of(State(item.state))
    assert phase is not None
    for criterion in required_criteria(phase, sandbox=item.benchmark.is_sandbox):
        if criterion.ticks:
            tick_all(item, actor, criterion.code)
        if criterion.code == "urls":
            open_links(item, actor)
        answer(item, actor, criterion.code)


def finish(item: Item, actor: User, move: Move = Move.PASS, reason: str = "", **options: Any) -> Item:
    item = fresh(item)
    return actions.finish_review(item, move, item.document_hash, actor=actor, reason=reason, **options)


def bring_to(team: Team, item: Item, state: State, *, author: User | None = None) -> Item:
    """Submit a draft and pass it up to `state` (an audit state, approved or locked), each phase by who may."""
    submit(item, author or team.ann)
    while (item := fresh(item)).state != state:
        if item.state == State.APPROVED:
            return actions.lock_item(item, item.document_hash, actor=team.core)
        phase = phase_of(State(item.state))
        assert phase is not None
        reviewer = getattr(team, REVIEWERS[phase.number])
        answer_phase(item, reviewer)
        finish(item, reviewer)
    return item
