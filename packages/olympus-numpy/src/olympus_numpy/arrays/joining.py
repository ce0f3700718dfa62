# SPDX-License-Identifier: Apache-2.0
"""Joining arrays, and splitting them."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import numpy as np

from olympus_ir import lax
from olympus_ir.diagnostics.errors import SectionsError, ShapeError
from olympus_ir.lax.core.sizes import as_size, max_dim, min_dim
from olympus_ir.lax.core.values import as_array
from olympus_ir.programs.tracing import Tracer, concrete_or_error, is_constant_dim
from olympus_ir.types import dtypes
from olympus_ir.types.annotations import ArrayLike, DTypeLike
from olympus_ir.types.arrays import Array

from ..core.axes import canonical_axis, hashable_axis, refuse_out
from ..core.compilation import compiled
from ..core.promotion import check_arraylike, convert, ensure_array, promote_dtypes
from .shaping import atleast_1d, atleast_2d, atleast_3d, ravel, transpose

__all__ = [
    "append",
    "array_split",
    "block",
    "column_stack",
    "concat",
    "concatenate",
    "dsplit",
    "dstack",
    "hsplit",
    "hstack",
    "split",
    "stack",
    "unstack",
    "vsplit",
    "vstack",
]


# ---- joining ----


def concatenate(
    arrays: Array | np.ndarray | Sequence[ArrayLike],
    axis: int | None = 0,
    dtype: DTypeLike | None = None,
) -> Array:
    """Returns arrays joined along one of their dimensions.

    Args:
      arrays: a sequence of arrays, or one array, whose slices along the first dimension are joined.
      axis: the dimension; None joins the flat arrays.
      dtype: the dtype of the result.

    Returns:
      An array of the common dtype, whose size along ``axis`` is the sum of the arrays' sizes.

    Example:
      >>> from olympus_numpy import array
      >>> concatenate([array([1, 2]), array([3.5])])
      Array([1. , 2. , 3.5], dtype=float32)
    """
    arrays = _sequence("concatenate", arrays)
    if axis is not None:
        axis = hashable_axis("concatenate", axis)
    if dtype is not None:
        dtype = dtypes.check_and_canonicalize_user_dtype(dtype, "concatenate")
    return _concatenate(arrays, axis, dtype)


def _sequence(name: str, arrays: Any) -> Any:
    """Checks the operands of a joining function; returns a list, a tuple, or an array of slices."""
    if isinstance(arrays, np.ndarray | Array):
        if arrays.ndim and arrays.shape[0] == 0:
            raise ValueError(f"Need at least one array to {name}, got an array of {arrays.shape}.")
        return arrays
    if not isinstance(arrays, list | tuple):
        if not hasattr(arrays, "__iter__"):
            raise TypeError(f"{name} takes a sequence of arrays, got {type(arrays).__name__}")
        arrays = list(arrays)
    check_arraylike(name, *arrays)
    if len(arrays) == 0:
        raise ValueError(f"Need at least one array to {name}.")
    return arrays


def _joined(arrays: Any, axis: int | None = 0, dtype: Any = None) -> Any:
    if not isinstance(arrays, list | tuple):
        arrays = ensure_array(arrays)
        if arrays.ndim == 0 or (arrays.ndim == 1 and axis is not None):
            raise ValueError("Zero-dimensional arrays cannot be concatenated.")
        if axis is not None:
            # The slices along the first dimension are joined by one transposition and one reshape.
            axis = canonical_axis(axis, arrays.ndim - 1)
            arrays = lax.transpose(arrays, (*range(1, axis + 1), 0, *range(axis + 1, arrays.ndim)))
            shape = arrays.shape
            shape = (*shape[:axis], shape[axis] * shape[axis + 1], *shape[axis + 2 :])
            return _typed(lax.reshape(arrays, shape), dtype)
        return _typed(lax.reshape(arrays, (math.prod(arrays.shape),)), dtype)
    operands = [ensure_array(array) for array in arrays]
    if axis is None:
        operands = [lax.reshape(operand, (math.prod(operand.shape),)) for operand in operands]
        axis = 0
    if operands[0].ndim == 0:
        raise ValueError("Zero-dimensional arrays cannot be concatenated.")
    axis = canonical_axis(axis, operands[0].ndim)
    if dtype is None:
        operands = promote_dtypes(*operands)
    else:
        operands = [convert(operand, dtype) for operand in operands]
    if len(operands) == 1:
        return as_array(operands[0])
    return lax.concatenate(operands, axis)


def _typed(x: Any, dtype: Any) -> Any:
    return x if dtype is None else convert(x, dtype)


_concatenate = compiled(_joined, ("axis", "dtype"), inline=True, name="_concatenate")


def concat(arrays: Array | np.ndarray | Sequence[ArrayLike], /, *, axis: int | None = 0) -> Array:
    """Returns arrays joined along one of their dimensions.

    Args:
      arrays: a sequence of arrays, or one array, whose slices along the first dimension are joined.
      axis: the dimension; None joins the flat arrays.

    Returns:
      An array of the common dtype, whose size along ``axis`` is the sum of the arrays' sizes.

    Example:
      >>> from olympus_numpy import array
      >>> concat([array([1]), array([2])])
      Array([1, 2], dtype=int32)
    """
    return concatenate(arrays, axis=axis)


def stack(
    arrays: Array | np.ndarray | Sequence[ArrayLike],
    axis: int = 0,
    out: None = None,
    dtype: DTypeLike | None = None,
) -> Array:
    """Returns arrays of the same shape joined along a new dimension.

    Args:
      arrays: a sequence of arrays, or one array, whose slices along the first dimension are joined.
      axis: the position of the new dimension.
      out: not supported.
      dtype: the dtype of the result.

    Returns:
      An array of the common dtype with one more dimension than the arrays, of size ``len(arrays)``.

    Raises:
      TypeError: ``arrays`` is an array of no dimensions.

    Example:
      >>> from olympus_numpy import array
      >>> stack([array([1, 2]), array([3, 4])], axis=1)
      Array([[1, 3],
             [2, 4]], dtype=int32)
    """
    if out is not None:
        refuse_out("stack")
    if isinstance(arrays, np.ndarray | Array) and arrays.ndim == 0:
        raise TypeError("stack takes a sequence of arrays, got an array of no dimensions")
    arrays = _sequence("stack", arrays)
    if dtype is not None:
        dtype = dtypes.check_and_canonicalize_user_dtype(dtype, "stack")
    return _stack(arrays, hashable_axis("stack", axis), dtype)


def _stacked(arrays: Any, axis: int = 0, dtype: Any = None) -> Any:
    if not isinstance(arrays, list | tuple):
        arrays = ensure_array(arrays)
        axis = canonical_axis(axis, arrays.ndim)
        order = list(range(1, arrays.ndim))
        order.insert(axis, 0)
        return _typed(as_array(lax.transpose(arrays, tuple(order))), dtype)
    operands = [ensure_array(array) for array in arrays]
    for operand in operands:
        if operand.shape != operands[0].shape:
            shapes = ", ".join(str(operand.shape) for operand in operands)
            raise ShapeError(
                f"All input arrays must have the same shape. stack got the shapes {shapes}. "
                "concatenate joins arrays along a dimension that differs."
            )
    axis = canonical_axis(axis, operands[0].ndim + 1)
    if dtype is None:
        operands = promote_dtypes(*operands)
    else:
        operands = [convert(operand, dtype) for operand in operands]
    return lax.stack(operands, axis)


_stack = compiled(_stacked, ("axis", "dtype"), inline=True, name="_stack")


def _along(name: str, tup: Any, at_least: Any, axis: int, dtype: Any) -> Array:
    if isinstance(tup, np.ndarray | Array):
        arrays: Any = [at_least(array) for array in _slices(name, tup)]
    else:
        arrays = [at_least(array) for array in _sequence(name, tup)]
    return concatenate(arrays, axis=axis, dtype=dtype)


def _slices(name: str, x: Any) -> list[Any]:
    if x.ndim == 0 or x.shape[0] == 0:
        raise ValueError(f"Need at least one array to {name}, got an array of shape {x.shape}.")
    return [x[position] for position in range(x.shape[0])]


def vstack(tup: Array | np.ndarray | Sequence[ArrayLike], dtype: DTypeLike | None = None) -> Array:
    """Returns arrays joined along the first dimension; each vector becomes a row.

    Args:
      tup: a sequence of arrays.
      dtype: the dtype of the result.

    Returns:
      An array of at least two dimensions and of the common dtype.

    Example:
      >>> from olympus_numpy import array
      >>> vstack([array([1, 2]), array([3, 4])])
      Array([[1, 2],
             [3, 4]], dtype=int32)
    """
    return _along("vstack", tup, atleast_2d, 0, dtype)


def hstack(tup: Array | np.ndarray | Sequence[ArrayLike], dtype: DTypeLike | None = None) -> Array:
    """Returns arrays joined along the second dimension; joins vectors along their first dimension.

    Args:
      tup: a sequence of arrays.
      dtype: the dtype of the result.

    Returns:
      An array of at least one dimension and of the common dtype.

    Example:
      >>> from olympus_numpy import array
      >>> hstack([array([1, 2]), array([3])])
      Array([1, 2, 3], dtype=int32)
    """
    if isinstance(tup, np.ndarray | Array):
        arrays = [atleast_1d(array) for array in _slices("hstack", tup)]
    else:
        arrays = [atleast_1d(array) for array in _sequence("hstack", tup)]
    return concatenate(arrays, axis=0 if arrays[0].ndim == 1 else 1, dtype=dtype)


def dstack(tup: Array | np.ndarray | Sequence[ArrayLike], dtype: DTypeLike | None = None) -> Array:
    """Returns arrays joined along the third dimension.

    Args:
      tup: a sequence of arrays.
      dtype: the dtype of the result.

    Returns:
      An array of at least three dimensions and of the common dtype.

    Example:
      >>> from olympus_numpy import array
      >>> dstack([array([1, 2]), array([3, 4])]).shape
      (1, 2, 2)
    """
    return _along("dstack", tup, atleast_3d, 2, dtype)


def column_stack(tup: Array | np.ndarray | Sequence[ArrayLike]) -> Array:
    """Returns arrays joined along the second dimension; each vector becomes a column.

    Args:
      tup: a sequence of arrays.

    Returns:
      An array of two dimensions, with a column for each vector, of the common dtype.

    Example:
      >>> from olympus_numpy import array
      >>> column_stack([array([1, 2]), array([3, 4])])
      Array([[1, 3],
             [2, 4]], dtype=int32)
    """

    def as_columns(x: Any) -> Any:
        return x if np.ndim(x) > 1 else transpose(atleast_2d(x))

    return _along("column_stack", tup, as_columns, 1, None)


def append(arr: ArrayLike, values: ArrayLike, axis: int | None = None) -> Array:
    """Returns an array with values added at its end.

    Args:
      arr: an array.
      values: an array.
      axis: the dimension to join along; by default, both arrays are flattened.

    Returns:
      An array of the common dtype; of one dimension if ``axis`` is not given.

    Example:
      >>> from olympus_numpy import array
      >>> append(array([1, 2]), 3)
      Array([1, 2, 3], dtype=int32)
    """
    if axis is None:
        return concatenate([ravel(arr), ravel(values)], 0)
    return concatenate([arr, values], axis=axis)


def block(arrays: ArrayLike | list[Any]) -> Array:
    """Assembles an array from nested lists of blocks.

    Args:
      arrays: an array, or nested lists of arrays. The innermost lists are joined along the last
        dimension, the lists around them along the second last dimension, and so on.

    Returns:
      An array of the common dtype. Its rank is the largest rank of a block, or the depth of nesting
      if that is greater.

    Example:
      >>> from olympus_numpy import ones, zeros
      >>> block([[ones((1, 1)), zeros((1, 2))]])
      Array([[1., 0., 0.]], dtype=float32)
    """
    depth = _depth(arrays, ())
    ndim = max(depth, _largest_ndim(arrays))
    return _block(arrays, depth, ndim)


def _depth(arrays: Any, path: tuple[int, ...]) -> int:
    if isinstance(arrays, tuple):
        raise ValueError(f"block: lists, not tuples, hold the blocks; got a tuple at {path}")
    if not isinstance(arrays, list):
        return 0
    if not arrays:
        raise ValueError(f"block: the list at {path} is empty")
    depths = {_depth(array, (*path, position)) for position, array in enumerate(arrays)}
    if len(depths) > 1:
        raise ValueError(
            f"block: lists must be nested to the same depth, got {sorted(depths)} at {path}"
        )
    return 1 + depths.pop()


def _largest_ndim(arrays: Any) -> int:
    if isinstance(arrays, list):
        return max(_largest_ndim(array) for array in arrays)
    return np.ndim(arrays)


def _block(arrays: Any, depth: int, ndim: int) -> Any:
    if depth == 0:
        array = ensure_array(arrays)
        missing = ndim - array.ndim
        return lax.expand_dims(array, tuple(range(missing))) if missing > 0 else as_array(array)
    return concatenate([_block(x, depth - 1, ndim) for x in arrays], axis=-depth)


# ---- splitting ----


def split(
    ary: ArrayLike, indices_or_sections: int | Sequence[int] | ArrayLike, axis: int = 0
) -> list[Array]:
    """Splits an array into parts along a dimension.

    Args:
      ary: an array.
      indices_or_sections: the number of equal parts, or the indices at which to split.
      axis: the dimension.

    Returns:
      A list of arrays of the dtype of ``ary``.

    Raises:
      ValueError: if equal parts are not possible.

    Example:
      >>> from olympus_numpy import arange
      >>> split(arange(4), 2)
      [Array([0, 1], dtype=int32), Array([2, 3], dtype=int32)]
    """
    return _cut("split", ary, indices_or_sections, axis)


def array_split(
    ary: ArrayLike, indices_or_sections: int | Sequence[int] | ArrayLike, axis: int = 0
) -> list[Array]:
    """Splits an array along a dimension into parts; the first parts are larger if necessary.

    Args:
      ary: an array.
      indices_or_sections: the number of parts, or the indices at which to split.
      axis: the dimension.

    Returns:
      A list of arrays of the dtype of ``ary``.

    Example:
      >>> from olympus_numpy import arange
      >>> [part.shape for part in array_split(arange(5), 3)]
      [(2,), (2,), (1,)]
    """
    return _cut("array_split", ary, indices_or_sections, axis)


def _cut(name: str, ary: Any, indices_or_sections: Any, axis: int) -> list[Any]:
    check_arraylike(name, ary)
    ary = ensure_array(ary)
    axis = canonical_axis(hashable_axis(name, axis), ary.ndim)
    size = ary.shape[axis]
    if _is_sequence(indices_or_sections):
        sizes = _sizes_between(name, indices_or_sections, size)
    else:
        if isinstance(indices_or_sections, Tracer):
            indices_or_sections = concrete_or_error(
                None, indices_or_sections, f"in olympus.numpy.{name} argument 1"
            )
        if not is_constant_dim(indices_or_sections):
            raise ValueError(
                f"olympus.numpy.{name} with a symbolic number of sections is not supported: the "
                f"number of arrays that it returns must be known, got {indices_or_sections}"
            )
        sections = int(indices_or_sections)
        if sections <= 0:
            raise SectionsError(f"{name}: the number of sections must be positive, got {sections}")
        part, rest = divmod(size, sections)
        if rest and name != "array_split":
            raise ValueError(f"array split does not result in an equal division: rest is {rest}")
        sizes = (part + 1,) * rest + (part,) * (sections - rest)
    return list(_split(ary, sizes, axis))


def _is_sequence(value: Any) -> bool:
    return isinstance(value, tuple | list) or (is_constant_dim(value) and np.ndim(value) > 0)


def _sizes_between(name: str, positions: Any, size: int) -> tuple[int, ...]:
    """Returns the sizes of the slices between indices; negative indices count from the end."""
    if isinstance(positions, Tracer) and positions.size:
        positions = concrete_or_error(np.asarray, positions, f"in olympus.numpy.{name} argument 1")
    cuts = [0]
    for position in positions:
        if isinstance(position, Tracer):
            position = concrete_or_error(int, position, f"in olympus.numpy.{name} argument 1")
        position = as_size(position)
        cuts.append(min_dim(max_dim(position + size if position < 0 else position, 0), size))
    cuts.append(size)
    return tuple(max_dim(end - start, 0) for start, end in pairwise(cuts))


def _parts(ary: Any, sizes: tuple[int, ...], axis: int) -> Any:
    if sum(sizes) == ary.shape[axis]:
        return lax.split(ary, sizes, axis)
    # Indices that are not in order select overlapping slices.
    raise ValueError(
        "split: the indices at which to split must be in increasing order, got parts of sizes "
        f"{sizes} of a dimension of size {ary.shape[axis]}"
    )


_split = compiled(_parts, ("sizes", "axis"), inline=True, name="_split")


def vsplit(ary: ArrayLike, indices_or_sections: int | Sequence[int] | ArrayLike) -> list[Array]:
    """Splits an array into parts along its first dimension.

    Args:
      ary: an array.
      indices_or_sections: the number of equal parts, or the indices at which to split.

    Returns:
      A list of arrays of the dtype of ``ary``.

    Example:
      >>> from olympus_numpy import ones
      >>> len(vsplit(ones((4, 2)), 2))
      2
    """
    return _cut("vsplit", ary, indices_or_sections, 0)


def hsplit(ary: ArrayLike, indices_or_sections: int | Sequence[int] | ArrayLike) -> list[Array]:
    """Splits an array into parts along its second dimension, or a vector along its first.

    Args:
      ary: an array.
      indices_or_sections: the number of equal parts, or the indices at which to split.

    Returns:
      A list of arrays of the dtype of ``ary``.

    Example:
      >>> from olympus_numpy import ones
      >>> len(hsplit(ones((4, 2)), 2))
      2
    """
    check_arraylike("hsplit", ary)
    return _cut("hsplit", ary, indices_or_sections, 0 if np.ndim(ary) == 1 else 1)


def dsplit(ary: ArrayLike, indices_or_sections: int | Sequence[int] | ArrayLike) -> list[Array]:
    """Splits an array into parts along its third dimension.

    Args:
      ary: an array.
      indices_or_sections: the number of equal parts, or the indices at which to split.

    Returns:
      A list of arrays of the dtype of ``ary``.

    Example:
      >>> from olympus_numpy import ones
      >>> len(dsplit(ones((1, 1, 4)), 2))
      2
    """
    return _cut("dsplit", ary, indices_or_sections, 2)


def unstack(x: ArrayLike, /, *, axis: int = 0) -> tuple[Array, ...]:
    """Returns the slices of an array along a dimension, without that dimension.

    Args:
      x: an array.
      axis: the dimension.

    Returns:
      A tuple of arrays of the dtype of ``x``, each without the dimension ``axis``.

    Raises:
      ValueError: if ``x`` has no dimensions.

    Example:
      >>> from olympus_numpy import array
      >>> unstack(array([[1, 2], [3, 4]]))
      (Array([1, 2], dtype=int32), Array([3, 4], dtype=int32))
    """
    check_arraylike("unstack", x)
    x = ensure_array(x)
    if x.ndim == 0:
        raise ValueError(
            "Unstack requires arrays with rank > 0, however a scalar array was passed."
        )
    return tuple(_unstack(x, canonical_axis(axis, x.ndim)))


def _unstacked(x: Any, axis: int) -> Any:
    return list(lax.unstack(x, axis))


_unstack = compiled(_unstacked, ("axis",), inline=True, name="_unstack")
