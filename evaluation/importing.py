"""Responses and verdicts from files: read, matched with a release or a run, and written as a run of their own.

The page, the API and the commands use it. Reading writes nothing and says row by row what is refused; the writes are
like those of `actions`. What came from a file is never claimed by a worker and never asked again.
"""

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass, field
from hashlib import sha256
from pathlib import Path
from typing import Any, BinaryIO

from django.contrib.auth.models import User
from django.db import transaction
from django.db.models import Max
from django.utils import timezone
from django.utils.translation import gettext as _

from annotation.benchmarks import Benchmark
from annotation.document import Document, read_document
from annotation.interchange import export_order
from audit.releases import Release, ReleaseItem
from lhdr_site.endpoints.errors import ErrorKind
from lhdr_site.shared.errors import Conflict, Invalid

from .actions import create_system, require_thawed
from .interchange import (
    ReadFile,
    ResponseRow,
    VerdictRow,
    match_responses,
    match_verdicts,
    read_responses,
    read_verdicts,
    reporting_to,
)
from .interchange.rows import KnownItem, by_id
from .models import Judge, Response, Run, RunEvent, RunState, System, Verdict, Work
from .permissions import may_manage_runs
from .prompts import verdict_identity
from .steps import judge_facts, signs_in

Status = Work.Status
Source = str | Path | BinaryIO
_AT_ONCE = 500


@dataclass
class Incoming:
    """What a file of responses would bring into a release: its rows with the items they answer, and what is refused."""

    release: Release
    format: str = ""
    condition: str = ""
    model: str = ""
    matched: list[tuple[ResponseRow, KnownItem]] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)

    @property
    def failed(self) -> int:
        return sum(row.failed for row, _item in self.matched)

    @property
    def items(self) -> int:
        return len({item.uid for _row, item in self.matched})

    @property
    def lacking(self) -> int:
        """Items of the release without a row: with any, the run is a trial."""
        return self.release.item_count - self.items

    @property
    def samples(self) -> int:
        return max((row.sample for row, _item in self.matched), default=1)

    @property
    def digest(self) -> str:
        """Of what comes in, whatever the file looks like."""
        rows = sorted((item.uid, row.sample, {**asdict(row), "row": 0, "id": ""}) for row, item in self.matched)
        return sha256(json.dumps([self.condition, rows], default=str).encode()).hexdigest()


@dataclass
class IncomingVerdicts:
    """What a file of verdicts would bring into a run; `known` of its rows are there already."""

    run: Run
    format: str = ""
    rows: list[tuple[VerdictRow, KnownItem, list[int] | None, str]] = field(
        default_factory=list
    )  # with the judge's name
    known: int = 0
    problems: list[str] = field(default_factory=list)

    @property
    def judges(self) -> list[str]:
        return sorted({name for *_rest, name in self.rows})


# --- reading ------------------------------------------------------------------------------------------------------


def _items(rows: Iterable[ReleaseItem]) -> Iterator[KnownItem]:
    for row in rows:
        document: dict[str, Any] = row.document
        extra = document["extra"]
        foreign = extra.get("mm_browsecomp")
        others = [extra.get("imported_id"), foreign.get("id") if isinstance(foreign, dict) else None]
        aliases = [str(other) for other in others if other not in (None, "")]
        yield KnownItem(row.pk, row.uid, document["question"], export_order(document), aliases)


def _known(release: Release) -> dict[str, KnownItem]:
    rows = ReleaseItem.objects.filter(release=release).only("uid", "document")
    return by_id(_items(rows.iterator(chunk_size=200)))


def read_response_file(release: Release, source: Source, format: str = "auto", condition: str = "") -> Incoming:
    """Writes nothing. A file is one model under one condition: that asked for, else that of its first row. Who did not
    answer may have another name, as what was asked for can be called otherwise than what answers."""
    read: ReadFile = read_responses(source, format)
    incoming = Incoming(release, read.format, problems=read.problems)
    report = reporting_to(incoming.problems)
    incoming.condition = condition or next((row.condition for row in read.rows if row.condition), "with_image")
    named = sorted((row for row in read.rows if row.model), key=lambda row: row.failed)
    incoming.model = named[0].model if named else ""
    fitting = []
    for row in read.rows:
        if row.condition not in ("", incoming.condition):
            report(row.row, "condition", f"is {row.condition}, the import {incoming.condition}; import each by itself")
        elif row.model not in ("", incoming.model) and not row.failed:
            text = f"{row.model[:80]!r} is not {incoming.model[:80]!r}, which answered before; import each by itself"
            report(row.row, "model", text)
        else:
            fitting.append(row)
    incoming.matched = match_responses(fitting, _known(release), report)
    return incoming


