"""All analyses by key, and their results: stored as Reports, computed anew only when what they rest on changed."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, replace

from django.utils.translation import get_language, ngettext
from django.utils.translation import gettext as _

from annotation.document import canonical_hash
from audit.releases import Release
from evaluation.claims import write
from evaluation.models import Judge, Report, Run
from evaluation.scoring.bootstrap import RESAMPLES, SEED
from evaluation.scoring.metrics import Profile

from .base import Analysis, Options
from .breaks import CAUSES, LEVELS, SENSITIVITY
from .calibration import CALIBRATION
from .costs import ATTEMPTED, COSTS
from .data import Results, inputs_hash, load
from .dataset import DATASET, RELEASES
from .gaps import GAPS
from .health import HEALTH
from .image_ablation import IMAGE_ABLATION
from .judge_changes import JUDGE_CHANGES, VARIANTS
from .judging import JUDGES
from .modes import MODES
from .scores import SCORES
from .separability import SEPARABILITY
from .splits import LENGTH, SPLITS
from .tables import Result, from_json
from .two_runs import TWO_RUNS

VERSION = 4  # of how results are loaded, scored and stored; an analysis has its own besides

ANALYSES: dict[str, Analysis] = {
    analysis.key: analysis
    for analysis in (
        SCORES,
        GAPS,
        SEPARABILITY,
        IMAGE_ABLATION,
        TWO_RUNS,
        SPLITS,
        LENGTH,
        JUDGES,
        JUDGE_CHANGES,
        VARIANTS,
        LEVELS,
        CAUSES,
        SENSITIVITY,
        MODES,
        HEALTH,
        CALIBRATION,
        COSTS,
        ATTEMPTED,
        RELEASES,
        DATASET,
    )
}


@dataclass(frozen=True, slots=True)
class Analysed:
    """hash: of everything the result rests on, "" where it could not be computed. version: of the code."""

    result: Result
    hash: str
    version: str
    options: Options


def analyse(
    release: Release,
    runs: Sequence[Run],
    judges: Sequence[Judge],
    main: Judge | None,
    key: str,
    profile: Profile = Profile.STRICT,
    seed: int = SEED,
) -> Analysed:
    """The stored result, or the one that is computed now, and stored.

    Where there are fewer runs or judges than the analysis needs, its result has no tables, and says what is missing.
    Raises KeyError for an analysis that is not there; otherwise as `data.load`.
    """
    analysis, options = ANALYSES[key], Options(profile, seed)
    version = f"{VERSION}.{analysis.version}"
    missing = _missing(analysis, runs, judges)
    if missing:
        return Analysed(Result([], 0, missing), "", version, options)
    inputs = inputs_hash(release, runs, judges, main, profile)
    besides = analysis.besides and analysis.besides(release, runs, main)
    input_hash = canonical_hash([key, version, seed, RESAMPLES, get_language(), inputs, besides])
    kind = f"analysis:{key}"
    data = Report.objects.filter(kind=kind, input_hash=input_hash).values_list("data", flat=True).first()
    if data is None:
        result = compute_judged(analysis, load(release, runs, judges, main, profile), options)
        data = json.loads(json.dumps(result.to_json(), allow_nan=False))
        report = Report(benchmark_id=release.benchmark_id, kind=kind, input_hash=input_hash, data=data)
        with write():
            Report.objects.bulk_create([report], ignore_conflicts=True)
    return Analysed(from_json(data), input_hash, version, options)


def compute_judged(analysis: Analysis, results: Results, options: Options) -> Result:
    """Runs with answers of which the main judge judged none are left out, as on the leaderboard: they have no score. A
    run without any answer stays, as its score is nothing."""
    if analysis.unjudged:
        return analysis.compute(results, options)
    judged, answered = (
        cells.sum(axis=1) for cells in (results.scores["judged"], results.by_run(results.all_completed))
    )
    kept_runs = [at for at in range(len(results.runs)) if judged[at] or not answered[at]]
    if len(kept_runs) == len(results.runs):
        return analysis.compute(results, options)
    names = ", ".join(label for at, label in enumerate(results.labels) if at not in kept_runs)
    text = _("%(judge)s has judged no answer of these, so they are left out: %(runs)s.")
    left_out = text % {"judge": results.judges[results.main].name, "runs": names}
    kept = results.only(kept_runs)
    if missing := _missing(analysis, kept.runs, kept.judges):
        return Result([], 0, [left_out, *missing])
    result = analysis.compute(kept, options)
    return replace(result, missing=[left_out, *result.missing])


def _missing(analysis: Analysis, runs: Sequence[Run], judges: Sequence[Judge]) -> list[str]:
    sentences = []
    if len(runs) < analysis.runs:
        text = ngettext(
            "This needs a finished run; %(found)d is chosen.",
            "This needs %(count)d finished runs; %(found)d is chosen.",
            analysis.runs,
        )
        sentences.append(text % {"count": analysis.runs, "found": len(runs)})
    if len(judges) < analysis.judges:
        text = ngettext(
            "This needs verdicts of a judge; there is none.",
            "This needs verdicts of %(count)d judges on the same responses; there are those of %(found)d.",
            analysis.judges,
        )
        sentences.append(text % {"count": analysis.judges, "found": len(judges)})
    return sentences
