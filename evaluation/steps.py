"""The worker's writes, each safe to run twice: answer, judge, finish, sweep.

Exactly one caller gets a piece of work, by a conditional UPDATE with an owner token and a lease; the lease is renewed
while a call goes on, and a result is written only where the token still holds. No transaction is open during a call.
Rows are locked in the order run, endpoint, response or verdict.
"""

import time
from collections.abc import Sequence
from datetime import datetime
from decimal import Decimal
from typing import Any, cast
from uuid import UUID

import structlog
from django.db import connection
from django.db.models import F, Q, Sum
from django.utils import timezone

from annotation.document import Document, read_document
from audit.releases import ReleaseItem
from lhdr_site.endpoints.client import Reply, call, chat_body, without_image_bytes
from lhdr_site.endpoints.errors import CallError, ErrorKind
from lhdr_site.endpoints.limits import PATIENCE, after_failure

from .claims import ACTIVE, Claim, claim, claim_next, holding, is_due, stop_run, write
from .images import image_part, signed_image_url
from .models import Attempt, ImageMode, Judge, Response, Run, RunEvent, RunState, Verdict, Work
from .prompts import build_judge_prompt, cut_response, verdict_identity
from .reports import store_leaderboards
from .requests import question_images, system_body
from .rows import fetch_row, insert_row, update_row
from .scoring.judge_output import Unparseable, parse_judge_output

log = structlog.get_logger(__name__)

Status = Work.Status
MAX_EMPTY = 3  # an empty reply is asked for again at most twice
STOP_AFTER = 5  # permanent errors in a row
_EMPTY = (ErrorKind.EMPTY, ErrorKind.REASONING_ONLY)

# --- what does not change during a run ----------------------------------------------------------------------------


_documents: dict[str, Document] = {}
_plans: dict[tuple[int, Any], tuple[float, Run, dict[int, Judge]]] = {}
PLAN_SECONDS = 5.0  # an endpoint's limits may be edited meanwhile


def _document(release_item_pk: int, document_hash: str) -> Document:
    """Release items are frozen, so what was read once is as good as the row."""
    document = _documents.get(document_hash)
    if document is None:
        if len(_documents) >= 500:
            _documents.clear()
        data = ReleaseItem.objects.values_list("document", flat=True).get(pk=release_item_pk)
        document = _documents[document_hash] = read_document(data)
    return document


def _plan(held: Claim) -> tuple[Run, dict[int, Judge]]:
    """The run with system and endpoint, and its judges by id; never its state or figures, which move."""
    key = held.run_pk, held.run_created
    known = _plans.get(key)
    if known is None or known[0] < time.monotonic():
        if len(_plans) > 200:
            _plans.clear()
        run = Run.objects.select_related("system__endpoint").get(pk=held.run_pk)
        judges = {judge.pk: judge for judge in run.judges.exclude(endpoint=None).select_related("endpoint")}
        known = _plans[key] = (time.monotonic() + PLAN_SECONDS, run, judges)
    return known[1], known[2]


# --- answer and judge ---------------------------------------------------------------------------------------------


def answer(response_pk: int) -> bool:
    """Ask the system once for this response; False when somebody else has it, or it is not its turn."""
    held = claim(Response, response_pk)
    if held:
        _perform(held)
    return held is not None


def judge(verdict_pk: int) -> bool:
    """Ask the judge once for this verdict; False when somebody else has it, or it is not its turn."""
    held = claim(Verdict, verdict_pk)
    if held:
        _perform(held)
    return held is not None


def work_on(run_pk: int, seconds: float) -> bool:
    """Do one piece of a run's due work after the other, for about so long; True when time ran out before the work."""
    end = time.monotonic() + seconds
    while held := claim_next(run_pk):
        _perform(held)
        if time.monotonic() > end:
            return True
    finish(run_pk)
    return False


def _perform(held: Claim) -> None:
    with holding(held):
        if held.model is Response:
            _answer(held)
        else:
            _judge(held)


_ITEM = (
    "SELECT i.id, i.document_hash FROM evaluation_response r JOIN audit_releaseitem i ON i.id = r.release_item_id"
    " WHERE r.id = %s"
)
_JUDGED = (
    "SELECT v.judge_id, r.text, i.id, i.document_hash FROM evaluation_verdict v"
    " JOIN evaluation_response r ON r.id = v.response_id JOIN audit_releaseitem i ON i.id = r.release_item_id"
    " WHERE v.id = %s"
)


