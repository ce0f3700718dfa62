# SPDX-License-Identifier: Apache-2.0
"""Distinct elements, and arrays as sets.

The number of distinct elements depends on values, so ``size`` must bound it under a trace.
"""

from __future__ import annotations

import math
import operator
from typing import Any, NamedTuple

import numpy as np

from olympus_ir import lax
from olympus_ir.lax.core.sizes import min_dim
from olympus_ir.programs.tracing import Tracer, concrete_or_error, is_constant_dim
from olympus_ir.types import dtypes
from olympus_ir.types.annotations import ArrayLike
from olympus_ir.types.arrays import Array

from ..arrays.creation import asarray
from ..arrays.joining import concatenate
from ..arrays.nonzero import counts_size_of, nonzero
from ..arrays.selection import where
from ..arrays.shaping import moveaxis, ravel
from ..core.axes import canonical_axis
from ..core.compilation import compiled
from ..core.promotion import (
    check_arraylike,
    convert,
    ensure_array,
    promote_dtypes,
    spread,
)
from .searching import searchsorted

__all__ = [
    "intersect1d",
    "isin",
    "setdiff1d",
    "setxor1d",
    "union1d",
    "unique",
    "unique_all",
    "unique_counts",
    "unique_inverse",
    "unique_values",
]

_int32 = np.dtype(np.int32)


# ---- unique ----


class _UniqueAllResult(NamedTuple):
    """The result of `unique_all`."""

    values: Array
    indices: Array
    inverse_indices: Array
    counts: Array


class _UniqueCountsResult(NamedTuple):
    """The result of `unique_counts`."""

    values: Array
    counts: Array


class _UniqueInverseResult(NamedTuple):
    """The result of `unique_inverse`."""

    values: Array
    inverse_indices: Array


def _sort_keys(rows: Any) -> tuple[Any, ...]:
    """Returns the keys by which rows are sorted, one for each column."""
    return tuple(
        lax.index_in_dim(rows, column, 1, keepdims=False) for column in range(rows.shape[1])
    )


def _sorted_rows(rows: Any, equal_nan: bool, with_order: bool) -> Any:
    """Returns the permutation that sorts rows, a mask of first occurrences, and the sorted rows.

    If rows have a single element, the permutation is None unless ``with_order`` is true.
    """
    count = rows.shape[0]
    if dtypes.issubdtype(rows.dtype, np.complexfloating):
        # A complex number with a NaN in either part is NaN, and sorted last.
        rows = where(lax.ne(rows, rows), np.array(np.nan, rows.dtype), rows)
    if rows.shape[1] == 1 and not with_order:
        order, ordered = None, lax.sort(rows, dimension=0)
    else:
        positions = lax.iota(_int32, count)
        if rows.shape[1] == 0:
            return positions, lax.eq(positions, np.int32(0)), rows
        *keys, order = lax.sort((*_sort_keys(rows), positions), dimension=0, num_keys=rows.shape[1])
        ordered = lax.concatenate([lax.expand_dims(key, (1,)) for key in keys], 1)
    before, after = ordered[:-1], ordered[1:]
    differs = lax.ne(before, after)
    if equal_nan and dtypes.issubdtype(ordered.dtype, np.inexact):
        both_nan = lax.bitwise_and(lax.ne(before, before), lax.ne(after, after))
        differs = lax.bitwise_and(differs, lax.bitwise_not(both_nan))
    is_first = concatenate(
        [lax.full((min_dim(count, 1),), np.array(True)), lax.reduce_or(differs, (1,))]
    )
    return order, is_first, ordered


_sort_rows = compiled(_sorted_rows, ("equal_nan", "with_order"), inline=True, name="unique")


