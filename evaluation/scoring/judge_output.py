"""Reads a verdict out of what a judge printed: text -> Verdict | Unparseable. Never pads, cuts or repairs.

Pure: imports no Django. Every step is one pass over the text, so its time grows with the length and no faster.

How it works: think blocks are blanked and look-alike characters replaced one for one, so that positions stay true.
Each key (CHECKLIST_SCORE, CHECKLIST_RESULT, OVERALL_CORRECTNESS) owns the text up to the next key, and is a statement
when a value follows, or when it begins its line and a separator follows; otherwise prose mentions it. Statements are
grouped into blocks of different keys, and the last block is the verdict.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from enum import Enum

Span = tuple[int, int]


@dataclass(frozen=True, slots=True)
class Verdict:
    """What a judge said: whether the final answer is correct, and 0/1 for each step in checklist order.

    flags: `several` (more than one vector or more than one YES/NO was stated, the last block counts),
    `inconsistent` (the score line disagrees with the vector, which wins).
    spans: character ranges (start, end) in the judged text of what was read: the vector's, then the answer's.
    """

    answer_correct: bool
    vector: tuple[int, ...]
    flags: tuple[str, ...] = ()
    spans: tuple[Span, ...] = field(default=(), compare=False)


@dataclass(frozen=True, slots=True)
class Unparseable:
    """No verdict could be read; `reason` says why, in English, for people and logs."""

    reason: str


class _Key(Enum):
    SCORE = "CHECKLIST_SCORE"
    VECTOR = "CHECKLIST_RESULT"
    ANSWER = "OVERALL_CORRECTNESS"


@dataclass(frozen=True, slots=True)
class _Statement:
    key: _Key
    value: tuple[float, ...] | tuple[int, ...] | bool | None  # None: stated, but not readable
    span: Span
    leads: bool  # it begins its line, or follows another statement: not in the middle of a sentence
    problem: str = ""


_THINK = re.compile(
    r"<(/?)(?:\w{1,20}:)?(think|thinking|thought|thoughts|reasoning|reflection|scratchpad|analysis)\b[^<>\n]{0,200}>"
    r"|\[(/?)(think|thinking)\]|◁(/?)(think|thinking)▷",
    re.IGNORECASE,
)
_KEY = re.compile(
    r"(?<![^\W_])(?<!/)(?:CHECKLIST[ _-]{0,3}(?:(SCORE)|(RESULT))|OVERALL[ _-]{0,3}CORRECTNESS)(?![^\W_])",
    re.IGNORECASE,
)
# Between key and separator, and between separator and value: Markdown marks, quotes, fences, line ends.
_AFTER_KEY = re.compile(r"[ \t*_`\"'~)\]]*+(?:\([^()\n]{0,80}\)[ \t*_`\"']*+)?")
_SEPARATOR = re.compile(r"[:=|>→]|->|[-–—](?=\s)")
_BEFORE_VALUE = re.compile(r"(?:`{3,9}\w{0,20}\n|[-+](?=\s)|[\s*_`\"'>|#•])*+")

_TABLE_RULE = re.compile(r"[\s|:]*-[\s|:-]*")
_TABLE_WIDTH = 500

_BARE_VECTOR = re.compile(r"(?:\d|true\b|false\b)[^\n]*", re.IGNORECASE)
_ENTRY_SEPARATOR = re.compile(r"\s*[,;]\s*|\s+")
_FLAGS = {"0": 0, "1": 1, "false": 0, "true": 1}
_SCORE = re.compile(r"\[?(\d{1,9}(?:\.\d{1,9})?)\]?(?:\s*/\s*\[?(\d{1,9}(?:\.\d{1,9})?)\]?)?")
_ANSWER = re.compile(r"[\[({<]?[*_`\"' ]*(YES|NO)", re.IGNORECASE)
# What may follow YES or NO without making it unclear: the end, punctuation, or a reason.
_AFTER_ANSWER = re.compile(r"[*_`\"' \t\])}>]*(?:$|[^\w\s?]|(?:because|since|as)\b)", re.IGNORECASE)
_OTHER_THAN_NO = re.compile(r"\bYES\b", re.IGNORECASE)
# "YES: there are no errors" is a yes; "YES, or no", "YES/NO" and "YES, but no" are not.
_OTHER_THAN_YES = re.compile(r"\bN[Oo]\b|(?:[/|]|\bor\b)\s*no\b|\bno\b(?!\s+[a-z])")

# Replaced one for one: full-width forms, other line ends, odd spaces, invisible characters, Markdown escapes.
_SAME_LENGTH = (
    {code: code - 0xFEE0 for code in range(0xFF01, 0xFF5F)}
    | dict.fromkeys(map(ord, "\r\v\f\x85\u2028\u2029"), "\n")
    | dict.fromkeys(map(ord, "\\\u00a0\u3000\u200b\u200c\u200d\u2060\ufeff\u2002\u2003\u2009\u202f\u00ad"), " ")
    | dict.fromkeys(map(ord, "、،﹐"), ",")
    | dict.fromkeys(map(ord, "“”„«»"), '"')
    | dict.fromkeys(map(ord, "‘’"), "'")
    | {ord("【"): "[", ord("】"): "]", ord("〔"): "[", ord("〕"): "]", ord("﹕"): ":", ord("∶"): ":", ord("⁄"): "/"}
)


def parse_judge_output(text: str, steps: int) -> Verdict | Unparseable:
    """The verdict in a judge's output for a checklist of `steps` steps.

    Only text outside think blocks counts. A verdict is a 0/1 vector of exactly `steps` entries and a clear YES or NO
    of the same block; of several blocks the last wins. When the last block is incomplete or cannot be read, so is the
    output: an earlier block never takes its place. A score line is optional and only compared.
    Raises ValueError when steps < 1.
    """
    if steps < 1:
        raise ValueError("a checklist has at least one step")
    if not text.strip():
        return Unparseable("empty output")
    readable = outside_thinking(text)
    if readable is None:
        return Unparseable("unclosed think block")
    statements = list(_statements(readable))
    blocks = _blocks(statements)
    while len(blocks) > 1 and _repeats(blocks[-1], blocks[-2]):
        blocks.pop()
    return _verdict(blocks[-1] if blocks else {}, statements, steps)


def outside_thinking(text: str) -> str | None:
    """The text with think blocks blanked and look-alike characters replaced, of the same length; None when a think
    block is not closed."""
    return _without_thinking(text.translate(_SAME_LENGTH))


_PUBLISHED_VECTOR = re.compile(r"CHECKLIST_RESULT\W{0,9}?:\W{0,9}?\[([^][]*)\]", re.IGNORECASE)
_PUBLISHED_ANSWER = re.compile(r"OVERALL_CORRECTNESS\W{0,9}?:\W{0,9}?(YES|NO)\b", re.IGNORECASE)


def read_as_published(text: str) -> tuple[bool | None, tuple[int, ...] | None]:
    """Answer and vector as the paper's evaluator takes them: the first match of each key, each half by itself.

    None is a half that is not there. Thinking is not left out, and the vector may have any length: `apply_profile` pads
    or cuts it. Entries other than 1 and true are 0.
    """
    vector, answer = _PUBLISHED_VECTOR.search(text), _PUBLISHED_ANSWER.search(text)
    marks = re.findall(r"\w+", vector[1]) if vector else []
    return (
        answer[1].upper() == "YES" if answer else None,
        tuple(int(mark.lower() in ("1", "true")) for mark in marks) if vector else None,
    )


def _verdict(block: dict[_Key, _Statement], statements: list[_Statement], steps: int) -> Verdict | Unparseable:
    vector, answer, score = block.get(_Key.VECTOR), block.get(_Key.ANSWER), block.get(_Key.SCORE)
    if not block:
        return Unparseable(
            "no verdict: neither a vector (CHECKLIST_RESULT) nor YES or NO (OVERALL_CORRECTNESS) is stated"
        )
    if vector is None:
        if answer is None:
            return Unparseable("vector and verdict missing: the last block is cut off after CHECKLIST_SCORE")
        return Unparseable(answer.problem or "vector missing: the last verdict has no CHECKLIST_RESULT of its own")
    if not isinstance(vector.value, tuple):
        return Unparseable(vector.problem)
    if len(vector.value) != steps:
        return Unparseable(f"vector length {len(vector.value)}, expected {steps}")
    if answer is None:
        return Unparseable("verdict missing: the last block is cut off before OVERALL_CORRECTNESS")
    if not isinstance(answer.value, bool):
        return Unparseable(answer.problem)
    flags = tuple(int(flag) for flag in vector.value)
    found = []
    if any(sum(s.key is key and s.value is not None for s in statements) > 1 for key in (_Key.VECTOR, _Key.ANSWER)):
        found.append("several")
    if score and isinstance(score.value, tuple) and score.value not in ((sum(flags),), (sum(flags), steps)):
        found.append("inconsistent")
    return Verdict(answer.value, flags, tuple(found), (vector.span, answer.span))


def _without_thinking(text: str) -> str | None:
    """The text with think blocks blanked, or None when one is not closed.

    A closing tag without an opening one ends thinking that began before the text did.
    """
    opened: list[tuple[str, int]] = []
    blanks: list[Span] = []
    open_names: Counter[str] = Counter()
    for tag in _THINK.finditer(text):
        if tag[0].endswith("/>"):
            continue
        name = (tag[2] or tag[4] or tag[6]).lower()
        if not (tag[1] or tag[3] or tag[5]):
            opened.append((name, tag.start()))
            open_names[name] += 1
        elif not opened:
            blanks = [(0, tag.end())]
        elif open_names[name]:  # a closing tag that fits nothing is part of the thought
            closed = ""
            while closed != name:  # what was left open inside is closed with it
                closed, start = opened.pop()
                open_names[closed] -= 1
            if not opened:
                blanks.append((start, tag.end()))
    if opened:
        return None
    parts, end = [], 0
    for start, stop in blanks:
        parts += [text[end:start], " " * (stop - start)]
        end = stop
    return "".join([*parts, text[end:]])


def _statements(text: str) -> Iterator[_Statement]:
    keys = list(_KEY.finditer(text))
    stops = [key.start() for key in keys[1:]] + [len(text)]
    value_end = 0
    for match, stop in zip(keys, stops, strict=False):  # without keys one stop is left over
        line = max(text.rfind("\n", value_end, match.start()) + 1, value_end)
        leads = not any(map(str.isalpha, text[line : match.start()]))
        statement = _read(text, match, stop, leads)
        value_end = match.end()
        if statement:
            value_end = statement.span[1]
            yield statement


def _read(text: str, match: re.Match[str], stop: int, leads: bool) -> _Statement | None:
    """The statement that a key begins, or None when the key is only mentioned."""
    key = _Key.SCORE if match[1] else _Key.VECTOR if match[2] else _Key.ANSWER
    after = _at(_AFTER_KEY, text, match.end(), stop)
    separator = _SEPARATOR.match(text, after, stop)
    start = _at(_BEFORE_VALUE, text, separator.end() if separator else after, stop)
    cell = _cell_below(text, match)
    if cell:
        start, stop = _at(_BEFORE_VALUE, text, *cell), cell[1]
    # the value of a quoted key (JSON) or of a table's cell ends where it says, not with the line
    quoted = text[max(match.start() - 1, 0) : match.start()] == text[match.end() : match.end() + 1] == '"'
    delimited = quoted or (separator is not None and separator[0] == "|")
    leads = leads or quoted
    line_end = text.find("\n", start, stop)
    line_end = stop if line_end < 0 else line_end

    value: tuple[float, ...] | tuple[int, ...] | bool | None
    if key is _Key.SCORE:
        score = _SCORE.match(text, start, stop)
        value = tuple(float(n) for n in score.groups() if n) if score else None
        end, problem = score.end() if score else start, "score"
    elif key is _Key.VECTOR:
        value, end, problem = _read_vector(text, start, stop, line_end, alone=delimited)
    else:
        value, end, problem = _read_answer(text, start, line_end, alone=delimited)
    if value is None and not (leads and separator) and not problem.startswith("vector cut off"):
        return None
    return _Statement(key, value, cell or (match.start(), max(end, match.end())), leads, problem)


def _cell_below(text: str, match: re.Match[str]) -> Span | None:
    """Where the value stands when the keys head the columns of a table with one row."""
    if not text[match.end() : match.end() + 20].lstrip(" \t*_`").startswith("|"):
        return None
    begin = text.rfind("\n", max(match.start() - _TABLE_WIDTH, 0), match.start()) + 1
    header, rule, row, *below = [*text[begin : begin + 4 * _TABLE_WIDTH].split("\n", 4), "", ""][:4]
    if len(_KEY.findall(header)) < 2 or not _TABLE_RULE.fullmatch(rule) or "|" in "".join(below):
        return None
    start = begin + len(header) + len(rule) + 2
    borders = [start - 1, *(start + i for i, c in enumerate(row) if c == "|"), start + len(row)]
    column = text.count("|", begin, match.start())
    return (borders[column] + 1, borders[column + 1]) if column + 1 < len(borders) else None


def _read_vector(
    text: str, start: int, stop: int, line_end: int, *, alone: bool
) -> tuple[tuple[int, ...] | None, int, str]:
    if start >= stop:
        return None, start, "vector missing after CHECKLIST_RESULT"
    if text[start] != "[":
        bare = _BARE_VECTOR.match(text, start, line_end)
        if not bare:
            return None, start, "vector missing after CHECKLIST_RESULT"
        content, end = bare[0].rstrip(" \t|}`*\"'."), bare.end()
        value, problem = _entries(content)
        return value, end, problem
    close = text.find("]", start, stop)
    if close < 0:
        first = _ENTRY_SEPARATOR.split(text[start + 1 : min(stop, start + 40)].strip(), maxsplit=1)[0]
        cut = first.strip("*_`\"'").lower() in _FLAGS or not first
        return None, start, "vector cut off: its bracket is not closed" if cut else "vector bracket is not closed"
    value, problem = _entries(text[start + 1 : close])
    if value is not None and not alone:
        for other in re.findall(r"\[([^\[\]]*)\]", text[close + 1 : line_end]):
            rival = _entries(other)[0]
            if rival and rival != value and (len(rival) > 1 or len(value) == 1):
                return None, close + 1, "vector stated twice, differently, on one line"
    return value, close + 1, problem


def _entries(content: str) -> tuple[tuple[int, ...] | None, str]:
    """The flags of a list like `1, 0 true`; a single trailing comma is allowed, an empty entry is not."""
    content = content.strip()
    if content[-1:] in (",", ";"):
        content = content[:-1].rstrip()
    flags = []
    for entry in _ENTRY_SEPARATOR.split(content):
        flag = _FLAGS.get(entry.strip("*_`\"'").lower())
        if flag is None:
            shown = entry if len(entry) <= 20 else entry[:20] + "…"
            return None, f"vector value {shown!r}, expected 0 or 1"
        flags.append(flag)
    return tuple(flags), ""


def _read_answer(text: str, start: int, line_end: int, *, alone: bool) -> tuple[bool | None, int, str]:
    word = _ANSWER.match(text, start, line_end)
    if not word:
        return None, line_end, "verdict is not a clear YES or NO"
    said_yes = word[1].upper() == "YES"
    rest = text[word.end() : line_end]
    if alone:  # the value ends at its quote or at the border of its cell
        rest = re.split(r"[\"'|]", rest, maxsplit=1)[0]
    other = _OTHER_THAN_YES if said_yes else _OTHER_THAN_NO
    if other.search(rest) or not _AFTER_ANSWER.match(rest):
        return None, line_end, "verdict is not a clear YES or NO"
    return said_yes, word.end(), ""


def _blocks(statements: list[_Statement]) -> list[dict[_Key, _Statement]]:
    """Statements grouped in order: a block ends where a key comes again, or a score after a complete block.

    A score at the very end belongs to the block before it when that has none.
    """
    blocks: list[dict[_Key, _Statement]] = []
    for statement in statements:
        current = blocks[-1] if blocks else None
        complete = current is not None and _Key.VECTOR in current and _Key.ANSWER in current
        if current is None or statement.key in current or (statement.key is _Key.SCORE and complete):
            blocks.append({statement.key: statement})
        else:
            current[statement.key] = statement
    if len(blocks) > 1 and set(blocks[-1]) == {_Key.SCORE} and _Key.SCORE not in blocks[-2]:
        score = blocks.pop()
        blocks[-1] |= score
    return blocks


def _repeats(last: dict[_Key, _Statement], block: dict[_Key, _Statement]) -> bool:
    """Whether `last` only says again what the complete `block` before it says, and is no block that was cut off."""
    if set(last) >= {_Key.VECTOR, _Key.ANSWER} or not set(block) >= {_Key.VECTOR, _Key.ANSWER}:
        return False
    answer_last = block[_Key.VECTOR].span < block[_Key.ANSWER].span
    for key, statement in last.items():
        same = key is _Key.SCORE or (statement.value is not None and statement.value == block[key].value)
        if not same or (statement.leads and not (key is _Key.ANSWER and answer_last)):
            return False
    return True


def _at(pattern: re.Pattern[str], text: str, start: int, stop: int) -> int:
    match = pattern.match(text, start, stop)
    return match.end() if match else start
