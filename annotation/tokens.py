"""What full-text search cuts texts and questions into. PURE: imports no Django."""

import re
from collections.abc import Sequence
from dataclasses import dataclass

from .folding import fold

_QUOTES = str.maketrans(dict.fromkeys("“”„«»「」『』＂", '"'))
_ASKED = re.compile(r'(-?)(?:"([^"]*)"?|([^\s"]+))')
_WORD = re.compile(r"\S+")
# Scripts that write no spaces between words.
_UNSPACED = (
    "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff"  # Thai, Lao, Burmese, Khmer
    "\u3005\u3007\u3040-\u30ff\u31f0-\u31ff"  # Kana
    "\u1100-\u11ff\u3130-\u318f\uac00-\ud7af"  # Hangul
    "\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff"  # Han
)
_RUN = re.compile(rf"([{_UNSPACED}]+)|[^\W_{_UNSPACED}]+")
LONGEST_TOKEN = 40  # characters


@dataclass(frozen=True, slots=True)
class Phrase:
    """Tokens that must follow each other; `open_end`: the last may go on (br… finds bridge)."""

    tokens: tuple[str, ...]
    open_end: bool
    without: bool = False  # what must not occur


def tokens(folded: str) -> list[str]:
    """What a search can find of a folded text, in order; "" has none.

    A word is one token, cut at 40 characters. In scripts without spaces each character begins one: it and the next,
    or it alone at the end of a run (武汉桥 is 武汉, 汉桥, 桥). So a text contains a run exactly if the tokens of the
    run follow each other in it, the last one as the beginning of one.
    """
    found = []
    for match in _RUN.finditer(folded):
        run = match.group()
        if match.group(1):
            found += [run[n : n + 2] for n in range(len(run))]
        else:
            found.append(run[:LONGEST_TOKEN])
    return found


def phrases(query: str) -> list[Phrase]:
    """What a search asks for: words, all of them; "quoted phrases"; and -words that must not occur.

    A word with signs in it (example.org/a) is a phrase. What has no letter or digit asks for nothing.
    """
    result = []
    for match in _ASKED.finditer(query.translate(_QUOTES)):
        minus, quoted, word = match.groups()
        found = tokens(fold(word if quoted is None else quoted))
        if not found:
            continue
        ends_unspaced = bool(re.fullmatch(f"[{_UNSPACED}]+", found[-1]))
        open_end = quoted is None or ends_unspaced
        if ends_unspaced and len(found) > 1 and found[-2][1:] == found[-1]:  # the pair before it says all
            del found[-1]
            open_end = False
        result.append(Phrase(tuple(found), open_end, without=bool(minus)))
    return result


def matches_in(text: str, wanted: Sequence[Phrase]) -> list[tuple[int, int]]:
    """Spans of `text` that a search found: words that begin with a token, runs that hold a character pair.

    Sorted, not overlapping. Marks for the eye: words are marked one by one, also where a phrase was asked for.
    """
    spans: list[tuple[int, int]] = []
    asked = [p for p in wanted if not p.without]
    begun = tuple({p.tokens[-1] for p in asked if p.open_end})
    whole = {token for p in asked for token in p.tokens[: len(p.tokens) - p.open_end]}
    for match in _WORD.finditer(text):
        word, at = match.group(), match.start()
        for run in _RUN.finditer(word):
            if not run.group(1):
                token = fold(run.group())[:LONGEST_TOKEN]
                if token in whole or token.startswith(begun):
                    spans.append((at + run.start(), at + run.end()))
                continue
            for n, character in enumerate(run.group()):
                pair = fold(run.group()[n : n + 2])
                place = at + run.start() + n
                if pair in whole:
                    spans.append((place, place + len(run.group()[n : n + 2])))
                elif fold(character) in begun:
                    spans.append((place, place + 1))
    return _merged(spans)


def _merged(spans: list[tuple[int, int]]) -> list[tuple[int, int]]:
    merged: list[tuple[int, int]] = []
    for start, end in sorted(spans):
        if merged and start <= merged[-1][1]:
            merged[-1] = (merged[-1][0], max(end, merged[-1][1]))
        else:
            merged.append((start, end))
    return merged
