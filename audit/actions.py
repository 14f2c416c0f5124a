"""Every write of the audit: one function, one transaction. It locks (Item, then Review), asks, checks, writes, records.

The only caller of `annotation.actions.move_state` and `record_gates`. Raises NotAllowed (403), Conflict (409) and
Invalid (422) with nothing written.
"""

from typing import Any

from django.contrib.auth.models import User
from django.db import transaction
from django.db.models import F
from django.utils import timezone
from django.utils.translation import gettext as _

from annotation import steps as checks
from annotation.actions import move_state, record_gates
from annotation.benchmarks import Benchmark, Item, Membership
from annotation.document import canonical_hash
from annotation.findings import message_of
from annotation.models import ItemEvent, Revision
from annotation.states import State
from lhdr_site.shared.errors import Conflict, Invalid
from lhdr_site.shared.validation import validate

from .evidence import elements_to_tick
from .models import Calibration, CriterionResult, ElementTick, Release, ReleaseItem, Review, Transition
from .permissions import (
    may_cut_release,
    may_lock_imported,
    may_make_move,
    may_review,
    may_set_calibration,
    standing_of,
)
from .queries import as_result, is_calibrated, latest_results, locked_without_audit, open_ticks, what_pass_waits_for
from .text import gate_title, state_name
from .workflow import (
    CRITERIA,
    NEEDS_REASON,
    PHASE_OF_CRITERION,
    Move,
    Phase,
    gate_entries,
    gates_in_the_way,
    holds,
    next_state,
    phase_of,
    required_criteria,
)

EVENTS = {
    Move.SUBMIT: "item.submitted",
    Move.WITHDRAW: "item.withdrawn",
    Move.PASS: "item.passed",
    Move.RETURN: "item.returned",
    Move.REJECT: "item.rejected",
    Move.LOCK: "item.locked",
    Move.LOCK_IMPORTED: "item.locked",
    Move.UNLOCK: "item.unlocked",
    Move.REOPEN: "item.reopened",
}
SUPERSEDED = "superseded"  # outcome of a review that somebody else's decision ended


# --- the author's moves -------------------------------------------------------------------------------------------


@transaction.atomic
def submit_item(item: Item, document_hash: str, *, actor: User) -> Item:
    """Hand an item in. Error-level findings refuse it, listed; a phase that still holds is passed by the system."""
    item = _locked(item)
    _require_move(item, Move.SUBMIT, actor)
    _require_hash(item, document_hash)
    _require_no_errors(item, _("It cannot be submitted before these errors are mended:"))
    _move(item, Move.SUBMIT, actor=actor)
    _pass_what_holds(item)
    return item


@transaction.atomic
def withdraw_item(item: Item, *, actor: User, reason: str = "") -> Item:
    """Take a submitted item back to draft."""
    item = _locked(item)
    _require_move(item, Move.WITHDRAW, actor)
    _end_reviews(item, Move.WITHDRAW, actor)
    _move(item, Move.WITHDRAW, actor=actor, reason=reason)
    return item


# --- reviewing ----------------------------------------------------------------------------------------------------


@transaction.atomic
def start_review(item: Item, *, actor: User) -> Review:
    """The person's open review of the item's present phase; made when there is none."""
    item = _locked(item)
    return _open_review(item, actor)


@transaction.atomic
def record_criterion(
    item: Item, criterion: str, document_hash: str, *, rating: int, passed: bool, comment: str = "", actor: User
) -> CriterionResult:
    """An answer to one criterion of the present phase, bound to the revision that was seen.

    rating: 1 to 5; a pass needs 3 or more, a fail needs a comment.
    """
    item = _locked(item)
    phase = _require_phase_of(item, criterion, actor)
    _require_hash(item, document_hash)
    if isinstance(rating, bool) or not isinstance(rating, int) or not 1 <= rating <= 5:
        raise Invalid.at("rating", _("Give a rating from 1 to 5."))
    if passed and rating < 3:
        raise Invalid.at("rating", _("A pass needs a rating of 3 or more."))
    if not passed and not comment.strip():
        raise Invalid.at("comment", _("A fail needs a comment: say what to mend."))
    if passed and CRITERIA[criterion].ticks and (missing := open_ticks(item, criterion)):
        raise Invalid(
            _("It passes once every element is ticked as supported. Still open or not supported: %(keys)s.")
            % {"keys": ", ".join(missing)},
            code="ticks_missing",
            elements=missing,
        )
    result = CriterionResult.objects.create(
        review=_open_review(item, actor, phase),
        criterion=criterion,
        rating=rating,
        passed=passed,
        comment=comment.strip(),
        **_seen(item, actor),
    )
    _refresh_gates(item)
    _event(item, actor, "criterion.recorded", criterion=criterion, rating=rating, passed=passed)
    return result


