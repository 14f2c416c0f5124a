"""Markdown to safe HTML: rendered, then sanitised, at display. The text itself is stored verbatim.

What looks like HTML and is not one of a few harmless, closed tags is text. `[[key]]` and `![caption](key)` show
elements that the caller knows; pictures of other hosts become links, as no page loads anything from there.
"""

import html
import re
import threading
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any
from xml.etree.ElementTree import Element

from django.utils.html import format_html
from django.utils.safestring import SafeString, mark_safe
from django.utils.text import Truncator
from django.utils.translation import gettext as _

_VOID = {"br", "hr"}
_BLOCKS = {"blockquote", "dl", "h1", "h2", "h3", "h4", "h5", "h6", "ol", "p", "pre", "table", "ul"}
_TAGS = (
    {"a", "abbr", "b", "code", "dd", "del", "dt", "em", "i", "ins", "kbd", "li", "s", "strong", "sub", "sup"}
    | {"tbody", "td", "th", "thead", "tr"}
    | _BLOCKS
    | _VOID
)
# "span" and its attributes are only for our own marks: the text can make none.
_ATTRIBUTES = {
    "a": {"href", "title"},
    "ol": {"start"},
    "span": {"data-ref", "data-picture"},
    "td": {"align"},
    "th": {"align"},
}
_TAG = r"<(/?)({})(?:\s[^<>]*)?/?>"
_ANY_TAG = _TAG.format("|".join(sorted(_TAGS)))
_BLOCK = re.compile(r"^ {0,3}" + _TAG.format("|".join(sorted(_BLOCKS))), re.M | re.I)
# Inside a block of HTML a "<" that opens or closes no harmless tag is text.
_TAG_LIKE = re.compile(rf"<(?!/?(?:{'|'.join(sorted(_TAGS))})\b[^<>]*>)", re.I)
_KEY = r"[A-Za-z0-9][A-Za-z0-9_-]{0,39}"
_MARK = re.compile(rf'(<p>)?<span data-(ref|picture)="({_KEY})">([^<]*)</span>(</p>)?')


@dataclass(frozen=True, slots=True)
class Target:
    """What a `[[key]]` leads to, and what its card says. `href` is on the same page, `url` is the source's own."""

    href: str
    kind: str
    title: str
    detail: str = ""
    url: str = ""
    picture: str = ""  # address of a small picture
    full: str = ""  # and of the whole one


_local = threading.local()  # a Markdown renderer keeps state while it works


def _renderer(line_breaks: bool) -> Any:
    name = "breaking" if line_breaks else "flowing"
    if not hasattr(_local, name):
        setattr(_local, name, _make_renderer(line_breaks))
    return getattr(_local, name)


def _make_renderer(line_breaks: bool) -> Any:
    import markdown
    from markdown.inlinepatterns import HtmlInlineProcessor, InlineProcessor
    from markdown.preprocessors import Preprocessor
    from markdown.treeprocessors import Treeprocessor

    class Blocks(Preprocessor):
        """Takes harmless HTML blocks out of the text: from their tag at the start of a line to the one that closes."""

        def run(self, lines: list[str]) -> list[str]:
            text, at, parts = "\n".join(lines), 0, []
            unclosed: set[str] = set()
            for start in _BLOCK.finditer(text):
                if start.start() < at or start[1] or start[2].lower() in unclosed:
                    continue
                open_tags = 0
                for tag in re.finditer(_TAG.format(start[2]), text[start.start() :], re.I):
                    open_tags += -1 if tag[1] else 1
                    if not open_tags:
                        end = start.start() + tag.end()
                        block = self.md.htmlStash.store(_TAG_LIKE.sub("&lt;", text[start.start() : end]))
                        parts.append(f"{text[at : start.start()]}\n\n{block}\n\n")
                        at = end
                        break
                else:
                    unclosed.add(start[2].lower())
            return ("".join(parts) + text[at:]).split("\n")

    class Tag(HtmlInlineProcessor):
        """A harmless tag that is closed; every other one stays the text that it is."""

        def handleMatch(self, m: re.Match[str], data: str) -> Any:  # type: ignore[override]
            closing, name = m[2], m[3].lower()
            open_tags: dict[str, int] = self.md.open_tags  # type: ignore[attr-defined]
            if name not in _VOID:
                if closing:
                    if not open_tags.get(name):
                        return None, None, None
                    open_tags[name] -= 1
                elif f"</{name}" in data[m.end() :].lower():
                    open_tags[name] = open_tags.get(name, 0) + 1
                else:
                    return None, None, None
            return super().handleMatch(m, data)

    class Reference(InlineProcessor):
        def handleMatch(self, m: re.Match[str], data: str) -> Any:  # type: ignore[override]
            if self.md.targets is None:  # type: ignore[attr-defined]
                return None, None, None
            mark = Element("span", {"data-ref": m[1]})
            mark.text = ""
            return mark, m.start(), m.end()

    class Pictures(Treeprocessor):
        """Pictures of the item by key; of other hosts a link; of anything else the words."""

        def run(self, root: Element) -> None:
            self._walk(root, linked=False)

        def _walk(self, parent: Element, *, linked: bool) -> None:
            for element in parent:
                if element.tag == "img":
                    self._replace(element, linked)
                elif linked and (key := element.get("data-ref")):
                    element.attrib.clear()
                    element.text = f"[[{key}]]"
                self._walk(element, linked=linked or element.tag == "a")

        def _replace(self, image: Element, linked: bool) -> None:
            source, words = image.get("src", ""), image.get("alt", "")
            image.attrib.clear()
            image.tag = "span"
            if re.fullmatch(_KEY, source) and self.md.targets is not None and not linked:  # type: ignore[attr-defined]
                image.set("data-picture", source)
                image.text = words
            elif re.match(r"https?://", source, re.I) and not linked:
                image.tag = "a"
                image.set("href", source)
                image.text = words or source
            else:
                image.text = words or source

    extensions = ["abbr", "def_list", "fenced_code", "footnotes", "tables", "sane_lists"]
    renderer = markdown.Markdown(extensions=[*extensions, *(["nl2br"] if line_breaks else [])], output_format="html")
    renderer.preprocessors.register(Blocks(renderer), "html_block", 20)
    renderer.inlinePatterns.register(Tag(rf"((?i:{_ANY_TAG}))", renderer), "html", 90)
    renderer.inlinePatterns.register(Reference(rf"\[\[({_KEY})\]\]", renderer), "element", 175)
    renderer.treeprocessors.register(Pictures(renderer), "pictures", 15)  # after "inline"
    return renderer


