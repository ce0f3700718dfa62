# SPDX-License-Identifier: Apache-2.0
"""Arrays filled with constants."""

from __future__ import annotations

from typing import Any

import numpy as np

from olympus_ir import lax
from olympus_ir.lax.core.values import as_array
from olympus_ir.lax.core.variation import varying_like
from olympus_ir.lax.shaping.creation import layout_like, place_like
from olympus_ir.programs.wide_constants import wide_constants_allowed
from olympus_ir.types import dtypes
from olympus_ir.types.annotations import ArrayLike, DeviceLike, DTypeLike, Shape, ShardingLike
from olympus_ir.types.arrays import Array
from olympus_ir.types.resharding import asked_sharding

from ..core.compilation import inlined
from ..core.promotion import (
    as_integer,
    check_arraylike,
    convert,
    result_type_of,
    spread,
    to_array,
)
from .creation import check_one_place, convert_exactly, placed, shape_of

__all__ = [
    "empty",
    "empty_like",
    "full",
    "full_like",
    "ones",
    "ones_like",
    "zeros",
    "zeros_like",
]


@inlined("shape", "dtype", "weak_type", "out_sharding")
def _filled(
    value: Any, shape: tuple, dtype: Any, weak_type: bool = False, out_sharding: ShardingLike = None
) -> Any:
    """Returns an array filled with a value."""
    if dtypes.is_extended(dtype):
        return spread(value, shape) if np.ndim(value) else lax.full(shape, value, dtype)
    if dtype == dtypes.float0:
        return np.zeros(shape, dtype)
    if out_sharding is not None and not np.ndim(value):
        return lax.broadcast(convert(value, dtype, weak_type), shape, out_sharding=out_sharding)
    return as_array(spread(convert(value, dtype, weak_type), shape))


def zeros(
    shape: int | Shape,
    dtype: DTypeLike | None = None,
    *,
    device: DeviceLike = None,
    out_sharding: ShardingLike = None,
) -> Array:
    """Returns an array of zeros.

    Args:
      shape: an integer or a sequence of integers.
      dtype: the dtype, floating by default.
      device: the device or sharding to put the array on.
      out_sharding: the sharding of the result.

    Returns:
      An array of the given shape and dtype.

    Example:
      >>> zeros((2, 3), dtype=int)
      Array([[0, 0, 0],
             [0, 0, 0]], dtype=int32)
    """
    return _constant("zeros", 0, shape, dtype, device, out_sharding)


def ones(
    shape: int | Shape,
    dtype: DTypeLike | None = None,
    *,
    device: DeviceLike = None,
    out_sharding: ShardingLike = None,
) -> Array:
    """Returns an array of ones.

    Args:
      shape: an integer or a sequence of integers.
      dtype: the dtype, floating by default.
      device: the device or sharding to put the array on.
      out_sharding: the sharding of the result.

    Returns:
      An array of the given shape and dtype.

    Example:
      >>> ones(3)
      Array([1., 1., 1.], dtype=float32)
    """
    return _constant("ones", 1, shape, dtype, device, out_sharding)


def empty(
    shape: int | Shape,
    dtype: DTypeLike | None = None,
    *,
    device: DeviceLike = None,
    out_sharding: ShardingLike = None,
) -> Array:
    """Returns an array of unspecified contents, which are zeros in this implementation.

    Args:
      shape: an integer or a sequence of integers.
      dtype: the dtype, floating by default.
      device: the device or sharding to put the array on.
      out_sharding: the sharding of the result.

    Returns:
      An array of the given shape and dtype. Its elements are zero, where NumPy leaves them
      undefined.

    Example:
      >>> empty((2, 0)).shape
      (2, 0)
    """
    return _constant("empty", 0, shape, dtype, device, out_sharding)


