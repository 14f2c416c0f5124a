"""Generations that go on at an endpoint while no call waits for them: their id stands on the attempt as soon as it is
known, whoever claims the work next takes them up by it, and those that nobody wants any more are cancelled there.
"""

import time
from datetime import datetime
from typing import Any
from uuid import uuid4

import structlog
from django.db import InterfaceError, OperationalError, connection
from django.db.models import F, Q, QuerySet
from django.utils import timezone

from audit.probes import GradeCheck, Probe
from lhdr_site.endpoints.client import cancel
from lhdr_site.endpoints.errors import CallError, ErrorKind
from lhdr_site.endpoints.models import Endpoint

from .claims import LEASE, Claim, write
from .models import Attempt, Labelling, Response, Run, Tryout, Verdict, Work
from .rows import update_row

log = structlog.get_logger(__name__)

COLUMNS: dict[type[Any], str] = {
    Response: "response", Verdict: "verdict", Labelling: "labelling", Probe: "probe", GradeCheck: "grade_check",
    Tryout: "tryout",
}  # fmt: skip
KEEP_SECONDS = 120.0
MOST_TAKEN_UP = 20  # a worker that dies each time may be dying of it
MOST_CANCELLED = 20  # by one sweep
_LOST = {"error_kind": ErrorKind.LOST, "error": "The worker stopped during the call."}


def attempts_of_work(model: type[Any], pk: int) -> QuerySet[Attempt]:
    return Attempt.objects.filter(**{f"{COLUMNS[model]}_id": pk})


def note_generation(held: Claim, generation: str) -> None:
    """Write the id down before it is waited for, though the database be away for a while; fenced by the owner token.

    Raises CallError where the claim is gone: then nobody will ask for the id, and the generation is not wanted.
    """
    held.awaited, end = generation[:200], time.monotonic() + KEEP_SECONDS
    while True:
        try:
            with write():
                kept = held.write(lease_until=timezone.now() + LEASE)
                if kept:
                    update_row(Attempt, {"id": held.attempt_pk}, awaited=held.awaited, generation=held.awaited)
            break
        except (OperationalError, InterfaceError) as error:
            if time.monotonic() > end or held.handle.ended:
                return  # it is waited for all the same
            log.warning("generation_waits_for_database", work=held.model.__name__, pk=held.pk, error=str(error))
            connection.close()
            time.sleep(0.5)
    if not kept:
        raise CallError(ErrorKind.CANCELLED, "The work was taken back before its generation was known.")


def take_up(held: Claim, request: Any, judge: int | None) -> bool:
    """Go on with the latest attempt of this work, where its generation may go on at the endpoint: True, and it is ours.

    request: as it would be stored. An attempt at another one (the text to judge was replaced) is given up. A system's
    request stays the same, but for signed addresses of images, which are other ones each time.
    """
    attempts = attempts_of_work(held.model, held.pk).exclude(awaited="").filter(judge=judge)
    row = attempts.exclude(error_kind=ErrorKind.LOST).order_by("-pk").first()
    if row is None:
        return False
    of_system = judge is None and held.model in (Response, Probe, Tryout)
    same = row.requested_model == held.asked_model and (of_system or row.request == request)
    now = timezone.now()
    with write():
        mine = attempts.filter(pk=row.pk, owner=row.owner)
        if not same:
            if mine.update(ended=now, **_LOST):
                Run.objects.filter(pk=held.run_pk).update(unpriced=F("unpriced") + 1)
            return False
        fields = {"owner": held.owner, "taken_up": row.taken_up + 1, "ended": None, "error_kind": "", "error": ""}
        if not mine.update(**fields):
            return False
    held.attempt_pk, held.awaited = row.pk, row.awaited
    return True


def leave_or_close(attempts: QuerySet[Attempt], now: datetime) -> tuple[bool, int]:
    """What a dead worker left open: whether its generation is left for the next one, and how many attempts are closed.

    What is left gets another owner, so that a worker that only seemed dead closes nothing. Inside a transaction.
    """
    left = attempts.exclude(awaited="").filter(ended=None, taken_up__lt=MOST_TAKEN_UP)
    if left.update(owner=uuid4()):
        return True, 0
    return False, attempts.filter(ended=None).update(ended=now, **_LOST)


# --- ending what nobody wants -------------------------------------------------------------------------------------


def cancel_if_unwanted(held: Claim, endpoint: Endpoint) -> None:
    """After a call that ended before its generation: cancel that too, unless another worker waits for it by now."""
    left = Attempt.objects.filter(pk=held.attempt_pk, awaited=held.awaited).exclude(owner=held.owner)
    if not left.exists():
        _cancel(endpoint, held.awaited)


def cancel_unwanted() -> int:
    """Cancel generations whose work was cancelled or given up while no worker waited for them; how many."""
    gone = Q(error_kind=ErrorKind.LOST)
    for column in ("response", "verdict", "labelling", "tryout"):
        gone |= Q(**{f"{column}__status": Work.Status.CANCELLED})
    rows = Attempt.objects.exclude(awaited="").filter(gone).order_by("pk")
    count = 0
    for row in rows.select_related(*(f"{column}__endpoint" for column in COLUMNS.values()))[:MOST_CANCELLED]:
        with write():
            fields: dict[str, Any] = {"awaited": "", "owner": uuid4()}
            if row.ended is None:
                fields |= {"ended": timezone.now(), "error_kind": ErrorKind.CANCELLED}
            mine = Attempt.objects.filter(pk=row.pk, owner=row.owner, awaited=row.awaited)
            if not mine.update(**fields):
                continue
            of_run = row.response or row.verdict or row.labelling
            if of_run and row.ended is None:
                Run.objects.filter(pk=of_run.run_id).update(unpriced=F("unpriced") + 1)
        work = of_run or row.probe or row.grade_check or row.tryout
        if work and work.endpoint:
            _cancel(work.endpoint, row.awaited)
        count += 1
    return count


def _cancel(endpoint: Endpoint, generation: str) -> None:
    try:
        cancel(endpoint, generation)
    except CallError as error:
        log.info("generation_not_cancelled", endpoint=str(endpoint), generation=generation, error=error.message)
