"""Blind second audits: drawing, taking, answering, ending, adjudicating. One function, one transaction, one event.

Their answers feed no gate. It locks the item, then the audit. Raises NotAllowed, Conflict and Invalid with nothing
written. Imports no `actions`: a move into phase 2 calls `draw_double_audit`.
"""

import secrets
from random import Random
from typing import Any, Final

from django.contrib.auth.models import User
from django.db import transaction
from django.utils import timezone
from django.utils.translation import gettext as _

from annotation.benchmarks import Benchmark, Item
from annotation.models import ItemEvent, Revision
from annotation.queries import present_revision
from annotation.states import State
from lhdr_site.shared.errors import Conflict, Invalid

from .models import AuditPlan, BlindAudit, BlindResult
from .permissions import may_adjudicate, may_audit_blind, may_draw_audits
from .plans import plan_of
from .second_queries import BLIND, blind_results, pairs_of, required_of, sample_name
from .text import state_name

Kind = BlindAudit.Kind
LARGEST_SEED: Final = 2**31 - 1
#: Where an item can be audited a second time.
AUDITED: Final = (
    State.SECONDARY_AUDIT,
    State.MULTIMODAL_AUDIT,
    State.FACTUAL_AUDIT,
    State.APPROVED,
    State.LOCKED,
)


# --- drawing ------------------------------------------------------------------------------------------------------


def draw_double_audit(item: Item) -> BlindAudit | None:
    """By the plan's share and recorded seed, decide whether an item that enters phase 2 is audited twice.

    Inside the caller's transaction, which locks the item. The same item is drawn or not whenever it comes again; it is
    asked for once.
    """
    plan = plan_of(item.benchmark)
    if not plan.double_audit_percent or BlindAudit.objects.filter(item=item, kind=Kind.DOUBLE).exists():
        return None
    if plan.double_audit_seed is None:
        plan.double_audit_seed = secrets.randbelow(LARGEST_SEED)
        AuditPlan.objects.filter(pk=plan.pk).update(double_audit_seed=plan.double_audit_seed)
    if not is_drawn(plan.double_audit_seed, item.uid, plan.double_audit_percent):
        return None
    sample = f"seed {plan.double_audit_seed}, {plan.double_audit_percent}%"
    return _ask(item, Kind.DOUBLE, sample, None)


def is_drawn(seed: int, uid: str, percent: int) -> bool:
    """Whether a share of `percent` holds the item: anybody who knows the seed can draw again."""
    return Random(f"{seed}:{uid}").random() * 100 < percent


@transaction.atomic
def ask_double_audits(benchmark: Benchmark, numbers: list[int], *, actor: User) -> list[BlindAudit]:
    """Have items audited twice that core names. All or none."""
    may_draw_audits(actor, benchmark).require()
    rows = Item.objects.select_for_update(of=("self",)).filter(benchmark=benchmark, number__in=numbers)
    items = {
        item.number: item for item in rows.select_related("benchmark").defer("document", "findings").order_by("pk")
    }
    if not numbers:
        raise Invalid.at("numbers", _("Name items by their numbers, for example 12, 15."))
    asked = set(BlindAudit.objects.filter(item__in=items.values(), kind=Kind.DOUBLE).values_list("item", flat=True))
    problems = []
    for number in dict.fromkeys(numbers):
        item = items.get(number)
        if item is None:
            problems.append(_("There is no item #%(n)d.") % {"n": number})
        elif item.state not in AUDITED:
            text = _("#%(n)d is in state “%(state)s”; it is audited from phase 2 on.")
            problems.append(text % {"n": number, "state": state_name(State(item.state))})
        elif item.pk in asked:
            problems.append(_("#%(n)d is audited twice already.") % {"n": number})
    if problems:
        raise Invalid(" ".join(problems), problems=[{"path": "numbers", "message": text} for text in problems])
    return [_ask(items[number], Kind.DOUBLE, "by hand", actor) for number in dict.fromkeys(numbers)]