@transaction.atomic
def tick_element(
    item: Item, element: str, document_hash: str, *, supported: bool, comment: str = "", actor: User
) -> ElementTick:
    """A person's word on one node, relation, step, the answer (phase 2) or one source's URL (phase 4)."""
    item = _locked(item)
    phase = phase_of(State(item.state))
    ticked = {key: c.code for c in CRITERIA.values() if c.ticks for key in elements_to_tick(item.document, c.code)}
    criterion = ticked.get(element)
    if criterion is None:
        raise Invalid.at("element", _("There is no element %(key)s in this item.") % {"key": element[:60]})
    _require_phase_of(item, criterion, actor)
    _require_hash(item, document_hash)
    return ElementTick.objects.create(
        review=_open_review(item, actor, phase),
        element=element,
        supported=supported,
        comment=comment.strip(),
        **_seen(item, actor),
    )


@transaction.atomic
def finish_review(
    item: Item, move: Move, document_hash: str, *, actor: User, reason: str = "", calibrate: bool = True
) -> Item:
    """Pass, return or reject an item.

    A pass needs a fresh passing answer to every criterion of the phase. Passing phase 1 marks the author as calibrated
    unless `calibrate` is false. After a pass, later phases that still hold are passed by the system.
    """
    if move not in (Move.PASS, Move.RETURN, Move.REJECT):
        raise Invalid.at("move", _("A review ends with pass, return or reject."))
    pilot = move is Move.PASS and item.state == State.SUBMITTED
    waiting_items = _waiting_of(item.benchmark, item.author) if pilot and calibrate else []
    item = _locked(item)
    _require_move(item, move, actor)
    _require_hash(item, document_hash)
    _require_reason(move, reason)
    phase = phase_of(State(item.state))
    if move is Move.PASS and phase is not None:
        if waiting := what_pass_waits_for(item, phase):
            raise Invalid(
                _("It passes once every criterion of this phase has a passing answer for the present content."),
                code="criteria_missing",
                problems=[{"path": code, "message": message} for code, message in waiting],
            )
        _open_review(item, actor, phase)
    _end_reviews(item, move, actor)
    _move(item, move, actor=actor, reason=reason)
    if pilot and calibrate and not is_calibrated(item.author, item.benchmark):
        _calibrate(item.benchmark, item.author, True, _("Passed phase 1 with %(item)s") % {"item": item}, actor)
        for other in waiting_items:
            if other.pk != item.pk:
                _pass_what_holds(other)
    if move is Move.PASS:
        _pass_what_holds(item)
    return item


@transaction.atomic
def set_calibration(benchmark: Benchmark, annotator: User, calibrated: bool, *, actor: User, note: str = "") -> None:
    """Mark an annotator as calibrated or not; what a calibrated one submitted enters phase 2 by itself."""
    waiting = _waiting_of(benchmark, annotator)
    may_set_calibration(actor, benchmark, annotator).require()
    if not Membership.objects.filter(benchmark=benchmark, user=annotator).exists():
        raise Invalid.at("annotator", _("%(name)s is not a member of this benchmark.") % {"name": annotator})
    _calibrate(benchmark, annotator, calibrated, note, actor)
    for item in waiting:
        _pass_what_holds(item)


# --- locking ------------------------------------------------------------------------------------------------------


