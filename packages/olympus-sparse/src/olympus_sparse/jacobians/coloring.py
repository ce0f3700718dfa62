# SPDX-License-Identifier: Apache-2.0
"""Colorings of patterns: columns or rows of one color are computed by one derivative.

The colorings are greedy heuristics; see Gebremedhin, Manne and Pothen, "What Color Is Your
Jacobian? Graph Coloring for Computing Derivatives", SIAM Review 47 (2005). A set of colors is
stored as the bits of an integer, so an operation on sets is one operation on integers.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np

from .patterns import Pattern

__all__ = ["color_columns", "color_symmetric", "recovery_of_symmetric"]

# The maximal number of colors for which periodic colorings are tried.
_PERIODS = 16
# The maximal number of directions for which lattice colorings of grids are tried.
_DIRECTIONS = 256
# The number of rows on which each direction is tried first.
_SAMPLED_ROWS = 64


def color_columns(pattern: Pattern, shapes: Sequence[tuple[int, ...]] = ()) -> np.ndarray:
    """Returns a color for each column, such that no row has two entries of one color.

    This is a distance-2 coloring of the columns in the bipartite graph of the pattern (Curtis,
    Powell and Reid; Coleman and Moré). The coloring is a heuristic: the best of a periodic
    coloring, which suits bands, a lattice coloring, which suits grids, and greedy colorings in two
    orders of the columns.

    Args:
      pattern: the pattern.
      shapes: the shapes of the arrays whose elements the columns are.
    """
    count = pattern.shape[1]
    if pattern.nnz == 0:
        return np.full(count, -1, np.int32)
    rows = np.repeat(np.arange(pattern.shape[0]), np.diff(pattern.indptr))
    least = int(np.diff(pattern.indptr).max())
    by_column = pattern.tocsc()
    degrees = np.diff(by_column.indptr)
    if least == count:
        return np.arange(count, dtype=np.int32)

    def fits(colors: np.ndarray, num_colors: int) -> bool:
        row_colors = rows * num_colors + colors[pattern.indices]
        return np.unique(row_colors).size == row_colors.size

    best = _first_period(count, range(least, least + _PERIODS), fits)
    if best is not None and best.max(initial=0) + 1 == least:
        return best
    orders = [np.arange(count), np.argsort(-degrees, kind="stable")]
    greedy = [_greedy_columns(by_column, order) for order in orders]
    best = min([colors for colors in (best, *greedy) if colors is not None], key=lambda c: c.max())
    if len(shapes) == 1 and len(shapes[0]) > 1:
        num_colors_tried = range(least, min(int(best.max()) + 1, least + _PERIODS))
        lattice = _lattice_coloring(pattern, shapes[0], num_colors_tried)
        best = best if lattice is None else lattice
    return best


def _lattice_coloring(
    pattern: Pattern, shape: tuple[int, ...], num_colors_tried: Iterable[int]
) -> np.ndarray | None:
    """Returns the color ``(a i + b j + ... + k) mod n`` of each grid point; None if none fits.

    Stencils on grids have such colorings with the fewest colors possible (Goldfarb and Toint,
    "Optimal estimation of Jacobian and Hessian matrices that arise in finite difference
    calculations", Mathematics of Computation 43, 1984).
    """
    points = np.indices(shape, np.int32).reshape(len(shape), -1)
    rows = np.repeat(np.arange(pattern.shape[0]), np.diff(pattern.indptr))
    step = max(1, pattern.shape[0] // _SAMPLED_ROWS)
    sampled = np.nonzero(rows % step == 0)[0]

    def fits(colors: np.ndarray, num_colors: int, entries: Any) -> bool:
        row_colors = rows[entries] * num_colors + colors[pattern.indices[entries]]
        return np.unique(row_colors).size == row_colors.size

    for num_colors in num_colors_tried:
        directions = itertools.product(range(num_colors), repeat=len(shape) - 1)
        for direction in itertools.islice(directions, _DIRECTIONS):
            colors = np.array((*direction, 1), np.int32) @ points % num_colors
            if fits(colors, num_colors, sampled) and fits(colors, num_colors, slice(None)):
                return colors
    return None


def _first_period(
    count: int, periods: Iterable[int], fits: Callable[[np.ndarray, int], bool]
) -> np.ndarray | None:
    """Returns the first periodic coloring that fits; None if none fits."""
    for period in periods:
        colors = np.arange(count, dtype=np.int32) % max(period, 1)
        if fits(colors, period):
            return colors
    return None


def _greedy_columns(by_column: Pattern, order: np.ndarray) -> np.ndarray:
    colors = np.zeros(by_column.shape[1], np.int32)
    used = [0] * by_column.shape[0]  # for each row, the set of the colors of its entries
    indices, indptr = by_column.indices.tolist(), by_column.indptr.tolist()
    for column in order.tolist():
        rows = indices[indptr[column] : indptr[column + 1]]
        used_in_rows = 0
        for row in rows:
            used_in_rows |= used[row]
        bit = ~used_in_rows & (used_in_rows + 1)
        for row in rows:
            used[row] |= bit
        colors[column] = bit.bit_length() - 1
    return colors


def color_symmetric(pattern: Pattern) -> np.ndarray:
    """Returns a color for each column of a symmetric pattern, so that entries can be recovered.

    This is a star coloring: neighbors differ, and each path over four vertices has three colors.
    The seed vector of a color has a one for each column of the color. Each entry can then be read
    from the product of the matrix with a seed vector, in the row of the entry or in the row of its
    mirror image. The coloring is a heuristic:
    the best of periodic colorings and of greedy colorings in two orders of the vertices.
    """
    count = pattern.shape[0]
    if pattern.nnz in (0, count * count):
        return np.arange(count, dtype=np.int32) if pattern.nnz else np.full(count, -1, np.int32)
    by_degree = np.argsort(-np.diff(pattern.indptr), kind="stable")
    colorings = [_greedy_star(pattern, order) for order in (by_degree, np.arange(count))]
    best = min(colorings, key=lambda colors: colors.max(initial=0))
    periods = range(2, min(int(best.max(initial=0)) + 1, _PERIODS))
    periodic = _first_period(
        count, periods, lambda colors, _: bool(recovery_of_symmetric(pattern, colors)[2].all())
    )
    return best if periodic is None else periodic


def _greedy_star(pattern: Pattern, order: np.ndarray) -> np.ndarray:
    """Colors vertex after vertex, so that no path over four vertices has only two colors.

    For each vertex, `around` has the set of the colors of its neighbors. For each of these colors,
    `first` has one neighbor of the color. The set `closed` of a vertex has the colors that would
    prolong a path of two colors that ends at the vertex.
    """
    count = pattern.shape[0]
    indices, indptr = pattern.indices.tolist(), pattern.indptr.tolist()
    colors = [-1] * count
    around, closed, repeated = [0] * count, [0] * count, [0] * count
    first: list[dict[int, int]] = [{} for _ in range(count)]
    for vertex in order.tolist():
        neighbors = [w for w in indices[indptr[vertex] : indptr[vertex + 1]] if w != vertex]
        forbidden = 0
        for w in neighbors:
            if colors[w] >= 0:
                forbidden |= 1 << colors[w] | closed[w]
                if repeated[vertex] >> colors[w] & 1:
                    forbidden |= around[w]
        bit = ~forbidden & (forbidden + 1)
        color = colors[vertex] = bit.bit_length() - 1
        for w in neighbors:
            if colors[w] >= 0 and repeated[vertex] >> colors[w] & 1:
                closed[w] |= bit
            if not around[w] & bit:
                around[w] |= bit
                first[w][color] = vertex
                continue
            repeated[w] |= bit
            if colors[w] >= 0:
                closed[vertex] |= 1 << colors[w]
                closed[first[w][color]] |= 1 << colors[w]
    return np.array(colors, np.int32)


def recovery_of_symmetric(
    pattern: Pattern, colors: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Returns which product with a seed vector contains each entry of a symmetric matrix.

    There is one seed vector for each color.

    Args:
      pattern: the symmetric pattern.
      colors: a color for each column.

    Returns:
      For each entry, the color of the seed vector, the row in the product with it, and whether the
      entry can be recovered from this row.
    """
    rows = np.repeat(np.arange(pattern.shape[0]), np.diff(pattern.indptr))
    columns = pattern.indices.astype(np.int64)
    num_colors = int(colors.max(initial=0)) + 1

    def is_alone(rows: np.ndarray, columns: np.ndarray) -> np.ndarray:
        _, groups, counts = np.unique(
            rows * num_colors + colors[columns], return_inverse=True, return_counts=True
        )
        return counts[groups] == 1

    direct = is_alone(rows, columns)
    mirrored = is_alone(columns, rows)
    color = np.where(direct, colors[columns], colors[rows])
    return color, np.where(direct, rows, columns), direct | mirrored
