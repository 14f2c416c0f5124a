"""The leaderboard of a release, or of a study on it, under one judge: a page, and the same rows as CSV."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import pairwise
from typing import Any
from urllib.parse import urlencode

from django.http import HttpRequest, HttpResponse, QueryDict, StreamingHttpResponse
from django.shortcuts import render
from django.urls import reverse
from django.utils.translation import gettext as _
from django.views.decorators.http import require_safe

from annotation.benchmarks import Benchmark, get_benchmark_for
from audit.releases import Release
from evaluation.analyses.choice import problem_of
from evaluation.analyses.scores import SCORES
from evaluation.models import Condition, Group, Judge, Study
from evaluation.queries import judges_on, releases_of
from evaluation.reports import leaderboard
from evaluation.scoring.metrics import METRICS, Profile
from evaluation.study_queries import studies_of
from lhdr_site.shared.downloads import csv_response

from .analyses import navigation, refuse


@dataclass
class Results:
    """What was asked for, and the rows of it, sorted and ranked."""

    benchmark: Benchmark
    releases: list[Release]
    release: Release | None
    studies: list[Study]
    study: Study | None
    judges: list[Judge]
    judge: Judge | None
    condition: str
    profile: Profile
    sort: str
    grouped: bool
    report: Mapping[str, Any]
    rows: list[dict[str, Any]]
    others: int  # rows of the other condition
    left_aside: Study | None  # asked for, and on another release
    problems: list[dict[str, str]]  # what was asked for and is not there; without rows where there are any

    def query(self, **changes: str) -> str:
        """The address's query with some values changed."""
        values = {
            "release": self.release.name if self.release else "",
            "study": str(self.study.number) if self.study else "",
            "judge": str(self.judge.pk) if self.judge else "",
            "condition": self.condition,
            "profile": "" if self.profile is Profile.STRICT else self.profile,
            "sort": self.sort,
            "view": "" if self.grouped else "flat",
            **changes,
        }
        return urlencode({name: value for name, value in values.items() if value})

    @property
    def groups(self) -> list[tuple[str, list[dict[str, Any]]]]:
        """Rows by group of systems, the groups in the order of their best row; one nameless group when flat."""
        if not self.grouped:
            return [("", self.rows)]
        names = dict(Group.choices)
        groups: dict[str, list[dict[str, Any]]] = {}
        for row in self.rows:
            groups.setdefault(row["group"], []).append(row)
        return [(str(names.get(group, group)), rows) for group, rows in groups.items()]

    @property
    def samples(self) -> list[int]:
        """How often the items were asked, each number once; empty where every item was asked once."""
        numbers = sorted({row["samples"] for row in self.rows})
        return numbers if numbers not in ([], [1]) else []

    @property
    def partial(self) -> list[dict[str, Any]]:
        """Rows of which a person marked a part only, each with `marked`."""
        if self.judge is None or self.judge.person_id is None:
            return []
        rows = [{**row, "marked": row["counts"]["completed"] - row["counts"]["without_verdict"]} for row in self.rows]
        return [row for row in rows if row["counts"]["without_verdict"]]

    @property
    def unvaried(self) -> bool:
        """Whether some interval is a single point."""
        return any(low == high for row in self.rows for low, high in row["ci"].values())

    @property
    def overlapping(self) -> list[tuple[str, str]]:
        """Neighbours in the ranking whose intervals overlap."""
        pairs = pairwise(self.rows)
        return [(a["system"], b["system"]) for a, b in pairs if a["ci"][self.sort][0] <= b["ci"][self.sort][1]]


