# SPDX-License-Identifier: Apache-2.0
"""Parser of indices: an index becomes a static layout and dynamic operands.

The *layout* is a hashable tuple with one entry for each element of the index; the operands are the
values that are not known before a program runs. A program is compiled once for each layout. Eager
indices put positions into the operands and sizes into the layout, so ``x[3]`` and ``x[4]`` call the
same program. While an olympuspr is being recorded, all that is static goes into the layout.
"""

from __future__ import annotations

import operator
from collections.abc import Sequence
from typing import Any, NoReturn

import numpy as np

from olympus_ir.diagnostics.errors import NonConcreteBooleanIndexError
from olympus_ir.lax.core.sizes import max_dim, min_dim
from olympus_ir.programs.tracing import Tracer, is_constant_dim
from olympus_ir.settings.naming import naming
from olympus_ir.types import dtypes
from olympus_ir.types.arrays import Array
from olympus_ir.types.avals import array_conversion, canonicalize_shape

from ..arrays.creation import asarray
from ..arrays.nonzero import counts_size_of, nonzero

__all__ = [
    "ARRAY",
    "COMPUTED",
    "FIXED",
    "FLAG",
    "GAP",
    "NEW",
    "PLACE",
    "SLICE",
    "SPAN",
    "WINDOW",
    "parse",
]

# Kinds of entries. An entry is a tuple whose first element is its kind.
NEW = 0  # (NEW,): a new dimension of size one
FIXED = 1  # (FIXED, i): the integer i, counted from the start, maybe out of range
PLACE = 2  # (PLACE,): an integer that is an operand, counted from the start
COMPUTED = 3  # (COMPUTED,): an integer that is an operand, maybe negative
SLICE = 4  # (SLICE, start, size, step): `size` elements, of which `start` is the lowest
WINDOW = 5  # (WINDOW, size, step): a slice whose `start` is an operand
ARRAY = 6  # (ARRAY,): an array of integers that is an operand
FLAG = 7  # (FLAG, n): a scalar boolean; n is the size of the dimension it adds: 1 if true, else 0
GAP = 8  # (GAP,): an ellipsis for no dimensions; it still separates the arrays around it
SPAN = 9  # (SPAN, size, step): a slice whose `start` is an operand, maybe negative

# In slices a negative step means that the elements come in decreasing order of their indices.

Entry = tuple
Layout = tuple[Entry, ...]

_NEW_ENTRY = (NEW,)
_PLACE_ENTRY = (PLACE,)
_COMPUTED_ENTRY = (COMPUTED,)
_ARRAY_ENTRY = (ARRAY,)
_GAP_ENTRY = (GAP,)


def parse(
    shape: tuple[int, ...], index: Any, fixed: bool, wrap: bool = True
) -> tuple[Layout, list[Any]]:
    """Parses an index of an array of some shape.

    Args:
      shape: the array's shape.
      index: the index, as in ``x[index]``.
      fixed: whether known integers go into the layout rather than among the operands.
      wrap: whether known negative integers count from the end.

    Returns:
      The layout, which covers all dimensions of the array, and the operands.

    Raises:
      IndexError: if the index does not fit the shape.
      TypeError: if ``index`` is not a valid index.
      NonConcreteBooleanIndexError: if a mask is traced.
    """
    parts = index if index.__class__ is tuple else (_single(index),)
    layout: list[Entry] = []
    operands: list[Any] = []
    axis = 0
    for position, part in enumerate(parts):
        kind = part.__class__
        if kind is int:
            _check_rank(axis, shape, parts)
            _check_not_empty(axis, shape, parts)
            _add_integer(part, shape[axis], fixed, wrap, layout, operands)
            axis += 1
        elif kind is slice:
            _check_rank(axis, shape, parts)
            _add_slice(part, shape[axis], position, fixed, layout, operands)
            axis += 1
        elif part is None:
            layout.append(_NEW_ENTRY)
        elif part is Ellipsis:
            remaining = _dimensions(parts[position + 1 :])
            count = len(shape) - axis - remaining
            if count < 0:
                _raise_rank(shape, parts)
            layout += [(SLICE, 0, size, 1) for size in shape[axis : axis + count]]
            if count == 0:
                layout.append(_GAP_ENTRY)
            axis += count
        else:
            axis = _add_other(part, shape, axis, parts, fixed, wrap, layout, operands)
    layout += [(SLICE, 0, size, 1) for size in shape[axis:]]
    return tuple(layout), operands


