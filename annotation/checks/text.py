"""Comparing text as a reader would: folded, at word boundaries, nearly; and the way back to the typed characters.

PURE: imports no Django. rapidfuzz is imported where it is used, as it costs 30 ms.
"""

import re
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from itertools import pairwise
from typing import Final

from annotation.folding import simplified

# Letters that a reader takes for an accented one, though Unicode does not decompose them.
_PLAIN: Final = {"ø": "o", "ł": "l", "đ": "d", "ð": "d", "þ": "th", "æ": "ae", "œ": "oe", "ı": "i"}
# Typed in some spellings of a name and left out in others.
_DROPPED: Final = frozenset("'’‘ʼʻ`´·\u00ad")
# Scripts written without spaces between words (and Hangul, whose particles cling to the word).
_NO_SPACES: Final = re.compile(
    "[\u0e00-\u0eff\u1000-\u109f\u1100-\u11ff\u1780-\u17ff\u3040-\u30ff\u3130-\u318f\u3400-\u4dbf\u4e00-\u9fff"
    "\uac00-\ud7af\uf900-\ufaff\U00020000-\U0003ffff]"
)
# Of these, alphabets: a word of Thai, Lao, Burmese or Khmer has several letters.
_LETTERS: Final = re.compile("[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff]")
_KANA: Final = re.compile("[\u3040-\u30ff\u3099 ]+")
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
        result.append(_PLAIN.get(part) or simplified(part) if category[0] in "LMN" else " ")
    return "".join(result)


class _Table(dict[int, str]):
    """For str.translate: each character is folded once."""

    def __missing__(self, code: int) -> str:
        self[code] = folded = _fold_character(chr(code))
        return folded


_TABLE: Final = _Table()


def fold(text: str) -> str:
    """NFKC, case and accents folded, punctuation as spaces, spaces collapsed; Chinese characters simplified, katakana
    as hiragana. Equal texts read the same.
    """
    return " ".join(text.translate(_TABLE).split())


def character_count(folded: str) -> int:
    """Number of characters a reader counts in folded text, spaces left out."""
    return len(unicodedata.normalize("NFC", folded.replace(" ", "")))


def written_without_spaces(text: str) -> bool:
    """Whether the text is of a script in which word boundaries cannot be seen."""
    return _NO_SPACES.search(text) is not None


