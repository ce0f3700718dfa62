# SPDX-License-Identifier: Apache-2.0
"""Gathering windows of an array at computed positions."""

from __future__ import annotations

import enum
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from ...diagnostics.errors import ShapeError
from ...programs.primitives import instruction
from ...types import dtypes
from ...types.avals import ShapedArray, canonicalize_shape
from ..core.axes import canonical_axis
from ..core.values import Array, ArrayLike, dtype_of, shape_of
from ..elementwise import arithmetic
from ..elementwise.conversion import convert_element_type
from ..elementwise.logic import lt, select_n
from ..shaping.broadcasting import expand_dims
from ..shaping.dimensions import size_array
from ..shaping.rearrangement import concatenate

__all__ = [
    "GatherDimensionNumbers",
    "GatherScatterMode",
    "gather",
    "gather_p",
    "index_take",
]


class GatherDimensionNumbers(NamedTuple):
    """The correspondence of the dimensions of `gather`'s operands and result.

    The last dimension of the start indices holds index vectors. The other dimensions of the start
    indices are the batch dimensions of the result.

    Attributes:
      offset_dims: the dimensions of the result that are dimensions of a window.
      collapsed_slice_dims: the operand's dimensions in which windows have size one and that the
        result omits.
      start_index_map: for each component of an index vector, the operand's dimension that the
        component indexes.
      operand_batching_dims: the operand's dimensions that are also batch dimensions of the indices;
        windows have size one in these dimensions, and the result omits the dimensions.
      start_indices_batching_dims: the corresponding dimensions of the start indices.
    """

    offset_dims: tuple[int, ...]
    collapsed_slice_dims: tuple[int, ...]
    start_index_map: tuple[int, ...]
    operand_batching_dims: tuple[int, ...] = ()
    start_indices_batching_dims: tuple[int, ...] = ()


class GatherScatterMode(enum.Enum):
    """The treatment of windows that extend beyond the array.

    Attributes:
      CLIP: windows are moved until they fit.
      FILL_OR_DROP: gathering fills such windows with a value; scattering drops them.
      PROMISE_IN_BOUNDS: the caller promises that there are no such windows. If the promise is
        broken, elements are undefined.
      ONE_HOT: like `FILL_OR_DROP`, computed by multiplications with zeros and ones.
    """

    CLIP = 1
    FILL_OR_DROP = 2
    PROMISE_IN_BOUNDS = 3
    ONE_HOT = 4

    @staticmethod
    def from_any(value: str | GatherScatterMode | None) -> GatherScatterMode:
        """Converts a mode, its name, or None to a mode.

        Raises:
          ValueError: if ``value`` is not a mode.
        """
        if isinstance(value, GatherScatterMode):
            return value
        try:
            return _modes[value]
        except (KeyError, TypeError):
            raise ValueError(
                f"Unknown gather mode {value!r}; the modes are 'clip', 'fill', 'drop', "
                "'promise_in_bounds' and 'one_hot'"
            ) from None


_modes: dict[str | None, GatherScatterMode] = {
    None: GatherScatterMode.FILL_OR_DROP,
    "fill": GatherScatterMode.FILL_OR_DROP,
    "drop": GatherScatterMode.FILL_OR_DROP,
    "clip": GatherScatterMode.CLIP,
    "promise_in_bounds": GatherScatterMode.PROMISE_IN_BOUNDS,
    "one_hot": GatherScatterMode.ONE_HOT,
}

gather_p = instruction("gather", family="indexing")
gather_p.linear_in = (0,)

_GATHER_NAMES = ("collapsed_slice_dims", "start_index_map", "start_indices_batching_dims")


# ---- shape rules ----


def check_sorted_dimensions(
    operation: str, name: str, dimensions: Sequence[int], ndim: int
) -> None:
    """Raises ShapeError if dimensions are not sorted, distinct and in range."""
    if list(dimensions) != sorted(dimensions):
        raise ShapeError(f"{name} in {operation} op must be sorted; got {tuple(dimensions)}")
    _check_distinct(operation, name, dimensions, ndim)


def _check_distinct(
    operation: str, name: str, dimensions: Sequence[int], ndim: int, kind: str = "set"
) -> None:
    if len(set(dimensions)) != len(dimensions):
        raise ShapeError(f"{name} in {operation} op must not repeat; got {tuple(dimensions)}")
    for dimension in dimensions:
        if not 0 <= dimension < ndim:
            raise ShapeError(
                f"Invalid {name} {kind} in {operation} op; valid range is [0, {ndim}); got "
                f"{dimension}"
            )


