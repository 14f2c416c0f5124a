"""People's writes about labels of failed steps: taxonomies, having a model label a run, one's own labels.

One function, one transaction; raises NotAllowed (403), Conflict (409) and Invalid (422) with nothing written.
"""

from collections.abc import Iterable, Mapping
from dataclasses import asdict
from typing import Any

from django.contrib.auth.models import User
from django.db import transaction
from django.utils import timezone
from django.utils.translation import gettext as _

from annotation.benchmarks import Benchmark
from annotation.document import read_document
from lhdr_site.shared.errors import Conflict, Invalid
from lhdr_site.shared.validation import validate

from .actions import AGAIN, go_on, locked_run, require_endpoint, require_thawed
from .failure_modes import TAXONOMIES, failed_steps, labels_identity, read_modes
from .guesses import guess_labels
from .label_steps import add_missing_labels
from .labels import basis_of, modes_of
from .marking_actions import person_judge
from .models import Judge, Labelling, LabelPlan, Response, Run, RunEvent, RunState, Taxonomy, Work
from .permissions import may_manage_runs, may_record_verdict
from .scoring.label_output import MOST_NOTE, WHOLE
from .steps import judge_facts

Status = Work.Status
MOST_CHARACTERS = 20_000
FEWEST, MOST = 2, 30  # modes of a taxonomy


@transaction.atomic
def bring_taxonomy(benchmark: Benchmark, version: str, text: str, *, actor: User) -> Taxonomy:
    """A team's own failure modes, as `failure_modes.read_modes` reads them. They are never edited: others are another
    version."""
    benchmark = Benchmark.objects.select_for_update(no_key=True).get(pk=benchmark.pk)
    may_manage_runs(actor, benchmark).require()
    if len(text) > MOST_CHARACTERS:
        raise Invalid.at("text", _("A taxonomy has at most %d characters.") % MOST_CHARACTERS)
    row = Taxonomy(benchmark=benchmark, version=version.strip(), modes=[], created_by=actor)
    if row.version in TAXONOMIES or row.version == "new":
        raise Invalid.at("version", _("“%s” is taken; choose another name.") % row.version)
    modes, problems = read_modes(text)
    words = {
        "parts": _("Line %(line)d: write key | name | definition | example, none of them empty."),
        "key": _("Line %(line)d: “%(key)s” is no key: a letter, then up to 39 of a-z, 0-9 and _."),
        "taken": _("Line %(line)d: there is a mode %(key)s already; choose another key."),
    }
    if problems:
        found = [words[what] % {"line": line, "key": key[:60]} for line, what, key in problems]
        raise Invalid.of([{"path": "text", "message": message} for message in found])
    if not FEWEST <= len(modes) <= MOST:
        limits = {"fewest": FEWEST, "most": MOST, "n": len(modes)}
        raise Invalid.at("text", _("A taxonomy has %(fewest)d to %(most)d modes; there are %(n)d.") % limits)
    row.modes = [asdict(mode) for mode in modes]
    validate(row)
    row.save()
    return row


@transaction.atomic
def label_failures(run: Run, labeller: Judge, basis: Judge, taxonomy: str, *, actor: User) -> int:
    """Have a model label the steps that a judge's verdicts find missing; how many responses are due now.

    No system and no judge is asked again. Labels that were given stay; those that failed or could not be read are
    asked for again, and verdicts that come later are labelled as they come.
    """
    run = _locked(run, actor)
    for path, judge in (("labeller", labeller), ("basis", basis)):
        if judge.benchmark_id != run.benchmark_id:
            raise Invalid.at(path, _("%s belongs to another benchmark.") % judge)
    require_endpoint(run.benchmark, labeller, "labeller")
    _require_taxonomy(run.benchmark, taxonomy)
    if not (run.judges.filter(pk=basis.pk).exists() or run.verdicts.filter(judge=basis).exists()):
        raise Invalid.at("basis", _("%s does not judge this run; choose one of its judges.") % basis)
    guess_labels(run, labeller, modes_of(run.benchmark, taxonomy))
    run.save(update_fields=["label_guess"])
    _plan, is_new = LabelPlan.objects.get_or_create(run=run, labeller=labeller, basis=basis, taxonomy=taxonomy)
    mine = run.labellings.filter(labeller=labeller, basis=basis, taxonomy=taxonomy)
    again = mine.filter(status=Status.FAILED).update(**AGAIN) + _read_again(mine)
    again += add_missing_labels(run)
    data = {"labels": again, "labeller": labeller.name, "basis": basis.name, "taxonomy": taxonomy}
    if again:
        go_on(run, actor, "labels.asked", **data)
    elif is_new:
        RunEvent.objects.create(run=run, actor=actor, kind="labels.asked", data=data)
    return again


