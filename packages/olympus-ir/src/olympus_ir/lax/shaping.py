# SPDX-License-Identifier: Apache-2.0
"""Operations that arrange the elements of arrays anew, and arrays made from nothing."""

from __future__ import annotations

import math
import operator
from collections.abc import Sequence
from typing import Any

import numpy as np

from .. import dtypes
from ..avals import ShapedArray, canonicalize_shape, get_aval
from ..errors import ShapeError
from ..primitives import instruction
from .conversion import convert_dtype
from .families import Number, check_dtype, check_same_dtypes, result_weak_type
from .values import Array, ArrayLike, as_array, dtype_of, shape_of

__all__ = [
    "broadcast",
    "broadcast_in_dim",
    "broadcast_in_dim_p",
    "broadcast_like",
    "broadcast_shapes",
    "broadcast_to_rank",
    "broadcasted_iota",
    "canonical_axis",
    "collapse",
    "concatenate",
    "concatenate_p",
    "empty",
    "expand_dims",
    "full",
    "full_like",
    "iota",
    "iota_p",
    "pad",
    "pad_p",
    "reshape",
    "reshape_p",
    "rev",
    "rev_p",
    "shape_as_value",
    "split",
    "split_p",
    "squeeze",
    "squeeze_p",
    "stack",
    "stack_p",
    "tile",
    "tile_p",
    "transpose",
    "transpose_p",
    "unstack",
    "unstack_p",
    "zeros_like_array",
]

broadcast_in_dim_p = instruction("broadcast_in_dim", family="shaping")
reshape_p = instruction("reshape", family="shaping")
squeeze_p = instruction("squeeze", family="shaping")
transpose_p = instruction("transpose", family="shaping")
rev_p = instruction("rev", family="shaping")
concatenate_p = instruction("concatenate", family="shaping")
stack_p = instruction("stack", family="shaping")
unstack_p = instruction("unstack", family="shaping", multiple_results=True)
tile_p = instruction("tile", family="shaping")
pad_p = instruction("pad", family="shaping")
iota_p = instruction("iota", family="shaping")
split_p = instruction("split", family="shaping", multiple_results=True)
for _linear in (
    broadcast_in_dim_p,
    reshape_p,
    squeeze_p,
    transpose_p,
    rev_p,
    concatenate_p,
    stack_p,
    unstack_p,
    tile_p,
    pad_p,
    split_p,
):
    _linear.linear_in = True


def canonical_axis(axis: Any, ndim: int, what: str = "axis") -> int:
    """An axis counted from the first one.

    Raises:
      TypeError: where ``axis`` is not an integer.
      ValueError: where it is out of range.
    """
    axis = operator.index(axis)
    if not -ndim <= axis < ndim:
        raise ValueError(f"{what} {axis} is out of bounds for array of dimension {ndim}")
    return axis + ndim if axis < 0 else axis


def _axes(name: str, axes: Any) -> tuple[int, ...]:
    """A user's axes as a tuple of Python integers."""
    if axes.__class__ is tuple and all(axis.__class__ is int for axis in axes):
        return axes
    try:
        return tuple(operator.index(axis) for axis in axes)
    except TypeError:
        raise TypeError(f"{name} must be a sequence of integers, got {axes!r}") from None


# ---- broadcasting ----


