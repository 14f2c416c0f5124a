"""Carry-over: what a run on a new release need not ask, because the same was asked and answered on an earlier one.

A response is copied when the request would be the same (`attempts.hash_of_request`), a verdict when all that it depends
on is (`prompts.verdict_identity`). Both name the row that was paid for. Inside the caller's transaction.
"""

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Sequence
from itertools import islice
from typing import Any, NamedTuple

from django.db.models import Q, prefetch_related_objects

from annotation.document import read_document
from audit.releases import ReleaseItem

from .attempts import hash_of_request
from .models import Judge, Response, Run, Verdict, Work
from .prompts import cut_response, verdict_identity
from .steps import judge_facts

Status = Work.Status
_AT_ONCE = 500
_OF_RESPONSE = (
    "text", "thinking", "citations", "truncated", "finish_reason", "prompt_tokens", "completion_tokens", "cost",
    "flags", "returned_model", "request_hash", "ended",
)  # fmt: skip
_OF_VERDICT = (
    "repeat", "identity", "output", "answer_correct", "vector", "flags", "flagged_steps", "unparseable", "blind",
    "note", "prompt_tokens", "completion_tokens", "cost", "returned_model", "ended",
)  # fmt: skip


class _Asked(NamedTuple):
    uid: str
    sample: int
    request_hash: str


def carried_responses(run: Run, item_pks: Sequence[int]) -> dict[tuple[int, int], Response]:
    """(release item, sample) -> an unsaved copy of the newest completed response to the same request.

    Looked for among the same system's and condition's runs on earlier releases.
    """
    earlier = Response.objects.filter(
        run__system=run.system, run__condition=run.condition, run__release__lt=run.release_id, status=Status.COMPLETED
    ).exclude(request_hash="")
    rows = earlier.order_by("pk").values_list("release_item__uid", "sample", "request_hash", "pk")
    newest = {_Asked(uid, sample, asked): pk for uid, sample, asked, pk in rows if sample <= run.samples}
    if not newest:
        return {}
    found: dict[int, tuple[int, int]] = {}
    items = ReleaseItem.objects.filter(pk__in=item_pks) if len(item_pks) < _AT_ONCE else run.release.release_items.all()
    wanted = set(item_pks)
    for item in items.only("release", "uid", "document").iterator(chunk_size=200):
        asked = hash_of_request(run.system, read_document(item.document), run.condition)
        for sample in range(1, run.samples + 1):
            source = newest.get(_Asked(item.uid, sample, asked))
            if source and item.pk in wanted:
                found[source] = (item.pk, sample)
    copies = {}
    for pks in _chunks(found):
        for row in Response.objects.filter(pk__in=pks):
            item_pk, sample = found[row.pk]
            kept = {name: getattr(row, name) for name in _OF_RESPONSE}
            copies[item_pk, sample] = Response(
                run=run,
                release_item_id=item_pk,
                sample=sample,
                endpoint_id=run.system.endpoint_id,
                status=Status.COMPLETED,
                carried_from_id=row.carried_from_id or row.pk,
                **kept,
            )
    return copies


def carry_verdicts(run: Run) -> int:
    """Copy to the run's carried responses the verdicts that would be the same: of its judges, of people, of judges
    whose verdicts came from files; how many."""
    judges = list(run.judges.values_list("pk", flat=True))
    count = 0
    for rows in _chunks(run.responses.exclude(carried_from=None).select_related("release_item").order_by("pk")):
        copies = [_copy(verdict, run, response) for response, verdict in _same_verdicts(rows, judges, run.repeats)]
        Verdict.objects.bulk_create(copies, batch_size=_AT_ONCE)
        count += len(copies)
    return count


def count_carried(run: Run, item_pks: Sequence[int], judges: Collection[Judge]) -> tuple[int, Counter[int]]:
    """How many answers a launch of this unsaved run would carry over, and how many verdicts of these judges, by judge;
    reads only."""
    responses = list(carried_responses(run, item_pks).values())
    verdicts: Counter[int] = Counter()
    pks = [judge.pk for judge in judges]
    for rows in _chunks(responses):
        prefetch_related_objects(rows, "release_item")
        verdicts.update(verdict.judge_id for _response, verdict in _same_verdicts(rows, pks, run.repeats))
    return len(responses), Counter({pk: verdicts[pk] for pk in pks})


def _same_verdicts(
    rows: Sequence[Response], judges: Collection[int], repeats: int
) -> Iterator[tuple[Response, Verdict]]:
    """Of carried responses, each with a verdict that would be the same."""
    known: dict[int, dict[tuple[int, int, str], Verdict]] = {}  # by the response that was paid for
    roots = [row.carried_from_id for row in rows]
    of_them = Q(response__in=roots) | Q(response__carried_from__in=roots)
    given = Verdict.objects.filter(of_them, status=Status.COMPLETED, repeat__lte=repeats, drift=None)
    asked_here = Q(judge__in=judges) | Q(judge__endpoint=None)
    given = given.filter(asked_here).exclude(identity="").select_related("judge__endpoint", "response").order_by("pk")
    for verdict in given:
        root = verdict.response.carried_from_id or verdict.response_id
        known.setdefault(root, {})[verdict.judge_id, verdict.repeat, verdict.identity] = verdict
    for response in rows:
        document = read_document(response.release_item.document)
        same: dict[int, str] = {}
        for (judge_pk, _repeat, identity), verdict in known.get(response.carried_from_id or 0, {}).items():
            if judge_pk not in same:
                same[judge_pk] = _identity(verdict.judge, document, response.text)
            if same[judge_pk] == identity:
                yield response, verdict


def _identity(judge: Judge, document: Any, text: str) -> str:
    return verdict_identity(judge_facts(judge), document, cut_response(text, judge.max_response_chars)[0])


def _copy(verdict: Verdict, run: Run, response: Response) -> Verdict:
    return Verdict(
        run=run,
        response=response,
        judge=verdict.judge,
        endpoint_id=verdict.judge.endpoint_id,
        status=Status.COMPLETED,
        carried_from_id=verdict.carried_from_id or verdict.pk,
        **{name: getattr(verdict, name) for name in _OF_VERDICT},
    )


def _chunks(rows: Iterable[Any]) -> Iterator[list[Any]]:
    left = iter(rows)
    while chunk := list(islice(left, _AT_ONCE)):
        yield chunk
