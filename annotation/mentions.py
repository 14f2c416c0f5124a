"""@names in comments: whom they name, and the chips they are shown as. PURE: imports no model.

Looked for in the rendered HTML, so that a name in code or in a link is none.
"""

import re
from collections.abc import Callable, Mapping

from django.utils.html import conditional_escape, escape
from django.utils.safestring import SafeString, mark_safe

_TAG = re.compile(r"""(<(?:[^<>"']|"[^"]*"|'[^']*')*>)""")
_NAME = re.compile(r"(?<![\w@./+-])@([\w.@+-]{1,150})")
_SILENT = ("code", "pre", "a")


def _known(written: str, members: Mapping[str, str]) -> str | None:
    """The member's name at the start of what was written: a full stop after it is none of it."""
    name = written
    while name:
        if name.lower() in members:
            return name
        shorter = name.rstrip(".@+-")
        name = shorter if shorter != name else ""
    return None


def _walk(html: str, change: Callable[[str], str]) -> str:
    """Every text outside code and links changed."""
    silent, parts = 0, []
    for part in _TAG.split(html):
        if part.startswith("<"):
            tag = re.match(r"</?(\w+)", part)
            if tag and tag[1] in _SILENT:
                silent += -1 if part.startswith("</") else 1
            parts.append(part)
        else:
            parts.append(change(part) if not silent else part)
    return "".join(parts)


def names_in(html: str, members: Mapping[str, str]) -> list[str]:
    """User names (lower case) that rendered Markdown mentions, each once. members: lower-case name -> shown name."""
    found: dict[str, None] = {}

    def look(text: str) -> str:
        for match in _NAME.finditer(text):
            if name := _known(match[1], members):
                found[name.lower()] = None
        return text

    _walk(html, look)
    return list(found)


def with_chips(html: SafeString, members: Mapping[str, str]) -> SafeString:
    """The HTML with a chip for each member that it names; other @names stay text."""

    def chip(match: re.Match[str]) -> str:
        name = _known(match[1], members)
        if name is None:
            return match[0]
        shown = escape(members[name.lower()])
        return f'<span class="wb-mention" title="@{escape(name)}">@{shown}</span>{match[1][len(name) :]}'

    return mark_safe(_walk(conditional_escape(html), lambda text: _NAME.sub(chip, text)))
