"""All analyses of a release or study as one page without a server, with its tables as CSV and LaTeX, and every number
as a LaTeX macro. The same verdicts give the same bytes: nothing in it tells the time.
"""

from __future__ import annotations

import csv
from collections.abc import Sequence
from io import StringIO
from pathlib import Path
from typing import Any

from django.contrib.staticfiles import finders
from django.http import QueryDict
from django.template.loader import render_to_string
from django.utils.translation import gettext as _

from annotation.benchmarks import Benchmark
from evaluation.reports import leaderboard
from evaluation.scoring.metrics import METRICS
from lhdr_site.shared.downloads import csv_cell

from .choice import Choice, choose
from .exports import csv_head, csv_rows, latex, macros
from .registry import ANALYSES
from .tables import Column, Picture, Result, Table, percent_column

ASSETS = (
    "css/app.css",
    "css/evaluation.css",
    "js/results.js",
    "vendor/tabler/tabler.min.css",
    "vendor/tabler/LICENSE",
    "vendor/inter/inter-latin-wght-normal.woff2",
    "vendor/inter/LICENSE",
    "vendor/echarts/echarts.min.js",
    "vendor/echarts/LICENSE",
    "vendor/echarts/NOTICE",
)


def report_files(benchmark: Benchmark, query: QueryDict) -> tuple[list[dict[str, str]], dict[str, bytes]]:
    """(problems, name -> content) of everything in the folder.

    query: as of an analysis' page. Analyses of two runs that a reader picks are left out. Files are {} where something
    that was asked for is not there, or no run is finished.
    """
    choices = [choose(benchmark, analysis, query) for analysis in ANALYSES.values() if not analysis.pair]
    problems = choices[0].problems
    if not problems and not any(choice.runs for choice in choices):
        problems = [{"path": "run", "message": _("No run of these is finished.")}]
    if problems:
        return problems, {}
    parts = [_leaderboard(choices[0])] + [_part(choice) for choice in choices]
    files = {name: _asset(name) for name in ASSETS}
    commands = [_("% Every number of the report; each block names the hash of what it was computed from.")]
    taken: set[str] = set()
    for part in parts:
        commands += ["", f"% {part['title']}: {part['source']}", f"% {part['hash']}"]
        commands += macros(part["key"], part["result"], taken)
        for table in part["tables"]:
            files[table["csv_url"]] = _csv(table["table"]).encode()
            files[table["tex_url"]] = latex(table["table"], part["source"]).encode()
    files["macros.tex"] = ("\n".join(commands) + "\n").encode()
    page = render_to_string(
        "evaluation/static_report.html",
        {"benchmark": benchmark, "release": choices[0].release, "study": choices[0].study, "parts": parts},
    )
    files["index.html"] = page.encode()
    return [], files


def write_report(files: dict[str, bytes], folder: Path) -> None:
    """Replaces files of the same names, and leaves others alone."""
    for name, content in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)


def _part(choice: Choice) -> dict[str, Any]:
    analysed = choice.analysed()
    source = choice.source(analysed) if analysed.hash else ""
    return _shown(
        choice.analysis.key, choice.analysis.title, choice.analysis.text, analysed.result, source, analysed.hash
    )


def _shown(key: str, title: Any, text: Any, result: Result, source: str, hash_: str) -> dict[str, Any]:
    tables = [
        {
            "table": table,
            "id": f"{key}-{table.key}",
            "csv_url": f"tables/{key}-{table.key}.csv",
            "tex_url": f"tables/{key}-{table.key}.tex",
        }
        for table in result.tables
    ]
    names = {"key": key, "title": title, "analysis": {"text": text}, "result": result, "tables": tables}
    return {**names, "source": source, "hash": hash_}


def _leaderboard(choice: Choice) -> dict[str, Any]:
    """The leaderboard as one more analysis."""
    assert choice.release and choice.judge
    report = leaderboard(choice.release, choice.judge, choice.profile, choice.study)
    rows = [
        {
            "system": row["system"],
            "group": row["group"],
            "run": row["number"],
            **{metric: row[metric] for metric in METRICS},
            **{f"{metric}_low": row["ci"][metric][0] for metric in METRICS},
            **{f"{metric}_high": row["ci"][metric][1] for metric in METRICS},
            "failed": row["counts"]["not_completed"],
            "unjudged": row["counts"]["without_verdict"],
        }
        for row in report["runs"]
        if row["condition"] == choice.condition
    ]
    columns = (
        Column("system", _("system")),
        Column("group", _("group")),
        Column("run", _("run"), "count"),
        *(percent_column(metric, metric, interval=True) for metric in METRICS),
        Column("failed", _("failed"), "count"),
        Column("unjudged", _("without verdict"), "count"),
    )
    table = Table("scores", _("Leaderboard"), columns, rows, picture=Picture("intervals", "system", ("OA", "DACS")))
    used = sum(row["n"] - row["counts"]["not_completed"] - row["counts"]["without_verdict"] for row in report["runs"])
    text = _("The newest finished run of each system under one judge and condition, with 95% intervals.")
    source = _("Release %(release)s, judge %(judge)s, profile %(profile)s.") % {
        "release": choice.release.name,
        "judge": choice.judge.name,
        "profile": choice.profile.value,
    }
    return _shown("leaderboard", _("Leaderboard"), text, Result([table], used), source, choice.release.hash)


def _asset(name: str) -> bytes:
    found = finders.find(name)
    assert isinstance(found, str), name
    return Path(found).read_bytes()


def _csv(table: Table) -> str:
    text = StringIO()
    rows: list[Sequence[Any]] = [csv_head(table), *csv_rows(table)]
    csv.writer(text).writerows([[csv_cell(value) for value in row] for row in rows])
    return text.getvalue()
