"""Layout of the drawn graphs: what is drawn, where, and that it can be read."""

import random
import re
from typing import Any

import pytest
from hypothesis import given, settings

from annotation import graph
from annotation.document import Document, read_document
from annotation.drawing import Drawing, DrawnEdge, Heat, draw_checklist, fit, text_width, with_heat, with_numbers
from annotation.node_drawing import draw_graph
from tests.documents import good_data
from tests.strategies import dags, documents


def checklist(*needs: str, **more: dict[str, Any]) -> Document:
    """checklist("", "1", "1 2"): three steps c1 to c3 with the prerequisites given by number."""
    steps = [
        {"key": f"c{n}", "conclusion": f"It is {n}.", "prerequisites": [f"c{p}" for p in text.split()]}
        | more.get(f"c{n}", {})
        for n, text in enumerate(needs, 1)
    ]
    return read_document({"id": "x", "checklist": steps})


def from_positions(prerequisites: list[list[int]]) -> Document:
    return checklist(*(" ".join(str(p + 1) for p in needs) for needs in prerequisites))


def relations(*pairs: str, nodes: int, answer: str = "", **more: Any) -> Document:
    """relations("1 2", "2 3", nodes=3): relations r1, r2 between nodes n1 to n3."""
    rows = [
        {"key": f"r{n}", "from": f"n{pair.split()[0]}", "to": f"n{pair.split()[1]}", **more}
        for n, pair in enumerate(pairs, 1)
    ]
    entities = [{"key": f"n{n}", "entity": f"Entity {n}"} for n in range(1, nodes + 1)]
    return read_document({"id": "x", "answer": answer, "nodes": entities, "relations": rows})


def by_key(drawing: Drawing) -> dict[str, Any]:
    return {node.key: node for node in drawing.nodes}


def kinds(drawing: Drawing) -> dict[tuple[str, str], str]:
    return {(edge.from_key, edge.to_key): edge.kind for edge in drawing.edges}


def sampled(d: str) -> list[tuple[float, float]]:
    """Points along an SVG path of M, C, H and V, close enough to see what it touches."""
    points: list[tuple[float, float]] = []
    for command, text in re.findall(r"([MCHV])([^MCHV]*)", d):
        numbers = [float(number) for number in text.split()]
        if command == "M":
            points.append((numbers[0], numbers[1]))
            continue
        x, y = points[-1]
        if command == "H":
            numbers = [x, y, numbers[0], y, numbers[0], y]
        elif command == "V":
            numbers = [x, y, x, numbers[0], x, numbers[0]]
        for step in range(1, 41):
            t = step / 40
            a, b, c, e = (1 - t) ** 3, 3 * t * (1 - t) ** 2, 3 * t * t * (1 - t), t**3
            points.append((
                a * x + b * numbers[0] + c * numbers[2] + e * numbers[4],
                a * y + b * numbers[1] + c * numbers[3] + e * numbers[5],
            ))  # fmt: skip
    return points


def nodes_crossed(drawing: Drawing, edge: DrawnEdge) -> list[str]:
    """Keys of nodes that an edge runs through, its own ends excepted."""
    others = [node for node in drawing.nodes if node.key not in (edge.from_key, edge.to_key)]
    return [
        node.key
        for node in others
        if any(
            node.left + 1 < x < node.right - 1 and node.top + 1 < y < node.top + node.height - 1
            for x, y in sampled(edge.d)
        )
    ]


def crossings(drawing: Drawing) -> int:
    """How often straight lines between the ends of edges of neighbouring levels would cross."""
    at = {node.key: node for node in drawing.nodes}
    lines = [(at[edge.from_key], at[edge.to_key]) for edge in drawing.edges]
    return sum(
        a.y == c.y and b.y == d.y and (a.x - c.x) * (b.x - d.x) < 0
        for n, (a, b) in enumerate(lines)
        for c, d in lines[:n]
    )


def check_picture(drawing: Drawing) -> None:
    """Nothing overlaps, and everything lies inside the picture."""
    for n, node in enumerate(drawing.nodes):
        assert node.left >= 0
        assert node.top >= 0
        assert node.right <= drawing.width
        assert node.top + node.height <= drawing.height
        for other in drawing.nodes[:n]:
            apart_x = abs(node.x - other.x) >= (node.width + other.width) / 2
            assert apart_x or abs(node.y - other.y) >= (node.height + other.height) / 2, (node.key, other.key)
    for edge in drawing.edges:
        for x, y in sampled(edge.d):
            assert 0 <= x <= drawing.width, edge
            assert 0 <= y <= drawing.height, edge


