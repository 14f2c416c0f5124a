"""Holding back: how long to wait after a failure, the wait and the pace that all workers of an endpoint share, and the
breaker that opens when it keeps refusing.

The calls at once of an endpoint are counted where the work is claimed (evaluation.claims), under a lock of its row.
"""

import random
from datetime import datetime, timedelta
from typing import Any

from django.db import connection
from django.db.models import Q
from django.utils.translation import gettext as _

from lhdr_site.shared.errors import Conflict

from .errors import CallError, ErrorKind
from .models import Endpoint, EndpointEvent

FIRST_WAIT = 1.0
LONGEST_WAIT = 300.0
# A request that is told to come back later may be tried this many times as often as one that fails.
PATIENCE = 5
# Calls may start this much before their turn, so that a pause is made up for by a small burst.
AHEAD = timedelta(seconds=1)
BREAK_AFTER = 5  # permanent errors in a row
# Of them, so many at most count of one model: a wrong model id alone does not break the endpoint for the others.
COUNTED_OF_ONE_MODEL = 3


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


# --- calls per minute ---------------------------------------------------------------------------------------------


def take_turn(endpoint_pk: int, now: datetime) -> float:
    """0 when a call may start now, and its turn is taken; else the seconds until one may.

    The generic cell rate algorithm (ITU-T I.371): `next_call` moves on by a minute's share for each call, and a call
    may start up to AHEAD before it. So any n calls take at least (n - 1) shares, less AHEAD. Inside a transaction
    that holds the endpoint's row.
    """
    row = Endpoint.objects.filter(pk=endpoint_pk)
    per_minute, turn = row.values_list("calls_per_minute", "next_call").get()
    if not per_minute:
        return 0.0
    if turn and turn > now + AHEAD:
        return float((turn - AHEAD - now).total_seconds())
    row.update(next_call=max(turn or now, now) + timedelta(minutes=1) / per_minute)
    return 0.0


# --- the breaker --------------------------------------------------------------------------------------------------


def note_success(endpoint_pk: int) -> None:
    """What failed before was not the endpoint. One statement that finds nothing to do, most times."""
    with connection.cursor() as cursor:
        cursor.execute(
            "UPDATE endpoints_endpoint SET failures = 0, failing_models = '{}' WHERE id = %s AND failures > 0",
            [endpoint_pk],
        )


def note_failure(endpoint_pk: int, kind: ErrorKind, model: str, message: str) -> None:
    """Count a permanent error; with the last of BREAK_AFTER in a row, no call is made until a person says so.

    A key or an account that is not accepted counts each time; what may be the fault of one system's model id or
    request counts COUNTED_OF_ONE_MODEL times per model. Inside a transaction; locks the endpoint's row.
    """
    endpoint = Endpoint.objects.select_for_update().get(pk=endpoint_pk)
    if kind not in (ErrorKind.AUTH, ErrorKind.PAYMENT):
        counted = endpoint.failing_models.get(model, 0)
        if counted >= COUNTED_OF_ONE_MODEL:
            return
        endpoint.failing_models[model] = counted + 1
    endpoint.failures += 1
    if endpoint.failures >= BREAK_AFTER and not endpoint.broken:
        endpoint.broken = f"{message} {kind.remedy}"
        EndpointEvent.objects.create(endpoint=endpoint, kind="endpoint.broken", data={"reason": endpoint.broken})
    endpoint.save(update_fields=["failures", "failing_models", "broken"])


def close_breaker(endpoint_pk: int, actor: Any) -> Endpoint:
    """Have calls made again, inside a transaction. Raises Conflict where the endpoint is not held back."""
    endpoint = Endpoint.objects.select_for_update().get(pk=endpoint_pk)
    if not endpoint.broken:
        raise Conflict(_("The endpoint “%s” is not held back any more.") % endpoint)
    EndpointEvent.objects.create(
        endpoint=endpoint, actor=actor, kind="endpoint.tried_again", data={"reason": endpoint.broken}
    )
    endpoint.broken, endpoint.failures, endpoint.failing_models = "", 0, {}
    endpoint.save(update_fields=["broken", "failures", "failing_models"])
    return endpoint
