"""Reads for the pages and the API: systems, judges, runs with their progress, one response with its verdicts.

Opens no write transaction. Lists load neither documents nor texts of responses, prompts or judges.
"""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from decimal import Decimal
from functools import cached_property
from statistics import median
from typing import Any, NamedTuple

from django.db.models import Count, F, Q, QuerySet, Sum
from django.http import Http404
from django.utils import timezone

from annotation.benchmarks import Benchmark, get_benchmark_for
from annotation.document import Document, read_document
from annotation.drawing import Drawing, Mark, draw_checklist
from audit.releases import Release, ReleaseItem

from .models import Attempt, Judge, Response, Run, RunEvent, RunState, System, Verdict, Work
from .scoring.judge_output import Verdict as ParsedVerdict
from .scoring.judge_output import parse_judge_output
from .scoring.metrics import ItemScores, StepCredit, credits, item_scores

Status = Work.Status
ACTIVE = (RunState.QUEUED, RunState.RUNNING, RunState.PAUSED)
OPEN = (Status.PENDING, Status.RUNNING)
RATE_WINDOW = timedelta(minutes=10)

# What an item of a run came to, in the order in which pages list them.
OUTCOMES = (
    "correct",
    "wrong",
    "unparseable",
    "judge_failed",
    "unjudged",
    "failed",
    "running",
    "pending",
    "cancelled",
)


# --- systems and judges -------------------------------------------------------------------------------------------


def systems_of(benchmark: Benchmark) -> QuerySet[System]:
    """Each also has `run_count`."""
    rows = System.objects.filter(benchmark=benchmark).select_related("endpoint", "created_by")
    return rows.annotate(run_count=Count("runs")).order_by("group", "name")


def judges_of(benchmark: Benchmark) -> QuerySet[Judge]:
    """Model judges first, then people; each also has `run_count`."""
    rows = Judge.objects.filter(benchmark=benchmark).select_related("endpoint", "created_by", "person")
    return rows.annotate(run_count=Count("runs")).order_by(F("person").asc(nulls_first=True), "name")


def model_judges_of(benchmark: Benchmark) -> QuerySet[Judge]:
    return Judge.objects.filter(benchmark=benchmark, endpoint__isnull=False).select_related("endpoint")


def releases_of(benchmark: Benchmark) -> QuerySet[Release]:
    return Release.objects.filter(benchmark=benchmark)


def judges_on(release: Release) -> QuerySet[Judge]:
    """The model judges of a release's runs."""
    return Judge.objects.filter(runs__release=release, endpoint__isnull=False).select_related("endpoint").distinct()


# --- runs ---------------------------------------------------------------------------------------------------------


def runs_of(benchmark: Benchmark) -> QuerySet[Run]:
    rows = Run.objects.filter(benchmark=benchmark).order_by("-number")
    return rows.select_related("system__endpoint", "release", "main_judge__endpoint", "launched_by")


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


class Cell(NamedTuple):
    """One response of a run as grids and tables show it."""

    pk: int
    number: int  # of the item in the benchmark
    sample: int
    status: str
    truncated: bool
    error_kind: str
    tries: int
    cost: Decimal | None
    prompt_tokens: int | None
    completion_tokens: int | None
    ended: datetime | None
    outcome: str  # one of OUTCOMES
    stated: int | None  # steps that the main judge found stated, of `steps`
    steps: int | None

    @property
    def all_tokens(self) -> int:
        return (self.prompt_tokens or 0) + (self.completion_tokens or 0)


class JudgeProgress(NamedTuple):
    judge: Judge
    is_main: bool
    done: int
    open: int
    failed: int
    unparseable: int


class ErrorRow(NamedTuple):
    """One kind of error: attempts that ended so, and the items that stayed failed by it."""

    kind: str
    attempts: int
    failed: list[Cell]
    judge_attempts: int

    @property
    def calls(self) -> int:
        return self.attempts + self.judge_attempts


def verdict_outcome(status: str, answer_correct: bool | None, unparseable: str) -> str:
    """One of OUTCOMES for a completed response, from one verdict on it."""
    if status == Status.COMPLETED:
        return "unparseable" if answer_correct is None else "correct" if answer_correct else "wrong"
    if status == Status.FAILED:
        return "unparseable" if unparseable else "judge_failed"
    return "unjudged"