# --- the checklist ------------------------------------------------------------------------------------------------

# The shape of a typical item: two branches from step 1 that meet in 12; 10 -> 12 is implied by 10 -> 11 -> 12.
ITEM = checklist("", "1", "2", "3", "4", "5", "6", "1", "8", "9", "10", "7 10 11", c10={"modality": "image", "effect": "constrains"})  # fmt: skip  # noqa: E501


def test_checklist_has_a_band_for_each_level_and_steps_on_theirs() -> None:
    drawing = draw_checklist(ITEM)
    assert [band.label for band in drawing.bands] == ["L0", "L1", "L2", "L3", "L4", "L5", "L6", "L7"]
    rows = {band.y: int(band.label[1:]) for band in drawing.bands}
    assert [rows[node.y] for node in drawing.nodes] == graph.levels(ITEM.prerequisite_positions())
    assert [node.label for node in drawing.nodes] == [str(n) for n in range(1, 13)]
    check_picture(drawing)


def test_checklist_marks_the_longest_path_and_the_redundant_edge() -> None:
    drawing = draw_checklist(ITEM)
    found = kinds(drawing)
    assert found["c1", "c2"] == found["c7", "c12"] == "critical"
    assert found["c1", "c8"] == found["c11", "c12"] == "normal"
    assert found["c10", "c12"] == "redundant"
    assert len(found) == 13
    assert drawing.path == "1, 2, 3, 4, 5, 6, 7, 12"
    (redundant,) = [edge for edge in drawing.edges if edge.kind == "redundant"]
    assert redundant.implied_by == "10, 11, 12"
    assert "g-edge-red" in redundant.classes
    assert "g-node-crit" in by_key(drawing)["c3"].classes
    assert "g-node-crit" not in by_key(drawing)["c9"].classes
    assert drawing.legend == {"merge": 1, "non_text": 1, "critical": 7, "redundant": 1}


def test_checklist_draws_chains_straight_and_lets_no_edge_run_through_a_step() -> None:
    drawing = draw_checklist(ITEM)
    at = by_key(drawing)
    assert len({at[key].x for key in ("c2", "c3", "c4", "c5", "c6", "c7")}) == 1
    assert len({at[key].x for key in ("c8", "c9", "c10", "c11")}) == 1
    assert at["c2"].x < at["c1"].x < at["c8"].x
    assert [edge for edge in drawing.edges if nodes_crossed(drawing, edge)] == []
    assert crossings(drawing) == 0


def test_checklist_tells_what_non_text_evidence_a_step_has() -> None:
    nodes = by_key(draw_checklist(ITEM))
    assert nodes["c10"].non_text == "image: constrains"
    assert nodes["c1"].non_text == ""
    assert nodes["c1"].title == "It is 1."


def test_checklist_with_credit_shows_where_it_flows() -> None:
    # c3 is missing, so c4, though stated, is blocked, and with it c12.
    marks = dict.fromkeys(("c1", "c2", "c8", "c9", "c10", "c11"), "satisfied")
    marks |= {"c3": "missing", **dict.fromkeys(("c4", "c5", "c6", "c7", "c12"), "blocked")}
    drawing = draw_checklist(ITEM, marks)  # type: ignore[arg-type]
    found, nodes = kinds(drawing), by_key(drawing)
    assert found["c1", "c2"] == "satisfied"
    assert found["c2", "c3"] == "normal"  # credit arrives, and is not taken
    assert found["c3", "c4"] == found["c4", "c5"] == found["c7", "c12"] == "blocked"
    assert found["c11", "c12"] == "normal"
    assert ("c10", "c12") not in found  # redundant
    assert (nodes["c3"].shape, nodes["c3"].classes) == ("square", "g-node-miss")
    assert (nodes["c4"].shape, nodes["c4"].classes) == ("circle", "g-node-block")
    assert nodes["c1"].classes == "g-node-ok"
    assert drawing.legend == {"satisfied": 6, "missing": 1, "blocked": 5, "non_text": 1}
    check_picture(drawing)


