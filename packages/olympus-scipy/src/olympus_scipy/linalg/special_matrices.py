# SPDX-License-Identifier: Apache-2.0
"""Matrices of special form: Toeplitz, companion, Hilbert, Pascal, Hadamard and others."""

from __future__ import annotations

import math
import operator
from collections.abc import Callable
from typing import Any

import numpy as np

import olympus_numpy as jnp
from olympus_ir.lax.core.axes import integer_or_dim
from olympus_ir.programs.tracing import is_constant_dim
from olympus_ir.types import dtypes
from olympus_ir.types.annotations import ArrayLike, DTypeLike
from olympus_ir.types.arrays import Array
from olympus_numpy.core.options import is_among
from olympus_numpy.core.promotion import check_arraylike, ensure_array, promote_dtypes

from ..arguments import strong

__all__ = [
    "block_diag",
    "circulant",
    "companion",
    "convolution_matrix",
    "dft",
    "fiedler",
    "fiedler_companion",
    "hadamard",
    "hankel",
    "helmert",
    "hilbert",
    "invhilbert",
    "invpascal",
    "leslie",
    "pascal",
    "toeplitz",
]


def _vector(function: str, *arrays: Any) -> list[Array]:
    check_arraylike(function, *arrays)
    return [jnp.atleast_1d(array) for array in arrays]


def block_diag(*arrs: ArrayLike) -> Array:
    """Returns a block diagonal matrix.

    Args:
      *arrs: the blocks. A vector counts as a row, and a number as a matrix of one element.

    Returns:
      An array with as many rows and columns as all blocks together, of their common dtype.

    Raises:
      ValueError: an argument has more than two dimensions.

    Example:
      >>> block_diag(np.ones((1, 2)), 3.0)
      Array([[1., 1., 0.],
             [0., 0., 3.]], dtype=float32)
    """
    if not arrs:
        return jnp.zeros((1, 0))
    check_arraylike("block_diag", *arrs)
    for position, block in enumerate(arrs):
        if np.ndim(block) > 2:
            raise ValueError(
                "Arguments to scipy.linalg.block_diag must have at most 2 dimensions, got shape "
                f"{np.shape(block)} at argument {position}."
            )
    blocks = [jnp.atleast_2d(array) for array in promote_dtypes(*map(ensure_array, arrs))]
    columns = sum(block.shape[1] for block in blocks)
    rows, before = [], 0
    for block in blocks:
        after = columns - before - block.shape[1]
        rows.append(jnp.pad(block, ((0, 0), (before, after))))
        before += block.shape[1]
    return jnp.concatenate(rows, dtype=blocks[0].dtype)


# ---- matrices given by vectors ----


def _indices(rows: Any, columns: Any) -> tuple[Any, Any]:
    arange = np.arange if is_constant_dim(rows) and is_constant_dim(columns) else jnp.arange
    return arange(rows)[:, None], arange(columns)[None, :]


def _of_one_batch(x: Any, y: Any) -> tuple[Array, Array]:
    """Promotes two arrays of vectors to a common dtype, and broadcasts their batch dimensions."""
    x, y = map(ensure_array, promote_dtypes(x, y))
    batch = np.broadcast_shapes(x.shape[:-1], y.shape[:-1])
    shapes = (*batch, x.shape[-1]), (*batch, y.shape[-1])
    return jnp.broadcast_to(x, shapes[0]), jnp.broadcast_to(y, shapes[1])


def toeplitz(c: ArrayLike, r: ArrayLike | None = None) -> Array:
    """Returns Toeplitz matrices, which are constant along diagonals.

    Args:
      c: the first columns, of shape (..., m).
      r: the first rows, of shape (..., n); the conjugate of ``c`` if None. The first element is
        ignored.

    Returns:
      An array of shape (..., m, n).

    Example:
      >>> toeplitz(np.array([1, 2]), np.array([0, 5, 6]))
      Array([[1, 5, 6],
             [2, 1, 5]], dtype=int32)
    """
    (c,) = _vector("toeplitz", c)
    r = c.conj() if r is None else _vector("toeplitz", r)[0]
    i, j = _indices(c.shape[-1], r.shape[-1])
    c, r = _of_one_batch(c, r)
    values = jnp.concatenate([r[..., :0:-1], c], axis=-1)
    return values[..., i - j + r.shape[-1] - 1].astype(values.dtype)


