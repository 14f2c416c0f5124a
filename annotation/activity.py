"""Events of items and benchmarks in words: one sentence a kind, also for the kinds that apps above this one write."""

from collections.abc import Iterable

from django.urls import reverse
from django.utils.functional import Promise
from django.utils.html import format_html
from django.utils.safestring import SafeString
from django.utils.translation import gettext_lazy as _

from .models import ItemEvent

#: {who}, {item} and any value of the event's data. A kind that is not here is shown by its name.
SENTENCES: dict[str, str | Promise] = {
    "benchmark.created": _("{who} created the benchmark"),
    "benchmark.changed": _("{who} changed the settings"),
    "membership.set": _("{who} set the membership of {user}"),
    "annotator.calibrated": _("{who} recorded a calibration"),
    "category.added": _("{who} added the category {slug}"),
    "category.changed": _("{who} changed the category {slug}"),
    "operation_tag.added": _("{who} added the tag {slug}"),
    "operation_tag.changed": _("{who} changed the tag {slug}"),
    "items.imported": _("{who} imported items: {created} new, {changed} changed"),
    "release.cut": _("{who} cut a release"),
    "item.created": _("{who} created {item}"),
    "item.imported": _("{who} imported {item}"),
    "item.edited": _("{who} edited {item} ({section})"),
    "item.restored": _("{who} restored an earlier revision of {item}"),
    "item.shared": _("{who} set the co-editors of {item}"),
    "item.submitted": _("{who} submitted {item}"),
    "item.withdrawn": _("{who} withdrew {item}"),
    "item.passed": _("{who} passed {item} on"),
    "item.returned": _("{who} returned {item}"),
    "item.rejected": _("{who} rejected {item}"),
    "item.locked": _("{who} locked {item}"),
    "item.unlocked": _("{who} unlocked {item}"),
    "item.reopened": _("{who} reopened {item}"),
    "comment.added": _("{who} commented on {item}"),
    "comment.resolved": _("{who} resolved a comment on {item}"),
    "comment.reopened": _("{who} reopened a comment on {item}"),
    "finding.dismissed": _("{who} set a warning of {item} aside"),
    "finding.recalled": _("{who} took up a warning of {item} again"),
    "review.started": _("{who} began to review {item}"),
    "criterion.recorded": _("{who} answered a criterion of {item}"),
}


def worded(events: Iterable[ItemEvent]) -> list[ItemEvent]:
    """The events, each with `words`: its sentence with a link to the item."""
    result = list(events)
    for event in result:
        event.words = words_of(event)  # type: ignore[attr-defined]
    return result


def words_of(event: ItemEvent) -> SafeString:
    who = (event.actor.get_full_name() or event.actor.get_username()) if event.actor else _("The system")
    item: str | SafeString = ""
    if event.item is not None:
        url = reverse("annotation:item-page", args=[event.benchmark.slug, event.item.number])
        item = format_html('<a class="wb-u" href="{}">#{}</a>', url, event.item.number)
    values = {**event.data, "who": who, "item": item, "kind": event.kind}
    try:
        return format_html(str(SENTENCES[event.kind]), **values)
    except KeyError:  # a kind without a sentence, or data without a value that the sentence names
        return format_html("{who}: {kind} {item}", **values)
