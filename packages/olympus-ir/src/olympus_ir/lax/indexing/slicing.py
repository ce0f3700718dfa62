# SPDX-License-Identifier: Apache-2.0
"""Slices of arrays at static or computed positions, and updates of slices."""

from __future__ import annotations

import functools
import operator
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ...diagnostics.errors import ShapeError
from ...programs.jit import jit
from ...programs.primitives import instruction
from ...programs.tracing import Tracer
from ...types import dtypes
from ...types.avals import ShapedArray, canonicalize_shape, dimension_size
from ..core.axes import canonical_axis, integer_or_dim
from ..core.declarations import check_same_dtypes
from ..core.values import Array, ArrayLike, dtype_of, shape_of
from ..elementwise.arithmetic import add
from ..elementwise.conversion import convert_dtype
from ..elementwise.logic import lt, select_n
from ..shaping.broadcasting import expand_dims
from ..shaping.dimensions import size_array
from ..shaping.rearrangement import squeeze

__all__ = [
    "dynamic_index_in_dim",
    "dynamic_slice",
    "dynamic_slice_in_dim",
    "dynamic_slice_p",
    "dynamic_update_index_in_dim",
    "dynamic_update_slice",
    "dynamic_update_slice_in_dim",
    "dynamic_update_slice_p",
    "index_in_dim",
    "slice",
    "slice_in_dim",
    "slice_p",
]

slice_p = instruction("slice", family="indexing")
dynamic_slice_p = instruction("dynamic_slice", family="indexing")
dynamic_update_slice_p = instruction("dynamic_update_slice", family="indexing")
slice_p.linear_in = True
dynamic_slice_p.linear_in = (0,)
dynamic_update_slice_p.linear_in = (0, 1)

_python_slice = slice


# ---- slices at static positions ----


@slice_p.def_abstract_eval
def _slice_shape(
    operand: ShapedArray, *, start_indices: tuple, limit_indices: tuple, strides: tuple | None
) -> ShapedArray:
    ndim = operand.ndim
    for name, indices in (
        ("start_indices", start_indices),
        ("limit_indices", limit_indices),
        ("strides", strides),
    ):
        if indices is not None and len(indices) != ndim:
            raise ShapeError(
                f"slice {name} must have length equal to the number of dimensions of the operand, "
                f"got {name} {indices} for operand shape {operand.shape}."
            )
    _check_slice_bounds(operand.shape, start_indices, limit_indices)
    if strides is None:
        shape = tuple(map(operator.sub, limit_indices, start_indices))
    else:
        if not all(stride > 0 for stride in strides):
            raise ShapeError(
                "slice strides must have every element be positive, got strides "
                f"{strides}; lax.rev reverses dimensions."
            )
        shape = tuple(
            (limit - start + stride - 1) // stride
            for start, limit, stride in zip(start_indices, limit_indices, strides, strict=True)
        )
    return ShapedArray.varying(shape, operand.dtype, operand.weak_type, vma=operand.vma)


def _check_slice_bounds(shape: tuple, start_indices: tuple, limit_indices: tuple) -> None:
    if not all(start >= 0 for start in start_indices):
        raise ShapeError(
            f"slice start_indices must have every element be nonnegative, got {start_indices}; "
            "slice_in_dim counts negative indices from the end."
        )
    if not all(map(operator.le, limit_indices, shape)):
        raise ShapeError(
            "slice limit_indices must be less than or equal to operand shape, got limit_indices "
            f"{limit_indices} for operand shape {shape}."
        )
    if not all(map(operator.le, start_indices, limit_indices)):
        raise ShapeError(
            "slice limit_indices must be greater than or equal to start_indices, got "
            f"start_indices {start_indices} and limit_indices {limit_indices}."
        )


def slice(
    operand: ArrayLike,
    start_indices: Sequence[int],
    limit_indices: Sequence[int],
    strides: Sequence[int] | None = None,
) -> Array:
    """Returns the elements from ``start_indices`` up to, but not including, ``limit_indices``.

    Args:
      operand: an array.
      start_indices: the first index in each dimension.
      limit_indices: the end in each dimension, exclusive.
      strides: the distance between elements in each dimension; one if not given.

    Returns:
      An array of the operand's dtype and rank.

    Raises:
      ShapeError: if indices are out of range, strides are not positive, or their number is not the
        operand's rank.

    Example:
      >>> from olympus_ir import lax
      >>> import numpy as np
      >>> lax.slice(np.arange(6), (1,), (6,), (2,))
      Array([1, 3, 5], dtype=int32)
    """
    return slice_p.bind(
        operand,
        start_indices=_integers(start_indices),
        limit_indices=_integers(limit_indices),
        strides=None if strides is None else _integers(strides),
    )


