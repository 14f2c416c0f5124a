"""Addresses of sources: what is wrong with one, which page it is, its kind, the place in it, reading them from text.

PURE: imports no Django and opens no address. An address is kept exactly as it was typed; every other form is derived.
"""

import ipaddress
import re
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Final
from urllib.parse import parse_qs, parse_qsl, quote, unquote, urlencode, urlsplit

# --- what is wrong with one ---------------------------------------------------------------------------------------

_LIST_NUMBER: Final = re.compile(r"[\[(]?\d{1,3}[\]).:、]\s*(?=https?:)", re.IGNORECASE)
_HOST: Final = re.compile(
    r"(?!-)[\w-]{1,63}(?<!-)(\.(?!-)[\w-]{1,63}(?<!-))+\.?|[0-9a-f:.]+:[0-9a-f:.]*", re.IGNORECASE
)
_PRIVATE_NETWORKS: Final = [
    ipaddress.ip_network(network)
    for network in (
        *("0.0.0.0/8", "10.0.0.0/8", "100.64.0.0/10", "127.0.0.0/8", "169.254.0.0/16", "172.16.0.0/12"),
        *("192.168.0.0/16", "::/127", "fc00::/7", "fe80::/10"),
    )
]
_PRIVATE_HOST: Final = re.compile(r"(^|\.)(localhost|local|localdomain|lan|internal|intranet|corp|home\.arpa)\.?$")


@lru_cache(maxsize=2_000)  # a page asks of each of its addresses several times
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
    if _is_private(host):
        return "lies in a private network, where nobody else can open it"
    return None


def _is_private(host: str) -> bool:
    try:
        address = ipaddress.ip_address(host.rstrip("."))
    except ValueError:
        return bool(_PRIVATE_HOST.search(host.lower()))
    return any(address.version == network.version and address in network for network in _PRIVATE_NETWORKS)


# --- which page it is ---------------------------------------------------------------------------------------------

_TRACKING: Final = re.compile(
    r"(utm_\w+|fbclid|gclid|gclsrc|dclid|wbraid|gbraid|msclkid|yclid|twclid|igsh(id)?|mc_[ce]id|mkt_tok|_ga|_gl|_hs\w+"
    r"|ref|ref_src|ref_url|spm|spm_id_from|vd_source|from_spmid|share_source|share_medium|share_plat|wprov)\Z",
    re.IGNORECASE,
)
_SCHEME: Final = re.compile(r"https?:/{1,2}", re.IGNORECASE)  # some servers join doubled slashes in a wrapped address
_ARCHIVE: Final = re.compile(
    r"https?://(?:web\.|www\.)?archive\.org/(?:web|wayback)/(?:[\d*]+(?:[a-z]{2}_)?/)?(?P<wayback>.+)"
    r"|https?://(?:www\.)?archive\.(?:today|ph|is|li|md|vn|fo)/(?:newest/|oldest/|timegate/|o/\w+/|[\d.-]{4,19}/)"
    r"(?P<today>.+)"
    r"|https?://webcache\.googleusercontent\.com/search\?(?:.*&)?q=cache:(?:[\w-]{12}:)?(?P<cache>[^&+\s]+).*"
    r"|https?://(?:www\.)?google\.[a-z.]{2,6}/amp/(?:s/)?(?P<amp>.+)",
    re.IGNORECASE | re.DOTALL,
)
_YOUTUBE: Final = re.compile(r"(^|\.)(youtube\.com|youtube-nocookie\.com|youtu\.be)$")
_WIKIPEDIA: Final = re.compile(r"(^|\.)wikipedia\.org$")
_WIKIMEDIA: Final = re.compile(r"(^|\.)(wikipedia|wikimedia|wiktionary|wikisource|wikidata|wikivoyage|wikiquote)\.org$")
_PLAIN_ESCAPES: Final = frozenset("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~!$&'()*+,;=:@")


def unwrapped(url: str) -> str:
    """The address inside an archive's or cache's address; the address itself where it wraps none.

    >>> unwrapped("https://web.archive.org/web/20200101000000*/example.org/a")
    'http://example.org/a'
    """
    for _depth in range(3):
        match = _ARCHIVE.fullmatch(url.strip())
        inner = next((text for text in match.groups() if text), "") if match else ""
        if not inner:
            break
        inner = unquote(inner) if re.match(r"https?%3a", inner, re.IGNORECASE) else inner
        if not re.match(r"(https?:|[\w-]+(\.[\w-]+)+([/?#:]|$))", inner, re.IGNORECASE):
            break
        url = "http://" + _SCHEME.sub("", inner, count=1)
    return url


