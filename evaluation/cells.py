"""What was answered and judged, as arrays. Read from the rows of verdicts; of a large run that has ended from a packed
copy, which the worker stores, so that a million verdicts are a hundred rows.

Verdicts of a finished run change only by way of its being open again, so `ended` stands for all of them; people's may
come after the end and are always read from their rows. -1 is no verdict, never a zero.
"""

from __future__ import annotations

from base64 import b64decode, b64encode
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any
from zlib import compress, decompress

from annotation.document import canonical_hash

from .claims import write
from .models import Judge, Report, Response, Run, RunState, Verdict, Work
from .scoring.judge_output import read_as_published
from .scoring.metrics import Profile, apply_profile

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

VERSION = 1  # of a packed copy
PACKED_FROM = 1_000  # responses times judges: fewer rows are read as quickly as unpacked
_LEVEL = 1  # of compression: the vectors are close to random


@dataclass(frozen=True, slots=True)
class Grid:
    """The items of a release, of which verdicts are cells: their keys in release order, and their checklists."""

    keys: Sequence[int]
    prerequisites: Sequence[Sequence[Sequence[int]]]


@dataclass(frozen=True, slots=True)
class Cells:
    """answers: (J, S, n) int8, 1 right, 0 wrong, -1 no verdict. stated: (J, S, n, M) int8, M the longest checklist, -1
    beyond an item's checklist and without a verdict. completed: (S, n) the system answered."""

    answers: NDArray[np.int8]
    stated: NDArray[np.int8]
    completed: NDArray[np.bool_]


def rows_of_samples(runs: Sequence[Run]) -> dict[tuple[int, int], int]:
    """(run's key, number of the sample) -> row: the first sample of each run, then the others."""
    further = ((run.pk, sample) for run in runs for sample in range(2, run.samples + 1))
    return {key: row for row, key in enumerate([*((run.pk, 1) for run in runs), *further])}


def runs_of_rows(runs: Sequence[Run]) -> list[int]:
    """The position of the run that each row of `rows_of_samples` is a sample of."""
    place = {run.pk: at for at, run in enumerate(runs)}
    return [place[pk] for pk, _sample in rows_of_samples(runs)]


def read_cells(grid: Grid, runs: Sequence[Run], judges: Sequence[Judge], profile: Profile) -> Cells:
    """The first verdicts of these judges on every response of the runs, in the order of `rows_of_samples`. A verdict
    counts where the response is completed; as-published reads what the judge printed once more.

    Two queries, and up to three for packed runs.
    """
    row_of = rows_of_samples(runs)
    cells = _empty(len(judges), len(row_of), grid)
    large = [run for run in runs if _is_packed(run, len(judges))]
    packed = _packed(large, profile) if large else {}
    _fill(cells, grid, [run for run in runs if run.pk not in packed], judges, row_of, profile)
    if packed and (people := [judge for judge in judges if judge.person_id]):
        _fill(cells, grid, [run for run in large if run.pk in packed], people, row_of, profile, judges)
    place = {judge.pk: at for at, judge in enumerate(judges)}
    for run in large:
        if run.pk in packed:
            rows = [row_of[run.pk, sample] for sample in range(1, run.samples + 1)]
            _unpack(packed[run.pk], cells, rows, place)
    return cells


def _empty(judges: int, rows: int, grid: Grid) -> Cells:
    import numpy as np

    answers = np.full((judges, rows, len(grid.keys)), -1, dtype=np.int8)
    longest = max(map(len, grid.prerequisites), default=0)
    return Cells(
        answers, np.full((*answers.shape, longest), -1, dtype=np.int8), np.zeros(answers.shape[1:], dtype=bool)
    )


