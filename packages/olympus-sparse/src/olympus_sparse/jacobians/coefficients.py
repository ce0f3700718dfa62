# SPDX-License-Identifier: Apache-2.0
"""Coefficients of terms, and the entries of a pattern to which they belong."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from .patterns import Pattern
from .terms import Linear, Unsupported, filled

__all__ = ["Coefficients", "coefficients_of"]

# The largest number of coefficients, in all terms, for each entry of the pattern.
_MOST_PER_ENTRY = 4


class Coefficients(NamedTuple):
    """Coefficients of a term.

    Attributes:
      values: the coefficients, of rank one.
      entries: for each coefficient, the index of its entry; -1 if it belongs to no entry.
    """

    values: Any
    entries: np.ndarray


def coefficients_of(results: Sequence[Any], pattern: Pattern, dtype: Any) -> list[Coefficients]:
    """Returns the coefficients of all terms.

    Args:
      results: the results of the program, `Linear` or zero.
      pattern: the pattern, with a row for each element of the results.
      dtype: the dtype of the entries.

    Raises:
      Unsupported: the terms have many more coefficients than the pattern has entries.
    """
    width = pattern.shape[1]
    rows = np.repeat(np.arange(pattern.shape[0], dtype=np.int64), np.diff(pattern.indptr))
    keys = rows * width + pattern.indices  # sorted
    found, start = [], 0
    for value in results:
        for term in value.terms if isinstance(value, Linear) else ():
            own = np.arange(value.size) if term.rows is None else term.rows
            columns = term.columns.ravel()
            sought = (own + start) * width + columns
            positions = np.minimum(np.searchsorted(keys, sought), max(keys.size - 1, 0))
            # Coefficients outside of the pattern are products with constants that are zero.
            positions = np.where((columns >= 0) & (keys[positions] == sought), positions, -1)
            coefficient = term.coefficient
            if np.ndim(coefficient):
                coefficient = coefficient.reshape(-1)
            found.append(
                Coefficients(filled(coefficient, positions.shape).astype(dtype), positions)
            )
        start += value.size if isinstance(value, Linear) else math.prod(np.shape(value))
    if sum(term.entries.size for term in found) > _MOST_PER_ENTRY * max(pattern.nnz, 64):
        raise Unsupported("there are many terms for each entry")
    return found