class Progress:
    """Everything that a run's page shows of its state, read in seven queries whatever its size."""

    def __init__(self, run: Run, now: datetime | None = None):
        self.run = run
        self.now = now or timezone.now()
        verdicts = Verdict.objects.filter(run=run, judge=run.main_judge).order_by("repeat")
        judged = {
            response: (verdict_outcome(status, correct, unparseable), vector)
            for response, status, correct, unparseable, vector in verdicts.values_list(
                "response", "status", "answer_correct", "unparseable", "vector"
            )
        }
        rows = run.responses.order_by("release_item__position", "sample").values_list(
            "pk",
            "release_item__item__number",
            "sample",
            "status",
            "truncated",
            "error_kind",
            "tries",
            "cost",
            "prompt_tokens",
            "completion_tokens",
            "ended",
        )
        self.cells: list[Cell] = []
        for row in rows:
            pk, status = row[0], row[3]
            outcome, vector = judged.get(pk, ("unjudged", None)) if status == Status.COMPLETED else (status, None)
            stated, steps = (None, None) if vector is None else (sum(vector), len(vector))
            self.cells.append(Cell(*row, outcome, stated, steps))

    @property
    def total(self) -> int:
        return len(self.cells)

    @cached_property
    def statuses(self) -> dict[str, int]:
        counts = Counter(cell.status for cell in self.cells)
        return {status: counts[status] for status in ("completed", "failed", "running", "pending", "cancelled")}

    @cached_property
    def outcomes(self) -> dict[str, int]:
        """Only those that occur, in the order of OUTCOMES."""
        counts = Counter(cell.outcome for cell in self.cells)
        return {outcome: counts[outcome] for outcome in OUTCOMES if counts[outcome]}

    @property
    def truncated(self) -> int:
        return sum(cell.truncated for cell in self.cells)

    @property
    def done(self) -> int:
        return self.statuses["completed"] + self.statuses["failed"]

    @property
    def done_share(self) -> float:
        return self.done / self.total if self.total else 0.0

    @property
    def open(self) -> int:
        return self.statuses["running"] + self.statuses["pending"]

    @property
    def failures(self) -> int:
        """Responses and verdicts that failed and may be tried again."""
        return self.statuses["failed"] + sum(row.failed for row in self.judges)

    @property
    def judged_by_main(self) -> int:
        """Verdicts of the main judge that came, readable or not."""
        return sum(row.done for row in self.judges if row.is_main)

    @cached_property
    def judges(self) -> list[JudgeProgress]:
        rows = (
            Verdict.objects.filter(run=self.run)
            .order_by()
            .values("judge", "status")
            .annotate(n=Count("pk"), unparseable=Count("pk", filter=~Q(unparseable="")))
        )
        counts: dict[int, Counter[str]] = {}
        for row in rows:
            count = counts.setdefault(row["judge"], Counter())
            count[row["status"]] += row["n"]
            count["unparseable"] += row["unparseable"] if row["status"] not in OPEN else 0
        shown = []
        for judge in self.run.judges.select_related("endpoint"):
            count = counts.get(judge.pk, Counter())
            shown.append(
                JudgeProgress(
                    judge,
                    judge.pk == self.run.main_judge_id,
                    count[Status.COMPLETED],
                    count[Status.PENDING] + count[Status.RUNNING],
                    count[Status.FAILED],
                    count["unparseable"],
                )
            )
        return sorted(shown, key=lambda row: not row.is_main)

    @property
    def is_active(self) -> bool:
        """Whether anything may still change by itself."""
        return self.run.state in ACTIVE or self.statuses["running"] > 0

    # -- money, tokens, pace --

    @cached_property
    def _judge_tokens(self) -> dict[str, Any]:
        return Verdict.objects.filter(run=self.run).aggregate(
            prompt=Sum("prompt_tokens"), completion=Sum("completion_tokens")
        )

    @property
    def expected(self) -> Decimal | None:
        """Known cost at the end if the rest costs as much as what is done."""
        return self.run.spent / self.done * self.total if self.done and self.open else None

    @property
    def prompt_tokens(self) -> int:
        return sum(cell.prompt_tokens or 0 for cell in self.cells) + (self._judge_tokens["prompt"] or 0)

    @property
    def completion_tokens(self) -> int:
        return sum(cell.completion_tokens or 0 for cell in self.cells) + (self._judge_tokens["completion"] or 0)

    @property
    def all_tokens(self) -> int:
        return self.prompt_tokens + self.completion_tokens

    @property
    def median_cost(self) -> Decimal | None:
        costs = [cell.cost for cell in self.cells if cell.cost is not None]
        return median(costs) if costs else None

    @cached_property
    def per_minute(self) -> float | None:
        """Responses that ended in the last ten minutes (or since the start), a minute; None where nothing ended."""
        if self.run.started is None:
            return None
        since = max(self.run.started, self.now - RATE_WINDOW)
        ended = sum(cell.ended is not None and cell.ended >= since for cell in self.cells)
        minutes = (self.now - since).total_seconds() / 60
        return ended / minutes if ended and minutes > 0 else None

    @property
    def time_left(self) -> timedelta | None:
        if self.run.state != RunState.RUNNING or not self.open or not self.per_minute:
            return None
        return timedelta(minutes=self.open / self.per_minute)

    @property
    def ends_near(self) -> datetime | None:
        return timezone.localtime(self.now + self.time_left) if self.time_left is not None else None

    @property
    def took(self) -> timedelta | None:
        return self.run.ended - self.run.started if self.run.ended and self.run.started else None

    # -- so far --

    @property
    def correct(self) -> int:
        return self.outcomes.get("correct", 0)

    @property
    def judged(self) -> int:
        return self.correct + self.outcomes.get("wrong", 0)

    @property
    def stated(self) -> tuple[int, int]:
        """Steps stated, of the steps of the judged items."""
        pairs = [(cell.stated, cell.steps) for cell in self.cells if cell.steps]
        return sum(stated or 0 for stated, _ in pairs), sum(steps or 0 for _, steps in pairs)

    @cached_property
    def errors(self) -> list[ErrorRow]:
        """Kinds of errors, the most frequent first, of answering and of judging."""

        def counted(**of: Any) -> dict[str, int]:
            rows = Attempt.objects.filter(**of).exclude(error_kind="").order_by().values_list("error_kind")
            return dict(rows.annotate(n=Count("pk")))

        attempts, judging = counted(response__run=self.run), counted(verdict__response__run=self.run)
        failed: dict[str, list[Cell]] = {}
        for cell in self.cells:
            if cell.status == Status.FAILED:
                failed.setdefault(cell.error_kind or "unknown", []).append(cell)
        kinds = {*attempts, *judging, *failed}
        rows = [ErrorRow(k, attempts.get(k, 0), failed.get(k, []), judging.get(k, 0)) for k in kinds]
        return sorted(rows, key=lambda row: (-row.calls, -len(row.failed), row.kind))

    def filtered(self, show: str) -> list[Cell]:
        """The cells of one outcome, or of `truncated`; all for anything else."""
        if show == "truncated":
            return [cell for cell in self.cells if cell.truncated]
        return [cell for cell in self.cells if cell.outcome == show] if show in OUTCOMES else self.cells