def word_count(text: str) -> int:
    """Words of a text. Where a script has no spaces, two characters count as a word, and of Thai, Lao, Burmese and
    Khmer four letters, marks aside. Punctuation alone counts not.
    """
    spaced = "".join(" " if written_without_spaces(character) else character for character in text)
    letters = sum(unicodedata.category(character)[0] == "L" for character in _LETTERS.findall(text))
    packed = len(_NO_SPACES.findall(text)) - len(_LETTERS.findall(text))
    return sum(any(map(str.isalnum, word)) for word in spaced.split()) + -(-packed // 2) + -(-letters // 4)


def naming_length(folded: str) -> int:
    """Fewest characters with which a folded text of its script names something."""
    if _LETTERS.search(folded) or not written_without_spaces(folded):
        return 4
    return 3 if _KANA.fullmatch(folded) else 2


def numbers_in(folded: str) -> set[str]:
    """The numbers of a folded text, in digits or in Chinese characters."""
    return set(_NUMBER.findall(folded))


def likeness(one: str, two: str, least: int) -> int:
    """Percent to which two folded texts are alike, 0 for less than `least`: characters in their order, or words in any
    order, or, in scripts without spaces, pairs of characters in any order.
    """
    from rapidfuzz import fuzz
    from rapidfuzz.distance import Indel

    best = max(fuzz.ratio(one, two, score_cutoff=least), fuzz.token_sort_ratio(one, two, score_cutoff=least))
    if written_without_spaces(one) and written_without_spaces(two):
        sides = (text.replace(" ", "") for text in (one, two))
        pairs = [sorted(map("".join, pairwise(side))) for side in sides]
        best = max(best, 100 * Indel.normalized_similarity(*pairs, score_cutoff=least / 100))
    return int(best)


def lengths_alike(length: int, least: int) -> tuple[int, int]:
    """Fewest and most characters of a folded text that can be `least` percent like one of so many."""
    share = max(least, 1) / 100
    return int(length * share / (2 - share)) - 2, int(length * (2 - share) / share) + 2


def nearly_same(text: str, others: Sequence[str], least: int, limit: int) -> list[tuple[int, int]]:
    """(position, percent) of the folded texts that are nearly `text`, the likest first, `limit` at most.

    Characters in their order, or, in scripts without spaces, `likeness`. An empty text is like nothing.
    """
    from rapidfuzz import fuzz, process

    if not text:
        return []
    # Texts with the same pairs of characters in another order have half of the characters in the same one.
    packed = written_without_spaces(text)
    cutoff, most = (least // 2, 50 * limit) if packed else (least, limit)
    found = process.extract(text, others, scorer=fuzz.ratio, score_cutoff=cutoff, limit=most)
    if not packed:
        return [(position, int(percent)) for _, percent, position in found]
    exact = ((position, likeness(text, others[position], least)) for _, _, position in found)
    return sorted((pair for pair in exact if pair[1]), key=lambda pair: -pair[1])[:limit]


def is_common(folded: str) -> bool:
    """Whether folded text consists of common words alone."""
    return _COMMON.issuperset(folded.split())


_ENDINGS: Final = frozenset(["s", "es", "n", "an", "ian", "ans", "ians", "ese", "ish", "ic", "i", "er", "ers"])
_NUMBER: Final = re.compile(r"\d+|[〇零一二三四五六七八九十百千万亿]+")


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

    Values of under 3 characters and of common words alone count only as typed. Nearly needs 5 characters, letters among
    them, and the numbers of the value; it is never a part of a longer word (Paris in comparison), but for usual endings
    (Egypt in Egyptian). In scripts without spaces 2 characters are enough (3 kana, 4 letters of Thai and its kin), and
    nearly needs 4 (6), and the first and the last one as they are: 北京大学 is not nearly 南京大学.
    """
    folded = fold(value)
    length = character_count(folded)
    if written_without_spaces(folded):
        least = naming_length(folded)
        if length < least:
            return None
        match = find_whole(value, within)
        return match or (_find_nearly_packed(folded, within, over_percent) if length >= max(4, least + 2) else None)
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
            and numbers_in(folded) <= numbers_in(words)
            # Every word has its like: "a suspension bridge" is not nearly "Menai Suspension Bridge".
            and all(len(word) < 4 or fuzz.partial_ratio(word, words) >= 75 for word in folded.split())
        )
    how = "within" if found.score == 100 else "nearly"
    return Match((within.span(first, last),), how, int(found.score)) if alike else None


def _find_nearly_packed(folded: str, within: Folded, over_percent: int) -> Match | None:
    """Nearly, in a script without spaces: the likest stretch with the same ends, whatever parts or joins it."""
    from rapidfuzz import fuzz

    value = folded.replace(" ", "")
    at = [place for place, character in enumerate(within.text) if character != " "]
    text = "".join(within.text[place] for place in at)
    slack = int(2 * len(value) * (100 / over_percent - 1)) if over_percent else len(value)
    best, found = float(over_percent), None
    for start in (place for place, character in enumerate(text) if character == value[0]):
        for end in range(start + max(len(value) - slack, 2), min(start + len(value) + slack, len(text)) + 1):
            stretch = text[start:end]
            if stretch[-1] == value[-1] and numbers_in(stretch) == numbers_in(value):
                percent = fuzz.ratio(value, stretch, score_cutoff=best)
                if percent > best:
                    best, found = percent, (start, end)
    if found is None:
        return None
    span = within.span(at[found[0]], at[found[1] - 1] + 1)
    return Match((span,), "folded" if best == 100 else "nearly", int(best))
