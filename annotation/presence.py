"""Reads for the heartbeat of an item's page: who else is here, and what changed since the page was loaded.

Sixty people ask every few seconds, so it reads no document, and one query tells a quiet page all it needs.
"""

import datetime as dt
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from django.contrib.auth.models import User
from django.db.models import F, FilteredRelation, Q
from django.http import Http404
from django.utils import timezone

from .models import Item, Revision

SHOWN_SECONDS: Final = 60
REVISIONS: Final = 30  # looked through for who changed a section


@dataclass(frozen=True)
class Here:
    """Another person on the item, and the section they have open for editing ("" for none)."""

    user: User
    section: str


@dataclass(frozen=True)
class SectionChange:
    """A section that is no longer as a page shows it, and the revision that changed it."""

    section: str
    revision: Revision | None
    by_oneself: bool


@dataclass
class Beat:
    item_pk: int
    state: str
    section_hashes: Mapping[str, str]
    here: list[Here] = field(default_factory=list)


def beat_of(user: Any, slug: str, number: int) -> Beat:
    """The item as a member's heartbeat needs it. Raises Http404 for everybody else."""
    since = timezone.now() - dt.timedelta(seconds=SHOWN_SECONDS)
    items = Item.objects.filter(benchmark__slug=slug, benchmark__memberships__user=user, number=number)
    items = items.annotate(here=FilteredRelation("presences", condition=Q(presences__seen__gt=since)))
    names = {f"here_{name}": F(f"here__user__{name}") for name in ("pk", "username", "first_name", "last_name")}
    rows = list(
        items.annotate(here_section=F("here__section"), **names)
        .values("pk", "state", "section_hashes", "here_section", *names)
        .order_by("here_username")
    )
    if not rows:
        raise Http404
    beat = Beat(rows[0]["pk"], rows[0]["state"], rows[0]["section_hashes"])
    for row in rows:
        if row["here_pk"] not in (None, user.pk):
            person = User(
                pk=row["here_pk"],
                username=row["here_username"],
                first_name=row["here_first_name"],
                last_name=row["here_last_name"],
            )
            beat.here.append(Here(person, row["here_section"]))
    return beat


def changed_sections(item_pk: int, names: list[str], user: Any) -> list[SectionChange]:
    """Who changed each of these sections last: the newest revision that names it or is of the whole item."""
    revisions = (
        Revision.objects.filter(item=item_pk).select_related("author").defer("document").order_by("-number")[:REVISIONS]
    )
    found = list(revisions) if names else []
    changes = []
    for name in names:
        fitting = (r for r in found if r.section in (name, ""))
        revision = next(fitting, found[0] if found else None)
        changes.append(SectionChange(name, revision, revision is not None and revision.author_id == user.pk))
    return changes
