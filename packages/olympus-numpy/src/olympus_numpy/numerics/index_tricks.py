# SPDX-License-Identifier: Apache-2.0
"""Indices of triangles and diagonals, flat indices, and objects that make arrays from indices."""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from olympus_ir import lax
from olympus_ir.lax.core.axes import integer_or_dim
from olympus_ir.lax.core.sizes import max_dim, min_dim
from olympus_ir.programs.tracing import Tracer, concrete_or_error, is_constant_dim
from olympus_ir.types import dtypes
from olympus_ir.types.annotations import ArrayLike, DTypeLike, Shape
from olympus_ir.types.arrays import Array

from ..arrays.creation import asarray
from ..arrays.joining import concatenate
from ..arrays.nonzero import nonzero
from ..arrays.selection import clip, where
from ..arrays.shaping import atleast_1d
from ..core.promotion import check_arraylike, convert, ensure_array, promote_dtypes, result_type_of
from ..elementwise.arithmetic import remainder
from ..products.matrices import tri
from .ranges import arange, linspace, meshgrid

__all__ = [
    "c_",
    "diag_indices",
    "diag_indices_from",
    "index_exp",
    "ix_",
    "mask_indices",
    "mgrid",
    "ogrid",
    "r_",
    "ravel_multi_index",
    "s_",
    "tril_indices",
    "tril_indices_from",
    "triu_indices",
    "triu_indices_from",
    "unravel_index",
]


# ---- triangles and diagonals ----


def _from_numpy(arrays: Any) -> Any:
    index_dtype = dtypes.default_int_dtype()
    return tuple(asarray(array.astype(index_dtype)) for array in arrays)


def _count_below(n: Any, m: Any, k: Any) -> Any:
    """Returns the number of elements of an n x m matrix on and below a diagonal."""
    first = min_dim(max_dim(-k, 0), n)  # the first row with such elements
    full = max_dim(min_dim(max_dim(m - k, 0), n), first)  # the first row with only such elements
    return (full - first) * (first + full + 2 * k + 1) // 2 + m * (n - full)


def tril_indices(n: int, k: int = 0, m: int | None = None) -> tuple[Array, Array]:
    """Returns the indices of a matrix's elements on and below a diagonal.

    Args:
      n: the number of rows.
      k: the diagonal: 0 for the main one, positive above it.
      m: the number of columns; ``n`` by default.

    Returns:
      Two integer arrays of one dimension: row and column indices.

    Example:
      >>> tril_indices(2)
      (Array([0, 1, 1], dtype=int32), Array([0, 0, 1], dtype=int32))
    """
    n, k = integer_or_dim(n), integer_or_dim(k)
    m = n if m is None else integer_or_dim(m)
    if all(map(is_constant_dim, (n, k, m))):
        return _from_numpy(np.tril_indices(n, k, m))
    rows, columns = nonzero(tri(n, m, k, dtype=bool), size=_count_below(n, m, k))
    return rows, columns


def triu_indices(n: int, k: int = 0, m: int | None = None) -> tuple[Array, Array]:
    """Returns the indices of a matrix's elements on and above a diagonal.

    Args:
      n: the number of rows.
      k: the diagonal: 0 for the main one, positive above it.
      m: the number of columns; ``n`` by default.

    Returns:
      Two integer arrays of one dimension: row and column indices.

    Example:
      >>> triu_indices(2)
      (Array([0, 0, 1], dtype=int32), Array([0, 1, 1], dtype=int32))
    """
    n, k = integer_or_dim(n), integer_or_dim(k)
    m = n if m is None else integer_or_dim(m)
    if all(map(is_constant_dim, (n, k, m))):
        return _from_numpy(np.triu_indices(n, k, m))
    below = tri(n, m, k - 1, dtype=bool)
    rows, columns = nonzero(lax.bitwise_not(below), size=_count_below(m, n, -k))
    return rows, columns