def read_verdict_file(run: Run, source: Source, format: str = "auto", judge: str = "") -> IncomingVerdicts:
    """Writes nothing. judge: whose verdicts they are, whatever the rows say.

    A name that stands for a judge of the Workbench itself gets “(imported)” after it: what comes from a file is never
    shown as given here.
    """
    read: ReadFile = read_verdicts(source, format)
    incoming = IncomingVerdicts(run, read.format, problems=read.problems)
    report = reporting_to(incoming.problems)
    responses = {
        (item, sample): pk
        for item, sample, pk in run.responses.filter(status=Status.COMPLETED).values_list(
            "release_item", "sample", "pk"
        )
    }
    ours = set(Judge.objects.filter(benchmark=run.benchmark_id).exclude(endpoint=None, person=None).values_list("name"))
    given = {
        (response, name, repeat): (correct, vector)
        for response, name, repeat, correct, vector in run.verdicts.filter(
            judge__endpoint=None, judge__person=None
        ).values_list("response", "judge__name", "repeat", "answer_correct", "vector")
    }
    for row, item, marks in match_verdicts(read.rows, _known(run.release), report):
        name = (judge or row.judge)[:80]
        if (name,) in ours:
            name = f"{name[:69]} (imported)"
        response = responses.get((item.key, row.sample))
        if not name:
            report(row.row, "judge", "is missing; name the judge of the file")
        elif response is None:
            report(row.row, "id", f"the run has no completed response for {row.id[:80]!r}, sample {row.sample}")
        elif (response, name, row.repeat) not in given:
            incoming.rows.append((row, item, marks, name))
        elif given[response, name, row.repeat] == (row.answer_correct, marks):
            incoming.known += 1
        else:
            report(row.row, "judge", f"{name!r} gave another verdict on {row.id[:80]!r} already; none is overwritten")
    return incoming


# --- writing ------------------------------------------------------------------------------------------------------


@transaction.atomic
def import_responses(
    incoming: Incoming,
    system: System | Mapping[str, Any],
    *,
    actor: User,
    judge: Judge | None = None,
    judge_elsewhere: str = "",
    note: str = "",
    file_name: str = "",
) -> tuple[Run, bool]:
    """A finished run with these responses, and True; or the run that these very rows made before, and False.

    system: one of the benchmark, or name, group and family of a new one, whose answers come from files. judge: whose
    verdicts the results show first; or a name, of a judge whose verdicts come from files as well.
    """
    release = incoming.release
    benchmark = Benchmark.objects.select_for_update(no_key=True).get(pk=release.benchmark_id)
    may_manage_runs(actor, benchmark).require()
    if not incoming.matched:
        raise Invalid.at("file", _("No row of the file answers an item of the release."), code="nothing_matched")
    if not isinstance(system, System):
        name = str(system.get("name") or "")
        found = System.objects.filter(benchmark=benchmark, name=name).first()
        model = incoming.model or name[:200]
        system = found or create_system(benchmark, {**system, "endpoint": None, "model": model}, actor=actor)
    if system.benchmark_id != benchmark.pk:
        raise Invalid.at("system", _("%s belongs to another benchmark.") % system)
    runs = Run.objects.filter(release=release, system=system, condition=incoming.condition)
    if known := runs.filter(imported=incoming.digest).first():
        return known, False
    now = timezone.now()
    run = Run.objects.create(
        benchmark=benchmark,
        number=(benchmark.runs.aggregate(last=Max("number"))["last"] or 0) + 1,
        release=release,
        system=system,
        condition=incoming.condition,
        main_judge=_main_judge(benchmark, judge, judge_elsewhere, actor),
        samples=incoming.samples,
        is_trial=incoming.lacking > 0,
        imported=incoming.digest,
        state=RunState.FINISHED,
        note=note,
        item_count=release.item_count,
        launched_by=actor,
        ended=now,
    )
    for start in range(0, len(incoming.matched), _AT_ONCE):
        part = incoming.matched[start : start + _AT_ONCE]
        items = ReleaseItem.objects.filter(pk__in={item.key for _row, item in part}).values_list("pk", "document")
        documents = {pk: read_document(document) for pk, document in items}
        Response.objects.bulk_create(_response(run, row, item.key, documents[item.key], now) for row, item in part)
    facts = {"items": incoming.items, "responses": len(incoming.matched), "file": file_name, "format": incoming.format}
    RunEvent.objects.create(run=run, actor=actor, kind="run.imported", data=facts)
    return run, True


