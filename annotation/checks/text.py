"""Comparing text as a reader would: folded, at word boundaries, nearly; and the way back to the typed characters.

PURE: imports no Django. rapidfuzz is imported where it is used, as it costs 30 ms.
"""

import re
import unicodedata
from dataclasses import dataclass
from functools import cache
from typing import Final

# Letters that a reader takes for an accented one, though Unicode does not decompose them.
_PLAIN: Final = {"ø": "o", "ł": "l", "đ": "d", "ð": "d", "þ": "th", "æ": "ae", "œ": "oe", "ı": "i"}
# Typed in some spellings of a name and left out in others.
_DROPPED: Final = frozenset("'’‘ʼʻ`´·\u00ad")
# Scripts written without spaces between words (and Hangul, whose particles cling to the word).
_NO_SPACES: Final = re.compile(
    "[\u0e00-\u0eff\u1000-\u109f\u1100-\u11ff\u1780-\u17ff\u3040-\u30ff\u3130-\u318f\u3400-\u4dbf\u4e00-\u9fff"
    "\uac00-\ud7af\uf900-\ufaff\U00020000-\U0003ffff]"
)
# A value made of nothing but these names nothing.
_COMMON: Final = frozenset(
    [
        "a",
        "about",
        "above",
        "after",
        "all",
        "an",
        "and",
        "any",
        "are",
        "area",
        "as",
        "at",
        "be",
        "been",
        "before",
        "below",
        "between",
        "big",
        "black",
        "blue",
        "book",
        "both",
        "bridge",
        "brown",
        "building",
        "but",
        "by",
        "capital",
        "center",
        "central",
        "centre",
        "century",
        "city",
        "club",
        "company",
        "country",
        "day",
        "did",
        "do",
        "does",
        "each",
        "early",
        "east",
        "eastern",
        "eight",
        "every",
        "few",
        "film",
        "first",
        "five",
        "for",
        "four",
        "from",
        "gold",
        "great",
        "green",
        "grey",
        "group",
        "had",
        "has",
        "have",
        "he",
        "her",
        "his",
        "house",
        "image",
        "in",
        "into",
        "is",
        "island",
        "it",
        "its",
        "lake",
        "large",
        "last",
        "late",
        "later",
        "left",
        "long",
        "made",
        "main",
        "man",
        "many",
        "map",
        "member",
        "modern",
        "month",
        "more",
        "most",
        "mountain",
        "museum",
        "name",
        "new",
        "next",
        "nine",
        "no",
        "north",
        "northern",
        "not",
        "number",
        "of",
        "off",
        "old",
        "on",
        "one",
        "only",
        "or",
        "orange",
        "organization",
        "other",
        "out",
        "over",
        "own",
        "part",
        "people",
        "person",
        "photo",
        "photograph",
        "picture",
        "place",
        "purple",
        "red",
        "right",
        "river",
        "road",
        "school",
        "second",
        "seven",
        "ship",
        "short",
        "silver",
        "six",
        "small",
        "some",
        "south",
        "southern",
        "station",
        "still",
        "street",
        "ten",
        "than",
        "that",
        "the",
        "their",
        "them",
        "then",
        "there",
        "these",
        "they",
        "third",
        "this",
        "those",
        "three",
        "to",
        "tower",
        "town",
        "two",
        "under",
        "university",
        "unknown",
        "until",
        "up",
        "village",
        "was",
        "water",
        "were",
        "west",
        "western",
        "what",
        "when",
        "where",
        "which",
        "white",
        "who",
        "whose",
        "with",
        "woman",
        "word",
        "work",
        "world",
        "year",
        "years",
        "yellow",
        "yes",
        "young",
    ]
)


def _fold_character(character: str) -> str:
    """What one character becomes: "" if dropped, " " for punctuation, symbols and spaces, else folded letters."""
    if character in _DROPPED:
        return ""
    result = []
    for part in unicodedata.normalize("NFKD", unicodedata.normalize("NFKD", character).casefold()):
        category = unicodedata.category(part)
        if "\u0300" <= part <= "\u036f" or category == "Cf":  # accents, joiners, marks of direction
            continue
        result.append(_PLAIN.get(part, part) if category[0] in "LMN" else " ")
    return "".join(result)


class _Table(dict[int, str]):
    """For str.translate: each character is folded once."""

    def __missing__(self, code: int) -> str:
        self[code] = folded = _fold_character(chr(code))
        return folded


_TABLE: Final = _Table()


def fold(text: str) -> str:
    """NFKC, case and accents folded, punctuation as spaces, spaces collapsed. Equal texts read the same."""
    return " ".join(text.translate(_TABLE).split())


def character_count(folded: str) -> int:
    """Number of characters a reader counts in folded text, spaces left out."""
    return len(unicodedata.normalize("NFC", folded.replace(" ", "")))


def written_without_spaces(text: str) -> bool:
    """Whether the text is of a script in which word boundaries cannot be seen."""
    return _NO_SPACES.search(text) is not None


def is_common(folded: str) -> bool:
    """Whether folded text consists of common words alone."""
    return _COMMON.issuperset(folded.split())


