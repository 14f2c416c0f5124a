"""The parts that pages are made of: states, gates, badges, bars, fields, times.

States and statuses arrive as plain codes and leave as glyph + word + colour. Imports no app.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterable, Mapping, Sequence
from decimal import Decimal
from functools import lru_cache
from typing import Any, NamedTuple

from django import template
from django.core.paginator import Page
from django.forms import (
    BaseForm,
    BoundField,
    CheckboxInput,
    CheckboxSelectMultiple,
    ClearableFileInput,
    MultiWidget,
    RadioSelect,
    Select,
    Textarea,
)
from django.http import QueryDict
from django.template.context import Context
from django.utils import timezone
from django.utils.formats import date_format, number_format
from django.utils.functional import Promise
from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, ngettext

register = template.Library()

Label = str | Promise


class Look(NamedTuple):
    """How a code is shown: its glyph, the hue of tokens and classes, and its word."""

    glyph: str
    hue: str
    word: Label


ITEM_STATES: dict[str, Look] = {
    "draft": Look("draft", "grey", gettext_lazy("Draft")),
    "submitted": Look("submitted", "blue", gettext_lazy("Submitted")),
    "secondary_audit": Look("audit1", "violet", gettext_lazy("Secondary audit")),
    "multimodal_audit": Look("audit2", "violet", gettext_lazy("Multimodal audit")),
    "factual_audit": Look("audit3", "violet", gettext_lazy("Factual audit")),
    "returned": Look("returned", "amber", gettext_lazy("Returned")),
    "rejected": Look("rejected", "red", gettext_lazy("Rejected")),
    "approved": Look("approved", "teal", gettext_lazy("Approved")),
    "locked": Look("locked", "green", gettext_lazy("Locked")),
}
GATE_STATUSES: dict[str, Look] = {
    "passed": Look("pass", "green", gettext_lazy("passed")),
    "failed": Look("fail", "red", gettext_lazy("failed")),
    "stale": Look("stale", "amber", gettext_lazy("stale")),
    "open": Look("open", "grey", gettext_lazy("open")),
    "hidden": Look("cancelled", "grey", gettext_lazy("hidden")),
}
#: The seven gates in their order: name and the letter above a column of dots.
GATES: dict[str, tuple[Label, str]] = {
    "uniqueness": (gettext_lazy("Answer uniqueness"), "U"),
    "leakage": (gettext_lazy("No path leakage"), "L"),
    "irreducibility": (gettext_lazy("Irreducibility"), "I"),
    "source_support": (gettext_lazy("Source support"), "S"),
    "multimodal": (gettext_lazy("Multimodal necessity"), "M"),
    "shortcut": (gettext_lazy("Shortcut filtering"), "F"),
    "metadata": (gettext_lazy("Metadata consistency"), "D"),
}
RESPONSE_STATUSES: dict[str, Look] = {
    "pending": Look("pending", "grey", gettext_lazy("Pending")),
    "running": Look("running", "blue", gettext_lazy("Running")),
    "completed": Look("completed", "green", gettext_lazy("Completed")),
    "failed": Look("failed", "red", gettext_lazy("Failed")),
    "cancelled": Look("cancelled", "grey", gettext_lazy("Cancelled")),
}
RUN_STATES: dict[str, Look] = {
    "queued": Look("pending", "grey", gettext_lazy("Queued")),
    "running": Look("running", "blue", gettext_lazy("Running")),
    "paused": Look("paused", "amber", gettext_lazy("Paused")),
    "finished": Look("completed", "green", gettext_lazy("Finished")),
    "cancelled": Look("cancelled", "grey", gettext_lazy("Cancelled")),
    "stopped": Look("failed", "red", gettext_lazy("Stopped")),
}
STUDY_STATES: dict[str, Look] = {
    "planned": Look("pending", "grey", gettext_lazy("Planned")),
    "running": Look("running", "blue", gettext_lazy("Running")),
    "paused": Look("paused", "amber", gettext_lazy("Paused")),
    "stopped": Look("failed", "red", gettext_lazy("Stopped")),
    "holes": Look("stale", "amber", gettext_lazy("Ended with holes")),
    "complete": Look("completed", "green", gettext_lazy("Complete")),
    "ended": Look("completed", "grey", gettext_lazy("Ended")),
    "frozen": Look("locked", "blue", gettext_lazy("Frozen")),
}
VERDICTS: dict[str, Look] = {
    "correct": Look("correct", "green", gettext_lazy("correct")),
    "wrong": Look("wrong", "grey", gettext_lazy("wrong")),
    "unparseable": Look("unparse", "amber", gettext_lazy("unparseable")),
}
STEP_CREDITS: dict[str, Look] = {
    "satisfied": Look("sat", "green", gettext_lazy("Satisfied")),
    "blocked": Look("block", "amber", gettext_lazy("Stated, blocked")),
    "missing": Look("miss", "red", gettext_lazy("Missing")),
}
#: Levels of a finding; these use icons, not glyphs.
FINDING_LEVELS: dict[str, Look] = {
    "error": Look("circle-x", "red", gettext_lazy("Error")),
    "warning": Look("alert-triangle", "amber", gettext_lazy("Warning")),
    "info": Look("info-circle", "blue", gettext_lazy("Information")),
    "dismissed": Look("alert-triangle", "grey", gettext_lazy("Explained")),
}
SAVE_STATES: dict[str, tuple[str, str, Label]] = {
    "saved": ("check", "green", gettext_lazy("Saved")),
    "unsaved": ("edit", "amber", gettext_lazy("Not saved yet")),
    "draft": ("edit", "grey", gettext_lazy("Draft kept")),
    "offline": ("alert-triangle", "amber", gettext_lazy("Not reachable; kept in this browser")),
    "saving": ("loader-2", "grey", gettext_lazy("Saving…")),
    "conflict": ("git-merge", "red", gettext_lazy("Changed meanwhile")),
    "failed": ("alert-triangle", "red", gettext_lazy("Could not save; your text is still here")),
}
MODALITIES: dict[str, tuple[str, Label]] = {
    "image": ("photo", gettext_lazy("image")),
    "map": ("map", gettext_lazy("map")),
    "pdf": ("file-type-pdf", gettext_lazy("pdf")),
    "chart": ("chart-bar", gettext_lazy("chart")),
    "table": ("table", gettext_lazy("table")),
    "logo": ("rosette", gettext_lazy("logo")),
    "video": ("video", gettext_lazy("video")),
    "audio": ("volume", gettext_lazy("audio")),
}
EFFECTS: dict[str, Label] = {
    "identifies": gettext_lazy("identifies"),
    "constrains": gettext_lazy("constrains"),
    "confirms": gettext_lazy("confirms"),
    "localizes": gettext_lazy("localizes"),
    "extracts": gettext_lazy("extracts"),
    "bridges": gettext_lazy("bridges"),
}
ROLES: dict[str, Label] = {
    "annotator": gettext_lazy("annotator"),
    "auditor": gettext_lazy("auditor"),
    "core": gettext_lazy("core team"),
    "admin": gettext_lazy("admin"),
}
#: Minutes, hours, days ago; static/js/app.js fills in the same words when it refreshes the times.
TIME_WORDS: tuple[Label, ...] = (
    gettext_lazy("just now"),
    gettext_lazy("{n} min"),
    gettext_lazy("{n} h"),
    gettext_lazy("yesterday"),
    gettext_lazy("{n} days"),
)
MESSAGE_LOOKS = {
    "success": ("circle-check", "green"),
    "info": ("info-circle", "blue"),
    "warning": ("alert-triangle", "amber"),
    "error": ("circle-x", "red"),
}
AVATAR_HUES = 5
DEFAULT_ROWS = 4
NONE = "–"
MINUS = "−"


# ---------- icons and glyphs ----------


@register.simple_tag
def icon(name: str, size: str = "", label: str = "", hue: str = "") -> SafeString:
    """A Tabler icon of the sprite: `size="s"` for 14 px; with a label it is an image, else decoration."""
    classes = "wb-i" + (" wb-i-s" if size == "s" else "") + (f" c-{hue}" if hue else "")
    return _use(f"i-{name}", classes, label)


@register.simple_tag
def glyph(name: str, label: str = "", hue: str = "") -> SafeString:
    """One of our state glyphs (templates/_glyphs.html)."""
    return _use(f"g-{name}", "wb-g" + (f" c-{hue}" if hue else ""), label)


def _use(symbol: str, classes: str, label: Label = "") -> SafeString:
    if label:
        return format_html(
            '<svg class="{}" role="img" aria-label="{}"><title>{}</title><use href="#{}"/></svg>',
            classes,
            label,
            label,
            symbol,
        )
    return _decoration(symbol, classes)


@lru_cache(1024)  # a page has hundreds, of a few kinds
def _decoration(symbol: str, classes: str) -> SafeString:
    return format_html('<svg class="{}" aria-hidden="true"><use href="#{}"/></svg>', classes, symbol)


# ---------- states ----------


def _state(look: Look, pill: bool) -> SafeString:
    return format_html(
        '<span class="wb-state{} c-{}">{}{}</span>',
        " wb-pill" if pill else "",
        look.hue,
        _use(f"g-{look.glyph}", "wb-g"),
        look.word,
    )


@register.simple_tag
def item_state(state: str, pill: bool = False) -> SafeString:
    """The state of an item; `pill=True` where it stands alone."""
    return _state(ITEM_STATES[state], pill)


@register.simple_tag
def response_status(status: str, pill: bool = False) -> SafeString:
    return _state(RESPONSE_STATUSES[status], pill)


@register.simple_tag
def run_state(state: str, pill: bool = False) -> SafeString:
    return _state(RUN_STATES[state], pill)


@register.simple_tag
def study_state(state: str, pill: bool = False) -> SafeString:
    return _state(STUDY_STATES[state], pill)


@register.simple_tag
def verdict_mark(outcome: str | bool | None, pill: bool = False) -> SafeString:
    """The answer's mark: correct, wrong, unparseable, or a truth value; None is a dash."""
    if outcome is None:
        return format_html('<span class="wb-3c">{}</span>', NONE)
    code = outcome if isinstance(outcome, str) else ("correct" if outcome else "wrong")
    return _state(VERDICTS[code], pill)


