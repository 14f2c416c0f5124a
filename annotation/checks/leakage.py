"""Checks for a question that gives away its answer or the hidden path to it.

PURE: imports no Django.
"""

from collections.abc import Iterator
from typing import Final

from annotation.checks.base import Check, CheckContext, Finding, register
from annotation.checks.text import character_count, find_leak, find_whole, fold, naming_length
from annotation.document import Node


@register
class AnswerInQuestion(Check):
    code = "answer_in_question"
    title = "The whole answer stands in the question"
    why = "Who reads the question can copy the answer without any research."
    how_to_mend = "Describe it instead of naming it, or ask for something else."
    level = "error"
    section = "question"
    about = ("question",)

    def run(self, context: CheckContext) -> Iterator[Finding]:
        document = context.document
        seen = set()
        for what, value in (("answer", document.answer), *(("alias", alias) for alias in document.answer_aliases)):
            folded = fold(value)
            if folded in seen or character_count(folded) < naming_length(folded):
                continue
            seen.add(folded)
            if match := find_whole(value, context.question):
                template = (
                    "The question holds the answer {value}."
                    if what == "answer"
                    else "The question holds {value}, another form of the answer."
                )
                yield self.finding(context, "question", template, spans=match.spans, part=folded, value=value.strip())


@register
class PathLeakage(Check):
    code = "path_leakage"
    title = "The question names something of the hidden path"
    why = (
        "A name or property of a hidden node lets a system start in the middle of the chain and skip the steps before."
    )
    how_to_mend = "Blur the marked words: say what kind of thing it is, or give a weaker property."
    level = "warning"
    section = "question"
    about = ("question",)

    _TEMPLATES: Final = {
        "exactly": "{what} {value} of node {node} stands in the question as it is.",
        "folded": (
            "{what} {value} of node {node} stands in the question, but for case, accents, punctuation or the form of"
            " its characters."
        ),
        "within": "{what} {value} of node {node} stands in the question, within a longer word.",
        "nearly": "{what} {value} of node {node} nearly stands in the question ({percent}% alike).",
    }

    def run(self, context: CheckContext) -> Iterator[Finding]:
        document, percent = context.document, context.thresholds.leak_percent
        # What names the answer has a check of its own.
        answers = {fold(value) for value in (document.answer, *document.answer_aliases)}
        for node in document.nodes:
            seen = set(answers)
            for what, value in _values(node):
                folded = fold(value)
                if folded in seen:
                    continue
                seen.add(folded)
                if match := find_leak(value, context.question, percent):
                    yield self.finding(
                        context,
                        "question",
                        self._TEMPLATES[match.how],
                        spans=match.spans,
                        related=(node.key,),
                        part=folded,
                        what=what,
                        value=value.strip(),
                        node=node.entity or node.key,
                        percent=match.percent,
                    )


def _values(node: Node) -> Iterator[tuple[str, str]]:
    yield "Entity", node.entity
    for alias in node.aliases:
        yield "Alias", alias
    for prop in node.properties:
        yield "Property value", prop.value
