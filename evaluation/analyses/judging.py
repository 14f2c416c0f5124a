"""How far the judges agree: pair by pair, all together, each against the others' pooled word."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from evaluation.scoring.judges import JudgeAgreement, Pair, against_pool, agreement, family_grid

from .base import Analysis, Options
from .tables import Column, Picture, Result, Table, percent_column
from .words import sampled

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from .data import Results


@dataclass(frozen=True, slots=True)
class _Cells:
    """Responses as cells: answers (J, C); steps (J, K) with the cell that each belongs to, `of` (K,). clusters: (C,)
    the run and item of each; weights: (C,), those of the cells of one run and item that all judged add up to 1; None
    where every item was asked once."""

    answers: NDArray[np.int8]
    steps: NDArray[np.int8]
    of: NDArray[np.intp]
    clusters: NDArray[np.intp]
    weights: NDArray[np.float64] | None

    @property
    def of_steps(self) -> NDArray[np.float64] | None:
        """(K,) the weights of the steps."""
        return None if self.weights is None else self.weights[self.of]


def compute(results: Results, options: Options) -> Result:
    judges, left_out = _comparable(results)
    missing = sampled(results)
    if left_out:
        missing.append(_("Left out, as judges are compared under one prompt only: %s.") % ", ".join(left_out))
    if len(judges) < 2:
        return Result([], 0, [*missing, _("Two judges with the same prompt are needed.")])
    names = [results.judges[at].name for at in judges]
    all_runs = _cells(results, judges, list(range(len(results.runs))))
    answers, steps = _agreements(all_runs, options)
    if answers.left_out:
        text = _("%(count)d of %(n)d responses lack the verdict of some judge and are left out.")
        missing.append(text % {"count": answers.left_out, "n": answers.left_out + answers.n})
    if not answers.n:
        return Result([], 0, [*missing, _("There is no response that all of these judges have judged.")])
    tables = [
        _overall(results, judges, options, (answers, steps)),
        _matrix("answers", _("Answers: raw agreement below, Cohen's kappa above the diagonal"), names, answers.pairs),
        _matrix("steps", _("Steps: raw agreement below, Cohen's kappa above the diagonal"), names, steps.pairs),
        _pairs(results, judges, answers.pairs, steps.pairs),
        _each(results, judges, all_runs, answers, steps),
    ]
    return Result(tables, answers.n, missing)


def _comparable(results: Results) -> tuple[list[int], list[str]]:
    """Positions of the models with the main judge's prompt, or that of most where a person is the main judge; and the
    names of the others."""
    models = [at for at, judge in enumerate(results.judges) if judge.person_id is None]
    prompts = Counter(results.judges[at].prompt_version for at in models)
    main = results.judges[results.main]
    prompt = main.prompt_version if main.person_id is None else max(prompts, key=lambda p: prompts[p], default="")
    kept = [at for at in models if results.judges[at].prompt_version == prompt]
    return kept, [judge.name for at, judge in enumerate(results.judges) if at not in kept]


def _cells(results: Results, judges: list[int], runs: list[int]) -> _Cells:
    """The answered samples of some runs; a judge without a verdict has -1 in its answer and all its steps."""
    import numpy as np

    longest = results.all_stated.shape[3]
    done = results.all_completed & np.isin(results.run_of, runs)[:, None]
    common = (results.all_answers[judges] >= 0).all(axis=0)
    answers = results.all_answers[judges][:, done]
    flags = results.all_stated[judges][:, done]
    lengths = np.broadcast_to(np.array(results.lengths), done.shape)[done]
    within = np.arange(longest)[None] < lengths[:, None]
    places = results.run_of[:, None] * done.shape[1] + np.arange(done.shape[1])
    weights = results.weights(done & common)[done] if (results.samples > 1).any() else None
    return _Cells(answers, flags[:, within], np.nonzero(within)[0], places[done], weights)


def _agreements(cells: _Cells, options: Options) -> tuple[JudgeAgreement, JudgeAgreement]:
    return (
        agreement(cells.answers, clusters=cells.clusters, weights=cells.weights, seed=options.seed),
        agreement(
            cells.steps,
            cells.of.tolist(),
            clusters=cells.clusters[cells.of],
            weights=cells.of_steps,
            seed=options.seed,
        ),
    )


def _overall(
    results: Results, judges: list[int], options: Options, found: tuple[JudgeAgreement, JudgeAgreement]
) -> Table:
    systems = [run.system for run in results.runs]
    families = [system.family for system in systems]
    oa = results.scores["OA"].mean(axis=1).tolist()
    represents = [system.represents_family for system in systems]
    grids = [(_("all"), found)]
    if len(set(families)) > 1:
        for label, weakest in ((_("one per family"), False), (_("the weakest of each family"), True)):
            if runs := family_grid(families, represents, oa, weakest=weakest):
                grids.append((label, _agreements(_cells(results, judges, runs), options)))
    rows = []
    for label, (answers, steps) in grids:
        for what, its in ((_("answers"), answers), (_("steps"), steps)):
            rows.append(
                {
                    "systems": label,
                    "what": what,
                    "cells": its.n,
                    "left_out": its.left_out,
                    "ratings": its.ratings,
                    "fleiss": its.fleiss.value,
                    "fleiss_low": its.fleiss.low,
                    "fleiss_high": its.fleiss.high,
                    "unanimous": its.unanimous,
                }
            )
    columns = (
        Column("systems", _("systems")),
        Column("what", _("judged")),
        Column("cells", _("responses that all judged"), "count"),
        Column("left_out", _("left out"), "count"),
        Column("ratings", _("things judged"), "count"),
        Column("fleiss", _("Fleiss' kappa"), "number", "fleiss_low", "fleiss_high"),
        percent_column("unanimous", _("unanimous")),
    )
    note = _("%(judges)d judges with the prompt %(prompt)s.")
    prompt = results.judges[judges[0]].prompt_version or _("(none)")
    return Table("overall", _("All judges together"), columns, rows, note % {"judges": len(judges), "prompt": prompt})


def _matrix(key: str, title: str, names: list[str], pairs: tuple[Pair, ...]) -> Table:
    keys = tuple(f"j{at + 1}" for at in range(len(names)))
    rows: list[dict[str, Any]] = [{"judge": name, **dict.fromkeys(keys)} for name in names]
    for pair in pairs:
        rows[pair.a][keys[pair.b]] = pair.kappa
        rows[pair.b][keys[pair.a]] = pair.raw
    columns = (
        Column("judge", _("judge")),
        *(Column(key, name, "number") for key, name in zip(keys, names, strict=True)),
    )
    return Table(key, title, columns, rows, picture=Picture("matrix", "judge", keys))


def _pairs(results: Results, judges: list[int], answers: tuple[Pair, ...], steps: tuple[Pair, ...]) -> Table:
    rows = []
    for answer, step in zip(answers, steps, strict=True):
        a, b = results.judges[judges[answer.a]], results.judges[judges[answer.b]]
        rows.append(
            {
                "a": a.name,
                "b": b.name,
                "across": a.family != b.family if a.family and b.family else None,
                "answers_raw": answer.raw,
                "answers_kappa": answer.kappa,
                "steps_raw": step.raw,
                "steps_kappa": step.kappa,
            }
        )
    columns = (
        Column("a", _("judge")),
        Column("b", _("and")),
        Column("across", _("of two families"), "flag"),
        percent_column("answers_raw", _("same answer verdict")),
        Column("answers_kappa", _("kappa, answers"), "number"),
        percent_column("steps_raw", _("same step verdict")),
        Column("steps_kappa", _("kappa, steps"), "number"),
    )
    return Table("pairs", _("Pairs of judges"), columns, rows)


def _each(results: Results, judges: list[int], cells: _Cells, answers: JudgeAgreement, steps: JudgeAgreement) -> Table:
    """Leniency, and each judge against the pool of all but the main one."""
    pool = [row for row, at in enumerate(judges) if at != results.main]
    against = [
        against_pool(cells.answers, pool, cells.weights),
        against_pool(cells.steps, pool, cells.of_steps),
    ]
    rows = []
    for row, at in enumerate(judges):
        of_answers, of_steps = (found[row] for found in against)
        rows.append(
            {
                "judge": results.judges[at].name,
                "family": results.judges[at].family,
                "answers": answers.leniency[row],
                "steps": steps.leniency[row],
                "in_pool": of_answers.in_pool,
                "answers_raw": of_answers.raw,
                "answers_kappa": of_answers.kappa,
                "steps_raw": of_steps.raw,
                "steps_kappa": of_steps.kappa,
            }
        )
    columns = (
        Column("judge", _("judge")),
        Column("family", _("family")),
        percent_column("answers", _("answers passed")),
        percent_column("steps", _("steps passed")),
        Column("in_pool", _("in the pool"), "flag"),
        percent_column("answers_raw", _("answers as the pool")),
        Column("answers_kappa", _("kappa with the pool, answers"), "number"),
        percent_column("steps_raw", _("steps as the pool")),
        Column("steps_kappa", _("kappa with the pool, steps"), "number"),
    )
    names = ", ".join(results.judges[judges[row]].name for row in pool)
    note = _(
        "The pool (%s) says yes where at least half of it do. Who is in it agrees with it in part by construction."
    )
    return Table("each", _("Each judge"), columns, rows, note % names, Picture("bars", "judge", ("answers", "steps")))


JUDGES = Analysis(
    "judges",
    gettext_lazy("Judge agreement"),
    gettext_lazy(
        "How far judges with one prompt agree on the responses that all of them judged: raw agreement, Cohen's kappa "
        "(1960), Fleiss' kappa (1971) with intervals over resampled responses, and how lenient each is."
    ),
    compute,
    judges=2,
    unjudged=True,
    draws=gettext_lazy("Interval of Fleiss' kappa: 4,000 resamples of responses, seed %(seed)d."),
)
