"""A real worker on a real queue, killed in the middle of a run: nothing is lost, nothing is asked twice but what was
under way.
"""

import time
from pathlib import Path

import pytest
from django.conf import settings

from evaluation.models import Attempt, RunState
from lhdr_site.endpoints.models import Endpoint
from tests.evaluation.setting import make_setting
from tests.flows.processes import kill, wait_until

THREADS = 8

pytestmark = [pytest.mark.worker, pytest.mark.django_db(transaction=True)]


def test_worker_killed_in_the_middle_of_a_run_loses_nothing(demo_server, start):
    demo_server.requests = []
    setting = make_setting(demo_server, 200, slug="kill")
    Endpoint.objects.update(slots=THREADS)
    setting.system = setting.new_system(extra_body={"demo": {"behaviour": "ok", "delay_ms": 60}})
    run = setting.launch(concurrency=THREADS)
    worker = ("worker", "-P", "threads", "-c", str(THREADS), "-l", "WARNING")
    start("beat", "-l", "WARNING", "-s", str(Path(settings.DATA) / "beat-of-kill-test"))
    first = start(*worker)
    wait_until(lambda: run.responses.filter(status="completed").count() >= 60, 30, "60 of 200 responses")

    kill(first)
    time.sleep(0.2)  # what the dead worker had sent arrives
    under_way = Attempt.objects.filter(ended=None).count()
    assert run.responses.filter(status="completed").count() < 200, "it was killed too late to show anything"
    assert under_way > 0

    start(*worker)
    wait_until(lambda: type(run).objects.get(pk=run.pk).state == RunState.FINISHED, 40, "the end of the run")
    assert list(run.responses.values_list("status", flat=True)) == ["completed"] * 200
    assert run.responses.values("release_item").distinct().count() == 200
    assert list(run.verdicts.values_list("status", flat=True)) == ["completed"] * 200
    assert run.verdicts.values("response").distinct().count() == 200
    # every request that was not under way when the worker died was made once
    assert len(demo_server.requests) <= 400 + under_way
    lost = Attempt.objects.filter(error_kind="lost")
    assert lost.count() == under_way <= THREADS
    assert Attempt.objects.exclude(pk__in=lost).values("response", "verdict").distinct().count() == 400
    assert not Attempt.objects.filter(ended=None).exists()
