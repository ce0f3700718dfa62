# SPDX-License-Identifier: Apache-2.0
"""Recovery of the entries of a pattern, row by row, from the coefficients of terms.

`entries_of` uses the first of four methods that applies:

1. If an entry has several coefficients, a scatter adds all but the first of each entry. 2. If many
entries are constant, the other entries are written into an array of the constants. 3. If the rows
form a few ranges of equal structure, their columns are stacked. 4. Otherwise, a gather picks each
entry from its source.

Entries without a coefficient are zero.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

import olympus_numpy as jnp

from .coefficients import Coefficients
from .origins import Origin
from .patterns import Pattern
from .picking import evaluated
from .stacking import stacked

__all__ = ["entries_of"]


def entries_of(
    coefficients: Sequence[Coefficients],
    origins: Sequence[Origin],
    sources: Sequence[Any],
    pattern: Pattern,
    dtype: Any,
) -> Any:
    """Returns the entries of a pattern, row by row.

    Args:
      coefficients: the coefficients of the terms.
      origins: the origins of the coefficients.
      sources: the sources of the origins, of rank one.
      pattern: the pattern.
      dtype: the dtype of the entries.
    """
    count = pattern.nnz
    positions, origin = _joined(coefficients, origins, dtype)
    if np.bincount(positions, minlength=1).max() > 1:
        return _added(positions, origin, sources, count)
    # Entries without a coefficient are zero.
    of_entries = Origin(np.full(count, -1), np.zeros(count, dtype))
    of_entries.indices[positions], of_entries.factors[positions] = origin
    variable = np.flatnonzero(of_entries.indices >= 0)
    if 2 * variable.size <= count:
        return _among_constants(of_entries, variable, sources)
    side_by_side = (
        stacked(coefficients, pattern, of_entries, sources) if positions.size == count else None
    )
    return evaluated(of_entries, sources) if side_by_side is None else side_by_side


def _joined(
    coefficients: Sequence[Coefficients], origins: Sequence[Origin], dtype: Any
) -> tuple[np.ndarray, Origin]:
    """Returns the entries to which coefficients belong, and the origin of these coefficients."""
    positions, indices, factors = (
        [np.empty(0, np.int64)],
        [np.empty(0, np.int64)],
        [np.empty(0, dtype)],
    )
    for coefficient, origin in zip(coefficients, origins, strict=True):
        kept = coefficient.entries >= 0
        positions.append(coefficient.entries[kept])
        indices.append(origin.indices[kept])
        factors.append(np.broadcast_to(origin.factors, kept.shape)[kept])
    return np.concatenate(positions), Origin(np.concatenate(indices), np.concatenate(factors))


def _added(positions: np.ndarray, origin: Origin, sources: Sequence[Any], count: int) -> Any:
    """Returns the entries as sums of the coefficients with equal positions.

    The first coefficient of each entry is taken from its source, and only the other coefficients
    are added, because additions take longer. Coefficients of one entry with the same source are one
    coefficient.
    """
    keys = positions * (origin.indices.max() + 2) + origin.indices + 1
    order = np.argsort(keys, kind="stable")
    keys, positions, indices = keys[order], positions[order], origin.indices[order]
    starts = np.flatnonzero(np.diff(keys, prepend=-1))
    factors = np.add.reduceat(origin.factors[order], starts)
    positions, indices = positions[starts], indices[starts]
    is_first = np.diff(positions, prepend=-1) != 0
    first = Origin(np.full(count, -1), np.zeros(count, factors.dtype))
    first.indices[positions[is_first]] = indices[is_first]
    first.factors[positions[is_first]] = factors[is_first]
    entries = evaluated(first, sources)
    if is_first.all():
        return entries
    others = evaluated(Origin(indices[~is_first], factors[~is_first]), sources)
    return entries.at[positions[~is_first]].add(
        others, mode="promise_in_bounds", indices_are_sorted=True
    )


def _among_constants(origin: Origin, variable: np.ndarray, sources: Sequence[Any]) -> Any:
    """Returns the entries; only those at the positions ``variable`` are computed."""
    entries = jnp.asarray(origin.factors)
    if not variable.size:
        return entries
    values = evaluated(Origin(origin.indices[variable], origin.factors[variable]), sources)
    return entries.at[variable].set(
        values, mode="promise_in_bounds", indices_are_sorted=True, unique_indices=True
    )
