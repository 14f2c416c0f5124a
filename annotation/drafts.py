"""Writes beside an item that are no part of it: one's own unsaved text, and who is here now.

They change no item, so they leave neither revision nor event. Nobody else ever reads a draft.
"""

from django.contrib.auth.models import User
from django.db import transaction
from django.utils import timezone
from django.utils.translation import gettext as _

from lhdr_site.shared.errors import Invalid

from .models import Draft, Item, Presence, SaveKey
from .permissions import may_keep_draft

MOST_CHARACTERS = 2_000_000


@transaction.atomic
def keep_draft(item: Item, section: str, base_hash: str, body: str, *, actor: User, form_key: str = "") -> Draft | None:
    """One's unsaved text of a section in place of the one kept before. It may outlive the right to edit: text is kept.

    body: the form as it would be posted. form_key: what the form's saves are known by; None when it was saved
    already, as this text was only on its way longer than the save.
    """
    may_keep_draft(actor, item).require()
    if len(body) > MOST_CHARACTERS:
        text = _("This is too much text for a draft (%(n)d characters of at most %(most)d). Save it, or shorten it.")
        raise Invalid(text % {"n": len(body), "most": MOST_CHARACTERS}, code="draft_too_long")
    Item.objects.select_for_update().only("pk").get(pk=item.pk)
    if form_key and SaveKey.objects.filter(item=item, key__startswith=f"{form_key}:").exists():
        return None
    draft, _created = Draft.objects.update_or_create(
        item=item, user=actor, section=section, defaults={"base_hash": base_hash[:64], "body": body}
    )
    return draft


@transaction.atomic
def drop_draft(item: Item, section: str, *, actor: User) -> Draft | None:
    """Forget one's unsaved text of a section; returns what it was."""
    may_keep_draft(actor, item).require()
    draft = Draft.objects.filter(item=item, user=actor, section=section).first()
    if draft is not None:
        draft.delete()
    return draft


def note_presence(item_pk: int, section: str | None, *, actor: User) -> None:
    """That a person has an item open now, and which section for editing; None leaves what another tab said of it.

    One statement, without lock or event: it is said every few seconds and means nothing a minute later.
    """
    Presence.objects.bulk_create(
        [Presence(item_id=item_pk, user=actor, section=section or "", seen=timezone.now())],
        update_conflicts=True,
        unique_fields=["item", "user"],
        update_fields=["seen"] if section is None else ["section", "seen"],
    )


def end_presence(item_pk: int, *, actor: User) -> None:
    Presence.objects.filter(item_id=item_pk, user=actor).delete()
