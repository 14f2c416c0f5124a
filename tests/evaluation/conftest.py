"""The real demo server in a thread, and a release to run on it."""

import copy
import threading
from collections.abc import Iterator
from typing import Any

import pytest

from lhdr_site.endpoints.demo_server import DemoServer
from tests.conftest import kept


@pytest.fixture(scope="session")
def demo_server() -> Iterator[DemoServer]:
    server = DemoServer()
    threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True).start()
    yield server
    server.shutdown()
    server.server_close()


@pytest.fixture(scope="module")
def _kept_setting(
    request: pytest.FixtureRequest, django_db_setup: Any, django_db_blocker: Any, demo_server: DemoServer
) -> Iterator[Any]:
    from tests.evaluation.setting import make_setting

    yield from kept(request, django_db_blocker, "setting", lambda: make_setting(demo_server))


@pytest.fixture
def setting(_kept_setting: Any, db: Any, demo_server: DemoServer) -> Any:
    """Three items, a system and a judge. See `tests.evaluation.setting.Setting`."""
    from tests.evaluation.setting import make_setting

    demo_server.seen.clear()
    demo_server.requests = []
    return copy.deepcopy(_kept_setting, {id(demo_server): demo_server}) or make_setting(demo_server)