def _integers(values: Sequence[int]) -> tuple[int, ...]:
    if values.__class__ is tuple and all(value.__class__ is int for value in values):
        return values  # type: ignore[return-value]
    return tuple(value if type(value) is int else _integer(value) for value in values)


def _integer(value: Any) -> int:
    if getattr(value, "_is_symbolic_dimension", False):
        return value
    return operator.index(value)


def slice_in_dim(
    operand: ArrayLike,
    start_index: int | None,
    limit_index: int | None,
    stride: int = 1,
    axis: int = 0,
) -> Array:
    """Slices one dimension by ``start_index:limit_index:stride``; keeps the other dimensions whole.

    Args:
      operand: an array.
      start_index: the first index, or None; negative values count from the end.
      limit_index: the end, exclusive, or None; negative values count from the end.
      stride: the distance between elements, positive.
      axis: the dimension; negative values count from the end.

    Returns:
      An array of the operand's dtype and rank.

    Raises:
      ValueError: if ``axis`` is out of range.

    Example:
      >>> from olympus_ir import lax
      >>> import numpy as np
      >>> lax.slice_in_dim(np.arange(5), -2, None)
      Array([3, 4], dtype=int32)
    """
    shape = shape_of(operand)
    axis = canonical_axis(axis, len(shape))
    size = shape[axis]
    start = 0 if start_index is None else _from_start(_integer(start_index), size)
    limit = size if limit_index is None else _from_start(_integer(limit_index), size)
    starts, limits, strides = [0] * len(shape), list(shape), [1] * len(shape)
    starts[axis], limits[axis], strides[axis] = start, limit, _integer(stride)
    return slice_p.bind(
        operand,
        start_indices=tuple(starts),
        limit_indices=tuple(limits),
        strides=tuple(strides),
    )


def _from_start(index: int, size: int) -> int:
    return index + size if index < 0 else index


def index_in_dim(operand: ArrayLike, index: int, axis: int = 0, keepdims: bool = True) -> Array:
    """Returns the elements at one static index in one dimension.

    Args:
      operand: an array.
      index: the index, a Python integer; negative values count from the end.
      axis: the dimension; negative values count from the end.
      keepdims: whether the dimension remains, with size one.

    Returns:
      An array of the operand's dtype.

    Raises:
      IndexError: if the index is out of range.

    Example:
      >>> from olympus_ir import lax
      >>> import numpy as np
      >>> lax.index_in_dim(np.arange(5), -1, keepdims=False)
      Array(4, dtype=int32)
    """
    index, shape = integer_or_dim(index), shape_of(operand)
    axis = canonical_axis(axis, len(shape))
    size = shape[axis]
    if not -size <= index < size:
        raise IndexError(f"index {index} is out of bounds for axis {axis} with size {size}")
    index = _from_start(index, size)
    result = slice_in_dim(operand, index, index + 1, 1, axis)
    return result if keepdims else squeeze(result, (axis,))


# ---- slices at computed positions ----


def _check_start_indices(name: str, operand: ShapedArray, indices: Sequence[ShapedArray]) -> None:
    if len(indices) != operand.ndim:
        raise ShapeError(
            f"{name} needs one start index for each dimension of the operand, got {len(indices)} "
            f"for operand shape {operand.shape}."
        )
    if any(index.shape for index in indices):
        raise ShapeError(
            f"start_indices arguments to {name} must be scalars, got indices of shapes "
            f"{[index.shape for index in indices]}"
        )
    if any(
        not dtypes.issubdtype(index.dtype, np.integer) or index.dtype != indices[0].dtype
        for index in indices
    ):
        raise TypeError(
            f"index arguments to {name} must be integers of the same type, got: "
            + ", ".join(dtypes.name_of(index.dtype) for index in indices)
        )


