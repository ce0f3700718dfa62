# SPDX-License-Identifier: Apache-2.0
"""Functions of the eigenvalues or singular values of matrices, with derivatives of any order.

The derivatives of V g(w) V^-1 are sums of products with divided differences of g (Daleckii and
Krein 1965; Higham, Functions of Matrices, theorem 3.11). Derivatives of eigenvalues and
eigenvectors, which do not exist where eigenvalues are equal, are not used. Functions of singular
values are functions of the Hermitian matrix [[0, a], [a^H, 0]] (Jordan and Wielandt).
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from typing import Any

from olympus_ir import lax
from olympus_ir.lax import linalg
from olympus_ir.lax.linalg.matrices import (
    adjoint,
    identity_like,
    is_complex,
    matmul,
    swap_last,
    zeros,
)

from ..custom.custom_jvp import custom_jvp
from ..custom.linear_call import linear_call
from ..rules.linalg import solve
from ..zeros import SymbolicZero, add_tangents, aval_of
from .divided_differences import divided_difference

__all__ = [
    "hermitian_function",
    "hermitian_trace",
    "left_function",
    "mixed_function",
    "right_function",
    "singular_sum",
    "trace_of_function",
]

Function = Callable[[Any], Any]


# ---- functions of eigenvalues ----


def hermitian_function(g: Function, a: Any) -> Any:
    """Returns V g(w) V^H of Hermitian matrices, of shape (..., N, N)."""
    return _derivative_of(g, 0, _hermitian_basis)(a)


def hermitian_trace(g: Function, a: Any) -> Any:
    """Returns the sums of g(w) over the eigenvalues of Hermitian matrices, real numbers."""
    total = _trace(hermitian_function(g, a))
    return lax.real(total) if is_complex(total) else total


def trace_of_function(g: Function, a: Any) -> Any:
    """Returns the sums of g(w) over the eigenvalues of diagonalizable matrices.

    Args:
      g: an analytic function of complex numbers.
      a: complex matrices, of shape (..., N, N).
    """
    return _trace(_derivative_of(g, 0, _general_basis)(a))


def _trace(a: Any) -> Any:
    ndim = aval_of(a).ndim
    return lax.reduce_sum(lax.mul(a, identity_like(a)), (ndim - 2, ndim - 1))


def _hermitian_basis(a: Any) -> tuple[Any, Any, Any]:
    vectors, values = linalg.eigh(a, symmetrize_input=False)
    return values, vectors, adjoint(vectors)


def _general_basis(a: Any) -> tuple[Any, Any, Any]:
    values, vectors = linalg.eig(a, compute_left_eigenvectors=False)
    return values, vectors, solve(vectors, identity_like(vectors))


# ---- functions of singular values ----


def mixed_function(g: Function, a: Any) -> Any:
    """Returns U g(s) V^H of the thin decomposition of matrices, of shape (..., M, N)."""
    rows = aval_of(a).shape[-2]
    whole = hermitian_function(_odd(g), _embedded(a))
    return _block(whole, slice(0, rows), slice(rows, None))


def left_function(g: Function, a: Any) -> Any:
    """Returns U g(s) U^H of matrices with no more rows than columns."""
    rows = slice(0, aval_of(a).shape[-2])
    return _block(hermitian_function(_even(g), _embedded(a)), rows, rows)


def right_function(g: Function, a: Any) -> Any:
    """Returns V g(s) V^H of matrices with no more columns than rows."""
    columns = slice(aval_of(a).shape[-2], None)
    return _block(hermitian_function(_even(g), _embedded(a)), columns, columns)


def singular_sum(g: Function, a: Any) -> Any:
    """Returns the sums of g(s) over the singular values of matrices."""
    rows, columns = aval_of(a).shape[-2:]
    total = _trace((left_function if rows <= columns else right_function)(g, a))
    return lax.real(total) if is_complex(total) else total


def _embedded(a: Any) -> Any:
    """Returns the Hermitian matrices [[0, a], [a^H, 0]]."""
    *batch, rows, columns = aval_of(a).shape
    dtype = aval_of(a).dtype
    axis = len(batch)
    above = lax.concatenate([zeros((*batch, rows, rows), dtype), a], axis + 1)
    below = lax.concatenate([adjoint(a), zeros((*batch, columns, columns), dtype)], axis + 1)
    return lax.concatenate([above, below], axis)


def _block(a: Any, rows: slice, columns: slice) -> Any:
    axis = aval_of(a).ndim - 2
    for position, kept in ((axis, rows), (axis + 1, columns)):
        start, stop, _ = kept.indices(aval_of(a).shape[position])
        a = lax.slice_in_dim(a, start, stop, axis=position)
    return a


def _odd(g: Function) -> Function:
    """Returns g itself where it is odd, else its odd continuation from positive numbers."""

    def continued(x: Any) -> Any:
        direct, value = g(x), g(_nonzero(lax.abs(x)))
        sign = lax.convert_element_type(lax.sign(x), aval_of(value).dtype)
        is_odd = lax.bitwise_and(lax.eq(g(lax.neg(x)), lax.neg(direct)), _is_finite(direct))
        return lax.select(is_odd, direct, lax.mul(sign, value))

    return continued


def _even(g: Function) -> Function:
    """Returns g itself where it is even, else its even continuation from positive numbers.

    Where g is infinite at zero, the continuation is finite. Eigenvalues of zero that the embedding
    adds do not contribute to the results.
    """

    def continued(x: Any) -> Any:
        direct, value = g(x), g(lax.abs(x))
        value = lax.select(_is_finite(value), value, g(_nonzero(lax.abs(x))))
        is_even = lax.bitwise_and(lax.eq(g(lax.neg(x)), direct), _is_finite(direct))
        return lax.select(is_even, direct, value)

    return continued


def _nonzero(x: Any) -> Any:
    """Replaces zeros by ones."""
    return lax.select(lax.eq(x, lax.full_like(x, 0)), lax.full_like(x, 1), x)


def _is_finite(x: Any) -> Any:
    difference = lax.sub(x, x)
    return lax.eq(difference, lax.full_like(difference, 0))


# ---- derivatives ----

_Basis = Callable[[Any], tuple[Any, Any, Any]]


def _derivative_of(g: Function, order: int, basis: _Basis) -> Callable[..., Any]:
    """Returns the derivative of a matrix function as a function of a matrix and of directions.

    Args:
      g: the function of the eigenvalues.
      order: the number of directions.
      basis: returns the eigenvalues, the eigenvectors and the inverse of the eigenvectors.
    """

    @custom_jvp
    def derivative(a: Any, *directions: Any) -> Any:
        return _in_eigenbasis(g, basis, a, directions)

    def rule(primals: Sequence[Any], tangents: Sequence[Any]) -> tuple[Any, Any]:
        a, *directions = primals
        change, *changes = tangents
        terms = []
        if not isinstance(change, SymbolicZero):
            terms.append(_in_direction(g, basis, a, directions, change))
        for position, tangent in enumerate(changes):
            if not isinstance(tangent, SymbolicZero):
                others = [*directions[:position], *directions[position + 1 :]]
                terms.append(_in_direction(g, basis, a, others, tangent))
        out = derivative(*primals)
        if not terms:
            return out, lax.full_like(out, 0)
        total = terms[0]
        for term in terms[1:]:
            total = add_tangents(total, term)
        return out, total

    derivative.defjvp(rule, symbolic_zeros=True)
    return derivative


def _in_direction(g: Function, basis: _Basis, a: Any, others: Sequence[Any], direction: Any) -> Any:
    """Returns a derivative as a linear function of one direction.

    The trace of the derivative times another matrix is symmetric in that matrix and all directions.
    This symmetry gives the transpose.
    """
    derivative = _derivative_of(g, len(others) + 1, basis)
    return linear_call(
        lambda fixed, direction: derivative(*fixed, direction),
        lambda fixed, cotangent: swap_last(derivative(*fixed, swap_last(cotangent))),
        (a, *others),
        direction,
        smooth=True,
    )


def _in_eigenbasis(g: Function, basis: _Basis, a: Any, directions: Sequence[Any]) -> Any:
    """Returns the derivative along all directions, or the function's value if there are none."""
    values, vectors, back = basis(a)
    dtype = aval_of(vectors).dtype
    if not directions:
        return matmul(_scaled(vectors, lax.convert_element_type(g(values), dtype)), back)
    turned = [matmul(matmul(back, direction), vectors) for direction in directions]
    order = len(turned)
    factor = divided_difference(g, _nodes(values, order))
    factor = lax.convert_element_type(factor, dtype)
    total: Any = None
    for sequence in itertools.permutations(turned):
        term = _contracted(factor, sequence)
        total = term if total is None else lax.add(total, term)
    return matmul(matmul(vectors, total), back)


