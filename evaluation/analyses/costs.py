"""What scores cost: money, tokens and time beside them; and what failed, apart from what was answered."""

from __future__ import annotations

from statistics import median
from typing import TYPE_CHECKING, Any

from django.db.models import Count, Q, Sum
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from evaluation.models import Attempt, Response, Verdict, Work
from evaluation.scoring.metrics import METRICS

from .base import Analysis, Options
from .tables import Column, Picture, Result, Table, percent_column
from .words import lacking

if TYPE_CHECKING:
    from .data import Results

_NOTHING = {"total": None, "known": 0, "unknown": 0, "carried": 0, "prompt": None, "completion": None}


def compute(results: Results, options: Options) -> Result:
    seconds, spent_by = _seconds(results), _spent(results)
    verdicts = Verdict.objects.filter(run__in=results.runs, judge=results.judges[results.main]).order_by()
    judging = dict(verdicts.values_list("run_id").annotate(total=Sum("cost")))
    right = results.by_run(results.all_answers[results.main] == 1).sum(axis=1)
    rows = []
    for at, (run, label) in enumerate(zip(results.runs, results.labels, strict=True)):
        spent = spent_by.get(run.pk, _NOTHING)
        times = sorted(seconds.get(run.pk, {}).values())
        cost = None if spent["total"] is None else float(spent["total"])
        solved = int(right[at])
        rows.append(
            {
                "system": label,
                "DACS": float(results.scores["DACS"][at].mean()),
                "OA": float(results.scores["OA"][at].mean()),
                "cost": cost,
                "unknown": spent["unknown"],
                "carried": spent["carried"],
                "per_item": cost / spent["known"] if cost is not None else None,
                "solved": solved,
                "per_solved": cost / solved if cost is not None and solved else None,
                "judging": None if judging.get(run.pk) is None else float(judging[run.pk]),
                "prompt_tokens": spent["prompt"],
                "completion_tokens": spent["completion"],
                "median": median(times) if times else None,
                "slowest": times[-1] if times else None,
            }
        )
    _mark_pareto(rows, "cost", "cheapest")
    _mark_pareto(rows, "median", "fastest")
    unknown = [row["system"] for row in rows if row["unknown"] or row["cost"] is None]
    missing = lacking(results)
    if unknown:
        text = _("Costs are unknown in part, so that sums are too low and no place at the front is given: %s.")
        missing.append(text % ", ".join(unknown))
    carried = sum(row["carried"] for row in rows)
    if carried:
        text = _(
            "Responses carried over from earlier runs: %d; they count with what they cost there, and without time."
        )
        missing.append(text % carried)
    return Result(_tables(rows), int(results.scores["judged"].sum()), missing)


def _spent(results: Results) -> dict[int, dict[str, Any]]:
    """By run, of all responses, whatever became of them."""
    rows = Response.objects.filter(run__in=results.runs).order_by().values("run_id")
    asked = ~Q(status__in=(Work.Status.PENDING, Work.Status.CANCELLED))
    sums = rows.annotate(
        total=Sum("cost"),
        known=Count("pk", filter=Q(cost__isnull=False)),
        unknown=Count("pk", filter=Q(cost__isnull=True) & asked),
        carried=Count("pk", filter=Q(carried_from__isnull=False)),
        prompt=Sum("prompt_tokens"),
        completion=Sum("completion_tokens"),
    )
    return {row["run_id"]: dict(row) for row in sums}


def _seconds(results: Results) -> dict[int, dict[int, float]]:
    """Run -> response -> how long its calls took in all, of completed responses; waiting between calls is not in it."""
    found: dict[int, dict[int, float]] = {}
    calls = Attempt.objects.filter(response__run__in=results.runs, response__status=Work.Status.COMPLETED).order_by()
    rows = calls.values_list("response__run_id", "response_id", "started", "ended")
    for run_pk, response_pk, started, ended in rows.iterator(chunk_size=5000):
        of_run = found.setdefault(run_pk, {})
        if ended:
            of_run[response_pk] = of_run.get(response_pk, 0.0) + (ended - started).total_seconds()
    return found


def _mark_pareto(rows: list[dict[str, Any]], price: str, flag: str) -> None:
    """True where no other is at most as dear and at least as good, and better in one; None without a known price."""
    known = [row for row in rows if row[price] is not None and not (price == "cost" and row["unknown"])]
    for row in rows:
        row[flag] = None
    for row in known:
        mine = row[price], row["DACS"]
        row[flag] = not any(
            other[price] <= mine[0] and other["DACS"] >= mine[1] and (other[price], other["DACS"]) != mine
            for other in known
        )


