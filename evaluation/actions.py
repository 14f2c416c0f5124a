"""People's writes to runs: one function, one transaction, one event. It locks the run, asks, checks, writes, records.

Raises NotAllowed (403), Conflict (409) and Invalid (422) with nothing written.
"""

from collections.abc import Collection, Iterable, Mapping, Sequence
from itertools import product
from typing import Any

from django.conf import settings
from django.contrib.auth.models import User
from django.db import transaction
from django.db.models import Max, Q
from django.utils import timezone
from django.utils.translation import gettext as _

from annotation.benchmarks import Benchmark, taken_down
from audit.releases import ReleaseItem, release_documents
from lhdr_site.endpoints.bodies import SET_BY_US
from lhdr_site.endpoints.errors import ErrorKind
from lhdr_site.endpoints.models import Endpoint
from lhdr_site.shared.errors import Conflict, Invalid
from lhdr_site.shared.validation import validate

from . import tasks
from .carrying import carried_responses, carry_verdicts
from .drift import drift_anchors
from .guesses import guess_costs
from .judging import prompts_of
from .model_queries import models_of
from .models import (
    MOST_TIMES,
    Condition,
    DriftMeasurement,
    ImageMode,
    Judge,
    Response,
    Run,
    RunEvent,
    RunState,
    Study,
    System,
    Verdict,
    Work,
)
from .permissions import may_manage_runs
from .prompts import DEFAULT_VERSION
from .queries import endpoints_of
from .steps import add_missing_verdicts
from .telling import take_back, tell_run_cancelled

Status = Work.Status
FIRST_DRIFT_REPEAT = 1000  # above the repeats of every run
_OPEN = (Status.PENDING, Status.RUNNING)
AGAIN = {
    "status": Status.PENDING, "owner": None, "lease_until": None, "due": None, "tries": 0, "error_kind": "",
    "error": "", "ended": None, "reserved": 0,
}  # fmt: skip
_NOTHING_READ: dict[str, Any] = {
    "unparseable": "", "output": "", "flags": [], "flagged_steps": {}, "identity": "", "carried_from": None,
}  # fmt: skip
_NO_VERDICT: dict[str, Any] = {
    **_NOTHING_READ, "answer_correct": None, "vector": None, "cost": None, "prompt_tokens": None,
    "completion_tokens": None, "returned_model": "",
}  # fmt: skip
_NO_ANSWER: dict[str, Any] = {
    "text": "", "thinking": "", "citations": [], "truncated": False, "finish_reason": "", "prompt_tokens": None,
    "completion_tokens": None, "cost": None, "flags": [], "request_hash": "", "returned_model": "",
    "carried_from": None,
}  # fmt: skip


# --- systems and judges -------------------------------------------------------------------------------------------


@transaction.atomic
def create_system(benchmark: Benchmark, data: Mapping[str, Any], *, actor: User) -> System:
    """A system under evaluation. Once it has run it is never edited: another configuration is another system."""
    may_manage_runs(actor, benchmark).require()
    system = System(benchmark=benchmark, created_by=actor, **data)
    check_configuration(system, benchmark)
    system.save()
    return system


@transaction.atomic
def create_judge(benchmark: Benchmark, data: Mapping[str, Any], *, actor: User) -> Judge:
    """A model that judges, with one prompt version. Once it has judged it is never edited: another prompt is another
    judge."""
    may_manage_runs(actor, benchmark).require()
    judge = Judge(benchmark=benchmark, created_by=actor, **{"prompt_version": DEFAULT_VERSION, **data})
    check_judge(judge)
    check_configuration(judge, benchmark)
    judge.save()
    return judge


def check_judge(judge: Judge) -> None:
    if judge.endpoint is None:
        raise Invalid.at("endpoint", _("Choose the endpoint at which the judge answers."))
    if not judge.model.strip():
        raise Invalid.at("model", _("Enter the model id, as the endpoint names it."))
    versions = [row.version for row in prompts_of(judge.benchmark)]
    if judge.prompt_version not in versions:
        known = ", ".join(versions)
        raise Invalid.at("prompt_version", _("There is no such prompt version; choose one of %s.") % known)


