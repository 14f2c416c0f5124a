"""Layout of the two server-drawn pictures, the checklist DAG and the Node-Relation graph: places and classes.

PURE: imports no Django, only pure modules of this app. `templates/annotation/_dag.html` and `_graph.html` print it.
Lengths are in user units of the SVG (px at 100%), x to the right, y down. Same document, same drawing.
"""

import unicodedata
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Final, Literal

from annotation import graph
from annotation.document import Document, Relation
from annotation.layers import Layers

Mark = Literal["satisfied", "blocked", "missing", "error"]
CREDIT: Final = ("satisfied", "blocked", "missing")
EdgeKind = Literal["normal", "critical", "redundant", "satisfied", "blocked", "answer"]

_NODE_CLASSES: Final = {
    "": "g-node",
    "critical": "g-node g-node-crit",
    "error": "g-node-err",
    "satisfied": "g-node-ok",
    "blocked": "g-node-block",
    "missing": "g-node-miss",
}
# kind -> (classes, name of the arrow head). Later kinds are drawn over earlier ones.
_EDGE_LOOKS: Final[dict[EdgeKind, tuple[str, str]]] = {
    "normal": ("g-edge", "n"),
    "answer": ("g-edge", "n"),
    "redundant": ("g-edge g-edge-red", "amber"),
    "blocked": ("g-edge g-edge-block", "amber"),
    "satisfied": ("g-edge g-edge-ok", "ok"),
    "critical": ("g-edge g-edge-crit", "crit"),
}


@dataclass(frozen=True, slots=True)
class Band:
    """The line of one level; y of its middle."""

    label: str
    y: int


@dataclass(frozen=True, slots=True)
class DrawnNode:
    """A step, an entity or the answer. x, y: its middle."""

    key: str  # "" for the answer
    number: int  # position in its list, from 1; 0 for the answer
    label: str  # cut to fit
    sublabel: str  # cut to fit
    title: str  # the whole text
    x: int
    y: int
    width: int
    height: int
    shape: Literal["circle", "square", "box", "answer"]
    classes: str
    status: Mark | Literal[""]
    non_text: str  # what the non-text evidence is, e.g. "image: identifies"; "" for none

    @property
    def left(self) -> int:
        return self.x - self.width // 2

    @property
    def top(self) -> int:
        return self.y - self.height // 2

    @property
    def right(self) -> int:
        return self.left + self.width


@dataclass(frozen=True, slots=True)
class DrawnEdge:
    """From what is needed to what needs it, or along a relation. `from_number` and `to_number` are for people."""

    key: str  # of the relation; "" in the checklist
    from_key: str
    to_key: str  # "" for the answer
    from_number: int
    to_number: int
    d: str
    kind: EdgeKind
    classes: str
    arrow: str  # n, crit, amber, ok
    arrow_at_start: bool = False  # the path runs against the relation
    dashed: bool = False
    implied_by: str = ""  # redundant edges: the longer way, "10, 11, 12"
    label: str = ""  # cut to fit
    title: str = ""
    label_x: int = 0
    label_y: int = 0


@dataclass(frozen=True, slots=True)
class Drawing:
    """Everything a template needs. No nodes: there is nothing to draw."""

    width: int
    height: int
    nodes: tuple[DrawnNode, ...]
    edges: tuple[DrawnEdge, ...]
    bands: tuple[Band, ...] = ()
    path: str = ""  # numbers of the longest path, "1, 2, 5"
    link: bool = False

    @property
    def legend(self) -> dict[str, int]:
        """How often each thing that a legend explains occurs; what does not occur is left out."""
        seen: list[str] = [node.status for node in self.nodes if node.status]
        seen += ["non_text" for node in self.nodes if node.non_text]
        seen += [edge.kind for edge in self.edges if edge.kind in ("critical", "redundant")]
        seen += ["dashed" if edge.dashed else "solid" for edge in self.edges if edge.key]
        return {what: seen.count(what) for what in dict.fromkeys(seen)}

    @property
    def relations(self) -> int:
        return sum(bool(edge.key) for edge in self.edges)

    @property
    def entities(self) -> int:
        return sum(bool(node.key) for node in self.nodes)


# --- text ---------------------------------------------------------------------------------------------------------


def text_width(text: str, size: float) -> float:
    """About how wide a sans-serif shows the text at a font size, both in px. Errs on the wide side."""
    return sum(map(_em, text)) * size


