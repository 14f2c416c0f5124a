"""Reads of marking by people: plans with their progress, what comes next for a person, how a verdict came to be."""

from collections.abc import Iterable
from typing import Any, NamedTuple

from django.db.models import Count, F, QuerySet
from django.http import Http404

from annotation.benchmarks import Benchmark
from audit.releases import Release

from .models import Judge, MarkingPlan, MarkingTask, Response, RunEvent, Verdict, Work
from .scoring.sampling import Candidate

Status = Work.Status


def plans_of(benchmark: Benchmark) -> QuerySet[MarkingPlan]:
    """The newest first; each also has `task_count`."""
    rows = MarkingPlan.objects.filter(benchmark=benchmark).order_by("-number")
    return rows.select_related("run__system", "study", "created_by").annotate(task_count=Count("tasks"))


def get_plan(benchmark: Benchmark, number: int) -> MarkingPlan:
    plan = plans_of(benchmark).filter(number=number).first()
    if plan is None:
        raise Http404
    return plan


class PersonProgress(NamedTuple):
    judge: Judge
    done: int
    total: int


def progress_of(plans: Iterable[MarkingPlan]) -> dict[int, list[PersonProgress]]:
    """Plan pk -> who marked how many of its responses, the most first."""
    totals = {plan.pk: plan.task_count for plan in plans}  # type: ignore[attr-defined]
    rows = list(_marked(MarkingTask.objects.filter(plan__in=list(totals))))
    people = Judge.objects.select_related("person").in_bulk({judge for _plan, judge, _n in rows})
    found: dict[int, list[PersonProgress]] = {}
    for plan, judge, done in sorted(rows, key=lambda row: -row[2]):
        found.setdefault(plan, []).append(PersonProgress(people[judge], done, totals[plan]))
    return found


def _marked(tasks: QuerySet[MarkingTask]) -> Iterable[tuple[int, int, int]]:
    """(plan, judge, how many of these tasks it marked) of people."""
    given = tasks.filter(
        response__verdicts__judge__person__isnull=False, response__verdicts__status=Status.COMPLETED
    ).order_by()
    return given.values_list("plan", "response__verdicts__judge").annotate(n=Count("response", distinct=True))


def people_done(release: Release) -> list[int]:
    """Judges who are people and marked everything of a plan on the release: primary keys."""
    tasks = MarkingTask.objects.filter(response__run__release=release).order_by()
    totals = dict(tasks.values_list("plan").annotate(n=Count("pk")))
    return [judge for plan, judge, done in _marked(tasks) if done == totals[plan]] if totals else []


def next_task(plan: MarkingPlan, user: Any, after: int = 0) -> MarkingTask | None:
    """The first response after this position that the person has not marked; without one, the first of all."""
    mine = Verdict.objects.filter(judge__person=user, status=Status.COMPLETED).values("response")
    left = plan.tasks.exclude(response__in=mine).order_by("position")
    return left.filter(position__gt=after).first() or left.first()


def marked_by(plan: MarkingPlan, user: Any) -> int:
    of = plan.tasks.filter(response__verdicts__judge__person=user, response__verdicts__status=Status.COMPLETED)
    return of.values("response").distinct().count()


def candidates_of(responses: QuerySet[Response]) -> list[Candidate]:
    """Completed responses as the sampling sees them."""
    done = responses.filter(status=Status.COMPLETED)
    rows = done.values_list("pk", "release_item__item__category", "flags")
    said: dict[int, set[tuple[Any, ...]]] = {}
    flagged: set[int] = set()
    verdicts = Verdict.objects.filter(response__in=done, judge__person=None, status=Status.COMPLETED, repeat=1)
    fields = ("response", "answer_correct", "vector", "flags", "unparseable")
    for response, correct, vector, flags, unparseable in verdicts.values_list(*fields):
        if flags or unparseable:
            flagged.add(response)
        if not unparseable:
            said.setdefault(response, set()).add((correct, *(vector or ())))
    return [
        Candidate(pk, category or "", len(said.get(pk, ())) > 1, bool(flags) or pk in flagged)
        for pk, category, flags in rows
    ]


class Change(NamedTuple):
    """One event of a person's verdict on a response."""

    event: RunEvent
    old: dict[str, Any] | None
    new: dict[str, Any]


def verdict_history(response: Response) -> list[Change]:
    """How people's verdicts on a response came to be, the newest first."""
    rows = RunEvent.objects.filter(run=response.run_id, kind="verdict.recorded", data__response=response.pk)
    return [Change(event, event.data.get("old"), event.data["new"]) for event in rows.select_related("actor")]


def get_task(plan: MarkingPlan, position: int) -> MarkingTask:
    """With its response and release item. Raises Http404."""
    rows = plan.tasks.select_related("response__run__benchmark", "response__run__system", "response__release_item")
    task = rows.annotate(item_number=F("response__release_item__item__number")).filter(position=position).first()
    if task is None:
        raise Http404
    return task
