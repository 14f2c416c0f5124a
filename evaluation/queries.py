"""Reads for the pages and the API: systems, judges, runs, one response with its verdicts.

Opens no write transaction. Lists load neither documents nor texts of responses, prompts or judges.
"""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

from django.contrib.auth.models import User
from django.db.models import Count, F, Q, QuerySet
from django.http import Http404

from annotation.benchmarks import Benchmark, get_benchmark_for
from annotation.document import Document, read_document
from annotation.drawing import Drawing, Mark, draw_checklist
from audit.releases import Release, ReleaseItem
from lhdr_site.endpoints.bodies import text_of_request
from lhdr_site.endpoints.models import Endpoint

from .marking import people_done
from .models import Attempt, Judge, Labelling, Response, Run, RunEvent, RunState, System, Tryout, Verdict, Work
from .permissions import may_manage_runs
from .scoring.judge_output import Verdict as ParsedVerdict
from .scoring.judge_output import parse_judge_output
from .scoring.metrics import ItemScores, StepCredit, credits, item_scores

Status = Work.Status
ACTIVE = (RunState.QUEUED, RunState.RUNNING, RunState.PAUSED)
OPEN = (Status.PENDING, Status.RUNNING)


# --- systems and judges -------------------------------------------------------------------------------------------


def systems_of(benchmark: Benchmark) -> QuerySet[System]:
    """Each also has `run_count`."""
    rows = System.objects.filter(benchmark=benchmark).select_related("endpoint", "created_by")
    return rows.annotate(run_count=Count("runs")).order_by("group", "name")


def tryouts_of(system: System) -> QuerySet[Tryout]:
    """The calls to see what it answers, newest first."""
    rows = Tryout.objects.filter(system=system).defer("release_item__document")
    return rows.select_related("release_item__item", "release_item__release", "requested_by", "endpoint")


def asked_systems_of(benchmark: Benchmark) -> QuerySet[System]:
    """Those that have an endpoint."""
    return System.objects.filter(benchmark=benchmark, endpoint__isnull=False).select_related("endpoint")


def judges_of(benchmark: Benchmark) -> QuerySet[Judge]:
    """Model judges first, then people; each also has `run_count`."""
    rows = Judge.objects.filter(benchmark=benchmark).select_related("endpoint", "created_by", "person")
    return rows.annotate(run_count=Count("runs")).order_by(F("person").asc(nulls_first=True), "name")


def model_judges_of(benchmark: Benchmark) -> QuerySet[Judge]:
    return Judge.objects.filter(benchmark=benchmark, endpoint__isnull=False).select_related("endpoint")


def releases_of(benchmark: Benchmark) -> QuerySet[Release]:
    return Release.objects.filter(benchmark=benchmark)


def judges_on(release: Release) -> QuerySet[Judge]:
    """The judges of a release's runs but people, and the people who marked everything of a plan on it."""
    asked = Q(runs__release=release, person=None) | Q(pk__in=people_done(release))
    return Judge.objects.filter(asked).select_related("endpoint").distinct()


def endpoints_of(run: Run) -> QuerySet[Endpoint]:
    """Where the run's system, its judges and who labels it answer."""
    judges = run.judges.exclude(endpoint=None).values("endpoint")
    labellers = run.label_plans.values("labeller__endpoint")
    return Endpoint.objects.filter(Q(pk=run.system.endpoint_id) | Q(pk__in=judges) | Q(pk__in=labellers))


def runs_held_back(endpoint: Endpoint, user: User) -> list[Run]:
    """Those that the endpoint's breaker stopped, of all benchmarks whose runs this person may manage."""
    rows = Run.objects.filter(state=RunState.STOPPED, stop__endpoint_id=endpoint.pk)
    runs = list(rows.select_related("benchmark").order_by("pk"))
    may = {benchmark: may_manage_runs(user, benchmark) for benchmark in {run.benchmark for run in runs}}
    return [run for run in runs if may[run.benchmark]]


def calls_under_way(endpoints: Iterable[Endpoint]) -> dict[int, int]:
    """Endpoint pk -> calls of runs and tryouts that go on at it, over all benchmarks."""
    counts: Counter[int] = Counter()
    for model in (Response, Verdict, Labelling, Tryout):
        rows = model._default_manager.filter(endpoint__in=list(endpoints), status=Status.RUNNING).order_by()
        counts.update(dict(rows.values_list("endpoint").annotate(n=Count("pk"))))
    return counts


# --- runs ---------------------------------------------------------------------------------------------------------


def runs_of(benchmark: Benchmark) -> QuerySet[Run]:
    rows = Run.objects.filter(benchmark=benchmark).order_by("-number")
    return rows.select_related("system__endpoint", "release", "main_judge__endpoint", "launched_by", "study")