@register.simple_tag
def stated_mark(stated: bool, words: bool = True) -> SafeString:
    """Whether a judge found a step stated; without words a glyph with a name, for dense tables."""
    name, hue = ("correct", "green") if stated else ("wrong", "red")
    if not words:
        return _use(f"g-{name}", f"wb-g c-{hue}", _("stated") if stated else _("not stated"))
    word = _("yes") if stated else _("no")
    return format_html('<span class="c-{} wb-nw">{} {}</span>', hue, _use(f"g-{name}", "wb-g"), word)


@register.simple_tag
def step_credit(credit: str, blocked_by: Iterable[Any] = (), anchor: str = "") -> SafeString:
    """A step's credit; a blocked one names the steps that block it, linked to `#<anchor><step>` if given."""
    blockers = list(blocked_by)
    state = _state(STEP_CREDITS[credit], pill=False)
    if credit != "blocked" or not blockers:
        return state
    if anchor:
        names = format_html_join(", ", '<a class="wb-u" href="#{}{}">{}</a>', ((anchor, b, b) for b in blockers))
    else:
        names = format_html_join(", ", "{}", ((b,) for b in blockers))
    return format_html('{} <span class="wb-2c">{} {}</span>', state, _("by"), names)


# ---------- gates ----------


class GateRow(NamedTuple):
    """One gate as it is shown; `title` is its status in more words, if there is more to say."""

    code: str
    label: Label
    letter: str
    status: str
    title: str = ""
    decided: str = ""  # by whom, when, on which revision
    who: str = ""  # the same without the moment, where there is little room

    @property
    def look(self) -> Look:
        return GATE_STATUSES[self.status]

    @property
    def name(self) -> str:
        said = f"{self.label}: {self.title or self.look.word}"
        return f"{said} ({self.decided})" if self.decided else said


