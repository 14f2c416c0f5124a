"""Writes of shortcut probes and gradeability checks by people: ask, paste, ask again, say what an answer shows.

One function, one transaction, one event; the item's row is locked first. Whom to ask, evaluation says: it knows systems
and judges. The calls themselves are evaluation's.
"""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import datetime
from typing import Any

from django.contrib.auth.models import User
from django.db import transaction
from django.utils import timezone
from django.utils.translation import gettext as _

from annotation.actions import locked_item, record_event
from annotation.benchmarks import Item
from annotation.document import clean_text
from annotation.queries import present_revision
from annotation.states import EDITABLE_BY_AUTHORS
from lhdr_site.shared.errors import Conflict, Invalid

from .models import GradeCheck, Probe
from .permissions import standing_of
from .probe_queries import author_probes_left, may_cancel_probe, may_give_word, may_probe

MOST_AT_ONCE = 40
Status = Probe.Status


@dataclass(frozen=True, slots=True)
class SystemAsked:
    """A system as a probe names it."""

    system: int
    system_name: str
    vendor: str
    model: str
    endpoint_id: int


@dataclass(frozen=True, slots=True)
class JudgeAsked:
    """A judge as a probe or grade check names it."""

    judge: int
    judge_name: str
    endpoint_id: int


@transaction.atomic
def add_probes(
    item: Item,
    systems: Sequence[SystemAsked],
    conditions: Sequence[bool],
    times: int,
    judge: JudgeAsked | None,
    *,
    actor: User,
) -> list[Probe]:
    """Have each system asked `times` times under each condition (with images, without): pending probes, in order."""
    item = locked_item(item)
    may_probe(actor, item).require()
    if not systems:
        raise Invalid.at("systems", _("Choose at least one system."))
    if not conditions:
        raise Invalid.at("conditions", _("Choose with images, without, or both."))
    if not 1 <= times <= 10:
        raise Invalid.at("times", _("Ask 1 to 10 times."))
    if not item.question.strip():
        raise Invalid(_("The question is empty, so there is nothing to ask."), code="no_question")
    if True in conditions and not any(image["role"] == "question" for image in item.document["images"]):
        raise Invalid.at("conditions", _("The item has no question image; ask it without images."))
    if judge and not item.document["checklist"]:
        raise Invalid.at("judge", _("A judge needs a checklist, and this item has none yet; ask without a judge."))
    count = len(systems) * len(conditions) * times
    if count > MOST_AT_ONCE:
        text = _("That makes %(count)d probes; ask for at most %(most)d at once.")
        raise Invalid.at("times", text % {"count": count, "most": MOST_AT_ONCE})
    if item.state in EDITABLE_BY_AUTHORS and count > (left := author_probes_left(item)):
        text = _("That makes %(count)d probes, and %(left)d are left for this draft. Choose fewer.")
        raise Invalid.at("times", text % {"count": count, "left": left}, code="quota")
    seen = _seen(item, actor)
    named = {"judge": judge.judge, "judge_name": judge.judge_name} if judge else {}
    probes = [
        Probe.objects.create(**seen, **asdict(system), **named, with_image=with_image)
        for system in systems
        for with_image in conditions
        for _n in range(times)
    ]
    data = {"probes": [p.pk for p in probes], "systems": [s.system_name for s in systems], "count": count}
    record_event(item, actor, "probe.asked", **data, judge=judge.judge_name if judge else "")
    return probes


@transaction.atomic
def paste_probe(item: Item, data: Mapping[str, Any], *, actor: User) -> Probe:
    """Keep an answer that was got elsewhere, marked as such.

    data: system_name, text, with_image, when (aware), and perhaps vendor and model.
    """
    item = locked_item(item)
    may_give_word(actor, item).require()
    when: datetime = data["when"]
    if when > timezone.now():
        raise Invalid.at("when", _("This lies in the future; say when the answer was given."))
    if not str(data["text"]).strip():
        raise Invalid.at("text", _("Paste the answer."))
    names = {name: clean_text(str(data.get(name) or "")).strip() for name in ("system_name", "vendor", "model")}
    if not names["system_name"]:
        raise Invalid.at("system_name", _("Say which system gave the answer."))
    for name, longest in (("system_name", 200), ("vendor", 80), ("model", 200)):
        if len(names[name]) > longest:
            raise Invalid.at(name, _("Use up to %(n)d characters.") % {"n": longest})
    probe = Probe.objects.create(
        **_seen(item, actor),
        **names,
        origin=Probe.Origin.PASTED,
        with_image=bool(data["with_image"]),
        text=clean_text(str(data["text"])),
        status=Status.COMPLETED,
        ended=when,
    )
    record_event(item, actor, "probe.pasted", probe=probe.pk, system=probe.system_name)
    return probe


