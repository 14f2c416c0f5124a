"""Who works on what: exactly one caller gets a piece of work, by a conditional UPDATE with an owner token and a lease.

One thread per process renews the leases of the calls under way. Rows are locked in the order study, run, endpoint,
work.
"""

import os
import threading
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from decimal import Decimal
from typing import Any
from uuid import UUID, uuid4

import structlog
from django.conf import settings
from django.db import connection, transaction
from django.db.models import Q
from django.utils import timezone

from audit.probes import GradeCheck, Probe
from lhdr_site.endpoints.client import Handle
from lhdr_site.endpoints.errors import ErrorKind
from lhdr_site.endpoints.limits import take_turn

from .models import Labelling, Response, Run, RunEvent, RunState, Tryout, Verdict, Work
from .rows import fetch_row, update_row
from .stops import Stop
from .telling import tell_run_stopped

log = structlog.get_logger(__name__)

Status = Work.Status
ERRANDS: tuple[type[Any], ...] = (Tryout, Probe, GradeCheck)  # a person waits for the first
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

    model: type[Response] | type[Verdict] | type[Labelling] | type[Probe] | type[GradeCheck] | type[Tryout]
    pk: int
    run_pk: int  # 0: of no run
    run_created: Any  # with run_pk a name for the run that no other ever has
    endpoint_pk: int
    tries: int
    owner: UUID
    handle: Handle = field(default_factory=Handle)
    attempt_pk: int = 0
    asked_model: str = ""  # of the latest attempt
    is_paid: bool = False  # whether the latest attempt went to a service where calls cost something
    awaited: str = ""  # the generation of the latest attempt, where it went on at the endpoint

    def write(self, **fields: Any) -> int:
        """Change the row, if this claim still holds: 1, else 0. With another status, what was reserved is free."""
        if self.run_pk and "status" in fields:
            fields["reserved"] = 0
        return update_row(self.model, {"id": self.pk, "owner": self.owner, "status": Status.RUNNING}, **fields)


@dataclass(frozen=True)
class Wait:
    """There is due work, and nothing but the endpoint's pace in its way for so long."""

    endpoint_pk: int
    seconds: float


# One statement says whether and what a run may do next: its state, whether its budget is used up, whether it may make
# one more call, and its first due work (verdicts, responses, labels) with whether that work's endpoint has room, what
# it reserves of the budget, and whether the budgets allow for it: what was spent, what the calls under way reserved,
# and what this one reserves. Where nothing is known of what such a call costs, the first one goes alone.
_TABLES = {Verdict: "evaluation_verdict", Response: "evaluation_response", Labelling: "evaluation_labelling"}
_ERRANDS = ("audit_probe", "audit_gradecheck", "evaluation_tryout")
# Of each kind of work: how a run's columns about its cost begin, its table, and which of its rows were asked for.
_KINDS = tuple(
    {"name": name, "table": table, "asked": "1 = 1" if name == "label" else "b.carried_from_id IS NULL"}
    for name, table in zip(("verdict", "answer", "label"), _TABLES.values(), strict=True)
)
_DUE = (
    "SELECT * FROM (SELECT {kind} AS kind, id, run_id, endpoint_id, tries FROM {table}"
    " WHERE {which} AND status = 'pending' AND (due IS NULL OR due <= %s) AND endpoint_id IS NOT NULL{elsewhere}"
    " ORDER BY id LIMIT 1) AS {table}_due"
)


def _busy(column: str, of: str, *more: str) -> str:
    """How many calls go on, as SQL with one moment for each table."""
    return " + ".join(
        f"(SELECT COUNT(*) FROM {table} b WHERE b.{column} = {of} AND b.status = 'running' AND b.lease_until > %s)"
        for table in (*_TABLES.values(), *more)
    )


def _running(what: str, table: str) -> str:
    return (
        f"(SELECT {what} FROM {table} b JOIN evaluation_run q ON q.id = b.run_id WHERE {{of}} AND b.status = 'running')"
    )


def _by_kind(of: str) -> str:
    cases = (f"WHEN {kind} THEN {of.format(**names)}" for kind, names in enumerate(_KINDS))
    return f"(CASE w.kind {' '.join(cases)} END)"


