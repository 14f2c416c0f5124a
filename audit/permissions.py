"""Who may judge, move, lock and release, with the reason when not. Page, API and action ask the same functions."""

import datetime as dt
from dataclasses import dataclass
from typing import Any

from django.db.models import Exists, F, OuterRef, Q, Subquery
from django.db.models.functions import Now
from django.utils import timezone
from django.utils.formats import date_format
from django.utils.translation import gettext as _

from annotation.benchmarks import Benchmark, Item, Membership, Role, may_act_as
from annotation.models import ItemWriter
from annotation.permissions import ever_wrote
from annotation.states import State
from lhdr_site.shared.errors import NotAllowed
from lhdr_site.shared.prepared import Prepared
from lhdr_site.shared.results import Allowed, Answer, Denied

from .models import AuditPlan, BlindAudit, CriterionResult, Override, PilotBatch, Review, ReviewClaim
from .second_queries import open_blind_audit, touched
from .workflow import APART, JUDGING, RULES_OF_PEOPLE, Move, Phase, Rule, next_state, phase_of, role_for


@dataclass(frozen=True, slots=True)
class Standing:
    """What a person is to an item: read once, asked often."""

    role: Role | None
    is_author: bool
    writes: bool  # author or co-editor
    is_own: bool  # that, or once wrote it as such
    sandbox: bool
    is_blind: bool  # audits it a second time at the moment, and must not see the first
    judged: frozenset[int] = frozenset()  # of the phases that the plan wants apart, those they judged on it
    lifted: frozenset[str] = frozenset()  # rules that an admin set aside for them on it
    claimed_by: str = ""  # who else took it from the queue
    claimed_until: dt.datetime | None = None


def standing_of(user: Any, item: Item) -> Standing:
    """In one query."""
    row = _STANDING.get(item=item.pk, user=user.pk or 0)
    if row is None:
        raise Item.DoesNotExist
    return Standing(
        role=Role(row["role"]) if row["role"] else None,
        is_author=row["who"] == user.pk,
        writes=(writes := row["who"] == user.pk or row["coedits"]),
        is_own=writes or row["wrote"],
        sandbox=item.benchmark.is_sandbox,
        is_blind=row["blind"],
        judged=frozenset(phase for phase, name in ((2, "two"), (4, "four")) if row[name]),
        lifted=frozenset(rule for rule in RULES_OF_PEOPLE if row[rule]),
        claimed_by=f"{row['first'] or ''} {row['last'] or ''}".strip() or row["name"] or "",
        claimed_until=row["until"],
    )


def _standing(item: int, user: int) -> Any:
    reviews = judged_reviews(user).filter(item=OuterRef("pk"))
    apart = Exists(AuditPlan.objects.filter(benchmark=OuterRef("benchmark"), different_auditors=True))
    lifted = Override.objects.filter(item=OuterRef("pk"), person_id=user)
    member = Membership.objects.filter(benchmark=OuterRef("benchmark"), user_id=user, user__is_active=True)
    claim = ReviewClaim.objects.filter(item=OuterRef("pk"), expires__gt=Now()).exclude(auditor_id=user)
    return Item.objects.filter(pk=item).values(
        who=F("author"),
        role=Subquery(member.values("role")[:1]),
        coedits=Exists(Item.coeditors.through._default_manager.filter(item=OuterRef("pk"), user_id=user)),
        wrote=Exists(ItemWriter.objects.filter(item=OuterRef("pk"), user_id=user)),
        two=apart & Exists(reviews.filter(phase=2)),
        four=apart & Exists(reviews.filter(phase=4)),
        own_item=Exists(lifted.filter(rule=Rule.OWN_ITEM)),
        same_auditor=Exists(lifted.filter(rule=Rule.SAME_AUDITOR)),
        first=Subquery(claim.values("auditor__first_name")[:1]),
        last=Subquery(claim.values("auditor__last_name")[:1]),
        name=Subquery(claim.values("auditor__username")[:1]),
        until=Subquery(claim.values("expires")[:1]),
        blind=Exists(BlindAudit.objects.filter(item=OuterRef("pk"), auditor_id=user, ended=None)),
    )


_STANDING = Prepared(_standing, "item", "user")


def judged_reviews(user: int) -> Any:
    """Reviews in which the person (by key) answered something or that they ended with a judgement."""
    answered = Exists(CriterionResult.objects.filter(review=OuterRef("pk")))
    return Review.objects.filter(Q(outcome__in=JUDGING) | answered, auditor_id=user)


