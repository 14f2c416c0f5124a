"""People's writes to runs: one function, one transaction, one event. It locks the run, asks, checks, writes, records.

Raises NotAllowed (403), Conflict (409) and Invalid (422) with nothing written.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from django.conf import settings
from django.contrib.auth.models import User
from django.db import transaction
from django.db.models import Max, Q
from django.utils import timezone
from django.utils.translation import gettext as _

from annotation.benchmarks import Benchmark
from annotation.document import read_document
from audit.releases import ReleaseItem, release_documents
from lhdr_site.endpoints.errors import ErrorKind
from lhdr_site.endpoints.models import Endpoint
from lhdr_site.shared.errors import Conflict, Invalid
from lhdr_site.shared.validation import validate

from . import tasks
from .models import Condition, ImageMode, Judge, Response, Run, RunEvent, RunState, System, Verdict, Work
from .permissions import may_manage_runs, may_record_verdict, may_see_runs
from .prompts import DEFAULT_VERSION, TEMPLATES, verdict_identity
from .queries import REVEALED, has_seen_verdicts
from .steps import add_missing_verdicts, judge_facts

Status = Work.Status
_OPEN = (Status.PENDING, Status.RUNNING)
_AGAIN = {
    "status": Status.PENDING, "owner": None, "lease_until": None, "due": None, "tries": 0, "error_kind": "",
    "error": "", "ended": None,
}  # fmt: skip


# --- systems and judges -------------------------------------------------------------------------------------------


@transaction.atomic
def create_system(benchmark: Benchmark, data: Mapping[str, Any], *, actor: User) -> System:
    """A system under evaluation. It is never edited: another configuration is another system."""
    may_manage_runs(actor, benchmark).require()
    system = System(benchmark=benchmark, created_by=actor, **data)
    _check_configuration(system, benchmark)
    system.save()
    return system


@transaction.atomic
def create_judge(benchmark: Benchmark, data: Mapping[str, Any], *, actor: User) -> Judge:
    """A model that judges, with one prompt version. It is never edited: another prompt is another judge."""
    may_manage_runs(actor, benchmark).require()
    judge = Judge(benchmark=benchmark, created_by=actor, **{"prompt_version": DEFAULT_VERSION, **data})
    if judge.endpoint is None:
        raise Invalid.at("endpoint", _("Choose the endpoint at which the judge answers."))
    if not judge.model.strip():
        raise Invalid.at("model", _("Enter the model id, as the endpoint names it."))
    if judge.prompt_version not in TEMPLATES:
        known = ", ".join(TEMPLATES)
        raise Invalid.at("prompt_version", _("There is no such prompt version; choose one of %s.") % known)
    _check_configuration(judge, benchmark)
    judge.save()
    return judge


def _check_configuration(row: System | Judge, benchmark: Benchmark) -> None:
    validate(row)
    assert row.endpoint is not None
    _require_endpoint(benchmark, row.endpoint, "endpoint")
    if not isinstance(row.extra_body, dict):
        raise Invalid.at("extra_body", _('Write a JSON object in braces, like {"temperature": 0}.'))
    if taken := [name for name in ("model", "messages") if name in row.extra_body]:
        raise Invalid.at("extra_body", _("The Workbench sets %s itself; remove it.") % ", ".join(taken))
    if row.extra_body.get("stream") and row.endpoint.wire != "openai":
        raise Invalid.at("extra_body", _("Streaming works with the OpenAI wire format only; remove “stream”."))


def _require_endpoint(benchmark: Benchmark, endpoint: Endpoint, path: str) -> None:
    if not benchmark.endpoints.filter(pk=endpoint.pk).exists():
        text = _("This benchmark may not use the endpoint “%s”; a superuser can allow it in the benchmark's settings.")
        raise Invalid.at(path, text % endpoint)


# --- runs ---------------------------------------------------------------------------------------------------------


@transaction.atomic
def launch_run(benchmark: Benchmark, data: Mapping[str, Any], *, actor: User) -> Run:
    """One system on one release: the run with one pending response per item; workers start after the commit.

    data: release, system, judges (at least one model), and optionally condition, main_judge (the first of judges),
    concurrency, budget, note.
    """
    benchmark = Benchmark.objects.select_for_update().get(pk=benchmark.pk)
    may_manage_runs(actor, benchmark).require()
    judges = list(data["judges"])
    run = Run(
        benchmark=benchmark,
        number=(benchmark.runs.aggregate(last=Max("number"))["last"] or 0) + 1,
        release=data["release"],
        system=data["system"],
        condition=data.get("condition") or Condition.WITH_IMAGE,
        main_judge=data.get("main_judge") or (judges[0] if judges else None),
        note=data.get("note") or "",
        concurrency=data.get("concurrency") or 8,
        budget=data.get("budget"),
        item_count=data["release"].item_count,
        launched_by=actor,
        resumed=timezone.now(),
    )
    _check_launch(run, judges)
    run.save()
    run.judges.set(judges)
    pks = ReleaseItem.objects.filter(release=run.release).order_by("position").values_list("pk", flat=True)
    Response.objects.bulk_create(
        (Response(run=run, release_item_id=pk, endpoint_id=run.system.endpoint_id) for pk in pks), batch_size=1000
    )
    _event(run, actor, "run.launched", items=run.item_count, system=run.system.name, judges=[j.name for j in judges])
    tasks.wake_later(run.pk, min(run.concurrency, run.item_count))
    return run


def _check_launch(run: Run, judges: Sequence[Judge]) -> None:
    if not judges:
        raise Invalid.at("judges", _("Choose at least one judge."))
    for path, rows in (("release", [run.release]), ("system", [run.system]), ("judges", judges)):
        if strange := [str(row) for row in rows if row.benchmark_id != run.benchmark_id]:
            raise Invalid.at(path, _("%s belongs to another benchmark.") % ", ".join(strange))
    if people := [judge.name for judge in judges if judge.endpoint is None]:
        raise Invalid.at("judges", _("%s is a person; people judge on the response's page.") % ", ".join(people))
    if run.main_judge not in judges:
        raise Invalid.at("main_judge", _("The main judge must be one of the judges."))
    _require_endpoint(run.benchmark, run.system.endpoint, "system")
    for judge in judges:
        assert judge.endpoint is not None
        _require_endpoint(run.benchmark, judge.endpoint, "judges")
    if run.condition not in Condition.values:
        raise Invalid.at("condition", _("The condition is with_image or without_image."))
    if run.concurrency < 1:
        raise Invalid.at("concurrency", _("At least one call at once is needed."))
    if run.budget is not None and run.budget <= 0:
        raise Invalid.at("budget", _("Leave the budget empty for none, or enter more than 0."))
    _check_items(run)


def _check_items(run: Run) -> None:
    """Every item can be asked and judged."""
    if not run.item_count:
        raise Invalid.at("release", _("The release holds no items."))
    with_images = run.condition == Condition.WITH_IMAGE and run.system.image_mode != ImageMode.NONE
    without_checklist, unfetched, pictures = [], [], False
    for document in release_documents(run.release):
        if not document["checklist"]:
            without_checklist.append(document["id"])
        if with_images:
            images = [image for image in document["images"] if image["role"] == "question"]
            pictures = pictures or bool(images)
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
    run = _locked(run, actor)
    _require_state(run, RunState.QUEUED, RunState.RUNNING)
    return _move(run, RunState.PAUSED, actor, "run.paused")


@transaction.atomic
def cancel_run(run: Run, *, actor: User) -> Run:
    """For good: what is open is cancelled, calls under way are ended and their results dropped; what is done stays."""
    run = _locked(run, actor)
    _require_state(run, RunState.QUEUED, RunState.RUNNING, RunState.PAUSED, RunState.STOPPED)
    now = timezone.now()
    fields = {"status": Status.CANCELLED, "error_kind": ErrorKind.CANCELLED, "lease_until": None, "ended": now}
    counts = {
        name: rows.filter(status__in=_OPEN).update(**fields)
        for name, rows in (("responses", run.responses), ("verdicts", run.verdicts))
    }
    run.ended = now
    return _move(run, RunState.CANCELLED, actor, "run.cancelled", **counts)


@transaction.atomic
def resume_run(run: Run, *, actor: User, budget: Any = None) -> Run:
    """Go on after a pause or a stop; what failed by a permanent error of the endpoint is tried again.

    budget: a new one, where the old one is used up.
    """
    run = _locked(run, actor)
    _require_state(run, RunState.PAUSED, RunState.STOPPED)
    if budget is not None:
        run.budget = budget
    if run.budget is not None and run.spent >= run.budget:
        text = _("The budget of %(budget)s USD is used up (%(spent)s spent): raise it to go on.")
        raise Invalid.at("budget", text % {"budget": run.budget, "spent": run.spent}, code="budget_used_up")
    again = 0
    if run.state == RunState.STOPPED:
        kinds = [kind for kind in ErrorKind if kind.permanent]
        again = _put_back(run, Q(status=Status.FAILED, error_kind__in=kinds))
    return _go_on(run, actor, "run.resumed", tried_again=again)


@transaction.atomic
def retry_failed(run: Run, kinds: Iterable[str] | None = None, *, actor: User) -> int:
    """Try failed responses and verdicts again (all, or those of some error kinds); how many."""
    run = _locked(run, actor)
    _require_state(run, *(state for state in RunState if state != RunState.CANCELLED))
    failed = Q(status=Status.FAILED)
    if kinds is not None:
        kinds = list(kinds)
        failed &= Q(error_kind__in=kinds)
    if again := _put_back(run, failed):
        _go_on(run, actor, "run.retried", tried_again=again, kinds=kinds)
    return again


@transaction.atomic
def rejudge(run: Run, judge: Judge, *, actor: User) -> int:
    """Have a judge give the verdicts that are missing, failed or unparseable, from the responses as kept; how many.

    No system is asked again. Verdicts that were given stay.
    """
    run = _locked(run, actor)
    _require_state(run, *(state for state in RunState if state != RunState.CANCELLED))
    if judge.benchmark_id != run.benchmark_id:
        raise Invalid.at("judge", _("%s belongs to another benchmark.") % judge)
    if judge.endpoint is None:
        raise Invalid.at("judge", _("%s is a person; people judge on the response's page.") % judge)
    _require_endpoint(run.benchmark, judge.endpoint, "judge")
    run.judges.add(judge)
    none = ~Q(unparseable="") | Q(status__in=(Status.FAILED, Status.CANCELLED))
    again = run.verdicts.filter(none, judge=judge).update(
        **_AGAIN, endpoint_id=judge.endpoint_id, unparseable="", output="", flags=[], identity=""
    )
    again += add_missing_verdicts(run)
    if again:
        _go_on(run, actor, "run.rejudged", judge=judge.name, verdicts=again)
    return again


@transaction.atomic
def record_human_verdict(
    response: Response,
    answer_correct: bool,
    vector: Sequence[int],
    *,
    actor: User,
    note: str = "",
) -> Verdict:
    """A person's verdict; recording another replaces it. It is blind when it is the first and the person had not the
    others' shown."""
    run = Run.objects.select_for_update(of=("self",)).select_related("benchmark").get(pk=response.run_id)
    may_record_verdict(actor, run.benchmark).require()
    response = Response.objects.select_related("release_item").get(pk=response.pk)
    if response.status != Status.COMPLETED:
        raise Conflict(_("Only a completed response can be judged."))
    document = read_document(response.release_item.document)
    steps = len(document.checklist)
    if len(vector) != steps or any(mark not in (0, 1) for mark in vector):
        text = _("Mark each of the %(steps)d steps with 1 or 0; %(given)d marks were given.")
        raise Invalid.at("vector", text % {"steps": steps, "given": len(vector)})
    judge = _person(run.benchmark, actor)
    known = Verdict.objects.filter(response=response, judge=judge, repeat=1).first()
    old = known and {"answer_correct": known.answer_correct, "vector": known.vector, "note": known.note}
    verdict = known or Verdict(run=run, response=response, judge=judge)
    verdict.status, verdict.ended = Status.COMPLETED, timezone.now()
    verdict.answer_correct, verdict.vector = bool(answer_correct), [int(mark) for mark in vector]
    verdict.note, verdict.blind = note.strip(), known is None and not has_seen_verdicts(actor, run, response)
    verdict.identity = verdict_identity(judge_facts(judge), document, response.text)
    verdict.save()
    new = {name: getattr(verdict, name) for name in ("answer_correct", "vector", "note", "blind")}
    _event(run, actor, "verdict.recorded", response=response.pk, old=old, new=new)
    return verdict


