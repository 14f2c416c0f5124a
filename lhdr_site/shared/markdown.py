"""Markdown to safe HTML: rendered, then sanitised, at display. The text itself is stored verbatim."""

import re
import threading
from typing import Any

from django.utils.html import format_html
from django.utils.safestring import SafeString, mark_safe
from django.utils.translation import gettext as _

_TAGS = {
    *[
        "a",
        "abbr",
        "b",
        "blockquote",
        "br",
        "code",
        "dd",
        "del",
        "dl",
        "dt",
        "em",
        "h1",
        "h2",
        "h3",
        "h4",
        "h5",
        "h6",
        "hr",
        "i",
        "ins",
        "kbd",
        "li",
        "ol",
        "p",
        "pre",
        "s",
        "strong",
        "sub",
        "sup",
    ],
    *["table", "tbody", "td", "th", "thead", "tr", "ul"],
}
_ATTRIBUTES = {"a": {"href", "title"}, "td": {"align"}, "th": {"align"}, "ol": {"start"}}
# A "<" that opens no harmless tag is text: `a < b`, `<entity>`, `List<int>` must survive.
_TAG_LIKE = re.compile(r"<(?!/?(?:" + "|".join(sorted(_TAGS)) + r")\b[^<>]*>|https?://[^<>\s]+>)")


_local = threading.local()  # a Markdown renderer keeps state while it works


def _renderer(line_breaks: bool) -> Any:
    name = "breaking" if line_breaks else "flowing"
    if not hasattr(_local, name):
        import markdown

        extensions = ["extra", "sane_lists", *(["nl2br"] if line_breaks else [])]
        setattr(_local, name, markdown.Markdown(extensions=extensions, output_format="html"))
    return getattr(_local, name)


def _escape_outside_code(text: str) -> str:
    parts = re.split(r"(```.*?```|`[^`\n]+`)", text, flags=re.S)
    return "".join(part if n % 2 else _TAG_LIKE.sub("&lt;", part) for n, part in enumerate(parts))


def render_markdown(text: str, *, line_breaks: bool = True) -> SafeString:
    """Safe HTML of Markdown text; links carry rel="noopener noreferrer nofollow".

    line_breaks: a line end is one on the page too, as people who type into a field expect; False for wrapped files.
    """
    import nh3

    renderer = _renderer(line_breaks)
    renderer.reset()
    html = renderer.convert(_escape_outside_code(text))
    clean = nh3.clean(
        html,
        tags=_TAGS,
        attributes=_ATTRIBUTES,
        url_schemes={"http", "https", "mailto"},
        link_rel="noopener noreferrer nofollow",
    )
    # A wide table scrolls by itself, also by keyboard; the cleaned tags have no attributes, so the texts are exact.
    scrolling = format_html('<div class="wb-scroll" tabindex="0" role="group" aria-label="{}"><table>', _("Table"))
    return mark_safe(clean.replace("<table>", scrolling).replace("</table>", "</table></div>"))
