# SPDX-License-Identifier: Apache-2.0
"""Entries of rows with equal structure, side by side."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

import olympus_numpy as jnp

from .coefficients import Coefficients
from .origins import Origin
from .patterns import Pattern
from .views import view_at

__all__ = ["stacked"]

# The largest number of ranges of rows that are stacked, and of arrays that are concatenated.
_MOST_RANGES = 4
_MOST_PIECES = 64


class _Range(NamedTuple):
    """Rows of equal structure.

    Attributes:
      first: the first entry of the first row.
      rows: the number of rows.
      columns: the number of entries in each row.
    """

    first: int
    rows: int
    columns: int


def stacked(
    coefficients: Sequence[Coefficients],
    pattern: Pattern,
    origin: Origin,
    sources: Sequence[Any],
) -> Any | None:
    """Returns the entries as columns side by side; None if rows differ too much.

    The index of a coefficient counts the coefficients of all terms. All rows of a range have the
    same number of entries, and the coefficients of each row have the indices of the row before plus
    one. Therefore the entries at the same position in all rows of a range are a slice of the
    coefficients.

    Args:
      coefficients: the coefficients; each entry has one coefficient.
      pattern: the pattern.
      origin: the origin of each entry.
      sources: the sources of the origins, of rank one.
    """
    starts = np.cumsum([0, *(coefficient.entries.size for coefficient in coefficients)])
    indices = np.empty(pattern.nnz, np.int64)
    for coefficient, start in zip(coefficients, starts[:-1], strict=True):
        kept = coefficient.entries >= 0
        indices[coefficient.entries[kept]] = start + np.flatnonzero(kept)
    ranges = _ranges(indices, pattern)
    if len(ranges) > _MOST_RANGES:
        return None

    def values_from(first: int, length: int) -> Any | None:
        """Returns the coefficients from an index on; None if they belong to several terms."""
        term = int(np.searchsorted(starts, first, "right")) - 1
        begin = first - int(starts[term])
        whole = coefficients[term].values
        return whole[begin : begin + length] if begin + length <= whole.shape[0] else None

    parts: list[Any] = []
    count = 0
    for range_ in ranges:
        own = indices[range_.first : range_.first + range_.columns]
        if range_.rows == 1:
            breaks = np.flatnonzero(np.diff(own, prepend=-2) != 1)
            lengths = np.diff(breaks, append=own.size)
            pieces: list[Any] = list(map(values_from, own[breaks].tolist(), lengths.tolist()))
        else:
            columns = [(index, range_.rows) for index in own.tolist()]
            pieces = _groups(range_, origin, sources, lambda j: values_from(*columns[j]))  # noqa: B023
        count += len(pieces)
        if count > _MOST_PIECES or any(piece is None for piece in pieces):
            return None
        parts += pieces if range_.rows == 1 else [jnp.concatenate(pieces, axis=1).ravel()]
    return jnp.concatenate(parts) if len(parts) > 1 else parts[0]


def _ranges(indices: np.ndarray, pattern: Pattern) -> list[_Range]:
    """Returns the ranges of rows in which each row continues the row before.

    Args:
      indices: the index of the coefficient of each entry.
      pattern: the pattern.
    """
    counts = np.diff(pattern.indptr)
    rows = np.flatnonzero(counts)
    counts, first = counts[rows], pattern.indptr[rows]
    is_new = np.ones(rows.size + 1, bool)
    same = np.flatnonzero(counts[1:] == counts[:-1])
    inner = np.repeat(same, counts[same])
    offset = np.arange(inner.size) - np.repeat(np.cumsum(counts[same]) - counts[same], counts[same])
    steps = indices[first[inner + 1] + offset] - indices[first[inner] + offset] == 1
    follows = np.bincount(inner[steps], minlength=rows.size) == counts
    is_new[1:-1] = ~follows[: rows.size - 1]
    bounds = itertools.pairwise(np.flatnonzero(is_new).tolist())
    return [_Range(int(first[a]), b - a, int(counts[a])) for a, b in bounds]


def _groups(
    own: _Range, origin: Origin, sources: Sequence[Any], column: Callable[[int], Any | None]
) -> list[Any | None]:
    """Returns the entries of a range as matrices to be placed side by side.

    Adjacent columns that are together one view of a source form one matrix. Each other column is a
    matrix of its own.

    Args:
      own: the range.
      origin: the origin of each entry.
      sources: the sources.
      column: a function that returns the entries at a given position in all rows, or None.
    """
    entries = slice(own.first, own.first + own.rows * own.columns)
    indices = origin.indices[entries].reshape(own.rows, own.columns)
    factors = origin.factors[entries].reshape(own.rows, own.columns)
    groups: list[Any | None] = []
    start = 0
    while start < own.columns:
        steps = np.diff(indices[0, start:])
        changes = np.flatnonzero(steps != steps[:1])
        end = start + 1 + (int(changes[0]) if changes.size else steps.size)
        view = _view(indices[:, start:end], factors[:, start:end], sources)
        if view is not None:
            groups.append(view)
        else:
            values = map(column, range(start, end))
            groups += [None if value is None else value[:, None] for value in values]
        start = end
    return groups


def _view(indices: np.ndarray, factors: np.ndarray, sources: Sequence[Any]) -> Any | None:
    """Returns a matrix of entries as a view of a source times factors of columns, or None."""
    starts = np.cumsum([0, *(source.size for source in sources)])
    source = int(np.searchsorted(starts, indices[0, 0], "right")) - 1
    if indices.shape[1] == 1 or source < 0 or (factors != factors[0]).any():
        return None
    local = indices - starts[source]
    if local.min() < 0 or local.max() >= sources[source].size:
        return None
    view = view_at(sources[source], local)
    if view is None or (factors[0] == 1).all():
        return view
    is_uniform = (factors[0] == factors[0, 0]).all()
    return view * (factors[0, 0] if is_uniform else factors[0])
