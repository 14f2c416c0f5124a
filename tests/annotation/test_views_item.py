"""The item workbench as a whole."""

import pytest
from tests.factories import Team


@pytest.mark.parametrize("who", ["ann", "ann2", "aud", "core", "admin"])
def test_item_page_for_members_shows_every_section(team: Team, who: str) -> None:
    item = team.item()
    response = team.client(who).get(f"/b/{team.benchmark.slug}/items/{item.number}/")
    assert response.status_code == 200
