# SPDX-License-Identifier: Apache-2.0
"""Functions of matrices: the exponential, the square root, arbitrary functions."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy as np

import olympus_numpy as jnp
from olympus_autodiff import custom_jvp, jvp
from olympus_autodiff.custom.linear_call import linear_call
from olympus_ir import lax
from olympus_ir.lax import linalg as lax_linalg
from olympus_ir.lax.core.declarations import real_dtype
from olympus_ir.lax.linalg.matrices import adjoint
from olympus_ir.types import dtypes
from olympus_ir.types.annotations import ArrayLike
from olympus_ir.types.arrays import Array
from olympus_numpy.core.compilation import compiled

from .decompositions import floating
from .eigenvalues import schur

__all__ = ["expm", "expm_frechet", "funm", "logm", "sqrtm"]

_matmul = functools.partial(jnp.matmul, precision=lax.Precision.HIGHEST)

# ---- the exponential ----

# Maps the size of a real number, in bytes, to pairs of a degree and a norm. Up to this norm, the
# rational approximation of this degree is exact except for rounding errors. Source: N. Higham, "The
# scaling and squaring method for the matrix exponential revisited" (2005).
_DEGREES = {
    8: (
        (3, 1.495585217958292e-2),
        (5, 2.539398330063230e-1),
        (7, 9.504178996162932e-1),
        (9, 2.097847961257068e0),
        (13, 5.371920351148152e0),
    ),
    4: ((3, 4.258730016922831e-1), (5, 1.880152677804762e0), (7, 3.925724783138660e0)),
}


def _coefficients(degree: int) -> list[float]:
    """Returns the numerator of the diagonal Padé approximant, constant coefficient first."""
    coefficients = [1.0]
    for k in range(degree):
        coefficients.append(coefficients[-1] * (degree - k) / ((2 * degree - k) * (k + 1)))
    return coefficients


def _approximation(degree: int, a: Any) -> tuple[Any, Any]:
    """Returns the odd and the even part of the numerator of a Padé approximant of ``exp(a)``.

    The denominator is the even part minus the odd part.
    """
    coefficients = [np.array(coefficient, a.dtype) for coefficient in _coefficients(degree)]
    identity = jnp.eye(a.shape[-1], dtype=a.dtype)
    square = _matmul(a, a)
    powers = [identity, square]
    while len(powers) < min(degree, 7) // 2 + 1:
        powers.append(_matmul(powers[-1], square))
    if degree == 9:
        powers.append(_matmul(powers[-1], square))

    def polynomial(chosen: list[Any]) -> Any:
        low = sum(c * p for c, p in zip(chosen[:4], powers, strict=False))
        if len(chosen) <= 4:
            return low
        if degree == 9:
            return low + chosen[4] * powers[4]
        # For degree 13, the higher terms have the common factor ``a**6``.
        high = sum(c * p for c, p in zip(chosen[4:], powers[1:], strict=False))
        return low + _matmul(powers[3], high)

    return _matmul(a, polynomial(coefficients[1::2])), polynomial(coefficients[::2])


def _expm_of_matrix(a: Any, upper_triangular: bool, max_squarings: int) -> Any:
    if not a.size:
        return a
    degrees = _DEGREES[np.dtype(real_dtype(a.dtype)).itemsize]
    norm = jnp.abs(a).sum(axis=-2).max(axis=-1)
    largest = degrees[-1][1]
    squarings = jnp.maximum(0, jnp.floor(jnp.log2(norm / largest)) + 1)
    squarings = jnp.where(norm > largest, squarings, 0)
    scaled = a / (2**squarings).astype(a.dtype)
    limits = np.array([limit for _, limit in degrees[:-1]], norm.dtype)
    chosen = (norm > limits).astype(np.int32).sum()
    branches = [functools.partial(_approximation, degree) for degree, _ in degrees]
    odd, even = lax.switch(chosen, branches, scaled)
    if upper_triangular:
        result = lax_linalg.triangular_solve(even - odd, even + odd, left_side=True)
    else:
        result = jnp.linalg.solve(even - odd, even + odd)

    def square(k: Any, x: Any) -> Any:
        return lax.cond(k < squarings, lambda x: _matmul(x, x), lambda x: x, x)

    result = lax.fori_loop(0, max_squarings, square, result)
    return jnp.where(squarings <= max_squarings, result, jnp.nan)


@functools.cache
def _compiled_expm(upper_triangular: bool, max_squarings: int) -> Any:
    function = functools.partial(
        _expm_of_matrix, upper_triangular=upper_triangular, max_squarings=max_squarings
    )
    return compiled(jnp.vectorize(function, signature="(n,n)->(n,n)"), name="expm")


def expm(A: ArrayLike, *, upper_triangular: bool = False, max_squarings: int = 16) -> Array:
    """Computes matrix exponentials by scaling and squaring.

    The method is from Higham: The scaling and squaring method for the matrix exponential revisited.
    SIAM J. Matrix Anal. Appl. 26 (2005).

    Args:
      A: square matrices, of shape (..., n, n).
      upper_triangular: whether the matrices are upper triangular, which is faster.
      max_squarings: the greatest number of squarings; the result is NaN for matrices that need
        more.

    Returns:
      An array of the shape and the inexact dtype of ``A``.

    Raises:
      ValueError: ``A`` is not square.
      TypeError: the dtype is not supported.

    Example:
      >>> expm(np.array([[0.0, 1], [0, 0]]))
      Array([[1., 1.],
             [0., 1.]], dtype=float32)
    """
    (a,) = floating("expm", A)
    if a.ndim < 2 or a.shape[-1] != a.shape[-2]:
        raise ValueError(f"Expected A to be a (batched) square matrix, got A.shape={a.shape}.")
    if a.dtype.char not in "fdFD":
        raise TypeError(f"A.dtype={a.dtype} is not supported: convert A to float32 or float64")
    return _compiled_expm(bool(upper_triangular), int(max_squarings))(a)


def expm_frechet(
    A: ArrayLike, E: ArrayLike, *, method: str | None = None, compute_expm: bool = True
) -> Any:
    """Computes matrix exponentials and their directional (Fréchet) derivatives.

    Args:
      A: square matrices, of shape (..., n, n).
      E: the directions, of the shape of ``A``.
      method: ``"SPS"`` (the default) differentiates the algorithm of `expm`; ``"blockEnlarge"``
        takes the exponential of a block matrix of twice the size.
      compute_expm: whether to also return the exponentials.

    Returns:
      The pair of exponentials and derivatives, or the derivatives alone, each of the shape of
      ``A``.

    Raises:
      ValueError: the operands are not square, their shapes differ, or the method is unknown.

    Example:
      >>> expm_frechet(np.zeros((1, 1)), np.ones((1, 1)))[1]
      Array([[1.]], dtype=float32)
    """
    a, e = floating("expm_frechet", A, E)
    for name, x in (("A", a), ("E", e)):
        if x.ndim < 2 or x.shape[-1] != x.shape[-2]:
            raise ValueError(
                f"expected {name} to be a (batched) square matrix, got {name}.shape={x.shape}"
            )
    if a.shape != e.shape:
        raise ValueError(
            f"expected A and E to be the same shape, got A.shape={a.shape} and E.shape={e.shape}"
        )
    if method in (None, "SPS"):
        result, derivative = jvp(expm, (a,), (e,))
    elif method == "blockEnlarge":
        size = a.shape[-1]
        above = jnp.concatenate([a, e], axis=-1)
        below = jnp.concatenate([jnp.zeros_like(a), a], axis=-1)
        enlarged = expm(jnp.concatenate([above, below], axis=-2))
        result, derivative = enlarged[..., :size, :size], enlarged[..., :size, size:]
    else:
        raise ValueError(f"Unknown method {method!r}: choose 'SPS' or 'blockEnlarge'")
    return (result, derivative) if compute_expm else derivative


# ---- functions by the Schur form ----


def _analytic(fun: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """Defines the derivatives, of any order, of a function of a matrix; returns the function.

    The derivative in the direction e is a block of the function of [[a, e], [0, a]] (Higham,
    Functions of Matrices, theorem 3.6), and the transpose of the derivative is the derivative at
    the transposed matrix.

    Args:
      fun: a function that maps a matrix, real or complex, to the complex value of an analytic
        function.
    """
    function = custom_jvp(fun)

    def in_direction(a: Any, direction: Any) -> Any:
        size = a.shape[0]
        zero = jnp.zeros_like(a)
        return function(jnp.block([[a, direction], [zero, a]]))[:size, size:]

    @function.defjvp
    def _(primals: Any, tangents: Any) -> tuple[Any, Any]:
        (a,), (direction,) = primals, tangents
        out = function(a)
        pushed = linear_call(
            in_direction,
            lambda a, cotangent: in_direction(a.T, cotangent),
            a.astype(out.dtype),
            direction.astype(out.dtype),
            smooth=True,
        )
        return out, pushed

    return function


def _sqrtm_of(a: Any) -> Any:
    t, z = schur(a, output="complex")
    return _matmul(_matmul(z, _triangular_root(t)), adjoint(z))


def _triangular_root(t: Any) -> Any:
    """Returns the principal square root of an upper triangular matrix."""
    size = t.shape[0]
    roots = jnp.sqrt(jnp.diagonal(t))

    def column(j: Any, u: Any) -> Any:
        def entry(step: Any, u: Any) -> Any:
            i = j - 1 - step
            rest = t[i, j] - jnp.sum(u[i] * u[:, j])
            total = roots[i] + roots[j]
            # Beside two zeros on the diagonal, a nonzero element has no root.
            singular = jnp.where(rest == 0, 0, np.nan)
            value = jnp.where(total == 0, singular, rest / jnp.where(total == 0, 1, total))
            return u.at[i, j].set(jnp.where(i >= 0, value, u[i, j]))

        return lax.fori_loop(0, j, entry, u)

    return lax.fori_loop(0, size, column, jnp.diag(roots))


_sqrtm = compiled(_analytic(_sqrtm_of), name="sqrtm")


def sqrtm(A: ArrayLike, blocksize: int = 1) -> Array:
    """Computes the principal square root of a matrix.

    The method is from Björck, Hammarling: A Schur method for the square root of a matrix. Linear
    Algebra Appl. 52/53 (1983).

    Args:
      A: a matrix of shape (n, n).
      blocksize: must be 1.

    Returns:
      A complex array of shape (n, n).

    Raises:
      ValueError: ``A`` is not a single square matrix.
      NotImplementedError: ``blocksize`` is not 1.

    Example:
      >>> sqrtm(np.array([[4.0, 0], [0, 9]])).real
      Array([[2., 0.],
             [0., 3.]], dtype=float32)
    """
    if blocksize > 1:
        raise NotImplementedError("Blocked version is not implemented yet.")
    (a,) = floating("sqrtm", A)
    if a.ndim != 2 or a.shape[0] != a.shape[1]:
        raise ValueError(f"expected a square matrix, got an array of shape {a.shape}")
    return _sqrtm(a)


_MOST_ROOTS = 64


def _logm_of(a: Any) -> Any:
    t, z = schur(a, output="complex")
    identity = jnp.eye(t.shape[0], dtype=t.dtype)

    def is_far(state: Any) -> Any:
        count, root = state
        return (jnp.max(jnp.sum(jnp.abs(root - identity), axis=0)) > 0.25) & (count < _MOST_ROOTS)

    def halved(state: Any) -> Any:
        count, root = state
        return count + 1, _triangular_root(root)

    count, root = lax.while_loop(is_far, halved, (np.int32(0), t))
    # log(1 + x) is the integral of x / (1 + s x) over s from 0 to 1.
    nodes, weights = np.polynomial.legendre.leggauss(10)
    step = root - identity
    total = jnp.zeros_like(step)
    for place, weight in zip((nodes + 1) / 2, weights / 2, strict=True):
        solved = jnp.linalg.solve(identity + place.astype(t.real.dtype) * step, step)
        total = total + weight.astype(t.real.dtype) * solved
    scale = jnp.exp2(count.astype(t.real.dtype))
    return _matmul(_matmul(z, total * scale), adjoint(z))


_logm = compiled(_analytic(_logm_of), name="logm")


def logm(A: ArrayLike) -> Array:
    """Computes the principal logarithm of a matrix.

    The method is from Al-Mohy, Higham: Improved inverse scaling and squaring algorithms for the
    matrix logarithm. SIAM J. Sci. Comput. 34 (2012). Here it uses a Gauss rule of fixed degree.

    Args:
      A: a matrix of shape (n, n) without eigenvalues that are zero or negative.

    Returns:
      A complex array of shape (n, n).

    Raises:
      ValueError: ``A`` is not a single square matrix.

    Example:
      >>> logm(np.array([[np.e, 0], [0, 1]], np.float32)).real.round(4)
      Array([[1., 0.],
             [0., 0.]], dtype=float32)
    """
    (a,) = floating("logm", A)
    if a.ndim != 2 or a.shape[0] != a.shape[1]:
        raise ValueError(f"expected a square matrix, got an array of shape {a.shape}")
    return _logm(a)


def _funm_of(a: Any, func: Callable[[Any], Any]) -> tuple[Any, Any]:
    t, z = schur(a, output="complex")
    size = t.shape[0]
    diagonal = jnp.diagonal(t)
    start = jnp.diag(func(diagonal).astype(t.dtype))
    distances = jnp.abs(diagonal[:, None] - diagonal[None, :])
    smallest = jnp.min(distances[np.triu_indices(size, 1)], initial=1)
    positions = jnp.arange(size)

    def superdiagonal(offset: Any, f: Any) -> Any:
        """Computes the next superdiagonal from the diagonals below it, by Parlett's recurrence."""

        def entry(i: Any, f: Any) -> Any:
            j = i + offset
            between = (positions > i) & (positions < j)
            products = jnp.where(between, t[i] * f[:, j] - f[i] * t[:, j], 0).sum()
            value = t[i, j] * (f[j, j] - f[i, i]) + products
            difference = t[j, j] - t[i, i]
            value = jnp.where(
                difference == 0, value, value / jnp.where(difference == 0, 1, difference)
            )
            return f.at[i, j].set(value)

        return lax.fori_loop(0, size - offset, entry, f)

    f = lax.fori_loop(1, size, superdiagonal, start)
    result = _matmul(_matmul(z, f), adjoint(z))
    tolerance = float(dtypes.finfo(t.dtype).eps)
    smallest = jnp.where(smallest == 0, tolerance, smallest)
    above = jnp.abs(jnp.triu(t, 1)).sum(axis=0).max(initial=0)
    error = jnp.minimum(1, jnp.maximum(tolerance, tolerance / smallest * above))
    return result, jnp.where(jnp.isfinite(result).all(), error, jnp.inf).astype(above.dtype)


_funm = compiled(_funm_of, ("func",), name="_funm")


def funm(A: ArrayLike, func: Callable[[Array], Array], disp: bool = True) -> Any:
    """Evaluates a function of a matrix, given as a function of numbers.

    Args:
      A: a matrix of shape (n, n).
      func: the function of numbers, applied elementwise to an array of complex numbers.
      disp: whether to return the matrix alone, without an error estimate.

    Returns:
      A complex array of shape (n, n). Without ``disp``, a pair of this array and an estimate of its
      error.

    Raises:
      ValueError: ``A`` is not a single square matrix.

    Example:
      >>> funm(np.array([[4.0, 0], [0, 9]]), jnp.sqrt).real
      Array([[2., 0.],
             [0., 3.]], dtype=float32)
    """
    (a,) = floating("funm", A)
    if a.ndim != 2 or a.shape[0] != a.shape[1]:
        raise ValueError(f"expected square array_like input, got an array of shape {a.shape}")
    result, error = _funm(a, func)
    return result if disp else (result, error)
