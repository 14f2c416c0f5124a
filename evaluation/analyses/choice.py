"""Which release, runs, judge and profile somebody wants analysed, read from the query of a page or of the API."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlencode

from django.db.models import Exists, OuterRef
from django.http import QueryDict
from django.utils.translation import gettext as _

from annotation.benchmarks import Benchmark
from audit.releases import Release
from evaluation.models import Condition, Judge, Run, RunState, Study, Verdict
from evaluation.queries import judges_on, releases_of
from evaluation.reports import newest_finished
from evaluation.scoring.metrics import Profile
from evaluation.study_queries import studies_of

from .base import Analysis
from .registry import Analysed, analyse


@dataclass
class Choice:
    """judges: those that can be chosen; judge: whose verdicts the metrics rest on. finished: the runs that can be
    chosen; runs: those that are. named: by the address. left_aside: a study that is asked for, on another release.
    problems: what was asked for and is not there."""

    benchmark: Benchmark
    analysis: Analysis
    profile: Profile = Profile.STRICT
    condition: str = Condition.WITH_IMAGE.value
    releases: list[Release] = field(default_factory=list)
    release: Release | None = None
    studies: list[Study] = field(default_factory=list)
    study: Study | None = None
    left_aside: Study | None = None
    judges: list[Judge] = field(default_factory=list)
    judge: Judge | None = None
    finished: list[Run] = field(default_factory=list)
    runs: list[Run] = field(default_factory=list)
    named: bool = False
    problems: list[dict[str, str]] = field(default_factory=list)

    def query(self) -> str:
        """What brings back the same choice, whatever is launched or released later."""
        values = [
            ("release", self.release.name if self.release else ""),
            ("study", str(self.study.number) if self.study else ""),
            ("judge", str(self.judge.pk) if self.judge else ""),
            ("condition", "" if self.analysis.conditions else self.condition),
            ("profile", self.profile),
            *(("run", str(run.number)) for run in self.runs),
        ]
        return urlencode([(name, value) for name, value in values if value])

    def analysed(self) -> Analysed:
        """Raises ValueError without a release."""
        if self.release is None:
            raise ValueError("there is no release")
        judges = list(
            Judge.objects.filter(runs__in=self.runs, endpoint__isnull=False)
            .select_related("endpoint")
            .distinct()
            .order_by("name")
        )
        if self.judge and self.judge not in judges:
            judges.append(self.judge)
        if self.analysis.people:
            theirs = Verdict.objects.filter(judge=OuterRef("pk"), run__in=self.runs)
            people = Judge.objects.filter(Exists(theirs), benchmark=self.release.benchmark_id, person__isnull=False)
            judges += people.select_related("person").order_by("name")
        return analyse(self.release, self.runs, judges, self.judge, self.analysis.key, self.profile)

    def source(self, analysed: Analysed) -> str:
        """What a result was computed from, in one line."""
        assert self.release
        numbers = ", ".join(str(run.number) for run in sorted(self.runs, key=lambda run: run.number))
        text = (
            _(
                "Computed from %(used)d judged responses of runs %(runs)s on release %(release)s under judge "
                "%(judge)s, profile %(profile)s."
            )
            if self.analysis.judges
            else _("Computed from %(used)d items of release %(release)s.")
        )
        code = _("Code %(version)s; inputs %(hash)s.")
        return " ".join(part for part in (text, str(self.analysis.draws), code) if part) % {
            "used": analysed.result.used,
            "runs": numbers or "–",
            "release": self.release.name,
            "judge": self.judge.name if self.judge else "–",
            "profile": self.profile.value,
            "resamples": analysed.options.resamples,
            "seed": analysed.options.seed,
            "version": analysed.version,
            "hash": analysed.hash[:16],
        }


def choose(benchmark: Benchmark, analysis: Analysis, query: QueryDict) -> Choice:
    """Usual values where nothing is asked for: the newest release, its newest finished run of each system under one
    condition, the main judge of most of them. `judge` is a name or a number."""
    choice = Choice(benchmark, analysis)
    choice.releases = list(releases_of(benchmark))
    choice.studies = list(studies_of(benchmark)) if choice.releases else []
    study = query.get("study", "")
    if study:
        choice.study = _one(choice, "study", [s for s in choice.studies if str(s.number) == study])
    name = query.get("release", "") or (choice.study.release.name if choice.study else "")
    if name:
        choice.release = _one(choice, "release", [r for r in choice.releases if r.name == name])
    else:
        choice.release = next(iter(choice.releases), None)
    for path, values in (("condition", Condition.values), ("profile", list(Profile))):
        if query.get(path) and query[path] not in values:
            _problem(choice, path)
        elif query.get(path):
            setattr(choice, path, query[path])
    choice.profile = Profile(choice.profile)
    if choice.release is None:
        return choice
    choice.studies = [s for s in choice.studies if s.release_id == choice.release.pk]
    if choice.study not in choice.studies:
        choice.left_aside, choice.study = choice.study, None
    if choice.study and not query.get("condition"):
        choice.condition = choice.study.conditions[0]
    _choose_runs(choice, query.getlist("run"), query.get("condition", ""))
    _choose_judge(choice, query.get("judge", ""))
    return choice


def _choose_runs(choice: Choice, numbers: Sequence[str], condition: str) -> None:
    """Runs that are named are taken as they are, and the condition is theirs: "" where they differ in it."""
    assert choice.release
    finished = Run.objects.filter(release=choice.release, state=RunState.FINISHED, is_trial=False)
    if choice.study:
        finished = finished.filter(study=choice.study)
    choice.finished = list(
        finished.select_related("system__endpoint", "main_judge__endpoint", "study").order_by("-number")
    )
    by_number = {str(run.number): run for run in choice.finished}
    wanted = [number for number in dict.fromkeys(numbers) if number]
    if wanted:
        choice.named = True
        choice.runs = [by_number[number] for number in wanted if number in by_number]
        if len(choice.runs) < len(wanted):
            _problem(choice, "run")
        elif choice.analysis.pair and len(wanted) > 2:
            choice.problems.append({"path": "run", "message": _("Two runs are compared; name two.")})
        theirs = {run.condition for run in choice.runs}
        if condition and not choice.analysis.conditions and not choice.analysis.pair and theirs - {condition}:
            text = _("Not all runs that are named were asked under this condition. Choose theirs, or other runs.")
            choice.problems.append({"path": "condition", "message": text})
        elif not condition and theirs:
            choice.condition = theirs.pop() if len(theirs) == 1 else ""
    else:
        newest = newest_finished(choice.release, choice.study)
        if not choice.analysis.conditions:
            newest = [run for run in newest if run.condition == choice.condition]
        choice.runs = newest
    if choice.analysis.pair:
        choice.runs = choice.runs[:2]


def _choose_judge(choice: Choice, wanted: str) -> None:
    assert choice.release
    judges = choice.study.judges.select_related("endpoint") if choice.study else judges_on(choice.release)
    choice.judges = list(judges)
    if wanted:
        choice.judge = _one(choice, "judge", [j for j in choice.judges if wanted in (str(j.pk), j.name)])
    if choice.judge:
        return
    mains = [run.main_judge for run in choice.runs]
    usual = choice.study.main_judge if choice.study else None
    choice.judge = usual or max(mains, key=lambda judge: (mains.count(judge), -judge.pk), default=None)


def _one(choice: Choice, path: str, found: Sequence[Any]) -> Any:
    if not found:
        _problem(choice, path)
    return found[0] if found else None


def _problem(choice: Choice, path: str) -> None:
    choice.problems.append(problem_of(path))


def problem_of(path: str) -> dict[str, str]:
    """What is wrong with a value of an address, by its name."""
    words = {
        "release": _("There is no such release in this benchmark."),
        "study": _("There is no such study in this benchmark."),
        "run": _("Every run is the number of a finished run on the release, in the study where one is named."),
        "judge": _("No run on the release was judged by such a judge."),
        "condition": _("The condition is with_image or without_image."),
        "profile": _("The profile is strict or as-published."),
    }
    return {"path": path, "message": words[path]}