def check_configuration(row: System | Judge, benchmark: Benchmark) -> None:
    validate(row)
    endpoint = require_endpoint(benchmark, row, "endpoint") if row.endpoint else None
    if not isinstance(row.extra_body, dict):
        raise Invalid.at("extra_body", _('Write a JSON object in braces, like {"temperature": 0}.'))
    if taken := [name for name in SET_BY_US if name in row.extra_body]:
        raise Invalid.at("extra_body", _("The Workbench sets %s itself; remove it.") % ", ".join(taken))
    for given, other in (("prompt_price", "completion_price"), ("completion_price", "prompt_price")):
        if getattr(row, given) is not None and getattr(row, other) is None:
            raise Invalid.at(
                other, _("With one price alone no cost is known: give both, 0 for what is free, or neither.")
            )
    if row.extra_body.get("stream") and endpoint and endpoint.wire != "openai":
        raise Invalid.at("extra_body", _("Streaming works with the OpenAI wire format only; remove “stream”."))


def require_endpoint(benchmark: Benchmark, row: System | Judge, path: str) -> Endpoint:
    """Where a system or judge answers. Raises Invalid at `path` where it is asked nowhere, or the benchmark does not
    list its endpoint."""
    if row.endpoint is None:
        if isinstance(row, System):
            text = _("The answers of %s come from files: import them, or make a system with an endpoint.")
        elif row.person_id:
            text = _("%s is a person; people judge on the response's page.")
        else:
            text = _("The verdicts of %s come from files: choose a judge with an endpoint.")
        raise Invalid.at(path, text % row)
    if not benchmark.endpoints.filter(pk=row.endpoint.pk).exists():
        text = _("This benchmark may not use the endpoint “%s”; a superuser can allow it in the benchmark's settings.")
        raise Invalid.at(path, text % row.endpoint)
    return row.endpoint


# --- runs ---------------------------------------------------------------------------------------------------------


@transaction.atomic
def launch_run(benchmark: Benchmark, data: Mapping[str, Any], *, actor: User) -> Run:
    """One system on one release: the run with its pending responses; workers start after the commit.

    data: release, system, judges (at least one model), and optionally condition, main_judge (the first of judges),
    samples, repeats, items (ids of those to ask; then it is a trial, as with is_trial), concurrency, budget,
    token_budget, note, study, carry_over (True without it: what an earlier release's run of the system was answered to
    the same request is copied, and so are the verdicts that would be the same).
    """
    benchmark = Benchmark.objects.select_for_update(no_key=True).get(pk=benchmark.pk)
    if data.get("study"):
        data = {**data, "study": Study.objects.select_for_update(no_key=True).get(pk=data["study"].pk)}
    run, pks = draft_run(benchmark, data, actor=actor)
    judges = list(data["judges"])
    _check_items(run, data.get("items") or ())
    run.number = (benchmark.runs.aggregate(last=Max("number"))["last"] or 0) + 1
    guess_costs(run, judges)
    run.save()
    run.judges.set(judges)
    endpoint = run.system.endpoint_id
    carried = carried_responses(run, pks) if data.get("carry_over", True) else {}
    Response.objects.bulk_create(
        (
            carried.get((pk, sample)) or Response(run=run, release_item_id=pk, sample=sample, endpoint_id=endpoint)
            for pk, sample in product(pks, range(1, run.samples + 1))
        ),
        batch_size=1000,
    )
    facts = {"items": len(pks), "system": run.system.name, "judges": [judge.name for judge in judges]}
    if carried:
        facts |= {"carried": len(carried), "verdicts": carry_verdicts(run)}
        add_missing_verdicts(run)
    _event(run, actor, "run.launched", **facts)
    take_back(run.study)
    tasks.wake_later(run.pk, min(run.concurrency, len(pks) * run.samples))
    return run


