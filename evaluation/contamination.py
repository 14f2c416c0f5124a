"""Signs in a response that its system has seen the data set, and not only the question. PURE: imports no Django.

| flag | the response |
| --- | --- |
| `canary` | holds the benchmark's canary string, or its random part: in text, reasoning or citations |
| `dataset_host` | cites an address where the data set is published |
| `benchmark_named` | holds the benchmark's name where the question does not |
| `key_text` | holds, word for word, 13 words (20 characters in Chinese) of what the item hides |

That a response repeats its question, also at length, is no sign: systems restate what they are asked, and pages that
were found through it bear its words in title and text.
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Final

from annotation.document import Document
from annotation.folding import fold

FLAGS: Final = ("canary", "dataset_host", "benchmark_named", "key_text")
WORDS: Final = 13
CHARACTERS: Final = 20

_URL = re.compile(r"https?://[^\s<>\"'\]）」]+", re.IGNORECASE)
_WORD = re.compile(r"[^\W_]+")
# Scripts without spaces, as they are after folding (katakana is hiragana by then).
_DENSE = re.compile(r"[\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff]+")


def contamination_flags(
    text: str,
    thinking: str,
    citations: Sequence[dict[str, Any]],
    document: Document,
    *,
    canaries: Iterable[str],
    addresses: Iterable[str],
    name: str,
) -> list[str]:
    """Which of FLAGS a response bears, in their order.

    canaries: of the benchmark and of the release.  addresses: where the data set is published, with or without a
    scheme; one with a path covers what is under it.  name: of the benchmark.
    """
    urls = [*(str(cited.get("url", "")) for cited in citations), *_URL.findall(text)]
    cited = "\n".join(f"{c.get('title') or ''}\n{c.get('url', '')}" for c in citations)
    found = {
        "canary": holds_canary(f"{text}\n{thinking}\n{cited}", canaries),
        "dataset_host": any(is_under(url, address) for address in addresses for url in urls),
        "benchmark_named": names_benchmark(f"{text}\n{cited}", name, document.question),
        "key_text": quotes_key(text, document),
    }
    return [flag for flag in FLAGS if found[flag]]


def holds_canary(text: str, canaries: Iterable[str]) -> bool:
    """Whether a canary, or its last part of 16 characters or more (`…:<random>`), stands in the text, in any case."""
    folded = text.casefold()
    parts = {part for canary in canaries for part in (canary, canary.rpartition(":")[2])}
    return any(len(part) >= 16 and part.casefold() in folded for part in parts)


def is_under(url: str, address: str) -> bool:
    """Whether a URL leads to an address: the same host or one below it, and the same path or one below it."""
    host, path = _split(url)
    wanted, below = _split(address)
    if not wanted or not (host == wanted or host.endswith("." + wanted)):
        return False
    return path == below or path.startswith(below.rstrip("/") + "/") or not below.strip("/")


def _split(url: str) -> tuple[str, str]:
    """Host without `www.` and port, and path, in lower case."""
    rest = re.sub(r"^\w+://", "", url.strip().casefold())
    host, _slash, path = re.split(r"[?#]", rest, maxsplit=1)[0].partition("/")
    return host.rpartition("@")[2].partition(":")[0].removeprefix("www."), path.rstrip("/.,;)")


def names_benchmark(text: str, name: str, question: str) -> bool:
    """Whether the benchmark's name stands in the text and not in the question.

    Folded and at word boundaries where the name has two words or more, or four Chinese characters; as it is written
    where it is one word with a digit or a capital after its first letter. Any other word is too common to tell.
    """
    folded = fold(name)
    if _DENSE.search(folded):
        return len(folded) >= 4 and folded in fold(text) and folded not in fold(question)
    if len(folded.split()) > 1:
        wanted = re.compile(rf"(?<![^\W_]){re.escape(folded)}(?![^\W_])")
        return bool(wanted.search(fold(text))) and not wanted.search(fold(question))
    telling = any(c.isdigit() or c.isupper() for c in name.strip()[1:])
    exact = re.compile(rf"(?<![^\W_]){re.escape(name.strip())}(?![^\W_])")
    return telling and bool(exact.search(text)) and not exact.search(question)


def quotes_key(text: str, document: Document) -> bool:
    """Whether the response holds a long stretch of a hidden text of the item, word for word: of a conclusion, why it
    is needed, or what rules a rival out. Stretches that also stand in the question do not count."""
    hidden = [part for step in document.checklist for part in (step.conclusion, step.why_needed)]
    hidden += [rival.excluded_by for rival in document.rivals]
    asked = set(_stretches(document.question))
    key = {stretch for part in hidden for stretch in _stretches(part)} - asked
    return bool(key) and any(stretch in key for stretch in _stretches(text))


def _stretches(text: str) -> Iterator[str]:
    """Every 13 words in a row, folded, and every 20 characters in a row of scripts without spaces."""
    folded = fold(text)
    words = _WORD.findall(_DENSE.sub(" ", folded))
    yield from (" ".join(words[at : at + WORDS]) for at in range(len(words) - WORDS + 1))
    # punctuation between characters is passed over, as it is between words
    dense = "".join(_DENSE.findall(folded))
    yield from (dense[at : at + CHARACTERS] for at in range(len(dense) - CHARACTERS + 1))