def _answer(held: Claim) -> None:
    run, judges = _plan(held)
    system = run.system
    document = _document(*fetch_row(_ITEM, [held.pk]))
    images = question_images(document, system.image_mode, run.condition)
    try:
        if system.image_mode == ImageMode.URL_IN_PROMPT:
            urls = [signed_image_url(run.benchmark_id, image) for image in images]
            body = system_body(system.endpoint.wire, system.model, document, urls=urls, extra=system.extra_body)
        else:
            parts = [image_part(run.benchmark_id, image, system.image_max_side) for image in images]
            body = system_body(system.endpoint.wire, system.model, document, images=parts, extra=system.extra_body)
        reply = _ask(held, system.endpoint, body, max_bytes=system.max_request_mb * 1_000_000)
    except LookupError as error:
        _fail(held, CallError(ErrorKind.BAD_REQUEST, f"A question image cannot be sent: {error}."), system.max_tries)
    except CallError as error:
        _fail(held, error, system.max_tries)
    else:
        _keep_answer(held, reply, list(judges.values()))


def _keep_answer(held: Claim, reply: Reply, judges: Sequence[Judge]) -> None:
    """The answer, and one pending verdict per judge, in one transaction."""
    with write():
        _close(held, reply)
        kept = held.write(
            status=Status.COMPLETED,
            lease_until=None,
            error_kind="",
            error="",
            ended=timezone.now(),
            text=reply.text,
            thinking=reply.thinking,
            citations=list(reply.citations),
            truncated=reply.truncated,
            finish_reason=reply.finish_reason,
            **_figures(held, reply),
        )
        if kept:
            for judge in judges:
                _add_verdict(held.run_pk, held.pk, judge)


def _add_verdict(run_pk: int, response_pk: int, judge: Judge) -> None:
    insert_row(
        Verdict,
        run=run_pk,
        response=response_pk,
        judge=judge.pk,
        endpoint=judge.endpoint_id,
        status=Status.PENDING,
        created=timezone.now(),
        **_NEW_VERDICT,
    )


_NEW_VERDICT = {
    "repeat": 1, "tries": 0, "error_kind": "", "error": "", "identity": "", "output": "", "flags": [],
    "unparseable": "", "blind": False, "note": "",
}  # fmt: skip


def add_missing_verdicts(run: Run) -> int:
    """Pending verdicts for completed responses that a judge of the run never got; how many.

    A judge that joins a run may miss a response that was completed at that moment. Inside the caller's transaction.
    """
    added = 0
    for judge in run.judges.exclude(endpoint=None):
        lacking = run.responses.filter(status=Status.COMPLETED).exclude(
            pk__in=Verdict.objects.filter(judge=judge, run=run).values("response_id")
        )
        for pk in list(lacking.values_list("pk", flat=True)):
            _add_verdict(run.pk, pk, judge)
            added += 1
    return added


def _judge(held: Claim) -> None:
    _run, judges = _plan(held)
    judge_pk, text, item_pk, item_hash = fetch_row(_JUDGED, [held.pk])
    judge = judges.get(judge_pk) or Judge.objects.select_related("endpoint").get(pk=judge_pk)
    assert judge.endpoint is not None  # claims pass over people's verdicts
    document = _document(item_pk, item_hash)
    shown, cut = cut_response(text, judge.max_response_chars)
    prompt = build_judge_prompt(judge.prompt_version, document, shown)
    body = chat_body(judge.endpoint.wire, judge.model, prompt, extra=judge.extra_body)
    try:
        reply = _ask(held, judge.endpoint, body)
    except CallError as error:
        _fail(held, error, judge.max_tries)
        return
    found = parse_judge_output(reply.text, len(document.checklist))
    if isinstance(found, Unparseable) and held.tries < judge.max_tries:
        _ask_again(held, reply, f"unparseable: {found.reason}")
        return
    parsed: dict[str, Any] = {"answer_correct": None, "vector": None, "unparseable": ""}
    if isinstance(found, Unparseable):
        parsed["unparseable"], flags = found.reason, []
    else:
        parsed["answer_correct"], parsed["vector"], flags = found.answer_correct, list(found.vector), list(found.flags)
    with write():
        _close(held, reply, f"unparseable: {found.reason}" if isinstance(found, Unparseable) else "")
        held.write(
            status=Status.COMPLETED,
            lease_until=None,
            error_kind="",
            error="",
            ended=timezone.now(),
            identity=verdict_identity(judge_facts(judge), document, shown),
            output=reply.text,
            flags=flags + ["response_cut"] * cut,
            **parsed,
            **_figures(held, reply),
        )


def judge_facts(judge: Judge) -> dict[str, Any]:
    """What identifies a judge in the identity of its verdicts."""
    if judge.endpoint is None:
        return {"person": judge.person_id}
    return {
        "endpoint": judge.endpoint.base_url,
        "wire": judge.endpoint.wire,
        "model": judge.model,
        "parameters": judge.extra_body,
        "prompt_version": judge.prompt_version,
        "max_response_chars": judge.max_response_chars,
    }


