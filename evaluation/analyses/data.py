"""What runs of one release gave, as arrays: loaded once, for every analysis.

Rows of runs and judges and columns of items stand in one order throughout. -1 is no verdict, never a zero.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

from django.db.models import F

from annotation.document import canonical_hash
from audit.releases import Release, ReleaseItem
from evaluation.cells import Grid, read_cells, rows_of_samples, runs_of_rows, store_cells
from evaluation.models import Condition, Judge, Run, Verdict
from evaluation.scoring.metrics import METRICS, Profile, ReleaseGraph, apply_profile, compile_graphs, score_matrix

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


@dataclass(frozen=True)
class Item:
    """What analyses ask of a release item. prerequisites: for `evaluation.scoring.metrics.closures`."""

    pk: int
    uid: str
    number: int
    document: dict[str, Any]
    prerequisites: list[list[int]]


@dataclass(frozen=True)
class Results:
    """R runs, J judges, n items; M the longest checklist; S >= R samples, first the first one of each run.

    all_answers: (J, S, n) int8, 1 right, 0 wrong, -1 no verdict.  all_stated: (J, S, n, M) int8, -1 beyond a checklist
    and without a verdict.  all_completed: (S, n) the system answered.  run_of: (S,) the run of each sample.  Of several
    repeats the first counts.  main: position of the judge whose verdicts the metrics rest on; -1 where there is none.
    """

    release: Release
    items: list[Item]
    runs: list[Run]
    judges: list[Judge]
    main: int
    all_answers: NDArray[np.int8]
    all_stated: NDArray[np.int8]
    all_completed: NDArray[np.bool_]
    run_of: NDArray[np.intp]

    def by_run(self, cells: NDArray[Any]) -> NDArray[Any]:
        """(R, …) sums over the samples of each run, of (S, …) cells."""
        import numpy as np

        if len(self.run_of) == len(self.runs):
            return cells.astype(np.int64) if cells.dtype == bool else cells
        sums = np.zeros((len(self.runs), *cells.shape[1:]), dtype=np.int64 if cells.dtype == bool else cells.dtype)
        np.add.at(sums, self.run_of, cells)
        return sums

    @cached_property
    def samples(self) -> NDArray[np.int64]:
        """(R,) how often each run asked for every item."""
        import numpy as np

        return np.bincount(self.run_of, minlength=len(self.runs))

    @cached_property
    def row_of(self) -> dict[tuple[int, int], int]:
        """(run's key, number of the sample) -> its row."""
        return rows_of_samples(self.runs)

    def only(self, runs: Sequence[int]) -> Results:
        """Of some runs, by their positions in ascending order."""
        import numpy as np

        rows = np.isin(self.run_of, runs)
        return replace(
            self,
            runs=[self.runs[at] for at in runs],
            all_answers=self.all_answers[:, rows],
            all_stated=self.all_stated[:, rows],
            all_completed=self.all_completed[rows],
            run_of=np.searchsorted(runs, self.run_of[rows]),
        )

    def weights(self, cells: NDArray[np.bool_]) -> NDArray[np.float64]:
        """(S, n) what each flagged cell of (S, n) counts, so that the flagged samples of a run and item add up to 1; 0
        elsewhere."""
        import numpy as np

        return np.asarray(cells / np.maximum(self.by_run(cells), 1)[self.run_of])

    @cached_property
    def graph(self) -> ReleaseGraph:
        return compile_graphs([item.prerequisites for item in self.items])

    @cached_property
    def lengths(self) -> list[int]:
        return [len(item.prerequisites) for item in self.items]

    @cached_property
    def labels(self) -> list[str]:
        """What each run is called: its system, with the condition and the run's number only where they tell apart."""
        names = [run.system.name for run in self.runs]
        if len({run.condition for run in self.runs}) > 1:
            names = [f"{name}, {Condition(run.condition).label}" for name, run in zip(names, self.runs, strict=True)]
        return [
            f"{name} (run {run.number})" if names.count(name) > 1 else name
            for name, run in zip(names, self.runs, strict=True)
        ]

    def of_samples(self, judge: int) -> dict[str, NDArray[np.float64]]:
        """Metric -> (S, n) fractions under a judge: what has no verdict is wrong with nothing stated."""
        if judge not in self._of_samples:
            stated = self.graph.pack_array(self.all_stated[judge])
            scores = score_matrix(self.graph, self.all_answers[judge] == 1, stated)
            found = zip(METRICS, (scores.oa, scores.sa, scores.cs, scores.dacs), strict=True)
            self._of_samples[judge] = dict(found)
        return self._of_samples[judge]

    @cached_property
    def _of_samples(self) -> dict[int, dict[str, NDArray[np.float64]]]:
        return {}

    def values(self, judge: int | None = None) -> dict[str, NDArray[np.float64]]:
        """Metric -> (R, n) fractions under a judge (the main one), of an item asked several times the mean over the
        samples. `judged`: how many of these have a verdict."""
        at = self.main if judge is None else judge
        means = {metric: self.by_run(cells) / self.samples[:, None] for metric, cells in self.of_samples(at).items()}
        return means | {"judged": self.by_run(self.all_answers[at] >= 0)}

    @cached_property
    def scores(self) -> dict[str, NDArray[np.float64]]:
        """`values` under the main judge, computed once."""
        return self.values()


def load(
    release: Release,
    runs: Sequence[Run],
    judges: Sequence[Judge],
    main: Judge | None,
    profile: Profile = Profile.STRICT,
) -> Results:
    """Everything in three queries, whatever the number of runs, judges and items; see `evaluation.cells`.

    main: None where there are no judges.  as-published reads what the judges printed once more.
    Raises ValueError when `main` is not among the judges, or a run is of another release.
    """
    import numpy as np

    if main not in judges and (main or judges):
        raise ValueError("the main judge is not among the judges")
    if any(run.release_id != release.pk for run in runs):
        raise ValueError("a run is of another release")
    rows_of_items = ReleaseItem.objects.filter(release=release).annotate(number=F("item__number"))
    items = [_item(row, profile) for row in rows_of_items.order_by("position")]
    grid = Grid([item.pk for item in items], [item.prerequisites for item in items])
    store_cells(grid, runs, len(judges), profile)
    cells = read_cells(grid, runs, judges, profile)
    at = list(judges).index(main) if main else -1
    return Results(
        release, items, list(runs), list(judges), at, cells.answers, cells.stated, cells.completed,
        np.array(runs_of_rows(runs), dtype=np.intp),
    )  # fmt: skip


def _item(row: ReleaseItem, profile: Profile) -> Item:
    document = row.document
    place = {step["key"]: at for at, step in enumerate(document["checklist"])}
    direct = [[place[key] for key in step["prerequisites"]] for step in document["checklist"]]
    direct = apply_profile(profile, direct, None, None).prerequisites
    return Item(row.pk, row.uid, row.number, document, direct)  # type: ignore[attr-defined]  # annotated


def inputs_hash(
    release: Release, runs: Sequence[Run], judges: Sequence[Judge], main: Judge | None, profile: Profile
) -> str:
    """Changes whenever a response or verdict of these runs may have: every change opens a run and ends it anew.

    A person's verdicts are counted besides, as they may come after the end.
    """
    who_marks = Judge.objects.filter(benchmark=release.benchmark_id, person__isnull=False)
    people = Verdict.objects.filter(run__in=runs, judge__in=list(who_marks)).order_by("pk")
    marks = list(people.values_list("pk", "answer_correct", "vector"))
    who = [[run.pk, str(run.created), str(run.ended), run.state] for run in runs]
    return canonical_hash(
        [release.hash, who, [judge.pk for judge in judges], main and main.pk, profile, [list(mark) for mark in marks]]
    )
