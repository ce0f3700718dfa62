# SPDX-License-Identifier: Apache-2.0
"""Expansions of linear algebra into loops of simpler operations.

Platforms that lack a routine for a primitive use its expansion. Expansions also provide the
derivatives of operations whose derivative has no closed form. Each expansion works on one matrix.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from typing import Any

import numpy as np

from ... import lax
from ...programs.expansion import expansion_rules
from ..core.sizes import is_at_most, min_dim
from ..core.values import array_aval
from . import factoring
from .matrices import adjoint, is_complex, matmul, swap_last, tril, triu, zeros

Expansion = Callable[..., Any]


def one_by_one(*ranks: int) -> Callable[[Expansion], Expansion]:
    """Returns a decorator that extends an expansion of one example to a batch, by a loop.

    Args:
      *ranks: for each operand, the number of dimensions of one example.
    """

    def decorate(function: Expansion) -> Expansion:
        @functools.wraps(function)
        def expansion(*operands: Any, **params: Any) -> Any:
            shape = array_aval(operands[0]).shape
            batch = shape[: len(shape) - ranks[0]]
            if not batch:
                return function(*operands, **params)
            count = math.prod(batch)
            flat = [lax.reshape(x, (count, *x.shape[len(batch) :])) for x in operands]
            results = lax.map(lambda operands: function(*operands, **params), flat)
            if isinstance(results, list):
                return [lax.reshape(x, (*batch, *x.shape[1:])) for x in results]
            return lax.reshape(results, (*batch, *results.shape[1:]))

        return expansion

    return decorate


# ---- products ----


@expansion_rules.define(factoring.symmetric_product_p)
def symmetric_product(a: Any, c: Any, *, alpha: float, beta: float) -> Any:
    dtype = array_aval(c).dtype
    product = lax.mul(np.array(alpha, dtype), matmul(a, swap_last(a)))
    return lax.add(product, lax.mul(np.array(beta, dtype), c))


@expansion_rules.define(factoring.lu_pivots_to_permutation_p)
@one_by_one(1)
def lu_pivots_to_permutation(pivots: Any, *, permutation_size: int) -> Any:
    count = array_aval(pivots).shape[0]
    permutation = lax.iota(np.int32, permutation_size)
    if not count:
        return permutation

    def exchange(k: Any, permutation: Any) -> Any:
        other = lax.dynamic_index_in_dim(pivots, k, 0, keepdims=False)
        here = lax.dynamic_index_in_dim(permutation, k, 0)
        there = lax.dynamic_index_in_dim(permutation, other, 0)
        permutation = lax.dynamic_update_index_in_dim(permutation, there, k, 0)
        return lax.dynamic_update_index_in_dim(permutation, here, other, 0)

    return _counted(count, exchange, permutation)


def _counted(count: int, body: Callable[[Any, Any], Any], start: Any) -> Any:
    """Runs a counting loop with a 32-bit counter, whatever the default integer dtype is."""
    return lax.fori_loop(
        0, count, lambda k, state: body(lax.convert_element_type(k, np.int32), state), start
    )


# ---- Cholesky ----


@expansion_rules.define(factoring.cholesky_update_p)
def cholesky_update(r: Any, w: Any) -> Any:
    """Updates the Cholesky factor ``r`` by ``w``, with one Givens rotation for each row."""
    size = array_aval(w).shape[0]
    if not size:
        return r
    dtype = array_aval(w).dtype
    zero, one = np.zeros((), dtype), np.ones((), dtype)

    def rotate(k: Any, state: Any) -> Any:
        r, w = state
        row = lax.dynamic_index_in_dim(r, k, 0, keepdims=False)
        x = lax.dynamic_index_in_dim(row, k, 0, keepdims=False)
        y = lax.dynamic_index_in_dim(w, k, 0, keepdims=False)
        nothing = lax.eq(y, zero)
        # Divide x and y by the larger magnitude, so that their squares do not overflow.
        scale = lax.select(nothing, one, lax.max(lax.abs(x), lax.abs(y)))
        x, y = lax.div(x, scale), lax.div(y, scale)
        squares = lax.select(nothing, one, lax.add(lax.mul(x, x), lax.mul(y, y)))
        length = lax.sqrt(squares)
        cosine = lax.select(nothing, one, lax.div(x, length))
        sine = lax.select(nothing, zero, lax.div(y, length))
        turned = lax.add(lax.mul(cosine, row), lax.mul(sine, w))
        w = lax.sub(lax.mul(cosine, w), lax.mul(sine, row))
        return lax.dynamic_update_index_in_dim(r, turned, k, 0), w

    return _counted(size, rotate, (r, w))[0]


# ---- reflections ----


def _reflector(x: Any, first: Any) -> tuple[Any, Any, Any]:
    """Returns the reflection that maps the tail of a vector to a multiple of a unit vector.

    The tail begins at the index ``first``.

    Returns:
      The multiple, the reflection's vector and the reflection's factor. The vector is zero before
      ``first``.
    """
    aval = array_aval(x)
    dtype = aval.dtype
    positions = lax.iota(np.int32, aval.shape[0])
    zero = zeros(aval.shape, dtype)
    alpha = lax.dynamic_index_in_dim(x, first, 0, keepdims=False)
    tail = lax.select(lax.gt(positions, first), x, zero)
    tail_squares = lax.reduce_sum(_square(tail), (0,))
    real = array_aval(tail_squares).dtype
    none, unit = np.zeros((), real), np.ones((), real)
    real_part = lax.real(alpha) if is_complex(alpha) else alpha
    nothing = lax.eq(tail_squares, none)
    if is_complex(alpha):
        nothing = lax.bitwise_and(nothing, lax.eq(lax.imag(alpha), none))
    # If there is no reflection, ones keep the derivatives of unused values finite.
    squares = lax.select(nothing, unit, lax.add(_square(alpha), tail_squares))
    length = lax.sqrt(squares)
    beta = lax.select(lax.lt(real_part, none), length, lax.neg(length))
    beta = lax.convert_element_type(beta, dtype)
    distance = lax.select(nothing, np.ones((), dtype), lax.sub(alpha, beta))
    tau = lax.select(nothing, np.zeros((), dtype), lax.div(lax.sub(beta, alpha), beta))
    vector = lax.div(tail, distance)
    vector = lax.select(lax.eq(positions, first), lax.full(aval.shape, np.ones((), dtype)), vector)
    return lax.select(nothing, alpha, beta), vector, tau


def _square(x: Any) -> Any:
    return lax.real(lax.mul(lax.conj(x), x)) if is_complex(x) else lax.mul(x, x)


def _conj(x: Any) -> Any:
    return lax.conj(x) if is_complex(x) else x


def _outer(x: Any, y: Any) -> Any:
    return lax.mul(lax.expand_dims(x, (1,)), lax.expand_dims(_conj(y), (0,)))


def _times(x: Any, a: Any, axis: int) -> Any:
    """Returns the sum of the rows (axis 0) or columns (axis 1) of ``a``, weighted by ``x``."""
    return lax.dot_general(x, a, (((0,), (axis,)), ((), ())), precision=lax.Precision.HIGHEST)


def _reflected(a: Any, vector: Any, tau: Any) -> Any:
    """Returns a reflection times a matrix."""
    return lax.sub(a, lax.mul(tau, _outer(vector, _conj(_times(_conj(vector), a, 0)))))


def _reflected_right(a: Any, vector: Any, tau: Any) -> Any:
    """Returns a matrix times a reflection."""
    return lax.sub(a, lax.mul(tau, _outer(_times(vector, a, 1), vector)))


def _with_column(a: Any, k: Any, beta: Any, vector: Any, position: Any) -> Any:
    """Stores ``beta`` at row ``position`` of column ``k``, and ``vector`` in the rows below."""
    aval = array_aval(a)
    positions = lax.iota(np.int32, aval.shape[0])
    column = lax.dynamic_index_in_dim(a, k, 1, keepdims=False)
    column = lax.select(lax.gt(positions, position), vector, column)
    column = lax.select(lax.eq(positions, position), lax.full(column.shape, beta), column)
    return lax.dynamic_update_index_in_dim(a, column, k, 1)


def _with_columns_from(first: Any, new: Any, old: Any) -> Any:
    positions = lax.broadcasted_iota(np.int32, array_aval(old).shape, 1)
    return lax.select(lax.ge(positions, first), new, old)


def _taus(count: int, dtype: Any) -> Any:
    return zeros((count,), dtype)


@one_by_one(2)
def geqrf(a: Any) -> list[Any]:
    """Triangularizes a matrix by reflecting one column after the other."""
    aval = array_aval(a)
    count = min_dim(*aval.shape)
    if not count:
        return [a, _taus(count, aval.dtype)]

    def step(k: Any, state: Any) -> Any:
        a, taus = state
        column = lax.dynamic_index_in_dim(a, k, 1, keepdims=False)
        beta, vector, tau = _reflector(column, k)
        a = _with_columns_from(lax.add(k, np.int32(1)), _reflected(a, vector, _conj(tau)), a)
        a = _with_column(a, k, beta, vector, k)
        return a, lax.dynamic_update_index_in_dim(taus, tau, k, 0)

    return list(_counted(count, step, (a, _taus(count, aval.dtype))))


@one_by_one(2)
def hessenberg(a: Any) -> list[Any]:
    """Reduces a square matrix to Hessenberg form, by reflections from both sides."""
    aval = array_aval(a)
    count = aval.shape[0] - 1
    if not count:
        return [a, _taus(count, aval.dtype)]

    def step(k: Any, state: Any) -> Any:
        a, taus = state
        position = lax.add(k, np.int32(1))
        column = lax.dynamic_index_in_dim(a, k, 1, keepdims=False)
        beta, vector, tau = _reflector(column, position)
        turned = _reflected_right(a, vector, tau)
        turned = _with_columns_from(position, turned, a)
        a = _with_columns_from(position, _reflected(turned, vector, _conj(tau)), turned)
        a = _with_column(a, k, beta, vector, position)
        return a, lax.dynamic_update_index_in_dim(taus, tau, k, 0)

    return list(_counted(count, step, (a, _taus(count, aval.dtype))))


@one_by_one(2)
def tridiagonal(a: Any, *, lower: bool) -> list[Any]:
    """Reduces a Hermitian matrix to tridiagonal form, by reducing it to Hessenberg form."""
    flipped = a if lower else lax.rev(a, (0, 1))
    below = tril(flipped, -1)
    diagonal = lax.sub(tril(flipped), below)
    if is_complex(a):
        diagonal = lax.convert_element_type(lax.real(diagonal), array_aval(a).dtype)
    full = lax.add(lax.add(below, adjoint(below)), diagonal)
    packed, taus = hessenberg(full)
    size = array_aval(a).shape[0]
    positions = np.arange(size)
    main = _entries(packed, positions, positions)
    beside = _entries(packed, positions[1:], positions[:-1])
    if is_complex(a):
        main, beside = lax.real(main), lax.real(beside)
    result = lax.add(tril(packed), triu(flipped, 1))
    if lower:
        return [result, main, beside, taus]
    return [lax.rev(result, (0, 1)), *[lax.rev(vector, (0,)) for vector in (main, beside, taus)]]


def _entries(a: Any, rows: np.ndarray, columns: np.ndarray) -> Any:
    width = array_aval(a).shape[1]
    flat = lax.reshape(a, (array_aval(a).size,))
    indices = np.asarray(rows * width + columns, np.int32)[:, None]
    numbers = lax.GatherDimensionNumbers((), (0,), (0,))
    return lax.gather(flat, indices, numbers, (1,), mode=lax.GatherScatterMode.PROMISE_IN_BOUNDS)


def _product(a: Any, taus: Any, c: Any, adjoint_wanted: bool) -> Any:
    """Returns a product of reflections, or its adjoint, times a matrix."""
    count = array_aval(taus).shape[0]
    if not count:
        return c
    rows = array_aval(a).shape[0]
    positions = lax.iota(np.int32, rows)
    dtype = array_aval(a).dtype

    def step(i: Any, c: Any) -> Any:
        k = i if adjoint_wanted else lax.sub(np.int32(count - 1), i)
        column = lax.dynamic_index_in_dim(a, k, 1, keepdims=False)
        vector = lax.select(lax.gt(positions, k), column, zeros((rows,), dtype))
        vector = lax.select(lax.eq(positions, k), lax.full((rows,), np.ones((), dtype)), vector)
        tau = lax.dynamic_index_in_dim(taus, k, 0, keepdims=False)
        return _reflected(c, vector, _conj(tau) if adjoint_wanted else tau)

    return _counted(count, step, c)


@one_by_one(2, 1)
def householder_product(a: Any, taus: Any) -> Any:
    """Applies reflections to the first columns of the identity."""
    aval = array_aval(a)
    positions = [lax.broadcasted_iota(np.int32, aval.shape, axis) for axis in (0, 1)]
    identity = lax.convert_element_type(lax.eq(*positions), aval.dtype)
    return _product(a, taus, identity, adjoint_wanted=False)


@expansion_rules.define(factoring.ormqr_p)
@one_by_one(2, 1, 2)
def ormqr(a: Any, taus: Any, c: Any, *, left: bool, transpose: bool) -> Any:
    """Applies reflections to a matrix from one side."""
    if left:
        return _product(a, taus, c, transpose)
    return adjoint(_product(a, taus, adjoint(c), not transpose))


@expansion_rules.define(factoring.qr_p)
def qr(x: Any, *, pivoting: bool, full_matrices: bool, use_magma: bool | None) -> list[Any]:
    """Computes the QR decomposition of a matrix by Householder reflections."""
    aval = array_aval(x)
    rows, columns = aval.shape[-2:]
    row_dim, column_dim = aval.ndim - 2, aval.ndim - 1
    if pivoting:
        unused = zeros((*aval.shape[:-2], columns), np.dtype(np.int32))
        packed, order, taus = factoring.geqp3(x, unused, use_magma=use_magma)
        pivots = [lax.sub(order, np.int32(1))]
    else:
        packed, taus = factoring.geqrf(x)
        pivots = []
    vectors = packed
    if rows < columns:
        vectors = lax.slice_in_dim(packed, 0, rows, axis=column_dim)
    elif full_matrices and not is_at_most(rows, columns):
        widths = [(0, 0, 0)] * column_dim + [(0, rows - columns, 0)]
        vectors = lax.pad(packed, np.zeros((), aval.dtype), widths)
    q = factoring.householder_product(vectors, taus)
    if not full_matrices:
        packed = lax.slice_in_dim(packed, 0, min_dim(rows, columns), axis=row_dim)
    return [q, triu(packed), *pivots]


# ---- solutions ----


@one_by_one(1, 1, 1, 2)
def tridiagonal_solve(dl: Any, d: Any, du: Any, b: Any, *, perturb_singular: bool) -> Any:
    """Solves tridiagonal systems by Gaussian elimination without row exchanges."""
    aval = array_aval(b)
    if not aval.shape[0]:
        return b
    nothing = np.zeros((), aval.dtype), zeros(aval.shape[1:], aval.dtype)

    def down(state: Any, row: Any) -> Any:
        upper, above = state
        below, pivot, beside, right = row
        pivot = lax.sub(pivot, lax.mul(below, upper))
        result = lax.div(lax.sub(right, lax.mul(below, above)), pivot)
        upper = lax.div(beside, pivot)
        return (upper, result), (upper, result)

    def up(below: Any, row: Any) -> Any:
        upper, right = row
        result = lax.sub(right, lax.mul(upper, below))
        return result, result

    _, rows = lax.scan(down, nothing, (dl, d, du, b))
    return lax.scan(up, nothing[1], rows, reverse=True)[1]
