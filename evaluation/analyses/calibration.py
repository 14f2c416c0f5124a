"""The judges held against people, and the four metrics corrected by what people said."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from evaluation.models import Verdict
from evaluation.scoring.calibration import compare_marks, prediction_powered
from evaluation.scoring.metrics import METRICS, score_matrix

from .base import Analysis, Options
from .tables import Column, Picture, Result, Table, percent_column
from .words import lacking

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from .data import Results


@dataclass(frozen=True, slots=True)
class _People:
    """The people's word: answers (S, n) and steps (S, n, M) of 1, 0, and -1 where nobody judged."""

    answers: NDArray[np.int8]
    stated: NDArray[np.int8]
    several: int  # responses that more than one person judged


def compute(results: Results, options: Options) -> Result:
    people = [at for at, judge in enumerate(results.judges) if judge.person_id is not None]
    models = [at for at, judge in enumerate(results.judges) if judge.person_id is None]
    word = _people(results, people)
    marked = word.answers >= 0
    if not models or not marked.any():
        lack = (
            _("There is no verdict by a person. People give them under Runs, Marking.")
            if models
            else _("There is no verdict by a model.")
        )
        return Result([], 0, [lack])
    main = results.main if results.main in models else models[0]
    missing = lacking(results)
    of_runs = results.by_run(marked) > 0  # (R, n): of an item asked several times, whether any sample is marked
    unmarked = [label for label, row in zip(results.labels, of_runs, strict=True) if not row.any()]
    if unmarked:
        missing.append(_("No person has judged a response of %s.") % ", ".join(unmarked))
    partial = int(of_runs.any(axis=1).sum()) * len(results.items) - int(of_runs.sum())
    warnings = []
    if partial:
        text = _(
            "People judged %(marked)d of %(all)d items of these systems. The corrected figures hold if these are a "
            "random sample; chosen by hand they do not."
        )
        warnings.append(text % {"marked": of_runs.sum(), "all": partial + int(of_runs.sum())})
    rows_of_people = Verdict.objects.filter(run__in=results.runs, judge__in=[results.judges[at] for at in people])
    seen = rows_of_people.filter(repeat=1, blind=False).count()
    if seen:
        warnings.append(_("Verdicts by people who had seen the judges' before: %d.") % seen)
    tables = [_against(results, models, word), _corrected(results, main, word)]
    return Result(tables, int(marked.sum()), missing, warnings)


def _people(results: Results, people: list[int]) -> _People:
    """Of several people's verdicts on a response: yes where at least half of them say so."""
    import numpy as np

    answers, stated = results.all_answers[people], results.all_stated[people]
    given = answers >= 0
    count = given.sum(axis=0)

    def word(said: NDArray[np.bool_], where: NDArray[np.bool_], voices: NDArray[np.int64]) -> NDArray[np.int8]:
        return np.where(where, 2 * said.sum(axis=0) >= voices, -1).astype(np.int8)

    within = np.arange(stated.shape[3]) < np.array(results.lengths)[:, None]
    steps = word(stated == 1, (count > 0)[..., None] & within, count[..., None])
    return _People(word(answers == 1, count > 0, count), steps, int((count > 1).sum()))


def _against(results: Results, models: list[int], word: _People) -> Table:
    rows = []
    for at in models:
        both = (results.all_answers[at] >= 0) & (word.answers >= 0)
        steps = both[..., None] & (word.stated >= 0)
        for what, mine, theirs, cells in (
            (_("answers"), results.all_answers[at], word.answers, both),
            (_("steps"), results.all_stated[at], word.stated, steps),
        ):
            marks = compare_marks(mine[cells] == 1, theirs[cells] == 1)
            rows.append(
                {
                    "judge": results.judges[at].name,
                    "what": what,
                    "responses": int(both.sum()),
                    "n": marks.n,
                    "raw": marks.raw,
                    "kappa": marks.kappa,
                    "precision": marks.precision,
                    "recall": marks.recall,
                    "judge_only": marks.judge_only,
                    "people_only": marks.people_only,
                }
            )
    columns = (
        Column("judge", _("judge")),
        Column("what", _("judged")),
        Column("responses", _("responses of both"), "count"),
        Column("n", _("things judged"), "count"),
        percent_column("raw", _("same verdict")),
        Column("kappa", _("kappa"), "number"),
        percent_column("precision", _("precision")),
        percent_column("recall", _("recall")),
        Column("judge_only", _("yes by the judge only"), "count"),
        Column("people_only", _("yes by people only"), "count"),
    )
    note = _(
        "Precision: of what the judge credits, what people credit; recall: of what people credit, what the judge does."
    )
    if (results.samples > 1).any():
        note += " " + _("Of several samples every judged one counts by itself here.")
    if word.several:
        note += " " + _("Where several people judged a response (%d), half of them make a yes.") % word.several
    return Table("marks", _("Judges against people"), columns, rows, note)


def _corrected(results: Results, main: int, word: _People) -> Table:
    import numpy as np

    cells = word.answers >= 0
    weights, marked = results.weights(cells), results.by_run(cells) > 0
    judge = results.values(main)
    real = score_matrix(results.graph, word.answers == 1, results.graph.pack_array(word.stated))
    scores = real.oa, real.sa, real.cs, real.dacs
    real_of = {m: results.by_run(of_samples * weights) for m, of_samples in zip(METRICS, scores, strict=True)}
    rows: list[dict[str, Any]] = []
    for run, label in enumerate(results.labels):
        for metric in METRICS if marked[run].any() else ():
            found = prediction_powered(judge[metric][run], np.where(marked[run], real_of[metric][run], np.nan))
            rows.append(
                {
                    "system": label,
                    "metric": metric,
                    "judge": found.judge,
                    "people": found.people,
                    "value": found.value,
                    "value_low": found.low,
                    "value_high": found.high,
                    "n": found.n,
                    "total": found.total,
                    "weight": found.weight,
                }
            )
    columns = (
        Column("system", _("system")),
        Column("metric", _("metric")),
        percent_column("judge", _("by %s alone") % results.judges[main].name),
        percent_column("people", _("by people, on what they judged")),
        percent_column("value", _("corrected"), interval=True),
        Column("n", _("items judged by people"), "count"),
        Column("total", _("items"), "count"),
        Column("weight", _("weight of the judge"), "number"),
    )
    note = _("With one judged item there is no interval.") if any(row["n"] == 1 for row in rows) else ""
    picture = Picture("intervals", "system", ("value",), "metric")
    return Table("corrected", _("Metrics corrected by people"), columns, rows, note, picture)


CALIBRATION = Analysis(
    "calibration",
    gettext_lazy("Calibration by people"),
    gettext_lazy(
        "How judges compare with people on the responses of both, and the metrics with the judge's bias taken off by "
        "prediction-powered inference (Angelopoulos et al. 2023, with the weight of PPI++)."
    ),
    compute,
    people=True,
    unjudged=True,
    draws="",
)
