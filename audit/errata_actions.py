"""Flagging faults of locked items and deciding on them: one function, one transaction, one event.

It locks the item, then the erratum. Raises NotAllowed (403), Conflict (409) and Invalid (422) with nothing written.
"""

import json
from collections.abc import Mapping
from typing import Any, Final

from django.contrib.auth.models import User
from django.db import transaction
from django.utils import timezone
from django.utils.translation import gettext as _

from annotation.actions import locked_item, record_event
from annotation.benchmarks import Item, Role
from annotation.models import Notice, Revision
from annotation.notice_actions import notify, people_of
from annotation.states import State
from lhdr_site.shared.errors import Conflict, Invalid

from .actions import unlock_item
from .models import Errata, Release, ReleaseItem
from .permissions import may_decide_erratum, may_flag_item
from .text import state_name

LONGEST: Final = 5_000  # characters of grounds and of a reason
LARGEST: Final = 50_000  # bytes of evidence
_LISTS: Final = {Errata.Kind.STEP: "checklist", Errata.Kind.SOURCE: "sources"}


@transaction.atomic
def flag_item(
    item: Item,
    kind: str,
    grounds: str,
    *,
    actor: User,
    anchor: str = "",
    release: str = "",
    evidence: Mapping[str, Any] | None = None,
) -> Errata:
    """Say that a locked item is faulty; with the name of a release, that its frozen copy is, whatever became of it.

    anchor: key of the step or source, for those kinds alone. evidence: plain JSON that an analysis brings along.
    Core is told.
    """
    item = locked_item(item)
    may_flag_item(actor, item).require()
    revision = _flagged_revision(item, release)
    if kind not in Errata.Kind.values:
        raise Invalid.at("kind", _("Say what is wrong: one of %(known)s.") % {"known": ", ".join(Errata.Kind.values)})
    part = _LISTS.get(Errata.Kind(kind))
    keys = [element["key"] for element in revision.document[part]] if part else [""]
    if anchor not in keys:
        text = _("Name the step or source by its key: %(keys)s.") if part else _("Only a step or a source has a key.")
        raise Invalid.at("anchor", text % {"keys": ", ".join(keys)} if part else text)
    evidence = dict(evidence or {})
    if len(json.dumps(evidence, ensure_ascii=False).encode()) > LARGEST:
        text = _("The evidence has more than %(most)d bytes. Bring what shows the fault alone.") % {"most": LARGEST}
        raise Invalid.at("evidence", text)
    row = Errata.objects.create(
        item=item,
        revision=revision,
        kind=kind,
        anchor=anchor,
        grounds=_text("grounds", grounds, _("Say why: what is wrong, and how one sees it.")),
        evidence=evidence,
        author=actor,
    )
    core = item.benchmark.memberships.filter(role__gte=Role.CORE).select_related("user")
    notify([m.user for m in core], Notice.Kind.COMMENT, item, actor=actor, about="flagged", text=row.grounds)
    _event(row, actor, "erratum.flagged")
    return row


@transaction.atomic
def decide_erratum(
    erratum: Errata, status: str, reason: str, *, seen: str, actor: User, unlock: bool = False
) -> Errata:
    """Core's word on an erratum: valid (nothing is wrong), revised, uncertain or retired, with the reason.

    `seen` is the status that the person decides upon; another one by now is a conflict. A word can be changed later.
    With `unlock` (for revised) the item goes back to its author with the same reason, in one go. Who flagged it, its
    author and co-editors are told.
    """
    item = locked_item(erratum.item)
    row = Errata.objects.select_for_update(of=("self",)).select_related("author", "decided_by").get(pk=erratum.pk)
    may_decide_erratum(actor, item).require()
    if row.status != seen:
        raise Conflict(
            _("%(who)s decided meanwhile: %(status)s. “%(reason)s” Look at it, then decide.")
            % {"who": row.decided_by, "status": row.get_status_display(), "reason": row.reason},
            code="decided_meanwhile",
            now=row.status,
        )
    if status not in Errata.Status.values or status == Errata.Status.OPEN:
        known = ", ".join(s for s in Errata.Status.values if s != Errata.Status.OPEN)
        raise Invalid.at("status", _("Decide for one of %(known)s.") % {"known": known})
    if unlock and status != Errata.Status.REVISED:
        raise Invalid.at("unlock", _("Only an item that is to be revised is unlocked."))
    row.status = status
    row.reason = _text("reason", reason, _("Give a reason: it is what the others will read."))
    row.decided_by, row.decided = actor, timezone.now()
    row.save(update_fields=["status", "reason", "decided_by", "decided"])
    if unlock:
        unlock_item(item, row.reason, actor=actor)
    told = {user.pk: user for user in (row.author, *people_of(item))}
    notify(told.values(), Notice.Kind.DECISION, item, actor=actor, about=f"erratum_{status}", text=row.reason)
    _event(row, actor, "erratum.decided", status=status, reason=row.reason, was=seen)
    return row


def _flagged_revision(item: Item, release: str) -> Revision:
    if release:
        held = ReleaseItem.objects.filter(release__name=release, release__benchmark=item.benchmark_id, item=item)
        found = held.select_related("revision").first()
        if found is None:
            known = Release.objects.filter(release_items__item=item).order_by("pk").values_list("name", flat=True)
            text = _("No release “%(name)s” holds this item. It is in: %(known)s.")
            text = text % {"name": release[:60], "known": ", ".join(known) or "–"}
            raise Invalid.at("release", text)
        return found.revision
    if item.state != State.LOCKED:
        raise Conflict(
            _("Only a locked item is flagged; this one is in state “%(state)s”. Comment on it, or name the release.")
            % {"state": state_name(State(item.state))},
            code="wrong_state",
            state=item.state,
        )
    return Revision.objects.get(item=item, number=item.revision_number)


def _text(field: str, text: str, missing: str) -> str:
    text = text.replace("\r\n", "\n").strip()
    if not text:
        raise Invalid.at(field, missing)
    if len(text) > LONGEST:
        sentence = _("Use at most %(most)d characters; these are %(n)d.") % {"most": LONGEST, "n": len(text)}
        raise Invalid.at(field, sentence)
    return text


def _event(row: Errata, actor: User, kind: str, **data: Any) -> None:
    record_event(
        row.item, actor, kind, erratum=row.pk, revision=row.revision.number, fault=row.kind, anchor=row.anchor, **data
    )
