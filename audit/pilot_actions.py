"""Phase 1 by pilot batches: made, rated, and closed with an outcome. One function, one transaction, one event.

Raises NotAllowed (403), Conflict (409) and Invalid (422) with nothing written.
"""

from collections.abc import Mapping
from typing import Any

from django.contrib.auth.models import User
from django.db import transaction
from django.utils import timezone
from django.utils.translation import gettext as _

from annotation.actions import locked_item
from annotation.benchmarks import Benchmark, Item, Membership
from annotation.comment_actions import add_comment
from annotation.models import ItemEvent
from annotation.queries import present_revision
from annotation.states import State
from lhdr_site.shared.errors import Conflict, Invalid

from . import actions
from .models import CriterionResult, PilotBatch, PilotRating, Review
from .permissions import may_rate_pilot, may_set_calibration
from .pilot import CRITERIA, Pilot, pilot_of, ready_items
from .plans import plan_of
from .workflow import Move

LONGEST = 5_000  # characters of a note or comment


@transaction.atomic
def make_batch(benchmark: Benchmark, annotator: User, *, actor: User) -> PilotBatch:
    """A batch of the person's submitted items, those that wait longest; one is open at a time."""
    benchmark = Benchmark.objects.select_for_update().get(pk=benchmark.pk)
    may_set_calibration(actor, benchmark, annotator).require()
    if not Membership.objects.filter(benchmark=benchmark, user=annotator).exists():
        raise Invalid.at("annotator", _("%(name)s is not a member of this benchmark.") % {"name": annotator})
    batches = PilotBatch.objects.filter(benchmark=benchmark, annotator=annotator)
    if batches.filter(status=PilotBatch.Status.OPEN).exists():
        raise Conflict(_("A batch of this person is being rated; close it first."), code="batch_open")
    items = list(ready_items(benchmark, annotator).only("pk", "number")[: plan_of(benchmark).pilot_items])
    if not items:
        text = _("%(name)s has no submitted item that was in no batch yet; a batch is made from such.")
        raise Invalid.at("annotator", text % {"name": annotator}, code="no_items")
    batch = PilotBatch.objects.create(
        benchmark=benchmark, annotator=annotator, number=batches.count() + 1, created_by=actor
    )
    batch.items.set(items)
    _event(batch, actor, "pilot.made", items=[item.number for item in items])
    return batch


@transaction.atomic
def rate_pilot(
    batch: PilotBatch, item: Item, document_hash: str, ratings: Mapping[str, Mapping[str, Any]], *, actor: User
) -> None:
    """One rater's words on one item. ratings: criterion -> {rating: 1 to 5, passed, comment}.

    They are the rater's to change until every rater is done. A pass needs 3 or more, a fail a comment.
    """
    item = locked_item(item)
    batch = _locked(batch)
    may_rate_pilot(actor, item).require()
    if not batch.items.filter(pk=item.pk).exists():
        raise Invalid.at("item", _("%(item)s is not in this batch.") % {"item": item}, code="not_in_batch")
    if item.document_hash != document_hash:
        raise Conflict(_("The item changed since you opened it. Look at it, then rate it anew."), code="stale_hash")
    pilot = pilot_of(batch, actor)
    if not pilot.has_room:
        text = _("Every rater of this batch is done; nothing can be rated any more.")
        more = _("This batch has its %(n)d raters already.") % {"n": pilot.wanted}
        raise Conflict(text if pilot.is_complete else more, code="no_room")
    _refuse_wrong(ratings)
    revision = present_revision(item)
    for code, given in ratings.items():
        PilotRating.objects.update_or_create(
            batch=batch,
            item=item,
            rater=actor,
            criterion=code,
            defaults={**given, "comment": given.get("comment", "").strip(), "revision": revision},
        )
    _event(batch, actor, "pilot.rated", item=item, rated=item.number)


def _refuse_wrong(ratings: Mapping[str, Mapping[str, Any]]) -> None:
    """Raises Invalid that names each wrong rating: by its title to people, by its code to programs."""
    if not ratings:
        raise Invalid.at("ratings", _("Rate at least one criterion."))
    known = {criterion.code: _(criterion.title) for criterion in CRITERIA}
    wrong = {}
    for code, given in ratings.items():
        rating, passed, comment = given.get("rating"), given.get("passed"), given.get("comment", "")
        if code not in known:
            wrong[code] = _("There is no such criterion in phase 1.")
        elif isinstance(rating, bool) or not isinstance(rating, int) or not 1 <= rating <= 5:
            wrong[code] = _("Give a rating from 1 to 5.")
        elif not isinstance(passed, bool):
            wrong[code] = _("Say whether it passes or fails.")
        elif passed and rating < 3:
            wrong[code] = _("A pass needs a rating of 3 or more.")
        elif not passed and not comment.strip():
            wrong[code] = _("A fail needs a comment: say what to mend.")
        elif len(comment) > LONGEST:
            wrong[code] = _("A comment has at most %(most)d characters; shorten it.") % {"most": LONGEST}
    if wrong:
        raise Invalid(
            "; ".join(f"{known.get(code, code[:40])}: {text}" for code, text in wrong.items()),
            problems=[{"path": f"ratings.{code[:40]}", "message": text} for code, text in wrong.items()],
        )


