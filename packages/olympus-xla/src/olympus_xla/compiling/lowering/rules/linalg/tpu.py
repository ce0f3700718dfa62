# SPDX-License-Identifier: Apache-2.0
"""Linear algebra on TPUs, by the compiler's operations and routines."""

from __future__ import annotations

from typing import Any

import numpy as np

from olympus_ir import lax
from olympus_ir.lax import linalg
from olympus_ir.lax.core.declarations import real_dtype
from olympus_ir.lax.linalg import expansions
from olympus_ir.lax.linalg.matrices import adjoint, identity_like, matmul
from olympus_ir.types.avals import get_aval

from ... import mlir
from ...context import LoweringContext
from ...tables import lower_with, lowering_rules
from .cpu import empty_svd, part_of_spectrum, part_of_svd
from .kernels import INT32, kernel, parts, refuse, rule_for

# ---- operations of the dialect, which GPUs also have ----


@lowering_rules.define(linalg.cholesky_p)
def _cholesky(context: LoweringContext, x: Any) -> Any:
    kind = mlir.aval_type(context.aval_out)
    return context.create("stablehlo.cholesky", kind, (x,), {"lower": mlir.boolean(True)})


@lowering_rules.define(linalg.triangular_solve_p)
def _triangular_solve(
    context: LoweringContext,
    a: Any,
    b: Any,
    *,
    left_side: bool,
    lower: bool,
    transpose_a: bool,
    conjugate_a: bool,
    unit_diagonal: bool,
) -> Any:
    if conjugate_a and not transpose_a:
        a = _conjugate(context, a, context.avals_in[0])
    how = "NO_TRANSPOSE"
    if transpose_a:
        how = "ADJOINT" if conjugate_a else "TRANSPOSE"
    attributes = {
        "left_side": mlir.boolean(left_side),
        "lower": mlir.boolean(lower),
        "unit_diagonal": mlir.boolean(unit_diagonal),
        "transpose_a": mlir.parsed(f"#stablehlo<transpose {how}>"),
    }
    kind = mlir.aval_type(context.aval_out)
    return context.create("stablehlo.triangular_solve", kind, (a, b), attributes)


def _conjugate(context: LoweringContext, x: Any, aval: Any) -> Any:
    kind = mlir.tensor_type(aval.shape, real_dtype(aval.dtype))
    real = context.create("stablehlo.real", kind, (x,))
    imag = context.create("stablehlo.imag", kind, (x,))
    imag = context.create("stablehlo.negate", kind, (imag,))
    return context.create("stablehlo.complex", mlir.aval_type(aval), (real, imag))


# ---- routines of the compiler ----


@rule_for(linalg.lu_p, "tpu")
def _lu(x: Any) -> Any:
    batch, shape, dtype = parts(x, 2)
    return kernel(
        "LuDecomposition",
        [x],
        [((*batch, *shape), dtype), ((*batch, min(shape)), INT32), ((*batch, shape[0]), INT32)],
        column_major=None,
        api_version=2,
        config="",
    )


@rule_for(linalg.geqrf_p, "tpu")
def _geqrf(x: Any) -> Any:
    batch, shape, dtype = parts(x, 2)
    results = [((*batch, *shape), dtype), ((*batch, min(shape)), dtype)]
    return kernel("Qr", [x], results, column_major=None, api_version=1, config="")


@rule_for(linalg.householder_product_p, "tpu")
def _householder_product(a: Any, taus: Any) -> Any:
    batch, shape, dtype = parts(a, 2)
    target = "ProductOfElementaryHouseholderReflectors"
    results = [((*batch, *shape), dtype)]
    return kernel(target, [a, taus], results, column_major=None, api_version=1, config="")[0]