def normalize_url(url: str) -> str:
    """The form under which two URLs of the same page are equal. For comparison only; nothing is ever opened by it.

    Left out are the scheme, www. and mobile hosts, a user name, default ports, fragments (but routes `#/…` and map
    views `#map=…`), tracking parameters, a trailing slash, and the wrapper of an archive. Hosts are lower-case and in
    ASCII, escapes in one form, the query sorted. Pages with several addresses have one: of Wikipedia, YouTube, arXiv,
    and DOIs. A text that is no web address comes back stripped and otherwise as it is.
    """
    text = url.strip()
    try:
        parts = urlsplit(unwrapped(text))
        host, port = _host(parts.hostname or ""), parts.port
        path = _one_form(parts.path)
        pairs = sorted((k, v) for k, v in parse_qsl(parts.query, keep_blank_values=True) if not _TRACKING.match(k))
        query = urlencode(pairs)
    except ValueError:  # half an IPv6 address, a port that is none, half a character
        return text
    if not host or parts.scheme not in ("http", "https"):
        return text
    path, query = _same_page(host, path, query)
    if host.endswith(("youtube.com", "youtube-nocookie.com", "youtu.be")) and query.startswith("v="):
        host, path = "youtube.com", "/watch"
    elif host.endswith("arxiv.org") and path.startswith("/abs/"):
        host = "arxiv.org"
    elif host in ("dx.doi.org", "doi.org"):
        host, path = "doi.org", path.lower()
    if port and port not in (80, 443):
        host = f"{host}:{port}"
    fragment = parts.fragment if re.match(r"!?/|map=", parts.fragment) else ""
    return host + path.rstrip("/") + (f"?{query}" if query else "") + (f"#{fragment}" if fragment else "")


def _host(host: str) -> str:
    host = host.lower().rstrip(".")
    if not host.isascii():
        host = host.encode("idna").decode()  # a UnicodeError is a ValueError
    host = re.sub(r"^www\d?\.", "", host)
    host = re.sub(r"^(m|mobile|amp|wap)\.(?=[\w-]+\.)", "", host)
    return re.sub(r"\.m\.(?=wik\w+\.org$)", ".", host)


def _one_form(path: str) -> str:
    """A path with everything escaped that has to be, and nothing else."""
    escaped = quote(path, safe="/%!$&'()*+,;=:@~")

    def plain(match: re.Match[str]) -> str:
        character = chr(int(match[1], 16))
        return character if character in _PLAIN_ESCAPES else match[0].upper()

    return re.sub(r"%([0-9a-fA-F]{2})", plain, escaped)


def _same_page(host: str, path: str, query: str) -> tuple[str, str]:
    """Path and query of a site whose pages have several addresses, as one of them."""
    pairs = parse_qs(query, keep_blank_values=True)
    if _YOUTUBE.search(host):
        video = re.fullmatch(r"/(?:embed/|shorts/|live/|v/|e/)?([\w-]{11})/?", path)
        name = pairs["v"][0] if "v" in pairs else video[1] if video else ""
        return ("/watch", urlencode({"v": name})) if name else (path, query)
    if _WIKIMEDIA.search(host):
        title = pairs.get("title", [""])[0]
        if path in ("/w/index.php", "/wiki/") and title and set(pairs) <= {"title", "oldid"}:
            return _one_form(f"/wiki/{title.replace(' ', '_')}"), ""
        variant = re.fullmatch(r"/(?:zh|sr|kk)(?:-\w+)?/(.+)", path)
        return (f"/wiki/{variant[1]}" if variant else path).replace("%20", "_"), query
    if re.search(r"(^|\.)arxiv\.org$", host):
        paper = re.fullmatch(r"/(?:abs|pdf|html|format)/((?:[\w.-]+/)?\d[\d.]*?)(?:v\d+)?(?:\.pdf)?/?", path)
        return (f"/abs/{paper[1]}", "") if paper else (path, query)
    return path, query


def place_in(url: str) -> str:
    """What an address says about the place in its page: the fragment but a text fragment, or a film's second."""
    try:
        parts = urlsplit(url)
    except ValueError:
        return ""
    times = parse_qs(parts.query)
    return parts.fragment.split(":~:")[0] or next((times[name][0] for name in ("t", "start") if name in times), "")


# --- its kind -----------------------------------------------------------------------------------------------------