@broadcast_in_dim_p.def_abstract_eval
def _broadcast_in_dim_shape(
    operand: ShapedArray, *, shape: tuple, broadcast_dimensions: tuple, sharding: Any
) -> ShapedArray:
    if len(broadcast_dimensions) != operand.ndim:
        raise ShapeError(
            "broadcast_in_dim broadcast_dimensions must have length equal to operand ndim; got "
            f"broadcast_dimensions {broadcast_dimensions} for operand ndim {operand.ndim}."
        )
    if not all(0 <= dimension < len(shape) for dimension in broadcast_dimensions):
        raise ShapeError(
            "broadcast_in_dim broadcast_dimensions must be a subset of output dimensions, got "
            f"{broadcast_dimensions} for operand ndim {operand.ndim} and shape {shape}."
        )
    if len(set(broadcast_dimensions)) != len(broadcast_dimensions) or list(
        broadcast_dimensions
    ) != sorted(broadcast_dimensions):
        raise ShapeError(
            f"broadcast_in_dim broadcast_dimensions must increase strictly, got "
            f"{broadcast_dimensions}; use lax.transpose to change the order of dimensions."
        )
    for size, dimension in zip(operand.shape, broadcast_dimensions, strict=True):
        if size not in (1, shape[dimension]):
            raise ShapeError(
                "broadcast_in_dim operand dimension sizes must either be 1, or be equal to their "
                "corresponding dimensions in the target broadcast shape; got operand of shape "
                f"{operand.shape}, target broadcast shape {shape}, broadcast_dimensions "
                f"{broadcast_dimensions}"
            )
    return ShapedArray(shape, operand.dtype, operand.weak_type, sharding=sharding, vma=operand.vma)


def broadcast_in_dim(
    operand: ArrayLike,
    shape: Sequence[int],
    broadcast_dimensions: Sequence[int],
    *,
    out_sharding: Any = None,
) -> Array:
    """Spreads an array over new dimensions and dimensions of size one.

    Args:
      operand: an array or scalar.
      shape: the result's shape.
      broadcast_dimensions: for each dimension of the operand, the dimension of the result that it
        becomes, in increasing order. Sizes are equal, or the operand's is one.
      out_sharding: how the result is laid out.

    Example:
      >>> from olympus_ir import lax
      >>> import numpy as np
      >>> lax.broadcast_in_dim(np.arange(2), (2, 3), (0,))
      Array([[0, 0, 0],
             [1, 1, 1]], dtype=int32)
    """
    shape = canonicalize_shape(shape)
    dimensions = _axes("broadcast_dimensions", broadcast_dimensions)
    if out_sharding is None and isinstance(operand, Array) and operand.ndim == len(shape):
        if operand.shape == shape and dimensions == tuple(range(len(shape))):
            return operand
    return broadcast_in_dim_p.bind(
        operand, shape=shape, broadcast_dimensions=dimensions, sharding=out_sharding
    )


def broadcast(operand: ArrayLike, sizes: Sequence[int], *, out_sharding: Any = None) -> Array:
    """Adds dimensions of the given sizes before the operand's, over which it is repeated.

    Example:
      >>> from olympus_ir import lax
      >>> lax.broadcast(1.5, (2,))
      Array([1.5, 1.5], dtype=float32, weak_type=True)
    """
    sizes = canonicalize_shape(sizes)
    if not sizes and out_sharding is None:
        return as_array(operand)
    shape = shape_of(operand)
    return broadcast_in_dim(
        operand,
        sizes + shape,
        tuple(range(len(sizes), len(sizes) + len(shape))),
        out_sharding=out_sharding,
    )


def broadcast_shapes(*shapes: Sequence[int]) -> tuple[int, ...]:
    """The shape that arrays of the given shapes have after NumPy's broadcasting.

    Raises:
      ValueError: where the shapes do not fit.

    Example:
      >>> broadcast_shapes((2, 1), (3,))
      (2, 3)
    """
    given = [canonicalize_shape(shape) for shape in shapes]
    ndim = max((len(shape) for shape in given), default=0)
    result = [1] * ndim
    for shape in given:
        for position, size in enumerate(shape, ndim - len(shape)):
            if size != 1:
                if result[position] not in (1, size):
                    raise ValueError(f"Incompatible shapes for broadcasting: shapes={given}")
                result[position] = size
    return tuple(result)


def broadcast_to_rank(x: ArrayLike, rank: int) -> Array:
    """Adds dimensions of size one in front until there are ``rank`` of them."""
    ndim = len(shape_of(x))
    if ndim > rank:
        raise ValueError(f"cannot broadcast an array of rank {ndim} to the lower rank {rank}")
    return as_array(x) if ndim == rank else expand_dims(x, tuple(range(rank - ndim)))


