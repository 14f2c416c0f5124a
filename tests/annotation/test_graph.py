"""Rules of the checklist DAG and the Node-Relation graph: worked out by hand, and against networkx."""

from collections.abc import Callable
from itertools import pairwise

import networkx as nx  # type: ignore[import-untyped]
import pytest
from hypothesis import given
from hypothesis import strategies as st

from annotation import graph
from annotation.document import Document, read_document
from tests.strategies import dags, documents

#   0 -> 1 -> 2 -> 5 (final)      3 -> 4: a dead branch      1 -> 5 is implied by 1 -> 2 -> 5
#   0 ------> 2 is implied too
HAND = [[], [0], [1, 0], [], [3], [2, 1]]


def bits(*positions: int) -> int:
    return sum(1 << position for position in positions)


def as_networkx(prerequisites: list[list[int]]) -> nx.DiGraph:
    oracle = nx.DiGraph()
    oracle.add_nodes_from(range(len(prerequisites)))
    oracle.add_edges_from((needed, step) for step, needs in enumerate(prerequisites) for needed in needs)
    return oracle


def item(**fields: object) -> Document:
    return read_document({"id": "x", **fields})


def steps(*needs: str, **more: object) -> list[dict[str, object]]:
    """steps("", "1", "1 2"): three steps c1 to c3 with the prerequisites given by number."""
    return [
        {"key": f"c{n}", "prerequisites": [f"c{p}" for p in text.split()], **more} for n, text in enumerate(needs, 1)
    ]


def test_rules_on_a_hand_drawn_graph() -> None:
    assert graph.find_cycle(HAND) is None
    assert graph.levels(HAND) == [0, 1, 2, 0, 1, 3]
    assert graph.depth(HAND) == 4  # 0, 1, 2, 5
    assert graph.ancestors(HAND) == [0, bits(0), bits(0, 1), 0, bits(3), bits(0, 1, 2)]
    assert graph.descendants(HAND) == [bits(1, 2, 5), bits(2, 5), bits(5), bits(4), 0, 0]
    assert graph.redundant_edges(HAND) == [(2, 0), (5, 1)]
    assert graph.reduction(HAND) == [[], [0], [1], [], [3], [2]]
    assert graph.closure(HAND) == [[], [0], [0, 1], [], [3], [0, 1, 2]]
    assert graph.sinks(HAND) == [4, 5]
    assert graph.dead_steps(HAND) == [3, 4]
    assert graph.critical_path(HAND) == [0, 1, 2, 5]
    assert graph.merges(HAND) == []  # 2 and 5 have two prerequisites, one of them redundant
    assert graph.forward_edges(HAND) == []


def test_rules_without_steps_are_empty() -> None:
    assert graph.find_cycle([]) is None
    assert graph.depth([]) == 0
    for rule in (
        graph.levels, graph.ancestors, graph.descendants, graph.redundant_edges, graph.reduction, graph.closure,
        graph.sinks, graph.dead_steps, graph.critical_path, graph.merges, graph.forward_edges,
    ):  # fmt: skip
        assert rule([]) == []


def test_single_step_is_root_final_and_sink() -> None:
    assert graph.levels([[]]) == [0]
    assert graph.depth([[]]) == 1
    assert graph.sinks([[]]) == [0]
    assert graph.dead_steps([[]]) == []
    assert graph.critical_path([[]]) == [0]


def test_find_cycle_spells_it_in_the_direction_of_needing() -> None:
    # 0 needs 1, 1 needs 3, 3 needs 2, 2 needs 1: the cycle is 1 needs 3 needs 2 needs 1, and 0 is not on it.
    assert graph.find_cycle([[1], [3], [1], [2]]) == [1, 3, 2, 1]


def test_find_cycle_when_a_step_needs_itself() -> None:
    assert graph.find_cycle([[], [0, 1]]) == [1, 1]


def test_find_cycle_survives_a_chain_of_many_steps() -> None:
    chain: list[list[int]] = [[], *([position] for position in range(20_000))]
    assert graph.find_cycle(chain) is None
    chain[0] = [20_000]
    cycle = graph.find_cycle(chain)
    assert cycle is not None
    assert len(cycle) == 20_002


def test_levels_when_a_step_stands_before_its_prerequisite() -> None:
    assert graph.levels([[2], [0], []]) == [1, 2, 0]
    assert graph.forward_edges([[2], [0], []]) == [(0, 2)]


def test_critical_path_among_equals_goes_through_the_earliest_steps() -> None:
    # Two paths of three: 0 -> 2 -> 4 and 1 -> 3 -> 4; and 5 alone.
    assert graph.critical_path([[], [], [0], [1], [3, 2], []]) == [0, 2, 4]
    assert graph.critical_path([[], []]) == [1]


def test_merges_where_branches_meet() -> None:
    assert graph.merges([[], [0], [0], [1, 2]]) == [3]