def unique(
    ar: ArrayLike,
    return_index: bool = False,
    return_inverse: bool = False,
    return_counts: bool = False,
    axis: int | None = None,
    *,
    equal_nan: bool = True,
    size: int | None = None,
    fill_value: ArrayLike | None = None,
    sorted: bool = True,
) -> Any:
    """Returns the distinct elements of an array, in order.

    Args:
      ar: an array.
      return_index: whether to also return the index of each distinct element's first occurrence.
      return_inverse: whether to also return, for each element of ``ar``, its index among the
        distinct elements.
      return_counts: whether to also return the number of occurrences of each distinct element.
      axis: the axis whose slices are compared; by default, single elements are compared.
      equal_nan: whether NaNs count as equal.
      size: the number of elements to return. If it is given, the array may be traced.
      fill_value: the value that fills up the result if there are fewer elements; the smallest
        element by default.
      sorted: has no effect: the result is always sorted.

    Returns:
      An array of one dimension, or of the dimensions of ``ar`` with ``axis``; with
      ``return_index``, ``return_inverse`` and ``return_counts``, a tuple of the array and integer
      arrays, in this order.

    Raises:
      TypeError: if ``size`` is negative.
      ValueError: if ``ar`` has no elements, ``size`` is positive and ``fill_value`` is not given.
      ConcretizationTypeError: if ``ar`` is traced and ``size`` is not given.

    Example:
      >>> from olympus_numpy import array
      >>> unique(array([3, 1, 1, 2]))
      Array([1, 2, 3], dtype=int32)
    """
    del sorted
    check_arraylike("unique", ar)
    ar = ensure_array(ar)
    size = _checked_size(ar, size)
    outputs = bool(return_index), bool(return_inverse), bool(return_counts)
    if size is None:
        return _unique(ar, fill_value, outputs, axis, bool(equal_nan), size)
    if axis is not None:
        axis = canonical_axis(axis, ar.ndim)
    return _unique_of_size(ar, fill_value, outputs, axis, bool(equal_nan), size)


def _unique(
    ar: Any,
    fill_value: Any,
    outputs: tuple[bool, bool, bool],
    axis: int | None,
    equal_nan: bool,
    size: int | None,
) -> Any:
    """Returns the results of `unique`.

    Args:
      ar: an array.
      fill_value: as for `unique`.
      outputs: the arguments ``return_index``, ``return_inverse`` and ``return_counts``.
      axis: as for `unique`.
      equal_nan: as for `unique`.
      size: as for `unique`; None only if the array is concrete.
    """
    return_index, return_inverse, return_counts = outputs
    lines, rest, axis = _lines(ar, axis)
    order, is_first, ordered = _sort_rows(lines, equal_nan, return_index or return_inverse)
    if size is None and not any(outputs):
        firsts = _firsts_in_host_memory(ordered, is_first)
        if firsts is not None:
            return _unfolded(firsts, rest, axis)
    count = lines.shape[0]
    # One more start than requested is found: the end of the last requested group.
    starts, is_found = _starts_of_groups(is_first, None if size is None else size + 1, count)
    all_starts = starts
    if size is not None:
        starts, is_found = starts[:size], is_found[:size]
    if size is None:
        fill_value = None
    elif size and not count and fill_value is None:
        raise ValueError(
            "unique: for zero-sized input with nonzero size argument, fill_value must be specified"
        )
    # If the array is concrete, all positions are valid.
    are_all_found = size is None and not counts_size_of(ar)
    values = _values(ordered, starts, None if are_all_found else is_found, fill_value)
    result = [_unfolded(values, rest, axis)]
    index_dtype = dtypes.default_int_dtype()
    if return_index:
        first_of_group = order[starts] if count else starts
        result.append(convert(_filled(first_of_group, is_found, None), index_dtype))
    if return_inverse:
        groups = lax.sub(lax.cumsum(convert(is_first, _int32), 0), np.int32(1))
        inverse = lax.full((count,), np.int32(0)).at[order].set(groups)
        inverse = convert(inverse, index_dtype)
        result.append(lax.reshape(inverse, ar.shape) if axis is None else inverse)
    if return_counts:
        end = lax.full((1,), lax.size_array(count, _int32))
        following = concatenate([all_starts[1:], end])[: starts.shape[0]]
        result.append(convert(where(is_found, lax.sub(following, starts), 0), index_dtype))
    return result[0] if len(result) == 1 else tuple(result)


_unique_of_size = compiled(
    _unique, ("outputs", "axis", "equal_nan", "size"), inline=True, name="unique"
)


