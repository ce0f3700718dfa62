# SPDX-License-Identifier: Apache-2.0
"""Choice of the colorings by which compressed products take the fewest derivatives."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple, TypeAlias

import numpy as np

from .coloring import color_columns
from .patterns import Pattern, relation

__all__ = ["Parts", "no_colors", "parts_of"]


class Parts(NamedTuple):
    """Compressed products: the colors of columns for jvps and of rows for vjps.

    Attributes:
      columns: the color of each column, -1 for columns without a jvp.
      rows: the color of each row, -1 for rows without a vjp.
      by_row: for each entry, whether it is read from a vjp.
    """

    columns: np.ndarray
    rows: np.ndarray
    by_row: np.ndarray

    @property
    def jvps(self) -> int:
        return int(self.columns.max(initial=-1)) + 1

    @property
    def vjps(self) -> int:
        return int(self.rows.max(initial=-1)) + 1

    @property
    def cost(self) -> tuple[int, int]:
        """The number of products, and the number of vjps, which breaks ties."""
        return self.jvps + self.vjps, self.vjps


def no_colors(count: int) -> np.ndarray:
    return np.full(count, -1, np.int32)


Shapes: TypeAlias = Sequence[tuple[int, ...]]


def parts_of(pattern: Pattern, mode: str, in_shapes: Shapes, out_shapes: Shapes) -> Parts:
    """Returns the coloring with the fewest products."""
    rows, columns = pattern.shape
    candidates = []
    if mode != "reverse":
        by_row = np.zeros(pattern.nnz, bool)
        candidates.append(Parts(color_columns(pattern, in_shapes), no_colors(rows), by_row))
    if mode != "forward":
        by_row = np.ones(pattern.nnz, bool)
        of_rows = color_columns(pattern.T.tocsr(), out_shapes)
        candidates.append(Parts(no_colors(columns), of_rows, by_row))
    if mode == "auto":
        fewest = min(candidates, key=lambda candidate: candidate.cost).cost[0]
        candidates += _split(pattern, fewest)
    return min(candidates, key=lambda candidate: candidate.cost)


def _split(pattern: Pattern, fewest: int) -> Iterator[Parts]:
    """Yields colorings that compute the densest rows by vjps, or the densest columns by jvps.

    The other mode computes all other entries. This is a heuristic: a sparse matrix with one dense
    row and one dense column, for example, then takes three products.

    Args:
      pattern: the pattern.
      fewest: the number of products of the best coloring so far.
    """
    entry_rows = np.repeat(np.arange(pattern.shape[0]), np.diff(pattern.indptr))
    for axis, numbers in enumerate((entry_rows, pattern.indices)):
        counts = np.bincount(numbers, minlength=pattern.shape[axis])
        order = np.argsort(-counts, kind="stable")
        estimates = np.arange(counts.size) + counts[order]
        dense = order[: int(np.argmin(estimates))] if counts.size else order
        if not dense.size or estimates.min() >= fewest:
            continue
        is_dense = np.isin(numbers, dense)
        by_row = is_dense if axis == 0 else ~is_dense
        columns = color_columns(_entries_of(pattern, entry_rows, ~by_row))
        rows = color_columns(_entries_of(pattern, entry_rows, by_row).T.tocsr())
        columns[np.bincount(pattern.indices[~by_row], minlength=columns.size) == 0] = -1
        rows[np.bincount(entry_rows[by_row], minlength=rows.size) == 0] = -1
        yield Parts(columns, rows, by_row)


def _entries_of(pattern: Pattern, rows: np.ndarray, kept: np.ndarray) -> Pattern:
    """Returns the pattern with the entries for which ``kept`` is true."""
    return relation(rows[kept], pattern.indices[kept], pattern.shape)