def check_index_vectors(
    operation: str, operand: ShapedArray, indices: ShapedArray, index_map: Sequence[int], name: str
) -> None:
    """Raises if the indices are not vectors of integers for the operand's dimensions.

    Raises:
      ShapeError: if the length of the vectors differs from that of ``index_map``.
      ValueError: if the indices are not integers.
    """
    if len(index_map) != indices.shape[-1]:
        raise ShapeError(
            f"{operation.capitalize()} op has {len(index_map)} elements in {name} and the bound of "
            f"dimension index_vector_dim={indices.ndim - 1} of indices is {indices.shape[-1]}. "
            "These two numbers must be equal."
        )
    _check_distinct(operation, name, index_map, operand.ndim, "mapping")
    if not dtypes.issubdtype(indices.dtype, np.integer):
        raise ValueError(
            f"{operation} indices must have an integer type, got {dtypes.name_of(indices.dtype)}"
        )


def check_batching(
    operation: str,
    operand: ShapedArray,
    indices: ShapedArray,
    numbers: Any,
    names: tuple[str, str, str],
) -> None:
    """Raises ShapeError if the batching dimensions of operand and indices do not match.

    Args:
      operation: the name of the operation.
      operand: the type of the operand.
      indices: the type of the indices.
      numbers: the dimension numbers.
      names: the parameters' names for the omitted window dimensions, the indexed dimensions, and
        the batching dimensions of the indices.
    """
    if indices.ndim < 1:
        raise ShapeError(f"{operation} indices must have at least one dimension, got a scalar")
    operand_dims = numbers.operand_batching_dims
    index_dims = getattr(numbers, names[2])
    check_sorted_dimensions(operation, "operand_batching_dims", operand_dims, operand.ndim)
    for field in names[:2]:
        if set(operand_dims) & set(getattr(numbers, field)):
            raise ShapeError(
                f"{field} and operand_batching_dims in {operation} op must be disjoint, got "
                f"{getattr(numbers, field)} and {operand_dims}"
            )
    _check_distinct(operation, names[2], index_dims, indices.ndim)
    if indices.ndim - 1 in index_dims:
        raise ShapeError(
            f"{operation.capitalize()} op cannot have the index vector dimension as a batching "
            f"dimension; got {names[2]} {index_dims} for indices of shape {indices.shape}"
        )
    if len(operand_dims) != len(index_dims):
        raise ShapeError(
            f"{operation.capitalize()} op requires equal numbers of operand_batching_dims and "
            f"{names[2]}, got {operand_dims} and {index_dims}"
        )
    sizes = [operand.shape[dimension] for dimension in operand_dims]
    index_sizes = [indices.shape[dimension] for dimension in index_dims]
    if sizes != index_sizes:
        raise ShapeError(
            f"{operation.capitalize()} op requires operand batching dimensions and indices "
            f"batching dimensions to have the same shape, got {sizes} and {index_sizes}"
        )


def _check_offsets(offset: Sequence[int], result_ndim: int) -> None:
    """Raises ShapeError if the offset dimensions of a gather are not dimensions of the result."""
    if list(offset) != sorted(offset):
        raise ShapeError(f"offset_dims in gather op must be sorted; got {offset}")
    if len(set(offset)) != len(offset):
        raise ShapeError(f"offset_dims in gather op must not repeat; got {offset}")
    for position, dimension in enumerate(offset):
        if not 0 <= dimension < result_ndim:
            raise ShapeError(
                f"Offset dimension {position} in gather op is out of bounds; got {dimension}, but "
                f"should have been in [0, {result_ndim})"
            )


def _check_slices(
    slice_sizes: Sequence[int],
    full_sizes: Sequence[Any],
    numbers: GatherDimensionNumbers,
    *,
    is_empty: bool,
) -> None:
    """Raises ShapeError if the slices of a gather do not fit the operand.

    Args:
      slice_sizes: the sizes of the slices.
      full_sizes: the sizes of the operand.
      numbers: the dimension numbers.
      is_empty: whether there are no slices.
    """
    for dimension, (size, full_size) in enumerate(zip(slice_sizes, full_sizes, strict=True)):
        if not 0 <= size <= full_size:
            raise ShapeError(
                f"Slice size at index {dimension} in gather op is out of range, must be within [0, "
                f"{full_size}], got {size}."
            )
    for position, dimension in enumerate(numbers.collapsed_slice_dims):
        size = slice_sizes[dimension]
        if size > 1 or (size == 0 and not is_empty):
            raise ShapeError(
                "Gather op can only collapse slice dims with bound 1, but bound is "
                f"{slice_sizes[dimension]} for index {dimension} at position {position}."
            )
    for position, dimension in enumerate(numbers.operand_batching_dims):
        if slice_sizes[dimension] > 1:
            raise ShapeError(
                "Gather op can only have operand batching dims with bound 0/1, but bound is "
                f"{slice_sizes[dimension]} for index {dimension} at position {position}."
            )


