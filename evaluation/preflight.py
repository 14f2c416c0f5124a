"""Looking before a launch: keys, endpoints, credit, judges on a real case, the public address, requests that are too
large, the cost expected.

Everything that waits for others runs at once in threads with one deadline, and opens no database connection there: a
page waits for it a few seconds at most.
"""

import copy
import os
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor, wait
from datetime import timedelta
from decimal import Decimal
from typing import Any, NamedTuple

import urllib3
from django.conf import settings
from django.contrib.auth.models import User
from django.utils import timezone
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from annotation.benchmarks import Benchmark, stored_images
from annotation.document import Document, read_document
from audit.releases import Release, numbered_documents
from lhdr_site.endpoints.bodies import chat_body
from lhdr_site.endpoints.client import call
from lhdr_site.endpoints.errors import CallError
from lhdr_site.endpoints.models import Endpoint, Wire
from lhdr_site.endpoints.reading import read_credit, read_models
from lhdr_site.shared.errors import Invalid
from lhdr_site.shared.health import STALE_SECONDS
from lhdr_site.shared.models import Heartbeat

from .actions import draft_run, require_endpoint, require_thawed
from .carrying import count_carried
from .guesses import guess_costs
from .models import Condition, ImageMode, Judge, Run, Study, System
from .permissions import may_manage_runs
from .prompts import build_judge_prompt
from .request_sizes import Sizes
from .requests import refusing_collection
from .scoring.judge_output import Unparseable, parse_judge_output
from .study_queries import Matrix

DEADLINE = 10.0
LEVELS = ("ok", "warning", "error")
MOST_NAMED = 20  # items in one message


class Check(NamedTuple):
    level: str  # one of LEVELS
    title: str
    text: str  # what was found, and what to do about it
    concerns: tuple[str, ...] = ()  # names of systems and judges


class _Calls(NamedTuple):
    """So many answers and verdicts."""

    answers: int = 0
    verdicts: int = 0

    def __str__(self) -> str:
        answers = ngettext("%(n)d answer", "%(n)d answers", self.answers) % {"n": self.answers}
        verdicts = ngettext("%(n)d verdict", "%(n)d verdicts", self.verdicts) % {"n": self.verdicts}
        return _("%(answers)s and %(verdicts)s") % {"answers": answers, "verdicts": verdicts}


class _Plan(NamedTuple):
    release: Release
    systems: list[System]
    judges: list[Judge]
    conditions: list[str]
    items: frozenset[str]  # ids; empty for all
    budget: Decimal | None
    planned: _Calls
    to_ask: dict[int, _Calls]  # by system
    carried: _Calls


class _Items(NamedTuple):
    """What one look through the release found."""

    first: Document  # of those with a checklist, as the next
    longest: Document
    unmarkable: list[int]  # numbers of those without a checklist
    sizes: list[Sizes]


def check_launch(benchmark: Benchmark, data: Mapping[str, Any], *, actor: User) -> list[Check]:
    """What stands in the way of a run with this data (that of `launch_run`), the order being that of the work.

    Raises what launching would, but for what lies in the items: that is among the checks.
    """
    run, items = draft_run(benchmark, data, actor=actor)
    judges = list(data["judges"])
    answers, verdicts = count_carried(run, items, judges) if data.get("carry_over", True) else (0, Counter())
    carried = _Calls(answers, verdicts.total())
    every = len(items) * run.samples
    planned = _Calls(every, every * len(judges) * run.repeats)
    to_ask = {run.system.pk: _Calls(planned.answers - carried.answers, planned.verdicts - carried.verdicts)}
    scope = ([run.condition], frozenset(data.get("items") or ()), run.budget)
    return _check(_Plan(run.release, [run.system], judges, *scope, planned, to_ask, carried))


def check_study(study: Study, *, actor: User) -> list[Check]:
    """The same of the whole plan of a study, each thing said once with the systems and judges that it concerns; for who
    may fill it."""
    may_manage_runs(actor, study.benchmark).require()
    require_thawed(study)
    found: list[Check] = []

    def usable(row: System | Judge) -> bool:
        try:
            require_endpoint(study.benchmark, row, "")
        except Invalid as error:
            found.append(Check("error", row.name, error.message))
            return False
        return True

    systems = [row for row in study.systems.select_related("endpoint") if usable(row)]
    judges = [row for row in study.judges.select_related("endpoint") if usable(row)]
    if not systems or not judges:
        return found
    matrix = Matrix(study)
    carried = _carried(study, matrix, systems, judges)
    to_ask = {system.pk: _Calls() for system in systems}
    for row in matrix.rows:
        if row.system.pk in to_ask:
            answers, marks = carried.get((row.system.pk, row.condition), (0, Counter()))
            verdicts = sum(row.verdicts_to_ask(judge.pk, study.repeats) - marks[judge.pk] for judge in judges)
            before = to_ask[row.system.pk]
            to_ask[row.system.pk] = _Calls(before.answers + row.calls - answers, before.verdicts + verdicts)
    every = study.release.item_count * study.samples * len(study.conditions) * len(systems)
    planned = _Calls(every, every * len(judges) * study.repeats)
    copied = _Calls(sum(n for n, _marks in carried.values()), sum(marks.total() for _n, marks in carried.values()))
    scope = (study.conditions, frozenset[str](), study.budget)
    found += _check(_Plan(study.release, systems, judges, *scope, planned, to_ask, copied))
    return found + _cost_so_far(study, matrix, carried)