@transaction.atomic
def close_batch(batch: PilotBatch, outcome: str, note: str = "", *, actor: User) -> PilotBatch:
    """Calibrated, or another batch with a note to the annotator, once every rater is done.

    The ratings become the answers of phase 1 for the items as they were rated, still submitted. Calibrated: what
    everybody passed goes on to phase 2, and so does what else the annotator has submitted; what failed waits for a
    person to return it.
    """
    benchmark, annotator = batch.benchmark, batch.annotator
    items = Item.objects.select_for_update().filter(benchmark=benchmark, author=annotator, state=State.SUBMITTED)
    list(items.order_by("pk").values_list("pk"))  # the order in which calibration locks them
    may_set_calibration(actor, benchmark, annotator).require()
    batch = _locked(batch)
    if outcome not in (PilotBatch.Status.CALIBRATED, PilotBatch.Status.AGAIN):
        raise Invalid.at("outcome", _("Choose: calibrated, or another batch."), code="outcome")
    note = note.strip()
    if outcome == PilotBatch.Status.AGAIN and not note:
        raise Invalid.at("note", _("Write a note: it tells the annotator what to do otherwise."), code="note_missing")
    if len(note) > LONGEST:
        text = _("A note has at most %(most)d characters; shorten it.")
        raise Invalid.at("note", text % {"most": LONGEST}, code="long_note")
    pilot = pilot_of(batch, actor)
    if not pilot.is_complete:
        raise Conflict(_("Not every rater is done with every item yet."), code="not_rated")
    batch.status, batch.note, batch.closed_by, batch.closed = PilotBatch.Status(outcome), note, actor, timezone.now()
    batch.save()
    _event(batch, actor, "pilot.closed", outcome=outcome, note=note)
    in_batch = [item for item in pilot.items if item.state == State.SUBMITTED]
    for item in in_batch:
        _record(pilot, item)
    if outcome == PilotBatch.Status.CALIBRATED:
        for item in in_batch:
            if pilot.passes(item):
                actions.finish_review(item, Move.PASS, item.document_hash, actor=actor, calibrate=False)
        words = _("Pilot batch %(number)d") % {"number": batch.number}
        text = f"{words}: {note}" if note else words
        held = {item.pk for item in in_batch}
        actions.set_calibration(benchmark, annotator, True, actor=actor, note=text, but=held)
    if note:
        words = _("Pilot batch %(number)d: %(outcome)s.")
        said = words % {"number": batch.number, "outcome": batch.get_status_display()}
        add_comment(pilot.items[0], f"{said} {note}", actor=actor)
    return batch


def _record(pilot: Pilot, item: Item) -> None:
    """Each rater's ratings of the item's present content as answers of phase 1; where they differ, the fails last."""
    rows = [r for r in pilot.rows if r.item_id == item.pk and r.revision.document_hash == item.document_hash]
    for row in sorted(rows, key=lambda row: (not row.passed, row.pk)):
        review, _new = Review.objects.get_or_create(item=item, phase=1, auditor=row.rater, ended=None)
        CriterionResult.objects.create(
            review=review,
            item=item,
            revision=row.revision,
            section_hashes=item.section_hashes,
            auditor=row.rater,
            criterion=row.criterion,
            rating=row.rating,
            passed=row.passed,
            comment=row.comment,
        )


def _locked(batch: PilotBatch) -> PilotBatch:
    """The row, locked; refused when it is closed."""
    rows = PilotBatch.objects.select_for_update(of=("self",)).select_related("benchmark", "annotator")
    batch = rows.get(pk=batch.pk)
    if batch.status != PilotBatch.Status.OPEN:
        raise Conflict(_("This batch is closed already."), code="closed")
    return batch


def _event(batch: PilotBatch, actor: User, kind: str, item: Item | None = None, **data: Any) -> None:
    data = {"annotator": batch.annotator.get_username(), "batch": batch.number, **data}
    if item is not None:
        data["revision"] = item.revision_number
    ItemEvent.objects.create(benchmark_id=batch.benchmark_id, item=item, actor=actor, kind=kind, data=data)
