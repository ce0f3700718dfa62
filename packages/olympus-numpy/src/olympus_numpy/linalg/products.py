# SPDX-License-Identifier: Apache-2.0
"""Products and powers of matrices."""

from __future__ import annotations

import operator
from collections.abc import Sequence
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np

from olympus_ir import lax
from olympus_ir.types.annotations import ArrayLike, DTypeLike, ShardingLike
from olympus_ir.types.arrays import Array

from ..arrays import shaping
from ..core.compilation import compiled
from ..core.promotion import check_arraylike, ensure_array
from ..products import contractions, matrices
from ..products.einsum import einsum
from .solving import inv

if TYPE_CHECKING:
    from olympus_ir.lax.contractions.dot_algorithms import PrecisionLike

__all__ = [
    "cross",
    "diagonal",
    "matmul",
    "matrix_power",
    "matrix_transpose",
    "multi_dot",
    "outer",
    "tensordot",
    "trace",
    "vecdot",
]


def matrix_power(a: ArrayLike, n: int) -> Array:
    """Returns integer powers of matrices.

    Args:
      a: matrices.
      n: the exponent; for negative exponents, the result is a power of the inverses.

    Returns:
      An array of the shape of ``a``.

    Raises:
      TypeError: if ``n`` is not an integer, or the last two dimensions of ``a`` differ in size.

    Example:
      >>> from olympus_numpy import array
      >>> matrix_power(array([[1, 1], [0, 1]]), 5)
      Array([[1, 5],
             [0, 1]], dtype=int32)
    """
    check_arraylike("linalg.matrix_power", a)
    try:
        n = operator.index(n)
    except TypeError:
        raise TypeError(f"exponent must be an integer, got {n}") from None
    if np.ndim(a) < 2:
        raise TypeError(
            f"{np.ndim(a)}-dimensional array given. Array must be at least two-dimensional, as "
            "matrix_power takes matrices"
        )
    if np.shape(a)[-1] != np.shape(a)[-2]:
        raise TypeError(
            "Last 2 dimensions of the array must be square, as matrix_power takes square matrices; "
            f"got shape {np.shape(a)}"
        )
    return _matrix_power(a, n)


def _powers(a: Any, n: int) -> Any:
    a = ensure_array(a)
    if n < 0:
        a, n = inv(a), -n
    if n == 0:
        return lax.broadcast_in_dim(
            matrices.eye(a.shape[-1], dtype=a.dtype), a.shape, (a.ndim - 2, a.ndim - 1)
        )
    if n == 3:
        return contractions.matmul(contractions.matmul(a, a), a)
    if n.bit_length() > _MOST_SQUARES:
        return _power_in_loop(a, n)
    result = None
    while True:
        if n & 1:
            result = a if result is None else contractions.matmul(result, a)
        n >>= 1
        if not n:
            return result
        a = contractions.matmul(a, a)


# Products that a program contains one by one; it takes XLA minutes to compile some thousand.
_MOST_SQUARES = 40


def _power_in_loop(a: Any, n: int) -> Any:
    """Returns a power by squaring, once for each bit of the exponent behind the first."""

    def squared(result: Any, bit: Any) -> tuple[Any, None]:
        result = contractions.matmul(result, result)
        return lax.select_n(bit, result, contractions.matmul(result, a)), None

    bits = np.array([bit == "1" for bit in f"{n:b}"[1:]])
    first = contractions.matmul(a, a)
    if bits[0]:
        first = contractions.matmul(first, a)
    return lax.scan(squared, first, bits[1:])[0]


_matrix_power = compiled(_powers, ("n",), name="matrix_power")


def multi_dot(
    arrays: Array | np.ndarray | Sequence[ArrayLike], *, precision: PrecisionLike = None
) -> Array:
    """Returns the product of several matrices, in the order that needs the fewest operations.

    Args:
      arrays: matrices; the first and the last may be vectors.
      precision: the precision of products on accelerators.

    Returns:
      An array of two dimensions, less one for each vector at the ends.

    Raises:
      ValueError: if there are less than two arrays, or their shapes do not fit.

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
    if any(operand.ndim != 2 for operand in operands[1:-1]):
        raise ValueError("multi_dot: all arrays other than the first and the last must be 2D")
    labels: list[list[int]] = []
    for position, operand in enumerate(operands):
        names = [position, position + 1]
        if operand.ndim == 1:
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


def cross(x1: ArrayLike, x2: ArrayLike, /, *, axis: int = -1) -> Array:
    """Returns cross products of vectors of three components.

    Args:
      x1: an array.
      x2: an array.
      axis: the dimension of components.

    Returns:
      An array of the broadcast shape and common dtype.

    Raises:
      ValueError: if a size along the axis is not 3.

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


