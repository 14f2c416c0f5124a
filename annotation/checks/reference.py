"""Writes `docs/checks.md` from the registry: `python -m annotation.checks.reference > docs/checks.md`.

PURE: imports no Django.
"""

import sys
from collections.abc import Iterator
from dataclasses import fields

from annotation.checks import LEVELS, Thresholds, registry

_HEAD = """\
# Quality checks

<!-- Written by `python -m annotation.checks.reference > docs/checks.md`. Edit the checks; a test compares. -->

Checks read one item and say what an auditor would object to, beside the field it concerns. They run after each save
and never change anything. An error blocks submission and locking; a warning can be dismissed with a reason, and the
dismissal lapses when what it was about changes; information only informs.

The benchmark's preset decides the levels. In `sandbox` only what leaves no item at all is an error: something empty, a
cycle, a link that dangles; a benchmark made with it asks for 1 step and 1 node.

Texts are compared as readers take them: case, accents, width, quotation marks and dashes aside; traditional Chinese and
Japanese characters meet the simplified ones (國 and 国, 桜 and 樱), katakana meets hiragana. Where a script has no
spaces, characters are compared instead of words: 2 of them can leak (3 kana, 4 letters of Thai), and two texts are also
alike when they have the same pairs of characters in another order. Years in Chinese numerals are numbers. These
figures decide:
"""

_FIGURES = {
    "min_steps": "fewest steps of a checklist",
    "min_nodes": "fewest nodes of the hidden graph",
    "max_answer_words": "most words of a short answer; two characters of Chinese, Japanese or Korean count as one",
    "wikipedia_percent": "largest share of Wikipedia among the sources, in percent",
    "leak_percent": "likeness over which words of the question are path leakage, in percent",
    "near_duplicate_percent": "likeness from which on steps or questions are near-duplicates, in percent",
}


_TAIL = """
## Adding a check

Write a subclass of `Check` in the module of `annotation/checks/` that fits, with `@register` on it: its words, its
level, its section and a `run(context)` that yields `self.finding(context, anchor, template, **figures)`. `about`
names the fields whose change lets a dismissal lapse. Rules of graphs belong in `annotation/graph.py`, ways to
compare text in `annotation/checks/text.py`. Add a row to `tests/annotation/test_checks_parts.py` with what triggers
it and what only looks like it, and write this page anew. Spans count characters (code points) of the question as it
was typed."""


def page() -> str:
    """The page as Markdown."""
    return "\n".join(_lines()) + "\n"


def _lines() -> Iterator[str]:
    yield _HEAD
    yield from ("| figure | what it is | default |", "| --- | --- | --- |")
    for field in fields(Thresholds):
        yield f"| `{field.name}` | {_FIGURES[field.name]} | {field.default} |"
    for level in LEVELS:
        yield f"\n## Under `paper`: {level}"
        for check in registry().values():
            if check.level == level:
                yield f"\n### {check.title}\n"
                yield f"`{check.code}`, in `sandbox`: {check.level_under('sandbox')}. {check.why}\n"
                yield f"How to mend: {check.how_to_mend}"
    yield _TAIL


if __name__ == "__main__":
    sys.stdout.write(page())