def _carried(
    study: Study, matrix: Matrix, systems: list[System], judges: list[Judge]
) -> dict[tuple[int, str], tuple[int, Counter[int]]]:
    """What launching the runs that the study lacks would carry over, by system and condition."""
    if not matrix.may_carry:
        return {}
    items = list(study.release.release_items.values_list("pk", flat=True))
    found = {}
    for row in matrix.rows:
        if row.run is None and row.system in systems:
            plan = {"condition": row.condition, "samples": study.samples, "repeats": study.repeats}
            run = Run(release=study.release, system=row.system, **plan)
            found[row.system.pk, row.condition] = count_carried(run, items, judges)
    return found


def _check(plan: _Plan) -> list[Check]:
    items = _look_through(plan)
    if items is None:
        return [
            Check("error", _("Requests"), _("No item has a checklist, so none can be judged: launching is refused."))
        ]
    rows: list[System | Judge] = [*plan.systems, *plan.judges]
    endpoints = {row.endpoint_id: row.endpoint for row in rows if row.endpoint}
    users = {pk: [row for row in rows if row.endpoint_id == pk] for pk in endpoints}
    found = [check for pk, endpoint in endpoints.items() for check in _about(users[pk], _keys(endpoint))]
    asked: list[tuple[str, Callable[[], list[Check]]]] = []
    for pk, endpoint in endpoints.items():
        paid = plan.budget if any(isinstance(row, System) for row in users[pk]) else None
        asked.append((str(endpoint), lambda e=endpoint, u=users[pk], b=paid: _about(u, _endpoint(e, u, b))))  # type: ignore[misc]
    for judge in plan.judges:
        if judge.endpoint and not judge.endpoint.broken:
            prompt = build_judge_prompt(judge.template, items.first, "I do not know.")
            asked.append((judge.name, lambda j=judge, p=prompt: [_judge(j, p, len(items.first.checklist))]))  # type: ignore[misc]
    if fetching := [system for system in plan.systems if system.image_mode == ImageMode.URL_IN_PROMPT]:
        asked.append((_("Public address"), lambda: _about(fetching, [_public_address()])))
    until = time.monotonic() + DEADLINE / 2
    found += _at_once(asked, meanwhile=lambda: _settle(items.sizes, until))
    return [*found, *_requests(items), _cost(plan, items)]


def _about(rows: Sequence[System | Judge], checks: list[Check]) -> list[Check]:
    return [check._replace(concerns=tuple(row.name for row in rows)) for check in checks]


def _at_once(asked: list[tuple[str, Callable[[], list[Check]]]], meanwhile: Callable[[], None]) -> list[Check]:
    until = time.monotonic() + DEADLINE
    pool = ThreadPoolExecutor(max_workers=len(asked))
    futures = [(title, pool.submit(check)) for title, check in asked]
    meanwhile()
    done, _late = wait([future for _title, future in futures], timeout=max(0.0, until - time.monotonic()))
    pool.shutdown(wait=False, cancel_futures=True)
    found: list[Check] = []
    late = _("No word within %d seconds. It may still be fine: deep-research calls take longer.") % DEADLINE
    for title, future in futures:
        found += future.result() if future in done else [Check("warning", title, late)]
    return found


def _keys(endpoint: Endpoint) -> list[Check]:
    name, title = endpoint.key_variable, _("Key of %s") % endpoint
    if endpoint.broken:
        text = _("No call is made to it: %s Once that is put right, let it try again in the list of endpoints.")
        return [Check("error", str(endpoint), text % endpoint.broken)]
    if not name:
        return [Check("ok", title, _("It needs none."))]
    alive = Heartbeat.objects.filter(beaten__gte=timezone.now() - timedelta(seconds=STALE_SECONDS))
    lacking = [beat.worker for beat in alive if name not in beat.keys]
    if not alive:
        return [Check("warning", title, _("No worker runs, so nobody can say whether %s is set there.") % name)]
    if lacking:
        text = _("%(name)s is not set where these workers run: %(workers)s. Set it there and start them again.")
        return [Check("error", title, text % {"name": name, "workers": ", ".join(lacking)})]
    return [Check("ok", title, _("%s is set where the workers run.") % name)]