def read_results(benchmark: Benchmark, query: QueryDict) -> Results:
    """`judge` is a name or a number. A study of another release than the one that is named is left aside: somebody
    chose another release in the form.
    """
    releases = list(releases_of(benchmark))
    wanted, number = query.get("release", ""), query.get("study", "")
    problems: list[dict[str, str]] = []
    studies = list(studies_of(benchmark)) if releases else []
    study = next((s for s in studies if str(s.number) == number), None)
    if number and study is None:
        problems.append(problem_of("study"))
    if not wanted and study:
        wanted = study.release.name
    release = next((r for r in releases if r.name == wanted), None) if wanted else next(iter(releases), None)
    if wanted and release is None:
        problems.append(problem_of("release"))
    studies = [s for s in studies if s.release == release]
    left_aside, study = (None, study) if study in studies else (study, None)
    judges = list(study.judges.select_related("endpoint") if study else judges_on(release)) if release else []
    wanted = query.get("judge", "")
    judge = next((j for j in judges if wanted in (str(j.pk), j.name)), None)
    if wanted and judge is None:
        problems.append(problem_of("judge"))
    condition = query.get("condition", "") or (study.conditions[0] if study else Condition.WITH_IMAGE.value)
    named, sort = query.get("profile", "") or Profile.STRICT, query.get("sort", "") or "DACS"
    if condition not in Condition.values:
        problems.append(problem_of("condition"))
    if named not in list(Profile):
        problems.append(problem_of("profile"))
    if sort not in METRICS:
        problems.append({"path": "sort", "message": _("The order is by one of: %s.") % ", ".join(METRICS)})
    profile = Profile.STRICT if problems else Profile(named)
    report: Mapping[str, Any] = {"n": 0, "judge": None, "runs": []}
    if release and not problems:
        report = leaderboard(release, judge, profile, study)
    if judge is None and report["judge"]:
        judge = next((j for j in judges if j.pk == report["judge"]["pk"]), None)
    rows = [dict(row) for row in report["runs"] if row["condition"] == condition]
    rows.sort(key=lambda row: (-row[sort], -row["DACS"], row["system"]))
    for place, row in enumerate(rows, 1):
        same = place > 1 and rows[place - 2][sort] == row[sort]
        row["rank"] = rows[place - 2]["rank"] if same else place
    return Results(
        benchmark,
        releases,
        release,
        studies,
        study,
        judges,
        judge,
        condition,
        profile,
        sort,
        query.get("view") != "flat",
        report,
        rows,
        len(report["runs"]) - len(rows),
        left_aside,
        problems,
    )


@require_safe
def results_page(request: HttpRequest, slug: str) -> HttpResponse:
    benchmark = get_benchmark_for(request.user, slug)
    results = read_results(benchmark, request.GET)
    heads = {
        "OA": _("Overall accuracy: the final answer is correct"),
        "SA": _("Strict accuracy: the answer is correct and every step is stated"),
        "CS": _("Checklist score: share of steps stated"),
        "DACS": _("Dependency-aware checklist score: share of steps stated with all their prerequisites"),
    }
    missing = results.report.get("not_judged", [])
    context = {
        "nav": "results",
        "entries": navigation(benchmark, "", "" if results.problems else request.GET.urlencode()),
        "problems": results.problems,
        "left_aside": results.left_aside,
        "results": results,
        "columns": [
            {"metric": m, "title": heads[m], "url": "?" + results.query(sort=m), "sorted": m == results.sort}
            for m in METRICS
        ],
        "conditions": Condition.choices,
        "profiles": [profile.value for profile in Profile],
        "csv_url": reverse("evaluation:leaderboard-csv", args=[slug]) + "?" + results.query(),
        "scores_url": reverse("evaluation:analysis", args=[slug, SCORES.key]) + "?" + results.query(sort="", view=""),
        "flat_url": "?" + results.query(view="flat"),
        "grouped_url": "?" + results.query(view=""),
        "not_judged": [row for row in missing if row["condition"] == results.condition],
        "demo": any(row["demo"] for row in results.rows)
        or bool(results.judge and results.judge.endpoint and results.judge.endpoint.is_demo),
        "bootstrap": results.rows[0]["bootstrap"] if results.rows else None,
    }
    return render(request, "evaluation/leaderboard.html", context, status=404 if results.problems else 200)


# --- CSV ----------------------------------------------------------------------------------------------------------


def csv_rows(results: Results) -> Iterator[list[Any]]:
    """A head and one line per system; scores are fractions."""
    yield [
        "rank",
        "system",
        "model",
        "group",
        "family",
        "condition",
        "run",
        "demo",
        "n",
        "samples",
        "failed",
        "without_verdict",
        *(name for m in METRICS for name in (m, f"{m}_low", f"{m}_high")),
        "attempted_n",
        *(f"attempted_{m}" for m in METRICS),
        "release",
        "audited",
        "judge",
        "prompt",
        "profile",
        "resamples",
        "seed",
    ]
    for row in results.rows:
        assert results.release and results.judge
        yield [
            row["rank"],
            *(
                row[name]
                for name in ("system", "model", "group", "family", "condition", "number", "demo", "n", "samples")
            ),
            row["counts"]["not_completed"],
            row["counts"]["without_verdict"],
            *(figure for m in METRICS for figure in (row[m], *row["ci"][m])),
            *(row["attempted"][name] for name in ("n", *METRICS)),
            results.release.name,
            results.release.audited,
            results.judge.name,
            results.judge.prompt_version,
            results.profile,
            row["bootstrap"]["resamples"],
            row["bootstrap"]["seed"],
        ]


@require_safe
def leaderboard_csv(request: HttpRequest, slug: str) -> StreamingHttpResponse:
    results = read_results(get_benchmark_for(request.user, slug), request.GET)
    refuse(results.problems)
    release = results.release.name if results.release else "none"
    release += f"-study-{results.study.number}" if results.study else ""
    name = f"leaderboard-{slug}-{release}-{results.condition}-{results.profile}"
    head, *rows = csv_rows(results)
    return csv_response(name, head, rows, mark=False)
