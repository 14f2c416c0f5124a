"""Template tags of evaluation: outcomes, the grid of a run, money, durations and tokens in words."""

import json
from collections.abc import Sequence
from datetime import timedelta
from decimal import Decimal
from typing import Any

from django import template
from django.utils.formats import number_format
from django.utils.html import format_html
from django.utils.safestring import SafeString, mark_safe
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, ngettext

from evaluation.queries import Cell
from lhdr_site.endpoints.errors import ErrorKind
from lhdr_site.shared.templatetags.workbench import Look

register = template.Library()

#: How an outcome of a run's item is shown: glyph, hue, word. The class of its cell is `o-` and CELL_CLASSES.
OUTCOME_LOOKS: dict[str, Look] = {
    "correct": Look("correct", "green", gettext_lazy("Correct")),
    "wrong": Look("wrong", "grey", gettext_lazy("Wrong")),
    "unparseable": Look("unparse", "amber", gettext_lazy("Unparseable verdict")),
    "judge_failed": Look("stale", "amber", gettext_lazy("Judge failed")),
    "unjudged": Look("completed", "blue", gettext_lazy("Waits for the judge")),
    "failed": Look("failed", "red", gettext_lazy("Failed")),
    "running": Look("running", "blue", gettext_lazy("Running")),
    "pending": Look("pending", "grey", gettext_lazy("Pending")),
    "cancelled": Look("cancelled", "grey", gettext_lazy("Cancelled")),
}
CELL_CLASSES = {
    "unparseable": "unparse",
    "judge_failed": "unparse",
    "unjudged": "running",
    "cancelled": "pending",
}

ERROR_WORDS = {
    "rate_limited": gettext_lazy("Rate limit"),
    "overloaded": gettext_lazy("Service failed or overloaded"),
    "timeout": gettext_lazy("Timeout"),
    "network": gettext_lazy("Network"),
    "bad_request": gettext_lazy("Request not accepted"),
    "auth": gettext_lazy("Key missing or not accepted"),
    "payment": gettext_lazy("Out of credit"),
    "not_found": gettext_lazy("Address or model not found"),
    "refused": gettext_lazy("Refused or filtered"),
    "empty": gettext_lazy("Empty reply"),
    "reasoning_only": gettext_lazy("Only reasoning"),
    "too_large": gettext_lazy("Request too large"),
    "invalid_body": gettext_lazy("Reply not readable"),
    "cancelled": gettext_lazy("Cancelled during the call"),
    "budget": gettext_lazy("Budget used up"),
    "lost": gettext_lazy("Worker stopped during the call"),
}


EVENT_FACTS = ("items", "tried_again", "responses", "verdicts", "judge", "reason", "completed", "failed")
EVENT_WORDS = {
    "run.launched": gettext_lazy("%(who)s launched the run: %(items)s items"),
    "run.paused": gettext_lazy("%(who)s paused the run"),
    "run.resumed": gettext_lazy("%(who)s resumed the run; %(tried_again)s failed calls are tried again"),
    "run.retried": gettext_lazy("%(who)s had %(tried_again)s failed calls tried again"),
    "run.rejudged": gettext_lazy("%(who)s had %(verdicts)s verdicts given by %(judge)s"),
    "run.cancelled": gettext_lazy("%(who)s cancelled the run: %(responses)s items stay without an answer"),
    "run.stopped": gettext_lazy("The run stopped by itself: %(reason)s"),
    "run.finished": gettext_lazy("The run finished: %(completed)s answered, %(failed)s failed"),
    "verdicts.revealed": gettext_lazy("%(who)s had the others' verdicts shown"),
    "verdict.recorded": gettext_lazy("%(who)s gave a verdict of their own"),
}


@register.filter
def error_word(kind: str) -> str:
    return str(ERROR_WORDS.get(kind, kind.replace("_", " ").capitalize() or _("Unknown")))


@register.filter
def error_remedy(kind: str) -> str:
    """What to do about an error of this kind; "" for a kind that is none of ours."""
    return next((_(known.remedy) for known in ErrorKind if known == kind), "")


@register.filter
def as_json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)


@register.filter
def pretty_json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, indent=2)


@register.filter
def run_event(event: Any) -> str:
    """What happened to a run, in a sentence: who did it stands there too."""
    who = (event.actor.get_full_name() or event.actor.get_username()) if event.actor else _("The Workbench")
    data = {"who": who, **{name: event.data.get(name, "") for name in EVENT_FACTS}}
    return str(EVENT_WORDS.get(event.kind, gettext_lazy("%(who)s changed the run"))) % data


