"""OA, SA, CS and DACS: by hand, by property, and the bit sets against the plain form."""

import json

import networkx as nx
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from evaluation.scoring.metrics import (
    ItemScores,
    StepCredit,
    apply_profile,
    closures,
    compile_graphs,
    credited_steps,
    credits,
    item_scores,
    score_matrix,
)

SATISFIED, MISSING = StepCredit("satisfied"), StepCredit("missing")


def test_scores_withhold_credit_below_a_missing_ancestor():
    # 0 -> 1 -> 2 and 3 alone; 1 is missing: 3 of 4 stated; 0 and 3 are grounded, 2 is blocked: 2 of 4.
    assert item_scores([1, 0, 1, 1], [[], [0], [1], []], True) == ItemScores(oa=1.0, sa=0.0, cs=0.75, dacs=0.5)


def test_scores_of_a_merge_need_both_branches():
    # 0 and 1 lead to 2, 2 to 3; 1 is missing: 2 and 3 are blocked although 0 is there. CS 3/4, DACS 1/4.
    assert item_scores([1, 0, 1, 1], [[], [], [0, 1], [2]], False) == ItemScores(0.0, 0.0, 0.75, 0.25)


def test_scores_when_all_is_stated_and_the_answer_is_right_are_one():
    assert item_scores([True, True], [[], [0]], True) == ItemScores(1.0, 1.0, 1.0, 1.0)


def test_scores_when_all_is_stated_and_the_answer_is_wrong_have_no_strict_accuracy():
    assert item_scores([1, 1], [[], [0]], False) == ItemScores(0.0, 0.0, 1.0, 1.0)


def test_scores_of_one_step():
    assert item_scores([0], [[]], True) == ItemScores(1.0, 0.0, 0.0, 0.0)


def test_prerequisite_may_come_later_in_the_list():
    # 0 needs 2, 2 needs 1; 1 is missing: nothing is grounded. CS 2/3.
    assert item_scores([1, 0, 1], [[2], [], [1]], True) == ItemScores(1.0, 0.0, 2 / 3, 0.0)


def test_duplicate_prerequisite_counts_once():
    assert item_scores([1, 1], [[], [0, 0]], True).dacs == 1.0


def test_credits_name_all_missing_ancestors_in_checklist_order():
    # 3 needs 2 needs 1 needs 0; 0 and 2 are missing. 1 is blocked by 0; 3 by 0 and 2, in list order, not nearest first.
    assert credits([0, 1, 0, 1], [[], [0], [1], [2]]) == [
        MISSING,
        StepCredit("blocked", (0,)),
        MISSING,
        StepCredit("blocked", (0, 2)),
    ]


def test_credits_of_an_independent_branch_are_kept():
    assert credits([0, 1, 1], [[], [], [1]]) == [MISSING, SATISFIED, SATISFIED]


@pytest.mark.parametrize(
    ("stated", "prerequisites", "message"),
    [
        ([], [], "empty"),
        ([1, 1], [[1], [0]], "cycle: 0 -> 1 -> 0|cycle: 1 -> 0 -> 1"),
        ([1], [[0]], "cycle: 0 -> 0"),
        ([1, 1], [[], [2]], "step 1 has the prerequisite 2"),
        ([1, 1], [[], [-1]], "prerequisite -1"),
        ([1], [[], []], "length 1, expected 2"),
        ([1, 2], [[], []], "holds 2 for step 1"),
    ],
)
def test_scores_of_broken_input_raise_with_the_reason(stated, prerequisites, message):
    with pytest.raises(ValueError, match=message):
        item_scores(stated, prerequisites, True)


def test_cycle_is_spelled_out_from_prerequisite_to_dependent():
    # 1 needs 0, 2 needs 1, 0 needs 2: 0 -> 1 -> 2 -> 0 in some rotation.
    with pytest.raises(ValueError, match="cycle") as error:
        closures([[2], [0], [1]])
    assert str(error.value).rpartition(": ")[2] in {"0 -> 1 -> 2 -> 0", "1 -> 2 -> 0 -> 1", "2 -> 0 -> 1 -> 2"}


def test_long_chain_needs_no_recursion():
    # Each step needs the next one, and the last is missing: nothing is grounded, all but one are stated.
    steps = 3000
    chain = [[k + 1] for k in range(steps - 1)] + [[]]
    assert item_scores([1] * (steps - 1) + [0], chain, True) == ItemScores(1.0, 0.0, 2999 / 3000, 0.0)


