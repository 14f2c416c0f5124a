"""Telling people, and setting aside what one was told; and a person's own settings."""

import datetime as dt
from collections.abc import Iterable, Mapping
from typing import Any

from django.contrib.auth.models import User
from django.db import transaction
from django.db.models import Q, QuerySet
from django.utils import timezone

from lhdr_site.shared.validation import validate

from .models import Benchmark, Comment, Item, Mention, Notice, Preferences, Suggestion
from .notices import INBOX

GATHER = dt.timedelta(seconds=60)  # what comes for one person within it goes into one mail


def people_of(item: Item) -> list[User]:
    """The author and the co-editors."""
    return [item.author, *item.coeditors.all()]


def notify(
    users: Iterable[User],
    kind: str,
    item: Item,
    *,
    actor: User | None,
    comment: Comment | None = None,
    suggestion: Suggestion | None = None,
    about: str = "",
    text: str = "",
) -> list[Notice]:
    """Tell people of something about an item, in the caller's transaction. Nobody is told of their own act."""
    wanted = {user.pk for user in users} - {actor.pk if actor else None}
    of = {"item": item, "comment": comment, "suggestion": suggestion}
    return _tell(item.benchmark, wanted, kind, actor=actor, about=about, text=text, **of)


def tell_of_end(
    benchmark: Benchmark, users: Iterable[int], about: str, facts: Mapping[str, Any], address: str
) -> list[Notice]:
    """Tell people (by their ids) that something of a benchmark ended, in the caller's transaction.

    about: a key of `notices.ENDS`, which words the facts; address: where on the site it leads.
    """
    return _tell(benchmark, set(users), Notice.Kind.RUN, about=about, facts=dict(facts), address=address)


def withdraw_end(benchmark: Benchmark, address: str) -> None:
    """What was told of an end is no longer so: set it aside for everybody, and mail nobody who was not mailed yet."""
    told = Notice.objects.filter(benchmark=benchmark, kind=Notice.Kind.RUN, address=address)
    told.filter(mail=Notice.Mail.WAITING).update(mail=Notice.Mail.UNWANTED)
    told.filter(done=None).update(done=timezone.now())


def _tell(benchmark: Benchmark, users: set[int], kind: str, **fields: Any) -> list[Notice]:
    """The rows say who is told, the worker sends the mail. Only active members of the benchmark are told."""
    if not users:
        return []
    members = benchmark.memberships.filter(user__in=users, user__is_active=True).values_list("user", flat=True)
    now = timezone.now()
    done = None if kind in INBOX else now
    return Notice.objects.bulk_create(
        Notice(user_id=pk, benchmark=benchmark, kind=kind, done=done, due=now + GATHER, **fields) for pk in members
    )


def finish(notices: QuerySet[Notice]) -> int:
    """Set aside what is open of them, mentions too; in the caller's transaction."""
    now = timezone.now()
    still = notices.filter(done=None)
    rows = list(still.filter(kind=Notice.Kind.MENTION).values_list("comment", "user"))
    for comment, user in rows:
        Mention.objects.filter(comment=comment, user=user, done=None).update(done=now)
    return still.update(done=now)


@transaction.atomic
def finish_notices(*, actor: User, pk: int | None = None) -> int:
    """Set aside one of one's own notices, or all of them. Returns how many were open."""
    own = Notice.objects.filter(Q(pk=pk) if pk is not None else Q(), user=actor)
    return finish(own)


@transaction.atomic
def save_preferences(values: Mapping[str, Any], *, actor: User) -> Preferences:
    """Keep what a person set for themselves."""
    row = Preferences.objects.select_for_update().filter(user=actor).first() or Preferences(user=actor)
    for name, value in values.items():
        setattr(row, name, value)
    validate(row)
    row.save()
    return row
