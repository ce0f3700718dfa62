# SPDX-License-Identifier: Apache-2.0
"""Creation of arrays: counters, and arrays filled with one value."""

from __future__ import annotations

import operator
from collections.abc import Sequence
from typing import Any

import numpy as np

from ..._jaxlib import Sharding
from ...programs.primitives import instruction
from ...programs.tracing import current, evaluation_trace
from ...programs.wide_constants import wide_constant
from ...types import dtypes
from ...types.annotations import DTypeLike, ShardingLike
from ...types.avals import ShapedArray, canonicalize_shape
from ...types.placement import NamedSharding, PartitionSpec
from ...types.resharding import asked_sharding
from ...types.shape_struct import ShapeDtypeStruct
from ..core.declarations import Number, check_dtype
from ..core.values import Array, ArrayLike, array_aval, dtype_of, shape_of
from ..core.variation import varying_like
from ..elementwise.conversion import convert_dtype, in_64_bits
from ..elementwise.extended import to_edtype
from ..transfer import device_put
from .broadcasting import broadcast

__all__ = [
    "broadcasted_iota",
    "empty",
    "full",
    "full_like",
    "iota",
    "iota_p",
    "shape_as_value",
    "zeros_like_array",
]

iota_p = instruction("iota", family="shaping")


@iota_p.def_abstract_eval
def _iota_shape(*, dtype: Any, shape: tuple, dimension: int, sharding: Any) -> ShapedArray:
    aval = ShapedArray(shape, dtype)
    check_dtype("iota", aval, Number)
    if not 0 <= dimension < len(shape):
        raise ValueError(
            "iota dimension must be between 0 and len(shape), got "
            f"dimension={dimension} for shape={shape}"
        )
    return aval


def iota(dtype: DTypeLike, size: int) -> Array:
    """Returns the numbers from zero up to, but not including, ``size``.

    Args:
      dtype: a dtype of numbers.
      size: the number of elements.

    Returns:
      A vector of the given dtype.

    Raises:
      TypeError: if ``dtype`` is not a dtype of numbers or ``size`` is negative.

    Example:
      >>> from olympus_ir import lax
      >>> lax.iota("int32", 3)
      Array([0, 1, 2], dtype=int32)
    """
    return broadcasted_iota(dtype, (size,), 0)


def broadcasted_iota(
    dtype: DTypeLike, shape: Sequence[int], dimension: int, *, out_sharding: ShardingLike = None
) -> Array:
    """Returns an array whose elements are their own indices in one dimension.

    Args:
      dtype: a dtype of numbers.
      shape: the shape of the result.
      dimension: the dimension whose indices are returned.
      out_sharding: the sharding of the result.

    Returns:
      An array of the given shape and dtype.

    Raises:
      TypeError: if ``dtype`` is not a dtype of numbers or a size is negative.
      ValueError: if ``dimension`` is out of range.

    Example:
      >>> from olympus_ir import lax
      >>> lax.broadcasted_iota("int32", (2, 3), 1)
      Array([[0, 1, 2],
             [0, 1, 2]], dtype=int32)
    """
    if dtype is None:
        raise ValueError("iota: dtype must be specified.")
    return iota_p.bind(
        dtype=dtypes.check_and_canonicalize_user_dtype(dtype, "iota"),
        shape=canonicalize_shape(shape),
        dimension=operator.index(dimension),
        sharding=asked_sharding(out_sharding, "iota"),
    )


def full(
    shape: Sequence[int],
    fill_value: ArrayLike,
    dtype: DTypeLike | None = None,
    *,
    sharding: Sharding | None = None,
) -> Array:
    """Returns an array filled with one value.

    Args:
      shape: the shape of the result.
      fill_value: a scalar.
      dtype: the dtype of the result; by default the dtype of ``fill_value``.
      sharding: the sharding of the result.

    Returns:
      An array of the given shape and dtype.

    Raises:
      TypeError: if ``fill_value`` is not a scalar or a size is negative.

    Example:
      >>> from olympus_ir import lax
      >>> lax.full((2,), 7, "float32")
      Array([7., 7.], dtype=float32)
    """
    shape = canonicalize_shape(shape)
    _check_scalar(fill_value)
    if dtype is None:
        wide = wide_constant(fill_value)
        aval = array_aval(fill_value) if wide is None else wide
        fill_value = convert_dtype(fill_value, aval.dtype, aval.weak_type)
    else:
        dtype = dtypes.check_and_canonicalize_user_dtype(dtype, "full")
        if dtypes.is_extended(dtype):
            return _full_extended(shape, fill_value, dtype)
        try:
            fill_value = convert_dtype(fill_value, dtype)
        except OverflowError:
            fill_value = convert_dtype(in_64_bits(fill_value), dtype)
    if sharding is not None and not _is_of_types(sharding):
        return device_put(broadcast(fill_value, shape), sharding)
    return broadcast(fill_value, shape, out_sharding=sharding)


def _check_scalar(fill_value: Any) -> None:
    fill_shape = shape_of(fill_value)
    if fill_shape:
        raise TypeError(
            "full must be called with scalar fill_value, got fill_value.shape "
            f"{fill_shape}. olympus.numpy.full broadcasts."
        )