def _tables(rows: list[dict[str, Any]]) -> list[Table]:
    system, score = Column("system", _("system")), percent_column("DACS", "DACS")
    money = (
        system,
        score,
        percent_column("OA", "OA"),
        Column("cost", _("cost of the responses, USD"), "money"),
        Column("cheapest", _("none is better for less"), "flag"),
        Column("per_item", _("per response, USD"), "money"),
        Column("solved", _("answers right"), "count"),
        Column("per_solved", _("per right answer, USD"), "money"),
        Column("unknown", _("responses of unknown cost"), "count"),
        Column("judging", _("cost of the main judge, USD"), "money"),
    )
    effort = (
        system,
        score,
        Column("prompt_tokens", _("input tokens"), "count"),
        Column("completion_tokens", _("output tokens"), "count"),
        Column("median", _("seconds per response, median"), "number"),
        Column("slowest", _("seconds, slowest"), "number"),
        Column("fastest", _("none is better in less time"), "flag"),
    )
    return [
        Table("cost", _("Score against cost"), money, rows, picture=Picture("scatter", "cost", ("DACS",), "system")),
        Table(
            "time",
            _("Score against time and tokens"),
            effort,
            rows,
            _("Time is that of a response's calls together, without the waiting between them."),
            Picture("scatter", "median", ("DACS",), "system"),
        ),
    ]


def compute_attempted(results: Results, options: Options) -> Result:
    """Over answered items only, beside the figures that count; and what the others failed of."""
    rows = []
    answered = results.by_run(results.all_completed)
    for at, label in enumerate(results.labels):
        done, samples = answered[at] > 0, int(results.samples[at])
        row: dict[str, Any] = {"system": label, "n": done.size * samples, "attempted": int(answered[at].sum())}
        for metric in METRICS:
            mine = results.scores[metric][at]
            # what was not answered scores nothing, so the sum over all samples is that over the answered ones
            of_answered = mine[done] * samples / answered[at][done]
            row |= {
                metric: float(mine.mean()),
                f"{metric}_attempted": float(of_answered.mean()) if done.any() else None,
            }
        rows.append(row)
    columns = (
        Column("system", _("system")),
        Column("n", _("responses due"), "count"),
        Column("attempted", _("answered"), "count"),
        *(
            percent_column(key, label)
            for m in METRICS
            for key, label in ((m, m), (f"{m}_attempted", _("%s of the answered") % m))
        ),
    )
    note = _("The denominator is all items; figures over the answered ones are of other items for each system.")
    tables = [Table("attempted", _("All items, and the answered ones"), columns, rows, note), _failures(results)]
    return Result(tables, int(results.scores["judged"].sum()), lacking(results))


def _failures(results: Results) -> Table:
    label_of = {run.pk: label for run, label in zip(results.runs, results.labels, strict=True)}
    responses = Response.objects.filter(run__in=results.runs).exclude(status=Work.Status.COMPLETED)
    verdicts = Verdict.objects.filter(run__in=results.runs, judge=results.judges[results.main], repeat=1)
    open_or_failed = verdicts.exclude(status=Work.Status.COMPLETED)
    unreadable = verdicts.filter(status=Work.Status.COMPLETED).exclude(unparseable="")
    rows = []
    for what, found, otherwise in (
        (_("no answer"), responses, ""),
        (_("no verdict"), open_or_failed, ""),
        (_("no verdict"), unreadable, _("could not be read")),
    ):
        for run_pk, kind, status, count in (
            found.order_by().values_list("run_id", "error_kind", "status").annotate(count=Count("pk"))
        ):
            why = otherwise or kind.replace("_", " ") or str(Work.Status(status).label)
            rows.append({"system": label_of[run_pk], "what": what, "why": why, "count": count})
    rows.sort(key=lambda row: (row["system"], -row["count"], row["why"]))
    columns = (
        Column("system", _("system")),
        Column("what", _("what is missing")),
        Column("why", _("why")),
        Column("count", _("responses"), "count"),
    )
    return Table("failures", _("What failed"), columns, rows, "" if rows else _("Nothing failed."))


COSTS = Analysis(
    "costs",
    gettext_lazy("Cost and time"),
    gettext_lazy("What each system costs and how long it takes beside its score, and which none beats at both."),
    compute,
    draws="",
)
ATTEMPTED = Analysis(
    "attempted",
    gettext_lazy("Answered only, and failures"),
    gettext_lazy(
        "Scores over the answered items beside those over all, and failures by kind: none hides as reasoning."
    ),
    compute_attempted,
    unjudged=True,
    draws="",
)
