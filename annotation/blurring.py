"""Coarser renderings of what a question says exactly: numbers, dates, places. By rule, for a person to accept or not.

PURE: imports no Django, only `annotation.document`. English and Chinese have words; other languages get signs and
ranges.
"""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from annotation.document import Document

MOST: Final = 4  # renderings of one span


@dataclass(frozen=True, slots=True)
class Rendering:
    text: str
    holds_answer: bool  # the answer, or an alias of it, still stands in it


@dataclass(frozen=True, slots=True)
class Blur:
    """A span of the question (offsets in characters) with one to four coarser renderings, the finest first."""

    start: int
    end: int
    text: str
    renderings: tuple[Rendering, ...]


@dataclass(frozen=True, slots=True)
class Name:
    """What a name of the hidden graph stands for, and where that is ("" where no property says it)."""

    kind: str
    where: str = ""


_MONTHS: Final = "january february march april may june july august september october november december".split()
_MONTH = (
    r"(?P<month>jan(?:uary)?|feb(?:ruary)?|mar(?:ch)?|apr(?:il)?|may|june?|july?|aug(?:ust)?|sept?(?:ember)?"
    r"|oct(?:ober)?|nov(?:ember)?|dec(?:ember)?)\.?"
)
_DAY = r"(?P<day>[0-9]{1,2})(?:st|nd|rd|th)?"
_YEAR = r"(?P<year>1[0-9]{3}|20[0-9]{2})"
_BEFORE, _AFTER = r"(?<![0-9A-Za-z_])(?<![0-9][.,])", r"(?![0-9A-Za-z_])(?![.,][0-9])"
_HAN_DIGITS: Final = {c: n for n, c in enumerate("零一二三四五六七八九")} | {"〇": 0, "两": 2}
_HAN_UNITS: Final = {"十": 10, "百": 100, "千": 1000}
_HAN = r"[零〇一二两三四五六七八九十百千万]"
_WHERE: Final = (
    "city", "town", "county", "province", "state", "region", "country", "continent", "location", "located in",
    "城市", "省", "省份", "州", "地区", "国家", "大洲", "位置", "所在地",
)  # fmt: skip
_KINDS_EN: Final = {
    "person": "a person", "organization": "an organization", "place": "a place", "work": "a work", "event": "an event",
    "artifact": "an object", "concept": "a concept",
}  # fmt: skip
_KINDS_ZH: Final = {
    "person": "某人", "organization": "某个机构", "place": "某个地方", "work": "某部作品", "event": "某个事件",
    "artifact": "某件物品", "concept": "某个概念",
}  # fmt: skip


def names_of(document: Document) -> dict[str, Name]:
    """Entity and aliases of each node -> its kind, and its country, region, … where a property says it."""
    names: dict[str, Name] = {}
    for node in document.nodes:
        said = {p.name.strip().casefold(): p.value.strip() for p in node.properties}
        where = next((said[name] for name in _WHERE if said.get(name)), "")
        for name in (node.entity, *node.aliases):
            if len(name.strip()) > 1:
                names.setdefault(name.strip(), Name(node.kind or "", where))
    return names


def blurs(
    text: str, language: str = "en", names: Mapping[str, Name] | None = None, answers: Sequence[str] = ()
) -> list[Blur]:
    """What of a text can be said coarser, in its order; spans do not overlap.

    names: see `names_of`. answers: the answer and its aliases. No rendering holds the digits of its span, nor the name.
    """
    words = _Words(language)
    found: list[Blur] = []
    for start, end, renderings in _spans(text, words, names or {}):
        span = text[start:end]
        if any(start < blur.end and blur.start < end for blur in found):
            continue
        digits = _digits(span)
        kept = [r for r in dict.fromkeys(renderings) if r and r != span and not (digits and digits in _digits(r))]
        if kept:
            known = [_plain(answer) for answer in answers if answer.strip()]
            shown = tuple(Rendering(r, any(_holds(_plain(r), answer) for answer in known)) for r in kept[:MOST])
            found.append(Blur(start, end, span, shown))
    return sorted(found, key=lambda blur: blur.start)


def _digits(text: str) -> str:
    return "".join(c for c in text if c in "0123456789")


def _plain(text: str) -> str:
    return " ".join(text.casefold().split())


def _holds(text: str, answer: str) -> bool:
    """Whether the answer stands in the text, not as a part of a longer word or number of the same script."""
    edge = r"[0-9A-Za-z_]"
    before = rf"(?<!{edge})" if re.match(edge, answer) else ""
    after = rf"(?!{edge})" if re.match(edge, answer[-1]) else ""
    return bool(re.search(before + re.escape(answer) + after, text))