def _checked_size(ar: Any, size: Any) -> int | None:
    """Returns the static size of the result of `unique`; without it, the array must be concrete."""
    if size is None and counts_size_of(ar):
        return None
    if size is None:
        concrete_or_error(
            np.asarray,
            ar,
            "The error arose for the first argument of jnp.unique(). To make jnp.unique() "
            "compatible with JIT and other transforms, you can specify a concrete value for the "
            "size argument, which will determine the output size.",
        )
        return None
    size = concrete_or_error(
        operator.index, size, "The error arose for the size argument of jnp.unique()."
    )
    if size < 0:
        raise TypeError(f"unique: size must be nonnegative, got {size}")
    return size


def _lines(ar: Any, axis: int | None) -> tuple[Any, tuple[int, ...], int | None]:
    """Returns the compared slices as rows of a matrix, a slice's shape, and the canonical axis."""
    if axis is None:
        return lax.reshape(ar, (math.prod(ar.shape), 1)), (), None
    axis = canonical_axis(axis, ar.ndim)
    front = moveaxis(ar, axis, 0)
    rest = front.shape[1:]
    return lax.reshape(front, (front.shape[0], math.prod(rest))), rest, axis


def _unfolded(lines: Any, rest: tuple[int, ...], axis: int | None) -> Any:
    """Returns the array whose slices along an axis are the given lines; undoes `_lines`."""
    slices = lax.reshape(lines, (lines.shape[0], *rest))
    return slices if axis is None else moveaxis(slices, 0, axis)


def _is_in_host_memory(x: Any) -> bool:
    """Returns whether NumPy has a view of an array, and `asarray` restores its place and type."""
    return (
        isinstance(x, Array)
        and not isinstance(x, Tracer)
        and getattr(x, "committed", True)
        is False  # the reference evaluator's arrays lack this attribute
        and not x.weak_type
        and all(device.platform == "cpu" for device in x.devices())
        and dtypes.canonicalize_dtype(x.dtype) == x.dtype
    )


def _firsts_in_host_memory(ordered: Any, is_first: Any) -> Any:
    """Returns the first elements of groups, selected by NumPy.

    NumPy takes 1 ms for a million elements on a CPU. Finding their positions and gathering them by
    XLA takes 4 ms. Returns None if rows have several elements, or if NumPy has no view of the
    arrays.
    """
    if ordered.shape[1] != 1:
        return None
    if not (_is_in_host_memory(ordered) and _is_in_host_memory(is_first)):
        return None
    return asarray(np.asarray(ordered)[:, 0][np.asarray(is_first)])


def _starts_of_groups(is_first: Any, size: int | None, count: int) -> tuple[Any, Any]:
    """Returns the start positions of groups of equal elements, and a mask of valid positions."""
    (starts,) = nonzero(is_first, size=size, fill_value=count)
    starts = convert(starts, _int32)
    return starts, lax.lt(starts, lax.size_array(count, _int32))


def _values(ordered: Any, starts: Any, is_found: Any, fill_value: Any) -> Any:
    """Returns the values of groups; `found` is None if all positions are valid."""
    if fill_value is not None:
        fill_value = convert(ensure_array(fill_value), ordered.dtype)
        # one fill value for each position in the result
        if fill_value.ndim == 1 and ordered.shape[1] == 1:
            fill_value = lax.expand_dims(fill_value, (1,))
    if ordered.shape[0] == 0:
        fill = np.zeros((), ordered.dtype) if fill_value is None else fill_value
        return spread(fill, (starts.shape[0], ordered.shape[1]))
    if is_found is None:
        return ordered.at[starts].get(
            mode="promise_in_bounds",
            indices_are_sorted=True,
            unique_indices=True,
            wrap_negative_indices=False,
        )
    values = ordered.at[starts].get(mode="clip", wrap_negative_indices=False)
    fill = ordered[:1] if fill_value is None else fill_value
    return where(lax.expand_dims(is_found, (1,)), values, fill)


def _filled(values: Any, is_found: Any, fill_value: Any) -> Any:
    if not values.size:
        return values
    return where(is_found, values, values[:1] if fill_value is None else fill_value)


def unique_all(
    x: ArrayLike, /, *, size: int | None = None, fill_value: ArrayLike | None = None
) -> _UniqueAllResult:
    """Returns distinct elements, their first indices, the inverse indices, and counts.

    Args:
      x: an array.
      size: as in `unique`.
      fill_value: as in `unique`.

    Returns:
      A named tuple of ``values``, ``indices``, ``inverse_indices`` and ``counts``.

    Example:
      >>> from olympus_numpy import array
      >>> unique_all(array([3, 1, 1])).counts
      Array([2, 1], dtype=int32)
    """
    return _UniqueAllResult(
        *unique(x, True, True, True, equal_nan=False, size=size, fill_value=fill_value)
    )