_ENDPOINT_BUSY = _busy("endpoint_id", "e.id", *_ERRANDS)
_STUDY_USED_UP = (
    "EXISTS (SELECT 1 FROM evaluation_study s WHERE s.id = r.study_id AND ("
    "s.budget <= (SELECT SUM(spent) FROM evaluation_run WHERE study_id = s.id)"
    " OR s.token_budget <= (SELECT SUM(tokens) FROM evaluation_run WHERE study_id = s.id)))"
)
_RESERVE = _by_kind("COALESCE(r.{name}_cost, r.{name}_guess)")
_HELD = " + ".join(_running("COALESCE(SUM(b.reserved), 0)", table) for table in _TABLES.values())
_TOKENS_HELD = " + ".join(_running(f"COALESCE(SUM(q.{kind['name']}_tokens), 0)", kind["table"]) for kind in _KINDS)
_TOKENS = _by_kind("COALESCE(r.{name}_tokens, 0)")
_UNKNOWN_OF = (
    "((COALESCE(r.budget, s.budget) IS NOT NULL AND r.{name}_cost IS NULL AND r.{name}_guess = 0"
    " OR COALESCE(r.token_budget, s.token_budget) IS NOT NULL AND r.{name}_tokens IS NULL)"
    " AND NOT EXISTS (SELECT 1 FROM {table} b"
    " WHERE b.run_id = r.id AND b.status = 'completed' AND {asked}))"
)
_UNKNOWN = _by_kind(_UNKNOWN_OF)
_UNKNOWN_UNDER_WAY = " OR ".join(
    f"{_UNKNOWN_OF.format(**kind)}"
    f" AND EXISTS (SELECT 1 FROM {kind['table']} b WHERE b.run_id = r.id AND b.status = 'running')"
    for kind in _KINDS
)
_UNDER_WAY = " + ".join(_running("COUNT(*)", table) for table in _TABLES.values())
_OF_RUN, _OF_STUDY = "q.id = r.id", "q.study_id = r.study_id"


def _within(row: str, of: str) -> str:
    """Whether one more call stays within the budgets of a run, or of a study with all its runs."""
    sums = {name: f"(SELECT SUM({name}) FROM evaluation_run q WHERE {of})" for name in ("spent", "tokens")}
    return (
        f"({row}.budget IS NULL OR ROUND({sums['spent']} + {_HELD.format(of=of)} + {_RESERVE}, 6) <= {row}.budget)"
        f" AND ({row}.token_budget IS NULL"
        f" OR {sums['tokens']} + {_TOKENS_HELD.format(of=of)} + {_TOKENS} <= {row}.token_budget)"
    )


_AFFORDABLE = (
    "(CASE WHEN COALESCE(r.budget, r.token_budget, s.budget, s.token_budget) IS NULL THEN 1 = 1"
    f" WHEN {_UNKNOWN} AND {_UNDER_WAY.format(of=_OF_RUN)} > 0 OR {_UNKNOWN_UNDER_WAY} THEN 1 = 0"
    f" ELSE {_within('r', _OF_RUN)} AND (s.id IS NULL OR {_within('s', _OF_STUDY)}) END)"
)
_ANY_UNDER_WAY = (
    f"SELECT {_UNDER_WAY.format(of=_OF_RUN)} + {_UNDER_WAY.format(of=_OF_STUDY)} FROM evaluation_run r WHERE r.id = %s"
)
_NEXT = (
    "SELECT r.created, r.state, (r.budget IS NOT NULL AND r.spent >= r.budget"
    f" OR r.token_budget IS NOT NULL AND r.tokens >= r.token_budget), {_STUDY_USED_UP},"
    f" r.concurrency > {_busy('run_id', 'r.id')}, w.kind, w.id, w.endpoint_id, w.tries,"
    f" (e.blocked_until IS NULL OR e.blocked_until <= %s) AND e.slots > {_ENDPOINT_BUSY},"
    f" e.calls_per_minute IS NOT NULL, e.name, e.broken, {_RESERVE}, {_AFFORDABLE}"
    " FROM evaluation_run r LEFT JOIN evaluation_study s ON s.id = r.study_id"
    " LEFT JOIN (SELECT * FROM ({due}) AS both_due ORDER BY kind LIMIT 1) AS w ON w.run_id = r.id"
    " LEFT JOIN endpoints_endpoint e ON e.id = w.endpoint_id WHERE r.id = %s"
)
_HAS_ROOM = (
    f"SELECT (e.blocked_until IS NULL OR e.blocked_until <= %s) AND e.slots > {_ENDPOINT_BUSY} AND e.broken = ''"
    " FROM endpoints_endpoint e WHERE e.id = %s"
)
_MOMENTS = _NEXT.count("%s") - 1  # all but the run's id; those of the due work come besides
_LOCK_STUDY = (
    "SELECT 1 FROM evaluation_study WHERE id = (SELECT study_id FROM evaluation_run WHERE id = %s) FOR NO KEY UPDATE"
)
_LOCK_RUN = "SELECT 1 FROM evaluation_run WHERE id = %s FOR NO KEY UPDATE"
_LOCK_ENDPOINTS = (
    "SELECT 1 FROM endpoints_endpoint WHERE id IN ("
    "SELECT s.endpoint_id FROM evaluation_run r JOIN evaluation_system s ON s.id = r.system_id WHERE r.id = %s UNION "
    "SELECT j.endpoint_id FROM evaluation_run_judges rj JOIN evaluation_judge j ON j.id = rj.judge_id"
    " WHERE rj.run_id = %s UNION "
    "SELECT j.endpoint_id FROM evaluation_labelplan lp JOIN evaluation_judge j ON j.id = lp.labeller_id"
    " WHERE lp.run_id = %s) ORDER BY id FOR NO KEY UPDATE"
)


