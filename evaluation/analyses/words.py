"""What analyses say alike about what the figures rest on."""

from __future__ import annotations

from typing import TYPE_CHECKING
from urllib.parse import urlencode

from django.utils.translation import gettext as _

from evaluation.models import Group

if TYPE_CHECKING:
    from .base import Options
    from .data import Results


def lacking(results: Results) -> list[str]:
    """A sentence for each run with items that have no answer, or answers without a verdict of the main judge."""
    judge = results.judges[results.main].name
    verdicts = results.by_run(results.all_answers[results.main] >= 0).sum(axis=1).tolist()
    answered = results.by_run(results.all_completed).sum(axis=1).tolist()
    sentences = []
    if len(results.items) == 1:
        sentences.append(
            _("One item cannot be resampled: intervals, p values and shares of resamples say nothing here.")
        )
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
    return sentences + sampled(results)


def sampled(results: Results) -> list[str]:
    """What several samples mean for the figures, in a sentence; none where every item was asked once."""
    runs = [f"{label} ({n})" for label, n in zip(results.labels, results.samples.tolist(), strict=True) if n > 1]
    if not runs:
        return []
    text = _(
        "Asked several times: %s. Scores are means over the samples. Counts are of responses; in shares and rates "
        "the judged responses of a run to one item weigh as much as one."
    )
    return [text % ", ".join(runs)]


def groups_of_systems(results: Results) -> list[tuple[str, list[int]]]:
    """Groups of systems that have runs, with the positions of these; all of them first, where there are several."""
    of = [run.system.group for run in results.runs]
    parts = [(str(Group(group).label), [at for at, its in enumerate(of) if its == group]) for group in Group.values]
    parts = [(label, at) for label, at in parts if at]
    return [(_("all"), list(range(len(of)))), *parts] if len(parts) > 1 else parts


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