def may_make_move(user: Any, item: Item, move: Move, *, standing: Standing | None = None) -> Answer:
    """Whether the person may make a move from the item's present state. Whether the state allows it is the table's."""
    who = standing or standing_of(user, item)
    if who.role is None:
        return Denied(_("You are not a member of this benchmark."))
    state = State(item.state)
    if move is Move.SUBMIT:
        return Allowed() if who.writes else Denied(_("Its author and co-editors submit it."))
    if move is Move.WITHDRAW:
        return Allowed() if who.is_author else Denied(_("Only its author withdraws it."))
    needed = role_for(state, move)
    if needed is not None and (answer := _has_role(who.role, needed)) is not None:
        return answer
    if move in (Move.UNLOCK, Move.LOCK_IMPORTED):
        return Allowed()
    return _unless_blind(who, _apart(who, phase_of(state)))


def may_review(user: Any, item: Item, *, phase: Phase | None = None, standing: Standing | None = None) -> Answer:
    """Whether the person may judge the item in the phase it is in."""
    who = standing or standing_of(user, item)
    phase = phase or phase_of(State(item.state))
    if who.role is None:
        return Denied(_("You are not a member of this benchmark."))
    if phase is None:
        return Denied(_("The item is in no audit phase now."))
    if (refused := _has_role(who.role, phase.role)) is not None:
        return refused
    return _unless_blind(who, _apart(who, phase))


def _unless_blind(who: Standing, answer: Answer) -> Answer:
    if answer and who.is_blind:
        return Denied(_("You audit this item blind: finish or give back that audit first."))
    return answer


def _apart(who: Standing, phase: Phase | None) -> Answer:
    """Whether the item is far enough from the person to be judged in the phase, or (None) locked or reopened."""
    if who.sandbox:
        return Allowed()
    if who.is_own and Rule.OWN_ITEM not in who.lifted:
        return Denied(_("Nobody judges or locks an item that they created or co-edit, or once did."))
    if phase is not None and APART.get(phase.number) in who.judged and Rule.SAME_AUDITOR not in who.lifted:
        text = _("You judged phase %(number)d of it; this benchmark wants different people for phases 2 and 4.")
        return Denied(text % {"number": APART[phase.number]})
    if phase is not None and who.claimed_until is not None and who.role is not None and who.role < Role.CORE:
        until = date_format(timezone.localtime(who.claimed_until), "TIME_FORMAT")
        return Denied(_("%(who)s has it until %(time)s.") % {"who": who.claimed_by, "time": until})
    return Allowed()


def may_answer_point(user: Any, item: Item) -> Answer:
    """The author and co-editors, while the item is with them."""
    who = standing_of(user, item)
    if who.role is None:
        return Denied(_("You are not a member of this benchmark."))
    if not who.is_own:
        return Denied(_("Its author and co-editors answer what the return asked for."))
    if item.state != State.RETURNED:
        return Denied(_("The points of a return are answered while the item is returned."))
    return Allowed()


def may_judge_point(user: Any, item: Item) -> Answer:
    """Whoever could return the item again from the state it is in now."""
    if next_state(State(item.state), Move.RETURN) is None:
        return Denied(_("Answers are looked at after the item was submitted again."))
    return may_make_move(user, item, Move.RETURN)


def may_raise_candidate(user: Any, item: Item) -> Answer:
    """Whoever could return the item from the state it is in."""
    if next_state(State(item.state), Move.RETURN) is None:
        return Denied(_("Candidate answers are raised while an item is in the audit."))
    return may_make_move(user, item, Move.RETURN)


def may_withdraw_candidate(user: Any, item: Item) -> Answer:
    """The reviewers of the phase the item is in, so that one who left does not hold it up."""
    return may_raise_candidate(user, item)


def _has_role(role: Role, needed: Role) -> Denied | None:
    if role >= needed:
        return None
    return Denied(_("This needs the role %(needed)s or above.") % {"needed": role_name(needed)})


def role_name(role: Role) -> str:
    return {
        Role.ANNOTATOR: _("annotator"),
        Role.AUDITOR: _("auditor"),
        Role.CORE: _("core team"),
        Role.ADMIN: _("admin"),
    }[role]


def is_possible(user: Any, item: Item, move: Move, *, standing: Standing | None = None) -> bool:
    """Whether a page offers the move at all: the state allows it and so does the person's role."""
    return next_state(State(item.state), move) is not None and bool(may_make_move(user, item, move, standing=standing))


def may_check_links(user: Any, item: Item) -> Answer:
    return may_act_as(user, item.benchmark, Role.ANNOTATOR)


