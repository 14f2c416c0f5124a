"""Reads about judge drift: the anchors of a benchmark, and how a judge's verdicts on them moved over dates."""

from collections.abc import Iterable
from datetime import datetime
from typing import Any, NamedTuple

from django.db.models import F, QuerySet

from annotation.benchmarks import Benchmark

from .models import Anchor, DriftMeasurement, Judge, RunState, Verdict, Work

Status = Work.Status


def anchors_of(benchmark: Benchmark) -> QuerySet[Anchor]:
    """In the order of runs and release; each also has `item_number`."""
    rows = Anchor.objects.filter(response__run__benchmark=benchmark)
    rows = rows.select_related("response__run__system", "response__run__benchmark", "added_by").defer(
        "response__text", "response__thinking"
    )
    rows = rows.annotate(item_number=F("response__release_item__item__number"))
    return rows.order_by("response__run__number", "response__release_item__position", "response__sample")


def drift_anchors(judge: Judge) -> dict[int, list[int]]:
    """Run pk -> responses that are anchors and of which the judge gave a readable first verdict.

    Runs that are cancelled or belong to a frozen study take no further verdicts, so they are left out.
    """
    first = Verdict.objects.filter(judge=judge, repeat=1, status=Status.COMPLETED, unparseable="")
    first = first.filter(response__anchor__isnull=False, run__study__frozen=None)
    first = first.exclude(run__state=RunState.CANCELLED).order_by("run", "pk")
    found: dict[int, list[int]] = {}
    for run, response in first.values_list("run", "response"):
        found.setdefault(run, []).append(response)
    return found


class DriftRow(NamedTuple):
    """A judge's verdicts on the anchors at one date. Rates are fractions of what could be read; None of nothing."""

    measurement: DriftMeasurement | None  # None: the first verdicts, which the others are compared with
    when: datetime | None
    asked: int
    read: int
    open: int
    answers: float | None  # share of answers marked correct
    steps: float | None  # share of steps marked stated
    flips: int  # responses whose verdict differs from the first one
    answer_flips: int

    @property
    def flip_rate(self) -> float | None:
        return self.flips / self.read if self.read else None


_Said = tuple[bool, tuple[int, ...]]


def drift_of(judge: Judge) -> list[DriftRow]:
    """The first verdicts on all that was ever measured, then each measurement, in order of time; [] without any."""
    measurements = list(judge.measurements.select_related("created_by").order_by("pk"))
    if not measurements:
        return []
    rows = Verdict.objects.filter(judge=judge).order_by("pk")
    fields = ("response", "status", "answer_correct", "vector", "ended")
    again: dict[int, list[Any]] = {}
    for measurement, *row in rows.filter(drift__in=measurements).values_list("drift", *fields):
        again.setdefault(measurement, []).append(row)
    measured = {row[0] for of in again.values() for row in of}
    before = list(rows.filter(repeat=1, response__in=measured).values_list(*fields))
    first = _said(before)
    return [
        _row(None, before, first),
        *(_row(measurement, again.get(measurement.pk, []), first) for measurement in measurements),
    ]


def _said(rows: Iterable[Any]) -> dict[int, _Said]:
    return {
        response: (bool(correct), tuple(vector))
        for response, _status, correct, vector, _ended in rows
        if correct is not None and vector is not None
    }


def _row(measurement: DriftMeasurement | None, rows: list[Any], first: dict[int, _Said]) -> DriftRow:
    said = _said(rows)
    marks = [mark for _correct, vector in said.values() for mark in vector]
    compared = [(now, first[response]) for response, now in said.items() if response in first]
    return DriftRow(
        measurement,
        measurement.created if measurement else min((row[4] for row in rows if row[4]), default=None),
        len(rows),
        len(said),
        sum(row[1] in (Status.PENDING, Status.RUNNING) for row in rows),
        sum(correct for correct, _vector in said.values()) / len(said) if said else None,
        sum(marks) / len(marks) if marks else None,
        sum(now != then for now, then in compared),
        sum(now[0] != then[0] for now, then in compared),
    )
