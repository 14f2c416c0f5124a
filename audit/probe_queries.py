"""Reads of shortcut probes and gradeability checks: what was asked, what it shows, what is still missing."""

from collections.abc import Sequence
from typing import Any

from django.db.models import F, Q, QuerySet
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from annotation.benchmarks import Item, may_act_as
from annotation.document import read_document
from annotation.states import EDITABLE_BY_AUTHORS, GATE_SECTIONS, IN_AUDIT, Gate, Role, State
from lhdr_site.shared.results import Allowed, Answer, Denied

from .models import AuditPlan, GradeCheck, Override, Probe
from .permissions import Standing, role_name, standing_of
from .plans import plan_of

PROBES_RULE = "probes"  # of Override
NO_ANSWER = (Probe.Status.FAILED, Probe.Status.CANCELLED)
JUDGED_STATES = IN_AUDIT | {State.APPROVED}


def probe_rows(item: Item) -> QuerySet[Probe]:
    """Every probe of an item, the newest first; each has this very item, and also `revision_number`."""
    rows = item.probes.select_related("requested_by", "seen_by").order_by("-pk")
    return rows.annotate(revision_number=F("revision__number"))


def probes_of(item: Item) -> list[Probe]:
    return list(probe_rows(item))


def grade_check_rows(item: Item) -> QuerySet[GradeCheck]:
    """Every check of an item, the newest first; each has this very item, and also `revision_number`."""
    rows = item.grade_checks.select_related("requested_by").order_by("-pk")
    return rows.annotate(revision_number=F("revision__number"))


def grade_checks_of(item: Item) -> list[GradeCheck]:
    return list(grade_check_rows(item))


# --- who may ------------------------------------------------------------------------------------------------------


def author_probes_left(item: Item, plan: AuditPlan | None = None) -> int:
    """How many probes of a draft its author and co-editors have left; what never got an answer is not counted."""
    plan = plan or plan_of(item.benchmark)
    theirs = Q(requested_by=item.author_id) | Q(requested_by__in=item.coeditors.all())
    asked = Probe.objects.filter(theirs, item=item, origin=Probe.Origin.ENGINE).exclude(status__in=NO_ANSWER)
    return max(plan.author_probes - asked.count(), 0)


def may_probe(user: Any, item: Item, *, standing: Standing | None = None) -> Answer:
    """Auditors while the item is audited, never their own; author and co-editors a few times while they write it."""
    who = standing or standing_of(user, item)
    if who.role is None:
        return Denied(_("You are not a member of this benchmark."))
    if who.is_own and item.state in EDITABLE_BY_AUTHORS:
        if author_probes_left(item):
            return Allowed()
        return Denied(_("The probes that its author has for a draft are used up. More follow in the audit."))
    return may_give_word(user, item, standing=who)


def may_cancel_probe(user: Any, probe: Probe) -> Answer:
    """Who asked for it, and admins."""
    if probe.requested_by_id == user.pk:
        return may_act_as(user, probe.item.benchmark, Role.ANNOTATOR)
    return may_act_as(user, probe.item.benchmark, Role.ADMIN)


def may_give_word(user: Any, item: Item, *, standing: Standing | None = None) -> Answer:
    """Who says whether a probe recovered the answer, and has an item's gradeability checked."""
    who = standing or standing_of(user, item)
    if who.role is None:
        return Denied(_("You are not a member of this benchmark."))
    if who.role < Role.AUDITOR:
        return Denied(_("This needs the role %(needed)s or above.") % {"needed": role_name(Role.AUDITOR)})
    if who.is_own and not who.sandbox:
        return Denied(_("Nobody judges an item that they created or co-edit."))
    if item.state not in JUDGED_STATES:
        return Denied(_("This belongs to the audit, and the item is not in it now."))
    return Allowed()


# --- what the probes say ------------------------------------------------------------------------------------------


def probe_gaps(item: Item, probes: Sequence[Probe] | None = None) -> list[str]:
    """Why the probes keep the shortcut criterion from passing, a sentence each; empty when they do not.

    Only probes of the present question and images count. What an admin overrode for them keeps nothing back.
    """
    if probes is None:
        probes = list(item.probes.defer("text", "citations", "judge_output"))
    fresh = [probe for probe in probes if probe.is_fresh]
    plan = plan_of(item.benchmark)
    found = [probe for probe in fresh if probe.found]
    unseen = [p for p in fresh if not p.has_word and p.ended and p.status not in NO_ANSWER]
    gaps = []
    if found:
        names = ", ".join(dict.fromkeys(f"{p.system_name} ({condition_name(p.with_image)})" for p in found))
        gaps.append(
            _("A shortcut was found: %(names)s. The question must be rewritten or constrained, or the item rejected.")
            % {"names": names}
        )
    if unseen:
        text = ngettext(
            "%(n)d answer waits for a person's word.", "%(n)d answers wait for a person's word.", len(unseen)
        )
        gaps.append(text % {"n": len(unseen)})
    for with_image, needed in ((True, plan.probes_with_image), (False, plan.probes_without_image)):
        done = sum(p.has_word and p.with_image is with_image for p in fresh)
        if done < needed:
            text = _("%(done)d of %(needed)d probes %(condition)s are answered and looked at.")
            gaps.append(text % {"done": done, "needed": needed, "condition": condition_name(with_image)})
    return [] if gaps and _is_overridden(item) else gaps


def condition_name(with_image: bool) -> str:
    return _("with images") if with_image else _("without images")


def _is_overridden(item: Item) -> bool:
    """Whether an admin set the probes aside for the question and images as they are."""
    rows = Override.objects.filter(item=item, rule=PROBES_RULE).select_related("revision")
    for row in rows:
        then = read_document(row.revision.document).section_hashes
        if all(then[section] == item.section_hashes[section] for section in GATE_SECTIONS[Gate.SHORTCUT]):
            return True
    return False


# --- gradeability -------------------------------------------------------------------------------------------------


def lock_condition(item: Item, plan: AuditPlan | None = None) -> tuple[str, bool]:
    """What a page says of gradeability before locking, and whether it keeps the item from being locked.

    ("", False) when there is nothing to say: it is not checked, or it is gradeable.
    """
    plan = plan or plan_of(item.benchmark)
    if plan.gradeability == AuditPlan.Gradeability.OFF:
        return "", False
    latest = GradeCheck.objects.filter(item=item).defer("cases").first()
    if latest is not None:
        latest.item = item
    if latest is None:
        text = _("Gradeability was not checked.")
    elif not latest.is_fresh:
        text = _("Gradeability was checked for other content; check it anew.")
    elif latest.status == GradeCheck.Status.PASSED:
        return "", False
    elif latest.is_open:
        text = _("Gradeability is being checked.")
    elif latest.status == GradeCheck.Status.FAILED:
        text = _("Judge %(name)s does not grade the written-out solution as it should.") % {"name": latest.judge_name}
    else:
        text = _("Gradeability could not be checked; ask again.")
    return text, plan.gradeability == AuditPlan.Gradeability.REQUIRED
