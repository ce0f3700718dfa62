# SPDX-License-Identifier: Apache-2.0
"""Values put at arrays of indices: `put` and `put_along_axis`."""

from __future__ import annotations

import math
from typing import Any, NoReturn

import numpy as np

from olympus_ir import lax
from olympus_ir.lax.core.values import as_array
from olympus_ir.settings.naming import naming
from olympus_ir.types import dtypes
from olympus_ir.types.annotations import ArrayLike
from olympus_ir.types.arrays import Array

from ..arrays.selection import clip
from ..arrays.shaping import ravel
from ..core.axes import canonical_axis, hashable_axis
from ..core.compilation import compiled
from ..core.promotion import check_arraylike, ensure_array
from ..elementwise.arithmetic import remainder
from .taking import index_array, wrapped

__all__ = ["put", "put_along_axis"]

_int32 = np.dtype(np.int32)


def refuse_inplace(name: str) -> NoReturn:
    raise ValueError(
        f"olympus.numpy.{name} cannot modify arrays in-place, because {naming.library} arrays are "
        "immutable. Pass inplace=False to instead return an updated array."
    )


def put(
    a: ArrayLike, ind: ArrayLike, v: ArrayLike, mode: str | None = None, *, inplace: bool = True
) -> Array:
    """Returns a copy of an array with values put at indices of the flat array.

    Args:
      a: an array.
      ind: integers.
      v: the values, repeated as often as needed.
      mode: the treatment of indices out of range: ``"clip"`` (the default) or ``"wrap"``.
      inplace: must be False. The caller thereby confirms that ``a`` is not changed.

    Returns:
      An array of the shape and dtype of ``a``.

    Raises:
      ValueError: if ``inplace`` is not False, or ``mode`` is unknown.
      NotImplementedError: if ``mode`` is ``"raise"``.

    Example:
      >>> from olympus_numpy import array
      >>> put(array([1, 2, 3]), array([0, 2]), array([9, 8]), inplace=False)
      Array([9, 2, 8], dtype=int32)
    """
    if inplace:
        refuse_inplace("put")
    check_arraylike("put", a, ind, v)
    a, ind, v = ensure_array(a), ravel(ind), ravel(v)
    size = math.prod(a.shape)
    if not ind.size or not v.size:
        return a
    v = _cycled(v, ind.size)
    if mode is None or mode == "clip":
        # Negative indices count from the end; indices out of range are clipped.
        ind = clip(wrapped(ind, size), 0, size - 1)
    elif mode == "wrap":
        ind = remainder(ind, size)
    elif mode == "raise":
        raise NotImplementedError("The 'raise' mode to olympus.numpy.put is not supported.")
    else:
        raise ValueError(f"mode should be one of 'wrap' or 'clip'; got {mode=}")
    return lax.reshape(ravel(a).at[ind].set(v), a.shape)


def _cycled(values: Any, size: int) -> Any:
    """Repeats values cyclically to a length of ``size``."""
    repeats = -(-size // values.shape[0])
    if repeats > 1:
        values = lax.tile(values, (repeats,))
    return values if values.shape[0] == size else lax.slice_in_dim(values, 0, size, axis=0)


def _put_at(arr: Any, indices: Any, values: Any, axis: int | None, mode: Any = None) -> Any:
    arr, indices = ensure_array(arr), index_array("put_along_axis", indices)
    shape = arr.shape
    if axis is None:
        arr, axis = lax.reshape(arr, (math.prod(shape),)), 0
    if arr.ndim != indices.ndim:
        raise ValueError("put_along_axis arguments 'arr' and 'indices' must have same ndim")
    axis = canonical_axis(axis, arr.ndim)
    positions = tuple(
        indices
        if dim == axis
        else np.arange(size, dtype=_int32).reshape((-1,) + (1,) * (arr.ndim - dim - 1))
        for dim, size in enumerate(arr.shape)
    )
    return lax.reshape(as_array(arr).at[positions].set(values, mode=mode), shape)


_put_along_axis = compiled(_put_at, ("axis", "mode"), name="put_along_axis")


def put_along_axis(
    arr: ArrayLike,
    indices: ArrayLike,
    values: ArrayLike,
    axis: int | None,
    inplace: bool = True,
    *,
    mode: str | None = None,
) -> Array:
    """Returns a copy of an array with values put at indices of each line along an axis.

    Args:
      arr: an array.
      indices: integers, with as many dimensions as ``arr``.
      values: the new values, broadcast to the shape of the indices.
      axis: the axis; None updates the flat array.
      inplace: must be False. The caller thereby confirms that ``arr`` is not changed.
      mode: the treatment of indices out of range, as in ``at``.

    Returns:
      An array of the shape and dtype of ``arr``.

    Raises:
      ValueError: if ``inplace`` is not False.

    Example:
      >>> from olympus_numpy import array
      >>> put_along_axis(array([[1, 2], [3, 4]]), array([[1], [0]]), 0, 1, inplace=False)
      Array([[1, 0],
             [0, 4]], dtype=int32)
    """
    if inplace:
        refuse_inplace("put_along_axis")
    check_arraylike("put_along_axis", arr, indices, values)
    dtype = dtypes.dtype(indices)
    if not dtypes.issubdtype(dtype, np.integer):
        raise TypeError(f"put_along_axis: `indices` must be integers, got {dtypes.name_of(dtype)}")
    axis = axis if axis is None else hashable_axis("put_along_axis", axis)
    return _put_along_axis(arr, indices, values, axis, mode)