def get_run_for(user: Any, slug: str, number: int) -> Run:
    """A run of a benchmark in which the user is a member. Raises Http404 for everybody else."""
    benchmark = get_benchmark_for(user, slug)
    run = runs_of(benchmark).filter(number=number).first()
    if run is None:
        raise Http404
    run.benchmark = benchmark
    return run


def status_counts(runs: Iterable[Run]) -> dict[int, dict[str, int]]:
    """Run pk -> how many of its responses stand in which status."""
    counts: dict[int, dict[str, int]] = {}
    rows = Response.objects.filter(run__in=list(runs)).order_by().values_list("run", "status").annotate(n=Count("pk"))
    for run, status, n in rows:
        counts.setdefault(run, {})[status] = n
    return counts


def verdict_outcome(status: str, answer_correct: bool | None, unparseable: str) -> str:
    """What a completed response came to (`progress.OUTCOMES`), from one verdict on it."""
    if status == Status.COMPLETED:
        return "unparseable" if answer_correct is None else "correct" if answer_correct else "wrong"
    if status == Status.FAILED:
        return "unparseable" if unparseable else "judge_failed"
    return "unjudged"


def run_events(run: Run, limit: int = 20) -> list[RunEvent]:
    return list(run.events.select_related("actor")[:limit])


# --- one response -------------------------------------------------------------------------------------------------


def get_response(run: Run, pk: int) -> Response:
    """With its release item and `item_number`. Raises Http404 when the run has no such response."""
    rows = Response.objects.filter(run=run).select_related("release_item", "anchor")
    response = rows.annotate(item_number=F("release_item__item__number")).filter(pk=pk).first()
    if response is None:
        raise Http404
    response.run = run
    return response


def carried_from(response: Response) -> Response | None:
    """The response of an earlier release that this one is a copy of, with its run and release."""
    rows = Response.objects.select_related("run__release").only("run__number", "run__release__name")
    return rows.filter(pk=response.carried_from_id).first() if response.carried_from_id else None


class Neighbours(NamedTuple):
    previous: int | None
    following: int | None
    place: int  # from 1
    total: int


def neighbours_of(response: Response) -> Neighbours:
    """The responses before and after it in its run, in the order of the release."""
    rows = Response.objects.filter(run=response.run_id).order_by("release_item__position", "sample")
    pks = list(rows.values_list("pk", flat=True))
    at = pks.index(response.pk)
    return Neighbours(pks[at - 1] if at else None, pks[at + 1] if at + 1 < len(pks) else None, at + 1, len(pks))


class StepRow(NamedTuple):
    number: int
    key: str
    conclusion: str
    modality: str | None
    effect: str | None
    stated: bool
    credit: str  # satisfied, blocked, missing
    blocked_by: tuple[int, ...]  # numbers of the missing steps it rests on


class Piece(NamedTuple):
    """A stretch of a judge's output; `read` where the parser took a value from it."""

    text: str
    read: bool


@dataclass(frozen=True)
class ShownVerdict:
    """One verdict on one response, with what follows from it."""

    verdict: Verdict
    document: Document
    is_main: bool

    @property
    def judge(self) -> Judge:
        return self.verdict.judge

    @property
    def outcome(self) -> str:
        return verdict_outcome(self.verdict.status, self.verdict.answer_correct, self.verdict.unparseable)

    @property
    def flags(self) -> list[tuple[str, list[int]]]:
        """Each flag with the steps it is about, where it is about some."""
        return [(flag, self.verdict.flagged_steps.get(flag, [])) for flag in self.verdict.flags]

    @property
    def is_readable(self) -> bool:
        """A vector and an answer that fit the checklist: only such a verdict can be scored."""
        vector = self.verdict.vector
        return self.verdict.answer_correct is not None and vector is not None and len(vector) == self.step_count

    @property
    def step_count(self) -> int:
        return len(self.document.checklist)

    @cached_property
    def _credits(self) -> list[StepCredit]:
        return credits(self.verdict.vector or (), self.document.prerequisite_positions())

    @cached_property
    def scores(self) -> ItemScores:
        """Only where `is_readable`."""
        vector, needs = self.verdict.vector or (), self.document.prerequisite_positions()
        return item_scores(vector, needs, bool(self.verdict.answer_correct))

    @property
    def stated_count(self) -> int:
        return sum(self.verdict.vector or ())

    @property
    def credited_count(self) -> int:
        return sum(credit.status == "satisfied" for credit in self._credits)

    @cached_property
    def steps(self) -> list[StepRow]:
        return [
            StepRow(
                number,
                step.key,
                step.conclusion,
                step.modality,
                step.effect,
                credit.status != "missing",
                credit.status,
                tuple(position + 1 for position in credit.blocked_by),
            )
            for number, (step, credit) in enumerate(zip(self.document.checklist, self._credits, strict=True), 1)
        ]

    @property
    def missing(self) -> list[int]:
        return [row.number for row in self.steps if row.credit == "missing"]

    @property
    def blocked(self) -> list[int]:
        return [row.number for row in self.steps if row.credit == "blocked"]

    @cached_property
    def drawing(self) -> Drawing:
        marks: dict[str, Mark] = {row.key: row.credit for row in self.steps}  # type: ignore[misc]
        return draw_checklist(self.document, marks, link=True)

    @cached_property
    def pieces(self) -> list[Piece]:
        """The judge's output, cut where the parser read its values; whole lines are marked."""
        text = self.verdict.output
        parsed = parse_judge_output(text, self.step_count) if text and self.step_count else None
        if not isinstance(parsed, ParsedVerdict):
            return [Piece(text, False)] if text else []
        pieces, at = [], 0
        for start, end in sorted(parsed.spans):
            pieces += [Piece(text[at:start], False), Piece(text[start:end], True)]
            at = end
        return [piece for piece in [*pieces, Piece(text[at:], False)] if piece.text]