@transaction.atomic
def lock_item(item: Item, document_hash: str, *, actor: User) -> Item:
    """Freeze an approved item: every gate passed and fresh, no blocking comment open, no error found."""
    item = _locked(item)
    _require_move(item, Move.LOCK, actor)
    _require_hash(item, document_hash)
    in_the_way = gates_in_the_way(item.gates, item.section_hashes, sandbox=item.benchmark.is_sandbox)
    if in_the_way:
        raise Invalid(
            _("Locking needs every gate passed and fresh: %(gates)s. Return the item, so that its audit is made good.")
            % {"gates": ", ".join(f"{gate_title(gate)} ({status.value})" for gate, status in in_the_way)},
            code="gates_not_passed",
            problems=[{"path": gate.value, "message": status.value} for gate, status in in_the_way],
        )
    if item.blocking_comments:
        raise Invalid(
            _("Comments that block locking are open: %(count)d. Resolve them first.")
            % {"count": item.blocking_comments},
            code="blocking_comments",
        )
    _require_no_errors(item, _("It cannot be locked before these errors are mended:"))
    _move(item, Move.LOCK, actor=actor)
    return item


@transaction.atomic
def unlock_item(item: Item, reason: str, *, actor: User) -> Item:
    """Return a locked item to its author. Releases that hold it do not change."""
    item = _locked(item)
    _require_move(item, Move.UNLOCK, actor)
    _require_reason(Move.UNLOCK, reason)
    _move(item, Move.UNLOCK, actor=actor, reason=reason)
    return item


@transaction.atomic
def reopen_item(item: Item, reason: str, *, actor: User) -> Item:
    """Give a rejected item back to its author."""
    item = _locked(item)
    _require_move(item, Move.REOPEN, actor)
    _require_reason(Move.REOPEN, reason)
    _move(item, Move.REOPEN, actor=actor, reason=reason)
    return item


@transaction.atomic
def lock_imported(benchmark: Benchmark, *, actor: User) -> int:
    """Lock every imported draft without an audit, for trying out; recorded as such. Returns how many."""
    may_lock_imported(actor, benchmark).require()
    imported = Revision.objects.filter(number=1, kind=Revision.Kind.IMPORT).values("item")
    items = Item.objects.select_for_update(of=("self",)).filter(benchmark=benchmark, state=State.DRAFT, pk__in=imported)
    count = 0
    for item in items.defer("document", "search_text", "findings").order_by("pk"):
        _move(item, Move.LOCK_IMPORTED, actor=actor, reason=_("Imported and locked for trying out, without an audit"))
        count += 1
    return count


def make_move(item: Item, name: str, *, document_hash: str, reason: str, calibrate: bool = True, actor: User) -> Item:
    """The action for a move that page and API name by its word."""
    if name == Move.SUBMIT:
        return submit_item(item, document_hash, actor=actor)
    if name == Move.WITHDRAW:
        return withdraw_item(item, actor=actor, reason=reason)
    if name in (Move.PASS, Move.RETURN, Move.REJECT):
        return finish_review(item, Move(name), document_hash, actor=actor, reason=reason, calibrate=calibrate)
    if name == Move.LOCK:
        return lock_item(item, document_hash, actor=actor)
    if name == Move.UNLOCK:
        return unlock_item(item, reason, actor=actor)
    if name == Move.REOPEN:
        return reopen_item(item, reason, actor=actor)
    known = ", ".join(move.value for move in Move if move is not Move.LOCK_IMPORTED)
    text = _("There is no move “%(name)s”; use one of %(known)s.") % {"name": name[:40], "known": known}
    raise Invalid.at("move", text, code="unknown_move")


# --- releases -----------------------------------------------------------------------------------------------------


