# SPDX-License-Identifier: Apache-2.0
"""Linear algebra: norms and products of matrices."""

from __future__ import annotations

import operator
from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import numpy as np

from olympus_ir import dtypes, lax
from olympus_ir.arrays import Array

from . import contractions, matrices, shaping
from .arithmetic import absolute
from .axes import canonical_axes, hashable_axes
from .compilation import compiled
from .einsum import einsum
from .powers import power, sqrt
from .promotion import check_arraylike, convert, ensure_array, promote_dtypes_inexact
from .reductions import largest, smallest, sum_along

__all__ = [
    "cross",
    "diagonal",
    "matmul",
    "matrix_norm",
    "matrix_power",
    "matrix_transpose",
    "multi_dot",
    "norm",
    "outer",
    "tensordot",
    "trace",
    "vecdot",
    "vector_norm",
]


# ---- norms ----


def _magnitude_squares(x: Any) -> Any:
    if dtypes.issubdtype(x.dtype, np.complexfloating):
        return lax.real(lax.mul(x, lax.conj(x)))
    return lax.mul(x, x)


def _sum(x: Any, axes: Any, keepdims: bool) -> Any:
    return sum_along(x, axes, None, keepdims, None, None)


def _norm_of(x: Any, ord: Any, axis: Any, keepdims: bool) -> Any:
    check_arraylike("linalg.norm", x)
    (x,) = promote_dtypes_inexact(ensure_array(x))
    x = ensure_array(x)
    if axis is None:
        if ord is None:
            return sqrt(_sum(_magnitude_squares(x), None, keepdims))
        axes = tuple(range(x.ndim))
    else:
        axes = canonical_axes(axis, x.ndim)
    if len(axes) == 1:
        return _vector_norm(x, ord, axes, keepdims)
    if len(axes) == 2:
        return _matrix_norm(x, ord, axes, keepdims)
    raise ValueError(f"Improper number of dimensions to norm: axis={axes}")


def _vector_norm(x: Any, ord: Any, axes: tuple[int, ...] | None, keepdims: bool) -> Any:
    if ord is None or ord == 2:
        return sqrt(_sum(_magnitude_squares(x), axes, keepdims))
    if isinstance(ord, str):
        raise ValueError(f"Invalid order '{ord}' for vector norm.")
    if ord == np.inf:
        return largest(absolute(x), axes, keepdims)
    if ord == -np.inf:
        return smallest(absolute(x), axes, keepdims)
    if ord == 0:
        nonzero = convert(lax.ne(x, np.zeros((), x.dtype)), dtypes.to_floating_dtype(x.dtype))
        return _sum(nonzero, axes, keepdims)
    magnitude = absolute(x)
    if ord == 1:
        return _sum(magnitude, axes, keepdims)
    order = np.array(ord, magnitude.dtype)
    total = _sum(power(magnitude, order), axes, keepdims)
    return power(total, np.array(1 / ord, magnitude.dtype))


def _matrix_norm(x: Any, ord: Any, axes: tuple[int, int], keepdims: bool) -> Any:
    rows, columns = axes
    if ord is None or ord in ("f", "fro"):
        return sqrt(_sum(_magnitude_squares(x), axes, keepdims))
    if ord in (1, -1, np.inf, -np.inf):
        inner, outer = (rows, columns) if abs(ord) == 1 else (columns, rows)
        sums = _sum(absolute(x), (inner,), True)
        extreme = largest if ord > 0 else smallest
        result = extreme(sums, (outer,), True)
        return result if keepdims else lax.squeeze(result, axes)
    if ord in (2, -2, "nuc"):
        raise NotImplementedError(
            f"linalg.norm: order {ord!r} of matrices needs singular values, which this version of "
            "olympus-numpy does not compute; use 'fro', 1, -1, inf or -inf"
        )
    raise ValueError(f"Invalid order {ord!r} for matrix norm.")


_norm = compiled(_norm_of, ("ord", "axis", "keepdims"), name="norm")