def broadcast_like(arr: ArrayLike, like_arr: ArrayLike) -> Array:
    """Broadcasts a scalar or an array to the shape of another one, by NumPy's rules."""
    shape, target = shape_of(arr), shape_of(like_arr)
    if len(shape) > len(target):
        raise ValueError(f"an array of shape {shape} cannot be broadcast to shape {target}")
    return broadcast_in_dim(arr, target, tuple(range(len(target) - len(shape), len(target))))


def expand_dims(array: ArrayLike, dimensions: Sequence[int]) -> Array:
    """Inserts dimensions of size one.

    Args:
      array: an array or scalar.
      dimensions: the positions of the new dimensions in the result, negative ones from its end.

    Example:
      >>> from olympus_ir import lax
      >>> import numpy as np
      >>> lax.expand_dims(np.ones((2, 3)), (0, -1)).shape
      (1, 2, 3, 1)
    """
    shape = shape_of(array)
    ndim = len(shape) + len(dimensions)
    new = {canonical_axis(dimension, ndim) for dimension in dimensions}
    if len(new) != len(dimensions):
        raise ValueError(f"repeated axis in lax.expand_dims: {tuple(dimensions)}")
    if not new:
        return as_array(array)
    old = [position for position in range(ndim) if position not in new]
    sizes = [1] * ndim
    for position, size in zip(old, shape, strict=True):
        sizes[position] = size
    return broadcast_in_dim(array, tuple(sizes), tuple(old))


# ---- the same elements in another shape ----


@reshape_p.def_abstract_eval
def _reshape_shape(
    operand: ShapedArray, *, new_sizes: tuple, dimensions: tuple | None, sharding: Any
) -> ShapedArray:
    if math.prod(new_sizes) != operand.size:
        raise ShapeError(
            f"reshape total size must be unchanged, got new_sizes {new_sizes} (of "
            f"{math.prod(new_sizes)} elements) for shape {operand.shape} (of {operand.size})."
        )
    if dimensions is not None and sorted(dimensions) != list(range(operand.ndim)):
        raise ShapeError(
            "reshape dimensions must be a permutation of operand dimensions, got dimensions "
            f"{dimensions} for shape {operand.shape}."
        )
    return ShapedArray(
        new_sizes, operand.dtype, operand.weak_type, sharding=sharding, vma=operand.vma
    )


def reshape(
    operand: ArrayLike,
    new_sizes: Sequence[int],
    dimensions: Sequence[int] | None = None,
    *,
    out_sharding: Any = None,
) -> Array:
    """The elements, in row-major order, in an array of another shape.

    Args:
      operand: an array or scalar.
      new_sizes: the result's shape, with as many elements.
      dimensions: the order in which the operand's dimensions are read, major first; its own where
        not given.
      out_sharding: how the result is laid out.

    Example:
      >>> from olympus_ir import lax
      >>> import numpy as np
      >>> lax.reshape(np.arange(4), (2, 2))
      Array([[0, 1],
             [2, 3]], dtype=int32)
    """
    new_sizes = canonicalize_shape(
        (new_sizes,) if isinstance(new_sizes, int) else new_sizes, "in the new_sizes of reshape"
    )
    shape = shape_of(operand)
    if dimensions is not None:
        dimensions = _axes("dimensions", dimensions)
        if dimensions == tuple(range(len(shape))):
            dimensions = None
    if shape == new_sizes and dimensions is None and out_sharding is None:
        if isinstance(operand, Array):
            return operand
    return reshape_p.bind(
        operand, new_sizes=new_sizes, dimensions=dimensions, sharding=out_sharding
    )