@transaction.atomic
def cut_release(benchmark: Benchmark, name: str, note: str = "", *, actor: User) -> Release:
    """Copy every locked item into a new release. It is marked “not audited” in a sandbox and when any of its items was
    locked without an audit. `hash` is the canonical hash of the list of item hashes, in order."""
    benchmark = Benchmark.objects.select_for_update().get(pk=benchmark.pk)
    may_cut_release(actor, benchmark).require()
    name = name.strip()
    locked = list(
        Item.objects.select_for_update()
        .filter(benchmark=benchmark, state=State.LOCKED)
        .order_by("number")
        .only("pk", "document_hash")
    )
    if not locked:
        raise Invalid(_("No item is locked yet, so there is nothing to release. Lock items first."), code="none_locked")
    release = Release(
        benchmark=benchmark,
        name=name,
        note=note.strip(),
        audited=not benchmark.is_sandbox and not locked_without_audit(benchmark).exists(),
        item_count=len(locked),
        hash=canonical_hash([item.document_hash for item in locked]),
        canary=benchmark.canary,
        created_by=actor,
    )
    if Release.objects.filter(benchmark=benchmark, name=release.name).exists():
        text = _("There is a release “%(name)s” already; releases never change. Choose another name.")
        raise Invalid.at("name", text % {"name": release.name}, code="name_taken")
    validate(release)
    release.save(force_insert=True)
    revisions = Revision.objects.filter(
        item__benchmark=benchmark, item__state=State.LOCKED, number=F("item__revision_number")
    ).order_by("item__number")
    batch: list[ReleaseItem] = []
    for position, revision in enumerate(
        revisions.select_related("item").only("document", "document_hash", "item__uid").iterator(200)
    ):
        batch.append(
            ReleaseItem(
                release=release,
                position=position,
                item=revision.item,
                revision=revision,
                uid=revision.item.uid,
                document_hash=revision.document_hash,
                document=revision.document,
            )
        )
        if len(batch) == 200:
            ReleaseItem.objects.bulk_create(batch)
            batch.clear()
    ReleaseItem.objects.bulk_create(batch)
    data = {"release": name, "items": len(locked), "audited": release.audited}
    ItemEvent.objects.create(benchmark=benchmark, actor=actor, kind="release.cut", data=data)
    return release


# --- parts of the above -------------------------------------------------------------------------------------------


def _locked(item: Item) -> Item:
    """The item's row, locked, then those of its open reviews: always in this order."""
    item = Item.objects.select_for_update(of=("self",)).select_related("benchmark", "author").get(pk=item.pk)
    list(Review.objects.select_for_update().filter(item=item, ended=None).order_by("pk"))
    return item


def _waiting_of(benchmark: Benchmark, author: User) -> list[Item]:
    """The author's submitted items, all locked in one order before anything else is."""
    rows = Item.objects.select_for_update(of=("self",)).select_related("benchmark", "author")
    return list(rows.filter(benchmark=benchmark, author=author, state=State.SUBMITTED).order_by("pk"))


def _require_move(item: Item, move: Move, actor: User) -> None:
    """For members: first whether the state lets it, then whether the person may."""
    standing = standing_of(actor, item)
    if standing.role is not None and next_state(State(item.state), move) is None:
        raise Conflict(
            _("The item is in state “%(state)s” now, where this cannot be done. Reload the page to see what can.")
            % {"state": state_name(State(item.state))},
            code="wrong_state",
            state=item.state,
        )
    may_make_move(actor, item, move, standing=standing).require()


def _require_phase_of(item: Item, criterion: str, actor: User) -> Phase:
    phase = PHASE_OF_CRITERION.get(criterion)
    if phase is None:
        raise Invalid.at("criterion", _("There is no criterion “%(code)s”.") % {"code": criterion[:60]})
    may_review(actor, item, phase=phase).require()
    if phase_of(State(item.state)) is not phase:
        raise Conflict(
            _("This belongs to phase %(phase)d, and the item is in state “%(state)s” now. Reload the page.")
            % {"phase": phase.number, "state": state_name(State(item.state))},
            code="wrong_state",
            state=item.state,
        )
    return phase


def _require_hash(item: Item, document_hash: str) -> None:
    if item.document_hash != document_hash:
        raise Conflict(
            _("The item changed since you opened it (it is at r%(revision)d now). Look at what changed, then decide.")
            % {"revision": item.revision_number},
            code="stale_hash",
            hash=item.document_hash,
        )


def _require_reason(move: Move, reason: str) -> None:
    if move in NEEDS_REASON and not reason.strip():
        raise Invalid.at("reason", _("Give a reason: it is what the others will read."), code="reason_missing")