def may_vouch_link(user: Any, item: Item, *, standing: Standing | None = None) -> Answer:
    """Whether the person's word on a URL counts: that of the core team, never on one's own item."""
    who = standing or standing_of(user, item)
    if who.role is None:
        return Denied(_("You are not a member of this benchmark."))
    if (answer := _has_role(who.role, Role.CORE)) is not None:
        return answer
    if who.is_own and not who.sandbox:
        return Denied(_("Nobody judges or locks an item that they created or co-edit."))
    return Allowed()


def may_set_calibration(user: Any, benchmark: Benchmark, annotator: Any) -> Answer:
    if annotator.pk == user.pk and not benchmark.is_sandbox:
        return Denied(_("Nobody calibrates themselves."))
    return may_act_as(user, benchmark, Role.CORE)


def may_rate_pilot(user: Any, item: Item) -> Answer:
    """Core, but nobody on what they wrote."""
    answer = may_act_as(user, item.benchmark, Role.CORE)
    if answer and not item.benchmark.is_sandbox and ever_wrote(user, item):
        return Denied(_("Nobody rates an item that they created or co-edit, or once did."))
    return answer


def may_see_batch(user: Any, batch: PilotBatch) -> Answer:
    """The core team; and its annotator once it is closed."""
    if batch.annotator_id == user.pk and batch.status != PilotBatch.Status.OPEN:
        return may_act_as(user, batch.benchmark, Role.ANNOTATOR)
    return may_act_as(user, batch.benchmark, Role.CORE)


def may_override(user: Any, item: Item, person: Any = None) -> Answer:
    """An admin sets a rule aside; for themselves only where nobody else could."""
    answer = may_act_as(user, item.benchmark, Role.ADMIN)
    if answer and person is not None and person.pk == user.pk:
        admins = Membership.objects.filter(benchmark=item.benchmark, role=Role.ADMIN.value, user__is_active=True)
        if admins.exclude(user=user).exists():
            return Denied(_("Nobody sets a rule aside for themselves; ask another admin."))
    return answer


def may_set_plan(user: Any, benchmark: Benchmark) -> Answer:
    return may_act_as(user, benchmark, Role.ADMIN)


def may_lock_imported(user: Any, benchmark: Benchmark) -> Answer:
    return may_act_as(user, benchmark, Role.ADMIN)


def may_cut_release(user: Any, benchmark: Benchmark) -> Answer:
    return may_act_as(user, benchmark, Role.ADMIN)


def may_export_release(user: Any, benchmark: Benchmark) -> Answer:
    return may_act_as(user, benchmark, Role.ADMIN)


def may_redact_image(user: Any, benchmark: Benchmark) -> Answer:
    return may_act_as(user, benchmark, Role.ADMIN)


def may_flag_item(user: Any, item: Item) -> Answer:
    return may_act_as(user, item.benchmark, Role.ANNOTATOR)


def may_decide_erratum(user: Any, item: Item) -> Answer:
    """Core, but nobody on their own item."""
    answer = may_act_as(user, item.benchmark, Role.CORE)
    if answer and ever_wrote(user, item) and not item.benchmark.is_sandbox:
        return Denied(_("Nobody decides on a fault of an item that they created or co-edit, or once did."))
    return answer


# --- blind audits -------------------------------------------------------------------------------------------------


def may_audit_blind(user: Any, audit: BlindAudit) -> Answer:
    """An auditor who neither wrote, edited, judged nor moved the item; also in a sandbox, or it would not be blind."""
    answer = may_act_as(user, audit.item.benchmark, Role.AUDITOR)
    if not answer or audit.auditor_id == user.pk:
        return answer
    if ever_wrote(user, audit.item) or Item.objects.filter(touched(user), pk=audit.item_id).exists():
        return Denied(_("Who wrote, edited, judged or moved an item does not audit it a second time."))
    return answer


def may_adjudicate(user: Any, audit: BlindAudit, first: Any) -> Answer:
    """Core, and a third person: neither the first nor the second auditor, nor an author."""
    answer = may_act_as(user, audit.item.benchmark, Role.CORE)
    if answer and (user.pk in (audit.auditor_id, first and first.pk) or ever_wrote(user, audit.item)):
        return Denied(_("A third person decides: neither of the two auditors, nor an author."))
    return answer


def may_draw_audits(user: Any, benchmark: Benchmark) -> Answer:
    return may_act_as(user, benchmark, Role.CORE)


def require_not_blind(user: Any, item: Item, *, standing: Standing | None = None) -> None:
    """Refuse the first audit's answers to who audits the item blind at the moment. Raises NotAllowed."""
    if standing.is_blind if standing else open_blind_audit(user, item):
        raise NotAllowed(_("You audit this item blind: finish or give back that audit first."), code="blind")