@transaction.atomic
def retry_unparseable_labels(run: Run, labellings: Iterable[int] | None = None, *, actor: User) -> int:
    """Ask again for labels that could not be read (all, or those with these keys), up to the labeller's limit; how
    many. What was printed before stays in their attempts."""
    run = _locked(run, actor)
    rows = run.labellings.filter(endpoint__isnull=False)
    again = _read_again(rows if labellings is None else rows.filter(pk__in=list(labellings)))
    if again:
        go_on(run, actor, "run.retried", tried_again=again)
    return again


@transaction.atomic
def record_labels(
    response: Response, basis: Judge, taxonomy: str, labels: Iterable[Mapping[str, Any]], *, actor: User
) -> Labelling:
    """A person's labels of steps that a judge finds missing, and of the response as a whole (step 0); recording others
    replaces them, as a new revision. labels: {"step", "mode", "note"}, not necessarily of every step."""
    run = Run.objects.select_for_update(of=("self",)).select_related("benchmark", "study").get(pk=response.run_id)
    may_record_verdict(actor, run.benchmark).require()
    require_thawed(run.study)
    response = Response.objects.select_related("release_item").get(pk=response.pk)
    said = basis_of(response, basis.pk)
    if response.status != Status.COMPLETED or said is None:
        raise Conflict(
            _("There is no readable verdict of this judge on the response, so no step of it is known to fail.")
        )
    _require_taxonomy(run.benchmark, taxonomy)
    modes = modes_of(run.benchmark, taxonomy)
    known = {mode.key for mode in modes}
    failed = {WHOLE, *failed_steps(said.vector)}
    kept: dict[int, dict[str, Any]] = {}
    problems = []
    for label in labels:
        step, mode, note = label["step"], label["mode"], str(label.get("note", "")).strip()
        path = f"step-{step}"
        if step not in failed:
            problems.append({"path": path, "message": _("Step %s is not one that this judge finds missing.") % step})
        elif mode not in known:
            problems.append({"path": path, "message": _("Choose one of the modes of %s.") % taxonomy})
        elif len(note) > MOST_NOTE:
            problems.append({"path": path, "message": _("A note has at most %d characters.") % MOST_NOTE})
        elif step in kept:
            problems.append({"path": path, "message": _("Step %s is labelled twice.") % step})
        else:
            kept[step] = {"step": step, "mode": mode, "note": note}
    if problems:
        raise Invalid.of(problems)
    if not kept:
        raise Invalid.at("labels", _("Choose a mode for at least one step, or for the response as a whole."))
    labeller = person_judge(run.benchmark, actor)
    key = {"response": response, "labeller": labeller, "basis": basis, "taxonomy": taxonomy}
    row = Labelling.objects.filter(**key).first() or Labelling(run=run, revision=0, **key)
    old, new = row.labels if row.pk else None, [kept[step] for step in sorted(kept)]
    if new == old:
        return row
    document = read_document(response.release_item.document)
    row.labels, row.revision, row.status, row.ended = new, row.revision + 1, Status.COMPLETED, timezone.now()
    row.identity = labels_identity(judge_facts(labeller), modes, document, said.vector, response.text)
    row.save()
    what = {"response": response.pk, "basis": basis.name, "taxonomy": taxonomy, "revision": row.revision}
    RunEvent.objects.create(run=run, actor=actor, kind="labels.recorded", data={**what, "old": old, "new": new})
    return row


def _require_taxonomy(benchmark: Benchmark, version: str) -> None:
    if version not in TAXONOMIES and not Taxonomy.objects.filter(benchmark=benchmark, version=version).exists():
        raise Invalid.at("taxonomy", _("There is no taxonomy “%s” here.") % version[:60])


def _read_again(rows: Any) -> int:
    """Labellings that could not be read are due again."""
    unread = rows.filter(status=Status.COMPLETED).exclude(unparseable="")
    return int(unread.update(**AGAIN, unparseable="", output="", flags=[], identity=""))


def _locked(run: Run, actor: User) -> Run:
    run = locked_run(run, actor)
    if run.state == RunState.CANCELLED:
        raise Conflict(_("The run is cancelled, so nothing of it is labelled any more; take another run."))
    return run