def _em(character: str) -> float:
    if unicodedata.combining(character) or unicodedata.category(character) in ("Cf", "Mn", "Me"):
        return 0.0
    if unicodedata.east_asian_width(character) in "WF":
        return 1.0
    if character in "iljtfrI.,:;'|!()[]{}/ -·":
        return 0.36
    if character in "mwMW@%&—…":
        return 0.95
    return 0.7 if character.isupper() else 0.61


def fit(text: str, width: float, size: float) -> str:
    """The text on one line, cut with an ellipsis where it would be wider than `width` px at that font size."""
    text = " ".join(text[:400].split())
    room = width - text_width("…", size)
    used, cut = 0.0, 0
    for position, character in enumerate(text):
        used += _em(character) * size
        if used <= room:
            cut = position + 1
        elif used > width:
            return text[:cut].rstrip() + "…"
    return text


# --- the checklist ------------------------------------------------------------------------------------------------

_LEVEL: Final = 60  # from level to level
_TOP: Final = 26
_LEFT: Final = 22  # labels of the levels
_RADIUS: Final = 13
_STEP_GAP: Final = 44
_BEND_GAP: Final = 22
_LANE: Final = 11
_LANES: Final = 8  # a redundant edge passes at most so many others before it shares a lane


def draw_checklist(document: Document, marks: Mapping[str, Mark] | None = None, *, link: bool = False) -> Drawing:
    """The checklist DAG, level 0 on top.

    marks: step key -> how it is marked. With credit (satisfied, blocked, missing) edges show where credit flows, and
    redundant edges are left out, as no score depends on them; without, the longest path and redundant edges show.
    link: nodes lead to `#step-KEY`. Links to steps that are gone are left out. Raises ValueError on a cycle.
    """
    needs = document.prerequisite_positions()
    reduced = graph.reduction(needs)
    level = graph.levels(needs)
    path = graph.critical_path(needs)
    marks = marks or {}
    credit = any(mark in CREDIT for mark in marks.values())
    on_path = frozenset(pairwise(path))
    edges = [(needed, step) for step, direct in enumerate(reduced) for needed in direct]
    layers = Layers(level, edges)
    places = layers.places(_STEP_GAP, _BEND_GAP)

    least_width = 172 if credit else 204
    side = graph.redundant_edges(needs) if not credit else []
    span = max(places, default=0.0)
    # A narrow drawing uses the width that there is.
    room = least_width - _LEFT - 2 * (_RADIUS + 9) - (24 + _LANE if side else 0)
    stretch = min(1.7, max(1.0, room / span)) if span else 1.0
    start = max(_LEFT + 22, _LEFT + _RADIUS + 9 + (room - span * stretch) / 2)
    x = [round(start + place * stretch) for place in places]
    y = [_TOP + _LEVEL * at for at in layers.level]

    steps = document.checklist
    nodes = []
    for position, step in enumerate(steps):
        status: Mark | Literal[""] = marks.get(step.key, "")
        look = status or ("critical" if position in path and not credit else "")
        size = 24 if status == "missing" else 2 * _RADIUS
        evidence = [word for word in (step.modality, step.effect) if word]
        nodes.append(
            DrawnNode(
                key=step.key,
                number=position + 1,
                label=str(position + 1),
                sublabel="",
                title=step.conclusion,
                x=x[position],
                y=y[position],
                width=size,
                height=size,
                shape="square" if status == "missing" else "circle",
                classes=_NODE_CLASSES[look],
                status=status,
                non_text=": ".join(evidence) if graph.is_non_text(step.modality) else "",
            )
        )

    def edge(needed: int, step: int, kind: EdgeKind, d: str, implied_by: str = "") -> DrawnEdge:
        classes, arrow = _EDGE_LOOKS[kind]
        return DrawnEdge(
            "", steps[needed].key, steps[step].key, needed + 1, step + 1, d, kind, classes, arrow, implied_by=implied_by
        )

    def kind_of(needed: int, step: int) -> EdgeKind:
        if not credit:
            return "critical" if (needed, step) in on_path else "normal"
        before, after = nodes[needed].status, nodes[step].status
        if before == after == "satisfied":
            return "satisfied"
        # What is missing or blocked withholds credit from whatever rests on it.
        return "blocked" if before in ("blocked", "missing") else "normal"

    drawn = [
        edge(upper, lower, kind_of(upper, lower), _down([(x[v], y[v]) for v in chain]))
        for (upper, lower), chain in zip(edges, layers.chains, strict=True)
    ]
    right = max(x, default=0) + _RADIUS + 8
    masks = graph.ancestors(needs)
    for dependent, needed, lane in _lanes(side, layers.level, x):
        way = [dependent]
        while way[-1] != needed:
            way.append(next(n for n in reduced[way[-1]] if n == needed or masks[n] >> needed & 1))
        implied = ", ".join(str(position + 1) for position in reversed(way))
        d = _aside(x[needed], y[needed], x[dependent], y[dependent], lane)
        drawn.append(edge(needed, dependent, "redundant", d, implied))
        right = max(right, lane + 6)
    order = list(_EDGE_LOOKS)
    return Drawing(
        width=max(least_width, right),
        height=_TOP * 2 + _LEVEL * max(len(layers.layers) - 1, 0),
        nodes=tuple(nodes),
        edges=tuple(sorted(drawn, key=lambda drawn_edge: order.index(drawn_edge.kind))),
        bands=tuple(Band(f"L{number}", _TOP + _LEVEL * number) for number in range(len(layers.layers))),
        path=", ".join(str(position + 1) for position in path),
        link=link,
    )


