"""One look at one URL through the address guard: what it answers, in one of four words, with the reason.

Reads and writes no database and holds no transaction. Who calls brings the hosts' rules for robots, also of those that
redirects lead to, and sees to it that a host is asked by one at a time (`link_steps`).
"""

import hashlib
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import Final
from urllib.parse import urlsplit, urlunsplit

from django.conf import settings
from django.utils.translation import gettext as _
from protego import Protego

from annotation.folding import fold
from lhdr_site.shared.address_guard import Fetched, FetchError, fetch

from . import pdftext
from .models import LinkCheck
from .pagetext import TEXT_TYPES, PageText, is_wall, read_page, says_not_found

Status = LinkCheck.Status
Rules = Callable[[str], Protego | None]  # those of a URL's host; None when the host fails to say them
ROBOT: Final = "LHDR-Workbench"  # the name that robots.txt may address
MAX_BYTES: Final = 1024 * 1024
PDF_BYTES: Final = 20 * 1024 * 1024  # nothing can be read of a part of one
EXTRACT: Final = 20_000  # characters of a page that are kept
LONGEST_PAUSE: Final = 30  # seconds that a host's crawl-delay may ask for

_PASSING: Final = (
    "timeout",
    "no_connection",
    "broken",
    "unknown_host",
    "no_rules",
)  # what may be otherwise an hour later


@dataclass(frozen=True, slots=True)
class Answer:
    """What came of one look. `passing`: it may be otherwise later, so it is worth another try. `text` is the whole, or
    as far as it was read (`cut`).
    """

    status: str
    reason: str
    passing: bool = False
    http_status: int | None = None
    final_url: str = ""
    redirects: tuple[str, ...] = ()
    content_type: str = ""
    title: str = ""
    content_hash: str = ""
    text: str = ""
    cut: bool = False
    milliseconds: int = 0


def agent() -> str:
    return settings.LINK_AGENT or f"{ROBOT}/1 (checks links in benchmark items; +{settings.SITE_URL})"


def host_of(url: str) -> str:
    """Host and port of a URL, in small letters; "" where it has none."""
    try:
        return urlsplit(url.strip()).netloc.rpartition("@")[2].lower()[:300]
    except ValueError:
        return ""


def _ask(url: str, method: str, max_bytes: int = MAX_BYTES, heed: Callable[[str], None] = lambda url: None) -> Fetched:
    return fetch(
        url,
        method=method,
        max_bytes=max_bytes,
        before_redirect=heed,
        timeout=settings.LINK_SECONDS,
        read_timeout=min(20, settings.LINK_SECONDS),
        allow=settings.FETCH_ALLOW,
        headers={"User-Agent": agent(), "Accept-Language": "en, *;q=0.5"},
    )


# --- rules for robots ---------------------------------------------------------------------------------------------


def read_robots(url: str) -> str | None:
    """The robots.txt of a URL's host; None when the host fails. One without it, or that is not there, allows all."""
    try:
        parts = urlsplit(url.strip())
        found = _ask(urlunsplit((parts.scheme, parts.netloc, "/robots.txt", "", "")), "GET", 500 * 1024)
    except (FetchError, ValueError):
        return ""  # the look at the page will say why
    if found.status >= 500:
        return None
    if found.status != 200 or "html" in found.content_type:
        return ""
    return found.body.decode("utf-8", errors="replace").replace("\0", "")


def pause_of(rules: Protego) -> float:
    """Seconds between two requests to the host."""
    return max(settings.LINK_PAUSE, min(rules.crawl_delay(ROBOT) or 0, LONGEST_PAUSE))


def _heed(rules: Rules, url: str) -> None:
    """Raises FetchError where the rules of a URL's host keep machines off it, or are not to be had."""
    found = rules(url)
    if found is None:
        text = _("%(host)s fails to say in its robots.txt what may be fetched.") % {"host": host_of(url)}
        raise FetchError("no_rules", text)
    try:
        allowed = found.can_fetch(url, ROBOT)
    except ValueError:  # no address at all: the guard says in which way
        allowed = True
    if not allowed:
        raise FetchError("robots", _("%(host)s asks in its robots.txt not to fetch it.") % {"host": host_of(url)})


# --- one look -----------------------------------------------------------------------------------------------------


