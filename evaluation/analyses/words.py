"""What analyses say alike about what the figures rest on."""

from __future__ import annotations

from typing import TYPE_CHECKING
from urllib.parse import urlencode

from django.utils.translation import gettext as _

if TYPE_CHECKING:
    from .base import Options
    from .data import Results


def lacking(results: Results) -> list[str]:
    """A sentence for each run with items that have no answer, or answers without a verdict of the main judge."""
    judge = results.judges[results.main].name
    verdicts = results.by_run(results.all_answers[results.main] >= 0).sum(axis=1).tolist()
    answered = results.by_run(results.all_completed).sum(axis=1).tolist()
    sentences = []
    for run, label in enumerate(results.labels):
        samples = int(results.samples[run])
        n, judged = len(results.items) * samples, verdicts[run]
        unanswered = n - answered[run]
        unjudged = n - unanswered - judged
        if unanswered or unjudged:
            what = []
            if unanswered:
                what.append(_("answers missing: %d") % unanswered)
            if unjudged:
                what.append(_("verdicts by %(judge)s missing on answers: %(n)d") % {"judge": judge, "n": unjudged})
            text = (
                _("%(run)s, of %(n)d items: %(what)s. These count as wrong, with no step stated.")
                if samples == 1
                else _("%(run)s, of %(n)d responses: %(what)s. These count as wrong, with no step stated.")
            )
            sentences.append(text % {"run": label, "n": n, "what": "; ".join(what)})
    sampled = [label for label, run in zip(results.labels, results.runs, strict=True) if run.samples > 1]
    if sampled:
        text = _("Metrics are means over the samples; what looks at single answers or steps takes the first: %s.")
        sentences.append(text % ", ".join(sampled))
    return sentences


def address_of(results: Results, options: Options) -> str:
    """The query that chooses the same release, judge, profile and runs again."""
    chosen = [
        ("release", results.release.name),
        ("judge", results.judges[results.main].pk),
        ("profile", options.profile.value),
        *(("run", run.number) for run in results.runs),
    ]
    return urlencode(chosen)


def step_name(results: Results, item: int, step: int) -> str:
    """A step as tables name it: its number in the checklist, and how it begins."""
    conclusion = results.items[item].document["checklist"][step]["conclusion"]
    return f"{step + 1}. {conclusion if len(conclusion) <= 80 else conclusion[:79] + '…'}"
