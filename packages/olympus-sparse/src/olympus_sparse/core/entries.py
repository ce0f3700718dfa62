# SPDX-License-Identifier: Apache-2.0
"""Entries of one sparse array: gathering, scattering and sorting by coordinates.

Coordinates are an array ``[nse, n_sparse]``. An entry with a coordinate that is not below the size
of its dimension is padding, which is ignored.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

import olympus_numpy as jnp
from olympus_ir import lax
from olympus_ir.lax.indexing.gathering import GatherDimensionNumbers, GatherScatterMode
from olympus_ir.lax.indexing.scattering import ScatterDimensionNumbers

from .mapping import nfold_vmap

__all__ = [
    "add_up",
    "in_bounds",
    "look_up",
    "order_of",
    "over_batches",
    "padding",
    "ranks_of_unique",
]


def over_batches(fun: Callable[..., Any], n_batch: int, *operands: Any) -> Any:
    """Vectorizes a function over leading dimensions; dimensions of size one broadcast.

    Args:
      fun: the function of one example.
      n_batch: the number of leading dimensions of every operand.
      *operands: the operands.

    Returns:
      The results. A batch dimension has size one if it has size one in all operands.
    """
    return nfold_vmap(fun, n_batch)(*operands)


def padding(shape: Sequence[int], indices: Any) -> Any:
    """Returns the coordinates of padding, of the dtype and the rank of ``indices``."""
    return np.array(shape, indices.dtype).reshape((*(1,) * (indices.ndim - 1), len(shape)))


def in_bounds(indices: Any, shape: Sequence[int]) -> Any:
    """Returns the mask of entries that are not padding; ``[..., nse, n_sparse] -> [..., nse]``."""
    sizes = jnp.asarray(padding(shape, indices))
    return jnp.all(indices < sizes, axis=-1)


# ---- values at coordinates ----


def look_up(array: Any, indices: Any) -> Any:
    """Gathers the values of an array at coordinates; values out of bounds are zero.

    ``[*sparse, *rest], [nse, n_sparse] -> [nse, *rest]``
    """
    n_sparse = indices.shape[1]
    rest = array.shape[n_sparse:]
    shape = (indices.shape[0], *rest)
    if n_sparse == 0:
        return lax.broadcast_in_dim(array, shape, tuple(range(1, len(shape))))
    if 0 in array.shape[:n_sparse]:
        return jnp.zeros(shape, array.dtype)
    numbers = GatherDimensionNumbers(
        offset_dims=tuple(range(1, 1 + len(rest))),
        collapsed_slice_dims=tuple(range(n_sparse)),
        start_index_map=tuple(range(n_sparse)),
    )
    return lax.gather(
        array,
        indices,
        numbers,
        (1,) * n_sparse + rest,
        mode=GatherScatterMode.FILL_OR_DROP,
        fill_value=0,
    )


def add_up(
    values: Any,
    indices: Any,
    shape: Sequence[int],
    *,
    indices_sorted: bool = False,
    unique_indices: bool = False,
) -> Any:
    """Scatters entries to a dense array; the values of entries with equal coordinates are added.

    ``[nse, *rest], [nse, n_sparse] -> [*shape, *rest]``
    """
    n_sparse = indices.shape[1]
    if values.dtype == np.bool_:
        counts = lax.convert_element_type(values, np.dtype(np.int32))
        return add_up(counts, indices, shape) != 0
    if n_sparse == 0:
        return lax.reduce_sum(values, (0,))
    rest = values.shape[1:]
    numbers = ScatterDimensionNumbers(
        update_window_dims=tuple(range(1, 1 + len(rest))),
        inserted_window_dims=tuple(range(n_sparse)),
        scatter_dims_to_operand_dims=tuple(range(n_sparse)),
    )
    return lax.scatter_add(
        jnp.zeros((*shape, *rest), values.dtype),
        indices,
        values,
        numbers,
        indices_are_sorted=indices_sorted,
        unique_indices=unique_indices,
        mode=GatherScatterMode.FILL_OR_DROP,
    )


# ---- order ----


def order_of(indices: Any) -> tuple[Any, Any]:
    """Sorts coordinates lexicographically; returns the coordinates and their previous positions."""
    nse, n_sparse = indices.shape
    positions = lax.iota(np.dtype(np.int32), nse)
    if n_sparse == 0:
        return indices, positions
    columns = [indices[:, column] for column in range(n_sparse)]
    *columns, positions = lax.sort([*columns, positions], dimension=0, num_keys=n_sparse)
    return jnp.stack(columns, axis=1), positions


def ranks_of_unique(indices: Any, shape: Sequence[int]) -> tuple[Any, Any, Any]:
    """Ranks coordinates in lexicographic order; equal coordinates have the same rank.

    Args:
      indices: the coordinates.
      shape: the sizes of the dimensions.

    Returns:
      The sorted coordinates, with those out of bounds last; the ranks of the sorted coordinates;
      and the ranks of the given coordinates. Coordinates out of bounds have the rank ``nse``.
    """
    nse = indices.shape[0]
    inside = in_bounds(indices, shape)
    indices = jnp.where(inside[:, None], indices, jnp.asarray(padding(shape, indices)))
    ordered, positions = order_of(indices)
    if nse == 0:
        return ordered, positions, positions
    changes = jnp.any(ordered[1:] != ordered[:-1], axis=1)
    numbers = jnp.concatenate([jnp.zeros(1, np.int32), jnp.cumsum(changes, dtype=np.int32)])
    numbers = jnp.where(inside[positions], numbers, np.int32(nse))
    ranks = jnp.zeros(nse, np.int32).at[positions].set(numbers)
    return ordered, numbers, ranks


def count_of_unique(indices: Any, shape: Sequence[int]) -> Any:
    """Returns the number of distinct coordinates in bounds."""
    nse = indices.shape[0]
    if nse == 0:
        return jnp.zeros((), np.int32)
    _, numbers, _ = ranks_of_unique(indices, shape)
    return jnp.max(jnp.where(numbers < nse, numbers + 1, 0))


def first_of_equals(indices: Any, shape: Sequence[int]) -> Any:
    """Returns, for each entry, whether it is the first with its coordinates."""
    nse = indices.shape[0]
    if nse == 0:
        return jnp.zeros(0, bool)
    _, _, ranks = ranks_of_unique(indices, shape)
    positions = lax.iota(np.dtype(np.int32), nse)
    first = jnp.full(nse, nse, np.int32).at[ranks].min(positions, mode="drop")
    return first.at[ranks].get(mode="fill", fill_value=nse) == positions


def capacity(shape: Sequence[int], nse: int) -> int:
    """Returns an upper bound of the number of distinct entries."""
    return min(math.prod(shape), nse)
