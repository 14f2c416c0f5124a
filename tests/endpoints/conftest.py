"""The real demo server in a thread, and what a call needs to know of an endpoint."""

import threading
from collections.abc import Iterator
from dataclasses import dataclass

import pytest

from lhdr_site.endpoints.demo_server import DemoServer


@dataclass
class Target:
    base_url: str
    wire: str = "openai"
    key_variable: str = ""
    connect_timeout: int = 2
    read_timeout: float = 1
    total_timeout: float = 5


@pytest.fixture(scope="module")
def server() -> Iterator[DemoServer]:
    server = DemoServer()
    threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True).start()
    yield server
    server.shutdown()
    server.server_close()


@pytest.fixture
def target(server: DemoServer) -> Target:
    return Target(server.address)
