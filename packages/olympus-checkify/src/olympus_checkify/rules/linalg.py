# SPDX-License-Identifier: Apache-2.0
"""Checks of factors of matrices and solutions of systems, for `checked` functions."""

from __future__ import annotations

from olympus_ir.lax import linalg

from ..tables import error_rules
from .checked_results import with_value_check

for _primitive in (
    linalg.cholesky_p,
    linalg.cholesky_update_p,
    linalg.eig_p,
    linalg.eigh_p,
    linalg.geqrf_p,
    linalg.hessenberg_p,
    linalg.lu_p,
    linalg.qr_p,
    linalg.schur_p,
    linalg.svd_p,
    linalg.triangular_solve_p,
    linalg.tridiagonal_p,
    linalg.tridiagonal_solve_p,
):
    error_rules.define(_primitive, with_value_check)
