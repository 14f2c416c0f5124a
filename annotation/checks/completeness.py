"""Checks for what an item must have before it can be judged.

PURE: imports no Django.
"""

from collections.abc import Iterator

from annotation.checks.base import Check, CheckContext, Finding, register
from annotation.checks.text import word_count, written_without_spaces
from annotation.document import Document
from annotation.graph import is_non_text


@register
class EmptyField(Check):
    code = "empty_field"
    title = "Question, answer, checklist or step is empty"
    why = "Without a question, its answer and the conclusions between them there is no item to audit or to score."
    how_to_mend = "Write the text that is missing, or remove the empty step."
    level = "error"
    section = "question"
    about = ("conclusion",)
    essential = True

    def run(self, context: CheckContext) -> Iterator[Finding]:
        document = context.document
        if not document.question.strip():
            yield self.finding(context, "question", "The question is empty.")
        if not document.answer.strip():
            yield self.finding(context, "answer", "The answer is empty.")
        if not document.checklist:
            yield self.finding(context, "checklist", "The checklist has no step.", section="checklist")
        for number, step in enumerate(document.checklist, 1):
            if not step.conclusion.strip():
                template = "Step {number} states no conclusion."
                yield self.finding(context, step.key, template, section="checklist", number=number)


@register
class TooFewSteps(Check):
    code = "too_few_steps"
    title = "Checklist is shorter than the benchmark's minimum"
    why = "The benchmark measures long chains; a short checklist can be satisfied by luck or by one good page."
    how_to_mend = "Spell out necessary conclusions that the chain passes over, or lengthen the chain."
    level = "error"
    section = "checklist"

    def run(self, context: CheckContext) -> Iterator[Finding]:
        steps, minimum = len(context.document.checklist), context.thresholds.min_steps
        if 0 < steps < minimum:
            template = "The length of the checklist is {steps}; this benchmark asks for {minimum} or more."
            yield self.finding(context, "checklist", template, steps=steps, minimum=minimum)


@register
class NoNonTextStep(Check):
    code = "no_non_text_step"
    title = "No step has non-text evidence and says what it changes"
    why = "An item that text alone can solve does not measure multimodal research."
    how_to_mend = "For at least one step choose a modality other than text and the effect its evidence has."
    level = "error"
    section = "checklist"

    def run(self, context: CheckContext) -> Iterator[Finding]:
        steps = context.document.checklist
        non_text = [step.key for step in steps if is_non_text(step.modality)]
        if any(is_non_text(step.modality) and step.effect for step in steps) or not steps:
            return
        if non_text:
            template = "Steps with non-text evidence: {count}; none of them says what effect that evidence has."
        else:
            template = "None of the steps has non-text evidence; steps looked at: {steps}."
        yield self.finding(context, "checklist", template, related=non_text, count=len(non_text), steps=len(steps))


@register
class MissingSource(Check):
    code = "missing_source"
    title = "Step, node, relation or answer has no source"
    why = "An auditor can only confirm what can be looked up, and a conclusion nobody can look up cannot be scored."
    how_to_mend = "Add the source that shows it and link it here; a calculation links the sources of its figures."
    level = "error"
    section = "checklist"
    about = ("conclusion", "entity", "from_node", "to_node")

    def run(self, context: CheckContext) -> Iterator[Finding]:
        document = context.document
        if document.answer.strip() and not document.answer_sources:
            yield self.finding(context, "answer_sources", "The answer has no source.", section="question")
        for node in document.nodes:
            if not node.sources and not any(prop.sources for prop in node.properties):
                template = "Neither node {name} nor one of its properties has a source."
                yield self.finding(context, node.key, template, section="graph", name=node.entity or node.key)
        for relation in document.relations:
            if not relation.sources:
                template = "Relation {start} to {end} has no source."
                start, end = _entity(document, relation.from_node), _entity(document, relation.to_node)
                yield self.finding(context, relation.key, template, section="graph", start=start, end=end)
        for number, step in enumerate(document.checklist, 1):
            if not step.sources:
                yield self.finding(context, step.key, "Step {number} has no source.", number=number)


def _entity(document: Document, key: str) -> str:
    return next((node.entity for node in document.nodes if node.key == key and node.entity), key)


@register
class TooFewNodes(Check):
    code = "too_few_nodes"
    title = "Hidden graph has few nodes"
    why = "With few entities between question and answer, one search often jumps over the chain."
    how_to_mend = "Add the entities the chain passes through, each with a verifiable property, or lengthen the chain."
    level = "warning"
    section = "graph"

    def run(self, context: CheckContext) -> Iterator[Finding]:
        nodes, minimum = len(context.document.nodes), context.thresholds.min_nodes
        if nodes < minimum:
            template = "The number of nodes is {nodes}; this benchmark asks for {minimum} or more."
            yield self.finding(context, "nodes", template, nodes=nodes, minimum=minimum)


@register
class LongAnswer(Check):
    code = "long_answer"
    title = "Answer is not short"
    why = "A long answer is hard to judge as right or wrong, and often holds more than was asked."
    how_to_mend = "Ask for one name, number or date, and move the rest into the checklist."
    level = "warning"
    section = "question"
    about = ("answer",)

    def run(self, context: CheckContext) -> Iterator[Finding]:
        words, maximum = word_count(context.document.answer), context.thresholds.max_answer_words
        if words > maximum:
            template = "The answer has {words} words; short is {maximum} or fewer."
            if written_without_spaces(context.document.answer):
                template = "The answer is as long as {words} words; short is {maximum} or fewer, two characters a word."
            yield self.finding(context, "answer", template, words=words, maximum=maximum)


@register
class MissingMetadata(Check):
    code = "missing_metadata"
    title = "Category, template or operation tag is missing"
    why = "Results are split by them; an item without them is left out of those tables."
    how_to_mend = "Choose it in the metadata."
    level = "warning"
    section = "metadata"

    def run(self, context: CheckContext) -> Iterator[Finding]:
        document = context.document
        if not document.category:
            yield self.finding(context, "category", "The item has no category.")
        if not document.template:
            yield self.finding(context, "template", "The item has no template.")
        if not document.operation_tags:
            yield self.finding(context, "operation_tags", "The item has no operation tag.")


@register
class UnknownSlug(Check):
    code = "unknown_slug"
    title = "Category or operation tag is unknown to the benchmark"
    why = "A category or tag that the benchmark does not have appears in none of its lists and tables."
    how_to_mend = "Choose one the benchmark has, or ask an admin to add it."
    level = "warning"
    section = "metadata"

    def run(self, context: CheckContext) -> Iterator[Finding]:
        document = context.document
        if document.category and context.categories is not None and document.category not in context.categories:
            template = "This benchmark has no category {slug}."
            yield self.finding(context, "category", template, slug=document.category)
        for slug in document.operation_tags:
            if context.operation_tags is not None and slug not in context.operation_tags:
                template = "This benchmark has no operation tag {slug}."
                yield self.finding(context, "operation_tags", template, part=slug, slug=slug)