@register.simple_tag
def outcome_mark(outcome: str, count: int | None = None) -> SafeString:
    """Glyph and word of an outcome, with a count where one is given."""
    look = OUTCOME_LOOKS[outcome]
    tail = "" if count is None else f" {count}"
    return format_html(
        '<span class="wb-state c-{}"><svg class="wb-g" aria-hidden="true"><use href="#g-{}"/></svg>{}{}</span>',
        look.hue,
        look.glyph,
        look.word,
        tail,
    )


@register.simple_tag
def run_cells(cells: Sequence[Cell], base: str) -> SafeString:
    """The responses of a run as a grid of links `<base><pk>/`.

    Only numbers differ between cells of one outcome, so the rest is made once: a page may hold thousands of them.
    """
    shown = {}
    for code, look in OUTCOME_LOOKS.items():
        for cut in (False, True):
            word = f"{look.word}, {_('cut off')}" if cut else look.word
            start = format_html('<a class="wb-cell o-{}" title="{}" href="{}', CELL_CLASSES.get(code, code), word, base)
            middle = format_html('<span class="wb-sr">{}: </span>', word)
            end = format_html('<svg class="wb-g" aria-hidden="true"><use href="#g-{}"/></svg></a>', look.glyph)
            shown[code, cut] = (start, middle, end)
    parts = []
    for cell in cells:
        start, middle, end = shown[cell.outcome, cell.truncated]
        number = cell.number if cell.sample == 1 else f"{cell.number}.{cell.sample}"
        parts.append(f'{start}{cell.pk}/" id="cell-{cell.pk}">{middle}{number}{end}')
    return mark_safe("".join(parts))


@register.filter
def money(amount: Decimal | float | None, digits: int = 2) -> str:
    """US dollars; small sums keep two significant digits. None is a dash: unknown, never zero."""
    if amount is None:
        return "–"
    if 0 < amount < Decimal("0.1") and digits == 2:
        return f"${amount:.4f}".rstrip("0")
    return f"${amount:,.{digits}f}"


@register.filter
def duration(span: timedelta | None) -> str:
    """Rounded words for a length of time: 0.4 s, 40 s, 2 min 18 s, 1 h 5 min. None is a dash."""
    if span is None:
        return "–"
    if span < timedelta(seconds=9.95):
        return _("%(s)s s") % {"s": number_format(Decimal(f"{span.total_seconds():.1f}"), 1)}
    seconds = round(span.total_seconds())
    if seconds < 60:
        return _("%(s)d s") % {"s": seconds}
    if seconds < 600:
        return _("%(m)d min %(s)d s") % {"m": seconds // 60, "s": seconds % 60}
    if seconds < 3600:
        return _("%(m)d min") % {"m": round(seconds / 60)}
    return _("%(h)d h %(m)d min") % {"h": seconds // 3600, "m": seconds % 3600 // 60}


@register.filter
def tokens(count: int) -> str:
    """21.4 k, 1.94 M."""
    if count < 10_000:
        return f"{count:,}"
    return f"{count / 1000:.1f} k" if count < 1_000_000 else f"{count / 1_000_000:.2f} M"


@register.filter
def number_list(numbers: Sequence[int]) -> str:
    """3, 4 and 7."""
    if len(numbers) < 2:
        return "".join(map(str, numbers))
    return _("%(first)s and %(last)s") % {"first": ", ".join(map(str, numbers[:-1])), "last": numbers[-1]}


@register.filter
def steps_phrase(numbers: Sequence[int]) -> str:
    return ngettext("Step %(numbers)s", "Steps %(numbers)s", len(numbers)) % {"numbers": number_list(numbers)}


@register.filter
def verdict_title(shown: Any) -> str:
    """A readable verdict in two words."""
    if shown.verdict.answer_correct:
        return _("Right answer, broken chain.") if shown.missing else _("Right answer, whole chain.")
    return _("Wrong answer.") if shown.missing else _("Wrong answer, though every step is stated.")


FLAG_WORDS = {
    "several": gettext_lazy("Several verdicts were printed; the last one counts."),
    "inconsistent": gettext_lazy("The printed score disagrees with the list of marks; the list counts."),
    "response_cut": gettext_lazy("The response was too long for this judge: it was shown the end only."),
}


@register.filter
def flag_words(flag: str) -> str:
    return str(FLAG_WORDS.get(flag, flag))


@register.filter
def gaps(row: Any) -> list[Any]:
    """OA-SA and CS-DACS of a leaderboard's row, each {"value", "ci"}: their names are no names in a template."""
    return [row["gaps"]["OA-SA"], row["gaps"]["CS-DACS"]]
