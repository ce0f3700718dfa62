# SPDX-License-Identifier: Apache-2.0
"""Reference rules of operations that rearrange elements."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..lax.shaping import broadcasting, creation, rearrangement
from ..lax.shaping.dimensions import dim_as_value_p
from ..types import dtypes
from .tables import reference_rules

define = reference_rules.define


@define(broadcasting.broadcast_in_dim_p)
def _broadcast_in_dim(
    x: np.ndarray, *, shape: tuple, broadcast_dimensions: tuple, sharding: Any
) -> np.ndarray:
    sizes = [1] * len(shape)
    for size, dimension in zip(x.shape, broadcast_dimensions, strict=True):
        sizes[dimension] = size
    return np.broadcast_to(x.reshape(sizes), shape)


@define(rearrangement.reshape_p)
def _reshape(
    x: np.ndarray, *, new_sizes: tuple, dimensions: tuple | None, sharding: Any
) -> np.ndarray:
    return (x if dimensions is None else np.transpose(x, dimensions)).reshape(new_sizes)


@define(rearrangement.squeeze_p)
def _squeeze(x: np.ndarray, *, dimensions: tuple) -> np.ndarray:
    return np.squeeze(x, dimensions)


@define(rearrangement.transpose_p)
def _transpose(x: np.ndarray, *, permutation: tuple) -> np.ndarray:
    return np.transpose(x, permutation)


@define(rearrangement.rev_p)
def _rev(x: np.ndarray, *, dimensions: tuple) -> np.ndarray:
    return np.flip(x, dimensions)


@define(rearrangement.concatenate_p)
def _concatenate(*operands: np.ndarray, dimension: int) -> np.ndarray:
    return np.concatenate(operands, dimension)


@define(rearrangement.stack_p)
def _stack(*operands: np.ndarray, axis: int) -> np.ndarray:
    return np.stack(operands, axis)


@define(rearrangement.unstack_p)
def _unstack(x: np.ndarray, *, axis: int) -> list[np.ndarray]:
    return list(np.moveaxis(x, axis, 0)[:, ...])


@define(rearrangement.split_p)
def _split(x: np.ndarray, *, sizes: tuple, axis: int) -> list[np.ndarray]:
    return np.split(x, np.cumsum(sizes)[:-1], axis)


@define(rearrangement.tile_p)
def _tile(x: np.ndarray, *, reps: tuple) -> np.ndarray:
    return np.tile(x, reps)


@define(rearrangement.pad_p)
def _pad(x: np.ndarray, padding_value: np.ndarray, *, padding_config: tuple) -> np.ndarray:
    # Insert gaps between elements. Then cut a range out of the array, extended by padding values.
    interiors = [interior for _, _, interior in padding_config]
    spaced = np.full(
        [
            size + max(size - 1, 0) * interior
            for size, interior in zip(x.shape, interiors, strict=True)
        ],
        padding_value,
        x.dtype,
    )
    spaced[tuple(slice(None, None, interior + 1) for interior in interiors)] = x
    widths = [(max(low, 0), max(high, 0)) for low, high, _ in padding_config]
    shape = [low + size + high for (low, high), size in zip(widths, spaced.shape, strict=True)]
    result = np.full(shape, padding_value, x.dtype)
    inner = tuple(
        slice(low, low + size) for (low, _), size in zip(widths, spaced.shape, strict=True)
    )
    result[inner] = spaced
    cut = tuple(
        slice(max(-low, 0), size - max(-high, 0))
        for (low, high, _), size in zip(padding_config, shape, strict=True)
    )
    return result[cut]


@define(dim_as_value_p)
def _dim_as_value(*, dim: Any) -> np.ndarray:
    return np.asarray(int(dim), dtypes.canonicalize_dtype(np.int64))


@define(creation.iota_p)
def _iota(*, dtype: Any, shape: tuple, dimension: int, sharding: Any) -> np.ndarray:
    sizes = [1] * len(shape)
    sizes[dimension] = shape[dimension]
    wide = np.int64 if dtypes.issubdtype(dtype, np.integer) else np.float64
    numbers = np.arange(shape[dimension], dtype=wide).astype(dtype)
    return np.broadcast_to(numbers.reshape(sizes), shape)
