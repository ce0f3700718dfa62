# SPDX-License-Identifier: Apache-2.0
"""Determinants and their logarithms."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from olympus_ir import lax
from olympus_ir.lax import linalg as lax_linalg
from olympus_ir.lax.core.declarations import real_dtype
from olympus_ir.lax.linalg.matrices import permute_rows
from olympus_ir.types import dtypes
from olympus_ir.types.annotations import ArrayLike
from olympus_ir.types.arrays import Array

from ..arrays import selection, shaping
from ..core.compilation import compiled
from ..core.custom_derivatives import custom_jvp
from ..core.options import is_among
from ..core.promotion import check_arraylike
from ..ordering.sorting import argsort
from ..products import matrices
from .factoring import floating
from .solving import solve

__all__ = ["det", "slogdet"]


class SlogdetResult(NamedTuple):
    """The result of `slogdet`."""

    sign: Array
    logabsdet: Array


def _diagonal(x: Any) -> Any:
    """Returns the diagonals of square matrices.

    A strided slice of the flat matrices contains the diagonals. XLA reads a slice faster than a
    gather.
    """
    *batch, size, _ = x.shape
    if type(size) is not int:
        return matrices.diagonal(x, axis1=-2, axis2=-1)
    elements = lax.reshape(x, (*batch, size * size))
    return lax.slice_in_dim(elements, 0, size * size, size + 1, axis=len(batch))


def _unit(x: Any) -> Any:
    """Divides numbers by their magnitude; zero stays zero."""
    return lax.sign(x)


def _parity(pivots: Any, dtype: Any) -> Any:
    """Returns the sign of the permutation that results from a sequence of row exchanges."""
    rows = lax.broadcasted_iota(np.int32, pivots.shape, pivots.ndim - 1)
    odd = (pivots != rows).astype(np.int32).sum(axis=-1) % 2
    return (1 - 2 * odd).astype(dtype)


# ---- logarithms ----


@custom_jvp
def _slogdet_lu(a: Any) -> tuple[Any, Any]:
    packed, pivots, _ = lax_linalg.lu(a)
    diagonal = _diagonal(packed)
    sign = _parity(pivots, a.dtype) * _unit(diagonal).prod(axis=-1)
    sign = selection.where((diagonal == 0).any(axis=-1), 0, sign)
    return sign, lax.log(lax.abs(diagonal)).sum(axis=-1)


@custom_jvp
def _slogdet_qr(a: Any) -> tuple[Any, Any]:
    packed, taus = lax_linalg.geqrf(a)
    diagonal = _diagonal(packed)
    # A real Householder reflection has determinant -1; with a zero factor ``tau`` it is the
    # identity. A complex reflection has determinant 1 - tau * |v|**2.
    vectors = matrices.tril(packed, -1)
    lengths = 1 + (lax.abs(vectors) ** 2).sum(axis=-2)[..., : taus.shape[-1]]
    reflections = (1 - taus * lengths.astype(taus.dtype)).prod(axis=-1)
    sign = _unit(diagonal).prod(axis=-1) * _unit(reflections)
    return sign, lax.log(lax.abs(diagonal)).sum(axis=-1)


def _slogdet_jvp(function: Any, primals: Any, tangents: Any) -> Any:
    (a,), (da,) = primals, tangents
    sign, logarithm = function(a)
    change = _diagonal(solve(a, da)).sum(axis=-1)
    if not dtypes.issubdtype(a.dtype, np.complexfloating):
        return (sign, logarithm), (lax.full_like(sign, 0), change)
    turn = lax.complex(lax.full_like(logarithm, 0), lax.imag(change))
    return (sign, logarithm), (turn * sign, lax.real(change))


for _function in (_slogdet_lu, _slogdet_qr):
    _function.defjvp(
        lambda primals, tangents, _function=_function: _slogdet_jvp(_function, primals, tangents)
    )

_METHODS = {"lu": _slogdet_lu, None: _slogdet_lu, "qr": _slogdet_qr}


def _slogdet_of(a: Any, method: str | None) -> Any:
    (a,) = floating("slogdet", a)
    if a.ndim < 2 or a.shape[-2] != a.shape[-1]:
        raise ValueError(f"Argument to slogdet() must have shape [..., n, n], got {a.shape}")
    if not a.shape[-1]:
        real = real_dtype(a.dtype)
        return lax.full(a.shape[:-2], 1, a.dtype), lax.full(a.shape[:-2], 0, real)
    return _METHODS[method](a)


_slogdet = compiled(_slogdet_of, ("method",), name="slogdet")


def slogdet(a: ArrayLike, *, method: str | None = None) -> SlogdetResult:
    """Returns the signs of determinants, and the logarithms of their magnitudes.

    Args:
      a: square matrices, [..., N, N].
      method: the factorization: ``"lu"``, which is the default, or ``"qr"``.

    Returns:
      The pair of the signs and the logarithms, each of shape ``a.shape[:-2]``. The sign of a
      complex determinant is the determinant divided by its magnitude.

    Raises:
      ValueError: if ``method`` is unknown.

    Example:
      >>> from olympus_numpy import array
      >>> slogdet(array([[0.0, 1], [1, 0]]))
      SlogdetResult(sign=Array(-1., dtype=float32), logabsdet=Array(0., dtype=float32))
    """
    check_arraylike("jnp.linalg.slogdet", a)
    if not is_among(method, _METHODS):
        raise ValueError(
            f"Unknown slogdet method '{method}'. Supported methods are 'lu' (`None`), and 'qr'."
        )
    return SlogdetResult(*_slogdet(a, method))


# ---- determinants ----


@custom_jvp
def _det(a: Any) -> Any:
    sign, logarithm = _slogdet(a, None)
    return sign * lax.exp(logarithm).astype(sign.dtype)


@_det.defjvp
def _det_jvp(primals: Any, tangents: Any) -> Any:
    """JVP rule of `det`: the tangent is the sum of cofactors times ``da``, also for singular ``a``.

    Elimination without exchanges of columns may leave several zeros on the diagonal although the
    cofactors are not zero. Such matrices are multiplied by a reflection, whose determinant is -1,
    and eliminated again. No tangent is an operand of the condition: under `vmap`, a condition
    applies `stop_gradient` to its operands, which has no transpose.
    """
    (a,), (da,) = primals, tangents
    value, cofactors, is_lost = _cofactors_by_elimination(a, 0.0)

    def eliminated_again(a: Any, cofactors: Any) -> Any:
        size = a.shape[-1]
        normal = lax.rsqrt(lax.add(lax.iota(np.float32, size), np.float32(2))).astype(a.dtype)
        normal = normal / lax.sqrt((normal * normal).sum())

        def reflected(x: Any) -> Any:
            return x - 2 * (x * normal).sum(-1, keepdims=True) * normal

        negligible = size * float(dtypes.finfo(a.dtype).eps)
        again = _cofactors_by_elimination(reflected(a), negligible)[1]
        return selection.where(is_lost[..., None, None], -reflected(again), cofactors)

    cofactors = lax.cond(
        is_lost.any(), eliminated_again, lambda a, cofactors: cofactors, a, cofactors
    )
    return value, (cofactors * da).sum((-2, -1))


def _cofactors_by_elimination(a: Any, negligible: float) -> tuple[Any, Any, Any]:
    """Returns determinants, matrices of cofactors, and a mask of matrices with several zero pivots.

    With ``p @ a = l @ u`` the cofactors are ``p.T @ inv(l).T @ adjugate(u).T`` up to sign. Let
    ``t`` be the smallest pivot, ``k`` its position, ``v`` the matrix ``u`` with one in its place,
    and ``w`` the inverse of ``v``. By the formula of Sherman and Morrison (1950),
    ``adjugate(u) = det(v) * (t * w - (t - 1) * outer(w[:, k], w[k]))``, which has no division by
    ``t``.

    Args:
      a: the matrices.
      negligible: the size of pivots, relative to the largest, up to which they count as zero.
    """
    packed, pivots, permutation = lax_linalg.lu(a)
    diagonal = _diagonal(packed)
    lengths = lax.abs(diagonal)
    is_zero = lengths <= negligible * lengths.max(-1, keepdims=True)
    diagonal = selection.where(is_zero, 0, diagonal)
    size = a.shape[-1]
    smallest = lax.argmin(lengths, diagonal.ndim - 1, np.int32)
    is_smallest = smallest[..., None] == lax.iota(np.int32, size)
    t = selection.where(is_smallest, diagonal, 0).sum(axis=-1)
    product = selection.where(is_smallest, 1, diagonal).prod(axis=-1)
    product = product * _parity(pivots, a.dtype)
    replaced = selection.where(is_smallest | is_zero, 1, diagonal)
    identity = matrices.eye(size, dtype=bool)
    v = selection.where(identity, replaced[..., None, :], packed)
    identity = lax.broadcast_in_dim(identity.astype(a.dtype), a.shape, (a.ndim - 2, a.ndim - 1))
    w = lax_linalg.triangular_solve(v, identity, left_side=True, lower=False)
    unit = is_smallest.astype(a.dtype)
    column, row = (w * unit[..., None, :]).sum(-1), (w * unit[..., None]).sum(-2)
    outer = column[..., None] * row[..., None, :]
    t, product = t[..., None, None], product[..., None, None]
    adjugate = product * (t * w - (t - 1) * outer)
    adjugate = lax_linalg.triangular_solve(packed, adjugate, lower=True, unit_diagonal=True)
    cofactors = permute_rows(shaping.matrix_transpose(adjugate), argsort(permutation))
    return (product * t)[..., 0, 0], cofactors, is_zero.sum(-1) > 1


def _det_of(a: Any) -> Any:
    (a,) = floating("det", a)
    if a.ndim < 2 or a.shape[-2] != a.shape[-1]:
        raise ValueError(f"Argument to det() must have shape [..., n, n], got {a.shape}")
    size = a.shape[-1]
    if size == 2:
        return a[..., 0, 0] * a[..., 1, 1] - a[..., 0, 1] * a[..., 1, 0]
    if size == 3:
        return (
            a[..., 0, 0] * a[..., 1, 1] * a[..., 2, 2]
            + a[..., 0, 1] * a[..., 1, 2] * a[..., 2, 0]
            + a[..., 0, 2] * a[..., 1, 0] * a[..., 2, 1]
            - a[..., 0, 2] * a[..., 1, 1] * a[..., 2, 0]
            - a[..., 0, 0] * a[..., 1, 2] * a[..., 2, 1]
            - a[..., 0, 1] * a[..., 1, 0] * a[..., 2, 2]
        )
    return _det(a) if size else lax.full(a.shape[:-2], 1, a.dtype)


_compiled_det = compiled(_det_of, name="det")


def det(a: ArrayLike) -> Array:
    """Returns the determinants of matrices.

    Args:
      a: square matrices.

    Returns:
      An array of shape ``a.shape[:-2]`` and of a floating or complex dtype.

    Example:
      >>> from olympus_numpy import array
      >>> det(array([[1.0, 2], [3, 4]]))
      Array(-2., dtype=float32)
    """
    check_arraylike("jnp.linalg.det", a)
    return _compiled_det(a)