def gate_rows(gates: Mapping[str, Any] | Iterable[Any]) -> list[GateRow]:
    """The seven gates from an item's summary ({code: status} or {code: {"status", "by", "at", "revision"}}),
    missing ones open; or the rows of an iterable of objects that have code, label, letter, status and title."""
    if not isinstance(gates, Mapping):
        objects: Iterable[Any] = gates
        return [GateRow(g.code, g.label, g.letter, g.status, g.title) for g in objects]
    rows = []
    for code, (label, letter) in GATES.items():
        summary = gates.get(code) or "open"
        if not isinstance(summary, Mapping):
            summary = {"status": summary}
        status = str(summary.get("status", "open"))
        who = f"{summary['by']}, r{summary['revision']}" if summary.get("by") else ""
        title = summary.get("title", "")
        rows.append(GateRow(code, label, letter, status, title, decided=_decided(summary), who=who))
    return rows


def _decided(gate: Mapping[str, Any]) -> str:
    """Who decided a gate, when, and on which revision; "" when nobody did."""
    if not gate.get("by"):
        return ""
    moment = timezone.localtime(dt.datetime.fromisoformat(gate["at"]))
    return f"{gate['by']}, {date_format(moment, 'DATETIME_FORMAT')}, r{gate['revision']}"


@register.simple_tag
def gate_dots(gates: Mapping[str, Any] | Iterable[Any]) -> SafeString:
    """The seven gates as glyphs, each named; takes what `gate_rows` takes, such as `item.gates`."""
    rows = gate_rows(gates)
    dots = format_html_join(
        "",
        '<svg class="wb-g c-{}"><title>{}</title><use href="#g-{}"/></svg>',
        ((row.look.hue, row.name, row.look.glyph) for row in rows),
    )
    name = "; ".join(row.name for row in rows)
    return format_html('<span class="wb-gates" role="img" aria-label="{}">{}</span>', name, dots)


