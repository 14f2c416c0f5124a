"""Reads of studies: the list, and the matrix of one: what is done of the plan, what lacks and why, what filling costs.

Opens no write transaction; the queries of a matrix are as many for a large study as for a small one.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from decimal import Decimal
from functools import cached_property
from itertools import product
from typing import Any, NamedTuple

from django.db.models import Avg, Count, QuerySet, Sum
from django.http import Http404

from annotation.benchmarks import Benchmark, get_benchmark_for

from .models import Condition, Judge, Response, Run, RunState, Study, StudyEvent, System, Verdict, Work
from .stops import BUDGET_STOPS

Status = Work.Status
GOING = (RunState.QUEUED, RunState.RUNNING)
# Why a part of the plan is not done. Those of UNDER_WAY come by themselves; filling the holes sees to those of TO_ASK.
UNDER_WAY = ("running", "pending", "paused", "broken", "no_response")
TO_ASK = ("not_launched", "cancelled", "not_asked", "failed", "unparseable", "stopped", "budget")


def studies_of(benchmark: Benchmark) -> QuerySet[Study]:
    rows = Study.objects.filter(benchmark=benchmark).order_by("-number")
    return rows.select_related("release", "main_judge__endpoint", "created_by")


def get_study_for(user: Any, slug: str, number: int) -> Study:
    """A study of a benchmark in which the user is a member. Raises Http404 for everybody else."""
    benchmark = get_benchmark_for(user, slug)
    study = studies_of(benchmark).filter(number=number).first()
    if study is None:
        raise Http404
    study.benchmark = benchmark
    return study


def study_events(study: Study, limit: int = 20) -> list[StudyEvent]:
    return list(study.events.select_related("actor")[:limit])


def adoptable_runs(study: Study) -> QuerySet[Run]:
    """Finished runs that stand where the plan has a hole, the newest first."""
    taken = study.runs.exclude(state=RunState.CANCELLED).values_list("system", "condition")
    rows = Run.objects.filter(release=study.release, study=None, state=RunState.FINISHED, is_trial=False, imported="")
    rows = rows.filter(system__in=study.systems.all(), condition__in=study.conditions)
    for system, condition in taken:
        rows = rows.exclude(system=system, condition=condition)
    return rows.select_related("system").order_by("-number")


# --- the matrix ---------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Hole:
    """`count` responses or verdicts of the plan that are not there, and why: a word of UNDER_WAY or TO_ASK."""

    why: str
    count: int
    kind: str = ""  # of error, where they failed


@dataclass
class Cell:
    """What is done of one system and condition: its responses, or one judge's verdicts on them."""

    total: int
    done: int = 0
    holes: list[Hole] = field(default_factory=list)

    @property
    def is_complete(self) -> bool:
        return self.done >= self.total

    @property
    def share(self) -> float:
        return self.done / self.total if self.total else 0.0

    def lacking(self, *why: str) -> int:
        return sum(hole.count for hole in self.holes if hole.why in why)

    def add(self, why: str, count: int, kind: str = "") -> None:
        if count > 0:
            self.holes.append(Hole(why, count, kind))


@dataclass
class Row:
    """One system under one condition; `run` is None before one was launched, and after it was cancelled."""

    system: System
    condition: str
    run: Run | None
    responses: Cell
    verdicts: dict[int, Cell]  # by judge
    judges: list[Judge]

    @property
    def condition_word(self) -> str:
        return str(Condition(self.condition).label)

    @property
    def cells(self) -> list[Cell]:
        return list(self.verdicts.values())

    @property
    def named_cells(self) -> list[tuple[Judge, Cell]]:
        return [(judge, self.verdicts[judge.pk]) for judge in self.judges]

    @property
    def calls(self) -> int:
        """Requests to the system that filling makes."""
        return 0 if self._waits else self.responses.lacking(*TO_ASK)

    def verdicts_to_ask(self, judge: int, repeats: int) -> int:
        """Requests to the judge that filling makes, those on the responses still to come among them."""
        return 0 if self._waits else self.verdicts[judge].lacking(*TO_ASK) + self._to_come * repeats

    @property
    def _to_come(self) -> int:
        return self.responses.lacking(*TO_ASK) if self.run else 0

    @property
    def _waits(self) -> bool:
        return self.run is not None and self.run.state == RunState.PAUSED


class Estimate(NamedTuple):
    """What filling the holes would do. `cost`: of the calls whose like has cost something known; the others are
    `unknown`."""

    runs: int
    responses: int
    verdicts: int
    cost: Decimal
    unknown: int

    @property
    def calls(self) -> int:
        return self.responses + self.verdicts