def norm(x: Any, ord: Any = None, axis: Any = None, keepdims: bool = False) -> Array:
    """Returns the norm of vectors or matrices.

    Args:
      x: an array.
      ord: the order: of vectors a number, 2 where not given; of matrices ``"fro"`` (where not
        given), 1, -1, inf or -inf.
      axis: one axis for vectors, two for matrices; where not given, the array is a vector or
        matrix, or flattened where ``ord`` is not given either.
      keepdims: whether the axes are kept with size one.

    Example:
      >>> from olympus_numpy import array
      >>> norm(array([3.0, 4.0]))
      Array(5., dtype=float32)
    """
    return _norm(x, ord, hashable_axes("linalg.norm", axis), bool(keepdims))


def vector_norm(x: Any, /, *, axis: Any = None, keepdims: bool = False, ord: Any = 2) -> Array:
    """Returns the norm of vectors.

    Args:
      x: an array.
      axis: the axis or axes whose elements form a vector; all where not given.
      keepdims: whether the axes are kept with size one.
      ord: the order.

    Example:
      >>> from olympus_numpy import array
      >>> vector_norm(array([3.0, 4.0]), ord=1)
      Array(7., dtype=float32)
    """
    check_arraylike("linalg.vector_norm", x)
    return _all_vector_norm(x, ord, hashable_axes("linalg.vector_norm", axis), bool(keepdims))


def _vector_norm_of(x: Any, ord: Any, axis: Any, keepdims: bool) -> Any:
    (x,) = promote_dtypes_inexact(ensure_array(x))
    x = ensure_array(x)
    return _vector_norm(x, ord, canonical_axes(axis, x.ndim), keepdims)


_all_vector_norm = compiled(_vector_norm_of, ("ord", "axis", "keepdims"), name="vector_norm")


def matrix_norm(x: Any, /, *, keepdims: bool = False, ord: Any = "fro") -> Array:
    """Returns the norm of matrices, the last two dimensions.

    Args:
      x: an array.
      keepdims: whether the two dimensions are kept with size one.
      ord: the order; see `norm`.

    Example:
      >>> from olympus_numpy import array
      >>> matrix_norm(array([[3.0, 4.0]]))
      Array(5., dtype=float32)
    """
    check_arraylike("linalg.matrix_norm", x)
    return norm(x, ord=ord, keepdims=keepdims, axis=(-2, -1))


# ---- products ----


def matrix_power(a: Any, n: int) -> Array:
    """Returns integer powers of matrices.

    Args:
      a: matrices.
      n: the exponent, not negative.

    Example:
      >>> from olympus_numpy import array
      >>> matrix_power(array([[1, 1], [0, 1]]), 5)
      Array([[1, 5],
             [0, 1]], dtype=int32)
    """
    check_arraylike("linalg.matrix_power", a)
    n = operator.index(n)
    if np.ndim(a) < 2 or np.shape(a)[-1] != np.shape(a)[-2]:
        raise TypeError(
            "Last 2 dimensions of the array to matrix_power must be square, got shape "
            f"{np.shape(a)}"
        )
    if n < 0:
        raise NotImplementedError(
            "matrix_power: negative exponents need inverse matrices, which this version of "
            "olympus-numpy does not compute"
        )
    return _matrix_power(a, n)


def _powers(a: Any, n: int) -> Any:
    a = ensure_array(a)
    if n == 0:
        return lax.broadcast_in_dim(
            matrices.eye(a.shape[-1], dtype=a.dtype), a.shape, (a.ndim - 2, a.ndim - 1)
        )
    result = None
    while True:
        if n & 1:
            result = a if result is None else contractions.matmul(result, a)
        n >>= 1
        if not n:
            return result
        a = contractions.matmul(a, a)


_matrix_power = compiled(_powers, ("n",), inline=True, name="matrix_power")


