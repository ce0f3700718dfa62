# SPDX-License-Identifier: Apache-2.0
"""Operations that rearrange the elements of arrays."""

from __future__ import annotations

import math
import operator
from collections.abc import Iterator, Sequence
from typing import Any

from ...diagnostics.errors import ShapeError
from ...programs.primitives import instruction
from ...types import dtypes
from ...types.annotations import ShardingLike
from ...types.avals import ShapedArray, canonicalize_shape, get_aval
from ...types.extended_arrays import ExtendedArray
from ...types.resharding import asked_sharding
from ..core.axes import canonical_axis, check_axis, integer_axes
from ..core.declarations import check_same_dtypes, result_weak_type
from ..core.values import Array, ArrayLike, shape_of

__all__ = [
    "collapse",
    "concatenate",
    "concatenate_p",
    "pad",
    "pad_p",
    "reshape",
    "reshape_p",
    "rev",
    "rev_p",
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
]

reshape_p = instruction("reshape", family="shaping")
squeeze_p = instruction("squeeze", family="shaping")
transpose_p = instruction("transpose", family="shaping")
rev_p = instruction("rev", family="shaping")
concatenate_p = instruction("concatenate", family="shaping")
stack_p = instruction("stack", family="shaping")
unstack_p = instruction("unstack", family="shaping", multiple_results=True)
tile_p = instruction("tile", family="shaping")
pad_p = instruction("pad", family="shaping")
split_p = instruction("split", family="shaping", multiple_results=True)
for _linear in (
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


# ---- changes of shape ----


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
    return ShapedArray.varying(new_sizes, operand.dtype, operand.weak_type, vma=operand.vma)


def reshape(
    operand: ArrayLike,
    new_sizes: Sequence[int],
    dimensions: Sequence[int] | None = None,
    *,
    out_sharding: ShardingLike = None,
) -> Array:
    """Returns an array of another shape with the same elements in row-major order.

    Args:
      operand: an array or scalar.
      new_sizes: the shape of the result, with the same number of elements.
      dimensions: the order in which the operand's dimensions are read, major first; increasing if
        not given.
      out_sharding: the sharding of the result.

    Returns:
      An array of shape ``new_sizes`` and the operand's dtype.

    Raises:
      ShapeError: if the numbers of elements differ or ``dimensions`` are not a permutation.

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
        dimensions = integer_axes("dimensions", dimensions)
        if dimensions == tuple(range(len(shape))):
            dimensions = None
    if shape == new_sizes and dimensions is None and out_sharding is None:
        if isinstance(operand, Array):
            return operand
    sharding = asked_sharding(out_sharding, "reshape")
    if sharding is not None:
        _check_partial_sums(operand, sharding)
    return reshape_p.bind(operand, new_sizes=new_sizes, dimensions=dimensions, sharding=sharding)


def _check_partial_sums(operand: Any, sharding: Any) -> None:
    """Raises ValueError if a reshape would change the unreduced or reduced mesh axes."""
    layout = get_aval(operand).layout
    for word in ("unreduced", "reduced"):
        own = frozenset() if layout is None else getattr(layout.spec, word)
        axes = getattr(sharding.spec, word)
        if own and own != axes:
            raise ValueError(
                f"out_sharding passed to `reshape` must be {word} over the same mesh axes as "
                f"operand. Got {sharding} and operand of type {get_aval(operand).str_short()}"
            )
        if axes and not own:
            raise ValueError(
                f"out_sharding passed to `reshape` cannot contain {word} axes. Got {sharding}"
            )


def collapse(operand: ArrayLike, start_dimension: int, stop_dimension: int | None = None) -> Array:
    """Joins consecutive dimensions into one.

    Args:
      operand: an array.
      start_dimension: the first of the dimensions.
      stop_dimension: the end of the range of dimensions, exclusive; all remaining dimensions if not
        given.

    Returns:
      An array of the same elements.

    Raises:
      ValueError: if the range of dimensions is empty or out of range.

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
    return ShapedArray.varying(shape, operand.dtype, operand.weak_type, vma=operand.vma)


def squeeze(array: ArrayLike, dimensions: Sequence[int]) -> Array:
    """Removes dimensions of size one.

    Args:
      array: an array.
      dimensions: the dimensions; negative values count from the end.

    Returns:
      An array of the same elements.

    Raises:
      ValueError: if a dimension is out of range, repeated, or not of size one.

    Example:
      >>> from olympus_ir import lax
      >>> import numpy as np
      >>> lax.squeeze(np.ones((1, 3, 1)), (0, -1)).shape
      (3,)
    """
    ndim = len(shape_of(array))
    axes = [canonical_axis(dimension, ndim) for dimension in dimensions]
    if len(set(axes)) != len(axes):
        raise ValueError(f"squeeze dimensions are not unique: {tuple(dimensions)}")
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
    return ShapedArray.varying(shape, operand.dtype, operand.weak_type, vma=operand.vma)


def transpose(operand: ArrayLike, permutation: Sequence[int]) -> Array:
    """Permutes dimensions: dimension ``i`` of the result is dimension ``permutation[i]``.

    Args:
      operand: an array.
      permutation: the operand's dimensions, each once.

    Returns:
      An array of the operand's dtype.

    Raises:
      ShapeError: if ``permutation`` is not a permutation of the operand's dimensions.

    Example:
      >>> from olympus_ir import lax
      >>> import numpy as np
      >>> lax.transpose(np.ones((2, 3, 4)), (2, 0, 1)).shape
      (4, 2, 3)
    """
    permutation = integer_axes("permutation", permutation)
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
            f"rev dimensions must all be less than operand ndim, got dimensions {dimensions} for "
            f"operand ndim {operand.ndim}; none may be negative."
        )
    return operand


