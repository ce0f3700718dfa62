# SPDX-License-Identifier: Apache-2.0
"""Padding rules of linear algebra.

A padded square matrix is treated as a block diagonal matrix: the valid part, and an identity. Tall
matrices are padded with rows of zeros. Decompositions that would mix the eigenvalues of the two
blocks allow padding in batch dimensions only.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ... import lax
from ...lax import linalg
from ...programs.primitives import Primitive
from ...symbolic.expressions import SymbolicDim
from ..evaluation import Site, padding_rules, refused


def _with_identity(site: Site, matrix: Any, position: int = 0) -> Any:
    """Returns a padded square matrix with an identity in the padding."""
    aval = site.operands[position]
    axes = (aval.ndim - 2, aval.ndim - 1)
    mask = site.lengths.valid(aval.shape, axes)
    if mask is None:
        return matrix
    row, column = (lax.broadcasted_iota(np.int32, matrix.shape, axis) for axis in axes)
    identity = lax.convert_element_type(lax.eq(row, column), matrix.dtype)
    return lax.select(mask, matrix, identity)


@padding_rules.define(linalg.cholesky_p)
def _cholesky(site: Site, matrix: Any, **params: Any) -> Any:
    factor = linalg.cholesky_p.bind(_with_identity(site, matrix), **params)
    return site.lengths.guarded(factor, site.results[0])


@padding_rules.define(linalg.lu_p)
def _lu(site: Site, matrix: Any, **params: Any) -> Any:
    rows, columns = site.operands[0].shape[-2:]
    if rows != columns and (isinstance(rows, SymbolicDim) or isinstance(columns, SymbolicDim)):
        raise refused(site, linalg.lu_p, "the matrix is not square")
    factors, *pivots = linalg.lu_p.bind(_with_identity(site, matrix), **params)
    return [site.lengths.guarded(factors, site.results[0]), *pivots]


@padding_rules.define(linalg.lu_pivots_to_permutation_p)
def _lu_pivots_to_permutation(site: Site, pivots: Any, *, permutation_size: Any) -> Any:
    (size,), padded = site.operands[0].shape[-1:], pivots.shape[-1]
    if size != permutation_size:
        raise refused(site, linalg.lu_pivots_to_permutation_p, "there are fewer pivots than rows")
    positions = lax.broadcasted_iota(np.int32, pivots.shape, pivots.ndim - 1)
    mask = site.lengths.valid(site.operands[0].shape, [pivots.ndim - 1])
    pivots = pivots if mask is None else lax.select(mask, pivots, positions)
    return linalg.lu_pivots_to_permutation_p.bind(pivots, permutation_size=padded)


@padding_rules.define(linalg.triangular_solve_p)
def _triangular_solve(site: Site, matrix: Any, right_hand_side: Any, **params: Any) -> Any:
    aval = site.operands[1]
    solved = linalg.triangular_solve_p.bind(
        _with_identity(site, matrix),
        site.lengths.filled(right_hand_side, aval, 0, (aval.ndim - 2, aval.ndim - 1)),
        **params,
    )
    return site.lengths.guarded(solved, site.results[0])


@padding_rules.define(linalg.tridiagonal_solve_p)
def _tridiagonal_solve(site: Site, *operands: Any, **params: Any) -> Any:
    lengths, (below, diagonal, above, right_hand_side) = site.lengths, operands
    aval, of_right = site.operands[1], site.operands[3]
    axis, last = aval.ndim - 1, aval.shape[-1]
    # The matrix is padded with an identity, which is decoupled from the valid part.
    if isinstance(last, SymbolicDim):
        before_last = aval.update(shape=(*aval.shape[:-1], last - 1))
        mask = lengths.valid(before_last.shape, [axis])
        inside = lax.pad(mask, np.bool_(False), [(0, 0, 0)] * axis + [(0, 1, 0)])
        above = lax.select(inside, above, lax.full_like(above, 0))
        below = lengths.filled(below, aval, 0, [axis])
        diagonal = lengths.filled(diagonal, aval, 1, [axis])
    right_hand_side = lengths.filled(
        right_hand_side, of_right, 0, (of_right.ndim - 2, of_right.ndim - 1)
    )
    solved = linalg.tridiagonal_solve_p.bind(below, diagonal, above, right_hand_side, **params)
    return lengths.guarded(solved, site.results[0])


def _define_tall(primitive: Primitive) -> None:
    """Defines the rule of a decomposition of tall matrices, to which rows of zeros may be added."""

    @padding_rules.define(primitive)
    def rule(site: Site, matrix: Any, *others: Any, **params: Any) -> Any:
        aval = site.operands[0]
        rows, columns = aval.shape[-2:]
        if isinstance(columns, SymbolicDim):
            raise refused(site, primitive, "the number of columns varies")
        if isinstance(rows, SymbolicDim):
            if rows.bounds()[0] < columns:
                raise refused(site, primitive, "the matrix may have fewer rows than columns")
            matrix = site.lengths.filled(matrix, aval, 0, [aval.ndim - 2])
        results = primitive.bind(matrix, *others, **params)
        return _of_padded_shape(site, primitive, results)

    del rule


def _of_padded_shape(site: Site, primitive: Primitive, results: Any) -> Any:
    """Returns the results. Raises an error if their shapes are not the padded shapes."""
    several = results if primitive.multiple_results else [results]
    for result, aval in zip(several, site.results, strict=True):
        if result.shape != site.lengths.shape(aval.shape):
            raise refused(site, primitive, "the sizes of its results depend on those of the matrix")
    return results


for _primitive in (linalg.geqrf_p, linalg.householder_product_p, linalg.qr_p, linalg.svd_p):
    _define_tall(_primitive)


def _define_batched(primitive: Primitive) -> None:
    """Defines the rule of an operation on matrices. Only batch dimensions may be symbolic."""

    @padding_rules.define(primitive)
    def rule(site: Site, *operands: Any, **params: Any) -> Any:
        for aval in site.operands:
            if any(isinstance(size, SymbolicDim) for size in aval.shape[-2:]):
                raise refused(site, primitive, "the size of the matrix varies")
        return _of_padded_shape(site, primitive, primitive.bind(*operands, **params))

    del rule


for _primitive in (
    linalg.eig_p,
    linalg.eigh_p,
    linalg.geqp3_p,
    linalg.hessenberg_p,
    linalg.schur_p,
    linalg.tridiagonal_p,
):
    _define_batched(_primitive)