@register.simple_tag
def gate_head() -> SafeString:
    """The letters above a column of gate dots."""
    letters = format_html_join("", '<abbr title="{}">{}</abbr>', GATES.values())
    return format_html('<span class="wb-gatehead">{}</span>', letters)


@register.simple_tag
def gate_list(gates: Mapping[str, Any] | Iterable[Any]) -> SafeString:
    """The gates as a list with words, for an outline or a panel."""
    rows = format_html_join(
        "",
        '<li class="wb-gl" title="{}">{}<span class="wb-grow">{}{}</span><span class="wb-xs">{}</span></li>',
        (
            (
                row.name,
                _use(f"g-{row.look.glyph}", f"wb-g c-{row.look.hue}"),
                row.label,
                format_html('<span class="wb-gl-by">{}</span>', row.who) if row.who else "",
                row.look.word,
            )
            for row in gate_rows(gates)
        ),
    )
    return format_html('<ul class="wb-gatelist" aria-label="{}">{}</ul>', _("Gates"), rows)


# ---------- findings ----------


@register.simple_tag
def finding_icon(level: str, word: bool = False, size: str = "") -> SafeString:
    """The mark of a finding's level: error, warning, info, dismissed; `word=True` writes the level out."""
    look = FINDING_LEVELS[level]
    classes = "wb-i" + (" wb-i-s" if size == "s" else "") + f" c-{look.hue}"
    if not word:
        return _use(f"i-{look.glyph}", classes, look.word)
    mark = _use(f"i-{look.glyph}", classes)
    return format_html('<span class="wb-nw wb-m c-{}">{} {}</span>', look.hue, mark, look.word)


@register.simple_tag
def finding_counts(errors: int = 0, warnings: int = 0, infos: int = 0, dismissed: int = 0) -> SafeString:
    """How many findings of each level, in words; one tick if there are none."""
    counts = [
        ("error", errors, ngettext("%(n)d error", "%(n)d errors", errors)),
        ("warning", warnings, ngettext("%(n)d warning", "%(n)d warnings", warnings)),
        ("info", infos, ngettext("%(n)d hint", "%(n)d hints", infos)),
        ("dismissed", dismissed, ngettext("%(n)d explained", "%(n)d explained", dismissed)),
    ]
    parts = [
        (FINDING_LEVELS[level].hue, _use(f"i-{FINDING_LEVELS[level].glyph}", "wb-i wb-i-s"), text % {"n": count})
        for level, count, text in counts
        if count
    ]
    if not parts:
        return format_html('<span class="c-green wb-nw">{} {}</span>', _use("g-correct", "wb-g"), _("no findings"))
    return format_html_join(" ", '<span class="c-{} wb-b wb-nw">{} {}</span>', parts)


# ---------- badges ----------


@register.simple_tag
def key_badge(key: Any, href: str = "", title: str = "", state: str = "") -> SafeString:
    """A key (n1, c5, s2), a link if `href` is given; `state` is warn or miss for a dashed one."""
    classes = "wb-key" + (f" wb-key-{state}" if state else "")
    if href:
        return format_html('<a class="{}" href="{}" title="{}">{}</a>', classes, href, title, key)
    return format_html('<span class="{}" title="{}">{}</span>', classes, title, key)