@st.composite
def items(draw, max_steps=12):
    """(stated, prerequisites, answer): an acyclic graph whose steps stand in any order."""
    steps = draw(st.integers(1, max_steps))
    order = draw(st.permutations(range(steps)))
    prerequisites = [[] for _ in range(steps)]
    for rank, step in enumerate(order):
        if rank:
            prerequisites[step] = draw(st.lists(st.sampled_from(order[:rank]), unique=True, max_size=rank))
    stated = draw(st.lists(st.integers(0, 1), min_size=steps, max_size=steps))
    return stated, prerequisites, draw(st.booleans())


def as_graph(prerequisites):
    graph = nx.DiGraph()
    graph.add_nodes_from(range(len(prerequisites)))
    graph.add_edges_from((k, step) for step, direct in enumerate(prerequisites) for k in direct)
    return graph


def as_prerequisites(graph):
    return [sorted(graph.predecessors(step)) for step in range(len(graph))]


@given(items())
def test_dacs_is_the_share_of_steps_with_all_networkx_ancestors(item):
    stated, prerequisites, answer = item
    graph = as_graph(prerequisites)
    grounded = [all(stated[k] for k in {step, *nx.ancestors(graph, step)}) for step in range(len(stated))]
    assert item_scores(stated, prerequisites, answer).dacs == sum(grounded) / len(stated)
    assert credited_steps(stated, prerequisites) == tuple(map(int, grounded))


@given(items())
def test_scores_are_the_same_for_closure_and_reduction(item):
    stated, prerequisites, answer = item
    graph = as_graph(prerequisites)
    scores = item_scores(stated, prerequisites, answer)
    for other in (nx.transitive_closure_dag(graph), nx.transitive_reduction(graph)):
        assert item_scores(stated, as_prerequisites(other), answer) == scores


@given(items())
def test_scores_keep_their_order(item):
    scores = item_scores(*item)
    assert scores.sa <= scores.dacs <= scores.cs and scores.sa <= scores.oa


@given(items(), st.data())
def test_scores_do_not_depend_on_the_order_of_steps(item, data):
    stated, prerequisites, answer = item
    place = data.draw(st.permutations(range(len(stated))))  # the step at k moves to place[k]
    moved, moved_prerequisites = [0] * len(stated), [[] for _ in stated]
    for k, to in enumerate(place):
        moved[to] = stated[k]
        moved_prerequisites[to] = [place[p] for p in prerequisites[k]]
    assert item_scores(moved, moved_prerequisites, answer) == item_scores(stated, prerequisites, answer)


@given(items())
def test_credits_agree_with_the_scores_and_name_only_missing_steps(item):
    stated, prerequisites, _ = item
    found = credits(stated, prerequisites)
    assert tuple(int(c.status == "satisfied") for c in found) == credited_steps(stated, prerequisites)
    for step, credit in enumerate(found):
        assert (credit.status == "missing") == (not stated[step])
        assert (credit.status == "blocked") == bool(credit.blocked_by)
        assert all(not stated[k] for k in credit.blocked_by)


@st.composite
def tables(draw):
    """A release of some items and the verdicts of some systems on it; None is no verdict."""
    release = draw(st.lists(items(max_steps=6), min_size=1, max_size=3))
    prerequisites = [item[1] for item in release]
    verdicts = [
        [
            draw(st.none() | st.tuples(st.booleans(), st.lists(st.integers(0, 1), min_size=len(p), max_size=len(p))))
            for p in prerequisites
        ]
        for _ in range(draw(st.integers(1, 3)))
    ]
    return prerequisites, verdicts


def by_matrix(prerequisites, verdicts):
    graph = compile_graphs(prerequisites)
    answers = [[bool(v and v[0]) for v in system] for system in verdicts]
    return score_matrix(graph, answers, graph.pack([[v and v[1] for v in system] for system in verdicts]))


@given(tables())
def test_matrix_equals_the_plain_form(table):
    prerequisites, verdicts = table
    scores = by_matrix(prerequisites, verdicts)
    for s, system in enumerate(verdicts):
        for i, verdict in enumerate(system):
            answer, stated = verdict or (False, [0] * len(prerequisites[i]))
            plain = item_scores(stated, prerequisites[i], answer)
            assert (scores.oa[s, i], scores.sa[s, i], scores.cs[s, i], scores.dacs[s, i]) == (
                plain.oa,
                plain.sa,
                plain.cs,
                plain.dacs,
            )


