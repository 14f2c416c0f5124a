"""The worker's writes, each safe to run twice: answer, judge, label, finish, sweep.

Exactly one caller gets a piece of work, by a conditional UPDATE with an owner token and a lease; the lease is renewed
while a call goes on, and a result is written only where the token still holds. No transaction is open during a call.
Rows are locked in the order run, endpoint, response or verdict.
"""

import time
from collections.abc import Sequence
from datetime import datetime
from itertools import product
from typing import Any, cast
from uuid import UUID

import structlog
from django.db.models import F
from django.utils import timezone

from annotation.document import Document, read_document
from audit.releases import ReleaseItem
from lhdr_site.endpoints.bodies import chat_body
from lhdr_site.endpoints.errors import CallError, ErrorKind
from lhdr_site.endpoints.limits import PATIENCE
from lhdr_site.endpoints.model_names import same_model
from lhdr_site.endpoints.models import Endpoint
from lhdr_site.endpoints.reading import read_credit
from lhdr_site.endpoints.replies import Reply
from lhdr_site.shared.prepared import Prepared

from . import tasks
from .attempts import another_try, ask, ask_again, ask_system, close, cost_of_all, figures, hash_of_request, outlasting
from .claims import (
    ACTIVE,
    Claim,
    Wait,
    claim,
    claim_next,
    holding,
    is_due,
    pause_for_model,
    stop_for_endpoint,
    stop_run,
    wait_for_turn,
    write,
)
from .contamination import contamination_flags
from .generations import attempts_of_work, leave_or_close
from .interchange import ResponseRow
from .label_steps import add_missing_labels, ask_for_labels
from .models import Attempt, Judge, Labelling, Response, Run, RunEvent, RunState, System, Verdict, Work
from .prompts import build_judge_prompt, cut_response, verdict_identity
from .reports import store_leaderboards
from .rows import fetch_row, insert_row
from .scoring.doubts import doubtful_steps
from .scoring.judge_output import Unparseable, parse_judge_output
from .stops import Stop
from .study_steps import end_studies
from .telling import tell_run_done

log = structlog.get_logger(__name__)

Status = Work.Status
STOP_AFTER = 5  # permanent errors in a row

# --- what does not change during a run ----------------------------------------------------------------------------


_RELEASED = Prepared(lambda item: ReleaseItem.objects.filter(pk=item).values("document"), "item")
_documents: dict[str, Document] = {}
_plans: dict[tuple[int, Any], tuple[float, Run, dict[int, Judge]]] = {}
PLAN_SECONDS = 5.0  # an endpoint's limits may be edited meanwhile


def _document(release_item_pk: int, document_hash: str) -> Document:
    """Release items are frozen, so what was read once is as good as the row."""
    document = _documents.get(document_hash)
    if document is None:
        if len(_documents) >= 500:
            _documents.clear()
        found = _RELEASED.get(item=release_item_pk)
        assert found is not None  # items of a release stay
        document = _documents[document_hash] = read_document(found["document"])
    return document


def _plan(held: Claim) -> tuple[Run, dict[int, Judge]]:
    """The run with system and endpoint, and its judges by id; never its state or figures, which move."""
    key = held.run_pk, held.run_created
    known = _plans.get(key)
    if known is None or known[0] < time.monotonic():
        if len(_plans) > 200:
            _plans.clear()
        run = Run.objects.select_related("system__endpoint", "release", "benchmark").get(pk=held.run_pk)
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
    waited = False
    if Run.objects.filter(pk=run_pk, state=RunState.QUEUED, usage_before=None).exists():
        _note_usage(run_pk, "usage_before")
    while found := claim_next(run_pk):
        if isinstance(found, Wait):
            if not wait_for_turn(found, end - time.monotonic()):
                return False
            waited = True
        else:
            if waited:
                tasks.wake_later(run_pk, 1)  # another lane waits while this one calls
            _perform(found)
        if time.monotonic() > end:
            return True
    finish(run_pk)
    if study := Run.objects.values_list("study", flat=True).get(pk=run_pk):
        end_studies(study)
    return False


def _perform(held: Claim) -> None:
    with holding(held):
        perform = _answer if held.model is Response else _judge if held.model is Verdict else _label
        perform(held)


