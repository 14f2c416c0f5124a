"""What a fetched page says: its title and text, whether it is a wall before the page, whether a quote stands in it.

PURE: imports no Django.
"""

import html
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from rapidfuzz import fuzz

from annotation.folding import fold

TEXT_TYPES: Final = ("text/html", "application/xhtml+xml", "text/plain", "text/xml", "application/xml")
NEAR: Final = 90  # percent from which a quote counts as nearly there
_SEARCHED: Final = 400_000  # characters in which a near match is looked for
_UNSEEN: Final = frozenset("script style noscript template svg iframe object title textarea select".split())
_INLINE: Final = frozenset(
    "a abbr b bdi bdo cite code del dfn em font i ins kbd mark q s small span strong sub sup u var".split()
)
_OPENING: Final = re.compile(r"<(?:(!--)|/?([a-zA-Z][^\s/>]*)|[!?])")
_TITLE: Final = re.compile(r"<title\b[^>]{0,300}>([^<]{0,2000})", re.IGNORECASE)
_GAP: Final = re.compile(r"\[\s*(?:\.{3}|…)\s*\]|\(\s*(?:\.{3}|…)\s*\)|\.{3,}|…")
_WALL_TITLES: Final = re.compile(
    r"just a moment|attention required|access (?:to this page has been )?denied|are you (?:a )?(?:human|robot)"
    r"|robot check|security check|verify (?:that )?you are|human verification|captcha|ddos-guard"
    r"|pardon our interruption",
    re.IGNORECASE,
)
_WALL_TEXTS: Final = re.compile(
    r"captcha|verify (?:that )?you are (?:a )?human|unusual traffic|enable javascript and cookies to continue"
    r"|checking your browser",
    re.IGNORECASE,
)
_GONE_TITLES: Final = re.compile(r"^\W*(?:error\W*)?404\b|\b(?:page|article|file|document) not found\b", re.IGNORECASE)
_WALL_LENGTH: Final = 1500  # a page that says more is a page, whatever words it uses


@dataclass(frozen=True, slots=True)
class PageText:
    """White space is collapsed; `text` is "" where there is none."""

    title: str
    text: str


def read_page(body: bytes, content_type: str) -> PageText:
    """Title and text of a page. content_type: the whole header, for its charset; a wrong or missing one is guessed."""
    text = _decoded(body, content_type).replace("\0", " ")
    if "html" not in content_type.lower():
        return PageText("", _collapsed(text))
    named = _TITLE.search(text, 0, 200_000)
    title = html.unescape(named[1]) if named else ""
    return PageText(_collapsed(title), _collapsed(html.unescape("".join(_pieces(text)))))


def _pieces(text: str) -> Iterator[str]:
    """What stands between the tags. One pass: parsers that build a tree are made to run for hours by nested tags."""
    at = 0
    while opening := _OPENING.search(text, at):
        yield text[at : opening.start()]
        name = (opening[2] or "").lower()
        end = text.find("-->" if opening[1] else ">", opening.end())
        if name in _UNSEEN and text[opening.start() + 1] != "/":
            closing = re.compile(f"</{name}\\b[^>]*>?", re.IGNORECASE).search(text, opening.end())
            end = closing.end() - 1 if closing else -1
        if end < 0:
            return  # never closed: what follows is no text
        at = end + (3 if opening[1] else 1)
        if name not in _INLINE:
            yield " "
    yield text[at:]


def _decoded(body: bytes, content_type: str) -> str:
    named = re.search(r"charset\s*=\s*[\"']?([\w.:-]+)", content_type, re.IGNORECASE)
    inside = re.search(rb"<meta[^>]{0,200}?charset\s*=\s*[\"']?([\w.:-]+)", body[:4096], re.IGNORECASE)
    for encoding in [named[1] if named else "", inside[1].decode("ascii", "replace") if inside else ""]:
        try:
            return body.decode(encoding or "none", errors="replace")
        except (LookupError, ValueError):
            continue
    text = body.decode("utf-8", errors="replace")
    return text if text.count("\ufffd") <= len(text) // 100 + 1 else body.decode("latin-1")


def _collapsed(text: str) -> str:
    return " ".join(text.split())


def is_wall(page: PageText) -> bool:
    """Whether it is a captcha or the like that stands before the page."""
    short = len(page.text) < _WALL_LENGTH
    return short and bool(_WALL_TITLES.search(page.title) or _WALL_TEXTS.search(page.text))


def says_not_found(page: PageText) -> bool:
    """Whether a page that came with a good status says itself that there is none."""
    return bool(_GONE_TITLES.search(page.title))


def quote_score(quote: str, text: str) -> int | None:
    """How like the most similar place of a text is to a quote, in percent; 100: it stands there word for word.

    Case, accents, white space, quotation marks and dashes do not count; the parts of a quote around an ellipsis may
    stand apart, and the least alike counts. None where there is no quote or no text.
    """
    within = fold(text)
    parts = [part for part in (fold(piece).strip(" ,;\"'") for piece in _GAP.split(quote)) if part]
    if not parts or not within:
        return None
    return min(_part_score(part, within) for part in parts)


def _part_score(part: str, within: str) -> int:
    if part in within:
        return 100
    if len(part) > len(within):  # rapidfuzz would look for the text in the quote
        return min(99, int(fuzz.ratio(part, within)))
    return min(99, int(fuzz.partial_ratio(part, within[:_SEARCHED], score_cutoff=NEAR)))