@dynamic_slice_p.def_abstract_eval
def _dynamic_slice_shape(
    operand: ShapedArray, *start_indices: ShapedArray, slice_sizes: tuple
) -> ShapedArray:
    if len(slice_sizes) != operand.ndim:
        raise ShapeError(
            "dynamic_slice slice_sizes must have length equal to the number of dimensions of the "
            f"operand, got slice_sizes {slice_sizes} for operand shape {operand.shape}."
        )
    if not all(size <= full for size, full in zip(slice_sizes, operand.shape, strict=True)):
        raise ShapeError(
            "slice slice_sizes must be less than or equal to operand shape, got slice_sizes "
            f"{slice_sizes} for operand shape {operand.shape}."
        )
    if not all(size >= 0 for size in slice_sizes):
        raise ShapeError(
            "slice slice_sizes must be greater than or equal to zero, got slice_sizes "
            f"{slice_sizes}."
        )
    _check_start_indices("dynamic_slice", operand, start_indices)
    varying = operand.vma.union(*(index.vma for index in start_indices))
    return ShapedArray.varying(slice_sizes, operand.dtype, operand.weak_type, vma=varying)


@dynamic_update_slice_p.def_abstract_eval
def _dynamic_update_slice_shape(
    operand: ShapedArray, update: ShapedArray, *start_indices: ShapedArray
) -> ShapedArray:
    if update.ndim != operand.ndim:
        raise ShapeError(
            "dynamic_update_slice update must have the same rank as operand, got update shape "
            f"{update.shape} for operand shape {operand.shape}."
        )
    if not all(size <= full for size, full in zip(update.shape, operand.shape, strict=True)):
        raise ShapeError(
            "dynamic_update_slice update shape must be smaller than operand shape, got update "
            f"shape {update.shape} for operand shape {operand.shape}."
        )
    check_same_dtypes("dynamic_update_slice", (operand, update))
    _check_start_indices("dynamic_update_slice", operand, start_indices)
    varying = operand.vma.union(update.vma, *(index.vma for index in start_indices))
    return ShapedArray.varying(operand.shape, operand.dtype, vma=varying)


def _scalar_start_indices(
    name: str,
    operand: ArrayLike,
    start_indices: Any,
    allow_negative_indices: bool | Sequence[bool],
) -> list[Any]:
    """Returns one scalar index for each dimension; negative indices may count from the end.

    Concrete integers are normalized immediately. Traced integers are normalized by a comparison and
    a selection.
    """
    shape = shape_of(operand)
    if isinstance(start_indices, Array):
        if start_indices.ndim != 1:
            raise ValueError(
                f"{name} start_indices must be a sequence of scalars or an array of one "
                f"dimension, got shape {start_indices.shape}"
            )
        start_indices = [
            index_in_dim(start_indices, position, keepdims=False)
            for position in range(start_indices.shape[0])
        ]
    else:
        try:
            start_indices = list(start_indices)
        except TypeError:
            raise TypeError(
                f"{name} start_indices must be a sequence of scalars or an array of one "
                f"dimension, got {start_indices!r}"
            ) from None
    if len(start_indices) != len(shape):
        raise ValueError(
            f"{name}: Length of slice indices must match number of operand dimensions "
            f"({len(start_indices)} vs {len(shape)} of operand shape {shape})"
        )
    if isinstance(allow_negative_indices, bool | np.bool_):
        allowed: Sequence[bool] = [bool(allow_negative_indices)] * len(shape)
    else:
        allowed = list(allow_negative_indices)
        if len(allowed) != len(shape):
            raise ValueError(
                f"Length of allow_negative_indices of {name} must match number of operand "
                f"dimensions ({len(allowed)} vs {len(shape)})"
            )
    return [
        _start_index(index, size, negative)
        for index, size, negative in zip(start_indices, shape, allowed, strict=True)
    ]


def _start_index(index: Any, size: int, allow_negative: bool) -> Any:
    dtype = dtype_of(index)
    if not isinstance(index, Array) and np.ndim(index) == 0:
        if dtypes.issubdtype(dtype, np.integer) and index < 0:
            if allow_negative:
                index = index + size
            elif isinstance(index, int | np.integer):
                raise ValueError(
                    f"Index {index} is out of bounds for dimension {size} if "
                    "allow_negative_indices=False; count from the start of the dimension."
                )
        return size_array(index, dtype)
    if not allow_negative or not dtypes.issubdtype(dtype, np.signedinteger):
        return index
    zero = 0 if dtype == dtypes.default_int_dtype() else np.zeros((), dtype)
    is_negative = lt(index, zero)
    strong = convert_dtype(index, dtype) if isinstance(index, Tracer) else index
    return select_n(
        is_negative,
        index,
        add(
            strong,
            size_array(size, dtype) if type(size) is not int else np.asarray(size).astype(dtype),
        ),
    )


