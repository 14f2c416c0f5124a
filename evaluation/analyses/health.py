"""Items that may not measure what they should: solved by all or none, steps that tell nothing, a doubtful key."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from evaluation.models import Response, Work
from evaluation.scoring.health import FEW_SYSTEMS, consensus_against, final_answer, item_health, usual_answer

from .base import Analysis, Options
from .tables import Column, Picture, Result, Table, percent_column
from .words import address_of, lacking, step_name

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from .data import Results


def compute(results: Results, options: Options) -> Result:
    judged = results.scores["judged"] > 0
    unjudged = int((~judged.any(axis=0)).sum())
    missing = lacking(results)
    if unjudged:
        text = _("Items without any verdict: %(count)d of %(n)d; nothing is said of how they are solved.")
        missing.append(text % {"count": unjudged, "n": len(results.items)})
    if len(results.runs) < FEW_SYSTEMS:
        text = _("Correlations, telling steps and consensus take %(least)d systems; there are %(count)d.")
        missing.append(text % {"least": FEW_SYSTEMS, "count": len(results.runs)})
    query = address_of(results, options)
    tables = [
        _items(results, judged, query),
        _steps(results, judged, query),
        _consensus(results, query),
        _systems(results, judged),
    ]
    return Result(tables, int(results.scores["judged"].sum()), missing)


def _flag(results: Results, at: int, query: str, what: str, step: int = 0) -> dict[str, str]:
    """The button that flags an item for a finding, which the page of the address finds again."""
    number = results.items[at].number
    return {"flag": _("Flag"), "flag_address": f"items/{number}/flag/?{query}&what={what}&step={step}"}


def _flag_column() -> Column:
    return Column("flag", _("fault"), "action", link="flag_address")


def _items(results: Results, judged: NDArray[np.bool_], query: str) -> Table:
    found = item_health(results.scores["OA"])
    zero, one = (shares.mean(axis=0).tolist() for shares in _extremes(results))
    disagreements = _disagreements(results)
    rows = []
    for at, (item, its) in enumerate(zip(results.items, found, strict=True)):
        count = int(judged[:, at].sum())
        answers, steps = disagreements[at]
        rows.append(
            {
                "item": item.uid,
                "judged": count,
                "solved": its.solved if count else None,
                "share": its.share if count else None,
                "never": its.never_solved if count else None,
                "always": its.always_solved if count else None,
                "correlation": its.total_correlation,
                "dacs_zero": zero[at] if count else None,
                "dacs_one": one[at] if count else None,
                "answers": answers,
                "steps": steps,
                "flag": "",
            }
        )
        if count and (its.never_solved or (its.total_correlation or 0) < 0):
            rows[-1] |= _flag(results, at, query, "items")
    columns = (
        Column("item", _("item")),
        _flag_column(),
        Column("judged", _("systems with a verdict"), "count"),
        Column("solved", _("solved by"), "count"),
        percent_column("share", _("OA of the item")),
        Column("never", _("never solved"), "flag"),
        Column("always", _("always solved"), "flag"),
        Column("correlation", _("correlation with the other items"), "number"),
        percent_column("dacs_zero", _("systems with DACS 0")),
        percent_column("dacs_one", _("systems with DACS 100%")),
        percent_column("answers", _("responses whose answer judges disagree on")),
        percent_column("steps", _("steps that judges disagree on")),
    )
    note = _("Below 0, systems that are better elsewhere are worse here: the key or the question may be wrong.")
    return Table("items", _("Each item"), columns, rows, note, Picture("scatter", "share", ("correlation",)))


def _extremes(results: Results) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """(R, n) each: the shares of the samples with DACS 0 and with DACS 1."""
    dacs = results.of_samples(results.main)["DACS"]
    zero, one = (results.by_run(cells) / results.samples[:, None] for cells in (dacs == 0, dacs == 1))
    return zero, one


def _disagreements(results: Results) -> list[tuple[float | None, float | None]]:
    """Per item: the shares of responses and of steps on which the models that all judged them are not of one mind."""
    import numpy as np

    models = [at for at, judge in enumerate(results.judges) if judge.person_id is None]
    if len(models) < 2:
        return [(None, None)] * len(results.items)
    answers, stated = results.all_answers[models], results.all_stated[models]
    common = np.asarray((answers >= 0).all(axis=0))
    weights = results.weights(common)
    shares: list[tuple[float | None, float | None]] = []
    for at, length in enumerate(results.lengths):
        cells = common[:, at]
        if not cells.any():
            shares.append((None, None))
            continue
        words, steps = answers[:, cells, at], stated[:, cells, at, :length]
        each = weights[cells, at] / weights[cells, at].sum()
        differ = (words != words[0]).any(axis=0), (steps != steps[0]).any(axis=0).mean(axis=1)
        shares.append((float(each @ differ[0]), float(each @ differ[1])))
    return shares


def _steps(results: Results, judged: NDArray[np.bool_], query: str) -> Table:
    rows = []
    for at, item in enumerate(results.items):
        count, responses = int(judged[:, at].sum()), int(results.scores["judged"][:, at].sum())
        said = (results.all_stated[results.main, :, at] == 1).sum(axis=0)
        for step in range(results.lengths[at] if count >= FEW_SYSTEMS else 0):
            if said[step] in (0, responses):
                which = _("everyone") if said[step] else _("no one")
                row = {"item": item.uid, "step": step_name(results, at, step), "by": which, "judged": count}
                rows.append(row | _flag(results, at, query, "steps", step + 1))
    columns = (
        Column("item", _("item")),
        Column("step", _("step")),
        Column("by", _("stated by")),
        Column("judged", _("systems with a verdict"), "count"),
        _flag_column(),
    )
    return Table("steps", _("Steps that no one or everyone states"), columns, rows, "" if rows else _("None."))


def _consensus(results: Results, query: str) -> Table:
    said: list[list[list[str]]] = [[[] for _run in results.runs] for _item in results.items]
    row_of = {run.pk: at for at, run in enumerate(results.runs)}
    column_of = {item.pk: at for at, item in enumerate(results.items)}
    texts = Response.objects.filter(run__in=results.runs, status=Work.Status.COMPLETED).order_by("run", "sample", "pk")
    for run_pk, item_pk, text in texts.values_list("run_id", "release_item_id", "text").iterator(chunk_size=500):
        said[column_of[item_pk]][row_of[run_pk]].append(final_answer(text))
    given = [[usual_answer(samples) for samples in runs] for runs in said]
    rows: list[dict[str, Any]] = []
    for at, (item, answers) in enumerate(zip(results.items, given, strict=True)):
        found = consensus_against(answers, [item.document["answer"], *item.document["answer_aliases"]])
        if found:
            names = ", ".join(results.labels[who] for who in found.systems)
            row = {"item": item.uid, "answer": found.answer, "key": item.document["answer"]}
            row |= {"agree": len(found.systems), "given": sum(map(bool, answers)), "systems": names}
            rows.append(row | _flag(results, at, query, "consensus"))
    rows.sort(key=lambda row: (-row["agree"], row["item"]))
    columns = (
        Column("item", _("item")),
        Column("answer", _("answer that systems agree on")),
        Column("key", _("reference answer")),
        Column("agree", _("systems that agree"), "count"),
        Column("given", _("answers in all"), "count"),
        Column("systems", _("who")),
        _flag_column(),
    )
    note = _(
        "Answers are read off the end of the responses and compared without case, marks and punctuation; of several "
        "samples the answer given most often. %d systems or more agree, and more than give the reference answer."
    )
    return Table("consensus", _("Consensus against the key"), columns, rows, note % FEW_SYSTEMS)


def _systems(results: Results, judged: NDArray[np.bool_]) -> Table:
    zero, one = _extremes(results)
    rows = [
        {
            "system": label,
            "judged": int(judged[at].sum()),
            "zero": float(zero[at].mean()),
            "one": float(one[at].mean()),
        }
        for at, label in enumerate(results.labels)
    ]
    columns = (
        Column("system", _("system")),
        Column("judged", _("items with a verdict"), "count"),
        percent_column("zero", _("items with DACS 0")),
        percent_column("one", _("items with DACS 100%")),
    )
    note = _("Of all items: those without a verdict have DACS 0.")
    return Table("systems", _("All or nothing"), columns, rows, note, Picture("bars", "system", ("zero", "one")))


HEALTH = Analysis(
    "health",
    gettext_lazy("Item health"),
    gettext_lazy(
        "Items that everyone or no one solves, that go against the others (corrected item-total correlation), whose "
        "steps tell nothing, that judges disagree on, and whose key many systems contradict."
    ),
    compute,
    version=2,
    draws="",
)
