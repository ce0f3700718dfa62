# SPDX-License-Identifier: Apache-2.0
"""Reference rules of sorting."""

from __future__ import annotations

import numpy as np

from ..lax.sorting import ordering
from ..types import dtypes
from .numerics import wide_integer, widen
from .tables import reference_rules


def _sort_keys(x: np.ndarray) -> list[np.ndarray]:
    """Returns keys, the most significant first, whose lexicographic order is that of the elements.

    NaNs follow all numbers, and zeros of both signs are equal.
    """
    if x.dtype.kind == "c":
        return [*_sort_keys(np.real(x)), *_sort_keys(np.imag(x))]
    if dtypes.issubdtype(x.dtype, np.floating):
        wide = widen(x)
        return [np.isnan(wide), np.where(np.isnan(wide), 0, wide)]
    return [wide_integer(x)]


@reference_rules.define(ordering.sort_p)
def _sort(
    *operands: np.ndarray, dimension: int, is_stable: bool, num_keys: int
) -> list[np.ndarray]:
    keys = [key for operand in operands[:num_keys] for key in _sort_keys(operand)]
    order = np.lexsort(keys[::-1], axis=dimension)  # NumPy's last key is the most significant
    return [np.take_along_axis(operand, order, dimension) for operand in operands]


@reference_rules.define(ordering.top_k_p)
def _top_k(x: np.ndarray, *, k: int, axis: int) -> list[np.ndarray]:
    # Reversing, sorting stably and reversing again keeps the order of equal elements.
    reversed_keys = [np.flip(key, axis) for key in _sort_keys(x)]
    order = np.lexsort(reversed_keys[::-1], axis=axis)
    order = x.shape[axis] - 1 - np.flip(order, axis)
    indices = np.take(order, np.arange(k), axis)
    return [np.take_along_axis(x, indices, axis), indices.astype(np.int32)]