@register.simple_tag
def key_badges(keys: Iterable[Any], anchors: Mapping[Any, str], state: str = "") -> SafeString:
    """Badges one after the other, each a link where it has an anchor. A tag, because a page has a hundred of them."""
    return SafeString("".join(key_badge(key, anchors.get(key, ""), state=state) for key in keys))


@register.simple_tag
def modality_badge(modality: str | None, effect: str | None = "") -> SafeString:
    """Evidence of a step or property: teal badge for non-text evidence, grey word for text, dash for none."""
    if not modality:
        return format_html('<span class="wb-3c">{}</span>', NONE)
    if modality == "text":
        shown = format_html('<span class="wb-3c">{}</span>', _("text"))
    else:
        name, word = MODALITIES[modality]
        shown = format_html('<span class="wb-badge wb-badge-nt">{}{}</span>', _use(f"i-{name}", "wb-i"), word)
    if not effect:
        return shown
    return format_html('{}<span class="wb-ev">{}</span>', shown, EFFECTS[effect])


@register.simple_tag
def badge(text: Any, tone: str = "", icon: str = "") -> SafeString:
    """A fact: neutral, or in a tone (red, amber, green, blue, nt)."""
    mark = _use(f"i-{icon}", "wb-i") if icon else ""
    return format_html('<span class="wb-badge{}">{}{}</span>', f" wb-badge-{tone}" if tone else "", mark, text)


@register.simple_tag
def count_badge(number: int) -> SafeString:
    return format_html('<span class="wb-count">{}</span>', number)


@register.simple_tag
def avatar(user: Any, decorative: bool = False) -> SafeString:
    """The initials of a person in one of five tints; `decorative=True` where the name stands beside it."""
    name = user.get_full_name() or user.get_username()
    words = name.replace(".", " ").replace("_", " ").replace("-", " ").split()
    initials = (words[0][0] + words[-1][0] if len(words) > 1 else name[:2]).upper()
    hue = (user.pk or 0) % AVATAR_HUES
    if decorative:
        return format_html('<span class="wb-av wb-av-{}" aria-hidden="true">{}</span>', hue, initials)
    return format_html(
        '<span class="wb-av wb-av-{}" role="img" aria-label="{}" title="{}">{}</span>', hue, name, name, initials
    )


@register.filter
def role_word(role: Any) -> str:
    """A role in words, from its code or from an enumeration's member."""
    return str(ROLES[getattr(role, "name", str(role)).lower()])


# ---------- saving ----------


@register.inclusion_tag("components/save_state.html")
def save_state(
    state: str = "saved", at: dt.datetime | None = None, by: Any = None, element_id: str = ""
) -> dict[str, Any]:
    """Where a text stands. All states are in the markup; app.js shows another by setting `data-state`."""
    states = [{"code": code, "icon": i, "hue": hue, "word": word} for code, (i, hue, word) in SAVE_STATES.items()]
    return {"state": state, "states": states, "at": at, "by": by, "element_id": element_id}


# ---------- figures ----------


def _number(value: float, digits: int) -> str:
    """Rounded, then written as the language does (Django's number_format alone cuts digits off)."""
    return number_format(Decimal(f"{value:.{digits}f}"), digits)


@register.filter
def percent(value: float | None, digits: int = 1) -> str:
    """A fraction as a percentage: 0.657 -> 65.7%. None is a dash."""
    return NONE if value is None else f"{_number(value * 100, digits)}%"


@register.filter
def fraction(value: float | None, digits: int = 2) -> str:
    """A score between 0 and 1 as it stands in tables: 0.5 -> .50, 1 -> 1.00. None is a dash."""
    return NONE if value is None else _number(value, digits).removeprefix("0")


@register.filter
def points(value: float | None, digits: int = 1) -> str:
    """A difference of two fractions in percentage points with its sign: 0.265 -> +26.5. None is a dash."""
    if value is None:
        return NONE
    shown = _number(abs(value) * 100, digits)
    sign = (MINUS if value < 0 else "+") if shown != _number(0, digits) else ""
    return sign + shown