_ITEM = (
    "SELECT EXISTS (SELECT 1 FROM evaluation_verdict v WHERE v.response_id = r.id), i.id, i.document_hash"
    " FROM evaluation_response r JOIN audit_releaseitem i ON i.id = r.release_item_id WHERE r.id = %s"
)
_JUDGED = (
    "SELECT v.judge_id, r.text, i.id, i.document_hash FROM evaluation_verdict v"
    " JOIN evaluation_response r ON r.id = v.response_id JOIN audit_releaseitem i ON i.id = r.release_item_id"
    " WHERE v.id = %s"
)

_LABELLED = (
    "SELECT i.id, i.document_hash FROM evaluation_labelling l JOIN evaluation_response r ON r.id = l.response_id"
    " JOIN audit_releaseitem i ON i.id = r.release_item_id WHERE l.id = %s"
)


def _answer(held: Claim) -> None:
    run, judges = _plan(held)
    was_judged, *item = fetch_row(_ITEM, [held.pk])
    document = _document(*item)
    asked = hash_of_request(run.system, document, run.condition)
    try:
        reply = ask_system(held, run.system, document, run.condition)
    except CallError as error:
        _fail(held, error, run.system.max_tries)
    else:
        _keep_answer(held, reply, run, list(judges.values()), asked, signs_in(reply, run, document), bool(was_judged))


def signs_in(reply: Reply | ResponseRow, run: Run, document: Document) -> list[str]:
    """The flags of contamination that an answer bears."""
    benchmark = run.benchmark
    return contamination_flags(
        reply.text,
        reply.thinking,
        [dict(citation) for citation in reply.citations],
        document,
        canaries={benchmark.canary, run.release.canary},
        addresses=benchmark.dataset_urls.split(),
        name=benchmark.name,
    )


@outlasting
def _keep_answer(
    held: Claim,
    reply: Reply,
    run: Run,
    judges: Sequence[Judge],
    asked: str,
    signs: Sequence[str],
    was_judged: bool,
) -> None:
    """The answer, and the pending verdicts of every judge, in one transaction.

    was_judged: an earlier answer was; its verdicts were set aside (`actions.rerun_items`) and are due again.
    """
    with write():
        close(held, reply)
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
            request_hash=asked,
            flags=list(signs),
            **figures(held, reply),
        )
        if kept:
            _compare_models(held, run.system, reply)
        if kept and was_judged:
            Verdict.objects.filter(response=held.pk).update(status=Status.PENDING, ended=None)
            add_missing_verdicts(run)
        elif kept:
            for judge, repeat in product(judges, range(1, run.repeats + 1)):
                _add_verdict(held.run_pk, held.pk, judge, repeat)


def _compare_models(held: Claim, row: System | Judge, reply: Reply) -> None:
    if not same_model(row.model, reply.model):
        pause_for_model(held.run_pk, row.name, row.model, reply.model)


def _add_verdict(run_pk: int, response_pk: int, judge: Judge, repeat: int) -> None:
    insert_row(
        Verdict,
        run=run_pk,
        response=response_pk,
        judge=judge.pk,
        repeat=repeat,
        endpoint=judge.endpoint_id,
        status=Status.PENDING,
        created=timezone.now(),
        **_NEW_VERDICT,
    )


_NEW_VERDICT = {
    "tries": 0, "error_kind": "", "error": "", "identity": "", "output": "", "flags": [], "flagged_steps": {},
    "unparseable": "", "blind": False, "note": "", "reserved": 0, "returned_model": "",
}  # fmt: skip


def add_missing_verdicts(run: Run) -> int:
    """Pending verdicts for completed responses that a judge of the run never got; how many.

    A judge that joins a run may miss a response that was completed at that moment. Inside the caller's transaction.
    """
    added = 0
    for judge, repeat in product(run.judges.exclude(endpoint=None), range(1, run.repeats + 1)):
        lacking = run.responses.filter(status=Status.COMPLETED).exclude(
            pk__in=Verdict.objects.filter(judge=judge, run=run, repeat=repeat).values("response_id")
        )
        for pk in list(lacking.values_list("pk", flat=True)):
            _add_verdict(run.pk, pk, judge, repeat)
            added += 1
    return added


def _judge(held: Claim) -> None:
    _run, judges = _plan(held)
    judge_pk, text, item_pk, item_hash = fetch_row(_JUDGED, [held.pk])
    judge = judges.get(judge_pk) or Judge.objects.select_related("endpoint").get(pk=judge_pk)
    assert judge.endpoint is not None  # claims pass over people's verdicts
    document = _document(item_pk, item_hash)
    shown, cut = cut_response(text, judge.max_response_chars)
    prompt = build_judge_prompt(judge.template, document, shown)
    body = chat_body(judge.endpoint.wire, judge.model, prompt, extra=judge.extra_body)
    try:
        reply = ask(held, judge, body)
    except CallError as error:
        _fail(held, error, judge.max_tries)
        return
    _keep_verdict(held, reply, judge, document, shown, cut)


