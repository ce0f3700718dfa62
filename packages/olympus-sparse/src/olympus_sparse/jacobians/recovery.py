# SPDX-License-Identifier: Apache-2.0
"""Recovery of the entries of a pattern, row by row, from the coefficients of terms.

`entries_of` takes the first of four ways that applies:

1. If an entry has several coefficients, a scatter adds them.
2. If many coefficients are constant, the others are written into an array of the constants.
3. If the rows form a few ranges of equal structure, slices of the coefficients are stacked.
4. Otherwise, a gather picks the coefficient of each entry.

The scatter also replaces ways 3 and 4 if several entries have no coefficient.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

import olympus_numpy as jnp

from .patterns import Pattern
from .terms import Linear, Unsupported, filled, is_known

__all__ = ["entries_of"]

# The largest number of ranges of rows that are stacked.
_MOST_RANGES = 4
# The largest number of slices of coefficients that the stacks are made from.
_MOST_PIECES = 64
# The largest number of coefficients, in all terms, for each entry of the pattern.
_MOST_PER_ENTRY = 4


class _Piece(NamedTuple):
    """Coefficients of a term, flat, and the entry of each; -1 where it has none."""

    coefficient: Any
    places: np.ndarray


def entries_of(results: Sequence[Any], pattern: Pattern, dtype: Any) -> Any:
    """Returns the entries of a pattern, row by row.

    Args:
      results: the results of the program, `Linear` or zero.
      pattern: the pattern, with a row for each element of the results.
      dtype: the dtype of the entries.

    Raises:
      Unsupported: the terms are many more than the entries.
    """
    pieces = _pieces(results, pattern)
    if sum(piece.places.size for piece in pieces) > _MOST_PER_ENTRY * max(pattern.nnz, 64):
        raise Unsupported("there are many terms for each entry")
    pieces = [
        _Piece(filled(piece.coefficient, piece.places.shape).astype(dtype), piece.places)
        for piece in pieces
    ]
    if not pieces or not pattern.nnz:
        return jnp.zeros((pattern.nnz,), dtype)
    counts = np.zeros(pattern.nnz, np.int64)
    for piece in pieces:
        counts += np.bincount(piece.places[piece.places >= 0], minlength=pattern.nnz)
    if counts.max() > 1:
        return _added(pieces, pattern.nnz, dtype)
    known = [piece for piece in pieces if is_known(piece.coefficient)]
    if 2 * sum(piece.places.size for piece in known) >= pattern.nnz:
        return _among_constants(pieces, pattern.nnz, dtype)
    if counts.min() == 0:  # entries that no term has are zero
        pieces.append(_Piece(np.zeros(1, dtype), np.flatnonzero(counts == 0)[:1]))
        if (counts == 0).sum() > 1:
            return _added(pieces, pattern.nnz, dtype)
    sources = np.empty(pattern.nnz, np.int64)
    start = 0
    for piece in pieces:
        kept = piece.places >= 0
        sources[piece.places[kept]] = start + np.flatnonzero(kept)
        start += piece.places.size
    coefficients = [piece.coefficient for piece in pieces]
    stacked = _stacked(coefficients, sources, pattern)
    if stacked is not None:
        return stacked
    return jnp.concatenate(coefficients).at[sources].get(mode="promise_in_bounds")


def _pieces(results: Sequence[Any], pattern: Pattern) -> list[_Piece]:
    width = pattern.shape[1]
    rows = np.repeat(np.arange(pattern.shape[0], dtype=np.int64), np.diff(pattern.indptr))
    keys = rows * width + pattern.indices  # sorted
    pieces, start = [], 0
    for value in results:
        for term in value.terms if isinstance(value, Linear) else ():
            own = np.arange(value.size) if term.rows is None else term.rows
            columns = term.columns.ravel()
            wanted = (own + start) * width + columns
            places = np.minimum(np.searchsorted(keys, wanted), max(keys.size - 1, 0))
            # Coefficients at other places are products with constants that are zero.
            places = np.where((columns >= 0) & (keys[places] == wanted), places, -1)
            coefficient = term.coefficient
            if np.ndim(coefficient):
                coefficient = coefficient.reshape(-1)
            pieces.append(_Piece(coefficient, places))
        start += value.size if isinstance(value, Linear) else math.prod(np.shape(value))
    return pieces


def _added(pieces: Sequence[_Piece], count: int, dtype: Any) -> Any:
    places = np.concatenate([piece.places for piece in pieces])
    values = jnp.concatenate([piece.coefficient for piece in pieces])
    if places.min(initial=0) < 0:
        kept = np.flatnonzero(places >= 0)
        places, values = places[kept], values.at[kept].get(mode="promise_in_bounds")
    return jnp.zeros((count,), dtype).at[places].add(values, mode="promise_in_bounds")


def _among_constants(pieces: Sequence[_Piece], count: int, dtype: Any) -> Any:
    entries: Any = np.zeros(count, dtype)
    for piece in pieces:
        if is_known(piece.coefficient):
            kept = piece.places >= 0
            entries[piece.places[kept]] = piece.coefficient[kept]
    entries = jnp.asarray(entries)
    for piece in pieces:
        if not is_known(piece.coefficient):
            places, values = piece.places, piece.coefficient
            if places.min(initial=0) < 0:
                kept = np.flatnonzero(places >= 0)
                places, values = places[kept], values.at[kept].get(mode="promise_in_bounds")
            entries = entries.at[places].set(values, mode="promise_in_bounds", unique_indices=True)
    return entries


def _stacked(coefficients: Sequence[Any], sources: np.ndarray, pattern: Pattern) -> Any:
    """Returns the entries as columns side by side; None if rows differ too much.

    The source of an entry is the index of its coefficient among all coefficients. In a range of
    rows, the rows have equally many entries, and the sources of a row are those of the row before,
    plus one. Then the entries at one place of all these rows are a slice of the coefficients.
    """
    counts = np.diff(pattern.indptr)
    rows = np.flatnonzero(counts)
    counts, first = counts[rows], pattern.indptr[rows]
    is_new = np.ones(rows.size + 1, bool)
    same = np.flatnonzero(counts[1:] == counts[:-1])
    inner = np.repeat(same, counts[same])
    offset = np.arange(inner.size) - np.repeat(np.cumsum(counts[same]) - counts[same], counts[same])
    steps = sources[first[inner + 1] + offset] - sources[first[inner] + offset] == 1
    follows = np.bincount(inner[steps], minlength=rows.size) == counts
    is_new[1:-1] = ~follows[: rows.size - 1]
    bounds = np.flatnonzero(is_new)
    if bounds.size - 1 > _MOST_RANGES:
        return None
    starts = np.cumsum([0, *(each.shape[0] for each in coefficients)])

    def range_of(source: int, length: int) -> Any:
        """Returns the coefficients from ``source`` on; None if they are not all of one term."""
        place = int(np.searchsorted(starts, source, "right")) - 1
        begin = source - int(starts[place])
        whole = coefficients[place]
        return whole[begin : begin + length] if begin + length <= whole.shape[0] else None

    parts, count = [], 0
    for begin, end in itertools.pairwise(bounds.tolist()):
        own = sources[first[begin] : first[begin] + counts[begin]]
        is_one_row = end - begin == 1
        if is_one_row:  # each run of consecutive sources is a slice
            breaks = np.flatnonzero(np.diff(own, prepend=-2) != 1)
            lengths = np.diff(breaks, append=own.size)
        else:
            breaks, lengths = np.arange(own.size), np.full(own.size, end - begin)
        count += breaks.size
        if count > _MOST_PIECES:
            return None
        made = list(map(range_of, own[breaks].tolist(), lengths.tolist()))
        if any(each is None for each in made):
            return None
        parts += made if is_one_row else [jnp.stack(made, axis=1).ravel()]
    return jnp.concatenate(parts) if len(parts) > 1 else parts[0]