def draft_run(benchmark: Benchmark, data: Mapping[str, Any], *, actor: User) -> tuple[Run, list[int]]:
    """The run that `launch_run` would make of its data, not saved, and the rows of the release's items that it asks.

    Raises what launching would, but for what lies in the items themselves.
    """
    may_manage_runs(actor, benchmark).require()
    judges = list(data["judges"])
    run = Run(
        benchmark=benchmark,
        release=data["release"],
        system=data["system"],
        condition=data.get("condition") or Condition.WITH_IMAGE,
        main_judge=data.get("main_judge") or (judges[0] if judges else None),
        note=data.get("note") or "",
        study=data.get("study"),
        samples=data.get("samples") or 1,
        repeats=data.get("repeats") or 1,
        is_trial=bool(data.get("is_trial") or data.get("items")),
        concurrency=data.get("concurrency") or 8,
        budget=data.get("budget"),
        token_budget=data.get("token_budget"),
        item_count=data["release"].item_count,
        launched_by=actor,
        resumed=timezone.now(),
    )
    _check_launch(run, judges)
    return run, _chosen_items(run, data.get("items") or ())


def _chosen_items(run: Run, ids: Sequence[str]) -> list[int]:
    """Primary keys of the release's items, or of those with these ids, in release order."""
    rows = ReleaseItem.objects.filter(release=run.release).order_by("position")
    if not ids:
        return list(rows.values_list("pk", flat=True))
    found = dict(rows.filter(uid__in=ids).values_list("uid", "pk"))
    if missing := [uid for uid in dict.fromkeys(ids) if uid not in found]:
        raise Invalid.at("items", _("The release holds no item %s.") % _some(missing))
    return list(found.values())


def _check_launch(run: Run, judges: Sequence[Judge]) -> None:
    if not judges:
        raise Invalid.at("judges", _("Choose at least one judge."))
    for path, rows in (("release", [run.release]), ("system", [run.system]), ("judges", judges)):
        if strange := [str(row) for row in rows if row.benchmark_id != run.benchmark_id]:
            raise Invalid.at(path, _("%s belongs to another benchmark.") % ", ".join(strange))
    if run.main_judge not in judges:
        raise Invalid.at("main_judge", _("The main judge must be one of the judges."))
    if run.study and (run.study.benchmark_id, run.study.release_id) != (run.benchmark_id, run.release_id):
        raise Invalid.at("study", _("The study is about another release; choose that one."))
    require_thawed(run.study)
    require_endpoint(run.benchmark, run.system, "system")
    for judge in judges:
        require_endpoint(run.benchmark, judge, "judges")
    if run.condition not in Condition.values:
        raise Invalid.at("condition", _("The condition is with_image or without_image."))
    if run.concurrency < 1:
        raise Invalid.at("concurrency", _("At least one call at once is needed."))
    for path in ("samples", "repeats"):
        if not 1 <= getattr(run, path) <= MOST_TIMES:
            raise Invalid.at(path, _("Choose a number from 1 to %d.") % MOST_TIMES)
    check_budgets(run)


def check_budgets(row: Run | Study) -> None:
    """Raises Invalid where a budget is given that allows for nothing."""
    for path in ("budget", "token_budget"):
        if getattr(row, path) is not None and getattr(row, path) <= 0:
            raise Invalid.at(path, _("Leave the budget empty for none, or enter more than 0."))