def collapse(operand: ArrayLike, start_dimension: int, stop_dimension: int | None = None) -> Array:
    """Joins the dimensions from ``start_dimension`` up to ``stop_dimension`` (excluded) into one.

    Example:
      >>> from olympus_ir import lax
      >>> import numpy as np
      >>> lax.collapse(np.ones((2, 3, 4)), 1).shape
      (2, 12)
    """
    shape = shape_of(operand)
    start, stop, _ = slice(start_dimension, stop_dimension).indices(len(shape))
    if stop < start:
        raise ValueError(
            "Invalid dimension range passed to collapse: "
            f"{shape}[{start_dimension}:{stop_dimension}]"
        )
    return reshape(operand, (*shape[:start], math.prod(shape[start:stop]), *shape[stop:]))


@squeeze_p.def_abstract_eval
def _squeeze_shape(operand: ShapedArray, *, dimensions: tuple) -> ShapedArray:
    if any(operand.shape[dimension] != 1 for dimension in dimensions):
        raise ValueError(
            "cannot select an axis to squeeze out which has size not equal to one, got "
            f"shape={operand.shape} and dimensions={dimensions}"
        )
    removed = set(dimensions)
    shape = tuple(size for axis, size in enumerate(operand.shape) if axis not in removed)
    return ShapedArray(shape, operand.dtype, operand.weak_type, vma=operand.vma)


def squeeze(array: ArrayLike, dimensions: Sequence[int]) -> Array:
    """Removes dimensions of size one.

    Args:
      array: an array.
      dimensions: which; negative ones count from the end.

    Raises:
      ValueError: where one is out of range, repeated, or not of size one.
    """
    ndim = len(shape_of(array))
    axes = [canonical_axis(dimension, ndim) for dimension in dimensions]
    if len(set(axes)) != len(axes):
        raise ValueError(f"duplicate value in the dimensions of squeeze: {tuple(dimensions)}")
    if not axes and isinstance(array, Array):
        return array
    return squeeze_p.bind(array, dimensions=tuple(sorted(axes)))


@transpose_p.def_abstract_eval
def _transpose_shape(operand: ShapedArray, *, permutation: tuple) -> ShapedArray:
    if sorted(permutation) != list(range(operand.ndim)):
        raise ShapeError(
            "transpose permutation isn't a permutation of operand dimensions, got permutation "
            f"{permutation} for operand shape {operand.shape}."
        )
    shape = tuple(operand.shape[axis] for axis in permutation)
    return ShapedArray(shape, operand.dtype, operand.weak_type, vma=operand.vma)


def transpose(operand: ArrayLike, permutation: Sequence[int]) -> Array:
    """Orders the dimensions anew: dimension ``i`` of the result is number ``permutation[i]``.

    Example:
      >>> from olympus_ir import lax
      >>> import numpy as np
      >>> lax.transpose(np.ones((2, 3, 4)), (2, 0, 1)).shape
      (4, 2, 3)
    """
    permutation = _axes("permutation", permutation)
    if permutation == tuple(range(len(permutation))) and isinstance(operand, Array):
        if operand.ndim == len(permutation):
            return operand
    return transpose_p.bind(operand, permutation=permutation)


@rev_p.def_abstract_eval
def _rev_shape(operand: ShapedArray, *, dimensions: tuple) -> ShapedArray:
    if len(set(dimensions)) != len(dimensions):
        raise ShapeError(f"rev dimensions must be unique, got {dimensions}.")
    if not all(0 <= dimension < operand.ndim for dimension in dimensions):
        raise ShapeError(
            "rev dimensions must be nonnegative and less than operand ndim, got dimensions "
            f"{dimensions} for operand ndim {operand.ndim}."
        )
    return operand


def rev(operand: ArrayLike, dimensions: Sequence[int]) -> Array:
    """Reverses the order of the elements along the given dimensions."""
    return rev_p.bind(operand, dimensions=_axes("rev dimensions", dimensions))


# ---- joining and splitting ----