def _constant(
    function: str, value: int, shape: Any, dtype: Any, device: Any, out_sharding: Any
) -> Any:
    if isinstance(shape, dict):
        raise TypeError(f"{function} takes a shape, got the dict {shape!r}")
    if dtype.__class__ is int and np.ndim(shape) == 0:
        raise TypeError(
            f"Cannot interpret '{dtype}' as a data type. Did you accidentally write "
            f"`olympus.numpy.{function}({shape}, {dtype})` when you meant "
            f"`olympus.numpy.{function}(({shape}, {dtype}))`?"
        )
    shape = shape_of(shape)
    dtype = dtypes.check_and_canonicalize_user_dtype(float if dtype is None else dtype, function)
    if out_sharding is not None:
        check_one_place(device, out_sharding)
        out_sharding = asked_sharding(out_sharding, f"jnp.{function}")
    return placed(_filled(value, shape, dtype, False, out_sharding), device)


def full(
    shape: int | Shape,
    fill_value: ArrayLike,
    dtype: DTypeLike | None = None,
    *,
    device: DeviceLike = None,
    out_sharding: ShardingLike = None,
) -> Array:
    """Returns an array filled with a value.

    Args:
      shape: an integer or a sequence of integers.
      fill_value: a scalar, or an array that broadcasts to the shape.
      dtype: the dtype; by default the dtype of ``fill_value``.
      device: the device or sharding to put the array on.
      out_sharding: the sharding of the result.

    Returns:
      An array of the given shape and dtype; of a weak dtype if ``fill_value`` is a Python scalar
      and ``dtype`` is not given.

    Example:
      >>> full(3, 2.5)
      Array([2.5, 2.5, 2.5], dtype=float32, weak_type=True)
    """
    check_arraylike("full", fill_value)
    shape = shape_of(shape)
    if dtype is None:
        dtype, weak_type = result_type_of(0 if fill_value.__class__ is int else fill_value)
    else:
        dtype, weak_type = dtypes.check_and_canonicalize_user_dtype(dtype, "full"), False
    fill_value = _fill_scalar(fill_value, dtype)
    if np.ndim(fill_value):
        return placed(_filled(fill_value, shape, dtype, weak_type), device, out_sharding)
    if dtype in dtypes.half_width and wide_constants_allowed():
        fill_value = convert_exactly(fill_value, dtype)
    if out_sharding is not None:
        out_sharding = asked_sharding(out_sharding, "jnp.full")
    return placed(_filled(fill_value, shape, dtype, weak_type, out_sharding), device)


def _fill_scalar(value: Any, dtype: Any) -> Any:
    """Returns a fill value; a Python number that is out of range is converted as an array would be.

    Raises:
      TypeError: an array of Python objects is given, or a complex number for real elements.
    """
    kind = value.__class__
    if kind is np.ndarray and value.dtype == object:
        raise TypeError(
            "the fill value must be a number or an array of numbers, got an array of Python "
            f"objects: {value}"
        )
    if kind is complex and not dtypes.issubdtype(dtype, np.complexfloating):
        if dtypes.issubdtype(dtype, np.number):
            raise TypeError(
                "float() argument must be a string or a real number, not 'complex': the fill value "
                f"{value} does not fit elements of dtype {dtypes.name_of(dtype)}"
            )
    elif kind is int and not (dtypes.is_extended(dtype) or 0 <= value <= 1):
        held_by = [result_type_of(0)[0]]
        if dtypes.issubdtype(dtype, np.integer):
            held_by.append(dtype)
        limits = [dtypes.iinfo(holder) for holder in held_by]
        if not all(limit.min <= value <= limit.max for limit in limits):
            return np.array(value).astype(dtype)[()]
    elif kind is float and dtypes.issubdtype(dtype, np.integer):
        return as_integer(value, dtype)[()]
    return value


def zeros_like(
    a: ArrayLike,
    dtype: DTypeLike | None = None,
    shape: int | Shape | None = None,
    *,
    device: DeviceLike = None,
    out_sharding: ShardingLike = None,
) -> Array:
    """Returns an array of zeros with the shape and dtype of another array.

    Args:
      a: an array, a scalar, or an object with ``shape`` and ``dtype``.
      dtype: another dtype.
      shape: another shape.
      device: the device or sharding to put the array on.
      out_sharding: the sharding of the result.

    Returns:
      An array of the shape and dtype of ``a``, unless others are given.

    Example:
      >>> zeros_like(np.array([1, 2]))
      Array([0, 0], dtype=int32)
    """
    return _constant_like("zeros_like", a, 0, dtype, shape, device, out_sharding)