def verdicts_on(response: Response, document: Document, main_judge: int) -> list[ShownVerdict]:
    """All verdicts on a response: the main judge's first, then other models', then people's."""
    rows = response.verdicts.select_related("judge__endpoint", "judge__person", "drift").order_by(
        "judge__name", "repeat"
    )
    shown = [ShownVerdict(row, document, row.judge_id == main_judge) for row in rows]
    return sorted(shown, key=lambda v: (not v.is_main, v.judge.person_id is not None))


REVEALED = "verdicts.revealed"  # an event with the response's pk, or None for all of the run


def has_seen_verdicts(user: Any, run: Run, response: Response | None = None) -> bool:
    """Whether the person had the others' verdicts shown, on this response or on the whole run."""
    of = Q(data__response=None) | Q(data__response=response.pk) if response else Q(data__response=None)
    return RunEvent.objects.filter(of, run=run, actor=user.pk, kind=REVEALED).exists()


def document_of(row: ReleaseItem) -> Document:
    return read_document(row.document)


class CompareRow(NamedTuple):
    """One judge's line beside the others: (mark, whether it is framed) for the answer and for each step."""

    shown: ShownVerdict
    is_selected: bool
    answer: tuple[bool, bool] | None
    steps: list[tuple[bool, bool]]


class Comparison(NamedTuple):
    rows: list[CompareRow]
    numbers: list[int]
    unanimous_answer: bool
    unanimous_steps: int
    readable: int
    flipping: list[str]  # judges whose own verdicts differ


def compare_verdicts(verdicts: Sequence[ShownVerdict], selected: ShownVerdict | None) -> Comparison:
    """The judges' marks side by side. A mark is framed where it differs from what most of the judges say, or, in a tie,
    from the selected judge."""
    readable = [v for v in verdicts if v.is_readable]
    columns: list[list[bool]] = [[bool(v.verdict.answer_correct), *map(bool, v.verdict.vector or ())] for v in readable]
    chosen = next((c for v, c in zip(readable, columns, strict=True) if v is selected), columns[0] if columns else [])
    usual = []
    for place, own in enumerate(chosen):
        votes = sum(column[place] for column in columns)
        usual.append(own if votes * 2 == len(columns) else votes * 2 > len(columns))
    marks = {
        id(v): [(m, m != u) for m, u in zip(c, usual, strict=True)] for v, c in zip(readable, columns, strict=True)
    }
    rows = [
        CompareRow(v, v is selected, marks[id(v)][0], marks[id(v)][1:])
        if id(v) in marks
        else CompareRow(v, v is selected, None, [])
        for v in verdicts
    ]
    alike = [len({column[place] for column in columns}) == 1 for place in range(len(chosen))]
    numbers = list(range(1, len(chosen)))
    said: dict[str, set[tuple[bool, ...]]] = {}
    for v, column in zip(readable, columns, strict=True):
        said.setdefault(v.judge.name, set()).add(tuple(column))
    flipping = [name for name, several in said.items() if len(several) > 1]
    return Comparison(rows, numbers, bool(alike and alike[0]), sum(alike[1:]), len(readable), flipping)


def attempts_of(work: Any) -> list[Attempt]:
    """Its requests in order, without what was sent and what came; each has `took`."""
    rows = work.attempts.defer("request", "body")
    return list(rows.annotate(took=F("ended") - F("started")))


def last_attempt_of(work: Any) -> Attempt | None:
    """The latest request with what was sent (image bytes replaced by their hash) and what came."""
    return work.attempts.order_by("-pk").first()


def prompt_of(verdict: Verdict) -> str:
    """The text that the judge was sent last; empty for a person's verdict and before the first request."""
    attempt = last_attempt_of(verdict)
    return text_of_request(attempt.request) if attempt and isinstance(attempt.request, dict) else ""