def _check_items(run: Run, ids: Collection[str]) -> None:
    """Every item (of these ids, if there are any) can be asked and judged."""
    if not run.item_count:
        raise Invalid.at("release", _("The release holds no items."))
    with_images = run.condition == Condition.WITH_IMAGE and run.system.image_mode != ImageMode.NONE
    without_checklist, unfetched = [], []
    pictures: set[str] = set()
    for document in release_documents(run.release):
        if ids and document["id"] not in ids:
            continue
        if not document["checklist"]:
            without_checklist.append(document["id"])
        if with_images:
            images = [image for image in document["images"] if image["role"] == "question"]
            pictures.update(image["sha256"] for image in images)
            if any(not image["sha256"] for image in images):
                unfetched.append(document["id"])
    if without_checklist:
        text = _("%(count)d items have no checklist and cannot be judged: %(ids)s.")
        raise Invalid.at("release", text % {"count": len(without_checklist), "ids": _some(without_checklist)})
    if unfetched:
        text = _(
            "%(count)d items have question images that are only known by their address: %(ids)s. Fetch them before "
            "the release is cut, or run the condition without image."
        )
        raise Invalid.at("condition", text % {"count": len(unfetched), "ids": _some(unfetched)}, code="images_missing")
    if gone := taken_down(run.benchmark_id, pictures):
        text = _(
            "%(count)d question images of the release were taken down, so these questions cannot be asked: "
            "%(reasons)s. Run the condition without image, or cut a release without these items."
        )
        values = {"count": len(gone), "reasons": _some(sorted(set(gone.values())))}
        raise Invalid.at("release", text % values, code="images_taken_down")
    if pictures and run.system.image_mode == ImageMode.URL_IN_PROMPT and not settings.PUBLIC_URL:
        text = _(
            "The system fetches images by their address, so this installation must be reachable: set LHDR_PUBLIC_URL "
            "to its address (see docs/settings.md), or use a system that gets images inline."
        )
        raise Invalid.at("system", text, code="no_public_url")


def _some(ids: Sequence[str]) -> str:
    return ", ".join(ids[:5]) + (" …" if len(ids) > 5 else "")


@transaction.atomic
def pause_run(run: Run, *, actor: User) -> Run:
    """No new call starts; calls under way end and are kept."""
    run = locked_run(run, actor)
    _require_state(run, RunState.QUEUED, RunState.RUNNING)
    return _move(run, RunState.PAUSED, actor, "run.paused")


@transaction.atomic
def cancel_run(run: Run, *, actor: User) -> Run:
    """For good: what is open is cancelled, calls under way are ended and their results dropped; what is done stays."""
    run = locked_run(run, actor)
    _require_state(run, RunState.QUEUED, RunState.RUNNING, RunState.PAUSED, RunState.STOPPED)
    now = timezone.now()
    fields: dict[str, Any] = {
        "status": Status.CANCELLED,
        "reserved": 0,
        "error_kind": ErrorKind.CANCELLED,
        "lease_until": None,
        "ended": now,
    }
    counts = {
        name: rows.filter(status__in=_OPEN).update(**fields)
        for name, rows in (("responses", run.responses), ("verdicts", run.verdicts), ("labels", run.labellings))
    }
    run.ended = now
    _move(run, RunState.CANCELLED, actor, "run.cancelled", **counts)
    tell_run_cancelled(run, actor)
    return run


@transaction.atomic
def resume_run(run: Run, *, actor: User, budget: Any = None, token_budget: int | None = None) -> Run:
    """Go on after a pause or a stop; what failed by a permanent error of the endpoint is tried again.

    budget, token_budget: new ones, where the old ones are used up.
    """
    run = locked_run(run, actor)
    _require_state(run, RunState.PAUSED, RunState.STOPPED)
    run.budget = run.budget if budget is None else budget
    run.token_budget = run.token_budget if token_budget is None else token_budget
    if strange := [row.returned for row in models_of(run) if row.is_strange]:
        text = _("Another model than the one asked for answered: %s. Accept it first, or cancel the run.")
        raise Conflict(text % ", ".join(strange))
    _require_endpoints(run)
    _require_budget(run)
    again = 0
    if run.state == RunState.STOPPED:
        kinds = [kind for kind in ErrorKind if kind.permanent]
        again = _put_back(run, Q(status=Status.FAILED, error_kind__in=kinds))
    return go_on(run, actor, "run.resumed", tried_again=again)


