"""What people do to an endpoint from inside a benchmark: let it try again after its breaker opened, and resume the runs
that this stopped."""

from typing import NamedTuple

from django.contrib.auth.models import User
from django.db import transaction

from lhdr_site.endpoints.limits import close_breaker
from lhdr_site.endpoints.models import Endpoint
from lhdr_site.shared.errors import DomainError

from .actions import resume_run
from .models import Run
from .permissions import may_try_endpoint
from .queries import runs_held_back


class Resumed(NamedTuple):
    runs: list[Run]
    refused: list[tuple[Run, str]]  # with why


@transaction.atomic
def try_endpoint_again(endpoint: Endpoint, *, actor: User) -> Endpoint:
    """Calls are made to it again; with as many permanent errors in a row as before, it breaks again."""
    may_try_endpoint(actor, endpoint).require()
    return close_breaker(endpoint.pk, actor)


def resume_held_back(endpoint: Endpoint, *, actor: User) -> Resumed:
    """Resume the runs that the endpoint stopped and that this person may manage, each in a transaction of its own: one
    that something else keeps from going on does not keep the others."""
    resumed = Resumed([], [])
    for run in runs_held_back(endpoint, actor):
        try:
            resumed.runs.append(resume_run(run, actor=actor))
        except DomainError as error:
            resumed.refused.append((run, error.message))
    return resumed
