"""Candidate answers that auditors raise against an item's uniqueness: one function, one transaction, one event."""

from django.contrib.auth.models import User
from django.db import transaction
from django.utils import timezone
from django.utils.translation import gettext as _

from annotation.actions import locked_item, record_event
from annotation.benchmarks import Item
from annotation.folding import fold
from annotation.queries import present_revision
from lhdr_site.shared.errors import Conflict, Invalid
from lhdr_site.shared.validation import validate

from .evidence import ruling_out
from .models import Candidate
from .permissions import may_raise_candidate, may_withdraw_candidate

MOST = 50  # of one item


@transaction.atomic
def add_candidate(item: Item, answer: str, why: str, *, actor: User) -> Candidate:
    """Say that another answer might fit. The item does not pass until its rivals rule the answer out."""
    item = locked_item(item)
    may_raise_candidate(actor, item).require()
    answer, why = " ".join(answer.split()), why.strip()
    if not answer:
        raise Invalid.at("candidate", _("Write the answer that might fit as well."))
    if not why:
        raise Invalid.at("why", _("Say why it might fit: the author has to rule it out."))
    if len(why) > 4_000:
        raise Invalid.at("why", _("The reason has at most %(most)d characters.") % {"most": 4_000})
    if fold(answer) in {fold(text) for text in (item.document["answer"], *item.document["answer_aliases"])}:
        raise Invalid.at("candidate", _("This is the item's answer itself."))
    if constraint := ruling_out(item.document, answer):
        text = _("The rivals rule this answer out already: %(constraint)s")
        raise Invalid.at("candidate", text % {"constraint": constraint[:300]})
    there = item.candidates.filter(withdrawn=None)
    if fold(answer) in {fold(text) for text in there.values_list("answer", flat=True)}:
        raise Invalid.at("candidate", _("This candidate was raised already."))
    if there.count() >= MOST:
        raise Invalid.at("candidate", _("An item has at most %(most)d candidates.") % {"most": MOST})
    revision = present_revision(item)
    candidate = Candidate(item=item, revision=revision, answer=answer, why=why, by=actor)
    validate(candidate, exclude=["withdrawn", "withdrawn_by"])
    candidate.save(force_insert=True)
    record_event(item, actor, "candidate.raised", answer=answer)
    return candidate


@transaction.atomic
def withdraw_candidate(item: Item, pk: int, *, actor: User) -> Candidate:
    """Take a candidate back: it does not fit after all."""
    item = locked_item(item)
    candidate = Candidate.objects.select_for_update().filter(item=item, pk=pk).first()
    if candidate is None or candidate.withdrawn:
        raise Conflict(_("This candidate was taken back already."), code="gone")
    may_withdraw_candidate(actor, item).require()
    candidate.withdrawn, candidate.withdrawn_by = timezone.now(), actor
    candidate.save(update_fields=["withdrawn", "withdrawn_by"])
    record_event(item, actor, "candidate.withdrawn", answer=candidate.answer)
    return candidate
