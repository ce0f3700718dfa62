# SPDX-License-Identifier: Apache-2.0
"""Linear systems with triangular or tridiagonal matrices."""

from __future__ import annotations

from typing import Any

from ...programs.primitives import Primitive
from ..core.values import Array, ArrayLike, array_aval
from ..elementwise.arithmetic import conj
from ..shaping.broadcasting import expand_dims
from ..shaping.rearrangement import squeeze
from .declarations import check_square, declare
from .matrices import is_complex

__all__ = [
    "triangular_solve",
    "triangular_solve_p",
    "tridiagonal_solve",
    "tridiagonal_solve_p",
]


def _triangular_solve_shape(
    a: tuple[int, ...], b: tuple[int, ...], dtype: Any, *, left_side: bool, **params: Any
) -> Any:
    check_square("triangular_solve", a, "The first input to")
    if a[0] != b[0 if left_side else 1]:
        raise ValueError(
            f"Incompatible shapes for arguments to triangular_solve: {a} and {b}. With "
            f"left_side={left_side} b must have as many {'rows' if left_side else 'columns'} as a."
        )
    return [(b, dtype)]


triangular_solve_p: Primitive = declare("triangular_solve", ranks=(2, 2), linear_in=(1,))(
    _triangular_solve_shape
)


def triangular_solve(
    a: ArrayLike,
    b: ArrayLike,
    *,
    left_side: bool = False,
    lower: bool = False,
    transpose_a: bool = False,
    conjugate_a: bool = False,
    unit_diagonal: bool = False,
) -> Array:
    """Solves ``op(a) @ x = b`` or ``x @ op(a) = b`` for triangular ``a``.

    Args:
      a: triangular matrices of shape ``(..., n, n)``; the other triangle is ignored.
      b: the right-hand sides: matrices, or vectors if ``b`` has one dimension less than ``a``.
      left_side: whether ``a`` is the left factor.
      lower: whether ``a`` is lower triangular.
      transpose_a: whether ``op`` transposes.
      conjugate_a: whether ``op`` conjugates.
      unit_diagonal: whether to assume ones on the diagonal of ``a`` and ignore its elements.

    Returns:
      An array of the shape of ``b``.

    Raises:
      ValueError: if the sizes do not match.

    Example:
      >>> from olympus_ir.lax import linalg
      >>> import numpy as np
      >>> linalg.triangular_solve(
      ...     np.array([[2.0, 0], [1, 1]]), np.array([[2.0], [3]]), left_side=True, lower=True
      ... )
      Array([[1.],
             [2.]], dtype=float32)
    """
    conjugate_a = conjugate_a and is_complex(a)
    b_ndim = array_aval(b).ndim
    vectors = b_ndim == array_aval(a).ndim - 1
    position = b_ndim if left_side else b_ndim - 1
    if vectors:
        b = expand_dims(b, (position,))
    x = triangular_solve_p.bind(
        a,
        b,
        left_side=bool(left_side),
        lower=bool(lower),
        transpose_a=bool(transpose_a),
        conjugate_a=bool(conjugate_a),
        unit_diagonal=bool(unit_diagonal),
    )
    return squeeze(x, (position,)) if vectors else x


def conjugated_where(x: Any, conjugate: bool) -> Any:
    """Returns the conjugate of an array if ``conjugate`` is set, else the array."""
    return conj(x) if conjugate else x


def _tridiagonal_solve_shape(
    dl: tuple[int, ...],
    d: tuple[int, ...],
    du: tuple[int, ...],
    b: tuple[int, ...],
    dtype: Any,
    *,
    perturb_singular: bool,
) -> Any:
    if not dl == d == du:
        raise TypeError(
            "tridiagonal_solve requires that all diagonal arguments have the same shape, got "
            f"{dl}, {d} and {du}."
        )
    if b[0] != d[0]:
        raise TypeError(
            "tridiagonal_solve requires that the leading ndim-1 dimensions of b equal the "
            f"dimensions of the diagonal arguments, got {b} and {d}."
        )
    return [(b, dtype)]


tridiagonal_solve_p: Primitive = declare("tridiagonal_solve", ranks=(1, 1, 1, 2), linear_in=(3,))(
    _tridiagonal_solve_shape
)


def tridiagonal_solve(
    dl: ArrayLike, d: ArrayLike, du: ArrayLike, b: ArrayLike, *, perturb_singular: bool = False
) -> Array:
    """Solves ``a @ x = b`` for tridiagonal matrices ``a``.

    Args:
      dl: the lower diagonals: ``dl[i] = a[i, i - 1]``; the first element is ignored.
      d: the main diagonals: ``d[i] = a[i, i]``.
      du: the upper diagonals: ``du[i] = a[i, i + 1]``; the last element is ignored.
      b: the right-hand sides, matrices of shape ``(..., n, k)``.
      perturb_singular: whether to perturb a singular matrix so that the solution is finite;
        otherwise it is NaN.

    Returns:
      An array of the shape of ``b``.

    Raises:
      TypeError: if the shapes do not match.

    Example:
      >>> from olympus_ir.lax import linalg
      >>> import numpy as np
      >>> ones = np.ones(2)
      >>> x = linalg.tridiagonal_solve(ones, 3 * ones, ones, np.array([[5.0], [7]]))
      >>> np.asarray(x).round(3)
      array([[1.],
             [2.]], dtype=float32)
    """
    return tridiagonal_solve_p.bind(dl, d, du, b, perturb_singular=perturb_singular)