def unique_counts(
    x: ArrayLike, /, *, size: int | None = None, fill_value: ArrayLike | None = None
) -> _UniqueCountsResult:
    """Returns the distinct elements and their counts.

    Args:
      x: an array.
      size: the number of values to return. If it is given, the array may be traced.
      fill_value: the value that fills up the result if there are fewer values.

    Returns:
      A named tuple of ``values`` and ``counts``.

    Example:
      >>> from olympus_numpy import array
      >>> unique_counts(array([3, 1, 1])).values
      Array([1, 3], dtype=int32)
    """
    return _UniqueCountsResult(
        *unique(x, return_counts=True, equal_nan=False, size=size, fill_value=fill_value)
    )


def unique_inverse(
    x: ArrayLike, /, *, size: int | None = None, fill_value: ArrayLike | None = None
) -> _UniqueInverseResult:
    """Returns distinct elements, and for each element of ``x`` its index among these.

    Args:
      x: an array.
      size: the number of values to return. If it is given, the array may be traced.
      fill_value: the value that fills up the result if there are fewer values.

    Returns:
      A named tuple of ``values`` and ``inverse_indices``.

    Example:
      >>> from olympus_numpy import array
      >>> unique_inverse(array([3, 1, 1])).inverse_indices
      Array([1, 0, 0], dtype=int32)
    """
    return _UniqueInverseResult(
        *unique(x, return_inverse=True, equal_nan=False, size=size, fill_value=fill_value)
    )


def unique_values(
    x: ArrayLike, /, *, size: int | None = None, fill_value: ArrayLike | None = None
) -> Array:
    """Returns distinct elements.

    Args:
      x: an array.
      size: the number of values to return. If it is given, the array may be traced.
      fill_value: the value that fills up the result if there are fewer values.

    Returns:
      An array of one dimension and of the dtype of ``x``.

    Example:
      >>> from olympus_numpy import array
      >>> unique_values(array([3, 1, 1]))
      Array([1, 3], dtype=int32)
    """
    return unique(x, equal_nan=False, size=size, fill_value=fill_value)


# ---- membership ----


def isin(
    element: ArrayLike,
    test_elements: ArrayLike,
    assume_unique: bool = False,
    invert: bool = False,
    *,
    method: str = "auto",
) -> Array:
    """Returns whether each element of one array is in another array.

    Args:
      element: an array.
      test_elements: the array to search.
      assume_unique: has no effect.
      invert: whether to return the opposite.
      method: ``"compare_all"`` compares all pairs, for short arrays; ``"binary_search"`` and
        ``"sort"`` sort; ``"auto"`` chooses by the sizes.

    Returns:
      A boolean array of the shape of ``element``.

    Raises:
      ValueError: if ``method`` is unknown.

    Example:
      >>> from olympus_numpy import array
      >>> isin(array([1, 2]), array([2, 3]))
      Array([False,  True], dtype=bool)
    """
    del assume_unique
    if method not in ("auto", "compare_all", "binary_search", "sort"):
        raise ValueError(
            f"isin: method must be 'auto', 'compare_all', 'binary_search' or 'sort', got {method!r}"
        )
    check_arraylike("isin", element, test_elements)
    return _isin(element, test_elements, bool(invert), method)


# With more comparisons than this for each element, sorting is faster.
_FEW = 50


def _is_member(element: Any, test_elements: Any, invert: bool, method: str) -> Any:
    element, others = promote_dtypes(ensure_array(element), ensure_array(test_elements))
    shape = element.shape
    element, others = (lax.reshape(x, (math.prod(x.shape),)) for x in (element, others))
    if 0 in (element.shape[0], others.shape[0]):
        return lax.full(shape, np.array(invert))
    if method == "auto":
        few = not is_constant_dim(others.shape[0]) or others.shape[0] <= _FEW
        method = "compare_all" if few else "binary_search"
    if method == "compare_all":
        pairs = lax.eq(lax.expand_dims(element, (1,)), lax.expand_dims(others, (0,)))
        is_found = lax.reduce_or(pairs, (1,))
    else:
        others = lax.sort(others)
        positions = searchsorted(others, element, method="sort" if method == "sort" else "scan")
        is_found = lax.eq(others.at[positions].get(mode="clip"), element)
    is_found = lax.reshape(convert(is_found, np.dtype(bool)), shape)
    return lax.bitwise_not(is_found) if invert else is_found


