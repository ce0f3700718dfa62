# SPDX-License-Identifier: Apache-2.0
"""Batching of linear algebra: the new dimension is the first batch dimension."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from olympus_ir import lax
from olympus_ir.lax import linalg
from olympus_ir.programs.primitives import Primitive

from ..tables import (
    BatchingRule,
    all_at,
    batching_rules,
    check_examples,
    move_dim,
    rank_of,
    shape_of,
    to_front,
)


def leading(primitive: Primitive) -> BatchingRule:
    """Returns the batching rule of a primitive whose leading dimensions are batch dimensions."""

    def rule(axis_size: int, args: Any, batch_dims: Any, **params: Any) -> Any:
        # Without this check, examples that are vectors would become the rows of one matrix.
        check_examples(primitive, args, batch_dims, params)
        if len(args) == 1:
            operands = [to_front(args[0], batch_dims[0])]
        else:
            operands = all_at(args, axis_size, batch_dims, 0)
        out = primitive.bind(*operands, **params)
        return out, [0] * len(out) if primitive.multiple_results else 0

    return rule


for _primitive in (
    linalg.cholesky_p,
    linalg.eig_p,
    linalg.eigh_p,
    linalg.geqp3_p,
    linalg.geqrf_p,
    linalg.hessenberg_p,
    linalg.householder_product_p,
    linalg.lu_p,
    linalg.lu_pivots_to_permutation_p,
    linalg.ormqr_p,
    linalg.qr_p,
    linalg.schur_p,
    linalg.svd_p,
    linalg.symmetric_product_p,
    linalg.tridiagonal_p,
):
    batching_rules.define(_primitive, leading(_primitive))


@batching_rules.define(linalg.cholesky_update_p)
def _cholesky_update(axis_size: int, args: Any, batch_dims: Any, **params: Any) -> Any:
    operands = all_at(args, axis_size, batch_dims, 0)
    return lax.map(lambda example: linalg.cholesky_update_p.bind(*example, **params), operands), 0


def _side_by_side(
    primitive: Primitive, shared: Sequence[Any], b: Any, batch_dim: int, axis: int, params: Any
) -> Any:
    """Solves systems with a shared matrix: concatenates all right-hand sides along ``axis``."""
    b = move_dim(b, batch_dim, axis)
    shape = shape_of(b)
    joined = lax.reshape(b, (*shape[:axis], shape[axis] * shape[axis + 1], *shape[axis + 2 :]))
    x = lax.reshape(primitive.bind(*shared, joined, **params), shape)
    return move_dim(x, axis, 0), 0


@batching_rules.define(linalg.triangular_solve_p)
def _triangular_solve(
    axis_size: int, args: Any, batch_dims: Any, *, left_side: bool, **params: Any
) -> Any:
    params["left_side"] = left_side
    a, b = args
    a_dim, b_dim = batch_dims
    if a_dim is None and rank_of(b, b_dim) == 2:
        # If ``a`` multiplies from the left, each column is an independent system, else each row.
        axis = 1 if left_side else 0
        return _side_by_side(linalg.triangular_solve_p, [a], b, b_dim, axis, params)
    return leading(linalg.triangular_solve_p)(axis_size, args, batch_dims, **params)


@batching_rules.define(linalg.tridiagonal_solve_p)
def _tridiagonal_solve(axis_size: int, args: Any, batch_dims: Any, **params: Any) -> Any:
    *diagonals, b = args
    *diagonal_dims, b_dim = batch_dims
    if diagonal_dims == [None] * 3 and rank_of(b, b_dim) == 2:
        return _side_by_side(linalg.tridiagonal_solve_p, diagonals, b, b_dim, 1, params)
    return leading(linalg.tridiagonal_solve_p)(axis_size, args, batch_dims, **params)