def hankel(c: ArrayLike, r: ArrayLike | None = None) -> Array:
    """Returns Hankel matrices, which are constant along antidiagonals.

    Args:
      c: the first columns, of shape (..., m).
      r: the last rows, of shape (..., n); zeros if None. The first element is ignored.

    Returns:
      An array of shape (..., m, n).

    Raises:
      ValueError: an argument is a scalar.

    Example:
      >>> hankel(np.array([1, 2, 3]))
      Array([[1, 2, 3],
             [2, 3, 0],
             [3, 0, 0]], dtype=int32)
    """
    for name, values in (("c", c), ("r", r)):
        if values is not None and np.ndim(values) == 0:
            raise ValueError(f"hankel: {name} must be at least 1-dimensional, got a scalar.")
    (c,) = _vector("hankel", c)
    r = jnp.zeros_like(c) if r is None else _vector("hankel", r)[0]
    i, j = _indices(c.shape[-1], r.shape[-1])
    c, r = _of_one_batch(c, r)
    return strong(jnp.concatenate([c, r[..., 1:]], axis=-1)[..., i + j])


def circulant(c: ArrayLike) -> Array:
    """Returns circulant matrices: each column is the previous one, rotated down by one.

    Args:
      c: the first columns, of shape (..., n).

    Returns:
      An array of shape (..., n, n).

    Example:
      >>> circulant(np.array([1, 2, 3]))
      Array([[1, 3, 2],
             [2, 1, 3],
             [3, 2, 1]], dtype=int32)
    """
    (c,) = _vector("circulant", c)
    i, j = _indices(c.shape[-1], c.shape[-1])
    return c[..., (i - j) % max(c.shape[-1], 1)]