_isin = compiled(_is_member, ("invert", "method"), name="isin")


# ---- operations on sets ----


def union1d(
    ar1: ArrayLike, ar2: ArrayLike, *, size: int | None = None, fill_value: ArrayLike | None = None
) -> Array:
    """Returns the distinct elements of two arrays.

    Args:
      ar1: an array.
      ar2: an array.
      size: the number of elements to return. If it is given, the arrays may be traced.
      fill_value: the value that fills up the result if there are fewer elements; the smallest
        element by default.

    Returns:
      A sorted array of one dimension and of the common dtype.

    Example:
      >>> from olympus_numpy import array
      >>> union1d(array([1, 2]), array([2, 3]))
      Array([1, 2, 3], dtype=int32)
    """
    check_arraylike("union1d", ar1, ar2)
    return unique(concatenate([ravel(ar1), ravel(ar2)]), size=size, fill_value=fill_value)


def _selected(values: Any, keep: Any, size: int | None, fill_value: Any) -> Any:
    """Returns the elements selected by the mask ``keep``, in order.

    If ``size`` is given, the result has this size; ``fill_value`` fills it up.
    """
    if size is None:
        return values[keep]
    (positions,) = nonzero(keep, size=size, fill_value=values.shape[0])
    is_found = lax.lt(positions, lax.size_array(values.shape[0], positions.dtype))
    fill = ensure_array(0 if fill_value is None else fill_value)
    fill = convert(fill, values.dtype, values.weak_type)
    if not values.shape[0]:
        return spread(fill, (size,))
    return where(is_found, values.at[positions].get(mode="clip"), fill)


def setdiff1d(
    ar1: ArrayLike,
    ar2: ArrayLike,
    assume_unique: bool = False,
    *,
    size: int | None = None,
    fill_value: ArrayLike | None = None,
) -> Array:
    """Returns the distinct elements of ``ar1`` that are not in ``ar2``.

    Args:
      ar1: an array.
      ar2: an array.
      assume_unique: a promise that the elements of ``ar1`` are distinct; the elements keep their
        order.
      size: the number of elements to return. If it is given, the arrays may be traced.
      fill_value: the value that fills up the result if there are fewer elements; zero by default.

    Returns:
      An array of one dimension and of the dtype of ``ar1``.

    Example:
      >>> from olympus_numpy import array
      >>> setdiff1d(array([1, 2, 2]), array([2, 3]))
      Array([1], dtype=int32)
    """
    check_arraylike("setdiff1d", ar1, ar2)
    first = ravel(ar1)
    if size is None:
        if not counts_size_of(first):
            concrete_or_error(np.asarray, first, "in olympus.numpy.setdiff1d")
        if not assume_unique:
            first = unique(first)
        return first[isin(first, ar2, invert=True)]
    keep = isin(first, ar2, invert=True)
    if not assume_unique:
        order, is_first, ordered = _sort_rows(lax.expand_dims(first, (1,)), True, True)
        first, keep = ordered[:, 0], lax.bitwise_and(keep[order], is_first)
    return _selected(first, keep, size, fill_value)


def _two_sets(name: str, ar1: Any, ar2: Any, size: int | None) -> tuple[Any, Any]:
    """Returns two operands as vectors of one dtype, of known elements if they decide the size."""
    check_arraylike(name, ar1, ar2)
    first, second = promote_dtypes(ravel(ar1), ravel(ar2))
    if size is None:
        for array in (first, second):
            if not counts_size_of(array):
                concrete_or_error(np.asarray, array, f"in olympus.numpy.{name}")
    return first, second


