"""How much of a score is not carried by the chain of evidence: OA without SA, CS without DACS."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from evaluation.scoring.bootstrap import differences, intervals, ratios

from .base import Analysis, Options
from .tables import Column, Picture, Result, Table, percent_column
from .words import lacking

if TYPE_CHECKING:
    from .data import Results

LEAST = 0.05  # of OA, for a place in the picture: a gap needs right answers to be one


def compute(results: Results, options: Options) -> Result:
    scores, draws = results.scores, {"seed": options.seed, "resamples": options.resamples}
    answers = _rows(results, ("OA", "SA"), "answer_gap", draws)
    steps = _rows(results, ("CS", "DACS"), "step_gap", draws)
    answers.sort(key=lambda row: (-row["answer_gap"], row["system"]))
    steps.sort(key=lambda row: (-row["step_gap"], row["system"]))
    shown = [row for row in answers if row["OA"] >= LEAST]
    few = [row["system"] for row in answers if row["OA"] < LEAST]
    tables = [
        Table(
            "answer-gap",
            _("Right answers without the whole chain (OA − SA)"),
            _columns(("OA", "SA"), "answer_gap", _("OA − SA"), _("share of the correct answers")),
            answers,
            _("The share is undefined where no answer is right; resamples without a right answer are left out of it."),
        ),
        Table(
            "answer-gap-ordered",
            _("OA split into SA and the gap: systems with OA of 5% or more, by the gap"),
            _columns(("OA", "SA"), "answer_gap", _("OA − SA"))[:4],
            shown,
            _("Not shown, as fewer than 5%% of their answers are right: %s.") % ", ".join(few) if few else "",
            Picture("bars", "system", ("SA", "answer_gap"), stacked=True),
        ),
        Table(
            "step-gap",
            _("Steps stated that rest on missing ones (CS − DACS)"),
            _columns(("CS", "DACS"), "step_gap", _("CS − DACS"), _("share of the stated steps")),
            steps,
            picture=Picture("intervals", "system", ("step_gap",)),
        ),
    ]
    return Result(tables, int(scores["judged"].sum()), lacking(results))


def _columns(metrics: tuple[str, str], gap: str, label: str, share: str = "") -> tuple[Column, ...]:
    columns = [Column("system", _("system")), *(percent_column(m, m, interval=True) for m in metrics)]
    columns.append(percent_column(gap, label, interval=True))
    if share:
        columns += [percent_column("share", share, interval=True), Column("left_out", _("resamples left out"), "count")]
    return tuple(columns)


def _rows(results: Results, metrics: tuple[str, str], gap: str, draws: dict[str, int]) -> list[dict[str, Any]]:
    import numpy as np

    above, below = (results.scores[metric].T for metric in metrics)
    both = np.hstack((above, below))
    columns = [both.mean(axis=0), *intervals(both, **draws)]
    value, low, high = (np.split(column, 2) for column in columns)
    gaps = differences(above - below, **draws)
    shares = ratios(above - below, above, **draws)
    rows = []
    for at, label in enumerate(results.labels):
        row: dict[str, Any] = {"system": label}
        for which, metric in enumerate(metrics):
            ends = (float(column[which][at]) for column in (value, low, high))
            row |= dict(zip((metric, f"{metric}_low", f"{metric}_high"), ends, strict=True))
        row |= {gap: gaps[at].estimate, f"{gap}_low": gaps[at].low, f"{gap}_high": gaps[at].high}
        share = shares[at]
        row |= {"share": share.estimate, "share_low": share.low, "share_high": share.high, "left_out": share.left_out}
        rows.append(row)
    return rows


GAPS = Analysis(
    "gaps",
    gettext_lazy("Gaps"),
    gettext_lazy(
        "How many right answers lack part of the chain (OA − SA), and how many stated steps rest on missing ones "
        "(CS − DACS): means over the items, with intervals of the paired differences over the same resamples."
    ),
    compute,
)