def test_repeated_prerequisite_counts_once() -> None:
    assert graph.redundant_edges([[], [0, 0]]) == []
    assert graph.reduction([[], [0, 0]]) == [[], [0]]
    assert graph.merges([[], [0, 0]]) == []
    assert graph.forward_edges([[1, 1], []]) == [(0, 1)]


def test_forward_edges_leave_out_a_step_that_needs_itself() -> None:
    assert graph.forward_edges([[0, 1], []]) == [(0, 1)]


@pytest.mark.parametrize(
    "rule",
    [
        graph.topological_order, graph.levels, graph.depth, graph.ancestors, graph.descendants, graph.redundant_edges,
        graph.reduction, graph.closure, graph.dead_steps, graph.critical_path, graph.merges,
    ],
)  # fmt: skip
def test_rules_that_need_levels_refuse_a_cycle(rule: Callable[[list[list[int]]], object]) -> None:
    with pytest.raises(ValueError, match="0 -> 1 -> 0"):
        rule([[1], [0]])


@pytest.mark.parametrize("position", [-1, 2, 2**70])
@pytest.mark.parametrize("rule", [graph.find_cycle, graph.levels, graph.sinks, graph.forward_edges])
def test_rules_refuse_a_position_out_of_range(rule: Callable[[list[list[int]]], object], position: int) -> None:
    with pytest.raises(ValueError, match="step 1 needs step"):
        rule([[], [position]])


@given(dags())
def test_rules_agree_with_networkx(prerequisites: list[list[int]]) -> None:
    oracle = as_networkx(prerequisites)
    everything = range(len(prerequisites))
    assert graph.find_cycle(prerequisites) is None
    assert graph.depth(prerequisites) == (nx.dag_longest_path_length(oracle) + 1 if prerequisites else 0)
    assert [set(graph.positions(mask)) for mask in graph.ancestors(prerequisites)] == [
        nx.ancestors(oracle, step) for step in everything
    ]
    assert [set(graph.positions(mask)) for mask in graph.descendants(prerequisites)] == [
        nx.descendants(oracle, step) for step in everything
    ]
    reduced = nx.transitive_reduction(oracle)
    assert graph.reduction(prerequisites) == [sorted(reduced.predecessors(step)) for step in everything]
    assert set(graph.redundant_edges(prerequisites)) == {
        (step, needed) for needed, step in oracle.edges - reduced.edges
    }
    closed = nx.transitive_closure_dag(oracle)
    assert graph.closure(prerequisites) == [sorted(closed.predecessors(step)) for step in everything]
    assert graph.sinks(prerequisites) == [step for step in everything if not oracle.out_degree(step)]
    levels = {step: level for level, layer in enumerate(nx.topological_generations(oracle)) for step in layer}
    assert graph.levels(prerequisites) == [levels[step] for step in everything]


@given(dags())
def test_critical_path_is_a_path_as_long_as_the_depth(prerequisites: list[list[int]]) -> None:
    path = graph.critical_path(prerequisites)
    assert len(path) == graph.depth(prerequisites)
    assert all(needed in prerequisites[step] for needed, step in pairwise(path))


@given(st.lists(st.lists(st.integers(0, 5), max_size=3), min_size=6, max_size=6))
def test_find_cycle_agrees_with_networkx(prerequisites: list[list[int]]) -> None:
    cycle = graph.find_cycle(prerequisites)
    assert (cycle is None) == nx.is_directed_acyclic_graph(as_networkx(prerequisites))
    if cycle:
        assert cycle[0] == cycle[-1]
        assert len(set(cycle)) == len(cycle) - 1
        assert all(needed in prerequisites[step] for step, needed in pairwise(cycle))


# --- documents ----------------------------------------------------------------------------------------------------


def test_cycle_text_names_the_keys() -> None:
    document = item(checklist=steps("", "1", "5", "2", "3"))
    assert graph.cycle_keys(document) == ["c3", "c5", "c3"]
    assert graph.cycle_text(document) == "c3 -> c5 -> c3"
    assert graph.cycle_text(item(checklist=steps("", "1"))) is None


def test_graph_components_ignore_direction_and_keep_document_order() -> None:
    nodes = [{"key": key} for key in ("n4", "n1", "n2", "n3", "n5")]
    relations = [
        {"key": "r1", "from": "n3", "to": "n4"},
        {"key": "r2", "from": "n2", "to": "n3"},
        {"key": "r3", "from": "n2", "to": "n4"},
        {"key": "r4", "from": "n1", "to": "gone"},
        {"key": "r5", "from": "n5", "to": "n5"},
    ]
    assert graph.graph_components(item(nodes=nodes, relations=relations)) == [["n4", "n2", "n3"], ["n1"], ["n5"]]
    assert graph.graph_components(item()) == []


@given(documents())
def test_graph_components_agree_with_networkx(document: Document) -> None:
    oracle = nx.Graph()
    oracle.add_nodes_from(node.key for node in document.nodes)
    oracle.add_edges_from((relation.from_node, relation.to_node) for relation in document.relations)
    found = graph.graph_components(document)
    assert sorted(map(sorted, found)) == sorted(map(sorted, nx.connected_components(oracle)))