def _single(index: Any) -> Any:
    """Checks that an index other than a tuple is not a sequence, and returns the index."""
    if index.__class__ is list or (
        isinstance(index, Sequence) and not isinstance(index, str | bytes | Array)
    ):
        raise TypeError(
            "Using a non-tuple sequence for multidimensional indexing is not allowed; use "
            f"`arr[array(seq)]` instead of `arr[seq]`. Got index {index!r}."
        )
    return index


def _dimensions(parts: Sequence[Any]) -> int:
    """Returns the number of the array's dimensions that an index consumes."""
    count = 0
    for part in parts:
        if part is Ellipsis:
            raise IndexError("an index can only have a single ellipsis ('...')")
        if part is None or part.__class__ is bool or isinstance(part, np.bool_):
            continue
        dtype = getattr(part, "dtype", None)
        if dtype is not None and dtype == np.bool_:
            count += part.ndim
        elif part.__class__ is list:
            array = np.asarray(part) if not _has_arrays(part) else None
            is_mask = array is not None and array.dtype == np.bool_
            count += array.ndim if is_mask else 1  # type: ignore[union-attr]
        else:
            count += 1
    return count


def _check_rank(axis: int, shape: tuple, parts: Sequence[Any]) -> None:
    if axis >= len(shape):
        _raise_rank(shape, parts)


def _check_not_empty(axis: int, shape: tuple, parts: Sequence[Any]) -> None:
    """Raises IndexError for an integer along an axis without elements.

    Beside an array of indices the integer is one of several, possibly of none, and updates of
    elements that do not exist change nothing. Reads of such elements are refused later.
    """
    if shape[axis] == 0 and not any(map(_is_array_of_indices, parts)):
        raise IndexError(f"index is out of bounds for axis {axis} with size 0")


def _is_array_of_indices(part: Any) -> bool:
    return part.__class__ is list or getattr(part, "ndim", 0) > 0


def _raise_rank(shape: tuple, parts: Sequence[Any]) -> NoReturn:
    rank = _dimensions([part for part in parts if part is not Ellipsis])
    raise IndexError(
        f"Too many indices: array is {len(shape)}-dimensional, but {rank} were indexed"
    )


def check_fixed_indices(shape: tuple[int, ...], index: Any) -> None:
    """Raises IndexError if a Python integer in an index is out of range.

    Args:
      shape: the array's shape.
      index: the index, as in ``x[index]``.
    """
    parts = index if isinstance(index, tuple) else (index,)
    consumed = _dimensions([part for part in parts if part is not Ellipsis])
    axis = 0
    for part in parts:
        if part is Ellipsis:
            axis += len(shape) - consumed
        elif part is not None:
            is_integer = isinstance(part, int | np.integer) and not isinstance(part, bool)
            if is_integer and axis < len(shape) and not -shape[axis] <= part < shape[axis]:
                raise IndexError(
                    f"index {part} out of bounds for axis {axis} with size {shape[axis]}: "
                    "check_static_indices is set"
                )
            axis += _dimensions((part,))


# ---- integers and slices ----


def _add_integer(
    index: int,
    size: int,
    fixed: bool,
    wrap: bool,
    layout: list[Entry],
    operands: list[Any],
) -> None:
    if index < 0 and wrap:
        index += size
    if fixed:
        layout.append((FIXED, index))
    else:
        layout.append(_PLACE_ENTRY)
        operands.append(index)


def _add_slice(
    part: slice, size: int, position: int, fixed: bool, layout: list[Entry], operands: list[Any]
) -> None:
    if part.start is None and part.stop is None and part.step is None:
        layout.append((SLICE, 0, size, 1))
        return
    bounds = {part.start.__class__, part.stop.__class__, part.step.__class__}
    if type(size) is not int or not (bounds <= _PLAIN_BOUNDS or _are_numbers(part)):
        layout.append((SLICE, *symbolic_slice(part, size, position)))
        return
    start, stop, step = _slice_indices(part, size, position)
    count = len(range(start, stop, step))
    if step < 0:
        start += (count - 1) * step
    if count < 2:
        step = 1
        start = start if count else 0
    if fixed or count == size:
        layout.append((SLICE, start, count, step))
    else:
        layout.append((WINDOW, count, step))
        operands.append(start)


