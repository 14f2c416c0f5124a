"""One HTTP request for a piece of work: its row is written before the call and closed after it, whoever holds the work.

The same for runs, probes and grade checks: what is sent, what is counted, whether it is tried again.
"""

import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import datetime
from decimal import Decimal
from functools import partial, wraps
from typing import Any, Concatenate, ParamSpec

import structlog
from django.db import InterfaceError, OperationalError, connection
from django.db.models import Q, Sum
from django.utils import timezone

from annotation.benchmarks import TakenDown
from annotation.document import Document
from lhdr_site.endpoints.bodies import without_image_bytes
from lhdr_site.endpoints.client import call, is_local
from lhdr_site.endpoints.errors import CallError, ErrorKind
from lhdr_site.endpoints.limits import PATIENCE, after_failure, note_failure, note_success
from lhdr_site.endpoints.models import Wire
from lhdr_site.endpoints.replies import Reply

from .claims import Claim, write
from .generations import COLUMNS, KEEP_SECONDS, attempts_of_work, cancel_if_unwanted, note_generation, take_up
from .images import image_part, require_shown, signed_image_url
from .models import Attempt, ImageMode, Judge, Labelling, Response, System, Verdict, Work
from .money import price
from .requests import question_images, refusing_collection, request_hash, system_body
from .rows import insert_row, update_row

log = structlog.get_logger(__name__)
P = ParamSpec("P")

MAX_EMPTY = 3  # an empty reply is asked for again at most twice
_EMPTY = (ErrorKind.EMPTY, ErrorKind.REASONING_ONLY)
# Failures that a call without any reply may have before a request leaves this machine.
_NOT_SENT = (ErrorKind.AUTH, ErrorKind.TOO_LARGE, ErrorKind.BAD_REQUEST, ErrorKind.NOT_FOUND)

_COSTS: dict[type[Any], str] = {Response: "answer", Verdict: "verdict", Labelling: "label"}
# Columns of an attempt that are filled when it ends.
_NOTHING_YET: dict[str, Any] = dict.fromkeys(
    ("error_kind", "error", "body", "content_type", "model", "provider", "fingerprint", "generation", "awaited"), ""
) | {"taken_up": 0}


def ask_system(held: Claim, system: System, document: Document, condition: str) -> Reply:
    """The question as a system gets it, in a run as in a probe, and its reply. Raises CallError."""
    assert system.endpoint is not None  # what has none is never claimed
    images = question_images(document, system.image_mode, condition)
    wire, model, extra = system.endpoint.wire, system.model, system.extra_body
    try:
        if system.image_mode == ImageMode.URL_IN_PROMPT:
            require_shown(system.benchmark_id, images)
            urls = [signed_image_url(system.benchmark_id, image) for image in images]
            body = system_body(wire, model, document, urls=urls, extra=extra)
        else:
            parts = [image_part(system.benchmark_id, image, system.image_max_side) for image in images]
            body = system_body(wire, model, document, images=parts, extra=extra)
    except TakenDown as error:
        raise CallError(ErrorKind.TAKEN_DOWN, f"A question image cannot be sent: {error}.") from error
    except LookupError as error:
        raise CallError(ErrorKind.BAD_REQUEST, f"A question image cannot be sent: {error}.") from error
    return ask(held, system, body, max_bytes=system.max_request_mb * 1_000_000)


def hash_of_request(system: System, document: Document, condition: str) -> str:
    """Of what `ask_system` sends: two that are equal are the same request."""
    assert system.endpoint is not None
    return request_hash(
        system.endpoint.base_url,
        system.endpoint.wire,
        system.model,
        document,
        images=question_images(document, system.image_mode, condition),
        image_mode=system.image_mode,
        longest_side=system.image_max_side,
        extra=system.extra_body,
    )


def ask(held: Claim, row: System | Judge, body: dict[str, Any], *, judge: int | None = None, **limits: Any) -> Reply:
    """One attempt: its row is written before the call. Raises CallError.

    Where the generation of an earlier attempt goes on at the endpoint, that attempt goes on, and nothing is sent.
    row: who is asked. judge: its id, for a probe's or grade check's request to a judge.
    """
    endpoint = row.endpoint
    assert endpoint is not None  # claims pass over people's verdicts
    body = refusing_collection(endpoint.base_url, body)
    held.asked_model = str(body["model"])[:200]
    held.is_paid = not (endpoint.is_demo or is_local(endpoint.base_url))
    stored = without_image_bytes(body)
    held.awaited = ""
    if endpoint.wire != Wire.RESPONSES or not take_up(held, stored, judge):
        with write():
            held.attempt_pk = insert_row(
                Attempt,
                **{column: held.pk if model is held.model else None for model, column in COLUMNS.items()},
                judge=judge,
                owner=held.owner,
                started=timezone.now(),
                request=stored,
                requested_model=held.asked_model,
                priced=False,
                **_NOTHING_YET,
            )
    started = partial(note_generation, held)
    try:
        reply = call(endpoint, body, handle=held.handle, generation=held.awaited, started=started, **limits)
        return _with_price(reply, row)
    except CallError as error:
        error.reply = _with_price(error.reply, row) if error.reply else None
        if held.awaited and error.kind in (ErrorKind.TIMEOUT, ErrorKind.CANCELLED):
            cancel_if_unwanted(held, endpoint)
        raise


def _with_price(reply: Reply, row: System | Judge) -> Reply:
    """With its cost by the price table, where the endpoint reported none."""
    cost = price(reply.prompt_tokens, reply.completion_tokens, row.prompt_price, row.completion_price)
    return reply if cost is None or reply.cost is not None else replace(reply, cost=cost, priced=True)