@register.inclusion_tag("components/interval.html")
def interval(
    value: float | None, low: float | None = None, high: float | None = None, label: str = ""
) -> dict[str, Any]:
    """A score with its interval, all fractions: the number, the bar with the band, the limits. None is a dash."""
    if value is None:
        return {"value": None}
    drawn: dict[str, Any] = {"value": value, "low": low, "high": high, "label": label, "mark": _at(value)}
    if low is not None and high is not None:
        drawn |= {"band_x": _at(low), "band_width": f"{max(high - low, 0.004) * 100:.2f}%"}
    return drawn


def _at(value: float) -> str:
    """A place on a bar as an SVG percentage, kept inside it."""
    return f"{min(max(value, 0.0), 1.0) * 100:.2f}%"


class Segment(NamedTuple):
    """One part of a progress bar."""

    x: str
    width: str
    hue: str
    title: str


@register.inclusion_tag("components/progress_bar.html")
def progress_bar(counts: Mapping[str, int], total: int | None = None, large: bool = False) -> dict[str, Any]:
    """Counts by item state, response status or verdict as one bar; what is left of `total` stays empty.

    The order is that of the tables above, not that of the mapping. Unknown codes raise KeyError.
    """
    looks = ITEM_STATES | VERDICTS | RESPONSE_STATUSES
    order = list(looks)
    whole = total or sum(counts.values())
    segments: list[Segment] = []
    done = 0
    for code, count in sorted(counts.items(), key=lambda pair: _bar_order(order, pair[0])):
        look = looks[code]
        if count and whole and code != "pending":
            gap = 0.2 if done + count < whole else 0
            width = max(count / whole * 100 - gap, 0.2)
            segments.append(Segment(f"{done / whole * 100:.2f}%", f"{width:.2f}%", look.hue, f"{look.word}: {count}"))
            done += count
    label = "; ".join(f"{looks[code].word}: {count}" for code, count in counts.items() if count)
    if total:
        label = _("%(counts)s; of %(total)d") % {"counts": label, "total": total} if label else f"0 / {total}"
    return {"segments": segments, "label": label, "large": large}


def _bar_order(order: list[str], code: str) -> int:
    """Finished work first: locked before approved before audits; completed before failed before running."""
    ranks = ["locked", "approved", "factual_audit", "multimodal_audit", "secondary_audit", "submitted", "returned"]
    ranks += ["draft", "rejected", "correct", "wrong", "unparseable", "completed", "failed", "running", "cancelled"]
    return ranks.index(code) if code in ranks else len(ranks) + order.index(code)


@register.inclusion_tag("components/meter.html")
def meter(
    value: float, maximum: float, label: str, hue: str = "accent", expected: float | None = None, large: bool = False
) -> dict[str, Any]:
    """One quantity of a limit (money of a cap, locked of a target); `expected` is drawn behind it in grey."""
    whole = maximum or 1
    return {
        "width": _at(value / whole),
        "expected": None if expected is None else _at(expected / whole),
        "hue": hue,
        "label": label,
        "large": large,
    }


@register.inclusion_tag("components/metric_tile.html")
def metric_tile(label: str, value: Any, of: Any = "", note: str = "", title: str = "", hue: str = "") -> dict[str, Any]:
    """A named figure: `of` is the small part after it (of $40.00, 10/12), `note` a line under it."""
    return {"label": label, "value": value, "of": of, "note": note, "title": title, "hue": hue}


# ---------- time ----------


@register.simple_tag
def relative_time(moment: dt.datetime | None) -> SafeString:
    """How long ago, with the exact moment in the title; from ten days on the date. None is a dash."""
    if moment is None:
        return format_html('<span class="wb-3c">{}</span>', NONE)
    local = timezone.localtime(moment)
    return format_html(
        '<time class="wb-nw" datetime="{}" title="{}" data-relative>{}</time>',
        local.isoformat(timespec="seconds"),
        date_format(local, "DATETIME_FORMAT"),
        time_words(timezone.now() - moment) or date_format(local, "DATE_FORMAT"),
    )