def _matrix_shape(arr: Any) -> tuple[int, ...]:
    shape = np.shape(arr)
    if len(shape) != 2:
        raise ValueError("Only 2-D inputs are accepted")
    return shape


def tril_indices_from(arr: ArrayLike, k: int = 0) -> tuple[Array, Array]:
    """Returns the indices of the lower triangle of a matrix of the shape of ``arr``.

    Args:
      arr: a matrix; only its shape is used.
      k: the diagonal: 0 for the main one, positive above it.

    Returns:
      Two integer arrays of one dimension: row and column indices.

    Example:
      >>> from olympus_numpy import ones
      >>> tril_indices_from(ones((1, 2)))
      (Array([0], dtype=int32), Array([0], dtype=int32))
    """
    check_arraylike("tril_indices_from", arr)
    rows, columns = _matrix_shape(arr)
    return tril_indices(rows, k=k, m=columns)


def triu_indices_from(arr: ArrayLike, k: int = 0) -> tuple[Array, Array]:
    """Returns the indices of the upper triangle of a matrix of the shape of ``arr``.

    Args:
      arr: a matrix; only its shape is used.
      k: the diagonal: 0 for the main one, positive above it.

    Returns:
      Two integer arrays of one dimension: row and column indices.

    Example:
      >>> from olympus_numpy import ones
      >>> triu_indices_from(ones((1, 2)))
      (Array([0, 0], dtype=int32), Array([0, 1], dtype=int32))
    """
    check_arraylike("triu_indices_from", arr)
    rows, columns = _matrix_shape(arr)
    return triu_indices(rows, k=k, m=columns)


def diag_indices(n: int, ndim: int = 2) -> tuple[Array, ...]:
    """Returns the indices of the main diagonal of an array whose dimensions all have the same size.

    Args:
      n: the size of each dimension.
      ndim: the number of dimensions.

    Returns:
      A tuple of ``ndim`` integer arrays of shape ``(n,)``.

    Raises:
      ValueError: if ``n`` or ``ndim`` is negative.

    Example:
      >>> diag_indices(2)
      (Array([0, 1], dtype=int32), Array([0, 1], dtype=int32))
    """
    n = concrete_or_error(operator.index, n, "'n' argument of jnp.diag_indices()")
    ndim = concrete_or_error(operator.index, ndim, "'ndim' argument of jnp.diag_indices()")
    for name, value in (("n", n), ("ndim", ndim)):
        if value < 0:
            raise ValueError(f"{name} argument to diag_indices must be nonnegative, got {value}")
    return (arange(n),) * ndim


def diag_indices_from(arr: ArrayLike) -> tuple[Array, ...]:
    """Returns the indices of the main diagonal of an array.

    Args:
      arr: an array of at least two dimensions, all of the same size.

    Returns:
      A tuple with an integer array for each dimension.

    Raises:
      ValueError: if ``arr`` has less than two dimensions, or they differ in size.

    Example:
      >>> from olympus_numpy import ones
      >>> diag_indices_from(ones((2, 2)))
      (Array([0, 1], dtype=int32), Array([0, 1], dtype=int32))
    """
    check_arraylike("diag_indices_from", arr)
    shape = np.shape(arr)
    if len(shape) < 2:
        raise ValueError("input array must be at least 2-d")
    if len(set(shape)) > 1:
        raise ValueError("All dimensions of input must be of equal length")
    return diag_indices(shape[0], ndim=len(shape))


def mask_indices(
    n: int, mask_func: Callable[..., Array], k: ArrayLike = 0, *, size: int | None = None
) -> tuple[Array, ...]:
    """Returns the indices of the elements that a function leaves nonzero in a matrix of ones.

    Args:
      n: the number of rows and columns.
      mask_func: a function of the matrix and ``k`` that returns a matrix, such as `triu`.
      k: the second argument of ``mask_func``.
      size: the number of indices to return. If it is given, ``mask_func`` may return a traced
        matrix.

    Returns:
      A tuple of two integer arrays of one dimension.

    Example:
      >>> from olympus_numpy import triu
      >>> mask_indices(2, triu)
      (Array([0, 0, 1], dtype=int32), Array([0, 1, 1], dtype=int32))
    """
    ones = lax.full((n, n), np.ones((), dtypes.default_int_dtype()))
    return nonzero(mask_func(ones, k), size=size)