@given(tables(), st.data())
def test_missing_response_lowers_nothing_but_its_own_item(table, data):
    prerequisites, verdicts = table
    s = data.draw(st.integers(0, len(verdicts) - 1))
    i = data.draw(st.integers(0, len(prerequisites) - 1))
    fewer = [list(system) for system in verdicts]
    fewer[s][i] = None
    before, after = by_matrix(prerequisites, verdicts), by_matrix(prerequisites, fewer)
    for name in ("oa", "sa", "cs", "dacs"):
        expected = getattr(before, name).copy()
        expected[s, i] = 0
        assert np.array_equal(getattr(after, name), expected)  # the same shape: the denominator does not move


def test_matrix_with_a_checklist_over_64_steps_follows_prerequisites_across_words():
    # A chain of 130 steps takes three words; step 70 is missing: 129 stated, 0..69 grounded.
    chain = [[k - 1] if k else [] for k in range(130)]
    scores = by_matrix([chain, [[]]], [[(True, [int(k != 70) for k in range(130)]), (True, [1])]])
    assert scores.cs.tolist() == [[129 / 130, 1.0]]
    assert scores.dacs.tolist() == [[70 / 130, 1.0]]
    assert scores.sa.tolist() == [[0.0, 1.0]]


def test_matrix_of_no_systems_is_empty():
    graph = compile_graphs([[[]]])
    assert score_matrix(graph, np.zeros((0, 1)), np.zeros((0, 1, 1), np.uint64)).dacs.shape == (0, 1)


def test_matrix_of_shapes_that_do_not_fit_raises():
    graph = compile_graphs([[[]], [[], [0]]])
    with pytest.raises(ValueError, match="answers have the shape"):
        score_matrix(graph, [[1]], graph.pack([[[1], [1, 1]]]))
    with pytest.raises(ValueError, match="bit sets are"):
        score_matrix(graph, [[1, 1]], np.zeros((1, 2, 2), np.uint64))
    with pytest.raises(ValueError, match="a system has 1 vectors, the release has 2 items"):
        graph.pack([[[1]]])
    with pytest.raises(ValueError, match="length 1, expected 2"):
        graph.pack([[[1], [1]]])
    with pytest.raises(ValueError, match="no items"):
        compile_graphs([])


def test_strict_profile_takes_a_half_read_verdict_as_none():
    assert apply_profile("strict", [[], [0]], True, None) == (False, (0, 0), [[], [0]])
    assert apply_profile("strict", [[], [0]], None, [1, 1]) == (False, (0, 0), [[], [0]])
    assert apply_profile("strict", [[1], []], True, [True, 0]) == (True, (1, 0), [[1], []])


@pytest.mark.parametrize("vector", [[1], [1, 1, 1]])
def test_strict_profile_refuses_a_vector_of_another_length(vector):
    with pytest.raises(ValueError, match=f"length {len(vector)}, expected 2"):
        apply_profile("strict", [[], []], True, vector)


def test_as_published_profile_pads_cuts_and_drops():
    # One flag short: padded with 0.  Parents 2 of step 1 and 1 of itself are not earlier: dropped.
    assert apply_profile("as-published", [[], [2, 0], [1]], True, [1, 1]) == (True, (1, 1, 0), [[], [0], [1]])
    assert apply_profile("as-published", [[], [1]], None, [1, 0, 1]) == (False, (1, 0), [[], []])
    assert apply_profile("as-published", [[], []], True, None) == (True, (0, 0), [[], []])


def test_as_published_profile_gives_the_figures_of_the_published_evaluator(cases):
    rows = [json.loads(line) for line in (cases / "reference_scores.jsonl").read_text(encoding="utf-8").splitlines()]
    for row in rows:
        verdict = row["verdict"] or {}
        if row["response"]["error"] or not row["response"]["text"]:
            verdict = {}
        inputs = apply_profile(
            "as-published",
            row["item"]["checklist_parents"],
            verdict.get("is_correct"),
            verdict.get("checklist_completion"),
        )
        scores = item_scores(inputs.stated, inputs.prerequisites, inputs.answer_correct)
        assert {name: getattr(scores, name) for name in row["expected"]} == row["expected"], row["item"]["id"]
    assert len(rows) == 40
