"""Figures from stored verdicts: what a run scored under a judge, and a release's leaderboard with intervals.

The denominator is the release's item count, always: what failed, is missing or could not be read is a wrong answer with
nothing stated. Workers store leaderboards under the hash of their inputs; where none is stored, it is computed.
Verdicts of a finished run change only by way of its being open again, so `ended` stands for all of them.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from annotation.document import canonical_hash
from audit.releases import Release, ReleaseItem, release_documents

from .claims import write
from .models import Judge, Report, Response, Run, RunState, Verdict, Work
from .queries import judges_on
from .scoring.bootstrap import RESAMPLES, intervals
from .scoring.judge_output import read_as_published
from .scoring.metrics import METRICS, Profile, ReleaseGraph, apply_profile, compile_graphs, score_matrix

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

SEED = 20260911  # of every interval, so that a report can be computed again to the digit
GAPS = {"OA-SA": ("OA", "SA"), "CS-DACS": ("CS", "DACS")}
VERSION = 2  # of what a stored report holds
KIND = "leaderboard"
Status = Work.Status


@dataclass(frozen=True)
class RunScores:
    """What runs of one release scored under one judge.

    runs: in the order of the arrays' rows.  uids: item ids in release order, the order of the arrays' columns.
    values: metric -> (runs, items) fractions.  completed, readable: (runs, items) flags: the system answered; the judge
    gave a verdict that could be read.
    """

    runs: list[Run]
    uids: list[str]
    values: dict[str, "NDArray[np.float64]"]
    completed: "NDArray[np.bool_]"
    readable: "NDArray[np.bool_]"


_graphs: dict[tuple[str, Profile], tuple[list[str], ReleaseGraph]] = {}


def _graph(release: Release, profile: Profile) -> tuple[list[str], ReleaseGraph]:
    """Item ids and checklist graphs of a release, which are frozen: read once by a process."""
    key = release.hash, profile
    if key not in _graphs:
        if len(_graphs) >= 20:
            _graphs.clear()
        uids, prerequisites = [], []
        for document in release_documents(release):
            keys = {step["key"]: at for at, step in enumerate(document["checklist"])}
            direct = [[keys[key] for key in step["prerequisites"]] for step in document["checklist"]]
            uids.append(document["id"])
            prerequisites.append(apply_profile(profile, direct, None, None).prerequisites)
        _graphs[key] = uids, compile_graphs(prerequisites)
    return _graphs[key]


def score_runs(release: Release, runs: Sequence[Run], judge: Judge, profile: Profile = Profile.STRICT) -> RunScores:
    """The four metrics of every run on every item of the release, by the judge's first verdict on each response.

    as-published reads what the judge printed once more, as the paper's evaluator does.
    """
    import numpy as np

    uids, graph = _graph(release, profile)
    steps = graph.steps.tolist()
    items = ReleaseItem.objects.filter(release=release).order_by("position").values_list("pk", flat=True)
    column_of = {pk: column for column, pk in enumerate(items)}
    row_of = {run.pk: row for row, run in enumerate(runs)}
    shape = (len(runs), len(uids))
    answers, completed, readable = (np.zeros(shape, dtype=bool) for _ in range(3))
    vectors: list[list[Any]] = [[None] * len(uids) for _ in runs]
    done = Response.objects.filter(run__in=runs, status=Status.COMPLETED, sample=1)
    for run_pk, item_pk in done.values_list("run_id", "release_item_id"):
        completed[row_of[run_pk], column_of[item_pk]] = True
    verdicts = Verdict.objects.filter(run__in=runs, judge=judge, repeat=1, status=Status.COMPLETED, response__sample=1)
    fields = ["run_id", "response__release_item_id", "answer_correct", "vector"]
    if profile is Profile.STRICT:
        verdicts = verdicts.filter(unparseable="")
    else:
        fields.append("output")
    for run_pk, item_pk, correct, vector, *output in verdicts.values_list(*fields):
        row, column = row_of[run_pk], column_of[item_pk]
        if output and output[0]:
            correct, vector = read_as_published(output[0])
            if correct is None and vector is None:
                continue
            padded = [*(vector or ()), *[0] * steps[column]]
            vector = padded[: steps[column]]
        answers[row, column], vectors[row][column], readable[row, column] = bool(correct), vector, True
    scores = score_matrix(graph, answers, graph.pack(vectors))
    values = dict(zip(METRICS, (scores.oa, scores.sa, scores.cs, scores.dacs), strict=True))
    return RunScores(list(runs), uids, values, completed, readable)


def run_scores(run: Run, judge: Judge) -> dict[str, Any]:
    """One run under one judge: {n, OA, SA, CS, DACS, ci, gaps, counts, attempted, items}, fractions as plain JSON.

    attempted: the same means over the items the system answered only, None when there are none.
    items: per item in release order {id, completed, readable, OA, SA, CS, DACS}.
    """

    scores = score_runs(run.release, [run], judge)
    report = _rows(scores)[0]
    report["items"] = [
        {
            "id": uid,
            "completed": bool(scores.completed[0, at]),
            "readable": bool(scores.readable[0, at]),
            **{metric: float(scores.values[metric][0, at]) for metric in METRICS},
        }
        for at, uid in enumerate(scores.uids)
    ]
    return report


def leaderboard(release: Release, judge: Judge | None = None, profile: Profile = Profile.STRICT) -> dict[str, Any]:
    """The newest finished run of each system and condition on a release, by DACS, each with 95% intervals.

    judge: whose verdicts count; by default the main judge of most of these runs. Runs that it judged nothing of are
    named in `not_judged`. The resamples are the same for all, so that rows can be compared. Writes nothing.
    {n, judge, runs: [{run, number, system, model, group, family, condition, demo, n, OA, …, ci, gaps, counts}]}
    """
    runs = _newest_finished(release)
    judges = [run.main_judge for run in runs]
    judge = judge or max(judges, key=lambda j: (judges.count(j), -j.pk), default=None)
    if judge is None:
        return {"n": release.item_count, "judge": None, "runs": [], "not_judged": []}
    stored = Report.objects.filter(kind=KIND, input_hash=_inputs(release, runs, judge, profile))
    return stored.values_list("data", flat=True).first() or _compute(release, runs, judge, profile)


def store_leaderboards(release: Release) -> None:
    """What the results page will ask for, under every judge and profile, when the runs of a release changed."""
    runs = _newest_finished(release)
    for judge in judges_on(release):
        for profile in Profile:
            input_hash = _inputs(release, runs, judge, profile)
            if not Report.objects.filter(kind=KIND, input_hash=input_hash).exists():
                data = _compute(release, runs, judge, profile)
                report = Report(benchmark_id=release.benchmark_id, kind=KIND, input_hash=input_hash, data=data)
                with write():
                    Report.objects.bulk_create([report], ignore_conflicts=True)


def _compute(release: Release, runs: Sequence[Run], judge: Judge, profile: Profile) -> dict[str, Any]:
    judged = set(
        Verdict.objects.filter(run__in=runs, judge=judge).order_by().values_list("run_id", flat=True).distinct()
    )
    mine = [run for run in runs if run.pk in judged]
    scored = _rows(score_runs(release, mine, judge, profile)) if mine else []
    rows = [{**_who(run), **row} for run, row in zip(mine, scored, strict=True)]
    rows.sort(key=lambda row: (-row["DACS"], -row["OA"], row["system"]))
    return {
        "n": release.item_count,
        "judge": {"pk": judge.pk, "name": judge.name, "prompt_version": judge.prompt_version},
        "runs": rows,
        "not_judged": [_who(run) for run in runs if run.pk not in judged],
    }


def _newest_finished(release: Release) -> list[Run]:
    newest: dict[tuple[int, str], Run] = {}
    runs = Run.objects.filter(release=release, state=RunState.FINISHED).order_by("number")
    for run in runs.select_related("system__endpoint", "main_judge"):
        newest[run.system_id, run.condition] = run
    return list(newest.values())


def _who(run: Run) -> dict[str, Any]:
    return {
        "run": run.pk,
        "number": run.number,
        "system": run.system.name,
        "model": run.system.model,
        "group": run.system.group,
        "family": run.system.family,
        "condition": run.condition,
        "demo": run.system.endpoint.is_demo,
    }


def _rows(scores: RunScores) -> list[dict[str, Any]]:
    """Means, intervals, gaps and counts of each run (at least one); one set of resamples for all columns."""
    import numpy as np

    columns = {**scores.values, **{gap: scores.values[a] - scores.values[b] for gap, (a, b) in GAPS.items()}}
    names, count = list(columns), len(scores.runs)
    ends = intervals(np.concatenate(list(columns.values())).T, resamples=RESAMPLES, seed=SEED)
    low, high = (part.reshape(len(names), count) for part in ends)
    means = np.stack([columns[name].mean(axis=1) for name in names])
    rows = []
    for row in range(count):
        done = scores.completed[row]
        figures = {
            name: {"value": float(means[at, row]), "ci": [float(low[at, row]), float(high[at, row])]}
            for at, name in enumerate(names)
        }
        rows.append(
            {
                "n": len(scores.uids),
                **{metric: figures[metric]["value"] for metric in METRICS},
                "ci": {metric: figures[metric]["ci"] for metric in METRICS},
                "gaps": {gap: figures[gap] for gap in GAPS},
                "counts": {
                    "completed": int(done.sum()),
                    "not_completed": int((~done).sum()),
                    "without_verdict": int((done & ~scores.readable[row]).sum()),
                },
                "attempted": {
                    "n": int(done.sum()),
                    **{
                        metric: float(scores.values[metric][row][done].mean()) if done.any() else None
                        for metric in METRICS
                    },
                },
                "bootstrap": {"resamples": RESAMPLES, "seed": SEED},
            }
        )
    return rows


def _inputs(release: Release, runs: Iterable[Run], judge: Judge, profile: Profile) -> str:
    """A hash that changes whenever a response or a verdict of these finished runs does."""
    who = [[run.pk, str(run.created), str(run.ended), run.system.name] for run in runs]
    return canonical_hash([VERSION, SEED, RESAMPLES, profile, release.pk, release.hash, judge.pk, judge.name, who])