@gather_p.def_abstract_eval
def _gather_shape(
    operand: ShapedArray,
    indices: ShapedArray,
    *,
    dimension_numbers: GatherDimensionNumbers,
    slice_sizes: tuple,
    unique_indices: bool,
    indices_are_sorted: bool,
    mode: GatherScatterMode,
    fill_value: Any,
) -> ShapedArray:
    numbers = dimension_numbers
    offset, collapsed = numbers.offset_dims, numbers.collapsed_slice_dims
    result_ndim = len(offset) + indices.ndim - 1
    _check_offsets(offset, result_ndim)
    check_sorted_dimensions("gather", "collapsed_slice_dims", collapsed, operand.ndim)
    check_batching("gather", operand, indices, numbers, _GATHER_NAMES)
    check_index_vectors("gather", operand, indices, numbers.start_index_map, "start_index_map")
    if len(slice_sizes) != operand.ndim:
        raise ShapeError(
            "Gather op must have one slice size for every input dimension; got slice_sizes "
            f"{slice_sizes} for operand shape {operand.shape}"
        )
    removed = {*collapsed, *numbers.operand_batching_dims}
    if operand.ndim - len(removed) != len(offset):
        raise ShapeError(
            "All components of the offset index in a gather op must either be a offset dimension "
            f"or explicitly collapsed/batching; got slice_sizes {slice_sizes}, offset_dims "
            f"{offset}, collapsed_slice_dims {collapsed} and operand_batching_dims "
            f"{numbers.operand_batching_dims}"
        )
    _check_slices(slice_sizes, operand.shape, numbers, is_empty=0 in indices.shape[:-1])
    window = [size for dimension, size in enumerate(slice_sizes) if dimension not in removed]
    window_sizes, batch_sizes = iter(window), iter(indices.shape[:-1])
    shape = tuple(
        next(window_sizes) if dimension in numbers.offset_dims else next(batch_sizes)
        for dimension in range(result_ndim)
    )
    return ShapedArray.varying(
        shape, operand.dtype, operand.weak_type, vma=operand.vma | indices.vma
    )


# ---- gathering ----


def gather(
    operand: ArrayLike,
    start_indices: ArrayLike,
    dimension_numbers: GatherDimensionNumbers,
    slice_sizes: Sequence[int],
    *,
    unique_indices: bool = False,
    indices_are_sorted: bool = False,
    mode: str | GatherScatterMode | None = None,
    fill_value: ArrayLike | None = None,
) -> Array:
    """Gathers windows of the same size at the positions given by index vectors.

    Args:
      operand: the array from which windows are read.
      start_indices: integers; the last dimension holds index vectors.
      dimension_numbers: the correspondence of dimensions.
      slice_sizes: the shape of the windows, one size for each dimension of the operand.
      unique_indices: a promise that no two windows overlap.
      indices_are_sorted: a promise that index vectors are in lexicographic order.
      mode: the treatment of windows that extend beyond the operand; by default the caller promises
        that there are none.
      fill_value: the elements of such windows in mode ``"fill"``; by default NaN for floats, the
        smallest number for signed integers and the largest for unsigned integers.

    Returns:
      An array of the operand's dtype, with the batch dimensions of the indices and the dimensions
      of a window.

    Raises:
      ShapeError: if ``dimension_numbers`` or ``slice_sizes`` do not fit the operands.
      ValueError: if the indices are not integers or ``mode`` is unknown.

    Example:
      >>> from olympus_ir import lax
      >>> import numpy as np
      >>> rows = lax.GatherDimensionNumbers((1,), (0,), (0,))
      >>> lax.gather(np.arange(6).reshape(3, 2), np.array([[2], [0]]), rows, (1, 2))
      Array([[4, 5],
             [0, 1]], dtype=int32)
    """
    if not isinstance(dimension_numbers, GatherDimensionNumbers):
        raise TypeError(
            "gather: `dimension_numbers` must be GatherDimensionNumbers, got "
            f"{dimension_numbers!r} of type {type(dimension_numbers).__name__}"
        )
    mode = GatherScatterMode.from_any("promise_in_bounds" if mode is None else mode)
    if mode is not GatherScatterMode.FILL_OR_DROP:
        fill_value = None
    elif fill_value is None:
        fill_value = _default_fill_value(dtype_of(operand))
    if 0 in shape_of(start_indices)[:-1]:
        # For an empty result no window is read. The windows need not fit into the operand, which
        # may be empty.
        sizes, shape = list(canonicalize_shape(slice_sizes)), shape_of(operand)
        for dimension in dimension_numbers.collapsed_slice_dims:
            if dimension < min(len(sizes), len(shape)) and shape[dimension] == 0:
                sizes[dimension] = 0
        slice_sizes = tuple(sizes)
    return gather_p.bind(
        operand,
        start_indices,
        dimension_numbers=dimension_numbers,
        slice_sizes=canonicalize_shape(slice_sizes),
        unique_indices=promise("unique_indices", unique_indices),
        indices_are_sorted=promise("indices_are_sorted", indices_are_sorted),
        mode=mode,
        fill_value=fill_value,
    )


