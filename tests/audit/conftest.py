"""A release with pictures, a folder of its own for them, and a server of pages to link to."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from audit import actions, release_actions
from audit.models import Release
from lhdr_site.shared.address_guard import read_allowed
from tests.audit.linking import Pages
from tests.audit.releasing import imported, with_stored_images
from tests.documents import good_document
from tests.factories import Team


@pytest.fixture
def media(settings: Any, tmp_path: Path) -> None:
    settings.MEDIA_ROOT = tmp_path / "media"


@pytest.fixture
def release(team: Team, media: None) -> Release:
    """Three items with two images each, the same in all."""
    imported(team, *(with_stored_images(team, good_document(id=f"item-{n}", canary="")) for n in range(3)))
    actions.lock_imported(team.benchmark, actor=team.admin)
    return release_actions.cut_release(team.benchmark, "v1", actor=team.admin)


@pytest.fixture(scope="module")
def server() -> Iterator[Pages]:
    server = Pages()
    yield server
    server.http.shutdown()


@pytest.fixture
def base(server: Pages, settings: Any) -> str:
    server.seen.clear()
    server.text, server.robots, server.head = Pages.text, "", 200
    settings.FETCH_ALLOW = read_allowed(["127.0.0.1"])
    settings.LINK_PAUSE = 0
    return f"http://127.0.0.1:{server.port}"