Span = tuple[int, int, list[str]]


def _spans(text: str, words: "_Words", names: Mapping[str, Name]) -> Iterator[Span]:
    """Candidates, those that win where spans overlap first."""
    for name in sorted(names, key=len, reverse=True):
        for match in re.finditer(rf"(?<![A-Za-z0-9_]){re.escape(name)}(?![A-Za-z0-9_])", text):
            renderings = [r for r in words.name(names[name]) if name.casefold() not in r.casefold()]
            yield match.start(), match.end(), renderings
    for pattern, render in _PATTERNS:
        for match in pattern.finditer(text):
            yield match.start(), match.end(), render(match, words)


# --- numbers ------------------------------------------------------------------------------------------------------


def _step(value: float) -> int:
    """The power of ten of the first digit: 337 -> 100."""
    return 10 ** (len(str(int(value))) - 1)


def _number(match: re.Match[str], words: "_Words") -> list[str]:
    """337 -> more than 300, about 340, fewer than 400. Below 10 only whole numbers from 2 on, in words."""
    whole, part = match["whole"].replace(",", ""), match["part"] or ""
    sign, value = match["sign"] or "", float(whole + part)
    if value < 10 and not part:
        return words.few(int(value)) if not sign else []
    step = _step(value)
    over = (int(value) if part else int(value) - 1) // step * step
    under = (int(value) + step) // step * step
    if value < 20 and not part:
        over = min(over, 10)
    fine = step // 10 if step >= 100 else step
    near = int(value / fine + 0.5) * fine
    grouped = "," in match["whole"] or (value >= 10_000 and words.language == "en")

    def show(number: int) -> str:
        return sign + (f"{number:,}" if grouped else str(number))

    return words.amount(show(over) if over else "", show(near) if near != value else "", show(under), bool(part))


