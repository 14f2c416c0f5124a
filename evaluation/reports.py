"""Figures from stored verdicts: what a run scored under a judge, and a release's leaderboard with intervals.

The denominator is the release's item count, always: what failed, is missing or could not be read is a wrong answer with
nothing stated. Workers store leaderboards under the hash of their inputs; where none is stored, it is computed.
Verdicts of a finished run change only by way of its being open again, so `ended` stands for all of them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product
from typing import TYPE_CHECKING, Any

from django.db.models import Count, Max

from annotation.document import canonical_hash
from audit.releases import Release, ReleaseItem, release_documents

from .cells import Grid, read_cells, runs_of_rows, store_cells
from .claims import write
from .models import Judge, Report, Run, RunState, Study, Verdict
from .queries import judges_on
from .scoring.bootstrap import RESAMPLES, SEED, intervals
from .scoring.metrics import METRICS, Profile, ReleaseGraph, apply_profile, compile_graphs, score_matrix

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

GAPS = {"OA-SA": ("OA", "SA"), "CS-DACS": ("CS", "DACS")}
VERSION = 3  # of what a stored report holds
KIND = "leaderboard"


@dataclass(frozen=True)
class RunScores:
    """What runs of one release scored under one judge.

    runs: in the order of the arrays' rows.  uids: item ids in release order, the order of the arrays' columns.
    values: metric -> (runs, items) fractions, the mean over the run's samples of an item, of which those that are
    missing or failed count as nothing.  completed, readable: (runs, items) counts of samples: the system answered; the
    judge gave a verdict that could be read.
    """

    runs: list[Run]
    uids: list[str]
    values: dict[str, NDArray[np.float64]]
    completed: NDArray[np.int64]
    readable: NDArray[np.int64]


_graphs: dict[tuple[str, Profile], tuple[list[str], list[list[list[int]]], ReleaseGraph]] = {}


def _graph(release: Release, profile: Profile) -> tuple[list[str], Grid, ReleaseGraph]:
    """Item ids, cells and checklist graphs of a release. Documents, which are frozen, are read once by a process."""
    key = release.hash, profile
    if key not in _graphs:
        if len(_graphs) >= 20:
            _graphs.clear()
        uids, prerequisites = [], []
        for document in release_documents(release):
            place = {step["key"]: at for at, step in enumerate(document["checklist"])}
            direct = [[place[key] for key in step["prerequisites"]] for step in document["checklist"]]
            uids.append(document["id"])
            prerequisites.append(apply_profile(profile, direct, None, None).prerequisites)
        _graphs[key] = uids, prerequisites, compile_graphs(prerequisites)
    uids, prerequisites, graph = _graphs[key]
    keys = ReleaseItem.objects.filter(release=release).order_by("position").values_list("pk", flat=True)
    return uids, Grid(list(keys), prerequisites), graph


def score_runs(release: Release, runs: Sequence[Run], judge: Judge, profile: Profile = Profile.STRICT) -> RunScores:
    """The four metrics of every run on every item of the release, by the judge's first verdict on each response; of an
    item that was asked several times, the mean over the samples.

    as-published reads what the judge printed once more, as the paper's evaluator does.
    """
    import numpy as np

    uids, grid, graph = _graph(release, profile)
    cells = read_cells(grid, runs, [judge], profile)
    scores = score_matrix(graph, cells.answers[0] == 1, graph.pack_array(cells.stated[0]))
    run_of = runs_of_rows(runs)

    def of_runs(of_samples: NDArray[Any], kind: type) -> NDArray[Any]:
        sums: NDArray[Any] = np.zeros((len(runs), len(uids)), dtype=kind)
        np.add.at(sums, run_of, of_samples)
        return sums

    each = np.array([run.samples for run in runs])[:, None]
    values = {
        metric: of_runs(of_samples, float) / each
        for metric, of_samples in zip(METRICS, (scores.oa, scores.sa, scores.cs, scores.dacs), strict=True)
    }
    counts = [of_runs(flags, int) for flags in (cells.completed, cells.answers[0] >= 0)]
    return RunScores(list(runs), uids, values, *counts)


def run_scores(run: Run, judge: Judge) -> dict[str, Any]:
    """One run under one judge: {n, samples, OA, SA, CS, DACS, ci, gaps, counts, attempted, items}, as plain JSON.

    counts: of responses, samples of one item each for itself.
    attempted: the same means over what the system answered only (samples of an item, then items), None when there is
    nothing.
    items: per item in release order {id, completed, readable, OA, SA, CS, DACS}; the first two count samples.
    """

    scores = score_runs(run.release, [run], judge)
    report = _rows(scores)[0]
    report["items"] = [
        {
            "id": uid,
            "completed": int(scores.completed[0, at]),
            "readable": int(scores.readable[0, at]),
            **{metric: float(scores.values[metric][0, at]) for metric in METRICS},
        }
        for at, uid in enumerate(scores.uids)
    ]
    return report


def leaderboard(
    release: Release, judge: Judge | None = None, profile: Profile = Profile.STRICT, study: Study | None = None
) -> dict[str, Any]:
    """The newest finished run of each system and condition on a release, or in a study on it, by DACS, each with 95%
    intervals.

    judge: whose verdicts count; by default the study's main judge, or that of most of these runs. Runs that it judged
    nothing of are named in `not_judged`. The resamples are the same for all, so that rows can be compared. Writes
    nothing. {n, judge, runs: [{run, number, system, model, group, family, condition, demo, n, samples, OA, …, ci, gaps,
    counts}]}
    """
    runs = newest_finished(release, study)
    judges = [run.main_judge for run in runs]
    judge = judge or (study.main_judge if study else None)
    judge = judge or max(judges, key=lambda j: (judges.count(j), -j.pk), default=None)
    if judge is None:
        return {"n": release.item_count, "judge": None, "runs": [], "not_judged": []}
    stored = Report.objects.filter(kind=KIND, input_hash=_inputs(release, runs, judge, profile))
    return stored.values_list("data", flat=True).first() or _compute(release, runs, judge, profile)


def store_leaderboards(release: Release) -> None:
    """What the results page will ask for, under every judge and profile, when the runs of a release changed; and the
    packed copies of large runs, which every analysis reads."""
    boards = [newest_finished(release)]
    boards += [newest_finished(release, study) for study in Study.objects.filter(release=release, frozen=None)]
    judges = list(judges_on(release))
    for runs, profile in product(boards, Profile):
        store_cells(_graph(release, profile)[1], runs, len(judges), profile)
        for judge in judges:
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


def newest_finished(release: Release, study: Study | None = None) -> list[Run]:
    """The newest finished run of each system and condition on a release, or in a study on it."""
    newest: dict[tuple[int, str], Run] = {}
    runs = Run.objects.filter(release=release, state=RunState.FINISHED, is_trial=False).order_by("number")
    if study is not None:
        runs = runs.filter(study=study)
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
        "demo": run.system.is_demo,
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
        samples, done = scores.runs[row].samples, scores.completed[row]
        some = done > 0  # what is missing of an item scored nothing, so its sum is that of the samples that came
        figures = {
            name: {"value": float(means[at, row]), "ci": [float(low[at, row]), float(high[at, row])]}
            for at, name in enumerate(names)
        }
        rows.append(
            {
                "n": len(scores.uids),
                "samples": samples,
                **{metric: figures[metric]["value"] for metric in METRICS},
                "ci": {metric: figures[metric]["ci"] for metric in METRICS},
                "gaps": {gap: figures[gap] for gap in GAPS},
                "counts": {
                    "completed": int(done.sum()),
                    "not_completed": int((samples - done).sum()),
                    "without_verdict": int((done - scores.readable[row]).sum()),
                },
                "attempted": {
                    "n": int(some.sum()),
                    **{
                        metric: float((scores.values[metric][row][some] * samples / done[some]).mean())
                        if some.any()
                        else None
                        for metric in METRICS
                    },
                },
                "bootstrap": {"resamples": RESAMPLES, "seed": SEED},
            }
        )
    return rows


def _inputs(release: Release, runs: Sequence[Run], judge: Judge, profile: Profile) -> str:
    """A hash that changes whenever a response or a verdict of these finished runs does; a person's come at any time."""
    who = [[run.pk, str(run.created), str(run.ended), run.samples, run.system.name] for run in runs]
    given: Any = None
    if judge.person_id:
        verdicts = Verdict.objects.filter(run__in=[run.pk for run in runs], judge=judge)
        given = [str(value) for value in verdicts.aggregate(n=Count("pk"), last=Max("ended")).values()]
    key = [VERSION, SEED, RESAMPLES, profile, release.pk, release.hash, judge.pk, judge.name, who]
    return canonical_hash([*key, given] if given else key)
