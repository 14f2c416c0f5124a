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
from lhdr_site.shared.downloads import csv_cell

from .choice import Choice, choose
from .exports import csv_head, csv_rows, latex, macros
from .registry import ANALYSES
from .tables import Table

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
    parts = [_part(choice) for choice in choices]
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
    analysed, key = choice.analysed(), choice.analysis.key
    tables = [
        {
            "table": table,
            "id": f"{key}-{table.key}",
            "csv_url": f"tables/{key}-{table.key}.csv",
            "tex_url": f"tables/{key}-{table.key}.tex",
        }
        for table in analysed.result.tables
    ]
    source = choice.source(analysed) if analysed.hash else ""
    names = {"key": key, "title": choice.analysis.title, "analysis": choice.analysis, "result": analysed.result}
    return {**names, "tables": tables, "source": source, "hash": analysed.hash}


def _asset(name: str) -> bytes:
    found = finders.find(name)
    assert isinstance(found, str), name
    return Path(found).read_bytes()


def _csv(table: Table) -> str:
    text = StringIO()
    rows: list[Sequence[Any]] = [csv_head(table), *csv_rows(table)]
    csv.writer(text).writerows([[csv_cell(value) for value in row] for row in rows])
    return text.getvalue()
