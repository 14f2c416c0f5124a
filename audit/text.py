"""The workflow's texts in the language of the page. Nothing but translation."""

from django.utils.translation import gettext as _

from annotation.states import Gate, State
from lhdr_site.shared.templatetags.workbench import GATES

from .workflow import Move, Rule


def state_name(state: State) -> str:
    return {
        State.DRAFT: _("draft"),
        State.SUBMITTED: _("submitted"),
        State.SECONDARY_AUDIT: _("secondary audit"),
        State.MULTIMODAL_AUDIT: _("multimodal audit"),
        State.FACTUAL_AUDIT: _("factual audit"),
        State.APPROVED: _("approved"),
        State.LOCKED: _("locked"),
        State.RETURNED: _("returned"),
        State.REJECTED: _("rejected"),
    }[state]


def move_name(move: Move) -> str:
    return {
        Move.SUBMIT: _("Submit for audit"),
        Move.WITHDRAW: _("Withdraw"),
        Move.PASS: _("Pass"),
        Move.RETURN: _("Return"),
        Move.REJECT: _("Reject"),
        Move.LOCK: _("Lock"),
        Move.LOCK_IMPORTED: _("Lock without audit"),
        Move.UNLOCK: _("Unlock"),
        Move.REOPEN: _("Reopen"),
    }[move]


def gate_title(gate: Gate) -> str:
    return str(GATES[gate][0])


def rule_name(rule: Rule) -> str:
    return {
        Rule.OWN_ITEM: _("nobody judges their own item"),
        Rule.SAME_AUDITOR: _("different people for phases 2 and 4"),
        Rule.GRADEABILITY: _("gradeable before lock"),
        Rule.PROBES: _("the required probes"),
    }[rule]
