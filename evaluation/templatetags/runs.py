"""Template tags of evaluation: outcomes, the grid of a run, money, durations and tokens in words."""

import json
from collections.abc import Mapping, Sequence
from datetime import timedelta
from decimal import Decimal
from itertools import product
from typing import Any

from django import template
from django.utils.formats import number_format
from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString, mark_safe
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, ngettext

from evaluation.events import study_words_of, words_of
from evaluation.flags import FLAG_NAMES, FLAG_WORDS
from evaluation.progress import Cell
from lhdr_site.endpoints.errors import ErrorKind
from lhdr_site.shared.templatetags.workbench import Look

register = template.Library()
register.filter("run_event", words_of)
register.filter("study_event", study_words_of)

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
    "taken_down": gettext_lazy("Picture taken down"),
}


@register.filter
def error_word(kind: str) -> str:
    return str(ERROR_WORDS.get(kind, kind.replace("_", " ").capitalize() or _("Unknown")))


@register.filter
def error_remedy(kind: str) -> str:
    """What to do about an error of this kind; "" for a kind that is none of ours."""
    return next((_(known.remedy) for known in ErrorKind if known == kind), "")


HOLE_WORDS = {
    "not_launched": gettext_lazy("not launched"),
    "cancelled": gettext_lazy("run cancelled"),
    "not_asked": gettext_lazy("not asked for"),
    "failed": gettext_lazy("failed"),
    "unparseable": gettext_lazy("not readable"),
    "stopped": gettext_lazy("wait: the run stopped"),
    "budget": gettext_lazy("wait: the budget is used up"),
    "paused": gettext_lazy("wait: the run is paused"),
    "broken": gettext_lazy("wait: the endpoint is broken"),
    "running": gettext_lazy("running"),
    "pending": gettext_lazy("pending"),
    "no_response": gettext_lazy("without a response"),
}
BAD_HOLES = ("failed", "unparseable", "stopped", "budget", "broken")


@register.simple_tag
def study_cell(cell: Any) -> SafeString:
    """What is done of a part of a study's plan, and under it what lacks and why."""
    mark = mark_safe('<svg class="wb-g c-green" aria-hidden="true"><use href="#g-correct"/></svg> ')
    first = mark if cell.is_complete else ""
    done = format_html('{}<b class="wb-m">{}</b><span class="wb-of">/{}</span>', first, cell.done, cell.total)
    lines = (
        (
            "c-red" if hole.why in BAD_HOLES else "wb-2c",
            hole.count,
            HOLE_WORDS[hole.why],
            f": {error_word(hole.kind)}" if hole.kind else "",
        )
        for hole in cell.holes
    )
    holes = format_html_join("", '<li class="{}">{} {}{}</li>', lines)
    return format_html("<div>{}{}</div>", done, format_html('<ul class="ev-holes">{}</ul>', holes) if holes else "")


@register.filter
def as_json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)


@register.filter
def pretty_json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, indent=2)


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
        for cut, carried in product((False, True), repeat=2):
            more = [_("cut off")] * cut + [_("carried over")] * carried
            word = ", ".join([str(look.word), *more])
            css = CELL_CLASSES.get(code, code) + " is-carried" * carried
            start = format_html('<a class="wb-cell o-{}" title="{}" href="{}', css, word, base)
            middle = format_html('<span class="wb-sr">{}: </span>', word)
            end = format_html('<svg class="wb-g" aria-hidden="true"><use href="#g-{}"/></svg></a>', look.glyph)
            shown[code, cut, carried] = (start, middle, end)
    parts = []
    for cell in cells:
        start, middle, end = shown[cell.outcome, cell.truncated, cell.carried_from is not None]
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
def marks_phrase(verdict: Mapping[str, Any]) -> str:
    """A person's verdict, as an event keeps it: answer wrong; stated 1, 2 and 5."""
    stated = [n for n, mark in enumerate(verdict.get("vector") or (), 1) if mark]
    answer = _("answer correct") if verdict.get("answer_correct") else _("answer wrong")
    steps = _("stated %(steps)s") % {"steps": number_list(stated)} if stated else _("no step stated")
    return f"{answer}; {steps}"


@register.filter
def verdict_title(shown: Any) -> str:
    """A readable verdict in two words."""
    if shown.verdict.answer_correct:
        return _("Right answer, broken chain.") if shown.missing else _("Right answer, whole chain.")
    return _("Wrong answer.") if shown.missing else _("Wrong answer, though every step is stated.")


@register.filter
def flag_name(flag: str) -> str:
    return str(FLAG_NAMES.get(flag, flag))


@register.filter
def flag_words(flag: str) -> str:
    return str(FLAG_WORDS.get(flag, flag))


@register.filter
def gaps(row: Any) -> list[Any]:
    """OA-SA and CS-DACS of a leaderboard's row, each {"value", "ci"}: their names are no names in a template."""
    return [row["gaps"]["OA-SA"], row["gaps"]["CS-DACS"]]