@concatenate_p.def_abstract_eval
def _concatenate_shape(*operands: ShapedArray, dimension: int) -> ShapedArray:
    shapes = [operand.shape for operand in operands]
    if len({operand.ndim for operand in operands}) != 1:
        raise ShapeError(
            "Cannot concatenate arrays with different numbers of dimensions: got "
            + ", ".join(map(str, shapes))
        )
    if not 0 <= dimension < operands[0].ndim:
        raise ShapeError(
            f"concatenate dimension out of bounds: dimension {dimension} for shapes "
            + ", ".join(map(str, shapes))
        )
    rest = {shape[:dimension] + shape[dimension + 1 :] for shape in shapes}
    if len(rest) != 1:
        raise ShapeError(
            "Cannot concatenate arrays with shapes that differ in dimensions other than the one "
            f"being concatenated: concatenating along dimension {dimension} for shapes "
            + ", ".join(map(str, shapes))
        )
    check_same_dtypes("concatenate", operands, "concatenate")
    size = sum(shape[dimension] for shape in shapes)
    shape = (*shapes[0][:dimension], size, *shapes[0][dimension + 1 :])
    return ShapedArray(shape, operands[0].dtype, result_weak_type(operands), vma=_varying(operands))


def _varying(avals: Sequence[ShapedArray]) -> frozenset:
    if not any(aval.vma for aval in avals):
        return avals[0].vma
    return frozenset().union(*(aval.vma for aval in avals))


def concatenate(operands: Sequence[ArrayLike], dimension: int) -> Array:
    """Joins arrays along one dimension.

    Args:
      operands: arrays of one dtype whose shapes differ in ``dimension`` at most.
      dimension: the dimension, counted from the first.

    Example:
      >>> from olympus_ir import lax
      >>> import numpy as np
      >>> lax.concatenate([np.zeros(1), np.ones(2)], 0)
      Array([0., 1., 1.], dtype=float32)
    """
    if len(operands) == 0:
        raise ValueError("concatenate requires a non-empty sequence of arrays")
    if len(operands) == 1:
        (operand,) = operands
        if isinstance(operand, Array) and 0 <= operator.index(dimension) < operand.ndim:
            return operand
    return concatenate_p.bind(*operands, dimension=operator.index(dimension))


@stack_p.def_abstract_eval
def _stack_shape(*operands: ShapedArray, axis: int) -> ShapedArray:
    shapes = [operand.shape for operand in operands]
    if any(shape != shapes[0] for shape in shapes):
        raise ShapeError(f"All arrays to stack must have the same shape, got {shapes}")
    check_same_dtypes("stack", operands, "stack")
    shape = (*shapes[0][:axis], len(operands), *shapes[0][axis:])
    return ShapedArray(shape, operands[0].dtype, result_weak_type(operands), vma=_varying(operands))


def stack(operands: Sequence[ArrayLike], axis: int = 0) -> Array:
    """Joins arrays of one shape along a new dimension.

    Args:
      operands: arrays of one dtype and shape.
      axis: the position of the new dimension; a negative one counts from the end.

    Example:
      >>> from olympus_ir import lax
      >>> lax.stack([1, 2])
      Array([1, 2], dtype=int32, weak_type=True)
    """
    if len(operands) == 0:
        raise ValueError("stack requires a non-empty sequence of arrays")
    axis = canonical_axis(axis, len(shape_of(operands[0])) + 1)
    return stack_p.bind(*operands, axis=axis)


@unstack_p.def_abstract_eval
def _unstack_shape(operand: ShapedArray, *, axis: int) -> list[ShapedArray]:
    shape = (*operand.shape[:axis], *operand.shape[axis + 1 :])
    part = ShapedArray(shape, operand.dtype, operand.weak_type, vma=operand.vma)
    return [part] * operand.shape[axis]


def unstack(x: ArrayLike, axis: int = 0) -> tuple[Array, ...]:
    """The slices of an array along one dimension, without that dimension."""
    return tuple(unstack_p.bind(x, axis=canonical_axis(axis, len(shape_of(x)))))


