"""Every write of the audit: one function, one transaction. It locks (Item, then Review), asks, checks, writes, records.

The only caller of `annotation.actions.move_state` and `record_gates`. Raises NotAllowed (403), Conflict (409) and
Invalid (422) with nothing written.
"""

from collections.abc import Collection, Iterable, Mapping
from typing import Any

from django.contrib.auth.models import User
from django.db import transaction
from django.utils import timezone
from django.utils.translation import gettext as _

from annotation import steps as checks
from annotation.actions import locked_item, move_state, record_event, record_gates
from annotation.benchmarks import Benchmark, Item, Membership
from annotation.findings import message_of
from annotation.models import ItemEvent, Notice, Revision
from annotation.notice_actions import notify, people_of
from annotation.queries import present_revision
from annotation.states import State
from lhdr_site.shared.errors import Conflict, Invalid

from .claim_actions import hold
from .evidence import elements_to_tick
from .link_queries import open_links
from .locking import lock_conditions
from .models import Calibration, CriterionResult, ElementTick, Review, ReviewClaim, Transition
from .news import last_edit, last_move
from .permissions import (
    may_lock_imported,
    may_make_move,
    may_review,
    may_set_calibration,
    standing_of,
)
from .probe_queries import probe_gaps
from .queries import as_result, is_calibrated, latest_results, open_candidates, open_ticks, what_pass_waits_for
from .return_actions import in_words, read_points, record_points
from .return_queries import unanswered
from .second_actions import draw_double_audit
from .text import state_name
from .workflow import (
    CRITERIA,
    NEEDS_REASON,
    PHASE_OF_CRITERION,
    Move,
    Phase,
    gate_entries,
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
TOLD = (State.RETURNED, State.APPROVED, State.LOCKED, State.REJECTED)  # what authors hear of
SUPERSEDED = "superseded"  # outcome of a review that somebody else's decision ended


# --- the author's moves -------------------------------------------------------------------------------------------


@transaction.atomic
def submit_item(item: Item, document_hash: str, *, actor: User) -> Item:
    """Hand an item in. Error-level findings refuse it, listed; a phase that still holds is passed by the system."""
    item = _locked(item)
    _require_move(item, Move.SUBMIT, actor)
    _require_hash(item, document_hash)
    _require_answers(item)
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
    if passed and criterion == "unique" and (answers := open_candidates(item)):
        raise Invalid(
            _("It passes once every candidate answer is ruled out or taken back. Still open: %(answers)s.")
            % {"answers": "; ".join(answers)},
            code="candidates_open",
        )
    if passed and criterion == "probes" and (gaps := probe_gaps(item)):
        raise Invalid(
            _("It cannot pass as the probes stand:") + " " + " ".join(gaps),
            code="probes_missing",
            problems=[{"path": "probes", "message": gap} for gap in gaps],
        )
    if passed and criterion == "urls" and (unopened := open_links(item)):
        raise Invalid(
            _("It passes once the link check opened every URL, or a person said that they did. Still open: %(keys)s.")
            % {"keys": ", ".join(unopened)},
            code="links_missing",
            elements=unopened,
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
    record_event(
        item, actor, "criterion.recorded", criterion=criterion, rating=rating, passed=passed, note=result.comment
    )
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
    tick = ElementTick.objects.create(
        review=_open_review(item, actor, phase),
        element=element,
        supported=supported,
        comment=comment.strip(),
        **_seen(item, actor),
    )
    record_event(item, actor, "element.ticked", element=element, supported=supported, note=tick.comment)
    return tick


@transaction.atomic
def finish_review(
    item: Item,
    move: Move,
    document_hash: str,
    *,
    actor: User,
    reason: str = "",
    points: Iterable[Mapping[str, Any]] = (),
    calibrate: bool = True,
) -> Item:
    """Pass, return or reject an item. A return may name `points` (text, anchor, criterion) that the author answers.

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
    asked = read_points(item, points) if move is Move.RETURN else []
    reason = "\n".join(filter(None, [in_words(item, asked), reason.strip()]))
    _require_reason(move, reason)
    phase = phase_of(State(item.state))
    if move is Move.PASS and phase is not None and (waiting := what_pass_waits_for(item, phase)):
        raise Invalid(
            _("It passes once every criterion of this phase has a passing answer for the present content."),
            code="criteria_missing",
            problems=[{"path": code, "message": message} for code, message in waiting],
        )
    if phase is not None:
        _open_review(item, actor, phase)
    _end_reviews(item, move, actor)
    record_points(_move(item, move, actor=actor, reason=reason), asked)
    if pilot and calibrate and not is_calibrated(item.author, item.benchmark):
        _calibrate(item.benchmark, item.author, True, _("Passed phase 1 with %(item)s") % {"item": item}, actor)
        for other in waiting_items:
            if other.pk != item.pk:
                _pass_what_holds(other)
    if move is Move.PASS:
        _pass_what_holds(item)
    return item


@transaction.atomic
def set_calibration(
    benchmark: Benchmark,
    annotator: User,
    calibrated: bool,
    *,
    actor: User,
    note: str = "",
    but: Collection[int] = (),
) -> None:
    """Mark an annotator as calibrated or not; what a calibrated one submitted enters phase 2 by itself.

    but: keys of items that do not, since a person judged them.
    """
    waiting = _waiting_of(benchmark, annotator)
    may_set_calibration(actor, benchmark, annotator).require()
    if not Membership.objects.filter(benchmark=benchmark, user=annotator).exists():
        raise Invalid.at("annotator", _("%(name)s is not a member of this benchmark.") % {"name": annotator})
    _calibrate(benchmark, annotator, calibrated, note, actor)
    for item in waiting:
        if item.pk not in but:
            _pass_what_holds(item)


# --- locking ------------------------------------------------------------------------------------------------------


@transaction.atomic
def lock_item(item: Item, document_hash: str, *, actor: User) -> Item:
    """Freeze an approved item: every gate passed and fresh, no blocking comment open, no error found."""
    item = _locked(item)
    _require_move(item, Move.LOCK, actor)
    _require_hash(item, document_hash)
    unmet = [condition for condition in lock_conditions(item) if not condition.met and condition.code != "errors_found"]
    if unmet:
        raise Invalid(
            _("It cannot be locked yet: %(conditions)s. What the audit lacks is made good by returning the item.")
            % {"conditions": "; ".join(condition.text for condition in unmet)},
            code=unmet[0].code,
            problems=[{"path": condition.path, "message": condition.text} for condition in unmet],
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
    for item in items.defer("document", "findings").order_by("pk"):
        _move(item, Move.LOCK_IMPORTED, actor=actor, reason=_("Imported and locked for trying out, without an audit"))
        count += 1
    return count


def make_move(
    item: Item,
    name: str,
    *,
    document_hash: str,
    reason: str,
    points: Iterable[Mapping[str, Any]] = (),
    calibrate: bool = True,
    actor: User,
) -> Item:
    """The action for a move that page and API name by its word."""
    if name == Move.SUBMIT:
        return submit_item(item, document_hash, actor=actor)
    if name == Move.WITHDRAW:
        return withdraw_item(item, actor=actor, reason=reason)
    if name in (Move.PASS, Move.RETURN, Move.REJECT):
        return finish_review(
            item, Move(name), document_hash, actor=actor, reason=reason, points=points, calibrate=calibrate
        )
    if name == Move.LOCK:
        return lock_item(item, document_hash, actor=actor)
    if name == Move.UNLOCK:
        return unlock_item(item, reason, actor=actor)
    if name == Move.REOPEN:
        return reopen_item(item, reason, actor=actor)
    known = ", ".join(move.value for move in Move if move is not Move.LOCK_IMPORTED)
    text = _("There is no move “%(name)s”; use one of %(known)s.") % {"name": name[:40], "known": known}
    raise Invalid.at("move", text, code="unknown_move")


# --- parts of the above -------------------------------------------------------------------------------------------


def _locked(item: Item) -> Item:
    """The item's row, locked, then those of its open reviews: always in this order."""
    item = locked_item(item)
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
            _("The item is in state “%(state)s” now, where this cannot be done. %(moved)s Reload the page.")
            % {"state": state_name(State(item.state)), "moved": last_move(item)},
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
            _("This belongs to phase %(phase)d, and the item is in state “%(state)s” now. %(moved)s Reload the page.")
            % {"phase": phase.number, "state": state_name(State(item.state)), "moved": last_move(item)},
            code="wrong_state",
            state=item.state,
        )
    return phase


def _require_hash(item: Item, document_hash: str) -> None:
    if item.document_hash != document_hash:
        raise Conflict(
            _("The item changed since you opened it: %(edit)s. Look at what changed, then decide.")
            % {"edit": last_edit(item)},
            code="stale_hash",
            hash=item.document_hash,
        )


def _require_reason(move: Move, reason: str) -> None:
    if move in NEEDS_REASON and not reason.strip():
        raise Invalid.at("reason", _("Give a reason: it is what the others will read."), code="reason_missing")


def _require_answers(item: Item) -> None:
    """Before it is submitted again, every point of the return has an answer."""
    if missing := unanswered(item):
        raise Invalid(
            _("Mark each point of the return as mended, or say why you dispute it. Not answered: %(points)s.")
            % {"points": "; ".join(f"“{point.text[:80]}”" for point in missing[:5])},
            code="points_open",
            problems=[{"path": f"points.{point.pk}", "message": point.text[:300]} for point in missing],
        )


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
    revision = present_revision(item)
    return {"item": item, "revision": revision, "section_hashes": item.section_hashes, "auditor": actor}


def _move(item: Item, move: Move, *, actor: User | None, reason: str = "") -> Transition:
    """The Transition first, then the state: the database lets go of a locked item only in this order."""
    state = State(item.state)
    to = next_state(state, move)
    assert to is not None, (state, move)
    revision = present_revision(item)
    row = Transition.objects.create(
        item=item, move=move, from_state=state, to_state=to, actor=actor, reason=reason.strip(), revision=revision
    )
    move_state(item, to)
    ReviewClaim.objects.filter(item=item).delete()
    if to is State.SECONDARY_AUDIT:
        draw_double_audit(item)
    if to in TOLD and move is not Move.LOCK_IMPORTED:
        notify(people_of(item), Notice.Kind.MOVED, item, actor=actor, about=to, text=reason.strip())
    facts = {"from": state, "to": to, "hash": item.document_hash}
    record_event(item, actor, EVENTS[move], move=move, **facts, reason=reason.strip())
    return row


def _open_review(item: Item, actor: User, phase: Phase | None = None) -> Review:
    phase = phase or phase_of(State(item.state))
    may_review(actor, item, phase=phase).require()
    assert phase is not None
    review = Review.objects.filter(item=item, phase=phase.number, auditor=actor, ended=None).first()
    if review is None:
        review = Review.objects.create(item=item, phase=phase.number, auditor=actor)
        hold(item, actor, phase)
        record_event(item, actor, "review.started", phase=phase.number)
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
        if criterion.code == "probes" and probe_gaps(item):
            return None
    return _("Every criterion of phase %(number)d was passed before on the same content.") % {"number": phase.number}