def multi_dot(arrays: Sequence[Any], *, precision: Any = None) -> Array:
    """Returns the product of several matrices, in the order that takes the fewest operations.

    Args:
      arrays: matrices; the first and the last may be vectors.
      precision: how exactly accelerators compute.

    Example:
      >>> from olympus_numpy import ones
      >>> multi_dot([ones((1, 2)), ones((2, 3)), ones((3, 1))])
      Array([[6.]], dtype=float32)
    """
    check_arraylike("linalg.multi_dot", *arrays)
    operands = [ensure_array(array) for array in arrays]
    if len(operands) < 2:
        raise ValueError(f"multi_dot requires at least two arrays; got {len(operands)}")
    if operands[0].ndim not in (1, 2) or operands[-1].ndim not in (1, 2):
        raise ValueError("multi_dot: first and last arrays must be 1D or 2D")
    if any(one.ndim != 2 for one in operands[1:-1]):
        raise ValueError("multi_dot: all arrays other than the first and the last must be 2D")
    labels: list[list[int]] = []
    for position, one in enumerate(operands):
        names = [position, position + 1]
        if one.ndim == 1:
            names = names[1:] if position == 0 else names[:1]
        labels.append(names)
    for position, (left, right) in enumerate(pairwise(operands)):
        if left.shape[-1] != right.shape[0]:
            raise ValueError(
                f"multi_dot: the last dimension of array {position} must be the first of the next; "
                f"got shapes {left.shape} and {right.shape}"
            )
    output = (labels[0][:1] if operands[0].ndim == 2 else []) + (
        labels[-1][1:] if operands[-1].ndim == 2 else []
    )
    terms = [item for pair in zip(operands, labels, strict=True) for item in pair]
    return einsum(*terms, output, optimize="auto", precision=precision)


def cross(x1: Any, x2: Any, /, *, axis: int = -1) -> Array:
    """Returns cross products of vectors of three components.

    Args:
      x1: an array.
      x2: an array.
      axis: the dimension of components.

    Example:
      >>> from olympus_numpy import array
      >>> cross(array([1, 0, 0]), array([0, 1, 0]))
      Array([0, 0, 1], dtype=int32)
    """
    check_arraylike("linalg.cross", x1, x2)
    if np.shape(x1)[axis] != 3 or np.shape(x2)[axis] != 3:
        raise ValueError(
            "Both input arrays must be (arrays of) 3-dimensional vectors, but they have "
            f"{np.shape(x1)[axis]} and {np.shape(x2)[axis]} dimensions instead."
        )
    return contractions.cross(x1, x2, axis=axis)


def outer(x1: Any, x2: Any, /) -> Array:
    """Returns the products of each element of one vector with each of another.

    Args:
      x1: a vector.
      x2: a vector.

    Example:
      >>> from olympus_numpy import array
      >>> outer(array([1, 2]), array([3, 4]))
      Array([[3, 4],
             [6, 8]], dtype=int32)
    """
    check_arraylike("linalg.outer", x1, x2)
    if np.ndim(x1) != 1 or np.ndim(x2) != 1:
        raise ValueError(
            f"Input arrays must be one-dimensional, but they are {np.ndim(x1)=} and {np.ndim(x2)=}"
        )
    return contractions.outer(x1, x2)


def diagonal(x: Any, /, *, offset: int = 0) -> Array:
    """Returns the diagonals of matrices, the last two dimensions.

    Args:
      x: matrices.
      offset: the diagonal: the main one where 0, above it where positive.

    Example:
      >>> from olympus_numpy import array
      >>> diagonal(array([[1, 2], [3, 4]]))
      Array([1, 4], dtype=int32)
    """
    return matrices.diagonal(x, offset=offset, axis1=-2, axis2=-1)


def trace(x: Any, /, *, offset: int = 0, dtype: Any = None) -> Array:
    """Returns the sums of the diagonals of matrices, the last two dimensions.

    Args:
      x: matrices.
      offset: the diagonal: the main one where 0, above it where positive.
      dtype: the dtype to add up in.

    Example:
      >>> from olympus_numpy import array
      >>> trace(array([[1, 2], [3, 4]]))
      Array(5, dtype=int32)
    """
    return matrices.trace(x, offset=offset, axis1=-2, axis2=-1, dtype=dtype)


matmul = contractions.matmul
vecdot = contractions.vecdot
tensordot = contractions.tensordot
matrix_transpose = shaping.matrix_transpose
