# SPDX-License-Identifier: Apache-2.0
"""Acyclic colorings of symmetric patterns, and the recovery of entries by substitution.

In an acyclic coloring, neighbors differ and each cycle has three colors at least. The vertices of
two colors then induce a forest. In the product with the sum of the columns of one color, each
vertex has the sum of the entries of its edges to this color. So the entry of the edge from a vertex
to its parent is an alternating sum over the subtree of the vertex. Subtrees are ranges of the
vertices in depth-first order, and their sums are differences of one cumulative sum. See Coleman and
Cai, "The cyclic coloring problem and estimation of sparse Hessian matrices", SIAM Journal on
Algebraic and Discrete Methods 7 (1986).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from olympus_ir.loading import deferred

from .patterns import Pattern, relation

if TYPE_CHECKING:
    from scipy.sparse import csgraph
else:
    csgraph = deferred("scipy.sparse.csgraph", milliseconds=131.9)

__all__ = ["Substitution", "color_acyclic", "substitution_of"]


class Substitution(NamedTuple):
    """Alternating sums over subtrees, one for each vertex of the forests.

    Attributes:
      vertices: the vertex at each position in depth-first order.
      colors: the color of the product that is read at this position.
      signs: 1 or -1, by the depth of the vertex.
      ends: the end of the subtree's range, which starts at the vertex's position.
      sum_of_entry: for each entry of the pattern the position of its sum; -1 for diagonal entries,
        which are read from the product of their own color.
    """

    vertices: np.ndarray
    colors: np.ndarray
    signs: np.ndarray
    ends: np.ndarray
    sum_of_entry: np.ndarray


class _Forests:
    """Trees whose vertices have two colors, as disjoint sets.

    An element of a set is a pair of a vertex and the other color of the vertex's tree.
    """

    def __init__(self) -> None:
        self._parents: dict[tuple[int, int], tuple[int, int]] = {}

    def root(self, node: tuple[int, int]) -> tuple[int, int] | None:
        """Returns the pair that represents a pair's tree; None if the pair is in no tree yet."""
        parents = self._parents
        if node not in parents:
            return None
        while parents[node] != node:
            parents[node] = parents[parents[node]]
            node = parents[node]
        return node

    def join(self, node: tuple[int, int], other: tuple[int, int]) -> None:
        self._parents.setdefault(node, node)
        self._parents.setdefault(other, other)
        first, second = self.root(node), self.root(other)
        assert first is not None and second is not None
        self._parents[first] = second


def color_acyclic(pattern: Pattern) -> np.ndarray:
    """Returns an acyclic coloring of the columns of a symmetric pattern.

    This is a greedy heuristic in the order of the columns (Gebremedhin, Tarafdar, Manne and Pothen,
    "New acyclic and star coloring algorithms", SIAM Journal on Scientific Computing 29, 2007).
    """
    count = pattern.shape[0]
    if pattern.nnz == 0:
        return np.full(count, -1, np.int32)
    indices, indptr = pattern.indices.tolist(), pattern.indptr.tolist()
    colors = [-1] * count
    forests = _Forests()
    for vertex in range(count):
        neighbors = [
            index
            for index in indices[indptr[vertex] : indptr[vertex + 1]]
            if index != vertex and colors[index] >= 0
        ]
        used = {colors[neighbor] for neighbor in neighbors}
        color = 0
        while color in used or _closes_cycle(forests, neighbors, colors, color):
            color += 1
        colors[vertex] = color
        for neighbor in neighbors:
            forests.join((vertex, colors[neighbor]), (neighbor, color))
    return np.array(colors, np.int32)


def _closes_cycle(forests: _Forests, neighbors: list[int], colors: list[int], color: int) -> bool:
    """Returns whether two neighbors of the same color share a tree of that color and ``color``."""
    trees = set()
    for neighbor in neighbors:
        root = forests.root((neighbor, color))
        if root is not None:
            tree = (colors[neighbor], root)
            if tree in trees:
                return True
            trees.add(tree)
    return False


def substitution_of(pattern: Pattern, colors: np.ndarray) -> Substitution:
    """Returns the sums from which the entries of a symmetric matrix are read.

    Args:
      pattern: the symmetric pattern.
      colors: an acyclic coloring of its columns.
    """
    count = pattern.shape[0]
    num_colors = int(colors.max(initial=0)) + 1
    rows = np.repeat(np.arange(count), np.diff(pattern.indptr))
    columns = pattern.indices.astype(np.int64)
    is_edge = rows != columns
    # A node is a pair of a vertex and a color that one or more of its neighbors have.
    keys = rows * num_colors + colors[columns]
    mirrored = columns * num_colors + colors[rows]
    nodes, node_of_edge = np.unique(keys[is_edge], return_inverse=True)
    other = np.searchsorted(nodes, mirrored[is_edge])
    order, parents = _depth_first(node_of_edge, other, nodes.size)
    position = np.empty(nodes.size, np.int64)
    position[order] = np.arange(nodes.size)
    ends, signs = _ranges(position[parents[order]], parents[order] >= 0)
    # The edge between two nodes belongs to the child.
    child = np.where(parents[node_of_edge] == other, node_of_edge, other)
    sum_of_entry = np.full(pattern.nnz, -1)
    sum_of_entry[is_edge] = position[child]
    ordered = nodes[order]
    return Substitution(ordered // num_colors, ordered % num_colors, signs, ends, sum_of_entry)


def _depth_first(
    sources: np.ndarray, targets: np.ndarray, count: int
) -> tuple[np.ndarray, np.ndarray]:
    """Returns the nodes of a forest in depth-first order, and their parents; -1 for roots."""
    edges = relation(sources, targets, (count, count))
    _, trees = csgraph.connected_components(edges, directed=False)
    _, roots = np.unique(trees, return_index=True)
    # One more node is the parent of all roots, so that one search visits all trees.
    starts = np.concatenate([sources, np.full(roots.size, count)])
    stops = np.concatenate([targets, roots])
    joined = relation(starts, stops, (count + 1, count + 1))
    order, parents = csgraph.depth_first_order(joined, count, directed=True)
    parents = parents[:count].astype(np.int64)
    return order[1:].astype(np.int64), np.where(parents == count, -1, parents)


def _ranges(parents: np.ndarray, has_parent: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Returns the ends of subtrees, and the signs of nodes, in depth-first order.

    Args:
      parents: the position of each node's parent in this order.
      has_parent: False for roots.
    """
    count = parents.size
    sizes, signs = [1] * count, [1] * count
    above, linked = parents.tolist(), has_parent.tolist()
    for node in range(count):
        if linked[node]:
            signs[node] = -signs[above[node]]
    for node in reversed(range(count)):
        if linked[node]:
            sizes[above[node]] += sizes[node]
    return np.arange(count) + np.array(sizes, np.int64), np.array(signs, np.int8)
