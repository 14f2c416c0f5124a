"""Where a run stands: counts, pace, money and errors, and its responses by the page. Counted in the database, so that a
run of 10,000 is looked at as quickly as one of 100."""

from collections import Counter
from dataclasses import dataclass
from datetime import datetime, timedelta
from decimal import Decimal
from functools import cached_property
from typing import Any, NamedTuple

from django.db.models import (
    Case,
    CharField,
    Count,
    F,
    FilteredRelation,
    Q,
    QuerySet,
    Sum,
    TextField,
    Value,
    When,
    Window,
)
from django.db.models.functions import Cast, Length, Replace, RowNumber
from django.utils import timezone

from .judging import Flips, flagged_responses, flips_of
from .labels import LabellerProgress, label_progress
from .model_queries import ModelRow, models_of
from .models import Attempt, Judge, Run, RunState, Verdict, Work
from .queries import ACTIVE, OPEN

Status = Work.Status
RATE_WINDOW = timedelta(minutes=10)
ITEMS_NAMED = 8  # of those that failed by one kind of error
UNKNOWN = "unknown"  # a failure without a kind

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
_COMPLETED = OUTCOMES[:5]
_STATUSES = (Status.COMPLETED, Status.FAILED, Status.RUNNING, Status.PENDING, Status.CANCELLED)


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
    returned_model: str
    carried_from: int | None  # the response of an earlier release that it is a copy of
    outcome: str  # one of OUTCOMES
    vector: list[int] | None  # of the main judge's verdict

    @property
    def all_tokens(self) -> int:
        return (self.prompt_tokens or 0) + (self.completion_tokens or 0)

    @property
    def stated(self) -> int:
        return sum(self.vector or ())

    @property
    def steps(self) -> int:
        return len(self.vector or ())


class JudgeProgress(NamedTuple):
    judge: Judge
    is_main: bool
    done: int
    open: int
    failed: int
    unparseable: int
    flips: Flips | None  # None where it gave one verdict on each response


@dataclass
class ErrorRow:
    """One kind of error: attempts that ended so, of answers, verdicts and labels, and what stayed failed by it."""

    kind: str
    attempts: int = 0
    judge_attempts: int = 0
    failed: int = 0  # responses
    judge_failed: int = 0  # verdicts
    label_attempts: int = 0
    label_failed: int = 0  # labellings
    named: tuple[tuple[int, int], ...] = ()  # (pk, item number) of the first failed responses

    @property
    def calls(self) -> int:
        return self.attempts + self.judge_attempts + self.label_attempts

    @property
    def again(self) -> int:
        """What can be tried again."""
        return self.failed + self.judge_failed + self.label_failed


def _with_outcome(run: Run) -> QuerySet[Any, Any]:
    """The run's responses, each with `outcome` by the main judge's first verdict, which is joined as `main`."""
    main = Q(verdicts__judge=run.main_judge_id, verdicts__repeat=1)
    rows: QuerySet[Any, Any] = run.responses.annotate(main=FilteredRelation("verdicts", condition=main))
    words = [
        (~Q(status=Status.COMPLETED), F("status")),
        (Q(main__status=Status.COMPLETED, main__answer_correct=None), "unparseable"),
        (Q(main__status=Status.COMPLETED, main__answer_correct=True), "correct"),
        (Q(main__status=Status.COMPLETED), "wrong"),
        (Q(main__status=Status.FAILED) & ~Q(main__unparseable=""), "unparseable"),
        (Q(main__status=Status.FAILED), "judge_failed"),
    ]
    whens = [When(condition, then=Value(word) if isinstance(word, str) else word) for condition, word in words]
    return rows.annotate(outcome=Case(*whens, default=Value("unjudged"), output_field=CharField()))


