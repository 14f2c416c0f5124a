"""The worker's calls outside of runs, each safe to run twice: tryouts of systems, shortcut probes, a judge's word on
them, grade checks.

Claimed under a lease as responses and verdicts are, and within the same limits of their endpoints. A probe without text
is the system's; with text it is the judge's. A grade check keeps each case as soon as it was judged.
"""

import time
from datetime import datetime
from typing import Any

from django.db.models import F
from django.utils import timezone

from annotation.document import Document, read_document
from audit.probes import GradeCheck, Probe, probe_subject
from lhdr_site.endpoints.bodies import chat_body
from lhdr_site.endpoints.errors import CallError, ErrorKind
from lhdr_site.endpoints.limits import PATIENCE
from lhdr_site.endpoints.replies import Reply

from .attempts import another_try, ask, ask_system, close, cost_of_all
from .claims import ERRANDS, Claim, Status, Wait, claim_errand, holding, is_due, next_turn, wait_for_turn, write
from .generations import attempts_of_work, leave_or_close
from .gradeability import outcome, solution
from .models import Condition, Judge, System, Tryout
from .prompts import build_judge_prompt, cut_response
from .scoring.judge_output import Unparseable, parse_judge_output
from .tasks import MOST_LANES

_FREE = {"owner": None, "lease_until": None}


def run_errands(seconds: float) -> bool:
    """Do one due call after the other, for about so long; True when time ran out before the work."""
    end = time.monotonic() + seconds
    while found := claim_errand():
        if isinstance(found, Wait):
            if not wait_for_turn(found, end - time.monotonic()):
                return False
        else:
            with holding(found):
                if found.model is Tryout:
                    _try_out(found)
                elif found.model is Probe:
                    _probe(found)
                else:
                    _grade(found)
        if time.monotonic() > end:
            return True
    return False


# --- tryouts ------------------------------------------------------------------------------------------------------


def _try_out(held: Claim) -> None:
    """Ask once: a failure is what the person wants to see. Only what is told to wait is asked for again."""
    row = Tryout.objects.select_related("release_item").get(pk=held.pk)
    try:
        reply = ask_system(held, _system(row.system_id), read_document(row.release_item.document), row.condition)
    except CallError as error:
        _fail(held, error, 1, Status.FAILED, ended=timezone.now(), cost=error.reply and error.reply.cost)
        return
    with write():
        close(held, reply)
        held.write(
            **_FREE,
            status=Status.COMPLETED,
            error_kind="",
            error="",
            due=None,
            ended=timezone.now(),
            text=reply.text,
            thinking=reply.thinking,
            truncated=reply.truncated,
            citations=list(reply.citations),
            returned_model=reply.model,
            cost=cost_of_all(held),
        )


# --- probes -------------------------------------------------------------------------------------------------------


def _probe(held: Claim) -> None:
    probe = Probe.objects.get(pk=held.pk)
    document = probe_subject(probe)
    if probe.text:
        _judge_probe(held, probe, document)
        return
    system = _system(probe.system)
    try:
        reply = ask_system(
            held, system, document, Condition.WITH_IMAGE if probe.with_image else Condition.WITHOUT_IMAGE
        )
    except CallError as error:
        _fail(held, error, system.max_tries, Status.FAILED, ended=timezone.now())
        return
    judge = _judge(probe.judge) if probe.judge else None
    # its judge's turn is next, with tries of its own
    after = {"status": Status.PENDING, "endpoint": judge.endpoint_id, "tries": 0} if judge else {}
    with write():
        close(held, reply)
        held.write(
            **{"status": Status.COMPLETED, **after, **_FREE},
            error_kind="",
            error="",
            due=None,
            ended=timezone.now(),
            text=reply.text,
            truncated=reply.truncated,
            citations=list(reply.citations),
            returned_model=reply.model,
            cost=cost_of_all(held),
        )


def _judge_probe(held: Claim, probe: Probe, document: Document) -> None:
    judge = _judge(probe.judge)
    try:
        reply = _ask_judge(held, judge, document, probe.text)
    except CallError as error:
        _fail(held, error, judge.max_tries, Status.COMPLETED)
        return
    found = parse_judge_output(reply.text, len(document.checklist))
    why = f"unparseable: {found.reason}" if isinstance(found, Unparseable) else ""
    again = bool(why) and held.tries < judge.max_tries
    with write():
        close(held, reply, why)
        held.write(
            **{"status": Status.PENDING if again else Status.COMPLETED, **_FREE},
            error_kind="",
            error=why,
            due=None,
            judge_recovered=None if isinstance(found, Unparseable) else found.answer_correct,
            judge_output=reply.text,
            cost=cost_of_all(held),
        )