class Matrix:
    """A study's plan beside what is done of it."""

    def __init__(self, study: Study):
        self.study = study
        judges = study.judges.select_related("endpoint")
        self.judges: list[Judge] = sorted(judges, key=lambda judge: (judge.pk != study.main_judge_id, judge.name))
        every = list(study.runs.select_related("system").order_by("number"))
        self.runs = [run for run in every if run.state != RunState.CANCELLED]
        self._cancelled = {(run.system_id, run.condition) for run in every} - {
            (run.system_id, run.condition) for run in self.runs
        }
        self.spent = sum((run.spent for run in every), Decimal(0))
        self.tokens = sum(run.tokens for run in every)
        self.unpriced = sum(run.unpriced for run in every)
        run_of = {(run.system_id, run.condition): run for run in self.runs}
        systems = study.systems.select_related("endpoint").order_by("group", "name")
        answered, judged = self._answered(), self._judged()
        self.rows: list[Row] = []
        for system, condition in product(systems, study.conditions):
            run = run_of.get((system.pk, condition))
            self.rows.append(self._row(system, condition, run, answered, judged))

    def _answered(self) -> dict[int, list[tuple[str, str, int]]]:
        """Run -> (status, error kind, how many responses)."""
        rows = Response.objects.filter(run__in=self.runs).order_by().values_list("run", "status", "error_kind")
        found: dict[int, list[tuple[str, str, int]]] = {}
        for run, *counted in rows.annotate(n=Count("pk")):
            found.setdefault(run, []).append(tuple(counted))
        return found

    def _judged(self) -> dict[tuple[int, int], list[tuple[str, str, bool, int]]]:
        """Run and judge -> (status, error kind, whether it could be read, how many verdicts)."""
        verdicts = Verdict.objects.filter(run__in=self.runs, judge__in=self.judges, repeat__lte=self.study.repeats)
        rows = verdicts.order_by().values_list("run", "judge", "status", "error_kind", "answer_correct")
        found: dict[tuple[int, int], list[tuple[str, str, bool, int]]] = {}
        for run, judge, status, kind, correct, n in rows.annotate(n=Count("pk")):
            found.setdefault((run, judge), []).append((status, kind, correct is not None, n))
        return found

    def _row(self, system: System, condition: str, run: Run | None, answered: Any, judged: Any) -> Row:
        total = self.study.release.item_count * self.study.samples
        repeats = self.study.repeats
        responses = Cell(total)
        verdicts = {judge.pk: Cell(total * repeats) for judge in self.judges}
        if run is None:
            why = "cancelled" if (system.pk, condition) in self._cancelled else "not_launched"
            for cell in (responses, *verdicts.values()):
                cell.add(why, cell.total)
            return Row(system, condition, run, responses, verdicts, self.judges)
        there = 0
        for status, kind, n in sorted(answered.get(run.pk, [])):
            there += n
            if status == Status.COMPLETED:
                responses.done += n
            else:
                self._open(responses, run, system.endpoint, status, kind, n)
        responses.add("not_asked", total - there)
        for judge in self.judges:
            cell, there = verdicts[judge.pk], 0
            for status, kind, readable, n in sorted(judged.get((run.pk, judge.pk), [])):
                there += n
                if status != Status.COMPLETED:
                    self._open(cell, run, judge.endpoint, status, kind, n)
                elif readable:
                    cell.done += n
                else:
                    cell.add("unparseable", n)
            cell.add("not_asked", responses.done * repeats - there)
            cell.add("no_response", (total - responses.done) * repeats)
        return Row(system, condition, run, responses, verdicts, self.judges)

    def _open(self, cell: Cell, run: Run, endpoint: Any, status: str, kind: str, count: int) -> None:
        if status == Status.FAILED:
            cell.add("failed", count, kind)
        elif status == Status.RUNNING:
            cell.add("running", count)
        elif run.state == RunState.PAUSED:
            cell.add("paused", count)
        elif endpoint.broken:
            cell.add("broken", count)
        elif run.state == RunState.STOPPED:
            over = run.stop.get("why") in BUDGET_STOPS
            cell.add(*("budget", count) if over else ("stopped", count, run.stop.get("error_kind", "")))
        else:
            cell.add("pending", count)

    # -- in sum --

    @property
    def cells(self) -> Iterator[Cell]:
        for row in self.rows:
            yield row.responses
            yield from row.cells

    @cached_property
    def is_complete(self) -> bool:
        return all(cell.is_complete for cell in self.cells)

    @property
    def is_broken(self) -> bool:
        """Whether something waits for a broken endpoint."""
        return any(cell.lacking("broken") for cell in self.cells)

    @property
    def responses(self) -> Cell:
        return _sum(row.responses for row in self.rows)

    @property
    def verdicts(self) -> Cell:
        return _sum(cell for row in self.rows for cell in row.cells)

    @property
    def state(self) -> str:
        """frozen, running, paused, stopped, planned (nothing was launched), complete or holes."""
        state = _state(self.study, [run.state for run in self.runs])
        return state or ("complete" if self.is_complete else "holes")

    @cached_property
    def budget_left(self) -> bool:
        study = self.study
        money = study.budget is None or self.spent < study.budget
        return money and (study.token_budget is None or self.tokens < study.token_budget)

    @cached_property
    def estimate(self) -> Estimate:
        """Of filling the holes now, carry-over aside, by what calls to the same system or judge cost on average."""
        return self.estimate_less({})

    @cached_property
    def may_carry(self) -> bool:
        """Whether launches may carry answers over: an earlier release has some of systems that have no run here."""
        systems = [row.system for row in self.rows if row.run is None]
        earlier = Run.objects.filter(system__in=systems, release__lt=self.study.release_id)
        return bool(systems) and earlier.exclude(state=RunState.QUEUED).exists()

    def estimate_less(self, carried: Mapping[tuple[int, str], tuple[int, Counter[int]]]) -> Estimate:
        """The same without what launches carry over: by system and condition, answers, and verdicts by judge."""
        none: tuple[int, Counter[int]] = (0, Counter())
        of = [carried.get((row.system.pk, row.condition), none) for row in self.rows]
        calls = [(row.system.pk, row.calls - answers) for row, (answers, _) in zip(self.rows, of, strict=True)]
        answers = Response.objects.filter(run__system__in={pk for pk, n in calls if n}, status=Status.COMPLETED)
        price = dict(answers.order_by().values_list("run__system").annotate(cost=Avg("cost")))
        repeats = self.study.repeats
        judging = [
            (
                j.pk,
                sum(
                    row.verdicts_to_ask(j.pk, repeats) - its[j.pk] for row, (_, its) in zip(self.rows, of, strict=True)
                ),
            )
            for j in self.judges
        ]
        marks = Verdict.objects.filter(judge__in={pk for pk, n in judging if n}, status=Status.COMPLETED)
        judge_price = dict(marks.order_by().values_list("judge").annotate(cost=Avg("cost")))
        parts = [(n, price.get(pk)) for pk, n in calls] + [(n, judge_price.get(pk)) for pk, n in judging]
        known = sum((n * cost for n, cost in parts if cost is not None), Decimal(0))
        unknown = sum(n for n, cost in parts if cost is None)
        launches = sum(row.run is None for row in self.rows)
        return Estimate(launches, sum(n for _, n in calls), sum(n for _, n in judging), known, unknown)