_HOSTS_OF_KIND: Final = (
    ("map", r"^maps?\.|(^|\.)(openstreetmap\.org|osm\.org|opentopomap\.org|wikimapia\.org|openhistoricalmap\.org"
            r"|amap\.com|maps\.app\.goo\.gl|2gis\.\w+)$"),
    ("video", r"(^|\.)(youtube(-nocookie)?\.com|youtu\.be|vimeo\.com|bilibili\.com|b23\.tv|dailymotion\.com|dai\.ly"
              r"|tiktok\.com|twitch\.tv|nicovideo\.jp|youku\.com|v\.qq\.com|rutube\.ru|iqiyi\.com|odysee\.com)$"),
    ("audio", r"(^|\.)(soundcloud\.com|open\.spotify\.com|podcasts\.apple\.com|xeno-canto\.org|freesound\.org"
              r"|ximalaya\.com|music\.163\.com)$"),
)  # fmt: skip
_ENDINGS_OF_KIND: Final = (
    ("pdf", (".pdf",)),
    ("video", (".mp4", ".webm", ".mov", ".m4v", ".ogv", ".mkv")),
    ("audio", (".mp3", ".ogg", ".oga", ".wav", ".flac", ".m4a", ".opus", ".mid")),
    ("table", (".csv", ".tsv", ".xlsx", ".xls", ".ods")),
)
_MAP_PATH: Final = re.compile(r"/maps?(/|$)")
_MAP_SITES: Final = re.compile(r"(^|\.)(google\.[a-z.]{2,6}|goo\.gl|bing\.com|yandex\.\w+|naver\.com|baidu\.com)$")


def detect_kind(url: str) -> str:
    """The kind of source that a URL looks like; of an archived page, the page's own. Whatever else it is is "web"."""
    try:
        parts = urlsplit(unwrapped(url.strip()))
        host, path = (parts.hostname or "").lower().rstrip("."), parts.path.lower()
    except ValueError:
        return "web"
    if re.search(r"(^|\.)arxiv\.org$", host) and path.startswith("/pdf/"):
        return "pdf"
    if host == "openreview.net" and path == "/pdf":
        return "pdf"
    if host == "docs.google.com" and path.startswith("/spreadsheets/"):
        return "table"
    if _MAP_SITES.search(host) and _MAP_PATH.match(path):
        return "map"
    if _WIKIPEDIA.search(host):
        return "wikipedia"
    kinds = [kind for kind, endings in _ENDINGS_OF_KIND if path.endswith(endings)]
    kinds += [kind for kind, pattern in _HOSTS_OF_KIND if re.search(pattern, host)]
    return kinds[0] if kinds else "web"


def is_wikipedia_url(url: str) -> bool:
    """Whether a URL is a page of Wikipedia, in any language, mobile or archived; a text that is no URL is not."""
    return detect_kind(url) == "wikipedia"


# --- the place in it ----------------------------------------------------------------------------------------------

_CLOCK: Final = re.compile(r"(?<![\d:])(?:(\d{1,2}):)?(\d{1,3}):([0-5]\d)(?![\d:])")
_SPELLED: Final = re.compile(
    r"(?<![\w.])(?:(\d{1,2})\s*h)?\s*(?:(\d{1,3})\s*m(?:in)?)?\s*(?:(\d{1,5})\s*s(?:ec)?)?(?!\w)"
)
_PAGE: Final = re.compile(
    r"(?:^|(?<![^\W\d_]))(?:pages?|pp?\.?|seiten?|s\.|第)\s*(\d{1,5})(?!\d)|^\s*(\d{1,5})(?=\s*(?:$|[-–,(页頁]))",
    re.IGNORECASE,
)


def seconds_in(locator: str) -> int | None:
    """The first moment that a locator names, in seconds: 03:41, 1:02:03, 3m41s, 221s. None where there is none."""
    if match := _CLOCK.search(locator):
        hours, minutes, seconds = (int(part or 0) for part in match.groups())
        return None if match[1] and minutes > 59 else hours * 3600 + minutes * 60 + seconds
    for match in _SPELLED.finditer(locator):
        if any(match.groups()):
            hours, minutes, seconds = (int(part or 0) for part in match.groups())
            return hours * 3600 + minutes * 60 + seconds
    return None


def page_in(locator: str) -> int | None:
    """The first page that a locator names: 12, p. 12, pp. 12–15, page 12, 第12页. None where there is none."""
    match = _PAGE.search(locator)
    return int(match[1] or match[2]) if match else None


def deep_link(url: str, kind: str | None, locator: str, quoted: str = "") -> str:
    """The address that opens the place itself; "" where none can be derived or the address already names a place.

    A page of a PDF (#page=12), a moment of a film or recording (YouTube, Vimeo, bilibili, files), a quote on a web page
    (a text fragment, which browsers scroll to and mark).
    """
    if url_problem(url):
        return ""
    parts = urlsplit(url)
    if parts.fragment:
        return ""
    host = (parts.hostname or "").lower()
    if kind == "pdf":
        page = page_in(locator)
        return f"{url.rstrip('#')}#page={page}" if page else ""
    if kind in ("video", "audio"):
        seconds = seconds_in(locator)
        if seconds is None or {"t", "start"} & set(parse_qs(parts.query)):
            return ""
        joint = "&" if parts.query else "?"
        if _YOUTUBE.search(host):
            return f"{url}{joint}t={seconds}s"
        if re.search(r"(^|\.)bilibili\.com$", host):
            return f"{url}{joint}t={seconds}"
        return f"{url}#t={seconds}" + ("s" if re.search(r"(^|\.)vimeo\.com$", host) else "")
    words = " ".join(quoted.split()).strip("\"'“”„«»…. ")
    if kind in ("web", "wikipedia", None, "") and len(words) >= 8:
        ends = words.split()
        texts = [words] if len(words) <= 80 or len(ends) < 10 else [" ".join(ends[:4]), " ".join(ends[-4:])]
        if sum(map(len, texts)) <= 200:
            return f"{url}#:~:text=" + ",".join(quote(text, safe="").replace("-", "%2D") for text in texts)
    return ""