def _ask_judge(held: Claim, judge: Judge, document: Document, text: str) -> Reply:
    assert judge.endpoint is not None  # the action takes no people
    shown, _cut = cut_response(text, judge.max_response_chars)
    prompt = build_judge_prompt(judge.template, document, shown)
    body = chat_body(judge.endpoint.wire, judge.model, prompt, extra=judge.extra_body)
    return ask(held, judge, body, judge=judge.pk)


# --- grade checks -------------------------------------------------------------------------------------------------


def _grade(held: Claim) -> None:
    check = GradeCheck.objects.get(pk=held.pk)
    judge = _judge(check.judge)
    document = probe_subject(check)
    for case in check.cases:
        while case["ok"] is None and not case["unparseable"]:
            if held.attempt_pk:
                next_turn(held)
            try:
                reply = _ask_judge(held, judge, document, solution(document, case["case"], case["without"]))
            except CallError as error:
                _fail(held, error, judge.max_tries, GradeCheck.Status.BROKEN, ended=timezone.now())
                return
            found = parse_judge_output(reply.text, len(document.checklist))
            unreadable = isinstance(found, Unparseable)
            case["output"] = reply.text
            if isinstance(found, Unparseable):
                case["unparseable"] = found.reason if held.tries >= judge.max_tries else ""
            else:
                case["vector"], case["answer"] = list(found.vector), found.answer_correct
                case["ok"] = outcome(document, case, found.vector, found.answer_correct).ok
            held.tries = held.tries + 1 if unreadable and not case["unparseable"] else 1
            with write():
                close(held, reply, f"unparseable: {found.reason}" if isinstance(found, Unparseable) else "")
                if not held.write(cases=check.cases, tries=held.tries):
                    return
    words = [case["ok"] for case in check.cases]
    status = GradeCheck.Status.PASSED
    if None in words:
        status = GradeCheck.Status.BROKEN
    elif False in words:
        status = GradeCheck.Status.FAILED
    with write():
        held.write(**_FREE, status=status, error_kind="", error="", due=None, ended=timezone.now())


# --- when it went wrong -------------------------------------------------------------------------------------------


def _fail(held: Claim, error: CallError, max_tries: int, final: str, **more: Any) -> None:
    """Close the attempt; the work is due again later, or ends in the status given."""
    again, due = another_try(held, error, max_tries, timezone.now())
    with write():
        close(held, error.reply, error.message, error.kind, unfinished=error.unfinished)
        if error.kind is ErrorKind.CANCELLED:
            return  # its claim is gone already, or the process that made it could not write it down
        fields = {"error_kind": error.kind, "error": error.message, **_FREE}
        if again:
            held.write(status=Status.PENDING, due=due, **fields)
        else:
            held.write(status=final, due=None, **fields, **more)


def sweep_errands() -> int:
    """Take back what dead workers held; how many lanes the due work could use now."""
    now = timezone.now()
    for model in ERRANDS:
        lost = model._default_manager.filter(status=Status.RUNNING, lease_until__lt=now).exclude(owner=None)
        for row in lost:
            _take_back(row, now)
    due = sum(model._default_manager.filter(is_due(now))[:MOST_LANES].count() for model in ERRANDS)
    return min(due, MOST_LANES)


def _take_back(row: Any, now: datetime) -> None:
    """It is due again; its open attempt is closed, and what that cost is unknown, or left to be gone on with."""
    error = {"error_kind": ErrorKind.LOST, "error": "The worker stopped during the call."}
    final: str = Status.COMPLETED if isinstance(row, Probe) and row.text else Status.FAILED
    final = GradeCheck.Status.BROKEN if isinstance(row, GradeCheck) else final
    with write():
        left, _closed = leave_or_close(attempts_of_work(type(row), row.pk).filter(owner=row.owner), now)
        held = type(row)._default_manager.filter(pk=row.pk, owner=row.owner, status=Status.RUNNING)
        if left:
            held.update(status=Status.PENDING, due=None, tries=F("tries") - 1, **_FREE)
        elif row.tries >= _max_tries(row) * PATIENCE or isinstance(row, Tryout):
            held.update(status=final, due=None, **_FREE, **error)
        else:
            held.update(status=Status.PENDING, due=None, **_FREE, **error)


def _max_tries(row: Any) -> int:
    if isinstance(row, Tryout):
        return 1
    if isinstance(row, Probe) and not row.text:
        return _system(row.system).max_tries
    return _judge(row.judge).max_tries


def _system(pk: Any) -> System:
    return System.objects.select_related("endpoint").get(pk=pk)


def _judge(pk: Any) -> Judge:
    return Judge.objects.select_related("endpoint").get(pk=pk)