class Progress:
    """What a run's page shows of its state. Every figure is read when it is asked for, once."""

    def __init__(self, run: Run, now: datetime | None = None):
        self.run = run
        self.now = now or timezone.now()

    @cached_property
    def _since(self) -> datetime:
        return max(self.run.started or self.now, self.now - RATE_WINDOW)

    @cached_property
    def _by_outcome(self) -> dict[str, dict[str, Any]]:
        asked, carried = Q(carried_from=None), Q(carried_from__isnull=False)
        marks = Cast("main__vector", TextField())  # "[1, 0]": marks are 1 or 0, so their signs can be counted
        judged = Q(outcome__in=("correct", "wrong"))
        rows = (
            _with_outcome(self.run)
            .order_by()
            .values("outcome")
            .annotate(
                n=Count("pk"),
                truncated_n=Count("pk", filter=Q(truncated=True)),
                carried=Count("pk", filter=carried),
                carried_cost=Sum("cost", filter=carried),
                recent=Count("pk", filter=Q(ended__gte=self._since)),
                priced=Count("cost"),
                prompt=Sum("prompt_tokens", filter=asked),
                completion=Sum("completion_tokens", filter=asked),
                ones=Sum(Length(marks) - Length(Replace(marks, Value("1"), Value(""))), filter=judged),
                zeros=Sum(Length(marks) - Length(Replace(marks, Value("0"), Value(""))), filter=judged),
            )
        )
        return {row["outcome"]: row for row in rows}

    def _sum(self, name: str) -> Any:
        return sum(row[name] or 0 for row in self._by_outcome.values())

    @property
    def total(self) -> int:
        return int(self._sum("n"))

    @cached_property
    def statuses(self) -> dict[str, int]:
        counts: Counter[str] = Counter()
        for outcome, row in self._by_outcome.items():
            counts["completed" if outcome in _COMPLETED else outcome] += row["n"]
        return {str(status): counts[status] for status in _STATUSES}

    @cached_property
    def outcomes(self) -> dict[str, int]:
        """Only those that occur, in the order of OUTCOMES."""
        return {name: self._by_outcome[name]["n"] for name in OUTCOMES if name in self._by_outcome}

    @property
    def truncated(self) -> int:
        return int(self._sum("truncated_n"))

    def count_of(self, show: str) -> int | None:
        """How many `cells` there are, where it is known already."""
        if show.startswith(("model:", "flag-", "flips-")):
            return None
        counts = {**dict.fromkeys(OUTCOMES, 0), **self.outcomes, "truncated": self.truncated, "carried": self.carried}
        return counts.get(show, self.total)

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
    def carried(self) -> int:
        """Responses that were answered on an earlier release and not asked here."""
        return int(self._sum("carried"))

    @property
    def carried_cost(self) -> Decimal:
        """What was paid on earlier releases for what this run did not ask, as far as it is known."""
        return Decimal(self._sum("carried_cost") + self._of_verdicts["carried_cost"])

    @property
    def carried_verdicts(self) -> int:
        return int(self._of_verdicts["carried"])

    @property
    def failures(self) -> int:
        """Responses, verdicts and labels that failed and may be tried again; what came from a file may not."""
        others = sum(row.failed for row in self.judges) + sum(row.failed for row in self.labellers)
        return self.statuses["failed"] * (not self.run.imported) + others

    @property
    def judged_by_main(self) -> int:
        """Verdicts of the main judge that came, readable or not."""
        return sum(row.done for row in self.judges if row.is_main)

    @cached_property
    def _verdicts(self) -> list[dict[str, Any]]:
        asked, carried, given = Q(carried_from=None), Q(carried_from__isnull=False), Q(drift=None)
        rows: QuerySet[Any, Any] = Verdict.objects.filter(run=self.run).order_by().values("judge", "status")
        return list(
            rows.annotate(
                n=Count("pk", filter=given),
                unparseable_n=Count("pk", filter=given & ~Q(unparseable="")),
                prompt=Sum("prompt_tokens", filter=asked),
                completion=Sum("completion_tokens", filter=asked),
                carried=Count("pk", filter=carried),
                carried_cost=Sum("cost", filter=carried),
            )
        )

    @cached_property
    def _of_verdicts(self) -> dict[str, Any]:
        names = ("prompt", "completion", "carried", "carried_cost")
        return {name: sum(row[name] or 0 for row in self._verdicts) for name in names}

    @cached_property
    def judges(self) -> list[JudgeProgress]:
        counts: dict[int, Counter[str]] = {}
        for row in self._verdicts:
            count = counts.setdefault(row["judge"], Counter())
            count[row["status"]] += row["n"]
            count["unparseable"] += row["unparseable_n"] if row["status"] not in OPEN else 0
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
                    self.flips.get(judge.pk),
                )
            )
        return sorted(shown, key=lambda row: not row.is_main)

    @property
    def is_active(self) -> bool:
        """Whether anything may still change by itself."""
        return self.run.state in ACTIVE or self.statuses["running"] > 0

    # -- money, tokens, pace --

    @property
    def expected(self) -> Decimal | None:
        """Known cost at the end if the rest costs as much as what is done."""
        done, total = self.done - self.carried, self.total - self.carried
        return self.run.spent / done * total if done and self.open else None

    @property
    def prompt_tokens(self) -> int:
        return int(self._sum("prompt") + self._of_verdicts["prompt"])

    @property
    def completion_tokens(self) -> int:
        return int(self._sum("completion") + self._of_verdicts["completion"])

    @property
    def all_tokens(self) -> int:
        return self.prompt_tokens + self.completion_tokens

    @cached_property
    def median_cost(self) -> Decimal | None:
        priced = self._sum("priced")
        if not priced:
            return None
        costs = self.run.responses.filter(cost__isnull=False).order_by("cost").values_list("cost", flat=True)
        middle: list[Any] = list(costs[(priced - 1) // 2 : priced // 2 + 1])
        return sum(middle, Decimal(0)) / len(middle)

    @cached_property
    def per_minute(self) -> float | None:
        """Responses that ended in the last ten minutes (or since the start), a minute; None where nothing ended."""
        ended, minutes = self._sum("recent"), (self.now - self._since).total_seconds() / 60
        return ended / minutes if self.run.started and ended and minutes > 0 else None

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
        ones = int(self._sum("ones"))
        return ones, ones + int(self._sum("zeros"))

    @cached_property
    def labellers(self) -> list[LabellerProgress]:
        return label_progress(self.run)

    @cached_property
    def errors(self) -> list[ErrorRow]:
        """Kinds of errors, the most frequent first, of answering, judging and labelling."""
        found: dict[str, ErrorRow] = {}

        def count(name: str, rows: QuerySet[Any]) -> None:
            for kind, n in rows.order_by().values_list("error_kind").annotate(n=Count("pk")):
                setattr(found.setdefault(kind or UNKNOWN, ErrorRow(kind or UNKNOWN)), name, n)

        failed = self.run.responses.filter(status=Status.FAILED)
        tried = Attempt.objects.exclude(error_kind="")
        count("attempts", tried.filter(response__run=self.run))
        count("judge_attempts", tried.filter(verdict__run=self.run))
        if self.labellers:
            count("label_attempts", tried.filter(labelling__run=self.run))
        if self.statuses["failed"]:
            count("failed", failed)
            place = Window(RowNumber(), partition_by="error_kind", order_by=["release_item__position", "sample"])
            first = failed.annotate(place=place).filter(place__lte=ITEMS_NAMED).order_by("place")
            for kind, pk, number in first.values_list("error_kind", "pk", "release_item__item__number"):
                found[kind or UNKNOWN].named += ((pk, number),)
        if any(row.failed for row in self.judges):
            count("judge_failed", self.run.verdicts.filter(status=Status.FAILED))
        if any(row.failed for row in self.labellers):
            count("label_failed", self.run.labellings.filter(status=Status.FAILED))
        return sorted(found.values(), key=lambda row: (-row.calls, -row.failed, row.kind))

    @cached_property
    def models(self) -> list[ModelRow]:
        return models_of(self.run)

    @property
    def strange_models(self) -> list[ModelRow]:
        return [row for row in self.models if row.is_strange]

    @property
    def split_by_model(self) -> bool:
        """Whether it has to be said who answered: several models, or another one than was asked for."""
        return any(not row.is_same for row in self.models) or len(self.models) > 1 + len(self.judges)

    # -- what to look at --

    @cached_property
    def flagged(self) -> dict[str, set[int]]:
        """Flag -> the responses that bear it or one of whose verdicts does; the most frequent first."""
        return dict(sorted(flagged_responses(self.run).items(), key=lambda pair: (-len(pair[1]), pair[0])))

    @cached_property
    def flips(self) -> dict[int, Flips]:
        return flips_of(self.run)

    def cells(self, show: str = "") -> QuerySet[Any, Any]:
        """The responses of one outcome, `truncated`, `carried`, a returned `model:…`, `flag-<flag>` or `flips-<judge>`,
        as they were launched; all for anything else. Cut by the database; `read_cells` makes Cells of a part.
        """
        rows = _with_outcome(self.run).order_by("pk")  # which needs no joined rows to sort
        kind, _dash, name = show.partition("-")
        if show.startswith("model:"):
            rows = rows.filter(returned_model=show[6:])
        elif show == "carried":
            rows = rows.filter(carried_from__isnull=False)
        elif show == "truncated":
            rows = rows.filter(truncated=True)
        elif kind == "flag":
            rows = rows.filter(pk__in=self.flagged.get(name, ()))
        elif kind == "flips":
            flipped = {pk for judge, flips in self.flips.items() if str(judge) == name for pk in flips.responses}
            rows = rows.filter(pk__in=flipped)
        elif show in OUTCOMES:
            rows = rows.filter(outcome=show)
        columns = (*Cell._fields[2:-2], "outcome", "main__vector")
        return rows.values_list("pk", "release_item__item__number", *columns)


def read_cells(rows: Any) -> list[Cell]:
    """Cells of a slice of `Progress.cells`."""
    cells = (Cell(*row) for row in rows)
    return [cell if cell.outcome in ("correct", "wrong") else cell._replace(vector=None) for cell in cells]