def ones_like(
    a: ArrayLike,
    dtype: DTypeLike | None = None,
    shape: int | Shape | None = None,
    *,
    device: DeviceLike = None,
    out_sharding: ShardingLike = None,
) -> Array:
    """Returns an array of ones with the shape and dtype of another array.

    Args:
      a: an array, a scalar, or an object with ``shape`` and ``dtype``.
      dtype: another dtype.
      shape: another shape.
      device: the device or sharding to put the array on.
      out_sharding: the sharding of the result.

    Returns:
      An array of the shape and dtype of ``a``, unless others are given.

    Example:
      >>> ones_like(np.array([0.5, 2.0]))
      Array([1., 1.], dtype=float32)
    """
    return _constant_like("ones_like", a, 1, dtype, shape, device, out_sharding)


def empty_like(
    prototype: ArrayLike,
    dtype: DTypeLike | None = None,
    shape: int | Shape | None = None,
    *,
    device: DeviceLike = None,
) -> Array:
    """Returns an array of unspecified contents with the shape and dtype of another array.

    Args:
      prototype: an array, a scalar, or an object with ``shape`` and ``dtype``.
      dtype: another dtype.
      shape: another shape.
      device: the device or sharding to put the array on.

    Returns:
      An array of the shape and dtype of ``prototype``, unless others are given. Its elements are
      zero.

    Example:
      >>> empty_like(np.array([1, 2])).dtype
      dtype('int32')
    """
    return _constant_like("empty_like", prototype, 0, dtype, shape, device, None)


def full_like(
    a: ArrayLike,
    fill_value: ArrayLike,
    dtype: DTypeLike | None = None,
    shape: int | Shape | None = None,
    *,
    device: DeviceLike = None,
    out_sharding: ShardingLike = None,
) -> Array:
    """Returns an array filled with a value, with the shape and dtype of another array.

    Args:
      a: an array, a scalar, or an object with ``shape`` and ``dtype``.
      fill_value: a scalar, or an array that broadcasts to the shape.
      dtype: another dtype.
      shape: another shape.
      device: the device or sharding to put the array on.
      out_sharding: the sharding of the result.

    Returns:
      An array of the shape and dtype of ``a``, unless others are given.

    Example:
      >>> full_like(np.array([1, 2]), 7)
      Array([7, 7], dtype=int32)
    """
    check_arraylike("full_like", 0, fill_value)  # the first argument may be any object with a shape
    return _constant_like("full_like", a, fill_value, dtype, shape, device, out_sharding)


def _constant_like(
    function: str, a: Any, value: Any, dtype: Any, shape: Any, device: Any, out_sharding: Any
) -> Any:
    weak_type = False
    a = to_array(a)
    if not (hasattr(a, "dtype") and hasattr(a, "shape")):
        check_arraylike(function, a)
    if dtype is None and dtypes.is_extended(getattr(a, "dtype", None)):
        dtype = a.dtype
    elif dtype is None:
        dtype, weak_type = result_type_of(a)
    else:
        dtype = dtypes.check_and_canonicalize_user_dtype(dtype, function)
    if dtypes.is_extended(dtype):
        shape = np.shape(a) if shape is None else shape_of(shape)
        return placed(lax.full(shape, value, dtype), device, out_sharding)
    shape = np.shape(a) if shape is None else shape_of(shape)
    value = _fill_scalar(value, dtype)
    if device is None and out_sharding is None and not np.ndim(value):
        device = place_like(a, shape)
        out_sharding = layout_like(a, shape) if device is None else None
    if np.ndim(value):
        return placed(_filled(value, shape, dtype, False), device, out_sharding)
    return varying_like(placed(_filled(value, shape, dtype, weak_type, out_sharding), device), a)