# Columns of an attempt that are filled when it ends.
_NOTHING_YET = dict.fromkeys(
    ("error_kind", "error", "body", "content_type", "model", "provider", "fingerprint", "generation"), ""
)


def _ask(held: Claim, endpoint: Any, body: dict[str, Any], **limits: Any) -> Reply:
    """One attempt: its row is written before the call. Raises CallError."""
    with write():
        held.attempt_pk = insert_row(
            Attempt,
            response=held.pk if held.model is Response else None,
            verdict=held.pk if held.model is Verdict else None,
            owner=held.owner,
            started=timezone.now(),
            request=without_image_bytes(body),
            requested_model=str(body["model"])[:200],
            **_NOTHING_YET,
        )
    return call(endpoint, body, handle=held.handle, **limits)


def _close(held: Claim, reply: Reply | None, error: str = "", kind: str = "") -> None:
    """End the attempt's row and count its cost, whoever holds the work by now: the call was made."""
    seen = reply or Reply()
    may_have_cost = held.attempt_pk and (seen.http_status is None or seen.http_status < 400)
    if kind in _NOT_SENT and reply is None:
        may_have_cost = False
    if seen.cost is not None or may_have_cost:
        with connection.cursor() as cursor:
            column, more = ("spent", seen.cost) if seen.cost is not None else ("unpriced", 1)
            cursor.execute(f"UPDATE evaluation_run SET {column} = {column} + %s WHERE id = %s", [more, held.run_pk])
    if held.attempt_pk:
        update_row(
            Attempt,
            {"id": held.attempt_pk},
            ended=timezone.now(),
            http_status=seen.http_status,
            error_kind=kind,
            error=error,
            body=seen.body,
            content_type=seen.content_type,
            model=seen.model,
            provider=seen.provider,
            fingerprint=seen.fingerprint,
            generation=seen.generation,
            prompt_tokens=seen.prompt_tokens,
            completion_tokens=seen.completion_tokens,
            cost=seen.cost,
        )


# Failures that a call without any reply may have before a request leaves this machine.
_NOT_SENT = (ErrorKind.AUTH, ErrorKind.TOO_LARGE, ErrorKind.BAD_REQUEST, ErrorKind.NOT_FOUND)


def _figures(held: Claim, reply: Reply) -> dict[str, Any]:
    """Tokens of the reply that counts, and the cost of all attempts; unknown when one of them is."""
    figures: dict[str, Any] = {
        "prompt_tokens": reply.prompt_tokens,
        "completion_tokens": reply.completion_tokens,
        "cost": reply.cost,
    }
    if held.tries > 1:
        figures["cost"] = _cost_of_all(_attempts(held))
    return figures


def _attempts(held: Claim) -> Any:
    column = "response_id" if held.model is Response else "verdict_id"
    return Attempt.objects.filter(**{column: held.pk})


def _cost_of_all(attempts: Any) -> Decimal | None:
    unknown = attempts.filter(Q(http_status=None) | Q(http_status__lt=400), cost=None)
    return None if unknown.exists() else attempts.aggregate(all=Sum("cost"))["all"]


# --- when it went wrong -------------------------------------------------------------------------------------------


def _ask_again(held: Claim, reply: Reply, why: str) -> None:
    with write():
        _close(held, reply, why)
        held.write(status=Status.PENDING, owner=None, lease_until=None, due=None, error=why)


def may_try_again(kinds: Sequence[str], max_tries: int) -> bool:
    """Whether work whose attempts failed with these kinds, newest last, gets one more; all were worth a retry.

    Being told to come back later uses up a fifth of a try, so that a busy service fails nobody in a minute.
    """
    told_to_wait = sum(kind == ErrorKind.RATE_LIMITED for kind in kinds)
    empty = sum(kind in _EMPTY for kind in kinds)
    return empty < MAX_EMPTY and len(kinds) - told_to_wait < max_tries and len(kinds) < max_tries * PATIENCE


