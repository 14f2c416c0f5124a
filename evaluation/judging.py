"""Reads about judging: prompts, flags, verdicts that flip, outputs that could not be read. Opens no transaction."""

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from django.db.models import Count, F, QuerySet
from django.http import Http404
from django.utils.translation import gettext as _

from annotation.benchmarks import Benchmark
from annotation.document import read_document
from lhdr_site.shared.errors import Invalid

from .models import Judge, Prompt, Response, Run, Verdict, Work
from .prompts import TEMPLATES, build_judge_prompt

Status = Work.Status

# --- prompts ------------------------------------------------------------------------------------------------------


class PromptRow(NamedTuple):
    """A version of the judge prompt: one of ours, or one that the team pasted (then with its row)."""

    version: str
    text: str
    pasted: Prompt | None
    judges: int


def prompts_of(benchmark: Benchmark) -> list[PromptRow]:
    """Ours first, then the pasted ones, the newest first."""
    used: dict[str, int] = dict(
        Judge.objects.filter(benchmark=benchmark).order_by().values_list("prompt_version").annotate(n=Count("pk"))
    )
    ours = [PromptRow(version, text, None, used.get(version, 0)) for version, text in TEMPLATES.items()]
    rows = Prompt.objects.filter(benchmark=benchmark).select_related("created_by").order_by("-pk")
    return ours + [PromptRow(row.version, row.text, row, used.get(row.version, 0)) for row in rows]


def get_prompt(benchmark: Benchmark, version: str) -> PromptRow:
    """Raises Http404 where there is no such version."""
    found = next((row for row in prompts_of(benchmark) if row.version == version), None)
    if found is None:
        raise Http404
    return found


def completed_response(benchmark: Benchmark, run: int | None = None, item: int | None = None) -> Response | None:
    """A completed response: of that run and item where they are given, else of the newest run, its first."""
    rows = Response.objects.filter(run__benchmark=benchmark, status=Status.COMPLETED)
    if run is not None:
        rows = rows.filter(run__number=run)
    if item is not None:
        rows = rows.filter(release_item__item__number=item)
    rows = rows.select_related("run__system", "release_item").annotate(item_number=F("release_item__item__number"))
    return rows.order_by("-run__number", "release_item__position", "sample").first()


def preview_prompt(template: str, response: Response) -> str:
    """A template filled in for a response as a judge without a limit is shown it. Raises Invalid for an item without a
    checklist."""
    document = read_document(response.release_item.document)
    if not document.checklist:
        raise Invalid.at("item", _("This item has no checklist, so nothing of it can be judged."))
    return build_judge_prompt(template, document, response.text)


# --- flags --------------------------------------------------------------------------------------------------------


def flagged_responses(run: Run) -> dict[str, set[int]]:
    """Flag -> the responses that bear it or one of whose verdicts does."""
    found: dict[str, set[int]] = {}
    rows: Iterable[tuple[int, Any]] = [
        *run.responses.exclude(flags=[]).values_list("pk", "flags"),
        *Verdict.objects.filter(run=run, drift=None).exclude(flags=[]).order_by().values_list("response", "flags"),
    ]
    for response, flags in rows:
        for flag in flags:
            found.setdefault(flag, set()).add(response)
    return found


# --- verdicts that flip -------------------------------------------------------------------------------------------


@dataclass
class Flips:
    """Of one judge: responses with several readable verdicts, those on which they differ, those on whose answer."""

    repeated: int = 0
    responses: set[int] = field(default_factory=set)
    answers: int = 0

    @property
    def rate(self) -> float | None:
        return len(self.responses) / self.repeated if self.repeated else None


def flips_of(run: Run) -> dict[int, Flips]:
    """Judge pk -> its flips on a run's responses; judges that gave one verdict each are left out."""
    again = Verdict.objects.filter(run=run, repeat__gt=1, drift=None).order_by().values("response", "judge")
    judges = {row["judge"] for row in again.values("judge").distinct()}
    if not judges:
        return {}
    read = Verdict.objects.filter(status=Status.COMPLETED, unparseable="", drift=None)
    rows = read.filter(run=run, judge__in=judges).order_by()
    return count_flips(rows.values_list("judge", "response", "answer_correct", "vector"))


def count_flips(verdicts: Iterable[tuple[int, int, bool | None, Any]]) -> dict[int, Flips]:
    """verdicts: (judge, response, answer correct, vector), readable ones only."""
    given: dict[int, dict[int, list[tuple[bool | None, tuple[int, ...]]]]] = {}
    for judge, response, correct, vector in verdicts:
        given.setdefault(judge, {}).setdefault(response, []).append((correct, tuple(vector or ())))
    found: dict[int, Flips] = {}
    for judge, of in given.items():
        flips = Flips()
        for response, said in of.items():
            if len(said) > 1:
                flips.repeated += 1
                flips.answers += len({correct for correct, _vector in said}) > 1
                if len(set(said)) > 1:
                    flips.responses.add(response)
        if flips.repeated:
            found[judge] = flips
    return found


# --- outputs that could not be read -------------------------------------------------------------------------------


def unparseable_verdicts(run: Run) -> QuerySet[Verdict]:
    """Verdicts given up on, with item and judge, in the order of the release."""
    rows = Verdict.objects.filter(run=run, status=Status.COMPLETED).exclude(unparseable="")
    rows = rows.select_related("judge__endpoint", "response")
    return rows.annotate(item_number=F("response__release_item__item__number")).order_by(
        "response__release_item__position", "response__sample", "judge__name", "repeat"
    )
