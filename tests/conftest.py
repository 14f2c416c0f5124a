"""What all tests share: the folder of real inputs, people and benchmarks, and a flush that may lift the guards."""

from pathlib import Path
from typing import Any

import pytest

CASES = Path(__file__).resolve().parents[1].parent / "shared" / "cases"


@pytest.fixture
def cases() -> Path:
    """The folder of real inputs beside the checkout; the test is skipped where it is absent."""
    if not CASES.is_dir():
        pytest.skip(f"the real inputs are not here: {CASES}")
    return CASES


@pytest.fixture(scope="session", autouse=True)
def _flush_without_guards() -> Any:
    """Flushing a test database empties guarded tables too."""
    from django.test import TransactionTestCase

    from lhdr_site.shared.guards import without_guards

    plain = TransactionTestCase._fixture_teardown

    def teardown(self: Any) -> None:
        with without_guards():
            plain(self)

    TransactionTestCase._fixture_teardown = teardown  # type: ignore[method-assign]
    yield
    TransactionTestCase._fixture_teardown = plain  # type: ignore[method-assign]


@pytest.fixture
def team(db: Any) -> Any:
    """A paper benchmark with one person per role, and a stranger. See `tests.factories.Team`."""
    from tests.factories import make_team

    return make_team()
