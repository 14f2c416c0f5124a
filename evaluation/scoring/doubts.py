"""Credited steps that a person should look at: no quote found, or nothing of what the step names in the response.

PURE: imports no Django. A doubt is a flag; it never changes a mark.
"""

import re
import unicodedata
from collections.abc import Iterator, Sequence
from typing import Final

from annotation.document import Document
from annotation.folding import fold
from evaluation.prompts import defang, demands_quotes

from .judge_output import outside_thinking

FLAGS: Final = ("quote_not_found", "distinctive_absent")


def doubtful_steps(
    template: str, output: str, vector: Sequence[int], document: Document, response: str
) -> dict[str, list[int]]:
    """Flag -> numbers (from 1) of the credited steps it is about; flags about none are left out.

    template: the text of the judge's prompt; quotes are looked for only where it demands them. response: as the judge
    was shown it, before it was defanged.
    """
    conclusions = [step.conclusion for step in document.checklist]
    found = {
        "quote_not_found": unquoted_steps(output, vector, response) if demands_quotes(template) else [],
        "distinctive_absent": absent_steps(conclusions, vector, document.question, response),
    }
    return {flag: steps for flag, steps in found.items() if steps}


# --- quotes -------------------------------------------------------------------------------------------------------

# Marks before the word are those of Markdown lists, quotations and emphasis.
_QUOTE_LINE = re.compile(r"^[ \t>*_`#•+-]*QUOTE[ _]{0,3}(\d{1,4})[ \t*_`]*:(.*)$", re.IGNORECASE | re.MULTILINE)
_AROUND = " \t*_`\"'“”„«»‘’「」『』"
_TYPED = (
    dict.fromkeys(map(ord, "“”„«»″"), '"')
    | dict.fromkeys(map(ord, "‘’‚′"), "'")
    | dict.fromkeys(map(ord, "*`⟦⟧\u00ad\u200b\u2060\ufeff"), None)
)


def read_quotes(output: str) -> dict[int, list[str]]:
    """Step number -> the quotes given for it, out of lines `QUOTE 3: "…"` outside think blocks."""
    quotes: dict[int, list[str]] = {}
    for line in _QUOTE_LINE.finditer(outside_thinking(output) or ""):
        quotes.setdefault(int(line[1]), []).append(output[line.start(2) : line.end(2)].strip(_AROUND))
    return quotes


def unquoted_steps(output: str, vector: Sequence[int], response: str) -> list[int]:
    """Numbers of the credited steps none of whose quotes stands in the response.

    Compared with white space collapsed, typographic quotation marks and Markdown emphasis folded, and what was taken
    apart for the judge (`defang`) mapped back; letter for letter otherwise. A quote of fewer than two letters or
    digits finds nothing.
    """
    text, quotes = _as_typed(response), read_quotes(output)

    def is_found(quote: str) -> bool:
        return sum(map(str.isalnum, quote)) > 1 and _as_typed(quote) in text

    return [n for n, mark in enumerate(vector, 1) if mark and not any(map(is_found, quotes.get(n, ())))]


def _as_typed(text: str) -> str:
    whole = defang(text.replace("⟦", "").replace("⟧", ""))
    return " ".join(unicodedata.normalize("NFC", whole.translate(_TYPED)).split())


# --- distinctive terms --------------------------------------------------------------------------------------------

_WORD = re.compile(r"[^\W_]+(?:['’][^\W_]+)*")
_GROUPED = re.compile(r"(?<=\d)[,.'’\u00a0\u2009\u202f](?=\d{3}(?!\d))")  # 12,500 and 12.500 are 12500
_HAN = re.compile(r"[\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff\u30a1-\u30faー]+")
_TITLES = re.compile(r"[“\"«《〈「『]([^“”\"«»《》〈〉「」『』\n]{2,80})[”\"»》〉」』]")
_END = re.compile(r"[.!?:;。！？：；]")


def absent_steps(conclusions: Sequence[str], vector: Sequence[int], question: str, response: str) -> list[int]:
    """Numbers of the credited steps that have distinctive terms, none of which occurs in the response."""
    said = set(_tokens(response))
    asked = set(_tokens(question))
    steps = []
    for number, (conclusion, mark) in enumerate(zip(conclusions, vector, strict=True), 1):
        if mark:
            terms = _terms(conclusion, asked)
            if terms and said.isdisjoint(terms):
                steps.append(number)
    return steps


def distinctive_terms(conclusion: str, question: str) -> list[str]:
    """What a conclusion names that its question does not: names, numbers and dates, folded, in order of occurrence.

    - a number of two digits or more, without the marks between its thousands;
    - a word with a capital letter: inside a sentence, or at its beginning where it has another capital or a digit in
      it or where a capitalised word or a number follows; of words of four letters or more between quotation marks
      all; one letter is no name;
    - of Chinese characters and katakana, every two neighbours: such text has neither capitals nor spaces.

    A conclusion may have none; nothing can be said of it then.
    """
    return list(dict.fromkeys(_terms(conclusion, set(_tokens(question)))))


def _terms(conclusion: str, asked: set[str]) -> list[str]:
    text = _apart(conclusion)
    words = list(_WORD.finditer(text))
    quoted = [match.span(1) for match in _TITLES.finditer(text)]
    found: list[str] = []
    for at, word in enumerate(words):
        following = words[at + 1][0] if at + 1 < len(words) else ""
        first = at == 0 or bool(_END.search(text, words[at - 1].end(), word.start()))
        if _is_name(word[0], following if first else None) or (
            len(word[0]) > 3 and any(start <= word.start() < end for start, end in quoted)
        ):
            found += _tokens(word[0])
    for run in _HAN.finditer(text):
        found += _pairs(run[0])
    return [term for term in found if term not in asked]


def _is_name(word: str, following: str | None) -> bool:
    """following: the next word where this one begins a sentence, else None."""
    if not word.isalpha() and any(map(str.isdigit, word)):
        return sum(map(str.isdigit, word)) > 1 or len(word) > 2
    if not word[0].isupper() or len(word) < 2:
        return False
    if following is None or any(map(str.isupper, word[1:])):
        return True
    return word.casefold() not in _OPENERS and (following[:1].isupper() or following[:1].isdigit())


# Words that begin a sentence before a name and are none.
_OPENERS: Final = frozenset(
    "a an the this that these those his her its their our in on at by of for from to with after before since until"
    " under over as when while where if and but or it he she they we both only all some no one two three".split()
)


def _tokens(text: str) -> Iterator[str]:
    """Folded words, without a possessive; of Chinese characters and katakana the pairs of neighbours."""
    text = _apart(text)
    for word in _WORD.findall(text):
        word = word.removesuffix("'s").removesuffix("’s")
        yield word.lower() if word.isascii() else fold(word)
    for run in _HAN.finditer(text):
        yield from _pairs(run[0])


def _apart(text: str) -> str:
    """Numbers in one piece, and characters that are written without spaces apart from words and numbers."""
    return _HAN.sub(r" \g<0> ", _GROUPED.sub("", text))


def _pairs(run: str) -> Iterator[str]:
    folded = fold(run)
    return (folded[at : at + 2] for at in range(len(folded) - 1))