_ENDINGS: Final = frozenset(["s", "es", "n", "an", "ian", "ans", "ians", "ese", "ish", "ic", "i", "er", "ers"])
_NUMBER: Final = re.compile(r"\d+")


@dataclass(frozen=True)
class Match:
    """Where a value was found in a text: spans of the typed text, how, and the likeness.

    how: "exactly", "folded", "within" (a longer word begins with it) or "nearly".
    """

    spans: tuple[tuple[int, int], ...]
    how: str
    percent: int


@dataclass(frozen=True)
class Folded:
    """A text, its folded form and, for each folded character, the position of the typed one."""

    typed: str
    text: str
    at: tuple[int, ...]

    @classmethod
    def of(cls, typed: str) -> "Folded":
        folded: list[str] = []
        at: list[int] = []
        for position, character in enumerate(typed):
            for part in _TABLE[ord(character)]:
                if part == " " and (not folded or folded[-1] == " "):
                    continue
                folded.append(part)
                at.append(position)
        if folded and folded[-1] == " ":
            folded.pop()
            at.pop()
        return cls(typed, "".join(folded), tuple(at))

    def span(self, start: int, end: int) -> tuple[int, int]:
        """The span of the typed text for folded characters start..end (end > start), its last accents included."""
        last = self.at[end - 1] + 1
        while last < len(self.typed) and unicodedata.category(self.typed[last])[0] == "M":
            last += 1
        return self.at[start], last

    def occurrences(self, folded: str) -> tuple[tuple[int, int], ...]:
        """Spans of the typed text for folded text, at word boundaries where the script has them."""
        return tuple(self.span(*found) for found in _places(folded, self.text))


@cache
def _joins(character: str) -> bool:
    """Whether a character next to a letter belongs to the same word."""
    is_word = character.isalnum() or unicodedata.category(character)[0] == "M"
    return is_word and not written_without_spaces(character)


def _is_boundary(text: str, position: int) -> bool:
    return position in (0, len(text)) or not (_joins(text[position - 1]) and _joins(text[position]))


def _places(value: str, text: str) -> list[tuple[int, int]]:
    # A compiled expression for each value would cost more than all other checks together.
    places, start = [], text.find(value) if value else -1
    while start >= 0:
        end = start + len(value)
        if _is_boundary(text, start) and _is_boundary(text, end):
            places.append((start, end))
        start = text.find(value, start + 1)
    return places


def find_whole(value: str, within: Folded) -> Match | None:
    """A value as typed or else folded, at word boundaries where the script has them; None when it is not there."""
    if spans := _places(value.strip(), within.typed):
        return Match(tuple(spans), "exactly", 100)
    if folded_spans := within.occurrences(fold(value)):
        return Match(folded_spans, "folded", 100)
    return None


def find_leak(value: str, within: Folded, over_percent: int) -> Match | None:
    """A value exactly, folded, or nearly (partial ratio over `over_percent`); None when it is not there.

    Values of under 3 characters and of common words alone count only as typed. In scripts without spaces 2 characters
    are enough, and there is no nearly. Nearly needs 5 characters, letters among them, and the numbers of the value; it
    is never a part of a longer word (Paris in comparison), but for usual endings (Egypt in Egyptian).
    """
    folded = fold(value)
    length = character_count(folded)
    if written_without_spaces(folded):
        return find_whole(value, within) if length >= 2 else None
    if not folded:  # punctuation alone
        return None
    if length < 3 or is_common(folded):
        spans = _places(value.strip(), within.typed)
        return Match(tuple(spans), "exactly", 100) if spans else None
    match = find_whole(value, within)
    if match or length < 5 or len(folded) > len(within.text) or not any(map(str.isalpha, folded)):
        return match
    return _find_nearly(folded, within, over_percent)


def _find_nearly(folded: str, within: Folded, over_percent: int) -> Match | None:
    from rapidfuzz import fuzz

    text = within.text
    found = fuzz.partial_ratio_alignment(folded, text, score_cutoff=over_percent)
    if found is None or found.score <= over_percent:
        return None
    start, end = found.dest_start, found.dest_end
    start += text[start:end].startswith(" ")
    end -= text[start:end].endswith(" ")
    first = text.rfind(" ", 0, start) + 1
    last = text.find(" ", end) if " " in text[end:] else len(text)
    words = text[first:last]
    close = fuzz.ratio(folded, words) > over_percent
    if found.score == 100:  # a longer word begins with it: Egyptian, or in long names a slip of the finger: Pentagramm
        alike = first == start and (text[end:last] in _ENDINGS or (close and len(folded) >= 8))
    else:
        alike = (
            close
            and set(_NUMBER.findall(folded)) <= set(_NUMBER.findall(words))
            # Every word has its like: "a suspension bridge" is not nearly "Menai Suspension Bridge".
            and all(len(word) < 4 or fuzz.partial_ratio(word, words) >= 75 for word in folded.split())
        )
    how = "within" if found.score == 100 else "nearly"
    return Match((within.span(first, last),), how, int(found.score)) if alike else None
