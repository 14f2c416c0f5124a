"""Checks of how texts are worded: actions for conclusions, repetition, private data.

PURE: imports no Django.
"""

import re
from collections.abc import Iterator
from itertools import combinations
from typing import Final

from annotation.checks.base import Check, CheckContext, Finding, register
from annotation.checks.text import fold, likeness, numbers_in
from annotation.document import Document

# --- actions ------------------------------------------------------------------------------------------------------

_SITE: Final = (
    r"(?:https?:|www\.|google(?: \w+)?\b|bing\b|baidu\b|wikipedia\b|wikidata\b|wikimedia\b|youtube\b|imdb\b|facebook\b"
    r"|instagram\b|duckduckgo\b)"
)
_DETERMINER: Final = r"(?:the|a|an|this|that|these|those|its|his|her|their|our|your|each|every|any|all)\b"
_THING: Final = rf"(?:{_DETERMINER}|{_SITE}|[\"“«'‘])"
_PAGE: Final = (
    r"(?:\w+[ -]){0,3}(?:pages?|webpages?|websites?|sites?|urls?|links?|hyperlinks?|articles?|pdfs?|tabs?|videos?"
    r"|clips?|entry|results?)\b"
)
# What must follow each verb for it to be an order: "open the page", but not "Open University".
_ORDERS: Final = {
    "search": rf"(?:(?:for|on|through|within|with|using|online)\b|{_THING})",
    "google": rf"(?:for\b|up\b|{_DETERMINER}|[\"“«'‘])",
    "open": rf"(?:up\b|{_THING})",
    "visit": _THING,
    "click": rf"(?:on\b|through\b|link\b|{_THING})",
    "look": r"(?:up|for|at|into|through)\b",
    "find": rf"(?:out\b|{_THING}|(?:who|which|what|where|when|how)\b)",
    "locate": _THING,
    "navigate": rf"(?:to\b|through\b|from\b|{_THING})",
    "go": r"(?:to|onto|back)\b",
    "browse": rf"(?:to\b|through\b|{_THING})",
    "watch": _THING,
    "read": rf"(?:through\b|about\b|{_THING})",
    "check": rf"(?:that\b|whether\b|if\b|{_THING})",
    "scroll": r"(?:up|down|to|through|until)\b",
    "download": _THING,
    "access": _THING,
    "view": _THING,
    "consult": _THING,
    "use": rf"(?:{_SITE}|(?:a |an |the )?(?:\w+[ -]){{0,2}}(?:search|map)\b|street view\b)",
    "type": rf"(?:in\b|{_THING})",
    "enter": _THING,
    "paste": _THING,
    "query": rf"(?:for\b|{_THING})",
    "zoom": r"(?:in|into|out)\b",
    # "Identify the man as Baker" states the conclusion, however clumsily.
    "identify": rf"(?!.*\b(?:as|is|are|was|were)\b)(?:{_THING}|(?:who|which|what|where)\b)",
    "determine": r"(?:who|which|what|where|when|whether|how)\b",
}
_OPENER: Final = r"(?:(?:step \d+|first|firstly|second|then|next|now|finally|please|start|begin)\b[\s,:.-]*(?:by )?)*"
_PERSON: Final = (
    r"(?:(?:i|we|you|one|(?:the|an|a) (?:user|agent|solver|searcher|annotator|assistant))\b"
    r"(?: (?:should|must|can|could|may|will|then|first|now|also|need to|needs to|have to|has to))*)"
)
_ORDER: Final = re.compile(
    rf"{_OPENER}(?:" + "|".join(rf"{verb} {after}" for verb, after in _ORDERS.items()) + ")", re.IGNORECASE
)
_DOING: Final = re.compile(
    rf"{_OPENER}{_PERSON} (?:"
    + "|".join(rf"{verb}(?:e?s|ed|d)? {after}" for verb, after in _ORDERS.items())
    + r"|(?:went|goes|found|finds) (?:to|the|a|an)\b)",
    re.IGNORECASE,
)
# The name of a work or body that only begins like an order, and what it does: "Find a Grave lists …".
_NAME_AND_VERB: Final = re.compile(
    r"[A-Z]\w+ (?:(?:a|an|the|for|of|in|on|at|to|up|into) )*(?:[A-Z0-9][\w'’&.-]* (?:(?:of|the|and|for|in|a) )*)+"
    r"(?:is|was|are|were|has|had|[a-z]+ed|[a-z]+s)\b"
)
_GERUND: Final = re.compile(
    rf"{_OPENER}(?:by )?(?:searching (?:for|on|through|with|{_THING})|googling\b|clicking\b|browsing {_THING}"
    rf"|navigating to\b|looking up\b|scrolling\b|(?:visiting|opening|watching|reading) {_THING} ?{_PAGE})",
    re.IGNORECASE,
)
_ANYWHERE: Final = re.compile(
    r"(?:reverse[- ]image|google|web|internet|online) search(?:es)? (?:for|shows?|showed|reveals?|returns?|leads?)\b"
    r"|\b(?:by|via|through|using|with|run|do|perform) (?:an? )?(?:reverse[- ]image|google|web|internet|image) search\b"
    r"|\bsearch(?:ing|ed)? (?:on |in |with |via )?(?:google|bing|baidu|wikipedia|the (?:web|internet))\b"
    rf"|\bclick(?:s|ed|ing)? (?:on )?(?:{_DETERMINER} )?{_PAGE}"
    r"|\bto (?:find|open|visit|reach) (?:the|its|this) (?:\w+[ -]){0,2}(?:page|webpage|website|url|link|article)\b",
    re.IGNORECASE,
)
_CHINESE: Final = re.compile(
    r"(?:首先|然后|接着|再|接下来|最后)?[,，、]?(?:请)?(?:搜索(?!引擎)|检索|打开|点击|访问(?!量|学者)|浏览(?!器)|查找|查看|观看视频"
    r"|用(?:谷歌|百度|必应)|在(?:谷歌|百度|必应|维基百科|网)上?(?:搜索|检索|查找|查看))"
)


