"""The administration site shows what the audit recorded and changes none of it."""

import pytest

from annotation.states import State
from audit import release_actions
from audit.models import CriterionResult, Release, Transition
from tests.factories import Team

from .judging import bring_to


@pytest.mark.parametrize("model", [Transition, CriterionResult, Release])
def test_admin_site_lists_and_shows_and_refuses_to_change(team: Team, model: type[Transition]) -> None:
    bring_to(team, team.item(), State.LOCKED)
    release_actions.cut_release(team.benchmark, "v1", actor=team.admin)
    base = f"/admin/audit/{model._meta.model_name}/"
    row = model.objects.order_by("pk")[0]
    client = team.client("root")
    assert client.get(base).status_code == 200
    page = client.get(f"{base}{row.pk}/change/")
    assert page.status_code == 200 and b'name="_save"' not in page.content
    assert client.post(f"{base}{row.pk}/change/", {"reason": "other"}).status_code == 403
    assert client.post(f"{base}{row.pk}/delete/", {"post": "yes"}).status_code == 403
    assert client.get(f"{base}add/").status_code == 403
    assert model.objects.filter(pk=row.pk).exists()