# ---- flat indices ----


def unravel_index(indices: ArrayLike, shape: int | Shape) -> tuple[Array, ...]:
    """Converts flat indices of an array to one index array for each dimension.

    Args:
      indices: integers; negative integers count from the end, integers out of range are clipped.
      shape: the shape of the array that is indexed.

    Returns:
      A tuple with an integer array for each dimension, of the shape of ``indices``.

    Raises:
      TypeError: if ``indices`` are not real numbers.

    Example:
      >>> unravel_index(5, (2, 3))
      (Array(1, dtype=int32, weak_type=True), Array(2, dtype=int32, weak_type=True))
    """
    check_arraylike("unravel_index", indices)
    indices = ensure_array(indices)
    sizes: Any = shape if isinstance(shape, tuple | list) or np.ndim(shape) else (shape,)
    sizes = tuple(sizes)
    if not any(isinstance(size, Tracer) for size in sizes):
        sizes = tuple(map(integer_or_dim, sizes))
    dtype = indices.dtype
    if dtype == np.bool_:
        indices = indices.astype(int)
    elif not dtypes.issubdtype(dtype, np.integer) and not dtypes.issubdtype(dtype, np.floating):
        raise TypeError(f"unravel_index: indices must be real numbers, got dtype {dtype}")
    size = math.prod(sizes)
    if not dtypes.issubdtype(dtype, np.unsignedinteger):
        indices = clip(indices, -size, size - 1)
        indices = where(indices < 0, indices + size, indices)
    else:
        indices = clip(indices, None, size - 1)
    results = []
    for length in reversed(sizes):
        results.append(indices % length)
        indices = indices // length
    return tuple(reversed(results))


def ravel_multi_index(
    multi_index: Sequence[ArrayLike],
    dims: Sequence[int],
    mode: str = "raise",
    order: str = "C",
    *,
    dtype: DTypeLike | None = None,
) -> Array:
    """Converts one index array for each dimension of an array to flat indices.

    Args:
      multi_index: arrays of integers, one for each dimension.
      dims: the shape of the array that is indexed.
      mode: the treatment of indices out of range: ``"clip"``, ``"wrap"``, ``"ignore"``, or
        ``"raise"``, for concrete indices only.
      order: ``"C"``: the last index changes fastest, ``"F"``: the first index does.
      dtype: the integer dtype of the result; that of the indices by default.

    Returns:
      An integer array of the shape that the index arrays broadcast to.

    Raises:
      ValueError: if there is not one index array for each dimension, they are not of integers,
        ``mode`` or ``order`` is unknown, the index dtype cannot hold the result, or, with mode
        ``"raise"``, an index is out of range.
      ConcretizationTypeError: if an index is traced and ``mode`` is ``"raise"``.

    Example:
      >>> ravel_multi_index((1, 2), (2, 3))
      Array(5, dtype=int32)
    """
    if len(multi_index) != len(dims):
        raise ValueError(f"len(multi_index)={len(multi_index)} != len(dims)={len(dims)}")
    sizes = tuple(concrete_or_error(operator.index, size, "in `dims` argument") for size in dims)
    check_arraylike("ravel_multi_index", *multi_index)
    arrays = [asarray(indices) for indices in multi_index]
    for array in arrays:
        if not dtypes.issubdtype(array.dtype, np.integer):
            raise ValueError(
                f"ravel_multi_index: dtype={array.dtype} is not an integer type: only int indices "
                "permitted"
            )
    index_dtype = (
        result_type_of(*arrays)[0]
        if dtype is None
        else dtypes.check_and_canonicalize_user_dtype(dtype, "ravel_multi_index")
    )
    if math.prod(sizes) - 1 > dtypes.iinfo(index_dtype).max:
        raise ValueError(
            f"ravel_multi_index: dtype={index_dtype} not large enough to hold flattened index for "
            f"dims={tuple(dims)}. Pass a wider one as `dtype`."
        )
    arrays = _indices_in_range(arrays, sizes, mode)
    if order not in ("C", "F"):
        raise ValueError(f"invalid order={order!r}. Expected 'C' or 'F'")
    pairs = list(zip(arrays, sizes, strict=True))
    result: Any = convert(asarray(0), index_dtype)
    stride = 1
    for array, size in pairs if order == "F" else reversed(pairs):
        result = result + convert(array, index_dtype) * stride
        stride *= size
    return result


