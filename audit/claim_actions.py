"""Taking items from the queue: claims that lapse by themselves. One function, one transaction, one event.

A renewal is no event: it is the page saying that it is still open. Raises NotAllowed (403) and Conflict (409).
"""

import datetime as dt

from django.contrib.auth.models import User
from django.db import transaction
from django.utils import timezone
from django.utils.translation import gettext as _

from annotation.actions import locked_item, record_event
from annotation.benchmarks import Benchmark, Item, Role, may_act_as, role_of
from annotation.states import State
from lhdr_site.shared.errors import Conflict

from .models import Review, ReviewClaim
from .permissions import may_review
from .plans import plan_of
from .queue import next_for
from .workflow import GIVEN_BACK, Phase, phase_of


@transaction.atomic
def claim_next(benchmark: Benchmark, *, actor: User) -> Item | None:
    """Take the next item for the person, or give back what they have already; None when nothing waits.

    Two at once get different items: a row that somebody else is taking is passed over.
    """
    may_act_as(actor, benchmark, Role.AUDITOR).require()
    role = role_of(actor, benchmark)
    assert role is not None
    rows = Item.objects.select_for_update(of=("self",), skip_locked=True).select_related("benchmark", "author")
    for pk in next_for(actor, benchmark, role):
        item = rows.filter(pk=pk).first()
        if item is None or not may_review(actor, item) or _claim_of_others(item, actor) is not None:
            continue  # it changed since it was found, or is changing now
        phase = phase_of(State(item.state))
        assert phase is not None
        if hold(item, actor, phase):
            record_event(item, actor, "item.claimed", phase=phase.number)
        return item
    return None


@transaction.atomic
def claim_item(item: Item, *, actor: User) -> None:
    """Take one item that may be judged now."""
    item = locked_item(item)
    may_review(actor, item).require()
    if (other := _claim_of_others(item, actor)) is not None:
        text = _("%(who)s has it now. Judge it anyway, or wait until they give it back.")
        raise Conflict(text % {"who": other.auditor.get_full_name() or other.auditor.get_username()}, code="claimed")
    phase = phase_of(State(item.state))
    assert phase is not None
    if hold(item, actor, phase):
        record_event(item, actor, "item.claimed", phase=phase.number)


@transaction.atomic
def give_back(item: Item, *, actor: User) -> None:
    """Let go of an item: what was answered stays, and it is not the next for this person again in this phase."""
    item = locked_item(item)
    phase = phase_of(State(item.state))
    claims = ReviewClaim.objects.filter(item=item, auditor=actor)
    reviews = Review.objects.filter(item=item, auditor=actor, ended=None)
    if phase is None or not (claims.exists() or reviews.exists()):
        raise Conflict(_("You do not have this item; there is nothing to give back."), code="not_claimed")
    claims.delete()
    review = reviews.first() or Review(item=item, phase=phase.number, auditor=actor)
    review.ended, review.outcome = timezone.now(), GIVEN_BACK
    review.save()
    record_event(item, actor, "item.given_back", phase=phase.number)


def renew_claim(item: Item, *, actor: User) -> bool:
    """The page is still open: the time begins anew. False when the person's claim is gone."""
    until = timezone.now() + dt.timedelta(minutes=plan_of(item.benchmark).claim_minutes)
    mine = ReviewClaim.objects.filter(item=item, auditor=actor, expires__gt=timezone.now())
    return bool(mine.update(expires=until))


def hold(item: Item, actor: User, phase: Phase) -> bool:
    """Claim a locked item for who may judge it, unless somebody else has it. Whether it is new."""
    now = timezone.now()
    claim = ReviewClaim.objects.filter(item=item).first()
    if claim is not None and claim.expires > now and claim.auditor_id != actor.pk:
        return False
    is_new = claim is None or claim.expires <= now or claim.phase != phase.number
    values = {
        "auditor": actor,
        "phase": phase.number,
        "expires": now + dt.timedelta(minutes=plan_of(item.benchmark).claim_minutes),
    }
    if is_new:
        values["created"] = now
    ReviewClaim.objects.update_or_create(item=item, defaults=values)
    return is_new


def _claim_of_others(item: Item, actor: User) -> ReviewClaim | None:
    live = ReviewClaim.objects.filter(item=item, expires__gt=timezone.now()).exclude(auditor=actor)
    return live.select_related("auditor").first()
