# SPDX-License-Identifier: Apache-2.0
"""Roots of polynomials, polynomials from roots, and least-squares fits, by linear algebra."""

from __future__ import annotations

from typing import Any

import numpy as np

from olympus_ir import lax
from olympus_ir.programs.tracing import concrete_or_error
from olympus_ir.types import dtypes
from olympus_ir.types.annotations import ArrayLike
from olympus_ir.types.arrays import Array

from .. import linalg
from ..arrays import selection
from ..arrays.shaping import atleast_1d
from ..core.compilation import compiled
from ..core.promotion import check_arraylike, ensure_array, promote_dtypes_inexact
from ..elementwise.powers import sqrt
from ..linalg import eigvals
from ..products import matrices
from ..products.convolutions import convolve

__all__ = ["poly", "polyfit", "roots"]


def _roots_without_zeros(p: Any) -> Any:
    """Returns the eigenvalues of the companion matrix; the leading coefficient must not be zero."""
    if p.size < 2:
        return lax.full((0,), 0, dtypes.to_complex_dtype(p.dtype))
    companion = matrices.eye(p.size - 1, k=-1, dtype=p.dtype)
    return linalg.eigvals(companion.at[0].set(-p[1:] / p[0]))


def _roots_with_zeros(p: Any) -> Any:
    """Returns the roots of a polynomial, followed by a NaN for each leading zero coefficient."""
    zero = p == 0
    count = selection.where(zero.all(), p.size, lax.argmin(zero.astype(np.int32), 0, np.int32))
    # The zero polynomial has no roots.
    shifted = lax.dynamic_slice(lax.concatenate([p, p], 0), (count % p.size,), (p.size,))
    found = _roots_without_zeros(selection.where(zero.all(), 1, shifted))
    # The leading zeros are now the last coefficients, and add roots that are zero. The roots that
    # are zero are moved to the end, and for each leading zero one of them becomes NaN.
    _, found = lax.sort((found == 0, found), num_keys=1)
    positions = lax.iota(np.int32, found.size)
    return selection.where(positions < found.size - count, found, np.array(complex(np.nan, np.nan)))


_without_zeros = compiled(_roots_without_zeros, name="_roots_no_zeros")
_with_zeros = compiled(_roots_with_zeros, name="_roots_with_zeros")


def roots(p: ArrayLike, *, strip_zeros: bool = True) -> Array:
    """Returns the complex roots of a polynomial, in no particular order.

    Args:
      p: the polynomial's coefficients, from the highest power down.
      strip_zeros: whether leading zeros are removed. The number of roots then depends on values, so
        this must be False under `jit`. If it is False, each leading zero adds a NaN to the roots.

    Returns:
      A complex array of one dimension, with ``len(p) - 1`` roots, or fewer if leading coefficients
      are zero.

    Raises:
      ValueError: if ``p`` does not have one dimension.

    Example:
      >>> from olympus_numpy import array, sort
      >>> sort(roots(array([1.0, -3, 2])).real).round(3)
      Array([1., 2.], dtype=float32)
    """
    check_arraylike("roots", p)
    (p,) = promote_dtypes_inexact(ensure_array(p))
    p = p.reshape(1) if p.ndim == 0 else p
    if p.ndim != 1:
        raise ValueError(f"Input must be a rank-1 array, got one of shape {p.shape}.")
    if p.size < 2:
        return lax.full((0,), 0, dtypes.to_complex_dtype(p.dtype))
    if not strip_zeros:
        return _with_zeros(p)
    known = concrete_or_error(
        np.asarray,
        p,
        "The error occurred in the jnp.roots() function: the number of roots depends on how many "
        "leading coefficients are zero. To use it within jit, pass strip_zeros=False; leading "
        "zeros then give roots that are NaN.",
    )
    nonzero = np.flatnonzero(known)
    first = int(nonzero[0]) if nonzero.size else p.size
    return _without_zeros(p[first:])


def _polyfit_of(x: Any, y: Any, deg: int, rcond: Any, full: bool, w: Any, cov: Any) -> Any:
    x, y = ensure_array(x), ensure_array(y)
    if rcond is None:
        rcond = x.size * float(dtypes.finfo(dtypes.to_inexact_dtype(x.dtype)).eps)
    x, y = promote_dtypes_inexact(x, y)
    order = deg + 1
    lhs, rhs = matrices.vander(x, order), y
    if w is not None:
        (weights,) = promote_dtypes_inexact(ensure_array(w))
        lhs = lhs * weights[:, None]
        rhs = rhs * (weights[:, None] if rhs.ndim == 2 else weights)
    scale = sqrt((lhs * lhs).sum(axis=0))
    lhs = lhs / scale[None, :]
    c, residuals, rank, s = linalg.lstsq(lhs, rhs, rcond)
    c = (c.T / lax.broadcast_to_rank(scale, c.ndim)).T
    if full:
        return c, residuals, rank, s, ensure_array(rcond)
    if not cov:
        return c
    base = linalg.inv(lhs.T @ lhs) / (scale[:, None] * scale[None, :])
    if y.ndim > 1:
        base = base[:, :, None]
    if cov == "unscaled":
        return c, base
    return c, base * lax.broadcast_to_rank(residuals / (x.size - order), base.ndim)