def is_due(now: datetime) -> Q:
    return Q(status=Status.PENDING) & (Q(due=None) | Q(due__lte=now))


def claim(model: type[Response] | type[Verdict] | type[Labelling], pk: int) -> Claim | None:
    """Hold this piece of work, if it is due, its run goes on, and run and endpoint have room: one caller gets it."""
    run_pk = model._default_manager.filter(pk=pk).values_list("run_id", flat=True).first()
    held = _claim(run_pk, {model: f"id = {int(pk)}"}) if run_pk else None
    return held if isinstance(held, Claim) else None


def claim_next(run_pk: int) -> Claim | Wait | None:
    """Hold some due work of a run: a verdict, response or labelling, in this order; None when there is nothing, or no
    room for it."""
    which = f"run_id = {int(run_pk)}"
    return _claim(run_pk, dict.fromkeys(_TABLES, which))


def _claim(run_pk: int, which: dict[Any, str]) -> Claim | Wait | None:
    now = timezone.now()
    moment = connection.ops.adapt_datetimefield_value(now)
    full: list[int] = []
    wait: Wait | None = None
    with write():
        if connection.features.has_select_for_update:
            fetch_row(_LOCK_STUDY, [run_pk])
            fetch_row(_LOCK_RUN, [run_pk])
            fetch_row(_LOCK_ENDPOINTS, [run_pk] * 3)
        while True:
            elsewhere = f" AND endpoint_id NOT IN ({', '.join(map(str, full))})" if full else ""
            due = " UNION ALL ".join(
                _DUE.format(kind=kind, table=table, which=which[model], elsewhere=elsewhere)
                for kind, (model, table) in enumerate(_TABLES.items())
                if model in which
            )
            row = fetch_row(_NEXT.format(due=due), [*[moment] * (_MOMENTS + len(which)), run_pk])
            created, state, used_up, study_used_up, may_start, kind, pk, endpoint_pk, tries, has_room, *more = row
            paced, endpoint, broken, reserve, affordable = more
            if state not in ACTIVE or pk is None:
                return wait
            if used_up:
                stop_run(run_pk, Stop.BUDGET)
                return None
            if broken:
                stop_for_endpoint(run_pk, endpoint_pk, endpoint, broken)
                return None
            if study_used_up:
                stop_run(run_pk, Stop.STUDY_BUDGET)
                return None
            if not may_start:
                return None
            if not affordable:
                if not fetch_row(_ANY_UNDER_WAY, [run_pk])[0]:
                    stop_run(run_pk, Stop.TOO_LITTLE)
                return None
            if has_room:
                seconds = take_turn(endpoint_pk, now) if paced else 0.0
                if not seconds:
                    break
                wait = min(wait or Wait(endpoint_pk, seconds), Wait(endpoint_pk, seconds), key=lambda w: w.seconds)
            full.append(endpoint_pk)
        model, owner = list(_TABLES)[kind], uuid4()
        pending = {"id": pk, "status": Status.PENDING}
        lease = {"status": Status.RUNNING, "owner": owner, "lease_until": now + LEASE, "tries": tries + 1}
        lease["reserved"] = Decimal(str(reserve))
        if not update_row(model, pending, **lease):
            return None
        if state == RunState.QUEUED:
            Run.objects.filter(pk=run_pk).update(state=RunState.RUNNING, started=now)
    return Claim(model, pk, run_pk, created, endpoint_pk, tries + 1, owner)


