"""Checks of the checklist DAG and the Node-Relation graph. The rules themselves are in `annotation.graph`.

PURE: imports no Django.
"""

from collections import Counter
from collections.abc import Iterator

from annotation import graph
from annotation.checks.base import Check, CheckContext, Finding, register
from annotation.document import dangling_links


@register
class Cycle(Check):
    code = "cycle"
    title = "Steps need each other in a circle"
    why = "In a cycle no step can come first, so neither order nor credit can be worked out."
    how_to_mend = "Take away one prerequisite of the cycle."
    level = "error"
    section = "checklist"
    about = ("prerequisites",)
    essential = True

    def run(self, context: CheckContext) -> Iterator[Finding]:
        if cycle := graph.cycle_keys(context.document):
            text = graph.cycle_text(context.document) or ""
            yield self.finding(
                context, cycle[0], "Prerequisites form a cycle: {cycle}.", related=cycle[1:-1], cycle=text
            )


@register
class DanglingLink(Check):
    code = "dangling_link"
    title = "Link to something that is not in the item"
    why = "Evidence or a prerequisite that does not exist can be neither shown nor checked."
    how_to_mend = "Remove the link, or add what it points to."
    level = "error"
    section = "checklist"
    essential = True

    # Of the list in which the referrer stands.
    _SECTIONS = {"nodes": "graph", "relations": "graph", "checklist": "checklist", "sources": "sources"}

    def run(self, context: CheckContext) -> Iterator[Finding]:
        for link in dangling_links(context.document):
            place = link.path.split(".")[0]
            in_question = place in ("answer_sources", "rivals")
            yield self.finding(
                context,
                place if in_question else link.referrer,
                "{path} refers to {target}, which is not among the {list}.",
                section="question" if in_question else self._SECTIONS[place],
                part=f"{link.path} {link.target}",
                path=link.path,
                target=link.target,
                list=link.target_list,
            )


@register
class UncoveredElement(Check):
    code = "uncovered_element"
    title = "Node or relation that no step covers"
    why = "What no conclusion speaks of is either not needed or a gap in the checklist."
    how_to_mend = "Link the step that concludes it, add such a step, or remove it from the graph."
    level = "warning"
    section = "graph"
    about = ("entity", "from_node", "to_node")

    def run(self, context: CheckContext) -> Iterator[Finding]:
        document = context.document
        if not document.checklist:
            return
        covered = graph.coverage(document)
        names = {node.key: node.entity or node.key for node in document.nodes}
        for key in covered.uncovered_nodes:
            yield self.finding(context, key, "No step is linked to node {name}.", name=names[key])
        for relation in document.relations:
            if relation.key in covered.uncovered_relations:
                start, end = (names.get(key, key) for key in (relation.from_node, relation.to_node))
                template = "No step is linked to relation {start} to {end}."
                yield self.finding(context, relation.key, template, start=start, end=end)


@register
class DisconnectedGraph(Check):
    code = "disconnected_graph"
    title = "Hidden graph falls into parts"
    why = "Nodes that no relation connects are not on one path from the question to the answer."
    how_to_mend = "Add the relation that leads from one part to the other, or remove the part."
    level = "warning"
    section = "graph"

    def run(self, context: CheckContext) -> Iterator[Finding]:
        parts = graph.graph_components(context.document)
        if len(parts) > 1:
            largest = max(parts, key=len)
            apart = [key for part in parts if part is not largest for key in part]
            template = "The graph falls into {parts} parts; apart from the largest stand {keys}."
            yield self.finding(context, "nodes", template, related=apart, parts=len(parts), keys=", ".join(apart))


@register
class DeadStep(Check):
    code = "dead_step"
    title = "Step that the final step does not rest on"
    why = "A conclusion that does not lead to the answer is not necessary, yet systems would be scored on it."
    how_to_mend = "Make it a prerequisite of the step that uses it, or remove it."
    level = "warning"
    section = "checklist"
    about = ("conclusion",)

    def run(self, context: CheckContext) -> Iterator[Finding]:
        steps = context.document.checklist
        for position in graph.dead_steps(context.prerequisites):
            template = "Step {number} does not lead to the final step, {final}."
            yield self.finding(context, steps[position].key, template, number=position + 1, final=len(steps))


