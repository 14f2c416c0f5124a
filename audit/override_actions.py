"""Setting a rule aside for one item: one transaction, one row for ever, one event. NotAllowed (403), Invalid (422)."""

from django.contrib.auth.models import User
from django.db import transaction
from django.utils.translation import gettext as _

from annotation.actions import locked_item, record_event
from annotation.benchmarks import Item, role_of
from annotation.queries import present_revision
from lhdr_site.shared.errors import Invalid

from .models import Override
from .permissions import may_override
from .workflow import RULES_OF_PEOPLE, Rule

LONGEST = 2_000  # characters of a reason


@transaction.atomic
def override_rule(item: Item, rule: str, reason: str, *, actor: User, person: User | None = None) -> Override:
    """Let a rule not hold for an item, from now on: for one person where the rule is about people."""
    item = locked_item(item)
    may_override(actor, item, person).require()
    if rule not in list(Rule):
        text = _("There is no rule “%(name)s”; use one of %(known)s.")
        raise Invalid.at("rule", text % {"name": rule[:40], "known": ", ".join(Rule)}, code="unknown_rule")
    if (rule in RULES_OF_PEOPLE) != (person is not None):
        for_one, for_all = _("Say for whom: this rule is about one person."), _("This rule is about nobody alone.")
        raise Invalid.at("person", for_one if person is None else for_all, code="person")
    if person is not None and role_of(person, item.benchmark) is None:
        text = _("%(name)s is not a member of this benchmark.")
        raise Invalid.at("person", text % {"name": person.get_username()}, code="person")
    reason = reason.strip()
    if not reason:
        raise Invalid.at("reason", _("Give a reason: it stands with the item for ever."), code="reason_missing")
    if len(reason) > LONGEST:
        text = _("A reason has at most %(most)d characters; shorten it.")
        raise Invalid.at("reason", text % {"most": LONGEST}, code="long_reason")
    revision = present_revision(item)
    row = Override.objects.create(item=item, rule=rule, person=person, reason=reason, by=actor, revision=revision)
    name = person.get_username() if person else ""
    record_event(item, actor, "rule.overridden", rule=rule, person=name, reason=reason)
    return row
