# SPDX-License-Identifier: Apache-2.0
"""Matrices of special form, their diagonals and triangles."""

from __future__ import annotations

import operator
from typing import Any

import numpy as np

from olympus_ir import lax
from olympus_ir.diagnostics.errors import ShapeError
from olympus_ir.lax.core.sizes import as_size, max_dim, min_dim
from olympus_ir.programs.tracing import is_constant_dim
from olympus_ir.settings.naming import naming
from olympus_ir.types import dtypes
from olympus_ir.types.annotations import ArrayLike, DeviceLike, DTypeLike
from olympus_ir.types.arrays import Array
from olympus_ir.types.avals import canonicalize_shape

from ..arrays.creation import asarray, placed
from ..arrays.selection import where
from ..arrays.shaping import moveaxis, ravel
from ..core.axes import canonical_axis, hashable_axis, refuse_out, requested_dtype
from ..core.compilation import compiled, outlined, unless_default
from ..core.promotion import check_arraylike, constant, convert, ensure_array, spread
from ..elementwise.powers import power
from ..reductions.sums import sum_along

__all__ = [
    "diag",
    "diagflat",
    "diagonal",
    "eye",
    "fill_diagonal",
    "identity",
    "trace",
    "tri",
    "tril",
    "triu",
    "vander",
]

_int32 = np.dtype(np.int32)


def _below(shape: tuple[int, int], k: Any) -> Any:
    """Returns the mask of a matrix's elements on and below the ``k``-th diagonal."""
    rows = lax.add(lax.broadcasted_iota(_int32, shape, 0), convert(k, _int32))
    return lax.ge(rows, lax.broadcasted_iota(_int32, shape, 1))


def _on(shape: tuple[int, int], k: Any) -> Any:
    """Returns the mask of a matrix's elements on the ``k``-th diagonal."""
    rows, columns = (lax.broadcasted_iota(_int32, shape, axis) for axis in (0, 1))
    return lax.eq(lax.add(rows, convert(k, _int32)), columns)


# ---- matrices from sizes ----


def unit(shape: tuple[int, int], dtype: Any, k: Any) -> Any:
    """Returns the matrix of `eye`, for a valid dtype and shape."""
    return convert(_on(shape, k), dtype)


def _lower(shape: tuple[int, int], dtype: Any, k: Any) -> Any:
    return convert(_below(shape, k), dtype)


_eye = compiled(unit, ("shape", "dtype"), inline=True, name="_eye")
_tri = compiled(_lower, ("shape", "dtype"), inline=True, name="_tri")


def _near_diagonal(
    function: str, k: Any, shape: tuple[int, int], refusal: type[Exception] = TypeError
) -> Any:
    """Checks the index of a diagonal; raises the refusal if it is a fraction.

    A known index far outside the matrix becomes the nearest index outside.
    """
    if isinstance(k, float) or dtypes.issubdtype(getattr(k, "dtype", np.int32), np.inexact):
        raise refusal(f"{function}: k must be a scalar integer; got {k!r}")
    if isinstance(k, int) and all(map(is_constant_dim, shape)):
        return max(-shape[0], min(k, shape[1]))
    return k


def _matrix_shape(function: str, N: Any, M: Any) -> tuple[int, int]:
    (rows,) = canonicalize_shape((N,), f"argument of 'N' {function}().")
    if M is None:
        return rows, rows
    (columns,) = canonicalize_shape((M,), f"argument of 'M' {function}().")
    return rows, columns


def eye(
    N: int,
    M: int | None = None,
    k: ArrayLike = 0,
    dtype: DTypeLike | None = None,
    *,
    device: DeviceLike = None,
) -> Array:
    """Returns a matrix with ones on a diagonal and zeros elsewhere.

    Args:
      N: the number of rows.
      M: the number of columns; ``N`` by default.
      k: the diagonal: 0 for the main one, positive above it.
      dtype: the dtype; the default float dtype if it is None.
      device: the device or sharding to put the array on.

    Returns:
      An array of shape ``(N, M)`` and of the given dtype.

    Raises:
      ValueError: if a size is negative.

    Example:
      >>> eye(2, 3, 1)
      Array([[0., 1., 0.],
             [0., 0., 1.]], dtype=float32)
    """
    dtype = dtypes.check_and_canonicalize_user_dtype(float if dtype is None else dtype, "eye")
    for size in (N, M):
        if isinstance(size, int) and size < 0:
            raise ValueError(f"negative dimensions are not allowed, got {N} and {M}")
    shape = _matrix_shape("eye", N, M)
    return placed(_eye(shape, dtype, _near_diagonal("eye", k, shape, ValueError)), device)