def browsing_action(conclusion: str) -> str | None:
    """The words that make a conclusion read as something to do on the way; None for a statement."""
    text = " ".join(conclusion.split()).lstrip("-–•*\"“'‘( 0123456789.)")
    found = _CHINESE.match(text) or _DOING.match(text) or _ANYWHERE.search(text)
    if not found and not _NAME_AND_VERB.match(text):
        found = _ORDER.match(text) or _GERUND.match(text)
    return found.group() if found else None


@register
class BrowsingAction(Check):
    code = "browsing_action"
    title = "Step reads as something to do, not as a conclusion"
    why = "A step is scored by whether an answer states it; nobody can see in an answer what was searched or opened."
    how_to_mend = "State what is known after it: not the search for the founder, but who the founder is."
    level = "warning"
    section = "checklist"
    about = ("conclusion",)

    def run(self, context: CheckContext) -> Iterator[Finding]:
        for number, step in enumerate(context.document.checklist, 1):
            if words := browsing_action(step.conclusion):
                template = "Step {number} reads as something to do: “{words} …”"
                yield self.finding(context, step.key, template, number=number, words=words)


# --- repetition ---------------------------------------------------------------------------------------------------


@register
class NearDuplicateSteps(Check):
    code = "near_duplicate_steps"
    title = "Two steps say nearly the same"
    why = "One conclusion counted twice gives it double weight in every score."
    how_to_mend = "Keep one of them, or word what sets them apart."
    level = "warning"
    section = "checklist"
    about = ("conclusion",)

    def run(self, context: CheckContext) -> Iterator[Finding]:
        steps = context.document.checklist
        texts = [fold(step.conclusion) for step in steps]
        numbers = [numbers_in(text) for text in texts]
        least = context.thresholds.near_duplicate_percent
        for (one, first), (two, second) in combinations(enumerate(texts), 2):
            # Other numbers make another conclusion, however alike the rest: two years, two models.
            if not first or not second or numbers[one] != numbers[two]:
                continue
            percent = likeness(first, second, least)
            if percent >= least:
                yield self.finding(
                    context,
                    steps[two].key,
                    "Steps {first} and {second} are {percent}% alike.",
                    related=(steps[one].key,),
                    first=one + 1,
                    second=two + 1,
                    percent=percent,
                )


@register
class NearDuplicateQuestion(Check):
    code = "near_duplicate_question"
    title = "Another item of the benchmark asks nearly the same"
    why = "Two items with one chain count one ability twice, and one gives away the other."
    how_to_mend = "Compare the two items and keep one, or ask about another part of the chain."
    level = "warning"
    section = "question"
    about = ("question",)

    def run(self, context: CheckContext) -> Iterator[Finding]:
        for name, percent in context.twins:
            template = "The question is {percent}% like that of {name}."
            yield self.finding(context, "question", template, part=name, name=name, percent=percent)


# --- private data -------------------------------------------------------------------------------------------------