def rev(operand: ArrayLike, dimensions: Sequence[int]) -> Array:
    """Reverses the order of the elements along the given dimensions.

    Args:
      operand: an array.
      dimensions: the dimensions, nonnegative.

    Returns:
      An array of the operand's shape and dtype.

    Raises:
      ShapeError: if dimensions are repeated or out of range.

    Example:
      >>> from olympus_ir import lax
      >>> import numpy as np
      >>> lax.rev(np.array([1, 2, 3]), (0,))
      Array([3, 2, 1], dtype=int32)
    """
    return rev_p.bind(operand, dimensions=integer_axes("rev dimensions", dimensions))


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
    return ShapedArray.varying(
        shape, operands[0].dtype, result_weak_type(operands), vma=_varying(operands)
    )


def _varying(avals: Sequence[ShapedArray]) -> frozenset:
    if not any(aval.vma for aval in avals):
        return avals[0].vma
    return frozenset().union(*(aval.vma for aval in avals))


def concatenate(operands: Sequence[ArrayLike], dimension: int) -> Array:
    """Joins arrays along one dimension.

    Args:
      operands: arrays of the same dtype whose shapes are equal except in ``dimension``.
      dimension: the dimension, nonnegative.

    Returns:
      An array of the operands' dtype.

    Raises:
      ShapeError: if the shapes do not match or ``dimension`` is out of range.
      TypeError: if the dtypes differ.
      ValueError: if there are no operands.

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
    check_axis("stack", "axis", axis, operands[0], operands[0].ndim + 1)
    shape = (*shapes[0][:axis], len(operands), *shapes[0][axis:])
    return ShapedArray.varying(
        shape, operands[0].dtype, result_weak_type(operands), vma=_varying(operands)
    )


def stack(operands: Sequence[ArrayLike], axis: int = 0) -> Array:
    """Joins arrays of the same shape along a new dimension.

    Args:
      operands: arrays of the same dtype and shape.
      axis: the position of the new dimension; negative values count from the end.

    Returns:
      An array of the operands' dtype with one more dimension.

    Raises:
      ShapeError: if the shapes differ.
      TypeError: if the dtypes differ.
      ValueError: if there are no operands or ``axis`` is out of range.

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
    check_axis("unstack", "axis", axis, operand)
    shape = (*operand.shape[:axis], *operand.shape[axis + 1 :])
    part = ShapedArray.varying(shape, operand.dtype, operand.weak_type, vma=operand.vma)
    return [part] * operand.shape[axis]


def unstack(x: ArrayLike, axis: int = 0) -> tuple[Array, ...]:
    """Splits an array into its slices along one dimension.

    Args:
      x: an array.
      axis: the dimension; negative values count from the end.

    Returns:
      A tuple of arrays without the dimension.

    Raises:
      ValueError: if ``axis`` is out of range.

    Example:
      >>> from olympus_ir import lax
      >>> import numpy as np
      >>> lax.unstack(np.array([[1, 2], [3, 4]]))
      (Array([1, 2], dtype=int32), Array([3, 4], dtype=int32))
    """
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
        ShapedArray.varying(
            (*before, size, *after), operand.dtype, operand.weak_type, vma=operand.vma
        )
        for size in sizes
    ]