def test_checklist_with_an_error_keeps_the_longest_path() -> None:
    drawing = draw_checklist(ITEM, {"c8": "error", "gone": "error"})
    assert by_key(drawing)["c8"].classes == "g-node-err"
    assert kinds(drawing)["c1", "c2"] == "critical"


def test_checklist_refuses_a_cycle() -> None:
    with pytest.raises(ValueError, match="cycle"):
        draw_checklist(checklist("2", "1"))


def test_checklist_without_steps_draws_nothing() -> None:
    drawing = draw_checklist(checklist())
    assert (drawing.nodes, drawing.edges, drawing.bands) == ((), (), ())


def test_checklist_of_one_step_stands_in_a_picture_of_the_usual_width() -> None:
    drawing = draw_checklist(checklist(""))
    assert drawing.width == 204
    assert 80 < drawing.nodes[0].x < 140
    check_picture(drawing)


def test_checklist_with_a_step_before_its_prerequisite_draws_the_edge_downwards() -> None:
    nodes = by_key(draw_checklist(checklist("2", "")))
    assert nodes["c2"].y < nodes["c1"].y


def test_checklist_with_a_wide_level_grows_wider() -> None:
    drawing = draw_checklist(checklist(*[""] * 30, " ".join(map(str, range(1, 31)))))
    check_picture(drawing)
    assert drawing.width > 30 * 40
    assert len({node.y for node in drawing.nodes}) == 2


def test_checklist_of_two_separate_parts_draws_both() -> None:
    drawing = draw_checklist(checklist("", "1", "", "3"))
    check_picture(drawing)
    assert crossings(drawing) == 0


def test_checklist_untangles_crossing_branches() -> None:
    # As listed, 1 -> 6, 2 -> 5, 3 -> 4 would all cross.
    assert crossings(draw_checklist(checklist("", "", "", "3", "2", "1"))) == 0
    # 4 needs 1 and 3, 5 needs 2: with the roots in order 3 -> 4 crosses 2 -> 5, with 2 at a side nothing does.
    assert crossings(draw_checklist(checklist("", "", "", "1 3", "2"))) == 0


def test_checklist_where_every_step_needs_every_earlier_one_stays_bounded() -> None:
    drawing = draw_checklist(from_positions([list(range(n)) for n in range(60)]))
    check_picture(drawing)
    assert drawing.width < 400
    assert len(drawing.edges) == 59 * 60 // 2


@pytest.mark.parametrize("seed", range(6))
def test_checklist_of_many_steps_is_readable(seed: int) -> None:
    source = random.Random(seed)
    drawing = draw_checklist(
        from_positions([[p for p in range(max(0, n - 9), n) if source.random() < 0.2] for n in range(60)])
    )
    check_picture(drawing)
    assert [edge.d for edge in drawing.edges if nodes_crossed(drawing, edge)] == []


@settings(max_examples=60)
@given(dags(max_steps=14))
def test_checklist_of_any_shape_is_drawn_whole_and_the_same_each_time(prerequisites: list[list[int]]) -> None:
    document = from_positions(prerequisites)
    drawing = draw_checklist(document)
    check_picture(drawing)
    assert len(drawing.nodes) == len(prerequisites)
    assert set(kinds(drawing)) == {(f"c{p + 1}", f"c{s + 1}") for s, needs in enumerate(prerequisites) for p in needs}
    assert draw_checklist(read_document(document.to_json())) == drawing
    at = by_key(drawing)
    for edge in drawing.edges:
        assert at[edge.from_key].y < at[edge.to_key].y
        assert nodes_crossed(drawing, edge) == []


# --- the Node-Relation graph --------------------------------------------------------------------------------------


def test_graph_runs_left_to_right_and_ends_in_the_answer() -> None:
    drawing = draw_graph(relations("1 2", "1 3", "2 4", nodes=4, answer="337"))
    at = by_key(drawing)
    assert at["n1"].x < at["n2"].x == at["n3"].x < at["n4"].x < at[""].x
    assert (at[""].label, at[""].shape, at[""].classes) == ("337", "answer", "g-node-ans")
    # n3 and n4 lead nowhere else.
    assert {edge.from_key for edge in drawing.edges if edge.kind == "answer"} == {"n3", "n4"}
    assert (drawing.entities, drawing.relations) == (4, 3)
    check_picture(drawing)


