"""The worker's writes about labels of failed steps: asked for as verdicts are, of a model with a prompt of its own."""

from collections.abc import Mapping
from typing import Any

from django.utils import timezone

from annotation.document import Document
from lhdr_site.endpoints.bodies import chat_body
from lhdr_site.endpoints.model_names import same_model
from lhdr_site.endpoints.replies import Reply

from .attempts import ask, ask_again, close, figures, outlasting
from .claims import Claim, pause_for_model, write
from .failure_modes import LABEL_TEMPLATES, PROMPT_VERSION, build_label_prompt, failed_steps, labels_identity
from .labels import basis_of, modes_of
from .models import Judge, Labelling, Run, Verdict, Work
from .prompts import cut_response
from .scoring.judge_output import Unparseable
from .scoring.label_output import parse_labels

Status = Work.Status


def add_missing_labels(run: Run) -> int:
    """Labellings that the run's plans ask for and that are not there, or were cancelled with an earlier verdict, are
    due; how many. Inside the caller's transaction.

    What a judge found whole, and what it gave no readable verdict on, has nothing to label.
    """
    added = 0
    for plan in run.label_plans.select_related("labeller"):
        key = {"labeller_id": plan.labeller_id, "basis_id": plan.basis_id, "taxonomy": plan.taxonomy}
        known = dict(run.labellings.filter(**key).values_list("response", "status"))
        found = Verdict.objects.filter(run=run, judge=plan.basis_id, repeat=1, status=Status.COMPLETED, unparseable="")
        due = [
            response
            for response, correct, vector in found.order_by("pk").values_list("response", "answer_correct", "vector")
            if vector and (0 in vector or not correct) and known.get(response, Status.CANCELLED) == Status.CANCELLED
        ]
        Labelling.objects.bulk_create(
            (
                Labelling(run=run, response_id=pk, endpoint_id=plan.labeller.endpoint_id, **key)
                for pk in due
                if pk not in known
            ),
            batch_size=1000,
        )
        again = run.labellings.filter(**key, response__in=[pk for pk in due if pk in known])
        again.update(status=Status.PENDING, owner=None, lease_until=None, due=None, tries=0, error="", ended=None)
        added += len(due)
    return added


def ask_for_labels(held: Claim, labelling: Labelling, document: Document, facts: Mapping[str, Any]) -> None:
    """Ask the labeller once. facts: what identifies it. Raises CallError."""
    judge, response = labelling.labeller, labelling.response
    assert judge.endpoint is not None  # people's are never claimed
    said = basis_of(response, labelling.basis_id)
    if said is None or response.status != Status.COMPLETED:
        with write():
            held.write(status=Status.CANCELLED, lease_until=None, ended=timezone.now(), error="Its verdict is gone.")
        return
    modes = modes_of(response.run.benchmark, labelling.taxonomy)
    shown, cut = cut_response(response.text, judge.max_response_chars)
    template = LABEL_TEMPLATES[PROMPT_VERSION]
    prompt = build_label_prompt(template, modes, document, said.vector, said.correct, shown)
    reply = ask(held, judge, chat_body(judge.endpoint.wire, judge.model, prompt, extra=judge.extra_body))
    found = parse_labels(reply.text, failed_steps(said.vector), {mode.key for mode in modes})
    if isinstance(found, Unparseable):
        if held.tries < judge.max_tries:
            ask_again(held, reply, f"unparseable: {found.reason}")
            return
        read: dict[str, Any] = {"labels": [], "unparseable": found.reason, "flags": []}
    else:
        labels = [{"step": n, "mode": found.modes[n], "note": found.notes.get(n, "")} for n in sorted(found.modes)]
        read = {"labels": labels, "unparseable": "", "flags": list(found.flags)}
    read["flags"] = read["flags"] + ["response_cut"] * cut
    _keep_labels(held, reply, judge, read | {"identity": labels_identity(facts, modes, document, said.vector, shown)})


@outlasting
def _keep_labels(held: Claim, reply: Reply, judge: Judge, read: Mapping[str, Any]) -> None:
    with write():
        close(held, reply, f"unparseable: {read['unparseable']}" if read["unparseable"] else "")
        held.write(
            status=Status.COMPLETED,
            lease_until=None,
            error_kind="",
            error="",
            ended=timezone.now(),
            output=reply.text,
            **read,
            **figures(held, reply),
        )
        if not same_model(judge.model, reply.model):
            pause_for_model(held.run_pk, judge.name, judge.model, reply.model)