def _endpoint(endpoint: Endpoint, users: Sequence[System | Judge], budget: Decimal | None) -> list[Check]:
    name, models = str(endpoint), [row.model for row in users]
    if endpoint.key_variable and not os.environ.get(endpoint.key_variable):
        text = _("Not asked: %s is set for the workers only, which is enough for a run.")
        return [Check("warning", name, text % endpoint.key_variable)]
    try:
        listed, credit = read_models(endpoint), read_credit(endpoint)
    except CallError as error:
        return [Check("error", name, f"{error.message} {error.kind.remedy}")]
    found = [Check("ok", name, _("It answers."))]
    if listed is not None and (unknown := [model for model in dict.fromkeys(models) if model not in listed]):
        text = _("It answers, but does not list %s: check the model id.")
        found = [Check("warning", name, text % ", ".join(unknown))]
    if credit and credit.left is not None:
        short = budget is not None and credit.left < budget
        text = _("%s USD are left on the key, less than the budget.") if short else _("%s USD are left on the key.")
        found.append(Check("warning" if short else "ok", _("Credit at %s") % name, text % credit.left))
    return found


def _judge(judge: Judge, prompt: str, steps: int) -> Check:
    """The judge on the release's first item, with an answer that knows nothing: its verdict must be readable."""
    endpoint: Any = copy.copy(judge.endpoint)
    endpoint.total_timeout = endpoint.read_timeout = int(DEADLINE)
    if endpoint.key_variable and not os.environ.get(endpoint.key_variable):
        return Check("warning", judge.name, _("Not asked: its key is not set where the pages are made."))
    # at once: nobody takes a generation up that goes on after the deadline
    extra = {**judge.extra_body, "background": False} if endpoint.wire == Wire.RESPONSES else judge.extra_body
    body = chat_body(endpoint.wire, judge.model, prompt, extra=extra)
    try:
        reply = call(endpoint, refusing_collection(endpoint.base_url, body))
    except CallError as error:
        return Check("error", judge.name, f"{error.message} {error.kind.remedy}")
    read = parse_judge_output(reply.text, steps)
    if isinstance(read, Unparseable):
        text = _("Its verdict on the first item cannot be read (%s). Choose another model or prompt.")
        return Check("error", judge.name, text % read.reason)
    return Check("ok", judge.name, _("Its verdict on the first item can be read."))


def _public_address() -> Check:
    title, address = _("Public address"), settings.PUBLIC_URL
    if not address:
        return Check("error", title, _("Set LHDR_PUBLIC_URL: the system fetches pictures by their address."))
    try:
        timeout = urllib3.Timeout(total=DEADLINE / 2)
        status = urllib3.PoolManager().request("GET", f"{address}/healthz", timeout=timeout, retries=False).status
    except urllib3.exceptions.HTTPError:
        return Check("error", title, _("%s cannot be reached from here, so systems cannot fetch pictures.") % address)
    if status >= 400:
        return Check(
            "warning", title, _("%(address)s answers HTTP %(status)d.") % {"address": address, "status": status}
        )
    return Check("ok", title, _("%s answers; a system elsewhere must reach it too.") % address)


def _look_through(plan: _Plan) -> _Items | None:
    """One pass over the release, and one over what is known of stored pictures; None where no item can be marked."""
    shown = Condition.WITH_IMAGE if Condition.WITH_IMAGE in plan.conditions else Condition.WITHOUT_IMAGE
    sizes = [Sizes(system, shown) for system in plan.systems]
    stored = stored_images(plan.release.benchmark_id)
    first: Document | None = None
    longest: dict[str, Any] = {}
    length, unmarkable = 0, []
    for number, plain in numbered_documents(plan.release):
        if plan.items and plain["id"] not in plan.items:
            continue
        document = read_document(plain)
        if not document.checklist:
            unmarkable.append(number)
            continue
        first = first or document
        if (its := len(str(plain))) > length:
            longest, length = plain, its
        for of in sizes:
            of.add(number, document, stored)
    return _Items(first, read_document(longest), unmarkable, sizes) if first else None


def _settle(sizes: Iterable[Sizes], until: float) -> None:
    made: dict[tuple[str, int | None], int] = {}
    for of in sizes:
        of.settle(until, made)


def _requests(items: _Items) -> list[Check]:
    """What lies in the items: those that cannot be sent, or be marked."""
    title, found = _("Requests"), []
    if items.unmarkable:
        text = _("%s have no checklist and cannot be judged: launching is refused.")
        found.append(Check("error", title, text % _numbers(items.unmarkable)))
    told: dict[Check, list[str]] = {}
    for of in items.sizes:
        checks = [Check(level, title, text) for level, text in _sizes(of)]
        if not checks:
            text = _("Each fits: the largest has %(size)s of the %(limit)s MB allowed.")
            sizes = {"size": _megabytes(of.largest), "limit": of.system.max_request_mb}
            checks = [Check("ok", title, text % sizes)]
        for check in checks:
            told.setdefault(check, []).append(of.system.name)
    return found + [check._replace(concerns=tuple(names)) for check, names in told.items()]


