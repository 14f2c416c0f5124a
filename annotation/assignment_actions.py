"""Who audits an item and by when, whose it is, and which items are examples. One function, one transaction, one event.

None of it touches the document. Raises NotAllowed (403) and Invalid (422) with nothing written.
"""

import datetime as dt

from django.contrib.auth.models import User
from django.db import transaction
from django.utils.translation import gettext as _

from lhdr_site.shared.errors import Invalid

from .actions import locked_item, record_event
from .benchmarks import role_of
from .models import Item, Membership, Notice
from .notice_actions import notify
from .permissions import ever_wrote, may_assign, may_mark_golden
from .states import Role

LONGEST_NOTE = 300


def _name(person: User) -> str:
    return person.get_full_name() or person.get_username()


def auditor_of_own(auditor: User) -> str:
    """Why somebody is not asked to audit an item, in words."""
    text = _("%(name)s wrote or co-edits this item, or once did, and nobody audits their own; choose somebody else.")
    return text % {"name": _name(auditor)}


def to_audit_it(author: User) -> str:
    """Why somebody does not become the author of an item, in words."""
    return _("%(name)s is to audit this item; choose another auditor first.") % {"name": _name(author)}


@transaction.atomic
def assign_item(item: Item, auditor: User | None, due: dt.date | None, *, actor: User) -> Item:
    """Ask somebody to audit an item by a day; None takes it back. Anybody who may can still audit it."""
    item = locked_item(item)
    may_assign(actor, item).require()
    if auditor is not None and auditor.pk != item.auditor_id:
        _refuse_auditor(item, auditor)
    if (item.auditor_id, item.due) == (auditor.pk if auditor else None, due):
        return item
    asked = auditor is not None and auditor.pk != item.auditor_id
    item.auditor, item.due = auditor, due
    item.save(update_fields=["auditor", "due"])
    name = auditor.get_username() if auditor else ""
    record_event(item, actor, "item.assigned", auditor=name, due=due.isoformat() if due else "")
    if auditor is not None and asked:
        notify([auditor], Notice.Kind.ASSIGNED, item, actor=actor)
    return item


def _refuse_auditor(item: Item, auditor: User) -> None:
    role = role_of(auditor, item.benchmark)
    if role is None or role < Role.AUDITOR:
        text = _("%(name)s is no auditor of this benchmark; choose an auditor or a member of the core team.")
        raise Invalid.at("auditor", text % {"name": _name(auditor)}, code="no_auditor")
    if ever_wrote(auditor, item) and not item.benchmark.is_sandbox:
        raise Invalid.at("auditor", auditor_of_own(auditor), code="own_item")


@transaction.atomic
def hand_over_item(item: Item, author: User, *, actor: User) -> Item:
    """Make another member the author. The former author becomes a co-editor, so still cannot audit it."""
    item = locked_item(item)
    may_assign(actor, item).require()
    if author.pk == item.author_id:
        return item
    if not Membership.objects.filter(benchmark=item.benchmark, user=author, user__is_active=True).exists():
        text = _("%(name)s is no active member of this benchmark.") % {"name": author.get_username()}
        raise Invalid.at("author", text, code="no_member")
    if author.pk == item.auditor_id and not item.benchmark.is_sandbox:
        raise Invalid.at("author", to_audit_it(author), code="auditor")
    former = item.author
    item.author = author
    item.save(update_fields=["author"])
    item.coeditors.remove(author)
    item.coeditors.add(former)
    record_event(item, actor, "item.handed_over", former=former.get_username(), author=author.get_username())
    notify([author], Notice.Kind.ASSIGNED, item, actor=actor)
    return item


@transaction.atomic
def mark_golden(item: Item, golden: bool, note: str = "", *, actor: User) -> Item:
    """Make an approved or locked item an example to follow, with what it is an example of, or no example any more."""
    item = locked_item(item)
    may_mark_golden(actor, item, golden).require()
    note = " ".join(note.split())
    if len(note) > LONGEST_NOTE:
        text = _("The note has at most %(most)d characters; shorten it.") % {"most": LONGEST_NOTE}
        raise Invalid.at("note", text, code="long_note")
    if golden and not note:
        raise Invalid.at("note", _("Say what it is a good example of."), code="empty_note")
    item.is_golden, item.golden_note = golden, note if golden else ""
    item.save(update_fields=["is_golden", "golden_note"])
    record_event(item, actor, "item.made_golden" if golden else "item.no_longer_golden", note=item.golden_note)
    return item