@outlasting
def _keep_verdict(held: Claim, reply: Reply, judge: Judge, document: Document, shown: str, cut: bool) -> None:
    found = parse_judge_output(reply.text, len(document.checklist))
    if isinstance(found, Unparseable) and held.tries < judge.max_tries:
        ask_again(held, reply, f"unparseable: {found.reason}")
        return
    parsed: dict[str, Any] = {"answer_correct": None, "vector": None, "unparseable": "", "flagged_steps": {}}
    flags: list[str] = []
    if isinstance(found, Unparseable):
        parsed["unparseable"] = found.reason
    else:
        doubts = doubtful_steps(judge.template, reply.text, found.vector, document, shown)
        flags = [*found.flags, *doubts]
        parsed |= {"answer_correct": found.answer_correct, "vector": list(found.vector), "flagged_steps": doubts}
    with write():
        close(held, reply, f"unparseable: {found.reason}" if isinstance(found, Unparseable) else "")
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
            **figures(held, reply),
        )
        _compare_models(held, judge, reply)


def judge_facts(judge: Judge) -> dict[str, Any]:
    """What identifies a judge in the identity of its verdicts."""
    if judge.endpoint is None:
        return {"person": judge.person_id} if judge.person_id else {"elsewhere": judge.name}
    return {
        "endpoint": judge.endpoint.base_url,
        "wire": judge.endpoint.wire,
        "model": judge.model,
        "parameters": judge.extra_body,
        "prompt_version": judge.prompt_version,
        "max_response_chars": judge.max_response_chars,
    } | ({"prompt": judge.pasted_prompt} if judge.pasted_prompt else {})


def _label(held: Claim) -> None:
    labelling = Labelling.objects.select_related("labeller__endpoint", "response__run__benchmark").get(pk=held.pk)
    document = _document(*fetch_row(_LABELLED, [held.pk]))
    try:
        ask_for_labels(held, labelling, document, judge_facts(labelling.labeller))
    except CallError as error:
        _fail(held, error, labelling.labeller.max_tries)


# --- when it went wrong -------------------------------------------------------------------------------------------


@outlasting
def _fail(held: Claim, error: CallError, max_tries: int) -> None:
    """Close the attempt; the work is due again later, or has failed; permanent errors in a row stop the run."""
    now = timezone.now()
    again, due = another_try(held, error, max_tries, now)
    with write():
        close(held, error.reply, error.message, error.kind, unfinished=error.unfinished)
        fields: dict[str, Any] = {"error_kind": error.kind, "error": error.message, "lease_until": None}
        if error.kind is ErrorKind.CANCELLED:
            # Its claim is gone already, or the process that made it could not write it down.
            return
        if again:
            held.write(status=Status.PENDING, owner=None, due=due, **fields)
            return
        failed = held.write(status=Status.FAILED, ended=now, cost=cost_of_all(held), **fields)
        if failed and error.kind.permanent and _all_permanent(held):
            endpoint = Endpoint.objects.get(pk=held.endpoint_pk)
            if endpoint.broken:  # by this error
                stop_for_endpoint(held.run_pk, endpoint.pk, endpoint.name, endpoint.broken)
            else:
                stop_run(held.run_pk, Stop.ERRORS, error_kind=error.kind, error=error.message)


def _all_permanent(held: Claim) -> bool:
    """Whether the last few attempts of this run at this endpoint all ended in permanent errors."""
    if held.model is Response:
        attempts = Attempt.objects.filter(response__run_id=held.run_pk)
    else:
        kind = "verdict" if held.model is Verdict else "labelling"
        of = {f"{kind}__run_id": held.run_pk, f"{kind}__endpoint_id": held.endpoint_pk}
        attempts = Attempt.objects.filter(**of)
    since = Run.objects.values_list("resumed", flat=True).get(pk=held.run_pk)
    if since:
        attempts = attempts.filter(started__gte=since)
    kinds = list(attempts.exclude(ended=None).order_by("-ended")[:STOP_AFTER].values_list("error_kind", flat=True))
    return len(kinds) == STOP_AFTER and all(kind and ErrorKind(kind).permanent for kind in kinds)