_polyfit = compiled(_polyfit_of, ("deg", "full", "cov"), name="polyfit")


def polyfit(
    x: ArrayLike,
    y: ArrayLike,
    deg: int,
    rcond: float | None = None,
    full: bool = False,
    w: ArrayLike | None = None,
    cov: bool | str = False,
) -> Any:
    """Fits a polynomial to data by least squares.

    Args:
      x: the positions of the data, a vector.
      y: the data, a vector, or a matrix with a column for each polynomial.
      deg: the degree.
      rcond: as in `linalg.lstsq`.
      full: whether to also return the other results of `linalg.lstsq`.
      w: a weight for each datum.
      cov: whether to also return the covariance matrix; ``"unscaled"`` if the weights are the
        reciprocals of known errors.

    Returns:
      The coefficients, highest power first. With ``full`` also the sums of squared residuals, the
      rank, the singular values and ``rcond``; with ``cov`` the covariance matrix.

    Raises:
      ValueError: if ``deg`` is negative, or a covariance matrix is scaled by fewer data than
        coefficients and one.
      TypeError: if ``x``, ``y`` or ``w`` is of a wrong number of dimensions, or of unequal length.

    Example:
      >>> from olympus_numpy import array
      >>> polyfit(array([0.0, 1, 2]), array([1.0, 3, 5]), 1).round(3)
      Array([2., 1.], dtype=float32)
    """
    check_arraylike("polyfit", x, y)
    if w is not None:
        check_arraylike("polyfit", w)
    deg = int(deg)
    x_shape, y_shape = np.shape(x), np.shape(y)
    if deg < 0:
        raise ValueError("expected deg >= 0")
    if len(x_shape) != 1:
        raise TypeError("expected 1D vector for x")
    if not x_shape[0]:
        raise TypeError("expected non-empty vector for x")
    if not 1 <= len(y_shape) <= 2:
        raise TypeError("expected 1D or 2D array for y")
    if x_shape[0] != y_shape[0]:
        raise TypeError("expected x and y to have same length")
    if w is not None:
        if len(np.shape(w)) != 1:
            raise TypeError("expected a 1-d array for weights")
        if np.shape(w)[0] != y_shape[0]:
            raise TypeError("expected w and y to have the same length")
    scaled = cov and not full and not (isinstance(cov, str) and cov == "unscaled")
    if scaled and x_shape[0] <= deg + 1:
        raise ValueError(
            "the number of data points must exceed order to scale the covariance matrix, got "
            f"{x_shape[0]} points and {deg + 1} coefficients; cov='unscaled' needs no more"
        )
    return _polyfit(x, y, deg, rcond, bool(full), w, cov)


def poly(seq_of_zeros: ArrayLike) -> Array:
    """Returns the coefficients of the polynomial with given roots, highest power first.

    Args:
      seq_of_zeros: the roots, or a square matrix, whose characteristic polynomial is returned.

    Returns:
      An array of one more element than there are roots, of a floating or complex dtype.

    Example:
      >>> from olympus_numpy import array
      >>> poly(array([1.0, 2.0]))
      Array([ 1., -3.,  2.], dtype=float32)
    """
    check_arraylike("poly", seq_of_zeros)
    return _poly(ensure_array(seq_of_zeros))


def _product_of_factors(roots: Any) -> Any:
    (roots,) = promote_dtypes_inexact(roots)
    roots = atleast_1d(roots)
    shape = roots.shape
    if len(shape) == 2 and shape[0] == shape[1] and shape[0] != 0:
        roots = eigvals(roots)
    elif len(shape) != 1:
        raise ValueError(
            f"input must be 1d or non-empty square 2d array, got an array of shape {shape}."
        )
    dtype = roots.dtype
    if not roots.shape[0]:
        return lax.full((), np.ones((), dtype))
    product = lax.full((1,), np.ones((), dtype))
    for position in range(roots.shape[0]):
        negative = lax.neg(roots[position])
        one = lax.full((1,), np.ones((), dtype))
        factor = lax.concatenate([one, lax.expand_dims(negative, (0,))], 0)
        product = convolve(product, factor, mode="full")
    return product


_poly = compiled(_product_of_factors, name="poly")