def test_graph_dashes_shared_attributes_and_only_them() -> None:
    document = read_document({
        "id": "x",
        "nodes": [{"key": "n1"}, {"key": "n2"}],
        "relations": [
            {"key": "r1", "from": "n1", "to": "n2", "kind": "shared_attribute", "via": "family"},
            {"key": "r2", "from": "n1", "to": "n2", "kind": "uniqueness_constraint", "via": "tower"},
        ],
    })  # fmt: skip
    drawing = draw_graph(document)
    assert [(edge.key, edge.dashed, edge.label) for edge in drawing.edges] == [
        ("r1", True, "family"), ("r2", False, "tower"),
    ]  # fmt: skip
    first, second = drawing.edges
    assert abs(first.label_y - second.label_y) >= 14  # two relations between the same nodes: labels apart
    assert drawing.legend == {"dashed": 1, "solid": 1}


def test_graph_cuts_long_labels_and_keeps_the_whole_in_the_title() -> None:
    name = "Institute for the Study of Very Long Names"
    document = read_document({"id": "x", "answer": "a\nb", "nodes": [{"key": "n1", "entity": name, "kind": "place"}]})
    node, answer = draw_graph(document).nodes
    assert node.label.endswith("…")
    assert name in node.title
    assert node.sublabel == "n1 · place"
    assert (answer.label, answer.title) == ("a b", "a\nb")


def test_graph_marks_nodes_with_non_text_properties() -> None:
    properties = [{"name": "logo", "modality": "image"}, {"name": "year", "modality": "text"}, {"modality": "pdf"}]
    document = read_document({"id": "x", "nodes": [{"key": "n1", "properties": properties}, {"key": "n2"}]})
    first, second = draw_graph(document).nodes
    assert (first.non_text, second.non_text) == ("image, pdf", "")
    assert first.sublabel == "n1 · logo"
    assert second.label == "n2"  # no entity yet: its key


def test_graph_draws_a_relation_that_closes_a_cycle_backwards() -> None:
    drawing = draw_graph(relations("1 2", "2 3", "3 1", nodes=3, answer="x"))
    check_picture(drawing)
    at = by_key(drawing)
    assert at["n1"].x < at["n2"].x < at["n3"].x < at[""].x
    assert [edge.arrow_at_start for edge in drawing.edges] == [False, False, True, False]


def test_graph_draws_a_relation_of_a_node_with_itself() -> None:
    drawing = draw_graph(relations("1 1", nodes=1, answer="x"))
    assert [edge.kind for edge in drawing.edges] == ["answer", "normal"]
    check_picture(drawing)


def test_graph_leaves_unconnected_nodes_unconnected() -> None:
    drawing = draw_graph(relations("1 2", nodes=3, answer="x"))
    assert {edge.from_key for edge in drawing.edges if edge.kind == "answer"} == {"n2"}
    check_picture(drawing)


def test_graph_without_nodes_draws_nothing() -> None:
    drawing = draw_graph(relations(nodes=0, answer="x"))
    assert (drawing.nodes, drawing.edges) == ((), ())


def test_graph_leaves_out_a_relation_to_a_node_that_is_gone() -> None:
    drawing = draw_graph(relations("1 2", "1 9", nodes=2))
    assert [edge.key for edge in drawing.edges] == ["r1"]


@settings(max_examples=60)
@given(documents())
def test_graph_of_any_shape_is_drawn_whole_and_the_same_each_time(document: Document) -> None:
    drawing = draw_graph(document)
    check_picture(drawing)
    assert [node.key for node in drawing.nodes if node.key] == [node.key for node in document.nodes]
    assert sorted(edge.key for edge in drawing.edges if edge.key) == sorted(r.key for r in document.relations)
    assert draw_graph(read_document(document.to_json())) == drawing


# --- text ---------------------------------------------------------------------------------------------------------


def test_text_width_counts_chinese_double_and_combining_marks_not_at_all() -> None:
    assert text_width("漢字", 10) == 20
    assert text_width("e\u0301", 10) == text_width("e", 10)
    assert text_width("ill", 10) < text_width("wWm", 10)