def dynamic_slice(
    operand: ArrayLike,
    start_indices: ArrayLike | Sequence[ArrayLike],
    slice_sizes: Sequence[int],
    *,
    allow_negative_indices: bool | Sequence[bool] = True,
) -> Array:
    """Returns a slice of static sizes at computed start indices.

    Start indices are clamped so that the slice lies within the operand.

    Args:
      operand: an array.
      start_indices: the first index in each dimension: scalars, or a vector of them.
      slice_sizes: the shape of the slice.
      allow_negative_indices: whether negative indices count from the end, as one flag for all
        dimensions, or one flag for each dimension. False avoids the operations that test for
        negative indices.

    Returns:
      An array of shape ``slice_sizes`` and the operand's dtype.

    Raises:
      ShapeError: if a size is negative or exceeds the operand's size.
      ValueError: if the number of indices is not the operand's rank.
      TypeError: if indices are not integers of the same dtype.

    Example:
      >>> from olympus_ir import lax
      >>> import numpy as np
      >>> lax.dynamic_slice(np.arange(5), (1,), (3,))
      Array([1, 2, 3], dtype=int32)
    """
    indices = _scalar_start_indices("dynamic_slice", operand, start_indices, allow_negative_indices)
    return dynamic_slice_p.bind(operand, *indices, slice_sizes=canonicalize_shape(slice_sizes))


def dynamic_update_slice(
    operand: ArrayLike,
    update: ArrayLike,
    start_indices: ArrayLike | Sequence[ArrayLike],
    *,
    allow_negative_indices: bool | Sequence[bool] = True,
) -> Array:
    """Replaces a slice at computed start indices.

    Args:
      operand: an array.
      update: the new elements, of the operand's dtype and rank.
      start_indices: as in `dynamic_slice`.
      allow_negative_indices: as in `dynamic_slice`.

    Returns:
      An array of the operand's shape and dtype.

    Raises:
      ShapeError: if ``update`` is larger than the operand in a dimension or differs in rank.
      TypeError: if the dtypes differ or indices are not integers of the same dtype.

    Example:
      >>> from olympus_ir import lax
      >>> import numpy as np
      >>> lax.dynamic_update_slice(np.zeros(4), np.ones(2), (1,))
      Array([0., 1., 1., 0.], dtype=float32)
    """
    indices = _scalar_start_indices(
        "dynamic_update_slice", operand, start_indices, allow_negative_indices
    )
    return dynamic_update_slice_p.bind(operand, update, *indices)


def _indices_in_dim(
    shape: tuple, index: ArrayLike, axis: int, allow_negative_indices: bool
) -> tuple[list[Any], list[bool]]:
    indices: list[Any] = [np.zeros((), dtype_of(index))] * len(shape)
    indices[axis] = index
    negative = [False] * len(shape)
    negative[axis] = bool(allow_negative_indices)
    return indices, negative


def dynamic_slice_in_dim(
    operand: ArrayLike,
    start_index: ArrayLike,
    slice_size: int,
    axis: int = 0,
    *,
    allow_negative_indices: bool = True,
) -> Array:
    """Returns a slice of static size at a computed start index in one dimension.

    Args:
      operand: an array.
      start_index: the first index, a scalar; clamped so that the slice lies within the operand.
      slice_size: the number of elements in the dimension.
      axis: the dimension; negative values count from the end.
      allow_negative_indices: whether negative indices count from the end.

    Returns:
      An array of the operand's dtype and rank.

    Example:
      >>> from olympus_ir import lax
      >>> import numpy as np
      >>> lax.dynamic_slice_in_dim(np.arange(5), 3, 2)
      Array([3, 4], dtype=int32)
    """
    shape = shape_of(operand)
    axis = canonical_axis(axis, len(shape))
    indices, negative = _indices_in_dim(shape, start_index, axis, allow_negative_indices)
    sizes = (*shape[:axis], dimension_size(slice_size), *shape[axis + 1 :])
    return dynamic_slice(operand, indices, sizes, allow_negative_indices=negative)