def close(held: Claim, reply: Reply | None, error: str = "", kind: str = "", *, unfinished: bool = False) -> None:
    """End the attempt's row and count its cost for the run, whoever holds the work by now: the call was made.

    What it says of the endpoint counts for all: see `limits.note_failure`. unfinished: the attempt's generation may go
    on, and a further try waits for it. An attempt that another worker took up meanwhile is that one's to close.
    """
    if held.awaited:
        mine = {"id": held.attempt_pk, "owner": held.owner}
        if not update_row(Attempt, mine, awaited=held.awaited if unfinished else ""):
            return
    seen = reply or Reply()
    may_have_cost = held.attempt_pk and (seen.http_status is None or seen.http_status < 400)
    if kind in _NOT_SENT and reply is None:
        may_have_cost = False
    tokens = (seen.prompt_tokens or 0) + (seen.completion_tokens or 0)
    if held.run_pk and (seen.cost is not None or may_have_cost or tokens):
        _count(held, seen, tokens, unpriced=seen.cost is None and bool(may_have_cost))
    if held.attempt_pk:
        if not kind:
            note_success(held.endpoint_pk)
        elif ErrorKind(kind).permanent:
            note_failure(held.endpoint_pk, ErrorKind(kind), held.asked_model, error)
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
            priced=seen.priced,
        )


def outlasting(keep: Callable[Concatenate[Claim, P], None]) -> Callable[Concatenate[Claim, P], None]:
    """What a call brought is written down even if the database is away or its disk full for a while, up to two minutes:
    the call was paid for, and to ask again is to pay again. For functions that write all or nothing, once.
    """

    @wraps(keep)
    def persist(held: Claim, /, *args: P.args, **kwargs: P.kwargs) -> None:
        end, failed = time.monotonic() + KEEP_SECONDS, False
        while True:
            try:
                if not (failed and _is_closed(held)):
                    keep(held, *args, **kwargs)
                return
            except (OperationalError, InterfaceError) as error:
                if time.monotonic() > end:
                    raise
                log.warning("result_waits_for_database", work=held.model.__name__, pk=held.pk, error=str(error))
                failed = True
                connection.close()
                time.sleep(0.5)

    return persist


def _is_closed(held: Claim) -> bool:
    """Whether the attempt was closed by its own caller: the commit that seemed to fail may have gone through."""
    attempts = Attempt.objects.filter(pk=held.attempt_pk, ended__isnull=False)
    return attempts.exclude(error_kind=ErrorKind.LOST).exists()


def _count(held: Claim, seen: Reply, tokens: int, *, unpriced: bool) -> None:
    """Add a call to its run's sums, and keep what the dearest and the longest one took."""
    sums = {
        "spent": seen.cost or 0,
        "tokens": tokens,
        "unpriced": int(unpriced),
        "priced": int(seen.priced),
        "zero_cost": int(held.is_paid and seen.cost == 0 and not seen.priced and tokens > 0),
    }
    name = _COSTS[held.model]
    most = {f"{name}_cost": seen.cost, f"{name}_tokens": tokens or None}
    known = {column: value for column, value in most.items() if value is not None}
    changes = [f"{column} = {column} + %s" for column in sums]
    changes += [f"{column} = CASE WHEN {column} >= %s THEN {column} ELSE %s END" for column in known]
    values = [*sums.values(), *(value for value in known.values() for _ in range(2)), held.run_pk]
    with connection.cursor() as cursor:
        cursor.execute(f"UPDATE evaluation_run SET {', '.join(changes)} WHERE id = %s", values)


def figures(held: Claim, reply: Reply) -> dict[str, Any]:
    """Model and tokens of the reply that counts, and the cost of all attempts; unknown when one of them is."""
    return {
        "returned_model": reply.model,
        "prompt_tokens": reply.prompt_tokens,
        "completion_tokens": reply.completion_tokens,
        "cost": cost_of_all(held) if held.tries > 1 else reply.cost,
    }


def ask_again(held: Claim, reply: Reply, why: str) -> None:
    """Close the attempt; the work is due at once, as what came could not be read."""
    with write():
        close(held, reply, why)
        held.write(status=Work.Status.PENDING, owner=None, lease_until=None, due=None, error=why)


def cost_of_all(held: Claim) -> Decimal | None:
    attempts = attempts_of_work(held.model, held.pk)
    unknown = attempts.filter(Q(http_status=None) | Q(http_status__lt=400), cost=None)
    return None if unknown.exists() else attempts.aggregate(all=Sum("cost"))["all"]


def may_try_again(kinds: Sequence[str], max_tries: int) -> bool:
    """Whether work whose attempts failed with these kinds, newest last, gets one more; all were worth a retry.

    Being told to come back later uses up a fifth of a try, so that a busy service fails nobody in a minute.
    """
    told_to_wait = sum(kind == ErrorKind.RATE_LIMITED for kind in kinds)
    empty = sum(kind in _EMPTY for kind in kinds)
    return empty < MAX_EMPTY and len(kinds) - told_to_wait < max_tries and len(kinds) < max_tries * PATIENCE


def another_try(held: Claim, error: CallError, max_tries: int, now: datetime) -> tuple[bool, datetime | None]:
    """Whether failed work is asked for again, and when. What the endpoint says of itself holds back everybody.

    To be called outside of a transaction that holds the work's row: the order of locks is run, endpoint, work.
    """
    if not error.retryable:
        return False, None
    kinds: list[str] = [error.kind]
    if held.tries > 1:
        earlier = attempts_of_work(held.model, held.pk).exclude(pk=held.attempt_pk).order_by("-pk")[: held.tries - 1]
        kinds = [*earlier.values_list("error_kind", flat=True), error.kind]
    return may_try_again(kinds, max_tries), after_failure(held.endpoint_pk, error, held.tries, now)