@rule_for(linalg.eigh_p, "tpu")
def _eigh(
    x: Any,
    *,
    lower: bool,
    compute_eigenvectors: bool = True,
    sort_eigenvalues: bool,
    subset_by_index: tuple[int, int] | None,
    algorithm: Any,
) -> Any:
    batch, shape, dtype = parts(x, 2)
    vectors, values = kernel(
        "Eigh",
        [x if lower else adjoint(x)],
        [((*batch, *shape), dtype), ((*batch, shape[0]), real_dtype(dtype))],
        column_major=None,
        api_version=1,
        # The fields are the triangle, whether to sort, the maximal number of iterations, and the
        # precision.
        config=f"1,{int(sort_eigenvalues or subset_by_index is not None)},100,1e-6",
    )
    return part_of_spectrum(vectors, values, subset_by_index, compute_eigenvectors)


@rule_for(linalg.svd_p, "tpu")
def _svd(
    x: Any,
    *,
    full_matrices: bool,
    compute_uv: bool,
    subset_by_index: tuple[int, int] | None = None,
    algorithm: Any = None,
) -> Any:
    choices = linalg.SvdAlgorithm
    if algorithm not in (None, choices.DEFAULT, choices.POLAR):
        raise NotImplementedError(
            "Only the POLAR (which is also DEFAULT on TPU) SVD algorithm is supported on TPU."
        )
    _, (rows, columns), _ = parts(x, 2)
    if not rows or not columns:
        return empty_svd(x, full_matrices, compute_uv)
    decompose = expansions.one_by_one(2)(_svd_of_tall)
    if rows >= columns:
        values, left, right = decompose(x, full_matrices=full_matrices)
    else:
        values, left, right = decompose(adjoint(x), full_matrices=full_matrices)
        left, right = adjoint(right), adjoint(left)
    return part_of_svd(values, left, right, subset_by_index, compute_uv)


def _svd_of_tall(x: Any, *, full_matrices: bool) -> list[Any]:
    """Decomposes tall matrices by QR, then by the polar decomposition and eigenvalues."""
    dtype = get_aval(x).dtype
    rows, columns = get_aval(x).shape
    q, r = linalg.qr(x, full_matrices=full_matrices)
    upper = lax.slice_in_dim(r, 0, columns, axis=0)
    u, h, _, _ = linalg.qdwh(upper)
    vectors, values = linalg.eigh(h)
    # Put the values in decreasing order. Rounding may have made the smallest values negative.
    values, vectors = lax.rev(lax.abs(values), (0,)), lax.rev(vectors, (1,))
    turned = matmul(u, vectors)
    if full_matrices and rows > columns:
        corner = lax.pad(turned, np.zeros((), dtype), [(0, rows - columns, 0)] * 2)
        positions = lax.broadcasted_iota(np.int32, (rows, rows), 0)
        rest = lax.ge(positions, lax.full((rows, rows), np.int32(columns)))
        identity = identity_like(corner)
        turned = lax.add(corner, lax.select(rest, identity, lax.sub(identity, identity)))
    return [values, matmul(q, turned), adjoint(vectors)]


@rule_for(linalg.tridiagonal_solve_p, "tpu")
def _tridiagonal_solve(dl: Any, d: Any, du: Any, b: Any, *, perturb_singular: bool) -> Any:
    if perturb_singular:
        raise NotImplementedError("perturb_singular=True is not supported on TPU.")
    return expansions.tridiagonal_solve(dl, d, du, b, perturb_singular=False)


# No platform has routines for these primitives, so they run as loops.
for _primitive, _expansion in (
    (linalg.hessenberg_p, expansions.hessenberg),
    (linalg.tridiagonal_p, expansions.tridiagonal),
):
    lowering_rules.define(_primitive, lower_with(_expansion))

for _primitive in (
    linalg.eig_p,
    linalg.eigh_p,
    linalg.geqp3_p,
    linalg.geqrf_p,
    linalg.householder_product_p,
    linalg.lu_p,
    linalg.schur_p,
    linalg.svd_p,
    linalg.tridiagonal_solve_p,
):
    refuse(_primitive)