_PLAIN_BOUNDS = {int, None.__class__}


def _are_numbers(part: slice) -> bool:
    return all(map(is_constant_dim, (part.start, part.stop, part.step)))


def symbolic_slice(part: slice, size: Any, position: int) -> tuple[Any, Any, Any]:
    """Returns the start, number of elements and step of a slice; sizes may be symbolic.

    The start of a slice that runs backwards is the last element that it reaches.
    """
    for value in (part.start, part.stop, part.step):
        if isinstance(value, Tracer):
            _slice_indices(part, 0, position)  # this raises the error for a traced bound
    step = 1 if part.step is None else part.step
    is_integer = isinstance(step, int | np.integer) or not is_constant_dim(step)
    if not is_integer or step == 0:
        raise IndexError(
            f"the step of a slice must be an integer other than zero, got {part} at position "
            f"{position} of the index of a dimension of size {size}"
        )

    def bound(value: Any, default: Any, lowest: Any, highest: Any) -> Any:
        if value is None:
            return default
        if value < 0:
            return max_dim(lowest, value + size)
        return min_dim(highest, value)

    step = int(step) if is_constant_dim(step) else step
    if step > 0:
        start, stop = bound(part.start, 0, 0, size), bound(part.stop, size, 0, size)
        count = max_dim(0, stop - start + step - 1) // step
        return (start, count, step) if _may_be_positive(count) else (0, 0, 1)
    start = bound(part.start, size - 1, -1, size - 1)
    stop = bound(part.stop, -1, -1, size - 1)
    count = max_dim(0, start - stop - step - 1) // -step
    return (start + (count - 1) * step, count, step) if _may_be_positive(count) else (0, 0, 1)


def _may_be_positive(count: Any) -> bool:
    return not is_constant_dim(count) or count > 0


def _slice_indices(part: slice, size: int, position: int) -> tuple[int, int, int]:
    for value in (part.start, part.stop, part.step):
        if isinstance(value, Tracer) and value.concrete_or_none() is None:
            raise IndexError(
                f"Slice entries must be static integers. Got {part} at position {position}: the "
                "size of the result would depend on a traced value. To index a statically sized "
                "part of an array at a computed place use lax.dynamic_slice."
            )
    return part.indices(size)


def _add_slice_of_size(
    part: Any, size: int, fixed: bool, wrap: bool, layout: list[Entry], operands: list[Any]
) -> None:
    """Adds a slice with a size, whose start may be computed: the result of `ds`."""
    count, stride = canonicalize_shape((part.size, part.stride))
    extent = (count - 1) * stride + 1 if count != 0 else 0
    if is_constant_dim(size) and is_constant_dim(extent) and extent > size:
        raise TypeError(
            "slice slice_sizes must be less than or equal to operand shape, got "
            f"{part}, which spans {extent} elements, for a dimension of size {size}"
        )
    start = part.start
    if not isinstance(start, int | np.integer) or not is_constant_dim(size):
        layout.append((SPAN, count, stride))
        operands.append(np.asarray(start) if isinstance(start, int) else start)
        return
    start = int(start) + (size if start < 0 and wrap else 0)
    is_within = start >= 0 and is_constant_dim(extent) and start + extent <= size
    if fixed and is_within:
        layout.append((SLICE, start, count, stride))
    else:
        layout.append((WINDOW, count, stride))
        operands.append(np.asarray(start) if fixed else start)


# ---- arrays ----


