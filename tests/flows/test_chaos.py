"""Every part of an installation is killed while a run goes on, in small; `make chaos` does the same in large."""

import json
import os
import shutil
from glob import glob

import pytest

from bench.chaos import storm

pytestmark = [pytest.mark.worker, pytest.mark.timeout(900)]


@pytest.mark.parametrize(
    ("database", "parts"),
    [
        ("sqlite", {"worker", "beat", "web", "messages"}),
        pytest.param(
            "postgres", {"worker", "beat", "web", "broker", "database"}, marks=[pytest.mark.postgres, pytest.mark.redis]
        ),
    ],
)
def test_run_in_which_every_part_was_killed_loses_nothing(database: str, parts: set[str]) -> None:
    if database == "postgres" and not (
        shutil.which("redis-server") and (shutil.which("initdb") or glob("/usr/lib/postgresql/*/bin/initdb"))
    ):
        if os.environ.get("CI"):
            pytest.fail("PostgreSQL's and Redis' server programs are not here")
        pytest.skip("PostgreSQL's and Redis' server programs are not here")
    found = storm(database, items=60, seconds=0, seed=7, delay_ms=1500)
    assert not found["broken"], json.dumps(found, indent=1)
    assert found["lost"] == 0
    assert set(found["kills"]) - {"disk"} == parts, "the run was over before everything had been killed"