@register.simple_tag
def due_words(day: dt.date | None) -> SafeString:
    """A due date in words, marked when it is past; nothing without one."""
    if day is None:
        return SafeString("")
    days = (day - timezone.localdate()).days
    if days < 0:
        late = ngettext("overdue by %(n)d day", "overdue by %(n)d days", -days) % {"n": -days}
        return format_html('<span class="c-red wb-m wb-nw">{} {}</span>', _use("i-clock", "wb-i wb-i-s"), late)
    words = (
        _("due today") if days == 0
        else _("due tomorrow") if days == 1
        else _("due in %(n)d days") % {"n": days} if days <= 14
        else _("due on %(day)s") % {"day": date_format(day)}
    )  # fmt: skip
    return format_html('<span class="wb-nw{}">{}</span>', " c-amber wb-m" if days <= 1 else " wb-2c", words)


def time_words(age: dt.timedelta) -> str:
    """The age in words, or "" when it is ten days or more and a date says it better."""
    minutes = int(age.total_seconds() // 60)
    just_now, some_minutes, some_hours, yesterday, some_days = (str(word) for word in TIME_WORDS)
    if minutes < 1:
        return just_now
    if minutes < 60:
        return some_minutes.format(n=minutes)
    if minutes < 24 * 60:
        return some_hours.format(n=minutes // 60)
    days = minutes // (24 * 60)
    if days == 1:
        return yesterday
    return some_days.format(n=days) if days < 10 else ""


@register.simple_tag
def relative_time_words() -> str:
    """The words of `relative_time` for the script that refreshes them, parted by bars."""
    return "|".join(str(word) for word in TIME_WORDS)


# ---------- forms ----------


@register.inclusion_tag("components/field.html")
def field(bound: BoundField, label: str = "", help: str = "", hide_label: bool = False, **attrs: Any) -> dict[str, Any]:
    """A form field with label, help and errors beside it, tied together for screen readers.

    Further keyword arguments become attributes of the control (`rows=4`, `autofocus=True`, `data_guard="x"`).
    """
    widget = bound.field.widget
    help_text = help or bound.help_text
    base = bound.auto_id or bound.html_name
    described = [f"{base}_help"] if help_text else []
    if bound.errors:
        described.append(f"{base}_errors")
    control: dict[str, Any] = {name.replace("_", "-"): value for name, value in attrs.items()}
    if isinstance(widget, Textarea) and widget.attrs.get("rows") == "10":
        control.setdefault("rows", DEFAULT_ROWS)  # Django's own default is too tall for dense pages
    if described:
        control["aria-describedby"] = " ".join(described)
    if bound.errors:
        control["aria-invalid"] = "true"
    choices = isinstance(widget, RadioSelect | CheckboxSelectMultiple)
    checkbox = isinstance(widget, CheckboxInput)
    if not choices and not checkbox:
        own = "form-select" if isinstance(widget, Select) else "form-control"
        control["class"] = f"{own} {control.get('class', widget.attrs.get('class', ''))}".strip()
    return {
        "bound": bound,
        "control": "" if choices else bound.as_widget(attrs=control),
        "label": label or bound.label,
        "hide_label": hide_label,
        "help": help_text,
        "base": base,
        "described": " ".join(described),
        "hidden": bound.is_hidden,
        "kind": _field_kind(bound, choices, checkbox),
        "optional": not bound.field.required and not checkbox and not choices,
    }


def _field_kind(bound: BoundField, choices: bool, checkbox: bool) -> str:
    widget = bound.field.widget
    if choices:
        return "choices"
    if checkbox:
        return "checkbox"
    if isinstance(widget, MultiWidget):
        return "group"
    if isinstance(widget, ClearableFileInput) and bound.value():
        return "group"
    return "long" if isinstance(widget, Textarea) else "line"


@register.inclusion_tag("components/form_errors.html")
def form_errors(form: BaseForm) -> dict[str, Any]:
    """What is wrong with a form, at its head: its own errors, and a link to each field that has one."""
    fields = [f for f in form if f.errors] if form.is_bound else []
    return {
        "form": form,
        "fields": [f for f in fields if not f.is_hidden],
        "hidden": [f for f in fields if f.is_hidden],
    }


@register.inclusion_tag("components/dropzone.html")
def dropzone(
    bound: BoundField, hint: str = "", submit: bool = False, accept: str = "image/png,image/jpeg,image/webp"
) -> dict[str, Any]:
    """A file field to drop or paste onto; `submit=True` sends the form as soon as a file is chosen."""
    described = " ".join(f"{bound.auto_id}_{part}" for part in ("help", "errors") if part == "help" or bound.errors)
    attrs: dict[str, str | bool] = {"class": "wb-drop-input", "accept": accept, "aria-describedby": described}
    if bound.errors:
        attrs["aria-invalid"] = "true"
    return {"bound": bound, "control": bound.as_widget(attrs=attrs), "hint": hint or bound.help_text, "submit": submit}


# ---------- blocks and navigation ----------


@register.inclusion_tag("components/tabs.html")
def tabs(entries: Sequence[Mapping[str, Any]], current: str, label: str) -> dict[str, Any]:
    """Views of one thing as links: each entry has `name`, `label`, `url`, perhaps `count` and `panel` (hx-target)."""
    return {"entries": entries, "current": current, "label": label}


@register.inclusion_tag("components/pagination.html", takes_context=True)
def pagination(
    context: Context,
    page: Page | None = None,
    previous_url: str = "",
    next_url: str = "",
    summary: str = "",
    label: str = "",
) -> dict[str, Any]:
    """Previous and next: of a Django `page` (keeping the query), or of two URLs for keyset paging."""
    if page is not None:
        request = context.get("request")
        query = request.GET.copy() if request else QueryDict(mutable=True)

        def url_of(number: int) -> str:
            query["page"] = str(number)
            return f"?{query.urlencode()}"

        previous_url = url_of(page.previous_page_number()) if page.has_previous() else ""
        next_url = url_of(page.next_page_number()) if page.has_next() else ""
        summary = summary or _("%(first)d to %(last)d of %(total)d") % {
            "first": page.start_index(),
            "last": page.end_index(),
            "total": page.paginator.count,
        }
    return {"previous_url": previous_url, "next_url": next_url, "summary": summary, "label": label or _("Pages")}


@register.inclusion_tag("components/empty_state.html")
def empty_state(
    title: str, text: str, url: str = "", action: str = "", guide: str = "", icon: str = "bulb", level: int = 2
) -> dict[str, Any]:
    """What an empty page is for, the first thing to do (`url`, `action`), and a link to the guide (`guide`)."""
    return {
        "title": title,
        "text": text,
        "url": url,
        "action": action,
        "guide": guide,
        "icon": icon,
        "heading": f"h{level}",
    }


@register.simple_block_tag
def dialog(content: str, dialog_id: str, title: str, wide: bool = False) -> SafeString:
    """A native dialog around its content; open it from anything with `data-dialog-open="<id>"`."""
    return format_html(
        '<dialog class="wb-dialog{}" id="{}" aria-labelledby="{}-title"><div class="wb-card-h">'
        '<h2 class="wb-grow" id="{}-title">{}</h2><button class="btn wb-btn-q wb-btn-i" type="button"'
        ' data-dialog-close aria-label="{}">{}</button></div><div class="wb-dialog-b">{}</div></dialog>',
        " wb-dialog-wide" if wide else "",
        dialog_id,
        dialog_id,
        dialog_id,
        title,
        _("Close"),
        _use("i-x", "wb-i"),
        content,
    )


@register.simple_block_tag
def menu(
    content: str, label: str, icon: str = "", hide_label: bool = False, css: str = "btn btn-sm", right: bool = False
) -> SafeString:
    """A drop-down that works without script: links and buttons of class `wb-menu-i` inside. right: to the left."""
    mark = _use(f"i-{icon}", "wb-i") if icon else ""
    shown = format_html('<span class="wb-sr">{}</span>', label) if hide_label else format_html("<span>{}</span>", label)
    return format_html(
        '<details class="wb-menu{}"><summary class="{}">{}{}{}</summary><div class="wb-menu-b">{}</div></details>',
        " wb-menu-r" if right else "",
        css,
        mark,
        shown,
        "" if hide_label else _use("i-chevron-down", "wb-i wb-i-s"),
        content,
    )


@register.filter
def message_icon(level_tag: str) -> SafeString:
    name, hue = MESSAGE_LOOKS.get(level_tag, MESSAGE_LOOKS["info"])
    return _use(f"i-{name}", f"wb-i c-{hue}")


@register.filter
def message_tone(level_tag: str) -> str:
    return MESSAGE_LOOKS.get(level_tag, MESSAGE_LOOKS["info"])[1]