def split(operand: ArrayLike, sizes: Sequence[int], axis: int = 0) -> list[Array]:
    """Splits an array along one dimension into parts of the given sizes.

    Args:
      operand: an array.
      sizes: the sizes of the parts, whose sum is the size of the dimension.
      axis: the dimension.

    Returns:
      A list of arrays of the operand's dtype and rank.

    Raises:
      ValueError: if a size is negative, the sum is wrong, or ``axis`` is out of range.

    Example:
      >>> from olympus_ir import lax
      >>> import numpy as np
      >>> lax.split(np.arange(3), (1, 2))
      [Array([0], dtype=int32), Array([1, 2], dtype=int32)]
    """
    axis = canonical_axis(axis, len(shape_of(operand)))
    return split_p.bind(operand, sizes=integer_axes("sizes", sizes), axis=axis)


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
    return ShapedArray.varying(shape, operand.dtype, operand.weak_type, vma=operand.vma)


def tile(operand: ArrayLike, reps: Sequence[int]) -> Array:
    """Repeats the whole array ``reps[i]`` times along each dimension ``i``.

    Args:
      operand: an array.
      reps: the number of repetitions along each dimension.

    Returns:
      An array of the operand's dtype and rank.

    Raises:
      ShapeError: if the length of ``reps`` is not the operand's rank or a number is negative.

    Example:
      >>> from olympus_ir import lax
      >>> import numpy as np
      >>> lax.tile(np.array([1, 2]), (2,))
      Array([1, 2, 1, 2], dtype=int32)
    """
    return tile_p.bind(operand, reps=integer_axes("reps", reps))


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
        low + high + size + (max(size - 1, 0) * interior if interior else 0)
        for (low, high, interior), size in zip(padding_config, operand.shape, strict=True)
    )
    if any(size < 0 for size in shape):
        raise ValueError(
            f"Dimension size after padding is not at least 0, got result shape {shape}, for "
            f"padding_config {padding_config} and operand shape {operand.shape}"
        )
    avals = (operand, padding_value)
    return ShapedArray.varying(shape, operand.dtype, result_weak_type(avals), vma=_varying(avals))


def pad(
    operand: ArrayLike,
    padding_value: ArrayLike,
    padding_config: Sequence[tuple[int, int, int]],
) -> Array:
    """Pads an array with one value, before, after and between its elements.

    Args:
      operand: an array.
      padding_value: a scalar of the same dtype.
      padding_config: for each dimension, the numbers of values before, after, and between two
        elements. Negative numbers before and after remove elements.

    Returns:
      An array of the operand's dtype and rank.

    Raises:
      TypeError: if the dtypes differ.
      ValueError: if ``padding_value`` is not a scalar, ``padding_config`` has the wrong length, a
        number between elements is negative, or a resulting size is negative.

    Example:
      >>> from olympus_ir import lax
      >>> import numpy as np
      >>> lax.pad(np.array([1, 2]), 0, [(1, 0, 1)])
      Array([0, 1, 0, 2], dtype=int32)
    """
    config = tuple(integer_axes("padding_config entries", entry) for entry in padding_config)
    return pad_p.bind(operand, padding_value, padding_config=config)


# The largest number of rows that one operation separates when a key array is unpacked, for example
# in ``a, b = split(key)``.
_UNSTACKED_AT_ONCE = 32


def _rows(array: ExtendedArray) -> Iterator[ExtendedArray]:
    """Iterates over the rows of an array of an extended dtype."""
    aval = array.aval
    if not aval.shape:
        raise TypeError(f"iteration over a 0-d array of dtype {aval.dtype.name}")
    row = ShapedArray(aval.shape[1:], aval.dtype)
    rows = array.physical
    if aval.shape[0] <= _UNSTACKED_AT_ONCE:
        rows = unstack(rows)
    return (ExtendedArray(physical, row) for physical in rows)


ExtendedArray.__iter__ = _rows  # type: ignore[attr-defined]  # attached, as operators are
