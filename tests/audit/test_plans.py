"""The plan of a benchmark's audit: defaults, who may set it, what it refuses."""

from typing import Any

import pytest
from django.urls import reverse

from annotation.models import ItemEvent
from audit.models import AuditPlan
from audit.plan_actions import set_plan
from audit.plans import LIMITS, plan_of
from lhdr_site.shared.errors import Invalid, NotAllowed
from tests.factories import Team, make_team


def _form(**changes: Any) -> dict[str, Any]:
    fields = {name: getattr(AuditPlan(), name) for name in LIMITS}
    return {**fields, "gradeability": "recommended", **changes}


def test_plan_of_when_none_is_set_gives_the_defaults_and_writes_nothing(team: Team) -> None:
    plan = plan_of(team.benchmark)
    assert (plan.pk, plan.pilot_items, plan.gradeability) == (None, 3, "recommended")
    assert plan_of(make_team("alone", "sandbox").benchmark).gradeability == "off"
    assert not AuditPlan.objects.exists()


def test_set_plan_when_something_changed_keeps_it_with_one_event(team: Team) -> None:
    set_plan(team.benchmark, {"pilot_items": 3}, actor=team.admin)
    assert not AuditPlan.objects.exists()  # nothing differs from the defaults
    set_plan(team.benchmark, {"pilot_items": 5, "different_auditors": True}, actor=team.admin)
    set_plan(team.benchmark, {"pilot_items": 5}, actor=team.admin)
    plan = plan_of(team.benchmark)
    assert (plan.pilot_items, plan.different_auditors, plan.stuck_days) == (5, True, 14)
    event = ItemEvent.objects.get(kind="audit_plan.changed")
    assert event.data["changed"] == {"pilot_items": ["3", "5"], "different_auditors": ["False", "True"]}


@pytest.mark.parametrize("who", ["ann", "aud", "core", "stranger"])
def test_set_plan_by_others_than_admins_is_refused(team: Team, who: str) -> None:
    with pytest.raises(NotAllowed):
        set_plan(team.benchmark, {"pilot_items": 5}, actor=getattr(team, who))


@pytest.mark.parametrize("value", [0, 3, 10**12, -1])
def test_set_plan_when_a_number_is_out_of_its_limits_names_the_field(team: Team, value: int) -> None:
    with pytest.raises(Invalid) as refused:
        set_plan(team.benchmark, {"pilot_raters": value}, actor=team.admin)
    assert refused.value.details["problems"][0]["path"] == "pilot_raters"
    assert not AuditPlan.objects.exists()


def test_page_shows_and_saves_for_admins_and_refuses_the_others(team: Team) -> None:
    address = reverse("audit:plan", args=[team.benchmark.slug])
    admin = team.client("admin")
    assert "a claimed item is kept for" in admin.get(address).content.decode().lower()
    assert admin.post(address, _form(stuck_days="30")).status_code == 302
    assert plan_of(team.benchmark).stuck_days == 30
    refused = admin.post(address, _form(claim_minutes="1", pilot_items="x", recheck_days="9" * 30))
    text = refused.content.decode()
    assert refused.status_code == 422 and text.count("wb-ferrors") == 3 and 'value="1"' in text
    assert plan_of(team.benchmark).claim_minutes == 120
    for who, status in (("ann", 403), ("aud", 403), ("core", 403), ("stranger", 404)):
        assert team.client(who).get(address).status_code == status
        assert team.client(who).post(address, _form()).status_code == status