@transaction.atomic
def accept_model(run: Run, model: str, *, actor: User) -> Run:
    """Take a returned model for the one that was asked for; when no other is open, the run goes on."""
    run = locked_run(run, actor)
    _require_state(run, *(state for state in RunState if state != RunState.CANCELLED))
    strange = {row.returned for row in models_of(run) if row.is_strange}
    if model not in strange:
        raise Invalid.at("model", _("No answer of another model than the one asked for has this name: %s.") % model)
    run.models_accepted = [*run.models_accepted, model]
    run.save(update_fields=["models_accepted"])
    _event(run, actor, "run.model_accepted", model=model)
    if strange == {model} and run.state == RunState.PAUSED:
        go_on(run, actor, "run.resumed", tried_again=0)
    return run


@transaction.atomic
def retry_failed(run: Run, kinds: Iterable[str] | None = None, *, actor: User) -> int:
    """Try failed responses, verdicts and labels again (all, or those of some error kinds); how many."""
    run = locked_run(run, actor)
    _require_state(run, *(state for state in RunState if state != RunState.CANCELLED))
    failed = Q(status=Status.FAILED)
    if kinds is not None:
        kinds = list(kinds)
        failed &= Q(error_kind__in=kinds)
    if again := _put_back(run, failed):
        go_on(run, actor, "run.retried", tried_again=again, kinds=kinds)
    elif run.imported and run.responses.filter(failed).exists():
        raise Conflict(_("Its answers came from a file and cannot be asked for again; import a file that has them."))
    return again


@transaction.atomic
def rerun_items(run: Run, numbers: Sequence[int], *, actor: User) -> int:
    """Ask the system anew for chosen items of the run, by their numbers, whatever came of them before; how many times.

    The attempts stay. Answers go, and with them the verdicts: models judge the new answer, people may.
    """
    run = locked_run(run, actor)
    _require_state(run, *(state for state in RunState if state != RunState.CANCELLED))
    if run.imported:
        raise Conflict(_("The answers of this run came from a file; there is nobody to ask."))
    chosen = run.responses.filter(release_item__item__number__in=numbers)
    known = set(chosen.values_list("release_item__item__number", flat=True))
    if not numbers:
        raise Invalid.at("items", _("Name at least one item."))
    if missing := [str(number) for number in dict.fromkeys(numbers) if number not in known]:
        raise Invalid.at("items", _("The run holds no item %s.") % _some(missing))
    if under_way := chosen.filter(status=Status.RUNNING).count():
        text = _("%(n)d of them are being asked right now; wait for their answers, or leave them out.")
        raise Conflict(text % {"n": under_way})
    pks = list(chosen.values_list("pk", flat=True))
    if carried := Response.objects.filter(carried_from__in=pks).count():
        text = _(
            "%(n)d answers of later runs were carried over from these, and rest on them. Launch a run anew instead."
        )
        raise Conflict(text % {"n": carried})
    if run.responses.filter(pk__in=pks, anchor__isnull=False).exists():
        raise Conflict(_("Some of them are anchors by which the drift of judges is measured; release these first."))
    judged = run.verdicts.filter(response__in=pks)
    people = judged.filter(endpoint=None).delete()[0]
    judged.update(**{**AGAIN, "status": Status.CANCELLED}, **_NO_VERDICT)
    set_labels_aside(run, pks)
    run.responses.filter(pk__in=pks).update(**AGAIN, **_NO_ANSWER)
    go_on(run, actor, "run.rerun", items=sorted(known), tried_again=len(pks), verdicts_of_people=people)
    return len(pks)


def set_labels_aside(run: Run, responses: Iterable[int]) -> None:
    """Labels of answers that go, go with them; models are asked anew once there is another verdict."""
    labels = run.labellings.filter(response__in=responses)
    labels.filter(endpoint=None).delete()
    labels.update(status=Status.CANCELLED, owner=None, lease_until=None, reserved=0, labels=[], unparseable="")


