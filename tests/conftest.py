"""What all tests share: the folder of real inputs, people and benchmarks, and a flush that may lift the guards."""

import copy
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, settings

# A busy machine makes examples slowly; that says nothing about the code.
settings.register_profile("busy", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("busy")

CASES = Path(__file__).resolve().parents[1].parent / "shared" / "cases"


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--database-only", action="store_true", help="run the tests that touch a database, no others")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """What has no database beneath it need not run again on another one."""
    if config.getoption("database_only"):
        others = [item for item in items if not _touches_database(item)]
        config.hook.pytest_deselected(items=others)
        items[:] = [item for item in items if item not in set(others)]


def kept(request: pytest.FixtureRequest, blocker: Any, name: str, make: Callable[[], Any]) -> Iterator[Any]:
    """What `make` returns, with its rows made once, in a transaction around all tests of a module. None where a test of
    the module has a transaction of its own, or begins with another fixture of the kind, whose rows have the same names.
    """
    from django.db import transaction

    ours = [item for item in request.session.items if item.path == request.path and _touches_database(item)]
    others = {"team", "setting"} - {name}
    if any(_commits(item) or others & set(item.fixturenames) for item in ours):  # type: ignore[attr-defined]
        yield None
        return
    around = transaction.atomic()
    around._from_testcase = True
    with blocker.unblock():
        around.__enter__()
        made = make()
    yield made
    with blocker.unblock():
        transaction.set_rollback(True)
        around.__exit__(None, None, None)


def _touches_database(item: pytest.Item) -> bool:
    return bool(item.get_closest_marker("django_db")) or "_django_db_helper" in getattr(item, "fixturenames", ())


def _commits(item: pytest.Item) -> bool:
    marker = item.get_closest_marker("django_db")
    return bool(marker and marker.kwargs.get("transaction")) or bool(
        {"transactional_db", "live_server"} & set(getattr(item, "fixturenames", ()))
    )


@pytest.fixture
def cases() -> Path:
    """The folder of real inputs beside the checkout; the test is skipped where it is absent."""
    if not CASES.is_dir():
        pytest.skip(f"the real inputs are not here: {CASES}")
    return CASES


@pytest.fixture(scope="session")
def django_db_use_migrations() -> bool:
    """The tables come from the models at once: the migrations, which make the same, take a minute of a slow machine."""
    return False


@pytest.fixture(scope="session")
def django_db_setup(django_db_setup: None, django_db_blocker: Any) -> None:
    """What the migrations make beside the tables. That they do is tested by starting a new installation."""
    from django.db import connection

    from annotation import search
    from lhdr_site.shared.guards import install_guards

    with django_db_blocker.unblock():
        with connection.cursor() as cursor:
            for statement in search.create(connection.vendor):
                cursor.execute(statement)
        install_guards()


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


@pytest.fixture(scope="module")
def _kept_team(request: pytest.FixtureRequest, django_db_setup: Any, django_db_blocker: Any) -> Iterator[Any]:
    from tests.factories import make_team

    yield from kept(request, django_db_blocker, "team", make_team)


@pytest.fixture
def team(_kept_team: Any, db: Any) -> Any:
    """A paper benchmark with one person per role, and a stranger. See `tests.factories.Team`."""
    from tests.factories import make_team

    return copy.deepcopy(_kept_team) or make_team()


@pytest.fixture
def new_team(db: Any) -> Any:
    """Another one, whose benchmark `apart` has nothing in it."""
    from tests.factories import make_team

    return make_team("apart")
