"""The real demo server in a thread, and a release to run on it."""

import threading
from collections.abc import Iterator
from typing import Any

import pytest

from lhdr_site.endpoints.demo_server import DemoServer


@pytest.fixture(scope="session")
def demo_server() -> Iterator[DemoServer]:
    server = DemoServer()
    threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True).start()
    yield server
    server.shutdown()
    server.server_close()


@pytest.fixture
def setting(db: Any, demo_server: DemoServer) -> Any:
    """Three items, a system and a judge. See `tests.evaluation.setting.Setting`."""
    from tests.evaluation.setting import make_setting

    demo_server.seen.clear()
    demo_server.requests = []
    return make_setting(demo_server)