def convolution_matrix(a: ArrayLike, n: int, mode: str = "full") -> Array:
    """Returns the matrices that convolve vectors with ``a``.

    Args:
      a: vectors, of shape (..., m).
      n: the length of the vectors to multiply.
      mode: the part of the convolution: ``"full"``, ``"same"`` or ``"valid"``.

    Returns:
      An array of shape (..., k, n). Depending on the mode, k is m + n - 1, max(m, n) or
      max(m, n) - min(m, n) + 1.

    Raises:
      ValueError: ``a`` has no elements, ``n`` is not positive, or the mode is unknown.
      TypeError: ``n`` is not an integer.

    Example:
      >>> convolution_matrix(np.array([1, 2]), 2)
      Array([[1, 0],
             [2, 1],
             [0, 2]], dtype=int32)
    """
    check_arraylike("convolution_matrix", a)
    n = operator.index(n)
    if n <= 0:
        raise ValueError(f"n must be a positive integer; got {n}.")
    if np.ndim(a) == 0:
        raise ValueError("convolution_matrix: a must have one dimension at least, got a scalar")
    (a,) = _vector("convolution_matrix", a)
    size = a.shape[-1]
    if size == 0:
        raise ValueError(
            f"convolution_matrix: a must have one element at least, got shape {a.shape}"
        )
    rows = size + n - 1
    cut = min(size, n) - 1
    starts = {"full": (0, 0), "same": (cut // 2, cut - cut // 2), "valid": (cut, cut)}
    if not is_among(mode, starts):
        raise ValueError(f"mode must be one of 'full', 'valid', 'same'; got {mode!r}.")
    first, last = starts[mode]
    i, j = _indices(rows, n)
    indices = (i - j)[first : rows - last]
    inside = (indices >= 0) & (indices < size)
    elements = a[..., np.clip(indices, 0, size - 1)]
    return strong(jnp.where(inside, elements, jnp.zeros_like(elements)))


def _of_leading_one(function: str, a: Any) -> Array:
    (a,) = _vector(function, a)
    if not dtypes.issubdtype(a.dtype, np.inexact):
        a = a.astype(float)
    return -a[..., 1:] / a[..., :1]


def companion(a: ArrayLike) -> Array:
    """Returns companion matrices, whose eigenvalues are the roots of polynomials.

    Args:
      a: the coefficients, highest power first, of shape (..., n + 1).

    Returns:
      An array of shape (..., n, n).

    Raises:
      ValueError: there are fewer than two coefficients.

    Example:
      >>> companion(np.array([1.0, -3, 2]))
      Array([[ 3., -2.],
             [ 1.,  0.]], dtype=float32)
    """
    check_arraylike("companion", a)
    shape = np.shape(a)
    if not shape or shape[-1] < 2:
        raise ValueError(
            f"The length of `a` along the last axis must be at least 2; got shape {shape}."
        )
    first = _of_leading_one("companion", a)
    size = first.shape[-1]
    below = jnp.broadcast_to(
        jnp.eye(size, dtype=first.dtype)[:-1], (*first.shape[:-1], size - 1, size)
    )
    return jnp.concatenate([first[..., None, :], below], axis=-2)


def fiedler(a: ArrayLike) -> Array:
    """Returns Fiedler matrices: the distances between the elements of vectors.

    Args:
      a: vectors, of shape (..., n).

    Returns:
      An array of shape (..., n, n).

    Example:
      >>> fiedler(np.array([1, 4]))
      Array([[0, 3],
             [3, 0]], dtype=int32)
    """
    (a,) = _vector("fiedler", a)
    return jnp.abs(a[..., :, None] - a[..., None, :])


def fiedler_companion(a: ArrayLike) -> Array:
    """Returns pentadiagonal Fiedler companion matrices of polynomials.

    Args:
      a: the coefficients, highest power first, of shape (..., n + 1).

    Returns:
      An array of shape (..., n, n). Its eigenvalues are the roots of the polynomials.

    Raises:
      ValueError: there are no coefficients.

    Example:
      >>> fiedler_companion(np.array([1.0, -3, 2]))
      Array([[ 3., -2.],
             [ 1.,  0.]], dtype=float32)
    """
    check_arraylike("fiedler_companion", a)
    if np.shape(a)[-1:] == (0,):
        raise ValueError(f"fiedler_companion needs coefficients, got the shape {np.shape(a)}.")
    a = _of_leading_one("fiedler_companion", a)
    size = a.shape[-1]
    if size < 2:
        return a.reshape(*a.shape[:-1], size, size)
    # The index of the coefficient at each position, counted from 1; -1 stands for the constant 1.
    indices = np.zeros((size, size), int)
    indices[0, 0] = 1
    indices[1, 0] = -1
    indices[range(2, size, 2), range(1, size - 1, 2)] = range(3, size + 1, 2)
    indices[range(0, size - 1, 2), range(1, size, 2)] = range(2, size + 1, 2)
    indices[range(3, size, 2), range(1, size - 2, 2)] = -1
    indices[range(0, size - 2, 2), range(2, size, 2)] = -1
    values = a[..., np.maximum(indices - 1, 0)]
    return jnp.where(indices > 0, values, (indices < 0).astype(values.dtype))


def leslie(f: ArrayLike, s: ArrayLike) -> Array:
    """Returns Leslie matrices, which advance age-structured populations.

    Args:
      f: the fecundities, of shape (..., n).
      s: the survival rates, of shape (..., n - 1).

    Returns:
      An array of shape (..., n, n).

    Raises:
      ValueError: the lengths of ``f`` and ``s`` do not match, or ``f`` has fewer than two elements.

    Example:
      >>> leslie(np.array([0.1, 2.0]), np.array([0.2]))
      Array([[0.1, 2. ],
             [0.2, 0. ]], dtype=float32)
    """
    f, s = _vector("leslie", f, s)
    if f.shape[-1] != s.shape[-1] + 1:
        raise ValueError(
            "Incorrect lengths for f and s. The length of s along the last axis must be one less "
            f"than the length of f; got f shape {f.shape} and s shape {s.shape}."
        )
    if f.shape[-1] < 2:
        raise ValueError(
            f"The length of f along the last axis must be at least 2; got shape {f.shape}."
        )
    f, s = _of_one_batch(f, s)
    below = s[..., None] * jnp.eye(f.shape[-1], dtype=s.dtype)[:-1]
    return jnp.concatenate([f[..., None, :], below], axis=-2)


# ---- matrices given by a size ----


def _size(n: int, requirement: str = "a positive integer", smallest: int = 1) -> int:
    if n != int(n) or n < smallest:
        raise ValueError(f"n must be {requirement}; got {n}.")
    return int(n)


def _floats(function: Callable[[int, int], Any], size: int, dtype: Any) -> np.ndarray:
    """Returns the matrix of the exact values ``function(i, j)``, rounded to floats.

    Values that are too large become infinite.
    """

    def rounded(value: Any) -> float:
        try:
            return float(value)
        except OverflowError:
            return math.inf if value > 0 else -math.inf

    try:
        matrix = np.empty((size, size))
    except ValueError:
        raise MemoryError(
            f"a matrix of shape {(size, size)} takes {8 * size**2} bytes, which is too many"
        ) from None
    for i, row in enumerate(matrix):
        row[:] = [rounded(function(i, j)) for j in range(size)]
    with np.errstate(over="ignore"):
        return matrix.astype(dtype)


def hilbert(n: int) -> Array:
    """Returns the Hilbert matrix, with elements ``1 / (i + j + 1)``.

    Args:
      n: the size of the matrix.

    Returns:
      A floating array of shape (n, n).

    Raises:
      ValueError: ``n`` is not a positive integer.

    Example:
      >>> hilbert(2)
      Array([[1.        , 0.5       ],
             [0.5       , 0.33333334]], dtype=float32)
    """
    n = integer_or_dim(n)
    i, j = _indices(n, n)
    return jnp.asarray(1 / (i + j + 1), float)


def invhilbert(n: int) -> Array:
    """Returns the inverse of the Hilbert matrix.

    Args:
      n: the size of the matrix.

    Returns:
      A floating array of shape (n, n).

    Raises:
      ValueError: ``n`` is not a positive integer.

    Example:
      >>> invhilbert(2)
      Array([[ 4., -6.],
             [-6., 12.]], dtype=float32)
    """

    def entry(i: int, j: int) -> int:
        binomials = math.comb(n + i, n - j - 1) * math.comb(n + j, n - i - 1)
        return (-1) ** (i + j) * (i + j + 1) * binomials * math.comb(i + j, i) ** 2

    return jnp.asarray(_floats(entry, _size(n), dtypes.default_float_dtype()))


_KINDS = ("symmetric", "lower", "upper")


def _check_kind(kind: str) -> None:
    if not is_among(kind, _KINDS):
        raise ValueError(f"Expected kind to be on of: {list(_KINDS)}; got {kind}")


def pascal(n: int, kind: str | None = None) -> Array:
    """Returns the Pascal matrix of binomial coefficients.

    Args:
      n: the size of the matrix.
      kind: ``"symmetric"`` (the default), ``"lower"`` or ``"upper"``.

    Returns:
      A floating array of shape (n, n).

    Raises:
      ValueError: ``n`` is not a valid size, or the kind is unknown.

    Example:
      >>> pascal(3)
      Array([[1., 1., 1.],
             [1., 2., 3.],
             [1., 3., 6.]], dtype=float32)
    """
    kind = "symmetric" if kind is None else kind
    _check_kind(kind)
    entries: dict[str, Callable[[int, int], int]] = {
        "symmetric": lambda i, j: math.comb(i + j, i),
        "lower": math.comb,
        "upper": lambda i, j: math.comb(j, i),
    }
    return jnp.asarray(_floats(entries[kind], _size(n, "a non-negative integer", 0), np.float32))


def invpascal(n: int, kind: str = "symmetric") -> Array:
    """Returns the inverse of the Pascal matrix.

    Args:
      n: the size of the matrix.
      kind: the kind of the Pascal matrix, as in `pascal`.

    Returns:
      A floating array of shape (n, n).

    Raises:
      ValueError: ``n`` is not a valid size, or the kind is unknown.

    Example:
      >>> invpascal(2)
      Array([[ 2., -1.],
             [-1.,  1.]], dtype=float32)
    """
    _check_kind(kind)

    def lower(i: int, j: int) -> int:
        return (-1) ** (i + j) * math.comb(i, j)

    entries: dict[str, Callable[[int, int], int]] = {
        "symmetric": lambda i, j: sum(lower(k, i) * lower(k, j) for k in range(n)),
        "lower": lower,
        "upper": lambda i, j: lower(j, i),
    }
    return jnp.asarray(
        _floats(entries[kind], _size(n, "a non-negative integer", 0), dtypes.default_float_dtype())
    )


def dft(n: int, scale: str | None = None, *, dtype: DTypeLike | None = None) -> Array:
    """Returns the matrix of the discrete Fourier transform.

    Args:
      n: the size of the matrix.
      scale: the divisor: ``"sqrtn"``, ``"n"``, or None for one.
      dtype: a complex dtype.

    Returns:
      A complex array of shape (n, n).

    Raises:
      ValueError: ``n`` is not a valid size, the scale is unknown, or the dtype is not complex.

    Example:
      >>> dft(2).real
      Array([[ 1.,  1.],
             [ 1., -1.]], dtype=float32)
    """
    scales = {None: 1.0, "sqrtn": math.sqrt(n), "n": float(n)}
    if not is_among(scale, scales):
        raise ValueError(f"scale must be None, 'sqrtn', or 'n'; got {scale!r}.")
    dtype = dtypes.check_and_canonicalize_user_dtype(complex if dtype is None else dtype, "dft")
    if not dtypes.issubdtype(dtype, np.complexfloating):
        raise ValueError(f"dft: dtype must be a complex floating-point type; got {dtype}.")
    i, j = _indices(n, n)
    values = np.exp(-2j * np.pi * ((i * j) % max(n, 1)) / max(n, 1)) / scales[scale]
    return jnp.asarray(values, dtype)


def hadamard(n: int, dtype: DTypeLike = int) -> Array:
    """Returns Sylvester's Hadamard matrix: orthogonal rows of ones and minus ones.

    Args:
      n: the size of the matrix, a power of two.
      dtype: the dtype of the result.

    Returns:
      An array of shape (n, n).

    Raises:
      ValueError: ``n`` is not a power of two.

    Example:
      >>> hadamard(2)
      Array([[ 1,  1],
             [ 1, -1]], dtype=int32)
    """
    if n != int(n) or n < 1 or n & (n - 1):
        raise ValueError(f"n must be a positive power of 2; got {n}.")
    i, j = _indices(int(n), int(n))
    return jnp.asarray(
        1 - 2 * (np.bitwise_count(i & j) % 2).astype(int), float if dtype is None else dtype
    )


def helmert(n: int, full: bool = False) -> Array:
    """Returns the Helmert matrix, whose rows are orthonormal contrasts.

    Args:
      n: the number of columns.
      full: whether to include the first row, of equal elements.

    Returns:
      A floating array of shape (n - 1, n), or (n, n) with ``full``.

    Raises:
      ValueError: ``n`` is not a valid size.

    Example:
      >>> helmert(2)
      Array([[ 0.70710677, -0.70710677]], dtype=float32)
    """
    n = _size(n)
    i, j = _indices(n, n)
    values = np.where(j < i, 1.0, np.where(j == i, -i, 0.0)).astype(float)
    values[0] = 1
    values /= np.linalg.norm(values, axis=1, keepdims=True)
    return jnp.asarray(values if full else values[1:], float)