def _fail(held: Claim, error: CallError, max_tries: int) -> None:
    """Close the attempt; the work is due again later, or has failed; permanent errors in a row stop the run."""
    now = timezone.now()
    kinds: list[str] = [error.kind]
    if error.retryable and held.tries > 1:
        earlier = _attempts(held).exclude(pk=held.attempt_pk).order_by("-pk")[: held.tries - 1]
        kinds = [*earlier.values_list("error_kind", flat=True), error.kind]
    again = error.retryable and may_try_again(kinds, max_tries)
    # In a transaction of its own: the order of locks is run, endpoint, work.
    due = after_failure(held.endpoint_pk, error, held.tries, now) if error.retryable else None
    with write():
        _close(held, error.reply, error.message, error.kind)
        fields: dict[str, Any] = {"error_kind": error.kind, "error": error.message, "lease_until": None}
        if error.kind is ErrorKind.CANCELLED:
            # Its claim is gone already, or the process that made it could not write it down.
            return
        if again:
            held.write(status=Status.PENDING, owner=None, due=due, **fields)
            return
        failed = held.write(status=Status.FAILED, ended=now, cost=_cost_of_all(_attempts(held)), **fields)
        if failed and error.kind.permanent and _all_permanent(held):
            stop_run(held.run_pk, error.kind, error.message)


def _all_permanent(held: Claim) -> bool:
    """Whether the last few attempts of this run at this endpoint all ended in permanent errors."""
    if held.model is Response:
        attempts = Attempt.objects.filter(response__run_id=held.run_pk)
    else:
        attempts = Attempt.objects.filter(verdict__run_id=held.run_pk, verdict__endpoint_id=held.endpoint_pk)
    since = Run.objects.values_list("resumed", flat=True).get(pk=held.run_pk)
    if since:
        attempts = attempts.filter(started__gte=since)
    kinds = list(attempts.exclude(ended=None).order_by("-ended")[:STOP_AFTER].values_list("error_kind", flat=True))
    return len(kinds) == STOP_AFTER and all(kind and ErrorKind(kind).permanent for kind in kinds)


# --- finish and sweep ---------------------------------------------------------------------------------------------

_OPEN = (Status.PENDING, Status.RUNNING)


def _has_open_work(run_pk: int) -> bool:
    return any(m._default_manager.filter(run_id=run_pk, status__in=_OPEN).exists() for m in (Response, Verdict))


def finish(run_pk: int) -> bool:
    """Close a run of which nothing is open; True for the one caller that did."""
    if _has_open_work(run_pk):
        return False
    with write():
        run = Run.objects.select_for_update().get(pk=run_pk)
        if run.state not in ACTIVE or _has_open_work(run_pk) or add_missing_verdicts(run):
            return False
        run.state, run.ended = RunState.FINISHED, timezone.now()
        run.save(update_fields=["state", "ended"])
        counts = {status: run.responses.filter(status=status).count() for status in (Status.COMPLETED, Status.FAILED)}
        RunEvent.objects.create(run=run, kind="run.finished", data=counts)
    store_leaderboards(run.release)
    return True


def sweep() -> dict[int, int]:
    """Take back work whose lease ran out, close runs that are done; how many lanes each run could use now."""
    now = timezone.now()
    _take_back(now)
    wanted = {}
    for run in Run.objects.filter(state__in=ACTIVE):
        if finish(run.pk):
            continue
        due = running = 0
        for model in (Response, Verdict):
            rows = model._default_manager.filter(run=run)
            running += rows.filter(status=Status.RUNNING).count()
            due += rows.filter(is_due(now)).filter(endpoint__isnull=False)[: run.concurrency].count()
        if lanes := min(due, run.concurrency - running):
            wanted[run.pk] = lanes
    return {run_pk: lanes for run_pk, lanes in wanted.items() if lanes > 0}


def _take_back(now: datetime) -> None:
    """Work of workers that died is due again; its open attempt is closed, and what it cost is unknown."""
    for model, column in ((Response, "response_id"), (Verdict, "verdict_id")):
        lost = model._default_manager.filter(status=Status.RUNNING, lease_until__lt=now)
        rows = list(lost.exclude(owner=None).values_list("pk", "run_id", "owner", "tries"))
        for pk, run_pk, owner, tries in cast(list[tuple[int, int, UUID, int]], rows):
            with write():
                error = {"error_kind": ErrorKind.LOST, "error": "The worker stopped during the call."}
                open_attempts = Attempt.objects.filter(**{column: pk}, owner=owner, ended=None)
                if closed := open_attempts.update(ended=now, **error):
                    Run.objects.filter(pk=run_pk).update(unpriced=F("unpriced") + closed)
                row = lost.filter(pk=pk, owner=owner)
                if tries >= _max_tries(model, pk) * PATIENCE:
                    row.update(status=Status.FAILED, lease_until=None, ended=now, **error)
                else:
                    row.update(status=Status.PENDING, owner=None, lease_until=None, due=None, **error)


def _max_tries(model: type[Response] | type[Verdict], pk: int) -> int:
    path = "run__system__max_tries" if model is Response else "judge__max_tries"
    return cast(int, model._default_manager.values_list(path, flat=True).get(pk=pk))
