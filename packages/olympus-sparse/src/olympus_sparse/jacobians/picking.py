# SPDX-License-Identifier: Apache-2.0
"""Evaluation of origins: elements that are picked from several arrays by index, and scaled.

An index counts the elements of all arrays, as if the arrays were concatenated.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

import olympus_numpy as jnp

from .origins import Origin
from .terms import picked

__all__ = ["evaluated"]


def evaluated(origin: Origin, sources: Sequence[Any]) -> Any:
    """Returns the elements with an origin, as an array of rank one.

    Args:
      origin: the origin, with factors and indices of equal shapes.
      sources: the sources, of rank one.
    """
    indices, factors = origin
    if origin.is_known:
        return jnp.asarray(factors)
    elements = _elements(sources, indices, factors.dtype)
    if (factors == factors[0]).all():
        return elements if factors[0] == 1 else elements * factors[0]
    return elements * factors


def _elements(sources: Sequence[Any], indices: np.ndarray, dtype: Any) -> Any:
    """Returns elements of the sources by index; a negative index gives 1."""
    starts = np.cumsum([0, *(source.size for source in sources)])
    owners = np.searchsorted(starts, indices, "right") - 1
    used = np.unique(owners)
    if used.size == 1:
        return picked(sources[used[0]], indices - starts[used[0]])
    parts, positions, end = [], np.empty(indices.size, np.int32), 0
    for owner in used:
        own = np.flatnonzero(owners == owner)
        if owner < 0:
            part, local = np.ones(1, dtype), np.zeros(own.size, np.int32)
        else:
            part, local = _part(sources[owner], indices[own] - starts[owner])
        positions[own] = end + local
        parts.append(part)
        end += part.size
    return picked(jnp.concatenate(parts), positions)


def _part(source: Any, indices: np.ndarray) -> tuple[Any, np.ndarray]:
    """Returns a part of a source that has the elements at indices, and their indices in this part.

    The part is a slice, or only the elements if a slice would be much larger.
    """
    first, end = int(indices.min()), int(indices.max()) + 1
    if end - first <= 2 * indices.size:
        return source[first:end], indices - first
    distinct, local = np.unique(indices, return_inverse=True)
    return picked(source, distinct), local