def outer(x1: ArrayLike, x2: ArrayLike, /) -> Array:
    """Returns the outer product of two vectors.

    Args:
      x1: a vector.
      x2: a vector.

    Returns:
      An array of shape ``(x1.size, x2.size)`` and of the common dtype.

    Raises:
      ValueError: if an operand does not have one dimension.

    Example:
      >>> from olympus_numpy import array
      >>> outer(array([1, 2]), array([3, 4]))
      Array([[3, 4],
             [6, 8]], dtype=int32)
    """
    check_arraylike("linalg.outer", x1, x2)
    if np.ndim(x1) != 1 or np.ndim(x2) != 1:
        raise ValueError(
            f"Input arrays must be one-dimensional, but they are x1.ndim={np.ndim(x1)} "
            f"x2.ndim={np.ndim(x2)}"
        )
    return contractions.outer(x1, x2)


def diagonal(x: ArrayLike, /, *, offset: int = 0) -> Array:
    """Returns the diagonals of the matrices in the last two dimensions.

    Args:
      x: matrices.
      offset: the diagonal: 0 for the main one, positive above it.

    Returns:
      An array of the dtype of ``x``, with the diagonals in its last dimension.

    Example:
      >>> from olympus_numpy import array
      >>> diagonal(array([[1, 2], [3, 4]]))
      Array([1, 4], dtype=int32)
    """
    return matrices.diagonal(x, offset=offset, axis1=-2, axis2=-1)


def trace(x: ArrayLike, /, *, offset: int = 0, dtype: DTypeLike | None = None) -> Array:
    """Returns the sums of the diagonals of the matrices in the last two dimensions.

    Args:
      x: matrices.
      offset: the diagonal: 0 for the main one, positive above it.
      dtype: the dtype of sums and of the result.

    Returns:
      An array of shape ``x.shape[:-2]``.

    Example:
      >>> from olympus_numpy import array
      >>> trace(array([[1, 2], [3, 4]]))
      Array(5, dtype=int32)
    """
    return matrices.trace(x, offset=offset, axis1=-2, axis2=-1, dtype=dtype)


def matmul(
    x1: ArrayLike,
    x2: ArrayLike,
    /,
    *,
    precision: PrecisionLike = None,
    preferred_element_type: DTypeLike | None = None,
) -> Array:
    """Returns products of matrices; see ``jnp.matmul``.

    Args:
      x1: matrices, or a vector.
      x2: matrices, or a vector.
      precision: the precision of products on accelerators.
      preferred_element_type: the dtype of the accumulation and of the result.

    Returns:
      An array of the common dtype.

    Example:
      >>> from olympus_numpy import array
      >>> matmul(array([[1, 2]]), array([3, 4]))
      Array([11], dtype=int32)
    """
    check_arraylike("jnp.linalg.matmul", x1, x2)
    return contractions.matmul(
        x1, x2, precision=precision, preferred_element_type=preferred_element_type
    )


def tensordot(
    x1: ArrayLike,
    x2: ArrayLike,
    /,
    *,
    axes: int | Sequence[int] | Sequence[Sequence[int]] = 2,
    precision: PrecisionLike = None,
    preferred_element_type: DTypeLike | None = None,
    out_sharding: ShardingLike = None,
) -> Array:
    """Returns the contraction of two arrays over several dimensions.

    See ``jnp.tensordot``.

    Args:
      x1: an array.
      x2: an array.
      axes: the number of dimensions to sum over, or a sequence of dimensions for each array.
      precision: the precision of products on accelerators.
      preferred_element_type: the dtype of the accumulation and of the result.
      out_sharding: the sharding of the result.

    Returns:
      An array of the common dtype.

    Example:
      >>> from olympus_numpy import ones
      >>> tensordot(ones((2, 3)), ones((3, 2)), axes=1).shape
      (2, 2)
    """
    check_arraylike("jnp.linalg.tensordot", x1, x2)
    return contractions.tensordot(
        x1,
        x2,
        axes=axes,
        precision=precision,
        preferred_element_type=preferred_element_type,
        out_sharding=out_sharding,
    )


vecdot = contractions.vecdot
matrix_transpose = shaping.matrix_transpose