@split_p.def_abstract_eval
def _split_shape(operand: ShapedArray, *, sizes: tuple, axis: int) -> list[ShapedArray]:
    if any(size < 0 for size in sizes):
        raise ValueError(f"Sizes passed to split must be nonnegative, got {list(sizes)}")
    if sum(sizes) != operand.shape[axis]:
        raise ValueError(
            f"Sum of sizes {sum(sizes)} must be equal to dimension {axis} of the operand shape "
            f"{list(operand.shape)}"
        )
    before, after = operand.shape[:axis], operand.shape[axis + 1 :]
    return [
        ShapedArray((*before, size, *after), operand.dtype, operand.weak_type, vma=operand.vma)
        for size in sizes
    ]


def split(operand: ArrayLike, sizes: Sequence[int], axis: int = 0) -> list[Array]:
    """Cuts an array along one dimension into parts of the given sizes.

    Example:
      >>> from olympus_ir import lax
      >>> import numpy as np
      >>> lax.split(np.arange(3), (1, 2))
      [Array([0], dtype=int32), Array([1, 2], dtype=int32)]
    """
    axis = canonical_axis(axis, len(shape_of(operand)))
    return split_p.bind(operand, sizes=_axes("sizes", sizes), axis=axis)


@tile_p.def_abstract_eval
def _tile_shape(operand: ShapedArray, *, reps: tuple) -> ShapedArray:
    if len(reps) != operand.ndim:
        raise ShapeError(
            f"tile: reps length must be equal to the ndim of the operand, got reps {reps} for "
            f"operand shape {operand.shape}."
        )
    if any(repeats < 0 for repeats in reps):
        raise ShapeError(f"tile: reps must be nonnegative, got {reps}.")
    shape = tuple(map(operator.mul, operand.shape, reps))
    return ShapedArray(shape, operand.dtype, operand.weak_type, vma=operand.vma)


def tile(operand: ArrayLike, reps: Sequence[int]) -> Array:
    """Repeats the whole array ``reps[i]`` times along each dimension ``i``."""
    return tile_p.bind(operand, reps=_axes("reps", reps))


@pad_p.def_abstract_eval
def _pad_shape(
    operand: ShapedArray, padding_value: ShapedArray, *, padding_config: tuple
) -> ShapedArray:
    if padding_value.dtype != operand.dtype:
        raise TypeError(
            "pad operand and padding_value must be same dtype: got "
            f"{dtypes.name_of(operand.dtype)} and {dtypes.name_of(padding_value.dtype)}."
        )
    if padding_value.shape:
        raise ValueError(f"padding_value must be a scalar; got shape {padding_value.shape}")
    if len(padding_config) != operand.ndim:
        raise ValueError(
            "length of padding_config must equal the number of axes of operand, got "
            f"padding_config {padding_config} for operand shape {operand.shape}"
        )
    if any(interior < 0 for _, _, interior in padding_config):
        raise ValueError(
            "interior padding in padding_config must be nonnegative, got padding_config "
            f"{padding_config}"
        )
    shape = tuple(
        low + high + size + max(size - 1, 0) * interior
        for (low, high, interior), size in zip(padding_config, operand.shape, strict=True)
    )
    if any(size < 0 for size in shape):
        raise ValueError(
            f"Dimension size after padding is not at least 0, got result shape {shape}, for "
            f"padding_config {padding_config} and operand shape {operand.shape}"
        )
    avals = (operand, padding_value)
    return ShapedArray(shape, operand.dtype, result_weak_type(avals), vma=_varying(avals))


def pad(
    operand: ArrayLike,
    padding_value: ArrayLike,
    padding_config: Sequence[tuple[int, int, int]],
) -> Array:
    """Surrounds an array, and spaces out its elements, with one value.

    Args:
      operand: an array.
      padding_value: a scalar of the same dtype.
      padding_config: for each dimension, how many values come before, after, and between two
        elements. Negative numbers before and after remove elements.

    Example:
      >>> from olympus_ir import lax
      >>> import numpy as np
      >>> lax.pad(np.array([1, 2]), 0, [(1, 0, 1)])
      Array([0, 1, 0, 2], dtype=int32)
    """
    config = tuple(_axes("padding_config entries", entry) for entry in padding_config)
    return pad_p.bind(operand, padding_value, padding_config=config)