def identity(n: int, dtype: DTypeLike | None = None) -> Array:
    """Returns the identity matrix.

    Args:
      n: the number of rows and columns.
      dtype: the dtype; the default float dtype if it is None.

    Returns:
      An array of shape ``(n, n)`` and of the given dtype.

    Example:
      >>> identity(2, dtype=int)
      Array([[1, 0],
             [0, 1]], dtype=int32)
    """
    return eye(n, dtype=dtype)


def tri(N: int, M: int | None = None, k: int = 0, dtype: DTypeLike | None = None) -> Array:
    """Returns a matrix with ones on and below a diagonal and zeros above it.

    Args:
      N: the number of rows.
      M: the number of columns; ``N`` by default.
      k: the diagonal: 0 for the main one, positive above it.
      dtype: the dtype, float32 by default.

    Returns:
      An array of shape ``(N, M)`` and of the given dtype.

    Example:
      >>> tri(2, 3)
      Array([[1., 0., 0.],
             [1., 1., 0.]], dtype=float32)
    """
    dtype = dtypes.check_and_canonicalize_user_dtype(np.float32 if dtype is None else dtype, "tri")
    shape = _matrix_shape("tri", N, M)
    return _tri(shape, dtype, _near_diagonal("tri", k, shape))


# ---- triangles ----


def _triangle(m: Any, k: Any, keep_lower: bool) -> Any:
    m = ensure_array(m)
    if m.ndim < 2:
        name = "tril" if keep_lower else "triu"
        raise ValueError(f"Argument to olympus.numpy.{name} must be at least 2D")
    if not keep_lower:
        k = k - 1
    mask = spread(_below(m.shape[-2:], k), m.shape)
    zeros = lax.full_like(m, 0)
    return lax.select(mask, m, zeros) if keep_lower else lax.select(mask, zeros, m)


def _tril_of(m: Any, k: Any = 0) -> Any:
    return _triangle(m, k, True)


def _triu_of(m: Any, k: Any = 0) -> Any:
    return _triangle(m, k, False)


_tril = compiled(_tril_of, ("k",), name="tril")
_triu = compiled(_triu_of, ("k",), name="triu")


def tril(m: ArrayLike, k: int = 0) -> Array:
    """Returns the lower triangle of the last two dimensions; other elements become zero.

    Args:
      m: an array of at least two dimensions.
      k: the diagonal: 0 for the main one, positive above it.

    Returns:
      An array of the shape and dtype of ``m``.

    Example:
      >>> from olympus_numpy import ones
      >>> tril(ones((2, 2)))
      Array([[1., 0.],
             [1., 1.]], dtype=float32)
    """
    check_arraylike("tril", m)
    return _tril(m, as_size(k))


def triu(m: ArrayLike, k: int = 0) -> Array:
    """Returns the upper triangle of the last two dimensions; other elements become zero.

    Args:
      m: an array of at least two dimensions.
      k: the diagonal: 0 for the main one, positive above it.

    Returns:
      An array of the shape and dtype of ``m``.

    Example:
      >>> from olympus_numpy import ones
      >>> triu(ones((2, 2)))
      Array([[1., 1.],
             [0., 1.]], dtype=float32)
    """
    check_arraylike("triu", m)
    return _triu(m, as_size(k))


# ---- diagonals ----


def _diagonal_of(a: Any, offset: int = 0, axis1: int = 0, axis2: int = 1) -> Any:
    a = ensure_array(a)
    if a.ndim < 2:
        raise ValueError("diagonal requires an array of at least two dimensions.")
    axis1, axis2 = canonical_axis(axis1, a.ndim), canonical_axis(axis2, a.ndim)
    if axis1 == axis2:
        raise ShapeError(f"diagonal: axis1 and axis2 must differ, got {axis1} for both")
    a = moveaxis(a, (axis1, axis2), (-2, -1))
    rows, columns = a.shape[-2:]
    below, above = min_dim(offset, 0), max_dim(offset, 0)
    length = max_dim(0, min_dim(rows + below, columns - above))
    if all(map(is_constant_dim, (length, below, above))):
        positions = np.arange(length, dtype=_int32)
        result = a[..., positions - below, positions + above]
        return lax.convert_dtype(result, a.dtype) if rows == columns and not offset else result
    row, column = (
        lax.add(lax.iota(_int32, length), lax.size_array(first, _int32))
        for first in (-below, above)
    )
    return a[..., row, column]


