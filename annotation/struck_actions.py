"""Writes to what was struck from a checklist: one function, one transaction, one event. Strikes are in `actions`."""

from django.contrib.auth.models import User
from django.db import transaction
from django.utils.translation import gettext as _

from lhdr_site.shared.errors import Conflict

from .actions import locked_item, refuse_broken, write_document
from .candidates import take_back_step
from .document import read_document
from .models import Item, Revision, StruckStep
from .permissions import may_edit_item
from .queries import used_anchors


@transaction.atomic
def take_back(struck: StruckStep, *, actor: User) -> Item:
    """The struck step is a step again, before the final one, with its key if that is free. Conflicts with nobody."""
    item = locked_item(struck.item)
    may_edit_item(actor, item).require()
    struck = StruckStep.objects.select_for_update().get(pk=struck.pk)
    if struck.restored:
        raise Conflict(_("%(key)s was taken back already.") % {"key": struck.key}, code="taken_back")
    changed, key = take_back_step(read_document(item.document), struck.step, used_anchors(item))
    refuse_broken(changed)
    message = _("Took back %(key)s") % {"key": struck.key}
    data = {"taken_back": struck.key, "key": key}
    kind = Revision.Kind.EDIT
    revision = write_document(item, changed, actor=actor, kind=kind, section="checklist", message=message, data=data)
    struck.restored = revision.created
    struck.save(update_fields=["restored"])
    return item
