"""Events of items and benchmarks in words: one sentence a kind, also for the kinds that apps above this one write."""

from collections.abc import Callable, Iterable
from typing import TypeVar

from django.urls import reverse
from django.utils.functional import Promise
from django.utils.html import format_html
from django.utils.safestring import SafeString
from django.utils.translation import gettext_lazy as _

from .models import ItemEvent

Words = TypeVar("Words", bound=str)
#: {who}, {item} and any value of the event's data. A kind that is not here is shown by its name.
SENTENCES: dict[str, str | Promise] = {
    "benchmark.created": _("{who} created the benchmark"),
    "benchmark.changed": _("{who} changed the settings"),
    "membership.set": _("{who} set the membership of {user}"),
    "audit_plan.changed": _("{who} changed the settings of the audit"),
    "annotator.calibrated": _("{who} recorded a calibration"),
    "category.added": _("{who} added the category {slug}"),
    "category.changed": _("{who} changed the category {slug}"),
    "operation_tag.added": _("{who} added the tag {slug}"),
    "operation_tag.changed": _("{who} changed the tag {slug}"),
    "items.imported": _("{who} imported items: {created} new, {changed} changed"),
    "release.cut": _("{who} cut a release"),
    "image.redacted": _("{who} took a picture down"),
    "image.fetch_asked": _("{who} had the picture {key} of {item} fetched"),
    "view.shared": _("{who} shared the view “{name}”"),
    "view.changed": _("{who} changed the shared view “{name}”"),
    "view.deleted": _("{who} deleted the shared view “{name}”"),
    "item.created": _("{who} created {item}"),
    "item.imported": _("{who} imported {item}"),
    "item.edited": _("{who} edited {item} ({section})"),
    "item.restored": _("{who} restored an earlier revision of {item}"),
    "step.struck": _("{who} struck candidates of {item}"),
    "item.shared": _("{who} set the co-editors of {item}"),
    "item.assigned": _("{who} set auditor and due date of {item}"),
    "item.handed_over": _("{who} handed {item} over to {author}"),
    "item.made_golden": _("{who} made {item} a golden example"),
    "item.no_longer_golden": _("{who} took {item} off the golden examples"),
    "seed.added": _("{who} added the idea “{title}” to the inbox"),
    "seed.claimed": _("{who} claimed the idea “{title}”"),
    "seed.given_back": _("{who} gave the idea “{title}” back"),
    "seed.dropped": _("{who} dropped the idea “{title}”"),
    "seed.started": _("{who} started {item} from the idea “{title}”"),
    "guideline.saved": _("{who} saved version {number} of the guideline"),
    "benchmark.targeted": _("{who} set targets"),
    "item.submitted": _("{who} submitted {item}"),
    "item.withdrawn": _("{who} withdrew {item}"),
    "item.passed": _("{who} passed {item} on"),
    "item.returned": _("{who} returned {item}"),
    "item.rejected": _("{who} rejected {item}"),
    "item.locked": _("{who} locked {item}"),
    "item.unlocked": _("{who} unlocked {item}"),
    "item.reopened": _("{who} reopened {item}"),
    "comment.added": _("{who} commented on {item}"),
    "comment.edited": _("{who} edited a comment on {item}"),
    "comment.deleted": _("{who} deleted a comment on {item}"),
    "comment.blocked": _("{who} made a comment on {item} block locking"),
    "comment.unblocked": _("{who} let a comment on {item} no longer block locking"),
    "comment.resolved": _("{who} resolved a comment on {item}"),
    "comment.reopened": _("{who} reopened a comment on {item}"),
    "suggestion.made": _("{who} suggested an edit of {path} of {item}"),
    "suggestion.accepted": _("{who} accepted an edit of {path} of {item}"),
    "suggestion.declined": _("{who} declined an edit of {path} of {item}"),
    "suggestion.withdrawn": _("{who} withdrew an edit of {path} of {item}"),
    "finding.dismissed": _("{who} set a warning of {item} aside"),
    "finding.recalled": _("{who} took up a warning of {item} again"),
    "links.asked": _("{who} had links of {item} checked"),
    "link.opened": _("{who} opened {source} of {item}: {status}"),
    "link.died": _("The page of {source} of {item} is gone"),
    "link.changed": _("The page of {source} of {item} changed"),
    "item.claimed": _("{who} took {item} from the queue"),
    "item.given_back": _("{who} gave {item} back to the queue"),
    "pilot.made": _("{who} made pilot batch {batch} of {annotator}"),
    "pilot.rated": _("{who} rated {item} in a pilot batch"),
    "pilot.closed": _("{who} closed pilot batch {batch} of {annotator}: {outcome}"),
    "rule.overridden": _("{who} set the rule {rule} aside for {item}: {reason}"),
    "review.started": _("{who} began to review {item}"),
    "criterion.recorded": _("{who} answered a criterion of {item}"),
    "element.ticked": _("{who} ticked {element} of {item}"),
    "blind_audit.asked": _("{who} asked for a second audit of {item}"),
    "blind_audit.taken": _("{who} took a second audit of {item}"),
    "blind_audit.given_back": _("{who} gave a second audit of {item} back"),
    "blind_audit.answered": _("{who} answered a criterion of a second audit of {item}"),
    "blind_audit.ended": _("{who} ended a second audit of {item}"),
    "blind_audit.adjudicated": _("{who} decided where two auditors of {item} disagree"),
    "residual.drawn": _("{who} drew locked items to verify again: {sample}"),
    "erratum.flagged": _("{who} flagged {item} as faulty"),
    "erratum.decided": _("{who} decided on a fault of {item}: {status}"),
    "candidate.raised": _("{who} raised the candidate answer “{answer}” of {item}"),
    "candidate.withdrawn": _("{who} took the candidate answer “{answer}” of {item} back"),
    "point.answered": _("{who} answered a point of the return of {item}"),
    "point.accepted": _("{who} accepted an answer to a point of {item}"),
    "point.reopened": _("{who} reopened a point of {item}"),
    "probe.asked": _("{who} had the question of {item} asked of systems, for shortcuts"),
    "probe.asked_again": _("{who} had a probe of {item} asked again"),
    "probe.cancelled": _("{who} cancelled a probe of {item}"),
    "probe.pasted": _("{who} pasted an answer to {item} from {system}"),
    "probe.judged": _("{who} said what a probe of {item} shows"),
    "grade_check.asked": _("{who} had judge {judge} check whether {item} can be graded"),
    "grade_check.asked_again": _("{who} had judge {judge} check again whether {item} can be graded"),
}


def worded(events: Iterable[ItemEvent]) -> list[ItemEvent]:
    """The events, each with `words`: its sentence with a link to the item."""
    result = list(events)
    for event in result:
        event.words = words_of(event)  # type: ignore[attr-defined]
    return result


def words_of(event: ItemEvent) -> SafeString:
    item: str | SafeString = ""
    if event.item is not None:
        url = reverse("annotation:item-page", args=[event.benchmark.slug, event.item.number])
        item = format_html('<a class="wb-u" href="{}">#{}</a>', url, event.item.number)
    return _sentence(event, item, format_html)


def plain_words_of(event: ItemEvent) -> str:
    """The sentence without a link, for lists that name the item apart and for files."""
    return _sentence(event, f"#{event.item.number}" if event.item else "", str.format)


def _sentence(event: ItemEvent, item: str, write: Callable[..., Words]) -> Words:
    who = (event.actor.get_full_name() or event.actor.get_username()) if event.actor else _("The system")
    values = {**event.data, "who": who, "item": item, "kind": event.kind}
    try:
        return write(str(SENTENCES[event.kind]), **values)
    except KeyError:  # a kind without a sentence, or data without a value that the sentence names
        return write("{who}: {kind} {item}", **values)