def render_markdown(text: str, *, line_breaks: bool = True, links: Mapping[str, Target] | None = None) -> SafeString:
    """Safe HTML of Markdown text; links carry rel="noopener noreferrer nofollow".

    line_breaks: a line end is one on the page too, as people who type into a field expect; False for wrapped files.
    links: key -> what `[[key]]` and `![caption](key)` show; other keys are marked. None: `[[key]]` is only text.
    """
    import nh3

    renderer = _renderer(line_breaks)
    renderer.reset()
    renderer.targets, renderer.open_tags = links, {}
    clean = nh3.clean(
        renderer.convert(text),
        tags=_TAGS | {"span"},
        attributes=_ATTRIBUTES,
        url_schemes={"http", "https", "mailto"},
        link_rel="noopener noreferrer nofollow",
    )
    # A wide table scrolls by itself, also by keyboard; the cleaned tags have no attributes, so the texts are exact.
    scrolling = format_html('<div class="wb-scroll" tabindex="0" role="group" aria-label="{}"><table>', _("Table"))
    clean = clean.replace("<table>", scrolling).replace("</table>", "</table></div>")
    if links is not None:
        clean = _MARK.sub(lambda mark: _element(mark, links), clean)
    return mark_safe(clean)


def _element(mark: re.Match[str], links: Mapping[str, Target]) -> str:
    """A mark as the element it names. A picture stands by itself where it was asked for, or has a paragraph alone."""
    before, wish, key, words, after = mark[1] or "", mark[2], mark[3], html.unescape(mark[4]), mark[5] or ""
    target = links.get(key)
    if target is None:
        shown = format_html(
            '<span class="wb-ref-miss"><span class="wb-key wb-key-miss">{}</span> {}</span>', key, _("no such element")
        )
        return f"{before}{shown} {words}{after}" if words else f"{before}{shown}{after}"
    if target.picture and (wish == "picture" or (before and after)):
        return before + _figure(key, target, words or target.title) + after
    link = format_html('<a class="wb-key" href="{}">{}</a>', target.href, key)
    picture = format_html('<img src="{}" alt="" loading="lazy">', target.picture) if target.picture else ""
    url = _outward(target.url)
    detail = format_html('<span class="wb-2c">{}</span>', Truncator(target.detail).chars(200)) if target.detail else ""
    title = Truncator(" ".join(target.title.split())).chars(160)
    shown = format_html(
        '<span class="wb-ref" data-ref>{}<span class="wb-refcard">{}<span class="wb-label">{}</span> <b>{}</b> {} {}'
        "</span></span>",
        link, picture, target.kind, title, detail, url,
    )  # fmt: skip
    return f"{before}{shown}{after}"


def _figure(key: str, target: Target, words: str) -> str:
    return format_html(
        '<span class="wb-figure"><a href="{}" data-zoom><img src="{}" alt="{}" loading="lazy"></a>'
        '<span class="wb-figcap"><a class="wb-key" href="{}">{}</a> {}</span></span>',
        target.full, target.picture, words, target.href, key, words,
    )  # fmt: skip


def _outward(url: str) -> str:
    if not url:
        return ""
    if not url.lower().startswith(("http://", "https://")):
        return format_html('<span class="wb-2c">{}</span>', url)
    return format_html(
        '<a href="{}" rel="noopener noreferrer nofollow" target="_blank">{}</a>', url, Truncator(url).chars(80)
    )