@register
class SeveralSinks(Check):
    code = "several_sinks"
    title = "Several steps lead nowhere"
    why = "A chain ends in one conclusion, the answer; a second end is a branch that was never joined."
    how_to_mend = "Join the branches: let a later step need each of these ends, or remove the branch."
    level = "warning"
    section = "checklist"
    about = ("conclusion",)

    def run(self, context: CheckContext) -> Iterator[Finding]:
        sinks = graph.sinks(context.prerequisites)
        if len(sinks) > 1:
            keys = [context.document.checklist[position].key for position in sinks]
            numbers = ", ".join(str(position + 1) for position in sinks)
            template = "No step needs steps {numbers}; only the final step should be such an end."
            yield self.finding(context, "checklist", template, related=keys, numbers=numbers)


@register
class StepBeforePrerequisite(Check):
    code = "step_before_prerequisite"
    title = "Step stands before its prerequisite"
    why = "Readers, judges and the published form of an item expect each conclusion after those it rests on."
    how_to_mend = "Move the step below its prerequisite."
    level = "warning"
    section = "checklist"
    about = ("conclusion",)

    def run(self, context: CheckContext) -> Iterator[Finding]:
        steps = context.document.checklist
        for position, needed in graph.forward_edges(context.prerequisites):
            template = "Step {number} needs step {needed}, which stands after it."
            related = (steps[needed].key,)
            yield self.finding(
                context, steps[position].key, template, related=related, number=position + 1, needed=needed + 1
            )


@register
class RedundantEdge(Check):
    code = "redundant_edge"
    title = "Prerequisite that others imply"
    why = "The edge adds nothing to the dependencies and makes the drawing harder to read; no score changes."
    how_to_mend = "Remove this prerequisite; the step still rests on it through the others."
    level = "warning"
    section = "checklist"
    about = ("prerequisites",)

    def run(self, context: CheckContext) -> Iterator[Finding]:
        steps = context.document.checklist
        for position, needed in graph.redundant_edges(context.prerequisites):
            template = "Step {number} need not name step {needed}: its other prerequisites already rest on it."
            related = (steps[needed].key,)
            yield self.finding(
                context, steps[position].key, template, related=related, number=position + 1, needed=needed + 1
            )


@register
class MultiBranchWithoutMerge(Check):
    code = "multi_branch_without_merge"
    title = "Template is multi-branch, but no branches meet"
    why = "The template says what was intended; the checklist has the structure of something else."
    how_to_mend = "Let a step need the ends of two branches, or choose the template linear."
    level = "info"
    section = "metadata"

    def run(self, context: CheckContext) -> Iterator[Finding]:
        needs = context.prerequisites
        if context.document.template == "multi_branch" and needs and not graph.merges(needs):
            template = "The template is multi-branch, but no step has two prerequisites of different branches."
            yield self.finding(context, "template", template)


@register
class LinearWithSeveralRoots(Check):
    code = "linear_with_several_roots"
    title = "Template is linear, but several steps need nothing"
    why = "A linear chain has one beginning; several are branches."
    how_to_mend = "Give each step but the first its prerequisite, or choose the template multi_branch."
    level = "info"
    section = "metadata"

    def run(self, context: CheckContext) -> Iterator[Finding]:
        roots = [position for position, needs in enumerate(context.prerequisites) if not needs]
        if context.document.template == "linear" and len(roots) > 1:
            keys = [context.document.checklist[position].key for position in roots]
            numbers = ", ".join(str(position + 1) for position in roots)
            template = "The template is linear, but steps {numbers} need no other step."
            yield self.finding(context, "template", template, related=keys, numbers=numbers)


@register
class StepsPerLevel(Check):
    code = "steps_per_level"
    title = "Steps on each level"
    why = "The shape of the dependency graph at a glance: how deep it is, and how wide at each level."
    how_to_mend = "Nothing to mend."
    level = "info"
    section = "checklist"

    def run(self, context: CheckContext) -> Iterator[Finding]:
        if counts := Counter(graph.levels(context.prerequisites)):
            template = "Dependency depth {depth}; steps on each level, from level 0: {counts}."
            text = ", ".join(str(counts[level]) for level in range(len(counts)))
            yield self.finding(context, "checklist", template, depth=len(counts), counts=text)
