"""Text and URLs as the index tables hold them, for search in lists. PURE: imports no Django.

`checks/text.py` folds for comparison, which takes punctuation for spaces; here it stays, as URLs are searched too.
"""

import re
import unicodedata
from urllib.parse import parse_qsl, unquote, urlencode, urlsplit

_TRACKING = re.compile(r"(utm_\w+|fbclid|gclid|mc_[ce]id|ref|ref_src)\Z")
_SPACES = re.compile(r"\s+")


def fold(text: str) -> str:
    """NFKC, case folded, accents stripped, white space collapsed."""
    if text.isascii():
        return " ".join(text.lower().split())
    decomposed = unicodedata.normalize("NFKD", unicodedata.normalize("NFKC", text).casefold())
    stripped = "".join(c for c in decomposed if not unicodedata.combining(c))
    return _SPACES.sub(" ", unicodedata.normalize("NFKC", stripped)).strip()


def normalize_url(url: str) -> str:
    """The form under which two URLs of the same page are equal: no scheme, www., mobile host, fragment, tracking
    parameters, default port or trailing slash; host lower-case, percent-escapes of plain letters undone, query sorted.

    A text that is no URL comes back stripped and otherwise as it is.
    """
    text = url.strip()
    try:
        parts = urlsplit(text)
        host = (parts.hostname or "").lower().rstrip(".")
        port = parts.port
    except ValueError:
        return text
    if not host:
        return text
    host = re.sub(r"^www\d?\.", "", host)
    host = re.sub(r"\.m\.(wikipedia|wikimedia)\.org$", r".\1.org", re.sub(r"^m\.", "", host))
    if port and port not in (80, 443):
        host = f"{host}:{port}"
    path = unquote(parts.path).rstrip("/")
    query = sorted((k, v) for k, v in parse_qsl(parts.query, keep_blank_values=True) if not _TRACKING.match(k))
    return host + path + (f"?{urlencode(query)}" if query else "")