def dynamic_update_slice_in_dim(
    operand: ArrayLike,
    update: ArrayLike,
    start_index: ArrayLike,
    axis: int,
    *,
    allow_negative_indices: bool = True,
) -> Array:
    """Replaces a slice at a computed start index in one dimension.

    Args:
      operand: an array.
      update: the new elements, of the operand's dtype and rank.
      start_index: the first index, a scalar; clamped so that the slice lies within the operand.
      axis: the dimension; negative values count from the end.
      allow_negative_indices: whether negative indices count from the end.

    Returns:
      An array of the operand's shape and dtype.

    Example:
      >>> from olympus_ir import lax
      >>> import numpy as np
      >>> lax.dynamic_update_slice_in_dim(np.zeros(4), np.ones(2), 1, 0)
      Array([0., 1., 1., 0.], dtype=float32)
    """
    shape = shape_of(operand)
    axis = canonical_axis(axis, len(shape))
    indices, negative = _indices_in_dim(shape, start_index, axis, allow_negative_indices)
    return dynamic_update_slice(operand, update, indices, allow_negative_indices=negative)


def _dynamic_index_in_dim(
    operand: Any, index: Any, axis: int, keepdims: bool, allow_negative_indices: bool
) -> Any:
    result = dynamic_slice_in_dim(
        operand, index, 1, axis, allow_negative_indices=allow_negative_indices
    )
    return result if keepdims else squeeze(result, (axis,))


def _dynamic_update_index_in_dim(
    operand: Any, update: Any, index: Any, axis: int, allow_negative_indices: bool
) -> Any:
    axis = canonical_axis(axis, len(shape_of(operand)))
    if len(shape_of(update)) != len(shape_of(operand)):
        if len(shape_of(update)) + 1 != len(shape_of(operand)):
            raise ShapeError(
                "dynamic_update_index_in_dim update must have the rank of the operand or one "
                f"less, got update shape {shape_of(update)} for operand shape {shape_of(operand)}"
            )
        update = expand_dims(update, (axis,))
    return dynamic_update_slice_in_dim(
        operand, update, index, axis, allow_negative_indices=allow_negative_indices
    )


@functools.cache
def _compiled(fun: Callable[..., Any], name: str, statics: tuple[int, ...]) -> Callable[..., Any]:
    # The function is compiled at first use, because the evaluator is chosen after this module is
    # imported.
    return jit(fun, static_argnums=statics, name=name)


def dynamic_index_in_dim(
    operand: ArrayLike,
    index: ArrayLike,
    axis: int = 0,
    keepdims: bool = True,
    *,
    allow_negative_indices: bool = True,
) -> Array:
    """Returns the elements at one computed index in one dimension.

    Args:
      operand: an array.
      index: the index, a scalar; clamped to the range of the dimension.
      axis: the dimension; negative values count from the end.
      keepdims: whether the dimension remains, with size one.
      allow_negative_indices: whether a negative index counts from the end.

    Returns:
      An array of the operand's dtype.

    Example:
      >>> from olympus_ir import lax
      >>> import numpy as np
      >>> lax.dynamic_index_in_dim(np.arange(5), 2, keepdims=False)
      Array(2, dtype=int32)
    """
    compiled = _compiled(_dynamic_index_in_dim, "dynamic_index_in_dim", (2, 3, 4))
    return compiled(operand, index, axis, bool(keepdims), bool(allow_negative_indices))


def dynamic_update_index_in_dim(
    operand: ArrayLike,
    update: ArrayLike,
    index: ArrayLike,
    axis: int,
    *,
    allow_negative_indices: bool = True,
) -> Array:
    """Replaces the elements at one computed index in one dimension.

    Args:
      operand: an array.
      update: the new elements, of the operand's rank or one dimension less.
      index: the index, a scalar; clamped to the range of the dimension.
      axis: the dimension; negative values count from the end.
      allow_negative_indices: whether negative indices count from the end.

    Returns:
      An array of the operand's shape and dtype.

    Raises:
      ShapeError: if the rank of ``update`` is neither the operand's rank nor one less.

    Example:
      >>> from olympus_ir import lax
      >>> import numpy as np
      >>> lax.dynamic_update_index_in_dim(np.zeros(3), 1.0, 1, 0)
      Array([0., 1., 0.], dtype=float32)
    """
    compiled = _compiled(_dynamic_update_index_in_dim, "dynamic_update_index_in_dim", (3, 4))
    return compiled(operand, update, index, axis, bool(allow_negative_indices))