def promise(name: str, value: Any) -> bool:
    """Converts a user's promise about all indices to a boolean.

    Args:
      name: the name of the parameter, such as ``unique_indices``.
      value: the promise.

    Raises:
      TypeError: if ``value`` is an array, or another object without a truth value.
    """
    if isinstance(value, bool):
        return value
    try:
        return bool(value)
    except (TypeError, ValueError):
        raise TypeError(
            f"`{name}` is a promise about all indices: it must be True or False, got {value!r}"
        ) from None


def _default_fill_value(dtype: Any) -> Any:
    if dtypes.issubdtype(dtype, np.inexact):
        return np.nan
    if dtypes.issubdtype(dtype, np.signedinteger):
        return int(dtypes.iinfo(dtype).min)
    if dtypes.issubdtype(dtype, np.unsignedinteger):
        return int(dtypes.iinfo(dtype).max)
    if dtypes.issubdtype(dtype, np.bool_):
        return True
    if dtypes.is_extended(dtype):
        return np.iinfo(np.uint32).max
    raise ValueError(f"gather has no default fill_value for dtype {dtypes.name_of(dtype)}")


def index_take(src: ArrayLike, idxs: Sequence[ArrayLike], axes: Sequence[int]) -> Array:
    """Returns the elements of an array at index vectors, given by their components.

    Args:
      src: an array.
      idxs: one vector of indices for each axis, all of the same length. They are taken modulo the
        size of the axis: negative indices count from the end.
      axes: the axes that the vectors index.

    Returns:
      An array with the index vectors as first dimension.

    Example:
      >>> from olympus_ir import lax
      >>> import numpy as np
      >>> lax.index_take(np.arange(5), [np.array([3, 1])], [0])
      Array([3, 1], dtype=int32)
    """
    shape = shape_of(src)
    axes = tuple(canonical_axis(axis, len(shape)) for axis in axes)
    components = [
        expand_dims(_index_from_start(index, shape[axis]), (1,))
        for index, axis in zip(idxs, axes, strict=True)
    ]
    numbers = GatherDimensionNumbers(
        offset_dims=tuple(range(1, len(shape) - len(axes) + 1)),
        collapsed_slice_dims=tuple(sorted(axes)),
        start_index_map=axes,
    )
    sizes = tuple(1 if axis in axes else size for axis, size in enumerate(shape))
    return gather(src, concatenate(components, 1), numbers, sizes, mode="promise_in_bounds")


def _index_from_start(index: Any, size: Any) -> Array:
    """Returns an index modulo a size, in at least 32 bits."""
    dtype = dtype_of(index)
    if dtype.itemsize < 4:  # The dtype may be too narrow for the size.
        dtype = np.dtype(np.int32)
        index = convert_element_type(index, dtype)
    length = size_array(size, dtype)
    remainder = arithmetic.rem(index, length)
    if not dtypes.issubdtype(dtype, np.signedinteger):
        return remainder
    is_negative = lt(remainder, np.zeros((), dtype))
    return select_n(is_negative, remainder, arithmetic.add(remainder, length))
