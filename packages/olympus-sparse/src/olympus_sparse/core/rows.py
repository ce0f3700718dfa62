# SPDX-License-Identifier: Apache-2.0
"""Row pointers of the CSR format: the start of each row's entries, and the end of the last row."""

from __future__ import annotations

from typing import Any

import numpy as np

import olympus_numpy as jnp

__all__ = ["compressed", "rows_of"]


def rows_of(indptr: Any, nse: int) -> Any:
    """Returns the row of each entry; entries after the last row are out of bounds.

    ``[rows + 1] -> [nse]``
    """
    if nse == 0:
        return jnp.zeros(0, indptr.dtype)
    starts = jnp.zeros(nse, indptr.dtype).at[indptr].add(1, mode="drop")
    return jnp.cumsum(starts, dtype=indptr.dtype) - np.ones((), indptr.dtype)


def compressed(rows: Any, count: int, index_dtype: Any) -> Any:
    """Returns the row pointers of sorted rows; rows out of bounds come last.

    ``[nse] -> [count + 1]``
    """
    if count == 0:
        return jnp.zeros(1, index_dtype)
    numbers = jnp.zeros(count, index_dtype).at[rows].add(1, mode="drop")
    ends = jnp.cumsum(numbers, dtype=index_dtype)
    return jnp.concatenate([jnp.zeros(1, index_dtype), ends])