def _percent(match: re.Match[str], words: "_Words") -> list[str]:
    """48% -> nearly half, more than 40%, fewer than 50%."""
    value = float(match["whole"] + (match["part"] or ""))
    if not 0 < value < 100:
        return []
    below, above = (int(value - 0.001) // 10 * 10), (int(value) // 10 + 1) * 10
    return [*words.share(value), *words.amount(f"{below}%" if below else "", "", f"{above}%", True)]


def _ordinal(match: re.Match[str], words: "_Words") -> list[str]:
    """7th -> one of the first ten; 44th -> one of the first 50."""
    number = int(match["number"])
    if match["century"]:
        return ["the second millennium", "the modern era"] if 16 <= number <= 20 and words.language == "en" else []
    if words.language != "en" or number < 2:
        return []
    among = next((f"one of the first {word}" for limit, word in ((5, "five"), (10, "ten")) if number <= limit), "")
    return [among or f"one of the first {(number // _step(number) + 1) * _step(number)}"]


# --- times --------------------------------------------------------------------------------------------------------


def _date(match: re.Match[str], words: "_Words") -> list[str]:
    """12 March 1998 -> in March 1998, in spring 1998, in the late 1990s, in the 1990s."""
    parts = match.groupdict()
    year = int(parts["year"])
    month = parts.get("month") or ""
    number = int(month) if month.isdigit() else _month(month)
    if not 1 <= number <= 12:
        number = 0
    return words.date(year, number if parts.get("day") else 0, number)


def _month(name: str) -> int:
    return next((n for n, month in enumerate(_MONTHS, 1) if name and month.startswith(name.lower()[:3])), 0)


def _year(match: re.Match[str], words: "_Words") -> list[str]:
    """1887 -> the late 1880s, the 1880s, the last quarter of the 19th century, the 19th century."""
    return words.year(int(match["year"]))


def _decade(match: re.Match[str], words: "_Words") -> list[str]:
    """1990s -> the last quarter of the 20th century, the 20th century."""
    return words.century_part(int(match["year"]))


def _before_christ(match: re.Match[str], words: "_Words") -> list[str]:
    """44 BC -> the 1st century BC."""
    if words.language != "en" or not int(match["number"]):
        return []
    return [f"the {_nth((int(match['number']) - 1) // 100 + 1)} century {match['era']}"]


def _nth(number: int) -> str:
    ending = "th" if 10 <= number % 100 <= 20 else {1: "st", 2: "nd", 3: "rd"}.get(number % 10, "th")
    return f"{number}{ending}"


# --- Chinese numerals ---------------------------------------------------------------------------------------------


def read_han(text: str) -> int | None:
    """The number that Chinese numerals write: 三百三十七 -> 337, 一九九八 -> 1998, 十二 -> 12; None for none."""
    if not text or any(c not in _HAN_DIGITS and c not in _HAN_UNITS and c != "万" for c in text):
        return None
    if all(c in _HAN_DIGITS for c in text):
        return int("".join(str(_HAN_DIGITS[c]) for c in text[:15]))
    total = part = digit = 0
    for c in text:
        if c == "万":
            total, part, digit = (total + part + digit) * 10_000 or 10_000, 0, 0
        elif c in _HAN_UNITS:
            part += (digit or 1) * _HAN_UNITS[c]
            digit = 0
        else:
            digit = _HAN_DIGITS[c]
    return total + part + digit


def _han_number(match: re.Match[str], words: "_Words") -> list[str]:
    """三百三十七 -> 三百多, 不到四百."""
    value = read_han(match["han"])
    if words.language != "zh" or value is None or not 11 <= value < 90_000:
        return []
    step = _step(value)
    over, under = (value - 1) // step, value // step + 1
    unit = {10: "十", 100: "百", 1000: "千", 10_000: "万"}[step]

    def show(digit: int) -> str:
        if digit == 10:
            return {10: "一百", 100: "一千", 1000: "一万", 10_000: "十万"}[step]
        first = "" if step == 10 and digit == 1 else "两" if digit == 2 and step > 10 else "零一二三四五六七八九"[digit]
        return first + unit

    return [*([f"{show(over)}多"] if over and value % step else []), f"不到{show(under)}"]


def _han_date(match: re.Match[str], words: "_Words") -> list[str]:
    year = read_han(match["year"])
    if year is None or not 1000 <= year < 2100 or words.language != "zh":
        return []
    month = read_han(match["month"] or "") or 0
    month = month if month <= 12 else 0
    return words.date(year, month if match["day"] else 0, month) if month else words.year(year)


# --- words --------------------------------------------------------------------------------------------------------


class _Words:
    """How a language says it. Languages that are neither English nor Chinese get signs and ranges."""

    def __init__(self, language: str):
        code = re.split(r"[-_]", language.strip().lower() or "en")[0]
        self.language = code if code in ("en", "zh") else ""

    def few(self, number: int) -> list[str]:
        if number < 2:
            return []
        if self.language == "en":
            return ["a couple of"] if number == 2 else ["a few"] if number < 5 else ["several"]
        return ["几"] if self.language == "zh" and number > 2 else []

    def amount(self, over: str, near: str, under: str, decimal: bool) -> list[str]:
        forms = {
            "en": ("more than {}", "about {}", "less than {}" if decimal else "fewer than {}"),
            "zh": ("超过{}" if decimal else "{}多", "约{}", "不到{}"),
            "": ("> {}", "≈ {}", "< {}"),
        }[self.language]
        # 多 goes with round numbers of at least ten
        if self.language == "zh" and not decimal and len(_digits(over)) < 2:
            over = ""
        return [form.format(text) for form, text in zip(forms, (over, near, under), strict=True) if text]

    def share(self, value: float) -> list[str]:
        parts = {"en": ("a quarter", "a third", "half", "two thirds", "three quarters"),
                 "zh": ("四分之一", "三分之一", "一半", "三分之二", "四分之三")}  # fmt: skip
        if not self.language:
            return []
        for at, part in zip((25, 100 / 3, 50, 200 / 3, 75), parts[self.language], strict=True):
            if abs(value - at) <= 3:
                about, nearly = ("about ", "nearly ") if self.language == "en" else ("约", "近")
                return [(nearly if value < at - 1 else about) + part]
        return []

    def year(self, year: int) -> list[str]:
        decade = year // 10 * 10
        if self.language == "en":
            part = "early" if year % 10 < 4 else "mid" if year % 10 < 7 else "late"
            fine = f"the {part}-{decade}s" if part == "mid" else f"the {part} {decade}s"
            return [fine, f"the {decade}s", *self.century_part(year)]
        if self.language == "zh":
            return [f"{self._zh_decade(year)}{'初' if year % 10 < 4 else '中期' if year % 10 < 7 else '末'}",
                    self._zh_decade(year), *self.century_part(year)]  # fmt: skip
        return [f"{decade}–{decade + 9}", *self.century_part(year)]

    def century_part(self, year: int) -> list[str]:
        century, quarter = year // 100 + 1, year % 100 // 25
        if self.language == "en":
            name = ("first", "second", "third", "last")[quarter]
            return [f"the {name} quarter of the {_nth(century)} century", f"the {_nth(century)} century"]
        if self.language == "zh":
            return [f"{century}世纪{'上半叶' if quarter < 2 else '下半叶'}", f"{century}世纪"]
        return [f"{year // 100 * 100}–{year // 100 * 100 + 99}"]

    def _zh_decade(self, year: int) -> str:
        return f"{year // 100 + 1}世纪{year % 100 // 10 * 10 or '头'}{'年代' if year % 100 >= 10 else '十年'}"

    def date(self, year: int, month: int, season_of: int) -> list[str]:
        season = (season_of % 12) // 3
        rough = self.year(year)[:2]
        if self.language == "en":
            exact = [f"in {_MONTHS[month - 1].title()} {year}"] if month else []
            named = [f"in {('winter', 'spring', 'summer', 'autumn')[season]} {year}"] if season_of else []
            return [*exact, *named, *(f"in {text}" for text in rough)]
        if self.language == "zh":
            exact = [f"{year}年{month}月"] if month else []
            named = [f"{year}年{'冬春夏秋'[season]}天"] if season_of else []
            return [*exact, *named, *rough]
        return rough

    def name(self, name: Name) -> list[str]:
        if self.language == "en":
            kind = _KINDS_EN.get(name.kind, "something")
            return [f"{kind} in {name.where}" if name.where else "", kind]
        if self.language == "zh":
            kind = _KINDS_ZH.get(name.kind, "某个事物")
            return [f"{name.where}的{kind}" if name.where else "", kind]
        return []


_Render = Callable[[re.Match[str], _Words], list[str]]
_WHOLE = r"(?P<whole>[0-9]{1,3}(?:,[0-9]{3}){1,4}|[0-9]{1,15})(?P<part>\.[0-9]{1,9})?"
_PATTERNS: Final[list[tuple[re.Pattern[str], _Render]]] = [
    (re.compile(pattern, re.I), render)
    for pattern, render in (
        (r"(?P<year>[12][0-9]{3})\s*年\s*(?P<month>[0-9]{1,2})\s*月(?:\s*(?P<day>[0-9]{1,2})\s*[日号])?", _date),
        (
            r"(?P<year>[一二][零〇一二三四五六七八九]{3})年"
            rf"(?:(?P<month>{_HAN}{{1,3}})月(?:(?P<day>{_HAN}{{1,3}})[日号])?)?",
            _han_date,
        ),
        (r"(?<![0-9])(?P<year>[12][0-9]{3})\s*年(?![代])", _year),
        (rf"{_BEFORE}(?:on\s+(?:the\s+)?)?{_DAY}\s+(?:of\s+)?{_MONTH},?\s+{_YEAR}{_AFTER}", _date),
        (rf"{_BEFORE}(?:on\s+)?{_MONTH}\s+{_DAY},?\s+{_YEAR}{_AFTER}", _date),
        (rf"{_BEFORE}(?:on\s+)?{_YEAR}-(?P<month>[0-9]{{2}})-(?P<day>[0-9]{{2}}){_AFTER}", _date),
        (rf"{_BEFORE}(?:on\s+)?[0-9]{{1,2}}([./])[0-9]{{1,2}}\1{_YEAR}{_AFTER}", _date),
        (rf"{_BEFORE}(?:in\s+)?{_MONTH}\s+{_YEAR}{_AFTER}", _date),
        (rf"{_BEFORE}(?:the\s+)?(?P<year>1[0-9]{{2}}0|20[0-9]0)['’]?s{_AFTER}", _decade),
        (rf"{_BEFORE}(?P<number>[0-9]{{1,4}})\s*(?P<era>BCE?){_AFTER}", _before_christ),
        (rf"{_BEFORE}(?:the\s+)?(?P<number>[0-9]{{1,3}})(?:st|nd|rd|th)(?P<century>\s+century)?{_AFTER}", _ordinal),
        (rf"{_BEFORE}{_WHOLE}\s?%", _percent),
        (rf"{_BEFORE}{_YEAR}{_AFTER}", _year),
        (rf"{_BEFORE}(?P<sign>[$€£¥]\s?)?{_WHOLE}{_AFTER}", _number),
        (rf"(?P<han>[一二两三四五六七八九十]{_HAN}{{1,9}})(?![年月日号])", _han_number),
    )
]  # fmt: skip