def _main_judge(benchmark: Benchmark, judge: Judge | None, elsewhere: str, actor: User) -> Judge:
    if judge is None and elsewhere.strip():
        return _elsewhere(benchmark, elsewhere.strip(), actor)
    if judge is None:
        judges = list(Judge.objects.filter(benchmark=benchmark, person=None)[:2])
        if len(judges) == 1:
            return judges[0]
        raise Invalid.at("judge", _("Choose the judge whose verdicts the results show first."))
    if judge.benchmark_id != benchmark.pk:
        raise Invalid.at("judge", _("%s belongs to another benchmark.") % judge)
    if judge.person_id:
        raise Invalid.at("judge", _("%s is a person; choose another main judge.") % judge)
    return judge


def _elsewhere(benchmark: Benchmark, name: str, actor: User) -> Judge:
    """The judge of that name whose verdicts come from files. Raises Invalid where the name stands for another one."""
    judge = Judge.objects.filter(benchmark=benchmark, name=name).first()
    if judge is None:
        return Judge.objects.create(benchmark=benchmark, name=name[:80], created_by=actor)
    if judge.endpoint_id or judge.person_id:
        raise Invalid.at(
            "judge", _("%s is a judge of the Workbench itself; give the judge elsewhere another name.") % name
        )
    return judge


def _response(run: Run, row: ResponseRow, item_pk: int, document: Document, now: Any) -> Response:
    kind = row.error_kind if row.error_kind in list(ErrorKind) else "" if row.error else ErrorKind.EMPTY
    return Response(
        run=run,
        release_item_id=item_pk,
        sample=row.sample,
        status=Status.FAILED if row.failed else Status.COMPLETED,
        text=row.text,
        error=row.error,
        error_kind=kind if row.failed else "",
        thinking=row.thinking,
        citations=[dict(citation) for citation in row.citations],
        truncated=row.truncated,
        finish_reason=row.finish_reason,
        prompt_tokens=row.prompt_tokens,
        completion_tokens=row.completion_tokens,
        cost=row.cost,
        returned_model=row.model,
        flags=[] if row.failed else signs_in(row, run, document),
        ended=now,
    )


@transaction.atomic
def import_verdicts(incoming: IncomingVerdicts, *, actor: User, file_name: str = "") -> int:
    """The verdicts of judges elsewhere on the run's responses; how many. The same file again changes nothing."""
    run = Run.objects.select_for_update(of=("self",)).select_related("benchmark", "study").get(pk=incoming.run.pk)
    may_manage_runs(actor, run.benchmark).require()
    require_thawed(run.study)
    if run.state != RunState.FINISHED:
        text = _("The run is %(state)s; verdicts come in when it is finished.")
        raise Conflict(text % {"state": run.get_state_display()}, state=run.state)
    if not incoming.rows:
        if incoming.known:
            return 0
        raise Invalid.at("file", _("No row of the file is a verdict on an answer of the run."), code="nothing_matched")
    judges = {name: _elsewhere(run.benchmark, name, actor) for name in incoming.judges}
    now = timezone.now()
    for start in range(0, len(incoming.rows), _AT_ONCE):
        rows = incoming.rows[start : start + _AT_ONCE]
        wanted = run.responses.filter(release_item__in={item.key for _row, item, *_rest in rows})
        responses = {(r.release_item_id, r.sample): r for r in wanted.select_related("release_item")}
        verdicts = []
        for row, item, marks, name in rows:
            response = responses[item.key, row.sample]
            document = read_document(response.release_item.document)
            verdicts.append(
                Verdict(
                    run=run,
                    response=response,
                    judge=judges[name],
                    repeat=row.repeat,
                    status=Status.COMPLETED,
                    identity=verdict_identity(judge_facts(judges[name]), document, response.text),
                    answer_correct=row.answer_correct,
                    vector=marks,
                    unparseable=row.unparseable,
                    output=row.output,
                    flags=list(row.flags),
                    note=row.note,
                    blind=row.blind,
                    ended=now,
                )
            )
        Verdict.objects.bulk_create(verdicts)
    run.judges.add(*judges.values())
    run.repeats = max([run.repeats, *(row.repeat for row, *_rest in incoming.rows)])
    run.ended = now  # stored figures go by it
    run.save(update_fields=["repeats", "ended"])
    facts = {"verdicts": len(incoming.rows), "judge": ", ".join(incoming.judges), "file": file_name}
    RunEvent.objects.create(run=run, actor=actor, kind="verdicts.imported", data=facts)
    return len(incoming.rows)
