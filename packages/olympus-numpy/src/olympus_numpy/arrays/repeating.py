# SPDX-License-Identifier: Apache-2.0
"""Repeating arrays, as a whole or element by element."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from olympus_ir import lax
from olympus_ir.diagnostics.errors import ShapeError
from olympus_ir.lax.core.axes import integer_axes, integer_or_dim
from olympus_ir.lax.core.values import as_array
from olympus_ir.programs.tracing import concrete_or_error, is_constant_dim
from olympus_ir.types import dtypes
from olympus_ir.types.annotations import ArrayLike, ShardingLike
from olympus_ir.types.arrays import Array
from olympus_ir.types.avals import get_aval
from olympus_ir.types.layouts import entries_of
from olympus_ir.types.resharding import with_out_sharding

from ..core.axes import canonical_axis, hashable_axis
from ..core.compilation import compiled
from ..core.promotion import check_arraylike, convert, ensure_array
from .shaping import ravel

__all__ = ["repeat", "tile"]


def tile(A: ArrayLike, reps: int | Sequence[int]) -> Array:
    """Returns an array repeated as a whole along its dimensions.

    Args:
      A: an array.
      reps: the number of repetitions for each dimension, aligned with the last dimension.

    Returns:
      An array of the dtype of ``A``. Its rank is the length of ``A.shape`` or ``reps``, whichever
      is longer.

    Example:
      >>> from olympus_numpy import array
      >>> tile(array([1, 2]), 2)
      Array([1, 2, 1, 2], dtype=int32)
    """
    check_arraylike("tile", A)
    counts = (reps,) if isinstance(reps, int) or np.ndim(reps) == 0 else reps
    return _tile(A, integer_axes("reps of tile", counts))


def _tiled(A: Any, reps: tuple[int, ...]) -> Any:
    A = ensure_array(A)
    missing = len(reps) - A.ndim
    if missing > 0:
        A = lax.expand_dims(A, tuple(range(missing)))
    reps = (1,) * -missing + reps
    return lax.tile(A, reps) if reps else as_array(A)


_tile = compiled(_tiled, ("reps",), inline=True, name="_tile")


def repeat(
    a: ArrayLike,
    repeats: ArrayLike,
    axis: int | None = None,
    *,
    total_repeat_length: int | None = None,
    out_sharding: ShardingLike = None,
) -> Array:
    """Returns an array with each element repeated.

    Args:
      a: an array.
      repeats: the number of repetitions, one for all elements or one for each element.
      axis: the dimension to repeat along; by default, the array is flattened.
      total_repeat_length: the size of the result along the dimension, needed if ``repeats`` is
        traced. The last element is repeated to reach this size, and surplus elements are left out.
      out_sharding: the sharding of the result.

    Returns:
      An array of the dtype of ``a``; of one dimension if ``axis`` is not given.

    Raises:
      ValueError: if the axis is sharded and ``out_sharding`` is not given.

    Example:
      >>> from olympus_numpy import array
      >>> repeat(array([1, 2]), 2)
      Array([1, 1, 2, 2], dtype=int32)
    """
    check_arraylike("repeat", a, repeats)
    a = ensure_array(a)
    if axis is None or a.ndim == 0:
        a, axis = ravel(a), 0
    axis = canonical_axis(hashable_axis("repeat", axis), a.ndim)
    if out_sharding is None:
        if entries_of(get_aval(a))[axis] is not None:
            raise ValueError(
                "`repeat` along a sharded dimension needs the sharding of the result, got "
                f"{get_aval(a).str_short()} and axis={axis}. Please pass sharding to `jnp.repeat` "
                "via `out_sharding` parameter."
            )
        return _repeat(a, repeats, axis, total_repeat_length)
    return with_out_sharding(
        lambda a: _repeat(a, repeats, axis, total_repeat_length), (a,), out_sharding, "repeat"
    )


def _repeat(a: Any, repeats: Any, axis: int, length: int | None) -> Any:
    if not is_constant_dim(repeats) and length is None:
        return _repeat_uniformly(a, repeats, axis)
    if length is not None:
        counts = ensure_array(repeats)
        _check_counts(counts, a, axis)
        length = integer_or_dim(length)
        return as_array(a) if a.shape[axis] == 0 else _repeat_to_size(a, counts, axis, length)
    repeats = concrete_or_error(
        np.asarray,
        repeats,
        "When jit-compiling jnp.repeat, the total number of repeats must be static. To fix this, "
        "either specify a static value for `repeats`, or pass a static value to "
        "`total_repeat_length`.",
    )
    _check_counts(repeats, a, axis)
    if (repeats < 0).any():
        raise ShapeError("repeats may not contain negative values.")
    if repeats.ndim == 0 or repeats.size == 1:
        return _repeat_uniformly(a, int(repeats.reshape(())), axis)
    positions = np.repeat(np.arange(a.shape[axis]), repeats.ravel())
    return as_array(a)[(slice(None),) * axis + (positions,)]


def _check_counts(repeats: Any, a: Any, axis: int) -> None:
    if not dtypes.issubdtype(repeats.dtype, np.integer) and repeats.dtype != np.bool_:
        raise TypeError(f"repeat: `repeats` must be integers, got dtype {repeats.dtype}")
    if repeats.size not in (1, a.shape[axis]):
        raise ValueError(
            f"repeat: `repeats` must have one number for each of the {a.shape[axis]} elements "
            f"along axis {axis}, got shape {repeats.shape}"
        )


def _uniform_repeats(a: Any, repeats: int, axis: int) -> Any:
    shape = (*a.shape[: axis + 1], repeats, *a.shape[axis + 1 :])
    dims = (*range(axis + 1), *range(axis + 2, len(shape)))
    result = lax.broadcast_in_dim(a, shape, dims)
    return lax.reshape(result, (*a.shape[:axis], a.shape[axis] * repeats, *a.shape[axis + 1 :]))


_repeat_uniformly = compiled(_uniform_repeats, ("repeats", "axis"), inline=True, name="_repeat")


def _repeats_to_size(a: Any, repeats: Any, axis: int, length: int) -> Any:
    """Repeats each element as often as ``repeats`` says; the result has size ``length``.

    At each position, the result has element n, where n is the number of elements whose repetitions
    end before the position.
    """
    size = a.shape[axis]
    if length == 0:
        shape = (*a.shape[:axis], length, *a.shape[axis + 1 :])
        return lax.full(shape, np.zeros((), a.dtype))
    if is_constant_dim(repeats.size) and repeats.size == 1:
        repeats = lax.broadcast_in_dim(lax.reshape(repeats, ()), (size,), ())
    elif repeats.ndim > 1:
        repeats = ravel(repeats)
    ends = lax.cumsum(convert(repeats, np.dtype(np.int32)), 0)
    # Mark where the repetitions of each element end, except for the last element. Marks beyond the
    # result's length are dropped.
    starts = lax.slice_in_dim(ends, 0, size - 1, axis=0)
    counts = lax.full((length,), np.int32(0)).at[starts].add(np.int32(1))
    positions = lax.cumsum(counts, 0)
    return a.at[(slice(None),) * axis + (positions,)].get(mode="clip")


_repeat_to_size = compiled(_repeats_to_size, ("axis", "length"), inline=True, name="_repeat")
