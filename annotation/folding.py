"""Text as the index tables hold it, for search in lists. PURE: imports no Django.

`checks/text.py` folds for comparison, which takes punctuation for spaces; here it stays, as URLs are searched too.
"""

import re
import unicodedata

_SPACES = re.compile(r"\s+")
# Marks that readers take for one another; the full-width ones are NFKC's business.
_MARKS = dict(zip("、。「」『』“”„‘’‐‑–—−・·", ',."""""""\'\'-----··', strict=True))
_VOICED = "\u3099\u309a"  # make another sound of a kana: no accents


def simplified(character: str) -> str:
    """Chinese characters in their simplified form, katakana as hiragana; everything else as it is.

    Both may be wrong as writing and are right for comparison: 國 and 国, 桜 and 樱, ハ and は meet.
    """
    if "\u30a1" <= character <= "\u30f6" or "\u30fd" <= character <= "\u30fe":
        return chr(ord(character) - 0x60)
    if "\u3400" <= character <= "\u9fff" or "\U00020000" <= character <= "\U0003ffff":
        from .han import SIMPLIFIED

        return SIMPLIFIED.get(character, character)
    return character


class _Table(dict[int, str]):
    """For str.translate: each character is folded once."""

    def __missing__(self, code: int) -> str:
        parts = unicodedata.normalize("NFKD", chr(code).casefold())
        kept = (part for part in parts if part in _VOICED or not unicodedata.combining(part))
        self[code] = folded = "".join(_MARKS.get(part, simplified(part)) for part in kept)
        return folded


_TABLE = _Table()


def fold(text: str) -> str:
    """NFKC, case folded, accents stripped, white space collapsed, quotation marks and dashes alike; traditional and
    Japanese characters as simplified Chinese ones, katakana as hiragana.
    """
    if text.isascii():
        return " ".join(text.lower().split())
    folded = unicodedata.normalize("NFKC", text).translate(_TABLE)
    return _SPACES.sub(" ", unicodedata.normalize("NFKC", folded)).strip()
