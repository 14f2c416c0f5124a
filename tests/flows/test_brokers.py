"""The same run over the brokers of a team: Redis and RabbitMQ, each where its server is."""

import os
import socket
from pathlib import Path

import pytest
from django.conf import settings

from evaluation.models import RunState
from tests.evaluation.setting import make_setting
from tests.flows.processes import wait_until

pytestmark = [pytest.mark.worker, pytest.mark.django_db(transaction=True)]


def need(port: int, name: str, in_ci: bool) -> None:
    with socket.socket() as probe:
        probe.settimeout(1)
        if probe.connect_ex(("127.0.0.1", port)):
            if os.environ.get("CI") and in_ci:
                pytest.fail(f"{name} does not answer on port {port}")
            pytest.skip(f"{name} does not answer on port {port}")


@pytest.mark.parametrize(
    ("name", "port", "url"),
    [
        pytest.param("Redis", 6379, "redis://127.0.0.1:6379/13", marks=pytest.mark.redis),
        # The suite's machines need not have RabbitMQ: a smoke test where it is.
        ("RabbitMQ", 5672, "amqp://guest:guest@127.0.0.1:5672//"),
    ],
)
def test_run_over_a_broker_of_a_team_ends(demo_server, start, name: str, port: int, url: str) -> None:
    need(port, name, in_ci=name == "Redis")
    setting = make_setting(demo_server, 12, slug=name.lower())
    start("worker", "-P", "threads", "-c", "4", "-l", "WARNING", CELERY_BROKER_URL=url)
    start("beat", "-l", "WARNING", "-s", str(Path(settings.DATA) / f"beat-{name}"), CELERY_BROKER_URL=url)
    run = setting.launch()
    wait_until(lambda: type(run).objects.get(pk=run.pk).state == RunState.FINISHED, 60, "the end of the run")
    assert list(run.verdicts.values_list("status", flat=True)) == ["completed"] * 12
