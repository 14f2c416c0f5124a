"""The demo server of the evaluation tests."""

from tests.evaluation.conftest import demo_server

__all__ = ["demo_server"]