def _sizes(of: Sizes) -> Iterator[tuple[str, str]]:
    remedy = _(
        "Use a copy of the system with a larger limit, if its endpoint takes that, or with a longest image side, so "
        "that smaller copies are sent."
    )
    if of.too_large:
        text = _("%(items)s would end as too large: up to %(size)s MB, and %(limit)s are allowed.")
        values = {"items": _numbers(of.too_large), "size": _megabytes(of.largest), "limit": of.system.max_request_mb}
        yield "error", f"{text % values} {remedy}"
    if of.doubtful:
        text = _("%(items)s may end as too large: there was no time to make their smaller copies. %(limit)s MB are "
                 "allowed.")  # fmt: skip
        yield "warning", f"{text % {'items': _numbers(of.doubtful), 'limit': of.system.max_request_mb}} {remedy}"
    if of.unfetched:
        text = _(
            "%s have a question image that is not stored, so there is nothing to send and no address of ours. Fetch it "
            "before the release is cut, or run the condition without image."
        )
        yield "error", text % _numbers(of.unfetched)
    if of.taken_down:
        text = _(
            "%s have a question image that was taken down. Run the condition without image, or cut a release without "
            "these items."
        )
        yield "error", text % _numbers(of.taken_down)


def _numbers(numbers: Sequence[int]) -> str:
    shown = ", ".join(f"#{number}" for number in sorted(numbers)[:MOST_NAMED])
    more = len(numbers) - MOST_NAMED
    return shown if more <= 0 else _("%(shown)s and %(more)d more") % {"shown": shown, "more": more}


def _megabytes(size: int) -> str:
    return f"{size / 1e6:.1f}"


def _cost(plan: _Plan, items: _Items) -> Check:
    """Of what is to be asked: what is carried over, there or under way is counted, and costs nothing more."""
    title, most = _("Cost"), Decimal(0)
    for system in plan.systems:
        trial = Run(release=plan.release, system=system, budget=plan.budget or Decimal(1))
        guess_costs(trial, plan.judges, items.longest)
        calls = plan.to_ask[system.pk]
        most += calls.answers * trial.answer_guess + calls.verdicts * trial.verdict_guess
    rows: list[System | Judge] = [*plan.systems, *plan.judges]
    unpriced = [row.name for row in rows if None in (row.prompt_price, row.completion_price)]
    answers, verdicts = (sum(of) for of in zip(*plan.to_ask.values(), strict=True))
    planned, carried, asked = plan.planned, plan.carried, _Calls(answers, verdicts)
    there = _Calls(planned.answers - answers - carried.answers, planned.verdicts - verdicts - carried.verdicts)
    if not any(asked):
        text = _("Nothing is left to ask, so it costs nothing.")
    elif most:
        text = _("At most about %(sum).2f USD by the price tables, for %(calls)s.")
    else:
        text = _("Not known beforehand, for %(calls)s: nothing has prices.")
    parts = [text % {"sum": most, "calls": asked}]
    if most and unpriced:
        parts.append(_("These have no prices, and what they cost is not in it: %s.") % ", ".join(unpriced))
    if any(carried):
        parts.append(_("Carried over from earlier releases, at no cost: %s.") % str(carried))
    if any(there):
        parts.append(_("There already or under way, and not in it: %s.") % str(there))
    check = Check("ok", title, " ".join(parts))
    return _beside_budget(check, most, plan.budget) if most else check


def _cost_so_far(
    study: Study, matrix: Matrix, carried: Mapping[tuple[int, str], tuple[int, Counter[int]]]
) -> list[Check]:
    """What was spent and what lacks of the plan, by what such calls have cost; nothing where none has cost anything."""
    estimate, spent = matrix.estimate_less(carried), matrix.spent
    if estimate.unknown == estimate.calls and not spent:
        return []
    text = _("%(spent).2f USD are spent. What lacks costs about %(sum).2f USD, as such calls have cost so far.")
    text %= {"spent": spent, "sum": estimate.cost}
    if estimate.unknown:
        text += " " + _("%d calls of unknown cost are not in it.") % estimate.unknown
    return [_beside_budget(Check("ok", _("Cost so far"), text), spent + estimate.cost, study.budget)]


def _beside_budget(check: Check, cost: Decimal, budget: Decimal | None) -> Check:
    if budget is None:
        return check
    text = check.text + " " + _("The budget is %.2f USD.") % budget
    if cost <= budget:
        return check._replace(text=text)
    return check._replace(level="warning", text=text + " " + _("It may stop the work before its end."))
