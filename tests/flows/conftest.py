"""The demo server of the evaluation tests, and processes."""

from tests.evaluation.conftest import demo_server
from tests.flows.processes import start

__all__ = ["demo_server", "start"]