def _is_of_types(sharding: Any) -> bool:
    """Returns whether a sharding is over explicit mesh axes, and therefore part of the type."""
    return isinstance(sharding, PartitionSpec) or (
        type(sharding) is NamedSharding and bool(sharding.mesh.explicit_axes)
    )


def _full_extended(shape: Sequence[int], fill_value: ArrayLike, dtype: Any) -> Array:
    """Returns an array of an extended dtype, filled with an element or a number.

    A number fills the physical array that stores the elements.
    """
    if isinstance(fill_value, Array) and fill_value.dtype == dtype:
        return broadcast(fill_value, shape)
    element = dtype.physical_element_aval()
    if isinstance(fill_value, int | float):
        fill_value = np.asarray(fill_value, element.dtype)
    return to_edtype(full((*shape, *element.shape), fill_value, element.dtype), dtype)


def full_like(
    x: ArrayLike,
    fill_value: ArrayLike,
    dtype: DTypeLike | None = None,
    shape: Sequence[int] | None = None,
    sharding: Sharding | None = None,
) -> Array:
    """Returns an array filled with one value, by default with the shape and dtype of ``x``.

    Args:
      x: the array, or any object with a shape and a dtype.
      fill_value: a scalar.
      dtype: the dtype of the result; by default the dtype of ``x``.
      shape: the shape of the result; by default the shape of ``x``.
      sharding: the sharding of the result; by default the sharding of ``x``, if ``x`` is committed,
        and the shapes are equal or ``x`` is on one device.

    Returns:
      An array of the given shape and dtype.

    Raises:
      TypeError: if ``fill_value`` is not a scalar.

    Example:
      >>> from olympus_ir import lax
      >>> import numpy as np
      >>> lax.full_like(np.ones(2), 7)
      Array([7., 7.], dtype=float32)
    """
    shape = shape_of(x) if shape is None else canonicalize_shape(shape)
    if sharding is None and current.trace is not evaluation_trace:
        sharding = layout_like(x, shape)
    own_dtype = getattr(x, "dtype", None)
    if dtype is None and dtypes.is_extended(own_dtype):
        dtype = own_dtype
    if dtype is None:
        _check_scalar(fill_value)
        weak_type = x.weak_type if isinstance(x, Array) else array_aval(x).weak_type
        fill_value = convert_dtype(fill_value, dtype_of(x), weak_type)
        if sharding is not None and not _is_of_types(sharding):
            return device_put(broadcast(fill_value, shape), sharding)
        filled = broadcast(fill_value, shape, out_sharding=sharding)
    else:
        filled = full(shape, fill_value, dtype, sharding=sharding)
    if sharding is None and (place := place_like(x, shape)) is not None:
        return device_put(filled, place)
    return varying_like(filled, x)


def place_like(x: Any, shape: tuple[int, ...]) -> Any:
    """Returns the sharding of ``x`` for a new array of a given shape; None if ``x`` is uncommitted.

    Returns None if the shapes differ and ``x`` is on several devices. Returns None during tracing,
    because the compiler then chooses the sharding.
    """
    if current.trace is not evaluation_trace:
        return None
    if type(x) is ShapeDtypeStruct:
        sharding = x.sharding
        if sharding is None or not sharding._is_concrete:
            return None
    elif getattr(x, "_committed", False) is True:
        sharding = x.sharding
    else:
        return None
    return sharding if x.shape == shape or sharding.num_devices == 1 else None


def layout_like(x: Any, shape: tuple[int, ...]) -> Any:
    """Returns the layout of ``x`` for a new array of a given shape; None if the shapes differ.

    Returns None if ``x`` has no layout, or a layout with partial sums over manual axes.
    """
    layout = getattr(getattr(x, "aval", None), "layout", None)
    if layout is None or x.shape != shape:
        return None
    spec = layout.spec
    if spec.unreduced and frozenset(layout.mesh.manual_axes) & (spec.unreduced | spec.reduced):
        return None
    return layout


def zeros_like_array(x: ArrayLike) -> Array:
    """Returns zeros with the shape and dtype of another array.

    Example:
      >>> print(zeros_like_array(np.ones((2, 3), "int32")))
      [[0 0 0]
       [0 0 0]]
    """
    return full_like(x, 0)


def empty(shape: Sequence[int], dtype: DTypeLike, *, out_sharding: ShardingLike = None) -> Array:
    """Returns an array of unspecified elements; at present they are zeros.

    Args:
      shape: the shape of the result.
      dtype: the dtype of the result.
      out_sharding: the sharding of the result.

    Returns:
      An array of the given shape and dtype.

    Example:
      >>> from olympus_ir import lax
      >>> lax.empty((2, 3), "float32").shape
      (2, 3)
    """
    return full(shape, 0, dtype, sharding=out_sharding)


def shape_as_value(shape: Sequence[int]) -> np.ndarray:
    """Returns a shape as an array of integers, whose values are known.

    Args:
      shape: a tuple of integers or symbolic dimensions.

    Returns:
      A NumPy vector of integers.

    Example:
      >>> from olympus_ir import lax
      >>> lax.shape_as_value((2, 3))
      array([2, 3], dtype=int32)
    """
    return np.asarray(canonicalize_shape(shape), np.int32)