COVERED = item(
    nodes=[{"key": "n1"}, {"key": "n2"}, {"key": "n3"}],
    relations=[{"key": "r1", "from": "n1", "to": "n2"}, {"key": "r2", "from": "n2", "to": "n3"}],
    checklist=[
        {"key": "c1", "nodes": ["n1"]},
        {"key": "c2", "nodes": ["n1", "n2"], "relations": ["r1"], "prerequisites": ["c1"]},
        {"key": "c3", "nodes": ["gone"]},
        {"key": "c4", "prerequisites": ["c2"]},
    ],
)


def test_coverage_lists_steps_and_what_none_covers() -> None:
    covered = graph.coverage(COVERED)
    assert covered.nodes == {"n1": ("c1", "c2"), "n2": ("c2",), "n3": ()}
    assert covered.relations == {"r1": ("c2",), "r2": ()}
    assert covered.uncovered_nodes == ["n3"]
    assert covered.uncovered_relations == ["r2"]


def test_what_breaks_without_a_step() -> None:
    # n1 is also covered by c2, so only c2 alone takes n2 and r1 with it; c3 is dead: nothing rests on it.
    assert graph.what_breaks(COVERED, "c1") == graph.Breakage(("c2", "c4"), (), (), answer=True)
    assert graph.what_breaks(COVERED, "c2") == graph.Breakage(("c4",), ("n2",), ("r1",), answer=True)
    assert graph.what_breaks(COVERED, "c3") == graph.Breakage((), (), (), answer=False)
    assert graph.what_breaks(COVERED, "c4") == graph.Breakage((), (), (), answer=True)
    with pytest.raises(KeyError):
        graph.what_breaks(COVERED, "c9")


@given(dags())
def test_breakages_agree_with_networkx(prerequisites: list[list[int]]) -> None:
    needs = [" ".join(str(p + 1) for p in each) for each in prerequisites]
    document = item(checklist=steps(*needs))
    drawn = nx.DiGraph((p, step) for step, each in enumerate(prerequisites) for p in each)
    drawn.add_nodes_from(range(len(prerequisites)))
    last = len(prerequisites) - 1
    for key, broken in graph.breakages(document).items():
        below = nx.descendants(drawn, int(key[1:]) - 1)
        assert broken.descendants == tuple(f"c{step + 1}" for step in sorted(below))
        assert broken.answer is (last in below or key == f"c{last + 1}")


def test_without_cycles_leaves_out_the_edges_that_close_them() -> None:
    # c1 needs c3, c3 needs c2, c2 needs c1; c4 needs itself and c1. The walk from c1 meets c1 again in c2.
    document = item(checklist=steps("3", "1", "2", "4 1"))
    drawable, circles = graph.without_cycles(document)
    assert [s.prerequisites for s in drawable.checklist] == [("c3",), (), ("c2",), ("c1",)]
    assert circles == ["c1", "c3", "c2", "c4"]
    assert graph.without_cycles(item(checklist=steps("", "1"))) == (item(checklist=steps("", "1")), [])


@pytest.mark.parametrize(
    ("url", "kind", "expected"),
    [
        ("https://en.wikipedia.org/wiki/Phoenix", None, True),
        ("https://WIKIPEDIA.ORG/", "web", True),
        ("https://mirror.example/wiki", "wikipedia", True),
        ("https://notwikipedia.org/", None, False),
        ("https://example.org/wikipedia.org", None, False),
        ("https://[half", None, False),
        ("", None, False),
    ],
)
def test_is_wikipedia_by_kind_or_host(url: str, kind: str | None, expected: bool) -> None:
    source = item(sources=[{"key": "s1", "url": url, "kind": kind}]).sources[0]
    assert graph.is_wikipedia(source) is expected


def test_item_figures_of_a_small_item() -> None:
    wiki = [{"key": f"s{n}", "kind": "wikipedia"} for n in range(1)]
    web = [{"key": f"s{n}", "kind": "web"} for n in range(1, 8)]
    document = item(
        nodes=[{"key": "n1"}, {"key": "n2"}],
        relations=[{"key": "r1", "from": "n1", "to": "n2"}],
        checklist=[*steps("", "1", modality="image"), {"key": "c3", "modality": "text"}, {"key": "c4"}],
        sources=wiki + web,
        images=[{"key": "i1", "role": "question"}, {"key": "i2"}],
    )
    # One of eight sources is 12.5%: 13. c1 -> c2 is the longest path. Text and nothing said are not non-text.
    assert graph.item_figures(document) == graph.Figures(
        steps=4, depth=2, nodes=2, relations=1, sources=8, images=2, question_images=1, non_text_steps=2,
        wikipedia_share=13,
    )  # fmt: skip


def test_item_figures_of_an_empty_item_has_no_share() -> None:
    assert graph.item_figures(item()) == graph.Figures(0, 0, 0, 0, 0, 0, 0, 0, None)
