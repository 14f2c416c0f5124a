"""Checks of the sources: well-formed addresses, no duplicates, not all from one place.

PURE: imports no Django and opens no address; whether a page still answers is the link check's business.
"""

import re
from collections.abc import Iterator
from typing import Final
from urllib.parse import parse_qsl, quote, unquote, urlencode, urlsplit

from annotation.checks.base import Check, CheckContext, Finding, register
from annotation.graph import is_wikipedia

_LIST_NUMBER: Final = re.compile(r"[\[(]?\d{1,3}[\]).:、]\s*(?=https?:)", re.IGNORECASE)
_HOST: Final = re.compile(
    r"(?!-)[\w-]{1,63}(?<!-)(\.(?!-)[\w-]{1,63}(?<!-))+\.?|[0-9a-f:.]+:[0-9a-f:.]*", re.IGNORECASE
)


def url_problem(url: str) -> str | None:
    """What is wrong with an address, as the end of the sentence "The address …"; None for a sound one."""
    if not url:
        return "is missing"
    if _LIST_NUMBER.match(url):
        return "begins with the number of a list"
    if any(character.isspace() or not character.isprintable() for character in url):
        return "holds a space or a character that cannot be seen"
    try:
        parts = urlsplit(url)
        host, _ = parts.hostname, parts.port  # reading the port raises when it is none
    except ValueError:
        return "cannot be taken apart into host, port and path"
    if parts.scheme not in ("http", "https"):
        return "does not begin with http:// or https://"
    if "@" in parts.netloc:
        return "holds a user name"
    if not host or not _HOST.fullmatch(host):
        return "names no host that could be on the web"
    return None


def address_of(url: str) -> str:
    """A sound URL in a form in which equal addresses are equal: scheme, www., escapes, tracking and last slash aside.

    Kept are the path with its case, the query and the fragment, which on maps and films is the place. A text fragment
    (#:~:text=) is left out, as it only scrolls.
    """
    parts = urlsplit(url)
    host = (parts.hostname or "").removeprefix("www.").rstrip(".")
    port = f":{parts.port}" if parts.port not in (None, 80, 443) else ""
    path = quote(unquote(parts.path), safe="/:@!$&'()*+,;=~").rstrip("/")
    pairs = [(name, value) for name, value in parse_qsl(parts.query, keep_blank_values=True) if name[:4] != "utm_"]
    query = f"?{urlencode(pairs)}" if pairs else ""
    fragment = parts.fragment.split(":~:")[0]
    return f"{host}{port}{path}{query}" + (f"#{fragment}" if fragment else "")


def page_of(url: str) -> str:
    """The page of a sound URL: its address without the fragment, and of Wikipedia without the mobile host."""
    return address_of(url).split("#")[0].replace(".m.wikipedia.org", ".wikipedia.org", 1)


@register
class WikipediaShare(Check):
    code = "wikipedia_share"
    title = "Wikipedia makes up too large a share of the sources"
    why = "A chain within Wikipedia can be walked by following links, and systems know its text by heart."
    how_to_mend = "Support some conclusions with other sources: institutions, archives, papers, maps, films."
    level = "warning"
    section = "sources"

    def run(self, context: CheckContext) -> Iterator[Finding]:
        sources, threshold = context.document.sources, context.thresholds.wikipedia_percent
        wikipedia = sum(map(is_wikipedia, sources))
        if 100 * wikipedia > threshold * len(sources):
            template = "Wikipedia: {wikipedia} of {sources} sources ({percent}%); at most {threshold}% is asked for."
            yield self.finding(
                context,
                "sources",
                template,
                wikipedia=wikipedia,
                sources=len(sources),
                percent=round(100 * wikipedia / len(sources)),
                threshold=threshold,
            )


@register
class OnePage(Check):
    code = "one_page"
    title = "All evidence is on one page"
    why = "Who finds that page has every conclusion at once, so the chain is not needed."
    how_to_mend = "Support the conclusions with pages that do not name each other's facts."
    level = "warning"
    section = "sources"

    def run(self, context: CheckContext) -> Iterator[Finding]:
        document = context.document
        pages = {page_of(source.url) for source in document.sources if not url_problem(source.url)}
        if len(pages) == 1 and len(document.checklist) > 1:
            template = "All sources, {sources} in number, are the page {page}."
            yield self.finding(context, "sources", template, sources=len(document.sources), page=pages.pop())


@register
class DuplicateUrl(Check):
    code = "duplicate_url"
    title = "Two sources have the same address"
    why = "The same page counted twice makes the evidence look broader than it is, and is checked twice."
    how_to_mend = "Keep one and link it everywhere, or say in the locator which place of the page each one means."
    level = "warning"
    section = "sources"
    about = ("url", "locator")

    def run(self, context: CheckContext) -> Iterator[Finding]:
        first: dict[tuple[str, str], str] = {}
        for source in context.document.sources:
            if url_problem(source.url):
                continue
            place = (address_of(source.url), source.locator.strip())
            if place in first:
                template = "Sources {first} and {second} have the same address: {url}"
                one, two = first[place], source.key
                yield self.finding(context, two, template, related=(one,), first=one, second=two, url=source.url)
            first.setdefault(place, source.key)


@register
class MalformedUrl(Check):
    code = "malformed_url"
    title = "Address of a source is malformed"
    why = "An auditor cannot open it, and neither can who uses the released benchmark."
    how_to_mend = "Copy the address from the browser's address bar: https://, a host and a path, nothing else."
    level = "warning"
    section = "sources"
    about = ("url",)

    def run(self, context: CheckContext) -> Iterator[Finding]:
        for source in context.document.sources:
            if problem := url_problem(source.url):
                template = f"The address of source {{key}} {problem}" + (": {url}" if source.url else ".")
                yield self.finding(context, source.key, template, key=source.key, url=source.url)
