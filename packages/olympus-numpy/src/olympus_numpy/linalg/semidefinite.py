# SPDX-License-Identifier: Apache-2.0
"""Cholesky factors of matrices that may be singular, under the flag `olympus_strong_zeros`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from olympus_ir import lax
from olympus_ir.lax import linalg as lax_linalg
from olympus_ir.lax.linalg.matrices import adjoint, identity_like, tril
from olympus_ir.types import dtypes

from ..arrays import selection
from ..core.custom_derivatives import custom_jvp
from ..products import matrices

__all__ = ["semidefinite_cholesky"]


@custom_jvp
def semidefinite_cholesky(a: Any) -> Any:
    """Returns lower triangular factors of Hermitian positive semidefinite matrices.

    Where the Cholesky factorization fails, the factor comes from a QR decomposition of the matrix's
    square root. Columns that hold only rounding errors are set to zero. The derivative covers only
    changes that keep the rank, so zero columns stay zero.

    Args:
      a: Hermitian matrices.
    """
    factor = tril(lax_linalg.cholesky(a))
    values, vectors = _eigh(a)
    root = vectors * lax.sqrt(lax.max(values, lax.full_like(values, 0)))[..., None, :].astype(
        a.dtype
    )
    _, upper = lax_linalg.qr(adjoint(root), pivoting=False, full_matrices=False)
    pivots = _diagonal(upper)
    size = lax.abs(pivots).max(axis=-1, keepdims=True)
    noise = a.shape[-1] * np.sqrt(dtypes.finfo(pivots.dtype).eps) * size
    is_null = (lax.abs(pivots) <= noise)[..., :, None]
    apart = selection.where(pivots == 0, 1, pivots)
    upper = selection.where(is_null, 0, upper * (lax.abs(apart) / apart)[..., :, None])
    failed = (factor != factor).any(axis=(-2, -1), keepdims=True)
    return selection.where(failed, adjoint(upper), factor)


def _eigh(a: Any) -> tuple[Any, Any]:
    vectors, values = lax_linalg.eigh(a)
    return values, vectors


def _diagonal(x: Any) -> Any:
    return matrices.diagonal(x, axis1=-2, axis2=-1)


@semidefinite_cholesky.defjvp
def _jvp(primals: Sequence[Any], tangents: Sequence[Any]) -> tuple[Any, Any]:
    factor = semidefinite_cholesky(*primals)
    is_null = (_diagonal(factor) == 0)[..., None, :]
    identity = identity_like(factor)
    completed = factor + selection.where(is_null, identity, 0)
    solved = lax_linalg.triangular_solve(
        completed, tangents[0], left_side=False, lower=True, transpose_a=True, conjugate_a=True
    )
    solved = tril(lax_linalg.triangular_solve(completed, solved, left_side=True, lower=True))
    return factor, completed @ selection.where(is_null, 0, solved / (1 + identity))