def _indices_in_range(arrays: list[Any], sizes: tuple[int, ...], mode: str) -> list[Any]:
    """Returns the indices of `ravel_multi_index`, after ``mode`` is applied to them."""
    if mode == "ignore":
        return arrays
    if mode == "clip":
        return [clip(array, 0, size - 1) for array, size in zip(arrays, sizes, strict=True)]
    if mode == "wrap":
        return [remainder(array, size) for array, size in zip(arrays, sizes, strict=True)]
    if mode != "raise":
        raise ValueError(f"invalid mode={mode!r}. Expected 'raise', 'wrap', 'clip', or 'ignore'.")
    for array, size in zip(arrays, sizes, strict=True):
        known = concrete_or_error(
            np.asarray,
            array,
            "The error occurred because ravel_multi_index was jit-compiled with mode='raise'. "
            "Use mode='wrap' or mode='clip' instead.",
        )
        if ((known < 0) | (known >= size)).any():
            raise ValueError("invalid entry in coordinates array")
    return arrays


def ix_(*args: ArrayLike | DTypeLike) -> tuple[Array, ...]:
    """Returns vectors as an open grid, to index by all combinations of their elements.

    Args:
      *args: vectors of integers or booleans. A boolean vector stands for the indices of its true
        elements.

    Returns:
      A tuple of arrays; the k-th has all its elements along dimension k.

    Raises:
      ValueError: if an argument does not have one dimension.

    Example:
      >>> from olympus_numpy import array
      >>> x = arange(6).reshape(2, 3)
      >>> x[ix_(array([0, 1]), array([0, 2]))]
      Array([[0, 2],
             [3, 5]], dtype=int32)
    """
    check_arraylike("ix", *args)
    results = []
    for axis, arg in enumerate(args):
        vector = ensure_array(arg)
        if vector.ndim != 1:
            raise ValueError(
                f"Arguments to olympus.numpy.ix_ must be 1-dimensional, got shape {vector.shape}"
            )
        if vector.dtype == np.bool_:
            (vector,) = nonzero(vector)
        if vector.shape[0] == 0:  # an empty list is an array of floats
            vector = convert(vector, dtypes.default_int_dtype())
        shape = [1] * len(args)
        shape[axis] = vector.shape[0]
        results.append(lax.broadcast_in_dim(vector, tuple(shape), (axis,)))
    return tuple(results)


# ---- arrays from brackets ----


def _line(name: str, part: slice) -> Any:
    """Returns the numbers of a slice; an imaginary step is the number of values."""
    for bound, value in (("start", part.start), ("stop", part.stop), ("step", part.step)):
        concrete_or_error(None, value, f"slice {bound} of jnp.{name}")
    start = 0 if part.start is None else part.start
    step = 1 if part.step is None else part.step
    if isinstance(step, complex):
        return linspace(start, part.stop, int(abs(step)))
    return arange(start, part.stop, step)


