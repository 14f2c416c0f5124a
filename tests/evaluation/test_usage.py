"""What an endpoint itself says of its key and its models, over real HTTP, and a run's sum beside it."""

from typing import Any

import pytest

from evaluation.models import RunState
from lhdr_site.endpoints.errors import CallError, ErrorKind
from lhdr_site.endpoints.models import Endpoint
from lhdr_site.endpoints.reading import read_credit, read_models
from tests.evaluation.setting import Setting, work_through


def test_run_keeps_what_the_endpoint_counted_beside_its_own_sum(setting: Setting) -> None:
    run = work_through(setting.launch())
    assert run.state == RunState.FINISHED and run.spent > 0
    assert run.usage == run.spent
    page = setting.team.client("ann").get(f"/b/{setting.benchmark.slug}/runs/{run.number}/").content.decode()
    assert "by the endpoint&#x27;s own count" in page or "by the endpoint's own count" in page


def test_endpoint_that_does_not_tell_is_no_trouble(setting: Setting) -> None:
    Endpoint.objects.update(wire="anthropic", base_url=setting.server.address.removesuffix("/v1"))
    run = work_through(setting.launch())
    assert run.state == RunState.FINISHED and run.usage is None


def test_reads_of_an_endpoint(setting: Setting) -> None:
    endpoint = setting.endpoint
    assert read_models(endpoint) == ["demo"]
    credit = read_credit(endpoint)
    assert credit and credit.left is None
    endpoint.base_url = setting.server.address + "/nowhere"
    assert read_models(endpoint) is None and read_credit(endpoint) is None


@pytest.mark.parametrize(
    ("change", "kind"),
    [
        ({"base_url": "http://127.0.0.1:9/v1"}, ErrorKind.NETWORK),
        ({"key_variable": "LHDR_KEY_NOT_SET"}, ErrorKind.AUTH),
    ],
)
def test_reads_that_fail_say_how(setting: Setting, change: Any, kind: ErrorKind) -> None:
    for name, value in change.items():
        setattr(setting.endpoint, name, value)
    with pytest.raises(CallError) as error:
        read_credit(setting.endpoint)
    assert error.value.kind is kind
