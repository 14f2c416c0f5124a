"""Checks of the sources: well-formed addresses, no duplicates, not all from one place.

PURE: imports no Django and opens no address; whether a page still answers is the link check's business.
"""

from collections.abc import Iterator

from annotation.addresses import normalize_url, place_in, url_problem
from annotation.checks.base import Check, CheckContext, Finding, register
from annotation.graph import is_wikipedia


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
        pages = {normalize_url(source.url) for source in document.sources if not url_problem(source.url)}
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
        first: dict[tuple[str, str, str], str] = {}
        for source in context.document.sources:
            if url_problem(source.url):
                continue
            place = (normalize_url(source.url), place_in(source.url), source.locator.strip())
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