def locator_problem(kind: str | None, locator: str) -> str | None:
    """What a locator lacks for its kind: "time" or "page"; None when it says enough, or nothing."""
    if not locator.strip():
        return None
    if kind in ("video", "audio") and seconds_in(locator) is None:
        return "time"
    if kind == "pdf" and page_in(locator) is None and not re.search(r"\d|[ivxlc]{1,6}\b", locator, re.IGNORECASE):
        return "page"
    return None


# --- reading them from text ---------------------------------------------------------------------------------------

MAX_PASTED: Final = 300
_MARKDOWN: Final = re.compile(
    r"\[(?P<title>(?:[^\[\]]|\[[^\[\]]*\])*)\]\(\s*<?(?P<url>https?://(?:[^\s()<>]|\([^\s()]*\))+)>?(?:\s+[\"'][^)]*)?\s*\)",
    re.IGNORECASE,
)
_URL: Final = re.compile(r"https?://[^\s<>\"“”「」『』《》【】，。；！？、（）｜|]+", re.IGNORECASE)
_BARE: Final = re.compile(r"(www\.)?[\w-]+(\.[\w-]+)*\.[a-z]{2,24}([/?#:]\S*)?|[a-z][\w+.-]{1,20}:\S+", re.IGNORECASE)
_BULLET: Final = re.compile(r"^\s*(?:[-*•·‣]|[\[(]?\d{1,3}[\]).:、])\s+")
_TITLE_BEFORE: Final = re.compile(r"^(.{2,200}?)\s*(?:\s[-–—|]|[|｜])\s*$")


@dataclass
class Addresses:
    """Addresses read from a text, each with a title or "", and the lines that held none or came too late."""

    found: list[tuple[str, str]] = field(default_factory=list)
    skipped: list[str] = field(default_factory=list)


def read_addresses(text: str) -> Addresses:
    """Every address of a pasted text in its order: bare, in prose, as Markdown links, or in cells parted by tabs.

    A title comes from a Markdown link, from the cell beside, or from words before a dash or bar. A line of one word
    that looks like an address is taken as it stands. Duplicates stay. At most MAX_PASTED.
    """
    result = Addresses()
    for line in filter(str.strip, text.splitlines()):
        found = _in_cells(line) if "\t" in line else _in_words(line)
        room = MAX_PASTED - len(result.found)
        result.found += found[:room]
        if not found or room < len(found):
            result.skipped.append(line)
    return result


def _in_cells(line: str) -> list[tuple[str, str]]:
    cells = [cell.strip().strip('"') for cell in line.split("\t")]
    found = [url for cell in cells for url, _title in _in_words(cell)]
    words = [cell for cell in cells if cell and not _in_words(cell) and not re.fullmatch(r"[\d\W]+", cell)]
    return [(url, words[0] if words and len(found) == 1 else "") for url in found] if found else []


def _in_words(line: str) -> list[tuple[str, str]]:
    line = _BULLET.sub("", line).strip()
    found: list[tuple[int, str, str]] = []
    for match in _MARKDOWN.finditer(line):
        found.append((match.start(), match["url"], match["title"].strip()))
    rest = _MARKDOWN.sub(lambda match: " " * len(match[0]), line)
    bare = list(_URL.finditer(rest))
    for match in bare:
        title = _TITLE_BEFORE.match(rest[: match.start()]) if len(bare) == 1 and not found else None
        found.append((match.start(), _trimmed(match[0]), title[1].strip() if title else ""))
    if not found and _BARE.fullmatch(line):
        return [(line, "")]
    return [(url, title) for _start, url, title in sorted(found)]


def _trimmed(url: str) -> str:
    """An address without the punctuation of the sentence it stood in; brackets stay when they are its own."""
    while url:
        last = url[-1]
        if last in ".,;:!?'*_…" or (
            last in ")]}" and url.count(last) > url.count({")": "(", "]": "[", "}": "{"}[last])
        ):
            url = url[:-1]
        else:
            break
    return url
