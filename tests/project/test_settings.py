"""Settings refuse what cannot work and say what to set."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]


def start(tmp_path: Path, command: str = "check", **environment: str) -> subprocess.CompletedProcess[str]:
    clean = {k: v for k, v in os.environ.items() if not k.startswith(("LHDR_", "DATABASE_", "CELERY_", "DJANGO_"))}
    return subprocess.run(
        [sys.executable, str(ROOT / "manage.py"), command],
        env={**clean, "LHDR_DATA": str(tmp_path / "data"), **environment},
        capture_output=True,
        text=True,
        cwd=tmp_path,
    )


def test_settings_without_anything_are_local(tmp_path: Path) -> None:
    result = start(tmp_path)
    assert result.returncode == 0, result.stderr
    assert (tmp_path / "data" / "secret_key").stat().st_mode & 0o077 == 0


@pytest.mark.parametrize(
    ("environment", "words"),
    [
        ({"LHDR_ENV": "production"}, ["LHDR_SECRET_KEY", "LHDR_HOSTS"]),
        ({"LHDR_ENV": "production", "LHDR_SECRET_KEY": "x" * 60}, ["LHDR_HOSTS"]),
        ({"LHDR_ENV": "staging"}, ["LHDR_ENV", "staging"]),
        ({"DATABASE_URL": "nonsense"}, ["DATABASE_URL", "postgres://"]),
        ({"DATABASE_URL": "oracel://x/y"}, ["DATABASE_URL", "postgres://"]),
        ({"LHDR_SMTP_SECURITY": "ssl"}, ["LHDR_SMTP_SECURITY", "starttls"]),
        ({"LHDR_WORKER_THREADS": "many"}, ["LHDR_WORKER_THREADS"]),
        ({"LHDR_WEB_PROCESSES": "two"}, ["LHDR_WEB_PROCESSES"]),
        ({"LHDR_DATA": "/dev/null"}, ["LHDR_DATA", "folder"]),
        ({"LHDR_DATA": "/dev/null/below"}, ["LHDR_DATA", "folder"]),
    ],
)
def test_settings_that_cannot_work_say_what_to_set(
    tmp_path: Path, environment: dict[str, str], words: list[str]
) -> None:
    result = start(tmp_path, **environment)
    assert result.returncode != 0
    assert all(word in result.stderr for word in words)
    assert "Traceback" not in result.stderr


def test_commands_without_their_database_say_so(tmp_path: Path) -> None:
    url = "postgres://nobody@127.0.0.1:1/none"
    result = start(tmp_path, "verify", DATABASE_URL=url)
    assert result.returncode != 0 and "the database does not answer" in result.stderr
    assert "Traceback" not in result.stderr
    # A database that was never migrated is such a one too.
    result = start(tmp_path, "verify")
    assert result.returncode != 0 and "Traceback" not in result.stderr


def test_settings_for_production_start(tmp_path: Path) -> None:
    result = start(tmp_path, LHDR_ENV="production", LHDR_SECRET_KEY="x" * 60, LHDR_HOSTS="lhdr.example.org")
    assert result.returncode == 0, result.stderr