_diagonal = compiled(_diagonal_of, ("offset", "axis1", "axis2"), name="diagonal")


def diagonal(a: ArrayLike, offset: int = 0, axis1: int = 0, axis2: int = 1) -> Array:
    """Returns the diagonals of matrices, as the last dimension.

    Args:
      a: an array of at least two dimensions.
      offset: the diagonal: 0 for the main one, positive above it.
      axis1: the dimension of rows.
      axis2: the dimension of columns.

    Returns:
      An array of the dtype of ``a``, with the diagonals in its last dimension.

    Example:
      >>> from olympus_numpy import array
      >>> diagonal(array([[1, 2], [3, 4]]))
      Array([1, 4], dtype=int32)
    """
    check_arraylike("diagonal", a)
    axes = (hashable_axis("diagonal", axis1), hashable_axis("diagonal", axis2))
    return _diagonal(a, operator.index(offset), *axes)


def _diag_of(v: Any, k: int) -> Any:
    v = ensure_array(v)
    if v.ndim == 2:
        return diagonal(v, offset=k)
    if v.ndim != 1:
        raise ValueError("diag input must be 1d or 2d")
    zero = constant(0, v)
    size = v.shape[0] + abs(k)
    column = lax.pad(v, zero, ((max(0, -k), max(0, k), 0),))
    return where(_on((size, size), k), lax.expand_dims(column, (1,)), zero)


_diag = compiled(_diag_of, ("k",), name="_diag")


def diag(v: ArrayLike, k: int = 0) -> Array:
    """Returns a matrix with a vector on a diagonal, or a diagonal of a matrix.

    Args:
      v: a vector or a matrix.
      k: the diagonal: 0 for the main one, positive above it.

    Returns:
      An array of the dtype of ``v``: a matrix for a vector, a vector for a matrix.

    Example:
      >>> from olympus_numpy import array
      >>> diag(array([1, 2]))
      Array([[1, 0],
             [0, 2]], dtype=int32)
    """
    check_arraylike("diag", v)
    return _diag(v, operator.index(k))


def diagflat(v: ArrayLike, k: int = 0) -> Array:
    """Returns a matrix with the elements of an array, flattened, on a diagonal.

    Args:
      v: an array.
      k: the diagonal: 0 for the main one, positive above it.

    Returns:
      An array of two dimensions and of the dtype of ``v``.

    Example:
      >>> from olympus_numpy import array
      >>> diagflat(array([[1, 2]]))
      Array([[1, 0],
             [0, 2]], dtype=int32)
    """
    check_arraylike("diagflat", v)
    v = ravel(v)
    return diag(convert(v, v.dtype), k)


def _trace_of(a: Any, offset: Any, axis1: int, axis2: int, dtype: Any) -> Any:
    a = ensure_array(a)
    a = moveaxis(a, (axis1, axis2), (-2, -1))
    mask = spread(_on(a.shape[-2:], 0 if offset is None else offset), a.shape)
    zeros = spread(np.zeros((), a.dtype), a.shape)
    return sum_along(where(mask, a, zeros), (-2, -1), dtype, False, None, None)


_trace = compiled(_trace_of, ("axis1", "axis2", "dtype"), name="trace")


