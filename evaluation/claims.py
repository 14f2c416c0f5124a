"""Who works on what: exactly one caller gets a piece of work, by a conditional UPDATE with an owner token and a lease.

One thread per process renews the leases of the calls under way. Rows are locked in the order endpoint, run, work.
"""

import os
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID, uuid4

import structlog
from django.conf import settings
from django.db import DatabaseError, connection, transaction
from django.db.models import F, Q
from django.utils import timezone

from lhdr_site.endpoints.client import Handle
from lhdr_site.endpoints.errors import ErrorKind

from .models import Response, Run, RunEvent, RunState, Verdict, Work

log = structlog.get_logger(__name__)

Status = Work.Status
ACTIVE = (RunState.QUEUED, RunState.RUNNING)
LEASE = timedelta(seconds=settings.LEASE_SECONDS)
RENEW_SECONDS = min(settings.LEASE_SECONDS / 3, 5)  # also how soon a cancelled call is ended

_write_lock = threading.RLock()


@contextmanager
def write() -> Iterator[None]:
    """A short write. SQLite has one writer: threads of this process queue here instead of polling its lock."""
    if connection.vendor == "sqlite":
        with _write_lock, transaction.atomic():
            yield
    else:
        with transaction.atomic():
            yield


# --- claims -------------------------------------------------------------------------------------------------------


@dataclass
class Claim:
    """A piece of work that this process holds."""

    model: type[Response] | type[Verdict]
    pk: int
    run_pk: int
    run_created: Any  # with run_pk a name for the run that no other ever has
    endpoint_pk: int
    tries: int
    owner: UUID
    handle: Handle = field(default_factory=Handle)
    attempt_pk: int = 0

    @property
    def mine(self) -> Any:
        """The row, as long as this claim holds."""
        return self.model._default_manager.filter(pk=self.pk, owner=self.owner, status=Status.RUNNING)


_RUNNING = "(SELECT COUNT(*) FROM {table} w WHERE w.{column} = {of} AND w.status = 'running' AND w.lease_until > %s)"
_BUSY = {
    of: " + ".join(
        _RUNNING.format(table=table, column=column, of=of) for table in ("evaluation_response", "evaluation_verdict")
    )
    for column, of in (("endpoint_id", "e.id"), ("run_id", "r.id"))
}
_ROOM = (
    "SELECT r.created, r.state, (r.budget IS NOT NULL AND r.spent >= r.budget),"
    " (e.blocked_until IS NULL OR e.blocked_until <= %s)"
    f" AND e.slots > {_BUSY['e.id']} AND r.concurrency > {_BUSY['r.id']}"
    " FROM evaluation_run r, endpoints_endpoint e WHERE r.id = %s AND e.id = %s"
)


def _has_room(run_pk: int, endpoint_pk: int, now: datetime) -> tuple[Any, str, bool, bool]:
    """Under a lock: when the run was made, its state, if its budget is used up, if one more call may start."""
    moment = connection.ops.adapt_datetimefield_value(now)
    with connection.cursor() as cursor:
        if connection.features.has_select_for_update:
            cursor.execute("SELECT 1 FROM endpoints_endpoint WHERE id = %s FOR NO KEY UPDATE", [endpoint_pk])
            cursor.execute("SELECT 1 FROM evaluation_run WHERE id = %s FOR NO KEY UPDATE", [run_pk])
        cursor.execute(_ROOM, [*[moment] * 5, run_pk, endpoint_pk])
        created, state, used_up, room = cursor.fetchone()
    return created, state, bool(used_up), bool(room)


def is_due(now: datetime) -> Q:
    return Q(status=Status.PENDING) & (Q(due=None) | Q(due__lte=now))


def claim(model: type[Response] | type[Verdict], pk: int) -> Claim | None:
    """Hold this piece of work, if it is due, its run goes on, and run and endpoint have room: one caller gets it."""
    now = timezone.now()
    row = model._default_manager.filter(is_due(now), pk=pk).values_list("run_id", "endpoint_id", "tries").first()
    return _claim(model, pk, *row, now) if row and row[1] is not None else None


def _claim(
    model: type[Response] | type[Verdict], pk: int, run_pk: int, endpoint_pk: int, tries: int, now: datetime
) -> Claim | None:
    with write():
        created, state, used_up, room = _has_room(run_pk, endpoint_pk, now)
        if state not in ACTIVE:
            return None
        if used_up:
            stop_run(run_pk, ErrorKind.BUDGET, "The budget is used up.")
            return None
        if not room:
            return None
        owner = uuid4()
        won = model._default_manager.filter(is_due(now), pk=pk).update(
            status=Status.RUNNING, owner=owner, lease_until=now + LEASE, tries=F("tries") + 1
        )
        if not won:
            return None
        if state == RunState.QUEUED:
            Run.objects.filter(pk=run_pk).update(state=RunState.RUNNING, started=now)
    return Claim(model, pk, run_pk, created, endpoint_pk, tries + 1, owner)


def claim_next(run_pk: int) -> Claim | None:
    """Hold some due work of a run, verdicts before responses; None when there is nothing, or no room for it."""
    now = timezone.now()
    for model in (Verdict, Response):
        due = model._default_manager.filter(is_due(now), run_id=run_pk).filter(endpoint__isnull=False).order_by("pk")
        no_room: set[int] = set()
        while True:
            waiting = due.exclude(endpoint_id__in=no_room) if no_room else due
            row = waiting.values_list("pk", "endpoint_id", "tries").first()
            if row is None:
                break
            pk, endpoint_pk, tries = row
            held = _claim(model, pk, run_pk, endpoint_pk, tries, now)
            if held:
                return held
            if model._default_manager.filter(is_due(now), pk=pk).exists():
                no_room.add(endpoint_pk)  # nobody took it, so there was no room
    return None


# --- leases: renewed by one thread per process while calls go on --------------------------------------------------

_held: dict[UUID, Claim] = {}
_renewer: threading.Thread | None = None


def _renew_for_ever() -> None:
    while True:
        time.sleep(RENEW_SECONDS)
        if _held:
            try:
                renew_leases()
            except DatabaseError as error:
                log.warning("leases_not_renewed", error=str(error))
                connection.close()


def renew_leases() -> None:
    """Move the leases of this process's claims on, and end the calls whose claim is no longer theirs."""
    for model in (Response, Verdict):
        claims = {owner: held for owner, held in list(_held.items()) if held.model is model}
        if not claims:
            continue
        rows = model._default_manager.filter(owner__in=list(claims), status=Status.RUNNING)
        rows.update(lease_until=timezone.now() + LEASE)
        for owner in set(claims) - set(rows.values_list("owner", flat=True)):
            claims[owner].handle.end(ErrorKind.CANCELLED)


@contextmanager
def holding(held: Claim) -> Iterator[None]:
    global _renewer
    if _renewer is None or not _renewer.is_alive():
        with _write_lock:
            if _renewer is None or not _renewer.is_alive():
                _renewer = threading.Thread(target=_renew_for_ever, daemon=True, name=f"leases-{os.getpid()}")
                _renewer.start()
    _held[held.owner] = held
    try:
        yield
    finally:
        _held.pop(held.owner, None)


def stop_run(run_pk: int, kind: ErrorKind, message: str) -> None:
    """Stop a run inside the caller's transaction; what is done stays, what is open waits for a resume."""
    reason = f"{message} {kind.remedy}"
    if Run.objects.filter(pk=run_pk, state__in=ACTIVE).update(state=RunState.STOPPED, stop_reason=reason):
        RunEvent.objects.create(run_id=run_pk, kind="run.stopped", data={"error_kind": kind, "reason": message})