_EMAIL: Final = re.compile(r"(?<![\w.+-])[\w.+-]{1,64}@(?:[\w-]{1,63}\.){1,5}[^\W\d_]{2,24}\b")
_PHONE: Final = re.compile(
    r"(?<![\w.+])\+[1-9]\d{0,2}[ ./-]?(?:\(\d{1,4}\)[ ./-]?)?\d{1,5}(?:[ ./-]?\d{2,5}){1,4}(?![\w.]*\d)"
    r"|(?<![\w.-])\(?[2-9]\d{2}\)?[ .-]\d{3}[.-]\d{4}(?![\w-])"
    r"|(?<![\w.-])1[3-9]\d{9}(?![\w.-])"
    r"|(?:\b(?:tel|phone|telephone|mobile|fax|whatsapp)|电话|手机)[.:： ]+\(?\d[\d ()./-]{5,20}\d",
    re.IGNORECASE,
)
_STREET_KIND: Final = (
    r"(?:Street|Road|Avenue|Lane|Drive|Boulevard|Terrace|Crescent|Close|Court|Rd|Ave|Blvd|St(?!\.? [A-Z]))\b"
)
_ADDRESS: Final = re.compile(
    rf"(?<![\w.,:/-])\d{{1,4}}[a-zA-Z]?,? (?:[A-Z][\w'’]+ ){{1,3}}{_STREET_KIND}"
    r"|(?<![\w.,:/-])\d{1,4}(?: bis| ter)?,? (?:rue|avenue|boulevard|chemin|impasse|quai|via|calle|carrer) [^\W\d_]{2,}"
    r"|\b[A-ZÄÖÜ][\w-]{0,30}(?:straße|strasse|str\.|gasse|weg|allee) \d{1,3}[a-z]?\b"
    r"|[\u4e00-\u9fff]{2,9}(?:路|街|巷|弄|胡同)\d{1,5}号"
)
# A number after these words is no telephone, and after a preposition of time no house: "in 1890 Fleet Street".
_NUMBER_OF_SOMETHING: Final = re.compile(
    r"(?:isbn|issn|oclc|doi|lccn|viaf|gnd|imo|id|no|nr|number|#)(?:-?1[03])?[\W_]{0,3}$", re.IGNORECASE
)
_TIME: Final = re.compile(r"\b(?:the|in|by|since|until|till|before|after|from|to|around|circa|c)\.? $", re.IGNORECASE)
_COORDINATES: Final = re.compile(r"\+\d{1,3}\.\d{3,}")
_YEAR: Final = re.compile(r"1\d{3}|20\d{2}")


def private_data(text: str) -> Iterator[tuple[str, int, int]]:
    """What looks like private data in a text: (kind, start, end); kinds are e-mail address, telephone, street."""
    for found in _EMAIL.finditer(text):
        yield "an e-mail address", *found.span()
    for found in _PHONE.finditer(text):
        digits = sum(map(str.isdigit, found.group()))
        before = text[: found.start()]
        if 7 <= digits <= 15 and not _NUMBER_OF_SOMETHING.search(before) and not _COORDINATES.match(found.group()):
            yield "a telephone number", *found.span()
    for found in _ADDRESS.finditer(text):
        if not (_YEAR.match(found.group()) and _TIME.search(text[: found.start()])):
            yield "a street address", *found.span()


@register
class PrivateData(Check):
    code = "private_data"
    title = "What looks like private personal data"
    why = "Items are about public matters; a released benchmark must not spread how to reach private people."
    how_to_mend = "Remove it, or say in the dismissal why it is public: the address of an institution, for example."
    level = "warning"
    section = "question"

    def run(self, context: CheckContext) -> Iterator[Finding]:
        for section, anchor, text in _texts(context.document):
            places: dict[tuple[str, str], list[tuple[int, int]]] = {}
            for kind, start, end in private_data(text):
                places.setdefault((kind, text[start:end]), []).append((start, end))
            for (kind, found), spans in places.items():
                yield self.finding(
                    context,
                    anchor,
                    "This looks like {kind}: {found}",
                    section=section,
                    spans=spans if anchor == "question" else (),
                    part=found,
                    kind=kind,
                    found=found,
                )


def _texts(document: Document) -> Iterator[tuple[str, str, str]]:
    """(section, anchor, text) of everything that people write in their own words or quote."""
    yield "question", "question", document.question
    yield "question", "answer", "\n".join((document.answer, *document.answer_aliases))
    yield "question", "rivals", "\n".join(f"{rival.answer}\n{rival.excluded_by}" for rival in document.rivals)
    yield "design", "design", document.design
    for node in document.nodes:
        yield "graph", node.key, "\n".join((node.entity, *node.aliases, *(prop.value for prop in node.properties)))
    for relation in document.relations:
        yield "graph", relation.key, f"{relation.via}\n{relation.description}"
    for step in document.checklist:
        yield "checklist", step.key, f"{step.conclusion}\n{step.why_needed}"
    for source in document.sources:
        yield "sources", source.key, f"{source.title}\n{source.claim}\n{source.quote}"
    for image in document.images:
        yield "images", image.key, "\n".join((image.alt, image.caption, image.credit))
