"""Structure rules of the checklist DAG and of the Node-Relation graph, and the figures that lists show.

PURE: imports no Django, only `annotation.document` and `annotation.addresses`. A save runs these rules, so they are
plain loops over ints used as bit masks: networkx costs 150 ms to import and is slower on graphs of a dozen steps. It is
the oracle in the tests.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from annotation.addresses import is_wikipedia_url
from annotation.document import Document, Source

# For each step, in order, the 0-based positions of its direct prerequisites. They may point forward, and a repeated
# position counts once. Every function that takes them raises ValueError for a position out of range, and every one
# but `find_cycle`, `sinks` and `forward_edges` raises ValueError for a cycle. No steps at all is fine everywhere.
Prerequisites = Sequence[Sequence[int]]
Edge = tuple[int, int]  # (step, prerequisite)


def _walk(prerequisites: Prerequisites) -> tuple[list[int], list[int] | None]:
    """Steps, prerequisites first, and the first cycle met (then the order is not complete)."""
    count = len(prerequisites)
    new, on_path, done = 0, 1, 2
    state = bytearray(count)
    order: list[int] = []
    for start in range(count):
        if state[start] != new:
            continue
        state[start] = on_path
        path, pending = [start], [iter(prerequisites[start])]
        while path:
            for needed in pending[-1]:
                if not 0 <= needed < count:
                    raise ValueError(f"step {path[-1]} needs step {needed}, but there are only {count} steps")
                if state[needed] == on_path:
                    return order, [*path[path.index(needed) :], needed]
                if state[needed] == new:
                    state[needed] = on_path
                    path.append(needed)
                    pending.append(iter(prerequisites[needed]))
                    break
            else:
                pending.pop()
                state[path[-1]] = done
                order.append(path.pop())
    return order, None


def find_cycle(prerequisites: Prerequisites) -> list[int] | None:
    """A cycle as [3, 5, 3]: 3 needs 5, which needs 3. None when there is none. A step that needs itself is [3, 3]."""
    return _walk(prerequisites)[1]


def topological_order(prerequisites: Prerequisites) -> list[int]:
    """All steps, each after everything it needs."""
    order, cycle = _walk(prerequisites)
    if cycle:
        raise ValueError("the steps form a cycle: " + " -> ".join(map(str, cycle)))
    return order


def levels(prerequisites: Prerequisites) -> list[int]:
    """For each step 0 if it needs nothing, else 1 + the maximum level of its direct prerequisites."""
    result = [0] * len(prerequisites)
    for step in topological_order(prerequisites):
        result[step] = max((result[needed] + 1 for needed in prerequisites[step]), default=0)
    return result


def depth(prerequisites: Prerequisites) -> int:
    """Number of conclusions on the longest path, both ends counted; 0 without steps."""
    return max(levels(prerequisites), default=-1) + 1


def ancestors(prerequisites: Prerequisites) -> list[int]:
    """For each step a bit mask of the steps it needs, directly or not; bit p stands for position p."""
    masks = [0] * len(prerequisites)
    for step in topological_order(prerequisites):
        for needed in prerequisites[step]:
            masks[step] |= masks[needed] | 1 << needed
    return masks


def descendants(prerequisites: Prerequisites) -> list[int]:
    """For each step a bit mask of the steps that need it, directly or not."""
    masks = [0] * len(prerequisites)
    for step in reversed(topological_order(prerequisites)):
        for needed in prerequisites[step]:
            masks[needed] |= masks[step] | 1 << step
    return masks


def positions(mask: int) -> list[int]:
    """The positions in a bit mask, ascending."""
    result = []
    while mask:
        lowest = mask & -mask
        result.append(lowest.bit_length() - 1)
        mask ^= lowest
    return result


def _implied(needs: Sequence[int], masks: Sequence[int]) -> int:
    """Mask of everything that the direct prerequisites need themselves."""
    mask = 0
    for needed in needs:
        mask |= masks[needed]
    return mask


def redundant_edges(prerequisites: Prerequisites) -> list[Edge]:
    """Edges that a longer path implies (not in the transitive reduction), by step and then as listed."""
    masks = ancestors(prerequisites)
    return [
        (step, needed)
        for step, needs in enumerate(prerequisites)
        for needed in dict.fromkeys(needs)
        if _implied(needs, masks) >> needed & 1
    ]


def reduction(prerequisites: Prerequisites) -> list[list[int]]:
    """The transitive reduction: the fewest prerequisites with the same ancestors, each list ascending."""
    masks = ancestors(prerequisites)
    return [[n for n in sorted(set(needs)) if not _implied(needs, masks) >> n & 1] for needs in prerequisites]


def closure(prerequisites: Prerequisites) -> list[list[int]]:
    """The transitive closure: every step with all its ancestors as direct prerequisites, each list ascending."""
    return [positions(mask) for mask in ancestors(prerequisites)]


def sinks(prerequisites: Prerequisites) -> list[int]:
    """Steps that no step needs, ascending. Not empty, unless there are no steps or all of them end in a cycle."""
    _walk(prerequisites)
    needed = {position for needs in prerequisites for position in needs}
    return [step for step in range(len(prerequisites)) if step not in needed]


def dead_steps(prerequisites: Prerequisites) -> list[int]:
    """Steps that are neither the final step (the last in order) nor needed by it, ascending."""
    masks = ancestors(prerequisites)
    return [step for step in range(len(prerequisites) - 1) if not masks[-1] >> step & 1]


def critical_path(prerequisites: Prerequisites) -> list[int]:
    """One longest path, roots first; among equals it ends in the latest step and goes through the earliest ones."""
    at = levels(prerequisites)
    if not at:
        return []
    path = [max(range(len(at)), key=lambda step: (at[step], step))]
    while at[path[-1]]:
        step = path[-1]
        path.append(min(needed for needed in prerequisites[step] if at[needed] == at[step] - 1))
    return path[::-1]


def merges(prerequisites: Prerequisites) -> list[int]:
    """Steps where branches meet: two or more direct prerequisites, redundant ones not counted. Ascending."""
    return [step for step, needs in enumerate(reduction(prerequisites)) if len(needs) > 1]


def forward_edges(prerequisites: Prerequisites) -> list[Edge]:
    """Edges of steps that stand before what they need (a step that needs itself is a cycle, not one of these)."""
    _walk(prerequisites)
    return [(step, n) for step, needs in enumerate(prerequisites) for n in dict.fromkeys(needs) if n > step]


# --- documents ----------------------------------------------------------------------------------------------------


def cycle_keys(document: Document) -> list[str] | None:
    """Keys of the steps of a cycle, first == last, in the direction "needs"; None when there is none."""
    cycle = find_cycle(document.prerequisite_positions())
    return [document.checklist[position].key for position in cycle] if cycle else None


def cycle_text(document: Document) -> str | None:
    """A cycle spelled out, like "c3 -> c5 -> c3"; None when there is none."""
    cycle = cycle_keys(document)
    return " -> ".join(cycle) if cycle else None


def without_cycles(document: Document) -> tuple[Document, list[str]]:
    """The document with as many edges left out as it takes to have no cycle, and the keys of the steps of all cycles.

    Each cycle loses the edge at which it is met, so the rest can be drawn. Without a cycle: the same document and [].
    """
    found: dict[str, None] = {}
    while cycle := cycle_keys(document):
        found |= dict.fromkeys(cycle)
        step, needed = cycle[-2:]
        document = replace(
            document,
            checklist=tuple(
                replace(s, prerequisites=tuple(p for p in s.prerequisites if p != needed)) if s.key == step else s
                for s in document.checklist
            ),
        )
    return document, list(found)


def graph_components(document: Document) -> list[list[str]]:
    """Keys of the nodes that relations connect, whatever their direction: one list per component, in document order.

    More than one component means a disconnected graph; no nodes gives []. Relations with a missing end count for none.
    """
    groups = {node.key: [node.key] for node in document.nodes}
    for relation in document.relations:
        one, other = groups.get(relation.from_node), groups.get(relation.to_node)
        if one is None or other is None or one is other:
            continue
        one.extend(other)
        for key in other:
            groups[key] = one
    order = {node.key: position for position, node in enumerate(document.nodes)}
    distinct = {id(group): group for group in groups.values()}
    return [sorted(group, key=order.__getitem__) for group in distinct.values()]


@dataclass(frozen=True, slots=True)
class Coverage:
    """Which steps name which node and relation: key -> keys of steps, for every node and relation, in order."""

    nodes: Mapping[str, tuple[str, ...]]
    relations: Mapping[str, tuple[str, ...]]

    @property
    def uncovered_nodes(self) -> list[str]:
        return [key for key, steps in self.nodes.items() if not steps]

    @property
    def uncovered_relations(self) -> list[str]:
        return [key for key, steps in self.relations.items() if not steps]


def coverage(document: Document) -> Coverage:
    """Which steps cover each node and relation. A step covers what it links to, and not the ends of its relations."""
    nodes: dict[str, list[str]] = {node.key: [] for node in document.nodes}
    relations: dict[str, list[str]] = {relation.key: [] for relation in document.relations}
    for step in document.checklist:
        for covered, keys in ((nodes, step.nodes), (relations, step.relations)):
            for key in keys:
                if key in covered:
                    covered[key].append(step.key)
    return Coverage(
        nodes={key: tuple(steps) for key, steps in nodes.items()},
        relations={key: tuple(steps) for key, steps in relations.items()},
    )


@dataclass(frozen=True, slots=True)
class Breakage:
    """What would not hold without one step."""

    descendants: tuple[str, ...]  # steps that rest on it
    nodes: tuple[str, ...]  # nodes that no other step covers
    relations: tuple[str, ...]
    answer: bool  # the final step is this one or rests on it


def breakages(document: Document) -> dict[str, Breakage]:
    """For each step, by key and in order, what rests on it alone. No steps: {}. Raises ValueError on a cycle."""
    steps = [step.key for step in document.checklist]
    covered = coverage(document)
    alone: dict[str, tuple[list[str], list[str]]] = {key: ([], []) for key in steps}
    for place, covering in enumerate((covered.nodes, covered.relations)):
        for key, by in covering.items():
            if len(by) == 1:
                alone[by[0]][place].append(key)
    last = len(steps) - 1
    result = {}
    for position, (key, mask) in enumerate(zip(steps, descendants(document.prerequisite_positions()), strict=True)):
        below = positions(mask)
        nodes, relations = alone[key]
        result[key] = Breakage(
            descendants=tuple(steps[step] for step in below),
            nodes=tuple(nodes),
            relations=tuple(relations),
            answer=position == last or bool(mask >> last & 1),
        )
    return result


def what_breaks(document: Document, step_key: str) -> Breakage:
    """What rests on a step alone. Raises KeyError for an unknown step, ValueError on a cycle."""
    return breakages(document)[step_key]


def is_non_text(modality: str | None) -> bool:
    """Whether a modality says that the evidence is something else than text; nothing said is not."""
    return modality not in (None, "text")


def is_wikipedia(source: Source) -> bool:
    """Whether a source is a Wikipedia page, by its kind or by the host of its URL."""
    return source.kind == "wikipedia" or is_wikipedia_url(source.url)


@dataclass(frozen=True, slots=True)
class Figures:
    """What lists show of an item."""

    steps: int
    depth: int
    nodes: int
    relations: int
    sources: int
    images: int
    question_images: int
    non_text_steps: int
    wikipedia_share: int | None  # percent of the sources, halves rounded up; None without sources


def item_figures(document: Document) -> Figures:
    """The figures of an item. Raises ValueError on a cycle."""
    sources = len(document.sources)
    wikipedia = sum(map(is_wikipedia, document.sources))
    return Figures(
        steps=len(document.checklist),
        depth=depth(document.prerequisite_positions()),
        nodes=len(document.nodes),
        relations=len(document.relations),
        sources=sources,
        images=len(document.images),
        question_images=sum(image.role == "question" for image in document.images),
        non_text_steps=sum(is_non_text(step.modality) for step in document.checklist),
        wikipedia_share=wikipedia_share(wikipedia, sources),
    )


def wikipedia_share(wikipedia: int, sources: int) -> int | None:
    """Percent of the sources that are Wikipedia, halves rounded up; None without sources."""
    return (200 * wikipedia + sources) // (2 * sources) if sources else None
