"""Looking before a launch: keys, endpoints, credit, judges on a real case, the public address, the cost expected.

Everything that waits for others runs at once in threads with one deadline, and opens no database connection there: a
page waits for it a few seconds at most.
"""

import copy
import os
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor, wait
from datetime import timedelta
from decimal import Decimal
from typing import Any, NamedTuple

import urllib3
from django.conf import settings
from django.utils import timezone
from django.utils.translation import gettext as _

from annotation.document import read_document
from audit.releases import release_documents
from lhdr_site.endpoints.bodies import chat_body
from lhdr_site.endpoints.client import call
from lhdr_site.endpoints.errors import CallError
from lhdr_site.endpoints.models import Endpoint, Wire
from lhdr_site.endpoints.reading import read_credit, read_models
from lhdr_site.shared.health import STALE_SECONDS
from lhdr_site.shared.models import Heartbeat

from .guesses import guess_costs
from .models import ImageMode, Judge, Run, System
from .prompts import build_judge_prompt
from .requests import refusing_collection
from .scoring.judge_output import Unparseable, parse_judge_output

DEADLINE = 10.0


class Check(NamedTuple):
    level: str  # ok, warning, error
    title: str
    text: str  # what was found, and what to do about it


def check_launch(data: Mapping[str, Any]) -> list[Check]:
    """What stands in the way of a run with this data (that of `launch_run`), the order being that of the work."""
    system, judges, budget = data["system"], list(data["judges"]), data.get("budget")
    document = read_document(next(iter(release_documents(data["release"]))))
    endpoints = {row.endpoint_id: row.endpoint for row in [system, *judges]}
    models = {pk: [r.model for r in [system, *judges] if r.endpoint_id == pk] for pk in endpoints}
    found = [check for endpoint in endpoints.values() for check in _keys(endpoint)]
    asked: list[tuple[str, Callable[[], list[Check]]]] = []
    for pk, endpoint in endpoints.items():
        paid = budget if pk == system.endpoint_id else None
        asked.append((str(endpoint), lambda e=endpoint, m=models[pk], b=paid: _endpoint(e, m, b)))  # type: ignore[misc]
    for judge in judges:
        if not judge.endpoint.broken:
            prompt = build_judge_prompt(judge.template, document, "I do not know.")
            asked.append((judge.name, lambda j=judge, p=prompt: [_judge(j, p, len(document.checklist))]))  # type: ignore[misc]
    if system.image_mode == ImageMode.URL_IN_PROMPT:
        asked.append((_("Public address"), lambda: [_public_address()]))
    return [*found, *_at_once(asked), _cost(data, system, judges)]


def _at_once(asked: list[tuple[str, Callable[[], list[Check]]]]) -> list[Check]:
    pool = ThreadPoolExecutor(max_workers=len(asked))
    futures = [(title, pool.submit(check)) for title, check in asked]
    wait([future for _title, future in futures], timeout=DEADLINE)
    pool.shutdown(wait=False, cancel_futures=True)
    found: list[Check] = []
    late = _("No word within %d seconds. It may still be fine: deep-research calls take longer.") % DEADLINE
    for title, future in futures:
        found += future.result() if future.done() else [Check("warning", title, late)]
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


def _endpoint(endpoint: Endpoint, models: list[str], budget: Decimal | None) -> list[Check]:
    name = str(endpoint)
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


def _cost(data: Mapping[str, Any], system: System, judges: list[Judge]) -> Check:
    title, budget = _("Cost"), data.get("budget")
    trial = Run(release=data["release"], system=system, budget=budget or Decimal(1))
    guess_costs(trial, judges)
    asked = [uid for uid in str(data.get("items") or "").split(",") if uid.strip()]
    answers = (len(asked) or data["release"].item_count) * (data.get("samples") or 1)
    verdicts = answers * len(judges) * (data.get("repeats") or 1)
    most = answers * trial.answer_guess + verdicts * trial.verdict_guess
    if not most:
        return Check("ok", title, _("Not known beforehand: neither the system nor a judge has prices."))
    text = _("At most about %(sum).2f USD by the price tables, for %(answers)d answers and %(verdicts)d verdicts.")
    text %= {"sum": most, "answers": answers, "verdicts": verdicts}
    if budget is not None and most > budget:
        return Check("warning", title, text + " " + _("The budget may stop the run before its end."))
    return Check("ok", title, text)