def intersect1d(
    ar1: ArrayLike,
    ar2: ArrayLike,
    assume_unique: bool = False,
    return_indices: bool = False,
    *,
    size: int | None = None,
    fill_value: ArrayLike | None = None,
) -> Any:
    """Returns the distinct elements that are in both of two arrays.

    Args:
      ar1: an array.
      ar2: an array.
      assume_unique: a promise that the elements of each array are distinct.
      return_indices: whether to also return the index of each element's first occurrence in each
        array.
      size: the number of elements to return. If it is given, the arrays may be traced.
      fill_value: the value that fills up the result if there are fewer elements; the smallest
        element by default.

    Returns:
      A sorted array of one dimension and of the common dtype; with ``return_indices``, a tuple of
      the array and two integer arrays.

    Example:
      >>> from olympus_numpy import array
      >>> intersect1d(array([1, 2, 2]), array([2, 3]))
      Array([2], dtype=int32)
    """
    del assume_unique
    first, second = _two_sets("intersect1d", ar1, ar2, size)
    order, is_first, ordered = _sort_rows(lax.expand_dims(first, (1,)), True, True)
    ordered = ordered[:, 0]
    keep = lax.bitwise_and(is_first, isin(ordered, second))
    positions = nonzero(keep, size=size, fill_value=ordered.shape[0])[0]
    is_found = lax.lt(positions, lax.size_array(ordered.shape[0], positions.dtype))
    values = _at_positions(ordered, positions, is_found, size, fill_value)
    if not return_indices:
        return values
    first_positions = _filled(
        _clip_take(order, positions), is_found, None if size is None else len(first)
    )
    by_value, _, second_ordered = _sort_rows(lax.expand_dims(second, (1,)), True, True)
    in_second = searchsorted(second_ordered[:, 0], values)
    second_positions = _filled(
        _clip_take(by_value, in_second), is_found, None if size is None else len(second)
    )
    index_dtype = dtypes.default_int_dtype()
    return values, convert(first_positions, index_dtype), convert(second_positions, index_dtype)


def _clip_take(x: Any, positions: Any) -> Any:
    return x.at[positions].get(mode="clip") if x.shape[0] else positions


def _at_positions(
    values: Any, positions: Any, is_found: Any, size: int | None, fill_value: Any
) -> Any:
    if size is None:
        return values[positions]
    values = convert(values, values.dtype)
    zero = np.zeros((), values.dtype)
    if values.shape[0] == 0:
        fill = zero if fill_value is None else convert(fill_value, values.dtype)
        return lax.full(positions.shape, fill)
    elements = values.at[positions].get(mode="clip")
    if fill_value is None:  # The default is the smallest element, or zero if the array is empty.
        fill_value = where(is_found[:1], elements[:1], zero) if size else zero
    return where(is_found, elements, fill_value)


def setxor1d(
    ar1: ArrayLike,
    ar2: ArrayLike,
    assume_unique: bool = False,
    *,
    size: int | None = None,
    fill_value: ArrayLike | None = None,
) -> Array:
    """Returns the distinct elements that are in exactly one of two arrays.

    Args:
      ar1: an array.
      ar2: an array.
      assume_unique: a promise that the elements of each array are distinct.
      size: the number of elements to return. If it is given, the arrays may be traced.
      fill_value: the value that fills up the result if there are fewer elements; the smallest
        element by default.

    Returns:
      A sorted array of one dimension and of the common dtype.

    Example:
      >>> from olympus_numpy import array
      >>> setxor1d(array([1, 2, 2]), array([2, 3]))
      Array([1, 3], dtype=int32)
    """
    del assume_unique
    first, second = _two_sets("setxor1d", ar1, ar2, size)
    # NaN is not equal to NaN, so the result has one NaN for each operand that contains NaN.
    kept = []
    for own, other in ((first, second), (second, first)):
        _, is_first, ordered = _sort_rows(lax.expand_dims(own, (1,)), True, False)
        ordered = ordered[:, 0]
        kept.append((ordered, lax.bitwise_and(is_first, isin(ordered, other, invert=True))))
    ordered, keep = (concatenate(parts) for parts in zip(*kept, strict=True))
    ordered, keep = lax.sort((ordered, keep), num_keys=1)
    positions = nonzero(keep, size=size, fill_value=ordered.shape[0])[0]
    is_found = lax.lt(positions, lax.size_array(ordered.shape[0], positions.dtype))
    return _at_positions(ordered, positions, is_found, size, fill_value)