@transaction.atomic
def reveal_verdicts(run: Run, response: Response | None = None, *, actor: User) -> None:
    """Have the others' verdicts shown, on one response or the whole run: recorded, once per person."""
    run = Run.objects.select_for_update(of=("self",)).select_related("benchmark").get(pk=run.pk)
    may_see_runs(actor, run.benchmark).require()
    if not has_seen_verdicts(actor, run, response):
        _event(run, actor, REVEALED, response=response.pk if response else None)


def _person(benchmark: Benchmark, user: User) -> Judge:
    """The judge that stands for a person in this benchmark."""
    judge = Judge.objects.filter(benchmark=benchmark, person=user).first()
    if judge is None:
        name = user.get_full_name() or user.get_username()
        if Judge.objects.filter(benchmark=benchmark, name=name[:80]).exists():
            name = f"{name[:60]} ({user.pk})"
        judge = Judge.objects.create(benchmark=benchmark, name=name[:80], person=user, created_by=user)
    return judge


def _locked(run: Run, actor: User) -> Run:
    run = Run.objects.select_for_update(of=("self",)).select_related("benchmark").get(pk=run.pk)
    may_manage_runs(actor, run.benchmark).require()
    return run


def _require_state(run: Run, *states: RunState) -> None:
    if run.state not in states:
        text = _("The run is %(state)s by now; this is not possible then.")
        raise Conflict(text % {"state": run.get_state_display()}, state=run.state)


def _put_back(run: Run, which: Q) -> int:
    return sum(rows.filter(which).update(**_AGAIN) for rows in (run.responses, run.verdicts))


def _go_on(run: Run, actor: User, kind: str, **data: Any) -> Run:
    """Let workers start again; a pause stays a pause until somebody resumes it."""
    run.resumed, run.ended, run.stop_reason = timezone.now(), None, ""
    paused = run.state == RunState.PAUSED and kind != "run.resumed"
    state = RunState.PAUSED if paused else RunState.RUNNING if run.started else RunState.QUEUED
    _move(run, state, actor, kind, **data)
    tasks.wake_later(run.pk, run.concurrency)
    return run


def _move(run: Run, state: RunState, actor: User, kind: str, **data: Any) -> Run:
    run.state = state
    run.save(update_fields=["state", "ended", "resumed", "stop_reason", "budget"])
    _event(run, actor, kind, **data)
    return run


def _event(run: Run, actor: User, kind: str, **data: Any) -> None:
    RunEvent.objects.create(run=run, actor=actor, kind=kind, data=data)
