"""The leaderboard of a release under one judge: a page, and the same rows as CSV."""

import csv
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import pairwise
from typing import Any
from urllib.parse import urlencode

from django.http import Http404, HttpRequest, HttpResponse, QueryDict
from django.shortcuts import render
from django.urls import reverse
from django.utils.translation import gettext as _
from django.views.decorators.http import require_safe

from annotation.benchmarks import Benchmark, get_benchmark_for
from audit.releases import Release
from evaluation.models import Condition, Group, Judge
from evaluation.queries import judges_on, releases_of
from evaluation.reports import leaderboard
from evaluation.scoring.metrics import METRICS, Profile


@dataclass
class Results:
    """What was asked for, and the rows of it, sorted and ranked."""

    benchmark: Benchmark
    releases: list[Release]
    release: Release | None
    judges: list[Judge]
    judge: Judge | None
    condition: str
    profile: Profile
    sort: str
    grouped: bool
    report: Mapping[str, Any]
    rows: list[dict[str, Any]]
    others: int  # rows of the other condition

    def query(self, **changes: str) -> str:
        """The address's query with some values changed."""
        values = {
            "release": self.release.name if self.release else "",
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
    def overlapping(self) -> list[tuple[str, str]]:
        """Neighbours in the ranking whose intervals overlap."""
        pairs = pairwise(self.rows)
        return [(a["system"], b["system"]) for a, b in pairs if a["ci"][self.sort][0] <= b["ci"][self.sort][1]]


def read_results(benchmark: Benchmark, query: QueryDict) -> Results:
    """Raises Http404 for a release or judge that is not there; other values fall back to the usual ones."""
    releases = list(releases_of(benchmark))
    wanted = query.get("release", "")
    release = next((r for r in releases if r.name == wanted), None) if wanted else next(iter(releases), None)
    if wanted and release is None:
        raise Http404
    judges = list(judges_on(release)) if release else []
    wanted = query.get("judge", "")
    judge = next((j for j in judges if str(j.pk) == wanted), None)
    if wanted and judge is None:
        raise Http404
    profile = Profile.AS_PUBLISHED if query.get("profile") == Profile.AS_PUBLISHED else Profile.STRICT
    report: Mapping[str, Any] = leaderboard(release, judge, profile) if release else {"n": 0, "judge": None, "runs": []}
    if judge is None and report["judge"]:
        judge = next((j for j in judges if j.pk == report["judge"]["pk"]), None)
    condition = query.get("condition", "")
    condition = condition if condition in Condition.values else Condition.WITH_IMAGE.value
    sort = query.get("sort", "")
    sort = sort if sort in METRICS else "DACS"
    rows = [dict(row) for row in report["runs"] if row["condition"] == condition]
    rows.sort(key=lambda row: (-row[sort], -row["DACS"], row["system"]))
    for place, row in enumerate(rows, 1):
        same = place > 1 and rows[place - 2][sort] == row[sort]
        row["rank"] = rows[place - 2]["rank"] if same else place
    return Results(
        benchmark,
        releases,
        release,
        judges,
        judge,
        condition,
        profile,
        sort,
        query.get("view") != "flat",
        report,
        rows,
        len(report["runs"]) - len(rows),
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
        "results": results,
        "columns": [
            {"metric": m, "title": heads[m], "url": "?" + results.query(sort=m), "sorted": m == results.sort}
            for m in METRICS
        ],
        "conditions": Condition.choices,
        "profiles": [profile.value for profile in Profile],
        "csv_url": reverse("evaluation:leaderboard-csv", args=[slug]) + "?" + results.query(),
        "flat_url": "?" + results.query(view="flat"),
        "grouped_url": "?" + results.query(view=""),
        "not_judged": [row for row in missing if row["condition"] == results.condition],
        "demo": any(row["demo"] for row in results.rows) or bool(results.judge and results.judge.endpoint.is_demo),  # type: ignore[union-attr]
        "bootstrap": results.rows[0]["bootstrap"] if results.rows else None,
    }
    return render(request, "evaluation/leaderboard.html", context)


# --- CSV ----------------------------------------------------------------------------------------------------------


def _safe(cell: Any) -> Any:
    """Text that a spreadsheet would take for a formula gets an apostrophe before it."""
    return f"'{cell}" if isinstance(cell, str) and cell[:1] in ("=", "+", "-", "@", "\t", "\r", "\n") else cell


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
            *(row[name] for name in ("system", "model", "group", "family", "condition", "number", "demo", "n")),
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
def leaderboard_csv(request: HttpRequest, slug: str) -> HttpResponse:
    results = read_results(get_benchmark_for(request.user, slug), request.GET)
    response = HttpResponse(content_type="text/csv; charset=utf-8")
    release = results.release.name if results.release else "none"
    name = f"leaderboard-{slug}-{release}-{results.condition}-{results.profile}.csv"
    response["Content-Disposition"] = f'attachment; filename="{name}"'
    response["X-Content-Type-Options"] = "nosniff"
    _write(response, csv_rows(results))
    return response


def _write(file: Any, rows: Iterable[list[Any]]) -> None:
    writer = csv.writer(file)
    writer.writerows([_safe(cell) for cell in row] for row in rows)