def look_at(url: str, rules: Rules) -> Answer:
    """Ask for a URL: HEAD, and GET where there is a text to read or HEAD tells nothing."""
    begun = time.monotonic()
    answer = _look(url, rules)
    return replace(answer, milliseconds=int((time.monotonic() - begun) * 1000))


def _look(url: str, rules: Rules) -> Answer:
    heed = partial(_heed, rules)
    limit = MAX_BYTES
    try:
        heed(url)
        head = _ask(url, "HEAD", heed=heed)
        if head.status < 300 and head.content_type in pdftext.TYPES:
            limit = PDF_BYTES
        elif head.status < 300 and head.content_type and head.content_type not in TEXT_TYPES:
            return _seen(head, _("Opens. Its type is not looked into."))
    except FetchError as error:
        if error.code in ("bad_url", "not_public", "robots", "no_rules"):
            return _failed(error)
    try:
        found = _ask(url, "GET", limit, heed)
        if found.truncated and found.content_type in pdftext.TYPES and limit != PDF_BYTES:  # HEAD did not tell
            found = _ask(url, "GET", PDF_BYTES, heed)
    except FetchError as error:
        return _failed(error)
    return _judged(found)


def _failed(error: FetchError) -> Answer:
    if error.code in ("bad_url", "not_public"):
        return Answer(Status.REFUSED, str(error))
    status = Status.DEAD if error.code == "unknown_host" else Status.UNVERIFIABLE
    return Answer(status, str(error), passing=error.code in _PASSING)


def _judged(found: Fetched) -> Answer:
    code = found.status
    if code in (404, 410):
        return _seen(found, _("Answers %(code)d: it is gone.") % {"code": code}, Status.DEAD)
    if 500 <= code < 600:
        answer = _seen(found, _("The host fails: it answers %(code)d.") % {"code": code}, Status.UNVERIFIABLE)
        return replace(answer, passing=True)
    if code >= 300:
        words = {401: _("It asks for a log-in"), 403: _("It refuses machines"), 407: _("It asks for a log-in"),
                 429: _("It is asked too often"), 451: _("It is blocked by law or in this country")}  # fmt: skip
        said = words.get(code, _("It does not open for a machine"))
        return _seen(found, _("%(said)s (%(code)d).") % {"said": said, "code": code}, Status.UNVERIFIABLE)
    if found.content_type in pdftext.TYPES:
        return _pdf(found)
    if found.content_type and found.content_type not in TEXT_TYPES:
        return _seen(found, _("Opens. Its type is not looked into."))
    page = read_page(found.body, found.headers.get("content-type", "text/html"))
    if is_wall(page) or found.headers.get("cf-mitigated") == "challenge":
        return _seen(found, _("A captcha or the like stands before the page."), Status.UNVERIFIABLE, page)
    if says_not_found(page):
        return _seen(found, _("Answers with a page that says “not found”."), Status.UNVERIFIABLE, page)
    return _seen(found, _("Opens.") if page.text else _("Opens, with no text to read."), Status.OK, page)


def _pdf(found: Fetched) -> Answer:
    if found.truncated:
        said = _("Opens, but the PDF is too large for a machine to look into (over %(n)d MB).")
        return _seen(found, said % {"n": PDF_BYTES // 1024**2}, Status.UNVERIFIABLE)
    read = pdftext.read_pdf(found.body)
    if read.problem:
        words = {"encrypted": _("Opens, but the PDF is encrypted: a machine cannot read it."),
                 "scanned": _("Opens, but the PDF holds pictures of pages and no text that a machine could read."),
                 "slow": _("Opens, but the PDF takes too long to read.")}  # fmt: skip
        said = words.get(read.problem, _("Opens, but the PDF is broken: a machine cannot read it."))
        return _seen(found, said, Status.UNVERIFIABLE)
    said = _("Opens. Only the first part of the PDF was read: it is long.") if read.cut else _("Opens.")
    return replace(_seen(found, said, page=PageText(read.title, read.text)), cut=read.cut)


def _seen(found: Fetched, reason: str, status: str = Status.OK, page: PageText | None = None) -> Answer:
    text = page.text if page else ""
    return Answer(
        status,
        reason,
        http_status=found.status,
        final_url=found.final_url,
        redirects=found.redirects,
        content_type=found.content_type[:100],
        title=(page.title if page else "")[:500],
        content_hash=hashlib.sha256(fold(text).encode()).hexdigest() if text else "",
        text=text,
    )