def _lanes(edges: Sequence[tuple[int, int]], level: Sequence[int], x: Sequence[int]) -> Iterator[tuple[int, int, int]]:
    """For each redundant (step, prerequisite) the x of a lane to their right, clear of what stands between the two.

    The shortest edges take the innermost lanes; those that overlap take different ones, as far as there are any.
    """
    stands: dict[int, int] = {}  # x of a lane -> bit mask of the levels where something is in its way
    runs: dict[int, int] = {}  # x of a lane -> bit mask of the gaps below each level where an edge runs in it
    for step, needed in sorted(edges, key=lambda edge: (level[edge[0]] - level[edge[1]], edge)):
        passed = (1 << level[step]) - (1 << level[needed] + 1)
        gaps = passed | 1 << level[needed]
        lane, shared = -(-(max(x[needed], x[step]) + 24) // _LANE) * _LANE, 0
        while True:
            if lane not in stands:
                near = {level[v] for v, at in enumerate(x) if abs(lane - at) < _RADIUS + 8}
                stands[lane] = sum(1 << number for number in near)
            if not stands[lane] & passed:
                if shared == _LANES or not runs.get(lane, 0) & gaps:
                    break
                shared += 1
            lane += _LANE
        runs[lane] = runs.get(lane, 0) | gaps
        yield step, needed, lane


def _down(points: Sequence[tuple[int, int]]) -> str:
    """Path from the bottom of the first step to the top of the last, upright where it passes a level between."""
    at, y = points[0][0], points[0][1] + _RADIUS
    d = f"M{at} {y}"
    for number, (x, level_y) in enumerate(points[1:], 1):
        end = level_y - _RADIUS - 1
        if x != at:
            middle = (y + end) / 2
            d += f"C{at} {middle:g} {x} {middle:g} {x} {end}"
        passes = number < len(points) - 1
        y = level_y + _RADIUS if passes else end
        if passes and points[number + 1][0] != x:
            d += f"V{y}"
        elif not passes and x == at:
            d += f"V{end}"
        at = x
    return d


def _aside(x: int, y: int, to_x: int, to_y: int, lane: int) -> str:
    """Path that leaves a step to the lower right, runs down a lane and comes back in from the upper right."""
    start_x, start_y, end_x, end_y = x + 10, y + 9, to_x + 11, to_y - 10
    turn, back = y + _LEVEL * 3 // 4, to_y - _LEVEL * 3 // 4
    return (
        f"M{start_x} {start_y}C{start_x + 12} {y + 30} {lane} {y + 24} {lane} {turn}"
        f"V{back}C{lane} {to_y - 24} {end_x + 14} {to_y - 28} {end_x} {end_y}"
    )


# --- the Node-Relation graph --------------------------------------------------------------------------------------

_GRAPH_WIDTH: Final = 790  # at least, as a page shows it at that size
_BOX_WIDTH: Final = 140
_BOX_HEIGHT: Final = 48
_ROW_GAP: Final = 76
_PASS_GAP: Final = 22
_MARGIN: Final = 14
_BEND: Final = 26  # room in which an edge changes its row
_LABEL_SIZE: Final = 11
_LABEL_ROOM: Final = 104


def draw_graph(document: Document) -> Drawing:
    """The Node-Relation graph from left to right, the answer at its end.

    Unlike the checklist it may hold cycles: relations that close one run back to the left. Relations with a missing end
    are left out. Nodes that lead nowhere point at the answer, unless they have no relation at all and others exist.
    """
    entities = document.nodes
    position = {node.key: number for number, node in enumerate(entities)}
    relations = [r for r in document.relations if r.from_node in position and r.to_node in position]
    ends = [(position[r.from_node], position[r.to_node]) for r in relations]
    back = _closing_edges(len(entities), ends)
    forward = [(b, a) if number in back else (a, b) for number, (a, b) in enumerate(ends)]

    # The layout's edges: relations but loops, then the edges to the answer, which is the vertex after the entities.
    loops = [number for number, (a, b) in enumerate(ends) if a == b]
    straight = [number for number, (a, b) in enumerate(ends) if a != b]
    edges = [forward[number] for number in straight]
    needs: list[list[int]] = [[] for _ in entities]
    for upper, lower in edges:
        needs[lower].append(upper)
    level = graph.levels(needs)
    has_answer = bool(document.answer.strip() and entities)
    if has_answer:
        leading = {upper for upper, _ in edges}
        tied = {end for edge in edges for end in edge}
        last = [n for n in range(len(entities)) if n not in leading and (n in tied or len(entities) == 1)]
        edges += [(n, len(entities)) for n in last]
        level = [*level, max(level) + 1]
    layers = Layers(level, edges)
    places = layers.places(_ROW_GAP, _PASS_GAP)
    y = [round(_MARGIN + _BOX_HEIGHT / 2 + place) for place in places]

    # Where the label of a relation stands: on the row of its target, unless it is one of several that meet there.
    outgoing = [0] * len(level)
    incoming = [0] * len(level)
    for upper, lower in edges:
        outgoing[upper] += 1
        incoming[lower] += 1
    late = [incoming[lower] > 1 and outgoing[upper] == 1 for upper, lower in edges]
    labels = [fit(relations[number].via, _LABEL_ROOM, _LABEL_SIZE) for number in straight]
    room = [54.0] * len(layers.layers)  # between a column and the next
    for number, label in enumerate(labels):
        column = layers.level[layers.chains[number][-2 if late[number] else 1]] - (0 if late[number] else 1)
        if label:
            room[column] = max(room[column], text_width(label, _LABEL_SIZE) + _BEND + 14)
    end_width = _BOX_WIDTH
    if has_answer:
        answer = fit(document.answer, _BOX_WIDTH - 24, 12)
        end_width = min(_BOX_WIDTH, max(56, round(text_width(answer, 12)) + 24))
    content = _BOX_WIDTH * (len(room) - 1) + end_width + sum(map(round, room[:-1])) if entities else 0
    width = max(_GRAPH_WIDTH, content + 12)
    left = [4]
    for gap in room[:-1]:
        left.append(left[-1] + _BOX_WIDTH + round(gap))

    nodes = []
    for number, node in enumerate(entities):
        name = node.entity.strip() or node.key
        about = next((prop.name for prop in node.properties if prop.name.strip()), node.kind or "")
        modalities = [p.modality for p in node.properties if p.modality and graph.is_non_text(p.modality)]
        nodes.append(
            DrawnNode(
                key=node.key,
                number=number + 1,
                label=fit(name, _BOX_WIDTH - 16, 11.5),
                sublabel=fit(f"{node.key} · {about}" if about else node.key, _BOX_WIDTH - 16, 10.5),
                title=f"{node.key} · {name}",
                x=left[level[number]] + _BOX_WIDTH // 2,
                y=y[number],
                width=_BOX_WIDTH,
                height=_BOX_HEIGHT,
                shape="box",
                classes=_NODE_CLASSES[""],
                status="",
                non_text=", ".join(dict.fromkeys(modalities)),
            )
        )
    if has_answer:
        at = left[level[-1]] + end_width // 2
        row = y[len(entities)]
        nodes.append(
            DrawnNode("", 0, answer, "", document.answer, at, row, end_width, 32, "answer", "g-node-ans", "", "")
        )

    # Edges that fork before and meet after end apart, so that their labels do not lie on each other.
    arriving: dict[int, list[int]] = {}
    for number, (_, lower) in enumerate(edges):
        if not late[number] and incoming[lower] > 1 and number < len(straight):
            arriving.setdefault(lower, []).append(number)
    port = [0] * len(edges)
    for numbers in arriving.values():
        numbers.sort(key=lambda n: (y[layers.chains[n][-2]], n))
        apart = min(17, (_BOX_HEIGHT - 14) / max(len(numbers) - 1, 1))
        for place, number in enumerate(numbers):
            port[number] = round((place - (len(numbers) - 1) / 2) * apart)

    drawn = []
    for number, (upper, _) in enumerate(edges):
        chain = layers.chains[number]
        rows = [y[vertex] for vertex in chain]
        rows[-1] += port[number]
        columns = [left[layers.level[vertex]] for vertex in chain]
        if number >= len(straight):
            d = _across(columns, rows, late=False)
            classes, arrow = _EDGE_LOOKS["answer"]
            drawn.append(DrawnEdge("", entities[upper].key, "", upper + 1, 0, d, "answer", classes, arrow))
            continue
        relation = relations[straight[number]]
        reverse = straight[number] in back
        if late[number]:
            middle, row = columns[-1] - (columns[-1] - columns[-2] - _BOX_WIDTH + _BEND) // 2, rows[-2]
        else:
            middle, row = columns[1] - (columns[1] - columns[0] - _BOX_WIDTH - _BEND) // 2, rows[1]
        d = _across(columns, rows, late=late[number])
        drawn.append(_relation_edge(relation, position, d, labels[number], middle, row - 6, reverse=reverse))
    for number in loops:
        box = nodes[ends[number][0]]
        x, top = box.right, box.top
        d = f"M{x - 34} {top}C{x - 38} {top - 16} {x - 6} {top - 16} {x - 10} {top}"
        label = fit(relations[number].via, _LABEL_ROOM, _LABEL_SIZE)
        drawn.append(_relation_edge(relations[number], position, d, label, x - 80, top - 4, reverse=False))
    return Drawing(
        width=width,
        height=max(y, default=0) + _BOX_HEIGHT // 2 + _MARGIN,
        nodes=tuple(nodes),
        edges=tuple(drawn),
    )


def _closing_edges(count: int, ends: Sequence[tuple[int, int]]) -> set[int]:
    """Indices of the edges that close a cycle in a walk from the roots; turned round, they leave none. No loops."""
    following: list[list[tuple[int, int]]] = [[] for _ in range(count)]
    entered = bytearray(count)
    for number, (start, end) in enumerate(ends):
        if start != end:
            following[start].append((number, end))
            entered[end] = 1
    closing: set[int] = set()
    state = bytearray(count)  # 0 new, 1 on the path, 2 done
    for root in sorted(range(count), key=entered.__getitem__):
        if state[root]:
            continue
        state[root] = 1
        path, pending = [root], [iter(following[root])]
        while path:
            for number, end in pending[-1]:
                if state[end] == 1:
                    closing.add(number)
                elif not state[end]:
                    state[end] = 1
                    path.append(end)
                    pending.append(iter(following[end]))
                    break
            else:
                pending.pop()
                state[path.pop()] = 2
    return closing


def _across(columns: Sequence[int], rows: Sequence[int], *, late: bool) -> str:
    """Path from the right side of the first box to the left side of the last, level where it passes a column.

    It changes its row right after a column, or with `late` right before the last one.
    """
    x = columns[0] + _BOX_WIDTH
    d = f"M{x} {rows[0]}"
    for number in range(1, len(columns)):
        x, end, row, to_row = columns[number - 1] + _BOX_WIDTH, columns[number], rows[number - 1], rows[number]
        if row != to_row:
            start = end - _BEND if late and number == len(columns) - 1 else x
            if start != x:
                d += f"H{start}"
            half = start + _BEND // 2
            d += f"C{half} {row} {half} {to_row} {start + _BEND} {to_row}"
        d += f"H{end}"
    return d


def _relation_edge(
    relation: Relation, position: Mapping[str, int], d: str, label: str, x: int, y: int, *, reverse: bool
) -> DrawnEdge:
    classes, arrow = _EDGE_LOOKS["critical"]
    return DrawnEdge(
        key=relation.key,
        from_key=relation.from_node,
        to_key=relation.to_node,
        from_number=position[relation.from_node] + 1,
        to_number=position[relation.to_node] + 1,
        d=d,
        kind="normal",
        classes=classes,
        arrow=arrow,
        arrow_at_start=reverse,
        dashed=relation.kind == "shared_attribute",
        label=label,
        title=relation.via,
        label_x=x,
        label_y=y,
    )