@transaction.atomic
def draw_residual_sample(benchmark: Benchmark, size: int, *, actor: User, seed: int | None = None) -> list[BlindAudit]:
    """Draw locked items at random, to be verified again by people who did not touch them.

    The draw is Python's `Random(seed).sample` over the items by number; seed, size and population are recorded.
    """
    benchmark = Benchmark.objects.select_for_update().get(pk=benchmark.pk)
    may_draw_audits(actor, benchmark).require()
    locked = list(
        Item.objects.select_for_update(of=("self",))
        .filter(benchmark=benchmark, state=State.LOCKED)
        .defer("document", "findings")
        .order_by("number")
    )
    if not 1 <= size <= len(locked):
        text = _("Give a number from 1 to %(n)d: so many items are locked.") if locked else _("No item is locked yet.")
        raise Invalid.at("size", text % {"n": len(locked)} if locked else text)
    seed = secrets.randbelow(LARGEST_SEED) if seed is None else seed
    if not 0 <= seed <= LARGEST_SEED:
        raise Invalid.at("seed", _("Give a seed from 0 to %(n)d.") % {"n": LARGEST_SEED})
    day = timezone.now().date().isoformat()
    sample = sample_name(day, seed, size, len(locked))
    if BlindAudit.objects.filter(benchmark=benchmark, kind=Kind.RESIDUAL, sample=sample).exists():
        raise Conflict(_("This very sample was drawn today. Choose another seed or size."), code="drawn_already")
    chosen = sorted(Random(seed).sample(locked, size), key=lambda item: item.number)
    ItemEvent.objects.create(
        benchmark=benchmark, actor=actor, kind="residual.drawn", data={"sample": sample, "seed": seed, "size": size}
    )
    return [_ask(item, Kind.RESIDUAL, sample, actor, told=False) for item in chosen]


def _ask(item: Item, kind: str, sample: str, actor: User | None, *, told: bool = True) -> BlindAudit:
    revision = present_revision(item)
    row = BlindAudit.objects.create(
        benchmark_id=item.benchmark_id, item=item, revision=revision, kind=kind, sample=sample, created_by=actor
    )
    if told:
        _event(row, actor, "blind_audit.asked", sample=sample)
    return row


# --- auditing -----------------------------------------------------------------------------------------------------


@transaction.atomic
def take_blind_audit(audit: BlindAudit, *, actor: User) -> BlindAudit:
    """Make it one's own. A double audit is bound to the item's present content, a residual one to what was drawn."""
    item, audit = _locked(audit)
    may_audit_blind(actor, audit).require()
    if audit.auditor_id == actor.pk:
        return audit
    if audit.auditor_id is not None:
        raise Conflict(_("%(who)s took it meanwhile. Take another one.") % {"who": audit.auditor}, code="taken")
    audit.auditor = actor
    if audit.kind == Kind.DOUBLE and not audit.results.exists():
        audit.revision = present_revision(item)
    audit.save(update_fields=["auditor", "revision"])
    _event(audit, actor, "blind_audit.taken")
    return audit


@transaction.atomic
def give_back_blind_audit(audit: BlindAudit, *, actor: User) -> BlindAudit:
    """Leave it to somebody else, as long as nothing was answered."""
    _item, audit = _locked(audit)
    _require_own(audit, actor)
    if audit.results.exists():
        raise Conflict(_("You answered already, and answers stay. Finish it."), code="answered")
    audit.auditor = None
    audit.save(update_fields=["auditor"])
    _event(audit, actor, "blind_audit.given_back")
    return audit


@transaction.atomic
def record_blind_result(
    audit: BlindAudit, criterion: str, *, rating: int, passed: bool, comment: str = "", actor: User
) -> BlindResult:
    """The second auditor's answer to one criterion, under the rules of every answer. The latest counts."""
    _item, audit = _locked(audit)
    _require_own(audit, actor)
    row = _result(audit, criterion, rating, passed, comment, actor, adjudicates=False)
    _event(audit, actor, "blind_audit.answered", criterion=criterion)
    return row