def trace(
    a: ArrayLike,
    offset: ArrayLike = 0,
    axis1: int = 0,
    axis2: int = 1,
    dtype: DTypeLike | None = None,
    out: None = None,
) -> Array:
    """Returns the sums of the diagonals of matrices.

    Args:
      a: an array of at least two dimensions.
      offset: the diagonal: 0 for the main one, positive above it.
      axis1: the dimension of rows.
      axis2: the dimension of columns.
      dtype: the dtype of sums and of the result.
      out: not supported.

    Returns:
      An array without the two axes; narrow integers are widened to the default integer dtype.

    Raises:
      ValueError: if ``a`` has less than two dimensions.

    Example:
      >>> from olympus_numpy import array
      >>> trace(array([[1, 2], [3, 4]]))
      Array(5, dtype=int32)
    """
    if out is not None:
        refuse_out("trace")
    check_arraylike("trace", a)
    if np.ndim(a) < 2:
        raise ValueError(f"trace requires an array of at least two dimensions, got {np.ndim(a)}")
    check_arraylike("trace", offset)
    if np.ndim(offset) or not dtypes.issubdtype(dtypes.dtype(offset), np.integer):
        raise TypeError(f"trace: `offset` must be an integer, got {offset!r}")
    axes = (hashable_axis("trace", axis1), hashable_axis("trace", axis2))
    if canonical_axis(axes[0], np.ndim(a)) == canonical_axis(axes[1], np.ndim(a)):
        raise ValueError(f"axis1 and axis2 can not be same. axis1={axis1} and axis2={axis2}")
    if dtype is not None:
        dtype = requested_dtype("trace", dtype)
    return _trace(a, unless_default(offset, 0), *axes, dtype)


def fill_diagonal(
    a: ArrayLike, val: ArrayLike, wrap: bool = False, *, inplace: bool = True
) -> Array:
    """Returns a copy of an array with values on its main diagonal.

    Args:
      a: an array of at least two dimensions, of equal sizes if there are more.
      val: a scalar, or values that are repeated as often as needed.
      wrap: not supported.
      inplace: must be False. The caller thereby confirms that ``a`` is not changed.

    Returns:
      An array of the shape and dtype of ``a``.

    Raises:
      NotImplementedError: if ``inplace`` or ``wrap`` is not False.
      ValueError: if ``a`` has less than two dimensions, or more than two of different sizes.

    Example:
      >>> from olympus_numpy import zeros
      >>> fill_diagonal(zeros((2, 2)), 3.0, inplace=False)
      Array([[3., 0.],
             [0., 3.]], dtype=float32)
    """
    if inplace:
        raise NotImplementedError(
            f"olympus.numpy.fill_diagonal cannot modify arrays in-place, because {naming.library} "
            "arrays are immutable. Pass inplace=False to instead return an updated array."
        )
    if wrap:
        raise NotImplementedError("wrap=True is not implemented, must use wrap=False")
    check_arraylike("fill_diagonal", a, val)
    a, val = asarray(a), ensure_array(val)
    if a.ndim < 2:
        raise ValueError("array must be at least 2-d")
    if a.ndim > 2 and len(set(a.shape)) > 1:
        raise ValueError("All dimensions of input must be of equal length")
    length = min(a.shape)
    if val.ndim:
        val = ravel(val)
        repeats = -(-length // val.shape[0]) if length else 1
        val = lax.slice_in_dim(lax.tile(val, (repeats,)), 0, length, axis=0)
    positions = np.arange(length, dtype=_int32)
    return a.at[(positions,) * a.ndim].set(val, unique_indices=True, indices_are_sorted=True)


@outlined("N", "increasing")
def _vander(x: Any, N: int, increasing: bool) -> Any:
    exponents = lax.iota(x.dtype if x.dtype != np.bool_ else _int32, N)
    if not increasing:
        exponents = lax.sub(np.array(N - 1, exponents.dtype), exponents)
    return power(lax.expand_dims(x, (1,)), lax.expand_dims(exponents, (0,)))


def vander(x: ArrayLike, N: int | None = None, increasing: bool = False) -> Array:
    """Returns the Vandermonde matrix, with the powers of an element in each row.

    Args:
      x: a vector.
      N: the number of columns; the number of rows by default.
      increasing: whether exponents increase from left to right.

    Returns:
      An array of shape ``(len(x), N)`` and of the dtype of ``x``.

    Raises:
      ValueError: if ``x`` does not have one dimension, or ``N`` is negative.

    Example:
      >>> from olympus_numpy import array
      >>> vander(array([1, 2, 3]))
      Array([[1, 1, 1],
             [4, 2, 1],
             [9, 3, 1]], dtype=int32)
    """
    check_arraylike("vander", x)
    x = ensure_array(x)
    if x.ndim != 1:
        raise ValueError("x must be a one-dimensional array or sequence.")
    columns = x.shape[0] if N is None else operator.index(N)
    if columns < 0:
        raise ValueError("N must be nonnegative")
    return _vander(x, columns, bool(increasing))
