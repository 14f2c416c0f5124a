"""The cells of the item list, written in Python: a page has hundreds of them, which templates would render slowly."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from django import template
from django.utils import timezone
from django.utils.formats import date_format
from django.utils.html import escape, format_html
from django.utils.safestring import SafeString, mark_safe
from django.utils.text import Truncator
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from annotation.columns import Column
from annotation.forms.listing import TEMPLATE_WORDS
from annotation.gates import gates_shown
from annotation.models import Item
from annotation.search import PART_WORDS
from annotation.tokens import Phrase, matches_in
from lhdr_site.shared.templatetags.workbench import avatar, badge, gate_dots, icon, item_state, relative_time

register = template.Library()
NONE = "–"
QUESTION = 300  # characters shown of one


@dataclass
class Look:
    """What rows need besides the item; most rows of a page share one of a few drawings."""

    address: str  # of the list: an item's is the number after it
    min_steps: int
    categories: Mapping[str, str]
    wanted: Sequence[Phrase] = ()
    found_in: Mapping[int, Sequence[str]] = field(default_factory=dict)
    drawn: dict[Any, SafeString] = field(default_factory=dict)

    def once(self, key: Any, draw: Callable[..., SafeString], *args: Any) -> SafeString:
        found = self.drawn.get(key)
        return found if found is not None else self.drawn.setdefault(key, draw(*args))


def _findings(item: Item, look: Look) -> str:
    if item.checked_hash != item.document_hash:
        return ""
    if item.errors:
        words = ngettext("%(n)d error", "%(n)d errors", item.errors) % {"n": item.errors}
        return icon("circle-x", label=words, hue="red")
    if item.warnings:
        words = ngettext("%(n)d warning", "%(n)d warnings", item.warnings) % {"n": item.warnings}
        return icon("alert-triangle", label=words, hue="amber")
    return ""


def marked(text: str, spans: Sequence[tuple[int, int]]) -> SafeString:
    """The text with these spans marked."""
    parts, at = [], 0
    for start, end in spans:
        parts += [escape(text[at:start]), "<mark>", escape(text[start:end]), "</mark>"]
        at = end
    return mark_safe("".join([*parts, escape(text[at:])]))


def _question(item: Item, look: Look) -> str:
    text = Truncator(item.question).chars(QUESTION) if len(item.question) > QUESTION else item.question
    if not text:
        shown = format_html('<span class="wb-3c">{}</span>', _("#%(n)d, no question yet") % {"n": item.number})
    elif look.wanted:
        shown = marked(text, matches_in(text, look.wanted))
    else:
        shown = escape(text)
    link = f'<a class="wb-q wb-clip-2" href="{escape(look.address)}{item.number}/">{shown}</a>'
    parts = [part for part in look.found_in.get(item.pk, ()) if part != "question"]
    if not parts:
        return link
    words = _("found in: %(parts)s") % {"parts": ", ".join(str(PART_WORDS[part]) for part in parts)}
    return f'{link}<span class="wb-xs wb-3c">{escape(words)}</span>'


def _gates(item: Item, look: Look) -> str:
    gates = gates_shown(item)
    return look.once(("gates", *(tuple(gate.values()) for gate in gates.values())), gate_dots, gates)


def _template_word(item: Item) -> str:
    return escape(TEMPLATE_WORDS.get(item.template, NONE))


def _category(item: Item, look: Look) -> str:
    name = escape(look.categories.get(item.category, item.category) or NONE)
    return f'<div>{name}</div><div class="wb-3c">{_template_word(item)}</div>'


def _steps(item: Item, look: Look) -> str:
    if item.steps >= look.min_steps:
        return str(item.steps)
    words = _("below the minimum of %(n)d") % {"n": look.min_steps}
    return f'<span class="c-red wb-b">{item.steps}</span> <span class="wb-sr">{escape(words)}</span>'


def _comments(item: Item, look: Look) -> str:
    if not item.open_comments:
        return look.once("no comments", format_html, '<span class="wb-sr">{}</span>', _("none"))
    blocking = ""
    if item.blocking_comments:
        words = _("%(n)d blocking") % {"n": item.blocking_comments}
        blocking = f" {look.once(('blocking', words), badge, words, 'red')}"
    mark = look.once("message", icon, "message", "s")
    return f'<span class="wb-nw">{mark} {item.open_comments}{blocking}</span>'


def _person(person: Any, look: Look) -> str:
    return look.once(("person", person.pk), avatar, person) if person is not None else NONE


def _due(item: Item, look: Look) -> str:
    if item.due is None:
        return NONE
    day = escape(date_format(item.due, "DATE_FORMAT"))
    late = item.due < timezone.localdate() and item.state not in ("locked", "approved", "rejected")
    return f'<span class="c-red wb-b">{day}</span> <span class="wb-sr">{escape(_("overdue"))}</span>' if late else day


def _checked(item: Item, count: int) -> str:
    return str(count) if item.checked_hash == item.document_hash else NONE


def _golden(item: Item, look: Look) -> str:
    return look.once("golden", icon, "rosette", "", _("golden example"), "amber") if item.is_golden else ""


#: Column -> class of its cells, and what stands in them.
CELLS: dict[str, tuple[str, Callable[[Item, Look], str]]] = {
    "findings": ("wb-mid", _findings),
    "number": ("wb-id wb-num", lambda i, _look: str(i.number)),
    "question": ("", _question),
    "answer": ("wb-s wb-answer", lambda i, _look: f'<span class="wb-clip-2">{escape(i.answer[:200]) or NONE}</span>'),
    "state": ("", lambda i, look: look.once(("state", i.state), item_state, i.state)),
    "gates": ("", _gates),
    "category": ("wb-s", _category),
    "template": ("wb-s", lambda i, _look: _template_word(i)),
    "steps": ("wb-num", _steps),
    "depth": ("wb-num", lambda i, _look: str(i.depth)),
    "nodes": ("wb-num", lambda i, _look: str(i.nodes)),
    "sources": ("wb-num", lambda i, _look: str(i.sources)),
    "images": ("wb-num", lambda i, _look: str(i.images)),
    "comments": ("wb-s", _comments),
    "errors": ("wb-num", lambda i, _look: _checked(i, i.errors)),
    "warnings": ("wb-num", lambda i, _look: _checked(i, i.warnings)),
    "author": ("", lambda i, look: _person(i.author, look)),
    "auditor": ("", lambda i, look: _person(i.auditor, look)),
    "due": ("wb-s wb-nw wb-num", _due),
    "language": ("wb-s", lambda i, _look: escape(i.language) or NONE),
    "revision": ("wb-s wb-num", lambda i, _look: f"r{i.revision_number}"),
    "golden": ("wb-mid", _golden),
    "created": ("wb-s wb-2c wb-nw wb-num", lambda i, _look: relative_time(i.created)),
    "updated": ("wb-s wb-2c wb-nw wb-num", lambda i, _look: relative_time(i.updated)),
}


@register.simple_tag
def item_rows(items: Sequence[Item], columns: Sequence[Column], look: Look) -> SafeString:
    """The rows of a page: to tick, the columns, and a button that starts a copy (of the form `copy-item`)."""
    pick, copy = escape(_("Select #{n}")), escape(_("Start a new item as a copy of #{n}"))
    first = (
        '<tr><td class="wb-pick"><input class="form-check-input" type="checkbox" form="bulk" name="n" value="{n}"'
        f' aria-label="{pick}"></td>'
    )
    last = (
        '<td class="wb-k-copy"><button class="btn wb-btn-q wb-btn-i" type="submit" form="copy-item"'
        f' formaction="{escape(look.address)}{{n}}/copy/" aria-label="{copy}" title="{copy}">'
        f"{icon('copy', 's')}</button></td></tr>"
    )
    cells = [(f'<td class="wb-k-{column.code} {CELLS[column.code][0]}">', CELLS[column.code][1]) for column in columns]
    parts = []
    for item in items:
        number = str(item.number)
        parts.append(first.replace("{n}", number))
        parts += [f"{start}{cell(item, look)}</td>" for start, cell in cells]
        parts.append(last.replace("{n}", number))
    return mark_safe("".join(parts))