@transaction.atomic
def finish_blind_audit(audit: BlindAudit, *, actor: User) -> BlindAudit:
    """End it, once every criterion is answered. After that the two audits are compared."""
    _item, audit = _locked(audit)
    _require_own(audit, actor)
    answered = blind_results(audit)
    missing = [code for code in required_of(audit.benchmark) if code not in answered]
    if missing:
        titles = {c.code: _(c.title) for c in BLIND}
        raise Invalid(
            _("It ends once every criterion is answered. Still open: %(titles)s.")
            % {"titles": "; ".join(titles[code] for code in missing)},
            code="criteria_missing",
            problems=[{"path": code, "message": titles[code]} for code in missing],
        )
    audit.ended = timezone.now()
    audit.save(update_fields=["ended"])
    _event(audit, actor, "blind_audit.ended")
    return audit


@transaction.atomic
def adjudicate(
    audit: BlindAudit, criterion: str, *, rating: int, passed: bool, comment: str = "", actor: User
) -> BlindResult:
    """A third person's word where the two disagree. It changes neither of them, and no gate."""
    _item, audit = _locked(audit)
    pair = next((pair for pair in pairs_of([audit]) if pair.criterion == criterion), None) if audit.ended else None
    may_adjudicate(actor, audit, pair.first.auditor if pair and pair.first else None).require()
    if pair is None or pair.agrees:
        raise Conflict(_("The two do not disagree on this criterion."), code="no_disagreement")
    if pair.third:
        text = _("%(who)s decided meanwhile. Reload the page.") % {"who": pair.third.by}
        raise Conflict(text, code="decided_meanwhile")
    row = _result(audit, criterion, rating, passed, comment, actor, adjudicates=True)
    _event(audit, actor, "blind_audit.adjudicated", criterion=criterion, passed=passed)
    return row


# --- parts of the above -------------------------------------------------------------------------------------------


def _locked(audit: BlindAudit) -> tuple[Item, BlindAudit]:
    rows = Item.objects.select_for_update(of=("self",)).select_related("benchmark", "author")
    item = rows.defer("document", "findings").get(pk=audit.item_id)
    found = BlindAudit.objects.select_for_update(of=("self",)).select_related("auditor", "benchmark", "revision")
    row = found.defer("revision__document").get(pk=audit.pk)
    row.item = item
    return item, row


def _require_own(audit: BlindAudit, actor: User) -> None:
    may_audit_blind(actor, audit).require()
    if audit.auditor_id != actor.pk:
        raise Conflict(_("It is not yours: take it first."), code="not_taken")
    if audit.ended:
        raise Conflict(_("It is ended, and its answers stay."), code="ended")


def _result(
    audit: BlindAudit, criterion: str, rating: Any, passed: bool, comment: str, actor: User, *, adjudicates: bool
) -> BlindResult:
    if criterion not in {c.code for c in BLIND}:
        raise Invalid.at("criterion", _("There is no criterion “%(code)s”.") % {"code": criterion[:60]})
    if isinstance(rating, bool) or not isinstance(rating, int) or not 1 <= rating <= 5:
        raise Invalid.at("rating", _("Give a rating from 1 to 5."))
    if passed and rating < 3:
        raise Invalid.at("rating", _("A pass needs a rating of 3 or more."))
    if not passed and not comment.strip():
        raise Invalid.at("comment", _("A fail needs a comment: say what is wrong."))
    return BlindResult.objects.create(
        audit=audit,
        criterion=criterion,
        rating=rating,
        passed=passed,
        comment=comment.strip(),
        adjudicates=adjudicates,
        by=actor,
    )


def _event(audit: BlindAudit, actor: User | None, kind: str, **data: Any) -> None:
    """Others see it in the trail once the audit ended: the first auditor need not know that a second one will come."""
    revision = Revision.objects.values_list("number", flat=True).get(pk=audit.revision_id)
    data = {"audit": audit.pk, "kind": audit.kind, "revision": revision, **data}
    ItemEvent.objects.create(benchmark_id=audit.benchmark_id, item_id=audit.item_id, actor=actor, kind=kind, data=data)