def _scaled(vectors: Any, factors: Any) -> Any:
    """Returns matrices whose columns are multiplied by factors."""
    aval = aval_of(vectors)
    dimensions = (*range(aval.ndim - 2), aval.ndim - 1)
    return lax.mul(vectors, lax.broadcast_in_dim(factors, aval.shape, dimensions))


def _nodes(values: Any, order: int) -> list[Any]:
    """Returns the eigenvalues along each of ``order + 1`` new dimensions."""
    *batch, count = aval_of(values).shape
    shape = (*batch, *[count] * (order + 1))
    leading = tuple(range(len(batch)))
    return [
        lax.broadcast_in_dim(values, shape, (*leading, len(batch) + position))
        for position in range(order + 1)
    ]


def _contracted(factor: Any, steps: Sequence[Any]) -> Any:
    """Returns the sum of ``factor[i, j, ..., k] steps[0][i, j] ... `` over all inner indices."""
    shape = aval_of(factor).shape
    batch = len(shape) - len(steps) - 1
    product = factor
    for position, step in enumerate(steps):
        dimensions = (*range(batch), batch + position, batch + position + 1)
        product = lax.mul(product, lax.broadcast_in_dim(step, shape, dimensions))
    inner = tuple(range(batch + 1, len(shape) - 1))
    return lax.reduce_sum(product, inner) if inner else product
