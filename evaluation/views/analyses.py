"""One analysis of results on a page, its tables as CSV and LaTeX, and two responses beside each other."""

from typing import Any
from urllib.parse import urlencode

from django.http import Http404, HttpRequest, HttpResponse, QueryDict
from django.shortcuts import render
from django.urls import reverse
from django.utils.translation import gettext as _
from django.views.decorators.http import require_safe

from annotation.benchmarks import Benchmark, get_benchmark_for
from evaluation.analyses.choice import Choice, choose
from evaluation.analyses.exports import csv_head, csv_rows, latex
from evaluation.analyses.registry import ANALYSES, Analysed
from evaluation.analyses.tables import Table
from evaluation.analyses.two_runs import TWO_RUNS
from evaluation.models import Condition, Response, Verdict
from evaluation.queries import document_of
from evaluation.scoring.metrics import Profile
from lhdr_site.shared.downloads import csv_response
from lhdr_site.shared.errors import NotThere

from .responses import is_blind, prose


def chosen(benchmark: Benchmark, key: str, query: QueryDict) -> Choice:
    choice = _asked(benchmark, key, query)
    refuse(choice.problems)
    return choice


def _asked(benchmark: Benchmark, key: str, query: QueryDict) -> Choice:
    if key not in ANALYSES:
        raise Http404
    return choose(benchmark, ANALYSES[key], query)


def refuse(problems: list[dict[str, str]]) -> None:
    """Raises NotThere for what an address asks of results that is not there."""
    if problems:
        said = " ".join(problem["message"] for problem in problems)
        raise NotThere(said + " " + _("Leave it out of the address, or choose again from Results."))


def navigation(benchmark: Benchmark, current: str, query: str = "") -> list[dict[str, Any]]:
    """The leaderboard and the analyses as links that keep the choice; runs are chosen anew on each page."""
    asked = QueryDict(query)
    kept = {name: asked[name] for name in ("release", "study", "judge", "condition", "profile") if asked.get(name)}
    tail = f"?{urlencode(kept)}" if kept else ""
    entries = [("", _("Leaderboard"), reverse("evaluation:leaderboard", args=[benchmark.slug]))]
    entries += [
        (key, str(analysis.title), reverse("evaluation:analysis", args=[benchmark.slug, key]))
        for key, analysis in ANALYSES.items()
    ]
    return [{"label": label, "url": url + tail, "current": key == current} for key, label, url in entries]


@require_safe
def analysis_page(request: HttpRequest, slug: str, key: str) -> HttpResponse:
    benchmark = get_benchmark_for(request.user, slug)
    choice = _asked(benchmark, key, request.GET)
    analysed = choice.analysed() if choice.release and not choice.problems else None
    query = choice.query()
    context = {
        "nav": "results",
        "choice": choice,
        "analysis": choice.analysis,
        "result": analysed.result if analysed else None,
        "source": choice.source(analysed) if analysed and analysed.hash else "",
        "entries": navigation(benchmark, key, "" if choice.problems else request.GET.urlencode()),
        "problems": choice.problems,
        "left_aside": choice.left_aside,
        "conditions": Condition.choices,
        "profiles": [profile.value for profile in Profile],
        "query": query,
        "permalink": request.build_absolute_uri(f"?{query}"),
        "demo": any(run.system.endpoint and run.system.endpoint.is_demo for run in choice.runs),
    }
    return render(request, "evaluation/analysis.html", context, status=404 if choice.problems else 200)


def _table(request: HttpRequest, slug: str, key: str, name: str) -> tuple[Choice, Analysed, Table]:
    choice = chosen(get_benchmark_for(request.user, slug), key, request.GET)
    if choice.release is None:
        raise Http404
    analysed = choice.analysed()
    table = next((table for table in analysed.result.tables if table.key == name), None)
    if table is None:
        raise Http404
    return choice, analysed, table


@require_safe
def analysis_csv(request: HttpRequest, slug: str, key: str, table: str) -> HttpResponse:
    _choice, _analysed, found = _table(request, slug, key, table)
    return csv_response(f"{slug}-{key}-{table}", csv_head(found), csv_rows(found), mark=False)  # type: ignore[return-value]


@require_safe
def analysis_tex(request: HttpRequest, slug: str, key: str, table: str) -> HttpResponse:
    choice, analysed, found = _table(request, slug, key, table)
    source = choice.source(analysed)
    headers = {
        "Content-Disposition": f'attachment; filename="{slug}-{key}-{table}.tex"',
        "Cache-Control": "private, no-store",
    }
    return HttpResponse(latex(found, source), content_type="application/x-tex; charset=utf-8", headers=headers)


@require_safe
def two_responses(request: HttpRequest, slug: str, number: int) -> HttpResponse:
    """The responses of two runs to one item, with what a judge found in each; blind where a person may still judge."""
    benchmark = get_benchmark_for(request.user, slug)
    choice = chosen(benchmark, TWO_RUNS.key, request.GET)
    responses = {
        response.run_id: response
        for response in Response.objects.filter(
            run__in=choice.runs, sample=1, release_item__item__number=number
        ).select_related("release_item")
    }
    if len(choice.runs) < 2 or len(responses) < 2:
        raise Http404
    pairs = [(run, responses[run.pk]) for run in choice.runs]
    document = document_of(pairs[0][1].release_item)
    verdicts = {
        verdict.response_id: verdict
        for verdict in Verdict.objects.filter(
            response__in=responses.values(), judge=choice.judge, repeat=1, unparseable="", vector__isnull=False
        )
    }
    blind = [run for run, response in pairs if is_blind(request.user, benchmark, run, response)]
    columns: list[dict[str, Any]] = []
    for run, response in pairs:
        verdict = None if blind else verdicts.get(response.pk)
        address = reverse("evaluation:response-page", args=[slug, run.number, response.pk])
        columns.append(
            {"run": run, "response": response, "html": prose(response.text), "url": address, "verdict": verdict}
        )
    vectors = [column["verdict"].vector if column["verdict"] else None for column in columns]
    steps = [
        (step.conclusion, [vector[at] if vector and at < len(vector) else None for vector in vectors])
        for at, step in enumerate(document.checklist)
    ]
    context = {
        "nav": "results",
        "choice": choice,
        "number": number,
        "document": document,
        "columns": columns,
        "steps": steps,
        "blind": bool(blind),
        "back": reverse("evaluation:analysis", args=[slug, TWO_RUNS.key]) + "?" + choice.query(),
    }
    return render(request, "evaluation/two_responses.html", context)
