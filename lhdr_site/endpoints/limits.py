"""Holding back: how long to wait after a failure, and the wait that all workers of an endpoint share.

The calls at once of an endpoint are counted where the work is claimed (evaluation.steps), under a lock of its row.
"""

import random
from datetime import datetime, timedelta

from django.db.models import Q

from .errors import CallError, ErrorKind
from .models import Endpoint

FIRST_WAIT = 1.0
LONGEST_WAIT = 300.0
# A request that is told to come back later may be tried this many times as often as one that fails.
PATIENCE = 5


def wait_seconds(tries: int, retry_after: float | None = None, luck: float | None = None) -> float:
    """Seconds until the next try, after `tries` failed ones (1 or more).

    Doubles from one second up to five minutes; what the endpoint asked for is the least. `luck` in [0, 1) spreads
    the callers: half to one and a half of the doubled wait, and up to a quarter more than what was asked for.
    """
    luck = random.random() if luck is None else luck
    wait = min(FIRST_WAIT * 2 ** (min(tries, 20) - 1), LONGEST_WAIT) * (0.5 + luck)
    return wait if retry_after is None else max(wait, retry_after * (1 + 0.25 * luck) + luck)


def hold_back(endpoint_pk: int, until: datetime) -> None:
    """No call to this endpoint before `until`, for every worker. Only ever moves it later."""
    earlier = Q(blocked_until=None) | Q(blocked_until__lt=until)
    Endpoint.objects.filter(earlier, pk=endpoint_pk).update(blocked_until=until)


def after_failure(endpoint_pk: int, error: CallError, tries: int, now: datetime) -> datetime:
    """When the failed request is due again. What the endpoint says about itself holds back everybody."""
    due = now + timedelta(seconds=wait_seconds(tries, error.retry_after))
    if error.retry_after is not None:
        hold_back(endpoint_pk, now + timedelta(seconds=error.retry_after))
    elif error.kind is ErrorKind.RATE_LIMITED:
        hold_back(endpoint_pk, now + timedelta(seconds=wait_seconds(tries)))
    return due