@transaction.atomic
def rejudge(run: Run, judge: Judge, *, actor: User) -> int:
    """Have a judge give the verdicts that are missing, failed or unparseable, from the responses as kept; how many.

    No system is asked again. Verdicts that were given stay.
    """
    run = locked_run(run, actor)
    _require_state(run, *(state for state in RunState if state != RunState.CANCELLED))
    if judge.benchmark_id != run.benchmark_id:
        raise Invalid.at("judge", _("%s belongs to another benchmark.") % judge)
    require_endpoint(run.benchmark, judge, "judge")
    run.judges.add(judge)
    again = _judge_again(run, [judge]) + add_missing_verdicts(run)
    if again:
        go_on(run, actor, "run.rejudged", judge=judge.name, verdicts=again)
    return again


@transaction.atomic
def fill_run(run: Run, judges: Sequence[Judge], samples: int, repeats: int, *, actor: User) -> dict[str, int]:
    """Have the run ask for all that it lacks: responses that failed, and of these judges the verdicts that failed,
    could not be read or were never asked for; judges, samples and repeats that are new join it. How many of each.

    What was answered and judged stays. A run that stopped goes on; a pause stays a pause.
    """
    run = locked_run(run, actor)
    _require_state(run, *(state for state in RunState if state != RunState.CANCELLED))
    _require_endpoints(run)
    _require_budget(run)
    run.judges.add(*judges)
    items = run.responses.filter(sample=1).order_by("pk").values_list("release_item_id", flat=True)
    joining = range(run.samples + 1, samples + 1)
    fresh = [
        Response(run=run, release_item_id=pk, sample=sample, endpoint_id=run.system.endpoint_id)
        for pk, sample in product(items if joining else (), joining)
    ]
    Response.objects.bulk_create(fresh, batch_size=1000)
    run.samples, run.repeats = max(run.samples, samples), max(run.repeats, repeats)
    run.save(update_fields=["samples", "repeats"])
    lacking = {
        "responses": len(fresh) + run.responses.filter(status=Status.FAILED).update(**AGAIN),
        "verdicts": _judge_again(run, judges) + add_missing_verdicts(run),
        "resumed": int(run.state == RunState.STOPPED),
    }
    if any(lacking.values()):
        go_on(run, actor, "run.filled", **lacking)
    return lacking


def _judge_again(run: Run, judges: Iterable[Judge]) -> int:
    """Verdicts of these judges that are none are due again; how many."""
    none = ~Q(unparseable="") | Q(status__in=(Status.FAILED, Status.CANCELLED))
    return run.verdicts.filter(none, judge__in=judges, response__status=Status.COMPLETED).update(
        **AGAIN, **_NOTHING_READ
    )


@transaction.atomic
def retry_unparseable(run: Run, verdicts: Iterable[int] | None = None, *, actor: User) -> int:
    """Ask again for verdicts that could not be read (all, or those with these keys), up to the judge's limit; how many.

    What was printed before stays in their attempts.
    """
    run = locked_run(run, actor)
    _require_state(run, *(state for state in RunState if state != RunState.CANCELLED))
    rows = run.verdicts.filter(status=Status.COMPLETED, endpoint__isnull=False).exclude(unparseable="")
    if verdicts is not None:
        rows = rows.filter(pk__in=list(verdicts))
    if again := rows.update(**AGAIN, **_NOTHING_READ):
        go_on(run, actor, "run.retried", tried_again=again)
    return again