def claim_errand() -> Claim | Wait | None:
    """Hold some due probe, grade check or tryout whose endpoint has room; None when there is none."""
    now = timezone.now()
    moment = connection.ops.adapt_datetimefield_value(now)
    wait: Wait | None = None
    for model in ERRANDS:
        due = model._default_manager.filter(is_due(now)).order_by("pk")
        for endpoint_pk in due.order_by("endpoint").values_list("endpoint", flat=True).distinct():
            with write():
                if connection.features.has_select_for_update:
                    fetch_row("SELECT 1 FROM endpoints_endpoint WHERE id = %s FOR NO KEY UPDATE", [endpoint_pk])
                if not fetch_row(_HAS_ROOM, [*[moment] * (_HAS_ROOM.count("%s") - 1), endpoint_pk])[0]:
                    continue
                row = due.filter(endpoint=endpoint_pk).values_list("pk", "tries").first()
                if row is None:
                    continue
                if seconds := take_turn(endpoint_pk, now):
                    wait = Wait(endpoint_pk, seconds)
                    continue
                owner = uuid4()
                lease = {"status": Status.RUNNING, "owner": owner, "lease_until": now + LEASE}
                if update_row(model, {"id": row[0], "status": Status.PENDING}, tries=row[1] + 1, **lease):
                    return Claim(model, row[0], 0, None, endpoint_pk, row[1] + 1, owner)
    return wait


# --- waiting for an endpoint's pace -------------------------------------------------------------------------------

MOST_WAITING = 2  # threads of a process that wait for one endpoint: the others are free for other work
_waiting: Counter[int] = Counter()


def wait_for_turn(wait: Wait, longest: float) -> bool:
    """Sleep until the endpoint's next turn, at most so many seconds; False, at once, where enough others wait."""
    with _write_lock:
        if _waiting[wait.endpoint_pk] >= MOST_WAITING:
            return False
        _waiting[wait.endpoint_pk] += 1
    try:
        time.sleep(max(min(wait.seconds, longest), 0.02))
    finally:
        with _write_lock:
            _waiting[wait.endpoint_pk] -= 1
    return True


def next_turn(held: Claim) -> None:
    """Before a further call under one claim: wait until its endpoint's pace allows for it."""
    while True:
        with write():
            if connection.features.has_select_for_update:
                fetch_row("SELECT 1 FROM endpoints_endpoint WHERE id = %s FOR NO KEY UPDATE", [held.endpoint_pk])
            seconds = take_turn(held.endpoint_pk, timezone.now())
        if not seconds or held.handle.ended:
            return
        time.sleep(min(seconds, RENEW_SECONDS))


# --- leases: renewed by one thread per process while calls go on --------------------------------------------------

_held: dict[UUID, Claim] = {}
_renewer: threading.Thread | None = None


def _renew_for_ever() -> None:
    while True:
        time.sleep(RENEW_SECONDS)
        if _held:
            try:
                renew_leases()
            except Exception as error:  # whatever it is: without the thread, calls under way would be made twice
                log.warning("leases_not_renewed", error=repr(error))
            finally:
                connection.close()


def renew_leases() -> None:
    """Move the leases of this process's claims on, and end the calls whose claim is no longer theirs."""
    models: tuple[type[Any], ...] = (*_TABLES, *ERRANDS)
    for model in models:
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


def pause_for_model(run_pk: int, who: str, requested: str, returned: str) -> None:
    """Pause a run in which another model answered than was asked for, until a person accepts it. Inside the caller's
    transaction, which holds the run's row."""
    run = Run.objects.get(pk=run_pk)
    if run.state not in ACTIVE or returned in run.models_accepted:
        return
    stop = {"why": Stop.MODEL, "who": who, "requested": requested, "returned": returned}
    Run.objects.filter(pk=run_pk).update(state=RunState.PAUSED, stop=stop)
    RunEvent.objects.create(run_id=run_pk, kind="run.model_differs", data=stop)
    tell_run_stopped(run_pk)


def stop_for_endpoint(run_pk: int, endpoint_pk: int, name: str, reason: str) -> None:
    """Who lets the endpoint try again may resume the run by that: see endpoint_actions."""
    stop_run(run_pk, Stop.HELD_BACK, endpoint_id=endpoint_pk, endpoint=name, reason=reason)


def stop_run(run_pk: int, why: Stop, **facts: Any) -> None:
    """Stop a run inside the caller's transaction; what is done stays, what is open waits for a resume."""
    stop = {"why": why, **facts}
    if Run.objects.filter(pk=run_pk, state__in=ACTIVE).update(state=RunState.STOPPED, stop=stop):
        RunEvent.objects.create(run_id=run_pk, kind="run.stopped", data=stop)
        tell_run_stopped(run_pk)