def _add_other(
    part: Any,
    shape: tuple,
    axis: int,
    parts: Sequence[Any],
    fixed: bool,
    wrap: bool,
    layout: list[Entry],
    operands: list[Any],
) -> int:
    """Adds an element other than a Python integer or slice to the layout; returns the next axis."""
    if getattr(part.__class__, "_is_slice_of_size", False):
        _check_rank(axis, shape, parts)
        _add_slice_of_size(part, shape[axis], fixed, wrap, layout, operands)
        return axis + 1
    part = _as_index_array(part)
    if part.__class__ is int:
        _check_rank(axis, shape, parts)
        _check_not_empty(axis, shape, parts)
        _add_integer(part, shape[axis], fixed, wrap, layout, operands)
        return axis + 1
    if part.dtype == np.bool_:
        return _add_mask(part, shape, axis, parts, layout, operands)
    if not dtypes.issubdtype(part.dtype, np.integer):
        raise TypeError(
            "Indexer must have integer or boolean type, got indexer with type "
            f"{dtypes.name_of(part.dtype)}. Convert it with `.astype(int)`"
        )
    _check_rank(axis, shape, parts)
    if part.ndim == 0:
        _check_not_empty(axis, shape, parts)
        layout.append(_COMPUTED_ENTRY)
    else:
        layout.append(_ARRAY_ENTRY)
    operands.append(part)
    return axis + 1


def _as_index_array(part: Any) -> Any:
    """Returns an element of an index as an array, or as a Python integer."""
    if part.__class__ is bool or isinstance(part, np.bool_):
        return np.asarray(part)
    if isinstance(part, np.integer):
        return int(part)
    if isinstance(part, np.ndarray | Array):
        return part
    if part.__class__ is list or part.__class__ is tuple:
        return _list_as_array(part)
    if isinstance(part, str | bytes):
        raise TypeError(f"{naming.library} does not support string indexing; got idx={part!r}")
    convert = array_conversion(part)
    if convert is not None:
        return convert()
    try:
        return operator.index(part)
    except TypeError:
        dtype = np.dtype(type(part))
        if dtype.hasobject:
            raise IndexError(
                "only integers, slices (`:`), ellipsis (`...`), newaxis (`None`) and integer or "
                f"boolean arrays are valid indices. Got {part!r}"
            ) from None
        raise TypeError(
            "Indexer must have integer or boolean type, got indexer with type "
            f"{dtypes.name_of(dtype)}: {part!r}. Divide lengths with `//`, or convert with `int`"
        ) from None


def _has_arrays(values: Any) -> bool:
    return any(
        _has_arrays(value) if value.__class__ in (list, tuple) else isinstance(value, Array)
        for value in values
    )


def _list_as_array(part: Any) -> Any:
    if _has_arrays(part):
        return asarray(part)
    array = np.asarray(part)
    return array.astype(np.int64) if array.size == 0 else array


def _fits(mask: tuple[int, ...], shape: tuple[int, ...]) -> bool:
    """Returns whether each size of a mask is zero or equals the size of the indexed dimension."""
    return all(size in (0, dim) for size, dim in zip(mask, shape, strict=True))


def _add_mask(
    mask: Any,
    shape: tuple,
    axis: int,
    parts: Sequence[Any],
    layout: list[Entry],
    operands: list[Any],
) -> int:
    """Adds a boolean array to the layout, as index arrays of its true elements."""
    if isinstance(mask, Tracer):
        known = mask.concrete_or_none()
        if known is None and not (counts_size_of(mask) and mask.ndim):
            raise NonConcreteBooleanIndexError(mask)
        mask = mask if known is None else known
    if not isinstance(mask, Tracer):
        mask = np.asarray(mask)
    if mask.ndim == 0:
        layout.append((FLAG, int(mask)))
        return axis
    end = axis + mask.ndim
    if end > len(shape):
        _raise_rank(shape, parts)
    if not _fits(mask.shape, shape[axis:end]):
        raise IndexError(
            f"boolean index did not match shape of indexed array in index {axis}: got "
            f"{mask.shape}, expected {list(shape[axis:end])}"
        )
    if isinstance(mask, Tracer):
        layout += [_ARRAY_ENTRY] * mask.ndim
        operands += nonzero(mask)
        return end
    for positions in mask.nonzero():
        layout.append(_ARRAY_ENTRY)
        operands.append(positions.astype(np.int32) if max(mask.shape) < 2**31 else positions)
    return end