def _sum(cells: Iterable[Cell]) -> Cell:
    """Several cells as one; holes of one kind are one hole."""
    all_cells = list(cells)
    whole = Cell(sum(cell.total for cell in all_cells), sum(cell.done for cell in all_cells))
    counts: dict[tuple[str, str], int] = {}
    for hole in (hole for cell in all_cells for hole in cell.holes):
        counts[hole.why, hole.kind] = counts.get((hole.why, hole.kind), 0) + hole.count
    for (why, kind), count in counts.items():
        whole.add(why, count, kind)
    return whole


# --- the list -----------------------------------------------------------------------------------------------------


class Line(NamedTuple):
    """One study in the list: responses by status, of `total` that its plan asks for."""

    study: Study
    systems: int
    judges: int
    runs: int
    state: str  # as of a matrix, but nothing of its verdicts is counted: ended stands for complete and for holes
    counts: dict[str, int]
    total: int
    spent: Decimal


def lines_of(studies: Iterable[Study]) -> list[Line]:
    """What the list says of some studies, in five queries."""
    shown = list(studies)
    runs = Run.objects.filter(study__in=shown).exclude(state=RunState.CANCELLED).order_by()
    counts: dict[int, dict[str, int]] = {}
    answered = Response.objects.filter(run__in=runs).order_by().values_list("run__study", "status")
    for pk, status, n in answered.annotate(n=Count("pk")):
        counts.setdefault(pk, {})[status] = n
    spent = dict(runs.values_list("study").annotate(sum=Sum("spent")))
    states: dict[int, list[str]] = {}
    for pk, state in runs.values_list("study", "state"):
        states.setdefault(pk, []).append(state)
    plain = Study.objects.filter(pk__in=[study.pk for study in shown]).order_by()
    systems, judges = (dict(plain.values_list("pk").annotate(n=Count(name))) for name in ("systems", "judges"))
    return [
        Line(
            study,
            systems[study.pk],
            judges[study.pk],
            len(states.get(study.pk, [])),
            _state(study, states.get(study.pk, [])) or "ended",
            counts.get(study.pk, {}),
            systems[study.pk] * len(study.conditions) * study.release.item_count * study.samples,
            spent.get(study.pk, Decimal(0)),
        )
        for study in shown
    ]


def _state(study: Study, runs: Iterable[str]) -> str:
    """What the states of its runs (cancelled ones aside) say of a study; "" where they have all finished."""
    states = set(runs)
    if study.frozen:
        return "frozen"
    if states & set(GOING):
        return "running"
    for state in (RunState.PAUSED, RunState.STOPPED):
        if state in states:
            return str(state)
    return "" if states else "planned"