def _fill(
    cells: Cells,
    grid: Grid,
    runs: Sequence[Run],
    judges: Sequence[Judge],
    row_of: dict[tuple[int, int], int],
    profile: Profile,
    places: Sequence[Judge] = (),
) -> None:
    """From the rows of responses and verdicts. places: the judges of the cells, where they are more."""
    column_of = {pk: column for column, pk in enumerate(grid.keys)}
    judge_of = {judge.pk: at for at, judge in enumerate(places or judges)}
    done = Response.objects.filter(run__in=runs, status=Work.Status.COMPLETED)
    cell_of = {}
    for pk, run_pk, sample, item_pk in done.values_list("pk", "run_id", "sample", "release_item_id").iterator(5000):
        cell_of[pk] = row_of[run_pk, sample], column_of[item_pk]
        cells.completed[cell_of[pk]] = True
    verdicts = Verdict.objects.filter(run__in=runs, judge__in=judges, repeat=1, status=Work.Status.COMPLETED)
    fields = ["response_id", "judge_id", "answer_correct", "vector"]
    if profile is Profile.STRICT:
        verdicts = verdicts.filter(unparseable="", vector__isnull=False)
    else:
        fields.append("output")
    for response_pk, judge_pk, correct, vector, *output in verdicts.values_list(*fields).iterator(5000):
        if response_pk not in cell_of:
            continue
        row, item = cell_of[response_pk]
        if output and output[0]:
            correct, vector = read_as_published(output[0])
        if correct is None and vector is None:
            continue
        _, flags, _ = apply_profile(profile, grid.prerequisites[item], correct, vector)
        cells.answers[judge_of[judge_pk], row, item] = bool(correct)
        cells.stated[judge_of[judge_pk], row, item, : len(flags)] = flags


# --- packed copies ------------------------------------------------------------------------------------------------


def store_cells(grid: Grid, runs: Sequence[Run], at_once: int, profile: Profile) -> None:
    """Pack what runs that have ended hold, of every judge but people, where it is worth it and no copy is stored.

    at_once: how many judges are usually read together.
    """
    large = [run for run in runs if _is_packed(run, at_once)]
    stored = _packed(large, profile, "input_hash") if large else {}
    for run in large:
        if run.pk in stored:
            continue
        judges = list(Judge.objects.filter(pk__in=_machines(run)).order_by("pk"))
        row_of = rows_of_samples([run])
        cells = _empty(len(judges), len(row_of), grid)
        _fill(cells, grid, [run], judges, row_of, profile)
        data = {
            "completed": _packed_array(cells.completed),
            "judges": {
                str(judge.pk): [_packed_array(cells.answers[at]), _packed_array(cells.stated[at])]
                for at, judge in enumerate(judges)
            },
        }
        kind, input_hash = _name(run, profile)
        report = Report(benchmark_id=run.benchmark_id, kind=kind, input_hash=input_hash, data=data)
        with write():
            Report.objects.filter(kind=kind).exclude(input_hash=input_hash).delete()  # of how the run stood before
            Report.objects.bulk_create([report], ignore_conflicts=True)


def _machines(run: Run) -> Any:
    return Verdict.objects.filter(run=run, judge__person=None).order_by().values("judge").distinct()


def _is_packed(run: Run, judges: int) -> bool:
    return run.state == RunState.FINISHED and run.item_count * run.samples * judges >= PACKED_FROM


def _name(run: Run, profile: Profile) -> tuple[str, str]:
    """Kind and hash of a run's packed copy."""
    return f"cells:{run.pk}:{profile}", canonical_hash([VERSION, run.pk, str(run.created), str(run.ended)])


def _packed(runs: Collection[Run], profile: Profile, column: str = "data") -> dict[int, Any]:
    """Run's key -> its packed copy (or another column), where one is stored."""
    names = {_name(run, profile): run.pk for run in runs}
    stored = Report.objects.filter(kind__in={kind for kind, _hash in names}, input_hash__in={h for _kind, h in names})
    rows = stored.values_list("kind", "input_hash", column)
    return {names[kind, input_hash]: value for kind, input_hash, value in rows if (kind, input_hash) in names}


def _packed_array(array: NDArray[Any]) -> str:
    return b64encode(compress(array.tobytes(), _LEVEL)).decode()


def _unpack(data: dict[str, Any], cells: Cells, rows: list[int], place: dict[int, int]) -> None:
    import numpy as np

    def array(text: str, like: NDArray[Any]) -> NDArray[Any]:
        return np.frombuffer(decompress(b64decode(text)), dtype=like.dtype).reshape(len(rows), *like.shape[1:])

    cells.completed[rows] = array(data["completed"], cells.completed)
    for pk, (answers, stated) in data["judges"].items():
        if (at := place.get(int(pk))) is not None:
            cells.answers[at, rows] = array(answers, cells.answers[at])
            cells.stated[at, rows] = array(stated, cells.stated[at])