class _Mgrid:
    """Makes dense grids of numbers from slices: ``mgrid[0:2, 0:3]``.

    An imaginary step is the number of values, the last of which is the stop.

    Example:
      >>> mgrid[0:2, 0:3]
      Array([[[0, 0, 0],
              [1, 1, 1]],
      <BLANKLINE>
             [[0, 1, 2],
              [0, 1, 2]]], dtype=int32)
    """

    def __getitem__(self, key: Any) -> Array:
        if isinstance(key, slice):
            return _line("mgrid", key)
        lines = promote_dtypes(*(_line("mgrid", part) for part in key)) if key else []
        if not lines:
            return asarray([], dtype=int)
        return lax.stack(meshgrid(*lines, indexing="ij"), 0)


class _Ogrid:
    """Makes open grids of numbers from slices: ``ogrid[0:2, 0:3]``; see `mgrid`.

    Example:
      >>> ogrid[0:2, 0:2]
      [Array([[0],
             [1]], dtype=int32), Array([[0, 1]], dtype=int32)]
    """

    def __getitem__(self, key: Any) -> Any:
        if isinstance(key, slice):
            return _line("ogrid", key)
        lines = promote_dtypes(*(_line("ogrid", part) for part in key)) if key else []
        return meshgrid(*lines, indexing="ij", sparse=True) if lines else []


class _Concatenator:
    """Joins arrays, scalars and slices given in brackets."""

    axis = 0
    ndmin = 1
    trans1d = -1
    name = "r_"

    def __getitem__(self, key: Any) -> Array:
        parts = key if isinstance(key, tuple) else (key,)
        axis, ndmin, trans1d, as_matrix = self.axis, self.ndmin, self.trans1d, None
        if parts and isinstance(parts[0], str):
            directive, parts = parts[0], parts[1:]
            if directive in ("r", "c"):
                as_matrix = directive
            else:
                axis, ndmin, trans1d = self._parse(directive)
        arrays = [self._part(part, ndmin, trans1d) for part in parts]
        result = concatenate(arrays, axis=axis)
        if as_matrix and result.ndim == 1:
            return result.reshape((1, -1) if as_matrix == "r" else (-1, 1))
        return result

    def _parse(self, directive: str) -> tuple[int, int, int]:
        try:
            numbers = [int(number) for number in directive.split(",")]
        except ValueError:
            raise ValueError(f"could not understand directive {directive!r}") from None
        defaults = [self.axis, self.ndmin, self.trans1d]
        axis, ndmin, trans1d = numbers + defaults[len(numbers) :]
        return axis, ndmin, trans1d

    def _part(self, part: Any, ndmin: int, trans1d: int) -> Any:
        if isinstance(part, str):
            raise ValueError("string directive must be placed at the beginning")
        if isinstance(part, slice):
            array: Any = _line(self.name, part)
        else:
            array = asarray(part)
        ndim = array.ndim
        array = atleast_1d(array)
        missing = ndmin - array.ndim
        if missing <= 0:
            return array
        # The position of the array's dimensions among the added dimensions.
        start = trans1d if trans1d >= 0 else ndmin + trans1d + 1 - array.ndim
        start = min(max(start, 0), missing)
        shape = (1,) * start + array.shape + (1,) * (missing - start)
        return array.reshape(shape) if ndim or missing else array


class _R(_Concatenator):
    """Joins arrays, scalars and slices along the first dimension: ``r_[1:4, 0]``.

    A string at the beginning has up to three numbers, as in NumPy. They are the dimension along
    which to join, the least number of dimensions of the result, and, for operands with fewer
    dimensions, the position in the result where their own dimensions start.

    Example:
      >>> r_[1:4, 0]
      Array([1, 2, 3, 0], dtype=int32)
    """


class _C(_Concatenator):
    """Joins arrays, scalars and slices as columns: ``c_[x, y]``.

    Example:
      >>> c_[1:3, 4:6]
      Array([[1, 4],
             [2, 5]], dtype=int32)
    """

    axis = -1
    ndmin = 2
    trans1d = 0
    name = "c_"


mgrid = _Mgrid()
ogrid = _Ogrid()
r_ = _R()
c_ = _C()
s_ = np.s_
index_exp = np.index_exp