def run_events(run: Run, limit: int = 20) -> list[RunEvent]:
    return list(run.events.select_related("actor")[:limit])


# --- one response -------------------------------------------------------------------------------------------------


def get_response(run: Run, pk: int) -> Response:
    """With its release item and `item_number`. Raises Http404 when the run has no such response."""
    rows = Response.objects.filter(run=run).select_related("release_item")
    response = rows.annotate(item_number=F("release_item__item__number")).filter(pk=pk).first()
    if response is None:
        raise Http404
    response.run = run
    return response


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
    rows = response.verdicts.select_related("judge__endpoint", "judge__person").order_by("judge__name", "repeat")
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
    return Comparison(rows, numbers, bool(alike and alike[0]), sum(alike[1:]), len(readable))


def attempts_of(work: Response | Verdict) -> list[Attempt]:
    """Its requests in order, without what was sent and what came; each has `took`."""
    rows = work.attempts.defer("request", "body")
    return list(rows.annotate(took=F("ended") - F("started")))


def last_attempt_of(work: Response | Verdict) -> Attempt | None:
    """The latest request with what was sent (image bytes replaced by their hash) and what came."""
    return work.attempts.order_by("-pk").first()


def prompt_of(verdict: Verdict) -> str:
    """The text that the judge was sent last; empty for a person's verdict and before the first request."""
    attempt = last_attempt_of(verdict)
    messages = attempt.request.get("messages") if attempt and isinstance(attempt.request, dict) else None
    content = messages[0].get("content") if messages else ""
    if isinstance(content, str):
        return content
    return "\n\n".join(part["text"] for part in content if isinstance(part, dict) and "text" in part)
