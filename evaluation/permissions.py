"""Who may do what in evaluation, with the reason when not. Everybody in the benchmark sees runs and verdicts."""

from typing import Any

from annotation.benchmarks import Benchmark, Role, may_act_as
from lhdr_site.endpoints.models import Endpoint
from lhdr_site.shared.results import Allowed, Answer, Denied


def may_see_runs(user: Any, benchmark: Benchmark) -> Answer:
    return may_act_as(user, benchmark, Role.ANNOTATOR)


def may_manage_runs(user: Any, benchmark: Benchmark) -> Answer:
    """Systems, judges, launching, pausing, cancelling, judging again."""
    return may_act_as(user, benchmark, Role.ADMIN)


def may_record_verdict(user: Any, benchmark: Benchmark) -> Answer:
    """A person's own verdict on a response."""
    return may_act_as(user, benchmark, Role.AUDITOR)


def may_try_endpoint(user: Any, endpoint: Endpoint) -> Answer:
    """Letting an endpoint that kept refusing try again."""
    if user.is_superuser or any(may_manage_runs(user, benchmark) for benchmark in endpoint.benchmark_set.all()):
        return Allowed()
    return Denied("This needs an admin of a benchmark that may use the endpoint, or a superuser.")
