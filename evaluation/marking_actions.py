"""People's writes to marking: a plan of responses to mark, what is given to a person one by one, and their verdicts."""

from collections.abc import Iterable, Sequence

from django.contrib.auth.models import User
from django.db import transaction
from django.db.models import Max
from django.utils import timezone
from django.utils.translation import gettext as _

from annotation.benchmarks import Benchmark
from annotation.document import read_document
from lhdr_site.shared.errors import Conflict, Invalid

from .actions import require_thawed
from .marking import candidates_of
from .models import Judge, MarkingPlan, MarkingTask, Response, Run, RunEvent, Study, Verdict, Work
from .permissions import may_manage_runs, may_record_verdict, may_see_runs
from .prompts import verdict_identity
from .queries import REVEALED, has_seen_verdicts
from .scoring.sampling import draw
from .steps import judge_facts

Method = MarkingPlan.Method
LARGEST_SEED = 2**53
Status = Work.Status


@transaction.atomic
def plan_marking(target: Run | Study, method: str, size: int, seed: int, *, actor: User) -> MarkingPlan:
    """Draw completed responses of a run or a study for people to mark; every person marks the same, in this order."""
    benchmark = _locked(target.benchmark, actor)
    if method not in Method.values or method == Method.HANDED:
        raise Invalid.at("method", _("Choose one of the ways to draw."))
    if size < 1:
        raise Invalid.at("size", _("Choose at least one response."))
    if not 0 <= seed <= LARGEST_SEED:
        raise Invalid.at("seed", _("The seed is a whole number from 0 to 2^53."))
    runs = [target] if isinstance(target, Run) else list(target.runs.all())
    pks = draw(candidates_of(Response.objects.filter(run__in=runs)), method, size, seed)
    if not pks:
        why = {
            Method.DISAGREEMENT: _("There is no response on which judges disagree."),
        }.get(Method(method), _("There is no completed response yet."))
        raise Invalid.at("method", why)
    plan = _new_plan(benchmark, target, method, size, seed, actor)
    MarkingTask.objects.bulk_create(MarkingTask(plan=plan, response_id=pk, position=n) for n, pk in enumerate(pks, 1))
    for run in runs:
        _event(run, actor, "marking.planned", plan=plan.number, responses=len(pks))
    return plan


@transaction.atomic
def hand_over(run: Run, verdicts: Iterable[int] | None = None, *, actor: User) -> int:
    """Put responses about which an output could not be read (all, or those of these verdicts) into the run's queue for
    people; how many were not in it yet."""
    benchmark = _locked(run.benchmark, actor)
    rows = run.verdicts.exclude(unparseable="").order_by("response__release_item__position", "response__sample")
    if verdicts is not None:
        rows = rows.filter(pk__in=list(verdicts))
    plan = MarkingPlan.objects.filter(run=run, method=Method.HANDED).first()
    known = set(plan.tasks.values_list("response", flat=True)) if plan else set()
    fresh = [pk for pk in dict.fromkeys(rows.values_list("response", flat=True)) if pk not in known]
    if not fresh:
        return 0
    plan = plan or _new_plan(benchmark, run, Method.HANDED, 1, 0, actor)
    MarkingTask.objects.bulk_create(
        MarkingTask(plan=plan, response_id=pk, position=n) for n, pk in enumerate(fresh, len(known) + 1)
    )
    plan.size = len(known) + len(fresh)
    plan.save(update_fields=["size"])
    _event(run, actor, "marking.planned", plan=plan.number, responses=len(fresh))
    return len(fresh)


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
    run = Run.objects.select_for_update(of=("self",)).select_related("benchmark", "study").get(pk=response.run_id)
    may_record_verdict(actor, run.benchmark).require()
    require_thawed(run.study)
    response = Response.objects.select_related("release_item").get(pk=response.pk)
    if response.status != Status.COMPLETED:
        raise Conflict(_("Only a completed response can be judged."))
    document = read_document(response.release_item.document)
    steps = len(document.checklist)
    if len(vector) != steps or any(mark not in (0, 1) for mark in vector):
        text = _("Mark each of the %(steps)d steps with 1 or 0; %(given)d marks were given.")
        raise Invalid.at("vector", text % {"steps": steps, "given": len(vector)})
    judge = person_judge(run.benchmark, actor)
    known = Verdict.objects.filter(response=response, judge=judge, repeat=1).first()
    old = known and {"answer_correct": known.answer_correct, "vector": known.vector, "note": known.note}
    verdict = known or Verdict(run=run, response=response, judge=judge)
    verdict.status, verdict.ended = Status.COMPLETED, timezone.now()
    verdict.answer_correct, verdict.vector = bool(answer_correct), [int(mark) for mark in vector]
    verdict.note, verdict.blind = note.strip(), known is None and not has_seen_verdicts(actor, run, response)
    verdict.identity, verdict.carried_from = verdict_identity(judge_facts(judge), document, response.text), None
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


def person_judge(benchmark: Benchmark, user: User) -> Judge:
    """The judge that stands for a person in this benchmark."""
    judge = Judge.objects.filter(benchmark=benchmark, person=user).first()
    if judge is None:
        name = user.get_full_name() or user.get_username()
        if Judge.objects.filter(benchmark=benchmark, name=name[:80]).exists():
            name = f"{name[:60]} ({user.pk})"
        judge = Judge.objects.create(benchmark=benchmark, name=name[:80], person=user, created_by=user)
    return judge


def _locked(benchmark: Benchmark, actor: User) -> Benchmark:
    benchmark = Benchmark.objects.select_for_update(no_key=True).get(pk=benchmark.pk)
    may_manage_runs(actor, benchmark).require()
    return benchmark


def _new_plan(benchmark: Benchmark, target: Run | Study, method: str, size: int, seed: int, actor: User) -> MarkingPlan:
    number = (benchmark.marking_plans.aggregate(last=Max("number"))["last"] or 0) + 1
    of = {"run": target} if isinstance(target, Run) else {"study": target}
    return MarkingPlan.objects.create(
        benchmark=benchmark, number=number, method=method, size=size, seed=seed, created_by=actor, **of
    )


def _event(run: Run, actor: User, kind: str, **data: object) -> None:
    RunEvent.objects.create(run=run, actor=actor, kind=kind, data=data)