# --- finish and sweep ---------------------------------------------------------------------------------------------

_OPEN = (Status.PENDING, Status.RUNNING)
_WORK = (Response, Verdict, Labelling)


def _has_open_work(run_pk: int) -> bool:
    return any(m._default_manager.filter(run_id=run_pk, status__in=_OPEN).exists() for m in _WORK)


def finish(run_pk: int) -> bool:
    """Close a run of which nothing is open; True for the one caller that did."""
    if _has_open_work(run_pk):
        return False
    with write():
        run = Run.objects.select_for_update().get(pk=run_pk)
        if run.state not in ACTIVE or _has_open_work(run_pk):
            return False
        if add_missing_verdicts(run) or add_missing_labels(run):
            tasks.wake_later(run.pk, run.concurrency)
            return False
        run.state, run.ended = RunState.FINISHED, timezone.now()
        run.save(update_fields=["state", "ended"])
        counts = {status: run.responses.filter(status=status).count() for status in (Status.COMPLETED, Status.FAILED)}
        RunEvent.objects.create(run=run, kind="run.finished", data=counts)
        tell_run_done(run, counts[Status.COMPLETED])
    store_leaderboards(run.release)
    if run.usage_before is not None:
        _note_usage(run_pk, "usage_after")
    return True


def _note_usage(run_pk: int, column: str) -> None:
    """Keep what the system's endpoint says that its key has used, where it says so: the first word before the first
    call, the last one after the run."""
    run = Run.objects.select_related("system__endpoint").get(pk=run_pk)
    try:
        credit = read_credit(run.system.endpoint) if run.system.endpoint else None
    except CallError as error:
        log.info("usage_not_read", run=run_pk, error=error.message)
        return
    if credit is not None:
        rows = Run.objects.filter(pk=run_pk)
        rows = rows.filter(usage_before=None, state=RunState.QUEUED) if column == "usage_before" else rows
        rows.update(**{column: credit.used})


def sweep() -> dict[int, int]:
    """Take back work whose lease ran out, close runs that are done; how many lanes each run could use now."""
    now = timezone.now()
    _take_back(now)
    wanted = {}
    for run in Run.objects.filter(state__in=ACTIVE):
        if finish(run.pk):
            continue
        due = running = 0
        for model in _WORK:
            rows = model._default_manager.filter(run=run)
            running += rows.filter(status=Status.RUNNING).count()
            due += rows.filter(is_due(now)).filter(endpoint__isnull=False)[: run.concurrency].count()
        if lanes := min(due, run.concurrency - running):
            wanted[run.pk] = lanes
    end_studies()
    return {run_pk: lanes for run_pk, lanes in wanted.items() if lanes > 0}


def _take_back(now: datetime) -> None:
    """Work of workers that died is due again. Its open attempt is closed, and what it cost is unknown; or its
    generation goes on at the endpoint, and the next claim goes on with it."""
    for model in _WORK:
        lost = model._default_manager.filter(status=Status.RUNNING, lease_until__lt=now)
        rows = list(lost.exclude(owner=None).values_list("pk", "run_id", "owner", "tries"))
        for pk, run_pk, owner, tries in cast(list[tuple[int, int, UUID, int]], rows):
            with write():
                error: dict[str, Any] = {"error_kind": ErrorKind.LOST, "error": "The worker stopped during the call."}
                left, closed = leave_or_close(attempts_of_work(model, pk).filter(owner=owner), now)
                if closed:
                    Run.objects.filter(pk=run_pk).update(unpriced=F("unpriced") + closed)
                row = lost.filter(pk=pk, owner=owner)
                error["reserved"] = 0
                if left:
                    free = {"owner": None, "lease_until": None, "due": None, "reserved": 0}
                    row.update(status=Status.PENDING, tries=tries - 1, **free)
                elif tries >= _max_tries(model, pk) * PATIENCE:
                    row.update(status=Status.FAILED, lease_until=None, ended=now, **error)
                else:
                    row.update(status=Status.PENDING, owner=None, lease_until=None, due=None, **error)


def _max_tries(model: Any, pk: int) -> int:
    path = {Response: "run__system__max_tries", Verdict: "judge__max_tries", Labelling: "labeller__max_tries"}[model]
    return cast(int, model._default_manager.values_list(path, flat=True).get(pk=pk))