def test_fit_cuts_only_what_is_too_wide() -> None:
    assert fit("short", 100, 11) == "short"
    assert fit("two\nlines  here", 200, 11) == "two lines here"
    cut = fit("x" * 50, 100, 11)
    assert cut.endswith("…")
    assert text_width(cut, 11) <= 100
    assert fit("", 100, 11) == ""
    assert text_width(fit("漢" * 50, 100, 11), 11) <= 100


def test_dead_steps_are_grey_and_merges_marked_but_not_under_credit() -> None:
    # c4 rests on c2 and c3, c5 on c1 alone and is not final; c6 is, and needs c4.
    document = checklist("", "1", "1", "2 3", "1", "4")
    nodes = by_key(draw_checklist(document))
    assert [key for key, node in nodes.items() if node.dead] == ["c5"]
    assert [key for key, node in nodes.items() if node.merge] == ["c4"]
    assert "g-node-dead" in nodes["c5"].classes
    assert draw_checklist(document).legend["dead"] == draw_checklist(document).legend["merge"] == 1
    credit = by_key(draw_checklist(document, {"c1": "satisfied"}))
    assert not any(node.dead or node.merge for node in credit.values())


def test_with_numbers_calls_steps_what_their_rows_are_called() -> None:
    # rows 2, 4 and 7 of a form; 7 needs 4 and 2, which 4 needs too
    drawing = with_numbers(draw_checklist(checklist("", "1", "2 1")), {"c1": 2, "c2": 4, "c3": 7})
    assert [(n.number, n.label) for n in drawing.nodes] == [(2, "2"), (4, "4"), (7, "7")]
    assert drawing.path == "2, 4, 7"
    redundant = next(e for e in drawing.edges if e.kind == "redundant")
    assert (redundant.from_number, redundant.to_number, redundant.implied_by) == (2, 7, "2, 4, 7")


def test_graph_marks_what_no_step_covers_once_there_are_steps() -> None:
    data = good_data()
    data["checklist"][2]["nodes"] = []  # c3 alone covers n2
    data["checklist"][3]["relations"] = []  # c4 alone covers r2
    drawing = draw_graph(read_document(data))
    nodes = {n.key: (n.steps, n.uncovered, "g-node-unc" in n.classes) for n in drawing.nodes}
    assert nodes["n1"] == (("c1", "c2"), False, False)
    assert nodes["n2"] == ((), True, True)
    edges = {e.key: (e.steps, e.uncovered) for e in drawing.edges if e.key}
    assert edges == {"r1": (("c2",), False), "r2": ((), True), "r3": (("c5",), False), "r4": (("c6",), False)}
    assert drawing.legend["uncovered"] == 2
    data["checklist"] = []
    assert "uncovered" not in draw_graph(read_document(data)).legend


def test_heat_shades_steps_and_weighs_the_arrows_out_of_them_and_marks_nothing_else():
    plain = draw_checklist(checklist("", "1", "1", "2 3", "4 1"))  # 5 on 1 is redundant, 4 is where branches meet
    heat = {f"c{n}": Heat(n - 1, f"{n}%" if n > 1 else "", f"costs {n}%") for n in range(1, 6)}
    drawn = with_heat(plain, heat)
    nodes = by_key(drawn)
    assert [nodes[f"c{n}"].classes for n in (1, 5)] == ["g-node g-heat-0", "g-node g-heat-4"]
    assert nodes["c3"].sublabel == "3%" and nodes["c3"].title == "It is 3. (costs 3%)" and not nodes["c1"].sublabel
    weights = {(edge.from_number, edge.to_number): edge.classes for edge in drawn.edges}
    assert weights == {
        (1, 2): "g-edge g-weight-0", (1, 3): "g-edge g-weight-0", (2, 4): "g-edge g-weight-1",
        (3, 4): "g-edge g-weight-2", (4, 5): "g-edge g-weight-3",
    }  # fmt: skip
    assert drawn.edges[-1].classes == "g-edge g-weight-3", "the heaviest is drawn over the others"
    assert drawn.legend == {} and plain.legend["merge"] == 1 and drawn.width > plain.width
    assert [(n.x, n.y) for n in drawn.nodes] == [(n.x, n.y) for n in plain.nodes]