def _require_no_errors(item: Item, text: str) -> None:
    """Run the checks where the present document was not checked yet, and refuse when they find an error."""
    checks.check_item(item.pk)
    item.refresh_from_db(fields=["checked_hash", "findings", "errors", "warnings"])
    errors = [finding for finding in item.findings if finding["level"] == "error"]
    if errors:
        raise Invalid(
            text + " " + " ".join(dict.fromkeys(map(message_of, errors))),
            code="errors_found",
            problems=[{"path": f["anchor"] or f["section"], "message": message_of(f)} for f in errors],
        )


def _seen(item: Item, actor: User) -> dict[str, Any]:
    """What a result is bound to."""
    revision = Revision.objects.only("pk").get(item=item, number=item.revision_number)
    return {"item": item, "revision": revision, "section_hashes": item.section_hashes, "auditor": actor}


def _move(item: Item, move: Move, *, actor: User | None, reason: str = "") -> None:
    """The Transition first, then the state: the database lets go of a locked item only in this order."""
    state = State(item.state)
    to = next_state(state, move)
    assert to is not None, (state, move)
    revision = Revision.objects.only("pk").get(item_id=item.pk, number=item.revision_number)
    Transition.objects.create(
        item=item, move=move, from_state=state, to_state=to, actor=actor, reason=reason.strip(), revision=revision
    )
    move_state(item, to)
    _event(item, actor, EVENTS[move], move=move, **{"from": state, "to": to}, reason=reason.strip())


def _event(item: Item, actor: User | None, kind: str, **data: Any) -> None:
    data["revision"] = item.revision_number
    ItemEvent.objects.create(benchmark_id=item.benchmark_id, item=item, actor=actor, kind=kind, data=data)


def _open_review(item: Item, actor: User, phase: Phase | None = None) -> Review:
    phase = phase or phase_of(State(item.state))
    may_review(actor, item, phase=phase).require()
    assert phase is not None
    review = Review.objects.filter(item=item, phase=phase.number, auditor=actor, ended=None).first()
    if review is None:
        review = Review.objects.create(item=item, phase=phase.number, auditor=actor)
        _event(item, actor, "review.started", phase=phase.number)
    return review


def _end_reviews(item: Item, move: Move, actor: User) -> None:
    """Close every open review: the actor's with the move, others' as superseded."""
    open_ones = Review.objects.filter(item=item, ended=None)
    now = timezone.now()
    open_ones.filter(auditor=actor).update(ended=now, outcome=move.value)
    open_ones.update(ended=now, outcome=SUPERSEDED)


def _refresh_gates(item: Item) -> None:
    record_gates(item, gate_entries(as_result(row) for row in latest_results(item).values()))


def _calibrate(benchmark: Benchmark, annotator: User, calibrated: bool, note: str, actor: User) -> None:
    Calibration.objects.create(
        benchmark=benchmark, annotator=annotator, calibrated=calibrated, note=note.strip(), by=actor
    )
    data = {"annotator": annotator.get_username(), "calibrated": calibrated, "note": note.strip()}
    ItemEvent.objects.create(benchmark=benchmark, actor=actor, kind="annotator.calibrated", data=data)


def _pass_what_holds(item: Item) -> None:
    """Pass, one after the other, the phases that need no person (again): by the system, each with a Transition."""
    while (phase := phase_of(State(item.state))) is not None:
        reason = _reason_to_pass(item, phase)
        if reason is None:
            return
        _move(item, Move.PASS, actor=None, reason=reason)


def _reason_to_pass(item: Item, phase: Phase) -> str | None:
    """Why the system passes a phase; None when a person must look.

    Only what a person passed before and nobody returned from that phase since.
    """
    if phase.number == 1:
        if item.benchmark.is_sandbox:
            return _("A sandbox needs no calibration.")
        if is_calibrated(item.author, item.benchmark):
            return _("The author is calibrated.")
    last = Transition.objects.filter(item=item, from_state=phase.state).order_by("-pk").first()
    if last is None or last.move != Move.PASS:
        return None
    if phase.number == 1:
        return _("Phase 1 was passed on this item before.")
    results = latest_results(item)
    for criterion in required_criteria(phase, sandbox=item.benchmark.is_sandbox):
        row = results.get(criterion.code)
        if not holds(criterion, as_result(row) if row else None, item.section_hashes):
            return None
    return _("Every criterion of phase %(number)d was passed before on the same content.") % {"number": phase.number}
