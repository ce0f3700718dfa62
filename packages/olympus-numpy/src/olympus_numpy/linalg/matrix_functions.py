# SPDX-License-Identifier: Apache-2.0
"""Functions of Hermitian matrices, with derivatives of any order at any eigenvalues.

The derivatives of V g(w) V^H are sums of products with divided differences of g (Daleckii and Krein
1965; Higham, Functions of Matrices, theorem 3.11). Derivatives of eigenvalues and eigenvectors,
which do not exist where eigenvalues are equal, are not used.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

import olympus_autodiff
from olympus_autodiff import SymbolicZero
from olympus_autodiff.custom.linear_call import linear_call
from olympus_ir import lax
from olympus_ir.types import dtypes
from olympus_ir.types.arrays import Array

from ..arrays import joining, selection
from ..products import einsum as products
from .factoring import eigh, floating

__all__ = ["matrix_function"]

_LETTERS = "ijklmnop"


def matrix_function(g: Callable[[Any], Any], a: Any) -> Array:
    """Returns the function V g(w) V^H of Hermitian matrices a = V w V^H.

    It has derivatives of any order in forward and in reverse mode, also where eigenvalues are equal
    or nearly so. The n-th derivative takes arrays of N^(n+1) numbers for a matrix of N rows.

    Args:
      g: an elementwise function of the eigenvalues, smooth at the eigenvalues. It may be called at
        numbers between eigenvalues. It must not close over values by which the result is
        differentiated.
      a: Hermitian matrices, of shape (..., N, N). The Hermitian part is taken.

    Returns:
      Matrices of the shape of ``a``.

    Raises:
      ValueError: ``a`` does not hold square matrices.

    Example:
      >>> import olympus_numpy as jnp
      >>> from olympus_autodiff import grad
      >>> grad(lambda a: matrix_function(jnp.exp, a)[0, 1])(jnp.zeros((2, 2)))
      Array([[0. , 0.5],
             [0.5, 0. ]], dtype=float32)
    """
    (a,) = floating("matrix_function", a)
    if a.ndim < 2 or a.shape[-1] != a.shape[-2]:
        raise ValueError(
            f"linalg.matrix_function requires square matrices, got `a` of shape {a.shape}"
        )
    return _derivative_of(g, 0)((a + _adjoint(a)) / 2)


def _derivative_of(g: Callable[[Any], Any], order: int) -> Callable[..., Any]:
    """Returns the derivative of a matrix function as a function of a matrix and of directions."""

    @olympus_autodiff.custom_jvp
    def derivative(a: Any, *directions: Any) -> Any:
        return _in_eigenbasis(g, a, directions)

    def rule(primals: Sequence[Any], tangents: Sequence[Any]) -> tuple[Any, Any]:
        a, *directions = primals
        da, *changes = tangents
        total: Any = None
        if not isinstance(da, SymbolicZero):
            total = _in_direction(g, a, directions, da)
        for place, change in enumerate(changes):
            if not isinstance(change, SymbolicZero):
                others = [*directions[:place], *directions[place + 1 :]]
                term = _in_direction(g, a, others, change)
                total = term if total is None else total + term
        out = derivative(*primals)
        return out, lax.full_like(out, 0) if total is None else total

    derivative.defjvp(rule, symbolic_zeros=True)
    return derivative


def _in_direction(g: Callable[[Any], Any], a: Any, others: Sequence[Any], direction: Any) -> Any:
    """Returns a derivative as a linear function of one direction.

    The trace of the derivative times another matrix is symmetric in that matrix and all directions.
    This symmetry gives the transpose.
    """
    derivative = _derivative_of(g, len(others) + 1)
    return linear_call(
        lambda fixed, direction: derivative(*fixed, direction),
        lambda fixed, cotangent: derivative(*fixed, cotangent.swapaxes(-1, -2)).swapaxes(-1, -2),
        (a, *others),
        direction,
        smooth=True,
    )


def _adjoint(x: Any) -> Any:
    return lax.conj(x).swapaxes(-1, -2) if _is_complex(x) else x.swapaxes(-1, -2)


def _is_complex(x: Any) -> bool:
    return dtypes.issubdtype(x.dtype, np.complexfloating)


def _in_eigenbasis(g: Callable[[Any], Any], a: Any, directions: Sequence[Any]) -> Any:
    """Returns the derivative along all directions, or the function's value if there are none."""
    values, vectors = eigh(a)
    back = _adjoint(vectors)
    if not directions:
        return (vectors * g(values)[..., None, :].astype(vectors.dtype)) @ back
    turned = [back @ each @ vectors for each in directions]
    order = len(turned)
    letters = _LETTERS[: order + 1]
    nodes = [
        values.reshape(*values.shape[:-1], *(-1 if m == n else 1 for m in range(order + 1)))
        for n in range(order + 1)
    ]
    factor = _divided(g, nodes).astype(vectors.dtype)
    steps = ",".join(f"...{first}{last}" for first, last in itertools.pairwise(letters))
    form = f"...{letters},{steps}->...{letters[0]}{letters[-1]}"
    total: Any = 0
    for sequence in itertools.permutations(turned):
        total = total + products.einsum(form, factor, *sequence, precision=lax.Precision.HIGHEST)
    return vectors @ total @ back


def _divided(g: Callable[[Any], Any], nodes: Sequence[Any]) -> Any:
    """Returns divided differences of g at broadcast nodes, some of which may be equal.

    For nodes that are far apart, a divided difference is the difference of two divided differences
    of lower order, divided by the distance of the outermost nodes. For close nodes, it is the mean
    of a derivative over the simplex that the nodes span (Hermite and Genocchi), by a Gauss rule.
    """
    order = len(nodes) - 1
    if order == 0:
        return g(nodes[0])
    shape = np.broadcast_shapes(*(node.shape for node in nodes))
    nodes = [lax.broadcast_in_dim(node, shape, tuple(range(len(shape)))) for node in nodes]
    nodes = list(lax.sort(joining.stack(nodes), dimension=0))
    low, high = nodes[0], nodes[-1]
    distance = high - low
    size = lax.max(lax.abs(low), lax.abs(high))
    is_close = distance <= 1e-2 * lax.min(size, lax.full_like(size, 1))
    apart = selection.where(is_close, 1, distance)
    far = (_divided(g, nodes[1:]) - _divided(g, nodes[:-1])) / apart
    return selection.where(is_close, _mean_derivative(g, nodes), far)


def _mean_derivative(g: Callable[[Any], Any], nodes: Sequence[Any]) -> Any:
    """Returns the integral of the derivative of g over the simplex of the nodes."""
    order = len(nodes) - 1
    places, weights = np.polynomial.legendre.leggauss(6)
    places, weights = (places + 1) / 2, weights / 2
    derivative = g
    for _ in range(order):
        derivative = _slope(derivative)
    total: Any = 0
    for chosen in itertools.product(range(len(places)), repeat=order):
        # Points of the simplex have nested coordinates, 1 >= t1 >= t2 >= ...: each is a fraction of
        # its predecessor.
        fraction, weight, point = 1.0, 1.0, nodes[0]
        for level, k in enumerate(chosen):
            weight *= weights[k] * fraction
            fraction *= float(places[k])
            point = point + fraction * (nodes[level + 1] - nodes[level])
        total = total + weight * derivative(point)
    return total


def _slope(g: Callable[[Any], Any]) -> Callable[[Any], Any]:
    return lambda x: olympus_autodiff.jvp(g, (x,), (lax.full_like(x, 1),))[1]