@transaction.atomic
def measure_drift(judge: Judge, *, actor: User) -> DriftMeasurement:
    """Have a judge judge the anchors again that it judged before, as further repeats; no system is asked.

    Their runs are open again until it is done; these verdicts are no part of their results.
    """
    if judge.endpoint is None:
        raise Invalid.at("judge", _("%s is a person; drift is measured of models.") % judge)
    may_manage_runs(actor, judge.benchmark).require()
    require_endpoint(judge.benchmark, judge, "judge")
    anchors = drift_anchors(judge)
    if not anchors:
        raise Conflict(_("This judge has judged no anchor yet: choose anchors from a run that it judged."))
    measurement = DriftMeasurement.objects.create(judge=judge, created_by=actor)
    repeat = FIRST_DRIFT_REPEAT + judge.measurements.count()
    for run_pk, responses in anchors.items():
        run = locked_run(Run(pk=run_pk), actor)
        Verdict.objects.bulk_create(
            Verdict(
                run=run, response_id=pk, judge=judge, repeat=repeat, endpoint_id=judge.endpoint_id, drift=measurement
            )
            for pk in responses
        )
        go_on(run, actor, "drift.measured", judge=judge.name, verdicts=len(responses))
    return measurement


def locked_run(run: Run, actor: User) -> Run:
    """The run's row, locked, for who manages it, unless its study is frozen."""
    run = Run.objects.select_for_update(of=("self",)).select_related("benchmark", "study").get(pk=run.pk)
    may_manage_runs(actor, run.benchmark).require()
    require_thawed(run.study)
    return run


def require_thawed(study: Study | None) -> None:
    """Raises Conflict where the study is frozen. Freezing locks the runs, so this holds while a run is locked."""
    if study and study.frozen:
        text = _("The study “%s” is frozen: nothing of it changes any more. Launch a run outside of it instead.")
        raise Conflict(text % study, code="study_frozen")


def _require_budget(run: Run) -> None:
    if run.budget is not None and run.spent >= run.budget:
        text = _("The budget of %(budget)s USD is used up (%(spent)s spent): raise it to go on.")
        raise Invalid.at("budget", text % {"budget": run.budget, "spent": run.spent}, code="budget_used_up")
    if run.token_budget is not None and run.tokens >= run.token_budget:
        text = _("The budget of %(budget)d tokens is used up (%(used)d used): raise it to go on.")
        raise Invalid.at("token_budget", text % {"budget": run.token_budget, "used": run.tokens})


def _require_endpoints(run: Run) -> None:
    if held_back := endpoints_of(run).exclude(broken="").first():
        text = _("No call is made to %(endpoint)s: %(reason)s Once that is put right, let it try again, then resume.")
        raise Conflict(text % {"endpoint": held_back, "reason": held_back.broken})


def _require_state(run: Run, *states: RunState) -> None:
    if run.state not in states:
        text = _("The run is %(state)s by now; this is not possible then.")
        raise Conflict(text % {"state": run.get_state_display()}, state=run.state)


def _put_back(run: Run, which: Q) -> int:
    asked: list[Any] = [run.verdicts, run.labellings]
    if not run.imported:  # a file cannot be asked again
        asked.append(run.responses)
    return sum(rows.filter(which).update(**AGAIN) for rows in asked)


def go_on(run: Run, actor: User, kind: str, **data: Any) -> Run:
    """Let workers start again; a pause stays a pause until somebody resumes it."""
    run.resumed, run.resumed_by, run.ended, run.stop = timezone.now(), actor, None, {}
    paused = run.state == RunState.PAUSED and kind != "run.resumed"
    state = RunState.PAUSED if paused else RunState.RUNNING if run.started else RunState.QUEUED
    _move(run, state, actor, kind, **data)
    tasks.wake_later(run.pk, run.concurrency)
    return run


def _move(run: Run, state: RunState, actor: User, kind: str, **data: Any) -> Run:
    run.state = state
    run.save(update_fields=["state", "ended", "resumed", "resumed_by", "stop", "budget", "token_budget"])
    _event(run, actor, kind, **data)
    take_back(run, run.study)
    return run


def _event(run: Run, actor: User, kind: str, **data: Any) -> None:
    RunEvent.objects.create(run=run, actor=actor, kind=kind, data=data)
