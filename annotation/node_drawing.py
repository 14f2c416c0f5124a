"""Layout of the Node-Relation graph: entities in columns from left to right, relations between them, the answer last.

PURE: imports no Django, only pure modules of this app. `templates/annotation/_graph.html` prints it.
Lengths are in user units of the SVG (px at 100%), x to the right, y down. Same document, same drawing.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Final

from annotation import graph
from annotation.document import Document, Relation
from annotation.drawing import EDGE_LOOKS, NODE_CLASSES, Drawing, DrawnEdge, DrawnNode, fit, text_width
from annotation.layers import Layers

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
    Where there is a checklist, what none of its steps covers is marked.
    """
    covered = graph.coverage(document)
    bare = {*covered.uncovered_nodes, *covered.uncovered_relations} if document.checklist else set()
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
                classes=NODE_CLASSES[""] + (" g-node-unc" if node.key in bare else ""),
                status="",
                non_text=", ".join(dict.fromkeys(modalities)),
                steps=covered.nodes[node.key],
                uncovered=node.key in bare,
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
            classes, arrow = EDGE_LOOKS["answer"]
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
        edges=tuple(
            replace(edge, steps=covered.relations[edge.key], uncovered=edge.key in bare) if edge.key else edge
            for edge in drawn
        ),
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
    classes, arrow = EDGE_LOOKS["critical"]
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
