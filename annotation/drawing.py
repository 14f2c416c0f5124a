"""Layout of the checklist DAG, places and classes; what it shares with the Node-Relation graph's (`node_drawing`).

PURE: imports no Django, only pure modules of this app. `templates/annotation/_dag.html` prints it.
Lengths are in user units of the SVG (px at 100%), x to the right, y down. Same document, same drawing.
"""

import unicodedata
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Final, Literal

from annotation import graph
from annotation.document import Document
from annotation.layers import Layers

Mark = Literal["satisfied", "blocked", "missing", "error"]
CREDIT: Final = ("satisfied", "blocked", "missing")
EdgeKind = Literal["normal", "critical", "redundant", "satisfied", "blocked", "answer"]

NODE_CLASSES: Final = {
    "": "g-node",
    "critical": "g-node g-node-crit",
    "error": "g-node-err",
    "satisfied": "g-node-ok",
    "blocked": "g-node-block",
    "missing": "g-node-miss",
    "dead": "g-node g-node-dead",
}
# kind -> (classes, name of the arrow head). Later kinds are drawn over earlier ones.
EDGE_LOOKS: Final[dict[EdgeKind, tuple[str, str]]] = {
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
    dead: bool = False  # the final step does not rest on it
    merge: bool = False  # branches meet in it
    steps: tuple[str, ...] = ()  # keys of the steps that cover an entity
    uncovered: bool = False  # no step covers the entity, and there are steps

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
    steps: tuple[str, ...] = ()  # keys of the steps that cover a relation
    uncovered: bool = False  # no step covers the relation, and there are steps


@dataclass(frozen=True, slots=True)
class Heat:
    """How much is shown at a step. level: 0 (nothing) to HOTTEST. label: a few characters beside it. words: the same
    in full, for its title."""

    level: int
    label: str
    words: str


HOTTEST: Final = 4


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
        seen += ["dead" for node in self.nodes if node.dead] + ["merge" for node in self.nodes if node.merge]
        seen += ["non_text" for node in self.nodes if node.non_text]
        seen += [edge.kind for edge in self.edges if edge.kind in ("critical", "redundant")]
        seen += ["dashed" if edge.dashed else "solid" for edge in self.edges if edge.key]
        seen += ["uncovered" for node in self.nodes if node.uncovered]
        seen += ["uncovered" for edge in self.edges if edge.uncovered]
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
_HEAT_ROOM: Final = 26  # for what stands beside the rightmost step
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
    dead = frozenset(graph.dead_steps(needs) if not credit else ())
    merges = frozenset(step for step, direct in enumerate(reduced) if len(direct) > 1 and not credit)
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
        look = status or ("dead" if position in dead else "critical" if position in path and not credit else "")
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
                classes=NODE_CLASSES[look],
                status=status,
                non_text=": ".join(evidence) if graph.is_non_text(step.modality) else "",
                dead=position in dead,
                merge=position in merges,
            )
        )

    def edge(needed: int, step: int, kind: EdgeKind, d: str, implied_by: str = "") -> DrawnEdge:
        classes, arrow = EDGE_LOOKS[kind]
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
    order = list(EDGE_LOOKS)
    return Drawing(
        width=max(least_width, right),
        height=_TOP * 2 + _LEVEL * max(len(layers.layers) - 1, 0),
        nodes=tuple(nodes),
        edges=tuple(sorted(drawn, key=lambda drawn_edge: order.index(drawn_edge.kind))),
        bands=tuple(Band(f"L{number}", _TOP + _LEVEL * number) for number in range(len(layers.layers))),
        path=", ".join(str(position + 1) for position in path),
        link=link,
    )


def with_heat(drawing: Drawing, heat: Mapping[str, Heat]) -> Drawing:
    """The drawing of a checklist with each step shaded by its heat, and the arrows out of it as heavy as it.

    Nothing else is marked: redundant edges are left out, as no score depends on them. heat: of every step, by key.
    """
    nodes = tuple(
        replace(
            node,
            classes=f"g-node g-heat-{heat[node.key].level}",
            sublabel=heat[node.key].label,
            title=f"{node.title} ({heat[node.key].words})",
            dead=False,
            merge=False,
            non_text="",
        )
        for node in drawing.nodes
    )
    kept = (edge for edge in drawing.edges if edge.kind != "redundant")
    edges = [
        replace(edge, kind="normal", arrow="n", classes=f"g-edge g-weight-{heat[edge.from_key].level}") for edge in kept
    ]
    edges.sort(key=lambda edge: heat[edge.from_key].level)
    return replace(drawing, nodes=nodes, edges=tuple(edges), width=drawing.width + _HEAT_ROOM)


def with_numbers(drawing: Drawing, numbers: Mapping[str, int]) -> Drawing:
    """The drawing of a checklist with other numbers for its steps, by key: those of the rows of a form."""
    new = {str(node.number): str(numbers[node.key]) for node in drawing.nodes}

    def renamed(text: str) -> str:
        return ", ".join(new[number] for number in text.split(", ")) if text else ""

    return replace(
        drawing,
        nodes=tuple(replace(n, number=numbers[n.key], label=str(numbers[n.key])) for n in drawing.nodes),
        edges=tuple(
            replace(
                e,
                from_number=numbers[e.from_key],
                to_number=numbers[e.to_key],
                implied_by=renamed(e.implied_by),
            )
            for e in drawing.edges
        ),
        path=renamed(drawing.path),
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