@transaction.atomic
def ask_probe_again(probe: Probe, judge: JudgeAsked | None = None, *, endpoint_id: int | None, actor: User) -> Probe:
    """Ask the system again where it brought no answer; where there is one, ask a judge about it.

    endpoint_id: the system's, for the former. judge: for the latter.
    """
    item = locked_item(probe.item)
    probe = Probe.objects.select_for_update().get(pk=probe.pk)
    probe.item = item
    if probe.is_open:
        raise Conflict(_("It is being asked right now. Reload the page."), code="still_open")
    if probe.text:
        may_give_word(actor, item).require()
        if judge is None:
            raise Invalid.at("judge", _("Choose the judge to ask."))
        if not probe.revision.document["checklist"]:
            raise Invalid.at("judge", _("A judge needs a checklist, and this item had none then."))
        probe.judge, probe.judge_name, probe.endpoint_id = judge.judge, judge.judge_name, judge.endpoint_id
        probe.judge_recovered, probe.judge_output = None, ""
    else:
        own_draft = standing_of(actor, item).is_own and item.state in EDITABLE_BY_AUTHORS
        (may_probe(actor, item) if own_draft else may_give_word(actor, item)).require()
        probe.endpoint_id = endpoint_id
    probe.status, probe.tries, probe.due = Status.PENDING, 0, None
    probe.owner = probe.lease_until = None
    probe.error_kind = probe.error = ""
    probe.save()
    record_event(
        item,
        actor,
        "probe.asked_again",
        probe=probe.pk,
        system=probe.system_name,
        judge=judge.judge_name if judge else "",
    )
    return probe


@transaction.atomic
def cancel_probe(probe: Probe, *, actor: User) -> Probe:
    """Have a call that waits for its turn not made. An answer that is there stays; its judge is not asked then."""
    item = locked_item(probe.item)
    probe = Probe.objects.select_for_update().get(pk=probe.pk)
    probe.item = item
    may_cancel_probe(actor, probe).require()
    if probe.status == Status.RUNNING:
        raise Conflict(_("It is being asked right now, and a request that was sent is not taken back."), code="asked")
    if probe.status != Status.PENDING:
        raise Conflict(_("Nothing waits to be asked any more. Reload the page."), code="wrong_state")
    data = {"probe": probe.pk, "system": probe.system_name, "judge": probe.judge_name if probe.text else ""}
    if probe.text:
        probe.status, probe.judge, probe.judge_name = Status.COMPLETED, None, ""
    else:
        probe.status = Status.CANCELLED
    probe.due, probe.error_kind, probe.error = None, "", ""
    probe.save(update_fields=["status", "judge", "judge_name", "due", "error_kind", "error"])
    record_event(item, actor, "probe.cancelled", **data)
    return probe


@transaction.atomic
def judge_probe(probe: Probe, *, recovered: bool, path: str, comment: str = "", actor: User) -> Probe:
    """A person's word on an answer: whether it is the right one, and whether a direct path led there.

    It stands over the judge's. What was found needs a comment. A later word replaces the earlier; the event keeps both.
    """
    item = locked_item(probe.item)
    may_give_word(actor, item).require()
    probe = Probe.objects.select_for_update().get(pk=probe.pk)
    probe.item = item
    if not probe.text:
        raise Conflict(_("There is no answer yet to say anything about."), code="no_answer")
    if path not in Probe.Path.values:
        raise Invalid.at("path", _("Say whether a direct path led to the answer, and which."))
    comment = clean_text(comment).strip()
    if (recovered or path != Probe.Path.NONE) and not comment:
        raise Invalid.at("comment", _("Say how the answer was found: the author needs it to close the way."))
    old = {"recovered": probe.recovered, "path": probe.path, "comment": probe.comment} if probe.has_word else None
    probe.recovered, probe.path, probe.comment = recovered, path, comment
    probe.seen_by, probe.seen = actor, timezone.now()
    probe.save(update_fields=["recovered", "path", "comment", "seen_by", "seen"])
    new = {"recovered": recovered, "path": path, "comment": comment}
    record_event(item, actor, "probe.judged", probe=probe.pk, system=probe.system_name, old=old, new=new)
    return probe


# --- gradeability -------------------------------------------------------------------------------------------------


@transaction.atomic
def add_grade_check(item: Item, judge: JudgeAsked, cases: list[dict[str, Any]], *, actor: User) -> GradeCheck:
    """Have a judge mark solutions written out of the key. cases: as `evaluation.gradeability.new_cases` makes them."""
    item = locked_item(item)
    may_give_word(actor, item).require()
    if not item.document["checklist"]:
        raise Invalid(_("The checklist is empty, so there is nothing to grade."), code="no_checklist")
    if GradeCheck.objects.filter(item=item, status__in=(GradeCheck.Status.PENDING, GradeCheck.Status.RUNNING)).exists():
        raise Conflict(_("A check of this item is under way. Reload the page."), code="still_open")
    check = GradeCheck.objects.create(
        **_seen(item, actor),
        judge=judge.judge,
        judge_name=judge.judge_name,
        endpoint_id=judge.endpoint_id,
        cases=cases,
    )
    record_event(item, actor, "grade_check.asked", check=check.pk, judge=judge.judge_name, cases=len(cases))
    return check


@transaction.atomic
def ask_grade_check_again(check: GradeCheck, *, actor: User) -> GradeCheck:
    """Go on with the cases that could not be judged."""
    item = locked_item(check.item)
    may_give_word(actor, item).require()
    check = GradeCheck.objects.select_for_update().get(pk=check.pk)
    check.item = item
    if check.status != GradeCheck.Status.BROKEN:
        raise Conflict(_("Only a check that could not be made is made again. Reload the page."), code="wrong_state")
    for case in check.cases:
        case["unparseable"] = ""
    check.status, check.tries, check.due = GradeCheck.Status.PENDING, 0, None
    check.error_kind = check.error = ""
    check.ended = None
    check.save()
    record_event(item, actor, "grade_check.asked_again", check=check.pk, judge=check.judge_name)
    return check


# --- parts of the above -------------------------------------------------------------------------------------------


def _seen(item: Item, actor: User) -> dict[str, Any]:
    """What a probe or check is bound to."""
    revision = present_revision(item)
    return {"item": item, "revision": revision, "section_hashes": item.section_hashes, "requested_by": actor}
