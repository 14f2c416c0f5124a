"""Who works on what: exactly one caller gets a piece of work, by a conditional UPDATE with an owner token and a lease.

One thread per process renews the leases of the calls under way. Rows are locked in the order run, endpoint, work.
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
from django.db.models import Q
from django.utils import timezone

from lhdr_site.endpoints.client import Handle
from lhdr_site.endpoints.errors import ErrorKind

from .models import Response, Run, RunEvent, RunState, Verdict, Work
from .rows import fetch_row, update_row

log = structlog.get_logger(__name__)

Status = Work.Status
ACTIVE = (RunState.QUEUED, RunState.RUNNING)
LEASE = timedelta(seconds=max(settings.LEASE_SECONDS, 1))
RENEW_SECONDS = min(LEASE.total_seconds() / 3, 5)  # also how soon a cancelled call is ended

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

    def write(self, **fields: Any) -> int:
        """Change the row, if this claim still holds: 1, else 0."""
        return update_row(self.model, {"id": self.pk, "owner": self.owner, "status": Status.RUNNING}, **fields)


# One statement says whether and what a run may do next: its state, whether its budget is used up, whether it may make
# one more call, and its first due work (verdicts before responses) with whether that work's endpoint has room.
_TABLES = {Verdict: "evaluation_verdict", Response: "evaluation_response"}
_DUE = (
    "SELECT * FROM (SELECT {kind} AS kind, id, run_id, endpoint_id, tries FROM {table}"
    " WHERE {which} AND status = 'pending' AND (due IS NULL OR due <= %s) AND endpoint_id IS NOT NULL{elsewhere}"
    " ORDER BY id LIMIT 1) AS {table}_due"
)
_BUSY = " + ".join(
    f"(SELECT COUNT(*) FROM {table} b WHERE b.{{column}} = {{of}} AND b.status = 'running' AND b.lease_until > %s)"
    for table in _TABLES.values()
)
_NEXT = (
    "SELECT r.created, r.state, (r.budget IS NOT NULL AND r.spent >= r.budget),"
    f" r.concurrency > {_BUSY.format(column='run_id', of='r.id')}, w.kind, w.id, w.endpoint_id, w.tries,"
    f" (e.blocked_until IS NULL OR e.blocked_until <= %s) AND e.slots > {_BUSY.format(column='endpoint_id', of='e.id')}"
    " FROM evaluation_run r"
    " LEFT JOIN (SELECT * FROM ({due}) AS both_due ORDER BY kind LIMIT 1) AS w ON w.run_id = r.id"
    " LEFT JOIN endpoints_endpoint e ON e.id = w.endpoint_id WHERE r.id = %s"
)
_LOCK_RUN = "SELECT 1 FROM evaluation_run WHERE id = %s FOR NO KEY UPDATE"
_LOCK_ENDPOINTS = (
    "SELECT 1 FROM endpoints_endpoint WHERE id IN ("
    "SELECT s.endpoint_id FROM evaluation_run r JOIN evaluation_system s ON s.id = r.system_id WHERE r.id = %s UNION "
    "SELECT j.endpoint_id FROM evaluation_run_judges rj JOIN evaluation_judge j ON j.id = rj.judge_id"
    " WHERE rj.run_id = %s) ORDER BY id FOR NO KEY UPDATE"
)


def is_due(now: datetime) -> Q:
    return Q(status=Status.PENDING) & (Q(due=None) | Q(due__lte=now))


def claim(model: type[Response] | type[Verdict], pk: int) -> Claim | None:
    """Hold this piece of work, if it is due, its run goes on, and run and endpoint have room: one caller gets it."""
    run_pk = model._default_manager.filter(pk=pk).values_list("run_id", flat=True).first()
    return _claim(run_pk, {model: f"id = {int(pk)}"}) if run_pk else None


def claim_next(run_pk: int) -> Claim | None:
    """Hold some due work of a run, verdicts before responses; None when there is nothing, or no room for it."""
    which = f"run_id = {int(run_pk)}"
    return _claim(run_pk, {Verdict: which, Response: which})


def _claim(run_pk: int, which: dict[Any, str]) -> Claim | None:
    now = timezone.now()
    moment = connection.ops.adapt_datetimefield_value(now)
    full: list[int] = []
    with write():
        if connection.features.has_select_for_update:
            fetch_row(_LOCK_RUN, [run_pk])
            fetch_row(_LOCK_ENDPOINTS, [run_pk, run_pk])
        while True:
            elsewhere = f" AND endpoint_id NOT IN ({', '.join(map(str, full))})" if full else ""
            due = " UNION ALL ".join(
                _DUE.format(kind=kind, table=table, which=which[model], elsewhere=elsewhere)
                for kind, (model, table) in enumerate(_TABLES.items())
                if model in which
            )
            row = fetch_row(_NEXT.format(due=due), [*[moment] * (5 + len(which)), run_pk])
            created, state, used_up, may_start, kind, pk, endpoint_pk, tries, has_room = row
            if state not in ACTIVE or pk is None:
                return None
            if used_up:
                stop_run(run_pk, ErrorKind.BUDGET, "The budget is used up.")
                return None
            if not may_start:
                return None
            if has_room:
                break
            full.append(endpoint_pk)
        model, owner = list(_TABLES)[kind], uuid4()
        pending = {"id": pk, "status": Status.PENDING}
        lease = {"status": Status.RUNNING, "owner": owner, "lease_until": now + LEASE, "tries": tries + 1}
        if not update_row(model, pending, **lease):
            return None
        if state == RunState.QUEUED:
            Run.objects.filter(pk=run_pk).update(state=RunState.RUNNING, started=now)
    return Claim(model, pk, run_pk, created, endpoint_pk, tries + 1, owner)


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
            finally:
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
