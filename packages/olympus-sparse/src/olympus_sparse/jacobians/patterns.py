# SPDX-License-Identifier: Apache-2.0
"""Patterns: for each element of an array, the set of inputs that it depends on.

A pattern is a Boolean matrix in SciPy's compressed sparse row format. Its rows are the elements of
the array in row-major order, its columns the elements of the inputs. Sums and products of such
matrices are unions of sets. ``None`` stands for a pattern without entries.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from olympus_ir.loading import deferred

if TYPE_CHECKING:
    import scipy.sparse as scipy_sparse
else:
    scipy_sparse = deferred("scipy.sparse", milliseconds=120.0)

__all__ = [
    "Flow",
    "Pattern",
    "broadcast_rows",
    "identity",
    "merged",
    "relation",
    "select_rows",
    "stacked_rows",
    "united_rows",
]

Pattern = Any  # A pattern is a `scipy.sparse.csr_array` of booleans, or None.


class Flow(NamedTuple):
    """Knowledge about one value of a program.

    Attributes:
      aval: the type of the value.
      known: the value, if it follows from constants alone; else None.
      pattern: the inputs that each element depends on; None if the value depends on none.
    """

    aval: Any
    known: np.ndarray | None = None
    pattern: Pattern = None

    @property
    def shape(self) -> tuple[int, ...]:
        return self.aval.shape

    @property
    def size(self) -> int:
        return math.prod(self.aval.shape)

    @property
    def ids(self) -> np.ndarray:
        """The flat indices of the elements, in an array of the value's shape."""
        return np.arange(self.size).reshape(self.shape)


def identity(size: int, width: int, start: int) -> Pattern:
    """Returns the pattern of an input: its elements are the columns from ``start`` on."""
    rows = np.arange(size + 1)
    return scipy_sparse.csr_array(
        (np.ones(size, bool), np.arange(start, start + size), rows), shape=(size, width)
    )


def relation(outputs: np.ndarray, inputs: np.ndarray, shape: tuple[int, int]) -> Pattern:
    """Returns the matrix that is true at the given pairs of a row and a column.

    The product of this matrix and the pattern of an operand is the pattern of a result. Pairs with
    a negative index are left out.
    """
    outputs, inputs = (array.ravel() for array in np.broadcast_arrays(outputs, inputs))
    kept = (outputs >= 0) & (inputs >= 0)
    if not kept.all():
        outputs, inputs = outputs[kept], inputs[kept]
    return scipy_sparse.csr_array((np.ones(outputs.size, bool), (outputs, inputs)), shape=shape)


def select_rows(pattern: Pattern, ids: np.ndarray) -> Pattern:
    """Returns the rows at the given indices; negative indices give empty rows."""
    if pattern is None:
        return None
    ids = np.ravel(ids)
    if ids.size and ids.min() < 0:
        return relation(np.arange(ids.size), ids, (ids.size, pattern.shape[0])) @ pattern
    return pattern[ids]


def stacked_rows(flows: Sequence[Flow], width: int) -> Pattern:
    """Returns the rows of several values one after the other.

    The result has ``width`` columns. Values without a pattern give empty rows.
    """
    counts = [
        np.zeros(flow.size, np.int64) if flow.pattern is None else np.diff(flow.pattern.indptr)
        for flow in flows
    ]
    indices = [flow.pattern.indices for flow in flows if flow.pattern is not None]
    starts = np.concatenate([[0], np.cumsum(np.concatenate(counts))])
    columns = np.concatenate(indices) if indices else np.empty(0, np.int64)
    return scipy_sparse.csr_array(
        (np.ones(columns.size, bool), columns, starts), shape=(starts.size - 1, width)
    )


def merged(patterns: Iterable[Pattern]) -> Pattern:
    """Returns the union of patterns of equal shape."""
    total = None
    for pattern in patterns:
        if pattern is not None:
            total = pattern if total is None else total + pattern
    return total


def united_rows(pattern: Pattern, groups: np.ndarray, count: int) -> Pattern:
    """Returns ``count`` rows, each of which unites the rows of one group.

    Args:
      pattern: the pattern.
      groups: the index of the group of each row.
      count: the number of groups.
    """
    if pattern is None:
        return None
    rows = np.arange(pattern.shape[0])
    return relation(groups.ravel(), rows, (count, pattern.shape[0])) @ pattern


def broadcast_rows(flow: Flow, shape: Sequence[int]) -> Pattern:
    """Returns the pattern of a value that is broadcast to a shape of the same rank."""
    if flow.pattern is None or flow.shape == tuple(shape):
        return flow.pattern
    ids = flow.ids if flow.shape else flow.ids.reshape((1,) * len(shape))
    return select_rows(flow.pattern, np.broadcast_to(ids, shape))