# ---- arrays from nothing ----


@iota_p.def_abstract_eval
def _iota_shape(*, dtype: Any, shape: tuple, dimension: int, sharding: Any) -> ShapedArray:
    aval = ShapedArray(shape, dtype, sharding=sharding)
    check_dtype("iota", aval, Number)
    if not 0 <= dimension < len(shape):
        raise ValueError(
            "iota dimension must be between 0 and len(shape), got "
            f"dimension={dimension} for shape={shape}"
        )
    return aval


def iota(dtype: Any, size: int) -> Array:
    """The numbers from zero up to ``size`` (excluded).

    Example:
      >>> from olympus_ir import lax
      >>> lax.iota("int32", 3)
      Array([0, 1, 2], dtype=int32)
    """
    return broadcasted_iota(dtype, (size,), 0)


def broadcasted_iota(
    dtype: Any, shape: Sequence[int], dimension: int, *, out_sharding: Any = None
) -> Array:
    """An array of the given shape whose elements are their indices in one dimension."""
    return iota_p.bind(
        dtype=dtypes.check_and_canonicalize_user_dtype(dtype, "iota", 3),
        shape=canonicalize_shape(shape),
        dimension=operator.index(dimension),
        sharding=out_sharding,
    )


def full(
    shape: Sequence[int], fill_value: ArrayLike, dtype: Any = None, *, sharding: Any = None
) -> Array:
    """An array filled with one value.

    Args:
      shape: its shape.
      fill_value: a scalar.
      dtype: its dtype; the fill value's where not given.
      sharding: how it is laid out.

    Example:
      >>> from olympus_ir import lax
      >>> lax.full((2,), 7, "float32")
      Array([7., 7.], dtype=float32)
    """
    shape = canonicalize_shape(shape)
    fill_shape = shape_of(fill_value)
    if fill_shape:
        raise TypeError(
            "full must be called with scalar fill_value, got fill_value.shape "
            f"{fill_shape}. olympus.numpy.full broadcasts."
        )
    if dtype is None:
        aval = get_aval(fill_value)
        fill_value = convert_dtype(fill_value, aval.dtype, aval.weak_type)  # type: ignore[union-attr]
    else:
        dtype = dtypes.check_and_canonicalize_user_dtype(dtype, "full", 3)
        fill_value = convert_dtype(fill_value, dtype)
    return broadcast(fill_value, shape, out_sharding=sharding)


def full_like(
    x: ArrayLike,
    fill_value: ArrayLike,
    dtype: Any = None,
    shape: Sequence[int] | None = None,
    sharding: Any = None,
) -> Array:
    """An array filled with one value, in shape and dtype like another one where not said otherwise.

    Args:
      x: the array that gives shape and dtype; it may also be anything that has them.
      fill_value: a scalar.
      dtype: the dtype in place of that of ``x``.
      shape: the shape in place of that of ``x``.
      sharding: how the result is laid out.
    """
    shape = shape_of(x) if shape is None else canonicalize_shape(shape)
    if dtype is None:
        weak_type = x.weak_type if isinstance(x, Array) else get_aval(x).weak_type  # type: ignore[union-attr]
        fill_value = convert_dtype(fill_value, dtype_of(x), weak_type)
        return broadcast(fill_value, shape, out_sharding=sharding)
    return full(shape, fill_value, dtype, sharding=sharding)


def zeros_like_array(x: ArrayLike) -> Array:
    """Zeros in shape and dtype like another array."""
    return full_like(x, 0)


def empty(shape: Sequence[int], dtype: Any, *, out_sharding: Any = None) -> Array:
    """An array whose elements nobody should rely on; they are zeros."""
    return full(shape, 0, dtype, sharding=out_sharding)


def shape_as_value(shape: Sequence[int]) -> Array:
    """A shape as an array of integers."""
    return as_array(np.asarray(canonicalize_shape(shape), dtypes.default_int_dtype()))
