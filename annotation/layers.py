"""Layered layout of an acyclic graph: order within layers so that few edges cross, and places along them.

PURE: imports no Django and nothing of this project.
"""

from bisect import bisect_right, insort
from collections.abc import Sequence
from itertools import pairwise


class Layers:
    """Vertices in layers, ordered so that few edges cross, and placed along their layer.

    Vertices 0..n-1 are those given; further ones are bends, one on each layer that an edge passes. `chains[e]` holds
    the vertices along edge e. Barycentre sweeps order (Sugiyama et al. 1981); least squares with minimum gaps place.
    """

    def __init__(self, level: Sequence[int], edges: Sequence[tuple[int, int]]):
        """edges: (upper, lower) with level[upper] < level[lower]."""
        self.count = len(level)
        self.level = list(level)
        self.chains: list[list[int]] = []
        self.neighbours: list[list[int]] = [[] for _ in level]
        for upper, lower in edges:
            bends = range(len(self.level), len(self.level) + level[lower] - level[upper] - 1)
            self.level += range(level[upper] + 1, level[lower])
            self.neighbours += [[] for _ in bends]
            chain = [upper, *bends, lower]
            self.chains.append(chain)
            for one, other in pairwise(chain):
                self.neighbours[one].append(other)
                self.neighbours[other].append(one)
        self.layers: list[list[int]] = [[] for _ in range(max(level, default=-1) + 1)]
        for vertex in self._depth_first():
            self.layers[self.level[vertex]].append(vertex)
        self._order()

    def _depth_first(self) -> list[int]:
        """Vertices in the order in which a walk down from the roots meets them: branches start side by side."""
        seen = bytearray(len(self.level))
        met: list[int] = []
        for root in sorted(range(len(self.level)), key=self.level.__getitem__):
            stack = [root]
            while stack:
                vertex = stack.pop()
                if not seen[vertex]:
                    seen[vertex] = 1
                    met.append(vertex)
                    stack += [n for n in reversed(self.neighbours[vertex]) if self.level[n] > self.level[vertex]]
        return met

    def _side(self, vertex: int, step: int) -> list[int]:
        """Neighbours on the layer above (step -1) or below (1)."""
        return [n for n in self.neighbours[vertex] if self.level[n] == self.level[vertex] + step]

    def _crossings(self) -> int:
        total = 0
        for upper, lower in zip(self.layers, self.layers[1:], strict=False):
            rank = {vertex: place for place, vertex in enumerate(lower)}
            passed: list[int] = []
            for vertex in upper:
                ends = sorted(rank[n] for n in self._side(vertex, 1))
                total += sum(len(passed) - bisect_right(passed, end) for end in ends)
                for end in ends:
                    insort(passed, end)
        return total

    def _order(self) -> None:
        best, fewest = [list(layer) for layer in self.layers], self._crossings()
        for sweep in range(12):
            if not fewest:
                break
            step = -1 if sweep % 2 == 0 else 1
            for layer in self.layers[::-step]:
                if not layer or not 0 <= self.level[layer[0]] + step < len(self.layers):
                    continue
                rank = {vertex: place for place, vertex in enumerate(self.layers[self.level[layer[0]] + step])}
                wanted = {}
                for place, vertex in enumerate(layer):
                    ranks = [rank[n] for n in self._side(vertex, step)]
                    wanted[vertex] = sum(ranks) / len(ranks) if ranks else float(place)
                layer.sort(key=wanted.__getitem__)
            crossings = self._crossings()
            if crossings < fewest:
                best, fewest = [list(layer) for layer in self.layers], crossings
        self.layers = best

    def places(self, node_gap: float, bend_gap: float) -> list[float]:
        """Place of each vertex along its layer, the least being 0. Gaps: between two nodes, and between two bends."""
        place = [0.0] * len(self.level)

        def gap(one: int, other: int) -> float:
            return ((node_gap if one < self.count else bend_gap) + (node_gap if other < self.count else bend_gap)) / 2

        gaps = [[gap(a, b) for a, b in pairwise(layer)] for layer in self.layers]
        for layer, between in zip(self.layers, gaps, strict=True):
            at = -sum(between) / 2
            for vertex, following in zip(layer, [*between, 0.0], strict=True):
                place[vertex] = at
                at += following
        # Up and down in turn, each vertex to the middle of its neighbours on the side just placed. The last pass runs
        # down, so that what follows one thing stands straight under it.
        for sweep in range(8):
            step = 1 if sweep % 2 == 0 else -1
            for depth in range(len(self.layers))[::-step]:
                layer = self.layers[depth]
                wanted, weights = [], []
                for vertex in layer:
                    pulls = self._side(vertex, step)
                    # What has no neighbour at all goes to the middle, as near as the others let it.
                    free = place[vertex] if self.neighbours[vertex] else 0.0
                    weights.append(1.0 if pulls else 0.01)
                    wanted.append(sum(place[n] for n in pulls) / len(pulls) if pulls else free)
                for vertex, at in zip(layer, _apart(wanted, weights, gaps[depth]), strict=True):
                    place[vertex] = at
        least = min(place, default=0.0)
        return [at - least for at in place]


def _apart(wanted: Sequence[float], weights: Sequence[float], gaps: Sequence[float]) -> list[float]:
    """Places nearest to the wanted ones (weighted least squares) that keep order and gaps.

    Pool adjacent violators on the wanted places less the sum of the gaps before them.
    """
    blocks: list[tuple[float, float, int]] = []  # mean, weight, size
    offset, offsets = 0.0, []
    for place, weight, following in zip(wanted, weights, [*gaps, 0.0], strict=True):
        offsets.append(offset)
        mean, size = place - offset, 1
        while blocks and blocks[-1][0] > mean:
            before, heavier, more = blocks.pop()
            mean = (mean * weight + before * heavier) / (weight + heavier)
            weight, size = weight + heavier, size + more
        blocks.append((mean, weight, size))
        offset += following
    flat = [mean for mean, _, size in blocks for _ in range(size)]
    return [mean + before for mean, before in zip(flat, offsets, strict=True)]
